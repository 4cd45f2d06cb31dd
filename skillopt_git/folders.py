"""Finding an agent's files: every one below a root, each once, without opening any and without leaving the root.

Whatever is in the way (a dangling link, a loop, a folder that may not be read) is told and passed by.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillopt_git.errors import ConfigError
from skillopt_git.model import Skipped
from skillopt_git.transcripts import FileState

NO_FOLDER = "no such folder"


def agent_home(given: str, environ: Mapping[str, str], *, setting: str, variable: str, default: str) -> Path:
    """The folder that was `given`, else the one in the environment, else the default. It need not be there (yet)."""
    path = Path(given or environ.get(variable) or default)
    if path.parts[:1] == ("~",) and environ.get("HOME"):
        path = Path(environ["HOME"], *path.parts[1:])
    try:
        found = path.expanduser()
    except RuntimeError as error:
        raise ConfigError(f"{path} names the home of nobody on this machine", "write the folder out") from error
    if "\0" in str(found):
        raise ConfigError(f"{setting} holds a NUL, which no folder's name can")
    return found


def walk(root: Path, start: Path, wanted: Callable[[str], bool]) -> Iterator[FileState | Skipped]:
    """The files at or below `start`, itself in `root`, whose name is `wanted`; folders in the order of their names."""
    return _Walk(os.path.realpath(root), wanted).below(str(start))


@dataclass(frozen=True, slots=True)
class _Walk:
    root: str
    wanted: Callable[[str], bool]
    seen: set[tuple[int, int]] = field(default_factory=set)

    def below(self, start: str) -> Iterator[FileState | Skipped]:
        pending = [start]
        if os.path.islink(start) and not self._inside(start):  # noqa: PTH114 - half the time of `Path`, here and below
            yield Skipped(start, "a link out of the folder")
            return
        while pending:
            folder = pending.pop()
            try:
                info = os.stat(folder)  # noqa: PTH116
                if not self._new(info):
                    continue
                with os.scandir(folder) as entries:
                    found = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                yield Skipped(folder, _why(folder, error, NO_FOLDER))
                continue
            folders: list[str] = []
            for entry in found:
                yield from self._entry(entry, folders)
            pending += reversed(folders)

    def _entry(self, entry: os.DirEntry[str], folders: list[str]) -> Iterator[FileState | Skipped]:
        named = self.wanted(entry.name)
        try:
            linked = entry.is_symlink()
            if not named and not linked and not entry.is_dir():
                return
            if linked and not self._inside(entry.path):
                yield from [Skipped(entry.path, "a link out of the folder")] if named or entry.is_dir() else ()
                return
            info = entry.stat()
        except OSError as error:
            yield from [Skipped(entry.path, _why(entry.path, error, "no such file"))] if named else ()
            return
        if stat.S_ISDIR(info.st_mode) and not named:
            folders.append(entry.path)
        elif named and not stat.S_ISREG(info.st_mode):  # opening a pipe would wait for ever
            yield Skipped(entry.path, "not a file")
        elif named and self._new(info):
            yield FileState(entry.path, info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino)

    def _inside(self, link: str) -> bool:
        real = os.path.realpath(link)
        return real == self.root or real.startswith(os.path.join(self.root, ""))  # noqa: PTH118

    def _new(self, info: os.stat_result) -> bool:
        """Whether it was not met before; a hard link is the same file."""
        known = len(self.seen)
        self.seen.add((info.st_dev, info.st_ino))
        return len(self.seen) > known


def _why(path: str, error: OSError, missing: str) -> str:
    if not isinstance(error, FileNotFoundError):
        return "unreadable"
    return "a dangling link" if os.path.islink(path) else missing  # noqa: PTH114
