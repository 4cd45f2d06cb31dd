"""Verbs that are killed: nothing of the user's is touched, nothing is half-written, and the next run finishes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def rows(*args: str) -> list[dict[str, Any]]:
    """The table, made in a process of its own, which forks."""
    command = [sys.executable, "-m", "tests.broken", "--json", *args]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_verb_that_is_killed_anywhere_is_finished_by_the_next() -> None:
    """At every border of a stage, inside every writer, and between the steps of each decision."""
    table = rows()

    assert [row for row in table if row["wrong"]] == []
    said = {row["point"]: row["said"] for row in table}
    assert len(said) >= 12
    assert said["the branch is made"] == "sleep/2026-03-03 was left unfinished by an earlier run and is finished now"
    assert "rebuilt by a run or verb that broke off" in said["the branch is rebuilt"]


@pytest.mark.e2e
def test_a_verb_that_is_killed_at_random_is_finished_by_the_next() -> None:
    """Fifty of all calls to git and the disk."""
    table = rows("--seeded", "50")

    assert len(table) == 50
    assert [row for row in table if row["wrong"]] == []
