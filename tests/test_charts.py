"""Which charts there are, what they show, and what they leave out."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.charts import MOST_NIGHTS, MOST_TASKS, Chart, Point, edit_charts, run_charts, scores_by_night
from skillopt_git.model import Event, EvidenceTask
from skillopt_git.stamp import event
from skillopt_git.views import NightRow, Passes, TaskRow, passes
from tests.proposals import stamp
from tests.test_render import a_run, an_edit


def row(task: str, base: tuple[int, int], cand: tuple[int, int]) -> TaskRow:
    return TaskRow(task=task, passes=(Passes(*base), Passes(*cand)))


def night(run: str, base: tuple[int, int], cand: tuple[int, int]) -> NightRow:
    return NightRow(
        run=run, base_passes=base[0], base_rollouts=base[1], cand_passes=cand[0], cand_rollouts=cand[1], e=1.0
    )


def tasks_chart(*rows: TaskRow) -> Chart:
    (chart,) = edit_charts(an_edit(rows=rows))
    return chart


def labels(chart: Chart) -> list[str]:
    return [point.label for point in chart.points]


# --- tasks -------------------------------------------------------------------------------------------------------


def test_passes_count_what_was_measured() -> None:
    """A missing rollout is neither a pass nor a failure."""
    task = EvidenceTask(
        task="t1-a", family=None, need=None, part="primary", night="n", base=(1, 0, None), cand=(None, None, None)
    )

    base, cand = passes(task)

    assert (base, base.share) == (Passes(1, 2), 0.5)
    assert (cand, cand.share) == (Passes(0, 0), None)


def test_tasks_stand_the_worst_first_and_those_without_a_change_last() -> None:
    """The figures are those of the rollouts, in shares and in words."""
    chart = tasks_chart(
        row("t1-better0", (1, 5), (5, 5)),
        row("t1-missing", (0, 0), (2, 2)),
        row("t1-worse00", (4, 4), (1, 4)),
        row("t1-same000", (0, 3), (0, 3)),
    )

    assert labels(chart) == ["t1-worse0", "t1-same00", "t1-better", "t1-missin"]
    assert chart.points[0] == Point(label="t1-worse0", base=1.0, cand=0.25, base_told="4 of 4", cand_told="1 of 4")
    assert (chart.points[3].base, chart.points[3].base_told, chart.points[3].change) == (None, "not measured", None)
    assert [point.label for point in chart.whole] == labels(chart)[:3]
    assert chart.has_zero


def test_one_task_is_a_chart_and_none_is_none() -> None:
    """Tasks that were not counted or not measured make no chart of their own."""
    assert len(tasks_chart(row("t1-a", (0, 1), (1, 1))).points) == 1
    assert edit_charts(an_edit(rows=())) == ()
    assert edit_charts(an_edit(rows=(TaskRow(task="t1-a", base=0.5, cand=1.0),))) == ()
    assert edit_charts(an_edit(rows=(row("t1-a", (0, 0), (1, 1)),))) == ()


def test_many_tasks_leave_out_none_that_is_worse() -> None:
    """Twelve are shown, and the others counted."""
    chart = tasks_chart(*(row(f"t1-{number:03}", (50, 100), (number, 100)) for number in range(100, -1, -1)))

    assert labels(chart) == [f"t1-{number:03}" for number in range(MOST_TASKS)]
    assert chart.left_out == 101 - MOST_TASKS


@pytest.mark.parametrize("count", [(-1, 5), (6, 5), (1, -1)])
def test_counts_that_cannot_be_are_not_measured(count: tuple[int, int]) -> None:
    """A ledger is shared: what others wrote there is not believed to be a share."""
    chart = tasks_chart(row("t1-a", (0, 1), (1, 1)), row("t1-b", count, (1, 1)))

    assert (chart.points[1].base, chart.points[1].base_told) == (None, "not measured")


@given(st.lists(st.text(max_size=12) | st.just("t1-2") | st.just("t1")))
def test_labels_are_short_plain_and_different(names: list[str]) -> None:
    """Whatever a task is called, its label can do nothing, and no two are one."""
    found = edit_charts(an_edit(rows=tuple(row(name, (0, 1), (1, 1)) for name in names)))

    for chart in found:
        assert all(re.fullmatch("[A-Za-z0-9-]{1,12}", label) for label in labels(chart))
        assert len(set(labels(chart))) == len(chart.points)
    assert len(found) == bool(names)


# --- nights ------------------------------------------------------------------------------------------------------


def test_a_trial_of_several_nights_is_drawn_by_day() -> None:
    """Two on one day are told apart; a night that has no day is called one."""
    nights = (
        night("20260102T030000Z-1a2b3c4d", (1, 4), (3, 4)),
        night("20260102T200000Z-1a2b3c4d", (0, 0), (3, 4)),
        night('x"]\n', (2, 4), (4, 4)),
    )

    (chart,) = edit_charts(an_edit(rows=(), nights=nights))

    assert chart.kind == "nights"
    assert labels(chart) == ["01-02", "01-02-2", "night"]
    assert [point.base for point in chart.points] == [0.25, None, 0.5]
    assert [point.cand for point in chart.points] == [0.75, 0.75, 1.0]


def test_a_long_trial_shows_its_last_nights() -> None:
    """As many as have room for their labels."""
    nights = tuple(night(f"202601{day:02}T030000Z-1a2b3c4d", (1, 4), (3, 4)) for day in range(1, 21))

    (chart,) = edit_charts(an_edit(rows=(), nights=nights))

    assert labels(chart) == [f"01-{day:02}" for day in range(7, 21)]
    assert chart.left_out == 6


def test_a_course_takes_two_nights_that_were_measured() -> None:
    """One alone, or one beside a gap, is none."""
    full, empty = night("20260102T030000Z-1a2b3c4d", (1, 4), (3, 4)), night("x", (0, 0), (0, 0))

    assert edit_charts(an_edit(rows=(), nights=(full,))) == ()
    assert edit_charts(an_edit(rows=(), nights=(full, empty))) == ()


# --- scores ------------------------------------------------------------------------------------------------------


def scored(day: int, base: object, cand: object) -> Event:
    made = event("run", day, stamp(), data={"baseline": base, "candidate": cand})
    return replace(made, run=f"2026{1 + day // 28:02}{1 + day % 28:02}T030000Z-1a2b3c4d")


def test_scores_are_those_of_nights_that_measured_one_in_the_order_of_their_runs() -> None:
    """A night without a score has no place; one with half of it has a gap, never a 0."""
    chart = scores_by_night([scored(3, 0.5, 0.75), scored(1, 0.25, 0.5), scored(2, None, None), scored(4, 0.5, None)])

    assert chart is not None
    assert chart.kind == "scores"
    assert labels(chart) == ["01-02", "01-04", "01-05"]
    assert [(point.base, point.cand) for point in chart.points] == [(0.25, 0.5), (0.5, 0.75), (0.5, None)]
    assert [(point.base_told, point.cand_told) for point in chart.points][1:] == [
        ("0.50", "0.75"),
        ("0.50", "not measured"),
    ]


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -0.1, 1.5, "0.5", True, [], None])
def test_what_is_no_score_is_not_measured(odd: object) -> None:
    """The data of an event are an open map."""
    chart = scores_by_night([scored(1, 0.5, odd), scored(2, 0, 1)])

    assert chart is not None
    assert [point.cand for point in chart.points] == [None, 1.0]
    assert scores_by_night([scored(1, odd, odd), scored(2, 0.5, 0.5)]) is None


def test_a_long_history_shows_its_last_nights() -> None:
    """And counts the earlier ones."""
    chart = scores_by_night([scored(day, 0.5, 0.5) for day in range(MOST_NIGHTS + 3)])

    assert chart is not None
    assert (len(chart.points), chart.left_out) == (MOST_NIGHTS, 3)
    assert len(set(labels(chart))) == MOST_NIGHTS


def test_a_run_has_the_charts_of_everything_it_tried() -> None:
    """The nights so far first, then those of the edits in the order of the report."""
    past = scores_by_night([scored(1, 0.25, 0.5), scored(2, 0.5, 0.75)])
    edits = [an_edit(rows=(row(name, (0, 1), (1, 1)),)) for name in ("a", "b", "c")]
    view = a_run(edits=(edits[0],), rejected=(edits[1],), on_trial=(edits[2],))

    found = run_charts(view, past)

    assert found[0] == past
    assert [labels(chart) for chart in found[1:]] == [["a"], ["b"], ["c"]]
    assert run_charts(a_run(), None) == ()
