"""Questions to the optimizer: asked once more where the answer cannot be read."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt_git.asking import LONGEST_ANSWER, LONGEST_TEXT, Question, ask
from skillopt_git.backends.scripted import Scripted
from skillopt_git.ports import CallFailed, Reply
from tests.learning import acts, once
from tests.questions import TONIGHT, bench


@dataclass(frozen=True)
class Asks:
    asks: tuple[str, ...]


def question(text: str) -> Question:
    return Question(purpose="dream", words={"ask": text, "wish": "w", "contract": (), "count": 1})


GOOD = Reply(text='Sure: {"asks": ["a"]}.')


def test_only_what_could_not_be_read_is_asked_again_and_firmer() -> None:
    """All at once, each in its place; a failed call is not asked again."""
    failure = CallFailed("timeout", "slow")
    backend = Scripted(
        script=acts(dreamer=once(GOOD, failure, Reply(text=""), Reply(text="no"), GOOD, Reply(text="no")))
    )

    first, second, third, fourth = ask([question(name) for name in "abcd"], Asks, bench(backend))

    assert first.answer == third.answer == Asks(("a",))
    assert (second.answer, second.text) == (failure, "")
    assert isinstance(fourth.answer, CallFailed)
    assert (fourth.answer.kind, fourth.text) == ("schema", "no")
    assert [item.sample for item in backend.asked] == ["", "", "", "", f"{TONIGHT}/firmer", f"{TONIGHT}/firmer"]
    assert ["not such JSON" in item.ask for item in backend.asked] == [False] * 4 + [True] * 2
    assert {item.max_tokens for item in backend.asked} == {LONGEST_ANSWER}


def test_what_was_said_is_kept_where_asking_again_failed() -> None:
    backend = Scripted(script=acts(dreamer=once(Reply(text="no"), CallFailed("rate", "later"))))

    (heard,) = ask([question("a")], Asks, bench(backend))

    assert heard.text == "no"
    assert heard.answer == CallFailed("rate", "later")


def test_a_huge_answer_is_not_read() -> None:
    """What is in it would take its time, whatever it is."""
    huge = Reply(text=f'{{"asks": ["{"a" * LONGEST_TEXT}"]}}')
    (heard,) = ask([question("a")], Asks, bench(Scripted(script=acts(dreamer=once(huge, huge)))))

    assert isinstance(heard.answer, CallFailed)
    assert (heard.answer.kind, "longer than" in heard.answer.message) == ("schema", True)


def test_no_question_is_no_call() -> None:
    assert ask([], Asks, bench(Scripted(script=acts()))) == []
