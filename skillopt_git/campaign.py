"""What becomes of rules whose effect is known over the nights of their trials, not in one night alone.

A rule that is suggestive on its first night stays as a draft and is measured on: with pairs of its own each night, all
of them pooled, until the shipped gate proves it or gives it up, its tasks have been measured enough, or its nights are
over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Literal, TypeAlias

import numpy as np

from skillopt_git.config import Gate
from skillopt_git.simulation import (
    HARMFUL,
    NOTHING,
    POINTS,
    Counts,
    Effect,
    Known,
    Nights,
    Pairs,
    Rates,
    World,
    night,
    pairs,
    shifted,
)
from skillopt_git.weighing import FIRST_PAIRS, Weighed

WEEK = 7  # nights
HARMS = (-10, -20, -30)  # points, on every task of the guard

# `never`: no draft after its first night. `left`: given up, found harmful, or parked without a benefit in sight.
# `waits`: a draft whose tasks were measured enough, and no other has come. `undecided`: its nights are over.
End: TypeAlias = Literal["adopted", "never", "left", "waits", "undecided"]


@dataclass(frozen=True, slots=True)
class Course:
    """How one trial ended, on which of its nights, and what was known then."""

    end: End
    nights: int
    weighed: Weighed

    @property
    def draft(self) -> bool:
        """Whether its first night left it as one."""
        return self.end != "never" and not (self.end == "adopted" and self.nights == 1)

    @property
    def open(self) -> bool:
        """Whether it is a draft still when its nights are over."""
        return self.end in ("waits", "undecided")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """How often tasks pass, under the base and under the candidate: those the rule has on its first night and those of
    which some come later, in this order; and those of the guard."""

    base: Rates
    cand: Rates
    guard: Rates
    guard_cand: Rates


def course(
    chances: Chances, rules: Gate, rng: np.random.Generator, *, tasks: int, fresh: int = 0, judge_noise: float = 0.0
) -> Course:
    """One trial of a rule that has `tasks` held-out tasks tonight and `fresh` more each later night."""

    def answers(base: Rates, cand: Rates) -> Pairs:
        (told,) = pairs(Nights(base[np.newaxis], cand[np.newaxis], judge_noise, rng), rules)
        return told

    known = Known(_unmeasured(tasks), NOTHING)
    at, weighed = 0, Weighed("unverified", "", {})
    while at < rules.nights:
        has_room = known.primary[:, 3] < rules.pairs
        if not has_room.any():
            return Course("waits", at, weighed)
        at += 1
        there = len(known.primary)
        tried = _only(has_room, answers(chances.base[:there], chances.cand[:there]))
        weighed, known = night(
            tried, rules, before=known, guard=lambda: answers(chances.guard, chances.guard_cand), nights=at
        )
        end = _end(weighed, at)
        if end is not None:
            return Course(end, at, weighed)
        if weighed.verdict == "inconclusive" and not (known.primary[:, 3] < rules.pairs).any():
            return Course("left", at, weighed)
        known = Known(np.concatenate((known.primary, _unmeasured(fresh))), known.guard)
    return Course("undecided", at, weighed)


def _unmeasured(tasks: int) -> Counts:
    return np.zeros((tasks, 4), dtype=np.int64)


def _only(has_room: np.ndarray[tuple[int], np.dtype[np.bool_]], tried: Pairs) -> Pairs:
    """What was measured enough is not asked again."""
    asked = has_room[:, np.newaxis]
    return Pairs(tried.first * asked, tried.others * asked, tried.again * asked)


def _end(weighed: Weighed, at: int) -> End | None:
    """As `placing` has it: a draft stays on its branch until it is proven, harmful, closed or parked."""
    if weighed.verdict == "strong":
        return "adopted"
    if at == 1 and weighed.verdict != "suggestive":
        return "never"
    return "left" if weighed.verdict == "harmful" or weighed.closed else None


# --- many of them ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """What becomes of rules within the nights of a trial, where `fresh` more tasks come each night. Shares are of 1.

    Nights of a draft are those until it was adopted or given up, or all there are. None: there was no draft, or no rule
    could be so helpful.
    """

    fresh: int
    null_adopted: float
    null_draft_nights_median: float | None
    null_draft_nights_mean: float | None
    null_draft_open: float | None
    harmful_adopted: float
    adopted_first: dict[str, float | None]
    adopted_week: dict[str, float | None]
    adopted: dict[str, float | None]


def prospect(world: World, rules: Gate, *, fresh: int = 0) -> Prospect:
    """The same world and seed give the same figures."""
    passing = float(world.drawn(np.random.default_rng(world.seed)).mean())

    def tried(points: float) -> list[Course] | None:
        if points / 100 >= 1 - passing:
            return None
        return courses(world, rules, lambda base: shifted(base, points / 100), fresh=fresh)

    null = courses(world, rules, lambda base: base, fresh=fresh)
    helped = {f"+{points}": tried(points) for points in POINTS}
    drafts = [item for item in null if item.draft]
    lasted = [rules.nights if item.open else item.nights for item in drafts]
    return Prospect(
        fresh=fresh,
        null_adopted=_adopted(null, rules.nights) or 0.0,
        null_draft_nights_median=float(median(lasted)) if lasted else None,
        null_draft_nights_mean=fmean(lasted) if lasted else None,
        null_draft_open=fmean(item.open for item in drafts) if drafts else None,
        harmful_adopted=_adopted(tried(max(HARMFUL, -50 * passing)), rules.nights) or 0.0,
        adopted_first={effect: _adopted(told, 1) for effect, told in helped.items()},
        adopted_week={effect: _adopted(told, WEEK) for effect, told in helped.items()},
        adopted={effect: _adopted(told, rules.nights) for effect, told in helped.items()},
    )


def _adopted(told: Sequence[Course] | None, nights: int) -> float | None:
    """The share adopted by that night."""
    return None if told is None else fmean(item.end == "adopted" and item.nights <= nights for item in told)


def courses(world: World, rules: Gate, effect: Effect, *, fresh: int = 0) -> list[Course]:
    """A trial for each repetition; the rule changes the tasks that need it, and no other."""
    rng = np.random.default_rng(world.seed)
    in_all = world.tasks + fresh * (rules.nights - 1)
    base, guard = (replace(world, tasks=tasks).drawn(rng) for tasks in (in_all, rules.guard))
    cand = effect(base)
    return [
        course(
            Chances(base=base[at], cand=cand[at], guard=guard[at], guard_cand=guard[at]),
            rules,
            rng,
            tasks=world.tasks,
            fresh=fresh,
            judge_noise=world.judge_noise,
        )
        for at in range(world.repetitions)
    ]


# --- the guard ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarding:
    """The share of rules that the guard refuses in one night: of those that change no other task, and of those that
    make each of them pass less often by so many points. None: so much is not there to be lost."""

    false_alarm: float
    finds: dict[str, float | None]


def guarding(world: World, rules: Gate) -> Guarding:
    """What a guard of `gate.guard` tasks finds where the rule is good for its own tasks."""
    others = replace(world, tasks=rules.guard)

    def refused(points: int) -> float | None:
        rng = np.random.default_rng(world.seed)
        base = others.drawn(rng)
        if base.mean() < -points / 100:
            return None
        tried = pairs(Nights(base, shifted(base, points / 100) if points else base, world.judge_noise, rng), rules)
        return fmean(_refused(told, rules) for told in tried)

    return Guarding(false_alarm=refused(0) or 0.0, finds={f"{points}": refused(points) for points in HARMS})


def _refused(guard: Pairs, rules: Gate) -> bool:
    """Whether a rule that mends its own three tasks is refused for what these others do."""
    first, others, again = (_mended(count) for count in (FIRST_PAIRS, rules.rollouts - FIRST_PAIRS, 0))
    start = Known(_unmeasured(len(first)), NOTHING)
    weighed, _ = night(Pairs(first, others, again), rules, before=start, guard=lambda: guard)
    return weighed.verdict == "harmful"


def _mended(count: int) -> Counts:
    return np.array([[0, count, count, count]] * 3, dtype=np.int64)
