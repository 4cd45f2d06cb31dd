"""Other programs: what they answer, when they fail, and when they do not come back."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from skillopt_git.programs import ask, run


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
