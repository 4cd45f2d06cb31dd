"""A GitHub on this machine that gives the answers it was told to, over a real connection."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from skillopt_git.forges.github import GitHub
from skillopt_git.forges.github_address import Address
from skillopt_git.forges.github_session import Session
from skillopt_git.forges.github_token import Token, TokenKind

SECRET = "Zx9Kq2Lm7Rt4" * 3  # of no form that is known: it must be hidden all the same
US = "acme-robot"
HERE = "/repos/acme/acme-api"
NIGHT = "sleep/2026-11-29"
PULL = f"{HERE}/pulls/7"
NOON = 1_000_000_000.0  # when the clock of a test starts


@dataclass
class Clock:
    """Time that passes only where somebody sleeps."""

    time: float = NOON
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Broken:
    """No answer: after `seconds` the connection is closed."""

    seconds: float = 0.0


Given: TypeAlias = "Answer | Broken | Callable[[Asked], Answer]"


@dataclass(frozen=True)
class Asked:
    verb: str
    path: str
    params: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]


@dataclass
class Hub:
    """Answers by verb and path: each of a list once, the last of it for ever. What nobody expects fails the test."""

    server: HTTPServer
    clock: Clock = field(default_factory=Clock)
    answers: dict[tuple[str, str], list[Given]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.server.expect_request(re.compile(".*")).respond_with_handler(self._answer)
        self.give("GET", HERE, repository())
        self.give("GET", "/user", {"login": US})
        self.give("GET", f"{PULL}/reviews", [])

    def give(self, verb: str, path: str, *answers: Any) -> None:
        """An answer is one, or the body of one that says 200."""
        made = [item if isinstance(item, Answer | Broken) or callable(item) else Answer(body=item) for item in answers]
        self.answers[verb, path] = made

    def forge(self, *, timeout: int = 30, kind: TokenKind = "classic", below: str = "") -> GitHub:
        address = Address(f"{self.server.url_for('').rstrip('/')}{below}", "acme", "acme-api", "127.0.0.1")
        given = Token(SECRET, "SKILLOPT_GITHUB_TOKEN", kind)
        session = Session(address=address, token=given, timeout=timeout, now=self.clock.now, sleep=self.clock.sleep)
        self.sessions.append(session)
        return GitHub(session)

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [(item.verb, item.path) for item in self.asked if item.verb != "GET"]

    def sent(self, verb: str, path: str) -> list[Any]:
        return [item.body for item in self.asked if (item.verb, item.path) == (verb, path)]

    def close(self) -> None:
        for session in self.sessions:
            session._requester.close()

    def _answer(self, request: Request) -> Response:
        body = json.loads(request.get_data() or b"null")
        asked = Asked(request.method, request.path, request.args.to_dict(), body, dict(request.headers))
        self.asked.append(asked)
        given = self.answers.get((asked.verb, asked.path))
        if not given:
            self.unexpected.append(f"{asked.verb} {asked.path}")
            return Response("nobody expects this", 418)
        answer = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(answer, Broken):
            return _drop(request, answer.seconds)
        if not isinstance(answer, Answer):
            answer = answer(asked)
        text = answer.body if isinstance(answer.body, str) else "" if answer.body is None else json.dumps(answer.body)
        return Response(text, answer.status, headers=dict(answer.headers))


def _drop(request: Request, seconds: float) -> Response:
    time.sleep(seconds)
    with suppress(OSError):
        request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    return Response("")


def pages(rows: list[Any]) -> Callable[[Asked], Answer]:
    """`rows` as GitHub gives them, some at a time."""

    def page(asked: Asked) -> Answer:
        size, number = int(asked.params.get("per_page", 30)), int(asked.params.get("page", 1))
        return Answer(body=rows[(number - 1) * size : number * size])

    return page


def refused(status: int, message: str, *errors: Any, **headers: str) -> Answer:
    body = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {**body, "errors": list(errors)} if errors else body, named)


# --- GitHub's records --------------------------------------------------------------------------------------------


def user(login: str, type_: str = "User") -> dict[str, Any]:
    return {"login": login, "id": 1, "type": type_, "site_admin": False}


def repository(**changes: Any) -> dict[str, Any]:
    made = {"full_name": "acme/acme-api", "default_branch": "main", "private": True, "owner": user("acme")}
    return {**made, **changes}


def pull(**changes: Any) -> dict[str, Any]:
    repo = {"full_name": "acme/acme-api"}
    made = {
        "number": 7,
        "node_id": "PR_7",
        "html_url": "https://github.example/acme/acme-api/pull/7",
        "state": "open",
        "draft": True,
        "title": "Use pnpm",
        "body": "One rule.",
        "user": user(US),
        "labels": [{"name": "skillopt"}],
        "head": {"ref": NIGHT, "sha": "a" * 40, "repo": repo},
        "base": {"ref": "main", "sha": "b" * 40, "repo": repo},
        "created_at": "2001-09-09T01:46:40Z",
        "closed_at": None,
        "merged_at": None,
        "merge_commit_sha": "c" * 40,
        "requested_reviewers": [],
        "requested_teams": [],
    }
    return {**made, **changes}


def comment(body: str, login: str = "alice", **changes: Any) -> dict[str, Any]:
    made = {"id": 11, "body": body, "user": user(login), "author_association": "NONE", "created_at": _at(1)}
    return {**made, **changes}


def happened(event: str, login: str = "alice", second: int = 2, **changes: Any) -> dict[str, Any]:
    return {"id": 100 + second, "event": event, "actor": user(login), "created_at": _at(second), **changes}


def _at(second: int) -> str:
    return f"2001-09-09T01:47:{second:02}Z"


def opened(server: HTTPServer) -> Iterator[Hub]:
    hub = Hub(server)
    yield hub
    hub.close()
    assert hub.unexpected == []
