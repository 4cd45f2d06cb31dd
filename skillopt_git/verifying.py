"""Whether a proposal's verdicts follow from the evidence recorded for them: recomputed, with no model and no key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from math import isclose

from skillopt_git import gate, pairing, weighing
from skillopt_git.config import Gate
from skillopt_git.errors import GitError, SkilloptError
from skillopt_git.model import Evidence, EvidenceTask, Pair, Score, Verdict
from skillopt_git.packed import fits
from skillopt_git.recall import Proposal, Proposed

EvidenceOf = Callable[[str], Evidence | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One edit: the verdict that is recorded, the one that its evidence gives (None where there is none), and what is
    wrong."""

    edit: str
    rule: str
    text: str
    target: str
    recorded: str
    found: Verdict | None
    problems: tuple[str, ...]


def verify(proposal: Proposal, evidence_of: EvidenceOf) -> tuple[Checked, ...]:
    """Every edit of the proposal, in the order of its commits."""
    return tuple(_checked(item, evidence_of) for item in proposal.edits)


def _checked(item: Proposed, evidence_of: EvidenceOf) -> Checked:
    recorded, name = item.verdict, item.evidence
    found: Verdict | None = None
    try:
        evidence = evidence_of(str(name)) if name else None
        problems = list(_about(item, evidence)) if evidence else [_missing(recorded, name)]
        if evidence:
            found, told = recomputed(evidence)
            problems += (
                told if found == recorded else [f"the evidence gives {found}, and {recorded} is recorded", *told]
            )
    except SkilloptError as error:
        problems = [error.message]
    return Checked(
        edit=item.edit.id,
        rule=item.edit.rule,
        text=item.edit.sentence,
        target=item.edit.target,
        recorded=recorded,
        found=found,
        problems=tuple(filter(None, problems)),
    )


def _missing(recorded: str, name: object) -> str:
    if name:
        return f"evidence {name} is not in this ledger: `skillopt-git ledger fetch` may bring it"
    return "" if recorded == "ungated" else "no evidence is recorded for it"


def _about(item: Proposed, evidence: Evidence) -> Iterator[str]:
    data = item.event.data
    if item.edit.id not in evidence.edits:
        yield f"the evidence is about {', '.join(evidence.edits)}"
    if (evidence.document, evidence.base_blob) != (item.edit.target, data["base_blob"]):
        yield "the evidence is about another document, or another text of it"


def recomputed(evidence: Evidence) -> tuple[Verdict, list[str]]:
    """The verdict that the rollouts give under the recorded settings, and which recorded figures differ."""
    rules = settings_of(evidence.settings)
    if evidence.rule == "evidence":
        primary, guard = pairing.parts(evidence.tasks)
        weighed = weighing.weigh(primary, guard, gate=rules, nights=len({task.night for task in evidence.tasks}))
        return weighed.verdict, _differences(evidence.numbers, weighed.numbers)
    beside = evidence.numbers.get("golden", [])
    guards = set(beside) if isinstance(beside, list) else set()
    pairs = {task.task: _pair(task) for task in evidence.tasks}
    decision = gate.strict(
        [pair for name, pair in pairs.items() if name not in guards],
        gate=rules,
        deterministic=evidence.numbers.get("deterministic") is True,
        golden=[pairs[task.task] for task in evidence.tasks if task.veto or task.task in guards],
    )
    numbers = {"baseline": decision.baseline, "candidate": decision.candidate}
    return decision.verdict, _differences(evidence.numbers, numbers)


def settings_of(recorded: Mapping[str, object]) -> Gate:
    """The gate that was in force; a setting that is not recorded had its default. Raises `GitError` for a false one."""
    known = {item.name: recorded[item.name] for item in fields(Gate) if item.name in recorded}
    if not fits(known, Gate):
        raise GitError("the settings in the evidence are no settings of a gate", "somebody changed the ledger")
    return Gate(**known)  # type: ignore[arg-type]


def _pair(task: EvidenceTask) -> Pair:
    soft = task.soft or {}
    return Pair(
        task=task.task,
        family=task.family,
        need=task.need,
        base=_score(task.base, soft.get("base", ())),
        cand=_score(task.cand, soft.get("cand", ())),
    )


def _score(hard: tuple[int | None, ...], soft: tuple[float | None, ...]) -> Score | None:
    """Of the one rollout that the strict gate looks at; None where it is missing."""
    if not hard or hard[0] is None:
        return None
    told = soft[0] if soft and soft[0] is not None else float(hard[0])
    return Score(hard=float(hard[0]), soft=told)


def _differences(recorded: Mapping[str, object], found: Mapping[str, object]) -> list[str]:
    return [
        f"{name} is recorded as {recorded.get(name)}, and the rollouts give {value}"
        for name, value in found.items()
        if not _same(recorded.get(name), value)
    ]


def _same(one: object, other: object) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other
