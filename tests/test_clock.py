"""A clock that jumps: nothing is read twice as new evidence, nothing is lost, and nothing is told in a wrong order."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import cli, roles
from skillopt_git.commands import night as night_
from skillopt_git.commands.demo import write_sessions
from tests.breaking import door
from tests.helpers import Repository
from tests.nights import OTHER, PNPM, RULE, TICKET, Run, taught

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)
Night = Callable[[datetime], dict[str, Any]]


@pytest.fixture
def night(repo: Repository, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Night:
    """A measured night at the time given."""
    monkeypatch.setitem(roles.BACKENDS, "scripted", f"{door.__module__}:{door.__name__}")
    words = ["run", "--repo", str(repo.path), "--backend", "scripted", "--claude-home", str(home), "--json"]

    def at(now: datetime) -> dict[str, Any]:
        monkeypatch.setattr(night_, "now", lambda: now)
        capsys.readouterr()
        assert cli.run(words) == 0, capsys.readouterr()
        return dict(json.loads(capsys.readouterr().out))

    return at


def wrote(repo: Repository, home: Path, dialogues: list[list[str]], until: datetime) -> None:
    write_sessions(home, str(repo.path), dialogues, until)


def read_until(repo: Repository) -> list[datetime]:
    record = json.loads((repo.path / ".git" / "skillopt" / "checkpoint.json").read_text())
    return [datetime.fromisoformat(time) for homes in record["read"].values() for time in homes.values()]


@pytest.mark.parametrize("ahead", [timedelta(hours=2), timedelta(days=40), timedelta(days=365 * 9)])
def test_what_was_said_after_the_clock_was_set_right_is_read(
    repo: Repository, home: Path, night: Night, invoke: Run, ahead: timedelta
) -> None:
    """The first night believed it was later: its checkpoint would leave out all that is said until then."""
    wrote(repo, home, PNPM, NOW + ahead)
    first = night(NOW + ahead)
    wrote(repo, home, [*PNPM, *TICKET], NOW + timedelta(hours=1))

    second = night(NOW + timedelta(hours=1))

    assert second["sessions"] == 7
    assert any("which is yet to come" in note for note in second["notes"])
    assert [edit["text"] for edit in second["edits"]] == [OTHER]
    assert all(rule in taught(repo, second["branch"]) for rule in (RULE, OTHER))
    assert second["branch"] == first["branch"]
    assert read_until(repo)[0] == NOW + timedelta(hours=1)
    third = night(NOW + timedelta(hours=2))
    assert (third["sessions"], third["edits"], third["notes"]) == (0, [], [])
    assert (first["night"], second["night"], third["night"]) == (1, 2, 3)


def test_what_is_read_again_is_no_new_evidence(repo: Repository, home: Path, night: Night, invoke: Run) -> None:
    """Two sessions are too few for a rule, however often a wrong clock makes them be read."""
    wrote(repo, home, PNPM[:1], NOW)

    for hours in (48, 36, 24, 0):
        found = night(NOW + timedelta(hours=hours))
        assert (found["tasks"], found["edits"], found["verdict"]) == (1, [], None)


def test_each_night_has_its_own_name_and_place(repo: Repository, home: Path, night: Night, invoke: Run) -> None:
    """Ids and branches differ though the times repeat, events are listed by their times, and decisions stand."""
    wrote(repo, home, PNPM, NOW + timedelta(days=400))
    first = night(NOW + timedelta(days=400))
    invoke("reject", "--reason", "not here")
    wrote(repo, home, [*PNPM, *TICKET], NOW)

    second, third = night(NOW), night(NOW)

    assert second["suppressed"][0]["text"] == RULE
    assert [edit["text"] for edit in second["edits"]] == [OTHER]
    assert (first["branch"], second["branch"]) == ("sleep/2027-04-06", "sleep/2026-03-02")
    assert len({first["run"], second["run"], third["run"]}) == 3
    assert third["commits"] == second["commits"]
    times = [event["ts"] for event in invoke("log", "--all")["events"]]
    assert times == sorted(times, reverse=True)
    assert invoke("status")["runs"] == 3
