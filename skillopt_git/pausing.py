"""When nobody looks: how many nights found a proposal's pull request just as people left it.

All that people did to it makes a mark, and the record of a night keeps the one it found. Equal marks are counted, so
that no clock is compared with another one; whatever somebody does makes a new mark, of which there are none yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace

from skillopt_git.hearing import OURS, Heard, metadata, ticked
from skillopt_git.ids import Json, digest
from skillopt_git.model import Event
from skillopt_git.ports import ForgeEvent
from skillopt_git.pulls import own_notes
from skillopt_git.recall import ADOPTIONS, Proposal

_FOUND = "found"  # where a run's record keeps it
_LABELS = frozenset({"labeled", "unlabeled"})
_TOUCHES = frozenset({"commented", "reviewed", "reopened"}) | _LABELS
_DECISIONS = ADOPTIONS | {"rejected"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The pull request of a proposal's branch, with the mark of what people did to it so far."""

    branch: str
    url: str
    mark: str


def as_found(heard: Heard, proposal: Proposal, *, tips: Collection[str], labels: Collection[str]) -> Found:
    """`tips` are all commits that we ever left the branch at, `labels` those that we put on pull requests."""
    pull = heard.pull
    page = metadata(pull.body) or {}
    ours = {*labels, *OURS}
    outcomes = (item.outcome for item in proposal.edits if item.outcome is not None)
    did: list[Json] = [
        pull.number,
        *sorted(item.id for item in heard.events if _touches(item, ours)),
        *sorted(item.id for item in outcomes if item.type in _DECISIONS),
        None if pull.head_sha in tips else pull.head_sha,
        pull.draft is page.get("draft"),
        own_notes(pull.body),
        *ticked(pull.body),
    ]
    return Found(branch=proposal.branch, url=pull.url, mark=digest(*did))


def _touches(item: ForgeEvent, ours: Collection[str]) -> bool:
    """By a person who may write here, as far as that is known: a guest's word keeps no model busy."""
    if item.actor.bot or item.actor.writes is False or (item.kind in _LABELS and item.text in ours):
        return False
    return item.kind in _TOUCHES


def noted(events: Iterable[Event], found: Found | None) -> tuple[Event, ...]:
    """The same events, in which a run tells what it found: this, and nothing else that somebody wrote there."""
    return tuple(_telling(event, found) if event.type == "run" else event for event in events)


def _telling(run: Event, found: Found | None) -> Event:
    told = {_FOUND: asdict(found)} if found is not None and not run.simulated else {}
    return replace(run, data={key: value for key, value in run.data.items() if key != _FOUND} | told)


# --- counting ----------------------------------------------------------------------------------------------------


def waiting(events: Iterable[Event], found: Found, *, after: int) -> str | None:
    """That as many nights went by unread, in words; None before, and where `after` is 0."""
    alike = [event for event in events if _mark(event, found.branch) == found.mark]
    count = len({event.run for event in alike})
    if not after or count < after:
        return None
    since = min(event.ts for event in alike)[:10]
    return (
        f"paused: {found.url} was left alone for {nights(count)}, since {since}; nights go on when it is merged, "
        "closed or commented on, or with propose.pause_after = 0"
    )


def unread(events: Iterable[Event], branch: str) -> int:
    """How many nights found the branch's pull request as the last of them did: what is known without asking there."""
    marks = {str(event.run): mark for event in events if (mark := _mark(event, branch)) is not None}
    return list(marks.values()).count(marks[max(marks)]) if marks else 0


def nights(count: int) -> str:
    return "1 night" if count == 1 else f"{count} nights"


def _mark(event: Event, branch: str) -> str | None:
    """What a real night found there."""
    told = event.data.get(_FOUND) if event.type == "run" and not event.simulated else None
    return str(told.get("mark")) if isinstance(told, dict) and told.get("branch") == branch else None
