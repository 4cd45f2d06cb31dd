"""How alike two texts are. Texts are compared folded, and a redaction mark counts by its kind alone."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

from rapidfuzz import fuzz, process

from skillopt_git.ids import fold_unmarked

BITS = 64
_GRAM = 3


def similarity(a: str, b: str) -> float:
    """0 for nothing in common to 1 for the same letters in the same order."""
    return fuzz.ratio(_folded(a), _folded(b)) / 100


def alike(folded: str, others: Sequence[str], least: float) -> Iterator[tuple[str, float]]:
    """Those of `others` whose similarity to `folded` is at least `least`, and that; all are folded already.

    Many at once: most are told apart long before they are compared to the end.
    """
    found = process.extract(folded, others, scorer=fuzz.ratio, score_cutoff=least * 100, limit=None)
    return ((text, ratio / 100) for text, ratio, _ in found)


@lru_cache(maxsize=1 << 14)
def _folded(text: str) -> str:
    """Folding costs more than comparing, and each text meets all others."""
    return fold_unmarked(text)


def simhash(text: str) -> int:
    """64 bits of which near-copies of `text` share almost all, and from which the text cannot be read.

    Charikar's fingerprint over runs of three characters; a constant of the ledger, so it never changes.
    """
    votes = [0] * BITS
    for gram, times in Counter(_grams(fold_unmarked(text))).items():
        bits = int.from_bytes(blake2b(gram.encode(), digest_size=BITS // 8).digest(), "big")
        for place in range(BITS):
            votes[place] += times if bits >> place & 1 else -times
    return sum(1 << place for place, vote in enumerate(votes) if vote > 0)


def _grams(text: str) -> list[str]:
    return [text[start : start + _GRAM] for start in range(max(1, len(text) - _GRAM + 1))]


def hamming(a: int, b: int) -> int:
    """How many bits differ."""
    return (a ^ b).bit_count()


def plain(word: str) -> str:
    """A word without its accents: people leave them out."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))
