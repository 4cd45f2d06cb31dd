"""Whose prices a role is counted by, and when a limit is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_git import prices, roles
from skillopt_git.backends.budgeted import Budgeted
from skillopt_git.backends.scripted import Scripted
from skillopt_git.config import Budget, Config, Replay
from skillopt_git.doors import Opened
from skillopt_git.errors import UsageError
from skillopt_git.ports import CallFailed, Reply, Request, Usage
from skillopt_git.prices import Rates
from skillopt_git.private import Private
from skillopt_git.purse import Purse
from skillopt_git.redact import Redactor
from tests import metered


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that pays Anthropic, one that records it, and an address in the environment."""
    monkeypatch.setitem(roles.BACKENDS, "metered", metered.DOOR)
    monkeypatch.setitem(roles.BACKENDS, "cassette", metered.DOOR)
    monkeypatch.setitem(prices.PROVIDERS, "metered", "anthropic")
    monkeypatch.setattr(metered, "ABOUT", replace(metered.ABOUT, address="METERED_URL"))


def rates(environ: dict[str, str] | None = None, **replay: str) -> Rates:
    config = Config(replay=Replay(**{"backend": "metered", **replay}))  # type: ignore[arg-type]
    return roles.rates_of(roles.parts(config)[0], environ or {})


def test_an_address_counts_before_the_name_wherever_it_is_set() -> None:
    """In the settings, or in the environment variable that the backend reads."""
    assert rates() == Rates(provider="anthropic")
    assert rates(base_url="http://127.0.0.1:1") == Rates(address="http://127.0.0.1:1")
    assert rates({"METERED_URL": "http://127.0.0.1:2"}) == Rates(address="http://127.0.0.1:2")


def test_a_cassette_that_records_costs_what_the_recorded_one_does() -> None:
    """One that only plays what is recorded costs nothing that is known."""
    assert rates(backend="cassette", record="metered") == Rates(provider="anthropic")
    assert rates(backend="cassette") == Rates()


def opened(model: str = metered.MODEL, *, together: bool = False) -> Opened:
    return Opened(backend=Scripted(script=lambda _: None, model=model), together=together)


def limited(budget: Budget, model: str = metered.MODEL) -> Opened:
    config = Config(budget=budget, replay=Replay(backend="metered"))
    return roles.limited(opened(model), roles.parts(config)[0], config, Purse(budget), {})


def test_a_limit_in_dollars_needs_a_known_price() -> None:
    """Any other limit needs none."""
    assert isinstance(limited(Budget(usd=1, week_usd=5)).backend, Budgeted)
    assert isinstance(limited(Budget(tokens=1_000, minutes=5), "a-model-nobody-sells").backend, Budgeted)
    with pytest.raises(UsageError, match=r"budget\.week_usd cannot be kept: what a-model-nobody-sells costs"):
        limited(Budget(week_usd=5), "a-model-nobody-sells")
    with pytest.raises(UsageError, match="what the model costs"):
        limited(Budget(usd=5), "")


def test_what_a_door_says_of_its_calls_is_reserved() -> None:
    """All at once or not, room for thoughts, and the attempts that a time-out may hide."""
    config = Config(replay=Replay(backend="metered", retries=2))
    door = replace(opened(together=True), beyond=8_192)
    paid = roles.limited(door, roles.parts(config)[0], config, Purse(Budget()), {}).backend
    assert isinstance(paid, Budgeted)
    assert (paid.together, paid.beyond.received, paid.attempts, paid.again) == (True, 8_192, 3, 0)
    once = roles.limited(replace(door, once=True), roles.parts(config)[0], config, Purse(Budget()), {}).backend
    assert isinstance(once, Budgeted)
    assert (once.attempts, once.again) == (3, 2)


def test_what_costs_nothing_needs_no_price() -> None:
    """Nor is it counted: a limit in dollars is kept by whoever is not paid."""
    config = Config(budget=Budget(usd=1), replay=Replay(backend="metered"))
    free = replace(opened("a-model-nobody-sells"), free=True)
    assert roles.limited(free, roles.parts(config)[0], config, Purse(config.budget), {}) is free


def test_a_program_that_says_what_it_cost_needs_no_price_either() -> None:
    """Its aliases are in no table; before a call it is taken for the dearest of that name."""
    config = Config(budget=Budget(usd=1), replay=Replay(backend="claude", model="sonnet"))
    told = Scripted(script=lambda _: Reply(text="done", usage=Usage(10, 5, cost_usd=0.4)), model="sonnet")
    paid = roles.limited(Opened(backend=told), roles.parts(config)[0], config, purse := Purse(config.budget), {})
    ask = Request(role="target", purpose="rollout", ask="x", max_tokens=10_000)
    results = [paid.backend.complete([ask])[0] for _ in range(4)]
    assert [isinstance(item, Reply) for item in results] == [True, True, True, False]
    assert purse.spent.usd == pytest.approx(1.2) or purse.spent.usd <= 1


@pytest.mark.parametrize("name", ["anthropic", "azure_openai", "claude", "openai"])
def test_models_that_may_think_say_so_before_they_are_opened(name: str) -> None:
    """An estimate opens no door."""
    assert roles.about(name).beyond >= 8_000


def test_a_simulation_is_paid_by_nobody() -> None:
    """It has no purse."""
    config = Config(budget=Budget(usd=1), replay=Replay(backend="mock"))
    given = opened()
    assert roles.limited(given, roles.parts(config)[0], config, None) is given


def made(folder: Path) -> Private:
    private = Private(folder / "skillopt")
    private.made()
    return private


@pytest.mark.parametrize("jobs", [1, 4])
def test_each_answer_is_kept_as_it_comes(jobs: int, tmp_path: Path) -> None:
    """Whatever becomes of the others: the next run does not pay for it again. And nothing is asked twice."""
    raises = [True]

    def script(request: Request) -> Reply:
        if request.ask == "9" and raises:
            raise KeyboardInterrupt
        return Reply(text=request.ask, usage=Usage(10, 5))

    backend = Scripted(script=script)
    private, purse = made(tmp_path), Purse(Budget())
    config = Config(replay=Replay(backend="metered"))
    paid = roles.limited(Opened(backend=backend), roles.parts(config)[0], config, purse, {})
    target = roles.models(paid, paid, (), private, Redactor(b"key"), jobs=jobs, purse=purse).target
    asks = [Request(role="target", purpose="rollout", ask=f"{at // 2}", sample="t/1") for at in range(20)]

    with pytest.raises(KeyboardInterrupt):
        target.complete(asks)
    assert len(backend.asked) == 10
    raises.clear()
    replies = target.complete(asks)

    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [request.ask for request in asks]
    assert len(backend.asked) == 11
    assert purse.used.calls == 10


def test_what_wants_all_at_once_gets_all_that_is_not_remembered(tmp_path: Path) -> None:
    """In one call, each question once."""
    sizes: list[int] = []

    class Batch(Scripted):
        def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
            sizes.append(len(requests))
            return super().complete(requests)

    batch = Opened(backend=Batch(script=lambda request: Reply(text=request.ask)), together=True)
    target = roles.models(batch, batch, (), made(tmp_path), Redactor(b"key"), jobs=8).target
    asks = [Request(role="target", purpose="rollout", ask=f"{at // 2}") for at in range(10)]
    for end in (4, 10):
        target.complete(asks[:end])
    assert sizes == [2, 3]


def test_a_night_that_nobody_is_paid_for_has_no_sums(tmp_path: Path) -> None:
    """What was not counted is not 0; with one paid model beside it, that one's count."""
    purse = Purse(Budget())
    private = made(tmp_path)
    paid, free = opened(), replace(opened(), free=True)
    for target, optimizer, tokens in ((free, free, None), (free, paid, 0)):
        found = roles.models(target, optimizer, (), private, Redactor(b"key"), purse=purse)
        assert found.used.tokens == tokens
