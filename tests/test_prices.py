from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.ports import Usage
from skillopt_git.prices import BATCH_SHARE, PROVIDERS, Rates, rates, source

HAIKU = "claude-haiku-4-5"
MILLION = 1_000_000


def cost(usage: Usage, model: str = HAIKU, *, batch: bool = False) -> float:
    found = rates("anthropic").cost(replace(usage, batched=batch), model)
    assert found is not None
    return found


def test_the_table_knows_what_is_sent_cached_and_received() -> None:
    """Reading a cache is cheaper than sending anew, writing to it dearer, and answers are dearest."""
    sent = cost(Usage(MILLION))
    assert cost(Usage(MILLION, cached_tokens=MILLION)) < sent < cost(Usage(MILLION, written_tokens=MILLION))
    assert cost(Usage(0, MILLION)) > sent
    assert cost(Usage(MILLION, MILLION)) == pytest.approx(sent + cost(Usage(0, MILLION)))
    assert cost(Usage()) == 0


def test_a_batch_costs_half() -> None:
    """Of everything: what is sent, cached and received."""
    usage = Usage(5_000, 700, cached_tokens=3_000, written_tokens=500)
    assert cost(usage, batch=True) == pytest.approx(BATCH_SHARE * cost(usage)) == pytest.approx(cost(usage) / 2)


def test_what_a_backend_says_itself_counts() -> None:
    """The program knows its owner's prices better than a table does."""
    assert rates("claude").cost(Usage(MILLION, MILLION, cost_usd=0.25), HAIKU) == 0.25
    assert Rates().cost(Usage(cost_usd=0.0), "") == 0.0


@pytest.mark.parametrize(
    ("backend", "address", "model"),
    [
        ("mock", "", "mock"),
        ("handoff", "", HAIKU),
        ("openai", "http://127.0.0.1:8080/v1", "gpt-4o"),
        ("openai", "http://localhost/v1", "gpt-4o"),
        ("openai", "https://models.example.invalid/v1", "gpt-4o"),
        ("anthropic", "", "a-model-nobody-sells"),
        ("claude", "", "sonnet"),
        ("anthropic", "", ""),
    ],
)
def test_an_unknown_price_is_none_and_never_zero(backend: str, address: str, model: str) -> None:
    """A server on this machine, one that nobody lists, a model that is not in the table, a name that is none."""
    assert rates(backend, address).cost(Usage(1_000, 1_000), model) is None


def test_an_impossible_usage_has_no_price() -> None:
    """More was read from a cache than was sent."""
    assert rates("anthropic").cost(Usage(10, 1, cached_tokens=20), HAIKU) is None
    assert rates("anthropic").cost(Usage(-10, 1), HAIKU) is None


def test_what_a_backend_tells_afterwards_is_taken_for_the_dearest_before() -> None:
    """An alias stands for one of the models of its name; of another name nobody knows even that."""
    most = Usage(MILLION, MILLION)
    for alias, dearest in (("sonnet", "claude-sonnet-4-5"), ("Opus[1m]", "claude-opus-4-1")):
        assert rates("claude").at_most(most, alias) == cost(most, dearest)
    assert (rates("claude").at_most(most, "haiku") or 0) >= cost(most)
    assert rates("claude").at_most(most, "the-best-there-is") == cost(most, "claude-opus-4-1")
    assert rates("claude").at_most(most, HAIKU) == cost(most)
    assert rates("claude", "http://127.0.0.1:1").at_most(most, "sonnet") == cost(most, "claude-sonnet-4-5")
    assert rates("anthropic").at_most(most, "sonnet") is None


def test_an_address_decides_whose_prices_they_are() -> None:
    """The same client speaks to many."""
    usage = Usage(MILLION, MILLION)
    own = rates("openai").cost(usage, "gpt-4o")
    assert own is not None
    assert rates("openai", "https://api.openai.com/v1").cost(usage, "gpt-4o") == own
    assert rates("openai", "https://api.deepseek.com").cost(usage, "deepseek-chat") is not None
    assert rates("openai", "https://api.deepseek.com").cost(usage, "gpt-4o") is None
    assert set(PROVIDERS) == {"anthropic", "azure_openai", "claude", "openai"}
    assert rates("azure_openai", "https://acme.openai.azure.com/").cost(usage, "gpt-4o") is not None


@given(st.integers(0, 10**7), st.integers(0, 10**6), st.integers(0, 10**6))
def test_more_never_costs_less(sent: int, received: int, more: int) -> None:
    """So that a limit reserved by the most that a call can take is kept."""
    assert (
        cost(Usage(sent, received)) <= cost(Usage(sent + more, received)) <= cost(Usage(sent + more, received + more))
    )


def test_the_table_is_named_and_dated() -> None:
    """By the package's version, and the day from which its newest price in force holds."""
    told = source(date(2026, 11, 30))
    assert told.startswith(f"genai-prices {version('genai-prices')}, newest price of 2026-")
    day = re.search(r"\d{4}-\d\d-\d\d", told)
    assert day is not None
    assert date.fromisoformat(day[0]) <= date(2026, 11, 30)
    assert source(date(2000, 1, 1)) == f"genai-prices {version('genai-prices')}"
    assert source().startswith("genai-prices ")
