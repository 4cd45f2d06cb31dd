"""Sessions in the neutral format of `docs/sessions.md`: the way in for any agent that has no source of its own.

One JSON object a line; each says something, tells facts of its session, or both. Fields that are not known are ignored,
so that a converter may add its own; a line that is wrong in a field that is known is passed by, and the rest is read.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal, TypeAlias
from zlib import crc32

from skillopt_git.config import Config
from skillopt_git.folders import agent_home, walk
from skillopt_git.ids import Json, digest
from skillopt_git.lines import (
    Line,
    clean,
    flag,
    instant,
    name,
    objects,
    read,
    string,
    strings,
    why,
)
from skillopt_git.model import Session, Skipped, Turn
from skillopt_git.packed import Shape, decoder
from skillopt_git.transcripts import FileState, Span, Transcript

NAME = "jsonl"
VERSION = 1

_Role: TypeAlias = Literal["", "user", "assistant", "system", "tool"]
_Asked: TypeAlias = Literal["prompt", "command", "shell"]

_SUFFIXES = (".jsonl", ".jsonl.zst")
_IGNORED = ("system", "tool")
_ROLES: Mapping[str, _Role] = {"": "", "user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
_KINDS: Mapping[str, _Asked] = {"": "prompt", "prompt": "prompt", "command": "command", "shell": "shell"}
_STRINGS = ("session", "role", "text", "time", "turn", "kind", "cwd", "original_cwd", "branch")
_LISTS = ("tools", "skills", "files")


@dataclass(frozen=True, slots=True)
class JsonlSource:
    """`root` is a folder, or one file."""

    root: Path

    @property
    def name(self) -> str:
        return NAME

    @property
    def home(self) -> str:
        return str(self.root)

    def transcripts(self) -> Iterator[Transcript | Skipped]:
        for found in _files(self.root):
            yield Transcript((found,)) if isinstance(found, FileState) else found

    def glance(self, transcript: Transcript) -> Span | None:
        """Never a time: a file may hold many sessions, and its end tells of one."""

    def read(self, transcript: Transcript) -> Iterator[Session | Skipped]:
        bad: Counter[str] = Counter()
        path = transcript.path
        try:
            stories = _stories(path, read(transcript.files[0], bad), bad)
        except OSError as error:
            yield Skipped(path, why(error))
            return
        typed = [story for story in stories if story.is_typed]
        bad["no prompt"] = len(stories) - len(typed)
        bad["empty"] = 0 if stories or bad.total() else 1
        bad = +bad
        yield from (Skipped(path, reason, count) for reason, count in bad.items())
        yield from (_session(path, story) for story in typed)


def make(config: Config, environ: Mapping[str, str]) -> JsonlSource:
    data = environ.get("XDG_DATA_HOME") or "~/.local/share"
    home = agent_home(
        config.harvest.jsonl_home,
        environ,
        setting="harvest.jsonl_home",
        variable="",
        default=f"{data}/skillopt/sessions",
    )
    return JsonlSource(home)


# --- finding files -----------------------------------------------------------------------------------------------


def _files(root: Path) -> Iterator[FileState | Skipped]:
    try:
        info = root.stat()
    except OSError:
        info = None
    if info is None or stat.S_ISDIR(info.st_mode):
        yield from walk(root, root, lambda name: name.endswith(_SUFFIXES))
    elif stat.S_ISREG(info.st_mode):
        yield FileState(str(root), info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino)
    else:
        yield Skipped(str(root), "not a file")


# --- reading lines -----------------------------------------------------------------------------------------------


class _Line(Shape, frozen=True):
    """A line that is right in every field that is known. The decoder looks for the next field first."""

    v: Literal[1] | None = None
    session: str | None = None
    role: _Role | None = None
    kind: Literal["", "prompt", "command", "shell"] | None = None
    text: str | None = None
    time: datetime | None = None
    turn: str | None = None
    cwd: str | None = None
    original_cwd: str | None = None
    branch: str | None = None
    tools: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None
    headless: bool | None = None


_decoded = decoder(_Line)
_BACKSLASH, _NUL = ord("\\"), rb"\u0000"  # a byte is found in a tenth of the time that a string is


def _told(line: bytes, bad: Counter[str]) -> Iterable[_Line]:
    """What a line tells; it is looked at closely only if it is not an ordinary one."""
    try:
        told = _decoded(line)
        _ = line.isascii() or line.decode()  # the decoder does not look into fields that it does not know
    except (ValueError, RecursionError):
        return _loosely(line, bad)
    is_right = (
        (told.role or not told.text)
        and (not told.time or told.time.tzinfo is UTC or _in_utc(told.time))
        and (not told.cwd or _is_absolute(told.cwd))
        and (not told.original_cwd or _is_absolute(told.original_cwd))
        and (_BACKSLASH not in line or _NUL not in line)
    )
    return (told,) if is_right else _loosely(line, bad)


def _in_utc(time: datetime) -> datetime | None:
    return time if time.tzinfo is UTC else instant(time.isoformat())


def _loosely(line: bytes, bad: Counter[str]) -> Iterator[_Line]:
    """Nothing is taken from a line with a broken piece: an object on it may be a part of what was broken."""
    broken = bad.total()
    records = list(objects(line, bad))
    is_whole = bad.total() == broken
    for record in records:
        fault = _fault(record) if is_whole else "beside a broken piece"
        if fault:
            bad[fault] += 1
        else:
            yield _known(record)


def _known(record: Line) -> _Line:
    return _Line(
        session=string(record, "session"),
        role=_ROLES[string(record, "role")],
        kind=_KINDS.get(string(record, "kind")),
        text=string(record, "text"),
        time=instant(string(record, "time")),
        turn=string(record, "turn"),
        cwd=string(record, "cwd"),
        original_cwd=string(record, "original_cwd"),
        branch=string(record, "branch"),
        tools=tuple(strings(record, "tools")),
        skills=tuple(strings(record, "skills")),
        files=tuple(strings(record, "files")),
        headless=flag(record, "headless"),
    )


# --- what is wrong with a line -----------------------------------------------------------------------------------


def _fault(record: Line) -> str:
    """What is wrong with a line; empty if nothing is."""
    return next((reason for reason, is_so in _FAULTS.items() if is_so(record)), "")


def _is_newer(record: Line) -> bool:
    version = record.get("v")
    return type(version) is int and version > VERSION


def _is_ill_typed(record: Line) -> bool:
    version = record.get("v")
    return not (
        (version is None or (type(version) is int and version == VERSION))
        and all(isinstance(record.get(key), str | None) for key in _STRINGS)
        and all(_is_list_of_strings(record.get(key)) for key in _LISTS)
        and isinstance(record.get("headless"), bool | None)
    )


def _is_list_of_strings(value: Json) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _is_nobody_s(record: Line) -> bool:
    return bool(string(record, "text").strip()) and not string(record, "role")


def _is_of_unknown_kind(record: Line) -> bool:
    return string(record, "role") == "user" and string(record, "kind") not in _KINDS


def _is_timeless(record: Line) -> bool:
    return bool(string(record, "time")) and not instant(string(record, "time"))


def _is_nowhere(record: Line) -> bool:
    return not all(_is_absolute(string(record, key)) for key in ("cwd", "original_cwd"))


@lru_cache(maxsize=256)
def _is_absolute(path: str) -> bool:
    """On the machine where it was written. No path is none that is wrong."""
    return not path or PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


_FAULTS: Mapping[str, Callable[[Line], bool]] = {  # the first that is so is told
    "written for a newer tool": _is_newer,
    "a field of the wrong type": _is_ill_typed,
    "an unknown role": lambda record: string(record, "role") not in _ROLES,
    "a text without a role": _is_nobody_s,
    "an unknown kind": _is_of_unknown_kind,
    "an unreadable time": _is_timeless,
    "a folder that is no absolute path": _is_nowhere,
}


# --- what a session tells ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Story:
    """What the lines of one session have told so far."""

    session: str
    cwd: str = ""
    original_cwd: str = ""
    branch: str = ""
    headless: bool = False
    started: datetime | None = None
    ended: datetime | None = None
    said: int = 0  # texts so far
    is_typed: bool = False
    turns: list[Turn] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)  # all that was shown since the last turn, which is to be one
    opening: tuple[str, datetime | None] = ("", None)  # of the answer: its id and time
    final: str = ""
    tools: list[str] = field(default_factory=list)
    skills: dict[str, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    given: dict[str, tuple[bool, str]] = field(default_factory=dict)  # who said what, by the ids that were given
    scope: str = field(init=False)

    def __post_init__(self) -> None:
        self.scope = digest(self.session)


def _stories(path: str, lines: Iterable[bytes], bad: Counter[str]) -> list[_Story]:
    """What each session tells."""
    stories: dict[str, _Story] = {}
    stem = clean(Path(path).name.removesuffix(".zst").removesuffix(".jsonl"))
    for line in lines:
        for told in _told(line, bad):
            id_ = told.session or stem
            story = stories.get(id_)
            if story is None:
                story = stories[id_] = _Story(id_)
            if told.role not in _IGNORED:
                _take(story, told)
    return list(stories.values())


def _take(story: _Story, line: _Line) -> None:
    time = line.time if line.time is None or line.time.tzinfo is UTC else _in_utc(line.time)
    if time:
        _note_time(story, time)
    if line.cwd or line.original_cwd or line.branch or line.headless:
        _note_facts(story, line)
    if line.tools:
        story.tools += filter(None, map(_name, line.tools))
    if line.skills or line.files:
        _note_work(story, line)
    if line.text and not line.text.isspace():
        _say(story, line, line.text, time)


def _note_time(story: _Story, time: datetime) -> None:
    if story.started is None or time < story.started:
        story.started = time
    if story.ended is None or time > story.ended:
        story.ended = time


def _note_facts(story: _Story, line: _Line) -> None:
    """The first place that is named counts."""
    story.cwd = story.cwd or line.cwd or ""
    story.original_cwd = story.original_cwd or line.original_cwd or ""
    story.branch = story.branch or line.branch or ""
    story.headless = story.headless or line.headless is True


def _note_work(story: _Story, line: _Line) -> None:
    story.skills.update((skill, None) for skill in map(_name, line.skills or ()) if skill)
    story.files.update((file, None) for file in line.files or () if file)


_name = lru_cache(maxsize=256)(name)


def _say(story: _Story, line: _Line, text: str, time: datetime | None) -> None:
    """Keeps what was said. The same under the same id was written twice; anything else gets an id of its own."""
    is_answer = line.role == "assistant"
    id_ = _turn_id(story, line.turn, is_answer, text)
    if not id_:
        return
    story.said += 1
    if not is_answer:
        _end_answer(story)
        story.is_typed = True
        story.turns.append(Turn(id=id_, kind=line.kind or "prompt", text=text, time=time))
        return
    if not story.answer:
        story.opening = (id_, time)
    story.answer.append(text)


def _turn_id(story: _Story, given: str | None, is_answer: bool, text: str) -> str:
    """One that no turn of another session has, for ids that are given are often mere numbers; empty for a repetition.

    One that is made has a checksum, which tells the text from another that takes its place later.
    """
    if given:
        earlier = story.given.get(given)
        if earlier is None:
            story.given[given] = (is_answer, text)
            return f"{story.scope}:{given}"
        if earlier == (is_answer, text):
            return ""
    return f"{story.scope}.{story.said}.{crc32(text.encode())}"


def _end_answer(story: _Story) -> None:
    if story.answer:
        id_, time = story.opening
        story.turns.append(Turn(id=id_, kind="answer", text="\n\n".join(story.answer), time=time))
        story.final = story.answer[-1]
        story.answer.clear()


def _session(path: str, story: _Story) -> Session:
    _end_answer(story)
    return Session(
        id=story.session,
        source=NAME,
        path=path,
        cwd=story.cwd or None,
        original_cwd=story.original_cwd or None,
        branch=story.branch or None,
        started=story.started,
        ended=story.ended,
        turns=tuple(story.turns),
        final=story.final,
        tools=tuple(story.tools),
        skills=tuple(story.skills),
        files=tuple(story.files),
        headless=story.headless,
    )
