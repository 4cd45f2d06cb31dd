"""The only module that prints. Results go to stdout; notes, progress and errors to stderr.

Nothing reaches a terminal that could steer it: control, escape and direction-changing characters are made visible.
"""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO, assert_never

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.console import RenderableType

    from skillopt_git.ports import LearningEvent, Scanned

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_ZERO_WIDTH = "\u200b"
_DRAWN = re.compile(r"^<details><summary>Drawn: .*?^</details>\n+", re.DOTALL | re.MULTILINE)
_UNBOUNDED = 10_000
_MANY = 200  # transcripts; fewer are looked through before anybody could read a bar
_STEPS = 100  # how often a bar is drawn
_BAR = 40  # columns, where there is room
_NARROW = 8


class Console:
    """Where a verb prints. `quiet` silences notes and progress, never results or errors.

    As a context it leaves no half-written line behind, however its block ends. The cursor is never hidden, so that
    there is nothing to restore, even for a process that is killed.
    """

    def __init__(self, *, quiet: bool = False, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.quiet = quiet
        self._stdout = stdout or sys.stdout
        self._stderr = stderr or sys.stderr
        self._open_line = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_line()

    def out(self, text: str) -> None:
        self._close_line()
        print(_harmless(text), file=self._stdout)

    def ask(self, question: str) -> str:
        """What somebody types in answer, folded; "" where nobody does any more."""
        self._close_line()
        print(_harmless(question), end="", file=self._stdout, flush=True)
        return sys.stdin.readline().strip().casefold()

    def page(self, lines: Iterable[str]) -> None:
        """Lines of prose: on a terminal broken between words, the rest of a line indented below its beginning."""
        width = _rich(self._stdout).width
        for line in lines:
            below = " " * (len(line) - len(line.lstrip()) + 2)
            wrapped = textwrap.wrap(
                line, width, subsequent_indent=below, break_long_words=False, break_on_hyphens=False
            )
            self.out("\n".join(wrapped))

    def note(self, text: str) -> None:
        if not self.quiet:
            self._close_line()
            print(_harmless(text), file=self._stderr)

    def error(self, message: str, hint: str = "", called: str = "error") -> None:
        self._close_line()
        print(_harmless(f"{called}: {message}"), file=self._stderr)
        if hint:
            print(_harmless(f"hint: {hint}"), file=self._stderr)

    def json(self, value: Mapping[str, Any] | Sequence[Any]) -> None:
        """One document. ASCII only, so that it survives every locale and steers no terminal."""
        self._close_line()
        print(json.dumps(value, indent=2, allow_nan=False), file=self._stdout)

    def markdown(self, text: str) -> None:
        """`render`'s Markdown: as it is for a file or a pipe, on a terminal without what is for a forge only."""
        if self._stdout.isatty():
            self.out(_ESCAPED.sub(r"\1", _DRAWN.sub("", text).replace(_ZERO_WIDTH, "")))
        else:
            self._close_line()
            print(text, file=self._stdout)

    def outputs(self, values: Mapping[str, str]) -> None:
        """For the steps that follow in a workflow of GitHub Actions; elsewhere nothing."""
        self._appended(
            "GITHUB_OUTPUT", "".join(f"{name}={' '.join(value.split())}\n" for name, value in values.items())
        )

    def summary(self, markdown: str) -> None:
        """On the page of a job of GitHub Actions; elsewhere nothing."""
        self._appended("GITHUB_STEP_SUMMARY", markdown)

    def _appended(self, variable: str, text: str) -> None:
        path = os.environ.get(variable)
        if path:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(text)

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

    def chart(self, title: str, bars: Sequence[tuple[str, float]]) -> None:
        """A bar for each share of 1: drawn on a terminal, made of `#` elsewhere."""
        from rich.bar import Bar
        from rich.table import Table
        from rich.text import Text

        self.out(title)
        rich = _rich(self._stdout)
        drawn = rich.is_terminal and not rich.options.ascii_only
        grid = Table.grid(padding=(0, 1))
        for label, share in bars:
            bar = Bar(1, 0, share, width=_BAR) if drawn else Text("#" * round(_BAR * share))
            grid.add_row(Text(f"  {_harmless(label)}"), Text(f"{share:4.0%}"), bar)
        rich.print(grid)

    def progress(self, event: LearningEvent) -> None:
        """A `Listener`. On a terminal, counts overwrite one another; how far a harvest or what was asked at once is, is
        told only there."""
        if self.quiet:
            return
        if isinstance(event, _scanned()):
            # First what costs nothing: there is one of these for every transcript.
            if event.total >= _MANY and (event.done % (event.total // _STEPS) == 0 or event.done == event.total):
                self._scan(event)
            return
        from skillopt_git.ports import Asking, Called

        if isinstance(event, Asking | Called) and self._is_watched():
            from rich.text import Text

            self._overwrite(Text(_sentence(event), style="dim", end=""))
        elif not isinstance(event, Asking):
            self.note(_sentence(event))

    def _scan(self, event: Scanned) -> None:
        """A bar of at most one line; none where there is no room, and none when it is full."""
        self._close_line()
        if event.done == event.total or not self._is_watched():
            return
        longest = f" {event.total:,} of {event.total:,} transcripts"
        room = _rich(self._stderr).width - len(longest) - 1
        if room >= _NARROW:
            from rich.console import Group
            from rich.progress_bar import ProgressBar
            from rich.text import Text

            bar = ProgressBar(event.total, event.done, width=min(room, _BAR))
            count = Text(f" {_sentence(event)}", style="dim", end="")
            self._overwrite(Group(bar, count))

    def _is_watched(self) -> bool:
        """Whether stderr is a terminal, and one that can erase a line."""
        return self._stderr.isatty() and not _rich(self._stderr).is_dumb_terminal

    def _overwrite(self, shown: RenderableType) -> None:
        self._close_line()
        _rich(self._stderr).print(shown, end="")
        self._open_line = True

    def _close_line(self) -> None:
        if self._open_line:
            from rich.control import Control
            from rich.segment import ControlType

            erase = Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))
            _rich(self._stderr).control(erase)
            self._open_line = False


@cache
def _scanned() -> type[Scanned]:
    from skillopt_git.ports import Scanned  # not at the top: it would slow down every start

    return Scanned


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
    from skillopt_git.ports import Asking, Called, Gated, Harvested, Mined, Reflected, Scanned, Waiting

    match event:
        case Scanned(done, total):
            return f"{done:,} of {total:,} transcripts"
        case Harvested(sessions, skipped):
            return f"read {_many(sessions, 'session')}, skipped {skipped}"
        case Mined(tasks, needs):
            return f"found {_many(tasks, 'task')} and {_many(needs, 'need')}"
        case Asking(purpose, done, total):
            return f"{purpose}: {done} of {total}"
        case Waiting(what):
            return f"waiting for {what}"
        case Called(purpose, done, failed):
            return f"{purpose}: {done - failed} answered" + (f", {failed} failed" if failed else "")
        case Reflected(document, need, edits):
            return f"{document}: {_many(edits, 'edit')} for '{need}'"
        case Gated(document, rule, verdict):
            return f"{document}: {rule} is {verdict}"
        case _:
            assert_never(event)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
