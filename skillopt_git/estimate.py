"""What a night would ask of models, before it asks anything: how many calls, how many tokens, and what of it the budget
would cut. Pure.

`most` is an upper bound as far as the settings give one. `likely` is a night in which each wish gets one rule, and the
gate measures what it may measure and suspects nothing. What is remembered from other nights is asked again by neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from skillopt_git.asking import LONGEST_ANSWER, SHOWN_TEXT
from skillopt_git.config import Budget, Config
from skillopt_git.documents import Documents
from skillopt_git.judges import LONGEST_RULING, VOTES
from skillopt_git.lessons import SHOWN_PASSING, SHOWN_TASKS
from skillopt_git.model import Need, Task
from skillopt_git.ports import Purpose, Request, Role
from skillopt_git.purse import BYTES_A_TOKEN, WORDING, Spent, most_input, size
from skillopt_git.reflection import SHOWN_ANSWER
from skillopt_git.replay import request
from skillopt_git.weighing import SUSPECT_OF

USUAL_BYTES = 4  # of a token
USUAL_WORDING = 120  # tokens of a prompt's own words
USUAL_ANSWER, USUAL_RULING, USUAL_EDITS, USUAL_TASKS = 256, 64, 256, 256  # tokens
RULE = 200  # tokens that a document may gain in a night
SHOWN_CHARACTERS = SHOWN_TEXT + 2 * SHOWN_ANSWER + 1_000  # of a task, with two answers and what they missed
CHARACTER_BYTES = 4  # at most


@dataclass(frozen=True, slots=True)
class Load:
    """Calls, and the tokens they send and receive."""

    calls: int = 0
    sent: int = 0
    received: int = 0

    def __add__(self, other: Load) -> Load:
        return Load(self.calls + other.calls, self.sent + other.sent, self.received + other.received)

    def __mul__(self, times: int) -> Load:
        return Load(self.calls * times, self.sent * times, self.received * times)

    @property
    def tokens(self) -> int:
        return self.sent + self.received


class Price(Protocol):
    """Dollars; None where no price is known. `most`: without what may be cheaper."""

    def __call__(self, role: Role, purpose: Purpose, load: Load, *, most: bool = False) -> float | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One part of a night, in the order in which a night goes on."""

    what: str
    role: Role
    purpose: Purpose
    likely: Load
    most: Load


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A limit that is set, and what of it is left; from which step on it would cut a likely night, and the longest."""

    limit: str
    left: float
    likely: str | None
    most: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is known of a night before it. `tasks` may be replayed, `golden` ones veto, `on_trial` are the needs of
    trials that go on, `teachable` is how many documents may be taught, `controls` how many are due, `beyond` what a
    role's answers may take beyond what is asked for, `reading` what the optimizer is asked about sessions."""

    config: Config
    tasks: Sequence[Task]
    golden: Sequence[Task]
    needs: Sequence[Need]
    documents: Documents
    teachable: int
    on_trial: Sequence[str] = ()
    controls: int = 0
    two_models: bool = False
    beyond: Mapping[Role, int] = field(default_factory=dict)
    reading: Sequence[Request] = ()

    def steps(self) -> tuple[Step, ...]:
        """Without those that are empty."""
        learning = bool(self.needs and self.tasks)
        every = (
            *((self._probe(),) if learning or self.reading else ()),
            self._sessions(),
            *(self._learning() if learning else ()),
        )
        return tuple(step for step in every if step.most.calls)

    def _learning(self) -> tuple[Step, ...]:
        return (
            *self._trials("trials that go on", self.on_trial, self.on_trial),
            *self._practice(),
            *self._reflection(),
            *self._gate(),
            *self._means(),
            *self._controls(),
        )

    # --- the parts of a night ---

    def _probe(self) -> Step:
        asked = Load(2 if self.two_models else 1)
        return Step(
            what="whether the models are there",
            role="target",
            purpose="probe",
            likely=Load(asked.calls, 20 * asked.calls, 5 * asked.calls),
            most=Load(1, WORDING, 64 + max(self.beyond.values(), default=0)) * asked.calls,
        )

    def _sessions(self) -> Step:
        """Each session once; where an answer cannot be read, again."""
        written = self.beyond.get("optimizer", 0)
        usual = (_usual(asked, USUAL_TASKS) for asked in self.reading)
        most = (Load(1, most_input(asked), asked.max_tokens + written) * 2 for asked in self.reading)
        return Step(
            what="sessions that are read",
            role="optimizer",
            purpose="mine",
            likely=sum(usual, Load()),
            most=sum(most, Load()),
        )

    def _practice(self) -> Iterator[Step]:
        """The training tasks as they come out now; for a second document once more."""
        train, often = self._train(), self.config.replay.dream_rollouts
        yield from self._rollouts("training tasks", [(task, often, often * self.teachable) for task in train])
        factor = self.config.replay.dream_factor
        if factor:
            asked = self._reflected(train) * self.teachable
            most = self._reflected(train, most=True) * (2 * self.teachable)
            yield Step(what="variants", role="optimizer", purpose="dream", likely=asked, most=most)
            variants = [(task, factor, factor * self.teachable) for task in train]
            yield from self._rollouts("variants of training tasks", variants)

    def _reflection(self) -> Iterator[Step]:
        """Each wish once; where an answer cannot be read, or a second document is taught, again."""
        wishes = [need for need in self.needs if self._train(need.id)]
        every = sum((self._reflected(self._train(need.id)) for need in wishes), Load())
        again = sum((self._reflected(self._train(need.id), most=True) for need in wishes), Load())
        yield Step(what="rules", role="optimizer", purpose="reflect", likely=every, most=again * (2 * self.teachable))
        if len(wishes) > 1:
            one, most = self._reflected(self._train()), self._reflected(self._train(), most=True)
            yield Step(what="rules", role="optimizer", purpose="merge", likely=one, most=most * (2 * self.teachable))
        sets = self._sets()
        yield from self._rollouts(
            "rules on training tasks",
            [(task, int(len(wishes) > 1), sets) for need in wishes for task in self._train(need.id)],
        )

    def _sets(self) -> int:
        """How often the training tasks of a wish are replayed with its edits, each of which is left out in turn."""
        edits = self.config.propose.edit_budget
        return (edits * (edits + 1) // 2 + edits) * self.teachable

    def _gate(self) -> Iterator[Step]:
        wishes = [need.id for need in self.needs if self._train(need.id) and self._primary(need.id)]
        gate = self.config.gate
        if gate.mode == "strict":
            held_out = [*self._held_out(), *(task for task in self.golden if task not in self._held_out())]
            edits = self.config.propose.edit_budget * len(wishes) * self.teachable
            yield from self._rollouts("the gate", [(task, 2 * len(wishes), 2 * edits) for task in held_out])
        elif gate.mode == "evidence":
            longest = sorted(wishes, key=lambda need: -len(self._primary(need)))
            yield from self._trials("the gate", wishes[: gate.candidates], longest[: gate.candidates])

    def _trials(self, what: str, likely: Iterable[str], most: Iterable[str]) -> Iterator[Step]:
        """Both arms of every pair; what seems to get worse is measured again."""
        asked: dict[str, tuple[Task, int, int]] = {}
        often = self.config.gate.rollouts
        for needs, share in ((likely, (2 * often, 0)), (most, (0, 2 * (often + SUSPECT_OF)))):
            for need in needs:
                for task in self._measured(need):
                    _, usual, longest = asked.get(task.id, (task, 0, 0))
                    asked[task.id] = (task, usual + share[0], longest + share[1])
        yield from self._rollouts(what, list(asked.values()))

    def _means(self) -> Iterator[Step]:
        """The base, and all that was accepted together; with the gate off nothing is measured."""
        val = () if self.config.gate.mode == "off" else self._held_out()
        test = [task for task in self.tasks if task.split == "test"]
        asked = [*((task, 1, 2) for task in val), *((task, 1, 1) for task in test)]
        yield from self._rollouts("the means of the night", asked)

    def _controls(self) -> Iterator[Step]:
        usual = sorted((need.id for need in self.needs), key=lambda need: -len(self._primary(need)))[:1]
        due = usual * self.controls if self.config.gate.mode == "evidence" else ()
        yield from self._trials("controls of the gate", due, due)

    # --- tasks ---

    def _train(self, need: str | None = None) -> list[Task]:
        wanted = {item.id for item in self.needs} if need is None else {need}
        return [task for task in self.tasks if task.split == "train" and wanted & set(task.needs)]

    def _held_out(self) -> list[Task]:
        return [task for task in self.tasks if task.split == "val"]

    def _primary(self, need: str) -> list[Task]:
        return [task for task in self._held_out() if need in task.needs]

    def _measured(self, need: str) -> list[Task]:
        """The tasks of a trial: its own, those that veto, and so many others."""
        primary = self._primary(need)
        golden = [task for task in self.golden if task not in primary]
        others = [task for task in self._held_out() if task not in primary and task not in golden]
        return [*primary, *golden, *others[: self.config.gate.guard]] if primary else []

    # --- calls ---

    def _rollouts(self, what: str, asked: Sequence[tuple[Task, int, int]]) -> Iterator[Step]:
        """Each task so often, likely and at most; a rubric is judged by several votes, each of which may be unreadable
        once."""
        likely, most, ruled, ruled_most = Load(), Load(), Load(), Load()
        ruling = LONGEST_RULING + self.beyond.get("optimizer", 0)
        for task, often, longest in asked:
            one = request(task, self.documents, "")
            likely += _usual(one, USUAL_ANSWER) * often
            written = one.max_tokens + self.beyond.get("target", 0)
            most += Load(1, most_input(one) + RULE, written) * longest
            if task.rubric:
                about = Request(role="optimizer", purpose="judge", ask=task.ask, context=task.rubric)
                usual = _usual(about, USUAL_RULING)
                ruled += Load(1, usual.sent + USUAL_ANSWER, usual.received) * (VOTES * often)
                ruled_most += Load(1, most_input(about) + written, ruling) * (2 * VOTES * longest)
        yield Step(what=what, role="target", purpose="rollout", likely=likely, most=most)
        yield Step(what=f"{what}, judged", role="optimizer", purpose="judge", likely=ruled, most=ruled_most)

    def _reflected(self, train: Sequence[Task], *, most: bool = False) -> Load:
        """One question of the optimizer, about some tasks under the documents."""
        shown = train[:SHOWN_TASKS]
        about = Request(
            role="optimizer",
            purpose="reflect",
            ask="\n".join(task.ask for task in shown),
            documents=self.documents,
        )
        if not most:
            return _usual(about, USUAL_EDITS) if train else Load()
        tasks = SHOWN_TASKS + SHOWN_PASSING + self.config.replay.recall_k
        told = tasks * SHOWN_CHARACTERS * CHARACTER_BYTES // BYTES_A_TOKEN
        written = LONGEST_ANSWER + self.beyond.get("optimizer", 0)
        return Load(1, most_input(about) + told, written) if train else Load()


def _usual(asked: Request, answer: int) -> Load:
    return Load(1, USUAL_WORDING + size(asked) // USUAL_BYTES, answer)


# --- the budget --------------------------------------------------------------------------------------------------


def total(steps: Iterable[Step], role: Role | None = None) -> tuple[Load, Load]:
    """Likely and at most, of one role or of both."""
    of_role = [step for step in steps if role in (None, step.role)]
    return sum((step.likely for step in of_role), Load()), sum((step.most for step in of_role), Load())


def dollars(steps: Iterable[Step], price: Price, role: Role | None = None) -> tuple[float | None, float | None]:
    """The same in dollars; None where a price is unknown."""
    of_role = [step for step in steps if role in (None, step.role)]
    likely = [price(step.role, step.purpose, step.likely) for step in of_role]
    most = [price(step.role, step.purpose, step.most, most=True) for step in of_role]
    return _sum(likely), _sum(most)


def _sum(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def cuts(steps: Sequence[Step], budget: Budget, before: Spent, price: Price) -> tuple[Cut, ...]:
    """For each limit in tokens or dollars. How many minutes calls take, nobody knows before."""

    tokens = [(step.likely.tokens, step.most.tokens) for step in steps]
    usd = [
        (
            price(step.role, step.purpose, step.likely) or 0.0,
            price(step.role, step.purpose, step.most, most=True) or 0.0,
        )
        for step in steps
    ]
    limits: tuple[tuple[str, float, Sequence[tuple[float, float]], float], ...] = (
        ("tokens", budget.tokens, tokens, 0),
        ("week_tokens", budget.week_tokens, tokens, before.tokens),
        ("usd", budget.usd, usd, 0),
        ("week_usd", budget.week_usd, usd, before.usd),
    )
    return tuple(
        Cut(
            limit=f"budget.{name}",
            left=max(limit - gone, 0),
            likely=_first(steps, [likely for likely, _ in sizes], limit - gone),
            most=_first(steps, [most for _, most in sizes], limit - gone),
        )
        for name, limit, sizes, gone in limits
        if limit
    )


def _first(steps: Sequence[Step], sizes: Sequence[float], left: float) -> str | None:
    """The step within which no more is left."""
    return next((step.what for step, so_far in zip(steps, accumulate(sizes), strict=True) if so_far > left), None)
