"""What training tasks teach, and which earlier ones are like them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skillopt_git.backends.scripted import Scripted
from skillopt_git.config import Gate
from skillopt_git.lessons import SHOWN_PASSING, SHOWN_TASKS, Attempts, alike, attempts, lessons
from skillopt_git.model import Check, Metric, Score
from skillopt_git.ports import CallFailed, Reply
from skillopt_git.replay import Rollout
from tests.learning import TICKET, acts, once, task
from tests.questions import NEED, TONIGHT, attempt, bench

HARD = Gate(metric="hard")


def test_a_task_is_answered_so_many_times_and_its_worst_answer_comes_first() -> None:
    """Each time with a sample of its own, or one remembered answer would stand for all."""
    backend = Scripted(script=acts(once(Reply(text="pnpm"), Reply(text="npm"), Reply(text="pnpm, surely"))))

    (found,) = attempts([task(0, "train")], (), bench(backend, gate=HARD), 3)

    assert [item.reply for item in found.rollouts] == [
        Reply(text="npm"),
        Reply(text="pnpm"),
        Reply(text="pnpm, surely"),
    ]
    assert [item.sample for item in backend.asked] == ["", f"{TONIGHT}/dream/2", f"{TONIGHT}/dream/3"]


def test_an_answer_that_could_not_be_measured_teaches_nothing() -> None:
    backend = Scripted(script=acts(once(CallFailed("timeout", "slow"), Reply(text="npm"))))

    (found,) = attempts([task(0, "train")], (), bench(backend), 2)

    assert len(found.rollouts) == 1
    none = attempt(task(1, "train"))
    assert lessons(NEED, [found, none]).tasks == (task(0, "train"),)


@pytest.mark.parametrize(("metric", "worse"), [("hard", "pnpm"), ("soft", "npm"), ("mixed", "npm")])
def test_answers_are_compared_by_the_gates_metric(metric: Metric, worse: str) -> None:
    """Where all fail, one that meets more of the checks is still the better one, unless only passing counts."""
    checks = tuple(Check(op="contains", arg=word) for word in ("pnpm", "frozen"))
    backend = Scripted(script=acts(once(Reply(text="pnpm"), Reply(text="npm"))))

    (found,) = attempts([task(0, "train", checks=checks)], (), bench(backend, gate=Gate(metric=metric)), 2)

    assert found.rollouts[0].reply == Reply(text=worse)


def test_what_fails_at_times_is_not_what_passes() -> None:
    steady, unsteady = attempt(task(0, "train"), ("a", 1.0), ("b", 1.0)), attempt(task(1, "train"), ("a", 0), ("b", 1))
    other = attempt(task(2, "train", TICKET), ("a", 0))

    found = lessons(NEED, [steady, unsteady, other])

    assert (found.failing, found.passing) == ((unsteady,), (steady,))


def test_an_answer_that_passes_need_not_be_perfect() -> None:
    """Whatever the gate's metric: the agent does not get it wrong any more."""
    good = Rollout(task=task(0, "train"), reply=Reply(text="a"), score=Score(hard=1.0, soft=0.9), failure=None)
    poor = replace(good, score=Score(hard=0.0, soft=0.7))

    assert lessons(NEED, [Attempts(good.task, (good,))]).failing == ()
    assert lessons(NEED, [Attempts(good.task, (poor, good))]).passing == ()


def test_few_of_each_are_shown() -> None:
    every = [attempt(task(at % 12, "train", id=f"t1-{at}"), ("a", at % 2)) for at in range(24)]

    found = lessons(NEED, every)

    assert (len(found.failing), len(found.passing)) == (SHOWN_TASKS, SHOWN_PASSING)


def test_only_training_tasks_are_recalled_the_nearest_first() -> None:
    """Never one that is held out or has no split, and no ask twice."""
    shown = task(0, "train", ask="Add lodash to the web package")
    near = [
        task(1, "train", ask="Add lodash to the web packages"),
        task(2, "train", ask="Add lodash to our web packages"),
        task(3, "train", ask="Add lodash to our web packages"),
        task(4, "val", ask="Add lodash to the web package!"),
        task(5, "test", ask="Add lodash to a web package"),
        replace(task(6, ask="Add lodash to web package"), split=None),
        task(7, "train", ask=shown.ask),
        task(8, "train", ask="Why is it so slow?"),
    ]

    assert [item.id for item in alike([shown], near, 5)] == [near[0].id, near[2].id]
    assert alike([shown], near, 1) == (near[0],)
    assert alike([shown], near, 0) == ()
    assert alike([], near, 5) == ()
