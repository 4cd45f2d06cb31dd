"""One line of a Codex rollout: what it says, who said it, and whether it need be parsed at all.

Two generations of the format, and mixtures of them, are told by structure. In the older one a typed prompt is an event
(`user_message`), and messages of the user's role are copies of it or were put in by the harness. In the newer one it is
such a message, with the kind `user.text` for each part that was typed, and an event repeats it (`item_completed`).
Tool arguments, tool outputs, reasoning and injected context are dropped here.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from skillopt_git.lines import Line, clean, flag, name, rows, string, strings, table

Kind: TypeAlias = Literal["prompt", "shell", "answer", "tool", "file", "skill"]
SPOKEN = frozenset({"prompt", "shell", "answer"})

# Told by their first bytes, and passed by: the great mass of a rollout, in which nobody says anything.
_TIME = "[0-9T:.-]{23}Z"
_RECORDS = "world_state|turn_context|token_usage_record|inter_agent_communication|inter_agent_communication_metadata"
_RESPONSES = (
    "(?:function_call|custom_tool_call|local_shell_call|tool_search)_output|reasoning|additional_tools|agent_message"
    '|message",(?:"id":"[^"\\\\]*",)?"role":"(?:developer|system)|ghost_snapshot|compaction(?:_summary)?'
)
_ITEMS = "Reasoning|SubAgentActivity|CollabAgentToolCall|ContextCompaction|McpToolCall|WebSearch|HookPrompt|Plan"
_EVENTS = (
    "token_count|task_complete|turn_complete|turn_aborted|thread_settings_applied|agent_reasoning(?:_raw_content)?"
    "|mcp_tool_call_end|web_search_end|context_compacted|item_started"
    f'|item_completed","thread_id":"[^"\\\\]*","turn_id":"[^"\\\\]*","item":{{"type":"(?:{_ITEMS})'
)
_COMMAND = (
    'exec_command_end|item_completed","thread_id":"[^"\\\\]*","turn_id":"[^"\\\\]*","item":{"type":"CommandExecution'
)
_ANSWER = 'message",(?:"status":"[^"\\\\]*",)?"id":"([^"\\\\]+)","role":"assistant'
_CALL = '(?:function|custom_tool)_call",(?:"(?:status|id|call_id|namespace)":"[^"\\\\]*",)*"name":"([^"\\\\]+)'
_BULK = re.compile(
    f'{{"timestamp":"({_TIME})",(?:"ordinal":(\\d{{1,15}}),)?"type":"(?:'
    f'response_item","payload":{{"type":"(?:{_CALL}|{_RESPONSES}|{_ANSWER})'
    f'|event_msg","payload":{{"type":"(?:({_COMMAND})|{_EVENTS})|{_RECORDS})"'.encode()
)
_START = b'{"timestamp":"'
_OUTPUT = b'"aggregated_output":'
_SKILL = b"SKILL.md"
_USERS = b'"user_shell"'

_KNOWN_RECORDS = frozenset({"session_meta", "compacted", *_RECORDS.split("|")})
_SPEAKS = re.compile("message|prompt", re.IGNORECASE)
_KNOWN = frozenset({"message", "agent_message", "user_message", "UserMessage", "AgentMessage", "HookPrompt"})

_EDITORS = (
    "Context from my IDE setup|Selected text|(?:Files|Applications) mentioned by the user|(?:Diff|Browser) comments"
    "|Response annotations|Failing PR checks|Chrome tabs|In app browser"
)
_WRAPPED = re.compile(rf"\s*# (?:{_EDITORS}):.*^## My request(?: for Codex)?:(.*)", re.DOTALL | re.MULTILINE)
_SHELL = re.compile(r"\s*<user_shell_command>\s*<command>\n?(.*?)\n?</command>\s*<result>", re.DOTALL)
_SKILL_NAME = re.compile(r"\s*<skill>\s*<name>(.*?)</name>")
_SKILL_FILE = re.compile(r"""(?:^|[/\s'"])skills/(?:[^/\s'"]+/)*?([^/\s'"]+)/SKILL\.md(?=$|[\s'"\\|;&)])""")
_LONGEST = 300  # characters in which a skill is looked for
_READS = re.compile(r"""\b(?:cat|head|tail|nl|less|more|bat|sed)[\s"',][^|;&>]{0,300}?SKILL\.md""")
_NO_PERSON = frozenset({"subagent", "memory_consolidation"})


class Piece(NamedTuple):
    """One thing that was said, called, edited or used.

    `text` is what was said, or a name or path. `channel` is the kind of record that told it, as another kind may tell
    it again; `turn` the turn it belongs to, where the record says so; `commentary` marks what is no final answer.
    A tuple, as there are many.
    """

    kind: Kind
    text: str
    id: str = ""
    turn: str = ""
    channel: str = ""
    commentary: bool = False
    time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """A file's own account of itself.

    `base` is the thread, or the part of one, that it continues, from before the record with the number `cut`; `parent`
    a thread whose records may be repeated in it.
    """

    id: str
    cwd: str
    branch: str
    parent: str
    base: str
    cut: int | None
    headless: bool
    subagent: bool


def bulk(line: bytes, known: Container[str]) -> re.Match[bytes] | None:
    """The beginning of a line that need not be parsed: its time, its number, and the name of the tool that it calls.

    `known` are the ids of answers that were told before. None for all other lines, also for those that are damaged or
    begin otherwise than they are known to.
    """
    seen = _BULK.match(line)
    if not seen or not line.endswith(b"}}\n") or line.find(_START, 1) > 0:
        return None
    match seen.lastindex:
        case 3:
            needed = not seen[2] and _SKILL in line
        case 4:
            needed = seen[4].decode(errors="replace") not in known
        case 5:
            told = line[seen.end() : line.find(_OUTPUT, seen.end())]
            needed = _SKILL in told or _USERS in told
        case _:
            needed = False
    return None if needed else seen


@lru_cache(256)
def called(tool: bytes) -> Piece:
    return Piece("tool", name(tool.decode(errors="replace")))


def origin(payload: Line) -> Meta:
    """What a `session_meta` tells. A fork that names its base repeats none of it."""
    source, base = table(payload, "source"), table(payload, "history_base")
    end = base.get("end_ordinal_exclusive")
    return Meta(
        id=string(payload, "id"),
        cwd=string(payload, "cwd"),
        branch=string(table(payload, "git"), "branch"),
        parent="" if base else string(payload, "forked_from_id"),
        base=string(base, "thread_id"),
        cut=end if isinstance(end, int) else None,
        headless=string(payload, "source") == "exec" or string(payload, "originator") == "codex_exec",
        subagent=string(payload, "thread_source") in _NO_PERSON or "subagent" in source or "internal" in source,
    )


def might_speak(line: Line) -> bool:
    """Whether somebody may be saying something in a record of a kind that is not known."""
    payload = table(line, "payload")
    if string(line, "type") not in ("event_msg", "response_item"):
        return string(line, "type") not in _KNOWN_RECORDS
    kind = string(table(payload, "item"), "type") or string(payload, "type")
    return kind not in _KNOWN and bool(_SPEAKS.search(kind))


# --- messages and calls --------------------------------------------------------------------------------------------


def response(payload: Line, *, numbered: bool) -> Iterator[Piece]:
    """What a `response_item` tells. In `numbered` files, commands are told once more, and better, by events."""
    kind = string(payload, "type")
    match kind, string(payload, "role"):
        case "message", "user":
            yield from _labelled(payload)
        case "message", "assistant":
            text = "\n\n".join(
                string(part, "text") for part in rows(payload, "content") if string(part, "text").strip()
            )
            yield _answer(payload, text, turn=string(_passthrough(payload), "turn_id"), channel="response")
        case (("function_call" | "custom_tool_call"), _):
            yield Piece(kind="tool", text=name(string(payload, "name")))
            if kind == "function_call" and not numbered:
                yield from _skills_read(string(payload, "arguments"))
        case _ if kind.endswith("_call"):
            yield Piece(kind="tool", text=name(kind.removesuffix("_call")))


def _labelled(message: Line) -> Iterator[Piece]:
    """The parts of a message whose kind is known; without kinds, nothing in it is taken for typed."""
    about = _passthrough(message)
    kinds, content = about.get("content_item_kinds"), message.get("content")
    if not isinstance(kinds, list) or not isinstance(content, list):
        return
    parts = [(kind, string(part, "text")) for kind, part in zip(kinds, content, strict=False) if isinstance(part, dict)]
    typed = _request("\n".join(text for kind, text in parts if kind == "user.text"))
    prompt = Piece(
        kind="prompt", text=typed, id=string(message, "id"), turn=string(about, "turn_id"), channel="response"
    )
    yield prompt
    for kind, text in parts:
        if kind == "shell.user_command" and (found := _SHELL.match(text)):
            yield prompt._replace(kind="shell", text=found[1].strip())
        if kind == "skills.selected_skill_instructions" and (found := _SKILL_NAME.match(text)):
            yield Piece(kind="skill", text=name(found[1].strip()))


def _passthrough(message: Line) -> Line:
    return table(message, "internal_chat_message_metadata_passthrough")


def _request(text: str) -> str:
    """What was typed; an editor puts what is open in it in front, and a heading between."""
    wrapped = _WRAPPED.match(text)
    return wrapped[1].strip() if wrapped else text


def _answer(line: Line, text: str, *, turn: str, channel: str) -> Piece:
    commentary = string(line, "phase") == "commentary"
    return Piece(kind="answer", text=text, id=string(line, "id"), turn=turn, channel=channel, commentary=commentary)


# --- events --------------------------------------------------------------------------------------------------------


def event(payload: Line) -> Iterator[Piece]:
    """What an `event_msg` tells."""
    match string(payload, "type"):
        case "user_message" if string(payload, "kind") in ("", "plain"):
            yield Piece(kind="prompt", text=_request(string(payload, "message")), channel="event")
        case "agent_message":
            yield _answer(payload, string(payload, "message"), turn="", channel="event")
        case "item_completed":
            yield from _item(table(payload, "item"), string(payload, "turn_id"))
        case "exec_command_end":
            yield from _command(payload, string(payload, "turn_id"))
        case "patch_apply_end" if flag(payload, "success"):
            yield from _edits(payload)


def _item(item: Line, turn: str) -> Iterator[Piece]:
    match string(item, "type"):
        case "UserMessage":
            text = "\n".join(string(part, "text") for part in rows(item, "content") if string(part, "type") == "text")
            yield Piece(kind="prompt", text=_request(text), id=string(item, "id"), turn=turn, channel="item")
            skills = (string(part, "name") for part in rows(item, "content") if string(part, "type") == "skill")
            yield from (Piece(kind="skill", text=name(skill)) for skill in skills)
        case "AgentMessage":
            text = "\n\n".join(string(part, "text") for part in rows(item, "content") if string(part, "text").strip())
            yield _answer(item, text, turn=turn, channel="item")
        case "CommandExecution":
            yield from _command(item, turn)
        case "FileChange" if string(item, "status") in ("", "completed"):
            yield from _edits(item)


def _edits(line: Line) -> Iterator[Piece]:
    return (Piece(kind="file", text=clean(path)) for path in table(line, "changes"))


def _command(line: Line, turn: str) -> Iterator[Piece]:
    """A shell command: the user's own, or the model's reading of a skill."""
    words = strings(line, "command")
    text = words[-1] if words else ""
    if string(line, "source") == "user_shell":
        yield Piece(kind="shell", text=text, id=string(line, "id"), turn=turn, channel="item")
    elif line.get("exit_code") in (0, None):
        reads = [
            string(part, "path")[-_LONGEST:] for part in rows(line, "parsed_cmd") if string(part, "type") == "read"
        ]
        yield from _skill_files(reads)
        yield from _skills_read(text)


def _skills_read(command: str) -> Iterator[Piece]:
    return _skill_files(found[0] for found in _READS.finditer(command))


def _skill_files(texts: Iterable[str]) -> Iterator[Piece]:
    for text in texts:
        yield from (Piece(kind="skill", text=name(found[1])) for found in _SKILL_FILE.finditer(text))
