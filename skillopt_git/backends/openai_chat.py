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
    called,
    count,
    json_schema,
    tables,
    word,
)
from skillopt_git.ports import Usage

# In whichever letters. What ended for another reason, or for none that is told, is no whole answer.
_ENDS: Mapping[str, End] = {
    **dict.fromkeys(("stop", "stop_sequence", "eos", "eos_token", "end_turn", "complete"), "done"),
    **dict.fromkeys(("tool_calls", "function_call"), "done"),
    **dict.fromkeys(("length", "max_tokens", "model_length"), "cut"),
    **dict.fromkeys(("content_filter", "sensitive", "safety", "refusal", "recitation"), "filtered"),
    **dict.fromkeys(("prohibited_content", "blocklist", "spii"), "filtered"),
}
_BROKEN_OFF = ("error", "network_error", "insufficient_system_resource", "abort", "timeout")


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
    reason = word(choice, "finish_reason").casefold()
    if reason in _BROKEN_OFF:
        return Refused(status=503, message=f"it broke off its answer: {reason}")
    refusal = word(message, "refusal")
    counted = data.get("usage")
    thoughts = word(message, "reasoning") or word(message, "reasoning_content")
    return Answer(
        text=_text(message.get("content")),
        tools=called([word(call, "name") for call in _calls(message)], question),
        end="filtered" if refusal else _ENDS.get(reason, "unfinished"),
        why=refusal or f"finish_reason: {reason or 'none'}",
        usage=usage(counted),
        model=word(data, "model") or question.model,
        thought=bool(thoughts) or count(counted, "completion_tokens_details", "reasoning_tokens") > 0,
    )


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return tables([call.get("function") for call in tables(message.get("tool_calls"))])


def _text(content: object) -> str:
    """Some servers give the text in parts."""
    if isinstance(content, str):
        return content
    return "".join(word(part, "text") for part in tables(content) if part.get("type") == "text")


def usage(data: object) -> Usage:
    return Usage(
        input_tokens=count(data, "prompt_tokens"),
        output_tokens=count(data, "completion_tokens"),
        cached_tokens=count(data, "prompt_tokens_details", "cached_tokens") or count(data, "prompt_cache_hit_tokens"),
    )
