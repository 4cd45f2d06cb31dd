"""What GitHub's merge button does, by git itself in the bare repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Literal, TypeAlias

from tests.helpers import Repository
from tests.rig.accounts import Account

Way: TypeAlias = Literal["merge", "squash"]


def merged(git: Repository, base: str, head: str, message: str, *, way: Way, author: Account) -> str | None:
    """The commit that brings `head` to `base`; None where they conflict."""
    written = _git(git, "merge-tree", "--write-tree", "--name-only", base, head, author=author)
    if written.returncode:
        return None
    parents = [base, head] if way == "merge" else [base]
    options = [word for parent in parents for word in ("-p", parent)]
    tree = written.stdout.split()[0]
    return _git(git, "commit-tree", *options, "-m", message, tree, author=author).stdout.strip()


def contains(git: Repository, tip: str, sha: str) -> bool:
    """Whether `sha` is `tip` or below it."""
    return git.git("rev-list", "--count", sha, f"^{tip}").strip() == "0"


def _git(git: Repository, *words: str, author: Account) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": author.login,
        "GIT_AUTHOR_EMAIL": f"{author.login}@users.noreply.invalid",
        "GIT_COMMITTER_NAME": "GitHub",
        "GIT_COMMITTER_EMAIL": "noreply@github.invalid",
    }
    command: Sequence[str] = ["git", *words]
    return subprocess.run(command, cwd=git.path, env=environment, capture_output=True, text=True, check=False)
