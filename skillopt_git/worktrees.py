"""The user's work trees: what is checked out where, and the one way to move it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt_git.errors import GitError, UsageError
from skillopt_git.gitrepo import GitRepo, execute


@dataclass(frozen=True, slots=True)
class Worktree:
    """`branch` is a full ref name, None when detached; `head` is None before the first commit."""

    path: Path
    head: str | None
    branch: str | None


def worktrees(repo: GitRepo) -> tuple[Worktree, ...]:
    """The main work tree (or bare folder) and the linked ones, except those whose folder is gone."""
    return tuple(_worktree(repo, block) for block in _listed(repo) if "prunable" not in block)


def main_worktree(repo: GitRepo) -> Path:
    """The work tree that the linked ones hang on, or the bare folder; the one at hand where git does not know it."""
    first = Path(_listed(repo)[0]["worktree"])
    try:
        main = GitRepo.open(first)
    except UsageError:  # of a submodule, git names the folder of its objects
        main = repo
    return main.root or main.common_dir


def worktree_folders(repo: GitRepo) -> tuple[Path, ...]:
    """Where there are work trees, or were until their folder was deleted."""
    return tuple(Path(block["worktree"]) for block in _listed(repo))


def _listed(repo: GitRepo) -> list[dict[str, str]]:
    told: list[dict[str, str]] = [{}]
    for line in repo.run("worktree", "list", "--porcelain", "-z").fields:
        if line:
            name, _, value = line.partition(" ")
            told[-1][name] = value
        else:
            told.append({})
    return [block for block in told if block]


def _worktree(repo: GitRepo, block: Mapping[str, str]) -> Worktree:
    head = block.get("HEAD")
    return Worktree(Path(block["worktree"]), None if head == repo.zero else head, block.get("branch"))


def checked_out(repo: GitRepo, ref: str) -> Worktree | None:
    """The work tree that has the branch `ref` checked out."""
    return next((tree for tree in worktrees(repo) if tree.branch == ref), None)


def fast_forward(worktree: Worktree, commit: str) -> None:
    """Moves the branch checked out in `worktree`, its index and files to `commit`, as `git merge --ff-only` does.

    Where a file with local changes, or an untracked or ignored one, would be overwritten, nothing is touched and
    `GitError` carries git's words. Never stashes.
    """
    _refuse_overwriting(worktree, commit)
    safe = ("--ff-only", "--no-autostash", "--no-overwrite-ignore", "--no-verify-signatures", "--no-stat", "--quiet")
    done = execute(worktree.path, "merge", *safe, "--end-of-options", commit)
    if done.code:
        raise done.error


def _refuse_overwriting(worktree: Worktree, commit: str) -> None:
    """Tried on a copy of the index first: a merge that git refuses has refreshed the index and written ORIG_HEAD."""
    index = execute(worktree.path, "rev-parse", "--path-format=absolute", "--git-path", "index").text
    with TemporaryDirectory(prefix="skillopt-") as folder:
        copy = Path(folder, "index")
        if Path(index).is_file():
            shutil.copyfile(index, copy)
        env = {"GIT_INDEX_FILE": str(copy)}
        execute(worktree.path, "update-index", "-q", "--refresh", env=env)
        done = execute(worktree.path, "read-tree", "-n", "-m", "-u", "HEAD", commit, env=env)
    if done.code:
        hint = "\n".join([*done.words[1:], "commit, stash or move what is in the way, then try again"])
        raise GitError(f"git merge: {done.words[0]}", hint)


def differs(repo: GitRepo, commit: str, path: str) -> bool:
    """Whether the user's file at `path` is another than that of `commit`, line end conversion aside."""
    if repo.root is None:
        return False
    entry, file = repo.entry(commit, path), repo.root / path
    if file.is_symlink() or not file.is_file():
        return entry is not None or file.is_symlink()
    local = repo.run("hash-object", "--stdin", f"--path={path}", data=file.read_bytes()).text
    return entry is None or entry.sha != local
