"""A scheduled run: which repository, when, and the words that start it; and what every scheduler can do with one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from typing import Protocol

from skillopt_git.errors import UsageError
from skillopt_git.ids import digest

NAME = "skillopt-git"
VERB = "scheduled"  # what schedulers start, hidden from people

_ONLY = "--if-missed"
_NO_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control characters, bytes that are no text, line breaks
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


def clock(text: str) -> time:
    """The time of day that `text` names as HH:MM, on 24 hours. Raises `UsageError`."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise UsageError(f"'{text}' is no time of day", "write it as HH:MM, from 00:00 to 23:59")
    return time(int(found[1]), int(found[2]))


def entry_id(repository: str) -> str:
    """What an entry is called: it follows from the repository's path, so that a moved repository is another one."""
    return digest("schedule", repository)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One repository's nightly run. `private` is its private folder, `at` the time of day as HH:MM."""

    repository: str
    private: str
    at: str
    auto_adopt: bool
    python: str

    @property
    def id(self) -> str:
        return entry_id(self.repository)

    @property
    def time(self) -> time:
        return clock(self.at)

    def words(self, *, missed: bool = False) -> tuple[str, ...]:
        """The command a scheduler starts; with `missed` it runs only if the last night passed without it.

        `-P` keeps the current folder, whatever lies in it, from being searched for modules.
        """
        only = (_ONLY,) if missed else ()
        start = (self.python, "-P", "-m", "skillopt_git", VERB, "--private", self.private, "--at", self.at, *only)
        adopt = ("--auto-adopt",) if self.auto_adopt else ()
        return (*start, "--", "run", "--repo", self.repository, "--quiet", *adopt)

    @classmethod
    def read(cls, words: object) -> Entry | None:
        """The entry whose `words()` these are, with or without `missed`; None if they are no entry's."""
        plain = [word for word in words if word != _ONLY] if isinstance(words, list | tuple) else []
        match plain:
            case [str(python), _, _, _, _, _, str(private), _, str(at), _, _, _, str(repository), _, *_]:
                given = {"repository": repository, "private": private, "at": at, "python": python}
                both = (cls(**given, auto_adopt=adopt) for adopt in (False, True))
                return next((entry for entry in both if [*entry.words()] == plain and _CLOCK.fullmatch(at)), None)
            case _:
                return None


def refuse_unwritable(entry: Entry) -> None:
    """Raises `UsageError` for a path that no scheduler's file can hold on one line of text."""
    for path in (entry.repository, entry.private, entry.python):
        if any(unicodedata.category(char) in _NO_LINE for char in path):
            raise UsageError(
                f"{path!r} cannot be written into a schedule: it holds a line break or a character that is no text",
                "rename the folder, then schedule again",
            )


@dataclass(frozen=True, slots=True)
class Placed:
    """What a scheduler has under an id: the entry, None if it cannot be read any more, and what is wrong with it."""

    id: str
    entry: Entry | None
    problems: tuple[str, ...] = ()


class Scheduler(Protocol):
    """What starts programs at a time of day. It touches nothing but entries of this tool."""

    @property
    def name(self) -> str: ...
    def hindrance(self) -> str | None:
        """Why nothing can be scheduled with it here; None if it can."""
        ...

    def plan(self, entry: Entry) -> Sequence[tuple[str, str]]:
        """What `install` would write: where, and the text."""
        ...

    def install(self, entry: Entry) -> Sequence[str]:
        """Puts the entry in the place of the one of the same id, or beside the others; what is good to know."""
        ...

    def remove(self, id_: str) -> None:
        """Takes away the entry of that id, which is there."""
        ...

    def placed(self) -> Sequence[Placed]:
        """Every entry of this tool; none where the scheduler is not there."""
        ...
