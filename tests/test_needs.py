from __future__ import annotations

import random
from dataclasses import replace

import pytest

from skillopt_git.ids import need_id
from skillopt_git.imperatives import Wish, wish_of
from skillopt_git.languages import reader
from skillopt_git.needs import Register, Said, best_rule, kept, people

READER = reader()


def wish(rule: str, *, asks: bool = True, moved: tuple[str, ...] = (), coded: tuple[str, ...] = ()) -> Wish:
    found = wish_of(rule, READER.grammars)
    return replace(found, asks=asks, moved=frozenset(moved), coded=frozenset(coded))


def said(session: str, rule: str, *, meant: bool = False) -> Said:
    return Said(f"turn of {session}", session, wish(rule), meant)


def told(session: str, rule: str, moved: tuple[str, ...] = (), coded: tuple[str, ...] = ()) -> Said:
    """A voice that asks for nothing by itself, with what it changed in the answers."""
    return Said(f"turn of {session}", session, wish(rule, asks=False, moved=moved, coded=coded))


def register(*rules: str) -> Register:
    return Register(READER, {need_id(rule): rule for rule in rules})


def test_a_clear_wish_founds_a_need_once() -> None:
    """Another wording joins it, and the need keeps its first words."""
    book = register()

    first = book.firm(wish("Use pnpm, not npm"))

    assert book.firm(wish("Use pnpm instead of npm")) == first
    assert book.firm(wish("Do not use npm")) == first
    assert book.needs == {first: "Use pnpm, not npm"}
    assert book.firm(wish("Never commit to main")) != first


def test_a_wording_that_says_both_halves_is_the_better_rule() -> None:
    """It keeps the id that the first wording gave it."""
    book = register()
    need = book.firm(wish("Do not use npm"))

    assert book.firm(wish("Use pnpm, not npm")) == need
    assert book.needs == {need: "Use pnpm, not npm"}
    assert {item.op for item in book.rule(need).checks} == {"contains", "not_contains"}


def test_older_wordings_are_known_again() -> None:
    """Those of a need that is no longer known are nobody's."""
    book = register("Keep answers short")
    need = need_id("Keep answers short")

    book.heard(need, "Be brief in replies", ("brief",))
    book.heard("gone", "Never commit to main")

    assert book.known(wish("Be brief in replies please")) == need
    assert book.known(wish("Never commit to main")) is None


def test_one_faint_voice_waits() -> None:
    """And so does a second of the same session."""
    book = register()

    assert book.faint(said("one", "Changelog entry")) is None
    assert book.faint(said("one", "The changelog entry")) is None
    assert [item.session for item in book.waiting] == ["one", "one"]
    assert book.needs == {}


def test_two_faint_voices_of_two_sessions_found_a_need() -> None:
    """In the wording that reads best as a rule."""
    book = register()
    book.faint(said("one", "Changelog entry"))

    need = book.faint(said("two", "Add a changelog entry"))

    assert need is not None
    assert book.needs == {need: "Add a changelog entry"}
    assert [item.session for item in book.claimed(need)] == ["one"]
    assert book.waiting == ()


def test_two_that_only_tell_how_things_are_found_none() -> None:
    """Without anything that both changed in the code."""
    book = register()
    book.faint(told("one", "Changelog entry there"))

    assert book.faint(told("two", "Changelog entry there")) is None


def test_what_two_changed_in_code_is_their_rule() -> None:
    """What came, and what went for it."""
    book = register()
    changed = (("pnpm", "npm"), ("+pnpm", "-npm"))
    book.faint(told("one", "Wrong tool there", *changed))

    need = book.faint(told("two", "Not the tool we have", *changed))

    assert need is not None
    assert book.needs == {need: "Use pnpm, not npm"}


@pytest.mark.parametrize("meant", [False, True])
def test_a_need_claims_what_waited_for_it(meant: bool) -> None:
    """Whether the need is founded after the voice came, or was there before it."""
    waiting = said("one", "Update the changelog", meant=meant)
    later, before = register(), register("Always update the changelog")
    later.hinted(waiting)

    need = later.firm(wish("Always update the changelog"))
    assert [item.session for item in later.claimed(need)] == ["one"]
    assert list(later.claimed(need)) == []

    heard = before.alone(waiting) if meant else before.faint(waiting)
    assert heard == need
    assert before.waiting == ()


def test_what_came_in_vain_is_claimed_by_a_later_wording() -> None:
    """A need that learns other words looks again at all that waits."""
    book = register("Keep answers short")
    need = need_id("Keep answers short")
    book.hinted(said("one", "Add a glossary entry"))

    assert list(book.claimed(need)) == []
    book.heard(need, "Always add a glossary entry")
    assert [item.session for item in book.claimed(need)] == ["one"]


def test_a_clear_wish_that_may_be_of_one_work_waits_for_its_like() -> None:
    """In another session."""
    book = register()

    assert book.alone(said("one", "Sentence case in headings", meant=True)) is None
    need = book.alone(said("two", "Use sentence case in headings", meant=True))

    assert need is not None
    assert len(book.needs) == 1


def test_a_later_wish_replaces_what_it_contradicts() -> None:
    """And is replaced when the first is voiced again."""
    book = register()
    pnpm, npm = wish("Use pnpm, not npm"), wish("Use npm, not pnpm")
    first = book.firm(pnpm)
    book.replaces(first, pnpm)

    second = book.firm(npm)
    book.replaces(second, npm)
    assert book.replaced == {first: second}

    book.replaces(first, pnpm)
    assert book.replaced == {second: first}


def test_rivals_replace_each_other() -> None:
    """Different things in one place cannot both hold."""
    book = register("Use pytest for the api tests")
    other = wish("Use unittest for the api tests")

    need = book.firm(other)
    book.replaces(need, other)

    assert book.replaced == {need_id("Use pytest for the api tests"): need}


def test_only_needs_that_are_known_are_replaced() -> None:
    """What was dropped replaces nothing."""
    assert kept({"a": "b", "c": "d", "e": "b"}, ["a", "b", "c"]) == {"a": "b"}


def test_two_nights_find_what_one_finds() -> None:
    """What is known and what waits is all that the second has to know of the first."""
    voices = [said(f"s{number}", rule) for number, rule in enumerate(WISHES)]
    one = register()
    for voice in voices:
        one.faint(voice)
    first = register()
    for voice in voices[:4]:
        first.faint(voice)
    second = Register(READER, dict(first.needs))
    for voice in first.waiting:
        second.hinted(voice)
    for voice in voices[4:]:
        second.faint(voice)

    assert second.needs == one.needs
    assert {item.turn for item in second.waiting} <= {item.turn for item in one.waiting}


WISHES = (
    "Add a changelog entry",
    "Run the linter first",
    "Write a docstring for functions",
    "Screenshot of the dialog",
    "Changelog entry please",
    "The linter first",
    "Docstring for the functions",
    "Translate the labels",
)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_clear_wishes_does_not_change_how_many_needs_there_are(seed: int) -> None:
    """Only which wording is the first."""
    rules = [
        "Use pnpm, not npm",
        "Use pnpm instead of npm",
        "Never commit to main",
        "Do not commit to main",
        *WISHES[1:4],
    ]
    random.Random(seed).shuffle(rules)
    book = register()

    assert len({book.firm(wish(rule)) for rule in rules}) == 5


def test_the_best_rule_begins_with_its_verb() -> None:
    """Of wordings that ask for nothing none is a rule."""
    assert best_rule(["The changelog should have an entry", "Add a changelog entry"], READER.grammars) == (
        "Add a changelog entry"
    )
    assert best_rule(["Brevity"], READER.grammars) is None


def test_names_that_no_rule_may_hold() -> None:
    """Each part of a person's name, and no robot's; two letters are a word as often as a name."""
    assert people(["Alice Li", "dependabot[bot]", "bob.smith"]) == {"alice", "bob", "smith"}
