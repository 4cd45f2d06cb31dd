"""The gate's own controls: an edit that says nothing, and a proven rule that is taken out again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from skillopt_git import nightly
from skillopt_git.controls import NOTHING
from skillopt_git.loading import load
from skillopt_git.nightly import Options, Ran
from skillopt_git.ports import CallFailed, Reply, Request
from tests.helpers import Repository
from tests.nights import PNPM, RULE, SKILL, Run, obedient, sessions
from tests.test_nightly_measured import choice

Night = Callable[..., Ran]
Script = Callable[[Request], Reply | CallFailed]
NULL, KNOWN = "an edit that says nothing", "a rule taken out"


@pytest.fixture
def night(repo: Repository, home: Any) -> Night:
    """The night of a day, with a model that varies; what it proves is adopted at once."""
    began = datetime.now(UTC)
    sessions(home, repo, PNPM)

    def call(day: float, script: Script = obedient, *, deterministic: bool = False, **flags: Any) -> Ran:
        given = {"harvest.claude_home": str(home), "propose.auto_adopt": True}
        config = load(repo.path, flags={**given, **{key.replace("__", "."): value for key, value in flags.items()}})
        model, _ = choice(script, deterministic=deterministic)
        at = began + timedelta(days=day)
        return nightly.run(repo.path, config, Options(anew=True), model=model, clock=lambda: at, notify=lambda _: None)

    return call


@pytest.fixture
def controls(invoke: Run) -> Callable[[], list[tuple[str, str]]]:
    """Kind and verdict of each so far, the oldest first."""

    def told() -> list[tuple[str, str]]:
        events = invoke("log", "--all", "--limit", "9999")["events"]
        return [(item["data"]["control"], item["data"]["verdict"]) for item in reversed(events) if item["type"] == "aa"]

    return told


def fooled(request: Request) -> Reply | CallFailed:
    """A model that does better for an edit that says nothing, so that the gate must call it strong."""
    if request.purpose != "rollout":
        return obedient(request)
    return Reply(text="pnpm add" if any(NOTHING.strip() in text for _, text in request.documents) else "npm install")


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_once_a_week_the_gate_is_tried_where_the_right_verdict_is_known(night: Night, controls: Any) -> None:
    """The edit that says nothing is not proven, the rule that was is proven again; not on the first night."""
    assert night(0).record["adopted_commit"]
    assert controls() == []
    night(6.9)
    assert controls() == []

    night(7)
    assert sorted(controls()) == [("known", "strong"), ("null", "inconclusive")]
    night(8)
    assert len(controls()) == 2
    night(14)
    assert len(controls()) == 4


def test_nothing_comes_of_a_control(repo: Repository, night: Night, controls: Any, invoke: Run) -> None:
    """Whatever it finds: no proposal, no edit, no trial, no word in a document. Its evidence is kept and whole."""
    night(0)
    branches, learned = repo.git("branch", "--list", "--verbose"), invoke("status")["learned"]

    ran = night(7, fooled)

    assert ("null", "strong") in controls()
    assert (ran.record["accepted"], ran.record["branch"]) == (False, None)
    assert repo.git("branch", "--list", "--verbose") == branches
    assert (invoke("status")["open"], invoke("status")["learned"]) == ([], learned)
    assert invoke("ledger verify")["findings"] == []


def test_the_page_says_how_often_the_gate_erred(night: Night, invoke: Run) -> None:
    """Beside every verdict."""
    first = night(0, propose__auto_adopt=False)
    branch = first.record["branch"]
    assert "Control of the gate" not in invoke("show", branch)["body"]

    night(7, fooled, propose__auto_adopt=False)

    told = "an edit that says nothing was tried 1 time, and called strong 1 time, worth a draft 0 times"
    assert told in invoke("show", branch)["body"]


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize("flags", [{"gate__aa_control": 0}, {"gate__mode": "strict"}, {"deterministic": True}])
def test_without_rollouts_that_vary_or_if_not_wanted_there_is_none(
    night: Night, controls: Any, flags: dict[str, Any]
) -> None:
    for day in (0, 7, 30):
        night(day, **flags)

    assert controls() == []


def test_a_control_that_cannot_be_measured_costs_the_night_nothing(night: Night, controls: Any) -> None:
    """It is told, and tried again the next night."""
    night(0)

    def down(request: Request) -> Reply | CallFailed:
        control = any(NOTHING.strip() in text for _, text in request.documents)
        return CallFailed("network", "the connection was refused") if control else obedient(request)

    ran = night(7, down)

    assert any("a control of the gate was not measured: " in it for it in ran.record["notes"])
    assert controls() == []
    night(8)
    assert len(controls()) == 2


def test_a_rule_that_a_person_reworded_is_not_known_to_help(repo: Repository, night: Night, controls: Any) -> None:
    """What was proven is not what stands there now."""
    night(0)
    text = repo.git("show", f"main:{SKILL}")
    repo.git("checkout", "-q", "-f", "main")
    repo.commit("Reword a rule", {SKILL: text.replace(RULE, "Use pnpm in place of npm")})

    night(7)

    assert [kind for kind, _ in controls()] == ["null"]


def test_a_control_is_told_in_the_log(night: Night, say: Callable[..., str]) -> None:
    night(0)
    night(7)

    told = say("log", "--all")

    assert f"{NULL}: inconclusive" in told
    assert f"{KNOWN}: strong" in told
    rates = "strong in 0 and a draft in 0 of 1 trial, a proven rule strong in 1 of 1"
    assert f"Controls of the gate: {NULL} was {rates}." in say("status")
