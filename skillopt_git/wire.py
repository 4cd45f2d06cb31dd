"""What holds for every answer over HTTP: it takes no longer and is no larger than was allowed, whatever a server does.

A server that sends a byte now and then keeps to every time limit between two reads, so the whole is timed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, cast

import httpx2

LARGEST = 16_000_000  # bytes; the longest answers of models have a hundredth of this
_BEGUN = "skillopt_git.begun"


class TooLarge(Exception):
    """More came than any answer holds; the rest is not read."""


def bounds(seconds: float, largest: int = LARGEST, now: Callable[[], float] = monotonic) -> Mapping[str, list[Any]]:
    """The event hooks of an HTTP client whose calls end: with a time-out, or with `TooLarge`."""

    def begin(request: httpx2.Request) -> None:
        request.extensions[_BEGUN] = now()

    def bound(response: httpx2.Response) -> None:
        stream = cast("httpx2.SyncByteStream", response.stream)  # a client that waits has no other kind
        until = response.request.extensions[_BEGUN] + seconds
        response.stream = _Bounded(inner=stream, request=response.request, until=until, largest=largest, now=now)

    return {"request": [begin], "response": [bound]}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounded(httpx2.SyncByteStream):
    inner: httpx2.SyncByteStream
    request: httpx2.Request
    until: float
    largest: int
    now: Callable[[], float] = field(repr=False)

    def __iter__(self) -> Iterator[bytes]:
        left = self.largest
        for chunk in self.inner:
            left -= len(chunk)
            if left < 0:
                raise TooLarge(f"more than {self.largest:,} bytes")
            if self.now() > self.until:
                raise httpx2.ReadTimeout("the answer did not end in time", request=self.request)
            yield chunk

    def close(self) -> None:
        self.inner.close()
