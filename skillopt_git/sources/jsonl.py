"""Sessions in the neutral format of `docs/sessions.md`: the way in for any agent that has no source of its own.

One JSON object a line; each says something, tells facts of its session, or both. Fields that are not known are ignored,
so that a converter may add its own; a line that is wrong in a field that is known is passed by, and the rest is read.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal, TypeAlias

from skillopt_git.config import Config
from skillopt_git.folders import agent_home, walk
from skillopt_git.lines import Line, flag, instant, last_times, name, objects, read, string, strings, why
from skillopt_git.model import Json, Session, Skipped, Turn, digest
from skillopt_git.transcripts import FileState, Span, Transcript

NAME = "jsonl"
VERSION = 1

Kind: TypeAlias = Literal["prompt", "command", "shell"]

_SUFFIXES = (".jsonl", ".jsonl.zst")
_IGNORED = ("system", "tool")
_ROLES = ("", "user", "assistant", *_IGNORED)
_KINDS: Mapping[str, Kind] = {"": "prompt", "prompt": "prompt", "command": "command", "shell": "shell"}
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
        return last_times(transcript)

    def read(self, transcript: Transcript) -> Iterator[Session | Skipped]:
        bad: Counter[str] = Counter()
        path = transcript.path
        try:
            stories = _stories(path, read(transcript.files[0], bad), bad)
        except OSError as error:
            yield Skipped(path, why(error))
            return
        typed = {id_: story for id_, story in stories.items() if story.is_typed}
        bad["no prompt"] = len(stories) - len(typed)
        bad["empty"] = 0 if stories or bad.total() else 1
        bad = +bad
        yield from (Skipped(path, reason, count) for reason, count in bad.items())
        yield from (_session(path, id_, story) for id_, story in typed.items())


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


@dataclass(slots=True)
class _Story:
    """What the lines of one session have told so far."""

    cwd: str = ""
    original_cwd: str = ""
    branch: str = ""
    headless: bool = False
    said: list[Turn] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    skills: dict[str, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    times: list[datetime] = field(default_factory=list)  # the earliest and the latest
    given: dict[str, tuple[str, str]] = field(default_factory=dict)  # who said what, by the ids that were given

    @property
    def is_typed(self) -> bool:
        return any(turn.kind != "answer" for turn in self.said)


def _stories(path: str, lines: Iterable[bytes], bad: Counter[str]) -> dict[str, _Story]:
    """What each session tells, by its id.

    Nothing is taken from a line with a broken piece: an object on it may be a part of what was broken.
    """
    stories: dict[str, _Story] = {}
    for line in lines:
        broken = bad.total()
        records = list(objects(line, bad))
        is_whole = bad.total() == broken
        for record in records:
            fault = _fault(record) if is_whole else "beside a broken piece"
            if fault:
                bad[fault] += 1
            else:
                id_ = string(record, "session") or _stem(path)
                _take(stories.setdefault(id_, _Story()), id_, record)
    return stories


def _stem(path: str) -> str:
    return Path(path).name.removesuffix(".zst").removesuffix(".jsonl")


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
    folders = filter(None, (string(record, key) for key in ("cwd", "original_cwd")))
    return not all(PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute() for path in folders)


_FAULTS: Mapping[str, Callable[[Line], bool]] = {  # the first that is so is told
    "written for a newer tool": _is_newer,
    "a field of the wrong type": _is_ill_typed,
    "an unknown role": lambda record: string(record, "role") not in _ROLES,
    "a text without a role": _is_nobody_s,
    "an unknown kind": _is_of_unknown_kind,
    "an unreadable time": _is_timeless,
    "a folder that is no absolute path": _is_nowhere,
}


def _take(story: _Story, session: str, record: Line) -> None:
    if string(record, "role") in _IGNORED:
        return
    time = instant(string(record, "time"))
    if time:
        times = [*story.times, time]
        story.times = [min(times), max(times)]
    story.cwd = story.cwd or string(record, "cwd")
    story.original_cwd = story.original_cwd or string(record, "original_cwd")
    story.branch = story.branch or string(record, "branch")
    story.headless = story.headless or flag(record, "headless")
    story.tools += filter(None, map(name, strings(record, "tools")))
    story.skills.update(dict.fromkeys(filter(None, map(name, strings(record, "skills")))))
    story.files.update(dict.fromkeys(filter(None, strings(record, "files"))))
    if string(record, "text").strip():
        _say(story, session, record, time)


def _say(story: _Story, session: str, record: Line, time: datetime | None) -> None:
    """Keeps what was said. The same under the same id was written twice; anything else gets an id of its own."""
    role, text, given = string(record, "role"), string(record, "text"), string(record, "turn")
    earlier = story.given.get(given)
    if earlier == (role, text):
        return
    id_ = given if given and not earlier else digest(session, len(story.said), role, text)
    story.given.update([(given, (role, text))] if id_ == given else [])
    kind = "answer" if role == "assistant" else _KINDS[string(record, "kind")]
    story.said.append(Turn(id=id_, kind=kind, text=text, time=time))


# --- making a session --------------------------------------------------------------------------------------------


def _session(path: str, id_: str, story: _Story) -> Session:
    return Session(
        id=id_,
        source=NAME,
        path=path,
        cwd=story.cwd or None,
        original_cwd=story.original_cwd or None,
        branch=story.branch or None,
        started=min(story.times, default=None),
        ended=max(story.times, default=None),
        turns=tuple(_turns(story.said)),
        final=next((turn.text for turn in reversed(story.said) if turn.kind == "answer"), ""),
        tools=tuple(story.tools),
        skills=tuple(story.skills),
        files=tuple(story.files),
        headless=story.headless,
    )


def _turns(said: Iterable[Turn]) -> Iterator[Turn]:
    """What the user said, and between two such turns all that the assistant showed, as one."""
    for is_answer, run in groupby(said, key=lambda turn: turn.kind == "answer"):
        turns = list(run)
        if is_answer:
            text = "\n\n".join(turn.text for turn in turns)
            yield Turn(id=turns[0].id, kind="answer", text=text, time=turns[0].time)
        else:
            yield from turns
