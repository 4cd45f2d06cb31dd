"""What to write into a document for one need: the question to the optimizer, and the edits in its answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from skillopt_git import edits, guard
from skillopt_git.asking import SHOWN_TEXT, Question, ask, fencing
from skillopt_git.checks import check, described
from skillopt_git.config import Gate
from skillopt_git.consolidate import Bench
from skillopt_git.judges import remarks
from skillopt_git.lessons import Attempts, Lessons, worth
from skillopt_git.model import RECORD, Document, Edit, EditOp, Need, Task
from skillopt_git.ports import CallFailed, Reflected, Reply
from skillopt_git.redact import find_secrets, without_hex
from skillopt_git.replay import Rollout

SHOWN_ANSWER = 800  # characters of an answer
REASON_LIMIT = 300
MOST_EDITS = 20  # of an answer: few are asked for, and each that is looked at takes its time
BY_JUDGE = "pleases a judge who knows what the user wished for"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposed:
    __pydantic_config__ = RECORD
    op: EditOp = "add"
    text: str | None = None
    anchor: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    __pydantic_config__ = RECORD
    edits: tuple[_Proposed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """The edits proposed for a need, or why there are none; `reply` is the optimizer's answer as it came."""

    need: Need
    edits: tuple[Edit, ...] = ()
    failure: CallFailed | None = None
    reply: str = ""


def reflect(need: Need, lessons: Lessons, document: Document, *, bench: Bench) -> Reflection:
    """Ask for edits. All of `lessons` is shown."""
    question = Question(purpose="reflect", words=_words(need, lessons, document, bench))
    (heard,) = ask([question], _Answer, bench)
    if isinstance(heard.answer, CallFailed):
        return Reflection(need=need, failure=heard.answer, reply=heard.text)
    found = tuple(_edit(item, need, document) for item in heard.answer.edits[:MOST_EDITS])
    bench.notify(Reflected(document.path, need.text, len(found)))
    return Reflection(need=need, edits=found, reply=heard.text)


# --- the question ------------------------------------------------------------------------------------------------


def _words(need: Need, lessons: Lessons, document: Document, bench: Bench) -> Mapping[str, object]:
    refused = "\n".join(bench.refused)
    failing = [_failed(item, bench.gate) for item in lessons.failing]
    passing = [{"ask": _ask(item.task), "answer": _said(item.rollouts[-1])} for item in lessons.passing]
    alike = [_ask(task) for task in lessons.alike]
    foreign = [text for item in (*failing, *passing) for key, text in item.items() if key in _FOREIGN]
    fence = fencing([need.text, document.text, refused, *foreign, *alike])

    def fenced(told: Mapping[str, str]) -> dict[str, str]:
        return {key: fence(text) if key == "ask" or (text and key in _FOREIGN) else text for key, text in told.items()}

    return {
        "path": document.path,
        "wish": fence(need.text),
        "contract": contract(item.task for item in (*lessons.failing, *lessons.passing)),
        "tasks": [fenced(item) for item in failing],
        "passing": [fenced(item) for item in passing],
        "alike": [fence(text) for text in alike],
        "document": fence(document.text),
        "refused": fence(refused) if refused else "",
        "preferences": bench.preferences,
    }


_FOREIGN = frozenset({"ask", "said", "answer", "better"})  # what others wrote


def _failed(item: Attempts, rules: Gate) -> dict[str, str]:
    """A task that came out wrong: by what kind of thing, and beside its worst answer a better one, if there is one."""
    worst, best = item.rollouts[0], item.rollouts[-1]
    better = best if worth(best, rules) > worth(worst, rules) else None
    return {
        "ask": _ask(item.task),
        "missed": "; ".join(_missed(worst)),
        "said": "; ".join(remarks(worst.score)) if worst.score else "",
        "answer": _said(worst),
        "better": _said(better) if better else "",
    }


def _missed(rollout: Rollout) -> list[str]:
    reply = rollout.reply
    failed = (item for item in rollout.task.checks if isinstance(reply, Reply) and not check(item, reply))
    return list(dict.fromkeys(described(item) for item in failed))


def contract(tasks: Iterable[Task]) -> tuple[str, ...]:
    """What answers have to be like, in kind: what exactly is looked for is told to nobody who words rules."""
    kinds = [kind for task in tasks for kind in (*map(described, task.checks), *((BY_JUDGE,) if task.rubric else ()))]
    return tuple(dict.fromkeys(kinds))


def _ask(task: Task) -> str:
    return task.ask[:SHOWN_TEXT]


def _said(rollout: Rollout) -> str:
    return rollout.reply.text[:SHOWN_ANSWER] if isinstance(rollout.reply, Reply) else ""


# --- the answer --------------------------------------------------------------------------------------------------


def _edit(item: _Proposed, need: Need, document: Document) -> Edit:
    return Edit(
        op=item.op,
        target=document.path,
        anchor=None if item.op == "add" or item.anchor is None else guard.one_line(item.anchor),
        text=None if item.op == "delete" or item.text is None else sentence(item.text),
        reason=why(item.reason),
        need=need.id,
    )


def sentence(text: str) -> str:
    """A rule as it will stand in the document. One that is refused stays as it came: folded, it might pass."""
    return text if edits.refusal(text) else edits.one_line(guard.one_line(text))


def why(text: str) -> str:
    """A reason as it is published: one short line, without secrets and the private part of a redaction mark."""
    return "" if find_secrets(text) else without_hex(guard.one_line(text))[:REASON_LIMIT]
