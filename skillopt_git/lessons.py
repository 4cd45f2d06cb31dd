"""What the training tasks of a need teach: which of them come out wrong, which come out right, and what else was asked
like them.

Nothing here is held out: whatever a lesson shows has told its sessions, whose other tasks judge no rule of this need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillopt_git import gate
from skillopt_git.config import Gate
from skillopt_git.consolidate import Bench
from skillopt_git.documents import Documents
from skillopt_git.model import Need, Task
from skillopt_git.replay import Rollout, Round
from skillopt_git.similarity import similarity

SHOWN_TASKS = 5  # that come out wrong
SHOWN_PASSING = 3
ALIKE = 0.6  # of two asks: at or above it they ask the like


@dataclass(frozen=True, slots=True)
class Attempts:
    """A training task and its answers that could be judged, the worst first."""

    task: Task
    rollouts: tuple[Rollout, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """What is shown to whoever words a rule: tasks that sometimes fail, tasks that never do, and asks of earlier nights
    that are like them."""

    failing: tuple[Attempts, ...] = ()
    passing: tuple[Attempts, ...] = ()
    alike: tuple[Task, ...] = ()

    @property
    def tasks(self) -> tuple[Task, ...]:
        return (*(item.task for item in (*self.failing, *self.passing)), *self.alike)


def attempts(tasks: Sequence[Task], documents: Documents, bench: Bench, times: int = 1) -> tuple[Attempts, ...]:
    """Each task answered so many times: the first answer may be a remembered one, the others belong to tonight."""
    samples = ["", *(f"{bench.tonight}/dream/{number}" for number in range(2, times + 1))]
    answers = bench.replay([Round(tasks, documents, sample) for sample in samples])
    return tuple(
        Attempts(task, tuple(sorted((item for item in own if item.score), key=lambda item: worth(item, bench.gate))))
        for task, *own in zip(tasks, *answers, strict=True)
    )


def worth(rollout: Rollout, rules: Gate) -> float:
    """By the gate's own metric, so that who learns from answers prefers what the gate does."""
    return gate.metric(rollout.score, rules) if rollout.score is not None else 0.0


def lessons(need: Need, practised: Iterable[Attempts], rules: Gate) -> Lessons:
    """Those of one need; a task that could not be measured teaches nothing."""
    own = [item for item in practised if need.id in item.task.needs and item.rollouts]
    passing = [item for item in own if worth(item.rollouts[0], rules) >= 1]
    failing = [item for item in own if item not in passing]
    return Lessons(failing=tuple(failing[:SHOWN_TASKS]), passing=tuple(passing[:SHOWN_PASSING]))


def alike(shown: Sequence[Task], known: Iterable[Task], most: int) -> tuple[Task, ...]:
    """Of the training tasks of earlier nights at most so many, which ask what these ask or nearly so, the nearest
    first. Each ask counts once."""
    asks = {task.ask for task in shown}
    others = {task.ask: task for task in known if task.split == "train" and task.ask not in asks}
    near = {task.id: max((similarity(task.ask, ask) for ask in asks), default=0.0) for task in others.values()}
    found = sorted((task for task in others.values() if near[task.id] >= ALIKE), key=lambda it: (-near[it.id], it.id))
    return tuple(found[:most])
