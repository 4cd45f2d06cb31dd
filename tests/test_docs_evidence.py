"""docs/evidence.md says what is so: its settings, its landmarks, and the table that `simulate --compare` prints."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from math import sqrt
from pathlib import Path

import pytest

from skillopt_git.config import Gate
from skillopt_git.stats import e_value
from tests.nights import Run

PAGE = (Path(__file__).parent.parent / "docs" / "evidence.md").read_text(encoding="utf-8")
SHORT = ("--repetitions", "100")


def rows(text: str) -> dict[str, list[str]]:
    """The cells of the printed table, by what its rows say; cells stand at least two blanks apart."""
    table = text.partition("in one night, this gate")[2].partition("Adopted, of 100")[0].partition("\n\n")[0]
    cells = [re.split(r"\s{2,}", line.strip()) for line in table.splitlines()[2:] if line.strip()]
    return {label: values for label, *values in cells}


def test_its_settings_are_those_of_the_gate() -> None:
    told = dict(re.findall(r"^\| `gate\.(\w+)` \| ([\d.]+) \|", PAGE, re.MULTILINE))
    assert {name: float(value) for name, value in told.items()} == {
        name: value for name, value in asdict(Gate()).items() if isinstance(value, int | float) and name in told
    }
    assert len(told) == 13


def test_its_landmarks_are_worked_out() -> None:
    (told,) = re.findall(r"give ([\d.]+), six ([\d.]+), nine of ten ([\d.]+), ten of twelve ([\d.]+)\.", PAGE)
    exact = [e_value(7, 7), e_value(6, 6), e_value(9, 10), e_value(10, 12)]
    assert [float(figure) for figure in told] == pytest.approx(exact, abs=0.05)


def test_its_table_is_the_one_that_is_printed(say: Callable[..., str], invoke: Run) -> None:
    """Line by line, and its shares within the error of a short simulation."""
    known, printed = rows(PAGE), rows(say("simulate", "--compare", *SHORT))
    assert list(known) == list(printed)
    assert all(len(cells) == 5 for cells in (*known.values(), *printed.values()))
    record = invoke("simulate", "--compare", *SHORT)
    for at, figures in enumerate((record, *record["compare"].values())):
        for effect, share in figures["power"].items():
            said = float(known[f"adopts one that helps: {effect} points"][at].rstrip(" %")) / 100
            assert share == pytest.approx(said, abs=0.01 + 3 * sqrt(said * (1 - said) / 100))
