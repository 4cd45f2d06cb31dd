"""Which edits of one answer belong together, and which candidates are measured first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.backends.scripted import Scripted
from skillopt_git.config import Gate, Propose
from skillopt_git.consolidate import Bench
from skillopt_git.model import Edit, Need
from skillopt_git.ports import Reply, Request
from skillopt_git.replay import replay
from skillopt_git.training import Group, Training, Tryout, chosen
from tests.learning import (
    ABSENT_MEMORY,
    OTHER,
    PNPM,
    RULE,
    RUN,
    SKILL,
    TICKET,
    Answer,
    acts,
    asked,
    document,
    edits,
    follows,
    models,
    night,
    task,
    told,
    usual,
)

OLD = "Use npm for everything"
FIRST, SECOND, IDLE = "Say which package manager", "Name it pnpm", "Be kind"
TEXT = document(SKILL, OLD)


def add(text: str) -> Edit:
    return Edit(op="add", target=SKILL, text=text, need=PNPM)


DROP = Edit(op="delete", target=SKILL, anchor=OLD, need=PNPM)


def both_needed(request: Request) -> Reply:
    """Passes only where both rules stand."""
    return Reply(text="pnpm" if FIRST in told(request) and SECOND in told(request) else "npm")


def training(target: Answer) -> tuple[Training, Scripted]:
    backend = Scripted(script=acts(target))
    tasks = (task(0, "train"), task(1, "train"))
    judge = models(backend, tasks).judge

    def again(rounds: Any) -> Any:
        return replay(rounds, target=backend, judge=judge, notify=lambda _: None)

    bench = Bench(
        target=backend,
        optimizer=backend,
        judge=judge,
        replay=again,
        gate=Gate(metric="hard"),
        night=RUN,
        tonight="night-1",
        preferences="",
        notify=lambda _: None,
    )
    return Training(tasks, TEXT, ((SKILL, TEXT.text),), bench), backend


def grouped(target: Answer, *proposed: Edit) -> list[tuple[str, ...]]:
    return [tuple(edit.sentence for edit in group.edits) for group in training(target)[0].groups(proposed)]


def test_edits_that_help_only_together_are_one_group() -> None:
    """What adds nothing is tried alone."""
    assert grouped(both_needed, add(FIRST), add(IDLE), add(SECOND)) == [(FIRST, SECOND), (IDLE,)]


def test_a_group_tells_what_each_of_its_edits_is_worth() -> None:
    found, _ = training(both_needed)

    assert found.groups([add(FIRST), add(SECOND)])[0].adds == {add(FIRST).id: 1.0, add(SECOND).id: 1.0}


def test_what_spoils_the_rest_is_taken_out_before_the_others_are_judged() -> None:
    """With it nothing passes, so that leaving out any other one would change nothing."""

    def spoilt(request: Request) -> Reply:
        return Reply(text="npm") if IDLE in told(request) else both_needed(request)

    assert grouped(spoilt, add(IDLE), add(FIRST), add(SECOND)) == [(FIRST, SECOND), (IDLE,)]


def test_an_old_rule_goes_with_the_new_one_that_it_contradicts() -> None:
    def confused(request: Request) -> Reply:
        return Reply(text="pnpm" if RULE in told(request) and OLD not in told(request) else "npm")

    assert grouped(confused, DROP, add(RULE)) == [(OLD, RULE)]


def test_edits_that_help_alone_are_tried_alone() -> None:
    """One that does it all, and one that adds nothing to it."""

    def one_is_enough(request: Request) -> Reply:
        return Reply(text="pnpm" if FIRST in told(request) or SECOND in told(request) else "npm")

    assert grouped(one_is_enough, add(FIRST), add(SECOND)) == [(FIRST,), (SECOND,)]


def test_a_single_edit_costs_no_rollout_more() -> None:
    found, backend = training(both_needed)

    assert found.groups([add(RULE)]) == (Group((add(RULE),)),)
    assert found.groups([]) == ()
    assert backend.asked == []


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True), st.sets(st.sampled_from("abcd")))
def test_no_edit_is_lost_and_none_comes_twice(proposed: list[str], needed: set[str]) -> None:
    """However they help."""

    def target(request: Request) -> Reply:
        held = {name for name in "abcd" if f"Rule {name} holds" in told(request)}
        return Reply(text="pnpm" if needed <= held else "npm")

    given_ = [add(f"Rule {name} holds") for name in proposed]

    groups = training(target)[0].groups(given_)

    assert sorted(edit.id for group in groups for edit in group.edits) == sorted(edit.id for edit in given_)


# --- what is measured first --------------------------------------------------------------------------------------


class Known(Training):
    """Gains that are known beforehand."""

    def gain(self, group: Group) -> float:
        return float(group.edits[0].reason)


def queue(*gains: tuple[str, float]) -> list[Tryout]:
    """(need, gain) pairs in the order they were proposed."""
    start, _ = training(both_needed)
    known = Known(start.tasks, start.document, start.documents, start.bench)
    numbers = count()
    return [
        Tryout(
            Need(id=need, text=need),
            Group((Edit(op="add", target=SKILL, text=f"Rule {next(numbers)}", reason=str(gain), need=need),)),
            (),
            known,
        )
        for need, gain in gains
    ]


def numbers(items: Sequence[Tryout]) -> list[str]:
    return [item.group.edits[0].sentence.removeprefix("Rule ") for item in items]


@pytest.mark.parametrize(
    ("gains", "most", "first"),
    [
        ([("a", 0.1), ("b", 0.9), ("c", 0.5)], 2, ["1", "2"]),
        ([("a", 0.5), ("b", 0.5), ("c", 0.5)], 2, ["0", "1"]),  # the more frequent wish first
        ([("a", 0.1), ("a", 0.9), ("b", 0.0)], 2, ["1", "2"]),  # one a need
        ([("a", 0.1), ("b", 0.9)], 2, ["0", "1"]),  # all of them, in their order
        ([("a", 0.1), ("b", 0.9)], 0, []),
        ([], 2, []),
    ],
)
def test_few_are_measured_in_a_night_by_what_training_tasks_gain(
    gains: list[tuple[str, float]], most: int, first: list[str]
) -> None:
    """And the others wait."""
    items = queue(*gains)

    now, later = chosen(items, most)

    assert numbers(now) == first
    assert sorted(numbers(now) + numbers(later)) == sorted(numbers(items))


# --- whole nights ------------------------------------------------------------------------------------------------


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_group_is_one_candidate_with_one_verdict() -> None:
    """Its evidence is about both."""
    script = acts(both_needed, optimizer=lambda _: edits(FIRST, SECOND))

    (candidate,) = night(*usual(), script=script, skill=None, memory=ABSENT_MEMORY).candidates

    assert [edit.sentence for edit in candidate.edits] == [FIRST, SECOND]
    assert candidate.verdict == "strong"
    assert candidate.evidence is not None
    assert candidate.evidence.edits == tuple(edit.id for edit in candidate.edits)
    assert candidate.evidence.numbers["adds"] == {edit.id: 1.0 for edit in candidate.edits}


def test_a_group_that_the_budget_has_no_room_for_waits() -> None:
    """As a whole: one of its edits alone would be found useless."""
    tickets = [task(at, "train" if at < 7 else "val", TICKET) for at in range(5, 12)]

    def target(request: Request) -> Reply:
        return follows(request) if OTHER in told(request) and FIRST not in told(request) else both_needed(request)

    def optimizer(request: Request) -> Reply:
        return edits(OTHER) if OTHER in request.ask.split("The file as it is now")[0] else edits(FIRST, SECOND)

    learned = night(
        *tickets, *usual(), script=acts(target, optimizer=optimizer), memory=None, propose=Propose(edit_budget=2)
    )

    assert [edit.sentence for item in learned.candidates for edit in item.edits] == [OTHER]
    assert any(f"the edit budget is used up: what is left of '{RULE}'" in note for note in learned.notes)


def test_a_night_measures_few_candidates_by_pairs_and_says_what_waits() -> None:
    """The next night has them first: what was tried is held back then."""
    names = ("n1-000000000000000a", "n1-000000000000000b", "n1-000000000000000c")
    needs = dict(zip(names, ("Use pnpm", "Name pnpm", "Say pnpm"), strict=True))
    checks = task(0).checks
    tasks = [task(at, "train" if at < 3 else "val", names[at % 3], checks=checks) for at in range(9)]
    backend = Scripted(script=acts(lambda _: Reply(text="npm"), optimizer=_wish), deterministic=False)

    learned = night(*tasks, backend=backend, needs=needs, memory=None)

    assert len(learned.candidates) == 2
    waiting = [note for note in learned.notes if "waits for another night" in note]
    assert len(waiting) == 1
    assert "`gate.candidates`" in waiting[0]
    assert len(asked(backend, "reflect")) == 3


def _wish(request: Request) -> Reply:
    wish = request.ask.split("The file as it is now")[0]
    return edits(*(rule for rule in ("Use pnpm", "Name pnpm", "Say pnpm") if rule in wish))
