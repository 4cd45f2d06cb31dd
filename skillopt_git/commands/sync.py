"""`sync`: learn what people did to proposals, from git and from the forge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_git.commands.options import AsJson, Repo, review
from skillopt_git.console import Console
from skillopt_git.errors import Skipped

if TYPE_CHECKING:
    from skillopt_git.model import Event
    from skillopt_git.reviewing import Review
    from skillopt_git.workshop import Workshop


def command(repo: Repo = Path(), json: AsJson = False) -> None:
    """Record what became of proposals: at the base, at the remote, on the forge."""
    with review(repo, pr=False) as (shop, other):
        from skillopt_git.decide import tidy  # what it needs would slow down every start

        before = {event.id for event in shop.ledger.told().events}
        other.meet(shop)
        tidy(shop.desk())
        new = [event for event in shop.ledger.told().events if event.id not in before]
    console = Console()
    if other.unasked:
        console.note(f"no forge was asked: {other.unasked}")
    paused = _paused(shop, other)
    console.outputs({"skipped": paused} if paused else {})
    if json:
        from skillopt_git.schema import dump

        record = {"v": 1, "remote": other.remote.name, "forge": other.name, "paused": paused}
        console.json(record | {"events": [dump(item) for item in new]})
        return
    where = f"{other.remote.name} and {other.name}" if other.name else other.remote.name
    console.out(f"{len(new):,} new events, from {where}." if new else f"Nothing new from {where}.")
    for event in new:
        if event.edit is not None and event.type not in ("gate", "trial"):
            console.out(f"  {_sentence(event)}")
    if paused:
        console.out(paused)


def _paused(shop: Workshop, other: Review) -> str | None:
    """Why nights are paused, also for the steps that follow in a workflow: it need not be heard again to learn."""
    try:
        other.refuse_paused()
        other.refuse_unread(shop)
    except Skipped as paused:
        return paused.message
    return None


def _sentence(event: Event) -> str:
    reason = f" ({event.reason})" if event.reason else ""
    return f"{event.type}: {event.text or event.edit}{reason}"
