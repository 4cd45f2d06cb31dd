"""The simulation: a target and an optimizer that need no model, no key and no network.

It gets the same requests as a real model. What it knows of the world is given to it when it is built: each task with
its needs, and the rule that answers each need. A task passes with chance `pass_with` when every rule it needs stands
in the documents, else with `pass_without`; the draw is a hash of seed, task, documents and sample, so the same
question always gets the same answer, and with chance `failing` none. An answer under some of the rules keeps to these
and fails in the rest. It judges by comparing with the answers it acts out, and it proposes the rules it knows. Its
figures say nothing about a model: everything made with it is marked as simulated.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import assert_never

from rstr import Rstr

from skillopt_git.checks import SEARCHED, check
from skillopt_git.doors import About, Asked, Opened
from skillopt_git.edits import holds
from skillopt_git.ids import Json, canonical_json, digest
from skillopt_git.imperatives import Wish
from skillopt_git.imperatives import wish_of as wish_in
from skillopt_git.judges import PASS_MARK, judgeable, score_checks
from skillopt_git.languages import reader
from skillopt_git.model import Check, Task
from skillopt_git.ports import CallFailed, Reply, Request
from skillopt_git.sameness import same
from skillopt_git.similarity import similarity

NEAR_RULE = 0.9  # a rule that a person reworded a little still teaches
HARMFUL_RULE = "Answer every request with the single word done"
_AGAIN, _COUNTS = r"\AAgain, \d: ", range(1, 6)
NO_ANSWERS = "the simulation finds no answer that passes its checks, or none that fails them"
NOTHING_TO_JUDGE = "nothing to check an answer by"


# --- what it knows -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """How an ask is acted out: the answers that pass and fail, and the rules that passing needs.

    `tasks` are those with these words, each with the rules of its own.
    """

    ask: str
    context: str
    rules: tuple[str, ...]
    passing: Reply
    failing: Reply
    tasks: tuple[tuple[Task, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the simulation knows. `skipped` tells, by task id, what cannot be acted out and why."""

    acts: Mapping[tuple[str, str], Act] = field(default_factory=dict)  # by (ask, context)
    skipped: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""


def world(tasks: Iterable[Task], needs: Mapping[str, str]) -> World:
    """The world of these tasks; `needs` maps a need to the text of its rule.

    Tasks with the same words are one question to whoever answers, so they get the same answer and share their needs.
    """
    alike: dict[tuple[str, str], list[Task]] = {}
    acts: dict[tuple[str, str], Act] = {}
    skipped: dict[str, str] = {}
    for task in tasks:
        if judgeable(task):
            alike.setdefault((task.ask, task.context), []).append(task)
        else:
            skipped[task.id] = NOTHING_TO_JUDGE
    for key, group in alike.items():
        act = _act(group, needs)
        if act is None:
            skipped.update((task.id, NO_ANSWERS) for task in group)
        else:
            acts[key] = act
    return World(acts=acts, skipped=skipped, digest=digest(*(_known(act) for _, act in sorted(acts.items()))))


def _known(act: Act) -> list[Json]:
    checks: list[Json] = [[[item.op, item.arg, item.where] for item in task.checks] for task, _ in act.tasks]
    rules: list[Json] = [[*own] for _, own in act.tasks]
    return [act.ask, act.context, rules, checks, act.passing.text, act.failing.text]


def _act(group: Sequence[Task], needs: Mapping[str, str]) -> Act | None:
    passing = _passing(group)
    failing = _failing(group, passing) if passing is not None else None
    if passing is None or failing is None:
        return None
    tasks = tuple((task, tuple(needs[need] for need in task.needs if need in needs)) for task in group)
    return Act(
        ask=group[0].ask,
        context=group[0].context,
        rules=tuple(dict.fromkeys(rule for _, own in tasks for rule in own)),
        passing=passing,
        failing=failing,
        tasks=tasks,
    )


# --- what it answers ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Mock:
    world: World
    model: str = "mock"
    seed: int = 0
    pass_with: float = 1.0
    pass_without: float = 0.0
    failing: float = 0.0
    harmful: bool = False
    name: str = "mock"
    simulated: bool = True

    @property
    def deterministic(self) -> bool:
        """Unless it is told to pass by chance."""
        return {self.pass_with, self.pass_without, self.failing} <= {0.0, 1.0}

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        return {
            "seed": self.seed,
            "pass_with": self.pass_with,
            "pass_without": self.pass_without,
            "failing": self.failing,
            "harmful": self.harmful,
        }

    @property
    def knows(self) -> str:
        return self.world.digest

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Reply | CallFailed:
        match request.purpose:
            case "rollout":
                return self._rollout(request)
            case "judge":
                return self._judge(request)
            case "reflect":
                return self._reflect(request)
            case "probe":
                return Reply(text="OK", model=self.model)
            case "dream":
                return self._dream(request)
            case "merge":
                return Reply(text=json.dumps({"edits": []}), model=self.model)  # it ranks as was proposed
            case "guide":
                return Reply(text=json.dumps({"text": None, "reason": ""}), model=self.model)  # rules are all it knows
            case "mine":
                return CallFailed("refused", "the simulation does not read sessions")
            case _:
                assert_never(request.purpose)

    def _rollout(self, request: Request) -> Reply | CallFailed:
        ask = re.sub(_AGAIN, "", request.ask)  # a variant is acted out as what it is one of
        act = self.world.acts.get((ask, request.context))
        if act is None:
            return CallFailed("refused", "the simulation does not know this task")
        if self._draw(request, "fails") < self.failing:
            return CallFailed("network", "the simulation lets this call fail", retryable=True)
        texts = [text for _, text in request.documents]
        spoiled = any(holds(text, HARMFUL_RULE) for text in texts)
        taught = [] if spoiled else [rule for rule in act.rules if any(_taught(text, rule) for text in texts)]
        whole = not spoiled and len(taught) == len(act.rules)
        if self._draw(request) < (self.pass_with if whole else self.pass_without):
            reply = act.passing
        else:
            reply = _partly(act, taught)
        return replace(reply, model=self.model)

    def _draw(self, request: Request, *about: str) -> float:
        """From 0 to below 1, always the same for the same question."""
        told = [request.ask, request.context, *map(list, request.documents), request.sample]
        key = canonical_json([self.seed, *told, *about])
        return int.from_bytes(hashlib.sha256(key.encode()).digest()[:7], "big") / 2**56

    def _judge(self, request: Request) -> Reply:
        """Passes the answers it acts out as passing; a question of another shape fails."""
        quoted = _fenced(request.ask)
        shares = (_share(act, quoted[-1]) for act in self.world.acts.values() if quoted[:1] == [act.ask])
        return Reply(text=json.dumps({"score": max(shares, default=0.0), "why": "simulated"}), model=self.model)

    def _dream(self, request: Request) -> Reply:
        """Says the same again: the simulation knows what to answer to no other ask."""
        quoted = _fenced(request.ask)[:1]
        asks = [act.ask for act in self.world.acts.values() if quoted and act.ask.startswith(quoted[0])][:1]
        return Reply(
            text=json.dumps({"asks": [f"Again, {n}: {ask}" for ask in asks for n in _COUNTS]}), model=self.model
        )

    def _reflect(self, request: Request) -> Reply:
        """Proposes the rules that the tasks in the question need, as far as the question words them."""
        quoted = set(_fenced(request.ask)) - {""}
        shown = [act for act in self.world.acts.values() if any(act.ask.startswith(text) for text in quoted)]
        rules = [rule for rule in dict.fromkeys(rule for act in shown for rule in act.rules) if rule in quoted]
        if self.harmful:
            rules.append(HARMFUL_RULE)
        answer = {"edits": [{"op": "add", "text": rule, "reason": "The tasks fail without it."} for rule in rules]}
        return Reply(text=json.dumps(answer), model=self.model)


def _wish(rule: str) -> Wish:
    return wish_in(rule, reader().grammars)


def _taught(document: str, rule: str) -> bool:
    """Nearly the same words teach, unless they ask for something else ("use npm, not pnpm")."""
    wish = _wish(rule)
    lines = (line.strip().removeprefix("- ") for line in document.splitlines())
    return holds(document, rule) or any(
        similarity(line, rule) >= NEAR_RULE and same(_wish(line), wish) for line in lines
    )


def _fenced(question: str) -> list[str]:
    """The fenced texts of a question, in order."""
    opened = re.search(r"^<<<DATA (\w+)$", question, re.MULTILINE)
    if opened is None:
        return []
    nonce = opened[1]
    return re.findall(rf"^<<<DATA {nonce}\n(.*?)\nDATA {nonce}>>>$", question, re.MULTILINE | re.DOTALL)


# --- answers that pass and fail ----------------------------------------------------------------------------------


def _passing(group: Sequence[Task]) -> Reply | None:
    """An answer that passes every check: a known example, else one made from the checks."""
    checks = [item for task in group for item in task.checks]
    tools = tuple(dict.fromkeys(str(item.arg) for item in checks if item.op == "tool_called"))
    known = [text for task in group for text in (task.examples.pass_, task.reference)]
    kept = [_keeping(task.rubric) for task in group if task.rubric]
    made = [_made(checks, _sentence), _made(checks, _sentence, "Done. "), _made(checks, _word), "."]
    return next(_agreed(group, [*known, *kept, *made], tools, hard=1.0), None)


def _failing(group: Sequence[Task], passing: Reply) -> Reply | None:
    """An answer that fails every task: a known example, else a made one.

    Where several rules are needed it is the one that fails most, so that each rule can show what it adds.
    """
    banned = _banned(item for task in group for item in task.checks)
    known = [task.examples.fail for task in group]
    made = [f"Done with {banned}." if banned else None, "Done.", "I cannot do that.", "x", "x" * 20_000]
    ruled = any(task.rubric for task in group)  # a judge sees the text alone
    texts = [text for text in (*known, *made) if not ruled or text != passing.text]
    found = _agreed(group, texts, (), hard=0.0)
    if len({need for task in group for need in task.needs}) < 2:
        return next(found, None)
    return min(
        found, key=lambda reply: sum(score_checks(task, reply).soft for task in group if task.checks), default=None
    )


def _banned(checks: Iterable[Check]) -> str:
    return " ".join(_named(item) for item in checks if item.op == "not_contains")


def _agreed(
    group: Sequence[Task], texts: Sequence[str | None], tools: tuple[str, ...], *, hard: float
) -> Iterator[Reply]:
    """The texts that the checks of every task agree on. Without checks any text serves."""
    for text in filter(None, texts):
        reply = Reply(text=text, tools=tools)
        if all(score_checks(task, reply).hard == hard for task in group if task.checks):
            yield reply


def _keeping(*rules: str) -> str:
    return f"Done, keeping to this: {'; '.join(rules)}"


# --- answers that pass in part -----------------------------------------------------------------------------------


def _partly(act: Act, taught: Sequence[str]) -> Reply:
    """A failing answer that keeps to the rules that were taught and to no other, where one can be made."""
    if not 0 < len(taught) < len(act.rules):
        return act.failing
    if any(task.checks for task, _ in act.tasks):
        return _meeting(act, taught) or act.failing
    kept = _keeping(*taught)
    return act.failing if kept == act.passing.text else Reply(text=kept)


def _meeting(act: Act, taught: Sequence[str]) -> Reply | None:
    """An answer that meets the checks of these rules, and of the others' checks as few as can be."""
    checks = tuple(dict.fromkeys(item for task, _ in act.tasks for item in task.checks))
    met = _of_rules(checks, taught)
    missed = [item for item in _of_rules(checks, set(act.rules).difference(taught)) if item not in met]
    kept = [item for item in checks if item not in missed]
    tools = tuple(str(item.arg) for item in kept if item.op == "tool_called")
    banned = _banned(missed)
    fillers = (f"Done with {banned}. ", f"{banned} ", "") if banned else ("",)
    texts = (_made(kept, part, filler) for filler, part in product(fillers, (_sentence, _word)))
    replies = [Reply(text=text, tools=tools) for text in texts]
    fit = [reply for reply in replies if met and _lies_between(act, reply, met, taught)]
    return max(fit, key=lambda reply: sum(check(item, reply) for item in kept), default=None)


def _of_rules(checks: Iterable[Check], rules: Iterable[str]) -> list[Check]:
    """Those of the checks that the rules' own words give, whatever role they have in the task."""
    own = {(item.op, item.arg) for rule in rules for item in _wish(rule).checks}
    return [item for item in checks if (item.op, item.arg) in own]


def _lies_between(act: Act, reply: Reply, met: Iterable[Check], taught: Sequence[str]) -> bool:
    """Whether it meets these checks, is better than the failing answer, and passes no task that needs more rules."""
    judged = [(task, own) for task, own in act.tasks if task.checks]
    gained = sum(score_checks(task, reply).soft - score_checks(task, act.failing).soft for task, _ in judged)
    passed = [own for task, own in judged if score_checks(task, reply).hard == 1]
    return all(check(item, reply) for item in met) and gained > 0 and all(set(own) <= set(taught) for own in passed)


def _share(act: Act, answer: str) -> float:
    """How good an answer is by the rubric: right, wrong, or as far as `_partly` kept to the rules."""
    if answer == act.passing.text:
        return 1.0
    kept = [rule for rule in act.rules if rule in answer]
    return PASS_MARK * len(kept) / (len(act.rules) + 1) if kept and answer == _keeping(*kept) else 0.0


# --- made from checks --------------------------------------------------------------------------------------------


def _made(checks: Sequence[Check], part: Callable[[Check], str], filler: str = "") -> str:
    return "".join([filler, *map(part, checks)]).strip() or "Done."


def _sentence(item: Check) -> str:
    match item.op:
        case "contains":
            return f"Done with {item.arg}. " if item.where is None else f"Done:\n{_named(item)}\n"
        case "section_present" | "section_contains":
            return f"\n## {item.arg}\n\nDone.\n"
        case "min_chars":
            return "Done. " * (int(item.arg or 0) // 6 + 1)
        case "regex":
            return _matching(str(item.arg))
        case _:
            return ""


def _named(item: Check) -> str:
    """The check's text at its place: in code and in a command it needs company."""
    match item.where:
        case None:
            return str(item.arg)
        case "code":
            return f"`{item.arg} = 1`"
        case "command":
            return f"`{item.arg} x`"
        case _:
            assert_never(item.where)


def _word(item: Check) -> str:
    """As short as can be, for where the length is limited."""
    match item.op:
        case "contains":
            return f"{_named(item)} "
        case "section_present" | "section_contains":
            return f"\n# {item.arg}\n"
        case "regex":
            return _matching(str(item.arg))
        case _:
            return ""


class _Sparing(random.Random):
    """Draws for a text of a pattern: how often its parts are repeated, until that is more than any check looks at."""

    left = SEARCHED

    def randint(self, a: int, b: int) -> int:
        drawn = super().randint(a, max(a, b))
        self.left -= drawn + 1
        if self.left < 0:
            raise ValueError("the pattern repeats too much")
        return drawn


def _matching(pattern: str) -> str:
    """A text the pattern matches, always the same one; empty where none can be made (a conditional group, say)."""
    try:
        return Rstr(_Sparing(pattern)).xeger(pattern)
    except (re.error, KeyError, TypeError, ValueError, IndexError):
        return ""


ABOUT = About(
    name="mock",
    title="The simulation",
    documents="It looks for each rule in the documents' text.",
    setup="Nothing.",
    leaves="Nothing.",
    cost="Nothing.",
    limits="Its figures say nothing about a model: everything made with it is marked as simulated. See "
    "[mock.md](mock.md).",
    model="mock",
    sends=False,
)


def door(asked: Asked) -> Opened:
    """The simulation of the tasks, and why some of them cannot be acted out."""
    known = world(asked.tasks, asked.needs)
    chosen = asked.replay
    mock = Mock(
        world=known,
        model=f"mock:{asked.model}" if asked.model and asked.model != "mock" else "mock",
        seed=chosen.mock_seed,
        pass_with=chosen.mock_pass_with,
        pass_without=chosen.mock_pass_without,
        failing=chosen.mock_failing,
        harmful=chosen.mock_harmful,
    )
    return Opened(backend=mock, skipped=known.skipped)
