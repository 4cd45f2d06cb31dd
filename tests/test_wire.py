"""Every answer over HTTP ends."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from skillopt_git import wire


class Parts(httpx2.SyncByteStream):
    """A body in parts; `closed` once nobody wants more of it."""

    closed = False

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts

    def __iter__(self) -> Iterator[bytes]:
        yield from self.parts

    def close(self) -> None:
        self.closed = True


def get(stream: httpx2.SyncByteStream, *times: float, largest: int = 10) -> bytes:
    """What a client with bounds gets of that body; the clock shows one time after the other."""
    clock = iter(times)
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=stream))
    hooks = {name: list(hooks) for name, hooks in wire.bounds(5, largest, lambda: next(clock)).items()}
    with httpx2.Client(transport=transport, event_hooks=hooks) as client:
        return client.get("http://127.0.0.1").content


def test_an_answer_in_time_and_of_a_size_is_whole() -> None:
    """To the last byte and second that are allowed."""
    stream = Parts(b"12345", b"67890")
    assert get(stream, 100.0, 103.0, 105.0) == b"1234567890"
    assert stream.closed


def test_what_takes_too_long_times_out_though_each_part_is_quick() -> None:
    """The time counts from when it was asked."""
    stream = Parts(b"1", b"2", b"3")
    with pytest.raises(httpx2.ReadTimeout, match="did not end in time"):
        get(stream, 100.0, 103.0, 105.1)
    assert stream.closed


def test_of_what_is_too_large_the_rest_is_not_read() -> None:
    """However much more there would be."""
    stream = Parts(b"12345", b"678901", b"never seen")
    with pytest.raises(wire.TooLarge, match="more than 10 bytes"):
        get(stream, 100.0, 100.0)
    assert stream.closed
