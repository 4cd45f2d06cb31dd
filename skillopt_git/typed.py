"""Whether a sentence is made of words that somebody typed. What is not is no evidence of a wish.

Words are compared by their beginnings, for many languages change their ends; where a language puts no blanks between
words, pairs of letters take their place.
"""

from __future__ import annotations

import re

from skillopt_git.grammar import Grammar
from skillopt_git.ids import fold

LEAST_BEGINNING = 4  # characters
LEAST_WORD = 3  # of a language that no table knows
SAME_BEGINNING = 0.6  # of the shorter word
FOREIGN_PAIRS = 0.4  # share of a sentence's pairs of letters that nobody typed

# Without blanks between words, or with words of two letters.
_JOINED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f\u1780-\u17ff\uac00-\ud7af"
_PART = re.compile(rf"[{_JOINED}]+|(?:(?![{_JOINED}])[^\W_])+")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")


def from_typed(sentence: str, typed: str, grammar: Grammar | None) -> bool:
    """Whether the words of `sentence` that say something are among the `typed` ones, but for one in three.

    `grammar` knows the small words of its language. Where there is none, one of two may be new: the verb of the rule.
    """
    words, pairs = _units(sentence)
    known, known_pairs = _units(typed)
    telling = [word for word in words if not _small(word, grammar)]
    foreign = [word for word in telling if not any(_alike(word, other, grammar) for other in known)]
    if not (telling or pairs) or any(map(_counts, foreign)):
        return False
    spare = len(telling) // 3 if grammar is not None else max(len(telling) // 3, len(telling) > 1)
    strange = max(FOREIGN_PAIRS * len(pairs), len(telling) > len(foreign))
    return len(foreign) <= spare and len(pairs - known_pairs) <= strange


def sentence_of(words: str, typed: str) -> str:
    """The typed sentence that shares most with `words`."""
    wanted, wanted_pairs = _units(words)
    sentences = [part.strip() for part in _SENTENCE.split(typed) if part.strip()]

    def shared(sentence: str) -> int:
        own, pairs = _units(sentence)
        found = sum(any(_alike(word, other, None) for other in own) for word in wanted)
        return found + len(wanted_pairs & pairs)

    return max(sentences, key=shared, default=typed.strip())


def _units(text: str) -> tuple[list[str], frozenset[str]]:
    """Its words; and, of what is written without blanks, its pairs of letters."""
    parts = _PART.findall(fold(text))
    joined = [part for part in parts if re.match(rf"[{_JOINED}]", part)]
    pairs = {part[at : at + 2] for part in joined for at in range(max(1, len(part) - 1))}
    return [part for part in parts if part not in joined], frozenset(pairs)


def _counts(word: str) -> bool:
    """A number is that number, and no other."""
    return any(map(str.isdigit, word))


def _small(word: str, grammar: Grammar | None) -> bool:
    """Such words, and those that only say that something is to be used or to be there, may be anybody's."""
    if grammar is None:
        return len(word) < LEAST_WORD and not _counts(word)
    return word in grammar.common or word in grammar.words - grammar.verbs or word in grammar.use | grammar.adding


def _alike(word: str, other: str, grammar: Grammar | None) -> bool:
    if word == other or (grammar is not None and grammar.stem(word) == grammar.stem(other)):
        return True
    shorter = min(len(word), len(other))
    same = next((at for at in range(shorter) if word[at] != other[at]), shorter)
    return same >= max(LEAST_BEGINNING, SAME_BEGINNING * shorter) and not _counts(word + other)
