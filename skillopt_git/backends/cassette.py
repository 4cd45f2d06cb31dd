"""A tape of what a backend answered: recorded beside it, replayed without it.

A tape is JSON Lines. A header names whose answers follow, one a role; then there is one line a call, in the order in
which the calls ended. Each sitting, a process that records, begins its own with a header of its own. A recording that
was broken off is gone on with: what is on the tape is answered from it, and only the rest is asked. What failed in an
earlier sitting is asked again.

A tape is a recording of a model, so it answers in that model's name, with its settings, and is no more deterministic
than that model was: trials, evidence and the gate are what they were. That a tape repeats itself proves nothing.
"""

from __future__ import annotations

import json
import os
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Literal

from skillopt_git.around import Around
from skillopt_git.config import Replay
from skillopt_git.doors import About, Asked, Opened, Question, question
from skillopt_git.errors import ConfigError
from skillopt_git.ids import digest
from skillopt_git.model import RECORD, OpenMap
from skillopt_git.ports import Backend, CallFailed, Purpose, Reply, Request, Role, Usage
from skillopt_git.prompts import Prompts
from skillopt_git.schema import dump, read

REPLAYED = "what models answered was taken from a recording: no model was asked, and nothing was measured anew"
FAILED = "it failed when it was recorded"  # a provider's own words may name a host
HEAD = b'{"v"'  # how a header begins


# --- the tape ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Whose answers follow. `tape` is drawn when a recording begins, and the same in all its headers."""

    __pydantic_config__ = RECORD
    v: Literal[1] = 1
    tape: str
    role: Role
    backend: str
    model: str
    settings: OpenMap
    deterministic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A question and what came of it: a reply, or a failure without the provider's words."""

    __pydantic_config__ = RECORD
    key: str
    role: Role
    purpose: Purpose
    sample: str
    reply: Reply | None = None
    failure: CallFailed | None = None


@dataclass(slots=True)
class Tape:
    """A tape and how far each question's answers were given. Calls end in several threads."""

    path: Path
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    headers: dict[Role, Header] = field(default_factory=dict)
    calls: dict[str, list[Call]] = field(default_factory=dict)  # by key, in the order they ended
    given: Counter[str] = field(default_factory=Counter)
    begun: set[Role] = field(default_factory=set)  # whose header this sitting has written
    lock: Lock = field(default_factory=Lock)

    def answer(self, key: str) -> Reply | CallFailed | None:
        """The next of the question's answers; None where there is none left. It costs nothing again."""
        with self.lock:
            known = self.calls.get(key, ())
            if self.given[key] >= len(known):
                return None
            call = known[self.given[key]]
            self.given[key] += 1
        return call.failure if call.reply is None else replace(call.reply, usage=Usage())

    def keep(self, call: Call, header: Header) -> None:
        """Adds a call that has just been answered."""
        with self.lock:
            fresh = [] if header.role in self.begun else [header]
            _append(self.path, [*fresh, call])
            self.begun.add(header.role)
            self.headers[header.role] = header
            self.calls.setdefault(call.key, []).append(call)
            self.given[call.key] += 1

    def begin(self, header: Header, where: str) -> None:
        if self.headers and header.tape != self.id:
            raise ConfigError(f"{where} is of another recording", AGAIN)
        if self.headers.get(header.role, header) != header:
            raise ConfigError(f"{where} names another model than the header before it", AGAIN)
        if header.role in self.headers:
            self.forget_failures(header.role)
        self.id, self.headers[header.role] = header.tape, header

    def forget_failures(self, *roles: Role) -> None:
        """What failed in an earlier sitting is asked again in the next."""
        for key, calls in self.calls.items():
            self.calls[key] = [call for call in calls if call.failure is None or call.role not in roles]


AGAIN = "record it anew, into another file"


def _loaded(path: Path, *, recording: bool) -> Tape:
    """Raises `ConfigError` naming the first line that is damaged or foreign.

    While recording, a last line that was cut off is the call that was under way when the recording was broken off.
    """
    tape = Tape(path)
    *lines, rest = path.read_bytes().split(b"\n")
    if rest and not recording:
        lines.append(rest)
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number},"
        if line.startswith(HEAD):
            tape.begin(read(Header, line, where=where, hint=AGAIN), where)
            continue
        call = read(Call, line, where=where, hint=AGAIN)
        if call.role not in tape.headers or (call.reply is None) is (call.failure is None):
            raise ConfigError(f"{where} is no line of a recording", AGAIN)
        tape.calls.setdefault(call.key, []).append(call)
    return tape


def _append(path: Path, records: Sequence[Header | Call]) -> None:
    """Whole lines or none, for their owner only."""
    lines = "".join(json.dumps(dump(record), ensure_ascii=False) + "\n" for record in records)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
        size = file.seek(0, os.SEEK_END)
        try:
            file.write(lines.encode())
            file.flush()
        except OSError:
            os.ftruncate(file.fileno(), size)
            raise


def _path(chosen: Replay) -> Path:
    if not chosen.cassette:
        raise ConfigError("replay.cassette names no file", "set it to the file that is recorded to or replayed from")
    return Path(chosen.cassette).expanduser()


# --- recording ---------------------------------------------------------------------------------------------------


def blank(chosen: Replay) -> Tape:
    """The tape that is to be recorded to: a new one, or one to go on with, without the line that was cut off."""
    tape = begun(chosen)
    tape.path.parent.mkdir(parents=True, exist_ok=True)
    if tape.path.exists():
        os.truncate(tape.path, tape.path.read_bytes().rfind(b"\n") + 1)
    return tape


def begun(chosen: Replay) -> Tape:
    """The same, only looked at."""
    path = _path(chosen)
    tape = _loaded(path, recording=True) if path.exists() else Tape(path)
    tape.forget_failures("target", "optimizer")
    return tape


def recorded(opened: Opened, tape: Tape, asked: Asked) -> Opened:
    """The same, and all it answers goes on the tape."""
    recorder = Recorder(inner=opened.backend, tape=tape, prompts=asked.prompts, redact=asked.redact)
    return replace(opened, backend=recorder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder(Around):
    """A backend with a tape running. Probes are not on it: whether a model is there is asked of the model."""

    inner: Backend
    tape: Tape
    prompts: Prompts
    redact: Callable[[str], str]

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        told = dict(self.inner.settings)
        return told | {"host": digest(told["host"])} if "host" in told else told  # no tape names a host

    @property
    def knows(self) -> str:
        return self.tape.id  # an answer that was remembered without the tape would be missing on it

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        for role in {request.role for request in requests}:
            self._refuse_other(role)
        questions = [question(request, self.prompts) for request in requests]
        found = [self.tape.answer(asked.digest) for asked in questions]
        left = [place for place, answer in enumerate(found) if answer is None]
        fresh = iter(self.inner.complete([requests[place] for place in left]) if left else ())
        return [
            self._kept(request, asked, next(fresh)) if answer is None else answer
            for request, asked, answer in zip(requests, questions, found, strict=True)
        ]

    def _refuse_other(self, role: Role) -> None:
        before = self.tape.headers.get(role)
        if before is not None and before != self._header(role):
            raise ConfigError(f"{self.tape.path} holds what {before.backend} {before.model} answered as {role}", AGAIN)

    def _header(self, role: Role) -> Header:
        return Header(
            tape=self.tape.id,
            role=role,
            backend=self.name,
            model=self.model,
            settings=dict(self.settings),
            deterministic=self.deterministic,
        )

    def _kept(self, request: Request, asked: Question, answer: Reply | CallFailed) -> Reply | CallFailed:
        unasked = isinstance(answer, CallFailed) and answer.kind == "budget"
        if request.purpose == "probe" or unasked:
            return answer
        call = Call(key=asked.digest, role=request.role, purpose=request.purpose, sample=asked.sample)
        if isinstance(answer, CallFailed):
            self.tape.keep(replace(call, failure=replace(answer, message=FAILED)), self._header(request.role))
            return answer
        text = answer.text.encode(errors="replace").decode()  # half a character could not be kept
        reply = replace(answer, text=self.redact(text))
        self.tape.keep(replace(call, reply=reply), self._header(request.role))
        return reply


# --- replaying ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """Answers from a tape, in the name of who was recorded. One that missed an answer is no longer there: it was
    recorded for another night."""

    tape: Tape
    header: Header
    prompts: Prompts
    simulated: bool = False  # a simulation is never recorded
    missed: list[CallFailed] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.header.backend

    @property
    def model(self) -> str:
        return self.header.model

    @property
    def deterministic(self) -> bool:
        return self.header.deterministic

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        return self.header.settings

    @property
    def knows(self) -> str:
        return self.tape.id  # what a tape says is never remembered as the model's own answer

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Reply | CallFailed:
        if request.purpose == "probe":
            return self.missed[0] if self.missed else Reply(text="OK", model=self.model)
        asked = question(request, self.prompts)
        answer = self.tape.answer(asked.digest)
        return self._missing(request, asked) if answer is None else answer

    def _missing(self, request: Request, asked: Question) -> CallFailed:
        missing = CallFailed(
            "process",
            f"the cassette {self.tape.path.name} has no answer to this {request.purpose} question "
            f"({asked.digest[:16]}): record it anew",
        )
        self.missed.append(missing)
        return missing


ABOUT = About(
    name="cassette",
    title="A recording",
    documents="As with the backend that was recorded; under other documents it is another question.",
    setup="`replay.cassette` names the file. With `replay.record` the backend named there answers, and that is "
    "recorded; a recording that was broken off goes on when it is run again. Without it the file is replayed.",
    leaves="Replayed: nothing. Recorded: what leaves for the recorded backend. The file holds answers, redacted, and "
    "of each question a digest and its purpose.",
    cost="Nothing when it is replayed.",
    limits="It answers what was asked when it was recorded, and nothing else: with other sessions, documents, settings "
    "or prompts it has to be recorded anew; so it has for another clone where sessions held secrets, for each clone "
    "marks them in its own way. It is a recording of a model that varies, and the gate treats it as that model, "
    "whatever `replay.model` says. A budget counts nothing. The simulation cannot be recorded.",
    sends=False,
)


def door(asked: Asked) -> Opened:
    """A tape to replay. Who is on it in one role only plays the other one too."""
    path = _path(asked.replay)
    if not path.is_file():
        raise ConfigError(f"there is no cassette {path}", "replay.record names a backend to record one with")
    tape = _loaded(path, recording=False)
    header = tape.headers.get(asked.role) or next(iter(tape.headers.values()), None)
    if header is None:
        raise ConfigError(f"{path} holds no recording", AGAIN)
    return Opened(backend=Replayed(tape=tape, header=header, prompts=asked.prompts), free=True, note=REPLAYED)
