"""What holds for every exchange over HTTP: it takes no longer and is no larger than was allowed, whatever a server
does; it goes to one host, and through a proxy only where that is another machine.

A server that sends a byte now and then, be it of a header, keeps to every time limit between two reads. So each
exchange has a thread of its own, which is not waited for when the time is up.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from threading import Thread
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import finalize

import httpx2

from skillopt_git.errors import ConfigError
from skillopt_git.hosts import host, is_here

LARGEST = 16_000_000  # bytes; the longest answers of models have a hundredth of this
_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
_ALIVE = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),)  # so that a long thought is not taken for a dead connection


_TIMED_OUT = (408, 504)


class TooLarge(Exception):
    """More came than any answer holds; the rest is not read."""


def client(
    address: str,
    seconds: float,
    *,
    largest: int = LARGEST,
    refuse: Callable[[str], Exception] = TooLarge,
    late: Callable[[str], Exception] | None = None,
) -> httpx2.Client:
    """Speaks to the server at `address`, and follows no redirect. An exchange ends within so many `seconds`, else with
    a time-out, and for what is larger than `largest` with what `refuse` makes of the reason.

    The libraries ask again after a time-out. With `late`, which makes an error of it that is none of theirs, they do
    not: a model may have worked all that time, and whoever pays for it has to be asked first.

    Raises `ConfigError` where the environment names a proxy that is none.
    """
    try:
        inner = httpx2.HTTPTransport(verify=_trust(), proxy=_proxy(address), limits=_LIMITS, socket_options=_ALIVE)
    except (ValueError, ImportError, httpx2.InvalidURL) as error:
        raise ConfigError(
            f"the proxy that the environment names cannot be used ({type(error).__name__})",
            "mend HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, such as http://proxy.example:3128",
        ) from None
    bounded = Bounded(inner=inner, seconds=seconds, largest=largest, refuse=refuse, late=late)
    made = httpx2.Client(transport=bounded, timeout=seconds, follow_redirects=False, trust_env=False)
    finalize(made, bounded.close)  # the libraries hang together in circles, which are cleared away in no order
    return made


_trust = cache(httpx2.create_ssl_context)  # whom the system, or SSL_CERT_FILE, trusts; reading them takes a while


def _proxy(address: str) -> str | None:
    """That of the environment. What is said to this machine would be told to another one in the clear."""
    if is_here(host(address)) or proxy_bypass(urlsplit(address).netloc.rpartition("@")[2]):
        return None
    named = getproxies()
    found = named.get(urlsplit(address).scheme) or named.get("all")
    return f"http://{found}" if found and "://" not in found else found


class Torn(httpx2.ReadError):
    """Of an answer that had begun the rest did not come: whoever gave it has worked for it. The libraries ask again, as
    after any connection that was lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded(httpx2.BaseTransport):
    """`inner`, within bounds. An answer comes whole, and unpacked."""

    inner: httpx2.BaseTransport
    seconds: float
    largest: int
    refuse: Callable[[str], Exception] = TooLarge
    late: Callable[[str], Exception] | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        told: Future[httpx2.Response] = Future()
        Thread(target=self._tell, args=(request, told, time.monotonic() + self.seconds), daemon=True).start()
        try:
            return told.result(self.seconds)
        except (TimeoutError, httpx2.TimeoutException):
            told_late = "the answer did not end in time"
            raise self.late(told_late) if self.late else httpx2.ReadTimeout(told_late, request=request) from None

    def close(self) -> None:
        self.inner.close()

    def _tell(self, request: httpx2.Request, told: Future[httpx2.Response], ends: float) -> None:
        try:
            told.set_result(self._answer(request, ends))
        except BaseException as error:  # noqa: BLE001 - whoever waits for it is told
            told.set_exception(error)

    def _answer(self, request: httpx2.Request, ends: float) -> httpx2.Response:
        came = self.inner.handle_request(request)
        try:
            body = b"".join(self._parts(came, ends))
        except (httpx2.ReadError, httpx2.RemoteProtocolError, httpx2.DecodingError) as error:
            if came.is_success:
                raise Torn(str(error), request=request) from error
            raise
        finally:
            came.close()
        kept = self._passed_on(came.headers)
        if self.late and came.status_code in _TIMED_OUT:
            kept["x-should-retry"] = "false"
        return httpx2.Response(came.status_code, headers=kept, content=body, request=request)

    def _parts(self, came: httpx2.Response, ends: float) -> Iterator[bytes]:
        size = 0
        for part in came.iter_bytes():
            size += len(part)
            if size > self.largest:
                raise self.refuse(f"more than {self.largest:,} bytes came")
            if time.monotonic() > ends:  # nobody waits for the rest
                raise TimeoutError
            yield part

    def _passed_on(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers, of a body that is unpacked by now. The libraries wait for as long as a server tells them to, be
        it a day; for longer than an exchange may take is too long."""
        framing = ("content-encoding", "content-length", "transfer-encoding")
        kept = {name: value for name, value in headers.items() if name not in framing}
        return kept | {"x-should-retry": "false"} if _told_to_wait(kept) > self.seconds else kept


def _told_to_wait(headers: Mapping[str, str]) -> float:
    """In seconds; 0 where nothing is said that can be understood."""
    with suppress(KeyError, ValueError):
        return float(headers["retry-after-ms"]) / 1000
    with suppress(KeyError, ValueError):
        return float(headers["retry-after"])
    with suppress(KeyError, ValueError):
        return parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time()
    return 0.0
