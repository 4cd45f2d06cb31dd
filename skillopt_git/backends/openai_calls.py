"""Models behind OpenAI's client. Loaded only when one is chosen, for not everybody has the library."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never, cast

import openai

from skillopt_git import doors, wire
from skillopt_git.backends import openai_chat, openai_responses
from skillopt_git.backends.openai import HEADERS, OPENAI
from skillopt_git.backends.openai_words import (
    THINKING_ROOM,
    Answer,
    Question,
    Refused,
    Server,
    fault,
    wire_names,
    without_thoughts,
)
from skillopt_git.doors import Asked, Spoken, both, counted, with_lost
from skillopt_git.hosts import among, host
from skillopt_git.ports import CallFailed, FailureKind, Reply, Request, Usage

Outcome: TypeAlias = Answer | Refused | CallFailed
APIS = {"chat": openai_chat, "responses": openai_responses}
THINKS = "thinks"

_TOOLLESS = (400, 404, 422, 500, 501)  # the statuses under which servers say that they know no tools, or no schemas
_SCHEMALESS = ("response_format", "text.format", "schema", "structured", "grammar", "guided")


class Late(openai.OpenAIError):
    """No whole answer came in time. The library does not ask again by itself."""


class NoToken(Exception):
    """Nobody vouches for us, so there is nothing to call with."""


# --- the client --------------------------------------------------------------------------------------------------


def _only_at(address: str) -> dict[str, openai.Omit]:
    """What the library would tell of the user, out of the environment, to whoever is spoken to."""
    own = among(host(address), OPENAI)
    return {} if own else {"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit}


def client(asked: Asked, base_url: str, key: str | Callable[[], str], *, headers: bool) -> openai.OpenAI:
    """`headers`: whether those of the environment were meant for this server."""
    seconds = asked.replay.timeout
    with doors.keeping_back(HEADERS, back=not headers):
        return openai.OpenAI(
            base_url=base_url,
            api_key=key,
            max_retries=asked.replay.retries,
            timeout=seconds,
            default_headers=cast("Mapping[str, str]", _only_at(base_url)),
            http_client=wire.client(base_url, seconds, late=Late),
        )


def dated_client(asked: Asked, endpoint: str, version: str, key: str | Callable[[], str]) -> openai.OpenAI:
    """A client of Azure's API of one date."""
    seconds = asked.replay.timeout
    with doors.keeping_back(HEADERS, back=True):
        return openai.AzureOpenAI(
            azure_endpoint=endpoint,
            api_version=version,
            api_key=key if isinstance(key, str) else None,
            azure_ad_token_provider=None if isinstance(key, str) else key,
            max_retries=asked.replay.retries,
            timeout=seconds,
            default_headers=cast("Mapping[str, str]", _only_at(endpoint)),
            http_client=wire.client(endpoint, seconds, late=Late),
        )


# --- the backend -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """`secrets` are what no text may hold. `learned` is what this server turned out not to take, or its model to need:
    schemas it refuses, and `THINKS`."""

    name: str
    asked: Asked
    server: Server
    client: openai.OpenAI = field(repr=False)
    secrets: Collection[str] = field(repr=False)
    told: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    deterministic: bool = False
    simulated: bool = False
    knows: str = ""
    learned: set[str] = field(default_factory=set, repr=False)

    @property
    def model(self) -> str:
        return self.asked.model

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        temperature = self.asked.replay.temperature
        warm = {"temperature": temperature} if temperature >= 0 and self.asked.role == "target" else {}
        return {"api": self.server.api, **self.told, **warm}

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Reply | CallFailed:
        """Asks as this server is known to want it; what one refusal teaches is kept for the run, and asked again. What
        was used in vain is counted with what came of it."""
        lost: Usage | None = None
        while True:
            question = self._question(request)
            outcome = self._ask(question)
            lesson = _lesson(request, question, outcome)
            if lesson is None:
                return with_lost(self._result(question, outcome), lost)
            self.learned.add(lesson)
            lost = both(lost, outcome.usage)

    def _question(self, request: Request) -> Question:
        spoken = doors.spoken(request, self.asked.prompts)
        roomy = THINKS in self.learned
        temperature = self.asked.replay.temperature
        return Question(
            model=self.model,
            spoken=Spoken(system=_whole(spoken.system), user=_whole(spoken.user)),
            tools=wire_names(request.tools),
            schema=None if request.schema in self.learned else doors.schema_of(request),
            most=request.max_tokens + (THINKING_ROOM if roomy else 0),
            roomy=roomy,
            temperature=temperature if request.role == "target" and temperature >= 0 else None,
            at_home=self.server.at_home,
        )

    def _ask(self, question: Question) -> Outcome:
        try:
            content = self._post(question)
        except (openai.APITimeoutError, Late):
            return CallFailed("timeout", f"{self.server.host}: no answer in {self._seconds}", retryable=True)
        except openai.APIConnectionError as error:
            failure = self._failed(None, str(error.__cause__ or error))
            return replace(failure, usage=Usage()) if isinstance(error.__cause__, wire.Torn) else failure
        except openai.APIStatusError as error:
            return _refused(error)
        except wire.TooLarge as error:
            return CallFailed("process", f"{self.server.host}: what came is no answer of a model: {error}")
        except NoToken as error:
            return doors.failed(401, str(error), redact=self.asked.redact, secrets=tuple(self.secrets))
        return self._read(content, question)

    @property
    def _seconds(self) -> str:
        return f"{self.asked.replay.timeout:g} seconds (replay.timeout)"

    def _post(self, question: Question) -> bytes:
        """What came, as it came: what the library would make of it may hold anything."""
        body = APIS[self.server.api].body(question)
        if self.server.api == "chat":
            return self.client.chat.completions.with_raw_response.create(**body).content
        return self.client.responses.with_raw_response.create(**body).content

    def _read(self, content: bytes, question: Question) -> Outcome:
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            began = content[:80].decode(errors="replace")
            return self._failed(None, f"what came is no JSON, or half of it; it begins: {began!r}")
        api, found = APIS[self.server.api], fault(data)
        said: Outcome | None = api.answer(data, question) if found is None and isinstance(data, dict) else found
        if said is None:
            said = Refused(status=400, message=f"what came is no answer of the {self.server.api} API (replay.api)")
        used = counted(api.usage(data.get("usage"))) if isinstance(data, dict) else None
        return replace(said, usage=used) if isinstance(said, Refused) else said

    def _result(self, question: Question, outcome: Outcome) -> Reply | CallFailed:
        match outcome:
            case CallFailed():
                return outcome
            case Refused():
                return self._refusal(question, outcome)
            case Answer():
                return self._answer(question, outcome)
            case _:
                assert_never(outcome)

    def _refusal(self, question: Question, refused: Refused) -> CallFailed:
        failure = replace(self._failed(refused.status, refused.message, refused.code), usage=refused.usage)
        if question.tools and refused.status in _TOOLLESS and "tool" in refused.message.casefold():
            return replace(failure, kind="refused", retryable=False)  # it can still answer what needs no tools
        return failure

    def _answer(self, question: Question, answer: Answer) -> Reply | CallFailed:
        text = answer.text if self.server.at_home else without_thoughts(answer.text)
        match answer.end:
            case "cut":
                return self._none("truncated", f"cut short at {question.most} tokens", answer)
            case "unfinished":
                return self._none("truncated", f"the answer is not finished ({answer.why})", answer)
            case "filtered":
                return self._none("refused", answer.why, answer)
            case _ if not text.strip() and not answer.tools:
                return self._none("empty", "an answer without a word", answer)
            case _:
                return doors.sound(Reply(text=text, tools=answer.tools, usage=answer.usage, model=answer.model))

    def _none(self, kind: FailureKind, why: str, answer: Answer) -> CallFailed:
        told = doors.shown(f"{self.server.host}: {why}", redact=self.asked.redact, secrets=self.secrets)
        return CallFailed(kind, told, usage=counted(answer.usage))

    def _failed(self, status: int | None, message: str, code: str = "") -> CallFailed:
        told = f"{self.server.host}: {message}"
        return doors.failed(status, told, code=code, redact=self.asked.redact, secrets=tuple(self.secrets))


def _lesson(request: Request, question: Question, outcome: Outcome) -> str | None:
    """What is to be done otherwise, so that it is worth asking again."""
    match outcome:
        case Answer(end="cut") if not question.roomy and (outcome.thought or without_thoughts(outcome.text) == ""):
            return THINKS
        case Refused(status=status, message=message) if question.schema is not None and status in _TOOLLESS:
            return request.schema if any(mark in message.casefold() for mark in _SCHEMALESS) else None
        case _:
            return None


def _refused(error: openai.APIStatusError) -> Refused:
    """The message of a body in whichever form it has, which is not always JSON."""
    status = error.status_code
    if 300 <= status < 400:
        there = error.response.headers.get("location", "elsewhere")
        return Refused(status=status, message=f"it sends us to {there}; a key follows no redirect: mend the address")
    match error.body:
        case {"message": str(message)} | {"detail": str(message)}:
            return Refused(status=status, message=message, code=f"{error.code} {error.type}")
        case str(text) if text:
            return Refused(status=status, message=text, code=f"{error.code} {error.type}")
        case _:
            return Refused(status=status, message=f"status {status}", code=f"{error.code} {error.type}")


def _whole(text: str) -> str:
    """Half a character cannot be sent."""
    return text.encode(errors="replace").decode()
