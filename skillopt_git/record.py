"""What a night leaves: events and evidence in the ledger, bank, checkpoint and reports in the private folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from skillopt_git import __version__
from skillopt_git.controls import Control
from skillopt_git.families import Family
from skillopt_git.ids import Json, fold_unmarked
from skillopt_git.learned import Learned
from skillopt_git.ledger import evidence_name
from skillopt_git.model import Candidate, Edit, Event, Evidence, Sighting
from skillopt_git.redact import without_hex
from skillopt_git.similarity import simhash
from skillopt_git.stamp import Stamp, event
from skillopt_git.targets import Base

MOST_QUOTES, LONGEST_QUOTE = 3, 160  # of one rule, where they are to be published at all; characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What is proposed where: the branch, its base, how many edits it had before, and the new ones.

    `ends` names the `proposed` events that these take the place of, when the branch is rebuilt on a newer base.
    """

    branch: str
    base: Base
    before: int
    candidates: tuple[Candidate, ...]
    ends: tuple[str, ...] = ()


def evidence_of(learned: Learned) -> tuple[Evidence, ...]:
    tried = (item.evidence for item in learned.candidates if item.evidence is not None)
    return (*tried, *(item.evidence for item in learned.controls))


def events_of(learned: Learned, stamp: Stamp, placement: Placement | None, night: int) -> tuple[Event, ...]:
    """All a night says to the ledger. No placement: nothing is proposed, or what was accepted has to wait."""
    return (
        _run_event(learned, stamp, placement, night),
        *(_family_event(family, learned.known.machine, stamp) for family in learned.known.families),
        *(item for candidate in learned.candidates for item in _trial_events(candidate, learned, stamp, night)),
        *(_control_event(control, learned, stamp, night) for control in learned.controls),
        *(proposed_events(learned, stamp, placement, night) if placement else ()),
    )


def _run_event(learned: Learned, stamp: Stamp, placement: Placement | None, night: int) -> Event:
    harvest = learned.known.harvest
    data = {
        "night": None if stamp.simulated else night,
        "sessions": len(harvest.sessions) if harvest else 0,
        "tasks": len(learned.known.tasks),
        "reason": learned.reason,
        "verdict": learned.verdict,
        "accepted": len(learned.accepted),
        "branch": placement.branch if placement else None,
        "backend": learned.models.target.name,
        "model": learned.models.target.model,
        "baseline": learned.baseline,
        "candidate": learned.candidate,
        "tokens": learned.models.used.tokens,
        "cost_usd": learned.models.used.usd,
    }
    return event("run", stamp.run, stamp, data=data)


def _family_event(family: Family, machine: str, stamp: Stamp) -> Event:
    data: dict[str, Any] = {
        "family": family.id,
        "needs": list(family.needs),
        "split": family.split,
        "tasks": list(family.tasks),
        "simhash": f"{family.simhash:016x}",
    }
    if machine:
        data["machine"] = machine
    return event("family", family.id, stamp, data=data)


def _trial_events(candidate: Candidate, learned: Learned, stamp: Stamp, night: int) -> Iterator[Event]:
    """For each of its edits a ruling a night, and the trial in its first.

    A rule that stays on trial is told in words, so that other nights and clones can go on; one that was refused only by
    its id and fingerprint.
    """
    evidence = candidate.evidence
    data = {
        "trial": candidate.trial,
        "subject": candidate.subject,
        "need": candidate.edits[0].need,
        "base_blob": candidate.document.blob,
        "model": learned.models.target.model,
    }
    ruling = {
        **data,
        "verdict": candidate.verdict,
        "evidence": evidence_name(evidence) if evidence else None,
        "why": candidate.why,
        "night": None if stamp.simulated else night,
        "families": list(candidate.families),
        "guard": [task.task for task in evidence.tasks if task.part == "guard"] if evidence else [],
        "baseline": candidate.baseline,
        "candidate": candidate.candidate,
        "closed": candidate.closed,
        "parked": candidate.parked,
    }
    stays = candidate.verdict == "suggestive" and not candidate.closed
    for edit in candidate.edits:
        about: dict[str, Any] = {"edit": edit.id, "rule": edit.rule, "target": edit.target}
        subject: Json = candidate.trial or edit.id
        if len(candidate.edits) > 1:
            subject = [candidate.trial or "", edit.id]
        if candidate.trial is not None and not candidate.continued:
            yield event("trial", subject, stamp, data=data, **about)
        print_ = {"simhash": f"{simhash(edit.sentence):016x}"}
        words = {"op": edit.op, "anchor": edit.anchor} if stays else {}
        text = edit.sentence if stays else None
        yield event("gate", subject, stamp, text=text, data=ruling | print_ | words, **about)


def _control_event(control: Control, learned: Learned, stamp: Stamp, night: int) -> Event:
    evidence = control.evidence
    data = {
        "control": control.kind,
        "edit": control.edit,
        "need": control.need,
        "verdict": evidence.verdict,
        "why": control.why,
        "evidence": evidence_name(evidence),
        "model": learned.models.target.model,
        "night": None if stamp.simulated else night,
    }
    return event("aa", [control.kind, stamp.run], stamp, target=evidence.document, edit=control.edit, data=data)


def proposed_events(learned: Learned, stamp: Stamp, placement: Placement, night: int) -> Iterator[Event]:
    """One for each edit that is placed: what its commit is made of."""
    models = learned.models
    placed = [(candidate, edit) for candidate in placement.candidates for edit in candidate.edits]
    for position, (candidate, edit) in enumerate(placed, start=placement.before):
        data = {
            "branch": placement.branch,
            "base_branch": placement.base.branch,
            "base": placement.base.commit,
            "base_blob": candidate.document.blob,
            "mode": candidate.document.mode,
            "kind": candidate.document.kind,
            "position": position,
            "op": edit.op,
            "anchor": edit.anchor,
            "need": edit.need,
            "need_sessions": learned.known.sessions(edit.need),
            "verdict": candidate.verdict,
            "why": candidate.why,
            "evidence": evidence_name(candidate.evidence) if candidate.evidence else None,
            "baseline": candidate.baseline,
            "candidate": candidate.candidate,
            "night": None if stamp.simulated else night,
            "model": models.target.model,
            "optimizer": models.optimizer.model,
            "judge": candidate.evidence.judge if candidate.evidence else models.judge.name,
            "metric": learned.metric,
            "rule": candidate.evidence.rule if candidate.evidence else "strict",
            "version": __version__,
            "ends": list(placement.ends),
            **({"quotes": _quotes(edit, learned.known.bank.sightings)} if learned.quoted else {}),
        }
        yield event(
            "proposed",
            [placement.branch, edit.id],
            stamp,
            edit=edit.id,
            rule=edit.rule,
            target=edit.target,
            text=edit.sentence,
            reason=_unquoted(edit, learned.known.bank.sightings),
            data=data,
        )


def _quotes(edit: Edit, sightings: Iterable[Sighting]) -> list[str]:
    """The newest few things that were typed about it, in the redacted form that may be published."""
    heard = sorted((item for item in sightings if item.need == edit.need), key=lambda item: (str(item.time), item.turn))
    return [without_hex(item.quote)[:LONGEST_QUOTE] for item in heard[-MOST_QUOTES:]]


def _unquoted(edit: Edit, sightings: Iterable[Sighting]) -> str:
    """Why the edit was proposed, unless that repeats what somebody typed and is more than the rule: it is published."""
    reason, rule = fold_unmarked(edit.reason), fold_unmarked(edit.sentence)
    quotes = (fold_unmarked(item.quote).strip(" .,;:!?") for item in sightings)
    return "" if any(quote in reason and quote not in rule for quote in quotes if quote) else edit.reason
