"""Several calls at once: how many, in which order they are answered, and which of them goes first."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from skillopt_git.backends import pooled
from skillopt_git.backends.pooled import ENOUGH, WORTH_CACHING, Pooled
from skillopt_git.backends.scripted import Scripted
from skillopt_git.doors import spoken
from skillopt_git.ports import Asking, CallFailed, FailureKind, LearningEvent, Reply, Request
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


def alone(many: Pooled, slow: Slow, requests: Sequence[Request]) -> int:
    """How many calls, of those that were asked now, began and ended before any other began."""
    slow.under_way.clear()
    assert [reply.text for reply in many.complete(requests) if isinstance(reply, Reply)] == [
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
    many = Pooled(inner=Scripted(script=slow), jobs=3)
    memory, skill = ("CLAUDE.md", LONG), (".claude/skills/acme/SKILL.md", LONG)

    assert alone(many, slow, asks(memory, skill)) == 1
    assert alone(many, slow, asks(memory, skill)) == 0
    assert alone(many, slow, asks(memory, (skill[0], f"{LONG}- Use pnpm\n"))) == 0
    assert alone(many, slow, asks(memory, (skill[0], f"Use pnpm\n{LONG}"))) == 1
    assert alone(many, slow, asks(("CLAUDE.md", "Be brief.\n"))) == 0


def test_what_is_taught_most_comes_last_in_a_prompt() -> None:
    """Whatever its path: a memory stands before it, so that its edits leave that in the provider's cache."""
    (request,) = asks((".claude/skills/acme/SKILL.md", "The skill."), ("CLAUDE.md", "The memory."), count=1)

    system = spoken(request, SHIPPED).system

    assert system.index("The memory.") < system.index("The skill.")


def test_what_one_call_raises_is_raised_when_the_others_have_ended() -> None:
    """And nothing new begins."""
    ended: list[str] = []

    def script(request: Request) -> Reply:
        if request.ask == "0":
            raise RuntimeError("no")
        time.sleep(0.1)
        ended.append(request.ask)
        return Reply(text="done")

    with pytest.raises(RuntimeError, match="no"):
        Pooled(inner=Scripted(script=script), jobs=3).complete(asks(count=30))
    assert len(ended) <= 3


def test_one_at_a_time_is_answered_one_at_a_time() -> None:
    """So that each answer can be kept before the next is asked for."""
    sizes: list[int] = []

    class Sizes(Scripted):
        def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
            sizes.append(len(requests))
            return super().complete(requests)

    Pooled(inner=Sizes(script=lambda _: Reply(text="done")), jobs=1).complete(asks(count=3))
    assert sizes == [1, 1, 1]


def test_whoever_is_interrupted_asks_for_no_more_and_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a moment in which calls under way may end."""
    monkeypatch.setattr(pooled, "MOMENT", 0.3)
    begun, over, leaving = list[str](), threading.Event(), list[int]()

    def script(request: Request) -> Reply:
        begun.append(request.ask)
        if len(begun) == 3:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        over.wait(20)
        return Reply(text="done")

    backend = Pooled(inner=Scripted(script=script), jobs=3, leave=lambda: leaving.append(1))
    usual, before = signal.signal(signal.SIGINT, signal.default_int_handler), time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            backend.complete(asks(count=30))
    finally:
        signal.signal(signal.SIGINT, usual)
        over.set()
    assert time.monotonic() - before < 5
    assert leaving != []
    time.sleep(0.1)
    assert len(begun) == 3


def test_what_ends_within_a_moment_is_waited_for_whichever_call_it_is() -> None:
    """Also the one that was being waited for when the signal came."""
    leaving, ended = threading.Event(), list[str]()

    def script(request: Request) -> Reply:
        if request.ask == "2":
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        leaving.wait(5)
        time.sleep(0.2)
        ended.append(request.ask)
        return Reply(text=request.ask)

    with pytest.raises(KeyboardInterrupt):
        Pooled(inner=Scripted(script=script), jobs=3, leave=leaving.set).complete(asks())

    assert sorted(ended) == [*"012"]


def test_each_answer_is_told_one_after_the_other() -> None:
    """Of many that take long, somebody who watches sees how far they are."""
    heard: list[LearningEvent] = []

    Pooled(inner=Scripted(script=Slow()), jobs=3, notify=heard.append).complete(asks(("CLAUDE.md", LONG), count=5))

    assert heard == [Asking("rollout", done, 5) for done in range(1, 6)]


@dataclass
class Failing:
    """Answers what is in `good`, and fails for `kind` otherwise."""

    kind: FailureKind
    good: frozenset[str] = frozenset()
    asked: int = 0

    def __call__(self, request: Request) -> Reply | CallFailed:
        self.asked += 1
        return Reply(text="yes") if request.ask in self.good else CallFailed(self.kind, f"no {request.ask}")


@pytest.mark.parametrize("jobs", [1, 3])
def test_what_nothing_answers_is_not_asked_for_ever(jobs: int) -> None:
    """A server that hangs takes its time for each call: after enough of them the rest fail with the last one."""
    failing = Failing("timeout")

    found = Pooled(inner=Scripted(script=failing), jobs=jobs).complete(asks(count=50))

    assert ENOUGH <= failing.asked < ENOUGH + jobs
    assert {item.kind for item in found if isinstance(item, CallFailed)} == {"timeout"}
    assert len(found) == 50


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize(("kind", "good"), [("refused", ""), ("empty", ""), ("timeout", "5,11,17,23")])
def test_single_failures_end_nothing(jobs: int, kind: FailureKind, good: str) -> None:
    """One that was refused for what it asks says nothing of the next; nor where some are answered in between."""
    failing = Failing(kind, frozenset(good.split(",")))

    Pooled(inner=Scripted(script=failing), jobs=jobs).complete(asks(count=26))

    assert failing.asked == 26


def test_what_is_wanted_twice_is_asked_once() -> None:
    """Both get the one answer."""
    failing = Failing("timeout", frozenset("0123456789"))

    found = Pooled(inner=Scripted(script=failing), jobs=3).complete([*asks(), *asks()])

    assert (len(found), failing.asked) == (12, 6)
