"""Whether a sentence is made of words that were typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.languages import reader
from skillopt_git.typed import from_typed, sentence_of

READER = reader()


def typed(rule: str, said: str) -> bool:
    return from_typed(rule, said, READER.language(rule))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("Use pnpm, not npm", "hm, in this place it is pnpm rather than npm"),
        ("Write tests for every endpoint", "where are the tests for the endpoints?"),
        ("Keep functions under forty lines", "a function of more than forty lines is hard to read, keep them under it"),
        ("Kirjoita commit-viestit suomeksi", "olisi kiva saada commit-viestit suomeksi"),
        ("Käytä pnpm:ää", "meillä on pnpm"),
        ("コメントは日本語で書く", "コメントは日本語だと助かります"),
        ("pnpmを使う", "ここではpnpmを使っています"),
        ("주석은 한국어로 작성", "주석은 한국어로 부탁해요"),
    ],
)
def test_words_that_were_typed_are_known_again(rule: str, said: str) -> None:
    """With other endings, in another order, with small words between them, and with a verb that makes it a rule."""
    assert typed(rule, said)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("Delete the production database", "looks good, thanks"),
        ("Use yarn", "hm, in this place it is pnpm"),
        ("Always send the changelog to the mirror", "and the changelog?"),
        ("Never use it", "never use it"),  # says nothing
        ("Poista tuotannon tietokanta", "olisi kiva saada commit-viestit suomeksi"),
        ("Käytä yarnia", "meillä on pnpm"),
        ("本番のデータベースを削除する", "コメントは日本語だと助かります"),
        ("Use Python 3.11", "Python 3.12 please"),
        ("", "anything"),
        ("...", "..."),
    ],
)
def test_words_that_nobody_typed_are_no_evidence(rule: str, said: str) -> None:
    """In no language; a number is that number."""
    assert not typed(rule, said)


@given(st.text(max_size=60))
def test_what_was_typed_word_for_word_is_never_foreign(said: str) -> None:
    """Where it has a word of some length; and no text breaks it."""
    assert from_typed(f"{said} comments", f"{said} comments", None)
    assert from_typed(said, said, None) in (True, False)


@pytest.mark.parametrize(
    ("rule", "said", "quote"),
    [
        ("Use pnpm, not npm", "Looks good. Here it is pnpm and not npm! Thanks.", "Here it is pnpm and not npm!"),
        (
            "コメントは日本語で書く",
            "すみません。コメントは日本語だと助かります。では",
            "コメントは日本語だと助かります。",
        ),
        ("Use pnpm", "one line\npnpm is ours", "pnpm is ours"),
        ("Use pnpm", "  ", ""),
    ],
)
def test_the_sentence_that_was_typed_is_quoted(rule: str, said: str, quote: str) -> None:
    """The one that shares most with the rule."""
    assert sentence_of(rule, said) == quote
