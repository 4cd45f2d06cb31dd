"""A disk without room: one line that says so, nothing half-written, and with room again the next run works."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from skillopt_git import cli
from skillopt_git.private import Private
from tests.disks import files_of_at_most, mounted
from tests.helpers import Repository
from tests.nights import PNPM, RULE, Run, arguments, sessions, taught

ROOM = 2048
FULL = "No space left on device"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small one, where the repository will be."""
    with mounted(tmp_path / "acme-api", "-t", "tmpfs", "-o", "size=4m", "none"):
        yield tmp_path / "acme-api"


def fill(disk: Path) -> Path:
    """Returns what takes all the room there was."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filler


def whole(repo: Repository) -> None:
    """Nothing is half-written, in git or beside it."""
    checked = subprocess.run(
        ["git", "fsck", "--strict", "--no-dangling"], cwd=repo.path, capture_output=True, text=True
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    folder = repo.path / ".git" / "skillopt"
    private = Private(folder)
    private.bank()
    private.checkpoint()
    assert private.notes == []
    assert [*folder.rglob(".*")] == []
    assert [
        path for path in folder.rglob("*") if path.is_file() and path.name != "lock" and not path.read_bytes()
    ] == []
    assert [*(repo.path / ".git").rglob("*.lock")] == []


def test_a_run_on_a_full_disk_says_so_and_the_next_one_works(
    disk: Path, repo: Repository, home: Path, invoke: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """However far it came: each has more room than the one before, until there is enough."""
    sessions(home, repo, PNPM)
    words = [*arguments("run", [], repo, home), "--json"]
    errors: list[str] = []
    filler = fill(disk)
    while cli.run(words):
        error = json.loads(capsys.readouterr().out)["error"]
        assert FULL in error["message"] + error["hint"]
        errors.append(error["message"])
        whole(repo)
        os.truncate(filler, filler.stat().st_size - ROOM * 2 ** len(errors))
    found = json.loads(capsys.readouterr().out)

    assert errors[0] == f"{repo.path / '.git' / 'skillopt' / 'key'}: {FULL}"
    assert len(errors) > 3
    assert f"- {RULE}\n" in taught(repo, found["branch"])
    filler.unlink()
    assert invoke("run")["commits"] == found["commits"]
    whole(repo)


def test_a_run_that_may_not_write_says_so_and_the_next_one_works(repo: Repository, home: Path, invoke: Run) -> None:
    """The first file that is too large ends it, whoever writes it."""
    sessions(home, repo, PNPM)
    errors = []
    for size in (0, 100, 400, 1600):
        with files_of_at_most(size):
            errors.append(invoke("run", code=1)["error"]["message"])
        whole(repo)

    assert errors[0] == f"{repo.path / '.git' / 'skillopt' / 'key'}: File too large"
    assert len(set(errors)) > 2
    assert f"- {RULE}\n" in taught(repo, invoke("run")["branch"])
    whole(repo)
