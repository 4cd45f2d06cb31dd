"""What never leaves this clone: key, bank, checkpoint, index, call cache, reports, lock; for their owner's eyes only.

Each file is written whole or not at all. One that is damaged is kept aside, never silently replaced.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from skillopt_git import schema
from skillopt_git.errors import Busy, ConfigError
from skillopt_git.locks import Held, locked
from skillopt_git.model import RECORD, RECORD_VERSION
from skillopt_git.transcripts import Home
from skillopt_git.whole import sweep, write
from skillopt_git.window import Window

if TYPE_CHECKING:
    from skillopt_git.bank import Bank

KEY_BYTES = 32
MACHINE_DIGITS = 8
_KEY, _MACHINE = rb"(?s:.{%d})" % KEY_BYTES, rb"[0-9a-f]{%d}" % MACHINE_DIGITS
LONGEST_WAIT = 1.0  # seconds for the lock: somebody may just be looking who holds it

T = TypeVar("T")


class Damaged(ConfigError):
    """A private file that is not what it should be. Whoever only looks leaves it; a run keeps it aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Up to when each (source, home) was read: `read[source][home]` is an instant in ISO format.

    `ahead[source][home]` gives the sessions that were read though older ones were left: their digests and when they
    were last active. `worktrees` are the folders of work trees so far; sessions of a removed one still count.
    """

    __pydantic_config__ = RECORD
    v: int = RECORD_VERSION
    read: dict[str, dict[str, datetime]] = field(default_factory=dict)
    ahead: dict[str, dict[str, dict[str, datetime]]] = field(default_factory=dict)
    worktrees: tuple[str, ...] = ()

    def window(self, home: Home) -> Window:
        source, folder = home
        since = self.read.get(source, {}).get(folder)
        ahead = self.ahead.get(source, {}).get(folder, {})
        return Window(since and _aware(since), {digest: _aware(last) for digest, last in ahead.items()})

    def moved(self, windows: Mapping[Home, Window], worktrees: Iterable[str] = ()) -> Checkpoint:
        read = {source: dict(homes) for source, homes in self.read.items()}
        ahead = {source: dict(homes) for source, homes in self.ahead.items()}
        for (source, home), window in windows.items():
            if window.since is not None:
                read.setdefault(source, {})[home] = window.since
            ahead.setdefault(source, {})[home] = dict(window.read)
        return Checkpoint(read=read, ahead=ahead, worktrees=tuple(sorted({*self.worktrees, *worktrees})))


def _aware(time: datetime) -> datetime:
    """One without a zone, which only a person can have written, is taken for UTC."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nightly:
    """What scheduled runs know and leave: the environment `schedule` was called in, and since when; when the last one
    was tried, and how it ended (None while it has not)."""

    __pydantic_config__ = RECORD
    v: int = RECORD_VERSION
    environ: dict[str, str] = field(default_factory=dict)
    since: datetime | None = None
    tried: datetime | None = None
    code: int | None = None


@dataclass(frozen=True, slots=True)
class Private:
    """The folder `<git common dir>/skillopt`. `notes` gathers what was found damaged."""

    folder: Path
    notes: list[str] = field(default_factory=list)

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def index(self) -> Path:
        return self.folder / "index"

    @property
    def spending(self) -> Path:
        return self.folder / "spent"

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    def made(self) -> Path:
        """The folder, on first use; whoever only looks makes none."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        return self.folder

    def key(self) -> bytes:
        """The random key behind redaction marks; made on first use, by whoever comes first."""
        return self._once("key", secrets.token_bytes(KEY_BYTES), _KEY)

    def machine(self) -> str:
        """What the ledger calls this clone: drawn once at random, so that nothing about the machine is in it."""
        drawn = secrets.token_hex(MACHINE_DIGITS // 2).encode()
        return self._once("machine", drawn, _MACHINE).decode("ascii")

    def bank(self) -> Bank:
        from skillopt_git.bank import Bank, upgraded  # most verbs look at no bank, and need not wait for it

        return self._load(Bank, "bank.json", upgraded) or Bank()

    def checkpoint(self) -> Checkpoint:
        return self._load(Checkpoint, "checkpoint.json") or Checkpoint()

    @property
    def nightly_file(self) -> Path:
        return self.folder / "schedule.json"

    def nightly(self) -> Nightly:
        return self._load(Nightly, self.nightly_file.name) or Nightly()

    def save(self, name: str, value: Bank | Checkpoint | Nightly) -> None:
        write(self.made() / name, json.dumps(schema.dump(value), ensure_ascii=False, indent=1).encode())

    def report(self, run: str, files: Mapping[str, str]) -> Path:
        folder = self.reports / run
        for made in (self.made(), self.reports, folder):
            made.mkdir(mode=0o700, exist_ok=True)
        for name, text in files.items():
            write(folder / name, text.encode())
        return folder

    def last_report(self) -> str | None:
        """The newest run that left a report; run ids sort by time."""
        runs = sorted(path.name for path in self.reports.glob("*Z-*")) if self.reports.is_dir() else []
        return runs[-1] if runs else None

    def read_report(self, run: str, name: str) -> str | None:
        path = self.reports / run / name
        named = re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", run)  # anything else may lead elsewhere
        return path.read_text(encoding="utf-8", errors="replace") if named and path.is_file() else None

    def _load(self, type_: type[T], name: str, upgrade: Callable[[bytes], bytes] = bytes) -> T | None:
        """Raises `ConfigError` for a record of a newer tool, which is not damaged."""
        try:
            return record(type_, self.folder / name, upgrade)
        except Damaged:
            self.aside(self.folder / name)
            return None

    def _once(self, name: str, drawn: bytes, form: bytes) -> bytes:
        """What the file holds, if it has the form; else what was drawn, or what somebody else drew just before."""
        path = self.folder / name
        try:
            data = _formed(path, form)
        except Damaged:
            self.aside(path)
            data = None
        if data is None:
            write(self.made() / name, drawn, replace=False)
        return path.read_bytes() if data is None else data

    def aside(self, path: Path) -> None:
        """Out of the way, and not lost: a person may want to look what was in it."""
        aside = path.with_name(f"{path.name}.damaged-{secrets.token_hex(4)}")
        path.replace(aside)
        where = path.relative_to(self.folder).as_posix()
        self.notes.append(f"{where} was damaged and is kept as {aside.name}; it starts anew")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One writer at a time, in all work trees. The system lets go of it when a process dies."""
        owner = self.folder / "lock.owner"
        try:
            with locked(self.made() / "lock", wait=LONGEST_WAIT):
                try:
                    write(owner, f"process {os.getpid()}".encode())
                    sweep(self.folder, owner.stat().st_mtime)
                    yield
                finally:
                    with suppress(OSError):
                        owner.unlink()
        except Held as error:
            raise Busy(f"{self._owner()} is already at work in this repository", "try again when it is done") from error

    def holder(self) -> str | None:
        """Who is at work here; None when nobody is, whatever a process that was killed left behind."""
        if not (self.folder / "lock").is_file():
            return None
        try:
            with locked(self.folder / "lock", wait=0):
                return None
        except Held:
            return self._owner()
        except OSError:  # what may not be written here, nobody is writing
            return None

    def _owner(self) -> str:
        owner = self.folder / "lock.owner"
        return owner.read_text(encoding="utf-8", errors="replace") if owner.is_file() else "another process"


def ailing(folder: Path) -> Iterator[tuple[Path, ConfigError | OSError]]:
    """The records of a private folder that a run could not read, and why. Nothing is moved or made.

    `Damaged` ones a run keeps aside; with any other it ends.
    """
    from skillopt_git.bank import Bank, upgraded

    asked: Mapping[str, Callable[[Path], object]] = {
        "bank.json": lambda path: record(Bank, path, upgraded),
        "checkpoint.json": lambda path: record(Checkpoint, path),
        "schedule.json": lambda path: record(Nightly, path),
        "key": lambda path: _formed(path, _KEY),
        "machine": lambda path: _formed(path, _MACHINE),
    }
    for name, read in asked.items():
        try:
            read(folder / name)
        except (ConfigError, OSError) as error:
            yield folder / name, error


def record(type_: type[T], path: Path, upgrade: Callable[[bytes], bytes] = bytes) -> T | None:
    """What the file holds; None where there is none. Raises `Damaged`, and `ConfigError` for one of a newer tool."""
    data = _data(path)
    if data is None:
        return None
    refuse_newer(data, str(path))
    try:
        return schema.read(type_, upgrade(data), where=str(path))
    except ConfigError as error:
        raise Damaged(error.message) from error
    except (AttributeError, TypeError, ValueError) as error:
        raise Damaged(f"{path} is not valid") from error


def _formed(path: Path, form: bytes) -> bytes | None:
    data = _data(path)
    if data is not None and not re.fullmatch(form, data):
        raise Damaged(f"{path} is not valid")
    return data


def _data(path: Path) -> bytes | None:
    """None where there is nothing. A folder is damage; a file that may not be read is none."""
    if path.is_dir():
        raise Damaged(f"{path} is a folder")
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def refuse_newer(data: bytes, where: str) -> None:
    """Raises `ConfigError` for a record of a newer tool."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        return
    version = record.get("v") if isinstance(record, dict) else None
    if isinstance(version, int) and version > RECORD_VERSION:
        raise ConfigError(f"{where} was written by a newer tool (v {version})", "update skillopt-git")
