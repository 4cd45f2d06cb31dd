from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from skillopt_git.backends.cached import Cached
from skillopt_git.judges import (
    CheckJudge,
    RubricJudge,
    TaskJudge,
    agreement,
    judgeable,
    remarks,
    score_checks,
    shape_only,
)
from skillopt_git.model import Check, Score, Task
from skillopt_git.ports import Backend, CallFailed, Judge, Reply, Request

QUESTION = "How good is this?"


def task(*checks: Check, rubric: str | None = None) -> Task:
    return Task(id="t1", ask="Install the packages", checks=checks, rubric=rubric)


SAYS_PNPM = Check(op="contains", arg="pnpm")
NOT_NPM = Check(op="not_contains", arg="npm")


@dataclass
class Optimizer:
    """A backend that gives the replies it was built with, in order, and keeps what it was asked."""

    replies: list[str | CallFailed]
    asked: list[Request] = field(default_factory=list)
    name: str = "scripted"
    model: str = "m1"
    deterministic: bool = True
    simulated: bool = False
    settings: dict[str, str | int | float | bool] = field(default_factory=dict)
    knows: str = ""

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        self.asked += requests
        given = [self.replies.pop(0) for _ in requests]
        return [item if isinstance(item, CallFailed) else Reply(text=item) for item in given]


def rubric_judge(optimizer: Backend) -> RubricJudge:
    return RubricJudge(optimizer, prompt=lambda task, reply: f"{QUESTION} {task.rubric} | {reply.text}")


def ruled(*replies: str | CallFailed) -> Score | CallFailed:
    """What a rubric judge makes of these replies to one question."""
    return rubric_judge(Optimizer(list(replies))).score([(task(rubric="Be brief"), Reply(text="Yes"))])[0]


# --- tasks -------------------------------------------------------------------------------------------------------


def test_task_without_any_criterion_cannot_be_judged() -> None:
    """A blank rubric is none, and a rubric alone is enough."""
    assert not judgeable(task())
    assert not judgeable(task(rubric="  "))
    assert judgeable(task(rubric="Be brief"))
    assert judgeable(task(SAYS_PNPM))
    assert not judgeable(task(Check(op="regex", arg="("), rubric="Be brief"))
    assert not judgeable(task(Check(op="max_chars", arg=80, where="code")))


def test_shape_only_task_is_recognised() -> None:
    """Only bounds and headings, or regexes marked so: any text of that form would pass."""
    short = Check(op="max_chars", arg=80)
    marked = Check(op="regex", arg="^- ", role="shape")
    assert shape_only(task(short, marked))
    assert not shape_only(task(short, SAYS_PNPM))
    assert not shape_only(task(short, rubric="Be brief"))
    assert not shape_only(task())


def test_score_of_checks() -> None:
    """`hard` needs all of them, `soft` is the share, and the notes name what failed."""
    both = task(SAYS_PNPM, NOT_NPM)
    assert score_checks(both, Reply(text="Use pnpm")) == Score(hard=1, soft=1)
    found = score_checks(both, Reply(text="Use pnpm, not npm"))
    assert found == Score(hard=0, soft=0.5, notes=("failed: does not say `npm`",))
    assert score_checks(both, Reply(text="npm")).soft == 0


def test_scoring_without_checks_is_a_mistake() -> None:
    """The caller filters first: a made-up zero would look like a bad answer."""
    with pytest.raises(ValueError, match="t1 has no checks"):
        CheckJudge().score([(task(), Reply(text="x"))])


# --- rubrics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "hard", "soft"),
    [
        ('{"score": 0.8, "why": "good"}', 1, 0.8),
        ('{"score": 0.79}', 0, 0.79),
        ('{"score": 1}', 1, 1.0),
        ('{"score": 5}', 1, 1.0),
        ('{"score": -2, "extra": []}', 0, 0.0),
        ('```json\n{"score": 0.5, "why": "so\\nso"}\n```\n', 0, 0.5),
    ],
)
def test_rubric_score(reply: str, hard: float, soft: float) -> None:
    """0.8 passes; what lies beyond 0 and 1 is cut to them."""
    found = ruled(reply)
    assert isinstance(found, Score)
    assert (found.hard, found.soft) == (hard, soft)


def test_a_judge_is_told_the_form_of_its_answer_and_nothing_of_the_arm() -> None:
    """The same answer under other documents is the same question."""
    optimizer = Optimizer(['{"score": 1, "why": ""}'])

    rubric_judge(optimizer).score([(task(rubric="Be brief"), Reply(text="Yes"))])

    (request,) = optimizer.asked
    assert json.loads(request.schema)["required"] == ["score", "why"]
    assert (request.documents, request.context, request.sample) == ((), "", "")


def test_remarks_are_what_judges_said_and_not_what_checks_did() -> None:
    found = ruled('{"score": 0.5, "why": "Too long: by far"}')
    assert isinstance(found, Score)
    assert remarks(found) == ("Too long: by far",)
    assert remarks(Score(hard=0, soft=0, notes=("failed: says `x`", "rubric 0.10: ", "2 of 3 votes"))) == ()


def test_rubric_note_is_one_short_line() -> None:
    """The judge's reason is kept, whatever it wrote."""
    found = ruled('{"score": 0.5, "why": "' + "so\\n" * 300 + '"}')
    assert isinstance(found, Score)
    assert found.notes[0].startswith("rubric 0.50: so so so")
    assert len(found.notes[0]) < 220
    assert "\n" not in found.notes[0]


UNREADABLE = [
    "0.8",
    "It is good.",
    '{"score": "high"}',
    '{"score": true}',
    '{"score": null}',
    '{"score": NaN}',
    '{"score": Infinity}',
    '{"score": 1e999}',
    '{"why": "x"}',
    '{"score": 1, "why": ["x"]}',
    '[{"score": 1}]',
    'Sure! {"score": 1}',
    "[" * 100_000,
    '{"score": 1, "why": "\ud83d"}\ud83d',
    "",
]


@pytest.mark.parametrize("reply", UNREADABLE)
def test_unreadable_ruling_is_a_failed_call(reply: str) -> None:
    """After a second, firmer question; it is never a zero."""
    found = ruled(reply, reply)
    assert isinstance(found, CallFailed)
    assert found.kind == "schema"


def test_unreadable_ruling_is_asked_for_once_more() -> None:
    """Only what could not be read is asked again, firmly, and every score keeps its place."""
    down = CallFailed("timeout", "no answer", retryable=True)
    optimizer = Optimizer(['{"score": 0.1}', "Good.", down, '{"score": 0.4}', '{"score": 0.9}'])
    answers = [(task(rubric="Be brief"), Reply(text=str(number))) for number in range(4)]
    found = rubric_judge(optimizer).score(answers)
    assert [score if isinstance(score, CallFailed) else score.soft for score in found] == [0.1, 0.9, down, 0.4]
    first, again = optimizer.asked[1], optimizer.asked[4]
    assert len(optimizer.asked) == 5
    assert (first.role, first.purpose, first.ask) == ("optimizer", "judge", f"{QUESTION} Be brief | 1")
    assert again.ask.startswith(first.ask)
    assert '{"score"' in again.ask


YES, NO, UNREAD = '{"score": 0.9}', '{"score": 0.3}', "I think so"


@pytest.mark.parametrize(
    ("replies", "hard", "soft", "votes"),
    [
        ((YES, YES, YES), 1.0, 0.9, (True, True, True)),
        ((NO, YES, YES), 1.0, 0.9, (False, True, True)),
        ((NO, YES, NO), 0.0, 0.3, (False, True, False)),
        ((YES, CallFailed("timeout", "slow"), YES), 1.0, 0.9, (True, True)),
    ],
)
def test_a_judge_that_varies_is_asked_three_times_and_most_votes_decide(
    replies: tuple[str | CallFailed, ...], hard: float, soft: float, votes: tuple[bool, ...]
) -> None:
    """Each in a sample of its own, so that none is remembered for another."""
    optimizer = Optimizer(list(replies), deterministic=False)

    (score,) = rubric_judge(optimizer).score([(task(rubric="Be brief"), Reply(text="Yes"))])

    assert isinstance(score, Score)
    assert (score.hard, score.soft, score.votes) == (hard, soft, votes)
    assert f"{max(votes.count(True), votes.count(False))} of 3 votes" in score.notes
    assert [request.sample for request in optimizer.asked] == ["vote/1", "vote/2", "vote/3"]
    assert len({request.ask for request in optimizer.asked}) == 1


def test_votes_are_cast_in_the_sample_of_the_answer() -> None:
    """A ruling that is remembered from another pair would count once more; the second question is of its night."""
    optimizer = Optimizer([YES, UNREAD, YES, YES], deterministic=False)

    judge = TaskJudge(rubric_judge(optimizer))
    (score,) = judge.score([(task(rubric="Be brief"), Reply(text="Yes"))], ["x1-0/2"], "night-4")

    assert isinstance(score, Score)
    assert [request.sample for request in optimizer.asked] == [
        *(f"x1-0/2/vote/{number}" for number in (1, 2, 3)),
        "x1-0/2/vote/2/night-4/firmer",
    ]


def test_a_judge_that_says_the_same_again_is_asked_once_in_no_sample() -> None:
    """A remembered ruling is as good as another."""
    optimizer = Optimizer([UNREAD, YES])

    rubric_judge(optimizer).score([(task(rubric="Be brief"), Reply(text="Yes"))], ["x1-0/2"], "night-4")

    assert [request.sample for request in optimizer.asked] == ["", "night-4/firmer"]


@pytest.mark.parametrize("deterministic", [True, False])
def test_what_could_not_be_read_one_night_is_asked_anew_the_next(deterministic: bool, tmp_path: Path) -> None:
    """Both bad answers are remembered; within the night that serves, and after it not."""
    optimizer = Optimizer([UNREAD] * 12, deterministic=deterministic)
    cached = Cached(inner=optimizer, folder=tmp_path / "c", templates="", redact=lambda text: text, aside=print)

    def ruling(night: str) -> Score | CallFailed:
        return rubric_judge(cached).score([(task(rubric="Be brief"), Reply(text="Yes"))], [""], night)[0]

    first = ruling("night-1")
    many = len(optimizer.asked)
    again = ruling("night-1")
    assert isinstance(first, CallFailed)
    assert (again, len(optimizer.asked)) == (first, many)
    optimizer.replies[:] = [YES] * 3

    assert isinstance(ruling("night-2"), Score)


@pytest.mark.parametrize(
    "replies",
    [
        (YES, CallFailed("timeout", "slow"), NO),
        (YES, CallFailed("timeout", "slow"), CallFailed("timeout", "slow")),
        (CallFailed("timeout", "slow"),) * 3,
    ],
)
def test_without_a_majority_nothing_was_measured(replies: tuple[str | CallFailed, ...]) -> None:
    optimizer = Optimizer(list(replies), deterministic=False)

    (score,) = rubric_judge(optimizer).score([(task(rubric="Be brief"), Reply(text="Yes"))])

    assert score == CallFailed("timeout", "slow")


def test_a_vote_that_the_budget_has_no_room_for_says_so_before_any_other_failure() -> None:
    """Then nothing is missing: another night asks for the rest."""
    spent = CallFailed("budget", "no room")
    optimizer = Optimizer([CallFailed("network", "reset"), '{"score": 1}', spent], deterministic=False)
    assert rubric_judge(optimizer).score([(task(rubric="Be brief"), Reply(text="Yes"))]) == [spent]


def test_each_answer_has_its_own_votes_and_an_unread_one_is_asked_for_again() -> None:
    """In the order of the answers."""
    optimizer = Optimizer([YES, YES, NO, NO, UNREAD, NO, NO], deterministic=False)
    answers = [(task(rubric="Be brief"), Reply(text=text)) for text in ("Yes", "No")]

    first, second = rubric_judge(optimizer).score(answers)

    assert isinstance(first, Score)
    assert isinstance(second, Score)
    assert (first.hard, second.hard) == (1.0, 0.0)
    assert second.votes == (False, False, False)


def test_agreement_is_that_of_any_two_votes_on_one_answer() -> None:
    """What was judged once says nothing about it."""
    scores = [Score(hard=1, soft=1, votes=votes) for votes in ((True, True, True), (True, False, True), ())]

    share, answers = agreement([*scores, None])
    assert share == pytest.approx((1 + 1 / 3) / 2)
    assert answers == 2
    assert agreement([]) == (None, 0)


def test_rubric_judge_needs_a_rubric() -> None:
    """A task without one was sent to the wrong judge."""
    with pytest.raises(ValueError, match="t1 has no rubric"):
        rubric_judge(Optimizer([])).score([(task(SAYS_PNPM), Reply(text="x"))])


def test_no_answers_cost_no_call() -> None:
    """A judge with nothing to do asks nobody."""
    optimizer = Optimizer([])
    assert TaskJudge(rubric_judge(optimizer)).score([]) == []
    assert optimizer.asked == []


# --- both --------------------------------------------------------------------------------------------------------


def test_each_task_is_judged_by_what_it_has() -> None:
    """Checks cost no call; with both, `hard` needs both and `soft` is the rubric's; a failed call stays one."""
    down = CallFailed("quota", "spent")
    optimizer = Optimizer(['{"score": 0.9}', '{"score": 0.6}', '{"score": 0.9}', '{"score": 0.5}', down])
    judge = TaskJudge(rubric_judge(optimizer))
    good, bad = Reply(text="Use pnpm"), Reply(text="Use npm")
    found = judge.score(
        [
            (task(SAYS_PNPM), bad),
            (task(SAYS_PNPM, rubric="Be brief"), good),
            (task(SAYS_PNPM, rubric="Be brief"), good),
            (task(SAYS_PNPM, NOT_NPM), good),
            (task(SAYS_PNPM, rubric="Be brief"), bad),
            (task(rubric="Be brief"), bad),
            (task(SAYS_PNPM, rubric="Be brief"), good),
        ]
    )
    assert [score if isinstance(score, CallFailed) else (score.hard, score.soft) for score in found] == [
        (0, 0),
        (1, 0.9),
        (0, 0.6),
        (1, 1),
        (0, 0.9),
        (0, 0.5),
        down,
    ]
    assert isinstance(found[4], Score)
    assert found[4].notes == ("failed: says `pnpm`", "rubric 0.90: ")
    assert len(optimizer.asked) == 5


def test_judging_is_as_repeatable_as_the_judges_used() -> None:
    """A judge model makes a difference only where a task has a rubric; it is named with its model."""
    judge = TaskJudge(rubric_judge(Optimizer([], deterministic=False)))
    alone: Judge = judge.used_for([task(SAYS_PNPM)])
    both: Judge = judge.used_for([task(SAYS_PNPM), task(rubric="Be brief")])
    assert (alone.name, alone.deterministic) == ("checks", True)
    assert (both.name, both.deterministic) == ("checks+rubric:scripted:m1", False)
    assert TaskJudge(rubric_judge(Optimizer([]))).deterministic
