"""A server on loopback that reads whole requests, notes each, and goes wrong where it is told to."""

from __future__ import annotations

import gzip
import json
import re
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NoReturn

HOST = "127.0.0.1"
JSON = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """`path` is without the query, `body` is unpacked."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}{'?' * bool(self.query)}{self.query}"

    @property
    def origin(self) -> str:
        return f"http://{self.headers['Host']}"

    def json(self) -> dict[str, Any]:
        """The fields sent; none if the body is no object."""
        try:
            sent = json.loads(self.body)
        except ValueError:
            return {}
        return sent if isinstance(sent, dict) else {}


@dataclass(frozen=True, slots=True)
class Answer:
    """With `most`, the line is cut after so many bytes of the body."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    most: int | None = None

    @classmethod
    def of(cls, status: int, value: object, *headers: tuple[str, str]) -> Answer:
        """`value` as JSON."""
        return cls(status, (("Content-Type", JSON), *headers), json.dumps(value).encode())

    @classmethod
    def text(cls, status: int, words: str, *headers: tuple[str, str]) -> Answer:
        return cls(status, (("Content-Type", "text/plain; charset=utf-8"), *headers), words.encode())

    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


@dataclass(frozen=True, slots=True)
class Cut:
    """No answer: the line goes dead, with a reset or without a word."""

    reset: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with the next `times` requests whose "METHOD /path?query" matches.

    With `after` the request is carried out first, so that only its answer suffers. `status` (with `body` as JSON)
    stands in for the answer, `headers` alone are added to it; `drop_after` bytes of it the line is cut.
    """

    match: str
    times: int = 1
    after: bool = False
    delay: float = 0.0
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: object = None
    drop_after: int | None = None
    hang: bool = False
    reset: bool = False


Serve = Callable[[Request], Answer]


class Loopback:
    """Runs `serve` at `url` between `start` and `close`. What it raises is kept in `broken`, and answered with 500."""

    def __init__(self, serve: Serve) -> None:
        self.log: list[Request] = []
        self.broken: list[BaseException] = []
        self._serve = serve
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends every thread, also those of requests that hang."""
        self._closing.set()
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._http.server_port}"

    def goes_wrong(self, *faults: Fault) -> None:
        with self._lock:
            self._faults.extend(faults)

    def asked(self, pattern: str = "") -> list[str]:
        """The lines "METHOD /path?query" so far that match."""
        return [request.line for request in self.log if re.search(pattern, request.line)]

    def answer(self, request: Request) -> Answer | Cut:
        fault = self._next_fault(request)
        if fault is None:
            return self._served(request)
        self._closing.wait(fault.delay)
        replaced = fault.status is not None or fault.hang or fault.reset
        answer = self._served(request) if fault.after or not replaced else Answer(200)
        if fault.hang:
            self._closing.wait()
        if fault.hang or fault.reset:
            return Cut(fault.reset)
        if fault.status is not None:
            return Answer.of(fault.status, fault.body, *fault.headers)
        return replace(answer, headers=(*answer.headers, *fault.headers), most=fault.drop_after)

    def _next_fault(self, request: Request) -> Fault | None:
        with self._lock:
            self.log.append(request)
            for place, fault in enumerate(self._faults):
                if re.search(fault.match, request.line):
                    left = [replace(fault, times=fault.times - 1)] if fault.times > 1 else []
                    self._faults[place : place + 1] = left
                    return fault
        return None

    def _served(self, request: Request) -> Answer:
        try:
            return self._serve(request)
        except Exception as error:  # noqa: BLE001 - told by the fixture at the end of the test
            self.broken.append(error)
            return Answer.of(500, {"message": f"the rig is broken: {error!r}"})


class _Http(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, loopback: Loopback) -> None:
        self.loopback = loopback
        self._lines: set[socket.socket] = set()
        super().__init__((HOST, 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._lines.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._lines.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Clients keep lines open for a next request, and the threads behind them wait for it."""
        for line in tuple(self._lines):
            try:
                line.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):  # a client that went away is no error of the rig
            self.loopback.broken.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits for the client to acknowledge its head
    server: _Http

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own name
        """Nothing on the terminal: the log is `Loopback.log`."""

    def _handle(self) -> None:
        path, _, query = self.path.partition("?")
        headers = {name.title(): value for name, value in self.headers.items()}
        request = Request(self.command, path, query, headers, self._body(headers))
        answer = self.server.loopback.answer(request)
        if isinstance(answer, Cut):
            self._cut(reset=answer.reset)
        else:
            self._send(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _handle  # noqa: N815 - the library's own names

    def _body(self, headers: Mapping[str, str]) -> bytes:
        chunked = "chunked" in headers.get("Transfer-Encoding", "").lower()
        sent = self._chunks() if chunked else self._read(int(headers.get("Content-Length", "0")))
        return gzip.decompress(sent) if headers.get("Content-Encoding", "").lower() == "gzip" else sent

    def _chunks(self) -> bytes:
        found = bytearray()
        while size := int(self._line().partition(b";")[0], 16):
            found += self._read(size)
            self._line()
        while self._line().strip():
            pass
        return bytes(found)

    def _line(self) -> bytes:
        return self.rfile.readline() or self._went_away()

    def _read(self, size: int) -> bytes:
        found = self.rfile.read(size)
        return found if len(found) == size else self._went_away()

    def _went_away(self) -> NoReturn:
        """Half a request is never served."""
        raise ConnectionAbortedError

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else answer.body[: answer.most])
        if answer.most is not None:
            self._cut(reset=False)

    def _cut(self, *, reset: bool) -> None:
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.rfile.close()  # it holds the socket open: without it the line is closed, with a reset, here and now
            self.connection.close()
        else:
            self.connection.shutdown(socket.SHUT_RDWR)
