"""What is known of transcripts before, and instead of, reading them: their files, and sessions without their words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from skillopt_git.model import Session, Skipped

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)

# What is told of a piece that was not read, where more than the one that tells it has to know.
NO_FOLDER = "no such folder"
NO_FILE = "no such file"
UNREADABLE = "unreadable"
REPLACED = "replaced while it was read"
PARENT_MISSING = "the session it goes on from is missing"

Home: TypeAlias = tuple[str, str]  # a source's name and home


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it stood when it was found. One that is equal later has not changed since."""

    path: str
    size: int  # bytes
    mtime_ns: int
    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """The files that hold one or more conversations, in reading order; found, and not yet opened."""

    files: tuple[FileState, ...]

    @property
    def path(self) -> str:
        return self.files[0].path

    @property
    def mtime_ns(self) -> int:
        """When the youngest of its files was last written, in nanoseconds since 1970."""
        return max(file.mtime_ns for file in self.files)

    @property
    def written(self) -> datetime:
        """The same as an instant, as near as there is one."""
        return _EPOCH + timedelta(microseconds=min(max(self.mtime_ns // 1000, _FIRST), _LAST))


@dataclass(frozen=True, slots=True)
class Span:
    earliest: datetime
    latest: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A session without its words: enough to tell whether it counts.

    `typed`: whether a person said anything in it. `digest` is of its id and all that is said in it: equal for copies.
    """

    id: str
    path: str
    cwd: str | None
    original_cwd: str | None
    started: datetime | None
    ended: datetime | None
    headless: bool
    replay: bool
    typed: bool
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What was found in a transcript while its files were `files`; `sessions` are kept whole, and redacted,
    by their digests.

    `glance`: the times at its end, if it was too old to be read, and there is nothing else to know.
    """

    files: tuple[FileState, ...]
    glance: Span | None = None
    headings: tuple[Heading, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    sessions: Mapping[str, Session] = field(default_factory=dict)
