from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from skillopt_git.backends.budgeted import WORKED, Beyond, Budgeted
from skillopt_git.backends.pooled import Pooled
from skillopt_git.backends.scripted import Scripted
from skillopt_git.config import Budget
from skillopt_git.ports import NOTHING, CallFailed, FailureKind, Purpose, Reply, Request, Usage
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


def test_what_was_sent_in_a_batch_costs_half_and_nothing_else_does() -> None:
    """Whatever it was for; before it is sent nobody knows."""

    def script(request: Request) -> Reply:
        return Reply(text="done", usage=replace(EACH, batched=request.ask == "Task 1"))

    most = rates("anthropic").cost(Usage(MOST - 100, 100, written_tokens=MOST - 100), HAIKU)
    cost = rates("anthropic").cost(EACH, HAIKU)
    assert most is not None
    assert cost is not None
    for purpose in ("rollout", "judge", "reflect"):
        backend = budgeted(inner=Scripted(script=script, model=HAIKU), together=True, budget=Budget(usd=most))
        ((alone,), (batched,)) = (backend.complete([ask(number, purpose=purpose)]) for number in (0, 1))
        assert isinstance(alone, Reply)
        assert alone.usage.cost_usd == cost
        assert isinstance(batched, CallFailed)  # at half the price there would be room
        other = budgeted(inner=Scripted(script=script, model=HAIKU))
        (reply,) = other.complete([ask(1)])
        assert isinstance(reply, Reply)
        assert reply.usage.cost_usd == pytest.approx(cost / 2)
        assert other.purse.spent.usd == reply.usage.cost_usd


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


@pytest.mark.parametrize(
    ("usage", "spent"),
    [
        (Usage(700, 900), 1_600),
        (Usage(7, 0, cost_usd=0.5), 7),
        (Usage(), MOST),  # a model worked, and nobody says for how long
    ],
)
@pytest.mark.parametrize("kind", ["truncated", "network", "schema", "rate", "process"])
def test_what_a_failed_call_says_it_used_counts(kind: FailureKind, usage: Usage, spent: int) -> None:
    """However it failed; in the sums, too."""
    backend = budgeted(CallFailed(kind, "no", usage=usage))
    (failure,) = backend.complete([ask()])
    assert failure.usage is not None
    cost = usage.cost_usd or rates("anthropic").cost(usage, HAIKU) if spent != MOST else None
    assert failure.usage.cost_usd == cost
    assert backend.purse.spent.tokens == spent
    known = None if cost is None else round(cost, 9)
    assert backend.purse.used == Used(1, None if spent == MOST else spent, known)


def test_a_time_out_counts_for_every_attempt() -> None:
    """Each may have been worked on: the library tried again before it told."""
    backend = budgeted(CallFailed("timeout", "no"), attempts=3)
    backend.complete([ask()])
    assert backend.purse.spent.tokens == 3 * MOST


@pytest.mark.parametrize(("room", "asked_for", "kind"), [(9, 3, "timeout"), (2, 2, "timeout"), (1, 1, "timeout")])
def test_after_a_time_out_each_further_attempt_is_reserved(room: int, asked_for: int, kind: FailureKind) -> None:
    """As often as is set, and as there is room: a model may have worked on each."""
    backend = budgeted(
        CallFailed("timeout", "no", retryable=True), attempts=3, again=2, budget=Budget(tokens=room * MOST)
    )
    (found,) = backend.complete([ask()])
    assert isinstance(found, CallFailed)
    assert (found.kind, len(asked(backend)), backend.purse.spent.tokens) == (kind, asked_for, asked_for * MOST)


def test_an_answer_after_a_time_out_is_one() -> None:
    """What did not pass is not asked again, nor what is under way yet, nor what goes together."""
    told: list[Reply | CallFailed] = [CallFailed("timeout", "no", retryable=True), Reply(text="done", usage=EACH)]
    given = iter(told)
    backend = budgeted(inner=Scripted(script=lambda _: next(given), model=HAIKU), again=2)
    assert isinstance(backend.complete([ask()])[0], Reply)
    assert backend.purse.spent.tokens == MOST + 350
    for failure in (CallFailed("rate", "no", retryable=True), CallFailed("timeout", "later", True, NOTHING)):
        other = budgeted(failure, again=2)
        assert other.complete([ask()]) == [failure]
        assert len(asked(other)) == 1
    many = budgeted(CallFailed("timeout", "no"), again=2, together=True)
    many.complete([ask(1), ask(2)])
    assert len(asked(many)) == 2


def test_half_an_answer_counts_for_every_attempt() -> None:
    """As a whole one, which nobody has seen; a connection that was never made counts as nothing."""
    backend = budgeted(CallFailed("network", "torn", usage=Usage()), attempts=3)
    backend.complete([ask()])
    assert backend.purse.spent.tokens == 3 * MOST
    assert backend.purse.used == Used(1, None, None)


def test_room_for_thoughts_is_reserved_from_the_first_call_on() -> None:
    """Many calls at once would otherwise all go beyond the limit together."""
    thinks = Scripted(script=lambda _: Reply(text="done", usage=Usage(300, 8_000)), model=HAIKU)
    purse = Purse(Budget(tokens=20_000))
    backend = budgeted(inner=thinks, purse=purse, beyond=Beyond(received=8_192))
    results = Pooled(inner=backend, jobs=16).complete([ask(number) for number in range(40)])
    assert 1 <= sum(isinstance(item, Reply) for item in results) <= 2
    assert purse.spent.tokens <= 20_000


@pytest.mark.parametrize("ended", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize(("together", "spent"), [(False, MOST), (True, 0)])
def test_whatever_ends_a_call_it_is_settled(ended: type[BaseException], together: bool, spent: int) -> None:
    """What it took nobody says; what was sent together counts for the run that goes on with it."""

    def ends(_: Request) -> Reply:
        raise ended

    backend = budgeted(inner=Scripted(script=ends), budget=Budget(tokens=2 * MOST), together=together)
    for number in (1, 2):
        with pytest.raises(ended):
            backend.complete([ask()])
        assert backend.purse.spent.tokens == number * spent
    assert backend.purse.take([Amount(2 * MOST - 2 * spent)]) == 1


@pytest.mark.parametrize(
    "usage",
    [
        Usage(-5, 10),
        Usage(5, -10),
        Usage(5, 10, cached_tokens=-1),
        Usage(5, 10, cost_usd=-1.0),
        Usage(5, 10, cost_usd=float("nan")),
        Usage(5, 10, cost_usd=float("inf")),
        Usage(10**400, 10),
        Usage(5, 10, cost_usd=1e300),
    ],
)
def test_a_usage_that_cannot_be_counts_as_none(usage: Usage) -> None:
    """As what was reserved: it neither gives back what others spent nor hides it."""
    backend = budgeted(Reply(text="done", usage=usage))
    (reply,) = backend.complete([ask()])
    assert reply == Reply(text="done")
    most = rates("anthropic").cost(Usage(MOST - 100, 100, written_tokens=MOST - 100), HAIKU)
    assert backend.purse.spent == Amount(MOST, most or 0.0)
    assert backend.purse.used == Used(1, None, None)


def test_what_has_no_price_afterwards_has_the_one_from_before() -> None:
    """More was read from a cache than was sent: the tokens count, and a limit in dollars is kept."""
    backend = budgeted(Reply(text="done", usage=Usage(5, 10, cached_tokens=20)))
    backend.complete([ask()])
    assert backend.purse.spent.tokens == 15
    assert backend.purse.spent.usd > 0


def test_what_fails_when_the_run_is_broken_off_counts() -> None:
    """A program that was ended says nothing of what its model had done by then."""
    backend = budgeted(budget=Budget(tokens=10 * MOST))

    def ended(_: Request) -> CallFailed:
        backend.purse.close()
        return CallFailed("process", "ended by signal 9")

    replace(backend, inner=Scripted(script=ended)).complete([ask()])
    assert backend.purse.spent.tokens == MOST


def test_a_wrong_number_of_answers_hangs_nobody() -> None:
    """It is a fault of ours, and is raised; whoever waits for room goes on."""

    class Short(Scripted):
        def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
            return ()

    backend = budgeted(inner=Short(script=lambda _: None), budget=Budget(tokens=2 * MOST))
    with pytest.raises(ValueError, match="zip"):
        backend.complete([ask()])
    assert backend.purse.spent.tokens == MOST
    assert backend.purse.take([Amount(MOST)]) == 1


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
