from __future__ import annotations

from collections.abc import Sequence

import pytest

from skillopt_git.model import Event, Evidence, EvidenceTask, Task
from skillopt_git.premises import Given, measured_evidence, passes, premises, typical_need
from skillopt_git.simulation import World
from tests.learning import PNPM, TICKET, task

USUAL = World(tasks=8, noise="medium", repetitions=100, seed=3)


def evidence(rows: Sequence[tuple[str, str, tuple[int | None, ...]]], *, edit: str = "e1-a") -> Evidence:
    """A trial with rows (task, night, base arm)."""
    tasks = tuple(
        EvidenceTask(task=name, family=None, need=None, part="primary", night=night, base=base, cand=base)
        for name, night, base in rows
    )
    return Evidence(
        v=1,
        document="CLAUDE.md",
        base_blob=None,
        edits=(edit,),
        rule="evidence",
        settings={},
        target="scripted",
        optimizer="scripted",
        judge="checks",
        tasks=tasks,
        verdict="strong",
        numbers={},
    )


SEEN = evidence([("a", "1", (1, 0)), ("b", "1", (0, 0)), ("c", "1", (1, 1))])


def test_without_anything_a_usual_case_is_assumed() -> None:
    found = premises(Given(), (), (), USUAL)
    assert (found.world, found.tasks_from, found.chances_from) == (USUAL, "assumed", "assumed")


def test_the_repository_says_how_many_tasks_there_are_and_how_often_they_pass() -> None:
    found = premises(Given(), [task(0), task(1), task(2, "train")], [SEEN], USUAL)
    assert (found.tasks_from, found.chances_from) == ("bank", "history")
    assert found.world == World(tasks=2, seen=((1, 2), (0, 2), (2, 2)), repetitions=100, seed=3)


def test_what_is_given_goes_before_what_is_known() -> None:
    tasks = [task(0), task(1)]
    noise = premises(Given(tasks=5, noise="high"), tasks, [SEEN], USUAL)
    assert (noise.world.tasks, noise.world.noise, noise.world.seen) == (5, "high", ())
    rates = premises(Given(rates=(0.5,)), tasks, [SEEN], USUAL)
    assert (rates.world.tasks, rates.world.rates, rates.world.seen) == (2, (0.5,), ())
    assert (rates.tasks_from, rates.chances_from, noise.tasks_from) == ("bank", "given", "given")


def test_two_measured_tasks_say_too_little() -> None:
    found = premises(Given(), (), [evidence([("a", "1", (1,)), ("b", "1", (0,)), ("c", "1", (None,))])], USUAL)
    assert (found.chances_from, found.world.seen) == ("assumed", ())


@pytest.mark.parametrize(
    ("tasks", "typical"),
    [
        ([], None),
        ([task(0, "train")], None),
        ([task(0), task(1), task(2, "val", TICKET), task(3, "train")], 1),
        ([task(0), task(1), task(2, "val", TICKET, PNPM)], 1),
        ([task(0), task(1), task(2)], 3),
        ([task(0, needs=()), task(1, needs=()), task(2, needs=())], 3),
    ],
)
def test_the_typical_need_is_the_median_one(tasks: list[Task], typical: int | None) -> None:
    """Of those with held-out tasks; where no task has a need, all of them judge a rule."""
    assert typical_need(tasks) == typical


def test_each_night_of_a_trial_counts_once() -> None:
    """Its later evidence repeats the earlier nights; another trial's nights are other rollouts."""
    first = evidence([("a", "1", (1, 0)), ("b", "1", (None, 0))])
    second = evidence([("a", "1", (1, 0)), ("b", "1", (None, 0)), ("a", "2", (1, 1))])
    other = evidence([("a", "1", (0,)), ("c", "1", (None,))], edit="e1-b")
    assert passes([first, second, other]) == {"a": (3, 5), "b": (0, 1)}


def test_only_evidence_of_real_nights_is_history() -> None:
    def gate(name: str | None, run: str, *, simulated: bool = False, type_: str = "gate") -> Event:
        data = {"evidence": name}
        return Event(v=1, id=run, ts="", type=type_, run=run, simulated=simulated, data=data)  # type: ignore[arg-type]

    events = [
        gate("later", "r2"),
        gate("first", "r1"),
        gate("again", "r3"),
        gate("again", "r4"),
        gate("mock", "r5", simulated=True),
        gate(None, "r6"),
        gate("other", "r7", type_="proposed"),
    ]
    assert measured_evidence(events) == ["first", "later", "again"]
