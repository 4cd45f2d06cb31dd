from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.config import Budget, Config, Gate, Mine, Propose, Replay
from skillopt_git.estimate import Load, Plan, Step, cuts, dollars, total
from skillopt_git.forecast import pricing
from skillopt_git.judges import VOTES
from skillopt_git.model import Need, Task
from skillopt_git.ports import Purpose, Request, Role
from skillopt_git.purse import Spent
from skillopt_git.used import Used
from tests.learning import NEEDS, PNPM, RULE, SKILL, TICKET, document, task, usual

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
    """At most; the gate tries no more candidates in a night, but one wish may have two of them."""
    made = plan(teachable=2)
    assert calls(made, "training tasks") == (2, 4)
    assert calls(made, "rules", "reflect") == (1, 4)
    assert calls(plan(teachable=2, gate=Gate(candidates=1)), "the gate") == calls(plan(), "the gate")
    assert calls(made, "the gate") == (30, 2 * 60)


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
    assert calls(made, "variants", "dream") == (2, 4)
    assert calls(made, "variants of training tasks") == (4, 4)
    assert calls(made, "rules on variants") == (0, 4 * 14)
    many = [task(number, "train") for number in range(7)]
    assert calls(plan(*many, replay=Replay(dream_factor=1)), "variants", "dream") == (5, 10)


def test_several_wishes_are_merged_and_ranked() -> None:
    """By one question more, and by what training tasks gain."""
    tasks = (task(0, "train"), task(1, "train", TICKET), task(2), task(3, "val", TICKET))
    made = plan(*tasks, needs=(WISH, Need(id=TICKET, text=NEEDS[TICKET])), propose=Propose(edit_budget=2))
    assert calls(made, "rules, ranked", "merge") == (0, 2)
    assert calls(made, "rules on training tasks") == (2, 2 * 5)


def test_at_most_every_answer_is_as_long_as_it_may_be() -> None:
    """What the requests ask for, and the room for thoughts beside it."""
    room: dict[Role, int] = {"target": 1_000, "optimizer": 8_000}
    tasks = (task(0, "train"), task(2, rubric="It uses pnpm"), task(3))
    for step in plan(*tasks, replay=Replay(dream_factor=1), beyond=room).steps():
        longest = {"probe": 64 + 8_000, "rollout": 1_024 + 1_000, "judge": 512 + 8_000}.get(step.purpose, 4_096 + 8_000)
        assert step.most.received == step.most.calls * longest


def test_sessions_that_a_model_reads_and_guidance_are_questions_known_before() -> None:
    """Each may be asked once more; guidance is judged by all tasks. Sessions are read though nothing recurs."""
    mined = [Request(role="optimizer", purpose="mine", ask="x" * 4_000, max_tokens=4_096)] * 3
    guides = [Request(role="optimizer", purpose="guide", ask="Which?", max_tokens=4_096)]
    made = plan(mined=mined, guides=guides, golden=(task(5, "train", TICKET, golden=True),))

    assert [step.what for step in made.steps()][1] == "sessions read for wishes"
    assert calls(made, "sessions read for wishes", "mine") == (3, 6)
    assert calls(made, "guidance", "guide") == (1, 2)
    assert calls(made, "guidance at the gate") == (4 * 10, 4 * 20)
    assert calls(replace(made, config=Config(gate=Gate(mode="strict"))), "guidance at the gate") == (8, 8)
    assert calls(replace(made, config=Config(gate=Gate(mode="off"))), "guidance at the gate") == (0, 0)
    read = [step for step in made.steps() if step.purpose == "mine"]
    assert read[0].most.sent >= 2 * 3 * 2_000
    alone = replace(made, tasks=(), golden=()).steps()
    assert [step.purpose for step in alone] == ["probe", "mine"]


def test_a_trial_of_guidance_goes_on_with_every_held_out_task() -> None:
    """And two trials are two, though they be about one wish."""
    assert calls(plan(on_trial=("",)), "trials that go on") == (3 * 10, 3 * 20)
    assert calls(plan(on_trial=(PNPM, PNPM)), "trials that go on") == (2 * 30, 2 * 60)


def test_each_task_is_sent_the_skills_that_it_used() -> None:
    skill = document(".claude/skills/packages/SKILL.md", "Ask first " * 100)
    documents = (*DOCUMENTS, (skill.path, skill.text))
    used = Used(homes={"packages": skill})
    tasks = (task(0, "train", skills=("packages",)), task(2), task(3))
    made, without = plan(*tasks, documents=documents, used=used), plan(*tasks)
    for what in ("training tasks", "the means of the night"):
        (one,), (other,) = ([step for step in item.steps() if step.what == what] for item in (made, without))
        assert (one.likely.sent > other.likely.sent) is (what == "training tasks")


def test_batches_make_a_night_cheaper_only_likely() -> None:
    """How a request is sent is known afterwards."""

    def price(role: Role, purpose: Purpose, load: Load, *, most: bool = False) -> float | None:
        return 1.0 if most else 0.5

    assert dollars(STEPS, price) == (1.0, 2.0)


def test_many_short_calls_are_priced_as_short_ones() -> None:
    """Where long ones have a price of their own. At most, all that is sent goes into a prompt cache, and nothing into a
    batch."""
    config = Config(replay=Replay(backend="anthropic", model="claude-sonnet-4-5", send="mined"))
    one = Load(1, 100_000, 1_000)
    price, batched = (
        pricing(replace(config, replay=replace(config.replay, batch=batch)), {}) for batch in (False, True)
    )

    each, most = price("target", "rollout", one), price("target", "rollout", one, most=True)
    assert each is not None
    assert most is not None
    assert price("target", "rollout", one * 10) == pytest.approx(10 * each)
    assert each < most
    assert batched("target", "rollout", one) == pytest.approx(each / 2)
    assert batched("target", "rollout", one, most=True) == pytest.approx(most)
    assert price("target", "rollout", Load()) == 0


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
        (Budget(tokens=300), "budget.tokens", 300, None, "second"),
        (Budget(tokens=250), "budget.tokens", 250, "second", "second"),
        (Budget(tokens=199), "budget.tokens", 199, "first", "first"),
        (Budget(week_tokens=350), "budget.week_tokens", 310, None, "second"),
        (Budget(week_tokens=30), "budget.week_tokens", 0, "first", "first"),
        (Budget(usd=3.5), "budget.usd", 3.5, None, "second"),
        (Budget(usd=2.5), "budget.usd", 2.5, "second", "second"),
        (Budget(week_usd=1.5), "budget.week_usd", 1.0, "first", "first"),
    ],
)
def test_each_limit_says_what_it_would_cut(
    budget: Budget, limit: str, left: float, likely: str | None, most: str | None
) -> None:
    """With what the week has left of it."""
    (cut,) = cuts(STEPS, budget, Spent(tokens=40, usd=0.5), cents)
    assert (cut.limit, cut.left, cut.likely, cut.most) == (limit, left, likely, most)


def test_a_step_begins_only_where_the_longest_of_its_calls_has_room() -> None:
    """As a run reserves it, however short answers use to be; what is likely not asked ends nothing."""

    def asking(what: str, likely: int, room: int, count: int = 1) -> Step:
        most = Load(1, 2 * likely, room) * 3
        return Step(what=what, role="target", purpose="rollout", likely=Load(1, likely, 0) * count, most=most)

    first, second = asking("first", 20, 60), asking("second", 10, 90)
    for budget, ends in ((99, "first"), (129, "second"), (130, None)):
        (cut,) = cuts((first, second), Budget(tokens=budget), Spent(), cents)
        assert cut.likely == ends
    (cut,) = cuts((first, asking("second", 10, 900, count=0)), Budget(tokens=400), Spent(), cents)
    assert (cut.likely, cut.most) == (None, "second")


def test_what_memory_holds_back_is_likely_not_tried() -> None:
    """Its training tasks are answered all the same, and at most it is tried, too."""
    tasks = (task(0, "train"), task(1, "train", TICKET), task(2), task(3, "val", TICKET))
    both = (WISH, Need(id=TICKET, text=NEEDS[TICKET]))
    free, held = plan(*tasks, needs=both), plan(*tasks, needs=both, held=frozenset({TICKET}))
    assert calls(held, "rules", "reflect")[0] == 1
    assert calls(held, "the gate") == (calls(free, "the gate")[0] // 2, calls(free, "the gate")[1])
    assert calls(held, "rules on training tasks") == (0, calls(free, "rules on training tasks")[1])
    assert calls(held, "training tasks") == calls(free, "training tasks") == (2, 2)
    all_held = plan(*tasks, needs=both, held=frozenset({PNPM, TICKET}), gate=Gate(mode="strict"))
    assert calls(all_held, "the gate")[0] == 0


def test_a_skill_that_sessions_used_is_likely_tried_by_tasks_that_read_it() -> None:
    """At most its wish goes to another document, too."""
    own = document(".claude/skills/packages/SKILL.md")
    tasks = (
        task(0, "train", skills=("packages",)),
        task(1, "train", TICKET),
        task(2, skills=("packages",)),
        task(3, "val", TICKET),
        task(4, "val", TICKET),
    )
    both = (WISH, Need(id=TICKET, text=NEEDS[TICKET]))
    used = Used({"packages": own})
    made = plan(*tasks, needs=both, used=used, homes={PNPM: own.path}, gate=Gate(candidates=1))
    assert calls(made, "the gate") == (10, 3 * 20)
    assert calls(made, "rules on training tasks")[0] == 0


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
