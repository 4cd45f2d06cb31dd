"""What a simulation starts from: what it was told, else what the repository knows, else a usual case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Literal

from skillopt_git.model import Event, Evidence, Task
from skillopt_git.simulation import Noise, World

Origin = Literal["given", "bank", "history", "assumed"]

LEAST_SEEN = 3  # tasks with a history; fewer say little about the others


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a person said; None and empty: nothing."""

    tasks: int | None = None
    noise: Noise | None = None
    rates: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """The world to simulate, and where the number of its tasks and their chances of passing come from."""

    world: World
    tasks_from: Origin
    chances_from: Origin


def premises(given: Given, tasks: Iterable[Task], evidence: Iterable[Evidence], usual: World) -> Premises:
    """`usual` stands where neither a person nor the repository says otherwise."""
    typical = given.tasks or typical_need(tasks)
    world = replace(usual, tasks=typical or usual.tasks, rates=given.rates, noise=given.noise or usual.noise)
    told = bool(given.rates or given.noise)
    seen = () if told else tuple(passes(evidence).values())
    if len(seen) >= LEAST_SEEN:
        world = replace(world, seen=seen)
    return Premises(
        world=world,
        tasks_from="given" if given.tasks else "bank" if typical else "assumed",
        chances_from="given" if told else "history" if world.seen else "assumed",
    )


def typical_need(tasks: Iterable[Task]) -> int | None:
    """How many held-out tasks judge a rule: the median over the needs that have some; without needs, all of them."""
    held_out = [task for task in tasks if task.split == "val"]
    by_need = Counter(need for task in held_out for need in task.needs)
    return median_low(by_need.values()) if by_need else len(held_out) or None


def passes(evidence: Iterable[Evidence]) -> Mapping[str, tuple[int, int]]:
    """By task: how often it passed under the base, out of how many rollouts.

    Evidence of a later night repeats what earlier nights of its trial measured; each night counts once.
    """
    nights = {
        (item.document, item.base_blob, item.edits, row.task, row.night): (row.task, row.base)
        for item in evidence
        for row in item.tasks
    }
    found: dict[str, tuple[int, int]] = {}
    for task, base in nights.values():
        told = [passed for passed in base if passed is not None]
        before = found.get(task, (0, 0))
        found[task] = (before[0] + sum(told), before[1] + len(told))
    return {task: (passed, of) for task, (passed, of) in found.items() if of}


def measured_evidence(events: Iterable[Event]) -> list[str]:
    """The names of the evidence of real nights, oldest first; what was simulated says nothing about a model."""
    gates = [event for event in events if event.type == "gate" and not event.simulated and event.data.get("evidence")]
    ordered = sorted(gates, key=lambda event: event.run or "")
    return list(dict.fromkeys(str(event.data["evidence"]) for event in ordered))
