"""A night's findings as one file, to be recorded and proposed by somebody who holds other keys than who learned.

What reads it trusts nothing in it: shape, size, paths, texts, and every verdict by the evidence that comes along.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from skillopt_git import schema
from skillopt_git.config import Config
from skillopt_git.consolidate import gate_settings, lint
from skillopt_git.errors import ConfigError, SafetyError, SkilloptError
from skillopt_git.history import is_ancestor
from skillopt_git.ids import canonical_json
from skillopt_git.learned import Learned
from skillopt_git.ledger import evidence_name
from skillopt_git.model import RECORD, RECORD_VERSION, Event, Evidence, EvidenceTask, Split, Verdict
from skillopt_git.pausing import noted
from skillopt_git.private import refuse_newer
from skillopt_git.recall import PROVEN
from skillopt_git.record import evidence_of
from skillopt_git.soundness import paired, sound, told_edit
from skillopt_git.stamp import Stamp
from skillopt_git.targets import Base, allowed, document_entry
from skillopt_git.verifying import recomputed
from skillopt_git.workshop import Workshop

LARGEST = 20_000_000  # bytes
MOST_DAYS = 3  # between learning and proposing
_RUN, _ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}"), re.compile(r"[0-9a-f]{16}")
SAID = frozenset({"run", "family", "trial", "gate", "aa", "proposed", "superseded", "expired", "frozen"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleBase:
    __pydantic_config__ = RECORD
    branch: str
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleCandidate:
    """What was tried: edits by id, and the evidence by its SHA-256."""

    __pydantic_config__ = RECORD
    document: str
    base_blob: str | None
    edits: tuple[str, ...]
    verdict: Verdict
    evidence: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleTask:
    """A task without its words."""

    __pydantic_config__ = RECORD
    id: str
    family: str | None
    needs: tuple[str, ...]
    split: Split | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Everything a night records, its page for people, and what it knew of its tasks."""

    __pydantic_config__ = RECORD
    v: int = RECORD_VERSION
    run: str
    simulated: bool
    base: BundleBase
    events: tuple[Event, ...]
    evidence: tuple[Evidence, ...]
    candidates: tuple[BundleCandidate, ...]
    report: str
    bank: tuple[BundleTask, ...]

    @property
    def proposed(self) -> tuple[Event, ...]:
        return tuple(event for event in self.events if event.type == "proposed")


def bundle_of(learned: Learned, events: tuple[Event, ...], base: Base, stamp: Stamp, report: str) -> Bundle:
    """What a night would record, with its page for people."""
    return Bundle(
        run=stamp.run,
        simulated=stamp.simulated,
        base=BundleBase(branch=base.branch, commit=base.commit),
        events=events,
        evidence=evidence_of(learned),
        candidates=tuple(
            BundleCandidate(
                document=item.document.path,
                base_blob=item.document.blob,
                edits=tuple(edit.id for edit in item.edits),
                verdict=item.verdict,
                evidence=evidence_name(item.evidence) if item.evidence else None,
            )
            for item in learned.candidates
        ),
        report=report,
        bank=tuple(
            BundleTask(id=task.id, family=task.family, needs=task.needs, split=task.split)
            for task in learned.known.tasks
        ),
    )


def bundle_text(bundle: Bundle) -> str:
    return canonical_json(schema.dump(bundle)) + "\n"


def read_bundle(path: Path) -> Bundle:
    """Raises `ConfigError` for what is no bundle of this version."""
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigError(f"{path} is larger than {LARGEST:,} bytes, which no night is")
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    refuse_newer(data, str(path))
    return schema.read(Bundle, data, where=str(path))


# --- the door ----------------------------------------------------------------------------------------------------


def refuse(bundle: Bundle, shop: Workshop, config: Config) -> None:
    """Raises `SafetyError` with all that is wrong with it. `shop` stands at the base as it is now, and `config` is the
    base's."""
    wrong = list(dict.fromkeys(_Checking(bundle, shop, config).problems()))
    if wrong:
        raise SafetyError("the bundle is not recorded:\n" + "\n".join(f"  {item}" for item in wrong))


@dataclass(frozen=True, slots=True)
class _Checking:
    bundle: Bundle
    shop: Workshop
    config: Config

    def problems(self) -> Iterator[str]:
        bundle, edit_budget = self.bundle, self.config.propose.edit_budget
        yield from self._names()
        evidence = {evidence_name(item): item for item in bundle.evidence}
        if len(bundle.proposed) > edit_budget:
            yield f"it proposes {len(bundle.proposed)} edits, and propose.edit_budget is {edit_budget}"
        for event in bundle.events:
            yield from self._event(event, evidence)
        for name, item in evidence.items():
            yield from self._evidence(name, item)
        yield from self._candidates(evidence)

    def _names(self) -> Iterator[str]:
        """Ids are of the form that this tool gives them, each once, and none is a known event with other words; the run
        is one of these days."""
        if _RUN.fullmatch(self.bundle.run) is None or abs(self._days()) > MOST_DAYS:
            yield "its run is none of these days"
        ids = [event.id for event in self.bundle.events]
        known = {event.id: event for event in noted(self.shop.ledger.events(), None)}
        if len(set(ids)) != len(ids) or not all(map(_ID.fullmatch, ids)):
            yield "its events have names that this tool gives to none"
        if any(event.id in known and known[event.id] != event for event in noted(self.bundle.events, None)):
            yield "it has events of its own under the names of others"
        if len({event.ts for event in self.bundle.events}) > 1:
            yield "its events are of several times"

    def _days(self) -> float:
        try:
            when = {datetime.fromisoformat(event.ts) for event in self.bundle.events}
            return max(((item - self.shop.stamp.now).total_seconds() / 86_400 for item in when), key=abs, default=0)
        except (ValueError, OverflowError, TypeError):
            return float("inf")

    def _event(self, event: Event, evidence: Mapping[str, Evidence]) -> Iterator[str]:
        bundle = self.bundle
        if event.type not in SAID:
            yield f"event {event.id} says '{event.type}', which no night says"
        elif not sound(event) or (event.run, event.simulated) != (bundle.run, bundle.simulated):
            yield f"event {event.id} ({event.type}) is not of this run, or not whole"
        elif event.data.get("ends") and event.type != "proposed":
            yield f"event {event.id} ({event.type}) ends others, which none of its kind does"
        elif event.type == "family":
            known = self.shop.everything().families.get(str(event.data["family"]))
            if known is not None and known.split != event.data["split"]:
                yield f"family {event.data['family']} is said to be {event.data['split']}, and is {known.split}"
        elif event.type == "gate":
            yield from self._ruling(event, evidence)
        elif event.type == "proposed":
            yield from self._ruling(event, evidence)
            yield from self._proposed(event)
        elif event.type == "aa":
            yield from self._control(event, evidence)
        elif event.type in ("superseded", "expired"):
            yield from self._ended(event)

    def _ruling(self, event: Event, evidence: Mapping[str, Evidence]) -> Iterator[str]:
        """The evidence for a verdict is there and about this edit; whether it gives the verdict is checked once."""
        name, verdict = event.data.get("evidence"), event.data["verdict"]
        found = evidence.get(str(name)) or (self.shop.ledger.evidence(str(name)) if name else None)
        if found is None:
            if name or verdict not in ("unverified", "ungated") or event.data.get("closed"):
                yield f"{event.edit} is called {verdict}, and there is no evidence for it"
            return
        about = (found.document, found.base_blob, found.verdict)
        if event.edit not in found.edits or about != (event.target, event.data["base_blob"], verdict):
            yield f"the evidence for {event.edit} is about something else"

    def _control(self, event: Event, evidence: Mapping[str, Evidence]) -> Iterator[str]:
        """One of each kind a night, with evidence of its own."""
        found = evidence.get(str(event.data["evidence"]))
        alike = [
            item for item in self.bundle.events if item.type == "aa" and item.data["control"] == event.data["control"]
        ]
        if found is None or (found.document, found.verdict) != (event.target, event.data["verdict"]) or len(alike) > 1:
            yield f"the control of the gate {event.id} is not what its evidence says"

    def _proposed(self, event: Event) -> Iterator[str]:
        edit, data, base = told_edit(event), event.data, self.shop.base
        refused = lint(edit)
        if refused is not None:
            yield f"{edit.id}: {refused}"
        off = self.config.gate.mode == "off"
        if data["verdict"] not in (("ungated",) if off else ("strong", "suggestive")):
            yield f"{edit.id} is {data['verdict']}, which is not proposed under the gate `{self.config.gate.mode}`"
        if event.rule != edit.rule or not set(data["ends"]) <= self._standing(str(data["branch"])):
            yield f"{edit.id} is not named by its rule, or takes the place of what it does not"
        if data.get("quotes") and not self.config.propose.quotes:
            yield f"{edit.id} quotes what was typed, and propose.quotes is off"
        if not allowed(edit.target):
            yield f"{edit.id} would be written to {edit.target!r}, which may not be written"
            return
        if data["base_branch"] != base.branch:
            yield f"{edit.id} is for the branch {data['base_branch']!r}, and proposals go to {base.branch}"
        elif self.shop.repo.resolve(data["base"]) is None or not is_ancestor(self.shop.repo, data["base"], base.commit):
            yield f"{edit.id} stands on a commit that {base.branch} does not have"
        else:
            yield from self._document(event, data["base"])

    def _standing(self, branch: str) -> set[str]:
        proposal = self.shop.everything().proposal(branch)
        return {item.event.id for item in proposal.edits} if proposal is not None else set()

    def _document(self, event: Event, commit: str) -> Iterator[str]:
        try:
            entry = document_entry(self.shop.repo, commit, str(event.target))
        except SkilloptError as error:
            yield error.message
            return
        if (entry.sha if entry else None) != event.data["base_blob"]:
            yield f"{event.edit} was measured on another text of {event.target} than {commit[:12]} has"

    def _ended(self, event: Event) -> Iterator[str]:
        """What this night's own rulings end: a draft whose trial is over, or that stands beside what is proven now."""
        rulings = [item for item in self.bundle.events if item.type == "gate"]
        own = any(item.edit == event.edit and item.target == event.target for item in rulings)
        proven = any(item.data["verdict"] in PROVEN for item in rulings)
        known = any(
            (item.branch, item.edit.id) == (event.data["branch"], event.edit)
            for proposal in self.shop.everything().proposals
            for item in proposal.pending
        )
        if not known or not (own or (event.type == "superseded" and (proven or self.bundle.proposed))):
            yield f"event {event.id} ends {event.edit}, and nothing in this night does"

    def _evidence(self, name: str, evidence: Evidence) -> Iterator[str]:
        splits = {task.id: task.split for task in self.bundle.bank}
        tonight = [row for row in evidence.tasks if row.night == self.bundle.run and not row.veto]
        learned_from = sorted({row.task for row in tonight if splits.get(row.task) != "val"})
        if learned_from:
            yield f"evidence {name[:12]} counts tasks that were not held out: {', '.join(learned_from[:5])}"
        ours = gate_settings(self.config.gate)
        if {key: evidence.settings.get(key) for key in ours} != ours or not self._by_the_right_rule(evidence):
            yield f"evidence {name[:12]} was judged by another gate than the base's"
        if not set(map(_counted, self._earlier(evidence))) <= self._counted_before(evidence):
            yield f"evidence {name[:12]} counts rollouts of earlier nights that the ledger does not have"
        if not paired(evidence):
            yield f"evidence {name[:12]} has rollouts that are no pairs"
            return
        verdict, differences = recomputed(evidence)
        if verdict != evidence.verdict or differences:
            told = differences[0] if differences else f"its rollouts give {verdict}, and it says {evidence.verdict}"
            yield f"evidence {name[:12]}: {told}"

    def _by_the_right_rule(self, evidence: Evidence) -> bool:
        """The gate `evidence` compares as `strict` does where measuring again gives the same."""
        same = evidence.numbers.get("deterministic") is True
        return (
            evidence.rule == "evidence"
            if self.config.gate.mode == "evidence" and not same
            else evidence.rule == "strict"
        )

    def _earlier(self, evidence: Evidence) -> Iterator[EvidenceTask]:
        return (row for row in evidence.tasks if row.night != self.bundle.run)

    def _counted_before(self, evidence: Evidence) -> set[tuple[object, ...]]:
        """The rollouts of these edits that the ledger holds already."""
        about = {*evidence.edits}
        names = {event.data.get("evidence") for event in self.shop.ledger.events() if event.edit in about}
        found = (self.shop.ledger.evidence(str(name)) for name in names if name)
        return {_counted(row) for item in found if item is not None for row in item.tasks}

    def _candidates(self, evidence: Mapping[str, Evidence]) -> Iterator[str]:
        told = {(edit, item.document, item.verdict) for item in self.bundle.candidates for edit in item.edits}
        for event in _gates(self.bundle.events):
            if (event.edit, event.target, event.data["verdict"]) not in told:
                yield f"{event.edit} has a ruling, and is no candidate of this night"
        for item in self.bundle.candidates:
            name = item.evidence
            if name is not None and name not in evidence and self.shop.ledger.evidence(name) is None:
                yield f"the evidence {name[:12]} of {', '.join(item.edits)} is missing"


def _counted(row: EvidenceTask) -> tuple[object, ...]:
    return row.task, row.night, row.base, row.cand


def _gates(events: Sequence[Event]) -> Iterator[Event]:
    return (event for event in events if event.type == "gate" and sound(event))
