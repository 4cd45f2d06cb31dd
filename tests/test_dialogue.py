"""The turns of a session."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.dialogue import turns
from skillopt_git.model import Turn

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
SAID = st.builds(
    Turn,
    id=st.text(max_size=3),
    kind=st.sampled_from(["prompt", "command", "shell", "answer"]),
    text=st.text(max_size=5),
    time=st.sampled_from([None, NOON]),
)


def test_answers_in_a_row_are_one_and_the_users_turns_stay_as_they_are() -> None:
    """The first of the answers gives the id and the time."""
    said = [
        Turn(id="a1", kind="answer", text="Hello."),
        Turn(id="p1", kind="prompt", text="Run"),
        Turn(id="p2", kind="prompt", text="the tests"),
        Turn(id="a2", kind="answer", text="I run them.", time=NOON),
        Turn(id="a3", kind="answer", text="They pass."),
        Turn(id="s1", kind="shell", text="ls"),
    ]
    one = Turn(id="a2", kind="answer", text="I run them.\n\nThey pass.", time=NOON)

    assert list(turns(said)) == [said[0], said[1], said[2], one, said[5]]


def words(said: list[Turn]) -> str:
    return "".join(turn.text for turn in said).replace("\n", "")


@given(st.lists(SAID))
def test_no_words_are_lost_and_no_two_answers_follow_each_other(said: list[Turn]) -> None:
    """Whatever was said, in whatever order."""
    found = list(turns(said))

    assert words(found) == words(said)
    assert [turn for turn in found if turn.kind != "answer"] == [turn for turn in said if turn.kind != "answer"]
    assert not any(first.kind == second.kind == "answer" for first, second in pairwise(found))
