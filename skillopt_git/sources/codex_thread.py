"""One file of a Codex thread: what was said in it, each thing once, without what was taken back.

Most of what is said is told by records of two kinds that mirror each other. Prompts are matched by their number within
a turn, as one kind may word them otherwise; answers by their text, as some are told by one kind alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from pathlib import PurePath
from typing import TypeAlias

from skillopt_git.lines import Line, clean, instant, objects, read, string, table
from skillopt_git.sources.codex_records import (
    SPOKEN,
    Meta,
    Piece,
    bulk,
    called,
    event,
    might_speak,
    origin,
    response,
)
from skillopt_git.transcripts import FileState

Heard: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class Rollout:
    """What one file holds. `parent` is the thread whose records it may repeat at its beginning."""

    state: FileState
    meta: Meta | None = None
    parent: str = ""
    cwd: str = ""
    pieces: list[Piece] = field(default_factory=list)
    bad: Counter[str] = field(default_factory=Counter)
    times: tuple[datetime, ...] = ()  # the first and the last

    def clock(self, time: datetime | None) -> None:
        if time and not self.times:
            self.times = (time, time)
        elif time and not self.times[0] <= time <= self.times[1]:
            self.times = (min(time, self.times[0]), max(time, self.times[1]))


def rollout(state: FileState, limit: float) -> Rollout:
    """Reads the records with numbers below `limit`. Of a sub-agent's file only the first is read."""
    found = Rollout(state)
    reader = _Reader(found, limit, scope=clean(PurePath(state.path).name.partition(".jsonl")[0][-12:]))
    first, last = b"~", b""  # as text, which is ordered as the times are
    for line in read(state, found.bad):
        seen = bulk(line, reader.ids) if found.cwd else None
        if not seen:
            reader.line(line)
            if found.meta and found.meta.subagent:
                break
        elif limit == math.inf or int(seen[2] or -1) < limit:
            time = seen[1]
            if time > last:
                last = time
            if time < first:
                first = time
            if seen[3]:
                found.pieces.append(called(seen[3]))
    for time in (first, last):
        found.clock(instant(time.decode()))
    return found


@dataclass(slots=True)
class _Reader:
    """Takes in a file line by line. `scope` names it in the ids of turns that have none of their own."""

    found: Rollout
    limit: float
    scope: str
    ordinal: int = -1
    turn: str = ""
    turns: int = 0
    attributed: bool = False
    silent: str | None = None  # the turn in which nobody asked for anything
    heard: Counter[Heard] = field(default_factory=Counter)  # per kind of record
    taken: Counter[Heard] = field(default_factory=Counter)  # from whichever
    numbers: Counter[str] = field(default_factory=Counter)
    ids: set[str] = field(default_factory=set)

    def line(self, raw: bytes) -> None:
        for line in objects(raw, self.found.bad):
            number = line.get("ordinal")
            self.ordinal = number if isinstance(number, int) else self.ordinal
            if self.ordinal < self.limit:
                self._record(line)

    def _record(self, line: Line) -> None:
        payload, time = table(line, "payload"), instant(string(line, "timestamp"))
        self.found.clock(time)
        match string(line, "type"), string(payload, "type"):
            case "session_meta", _:
                self._meta(origin(payload))
            case "turn_context", _:
                self.found.cwd = self.found.cwd or string(payload, "cwd")
            case "compacted", _:
                self._compacted()
            case "event_msg", ("task_started" | "turn_started"):
                self._start(payload)
            case "event_msg", "thread_rolled_back":
                self._roll_back(payload.get("num_turns"))
            case "event_msg", _:
                self._take(line, list(event(payload)), time)
            case "response_item", _:
                self._take(line, list(response(payload, numbered="ordinal" in line)), time)
            case _:
                self._take(line, [], time)

    def _meta(self, told: Meta) -> None:
        found = self.found
        found.cwd = found.cwd or told.cwd
        if found.meta is None:
            found.meta, found.parent = told, told.parent
        elif told.id != found.meta.id:
            found.parent = found.parent or told.id
        elif not told.headless:  # resumed
            found.meta = replace(found.meta, headless=False)

    def _start(self, payload: Line) -> None:
        self.turns += 1
        self.turn = string(payload, "turn_id") or f"{self.scope}:{self.turns}"
        attributed = bool(table(payload, "turn_attribution"))
        self.attributed |= attributed
        self.silent = self.turn if self.attributed and not attributed else None

    def _roll_back(self, count: object) -> None:
        """The last `count` prompts were taken back, and all that came after the first of these."""
        prompts = [at for at, piece in enumerate(self.found.pieces) if piece.kind == "prompt"]
        if isinstance(count, int) and count > 0 and prompts:
            del self.found.pieces[prompts[max(0, len(prompts) - count)] :]

    def _compacted(self) -> None:
        """A summary looks like an answer, but no event has shown it."""
        at = next((at for at in reversed(range(len(self.found.pieces))) if self.found.pieces[at].kind in SPOKEN), None)
        if at is not None and self.found.pieces[at].kind == "answer":
            last = self.found.pieces[at]
            shown = any(self.heard["answer", channel, last.turn, last.text] for channel in ("item", "event"))
            if not shown:
                del self.found.pieces[at]

    def _take(self, line: Line, pieces: Sequence[Piece], time: datetime | None) -> None:
        for piece in pieces:
            if piece.kind in SPOKEN:
                self._hear(piece._replace(turn=piece.turn or self.turn or f"{self.scope}:0", time=time))
            else:
                self.found.pieces.append(piece)
        if not pieces and might_speak(line):
            self.found.bad["an unknown kind of record"] += 1

    def _hear(self, piece: Piece) -> None:
        if not piece.text.strip() or not self._is_new(piece):
            return
        if piece.kind != "answer" and piece.turn == self.silent:
            self.silent = None
        if piece.turn != self.silent:
            self.found.pieces.append(piece if piece.id else self._numbered(piece))

    def _is_new(self, piece: Piece) -> bool:
        """Whether no other kind of record has told it yet."""
        if piece.id in self.ids:
            return False
        self.ids.update({piece.id} - {""})
        subject = (piece.turn, piece.text) if piece.kind == "answer" else (piece.turn,)
        heard, taken = (piece.kind, piece.channel, *subject), (piece.kind, *subject)
        self.heard[heard] += 1
        new = self.heard[heard] > self.taken[taken]
        self.taken[taken] += new
        return new

    def _numbered(self, piece: Piece) -> Piece:
        self.numbers[piece.turn] += 1
        return piece._replace(id=f"{piece.turn}:{self.numbers[piece.turn]}")


def own(pieces: Sequence[Piece], parent: Sequence[Piece]) -> list[Piece]:
    """Without the beginning that repeats the parent's thread.

    Its words tell what is repeated, and so do the names of its turns, if these were repeated with them.
    """
    said = [(at, piece) for at, piece in enumerate(pieces) if piece.kind in SPOKEN]
    earlier = [piece for piece in parent if piece.kind in SPOKEN]
    pairs = zip((piece for _, piece in said), earlier, strict=False)
    repeated = [piece for piece, _ in takewhile(lambda pair: _same_words(*pair), pairs)]
    known = {piece.turn for piece in earlier}
    if any(piece.turn in known for piece in repeated):
        repeated = list(takewhile(lambda piece: piece.turn in known, repeated))
    if not repeated:
        return list(pieces)
    return list(pieces[said[len(repeated)][0] :]) if len(repeated) < len(said) else []


def _same_words(piece: Piece, other: Piece) -> bool:
    return (piece.kind, piece.text) == (other.kind, other.text)
