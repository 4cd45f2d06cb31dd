"""The benchmarks run, in small: what they say is for people."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_harvest_is_measured_against_its_baselines() -> None:
    """Every line of the table is there, with the share of each baseline and the peak memory."""
    command = [sys.executable, "-m", "benchmarks.harvest", "--megabytes", "3", "--files", "10"]
    told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    for label in ("walk with stat", "cat", "json.loads a line", "all sessions read", "harvest", "harvest again"):
        (line,) = (line for line in told.splitlines() if line.startswith(f"{label}  "))
        assert "x" in line.removeprefix(label)
