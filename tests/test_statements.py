from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_git.bans import bans_kinds
from skillopt_git.clauses import Clause, clauses
from skillopt_git.contrasts import turns_down
from skillopt_git.imperatives import RULE_LIMIT
from skillopt_git.languages import reader
from skillopt_git.statements import meant
from skillopt_git.wishes import voices

GRAMMARS = {item.language: item for item in reader().grammars}
ENGLISH = GRAMMARS["en"]
ANSWER = "Ran npm install lodash."


def stated(text: str, answer: str | None = ANSWER, *, refused: bool = False) -> tuple[str | None, bool]:
    """The rule that one statement makes, and whether it is said to stand."""
    wish, standing = meant(Clause(text, refused, text), ENGLISH, None, answer)
    return (wish.text if wish else None), standing


@pytest.mark.parametrize(
    ("text", "rule", "standing"),
    [
        ("from now on use pnpm", "Always use pnpm", True),
        ("remember to run ruff", "Always run ruff", True),
        ("pnpm from now on", "Use pnpm", True),
        ("I don't want any emojis", "No emojis", False),
        ("we moved to pnpm", "Use pnpm", False),
        ("you should have used pnpm", "Use pnpm", False),
        ("npm is banned", "Do not use npm", False),
        ("you should not use npm", "Do not use npm", False),
        ("you must run ruff", "Run ruff", False),
        ("we never commit to main", "Never commit to main", False),
        ("stop adding comments", "Stop adding comments", False),
        ("no emojis", "No emojis", False),
        ("plots always go to figures/", "Plots always go to figures/", False),
        ("don't use npm again", "Do not use npm", False),
        ("we don't have a server", None, False),
        ("you always forget the tests", None, False),
        ("stop the server", None, False),
        ("use the second one, not the first", None, False),
        ("it should be blue", None, False),
    ],
)
def test_what_a_statement_after_an_answer_wishes(text: str, rule: str | None, standing: bool) -> None:
    """By its own cue, or told as how things are; blame, tales and errands wish for nothing."""
    assert stated(text) == (rule, standing)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("use pnpm, not npm", "Use pnpm, not npm"),
        ("never commit to main", "Never commit to main"),
        ("use pnpm instead of npm", None),
        ("you must run ruff", None),
        ("we moved to pnpm", None),
    ],
)
def test_a_first_prompt_wishes_only_by_what_lasts(text: str, rule: str | None) -> None:
    """Nothing was answered yet, so the rest is the errand."""
    assert stated(text, None)[0] == rule


def test_a_bare_imperative_is_a_wish_in_place_of_an_answer() -> None:
    """After a refusal; what is done once is none even there."""
    assert stated("put tests in tests/")[0] is None
    assert stated("put tests in tests/", refused=True)[0] == "Put tests in tests/"
    assert stated("fetch the branch", refused=True)[0] is None
    assert stated("set it to 30", refused=True)[0] is None


def test_a_contrast_turns_down_what_the_answer_did() -> None:
    """An answer without it was about something else."""
    assert turns_down("use pnpm instead of npm", ANSWER, ENGLISH)
    assert not turns_down("use pnpm instead of npm", "Ran yarn add.", ENGLISH)
    assert not turns_down("use pnpm", ANSWER, ENGLISH)


def test_a_ban_of_a_kind_is_no_ban_of_a_thing() -> None:
    """ "the" and a singular point at one thing."""
    assert bans_kinds("no emojis", ENGLISH)
    assert not bans_kinds("no emoji", ENGLISH)
    assert not bans_kinds("no changes to the files", ENGLISH)
    assert not bans_kinds("use tabs", ENGLISH)
    assert ENGLISH.pointed("use it")
    assert not ENGLISH.pointed("use tabs")


@settings(max_examples=50)
@given(st.text(max_size=200), st.sampled_from(sorted(GRAMMARS)), st.none() | st.text(max_size=80))
def test_any_text_in_any_language_gives_short_rules(typed: str, language: str, answer: str | None) -> None:
    """Nothing typed is too odd; a rule is one line of at most 200 characters."""
    for voice in voices(typed, GRAMMARS[language], answer=answer):
        assert 0 < len(voice.wish.text) <= RULE_LIMIT
        assert voice.wish.text == " ".join(voice.wish.text.split())


@settings(max_examples=50)
@given(st.data(), st.sampled_from(sorted(GRAMMARS)))
def test_any_of_its_own_cues_can_stand_anywhere(data: st.DataObject, language: str) -> None:
    """Cues, marks and names in any order are read in every language."""
    cues = GRAMMARS[language].cues
    lists = (cues.refusals, cues.standing, cues.never, cues.not_, cues.none, cues.verbs, cues.use, cues.instead)
    pieces = st.sampled_from([*(phrase for some in lists for phrase in some), "pnpm", "npm", ",", ".", ":", "?", "\n"])
    typed = " ".join(data.draw(st.lists(pieces, max_size=15)))

    for voice in voices(typed, GRAMMARS[language], answer=ANSWER):
        assert 0 < len(voice.wish.text) <= RULE_LIMIT
        assert "\n" not in voice.wish.text


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_reading_costs_no_more_than_length(language: str) -> None:
    """Eight times as much takes eight times as long in every language, not sixty-four."""
    grammar = GRAMMARS[language]
    refusal = grammar.cues.refusals[0]

    def cost(length: int) -> float:
        typed = f"{refusal}{', ' * (length // 4)}{grammar.cues.use[0]} {'x y ' * (length // 8)}"
        return min(_cpu_seconds(typed, language) for _ in range(2))

    assert cost(16_000) < 30 * max(cost(2_000), 0.001)


def _cpu_seconds(typed: str, language: str) -> float:
    began = time.process_time()
    list(clauses(typed, GRAMMARS[language]))
    voices(typed, GRAMMARS[language], answer=ANSWER)
    return time.process_time() - began
