"""A backend that asks several things at once. Results come in input order all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from skillopt_git.ports import Backend, CallFailed, Reply, Request

WORTH_CACHING = 4_000  # characters of documents: about where providers begin to cache what prompts share


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """`jobs` calls of `inner` are under way at most; one at a time needs no threads.

    Where many requests share long documents, one goes first, so that the others find them in the provider's cache.
    """

    inner: Backend
    jobs: int

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
        first, rest = _warming(requests)
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


def _warming(requests: Sequence[Request]) -> tuple[list[int], list[int]]:
    """The places of the first request of each long set of documents, and of all others."""
    seen: set[tuple[tuple[str, str], ...]] = set()
    first: list[int] = []
    for place, request in enumerate(requests):
        long = sum(len(text) for _, text in request.documents) >= WORTH_CACHING
        if long and request.documents not in seen:
            seen.add(request.documents)
            first.append(place)
    return first, [place for place in range(len(requests)) if place not in first]
