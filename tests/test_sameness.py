from __future__ import annotations

from dataclasses import replace

import pytest

from skillopt_git import imperatives
from skillopt_git.imperatives import Wish
from skillopt_git.languages import reader
from skillopt_git.sameness import (
    alike_by_effect,
    asks_again,
    completes,
    covers,
    echoes,
    opposed,
    points_at,
    rivals,
    same,
)

GRAMMARS = reader().grammars


def wish(rule: str, *moved: str, asks: bool | None = None) -> Wish:
    """A rule read as a wish, with the words that it changed in the answers."""
    found = replace(imperatives.wish_of(rule, GRAMMARS), moved=frozenset(moved))
    return found if asks is None else replace(found, asks=asks)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("add type hints to public functions", "add type hints to public functions now", True),
        ("add docstrings to modules", "add docstrings to modules classes functions tests", False),
        ("document the interfaces", "document the intrefaces", True),  # a typing error
        ("limit lines to 80 characters", "limit lines to 90 characters", False),
        ("sort the cats", "sort the bats", False),  # short words differ by a letter and mean something else
        ("no comments", "stop adding comments everywhere", True),
        ("never push to main", "never push to main on fridays", True),
        ("never push", "always push", False),
    ],
)
def test_thresholds_of_likeness(one: str, other: str, expected: bool) -> None:
    """Most words of the longer, none that only the shorter has; bans may be worded more freely."""
    assert same(wish(one), wish(other)) is expected
    assert same(wish(other), wish(one)) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("use pnpm", "use npm, not pnpm", True),
        ("use pnpm, not npm", "use npm", True),
        ("never commit to main", "commit to main", True),
        ("never push without asking", "push", False),  # the ban holds in one case only
        ("use pnpm", "use npm", False),  # other things, but neither is turned down
        ("use pnpm, not npm", "use pnpm, not yarn", False),
        ("never commit to main", "add a changelog entry", False),
    ],
)
def test_wishes_against_each_other_are_opposed(one: str, other: str, expected: bool) -> None:
    """One asks for what the other turns down, or forbids the same."""
    assert opposed(wish(one), wish(other)) is expected
    assert opposed(wish(other), wish(one)) is expected


def test_rivals_want_different_things_in_one_place() -> None:
    """Where the place is not the same, or a ban, or the same thing, they are none."""
    pytest_, unittest = wish("use pytest for the api tests"), wish("use unittest for the api tests")

    assert rivals(pytest_, unittest)
    assert not rivals(pytest_, pytest_)
    assert not rivals(pytest_, wish("use playwright for the browser"))
    assert not rivals(pytest_, wish("use unittest"))
    assert not rivals(pytest_, wish("never use unittest for the api tests"))


@pytest.mark.parametrize(
    ("faint", "known", "expected"),
    [
        ("changelog line please", "Always add a changelog line", True),
        ("the entry in CHANGELOG.md is missing", "Always update CHANGELOG.md", True),
        ("pnpm again", "Use pnpm, not npm", True),
        ("npm", "Use pnpm, not npm", False),  # what the need turns down
        ("no npm", "Use pnpm, not npm", True),
        ("no pnpm", "Use pnpm, not npm", False),
        ("use npm", "Use pnpm, not npm", False),
        ("use yarn", "Use pnpm", False),
        ("a screenshot too", "Always add a changelog line", False),
    ],
)
def test_a_faint_voice_echoes_what_a_need_asks_for(faint: str, known: str, expected: bool) -> None:
    """It names the same, or says most of the same words, and wants it the same way."""
    assert echoes(wish(faint), wish(known)) is expected


def test_what_moved_the_same_echoes() -> None:
    """However it was worded."""
    assert echoes(wish("that is not how it goes", "snapshot"), wish("Regenerate it", "snapshot"))
    assert not echoes(wish("that is not how it goes", "x"), wish("Regenerate it", "x"))  # a letter tells nothing


def test_two_faint_voices_ask_again() -> None:
    """For the same, when at least one of them does ask; a ban and an ask never do."""
    line, entry = wish("changelog entry please", asks=True), wish("the changelog entry", asks=False)

    assert asks_again(line, entry)
    assert asks_again(entry, line)
    assert not asks_again(entry, replace(entry, text="The changelog entry there"))
    assert not asks_again(line, wish("screenshot please", asks=True))
    assert not asks_again(line, wish("no changelog entry", asks=True))
    assert asks_again(wish("update docs/api.md", asks=True), wish("api.md has none", asks=False))
    assert asks_again(wish("this one", "snapshot"), wish("that one", "snapshot"))
    assert asks_again(wish("not good", "snapshot"), wish("the snapshot files", asks=False))
    assert not asks_again(wish("not good", "api"), wish("the api files", asks=False))  # too short to tell


def test_a_wish_points_at_what_a_need_names() -> None:
    """A ban at what it turns down, an ask at what it prefers; never at the other of the two."""
    known = wish("Use pnpm, not npm")

    assert points_at(wish("stop calling npm everywhere in scripts"), known)
    assert not points_at(wish("do not switch from pnpm to npm"), known)
    assert points_at(wish("install the packages with pnpm"), known)
    assert not points_at(wish("install the packages with yarn"), known)
    assert not points_at(wish("install with pnpm"), wish("Use pnpm"))


def test_wishes_are_alike_by_what_they_changed() -> None:
    """Of one polarity, for no other tool, and if it is a good part of what they say."""
    one = wish("write the dates in ISO form", "iso")

    assert alike_by_effect(one, wish("dates as ISO", "iso"))
    assert not alike_by_effect(one, wish("dates as ISO"))
    assert not alike_by_effect(one, wish("never write dates in ISO form", "iso"))
    assert not alike_by_effect(wish("use pnpm", "lockfile"), wish("use yarn", "lockfile"))
    long = "keep the readme headings short and describe every option flag environment variable"
    assert not alike_by_effect(wish(long, "iso"), wish(long + " in tables", "iso"))


def test_one_wish_covers_another() -> None:
    """It says all of the other and some more, the same way."""
    short, long = wish("document every public function"), wish("document every public function with an example")

    assert covers(long, short)
    assert not covers(short, long)
    assert not covers(wish("never document a public function with an example"), short)
    assert not covers(wish("document every public function in 3 lines"), short)
    assert not covers(
        wish("document every public function with sections examples notes warnings tables diagrams"), short
    )


def test_a_ban_completes_what_is_preferred() -> None:
    """ "Do not use npm. Use pnpm." is one wish in two sentences, unless the second says more."""
    assert completes(wish("do not use npm"), wish("use pnpm"))
    assert not completes(wish("use pnpm"), wish("use npm"))
    assert not completes(wish("do not use npm"), wish("use pnpm, not yarn"))
    assert not completes(wish("do not use npm"), wish("use pnpm for the frontend packages"))
