"""What the doors to models share: what a refusal means, and what failures used."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.doors import (
    LONGEST_ANSWER,
    MESSAGE_LIMIT,
    both,
    counted,
    failed,
    header_values,
    keeping_back,
    remedy,
    shown,
    sound,
    with_lost,
)
from skillopt_git.ports import CallFailed, FailureKind, Reply, Usage

ONE = Usage(10, 5, cost_usd=0.5, cached_tokens=2, written_tokens=1, batched=True)


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 9216. This model supports at most 4096 completion tokens",
        "max_tokens: 9216 > 8192, which is the maximum allowed number of output tokens for model",
        "'temperature' is too large",
        "Invalid schema: string too long",
        "Invalid 'metadata.name': string too long. Expected a string with maximum length 64",
        "This model does not support safety settings",
        "Unknown parameter: 'safety_identifier'",
        "Unsupported value: 'temperature'",
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_what_is_wrong_with_a_setting_is_wrong_with_every_request(status: int, message: str) -> None:
    """A run of refused requests would look like one of hard tasks."""
    assert failed(status, message, redact=str).kind == "process"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("prompt is too long: 250000 tokens > 200000 maximum", "invalid_request_error"),
        ("Your input exceeds the limit", "context_length_exceeded"),
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", ""),
        ("the request exceeds the available context size", ""),
        ("input length and `max_tokens` exceed context limit", "context window"),
        ("Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576", ""),
        ("Request too large for this model", ""),
        ("The request body is too large", ""),
        ("Range of input length should be [1, 30720]", ""),
        ("Output blocked by content filtering policy", ""),
        ("The response was filtered due to the prompt triggering Azure's content management policy", ""),
        ("Your request was rejected as a result of our safety system", ""),
        ("Your prompt was flagged as potentially violating our usage policy", "invalid_prompt"),
        ("Input data may contain inappropriate content.", ""),
    ],
)
def test_what_is_wrong_with_one_request_ends_no_run(message: str, code: str) -> None:
    """Others are answered."""
    assert failed(400, message, code=code, redact=str).kind == "refused"


def test_a_403_may_mean_one_request() -> None:
    """Some gateways moderate so. Whoever is shut out altogether is told of policies, too."""
    for said in ("Your chosen model requires moderation", "Your input was flagged", "blocked by the content filter"):
        assert failed(403, said, redact=str).kind == "refused"
    for said in ("Your account was disabled for violating our usage policies", "Country not supported"):
        assert failed(403, said, redact=str).kind == "auth"


def test_a_body_that_is_too_large_is_that_of_one_request() -> None:
    """Whatever is said of it."""
    assert failed(413, "no", redact=str).kind == "refused"


def test_the_system_s_number_of_an_error_is_left_out() -> None:
    """Its words say the same."""
    assert (
        failed(None, "127.0.0.1: [Errno 111] Connection refused", redact=str).message == "127.0.0.1: Connection refused"
    )
    assert failed(None, "[Errno -2] Name or service not known", redact=str).message == "Name or service not known"


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("auth", "key"),
        ("quota", "top up"),
        ("rate", "replay.jobs"),
        ("network", "replay.base_url"),
        ("timeout", "replay.timeout"),
        ("process", "replay.model"),
        ("schema", "skillopt-git doctor"),
    ],
)
def test_each_failure_that_ends_a_run_says_what_can_be_done(kind: FailureKind, word: str) -> None:
    """Also one for which nothing better is known."""
    assert word in remedy(kind)


def test_what_tries_used_is_added_up() -> None:
    """What nobody counted is not known to be nothing; a price is known where both are, and that of a batch holds where
    all was batched."""
    assert counted(Usage()) is None
    assert counted(Usage(cost_usd=0.5)) == Usage(cost_usd=0.5)
    assert both(None, None) is None
    assert both(ONE, None) == both(None, ONE) == ONE
    assert both(ONE, ONE) == Usage(20, 10, cost_usd=1.0, cached_tokens=4, written_tokens=2, batched=True)
    assert both(ONE, Usage(1)) == Usage(11, 5, cached_tokens=2, written_tokens=1)
    assert with_lost(Reply(text="OK"), None) == Reply(text="OK")
    assert with_lost(Reply(text="OK", usage=Usage(1)), Usage(2)) == Reply(text="OK", usage=Usage(3))
    assert with_lost(CallFailed("empty", "no"), ONE) == CallFailed("empty", "no", usage=ONE)


def test_of_a_large_page_the_beginning_is_looked_at() -> None:
    """To look for secrets in all of it takes seconds a megabyte, in which nobody else gets on."""
    looked: list[int] = []

    def redact(text: str) -> str:
        looked.append(len(text))
        return text

    assert len(failed(500, "no such page " * 10**6, redact=redact).message) == MESSAGE_LIMIT
    assert max(looked) <= 8_000
    assert failed(500, "x" * 10**6, redact=redact).message == "status 500"  # it may be half of anything


@given(st.integers(7_900, 8_050), st.sampled_from(["", "y" * 5]))
def test_no_half_of_a_key_is_shown(before: int, after: str) -> None:
    """Where what is looked at ends in one, also if all before it is taken out."""
    key = "Zx9Kq2Lm7Rt4Zx9Kq2Lm7Rt4"
    said = f"{'x' * (before - 1)} {key}{after} the end " * 2
    told = shown(said, redact=lambda text: text.replace("x", ""), secrets=[key])
    assert not any(key[:size] in told for size in range(3, len(key)))


def test_a_key_that_is_part_of_another_leaves_nothing_of_it() -> None:
    """Whichever was named first."""
    assert shown("no abcdefgh-extra", redact=str, secrets=["abcdefgh", "abcdefgh-extra", ""]) == "no [key]"


def test_an_answer_that_is_longer_than_any_is_none() -> None:
    """It would be looked through for secrets, scored and kept; and so would be a model's name."""
    assert sound(Reply(text="x" * LONGEST_ANSWER, model="m")) == Reply(text="x" * LONGEST_ANSWER, model="m")
    found = sound(Reply(text="x" * (LONGEST_ANSWER + 1), usage=ONE))
    assert found == CallFailed("schema", "what came is no answer of a model: 1,000,001 characters", usage=ONE)
    assert sound(Reply(text="OK", model="a\nb " * 100)) == Reply(text="OK", model=("a b " * 100)[:200])


@pytest.mark.parametrize("ends", [False, True])
def test_a_variable_is_kept_back_for_as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch, ends: bool) -> None:
    """However that ends; where there is none none is made."""
    monkeypatch.setenv("X_HEADERS", "x-key: secret")
    try:
        with keeping_back("X_HEADERS", back=True), keeping_back("X_NONE", back=True):
            assert "X_HEADERS" not in os.environ
            if ends:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert (os.environ["X_HEADERS"], "X_NONE" in os.environ) == ("x-key: secret", False)
    with keeping_back("X_HEADERS", back=False):
        assert "X_HEADERS" in os.environ


def test_the_values_of_headers() -> None:
    """A line without one has none."""
    assert header_values("x-key: a:b\nx-other:c\nnothing") == ("a:b", "c", "")
