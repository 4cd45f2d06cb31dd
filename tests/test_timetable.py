from __future__ import annotations

import json
from dataclasses import replace
from datetime import time

import pytest

from skillopt_git.errors import UsageError
from skillopt_git.timetable import Entry, clock, refuse_unwritable

ENTRY = Entry(
    repository="/home/alice/acme-api",
    private="/home/alice/acme-api/.git/skillopt",
    at="03:17",
    auto_adopt=False,
    python="/usr/bin/python3",
)


def test_an_entry_runs_the_repository_with_its_own_settings() -> None:
    """Interpreter, verb and repository; no setting is among the words."""
    assert ENTRY.words() == (
        *("/usr/bin/python3", "-P", "-m", "skillopt_git", "scheduled"),
        *("--private", "/home/alice/acme-api/.git/skillopt", "--at", "03:17"),
        *("--", "run", "--repo", "/home/alice/acme-api", "--quiet"),
    )
    assert replace(ENTRY, auto_adopt=True).words() == (*ENTRY.words(), "--auto-adopt")
    assert [word for word in ENTRY.words(missed=True) if word not in ENTRY.words()] == ["--if-missed"]


def test_the_id_follows_from_the_path_alone() -> None:
    """It names files and blocks for ever; another path is another id."""
    assert ENTRY.id == "6d288726f10e95bc"
    assert replace(ENTRY, at="04:00", auto_adopt=True, python="/opt/python", private="/x").id == ENTRY.id
    assert replace(ENTRY, repository="/home/alice/acme-api2").id != ENTRY.id


@pytest.mark.parametrize("adopt", [False, True])
def test_an_entry_is_read_back_from_its_words(adopt: bool) -> None:
    """As a list, also one that went through JSON."""
    entry = replace(ENTRY, auto_adopt=adopt)
    for missed in (False, True):
        assert Entry.read(json.loads(json.dumps(entry.words(missed=missed)))) == entry


@pytest.mark.parametrize(
    "words",
    [
        None,
        "python -P -m skillopt_git",
        {"a": 1},
        [],
        (*ENTRY.words(), "--edit-budget"),
        [*ENTRY.words()[:-1], "--loud"],
        [3, *ENTRY.words()[1:]],
        [*ENTRY.words()[:8], "at dawn", *ENTRY.words()[9:]],
        [*ENTRY.words()[:8], "24:00", *ENTRY.words()[9:]],
    ],
)
def test_what_is_no_entry_is_not_read_as_one(words: object) -> None:
    """Another command, a changed one, or no command at all."""
    assert Entry.read(words) is None


def test_a_time_of_day_is_hours_and_minutes() -> None:
    """On 24 hours; everything else is refused with how to write it."""
    assert [clock(text) for text in ("00:00", "3:05", "23:59")] == [time(0), time(3, 5), time(23, 59)]
    for text in ("", "24:00", "03:60", "3", "3:5", "03:17:00", "3am", "-1:00", " 03:17", "03:17\n", "٠٣:١٧", "* *"):
        with pytest.raises(UsageError, match="no time of day") as caught:
            clock(text)
        assert "HH:MM" in caught.value.hint


@pytest.mark.parametrize("char", ["\n", "\r", "\t", "\0", "\x1b", "\x85", "\u2028", "\udcff"])
@pytest.mark.parametrize("field", ["repository", "private", "python"])
def test_a_path_that_does_not_fit_on_a_line_is_refused(field: str, char: str) -> None:
    """It would end the line, and what follows would be a line of its own."""
    path = f"/home/alice/a{char}* * * * * touch x"
    with pytest.raises(UsageError, match="cannot be written into a schedule"):
        refuse_unwritable(replace(ENTRY, **{field: path}))  # type: ignore[arg-type]


def test_odd_names_of_folders_are_not_refused() -> None:
    """What is text on one line can be quoted."""
    refuse_unwritable(replace(ENTRY, repository='/home/alice/it\'s 100% "$HOME" \\ äöü 日本　語 `x`'))
