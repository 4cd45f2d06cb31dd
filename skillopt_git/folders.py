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
from skillopt_git.transcripts import NO_FILE, NO_FOLDER, UNREADABLE, FileState


def agent_home(given: str, environ: Mapping[str, str], *, setting: str, variable: str, default: str) -> Path:
    """The folder that was `given`, else the one in the environment, else the default. It need not be there (yet)."""
    path = Path(given or environ.get(variable) or default)
    if path.parts[:1] == ("~",) and environ.get("HOME"):
        path = Path(environ["HOME"], *path.parts[1:])
    try:
        found = path.expanduser()
    except RuntimeError as error:
        raise ConfigError(f"{path} names the home of nobody on this machine", "write the folder out") from error
    if not _is_text(str(found)) or "\0" in str(found):
        raise ConfigError(f"{setting} is no name that a folder can have, or that can be written down")
    return Path(os.path.abspath(found))  # noqa: PTH100 - links stay as they were named


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
                told = self._told(entry, folders)
                if told is not None:
                    yield told
            pending += reversed(folders)

    def _told(self, entry: os.DirEntry[str], folders: list[str]) -> FileState | Skipped | None:
        """What there is to tell of an entry; what is to be entered goes to `folders`."""
        wanted = self.wanted(entry.name)
        if not entry.name.isascii() and not _is_text(entry.name):
            return Skipped(_shown(entry.path), "a name that is no text")
        try:
            if entry.is_symlink() and not self._inside(entry.path):
                return Skipped(entry.path, "a link out of the folder") if wanted or entry.is_dir() else None
            if not wanted:
                folders += [entry.path] if entry.is_dir() else []
                return None
            info = entry.stat()
        except OSError as error:
            return Skipped(entry.path, _why(entry.path, error, NO_FILE)) if wanted else None
        if not stat.S_ISREG(info.st_mode):  # opening a pipe would wait for ever
            return Skipped(entry.path, "not a file")
        state = FileState(entry.path, info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino)
        return state if self._new(info) else None

    def _inside(self, link: str) -> bool:
        real = os.path.realpath(link)
        return real == self.root or real.startswith(os.path.join(self.root, ""))  # noqa: PTH118

    def _new(self, info: os.stat_result) -> bool:
        """Whether it was not met before; a hard link is the same file."""
        known = len(self.seen)
        self.seen.add((info.st_dev, info.st_ino))
        return len(self.seen) > known


def _is_text(name: str) -> bool:
    """A disk may hold names that are no UTF-8; nothing that is written down could name them."""
    return _shown(name) == name


def _shown(name: str) -> str:
    return name.encode(errors="replace").decode()


def _why(path: str, error: OSError, missing: str) -> str:
    if not isinstance(error, FileNotFoundError):
        return UNREADABLE
    return "a dangling link" if os.path.islink(path) else missing  # noqa: PTH114
