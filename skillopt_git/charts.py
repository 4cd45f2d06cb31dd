"""Which charts there are of an edit and of a repository's nights. Plain data: how they are drawn is not known here.

A label is never more than letters, digits and dashes: much of what a ledger says was written by others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from math import isfinite
from typing import Literal

from skillopt_git.model import Event
from skillopt_git.views import EditView, NightRow, Passes, RunView, TaskRow

MOST_TASKS = 12  # of a chart: more cannot be told apart at the width of a page
MOST_TRIAL_NIGHTS = 14
MOST_NIGHTS = 30
LONGEST_LABEL = 9
NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What was measured without the rule and with it: shares of 1, and the same in words."""

    label: str
    base: float | None
    cand: float | None
    base_told: str
    cand_told: str

    @property
    def change(self) -> float | None:
        return None if self.base is None or self.cand is None else self.cand - self.base


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """`left_out` counts points there was no room for: tasks none of which is worse, or earlier nights."""

    kind: Literal["tasks", "nights", "scores"]
    points: tuple[Point, ...]
    left_out: int = 0

    @property
    def whole(self) -> tuple[Point, ...]:
        """The points that were measured on both sides."""
        return tuple(point for point in self.points if point.change is not None)

    @property
    def has_zero(self) -> bool:
        return any(0.0 in (point.base, point.cand) for point in self.points)


def edit_charts(edit: EditView) -> tuple[Chart, ...]:
    """How each held-out task changed, and how the trial went where it has several nights."""
    return tuple(chart for chart in (_tasks(edit.rows), _nights(edit.nights)) if chart is not None)


def run_charts(view: RunView, past: Chart | None) -> tuple[Chart, ...]:
    """All that a report shows, each at a place of its own."""
    tried = (*view.edits, *view.proven, *view.rejected, *view.on_trial)
    return (*([past] if past else []), *(chart for edit in tried for chart in edit_charts(edit)))


def scores_by_night(runs: Iterable[Event]) -> Chart | None:
    """The held-out score of each recorded run that measured one; None where there is nothing to compare."""
    found = [
        (run.run or "", _share(run.data.get("baseline")), _share(run.data.get("candidate")))
        for run in sorted(runs, key=lambda item: item.run or "")
    ]
    measured = [item for item in found if item[1] is not None or item[2] is not None]
    last = measured[-MOST_NIGHTS:]
    labels = _apart(_day(run) for run, _, _ in last)
    points = tuple(
        Point(label=label, base=base, cand=cand, base_told=_score(base), cand_told=_score(cand))
        for label, (_, base, cand) in zip(labels, last, strict=True)
    )
    return Chart(kind="scores", points=points, left_out=len(measured) - len(last)) if len(points) > 1 else None


def _tasks(rows: Iterable[TaskRow]) -> Chart | None:
    found = sorted(((row.task, *row.passes) for row in rows if row.passes is not None), key=_worst_first)
    shown = found[:MOST_TASKS]
    labels = _apart(_short(task) for task, _, _ in shown)
    points = tuple(_point(label, base, cand) for label, (_, base, cand) in zip(labels, shown, strict=True))
    chart = Chart(kind="tasks", points=points, left_out=len(found) - len(shown))
    return chart if chart.whole else None


def _worst_first(found: tuple[str, Passes, Passes]) -> tuple[bool, float, str]:
    task, base, cand = found
    change = _point(task, base, cand).change
    return change is None, change or 0.0, task


def _nights(rows: Sequence[NightRow]) -> Chart | None:
    last = rows[-MOST_TRIAL_NIGHTS:]
    labels = _apart(_day(row.run) for row in last)
    points = tuple(
        _point(label, Passes(row.base_passes, row.base_rollouts), Passes(row.cand_passes, row.cand_rollouts))
        for label, row in zip(labels, last, strict=True)
    )
    chart = Chart(kind="nights", points=points, left_out=len(rows) - len(last))
    return chart if len(chart.whole) > 1 else None


def _point(label: str, base: Passes, cand: Passes) -> Point:
    return Point(
        label=label,
        base=_share(base.share),
        cand=_share(cand.share),
        base_told=_told(base),
        cand_told=_told(cand),
    )


def _told(found: Passes) -> str:
    return NOT_MEASURED if _share(found.share) is None else f"{found.passed} of {found.of}"


def _score(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.2f}"


def _share(value: object) -> float | None:
    """A share of 1; None for anything else that a shared ledger may hold in its place."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and 0 <= value <= 1 else None


def _short(task: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]", "", task)[:LONGEST_LABEL] or "task"


def _day(run: str) -> str:
    """The month and the day of a run, which its id begins with."""
    found = re.match(r"[0-9]{4}([0-9]{2})([0-9]{2})T", run)
    return f"{found[1]}-{found[2]}" if found else "night"


def _apart(labels: Iterable[str]) -> tuple[str, ...]:
    """The same, numbered where one comes again: what has one name would be drawn as one."""
    used: list[str] = []
    for label in labels:
        names = chain([label], (f"{label}-{number}" for number in count(2)))
        used.append(next(name for name in names if name not in used))
    return tuple(used)
