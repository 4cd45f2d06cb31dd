from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.config import Gate
from skillopt_git.gate import Decision, mean, metric, regressions, strict, ungated
from skillopt_git.model import Metric, Pair, Score

SOFT = Gate(metric="soft")
CAREFUL = Gate(metric="soft", no_regression=True)


def score(value: float | None) -> Score | None:
    return None if value is None else Score(hard=float(value >= 1), soft=value)


def pairs(*values: tuple[float | None, float | None]) -> list[Pair]:
    """Tasks t0, t1, ... with the soft scores under the base and under the candidate."""
    return [
        Pair(task=f"t{at}", family=None, need=None, base=score(base), cand=score(cand))
        for at, (base, cand) in enumerate(values)
    ]


def judged(*values: tuple[float | None, float | None], gate: Gate = SOFT, deterministic: bool = True) -> Decision:
    return strict(pairs(*values), gate=gate, deterministic=deterministic)


# --- numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "weight", "value"),
    [("hard", 0.5, 0.0), ("soft", 0.5, 0.8), ("mixed", 0.5, 0.4), ("mixed", 0.25, 0.2), ("mixed", 1.0, 0.8)],
)
def test_metric(name: Metric, weight: float, value: float) -> None:
    """`hard`, `soft`, or `mixed` by the weight of `soft`."""
    assert metric(Score(hard=0, soft=0.8), Gate(metric=name, mixed_weight=weight)) == pytest.approx(value)


def test_mean_leaves_out_what_is_missing() -> None:
    """A missing score is no zero, and a mean over nothing is no number."""
    assert mean([score(0.5), None, score(1.0)], SOFT) == 0.75
    assert mean([None], SOFT) is None
    assert mean([], SOFT) is None


# --- verdicts ----------------------------------------------------------------------------------------------------


def test_greater_mean_wins() -> None:
    """A win is strong where nothing was left to chance, and a suggestion otherwise."""
    assert judged((0, 1), (0, 0)) == Decision(
        "strong", "the mean rose (soft 0.000 -> 0.500 on 2 held-out tasks)", 0.0, 0.5
    )
    assert judged((0, 1), deterministic=False).verdict == "suggestive"


def test_tie_does_not_win() -> None:
    """Equal means say nothing, also where they differ by rounding."""
    assert judged((0, 1), (1, 0)).verdict == "inconclusive"
    assert judged((0.1, 0.3), (0.2, 0.0), (0.3, 0.3)).verdict == "inconclusive"
    assert judged((0.1 + 0.2, 0.3)).verdict == judged((0.3, 0.1 + 0.2)).verdict == "inconclusive"


def test_smaller_mean_is_harmful() -> None:
    """A fall is harm however it was measured."""
    assert judged((1, 0.5)) == Decision("harmful", "the mean fell (soft 1.000 -> 0.500 on 1 held-out task)", 1.0, 0.5)
    assert judged((1, 0.5), deterministic=False).verdict == "harmful"


def test_metric_decides_what_is_compared() -> None:
    """A gain in `soft` alone is a tie for `hard`."""
    assert judged((0.2, 0.9), gate=Gate(metric="hard")).verdict == "inconclusive"
    assert judged((0.2, 0.9), gate=Gate(metric="mixed")).verdict == "strong"


def test_nothing_held_out_is_unverified() -> None:
    """Without held-out tasks nothing is known, and no number is made up."""
    assert judged() == Decision("unverified", "no held-out task could judge it", None, None)


def test_gate_off_proves_nothing() -> None:
    """The decision of a gate that is off has no numbers."""
    assert (ungated().verdict, ungated().baseline, ungated().candidate) == ("ungated", None, None)


@pytest.mark.parametrize("bad", [nan, inf, -inf])
@pytest.mark.parametrize("gate", [SOFT, Gate(metric="mixed"), CAREFUL])
def test_what_is_no_number_never_wins(bad: float, gate: Gate) -> None:
    """NaN and infinities make the measurement invalid on either side, and the task is named."""
    for found in (judged((0, 1), (0, bad), gate=gate), judged((0, 1), (bad, 1), gate=gate)):
        assert (found.verdict, found.baseline, found.candidate) == ("invalid", None, None)
        assert "t1" in found.why


# --- what is missing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing_base", "missing_cand", "verdict"),
    [
        (0, 0, "strong"),
        (2, 2, "strong"),
        (1, 2, "strong"),
        (0, 1, "strong"),
        (0, 2, "invalid"),
        (2, 0, "invalid"),
        (3, 3, "invalid"),
        (2, 3, "invalid"),
        (10, 10, "invalid"),
    ],
)
def test_coverage(missing_base: int, missing_cand: int, verdict: str) -> None:
    """Ten tasks: at least eight measured under each, and at most one more under one than under the other."""
    found = judged(*((None if at < missing_base else 0, None if at < missing_cand else 1) for at in range(10)))
    assert found.verdict == verdict
    assert (found.baseline is None) == (found.candidate is None) == (verdict == "invalid")


def test_means_are_over_the_tasks_measured_on_both_sides() -> None:
    """A task that lacks one side moves neither mean."""
    found = judged((None, 1), *[(0.5, 0.5)] * 8, (0.0, None))
    assert (found.verdict, found.baseline, found.candidate) == ("inconclusive", 0.5, 0.5)


# --- no regression -----------------------------------------------------------------------------------------------


def test_regressions_are_the_tasks_that_fell() -> None:
    """A task that lacks a side has neither risen nor fallen."""
    found = regressions(pairs((0.5, 1), (0.91, 0.82), (1, None), (None, 0), (1, 1)), SOFT)
    assert [pair.task for pair in found] == ["t1"]


def test_gain_hides_a_regression_only_where_that_is_allowed() -> None:
    """With `no_regression` one fallen task refuses a candidate whose mean rose, and is named."""
    assert judged((0.5, 1), (0.91, 0.82)).verdict == "strong"
    found = judged((0.5, 1), (0.91, 0.82), gate=CAREFUL)
    assert found.verdict == "harmful"
    assert found.why.startswith("got worse: t1 (")


def test_no_regression_needs_every_task() -> None:
    """A missing task may have fallen, so nothing is won; what is known to have fallen is still harm."""
    rising = [(0.0, 1.0)] * 9
    found = judged(*rising, (1, None), gate=CAREFUL)
    assert found.verdict == "inconclusive"
    assert found.why.startswith("not measured on both sides: t9 (")
    assert judged(*rising, (None, 1), gate=CAREFUL).verdict == "inconclusive"
    assert judged(*rising[1:], (1, 0), (1, None), gate=CAREFUL).verdict == "harmful"


def test_no_regression_lets_a_clean_gain_pass() -> None:
    """A gate that refuses everything would be safe and useless."""
    assert judged((0, 1), (1, 1), gate=CAREFUL).verdict == "strong"


# --- golden tasks ------------------------------------------------------------------------------------------------


def golden(*values: tuple[float | None, float | None]) -> list[Pair]:
    return [
        Pair(task=f"g{at}", family=None, need=None, base=score(base), cand=score(cand))
        for at, (base, cand) in enumerate(values)
    ]


def vetoed(*values: tuple[float | None, float | None], deterministic: bool = True) -> Decision:
    """A clear win on the held-out tasks beside these golden ones."""
    return strict(pairs((0, 1), (0, 1)), gate=SOFT, deterministic=deterministic, golden=golden(*values))


def test_a_golden_task_that_fell_refuses_what_helps_all_others() -> None:
    """The verdict names it, and the means stay those of the held-out tasks."""
    assert vetoed((1, 1), (1, 0.5)) == Decision(
        "harmful", "the golden task g1 got worse (soft 0.000 -> 1.000 on 2 held-out tasks)", 0.0, 1.0
    )
    assert "the golden tasks g0, g1 got worse" in vetoed((1, 0), (0.5, 0.4), deterministic=False).why


def test_a_golden_task_as_good_as_before_changes_nothing() -> None:
    """Equal, better, or different by rounding only."""
    for values in ((1, 1), (0, 1), (0.3, 0.1 + 0.2), (0.1 + 0.2, 0.3)):
        assert vetoed(values) == vetoed()


def test_a_golden_task_that_is_missing_lets_nothing_win() -> None:
    """It may have fallen: what would have won is measured again, and what did not win is what it was."""
    for values in ((None, 1), (1, None), (None, None)):
        assert (vetoed(values).verdict, vetoed(values, deterministic=False).verdict) == ("invalid", "invalid")
        assert "the golden task g0 could not be measured on both sides" in vetoed(values).why
        tie = strict(pairs((1, 1)), gate=SOFT, deterministic=True, golden=golden(values))
        assert tie.verdict == "inconclusive"
    assert vetoed((None, 1), (1, 0)).verdict == "harmful"


def test_a_golden_score_that_is_no_number_is_a_flaw_like_any_other() -> None:
    """Named once, also where the task is held out too."""
    assert vetoed((1, nan)).why == "a score is no finite number: g0"
    held_out = pairs((0, 1), (1, nan))
    found = strict(held_out, gate=SOFT, deterministic=True, golden=held_out[1:])
    assert (found.verdict, found.why) == ("invalid", "a score is no finite number: t1")


# --- properties --------------------------------------------------------------------------------------------------

VALUES = st.floats(0, 1)
MEASURED = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=12)
PARTLY = st.lists(st.tuples(st.none() | VALUES, st.none() | VALUES), max_size=12)
GATES = st.builds(Gate, metric=st.sampled_from(["hard", "soft", "mixed"]), mixed_weight=VALUES)


@given(PARTLY, GATES, st.booleans())
def test_swapping_the_arms_swaps_win_and_harm(
    values: list[tuple[float | None, float | None]], gate: Gate, deterministic: bool
) -> None:
    """The gate favours neither side: what wins one way harms the other way, and the rest is the same."""
    win = "strong" if deterministic else "suggestive"
    swapped = {win: "harmful", "harmful": win}
    found = judged(*values, gate=gate, deterministic=deterministic)
    back = judged(*((cand, base) for base, cand in values), gate=gate, deterministic=deterministic)
    assert back.verdict == swapped.get(found.verdict, found.verdict)
    assert (back.baseline, back.candidate) == (found.candidate, found.baseline)


@given(MEASURED, GATES, st.data())
def test_missing_call_counts_as_nothing(values: list[tuple[float, float]], gate: Gate, data: st.DataObject) -> None:
    """Losing one side of a task leaves the verdict of the others or none, never that of a zero."""
    at = data.draw(st.integers(0, len(values) - 1))
    side = data.draw(st.booleans())
    lost = [*values[:at], (None, values[at][1]) if side else (values[at][0], None), *values[at + 1 :]]
    rest = values[:at] + values[at + 1 :]
    found = judged(*lost, gate=gate)
    assert found.verdict in {"invalid", judged(*rest, gate=gate).verdict}


@given(MEASURED, GATES, st.booleans(), st.data())
def test_better_answers_never_hurt(
    values: list[tuple[float, float]], gate: Gate, careful: bool, data: st.DataObject
) -> None:
    """Raising a candidate's score never makes its verdict worse."""
    rank = ["harmful", "inconclusive", "strong"]
    gate = Gate(metric=gate.metric, mixed_weight=gate.mixed_weight, no_regression=careful)
    at = data.draw(st.integers(0, len(values) - 1))
    base, cand = values[at]
    better = [*values[:at], (base, data.draw(st.floats(cand, 1))), *values[at + 1 :]]
    before, after = judged(*values, gate=gate).verdict, judged(*better, gate=gate).verdict
    assert rank.index(after) >= rank.index(before)


@given(st.lists(VALUES, min_size=1), GATES, st.permutations(range(6)))
def test_the_same_scores_in_another_order_are_a_tie(values: list[float], gate: Gate, order: list[int]) -> None:
    """Which task went up and which down does not matter to the mean: no tie ever wins."""
    shuffled = [values[at % len(values)] for at in order]
    again = sorted(shuffled)
    assert judged(*zip(shuffled, again, strict=True), gate=gate).verdict == "inconclusive"


@given(MEASURED, PARTLY, GATES, st.booleans(), st.booleans(), st.data())
def test_no_candidate_that_lowers_a_golden_task_wins(
    values: list[tuple[float, float]],
    others: list[tuple[float | None, float | None]],
    gate: Gate,
    careful: bool,
    deterministic: bool,
    data: st.DataObject,
) -> None:
    """Whatever else it does to whatever other tasks; without a fall or a gap, golden tasks change nothing."""
    gate = Gate(metric=gate.metric, mixed_weight=gate.mixed_weight, no_regression=careful)
    held_out, guards = pairs(*values), golden(*others)
    at = data.draw(st.integers(0, len(values) - 1))
    chosen = (*guards, *([held_out[at]] if data.draw(st.booleans()) else []))
    found = strict(held_out, gate=gate, deterministic=deterministic, golden=chosen)
    plain = strict(held_out, gate=gate, deterministic=deterministic)
    fallen = regressions(chosen, gate)
    whole = all(pair.base is not None and pair.cand is not None for pair in chosen)
    if fallen:
        assert found.verdict == "harmful"
    elif whole or plain.verdict not in ("strong", "suggestive"):
        assert found == plain
    else:
        assert found.verdict == "invalid"
    assert (found.baseline, found.candidate) == (plain.baseline, plain.candidate)
