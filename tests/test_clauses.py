from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.clauses import Clause, clauses, comes_back, goes_on, questions, satisfied, trimmed, wonders
from skillopt_git.languages import reader

GRAMMARS = {item.language: item for item in reader().grammars}
ENGLISH = GRAMMARS["en"]


def texts(prompt: str, language: str = "en") -> list[str]:
    return [clause.text for clause in clauses(prompt, GRAMMARS[language])]


@pytest.mark.parametrize(
    ("language", "head"),
    [
        ("en", "On Tue, 3 Nov 2026, Bob wrote:"),
        ("en", "-----Original Message-----"),
        ("en", "From: Bob"),
        ("de", "Am 3. Mai 2026 schrieb Bob:"),
        ("de", "Von: Bob"),
        ("fr", "Le 3 mai, Bob a écrit :"),
        ("es", "El lunes, Bob escribió:"),
        ("it", "Il 3 maggio Bob ha scritto:"),
        ("pt", "Em 3 de maio, Bob escreveu:"),
        ("nl", "Op 3 mei schreef Bob:"),
    ],
)
def test_the_mail_that_is_answered_is_left_out(language: str, head: str) -> None:
    """To the end of the prompt, whatever it says."""
    assert texts(f"pnpm\n{head}\nnpm", language) == ["pnpm"]


@pytest.mark.parametrize(
    "pasted",
    [
        "2026-11-02T10:00:00 never push",
        "[12:00:01] never push",
        "WARNING: never push",
        "[ERROR] never push",
        "[deploy-bot] never push",
        "error: never push",
        "DeprecationWarning: never push",
        "error[E0382]: never push",
        "fatal: never push",
        "npm ERR! never push",
        "remote: never push",
        "> never push",
        "| never | push |",
        "$ never push",
        "# never push",
        "// never push",
        "/* never push",
        "    never push",
        "\tnever push",
        "at never(push.js:1)",
        'File "push.py", line 1',
        "WARN x\n  why: never push\n  how: never push",
        "```\nnever push\n```",
        "~~~sh\nnever push\n~~~",
        "```\nnever push",
    ],
)
def test_what_was_pasted_is_nobodys_statement(pasted: str) -> None:
    """Logs, traces, quotations, tables, prompts of a shell and code; what stands around them is read."""
    assert texts(f"use tabs\n\n{pasted}") == ["use tabs"]


def test_what_follows_a_pasted_block_is_read() -> None:
    """Where the fence is closed, or the lines look like prose again."""
    assert texts("```\nnever push\n```\nuse tabs") == ["use tabs"]
    assert texts("error: never push\nuse tabs") == ["use tabs"]


def test_a_diff_is_left_out_and_what_is_typed_beside_it_is_not() -> None:
    """Its lines begin with a mark; without its head these are a list that somebody typed."""
    assert texts("diff --git a/x b/x\n@@ -1 +1 @@\n+never push\n-use npm\n context\nuse tabs") == ["use tabs"]
    assert texts("- never push\n- use tabs") == ["never push", "use tabs"]


def test_a_list_that_is_asked_about_is_what_somebody_read() -> None:
    """One that follows an announcement is the person's own."""
    assert texts("These came from the review:\n- never push\n- use npm\nfix them") == [
        "These came from the review",
        "fix them",
    ]
    assert "never push" not in texts("Which of these do we need?\n- never push\n- use npm\n- add tests")
    assert texts("From now on:\n- never push\n- use tabs") == ["never push", "use tabs"]


def test_quotations_are_cited_and_single_words_are_named() -> None:
    """Three words in quotation marks are somebody else's; one is the name of something."""
    assert texts("He said “never push to main at all” and left") == ["He said “…” and left"]
    assert texts("no, use “pnpm” here") == ['use "pnpm"']
    assert texts("„niemals nach main pushen“ steht da", "de") == ["“…” steht da"]


def test_curly_apostrophes_are_apostrophes() -> None:
    """As phones and word processors type them."""
    assert texts("No, don’t push") == ["don't push"]


def test_capitals_are_no_other_words() -> None:
    """Cues match in any case; the words stay as typed."""
    (clause,) = clauses("NO, USE PNPM, NOT NPM", ENGLISH)

    assert (clause.text, clause.refused) == ("USE PNPM, NOT NPM", True)


def test_numbered_items_are_statements_of_their_own() -> None:
    """In one line or in several."""
    assert texts("1) use tabs 2) run ruff") == ["use tabs", "run ruff"]
    assert texts("1. use tabs\n2. run ruff") == ["use tabs", "run ruff"]


def test_an_announcement_is_one_statement_with_what_it_announces() -> None:
    """Whatever greets before it."""
    assert texts("General rule: use tabs") == ["use tabs"]
    assert texts("Hi, from now on: use tabs") == ["use tabs"]
    assert all(found.announced for found in clauses("Ground rules: use tabs, and run ruff. And no emojis", ENGLISH))
    assert [found.announced for found in clauses("Rules: use tabs. Now add lodash", ENGLISH)] == [True, False]
    assert [found.noted for found in clauses("Note: use tabs. And no npm. Add lodash", ENGLISH)] == [True, True, False]


def test_a_refusal_reaches_to_the_next_errand() -> None:
    """What is asked for on top of it, or after it, is no correction."""
    found = list(clauses("no. use tabs. Then add lodash. run ruff", ENGLISH))

    assert [(clause.text, clause.refused) for clause in found] == [
        ("use tabs", True),
        ("add lodash", False),
        ("run ruff", False),
    ]


def test_consent_ends_a_refusal() -> None:
    """ "no problem" begins with a no and is none; what stands in its sentence is a remark."""
    assert texts("no problem, use tabs") == []
    assert [clause.refused for clause in clauses("wrong. no problem. use tabs", ENGLISH)] == [False]


def test_praise_with_a_but_refuses() -> None:
    """ "great idea, but ..." turns down what it praises."""
    assert list(clauses("great idea, but use tabs", ENGLISH)) == [
        Clause("use tabs", True, "great idea, but use tabs", adds=False)
    ]


def test_what_is_supposed_or_asked_is_left_out() -> None:
    """A guess is no statement, nor is a question."""
    assert texts("maybe use tabs") == []
    assert texts("Should we use tabs? run ruff") == ["run ruff"]


def test_what_takes_back_says_so() -> None:
    """So that whoever reads on forgets what was said before."""
    found = [(clause.text, clause.retracts) for clause in clauses("never push. Forget it. use tabs", ENGLISH)]

    assert found == [("never push", False), ("Forget it.", True), ("use tabs", False)]


def test_asides_places_and_courtesies_are_not_of_a_statement() -> None:
    """The rest is, as it was typed."""
    assert texts("use tabs (as in src) in this repo please") == ["use tabs"]
    assert texts("in this repo, use tabs") == ["use tabs"]
    assert trimmed("use tabs, thanks!", ENGLISH) == "use tabs"


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        ("can you also add a line to the changelog?", [("add a line to the changelog", True)]),
        ("Did you run the tests?", [("run the tests", True)]),
        ("line in the changelog?", [("line in the changelog", False)]),
        ("Could you please use tabs? Also never push.", [("use tabs", True)]),
        ("why?", []),
        ("what is this thing?", []),
        ("is it done?", []),
        ("run ruff?", []),
        ("use tabs", []),
    ],
)
def test_polite_questions_ask_for_something(prompt: str, asked: list[tuple[str, bool]]) -> None:
    """Also whether something was done, and a thing alone; other questions want an answer."""
    found = list(questions(prompt, ENGLISH))

    assert [(clause.text, clause.pleads) for clause in found] == asked
    assert all(clause.asked for clause in found)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("thanks!", True),
        ("Great, thank you", True),
        ("perfect.", True),
        ("great, but use tabs", False),
        ("add lodash", False),
        ("", False),
        ("great " * 40, False),
    ],
)
def test_praise_alone_satisfies(prompt: str, expected: bool) -> None:
    """Nothing else may be said beside it."""
    assert satisfied(prompt, ENGLISH) is expected


@pytest.mark.parametrize(
    ("prompt", "wondering", "back", "onward"),
    [
        ("Why did you use npm?", True, True, False),
        ("Why? Add a test.", False, False, False),
        ("Now add lodash", False, False, True),
        ("no, again", False, True, False),
        ("Next: build it", False, False, True),
        ("Add lodash", False, False, False),
        ("the tests too", False, True, False),
        ("I told you that already", False, True, False),
    ],
)
def test_how_a_prompt_goes_on(prompt: str, wondering: bool, back: bool, onward: bool) -> None:
    """It asks about what was done, comes back to it, or goes on to something else."""
    assert wonders(prompt, ENGLISH) is wondering
    assert comes_back(prompt, ENGLISH) is back
    assert goes_on(prompt, ENGLISH) is onward


@given(st.text(), st.sampled_from(sorted(GRAMMARS)))
def test_any_text_in_any_language_is_read(prompt: str, language: str) -> None:
    """Nothing typed is too odd; a clause is never empty, and its sentence stands in one line."""
    grammar = GRAMMARS[language]
    for clause in (*clauses(prompt, grammar), *questions(prompt, grammar)):
        assert "\n" not in clause.quote
        assert clause.text or clause.asked
    assert not (satisfied(prompt, grammar) and not prompt.strip())
