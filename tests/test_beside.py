"""Wishes inside an ask, and statements of how things are done."""

from __future__ import annotations

import pytest

from skillopt_git.clauses import moves_on
from skillopt_git.grammar import Grammar
from skillopt_git.languages import reader
from skillopt_git.norms import tells_norm
from skillopt_git.wishes import voices

GRAMMARS = {item.language: item for item in reader().grammars}
ENGLISH = GRAMMARS["en"]


def firm(prompt: str, language: str = "en", answer: str | None = None) -> list[str]:
    """The rules that count by themselves."""
    return [voice.wish.text for voice in voices(prompt, GRAMMARS[language], answer=answer) if not voice.faint]


def waiting(prompt: str, language: str = "en") -> list[str]:
    """The rules of an ask that wait for the like."""
    return [voice.wish.text for voice in voices(prompt, GRAMMARS[language], answer=None) if voice.faint]


@pytest.mark.parametrize(
    ("prompt", "language", "rules"),
    [
        ("Add a page. After every change tell me the flash size", "en", ["After every change tell me the flash size"]),
        ("Whenever you touch the API, bump the version", "en", ["Whenever you touch the API, bump the version"]),
        ("Add a hook that runs lint before every commit", "en", []),
        ("For all work in here: British English please. Rewrite the page", "en", ["Use British English"]),
        (
            "Add it. note: relative links only, and no $ before commands",
            "en",
            ["Relative links only", "No $ before commands"],
        ),
        ("Ground rules:\n- we build with task\n- no emojis\n\nAdd it", "en", ["Always build with task", "No emojis"]),
        ("Note: the API is down. Look into it", "en", []),
        (
            "Add it. all labels from the arb files like everywhere else",
            "en",
            ["All labels from the arb files like everywhere else"],
        ),
        ("Plot it. figures are always svg", "en", ["Figures are always svg"]),
        ("Plot it. the figures are always red", "en", []),
        ("Draft a mail to all: from now on nobody merges, always ask first", "en", []),
        ("Write a post:\nnever merge on fridays\n\nUse pnpm, not npm", "en", ["Use pnpm, not npm"]),
        ("Kurz antworten bitte, das gilt immer", "de", ["Kurz antworten"]),
        ("Vorab: antworte auf Deutsch. Der Export ist kaputt", "de", ["Antworte auf Deutsch"]),
        ("Commit-Messages ab heute auf Englisch", "de", ["Commit-Messages auf Englisch"]),
        ("Da ist immer noch ein Fehler", "de", []),
    ],
)
def test_an_ask_can_hold_rules(prompt: str, language: str, rules: list[str]) -> None:
    """What is announced, customary or said of each piece of work is more than this one."""
    assert firm(prompt, language) == rules


@pytest.mark.parametrize(
    ("prompt", "rules"),
    [
        ("Add it, short answers please", ["Short answers"]),
        ("Add it. short answer is enough", ["Short answer is enough"]),
        ("Add it. please no pandas", ["No pandas"]),
        ("Add it. we use helm for our services", ["Use helm for our services"]),
        ("Add it. don't touch the header", []),
        ("Add a test for 3 users", []),
    ],
)
def test_what_an_ask_turns_down_or_pleads_for_waits(prompt: str, rules: list[str]) -> None:
    """It may be about this work only; what is at hand is."""
    assert waiting(prompt) == rules


@pytest.mark.parametrize(
    ("text", "sure", "expected"),
    [
        ("Timestamps stay in UTC", False, True),
        ("Money is Decimal", True, True),
        ("Prod is slower today", False, False),
        ("Tests are failing", True, False),
        ("Tests are broken", True, False),
        ("The tests are in tests/", True, False),
        ("We'll live with it", True, False),
        ("Don't use npm", True, False),
        ("Timeouts for 3 pages stay", True, False),
    ],
)
def test_a_norm_tells_how_a_kind_of_thing_is_done(text: str, sure: bool, expected: bool) -> None:
    """A report tells how one thing is."""
    assert tells_norm(text, ENGLISH, sure=sure) is expected


@pytest.mark.parametrize(
    ("prompt", "grammar", "expected"),
    [
        ("good. now plot the means", ENGLISH, True),
        ("then put it into the docs", ENGLISH, False),  # a touch to the last work
        ("also add a line", ENGLISH, False),
        ("good.", ENGLISH, False),
        ("Perfekt. Jetzt die Tests", GRAMMARS["de"], True),
    ],
)
def test_a_prompt_moves_on(prompt: str, grammar: Grammar, expected: bool) -> None:
    """To work of its own."""
    assert moves_on(prompt, grammar) is expected


@pytest.mark.parametrize(
    ("typed", "answer", "rules"),
    [
        ("it's `vitest run`, plain vitest never exits", "Ran vitest.", ["Use `vitest run`"]),
        ("its slog, not logrus, logrus is on its way out", "logrus.Warn", ["Use slog, not logrus"]),
        ("fvm flutter test, not flutter test", "flutter test", ["Use `fvm flutter test`, not `flutter test`"]),
        ("setState is a no go. State goes through riverpod", "setState", ["State goes through riverpod, not setState"]),
        ("keywords in lower case pls", "SELECT", ["Keywords in lower case"]),
        ("only made up rows in tests, ever", "x", ["Only made up rows in tests"]),
        ("nope, 0.10, not 0.9", "0.9", []),
        ("deploy the preview", "x", []),
    ],
)
def test_what_is_said_of_an_answer(typed: str, answer: str, rules: list[str]) -> None:
    """By name, in two breaths, or as how it is to be."""
    assert firm(typed, answer=answer) == rules
