"""Sessions and sources that are made up, for the stages that only need some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from skillopt_git.harvest import Harvest, harvest
from skillopt_git.model import Session, Skipped, Turn
from skillopt_git.ports import LearningEvent
from skillopt_git.scope import Scope
from skillopt_git.transcripts import Entry, FileState, Home, Transcript
from skillopt_git.window import Window

NOW = datetime(2026, 11, 29, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)
EVERYWHERE = Scope(roots=None)


@dataclass
class Fixed:
    """A source that holds what it was given, each session in a file of its own; it notes what is opened."""

    pieces: Sequence[Session | Skipped]
    name: str = "claude"
    home: str = "/home/alice/.claude"
    written: datetime = NOW - HOUR
    opened: list[str] = field(default_factory=list)

    def transcripts(self) -> Iterator[Transcript | Skipped]:
        for at, piece in enumerate(self.pieces):
            mtime_ns = int(self.written.timestamp()) * 10**9
            yield piece if isinstance(piece, Skipped) else Transcript((FileState(piece.path, at, mtime_ns, 1, at),))

    def glance(self, transcript: Transcript) -> None:
        """There are no files to look at."""

    def read(self, transcript: Transcript) -> Iterator[Session | Skipped]:
        self.opened.append(transcript.path)
        yield self.pieces[transcript.files[0].inode]


@dataclass
class Memory:
    """An index that is held in memory."""

    entries: dict[Home, Mapping[str, Entry]] = field(default_factory=dict)

    def recall(self, home: Home) -> Mapping[str, Entry]:
        return self.entries.get(home, {})

    def keep(self, home: Home, entries: Mapping[str, Entry]) -> None:
        self.entries[home] = entries


@dataclass(frozen=True)
class Hiding:
    """Redaction of one secret, and in texts of one name, too."""

    secret: str = "sk-secret-0123456789"
    mark: str = "[REDACTED:key:0a1b2c3d]"
    person: str = "alice@example.com"

    def __call__(self, text: str) -> str:
        return text.replace(self.secret, self.mark)

    def text(self, text: str) -> str:
        return self(text).replace(self.person, "[REDACTED:email:0a1b2c3d]")


def session(id_: str = "s1", *texts: str, **fields: Any) -> Session:
    turns = tuple(
        Turn(id=f"{id_}-{at}", kind="prompt", text=text) for at, text in enumerate(texts or ("Run the tests",))
    )
    given = {"path": f"/{id_}.jsonl", "cwd": "/home/alice/acme-api", "ended": NOW - HOUR, "turns": turns, **fields}
    return Session(id=id_, source="claude", **given)


def gather(*pieces: Session | Skipped, **options: Any) -> Harvest:
    """A harvest of the pieces, or of the `sources` given, with everything in scope unless told otherwise."""
    given: dict[str, Any] = {
        "scope": EVERYWHERE,
        "window": lambda source: Window(),
        "now": NOW,
        "redact": Hiding(),
        "headless": "keep",
        "limit": 100,
        "index": Memory(),
        "notify": ignore,
        **options,
    }
    sources = given.pop("sources", [Fixed(pieces)])
    return harvest(sources, **given)


def ignore(event: LearningEvent) -> None:
    """Nobody listens."""


def ids(found: Harvest) -> list[str]:
    return [item.id for item in found.sessions]


def reasons(found: Harvest) -> list[tuple[str, str, int]]:
    return [(item.path, item.reason, item.count) for item in found.skipped]
