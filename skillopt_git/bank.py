"""All known tasks, with family, need and split; and how a new ask finds its family and its split.

A family is joined on entry and never merged or moved; its split is decided once, recorded in the ledger, and kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor
from typing import TypeAlias

from skillopt_git.config import Mine
from skillopt_git.families import Family
from skillopt_git.ids import family_id, fold_unmarked
from skillopt_git.languages import Reader, reader
from skillopt_git.mine import Mined, wordings
from skillopt_git.model import RECORD, RECORD_VERSION, Check, Examples, Hint, Sighting, Split, Task
from skillopt_git.needs import best_rule
from skillopt_git.similarity import BITS, alike, hamming, simhash

NEAR = 0.90  # similarity of two folded asks of one family
NEAR_BITS = 3  # of their fingerprints, where only the ledger knows the family

_Taken: TypeAlias = dict[str | None, list[Split]]  # the splits of the families of a need, or of those without any


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """The private bank: tasks, needs with their wording, the turns that voiced them, and what a person decided.

    `hints` wait for a second of their kind. `replaced` gives for a need the later one that contradicts it. `dropped`
    are tasks that a person put out; they never come back by being read again. `withheld` are needs of personal tasks
    that were put out: they stay personal.
    """

    __pydantic_config__ = RECORD
    v: int = RECORD_VERSION
    tasks: tuple[Task, ...] = ()
    needs: dict[str, str] = field(default_factory=dict)
    sightings: tuple[Sighting, ...] = ()
    hints: tuple[Hint, ...] = ()
    replaced: dict[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()

    def cleaned(self, redact: Callable[[str], str]) -> Bank:
        """As it would be, had it been redacted so from the start: the user may deny a word at any time."""
        return replace(
            self,
            tasks=tuple(_cleaned(task, redact) for task in self.tasks),
            needs={need: redact(text) for need, text in self.needs.items()},
            sightings=tuple(_heard(item, redact) for item in self.sightings),
            hints=tuple(
                replace(item, sighting=_heard(item.sighting, redact), task=item.task and _cleaned(item.task, redact))
                for item in self.hints
            ),
        )


def _heard(sighting: Sighting, redact: Callable[[str], str]) -> Sighting:
    return replace(sighting, rule=redact(sighting.rule), quote=redact(sighting.quote))


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


def upgraded(data: bytes) -> bytes:
    """A bank as tools before this one wrote it, in today's form: wordings and turns were not sightings yet."""
    try:
        record = json.loads(data)
    except ValueError:
        return data
    if not isinstance(record, dict) or not record.keys() & {"wordings", "turns"}:
        return data
    by_task = {task: turn for turn, task in dict(record.pop("turns", {})).items()}
    sessions = {task.get("id"): (task.get("sessions") or [""])[0] for task in record.get("tasks", ())}
    record["sightings"] = [
        {
            "need": need,
            "rule": rule,
            "quote": rule,
            "turn": by_task.get(task, task),
            "session": sessions.get(task, ""),
            "source": "",
            "task": task,
        }
        for need, worded in dict(record.pop("wordings", {})).items()
        for task, rule in worded.items()
    ]
    return json.dumps(record).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The bank after tonight's tasks came in, and what no ledger holds yet: new families, and who joined known ones."""

    bank: Bank
    families: tuple[Family, ...]


def merge(bank: Bank, mined: Mined) -> Bank:
    """`bank` with what was mined. A session that was read again tells all it knows, so its tasks are told anew, and a
    need may have found better words; those that a person wrote or reviewed stand."""
    written = {need for task in bank.tasks if task.origin == "reviewed" for need in task.needs}
    tasks = {task.id: task for task in bank.tasks}
    for task in mined.tasks:
        if task.id not in bank.dropped:
            tasks[task.id] = _told_anew(tasks[task.id], task) if task.id in tasks else task
    return replace(
        bank,
        tasks=tuple(tasks.values()),
        needs={**bank.needs, **mined.needs, **{need: bank.needs[need] for need in written & bank.needs.keys()}},
        sightings=mined.sightings,
        hints=tuple(hint for hint in mined.hints if hint.sighting.task not in bank.dropped),
        replaced=dict(mined.replaced),
    )


def _told_anew(known: Task, new: Task) -> Task:
    """What was decided about a task stays, and what a person reviewed; the rest is what its session says now."""
    if known.origin != "mined":
        return replace(known, sessions=tuple(dict.fromkeys((*known.sessions, *new.sessions))))
    examples = new.examples
    if new.checks == known.checks:
        examples = Examples(pass_=examples.pass_ or known.examples.pass_, fail=examples.fail or known.examples.fail)
    return replace(
        new,
        family=known.family,
        split=known.split,
        examples=examples,
        golden=known.golden,
        personal=known.personal,
    )


def withheld(bank: Bank) -> frozenset[str]:
    """The needs that never leave this machine."""
    return frozenset(bank.withheld) | {need for task in bank.tasks if task.personal for need in task.needs}


def shareable(bank: Bank) -> Bank:
    """Without what is personal: such tasks, what they ask for, and whatever else asks for the same."""
    personal = withheld(bank)
    return replace(
        bank,
        tasks=tuple(task for task in bank.tasks if not task.personal and personal.isdisjoint(task.needs)),
        needs={need: text for need, text in bank.needs.items() if need not in personal},
        sightings=tuple(item for item in bank.sightings if item.need not in personal),
    )


def admit(
    bank: Bank, *, families: Mapping[str, Family], mine: Mine, machine: str = "", words: Reader | None = None
) -> Admitted:
    """Give every task of `bank` its family and split. `families` are those of the ledger, `machine` its name for us."""
    places = _Places(families, machine)
    between = places.settle(bank.tasks)
    known = {name: _with_needs(family, places.tasks.get(name, ())) for name, family in families.items()}
    fresh = sorted(name for name in places.tasks if name not in known)
    taken: _Taken = {}
    for family in known.values():
        _take(family, taken)
    for name in fresh:
        known[name] = _founded(name, places.tasks[name], taken, mine)
        _take(known[name], taken)
    places.settle_between(between, known)
    tasks = tuple(_with_split(task, places.families.get(task.id), known) for task in bank.tasks)
    joined = (_joined(family, places.tasks.get(name, ()), machine) for name, family in sorted(families.items()))
    return Admitted(
        bank=replace(bank, tasks=tasks, needs=_worded(bank, tasks, words or reader())),
        families=(*(known[name] for name in fresh), *(family for family in joined if family is not None)),
    )


def _with_needs(family: Family, tasks: Iterable[Task]) -> Family:
    """A family that a task with another need joined is one of that need's, too."""
    return replace(family, needs=tuple(sorted({*family.needs, *(need for task in tasks for need in task.needs)})))


def _joined(family: Family, tasks: Iterable[Task], machine: str) -> Family | None:
    """What this machine did not tell of a family yet: without it, a lost bank might be rebuilt otherwise."""
    told = _told_by(machine, family)
    new = [task for task in tasks if task.id not in told]
    if not new or family.split is None:
        return None
    return replace(
        family,
        needs=tuple(sorted({need for task in new for need in task.needs})),
        tasks=tuple(sorted(task.id for task in new)),
        told=(),
    )


def _told_by(machine: str, family: Family) -> frozenset[str]:
    return frozenset(task for item in family.told if item.machine == machine for task in item.tasks)


class _Places:
    """Who is in which family, while tasks come in."""

    def __init__(self, ledger: Mapping[str, Family], machine: str) -> None:
        self.families: dict[str, str] = {}  # by task
        self.tasks: dict[str, list[Task]] = {}  # by family
        self._ledger = ledger
        self._machine = machine
        self._prints = _Prints(ledger)
        self._asks: dict[str, str] = {}  # folded ask to family
        self._by_length: dict[int, list[str]] = {}  # folded asks

    def settle(self, tasks: Iterable[Task]) -> list[tuple[Task, list[str]]]:
        """Tasks that have a family first, so that a newcomer finds them; then newcomers in the order of their own hash.

        Returns those that are near several families, with these: they wait until all splits are known.
        """
        told_here, told = self._told()
        between: list[tuple[Task, list[str]]] = []
        newcomers: list[Task] = []
        for task in tasks:
            own = family_id(task.ask)
            hashed = own if own in self._ledger else None
            name = task.family or told_here.get(task.id) or hashed or told.get(task.id)
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

    def _told(self) -> tuple[dict[str, str], dict[str, str]]:
        """The family of each task that the ledger names: as this machine told it, and as any did.

        Machines that met a task before they met each other may have it in different families.
        """
        here: dict[str, str] = {}
        anywhere: dict[str, str] = {}
        for name, family in sorted(self._ledger.items()):
            for task in family.tasks:
                anywhere.setdefault(task, name)
            for task in _told_by(self._machine, family):
                here.setdefault(task, name)
        return here, anywhere

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
        """The families an ask is near to, the nearest first. A text that is there word for word settles it.

        Of families without a text here the ledger has the fingerprint.
        """
        folded = fold_unmarked(ask)
        if folded in self._asks:
            return [self._asks[folded]]
        ratios: dict[str, float] = {}
        for texts in self._of_like_length(folded):
            for other, ratio in alike(folded, texts, NEAR):
                name = self._asks[other]
                ratios[name] = max(ratio, ratios.get(name, 0.0))
        unread = self._prints.near(ask) - self.tasks.keys()
        return sorted({*ratios, *unread}, key=lambda name: (-ratios.get(name, 0.0), name))

    def _of_like_length(self, folded: str) -> Iterator[Sequence[str]]:
        """Texts much shorter or longer cannot be near: two of lengths a < b are at most 2a / (a + b) alike."""
        shortest, longest = len(folded) * NEAR / (2 - NEAR), len(folded) * (2 - NEAR) / NEAR
        lengths = range(floor(shortest), ceil(longest) + 1)
        return (self._by_length[length] for length in lengths if length in self._by_length)


class _Prints:
    """Fingerprints that are looked up by their quarters: of two that differ in three bits at most, one is the same."""

    _QUARTER = BITS // (NEAR_BITS + 1)

    def __init__(self, ledger: Mapping[str, Family]) -> None:
        self._ledger = ledger
        self._names: dict[tuple[int, int], list[str]] = {}
        for name, family in ledger.items():
            for quarter in self._quarters(family.simhash):
                self._names.setdefault(quarter, []).append(name)

    def near(self, ask: str) -> set[str]:
        if not self._names:
            return set()
        bits = simhash(ask)
        maybe = {name for quarter in self._quarters(bits) for name in self._names.get(quarter, ())}
        return {name for name in maybe if hamming(bits, self._ledger[name].simhash) <= NEAR_BITS}

    def _quarters(self, bits: int) -> list[tuple[int, int]]:
        mask = (1 << self._QUARTER) - 1
        return [(place, bits >> place & mask) for place in range(0, BITS, self._QUARTER)]


def _take(family: Family, taken: _Taken) -> None:
    if family.split is not None:
        for need in family.needs or (None,):
            taken.setdefault(need, []).append(family.split)


def _founded(name: str, tasks: Sequence[Task], taken: _Taken, mine: Mine) -> Family:
    """A new family with its split: the one its tasks came with, else the next inside the first of its needs."""
    founder = min(tasks, key=lambda task: (family_id(task.ask) != name, task.id))
    needs = tuple(sorted({need for task in tasks for need in task.needs}))
    siblings = taken.get(needs[0] if needs else None, [])
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


def _worded(bank: Bank, tasks: Sequence[Task], words: Reader) -> dict[str, str]:
    """Each need in the words of a training task, the best of them: what is held out must not word the rule it judges.

    Words that no task gave are a person's own, and stay. Where no training task gave more than a remark ("still a
    default export"), the words stay, too, and the task that gave them sits out when the rule is tried.
    """
    grammars = words.grammars
    train = {task.id for task in tasks if task.split == "train"}
    needs = dict(bank.needs)
    for need, by_task in wordings(bank.sightings).items():
        fit = [by_task[task] for task in sorted(by_task) if task in train]
        text = needs.get(need)
        best = best_rule(fit, grammars)
        if best is not None and text not in fit and (text is None or text in by_task.values()):
            needs[need] = best
    return needs
