"""A repository that may not be written: reading verbs work and leave nothing, the others say so in one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skillopt_git.errors import GitError
from skillopt_git.gitrepo import GitRepo
from tests.disks import mounted
from tests.helpers import Repository
from tests.helpers_git import snapshot
from tests.nights import PNPM, Run, sessions

DENIED = ("Read-only file system", "Permission denied")
READING = (["status"], ["log"], ["show"], ["show", "--last"], ["tasks", "list"], ["rejections", "list"])


@contextmanager
def read_only(repo: Repository) -> Iterator[None]:
    """By a mount for an administrator, whom no mode keeps out; by modes for everybody else."""
    if os.geteuid() == 0:
        with mounted(repo.path, "-o", "bind,ro", str(repo.path)):
            yield
        return
    folders = [path for path in (repo.path, *repo.path.rglob("*")) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o500)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o700)


def test_reading_verbs_need_no_writing(repo: Repository, home: Path, invoke: Run) -> None:
    """They tell the same as in a repository that may be written."""
    sessions(home, repo, PNPM)
    invoke("run")
    told = [invoke(*verb) for verb in READING]

    with read_only(repo):
        assert [invoke(*verb) for verb in READING] == told
        record = invoke("doctor", code=1)
    assert record["repository"]["base"] == "main"
    assert any("may not be written" in finding["what"] for finding in record["findings"])


def test_looking_at_a_new_repository_leaves_nothing(repo: Repository, invoke: Run) -> None:
    """No folder, no key."""
    before = snapshot(repo)

    invoke("status")
    invoke("log")
    invoke("doctor")
    invoke("tasks list")
    assert "nothing to show yet" in invoke("show", code=2)["error"]["message"]

    assert snapshot(repo) == before


@pytest.mark.parametrize("verb", ["run", "adopt", "reject", "harvest"])
def test_writing_verbs_say_that_they_may_not(repo: Repository, home: Path, invoke: Run, verb: str) -> None:
    """In one line that names the place; all is as it was. `harvest` needs the key only, and no index."""
    sessions(home, repo, PNPM)
    invoke("run")
    before = snapshot(repo)
    with read_only(repo):
        if verb == "harvest":
            assert len(invoke(verb)["sessions"]) == 4
        else:
            error = invoke(verb, code=1)["error"]
            where, _, why = error["message"].partition(": ")
            assert where.startswith(str(repo.path / ".git" / "skillopt" / "lock"))  # or its owner's name beside it
            assert why in DENIED
    assert snapshot(repo) == before


def test_a_file_in_the_place_of_the_private_folder_is_told(repo: Repository, home: Path, invoke: Run) -> None:
    """What needs nothing of it works."""
    sessions(home, repo, PNPM)
    (repo.path / ".git" / "skillopt").touch()

    assert invoke("run", code=1)["error"]["message"] == f"{repo.path / '.git' / 'skillopt'}: File exists"
    assert invoke("status")["open"] == invoke("log")["events"] == []


def test_refs_that_cannot_be_written_are_told(repo: Repository, home: Path, invoke: Run) -> None:
    """In git's words, and nothing is recorded; with the way free the next run works."""
    sessions(home, repo, PNPM)
    obstacle = repo.path / ".git" / "refs" / "skillopt"
    obstacle.touch()

    error = invoke("run", code=1)["error"]

    assert error["message"].startswith("git update-ref: ")
    assert "refs/skillopt/ledger" in error["message"]
    obstacle.unlink()
    assert invoke("run")["reason"] == "improved"


def test_a_ref_that_cannot_be_locked_for_good_is_not_tried_again(repo: Repository) -> None:
    """Only somebody else's lock is a reason to wait."""
    opened = GitRepo.open(repo.path)
    head = repo.git("rev-parse", "HEAD").strip()

    with read_only(repo), pytest.raises(GitError, match="|".join(DENIED)) as caught:
        opened.update_ref("refs/heads/new", head, None, "test")

    assert caught.type is GitError
