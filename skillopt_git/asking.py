"""Questions to the optimizer that are answered in JSON, and what all of them have in common.

What others wrote stands in fences. An answer that cannot be read is asked for once more, firmly; then it is a failed
call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from skillopt_git import guard
from skillopt_git.errors import ConfigError
from skillopt_git.ids import digest
from skillopt_git.ports import Backend, CallFailed, Purpose, Request
from skillopt_git.prompts import Prompts
from skillopt_git.schema import form, read

LONGEST_ANSWER = 4_096  # tokens
LONGEST_TEXT = 100_000  # characters of an answer, far more than so many tokens say: beyond them nothing is read
SHOWN_TEXT = 1_500  # characters of an ask

T = TypeVar("T")


class Asker(Protocol):
    """Who asks: whom, in which words, and what begins the samples of what each night asks anew."""

    @property
    def optimizer(self) -> Backend: ...
    @property
    def prompts(self) -> Prompts: ...
    @property
    def tonight(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`words` are what the template of that name says."""

    purpose: Purpose
    words: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard(Generic[T]):
    """`answer` is what was asked for, or why there is none; `text` is what was said, as it came."""

    answer: T | CallFailed
    text: str = ""


def fencing(texts: Iterable[str]) -> Callable[[str], str]:
    """Puts texts, of these, into fences. Their mark is a hash of them all, so that the same question is the same
    request; no text can be made to hold it."""
    nonce = digest(*texts)
    return lambda text: guard.fence(text, nonce)


def ask(questions: Sequence[Question], type_: type[T], asker: Asker) -> list[Heard[T]]:
    """What the optimizer answers to each, all asked at once."""
    heard = _asked(questions, type_, asker)
    unread = [
        at for at, item in enumerate(heard) if isinstance(item.answer, CallFailed) and item.answer.kind == "schema"
    ]
    for at, item in zip(unread, _asked([questions[at] for at in unread], type_, asker, asker.tonight), strict=True):
        heard[at] = item if item.text else Heard(answer=item.answer, text=heard[at].text)
    return heard


def _asked(questions: Sequence[Question], type_: type[T], asker: Asker, firmer: str = "") -> list[Heard[T]]:
    requests = [request(item, type_, asker.prompts, firmer=firmer) for item in questions]
    replies = asker.optimizer.complete(requests) if requests else ()
    return [
        Heard(answer=reply)
        if isinstance(reply, CallFailed)
        else Heard(answer=_read(reply.text, type_), text=reply.text)
        for reply in replies
    ]


def request(question: Question, type_: Any, prompts: Prompts, *, firmer: str = "") -> Request:
    """`firmer`: it is asked a second time, in the night that this word stands for."""
    return Request(
        role="optimizer",
        purpose=question.purpose,
        ask=prompts(question.purpose, **question.words, firmer=bool(firmer)),
        max_tokens=LONGEST_ANSWER,
        # A bad answer stays in the cache; with a sample of its own the second question is asked anew every night.
        sample=f"{firmer}/firmer" if firmer else "",
        schema=form(type_),
    )


def _read(text: str, type_: type[T]) -> T | CallFailed:
    """The JSON in an answer, whatever stands around it. Never raises."""
    start, end = text.find("{"), text.rfind("}")
    if len(text) > LONGEST_TEXT:
        return CallFailed("schema", f"the optimizer's answer is longer than {LONGEST_TEXT:,} characters")
    try:
        return read(type_, text[start : end + 1].encode(errors="replace"), where="the answer")
    except ConfigError:
        return CallFailed("schema", "the optimizer's answer is not the JSON it was asked for")
