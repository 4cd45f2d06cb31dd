"""The one question that `init` asks: what models may be sent. The answer goes into the user's own settings file."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt_git.console import Console
from skillopt_git.errors import ConfigError, UsageError
from skillopt_git.loading import load, user_file

QUESTION = """\
When a model answers and reflects, it is sent your repository's instructions and the tasks it is to try. What may that
be, from this machine?
  reviewed  only tasks that people reviewed, in .skillopt/tasks/
  mined     also your sessions, what you typed and what was answered, in which the optimizer looks for tasks, and the
            tasks; secrets, addresses and names of homes are taken out first
`skillopt-git dry-run --outgoing` shows every word of it beforehand. Enter alone decides nothing, and sends nothing."""


@dataclass(frozen=True, slots=True)
class Own:
    """The user's own settings file, and what was decided; `made` where there was none yet. One that is there says
    `said`, if anything."""

    path: str
    send: str
    made: bool
    said: str = ""

    @property
    def text(self) -> str:
        """What the file has to hold."""
        return f'[replay]\nsend = "{self.send}"\n'

    @property
    def stored(self) -> bool:
        return self.made or self.said == self.send


def settle(root: Path, send: str | None, console: Console, *, asks: bool) -> Own | None:
    """Asks where nobody said it yet and somebody can answer. A settings file that is there is never changed: what to
    add to it is given back."""
    if send not in (None, "reviewed", "mined"):
        raise UsageError(f"--send has no meaning for '{send}'", "it is `reviewed` or `mined`")
    if send is None and asks and not _said(root) and sys.stdin.isatty() and sys.stdout.isatty():
        send = _asked(console)
    if send is None:
        return None
    path = user_file(os.environ)
    own = Own(str(path), send, made=True)
    return own if _create(path, own.text) else Own(str(path), send, made=False, said=_says(path))


def _said(root: Path, environ: Mapping[str, str] = os.environ) -> bool:
    try:
        return bool(load(root, environ=environ).replay.send)
    except ConfigError:  # what is wrong with the settings is told by the next run
        return True


def _says(path: Path) -> str:
    """What the file says may be sent; "" where it says nothing, or cannot be read."""
    try:
        return str(tomllib.loads(path.read_text(encoding="utf-8"))["replay"]["send"])
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _asked(console: Console) -> str | None:
    console.out(QUESTION)
    while True:
        answer = console.ask("reviewed or mined? ")
        if answer in ("", "reviewed", "mined"):
            return answer or None


def _create(path: Path, text: str) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
