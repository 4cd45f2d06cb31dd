from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_git.cues import built_in, read_table, tables
from skillopt_git.errors import ConfigError
from skillopt_git.languages import reader
from skillopt_git.wishes import voices

SWEDISH = """
language = "sv"
name = "Swedish"
stemmer = "swedish"
common = ["och", "att", "det", "som", "en", "på", "är", "av", "för", "med", "inte", "till", "den", "här", "vi", "nej"]
openers = ["nej"]
refusals = ["nej"]
verbs = ["använd", "lägg"]
use = ["använd"]
instead = ["inte", "i stället för"]
firm = ["inte"]
never = ["aldrig"]
not = ["inte"]
"""


def table(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_seven_languages_come_with_the_tool() -> None:
    """Each has a name, a stemmer, small words and verbs, and no key twice."""
    assert [item.language for item in built_in()] == ["de", "en", "es", "fr", "it", "nl", "pt"]
    assert all(item.name and item.stemmer and item.common and item.verbs and item.use for item in built_in())


def test_an_unknown_key_is_told_with_the_known_ones(tmp_path: Path) -> None:
    """A typing error in a key never passes for a list that is not there."""
    with pytest.raises(ConfigError) as error:
        read_table(table(tmp_path, 'language = "sv"\nrefusal = ["nej"]\n'))

    assert "refusal" in str(error.value)
    assert "refusals" in str(error.value)
    assert "own.toml" in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('language = "sv"\nrefusals = "nej"\n', "refusals"),
        ('language = "sv"\nverbs_last = "yes"\n', "verbs_last"),
        ('refusals = ["nej"]\n', "language"),
        ('language = "swe"\n', "language: 'swe' is no ISO 639-1 code of two letters"),
        ('language = "SV"\n', "language: 'SV' is no ISO 639-1 code of two letters"),
        (
            'language = "sv"\nrefusals = ["nej  tack"]\n',
            "refusals: 'nej  tack' is not words with single blanks between",
        ),
        ('language = "sv"\nnot = [" inte"]\n', "not: ' inte' is not words with single blanks between"),
        ('language = "sv"\nrefusals = [""]\n', "refusals: '' is not words with single blanks between"),
        ("language = ", "is not TOML of texts"),
        ('language = "sv"\nfrom = 2026-11-02\n', "is not TOML of texts"),
    ],
)
def test_a_table_that_is_none_is_told_of(tmp_path: Path, text: str, told: str) -> None:
    """What is wrong, in which file."""
    with pytest.raises(ConfigError) as error:
        read_table(table(tmp_path, text))

    assert told in str(error.value)
    assert "own.toml" in str(error.value)


def test_everything_wrong_with_the_phrases_is_told_at_once(tmp_path: Path) -> None:
    """So that a table is mended in one go."""
    with pytest.raises(ConfigError) as error:
        read_table(table(tmp_path, 'language = "swe"\nrefusals = ["nej  tack", "ok "]\n'))

    assert all(part in str(error.value) for part in ("'swe'", "'nej  tack'", "'ok '"))


def test_a_table_that_cannot_be_read_is_told_of(tmp_path: Path) -> None:
    """With the reason that the system gives."""
    with pytest.raises(ConfigError, match=r"missing\.toml cannot be read: No such file"):
        read_table(tmp_path / "missing.toml")


def test_bytes_that_are_no_text_are_no_table(tmp_path: Path) -> None:
    """A file in another encoding is told of, and not guessed at."""
    path = tmp_path / "own.toml"
    path.write_bytes('language = "sv"\nrefusals = ["tvärtom"]\n'.encode("latin-1"))

    with pytest.raises(ConfigError, match="is not TOML of texts"):
        read_table(path)


def test_a_users_file_adds_to_a_table(tmp_path: Path) -> None:
    """Its phrases count beside those that are there; what it does not name stays."""
    own = table(tmp_path, 'language = "de"\nrefusals = ["papperlapapp"]\n')

    before = {item.language: item for item in tables()}
    after = {item.language: item for item in tables([own])}

    assert after["de"].refusals == (*before["de"].refusals, "papperlapapp")
    assert after["de"].verbs == before["de"].verbs
    assert after["de"].stemmer == "german"
    assert {**after, "de": before["de"]} == before


def test_a_phrase_of_the_user_turns_an_answer_down(tmp_path: Path) -> None:
    """As one of the tool's own would."""
    typed = "Papperlapapp, schreib die Tests nach tests/"
    own = table(tmp_path, 'language = "de"\nrefusals = ["papperlapapp"]\nopeners = ["papperlapapp"]\n')
    found = {}
    for name, known in (("plain", reader()), ("extended", reader([own]))):
        grammar = known.language(typed)
        assert grammar is not None
        found[name] = [(voice.wish.text, voice.faint) for voice in voices(typed, grammar, answer="Erledigt.")]

    assert found["extended"] == [("Schreib die Tests nach tests/", False)]
    assert found["plain"] != found["extended"]


def test_a_language_is_added_by_a_table_of_a_few_lists(tmp_path: Path) -> None:
    """What was read by no table is then told from the others, and its wishes are found."""
    typed = "Nej, använd pnpm, inte npm"
    own = table(tmp_path, SWEDISH)

    plain = reader().language(typed)
    swedish = reader([own]).language(typed)

    assert plain is None
    assert swedish is not None
    assert swedish.language == "sv"
    (voice,) = voices(typed, swedish, answer="Jag körde npm install.")
    assert voice.wish.text == "Använd pnpm, inte npm"
    assert (voice.wish.prefer, voice.wish.avoid, voice.faint) == ("pnpm", "npm", False)


def test_two_files_of_one_language_add_up(tmp_path: Path) -> None:
    """In the order in which they are named."""
    first = tmp_path / "first.toml"
    second = tmp_path / "second.toml"
    first.write_text('language = "sv"\nrefusals = ["nej"]\n', encoding="utf-8")
    second.write_text('language = "sv"\nrefusals = ["fel"]\n', encoding="utf-8")

    (swedish,) = [item for item in tables([first, second]) if item.language == "sv"]

    assert swedish.refusals == ("nej", "fel")
