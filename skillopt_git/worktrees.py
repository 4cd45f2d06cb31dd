"""The user's work trees: what is checked out where, and the one way to move it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt_git.errors import GitError, UsageError
from skillopt_git.gitrepo import Done, GitRepo, execute

_IN_THE_WAY = "commit, stash or move what is in the way, then try again"


@dataclass(frozen=True, slots=True)
class Worktree:
    """`branch` is a full ref name, None when detached; `head` is None before the first commit.

    `rebasing`: HEAD is detached for a rebase, which will move `branch` when it ends.
    """

    path: Path
    head: str | None
    branch: str | None
    rebasing: bool = False


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
    path, head = Path(block["worktree"]), block.get("HEAD")
    rebased = _rebased(path) if "detached" in block else None
    branch = block.get("branch") or rebased
    return Worktree(path, None if head == repo.zero else head, branch, rebasing=rebased is not None)


def _rebased(folder: Path) -> str | None:
    git_dir = Path(execute(folder, "rev-parse", "--absolute-git-dir").text)
    notes = [git_dir / way / "head-name" for way in ("rebase-merge", "rebase-apply")]
    names = [note.read_text(encoding="utf-8").strip() for note in notes if note.is_file()]
    return next((name for name in names if name.startswith("refs/heads/")), None)


def checked_out(repo: GitRepo, ref: str) -> Worktree | None:
    """The work tree that has the branch `ref` checked out, or is rebasing it."""
    return next((tree for tree in worktrees(repo) if tree.branch == ref), None)


def fast_forward(worktree: Worktree, commit: str) -> None:
    """Moves the branch checked out in `worktree`, its index and files to `commit`, as `git merge --ff-only` does.

    Where a file with local changes, or an untracked or ignored one, would be overwritten, where a file cannot be
    written, or somebody holds a lock, nothing is touched and `GitError` carries git's words. Never stashes.
    """
    if worktree.rebasing:
        raise GitError(f"git merge: {worktree.branch} is being rebased in {worktree.path}", "finish the rebase first")
    _refuse_others(worktree, commit)
    _refuse_overwriting(worktree, commit)
    _refuse_locked(worktree, commit)
    safe = ("--ff-only", "--no-autostash", "--no-overwrite-ignore", "--no-verify-signatures", "--no-stat", "--quiet")
    _require(execute(worktree.path, "merge", *safe, "--end-of-options", commit))


# All of these are tried first: a merge that git gives up has refreshed the index and written ORIG_HEAD, and one that
# fails later has moved files and index, and not the branch.


def _refuse_others(worktree: Worktree, commit: str) -> None:
    """Commits that came meanwhile, and ignored files in the way, which only the merge itself would see."""
    if execute(worktree.path, "merge-base", "--is-ancestor", "HEAD", commit).code:
        raise GitError("git merge: not possible to fast-forward", "somebody committed meanwhile: try again")
    added = execute(worktree.path, "diff-tree", "-r", "-z", "--name-only", "--diff-filter=A", "HEAD", commit).fields
    there = [path for path in added if os.path.lexists(worktree.path / path)]
    asked = ("ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--")
    ignored = execute(worktree.path, *asked, *there).fields if there else []
    if ignored:
        raise GitError(f"git merge: ignored files would be overwritten: {', '.join(ignored)}", _IN_THE_WAY)


def _refuse_overwriting(worktree: Worktree, commit: str) -> None:
    """On a copy of the index, and with the files that change in a folder of our own."""
    index = execute(worktree.path, "rev-parse", "--path-format=absolute", "--git-path", "index").text
    with TemporaryDirectory(prefix="skillopt-") as folder:
        copy = Path(folder, "index")
        if Path(index).is_file():
            shutil.copyfile(index, copy)

        def tried(*words: str, data: bytes = b"") -> Done:
            return execute(worktree.path, *words, data=data, env={"GIT_INDEX_FILE": str(copy)})

        tried("update-index", "-q", "--refresh")
        _require(tried("read-tree", "-n", "-m", "-u", "HEAD", commit), _IN_THE_WAY)
        changed = tried("diff-tree", "-r", "-z", "--name-only", "--diff-filter=d", "HEAD", commit)
        tried("read-tree", commit)
        done = tried("checkout-index", "--stdin", "-z", f"--prefix={folder}/files/", data=changed.out)
        _require(done, "mend what keeps git from writing the file, then try again")


def _refuse_locked(worktree: Worktree, commit: str) -> None:
    _require(execute(worktree.path, "read-tree", "-n", "HEAD"))  # takes the index's lock, and writes nothing
    steps = f"start\nupdate HEAD {commit}\nprepare\nabort\n"
    _require(execute(worktree.path, "update-ref", "--stdin", data=steps.encode()))


def _require(done: Done, hint: str = "") -> None:
    if done.code:
        raise GitError(f"git merge: {done.words[0]}", "\n".join(filter(None, [*done.words[1:], hint])))


def differs(repo: GitRepo, commit: str, path: str) -> bool:
    """Whether the user's file at `path` is another than that of `commit`, line end conversion aside."""
    if repo.root is None:
        return False
    entry, file = repo.entry(commit, path), repo.root / path
    if file.is_symlink() or not file.is_file():
        return entry is not None or file.is_symlink()
    data = file.read_bytes()
    done = repo.attempt("hash-object", "--stdin", f"--path={path}", data=data)
    if done.code:  # a filter that is asked for is not there: then only the bytes can tell
        done = repo.run("hash-object", "--stdin", "--no-filters", data=data)
    return entry is None or entry.sha != done.text
