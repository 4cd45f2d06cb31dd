"""Nights that meet a limit of their budget, through the command line, with a scripted model that is to be paid."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import cli, prices, roles
from skillopt_git.config import Budget, Config, Replay
from skillopt_git.ports import CallFailed, Reply, Request
from skillopt_git.prices import rates
from skillopt_git.private import Private
from skillopt_git.prompts import SHIPPED
from skillopt_git.redact import Redactor
from tests import metered
from tests.helpers import Repository
from tests.metered import EACH, MODEL
from tests.nights import PNPM, RULE, TICKET, Run, obedient, sessions
from tests.test_many_skills import use_skills

ONE = EACH.input_tokens + EACH.output_tokens
Said = dict[str, Any]


@pytest.fixture(autouse=True)
def metered_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(roles.BACKENDS, "metered", metered.DOOR)
    monkeypatch.setenv("SKILLOPT_REPLAY_SEND", "mined")
    monkeypatch.setenv("SKILLOPT_REPLAY_JOBS", "4")
    metered.forget()


@pytest.fixture
def night(repo: Repository, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> Callable[..., Said]:
    """One night by `run --json`, with these limits; the exit code must be `code`."""

    def call(*args: str, code: int = 0, verb: str = "run", **budget: float) -> Said:
        for name in ("tokens", "usd", "minutes", "week_tokens", "week_usd", "week_minutes"):
            monkeypatch.setenv(f"SKILLOPT_BUDGET_{name.upper()}", f"{budget.get(name, 0)}")
        capsys.readouterr()
        where = ("--repo", str(repo.path), "--claude-home", str(home), "--backend", "metered", "--quiet", "--json")
        assert cli.run([verb, *args, *where]) == code, capsys.readouterr()
        return dict(json.loads(capsys.readouterr().out))

    return call


def spent(repo: Repository) -> list[Said]:
    folder = repo.path / ".git" / "skillopt" / "spent"
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def paid(requests: list[Request] | None = None) -> int:
    return len(metered.asked if requests is None else requests)


def events(repo: Repository, kind: str) -> list[Said]:
    listed = repo.git("ls-tree", "-r", "--name-only", "refs/skillopt/ledger", "events").split()
    lines = [line for path in listed for line in repo.git("show", f"refs/skillopt/ledger:{path}").splitlines()]
    return [item for item in map(json.loads, lines) if item["type"] == kind]


def test_a_run_tells_what_it_used(repo: Repository, home: Path, night: Callable[..., Said], invoke: Run) -> None:
    """In tokens and dollars: in its record, its report, the ledger and the page of what it proposes."""
    sessions(home, repo, PNPM)

    record = night()

    calls = paid() + 1  # and the probe
    cost = rates("anthropic").cost(EACH, MODEL)
    assert record["verdict"] == "strong" or record["verdict"] == "suggestive"
    assert record["tokens"] == calls * ONE
    assert record["cost_usd"] is None  # nobody knows whose prices these are
    assert cost is not None
    (run,) = events(repo, "run")
    assert (run["data"]["tokens"], run["data"]["cost_usd"]) == (calls * ONE, None)
    body = invoke("show", record["branch"])["body"]
    assert f"tokens {calls * ONE:,}, price not measured" in body
    report = (repo.path / ".git" / "skillopt" / "reports" / record["run"] / "report.md").read_text()
    assert f"tokens {calls * ONE:,}, price not measured" in report
    assert [item["tokens"] for item in spent(repo)] == [calls * ONE]
    assert invoke("status")["spent_week"]["tokens"] == calls * ONE


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_where_the_price_is_known_it_is_told(
    repo: Repository, home: Path, night: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a limit in dollars holds."""
    monkeypatch.setitem(prices.PROVIDERS, "metered", "anthropic")
    sessions(home, repo, PNPM)
    cost = rates("anthropic").cost(EACH, MODEL)
    assert cost is not None

    record = night(usd=0.02)

    answered = paid() + 1
    assert record["cost_usd"] == pytest.approx(answered * cost)
    assert record["cost_usd"] <= 0.02
    assert record["reason"] == "budget"
    assert any("budget.usd is 0.02: " in note for note in record["notes"])
    whole = night()
    assert whole["reason"] == "gate" or whole["proposed"]


def test_a_budget_met_within_a_trial_ends_the_night_and_the_next_goes_on(
    repo: Repository, home: Path, night: Callable[..., Said]
) -> None:
    """Nothing is invalid or missing; what was answered is not asked again, and the verdict is that of a whole night."""
    sessions(home, repo, PNPM)

    first = night(tokens=14_000)

    assert (first["reason"], first["verdict"], first["accepted"], first["branch"]) == ("budget", None, False, None)
    assert first["tokens"] <= 14_000
    assert any(request.sample.endswith("/1") for request in metered.asked), "it ended within a trial"
    (note,) = [note for note in first["notes"] if note.startswith("the budget ended the night")]
    assert f"left for another night: '{RULE}'" in note
    assert "budget.tokens is 14,000" in note
    assert not any("calls that failed" in note for note in first["notes"])
    assert [item["data"]["verdict"] for item in events(repo, "gate")] == []
    before = list(metered.asked)

    second = night()

    asked = Counter(metered.asked)
    assert set(asked.values()) == {1}, "nothing is asked twice"
    assert paid() > len(before)
    (gate,) = events(repo, "gate")
    assert second["candidates"][0]["verdict"] == gate["data"]["verdict"] != "invalid"
    evidence = json.loads(repo.git("show", f"refs/skillopt/ledger:evidence/{gate['data']['evidence']}.json"))
    assert all(passed is not None for task in evidence["tasks"] for passed in (*task["base"], *task["cand"]))
    assert second["proposed"]


def test_a_night_in_small_portions_comes_to_what_one_night_comes_to(
    repo: Repository, home: Path, night: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the budget cuts it: the same pairs, the same evidence."""
    sessions(home, repo, PNPM)
    for _ in range(30):
        record = night(tokens=8_000)
        if record["reason"] != "budget":
            break
    assert record["proposed"]
    (portioned,) = events(repo, "gate")
    other = Repository.create(tmp_path / "other" / "acme-api", {"README.md": "# acme-api\n"})
    sessions(tmp_path / "other-home", other, PNPM)
    metered.forget()
    monkeypatch.delenv("SKILLOPT_BUDGET_TOKENS")
    where = ("--repo", str(other.path), "--claude-home", str(tmp_path / "other-home"))
    assert cli.run(["run", *where, "--backend", "metered", "--quiet", "--json"]) == 0
    (whole,) = events(other, "gate")
    assert portioned["data"]["verdict"] == whole["data"]["verdict"]

    def pairs(at: Repository, gate: Said) -> list[Any]:
        name = gate["data"]["evidence"]
        evidence = json.loads(at.git("show", f"refs/skillopt/ledger:evidence/{name}.json"))
        return sorted((task["part"], task["base"], task["cand"]) for task in evidence["tasks"])

    assert pairs(repo, portioned) == pairs(other, whole)


def test_what_was_proven_before_the_limit_is_proposed(repo: Repository, home: Path, night: Callable[..., Said]) -> None:
    """The night is one of success, and says what it left."""
    metered.varies[0] = False
    sessions(home, repo, [*PNPM, *TICKET])
    night(verb="dry-run")
    trials = list(dict.fromkeys(request.sample for request in metered.asked if request.sample.startswith("x1-")))
    assert len(trials) == 2
    second = next(at for at, request in enumerate(metered.asked) if request.sample == trials[1])
    tokens = (second + 2) * ONE + 1_700  # with the probe, and a call or two of the second trial
    shutil.rmtree(repo.path / ".git" / "skillopt" / "cache")

    record = night(tokens=tokens)

    assert (record["reason"], record["verdict"], record["accepted"]) == ("improved", "strong", True)
    assert any(note.startswith("the budget ended the night") for note in record["notes"])
    assert record["branch"] is not None
    assert len(record["edits"]) == 1
    assert record["tokens"] <= tokens


def test_a_week_that_is_spent_asks_nothing(repo: Repository, home: Path, night: Callable[..., Said]) -> None:
    """A run of before counts, and a dry run as much as any; it is said, and no failure. After the week it counts no
    more, and its record is gone."""
    sessions(home, repo, PNPM)
    night(verb="dry-run")
    (before,) = spent(repo)
    assert before["tokens"] == (paid() + 1) * ONE
    metered.forget()

    record = night(week_tokens=before["tokens"])

    assert (record["reason"], record["tokens"], paid()) == ("budget", 0, 0)
    (note,) = [note for note in record["notes"] if note.startswith("nothing was asked of a model")]
    assert f"budget.week_tokens is {before['tokens']:,}: {before['tokens']:,} are spent" in note
    assert night(tokens=10**9, week_tokens=10**9, minutes=60)["proposed"]
    for path in (repo.path / ".git" / "skillopt" / "spent").iterdir():
        old = {**json.loads(path.read_text()), "began": (datetime.now(UTC) - timedelta(days=8)).isoformat()}
        path.write_text(json.dumps(old))
    later = night(week_tokens=before["tokens"])
    assert later["tokens"] >= ONE
    assert [item["tokens"] for item in spent(repo)] == [later["tokens"]]


def test_minutes_end_a_night_too(repo: Repository, home: Path, night: Callable[..., Said]) -> None:
    """Here they are over before it begins."""
    sessions(home, repo, PNPM)
    record = night(minutes=0.000001)
    assert (record["reason"], record["tokens"]) == ("budget", 0)
    assert any("budget.minutes is 1e-06: they are over" in note for note in record["notes"])
    assert night(week_minutes=0.000001)["reason"] == "budget"


def test_what_a_run_spent_is_known_though_it_failed(repo: Repository, home: Path, night: Callable[..., Said]) -> None:
    """Half of a night was paid for when the key was withdrawn."""
    sessions(home, repo, PNPM)

    def withdrawn(request: Request) -> Reply | CallFailed:
        return obedient(request) if request.purpose == "rollout" else CallFailed("auth", "the key was withdrawn")

    metered.script.append(withdrawn)
    told = night(code=1)
    assert told["error"]["kind"] == "auth"
    (record,) = spent(repo)
    assert record["tokens"] == sum(request.purpose == "rollout" for request in metered.asked) * ONE + ONE


@pytest.mark.parametrize("name", ["usd", "week_usd"])
def test_a_limit_in_dollars_that_cannot_be_kept_is_refused(
    repo: Repository, home: Path, night: Callable[..., Said], name: str
) -> None:
    """Before anything is asked; a limit in tokens always can."""
    sessions(home, repo, PNPM)
    told = night(code=2, **{name: 5.0})
    assert told["error"]["kind"] == "usage"
    assert (
        f"budget.{name} cannot be kept: what {MODEL} costs at scripted is in no price table" in told["error"]["message"]
    )
    assert "budget.tokens" in told["error"]["hint"]
    assert paid() == 0


def test_damaged_records_of_spending_are_kept_aside_and_told(
    repo: Repository, home: Path, night: Callable[..., Said], invoke: Run
) -> None:
    """By `doctor` first, which moves nothing, then by the run."""
    sessions(home, repo, PNPM)
    night()
    (path,) = (repo.path / ".git" / "skillopt" / "spent").iterdir()
    path.write_text("{")
    findings = [item["what"] for item in invoke("doctor", code=0)["findings"]]
    assert any(path.name in what for what in findings), findings
    assert path.exists()
    assert invoke("status")["spent_week"]["tokens"] == 0

    record = night()

    assert any(re.search(rf"spent/{path.name} was damaged and is kept as", note) for note in record["notes"])


def test_an_estimate_asks_no_model_and_bounds_what_a_night_then_asks(
    repo: Repository, home: Path, night: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls, tokens and dollars of each role, and what the budget would cut; nothing is written."""
    monkeypatch.setitem(prices.PROVIDERS, "metered", "anthropic")
    sessions(home, repo, [*PNPM, *TICKET])

    told = night("--estimate", tokens=10_000, usd=100)

    assert paid() == 0
    assert repo.git("for-each-ref", "refs/skillopt") == ""
    assert not (repo.path / ".git" / "skillopt" / "bank.json").exists()
    assert told["prices"].startswith("genai-prices ")
    limits = {item["limit"]: item for item in told["budget"]}
    assert limits["budget.tokens"]["left"] == 10_000
    assert limits["budget.tokens"]["likely_ends_at"] is not None
    assert limits["budget.usd"]["most_ends_at"] is None
    assert [item["role"] for item in told["roles"]] == ["target", "optimizer"]
    assert told["sessions"] == len(PNPM) + len(TICKET)
    record = night()
    purposes = Counter(request.purpose for request in metered.asked)
    for purpose, calls in purposes.items():
        assert calls <= sum(step["most"]["calls"] for step in told["steps"] if step["purpose"] == purpose)
    assert purposes["mine"] == told["sessions"]
    most = told["total"]["most"]
    asked = Counter(request.role for request in metered.asked)
    for item in told["roles"]:
        assert 0 < item["likely"]["calls"] <= item["most"]["calls"]
        assert asked[item["role"]] <= item["most"]["calls"]
    assert record["tokens"] <= most["input_tokens"] + most["output_tokens"]
    assert record["cost_usd"] <= most["cost_usd"]
    assert told["total"]["likely"]["cost_usd"] < most["cost_usd"]
    read = sum(request.purpose == "mine" for request in metered.asked)
    (step,) = (item for item in told["steps"] if item["purpose"] == "mine")
    assert 0 < step["likely"]["calls"] <= read <= step["most"]["calls"]


def test_an_estimate_knows_what_memory_holds_back(repo: Repository, home: Path, night: Callable[..., Said]) -> None:
    """What is proposed already is likely not tried again, and its night asks about as much as was said."""
    sessions(home, repo, PNPM)
    assert likely(night("--estimate"), "the gate") > 0
    night()
    told = night("--estimate")
    assert (likely(told, "rules"), likely(told, "the gate")) == (0, 0)
    assert likely(told, "training tasks") > 0
    before = paid()
    night()
    assert paid() - before <= told["total"]["likely"]["calls"]


def test_an_estimate_has_each_skill_tried_by_the_tasks_that_read_it(
    repo: Repository, home: Path, night: Callable[..., Said]
) -> None:
    """Two wishes, each of one skill: the tasks of the other are no guard of it."""
    sessions(home, repo, [*PNPM, *TICKET])
    alone = likely(night("--estimate"), "the gate")
    skills = {f".claude/skills/{name}/SKILL.md": f"# {name}\n" for name in ("packages", "branches")}
    repo.commit("Write skills", skills)
    names = [*["packages"] * len(PNPM), *["branches"] * len(TICKET)]
    use_skills(home, dict(enumerate(names)))
    told = night("--estimate", "--lookback-hours", "0")
    assert 0 < likely(told, "the gate") < alone
    assert likely(told, "sessions read for wishes") == len(names)


def likely(told: Said, what: str) -> int:
    """Calls."""
    return sum(step["likely"]["calls"] for step in told["steps"] if step["step"] == what)


def test_an_estimate_in_words(
    repo: Repository, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the limits that are set; without anything to learn it says so."""
    words = ["run", "--estimate", "--repo", str(repo.path), "--claude-home", str(home), "--quiet"]
    assert cli.run([*words, "--backend", "metered"]) == 0
    assert "No model would be asked" in capsys.readouterr().out
    sessions(home, repo, PNPM)
    for budget, said in (
        ("2000000", "enough for the longest night"),
        ("40000", "likely enough; it would end the longest night at: "),
        ("11000", "it would likely end the night at: the gate"),
        ("4000", "it would likely end the night at: sessions read for wishes"),
    ):
        monkeypatch.setenv("SKILLOPT_BUDGET_TOKENS", budget)
        assert cli.run([*words, "--backend", "metered"]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert said in told
        assert f"budget.tokens leaves {int(budget):,}: " in told
    assert "the gate" in told
    assert "metered claude-haiku-4-5" in told
    assert "What the model finds in " in told
    assert "The price of a model is in no table (genai-prices " in told
    assert "The simulation costs nothing" not in told
    assert f"What the model finds in the {len(PNPM)} sessions that it reads nobody knows before" in told
    assert cli.run([*words, "--backend", "mock"]) == 0
    assert "The simulation costs nothing" in " ".join(capsys.readouterr().out.split())
    assert cli.run([*words, "--backend", "handoff"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Whoever answers costs nothing, and counts for no budget" in told
    assert "is in no table" not in told
    assert "leaves" not in told


def test_what_is_on_a_tape_already_is_paid_once(tmp_path: Path) -> None:
    """A recording that goes on counts what it asks, and what it answers from the tape it does not."""
    private = Private(tmp_path / "skillopt")
    private.made()
    replay = Replay(backend="cassette", record="metered", cassette=str(tmp_path / "tape.jsonl"), send="mined", jobs=2)
    config = Config(replay=replay, budget=Budget(tokens=100_000))
    asks = [Request(role="target", purpose="rollout", ask=f"Task {number}") for number in range(3)]
    for known, fresh in ((2, 2), (3, 1)):
        door = roles.chosen_model(config).open(private, Redactor(b"key"), SHIPPED, lambda _: None)
        models = door((), {})
        assert all(isinstance(item, Reply) for item in models.target.complete(asks[:known]))
        assert (models.used.calls, models.used.tokens) == (fresh, fresh * ONE)
        assert models.purse is not None
        assert models.purse.spent.tokens == fresh * ONE
        shutil.rmtree(private.cache)
