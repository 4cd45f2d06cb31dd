"""What a run finds in the private folder: may it be used, and what in it is damaged. Looked at, never touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from skillopt_git import index, private, spending
from skillopt_git.crash import LOG
from skillopt_git.findings import Finding, fault, one_line
from skillopt_git.gitrepo import GitRepo
from skillopt_git.private import Damaged, Private

_LOOK = "look at its owner and mode"
# What it costs to begin anew.
_LOST = {
    "bank.json": "the next run keeps it aside, and learns tasks anew from the sessions that are still there",
    "checkpoint.json": "the next run keeps it aside, and reads again what it has read before",
    "schedule.json": "the next scheduled run keeps it aside; schedule again",
    "key": "the next run keeps it aside, and its marks for what is secret differ from older ones",
    "machine": "the next run keeps it aside, and this clone counts as another one",
}
_UNCOUNTED = "the next run keeps it aside; what that run spent no longer counts for the week"


def usable(kept: Private) -> bool:
    """Whether the folder can be looked into, or is not made yet."""
    return not os.path.lexists(kept.folder) or (kept.folder.is_dir() and os.access(kept.folder, os.R_OK | os.X_OK))


def about_folders(repo: GitRepo, kept: Private) -> Iterator[Finding]:
    """Those that every run writes to; the private ones are made if they are not there yet."""
    usual = (repo.common_dir, repo.common_dir / "objects", repo.common_dir / "refs", kept.folder)
    for folder in (*usual, *((kept.index, kept.reports) if usable(kept) else ())):
        if os.path.lexists(folder) and not folder.is_dir():
            yield Finding(f"{folder} is no folder", "move it away", fault=True)
        elif folder.exists() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            yield Finding(f"{folder} may not be written", f"{_LOOK}, or at how it is mounted", fault=True)


def about_files(kept: Private) -> Iterator[Finding]:
    """What of them a run could not read, and what damaged ones and unexpected errors left behind."""
    for path, error in (*private.ailing(kept.folder), *spending.ailing(kept.folder)):
        if isinstance(error, Damaged):
            yield Finding(one_line(error), _LOST.get(path.name, _UNCOUNTED))
        elif isinstance(error, OSError):
            yield Finding(f"{path} cannot be read ({error.strerror})", _LOOK, fault=True)
        else:
            yield fault(error)
    for path in index.ailing(kept.index):
        yield Finding(f"{path} is damaged", "the next run keeps it aside, and reads those transcripts anew")
    yield from _about_lock(kept.folder / "lock")
    yield from _left_behind(kept)


def _about_lock(lock: Path) -> Iterator[Finding]:
    if lock.is_dir():
        yield Finding(f"{lock} is a folder", "delete it: a run makes a file of that name", fault=True)
    elif lock.exists() and not os.access(lock, os.R_OK | os.W_OK):
        yield Finding(f"{lock} may not be written", f"{_LOOK}, or delete it while nobody is at work", fault=True)


def _left_behind(kept: Private) -> Iterator[Finding]:
    """Nobody else will take it away."""
    for path in sorted(kept.folder.rglob("*.damaged-*")):
        remedy = "look what was in it, and delete it when you know"
        yield Finding(f"a private file was damaged and is kept as {path}", remedy)
    log = kept.folder / LOG
    if log.is_file():
        day = f"{datetime.fromtimestamp(log.stat().st_mtime, UTC):%Y-%m-%d}"
        yield Finding(
            f"an error that nobody expected is kept in {log} ({day})", "report it, and delete it when it is mended"
        )
