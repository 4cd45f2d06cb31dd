"""What evidence says of each task: the rows of a page's tables and charts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

from skillopt_git import gate
from skillopt_git.config import Gate
from skillopt_git.model import Evidence, EvidenceTask, Score
from skillopt_git.views import TaskRow, passes


def task_rows(
    evidence: Evidence | None, asks: Mapping[str, str] | None = None, *, golden: bool = False
) -> tuple[TaskRow, ...]:
    """The held-out tasks, or else the golden ones that were measured beside them."""
    if evidence is None:
        return ()
    guards = evidence.numbers.get("golden", [])
    beside = guards if isinstance(guards, list) else []  # an open map, in a ledger that others write to
    chosen = Gate(metric=evidence.settings["metric"], mixed_weight=evidence.settings["mixed_weight"])
    return tuple(
        TaskRow(
            task=task.task,
            family=task.family,
            ask=(asks or {}).get(task.task),
            base=_value(task, "base", chosen),
            cand=_value(task, "cand", chosen),
            passes=passes(task),
        )
        for task in _whole(evidence.tasks)
        if (task.task in beside) is golden
    )


def _whole(rows: Iterable[EvidenceTask]) -> Iterator[EvidenceTask]:
    """Each task once, with its rollouts of all nights."""
    known: dict[str, EvidenceTask] = {}
    for row in rows:
        first = known.get(row.task)
        if first is None:
            known[row.task] = row
            continue
        arms: tuple[Literal["base", "cand"], ...] = ("base", "cand")
        soft = {arm: (*(first.soft or {}).get(arm, ()), *(row.soft or {}).get(arm, ())) for arm in arms}
        known[row.task] = replace(first, base=(*first.base, *row.base), cand=(*first.cand, *row.cand), soft=soft)
    yield from known.values()


def _value(task: EvidenceTask, arm: str, chosen: Gate) -> float | None:
    hard = task.base if arm == "base" else task.cand
    soft = (task.soft or {}).get("base" if arm == "base" else "cand", ())
    scores = [
        Score(hard=h, soft=h if s is None else s) for h, s in zip(hard, soft or hard, strict=True) if h is not None
    ]
    return gate.mean(scores, chosen)
