"""A trial under the gate `evidence`: what is asked, how often, in which order, and what is recorded of it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from skillopt_git import schema
from skillopt_git.backends.scripted import Scripted
from skillopt_git.config import Gate
from skillopt_git.consolidate import Bench
from skillopt_git.ledger import evidence_bytes
from skillopt_git.model import Candidate, Check, Edit, Evidence, Split, Task
from skillopt_git.pairing import parts, trial
from skillopt_git.ports import CallFailed, Reply, Request
from skillopt_git.replay import replay
from skillopt_git.weighing import FIRST_PAIRS, weigh
from tests.learning import PNPM, RULE, RUN, SKILL, TICKET, Answer, acts, document, models, strict_judge, task, told

TEXT = document(SKILL, "Be brief")
ADD = Edit(op="add", target=SKILL, text=RULE, need=PNPM)
OWN = (task(2), task(3))
OTHERS = tuple(task(at, "val", TICKET) for at in range(4, 9))


def tried(
    script: Answer,
    *held_out: Task,
    gate: Gate = Gate(),  # noqa: B008 - frozen
    golden: tuple[Task, ...] = (),
    rested: Mapping[str, str] | None = None,
    ended: int = 0,
    judge: Answer = strict_judge,
) -> tuple[Candidate, Scripted]:
    backend = Scripted(script=acts(script, judge=judge), deterministic=False)
    given = models(backend, held_out)

    def again(rounds: Any) -> Any:
        return replay(rounds, target=backend, judge=given.judge, notify=lambda _: None)

    bench = Bench(
        target=backend,
        optimizer=backend,
        judge=given.judge,
        replay=again,
        gate=gate,
        night=RUN,
        tonight="night-1",
        preferences="",
        notify=lambda _: None,
    )
    documents = ((SKILL, TEXT.text),)
    found = trial((ADD,), TEXT, documents, held_out, golden=golden, rested=rested, bench=bench, ended=ended)
    return found, backend


def helped(request: Request) -> Reply:
    return Reply(text="pnpm" if RULE in told(request) else "npm")


def useless(request: Request) -> Reply:
    return Reply(text="npm")


def asked(backend: Scripted) -> list[tuple[str, str, bool]]:
    """Ask, number of the pair, and whether the rule was there."""
    return [(item.ask, item.sample.rsplit("/", 1)[1], RULE in told(item)) for item in backend.asked]


def known(found: Candidate) -> Evidence:
    assert found.evidence is not None
    return found.evidence


def test_arms_are_measured_in_turn_and_never_with_a_sample_of_before() -> None:
    """Base, candidate, base, candidate: what drifts with time changes both."""
    found, backend = tried(helped, *OWN)

    assert found.verdict == "strong"
    both = [OWN[0].ask, OWN[1].ask]
    want = [(ask, str(pair), rule) for pair in range(1, 6) for rule in (False, True) for ask in both]
    assert asked(backend) == want
    assert {item.sample.rsplit("/", 1)[0] for item in backend.asked} == {found.trial}
    again, _ = tried(helped, *OWN, ended=1)
    assert again.trial != found.trial


def test_where_the_first_pairs_show_no_gain_no_more_is_spent() -> None:
    """Two pairs a task, and the guard is not looked at."""
    found, backend = tried(useless, *OWN, *OTHERS)

    assert found.verdict == "inconclusive"
    assert len(backend.asked) == 2 * FIRST_PAIRS * len(OWN)
    assert [item.part for item in known(found).tasks] == ["primary", "primary"]


def test_the_guard_is_looked_at_once_a_benefit_is_in_sight_the_longest_unseen_first() -> None:
    """Golden tasks always, of whatever split; of the others as many as the setting says."""
    golden = task(9, "train", TICKET, golden=True)
    rested = {OTHERS[0].id: "20261128T030000Z-0000000a", OTHERS[1].id: "20261101T030000Z-0000000a"}

    found, _ = tried(helped, *OWN, *OTHERS, gate=Gate(guard=4), golden=(golden,), rested=rested)

    guard = [item.task for item in known(found).tasks if item.part == "guard"]
    assert guard == [golden.id, *(item.id for item in OTHERS[2:]), OTHERS[1].id]
    assert all(len(item.base) == 5 for item in known(found).tasks)
    assert [item.veto for item in known(found).tasks if item.task == golden.id] == [True]


@pytest.mark.parametrize("split", ["train", "val"])
def test_a_golden_task_that_needs_the_rule_proves_nothing_where_it_was_not_held_out(split: Split) -> None:
    """It taught the rule, or its session did: it may only veto."""
    golden = task(9, split, golden=True)

    found, _ = tried(helped, *OWN, golden=(golden,))

    assert [(item.task, item.part) for item in known(found).tasks] == [
        *((item.id, "primary") for item in OWN),
        (golden.id, "guard"),
    ]


def test_what_seems_worse_is_measured_again_before_anybody_says_so() -> None:
    """Five pairs more; a golden task that is worse beyond doubt vetoes."""
    golden = task(9, "val", TICKET, golden=True)

    def harms(request: Request) -> Reply:
        if request.ask == golden.ask:
            return Reply(text="npm" if RULE in told(request) else "ACME-7")
        return helped(request)

    found, _ = tried(harms, *OWN, golden, golden=(golden,))

    assert found.verdict == "harmful"
    assert golden.id in found.why
    (row,) = [item for item in known(found).tasks if item.task == golden.id]
    assert (row.base, row.cand) == ((1,) * 10, (0,) * 10)


def test_a_suspicion_that_does_not_hold_costs_nothing() -> None:
    """It fell at first and was as good as before when it was measured again: reported, and no reason to refuse."""
    other = OTHERS[0]
    calls = {True: 0, False: 0}

    def shaky(request: Request) -> Reply:
        if request.ask != other.ask:
            return helped(request)
        taught = RULE in told(request)
        calls[taught] += 1
        return Reply(text="ACME-7" if not taught or calls[taught] > 3 else "npm")

    found, _ = tried(shaky, *OWN, other)

    assert found.verdict == "strong"
    (row,) = [item for item in known(found).tasks if item.task == other.id]
    assert sum(item or 0 for item in row.cand) == 7


def test_failed_calls_are_missing_and_too_many_say_nothing() -> None:
    """They are no zeros, in either arm."""
    failures = iter(range(1000))

    def flaky(request: Request) -> Reply | CallFailed:
        return CallFailed("timeout", "too slow") if next(failures) % 3 == 0 else helped(request)

    found, _ = tried(flaky, *OWN)

    assert found.verdict == "invalid"
    assert None in known(found).tasks[0].base
    assert known(found).numbers == {}


def test_without_a_task_that_needs_it_nothing_is_measured() -> None:
    found, backend = tried(helped, *OTHERS)
    assert (found.verdict, backend.asked, found.trial) == ("unverified", [], None)


def test_tasks_of_one_session_are_one_witness() -> None:
    """However often they pass: what holds there may hold there only."""
    same = tuple(replace(item, sessions=("s1",)) for item in OWN)

    assert tried(helped, *OWN)[0].verdict == "strong"
    found = tried(helped, *same)[0]
    assert found.verdict == "suggestive"
    assert "one session" in found.why


def test_tasks_judged_by_form_alone_prove_nothing_strong() -> None:
    form = tuple(replace(item, checks=(Check(op="max_chars", arg=3, role="shape"),)) for item in OWN)

    def shorter(request: Request) -> Reply:
        return Reply(text="ok" if RULE in told(request) else "a long answer")

    found, _ = tried(shorter, *form)

    assert found.verdict == "suggestive"
    assert "form of answers" in found.why


def test_the_record_decides_as_the_trial_did() -> None:
    """Whoever has the evidence comes to the same verdict and figures; no ask and no session is in it."""
    found, _ = tried(helped, *OWN, *OTHERS)
    stored = evidence_bytes(known(found))
    read = schema.read(Evidence, stored, where="here")

    primary, guard = parts(read.tasks)
    weighed = weigh(primary, guard, gate=Gate())

    assert (weighed.verdict, weighed.numbers) == (found.verdict, read.numbers)
    assert read.rule == "evidence"
    assert OWN[0].ask.encode() not in stored
    assert b'"s2"' not in stored


def test_how_far_the_judge_agrees_with_itself_is_recorded() -> None:
    """Three votes an answer; one of them differs now and then."""
    ruled = tuple(replace(item, checks=(), rubric="It uses pnpm.") for item in OWN)
    asked_for = iter(range(10_000))

    def judge(request: Request) -> Reply:
        right = "pnpm" in request.ask.split("The answer:")[1]
        odd = next(asked_for) % 12 == 0
        return Reply(text=json.dumps({"score": float(right != odd)}))

    found, _ = tried(helped, *ruled, judge=judge)

    assert found.verdict == "strong"
    assert known(found).numbers["judge_answers"] == 20
    assert known(found).numbers["judge_agreement"] == pytest.approx(1 - (2 / 3) * (5 / 20))


@pytest.mark.parametrize("seed", range(4))
def test_a_rule_that_does_nothing_is_not_adopted(seed: int) -> None:
    """A target that passes by chance, whatever it is told."""
    draw = random.Random(seed)

    def chance(_: Request) -> Reply:
        return Reply(text="pnpm" if draw.random() < 0.5 else "npm")

    assert tried(chance, *OWN, task(9), task(10))[0].verdict != "strong"
