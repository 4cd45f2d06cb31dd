"""The simulation: what it answers, how often it passes, and what it cannot act out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git import consolidate
from skillopt_git.backends.mock import HARMFUL_RULE, NO_ANSWERS, NOTHING_TO_JUDGE, Mock, door, world
from skillopt_git.config import Gate, Replay
from skillopt_git.doors import Asked
from skillopt_git.judges import judgeable, score_checks
from skillopt_git.model import Check, CheckOp, CheckPlace, Examples, Task
from skillopt_git.ports import CallFailed, Reply, Request
from tests.learning import MEMORY, NEEDS, OTHER, PNPM, RULE, SKILL, TICKET, document, found, models, night, task, usual


def mock(*tasks: Task, needs: Mapping[str, str] = NEEDS, **fields: Any) -> Mock:
    return Mock(world=world(tasks, needs), **fields)


def asks(one: Task, *texts: str, sample: str = "", **fields: Any) -> Request:
    """The rollout of a task under documents of these texts."""
    documents = tuple((f"{at}/SKILL.md", text) for at, text in enumerate(texts))
    given = {"ask": one.ask, "context": one.context, "documents": documents, "sample": sample}
    return Request(role="target", purpose="rollout", **given | fields)


def passes(backend: Mock, one: Task, *texts: str, sample: str = "") -> bool:
    (reply,) = backend.complete([asks(one, *texts, sample=sample)])
    assert isinstance(reply, Reply)
    return score_checks(one, reply).hard == 1


# --- the target --------------------------------------------------------------------------------------------------


def test_a_task_passes_when_its_rule_stands_in_a_document() -> None:
    """Not without it, and not because of another rule."""
    one = task(0)

    assert not passes(mock(one), one)
    assert not passes(mock(one), one, f"- {OTHER}\n")
    assert passes(mock(one), one, "# Notes\n", f"# Rules\n\n- {RULE}\n")


def test_a_task_with_two_needs_passes_with_both_rules() -> None:
    """One of them is not enough; they may stand in different documents."""
    one = task(0, "val", PNPM, TICKET)

    assert not passes(mock(one), one, f"- {RULE}\n")
    assert passes(mock(one), one, f"- {RULE}\n", f"- {OTHER}\n")


@pytest.mark.parametrize(
    ("line", "teaches"),
    [
        ("- use PNPM, not npm.", True),
        ("Use pnpm not npm", True),
        ("- Use npm, not pnpm", False),
        ("- Use yarn, not npm", False),
        ("Never use pnpm", False),
        ("- Use pnpm", False),
    ],
)
def test_a_rule_that_was_reworded_a_little_teaches_and_its_opposite_does_not(line: str, teaches: bool) -> None:
    """Nearly the same letters are not enough where they ask for something else."""
    one = task(0)
    assert passes(mock(one), one, f"# Notes\n\n{line}\n") is teaches


def test_a_task_without_needs_passes_unless_the_harmful_rule_spoils_it() -> None:
    """So that a rule can be seen to do harm."""
    one = task(0, needs=())

    assert passes(mock(one), one)
    assert not passes(mock(one), one, f"- {HARMFUL_RULE}\n")


def test_it_does_not_invent_answers_to_tasks_it_does_not_know() -> None:
    """A failed call, which counts for nothing."""
    (failed,) = mock().complete([asks(task(0))])
    assert isinstance(failed, CallFailed)
    assert failed.kind == "refused"


def test_the_context_tells_equal_asks_apart() -> None:
    """The same words after another beginning are another task."""
    one, other = task(0), task(1, "val", TICKET, ask=task(0).ask, context="Earlier")

    assert passes(mock(one, other), one, f"- {RULE}\n")
    assert not passes(mock(one, other), other, f"- {RULE}\n")


def test_tasks_with_the_same_words_share_answers_and_needs() -> None:
    """They are one question to whoever answers: what passes passes both, what fails fails both."""
    one, other = task(0), task(1, "val", TICKET, ask=task(0).ask)
    backend = mock(one, other)

    for each in (one, other):
        assert not passes(backend, each, f"- {RULE}\n")
        assert passes(backend, each, f"- {RULE}\n- {OTHER}\n")


# --- in part -----------------------------------------------------------------------------------------------------

RUFF, RUFF_RULE = TICKET, "Always run ruff first"
BOTH = {PNPM: RULE, RUFF: RUFF_RULE}
PAIR = (Check(op="contains", arg="pnpm", role="outcome"), Check(op="not_contains", arg="npm", role="outcome"))
FIRST = Check(op="contains", arg="ruff", role="outcome")


def share(backend: Mock, one: Task, *rules: str) -> tuple[float, float]:
    """How a task is scored with these rules taught."""
    (reply,) = backend.complete([asks(one, *(f"- {rule}\n" for rule in rules))])
    assert isinstance(reply, Reply)
    score = score_checks(one, reply)
    return score.hard, round(score.soft, 2)


@pytest.mark.parametrize(
    ("checks", "examples", "shares"),
    [
        ((*PAIR, FIRST), Examples(), (0.0, 0.67, 0.33)),
        # a real failing answer that does one of the two by chance would hide what that rule adds
        ((*PAIR, FIRST), Examples(fail="Ran npm after ruff."), (0.0, 0.67, 0.33)),
        ((*PAIR, FIRST), Examples(fail="Ran pnpm."), (0.0, 0.67, 0.33)),
        ((*PAIR, FIRST, Check(op="max_chars", arg=10)), Examples(), (0.0, 0.75, 0.5)),
        ((*PAIR, FIRST, Check(op="tool_called", arg="Bash")), Examples(), (0.0, 0.75, 0.5)),
        # a rule whose words give no check adds nothing that could be seen
        (PAIR, Examples(), (0.0, 0.0, 0.0)),
        ((Check(op="min_chars", arg=9),), Examples(), (0.0, 0.0, 0.0)),
    ],
)
def test_each_rule_of_a_task_with_two_adds_its_share(
    checks: Sequence[Check], examples: Examples, shares: tuple[float, ...]
) -> None:
    """With one of two rules the checks of that rule are met and the task still fails; with both it passes."""
    one = task(0, "val", PNPM, RUFF, checks=tuple(checks), examples=examples)
    backend = mock(one, needs=BOTH)

    found = [share(backend, one, *taught) for taught in ((), (RULE,), (RUFF_RULE,), (RULE, RUFF_RULE))]

    assert found == [*((0.0, soft) for soft in shares), (1.0, 1.0)]
    assert share(backend, one, RULE, HARMFUL_RULE) == found[0]


def test_tasks_with_the_same_words_show_each_their_share() -> None:
    """One whose own rule is taught passes; the other, which needs another rule, does not."""
    one = task(0, checks=PAIR)
    other = task(1, "val", RUFF, ask=one.ask, checks=(FIRST,))
    backend = mock(one, other, needs=BOTH)

    assert [share(backend, each, RULE) for each in (one, other)] == [(1.0, 1.0), (0.0, 0.0)]
    assert [share(backend, each, RUFF_RULE) for each in (one, other)] == [(0.0, 0.0), (1.0, 1.0)]


def test_a_rubric_of_two_rules_is_met_in_part() -> None:
    """The judge gives a share for the rule that was kept to, below what passes."""
    rubric = f"The answer keeps to this: {RULE}; {OTHER}."
    one = task(0, "val", PNPM, TICKET, checks=(), rubric=rubric)
    backend = mock(one)
    judge = models(backend, [one]).judge

    replies = backend.complete([asks(one), asks(one, f"- {RULE}\n"), asks(one, f"- {RULE}\n- {OTHER}\n")])
    scores = judge.score([(one, reply) for reply in replies if isinstance(reply, Reply)])

    found = [(score.hard, score.soft) for score in scores if not isinstance(score, CallFailed)]
    assert [hard for hard, _ in found] == [0.0, 0.0, 1.0]
    assert found[0][1] == 0.0 < found[1][1] < 0.8


def test_a_partial_answer_is_never_the_passing_one() -> None:
    """A rubric that is one of the rules word for word: the answer that keeps to this rule alone fails as a whole."""
    one = task(0, "val", PNPM, TICKET, checks=(), rubric=RULE)
    backend = mock(one)

    without, half = backend.complete([asks(one), asks(one, f"- {RULE}\n")])

    assert half == without


def test_rules_needed_together_are_each_proved() -> None:
    """Tried one at a time, each of two rules shows its gain with the usual metric."""
    checks = (*PAIR, FIRST)
    tasks = (
        *(task(number, "train", PNPM, RUFF, checks=checks) for number in (0, 1)),
        *(task(number, "val", PNPM, RUFF, checks=checks) for number in (2, 3, 4)),
    )

    learned = night(*tasks, needs=BOTH, backend=mock(*tasks, needs=BOTH), general_to_memory=False)

    assert found(learned) == [(SKILL, RULE, "strong"), (SKILL, RUFF_RULE, "strong")]
    assert (learned.baseline, learned.candidate) == (0.0, 1.0)


# --- chance ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("with_", "without"), [(0.7, 0.2), (0.9, 0.0), (1.0, 0.5)])
def test_it_passes_as_often_as_it_is_told(with_: float, without: float) -> None:
    """Over 400 samples the share lies within five standard deviations of the chance."""
    one = task(0)
    backend = mock(one, pass_with=with_, pass_without=without)

    for chance, texts in ((with_, (f"- {RULE}\n",)), (without, ())):
        count = sum(passes(backend, one, *texts, sample=f"x1-1/{number}") for number in range(400))
        assert abs(count - 400 * chance) <= 5 * sqrt(400 * chance * (1 - chance))


def test_the_same_question_gets_the_same_answer_and_another_seed_another() -> None:
    """Whatever was asked before, and in whatever order; seed, sample and documents each change the draw."""
    one = task(0)
    requests = [asks(one, f"- {RULE}\n", sample=f"x1-1/{number}") for number in range(60)]
    backend = mock(one, pass_with=0.5)

    replies = list(backend.complete(requests))

    assert list(mock(one, pass_with=0.5).complete(requests[::-1]))[::-1] == replies
    assert list(mock(one, pass_with=0.5, seed=1).complete(requests)) != replies
    longer = [asks(one, f"- {RULE}\n- Be brief\n", sample=request.sample) for request in requests]
    assert list(backend.complete(longer)) != replies


def test_its_settings_and_what_it_knows_tell_all_its_answers_depend_on() -> None:
    """A remembered answer of another world would be another world's; a trial goes on while the world grows."""
    one = task(0)
    backends = (
        mock(one),
        mock(one, seed=1),
        mock(one, pass_with=0.5),
        mock(one, pass_without=0.5),
        mock(one, failing=0.5),
        mock(one, harmful=True),
        mock(one, task(1)),
        mock(one, needs={PNPM: "Use pnpm"}),
    )

    def said(backend: Mock) -> str:
        return json.dumps([dict(backend.settings), backend.knows], sort_keys=True)

    assert len({said(item) for item in backends}) == len(backends)
    assert said(mock(task(1), one)) == said(mock(one, task(1)))
    assert mock(one, task(1)).settings == mock(one).settings


UNSET = Replay()


def asked(replay: Replay = UNSET, tasks: Sequence[Task] = (), needs: Mapping[str, str] | None = None) -> Asked:
    return Asked(
        role="target",
        model=replay.model,
        base_url="",
        key_env="",
        replay=replay,
        environ={},
        state=Path("/nowhere"),
        redact=str,
        tasks=tasks,
        needs=needs or {},
    )


def test_the_settings_reach_it() -> None:
    """The door builds it from the configuration, and tells which tasks cannot be acted out."""
    chosen = Replay(
        backend="mock",
        model="m",
        mock_seed=3,
        mock_pass_with=0.7,
        mock_pass_without=0.2,
        mock_failing=0.1,
        mock_harmful=True,
    )
    mute = task(1, checks=(Check(op="regex", arg=".*"),))

    opened = door(asked(chosen, [task(0), mute], NEEDS))
    backend = opened.backend
    assert isinstance(backend, Mock)

    assert (backend.model, backend.seed, backend.pass_with, backend.pass_without) == ("mock:m", 3, 0.7, 0.2)
    assert (backend.failing, backend.harmful) == (0.1, True)
    assert (backend.simulated, backend.deterministic) == (True, False)
    assert door(asked()).backend.deterministic
    assert opened.skipped == {mute.id: NO_ANSWERS}
    assert door(asked()).backend.model == "mock"
    assert door(asked(Replay(backend="mock", model="mock"))).backend.model == "mock"


def test_a_chosen_model_is_never_named_as_if_it_had_answered() -> None:
    """The name says that it is acted out, in the figures of every answer too."""
    backend = door(asked(Replay(backend="mock", model="gpt-5"), [task(0)], NEEDS)).backend

    replies = backend.complete([asks(task(0)), asks(task(0), f"- {RULE}\n")])

    assert {reply.model for reply in replies if isinstance(reply, Reply)} == {"mock:gpt-5"}


# --- answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "checks",
    [
        [("contains", "pnpm")],
        [("not_contains", "npm")],
        [("contains", "pnpm"), ("not_contains", "npm")],
        [("regex", r"\[arXiv:\d{4}\.\d{5}\]")],
        [("regex", r"<answer>.+</answer>"), ("contains", "pnpm")],
        [("regex", r"^feat(\(\w+\))?: .+"), ("max_chars", 200)],
        [("no_refusal", None)],
        [("tool_called", "Bash")],
        [("tool_called", "Bash"), ("tool_called", "Read"), ("contains", "pnpm")],
        [("max_chars", 80)],
        [("max_chars", 4), ("contains", "pnpm")],
        [("max_chars", 12), ("section_present", "Risks")],
        [("max_chars", 1)],
        [("max_chars", 9), ("regex", r"\d{8}")],
        [("min_chars", 2)],
        [("min_chars", 1_000_000)],
        [("regex", "^(a|b){200}$")],
        [("min_chars", 500), ("contains", "pnpm")],
        [("section_present", "Key Risks")],
        [("section_contains", "Risks"), ("min_chars", 100)],
    ],
)
def test_answers_are_made_from_the_checks(checks: Sequence[tuple[CheckOp, Any]]) -> None:
    """For every op: with the rule all checks pass, without it the answer does not."""
    one = task(0, checks=tuple(Check(op=op, arg=arg) for op, arg in checks))

    backend = mock(one)

    assert backend.world.skipped == {}
    assert passes(backend, one, f"- {RULE}\n")
    assert not passes(backend, one)


@pytest.mark.parametrize("where", ["code", "command"])
@pytest.mark.parametrize(
    "others",
    [
        (),
        (Check(op="max_chars", arg=20),),
        (Check(op="section_present", arg="Risks"), Check(op="min_chars", arg=100)),
        (Check(op="not_contains", arg="yarn"), Check(op="contains", arg="lodash")),
    ],
)
@pytest.mark.parametrize("words", [("pnpm", None), (None, "npm"), ("pnpm", "npm"), ("cargo nextest", "cargo test")])
def test_answers_are_made_for_checks_with_a_place(
    words: tuple[str | None, str | None], others: tuple[Check, ...], where: CheckPlace
) -> None:
    """In code or in a command, not in prose: with the rule all checks pass, without it the answer does not."""
    wanted, unwanted = words
    said = (Check(op="contains", arg=wanted, where=where),) if wanted else ()
    unsaid = (Check(op="not_contains", arg=unwanted, where=where),) if unwanted else ()
    one = task(0, checks=(*said, *unsaid, *others))

    backend = mock(one)

    assert backend.world.skipped == {}
    assert passes(backend, one, f"- {RULE}\n")
    assert not passes(backend, one)


def test_the_place_of_a_check_is_part_of_the_world() -> None:
    """A question kept from before the place was given is not answered from memory."""
    plain = task(0, checks=(Check(op="contains", arg="pnpm"),), examples=Examples(pass_="`pnpm i`", fail="No."))
    placed = replace(plain, checks=(Check(op="contains", arg="pnpm", where="command"),))

    assert mock(plain).knows != mock(placed).knows


def test_known_answers_are_acted_out_word_for_word() -> None:
    """The real ones around a correction, where the checks agree with them; else the reference; else made ones."""
    real = Examples(pass_="Ran pnpm add lodash.", fail="Ran npm install lodash.")
    wrong = Examples(pass_="Ran yarn.", fail="Ran pnpm.")

    def said(one: Task, *texts: str) -> str:
        (reply,) = mock(one).complete([asks(one, *texts)])
        return reply.text if isinstance(reply, Reply) else ""

    taught = f"- {RULE}\n"
    assert said(task(0, examples=real), taught) == "Ran pnpm add lodash."
    assert said(task(0, examples=real)) == "Ran npm install lodash."
    assert said(task(0, examples=wrong, reference="With pnpm."), taught) == "With pnpm."
    assert said(task(0, examples=wrong)) == "Done."


@pytest.mark.parametrize(
    ("checks", "why"),
    [
        ([Check(op="contains", arg="npm"), Check(op="not_contains", arg="npm")], NO_ANSWERS),
        ([Check(op="regex", arg=r"(?(1)a|b)")], NOTHING_TO_JUDGE),
        ([Check(op="regex", arg=r"(?>ab)c")], NO_ANSWERS),
        ([Check(op="regex", arg=r".*")], NO_ANSWERS),
        ([Check(op="regex", arg=r"((((((a*)*)*)*)*)*)*b{2}x")], NO_ANSWERS),
        ([Check(op="min_chars", arg=0)], NO_ANSWERS),
        ([Check(op="min_chars", arg=10**30)], NOTHING_TO_JUDGE),
        ([Check(op="max_chars", arg="many")], NOTHING_TO_JUDGE),
        ([], NOTHING_TO_JUDGE),
    ],
)
def test_what_cannot_be_acted_out_is_skipped_with_a_reason(checks: Sequence[Check], why: str) -> None:
    """Contradictions, patterns nobody can read backwards, checks that nothing fails; the others are acted out."""
    one = task(0, checks=tuple(checks))

    known = world([one, task(1)], NEEDS)

    assert known.skipped == {one.id: why}
    assert [act.ask for act in known.acts.values()] == [task(1).ask]


CHECKS = st.lists(
    st.one_of(
        st.builds(Check, op=st.sampled_from(["contains", "not_contains", "section_present"]), arg=st.text(max_size=9)),
        st.builds(
            Check,
            op=st.sampled_from(["contains", "not_contains"]),
            arg=st.text(max_size=9) | st.text(alphabet="ab `~-\n", max_size=6),
            where=st.sampled_from(["code", "command"]),
        ),
        st.builds(Check, op=st.just("regex"), arg=st.text(alphabet="ab.*+?()[]{}\\|^$1d,-", max_size=8)),
        st.builds(
            Check, op=st.sampled_from(["max_chars", "min_chars"]), arg=st.integers(-1, 300) | st.text(max_size=3)
        ),
        st.builds(Check, op=st.sampled_from(["tool_called", "no_refusal"]), arg=st.none() | st.text(max_size=3)),
    ),
    max_size=3,
)


@given(CHECKS)
def test_every_task_is_acted_out_rightly_or_skipped(checks: list[Check]) -> None:
    """Whatever the checks are: never an exception, never an answer that they do not agree with."""
    one = task(0, checks=tuple(checks))
    backend = mock(one)

    if one.id in backend.world.skipped:
        assert judgeable(one) is (backend.world.skipped[one.id] == NO_ANSWERS)
    else:
        assert passes(backend, one, f"- {RULE}\n")
        assert not passes(backend, one)


# --- the optimizer and the judge ---------------------------------------------------------------------------------


def test_a_night_with_it_proves_the_rule() -> None:
    """It proposes what the tasks in the question need, from what a real optimizer would be shown too."""
    tasks = (*usual(), task(5, "train", TICKET), task(6, "val", TICKET), task(7, "val", TICKET))

    learned = night(*tasks, backend=mock(*tasks))

    assert found(learned) == [(SKILL, RULE, "strong"), (SKILL, OTHER, "strong")]
    assert (learned.baseline, learned.candidate) == (0.0, 1.0)


def test_a_rule_for_a_long_ask_is_proposed_though_the_ask_is_clipped() -> None:
    """Only the beginning of an ask is shown to the optimizer."""
    tasks = (task(0, "train", ask="Rename it. " * 300), *usual()[2:])
    assert found(night(*tasks, backend=mock(*tasks))) == [(SKILL, RULE, "strong")]


def test_the_harmful_rule_is_proposed_on_request_and_refused() -> None:
    """It makes tasks fail that passed, so the gate sees the mean fall."""
    tasks = (*usual(), task(5, "val", needs=()), task(6, "val", needs=()))

    learned = night(*tasks, backend=mock(*tasks, harmful=True), gate=Gate(metric="hard"))

    assert found(learned) == [(SKILL, RULE, "strong"), (SKILL, HARMFUL_RULE, "harmful")]
    assert [item.edits[0].sentence for item in learned.accepted] == [RULE]


def test_rubrics_are_judged_by_what_it_acts_out() -> None:
    """The passing answer passes though the failing one holds its words, and the other way round."""
    rubric = "The answer does what the user asked and keeps to this: Use pnpm, not npm."
    known: dict[str, Any] = {"checks": (), "rubric": rubric, "examples": Examples(pass_="Done", fail="Done with npm.")}
    tasks = (task(0, "train", **known), task(1, **known), task(2, **known))
    backend = mock(*tasks)

    learned = night(*tasks, backend=backend)

    assert found(learned) == [(SKILL, RULE, "strong")]
    assert (learned.baseline, learned.candidate) == (0.0, 1.0)
    question = consolidate.judge_question(tasks[0], Reply(text="Done with npm."))
    (ruled,) = backend.complete([Request(role="optimizer", purpose="judge", ask=question)])
    assert isinstance(ruled, Reply)
    assert json.loads(ruled.text)["score"] == 0.0


def test_a_rubric_and_a_tool_alone_tell_answers_apart() -> None:
    """A judge sees the text only, so that the failing text has to differ too."""
    alike = Examples(pass_="Ran it.", fail="Ran it.")
    tasks = (task(0, "train", checks=(Check(op="tool_called", arg="Bash"),), rubric="It ran pnpm.", examples=alike),)
    backend = mock(*tasks)
    replies = [*backend.complete([asks(tasks[0]), asks(tasks[0], f"- {RULE}\n")])]

    scores = models(backend, tasks).judge.score([(tasks[0], reply) for reply in replies if isinstance(reply, Reply)])

    assert [(score.hard, score.soft) for score in scores if not isinstance(score, CallFailed)] == [(0, 0), (1, 1)]


def test_a_question_of_another_shape_is_not_answered_yes() -> None:
    """A judge that finds no fenced answer fails it; an optimizer that finds no task proposes nothing."""
    one = task(0)
    judged, proposed = mock(one).complete(
        [
            Request(role="optimizer", purpose="judge", ask=f"{one.ask}\nDone with pnpm."),
            Request(role="optimizer", purpose="reflect", ask=f"{one.ask} {RULE}"),
        ]
    )
    assert isinstance(judged, Reply)
    assert isinstance(proposed, Reply)
    assert json.loads(judged.text)["score"] == 0.0
    assert json.loads(proposed.text) == {"edits": []}


def test_it_acts_out_variants_as_what_they_are_variants_of() -> None:
    """So that a simulated night may dream; what is too long to be shown whole, it says in full, and that is none. Its
    ranking is the order in which edits were proposed."""
    tasks = (task(0, "train", ask="Rename it. " * 300), *usual()[1:])
    backend = mock(*tasks)

    learned = night(*tasks, backend=backend, replay=Replay(dream_factor=2, dream_rollouts=2), memory=None)

    assert found(learned) == [(SKILL, RULE, "strong")]
    variants = {item.task.ask: item.score for item in learned.rollouts if item.task.id.startswith("d1-")}
    assert [ask[:10] for ask in variants] == ["Again, 1: ", "Again, 2: "]
    assert all(score is not None for score in variants.values())
    assert learned.failures == ()
    (ranked,) = backend.complete([Request(role="optimizer", purpose="merge", ask="1, 2 or 3?")])
    assert isinstance(ranked, Reply)
    assert json.loads(ranked.text) == {"edits": []}
    (none,) = backend.complete([Request(role="optimizer", purpose="dream", ask="Write some.")])
    assert isinstance(none, Reply)
    assert json.loads(none.text) == {"asks": []}


def test_it_only_proposes_what_the_question_words() -> None:
    """A task with two needs is no reason to answer the one that nobody asked about."""
    tasks = (task(0, "train", PNPM, TICKET), task(1), task(2))
    learned = night(*tasks, needs={PNPM: RULE, TICKET: OTHER}, backend=mock(*tasks), memory=document(MEMORY, OTHER))
    assert found(learned) == [(SKILL, RULE, "strong")]
