from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.languages import reader


def language(text: str, around: str = "") -> str | None:
    found = reader().language(text, around)
    return found.language if found else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No, please use pnpm instead of npm", "en"),
        ("Nein, nimm bitte pnpm statt npm", "de"),
        ("No, usa pnpm en vez de npm por favor", "es"),
        ("Non, utilise pnpm au lieu de npm", "fr"),
        ("No, usa pnpm invece di npm per favore", "it"),
        ("Nee, gebruik pnpm in plaats van npm", "nl"),
        ("Não, usa o pnpm em vez do npm", "pt"),
        ("use pnpm", "en"),
        ("Bitte schreib keine Kommentare, and don't touch the tests nicht", "de"),
    ],
)
def test_a_prompt_is_told_by_its_small_words(text: str, expected: str) -> None:
    """A mixed one by those that it has most of."""
    assert language(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "12345",
        "`npm install lodash`",
        "```\nif you do not have the file, then use the other\n```",
        "/usr/local/bin/tool --flag=value",
        "Proszę użyj pnpm zamiast npm, bo tak robimy w tym projekcie",
        "Použij prosím pnpm místo npm, v tomto projektu to tak děláme",
        "请使用 pnpm 而不是 npm",
        "Пожалуйста, используй pnpm вместо npm",
    ],
)
def test_what_no_table_is_for_is_read_by_none(text: str) -> None:
    """Code tells no language, and other languages are never misread as one of the seven."""
    assert language(text) is None


def test_words_that_do_not_tell_are_read_like_the_rest() -> None:
    """A prompt of names alone is in the language that the person types otherwise."""
    assert language("pnpm lodash", "Nein, das ist nicht die richtige Datei") == "de"
    assert language("pnpm lodash", "No, that is not the right file") == "en"
    assert language("pnpm lodash") is None


def test_what_surely_is_foreign_is_not_read_like_the_rest() -> None:
    """Whatever language the other prompts are in."""
    polish = "Proszę użyj pnpm zamiast npm, bo tak zawsze robimy wszyscy razem"

    assert language(polish, "No, that is not the right file") is None


def test_a_tie_is_told_by_what_else_was_typed() -> None:
    """ "no" is of several languages."""
    assert language("no", "la prueba no funciona, así que por favor hazlo de nuevo en otro archivo") == "es"
    assert language("no", "this is not what I asked for, please do it again in the other file") == "en"


def test_only_the_beginning_of_a_long_text_tells() -> None:
    """What follows a page of English is not looked at."""
    assert language("That is not the one we want. " * 200 + "Das ist nicht die Datei. " * 4_000) == "en"


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_has_a_language_of_the_tables_or_none(text: str, around: str) -> None:
    """Nothing typed is too odd, and one text is always told alike."""
    known = reader()
    found = known.language(text, around)

    assert found is None or found in known.grammars
    assert known.language(text, around) is found
