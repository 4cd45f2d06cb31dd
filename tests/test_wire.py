"""Every exchange over HTTP ends, and goes where it is meant to."""

from __future__ import annotations

import gc
import gzip
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import httpx2
import pytest

from skillopt_git import wire
from skillopt_git.errors import ConfigError

Tells = Callable[[socket.socket], object]


@contextmanager
def telling(tells: Tells) -> Iterator[tuple[str, list[bytes]]]:
    """A server that tells each caller the same, byte for byte; its address, and how each call began."""
    heard: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:
                return
            with caller, suppress(OSError):
                heard.append(caller.recv(65536))
                tells(caller)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", heard
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)


def said(*parts: bytes, headers: Sequence[str] = (), status: str = "200 OK") -> Tells:
    """A whole answer, its body in parts."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"content-length: {sum(map(len, parts))}", *headers, "", ""])
    return lambda caller: caller.sendall(b"".join((head.encode(), *parts)))


def dripping(start: bytes, drop: bytes) -> Tells:
    """Each byte comes in time, and the last one never."""

    def tells(caller: socket.socket) -> None:
        caller.sendall(start)
        caller.settimeout(0.05)
        while True:
            caller.sendall(drop)
            with suppress(TimeoutError):
                if not caller.recv(1):
                    return  # who asked has gone

    return tells


def get(address: str, seconds: float = 5.0, largest: int = 10) -> httpx2.Response:
    with wire.client(address, seconds, largest=largest) as client:
        return client.get(address)


def test_an_answer_in_time_and_of_a_size_is_whole() -> None:
    """To the last byte that is allowed."""
    with telling(said(b"12345", b"67890", headers=["x-id: 7"])) as (address, _):
        answer = get(address)
    assert (answer.status_code, answer.content, answer.headers["x-id"]) == (200, b"1234567890", "7")


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n"),
        (b"HTTP/1.1 200", b"0"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n", b" "),
        (b"", b""),
    ],
    ids=["header", "status", "body", "silence"],
)
def test_what_takes_too_long_times_out_though_each_part_is_quick(start: bytes, drop: bytes) -> None:
    """The time counts from when it was asked, for the header as for the body."""
    began = time.monotonic()
    with telling(dripping(start, drop)) as (address, _), pytest.raises(httpx2.ReadTimeout):
        get(address, seconds=0.3, largest=9000)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("drop", [b" ", b""], ids=["drip", "silence"])
def test_a_time_out_may_be_an_error_of_ones_own(drop: bytes) -> None:
    """Which the libraries do not know, and so do not ask again by themselves."""
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n" if drop else b""
    with telling(dripping(head, drop)) as (address, heard), pytest.raises(KeyError, match="did not end in time"):
        wire.client(address, 0.3, late=KeyError).get(address)
    assert len(heard) == 1


@pytest.mark.parametrize(("status", "again"), [("408 Late", False), ("504 Late", False), ("503 No", True)])
def test_a_gateways_time_out_is_one_too(status: str, again: bool) -> None:
    """A model may have worked behind it."""
    with telling(said(status=status)) as (address, _), wire.client(address, 5.0, late=KeyError) as client:
        assert client.get(address).headers.get("x-should-retry") == (None if again else "false")


@pytest.mark.parametrize("packed", [False, True])
def test_of_what_is_too_large_the_rest_is_not_read(packed: bool) -> None:
    """However much more there would be; unpacked, it counts as large as it is."""
    body = b" " * 1000
    sent = said(gzip.compress(body), headers=["content-encoding: gzip"]) if packed else said(body)
    with telling(sent) as (address, _), pytest.raises(wire.TooLarge, match="more than 10 bytes"):
        get(address)


@pytest.mark.parametrize(
    ("tells", "torn"),
    [
        (lambda caller: caller.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n1234"), True),
        (said(b"not packed", headers=["content-encoding: gzip"]), True),
        (lambda caller: caller.sendall(b"HTTP/1.1 500 Broken\r\ncontent-length: 10\r\n\r\n1234"), False),
        (lambda _: None, False),
    ],
    ids=["half", "garbled", "half an error", "nothing"],
)
def test_whoever_gave_half_an_answer_has_worked(tells: Tells, torn: bool) -> None:
    """It may be paid for; what broke before it began is not."""
    with telling(tells) as (address, _), pytest.raises(httpx2.TransportError) as caught:
        get(address, largest=100)
    assert isinstance(caught.value, wire.Torn) is torn


def test_a_packed_answer_comes_unpacked() -> None:
    """As any other, and says so."""
    with telling(said(gzip.compress(b"[1, 2]"), headers=["content-encoding: gzip"])) as (address, _):
        answer = get(address)
    assert (answer.json(), "content-encoding" in answer.headers) == ([1, 2], False)


@pytest.mark.parametrize(
    ("headers", "again"),
    [
        (["retry-after: 86400"], False),
        (["retry-after: inf"], False),
        (["retry-after: Fri, 31 Dec 2100 23:59:59 GMT"], False),
        (["retry-after-ms: 86400000"], False),
        (["retry-after: 2"], True),
        (["retry-after-ms: 20", "retry-after: 86400"], True),
        (["retry-after: soon"], True),
        ([], True),
    ],
)
def test_a_days_patience_is_not_asked_of_a_library(headers: list[str], again: bool) -> None:
    """It would sleep; for longer than an exchange may take is too long."""
    with telling(said(headers=headers, status="429 Too Many Requests")) as (address, _):
        answer = get(address)
    assert answer.headers.get("x-should-retry") == (None if again else "false")


def test_a_redirect_is_not_followed() -> None:
    """A key would go along."""
    with telling(said(headers=["location: http://127.0.0.1:1/"], status="307 Temporary Redirect")) as (address, _):
        assert get(address).status_code == 307


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """What a proxy hears that the environment names for everything."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with telling(said(b"proxy")) as (address, heard):
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, address)
        yield heard


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_what_is_said_to_this_machine_goes_through_no_proxy(proxied: list[bytes], name: str) -> None:
    """It is said in the clear."""
    with telling(said(b"here")) as (address, heard):
        assert get(address.replace("127.0.0.1", name)).content == b"here"
    assert (len(heard), proxied) == (1, [])


def test_another_machine_is_spoken_to_through_the_proxy(proxied: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """As the environment says, which may except a host."""
    assert get("http://models.example/v1").content == b"proxy"
    assert proxied[0].startswith(b"GET http://models.example/v1 ")
    monkeypatch.setenv("NO_PROXY", "models.invalid")
    with pytest.raises(httpx2.ConnectError):
        get("http://models.invalid/v1")
    assert len(proxied) == 1


@pytest.mark.parametrize("proxy", ["ftp://alice:secret@proxy.example", "http://alice:secret@[::1"])
def test_a_proxy_that_is_none_is_told_without_what_opens_it(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    """Before anything is asked."""
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(ConfigError, match="the proxy that the environment names cannot be used") as caught:
        wire.client("https://models.example", 1.0)
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_a_client_that_nobody_holds_leaves_no_connection_open() -> None:
    """Also one that hangs together with others in a circle, as those of the libraries do."""
    over = threading.Event()

    class Holder:
        """Of a client, and of itself."""

        def __init__(self, address: str) -> None:
            self.itself, self.client = self, wire.client(address, 5)

    def tells(caller: socket.socket) -> None:
        caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        over.wait(5)

    with telling(tells) as (address, _), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        holder = Holder(address)
        assert holder.client.get(address).text == "hello"
        del holder
        gc.collect()
        over.set()

    assert [str(item.message) for item in found if item.category is ResourceWarning] == []
