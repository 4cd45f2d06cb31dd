from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from skillopt_git.gitfiles import Answers, ref_id, whole_id
from skillopt_git.gitrepo import GitRepo
from tests.helpers import Repository


@dataclass(frozen=True)
class Said:
    code: int


def test_what_stays_true_is_asked_once(repo: Repository) -> None:
    """What failed is asked again: it may have come meanwhile."""
    asked: list[tuple[str, ...]] = []

    def ask(*words: str) -> Said:
        asked.append(words)
        return Said(code=int(words[0]))

    answers: Answers[Said] = Answers()
    for _ in range(2):
        for code in "012":
            assert answers.to(ask, (code, "x"), (0, 1)).code == int(code)

    assert asked == [("0", "x"), ("1", "x"), ("2", "x"), ("2", "x")]


def test_a_branch_is_asked_about_anew_and_a_commit_that_comes_is_found(repo: Repository, tmp_path: Path) -> None:
    opened = GitRepo.open(repo.path)
    first = repo.git("rev-parse", "HEAD").strip()
    assert opened.resolve("main") == opened.resolve(first) == first
    repo.git("clone", "--quiet", ".", str(tmp_path / "other"))
    there = Repository(tmp_path / "other").commit("Next", {"README.md": "next\n"})

    assert opened.resolve(there) is None
    repo.git("fetch", "--quiet", str(tmp_path / "other"), "main:main", "--update-head-ok")

    assert opened.resolve(there) == opened.resolve("main") == there
    assert opened.resolve(first[:12]) == first


@pytest.mark.parametrize(("text", "whole"), [("0f" * 20, True), ("0F" * 20, False), ("0f" * 6, False), ("main", False)])
def test_an_id_is_whole_or_may_come_to_name_another(text: str, *, whole: bool) -> None:
    assert whole_id(text, 40) is whole


def test_refs_that_are_packed_or_absent_need_no_git(repo: Repository) -> None:
    """A tag that has a commit behind it is told by its own id, and a name that only ends alike is another one."""
    repo.git("tag", "-a", "-m", "v", "v1")
    repo.git("update-ref", "refs/skillopt/x/refs/heads/main", "main~0")
    assert ref_id(repo.path / ".git", "refs/heads/gone") == ""
    repo.git("pack-refs", "--all")
    listed = repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()

    for name, sha in (line.split(" ") for line in listed):
        assert ref_id(repo.path / ".git", name) == sha
    for name in ("refs/heads/gone", "refs/heads", "heads/main", "refs/heads/main/x"):
        assert not ref_id(repo.path / ".git", name)
    repo.git("update-ref", "-d", "refs/heads/topic")
    (repo.path / ".git" / "packed-refs").unlink()
    assert ref_id(repo.path / ".git", "refs/heads/main") == ""


@pytest.mark.parametrize(
    "name", ["HEAD", "refs/bisect/bad", "refs/heads/other", "refs/heads/damaged", "refs/heads/a b"]
)
def test_what_only_git_can_tell_is_left_to_it(repo: Repository, name: str) -> None:
    repo.git("symbolic-ref", "refs/heads/other", "refs/heads/main")
    (repo.path / ".git/refs/heads/damaged").write_text("half a")
    assert ref_id(repo.path / ".git", name) is None


def test_where_refs_are_no_files_git_is_asked(tmp_path: Path) -> None:
    """Such a repository has a file where others have the folder of branches."""
    (tmp_path / "refs").mkdir()
    (tmp_path / "refs/heads").write_text("this repository uses the reftable format\n")
    assert ref_id(tmp_path, "refs/heads/main") is None


def test_where_they_cannot_be_read_git_is_asked(repo: Repository) -> None:
    """It says why."""
    folder = repo.path / ".git"
    (folder / "packed-refs").mkdir()
    assert ref_id(folder, "refs/heads/gone") is None
    (folder / "refs/heads/loop").symlink_to("loop")
    assert ref_id(folder, "refs/heads/loop") is None
