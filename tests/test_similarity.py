from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.similarity import BITS, hamming, simhash, similarity

ASK = "Please add the date-fns dependency to the web package and use it in the header."


def test_the_same_words_are_alike_whatever_their_case_and_blanks() -> None:
    """Texts are folded before they are compared."""
    assert similarity("Use  pnpm,\nnot npm", "use PNPM, not npm") == 1.0


def test_redaction_marks_of_two_machines_are_the_same() -> None:
    """Only the kind of a mark counts, for its digits depend on a private key."""
    ours, theirs = "curl -u [REDACTED:password:0123abcd]", "curl -u [REDACTED:password:feedbeef]"
    assert similarity(ours, theirs) == 1.0
    assert simhash(ours) == simhash(theirs)


def test_near_copies_are_near_and_other_asks_are_far() -> None:
    """One changed word keeps an ask above the family's 0.9; another ask is nowhere near."""
    assert similarity(ASK, ASK.replace("header", "footer")) > 0.9
    assert similarity(ASK, "Run the tests and tell me what fails") < 0.5


def test_word_order_matters() -> None:
    """The same words in another order are not the same text."""
    assert similarity("not npm but pnpm", "pnpm but not npm") < 1.0


def test_simhash_is_a_constant_of_the_ledger() -> None:
    """Recorded fingerprints stay comparable for ever."""
    assert simhash(ASK) == 0xCCDA071E4A94DE6D
    assert simhash("") == 0xE4A6A0577479B2B4


def test_simhash_moves_little_for_little() -> None:
    """A dropped full stop costs at most three bits, another ask many."""
    assert hamming(simhash(ASK), simhash(ASK.rstrip(".").upper())) <= 3
    assert hamming(simhash(ASK), simhash("Run the tests and tell me what fails")) > 16


@pytest.mark.parametrize(("a", "b", "bits"), [(0, 0, 0), (0b101, 0b011, 2), (0, 2**64 - 1, 64)])
def test_hamming_counts_the_bits_that_differ(a: int, b: int, bits: int) -> None:
    """Each differing place counts once."""
    assert hamming(a, b) == bits


@given(st.text(), st.text())
def test_every_pair_of_texts_compares_within_bounds_and_both_ways(a: str, b: str) -> None:
    """The measure lies in [0, 1], does not depend on the order, and is 1 for a text and itself."""
    assert 0.0 <= similarity(a, b) <= 1.0
    assert similarity(a, b) == pytest.approx(similarity(b, a))
    assert similarity(a, a) == 1.0
    assert 0 <= simhash(a) < 2**BITS
