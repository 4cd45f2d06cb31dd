"""Several calls at once: how many, in which order they are answered, and which of them goes first."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from skillopt_git.backends.pooled import WORTH_CACHING, Pooled
from skillopt_git.backends.scripted import Scripted
from skillopt_git.doors import spoken
from skillopt_git.ports import CallFailed, Reply, Request
from skillopt_git.prompts import SHIPPED

LONG = "This is how we work.\n" * (WORTH_CACHING // 20)


@dataclass
class Slow:
    """Takes a moment for each call, and knows how many were under way whenever one began."""

    under_way: list[int] = field(default_factory=list)
    now: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: Request) -> Reply | CallFailed:
        with self.lock:
            self.now += 1
            self.under_way.append(self.now)
        time.sleep(0.03)
        with self.lock:
            self.now -= 1
        return Reply(text=request.ask)


def asks(*documents: tuple[str, str], count: int = 6) -> list[Request]:
    return [Request(role="target", purpose="rollout", ask=f"{at}", documents=documents) for at in range(count)]


def alone(pooled: Pooled, slow: Slow, requests: Sequence[Request]) -> int:
    """How many calls, of those that were asked now, began and ended before any other began."""
    slow.under_way.clear()
    assert [reply.text for reply in pooled.complete(requests) if isinstance(reply, Reply)] == [
        request.ask for request in requests
    ]
    return next(at for at, number in enumerate(slow.under_way) if number > 1) - 1


@pytest.mark.parametrize("jobs", [1, 3])
def test_so_many_are_under_way_at_most(jobs: int) -> None:
    """And answers come in the order of the questions."""
    slow = Slow()
    replies = Pooled(inner=Scripted(script=slow), jobs=jobs).complete(asks())

    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [*"012345"]
    assert max(slow.under_way) == jobs


def test_what_is_long_and_new_is_sent_once_before_the_rest() -> None:
    """The others find it in the provider's cache; an edit at the end is little, one in front of it all is not."""
    slow = Slow()
    pooled = Pooled(inner=Scripted(script=slow), jobs=3)
    memory, skill = ("CLAUDE.md", LONG), (".claude/skills/acme/SKILL.md", LONG)

    assert alone(pooled, slow, asks(memory, skill)) == 1
    assert alone(pooled, slow, asks(memory, skill)) == 0
    assert alone(pooled, slow, asks(memory, (skill[0], f"{LONG}- Use pnpm\n"))) == 0
    assert alone(pooled, slow, asks(memory, (skill[0], f"Use pnpm\n{LONG}"))) == 1
    assert alone(pooled, slow, asks(("CLAUDE.md", "Be brief.\n"))) == 0


def test_what_is_taught_most_comes_last_in_a_prompt() -> None:
    """Whatever its path: a memory stands before it, so that its edits leave that in the provider's cache."""
    (request,) = asks((".claude/skills/acme/SKILL.md", "The skill."), ("CLAUDE.md", "The memory."), count=1)

    system = spoken(request, SHIPPED).system

    assert system.index("The memory.") < system.index("The skill.")
