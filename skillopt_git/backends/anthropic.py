"""Claude by Anthropic's API: one message a request, or many in a batch at half the price.

The library is loaded when the door is opened, for `doctor` asks about doors it never opens.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from skillopt_git.doors import (
    MESSAGE_LIMIT,
    About,
    Asked,
    Opened,
    counted,
    header_values,
    keeping_back,
    schema_of,
    shown,
    sound,
    spoken,
    with_lost,
)
from skillopt_git.errors import ConfigError
from skillopt_git.hosts import host, opens, place
from skillopt_git.ids import canonical_json
from skillopt_git.ports import CallFailed, Reply, Request, Usage
from skillopt_git.prompts import Prompts
from skillopt_git.schema import read

if TYPE_CHECKING:
    from skillopt_git.backends.anthropic_batches import Batches
    from skillopt_git.backends.anthropic_client import Line

KEY, TOKEN = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"
HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
USUAL = "https://api.anthropic.com"
THOUGHTS = 8192  # tokens beside those of the answer, for a model that thinks before it speaks

ABOUT = About(
    name="anthropic",
    title="Anthropic API",
    documents="As the system text, marked to be kept in the prompt cache; the task is the one turn that follows.",
    setup=f"Set `{KEY}` (a key) or `{TOKEN}` (a bearer token) in the environment. A gateway's address goes into "
    "`replay.base_url` or `ANTHROPIC_BASE_URL`.",
    leaves="The documents, the tasks, the answers that are judged and what the optimizer is asked, to the API's host "
    "and nowhere else: redirects are not followed, nothing is traced.",
    cost="By the token. Documents that many tasks share are read from the prompt cache, from about 1,000 tokens on, at "
    "a tenth of the price or less. With `replay.batch` all that is asked at once goes as a Message Batch, at half the "
    "price.",
    limits="A batch may take a day; `replay.timeout` holds for each exchange and not for the whole batch, and a run "
    "that was broken off goes on with what it sent, in batches too: nothing of it is paid for twice until the night is "
    "recorded. Without `replay.batch` batches are not looked at, and one that the provider lost sight of (29 days) is "
    "sent anew. Models from Claude 5 on refuse `replay.temperature`, and think before they answer: they get "
    f"{THOUGHTS} tokens for it beside those of the answer.",
    model="claude-sonnet-5-5",
    keys=(KEY, TOKEN),
    hosts=("api.anthropic.com",),
    address="ANTHROPIC_BASE_URL",
    beyond=THOUGHTS,
)


# --- answers -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    type: str
    text: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    explanation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is read of a message; the rest of it may be anything."""

    model: str
    content: tuple[Block, ...]
    stop_reason: str | None
    usage: Used
    stop_details: Stop | None = None

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if block.type == "text")

    @property
    def thought(self) -> bool:
        return any(block.type.endswith("thinking") for block in self.content)

    @property
    def cut(self) -> bool:
        return self.stop_reason in ("max_tokens", "model_context_window_exceeded")

    def used(self, *, batched: bool) -> Usage:
        """No count is below nothing, whatever a server says."""
        told = self.usage
        cached, written = max(told.cache_read_input_tokens or 0, 0), max(told.cache_creation_input_tokens or 0, 0)
        return Usage(
            input_tokens=max(told.input_tokens, 0) + cached + written,
            output_tokens=max(told.output_tokens, 0),
            cached_tokens=cached,
            written_tokens=written,
            batched=batched,
        )


def answer_of(told: bytes | CallFailed) -> Answer | CallFailed:
    if isinstance(told, CallFailed):
        return told
    try:
        return read(Answer, told, where="the answer")
    except ConfigError as error:
        return CallFailed("schema", " ".join(str(error).split())[:MESSAGE_LIMIT])


def outcome(
    request: Request, answer: Answer | CallFailed, clean: Callable[[str], str], *, batched: bool = False
) -> Reply | CallFailed:
    """What an answer comes to for whoever asked; `clean` is for what is told of one that is none."""
    if isinstance(answer, CallFailed):
        return answer
    used, why = answer.used(batched=batched), _unanswered(answer, clean)
    if why is not None:
        return replace(why, usage=counted(used))
    names = {_spelt(name): name for name in request.tools}
    tools = tuple(names.get(block.name, block.name) for block in answer.content if block.type == "tool_use")
    return sound(Reply(text=answer.text, tools=tools, usage=used, model=answer.model))


_WHOLE = ("end_turn", "stop_sequence", "tool_use")


def _unanswered(answer: Answer, clean: Callable[[str], str]) -> CallFailed | None:
    """What did not end as an answer does is none, whatever ended it."""
    if answer.stop_reason == "refusal":
        why = answer.stop_details.explanation if answer.stop_details else None
        return CallFailed("refused", shown(why, redact=clean) if why else "the model refused to answer")
    if answer.cut:
        return CallFailed("truncated", f"the answer was cut off after {answer.usage.output_tokens} tokens")
    if answer.stop_reason not in _WHOLE:
        ended = f"the answer is not finished (stop_reason: {answer.stop_reason or 'none'})"
        return CallFailed("truncated", shown(ended, redact=clean))
    if not answer.text.strip() and not any(block.type == "tool_use" for block in answer.content):
        return CallFailed("empty", "the model answered without a word")
    return None


# --- the backend -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Lessons:
    """What a run has learned of its model: the schemas it refuses, and whether it thinks."""

    refused: set[str] = field(default_factory=set)
    thinks: bool = False

    def learn(self, request: Request, answer: Answer | CallFailed) -> None:
        if isinstance(answer, Answer):
            self.thinks = self.thinks or answer.thought
        elif answer.kind == "process" and re.search(r"schema|output_(config|format)|structured", answer.message):
            self.refused.add(request.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claude:
    """`line` may be why there is none. With `batches` what is asked at once goes together."""

    model: str
    line: Line | CallFailed
    prompts: Prompts
    temperature: float = -1.0
    settings: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    batches: Batches | None = None
    lessons: Lessons = field(default_factory=Lessons)
    name: str = "anthropic"
    deterministic: bool = False
    simulated: bool = False
    knows: str = ""

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        if isinstance(self.line, CallFailed):
            return [self.line for _ in requests]
        if self.batches is None:
            return [self._alone(self.line, request) for request in requests]
        return self._together(self.line, self.batches, requests)

    def _alone(self, line: Line, request: Request) -> Reply | CallFailed:
        """Where a lesson words the question otherwise, what it spoiled is asked again, at once; that ends, for there
        are but two lessons."""
        question = self.question(request)
        answer = answer_of(line.message(question))
        self.lessons.learn(request, answer)
        if self._spoiled(request, question, answer):
            return with_lost(self._alone(line, request), _used(answer, batched=False))
        return outcome(request, answer, line.clean)

    def _together(
        self, line: Line, batches: Batches, requests: Sequence[Request], tries: int = 0
    ) -> list[Reply | CallFailed]:
        """The same for many at once. A single one does not wait for a batch, unless it has been sent in one."""
        questions = [self.question(request) for request in requests]
        names = self._names(requests, tries)
        if len(requests) < 2 and not batches.hold(names):
            return [self._alone(line, request) for request in requests]
        told = batches.ask(dict(zip(names, questions, strict=True)))
        answers = [answer_of(told[name]) for name in names]
        for request, answer in zip(requests, answers, strict=True):
            self.lessons.learn(request, answer)
        results = [
            outcome(request, answer, line.clean, batched=True)
            for request, answer in zip(requests, answers, strict=True)
        ]
        asked = enumerate(zip(requests, questions, answers, strict=True))
        spoiled = [at for at, each in asked if self._spoiled(*each)]
        again = self._together(line, batches, [requests[at] for at in spoiled], tries + 1) if spoiled else []
        for at, result in zip(spoiled, again, strict=True):
            results[at] = with_lost(result, _used(answers[at], batched=True))
        return results

    def _spoiled(self, request: Request, question: Mapping[str, Any], answer: Answer | CallFailed) -> bool:
        """Whether an answer is none for want of what was learned since it was asked for."""
        none = answer.cut if isinstance(answer, Answer) else answer.kind == "process"
        return none and self.question(request) != question

    def _names(self, requests: Sequence[Request], tries: int) -> list[str]:
        """What each request is called in a batch: the same in a later run, which by it finds the answer that is paid
        for, whatever either has learned. The sample is part of it, for two rollouts of one task are two answers."""
        plain, seen = replace(self, lessons=Lessons()), Counter[str]()
        names: list[str] = []
        for request in requests:
            told = canonical_json([dict(self.settings), request.sample, plain.question(request), tries])
            name = hashlib.sha256(told.encode()).hexdigest()[:40]
            names.append(f"{name}-{seen[name]}")
            seen[name] += 1
        return names

    def question(self, request: Request) -> dict[str, Any]:
        """A request in the API's words."""
        said = spoken(request, self.prompts)
        question: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_tokens + (THOUGHTS if self.lessons.thinks else 0),
            "messages": [{"role": "user", "content": _whole(said.user)}],
        }
        if said.system:
            marked = {"type": "text", "text": _whole(said.system), "cache_control": {"type": "ephemeral"}}
            question["system"] = [marked]
        if request.tools:
            names = dict.fromkeys(map(_spelt, request.tools))
            question["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in names]
        if request.role == "target" and self.temperature >= 0:
            question["temperature"] = self.temperature
        if (schema := self._schema(request)) is not None:
            question["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return question

    def _schema(self, request: Request) -> dict[str, Any] | None:
        from skillopt_git.backends.anthropic_client import offered

        schema = None if request.schema in self.lessons.refused else schema_of(request)
        return None if schema is None else offered(schema)


def _whole(text: str) -> str:
    """Half a character cannot be sent."""
    return text.encode(errors="replace").decode()


def _spelt(tool: str) -> str:
    """A tool's name as the API allows one."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", tool)[:64]


def _used(answer: Answer | CallFailed, *, batched: bool) -> Usage | None:
    used = answer.used(batched=batched) if isinstance(answer, Answer) else answer.usage
    return counted(used) if used is not None else None


# --- the door ----------------------------------------------------------------------------------------------------


def door(asked: Asked) -> Opened:
    from skillopt_git.backends.anthropic_batches import Batches

    base_url, chosen = _address(asked), asked.replay
    line = _line(asked, base_url)
    batches = None
    if chosen.batch and not isinstance(line, CallFailed):
        batches = Batches(line=line, folder=asked.state / "batches", notify=asked.notify)
    temperature = chosen.temperature if asked.role == "target" else -1.0
    settings: dict[str, str | int | float | bool] = {}
    if temperature >= 0:
        settings["temperature"] = temperature
    if host(base_url) not in ABOUT.hosts:
        settings["host"] = place(base_url)
    model = asked.model or ABOUT.model
    claude = Claude(
        model=model,
        line=line,
        prompts=asked.prompts,
        temperature=temperature,
        settings=settings,
        batches=batches,
        lessons=Lessons(thinks=_thinks(model)),
    )
    shut = line if isinstance(line, CallFailed) else None
    opened = Opened(backend=claude, together=chosen.batch, beyond=ABOUT.beyond, once=True, shut=shut)
    return replace(opened, settle=batches.settle) if batches is not None else opened


def _thinks(model: str) -> bool:
    """Whether it thinks unless told not to, by its name. Of a name that does not say, its answers will."""
    return re.match(r"claude-[a-z]+-([5-9]|\d\d)\b", model) is not None


def _address(asked: Asked) -> str:
    """Where the API is spoken to."""
    found = asked.base_url or asked.environ.get(ABOUT.address, "") or USUAL
    if not host(found):
        named = "replay.base_url" if asked.base_url else ABOUT.address
        raise ConfigError(f"{named} is no address", "it begins with https:// and a host")
    return found


def _line(asked: Asked, base_url: str) -> Line | CallFailed:
    """What speaks to the API; the failure of every call where the environment holds no key."""
    from skillopt_git.backends.anthropic_client import line

    wanted = asked.key_env or f"{KEY} (or {TOKEN})"
    key = asked.key(ABOUT.keys).strip()
    if not key:
        return CallFailed("auth", f"there is no key: set {wanted} in the environment of the run")
    if not key.isascii() or not key.isprintable() or " " in key:
        return CallFailed("auth", f"what {wanted} holds is no key: it has characters that no key has")
    with keeping_back(HEADERS, back=bool(asked.base_url)):
        return line(
            key=key,
            bearer=asked.key_env == TOKEN or not asked.key((KEY,)),
            base_url=base_url,
            timeout=asked.replay.timeout,
            retries=asked.replay.retries,
            redact=asked.redact,
            secrets=(*opens(base_url), *header_values(asked.environ.get(HEADERS, ""))),
        )
