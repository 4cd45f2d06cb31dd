"""Guidance: one line about a whole document, written from what came of the rules of many nights.

It is an edit like any other, in a block of its own: linted, judged by every held-out task, and held back once refused.
Its writer sees rules and figures from the ledger, and nothing of any session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from skillopt_git import edits
from skillopt_git.asking import Question, ask, fencing, request
from skillopt_git.config import Config
from skillopt_git.consolidate import GUIDANCE_LIMIT, Bench
from skillopt_git.doors import lasting
from skillopt_git.errors import ConfigError
from skillopt_git.model import GUIDANCE, RECORD, Document, Edit, Evidence
from skillopt_git.ports import CallFailed, Request
from skillopt_git.prompts import Prompts
from skillopt_git.recall import History, Proposed, told_refusals
from skillopt_git.reflection import sentence, why

MOST_SHOWN = 20  # rules, the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    __pydantic_config__ = RECORD
    text: str | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guided:
    """The guidance that is proposed, if any, or why there is none."""

    edit: Edit | None = None
    note: str = ""
    failure: CallFailed | None = None


EvidenceOf = Callable[[str], Evidence | None]


def foreseen(
    documents: Iterable[Document], history: History, evidence_of: EvidenceOf, config: Config, prompts: Prompts
) -> tuple[Request, ...]:
    """What would be asked tonight, in its longest form."""
    found = []
    for document in documents if due(history, config.replay.slow_update) else ():
        try:
            question = _question(document, history, evidence_of, told_refusals(history), config.propose.preferences)
        except ConfigError:
            continue
        found += [question] if question is not None else []
    return tuple(request(item, _Answer, prompts, firmer=lasting(history.nights)) for item in found)


def due(history: History, every: int) -> bool:
    """Whether this is a night for it: each time so many more were recorded."""
    return every > 0 and history.nights > 0 and history.nights % every == 0


def guide(document: Document, history: History, evidence_of: EvidenceOf, bench: Bench) -> Guided:
    """Asked only where some rule was ever tried on the document, and no other guidance of it is undecided."""
    try:
        edits.guidance(document.text)
    except ConfigError as error:
        return Guided(note=f"{document.path} gets no guidance: {error.message}")
    question = _question(document, history, evidence_of, bench.refused, bench.preferences)
    if question is None:
        return Guided()
    (heard,) = ask([question], _Answer, bench)
    if isinstance(heard.answer, CallFailed):
        return Guided(failure=heard.answer)
    if not (heard.answer.text or "").strip():
        return Guided()
    text = sentence(heard.answer.text or "")
    return Guided(
        edit=Edit(op="add", target=document.path, anchor=GUIDANCE, text=text, reason=why(heard.answer.reason))
    )


def _undecided(document: Document, history: History) -> bool:
    waiting = [item.edit for proposal in history.open for item in proposal.pending]
    waiting += [edit for item in history.on_trial for edit in item.edits]
    waiting += [item.edit for item in history.awaited]
    return any(edit.guides and edit.target == document.path for edit in waiting)


def _outcomes(document: Document, history: History, evidence_of: EvidenceOf) -> Iterator[str]:
    """Each rule that was proposed for the document: what became of it, and what its tasks gained; the newest last."""
    own = (item for proposal in history.proposals if proposal.simulated == history.simulated for item in proposal.edits)
    every = [item for item in own if item.edit.target == document.path]
    for item in sorted(every, key=lambda item: ((item.gate or item.event).run or "", item.edit.id)):
        evidence = evidence_of(item.evidence) if item.evidence else None
        gains = f"; tasks passed without and with it: {_gains(evidence)}" if evidence is not None else ""
        yield f'- {item.edit.op} "{item.edit.sentence}": {item.verdict}, {_fate(item, history)}{gains}'


def _fate(item: Proposed, history: History) -> str:
    if (item.branch, item.edit.id) in history.unlearned:
        return "reverted"
    return item.outcome.type if item.outcome is not None else "open"


def _gains(evidence: Evidence) -> str:
    """By task, without its name: how many of its rollouts passed in each arm."""
    totals: dict[str, Counter[str]] = {}
    for row in evidence.tasks:
        counts = totals.setdefault(row.task, Counter())
        counts["base"] += sum(filter(None, row.base))
        counts["cand"] += sum(filter(None, row.cand))
        counts["of"] += len(row.base)
    return ", ".join(f"{item['base']} and {item['cand']} of {item['of']}" for item in totals.values())


def _question(
    document: Document, history: History, evidence_of: EvidenceOf, turned_down: Sequence[str], preferences: str
) -> Question | None:
    """None where there is nothing to say yet. Raises `ConfigError` where the guidance that is there cannot be told."""
    told = list(_outcomes(document, history, evidence_of))[-MOST_SHOWN:]
    if not told or _undecided(document, history):
        return None
    outcomes, refused = "\n".join(told), "\n".join(turned_down)
    guidance = "\n".join(edits.guidance(document.text))
    fence = fencing([document.text, outcomes, refused, guidance])
    gated = Counter(item.verdict for item in history.refusals if item.target == document.path)
    words = {
        "path": document.path,
        "document": fence(document.text),
        "guidance": fence(guidance) if guidance else "",
        "outcomes": fence(outcomes),
        "refused": fence(refused) if refused else "",
        "gated": [{"verdict": verdict, "count": count} for verdict, count in sorted(gated.items())],
        "preferences": preferences,
        "limit": GUIDANCE_LIMIT,
    }
    return Question(purpose="guide", words=words)
