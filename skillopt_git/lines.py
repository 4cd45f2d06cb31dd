"""Reading a transcript: its lines, the JSON objects on them, and what these hold, whatever it is.

Files are cut off, spliced, appended to and replaced at any time. A piece that cannot be read is told with its reason,
and the rest is read. Nothing is ever written, locked, or waited for.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from typing import Any, BinaryIO, TypeAlias, TypeVar

import zstandard

from skillopt_git import packed
from skillopt_git.ids import Json
from skillopt_git.transcripts import NO_FILE, REPLACED, UNREADABLE, FileState, Span, Transcript

Line: TypeAlias = Mapping[str, Json]

T = TypeVar("T")

LINE_LIMIT = 16 << 20  # bytes; a longer line is passed by
UNPACKED_LIMIT = 1 << 30  # bytes of a packed file that are read
_MOST_BROKEN = 10  # pieces of a line
_BUFFER = 1 << 20
_PACKED = 1 << 14
_EMPTY, _BARELY = frozenset({b"\n", b"\r\n"}), 3
_ENDS = (1 << 14, 1 << 18)  # bytes: some dozen records, and where the last is long
_TIME = re.compile(rb'"timestamp":\s?"([0-9T:.Z+-]{10,40})"')
_FEW = 4  # records
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_TOLERANT = json.JSONDecoder()
_BLANK = re.compile("[\\s\0\ufeff]*")
_UNSAFE = re.compile("[\0\ud800-\udfff]")
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_.:-]")
_NAME_LIMIT = 80


class Replaced(OSError):
    """Another file took the place of the one that was found."""


def why(error: OSError) -> str:
    """Why a file could not be read, as it is counted."""
    match error:
        case Replaced():
            return REPLACED
        case FileNotFoundError():
            return NO_FILE
        case _:
            return UNREADABLE


# --- lines -------------------------------------------------------------------------------------------------------


def read(state: FileState, bad: Counter[str]) -> Iterator[bytes]:
    r"""The lines of a file that are not empty, each with its `\n`, up to where the file ended when it was opened.

    Only `\n` ends a line: text may hold U+2028 as it is. Lines too long are counted in `bad`. Raises `OSError`.
    """
    with closing(_opened(state)) as file:
        packed = state.path.endswith(".zst")
        limit = UNPACKED_LIMIT if packed else os.fstat(file.fileno()).st_size
        with closing(io.BufferedReader(_Unpacked(file, bad) if packed else file, _BUFFER)) as plain:
            yield from _lines(plain, limit, bad)
            if packed and plain.read(1):
                bad["too large unpacked"] += 1


def last_times(transcript: Transcript) -> Span | None:
    """The times of the last few records of each file; None where one has none, or more has to be read to tell."""
    spans = [span for file in transcript.files if (span := _last_times(file))]
    if len(spans) < len(transcript.files):
        return None
    return Span(min(span.earliest for span in spans), max(span.latest for span in spans))


def _last_times(state: FileState) -> Span | None:
    if state.path.endswith(".zst"):
        return None
    times: list[datetime] = []
    try:
        with closing(_opened(state)) as file:
            for size in _ENDS:
                if not times:
                    file.seek(max(state.size - size, 0))
                    times = [time for text in _times(file.read(size)) if (time := instant(text.decode()))]
    except OSError:
        return None
    return Span(min(times), max(times)) if times else None


def _times(end: bytes) -> Iterator[bytes]:
    """Inside a text, quotes would be escaped. Looking from the end for the bytes is several times faster than `re`."""
    at = len(end)
    for _ in range(_FEW):
        at = end.rfind(b'"timestamp":', 0, at)
        if at < 0:
            break
        if found := _TIME.match(end, at):
            yield found[1]


def _opened(state: FileState) -> io.FileIO:
    """Never waits, as opening a pipe would, and never follows a link that was put in the file's place."""
    file = io.FileIO(os.open(state.path, _READ))
    info = os.fstat(file.fileno())
    if not stat.S_ISREG(info.st_mode) or (info.st_dev, info.st_ino) != (state.device, state.inode):
        file.close()
        raise Replaced(f"{state.path} is another file than it was")
    return file


class _Unpacked(io.RawIOBase):
    """What a packed file holds, up to where it is damaged."""

    def __init__(self, file: io.FileIO, bad: Counter[str]) -> None:
        self._packed = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=False)
        self._bad = bad
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """A little at a time: what was unpacked before the damage would be lost with what comes after it."""
        view = memoryview(buffer)
        try:
            piece = b"" if self._ended else self._packed.read1(min(len(view), _PACKED))
        except zstandard.ZstdError:
            self._bad["cannot be unpacked"] += 1
            piece = b""
        self._ended = not piece
        view[: len(piece)] = piece
        return len(piece)


def _lines(file: BinaryIO, limit: int, bad: Counter[str]) -> Iterator[bytes]:
    done = 0
    for line in iter(partial(file.readline, LINE_LIMIT), b""):
        done += len(line)
        if len(line) < _BARELY and line in _EMPTY:
            pass
        elif len(line) < LINE_LIMIT or line.endswith(b"\n"):
            yield line
        else:
            bad["a line too long"] += 1
            done += _pass_by(file, limit - done)
        if done >= limit:
            return


def _pass_by(file: BinaryIO, most: int) -> int:
    """The rest of a line."""
    done = 0
    for piece in iter(partial(file.readline, _BUFFER), b""):
        done += len(piece)
        if piece.endswith(b"\n") or done >= most:
            break
    return done


# --- objects -----------------------------------------------------------------------------------------------------


def objects(line: bytes, bad: Counter[str]) -> Iterator[Line]:
    """The JSON objects on a line. Pieces that are none are counted by reason; of a spliced line the rest is read."""
    try:
        value = packed.decode(line)
    except (ValueError, RecursionError):
        yield from _tolerant(line, bad)
        return
    if isinstance(value, dict):
        yield value
    else:
        bad["not an object"] += 1


def _tolerant(line: bytes, bad: Counter[str]) -> Iterator[Line]:
    try:
        text = line.decode().strip("\ufeff\0 \t\r\n")
    except UnicodeDecodeError:
        bad["not UTF-8"] += 1
        return
    if not text and line.strip():
        bad["no text"] += 1
    at = broken = 0
    while at < len(text) and broken < _MOST_BROKEN:  # each takes as long as the line is
        try:
            value, end = _TOLERANT.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            bad["not JSON" if line.endswith(b"\n") else "cut off"] += 1
            at, broken = _next_object(text, at, error), broken + 1
            continue
        if isinstance(value, dict):
            yield value
        else:
            bad["not an object"] += 1
        at = end + len(_BLANK.match(text, end)[0])  # type: ignore[index]  # it matches everywhere, if only nothing


def _next_object(text: str, at: int, error: Exception) -> int:
    """Where a record begins that was written over the broken one at `at`; the end of the text if none was.

    Quotes inside strings are escaped, so a string that ends in a bare `{"` was cut off by the start of a record, and so
    was anything after which no object may stand. An object that may stand where it does is a part of the broken
    record, and never taken for one itself.
    """
    if isinstance(error, json.JSONDecodeError):
        for start in (error.pos - 2, error.pos, error.pos + 1):
            if start > at and text.startswith('{"', start):
                return start
    return len(text)


# --- what an object holds, as far as it is what it should be --------------------------------------------------------


def clean(text: str) -> str:
    """Without what cannot be written as UTF-8 or stand in a path."""
    return text if text.isascii() and "\0" not in text else _UNSAFE.sub("\ufffd", text)


def string(line: Line, key: str) -> str:
    value = line.get(key)
    return clean(value) if isinstance(value, str) else ""


def table(line: Line, key: str) -> Line:
    value = line.get(key)
    return value if isinstance(value, dict) else {}


def rows(line: Line, key: str) -> list[Line]:
    """The objects in a list."""
    value = line.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def strings(line: Line, key: str) -> list[str]:
    """The strings in a list."""
    value = line.get(key)
    return [clean(item) for item in value if isinstance(item, str)] if isinstance(value, list) else []


def flag(line: Line, key: str) -> bool:
    return line.get(key) is True


def name(text: str) -> str:
    """Names come from a model: only what a name is made of, and not much of it."""
    return _NOT_A_NAME.sub("_", text)[:_NAME_LIMIT]


def instant(text: str) -> datetime | None:
    """A time in ISO 8601, as an instant in UTC. One without a zone is taken for UTC."""
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
