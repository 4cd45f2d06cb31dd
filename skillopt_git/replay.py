"""Tasks answered again by the target model under a set of documents, and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillopt_git.model import Score, Task
from skillopt_git.ports import Backend, Called, CallFailed, Judge, Listener, Reply, Request

Documents = tuple[tuple[str, str], ...]  # (path, text), as the model works under them


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One answer and its score. A failed call, of the target or the judge, leaves `score` None: missing, not zero."""

    task: Task
    reply: Reply | CallFailed
    score: Score | None
    failure: CallFailed | None


def request(task: Task, documents: Documents, sample: str) -> Request:
    tools = tuple(str(check.arg) for check in task.checks if check.op == "tool_called")
    return Request(
        role="target",
        purpose="rollout",
        ask=task.ask,
        context=task.context,
        documents=documents,
        tools=tools,
        sample=sample,
    )


def replay(
    tasks: Sequence[Task],
    documents: Documents,
    *,
    target: Backend,
    judge: Judge,
    sample: Callable[[Task], str],
    notify: Listener,
) -> tuple[Rollout, ...]:
    """One rollout a task, in the order of `tasks`."""
    if not tasks:
        return ()
    replies = target.complete([request(task, documents, sample(task)) for task in tasks])
    answered = [(task, reply) for task, reply in zip(tasks, replies, strict=True) if isinstance(reply, Reply)]
    scores = iter(judge.score(answered))
    rollouts = tuple(
        _rollout(task, reply, next(scores) if isinstance(reply, Reply) else reply)
        for task, reply in zip(tasks, replies, strict=True)
    )
    notify(Called("rollout", len(rollouts), sum(item.score is None for item in rollouts)))
    return rollouts


def _rollout(task: Task, reply: Reply | CallFailed, found: Score | CallFailed) -> Rollout:
    if isinstance(found, CallFailed):
        return Rollout(task=task, reply=reply, score=None, failure=found)
    return Rollout(task=task, reply=reply, score=found, failure=None)


def unsampled(_: Task) -> str:
    """For rollouts that are no evidence: a cached answer may serve again."""
    return ""
