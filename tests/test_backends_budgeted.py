from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from skillopt_git.backends.budgeted import WORKED, Budgeted
from skillopt_git.backends.pooled import Pooled
from skillopt_git.backends.scripted import Scripted
from skillopt_git.config import Budget
from skillopt_git.ports import CallFailed, FailureKind, Purpose, Reply, Request, Usage
from skillopt_git.prices import Rates, rates
from skillopt_git.purse import Amount, Purse, Used, most_input

HAIKU = "claude-haiku-4-5"
EACH = Usage(300, 50)


def ask(number: int = 0, *, purpose: Purpose = "rollout", **fields: Any) -> Request:
    return Request(role="target", purpose=purpose, ask=f"Task {number}", max_tokens=100, **fields)


MOST = most_input(ask()) + 100


def budgeted(answer: Reply | CallFailed | None = None, *, budget: Budget = Budget(), **fields: Any) -> Budgeted:  # noqa: B008 - frozen
    given = answer if answer is not None else Reply(text="done", usage=EACH)
    inner = Scripted(script=lambda _: given, model=HAIKU)
    parts: dict[str, Any] = {"inner": inner, "purse": Purse(budget), "rates": Rates(provider="anthropic")}
    return Budgeted(**parts | fields)


def asked(backend: Budgeted) -> list[Request]:
    assert isinstance(backend.inner, Scripted)
    return backend.inner.asked


def test_it_is_known_as_what_it_wraps() -> None:
    """A trial and the cache must not see it."""
    backend = budgeted()
    for name in ("name", "model", "deterministic", "simulated", "settings", "knows"):
        assert getattr(backend, name) == getattr(backend.inner, name)


def test_what_a_call_took_is_counted_and_priced() -> None:
    """The reply says what it cost, and the purse knows the sums."""
    backend = budgeted()
    (reply,) = backend.complete([ask()])
    assert isinstance(reply, Reply)
    cost = rates("anthropic").cost(EACH, HAIKU)
    assert cost is not None
    assert reply.usage.cost_usd == cost
    assert backend.purse.spent == Amount(350, cost)
    assert backend.purse.used == Used(1, 350, round(cost, 9))


def test_the_model_that_really_answered_decides_the_price() -> None:
    """Where the table knows it; else the one that was asked for."""
    for model, priced in (("claude-opus-4-5", "claude-opus-4-5"), ("", HAIKU), ("a-model-nobody-sells", HAIKU)):
        (reply,) = budgeted(Reply(text="done", usage=EACH, model=model)).complete([ask()])
        assert isinstance(reply, Reply)
        assert reply.usage.cost_usd == rates("anthropic").cost(EACH, priced)


def test_a_call_without_room_is_not_made() -> None:
    """What it would have met is said, in the place of the answer; so it is with all that follow."""
    backend = budgeted(budget=Budget(tokens=2 * MOST))

    results = backend.complete([ask(number) for number in range(20)])

    answered = [item for item in results if isinstance(item, Reply)]
    refused = [item for item in results if isinstance(item, CallFailed)]
    assert results == [*answered, *refused]
    assert len(asked(backend)) == len(answered) == (2 * MOST - MOST) // 350 + 1
    assert {item.kind for item in refused} == {"budget"}
    assert not refused[0].retryable
    assert refused[0].message.startswith(f"budget.tokens is {2 * MOST:,}: ")
    assert backend.purse.spent.tokens <= 2 * MOST


def test_dollars_are_reserved_as_if_all_were_cached_and_answered_at_length() -> None:
    """Writing to a prompt cache is the dearest way to send."""
    most = rates("anthropic").cost(Usage(MOST - 100, 100, written_tokens=MOST - 100), HAIKU)
    assert most is not None
    assert isinstance(budgeted(budget=Budget(usd=most)).complete([ask()])[0], Reply)
    (failure,) = budgeted(budget=Budget(usd=most * 0.999)).complete([ask()])
    assert isinstance(failure, CallFailed)
    assert failure.message.startswith("budget.usd is ")


def test_replays_in_a_batch_cost_half_and_nothing_else_does() -> None:
    """Only they are sent so."""
    backend = budgeted(batch=True, together=True)
    replay, judged = (backend.complete([ask(purpose=purpose)])[0] for purpose in ("rollout", "judge"))
    assert isinstance(replay, Reply)
    assert isinstance(judged, Reply)
    assert replay.usage.cost_usd is not None
    assert judged.usage.cost_usd is not None
    assert replay.usage.cost_usd * 2 == pytest.approx(judged.usage.cost_usd)


def test_what_a_program_says_it_cost_counts() -> None:
    """Also where the table knows no price, and where no tokens are told."""
    backend = budgeted(Reply(text="done", usage=Usage(cost_usd=0.5)), rates=Rates())
    backend.complete([ask()])
    assert backend.purse.spent == Amount(MOST, 0.5)
    assert backend.purse.used == Used(1, None, 0.5)


def test_a_reply_that_tells_nothing_counts_as_what_was_reserved() -> None:
    """A limit is kept though nobody says what was taken; the sums are unknown, not 0."""
    backend = budgeted(Reply(text="done"), budget=Budget(tokens=3 * MOST))
    results = backend.complete([ask(number) for number in range(5)])
    assert [isinstance(item, Reply) for item in results] == [True, True, True, False, False]
    assert backend.purse.used == Used(3, None, None)


@pytest.mark.parametrize("kind", ["auth", "quota", "rate", "network", "process", "budget"])
def test_the_reservation_of_a_call_that_never_ran_is_returned(kind: FailureKind) -> None:
    """Nothing was spent."""
    backend = budgeted(CallFailed(kind, "no"), budget=Budget(tokens=MOST))
    for _ in range(3):
        assert backend.complete([ask()]) == [CallFailed(kind, "no")]
    assert (backend.purse.spent, backend.purse.used) == (Amount(), Used())


@pytest.mark.parametrize("kind", sorted(WORKED))
def test_a_failure_behind_which_a_model_worked_counts(kind: FailureKind) -> None:
    """Nobody says what it took: all that was reserved."""
    backend = budgeted(CallFailed(kind, "no"), budget=Budget(tokens=MOST))
    assert backend.complete([ask()]) == [CallFailed(kind, "no")]
    assert backend.purse.spent.tokens == MOST


def test_the_reservation_of_a_run_that_ended_is_returned() -> None:
    """Whatever ended it: the answers may be waited for on another day."""

    def ends(_: Request) -> Reply:
        raise KeyboardInterrupt

    backend = budgeted(inner=Scripted(script=ends), budget=Budget(tokens=MOST))
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            backend.complete([ask()])
    assert backend.purse.spent == Amount()


def test_what_calls_take_beyond_their_request_is_expected_of_the_next() -> None:
    """A program's own prompt may be longer than the question, and an answer longer than was asked for."""
    backend = budgeted(Reply(text="done", usage=Usage(5_000, 300)), budget=Budget(tokens=20_000))
    results = backend.complete([ask(number) for number in range(5)])
    assert [isinstance(item, Reply) for item in results] == [True, True, True, False, False]
    assert backend.purse.spent.tokens == 3 * 5_300


def test_at_a_door_that_wants_all_at_once_as_many_go_as_fit() -> None:
    """What they left over is used by a second call; the rest is refused."""
    sizes: list[int] = []

    class Batch(Scripted):
        def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
            sizes.append(len(requests))
            return [Reply(text="done", usage=Usage(MOST // 2, 0)) for _ in requests]

    backend = budgeted(inner=Batch(script=lambda _: None, model=HAIKU), together=True, budget=Budget(tokens=4 * MOST))
    results = backend.complete([ask(number) for number in range(10)])
    assert sizes == [4, 2, 1]
    assert [isinstance(item, Reply) for item in results] == [True] * 7 + [False] * 3


def test_many_at_once_stay_within_the_limit() -> None:
    """Both of two backends and all of their threads take from one purse, and as much is asked as there is room for."""
    purse = Purse(Budget(tokens=20 * 350 + MOST))
    both = [
        Pooled(inner=budgeted(purse=purse, rates=Rates(provider="anthropic")), jobs=16) for _ in ("target", "optimizer")
    ]
    results = [item for backend in both for item in backend.complete([ask(number) for number in range(40)])]
    answered = sum(isinstance(item, Reply) for item in results)
    assert answered == 21
    assert purse.spent.tokens == answered * 350 <= purse.budget.tokens
