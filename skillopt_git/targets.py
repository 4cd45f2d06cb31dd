"""Where rules may be written: the base branch, the allowed paths, and the file behind a link."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from skillopt_git.errors import ConfigError, SafetyError, UsageError
from skillopt_git.gitrepo import FOLDER, LINK, SUBMODULE, Entry, GitRepo, kind
from skillopt_git.remote import remote_name

NAMES = frozenset({"SKILL.md", "CLAUDE.md", "AGENTS.md"})
SHARED_TASKS = ".skillopt/tasks"
OWN_PROMPTS = ".skillopt/prompts"
TASKS_FILE = re.compile(r"\.skillopt/tasks/[^/]+\.json")
MOST_LINKS = 5

_OURS = ("refs/heads/sleep/", "refs/heads/skillopt/")
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_CLOSED = frozenset({".git", ".github"})


class Base(NamedTuple):
    """What is proposed to: a branch by its short name, and the commit it counts as."""

    branch: str
    commit: str


# --- paths -------------------------------------------------------------------------------------------------------


def allowed(path: str) -> bool:
    """Whether the tool may write the repository path `path`: a skill, a memory or a tasks file, and nothing else."""
    parts = path.split("/")
    if any(_odd(part) or _closed(part) for part in parts):
        return False
    return parts[-1] in NAMES or TASKS_FILE.fullmatch(path) is not None


def _odd(part: str) -> bool:
    """A part that is not a plain name; an empty first one makes a path absolute."""
    return part in {"", ".", ".."} or any(
        char == "\\" or unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in part
    )


def _closed(part: str) -> bool:
    """Whether some file system takes `part` for `.git` or `.github`: by case, stream, trailing dots, short name."""
    name = part.casefold().split(":")[0].rstrip(". ")
    return name in _CLOSED or re.fullmatch(r"(git|github)~\d+", name) is not None


# --- documents ---------------------------------------------------------------------------------------------------


def document_entry(repo: GitRepo, commit: str, path: str) -> Entry | None:
    """The file that `path` is in `commit`, a link followed to its target; None where there is nothing yet.

    Raises `SafetyError` for a path or a link to what may not be written, `ConfigError` for what cannot be taught.
    """
    link: Entry | None = None
    for _ in range(MOST_LINKS + 1):
        _refuse_forbidden(path)
        _refuse_detours(repo, commit, path)
        entry = repo.entry(commit, path)
        if entry is None and link is not None:
            raise ConfigError(f"{link.path} is a link to {path}, which does not exist")
        if entry is None or entry.mode != LINK:
            return _teachable(repo, commit, path, entry)
        link, path = entry, followed(repo, entry)
    raise ConfigError(f"{path} is behind more than {MOST_LINKS} links")


def _refuse_forbidden(path: str) -> None:
    if not allowed(path):
        names = ", ".join(sorted(NAMES))
        raise SafetyError(f"{path!r} may not be written", f"only files named {names} and .skillopt/tasks/*.json may be")


def _refuse_detours(repo: GitRepo, commit: str, path: str) -> None:
    above = [path[:at] for at, char in enumerate(path) if char == "/"]
    for entry in repo.entries(commit, above).values() if above else ():
        if entry.mode == LINK:
            raise SafetyError(f"{path} lies behind {entry.path}, a link to a folder", "name the folder it leads to")
        if entry.mode != FOLDER:
            raise ConfigError(f"{path} cannot be taught: {entry.path} is {kind(entry)}")


def followed(repo: GitRepo, link: Entry) -> str:
    """Where a link leads within the repository."""
    to = repo.blob(link.sha).decode("utf-8", "surrogateescape")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(link.path), to))
    if to.startswith("/") or path == ".." or path.startswith("../"):
        raise SafetyError(f"{link.path} is a link to {to!r}, outside of the repository")
    return path


def _teachable(repo: GitRepo, commit: str, path: str, entry: Entry | None) -> Entry | None:
    if entry is not None and entry.mode in {FOLDER, SUBMODULE}:
        raise ConfigError(f"{path} cannot be taught: it is {kind(entry)}")
    pointer = entry is not None and repo.blob(entry.sha).startswith(_LFS_POINTER)
    if pointer or repo.attribute(commit, path, "filter") == "lfs":
        raise ConfigError(f"{path} cannot be taught: Git LFS keeps its text elsewhere")
    return entry


# --- the base ----------------------------------------------------------------------------------------------------


def default_base(repo: GitRepo, configured: str) -> Base:
    """The branch to propose to, from what is known locally: no network.

    `configured`, else the remote's default branch, else the branch HEAD is on. What the remote has of a branch goes
    before the local one. Raises `UsageError` where there is no answer.
    """
    remote = remote_name(repo)
    if configured:
        return _named(repo, remote, configured)
    return _remote_default(repo, remote) or _local(repo)


def _named(repo: GitRepo, remote: str | None, branch: str) -> Base:
    tracked = repo.resolve(f"refs/remotes/{remote}/{branch}") if remote else None
    commit = tracked or repo.resolve(f"refs/heads/{branch}")
    if commit is None:
        raise UsageError(f"there is no branch '{branch}' to propose to", "set propose.base to a branch that exists")
    return Base(branch, commit)


def _remote_default(repo: GitRepo, remote: str | None) -> Base | None:
    head = repo.symbolic_ref(f"refs/remotes/{remote}/HEAD") if remote else None
    commit = repo.resolve(head) if head else None
    return Base(head.removeprefix(f"refs/remotes/{remote}/"), commit) if head and commit else None


def _local(repo: GitRepo) -> Base:
    for ref in _usual(repo):
        commit = repo.resolve(ref)
        if commit:
            return Base(ref.removeprefix("refs/heads/"), commit)
    if not repo.refs("refs/heads"):
        raise UsageError("there are no commits yet", "commit something first: a proposal needs a branch to go to")
    raise UsageError("there is no branch to propose to", "set propose.base to the name of one")


def _usual(repo: GitRepo) -> Iterator[str]:
    """The branches that proposals may be meant for, the likeliest first."""
    head = repo.head_branch()
    if head and not head.startswith(_OURS):
        yield head
    for name in filter(None, (repo.setting("init.defaultBranch"), "main", "master")):
        yield f"refs/heads/{name}"
