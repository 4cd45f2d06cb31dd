"""Trials: which of earlier nights go on tonight and why another does not, and what begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from skillopt_git import consolidate, pairing
from skillopt_git.consolidate import Bench
from skillopt_git.documents import Documents
from skillopt_git.judges import ruled
from skillopt_git.model import Candidate, Document, Edit, Evidence, Need, Task
from skillopt_git.pairing import GoingOn
from skillopt_git.recall import PROVEN, History, same_wish
from skillopt_git.rulings import OnTrial
from skillopt_git.training import Tryout

CHANGED = "its document, model, judge, prompts or gate changed, or what it was tried with"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """What trials need: tonight's documents and tasks, and what was recorded of those of earlier nights."""

    history: History
    documents: Sequence[Document]
    base: Documents
    golden: Sequence[Task]
    needs: Callable[[str], Need | None]
    held_out: Callable[[Need | None], Sequence[Task]]
    evidence_of: Callable[[str], Evidence | None]
    bench: Bench

    def further(self, notes: list[str], held: list[OnTrial]) -> Iterator[Candidate]:
        """Each trial with tonight's pairs, as soon as it has them. `held` gets those that stand on no branch and hold
        their wish back."""
        for item in self.history.on_trial:
            candidate = self._measured(item, notes, held)
            if candidate is not None:
                yield replace(candidate, drafted=item.branch is not None)

    def _measured(self, item: OnTrial, notes: list[str], held: list[OnTrial]) -> Candidate | None:
        document = next((known for known in self.documents if known.path == item.edits[0].target), None)
        evidence = self.evidence_of(item.evidence)
        need = self.needs(item.need)
        if document is None or evidence is None or evidence.rule != "evidence":
            return None
        if need is None and not item.edits[0].guides:
            return None
        going_on = GoingOn(item.trial, evidence)
        held_out = [task for task in self.held_out(need) if pairing.unseen(task, going_on.told)]
        primary = pairing.own(None if need is None else need.id, held_out)
        group = _in_order(item.edits, evidence)
        if group is None or not self._same(item, group, document, primary):
            if item.branch is not None:
                notes.append(f"{_named(item.edits)} is not measured further: {CHANGED}")
            return None
        if item.branch is None:
            if any(consolidate.lint(edit) for edit in group):  # the ledger is shared
                return None
            held.append(item)
        room = self.bench.by_pairs([*held_out, *self.golden]) and going_on.has_room(primary, self.bench.gate)
        if not room and (item.branch is not None or self._proven_open() or not primary):
            notes.append(f"{_named(item.edits)} waits for another task that needs it: its own were measured enough")
            return None
        return pairing.trial(
            group,
            document,
            self.base,
            held_out,
            golden=self.golden,
            rested=self.history.guarded,
            bench=self.bench,
            ended=0,
            going_on=going_on,
        )

    def _same(self, item: OnTrial, group: Sequence[Edit], document: Document, primary: Sequence[Task]) -> bool:
        """Whether the trial is about the same still. Where no task is left, any judge may have been its own."""
        judges = {ruled(primary)} if primary else {False, True}
        same = {consolidate.subject(group, document, self.bench, by_rubric=judge) for judge in judges}
        return item.ruling.data["subject"] in same

    def begun(self, item: Tryout, notes: list[str]) -> Candidate:
        """A group's first night at the gate; or a further one, where its trial was parked."""
        group, document, documents = item.group.edits, item.training.document, item.training.documents
        primary = pairing.own(group[0].need, item.held_out)
        subject = consolidate.subject(group, document, self.bench, by_rubric=ruled(primary))
        ended = self.history.ended_trials.get(subject, 0)
        if not self.bench.by_pairs([*item.held_out, *self.golden]):
            return consolidate.trial(
                group,
                document,
                documents,
                item.held_out,
                golden=self.golden,
                bench=self.bench,
                ended=ended,
                adds=item.group.adds,
            )
        going_on = _resumed(self.history, subject, self.evidence_of)
        if going_on is None and _begun(self.history, group):
            notes.append(f"{_named(group)} is measured anew: {CHANGED}")
        return pairing.trial(
            group,
            document,
            documents,
            item.held_out,
            golden=self.golden,
            rested=self.history.guarded,
            bench=self.bench,
            ended=ended,
            adds=item.group.adds,
            told=item.told,
            going_on=going_on,
        )

    def _proven_open(self) -> bool:
        """Whether what is on trial may stand on no branch now."""
        return any(item.verdict in PROVEN for proposal in self.history.open for item in proposal.pending)


def on_trial_already(edit: Edit, held: Sequence[OnTrial]) -> str | None:
    """Why an edit for a wish whose rule is on trial is not tried beside it."""
    other = next((other for item in held for other in item.edits if same_wish(other, edit)), None)
    return None if other is None else f"on trial already ({other.id}): '{other.sentence}'"


def _resumed(history: History, subject: str, evidence_of: Callable[[str], Evidence | None]) -> GoingOn | None:
    """The trial that the same edits have begun already, as when a rule that was parked is tried again."""
    ruling = history.unended.get(subject)
    evidence = evidence_of(str(ruling.data["evidence"])) if ruling else None
    if ruling is None or evidence is None or evidence.rule != "evidence":
        return None
    return GoingOn(str(ruling.data["trial"]), evidence)


def _begun(history: History, group: Sequence[Edit]) -> bool:
    """Whether an edit of these had a trial that did not end, of another subject then."""
    about = {(edit.id, edit.target) for edit in group}
    return any((ruling.edit, ruling.target) in about for ruling in history.unended.values())


def _in_order(group: Sequence[Edit], evidence: Evidence) -> tuple[Edit, ...] | None:
    """The edits in the order in which they were measured; None where they are not just those."""
    known = {edit.id: edit for edit in group}
    if known.keys() != set(evidence.edits):
        return None
    return tuple(known[name] for name in evidence.edits)


def _named(group: Sequence[Edit]) -> str:
    return " and ".join(f"'{edit.sentence}'" for edit in group)
