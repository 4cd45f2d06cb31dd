"""The benchmarks run, in small: what they say is for people."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def told_by(name: str, *args: str) -> str:
    command = [sys.executable, "-m", f"benchmarks.{name}", *args]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_the_harvest_is_measured_against_its_baselines() -> None:
    """Every line of the table is there, with the share of each baseline and the peak memory."""
    told = told_by("harvest", "--megabytes", "3", "--files", "10")

    for label in ("walk with stat", "cat", "json.loads a line", "all sessions read", "harvest", "harvest again"):
        (line,) = (line for line in told.splitlines() if line.startswith(f"{label}  "))
        assert "x" in line.removeprefix(label)


def test_a_commit_is_measured_against_plumbing() -> None:
    """In a repository whose size may be chosen; the figure of a small one is no promise."""
    told = told_by("repo", "--files", "60", "--rounds", "3")

    assert re.fullmatch(r"60 files: plumbing [\d.]+ ms, skillopt-git [\d.]+ ms \(.*\)\nratio [\d.]+x; .* 2x\n", told)


def test_the_ledger_is_measured_against_reading_it_with_git() -> None:
    """Each verb in a process that runs, and as a whole one; against its own git commands and against the fewest."""
    told = told_by("ledger", "--nights", "20", "--rounds", "1")

    assert told.startswith("20 nights, 200 events")
    for verb in ("log", "status"):
        assert re.search(rf"^{verb} +\d+ ms +\d+ ms +\d+ ms +[\d.]+x +[\d.]+x +\d+ ms +[\d.]+x$", told, re.MULTILINE)


def test_the_gate_is_measured_against_its_aims() -> None:
    """Every part of it, and with so few repetitions that nothing but the form of the lines is told by them."""
    command = [sys.executable, "-m", "benchmarks.gate", "--repetitions", "10"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()

    assert done.stderr == ""
    missed = sum(line.endswith("MISSED") for line in lines)
    assert lines[-1] == f"{missed or 'none'} missed (10 repetitions)"
    assert done.returncode == (1 if missed else 0)
    for what in ("noise none, judge 0.1: does nothing, strong", "+20 points: strong", "guard of 8 x 5", "shown / true"):
        assert any(what in line for line in lines)


@pytest.mark.skipif(find_spec("skillopt_sleep") is not None, reason="the other tool would take its time")
def test_calls_are_counted_by_their_server() -> None:
    """A line of what it counted; those of the other tool where that is installed, which no test needs."""
    told = told_by("calls", "--pairs", "1", "--candidates", "2", "--latency", "0.001").splitlines()

    assert told[0] == "12 tasks, 2 candidates, 1 pairs, 1 ms a call, 16 jobs"
    (ours,) = (line for line in told if line.startswith("skillopt-git  "))
    calls, fresh, cached, *_ = ours.replace(",", "").split()[1:]
    assert calls == "48"
    assert 0 < int(fresh) < int(cached)
    assert told[-1].startswith("SkillOpt-Sleep is not installed")
