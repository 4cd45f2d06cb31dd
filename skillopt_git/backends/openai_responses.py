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
    called,
    count,
    json_schema,
    tables,
    word,
)
from skillopt_git.ports import Usage

_CUTS: Mapping[str, End] = {"max_output_tokens": "cut", "max_tokens": "cut", "content_filter": "filtered"}


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
    counted, reason = data.get("usage"), _reason(data.get("incomplete_details"))
    return Answer(
        text="".join(word(part, "text") for part in parts if part.get("type") == "output_text"),
        tools=called([word(item, "name") for item in items if item.get("type") == "function_call"], question),
        end="filtered" if refusal else _end(status, reason),
        why=refusal or f"status: {status or 'none'}{reason and f', {reason}'}",
        usage=usage(counted),
        model=word(data, "model") or question.model,
        thought=count(counted, "output_tokens_details", "reasoning_tokens") > 0,
    )


def _reason(details: object) -> str:
    return word(details, "reason") if isinstance(details, dict) else ""


def _end(status: str, reason: str) -> End:
    """An answer that is not complete is none, whatever keeps it from being so."""
    return "done" if status == "completed" else _CUTS.get(reason, "unfinished")


def usage(data: object) -> Usage:
    return Usage(
        input_tokens=count(data, "input_tokens"),
        output_tokens=count(data, "output_tokens"),
        cached_tokens=count(data, "input_tokens_details", "cached_tokens"),
    )
