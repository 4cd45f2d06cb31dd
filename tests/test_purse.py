from __future__ import annotations

from collections.abc import Sequence
from threading import Event, Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_git.config import Budget
from skillopt_git.ports import Request, Usage
from skillopt_git.purse import Amount, Purse, Spent, Used, most_input, size


def call(purse: Purse, most: Amount, real: Amount) -> str | None:
    """One call; why it could not be made."""
    taken = purse.take([most])
    if isinstance(taken, str):
        return taken
    purse.settle([most], [real], [Usage(real.tokens, cost_usd=real.usd)])
    return None


def test_without_limits_everything_has_room() -> None:
    """And all of it is counted."""
    purse = Purse(Budget())
    assert call(purse, Amount(10**9, 10.0**6), Amount(500, 2.0)) is None
    assert (purse.spent, purse.used) == (Amount(500, 2.0), Used(1, 500, 2.0))


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        (Budget(tokens=1_000), "budget.tokens is 1,000: 900 are spent, and a call more may take 200"),
        (Budget(week_tokens=1_500), "budget.week_tokens is 1,500: 1,400 are spent, and a call more may take 200"),
        (Budget(usd=1.0), "budget.usd is 1: 0.9000 are spent, and a call more may cost 0.2000"),
        (Budget(week_usd=2.5), "budget.week_usd is 2.5: 2.4000 are spent, and a call more may cost 0.2000"),
        (Budget(minutes=2), "budget.minutes is 2: they are over"),
        (Budget(week_minutes=12), "budget.week_minutes is 12: they are over"),
    ],
)
def test_each_limit_is_kept_and_named(budget: Budget, limit: str) -> None:
    """Those of a week count what other runs spent before."""
    minutes = [0.0]
    before = Spent(tokens=500, usd=1.5, minutes=10)
    purse = Purse(budget, before, clock=lambda: minutes[0] * 60)

    assert call(purse, Amount(900, 0.9), Amount(900, 0.9)) is None
    minutes[0] = 2
    assert call(purse, Amount(200, 0.2), Amount(1, 0.01)) == limit
    assert purse.spent == Amount(900, 0.9)


def test_what_a_call_did_not_take_is_there_for_the_next() -> None:
    """Only what was really spent counts."""
    purse = Purse(Budget(tokens=1_000))
    for _ in range(9):
        assert call(purse, Amount(1_000 - 100 * 9 + 99), Amount(100)) is None
    assert "900 are spent" in (call(purse, Amount(101), Amount(1)) or "")
    assert call(purse, Amount(100), Amount(100)) is None


def test_what_others_have_under_way_is_waited_for() -> None:
    """A call that fits once they are settled is made then, and not refused."""
    purse = Purse(Budget(tokens=1_000))
    assert purse.take([Amount(900)]) == 1
    answers: list[int | str] = []
    begun = Event()

    def second() -> None:
        begun.set()
        answers.append(purse.take([Amount(500)]))

    thread = Thread(target=second)
    thread.start()
    begun.wait(5)
    thread.join(0.05)
    assert answers == []
    purse.settle([Amount(900)], [Amount(300)])
    thread.join(5)
    assert answers == [1]


def test_who_waits_is_refused_when_nothing_is_left_over() -> None:
    """The others took what they had reserved."""
    purse = Purse(Budget(tokens=1_000))
    purse.take([Amount(900)])
    answers: list[int | str] = []
    thread = Thread(target=lambda: answers.append(purse.take([Amount(500)])))
    thread.start()
    purse.settle([Amount(900)], [Amount(900)])
    thread.join(5)
    assert answers == ["budget.tokens is 1,000: 900 are spent, and a call more may take 500"]


def test_of_many_as_many_are_taken_as_there_is_room_for() -> None:
    """For a backend that wants them in one call."""
    purse = Purse(Budget(tokens=1_000))
    assert purse.take([Amount(400), Amount(400), Amount(400)]) == 2
    purse.settle([Amount(400), Amount(400)], [Amount(400), Amount(400)])
    assert isinstance(purse.take([Amount(400)]), str)


def test_what_was_spent_is_kept_after_each_call_that_took_something() -> None:
    """So that whatever ends a run, the next knows."""
    kept: list[Spent] = []
    now = [0.0]
    purse = Purse(Budget(), clock=lambda: now[0], keep=kept.append)
    call(purse, Amount(100), Amount(70, 0.5))
    now[0] = 90.0
    call(purse, Amount(100), Amount())
    call(purse, Amount(100), Amount(30, 0.25))
    assert kept == [Spent(tokens=70, usd=0.5), Spent(tokens=100, usd=0.75, minutes=1.5)]


def test_when_the_run_is_broken_off_what_is_under_way_counts() -> None:
    """Nobody waits for it, so nobody else will ever count it; what ends within the moment counts as what it was."""
    kept: list[Spent] = []
    purse = Purse(Budget(tokens=1_000), keep=kept.append)
    assert purse.take([Amount(600), Amount(100)]) == 2
    waiting: list[int | str] = []
    thread = Thread(target=lambda: waiting.append(purse.take([Amount(500)])), daemon=True)
    thread.start()

    purse.close()
    purse.close()

    thread.join(5)
    assert waiting == ["the run was broken off"]
    assert purse.take([Amount(1)]) == "the run was broken off"
    purse.settle([Amount(100)], [Amount(7)])
    assert [item.tokens for item in kept] == [700, 607]


def test_a_purse_that_is_closed_with_nothing_under_way_writes_nothing() -> None:
    kept: list[Spent] = []
    Purse(Budget(), keep=kept.append).close()
    assert kept == []


def test_a_sum_of_which_a_part_is_unknown_is_unknown() -> None:
    """Not measured is not 0."""
    assert Used().plus(Usage(10, 5, cost_usd=0.1)) == Used(1, 15, 0.1)
    assert Used().plus(Usage()).plus(Usage(10, 5, cost_usd=0.1)) == Used(2, None, None)
    assert Used().plus(Usage(10, 5)) == Used(1, 15, None)


@given(
    st.integers(1, 5_000),
    st.lists(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 100)), max_size=12), min_size=1, max_size=6),
)
@settings(deadline=None, max_examples=60)
def test_threads_together_never_spend_more_than_the_limit(
    limit: int, threads: Sequence[Sequence[tuple[int, int]]]
) -> None:
    """Where each call takes no more than was reserved for it; and in the end nothing is reserved any more."""
    purse = Purse(Budget(tokens=limit, usd=limit / 1_000))
    most: list[int] = []

    def work(calls: Sequence[tuple[int, int]]) -> None:
        for reserved, share in calls:
            real = reserved * share // 100
            call(purse, Amount(reserved, reserved / 1_000), Amount(real, real / 1_000))
            most.append(purse.spent.tokens)

    running = [Thread(target=work, args=(calls,)) for calls in threads]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(10)
    assert not any(thread.is_alive() for thread in running)
    assert max(most, default=0) <= limit
    assert isinstance(purse.take([Amount(limit + 1)]), str)
    left = Amount(limit - purse.spent.tokens)
    assert left == Amount() or purse.take([left]) == 1


@given(st.text(), st.text(), st.text())
def test_a_request_is_never_taken_for_smaller_than_its_texts_are(ask: str, context: str, document: str) -> None:
    """Every text counts, whatever it is written in, half characters too."""
    request = Request(
        role="target", purpose="rollout", ask=ask, context=context, documents=(("CLAUDE.md", document),), tools=("ls",)
    )
    texts = "".join((ask, context, document))
    assert size(request) == len(texts.encode(errors="replace")) + 2
    assert most_input(request) >= len(texts) / 2
