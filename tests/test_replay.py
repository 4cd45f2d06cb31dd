"""Tasks answered again and judged."""

from __future__ import annotations

from skillopt_git.backends.scripted import Scripted
from skillopt_git.documents import Documents
from skillopt_git.judges import CheckJudge
from skillopt_git.model import Check, Task
from skillopt_git.ports import Called, CallFailed, LearningEvent, Reply, Request
from skillopt_git.replay import Rollout, Round, replay
from tests.learning import Answer, acts, models, once, task

DOCUMENTS = (("CLAUDE.md", "# Notes\n"),)


def rollouts(script: Answer, *tasks: Task, heard: list[LearningEvent] | None = None) -> list[Rollout]:
    (found,) = replay(
        [Round(tasks, DOCUMENTS)],
        target=Scripted(script=script),
        judge=CheckJudge(),
        notify=(heard if heard is not None else []).append,
    )
    return list(found)


def test_a_question_holds_the_task_the_documents_and_the_sample() -> None:
    """What a model is asked is the ask with its context, the tools that may be called, and all documents."""
    target = Scripted(script=lambda _: Reply(text="pnpm", tools=("Bash",)))
    one = task(0, context="Earlier: hello", checks=(Check(op="tool_called", arg="Bash"),))

    replay([Round([one], DOCUMENTS, "x1-1/1")], target=target, judge=CheckJudge(), notify=lambda _: None)

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

    ((only,),) = replay(
        [Round([ruled], DOCUMENTS)], target=backend, judge=models(backend, [ruled]).judge, notify=lambda _: None
    )

    assert only.score is None
    assert (only.reply, only.failure) == (Reply(text="pnpm"), failure)


def test_without_tasks_nobody_is_asked_or_told() -> None:
    """An empty list costs no call and makes no event."""
    heard: list[LearningEvent] = []
    assert rollouts(once(), heard=heard) == []
    assert heard == []


def test_several_rounds_are_asked_at_once() -> None:
    """Each answer finds its round, where a call failed before it, too; its ruling is of the sample it was given in."""
    backend = Scripted(
        script=acts(lambda request: _by_documents(request.documents), judge=_pleased), deterministic=False
    )
    plain, ruled = task(0), task(1, checks=(), rubric="It uses pnpm.")
    heard: list[LearningEvent] = []

    found = replay(
        [Round([plain, ruled], (), "x1-1/1"), Round([], (), "x1-1/1"), Round([ruled], DOCUMENTS, "x1-1/2")],
        target=backend,
        judge=models(backend, [ruled]).judge,
        notify=heard.append,
    )

    assert [[item.task for item in same] for same in found] == [[plain, ruled], [], [ruled]]
    assert [item.score is None for same in found for item in same] == [True, True, False]
    assert heard == [Called("rollout", 3, 2)]
    assert [request.sample for request in backend.asked if request.purpose == "judge"] == [
        f"x1-1/2/vote/{number}" for number in (1, 2, 3)
    ]


def _by_documents(documents: Documents) -> Reply | CallFailed:
    return Reply(text="pnpm") if documents else CallFailed("timeout", "too slow")


def _pleased(_: Request) -> Reply:
    return Reply(text='{"score": 1}')
