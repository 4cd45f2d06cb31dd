"""What of a session a model is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.sessiontext import ANSWER_LIMIT, SESSION_LIMIT, TYPED_LIMIT, clipped, exchanges, shown
from tests.test_mine import session


def test_what_was_typed_is_numbered_and_followed_by_its_last_answer() -> None:
    """What commands and the shell were answered with belongs to nothing that was typed."""
    said = session(
        "s", "Add it", "< Let me look.", "< Done.", "/clear", "< Cleared.", "Now test it", "!ls", "< a.py", "Ok"
    )

    assert [(item.typed.text, item.answer) for item in exchanges(said)] == [
        ("Add it", "Done."),
        ("Now test it", ""),
        ("Ok", ""),
    ]
    assert shown(said) == ((1, "Add it"), (0, "Done."), (2, "Now test it"), (3, "Ok"))


def test_an_answer_before_anything_was_typed_is_nobodys() -> None:
    """A session may begin in the middle."""
    assert shown(session("s", "< Hello.", "Add it", "< Done.")) == ((1, "Add it"), (0, "Done."))


def test_of_a_huge_session_the_end_is_shown() -> None:
    """With its own numbers, and each text within its bounds."""
    said = [
        text for number in range(300) for text in (f"Ask {number} {'x' * 5_000}", f"< Answer {number} {'y' * 5_000}")
    ]

    turns = shown(session("s", *said))

    assert sum(len(text) for _, text in turns) <= SESSION_LIMIT
    numbers = [number for number, _ in turns if number]
    assert numbers == list(range(301 - len(numbers), 301))
    assert max(len(text) for number, text in turns if number) <= TYPED_LIMIT
    assert max(len(text) for number, text in turns if not number) <= ANSWER_LIMIT
    assert turns[-2][1].startswith("Ask 299 ")


@given(st.text(), st.integers(20, 200))
def test_a_clipped_text_keeps_its_ends(text: str, most: int) -> None:
    """And is never longer than asked for."""
    cut = clipped(text, most)

    assert len(cut) <= max(most, 0)
    assert cut == text or (cut[:5] == text[:5] and cut[-3:] == text[-3:])
