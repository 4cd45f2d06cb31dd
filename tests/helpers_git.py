"""What git tests share: a picture of everything in a repository that belongs to its user."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from skillopt_git.gitrepo import Identity
from tests.helpers import Repository

TOOL = Identity("skillopt-git", "skillopt-git@users.noreply.invalid")
LOUD_HOOKS = ("pre-commit", "commit-msg", "post-commit", "post-merge", "post-checkout", "reference-transaction")


def snapshot(repo: Repository, *, ours: str = "refs/skillopt/") -> dict[str, object]:
    """Work tree, index, HEAD, config, stash and refs, byte for byte; refs below `ours` and objects aside."""
    git_dir = Path(repo.git("rev-parse", "--absolute-git-dir").strip())
    common = Path(repo.git("rev-parse", "--path-format=absolute", "--git-common-dir").strip())
    bookkeeping = ("index", "HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "index.lock", "logs/HEAD")
    listed = repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return {
        "tree": _files(repo.path),
        "git": {name: _bytes(git_dir / name) for name in bookkeeping},
        "names": sorted(path.name for path in git_dir.iterdir()),
        "common": {name: _bytes(common / name) for name in ("config", "HEAD", "packed-refs", "logs/refs/stash")},
        "refs": [line for line in listed if not line.startswith(ours)],
    }


def _bytes(path: Path) -> tuple[bytes, int] | None:
    return (path.read_bytes(), path.stat().st_mtime_ns) if path.is_file() else None


def _files(root: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = Path(folder, name)
            status = path.lstat()
            content: object = str(path.readlink()) if path.is_symlink() else path.read_bytes()
            found[str(path.relative_to(root))] = (content, status.st_mode, status.st_mtime_ns)
    return found


def fail_every_hook(repo: Repository) -> None:
    """Hooks that leave a mark and fail."""
    hooks = Path(repo.git("rev-parse", "--path-format=absolute", "--git-common-dir").strip(), "hooks")
    hooks.mkdir(exist_ok=True)
    for name in LOUD_HOOKS:
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
