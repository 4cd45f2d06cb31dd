"""The lines of a Claude Code transcript, as far as they matter: one JSON object each, in a known form or in any other.

Most of a transcript is what tools put out, which is passed over: by a glance at a line's beginning and end where it has
the usual form, else by making only the fields named here into values. A line in another form, or damaged, is read
whole and loosely: slower, with the same outcome.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from skillopt_git import lines, packed
from skillopt_git.ids import Json
from skillopt_git.lines import flag, objects, string, table
from skillopt_git.packed import Shape

UNKNOWN = ""  # a parent that is not named, unlike None: the start of a conversation

NO_FACTS = b"\n\n"  # what no line ends with
_FACTS_LIMIT = 1500  # bytes


class Origin(Shape, frozen=True):
    kind: str = ""


class Input(Shape, frozen=True):
    file_path: str = ""
    notebook_path: str = ""
    skill: str = ""
    command: str = ""


class Block(Shape, frozen=True):
    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Input = Input()
    tool_use_id: str = ""
    is_error: bool = False


class Message(Shape, frozen=True):
    content: str | tuple[Block, ...] = ""
    model: str = ""


class Attachment(Shape, frozen=True, rename={"command_mode": "commandMode"}):
    type: str = ""
    command_mode: str = ""
    prompt: str | tuple[Block, ...] = ""
    origin: Origin = Origin()
    source_uuid: str = ""


class Worktree(Shape, frozen=True, rename="camel"):
    original_cwd: str = ""


class Line(Shape, frozen=True, rename="camel"):
    # In the order in which they are mostly written: the decoder looks for the next one first.
    parent_uuid: str | None = UNKNOWN
    logical_parent_uuid: str | None = UNKNOWN
    is_sidechain: bool = False
    attachment: Attachment = Attachment()
    message: Message = Message()
    attribution_skill: str = ""
    type: str = ""
    subtype: str = ""
    content: str = ""
    uuid: str = ""
    timestamp: str = ""
    is_meta: bool = False
    is_visible_in_transcript_only: bool = False
    is_compact_summary: bool = False
    is_api_error_message: bool = False
    origin: Origin = Origin()
    prompt_source: str = ""
    entrypoint: str = ""
    cwd: str = ""
    session_id: str = ""
    version: str = ""
    git_branch: str = ""
    worktree_session: Worktree = Worktree()


_decoded = packed.decoder(Line)


def parsed(line: bytes, bad: Counter[str]) -> Iterable[Line]:
    """The objects on a line of a file; pieces that are none are counted in `bad` by reason."""
    try:
        return (_decoded(line),)
    except (ValueError, RecursionError):
        return map(_loosely, objects(line, bad))


# --- known at a glance -------------------------------------------------------------------------------------------


class Outcome(Shape, frozen=True):
    """What matters of a tool's result; `done` is the use of the tool that it reports as successful, or empty."""

    parent: str
    uuid: str
    timestamp: str
    done: str


# Inside a JSON string every quote has a backslash before it. So where bytes such as `,"uuid":"` stand in a line, they
# are structure and no text, and can be looked for without decoding anything.
_HEAD = re.compile(
    rb'\{"parentUuid":"([^"\\]+)","isSidechain":false,(?:"promptId":"[^"\\]*",)?'
    rb'"type":"user","message":\{"role":"user","content":\[\{'
    rb'(?:"tool_use_id":"([^"\\]*)",)?"type":"tool_result",(?:"tool_use_id":"([^"\\]*)",)?"content":(?=["\[])'
)
_LAST = re.compile(rb'["\]](?:,"is_error":(true|false))?(?:,"tool_use_id":"([^"\\]*)")?\Z')
_IDS = re.compile(rb'\}\]\},"uuid":"([^"\\]+)","timestamp":"([^"\\]*)","toolUseResult":')
_END = b'}]},"uuid":"'
_RESULT = b'"type":"tool_result"'
_CALLER = b',"sourceToolAssistantUUID":"'
_UUID_LENGTH = 36
_LAST_LIMIT = 120  # bytes
_ERROR_LIMIT = len('","is_error":false')


def facts(line: bytes) -> bytes:
    """The end of a line: where the session runs, and in which version. It is mostly that of the line before."""
    at = line.rfind(b'"userType":', -_FACTS_LIMIT)
    return line[at:] if at >= 0 else NO_FACTS


def outcome(line: bytes, ending: bytes) -> Outcome | None:
    """A tool's result in the usual form, if its facts are this `ending`; nothing of what the tool put out is looked at.

    A line that broke off in the middle, with another written over it, begins as one record and ends as another. Just
    before the facts stands who called the tool, which is the parent: if both agree, beginning and end are one record's.
    """
    caller = len(line) - len(ending) - _UUID_LENGTH - len(b'",')
    if not line.endswith(_CALLER, 0, max(caller, 0)):
        return None
    head = _HEAD.match(line)
    if not head or not line.endswith(head[1] + b'",' + ending):
        return None
    start, end = head.end(), line.rfind(_END, head.end())  # from the end, which is twice as fast
    last_limit = _ERROR_LIMIT if head[2] or head[3] else _LAST_LIMIT
    ids, last = _IDS.match(line, end), _LAST.search(line, max(start, end - last_limit), end)
    if end < 0 or not ids or not last or line.find(_RESULT, start, end) >= 0:
        return None
    call = b"" if last[1] == b"true" else head[2] or head[3] or last[2] or b""
    try:
        return Outcome(head[1].decode(), ids[1].decode(), ids[2].decode(), call.decode())
    except UnicodeDecodeError:
        return None


# --- any form ----------------------------------------------------------------------------------------------------


def _loosely(line: Mapping[str, Json]) -> Line:
    parent = line.get("parentUuid", UNKNOWN)
    return Line(
        type=string(line, "type"),
        uuid=string(line, "uuid"),
        parent_uuid=parent if parent is None else string(line, "parentUuid"),
        logical_parent_uuid=string(line, "logicalParentUuid"),
        timestamp=string(line, "timestamp"),
        is_sidechain=flag(line, "isSidechain"),
        is_meta=flag(line, "isMeta"),
        is_compact_summary=flag(line, "isCompactSummary"),
        is_visible_in_transcript_only=flag(line, "isVisibleInTranscriptOnly"),
        is_api_error_message=flag(line, "isApiErrorMessage"),
        message=_message(table(line, "message")),
        attachment=_attachment(table(line, "attachment")),
        origin=Origin(kind=string(table(line, "origin"), "kind")),
        prompt_source=string(line, "promptSource"),
        subtype=string(line, "subtype"),
        content=string(line, "content"),
        attribution_skill=string(line, "attributionSkill"),
        session_id=string(line, "sessionId"),
        cwd=string(line, "cwd"),
        git_branch=string(line, "gitBranch"),
        version=string(line, "version"),
        entrypoint=string(line, "entrypoint"),
        worktree_session=Worktree(original_cwd=string(table(line, "worktreeSession"), "originalCwd")),
    )


def _message(message: Mapping[str, Json]) -> Message:
    return Message(content=_content(message, "content"), model=string(message, "model"))


def _attachment(attachment: Mapping[str, Json]) -> Attachment:
    return Attachment(
        type=string(attachment, "type"),
        command_mode=string(attachment, "commandMode"),
        prompt=_content(attachment, "prompt"),
        origin=Origin(kind=string(table(attachment, "origin"), "kind")),
        source_uuid=string(attachment, "source_uuid"),
    )


def _content(holder: Mapping[str, Json], key: str) -> str | tuple[Block, ...]:
    return string(holder, key) or tuple(map(_block, lines.rows(holder, key)))


def _block(block: Mapping[str, Json]) -> Block:
    given = table(block, "input")
    return Block(
        type=string(block, "type"),
        text=string(block, "text"),
        id=string(block, "id"),
        name=string(block, "name"),
        input=Input(
            file_path=string(given, "file_path"),
            notebook_path=string(given, "notebook_path"),
            skill=string(given, "skill"),
            command=string(given, "command"),
        ),
        tool_use_id=string(block, "tool_use_id"),
        is_error=flag(block, "is_error"),
    )
