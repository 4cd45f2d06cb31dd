"""One home's transcripts, through the index of earlier harvests: what did not change is not opened again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from skillopt_git.cleaning import Cleaner, heading
from skillopt_git.model import Session, Skipped
from skillopt_git.ports import HarvestIndex, Listener, Scanned, SessionSource
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


@dataclass(slots=True)
class Intake:
    """Reads one home. What is told of it on the way gathers in `skipped`, by path and reason."""

    source: SessionSource
    index: HarvestIndex
    clean: Cleaner
    notify: Listener
    transcripts: int = 0
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    _known: Mapping[str, Entry] = field(default_factory=dict)
    _entries: dict[str, Entry] = field(default_factory=dict)
    _same: set[str] = field(default_factory=set)  # the paths of what did not change

    @property
    def home(self) -> Home:
        return self.source.name, self.source.home

    def sessions(self) -> Iterator[Found]:
        """Every session of the home, one at a time."""
        self._known = self.index.recall(self.home)
        transcripts = list(self._transcripts())
        self.transcripts = len(transcripts)
        for done, transcript in enumerate(transcripts, 1):
            yield from self._sessions(transcript)
            self.notify(Scanned(self.source.name, done, self.transcripts))

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
            path: entry for path, entry in self._entries.items() if path in self._same or self._may_be_kept(entry)
        }
        if entries != self._known:
            self.index.keep(self.home, entries)

    def skip(self, path: str, reason: str, count: int = 1) -> None:
        self.skipped[path, reason] += count

    def told(self) -> Iterator[Skipped]:
        for (path, reason), count in self.skipped.items():
            yield Skipped(path if path in self._same else self.clean.name(path), reason, count)

    def _transcripts(self) -> Iterator[Transcript]:
        for item in self.source.transcripts():
            if isinstance(item, Skipped):
                self.skip(item.path, item.reason, item.count)
            else:
                yield item

    def _sessions(self, transcript: Transcript) -> Iterator[Found]:
        entry = self._known.get(transcript.path)
        fresh: list[Session | None] = []
        if entry is not None and entry.files == transcript.files:
            self._same.add(transcript.path)
        else:
            entry, fresh = self._entry(transcript)
        for item in entry.skipped:
            self.skip(item.path, item.reason, item.count)
        self._entries[transcript.path] = replace(entry, sessions=()) if entry.sessions else entry
        for head, session in zip(entry.headings, fresh or [None] * len(entry.headings), strict=True):
            yield Found(home=self.home, transcript=transcript, heading=head, fresh=session)

    def _entry(self, transcript: Transcript) -> tuple[Entry, list[Session | None]]:
        read = list(self.source.read(transcript))
        sessions = [item for item in read if isinstance(item, Session)]
        told = tuple(item for item in read if isinstance(item, Skipped))
        return Entry(files=transcript.files, headings=tuple(map(heading, sessions)), skipped=told), [*sessions]

    def _opened(self, found: Found) -> Session | None:
        """Of a session that only the index knew of."""
        for item in self.source.read(found.transcript):
            if isinstance(item, Session) and item.id == found.heading.id:
                return item
        self.skip(found.transcript.path, "replaced while it was read")
        return None

    def _may_be_kept(self, entry: Entry) -> bool:
        passing = any(item.reason in PASSING for item in entry.skipped)
        return not passing and all(map(self.clean.holds_no_secret, entry.headings))
