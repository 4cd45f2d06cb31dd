"""`ledger`: the repository's memory, and how it gets to other clones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.commands.options import AsJson, Repo, deciding, review, workshop
from skillopt_git.console import Console
from skillopt_git.errors import UsageError

if TYPE_CHECKING:
    from skillopt_git.exchange import Exchanged
    from skillopt_git.model import Event
    from skillopt_git.workshop import Workshop

FOUND_SOMETHING = 6

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
RemoteName = Annotated[str | None, typer.Option("--remote", help="Which remote; else `origin`, or the only one.")]


@app.command()
def show(
    name: Annotated[
        str | None, typer.Argument(help="An id of an event, edit, rule, run or evidence, or a branch.")
    ] = None,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Show what the ledger holds; with a name, the records about it."""
    shop = workshop(repo)
    console = Console()
    if name is None:
        record = _summary(shop)
        console.json(record) if json else console.page(_sentences(record))
        return
    records = _about(shop, name)
    if json:
        console.json({"v": 1, "records": records})
    else:
        from skillopt_git.ids import canonical_json  # what it needs would slow down every start

        for record in records:
            console.out(canonical_json(record))


@app.command()
def fetch(remote: RemoteName = None, repo: Repo = Path(), json: AsJson = False) -> None:
    """Join the remote's ledger into this clone's. Of branches only proposals move that another clone rebuilt."""
    from skillopt_git import exchange  # here and below: what they need would slow down every start
    from skillopt_git.remote import the_remote

    with deciding(repo) as shop:
        there = the_remote(shop.repo, remote)
        came = exchange.fetch(shop.repo, shop.ledger, there, shop.stamp, bring=False)
    _tell(there.name, exchange.Exchanged(came=came), json=json)


@app.command()
def push(remote: RemoteName = None, repo: Repo = Path(), json: AsJson = False) -> None:
    """Join both ledgers, here and at the remote. Anchors go along, and changes of proposals that are there already."""
    from skillopt_git import exchange
    from skillopt_git.remote import the_remote

    with deciding(repo) as shop:
        there = the_remote(shop.repo, remote)
        outgoing = exchange.Outgoing(author=shop.author, stamp=shop.stamp, new=False)
        done = exchange.push(shop.repo, shop.ledger, there, outgoing)
    _tell(there.name, done, json=json)


@app.command()
def verify(repo: Repo = Path(), json: AsJson = False) -> None:
    """Check that nothing was lost or changed since it was recorded; exit 6 if something was."""
    from skillopt_git.audit import audit

    shop = workshop(repo)
    found = audit(shop.repo, shop.ledger)
    console = Console()
    if json:
        console.json({"v": 1, "ref": shop.ledger.ref, "commits": found.commits, "findings": list(found.findings)})
    else:
        console.out(f"{shop.ledger.ref}: {found.commits} commits looked through.")
        for finding in found.findings:
            console.out(f"  - {finding}")
        if not found.findings:
            console.out("Nothing was lost or changed.")
    if found.findings:
        raise typer.Exit(FOUND_SOMETHING)


@app.command()
def rebuild(repo: Repo = Path(), json: AsJson = False) -> None:
    """Make a lost ledger anew from the forge's pull requests: what was proposed, and what people did with it."""
    from skillopt_git.branches import FOLDER
    from skillopt_git.rebuilding import Rebuilding

    notes: list[str] = []
    with review(repo, pr=True) as (shop, other):
        before = {event.id for event in shop.ledger.events()}
        pulls = other.forge.find(f"{FOLDER}/") if other.forge else ()
        told = Rebuilding(shop.repo, other.remote).events(pulls, notes)
        shop.ledger.append(told, when=shop.stamp.now, message="Rebuild from pull requests")
        other.meet(shop)
        new = [event for event in shop.ledger.events() if event.id not in before]
    console = Console()
    counts = dict(sorted(Counter(event.type for event in new).items()))
    if json:
        console.json({"v": 1, "pulls": len(pulls), "events": counts, "notes": notes})
        return
    found = ", ".join(f"{count:,} {type_}" for type_, count in counts.items()) or "nothing that was not known"
    console.out(f"{len(pulls):,} pull requests looked through: {found}.")
    console.out("Splits of tasks, trials and evidence are on no forge: what was lost of them is measured anew.")
    for note in notes:
        console.out(note)


# --- telling -----------------------------------------------------------------------------------------------------


def _summary(shop: Workshop) -> dict[str, Any]:
    contents = shop.ledger.contents()
    events = contents.events
    head = shop.repo.ref(shop.ledger.ref)
    times = sorted(event.ts for event in events)
    return {
        "v": 1,
        "ref": shop.ledger.ref,
        "commit": head,
        "events": dict(sorted(Counter(event.type for event in events).items())),
        "first": times[0] if times else None,
        "last": times[-1] if times else None,
        "nights": sum(event.type == "run" and not event.simulated for event in events),
        "simulated_nights": sum(event.type == "run" and event.simulated for event in events),
        "evidence": len(shop.ledger.evidence_names()),
        "damaged": contents.damaged,
    }


def _sentences(record: dict[str, Any]) -> list[str]:
    if record["commit"] is None:
        return [f"{record['ref']} is not there yet: the first `skillopt-git run` makes it."]
    counts = ", ".join(f"{count:,} {type_}" for type_, count in record["events"].items()) or "none"
    lines = [
        f"{record['ref']} at {record['commit'][:12]}",
        f"  events: {counts}",
        f"  from {record['first']} to {record['last']}",
        f"  nights: {record['nights']:,}, simulated: {record['simulated_nights']:,}",
        f"  evidence: {record['evidence']:,} files",
    ]
    return lines + ([f"  damaged lines, passed over: {record['damaged']}"] if record["damaged"] else [])


def _about(shop: Workshop, name: str) -> list[dict[str, Any]]:
    from skillopt_git.schema import dump

    name = name.removeprefix("refs/heads/")
    found: list[Any] = [event for event in shop.ledger.events() if name in _names(event)]
    evidence = shop.ledger.evidence(name) if not found else None
    found += [evidence] if evidence is not None else []
    if not found:
        raise UsageError(f"the ledger has nothing about '{name}'", "`skillopt-git log --all` lists what it has")
    return [{key: value for key, value in dump(item).items() if value is not None} for item in found]


def _names(event: Event) -> tuple[Any, ...]:
    return event.id, event.edit, event.rule, event.run, event.data.get("branch"), event.data.get("evidence")


def _tell(remote: str, done: Exchanged, *, json: bool) -> None:
    console = Console()
    if json:
        record = {"v": 1, "remote": remote, "came": [event.id for event in done.came], "went": list(done.went)}
        console.json(record | {"gone": list(done.gone), "notes": list(done.notes)})
        return
    console.out(f"{len(done.came):,} new events from {remote}." if done.came else f"Nothing new from {remote}.")
    for ref in done.went:
        console.out(f"{ref} is at {remote} as it is here.")
    for ref in done.gone:
        console.out(f"{ref} was deleted at {remote}.")
    for note in done.notes:
        console.out(note)
