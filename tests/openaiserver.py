"""A server on this machine that speaks both APIs of OpenAI, over a real connection.

It answers what it is told to, in turn, the last for good; breaks where it is told to; and keeps what it was asked.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, TypeAlias

import pytest

MODEL = "model-1"
both_apis = pytest.mark.parametrize("api", ["chat", "responses"])


@dataclass(frozen=True, slots=True)
class Heard:
    """One request, as it came."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def system(self) -> str:
        """What the model is told before it is asked, in either API."""
        said = [item["content"] for item in self.body.get("messages", ()) if item["role"] == "system"]
        return str(self.body.get("instructions", "\n".join(said)))

    @property
    def user(self) -> str:
        said = [item["content"] for item in self.body.get("messages", ()) if item["role"] == "user"]
        return str(self.body.get("input", "\n".join(said)))


@dataclass(frozen=True, slots=True)
class Said:
    """An answer of the model; `stop` as Chat Completions has it. `other` goes into the message beside the rest."""

    text: str | None = "Done."
    tools: tuple[str, ...] = ()
    stop: str = "stop"
    refusal: str = ""
    thought: int = 0
    other: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer of the server: bytes as they are, anything else as JSON."""

    status: int
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Broken:
    """No whole answer. `hang`: none at all; `trickle`: a byte now and then; `reset`, `half`: torn down before one, and
    in the middle of it."""

    how: Literal["hang", "trickle", "reset", "half"]


Answer: TypeAlias = Said | Raw | Broken
Script: TypeAlias = Callable[[Heard], Answer]


def refusal(
    status: int, message: str, code: str | None = None, kind: str = "invalid_request_error", **headers: str
) -> Raw:
    """As OpenAI refuses. A header's name has `_` for `-`."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    return Raw(status, {"error": error}, {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass(slots=True)
class Server:
    script: Script
    address: str = ""
    heard: list[Heard] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(*answers: Answer, script: Script | None = None) -> Iterator[Server]:
    """A server while the block lasts. What it answers to is `script`, or what is listed."""
    state = Server(script=script or _in_turn(answers))
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state}))
    http.daemon_threads = True
    state.address = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.over.set()
        http.shutdown()
        http.server_close()
        thread.join()


def _in_turn(answers: Sequence[Answer]) -> Script:
    left, lock = list(answers or (Said(),)), threading.Lock()

    def script(_: Heard) -> Answer:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return script


class _Handler(BaseHTTPRequestHandler):
    state: Server  # of the class made for it
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_POST(self) -> None:  # the library's name for it
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        heard = Heard(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        self.state.heard.append(heard)
        answer = self.state.script(heard)
        match answer:
            case Broken():
                self._break(answer)
            case Raw():
                self._send(answer)
            case Said():
                said = _responses(answer) if "/responses" in self.path else _chat(answer)
                self._send(Raw(200, said))

    def do_GET(self) -> None:  # where a redirect would lead
        self.state.heard.append(Heard(self.path, dict(self.headers.items()), {}))
        self._send(Raw(200, _chat(Said("redirected"))))

    def _send(self, raw: Raw) -> None:
        content = raw.body if isinstance(raw.body, bytes) else json.dumps(raw.body).encode()
        self.send_response(raw.status)
        for name, value in {"content-type": "application/json", **raw.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        with suppress(OSError):  # who asked may have heard enough
            self.wfile.write(content)

    def _break(self, broken: Broken) -> None:
        self.close_connection = True
        if broken.how in ("half", "trickle"):
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n{")
        while broken.how in ("hang", "trickle") and not self.state.over.wait(0.05):
            if broken.how == "trickle":
                try:
                    self.wfile.write(b" ")
                except OSError:
                    return
        if broken.how in ("reset", "half"):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.shutdown(socket.SHUT_RD)


def _chat(said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text, **said.other}
    if said.tools:
        called = enumerate(said.tools)
        message["tool_calls"] = [
            {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": "{}"}}
            for place, name in called
        ]
    if said.refusal:
        message["refusal"] = said.refusal
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": said.thought},
    }
    choice = {"index": 0, "message": message, "finish_reason": said.stop}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice], "usage": usage}


def _responses(said: Said) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if said.text is not None:
        content.append({"type": "output_text", "text": said.text, "annotations": []})
    if said.refusal:
        content = [{"type": "refusal", "refusal": said.refusal}]
    output: list[dict[str, Any]] = [{"id": "rs_1", "type": "reasoning", "summary": []}] if said.thought else []
    if content:
        output.append({"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": content})
    for place, name in enumerate(said.tools):
        output.append(
            {"id": f"f{place}", "type": "function_call", "call_id": f"c{place}", "name": name, "arguments": "{}"}
        )
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    whole = said.stop in ("stop", "tool_calls")
    return {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "status": "completed" if whole else "incomplete",
        "incomplete_details": None if whole else {"reason": reasons.get(said.stop, said.stop)},
        "error": None,
        "model": MODEL,
        "output": output,
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 64},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": said.thought},
            "total_tokens": 120,
        },
    }
