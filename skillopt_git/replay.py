"""Tasks answered again by the target model under a set of documents, and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from skillopt_git.documents import Documents
from skillopt_git.doors import remedy
from skillopt_git.errors import BackendError, BudgetSpent
from skillopt_git.model import Score, Task
from skillopt_git.ports import Backend, Called, CallFailed, Judge, Listener, Reply, Request
from skillopt_git.used import Used

PASSING = frozenset({"network", "rate", "timeout"})  # failures that may be gone when tried again
LASTING = frozenset({"auth", "quota", "budget"})  # failures that every other call would meet, too
DEAD = PASSING | LASTING | {"process"}

NONE_USED = Used()


@dataclass(frozen=True, slots=True)
class Round:
    """Tasks that are answered once each under the same documents. Without a `sample` a remembered answer may serve
    again."""

    tasks: Sequence[Task]
    documents: Documents
    sample: str = ""


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
    rounds: Sequence[Round],
    *,
    target: Backend,
    judge: Judge,
    notify: Listener,
    used: Used = NONE_USED,
    tonight: str = "",
) -> tuple[tuple[Rollout, ...], ...]:
    """One rollout a task of each round, in their order, under those of its documents that it reads. All of them are
    asked at once, for what waits for nothing costs no time of its own. `tonight` begins the samples of what is asked
    anew each night."""
    asked = [(task, item) for item in rounds for task in item.tasks]
    if not asked:
        return tuple(() for _ in rounds)
    replies = target.complete([request(task, used.under(item.documents, task), item.sample) for task, item in asked])
    answered = [
        (task, reply, item.sample)
        for (task, item), reply in zip(asked, replies, strict=True)
        if isinstance(reply, Reply)
    ]
    scores = iter(
        judge.score([(task, reply) for task, reply, _ in answered], [sample for *_, sample in answered], tonight)
    )
    rollouts = [
        _rollout(task, reply, next(scores) if isinstance(reply, Reply) else reply)
        for (task, _), reply in zip(asked, replies, strict=True)
    ]
    notify(Called("rollout", len(rollouts), sum(item.score is None for item in rollouts)))
    each = iter(rollouts)
    return tuple(tuple(islice(each, len(item.tasks))) for item in rounds)


def raise_dead(failures: Sequence[CallFailed], health: Callable[[], CallFailed | None]) -> None:
    """A backend that cannot answer at all is an error, never a night of zeros; so it is with a budget that is spent.

    But a question may fail for what it is, or because a server is slow just then. So unless a failure says for sure
    that others would fail, too, `health` asks whether the models are there: why they are not, or None."""
    lasting = next((item for item in failures if item.kind in LASTING), None)
    if lasting is not None:
        raise dead(lasting)
    found = next((item for item in failures if item.kind in DEAD), None)
    why = health() if found is not None else None
    if found is not None and why is not None:
        raise dead(why if why.kind == "budget" else found)


def raise_spent(failures: Sequence[CallFailed]) -> None:
    """What the budget has no room for is no missing measurement: it was not begun, and another night goes on."""
    found = next((item for item in failures if item.kind == "budget"), None)
    if found is not None:
        raise dead(found)


def dead(failure: CallFailed) -> BackendError:
    if failure.kind == "budget":
        return BudgetSpent(failure.message)
    return BackendError(failure.kind, failure.message, retryable=failure.kind in PASSING, hint=remedy(failure.kind))


def _rollout(task: Task, reply: Reply | CallFailed, found: Score | CallFailed) -> Rollout:
    if isinstance(found, CallFailed):
        return Rollout(task=task, reply=reply, score=None, failure=found)
    return Rollout(task=task, reply=reply, score=found, failure=None)
