"""docs/evidence.md says what is so: its settings, its landmarks, and the tables that `simulate` prints."""

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

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

PAGE = (Path(__file__).parent.parent / "docs" / "evidence.md").read_text(encoding="utf-8")
MANY_NIGHTS = "over the nights of a trial"
SHORT = ("--repetitions", "100")


def rows(text: str, head: str = "in one night, this gate") -> dict[str, list[str]]:
    """The cells of a printed table, by what its rows say; cells stand at least two blanks apart."""
    lines = [line.strip() for line in text.partition(head)[2].splitlines()[2:]]
    cells = [re.split(r"\s{2,}", line) for line in lines[: lines.index("")]]
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


@pytest.mark.parametrize("tasks", [8, 12])
def test_its_tables_of_many_nights_are_those_that_are_printed(tasks: int, say: Callable[..., str]) -> None:
    """By the command above each, and within the error of a short simulation."""
    command = f"skillopt-git simulate --tasks {tasks}\n"
    assert command in PAGE
    told = say("simulate", "--tasks", str(tasks), *SHORT)
    heads = (MANY_NIGHTS, "a rule that is good for its own tasks") if tasks == 8 else (MANY_NIGHTS,)
    for head in heads:
        known, printed = rows(PAGE.partition(command)[2], head), rows(told, head)
        assert list(known) == list(printed)
        for label, cells in known.items():
            assert len(cells) == len(printed[label])
            for said, now in zip(cells, printed[label], strict=True):
                if said.endswith("%") and "open" not in label:
                    share = float(said.rstrip(" %")) / 100
                    assert float(now.rstrip(" %")) / 100 == pytest.approx(
                        share, abs=0.01 + 3 * sqrt(share * (1 - share) * (1 / 100 + 1 / 1000))
                    )
