"""A backend that asks several things at once. Results come in input order all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from skillopt_git.doors import steady_first
from skillopt_git.ports import Backend, CallFailed, Reply, Request

WORTH_CACHING = 4_000  # characters of documents: about where providers begin to cache what prompts share


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """`jobs` calls of `inner` are under way at most; one at a time needs no threads.

    Where many requests share long documents, one goes first, so that the others find them in the provider's cache;
    there is no need where most of them were `sent` before, as with an edit at the end of a document.
    """

    inner: Backend
    jobs: int
    sent: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def deterministic(self) -> bool:
        return self.inner.deterministic

    @property
    def simulated(self) -> bool:
        return self.inner.simulated

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        return self.inner.settings

    @property
    def knows(self) -> str:
        return self.inner.knows

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        if self.jobs == 1 or len(requests) < 2 or self.simulated:
            return self.inner.complete(requests)
        first, rest = self._warming(requests)
        results: dict[int, Reply | CallFailed] = {}
        pool = ThreadPoolExecutor(max_workers=self.jobs)
        try:
            for places in (first, rest):
                results |= zip(places, pool.map(self._one, [requests[place] for place in places]), strict=True)
        finally:  # whoever interrupts does not wait for what was not begun
            pool.shutdown(wait=True, cancel_futures=True)
        return [results[place] for place in range(len(requests))]

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


def _shared(one: str, other: str) -> int:
    """How long a beginning two texts share."""
    ends = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in ends if left != right), min(len(one), len(other)))
