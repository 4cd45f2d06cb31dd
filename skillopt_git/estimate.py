"""What a night would ask of models, before it asks anything: how many calls, how many tokens, and what of it the budget
would cut. Pure.

`most` bounds the questions of a night: what is known tonight is learned from as far as the settings allow, and each
answer is as long as it may be. Only what a model finds in tonight's sessions, and what failed calls have asked again,
come on top, for nobody knows them before. `likely` is a night in which each wish gets one rule, and the gate measures
what it may measure and suspects nothing; what memory holds back is not tried. What is remembered from other nights is
asked again by neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from skillopt_git import edits
from skillopt_git.asking import LONGEST_ANSWER, SHOWN_TEXT
from skillopt_git.config import Budget, Config
from skillopt_git.consolidate import GUIDANCE_LIMIT
from skillopt_git.documents import Documents
from skillopt_git.errors import ConfigError
from skillopt_git.imperatives import RULE_LIMIT
from skillopt_git.judges import LONGEST_RULING, VOTES
from skillopt_git.lessons import SHOWN_PASSING, SHOWN_TASKS
from skillopt_git.model import Need, Task
from skillopt_git.ports import Purpose, Request, Role
from skillopt_git.prompts import SHIPPED, Prompts
from skillopt_git.purse import BYTES_A_TOKEN, WORDING, Spent, most_input, size
from skillopt_git.reflection import SHOWN_ANSWER
from skillopt_git.replay import NONE_USED, request
from skillopt_git.used import Used
from skillopt_git.weighing import SUSPECT_OF

USUAL_BYTES = 4  # of a token
USUAL_WORDING = 120  # tokens of a prompt's own words
USUAL_ANSWER, USUAL_RULING, USUAL_EDITS, USUAL_FOUND = 256, 64, 256, 256  # tokens
SHOWN_CHARACTERS = SHOWN_TEXT + 2 * SHOWN_ANSWER + 1_000  # of a task, with two answers, what they missed and its fences
EDIT_CHARACTERS = RULE_LIMIT + 500  # of an edit that is to be ranked, with the words and fences around it
BEGUN = 250  # tokens of a document before its first rule
CHARACTER_BYTES = 3  # at most, but for pictures
FORM = 1_000  # bytes of the form that an answer has to have
ALL = ""  # in the place of a need: every held-out task is its own


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
    """What is known of a night before it. `tasks` may be replayed, `golden` ones veto, `on_trial` are the needs of the
    trials that go on, `teachable` is in how many documents a wish may be taught, `taught` how many there are in all,
    `controls` how many are due, `beyond` what a role's answers may take beyond what is asked for. `mined` and `guides`
    are the questions about sessions and about guidance; `refused` is what the optimizer is told of refusals; `held` are
    the needs that memory holds back, `homes` names the skill of those that are taught in one that sessions used."""

    config: Config
    tasks: Sequence[Task]
    golden: Sequence[Task]
    needs: Sequence[Need]
    documents: Documents
    teachable: int
    taught: int = 1
    used: Used = NONE_USED
    on_trial: Sequence[str] = ()
    controls: int = 0
    mined: Sequence[Request] = ()
    guides: Sequence[Request] = ()
    refused: Sequence[str] = ()
    prompts: Prompts = SHIPPED
    two_models: bool = False
    beyond: Mapping[Role, int] = field(default_factory=dict)
    held: frozenset[str] = frozenset()
    homes: Mapping[str, str] = field(default_factory=dict)

    def steps(self) -> tuple[Step, ...]:
        """Without those that are empty."""
        learning = self.needs and self.tasks
        every = (
            *([self._probe()] if learning or self.mined else ()),
            *self._asked("sessions read for wishes", self.mined, USUAL_FOUND),
            *(self._learning() if learning else ()),
        )
        return tuple(step for step in every if step.most.calls)

    def _learning(self) -> Iterator[Step]:
        yield from self._trials("trials that go on", self.on_trial, self.on_trial)
        yield from self._practice()
        yield from self._reflection()
        yield from self._gate()
        yield from self._guidance()
        yield from self._means()
        yield from self._controls()

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

    def _practice(self) -> Iterator[Step]:
        """The training tasks as they come out now; for a second document once more."""
        often, factor = self.config.replay.dream_rollouts, self.config.replay.dream_factor
        yield from self._rollouts("training tasks", [(task, often, often * self.teachable) for task in self._train()])
        if not factor:
            return
        asked = [(need, task) for need in self._wishes for task in self._dreamt(need)]
        likely = sum(
            (_usual(Request(role="optimizer", purpose="dream", ask=it.ask), USUAL_EDITS) for _, it in asked), Load()
        )
        most = sum((self._question("dream", need.text, SHOWN_TEXT) for need, _ in asked), Load())
        yield Step(what="variants", role="optimizer", purpose="dream", likely=likely, most=most * (2 * self.teachable))
        variants = [(task, factor, factor * self.teachable) for _, task in asked]
        yield from self._rollouts("variants of training tasks", variants, dreamt=True)

    def _reflection(self) -> Iterator[Step]:
        """Each wish once; where an answer cannot be read, or a second document is taught, again."""
        likely = [need for need in self._wishes if need.id not in self.held]
        every = sum((self._reflected(self._train(need)) for need in likely), Load())
        asked = self.config.replay
        tasks = SHOWN_TASKS * (2 if asked.dream_factor else 1) + SHOWN_PASSING + asked.recall_k  # variants count apart
        shown = tasks * SHOWN_CHARACTERS
        refused = "\n".join(self.refused)
        again = sum((self._question("reflect", need.text + refused, shown) for need in self._wishes), Load())
        yield Step(what="rules", role="optimizer", purpose="reflect", likely=every, most=again * (2 * self.teachable))
        yield from self._merging()
        sets, shared = self._sets(), Counter(self.homes.get(need.id) for need in likely)
        crowded = {need.id for need in likely if shared[self.homes.get(need.id)] > 1}
        practised = [(task, int(need.id in crowded), sets) for need in self._wishes for task in self._train(need)]
        yield from self._rollouts("rules on training tasks", practised)
        factor = self.config.replay.dream_factor
        dreamt = [
            (task, int(need.id in crowded) * factor, sets * factor)
            for need in self._wishes
            for task in self._dreamt(need)
        ]
        yield from self._rollouts("rules on variants", dreamt, dreamt=True)

    def _merging(self) -> Iterator[Step]:
        """For each document once, where several wishes have edits for it: at most one fewer than there is room for, and
        then as many as there is room for. Seldom are they too many, or too much alike."""
        if len(self._wishes) < 2:
            return
        offered = max(2 * self.config.propose.edit_budget - 1, 0)
        rule = max((_longest_rule(text) for _, text in self.documents), default=0)
        wish = max(len(need.text) for need in self._wishes)
        most = self._question("merge", "", offered * (EDIT_CHARACTERS + rule + wish))
        yield Step(
            what="rules, ranked", role="optimizer", purpose="merge", likely=Load(), most=most * (2 * self.taught)
        )

    def _sets(self) -> int:
        """How often the training tasks of a wish are replayed with its edits, each of which is left out in turn."""
        most = self.config.propose.edit_budget
        return (most * (most + 1) // 2 + most) * self.teachable

    def _gate(self) -> Iterator[Step]:
        wishes = [need.id for need in self._wishes if self._primary(need.id)]
        gate = self.config.gate
        if gate.mode == "strict":
            tried = self.config.propose.edit_budget * len(wishes) * self.teachable
            often = 2 * len(set(wishes) - self.held)
            yield from self._rollouts("the gate", [(task, often, 2 * tried) for task in self._measured(ALL)])
        elif gate.mode == "evidence":
            longest = sorted(wishes * self.teachable, key=lambda need: -len(self._measured(need)))
            first = sorted(set(wishes) - self.held, key=lambda need: (need not in self.homes, wishes.index(need)))
            yield from self._trials("the gate", first[: gate.candidates], longest[: gate.candidates])

    def _guidance(self) -> Iterator[Step]:
        """Judged beside the rules, by every held-out task."""
        yield from self._asked("guidance", self.guides, USUAL_EDITS)
        every = [ALL for _ in self.guides]
        if self.config.gate.mode == "strict":
            twice = 2 * len(every)
            yield from self._rollouts("guidance at the gate", [(it, twice, twice) for it in self._measured(ALL)])
        elif self.config.gate.mode == "evidence":
            yield from self._trials("guidance at the gate", every, every)

    def _trials(self, what: str, likely: Iterable[str], most: Iterable[str]) -> Iterator[Step]:
        """Both arms of every pair; what seems to get worse is measured again."""
        asked: dict[str, tuple[Task, int, int]] = {}
        often = self.config.gate.rollouts
        measured = [(task, 2 * often, 0) for need in likely for task in self._measured(need, self.homes.get(need, ""))]
        longest = 2 * (often + SUSPECT_OF)
        for task, usual, at_most in [
            *measured,
            *((task, 0, longest) for need in most for task in self._measured(need)),
        ]:
            _, before, so_far = asked.get(task.id, (task, 0, 0))
            asked[task.id] = (task, before + usual, so_far + at_most)
        yield from self._rollouts(what, list(asked.values()))

    def _means(self) -> Iterator[Step]:
        """The base, and all that was accepted together; with the gate off nothing is measured."""
        val = () if self.config.gate.mode == "off" else self._held_out()
        test = [task for task in self.tasks if task.split == "test"]
        asked = [*((task, 1, 2) for task in val), *((task, 1, 1) for task in test)]
        yield from self._rollouts("the means of the night", asked)

    def _controls(self) -> Iterator[Step]:
        """Each of a wish that is known, whether or not it comes up tonight."""
        known = sorted({need for task in self._held_out() for need in task.needs})
        usual = sorted(known, key=lambda need: -len(self._measured(need)))[:1]
        due = usual * self.controls if self.config.gate.mode == "evidence" else ()
        yield from self._trials("controls of the gate", due, due)

    # --- tasks ---

    @property
    def _wishes(self) -> list[Need]:
        """Those that there are tasks to learn from."""
        return [need for need in self.needs if self._train(need)]

    def _train(self, need: Need | None = None) -> list[Task]:
        wanted = {item.id for item in (self.needs if need is None else (need,))}
        return [task for task in self.tasks if task.split == "train" and wanted & set(task.needs)]

    def _dreamt(self, need: Need) -> list[Task]:
        """As many as variants are made of; which ones, nobody knows before."""
        return sorted(self._train(need), key=lambda task: -len(task.context))[:SHOWN_TASKS]

    def _held_out(self) -> list[Task]:
        return [task for task in self.tasks if task.split == "val"]

    def _primary(self, need: str) -> list[Task]:
        return [task for task in self._held_out() if need in (ALL, *task.needs)]

    def _measured(self, need: str, path: str = "") -> list[Task]:
        """The tasks of a trial: its own, those that veto, and so many others that read the document at `path`."""
        primary = self._primary(need)
        golden = [task for task in self.golden if task not in primary]
        apart = [*primary, *golden]
        others = [task for task in self._held_out() if task not in apart and self.used.reads(task, path)]
        return [*primary, *golden, *others[: self.config.gate.guard]] if primary else []

    # --- calls ---

    def _rollouts(self, what: str, asked: Sequence[tuple[Task, int, int]], *, dreamt: bool = False) -> Iterator[Step]:
        """Each task so often, likely and at most; a rubric is judged by several votes, each of which may be unreadable
        once. A dreamt ask is not longer than what is shown of one, and a document may gain what the budget allows."""
        likely, most, ruled, ruled_most = Load(), Load(), Load(), Load()
        ruling = LONGEST_RULING + self.beyond.get("optimizer", 0)
        ask = _tokens(SHOWN_TEXT) if dreamt else 0
        written = self.config.propose.edit_budget * RULE_LIMIT + (GUIDANCE_LIMIT if self.guides else 0)
        gained = BEGUN + _tokens(written)
        for task, often, longest in asked:
            one = request(task, self.used.under(self.documents, task), "")
            likely += _usual(one, USUAL_ANSWER) * often
            answer = one.max_tokens + self.beyond.get("target", 0)
            most += Load(1, most_input(one) + ask + gained, answer) * longest
            if task.rubric:
                told = (task.context, task.rubric, task.reference or "")
                about = Request(role="optimizer", purpose="judge", ask=task.ask, context="\n".join(told))
                usual = _usual(about, USUAL_RULING)
                ruled += Load(1, usual.sent + USUAL_ANSWER, usual.received) * (VOTES * often)
                words = self._words("judge", task.ask, *told) + answer * USUAL_BYTES // BYTES_A_TOKEN
                ruled_most += Load(1, words + ask, ruling) * (2 * VOTES * longest)
        yield Step(what=what, role="target", purpose="rollout", likely=likely, most=most)
        yield Step(what=f"{what}, judged", role="optimizer", purpose="judge", likely=ruled, most=ruled_most)

    def _asked(self, what: str, questions: Sequence[Request], answer: int) -> Iterator[Step]:
        """Questions that are known word for word. What cannot be read is asked for once more."""
        for purpose in sorted({item.purpose for item in questions}):
            likely = sum((_usual(item, answer) for item in questions), Load())
            most = sum((Load(1, most_input(item), self._longest) for item in questions), Load())
            yield Step(what=what, role="optimizer", purpose=purpose, likely=likely, most=most * 2)

    def _reflected(self, train: Sequence[Task]) -> Load:
        """A usual question of the optimizer, about some tasks under the documents."""
        asks = "\n".join(task.ask for task in train[:SHOWN_TASKS])
        about = Request(role="optimizer", purpose="reflect", ask=asks, documents=self.documents)
        return _usual(about, USUAL_EDITS) if train else Load()

    def _question(self, purpose: Purpose, words: str, characters: int) -> Load:
        """The longest one of its kind, with so many characters that others wrote."""
        documents = [text for _, text in self.documents]
        known = self._words(purpose, words, self.config.propose.preferences, *documents)
        return Load(1, known + _tokens(characters), self._longest)

    def _words(self, purpose: Purpose, *texts: str) -> int:
        """No fewer tokens than these texts take in the words of their prompt."""
        ask = "".join((self.prompts.texts[purpose], *texts))
        return most_input(Request(role="optimizer", purpose=purpose, ask=ask)) + FORM // BYTES_A_TOKEN

    @property
    def _longest(self) -> int:
        return LONGEST_ANSWER + self.beyond.get("optimizer", 0)


def _longest_rule(text: str) -> int:
    """What an edit may name; where the rules cannot be told it names none."""
    try:
        return max(map(len, edits.rules(text)), default=0)
    except ConfigError:
        return 0


def _tokens(characters: int) -> int:
    return characters * CHARACTER_BYTES // BYTES_A_TOKEN


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

    tokens = [(step.likely.tokens, step.most.tokens, step.call.tokens) for step in steps]
    usd = [
        (
            price(step.role, step.purpose, step.likely) or 0.0,
            price(step.role, step.purpose, step.most, most=True) or 0.0,
            price(step.role, step.purpose, step.call, most=True) or 0.0,
        )
        for step in steps
    ]
    limits: tuple[tuple[str, float, Sequence[tuple[float, float, float]], float], ...] = (
        ("tokens", budget.tokens, tokens, 0),
        ("week_tokens", budget.week_tokens, tokens, before.tokens),
        ("usd", budget.usd, usd, 0),
        ("week_usd", budget.week_usd, usd, before.usd),
    )
    return tuple(
        Cut(
            limit=f"budget.{name}",
            left=max(limit - gone, 0),
            likely=_first(steps, [(likely, call) for likely, _, call in sizes], limit - gone),
            most=_first(steps, [(most, call) for _, most, call in sizes], limit - gone),
        )
        for name, limit, sizes, gone in limits
        if limit
    )


def _first(steps: Sequence[Step], sizes: Sequence[tuple[float, float]], left: float) -> str | None:
    """The step within which no more is left, or not enough for one more call; what asks nothing ends nothing."""
    for step, (takes, call) in zip(steps, sizes, strict=True):
        if takes and max(takes, call) > left:
            return step.what
        left -= takes
    return None
