"""The simulation gives the figures that are known of each gate, and its worlds and rules are what they say."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import comb, sqrt

import numpy as np
import pytest

from skillopt_git.simulation import (
    GATES,
    NOTHING,
    SPREAD,
    Figures,
    Known,
    Nights,
    Noise,
    Pairs,
    Rates,
    World,
    figures,
    mended,
    night,
    pairs,
    shifted,
)
from skillopt_git.stats import Arms, smallest_gain, stratified_p
from skillopt_git.weighing import Measured, futile, weigh
from tests.proving import (
    HARM_STRONG,
    JUDGES,
    MENDING_ALL,
    MENDING_NONE,
    MENDING_SOME,
    NOISES,
    NULL_DRAFT,
    NULL_STRONG,
    ONE_NIGHT,
    RULES,
    SIZES,
    always,
    error,
    gaining,
    mending_failing,
    nothing,
    one_night,
    tolerance,
)

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

MANY, FEW = World(repetitions=2000, seed=7), World(repetitions=500, seed=7)
# Bounds lie three standard errors (binomial) above a share: of so many nights, at 1.6 % where 0.5 % is right, and at
# 10.8 % where 7 % is.
ENOUGH = 400
KNOWN_ERROR = 0.0065  # of the figures that are known: they were simulated, too


@cache
def told(name: str, world: World = MANY) -> Figures:
    return figures(world, name, RULES)


def about(share: float, world: World) -> object:
    """Within three standard errors."""
    return pytest.approx(share, abs=3 * sqrt(share * (1 - share) / world.repetitions + KNOWN_ERROR**2))


def drawn(world: World, seed: int = 1) -> Rates:
    return world.drawn(np.random.default_rng(seed))


# --- figures that are known --------------------------------------------------------------------------------------


def test_the_gate_evidence_seldom_adopts_what_does_nothing_and_sees_large_effects() -> None:
    found = told("evidence", FEW)
    assert found.null_adoption <= 0.005 + 3 * sqrt(0.005 / FEW.repetitions)
    assert found.null_draft == about(0.05, FEW)
    assert found.power == {"+10": about(0.05, FEW), "+20": about(0.30, FEW), "+30": about(0.73, FEW)}
    assert found.harmful_adoption <= 0.005
    assert found.smallest_effect == pytest.approx(0.32, abs=0.02)
    assert found.helpful_if_adopted is not None
    assert found.helpful_if_adopted > 0.85
    assert found.rollouts_per_night == pytest.approx(51.7, abs=2.5)  # 32 where it stops, 80 where it goes on


@pytest.mark.parametrize("judge_noise", JUDGES)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("tasks", SIZES)
def test_what_does_nothing_or_harms_is_next_to_never_adopted(tasks: int, noise: Noise, judge_noise: float) -> None:
    """Whatever the tasks are like, and with a judge that errs; and few such rules are left as drafts."""
    world = World(tasks=tasks, noise=noise, judge_noise=judge_noise, repetitions=ENOUGH, seed=7)
    null, harmful = one_night(world, nothing), one_night(world, gaining(-10))
    assert null.adoption <= NULL_STRONG + 3 * error(NULL_STRONG, ENOUGH)
    assert null.drafts is not None
    assert null.drafts <= NULL_DRAFT + 3 * error(NULL_DRAFT, ENOUGH)
    assert harmful.adoption <= HARM_STRONG + 3 * error(HARM_STRONG, ENOUGH)


def test_without_any_noise_nothing_is_adopted_or_left_as_a_draft_by_chance() -> None:
    """Tasks that always pass or always fail differ in neither arm; a judge that errs makes them differ."""
    world = World(tasks=5, noise="none", repetitions=500, seed=7)
    assert one_night(world, nothing).drafts == one_night(world, nothing).adoption == 0
    assert (one_night(replace(world, judge_noise=0.1), nothing).drafts or 0) > 0


@pytest.mark.parametrize("tasks", ONE_NIGHT)
def test_the_shares_that_are_known_of_one_night(tasks: int) -> None:
    """Strong, and suggestive, by what the rule does to each task."""
    world = World(tasks=tasks, repetitions=ENOUGH, seed=7)
    for points, (strong, suggestive) in ONE_NIGHT[tasks].items():
        found = one_night(world, gaining(points))
        assert found.adoption == pytest.approx(strong / 100, abs=tolerance(strong, ENOUGH)), points
        assert found.drafts == pytest.approx(suggestive / 100, abs=tolerance(suggestive, ENOUGH)), points


@pytest.mark.parametrize("tasks", MENDING_SOME)
def test_the_shares_that_are_known_of_rules_that_mend_some_failing_tasks(tasks: int) -> None:
    strong, suggestive = MENDING_SOME[tasks]
    found = one_night(World(tasks=tasks, noise="low", repetitions=ENOUGH, seed=7), mending_failing(20))
    assert found.adoption == pytest.approx(strong / 100, abs=tolerance(strong, ENOUGH))
    assert found.drafts == pytest.approx(suggestive / 100, abs=tolerance(suggestive, ENOUGH))


@pytest.mark.parametrize("tasks", MENDING_ALL)
def test_the_shares_that_are_known_of_rules_judged_by_the_tasks_of_their_need(tasks: int) -> None:
    """Mended, all of them; or left as they are, and then next to none is adopted."""
    for (before, after), strong in MENDING_ALL[tasks].items():
        found = one_night(World(tasks=tasks, rates=(before,), repetitions=1000, seed=7), always(after))
        assert found.adoption == pytest.approx(strong / 100, abs=tolerance(strong, 1000)), (before, after)
    for rate in MENDING_NONE[tasks]:
        found = one_night(World(tasks=tasks, rates=(rate,), repetitions=1000, seed=7), nothing)
        assert found.adoption <= NULL_STRONG + 3 * error(NULL_STRONG, 1000), rate


def test_ten_pairs_of_two_tasks_show_what_five_may_miss() -> None:
    """98 of 100 where all ten are measured at once. That the first two may end it costs as much as they may show
    nothing: 2 in 100 at most."""
    world = World(tasks=2, rates=(0.2,), repetitions=2000, seed=7)
    ten = replace(RULES, rollouts=10)
    rng = np.random.default_rng(world.seed)
    tried = pairs(Nights(world.drawn(rng), np.full((2000, 2), 0.9), 0.0, rng), ten)
    at_once = [Pairs(told.first + told.others, 0 * told.others, told.again) for told in tried]
    start = Known(np.zeros((2, 4), dtype=np.int64), NOTHING)
    strong = [night(told, ten, before=start)[0].verdict == "strong" for told in at_once]
    assert sum(strong) / 2000 == pytest.approx(0.98, abs=tolerance(98, 2000))

    shown = [binomial(4, rate) for rate in (0.2, 0.9)]
    stopped = sum(shown[0][base] * shown[1][cand] for base in range(5) for cand in range(base + 1))
    assert stopped == pytest.approx(0.02, abs=0.002)
    shipped = one_night(world, always(0.9), ten).adoption
    assert sum(strong) / 2000 - stopped - 3 * error(stopped, 2000) <= shipped < sum(strong) / 2000


def binomial(of: int, rate: float) -> list[float]:
    return [comb(of, passes) * rate**passes * (1 - rate) ** (of - passes) for passes in range(of + 1)]


@pytest.mark.parametrize(("before", "after"), [(0.02, 0.98), (0.2, 0.9)])
@pytest.mark.parametrize("tasks", MENDING_ALL)
def test_the_tasks_of_its_need_show_a_rule_better_than_many_others(tasks: int, before: float, after: float) -> None:
    """The same rule among twelve held-out tasks, of which it changes only its own, is seen less often."""

    def among(base: Rates, rate: float) -> Rates:
        return np.concatenate([np.full((len(base), tasks), rate), base[:, tasks:]], axis=1)

    world = World(tasks=12, noise="low", repetitions=600, seed=7)
    rng = np.random.default_rng(world.seed)
    others = world.drawn(rng)
    mixed = GATES["evidence"](Nights(among(others, before), among(others, after), 0.0, rng), RULES).adoption
    own = one_night(World(tasks=tasks, rates=(before,), repetitions=600, seed=7), always(after)).adoption
    assert own > mixed + 0.03


@pytest.mark.parametrize("noise", NOISES)
def test_p_is_no_smaller_than_chance_has_it_where_nothing_changed(noise: Noise) -> None:
    """p takes few values, so it is at most `a` with a chance of at most `a`: five pairs of each of eight tasks."""
    world = World(tasks=8, noise=noise, judge_noise=0.1, repetitions=1500, seed=7)
    rng = np.random.default_rng(world.seed)
    base = world.drawn(rng)
    arms = [answers.hard.sum(2).tolist() for answers in (Nights(base, base, 0.1, rng).base(5) for _ in range(2))]
    p = np.array(
        [stratified_p([Arms(b, 5, c, 5) for b, c in zip(*night, strict=True)]) for night in zip(*arms, strict=True)]
    )
    for level in (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9):
        assert float((p <= level).mean()) <= level + 3 * error(level, 1500)
    assert float((p <= 0.5).mean()) > 0.2  # it is not merely large


@pytest.mark.parametrize(
    ("name", "null", "power", "harmful", "rollouts"),
    [
        ("strict", 0.39, (0.58, 0.76, 0.90), 0.22, 16),
        ("skillopt_sleep", 0.54, (0.74, 0.88, 0.96), 0.33, 24),
        ("gbrain_median", 0.37, (0.63, 0.84, 0.95), 0.15, 48),
        ("one_standard_error", 0.17, (0.53, 0.88, 0.99), 0.02, 80),
    ],
)
def test_other_gates_do_what_is_known_of_them(
    name: str, null: float, power: tuple[float, ...], harmful: float, rollouts: float
) -> None:
    world = FEW if name == "strict" else MANY
    found = told(name, world)
    assert found.null_adoption == about(null, world)
    assert found.null_draft is None
    assert list(found.power.values()) == [about(share, world) for share in power]
    assert found.harmful_adoption == about(harmful, world)
    assert found.rollouts_per_night == rollouts


@pytest.mark.parametrize(
    ("name", "tasks", "noise", "judge_noise", "null"),
    [
        ("skillopt_sleep", 3, "medium", 0.0, 0.43),
        ("skillopt_sleep", 8, "low", 0.0, 0.42),
        ("skillopt_sleep", 8, "medium", 0.1, 0.67),
        ("gbrain_median", 12, "medium", 0.0, 0.20),
        ("gbrain_median", 20, "medium", 0.0, 0.12),
        ("gbrain_median", 3, "medium", 0.1, 0.34),
        ("one_standard_error", 3, "low", 0.0, 0.05),
        ("one_standard_error", 20, "high", 0.0, 0.16),
    ],
)
def test_other_gates_in_other_worlds(name: str, tasks: int, noise: Noise, judge_noise: float, null: float) -> None:
    world = replace(MANY, tasks=tasks, noise=noise, judge_noise=judge_noise)
    assert told(name, world).null_adoption == about(null, world)


def test_what_an_acceptance_means_follows_from_how_often_each_is_adopted() -> None:
    found = told("skillopt_sleep")
    helpful = 0.15 * (found.power["+20"] or 0)
    adopted = helpful + 0.15 * found.harmful_adoption + 0.7 * found.null_adoption
    assert found.helpful_if_adopted == pytest.approx(helpful / adopted)
    assert found.helpful_if_adopted == pytest.approx(0.24, abs=0.02)


# --- how it is worked out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tasks", [5, 8, 12])
def test_pages_promise_no_more_than_is_found(tasks: int) -> None:
    """The gain that a page calls the smallest is proven about four times in five."""
    gain = smallest_gain(tasks)
    assert gain is not None
    points = round(gain * 100)
    world = World(tasks=tasks, repetitions=500)
    base = world.drawn(np.random.default_rng(0))
    found = GATES["evidence"](Nights(base, shifted(base, points / 100), 0.0, np.random.default_rng(1)), RULES)
    assert found.adoption == pytest.approx(0.8, abs=3 * (0.8 * 0.2 / 500) ** 0.5 + 0.02)


def test_the_same_seed_gives_the_same_figures_and_another_gives_others() -> None:
    world = replace(MANY, repetitions=200)
    assert told("skillopt_sleep", world) == figures(world, "skillopt_sleep", RULES)
    assert told("skillopt_sleep", world) != told("skillopt_sleep", replace(world, seed=8))


def test_the_settings_of_the_gate_count() -> None:
    world = replace(FEW, tasks=4, repetitions=150)
    eager = one_night(world, nothing, replace(RULES, strong_e=3.0, suggestive_p=0.0))
    short = figures(replace(world, repetitions=20), "evidence", replace(RULES, rollouts=2))
    assert eager.adoption > one_night(world, nothing).adoption
    assert short.rollouts_per_night == 16


def test_it_decides_as_the_shipped_gate_does() -> None:
    """Night by night: the two stages, and what seems worse measured again."""
    rng = np.random.default_rng(3)
    base = drawn(World(tasks=4, noise="low", repetitions=150))
    cand = mended(shifted(base, -0.35), 0.4)  # some tasks are mended, and others spoilt
    found = GATES["evidence"](Nights(base, cand, 0.0, rng), RULES)

    rng = np.random.default_rng(3)
    answers = [rng.random((*rates.shape, 10)) < rates[..., np.newaxis] for rates in (base, cand)]
    nights = [plain_night(*pair) for pair in zip(*answers, strict=True)]
    assert found.adoption == sum(verdict == "strong" for verdict, _ in nights) / 150
    assert found.drafts == sum(verdict == "suggestive" for verdict, _ in nights) / 150
    assert found.rollouts == sum(rollouts for _, rollouts in nights) / 150
    assert {16, 40, 50} == {rollouts for _, rollouts in nights}
    assert {verdict for verdict, _ in nights} >= {"strong", "suggestive", "inconclusive", "harmful"}


def plain_night(
    base: np.ndarray[tuple[int, int], np.dtype[np.bool_]], cand: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
) -> tuple[str, int]:
    def tasks(pairs: list[int]) -> list[Measured]:
        return [
            Measured(task=str(at), base=tuple(map(int, b[:of])), cand=tuple(map(int, c[:of])), group=str(at))
            for at, (b, c, of) in enumerate(zip(base, cand, pairs, strict=True))
        ]

    pairs = [2] * len(base)
    if not futile(tasks(pairs)):
        pairs = [5] * len(base)
    if weigh(tasks(pairs), gate=RULES).verdict in ("strong", "suggestive"):
        pairs = [
            10 if b[:5].sum() >= 4 and c[:5].sum() <= 2 else of for b, c, of in zip(base, cand, pairs, strict=True)
        ]
    return weigh(tasks(pairs), gate=RULES).verdict, 2 * sum(pairs)


def test_one_task_alone_is_never_enough() -> None:
    found = told("evidence", World(tasks=1, repetitions=200))
    assert (found.null_adoption, found.power["+30"], found.smallest_effect) == (0.0, 0.0, None)
    assert found.helpful_if_adopted is None
    assert told("one_standard_error", World(tasks=1, repetitions=200)).null_adoption > 0


def test_no_rule_helps_beyond_what_is_left_to_gain() -> None:
    """Nor does one harm by more than half of what there is."""
    found = told("skillopt_sleep", World(rates=(0.85, 0.9), repetitions=200))
    assert found.power["+10"] is not None
    assert (found.power["+20"], found.power_concentrated["+30"], found.helpful_if_adopted) == (None, None, None)
    hopeless = told("skillopt_sleep", World(rates=(0.0,), repetitions=200))
    assert hopeless.harmful_adoption == hopeless.null_adoption == 0.0
    assert (hopeless.power["+10"] or 0) > 0.7
    assert told("skillopt_sleep", World(rates=(0.1,), repetitions=200)).harmful_adoption > 0
    assert told("one_standard_error", World(rates=(1.0,), repetitions=200)).smallest_effect is None


def test_the_smallest_effect_is_the_first_step_where_that_is_seen_already() -> None:
    assert told("skillopt_sleep", World(rates=(0.0,), tasks=40, repetitions=200)).smallest_effect == 0.05


# --- worlds and rules --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "deviation"), [("none", 0.5), ("low", 0.423), ("medium", 0.289), ("high", 0.109)])
def test_noise_says_how_far_tasks_lie_from_a_tossed_coin(noise: Noise, deviation: float) -> None:
    rates = drawn(replace(MANY, noise=noise))
    assert rates.shape == (2000, 8)
    assert float(rates.mean()) == pytest.approx(0.5, abs=0.015)
    assert float(rates.std()) == pytest.approx(deviation, abs=0.01)


def test_given_rates_are_drawn_from_as_they_are() -> None:
    rates = drawn(replace(MANY, rates=(0.2, 0.9, 0.9)))
    assert set(rates.flatten()) == {0.2, 0.9}
    assert float((rates == 0.9).mean()) == pytest.approx(2 / 3, abs=0.02)


def test_what_was_seen_seldom_says_little() -> None:
    """One pass of one may be any task; ninety of a hundred is one that nearly always passes."""
    once, often = drawn(replace(MANY, seen=((1, 1),))), drawn(replace(MANY, seen=((90, 100),)))
    assert float(once.mean()) == pytest.approx(2 / 3, abs=0.01)
    assert float(often.mean()) == pytest.approx(91 / 102, abs=0.01)
    assert float(once.std()) > 5 * float(often.std())


@pytest.mark.parametrize("gain", [-0.1, 0.0, 0.1, 0.3])
@pytest.mark.parametrize("noise", SPREAD)
def test_a_shift_moves_every_task_one_way_and_their_mean_by_what_is_wanted(noise: Noise, gain: float) -> None:
    base = drawn(replace(MANY, noise=noise))
    moved = shifted(base, gain)
    assert float((moved - base).mean()) == pytest.approx(gain, abs=1e-4)
    assert bool(((moved - base) * gain >= -1e-5).all())
    assert 0 <= float(moved.min()) <= float(moved.max()) <= 1


def test_a_judge_that_errs_changes_what_counts_as_passed() -> None:
    """A good answer scored below the cut has failed; a bad one that far above its score is next to impossible."""
    rates = np.array([[1.0, 0.0]] * 2000)
    still, erring = (Nights(rates, rates, noise, np.random.default_rng(1)).base(5) for noise in (0.0, 0.1))
    assert still.hard.mean(axis=(0, 2)).tolist() == [1.0, 0.0]
    assert still.soft.mean(axis=(0, 2)) == pytest.approx([0.9, 0.4])
    assert erring.hard.mean(axis=(0, 2)) == pytest.approx([0.841, 0.0], abs=0.012)
    assert erring.soft.std(axis=(0, 2)) == pytest.approx([0.1, 0.1], abs=0.004)


def test_mending_leaves_the_other_tasks_as_they_were() -> None:
    base = drawn(replace(MANY, noise="low"))
    better = mended(base, 0.2)
    changed = better != base
    assert float((better - base).mean()) == pytest.approx(0.2, abs=0.01)
    assert set(better[changed]) == {0.98}
    assert 0.2 < float(changed.mean()) < 0.4
