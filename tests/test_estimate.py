from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.config import Budget, Config, Gate, Mine, Propose, Replay
from skillopt_git.estimate import Load, Plan, Step, cuts, dollars, total
from skillopt_git.judges import VOTES
from skillopt_git.model import Need, Task
from skillopt_git.ports import Purpose, Request, Role
from skillopt_git.purse import Spent, most_input
from tests.learning import NEEDS, PNPM, RULE, SKILL, TICKET, task, usual

WISH = Need(id=PNPM, text=RULE)
DOCUMENTS = ((SKILL, "Be kind.\n" * 50),)


def plan(*tasks: Task, **fields: Any) -> Plan:
    settings = {name: fields.pop(name) for name in ("gate", "replay", "propose", "mine") if name in fields}
    given: dict[str, Any] = {
        "config": Config(**settings),
        "tasks": tasks or usual(),
        "golden": (),
        "needs": (WISH,),
        "documents": DOCUMENTS,
        "teachable": 1,
    }
    return Plan(**given | fields)


def calls(made: Plan, what: str, purpose: Purpose = "rollout") -> tuple[int, int]:
    """Likely and at most."""
    found = [step for step in made.steps() if (step.what, step.purpose) == (what, purpose)]
    return sum(step.likely.calls for step in found), sum(step.most.calls for step in found)


def test_a_night_is_counted_in_its_order() -> None:
    """One wish, two tasks to learn from, three held out."""
    made = plan()
    assert [(step.what, step.role, step.purpose) for step in made.steps()] == [
        ("whether the models are there", "target", "probe"),
        ("training tasks", "target", "rollout"),
        ("rules", "optimizer", "reflect"),
        ("rules on training tasks", "target", "rollout"),
        ("the gate", "target", "rollout"),
        ("the means of the night", "target", "rollout"),
    ]
    assert calls(made, "training tasks") == (2, 2)
    assert calls(made, "rules", "reflect") == (1, 2)
    assert calls(made, "the gate") == (3 * 2 * 5, 3 * 2 * 10)
    assert calls(made, "the means of the night") == (3, 6)


def test_a_second_document_may_have_everything_tried_again() -> None:
    """At most; what the gate may try in a night is no more for it."""
    made = plan(teachable=2)
    assert calls(made, "training tasks") == (2, 4)
    assert calls(made, "rules", "reflect") == (1, 4)
    assert calls(made, "the gate") == calls(plan(), "the gate")


def test_sessions_that_the_optimizer_reads_are_counted() -> None:
    """Each once, at most twice, before anything else; also where nothing is known yet that could be learned."""
    asked = Request(role="optimizer", purpose="mine", ask="x" * 4_000, max_tokens=4_096)
    made = plan(reading=(asked, asked), beyond={"optimizer": 8_000})
    assert calls(made, "sessions that are read", "mine") == (2, 4)
    (step,) = (item for item in made.steps() if item.purpose == "mine")
    assert made.steps()[1] == step
    assert step.most == Load(4, 4 * most_input(asked), 4 * 12_096)
    assert step.likely.sent < step.most.sent / 2
    assert [item.purpose for item in plan(needs=(), reading=(asked,)).steps()] == ["probe", "mine"]
    assert plan(needs=()).steps() == ()


def test_two_models_are_asked_whether_they_are_there() -> None:
    assert calls(plan(two_models=True), "whether the models are there", "probe") == (2, 2)


def test_the_gate_measures_so_many_candidates_and_guards() -> None:
    """Those of the most frequent wishes likely, those with most tasks at most; other held-out tasks as a guard."""
    tasks = (task(0, "train"), task(1, "train", TICKET), task(2), task(3, "val", TICKET), task(4, "val", TICKET))
    both = (WISH, Need(id=TICKET, text=NEEDS[TICKET]))
    assert calls(plan(*tasks, needs=both), "the gate") == (2 * 3 * 10, 2 * 3 * 20)
    assert calls(plan(*tasks, needs=both, gate=Gate(candidates=1, guard=0)), "the gate") == (1 * 10, 2 * 20)
    assert calls(plan(*tasks, needs=both, gate=Gate(candidates=1, guard=1)), "the gate") == (2 * 10, 3 * 20)
    golden = task(5, "train", golden=True)
    assert calls(plan(*tasks, golden=(golden,), gate=Gate(guard=0)), "the gate") == (2 * 10, 2 * 20)


def test_a_strict_gate_measures_once_and_none_when_it_is_off() -> None:
    """But more candidates: as many as the edit budget has room for."""
    strict = plan(gate=Gate(mode="strict"), golden=(task(5, golden=True),))
    assert calls(strict, "the gate") == (4 * 2, 4 * 2 * 4)
    off = plan(gate=Gate(mode="off"))
    assert (calls(off, "the gate"), calls(off, "the means of the night")) == ((0, 0), (0, 0))


def test_rubrics_are_judged_by_votes() -> None:
    """Each of which may be unreadable once."""
    tasks = (task(0, "train"), task(2, rubric="It uses pnpm"), task(3))
    made = plan(*tasks)
    assert calls(made, "the gate, judged", "judge") == (10 * VOTES, 20 * VOTES * 2)
    assert calls(made, "training tasks, judged", "judge") == (0, 0)


def test_trials_that_go_on_and_controls_come_with_tasks_of_their_own() -> None:
    """A control is no more than a trial; with the strict gate there is none."""
    made = plan(on_trial=(PNPM,), controls=2)
    assert calls(made, "trials that go on") == calls(made, "the gate")
    assert calls(made, "controls of the gate") == (2 * 30, 2 * 60)
    assert calls(replace(made, config=Config(gate=Gate(mode="strict"))), "controls of the gate") == (0, 0)


def test_dreams_and_repetitions_are_counted() -> None:
    """As often as the settings say."""
    made = plan(replay=Replay(dream_rollouts=3, dream_factor=2))
    assert calls(made, "training tasks") == (6, 6)
    assert calls(made, "variants", "dream") == (1, 2)
    assert calls(made, "variants of training tasks") == (4, 4)


def test_several_wishes_are_merged_and_ranked() -> None:
    """By one question more, and by what training tasks gain."""
    tasks = (task(0, "train"), task(1, "train", TICKET), task(2), task(3, "val", TICKET))
    made = plan(*tasks, needs=(WISH, Need(id=TICKET, text=NEEDS[TICKET])), propose=Propose(edit_budget=2))
    assert calls(made, "rules", "merge") == (1, 2)
    assert calls(made, "rules on training tasks") == (2, 2 * 5)


def test_at_most_every_answer_is_as_long_as_it_may_be() -> None:
    """What the requests ask for, and the room for thoughts beside it."""
    room: dict[Role, int] = {"target": 1_000, "optimizer": 8_000}
    tasks = (task(0, "train"), task(2, rubric="It uses pnpm"), task(3))
    for step in plan(*tasks, replay=Replay(dream_factor=1), beyond=room).steps():
        longest = {"probe": 64 + 8_000, "rollout": 1_024 + 1_000, "judge": 512 + 8_000}.get(step.purpose, 4_096 + 8_000)
        assert step.most.received == step.most.calls * longest


def test_batches_make_a_night_cheaper_only_likely() -> None:
    """How a request is sent is known afterwards."""

    def price(role: Role, purpose: Purpose, load: Load, *, most: bool = False) -> float | None:
        return 1.0 if most else 0.5

    assert dollars(STEPS, price) == (1.0, 2.0)


def test_where_nothing_recurs_nothing_is_asked() -> None:
    """Nor where there is no task."""
    assert plan(needs=()).steps() == ()
    assert replace(plan(), tasks=()).steps() == ()
    assert plan(mine=Mine(max_tasks=1)).steps() != ()


def test_test_tasks_are_scored_once() -> None:
    made = plan(*usual(), task(5, "test"))
    assert calls(made, "the means of the night") == (3 + 1, 6 + 1)


@given(
    st.lists(st.tuples(st.sampled_from(["train", "val", "test"]), st.booleans(), st.booleans()), max_size=12),
    st.integers(1, 2),
    st.sampled_from(["evidence", "strict", "off"]),
    st.integers(1, 3),
)
def test_likely_is_never_more_than_most(
    made: list[tuple[Any, bool, bool]], teachable: int, mode: Any, candidates: int
) -> None:
    """In calls and in tokens, of every step and of all."""
    tasks = [
        task(number, split, *((TICKET,) if other else ()), rubric="Good" if rubric else None)
        for number, (split, other, rubric) in enumerate(made)
    ]
    needs = (WISH, Need(id=TICKET, text=NEEDS[TICKET]))
    gate = Gate(mode=mode, candidates=candidates)
    steps = plan(*tasks, needs=needs, teachable=teachable, gate=gate, on_trial=(TICKET,), controls=1).steps()
    for step in steps:
        assert step.likely.calls <= step.most.calls
        assert step.likely.sent <= step.most.sent
        assert step.likely.received <= step.most.received
    likely, most = total(steps)
    assert (likely.tokens, most.tokens) == (
        sum(step.likely.tokens for step in steps),
        sum(step.most.tokens for step in steps),
    )
    assert total(steps, "target")[1] + total(steps, "optimizer")[1] == most


# --- the budget ---


def step(what: str, likely: int, most: int, role: Role = "target") -> Step:
    return Step(what=what, role=role, purpose="rollout", likely=Load(1, likely, 0), most=Load(1, most, 0))


STEPS = (step("first", 100, 200), step("second", 100, 300, "optimizer"))


def cents(role: Role, purpose: Purpose, load: Load, *, most: bool = False) -> float | None:
    return load.sent / 100


@pytest.mark.parametrize(
    ("budget", "limit", "left", "likely", "most"),
    [
        (Budget(tokens=1_000), "budget.tokens", 1_000, None, None),
        (Budget(tokens=200), "budget.tokens", 200, None, "second"),
        (Budget(tokens=150), "budget.tokens", 150, "second", "first"),
        (Budget(week_tokens=250), "budget.week_tokens", 210, None, "second"),
        (Budget(week_tokens=30), "budget.week_tokens", 0, "first", "first"),
        (Budget(usd=2.5), "budget.usd", 2.5, None, "second"),
        (Budget(week_usd=1.5), "budget.week_usd", 1.0, "second", "first"),
    ],
)
def test_each_limit_says_what_it_would_cut(
    budget: Budget, limit: str, left: float, likely: str | None, most: str | None
) -> None:
    """With what the week has left of it."""
    (cut,) = cuts(STEPS, budget, Spent(tokens=40, usd=0.5), cents)
    assert (cut.limit, cut.left, cut.likely, cut.most) == (limit, left, likely, most)


def test_minutes_are_foretold_by_nobody() -> None:
    assert cuts(STEPS, Budget(minutes=1, week_minutes=2), Spent(), cents) == ()


def test_an_unknown_price_makes_the_sum_unknown() -> None:
    """Of the roles it is in."""

    def half(role: Role, purpose: Purpose, load: Load, *, most: bool = False) -> float | None:
        return cents(role, purpose, load) if role == "target" else None

    assert dollars(STEPS, cents) == (2.0, 5.0)
    assert dollars(STEPS, half) == (None, None)
    assert dollars(STEPS, half, "target") == (1.0, 2.0)
    assert total(STEPS, "optimizer") == (Load(1, 100, 0), Load(1, 300, 0))
