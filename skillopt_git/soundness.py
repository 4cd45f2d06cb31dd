"""Whether an event can mean what its type says. What fails here was written by no version of this tool.

`data` is an open map: more keys are fine, but those that are read must be there and be what they claim. The ledger is
shared, so a forged event must not name a branch that is not the tool's, nor a file mode that is no file's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from skillopt_git.model import DocumentKind, Edit, EditOp, Event, EventType, Evidence, Metric, Split, Verdict
from skillopt_git.packed import fits

BRANCH = re.compile(r"sleep/\d{4}-\d\d-\d\d(-[1-9]\d{0,3})?")
_MACHINE = re.compile(r"[0-9a-f]{8}")
_SIMHASH = re.compile(r"[0-9a-f]{1,16}")
_MARK = re.compile(r"[0-9a-f]{16}")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_OPEN = {"extra": "ignore"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedData:
    __pydantic_config__ = _OPEN
    branch: str
    base_branch: str
    base: str
    base_blob: str | None
    mode: Literal["100644", "100755"]
    kind: DocumentKind
    position: int
    op: EditOp
    anchor: str | None
    need: str | None
    need_sessions: int
    verdict: Verdict
    why: str
    evidence: str | None
    baseline: float | None
    candidate: float | None
    night: int | None
    model: str
    optimizer: str
    judge: str
    metric: Metric
    rule: str
    version: str
    ends: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyData:
    __pydantic_config__ = _OPEN
    family: str
    needs: tuple[str, ...]
    split: Split
    tasks: tuple[str, ...]
    simhash: str
    machine: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateData:
    __pydantic_config__ = _OPEN
    verdict: Verdict
    subject: str
    base_blob: str | None
    model: str
    families: tuple[str, ...]
    why: str = ""
    trial: str | None = None
    evidence: str | None = None
    closed: bool = False
    parked: bool = False
    op: EditOp | None = None
    anchor: str | None = None
    need: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedData:
    __pydantic_config__ = _OPEN
    branch: str
    tip: str
    ends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeData:
    __pydantic_config__ = _OPEN
    branch: str
    need: str | None = None
    commit: str | None = None
    ends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    __pydantic_config__ = _OPEN
    verdict: Verdict | None
    reason: str
    sessions: int
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingData:
    __pydantic_config__ = _OPEN
    ends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlData:
    __pydantic_config__ = _OPEN
    control: Literal["null", "known"]
    need: str
    verdict: Verdict
    why: str
    evidence: str
    night: int | None
    edit: str | None = None


_SHAPES: dict[EventType, type] = {
    "run": RunData,
    "family": FamilyData,
    "proposed": ProposedData,
    "gate": GateData,
    "aa": ControlData,
    "published": PublishedData,
    "unrejected": EndingData,
    **dict.fromkeys(("adopted", "adopted-modified", "rejected", "superseded", "expired", "reverted"), OutcomeData),
}


def sound(event: Event) -> bool:
    """Whether it has a time and what its type needs, and names a branch of ours and the edit that it describes."""
    shape = _SHAPES.get(event.type)
    if not _timed(event) or not _listed(event) or (shape is not None and not fits(event.data, shape)):
        return False
    branch = event.data.get("branch")
    if event.type != "run" and branch is not None and not BRANCH.fullmatch(str(branch)):
        return False
    if event.type == "family":
        return _names_its_own(event)
    if event.type == "gate":
        return event.text is None or _words_its_edit(event)
    return _its_own_edit(event) if event.type == "proposed" else True


def paired(evidence: Evidence) -> bool:
    """Whether each rollout passed, failed or is missing, and has its like in the other arm."""
    for task in evidence.tasks:
        soft = [len(scores) for scores in (task.soft or {}).values()]
        if {len(task.base), len(task.cand), *soft} != {len(task.base)}:
            return False
        if not {0, 1, None}.issuperset((*task.base, *task.cand)):
            return False
    return True


def told_sessions(evidence: Evidence) -> tuple[str, ...]:
    """The marks of the sessions whose words a rule may be from. What is no mark is none of a session."""
    told = evidence.numbers.get("told")
    return tuple(filter(_marks, told)) if isinstance(told, list | tuple) else ()


def marked(evidence: Evidence) -> bool:
    """Whether it names sessions by their marks alone, for it is published."""
    told = evidence.numbers.get("told", [])
    return isinstance(told, list | tuple) and all(map(_marks, told))


def _marks(told: object) -> bool:
    return isinstance(told, str) and _MARK.fullmatch(told) is not None


def _listed(event: Event) -> bool:
    """Whether what is read of every type is a list of names where it is there."""
    return all(
        isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        for value in (event.data.get("ends", []), event.data.get("guard", []))
    )


def _timed(event: Event) -> bool:
    """Whether its time is one, with an offset."""
    try:
        return datetime.fromisoformat(event.ts).tzinfo is not None
    except ValueError:
        return False


def _names_its_own(event: Event) -> bool:
    """Whether a family's fingerprint and machine are of the form this tool gives them; older ones name no machine."""
    machine = event.data.get("machine")
    named = machine is None or _MACHINE.fullmatch(machine) is not None
    return named and _SIMHASH.fullmatch(event.data["simhash"]) is not None


def _words_its_edit(event: Event) -> bool:
    return event.data.get("op") is not None and event.edit == told_edit(event).id


def _its_own_edit(event: Event) -> bool:
    return event.edit == told_edit(event).id and _COMMIT.fullmatch(event.data["base"]) is not None


def told_edit(event: Event) -> Edit:
    """The edit that a `proposed` event holds, or a ruling that leaves a rule on trial."""
    op = event.data["op"]
    return Edit(
        op=op,
        target=event.target or "",
        anchor=event.data.get("anchor"),
        text=None if op == "delete" else event.text,
        reason=event.reason or "",
        need=event.data.get("need"),
    )
