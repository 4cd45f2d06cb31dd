"""Other programs of the system: whether they are there, what they answer, and that none of them outlives us."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt_git.errors import SkilloptError


class ProgramFailed(SkilloptError):
    kind = "process"


@dataclass(frozen=True, slots=True)
class Answer:
    command: str
    code: int
    out: bytes
    err: str

    @property
    def words(self) -> str:
        """What the program said about its failure."""
        return self.err.strip() or self.out.decode(errors="replace").strip() or f"exit {self.code}, without saying why"

    def error(self, hint: str) -> ProgramFailed:
        return ProgramFailed(f"{self.command}: {self.words}", hint)


def is_there(name: str) -> bool:
    return shutil.which(name) is not None


def ask(*words: str, data: bytes = b"", within: float | None = None) -> Answer:
    """Runs a program, with messages in English. Never raises for its failures, nor where there is no such program.

    With `within`, in seconds, it cannot ask on the terminal, and it and all it started are ended when time is up: a
    failure like others.
    """
    command, environ = shlex.join(words), {**os.environ, "LC_ALL": "C"}
    alone = within is not None
    pipe = subprocess.PIPE
    try:
        with _started(words, alone=alone, stdin=pipe, stdout=pipe, stderr=pipe, env=environ) as started:
            out, err = started.communicate(data, timeout=within)
    except FileNotFoundError:
        return Answer(command, 127, b"", f"there is no `{words[0]}` command")
    except subprocess.TimeoutExpired:
        return Answer(command, 124, b"", f"no answer within {within:g} seconds")
    return Answer(command, started.returncode, out, err.decode(errors="replace"))


def run(
    words: Sequence[str], *, folder: Path, environ: Mapping[str, str], given: Path, out: Path, err: Path, within: float
) -> int | None:
    """Runs a program in `folder` from a file to files: some lose what a pipe does not take at once. Its exit code; None
    where time was up, after `within` seconds: then it and all it started are ended, as they are where we are.

    It cannot ask on the terminal, and knows `environ` alone. Raises OSError where it cannot be started.
    """
    with given.open("rb") as source, out.open("wb") as told, err.open("wb") as noted:
        try:
            with _started(words, cwd=folder, env=environ, stdin=source, stdout=told, stderr=noted) as started:
                return started.wait(within)
        except subprocess.TimeoutExpired:
            return None


def end() -> None:
    """Ends the programs that other threads wait for, each with all it started. Whoever waits hears of it."""
    for started in tuple(_RUNNING):
        _end(started)


_RUNNING: set[subprocess.Popen[bytes]] = set()  # those in a group of their own: nobody else ends these


@contextmanager
def _started(words: Sequence[str], *, alone: bool = True, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs no longer than it is waited for, whatever ends the waiting. `alone`: in a group of its own,
    so that what it started ends with it: a child of its own would keep the pipes open."""
    with subprocess.Popen(words, start_new_session=alone, **options) as started:
        if alone:
            _RUNNING.add(started)
        try:
            yield started
        finally:
            _RUNNING.discard(started)
            if alone:
                _end(started)
            else:
                started.kill()
            started.wait()


def _end(started: subprocess.Popen[bytes]) -> None:
    """It and all it started, which may go on after it."""
    with suppress(ProcessLookupError, PermissionError):  # nothing of it is left
        os.killpg(started.pid, signal.SIGKILL)
