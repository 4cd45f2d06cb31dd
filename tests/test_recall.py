from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.families import Telling
from skillopt_git.ids import event_id, need_id
from skillopt_git.model import Edit, Event, EventType
from skillopt_git.recall import History, Proposal, held_back, recall

SKILL, MEMORY = ".claude/skills/house/SKILL.md", "CLAUDE.md"
RULE, NEED = "Always run ruff first", "n1-ruff"
EDIT = Edit(op="add", target=SKILL, text=RULE, need=NEED)
OTHER = Edit(op="add", target=SKILL, text="Never commit to main", need="n1-main")
BRANCH = "sleep/2026-11-02"


def event(type_: EventType, subject: Any, cause: str = "run-1", **fields: Any) -> Event:
    defaults: dict[str, Any] = {"v": 1, "ts": "2026-11-02T03:17:00Z", "run": cause}
    return Event(**{**defaults, "id": event_id(type_, subject, cause), "type": type_, **fields})


def proposed(edit: Edit = EDIT, branch: str = BRANCH, position: int = 0, cause: str = "run-1", **fields: Any) -> Event:
    data = {
        "branch": branch,
        "base_branch": "main",
        "base": "b" * 40,
        "position": position,
        "op": edit.op,
        "anchor": edit.anchor,
        "need": edit.need,
    }
    return event("proposed", [branch, edit.id], cause, **told(edit), reason="seen twice", data=data, **fields)


def told(edit: Edit) -> dict[str, Any]:
    return {"edit": edit.id, "rule": edit.rule, "target": edit.target, "text": edit.sentence}


def published(tip: str = "t1", branch: str = BRANCH, ends: tuple[str, ...] = (), **fields: Any) -> Event:
    return event("published", [branch, tip], data={"branch": branch, "tip": tip, "ends": list(ends)}, **fields)


def outcome(
    type_: EventType,
    edit: Edit = EDIT,
    branch: str = BRANCH,
    cause: str = "c1",
    ends: tuple[str, ...] = (),
    **fields: Any,
) -> Event:
    data = {"branch": branch, "need": edit.need, "commit": None, "ends": list(ends)}
    return event(type_, [branch, edit.id], cause, **told(edit), data=data, **fields)


def gate(verdict: str, edit: Edit = EDIT, cause: str = "run-1", simulated: bool = False, **data: Any) -> Event:
    found = {"verdict": verdict, "subject": "s", "base_blob": "blob", "model": "m1", "families": ["f1-a"], **data}
    about = {"edit": edit.id, "rule": edit.rule, "target": edit.target}
    return event("gate", [edit.id, cause], cause, simulated=simulated, data=found, **about)


def family(split: str, cause: str = "run-1", tasks: tuple[str, ...] = ("t1-a",), **fields: Any) -> Event:
    data = {"family": "f1-a", "needs": [NEED], "split": split, "tasks": list(tasks), "simhash": "00000000000000ff"}
    return event("family", "f1-a", cause, data=data, **fields)


def seen(*events: Event, simulated: bool = False) -> History:
    return recall(events, simulated=simulated)


def only(history: History) -> Proposal:
    (proposal,) = history.proposals
    return proposal


def why(history: History, edit: Edit = EDIT, **differs: Any) -> str | None:
    asked: dict[str, Any] = {"base_blob": "blob", "model": "m1", "families": frozenset({"f1-a"})}
    return held_back(history, edit, **{**asked, **differs})


# --- proposals ---------------------------------------------------------------------------------------------------


def test_a_proposal_is_open_from_publishing_to_its_last_outcome() -> None:
    """Recorded alone it is unfinished; every edit needs an outcome to close it."""
    recorded = [proposed(), proposed(OTHER, position=1)]
    on_branch = [*recorded, published()]
    half = [*on_branch, outcome("adopted")]
    done = [*half, outcome("rejected", OTHER)]

    states = [
        (only(seen(*events)).unfinished, only(seen(*events)).open) for events in (recorded, on_branch, half, done)
    ]

    assert states == [(True, False), (False, True), (False, True), (False, False)]
    assert [item.edit.id for item in only(seen(*half)).pending] == [OTHER.id]


def test_a_proposal_tells_what_its_commits_are_made_of() -> None:
    """The edits in the order of their commits, the base of the first event, the tip of the last publication."""
    first = published("t1")
    proposal = only(seen(proposed(OTHER, position=1), proposed(), published("t2", ends=(first.id,)), first))

    assert [item.edit for item in proposal.edits] == [replace(item, reason="seen twice") for item in (EDIT, OTHER)]
    assert (proposal.base, proposal.base_branch, proposal.tip) == ("b" * 40, "main", "t2")
    assert seen(proposed(), first).proposal(BRANCH) is not None
    assert seen(proposed(), first).proposal("sleep/other") is None


def test_a_deletion_is_proposed_by_what_it_deletes() -> None:
    """Its text is its anchor's, and it writes none."""
    delete = Edit(op="delete", target=SKILL, anchor=RULE, reason="seen twice", need=NEED)

    assert only(seen(proposed(delete))).edits[0].edit == delete


def test_an_edit_that_was_proposed_twice_for_one_branch_is_one() -> None:
    """It keeps its first place, so that the branch can be built."""
    proposal = only(seen(proposed(), proposed(OTHER, position=1), proposed(position=2, cause="run-2")))

    assert [item.position for item in proposal.edits] == [0, 1]


def test_of_two_outcomes_the_merge_stands() -> None:
    """One clone rejected or lost the branch, another merged it: what is at the base is adopted."""
    start = [proposed(), published()]

    for other in ("rejected", "superseded", "expired"):
        history = seen(*start, outcome(other, cause="z"), outcome("adopted", cause="c"))
        assert [item.edit.id for item in history.adopted] == [EDIT.id]


# --- real and simulated ------------------------------------------------------------------------------------------


def test_measurements_of_real_and_simulated_runs_do_not_see_each_other() -> None:
    """Verdicts, trials and nights count for their own kind alone."""
    events = [
        gate("harmful", cause="sim", simulated=True),
        event("run", "sim", "sim", simulated=True),
        gate("inconclusive", OTHER, cause="real"),
        event("run", "real", "real"),
    ]

    real, simulated = seen(*events), seen(*events, simulated=True)

    assert [item.rule for item in real.refusals] == [OTHER.rule]
    assert [item.rule for item in simulated.refusals] == [EDIT.rule]
    assert (real.nights, simulated.nights) == (1, 1)
    assert [run.id for run in real.runs] != [run.id for run in simulated.runs]
    assert dict(real.ended_trials) == dict(simulated.ended_trials) == {"s": 1}


def test_families_count_for_both() -> None:
    """What a simulation held out is held out for ever."""
    assert seen(family("val", simulated=True)).families == seen(family("val"), simulated=True).families


def test_a_real_run_does_not_count_what_a_simulation_proposed() -> None:
    """The proposal is known, and open only to another simulation."""
    events = [proposed(simulated=True), published(simulated=True)]

    assert seen(*events).open == ()
    assert why(seen(*events)) is None
    assert len(seen(*events).proposals) == len(seen(*events, simulated=True).open) == 1
    assert "already proposed" in str(why(seen(*events, simulated=True)))


def test_what_a_person_decided_about_a_simulation_counts() -> None:
    """A rejection is a rejection, whoever had proposed the rule."""
    events = [proposed(simulated=True), published(simulated=True), outcome("rejected", reason="not here")]

    assert "not here" in str(why(seen(*events)))


# --- rejections --------------------------------------------------------------------------------------------------

REJECTED = outcome("rejected", reason="no")


@pytest.mark.parametrize(
    ("edit", "held"),
    [
        (EDIT, True),
        (replace(EDIT, target=MEMORY, need=None), True),
        (Edit(op="add", target=MEMORY, text="Always run ruff first!"), True),
        (Edit(op="replace", target=SKILL, anchor="Be brief", text=RULE), True),
        (Edit(op="delete", target=SKILL, anchor=RULE), True),
        (Edit(op="add", target=SKILL, text="Lint before anything else", need=NEED), True),
        (Edit(op="add", target=SKILL, text="Lint before anything else", need="n1-lint"), False),
        (OTHER, False),
    ],
)
def test_a_rejection_holds_back_the_sentence_and_the_need(edit: Edit, held: bool) -> None:
    """In every document, in nearly the same words, whatever the operation."""
    assert (why(seen(REJECTED), edit) is not None) is held


def test_a_rejection_for_the_wrong_place_holds_back_there_alone() -> None:
    """The rule, and its need, may go to another document."""
    history = seen(outcome("rejected", reason="wrong-place"))

    assert "wrong-place" in str(why(history))
    assert why(history, replace(EDIT, target=MEMORY)) is None
    assert why(history, replace(EDIT, text="Lint before anything else")) is not None


def test_a_rejection_stands_until_an_event_ends_it() -> None:
    """Allowing it again, or adopting the rule after all; nothing else, and never a later time."""
    allowed = event("unrejected", EDIT.id, "c2", data={"ends": [REJECTED.id]})
    unrelated = event("unrejected", OTHER.id, "c2", ts="2027-01-01T00:00:00Z", data={"ends": ["0" * 16]})

    assert why(seen(REJECTED, unrelated)) is not None
    assert why(seen(REJECTED, allowed)) is None
    assert seen(REJECTED, outcome("adopted", ends=(REJECTED.id,))).negatives == ()


def test_a_rejection_without_words_holds_nothing_back() -> None:
    """An event that lost its text cannot be compared with."""
    assert seen(replace(REJECTED, text=None)).negatives == ()


def test_an_unlearned_rule_is_held_back_until_it_is_adopted_again() -> None:
    """It is not adopted any more; allowing it to be proposed does not bring it back."""
    start = [proposed(), published(), outcome("adopted")]
    taken_back = outcome("reverted", cause="c2")
    allowed = event("unrejected", EDIT.id, "c3", data={"ends": [taken_back.id]})
    again = outcome("adopted", cause="c4", ends=(taken_back.id,))

    assert [item.edit.id for item in seen(*start).adopted] == [EDIT.id]
    unlearned = seen(*start, taken_back)
    assert (unlearned.adopted, len(unlearned.ever_adopted)) == ((), 1)
    assert str(why(unlearned)).startswith("unlearned before")
    assert seen(*start, taken_back, allowed).adopted == ()
    assert why(seen(*start, taken_back, allowed)) is None
    assert [item.edit.id for item in seen(*start, taken_back, again).adopted] == [EDIT.id]


def test_what_is_proposed_or_adopted_is_not_proposed_again() -> None:
    """Neither in other words for its need, nor in nearly the same words; an expired proposal may come back."""
    open_ = [proposed(), published()]

    assert "already proposed on" in str(why(seen(*open_), replace(EDIT, text="Lint first", target=MEMORY)))
    assert "already proposed on" in str(why(seen(*open_), Edit(op="add", target=MEMORY, text=f"{RULE}!")))
    assert why(seen(*open_), OTHER) is None
    assert why(seen(*open_).without(only(seen(*open_)))) is None
    assert why(seen(*open_, outcome("expired"))) is None


def test_an_adopted_rule_is_awaited_until_the_base_has_it() -> None:
    """Once it is there it may be improved on, when its need goes unmet all the same."""
    history = seen(proposed(), published(), outcome("adopted"))

    assert why(history) is None
    assert "already adopted from" in str(why(replace(history, awaited=history.adopted)))


# --- gate results ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "differs", "held"),
    [
        ("harmful", {}, True),
        ("harmful", {"families": frozenset({"f1-b"})}, True),
        ("harmful", {"base_blob": "other"}, False),
        ("harmful", {"model": "m2"}, False),
        ("inconclusive", {}, True),
        ("inconclusive", {"base_blob": "other", "model": "m2"}, True),
        ("inconclusive", {"families": frozenset[str]()}, True),
        ("inconclusive", {"families": frozenset({"f1-a", "f1-b"})}, False),
        ("unverified", {}, False),
        ("invalid", {}, False),
    ],
)
def test_how_long_a_gate_result_holds_back(verdict: str, differs: dict[str, Any], held: bool) -> None:
    """Harmful until base text or model change; inconclusive until the need gains a family; the others not at all."""
    assert (why(seen(gate(verdict)), **differs) is not None) is held


def test_a_gate_result_goes_by_rule_and_target() -> None:
    """The same rule may be tried elsewhere, and another rule there."""
    assert why(seen(gate("harmful")), replace(EDIT, target=MEMORY)) is None
    assert why(seen(gate("harmful")), replace(EDIT, text="Run ruff before all else")) is None


def test_trials_are_counted_by_their_subject() -> None:
    """As many as ended, each once; several nights may be one trial."""
    counted = seen(gate("harmful"), gate("harmful"), gate("inconclusive", cause="run-2")).ended_trials
    nights = [gate("suggestive", cause=f"run-{night}", trial="t", subject="u") for night in (1, 2)]

    assert dict(counted) == {"s": 2}
    assert dict(seen(*nights).ended_trials) == {"u": 1}


# --- families and order ------------------------------------------------------------------------------------------


def test_of_two_family_events_the_smallest_id_wins() -> None:
    """Two clones met one family; the split is the same, so it stands, and the tasks of both are in it."""
    events = [family("val", "run-1", ("t1-b",)), family("val", "run-2", ("t1-a",))]
    other = replace(events[1], data={**events[1].data, "simhash": "1", "needs": ["n1-z"]})
    first = min(events, key=lambda item: item.id)
    fingerprint = 0xFF if first is events[0] else 1

    for order in ((events[0], other), (other, events[0])):
        found = seen(*order).families["f1-a"]
        assert (found.split, found.tasks, found.simhash) == ("val", ("t1-a", "t1-b"), fingerprint)
        assert found.needs == tuple(sorted((NEED, "n1-z")))


def test_who_told_of_a_family_is_kept() -> None:
    """Each machine with its run and the tasks it met; an older event names no machine."""
    named = family("val", "run-2", ("t1-b",))
    named = replace(named, data={**named.data, "machine": "0a1b2c3d"})

    found = seen(family("val", "run-1"), named).families["f1-a"]

    assert set(found.told) == {
        Telling(machine="", run="run-1", needs=(NEED,), tasks=("t1-a",)),
        Telling(machine="0a1b2c3d", run="run-2", needs=(NEED,), tasks=("t1-b",)),
    }


def test_a_need_is_known_by_the_rule_that_was_proposed_for_it() -> None:
    """Its founding words before any others, in whatever order they are met; what a deletion removes words nothing."""
    founding, other = "Use pnpm, not npm", "Run pnpm for every package"
    need = need_id(founding)
    worded = (replace(EDIT, text=text, need=need) for text in (other, founding, "Always take pnpm"))
    events = [proposed(edit, cause=edit.sentence) for edit in worded]
    gone = proposed(Edit(op="delete", target=MEMORY, anchor="Use tabs", need="n1-gone"))
    aimless = proposed(replace(EDIT, text="Be brief", need=None))

    for order in (events, events[::-1]):
        assert dict(seen(*order, gone, aimless).worded) == {need: founding}
    assert set(seen(events[0]).worded.values()) == {other}


def test_a_family_that_two_clones_split_differently_sits_out_for_good() -> None:
    """Also when a third agrees with the first."""
    assert seen(family("val"), family("train", "run-2"), family("val", "run-3")).families["f1-a"].split is None


EVENTS = (
    family("val"),
    family("train", "run-2"),
    event("run", "run-1", "run-1"),
    event("run", "run-2", "run-2", simulated=True),
    proposed(),
    proposed(OTHER, position=0, cause="run-2", simulated=True),
    proposed(position=3, cause="run-3"),
    proposed(branch="sleep/2026-11-03"),
    published("t1"),
    published("t2", ends=(published("t1").id,)),
    published("t3"),
    outcome("adopted"),
    outcome("adopted", cause="c2"),
    outcome("rejected", cause="c3", reason="no"),
    outcome("expired", OTHER),
    outcome("superseded", OTHER, cause="c4"),
    outcome("reverted", cause="c5"),
    outcome("reverted", cause="c6"),
    outcome("adopted", cause="c7", ends=(outcome("reverted", cause="c5").id,)),
    outcome("rejected", branch="sleep/2026-11-03", reason="wrong-place"),
    event("unrejected", EDIT.id, "c8", data={"ends": [outcome("rejected", cause="c3").id]}),
    gate("harmful"),
    gate("inconclusive", OTHER, cause="run-2", simulated=True),
    replace(outcome("adopted"), ts="2026-12-01T00:00:00Z", run="elsewhere"),  # the same thing, seen by another clone
)


@given(st.sets(st.sampled_from(range(len(EVENTS)))), st.randoms(use_true_random=False), st.booleans())
def test_the_union_of_ledgers_in_any_order_is_one_history(
    chosen: set[int], chance: random.Random, simulated: bool
) -> None:
    """Order, repetition and clocks say nothing."""
    one = [EVENTS[number] for number in sorted(chosen)]
    other = [*one, *chance.sample(one, k=len(one) // 2)]
    chance.shuffle(other)

    assert recall(one, simulated=simulated) == recall(other, simulated=simulated)
