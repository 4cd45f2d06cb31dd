"""`show`: a proposal's page, or a run's report."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.commands.options import AsJson, Repo, workshop
from skillopt_git.console import Console
from skillopt_git.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from skillopt_git.recall import History, Proposal
    from skillopt_git.workshop import Workshop


def command(
    name: Annotated[
        str | None, typer.Argument(help="A proposal's branch or a run; without it, the open proposal or the last run.")
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="The last run.")] = False,
    diagnostics: Annotated[bool, typer.Option("--diagnostics", help="The run's calls and held-out detail.")] = False,
    html: Annotated[bool, typer.Option("--html", help="Where the run's report with charts is, for a browser.")] = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Show a proposal or a run."""
    shop = workshop(repo)
    history = shop.everything()
    proposal = None if last or diagnostics or html else _proposal(history, name)
    if proposal is not None:
        _show_proposal(shop, proposal, json=json)
        return
    run = shop.private.last_report() if last or name is None else name
    if run is None:
        raise UsageError("there is nothing to show yet", "`skillopt-git run` makes the first report")
    if html:
        _show_page(shop, history, run, json=json)
        return
    _show_run(shop, history, run, diagnostics=diagnostics, json=json)


def _proposal(history: History, name: str | None) -> Proposal | None:
    """The proposal of that name; without a name the open one, if there is just one."""
    if name is not None:
        return history.proposal(name.removeprefix("refs/heads/"))
    open_ = [item for item in history.proposals if item.open]
    return open_[0] if len(open_) == 1 else None


def _show_proposal(shop: Workshop, proposal: Proposal, *, json: bool) -> None:
    from skillopt_git import present, render  # what it needs would slow down every start

    view = present.proposal_view(
        proposal,
        shop.ledger.evidence,
        ledger_ref=shop.ledger.ref,
        controls=shop.controls(),
        runs=shop.runs(),
    )
    title, body = render.pull_request_title(view), render.pull_request(view)
    console = Console()
    if json:
        console.json(
            {
                "v": 1,
                "branch": proposal.branch,
                "open": proposal.open,
                "draft": view.draft,
                "title": title,
                "body": body,
            }
        )
        return
    console.out(title + "\n")
    console.markdown(body)
    for item in proposal.edits:
        if item.outcome is not None:
            console.out(f"{item.edit.id}: {item.outcome.type} on {item.outcome.ts[:10]}")


def _not_here(shop: Workshop, history: History, run: str) -> UsageError:
    runs = sorted({event.run or "" for event in shop.ledger.events() if event.type == "run"})
    if run in runs:
        return UsageError(f"the report of {run} is not on this machine", "it stays in the clone that made the run")
    known = ", ".join([*(item.branch for item in history.proposals), *runs[-5:]]) or "none"
    return UsageError(f"'{run}' is no proposal and no run", f"known: {known}")


def _read(text: str, run: str) -> dict[str, Any]:
    try:
        return dict(json_.loads(text))
    except ValueError as error:
        raise ConfigError(f"the diagnostics of {run} are damaged: {error}") from error


def _show_run(shop: Workshop, history: History, run: str, *, diagnostics: bool, json: bool) -> None:
    text = shop.private.read_report(run, "diagnostics.json" if diagnostics else "report.md")
    if text is None:
        raise _not_here(shop, history, run)
    console = Console()
    if diagnostics:
        console.json(_read(text, run))
    elif json:
        console.json({"v": 1, "run": run, "report": text})
    else:
        console.markdown(text)


def _show_page(shop: Workshop, history: History, run: str, *, json: bool) -> None:
    if shop.private.read_report(run, "report.md") is None:
        raise _not_here(shop, history, run)
    if shop.private.read_report(run, "report.html") is None:
        raise UsageError(f"{run} left no page with charts", f"`skillopt-git show {run}` prints its report")
    page = str(shop.private.reports / run / "report.html")
    if json:
        Console().json({"v": 1, "run": run, "page": page})
    else:
        Console().out(page)
