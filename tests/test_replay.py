"""Tasks answered again and judged."""

from __future__ import annotations

from skillopt_git.backends.scripted import Scripted
from skillopt_git.judges import CheckJudge
from skillopt_git.model import Check, Task
from skillopt_git.ports import Called, CallFailed, LearningEvent, Reply
from skillopt_git.replay import Rollout, replay
from tests.learning import Answer, acts, models, once, task

DOCUMENTS = (("CLAUDE.md", "# Notes\n"),)


def rollouts(script: Answer, *tasks: Task, heard: list[LearningEvent] | None = None) -> list[Rollout]:
    found = replay(
        tasks,
        DOCUMENTS,
        target=Scripted(script=script),
        judge=CheckJudge(),
        sample="",
        notify=(heard if heard is not None else []).append,
    )
    return list(found)


def test_a_question_holds_the_task_the_documents_and_the_sample() -> None:
    """What a model is asked is the ask with its context, the tools that may be called, and all documents."""
    target = Scripted(script=lambda _: Reply(text="pnpm", tools=("Bash",)))
    one = task(0, context="Earlier: hello", checks=(Check(op="tool_called", arg="Bash"),))

    replay([one], DOCUMENTS, target=target, judge=CheckJudge(), sample="x1-1/1", notify=lambda _: None)

    (request,) = target.asked
    assert (request.role, request.purpose, request.ask, request.context) == ("target", "rollout", one.ask, one.context)
    assert (request.documents, request.tools, request.sample) == (DOCUMENTS, ("Bash",), "x1-1/1")


def test_answers_stay_with_their_tasks_and_a_failed_call_is_missing() -> None:
    """Scores come in the order of the tasks; a failure in between has none, and shifts nobody's."""
    heard: list[LearningEvent] = []
    failure = CallFailed("timeout", "too slow")
    answers: dict[str, Reply | CallFailed] = {
        task(0).ask: Reply(text="npm"),
        task(1).ask: failure,
        task(2).ask: Reply(text="pnpm"),
    }

    first, second, third = rollouts(lambda request: answers[request.ask], task(0), task(1), task(2), heard=heard)

    assert [item.score.hard if item.score else None for item in (first, second, third)] == [0.0, None, 1.0]
    assert (second.reply, second.failure) == (failure, failure)
    assert first.failure is None
    assert heard == [Called("rollout", 3, 1)]


def test_an_answer_that_could_not_be_judged_is_missing_too() -> None:
    """The answer is kept, the judge's failure beside it."""
    failure = CallFailed("rate", "slow down")
    backend = Scripted(script=acts(lambda _: Reply(text="pnpm"), judge=lambda _: failure))
    ruled = task(0, checks=(), rubric="It uses pnpm.")

    (only,) = replay(
        [ruled],
        DOCUMENTS,
        target=backend,
        judge=models(backend, [ruled]).judge,
        sample="",
        notify=lambda _: None,
    )

    assert only.score is None
    assert (only.reply, only.failure) == (Reply(text="pnpm"), failure)


def test_without_tasks_nobody_is_asked_or_told() -> None:
    """An empty list costs no call and makes no event."""
    heard: list[LearningEvent] = []
    assert rollouts(once(), heard=heard) == []
    assert heard == []
