"""What it costs to take new tasks into a bank, against fingerprinting the same asks once, which grows with them.

Then what a later night costs that brings nothing, and one that reads everything again because the bank is gone.
Unrelated asks are the worst case: each is compared with all before it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace

from skillopt_git.bank import Bank, admit
from skillopt_git.config import Mine
from skillopt_git.families import Family, Telling
from skillopt_git.model import Task
from skillopt_git.similarity import simhash

SIZES = (1_000, 2_500, 5_000, 10_000)
WORDS = 800
LENGTH = 12  # words of an ask


def asks(count: int) -> list[str]:
    chance = random.Random(count)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(WORDS)]
    return [" ".join(chance.choices(words, k=LENGTH)) for _ in range(count)]


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    print("tasks   fingerprints   first night   of it   next night   of it   lost bank   of it")
    for size in SIZES:
        tasks = tuple(Task(id=f"t1-{number}", ask=ask) for number, ask in enumerate(asks(size)))
        base = seconds(lambda tasks=tasks: [simhash(task.ask) for task in tasks])  # type: ignore[misc]
        began = time.perf_counter()
        first = admit(Bank(tasks=tasks), families={}, mine=Mine())
        admitted = time.perf_counter() - began
        known = {item.id: replace(item, told=(telling(item),)) for item in first.families}
        again, rebuilt = (
            seconds(lambda bank=bank, known=known: admit(bank, families=known, mine=Mine()))  # type: ignore[misc]
            for bank in (first.bank, Bank(tasks=tasks))
        )
        print(
            f"{size:5}   {base:10.2f} s   {admitted:9.2f} s {admitted / base:6.2f}x "
            f"{again:10.2f} s {again / base:6.2f}x {rebuilt:9.2f} s {rebuilt / base:6.2f}x"
        )


def telling(family: Family) -> Telling:
    return Telling(machine="", run="first", needs=family.needs, tasks=family.tasks)


if __name__ == "__main__":
    main()
