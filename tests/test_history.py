"""Commits read back, and merges tried without touching anything."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from skillopt_git.errors import GitError
from skillopt_git.gitrepo import GitRepo, Identity
from skillopt_git.history import contained, is_ancestor, log, merge_tree, show
from tests.helpers import Repository
from tests.helpers_git import TOOL, snapshot

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_commit_reads_back_as_it_was_written(repo: Repository) -> None:
    """Message to the last byte, trailers, both identities and the moment; folded trailers are one line."""
    opened = GitRepo.open(repo.path)
    base = show(opened, "HEAD")
    message = "Use pnpm — größer\n\nWhy: said twice.\n\nSkillOpt-Edit-Id: e1-0123\nSkillOpt-Target: a\n  b\n"
    sha = opened.commit_tree(base.tree, [base.sha], message, TOOL, WHEN)
    commit = show(opened, sha)
    assert (commit.sha, commit.tree, commit.parents) == (sha, base.tree, (base.sha,))
    assert (commit.message, commit.time) == (message, WHEN)
    assert commit.author == commit.committer == TOOL
    assert commit.trailers == (("SkillOpt-Edit-Id", "e1-0123"), ("SkillOpt-Target", "a b"))
    assert (commit.trailer("SkillOpt-Edit-Id"), commit.trailer("Nope")) == ("e1-0123", None)
    assert base.author == Identity("Alice Example", "alice@example.invalid")
    assert base.trailers == ()


def test_a_log_is_oldest_first_also_among_equal_times(repo: Repository) -> None:
    """A range leaves out what the other side has; paths and the first-parent rule narrow it."""
    opened = GitRepo.open(repo.path)
    base = opened.resolve("HEAD")
    assert base is not None
    commits = [base]
    for at in range(5):
        changes = {f"f{at % 2}": ("100644", opened.write_blob(f"{at}".encode()))}
        commits.append(opened.commit(parent=commits[-1], changes=changes, message=f"{at}\n", author=TOOL, when=WHEN))
    side = opened.commit(parent=base, changes={}, message="side\n", author=TOOL, when=WHEN)
    tip = opened.commit_tree(show(opened, commits[-1]).tree, [commits[-1], side], "merge\n", TOOL, WHEN)
    assert [commit.message for commit in log(opened, commits[-1], base)] == ["0\n", "1\n", "2\n", "3\n", "4\n"]
    assert [commit.message for commit in log(opened, tip, base, first_parent=True)][-2:] == ["4\n", "merge\n"]
    assert "side\n" in [commit.message for commit in log(opened, tip, "main")]
    assert [commit.message for commit in log(opened, tip, base, paths=["f1"])] == ["1\n", "3\n"]
    assert [commit.sha for commit in log(opened, base)] == [base]
    assert log(opened, base, tip) == ()


def test_a_parent_comes_before_its_child_whatever_their_clocks_say(repo: Repository) -> None:
    """A commit dated before its own parent still follows it."""
    opened = GitRepo.open(repo.path)
    base = show(opened, "HEAD")

    def made(name: str, minutes: int, *parents: str) -> str:
        return opened.commit_tree(base.tree, parents, name, TOOL, WHEN + timedelta(minutes=minutes))

    shared = made("shared", 5, base.sha)
    tip = made("tip", 11, made("late", 10, shared), made("early", 1, shared))
    told = [commit.message.strip() for commit in log(opened, tip, base.sha)]
    assert told.index("shared") == 0
    assert told.index("tip") == 3


def test_descent_is_told(repo: Repository) -> None:
    """Ancestor or not, also between unrelated histories."""
    opened = GitRepo.open(repo.path)
    one = repo.git("rev-parse", "HEAD").strip()
    two = repo.commit("Two", {"a": "1"})
    alone = opened.commit(parent=None, changes={}, message="alone", author=TOOL, when=WHEN)
    assert is_ancestor(opened, one, two)
    assert is_ancestor(opened, two, two)
    assert not is_ancestor(opened, two, one)
    assert not is_ancestor(opened, alone, two)
    assert contained(opened, [one, two, alone, "0" * 40, show(opened, two).tree], two) == {one, two}
    assert contained(opened, [two], one) == contained(opened, [], one) == frozenset()


@pytest.mark.parametrize("rev", ["nope", "--all", "^main"])
def test_unknown_revisions_are_errors(repo: Repository, rev: str) -> None:
    """A word that names no commit raises in git's words, and is never an option."""
    opened = GitRepo.open(repo.path)
    with pytest.raises(GitError, match=r"^git merge-base: "):
        is_ancestor(opened, rev, "main")
    with pytest.raises(GitError, match="is not a commit"):
        merge_tree(opened, "main", rev)
    with pytest.raises(GitError, match="is not a commit"):
        show(opened, rev)
    with pytest.raises(GitError, match="is not a commit"):
        log(opened, "main", rev)


def test_a_trial_merge_tells_tree_and_conflicts(repo: Repository) -> None:
    """A clean merge has both sides' changes, a conflict names its paths, and nothing of the user's is touched."""
    base = repo.commit("Base", {"both ü": "1\n", "ours": "1\n", "theirs": "1\n"})
    ours = repo.commit("Ours", {"ours": "2\n", "both ü": "ours\n"})
    repo.git("checkout", "--quiet", base)
    theirs = repo.commit("Theirs", {"theirs": "2\n"})
    clash = repo.commit("Clash", {"both ü": "theirs\n"})
    before = snapshot(repo)
    opened = GitRepo.open(repo.path)
    tree, conflicts = merge_tree(opened, ours, theirs)
    assert conflicts == ()
    assert repo.git("cat-file", "blob", f"{tree}:ours") == repo.git("cat-file", "blob", f"{tree}:theirs") == "2\n"
    assert merge_tree(opened, ours, clash)[1] == ("both ü",)
    alone = opened.commit(parent=None, changes={}, message="alone", author=TOOL, when=WHEN)
    with pytest.raises(GitError, match="unrelated histories"):
        merge_tree(opened, ours, alone)
    assert snapshot(repo) == before
