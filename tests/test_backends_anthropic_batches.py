"""Message Batches: half the price, and never paid twice."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.backends import anthropic_batches
from skillopt_git.backends.anthropic import Claude, door
from skillopt_git.backends.anthropic_batches import FORGOTTEN, LONGEST, MEANWHILE, PATIENCE, Batches
from skillopt_git.backends.anthropic_client import LARGEST
from skillopt_git.backends.budgeted import Budgeted
from skillopt_git.backends.cached import Cached
from skillopt_git.config import Budget
from skillopt_git.ids import canonical_json
from skillopt_git.ports import NOTHING, CallFailed, LearningEvent, Listener, Reply, Usage, Waiting
from skillopt_git.prices import Rates
from skillopt_git.purse import Amount, Purse, Used
from skillopt_git.redact import Redactor
from tests.hub import Clock
from tests.modelserver import BATCHES, Asked, Batch, Broken, Fate, Given, ModelServer, Raw, Said, error, serving, tokens
from tests.test_backends_anthropic import ROLLOUT, SECRET, asked

SENT = 133  # tokens of one of these
ASKS = [replace(ROLLOUT, ask=f"Ask {number}", sample=f"x1-1/{number}") for number in range(3)]
Open = Callable[..., Claude]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(lambda call: Said(text=f"To {call.user.split()[-1]}"), polls=3) as found:
        yield found


@pytest.fixture
def clock(server: ModelServer) -> Clock:
    """That of the server, too."""
    clock = Clock()
    server.clock = clock.now
    return clock


@pytest.fixture
def opened(server: ModelServer, clock: Clock, tmp_path: Path) -> Open:
    """A door as another run opens it, with the same private folder; time passes only where it sleeps."""

    def open_(sleep: Callable[[float], None] = clock.sleep, notify: Listener = lambda _: None, **more: Any) -> Claude:
        made = door(replace(asked(server.url, tmp_path / "anthropic", batch=True, **more), notify=notify))
        assert made.together
        assert isinstance(made.backend, Claude)
        assert isinstance(made.backend.batches, Batches)
        return replace(made.backend, batches=replace(made.backend.batches, clock=clock.now, sleep=sleep))

    return open_


def interrupted(_: float) -> None:
    raise KeyboardInterrupt


def texts(results: Any) -> list[str]:
    """What was answered; a failure shows no key."""
    assert SECRET not in repr(results)
    return [result.text if isinstance(result, Reply) else result.kind for result in results]


def settle(backend: Claude) -> None:
    """What was learned is recorded."""
    assert backend.batches is not None
    backend.batches.settle()


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "anthropic" / "batches").glob("*"))


def test_what_is_asked_at_once_goes_as_one_batch(
    server: ModelServer, opened: Open, clock: Clock, tmp_path: Path
) -> None:
    """The documents in it, in the order of the questions, with what it used; once that is recorded nothing is left."""
    heard: list[LearningEvent] = []
    backend = opened(notify=heard.append)
    results = backend.complete(ASKS)

    assert texts(results) == ["To 0", "To 1", "To 2"]
    (batch,) = server.heard(BATCHES)
    sent = batch.body["requests"]
    assert all("Use pnpm, never npm" in item["params"]["system"][0]["text"] for item in sent)
    assert all(item["params"]["system"][0]["cache_control"] == {"type": "ephemeral"} for item in sent)
    assert [item["params"]["messages"][0]["content"].split()[-1] for item in sent] == ["0", "1", "2"]
    assert server.asked == []
    used = sum(tokens(sent[0]["params"].get(part, [])) for part in ("system", "messages", "tools"))
    usage = Usage(used, output_tokens=1, batched=True)
    assert results[0] == Reply(text="To 0", usage=usage, model="claude-model-1")
    assert clock.slept == [5.0, 7.5]
    (id_,) = server.batches
    assert heard == [Waiting(f"batch {id_} of 3 questions, {MEANWHILE}")]
    settle(backend)
    assert kept(tmp_path) == []


def test_a_single_question_does_not_wait_for_a_batch(server: ModelServer, opened: Open) -> None:
    """A probe, or a reflection."""
    results = opened().complete(ASKS[:1])
    assert texts(results) == ["To 0"]
    assert [result.usage.batched for result in results if result.usage] == [False]
    assert len(server.asked) == 1
    assert server.batches == {}


def test_a_run_that_was_broken_off_goes_on_with_its_batch(server: ModelServer, opened: Open, tmp_path: Path) -> None:
    """By its id, which alone is kept, for its owner only; nothing is sent, and paid, again."""
    with pytest.raises(KeyboardInterrupt):
        opened(interrupted).complete(ASKS)
    (file,) = kept(tmp_path)
    assert file.name == "msgbatch_1.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == stat.S_IMODE(file.parent.parent.stat().st_mode) == 0o700
    assert not any(word in file.read_text() for word in ("Ask", "pnpm", SECRET))

    backend = opened()
    assert texts(backend.complete(ASKS)) == ["To 0", "To 1", "To 2"]

    assert len(server.heard(BATCHES)) == 1
    settle(backend)
    assert kept(tmp_path) == []


def test_a_run_that_asks_for_part_of_it_and_for_more(server: ModelServer, opened: Open, tmp_path: Path) -> None:
    """What is there is read, what is new is sent, and what nobody asks for now stays to be read."""
    with pytest.raises(KeyboardInterrupt):
        opened(interrupted).complete(ASKS)
    new = replace(ROLLOUT, ask="Ask 3", sample="x1-1/3")

    backend = opened()
    assert texts(backend.complete([ASKS[2], new, ASKS[0]])) == ["To 2", "To 3", "To 0"]

    assert [len(batch.body["requests"]) for batch in server.heard(BATCHES)] == [3, 1]
    settle(backend)
    assert [len(json.loads(file.read_text())["names"]) for file in kept(tmp_path)] == [1]
    backend = opened()
    assert texts(backend.complete([ASKS[1], replace(new, sample="x1-2/3")])) == ["To 1", "To 3"]
    assert [len(batch.body["requests"]) for batch in server.heard(BATCHES)] == [3, 1, 1]
    settle(backend)
    assert kept(tmp_path) == []


def test_two_rollouts_of_one_task_are_two_answers(server: ModelServer, opened: Open) -> None:
    """By their samples, and even without."""
    opened().complete([ASKS[0], replace(ASKS[0], sample="x1-1/9"), ASKS[0]])
    (batch,) = server.heard(BATCHES)
    names = [item["custom_id"] for item in batch.body["requests"]]
    assert len(set(names)) == 3
    assert all(len(name) <= 64 for name in names)


def test_another_model_or_host_is_another_question(server: ModelServer, opened: Open, clock: Clock) -> None:
    """What one model was asked is no answer of another."""
    with pytest.raises(KeyboardInterrupt):
        opened(interrupted).complete(ASKS)
    opened(model="claude-model-2").complete(ASKS)
    assert [batch.body["requests"][0]["params"]["model"] for batch in server.heard(BATCHES)] == [
        "claude-model-1",
        "claude-model-2",
    ]


def test_a_temperature_goes_along(server: ModelServer, opened: Open) -> None:
    """As with a single question."""
    opened(temperature=0.5).complete(ASKS)
    assert server.heard(BATCHES)[0].body["requests"][0]["params"]["temperature"] == 0.5


def test_between_the_cache_and_the_batch_nothing_is_split(server: ModelServer, opened: Open, tmp_path: Path) -> None:
    """As a run puts them together; what was answered is not asked again."""
    cached = Cached(
        inner=opened(), folder=tmp_path / "cache", templates="one", redact=Redactor(b"key"), aside=lambda _: None
    )
    assert texts(cached.complete(ASKS)) == texts(cached.complete(ASKS)) == ["To 0", "To 1", "To 2"]
    assert len(server.heard(BATCHES)) == 1


@pytest.mark.parametrize(
    ("fate", "found"),
    [
        (Fate("expired"), CallFailed("rate", "the provider found no time for this within the batch's day", True,
            NOTHING)),
        (Fate("canceled"), CallFailed("network", "the batch was canceled before this was answered", True, NOTHING)),
        (error(529, "overloaded_error", "Overloaded"), CallFailed("rate", "overloaded_error: Overloaded", True,
            NOTHING)),
        (error(500, "api_error", f"No {SECRET}"), CallFailed("network", "api_error: No [key]", True, NOTHING)),
        (error(504, "timeout_error", "Slow"), CallFailed("timeout", "timeout_error: Slow", True, NOTHING)),
        (error(404, "not_found_error", "model: x"), CallFailed("process", "not_found_error: model: x", usage=NOTHING)),
        (error(400, "invalid_request_error", "prompt is too long"), CallFailed("refused", "invalid_request_error: "
            "prompt is too long", usage=NOTHING)),
        (Raw(400, {"type": "error"}), CallFailed("schema", "the result is none that is known")),
        (Said(stop="refusal"), CallFailed("refused", "the model refused to answer", usage=Usage(SENT, batched=True))),
        (Said(stop="max_tokens", text="Half"), CallFailed("truncated", "the answer was cut off after 1 tokens",
            usage=Usage(SENT, 1, batched=True))),
        (Said(), CallFailed("empty", "the model answered without a word", usage=Usage(SENT, batched=True))),
    ],
)  # fmt: skip
def test_what_became_of_one_is_no_matter_of_the_others(
    server: ModelServer, opened: Open, tmp_path: Path, fate: Given, found: CallFailed
) -> None:
    """A failed one is a value. What no model worked on is asked anew by a later run; what one did is paid for, and
    is asked anew once the night is recorded."""
    server.script = lambda call: fate if call.user.endswith("1") else Said(text="Here")
    backend = opened()
    results = backend.complete(ASKS)
    assert texts([results[0], results[2]]) == ["Here", "Here"]
    assert results[1] == found

    (file,) = kept(tmp_path)
    assert len(json.loads(file.read_text())["names"]) == (2 if found.usage == NOTHING else 3)
    assert [item.kind for item in opened().complete(ASKS) if isinstance(item, CallFailed)] == [found.kind]
    assert [len(batch.body["requests"]) for batch in server.heard(BATCHES)] == [3] + [1] * (found.usage == NOTHING)
    settle(backend)
    assert kept(tmp_path) == []


def lesson(call: Asked) -> Given:
    """A schema the model refuses, and thoughts that take the answer's room."""
    if "output_config" in call.body:
        return error(400, "invalid_request_error", "output_config.format is not supported")
    whole = call.body["max_tokens"] > 1024
    return Said(thinking="Hm", text="{}" if whole else "", stop="" if whole else "max_tokens")


SCHEMED = [replace(ask, schema=canonical_json({"type": "object", "properties": {}})) for ask in ASKS]


def test_what_a_lesson_spoiled_goes_as_a_batch_again(server: ModelServer, opened: Open) -> None:
    """At the same price, all at once; the next ones are worded right. With what was used in vain."""
    server.script = lesson
    backend = opened()
    results = backend.complete(SCHEMED)
    assert texts(results) == ["{}", "{}", "{}"]
    sent = [[item["params"] for item in batch.body["requests"]] for batch in server.heard(BATCHES)]
    assert [("output_config" in each[0], each[0]["max_tokens"], len(each)) for each in sent] == [
        (True, 1024, 3),
        (False, 1024, 3),
        (False, 9216, 3),
    ]
    assert server.asked == []
    used = [result.usage for result in results if isinstance(result, Reply)]
    assert [(usage.batched, usage.output_tokens) for usage in used] == [(True, 1)] * 3
    assert {usage.input_tokens for usage in used} == {2 * SENT}
    assert texts(backend.complete([replace(ask, sample="x1-2/1") for ask in ASKS])) == ["{}", "{}", "{}"]
    assert len(server.heard(BATCHES)) == 4


def test_a_lesson_that_spoiled_one_alone_is_asked_again_at_once(server: ModelServer, opened: Open) -> None:
    """A single question waits for no batch. Not all of what it took has the price of one."""
    server.script = lesson
    results = opened().complete([SCHEMED[0], ASKS[1]])
    assert texts(results) == ["{}", "{}"]
    server.asked.clear()

    thinking = opened()
    server.script = lambda call: lesson(call) if call.user.endswith("1") else Said(text="Here")
    (first, second) = thinking.complete([replace(ask, sample="x1-3/1") for ask in ASKS[:2]])
    assert texts([first, second]) == ["Here", "{}"]
    assert [call.body["max_tokens"] for call in server.asked] == [9216]
    assert second.usage is not None
    assert not second.usage.batched


# --- what is paid for is never asked for again ---------------------------------------------------------------------


def halting(clock: Clock, when: Callable[[], bool]) -> Callable[[float], None]:
    """Sleeps; ^C where it is time for that."""

    def sleep(seconds: float) -> None:
        if when():
            raise KeyboardInterrupt
        clock.sleep(seconds)

    return sleep


def test_a_run_that_was_broken_off_between_two_batches(
    server: ModelServer, opened: Open, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What the first one answered was read, and nobody had it yet."""
    monkeypatch.setattr(anthropic_batches._parts, "__kwdefaults__", {"requests": 2, "size": 10**6})

    def read() -> bool:
        return bool(server.heard(f"{BATCHES}/msgbatch_1/results", "GET"))

    with pytest.raises(KeyboardInterrupt):
        opened(halting(clock, read)).complete(ASKS)
    assert read()

    backend = opened()
    assert texts(backend.complete(ASKS)) == ["To 0", "To 1", "To 2"]
    assert [len(batch.body["requests"]) for batch in server.heard(BATCHES)] == [2, 1]
    assert server.asked == []
    settle(backend)
    assert kept(tmp_path) == []


@pytest.mark.parametrize("left", [1, 2, 3])
def test_a_run_that_ended_before_all_was_kept(server: ModelServer, opened: Open, tmp_path: Path, left: int) -> None:
    """As on a full disk: what it had not kept is read again, also where it is a single one."""
    opened().complete(ASKS)  # and was killed when it had kept the first ones
    backend = opened()
    assert texts(backend.complete(ASKS[3 - left :])) == ["To 0", "To 1", "To 2"][3 - left :]
    assert (len(server.heard(BATCHES)), server.asked) == (1, [])
    settle(backend)
    assert kept(tmp_path) == []


@pytest.mark.parametrize("sent", [1, 2, 3])
def test_a_run_that_was_broken_off_while_it_learned(server: ModelServer, opened: Open, clock: Clock, sent: int) -> None:
    """The next one finds each of its batches, though it begins without what that one had learned."""
    server.script = lesson
    with pytest.raises(KeyboardInterrupt):
        opened(halting(clock, lambda: len(server.heard(BATCHES)) == sent)).complete(SCHEMED)

    assert texts(opened().complete(SCHEMED)) == ["{}", "{}", "{}"]
    free = min(sent - 1, 1)  # the refused schema cost nothing, and is tried again
    assert len(server.heard(BATCHES)) == 3 + free
    assert server.asked == []


def test_a_run_that_had_learned_before_it_sent(server: ModelServer, opened: Open) -> None:
    """A later run, which has not, finds its batch all the same."""
    server.script = lesson
    backend = opened()
    backend.complete([replace(ASKS[0], sample="probe")])
    assert backend.lessons.thinks
    backend.complete(ASKS)
    assert texts(opened().complete(ASKS)) == ["{}", "{}", "{}"]
    assert len(server.heard(BATCHES)) == 1


def test_what_is_recorded_may_be_asked_anew(server: ModelServer, opened: Open, tmp_path: Path) -> None:
    """Another night's answer is new evidence; what nobody has read is still there."""
    backend = opened()
    backend.complete(ASKS)
    with pytest.raises(KeyboardInterrupt):
        opened(interrupted).complete([replace(ask, sample="x1-9/1") for ask in ASKS])
    settle(backend)
    assert [file.name for file in kept(tmp_path)] == ["msgbatch_2.json"]
    opened().complete(ASKS)
    assert len(server.heard(BATCHES)) == 3


def test_what_a_batch_left_undone_counts_for_no_budget(server: ModelServer, opened: Open) -> None:
    """Nor does what is under way yet: it counts when it is read."""
    server.script = lambda _: Fate("expired")
    purse = Purse(Budget(tokens=10**6))
    backend = Budgeted(inner=opened(retries=2), purse=purse, rates=Rates(), together=True, attempts=3)
    assert texts(backend.complete(ASKS)) == ["rate"] * 3
    server.before = lambda call: Raw(408, "") if call.path.endswith("/msgbatch_2") else None
    assert texts(backend.complete([replace(ask, sample="x1-2/1") for ask in ASKS])) == ["timeout"] * 3
    assert purse.spent == Amount()
    assert purse.used == Used()


# --- what goes wrong on the way ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (error(401, "authentication_error", f"invalid x-api-key {SECRET}"), "auth"),
        (error(403, "permission_error", f"not with {SECRET}"), "auth"),
        (error(402, "billing_error", "pay"), "quota"),
        (error(404, "not_found_error", "no such path"), "process"),
        (error(400, "invalid_request_error", "requests: too many"), "process"),
        (error(413, "request_too_large", "too much"), "refused"),
        (error(429, "rate_limit_error", "wait"), "rate"),
        (error(429, "rate_limit_error", "wait", {"retry-after": "3600"}), "rate"),
        (error(500, "api_error", "Internal server error"), "network"),
        (error(503, "api_error", "Unavailable"), "network"),
        (error(504, "timeout_error", "Gateway"), "timeout"),
        (error(529, "overloaded_error", "Overloaded"), "rate"),
        (Raw(200, "Welcome to the guest network"), "schema"),
        (Raw(200, {"id": "../../elsewhere", "processing_status": "in_progress"}), "schema"),
        (Raw(200, b"\xff\xfe\n{\n"), "schema"),
        (Raw(200, [1, 2]), "schema"),
        (Raw(307, "", {"location": "http://models.acme.example/"}), "process"),
        (Broken("reset"), "network"),
        (Broken("half"), "network"),
        (Broken("hang"), "network"),
        (Broken("hang", 30.0), "timeout"),
        (Broken("drip", 30.0), "timeout"),
    ],
)
def test_a_batch_that_cannot_be_sent(
    server: ModelServer, opened: Open, tmp_path: Path, said: Raw | Broken, kind: str
) -> None:
    """Each of its questions failed; nothing is kept, for it did not arrive."""
    server.before = lambda call: said if (call.method, call.path) == ("POST", BATCHES) else None
    assert texts(opened(timeout=0.5).complete(ASKS)) == [kind] * 3
    assert kept(tmp_path) == []


def losing(server: ModelServer, times: int = 1) -> None:
    """The next batches arrive, and their answers get lost."""
    left = iter(range(times))

    def before(call: Asked) -> Broken | None:
        if (call.method, call.path) != ("POST", BATCHES) or next(left, None) is None:
            return None
        made = Batch(id=f"msgbatch_{len(server.batches) + 1}", requests=call.body["requests"], created=server.clock())
        server.batches[made.id] = made
        return Broken("reset")

    server.before = before


def other(server: ModelServer, size: int = 3, **more: Any) -> None:
    """A batch of somebody else's."""
    id_ = f"msgbatch_{len(server.batches) + 1}"
    requests = [{"custom_id": f"other-{place}", "params": {}} for place in range(size)]
    server.batches[id_] = Batch(id=id_, requests=requests, **{"created": server.clock(), **more})


@pytest.mark.parametrize("retries", [0, 2])
def test_a_batch_that_arrived_unheard_is_not_sent_again(
    server: ModelServer, opened: Open, tmp_path: Path, retries: int
) -> None:
    """It is paid for. The provider's list has it, among others, on whichever page."""
    losing(server)
    server.page = 1
    backend = opened(retries=retries)
    other(server, created=0.0)
    for _ in range(3):
        other(server, canceled=True)
    other(server, size=2)
    assert texts(backend.complete(ASKS)) == ["To 0", "To 1", "To 2"]
    assert len(server.heard(BATCHES)) == 1
    settle(backend)
    assert kept(tmp_path) == []


def test_a_batch_that_did_not_arrive_is_sent_again(server: ModelServer, opened: Open, clock: Clock) -> None:
    """As often as is set; what is there of that size is another's, or was ours before."""
    opened().complete([replace(ask, sample="x1-0/1") for ask in ASKS])
    refused: Iterator[Raw | Broken] = iter([Broken("reset"), error(529, "overloaded_error", "Overloaded")])
    server.before = lambda call: next(refused, None) if (call.method, call.path) == ("POST", BATCHES) else None
    assert texts(opened(retries=2).complete(ASKS)) == ["To 0", "To 1", "To 2"]
    assert [len(batch.body["requests"]) for batch in server.heard(BATCHES)] == [3, 3, 3, 3]
    assert len(server.batches) == 2


def test_what_may_have_arrived_is_looked_for_by_the_next_run(
    server: ModelServer, opened: Open, clock: Clock, tmp_path: Path
) -> None:
    """Before it sends anything, and as long as nobody can say it sends nothing."""
    losing(server)
    lost = server.before
    server.before = lambda call: Broken("reset") if call.method == "GET" else lost(call)
    assert texts(opened(retries=2).complete(ASKS)) == ["network"] * 3
    assert len(kept(tmp_path)) == 1
    assert texts(opened().complete(ASKS)) == ["network"] * 3
    assert len(server.heard(BATCHES)) == 1

    server.before = lambda _: None
    clock.time += 3600
    backend = opened()
    assert texts(backend.complete(ASKS)) == ["To 0", "To 1", "To 2"]
    assert len(server.heard(BATCHES)) == 1
    settle(backend)
    assert kept(tmp_path) == []


def test_a_run_that_was_ended_while_it_sent(server: ModelServer, opened: Open, tmp_path: Path) -> None:
    """What is kept before it sends tells the next run where to look; nothing of what was asked."""
    losing(server)
    with pytest.raises(KeyboardInterrupt):
        opened(interrupted).complete(ASKS)
    (file,) = kept(tmp_path)
    assert json.loads(file.read_text())["id"] == ""
    assert not any(word in file.read_text() for word in ("Ask", "pnpm", SECRET))
    assert texts(opened().complete(ASKS)) == ["To 0", "To 1", "To 2"]
    assert len(server.heard(BATCHES)) == 1


@pytest.mark.parametrize(
    ("listed", "kind"),
    [
        (error(404, "not_found_error", "no such path"), "network"),
        (Raw(200, "Welcome to the guest network"), "network"),
        (Raw(200, {"data": [{"id": "../x", "processing_status": "ended", "created_at": "2026-11-30T12:00:00Z",
            "request_counts": {"succeeded": 3}}]}), "network"),
        (Raw(200, {"data": [{"id": "x", "processing_status": "ended", "created_at": "yesterday",
            "request_counts": {"succeeded": 3}}]}), "network"),
    ],
)  # fmt: skip
def test_a_list_that_tells_nothing(server: ModelServer, opened: Open, tmp_path: Path, listed: Raw, kind: str) -> None:
    """A gateway may have none: then a later run sends anew. One that cannot be read may hold ours."""
    broken = Broken("reset")
    server.before = lambda call: None if call.path != BATCHES else broken if call.method == "POST" else listed
    assert texts(opened().complete(ASKS)) == [kind] * 3
    assert len(kept(tmp_path)) == (listed.status == 200)
    server.before = lambda _: None
    assert texts(opened().complete(ASKS)) == ["To 0", "To 1", "To 2"]


def test_a_running_batch_of_that_size_may_be_anothers(server: ModelServer, opened: Open, tmp_path: Path) -> None:
    """Its results tell, and then ours are missing; a later run sends them."""
    server.before = lambda call: Broken("reset") if (call.method, call.path) == ("POST", BATCHES) else None
    other(server)
    server.script = lambda _: Said(text="Not yours")
    assert texts(opened().complete(ASKS)) == ["schema"] * 3
    server.before = lambda _: None
    server.script = lambda _: Said(text="Yours")
    backend = opened()
    assert texts(backend.complete(ASKS)) == ["Yours"] * 3
    settle(backend)
    assert kept(tmp_path) == []


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (error(500, "api_error", "Broken"), "network"),
        (error(404, "not_found_error", "no such batch"), "process"),
        (Raw(200, "Welcome to the guest network"), "schema"),
        (Raw(200, b"\xff\xfe\n{\n"), "schema"),
        (Raw(200, ""), "schema"),
        (Raw(200, b"x" * (LARGEST + 1)), "refused"),
        (Raw(307, "", {"location": "http://models.acme.example/"}), "process"),
        (Broken("half"), "network"),
        (Broken("reset"), "network"),
    ],
)
def test_results_that_cannot_be_read_stay_to_be_read(
    server: ModelServer, opened: Open, tmp_path: Path, said: Raw | Broken, kind: str
) -> None:
    """They are paid for: a later run reads them."""
    server.before = lambda call: said if call.path.endswith("/results") else None
    assert texts(opened().complete(ASKS)) == [kind] * 3
    assert len(kept(tmp_path)) == 1

    server.before = lambda _: None
    assert texts(opened().complete(ASKS)) == ["To 0", "To 1", "To 2"]
    assert len(server.heard(BATCHES)) == 1


def test_a_look_that_takes_too_long_is_taken_again(server: ModelServer, opened: Open) -> None:
    """Nothing is paid for it."""
    late = iter([Broken("hang", 30.0)] * 2)
    server.before = lambda call: next(late, None) if call.path.endswith("/results") else None
    assert texts(opened(timeout=0.4, retries=2).complete(ASKS)) == ["To 0", "To 1", "To 2"]
    server.before = lambda call: Broken("hang", 30.0) if call.path.endswith("/results") else None
    assert texts(opened(timeout=0.4, retries=1).complete(ASKS)) == ["timeout"] * 3


def test_a_result_that_is_missing_is_missing(server: ModelServer, opened: Open) -> None:
    """The others are there. It may have been cut off on its way, so it is looked for again."""

    def short(call: Asked) -> Raw | None:
        if not call.path.endswith("/results"):
            return None
        lines = server.batches["msgbatch_1"].results(server).splitlines()
        return Raw(200, "\n".join([*lines[1:], '{"custom_id": "another", "result": {}}', "{half"]))

    server.before = short
    results = opened().complete(ASKS)
    assert texts(results) == ["To 0", "To 1", "schema"]
    assert results[2] == CallFailed("schema", "batch msgbatch_1 has no result for this")
    server.before = lambda _: None
    assert texts(opened().complete(ASKS)) == ["To 0", "To 1", "To 2"]
    assert len(server.heard(BATCHES)) == 1


def test_results_are_read_where_all_else_is_asked(server: ModelServer, opened: Open) -> None:
    """The address that the answer names may be another host's, which is not to get the key."""
    with serving() as elsewhere:

        def pointing(call: Asked) -> Raw | None:
            if not call.path.endswith("/msgbatch_1"):
                return None
            told = server.batches["msgbatch_1"].told(server) | {"processing_status": "ended"}
            return Raw(200, told | {"results_url": f"{elsewhere.url}/results"})

        server.before = pointing
        assert texts(opened().complete(ASKS)) == ["To 0", "To 1", "To 2"]
        assert elsewhere.requests == []


def test_a_while_without_network_is_waited_out(server: ModelServer, opened: Open, clock: Clock) -> None:
    """A laptop sleeps; the batch does not."""
    gone = iter([Broken("reset")] * PATIENCE)
    server.before = lambda call: next(gone, None) if call.path.endswith("/msgbatch_1") else None
    assert texts(opened().complete(ASKS)) == ["To 0", "To 1", "To 2"]
    assert clock.slept[:3] == [5.0, 7.5, 11.25]
    assert max(clock.slept) <= 300


def test_patience_has_an_end(server: ModelServer, opened: Open, clock: Clock, tmp_path: Path) -> None:
    """The batch is kept; a later run goes on with it."""
    server.before = lambda call: Broken("reset") if call.path.endswith("/msgbatch_1") else None
    assert texts(opened().complete(ASKS)) == ["network"] * 3
    assert len(clock.slept) == PATIENCE
    assert len(kept(tmp_path)) == 1


def test_what_will_not_pass_is_not_waited_for(server: ModelServer, opened: Open, clock: Clock) -> None:
    """A key that was taken away meanwhile."""
    server.before = lambda call: error(401, "authentication_error", "no") if call.method == "GET" else None
    assert texts(opened().complete(ASKS)) == ["auth"] * 3
    assert clock.slept == []


def test_a_batch_that_never_ends_is_left_to_a_later_run(
    server: ModelServer, opened: Open, clock: Clock, tmp_path: Path
) -> None:
    """After the day that the provider gives itself."""
    server.polls = 10**6
    results = opened(lambda seconds: clock.sleep(10 * seconds)).complete(ASKS)
    assert results[0] == CallFailed(
        "timeout", "batch msgbatch_1 has not ended; a later run goes on with it", retryable=True, usage=NOTHING
    )
    assert LONGEST < sum(clock.slept) < LONGEST + 3600
    server.polls = 1
    assert texts(opened().complete(ASKS)) == ["To 0", "To 1", "To 2"]
    assert len(server.heard(BATCHES)) == 1


def test_a_batch_that_the_provider_lost_is_sent_anew(
    server: ModelServer, opened: Open, clock: Clock, tmp_path: Path
) -> None:
    """At once where it is known before; else by the next run."""
    with pytest.raises(KeyboardInterrupt):
        opened(interrupted).complete(ASKS)
    server.batches.clear()
    server.batches["msgbatch_0"] = Batch(id="msgbatch_0", requests=[])  # so that the next one has another id
    backend = opened()
    assert texts(backend.complete(ASKS)) == ["To 0", "To 1", "To 2"]
    settle(backend)
    assert kept(tmp_path) == []

    again = [replace(ask, sample="x1-3/1") for ask in ASKS]
    lost = opened(lambda _: server.batches.clear()).complete(again)
    assert lost[0] == CallFailed(
        "network", "the provider knows the batch no more; a later run sends it anew", usage=NOTHING
    )
    assert texts(opened().complete(again)) == ["To 0", "To 1", "To 2"]


def test_what_is_damaged_or_too_old_is_dropped(server: ModelServer, opened: Open, clock: Clock, tmp_path: Path) -> None:
    """And what was in it asked anew."""
    with pytest.raises(KeyboardInterrupt):
        opened(interrupted).complete(ASKS)
    (file,) = kept(tmp_path)
    (file.parent / "msgbatch_9.json").write_text("{half")
    clock.time += FORGOTTEN + 1
    backend = opened()
    assert texts(backend.complete(ASKS)) == ["To 0", "To 1", "To 2"]
    assert len(server.heard(BATCHES)) == 2
    settle(backend)
    assert kept(tmp_path) == []


def test_without_a_key_nothing_is_sent(server: ModelServer, tmp_path: Path) -> None:
    """Each question fails."""
    made = door(asked(server.url, tmp_path, environ={}, batch=True))
    assert texts(made.backend.complete(ASKS)) == ["auth"] * 3
    assert server.requests == []


@given(st.lists(st.integers(0, 30), max_size=30))
def test_batches_are_as_large_as_the_provider_takes(sizes: list[int]) -> None:
    """Every question is in one of them, in order; only one that is too large by itself makes a larger one."""
    questions = {str(place): {"x": "y" * size} for place, size in enumerate(sizes)}
    parts = list(anthropic_batches._parts(questions, requests=4, size=60))
    assert [name for part in parts for name in part] == list(questions)
    for part in parts:
        assert 1 <= len(part) <= 4
        assert len(part) == 1 or sum(len(json.dumps(asked_)) for asked_ in part.values()) <= 60
