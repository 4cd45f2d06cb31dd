"""One home's transcripts, through the index of earlier harvests: what did not change is not opened again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import zip_longest

from skillopt_git.cleaning import Cleaner, heading
from skillopt_git.model import Session, Skipped
from skillopt_git.ports import HarvestIndex, SessionSource
from skillopt_git.transcripts import (
    NO_FILE,
    NO_FOLDER,
    PARENT_MISSING,
    REPLACED,
    UNREADABLE,
    Entry,
    Heading,
    Home,
    Transcript,
)

# These may be otherwise next time, though the file is the same.
PASSING = frozenset({UNREADABLE, NO_FILE, REPLACED})
UNSURE = PASSING | {PARENT_MISSING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A session that was found; `fresh` is it as its file has it, None where the file was not opened."""

    home: Home
    transcript: Transcript
    heading: Heading
    fresh: Session | None


@dataclass(frozen=True, slots=True)
class Old:
    """A transcript that was not read, for the reason given. It was last active at `since` or after it."""

    since: datetime
    reason: str


@dataclass(slots=True)
class Intake:
    """Reads one home. What is told of it on the way gathers in `skipped`, by path and reason."""

    source: SessionSource
    index: HarvestIndex
    clean: Cleaner
    home: Home = ("", "")
    found: int = 0
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    _known: Mapping[str, Entry] = field(default_factory=dict)
    _entries: dict[str, Entry] = field(default_factory=dict)
    _same: set[str] = field(default_factory=set)  # the paths of what is as the index has it
    _last: tuple[Transcript, list[Session | Skipped]] | None = None  # what was opened last, for its other sessions

    def __post_init__(self) -> None:
        self.home = (self.source.name, self.source.home)

    def transcripts(self) -> Iterator[Transcript]:
        """All there are; none is opened."""
        self._known = self.index.recall(self.home)
        for item in self.source.transcripts():
            if isinstance(item, Skipped):
                self.skip(item.path, item.reason, item.count)
            else:
                self.found += 1
                yield item

    def sessions(self, transcript: Transcript, too_old: Callable[[datetime], str | None]) -> Iterator[Found | Old]:
        """Its sessions; or that it is too old to be read, by the times of its files and by those in them.

        Copying a file makes it younger than what it holds, and restoring one can make it older.
        """
        entry = self._known.get(transcript.path)
        if entry is None or entry.files != transcript.files:
            entry = None
        elif entry.glance is None:
            self._same.add(transcript.path)
            yield from self._read(transcript, entry)
            return
        glance = entry.glance if entry else self.source.glance(transcript) if too_old(transcript.written) else None
        reason = too_old(max(glance.latest, transcript.written)) if glance else None
        if glance and reason:
            self._same.update([transcript.path] if entry else [])
            self._entries[transcript.path] = entry or Entry(files=transcript.files, glance=glance)
            yield Old(glance.earliest, reason)
        else:
            yield from self._read(transcript, None)

    def whole(self, found: Found) -> Session | None:
        """The session with its words, redacted, and kept for next time; None if it vanished meanwhile."""
        path = found.transcript.path
        session = None if found.fresh else self._known[path].sessions.get(found.heading.digest)
        if session is None:
            fresh = found.fresh or self._opened(found)
            session = self.clean.session(fresh) if fresh else None
        if session is not None:
            entry = self._entries[path]
            self._entries[path] = replace(entry, sessions={**entry.sessions, found.heading.digest: session})
        return session

    def keep(self) -> None:
        """Remembers this harvest, but for what has a secret in its name or could not be read this time."""
        entries = {path: entry for path, entry in self._entries.items() if path in self._same or self._is_sure(entry)}
        if entries != self._known:
            self.index.keep(self.home, entries)

    @property
    def absent(self) -> bool:
        """Whether there was nothing to look through: a home that is not there tonight was not read."""
        return self.found == 0 and any(reason in (NO_FOLDER, UNREADABLE) for _, reason in self.skipped)

    @property
    def failed(self) -> bool:
        """Whether something could not be read that may be read another time."""
        return any(reason in PASSING for _, reason in self.skipped)

    def skip(self, path: str, reason: str, count: int = 1) -> None:
        self.skipped[path, reason] += count

    def told(self) -> Iterator[Skipped]:
        for (path, reason), count in self.skipped.items():
            yield Skipped(path if path in self._same else self.clean.name(path), reason, count)

    def _read(self, transcript: Transcript, entry: Entry | None) -> Iterator[Found]:
        """From the index where it knows them, else from the files."""
        fresh: list[Session] = []
        if entry is None:
            read = list(self.source.read(transcript))
            fresh = [item for item in read if isinstance(item, Session)]
            told = tuple(item for item in read if isinstance(item, Skipped))
            entry = Entry(files=transcript.files, headings=tuple(map(heading, fresh)), skipped=told)
        for item in entry.skipped:
            self.skip(item.path, item.reason, item.count)
        self._entries[transcript.path] = replace(entry, sessions={}) if entry.sessions else entry
        for head, session in zip_longest(entry.headings, fresh):
            yield Found(home=self.home, transcript=transcript, heading=head, fresh=session)

    def _opened(self, found: Found) -> Session | None:
        """Of a session that only the index knew of."""
        if self._last is None or self._last[0] != found.transcript:
            self._last = found.transcript, list(self.source.read(found.transcript))
        for item in self._last[1]:
            if isinstance(item, Session) and heading(item).digest == found.heading.digest:
                return item
        self.skip(found.transcript.path, REPLACED)
        return None

    def _is_sure(self, entry: Entry) -> bool:
        names = (file.path for file in entry.files)
        return (
            not any(item.reason in UNSURE for item in entry.skipped)
            and all(self.clean.name(path) == path for path in names)
            and all(map(self.clean.holds_no_secret, entry.headings))
        )
