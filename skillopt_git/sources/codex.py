"""Codex's transcripts: `<home>/sessions/**` and `<home>/archived_sessions/**`, read and never written.

A conversation is a thread. It has one file, and one more for each time it was rewound, which names the number of the
first record that it takes back. Old files are packed (`.zst`). The lists and databases beside them are not needed.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from skillopt_git import dialogue
from skillopt_git.config import Config
from skillopt_git.folders import agent_home, walk
from skillopt_git.lines import clean, last_times, why
from skillopt_git.model import Session, Skipped, Turn
from skillopt_git.sources.codex_records import SPOKEN, Kind, Meta, Piece
from skillopt_git.sources.codex_thread import Rollout, own, rollout
from skillopt_git.transcripts import NO_FOLDER, PARENT_MISSING, FileState, Span, Transcript

NAME = "codex"

_ARCHIVE = "archived_sessions"
_WANTED = re.compile(r"rollout-.*\.jsonl(?:\.zst)?", re.DOTALL)
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_THREAD = re.compile(rf"rollout-\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d-({_UUID})(?:_({_UUID}))?\.jsonl(?:\.zst)?")


@dataclass(frozen=True, slots=True)
class CodexSource:
    """`threads` is what was found last: a file of an older version may repeat another thread's.

    `parent` is the last thread that was read for this, as many forks may follow on from one.
    """

    root: Path
    threads: dict[str, Transcript] = field(default_factory=dict, compare=False, repr=False)
    parent: dict[Transcript, list[Piece]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        return NAME

    @property
    def home(self) -> str:
        return str(self.root)

    def transcripts(self) -> Iterator[Transcript | Skipped]:
        """Each thread, in the order of the paths of their first files."""
        files: list[FileState] = []
        for found in _walked(self.root):
            if isinstance(found, Skipped):
                yield found
            else:
                files.append(found)
        self.threads.clear()
        self.threads.update(_threads(files))
        yield from sorted(self.threads.values(), key=lambda thread: thread.path)

    def glance(self, transcript: Transcript) -> Span | None:
        return last_times(transcript)

    def read(self, transcript: Transcript) -> Iterator[Session | Skipped]:
        files, skipped = _read(transcript)
        yield from skipped
        if not files:
            return
        earlier = [self._earlier(file) for file in files]
        found = _session(transcript.path, files, list(_pieces(files, earlier)))
        if isinstance(found, Session) and None in earlier:
            yield Skipped(transcript.path, PARENT_MISSING)
        yield found

    def _earlier(self, file: Rollout) -> Sequence[Piece] | None:
        """What is said in the thread that a file goes on from; None if that is not there, or cannot be read now."""
        if not file.parent or not file.pieces:
            return ()
        thread = self._thread(file.parent)
        if thread is None or file.state in thread.files:
            return () if thread else None
        if thread not in self.parent:
            files, _ = _read(thread)
            self.parent.clear()
            self.parent.update({thread: _spoken(files)} if files else {})
        return self.parent.get(thread)

    def _thread(self, id_: str) -> Transcript | None:
        if not self.threads:
            self.threads.update(_threads(found for found in _walked(self.root) if isinstance(found, FileState)))
        return self.threads.get(id_)


def make(config: Config, environ: Mapping[str, str]) -> CodexSource:
    home = agent_home(
        config.harvest.codex_home, environ, setting="harvest.codex_home", variable="CODEX_HOME", default="~/.codex"
    )
    return CodexSource(home)


# --- finding files -------------------------------------------------------------------------------------------------


def _walked(root: Path) -> Iterator[FileState | Skipped]:
    for folder in (root / "sessions", root / _ARCHIVE):
        for found in walk(root, folder, lambda name: bool(_WANTED.fullmatch(name))):
            if found != Skipped(str(root / _ARCHIVE), NO_FOLDER):
                yield found


def _threads(files: Iterable[FileState]) -> dict[str, Transcript]:
    """The files of each thread in the order they were begun; one that is there twice, packed or archived, once."""
    once: dict[_Place, FileState] = {}
    for file in files:
        place = _place(file)
        known = once.get(place)
        once[place] = max(known, file, key=_worth) if known else file
    threads: dict[str, list[FileState]] = {}
    for place in sorted(once):
        threads.setdefault(place.thread, []).append(once[place])
    return {thread: Transcript(tuple(parts)) for thread, parts in threads.items()}


def _worth(file: FileState) -> tuple[bool, int]:
    """What is not packed is what Codex appends to."""
    return file.size > 0 and not file.path.endswith(".zst"), file.size


class _Place(NamedTuple):
    """Where a file belongs. The ids of parts are ordered as their times of birth are."""

    thread: str
    part: str
    name: str


def _place(file: FileState) -> _Place:
    name = os.path.basename(file.path)  # noqa: PTH119 - a tenth of the time of `Path`
    named = _THREAD.fullmatch(name)
    if named:
        return _Place(named[1], named[2] or "", name.removesuffix(".zst"))
    path = file.path.removesuffix(".zst")
    return _Place(path, "", path)


# --- reading a thread ----------------------------------------------------------------------------------------------


def _pieces(files: Sequence[Rollout], earlier: Sequence[Sequence[Piece] | None]) -> Iterator[Piece]:
    """What a thread holds, each thing that was said once, and nothing of what its files repeat of `earlier`."""
    seen: set[str] = set()
    for file, parent in zip(files, earlier, strict=True):
        for piece in own(file.pieces, parent or ()):
            if piece.kind not in SPOKEN or piece.id not in seen:
                yield piece
            seen.add(piece.id)


def _spoken(files: Iterable[Rollout]) -> list[Piece]:
    return [piece for file in files for piece in file.pieces if piece.kind in SPOKEN]


def _read(transcript: Transcript) -> tuple[list[Rollout], list[Skipped]]:
    """Its files, from the last, which tells how much of those before it still holds, to the first.

    If one of them cannot be read there are none: all of the thread is read another time.
    """
    found: list[Rollout] = []
    limit, base = math.inf, ""
    for state in reversed(transcript.files):
        thread, part, _ = _place(state)
        if base not in ("", part):  # taken back as a whole, or of another thread
            continue
        try:
            file = rollout(state, limit)
        except OSError as error:
            return [], [Skipped(state.path, why(error))]
        found.append(file)
        limit, base = _left(file.meta, limit, thread)
    return found[::-1], _bad(found)


def _left(meta: Meta | None, limit: float, thread: str) -> tuple[float, str]:
    """Up to which number, and of which part ("": any), the files before one with such a beginning still hold."""
    if meta is None or meta.cut is None:
        return limit, ""
    return min(limit, meta.cut), "" if meta.base in (thread, meta.id) else meta.base


def _bad(files: Iterable[Rollout]) -> list[Skipped]:
    return [Skipped(file.state.path, reason, count) for file in files for reason, count in (+file.bad).items()]


# --- making a session ----------------------------------------------------------------------------------------------


def _session(path: str, files: Sequence[Rollout], pieces: Sequence[Piece]) -> Session | Skipped:
    metas = [file.meta for file in files if file.meta]
    turns = tuple(dialogue.turns(_turns(pieces)))
    times = [time for file in files for time in file.times]
    if not times and not metas and not pieces:
        return Skipped(path, "empty")
    if any(meta.subagent for meta in metas):
        return Skipped(path, "sub-agent")
    if all(turn.kind == "answer" for turn in turns):
        return Skipped(path, "no prompt")
    return Session(
        id=_first(meta.id for meta in metas) or _stem(path),
        source=NAME,
        path=path,
        cwd=_first(file.cwd for file in files),
        branch=_first(meta.branch for meta in metas),
        started=min(times, default=None),
        ended=max(times, default=None),
        turns=turns,
        final=_first(piece.text for piece in reversed(pieces) if piece.kind == "answer" and not piece.commentary) or "",
        tools=_texts(pieces, "tool"),
        skills=tuple(dict.fromkeys(_texts(pieces, "skill"))),
        files=tuple(dict.fromkeys(_texts(pieces, "file"))),
        headless=bool(metas) and all(meta.headless for meta in metas),
    )


def _stem(path: str) -> str:
    name = Path(path).name
    named = _THREAD.fullmatch(name)
    return named[1] if named else clean(name.partition(".jsonl")[0])


def _first(values: Iterable[str]) -> str | None:
    return next((value for value in values if value), None)


def _texts(pieces: Iterable[Piece], kind: Kind) -> tuple[str, ...]:
    return tuple(piece.text for piece in pieces if piece.kind == kind and piece.text)


def _turns(pieces: Iterable[Piece]) -> Iterator[Turn]:
    for piece in pieces:
        match piece.kind:
            case "prompt" | "shell" | "answer" as kind:
                yield Turn(id=piece.id, kind=kind, text=piece.text, time=piece.time)
