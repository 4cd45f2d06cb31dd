"""The provider's library behind the door: it speaks to one host only, for so long and no longer, and fails in values.

The only module that knows the library; what is told leaves it as the bytes that came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anthropic import (
    Anthropic,
    AnthropicError,
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    NotFoundError,
    transform_schema,
)

from skillopt_git import wire
from skillopt_git.doors import failed
from skillopt_git.ports import CallFailed, Usage

LARGEST = 64 * 2**20  # bytes of one answer; a night's whole batch is a fraction of it
BATCHES = "/v1/messages/batches"


class Late(AnthropicError):
    """No whole answer came in time. The library does not ask again by itself."""


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Line:
    """What can be asked of the provider. An answer is the body that came; `clean` takes the key, and other secrets, out
    of what is told of one."""

    sdk: Anthropic = field(repr=False)
    once: Anthropic = field(repr=False)  # the same, which asks nothing again by itself
    timeout: float
    retries: int
    clean: Callable[[str], str] = field(repr=False)

    def message(self, asked: Mapping[str, Any]) -> bytes | CallFailed:
        """The library's list of parameters is shorter than the API's, so what it has to know is told, and the rest put
        into the body."""
        create: Callable[..., Any] = self.sdk.messages.with_raw_response.create
        known = {name: asked[name] for name in ("model", "max_tokens", "messages")}
        rest = {name: value for name, value in asked.items() if name not in known}
        return self._told(lambda: create(**known, extra_body=rest).http_response.content)

    def submit(self, requests: Sequence[Mapping[str, Any]]) -> bytes | CallFailed:
        """A new batch. Sent once: what the library would send again might be paid for twice."""
        create: Callable[..., Any] = self.once.messages.batches.with_raw_response.create
        return self._told(lambda: create(requests=requests).http_response.content)

    def sent(self, after: str) -> bytes | CallFailed:
        """The batches there are, the newest first: those after the one of that id, "" for the newest of all."""
        page: Callable[..., Any] = self.sdk.messages.batches.with_raw_response.list
        place = {"after_id": after} if after else {}
        return self._patiently(lambda: page(limit=1000, **place).http_response.content)

    def look(self, batch: str) -> bytes | CallFailed | None:
        """How a batch is getting on; None where the provider knows none of that id."""
        retrieve: Callable[..., Any] = self.sdk.messages.batches.with_raw_response.retrieve
        try:
            body: bytes = retrieve(batch).http_response.content
        except NotFoundError:
            return None
        except AnthropicError as error:
            return self._refusal(error)
        return body

    def results(self, batch: str) -> bytes | CallFailed:
        """One line a request. Asked for where all else is, whatever address the provider names: no other host gets
        the key."""
        return self._patiently(lambda: self.sdk.get(f"{BATCHES}/{batch}/results", cast_to=bytes))

    def _patiently(self, ask: Callable[[], bytes]) -> bytes | CallFailed:
        """Also after a time-out, for nothing is paid for a look."""
        tries = (self._told(ask) for _ in range(1 + self.retries))
        told = next(tries)
        while isinstance(told, CallFailed) and told.kind == "timeout" and (again := next(tries, None)) is not None:
            told = again
        return told

    def _told(self, ask: Callable[[], bytes]) -> bytes | CallFailed:
        try:
            return ask()
        except AnthropicError as error:
            return self._refusal(error)

    def _refusal(self, error: AnthropicError) -> CallFailed:
        status, words, code = _meaning(error, self.timeout)
        failure = failed(status, words, code=code, redact=self.clean)
        return replace(failure, usage=Usage()) if isinstance(error.__cause__, wire.Torn) else failure


def line(
    *,
    key: str,
    bearer: bool,
    base_url: str,
    timeout: float,
    retries: int,
    redact: Callable[[str], str],
    secrets: Iterable[str] = (),
) -> Line:
    """`bearer`: the key is a token, not a key of the API. `secrets`: what else may open something. Nothing is traced,
    whatever the environment says: traces would carry what was said to yet another place."""
    sdk = Anthropic(
        api_key=None if bearer else key,
        auth_token=key if bearer else None,
        base_url=base_url,
        timeout=timeout,
        max_retries=retries,
        http_client=wire.client(base_url, timeout, largest=LARGEST, refuse=AnthropicError, late=Late),
        open_telemetry=False,
    )

    hidden = sorted({key, *secrets} - {""}, key=len, reverse=True)  # one may be a part of another

    def clean(text: str) -> str:
        for secret in hidden:
            text = text.replace(secret, "[key]")
        return redact(text)

    return Line(sdk=sdk, once=sdk.with_options(max_retries=0), timeout=timeout, retries=retries, clean=clean)


def offered(schema: dict[str, Any]) -> dict[str, Any] | None:
    """A schema in the dialect that the provider holds its models to; None where it cannot be said in it."""
    try:
        return transform_schema(schema)
    except (ValueError, AssertionError):
        return None


# --- failures ----------------------------------------------------------------------------------------------------


def _meaning(error: AnthropicError, timeout: float) -> tuple[int | None, str, str]:
    """Status, words and code of what the library raises."""
    match error:
        case APIStatusError():
            return error.status_code, _words(error), error.error_code or str(error.type or "")
        case APITimeoutError() | Late():
            return 408, f"no whole answer within {timeout:g} s (replay.timeout)", ""
        case APIConnectionError():
            return None, f"{error.message} {error.__cause__ or ''}", ""
        case _:
            return 413, str(error), "too_large"


def _words(error: APIStatusError) -> str:
    if 300 <= error.status_code < 400:
        where = error.response.headers.get("location", "another address")
        return f"the server points to {where}, which is not followed: replay.base_url says where it is"
    said = error.api_message
    return f"{error.type}: {said}" if isinstance(said, str) else error.message
