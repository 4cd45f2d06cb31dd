"""All known tasks, with family, need and split; and how a new ask finds its family and its split.

A family is joined on entry and never merged or moved; its split is decided once, recorded in the ledger, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor

from skillopt_git.config import Mine
from skillopt_git.mine import Mined
from skillopt_git.model import RECORD, RECORD_VERSION, Check, Examples, Split, Task, family_id, fold_unmarked
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

    def cleaned(self, redact: Callable[[str], str]) -> Bank:
        """As it would be, had it been redacted so from the start: the user may deny a word at any time."""
        return replace(
            self,
            tasks=tuple(_cleaned(task, redact) for task in self.tasks),
            needs={need: redact(text) for need, text in self.needs.items()},
            wordings={
                need: {task: redact(text) for task, text in by_task.items()} for need, by_task in self.wordings.items()
            },
        )


def _cleaned(task: Task, redact: Callable[[str], str]) -> Task:
    def maybe(text: str | None) -> str | None:
        return None if text is None else redact(text)

    def check(item: Check) -> Check:
        return replace(item, arg=redact(item.arg)) if isinstance(item.arg, str) else item

    return replace(
        task,
        ask=redact(task.ask),
        context=redact(task.context),
        checks=tuple(map(check, task.checks)),
        rubric=maybe(task.rubric),
        reference=maybe(task.reference),
        examples=Examples(pass_=maybe(task.examples.pass_), fail=maybe(task.examples.fail)),
        branch=maybe(task.branch),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The bank after tonight's tasks came in, and the families they founded or that no ledger holds yet."""

    bank: Bank
    families: tuple[Family, ...]


def merge(bank: Bank, mined: Mined) -> Bank:
    """`bank` with what was mined. A session that was read again tells all it knows, so its tasks are told anew."""
    tasks = {task.id: task for task in bank.tasks}
    for task in mined.tasks:
        tasks[task.id] = _told_anew(tasks[task.id], task) if task.id in tasks else task
    wordings = {need: dict(by_task) for need, by_task in bank.wordings.items()}
    for need, by_task in mined.wordings.items():
        wordings[need] = {**by_task, **wordings.get(need, {})}
    return Bank(
        tasks=tuple(tasks.values()),
        needs={**mined.needs, **bank.needs},
        wordings=wordings,
        turns={**mined.turns, **bank.turns},
    )


def _told_anew(known: Task, new: Task) -> Task:
    """What was decided about a task stays, and what a person reviewed; the rest is what its session says now."""
    if known.origin != "mined":
        return replace(known, sessions=tuple(dict.fromkeys((*known.sessions, *new.sessions))))
    examples = new.examples
    if new.checks == known.checks:
        examples = Examples(pass_=examples.pass_ or known.examples.pass_, fail=examples.fail or known.examples.fail)
    return replace(new, family=known.family, split=known.split, examples=examples)


def admit(bank: Bank, *, families: Mapping[str, Family], mine: Mine) -> Admitted:
    """Give every task of `bank` its family and split. `families` are those of the ledger."""
    places = _Places(families)
    between = places.settle(bank.tasks)
    known = dict(families)
    fresh = sorted(name for name in places.tasks if name not in known)
    for name in fresh:
        known[name] = _founded(name, places.tasks[name], known.values(), mine)
    places.settle_between(between, known)
    tasks = tuple(_with_split(task, places.families.get(task.id), known) for task in bank.tasks)
    return Admitted(
        bank=replace(bank, tasks=tasks, needs=_worded(bank, tasks)), families=tuple(known[name] for name in fresh)
    )


class _Places:
    """Who is in which family, while tasks come in."""

    def __init__(self, ledger: Mapping[str, Family]) -> None:
        self.families: dict[str, str] = {}  # by task
        self.tasks: dict[str, list[Task]] = {}  # by family
        self._ledger = ledger
        self._asks: dict[str, str] = {}  # folded ask to family
        self._by_length: dict[int, list[str]] = {}  # folded asks

    def settle(self, tasks: Iterable[Task]) -> list[tuple[Task, list[str]]]:
        """Tasks that have a family first, so that a newcomer finds them; then newcomers in the order of their own hash.

        Returns those that are near several families, with these: they wait until all splits are known.
        """
        told = {task: name for name, family in self._ledger.items() for task in family.tasks}
        between: list[tuple[Task, list[str]]] = []
        newcomers: list[Task] = []
        for task in tasks:
            own = family_id(task.ask)
            name = task.family or (own if own in self._ledger else told.get(task.id))
            if name is None:
                newcomers.append(task)
            else:
                self._join(task, name)
        for task in sorted(newcomers, key=lambda task: (family_id(task.ask), task.id)):
            near = self._near(task.ask)
            if len(near) > 1:
                between.append((task, near))
            else:
                self._join(task, near[0] if near else family_id(task.ask))
        return between

    def settle_between(self, between: Iterable[tuple[Task, list[str]]], known: Mapping[str, Family]) -> None:
        """A task near families of one split joins the nearest; near families of different splits it sits out."""
        for task, near in between:
            if len({known[name].split for name in near if name in known}) == 1:
                self._join(task, near[0])

    def _join(self, task: Task, name: str) -> None:
        self.families[task.id] = name
        self.tasks.setdefault(name, []).append(task)
        folded = fold_unmarked(task.ask)
        if folded not in self._asks:
            self._asks[folded] = name
            self._by_length.setdefault(len(folded), []).append(folded)

    def _near(self, ask: str) -> list[str]:
        """The families an ask is near to, the nearest first. A text that is there word for word settles it."""
        folded = fold_unmarked(ask)
        if folded in self._asks:
            return [self._asks[folded]]
        ratios: dict[str, float] = {}
        for other in self._of_like_length(folded):
            ratio = similarity(folded, other)
            if ratio >= NEAR:
                name = self._asks[other]
                ratios[name] = max(ratio, ratios.get(name, 0.0))
        if ratios:
            return sorted(ratios, key=lambda name: (-ratios[name], name))
        bits = simhash(ask) if self._ledger else 0
        return sorted(name for name, family in self._ledger.items() if hamming(bits, family.simhash) <= NEAR_BITS)

    def _of_like_length(self, folded: str) -> Iterator[str]:
        """Texts much shorter or longer cannot be near: two of lengths a < b are at most 2a / (a + b) alike."""
        shortest, longest = len(folded) * NEAR / (2 - NEAR), len(folded) * (2 - NEAR) / NEAR
        for length in range(floor(shortest), ceil(longest) + 1):
            yield from self._by_length.get(length, ())


def _founded(name: str, tasks: Sequence[Task], known: Iterable[Family], mine: Mine) -> Family:
    """A new family with its split: the one its tasks came with, else the next inside the first of its needs."""
    founder = min(tasks, key=lambda task: (family_id(task.ask) != name, task.id))
    needs = tuple(sorted({need for task in tasks for need in task.needs}))
    first = needs[0] if needs else None
    siblings = [
        family.split for family in known if (first in family.needs if first else not family.needs) and family.split
    ]
    given = founder.split or next((task.split for task in tasks if task.split), None)
    return Family(
        id=name,
        needs=needs,
        split=given or next_split(siblings, mine),
        tasks=tuple(sorted(task.id for task in tasks)),
        simhash=simhash(founder.ask),
    )


def next_split(taken: Sequence[Split], mine: Mine) -> Split:
    """The split of the next family: first train, two val, then whichever share is behind."""
    if "train" not in taken:
        return "train"
    if taken.count("val") < min(2, len(taken)) and mine.val_fraction > 0:
        return "val"
    if taken.count("test") / len(taken) < mine.test_fraction:
        return "test"
    return "val" if taken.count("val") / len(taken) < mine.val_fraction else "train"


def _with_split(task: Task, name: str | None, families: Mapping[str, Family]) -> Task:
    """A task that came with another split than its family's sits out: it may have been learned from, or judged by."""
    family = families.get(name) if name is not None else None
    split = family.split if family is not None and task.split in (None, family.split) else None
    return replace(task, family=name, split=split)


def _worded(bank: Bank, tasks: Sequence[Task]) -> dict[str, str]:
    """Each need in the words of a training task: what is held out must not word the rule it is to judge.

    Words that no task gave are a person's own, and stay.
    """
    train = {task.id for task in tasks if task.split == "train"}
    needs = dict(bank.needs)
    for need, by_task in bank.wordings.items():
        fit = [by_task[task] for task in sorted(by_task) if task in train]
        text = needs.get(need)
        if fit and text not in fit and (text is None or text in by_task.values()):
            needs[need] = fit[0]
    return needs
