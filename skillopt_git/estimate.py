"""What a night would ask of models, before it asks anything: how many calls, how many tokens, and what of it the budget
would cut. Pure.

`most` is an upper bound as far as the settings give one, for the wishes that are known before the night. `likely` is a
night in which each of them that memory does not hold back gets one rule, and the gate measures what it may measure and
suspects nothing. What is remembered from other nights is asked again by neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from skillopt_git.replay import NONE_USED, request
from skillopt_git.used import Used
from skillopt_git.weighing import SUSPECT_OF

USUAL_BYTES = 4  # of a token
USUAL_WORDING = 120  # tokens of a prompt's own words
USUAL_ANSWER, USUAL_RULING, USUAL_EDITS = 256, 64, 256  # tokens
MINING_WORDS = 4_000  # bytes of what a model that reads sessions is told to do, with the schema of its answer
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

    @property
    def call(self) -> Load:
        """What a usual one of its calls reserves before it is made: room for the longest answer."""
        usual = self.likely.sent * USUAL_BYTES // BYTES_A_TOKEN // max(self.likely.calls, 1)
        return Load(1, min(usual, self.most.sent // self.most.calls), self.most.received // self.most.calls)


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
    trials that go on, `held` those that memory holds back, `teachable` is how many documents may be taught, `homes`
    names the skill of those needs that are taught in one that sessions used, `controls` and `guides` are how many
    controls and how much guidance is due, `beyond` is what a role's answers may take beyond what is asked for. `reads`
    are the bytes of each session that a model is to read, `heard` those of the wishes it is told beside."""

    config: Config
    tasks: Sequence[Task]
    golden: Sequence[Task]
    needs: Sequence[Need]
    documents: Documents
    teachable: int
    on_trial: Sequence[str] = ()
    controls: int = 0
    two_models: bool = False
    guides: int = 0
    beyond: Mapping[Role, int] = field(default_factory=dict)
    held: frozenset[str] = frozenset()
    used: Used = NONE_USED
    homes: Mapping[str, str] = field(default_factory=dict)
    reads: Sequence[int] = ()
    heard: int = 0

    def steps(self) -> tuple[Step, ...]:
        """Without those that are empty."""
        learning = (
            *self._trials("trials that go on", self.on_trial, self.on_trial),
            *self._practice(),
            *self._reflection(),
            *self._gate(),
            *self._guidance(),
            *self._means(),
            *self._controls(),
        )
        asked = (self._mining(), *(learning if self.needs and self.tasks else ()))
        later = tuple(step for step in asked if step.most.calls)
        return (self._probe(), *later) if later else ()

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

    def _mining(self) -> Step:
        """Each session once; again where the answer cannot be read."""
        room = LONGEST_ANSWER + self.beyond.get("optimizer", 0)
        sent = [WORDING + (MINING_WORDS + self.heard + size) // BYTES_A_TOKEN for size in self.reads]
        usual = [(MINING_WORDS + size) // USUAL_BYTES for size in self.reads]
        return Step(
            what="sessions, read by the model",
            role="optimizer",
            purpose="mine",
            likely=Load(len(usual), sum(usual), USUAL_EDITS * len(usual)),
            most=Load(len(sent), sum(sent), room * len(sent)) * 2,
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
        """Each wish once; where an answer cannot be read, or a second document is taught, again. Rules are ranked where
        some are too many or too much alike, which is seldom."""
        wishes = [need for need in self.needs if self._train(need.id)]
        likely = [need for need in wishes if need.id not in self.held]
        every = sum((self._reflected(self._train(need.id)) for need in likely), Load())
        again = sum((self._reflected(self._train(need.id), most=True) for need in wishes), Load())
        yield Step(what="rules", role="optimizer", purpose="reflect", likely=every, most=again * (2 * self._places))
        if len(wishes) > 1:
            most = self._reflected(self._train(), most=True) * (2 * self._places)
            yield Step(what="rules, ranked", role="optimizer", purpose="merge", likely=Load(), most=most)
        sets, many = self._sets(), self._crowded(likely)
        yield from self._rollouts(
            "rules on training tasks",
            [(task, int(need.id in many), sets) for need in wishes for task in self._train(need.id)],
        )

    @property
    def _places(self) -> int:
        """In how many documents a wish may be tried."""
        return self.teachable + int(bool(self.homes))

    def _crowded(self, needs: Sequence[Need]) -> set[str]:
        """Those that share a document with others: what training tasks gain says which go first."""
        shared = Counter(self.homes.get(need.id, "") for need in needs)
        return {need.id for need in needs if shared[self.homes.get(need.id, "")] > 1}

    def _sets(self) -> int:
        """How often the training tasks of a wish are replayed with its edits, each of which is left out in turn."""
        edits = self.config.propose.edit_budget
        return (edits * (edits + 1) // 2 + edits) * self._places

    def _gate(self) -> Iterator[Step]:
        wishes = [need.id for need in self.needs if self._train(need.id) and self._primary(need.id)]
        gate = self.config.gate
        if gate.mode == "strict":
            held_out = [*self._held_out(), *(task for task in self.golden if task not in self._held_out())]
            edits = self.config.propose.edit_budget * len(wishes) * self._places
            likely = 2 * len(set(wishes) - self.held)
            yield from self._rollouts("the gate", [(task, likely, 2 * edits) for task in held_out])
        elif gate.mode == "evidence":
            longest = sorted(wishes, key=lambda need: -len(self._primary(need)))
            first = sorted(set(wishes) - self.held, key=lambda need: (need not in self.homes, wishes.index(need)))
            yield from self._trials("the gate", first[: gate.candidates], longest[: gate.candidates])

    def _trials(self, what: str, likely: Iterable[str], most: Iterable[str]) -> Iterator[Step]:
        """Both arms of every pair; what seems to get worse is measured again."""
        asked: dict[str, tuple[Task, int, int]] = {}
        often = self.config.gate.rollouts
        measured = [(task, 2 * often, 0) for need in likely for task in self._measured(need, self.homes.get(need, ""))]
        measured += [(task, 0, self._longest) for need in most for task in self._measured(need)]
        for task, usual, longest in measured:
            _, before, at_most = asked.get(task.id, (task, 0, 0))
            asked[task.id] = (task, before + usual, at_most + longest)
        yield from self._rollouts(what, list(asked.values()))

    @property
    def _longest(self) -> int:
        """How often a trial has a task answered in a night, at most."""
        return 2 * (self.config.gate.rollouts + SUSPECT_OF)

    def _guidance(self) -> Iterator[Step]:
        """A line for each document, tried by every held-out task; seldom is there something new to say."""
        asked = self._reflected(self.tasks) * self.guides
        most = self._reflected(self.tasks, most=True) * (2 * self.guides)
        yield Step(what="guidance", role="optimizer", purpose="guide", likely=asked, most=most)
        often = {"evidence": self._longest, "strict": 2, "off": 0}[self.config.gate.mode] * self.guides
        yield from self._rollouts("guidance, tried", [(task, 0, often) for task in self._held_out()])

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

    def _measured(self, need: str, path: str = "") -> list[Task]:
        """The tasks of a trial: its own, those that veto, and so many others that read the document at `path`."""
        primary = self._primary(need)
        golden = [task for task in self.golden if task not in primary]
        others = [task for task in self._held_out() if task not in primary and task not in golden]
        others = [task for task in others if self.used.reads(task, path)]
        return [*primary, *golden, *others[: self.config.gate.guard]] if primary else []

    # --- calls ---

    def _rollouts(self, what: str, asked: Sequence[tuple[Task, int, int]]) -> Iterator[Step]:
        """Each task so often, likely and at most; a rubric is judged by several votes, each of which may be unreadable
        once."""
        likely, most, ruled, ruled_most = Load(), Load(), Load(), Load()
        ruling = LONGEST_RULING + self.beyond.get("optimizer", 0)
        for task, often, longest in asked:
            one = request(task, self.used.under(self.documents, task), "")
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

    def usd(step: Step, load: Load, *, most: bool) -> float:
        return price(step.role, step.purpose, load, most=most) or 0.0

    tokens = [(step.what, step.likely.tokens, step.most.tokens, step.call.tokens) for step in steps]
    costs = [
        (
            step.what,
            usd(step, step.likely, most=False),
            usd(step, step.most, most=True),
            usd(step, step.call, most=True),
        )
        for step in steps
    ]
    limits: tuple[tuple[str, float, Sequence[tuple[str, float, float, float]], float], ...] = (
        ("tokens", budget.tokens, tokens, 0),
        ("week_tokens", budget.week_tokens, tokens, before.tokens),
        ("usd", budget.usd, costs, 0),
        ("week_usd", budget.week_usd, costs, before.usd),
    )
    return tuple(
        Cut(
            limit=f"budget.{name}",
            left=max(limit - gone, 0),
            likely=_first([(what, likely, call) for what, likely, _, call in sizes if likely], limit - gone),
            most=_first([(what, most, call) for what, _, most, call in sizes], limit - gone),
        )
        for name, limit, sizes, gone in limits
        if limit
    )


def _first(sizes: Iterable[tuple[str, float, float]], left: float) -> str | None:
    """The step within which no more is left, or not enough for one more call."""
    for what, takes, call in sizes:
        if max(takes, call) > left:
            return what
        left -= takes
    return None
