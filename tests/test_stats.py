"""The statistics of few tasks: landmarks worked out by hand, and what must hold whatever is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.stats import (
    PRIOR_SD,
    Arms,
    discordant,
    e_value,
    estimate,
    fisher_p,
    smallest_gain,
    stratified_p,
    unseen_regressions,
)

CHANCES = (0.02, 0.3, 0.5, 0.8)


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int]:
    """(up, discordant)."""
    differing = draw(st.integers(0, 60))
    return draw(st.integers(0, differing)), differing


@st.composite
def arms(draw: st.DrawFn) -> Arms:
    base_of, cand_of = draw(st.integers(1, 10)), draw(st.integers(1, 10))
    return Arms(draw(st.integers(0, base_of)), base_of, draw(st.integers(0, cand_of)), cand_of)


def swapped(task: Arms) -> Arms:
    return Arms(task.cand, task.cand_of, task.base, task.base_of)


# --- e-values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("up", "down", "e"), [(0, 0, 1.0), (5, 0, 10.5), (6, 0, 18.1), (7, 0, 31.9), (9, 1, 18.5), (10, 2, 9.4)]
)
def test_landmarks_of_the_e_value(up: int, down: int, e: float) -> None:
    assert e_value(up, up + down) == pytest.approx(e, abs=0.05)


@given(counts())
def test_the_e_value_is_the_mixture_it_says_it_is(pairs: tuple[int, int]) -> None:
    """The mean, over chances of "up" from a half to one, of how much better they explain the pairs than a half does."""
    up, differing = pairs
    middles = (np.arange(20_000) + 0.5) / 40_000 + 0.5
    ratios = 2.0**differing * middles**up * (1 - middles) ** (differing - up)
    assert e_value(up, differing) == pytest.approx(float(ratios.mean()), rel=1e-4)


@given(st.integers(0, 40), st.floats(0, 0.5))
def test_the_mean_of_the_e_value_is_at_most_one_where_nothing_helps(differing: int, chance: float) -> None:
    """Summed over all that can happen; so at most 1 null in 20 reaches 20."""
    happens = [comb(differing, up) * chance**up * (1 - chance) ** (differing - up) for up in range(differing + 1)]
    mean = sum(odds * e_value(up, differing) for up, odds in enumerate(happens))
    assert mean <= 1 + 1e-9


@given(counts())
def test_the_e_value_may_be_looked_at_after_each_pair(pairs: tuple[int, int]) -> None:
    """On average a next pair changes nothing, where "up" and "down" are as likely."""
    up, differing = pairs
    after = (e_value(up + 1, differing + 1) + e_value(up, differing + 1)) / 2
    assert after == pytest.approx(e_value(up, differing))


@given(counts())
def test_the_e_values_for_benefit_and_harm_share_one_mixture(pairs: tuple[int, int]) -> None:
    """With "up" and "down" exchanged, the other half of all chances; a pair more for it speaks more for it."""
    up, differing = pairs
    both = e_value(up, differing) + e_value(differing - up, differing)
    assert both == pytest.approx(2 ** (differing + 1) / ((differing + 1) * comb(differing, up)))
    assert e_value(up + 1, differing + 1) > e_value(up, differing) > e_value(up, differing + 1)


@pytest.mark.parametrize(("up", "differing"), [(-1, 3), (4, 3)])
def test_counts_that_cannot_be_are_refused(up: int, differing: int) -> None:
    with pytest.raises(ValueError, match=f"{up} of {differing} pairs"):
        e_value(up, differing)


# --- exact tests -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rollouts", [1, 2, 3, 5, 10])
def test_one_task_that_flips_outright_has_the_smallest_p_there_is(rollouts: int) -> None:
    assert stratified_p([Arms(0, rollouts, rollouts, rollouts)]) == pytest.approx(1 / comb(2 * rollouts, rollouts))


@given(st.lists(arms(), min_size=1, max_size=2))
def test_the_exact_test_counts_the_ways_to_deal_out_the_answers(tasks: list[Arms]) -> None:
    """Against every way there is, one by one."""
    tasks = [Arms(min(3, t.base), min(3, t.base_of), min(3, t.cand), min(3, t.cand_of)) for t in tasks]
    dealt = list(product(*(list(deals(task)) for task in tasks)))
    seen = sum(task.cand for task in tasks)
    as_many = sum(sum(deal) >= seen for deal in dealt)
    assert stratified_p(tasks) == pytest.approx(as_many / len(dealt))


def deals(task: Arms) -> Iterator[int]:
    """The candidate's passes, for each choice of which answers were the candidate's."""
    passed = task.base + task.cand
    answers = [1] * passed + [0] * (task.base_of + task.cand_of - passed)
    yield from (sum(chosen) for chosen in combinations(answers, task.cand_of))


@pytest.mark.parametrize("design", [((3, 3),), ((2, 2), (3, 2)), ((2, 2), (2, 2), (1, 2))])
@pytest.mark.parametrize("chances", [CHANCES[:3], CHANCES[1:]])
def test_p_is_valid_where_nothing_changed(design: Sequence[tuple[int, int]], chances: Sequence[float]) -> None:
    """However often each task passes: p is at most `a` with a chance of at most `a`. Over all that can happen."""
    reached: dict[float, float] = {}
    for told in product(*(list(outcomes(of, chance)) for of, chance in zip(design, chances, strict=False))):
        p = stratified_p([task for task, _ in told])
        reached[p] = reached.get(p, 0.0) + float(np.prod([odds for _, odds in told]))
    assert sum(reached.values()) == pytest.approx(1)
    for level in reached:
        assert sum(odds for p, odds in reached.items() if p <= level) <= level + 1e-9


def outcomes(of: tuple[int, int], chance: float) -> Iterator[tuple[Arms, float]]:
    def odds(passes: int, rollouts: int) -> float:
        return float(comb(rollouts, passes) * chance**passes * (1 - chance) ** (rollouts - passes))

    for base, cand in product(range(of[0] + 1), range(of[1] + 1)):
        yield Arms(base, of[0], cand, of[1]), odds(base, of[0]) * odds(cand, of[1])


@given(st.lists(arms(), max_size=6), st.lists(arms(), max_size=3))
def test_p_knows_no_order_and_is_small_on_one_side_only(tasks: list[Arms], others: list[Arms]) -> None:
    p = stratified_p([*tasks, *others])
    assert 0 < p <= 1
    assert p == stratified_p([*others, *tasks])
    assert p + stratified_p([swapped(task) for task in (*tasks, *others)]) >= 1


@given(st.lists(arms(), min_size=1, max_size=5))
def test_a_pass_more_under_the_candidate_never_raises_p(tasks: list[Arms]) -> None:
    first, *rest = tasks
    more = Arms(first.base, first.base_of, min(first.cand + 1, first.cand_of), first.cand_of)
    assert stratified_p([more, *rest]) <= stratified_p(tasks)


def test_nothing_that_differs_proves_nothing() -> None:
    assert stratified_p([]) == 1.0
    assert stratified_p([Arms(5, 5, 5, 5), Arms(0, 5, 0, 5)]) == 1.0


def test_fisher_looks_for_harm() -> None:
    assert fisher_p(Arms(5, 5, 0, 5)) == pytest.approx(1 / 252)
    assert fisher_p(Arms(9, 10, 5, 10)) == pytest.approx(0.0704, abs=1e-4)
    assert fisher_p(Arms(0, 5, 5, 5)) == 1.0


# --- estimates ---------------------------------------------------------------------------------------------------


@given(st.lists(arms(), min_size=1, max_size=12))
def test_an_estimate_is_drawn_towards_nothing_and_lies_in_its_interval(tasks: list[Arms]) -> None:
    found = estimate(tasks)
    assert found.seen == pytest.approx(sum(task.change for task in tasks) / len(tasks))
    assert abs(found.shrunk) <= abs(found.seen)
    assert found.shrunk * found.seen >= 0
    assert found.low < found.shrunk < found.high
    assert found.high - found.low < 2 * 1.96 * PRIOR_SD  # something was learned


@given(st.lists(arms(), min_size=1, max_size=8))
def test_an_estimate_with_its_arms_exchanged_is_the_opposite(tasks: list[Arms]) -> None:
    there, back = estimate(tasks), estimate([swapped(task) for task in tasks])
    assert (back.seen, back.shrunk) == pytest.approx((-there.seen, -there.shrunk))
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))


def test_the_more_tasks_the_less_an_estimate_is_drawn() -> None:
    """And one that counts only its own rollouts is not trusted where tasks differ."""
    told = [estimate([Arms(1, 5, 3, 5)] * tasks).shrunk for tasks in (1, 4, 16, 64)]
    assert told == sorted(told)
    assert told[0] < 0.1 < told[-1] < 0.4
    alike, unlike = [Arms(1, 5, 3, 5)] * 4, [Arms(0, 5, 4, 5), Arms(2, 5, 2, 5)] * 2
    assert estimate(alike).seen == pytest.approx(estimate(unlike).seen)
    assert estimate(unlike).shrunk < estimate(alike).shrunk


def test_nothing_measured_is_no_estimate() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        estimate([])


def test_pairs_that_differ() -> None:
    assert discordant([(False, True), (True, True), (True, False), (False, False), (False, True)]) == (2, 3)
    assert discordant([]) == (0, 0)


@pytest.mark.parametrize(("tasks", "share"), [(0, 1.0), (5, 0.45), (8, 0.31), (12, 0.22), (20, 0.14), (40, 0.07)])
def test_what_may_get_worse_unseen(tasks: int, share: float) -> None:
    assert unseen_regressions(tasks) == pytest.approx(share, abs=0.006)


@pytest.mark.parametrize(
    ("tasks", "gain"), [(0, None), (2, None), (4, None), (5, 0.41), (7, 0.38), (8, 0.32), (12, 0.26), (40, 0.21)]
)
def test_how_large_a_gain_has_to_be(tasks: int, gain: float | None) -> None:
    """Between two counts that of the smaller one: rather too little is promised."""
    assert smallest_gain(tasks) == gain
