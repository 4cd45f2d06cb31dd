"""Requests to one repository's GitHub: what is asked again, how long is waited, and what a refusal becomes.

Of PyGithub only the transport is used. Its objects ask for what they lack behind one's back, its retries repeat a POST
whose answer got lost, and its waiting for a limit's end takes up to an hour without a word.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import quote

from skillopt_git import __version__
from skillopt_git.errors import ForgeError
from skillopt_git.forges.github_address import Address
from skillopt_git.forges.github_errors import (
    Lost,
    Response,
    graphql_refusal,
    limited,
    not_github,
    redirected,
    refusal,
    unreachable,
    wait,
)
from skillopt_git.forges.github_token import Token

if TYPE_CHECKING:
    from github.Requester import Requester

TRIES = 3
PATIENCE = 60.0  # seconds of waiting for one answer, in all
TIMEOUT = 30  # seconds without a word from the server
PAGE = 100  # the most that GitHub gives at once

T = TypeVar("T")
Table: TypeAlias = Mapping[str, Any]  # an object of GitHub's JSON


@dataclass(kw_only=True, eq=False)
class Session:
    """Reads are tried again a few times; writes never are, but where GitHub says that it did not even look."""

    address: Address
    token: Token
    timeout: int = TIMEOUT
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    @cached_property
    def _requester(self) -> Requester:
        from github import Auth, Github  # here, for it takes longer to load than most verbs to run

        return Github(
            auth=Auth.Token(self.token.value),
            base_url=self.address.api,
            timeout=self.timeout,
            user_agent=f"skillopt-git/{__version__}",
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
            api_version="2022-11-28",
        ).requester

    # --- what is there -------------------------------------------------------------------------------------------

    @cached_property
    def repository(self) -> Table:
        """Asked first: after a renaming GitHub leads to the new place, and the library loses the question there."""
        doing = f"show {self.address.owner}/{self.address.name}"
        return self.table(self._get(f"/repos/{self.address.owner}/{self.address.name}", doing), doing)

    @cached_property
    def place(self) -> str:
        """`owner/name`, as it is called now."""
        return self.parsed(lambda data: str(data["full_name"]), self.repository, "show the repository")

    @property
    def owner(self) -> str:
        return self.place.partition("/")[0]

    @cached_property
    def login(self) -> str:
        """The account that the token speaks for. An installation of an App may not ask for its user, but for its
        viewer it may."""
        doing = "say whose token this is"
        if self.token.kind not in {"app", "actions"}:
            try:
                data = self.table(self._get("/user", doing), doing)
                return self.parsed(lambda data: str(data["login"]), data, doing)
            except ForgeError as error:
                if error.kind != "forbidden":
                    raise
        data = self.graphql("query { viewer { login } }", {}, doing, repeat=True)
        name = self.parsed(lambda data: str(data["viewer"]["login"]), data, doing)
        # Else a person of that name would pass for the App.
        return name if name.endswith("[bot]") or self.token.kind not in {"app", "actions"} else f"{name}[bot]"

    # --- asking --------------------------------------------------------------------------------------------------

    def read(self, path: str, doing: str) -> Table:
        """An object below the repository."""
        return self.table(self._get(self._below(path), doing), doing)

    def rows(self, path: str, doing: str, *, most: int, **params: str) -> list[Table]:
        """A list below the repository, page by page: at least its first `most`."""
        found: list[Table] = []
        for page in range(1, -(-most // PAGE) + 1):
            asked = {**params, "per_page": PAGE, "page": page}
            rows = self._ask(_Asked("GET", self._below(path), doing, params=asked)).data
            if not isinstance(rows, list):
                raise self._strange(doing)
            found += [self._checked(row, doing) for row in rows]
            if len(rows) < PAGE:
                break
        return found

    def search(self, words: str, doing: str) -> list[Table]:
        asked = {"q": words, "sort": "created", "order": "desc", "per_page": PAGE}
        found = self.table(self._ask(_Asked("GET", "/search/issues", doing, params=asked)), doing)
        return self.parsed(lambda data: [self._checked(row, doing) for row in data["items"]], found, doing)

    def write(self, verb: str, path: str, doing: str, body: Table | None = None) -> Any:
        """Raises `Lost` where the answer did not come."""
        return self._ask(_Asked(verb, self._below(path), doing, body=body)).data

    def graphql(self, query: str, variables: Table, doing: str, *, repeat: bool = False) -> Table:
        """`repeat`: it is a question only, and may be asked again."""
        body = {"query": query, "variables": variables}
        response = self._ask(_Asked("POST", self._requester.graphql_url, doing, body=body, repeat=repeat))
        data = self.table(response, doing)
        if data.get("errors"):
            raise graphql_refusal(response, doing, self.token, self.now())
        return self._checked(data.get("data"), doing)

    def table(self, response: Response, doing: str) -> Table:
        return self._checked(response.data, doing)

    def parsed(self, make: Callable[[Table], T], data: Table, doing: str) -> T:
        """What `make` reads in `data`, which came from outside and may lack anything."""
        try:
            return make(data)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise self._strange(doing) from error

    def _checked(self, data: object, doing: str) -> Table:
        if isinstance(data, Mapping):
            return data
        raise self._strange(doing)

    def _strange(self, doing: str) -> ForgeError:
        return not_github(doing, self.address.host, "something else than was asked for", lost=False)

    def _below(self, path: str) -> str:
        return f"/repos/{self.place}{path}"

    # --- one question --------------------------------------------------------------------------------------------

    def _get(self, path: str, doing: str) -> Response:
        return self._ask(_Asked("GET", path, doing))

    def _ask(self, asked: _Asked, tries: int = TRIES, patience: float = PATIENCE) -> Response:
        outcome = self._once(asked, float(1 + TRIES - tries))
        if isinstance(outcome, Response):
            return outcome
        if outcome.pause is None or tries == 1 or outcome.pause > patience:
            raise outcome.error
        self.sleep(outcome.pause)
        return self._ask(asked, tries - 1, patience - outcome.pause)

    def _once(self, asked: _Asked, pause: float) -> Response | _Failed:
        """`pause`: seconds until the next try where the server does not say when."""
        lost = not asked.repeats
        host, again = self.address.host, None if lost else pause
        try:
            status, headers, text = self._requester.requestJson(
                asked.verb, asked.path, parameters=dict(asked.params), input=asked.body
            )
        except OSError as error:  # every failure of the library below is one
            return _Failed(unreachable(error, asked.doing, host, lost=lost), again)
        except RuntimeError as error:  # the transport's word for a redirect to another host
            return _Failed(redirected(error, asked.doing, self.token), None)
        try:
            data = json.loads(text) if text and status != 429 else None  # a limit may come with a page
        except ValueError:
            what = "a page" if text.lstrip().startswith("<") else "no JSON"
            failed = not_github(asked.doing, host, f"{status} and {what}", lost=lost)
            return _Failed(failed, again if status >= 500 else None)
        return self._judged(Response(status, headers, data), asked, pause)

    def _judged(self, response: Response, asked: _Asked, pause: float) -> Response | _Failed:
        if 200 <= response.status < 300:
            return response
        error = refusal(response, asked.doing, self.token, self.now())
        if limited(response):  # then it was not even looked at
            return _Failed(error, wait(response, self.now()))
        if response.status < 500:
            return _Failed(error, None)
        if not asked.repeats:
            return _Failed(Lost(error.kind, error.message, error.hint, retryable=True), None)
        return _Failed(error, wait(response, self.now()) if "retry-after" in response.headers else pause)


@dataclass(frozen=True, slots=True)
class _Asked:
    verb: str
    path: str
    doing: str
    params: Table = field(default_factory=dict)
    body: Table | None = None
    repeat: bool = False

    @property
    def repeats(self) -> bool:
        return self.repeat or self.verb == "GET"


@dataclass(frozen=True, slots=True)
class _Failed:
    """`pause`: seconds until it may be tried again; None where it may not."""

    error: ForgeError
    pause: float | None


def named(part: str) -> str:
    """A name as a part of a path."""
    return quote(part, safe="")
