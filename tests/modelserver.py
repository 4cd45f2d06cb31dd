"""A model provider on this machine that speaks the Anthropic API, over a real connection.

Messages, also streamed as the `claude` program asks for them, token counts and Message Batches. It says what its script
tells it to, breaks where it is told to, and keeps what it was asked.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import parse_qs, urlsplit

MODEL = "claude-model-1"
CACHED_FROM = 1024  # tokens; a shorter prefix is not kept by the provider
BATCHES = "/v1/messages/batches"


# --- what it says ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An answer of the model. `tools` are calls: name and input."""

    text: str = ""
    tools: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    stop: str = ""  # "": as the content has it
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer of the server itself: text and bytes as they are, anything else as JSON."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Broken:
    """No whole answer. `hang`: nothing for so many seconds, then the connection is closed; `reset`: it is torn down at
    once; `half`: half of an answer, half a stream where one was asked for, then it is torn down; `drip`: a byte now and
    then for so many seconds."""

    how: Literal["hang", "reset", "half", "drip"]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one request of a batch, where it was not answered."""

    type: Literal["expired", "canceled"]


Given: TypeAlias = "Said | Raw | Broken | Fate"


def error(status: int, type_: str, message: str, headers: Mapping[str, str] | None = None) -> Raw:
    """A refusal as the provider words it."""
    body = {"type": "error", "error": {"type": type_, "message": message}, "request_id": "req_1"}
    return Raw(status, body, headers or {})


# --- what it is asked --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. `batched`: it came as part of a batch."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    batched: bool = False

    @property
    def system(self) -> str:
        return words(self.body.get("system", ""))

    @property
    def user(self) -> str:
        """The last that was typed."""
        return next(words(said["content"]) for said in reversed(self.body["messages"]) if said["role"] == "user")

    @property
    def text(self) -> str:
        """All that was sent, as one text."""
        return json.dumps(self.body, ensure_ascii=False)


def words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block.get("type") == "text")


def tokens(what: Any) -> int:
    """About as many as a model counts."""
    text = what if isinstance(what, str) else json.dumps(what, ensure_ascii=False)
    return (len(text) + 3) // 4


Script: TypeAlias = Callable[[Asked], Given]


def saying(*given: Given | str) -> Script:
    """A script that says these in turn, the last one for ever."""
    turns = count()

    def script(asked: Asked) -> Given:
        said = given[min(next(turns), len(given) - 1)]
        return Said(text=said) if isinstance(said, str) else said

    return script


# --- the server --------------------------------------------------------------------------------------------------


@dataclass
class ModelServer:
    """`script` answers what is put to the model; `before` may answer any request in the server's place. A call takes
    `latency` seconds, a batch is done after it was looked at `polls` times."""

    script: Script = saying("OK")
    before: Callable[[Asked], Raw | Broken | None] = lambda _: None
    latency: float = 0.0
    polls: int = 1
    clock: Callable[[], float] = time.time
    page: int = 2  # batches on a page of their list
    url: str = ""
    requests: list[Asked] = field(default_factory=list)  # everything that came, in order
    batches: dict[str, Batch] = field(default_factory=dict)
    most: int = 0  # calls that were under way at once
    kept: set[str] = field(default_factory=set)  # the prefixes in the provider's prompt cache
    stopped: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    under_way: int = 0

    @property
    def asked(self) -> list[Asked]:
        """What was put to the model, one call each."""
        return [asked for asked in self.requests if asked.method == "POST" and asked.path == "/v1/messages"]

    def heard(self, path: str, method: str = "POST") -> list[Asked]:
        return [asked for asked in self.requests if (asked.method, asked.path) == (method, path)]

    def note(self, asked: Asked) -> None:
        with self.lock:
            self.requests.append(asked)

    @contextmanager
    def call(self) -> Iterator[None]:
        with self.lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        try:
            self.stopped.wait(self.latency)
            yield
        finally:
            with self.lock:
                self.under_way -= 1

    def message(self, said: Said, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer as the API has it, with what it used."""
        blocks = list(_blocks(said))
        return {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", MODEL),
            "content": blocks,
            "stop_reason": said.stop or ("tool_use" if said.tools else "end_turn"),
            "stop_sequence": None,
            "usage": self.usage(body) | {"output_tokens": tokens(said.text) + sum(map(tokens, said.tools))},
        }

    def usage(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The prefix up to the last marker in the system text is written to the cache once, and read from then on."""
        system = body.get("system") or []
        blocks = [{"text": system}] if isinstance(system, str) else system
        marked = [place for place, block in enumerate(blocks) if block.get("cache_control")]
        shared = "".join(block["text"] for block in blocks[: marked[-1] + 1]) if marked else ""
        prefix = json.dumps(body.get("tools", [])) + shared
        size = tokens(prefix) if marked and tokens(prefix) >= CACHED_FROM else 0
        with self.lock:
            known = prefix in self.kept
            if size:
                self.kept.add(prefix)
        whole = tokens(system) + tokens(body.get("messages", [])) + tokens(body.get("tools", []))
        return {
            "input_tokens": max(whole - size, 1),
            "cache_creation_input_tokens": 0 if known else size,
            "cache_read_input_tokens": size if known else 0,
            "service_tier": "standard",
        }


def _blocks(said: Said) -> Iterator[dict[str, Any]]:
    if said.thinking:
        yield {"type": "thinking", "thinking": said.thinking, "signature": "c2lnbmF0dXJl"}
    if said.text:
        yield {"type": "text", "text": said.text}
    for place, (name, given) in enumerate(said.tools):
        yield {"type": "tool_use", "id": f"toolu_{place}", "name": name, "input": dict(given)}


@contextmanager
def serving(script: Script | None = None, *, latency: float = 0.0, polls: int = 1) -> Iterator[ModelServer]:
    """A server that is there until the block ends; nothing that hangs holds the end up."""
    model = ModelServer(script=script or saying("OK"), latency=latency, polls=polls)
    server = _Server(("127.0.0.1", 0), _Handler)
    server.model = model
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


# --- batches -----------------------------------------------------------------------------------------------------


@dataclass
class Batch:
    id: str
    requests: Sequence[Mapping[str, Any]]
    created: float = 0.0
    looked: int = 0
    canceled: bool = False

    def told(self, server: ModelServer) -> dict[str, Any]:
        ended = self.canceled or self.looked >= server.polls
        done = len(self.requests) if ended else 0
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {
                "processing": len(self.requests) - done,
                "succeeded": done,
                "errored": 0,
                "canceled": 0,
                "expired": 0,
            },
            "created_at": datetime.fromtimestamp(self.created, UTC).isoformat(),
            "expires_at": "2026-12-01T12:00:00Z",
            "ended_at": "2026-11-30T12:01:00Z" if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{server.url}{BATCHES}/{self.id}/results" if ended else None,
        }

    def results(self, server: ModelServer) -> str:
        """One line a request, and in another order than that of the requests."""
        return "".join(json.dumps(self._result(server, item)) + "\n" for item in reversed(self.requests))

    def _result(self, server: ModelServer, item: Mapping[str, Any]) -> dict[str, Any]:
        params = item["params"]
        asked = Asked(method="POST", path="/v1/messages", headers={}, body=params, batched=True)
        given: Given = Fate("canceled") if self.canceled else server.script(asked)
        match given:
            case Said():
                result: dict[str, Any] = {"type": "succeeded", "message": server.message(given, params)}
            case Raw():
                result = {"type": "errored", "error": given.body}
            case Fate():
                result = {"type": given.type}
            case Broken():
                raise AssertionError("a request of a batch has no connection that could break")
        return {"custom_id": item["custom_id"], "result": result}


# --- HTTP --------------------------------------------------------------------------------------------------------


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    model: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def model(self) -> ModelServer:
        return cast("_Server", self.server).model

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length") or 0))
        asked = Asked(
            method=self.command,
            path=urlsplit(self.path).path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=json.loads(sent) if sent else None,
        )
        self.model.note(asked)
        instead = self.model.before(asked)
        match instead:
            case None:
                self._routed(asked)
            case Raw():
                self._raw(instead)
            case Broken():
                self._broken(instead, stream=bool((asked.body or {}).get("stream")))

    def _routed(self, asked: Asked) -> None:
        path = asked.path.rstrip("/")
        match asked.method, path:
            case "HEAD", _:
                self._raw(Raw(200, ""))
            case "POST", "/v1/messages":
                self._message(asked)
            case "POST", "/v1/messages/count_tokens":
                self._raw(Raw(200, {"input_tokens": tokens(asked.body.get("messages", []))}))
            case _, _ if path.startswith(BATCHES):
                self._raw(self._batch(asked, path.removeprefix(BATCHES).strip("/")))
            case _:
                self._raw(error(404, "not_found_error", f"there is no {path}"))

    def _message(self, asked: Asked) -> None:
        with self.model.call():
            given = self.model.script(asked)
            match given:
                case Said() if asked.body.get("stream"):
                    self._stream(list(_events(self.model.message(given, asked.body))))
                case Said():
                    self._raw(Raw(200, self.model.message(given, asked.body)))
                case Raw():
                    self._raw(given)
                case Broken():
                    self._broken(given, stream=bool(asked.body.get("stream")))
                case Fate():
                    raise AssertionError("only a request of a batch has a fate")

    def _batch(self, asked: Asked, rest: str) -> Raw:
        known = self.model.batches
        id_, _, verb = rest.partition("/")
        if asked.method == "POST" and not id_:
            made = Batch(id=f"msgbatch_{len(known) + 1}", requests=asked.body["requests"], created=self.model.clock())
            known[made.id] = made
            return Raw(200, made.told(self.model))
        if asked.method == "GET" and not id_:
            return self._batches()
        if id_ not in known:
            return error(404, "not_found_error", f"there is no batch {id_}")
        batch = known[id_]
        if asked.method == "POST" and verb == "cancel":
            batch.canceled = True
        elif verb == "results":
            return Raw(200, batch.results(self.model), {"content-type": "application/x-jsonl"})
        else:
            batch.looked += 1
        return Raw(200, batch.told(self.model))

    def _batches(self) -> Raw:
        """The list of them, the newest first, by pages."""
        after = parse_qs(urlsplit(self.path).query).get("after_id", [""])[0]
        ids = [*self.model.batches][::-1]
        left = ids[ids.index(after) + 1 :] if after else ids
        page = [self.model.batches[id_].told(self.model) for id_ in left[: self.model.page]]
        return Raw(200, {"data": page, "has_more": len(left) > len(page)})

    def _raw(self, raw: Raw) -> None:
        plain = isinstance(raw.body, (str, bytes))
        text = raw.body if plain else json.dumps(raw.body)
        data = text if isinstance(text, bytes) else text.encode()
        headers = {"content-type": "text/plain" if plain else "application/json", "request-id": "req_1"}
        self.send_response(raw.status)
        for name, value in (headers | dict(raw.headers) | {"content-length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _broken(self, broken: Broken, *, stream: bool) -> None:
        if broken.how == "drip":
            self._drip(broken.seconds)
        else:
            self.model.stopped.wait(broken.seconds)
        if broken.how == "half" and stream:
            whole = list(_events(self.model.message(Said(text="Half of this"), {})))
            self._stream(whole[: len(whole) // 2], ends=False)
        elif broken.how == "half":
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "5000")
            self.end_headers()
            self.wfile.write(
                b'{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Half'
            )
            self.wfile.flush()
            time.sleep(0.05)  # so that it arrives before the end does
        self._tear(rough=broken.how != "hang")

    def _drip(self, seconds: float) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "5000")
        self.end_headers()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not self.model.stopped.wait(0.1):
            self.wfile.write(b" ")
            self.wfile.flush()

    def _tear(self, *, rough: bool) -> None:
        self.close_connection = True
        with suppress(OSError):
            if rough:  # the client gets a reset, not an end
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            else:
                self.connection.shutdown(socket.SHUT_RDWR)

    def _stream(self, events: Sequence[Mapping[str, Any]], *, ends: bool = True) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("cache-control", "no-cache")
        self.send_header("request-id", "req_1")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            self._chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        if ends:
            self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def _events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A message as it is streamed."""
    begun = message["usage"] | {"output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None, "usage": begun},
    }
    yield {"type": "ping"}
    for place, block in enumerate(message["content"]):
        empty, deltas = _parts(block)
        yield {"type": "content_block_start", "index": place, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _parts(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it begins, and what is added to it."""
    match block["type"]:
        case "text":
            half = len(block["text"]) // 2
            parts = (block["text"][:half], block["text"][half:])
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in parts if part]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [thought, signed]
        case _:
            given = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            return {**block, "input": {}}, [given]
