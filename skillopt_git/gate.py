"""The gate: whether held-out tasks show that a candidate helps. Pure arithmetic over pairs of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean
from typing import assert_never

from skillopt_git.config import Gate
from skillopt_git.model import Pair, Score, Verdict

TOLERANCE = 1e-9  # two means closer than this are equal: they differ by rounding only


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict and why; the two means are None where nothing was measured, or nothing that counts."""

    verdict: Verdict
    why: str
    baseline: float | None
    candidate: float | None


def metric(score: Score, gate: Gate) -> float:
    match gate.metric:
        case "hard":
            return score.hard
        case "soft":
            return score.soft
        case "mixed":
            return (1 - gate.mixed_weight) * score.hard + gate.mixed_weight * score.soft
        case _:
            assert_never(gate.metric)


def mean(scores: Sequence[Score | None], gate: Gate) -> float | None:
    """The mean over what was measured; a missing measurement is not a zero."""
    values = [metric(score, gate) for score in scores if score is not None]
    return fmean(values) if values else None


def ungated() -> Decision:
    return Decision("ungated", "the gate is off: nothing was proven", None, None)


def regressions(pairs: Sequence[Pair], gate: Gate) -> tuple[Pair, ...]:
    """The tasks that the candidate made worse."""
    return tuple(pair for pair, base, cand in _both(pairs, gate) if cand < base - TOLERANCE)


def strict(pairs: Sequence[Pair], *, gate: Gate, deterministic: bool, golden: Sequence[Pair] = ()) -> Decision:
    """Whether the candidate's mean is greater than the base's, over the tasks measured under both.

    `deterministic` says that the target and every judge used are: without it a win is a suggestion. `golden` are the
    pairs of tasks that veto what makes them worse; they count for the mean only where they are among `pairs` too.
    """
    if not pairs:
        return Decision("unverified", "no held-out task could judge it", None, None)
    flaw = _not_finite((*pairs, *(pair for pair in golden if pair not in pairs)), gate) or _uncovered(pairs)
    if flaw:
        return Decision("invalid", flaw, None, None)
    both = _both(pairs, gate)
    baseline = fmean(base for _, base, _ in both)
    candidate = fmean(cand for _, _, cand in both)
    verdict, why = _compared(baseline, candidate, deterministic)
    if gate.no_regression:
        verdict, why = _without_regression(pairs, gate, (verdict, why))
    verdict, why = _without_veto(golden, gate, (verdict, why))
    numbers = f"{gate.metric} {baseline:.3f} -> {candidate:.3f} on {_tasks(len(both))}"
    return Decision(verdict, f"{why} ({numbers})", baseline, candidate)


def _both(pairs: Sequence[Pair], gate: Gate) -> list[tuple[Pair, float, float]]:
    """The pairs measured on both sides, with the two values."""
    return [
        (pair, metric(pair.base, gate), metric(pair.cand, gate))
        for pair in pairs
        if pair.base is not None and pair.cand is not None
    ]


def _compared(baseline: float, candidate: float, deterministic: bool) -> tuple[Verdict, str]:
    if candidate > baseline + TOLERANCE:
        return ("strong", "the mean rose") if deterministic else ("suggestive", "the mean rose, which may be chance")
    if candidate < baseline - TOLERANCE:
        return "harmful", "the mean fell"
    return "inconclusive", "the mean did not change"


def _without_regression(pairs: Sequence[Pair], gate: Gate, found: tuple[Verdict, str]) -> tuple[Verdict, str]:
    """A task that fell refuses the candidate; one that is missing may have fallen, so it cannot win either."""
    fallen = regressions(pairs, gate)
    if fallen:
        return "harmful", f"got worse: {_named(fallen)}"
    missing = [pair for pair in pairs if pair.base is None or pair.cand is None]
    if missing:
        return "inconclusive", f"not measured on both sides: {_named(missing)}"
    return found


def _without_veto(golden: Sequence[Pair], gate: Gate, found: tuple[Verdict, str]) -> tuple[Verdict, str]:
    """A golden task that fell refuses the candidate.

    One that is missing may have fallen: what would have won is then tried anew another night, as after any measurement
    that says too little. To call it inconclusive would park a good rule for one failed call.
    """
    fallen = regressions(golden, gate)
    if fallen:
        return "harmful", f"the golden task{_s(fallen)} {_named(fallen)} got worse"
    missing = [pair for pair in golden if pair.base is None or pair.cand is None]
    if missing and found[0] in ("strong", "suggestive"):
        return "invalid", f"the golden task{_s(missing)} {_named(missing)} could not be measured on both sides"
    return found


def _s(pairs: Sequence[Pair]) -> str:
    return "" if len(pairs) == 1 else "s"


def _not_finite(pairs: Sequence[Pair], gate: Gate) -> str | None:
    flawed = [pair for pair in pairs if not _finite(pair.base, gate) or not _finite(pair.cand, gate)]
    return f"a score is no finite number: {_named(flawed)}" if flawed else None


def _finite(score: Score | None, gate: Gate) -> bool:
    return score is None or isfinite(metric(score, gate))


def _uncovered(pairs: Sequence[Pair]) -> str | None:
    """Too much is missing: under 80 % measured in an arm, or more than 10 points between the arms."""
    count = len(pairs)
    base = sum(pair.base is not None for pair in pairs)
    cand = sum(pair.cand is not None for pair in pairs)
    if 10 * min(base, cand) < 8 * count or 10 * abs(base - cand) > count:
        return f"of {_tasks(count)}, {base} measured under the base and {cand} under the candidate: too few"
    return None


def _named(pairs: Sequence[Pair]) -> str:
    return ", ".join(pair.task for pair in pairs)


def _tasks(count: int) -> str:
    return f"{count} held-out task{'' if count == 1 else 's'}"
