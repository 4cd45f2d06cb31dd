"""What both APIs of OpenAI have in common: how one is asked, what an answer says, and how servers refuse.

Many servers speak these APIs a little differently. What is needed of an answer is looked for; what else it holds, or
lacks, does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from skillopt_git.doors import Spoken
from skillopt_git.ports import Usage

Api: TypeAlias = Literal["chat", "responses"]
End: TypeAlias = Literal["done", "cut", "filtered", "unfinished"]

THINKING_ROOM = 8_192  # tokens on top of those of the answer, for a model that thinks before it
OPEN = {"type": "object", "properties": {}, "additionalProperties": True}  # any arguments: nobody looks at them


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Who is asked, and how. `at_home`: OpenAI or Azure itself, not somebody who speaks as they do."""

    host: str
    api: Api
    at_home: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request as this server is to hear it. `tools` are the names of tools by how they are called on the wire."""

    model: str
    spoken: Spoken
    tools: Mapping[str, str] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    most: int
    roomy: bool = False  # whether `most` has room for thoughts
    temperature: float | None = None
    at_home: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model said. `thought`: it thought first, which counts as output. `why`: in whose words it was filtered, or
    what the server says of an answer that it did not finish."""

    text: str
    tools: tuple[str, ...]
    end: End
    usage: Usage
    model: str
    thought: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A server's refusal, in its words; `code` are its own names for it, `usage` is what it counts for it."""

    status: int
    message: str
    code: str = ""
    usage: Usage | None = None


# --- asking ------------------------------------------------------------------------------------------------------


def wire_names(tools: Iterable[str]) -> dict[str, str]:
    """Names of tools by what may stand on the wire: letters, digits, `_` and `-`, 64 of them at most."""
    named: dict[str, str] = {}
    for tool in tools:
        named.setdefault(re.sub(r"[^a-zA-Z0-9_-]", "_", tool)[:64] or "_", tool)
    return named


def json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": "answer", "schema": dict(schema), "strict": strictly(schema)}


# What the strict mode takes everywhere. It makes sure of the form; the other one only asks for it.
_STRICT_WORDS = frozenset(
    "$defs $ref additionalProperties anyOf const description enum items properties required".split()
)


def strictly(schema: Mapping[str, Any]) -> bool:
    """Whether the strict mode takes a schema: every object is closed and needs all it names."""
    named = schema.get("properties", {})
    closed = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(named)
    below = [*named.values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ())]
    below += [schema["items"]] if "items" in schema else []
    known = schema.keys() <= _STRICT_WORDS | {"type", "title"}
    return known and (closed or schema.get("type") != "object") and all(map(strictly, below))


# --- what came ---------------------------------------------------------------------------------------------------


def count(data: object, *path: str) -> int:
    """The number at a place, 0 where there is none."""
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, int) and data > 0 else 0


def word(data: Mapping[str, Any], name: str) -> str:
    """The text of that name, "" where there is none."""
    found = data.get(name)
    return found if isinstance(found, str) else ""


def tables(data: object) -> list[dict[str, Any]]:
    """The objects of a list, as far as it is one."""
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


def called(tools: Sequence[str], question: Question) -> tuple[str, ...]:
    return tuple(question.tools.get(tool, tool) for tool in tools)


# A model's thoughts before its answer, where the server does not take them out. The beginning of the thoughts may
# stand in what the model was given: then only their end is seen, on a line of its own.
_THOUGHTS = re.compile(r"(?sm)(?:\s*<think>.*?(?:</think>|\Z)|(?:(?!<think>).)*?^</think>[ \t]*$)\s*")


def without_thoughts(text: str) -> str:
    thoughts = _THOUGHTS.match(text)
    return text[thoughts.end() :] if thoughts else text


# How MiniMax refuses, under a status of 200: what its numbers mean among the statuses of HTTP, and in words.
_STATUSES = {
    **dict.fromkeys((1000, 1013, 1024, 1033), 500),
    **dict.fromkeys((1002, 1041), 429),
    **dict.fromkeys((1004, 2049), 401),
    1001: 408,
    1008: 402,
}
_CODES = {1026: "content_filter", 1027: "content_filter", 1039: "context_length"}
_WORDS = {"rate_limit_exceeded": 429, "server_error": 500}


def fault(data: object) -> Refused | None:
    """The refusal in what came as an answer; None where there is none."""
    match data:
        case {"error": str(message)} if message:
            return Refused(status=400, message=message)
        case {"error": {"message": str(message), **rest}}:
            code = rest.get("code")
            return Refused(status=_status(code), message=message, code=f"{code} {rest.get('type')}")
        case {"base_resp": {"status_code": int(number), "status_msg": str(message)}} if number:
            return Refused(status=_status(number), message=message, code=_CODES.get(number, ""))
        case _:
            return None


def _status(code: object) -> int:
    if isinstance(code, int):
        return code if 400 <= code < 600 else _STATUSES.get(code, 400)
    return _WORDS.get(str(code), 400)
