"""The gate `evidence`: what it takes for each verdict, and what must change none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.config import Gate
from skillopt_git.model import Verdict
from skillopt_git.stats import Arms
from skillopt_git.weighing import Measured, Weighed, confirmed, futile, suspects, weigh

GATE = Gate(mode="evidence")
ORDER: tuple[Verdict, ...] = ("harmful", "inconclusive", "suggestive", "strong")


def measured(name: str, base: str, cand: str, **fields: object) -> Measured:
    """A task with a letter a rollout: 1 passed, 0 failed, . missing. Of a session of its own unless told otherwise."""

    def arm(letters: str) -> tuple[int | None, ...]:
        return tuple(None if letter == "." else int(letter) for letter in letters)

    return replace(Measured(task=name, base=arm(base), cand=arm(cand), group=name), **fields)  # type: ignore[arg-type]


def judged(*primary: Measured, guard: tuple[Measured, ...] = (), gate: Gate = GATE, nights: int = 1) -> Weighed:
    return weigh(primary, guard, gate=gate, nights=nights)


MENDED = (measured("a", "00000", "11111"), measured("b", "00001", "11111"), measured("c", "11111", "11111"))
HELD = tuple(measured(f"g{at}", "11111", "11111") for at in range(4))


@st.composite
def trials(draw: st.DrawFn, tasks: int = 6) -> list[Measured]:
    rollouts = st.lists(st.integers(0, 1), min_size=5, max_size=5).map(tuple)
    return [
        Measured(task=str(at), base=draw(rollouts), cand=draw(rollouts), group=str(at))
        for at in range(draw(st.integers(1, tasks)))
    ]


# --- strong ------------------------------------------------------------------------------------------------------


def test_two_tasks_of_two_sessions_that_are_mended_are_strong() -> None:
    found = judged(*MENDED, guard=HELD)
    assert (found.verdict, found.why) == ("strong", "e = 102 on 3 held-out tasks")
    assert not found.closed
    numbers = dict(found.numbers)
    assert numbers["e"] == pytest.approx(102.3)
    assert numbers["p"] == pytest.approx(1 / 252 * 5 / 210)
    assert (numbers["pairs_up"], numbers["pairs_discordant"]) == (9, 9)
    assert (numbers["tasks"], numbers["tasks_up"], numbers["tasks_down"], numbers["guard_tasks"]) == (3, 2, 0, 4)
    assert (numbers["base_passes"], numbers["base_rollouts"]) == (6, 15)
    assert (numbers["cand_passes"], numbers["cand_rollouts"]) == (15, 15)
    assert numbers["gain"] == pytest.approx(0.6)
    assert numbers["gain_low"] < 0 < numbers["gain_shrunk"] < numbers["gain_high"] < numbers["gain"]
    assert numbers["guard_reach"] == pytest.approx(1 - 0.05 ** (1 / 4))


@pytest.mark.parametrize(
    ("primary", "lack"),
    [
        ((measured("a", "00000", "11111"), measured("b", "11111", "11111")), "1 held-out task got better, of 2 needed"),
        (tuple(replace(item, group="one") for item in MENDED), "they come from one session, of 2 needed"),
        (tuple(replace(item, shape=True) for item in MENDED), "its tasks are judged by the form of answers only"),
        ((measured("a", "00000", "11111"), measured("b", "11110", "11111")), "e = 18.1, below 20"),
        ((*MENDED, measured("d", "11", "10"), measured("e", "11", "01")), "as many tasks got worse as better"),
        (MENDED, "a gain of 60 points, below 70"),
    ],
    ids=["one task", "one session", "shape only", "e", "as many worse", "gain"],
)
def test_what_a_strong_verdict_still_needs_is_said(primary: tuple[Measured, ...], lack: str) -> None:
    gate = replace(GATE, least_gain=0.7) if "points" in lack else GATE
    found = judged(*primary, gate=gate)
    assert found.verdict == "suggestive"
    assert lack in found.why


def test_one_task_may_be_enough_where_that_is_set() -> None:
    """Then one session is, too."""
    told = (measured("a", "0000000", "1111111"),)
    assert judged(*told).verdict == "suggestive"
    assert judged(*told, gate=replace(GATE, strong_tasks=1)).verdict == "strong"


def test_a_task_that_got_worse_beyond_doubt_keeps_it_from_being_strong() -> None:
    """On the need's own tasks or on others; a golden one refuses it."""
    worse = measured("w", "1" * 10, "1" * 6 + "0" * 4)
    many = tuple(measured(f"m{at}", "00000", "11111") for at in range(3))
    for found in (judged(*many, worse), judged(*many, guard=(worse,))):
        assert found.verdict == "suggestive"
        assert "got worse: w" in found.why
    golden = judged(*many, guard=(replace(worse, veto=True), measured("g", "1" * 10, "1" * 10, veto=True)))
    assert (golden.verdict, golden.why) == ("harmful", "the golden task w got worse")
    also = replace(worse, task="v", veto=True)
    assert "the golden tasks w, v got worse" in judged(*many, guard=(replace(worse, veto=True), also)).why


@given(trials())
def test_tasks_of_one_session_or_of_shape_alone_are_never_strong(told: list[Measured]) -> None:
    assert judged(*(replace(item, group="one") for item in told)).verdict != "strong"
    assert judged(*(replace(item, shape=True) for item in told)).verdict != "strong"


# --- the others --------------------------------------------------------------------------------------------------


def test_without_a_task_that_needs_it_nothing_is_verified() -> None:
    assert judged(guard=HELD) == Weighed("unverified", "no held-out task needs this rule yet", {})


@pytest.mark.parametrize(
    ("primary", "valid"),
    [
        (measured("a", "0000.", "1111."), True),
        (measured("a", "000..", "111.."), False),
        (measured("a", "0000000000", "111111111."), True),
        (measured("a", "0000000000", "11111111.."), False),
        (measured("a", "11111111..", "0000000000"), False),
        (measured("a", "", ""), False),
    ],
    ids=["80 %", "60 %", "10 points", "20 points", "-20 points", "nothing"],
)
def test_too_much_missing_is_invalid(primary: Measured, valid: bool) -> None:
    """Under 80 % in an arm, or more than 10 points between them."""
    found = judged(primary)
    assert (found.verdict != "invalid") == valid
    if not valid:
        assert "too few" in found.why
        assert found.numbers == {}


def test_what_is_missing_of_the_guard_counts_too() -> None:
    assert judged(*MENDED, guard=HELD).verdict == "strong"
    assert judged(*MENDED, guard=tuple(replace(item, cand=(None,) * 5) for item in HELD)).verdict == "invalid"


def test_a_small_p_or_some_e_is_suggestive() -> None:
    assert judged(measured("a", "000", "111")).verdict == "suggestive"  # p = 1/20, e = 3.75
    by_p = judged(measured("a", "1000", "0111"), measured("b", "1000", "0111"))
    assert (by_p.verdict, by_p.numbers["p"] < 0.1, by_p.numbers["e"] < 3) == ("suggestive", True, True)
    by_e = replace(GATE, suggestive_p=0.0)
    assert judged(measured("a", "000", "111"), gate=by_e).verdict == "suggestive"
    assert judged(measured("a", "000", "111"), gate=replace(by_e, suggestive_e=4.0)).verdict == "inconclusive"
    assert judged(measured("a", "00", "11")).verdict == "inconclusive"  # p = 1/6, e = 2.3


def test_a_trial_that_speaks_against_its_candidate_ends_after_four_nights() -> None:
    against = (measured("a", "1100", "0101"), measured("b", "1111", "1101"))
    assert [judged(*against, nights=nights).closed for nights in (1, 3, 4, 5)] == [False, False, True, True]
    assert "closed after four nights" in judged(*against, nights=4).why
    undecided = (measured("a", "0100", "0111"),)
    assert not judged(*undecided, nights=9).closed
    assert judged(*undecided).why == "no benefit shown: e = 2.33, p = 0.24"


def test_harm_on_its_own_tasks_or_on_others_is_harmful() -> None:
    five = measured("a", "11111", "00000")
    assert "the tasks that need it got worse: 5 of 5 pairs that differ, e = 10.5" in judged(five).why
    found = judged(*MENDED, guard=(five,))
    assert (found.verdict, found.why.partition(":")[0]) == ("harmful", "other tasks got worse")
    assert judged(measured("a", "1111", "0000")).verdict == "inconclusive"
    closing = judged(measured("a", "1111", "0000"), gate=replace(GATE, closing_e=0.2))
    assert (closing.verdict, closing.why) == ("harmful", "e = 0.2: the pairs speak against it")


# --- what must hold ----------------------------------------------------------------------------------------------


@given(trials())
def test_what_is_missing_changes_nothing_but_the_coverage(told: list[Measured]) -> None:
    """A pair that failed in both arms, wherever it stands, is no zero."""
    holed = [
        replace(item, base=(*item.base[:2], None, *item.base[2:]), cand=(*item.cand[:2], None, *item.cand[2:]))
        for item in told
    ]
    assert judged(*holed) == judged(*told)


def test_half_a_pair_counts_in_its_arm_alone() -> None:
    half = measured("a", "00000", "1111.")
    assert half.arms == Arms(0, 5, 4, 4)
    assert half.differing == (4, 4)
    assert measured("a", "..", "11").arms is None
    absent = judged(*MENDED, *HELD, measured("z", "..", ".."))
    assert (absent.verdict, absent.numbers["tasks"], absent.numbers["base_rollouts"]) == ("strong", 8, 35)


@given(trials())
def test_exchanged_arms_exchange_benefit_and_harm(told: list[Measured]) -> None:
    there = judged(*told).numbers
    back = judged(*(replace(item, base=item.cand, cand=item.base) for item in told)).numbers
    assert (back["e"], back["e_down"]) == (there["e_down"], there["e"])
    assert (back["tasks_up"], back["tasks_down"]) == (there["tasks_down"], there["tasks_up"])
    assert (back["gain"], back["gain_shrunk"]) == pytest.approx((-there["gain"], -there["gain_shrunk"]))


@given(trials(), st.integers(0, 5), st.integers(0, 4))
def test_a_pass_more_under_the_candidate_never_makes_a_verdict_worse(
    told: list[Measured], at: int, rollout: int
) -> None:
    first = told[at % len(told)]
    passed = replace(first, cand=(*first.cand[:rollout], 1, *first.cand[rollout + 1 :]))
    better = [passed if item is first else item for item in told]
    assert ORDER.index(judged(*better).verdict) >= ORDER.index(judged(*told).verdict)


@given(trials(), st.randoms(use_true_random=False))
def test_tasks_are_in_no_order(told: list[Measured], chance: object) -> None:
    shuffled = sorted(told, key=lambda _: chance.random())  # type: ignore[attr-defined]
    assert judged(*shuffled).verdict == judged(*told).verdict


# --- between the stages ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("primary", "ends"),
    [((), True), (("00", "01"), False), (("11", "01"), True), (("10", "01"), True), (("..", "11"), True)],
)
def test_first_pairs_without_any_gain_are_futile(primary: tuple[str, ...], ends: bool) -> None:
    assert futile([measured("a", *primary)] if primary else []) == ends
    assert futile([measured("a", *primary), measured("b", "11", "11")] if primary else []) == ends


def test_what_seems_worse_is_suspected_and_confirmed_only_on_twice_as_many() -> None:
    told = {
        "seems": measured("seems", "11110", "11000"),
        "all": measured("all", "11111", "00000"),
        "little": measured("little", "11110", "11100"),
        "few": measured("few", "1111", "0000"),
        "never": measured("never", "11000", "00000"),
        "missing": measured("missing", ".....", "00000"),
    }
    assert [item.task for item in suspects(told.values())] == ["seems", "all"]
    assert confirmed(told.values()) == ()
    again = [measured("is", "1111011111", "1100011000"), measured("was", "1111011110", "1100011111")]
    assert [item.task for item in confirmed(again)] == ["is"]
