"""Prompts to files, answers from files: whoever reads the folder is the model, be it a person or another agent.

A run that meets a prompt without an answer writes all that it would ask just then and stops; the same command goes on
once they are answered, and so stage by stage to the end. An answer is found by what was asked, whatever run asked it,
so that sessions which came in meanwhile cost no answer that was given. When a night is recorded its prompts and answers
are put away, for on another night an answer would be no new evidence.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt_git.doors import About, Asked, Opened, question, schema_of, spoken
from skillopt_git.errors import HandoffWaits
from skillopt_git.ids import canonical_json
from skillopt_git.ports import CallFailed, Reply, Request
from skillopt_git.prompts import Prompts
from skillopt_git.whole import write

PLACEHOLDER = "ANSWER-GOES-HERE"  # a text that holds it is no answer, whatever else it holds
_INSTEAD = "the whole answer in place of this line"
EMPTY = f"[{PLACEHOLDER}: {_INSTEAD}]\n"
_MARKS = (PLACEHOLDER.casefold().encode(), _INSTEAD.encode())  # one may have been written over, or in other letters
LONGEST = 1_000_000  # bytes of an answer
DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """`folder` holds prompts and answers; `state`, which may be the same, which of them this repository asked for."""

    folder: Path
    state: Path
    prompts: Prompts
    redact: Callable[[str], str]
    model: str
    name: str = "handoff"
    deterministic: bool = False
    simulated: bool = False
    settings: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    knows: str = ""

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        """Raises `HandoffWaits` where an answer is missing, once every prompt is written."""
        names = [question(request, self.prompts).digest[:DIGITS] for request in requests]
        answers = [self._answer(name, request) for name, request in zip(names, requests, strict=True)]
        answered = [answer for answer in answers if answer is not None]
        if len(answered) < len(answers):
            every = zip(names, requests, answers, strict=True)
            self._wait({name: request for name, request, answer in every if answer is None})
        self._index.unlink(missing_ok=True)
        return answered

    def settle(self) -> None:
        """Puts away what was answered, and takes back what was not."""
        done = self.folder / "done"
        for name in self._listed():
            if self._written(name) is None:
                self._take_back(name)
                continue
            _made(done)
            for path in (self._prompt(name), self._place(name)):
                if path.exists():
                    path.replace(done / path.name)
        self._list.unlink(missing_ok=True)
        self._index.unlink(missing_ok=True)

    # --- answers ---

    def _answer(self, name: str, request: Request) -> Reply | CallFailed | None:
        if request.purpose == "probe":
            return Reply(text="OK", model=self.model)
        data = self._written(name)
        if data is None:
            return None
        if len(data) > LONGEST:
            return CallFailed("schema", f"{name}.answer.md is longer than {LONGEST:,} bytes")
        try:
            text = data.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            return CallFailed("schema", f"{name}.answer.md is not UTF-8")
        tools = tuple(called for called in _CALLED.findall(text) if called in request.tools)
        return Reply(text=self.redact(text), tools=tools, model=self.model)

    def _written(self, name: str) -> bytes | None:
        """What somebody answered; None where the file is missing or empty, or the place-holder is still in it."""
        try:
            with self._place(name).open("rb") as file:
                data = file.read(LONGEST + 1)
        except FileNotFoundError:
            return None
        left = any(mark in data.lower() for mark in _MARKS)
        return None if left or not data.removeprefix(BOM_UTF8).strip() else data

    # --- prompts ---

    def _wait(self, waiting: Mapping[str, Request]) -> None:
        for folder in (self.folder, self.state):
            _made(folder)
        before = self._listed()
        write(self._list, "\n".join(dict.fromkeys((*before, *waiting))).encode(), lasting=False)
        for name in before:
            if name not in waiting and self._written(name) is None:
                self._take_back(name)
        for name, request in waiting.items():
            write(self._prompt(name), self._text(name, request).encode(errors="replace"), lasting=False)
            write(self._place(name), EMPTY.encode(), replace=False, lasting=False)
        write(self._index, _contents(waiting).encode(), lasting=False)
        many = (
            "1 prompt waits for its answer" if len(waiting) == 1 else f"{len(waiting)} prompts wait for their answers"
        )
        raise HandoffWaits(
            f"{many} in {self.folder}",
            f"{self._index.name} there says how; then run the same command again: it goes on",
        )

    def _text(self, name: str, request: Request) -> str:
        said = spoken(request, self.prompts)
        parts = {"SYSTEM": said.system, "USER": said.user}
        framed = (f"===== {part} {name}\n{text}\n" for part, text in parts.items() if text)
        return f"# Prompt {name}\n\n{_asked(name, request)}\n\n{''.join(framed)}===== END {name}\n"

    def _take_back(self, name: str) -> None:
        """A prompt that nobody answered and nobody asks any more."""
        self._prompt(name).unlink(missing_ok=True)
        self._place(name).unlink(missing_ok=True)

    # --- files ---

    def _prompt(self, name: str) -> Path:
        return self.folder / f"{name}.prompt.md"

    def _place(self, name: str) -> Path:
        return self.folder / f"{name}.answer.md"

    @property
    def _index(self) -> Path:
        return self.folder / "INDEX.md"

    @property
    def _list(self) -> Path:
        return self.state / "asked"

    def _listed(self) -> tuple[str, ...]:
        """The prompts written since a night was last recorded: another repository may hand off to the same folder."""
        try:
            return tuple(_NAME.findall(self._list.read_text(encoding="utf-8", errors="replace")))
        except FileNotFoundError:
            return ()


_NAME = re.compile(rf"^[0-9a-f]{{{DIGITS}}}$", re.MULTILINE)
_CALLED = re.compile(r"^TOOL: *([^\s]+) *$", re.MULTILINE)


def _made(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


# --- words -------------------------------------------------------------------------------------------------------


def _asked(name: str, request: Request) -> str:
    """What whoever answers has to know beside the prompt itself."""
    schema = schema_of(request)
    told = [_WHAT.format(role=request.role, purpose=request.purpose), _WHERE.format(name=name, many=request.max_tokens)]
    if schema:
        told.append(f"It has to be JSON by this schema: `{canonical_json(schema)}`")
    if request.tools:
        told.append(f"Tools you would call, of {', '.join(request.tools)}, stand on lines of their own: `TOOL: name`.")
    return "\n\n".join(told)


_WHAT = (
    "skillopt-git asks the {role} ({purpose}). Answer what stands below between the lines of `=====`, as the model "
    "that is asked: SYSTEM, where there is any, are its instructions, USER is what it is asked. What else you know, "
    "and other files here, are no part of it."
)
_WHERE = (
    "The answer goes into `{name}.answer.md` beside this file, in place of the line there, with nothing around it. It "
    "may be about {many} tokens long."
)


def _contents(waiting: Mapping[str, Request]) -> str:
    listed: Iterable[str] = (
        f"- `{name}.prompt.md` -> `{name}.answer.md` ({request.role}, {request.purpose})"
        for name, request in waiting.items()
    )
    return "\n".join(
        [
            "# Prompts that wait for an answer",
            "",
            "Each is a question by itself: answer it from its own text alone, without looking at the others. Put the",
            f"answer, and nothing else, into the file beside it, in place of the line with {PLACEHOLDER}. When all are",
            "answered, run the command that asked again; it goes on, and may ask more.",
            "",
            *listed,
            "",
        ]
    )


ABOUT = About(
    name="handoff",
    title="Prompts to files, answers from files",
    documents="In the prompt, as the instructions of whoever answers.",
    setup="Nothing. `replay.handoff` names another folder than `handoff` in the private state. A run writes "
    "`<id>.prompt.md` for all it would ask just then, `<id>.answer.md` to be filled in, and an INDEX.md, and ends with "
    "exit code 3; nothing is recorded. Run the same command again when they are answered, until it ends with 0. Once a "
    "night is recorded its prompts and answers lie in `done`, which nothing reads and which may be deleted.",
    leaves="Nothing by itself; whoever answers sees the prompts.",
    cost="Nothing but the time of whoever answers.",
    limits="A night asks in several rounds, because what it asks next depends on the answers. An answer is missing as "
    "long as it is empty or the line with ANSWER-GOES-HERE is in it. Answers over 1 MB, or not in UTF-8, count as "
    "failed calls. `replay.model` names whoever answers, for the evidence: another name is another trial.",
    model="handoff",
    sends=False,
)


def door(asked: Asked) -> Opened:
    folder = Path(asked.replay.handoff).expanduser() if asked.replay.handoff else asked.state
    backend = Handoff(
        folder=folder,
        state=asked.state,
        prompts=asked.prompts,
        redact=asked.redact,
        model=asked.model or ABOUT.model,
    )
    return Opened(backend=backend, together=True, free=True, settle=backend.settle)
