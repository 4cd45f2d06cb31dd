"""All known tasks, with family, need and split; and how a new ask finds its family and its split.

A family is joined on entry and never merged or moved; its split is decided once, recorded in the ledger, and kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from skillopt_git.config import Mine
from skillopt_git.mine import Mined
from skillopt_git.model import RECORD, RECORD_VERSION, Split, Task, family_id
from skillopt_git.recall import Family
from skillopt_git.similarity import hamming, simhash, similarity

NEAR = 0.90  # similarity of two folded asks of one family
NEAR_BITS = 3  # of their fingerprints, where only the ledger knows the family


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """The private bank. `wordings` and `turns` are as in `mine.Mined`."""

    __pydantic_config__ = RECORD
    v: int = RECORD_VERSION
    tasks: tuple[Task, ...] = ()
    needs: dict[str, str] = field(default_factory=dict)
    wordings: dict[str, dict[str, str]] = field(default_factory=dict)
    turns: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The bank after tonight's tasks came in, and the families they founded or that no ledger holds yet."""

    bank: Bank
    families: tuple[Family, ...]


def merge(bank: Bank, mined: Mined) -> Bank:
    """`bank` with what was mined: a task that is known gains sessions, needs and examples, and keeps the rest."""
    tasks = {task.id: task for task in bank.tasks}
    for task in mined.tasks:
        tasks[task.id] = _joined(tasks[task.id], task) if task.id in tasks else task
    wordings = {need: dict(by_task) for need, by_task in bank.wordings.items()}
    for need, by_task in mined.wordings.items():
        known = wordings.setdefault(need, {})
        for task_id, text in by_task.items():
            known.setdefault(task_id, text)
    return Bank(
        tasks=tuple(tasks.values()),
        needs={**mined.needs, **bank.needs},
        wordings=wordings,
        turns={**mined.turns, **bank.turns},
    )


def _joined(known: Task, new: Task) -> Task:
    return replace(
        known,
        needs=_union(known.needs, new.needs),
        checks=tuple(dict.fromkeys((*known.checks, *new.checks))),
        sessions=_union(known.sessions, new.sessions),
        skills=_union(known.skills, new.skills),
        examples=replace(
            known.examples,
            pass_=known.examples.pass_ or new.examples.pass_,
            fail=known.examples.fail or new.examples.fail,
        ),
    )


def _union(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def admit(bank: Bank, *, families: Mapping[str, Family], mine: Mine) -> Admitted:
    """Give every task of `bank` its family and split. `families` are those of the ledger."""
    placed = _with_families(bank.tasks, families)
    known = dict(families)
    fresh = _group(task for task in placed if task.family is not None and task.family not in known)
    for name in sorted(fresh):
        known[name] = _found(name, fresh[name], known.values(), mine)
    tasks = tuple(_with_split(task, known) for task in placed)
    admitted = replace(bank, tasks=tasks, needs=_worded(bank, tasks))
    return Admitted(bank=admitted, families=tuple(known[name] for name in sorted(fresh)))


def _group(tasks: Iterable[Task]) -> dict[str, list[Task]]:
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.family or "", []).append(task)
    return groups


def _with_families(tasks: Sequence[Task], families: Mapping[str, Family]) -> tuple[Task, ...]:
    """Tasks that have a family first, so that a newcomer finds them; then newcomers in the order of their own hash."""
    asks: dict[str, list[str]] = {}
    placed: dict[str, Task] = {}
    for task in tasks:
        if task.family is not None:
            asks.setdefault(task.family, []).append(task.ask)
            placed[task.id] = task
    newcomers = sorted(
        (task for task in tasks if task.id not in placed), key=lambda task: (family_id(task.ask), task.id)
    )
    splits = {name: family.split for name, family in families.items()}
    for task in newcomers:
        name = _family_of(task.ask, asks, families, splits)
        placed[task.id] = replace(task, family=name)
        if name is not None:
            asks.setdefault(name, []).append(task.ask)
    return tuple(placed[task.id] for task in tasks)


def _family_of(
    ask: str, asks: Mapping[str, Sequence[str]], families: Mapping[str, Family], splits: Mapping[str, Split | None]
) -> str | None:
    """The family an ask joins or founds; None when it is near families of different splits."""
    own = family_id(ask)
    if own in asks or own in families:
        return own
    near = sorted(
        ((max(similarity(ask, other) for other in group), name) for name, group in asks.items()), reverse=True
    )
    close = [name for ratio, name in near if ratio >= NEAR]
    if close:
        return close[0] if len({splits.get(name) for name in close}) == 1 else None
    bits = simhash(ask)
    told = [name for name, family in sorted(families.items()) if hamming(bits, family.simhash) <= NEAR_BITS]
    if told:
        return told[0] if len({splits.get(name) for name in told}) == 1 else None
    return own


def _found(name: str, tasks: Sequence[Task], known: Iterable[Family], mine: Mine) -> Family:
    needs = tuple(sorted({need for task in tasks for need in task.needs}))
    wished = {task.split for task in tasks} - {None}
    first = needs[0] if needs else None
    siblings = [
        family.split for family in known if (first in family.needs if first else not family.needs) and family.split
    ]
    return Family(
        id=name,
        needs=needs,
        split=wished.pop() if len(wished) == 1 else next_split(siblings, mine),
        tasks=tuple(sorted(task.id for task in tasks)),
        simhash=simhash(tasks[0].ask),
    )


def next_split(taken: Sequence[Split], mine: Mine) -> Split:
    """The split of the next family: first train, two val, then whichever share is behind."""
    if not taken:
        return "train"
    if taken.count("val") < min(2, len(taken)) and mine.val_fraction > 0:
        return "val"
    if taken.count("test") / len(taken) < mine.test_fraction:
        return "test"
    return "val" if taken.count("val") / len(taken) < mine.val_fraction else "train"


def _with_split(task: Task, families: Mapping[str, Family]) -> Task:
    family = families.get(task.family) if task.family is not None else None
    return replace(task, split=family.split if family else None)


def _worded(bank: Bank, tasks: Sequence[Task]) -> dict[str, str]:
    """Each need in the words of a training task: what is held out must not word the rule it is to judge."""
    train = {task.id for task in tasks if task.split == "train"}
    needs = dict(bank.needs)
    for need, by_task in bank.wordings.items():
        wordings = [text for task, text in by_task.items() if task in train]
        if wordings and needs.get(need) not in wordings:
            needs[need] = wordings[0]
    return needs
