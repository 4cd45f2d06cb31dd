"""Other programs: what they answer, when they fail, and when they do not come back."""

from __future__ import annotations

import shlex
import signal
import sys
import time
from pathlib import Path
from threading import Thread, main_thread

import pytest

from skillopt_git.programs import ask, end, run


def test_what_a_program_answers() -> None:
    """What it is given goes in; a failure is told in its own words."""
    code = "import sys; print(sys.stdin.read().upper()); print('no', file=sys.stderr); sys.exit(3)"
    answer = ask(sys.executable, "-c", code, data=b"text")
    assert (answer.code, answer.out, answer.words) == (3, b"TEXT\n", "no")
    assert "exit 0, without saying why" in ask("true", within=5.0).words


def test_a_program_that_is_not_there() -> None:
    """It is a failure like others."""
    answer = ask("no-such-program", "--version")
    assert (answer.code, answer.words) == (127, "there is no `no-such-program` command")


def test_a_program_that_hangs_is_ended_with_all_it_started() -> None:
    """A child that holds the pipe would keep us waiting."""
    before = time.monotonic()
    answer = ask("sh", "-c", "sleep 30 & sleep 30", within=0.3)
    assert (answer.code, answer.words) == (124, "no answer within 0.3 seconds")
    assert time.monotonic() - before < 10


def between_files(folder: Path, code: str, within: float = 20.0) -> int | None:
    (folder / "in").write_text("text")
    files = {"given": folder / "in", "out": folder / "out", "err": folder / "err"}
    return run([sys.executable, "-c", code], folder=folder, environ={"A": "b"}, within=within, **files)


def test_a_program_between_files(tmp_path: Path) -> None:
    """It works in the folder, in the environment it is given and no other."""
    code = "import os, sys; print(sys.stdin.read(), os.getcwd(), os.environ['A'], 'HOME' in os.environ); sys.exit(3)"
    assert between_files(tmp_path, code) == 3
    assert (tmp_path / "out").read_text() == f"text {tmp_path} b False\n"


def test_a_program_between_files_has_so_long(tmp_path: Path) -> None:
    """What it printed until then stays."""
    code = "import time; print('begun', flush=True); time.sleep(60)"
    assert between_files(tmp_path, code, within=1.0) is None
    assert (tmp_path / "out").read_text() == "begun\n"


def test_programs_that_other_threads_wait_for_can_be_ended(tmp_path: Path) -> None:
    """Those hear of it at once; where nothing runs nothing is ended."""
    end()
    ended: list[int | None] = []
    thread = Thread(target=lambda: ended.append(between_files(tmp_path, "import time; time.sleep(60)", 60.0)))
    thread.start()
    before = time.monotonic()
    while thread.is_alive() and time.monotonic() < before + 20:
        end()
        thread.join(0.05)
    assert ended == [-signal.SIGKILL]


@pytest.mark.parametrize("within", [None, 30.0])
def test_whoever_is_interrupted_waits_for_no_program(within: float | None) -> None:
    """Be it in a group of its own or not: it would hold us up for as long as it likes."""

    def interrupt() -> None:
        time.sleep(0.5)
        signal.pthread_kill(main_thread().ident or 0, signal.SIGUSR1)

    def heard(*_: object) -> None:
        raise KeyboardInterrupt

    before, usual = time.monotonic(), signal.signal(signal.SIGUSR1, heard)
    try:
        Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            ask("sleep", "30", within=within)
    finally:
        signal.signal(signal.SIGUSR1, usual)
    assert time.monotonic() - before < 10


@pytest.mark.parametrize("within", [0.5, 30.0])
def test_what_a_program_leaves_running_is_ended_too(tmp_path: Path, within: float) -> None:
    """Though it ended itself, in time or with its output held open."""
    left = tmp_path / "left"
    held = "" if within < 1 else ">/dev/null 2>&1"
    answer = ask("sh", "-c", f"sleep 60 {held} & echo $! > {shlex.quote(str(left))}", within=within)
    assert answer.code == (124 if within < 1 else 0)
    status = Path(f"/proc/{int(left.read_text())}/stat")
    until = time.monotonic() + 20
    while running(status) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running(status)


def running(status: Path) -> bool:
    """One that was ended may wait to be collected."""
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
