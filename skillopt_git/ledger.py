"""The append-only log in a ref: `events/<YYYY>/<MM>.jsonl` and `evidence/<sha256>.json`.

Nothing that was written is ever changed or dropped, not even a damaged line. Two ledgers meet by union, so that the
order in which they meet does not matter.
"""

from __future__ import annotations

import gc
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TypeVar

from skillopt_git import schema
from skillopt_git.errors import ConfigError, GitError, RefMoved
from skillopt_git.gitrepo import Entry, GitRepo, Identity
from skillopt_git.history import is_ancestor
from skillopt_git.ids import Json, canonical_json
from skillopt_git.model import RECORD_VERSION, Event, Evidence
from skillopt_git.packed import exactly
from skillopt_git.redact import SECRETS, Scanner
from skillopt_git.soundness import paired, sound

MOST_TRIES = 10

T = TypeVar("T")

_FILE = "100644"
_EVENTS, _EVIDENCE = "events/", "evidence/"
_OURS = re.compile(r"events/\d{4,}/\d\d\.jsonl|evidence/[0-9a-f]{64}\.json")


@dataclass(frozen=True, slots=True)
class Contents:
    """What a ledger commit says: each event once, in the order of the files; `damaged` counts unreadable lines."""

    events: tuple[Event, ...] = ()
    damaged: int = 0


def event_line(event: Event) -> bytes:
    """The event as it is stored: canonical JSON, what is null left out."""
    record = {name: value for name, value in schema.dump(event).items() if value is not None}
    return canonical_json(record).encode() + b"\n"


def evidence_bytes(evidence: Evidence) -> bytes:
    return canonical_json(schema.dump(evidence)).encode() + b"\n"


def evidence_name(evidence: Evidence) -> str:
    """The SHA-256 of exactly the bytes that are stored."""
    return sha256(evidence_bytes(evidence)).hexdigest()


def unique(events: Iterable[Event]) -> tuple[Event, ...]:
    """Each id once, where it came first. Of two spellings of one id the smaller line stands, whoever wrote it."""
    found: dict[str, Event] = {}
    for event in events:
        known = found.get(event.id)
        found[event.id] = event if known is None else min(known, event, key=event_line)
    return tuple(found.values())


def last_run(events: Iterable[Event]) -> Event | None:
    """The latest run that was recorded; of two within a second the one that was recorded after the other."""
    runs = [event for event in events if event.type == "run"]
    return max(reversed(runs), key=lambda event: (event.run or "").partition("-")[0], default=None)


def union(ours: bytes, theirs: bytes) -> bytes:
    """All lines of both files, each once: ours as they are, then what only they have."""
    known = set(file_lines(ours))
    new = dict.fromkeys(line for line in file_lines(theirs) if line not in known)
    return _ended(ours) + b"".join(line + b"\n" for line in new)


class Ledger:
    """The ledger of `repo` at `ref`. `author` signs its commits; `scanner` looks at all that is recorded."""

    def __init__(
        self,
        repo: GitRepo,
        ref: str,
        author: Identity,
        *,
        scanner: Scanner = SECRETS,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        if not ref.startswith("refs/"):
            raise ConfigError(
                f"propose.ledger_ref must be a full ref name, not '{ref}'", "such as refs/skillopt/ledger"
            )
        self._repo = repo
        self._ref = ref
        self._author = author
        self._scanner = scanner
        self._pause = pause
        self._contents: dict[tuple[str, bool], Contents] = {}  # by commit, so never stale; like its files
        self._files: dict[str, dict[str, bytes]] = {}
        self._texts: dict[str, bytes] = {}  # by id: most files are the same in the next commit

    @property
    def ref(self) -> str:
        return self._ref

    @property
    def scanner(self) -> Scanner:
        """For what is published from the ledger: it has to pass the same door."""
        return self._scanner

    def events(self) -> tuple[Event, ...]:
        return self.contents().events

    def contents(self) -> Contents:
        """What cannot be what it says is counted as damaged; a newer tool's record, or an unknown field, is refused."""
        head = self._repo.ref(self._ref)
        return self.at(head) if head else Contents()

    def told(self) -> Contents:
        """The same without the events that only learning needs, which are most of a long ledger and are passed over
        unread."""
        head = self._repo.ref(self._ref)
        return self.at(head, whole=False) if head else Contents()

    def evidence(self, name: str) -> Evidence | None:
        """The evidence of that SHA-256; None where the ledger has none. Raises `GitError` if it was tampered with."""
        head = self._repo.ref(self._ref)
        data = self._repo.read(head, _evidence_path(name)) if head else None
        if data is None:
            return None
        if sha256(data).hexdigest() != name:
            raise GitError(f"evidence {name} is not what its name says", f"somebody changed it in {self._ref}")
        _refuse_newer(_record(data) or {}, name)
        evidence = schema.read(Evidence, data, where=f"evidence {name}")
        if not paired(evidence):
            raise GitError(f"evidence {name} has rollouts that are no pairs", f"somebody changed it in {self._ref}")
        return evidence

    def evidence_names(self) -> frozenset[str]:
        """The SHA-256 by which each evidence is kept."""
        head = self._repo.ref(self._ref)
        listed = self._repo.paths(head, _EVIDENCE) if head else ()
        return frozenset(entry.path.removeprefix(_EVIDENCE).removesuffix(".json") for entry in listed)

    def append(
        self, events: Sequence[Event], evidence: Sequence[Evidence] = (), *, when: datetime, message: str
    ) -> tuple[Event, ...]:
        """Records what is not yet there, and returns the events that were not. Nothing new: no commit.

        Raises `SafetyError` before anything is written if a secret or a denied word is among it.
        """
        self._scanner.refuse({"the ledger's message": message, **dict(_texts(events, evidence))})
        files = {_evidence_path(evidence_name(item)): evidence_bytes(item) for item in evidence}

        def attempt() -> tuple[Event, ...]:
            head = self._repo.ref(self._ref)
            known = {event.id for event in self.at(head).events} if head else set()
            new = tuple(event for event in unique(events) if event.id not in known)
            changes = self._appended(head, new) | self._absent(head, files)
            if changes:
                self._move(head, changes, message, when)
            return new

        return self.retried(attempt)

    def merge(self, other: str, *, when: datetime, message: str) -> str:
        """Joins the ledger commit `other` into this ledger, and returns where it then is.

        Raises `ConfigError` for what a newer tool wrote and `GitError` for what is no ledger, before it becomes ours.
        """
        if not self.holds(other):
            self._refuse_foreign(other)
            self.at(other)

        def attempt() -> str:
            head = self._repo.ref(self._ref)
            if head and is_ancestor(self._repo, other, head):
                return head
            if head is None or is_ancestor(self._repo, head, other):
                self._repo.update_ref(self._ref, other, head, message)
                return other
            return self._move(head, self._united(head, other), message, when, (other,))

        return self.retried(attempt)

    def holds(self, commit: str) -> bool:
        """Whether this ledger is at the commit, or has gone on from there."""
        head = self._repo.ref(self._ref)
        return head is not None and self._repo.resolve(commit) is not None and is_ancestor(self._repo, commit, head)

    # --- reading -------------------------------------------------------------------------------------------------

    def _refuse_foreign(self, commit: str) -> None:
        if not any(map(_is_ours, self._repo.paths(commit))):
            raise GitError(f"{commit[:12]} is no ledger: it holds neither events nor evidence", "look at what it is")

    def at(self, commit: str, *, whole: bool = True) -> Contents:
        """What a commit of a ledger says, this one's or another clone's; see `told` for what is not `whole`."""
        if (commit, whole) not in self._contents:
            self._contents[commit, whole] = self._read(commit, whole=whole)
        return self._contents[commit, whole]

    def _read(self, commit: str, *, whole: bool) -> Contents:
        files = self._event_files(commit)
        with _uncollected():
            read = [
                _event(line, f"{self._ref}:{path}, line {number},")
                for path, text in files.items()
                for number, line in enumerate(file_lines(text), start=1)
                if whole or not _QUIET(line)
            ]
            events = [event for event in read if event is not None and sound(event)]
            return Contents(unique(events), len(read) - len(events))

    def _event_files(self, commit: str) -> dict[str, bytes]:
        """By path, in the order of the tree."""
        if commit not in self._files:
            listed = self._repo.paths(commit, _EVENTS)
            self._texts |= self._repo.blobs([entry.sha for entry in listed if entry.sha not in self._texts])
            self._files[commit] = {entry.path: self._texts[entry.sha] for entry in listed}
        return self._files[commit]

    # --- writing -------------------------------------------------------------------------------------------------

    def _appended(self, head: str | None, events: Sequence[Event]) -> dict[str, tuple[str, str]]:
        lines: dict[str, bytes] = {}
        for event in events:
            path = _events_path(event)
            lines[path] = lines.get(path, b"") + event_line(event)
        present = self._event_files(head) if head and lines else {}
        return {path: self._file(_ended(present.get(path, b"")) + new) for path, new in lines.items()}

    def _absent(self, head: str | None, files: Mapping[str, bytes]) -> dict[str, tuple[str, str]]:
        known = {entry.path for entry in self._repo.paths(head, _EVIDENCE)} if head and files else set()
        return {path: self._file(data) for path, data in files.items() if path not in known}

    def _united(self, ours: str, theirs: str) -> dict[str, tuple[str, str]]:
        """What must change in `ours` so that it also holds all of `theirs`."""
        mine = {entry.path: entry.sha for entry in self._repo.paths(ours)}
        changes = {}
        for entry in filter(_is_ours, self._repo.paths(theirs)):
            if entry.path not in mine:
                changes[entry.path] = (_FILE, entry.sha)
            elif entry.sha != mine[entry.path]:
                data = _joined(entry.path, self._repo.blob(mine[entry.path]), self._repo.blob(entry.sha))
                changes[entry.path] = self._file(data)
        return changes

    def _file(self, data: bytes) -> tuple[str, str]:
        sha = self._repo.write_blob(data)
        self._texts[sha] = data
        return _FILE, sha

    def _move(
        self,
        head: str | None,
        changes: Mapping[str, tuple[str, str]],
        message: str,
        when: datetime,
        parents: Sequence[str] = (),
    ) -> str:
        commit = self._repo.commit(
            parent=head, changes=changes, message=message, author=self._author, when=when, parents=parents
        )
        self._repo.update_ref(self._ref, commit, head, message)
        return commit

    def retried(self, attempt: Callable[[], T]) -> T:
        """Again and again while somebody else is quicker: who lost a race goes on from what won it."""
        for tries in range(MOST_TRIES - 1):
            try:
                return attempt()
            except RefMoved:
                self._pause(0.01 * 2**tries)
        return attempt()


_read_event = exactly(Event)
# Whole lines as `event_line` writes them, of a version that is known; whatever else they may be is read.
_QUIET = re.compile(rb'\{.*"type":"(?:family|trial)","v":%d\}' % RECORD_VERSION).fullmatch
_NEEDED = frozenset({"v", "id", "ts", "type"})


def _event(line: bytes, where: str) -> Event | None:
    """The event on a line; None if it is none, or damaged. Raises `ConfigError` for a newer tool's, and for unknown
    fields."""
    try:
        event = _read_event(line)
    except (ValueError, RecursionError):
        record = _record(line) or {}
        _refuse_newer(record, where)
        if not record.keys() >= _NEEDED:
            return None
        event = schema.read(Event, line, where=where)
    _refuse_newer({"v": event.v}, where)
    return event


@contextmanager
def _uncollected() -> Iterator[None]:
    """Many records and no garbage among them: looking for some would take nearly as long as reading them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _record(line: bytes) -> dict[str, Json] | None:
    """The JSON object a line holds; None if it was damaged."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _refuse_newer(record: Mapping[str, Json], where: str) -> None:
    version = record.get("v")
    if isinstance(version, int) and version > RECORD_VERSION:
        raise ConfigError(f"{where} was written by a newer tool (v {version})", "update skillopt-git")


def file_lines(data: bytes) -> list[bytes]:
    """Ended by a line feed and nothing else: a damaged line may hold a carriage return, and stays one line."""
    return data.removesuffix(b"\n").split(b"\n") if data else []


def _ended(data: bytes) -> bytes:
    """A last line that was cut off gets its end, so that the next one is not lost with it."""
    return data if not data or data.endswith(b"\n") else data + b"\n"


def _joined(path: str, ours: bytes, theirs: bytes) -> bytes:
    if path.startswith(_EVENTS):
        return union(ours, theirs)
    sound = path == _evidence_path(sha256(theirs).hexdigest())
    return theirs if sound else ours


def _is_ours(entry: Entry) -> bool:
    """Whether it is a file of a ledger. Of what else lies beside them nothing is taken over."""
    return entry.mode == _FILE and _OURS.fullmatch(entry.path) is not None


def _events_path(event: Event) -> str:
    try:
        moment = datetime.fromisoformat(event.ts).astimezone(UTC)
    except ValueError as error:
        raise ConfigError(f"event {event.id} has no time: '{event.ts}'") from error
    return f"{_EVENTS}{moment:%Y/%m}.jsonl"


def _evidence_path(name: str) -> str:
    return f"{_EVIDENCE}{name}.json"


def _texts(events: Sequence[Event], evidence: Sequence[Evidence]) -> Iterator[tuple[str, str]]:
    """What would be published, by its place: each text as a reader sees it, and each record as it is written."""
    records: list[tuple[str, Event | Evidence]] = [(f"event {event.id}", event) for event in events]
    records += [(f"evidence {evidence_name(item)}", item) for item in evidence]
    for place, record in records:
        plain = schema.dump(record)
        yield place, canonical_json(plain)
        yield from _strings(plain, place)


def _strings(value: Json, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _strings(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _strings(inner, f"{place}[{at}]")
