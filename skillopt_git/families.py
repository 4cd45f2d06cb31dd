"""Families as the ledger tells them. A pure fold of `family` events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skillopt_git.model import Event, Split


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What one run on one machine told of a family: the tasks that came in, and their needs.

    `machine` is empty where an older version told it.
    """

    machine: str
    run: str
    needs: tuple[str, ...]
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One ask and its near-copies, as the ledger knows it. `split` is None when two clones disagreed: it sits out.

    `needs` and `tasks` are those of all tellings.
    """

    id: str
    needs: tuple[str, ...]
    split: Split | None
    tasks: tuple[str, ...]
    simhash: int
    told: tuple[Telling, ...] = ()


def families(events: Iterable[Event]) -> dict[str, Family]:
    """A family is told when it is founded and when tasks join it. The smallest event id wins; a family whose split
    that changed sits out for good."""
    told: dict[str, list[Event]] = {}
    for event in events:
        if event.type == "family":
            told.setdefault(str(event.data["family"]), []).append(event)
    return {name: _family(name, each) for name, each in told.items()}


def _family(name: str, events: list[Event]) -> Family:
    tellings = tuple(map(_telling, events))
    first = events[0].data
    return Family(
        id=name,
        needs=tuple(sorted({need for telling in tellings for need in telling.needs})),
        split=first["split"] if len({event.data["split"] for event in events}) == 1 else None,
        tasks=tuple(sorted({task for telling in tellings for task in telling.tasks})),
        simhash=int(str(first["simhash"]), 16),
        told=tellings,
    )


def _telling(event: Event) -> Telling:
    return Telling(
        machine=event.data.get("machine") or "",
        run=event.run or "",
        needs=tuple(map(str, event.data["needs"])),
        tasks=tuple(map(str, event.data["tasks"])),
    )
