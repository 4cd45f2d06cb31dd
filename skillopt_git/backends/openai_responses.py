"""The Responses API, which OpenAI and Azure speak, and of other servers some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillopt_git.backends.openai_words import (
    OPEN,
    Answer,
    End,
    Question,
    Refused,
    count,
    json_schema,
    named,
    tables,
    word,
)
from skillopt_git.ports import Usage

_ENDS: Mapping[str, End] = {"max_output_tokens": "cut", "max_tokens": "cut", "content_filter": "filtered"}


def body(question: Question) -> dict[str, Any]:
    """Nothing of it is to be kept by the server (`store`)."""
    asked: dict[str, Any] = {
        "model": question.model,
        "input": question.spoken.user,
        "max_output_tokens": question.most,
        "store": False,
    }
    if question.spoken.system:
        asked["instructions"] = question.spoken.system
    if question.tools:
        asked["tools"] = [
            {"type": "function", "name": name, "parameters": OPEN, "strict": False} for name in question.tools
        ]
    if question.schema is not None:
        asked["text"] = {"format": {"type": "json_schema", **json_schema(question.schema)}}
    if question.temperature is not None:
        asked["temperature"] = question.temperature
    return asked


def answer(data: Mapping[str, Any], question: Question) -> Answer | Refused | None:
    """None where it is nothing that this API says."""
    if not isinstance(data.get("output"), list):
        return None
    status = word(data, "status")
    if status in ("failed", "cancelled"):
        return Refused(status=503, message=f"its answer is {status}")
    items = tables(data["output"])
    parts = [part for item in items if item.get("type") == "message" for part in tables(item.get("content"))]
    refusal = "".join(word(part, "refusal") for part in parts)
    usage = data.get("usage")
    return Answer(
        text="".join(word(part, "text") for part in parts if part.get("type") == "output_text"),
        tools=named([word(item, "name") for item in items if item.get("type") == "function_call"], question),
        end="filtered" if refusal else _end(status, data.get("incomplete_details")),
        why=refusal,
        usage=_usage(usage),
        model=word(data, "model") or question.model,
        thought=count(usage, "output_tokens_details", "reasoning_tokens") > 0,
    )


def _end(status: str, details: object) -> End:
    """An answer that is not complete is none, whatever kept it from being so."""
    if status != "incomplete":
        return "done"
    return _ENDS.get(word(details, "reason"), "cut") if isinstance(details, dict) else "cut"


def _usage(data: object) -> Usage:
    return Usage(
        input_tokens=count(data, "input_tokens"),
        output_tokens=count(data, "output_tokens"),
        cached_tokens=count(data, "input_tokens_details", "cached_tokens"),
    )
