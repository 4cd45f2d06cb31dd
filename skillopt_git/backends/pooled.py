"""A backend that asks several things at once. Results come in input order all the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from time import monotonic

from skillopt_git.around import Around
from skillopt_git.doors import steady_first
from skillopt_git.ports import Asking, Backend, CallFailed, Listener, Reply, Request
from skillopt_git.replay import DEAD

MOMENT = 1.0  # seconds that calls under way have when a run is broken off
ENOUGH = 8  # failures of calls in a row
WORTH_CACHING = 4_000  # characters of documents: about where providers begin to cache what prompts share


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled(Around):
    """`jobs` calls of `inner` are under way at most; one at a time needs no threads. `leave` is called when the run is
    broken off, and sees to it that calls end which would not end soon. `notify` hears of each answer, of one at a time.

    Where many requests share long documents, one goes first, so that the others find them in the provider's cache;
    there is no need where most of them were `sent` before, as with an edit at the end of a document.

    Where one call after the other fails because nothing answers, the rest of the requests are not asked, and fail with
    it: a server that hangs takes its time for each.
    """

    inner: Backend
    jobs: int
    leave: Callable[[], None] = lambda: None
    notify: Listener = lambda _: None
    sent: list[str] = field(default_factory=list)

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        wanted = list(dict.fromkeys(requests))  # what is wanted twice is asked once
        found = dict(zip(wanted, self._each(wanted), strict=True))
        return [found[request] for request in requests]

    def _each(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        results: dict[int, Reply | CallFailed] = {}
        if self.jobs == 1 or len(requests) < 2:
            for place, request in enumerate(requests):
                if _hopeless(results) is None:
                    results[place] = self._one(request)
        else:
            for places in self._warming(requests):
                self._at_once(requests, places, results)
        why = _hopeless(results)
        return [results[place] if why is None else results.get(place, why) for place in range(len(requests))]

    def _at_once(self, requests: Sequence[Request], places: Sequence[int], into: dict[int, Reply | CallFailed]) -> None:
        """The threads are daemons, so that nobody who leaves has to wait for a server that hangs. What one of them
        raises is raised here, once the others have ended what they had begun."""
        left, faults, telling = deque(places), list[BaseException](), Lock()

        def work(over: Event) -> None:
            try:
                while _hopeless(into) is None and (place := _next(left)) is not None:
                    answer = self._one(requests[place])
                    with telling:
                        into[place] = answer
                        self.notify(Asking(requests[place].purpose, len(into), len(requests)))
            except BaseException as fault:  # noqa: BLE001 - a thread has nobody to raise it to
                faults.append(fault)
                left.clear()
            finally:
                over.set()

        under_way: list[Event] = []  # a thread that is joined when a signal comes is taken for one that has ended
        try:
            for _ in range(min(self.jobs, len(places))):
                under_way.append(Event())
                Thread(target=work, args=under_way[-1:], daemon=True).start()
            for over in under_way:
                over.wait()
        except BaseException:  # broken off: what was not begun never is
            left.clear()
            self._let_go(under_way)
            raise
        if faults:
            raise faults[0]

    def _let_go(self, under_way: Sequence[Event]) -> None:
        """A moment for what ends by itself, or because it is ended, so that it is kept, counted and cleared away."""
        until = monotonic() + MOMENT
        while True:
            self.leave()
            still = next((over for over in under_way if not over.is_set()), None)
            if still is None or monotonic() > until:
                return
            still.wait(MOMENT / 20)

    def _one(self, request: Request) -> Reply | CallFailed:
        (result,) = self.inner.complete([request])
        return result

    def _warming(self, requests: Sequence[Request]) -> tuple[list[int], list[int]]:
        """The places of those that go first, because much of what they share was never sent, and of all others."""
        first: list[int] = []
        for place, request in enumerate(requests):
            text = "\0".join(text for _, text in steady_first(request.documents))
            if text not in self.sent:
                known = max((_shared(text, other) for other in self.sent), default=0)
                first += [place] if len(text) - known >= WORTH_CACHING else []
                self.sent.append(text)
        return first, [place for place in range(len(requests)) if place not in first]


def _hopeless(results: Mapping[int, Reply | CallFailed]) -> CallFailed | None:
    """The last of so many failures in a row that there is no use in asking further. `results` are in the order in which
    they came."""
    last = list(results.values())[-ENOUGH:]
    failed = [item for item in last if isinstance(item, CallFailed) and item.kind in DEAD]
    return failed[-1] if len(failed) == ENOUGH else None


def _next(left: deque[int]) -> int | None:
    try:
        return left.popleft()
    except IndexError:
        return None


def _shared(one: str, other: str) -> int:
    """How long a beginning two texts share."""
    ends = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in ends if left != right), min(len(one), len(other)))
