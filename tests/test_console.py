from __future__ import annotations

import io
import json
import re
from contextlib import suppress
from pathlib import Path

import pytest

from skillopt_git.console import Console
from skillopt_git.ports import Asking, Called, Gated, Harvested, LearningEvent, Mined, Reflected, Scanned, Waiting
from skillopt_git.render import md_text

ESC = "\x1b"
ERASE = f"\r{ESC}[2K"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Screen:
    """A console and what it printed."""

    def __init__(self, stream: type[io.StringIO] = io.StringIO, *, quiet: bool = False) -> None:
        self.stdout, self.stderr = stream(), stream()
        self.console = Console(quiet=quiet, stdout=self.stdout, stderr=self.stderr)

    @property
    def out(self) -> str:
        return self.stdout.getvalue()

    @property
    def err(self) -> str:
        return self.stderr.getvalue()


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal of the tests is 60 columns wide and has colours."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm-256color")


def test_results_and_notes_go_to_different_streams() -> None:
    """A pipe gets the results alone."""
    screen = Screen()
    screen.console.out("a result")
    screen.console.note("a note")
    assert (screen.out, screen.err) == ("a result\n", "a note\n")


def test_quiet_silences_notes_and_progress_only() -> None:
    """Results and errors are always said."""
    screen = Screen(quiet=True)
    screen.console.note("a note")
    screen.console.progress(Mined(1, 1))
    screen.console.out("a result")
    screen.console.error("it broke", "mend it")
    assert (screen.out, screen.err) == ("a result\n", "error: it broke\nhint: mend it\n")


def test_an_error_may_have_several_lines_and_no_hint() -> None:
    """Line breaks of a message stay, an empty hint is not shown."""
    screen = Screen()
    screen.console.error("two problems:\n  one\n  two")
    assert screen.err == "error: two problems:\n  one\n  two\n"


@pytest.mark.parametrize("say", [Console.out, Console.note, Console.error], ids=["out", "note", "error"])
def test_no_text_steers_the_terminal(say: object) -> None:
    """Escape sequences and characters that hide or turn text do not get through."""
    screen = Screen()
    assert callable(say)
    say(screen.console, f"café {ESC}[31mred{ESC}]0;title\a \u202egnirts\r")
    said = screen.out + screen.err
    assert "café" in said
    assert not set(said) & {ESC, "\a", "\r", "\u202e"}


def test_json_is_one_ascii_document() -> None:
    """The document survives every locale; what is not a number in JSON is refused."""
    screen = Screen()
    screen.console.json({"rule": "Füge \u202e an", "score": None})
    assert json.loads(screen.out) == {"rule": "Füge \u202e an", "score": None}
    assert screen.out.isascii()
    with pytest.raises(ValueError, match="not JSON compliant"):
        screen.console.json({"score": float("nan")})


def test_markdown_keeps_its_bytes_in_a_pipe() -> None:
    """`show > report.md` gives the report itself."""
    screen = Screen()
    text = f"# {md_text('use_pnpm *now* <b> @alice')}"
    screen.console.markdown(text)
    assert screen.out == f"{text}\n"


def test_markdown_reads_plainly_on_a_terminal() -> None:
    """Escapes and invisible characters meant for a forge are gone; nothing steers the terminal."""
    screen = Screen(Terminal)
    screen.console.markdown(f"{md_text('use_pnpm *now* <b> &amp; @alice')} \u202e")
    assert screen.out == "use_pnpm *now* <b> &amp; @alice <U+202E>\n"


def test_markdown_on_a_terminal_has_no_drawings() -> None:
    """What only a forge can draw is left out there, up to its own end and no further; a pipe gets it."""
    folded = "<details><summary>Drawn: the nights</summary>\n\n```mermaid\nxychart-beta\n```\n\n</details>\n\n"
    text = f"before\n\n{folded}between\n\n{folded}<details><summary>Its tasks</summary>\n</details>"
    screen, pipe = Screen(Terminal), Screen()

    screen.console.markdown(text)
    pipe.console.markdown(text)

    assert screen.out == "before\n\nbetween\n\n<details><summary>Its tasks</summary>\n</details>\n"
    assert pipe.out == f"{text}\n"


def test_a_table_in_a_pipe_has_one_line_a_row() -> None:
    """Nothing is cut or wrapped, and there is no colour."""
    screen = Screen()
    long = "word " * 60
    screen.console.table("Tasks", ["id", "ask"], [["t1-0001", long], ["t1-0002", f"[bold]{ESC}[31m"]])
    lines = screen.out.splitlines()
    assert [line for line in lines if "t1-0001" in line and long.strip() in line]
    assert [line for line in lines if "t1-0002" in line and "[bold]" in line]
    assert "Tasks" in screen.out
    assert ESC not in screen.out


def test_a_table_on_a_terminal_keeps_to_its_width() -> None:
    """Long cells are folded, and nothing is lost."""
    screen = Screen(Terminal)
    screen.console.table("", ["id", "ask"], [["t1-0001", "word " * 60]])
    assert screen.out.count("word") == 60
    shown = re.sub(rf"{ESC}\[[0-9;]*m", "", screen.out)
    assert max(map(len, shown.splitlines())) <= 60


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    """With NO_COLOR a terminal gets no colours."""
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen(Terminal)
    screen.console.table("", ["id"], [["t1-0001"]])
    assert f"{ESC}[3" not in screen.out


EVENTS: list[tuple[LearningEvent, str]] = [
    (Harvested(7, 2), "read 7 sessions, skipped 2"),
    (Mined(5, 2), "found 5 tasks and 2 needs"),
    (Waiting("batch b1 of 2 questions"), "waiting for batch b1 of 2 questions"),
    (Called("rollout", 8, 0), "rollout: 8 answered"),
    (Called("judge", 8, 1), "judge: 7 answered, 1 failed"),
    (Reflected("CLAUDE.md", "Use pnpm", 1), "CLAUDE.md: 1 edit for 'Use pnpm'"),
    (Gated("CLAUDE.md", "r1-0001", "strong"), "CLAUDE.md: r1-0001 is strong"),
]


@pytest.mark.parametrize(("event", "line"), EVENTS)
def test_progress_is_plain_lines_where_nobody_watches(event: LearningEvent, line: str) -> None:
    """Each event is one line on stderr."""
    screen = Screen()
    screen.console.progress(event)
    assert (screen.out, screen.err) == ("", f"{line}\n")


def test_counts_of_calls_overwrite_one_another_on_a_terminal() -> None:
    """The line of a count is erased before the next text, and the last text stays."""
    screen = Screen(Terminal)
    screen.console.progress(Called("rollout", 8, 0))
    screen.console.progress(Called("rollout", 16, 0))
    screen.console.note("done")
    assert screen.err.count(ERASE) == 2
    assert screen.err.endswith(f"{ERASE}done\n")
    assert screen.err.count("\n") == 1


def test_a_call_that_others_wait_for_is_counted_only_where_somebody_watches() -> None:
    """A log has one line for all that were asked at once, and that when they have ended."""
    watched, log = Screen(Terminal), Screen()
    for screen in (watched, log):
        screen.console.progress(Asking("rollout", 3, 60))
        screen.console.progress(Called("rollout", 60, 0))

    assert "rollout: 3 of 60" in drawn(watched)
    assert log.err == "rollout: 60 answered\n"


def scan(screen: Screen, total: int, done: int) -> None:
    """As a harvest tells it that got as far as `done`."""
    for number in range(1, done + 1):
        screen.console.progress(Scanned(number, total))


def drawn(screen: Screen) -> list[str]:
    """What stood on the line one after the other, without colours."""
    return [re.sub(rf"{ESC}\[[0-9;]*m", "", text) for text in screen.err.split(ERASE)]


def test_a_large_home_gets_a_bar_that_is_gone_when_all_is_read() -> None:
    """One line with the bar and the count, redrawn no more than a hundred times; the cursor stays."""
    screen = Screen(Terminal)
    scan(screen, 20_000, 20_000)
    bars = drawn(screen)
    assert re.fullmatch("[━╸╺]* 10,000 of 20,000 transcripts", bars[49])
    assert bars[-1] == ""
    assert len(bars) == 100
    assert f"{ESC}[?" not in screen.err
    assert "\n" not in screen.err


@pytest.mark.parametrize(
    ("stream", "quiet", "total", "term"),
    [
        (Terminal, False, 199, "xterm"),
        (Terminal, True, 500, "xterm"),
        (io.StringIO, False, 500, "xterm"),
        (Terminal, False, 500, "dumb"),
    ],
    ids=["small", "quiet", "pipe", "dumb"],
)
def test_there_is_no_bar_where_nobody_would_read_it(
    stream: type[io.StringIO], quiet: bool, total: int, term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small homes, `--quiet`, pipes, and terminals that cannot erase a line: not a byte is written."""
    monkeypatch.setenv("TERM", term)
    screen = Screen(stream, quiet=quiet)
    scan(screen, total, total)
    assert screen.out + screen.err == ""


@pytest.mark.parametrize("width", range(10, 130, 7))
def test_a_bar_never_fills_its_line(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that wraps could not be erased; where there is no room there is no bar."""
    monkeypatch.setenv("COLUMNS", str(width))
    screen = Screen(Terminal)
    scan(screen, 1234, 1200)
    bars = [bar for bar in drawn(screen) if bar]
    assert all(len(bar) < width for bar in bars)
    assert bool(bars) == (width >= len("1,234 of 1,234 transcripts") + 10)


def test_whatever_ends_a_harvest_leaves_no_bar_behind() -> None:
    """An error or Ctrl-C in the middle: the bar is erased before anybody tells of it."""
    screen = Screen(Terminal)
    with suppress(KeyboardInterrupt), screen.console:
        scan(screen, 400, 217)
        raise KeyboardInterrupt
    assert screen.err.endswith(ERASE)
    assert len(screen.err.split(ERASE)[-2]) > 40


def test_notes_and_counts_take_the_place_of_a_bar() -> None:
    """The bar is erased first, and does not come back by itself."""
    screen = Screen(Terminal)
    scan(screen, 400, 217)
    screen.console.note("a note")
    scan(screen, 400, 217)
    screen.console.progress(Called("rollout", 8, 0))
    screen.console.out("done")
    parts = [re.sub("[━╸╺]+ .* transcripts", "", part) for part in drawn(screen)]
    assert [part for part in parts if part] == ["a note\n", "rollout: 8 answered"]


def test_prose_is_broken_between_words_on_a_terminal() -> None:
    """The rest of a line is indented below its beginning; what has no blank stays whole, and so do lines in a pipe."""
    path = "/home/alice/" + "very-long-name/" * 5
    lines = ["Findings", "", f"  - One two three {'four ' * 12}{path} five"]
    terminal, pipe = Screen(Terminal), Screen()
    terminal.console.page(lines)
    pipe.console.page(lines)
    assert pipe.out == "\n".join([*lines, ""])
    shown = terminal.out.splitlines()
    assert shown[:2] == ["Findings", ""]
    assert shown[2].startswith("  - One two three four")
    assert all(line.startswith("    ") for line in shown[3:])
    assert f"    {path}" in shown
    assert [line for line in shown if len(line) > 60] == [f"    {path}"]


def test_a_console_prints_to_the_process_by_default(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Without streams of its own it takes those of the process."""
    Console().out(str(tmp_path))
    Console().note("note")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (f"{tmp_path}\n", "note\n")


def test_a_chart_is_made_of_signs_in_a_pipe_and_drawn_on_a_terminal() -> None:
    """As long as the share says, and no label steers the terminal."""
    bars = [("none", 0.0), ("a quarter", 0.25), (f"all{ESC}[31m", 1.0)]
    pipe, terminal = Screen(), Screen(Terminal)
    pipe.console.chart("Shares", bars)
    assert pipe.out.splitlines()[0] == "Shares"
    assert [line.count("#") for line in pipe.out.splitlines()[1:]] == [0, 10, 40]
    assert [line.split()[-2:] for line in pipe.out.splitlines()[2:3]] == [["25%", "#" * 10]]
    assert ESC not in pipe.out
    terminal.console.chart("Shares", bars)
    assert f"{ESC}[31m" not in terminal.out
    assert terminal.out.count("\u2588") == 50 - terminal.out.count("\u2590")
    assert "#" not in terminal.out


def test_no_value_is_more_than_one_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of steps in a workflow: who chose the value of one must not choose others. Elsewhere nothing is written."""
    Console().outputs({"skipped": "nothing to do"})
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))

    Console().outputs({"skipped": "paused\nready=true\r\n::error::no\x0b\u2028ready=true", "run-id": ""})

    lines = (tmp_path / "output").read_text(encoding="utf-8").splitlines()
    assert lines == ["skipped=paused ready=true ::error::no ready=true", "run-id="]
