"""Variants of training tasks, which the optimizer writes: other asks that the same wish holds for.

They are for training, for ever. A variant is no task of the bank, of a family or of the evidence: it lives for one
night, and its id is no task's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillopt_git.asking import SHOWN_TEXT, Question, ask, fencing
from skillopt_git.consolidate import Bench
from skillopt_git.ids import digest, fold
from skillopt_git.model import RECORD, Examples, Need, Task
from skillopt_git.ports import CallFailed
from skillopt_git.reflection import contract

PREFIX = "d1-"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    __pydantic_config__ = RECORD
    asks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dreamt:
    """The variants, and the calls that gave none."""

    variants: tuple[Task, ...]
    failures: tuple[CallFailed, ...]


def is_variant(task: Task) -> bool:
    return task.id.startswith(PREFIX)


def dream(origins: Sequence[Task], need: Need, factor: int, bench: Bench) -> Dreamt:
    """At most `factor` variants of each task. Raises ValueError for one that is not trained on, or a variant itself."""
    wrong = [task.id for task in origins if task.split != "train" or is_variant(task)]
    if wrong:
        raise ValueError(f"only training tasks have variants, not {', '.join(wrong)}")
    if not factor:
        return Dreamt((), ())
    heard = ask([_question(task, need, factor) for task in origins], _Answer, bench)
    variants: dict[str, Task] = {}
    for origin, item in zip(origins, heard, strict=True):
        if not isinstance(item.answer, CallFailed):
            found = (variant(origin, text) for text in item.answer.asks[:factor] if _differs(text, origins))
            variants |= {one.id: one for one in found}
    return Dreamt(tuple(variants.values()), tuple(i.answer for i in heard if isinstance(i.answer, CallFailed)))


def variant(origin: Task, ask: str) -> Task:
    """The task with other words. It is judged as its origin is, tells of the same sessions, and vetoes nothing."""
    return replace(
        origin,
        id=f"{PREFIX}{digest(origin.id, ask)}",
        ask=ask,
        split="train",
        reference=None,
        examples=Examples(),
        golden=False,
        outcome="unknown",
    )


def _differs(text: str, origins: Sequence[Task]) -> bool:
    """Whether it is another ask, and no longer than what is shown of one."""
    return bool(text.strip()) and len(text) <= SHOWN_TEXT and fold(text) not in {fold(task.ask) for task in origins}


def _question(task: Task, need: Need, factor: int) -> Question:
    shown = task.ask[:SHOWN_TEXT]
    fence = fencing([shown, need.text])
    words = {"ask": fence(shown), "wish": fence(need.text), "contract": contract([task]), "count": factor}
    return Question(purpose="dream", words=words)
