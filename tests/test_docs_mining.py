"""docs/mining.md says what is so: its examples are tried, its tables of cues read, its numbers compared."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Literal

import pytest

from skillopt_git import sameness
from skillopt_git.cues import Cues
from skillopt_git.errors import ConfigError
from skillopt_git.imperatives import RULE_LIMIT
from skillopt_git.languages import Reader, reader
from skillopt_git.loading import load
from skillopt_git.mine import MOST_HINTS, Mined, mine
from skillopt_git.model import Session, Turn
from skillopt_git.needs import people
from skillopt_git.wiring import AUTHORS

PAGE = (Path(__file__).parent.parent / "docs" / "mining.md").read_text(encoding="utf-8")
SETTINGS, BAVARIAN, SWEDISH = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[tuple[str, str]]:
    """The cells of a section's table of two columns, without its head."""
    table = re.findall(r"^\| (.+?) \| (.+?) \|$", section(title), re.MULTILINE)
    return [(first, second) for first, second in table[1:]]


def rules(typed: str, known: Reader) -> list[str]:
    """The needs that are found where `typed` answers to an answer."""
    return [*heard(typed, known).needs.values()]


def heard(typed: str, known: Reader) -> Mined:
    said: tuple[tuple[Literal["prompt", "answer"], str], ...] = (
        ("prompt", "Add lodash to the web package"),
        ("answer", "Done. I ran `npm install lodash` in the web package."),
        ("prompt", typed),
        ("answer", "Done: `pnpm add lodash`."),
    )
    turns = tuple(Turn(id=str(place), kind=kind, text=text) for place, (kind, text) in enumerate(said))
    session = Session(id="one", source="claude", path="one.jsonl", cwd=None, turns=turns)
    return mine([session], needs={}, reader=known, people=people(["Alice Example"]))


def own(tmp_path: Path, table: str) -> Reader:
    path = tmp_path / "own.toml"
    path.write_text(table, encoding="utf-8")
    return reader([path])


@pytest.mark.parametrize(("typed", "rule"), rows("What is read as a wish"))
def test_every_wish_of_the_page_is_found_in_the_words_it_tells(typed: str, rule: str) -> None:
    """What the page gives as a wish is one, and its rule reads as the page says."""
    assert rules(typed, reader()) == [rule]


@pytest.mark.parametrize("typed", [typed for typed, _ in rows("What never is")])
def test_nothing_that_the_page_calls_no_wish_is_found(typed: str) -> None:
    """What the page says is never a wish founds no need."""
    assert rules(typed, reader()) == []


@pytest.mark.parametrize(("typed", "what"), rows("What counts by itself, and what waits"))
def test_what_counts_by_itself_and_what_waits_is_as_told(typed: str, what: str) -> None:
    """One wish each: a need at once, or a hint."""
    found = heard(typed, reader())
    assert (len(found.needs), len(found.hints)) == {"counts": (1, 0), "waits": (0, 1)}[what]


def test_every_key_of_a_cue_table_is_told() -> None:
    """The page has each key of a cue table once, in the order of the code, and no other."""
    told = re.findall(r"^\| `(\w+)` \|", section("Your own words"), re.MULTILINE)
    assert told == [item.name.rstrip("_") for item in fields(Cues)]


@pytest.mark.parametrize(
    "name",
    ["SAME_WORDS", "SAME_BAN", "MEANS", "MEANT", "TAKEN_BACK", "SAME_THINGS", "SAME_WORD", "ECHO", "PART", "AGAIN"],
)
def test_the_thresholds_are_those_of_the_code(name: str) -> None:
    """Each number that decides what is one need stands in the page."""
    told = {float(number) for number, _ in rows("When two wishes are one need") if number[0].isdigit()}
    assert getattr(sameness, name) in told


def test_the_limits_are_those_of_the_code() -> None:
    """How many wait, how many commits are asked for names, how long a rule may be, and how short a word."""
    assert f"At most {MOST_HINTS:,} wait" in PAGE
    assert f"the newest {AUTHORS:,} commits" in PAGE
    assert f"at most {RULE_LIMIT} characters" in PAGE
    assert f"words of {sameness.TYPED} letters and more" in PAGE
    assert f"must have {sameness.LETTERS}\nletters or more" in PAGE
    assert f"gained or lost it, {sameness.MOVED_LETTERS}." in PAGE


def test_a_table_of_a_known_language_adds_to_it(tmp_path: Path) -> None:
    """The page's Bavarian words make a correction of what was none, and leave German as it was."""
    known = own(tmp_path, BAVARIAN)
    assert rules("Naa, nimm pnpm, ned npm", reader()) == []
    assert rules("Naa, nimm pnpm, ned npm", known) == ["Nimm pnpm, ned npm"]
    assert rules("Nein, nimm pnpm, nicht npm", known) == ["Nimm pnpm, nicht npm"]


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        ("Nej, använd pnpm, inte npm", "Använd pnpm, inte npm"),
        ("Hädanefter: inga emojis i commits", "Inga emojis i commits"),
    ],
)
def test_a_table_of_a_new_language_is_read(tmp_path: Path, typed: str, rule: str) -> None:
    """The page's Swedish table finds what is not found without it."""
    assert rules(typed, reader()) == []
    assert rules(typed, own(tmp_path, SWEDISH)) == [rule]


def test_the_files_are_named_as_a_setting_of_one_s_own(tmp_path: Path) -> None:
    """The page's settings are taken from one's own file, and refused in a repository's."""
    own_file, shared_file = tmp_path / "config" / "skillopt" / "config.toml", tmp_path / "acme-api" / ".skillopt.toml"
    for path in (own_file, shared_file):
        path.parent.mkdir(parents=True)
    own_file.write_text(SETTINGS, encoding="utf-8")
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path)}
    assert len(load(shared_file.parent, environ=environ).mine.cues) == 2
    shared_file.write_text(SETTINGS, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.cues"):
        load(shared_file.parent, environ=environ)
