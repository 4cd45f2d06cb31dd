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
        ("For all work in here: British English please. Rewrite the page", "en", ["Use British English"]),
        ("Ground rules:\n- we build with task\n- no emojis\n\nAdd it", "en", ["Always build with task", "No emojis"]),
        ("Use pnpm for all of it, that goes for everything", "en", ["Always use pnpm for all of it"]),
        ("Write a post:\nnever merge on fridays\n\nUse pnpm, not npm", "en", ["Use pnpm, not npm"]),
        ("Kurz antworten bitte, das gilt immer", "de", ["Kurz antworten"]),
        ("Kommentare bitte immer auf Englisch", "de", ["Kommentare bitte immer auf Englisch"]),
        ("Commit-Messages ab heute auf Englisch", "de", ["Commit-Messages auf Englisch"]),
    ],
)
def test_an_ask_can_hold_rules(prompt: str, language: str, rules: list[str]) -> None:
    """What is announced as a rule, or said of each piece of work, is more than this one."""
    assert firm(prompt, language) == rules


@pytest.mark.parametrize(
    ("prompt", "language"),
    [
        ("emails are never sent when the queue is full. find out why", "en"),
        ("users always get logged out after 5 minutes, fix it", "en"),
        ("tests always fail on CI but are green here", "en"),
        ("images are never cached, why", "en"),
        ("sessions never expire, please look into it", "en"),
        ("uploads are always slower on Safari, investigate", "en"),
        ("requests go to the wrong host in this project, fix the config", "en"),
        ("labels come from two places in this codebase, clean that up", "en"),
        ("reminder: the demo is at 4, fix the login first", "en"),
        ("note: customers see the old price. fix the cache", "en"),
        ("before you start: read docs/adr/7.md. then add a cache", "en"),
        ("for this repo: write a README", "en"),
        ("whenever you upload a file, show a progress bar. Implement it", "en"),
        ("each time you open the page it loads 3 MB, make it smaller", "en"),
        ("on every commit CI sends a mail, turn that off", "en"),
        ("Add a hook that runs lint before every commit", "en"),
        ("Emails go out twice. Every time.", "en"),
        ("Draft a mail to all: from now on nobody merges, always ask first", "en"),
        ("last night's run, what happened here", "en"),
        ("Da ist immer noch ein Fehler", "de"),
        ("Rechnungen gehen doppelt raus. Jedes Mal.", "de"),
    ],
)
def test_an_ask_that_reports_or_tells_what_to_build_is_no_rule(prompt: str, language: str) -> None:
    """However often it says "always", "never" or "every"."""
    assert firm(prompt, language) == []


@pytest.mark.parametrize(
    ("prompt", "rules"),
    [
        ("Add it, short answers please", ["Short answers"]),
        ("Add it. short answer is enough", ["Short answer is enough"]),
        ("Add it. please no pandas", ["No pandas"]),
        ("Add it. we use helm for our services", ["Use helm for our services"]),
        ("Before you start: everything via fvm. Bump go_router", ["Everything via fvm"]),
        ("Add it. all labels from the arb files as usual", ["All labels from the arb files as usual"]),
        ("Add it. don't touch the header", []),
        ("Add a test for 3 users", []),
    ],
)
def test_what_may_be_about_this_work_only_waits(prompt: str, rules: list[str]) -> None:
    """Until the like comes in another session; what is at hand is of this work."""
    assert waiting(prompt) == rules


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Timestamps stay in UTC", True),
        ("Prod is slower today", False),
        ("Tests are failing", False),
        ("Tests are broken", False),
        ("The tests are in tests/", False),
        ("We'll live with it", False),
        ("Don't use npm", False),
        ("Timeouts for 3 pages stay", False),
    ],
)
def test_a_norm_may_tell_how_a_kind_of_thing_is_done(text: str, expected: bool) -> None:
    """A report tells how one thing is."""
    assert tells_norm(text, ENGLISH) is expected


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
        ("it's `west build`, has been for half a year", "make", ["Use `west build`"]),
        ("fvm flutter test, not flutter test", "flutter test", ["Use `fvm flutter test`, not `flutter test`"]),
        ("only made up rows in tests, ever", "x", ["Only made up rows in tests"]),
        ("from now on use pnpm, unless it is a draft", "x", ["Always use pnpm, unless it is a draft"]),
    ],
)
def test_a_correction_that_counts(typed: str, answer: str, rules: list[str]) -> None:
    """By the command it names, by one thing in place of another, by "ever"; with its condition."""
    assert firm(typed, answer=answer) == rules


@pytest.mark.parametrize(
    "typed",
    [
        "invoices are sent at night",
        "orders go to the warehouse after payment",
        "cards are green when paid",
        "logs are written twice here. find out why",
        "migrations run through flyway here I think",
        "it's `users.email`, not the name",
        "it's red, not blue",
        "make it `blue`",
        "no footer please",
        "buttons with icons please",
        "keywords in lower case pls",
        "page 2 loads twice, always",
        "note that customers pay in advance",
        "we sort by date on page 2",
        "nope, 0.10, not 0.9",
        "don't add tests, for now",
        "deploy the preview",
    ],
)
def test_a_fact_or_a_value_of_one_work_is_no_rule(typed: str) -> None:
    """It may be a wish; then it comes again."""
    assert firm(typed, answer="Added a footer in blue, tests and version 0.9; the name column.") == []
