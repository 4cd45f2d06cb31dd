from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.imperatives import RULE_LIMIT, Wish, wish_of
from skillopt_git.languages import reader
from skillopt_git.wishes import every_task, voices

GRAMMARS = reader().grammars
ENGLISH = next(item for item in GRAMMARS if item.language == "en")


def wishes(typed: str, answer: str = "") -> tuple[Wish, ...]:
    """What is wished for in a prompt that answers to `answer`."""
    return tuple(voice.wish for voice in voices(typed, ENGLISH, answer=answer) if voice.meant)


# What was typed, and the rules in it.
CORRECTIONS = [
    ("no, use pnpm, not npm", ["Use pnpm, not npm"]),
    ("No. We use pnpm, not npm.", ["Use pnpm, not npm"]),
    ("NO, please use pnpm instead of npm here", ["Use pnpm instead of npm"]),
    ("no use pnpm", ["Use pnpm"]),
    ("no, pnpm not npm", ["Use pnpm, not npm"]),
    ("No, not npm, pnpm", ["Use pnpm, not npm"]),
    ("No, don't use npm, use pnpm", ["Use pnpm, not npm"]),
    ("don't use npm! Use pnpm.", ["Use pnpm, not npm"]),
    ("Nope, use pnpm, don’t use npm", ["Use pnpm, not npm"]),
    ("please use pnpm, not npm", ["Use pnpm, not npm"]),
    ("use `pnpm`, not `npm`", ["Use `pnpm`, not `npm`"]),
    ("Actually use tabs, not spaces", ["Use tabs, not spaces"]),
    ("always use tabs, never spaces", ["Always use tabs, never spaces"]),
    ("Great, but use pnpm instead", ["Use pnpm"]),
    ("ok but never push without asking", ["Never push without asking"]),
    ("I said use pnpm, not npm", ["Use pnpm, not npm"]),
    ("I already told you: use pnpm", ["Use pnpm"]),
    ("Not like that. Use pnpm.", ["Use pnpm"]),
    ("That's wrong, use pytest", ["Use pytest"]),
    ("In this repo, always use pnpm", ["Always use pnpm"]),
    ("for this project we use pnpm, not npm", ["Use pnpm, not npm"]),
    ("we never commit to main", ["Never commit to main"]),
    ("don't commit directly to main", ["Do not commit directly to main"]),
    ("dont commit to main", ["Do not commit to main"]),
    ("you must not push to main", ["Do not push to main"]),
    ("We shouldn't push to main", ["Do not push to main"]),
    ("Stop committing to main!", ["Stop committing to main"]),
    ("stop using npm", ["Stop using npm"]),
    ("Don't use npm again", ["Do not use npm"]),
    ("Never use `git add -A`", ["Never use `git add -A`"]),
    ("Avoid mocks", ["Avoid mocks"]),
    ("always run ruff first", ["Always run ruff first"]),
    ("You should always run ruff first!", ["Always run ruff first"]),
    ("Please make sure to always run the tests", ["Always run the tests"]),
    ("No, make sure to run the tests", ["Run the tests"]),
    ("Always be concise.", ["Always be concise"]),
    ("From now on, answer in German", ["Always answer in German"]),
    ("Answer in German from now on, please", ["Always answer in German"]),
    ("from now on never commit to main", ["Never commit to main"]),
    ("next time run the tests before you say done", ["Always run the tests before you say done"]),
    ("In future, update the changelog too", ["Always update the changelog"]),
    ("Remember to update the changelog", ["Always update the changelog"]),
    ("Don't forget to update the changelog", ["Always update the changelog"]),
    ("You forgot to update the changelog", ["Always update the changelog"]),
    ("I'd like you to answer in German", ["Answer in German"]),
    ("I want you to always sign commits", ["Always sign commits"]),
    ("We prefer composition over inheritance", ["Prefer composition over inheritance"]),
    ("Wrong. Put tests in tests/, not in src/", ["Put tests in tests/, not in src/"]),
    ("No, put the ticket number in branch names", ["Put the ticket number in branch names"]),
    ("no, add type hints to every public function please", ["Add type hints to every public function"]),
    ("No, cite each paper as [arXiv:ID]", ["Cite each paper as [arXiv:ID]"]),
    ("- always run ruff first\n- never commit to main", ["Always run ruff first", "Never commit to main"]),
    ("1. Use pnpm, not npm", ["Use pnpm, not npm"]),
    ("No, use pnpm. Then add lodash", ["Use pnpm"]),
    ("use pnpm, not npm. And use pnpm instead of npm, we never use npm", ["Use pnpm, not npm"]),
    ("ok, never commit to main\n\nOn Tue, Bob wrote:\nalways commit to main", ["Never commit to main"]),
    (
        "No, don't use if statements here. Use min/max like the rest of our code.",
        ["Do not use if statements", "Use min/max like the rest of our code"],
    ),
    (
        "No, use undici instead of the built-in fetch. We always use undici in this repo, and always run npm test.",
        ["Use undici instead of the built-in fetch", "Always run npm test"],
    ),
]

NO_WISH = [
    "",
    "no",
    "always",
    "from now on",
    "No problem",
    "no problem, run the tests",
    "No worries, use pnpm",
    "No thanks",
    "No need to run the tests",
    "No idea why this fails. Run the tests again.",
    "No such file or directory",
    "No module named foo",
    "No, that's fine. Run the tests",
    "No, looks good, go ahead",
    "not yet, run the tests",
    "incorrect",
    "That's incorrect.",
    "not correct",
    "not fixed",
    "casino, please",
    "Never mind",
    "never mind, run the tests",
    "Don't worry about the tests",
    "don't bother",
    "I don't know",
    "I don't think that works",
    "We don't have a staging server",
    "We never tested that",
    "I never said that",
    "Never seen this before",
    "It never works",
    "It always fails on CI",
    "always fails with this error",
    "Always a pleasure",
    "Thanks, always good to see tests pass",
    "You always forget the tests",
    "You never run the tests",
    "You don't need to run the tests",
    "you use npm again",
    "You forgot it",
    "We use React 18",
    "Remember that we deploy on Tuesdays",
    "we talked about this",
    "From now on we have a staging server",
    "From now on I am alice",
    "Why did you use npm?",
    "can you use pnpm instead of npm?",
    "Should we always run ruff first?",
    "don't we use pnpm?",
    "Could you add a test and always run ruff first?",
    "Use a subagent to find where the tax rate is defined.",
    "use pnpm instead of npm",
    "use type hints",
    "Add a test for pct above one",
    "ok commit it with a short message",
    "Thanks! Now use pnpm to install lodash",
    "Wait, run the tests first",
    "Actually, add a test",
    "Stop the dev server",
    "No, run it again",
    "No, run the tests again",
    "No, show me the diff",
    "don't do that again",
    "never do this",
    "stop touching it",
    "No, use it",
    "No, the header, not the footer",
    "The docs say: never commit to main",
    "> never commit to main",
    "On Tue, Alice wrote:\nnever commit to main",
    "2026-01-01T10:00:00 always run ruff",
    "[12:00:01] always run ruff",
    "WARNING: never run as root",
    "error: always set a user name",
    "npm ERR! never use npm",
    'Traceback (most recent call last):\n  File "a.py", line 1',
    "It printed:\n    always use foo",
    "```\nnever commit to main\n```",
    "~~~\nnever commit to main",
    "diff --git a/x b/x\n+never commit to main",
    "$ always use foo",
    "Use the password [REDACTED:password:0123abcd], not npm",
    "Always add " + "very " * 50 + "long names",
    "Prüfe bitte die Datei",
]


@pytest.mark.parametrize(("typed", "rules"), CORRECTIONS)
def test_corrections_become_rules_in_the_users_own_words(typed: str, rules: list[str]) -> None:
    """Imperative, close to what was typed, without openers, courtesies and places; each once."""
    assert [wish.text for wish in wishes(typed)] == rules


@pytest.mark.parametrize("typed", NO_WISH)
def test_what_only_looks_like_a_correction_is_no_wish(typed: str) -> None:
    """Chat, blame, questions, asks, quotations, logs and code give no rule."""
    assert wishes(typed) == ()


# What was typed, and what an answer has to say and not to say.
CHECKS: list[tuple[str, list[str], list[str]]] = [
    ("use pnpm, not npm", ["pnpm"], ["npm"]),
    ("use uv pip, not pip", ["uv pip"], []),
    ("use docker compose, not docker-compose", ["docker compose"], ["docker-compose"]),
    ("No, use `git switch` instead of `git checkout`", ["git switch"], ["git checkout"]),
    ("No, use undici instead of the built-in fetch", ["undici"], []),
    ("No, use ky rather than axios for requests", ["ky"], ["axios"]),
    ("do not use npm", [], ["npm"]),
    ("always run ruff first", ["ruff"], []),
    ("always run npm test before you finish", ["npm test"], []),
    ("from now on run the linter", [], []),
    ("No, use type hints everywhere", [], []),
    ("use tabs, not spaces", [], []),
    ("We use German, not English", [], []),
    ("I prefer pathlib over os.path", [], ["os.path"]),
    ("I prefer snake_case over camelCase", [], []),
    ("never commit to main", [], []),
    ("do not use if statements", [], []),
]


@pytest.mark.parametrize(("typed", "asked", "forbidden"), CHECKS)
def test_checks_look_only_for_names(typed: str, asked: list[str], forbidden: list[str]) -> None:
    """An answer can be searched for a tool or a command; an idea ("type hints", "tabs") it may follow unsaid."""
    (wish,) = wishes(typed)

    assert [item.arg for item in wish.checks if item.op == "contains"] == asked
    assert [item.arg for item in wish.checks if item.op == "not_contains"] == forbidden
    assert all(item.role == "outcome" for item in wish.checks)


@pytest.mark.parametrize("typed", [typed for typed, _ in CORRECTIONS])
def test_a_rule_read_again_is_the_same_wish(typed: str) -> None:
    """A recorded rule text gives back preference, polarity and checks."""
    assert all(wish_of(wish.text, GRAMMARS) == wish for wish in wishes(typed))


def test_rules_about_every_task_say_so() -> None:
    """ "from now on", "always" and "never" are about every task; other rules are about one kind of work."""
    told = ("from now on use pnpm, not npm", "we never commit to main", "No, put tests in tests/")
    rules = [wish.text for typed in told for wish in wishes(typed)]

    assert [every_task(rule, GRAMMARS) for rule in rules] == [True, True, False]


_PHRASES = st.sampled_from(
    "no, not | use pnpm|npm|don't |never |always |from now on |we |you |i |stop |using |run |`git push`|. |, |\n|it |"
    "instead of |please |but |and |?|! |> |``` |tests |the |first|over |x".split("|")
)


@given(st.lists(_PHRASES, max_size=25).map("".join) | st.text())
def test_any_text_gives_short_rules_of_one_line(typed: str) -> None:
    """Whatever is typed: at most 200 characters, one line, at least two words, and read again the same."""
    for wish in wishes(typed):
        assert len(wish.text) <= RULE_LIMIT
        assert len(wish.text.split()) >= 2
        assert wish.text == " ".join(wish.text.split())
        assert wish_of(wish.text, (ENGLISH,)) == wish


@pytest.mark.parametrize(
    ("said", "answer", "rule"),
    [
        ("Please use pnpm instead of npm", "Ran `npm install lodash`.", "Use pnpm instead of npm"),
        ("use pnpm rather than npm here", "Ran npm install.", "Use pnpm rather than npm"),
        ("Please use pnpm instead of npm", "Ran `yarn add lodash`.", None),
        ("Please use pnpm instead of npm", "Ran `pnpm add lodash`.", None),
        ("Now use fetch instead of axios in src/client.js", "The tests pass.", None),
    ],
)
def test_a_contrast_corrects_what_the_answer_just_did(said: str, answer: str, rule: str | None) -> None:
    """ "use X instead of Y" is a correction when the answer used Y, and a plain ask otherwise."""
    assert [wish.text for wish in wishes(said, answer)] == ([rule] if rule else [])


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize(
    "unit", ["\r", "\n", " ", "\u2028", ",", "\n \n", "no, ", "please ", "x,", "- ", "```\n", "use x not y. ", "a.b."]
)
def test_reading_costs_no_more_than_length(unit: str) -> None:
    """Eight times as much of what begins a clause, or stands between two, takes eight times as long, not sixty-four."""

    def cost(length: int) -> float:
        typed = f"a{unit * (length // len(unit))}b"
        return min(_cpu_seconds(typed) for _ in range(3))

    assert cost(16_000) < 30 * max(cost(2_000), 0.001)


def _cpu_seconds(typed: str) -> float:
    began = time.process_time()
    wishes(typed, "Ran npm install.")
    return time.process_time() - began


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n", "\n \n"])
def test_any_line_end_ends_a_clause(end: str) -> None:
    """Also those of other systems, and lines with nothing but blanks between."""
    found = wishes(f"No, use pnpm, not npm{end}Never commit to main")

    assert [wish.text for wish in found] == ["Use pnpm, not npm", "Never commit to main"]


def test_a_sentence_without_end_is_no_wish() -> None:
    """However it begins and ends; the next one counts."""
    found = wishes(f"No, use pnpm, not npm{', please' * 300}\nNever commit to main")

    assert [wish.text for wish in found] == ["Never commit to main"]


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("pnpm please, we never use npm", [("Use pnpm, not npm", True)]),
        ("do not use npm. use pnpm", [("Use pnpm, not npm", True)]),
        ("type hints everywhere", [("Type hints everywhere", True)]),
        ("whenever you touch the API, bump the version", [("Whenever you touch the API, bump the version", True)]),
        ("shorter answers please", [("Shorter answers", True)]),
        ("changelog entry please", [("Changelog entry", False)]),
        ("can you also add a changelog entry?", [("Add a changelog entry", False)]),
        ("did you use npm? never use npm", [("Never use npm", True)]),
        ("I would be glad if all tests passed", [("I would be glad if all tests passed", False)]),
        ("thanks", []),
    ],
)
def test_what_is_asked_for_after_an_answer(said: str, heard: list[tuple[str, bool]]) -> None:
    """For all of a kind, or of one thing rather than another, it counts; a thing once more is a faint voice."""
    found = voices(said, ENGLISH, answer="Ran yarn add lodash.")

    assert [(voice.wish.text, not voice.faint) for voice in found] == heard
