"""What is known of the gate `evidence` from elsewhere, and thirty nights of it in a row; for tests and benchmarks.

The known shares were simulated, too: each is of some 6,000 repetitions, and rounded as it is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from skillopt_git.campaign import Chances, course
from skillopt_git.config import Gate
from skillopt_git.model import OpenMap
from skillopt_git.simulation import GATES, Effect, Found, Nights, Noise, Rates, World, shifted

RULES = Gate(mode="evidence")
NOISES: tuple[Noise, ...] = ("none", "low", "medium", "high")
SIZES = (3, 5, 8, 12)
JUDGES = (0.0, 0.1)  # standard deviations
NULL_STRONG, NULL_DRAFT, HARM_STRONG, OVERSTATED = 0.005, 0.07, 0.005, 1.5
OPEN = 0.02  # of drafts without effect, after fourteen nights with as many new tasks each

# Strong and suggestive in one night, in per cent; by tasks and by points gained by each of them, in medium noise.
ONE_NIGHT: Mapping[int, Mapping[int, tuple[float, float]]] = {
    3: {0: (0.1, 5), -10: (0.1, 1), 10: (0.7, 15), 20: (5, 32), 30: (15, 48)},
    5: {0: (0.3, 5), -10: (0, 0.5), 10: (3, 19), 20: (13, 40), 30: (42, 40)},
    8: {0: (0.3, 5), -10: (0, 0.5), 10: (5, 25), 20: (30, 42), 30: (73, 22)},
    12: {0: (0.2, 5), -10: (0, 0.2), 10: (9, 32), 20: (48, 38), 30: (92, 7)},
    20: {0: (0.2, 6), -10: (0, 0), 10: (13, 45), 20: (74, 23), 30: (99, 1)},
}
MENDING_SOME: Mapping[int, tuple[float, float]] = {
    8: (41, 30),
    12: (55, 27),
}  # failing ones: +20 in low noise, by tasks
# A rule that mends all tasks of its need: strong, in per cent, by their number and by how often they pass.
MENDING_ALL: Mapping[int, Mapping[tuple[float, float], float]] = {
    2: {(0.02, 0.98): 99.7, (0.2, 0.9): 59},
    3: {(0.02, 0.98): 100, (0.2, 0.9): 89},
    4: {(0.02, 0.98): 100, (0.2, 0.9): 98},
}
# The same where nothing is mended. How many repetitions these are of is not known, and with so small shares it matters:
# 40,000 give 0.35 where three tasks pass every second time, and 0.1 is known. So they are held to `NULL_STRONG`.
MENDING_NONE: Mapping[int, Mapping[float, float]] = {
    2: {0.5: 0.1, 0.9: 0, 0.2: 0},
    3: {0.5: 0.1, 0.9: 0, 0.2: 0.1},
    4: {0.5: 0.3, 0.9: 0, 0.2: 0.2},
}
# A guard of 12 others with 3 pairs each: e for harm of 3 and of 10 at least, in per cent, by points.
GUARD: Mapping[int, tuple[float, float]] = {0: (3.8, 0.9), -10: (20, 8), -20: (59, 34), -30: (92, 77)}
_KNOWN_REPETITIONS = 6000


def error(share: float, repetitions: int) -> float:
    """The standard error of a share of so many."""
    return sqrt(share * (1 - share) / repetitions)


def tolerance(percent: float, repetitions: int) -> float:
    """Three standard errors, as a share: of what is measured, of what is known, and of its rounding.

    A share of none or all may be anything that is rounded to it.
    """
    step = 0.001 if percent < 1 or percent % 1 else 0.01
    share = min(max(percent / 100, step / 2), 1 - step / 2)
    rounding = step / sqrt(12)
    return 3 * sqrt(error(share, repetitions) ** 2 + error(share, _KNOWN_REPETITIONS) ** 2 + rounding**2)


def one_night(world: World, effect: Effect, rules: Gate = RULES) -> Found:
    rng = np.random.default_rng(world.seed)
    base = world.drawn(rng)
    return GATES["evidence"](Nights(base, effect(base), world.judge_noise, rng), rules)


def nothing(base: Rates) -> Rates:
    return base


def gaining(points: float) -> Effect:
    return (lambda base: shifted(base, points / 100)) if points else nothing


def mending_failing(points: float) -> Effect:
    """Some of the tasks that mostly fail are mended, as in the known figures.

    `simulation.mended` takes any task, and of such rules some more are strong: of twelve tasks 58 in 100, not 55.
    """

    def mend(base: Rates) -> Rates:
        best = np.where(base < 0.5, np.maximum(base, 0.98), base)
        share = points / 100 / float((best - base).mean())
        return np.where(np.random.default_rng(base.size).random(base.shape) < share, best, base)

    return mend


def always(rate: float) -> Effect:
    return lambda base: np.full_like(base, rate)


# --- thirty nights -----------------------------------------------------------------------------------------------

NIGHTS, _POPULATION = 30, 1500
_KINDS = ((0.0, 0.70), (-0.5, 0.15), (0.8, 0.15))  # steps of the logit, and how often each is what a candidate does
_SPECIFIC = 0.6  # standard deviation of what it does to half of the tasks besides


@dataclass(frozen=True, slots=True)
class Gain:
    """Of one adopted rule, in shares of 1: as seen, as shown, and as true of all tasks there are."""

    seen: float
    shown: float
    true: float
    inside: bool  # the interval that is shown


@dataclass(frozen=True, slots=True)
class Gains:
    """Of all adopted rules."""

    each: tuple[Gain, ...]

    @property
    def seen(self) -> float:
        """How many times the true gain was seen."""
        return sum(gain.seen for gain in self.each) / self._true

    @property
    def shown(self) -> float:
        """How many times the true gain was shown."""
        return sum(gain.shown for gain in self.each) / self._true

    @property
    def error(self) -> float:
        """The standard error of how many times it was shown: that of a ratio of sums."""
        return sqrt(sum((gain.shown - self.shown * gain.true) ** 2 for gain in self.each)) / self._true

    @property
    def inside(self) -> float:
        return sum(gain.inside for gain in self.each) / len(self.each)

    @property
    def _true(self) -> float:
        return sum(gain.true for gain in self.each)


def thirty_nights(
    *, campaigns: int, seed: int = 0, tasks: int = 12, nights: int = RULES.nights, fresh: int = 0, fixed: bool = False
) -> Gains:
    """Each night one candidate is tried on tasks drawn from many; what is adopted changes all of them for good.

    Of ten candidates seven do nothing on the whole, the others harm or help; each also moves half of the tasks, some up
    and some down. A trial has up to `nights` nights. `fixed`: the same held-out tasks judge all rules.
    """
    rng = np.random.default_rng(seed)
    rules = replace(RULES, nights=nights)
    each: list[Gain] = []
    for _ in range(campaigns):
        rates = rng.random(_POPULATION)
        order = rng.permutation(_POPULATION)
        for _ in range(NIGHTS):
            moved = _candidate(rates, rng)
            order = order if fixed else rng.permutation(_POPULATION)
            others, own = order[: rules.guard], order[rules.guard :][: tasks + fresh * (nights - 1)]
            chances = Chances(base=rates[own], cand=moved[own], guard=rates[others], guard_cand=moved[others])
            found = course(chances, rules, rng, tasks=tasks, fresh=fresh)
            if found.end == "adopted":
                each.append(_gain(found.weighed.numbers, float((moved - rates).mean())))
                rates = moved
    return Gains(tuple(each))


def _gain(told: OpenMap, true: float) -> Gain:
    return Gain(told["gain"], told["gain_shrunk"], true, told["gain_low"] <= true <= told["gain_high"])


def _candidate(rates: Rates, rng: np.random.Generator) -> Rates:
    steps, shares = zip(*_KINDS, strict=True)
    own = rng.normal(0, _SPECIFIC, rates.size) * (rng.random(rates.size) < 0.5)
    logits = np.log(rates / (1 - rates)) + rng.choice(steps, p=shares) + own
    return np.asarray(1 / (1 + np.exp(-logits)), dtype=np.float64)
