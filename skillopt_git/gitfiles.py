"""What need not be asked of git, which takes long to start a hundred times a night: refs that its files tell, and what
it answered before about objects that cannot change."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Generic, Protocol, TypeVar

# Refs that all work trees share, by names that are the same to git and to a file system.
_SHARED = re.compile(r"refs/(?!(?:bisect|rewritten|worktree)/)[\w-]+(?:/[\w-][\w.-]*)*(?<!\.lock)", re.ASCII)
_HEX = frozenset("0123456789abcdef")
_ID = re.compile(rb"(?!0+\s)[0-9a-f]{40}(?:[0-9a-f]{24})?(?=\s)")


class _Coded(Protocol):
    @property
    def code(self) -> int: ...


Answer = TypeVar("Answer", bound=_Coded)


class Answers(Generic[Answer]):
    """What git said before, by its words. They must name objects in full: what is asked about a branch may be otherwise
    the next time. So may be what failed, for what is missing can come; `lasting` are the codes that stay true."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Answer] = {}

    def to(self, ask: Callable[..., Answer], words: tuple[str, ...], lasting: Collection[int]) -> Answer:
        answer = self._known.get(words)
        if answer is None:
            answer = ask(*words)
            if answer.code in lasting:
                self._known[words] = answer
        return answer


def whole_id(text: str, length: int) -> bool:
    """Whether it is an id of that length, and names one object for ever."""
    return len(text) == length and not set(text) - _HEX


def ref_id(folder: Path, name: str) -> str | None:
    """The id that the ref `name` of a repository's own folder holds, and "" where there is no such ref; None where only
    git can tell: the ref stands for another, is damaged, or refs are kept otherwise."""
    if not _SHARED.fullmatch(name):
        return None
    try:
        found = _ID.match((folder / name).read_bytes())
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return _packed(folder, name)
    except OSError:
        return None
    return found[0].decode() if found else None


def _packed(folder: Path, name: str) -> str | None:
    """As git does, after the ref was found to have no file: one that is packed meanwhile is here by then."""
    if not (folder / "refs" / "heads").is_dir():  # no refs in files here
        return None
    try:
        packed = (folder / "packed-refs").read_bytes()
    except FileNotFoundError:
        return ""
    except OSError:
        return None
    line = re.search(rb"^(\S+) %s$" % re.escape(name.encode()), packed, re.MULTILINE)
    return line[1].decode() if line else ""
