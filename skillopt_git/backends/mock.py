"""The simulation: a target and an optimizer that need no model, no key and no network.

It gets the same requests as a real model. What it knows of the world is given to it when it is built: each task with
its needs, and the rule that answers each need. A task passes with chance `pass_with` when every rule it needs stands
in the documents, else with `pass_without`; the draw is a hash of seed, task, documents and sample, so the same
question always gets the same answer. It judges by comparing with the answers it acts out, and it proposes the rules
it knows. Its figures say nothing about a model: everything made with it is marked as simulated.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from rstr import Rstr

from skillopt_git.config import Config
from skillopt_git.edits import holds
from skillopt_git.imperatives import same, wish_of
from skillopt_git.judges import judgeable, score_checks
from skillopt_git.model import Check, Task, canonical_json, digest
from skillopt_git.ports import CallFailed, Reply, Request
from skillopt_git.similarity import similarity

NEAR_RULE = 0.9  # a rule that a person reworded a little still teaches
HARMFUL_RULE = "Answer every request with the single word done"
NO_ANSWERS = "the simulation finds no answer that passes its checks, or none that fails them"
NOTHING_TO_JUDGE = "nothing to check an answer by"


# --- what it knows -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """How an ask is acted out: the answers that pass and fail, and the rules that passing needs."""

    ask: str
    context: str
    rules: tuple[str, ...]
    passing: Reply
    failing: Reply


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
    known = [[*key, list(act.rules), act.passing.text, act.failing.text] for key, act in sorted(acts.items())]
    return World(acts=acts, skipped=skipped, digest=digest(canonical_json(known)))


def _act(group: Sequence[Task], needs: Mapping[str, str]) -> Act | None:
    passing = _passing(group)
    failing = _failing(group, passing) if passing is not None else None
    if passing is None or failing is None:
        return None
    rules = dict.fromkeys(needs[need] for task in group for need in task.needs if need in needs)
    return Act(ask=group[0].ask, context=group[0].context, rules=tuple(rules), passing=passing, failing=failing)


# --- what it answers ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Mock:
    world: World
    model: str = "mock"
    seed: int = 0
    pass_with: float = 1.0
    pass_without: float = 0.0
    harmful: bool = False
    name: str = "mock"
    deterministic: bool = True
    simulated: bool = True

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        """What its answers depend on beside the question: also the world, which grows with every night."""
        return {
            "seed": self.seed,
            "pass_with": self.pass_with,
            "pass_without": self.pass_without,
            "harmful": self.harmful,
            "world": self.world.digest,
        }

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
            case _:
                assert_never(request.purpose)

    def _rollout(self, request: Request) -> Reply | CallFailed:
        act = self.world.acts.get((request.ask, request.context))
        if act is None:
            return CallFailed("refused", "the simulation does not know this task")
        texts = [text for _, text in request.documents]
        taught = all(any(_taught(text, rule) for text in texts) for rule in act.rules)
        spoiled = any(holds(text, HARMFUL_RULE) for text in texts)
        chance = self.pass_with if taught and not spoiled else self.pass_without
        return act.passing if self._draw(request) < chance else act.failing

    def _draw(self, request: Request) -> float:
        key = canonical_json([self.seed, request.ask, request.context, *map(list, request.documents), request.sample])
        return int.from_bytes(hashlib.sha256(key.encode()).digest()[:7], "big") / 2**56

    def _judge(self, request: Request) -> Reply:
        """Passes the answers it acts out as passing; a question of another shape fails."""
        quoted = _fenced(request.ask)
        passed = any(quoted[:1] == [act.ask] and quoted[-1] == act.passing.text for act in self.world.acts.values())
        return Reply(text=json.dumps({"score": float(passed), "why": "simulated"}), model=self.model)

    def _reflect(self, request: Request) -> Reply:
        """Proposes the rules that the tasks in the question need, as far as the question words them."""
        quoted = set(_fenced(request.ask)) - {""}
        shown = [act for act in self.world.acts.values() if any(act.ask.startswith(text) for text in quoted)]
        rules = [rule for rule in dict.fromkeys(rule for act in shown for rule in act.rules) if rule in quoted]
        if self.harmful:
            rules.append(HARMFUL_RULE)
        answer = {"edits": [{"op": "add", "text": rule, "reason": "The tasks fail without it."} for rule in rules]}
        return Reply(text=json.dumps(answer), model=self.model)


def _taught(document: str, rule: str) -> bool:
    """Nearly the same words teach, unless they ask for something else ("use npm, not pnpm")."""
    wish = wish_of(rule)
    lines = (line.strip().removeprefix("- ") for line in document.splitlines())
    return holds(document, rule) or any(
        similarity(line, rule) >= NEAR_RULE and same(wish_of(line), wish) for line in lines
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
    checks = [check for task in group for check in task.checks]
    tools = tuple(dict.fromkeys(str(check.arg) for check in checks if check.op == "tool_called"))
    known = [text for task in group for text in (task.examples.pass_, task.reference)]
    kept = [f"Done, keeping to this: {task.rubric}" for task in group if task.rubric]
    made = [_made(checks, _sentence), _made(checks, _sentence, "Done. "), _made(checks, _word), "."]
    return _first(group, [*known, *kept, *made], tools, hard=1.0)


def _failing(group: Sequence[Task], passing: Reply) -> Reply | None:
    banned = " ".join(str(check.arg) for task in group for check in task.checks if check.op == "not_contains")
    known = [task.examples.fail for task in group]
    made = [f"Done with {banned}." if banned else None, "Done.", "I cannot do that.", "x", "x" * 20_000]
    ruled = any(task.rubric for task in group)  # a judge sees the text alone
    texts = [text for text in (*known, *made) if not ruled or text != passing.text]
    return _first(group, texts, (), hard=0.0)


def _first(group: Sequence[Task], texts: Sequence[str | None], tools: tuple[str, ...], *, hard: float) -> Reply | None:
    """The first text that the checks of every task agree on. Without checks any text serves."""
    for text in filter(None, texts):
        reply = Reply(text=text, tools=tools, model="mock")
        if all(score_checks(task, reply).hard == hard for task in group if task.checks):
            return reply
    return None


def _made(checks: Sequence[Check], part: Callable[[Check], str], filler: str = "") -> str:
    return "".join([filler, *map(part, checks)]).strip() or "Done."


def _sentence(check: Check) -> str:
    match check.op:
        case "contains":
            return f"Done with {check.arg}. "
        case "section_present" | "section_contains":
            return f"\n## {check.arg}\n\nDone.\n"
        case "min_chars":
            return "Done. " * (int(check.arg or 0) // 6 + 1)
        case "regex":
            return _matching(str(check.arg))
        case _:
            return ""


def _word(check: Check) -> str:
    """As short as can be, for where the length is limited."""
    match check.op:
        case "contains":
            return f"{check.arg} "
        case "section_present" | "section_contains":
            return f"\n# {check.arg}\n"
        case "regex":
            return _matching(str(check.arg))
        case _:
            return ""


def _matching(pattern: str) -> str:
    """A text the pattern matches, always the same one; empty where none can be made (a conditional group, say)."""
    try:
        return Rstr(random.Random(pattern)).xeger(pattern)  # noqa: S311 - a repeatable choice, not a secret
    except (re.error, KeyError, TypeError, ValueError, IndexError):
        return ""


def door(config: Config, tasks: Sequence[Task], needs: Mapping[str, str]) -> tuple[Mock, Mapping[str, str]]:
    """The simulation of these tasks, and why some of them cannot be acted out, by task id."""
    known = world(tasks, needs)
    chosen = config.replay
    mock = Mock(
        world=known,
        model=chosen.model or "mock",
        seed=chosen.mock_seed,
        pass_with=chosen.mock_pass_with,
        pass_without=chosen.mock_pass_without,
        harmful=chosen.mock_harmful,
    )
    return mock, known.skipped
