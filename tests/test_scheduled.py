"""What a scheduler starts: the environment, the log, and whether a night was missed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time as clock
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import cli, scheduled
from skillopt_git.errors import UsageError
from skillopt_git.private import Nightly, Private
from skillopt_git.schedules.crontab import block
from skillopt_git.timetable import Entry
from tests.helpers import Repository
from tests.nights import PNPM, sessions
from tests.standins import cron_environment
from tests.test_schedules_crontab import ODD, as_cron_does

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
AT = time(3, 17)
DUE = datetime(2026, 11, 30, 3, 17, tzinfo=UTC)


@pytest.fixture
def folder(repo: Repository) -> Path:
    """The repository's private folder."""
    made = repo.path / ".git" / "skillopt"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture(autouse=True)
def this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scheduled runs do not search the current folder."""
    monkeypatch.setenv("PYTHONPATH", cron_environment(Path())["PYTHONPATH"])


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    clock.tzset()
    yield
    monkeypatch.undo()
    clock.tzset()


def noted(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "schedule.json").read_text()))


# --- a whole night, as cron starts it ----------------------------------------------------------------------------


def test_the_line_of_a_crontab_runs_a_night_in_an_empty_environment(tmp_path: Path, home: Path, isolated: Path) -> None:
    """Under /bin/sh, for a folder of every odd character; settings, key and sessions are those of the user's files."""
    repo = Repository.create(tmp_path / ODD, {"README.md": "# acme-api\n"})
    sessions(home, repo, PNPM)
    settings = isolated / ".config" / "skillopt"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(f'[replay]\nbackend = "mock"\n[harvest]\nclaude_home = "{home}"\n')
    (settings / "env").write_text("SKILLOPT_HARVEST_SOURCE=claude\n")
    (settings / "env").chmod(0o600)
    entry = Entry(
        repository=str(repo.path),
        private=str(repo.path / ".git" / "skillopt"),
        at="03:17",
        auto_adopt=False,
        python=sys.executable,
    )
    daily = block(entry).splitlines()[1]
    line = as_cron_does(daily.split(" ", 5)[5])

    environ = cron_environment(isolated)
    done = subprocess.run(["/bin/sh", "-c", line], cwd=isolated, env=environ, capture_output=True, check=False)

    log = Path(entry.private, "schedule.log").read_text()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), log
    assert [event["text"] for event in ledger(repo, "proposed")] == ["Use pnpm, not npm"]
    (event,) = ledger(repo, "run")
    assert event["simulated"] is True
    assert repo.git("branch", "--list", "sleep/*").strip().startswith("sleep/")


def ledger(repo: Repository, type_: str) -> list[dict[str, Any]]:
    """The events of one type in the repository's ledger."""
    names = repo.git("ls-tree", "-r", "--name-only", "refs/skillopt/ledger", "events/").splitlines()
    lines = "".join(repo.git("show", f"refs/skillopt/ledger:{name}") for name in names).splitlines()
    return [event for event in map(json.loads, lines) if event["type"] == type_]


# --- the environment and the log ---------------------------------------------------------------------------------


def test_a_run_has_the_path_that_was_kept_and_the_keys_of_the_users_file(
    folder: Path, isolated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file lies where the user's settings did when it was scheduled; what it says wins."""
    config = tmp_path / "config"
    (config / "skillopt").mkdir(parents=True)
    (config / "skillopt" / "env").write_text("ACME_KEY='a b'\nPATH=/opt/keys/bin\n")
    (config / "skillopt" / "env").chmod(0o600)
    known = scheduled.kept({"PATH": "/opt/git/bin", "XDG_CONFIG_HOME": str(config), "ACME": "1", "CODEX_HOME": ""})
    assert known == {"PATH": "/opt/git/bin", "XDG_CONFIG_HOME": str(config)}
    assert scheduled.environment(known, {"HOME": str(isolated)}) == {
        "PATH": "/opt/keys/bin",
        "XDG_CONFIG_HOME": str(config),
        "ACME_KEY": "a b",
    }
    Private(folder).save("schedule.json", Nightly(environ={"PATH": "/nowhere"}))
    assert scheduled.run(folder, ["status"], at=AT, if_missed=False, now=NOW) == 2
    assert "git is not installed, or not on the PATH" in (folder / "schedule.log").read_text()


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_a_run_prints_goes_to_a_private_log(folder: Path, repo: Repository) -> None:
    """One after the other, results and errors, with when and what; the code of a failure is the scheduler's too."""
    assert scheduled.run(folder, ["status", "--repo", str(repo.path)], at=AT, if_missed=False, now=NOW) == 0
    assert (noted(folder)["tried"], noted(folder)["code"]) == ("2026-11-30T12:00:00Z", 0)
    assert cli.run(["scheduled", "--private", str(folder), "--at", "03:17", "--", "run", "--repo", str(repo.path)]) == 2
    log = folder / "schedule.log"
    first, second = log.read_text().split("--- exit 0\n")
    assert first.startswith(f"--- 2026-11-30 12:00:00 +0000: {shlex.join(['status', '--repo', str(repo.path)])}\n")
    assert "No open proposal." in first
    assert "error: no backend is chosen" in second
    assert second.endswith("--- exit 2\n")
    assert log.stat().st_mode & 0o777 == 0o600
    assert noted(folder)["code"] == 2


def test_a_log_does_not_grow_for_ever(folder: Path) -> None:
    """Whole lines go, the oldest first."""
    log = folder / "schedule.log"
    log.write_text("old\n" * 200_000)
    scheduled.run(folder, ["--version"], at=AT, if_missed=False, now=NOW)
    text = log.read_text()
    assert 100_000 < len(text) < scheduled.LONGEST_LOG
    assert text.startswith("old\n")
    assert text.endswith("--- exit 0\n")
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "mode", "code", "told"),
    [
        ("A=1\n", 0o644, 5, "error: others than you may use {keys}, which is for keys\n  chmod 600 {keys}\n"),
        ("A='1\n", 0o600, 2, "error: line 1 of {keys} is not NAME=value\n"),
        (None, 0o700, 2, "error: {keys} cannot be read (Is a directory)\n"),
    ],
)
def test_keys_that_cannot_be_used_leave_a_trace(
    folder: Path, isolated: Path, text: str | None, mode: int, code: int, told: str
) -> None:
    """Nothing is run, and the log and the note say why: whoever sleeps sees no other sign."""
    keys = isolated / ".config" / "skillopt" / "env"
    keys.parent.mkdir(parents=True)
    if text is None:
        keys.mkdir()
    else:
        keys.write_text(text)
    keys.chmod(mode)
    assert cli.run(["scheduled", "--private", str(folder), "--at", "03:17", "--", "--version"]) == code
    log = (folder / "schedule.log").read_text()
    assert told.format(keys=keys) in log
    assert log.endswith(f"--- exit {code}\n")
    assert noted(folder)["code"] == code
    assert noted(folder)["tried"] is not None


def test_the_note_of_a_newer_tool_is_left_alone_and_told(folder: Path) -> None:
    """By the log and the exit code; also after a restart."""
    (folder / "schedule.json").write_text('{"v": 2}')
    for if_missed in (False, True):
        assert scheduled.run(folder, ["--version"], at=AT, if_missed=if_missed, now=NOW) == 2
    assert (folder / "schedule.log").read_text().count("newer tool (v 2)\n  update skillopt-git\n--- exit 2\n") == 2
    assert (folder / "schedule.json").read_text() == '{"v": 2}'


def test_modules_in_the_current_folder_are_not_taken(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """cron starts in the home, where a `random.py` may lie; the run is started in no work tree either."""
    (tmp_path / "random.py").write_text("raise SystemExit(9)\n")
    (folder / "random.py").write_text("raise SystemExit(9)\n")
    words = [sys.executable, "-P", "-m", "skillopt_git", "scheduled", "--private", str(folder), "--at", "03:17"]
    done = subprocess.run([*words, "--", "--version"], cwd=tmp_path, env={**os.environ}, check=False)
    assert (done.returncode, noted(folder)["code"]) == (0, 0)


def test_a_private_folder_that_is_gone_is_made_anew_but_not_a_repository(folder: Path, tmp_path: Path) -> None:
    """Then the scheduler hears of it, and how to end it."""
    folder.rmdir()
    assert scheduled.run(folder, ["--version"], at=AT, if_missed=False, now=NOW) == 0
    assert folder.stat().st_mode & 0o777 == 0o700
    with pytest.raises(UsageError, match="is gone") as caught:
        scheduled.run(tmp_path / "gone" / "skillopt", ["--version"], at=AT, if_missed=False, now=NOW)
    assert "schedule --list" in caught.value.hint
    assert not (tmp_path / "gone").exists()


# --- missed nights -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("since", "tried", "missed"),
    [
        (None, None, True),  # nothing is known any more
        (DUE - timedelta(days=9), None, True),
        (DUE + timedelta(hours=1), None, False),  # scheduled after it was due
        (DUE - timedelta(days=9), DUE - timedelta(days=1), True),
        (DUE - timedelta(days=9), DUE, False),
        (DUE - timedelta(days=9), NOW, False),
        (NOW + timedelta(days=365), NOW + timedelta(days=400), True),  # the clock went back
        (DUE - timedelta(days=9), NOW + timedelta(days=1), True),
    ],
)
def test_a_night_was_missed_if_its_time_passed_without_a_try(
    since: datetime | None, tried: datetime | None, missed: bool
) -> None:
    """A failed run was tried; a moment that is still to come says nothing."""
    assert scheduled.missed(Nightly(since=since, tried=tried, code=1), AT, NOW) is missed


@pytest.mark.parametrize(
    ("since", "tried", "nights"),
    [
        (None, None, 0),  # nothing is known
        (DUE - timedelta(days=9), None, 9),
        (DUE - timedelta(days=9, minutes=1), None, 10),
        (DUE - timedelta(days=9), DUE - timedelta(days=1), 1),
        (DUE - timedelta(days=9), DUE, 0),
        (DUE - timedelta(days=2), NOW + timedelta(days=1), 2),  # the clock went back
        (NOW + timedelta(days=365), None, 0),
    ],
)
def test_nights_without_a_run_are_counted(since: datetime | None, tried: datetime | None, nights: int) -> None:
    """From the last sign of one; a moment that is still to come is none."""
    assert scheduled.nights_without(Nightly(since=since, tried=tried), AT, NOW) == nights


def test_a_moment_without_a_zone_is_taken_for_local(berlin: None) -> None:
    """Only a person can have written it."""
    tried = datetime(2026, 11, 30, 3, 17)
    assert not scheduled.missed(Nightly(tried=tried), AT, NOW)
    assert scheduled.missed(Nightly(tried=tried - timedelta(minutes=1)), AT, NOW)


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("2026-11-30T02:17+00:00", "2026-11-30T03:17+01:00"),
        ("2026-11-30T02:16+00:00", "2026-11-29T03:17+01:00"),
        ("2026-07-01T01:17+00:00", "2026-07-01T03:17+02:00"),
        ("2026-10-25T02:00+00:00", "2026-10-24T03:17+02:00"),  # 3:00 of the day on which the clock went back
    ],
)
def test_the_time_of_day_is_that_of_this_machines_clock(berlin: None, now: str, due: str) -> None:
    """In summer and winter, and on the days between."""
    assert scheduled.last_due(AT, datetime.fromisoformat(now)) == datetime.fromisoformat(due)


def test_a_missed_night_is_made_up_for_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first restart after it runs, the next one does not; and each ends well."""
    words = ["scheduled", "--private", str(folder), "--at", "03:17", "--if-missed", "--", "--version"]
    assert cli.run(words) == 0
    assert (folder / "schedule.log").read_text().count("--- exit 0") == 1
    assert cli.run(words) == 0
    assert (folder / "schedule.log").read_text().count("--- exit 0") == 1
    assert capsys.readouterr() == ("", "")


def test_at_its_time_it_is_due_though_yesterdays_night_was_not_missed(folder: Path) -> None:
    """launchd starts the same words at the time of day and at every login."""
    Private(folder).save("schedule.json", Nightly(tried=DUE - timedelta(days=1)))
    assert scheduled.run(folder, ["--version"], at=AT, if_missed=True, now=DUE) == 0
    assert scheduled.run(folder, ["--version"], at=AT, if_missed=True, now=NOW) is None


def test_a_damaged_note_is_kept_aside(folder: Path) -> None:
    """And the run goes on without it."""
    (folder / "schedule.json").write_text("{")
    assert scheduled.run(folder, ["--version"], at=AT, if_missed=True, now=NOW) == 0
    assert len(list(folder.glob("schedule.json.damaged-*"))) == 1
    assert Private(folder).nightly() == replace(Nightly(), tried=NOW, code=0)
