"""`schedule` and `unschedule` as a person meets them, with stand-ins for the system's schedulers."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import cli
from skillopt_git.private import Nightly, Private
from skillopt_git.schedules.crontab import block
from skillopt_git.schedules.systemd import Systemd
from skillopt_git.scheduling import NETWORK, chosen
from skillopt_git.timetable import entry_id
from tests.helpers import Repository
from tests.nights import Run
from tests.standins import StandIns
from tests.test_timetable import ENTRY

Say = Callable[..., str]
THEIRS = "0 4 * * * backup\n"
OTHERS = block(ENTRY)  # another repository of this user


@pytest.fixture
def cron(standins: StandIns) -> StandIns:
    """A machine with cron and nothing else, and a crontab."""
    standins.add("crontab")
    standins.crontab.write_text(THEIRS)
    return standins


@pytest.fixture
def settings(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's settings, with a backend; no proxy of this machine."""
    for name in NETWORK:
        monkeypatch.delenv(name, raising=False)
    folder = isolated / ".config" / "skillopt"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[replay]\nbackend = "mock"\n')
    return folder


def listed(invoke: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = invoke("schedule", "--list")["schedules"]
    return found


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a verb that is no error says on both ways."""
    capsys.readouterr()
    assert cli.run(words) == 0
    captured = capsys.readouterr()
    return captured.out + captured.err


# --- schedule ----------------------------------------------------------------------------------------------------


def test_a_repository_is_scheduled_listed_and_unscheduled(
    cron: StandIns, repo: Repository, say: Say, settings: Path
) -> None:
    """In words; other people's entries stay as they are."""
    assert say("schedule").splitlines()[0] == f"{repo.path} runs every day at 03:17 with cron."
    assert say("schedule", "--list") == f"{repo.path} at 03:17 with cron\n  last run: none yet\n"
    assert say("unschedule") == f"{repo.path} is no longer scheduled with cron.\n"
    assert cron.crontab.read_text() == THEIRS
    assert say("schedule", "--list") == "Nothing is scheduled.\n"
    assert say("unschedule") == "Nothing was scheduled.\n"
    assert list((repo.path / ".git" / "skillopt").iterdir()) == []


def test_a_schedule_as_a_record(cron: StandIns, repo: Repository, invoke: Run, settings: Path) -> None:
    """What is in force, where it was written, and what was written."""
    record = invoke("schedule", "--at", "5:07", "--auto-adopt")
    (file,) = record.pop("files")
    assert file["path"] == "crontab"
    assert file["text"] + THEIRS == cron.crontab.read_text()
    assert "7 5 * * *" in file["text"]
    assert record == {
        "v": 1,
        "id": entry_id(str(repo.path)),
        "repository": str(repo.path),
        "at": "05:07",
        "scheduler": "cron",
        "auto_adopt": True,
        "written": True,
        "moved_from": [],
        "notes": [],
    }
    assert listed(invoke) == [
        {
            "id": record["id"],
            "scheduler": "cron",
            "repository": str(repo.path),
            "at": "05:07",
            "auto_adopt": True,
            "python": sys.executable,
            "last_run": None,
            "last_exit": None,
            "log": str(repo.path / ".git" / "skillopt" / "schedule.log"),
            "problems": [],
        }
    ]
    assert invoke("unschedule")["removed"] == [
        {"id": record["id"], "repository": str(repo.path), "scheduler": "cron"},
    ]


def test_the_time_of_the_users_settings_is_taken_where_none_is_given(
    cron: StandIns, repo: Repository, invoke: Run, settings: Path
) -> None:
    """A flag wins; a repository may not say when somebody's machine works."""
    with (settings / "config.toml").open("a") as file:
        file.write('[schedule]\nat = "22:05"\n')
    assert invoke("schedule", "--print")["at"] == "22:05"
    assert invoke("schedule", "--print", "--at", "21:00")["at"] == "21:00"
    repo.write({".skillopt.toml": '[schedule]\nat = "12:00"\n'})
    assert "may not be set by a repository" in invoke("schedule", code=2)["error"]["message"]


@pytest.mark.parametrize("scheduler", ["cron", "systemd", "launchd", "windows"])
def test_what_would_be_written_is_shown_and_not_written(
    standins: StandIns, repo: Repository, say: Say, isolated: Path, scheduler: str
) -> None:
    """Also for schedulers that this machine does not have."""
    text = say("schedule", "--print", "--with", scheduler)
    assert "skillopt_git" in text
    assert str(repo.path) in text
    assert [path.name for path in isolated.iterdir()] == [".gitconfig"]
    assert not (repo.path / ".git" / "skillopt").exists()
    assert not standins.crontab.exists()


def test_from_a_linked_worktree_the_main_one_is_scheduled(
    cron: StandIns, repo: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: Path
) -> None:
    """There is one entry a repository; and a bare one is scheduled by its folder."""
    linked, bare = tmp_path / "linked", tmp_path / "acme.git"
    repo.git("worktree", "add", "--quiet", str(linked))
    repo.git("clone", "--quiet", "--bare", ".", str(bare))
    assert told(capsys, "schedule", "--repo", str(linked)).startswith(f"{repo.path} runs every day")
    assert told(capsys, "schedule", "--repo", str(bare)).startswith(f"{bare} runs every day")
    assert f"--private {bare}/skillopt" in cron.crontab.read_text()
    assert told(capsys, "unschedule", "--repo", str(linked)).startswith(f"{repo.path} is no longer")
    assert cron.crontab.read_text().count(">>>") == 1


def test_what_will_be_missing_at_night_is_told(
    cron: StandIns, invoke: Run, say: Say, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of this shell is none of the scheduler's; the user's file of keys is read."""
    monkeypatch.setenv("SKILLOPT_REPLAY_BACKEND", "mock")
    backend, lost = invoke("schedule")["notes"]
    assert backend.startswith("no backend is chosen for scheduled runs")
    assert str(isolated / ".config" / "skillopt" / "config.toml") in backend
    assert lost.startswith("scheduled runs do not see SKILLOPT_REPLAY_BACKEND")
    keys = isolated / ".config" / "skillopt" / "env"
    keys.write_text("SKILLOPT_REPLAY_BACKEND=mock\n")
    keys.chmod(0o600)
    assert invoke("schedule")["notes"] == []


def test_what_a_model_will_miss_at_night_is_told(
    cron: StandIns, repo: Repository, invoke: Run, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its key, where that lies in this shell only, and what else it reads; no value is kept or told."""
    (settings / "config.toml").write_text('[replay]\nbackend = "anthropic"\nkey_env = "ACME_KEY"\n')
    monkeypatch.setenv("ACME_KEY", "sk-of-a-model-27b1")
    monkeypatch.setenv("HTTPS_PROXY", "http://alice:s3cret@proxy.acme.example")

    consent, key, lost = invoke("schedule")["notes"]

    assert consent.startswith("nobody said what may be sent to anthropic")
    assert key.startswith(
        "No key for anthropic is in the environment: set ACME_KEY; variables of scheduled runs stand in"
    )
    assert lost.startswith("scheduled runs do not see ACME_KEY, HTTPS_PROXY: ")
    note = repo.path / ".git" / "skillopt" / "schedule.json"
    assert note.stat().st_mode & 0o777 == 0o600
    for text in (note.read_text(), cron.crontab.read_text(), consent, key, lost):
        assert "27b1" not in text
        assert "s3cret" not in text

    keys = settings / "env"
    keys.write_text(
        "ACME_KEY=sk-of-a-model-27b1\nSKILLOPT_REPLAY_SEND=reviewed\nHTTPS_PROXY=http://proxy.acme.example\n"
    )
    keys.chmod(0o600)
    assert invoke("schedule")["notes"] == []


@pytest.mark.parametrize(
    ("chosen", "lacks"),
    [
        ('backend = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:11434/v1"', ""),
        ('backend = "openai"\nmodel = "m"', "OPENAI_API_KEY"),
        ('backend = "azure_openai"\nmodel = "m"\nbase_url = "https://acme.openai.azure.com"', ""),
        (
            'backend = "azure_openai"\nmodel = "m"\nbase_url = "https://acme.openai.azure.com"\nkey_env = "AZURE_KEY"',
            "AZURE_KEY",
        ),
        ('backend = "handoff"', ""),
    ],
)
def test_a_key_is_missed_only_where_one_is_needed(
    cron: StandIns, invoke: Run, settings: Path, chosen: str, lacks: str
) -> None:
    """Not for a server on this machine, not where a login opens it, unless a variable was named for it."""
    (settings / "config.toml").write_text(f'[replay]\nsend = "reviewed"\n{chosen}\n')
    assert [note.partition(";")[0].rpartition(" ")[2] for note in invoke("schedule")["notes"]] == [lacks][: bool(lacks)]


def test_notes_are_told_to_a_person_beside_the_result(
    cron: StandIns, repo: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, for they are no result."""
    assert cli.run(["schedule", "--repo", str(repo.path)]) == 0
    assert "note: no backend is chosen" in capsys.readouterr().err


def test_keys_that_others_may_read_refuse(cron: StandIns, invoke: Run, settings: Path) -> None:
    """Before anything is written."""
    (settings / "env").write_text("ACME_KEY=1\n")
    (settings / "env").chmod(0o644)
    error = invoke("schedule", code=5)["error"]
    assert (error["kind"], error["hint"]) == ("safety", f"chmod 600 {settings / 'env'}")
    assert cron.crontab.read_text() == THEIRS


def test_what_is_wrong_is_refused_before_anything_is_written(cron: StandIns, say: Say, settings: Path) -> None:
    """A time that is none, a scheduler that is unknown or not there, options that do not go together."""
    assert "'25:00' is no time of day" in say("schedule", "--at", "25:00", code=2)
    assert "did you mean 'systemd'?" in say("schedule", "--with", "systemctl", code=2)
    assert "known: auto, systemd, cron" in say("unschedule", "--with", "at", code=2)
    assert "launchd cannot be used here" in say("schedule", "--with", "launchd", code=2)
    assert "goes with none" in say("schedule", "--list", "--auto-adopt", code=2)
    cron.fail("crontab", "-l", "Permission denied")
    assert "Permission denied" in say("schedule", code=1)
    assert cron.crontab.read_text() == THEIRS


def test_a_repository_in_a_folder_that_no_line_can_hold_is_refused(
    cron: StandIns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line break would begin a line of its own in the crontab."""
    repo = Repository.create(tmp_path / "a\n* * * * * touch x", {})
    assert cli.run(["schedule", "--repo", str(repo.path)]) == 2
    assert "cannot be written into a schedule" in capsys.readouterr().err
    assert cron.crontab.read_text() == THEIRS


# --- which scheduler ---------------------------------------------------------------------------------------------


def test_systemd_is_taken_where_it_answers(standins: StandIns, invoke: Run, settings: Path) -> None:
    """Else cron, though the program is there."""
    standins.add("systemctl", "crontab")
    assert invoke("schedule", "--print")["scheduler"] == "systemd"
    standins.fail("systemctl", "show", "Failed to connect to bus")
    assert invoke("schedule", "--print")["scheduler"] == "cron"


@pytest.mark.parametrize(
    ("platform", "program", "scheduler"), [("darwin", "launchctl", "launchd"), ("win32", "schtasks", "windows")]
)
def test_a_platforms_own_scheduler_is_taken_before_cron(
    standins: StandIns, platform: str, program: str, scheduler: str
) -> None:
    """It makes up for nights that the machine slept through; but only where it is there."""
    standins.add("crontab")
    assert chosen("auto", {}, platform).name == "cron"
    standins.add(program)
    assert chosen("auto", {}, platform).name == scheduler


def test_without_any_scheduler_it_says_what_to_install(standins: StandIns, say: Say) -> None:
    """And what is missing of each."""
    error = say("schedule", code=2)
    assert "systemd: there is no `systemctl` command; cron: there is no `crontab` command" in error
    assert "apt install cron" in error


def test_a_repository_is_in_one_scheduler_only(
    cron: StandIns, repo: Repository, say: Say, invoke: Run, settings: Path
) -> None:
    """Else it would run twice a night."""
    invoke("schedule")
    cron.crontab.write_text(OTHERS + cron.crontab.read_text())
    cron.add("systemctl")
    assert "It is no longer scheduled with cron." in say("schedule", "--at", "04:00")
    assert cron.crontab.read_text() == OTHERS + THEIRS
    assert [(item["scheduler"], item["at"]) for item in listed(invoke)] == [("systemd", "04:00"), ("cron", "03:17")]


def test_a_scheduler_that_cannot_be_looked_at_is_told_and_does_not_hinder_another(
    cron: StandIns, repo: Repository, say: Say, invoke: Run, settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless it may be the one that was meant."""
    cron.add("systemctl")
    cron.fail("crontab", "-l", "not allowed")
    (note,) = invoke("schedule")["notes"]
    assert "could not be looked for: crontab -l: not allowed" in note
    record = invoke("schedule", "--list")
    assert (len(record["schedules"]), record["problems"]) == (1, ["crontab -l: not allowed"])
    assert "not looked at: crontab -l: not allowed" in told(capsys, "schedule", "--list")
    assert "not looked at: crontab -l: not allowed" in told(capsys, "unschedule", "--repo", str(repo.path))
    assert "crontab -l: not allowed" in say("unschedule", code=1)
    assert say("unschedule", "--with", "systemd") == "Nothing was scheduled.\n"


# --- list and unschedule -----------------------------------------------------------------------------------------


def test_the_list_tells_of_every_repository_and_what_is_wrong(
    cron: StandIns, repo: Repository, invoke: Run, say: Say, tmp_path: Path, settings: Path
) -> None:
    """A run that failed, a repository and an interpreter that are gone, lines that cannot be read."""
    other = Repository.create(tmp_path / "acme shop", {"README.md": "# acme-shop\n"})
    gone = str(other.path)
    assert cli.run(["schedule", "--auto-adopt", "--repo", gone]) == 0
    invoke("schedule")
    shutil.rmtree(other.path)
    tried = datetime.now(UTC).replace(microsecond=0)
    private = Private(repo.path / ".git" / "skillopt")
    private.save("schedule.json", Nightly(tried=tried, code=2))
    found = {item["repository"]: item for item in listed(invoke)}
    assert found[gone]["problems"] == [
        f"the repository is gone: `skillopt-git unschedule --repo '{gone}'` takes the schedule away"
    ]
    mine = found[str(repo.path)]
    assert (mine["last_run"], mine["last_exit"]) == (f"{tried:%Y-%m-%dT%H:%M:%S}.000Z", 2)
    assert mine["problems"] == [f"the last run ended with 2: see {mine['log']}"]
    text = say("schedule", "--list")
    assert f"{gone} at 03:17 with cron, adopts what is strong\n" in text
    assert f"  last run: {tried:%Y-%m-%d %H:%M} UTC, exit 2\n" in text

    private.nightly_file.write_text('{"v": 2}')
    assert "was written by a newer tool (v 2): update skillopt-git\n" in say("schedule", "--list")
    private.save("schedule.json", Nightly(tried=tried))
    cron.crontab.write_text(cron.crontab.read_text().replace(sys.executable, "/opt/gone/python"))
    assert "the interpreter /opt/gone/python is gone: schedule again" in say("schedule", "--list")
    assert f"  last run: {tried:%Y-%m-%d %H:%M} UTC, not ended\n" in say("schedule", "--list")
    cron.crontab.write_text(cron.crontab.read_text().replace("--quiet", "--loud"))
    unreadable = "its lines in the crontab were changed and cannot be read: schedule again"
    assert f"{entry_id(gone)} with cron\n  last run: none yet\n  - {unreadable}\n" in say("schedule", "--list")


def test_nights_without_a_run_and_runs_without_an_end_are_told(
    cron: StandIns, repo: Repository, invoke: Run, settings: Path
) -> None:
    """Whatever keeps the scheduler from starting, or a run from ending; a single moment to come says nothing."""
    at = f"{datetime.now(UTC) - timedelta(hours=6):%H:%M}"
    invoke("schedule", "--at", at)
    private = Private(repo.path / ".git" / "skillopt")

    def problems(**known: Any) -> list[str]:
        private.save("schedule.json", Nightly(**known))
        (item,) = listed(invoke)
        return list(item["problems"])

    now = datetime.now(UTC)
    long_ago = now - timedelta(days=9, hours=7)
    makes_up = "if the machine was on, look whether the scheduler works; `skillopt-git run` makes up for it"
    assert problems(since=now) == []
    assert problems(since=long_ago) == [f"the last 10 nights passed without a run: {makes_up}"]
    assert problems(since=long_ago, tried=now - timedelta(hours=29), code=0) == [
        f"the last night passed without a run: {makes_up}"
    ]
    hangs = problems(since=now, tried=now - timedelta(hours=25))
    assert [text.partition(" UTC: ")[0] for text in hangs] == [
        f"the last run has not ended since {now - timedelta(hours=25):%Y-%m-%d %H:%M}"
    ]
    assert problems(since=now, tried=now - timedelta(hours=23)) == []
    assert problems(since=now + timedelta(days=1), tried=now + timedelta(days=1)) == []


def test_a_time_of_day_that_just_came_is_no_missed_night(
    cron: StandIns, repo: Repository, invoke: Run, settings: Path
) -> None:
    """Schedulers spread what they start."""
    invoke("schedule", "--at", f"{datetime.now(UTC) - timedelta(minutes=20):%H:%M}")
    since = datetime.now(UTC) - timedelta(hours=2)
    Private(repo.path / ".git" / "skillopt").save("schedule.json", Nightly(since=since))
    assert listed(invoke)[0]["problems"] == []


def test_what_will_keep_the_next_run_from_starting_is_listed(
    cron: StandIns, repo: Repository, invoke: Run, settings: Path
) -> None:
    """Keys that others may read or nobody can, a note that is damaged, a folder that is no repository any more.

    Nothing is moved or written: it may be another repository than the one at hand.
    """
    invoke("schedule")
    folder = repo.path / ".git" / "skillopt"
    keys = settings / "env"
    keys.write_text("KEY=1\n")
    keys.chmod(0o644)
    assert listed(invoke)[0]["problems"] == [f"others than you may use {keys}, which is for keys: chmod 600 {keys}"]
    keys.chmod(0o600)
    keys.write_text("KEY\n")
    assert "line 1 of" in listed(invoke)[0]["problems"][0]
    keys.unlink()
    (folder / "schedule.json").write_text("{")
    assert listed(invoke)[0]["problems"] == ["its schedule.json is damaged: schedule again"]
    assert [path.name for path in folder.iterdir()] == ["schedule.json"]
    (folder / "schedule.json").unlink()
    (folder / "schedule.json").symlink_to("schedule.json")
    assert (
        "schedule.json cannot be read (Too many levels of symbolic links): look at" in listed(invoke)[0]["problems"][0]
    )
    shutil.rmtree(repo.path / ".git")
    assert listed(invoke)[0]["problems"] == [
        f"the repository is gone: `skillopt-git unschedule --repo {repo.path}` takes the schedule away"
    ]


def test_an_entry_for_a_place_that_cannot_be_looked_at_does_not_hinder_the_list(
    cron: StandIns, repo: Repository, invoke: Run, settings: Path
) -> None:
    """The others are told; of this one, only that."""
    place = str(repo.path.parent / ("x" * 300))
    odd = replace(ENTRY, repository=place, private=f"{place}/.git/skillopt", python=sys.executable)
    cron.crontab.write_text(block(odd))
    invoke("schedule")
    found = {item["repository"]: item["problems"] for item in listed(invoke)}
    file = f"{odd.private}/schedule.json"
    assert found == {
        str(repo.path): [],
        place: [f"{file} cannot be read (File name too long): look at its owner and mode"],
    }


def test_where_not_all_could_be_looked_at_nothing_is_claimed(cron: StandIns, say: Say) -> None:
    """There may be something after all."""
    cron.crontab.unlink()
    assert say("schedule", "--list") == "Nothing is scheduled.\n"
    cron.fail("crontab", "-l", "not allowed")
    assert say("schedule", "--list") == "Nothing is scheduled where it could be looked at.\n"


def test_a_schedule_that_could_not_be_placed_leaves_the_note_as_it_was(
    cron: StandIns, repo: Repository, invoke: Run, settings: Path
) -> None:
    """None if there was none: nothing was scheduled since."""
    cron.fail("crontab", "-", "no space left")
    file = repo.path / ".git" / "skillopt" / "schedule.json"
    invoke("schedule", code=1)
    assert not file.exists()
    cron.mend("crontab", "-")
    invoke("schedule")
    before = file.read_bytes()
    cron.fail("crontab", "-", "no space left")
    invoke("schedule", "--at", "04:00", code=1)
    assert file.read_bytes() == before
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_repository_that_is_gone_can_be_unscheduled(
    cron: StandIns, repo: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: Path
) -> None:
    """By the folder where it was, also behind a link; a folder that was never scheduled is a mistake."""
    (tmp_path / "link").symlink_to(tmp_path)
    for folder in (repo.path, tmp_path / "link" / repo.path.name):
        if not repo.path.exists():
            Repository.create(repo.path, {})
        told(capsys, "schedule", "--repo", str(repo.path))
        shutil.rmtree(repo.path)
        assert "is no longer scheduled" in told(capsys, "unschedule", "--repo", str(folder))
        assert cron.crontab.read_text() == THEIRS
    assert cli.run(["unschedule", "--repo", str(repo.path)]) == 2
    assert f"{repo.path} is not a folder" in capsys.readouterr().err


def test_all_of_them_go_at_once(
    cron: StandIns, repo: Repository, say: Say, tmp_path: Path, settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of every repository, also one whose lines cannot be read any more."""
    other = Repository.create(tmp_path / "acme-shop", {})
    for item in (repo, other):
        told(capsys, "schedule", "--repo", str(item.path))
    text = cron.crontab.read_text().replace(f"--repo {other.path}", "--repo /elsewhere")
    cron.crontab.write_text(text)
    assert sorted(say("unschedule", "--all").splitlines()) == [
        f"{repo.path} is no longer scheduled with cron.",
        f"the repository of {entry_id(str(other.path))} is no longer scheduled with cron.",
    ]
    assert cron.crontab.read_text() == THEIRS
    assert say("unschedule", "--all") == "Nothing was scheduled.\n"


def test_what_can_be_taken_away_is_and_the_rest_is_told(
    cron: StandIns, repo: Repository, invoke: Run, tmp_path: Path, settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fails in the end, and never says that nothing was changed."""
    other = Repository.create(tmp_path / "acme-shop", {})
    invoke("schedule")
    cron.add("systemctl")
    told(capsys, "schedule", "--repo", str(other.path))
    cron.fail("crontab", "-r", "no space left")
    cron.fail("crontab", "-", "no space left")
    assert cli.run(["unschedule", "--all"]) == 1
    said = capsys.readouterr()
    assert said.out == f"{other.path} is no longer scheduled with systemd.\n"
    assert said.err.startswith(f"{repo.path} is still scheduled with cron: crontab -: no space left; ")
    assert "nothing was changed" not in said.err
    assert (repo.path / ".git" / "skillopt" / "schedule.json").is_file()
    assert not (other.path / ".git" / "skillopt" / "schedule.json").exists()

    told(capsys, "schedule", "--repo", str(other.path))
    assert cli.run(["unschedule", "--all", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert [item["repository"] for item in record["removed"]] == [str(other.path)]
    assert [(item["repository"], item["problem"]) for item in record["left"]] == [
        (str(repo.path), "crontab -: no space left")
    ]
    assert invoke("unschedule", code=1)["error"]["message"] == "crontab -: no space left"


def test_a_file_that_cannot_be_deleted_is_told(
    standins: StandIns, repo: Repository, invoke: Run, settings: Path, tmp_path: Path
) -> None:
    """As one of a scheduler's that somebody made a folder of meanwhile."""
    standins.add("systemctl")
    invoke("schedule")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Systemd, "remove", lambda *_: Path(tmp_path).unlink())
        assert str(tmp_path) in invoke("unschedule", code=1)["error"]["message"]


def test_scheduling_again_keeps_what_is_known_of_the_last_run(
    cron: StandIns, repo: Repository, invoke: Run, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And takes the PATH anew."""
    invoke("schedule")
    private = Private(repo.path / ".git" / "skillopt")
    first = private.nightly()
    assert first.environ == {"PATH": cron.path}
    tried = datetime(2026, 11, 29, 3, 17, tzinfo=UTC)
    private.save("schedule.json", Nightly(environ=first.environ, since=first.since, tried=tried, code=0))
    monkeypatch.setenv("PATH", f"{cron.path}:/opt/bin")
    invoke("schedule")
    again = private.nightly()
    assert (again.environ, again.tried, again.code) == ({"PATH": f"{cron.path}:/opt/bin"}, tried, 0)
    assert again.since is not None
    assert first.since is not None
    assert again.since > first.since


def test_what_schedulers_start_is_no_verb_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the help nor a guess names it."""
    assert cli.run(["--help"]) == 0
    assert "scheduled " not in capsys.readouterr().out
    assert cli.run(["scheduledd"]) == 2
    assert "did you mean schedule or unschedule?" in capsys.readouterr().err
    assert json.dumps(list(cli.VERBS)).count("schedule") == 3
