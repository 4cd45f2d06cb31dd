"""The only module that prints. Results go to stdout; notes, progress and errors to stderr.

Nothing reaches a terminal that could steer it: control, escape and direction-changing characters are made visible.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO, assert_never

if TYPE_CHECKING:
    from rich.console import Console as RichConsole

    from skillopt_git.ports import LearningEvent

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_ZERO_WIDTH = "\u200b"
_UNBOUNDED = 10_000


class Console:
    """Where a verb prints. `quiet` silences notes and progress, never results or errors."""

    def __init__(self, *, quiet: bool = False, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.quiet = quiet
        self._stdout = stdout or sys.stdout
        self._stderr = stderr or sys.stderr
        self._open_line = False

    def out(self, text: str) -> None:
        self._close_line()
        print(_harmless(text), file=self._stdout)

    def note(self, text: str) -> None:
        if not self.quiet:
            self._close_line()
            print(_harmless(text), file=self._stderr)

    def error(self, message: str, hint: str = "") -> None:
        self._close_line()
        print(_harmless(f"error: {message}"), file=self._stderr)
        if hint:
            print(_harmless(f"hint: {hint}"), file=self._stderr)

    def json(self, value: Mapping[str, Any] | Sequence[Any]) -> None:
        """One document. ASCII only, so that it survives every locale and steers no terminal."""
        self._close_line()
        print(json.dumps(value, indent=2, allow_nan=False), file=self._stdout)

    def markdown(self, text: str) -> None:
        """`render`'s Markdown: as it is for a file or a pipe, and on a terminal without what only a forge needs."""
        if self._stdout.isatty():
            self.out(_ESCAPED.sub(r"\1", text.replace(_ZERO_WIDTH, "")))
        else:
            self._close_line()
            print(text, file=self._stdout)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Fitted to the width of a terminal; one full line a row elsewhere."""
        # Here and below: imported when needed, for a quick start.
        from rich import box
        from rich.table import Table
        from rich.text import Text

        self._close_line()
        shown = Table(title=Text(_harmless(title)) if title else None, title_justify="left", box=box.SIMPLE)
        for column in columns:
            shown.add_column(Text(_harmless(column)), overflow="fold")
        for row in rows:
            shown.add_row(*(Text(_harmless(cell)) for cell in row))
        _rich(self._stdout).print(shown)

    def progress(self, event: LearningEvent) -> None:
        """A `Listener`. On a terminal, counts of calls overwrite one another."""
        if self.quiet:
            return
        from skillopt_git.ports import Called

        if isinstance(event, Called) and self._stderr.isatty():
            self._close_line()
            _rich(self._stderr).print(_sentence(event), style="dim", end="", markup=False, highlight=False)
            self._open_line = True
        else:
            self.note(_sentence(event))

    def _close_line(self) -> None:
        if self._open_line:
            from rich.control import Control
            from rich.segment import ControlType

            erase = Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))
            _rich(self._stderr).control(erase)
            self._open_line = False


def _rich(stream: TextIO) -> RichConsole:
    """Honours NO_COLOR, COLUMNS and TERM by itself."""
    from rich.console import Console as RichConsole

    return RichConsole(file=stream, width=None if stream.isatty() else _UNBOUNDED)


def _harmless(text: str) -> str:
    return "\n".join(line if line.isascii() and line.isprintable() else _cleaned(line) for line in text.split("\n"))


def _cleaned(line: str) -> str:
    # Not at the top: the templates' libraries would slow down every start, and most lines are plain.
    from skillopt_git.render import terminal

    return terminal(line)


def _sentence(event: LearningEvent) -> str:
    from skillopt_git.ports import Called, Gated, Harvested, Mined, Reflected

    match event:
        case Harvested(sessions, skipped):
            return f"read {_many(sessions, 'session')}, skipped {skipped}"
        case Mined(tasks, needs):
            return f"found {_many(tasks, 'task')} and {_many(needs, 'need')}"
        case Called(purpose, done, failed):
            return f"{purpose}: {done} answered" + (f", {failed} failed" if failed else "")
        case Reflected(document, need, edits):
            return f"{document}: {_many(edits, 'edit')} for {need}"
        case Gated(document, rule, verdict):
            return f"{document}: {rule} is {verdict}"
        case _:
            assert_never(event)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
