"""`doctor`: what it finds in good and bad times, and that it only looks."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import cli, scheduling, wiring
from skillopt_git.agents import AGENTS
from skillopt_git.errors import UsageError
from skillopt_git.findings import Finding
from skillopt_git.private import Nightly, Private
from skillopt_git.scheduling import Standing
from skillopt_git.timetable import Entry, Placed
from tests.helpers import Repository
from tests.helpers_git import files
from tests.nights import PNPM, Run, sessions
from tests.standins import StandIns

Doctor = Callable[..., dict[str, Any]]
Capture = pytest.CaptureFixture[str]

HOMES = {
    "claude": (".claude", "projects/-home-alice-acme-api/0b5e.jsonl"),
    "codex": (".codex", "sessions/2026/01/31/rollout-2026-01-31T10-00-00-01a22848-e2c9-7d53-9911-c8f330ba1746.jsonl"),
    "copilot-cli": (".copilot", "session-state/0b5e/events.jsonl"),
    "jsonl": (".local/share/skillopt/sessions", "aider.jsonl"),
}


@pytest.fixture
def doctor(capsys: Capture, repo: Repository) -> Doctor:
    """Its record, of the repository unless another folder is named."""

    def call(*args: str, at: Path | None = None, code: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        assert cli.run(["doctor", "--repo", str(at or repo.path), *args, "--json"]) == code
        record = dict(json.loads(capsys.readouterr().out))
        assert record["healthy"] == (code == 0)
        assert any(item["fault"] for item in record["findings"]) == (code == 1)
        record["findings"] = [Finding(**item).sentence for item in record["findings"]]
        return record

    return call


@pytest.fixture
def page(capsys: Capture, repo: Repository) -> Callable[..., str]:
    """What it tells a person."""

    def call(*args: str, at: Path | None = None, code: int = 0) -> str:
        capsys.readouterr()
        assert cli.run(["doctor", "--repo", str(at or repo.path), *args]) == code
        return capsys.readouterr().out

    return call


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody can reach: those of the tests are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def fill(home: Path, source: str, data: bytes = b"{}\n") -> Path:
    """One transcript where the source keeps its own."""
    path = home / HOMES[source][1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def state(record: dict[str, Any], name: str) -> dict[str, Any]:
    return next(item for item in record["sources"] if item["name"] == name)


# --- sources -----------------------------------------------------------------------------------------------------


def test_every_source_is_looked_at() -> None:
    """What `doctor` knows of homes covers what the wiring knows of sources."""
    assert list(AGENTS) == list(wiring.SOURCES) == list(HOMES)


@pytest.mark.parametrize("name", HOMES)
def test_each_home_is_measured(name: str, isolated: Path, doctor: Doctor) -> None:
    """In the usual folder: transcripts, bytes, the newest change, the mode of their folder."""
    path = fill(isolated / HOMES[name][0], name, b"x" * 1234)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    folder = isolated / HOMES[name][0] / AGENTS[name].folders[0]
    folder.chmod(0o750)

    record = doctor()

    assert state(record, name) == {
        "name": name,
        "home": str(isolated / HOMES[name][0]),
        "decided_by": "default",
        "exists": True,
        "readable": True,
        "transcripts": 1,
        "bytes": 1234,
        "newest": "2023-11-14T22:13:20.000Z",
        "mode": "0750",
        "auto": name in ("claude", "codex"),
        "chosen": name in ("claude", "codex"),
        "unread": 0,
        "skipped": state(record, name)["skipped"],  # codex and Copilot have a second folder, which need not be there
    }
    for other in set(HOMES) - {name}:
        found = state(record, other)
        assert (found["exists"], found["readable"], found["mode"], found["newest"]) == (False, False, None, None)


@pytest.mark.parametrize("name", HOMES)
def test_what_decides_a_home_is_told(
    name: str, tmp_path: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flag or a setting goes before the variable; the source itself looks where `doctor` says."""
    agent = AGENTS[name]
    monkeypatch.setenv(agent.variable, str(tmp_path / "named"))
    by_variable = state(doctor(), name)
    flag = f"--{agent.setting.replace('_', '-')}"
    by_flag = state(doctor(flag, str(tmp_path / "flagged")), name)
    monkeypatch.setenv(f"SKILLOPT_HARVEST_{agent.setting.upper()}", str(tmp_path / "set"))
    by_setting = state(doctor(), name)

    assert by_variable["decided_by"] == agent.variable
    assert Path(by_variable["home"]).is_relative_to(tmp_path / "named")
    assert (by_flag["home"], by_flag["decided_by"]) == (str(tmp_path / "flagged"), f"harvest.{agent.setting}")
    assert (by_setting["home"], by_setting["decided_by"]) == (str(tmp_path / "set"), f"harvest.{agent.setting}")


def test_what_is_read_follows_the_settings(doctor: Doctor, page: Callable[..., str]) -> None:
    """`auto` or names, also several."""
    record = doctor("--source", "claude,copilot-cli")

    assert [item["name"] for item in record["sources"] if item["chosen"]] == ["claude", "copilot-cli"]
    told = page("--source", "claude,copilot-cli")
    for line in (
        "claude: is read",
        "codex: would be read by `auto`",
        "copilot-cli: is read, for it is named",
        "jsonl: is read only when named: `--source jsonl`",
    ):
        assert f"  {line}\n" in told


def test_what_is_in_the_way_is_counted_by_reason(isolated: Path, doctor: Doctor, page: Callable[..., str]) -> None:
    """A folder named like a transcript and a dangling link are passed by."""
    home = isolated / HOMES["jsonl"][0]
    fill(home, "jsonl")
    (home / "x.jsonl").mkdir()
    (home / "gone.jsonl").symlink_to(home / "nowhere.jsonl")

    assert state(doctor(), "jsonl")["skipped"] == {"a dangling link": 1, "not a file": 1}
    assert "passed by: 1 a dangling link, 1 not a file" in page()


def test_a_single_file_can_be_the_home_of_neutral_sessions(tmp_path: Path, doctor: Doctor) -> None:
    """It is measured like a folder with one transcript."""
    file = tmp_path / "aider.jsonl"
    file.write_text("{}\n")
    file.chmod(0o600)

    found = state(doctor("--jsonl-home", str(file)), "jsonl")

    assert (found["exists"], found["readable"], found["transcripts"], found["mode"]) == (True, True, 1, "0600")


def test_no_transcript_is_opened_and_nothing_is_written(isolated: Path, repo: Repository) -> None:
    """Watched from inside: no file of a home is opened, and none anywhere for writing."""
    for name, (home, _) in HOMES.items():
        fill(isolated / home, name)
    code = (
        "import os, sys\n"
        "def watch(event, args):\n"
        "    if event == 'open' and isinstance(args[0], str):\n"
        "        print('opened', args[2] & (os.O_WRONLY | os.O_RDWR), args[0], file=sys.stderr)\n"
        "    elif event in ('os.mkdir', 'os.rename', 'os.remove', 'os.link', 'os.symlink', 'os.chmod'):\n"
        "        print(event, 1, args[0], file=sys.stderr)\n"
        "sys.dont_write_bytecode = True\n"
        "from skillopt_git.cli import main\n"
        "sys.addaudithook(watch)\n"
        "sys.argv = ['skillopt-git', 'doctor', '--json', '--repo', sys.argv[1]]\n"
        "main()\n"
    )

    done = subprocess.run([sys.executable, "-c", code, repo.path], capture_output=True, text=True, check=True)

    opened = [line.split(" ", 2) for line in done.stderr.splitlines()]
    assert [item["transcripts"] for item in json.loads(done.stdout)["sources"]] == [1, 1, 1, 1]
    assert len(opened) > 10
    assert [path for _, _, path in opened if str(path).endswith(".jsonl")] == []
    written = [path for _, writing, path in opened if writing != "0"]
    scratch = Path(tempfile.gettempdir())  # where Python tries once whether it may write; the homes lie deeper
    own = (os.devnull, "index")  # the latter in a temporary folder, which Python empties from within
    assert [path for path in written if scratch not in (Path(path), Path(path).parent) and path not in own] == []
    assert not (repo.path / ".git" / "skillopt").exists()


def test_a_home_that_may_not_be_read_is_a_finding(public: Path) -> None:
    """The rest is told, whatever else is closed. In a process of its own, for the administrator may read everything."""
    fill(public, "claude")
    (public / "projects").chmod(0)
    code = (
        "import json, os, sys\n"
        "from dataclasses import asdict\n"
        "from datetime import UTC, datetime\n"
        "from pathlib import Path\n"
        "from skillopt_git.checkup import check\n"
        "look = lambda: check(Path(sys.argv[1]), {'harvest.claude_home': sys.argv[1]}, now=datetime.now(UTC))\n"
        "look()\n"  # everything is imported before the administrator becomes nobody
        "os.getuid() or (os.setgid(65534), os.setuid(65534))\n"
        "found = look()\n"
        "told = [item.sentence for item in found.findings]\n"
        "print(json.dumps({'source': asdict(found.sources[0]), 'findings': told}))\n"
    )
    public.chmod(0o777)
    environ = os.environ | {"TMPDIR": str(public)}  # which git's input goes through
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, public], capture_output=True, text=True, check=True, env=environ
        )
    finally:
        (public / "projects").chmod(0o755)

    record = json.loads(done.stdout)
    found = record["source"]
    assert (found["exists"], found["readable"], found["skipped"]) == (True, False, {"unreadable": 1})
    assert any(f"Not all of {public} may be read" in finding for finding in record["findings"])


@pytest.mark.parametrize(("mode", "way", "told"), [(0o755, 0o755, True), (0o750, 0o710, True), (0o700, 0o755, False)])
def test_transcripts_that_others_can_list_are_a_finding(
    mode: int, way: int, told: bool, public: Path, doctor: Doctor
) -> None:
    """With the command that closes the folder, which works; a closed folder on the way keeps others out, too."""
    home = public / "my home"
    fill(home, "claude")
    (home / "projects").chmod(mode)
    home.chmod(way)

    findings = doctor("--claude-home", str(home))["findings"]

    assert len([item for item in findings if "look into" in item]) == told
    if told:
        assert f"(mode {mode:04o})" in findings[0]
        subprocess.run(shlex.split(findings[0].split("`")[1]), check=True)
    home.chmod(0o700 if not told else way)
    (home / "projects").chmod(0o700 if told else 0o755)
    assert doctor("--claude-home", str(home))["findings"] == []


# --- nothing to read ---------------------------------------------------------------------------------------------


def test_no_transcripts_at_all_is_a_finding_with_a_way_on(isolated: Path, doctor: Doctor) -> None:
    """Another folder where there is nothing anywhere, else the agents that left some."""
    nowhere = doctor()["findings"]
    fill(isolated / ".copilot", "copilot-cli")
    elsewhere = doctor()["findings"]

    where = f"There are no transcripts in {isolated / '.claude'} or {isolated / '.codex'}: "
    assert nowhere == [f"{where}name another folder with --claude-home or --codex-home."]
    assert elsewhere == [f"{where}`--source copilot-cli` reads those that are there."]
    assert doctor("--source", "copilot-cli")["findings"] == []


def test_a_home_that_was_named_and_is_not_there_is_a_finding(isolated: Path, tmp_path: Path, doctor: Doctor) -> None:
    """Even where another has transcripts: somebody may have mistyped it."""
    fill(isolated / ".claude", "claude")

    assert doctor()["findings"] == []
    assert doctor("--codex-home", str(tmp_path / "codx"))["findings"] == [
        f"There is no {tmp_path / 'codx'}, which harvest.codex_home names: correct it, or make the folder."
    ]


# --- the repository ----------------------------------------------------------------------------------------------


def test_a_healthy_place_is_told_whole(
    repo: Repository, isolated: Path, home: Path, doctor: Doctor, invoke: Run
) -> None:
    """Versions, repository with base and private folder, settings files, backend, time zone; no findings."""
    sessions(home, repo, PNPM)
    invoke("harvest")
    (repo.path / ".skillopt.toml").write_text("[propose]\ntime_zone = 'Europe/Paris'\n")
    (repo.path / "pyproject.toml").write_text("[tool.ruff]\n")
    own = isolated / ".config" / "skillopt" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f"[replay]\nbackend = 'mock'\n[harvest]\nclaude_home = '{home}'\n")

    record = doctor()

    assert set(record) == {
        *("v", "version", "python", "git", "repository", "sources", "settings", "backend", "simulated", "time_zone"),
        *("memory", "models", "healthy", "findings"),
    }
    assert record["python"] == ".".join(map(str, sys.version_info[:3]))
    assert record["git"] in repo.git("version")
    private = repo.path / ".git" / "skillopt"
    assert record["repository"] == {
        "root": str(repo.path),
        "base": "main",
        "base_commit": repo.git("rev-parse", "HEAD").strip(),
        "private": str(private),
        "mode": "0700",
        "checkpoint": {},
        "index_bytes": sum(file.stat().st_size for file in (private / "index").iterdir()),
    }
    assert record["repository"]["index_bytes"] > 0
    assert record["settings"] == [
        {"path": str(repo.path / "pyproject.toml"), "there": False},
        {"path": str(repo.path / ".skillopt.toml"), "there": True},
        {"path": str(own), "there": True},
    ]
    assert (record["backend"], record["time_zone"], record["findings"]) == ("mock", "Europe/Paris", [])


def checkpoint(repo: Repository, text: str) -> Path:
    folder = repo.path / ".git" / "skillopt"
    folder.mkdir(mode=0o700)
    (folder / "checkpoint.json").write_text(text)
    return folder / "checkpoint.json"


def test_the_checkpoint_is_told_per_home(repo: Repository, doctor: Doctor, page: Callable[..., str]) -> None:
    """Up to when each home was read."""
    checkpoint(repo, '{"v": 1, "read": {"claude": {"/home/alice/.claude": "2026-01-31T10:00:00+01:00"}}}')

    assert doctor()["repository"]["checkpoint"] == {"claude": {"/home/alice/.claude": "2026-01-31T09:00:00.000Z"}}
    assert "claude: /home/alice/.claude was read up to 2026-01-31 09:00 UTC" in page()


RECORDS = ("bank.json", "checkpoint.json", "schedule.json")


@pytest.mark.parametrize(
    ("name", "data", "words", "code"),
    [
        *((name, b"{", "the next run keeps it aside", 0) for name in ("bank.json", "checkpoint.json")),
        ("schedule.json", b"{", "the next scheduled run keeps it aside", 0),
        *((name, b'{"v": 2}', "was written by a newer tool (v 2): update skillopt-git", 1) for name in RECORDS),
        *((name, b"x", "is not valid: the next run keeps it aside", 0) for name in ("key", "machine")),
        ("index/0a1b.json", b"{", "is damaged: the next run keeps it aside", 0),
        *((name, None, "is a folder: the next run keeps it aside", 0) for name in ("bank.json", "checkpoint.json")),
        ("lock", None, "is a folder: delete it", 1),
        ("schedule.json", "loop", "cannot be read (Too many levels of symbolic links): look at its owner and mode", 1),
        ("index", b"", "is no folder: move it away", 1),
        ("reports", b"", "is no folder: move it away", 1),
    ],
)
def test_what_is_wrong_with_a_private_file_is_told_and_left(
    name: str,
    data: bytes | str | None,
    words: str,
    code: int,
    repo: Repository,
    doctor: Doctor,
    page: Callable[..., str],
) -> None:
    """A run puts a damaged one aside, and is stopped by a newer one; whoever only looks moves nothing."""
    file = repo.path / ".git" / "skillopt" / name
    file.parent.mkdir(mode=0o700, parents=True)
    if data is None:
        file.mkdir()
    elif isinstance(data, str):
        file.symlink_to(file)
    else:
        file.write_bytes(data)
    before = files(repo.path / ".git" / "skillopt")

    assert [told for told in doctor(code=code)["findings"] if f"{file}" in told and words in told]
    assert words in page(code=code)
    assert files(repo.path / ".git" / "skillopt") == before
    assert file.is_dir() == (data is None)


AS_NOBODY = """
import contextlib, io, json, os, sys
from skillopt_git import cli
def look(path):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        return cli.run(["doctor", "--repo", path]), out.getvalue()
look(sys.argv[1])  # everything is imported before the administrator becomes nobody
os.getuid() or (os.setgid(65534), os.setuid(65534))
print(json.dumps([look(path) for path in sys.argv[1:]]))
"""
CLOSED = {
    "": "skillopt may not be written: look at its owner and mode",
    "index": "skillopt/index may not be written: look at its owner and mode",
    "bank.json": "skillopt/bank.json cannot be read (Permission denied): look at its owner and mode",
    "key": "skillopt/key cannot be read (Permission denied): look at its owner and mode",
    "lock": "skillopt/lock may not be written: look at its owner and mode, or delete it",
}


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_may_not_be_entered_or_read_is_in_the_way_and_the_rest_is_told(public: Path) -> None:
    """As after a run with `sudo`. One process looks at a repository for each that is closed."""
    public.chmod(0o777)
    repos = [closed_to_others(public / f"{number}" / "acme-api", name) for number, name in enumerate(CLOSED)]
    environ = os.environ | {
        "TMPDIR": str(public),
        "HOME": str(public),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    command = [sys.executable, "-c", AS_NOBODY, *map(str, repos)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environ, check=True)
    finally:
        for repo, name in zip(repos, CLOSED, strict=True):
            (repo / ".git" / "skillopt" / name).chmod(0o777)

    told = json.loads(done.stdout)
    for (code, page), words in zip(told, CLOSED.values(), strict=True):
        assert code == 1
        assert page.startswith("skillopt-git ")
        assert words in page
        for part in ("Sources\n", "  ledger: ", "  at work now: nobody\n", "Settings\n"):
            assert part in page


def closed_to_others(path: Path, name: str) -> Path:
    """A repository in which all may do everything but with this one file of the tool's, or its folder."""
    folder = Repository.create(path, {"README.md": ""}).path / ".git" / "skillopt"
    (folder / "index").mkdir(parents=True)
    for each in ("bank.json", "key", "lock"):
        (folder / each).write_text('{"v": 1}' if each == "bank.json" else "k" * 32)
    subprocess.run(["chmod", "-R", "a+rwX", path.parent], check=True)
    (folder / name).chmod(0)
    return path


def test_documents_that_cannot_be_taught_are_in_the_way(repo: Repository, doctor: Doctor) -> None:
    """As `run` would say; one that nobody named is only left alone."""
    settings = repo.path / ".skillopt.toml"
    settings.write_text('[documents]\nskill = "notes.txt"\n')
    assert any("'notes.txt' is no path of a skill" in told for told in doctor(code=1)["findings"])
    settings.write_text('[documents]\nmemory = "README.md/x"\n')
    doctor(code=1)
    settings.write_text("[documents]\nevolve_skill = false\nevolve_memory = false\n")
    assert any("There is nothing to teach" in told for told in doctor(code=1)["findings"])
    settings.unlink()
    repo.commit("Folder", {"CLAUDE.md/x": ""})
    doctor()


def test_a_private_folder_that_others_can_list_is_a_finding(public: Path, doctor: Doctor) -> None:
    """It holds what nobody else may see."""
    Repository.create(public / "acme-api", {"README.md": ""})
    folder = public / "acme-api" / ".git" / "skillopt"
    folder.mkdir()
    folder.chmod(0o755)

    findings = doctor(at=public / "acme-api")["findings"]

    assert f"Others than you can look into {folder} (mode 0755): `chmod go-rwx {folder}` keeps them out." in findings


def test_outside_of_a_repository_the_rest_is_told(tmp_path: Path, doctor: Doctor, page: Callable[..., str]) -> None:
    """No run can be made there, and it says so; the user's own settings still count."""
    record = doctor(at=tmp_path, code=1)

    assert record["repository"] is None
    assert record["memory"] is None
    assert f"{tmp_path} is not in a git repository: name one with --repo" in record["findings"][0]
    assert len(record["settings"]) == 1
    assert len(record["sources"]) == 4
    assert "Repository\n  none\n" in page(at=tmp_path, code=1)


def test_a_repository_without_commits_has_no_base(tmp_path: Path, doctor: Doctor, page: Callable[..., str]) -> None:
    """Which is a finding, with what to do."""
    empty = Repository.create(tmp_path / "empty", {})

    record = doctor(at=empty.path, code=1)

    assert record["repository"]["base"] is None
    assert "There are no commits yet: commit something first: a proposal needs a branch to go to." in record["findings"]
    assert "  base: none\n" in page(at=empty.path, code=1)


def test_without_git_the_sources_are_told(
    doctor: Doctor, page: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One finding says that git is missing."""
    monkeypatch.setenv("PATH", "/nowhere")

    record = doctor(code=1)

    assert (record["git"], record["repository"]) == (None, None)
    assert [item for item in record["findings"] if "Git is not installed" in item] == record["findings"][:1]
    assert ", git is missing\n" in page(code=1)


# --- settings ----------------------------------------------------------------------------------------------------


def test_broken_settings_are_a_finding_and_an_error(
    repo: Repository, tmp_path: Path, doctor: Doctor, page: Callable[..., str]
) -> None:
    """They are in the way of every verb; all else is told by the defaults and the flags."""
    (repo.path / ".skillopt.toml").write_text("[gate]\nmetrik = 'hard'\n[replay]\nbackend = 'mock'\n")
    (repo.path / "pyproject.toml").write_text("[tool\n")

    record = doctor("--claude-home", str(tmp_path), code=1)

    assert "did you mean 'gate.metric'?" in record["findings"][0]
    assert record["findings"][0].startswith("The settings are not valid: ")
    assert "may not be set by a repository" in record["findings"][0]
    assert "\n" not in record["findings"][0]
    assert state(record, "claude")["home"] == str(tmp_path)
    assert record["backend"] is None
    assert "  - in the way: The settings are not valid: " in page(code=1)


@pytest.mark.parametrize(
    ("name", "value", "finding"),
    [
        ("SKILLOPT_REPLAY_BACKEND", "mok", "Backend 'mok' is unknown: did you mean 'mock'?"),
        ("SKILLOPT_HARVEST_SOURCE", "claud", "Source 'claud' is unknown: did you mean 'claude'?"),
        ("SKILLOPT_HARVEST_CODEX_HOME", "~nobody-here/x", "~nobody-here/x names the home of nobody on this machine"),
    ],
)
def test_a_setting_that_leads_nowhere_is_an_error_too(
    name: str, value: str, finding: str, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other sources are told all the same."""
    monkeypatch.setenv(name, value)

    record = doctor(code=1)

    assert [item for item in record["findings"] if item.startswith(finding)]
    assert len(record["sources"]) >= 3


# --- the memory --------------------------------------------------------------------------------------------------


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_the_memory_and_the_last_night_are_told(
    repo: Repository, home: Path, doctor: Doctor, page: Callable[..., str], invoke: Run
) -> None:
    """Who git says you are, the ledger, the open proposal, and that nobody is at work."""
    sessions(home, repo, PNPM)
    assert state(doctor("--claude-home", str(home)), "claude")["unread"] == len(PNPM)
    run = invoke("run")

    memory = doctor()["memory"]

    assert memory == {
        "identity": "Alice Example <alice@example.invalid>",
        "ledger_ref": "refs/skillopt/ledger",
        "ledger_commit": repo.git("rev-parse", "refs/skillopt/ledger").strip(),
        "events": len(invoke("log", "--all", "--limit", "1000")["events"]),
        "damaged": 0,
        "at_work": None,
        "last_night": memory["last_night"],
        "open": [run["branch"]],
        "schedules": [],
    }
    assert memory["last_night"]["run"] == run["run"]
    assert (memory["last_night"]["simulated"], memory["last_night"]["outcome"]) == (True, "strong")
    told = page()
    assert f"  open: {run['branch']}\n" in told
    assert "(simulated), strong\n" in told
    assert "  you: Alice Example <alice@example.invalid>\n" in told


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_proposal_that_was_merged_is_not_open(
    repo: Repository, home: Path, doctor: Doctor, say: Callable[..., str], invoke: Run
) -> None:
    """Also before anything has noted it, as `status` says."""
    sessions(home, repo, PNPM)
    branch = invoke("run")["branch"]
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", branch)

    assert "No open proposal." in say("status")
    assert doctor()["memory"]["open"] == []


def test_a_ledger_with_an_empty_object_is_mended_as_it_says(
    repo: Repository, home: Path, doctor: Doctor, invoke: Run, tmp_path: Path
) -> None:
    """As a power cut leaves one: git names it, and another clone's ledger takes its place."""
    origin = tmp_path / "origin.git"
    repo.git("clone", "--quiet", "--bare", ".", str(origin))
    repo.git("remote", "add", "origin", str(origin))
    sessions(home, repo, PNPM)
    invoke("run")
    invoke("ledger", "push")
    known = repo.git("rev-parse", "refs/skillopt/ledger").strip()
    events = doctor()["memory"]["events"]
    sha = repo.git("rev-parse", "refs/skillopt/ledger^{tree}").strip()
    broken = repo.path / ".git" / "objects" / sha[:2] / sha[2:]
    broken.chmod(0o644)
    broken.write_bytes(b"")

    record = doctor(code=1)

    (told,) = [text for text in record["findings"] if text.startswith("The ledger cannot be read: ")]
    assert record["memory"]["events"] == 0
    checked = subprocess.run(["git", "fsck"], cwd=repo.path, capture_output=True, text=True, check=False)
    assert str(broken.relative_to(repo.path)) in checked.stderr
    for word in ("git fsck", "git update-ref -d refs/skillopt/ledger", "skillopt-git ledger fetch"):
        assert f"`{word}`" in told
    broken.unlink()
    repo.git("update-ref", "-d", "refs/skillopt/ledger")
    invoke("ledger", "fetch")
    assert repo.git("rev-parse", "refs/skillopt/ledger").strip() == known
    assert doctor()["memory"]["events"] == events


def test_a_base_that_cannot_be_read_is_in_the_way_and_the_rest_is_told(
    repo: Repository, home: Path, doctor: Doctor, page: Callable[..., str], invoke: Run
) -> None:
    """What the ledger alone says of proposals is told then."""
    sessions(home, repo, PNPM)
    branch = invoke("run")["branch"]
    sha = repo.git("rev-parse", "main^{tree}").strip()
    broken = repo.path / ".git" / "objects" / sha[:2] / sha[2:]
    broken.chmod(0o644)
    broken.write_bytes(b"")

    record = doctor(code=1)

    assert record["memory"]["open"] == [branch]
    assert any("in the way: Git " in line for line in page(code=1).splitlines())


def test_what_was_read_by_the_last_night_is_not_opened_by_the_next(
    repo: Repository, home: Path, doctor: Doctor
) -> None:
    """By the checkpoint, and the day it stands for."""
    sessions(home, repo, PNPM)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    checkpoint(repo, json.dumps({"v": 1, "read": {"claude": {str(home): tomorrow}}}))

    assert state(doctor("--claude-home", str(home)), "claude")["unread"] == 0


def test_who_is_at_work_is_told_while_they_are(repo: Repository, doctor: Doctor) -> None:
    """And no longer, though the process was killed and its name still stands there."""
    private = Private(repo.path / ".git" / "skillopt")
    with private.lock():
        assert doctor()["memory"]["at_work"] == f"process {os.getpid()}"
    (private.folder / "lock.owner").write_text("process 1")
    assert doctor()["memory"]["at_work"] is None


def test_a_user_whom_git_does_not_know_is_told_how(isolated: Path, doctor: Doctor) -> None:
    (isolated / ".gitconfig").write_text("")

    record = doctor()

    assert record["memory"]["identity"] is None
    assert any("`git config --global user.name`" in told for told in record["findings"])


def test_a_damaged_ledger_is_a_finding_and_a_newer_one_is_in_the_way(repo: Repository, doctor: Doctor) -> None:
    def written(line: str) -> None:
        blob = repo.git("hash-object", "-w", "--stdin", input_=line.encode()).strip()
        month = repo.git("mktree", input_=f"100644 blob {blob}\t11.jsonl\n".encode()).strip()
        year = repo.git("mktree", input_=f"040000 tree {month}\t2026\n".encode()).strip()
        tree = repo.git("mktree", input_=f"040000 tree {year}\tevents\n".encode()).strip()
        repo.git("update-ref", "refs/skillopt/ledger", repo.git("commit-tree", "-m", "m", tree).strip())

    written("{cut\n")
    assert any("One line of the ledger cannot be read, and is passed over" in told for told in doctor()["findings"])
    written('{"v": 2}\n')
    assert any("written by a newer tool" in told for told in doctor(code=1)["findings"])


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("no model is named", "No model is named."),
        ("budget.usd cannot be kept", "budget.usd cannot be kept."),
        ("replay.base_url: it is none.", "replay.base_url: it is none."),
        ("spent/a.json was damaged", "spent/a.json was damaged."),
        ("x. y", "X. y."),
    ],
)
def test_a_finding_is_a_sentence_that_changes_no_name(what: str, sentence: str) -> None:
    """Of a setting or a file."""
    assert Finding(what).sentence == sentence


def test_what_was_left_behind_is_told_until_somebody_takes_it_away(repo: Repository, doctor: Doctor) -> None:
    """A file kept aside, and an error nobody expected."""
    folder = repo.path / ".git" / "skillopt"
    folder.mkdir(mode=0o700)
    (folder / "bank.json.damaged-0a1b2c3d").write_text("{")
    (folder / "last-error.log").write_text("Traceback\n")

    told = " ".join(doctor()["findings"])

    assert "bank.json.damaged-0a1b2c3d: look what was in it" in told
    assert "last-error.log" in told


def test_a_repository_that_may_not_be_written_is_in_the_way(repo: Repository, doctor: Doctor) -> None:
    """As on a disk that is mounted to be read only."""
    lock = repo.path / ".git" / "skillopt" / "lock"
    lock.parent.mkdir(mode=0o700)
    lock.touch()
    with pytest.MonkeyPatch.context() as patch:
        access = os.access
        patch.setattr(os, "access", lambda path, mode: mode & os.W_OK == 0 and access(path, mode))
        told = doctor(code=1)["findings"]

    for place in (repo.path / ".git", lock):
        assert any(f"{place} may not be written" in line for line in told)


def test_this_repositorys_schedule_is_told_with_what_is_wrong_with_it(
    repo: Repository, doctor: Doctor, page: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every scheduler that has it; those of other repositories are for `schedule --list`."""
    entries = {}
    for path in (str(repo.path), "/elsewhere"):
        entry = Entry(repository=path, private=f"{path}/.git/skillopt", at="03:17", auto_adopt=False, python="/gone")
        entries[path] = Standing(
            "cron", Placed(entry.id, entry), Nightly(), None, (Finding("it is odd", "look at it"),)
        )
    monkeypatch.setattr(scheduling, "listed", lambda *_, **__: (tuple(entries.values()), (UsageError("no crontab"),)))

    record = doctor(code=1)

    assert record["memory"]["schedules"] == [{"scheduler": "cron", "at": "03:17"}]
    assert "Scheduled with cron: it is odd: look at it." in record["findings"]
    assert "No crontab." in record["findings"]
    assert "  scheduled: every day at 03:17 with cron\n" in page(code=1)


def test_a_schedule_without_a_backend_is_in_the_way(
    standins: StandIns, repo: Repository, isolated: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every night would end with it; what only this shell knows does not help. Without a schedule it is no fault."""
    standins.add("crontab")
    monkeypatch.setenv("SKILLOPT_REPLAY_BACKEND", "mock")
    doctor()
    assert cli.run(["schedule", "--repo", str(repo.path)]) == 0
    (told,) = [text for text in doctor(code=1)["findings"] if "no backend" in text]
    assert told.startswith("Scheduled with cron: no backend is chosen for scheduled runs")
    own = isolated / ".config" / "skillopt" / "config.toml"
    assert f"set replay.backend in {own}" in told
    own.write_text("[replay]\nbackend = 'mock'\n")
    doctor()
    (own.parent / "env").write_text("SKILLOPT_GATE_METRIC=no\n")
    (own.parent / "env").chmod(0o600)
    assert any("with cron" in text and "gate.metric" in text for text in doctor(code=1)["findings"])


def test_a_schedule_without_a_key_is_in_the_way_though_this_shell_has_one(
    standins: StandIns, repo: Repository, isolated: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every night would end with it."""
    standins.add("crontab")
    own = isolated / ".config" / "skillopt" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[replay]\nbackend = 'anthropic'\nsend = 'reviewed'\n")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-a-model-27b1")
    doctor()
    assert cli.run(["schedule", "--repo", str(repo.path)]) == 0

    (told,) = [text for text in doctor(code=1)["findings"] if "No key" in text]

    assert told.startswith("Scheduled with cron: No key for anthropic is in the environment: set ANTHROPIC_API_KEY")
    assert f"stand in {own.parent / 'env'}" in told
    (own.parent / "env").write_text("ANTHROPIC_API_KEY=sk-of-a-model-27b1\n")
    (own.parent / "env").chmod(0o600)
    doctor()


# --- for people --------------------------------------------------------------------------------------------------


def test_the_page_of_a_healthy_place(repo: Repository, isolated: Path, page: Callable[..., str]) -> None:
    """Every part is there, and it says that nothing is wrong."""
    path = fill(isolated / ".claude", "claude", b"x" * 1_234_567)
    shutil.copy(path, path.with_name("1.jsonl"))
    for copy in path.parent.iterdir():
        os.utime(copy, (1_700_000_000, 1_700_000_000))
    (isolated / ".claude" / "projects").chmod(0o700)

    told = page()

    assert f"    {isolated / '.claude'} (the usual folder)\n" in told
    assert (
        "    2 transcripts, 2.47 MB, the newest of 2023-11-14 22:13 UTC, mode 0700; the next run would open 0\n" in told
    )
    assert f"    {isolated / '.copilot'} (the usual folder), not there\n" in told
    assert f"  private folder: {repo.path / '.git' / 'skillopt'}, not made yet\n" in told
    assert "  backend: none; `run` needs one" in told
    assert told.endswith("\nNothing wants attention.\n")


@pytest.mark.parametrize(
    ("size", "told"), [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (10**8, "100 MB"), (2 * 10**9, "2.0 GB")]
)
def test_sizes_are_told_in_three_figures(size: int, told: str, isolated: Path, page: Callable[..., str]) -> None:
    """A sparse file is as large as it says."""
    os.truncate(fill(isolated / ".claude", "claude"), size)

    assert f"1 transcript, {told}, " in page()
