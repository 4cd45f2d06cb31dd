"""How often a need came up: in the sessions known here, and in those of other machines as far as the ledger tells.

What the ledger tells counts as one session for each run of a machine, and only where nothing of it is known here: the
same session, read on two machines, is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from skillopt_git.families import Family
from skillopt_git.mine import sessions_of
from skillopt_git.model import Hint, Need, Sighting, Task

Elsewhere = Mapping[str, frozenset[tuple[str, str]]]  # by need: machines and the runs in which they told of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """In how many sessions, of how many machines, a need was voiced, and with how many tasks.

    `first` and `last` are times of this machine's sessions. The need of a hint has no id yet: it is empty.
    """

    need: str
    sessions: int
    tasks: int
    first: datetime | None = None
    last: datetime | None = None
    machines: int = 1

    @property
    def days(self) -> tuple[str, ...]:
        """First and last day in UTC, or the one day it was."""
        times = (self.first, self.last)
        return tuple(dict.fromkeys(f"{time:%Y-%m-%d}" for time in times if time is not None))


def elsewhere(families: Iterable[Family], known: Collection[str]) -> dict[str, frozenset[tuple[str, str]]]:
    """What the ledger tells of tasks none of which is in `known`; of those that several machines tell, the first."""
    told: dict[str, set[tuple[str, str]]] = {}
    counted = set(known)
    tellings = (telling for family in families for telling in family.told)
    for telling in sorted(tellings, key=lambda item: (item.run, item.machine, item.tasks)):
        if counted.isdisjoint(telling.tasks):
            for need in telling.needs:
                told.setdefault(need, set()).add((telling.machine, telling.run))
        counted.update(telling.tasks)
    return {need: frozenset(runs) for need, runs in told.items()}


def seen(
    need: str, tasks: Iterable[Task], sightings: Iterable[Sighting], elsewhere: Elsewhere, *, machine: str = ""
) -> Seen:
    """How often `need` came up. `machine` is what the ledger calls this one."""
    own = [task for task in tasks if need in task.needs]
    heard = [item for item in sightings if item.need == need]
    here = sessions_of(need, own, heard)
    told = elsewhere.get(need, frozenset())
    machines = {name for name, _ in told if name} | ({machine or "this one"} if here else set())
    times = [item.time for item in heard if item.time is not None]
    return Seen(
        need=need,
        sessions=len(here) + len(told),
        tasks=len(own),
        first=min(times, default=None),
        last=max(times, default=None),
        machines=max(1, len(machines)),
    )


def tally(
    tasks: Iterable[Task], sightings: Iterable[Sighting], elsewhere: Elsewhere, *, machine: str = ""
) -> dict[str, Seen]:
    """`seen` for every need that a task or a sighting shows, looking at each of these once."""
    asked: dict[str, list[Task]] = {}
    heard: dict[str, list[Sighting]] = {}
    for task in tasks:
        for need in task.needs:
            asked.setdefault(need, []).append(task)
    for item in sightings:
        heard.setdefault(item.need, []).append(item)
    return {
        need: seen(need, asked.get(need, ()), heard.get(need, ()), elsewhere, machine=machine)
        for need in sorted({*asked, *heard})
    }


def recurring(
    needs: Mapping[str, str], counts: Mapping[str, Seen], *, min_sessions: int, replaced: Collection[str] = ()
) -> tuple[Need, ...]:
    """The needs seen in at least `min_sessions` sessions, in the order of their ids. A replaced one never recurs."""
    return tuple(
        Need(need, text)
        for need, text in sorted(needs.items())
        if need in counts and need not in replaced and counts[need].sessions >= min_sessions
    )


def waiting(
    needs: Mapping[str, str],
    counts: Mapping[str, Seen],
    hints: Sequence[Hint],
    *,
    min_sessions: int,
    replaced: Collection[str] = (),
) -> tuple[Seen, ...]:
    """What was seen too rarely so far: needs in the order of their ids, then the hints, each of them alone."""
    rare = (counts[need] for need in sorted(needs) if need in counts and need not in replaced)
    times = (hint.sighting.time for hint in asking(hints))
    alone = (Seen(need="", sessions=1, tasks=1, first=time, last=time) for time in times)
    return (*(item for item in rare if item.sessions < min_sessions), *alone)


def asking(hints: Iterable[Hint]) -> tuple[Hint, ...]:
    """The hints that a person would call one. Mere remarks wait in the bank, too, for the like to come again."""
    return tuple(hint for hint in hints if hint.meant or hint.asks)


def replacement(need: str, replaced: Mapping[str, str], needs: Mapping[str, str], counts: Mapping[str, Seen]) -> str:
    """In words for people, which later wish took the place of `need`, each with the day it was last voiced."""
    return f"{_dated(replaced[need], needs, counts)} replaces {_dated(need, needs, counts)}"


def _dated(need: str, needs: Mapping[str, str], counts: Mapping[str, Seen]) -> str:
    days = counts[need].days if need in counts else ()
    return f"`{needs[need]}`" + (f" ({days[-1]})" if days else "")
