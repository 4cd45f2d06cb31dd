"""Which language a person types in, so that no language is read by another's cues."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_git.cues import Cues, tables
from skillopt_git.grammar import Grammar, grammar
from skillopt_git.ids import fold

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

SURE = 0.9  # of a text's language: it is that one, whatever the words say
LOOKED_AT = 4_000  # characters of a text
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\S*[/\\_=<>{}]\S*|https?://\S+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reader:
    """The grammars in force, one a language."""

    grammars: tuple[Grammar, ...]

    @property
    def tables(self) -> tuple[Cues, ...]:
        return tuple(item.cues for item in self.grammars)

    def language(self, text: str, around: str = "") -> Grammar | None:
        """The grammar that `text` is written in, told by its words; where these do not tell, by what else the person
        typed (`around`). None where it is a language without a table, or nothing tells."""
        said = _prose(text)
        likely = _likely(said)
        by_words = self._by_words(said, f"{said} {_prose(around)}")
        if by_words is not None and not _other(likely, by_words, said):
            return by_words
        if by_words is None and around and not self._foreign(likely):
            return self.language(around)
        return None

    def _foreign(self, likely: tuple[str, float]) -> bool:
        """Whether a text is surely in a language without a table."""
        language, chance = likely
        return chance >= SURE and all(item.language != language for item in self.grammars)

    def _by_words(self, said: str, whole: str) -> Grammar | None:
        """The grammar with most of the words; of several, the one that the `whole` looks like."""
        words = [fold(word).replace("’", "'") for word in _WORDS.findall(said)]
        counts = {item: item.talks(words) for item in self.grammars}
        most = max(counts.values(), default=0)
        if most * 5 < len(words) or not most:  # a fifth of any sentence is small words
            return None
        best = [item for item, count in counts.items() if count == most]
        return best[0] if len(best) == 1 else _nearest(whole, best)


def reader(extra: Sequence[Path] = ()) -> Reader:
    """The reader with the tool's tables and the user's own. Raises `ConfigError`."""
    return _reading(tables(extra)) if extra else _usual()


@lru_cache(maxsize=1)
def _usual() -> Reader:
    return _reading(tables())


def _reading(known: Sequence[Cues]) -> Reader:
    return Reader(tuple(map(grammar, known)))


def _prose(text: str) -> str:
    return _CODE.sub(" ", text[:LOOKED_AT])


def _other(likely: tuple[str, float], found: Grammar, said: str) -> bool:
    """Whether a text of some length is surely in another language, though it has words of this one."""
    language, chance = likely
    return language != found.language and chance >= SURE and len(_WORDS.findall(said)) > 3


@lru_cache(maxsize=4096)
def _likely(said: str) -> tuple[str, float]:
    language, chance = _identifier().classify(said)
    return str(language), float(chance)


def _nearest(said: str, of: Sequence[Grammar]) -> Grammar | None:
    ranks = {str(language): float(chance) for language, chance in _identifier().rank(said)}
    return max(of, key=lambda item: ranks.get(item.language, 0.0))


@lru_cache(maxsize=1)
def _identifier() -> LanguageIdentifier:
    """It takes a second to load, so it is loaded when the first prompt is read."""
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_modelpath(MODEL_DIR / MODEL_FILE, norm_probs=True)
