"""The Chat Completions API, which nearly every server speaks."""

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

_ENDS: Mapping[str, End] = {
    "length": "cut",
    "content_filter": "filtered",
    "sensitive": "filtered",
}
_BROKEN_OFF = ("error", "insufficient_system_resource")


def body(question: Question) -> dict[str, Any]:
    system, user = question.spoken.system, question.spoken.user
    asked: dict[str, Any] = {
        "model": question.model,
        "messages": [{"role": "system", "content": system}] * bool(system) + [{"role": "user", "content": user}],
        "max_completion_tokens" if question.at_home else "max_tokens": question.most,
    }
    if question.tools:
        asked["tools"] = [
            {"type": "function", "function": {"name": name, "parameters": OPEN}} for name in question.tools
        ]
    if question.schema is not None:
        asked["response_format"] = {"type": "json_schema", "json_schema": json_schema(question.schema)}
    if question.temperature is not None:
        asked["temperature"] = question.temperature
    return asked


def answer(data: Mapping[str, Any], question: Question) -> Answer | Refused | None:
    """None where it is nothing that this API says."""
    choice = next(iter(tables(data.get("choices"))), {})
    message = choice.get("message")
    if not isinstance(message, dict):
        return None
    reason = word(choice, "finish_reason")
    if reason in _BROKEN_OFF:
        return Refused(status=503, message=f"it broke off its answer: {reason}")
    refusal = word(message, "refusal")
    usage = data.get("usage")
    thoughts = word(message, "reasoning") or word(message, "reasoning_content")
    return Answer(
        text=_text(message.get("content")),
        tools=named([word(call, "name") for call in _calls(message)], question),
        end="filtered" if refusal else _ENDS.get(reason, "done"),
        why=refusal,
        usage=_usage(usage),
        model=word(data, "model") or question.model,
        thought=bool(thoughts) or count(usage, "completion_tokens_details", "reasoning_tokens") > 0,
    )


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return tables([call.get("function") for call in tables(message.get("tool_calls"))])


def _text(content: object) -> str:
    """Some servers give the text in parts."""
    if isinstance(content, str):
        return content
    return "".join(word(part, "text") for part in tables(content) if part.get("type") == "text")


def _usage(data: object) -> Usage:
    return Usage(
        input_tokens=count(data, "prompt_tokens"),
        output_tokens=count(data, "completion_tokens"),
        cached_tokens=count(data, "prompt_tokens_details", "cached_tokens") or count(data, "prompt_cache_hit_tokens"),
    )
