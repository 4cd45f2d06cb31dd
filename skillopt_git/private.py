"""What never leaves this clone: key, bank, checkpoint, call cache, reports, lock; for their owner's eyes only.

Each file is written whole or not at all. One that is damaged is kept aside, never silently replaced.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from skillopt_git import schema
from skillopt_git.bank import Bank
from skillopt_git.errors import Busy, ConfigError
from skillopt_git.model import RECORD, RECORD_VERSION

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Up to when each (source, home) was read: `read[source][home]` is an instant in ISO format."""

    __pydantic_config__ = RECORD
    v: int = RECORD_VERSION
    read: dict[str, dict[str, datetime]] = field(default_factory=dict)

    def since(self, source: str, home: str) -> datetime | None:
        return self.read.get(source, {}).get(home)

    def moved(self, instants: Mapping[tuple[str, str], datetime]) -> Checkpoint:
        read = {source: dict(homes) for source, homes in self.read.items()}
        for (source, home), instant in instants.items():
            read.setdefault(source, {})[home] = instant
        return Checkpoint(read=read)


@dataclass(frozen=True, slots=True)
class Private:
    """The folder `<git common dir>/skillopt`. `notes` gathers what was found damaged."""

    folder: Path
    notes: list[str] = field(default_factory=list)

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    def key(self) -> bytes:
        """The random key behind redaction marks; made on first use."""
        path = self.folder / "key"
        if not path.exists():
            write(path, secrets.token_bytes(32))
        return path.read_bytes()

    def bank(self) -> Bank:
        return self._load(Bank, "bank.json") or Bank()

    def checkpoint(self) -> Checkpoint:
        return self._load(Checkpoint, "checkpoint.json") or Checkpoint()

    def save(self, name: str, value: Bank | Checkpoint) -> None:
        write(self.folder / name, json.dumps(schema.dump(value), ensure_ascii=False, indent=1).encode())

    def report(self, run: str, files: Mapping[str, str]) -> Path:
        folder = self.reports / run
        for made in (self.reports, folder):
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
        return path.read_text(encoding="utf-8") if path.parent.parent == self.reports and path.is_file() else None

    def _load(self, type_: type[T], name: str) -> T | None:
        path = self.folder / name
        if not path.is_file():
            return None
        try:
            return schema.read(type_, path.read_bytes(), where=str(path))
        except ConfigError:
            aside = path.with_name(f"{name}.damaged-{secrets.token_hex(4)}")
            path.replace(aside)
            self.notes.append(f"{name} was damaged and is kept as {aside.name}; it starts anew")
            return None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One writer at a time, in all work trees. The system lets go of it when a process dies."""
        held = FileLock(self.folder / "lock", timeout=0)
        owner = self.folder / "lock.owner"
        try:
            held.acquire()
        except Timeout as error:
            who = owner.read_text(encoding="utf-8") if owner.is_file() else "another process"
            raise Busy(f"{who} is already at work in this repository", "try again when it is done") from error
        try:
            write(owner, f"process {os.getpid()}".encode())
            yield
        finally:
            owner.unlink(missing_ok=True)
            held.release()


def write(path: Path, data: bytes) -> None:
    """The whole file or nothing, readable by its owner only."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
