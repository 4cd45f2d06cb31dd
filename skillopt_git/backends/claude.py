"""The `claude` program as a model: one `claude -p` a call, in an empty folder, with nothing of the user's own.

The program logs in as it always does. What else it would bring along is shut out: settings, memory, skills, hooks,
plugins and MCP servers of the user and of a project, and files that a prompt names with `@`. It talks through files,
for of an answer longer than 64 KiB it loses what a pipe does not take at once.
"""

from __future__ import annotations

import math
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from skillopt_git import programs
from skillopt_git.backends.claude_environment import CLOUDS, KEYS, child_environment, secrets
from skillopt_git.cleaning import REPLAY_FOLDER
from skillopt_git.doors import MESSAGE_LIMIT, About, Asked, Opened, counted, failed, sound, spoken
from skillopt_git.errors import ConfigError
from skillopt_git.ports import CallFailed, FailureKind, Reply, Request, Usage
from skillopt_git.prompts import Prompts
from skillopt_git.schema import read

NAME = "claude"
MODEL = "sonnet"
START = 30.0  # seconds that the program may need beside its calls
THINKING = 8_000  # tokens beside those of the answer: newer models think first, and that counts as output
OUTPUT_LIMIT = 16_000_000  # bytes; no answer is that long
FOLDERS = "skillopt-claude-"  # the names of the temporary folders it works in begin so
LEFT_BEHIND = 24 * 3600.0  # seconds after which such a folder is nobody's any more
NO_TOOLS = "`claude -p` is given no tools here, so which ones were called cannot be checked"

ABOUT = About(
    name=NAME,
    title="Claude Code (`claude -p`)",
    documents="As the system prompt, from a file.",
    setup="Install Claude Code (`npm install -g @anthropic-ai/claude-code`) and start `claude` once to log in, or set "
    "one of the keys. Settings of Claude Code are not read, so what they hold in `env` or `apiKeyHelper` has to be "
    "exported. `replay.model` takes what `claude --model` takes. Bedrock, Vertex and Foundry are used as Claude Code "
    "documents them, where `replay.hosts` names their host.",
    leaves="To the service that the program is set up for: the documents, the prompts, and what the program says of "
    "itself and the machine (its version, the operating system, the date, the path of an empty folder). Nothing of "
    "your settings, memory, skills, hooks, plugins or MCP servers; what an organisation's managed settings add, it "
    "adds here too.",
    cost="That of your login: a subscription's limits, or the API's prices. The program's own figures are told; for a "
    "subscription they are list prices that nobody bills.",
    limits="One process a call: about a second more than the API, and memory for `replay.jobs` of them. No tools, so "
    "tasks that check called tools are left out. No temperature and no batches. An answer that the model began anew "
    "counts as cut off. Another version of the program begins a new trial.",
    model=MODEL,
    keys=KEYS,
    hosts=("api.anthropic.com", "platform.claude.com"),
    address="ANTHROPIC_BASE_URL",
    variables=tuple(cloud.use for cloud in CLOUDS),
    services=CLOUDS,
    login=True,
    program="claude",
    beyond=THINKING,
)


def door(asked: Asked) -> Opened:
    backend = ClaudeCode(
        model=asked.model or MODEL,
        environ=child_environment(asked),
        timeout=asked.replay.timeout,
        retries=asked.replay.retries,
        redact=asked.redact,
        prompts=asked.prompts,
        missing_key=asked.key_env if asked.key_env and not asked.key(KEYS) else "",
    )
    tools = {task.id for task in asked.tasks if any(check.op == "tool_called" for check in task.checks)}
    return Opened(backend=backend, beyond=ABOUT.beyond, skipped=dict.fromkeys(sorted(tools), NO_TOOLS))


def _sweep() -> None:
    """What a run that was killed left behind, with what it asked; younger folders may be another run's."""
    for folder in Path(gettempdir()).glob(f"{FOLDERS}*"):
        with suppress(OSError):
            if time.time() - folder.lstat().st_mtime > LEFT_BEHIND:
                shutil.rmtree(folder, ignore_errors=True)


# --- a call ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeCode:
    """`environ` is all that the program gets of the environment; keys stand in it and nowhere else."""

    model: str
    environ: Mapping[str, str] = field(repr=False)
    timeout: float
    retries: int
    redact: Callable[[str], str]
    prompts: Prompts
    missing_key: str = ""  # the variable that was to hold a key and holds none
    name: str = NAME
    deterministic: bool = False
    simulated: bool = False
    knows: str = ""

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        """The program words a part of each request itself, and its versions differ in that."""
        program = self._program
        return {"client": version(program) if program else ""}

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        _sweep()
        return [self._answer(request) for request in requests]

    @property
    def _program(self) -> str | None:
        return shutil.which(NAME, path=self.environ.get("PATH", ""))

    def _answer(self, request: Request) -> Reply | CallFailed:
        program = self._program
        if self.missing_key:
            return CallFailed("auth", f"{self.missing_key}, which is to hold the key, is not set")
        if program is None:
            return CallFailed("process", f"there is no `{NAME}` program on the PATH: install Claude Code and log in")
        with TemporaryDirectory(prefix=FOLDERS, ignore_cleanup_errors=True) as folder:
            return self._told(_Call(program, Path(folder)), request)

    def _told(self, call: _Call, request: Request) -> Reply | CallFailed:
        said = spoken(request, self.prompts)
        call.write(said.system, said.user)
        environ = {**self.environ, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.max_tokens + THINKING)}
        within = self.timeout * (1 + self.retries) + START
        try:
            code = call.run(self.model, environ, within)
        except OSError as error:
            return self._failed("process", f"{call.program} cannot be started: {error.strerror}")
        if code is None:
            return self._failed("timeout", f"no answer from `{NAME}` within {within:g} seconds")
        return self._understood(code, call)

    def _understood(self, code: int, call: _Call) -> Reply | CallFailed:
        size = call.out.stat().st_size
        if size > OUTPUT_LIMIT:
            return self._failed("process", f"`{NAME}` printed {size} bytes, which is no answer")
        told = call.out.read_bytes()
        try:
            found = read(_Result, told, where="what it printed")
        except ConfigError:
            words = call.err.read_bytes()[-OUTPUT_LIMIT:].decode(errors="replace").strip()
            ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            what = "and said nothing" if not told.strip() else "and what it printed is not its JSON"
            return self._failed("process", f"`{NAME}` {ended} {what}{': ' if words else ''}{words}")
        if found.is_error or code or found.stop_reason == _OWN_WORDS:
            return self._refused(found, code)
        return _answered(found, self.model)

    def _refused(self, found: _Result, code: int) -> CallFailed:
        text = found.result or "; ".join(found.errors or ()) or f"`{NAME}` ended with exit code {code}"
        status = found.api_error_status or _status(text)
        kind = _kind(found, text, status)
        if kind is None and status:
            told = failed(status, text, redact=self.redact, secrets=self._secrets)
        else:
            told = self._failed(kind or "process", text)
        return replace(told, usage=counted(_usage(found)))

    def _failed(self, kind: FailureKind, text: str) -> CallFailed:
        told = failed(None, text, redact=self.redact, secrets=self._secrets)
        return replace(told, kind=kind, retryable=kind in ("network", "timeout", "rate"))

    @property
    def _secrets(self) -> tuple[str, ...]:
        return secrets(self.environ)


@cache
def version(program: str) -> str:
    """Of the program at that path, asked once."""
    found = re.search(rb"\d+(?:\.\d+)+", programs.ask(program, "--version", within=START).out)
    return found[0].decode() if found else "unknown"


@dataclass(frozen=True, slots=True)
class _Call:
    """A private folder for one call. The program works in an empty one inside it, whose name tells our harvest that a
    session there would be no person's."""

    program: str
    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "out.json"

    @property
    def err(self) -> Path:
        return self.folder / "err.txt"

    @property
    def _system(self) -> Path:
        return self.folder / "system.txt"

    @property
    def _prompt(self) -> Path:
        return self.folder / "prompt.txt"

    @property
    def _here(self) -> Path:
        return self.folder / REPLAY_FOLDER

    def write(self, system: str, user: str) -> None:
        """The folder is its owner's alone, and so is what is in it. A prompt that begins with a slash would be taken
        for a command of the program's."""
        self._here.mkdir(mode=0o700)
        for path, text in ((self._system, system), (self._prompt, f"\n{user}" if user.startswith("/") else user)):
            path.touch(0o600)
            path.write_bytes(text.encode(errors="replace"))

    def run(self, model: str, environ: Mapping[str, str], within: float) -> int | None:
        words = (
            *(self.program, "-p", "--model", model, "--system-prompt-file", str(self._system)),
            *("--setting-sources", "", "--tools", "", "--strict-mcp-config", "--no-session-persistence"),
            *("--output-format", "json", "--max-turns", "1"),
        )
        files = {"given": self._prompt, "out": self.out, "err": self.err}
        return programs.run(words, folder=self._here, environ=environ, within=within, **files)


# --- what it printed ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Used:
    inputTokens: int = 0  # noqa: N815 - the program's names
    outputTokens: int = 0  # noqa: N815
    cacheReadInputTokens: int = 0  # noqa: N815
    cacheCreationInputTokens: int = 0  # noqa: N815


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """The parts of its JSON that are read here."""

    is_error: bool
    result: str | None = None
    errors: tuple[str, ...] | None = None
    api_error_status: int | None = None
    stop_reason: str | None = None
    num_turns: int = 1
    total_cost_usd: float | None = None
    modelUsage: dict[str, _Used] = field(default_factory=dict)  # noqa: N815


def _answered(found: _Result, model: str) -> Reply | CallFailed:
    usage, why = _usage(found), _unanswered(found)
    if why is not None:
        return replace(why, usage=counted(usage))
    used = found.modelUsage
    named = max(used, key=lambda name: used[name].outputTokens, default=model)
    return sound(Reply(text=found.result or "", usage=usage, model=named))


def _unanswered(found: _Result) -> CallFailed | None:
    """Where an answer is cut off, the program asks for the rest by itself, and tells that alone: half an answer. What
    did not end as an answer does is none, whatever ended it."""
    if found.num_turns == 0:
        return CallFailed("refused", f"`{NAME}` took the prompt for a command of its own")
    if found.stop_reason == "refusal":
        return CallFailed("refused", "the model refused to answer")
    if not (found.result or "").strip():
        return CallFailed("empty", "the model answered nothing")
    if found.num_turns > 1 or found.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        return CallFailed("truncated", f"the answer was cut off, and `{NAME}` had the model go on by itself")
    if found.stop_reason != _WHOLE:
        told = found.stop_reason or f"this `{NAME}` does not say why it ended; a newer one does"
        return CallFailed("truncated", f"the answer is not finished ({told})"[:MESSAGE_LIMIT])
    return None


_WHOLE = "end_turn"
_OWN_WORDS = "stop_sequence"  # no model is given one here: so end what the program says in a model's place


def _usage(found: _Result) -> Usage:
    """By model, for the total beside it is empty where the program fell back from streaming."""
    used, cost = found.modelUsage.values(), found.total_cost_usd
    cached = sum(max(item.cacheReadInputTokens, 0) for item in used)
    written = sum(max(item.cacheCreationInputTokens, 0) for item in used)
    return Usage(
        input_tokens=sum(max(item.inputTokens, 0) for item in used) + cached + written,
        output_tokens=sum(max(item.outputTokens, 0) for item in used),
        cost_usd=cost if cost is not None and 0 <= cost < math.inf else None,
        cached_tokens=cached,
        written_tokens=written,
    )


def _kind(found: _Result, text: str, status: int | None) -> FailureKind | None:
    """By what the program says, where no status tells it, or one that means several things; None where one does."""
    if found.stop_reason in ("refusal", "tool_use"):
        return "refused" if found.stop_reason == "refusal" else "empty"
    return next((kind for kind, said in _kinds(status) if re.search(said, text, re.IGNORECASE)), None)


def _kinds(status: int | None) -> Iterator[tuple[FailureKind, str]]:
    yield "quota", r"credit balance|usage limit|hit your [\w ]*limit|(?<!rate )limit reached|out of extra usage"
    yield "refused", r"prompt is too long|safeguards|usage policy"
    if status is None:
        yield "auth", r"not logged in|/login|invalid api key|failed to authenticate|oauth token|organization has been"
        yield "auth", r"organization does not have access"
        yield "truncated", r"output token (?:maximum|limit)"
        yield "timeout", r"timed out"
        yield "network", r"connect"
        yield "rate", r"rate limit|overloaded"


def _status(text: str) -> int | None:
    """The status in the program's words, where it stands nowhere else."""
    found = re.search(r"(?:API Error:?|Repeated|rejected|status(?: code)?:?) \(?([45]\d\d)\b", text, re.IGNORECASE)
    return int(found[1]) if found else None
