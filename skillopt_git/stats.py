"""The statistics of few held-out tasks: exact tests, e-values, and estimates that do not flatter. Pure functions.

A task is measured `base` times under the base and `cand` times under the candidate; its passes are counted in each arm.
Pairs that differ are *discordant*: *up* where only the candidate passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, prod, sqrt
from statistics import NormalDist, fmean

PRIOR_SD = 0.10  # of true effects, as a share of tasks passed: what learned rules do is seldom more
_WIDTH = NormalDist().inv_cdf(0.975)  # of a 95 % interval, in standard deviations to each side


@dataclass(frozen=True, slots=True)
class Arms:
    """The passes of one task out of the times it was measured, in each arm."""

    base: int
    base_of: int
    cand: int
    cand_of: int

    @property
    def change(self) -> float:
        """The share passed under the candidate less that under the base."""
        return self.cand / self.cand_of - self.base / self.base_of


# --- tests -------------------------------------------------------------------------------------------------------


@cache
def e_value(up: int, discordant: int) -> float:
    """How many times better a candidate that helps explains `up` of `discordant` pairs than one that does nothing.

    The mixture of all chances of "up" from a half to one against at most a half, even odds over them. Under "does not
    help" its mean is at most 1, however often one looks (Ville), so that 1/20 of nulls ever reach 20.
    """
    if not 0 <= up <= discordant:
        raise ValueError(f"{up} of {discordant} pairs")
    below = sum(comb(discordant + 1, at) for at in range(up + 1))
    return below / ((discordant + 1) * comb(discordant, up))


def stratified_p(tasks: Sequence[Arms]) -> float:
    """The chance of as many passes under the candidate, or more, if arms were exchanged at random within each task.

    The exact conditional test, task by task as strata; 1.0 where nothing could differ.
    """
    in_all = prod([comb(task.base_of + task.cand_of, task.base + task.cand) for task in tasks])
    digit = in_all.bit_length() + 1  # bits that hold any number of ways
    ways, reached = 1, 0  # a digit for each number of passes: in the product, passes are added and ways multiplied
    for task in tasks:
        own, least = _ways(task.base_of, task.cand_of, task.base + task.cand)
        ways *= sum([count << at * digit for at, count in enumerate(own)])
        reached += task.cand - least
    as_many = (ways >> reached * digit) % ((1 << digit) - 1)  # the sum of the digits, as in casting out nines
    return as_many / in_all


@cache
def _ways(base_of: int, cand_of: int, passes: int) -> tuple[tuple[int, ...], int]:
    """To deal out a task's answers, by the candidate's passes; and the least of these."""
    least, most = max(0, passes - base_of), min(cand_of, passes)
    return tuple(comb(cand_of, at) * comb(base_of, passes - at) for at in range(least, most + 1)), least


@cache  # of each task that was measured often enough, whenever a verdict is asked for
def fisher_p(task: Arms) -> float:
    """The chance of as few passes under the candidate, or fewer (Fisher's exact test, one-sided)."""
    return stratified_p([Arms(task.cand, task.cand_of, task.base, task.base_of)])


# --- estimates ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimate:
    """A change of the share passed: as seen, drawn towards nothing by how little is known, and where it may lie.

    All in shares of 1; `low` and `high` are the 95 % credible interval under a prior around zero.
    """

    seen: float
    shrunk: float
    low: float
    high: float


def estimate(tasks: Sequence[Arms]) -> Estimate:
    """The mean change over the tasks. Raises ValueError without tasks."""
    if not tasks:
        raise ValueError("nothing was measured")
    seen = fmean([task.change for task in tasks])
    error = _squared_error(tasks)
    shrunk = seen * PRIOR_SD**2 / (PRIOR_SD**2 + error)
    spread = _WIDTH * sqrt(1 / (1 / PRIOR_SD**2 + 1 / error))
    return Estimate(seen, shrunk, shrunk - spread, shrunk + spread)


def _squared_error(tasks: Sequence[Arms]) -> float:
    """Of the mean change: what rollouts vary within a task, or what tasks vary among themselves, whichever is more.

    A task that always passed may still fail once in a while: shares are those of a uniform prior (Laplace).
    """
    within = fmean([_varies(task.base, task.base_of) + _varies(task.cand, task.cand_of) for task in tasks])
    changes = [task.change for task in tasks]
    mean = fmean(changes)
    among = sum([(change - mean) ** 2 for change in changes]) / max(1, len(tasks) - 1)
    return max(within, among) / len(tasks)


@cache
def _varies(passes: int, of: int) -> float:
    share = (passes + 1) / (of + 2)
    return share * (1 - share) / of


def discordant(pairs: Iterable[tuple[bool, bool]]) -> tuple[int, int]:
    """(up, all) of the pairs that differ."""
    differing = [cand for base, cand in pairs if base != cand]
    return sum(differing), len(differing)


@cache
def unseen_regressions(tasks: int) -> float:
    """The share of tasks that may get worse though none of `tasks` did (95 %)."""
    return float(1 - 0.05 ** (1 / tasks)) if tasks else 1.0


def smallest_gain(tasks: int) -> float | None:
    """The gain, as a share of 1, that the gate `evidence` proves in four nights of five on so many tasks; None where no
    gain is. Of one night under the default settings and medium noise, as `simulate --tasks N` tells it."""
    known = [count for count in _SMALLEST if count <= tasks]
    return _SMALLEST[max(known)] if known else None


_SMALLEST = {5: 0.41, 6: 0.38, 8: 0.32, 10: 0.29, 12: 0.26, 16: 0.23, 20: 0.21}
