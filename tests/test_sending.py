"""What a run sends to a model, and that it sends nothing before somebody said what it may be."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import cli, roles, schema
from skillopt_git.backends.scripted import Scripted
from skillopt_git.doors import About, Asked, Opened
from skillopt_git.loading import user_file
from skillopt_git.model import Check
from skillopt_git.ports import CallFailed
from skillopt_git.prompts import SHIPPED
from skillopt_git.tasksfile import composed, file_text
from tests.helpers import Repository
from tests.nights import PNPM, RULE, Run, obedient, sessions, taught
from tests.reviewed import NEED, bank_task

ABOUT = About(
    name="acme",
    title="A model elsewhere",
    documents="As a system message.",
    setup="Set a key.",
    leaves="Everything.",
    cost="Money.",
    limits="None.",
    keys=("ACME_API_KEY",),
    model="acme-1",
    hosts=("api.acme.example",),
    address="ACME_BASE_URL",
)
MODEL = Scripted(script=obedient)  # of the test that runs
THIS = sys.modules[__name__]
Say = Callable[..., tuple[int, str, str]]


def door(_: Asked) -> Opened:
    return Opened(backend=MODEL)


@pytest.fixture
def night(repo: Repository, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """A verb with a model elsewhere: its exit code, and what it printed."""
    monkeypatch.setitem(roles.BACKENDS, "acme", f"{__name__}:door")
    monkeypatch.setenv("SKILLOPT_REPLAY_BACKEND", "acme")
    monkeypatch.setattr(THIS, "MODEL", Scripted(script=obedient, asked=[]))
    sessions(home, repo, PNPM)

    def call(*words: str, send: str = "") -> tuple[int, str, str]:
        monkeypatch.setenv("SKILLOPT_REPLAY_SEND", send)
        capsys.readouterr()
        code = cli.run([*words, "--repo", str(repo.path)])
        return code, *capsys.readouterr()

    return call


def run(night: Say, home: Path, *words: str, verb: str = "run", send: str = "") -> tuple[int, str, str]:
    return night(verb, "--claude-home", str(home), "--quiet", *words, send=send)


def share(repo: Repository, count: int = 8) -> None:
    file = composed([bank_task(number) for number in range(count)], {NEED: RULE}, reviewed=True)
    repo.commit("Share tasks", {f".skillopt/tasks/{NEED}.json": file_text(file)})


# --- consent -----------------------------------------------------------------------------------------------------


def test_a_run_sends_nothing_before_somebody_said_what_it_may(night: Say, home: Path) -> None:
    """Exit 2, with the ways to say it."""
    code, _, told = run(night, home)

    assert (code, MODEL.asked) == (2, [])
    assert "nobody said what may be sent to acme (acme-1) at api.acme.example" in told
    assert 'replay.send = "reviewed"' in told


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_was_mined_goes_out_when_somebody_said_so(night: Say, home: Path, repo: Repository) -> None:
    """The whole night, to a branch."""
    code, out, told = run(night, home, "--json", send="mined")

    assert code == 0, told
    assert RULE in taught(repo, json.loads(out)["branch"])
    assert any("lodash" in request.ask for request in MODEL.asked)


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_nobody_reviewed_stays_here_where_only_reviewed_tasks_may_go(
    night: Say, home: Path, repo: Repository
) -> None:
    """Of a bank with both, the reviewed ones teach the rule; not a word of the others is in any request."""
    share(repo)

    code, out, told = run(night, home, "--json", send="reviewed")

    assert code == 0, told
    record = json.loads(out)
    assert RULE in taught(repo, record["branch"])
    assert any("left out: not reviewed" in note for note in record["notes"])
    heard = json.dumps([[request.ask, request.context] for request in MODEL.asked])
    assert MODEL.asked
    assert not [word for word in ("left-pad", "Install the dependencies") if word in heard]


def test_a_reviewed_task_that_was_changed_here_is_not_the_reviewed_one(
    night: Say, home: Path, repo: Repository
) -> None:
    """Other words under a reviewed id are words that nobody reviewed."""
    share(repo)
    private = repo.path / ".git" / "skillopt"
    run(night, home, send="mined")
    bank = json.loads((private / "bank.json").read_text())
    bank["tasks"] = [schema.dump(replace(bank_task(0), ask="A private matter"))]
    (private / "bank.json").write_text(json.dumps(bank))
    MODEL.asked.clear()

    run(night, home, send="reviewed")

    assert "A private matter" not in json.dumps([request.ask for request in MODEL.asked])


def test_an_address_of_another_program_is_no_destination(
    night: Say, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 5, and nothing was asked."""
    monkeypatch.setenv("ACME_BASE_URL", "https://elsewhere.example/v1")

    code, _, told = run(night, home, send="mined")

    assert (code, MODEL.asked) == (5, [])
    assert "elsewhere.example, which is no host of acme" in told


def test_a_model_that_is_not_there_ends_the_run_before_anything_is_spent(
    night: Say, home: Path, monkeypatch: pytest.MonkeyPatch, repo: Repository
) -> None:
    """In its own words, with nothing recorded; and a passing trouble says to try again."""
    for failure, code in ((CallFailed("auth", "invalid x-api-key"), 1), (CallFailed("network", "no route", True), 75)):
        monkeypatch.setattr(THIS, "MODEL", replace(MODEL, health=failure))
        ended, _, told = run(night, home, send="mined")
        assert (ended, MODEL.asked) == (code, [])
        assert failure.message in told
    assert not (repo.path / ".git" / "skillopt" / "checkpoint.json").exists()


# --- dry-run --outgoing ------------------------------------------------------------------------------------------


def test_a_rehearsal_shows_every_word_and_asks_nobody(night: Say, home: Path) -> None:
    """Before anybody agreed to anything."""
    code, out, told = run(night, home, "--outgoing", verb="dry-run")

    assert (code, MODEL.asked) == (0, []), told
    assert "=== rollout, to acme (acme-1) at api.acme.example" in out
    assert "=== reflect, to acme (acme-1) at api.acme.example" in out
    assert "Add lodash to the web package" in out
    assert "Nothing was sent." in out


def test_a_rehearsal_holds_what_the_run_then_sends(night: Say, home: Path) -> None:
    """Word for word, of a night whose answers are as the simulation's."""
    _, out, _ = run(night, home, "--outgoing", "--json", verb="dry-run", send="mined")
    told = json.loads(out)
    run(night, home, send="mined")

    spoken = {(item["purpose"], item["user"]) for item in told["requests"]}
    asked = {(request.purpose, request.ask) for request in MODEL.asked if request.purpose == "rollout"}
    assert asked
    assert asked <= spoken
    assert {item["schema"] is not None for item in told["requests"] if item["purpose"] == "reflect"} == {True}
    assert told["to"][0] == {
        "role": "target",
        "backend": "acme",
        "model": "acme-1",
        "host": "api.acme.example",
        "here": False,
    }


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_rehearsal_asks_as_often_as_a_model_that_varies_is_asked(
    night: Say, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation always answers alike, and by it alone a night would ask each task once."""
    monkeypatch.setattr(THIS, "MODEL", replace(MODEL, deterministic=False))
    _, record, _ = run(night, home, "--outgoing", "--json", verb="dry-run", send="mined")
    _, out, _ = run(night, home, "--outgoing", verb="dry-run", send="mined")
    run(night, home, verb="dry-run", send="mined")

    told = json.loads(record)
    probe = {"target": 1, "optimizer": 0}  # one model plays both
    assert told["times"] == Counter(request.role for request in MODEL.asked) + Counter(probe)
    assert sum(told["times"].values()) == sum(item["times"] for item in told["requests"])
    each = f"({told['times']['target']} to the target and {told['times']['optimizer']} to the optimizer)"
    assert f"{sum(told['times'].values())} requests {each} where answers are as the simulation's" in out


def test_a_rehearsal_shows_the_tools_and_the_schema_of_a_request(night: Say, home: Path, repo: Repository) -> None:
    """They leave this machine as its words do."""
    tools = replace(bank_task(0), checks=(Check(op="tool_called", arg="Deploy"),))
    file = composed([tools, *map(bank_task, range(1, 8))], {NEED: RULE}, reviewed=True)
    repo.commit("Share tasks", {f".skillopt/tasks/{NEED}.json": file_text(file)})

    _, out, _ = run(night, home, "--outgoing", verb="dry-run", send="reviewed")
    _, record, _ = run(night, home, "--outgoing", "--json", verb="dry-run", send="reviewed")

    assert "tools: Deploy" in out
    assert 'schema of the answer: {"' in out
    assert ["Deploy"] in [item["tools"] for item in json.loads(record)["requests"]]


def test_a_rehearsal_leaves_out_what_may_not_go(night: Say, home: Path, repo: Repository) -> None:
    share(repo)

    _, out, _ = run(night, home, "--outgoing", verb="dry-run", send="reviewed")

    assert "lodash" in out
    assert "left-pad" not in out


def test_only_a_dry_run_rehearses(night: Say, home: Path) -> None:
    code, _, told = run(night, home, "--outgoing", send="mined")

    assert (code, MODEL.asked) == (2, [])
    assert "belongs to `dry-run`" in told


# --- init, doctor, prompts ---------------------------------------------------------------------------------------


def test_init_writes_down_what_may_be_sent_in_ones_own_file(repo: Repository, invoke: Run) -> None:
    """Which is not the repository's, and is never changed when it is there."""
    own = user_file(os.environ)
    first = invoke("init", "--send", "reviewed")
    again = invoke("init", "--send", "mined")

    assert str(own) in first["made"]
    assert str(own) in again["kept"]
    assert own.read_text() == '[replay]\nsend = "reviewed"\n'


@pytest.mark.parametrize(
    ("text", "stored", "told"),
    [
        ('[replay]\nsend = "mined"\n', True, "says already what you decided: mined"),
        ('[replay]\nsend = "reviewed"\n', False, "still says reviewed"),
        ("[replay]\njobs = 2\n", False, "Add to the last one, in its section [replay]"),
        ("replay = 1\n", False, "Add to the last one"),
        ("no TOML", False, "Add to the last one"),
    ],
)
def test_init_tells_what_to_add_to_a_file_that_is_there(
    repo: Repository, invoke: Run, say: Callable[..., str], text: str, stored: bool, told: str
) -> None:
    """Programs hear it, too: else the decision would be lost."""
    own = user_file(os.environ)
    own.parent.mkdir(parents=True)
    own.write_text(text)

    record = invoke("init", "--send", "mined")

    missing = {"add_to": str(own), "text": '[replay]\nsend = "mined"\n'}
    assert record["send"] == {"decided": "mined"} | (dict.fromkeys(missing) if stored else missing)
    assert told in say("init", "--send", "mined")
    assert own.read_text() == text


def test_init_that_nobody_told_what_may_be_sent_decides_nothing(repo: Repository, invoke: Run) -> None:
    assert invoke("init")["send"] is None


def test_init_refuses_another_answer_before_it_writes(repo: Repository, say: Callable[..., str]) -> None:
    assert "`reviewed` or `mined`" in say("init", "--send", "all", code=2)
    assert not (repo.path / ".skillopt.toml").exists()


@pytest.mark.parametrize(
    ("typed", "decided"), [("mined\n", "mined"), ("what?\nReviewed\n", "reviewed"), ("\n", None), ("", None)]
)
def test_init_asks_whoever_sits_at_a_terminal_once(
    repo: Repository, monkeypatch: pytest.MonkeyPatch, say: Callable[..., str], typed: str, decided: str | None
) -> None:
    """An empty line decides nothing, and so does a closed input; what is decided is not asked again."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    out = say("init")
    own = user_file(os.environ)

    assert "What may that" in out
    assert (own.read_text() if own.exists() else None) == (f'[replay]\nsend = "{decided}"\n' if decided else None)
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    assert ("What may that" in say("init")) is (decided is None)


def test_doctor_tells_where_requests_would_go(night: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """And how the documents reach the model, and that the key is missing; it asks nobody."""
    code, out, _ = night("doctor", send="mined")
    assert code == 1
    assert "target: acme (acme-1) at api.acme.example. As a system message." in " ".join(out.split())
    assert " ".join(out.split()).count("No key for acme is in the environment") == 1

    monkeypatch.setenv("ACME_API_KEY", "k")
    _, out, _ = night("doctor", "--json", send="mined")
    record = json.loads(out)
    assert [item["role"] for item in record["models"]] == ["target", "optimizer"]
    assert not any("acme" in finding["what"] for finding in record["findings"])
    assert MODEL.asked == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"library": "nosuchpackage", "extra": "acme"}, "pip install 'skillopt-git[acme]'"),
        ({"program": "no-such-program"}, "There is no program `no-such-program`"),
    ],
)
def test_doctor_tells_what_a_backend_lacks(
    night: Say, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], told: str
) -> None:
    monkeypatch.setattr(THIS, "ABOUT", replace(ABOUT, **change))
    _, out, _ = night("doctor", send="mined")
    assert told in out


REAL = {
    "openai": ({"OPENAI_API_KEY": "k"}, "No model is named for openai"),
    "azure_openai": ({"AZURE_OPENAI_API_KEY": "k", "SKILLOPT_REPLAY_MODEL": "d"}, "No Azure resource is named"),
    "anthropic": ({"SKILLOPT_REPLAY_BASE_URL": "http://127.0.0.1:9"}, "There is no key: set ANTHROPIC_API_KEY"),
    "claude": ({"SKILLOPT_REPLAY_KEY_ENV": "ACME_KEY"}, "No key for claude is in the environment: set ACME_KEY"),
    "cassette": ({"SKILLOPT_REPLAY_CASSETTE": "absent.jsonl"}, "There is no cassette absent.jsonl"),
}
PRICED = {"ANTHROPIC_API_KEY": "k", "SKILLOPT_REPLAY_MODEL": "claude-none-9", "SKILLOPT_BUDGET_USD": "1"}
TAPED = {"ANTHROPIC_API_KEY": "k", "SKILLOPT_REPLAY_RECORD": "anthropic"}


@pytest.mark.parametrize(
    ("backend", "environ", "told"),
    [
        *((name, *of) for name, of in REAL.items()),
        ("anthropic", PRICED, "budget.usd cannot be kept"),
        ("cassette", TAPED, "replay.cassette names no file"),
        ("cassette", TAPED | {"SKILLOPT_REPLAY_CASSETTE": "."}, "Is a directory"),
    ],
)
def test_doctor_finds_what_the_next_run_would_end_with(
    night: Say, home: Path, monkeypatch: pytest.MonkeyPatch, backend: str, environ: dict[str, str], told: str
) -> None:
    """The doors say it themselves: they open without asking anybody. Told once, though one model plays both roles."""
    for name, value in {"SKILLOPT_REPLAY_BACKEND": backend, **environ}.items():
        monkeypatch.setenv(name, value)

    code, out, _ = night("doctor", send="mined")

    assert code == 1
    assert " ".join(out.split()).count(told) == 1
    assert run(night, home, verb="dry-run", send="mined")[0] != 0


@pytest.mark.parametrize(
    ("backend", "environ"),
    [
        ("azure_openai", {"AZURE_OPENAI_ENDPOINT": "https://acme.openai.azure.com", "SKILLOPT_REPLAY_MODEL": "d"}),
        ("openai", {"SKILLOPT_REPLAY_BASE_URL": "http://127.0.0.1:9/v1", "SKILLOPT_REPLAY_MODEL": "m"}),
        ("anthropic", {"ANTHROPIC_API_KEY": "k", "SKILLOPT_REPLAY_BATCH": "true", "SKILLOPT_BUDGET_USD": "1"}),
        ("handoff", {"SKILLOPT_BUDGET_USD": "1"}),
        ("cassette", TAPED | {"SKILLOPT_REPLAY_CASSETTE": "new/tape.jsonl"}),
    ],
)
def test_doctor_finds_nothing_where_a_run_could_begin(
    night: Say, repo: Repository, monkeypatch: pytest.MonkeyPatch, backend: str, environ: dict[str, str]
) -> None:
    """Azure by Entra ID has no key, say. And nothing is written: no tape is begun, no folder made."""
    monkeypatch.chdir(repo.path)
    for name, value in {"SKILLOPT_REPLAY_BACKEND": backend, **environ}.items():
        monkeypatch.setenv(name, value)
    before = sorted(repo.path.rglob("*"))

    _, out, _ = night("doctor", "--json", send="mined")

    assert [item["what"] for item in json.loads(out)["findings"] if item["fault"]] == []
    assert sorted(repo.path.rglob("*")) == before


def test_doctor_leaves_a_recording_that_was_broken_off_as_it_is(
    night: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The half of a line at its end is cut off by the run that goes on with it."""
    tape = tmp_path / "tape.jsonl"
    tape.write_text('{"key": "0')
    for name, value in {**TAPED, "SKILLOPT_REPLAY_BACKEND": "cassette", "SKILLOPT_REPLAY_CASSETTE": str(tape)}.items():
        monkeypatch.setenv(name, value)

    _, out, _ = night("doctor", "--json", send="mined")

    assert not any(item["fault"] for item in json.loads(out)["findings"])
    assert tape.read_text() == '{"key": "0'


def test_doctor_repeats_why_a_run_would_be_refused(night: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody said what may be sent; and an address that is none."""
    _, out, _ = night("doctor")
    assert "in the way: Nobody said what may be sent" in " ".join(out.split())
    monkeypatch.setenv("SKILLOPT_REPLAY_BASE_URL", "nonsense")
    code, out, _ = night("doctor", send="mined")
    assert code == 1
    assert "What replay.base_url holds is no address of a server" in " ".join(out.split())


def test_prompts_are_shown_as_they_are(repo: Repository, say: Callable[..., str], invoke: Run) -> None:
    """The shipped ones, until the base branch has one of its own."""
    assert "judge: as shipped" in say("prompts")
    assert say("prompts", "judge").strip() == SHIPPED.texts["judge"].strip()
    repo.commit("Word the judge", {".skillopt/prompts/judge.md.j2": "Is {{ answer }} right by {{ rubric }}?\n"})

    assert "judge: of this repository" in say("prompts")
    assert "Is {{ answer }} right" in say("prompts", "judge")
    record = invoke("prompts", "judge")
    assert record["prompts"] == [{"name": "judge", "own": True, "text": "Is {{ answer }} right by {{ rubric }}?\n"}]
    assert "did you mean 'judge'" in say("prompts", "juge", code=2)


@pytest.mark.parametrize("path", ["juge.md.j2", "judge.txt", "more/judge.txt"])
def test_a_file_that_is_no_prompt_is_refused(repo: Repository, say: Callable[..., str], path: str) -> None:
    repo.commit("Word something", {f".skillopt/prompts/{path}": "Hm?\n"})

    assert ".skillopt/prompts" in say("prompts", code=2)


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_repositorys_prompt_is_what_the_model_hears(night: Say, home: Path, repo: Repository) -> None:
    """And an answer to other words is not remembered for it."""
    run(night, home, send="mined")
    before = len(MODEL.asked)
    repo.commit(
        "Word it", {".skillopt/prompts/attempt.md.j2": "Obey:\n{% for d in documents %}{{ d.text }}{% endfor %}\n"}
    )
    subprocess.run(["git", "-C", repo.path, "branch", "-D", "-q", *_sleeps(repo)], check=True)

    run(night, home, "--lookback-hours", "0", send="mined")

    assert len(MODEL.asked) > before


def _sleeps(repo: Repository) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads/sleep").split()
