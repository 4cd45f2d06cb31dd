"""What it costs to take new tasks into a bank, against fingerprinting the same asks once, which grows with them.

Unrelated asks are the worst case: each is compared with all before it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from skillopt_git.bank import Bank, admit
from skillopt_git.config import Mine
from skillopt_git.model import Task
from skillopt_git.similarity import simhash

SIZES = (250, 500, 1_000, 2_000)
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
    print("tasks   fingerprints   first night   of it   next night   of it")
    for size in SIZES:
        tasks = tuple(Task(id=f"t1-{number}", ask=ask) for number, ask in enumerate(asks(size)))
        base = seconds(lambda tasks=tasks: [simhash(task.ask) for task in tasks])  # type: ignore[misc]
        began = time.perf_counter()
        first = admit(Bank(tasks=tasks), families={}, mine=Mine())
        admitted = time.perf_counter() - began
        known = {family.id: family for family in first.families}
        again = seconds(lambda bank=first.bank, known=known: admit(bank, families=known, mine=Mine()))  # type: ignore[misc]
        print(
            f"{size:5}   {base:10.2f} s   {admitted:9.2f} s {admitted / base:6.1f}x "
            f"{again:10.2f} s {again / base:6.1f}x"
        )


if __name__ == "__main__":
    main()
