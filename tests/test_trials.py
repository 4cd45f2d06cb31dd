"""A trial over several nights: what a draft becomes when it is measured further."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from skillopt_git import nightly
from skillopt_git.config import load
from skillopt_git.nightly import Options, Ran
from skillopt_git.ports import CallFailed, Reply, Request
from tests.helpers import Repository
from tests.nights import PNPM, RULE, Run, obedient, sessions
from tests.test_nightly_measured import choice

Night = Callable[..., Ran]
FEW = {"gate.rollouts": 2}  # four pairs of two tasks: e = 6.2, which is not enough in one night


@pytest.fixture
def night(repo: Repository, home: Any) -> Night:
    """The next night, with a model that varies. Its sessions are read again every time."""
    began = datetime.now(UTC)
    count = iter(range(100))

    def call(script: Callable[[Request], Reply | CallFailed] = obedient, **flags: Any) -> Ran:
        config = load(repo.path, flags={"harvest.claude_home": str(home), **FEW, **flags})
        model, _ = choice(script, deterministic=False)
        at = began + timedelta(days=next(count))
        options = Options(anew=True)
        return nightly.run(repo.path, config, options, model=model, clock=lambda: at, notify=lambda _: None)

    return call


def contrary(request: Request) -> Reply | CallFailed:
    """A model that does well unless it is told the rule."""
    if request.purpose != "rollout":
        return obedient(request)
    taught = any(RULE in text for _, text in request.documents)
    return Reply(text="npm install" if taught else "pnpm install")


def rulings(invoke: Run) -> list[dict[str, Any]]:
    events = invoke("log", "--limit", "1000")["events"]
    return [item["data"] for item in reversed(events) if item["type"] == "gate"]


def test_a_draft_becomes_ready_on_the_night_that_proves_it(
    repo: Repository, home: Any, night: Night, invoke: Run
) -> None:
    """Its commits stay as they are; page, status and `verify` follow the newest ruling."""
    sessions(home, repo, PNPM)
    first = night()
    branch = first.record["branch"]
    tip = repo.git("rev-parse", branch)
    assert (first.record["verdict"], first.record["accepted"]) == ("suggestive", False)
    assert invoke("show", branch)["draft"] is True

    second = night()

    assert (second.record["verdict"], second.record["accepted"]) == ("strong", True)
    assert second.record["edits"] == []
    assert any("measured further, and is strong" in note for note in second.record["notes"])
    assert "## Proven further" in second.report.partition("## What was read")[0]
    assert "## Proven further" not in first.report
    assert second.page is not None
    drawn = second.page.read_text(encoding="utf-8")
    assert drawn.count("<title id=") == 3
    assert "0 of 4 without the rule, 4 of 4 with it; " in drawn.partition("Passes in each night of the trial")[2]
    assert repo.git("rev-parse", branch) == tip
    page = invoke("show", branch)
    assert page["draft"] is False
    assert "xychart-beta\n" in page["body"]
    assert "passed 8 of 8 rollouts with the rule and 0 of 8 without it" in page["body"]
    nights = [line for line in page["body"].splitlines() if "| 0 of 4 | 4 of 4 |" in line]
    assert [line.rsplit("|", 2)[1].strip() for line in nights] == ["6.2", "56.78"]
    assert [ran.record["run"] in row for ran, row in zip([first, second], nights, strict=True)] == [True, True]
    assert [item["verdict"] for item in invoke("status")["open"][0]["edits"]] == ["strong"]
    assert [(item["recorded"], item["problems"]) for item in invoke("verify")["edits"]] == [("strong", [])]
    told = rulings(invoke)
    assert [item["verdict"] for item in told] == ["suggestive", "strong"]
    assert len({item["trial"] for item in told}) == 1
    assert len([item for item in invoke("log", "--all", "--limit", "999")["events"] if item["type"] == "trial"]) == 1
    third = night()
    assert third.record["candidates"] == []


def test_a_draft_that_is_proven_is_adopted_by_itself_if_so_told(repo: Repository, home: Any, night: Night) -> None:
    """On that night, and not before."""
    sessions(home, repo, PNPM)
    told = {"propose.auto_adopt": True}

    assert night(**told).record["adopted_commit"] is None
    assert night(**told).record["adopted_commit"] == repo.git("rev-parse", "main").strip()


def test_a_draft_that_others_refute_leaves_its_branch(repo: Repository, home: Any, night: Night, invoke: Run) -> None:
    """Later nights speak against it: it is given up, and remembered as what the gate refused."""
    sessions(home, repo, PNPM)
    branch = night().record["branch"]

    verdicts = [night(contrary).record["verdict"] for _ in range(3)]

    assert verdicts[0] == "inconclusive"
    assert invoke("status")["open"] == []
    (given_up,) = [item for item in invoke("log", "--limit", "999")["events"] if item["type"] == "expired"]
    assert given_up["data"]["branch"] == branch
    assert "its trial ended without a proof" in given_up["reason"]


def test_no_pair_is_used_twice_and_a_task_has_an_end(repo: Repository, home: Any, night: Night, invoke: Run) -> None:
    """Every night asks with numbers of its own; then the rule waits for another task."""
    sessions(home, repo, PNPM)
    asked: list[str] = []

    def noted(request: Request) -> Reply | CallFailed:
        if request.sample:
            asked.append(f"{request.sample} {request.ask} {any(RULE in text for _, text in request.documents)}")
        return obedient(request)

    strict = {"gate.strong_e": 1e9, "gate.pairs": 4}
    for _ in range(2):
        night(noted, **strict)
    many = len(asked)
    assert many == len(set(asked)) == 2 * 2 * 2 * 2

    last = night(noted, **strict)

    assert len(asked) == many
    assert any("waits for another task that needs it" in note for note in last.record["notes"])
    assert len(rulings(invoke)) == 2


def test_a_trial_has_a_last_night(repo: Repository, home: Any, night: Night, invoke: Run) -> None:
    """What is not proven by then is given up, though nothing speaks against it."""
    sessions(home, repo, PNPM)
    for _ in range(3):
        night(**{"gate.strong_e": 1e9, "gate.pairs": 100, "gate.nights": 3})

    assert invoke("status")["open"] == []
    assert [item["verdict"] for item in rulings(invoke)] == ["suggestive"] * 3


def test_another_gate_is_another_trial(repo: Repository, home: Any, night: Night) -> None:
    """Its figures would not be of one thing."""
    sessions(home, repo, PNPM)
    night()

    (told,) = [note for note in night(**{"gate.strong_e": 25}).record["notes"] if "measured further" in note]

    assert told == f"'{RULE}' is not measured further: its document, model, judge or gate changed"


def test_a_night_that_cannot_measure_counts_for_nothing(repo: Repository, home: Any, night: Night, invoke: Run) -> None:
    """The draft stands as it stood, with the evidence it had."""
    sessions(home, repo, PNPM)
    branch = night().record["branch"]
    body = invoke("show", branch)["body"]

    def failing(request: Request) -> Reply | CallFailed:
        return CallFailed("refused", "no") if request.sample else obedient(request)

    assert night(failing).record["verdict"] == "invalid"
    assert invoke("show", branch)["body"] == body
    assert night().record["verdict"] == "strong"
