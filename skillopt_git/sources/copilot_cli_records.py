"""The events of a Copilot CLI session: what was said and done, told from events that are passed by unparsed.

A line is one event: `{"type":..,"data":{..},"agentId":..,"id":..,"timestamp":..,"parentId":..}`. Who typed something
is told by structure: an event of a sub-agent carries `agentId`, one that the program wrote in the user's place carries
`data.source` or a flag. Tool arguments, tool outputs, reasoning and injected context are dropped here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Literal, TypeAlias

from skillopt_git.ids import digest
from skillopt_git.lines import Line, flag, instant, name, objects, rows, string, table

Kind: TypeAlias = Literal["prompt", "shell", "answer"]

UNKNOWN_RECORD = "an unknown kind of record"
WRITTEN_OVER = "a record written over another"

_TYPED = (None, "", "user")  # values of `data.source`; others are "autopilot", "skill-..", "agent-..", "system"
_UNTYPED = ("isSystemInitiated", "isAutopilotContinuation")
_FOREIGN = frozenset({"toolRequests", "toolName", "success"})  # only other events have these
_HEADLESS = "non-interactive mode"
_OPENING = 1000  # characters of a system prompt in which its first line ends


@dataclass(frozen=True, slots=True)
class Said:
    id: str
    kind: Kind
    text: str
    time: datetime | None


@dataclass(slots=True)
class Story:
    """What a file has told so far; as much as it keeps, whatever the file's size."""

    named: str  # by its file or folder
    events: int = 0
    session: str = ""
    cwd: str = ""
    branch: str = ""
    said: list[Said] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    skills: dict[str, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    modes: set[bool] = field(default_factory=set)  # of the processes that ran the session: without a person, or with
    times: list[datetime] = field(default_factory=list)  # the earliest and the latest
    escapes: set[str] = field(default_factory=set)  # calls of tools that the user asked for
    ids: set[str] = field(default_factory=set)
    messages: int = 0


def read_story(lines: Iterable[bytes], bad: Counter[str], named: str) -> Story:
    """All that the lines tell. Pieces that are no event are counted in `bad`.

    A line is passed by if its head is that of an event with nothing to tell, its tail is that of an event, and this one
    names the event before it as its parent. Quotes inside strings are escaped, so what looks like a head or a tail is
    one, and with the chain unbroken no other event is on the line. Every other line is parsed.
    """
    story = Story(named)
    tail_of = _TAIL.match
    before, latest, earliest = b"", b"", _LATER_THAN_ANY
    for line in lines:
        tail = tail_of(line, len(line) - _TAIL_LENGTH)
        id_, stamp, parent = tail.groups() if tail else _NO_TAIL
        head = line[: line.find(b"{", 1) + 1]
        if parent == before and (head in _QUIET_HEADS or _is_passed_by(head, line, story)):
            before = id_
            if stamp > latest:
                latest = stamp
            if stamp < earliest:
                earliest = stamp
        else:
            before = b""
            for event in objects(line, bad):
                before = _take(story, event, bad).encode()
    for stamp in (earliest, latest):
        _note_time(story, instant(stamp.decode(errors="replace")))
    return story


# --- events that are passed by -----------------------------------------------------------------------------------

# Dots, because character classes cost twice as much; an id or a time that is none breaks the chain, or is no time.
_TAIL = re.compile(rb',"id":"(.{36})","timestamp":"(.{24})","parentId":"(.{36})"\}\n', re.DOTALL)
_TAIL_LENGTH = 135
_NO_TAIL = (b"", b"", None)
_LATER_THAN_ANY = b"~"
_AGENT = b'"agentId":"'
_EDITS = b'"fileEdits":'
_EDITS_END = b'],"success":true,'
_EDITS_FIRST, _EDITS_LAST = 512, 1024  # bytes before and after a result's text
_EDITS_LIMIT = 4096
_FLAT_LIMIT = 512


def _is_passed_by(head: bytes, line: bytes, story: Story) -> bool:
    """Whether a look at the line is enough to know all that it tells."""
    glance = _GLANCES.get(head)
    return glance is not None and glance(line, story)


def _glance_at_system(line: bytes, story: Story) -> bool:
    if _AGENT not in line[-2 * _TAIL_LENGTH :]:
        story.modes.add(_HEADLESS.encode() in line[:_OPENING].partition(rb"\n")[0])
    return True


def _glance_at_assistant(line: bytes, _story: Story) -> bool:
    """Most messages only call tools."""
    return _flat(line, b'"content":"') == b""


def _glance_at_call(line: bytes, story: Story) -> bool:
    tool = _flat(line, b'"toolName":"')
    if not tool or story.escapes:
        return False
    story.tools.append(_tool(tool))
    return True


def _flat(line: bytes, key: bytes) -> bytes | None:
    """A string of `data`, if it stands before all that is nested and needs no decoding."""
    start = line.find(b"{", 1) + 1
    at = line.find(key, start, _FLAT_LIMIT) + len(key)
    end = line.find(b'"', at, _FLAT_LIMIT)
    if at < start or end < 0 or line.find(b"{", start, at) >= 0:
        return None
    value = line[at:end]
    return value if value.isascii() and b"\\" not in value else None


@lru_cache(maxsize=256)
def _tool(value: bytes) -> str:
    return name(value.decode())


def _glance_at_result(line: bytes, story: Story) -> bool:
    """Edits stand before the text of the result; should that change, then after it."""
    start = line.find(_EDITS, 0, _EDITS_FIRST)
    if start < 0:
        return line.find(_EDITS, max(len(line) - _EDITS_LAST, 0)) < 0
    end = line.find(_EDITS_END, start, start + _EDITS_LIMIT)
    if end < 0:
        return False
    broken: Counter[str] = Counter()
    for data in objects(b"{%b]}" % line[start:end], broken):
        _add_files(story, data)
    return not broken


def _head(kind: str) -> bytes:
    return b'{"type":"%b","data":{' % kind.encode()


_GLANCES: Mapping[bytes, Callable[[bytes, Story], bool]] = {
    _head("system.message"): _glance_at_system,
    _head("assistant.message"): _glance_at_assistant,
    _head("tool.execution_start"): _glance_at_call,
    _head("tool.execution_complete"): _glance_at_result,
}
_QUIET_HEADS = frozenset(
    map(
        _head,
        """
        assistant.turn_start assistant.turn_end assistant.reasoning session.usage_record session.shutdown session.info
        session.truncation session.compaction_start session.compaction_complete session.workspace_file_changed
        model.messages_snapshot model.call_start model.call_complete hook.start hook.end permission.requested
        permission.completed subagent.started subagent.completed skill.context_delivered_ref
        """.split(),
    )
)


# --- events that are read ----------------------------------------------------------------------------------------


def _take(story: Story, event: Line, bad: Counter[str]) -> str:
    """Adds what an event tells, and returns its id."""
    kind, id_, stamp = string(event, "type"), string(event, "id"), string(event, "timestamp")
    if not kind or not (id_ or stamp):
        bad[UNKNOWN_RECORD] += 1
        return ""
    story.events += 1
    _note_time(story, instant(stamp))
    reader = _READERS.get(kind)
    if reader:
        reader(story, event, table(event, "data"), bad)
    elif not _KNOWN.fullmatch(kind):
        bad[UNKNOWN_RECORD] += 1
    return id_


def _note_time(story: Story, time: datetime | None) -> None:
    if time:
        times = [*story.times, time]
        story.times = [min(times), max(times)]


def _where(story: Story, _event: Line, data: Line, _bad: Counter[str]) -> None:
    """The first place that is named counts: a session belongs to where it began."""
    context = table(data, "context") or data
    story.session = story.session or string(data, "sessionId")
    story.cwd = story.cwd or string(context, "cwd")
    story.branch = story.branch or string(context, "branch")


def _system(story: Story, event: Line, data: Line, _bad: Counter[str]) -> None:
    if not _by_sub_agent(event, data):
        story.modes.add(_HEADLESS in string(data, "content")[:_OPENING].partition("\n")[0])


def _user(story: Story, event: Line, data: Line, bad: Counter[str]) -> None:
    if not _FOREIGN.isdisjoint(data):
        bad[WRITTEN_OVER] += 1
    elif data.get("source") in _TYPED and not any(flag(data, key) for key in _UNTYPED):
        _say(story, event, data, "shell" if string(data, "agentMode") == "shell" else "prompt")


def _assistant(story: Story, event: Line, data: Line, _bad: Counter[str]) -> None:
    _say(story, event, data, "answer")


def _say(story: Story, event: Line, data: Line, kind: Kind) -> None:
    """Keeps a message of the main conversation, once."""
    text, id_ = string(data, "content"), string(event, "id")
    if not text.strip() or _by_sub_agent(event, data) or id_ in story.ids:
        return
    story.messages += 1
    story.ids.update([id_] if id_ else [])
    id_ = id_ or digest(story.named, string(data, "interactionId"), story.messages)
    story.said.append(Said(id_, kind, text, instant(string(event, "timestamp"))))


def _by_sub_agent(event: Line, data: Line) -> bool:
    return bool(event.get("agentId") or data.get("parentToolCallId"))


def _escape(story: Story, event: Line, data: Line, bad: Counter[str]) -> None:
    """`!command`: run by the program because the user asked for it, and told as the use of a tool."""
    call = string(data, "toolCallId")
    story.escapes.update([call] if call else [])
    command = string(table(data, "arguments"), "command").strip()
    _say(story, event, {**data, "content": command}, "shell")


def _call(story: Story, _event: Line, data: Line, _bad: Counter[str]) -> None:
    tool = name(string(data, "toolName"))
    if tool and string(data, "toolCallId") not in story.escapes:
        story.tools.append(tool)


def _result(story: Story, _event: Line, data: Line, _bad: Counter[str]) -> None:
    if flag(data, "success"):
        _add_files(story, data)


def _add_files(story: Story, data: Line) -> None:
    story.files.update((path, None) for edit in rows(data, "fileEdits") if (path := string(edit, "path")))


def _skill(story: Story, _event: Line, data: Line, _bad: Counter[str]) -> None:
    skill = name(string(data, "name"))
    story.skills.update([(skill, None)] if skill else [])


def _rewind(story: Story, _event: Line, data: Line, _bad: Counter[str]) -> None:
    """From the event that is named on, the conversation was taken back."""
    start = string(data, "upToEventId")
    at = next((at for at, said in enumerate(story.said) if said.id == start), len(story.said))
    del story.said[at:]


_READERS: Mapping[str, Callable[[Story, Line, Line, Counter[str]], None]] = {
    "session.start": _where,
    "session.resume": _where,
    "session.context_changed": _where,
    "session.snapshot_rewind": _rewind,
    "system.message": _system,
    "user.message": _user,
    "assistant.message": _assistant,
    "tool.user_requested": _escape,
    "tool.execution_start": _call,
    "tool.execution_complete": _result,
    "skill.invoked": _skill,
}

# Families of events that never hold a message of the conversation; of what is in none, one may.
_KNOWN = re.compile(
    r"abort|result"
    r"|assistant\.(?:turn_start|turn_end|intent|reasoning|usage|idle|message_start|\w+_delta|\w+_progress)"
    r"|(?:session|model|tool|skill|subagent|hook|system|permission|user_input|elicitation|external_tool|commands?"
    r"|exit_plan_mode|pending_messages|capabilities|mcp|sampling|auto_mode_switch)\.\w+"
)
