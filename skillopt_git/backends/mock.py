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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rstr import Rstr

from skillopt_git.config import Config
from skillopt_git.edits import holds
from skillopt_git.judges import score_checks
from skillopt_git.model import Check, Task, canonical_json, fold
from skillopt_git.ports import CallFailed, Reply, Request
from skillopt_git.similarity import similarity

NEAR_RULE = 0.9  # a rule that a person reworded a little still teaches
HARMFUL_RULE = "Answer every request with the single word done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """How a task is acted out: the answers that pass and fail, and the rules it needs."""

    task: Task
    rules: tuple[str, ...]
    passing: Reply
    failing: Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the simulation knows. `skipped` tells, by task id, what cannot be acted out and why."""

    acts: Mapping[tuple[str, str], Act] = field(default_factory=dict)  # by (ask, context)
    skipped: Mapping[str, str] = field(default_factory=dict)


def world(tasks: Iterable[Task], needs: Mapping[str, str]) -> World:
    """The world of these tasks; `needs` maps a need to the text of its rule."""
    acts: dict[tuple[str, str], Act] = {}
    skipped: dict[str, str] = {}
    for task in tasks:
        passing, failing = _passing(task), _failing(task)
        if passing is None or failing is None:
            skipped[task.id] = "no example, and none can be made from its checks"
            continue
        rules = tuple(needs[need] for need in task.needs if need in needs)
        acts[task.ask, task.context] = Act(task=task, rules=rules, passing=passing, failing=failing)
    return World(acts=acts, skipped=skipped)


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
        return {
            "seed": self.seed,
            "pass_with": self.pass_with,
            "pass_without": self.pass_without,
            "harmful": self.harmful,
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
        """Passes the answers it acts out as passing: it finds them in the question."""
        passed = any(
            act.passing.text in request.ask and act.task.ask in request.ask and act.passing.text != act.failing.text
            for act in self.world.acts.values()
        )
        return Reply(text=json.dumps({"score": 1.0 if passed else 0.0, "why": "simulated"}), model=self.model)

    def _reflect(self, request: Request) -> Reply:
        """Proposes the rules that the tasks in the question need and the question's documents do not hold."""
        edits = []
        known = fold(request.ask)
        for act in self.world.acts.values():
            if fold(act.task.ask) in known:
                edits += [rule for rule in act.rules if fold(rule) in known and rule not in edits]
        if self.harmful:
            edits.append(HARMFUL_RULE)
        answer = {"edits": [{"op": "add", "text": rule, "reason": "The tasks fail without it."} for rule in edits]}
        return Reply(text=json.dumps(answer), model=self.model)


def _taught(document: str, rule: str) -> bool:
    return any(similarity(line.strip().removeprefix("- "), rule) >= NEAR_RULE for line in document.splitlines())


def _passing(task: Task) -> Reply | None:
    """An answer that passes every check: the known example, else one made from the checks."""
    tools = tuple(str(check.arg) for check in task.checks if check.op == "tool_called")
    kept = f"Done, keeping to this: {task.rubric}" if task.rubric else None
    tried = [task.examples.pass_, task.reference, kept, _made(task.checks), _made(task.checks, filler="Done. ")]
    return _first(task, tried, tools, hard=1.0)


def _failing(task: Task) -> Reply | None:
    banned = " ".join(str(check.arg) for check in task.checks if check.op == "not_contains")
    tried = [task.examples.fail, f"Done with {banned}." if banned else None, "Done.", "I cannot do that.", "x" * 20_000]
    return _first(task, tried, (), hard=0.0)


def _first(task: Task, texts: Sequence[str | None], tools: tuple[str, ...], *, hard: float) -> Reply | None:
    """The first text that the checks agree on. A rubric alone decides nothing here: any text serves."""
    for text in texts:
        if text is None:
            continue
        reply = Reply(text=text, tools=tools, model="mock")
        if not task.checks or score_checks(task, reply).hard == hard:
            return reply
    return None


def _made(checks: Sequence[Check], filler: str = "") -> str:
    parts = [filler]
    for check in checks:
        if check.op == "contains":
            parts.append(f"Done with {check.arg}. ")
        elif check.op in ("section_present", "section_contains"):
            parts.append(f"\n## {check.arg}\n\nDone.\n")
        elif check.op == "min_chars":
            parts.append("Done. " * (int(check.arg or 0) // 6 + 1))
        elif check.op == "regex":
            parts.append(_matching(str(check.arg)))
    return "".join(parts).strip() or "Done."


def _matching(pattern: str) -> str:
    """A text the pattern matches, always the same one; empty where none can be made (a look-ahead, say)."""
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
