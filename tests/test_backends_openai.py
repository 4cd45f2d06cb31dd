"""OpenAI's models and those behind servers that speak as it does: the real client, over a real connection."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._models import FinalRequestOptions

from skillopt_git import doors, roles
from skillopt_git.backends import openai, openai_chat, openai_responses
from skillopt_git.backends import openai_words as words
from skillopt_git.backends.openai_calls import Calls
from skillopt_git.doors import Spoken
from skillopt_git.errors import BackendError, ConfigError, UsageError
from skillopt_git.ids import canonical_json
from skillopt_git.ports import Backend, CallFailed, Reply, Request, Usage
from skillopt_git.prompts import SHIPPED
from tests import learning
from tests.asking import DOCUMENTS, KEY, REQUEST, asked, one
from tests.openaiserver import MODEL, Answer, Broken, Heard, Raw, Said, Server, both_apis, refusal, serving

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"score": {"type": "number"}},
    "required": ["score"],
    "additionalProperties": False,
}
ASKING = Request(role="optimizer", purpose="judge", ask="How good is it?", schema=canonical_json(SCHEMA))
Api: TypeAlias = Literal["chat", "responses"]


Open: TypeAlias = Callable[..., tuple[Backend, Server]]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library waits before it tries again; here not for long."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)


@pytest.fixture
def opened() -> Iterator[Open]:
    """A backend and the server that answers it as listed; the settings are named."""
    with ExitStack() as stack:

        def open_(*answers: Answer, script: Callable[[Heard], Answer] | None = None, **settings: Any) -> Any:
            server = stack.enter_context(serving(*answers, script=script))
            backend = openai.door(asked(f"{server.address}/v1", **settings)).backend
            stack.callback(cast("Calls", backend).client.close)
            return backend, server

        yield open_


def failure(backend: Backend, request: Request = REQUEST) -> CallFailed:
    """What went wrong, and that no key is told with it."""
    result = one(backend, request)
    assert isinstance(result, CallFailed), result
    assert KEY not in repr(result)
    return result


# --- what is asked -----------------------------------------------------------------------------------------------


def test_a_document_reaches_the_model_by_chat(opened: Open) -> None:
    """The system message holds the documents, the user's turn the task, and nothing else is said."""
    backend, server = opened()

    assert isinstance(one(backend), Reply)
    (heard,) = server.heard
    assert heard.path == "/v1/chat/completions"
    assert heard.headers["authorization"] == f"Bearer {KEY}"
    system = doors.spoken(REQUEST, SHIPPED).system
    assert all(text in system for _, text in DOCUMENTS)
    assert heard.body == {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": "In the web package.\n\nAdd lodash"},
        ],
        "max_tokens": 1024,
    }


def test_a_document_reaches_the_model_by_responses(opened: Open) -> None:
    """The instructions hold the documents, and the server is asked to keep nothing."""
    backend, server = opened(api="responses")

    assert isinstance(one(backend), Reply)
    (heard,) = server.heard
    assert heard.path == "/v1/responses"
    assert heard.body == {
        "model": MODEL,
        "instructions": doors.spoken(REQUEST, SHIPPED).system,
        "input": "In the web package.\n\nAdd lodash",
        "max_output_tokens": 1024,
        "store": False,
    }


@both_apis
def test_the_users_own_files_stay_here(
    opened: Open, api: Api, isolated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memories and skills of the person who runs it, at home and in the folder, are not what is measured."""
    for folder in (isolated / ".claude", isolated / ".codex", tmp_path):
        folder.mkdir(exist_ok=True)
        for name in ("CLAUDE.md", "AGENTS.md", "SKILL.md"):
            (folder / name).write_text("the user's own words")
    monkeypatch.chdir(tmp_path)
    backend, server = opened(api=api)
    one(backend)

    assert "the user's own words" not in server.heard[0].text
    assert "Use pnpm, not npm" in server.heard[0].system


@both_apis
def test_what_the_optimizer_is_asked_says_everything_itself(opened: Open, api: Api) -> None:
    """No system message, and the target's temperature is not the optimizer's."""
    backend, server = opened(api=api, temperature=0.5)
    one(backend, Request(role="optimizer", purpose="reflect", ask="What would help?"))
    one(backend)

    assert (server.heard[0].system, server.heard[0].user) == ("", "What would help?")
    assert "temperature" not in server.heard[0].body
    assert server.heard[1].body["temperature"] == 0.5


def test_a_server_here_needs_no_key(opened: Open) -> None:
    """Ollama and the like get a word in its place."""
    backend, server = opened(environ={})
    one(backend)
    assert server.heard[0].headers["authorization"] == "Bearer none"


def test_the_key_is_the_named_variables(opened: Open) -> None:
    """`key_env` says where it is; the usual variable does not count then. A line's end is no part of it."""
    backend, server = opened(key_env="DEEPSEEK_API_KEY", environ={"DEEPSEEK_API_KEY": "other\n", "OPENAI_API_KEY": KEY})
    one(backend)
    assert server.heard[0].headers["authorization"] == "Bearer other"


def test_the_address_may_stand_in_the_environment() -> None:
    """As with the library's own variable; a setting comes first."""
    environ = {"OPENAI_BASE_URL": "https://models.example/v1", "OPENAI_API_KEY": KEY}
    assert openai.door(asked(environ=environ)).backend.settings["host"] == "models.example"
    assert openai.door(asked("http://localhost:1/v1", environ=environ)).backend.settings["host"] == "localhost"


@pytest.mark.parametrize(
    ("address", "api", "home"),
    [
        ("https://api.openai.com/v1", "responses", True),
        ("https://eu.api.openai.com/v1", "responses", True),
        ("https://acme.openai.azure.com/openai/v1", "responses", True),
        ("https://api.openai.com.example/v1", "chat", False),
        ("https://evil-openai.azure.com.example/v1", "chat", False),
        ("https://api.deepseek.example", "chat", False),
        ("http://[::1]:8000/v1", "chat", False),
    ],
)
def test_the_api_is_the_one_that_is_best_there(address: str, api: Api, home: bool) -> None:
    """Responses at OpenAI's and Azure's own hosts, Chat Completions elsewhere, and otherwise where it is said."""
    calls = cast("Calls", openai.door(asked(address)).backend)
    assert (calls.server.api, calls.server.at_home) == (api, home)
    other: Api = "chat" if api == "responses" else "responses"
    assert openai.door(asked(address, api=other)).backend.settings["api"] == other


def test_what_a_trial_depends_on_is_told() -> None:
    """API, temperature, and a host that is not the usual one, without what may open it. On this machine the port does
    not count: a server that is started anew has another one."""
    usual = openai.door(asked()).backend
    assert usual.settings == {"api": "responses"}
    assert (usual.name, usual.model, usual.deterministic, usual.simulated, usual.knows) == (
        "openai",
        MODEL,
        False,
        False,
        "",
    )
    other = openai.door(asked("https://alice:secret@models.example:8000/v1", temperature=0.0)).backend
    assert other.settings == {"api": "chat", "host": "models.example:8000", "temperature": 0.0}
    assert "secret" not in repr(other.settings)
    for port in (8080, 11434):
        assert openai.door(asked(f"http://127.0.0.1:{port}/v1")).backend.settings["host"] == "127.0.0.1"
    assert openai.door(asked(role="optimizer", temperature=0.5)).backend.settings == {"api": "responses"}


def test_no_key_is_in_what_is_shown_of_a_backend() -> None:
    """A traceback with its parts would tell nobody."""
    assert KEY not in repr(openai.door(asked()).backend)


@both_apis
def test_half_a_character_is_sent_as_a_question_mark(opened: Open, api: Api) -> None:
    """A transcript may hold one, and a request cannot."""
    backend, server = opened(api=api)
    assert isinstance(one(backend, Request(role="optimizer", purpose="mine", ask="so \ud83d it is")), Reply)
    assert server.heard[0].user == "so ? it is"


# --- what is answered --------------------------------------------------------------------------------------------


@both_apis
def test_an_answer_is_its_text_with_what_it_used(opened: Open, api: Api) -> None:
    """Each result in the place of its request; of what was sent, how much came from the provider's cache."""
    backend, _ = opened(Said("First."), Said("Second."), api=api)
    assert backend.complete([REQUEST, REQUEST]) == [
        Reply(text=text, usage=Usage(input_tokens=100, output_tokens=20, cached_tokens=64), model=MODEL)
        for text in ("First.", "Second.")
    ]


@both_apis
def test_tools_are_offered_and_their_calls_told_in_order(opened: Open, api: Api) -> None:
    """A call alone is an answer. A name that the API does not allow is found again."""
    request = Request(role="target", purpose="rollout", ask="Look", tools=("Read", "mcp.web/search", "Read"))
    backend, server = opened(Said(None, tools=("mcp_web_search", "Read", "Other")), api=api)
    reply = one(backend, request)

    assert isinstance(reply, Reply)
    assert (reply.text, reply.tools) == ("", ("mcp.web/search", "Read", "Other"))
    offered = [item.get("function", item) for item in server.heard[0].body["tools"]]
    assert [item["name"] for item in offered] == ["Read", "mcp_web_search"]
    assert all(item["parameters"]["additionalProperties"] is True for item in offered)


@both_apis
def test_a_schema_is_told(opened: Open, api: Api) -> None:
    """A closed one strictly: the provider then makes sure of the form."""
    backend, server = opened(Said('{"score": 1}'), api=api)
    one(backend, ASKING)
    body = server.heard[0].body
    told = body["response_format"]["json_schema"] if api == "chat" else body["text"]["format"]
    assert (told["schema"], told["strict"]) == (SCHEMA, True)


@both_apis
def test_a_schema_that_is_refused_is_left_out_for_the_rest_of_the_run(opened: Open, api: Api) -> None:
    """It is asked again without it, once; another schema is tried all the same."""
    no = refusal(400, "This response_format type is unavailable now")
    backend, server = opened(no, Said('{"score": 1}'), Said('{"score": 0}'), no, Said("{}"), api=api)
    other = Request(role="optimizer", purpose="reflect", ask="What?", schema='{"type": "object"}')
    replies = backend.complete([ASKING, ASKING, other])

    assert [reply.text for reply in replies if isinstance(reply, Reply)] == ['{"score": 1}', '{"score": 0}', "{}"]
    name = "response_format" if api == "chat" else "text"
    assert [name in heard.body for heard in server.heard] == [True, False, False, True, False]


def test_a_refusal_of_something_else_is_not_blamed_on_the_schema(opened: Open) -> None:
    """It is told, and asked once."""
    backend, server = opened(refusal(400, "Unknown parameter: 'colour'"))
    assert failure(backend, ASKING).kind == "process"
    assert len(server.heard) == 1


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (SCHEMA, True),
        ({"type": "object", "properties": {"all": {"type": "array", "items": SCHEMA}}, "required": ["all"]}, False),
        ({**SCHEMA, "properties": {"score": {"anyOf": [{"type": "number"}, {"type": "null"}]}}}, True),
        ({**SCHEMA, "properties": {"score": {"type": "object"}}}, False),
        ({**SCHEMA, "properties": {"score": {"type": "string", "maxLength": 3}}}, False),
        ({**SCHEMA, "required": []}, False),
        ({**SCHEMA, "$defs": {"open": {"type": "object"}}}, False),
    ],
)
def test_a_schema_is_strict_where_the_strict_mode_takes_it(schema: dict[str, Any], strict: bool) -> None:
    """Every object closed, everything required, and no word that some of the servers refuse."""
    assert words.strictly(schema) is strict


@pytest.mark.parametrize(
    "message",
    [
        "registry.example/library/model-1 does not support tools",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ],
)
def test_a_model_without_tools_is_not_a_dead_one(opened: Open, message: str) -> None:
    """Tasks that want a tool are missing, and no others."""
    backend, _ = opened(refusal(400, message))
    request = Request(role="target", purpose="rollout", ask="Look", tools=("Read",))
    found = failure(backend, request)
    assert found.kind == "refused"
    assert message in found.message
    assert failure(backend).kind == "process"


# --- thoughts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>\nnpm or pnpm?\n</think>\n\nUse pnpm.", "Use pnpm."),
        ("\n<think></think>Use pnpm.", "Use pnpm."),
        ("npm or pnpm?\n</think>\n\nUse pnpm.", "Use pnpm."),
        ("Use pnpm.", "Use pnpm."),
        ("  Use pnpm.\n", "  Use pnpm.\n"),
        ("Close it with `</think>`, then go on.", "Close it with `</think>`, then go on."),
        ("Write <think>\nso\n</think>\n around it.", "Write <think>\nso\n</think>\n around it."),
    ],
)
def test_thoughts_before_an_answer_are_no_part_of_it(opened: Open, text: str, left: str) -> None:
    """Where a server leaves them in, whole or without their beginning. What an answer says of them stays."""
    backend, _ = opened(Said(text))
    reply = one(backend)
    assert isinstance(reply, Reply)
    assert reply.text == left


@given(st.text(alphabet=st.sampled_from("<>/think \n.a")))
def test_of_a_text_only_a_beginning_is_ever_taken(text: str) -> None:
    """And nothing where no thoughts are marked."""
    left = words.without_thoughts(text)
    assert text.endswith(left)
    assert left == text or "think>" in text


def test_thoughts_alone_are_no_answer(opened: Open) -> None:
    """A night of thoughts would score as one of wrong answers."""
    backend, _ = opened(Said("<think>\nWhat do they want?\n</think>\n"))
    assert failure(backend).kind == "empty"


@both_apis
def test_a_model_that_thinks_gets_room_for_it(opened: Open, api: Api) -> None:
    """Its first answer that thoughts leave no room for is asked again with more, and so are all later ones."""
    backend, server = opened(Said(None, stop="length", thought=1024), Said("Done.", thought=2000), api=api)
    replies = backend.complete([REQUEST, REQUEST])
    assert [reply.usage for reply in replies if reply.usage] == [twice(USED), USED]
    name = "max_tokens" if api == "chat" else "max_output_tokens"
    assert [heard.body[name] for heard in server.heard] == [
        1024,
        1024 + words.THINKING_ROOM,
        1024 + words.THINKING_ROOM,
    ]


def test_even_that_room_has_an_end(opened: Open) -> None:
    """It is not asked for ever; both times are paid for."""
    backend, server = opened(Said("<think>\nWell", stop="length"))
    found = failure(backend)
    assert (found.kind, found.usage) == ("truncated", twice(USED))
    assert len(server.heard) == 2


def test_thoughts_in_a_place_of_their_own_count_too(opened: Open) -> None:
    """Servers name them differently."""
    for name in ("reasoning", "reasoning_content"):
        backend, server = opened(Said("Do", stop="length", other={name: "Well."}), Said("Done."))
        assert isinstance(one(backend), Reply)
        assert len(server.heard) == 2


@pytest.mark.parametrize(
    ("model", "room"),
    [("gpt-4.1-mini", 0), ("chatgpt-4o-latest", 0), ("gpt-5-mini", words.THINKING_ROOM), ("o3", words.THINKING_ROOM),
     ("qwen3:8b", words.THINKING_ROOM)],
)  # fmt: skip
def test_the_room_for_thoughts_is_known_before_anything_is_asked(model: str, room: int) -> None:
    """So that a budget can reserve it."""
    assert openai.door(asked(model=model)).beyond == room


# --- what goes wrong ---------------------------------------------------------------------------------------------

USED = Usage(input_tokens=100, output_tokens=20, cached_tokens=64)


def twice(used: Usage) -> Usage:
    return Usage(2 * used.input_tokens, 2 * used.output_tokens, cached_tokens=2 * used.cached_tokens)


ERRORS: dict[str, tuple[Answer, str, bool]] = {
    "401": (refusal(401, f"Incorrect API key provided: {KEY}.", "invalid_api_key"), "auth", False),
    "403": (refusal(403, "Country, region, or territory not supported"), "auth", False),
    "402": (Raw(402, {"error": {"message": "Insufficient Balance"}}), "quota", False),
    "Qwen's debts": (refusal(400, "Access denied, please make sure your account", "Arrearage"), "quota", False),
    "Qwen's filter": (refusal(400, "Input data may contain inappropriate content."), "refused", False),
    "flagged prompt": (refusal(400, "Your prompt was flagged", "invalid_prompt"), "refused", False),
    "unknown model": (refusal(404, "The model `model-1` does not exist", "model_not_found"), "process", False),
    "wrong path": (Raw(404, b"404 page not found", {"content-type": "text/plain"}), "process", False),
    "429": (refusal(429, "Rate limit reached", "rate_limit_exceeded"), "rate", True),
    "429 for long": (refusal(429, "Rate limit reached", retry_after="3600"), "rate", True),
    "quota": (refusal(429, "You exceeded your current quota", "insufficient_quota"), "quota", False),
    "500": (refusal(500, "The server had an error", kind="server_error"), "network", True),
    "503": (refusal(503, "The engine is currently overloaded", kind="overloaded"), "network", True),
    "529": (Raw(529, b""), "rate", True),
    "408": (refusal(408, "Request timeout"), "timeout", True),
    "504": (Raw(504, b"<html>Gateway time-out</html>", {"content-type": "text/html"}), "timeout", True),
    "403 that moderates": (refusal(403, "Your input was flagged", "moderation"), "refused", False),
    "a huge page": (Raw(502, b"bad gateway " * 1_000_000, {"content-type": "text/html"}), "network", True),
    "an error not in UTF-8": (Raw(500, b"\xff\xfe\x00", {"content-type": "text/plain"}), "network", True),
    "context": (refusal(400, "Your input exceeds the limit", "context_length_exceeded"), "refused", False),
    "llama.cpp's context": (refusal(400, "the request exceeds the available context size"), "refused", False),
    "filtered prompt": (refusal(400, "The response was filtered", "content_filter"), "refused", False),
    "bad parameter": (refusal(400, "Unsupported parameter: 'temperature'"), "process", False),
    "detail only": (Raw(422, {"detail": "Unprocessable"}), "process", False),
    "odd detail": (Raw(422, {"detail": [{"loc": ["body"]}]}), "process", False),
    "filtered answer": (Said("Well,", stop="content_filter"), "refused", False),
    "declined": (Said(None, refusal=f"I will not say {KEY}."), "refused", False),
    "truncated": (Said("Do", stop="length"), "truncated", False),
    "unfinished": (Said("Do", stop="new"), "truncated", False),
    "empty": (Said(""), "empty", False),
    "nothing": (Said(None), "empty", False),
    "blank": (Said(" \n"), "empty", False),
    "a page": (Raw(200, b"<html>Sign in</html>", {"content-type": "text/html"}), "network", True),
    "half JSON": (Raw(200, b'{"choices": ['), "network", True),
    "deep JSON": (Raw(200, b"[" * 200_000), "network", True),
    "not UTF-8": (Raw(200, b'{"choices": "\xff\xfe"}'), "network", True),
    "wrong schema": (Raw(200, {"choices": 3, "output": {"a": 1}}), "process", False),
    "no message": (Raw(200, {"choices": [{"text": "Done."}], "output": "Done."}), "process", False),
    "a list": (Raw(200, [1, 2]), "process", False),
    "huge": (Raw(200, b" " * 17_000_000), "process", False),
    "error as success": (Raw(200, {"error": {"message": "Provider overloaded", "code": 503}}), "network", True),
    "error in a word": (Raw(200, {"error": "model is loading"}), "process", False),
    "error without code": (Raw(200, {"error": {"message": "It failed", "code": "rate_limit_exceeded"}}), "rate", True),
    "base_resp": (Raw(200, {"base_resp": {"status_code": 1004, "status_msg": "login fail"}}), "auth", False),
    "base_resp filter": (Raw(200, {"base_resp": {"status_code": 1026, "status_msg": "input"}}), "refused", False),
    "base_resp other": (Raw(200, {"base_resp": {"status_code": 2013, "status_msg": "params"}}), "process", False),
    "reset": (Broken("reset"), "network", True),
    "half a body": (Broken("half"), "network", True),
}


@both_apis
@pytest.mark.parametrize("name", ERRORS)
def test_what_goes_wrong_is_told_as_what_it_is(opened: Open, api: Api, name: str) -> None:
    """Never an answer and never an empty one: a failure of the right kind, in the server's words, without the key."""
    answer, kind, retryable = ERRORS[name]
    backend, server = opened(answer, api=api, redact=lambda text: text.replace(KEY, "[REDACTED]"))
    found = failure(backend)
    assert (found.kind, found.retryable) == (kind, retryable), found
    assert found.message.startswith("127.0.0.1: ")
    assert len(found.message) <= doors.MESSAGE_LIMIT
    assert len(server.heard) == 1
    worked = Usage() if answer == Broken("half") else None  # nobody knows how much
    assert found.usage == (USED if isinstance(answer, Said) else worked)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        *dict.fromkeys(("stop", "STOP", "tool_calls", "function_call", "eos", "end_turn", "stop_sequence"), "").items(),
        *dict.fromkeys(("length", "max_tokens", "MAX_TOKENS", "model_length"), "truncated").items(),
        *dict.fromkeys((None, "", "null", "repetition", "unload", 7), "truncated").items(),
        *dict.fromkeys(("content_filter", "SAFETY", "sensitive", "refusal"), "refused").items(),
        *dict.fromkeys(("error", "abort", "timeout", "network_error"), "network").items(),
    ],
)  # fmt: skip
def test_only_an_answer_that_ended_as_one_counts(opened: Open, reason: Any, kind: str) -> None:
    """Half an answer would be scored as the whole. What it used is told all the same."""
    choice = {"message": {"content": "Half of it"}, "finish_reason": reason}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 64}}
    backend, _ = opened(Raw(200, {"choices": [choice], "usage": usage}))
    result = one(backend)
    assert (result.kind if isinstance(result, CallFailed) else "") == kind
    assert result.usage == USED
    absent, _ = opened(Raw(200, {"choices": [{"message": choice["message"]}]}))
    assert failure(absent) == CallFailed("truncated", "127.0.0.1: the answer is not finished (finish_reason: none)")


@both_apis
def test_a_key_that_a_server_repeats_is_taken_out(opened: Open, api: Api) -> None:
    """Even one in a form that no scanner knows."""
    backend, _ = opened(refusal(401, "No such key: plain-words"), api=api, environ={"OPENAI_API_KEY": "plain-words"})
    found = one(backend)
    assert isinstance(found, CallFailed)
    assert found.message == "127.0.0.1: No such key: [key]"


@both_apis
def test_a_password_in_the_address_and_headers_of_ones_own_are_taken_out(opened: Open, api: Api) -> None:
    """A server may repeat whatever it was told."""
    with serving(refusal(401, "no correct-horse, no header-secret")) as server:
        address = server.address.replace("//", "//alice:correct-horse@")
        environ = {"OPENAI_API_KEY": KEY, "OPENAI_CUSTOM_HEADERS": "x-key: header-secret"}
        backend = openai.door(asked(f"{address}/v1", environ, api=api)).backend
        assert failure(backend).message == "127.0.0.1: no [key], no [key]"
        cast("Calls", backend).client.close()


@both_apis
def test_more_than_any_answer_is_none(opened: Open, api: Api) -> None:
    """It would be looked through for secrets, which takes seconds a megabyte. What it used is told all the same."""
    backend, _ = opened(Said("word " * 200_001), Said(None, refusal=f"{'No. ' * 200_000}{KEY}"), api=api)
    assert failure(backend) == CallFailed(
        "schema", "what came is no answer of a model: 1,000,005 characters", usage=USED
    )
    assert failure(backend).message.startswith("127.0.0.1: No. No.")


@both_apis
@pytest.mark.parametrize("how", ["hang", "trickle"])
def test_an_answer_that_does_not_come_is_not_waited_for(
    opened: Open, api: Api, how: Literal["hang", "trickle"]
) -> None:
    """Nor one that comes by the byte, each in time."""
    backend, server = opened(Broken(how), api=api, timeout=0.4, retries=2)
    found = failure(backend)
    assert (found.kind, found.retryable) == ("timeout", True)
    assert len(server.heard) == 1  # whoever pays for it has to be asked first
    assert found.message == "127.0.0.1: no answer in 0.4 seconds (replay.timeout)"


def test_nobody_there_is_told(opened: Open) -> None:
    """In the system's words, with where it was looked for."""
    with serving() as server:
        address = server.address
    backend = openai.door(asked(f"{address}/v1")).backend
    found = failure(backend)
    assert (found.kind, found.retryable) == ("network", True)
    assert found.message == "127.0.0.1: Connection refused"


@both_apis
@pytest.mark.parametrize(
    "answer",
    [
        refusal(429, "Rate limit reached", retry_after="0.05"),
        refusal(429, "Rate limit reached"),
        refusal(503, "overloaded", retry_after_ms="20"),
        Broken("half"),
        Broken("reset"),
    ],
    ids=["429 told when", "429", "503", "half", "reset"],
)
def test_what_may_be_gone_is_tried_again(opened: Open, api: Api, answer: Answer) -> None:
    """As often as is set, and when the server says."""
    backend, server = opened(answer, Said("Done."), api=api, retries=1)
    assert isinstance(one(backend), Reply)
    assert len(server.heard) == 2


def test_what_will_not_be_gone_is_not_tried_again(opened: Open) -> None:
    """A wrong key stays one."""
    backend, server = opened(refusal(401, "Incorrect API key provided"), retries=3)
    assert failure(backend).kind == "auth"
    assert len(server.heard) == 1


@both_apis
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_key_follows_no_redirect(opened: Open, api: Api, status: int) -> None:
    """The other server hears nothing, and where it would have gone is told."""
    with serving() as other:
        backend, server = opened(Raw(status, b"", {"location": f"{other.address}/v1"}), api=api)
        found = failure(backend)
    assert found.kind == "process"
    assert other.address in found.message
    assert (len(server.heard), other.heard) == (1, [])


@both_apis
def test_one_probe_finds_a_dead_server(opened: Open, api: Api) -> None:
    """And a live one, also where it has no word to say within so few tokens."""
    dead, _ = opened(refusal(404, "The model `model-1` does not exist"), api=api)
    found = doors.probe(dead, "target", "")
    assert found is not None
    assert found.kind == "process"
    live, _ = opened(Said(None, stop="length"), api=api)
    assert doors.probe(live, "target", "") is None


def test_deepseek_breaks_off(opened: Open) -> None:
    """What was said till then is no answer."""
    backend, _ = opened(Said("Well", stop="insufficient_system_resource"))
    assert failure(backend).kind == "network"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"status": "failed", "error": {"code": "server_error", "message": "sorry"}, "output": []}, "network"),
        ({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slowly"}, "output": []}, "rate"),
        ({"status": "failed", "error": {"code": "invalid_prompt", "message": "flagged"}, "output": []}, "refused"),
        ({"status": "cancelled", "error": None, "output": []}, "network"),
        ({"status": "incomplete", "incomplete_details": None, "output": []}, "truncated"),
        ({"status": "incomplete", "incomplete_details": {"reason": "new"}, "output": []}, "truncated"),
        ({"status": "in_progress", "output": []}, "truncated"),
        ({"status": "queued", "output": []}, "truncated"),
        ({"status": "new", "output": []}, "truncated"),
        ({"output": []}, "truncated"),
    ],
)
def test_a_response_that_failed_is_none(opened: Open, data: dict[str, Any], kind: str) -> None:
    """It comes with a status of 200, and with what it used."""
    half = [{"type": "message", "content": [{"type": "output_text", "text": "Half of it"}]}]
    usage = {"input_tokens": 100, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 64}}
    backend, _ = opened(Raw(200, {"object": "response", **data, "output": half, "usage": usage}), api="responses")
    found = failure(backend)
    assert (found.kind, found.usage) == (kind, USED)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "choices message content tool_calls function name finish_reason refusal usage output type text status "
                "error incomplete_details reason code base_resp status_code status_msg prompt_tokens model".split()
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)
QUESTION = words.Question(model=MODEL, spoken=Spoken(system="", user="x"), most=1, at_home=False)


@given(st.dictionaries(st.sampled_from(["choices", "output", "usage", "model", "status", "error"]), ANYTHING))
def test_whatever_came_is_read_or_is_none(data: dict[str, Any]) -> None:
    """No server makes it fall over, and what it takes for an answer is made of text and numbers."""
    words.fault(data)
    for said in (openai_chat.answer(data, QUESTION), openai_responses.answer(data, QUESTION)):
        if isinstance(said, words.Answer):
            assert isinstance(said.text, str)
            assert all(isinstance(name, str) for name in said.tools)
            assert min(said.usage.input_tokens, said.usage.output_tokens, said.usage.cached_tokens) >= 0


def test_a_text_may_come_in_parts(opened: Open) -> None:
    """As Mistral's servers give it."""
    parts = [
        {"type": "thinking", "thinking": "so"},
        {"type": "text", "text": "Use "},
        {"type": "text", "text": "pnpm."},
    ]
    backend, _ = opened(Said(other={"content": parts}))
    reply = one(backend)
    assert isinstance(reply, Reply)
    assert reply.text == "Use pnpm."


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("http://127.0.0.1:1/v1", False),
        ("https://api.openai.com.example/v1", False),
    ],
)
def test_whose_the_account_is_openai_alone_is_told(monkeypatch: pytest.MonkeyPatch, address: str, told: bool) -> None:
    """The library takes it out of the environment, and would tell every server."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-acme")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-acme")
    client = cast("Calls", openai.door(asked(address)).backend).client
    headers = client._build_headers(FinalRequestOptions(method="post", url="/responses"))
    assert (headers.get("openai-organization"), headers.get("openai-project")) == (
        ("org-acme", "proj-acme") if told else (None, None)
    )


@pytest.mark.parametrize("ours", [True, False])
def test_headers_of_the_environment_go_with_its_address_alone(monkeypatch: pytest.MonkeyPatch, ours: bool) -> None:
    """A key for another server may be among them."""
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-key: header-secret")
    with serving() as server:
        address = f"{server.address}/v1"
        environ = {"OPENAI_API_KEY": KEY} | ({} if ours else {"OPENAI_BASE_URL": address})
        backend = openai.door(asked(address if ours else "", environ)).backend
        assert isinstance(one(backend), Reply)
        cast("Calls", backend).client.close()
    assert server.heard[0].headers.get("x-key") == (None if ours else "header-secret")


def test_what_is_said_to_this_machine_goes_through_no_proxy(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy of the environment would hear key and documents in the clear."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.address)
        monkeypatch.setenv("http_proxy", proxy.address)
        backend, server = opened()
        assert isinstance(one(backend), Reply)
    assert (len(server.heard), proxy.heard) == (1, [])


# --- the door ----------------------------------------------------------------------------------------------------


def test_elsewhere_a_key_is_needed() -> None:
    """Before anything is sent, with the variable to set."""
    with pytest.raises(BackendError, match="no key for openai") as caught:
        openai.door(asked(environ={}))
    assert (caught.value.kind, caught.value.exit_code) == ("auth", 1)
    assert "OPENAI_API_KEY" in caught.value.hint
    with pytest.raises(BackendError) as caught:
        openai.door(asked("https://models.example", key_env="ACME_KEY"))
    assert "ACME_KEY" in caught.value.hint


@pytest.mark.parametrize("key", ["sk-one\nsk-two", "schlüssel", "\x00"])
def test_what_cannot_be_a_key_is_not_sent(key: str) -> None:
    """The client would fail with it in its message."""
    with pytest.raises(BackendError, match="OPENAI_API_KEY holds is no key") as caught:
        openai.door(asked(environ={"OPENAI_API_KEY": key}))
    assert key not in f"{caught.value} {caught.value.hint}"


def test_a_model_has_to_be_named() -> None:
    """Names of models come and go, and each has another price."""
    with pytest.raises(UsageError, match="no model is named for openai"):
        openai.door(asked(model=""))


def test_a_missing_library_is_told_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What there is to know of the backend can be shown without it."""
    monkeypatch.delitem(sys.modules, "skillopt_git.backends.openai_calls")
    monkeypatch.delattr("skillopt_git.backends.openai_calls")
    monkeypatch.setitem(sys.modules, "openai", None)
    assert roles.about("openai").extra == "openai"
    with pytest.raises(ConfigError, match="openai needs the package openai") as caught:
        openai.door(asked())
    assert caught.value.hint == "pip install 'skillopt-git[openai]'"


# --- a night -----------------------------------------------------------------------------------------------------


@both_apis
def test_a_night_is_learned_from_it(opened: Open, api: Api) -> None:
    """The rule is proposed by the model, reaches the model in the document, and helps there."""

    def script(heard: Heard) -> Answer:
        if not heard.system:
            return Said(json.dumps({"edits": [{"op": "add", "text": learning.RULE, "reason": "They asked."}]}))
        return Said("Done with pnpm." if learning.RULE in heard.system else "Done with npm.")

    backend, server = opened(script=script, api=api)
    learned = learning.night(*learning.usual(), backend=backend)

    assert [(rule, verdict) for _, rule, verdict in learning.found(learned)] == [(learning.RULE, "strong")]
    assert any(learning.RULE in heard.system for heard in server.heard)
