"""Claude by its API: the provider's own client, over a real connection to a server on this machine."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git import cli
from skillopt_git.backends.anthropic import ABOUT, Claude, answer_of, door
from skillopt_git.backends.anthropic_client import LARGEST, Line
from skillopt_git.backends.budgeted import Budgeted
from skillopt_git.backends.pooled import Pooled
from skillopt_git.config import Budget, Replay
from skillopt_git.doors import PROBE, Asked, probe
from skillopt_git.errors import ConfigError
from skillopt_git.ids import canonical_json
from skillopt_git.ports import Backend, CallFailed, Reply, Request, Role, Usage
from skillopt_git.prices import Rates
from skillopt_git.prompts import SHIPPED, Prompts
from skillopt_git.purse import Purse
from skillopt_git.redact import Redactor
from tests.helpers import Repository
from tests.modelserver import BATCHES, Broken, Given, ModelServer, Raw, Said, error, saying, serving, tokens
from tests.modelserver import Asked as Call
from tests.nights import PNPM, sessions, taught
from tests.nights import RULE as WISH

SECRET = "Zx9Kq2Lm7Rt4" * 3  # of no form that is known: it must be hidden all the same
RULE = "Use pnpm, never npm"
DOCUMENTS = ((".claude/skills/learned/SKILL.md", f"# Learned\n\n- {RULE}\n"),)
ROLLOUT = Request(role="target", purpose="rollout", ask="Add lodash", context="Earlier", documents=DOCUMENTS)
REFLECT = Request(role="optimizer", purpose="reflect", ask="What rule is missing?")
EDITS = {"type": "object", "properties": {"edits": {"type": "array", "items": {"type": "string", "maxLength": 80}}}}


def asked(
    url: str,
    state: Path,
    *,
    role: Role = "target",
    model: str = "claude-model-1",
    key_env: str = "",
    environ: Mapping[str, str] | None = None,
    prompts: Prompts = SHIPPED,
    **replay: Any,
) -> Asked:
    settings: dict[str, Any] = {"backend": "anthropic", "retries": 0, "timeout": 5.0} | replay
    return Asked(
        role=role,
        model=model,
        base_url=url,
        key_env=key_env,
        replay=Replay(**settings),
        environ={"ANTHROPIC_API_KEY": SECRET} if environ is None else environ,
        state=state,
        redact=Redactor(b"key"),
        prompts=prompts,
    )


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library waits before it tries again; here not for long."""
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.01)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving() as found:
        yield found


@pytest.fixture
def opened(server: ModelServer, tmp_path: Path) -> Callable[..., Backend]:
    def open_(**more: Any) -> Backend:
        return door(asked(server.url, tmp_path / "anthropic", **more)).backend

    return open_


def one(backend: Backend, request: Request = ROLLOUT) -> Reply | CallFailed:
    (result,) = backend.complete([request])
    return result


def failure(backend: Backend, request: Request = ROLLOUT) -> CallFailed:
    """Of the call; the key is in nothing that can be shown."""
    result = one(backend, request)
    assert isinstance(result, CallFailed), result
    assert SECRET not in f"{result!r} {backend!r}"
    return result


# --- what is sent ------------------------------------------------------------------------------------------------


def test_the_documents_reach_the_model_and_the_users_own_files_do_not(
    server: ModelServer, opened: Callable[..., Backend], isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The candidate's text is the system text, whole; what lies around is not read."""
    (isolated / ".claude").mkdir()
    for file in (isolated / ".claude" / "CLAUDE.md", isolated / "CLAUDE.md", isolated / "AGENTS.md"):
        file.write_text("Speak like a pirate\n")
    monkeypatch.chdir(isolated)

    reply = one(opened())

    (call,) = server.asked
    assert reply == Reply(text="OK", usage=Usage(sent(call), output_tokens=1), model="claude-model-1")
    assert DOCUMENTS[0][0] in call.system
    assert DOCUMENTS[0][1] in call.system
    assert call.user == "Earlier\n\nAdd lodash"
    assert "pirate" not in call.text
    assert call.body["max_tokens"] == 1024
    assert call.body.keys() == {"model", "max_tokens", "messages", "system"}
    assert call.headers["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in call.text


def test_what_the_documents_share_is_marked_for_the_cache(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """Tasks under the same documents share the whole system text; what was written and read is told, as part of all."""
    long = Request(role="target", purpose="rollout", ask="One", documents=(("CLAUDE.md", "Be brief.\n" * 800),))
    backend = opened()

    first, second = backend.complete([long, Request(**{**fields(long), "ask": "Two"})])

    assert [call.body["system"] for call in server.asked] == [server.asked[0].body["system"]] * 2
    assert server.asked[0].body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert (first.usage.cached_tokens, second.usage.written_tokens) == (0, 0)
    assert first.usage.written_tokens == second.usage.cached_tokens > 1024
    assert first.usage.input_tokens == second.usage.input_tokens > first.usage.written_tokens


def fields(request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in Request.__dataclass_fields__}


def test_the_optimizers_question_says_everything_itself(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """No system text, and never the target's temperature."""
    one(opened(temperature=0.5), REFLECT)
    assert server.asked[0].body["messages"] == [{"role": "user", "content": "What rule is missing?"}]
    assert server.asked[0].body.keys() == {"model", "max_tokens", "messages"}


@pytest.mark.parametrize(
    ("temperature", "sent"), [(-1.0, {}), (0.0, {"temperature": 0.0}), (0.5, {"temperature": 0.5})]
)
def test_a_temperature_is_sent_where_one_is_set(
    server: ModelServer, opened: Callable[..., Backend], temperature: float, sent: dict[str, float]
) -> None:
    """Answers depend on it, so a trial does."""
    backend = opened(temperature=temperature)
    one(backend)
    assert {name: value for name, value in server.asked[0].body.items() if name == "temperature"} == sent
    assert backend.settings == sent | {"host": "127.0.0.1"}
    assert "temperature" not in opened(temperature=temperature, role="optimizer").settings


def test_tools_are_offered_and_what_was_called_is_told(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """In order, by the names that were asked for, also where the API does not allow such a name."""
    server.script = saying(Said(text="Now", tools=(("Bash", {"command": "ls"}), ("mcp_files_read", {}), ("Bash", {}))))
    tools = ("Bash", "mcp:files.read", "Bash")

    reply = one(opened(), Request(role="target", purpose="rollout", ask="List", tools=tools))

    assert isinstance(reply, Reply)
    assert (reply.text, reply.tools) == ("Now", ("Bash", "mcp:files.read", "Bash"))
    assert server.asked[0].body["tools"] == [
        {"name": "Bash", "input_schema": {"type": "object"}},
        {"name": "mcp_files_read", "input_schema": {"type": "object"}},
    ]


def test_a_call_without_words_is_an_answer(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """A tool that was called is what the check asks for."""
    server.script = saying(Said(tools=(("Bash", {}),)))
    reply = one(opened(), Request(role="target", purpose="rollout", ask="List", tools=("Bash",)))
    assert isinstance(reply, Reply)
    assert reply.tools == ("Bash",)


def test_half_a_character_does_not_keep_a_question_back(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """It cannot be sent, and is not what the question is about."""
    assert isinstance(one(opened(), Request(role="target", purpose="rollout", ask="Add \ud83d lodash")), Reply)
    assert server.asked[0].user == "Add ? lodash"


def test_a_repositorys_own_prompt_is_used(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """Instead of the shipped one."""
    one(opened(prompts=Prompts({"attempt": "Own words: {{ documents[0].text }}"})))
    assert server.asked[0].system.startswith("Own words: # Learned")


# --- structured output -------------------------------------------------------------------------------------------


def schemed(schema: Mapping[str, Any] = EDITS) -> Request:
    return Request(role="optimizer", purpose="reflect", ask="What rule?", schema=canonical_json(schema))


def test_a_schema_is_told_to_the_api(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """In the dialect that it takes: what it has no word for becomes a description."""
    one(opened(), schemed())
    told = server.asked[0].body["output_config"]["format"]
    assert told["type"] == "json_schema"
    assert told["schema"]["additionalProperties"] is False
    assert told["schema"]["properties"]["edits"]["items"] == {"type": "string", "description": "{maxLength: 80}"}


def test_a_model_that_refuses_a_schema_is_asked_without_and_that_is_remembered(
    server: ModelServer, opened: Callable[..., Backend]
) -> None:
    """Whoever asked checks the answer all the same."""

    def script(call: Any) -> Given:
        words = "output_config.format: this model does not support structured outputs"
        return error(400, "invalid_request_error", words) if "output_config" in call.body else Said(text="{}")

    server.script = script
    backend = opened()
    assert isinstance(one(backend, schemed()), Reply)
    assert isinstance(one(backend, schemed()), Reply)
    assert ["output_config" in call.body for call in server.asked] == [True, False, False]


def test_a_schema_that_cannot_be_said_is_left_out(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """One without a type, say."""
    one(opened(), schemed({"not": {}}))
    assert "output_config" not in server.asked[0].body


# --- models that think -------------------------------------------------------------------------------------------


def test_a_model_that_thinks_gets_room_for_it(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """Once its thoughts used up the answer's room, it is asked again; what that cost is told. From then on it has
    room at once."""

    def script(call: Any) -> Given:
        whole = call.body["max_tokens"] > 1024
        return Said(thinking="Hm", text="Use pnpm" if whole else "", stop="" if whole else "max_tokens")

    server.script = script
    backend = opened()
    first, second = one(backend), one(backend)

    assert [call.body["max_tokens"] for call in server.asked] == [1024, 9216, 9216]
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert (first.text, first.usage.input_tokens) == ("Use pnpm", 2 * second.usage.input_tokens)


@pytest.mark.parametrize(
    ("model", "room"),
    [("claude-sonnet-5-5", True), ("claude-opus-5", True), ("claude-opus-4-8", False), ("claude-haiku-4-5", False)],
)
def test_some_models_are_known_to_think(
    server: ModelServer, opened: Callable[..., Backend], model: str, *, room: bool
) -> None:
    """So that a night does not begin with answers that were cut off."""
    one(opened(model=model))
    assert (server.asked[0].body["max_tokens"] > 1024) == room


def test_an_answer_that_is_cut_off_with_room_stays_cut_off(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """Asked twice, not for ever."""
    server.script = saying(Said(thinking="Hm", text="Half", stop="max_tokens"))
    found = failure(opened())
    assert found.kind == "truncated"
    assert len(server.asked) == 2
    assert found.usage == Usage(2 * sent(server.asked[0]), output_tokens=2)


def sent(call: Call) -> int:
    """The tokens of what was sent."""
    return sum(tokens(call.body.get(part, [])) for part in ("system", "messages", "tools"))


@pytest.mark.parametrize(
    ("ended", "kind"),
    [
        *dict.fromkeys(("end_turn", "stop_sequence", "tool_use"), "").items(),
        *dict.fromkeys((None, "pause_turn", "compaction", "new"), "truncated").items(),
        *dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "truncated").items(),
        ("refusal", "refused"),
    ],
)
def test_only_an_answer_that_ended_as_one_counts(
    server: ModelServer, opened: Callable[..., Backend], ended: str | None, kind: str
) -> None:
    """Half an answer would be scored as the whole. What it used is told all the same."""
    counted = {"input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": 5}
    told = server.message(Said(text="Half of it"), {}) | {"stop_reason": ended, "usage": counted}
    server.script = saying(Raw(200, told))
    result = one(opened())
    assert (result.kind if isinstance(result, CallFailed) else "") == kind
    assert result.usage == Usage(15, 3, cached_tokens=5)


def test_no_count_is_below_nothing(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """Whatever a server says: a purse would be given money."""
    counted = {"input_tokens": -10, "output_tokens": -3, "cache_creation_input_tokens": -1}
    server.script = saying(Raw(200, server.message(Said(text="Here"), {}) | {"usage": counted}))
    assert one(opened()).usage == Usage()


# --- failures ----------------------------------------------------------------------------------------------------


SPENT = {
    "error": {
        "type": "rate_limit_error",
        "message": "limit reached",
        "details": {"error_code": "enforced_spend_limit_reached"},
    }
}


def refusal(status: int, type_: str, message: str) -> Raw:
    return error(status, type_, f"{message} {SECRET}")


@pytest.mark.parametrize(
    ("said", "kind", "retryable", "words"),
    [
        (refusal(401, "authentication_error", "invalid x-api-key"), "auth", False, "invalid x-api-key [key]"),
        (refusal(403, "permission_error", "not allowed"), "auth", False, "permission_error: not allowed"),
        (refusal(402, "billing_error", "pay"), "quota", False, "pay"),
        (refusal(400, "invalid_request_error", "Your credit balance is too low"), "quota", False, "too low"),
        (refusal(404, "not_found_error", "model: claude-nosuch"), "process", False, "not_found_error: model: claude-"),
        (refusal(400, "invalid_request_error", "temperature: not supported"), "process", False, "temperature"),
        (refusal(400, "invalid_request_error", "prompt is too long: 250000"), "refused", False, "too long"),
        (refusal(413, "request_too_large", "Request exceeds the size"), "refused", False, "exceeds"),
        (refusal(400, "invalid_request_error", "blocked by content filtering policy"), "refused", False, "blocked"),
        (Raw(429, SPENT), "quota", False, "rate_limit_error: limit reached"),
        (refusal(429, "rate_limit_error", "slow down"), "rate", True, "slow down"),
        (refusal(500, "api_error", "Internal server error"), "network", True, "Internal"),
        (refusal(503, "api_error", "Unavailable"), "network", True, "Unavailable"),
        (refusal(504, "timeout_error", "Gateway"), "timeout", True, "Gateway"),
        (refusal(529, "overloaded_error", "Overloaded"), "rate", True, "overloaded_error: Overloaded"),
        (Raw(502, "<html>Bad gateway</html>"), "network", True, "Bad gateway"),
        (Raw(500, b"\xff\xfe\x00"), "network", True, ""),
        (Raw(400, {"error": {"type": 7, "message": ["no", "words"]}}), "process", False, "no"),
        (Raw(429, {}), "rate", True, ""),
        (Said(text="", stop="refusal"), "refused", False, "refused"),
        (Said(text="Half of", stop="max_tokens"), "truncated", False, "cut off after 2 tokens"),
        (Said(text="Half of", stop="model_context_window_exceeded"), "truncated", False, "cut off"),
        (Said(text=" \n"), "empty", False, "without a word"),
        (Said(), "empty", False, "without a word"),
        (Raw(200, "Welcome to the guest network"), "schema", False, "not valid"),
        (Raw(200, "{", {"content-type": "application/json"}), "schema", False, "not valid"),
        (Raw(200, b'{"model": "\xff\xfe"}', {"content-type": "application/json"}), "schema", False, "not valid"),
        (Raw(200, {"type": "message", "content": "text"}), "schema", False, "content"),
        (Raw(200, None), "schema", False, "not valid"),
        (Broken("reset"), "network", True, "Connection error"),
        (Broken("half"), "network", True, "Connection error"),
        (Broken("hang"), "network", True, "Connection error"),
    ],
)
def test_each_failure_is_what_it_is(
    server: ModelServer, opened: Callable[..., Backend], said: Given, kind: str, words: str, *, retryable: bool
) -> None:
    """In the provider's words, without the key; never an answer."""
    server.script = saying(said)
    found = failure(opened())
    assert (found.kind, found.retryable) == (kind, retryable)
    assert words in found.message
    assert len(found.message) <= 300
    assert said != Broken("half") or found.usage == Usage()  # a model worked, and nobody knows how much
    assert len(server.asked) == 1


def test_what_opens_the_server_is_in_no_text(server: ModelServer, tmp_path: Path) -> None:
    """Be it a password in its address, or a header of the environment."""
    environ = {"ANTHROPIC_API_KEY": SECRET, "ANTHROPIC_CUSTOM_HEADERS": "x-key: header-secret"}
    address = server.url.replace("//", "//alice:correct-horse@")
    backend = door(asked(address, tmp_path, environ=environ)).backend
    server.script = saying(refusal(401, "authentication_error", "no correct-horse, no header-secret"))
    assert failure(backend).message == "authentication_error: no [key], no [key] [key]"


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("ours", [True, False])
def test_headers_of_the_environment_go_with_its_address_alone(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ours: bool, batch: bool
) -> None:
    """A key for another server may be among them."""
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-key: header-secret")
    environ = {"ANTHROPIC_API_KEY": SECRET} | ({} if ours else {"ANTHROPIC_BASE_URL": server.url})
    backend = door(asked(server.url if ours else "", tmp_path, environ=environ, batch=batch)).backend
    assert all(isinstance(item, Reply) for item in backend.complete([ROLLOUT, ROLLOUT]))
    assert {call.headers.get("x-key") for call in server.requests} == {None if ours else "header-secret"}


def test_more_than_any_answer_is_none(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """It would be looked through for secrets, which takes seconds a megabyte; so would its reasons."""
    server.script = saying(Said(text="word " * 200_001))
    found = failure(opened())
    assert (found.kind, found.message) == ("schema", "what came is no answer of a model: 1,000,005 characters")
    assert found.usage is not None
    told = server.message(Said(stop="refusal"), {}) | {"stop_details": {"explanation": "No. " * 10**6}}
    server.script = saying(Raw(200, told))
    assert len(failure(opened()).message) == 300


def test_the_reason_of_a_refusal_is_told(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """Where the provider gives one."""
    told = server.message(Said(stop="refusal"), {}) | {
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": f"It could harm {SECRET}."}
    }
    server.script = saying(Raw(200, told))
    assert failure(opened()) == CallFailed("refused", "It could harm [key].", usage=Usage(3))


@pytest.mark.parametrize("status", [429, 500, 529])
@pytest.mark.parametrize("headers", [{}, {"retry-after": "0"}, {"retry-after-ms": "1"}])
def test_what_may_succeed_later_is_tried_again(
    server: ModelServer, opened: Callable[..., Backend], status: int, headers: dict[str, str]
) -> None:
    """As often as the settings say."""
    server.script = saying(error(status, "rate_limit_error", "wait", headers), "Here")
    reply = one(opened(retries=1))
    assert isinstance(reply, Reply)
    assert reply.text == "Here"
    assert len(server.asked) == 2


@pytest.mark.parametrize("said", [Broken("reset"), Broken("half")])
def test_what_broke_on_the_way_is_asked_again(
    server: ModelServer, opened: Callable[..., Backend], said: Broken
) -> None:
    """Also where half of the answer had come."""
    server.script = saying(said, "Here")
    assert isinstance(one(opened(retries=1)), Reply)


@pytest.mark.parametrize("wait", ["86400", "Fri, 31 Dec 2100 23:59:59 GMT", "inf"])
def test_a_server_that_wants_a_days_patience_does_not_get_it(
    server: ModelServer, opened: Callable[..., Backend], wait: str
) -> None:
    """The library would sleep; the night is told instead."""
    server.script = saying(error(429, "rate_limit_error", "come tomorrow", {"retry-after": wait}))
    began = time.monotonic()
    assert failure(opened(retries=3)).message == "rate_limit_error: come tomorrow"
    assert (len(server.asked), time.monotonic() - began < 5) == (1, True)


def test_what_is_said_to_this_machine_goes_through_no_proxy(
    server: ModelServer, opened: Callable[..., Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy of the environment would hear key and documents in the clear."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        assert isinstance(one(opened()), Reply)
        assert (len(server.asked), proxy.requests) == (1, [])


def test_a_nonsense_wait_is_none(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """The library's own waits hold."""
    server.script = saying(error(429, "rate_limit_error", "wait", {"retry-after": "soon"}), "Here")
    assert isinstance(one(opened(retries=1)), Reply)


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_keeps_silent_or_drips_is_left(
    server: ModelServer, opened: Callable[..., Backend], *, stream: bool
) -> None:
    """After `replay.timeout`, however it passes the time."""
    server.script = saying(Broken("drip", 30.0) if stream else Broken("hang", 30.0))
    began = time.monotonic()
    found = failure(opened(timeout=0.3))
    assert (found.kind, found.retryable) == ("timeout", True)
    assert "within 0.3 s (replay.timeout)" in found.message
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("said", [Broken("hang", 30.0), error(504, "timeout_error", "Gateway"), Raw(408, "")])
def test_a_time_out_is_not_asked_again_behind_the_purses_back(
    server: ModelServer, opened: Callable[..., Backend], said: Given
) -> None:
    """A model may have worked all that time. With a purse it is asked again, each time with room for it."""
    server.script = saying(said, said, "Here")
    backend = opened(timeout=0.3, retries=2)
    assert failure(backend).kind == "timeout"
    assert len(server.asked) == 1
    paid = Budgeted(inner=backend, purse=Purse(Budget()), rates=Rates(), attempts=3, again=2)
    assert isinstance(one(paid), Reply)
    assert len(server.asked) == 3


def test_an_answer_that_is_too_large_is_not_read_to_its_end(
    server: ModelServer, opened: Callable[..., Backend]
) -> None:
    """Nor asked for again: it would be no smaller. Packed, it is small on its way."""
    packed = gzip.compress(b" " * (LARGEST + 1))
    server.script = saying(Raw(200, packed, {"content-type": "application/json", "content-encoding": "gzip"}))
    assert failure(opened(retries=2, timeout=60.0)) == CallFailed("refused", f"more than {LARGEST:,} bytes came")
    assert len(server.asked) == 1


def test_a_packed_answer_is_read(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """As any other."""
    packed = gzip.compress(json.dumps(server.message(Said(text="Here"), {})).encode())
    server.script = saying(Raw(200, packed, {"content-type": "application/json", "content-encoding": "gzip"}))
    assert isinstance(one(opened()), Reply)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(opened: Callable[..., Backend], server: ModelServer, status: int) -> None:
    """What is asked goes to nobody else, and the run is told where it was sent."""
    with serving() as elsewhere:
        server.script = saying(Raw(status, "", {"location": f"{elsewhere.url}/v1/messages"}))
        found = failure(opened(retries=2))
        assert elsewhere.requests == []
    assert found.kind == "process"
    assert found.message == (
        f"the server points to {elsewhere.url}/v1/messages, which is not followed: replay.base_url says where it is"
    )


def test_nobody_there(tmp_path: Path) -> None:
    """The network's own words."""
    with serving() as gone:
        pass
    found = failure(door(asked(gone.url, tmp_path)).backend)
    assert (found.kind, found.retryable) == ("network", True)
    assert "refused" in found.message


# --- the door ----------------------------------------------------------------------------------------------------


def test_without_a_key_nothing_is_asked_and_the_probe_says_what_to_set(
    server: ModelServer, opened: Callable[..., Backend]
) -> None:
    """One failure a call."""
    backend = opened(environ={})
    assert probe(backend, "target", "x") == CallFailed(
        "auth", "there is no key: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) in the environment of the run"
    )
    assert len(backend.complete([ROLLOUT, ROLLOUT])) == 2
    assert "set ACME_KEY" in failure(opened(key_env="ACME_KEY")).message
    assert server.requests == []


@pytest.mark.parametrize("key", [f"{SECRET}\nx", f"{SECRET} x", f"{SECRET}é"])
def test_what_is_no_key_is_neither_sent_nor_shown(
    server: ModelServer, opened: Callable[..., Backend], key: str
) -> None:
    """A header with it would be refused in words that quote it."""
    found = failure(opened(environ={"ANTHROPIC_API_KEY": key}))
    assert (found.kind, server.requests) == ("auth", [])


@pytest.mark.parametrize(
    ("environ", "key_env", "value"),
    [
        ({"ANTHROPIC_API_KEY": "k1 ", "ANTHROPIC_AUTH_TOKEN": "t1"}, "", "k1"),
        ({"ANTHROPIC_AUTH_TOKEN": "t1"}, "", "t1"),
        ({"ANTHROPIC_API_KEY": "k1", "ACME_KEY": "k2"}, "ACME_KEY", "k2"),
        ({"ANTHROPIC_API_KEY": "k1", "ANTHROPIC_AUTH_TOKEN": "t1"}, "ANTHROPIC_AUTH_TOKEN", "t1"),
    ],
)
def test_the_key_comes_from_the_environment(
    server: ModelServer,
    opened: Callable[..., Backend],
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    key_env: str,
    value: str,
) -> None:
    """Of the run, and from nowhere else; one header holds it. A token is told to the library as one."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another")
    backend = opened(environ=environ, key_env=key_env)
    one(backend)
    assert server.asked[0].headers["authorization"] == f"Bearer {value}"
    assert "another" not in str(server.asked[0].headers)
    assert isinstance(backend, Claude)
    assert isinstance(backend.line, Line)
    assert (backend.line.sdk.auth_token or backend.line.sdk.api_key) == value
    assert (backend.line.sdk.auth_token == value) == value.startswith("t")


def test_where_the_server_is(server: ModelServer, tmp_path: Path) -> None:
    """By the settings, else by the environment, else the usual one; answers depend on which."""
    environ = {"ANTHROPIC_API_KEY": SECRET, "ANTHROPIC_BASE_URL": server.url}
    backend = door(asked("", tmp_path, environ=environ)).backend
    assert isinstance(one(backend), Reply)
    assert backend.settings == {"host": "127.0.0.1"}
    usual = door(asked("", tmp_path, model="")).backend
    assert (usual.settings, usual.model, usual.deterministic) == ({}, ABOUT.model, False)
    for wrong in ("localhost:8000", "ftp://alice:secret@models.acme.example", "https://", "models.example/?key=secret"):
        with pytest.raises(ConfigError, match=r"replay\.base_url is no address") as caught:
            door(asked(wrong, tmp_path))
        assert "secret" not in f"{caught.value} {caught.value.hint}"
    with pytest.raises(ConfigError, match="ANTHROPIC_BASE_URL is no address"):
        door(asked("", tmp_path, environ={"ANTHROPIC_BASE_URL": "gateway"}))


def test_a_probe_is_one_small_call(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """A model that says nothing visible in so few tokens is there all the same."""
    assert probe(opened(), "target", "x") is None
    server.script = saying(Said(stop="max_tokens"))
    assert probe(opened(), "target", "x") is None
    server.script = saying(error(404, "not_found_error", "model: claude-model-1"))
    assert probe(opened(), "target", "x") == CallFailed("process", "not_found_error: model: claude-model-1")
    assert [call.body["max_tokens"] for call in server.asked] == [64, 64, 64]


def test_several_calls_are_under_way_at_once(server: ModelServer, opened: Callable[..., Backend]) -> None:
    """As many as `replay.jobs`, in the order of the questions."""
    server.latency = 0.1
    server.script = lambda call: Said(text=call.user)
    asks = [Request(role="target", purpose="rollout", ask=f"Ask {number}") for number in range(16)]

    replies = Pooled(inner=opened(), jobs=8).complete(asks)

    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [request.ask for request in asks]
    assert 4 <= server.most <= 8


@given(st.binary(max_size=50) | st.text(max_size=50).map(str.encode))
def test_any_body_is_an_answer_or_a_failure(body: bytes) -> None:
    """And raises nothing."""
    found = answer_of(body)
    assert isinstance(found, CallFailed)
    assert found.kind == "schema"


# --- a whole night -----------------------------------------------------------------------------------------------


def obedient(call: Call) -> Given:
    """A target that keeps to what it is told, and an optimizer that words the wish."""
    if call.system:
        return Said(text=f"Ran {'pnpm' if WISH in call.system else 'npm'} install.")
    if call.user == PROBE:
        return Said(text="OK")
    return Said(text=json.dumps({"edits": [{"op": "add", "text": WISH, "reason": "It was asked for."}]}))


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize("batch", [False, True])
def test_a_night(
    server: ModelServer,
    repo: Repository,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    batch: bool,
) -> None:
    """From sessions to a branch with the rule; the key is in nothing that is said or left."""
    server.script = obedient
    sessions(home, repo, PNPM)
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("SKILLOPT_REPLAY_BASE_URL", server.url)
    monkeypatch.setenv("SKILLOPT_REPLAY_SEND", "mined")
    monkeypatch.setenv("SKILLOPT_REPLAY_BATCH", "true" if batch else "false")
    words = ["run", "--backend", "anthropic", "--repo", str(repo.path), "--claude-home", str(home), "--quiet", "--json"]

    assert cli.run(words) == 0

    said = capsys.readouterr()
    record = json.loads(said.out)
    assert WISH in taught(repo, record["branch"])
    rollouts = [call for call in server.asked if call.system]
    batched = [item["params"] for sent in server.heard(BATCHES) for item in sent.body["requests"]]
    assert (rollouts == [], batched == []) == (batch, not batch)
    assert any(WISH in call.text for call in rollouts) or any(WISH in json.dumps(params) for params in batched)
    left = [path for path in repo.path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert left == []
    assert SECRET not in said.out + said.err


def test_a_night_whose_key_is_refused_ends_before_anything_is_spent(
    server: ModelServer,
    repo: Repository,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By one probe, in the provider's words."""
    server.script = saying(refusal(401, "authentication_error", "invalid x-api-key"))
    sessions(home, repo, PNPM)
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("SKILLOPT_REPLAY_BASE_URL", server.url)
    monkeypatch.setenv("SKILLOPT_REPLAY_SEND", "mined")

    assert cli.run(["run", "--backend", "anthropic", "--repo", str(repo.path), "--claude-home", str(home)]) != 0

    said = capsys.readouterr()
    assert "invalid x-api-key [key]" in said.err
    assert SECRET not in said.out + said.err
    assert [call.user for call in server.asked] == [PROBE]
