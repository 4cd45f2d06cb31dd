"""The cassette: what is recorded, what is replayed, how a recording goes on, and a whole night without its model."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_git import cli, roles
from skillopt_git.backends import cassette
from skillopt_git.backends.scripted import Scripted
from skillopt_git.commands import night as night_
from skillopt_git.config import Config, Replay
from skillopt_git.doors import About, Asked, Opened, lasting, question
from skillopt_git.errors import ConfigError, UsageError
from skillopt_git.ports import CallFailed, Reply, Request, Role, Usage
from skillopt_git.prompts import SHIPPED, Prompts
from tests.breaking import KILLED
from tests.helpers import Repository
from tests.learning import NOW
from tests.nights import PNPM, obedient, sessions

RUN, LATER = "20261129T030000Z-0000000a", "20261130T030000Z-000000ff"


def asks(ask: str = "Add lodash", *, role: Role = "target", **fields: Any) -> Request:
    return Request(role=role, **{"purpose": "rollout", "ask": ask} | fields)


def asked(path: Path, role: Role = "target", redact: Callable[[str], str] = str, **fields: Any) -> Asked:
    return Asked(
        role=role,
        model="",
        base_url="",
        key_env="",
        replay=Replay(backend="cassette", cassette=str(path)),
        environ={},
        state=path.parent,
        redact=redact,
        **fields,
    )


def numbered(**fields: Any) -> Scripted:
    """A model that never says the same twice."""
    count = iter(range(1000))
    return Scripted(script=lambda request: Reply(text=f"{request.ask}, answer {next(count)}"), **fields)


def recording(path: Path, backend: Scripted, **fields: Any) -> cassette.Recorder:
    """A sitting: a recorder that has just been opened."""
    given = asked(path, **fields)
    found = cassette.recorded(Opened(backend=backend), cassette.blank(given.replay), given).backend
    assert isinstance(found, cassette.Recorder)
    return found


def replaying(path: Path, role: Role = "target", **fields: Any) -> Any:
    return cassette.door(asked(path, role, **fields)).backend


def texts(answers: Sequence[Reply | CallFailed]) -> list[str]:
    return [answer.text if isinstance(answer, Reply) else f"{answer.kind}: {answer.message}" for answer in answers]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "tapes" / "night.jsonl"


# --- record and replay -------------------------------------------------------------------------------------------


def test_what_is_recorded_is_replayed_in_any_order(tape: Path) -> None:
    """In the name of who was recorded, with the model's settings, and without its model."""
    model = numbered(name="openai", model="m-1", settings={"temperature": 0.5}, deterministic=False)
    heard = recording(tape, model).complete([asks("a"), asks("b", tools=("search",)), asks("c", sample="x1-0/3")])

    found = replaying(tape)

    assert texts(found.complete([asks("c", sample="x1-0/3"), asks("a"), asks("b", tools=("search",))])) == [
        texts(heard)[2],
        texts(heard)[0],
        texts(heard)[1],
    ]
    assert (found.name, found.model, found.settings) == ("openai", "m-1", {"temperature": 0.5})
    assert (found.deterministic, found.simulated) == (False, False)


def test_it_is_as_deterministic_as_the_model_that_was_recorded(tape: Path) -> None:
    """It is a recording of a model that varies: that a tape repeats itself proves nothing."""
    recording(tape, numbered(deterministic=True)).complete([asks()])

    assert replaying(tape).deterministic


@pytest.mark.parametrize(
    "other",
    [
        {"ask": "Add zod"},
        {"role": "optimizer"},
        {"purpose": "judge"},
        {"documents": (("a/SKILL.md", "- Use pnpm\n"),)},
        {"context": "In web/"},
        {"tools": ("search",)},
        {"max_tokens": 7},
        {"sample": "x1-0/2"},
        {"schema": '{"type":"object"}'},
    ],
)
def test_another_question_has_no_answer(tape: Path, other: dict[str, Any]) -> None:
    """Whatever of it differs; the failure says which question, and what to do."""
    recording(tape, numbered()).complete([asks()])
    request = asks(**other)

    (found,) = replaying(tape).complete([request])

    digest = question(request, SHIPPED).digest
    assert found == CallFailed(
        "process",
        f"the cassette night.jsonl has no answer to this {request.purpose} question ({digest[:16]}): record it anew",
    )


def test_the_same_question_put_in_other_words_has_no_answer(tape: Path) -> None:
    """A changed template of what the target is told is another prompt; of what it is not told, the same."""
    recording(tape, numbered()).complete([asks()])

    def found(**own: str) -> Reply | CallFailed:
        return replaying(tape, prompts=Prompts(own)).complete([asks()])[0]  # type: ignore[no-any-return]

    assert isinstance(found(judge="Judge: {{ answer }}"), Reply)
    assert isinstance(found(attempt="Be brief."), CallFailed)


def test_another_run_finds_what_the_recorded_one_asked(tape: Path) -> None:
    """Samples that begin with a run or a night are of any; those of a trial's pair are only of that pair."""
    heard = recording(tape, numbered()).complete([asks(sample=f"{RUN}/together"), asks(sample=f"x1-0/{RUN}x")])

    found = replaying(tape).complete([asks(sample=f"{LATER}/together"), asks(sample=f"x1-0/{LATER}x")])

    assert texts(found)[0] == texts(heard)[0]
    assert isinstance(found[1], CallFailed)
    assert [line["sample"] for line in lines(tape)[1:]] == ["<run>/together", f"x1-0/{RUN}x"]


def test_another_night_finds_what_the_recorded_one_asked(tape: Path) -> None:
    """How many nights a repository has had is no part of a question."""
    heard = recording(tape, numbered()).complete([asks(sample=f"{lasting(0)}/test")])

    assert texts(replaying(tape).complete([asks(sample=f"{lasting(12)}/test")])) == texts(heard)


def test_a_repeated_question_is_answered_in_the_order_that_was_recorded(tape: Path) -> None:
    """And then no more: what was never said is not made up."""
    recorder = recording(tape, numbered())
    first, second = texts(recorder.complete([asks()])), texts(recorder.complete([asks()]))

    found = replaying(tape)

    assert [texts(found.complete([asks()])) for _ in range(2)] == [first, second]
    assert isinstance(found.complete([asks()])[0], CallFailed)


def test_a_failed_call_fails_again_without_the_providers_words(tape: Path) -> None:
    """They may name a host. Who is recorded hears them all the same."""
    failure = CallFailed("rate", "api.example.invalid says: too many", retryable=True)
    heard = recording(tape, Scripted(script=lambda _: failure)).complete([asks()])

    assert list(heard) == [failure]
    assert replaying(tape).complete([asks()]) == [CallFailed("rate", cassette.FAILED, retryable=True)]
    assert "example.invalid" not in tape.read_text()


def test_replaying_costs_nothing_again(tape: Path) -> None:
    """What it cost is on the tape, to be read there."""
    usage = Usage(100, 20, 0.01, 60)
    recording(tape, Scripted(script=lambda _: Reply(text="Done.", usage=usage, model="m-1"))).complete([asks()])

    assert replaying(tape).complete([asks()]) == [Reply(text="Done.", model="m-1")]
    assert lines(tape)[1]["reply"]["usage"]["cached_tokens"] == 60


def test_no_host_is_on_the_tape(tape: Path) -> None:
    """Not even where the settings name it; while recording it is called what it will be called when replayed."""
    recorder = recording(tape, numbered(settings={"host": "models.acme.example:8443", "api": "chat"}))
    recorder.complete([asks()])

    assert "acme" not in tape.read_text()
    assert recorder.settings == replaying(tape).settings
    assert recorder.settings["api"] == "chat"


def test_a_probe_is_not_on_the_tape(tape: Path) -> None:
    """While recording the model itself is asked whether it is there; a tape always is."""
    gone = CallFailed("auth", "not logged in")
    heard = recording(tape, Scripted(script=obedient, health=gone)).complete([asks(purpose="probe")])

    assert list(heard) == [gone]
    assert not tape.exists()
    recording(tape, numbered()).complete([asks()])
    assert texts(replaying(tape).complete([asks(purpose="probe", sample=f"{RUN}/probe")])) == ["OK"]


def test_what_is_kept_is_redacted_and_readable_by_its_owner_only(tape: Path) -> None:
    """Who is recorded gets the same text as who replays, half characters mended."""

    def redact(text: str) -> str:
        return text.replace("hunter2", "[gone]")

    heard = recording(tape, Scripted(script=lambda _: Reply(text="hunter2 \ud800\u2028.")), redact=redact).complete(
        [asks()]
    )

    assert texts(heard) == ["[gone] ?\u2028."]
    assert replaying(tape).complete([asks()]) == list(heard)
    assert "hunter2" not in tape.read_text()
    assert stat.S_IMODE(tape.stat().st_mode) == 0o600


def test_both_roles_share_one_file(tape: Path) -> None:
    """A header each; a role that was not recorded is played by the one that was."""
    given = asked(tape)
    blank = cassette.blank(given.replay)
    for role, model in (("target", "small"), ("optimizer", "large")):
        opened = cassette.recorded(Opened(backend=numbered(model=model)), blank, given)
        opened.backend.complete([asks(role=role)])  # type: ignore[arg-type]

    assert [(line["role"], line["model"]) for line in lines(tape)[::2]] == [("target", "small"), ("optimizer", "large")]
    assert (replaying(tape).model, replaying(tape, "optimizer").model) == ("small", "large")
    tape.write_text("".join(f"{line}\n" for line in tape.read_text().splitlines()[:2]))
    assert replaying(tape, "optimizer").model == "small"


def test_calls_may_end_in_several_threads(tape: Path) -> None:
    """Each line is whole, and none is lost."""
    recorder = recording(tape, Scripted(script=lambda request: Reply(text=request.ask * 500)))
    wanted = [asks(f"ask {number} ") for number in range(200)]

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda request: recorder.complete([request]), wanted))

    assert len(lines(tape)) == 201
    assert texts(replaying(tape).complete(wanted)) == [request.ask * 500 for request in wanted]


# --- going on ----------------------------------------------------------------------------------------------------


def test_a_recording_that_was_broken_off_goes_on(tape: Path) -> None:
    """What is on the tape is answered from it; a line that was cut off is asked again."""
    first = recording(tape, numbered(), redact=str.upper).complete([asks("a"), asks("b")])
    with tape.open("rb+") as file:
        file.truncate(tape.stat().st_size - 10)
    model = numbered()

    second = recording(tape, model).complete([asks("a"), asks("b"), asks("c")])

    assert texts(second) == [texts(first)[0], "b, answer 0", "c, answer 1"]
    assert [request.ask for request in model.asked] == ["b", "c"]
    assert texts(replaying(tape).complete([asks("a"), asks("b"), asks("c")])) == texts(second)
    assert len({line["tape"] for line in lines(tape) if "tape" in line}) == 1


def test_what_failed_in_an_earlier_sitting_is_asked_again(tape: Path) -> None:
    """And is replayed as it went in the last one; a failure of the last one stays."""
    recording(tape, Scripted(script=lambda _: CallFailed("network", "gone", retryable=True))).complete([asks("a")])
    model = Scripted(script=lambda request: CallFailed("refused", "no") if request.ask == "b" else Reply(text="Done."))

    assert texts(recording(tape, model).complete([asks("a"), asks("b")])) == ["Done.", "refused: no"]

    assert texts(replaying(tape).complete([asks("a"), asks("b")])) == ["Done.", f"refused: {cassette.FAILED}"]


@pytest.mark.parametrize("other", [{"model": "m-2"}, {"name": "another"}, {"settings": {"temperature": 1.0}}])
def test_another_model_does_not_go_on_with_a_recording(tape: Path, other: dict[str, Any]) -> None:
    """Before it is asked anything."""
    recording(tape, numbered()).complete([asks()])
    model = numbered(**other)

    with pytest.raises(ConfigError, match="holds what scripted scripted answered as target") as caught:
        recording(tape, model).complete([asks(purpose="probe")])

    assert caught.value.hint == cassette.AGAIN
    assert model.asked == []


def test_a_full_disk_leaves_whole_lines(tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was recorded before stays good."""
    recorder = recording(tape, numbered())
    recorder.complete([asks("a")])
    real = os.fdopen

    def full(handle: int, mode: str) -> Any:
        file = real(handle, mode)

        class Full:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

            def flush(self) -> None:
                file.flush()
                raise OSError(28, "No space left on device")

        return Full()

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdopen", full)
        with pytest.raises(OSError, match="No space"):
            recorder.complete([asks("b")])

    assert len(lines(tape)) == 2
    assert isinstance(replaying(tape).complete([asks("a")])[0], Reply)


# --- damaged and foreign -----------------------------------------------------------------------------------------


def other_header(line: str, **fields: Any) -> str:
    return json.dumps(json.loads(line) | fields)


@pytest.mark.parametrize(
    ("number", "damage", "said"),
    [
        (2, lambda line: line[:-9], "line 2, is not valid"),
        (3, lambda _: "{}", "line 3, is not valid"),
        (3, lambda _: "", "line 3, is not valid"),
        (3, lambda _: "\ud800", "line 3, is not valid"),
        (1, lambda line: other_header(line, v=2), "line 1, is not valid"),
        (1, lambda line: other_header(line, host="x"), "line 1, is not valid"),
        (1, lambda line: line.replace('"target"', '"optimizer"'), "line 2, is no line of a recording"),
        (2, lambda line: json.dumps({**json.loads(line), "reply": None}), "line 2, is no line of a recording"),
        (4, lambda line: other_header(line, tape="f" * 16), "line 4, is of another recording"),
        (4, lambda line: other_header(line, model="m-2"), "line 4, names another model"),
    ],
)
def test_a_damaged_or_foreign_line_is_named(tape: Path, number: int, damage: Callable[[str], str], said: str) -> None:
    """While recording as well as while replaying."""
    recording(tape, numbered()).complete([asks("a"), asks("b")])
    recording(tape, numbered()).complete([asks("c")])
    kept = tape.read_text().splitlines()
    kept[number - 1] = damage(kept[number - 1])
    tape.write_bytes("".join(f"{line}\n" for line in kept).encode("utf-8", "surrogatepass"))

    for opened in (lambda: replaying(tape), lambda: recording(tape, numbered())):
        with pytest.raises(ConfigError, match=said) as caught:
            opened()
        assert str(tape) in caught.value.message


def test_a_line_that_was_cut_off_is_damage_to_whoever_replays(tape: Path) -> None:
    """The night it is of was never finished. A last line that only lacks its end is whole."""
    recording(tape, numbered()).complete([asks()])
    data = tape.read_bytes()
    tape.write_bytes(data[:-1])
    assert isinstance(replaying(tape).complete([asks()])[0], Reply)
    tape.write_bytes(data[:-9])

    with pytest.raises(ConfigError, match="line 2, is not valid"):
        replaying(tape)


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_whatever_the_file_holds_is_an_error_that_names_it(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """Never another exception."""
    path = tmp_path_factory.mktemp("tape") / "any.jsonl"
    path.write_bytes(data)

    with pytest.raises(ConfigError, match=r"any\.jsonl"):
        replaying(path)


def test_without_a_file_it_says_how_to_make_one(tape: Path) -> None:
    """Neither a setting nor a file is made up."""
    with pytest.raises(ConfigError, match="there is no cassette") as caught:
        replaying(tape)
    assert "replay.record" in caught.value.hint
    for opened in (cassette.door, lambda given: cassette.blank(given.replay)):
        with pytest.raises(ConfigError, match=r"replay\.cassette names no file"):
            opened(replace(asked(tape), replay=Replay(backend="cassette")))
    recording(tape, numbered())
    assert not tape.exists()


# --- the roles ---------------------------------------------------------------------------------------------------


def test_who_is_recorded_plays_the_role() -> None:
    """What is asked for by backend, as keys and hosts, is asked for by its name; a replay is the cassette's own."""
    chosen = Replay(backend="cassette", cassette="t.jsonl", record="handoff", optimizer_model="large")

    recorded = roles.parts(Config(replay=chosen))
    assert [(part.backend, part.model, part.taped) for part in recorded] == [
        ("handoff", "", True),
        ("handoff", "large", True),
    ]
    beside = roles.parts(Config(replay=replace(chosen, optimizer_backend="mock")))
    assert [(part.backend, part.taped) for part in beside] == [("handoff", True), ("mock", False)]
    replayed = roles.parts(Config(replay=replace(chosen, record="")))
    assert [(part.backend, part.taped) for part in replayed] == [("cassette", False)] * 2


@pytest.mark.parametrize("record", ["mock", "cassette"])
def test_what_is_no_model_is_not_recorded(record: str) -> None:
    """A simulation on a tape would look like a measurement."""
    with pytest.raises(UsageError, match="records no model"):
        roles.chosen_model(Config(replay=Replay(backend="cassette", cassette="t.jsonl", record=record)))


# --- whole nights ------------------------------------------------------------------------------------------------

ABOUT = About(name="varying", title="", documents="", setup="", leaves="", cost="", limits="", sends=False)
ASKED: Counter[str] = Counter()


def door(_: Asked) -> Opened:
    """A model that varies, and fails once."""

    def script(request: Request) -> Reply | CallFailed:
        ASKED[request.purpose] += 1
        if request.purpose == "rollout" and ASKED["rollout"] == 4:
            return CallFailed("truncated", "cut off")
        return obedient(request)

    return Opened(backend=Scripted(script=script, name="varying", model="m-1", deterministic=False))


@pytest.fixture
def night(
    home: Path, tape: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    """`run` through the command line, recording unless told otherwise."""
    ASKED.clear()
    monkeypatch.setitem(roles.BACKENDS, "varying", f"{__name__}:door")
    monkeypatch.setattr(night_, "now", lambda: NOW)

    def call(repo: Repository, record: str = "varying", code: int = 0) -> dict[str, Any]:
        monkeypatch.setenv("SKILLOPT_REPLAY_CASSETTE", str(tape))
        monkeypatch.setenv("SKILLOPT_REPLAY_RECORD", record)
        words = ["run", "--repo", str(repo.path), "--claude-home", str(home), "--backend", "cassette", "--json"]
        capsys.readouterr()
        assert cli.run([*words, "--quiet"]) == code, capsys.readouterr()
        return dict(json.loads(capsys.readouterr().out))

    return call


def told(repo: Repository, record: dict[str, Any]) -> dict[str, Any]:
    """What a night found and the evidence it left, without the run's own name, times and price."""
    ran = ("run", "started", "ended", "commits", "notes", "branch", "tokens", "cost_usd")
    text = json.dumps({key: value for key, value in record.items() if key not in ran})
    (path,) = repo.git("ls-tree", "-r", "--name-only", "refs/skillopt/ledger", "evidence").split()
    evidence = repo.git("show", f"refs/skillopt/ledger:{path}").replace(record["run"], "<run>")
    return {"record": json.loads(text.replace(Path(path).stem, "<evidence>")), "evidence": json.loads(evidence)}


def killed(words: Sequence[str]) -> int:
    """How the command line ends that dies when twelve calls are on the tape.

    In a fork of a fresh process: the scanner for secrets has threads of its own, which no fork of this one would have.
    """
    script = (
        "import sys; from skillopt_git import roles; from tests.breaking import Point, played; from tests.learning "
        f"import NOW; roles.BACKENDS['varying'] = '{__name__}:door'; "
        "print(played(sys.argv[1:], now=NOW, point=Point('skillopt_git.backends.cassette:_append', nth=12)).code)"
    )
    command = [sys.executable, "-c", script, *words]
    root = Path(__file__).parent.parent
    return int(subprocess.run(command, cwd=root, check=True, capture_output=True, text=True, timeout=300).stdout)


def copied(repo: Repository, name: str) -> Repository:
    """The same repository at the same path's place: the ids of its sessions and its state before any night."""
    target = repo.path.parent / name / repo.path.name
    shutil.copytree(repo.path, target)
    return Repository(target)


def test_a_night_is_replayed_without_its_model(
    repo: Repository, home: Path, night: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a fresh clone with the same state: the same verdicts, counts and evidence, the model never asked."""
    sessions(home, repo, PNPM)
    before = copied(repo, "before")
    recorded = night(repo)
    assert recorded["verdict"] == "strong"
    first = told(repo, recorded)
    asked_ = dict(ASKED)
    shutil.rmtree(repo.path)
    shutil.copytree(before.path, repo.path)

    replayed = night(repo, record="")

    assert told(repo, replayed) == first
    assert cassette.REPLAYED in replayed["notes"]
    assert cassette.REPLAYED not in recorded["notes"]
    assert (replayed["backend"], replayed["model"], replayed["simulated"]) == ("varying", "m-1", False)
    assert dict(ASKED) == asked_


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_night_whose_recording_was_killed_goes_on(
    repo: Repository, home: Path, tape: Path, night: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when what the run remembered by itself is gone; then it is replayed as it ended."""
    sessions(home, repo, PNPM)
    before = copied(repo, "before")
    monkeypatch.setenv("SKILLOPT_REPLAY_CASSETTE", str(tape))
    monkeypatch.setenv("SKILLOPT_REPLAY_RECORD", "varying")
    words = ["run", "--repo", str(repo.path), "--claude-home", str(home), "--backend", "cassette", "--json"]
    assert killed(words) == KILLED
    kept = len(lines(tape))
    assert kept > 10
    shutil.rmtree(repo.path / ".git" / "skillopt" / "cache")

    recorded = night(repo)

    first = told(repo, recorded)
    assert recorded["verdict"] == "strong"
    assert sum(ASKED.values()) == len([line for line in lines(tape)[kept:] if "key" in line])
    shutil.rmtree(repo.path)
    shutil.copytree(before.path, repo.path)
    assert told(repo, night(repo, record="")) == first


def test_a_replay_of_another_night_says_what_is_missing(
    repo: Repository, home: Path, night: Callable[..., dict[str, Any]]
) -> None:
    """It is an error like that of a model that is not there, and nothing is recorded."""
    sessions(home, repo, PNPM)
    night(repo)
    other = Repository.create(repo.path.parent / "other", {"README.md": "# other\n"})
    sessions(home, other, [[turns[0].replace("web", "shop"), *turns[1:]] for turns in PNPM])

    failed = night(other, record="", code=1)

    assert failed["error"]["kind"] == "process"
    assert "has no answer to this" in failed["error"]["message"]
    assert other.git("for-each-ref", "refs/skillopt") == ""
