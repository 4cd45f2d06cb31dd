"""Other programs: what they answer, when they fail, and when they do not come back."""

from __future__ import annotations

import sys
import time

from skillopt_git.programs import ask


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
