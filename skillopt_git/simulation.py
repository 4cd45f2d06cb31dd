"""What gates do to rules whose effect is known: how often they adopt one that does nothing, and miss one that helps.

Nights are drawn, not measured: held-out tasks that pass by chance, a judge that may err, a rule of a given effect. The
gates that decide over them are the shipped ones, `weighing` and `gate.strict`, and for comparison three in use
elsewhere. All shares are of 1.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skillopt_git import gate
from skillopt_git.config import Gate
from skillopt_git.model import Pair, Score, Verdict
from skillopt_git.weighing import BENEFIT, FIRST_PAIRS, SUSPECT_OF, Measured, Weighed, futile, suspects, weigh

Noise = Literal["none", "low", "medium", "high"]
Rates: TypeAlias = NDArray[np.float64]  # chances of passing, by repetition and task
Effect: TypeAlias = Callable[[Rates], Rates]

# Of a Beta distribution: a + b, where a = b. Towards 0 only chances of 0 and 1 are left.
SPREAD: Mapping[Noise, float] = {"none": 0.0, "low": 0.4, "medium": 2.0, "high": 20.0}
POINTS = (10, 20, 30)
STEPS = range(5, 65, 5)  # points: among these the smallest effect that is detected is looked for
DETECTED = 0.8
HELPFUL, HARMFUL = 20, -10  # points, of the rules that an optimizer words
SHARE_HELPFUL, SHARE_HARMFUL = 0.15, 0.15

_PASSED, _FAILED, _CUT = 0.9, 0.4, 0.8  # a judge's soft scores, and from which on a task counts as passed
_MENDED = 0.98  # how often a task passes that a rule mends
_EDGE = 1e-6  # a chance of 0 or 1 has no logit
_TIE = 1e-9
_MEDIAN_OF, _MARGIN = 3, 0.05
_ONE_ERROR_PAIRS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What is simulated. Each task's chance of passing is drawn anew for every repetition.

    `rates` are drawn from as they are; else `seen`, passes of so many rollouts, say how likely each chance is; else
    `noise` does: `none` where each task always passes or always fails, `low` where most nearly do, `medium` where any
    chance is as likely as another, `high` where most are tossed coins. `judge_noise` is the standard deviation of the
    judge's soft score.
    """

    tasks: int = 8
    noise: Noise = "medium"
    rates: tuple[float, ...] = ()
    seen: tuple[tuple[int, int], ...] = ()
    judge_noise: float = 0.0
    repetitions: int = 2000
    seed: int = 0

    def drawn(self, rng: np.random.Generator) -> Rates:
        shape = (self.repetitions, self.tasks)
        if self.rates:
            return rng.choice(np.array(self.rates, dtype=np.float64), shape)
        half = SPREAD[self.noise] / 2
        if not (self.seen or half):
            return rng.integers(2, size=shape).astype(np.float64)
        # What was seen of a task leaves a Beta distribution of its chance, under a uniform prior as in `stats`.
        likely = [(passes + 1.0, of - passes + 1.0) for passes, of in self.seen] or [(half, half)]
        of_each = np.array(likely, dtype=np.float64)[rng.integers(len(likely), size=shape)]
        return rng.beta(of_each[..., 0], of_each[..., 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a gate does in one night. None: the gate has no such thing, or no rule could be so helpful.

    `power` is for rules that help every task a little, `power_concentrated` for those that mend some tasks outright.
    `smallest_effect` is adopted four times in five. `helpful_if_adopted` is the share of truly helpful rules among the
    adopted, where of those that are tried 15 % help by 20 points and 15 % harm by 10.
    """

    null_adoption: float
    null_draft: float | None
    power: dict[str, float | None]
    power_concentrated: dict[str, float | None]
    smallest_effect: float | None
    harmful_adoption: float
    helpful_if_adopted: float | None
    rollouts_per_night: float


def figures(world: World, name: str, rules: Gate) -> Figures:
    """The figures of the gate `name`, one of `GATES`. The same world and seed give the same figures."""

    def tried(effect: Effect) -> Found:
        # The same seed for every effect: what differs is the effect alone.
        rng = np.random.default_rng(world.seed)
        base = world.drawn(rng)
        return GATES[name](Nights(base, effect(base), world.judge_noise, rng), rules)

    @cache
    def power(points: int, kind: Callable[[Rates, float], Rates] = shifted) -> float | None:
        return tried(lambda base: kind(base, points / 100)).adoption if points < room else None

    passing = float(world.drawn(np.random.default_rng(world.seed)).mean())
    room = 100 * (1 - passing)
    null = tried(lambda base: base)
    harm = max(HARMFUL / 100, -passing / 2)  # where little passes, little is to be lost
    harmful = tried(lambda base: shifted(base, harm)).adoption
    return Figures(
        null_adoption=null.adoption,
        null_draft=null.drafts,
        power={f"+{points}": power(points) for points in POINTS},
        power_concentrated={f"+{points}": power(points, mended) for points in POINTS},
        smallest_effect=_smallest(power, room),
        harmful_adoption=harmful,
        helpful_if_adopted=_helpful_share(power(HELPFUL), harmful, null.adoption),
        rollouts_per_night=null.rollouts,
    )


def _smallest(power: Callable[[int], float | None], room: float) -> float | None:
    """By bisection over steps, and between two of them along a line, to the point."""
    steps = [points for points in STEPS if points < room]
    at = bisect_left(steps, DETECTED, key=lambda points: power(points) or 0.0)
    if at in (0, len(steps)):
        return STEPS[0] / 100 if steps and at == 0 else None
    below, above = steps[at - 1], steps[at]
    return round(float(np.interp(DETECTED, [power(below) or 0.0, power(above) or 0.0], [below, above]))) / 100


def _helpful_share(helpful: float | None, harmful: float, null: float) -> float | None:
    if helpful is None:
        return None
    adopted = SHARE_HELPFUL * helpful + SHARE_HARMFUL * harmful + (1 - SHARE_HELPFUL - SHARE_HARMFUL) * null
    return SHARE_HELPFUL * helpful / adopted if adopted else None


# --- effects -----------------------------------------------------------------------------------------------------


def shifted(base: Rates, gain: float) -> Rates:
    """Every task passes more often, by the same step of its logit; over all of them by `gain`."""
    logits = np.log(np.clip(base, _EDGE, 1 - _EDGE)) - np.log(np.clip(1 - base, _EDGE, 1 - _EDGE))
    wanted = base.mean() + gain
    low, high = -40.0, 40.0
    while high - low > _EDGE:
        step = (low + high) / 2
        low, high = (step, high) if _chance(logits + step).mean() < wanted else (low, step)
    return _chance(logits + high)


def _chance(logits: Rates) -> Rates:
    return np.asarray(1 / (1 + np.exp(-logits)), dtype=np.float64)


def mended(base: Rates, gain: float) -> Rates:
    """Some tasks, whichever, pass nearly always, and the others as before; over all of them by `gain` more often.

    Where mending all gains less than that, all are mended.
    """
    best = np.maximum(base, _MENDED)
    share = gain / max(float((best - base).mean()), _EDGE)
    # Which ones is drawn from a fixed seed of its own: tasks are in no order, and the other draws stay as they are.
    chosen = np.random.default_rng(base.size).random(base.shape) < share
    return np.where(chosen, best, base)


# --- nights ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answers:
    """By repetition, task and rollout: whether it counts as passed, and the judge's soft score."""

    hard: NDArray[np.bool_]
    soft: NDArray[np.float64]

    @property
    def mixed(self) -> NDArray[np.float64]:
        return np.asarray(self.hard / 2 + self.soft / 2, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Nights:
    """Many nights, in each of which one candidate is tried. Whenever a gate asks, an arm answers afresh."""

    base_rates: Rates
    cand_rates: Rates
    judge_noise: float
    rng: np.random.Generator

    @property
    def tasks(self) -> int:
        return int(self.base_rates.shape[1])

    def base(self, times: int) -> Answers:
        return self._answers(self.base_rates, times)

    def cand(self, times: int) -> Answers:
        return self._answers(self.cand_rates, times)

    def _answers(self, rates: Rates, times: int) -> Answers:
        passed = self.rng.random((*rates.shape, times)) < rates[..., np.newaxis]
        soft = np.where(passed, _PASSED, _FAILED)
        if self.judge_noise:
            soft += self.rng.normal(0, self.judge_noise, soft.shape)
        return Answers(soft >= _CUT, soft)


@dataclass(frozen=True, slots=True)
class Found:
    """What a gate did in those nights: the share of candidates adopted, and left as drafts; and mean rollouts."""

    adoption: float
    rollouts: float
    drafts: float | None = None


# --- the shipped gates -------------------------------------------------------------------------------------------

Counts: TypeAlias = NDArray[np.int64]  # by task: passes under base, under candidate, pairs up, all pairs


@dataclass(frozen=True, slots=True)
class Pairs:
    """What each task would answer in one night: in its first pairs, in the others, and if it seems to get worse."""

    first: Counts
    others: Counts
    again: Counts


@dataclass(frozen=True, slots=True)
class Known:
    """The pairs of a trial so far: of the tasks that need the rule, and of its guard."""

    primary: Counts
    guard: Counts


NOTHING: Counts = np.zeros((0, 4), dtype=np.int64)


def _evidence(nights: Nights, rules: Gate) -> Found:
    start = Known(np.zeros((nights.tasks, 4), dtype=np.int64), NOTHING)
    ruled = [night(tried, rules, before=start) for tried in pairs(nights, rules)]
    return Found(
        adoption=_share([weighed.verdict == "strong" for weighed, _ in ruled]),
        rollouts=float(np.mean([2 * known.primary[:, 3].sum() for _, known in ruled])),
        drafts=_share([weighed.verdict == "suggestive" for weighed, _ in ruled]),
    )


def pairs(nights: Nights, rules: Gate) -> list[Pairs]:
    """For each of the nights."""
    ends = (0, FIRST_PAIRS, rules.rollouts, rules.rollouts + SUSPECT_OF)
    base, cand = nights.base(ends[-1]).hard, nights.cand(ends[-1]).hard
    stages = [_counts(base[..., start:end], cand[..., start:end]) for start, end in pairwise(ends)]
    return [Pairs(*stage) for stage in zip(*stages, strict=True)]


def _counts(base: NDArray[np.bool_], cand: NDArray[np.bool_]) -> Counts:
    """By repetition and task."""
    of = np.full(base.shape[:2], base.shape[2])
    return np.stack((base.sum(2), cand.sum(2), (cand & ~base).sum(2), of), axis=2)


def unguarded() -> Pairs:
    return Pairs(NOTHING, NOTHING, NOTHING)


def night(
    tried: Pairs, rules: Gate, *, before: Known, guard: Callable[[], Pairs] = unguarded, nights: int = 1
) -> tuple[Weighed, Known]:
    """What a trial decides after one more night, as a run takes it (`pairing`), and all its pairs by then.

    The guard is asked only where a benefit is in sight.
    """
    tonight = tried.first if _futile(_in_order(tried.first)) else tried.first + tried.others
    known = Known(before.primary + tonight, before.guard)
    weighed = _ruled(known, rules, nights)
    if weighed.verdict in BENEFIT:
        told = guard()
        asked = told.first + told.others
        guarded = before.guard + asked if len(before.guard) else asked
        known = Known(_suspected(known.primary, tried.again), _suspected(guarded, told.again))
        weighed = _ruled(known, rules, nights)
    return weighed, known


def _suspected(counts: Counts, again: Counts) -> Counts:
    """With the pairs on which tasks that seem to have got worse are measured again."""
    worse = [_suspect(*counted) for counted in counts.tolist()]
    return np.where(np.array(worse)[:, np.newaxis], counts + again, counts) if any(worse) else counts


@cache
def _suspect(base: int, cand: int, up: int, of: int) -> bool:
    return bool(suspects([_task("", base, cand, up, of)]))


_Ordered: TypeAlias = tuple[tuple[int, ...], ...]


def _in_order(counts: Counts) -> _Ordered:
    """Tasks are in no order: equal counts are decided once."""
    return tuple(sorted(map(tuple, counts.tolist())))


@lru_cache(maxsize=200_000)
def _futile(counts: _Ordered) -> bool:
    return futile(_measured(counts))


def _ruled(known: Known, rules: Gate, nights: int) -> Weighed:
    return _weighed(_in_order(known.primary), _in_order(known.guard), rules, nights)


@lru_cache(maxsize=50_000)
def _weighed(primary: _Ordered, guard: _Ordered, rules: Gate, nights: int) -> Weighed:
    return weigh(_measured(primary), _measured(guard, "guard "), gate=rules, nights=nights)


def _measured(counts: Iterable[Sequence[int]], prefix: str = "") -> list[Measured]:
    """Tasks with these counts, each of another session."""
    return [_task(f"{prefix}{at}", *counted) for at, counted in enumerate(counts)]


@cache
def _task(name: str, base: int, cand: int, up: int, of: int) -> Measured:
    both = cand - up
    down = base - both
    neither = of - both - up - down
    return Measured(
        task=name,
        base=(1,) * both + (0,) * up + (1,) * down + (0,) * neither,
        cand=(1,) * both + (1,) * up + (0,) * down + (0,) * neither,
        group=name,
    )


def _strict(nights: Nights, rules: Gate) -> Found:
    """Every win counts as adopted, though with a model that varies it is called suggestive only."""
    arms = (nights.base(1), nights.cand(1))
    scores = [np.concatenate([arm.hard, arm.soft], axis=2).tolist() for arm in arms]
    verdicts = [_strictly(base, cand, rules) for base, cand in zip(*scores, strict=True)]
    return Found(_share([verdict == "suggestive" for verdict in verdicts]), 2 * nights.tasks)


def _strictly(base: Sequence[Sequence[float]], cand: Sequence[Sequence[float]], rules: Gate) -> Verdict:
    pairs = [
        Pair(
            task=str(at),
            family=None,
            need=None,
            base=Score(hard=before[0], soft=before[1]),
            cand=Score(hard=after[0], soft=after[1]),
        )
        for at, (before, after) in enumerate(zip(base, cand, strict=True))
    ]
    return gate.strict(pairs, gate=rules, deterministic=False).verdict


def _share(holds: Sequence[bool]) -> float:
    return sum(holds) / len(holds)


# --- gates in use elsewhere --------------------------------------------------------------------------------------


def _skillopt_sleep(nights: Nights, _: Gate) -> Found:
    """A skill candidate against the base, then a memory candidate against the better of them: the greater mean wins.

    So something is adopted where either beats the base.
    """
    base, skill, memory = (
        answers.mixed.mean(axis=(1, 2)) for answers in (nights.base(1), nights.cand(1), nights.cand(1))
    )
    return Found(float((np.maximum(skill, memory) > base + _TIE).mean()), 3 * nights.tasks)


def _gbrain_median(nights: Nights, _: Gate) -> Found:
    """The mean of each task's median of three soft scores has to rise by more than 0.05."""
    base, cand = (
        np.median(answers.soft, axis=2).mean(axis=1) for answers in (nights.base(_MEDIAN_OF), nights.cand(_MEDIAN_OF))
    )
    return Found(float((cand - base > _MARGIN + _TIE).mean()), 2 * _MEDIAN_OF * nights.tasks)


def _one_standard_error(nights: Nights, _: Gate) -> Found:
    """The mean of the tasks' changes, over five pairs each, has to be more than its standard error."""
    change = nights.cand(_ONE_ERROR_PAIRS).hard.mean(axis=2) - nights.base(_ONE_ERROR_PAIRS).hard.mean(axis=2)
    error = change.std(axis=1, ddof=1) / np.sqrt(nights.tasks) if nights.tasks > 1 else np.zeros(len(change))
    return Found(float((change.mean(axis=1) > error + _TIE).mean()), 2 * _ONE_ERROR_PAIRS * nights.tasks)


GATES: Mapping[str, Callable[[Nights, Gate], Found]] = {
    "evidence": _evidence,
    "strict": _strict,
    "skillopt_sleep": _skillopt_sleep,
    "gbrain_median": _gbrain_median,
    "one_standard_error": _one_standard_error,
}
