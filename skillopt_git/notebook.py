"""What a person does with tasks: write one, confirm it, make it golden, put it out, hand them on.

Values in, values out: each act gives another notebook, whose bank is to be saved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import get_args

from skillopt_git import edits
from skillopt_git.bank import Bank, withheld
from skillopt_git.checks import problem
from skillopt_git.consolidate import lint
from skillopt_git.errors import UsageError
from skillopt_git.guard import one_line
from skillopt_git.ids import digest, fold, fold_unmarked, need_id, task_id
from skillopt_git.imperatives import wish_of
from skillopt_git.languages import Reader
from skillopt_git.mine import judged, rubric
from skillopt_git.model import SHAPE_OPS, Check, CheckOp, Edit, Sighting, Task, TasksFile
from skillopt_git.redact import Redactor

BY_HAND = "hand"  # the source in a written task's id
SHOWN = 10  # known names in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A task as a person words it. Without checks they follow from the rule's words, and else there is a rubric."""

    ask: str
    rule: str
    checks: tuple[Check, ...] = ()
    rubric: str | None = None
    golden: bool = False
    personal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook:
    """The tasks as this machine knows them: those of its own bank and, behind them, those of the shared one."""

    bank: Bank
    files: tuple[TasksFile, ...] = ()

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Each once: a private copy goes before the shared task, and what was put out is not there."""
        hidden = {*self.bank.dropped, *(task.id for task in self.bank.tasks)}
        shared = {task.id: task for file in self.files for task in file.tasks if task.id not in hidden}
        return (*self.bank.tasks, *shared.values())

    @property
    def needs(self) -> dict[str, str]:
        """What people reviewed words a need before what was mined."""
        return {**self.bank.needs, **{need: text for file in self.files for need, text in file.needs.items()}}

    @property
    def sightings(self) -> tuple[Sighting, ...]:
        """Those that still count: not the ones of a task that was put out."""
        return tuple(item for item in self.bank.sightings if item.task not in self.bank.dropped)

    def rule(self, task: Task) -> str | None:
        """The words of the first need that no later wish took the place of."""
        needs = self.needs
        return next((needs[need] for need in task.needs if need in needs and need not in self.bank.replaced), None)

    def reviewed(self, task: Task) -> bool:
        """Whether a person confirmed it, here or in a file that a person reviewed."""
        shared = any(file.reviewed and task in file.tasks for file in self.files)
        return task.origin == "reviewed" or shared

    def stays(self, task: Task) -> bool:
        """Whether it never leaves this machine: it is personal, or it asks for what a personal one asks for."""
        return task.personal or not withheld(self.bank).isdisjoint(task.needs)

    # --- finding ---

    def named(self, name: str) -> Task:
        """The task with this id, or with an unmistakable beginning of one."""
        found = [task for task in self.tasks if task.id == name] or [
            task for task in self.tasks if task.id.startswith(name)
        ]
        if len(found) == 1:
            return found[0]
        known = ", ".join(task.id for task in self.tasks[:SHOWN]) or "none"
        raise UsageError(f"'{name}' names {'several tasks' if found else 'no known task'}", f"known: {known}")

    def wanted(self, words: str) -> frozenset[str]:
        """The needs of this id, or whose rule holds these words."""
        found = {
            need for need, rule in self.needs.items() if need == words or (words and fold(words) in fold(rule))
        } or {need for need in self.needs if words and need.startswith(words)}
        if not found:
            known = ", ".join(f"{need} ({rule})" for need, rule in sorted(self.needs.items())[:SHOWN]) or "none"
            raise UsageError(f"'{words}' names no known need", f"known: {known}")
        return frozenset(found)

    # --- acts ---

    def with_written(self, draft: Draft, *, redact: Redactor, reader: Reader) -> tuple[Notebook, Task]:
        """With the task of a draft. The same ask and rule are the same task, which keeps its marks and its place."""
        draft = _cleaned(draft, redact)
        name = task_id(BY_HAND, digest(fold_unmarked(draft.ask), fold_unmarked(draft.rule)), "")
        known = next((task for task in self.bank.tasks if task.id == name), Task(id=name, ask=draft.ask))
        need = self._need(draft.rule)
        task = replace(
            _with_judgement(known, draft, reader),
            ask=draft.ask,
            needs=(need,),
            origin="reviewed",
            golden=draft.golden or known.golden,
            personal=draft.personal or known.personal,
        )
        return self._with(task, {need: draft.rule}), task

    def _need(self, rule: str) -> str:
        same = (need for need, text in sorted(self.needs.items()) if fold_unmarked(text) == fold_unmarked(rule))
        return next(same, need_id(rule))

    def with_reviewed(self, task: Task) -> Notebook:
        """With the task, as it was shown, confirmed. Only what a person said may come here."""
        return self._with(replace(task, origin="reviewed"))

    def with_golden(self, task: Task, golden: bool) -> Notebook:
        return self._with(replace(task, golden=golden))

    def _with(self, task: Task, worded: Mapping[str, str] = MappingProxyType({})) -> Notebook:
        """With the task as one of this machine's own, and the words of what it needs. What is `worded` now is asked for
        anew, whatever contradicted it."""
        needs = {**worded, **{need: text for need, text in self.needs.items() if need in task.needs}}
        bank = replace(
            self.bank,
            tasks=tuple({**{known.id: known for known in self.bank.tasks}, task.id: task}.values()),
            needs={**needs, **self.bank.needs},
            replaced={old: new for old, new in self.bank.replaced.items() if old not in worded},
            dropped=tuple(name for name in self.bank.dropped if name != task.id),
        )
        return replace(self, bank=bank)

    def without(self, tasks: Sequence[Task]) -> Notebook:
        """Without these, for good: their ids are remembered. The turns they came from stay known, lest a copy of one in
        another file bring them back."""
        gone = {task.id for task in tasks}
        bank = replace(
            self.bank,
            tasks=tuple(task for task in self.bank.tasks if task.id not in gone),
            hints=tuple(hint for hint in self.bank.hints if hint.sighting.task not in gone),
            dropped=tuple(sorted({*self.bank.dropped, *gone})),
            withheld=tuple(
                sorted({*self.bank.withheld, *(need for task in tasks if task.personal for need in task.needs)})
            ),
        )
        return replace(self, bank=bank)


def _with_judgement(task: Task, draft: Draft, reader: Reader) -> Task:
    """With the checks of a draft, else those of its rule's words; where none looks at more than the form, a rubric."""
    checks = draft.checks or wish_of(draft.rule, reader.grammars).checks
    if draft.rubric or all(check.is_shape for check in checks):
        return replace(task, checks=checks, rubric=draft.rubric or rubric((draft.rule,)))
    return replace(task, checks=checks) if draft.checks else judged(replace(task, checks=checks), (draft.rule,))


def _cleaned(draft: Draft, redact: Redactor) -> Draft:
    """As it may be kept. A secret is refused rather than cut out: a task without it may ask for something else."""
    rule = edits.one_line(one_line(draft.rule))
    texts = {"the ask": draft.ask, "the rule": rule, "the rubric": draft.rubric or ""}
    redact.scanner.refuse({**texts, "the checks": "\n".join(str(check.arg) for check in draft.checks)})
    if not draft.ask.strip():
        raise UsageError("the ask is empty", "say what somebody would ask the agent for")
    _refuse_rule(rule, redact)
    return replace(
        draft,
        ask=redact.text(draft.ask.strip()),
        rule=rule,
        checks=tuple(
            replace(check, arg=redact.text(check.arg)) if isinstance(check.arg, str) else check
            for check in draft.checks
        ),
        rubric=redact.text(draft.rubric) if draft.rubric else None,
    )


def _refuse_rule(rule: str, redact: Redactor) -> None:
    """A rule is for everybody's agents: what could never be proposed is told at once."""
    if redact.text(rule) != rule:
        raise UsageError("the rule names an address or a folder of one person", "word it so that it holds for others")
    why = edits.refusal(rule) or lint(Edit(op="add", target="", text=rule))
    if why:
        raise UsageError(f"the rule could never be proposed: {why}", "word it differently")


def check_of(words: str) -> Check:
    """`OP:ARG`, as `contains:pnpm` or `max_chars:400`; `no_refusal` takes no argument."""
    name, _, arg = words.partition(":")
    op: CheckOp | None = next((known for known in get_args(CheckOp) if known == name.strip()), None)
    if op is None:
        raise UsageError(f"'{name}' is no kind of check", f"a check is OP:ARG, OP being {', '.join(get_args(CheckOp))}")
    made = Check(op=op, arg=_argument(op, arg), role="shape" if op in SHAPE_OPS else "outcome")
    why = problem(made)
    if why:
        raise UsageError(f"the check '{words}' is not sound: {op} {why}", "as in `--check contains:pnpm`")
    return made


def _argument(op: CheckOp, arg: str) -> str | int | None:
    if op in ("max_chars", "min_chars"):
        return int(arg) if re.fullmatch(r" *[0-9]{1,9} *", arg) else arg
    return arg or None
