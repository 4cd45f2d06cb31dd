"""The index of harvests: what was found in each transcript, so that the next night opens only what changed.

A memory only: it holds what is redacted, and one that is damaged, or from other settings, is as good as none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from skillopt_git.packed import pack, unpack
from skillopt_git.transcripts import Entry, Home
from skillopt_git.whole import write


@dataclass(frozen=True, slots=True)
class _Kept:
    """`made_by`: what the entries depend on besides the transcripts."""

    made_by: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class _Maker:
    made_by: str


def ailing(folder: Path) -> Iterator[Path]:
    """The files of an index that a harvest would keep aside. Nothing is moved."""
    for path in sorted(folder.glob("*.json")):
        try:
            unpack(path.read_bytes(), _Maker)
        except (OSError, ValueError):
            yield path


@dataclass(frozen=True, slots=True)
class Index:
    """One file a home. `made_by` names this version and whatever settings shape what is kept; `aside` keeps what is
    damaged out of the way."""

    folder: Path
    made_by: str
    aside: Callable[[Path], None]

    def recall(self, home: Home) -> Mapping[str, Entry]:
        path = self._path(home)
        try:
            data = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError:
            self.aside(path)
            return {}
        try:
            kept = unpack(data, _Kept)
        except ValueError:
            if not self._is_of_others(data):
                self.aside(path)
            return {}
        entries = kept.entries if kept.made_by == self.made_by else ()
        return {entry.files[0].path: entry for entry in entries if entry.files}

    def keep(self, home: Home, entries: Mapping[str, Entry]) -> None:
        """Where nothing can be written, the next harvest takes longer, and no harm is done."""
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            write(self._path(home), pack(_Kept(self.made_by, tuple(entries.values()))), lasting=False)

    def _is_of_others(self, data: bytes) -> bool:
        """What another version kept may look otherwise, and is no damage."""
        try:
            return unpack(data, _Maker).made_by != self.made_by
        except ValueError:
            return False

    def _path(self, home: Home) -> Path:
        return self.folder / f"{hashlib.sha256(chr(0).join(home).encode()).hexdigest()[:16]}.json"
