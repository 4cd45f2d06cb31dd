"""The backend of the tests."""

from __future__ import annotations

import pytest

from skillopt_git.backends.scripted import Scripted
from skillopt_git.ports import Backend, CallFailed, Reply, Request

HELLO = Request(role="target", purpose="rollout", ask="Hello")
BYE = Request(role="target", purpose="rollout", ask="Bye")


def test_it_answers_in_order_and_keeps_what_it_was_asked() -> None:
    """Answers and failures come in the order of the requests."""
    answers: dict[str, Reply | CallFailed] = {"Hello": Reply(text="hi"), "Bye": CallFailed("refused", "no")}
    backend: Backend = Scripted(script=lambda request: answers[request.ask])

    assert backend.complete([BYE, HELLO]) == [answers["Bye"], answers["Hello"]]
    assert isinstance(backend, Scripted)
    assert backend.asked == [BYE, HELLO]


def test_an_unexpected_question_fails_the_test() -> None:
    """It names the question instead of inventing an answer."""
    with pytest.raises(AssertionError, match="Hello"):
        Scripted(script=lambda _: None).complete([HELLO])
