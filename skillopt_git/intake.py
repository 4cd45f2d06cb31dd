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
from skillopt_git.transcripts import Entry, Heading, Home, Transcript

# These may be otherwise next time, though the file is the same.
PASSING = frozenset({"unreadable", "no such file", "replaced while it was read"})


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
    _same: set[str] = field(default_factory=set)  # the paths of what did not change

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
        if entry is not None and entry.files == transcript.files:
            self._same.add(transcript.path)
        else:
            entry = None
        if entry is not None and entry.glance is None:
            yield from self._read(transcript, entry)
            return
        glance = entry.glance if entry else self.source.glance(transcript) if too_old(transcript.written) else None
        reason = too_old(max(glance.latest, transcript.written)) if glance else None
        if glance and reason:
            self._entries[transcript.path] = entry or Entry(files=transcript.files, glance=glance)
            yield Old(glance.earliest, reason)
        else:
            yield from self._read(transcript, None)

    def whole(self, found: Found) -> Session | None:
        """The session with its words, redacted, and kept for next time; None if it vanished meanwhile."""
        path = found.transcript.path
        kept = () if found.fresh else self._known[path].sessions
        session = next((item for item in kept if item.id == found.heading.id), None)
        if session is None:
            fresh = found.fresh or self._opened(found)
            session = self.clean.session(fresh) if fresh else None
        if session is not None:
            entry = self._entries[path]
            self._entries[path] = replace(entry, sessions=(*entry.sessions, session))
        return session

    def keep(self) -> None:
        """Remembers this harvest, but for what has a secret in its name or could not be read this time."""
        entries = {
            path: entry for path, entry in self._entries.items() if path in self._same or self._may_be_kept(path, entry)
        }
        if entries != self._known:
            self.index.keep(self.home, entries)

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
        self._entries[transcript.path] = replace(entry, sessions=()) if entry.sessions else entry
        for head, session in zip_longest(entry.headings, fresh):
            yield Found(home=self.home, transcript=transcript, heading=head, fresh=session)

    def _opened(self, found: Found) -> Session | None:
        """Of a session that only the index knew of."""
        for item in self.source.read(found.transcript):
            if isinstance(item, Session) and item.id == found.heading.id:
                return item
        self.skip(found.transcript.path, "replaced while it was read")
        return None

    def _may_be_kept(self, path: str, entry: Entry) -> bool:
        passing = any(item.reason in PASSING for item in entry.skipped)
        return not passing and self.clean.name(path) == path and all(map(self.clean.holds_no_secret, entry.headings))
