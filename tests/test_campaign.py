"""Trials over many nights go as those of runs do; what becomes of rules in them, and what thirty nights amount to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import sqrt
from statistics import fmean, median
from typing import Any

import numpy as np
import pytest

from skillopt_git.backends.scripted import Scripted
from skillopt_git.campaign import Chances, Course, course, courses, guarding, prospect
from skillopt_git.config import Gate
from skillopt_git.consolidate import Bench
from skillopt_git.model import Candidate, Task
from skillopt_git.pairing import GoingOn, trial
from skillopt_git.ports import Reply, Request
from skillopt_git.replay import replay
from skillopt_git.simulation import World, shifted
from tests.learning import RULE, SKILL, TICKET, acts, models, task, told
from tests.proving import GUARD, OPEN, OVERSTATED, RULES, error, nothing, thirty_nights, tolerance
from tests.test_pairing import ADD, TEXT

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

TRIALS = 250
NO_GUARD = replace(RULES, guard=0)
NONE = np.zeros(0)


# --- as a run does it --------------------------------------------------------------------------------------------


class Tape(np.random.Generator):
    """Remembers what it has drawn, so that a run's models can answer the same."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self.told: list[np.ndarray[Any, np.dtype[np.float64]]] = []

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
        drawn = super().random(size)
        self.told.append(drawn[0])
        return drawn


# Drafts come easily, so that many trials have several nights.
SMALL = replace(RULES, guard=3, nights=5, pairs=9, suggestive_p=0.4, harmful_e=4.0)
OWN, OTHERS = [task(at) for at in range(8)], [task(at, "val", TICKET) for at in (8, 9, 10)]


@pytest.mark.parametrize("fresh", [0, 1])
def test_a_trial_goes_as_one_of_a_run_does(fresh: int) -> None:
    """From the same answers, night by night: first pairs, the others, the guard, and what seems worse once more."""
    seen = set()
    for seed in range(80):
        chances = some_chances(np.random.default_rng(seed))
        tape = Tape(seed)
        found = course(chances, SMALL, tape, tasks=4, fresh=fresh)
        run = rerun(tape, chances, found.nights, fresh)
        assert run.evidence is not None
        assert run.verdict == found.weighed.verdict
        assert run.closed == (found.weighed.closed or found.nights == SMALL.nights)
        told = {name: run.evidence.numbers[name] for name in found.weighed.numbers}
        assert told == pytest.approx(dict(found.weighed.numbers))
        seen.add((found.end, found.nights))
    ends, nights = {end for end, _ in seen}, {night for _, night in seen}
    assert ends == {"adopted", "never", "left", "undecided" if fresh else "waits"}
    assert nights >= ({1, 2, 4, 5} if fresh else {1, 2, 3})


def some_chances(rng: np.random.Generator) -> Chances:
    """Rules that mend, spoil or leave tasks, and some that spoil the guard."""
    base, guard = rng.choice([0.1, 0.5, 0.9], len(OWN)), rng.choice([0.2, 0.9], len(OTHERS))
    cand = np.where(rng.random(len(OWN)) < 0.2, rng.choice([0.95, 0.05]), base)
    return Chances(base=base, cand=cand, guard=guard, guard_cand=guard * rng.choice([1.0, 0.3]))


def rerun(tape: Tape, chances: Chances, nights: int, fresh: int) -> Candidate:
    """The same nights as a run has them. The tape holds both arms of each night, and of the guard where it is asked."""
    arms = list(tape.told)
    found: Candidate | None = None
    for night in range(nights):
        own = OWN[: 4 + fresh * night]
        drawn = {item.id: pair for item, *pair in zip(own, arms.pop(0), arms.pop(0), strict=True)}
        if arms and len(arms[0]) == len(OTHERS):
            drawn |= {item.id: pair for item, *pair in zip(OTHERS, arms.pop(0), arms.pop(0), strict=True)}
        found = run_on(own, drawn, chances, f"2026112{night}T030000Z-0000000a", found)
    assert found is not None
    assert arms == []
    return found


def run_on(
    own: Sequence[Task], drawn: dict[str, list[Any]], chances: Chances, night: str, before: Candidate | None
) -> Candidate:
    tasks = {item.ask: item for item in (*OWN, *OTHERS)}
    rates = {item.id: pair for item, *pair in zip(OWN, chances.base, chances.cand, strict=True)}
    rates |= {item.id: pair for item, *pair in zip(OTHERS, chances.guard, chances.guard_cand, strict=True)}
    rows = before.evidence.tasks if before and before.evidence else ()

    def answer(request: Request) -> Reply:
        name = tasks[request.ask].id
        earlier = sum(len(row.base) for row in rows if row.task == name)
        at, arm = int(request.sample.rsplit("/", 1)[1]) - earlier - 1, RULE in told(request)
        return Reply(text="pnpm for ACME-7" if drawn[name][arm][at] < rates[name][arm] else "no")

    held_out = [*own, *OTHERS]
    backend = Scripted(script=acts(answer), deterministic=False)
    judge = models(backend, held_out).judge

    def again(rounds: Any) -> Any:
        return replay(rounds, target=backend, judge=judge, notify=lambda _: None)

    bench = Bench(
        target=backend,
        optimizer=backend,
        judge=judge,
        replay=again,
        gate=SMALL,
        night=night,
        tonight="night-1",
        preferences="",
        notify=lambda _: None,
    )
    going_on = GoingOn(str(before.trial), before.evidence) if before and before.evidence else None
    return trial((ADD,), TEXT, ((SKILL, TEXT.text),), held_out, rested={}, bench=bench, ended=0, going_on=going_on)


# --- what becomes of rules ---------------------------------------------------------------------------------------


@cache
def nulls(tasks: int, fresh: int, rules: Gate = RULES) -> tuple[Course, ...]:
    return tuple(courses(World(tasks=tasks, repetitions=1200, seed=3), rules, nothing, fresh=fresh))


def drafts(told: Sequence[Course]) -> list[Course]:
    return [item for item in told if item.draft]


@pytest.mark.parametrize("fresh", [0, 1])
@pytest.mark.parametrize("tasks", [3, 8])
def test_a_rule_without_effect_is_seldom_adopted_in_all_its_nights(tasks: int, fresh: int) -> None:
    """Of all rules 1 in 20 might be, however often one looks; that it has to be a draft first leaves far fewer."""
    found = nulls(tasks, fresh)
    adopted = fmean(item.end == "adopted" for item in found)
    assert adopted <= 0.01 + 3 * error(0.01, len(found))


@pytest.mark.parametrize("tasks", [8, 12])
def test_drafts_without_effect_are_gone_in_four_nights_where_new_tasks_come(tasks: int) -> None:
    """With three pairs of each of as many new tasks a night: the median is four nights, and 1 or 2 in 100 stay."""
    found = drafts(nulls(tasks, tasks, replace(RULES, rollouts=3, pairs=3)))
    assert len(found) > 40
    assert median(item.nights for item in found) == 4
    assert fmean(item.open for item in found) <= OPEN + 3 * error(OPEN, len(found))


def test_what_ends_a_draft_without_effect() -> None:
    """e < 1 from the fourth night on; before that only harm, or tasks measured enough with no benefit in sight."""
    ended = [item for item in drafts(nulls(8, 8, replace(RULES, rollouts=3, pairs=3))) if item.end == "left"]
    closed = [item for item in ended if item.weighed.closed]
    assert min(item.nights for item in closed) == 4
    assert all(item.weighed.numbers["e"] < 1 for item in closed)
    assert len(closed) / len(ended) > 0.5
    assert {item.weighed.verdict for item in ended} <= {"harmful", "inconclusive"}


def test_drafts_whose_tasks_were_measured_enough_wait_only_while_a_benefit_is_in_sight() -> None:
    """Ten pairs of a task are a few nights; then nothing is measured until the need has a new task."""
    found = drafts(nulls(8, 0))
    waiting = [item for item in found if item.end == "waits"]
    assert 0.2 < len(waiting) / len(found) < 0.5
    assert {item.nights for item in waiting} <= {2, 3, 4, 5}
    assert {item.weighed.verdict for item in waiting} == {"suggestive"}
    assert all(item.open for item in waiting)


@pytest.mark.parametrize(("tasks", "first"), [(8, 0.72), (12, 0.86)])
def test_rules_that_help_by_20_points_are_adopted_within_a_week(tasks: int, first: float) -> None:
    """Nearly all that their first night adopts or keeps as drafts, where as many new tasks come each night."""
    world = World(tasks=tasks, repetitions=300)
    found = courses(world, replace(RULES, nights=7), lambda base: shifted(base, 0.2), fresh=tasks)
    kept = fmean(item.end == "adopted" or item.draft for item in found)
    assert kept == pytest.approx(first, abs=3 * error(first, len(found)))
    assert fmean(item.end == "adopted" for item in found) >= 0.9 * kept


def test_more_nights_and_new_tasks_prove_more() -> None:
    world = World(tasks=8, repetitions=TRIALS)
    same, new = (prospect(world, RULES, fresh=fresh) for fresh in (0, 1))
    for effect in ("+10", "+20", "+30"):
        assert (same.adopted_first[effect] or 0) < (same.adopted_week[effect] or 0) < (new.adopted_week[effect] or 0)
        assert (new.adopted_week[effect] or 0) <= (new.adopted[effect] or 0)
    assert same.adopted_week == same.adopted  # after some nights its tasks were measured enough
    assert (same.null_draft_nights_median, new.null_draft_nights_median) == (4, 4)
    assert (new.null_draft_open or 0) < (same.null_draft_open or 0)
    assert same.harmful_adopted <= 0.005 + 3 * error(0.005, TRIALS)


def test_nothing_is_said_of_what_cannot_be() -> None:
    """Where all passes, no rule helps, and none leaves a draft."""
    found = prospect(World(rates=(1.0,), repetitions=100), NO_GUARD)
    assert found.adopted == {"+10": None, "+20": None, "+30": None}
    assert (found.null_adopted, found.null_draft_open, found.null_draft_nights_mean) == (0.0, None, None)


def test_the_same_seed_gives_the_same_prospects() -> None:
    world = World(tasks=4, repetitions=30)
    assert prospect(world, RULES, fresh=2) == prospect(world, RULES, fresh=2)
    assert prospect(world, RULES, fresh=2) != prospect(replace(world, seed=1), RULES, fresh=2)


def test_a_trial_has_no_more_nights_than_are_set() -> None:
    found = nulls(8, 1, replace(RULES, nights=2))
    assert max(item.nights for item in found) == 2
    assert any(item.end == "undecided" and item.nights == 2 for item in found)


# --- e -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tasks", "fresh"), [(3, 0), (8, 0), (8, 1)])
def test_the_mean_of_e_is_at_most_one_whenever_a_trial_without_effect_ends(tasks: int, fresh: int) -> None:
    """Though it ends when it looks good or bad: after two pairs, when proven, closed, or out of tasks."""
    e = np.array([item.weighed.numbers["e"] for item in nulls(tasks, fresh)])
    assert float(e.mean()) <= 1 + 3 * float(e.std(ddof=1)) / sqrt(len(e))
    assert float((e >= 20).mean()) <= 1 / 20


# --- the guard ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("least_e", "column"), [(3.0, 0), (10.0, 1)])
def test_a_guard_finds_large_harm_only(least_e: float, column: int) -> None:
    """Twelve other tasks with three pairs each; what is known of it."""
    rules = replace(RULES, guard=12, rollouts=3, harmful_e=least_e)
    found = guarding(World(repetitions=TRIALS), rules)
    for points, known in GUARD.items():
        share = found.finds[f"{points}"] if points else found.false_alarm
        assert share == pytest.approx(known[column] / 100, abs=tolerance(known[column], TRIALS))


def test_the_guard_as_it_is_shipped() -> None:
    """Eight others with five pairs each refuse 1 rule in 100 for nothing, and find 20 points every second time."""
    found = guarding(World(repetitions=TRIALS), RULES)
    assert found.false_alarm <= 0.01 + 3 * error(0.01, TRIALS)
    assert found.finds == {
        "-10": pytest.approx(0.09, abs=3 * error(0.09, TRIALS)),
        "-20": pytest.approx(0.45, abs=3 * error(0.45, TRIALS)),
        "-30": pytest.approx(0.86, abs=3 * error(0.86, TRIALS)),
    }
    assert guarding(World(rates=(0.15,), repetitions=100), RULES).finds["-20"] is None


def test_a_rule_that_spoils_others_is_not_adopted_for_mending_its_own() -> None:
    world = World(repetitions=200, seed=2)
    rng = np.random.default_rng(2)
    guard = world.drawn(rng)
    spoilt = shifted(guard, -0.4)
    ends = [
        course(
            Chances(base=np.full(4, 0.02), cand=np.full(4, 0.98), guard=guard[at], guard_cand=spoilt[at]),
            RULES,
            rng,
            tasks=4,
        ).end
        for at in range(world.repetitions)
    ]
    assert ends.count("adopted") / len(ends) < 0.1


# --- thirty nights -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("campaigns", "nights", "tasks", "fresh", "fixed"),
    [(60, 1, 12, 0, False), (40, 14, 12, 0, False), (40, 14, 12, 0, True), (40, 14, 8, 1, False)],
    ids=["one night each", "whole trials", "the same tasks all the time", "a new task each night"],
)
def test_over_thirty_nights_gains_are_not_overstated(
    campaigns: int, nights: int, tasks: int, fresh: int, fixed: bool
) -> None:
    """What is shown of adopted rules is at most one and a half times what they truly gain; far more is seen."""
    found = thirty_nights(campaigns=campaigns, seed=1, nights=nights, tasks=tasks, fresh=fresh, fixed=fixed)
    assert len(found.each) > 30
    assert found.shown <= OVERSTATED
    assert found.error < 0.15
    assert found.seen > 1.5
    assert found.inside > 0.85
