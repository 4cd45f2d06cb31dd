"""The provider on this machine does what tests rely on."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlsplit

import anthropic
import pytest

from tests.modelserver import CACHED_FROM, Broken, ModelServer, Said, error, saying, serving

HELLO = [{"role": "user", "content": "Hello"}]
ASKED = {"model": "claude-model-1", "max_tokens": 10, "messages": HELLO}


def client(server: ModelServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="key", base_url=server.url, max_retries=0)


def sent(server: ModelServer, method: str, path: str, body: object = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(str(urlsplit(server.url).netloc), timeout=10)
    try:
        connection.request(method, path, json.dumps(body) if body else None)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_what_is_said_whole_and_streamed_is_the_same() -> None:
    """Text, thoughts and calls of tools; what was asked is kept."""
    said = Said(text="Installed", thinking="Hm", tools=(("Bash", {"command": "pnpm i"}),))
    with serving(saying(said)) as server, client(server) as sdk:
        whole = sdk.messages.create(model="m-1", max_tokens=10, messages=[{"role": "user", "content": "Add lodash"}])
        with sdk.messages.stream(
            model="m-1", max_tokens=10, messages=[{"role": "user", "content": "Add lodash"}]
        ) as events:
            streamed = events.get_final_message()

    assert [block.type for block in whole.content] == ["thinking", "text", "tool_use"]
    assert [block.model_dump(exclude={"parsed_output"}) for block in streamed.content] == [
        block.model_dump() for block in whole.content
    ]
    assert streamed.usage.output_tokens == whole.usage.output_tokens > 0
    assert (whole.stop_reason, streamed.stop_reason, whole.model) == ("tool_use", "tool_use", "m-1")
    assert [asked.user for asked in server.asked] == ["Add lodash", "Add lodash"]


def test_it_says_things_in_turn_and_refuses_in_the_providers_words() -> None:
    """The last one for ever."""
    with serving(saying("One", error(529, "overloaded_error", "Overloaded"))) as server:
        told = [sent(server, "POST", "/v1/messages?beta=true", ASKED) for _ in range(3)]
    assert [status for status, _ in told] == [200, 529, 529]
    assert json.loads(told[2][1])["error"] == {"type": "overloaded_error", "message": "Overloaded"}


def test_what_clients_ask_beside_messages() -> None:
    """`claude` looks whether anybody is there; some count tokens; an unknown path is unknown."""
    with serving() as server:
        assert sent(server, "HEAD", "/")[0] == 200
        status, counted = sent(server, "POST", "/v1/messages/count_tokens", ASKED)
        assert status == 200
        assert json.loads(counted)["input_tokens"] > 0
        assert sent(server, "GET", "/v1/elsewhere")[0] == 404
        assert sent(server, "GET", "/v1/messages/batches/msgbatch_9")[0] == 404
    assert len(server.requests) == 4
    assert server.asked == []


@pytest.mark.parametrize("how", ["hang", "reset", "half"])
@pytest.mark.parametrize("stream", [False, True])
def test_what_breaks_gives_no_whole_answer(how: str, *, stream: bool) -> None:
    """Neither whole nor streamed."""
    broken = saying(Broken(how))  # type: ignore[arg-type] # each is one of them
    with serving(broken) as server, pytest.raises((OSError, http.client.HTTPException)):
        sent(server, "POST", "/v1/messages", ASKED | {"stream": stream})


def test_a_marked_prefix_is_written_once_and_read_from_then_on() -> None:
    """One that is long enough; the rest is paid in full every time."""
    system = [{"type": "text", "text": "x" * 4 * CACHED_FROM, "cache_control": {"type": "ephemeral"}}]
    with serving() as server:
        first, second, short = (
            json.loads(sent(server, "POST", "/v1/messages", asked)[1])["usage"]
            for asked in (ASKED | {"system": system}, ASKED | {"system": system}, ASKED)
        )
    assert first["cache_creation_input_tokens"] == second["cache_read_input_tokens"] >= CACHED_FROM
    assert first["cache_read_input_tokens"] == second["cache_creation_input_tokens"] == 0
    assert short["cache_creation_input_tokens"] == short["cache_read_input_tokens"] == 0
