"""`propose`: push a proposal and open or update its pull request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.commands.options import AsJson, Repo, review
from skillopt_git.console import Console

if TYPE_CHECKING:
    from skillopt_git.bundle import Bundle
    from skillopt_git.pulls import Told


def command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[BRANCH|BUNDLE]",
            help="A proposal's branch, or the file that `learn --bundle` wrote; without it, the only open proposal.",
        ),
    ] = None,
    allow_simulated: Annotated[
        bool, typer.Option("--allow-simulated", help="Propose a simulation too, marked as one.")
    ] = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Push a proposal and open or update its pull request."""
    from skillopt_git.bundle import read_bundle  # here and below: what they need would slow down every start
    from skillopt_git.proposing import Proposing

    bundle = read_bundle(Path(what)) if what is not None and Path(what).is_file() else None
    simulated = bundle.simulated if bundle is not None else False
    with review(repo, pr=True, simulated=simulated, allow_simulated=allow_simulated) as (shop, other):
        proposing = Proposing(shop=shop, config=other.config, review=other)
        told = proposing.bundle(bundle) if bundle is not None else proposing.branch(what)
        branch = next((item.branch for item in shop.everything().proposals if item.open), None)
    console = Console()
    console.outputs(outputs(told, branch) | (_night(bundle) if bundle is not None else {}))
    if bundle is not None:
        console.summary(_summary(bundle, told))
    if json:
        console.json({"v": 1, "branch": branch, **record(told)})
        return
    console.out(_sentence(told, branch))
    for note in told.notes:
        console.note(note)


def _summary(bundle: Bundle, told: Told) -> str:
    from skillopt_git.render import brought

    rules = [
        {"text": event.text or "", "target": event.target or "", "verdict": str(event.data["verdict"])}
        for event in bundle.proposed
    ]
    return brought(rules, refused=_refused(bundle), simulated=bundle.simulated, url=told.url or "", notes=told.notes)


def _refused(bundle: Bundle) -> int:
    shown = ("strong", "ungated", "suggestive")
    return sum(len(item.edits) for item in bundle.candidates if item.verdict not in shown)


def record(told: Told) -> dict[str, Any]:
    pull = told.pull
    return {
        "operation": told.operation,
        "url": told.url,
        "pull_request": {"number": pull.number, "url": pull.url, "state": pull.state, "draft": pull.draft}
        if pull
        else None,
        "notes": list(told.notes),
    }


def outputs(told: Told, branch: str | None) -> dict[str, str]:
    """For the steps that follow in a workflow; the names are those that create-pull-request uses."""
    pull = told.pull
    return {
        "pull-request-number": str(pull.number) if pull else "",
        "pull-request-url": told.url or "",
        "pull-request-operation": told.operation,
        "pull-request-head-sha": pull.head_sha if pull else "",
        "pull-request-branch": branch or "",
    }


def _night(bundle: Bundle) -> dict[str, str]:
    """What `run` tells of its night, as far as the bundle holds it."""
    verdict = next((event.data.get("verdict") for event in bundle.events if event.type == "run"), None)
    return {
        "run-id": bundle.run,
        "edits-proposed": str(len(bundle.proposed)),
        "edits-rejected": str(_refused(bundle)),
        "verdict": str(verdict or ""),
    }


def _sentence(told: Told, branch: str | None) -> str:
    match told.operation:
        case "created" | "updated":
            return f"{told.url} was {told.operation}."
        case "held":
            return f"{branch} is left alone{f': {told.url}' if told.url else ''}."
        case "issue":
            return f"{branch} is pushed, and {told.url} tells of it."
        case _:
            return f"{told.url} is up to date." if told.url else "There is nothing to propose."
