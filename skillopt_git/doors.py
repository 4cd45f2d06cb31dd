"""What opens a model door, and how a request is worded for it.

Every backend's module has `door(asked) -> Opened` and `ABOUT`; `wiring` looks them up by name.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from skillopt_git.config import Replay
from skillopt_git.documents import Documents
from skillopt_git.ids import canonical_json
from skillopt_git.model import Task
from skillopt_git.ports import Backend, CallFailed, FailureKind, Listener, Reply, Request, Role, Usage
from skillopt_git.prompts import SHIPPED, Prompts

PROBE = "Reply with the single word OK."
THERE = ("empty", "truncated")  # failures of a model that is there


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Another service that a program can be told to ask: the variable that chooses it, the host it is at, the variable
    that may hold another address, and the variables it needs, by how they begin."""

    use: str
    host: str
    address: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a person has to know of a backend, for `doctor` and docs/backends.md.

    `documents` says how the documents reach the model, `keys` which environment variables may hold the key, `hosts`
    what is spoken to where no address is set: exact names, or suffixes that begin with a dot. `services` may take their
    place. `extra` is the extra of this package that it needs, `library` what that brings, `program` the program.
    `beyond`: the tokens that an answer may take beyond those asked for, for thoughts, say.
    """

    name: str
    title: str
    documents: str
    setup: str
    leaves: str
    cost: str
    limits: str
    model: str = ""  # that answers where none is named; "" where one has to be
    keys: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    address: str = ""  # the environment variable that holds an address
    variables: tuple[str, ...] = ()  # of the environment, that it reads beside
    services: tuple[Service, ...] = ()
    login: bool = False  # whether it may be opened without a key
    extra: str = ""
    library: str = ""
    program: str = ""
    sends: bool = True  # whether anything leaves this machine
    beyond: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a door is opened by. `state` is a private folder for what has to outlive a run; `redact` takes secrets out
    of what is kept or told. `tasks` and `needs` are those known tonight, for what a door has to skip or to act out;
    `notify` hears of what takes long."""

    role: Role
    model: str
    base_url: str
    key_env: str
    replay: Replay
    environ: Mapping[str, str] = field(repr=False)
    state: Path
    redact: Callable[[str], str]
    prompts: Prompts = SHIPPED
    tasks: Sequence[Task] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    notify: Listener = lambda _: None

    def key(self, usual: Sequence[str]) -> str:
        """The key from the environment: from `key_env`, else from the first of the `usual` variables that holds one;
        "" where none does."""
        names = (self.key_env,) if self.key_env else usual
        return next((self.environ[name] for name in names if self.environ.get(name)), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A backend, and why some tasks cannot be put to it, by id. `together`: it wants what is asked at once in one call,
    and sees itself to how much of it is under way. `settle` is called when what was learned from it is recorded.
    `beyond`: tokens that an answer may take beyond a request's `max_tokens`, for thoughts, say; `once`: after a
    time-out it does not ask again by itself; `free`: it costs nothing and counts for no budget. `shut`: why every call
    fails, where that is known without asking anybody. `note`: what who reads of a night has to know of its answers."""

    backend: Backend
    together: bool = False
    beyond: int = 0
    once: bool = False
    free: bool = False
    shut: CallFailed | None = None
    settle: Callable[[], None] = lambda: None
    note: str = ""
    skipped: Mapping[str, str] = field(default_factory=dict)


# --- words -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A request as a chat: `system` is the same for every task under the same documents, so that a provider's prompt
    cache may serve it; `user` is the one turn that follows."""

    system: str
    user: str


def steady_first(documents: Documents) -> Documents:
    """Skills last, for these are taught most: what follows the first change is in no provider's prompt cache."""
    return tuple(sorted(documents, key=lambda item: item[0].endswith("SKILL.md")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request by its `digest`; `sample` is its own, with a fixed word for the run or night."""

    digest: str
    sample: str


def spoken(request: Request, prompts: Prompts) -> Spoken:
    """The target hears the documents as its instructions; the optimizer's question says everything itself."""
    if request.role == "optimizer" or request.purpose == "probe":
        return Spoken(system="", user=request.ask)
    documents = [{"path": path, "text": text} for path, text in steady_first(request.documents)]
    system = prompts("attempt", documents=documents)
    return Spoken(system=system, user=f"{request.context}\n\n{request.ask}" if request.context else request.ask)


def question(request: Request, prompts: Prompts) -> Question:
    """What makes two requests the same question to whoever answers: all of it, and the words it is put in.

    Some samples name the run or the night that asks. The same question of another one is the same here, so that an
    answer that was kept outside of any run is found by the next one.
    """
    asked = replace(request, sample=_RUN.sub("<run>", request.sample))
    spelt = canonical_json([asdict(asked), asdict(spoken(request, prompts))])
    return Question(digest=sha256(spelt.encode("utf-8", "surrogatepass")).hexdigest(), sample=asked.sample)


def lasting(nights: int) -> str:
    """What begins the samples of a night that comes after so many recorded ones: the same until it is recorded, too, so
    that a run that goes on after another finds what that one paid for, and no later night does."""
    return f"night-{nights + 1}"


_RUN = re.compile(r"\b[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}\b|\bnight-[0-9]+\b")


def probe(backend: Backend, role: Role, sample: str) -> CallFailed | None:
    """Why the backend cannot answer at all; None where it can. One small call, before anything is spent."""
    asked = Request(role=role, purpose="probe", ask=PROBE, max_tokens=64, sample=sample)
    (reply,) = backend.complete([asked])
    # A model that thinks aloud may have said nothing visible within so few tokens: it is there all the same.
    dead = isinstance(reply, CallFailed) and reply.kind not in THERE
    return reply if isinstance(reply, CallFailed) and dead else None


def schema_of(request: Request) -> dict[str, Any] | None:
    """The schema that the answer has to follow, as data."""
    return json.loads(request.schema) if request.schema else None


# --- answers -----------------------------------------------------------------------------------------------------


def sound(reply: Reply) -> Reply | CallFailed:
    """An answer that can be worked with. No model that is asked here says as much as some servers send."""
    if len(reply.text) > LONGEST_ANSWER:
        why = f"what came is no answer of a model: {len(reply.text):,} characters"
        return CallFailed("schema", why, usage=counted(reply.usage))
    return replace(reply, model=" ".join(reply.model.split())[:LONGEST_NAME])


LONGEST_ANSWER = 1_000_000  # characters; what is looked through for secrets takes seconds at that length
LONGEST_NAME = 200  # of a model


# --- the environment ---------------------------------------------------------------------------------------------


@contextmanager
def keeping_back(variable: str, *, back: bool) -> Iterator[None]:
    """Without that variable of the environment, for a library that reads it by itself and tells what it holds to
    whoever is asked: where another address stands in the place of the environment's, it was meant for somebody else."""
    held = os.environ.pop(variable, None) if back else None
    try:
        yield
    finally:
        if held is not None:
            os.environ[variable] = held


def header_values(headers: str) -> tuple[str, ...]:
    """The values of such lines of headers: keys may be among them."""
    return tuple(line.partition(":")[2].strip() for line in headers.split("\n"))


# --- what was used -----------------------------------------------------------------------------------------------


def counted(usage: Usage) -> Usage | None:
    """None where nobody counted."""
    return usage if usage.input_tokens or usage.output_tokens or usage.cost_usd else None


def both(one: Usage | None, other: Usage | None) -> Usage | None:
    """What two calls used. Only what was batched alone has the price of a batch."""
    if one is None or other is None:
        return one or other
    costs = (one.cost_usd, other.cost_usd)
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cost_usd=sum(cost for cost in costs if cost is not None) if None not in costs else None,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        written_tokens=one.written_tokens + other.written_tokens,
        batched=one.batched and other.batched,
    )


def with_lost(result: Reply | CallFailed, lost: Usage | None) -> Reply | CallFailed:
    """With what earlier tries of the same request used: they were paid for, too."""
    if isinstance(result, CallFailed):
        return replace(result, usage=both(result.usage, lost))
    return replace(result, usage=both(result.usage, lost) or result.usage)


# --- failures ----------------------------------------------------------------------------------------------------


def failed(
    status: int | None, message: str, *, code: str = "", redact: Callable[[str], str], secrets: Sequence[str] = ()
) -> CallFailed:
    """What a provider's refusal means. `status` is that of HTTP, None where no answer came; `code` is the provider's
    own word for it. The message is told in the provider's words, without keys.

    A failure that every other call would meet too is of a kind that ends a run: auth, quota, process.
    """
    told = shown(message, redact=redact, secrets=secrets) or f"status {status}"
    low = f"{code} {message[:_LOOKED_AT]}".casefold()
    this_one = status == 413 or re.search(_THIS_ONE, low) is not None
    if status is None:
        return CallFailed("network", told, retryable=True)
    if any(mark in low for mark in _NO_CREDIT):
        return CallFailed("quota", told)
    match status:
        case 403 if re.search(_FLAGGED, low):
            return CallFailed("refused", told)
        case 401 | 403:
            return CallFailed("auth", told)
        case 402:
            return CallFailed("quota", told)
        case 408 | 504:
            return CallFailed("timeout", told, retryable=True)
        case 429 | 529:
            return CallFailed("rate", told, retryable=True)
        case 400 | 413 | 422:
            return CallFailed("refused" if this_one else "process", told)
        case _ if status >= 500:
            return CallFailed("network", told, retryable=True)
        case _:
            return CallFailed("process", told)


def shown(message: str, *, redact: Callable[[str], str], secrets: Iterable[str] = ()) -> str:
    """The beginning of what a server says, in one line, without keys. To look through all of a large page for secrets
    would take minutes; what is looked at ends between two words, so that it ends in no half of a key."""
    told = message if len(message) <= _LOOKED_AT else message[:_LOOKED_AT].rpartition(" ")[0]
    for secret in sorted(secrets, key=len, reverse=True):  # one may be a part of another
        told = told.replace(secret, "[key]") if secret else told
    return _ERRNO.sub("", " ".join(redact(told).split()))[:MESSAGE_LIMIT]


def remedy(kind: FailureKind) -> str:
    """What whoever is told of a failure can do about it, where it ends a run."""
    return _REMEDIES.get(kind, "`skillopt-git doctor` says who is asked, where, and by which settings")


MESSAGE_LIMIT = 300
_LOOKED_AT = 8_000
_FLAGGED = r"flagged|moderation|content[ _-](?:filter|policy|management)"  # one request; an account may be shut, too
_ERRNO = re.compile(r"\[Errno -?\d+\] ")  # the words after it say the same
_GOES_ON = "what was answered is remembered, and the same command goes on from there"
_REMEDIES: Mapping[FailureKind, str] = {
    "auth": "set the key anew, or log in again; `skillopt-git doctor` says who is asked, and where",
    "quota": f"top up, or wait until the limit is over; {_GOES_ON}",
    "rate": f"try again later, or with fewer `replay.jobs`; {_GOES_ON}",
    "network": f"see that the server is there (`replay.base_url`, where it is your own); {_GOES_ON}",
    "timeout": f"a larger `replay.timeout` or fewer `replay.jobs` give it more time; {_GOES_ON}",
    "process": "see that `replay.model` and the settings of the backend are right: `skillopt-git doctor` shows them",
}
_NO_CREDIT = (
    *("insufficient_quota", "credit balance is too low", "exceeded your current quota", "billing_hard_limit"),
    *("billing_error", "spend_limit", "insufficient balance", "arrearage"),
)
# What is wrong with one request, and with no other: it is too long, or what it says is not liked. A setting may be too
# large as well, and safety one that a model does not have: that is wrong with every request.
_THIS_ONE = "|".join(
    (
        r"context[ _](?:length|window|size)|maximum context",
        r"(?:prompt|input|request|message|conversation|body|payload)s?(?: \w+)? (?:is|are) too (?:long|large)",
        r"(?:prompt|input|request|message|entity|body|payload)s? too (?:long|large)|request_too_large|prompt_too_long",
        r"'(?:input|messages|instructions)\b[^']*': (?:string|array) too long|range of input length",
        r"content[ _-]filter|content management policy|content[ _]policy|usage polic|data_inspection_failed",
        r"invalid_prompt|inappropriate content|cyber_policy",
        r"safety (?:system|filter|check|reason|polic|guideline|violation)|safety_violation|flagged",
    )
)
