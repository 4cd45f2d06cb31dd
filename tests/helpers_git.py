"""What git tests share: a picture of everything in a repository that belongs to its user."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection
from pathlib import Path

from skillopt_git.gitrepo import Identity
from tests.helpers import Repository

TOOL = Identity("skillopt-git", "skillopt-git@users.noreply.invalid")
LOUD_HOOKS = ("pre-commit", "commit-msg", "post-commit", "post-merge", "post-checkout", "reference-transaction")


def snapshot(repo: Repository, *, ours: str | tuple[str, ...] = "refs/skillopt/") -> dict[str, object]:
    """What is the user's, byte for byte and to the moment: every work tree with what is ignored in it, and the
    repository's own folder (config, hooks, indexes, HEADs, stash, locks). Aside: objects, what is private to the tool,
    and refs below `ours`.
    """
    git_dir = Path(repo.git("rev-parse", "--absolute-git-dir").strip("\n"))
    common = Path(repo.git("rev-parse", "--path-format=absolute", "--git-common-dir").strip("\n"))
    listed = repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return {
        "trees": {str(path): files(path, {".git"}) for path in work_trees(repo) if path != common},
        "git": files(common, {"objects", "refs", "logs/refs", "skillopt"}),
        "stash": _file(common / "logs/refs/stash"),
        "names": sorted(path.name for path in git_dir.iterdir()),
        "refs": [line for line in listed if not line.startswith(ours)],
    }


def work_trees(repo: Repository) -> list[Path]:
    """The main work tree, or the bare folder, and the linked ones that are there."""
    fields = repo.git("worktree", "list", "--porcelain", "-z").split("\0")
    paths = [Path(field.removeprefix("worktree ")) for field in fields if field.startswith("worktree ")]
    return [path for path in paths if path.is_dir()]


def files(root: Path, without: Collection[str] = ()) -> dict[str, object]:
    """Content, mode and time of every file below `root`, except what is called or lies in `without`."""
    found: dict[str, object] = {}
    for folder, folders, names in os.walk(root):
        below = Path(folder).relative_to(root)
        folders[:] = [name for name in folders if str(below / name) not in without]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        found |= {str(below / name): _file(Path(folder, name)) for name in (*names, *links)}
    return found


def _file(path: Path) -> object:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    content: object = str(path.readlink()) if path.is_symlink() else path.read_bytes()
    return content, status.st_mode, status.st_mtime_ns


def fail_every_hook(repo: Repository, folder: Path | None = None, names: Collection[str] = LOUD_HOOKS) -> None:
    """Hooks that leave a mark and fail, in the repository's own folder of hooks unless told otherwise."""
    common = repo.git("rev-parse", "--path-format=absolute", "--git-common-dir").strip("\n")
    hooks = folder or Path(common, "hooks")
    hooks.mkdir(exist_ok=True)
    for name in names:
        hook = hooks / name
        hook.write_text(f'#!/bin/sh\ntouch "{repo.path}/hook-ran"\nexit 1\n')
        hook.chmod(0o755)


def tree(repo: Repository, commit: str) -> dict[str, tuple[str, bytes]]:
    """Mode and bytes by path, read by the git command."""
    found = {}
    for line in filter(None, repo.git("ls-tree", "-r", "-z", "--full-tree", commit).split("\0")):
        meta, path = line.split("\t", 1)
        mode, _, sha = meta.split()
        found[path] = (mode, _stored(repo, sha))
    return found


def _stored(repo: Repository, sha: str) -> bytes:
    return subprocess.run(["git", "cat-file", "blob", sha], cwd=repo.path, capture_output=True, check=True).stdout
