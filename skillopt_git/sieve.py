"""Which of the edits that are proposed in a night may be tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt_git import edits
from skillopt_git.consolidate import lint
from skillopt_git.model import Candidate, Document, Edit, Task
from skillopt_git.recall import History, held_back, repeats
from skillopt_git.rulings import OnTrial
from skillopt_git.trials import on_trial_already


def proposable(candidates: Sequence[Candidate]) -> list[Edit]:
    """Tonight's edits that may go on a branch: proven, or as a draft."""
    return [
        edit
        for item in candidates
        if (item.accepted or item.verdict == "suggestive") and not item.drafted
        for edit in item.edits
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sieve:
    """What an edit must not repeat, clash with or be held back by. What does not pass is told in the three lists."""

    history: History
    model: str
    tasks: Sequence[Task]
    candidates: Sequence[Candidate]
    on_trial: Sequence[OnTrial]
    unmatched: list[tuple[Edit, str]]
    suppressed: list[tuple[Edit, str]]
    linted: list[tuple[Edit, str]]

    def fits(self, edit: Edit, document: Document, beside: Sequence[Edit]) -> bool:
        """Whether it may be tried: it changes something, gains no capability, and memory does not hold it back."""
        why = self._unmatched(edit, document, beside)
        refused = lint(edit) if why is None else None
        if refused is not None:
            if all(edit.rule != other.rule for other, _ in self.linted):
                self.linted.append((edit, refused))
            return False
        if why is None and self.suppresses(edit, document):
            return False
        why = why or self.clash(edit, document)
        if why is not None:
            self.unmatched.append((edit, why))
        return why is None

    def _unmatched(self, edit: Edit, document: Document, beside: Sequence[Edit]) -> str | None:
        """Why it would change nothing."""
        alone = edits.apply(document.text, [edit]).unmatched
        if alone:
            return alone[0][1]
        if edit.op != "add" and edits.only_guides(document.text, edit.anchor or ""):
            return "it is the file's guidance, which is written anew as a whole and judged by every task"
        tried = [other for item in self.candidates for other in item.edits]
        if any(repeats(edit, other) for other in (*tried, *beside)):
            return "the same rule was tried already tonight"
        return None

    def clash(self, edit: Edit, document: Document) -> str | None:
        """Why it does not go together with what is proposed for the document already, tonight or before."""
        pending = [item.edit for proposal in self.history.open for item in proposal.pending]
        others = (*pending, *proposable(self.candidates))
        before = [other for other in others if other.target == edit.target and other.id != edit.id]
        applied = edits.apply(document.text, [*before, edit])
        return next((f"beside what is proposed already: {why}" for it, why in applied.unmatched if it is edit), None)

    def suppresses(self, edit: Edit, document: Document) -> bool:
        """Whether memory, or a trial that goes on, holds it back."""
        families = self.families(edit)
        why = held_back(self.history, edit, base_blob=document.blob, model=self.model, families=families)
        why = why or on_trial_already(edit, self.on_trial)
        if why is not None:
            self.suppressed.append((edit, why))
        return why is not None

    def families(self, edit: Edit) -> frozenset[str]:
        """The families of the edit's need, also those that sit out tonight: a parked rule waits for another one."""
        return frozenset(task.family for task in self.tasks if edit.need in task.needs and task.family)
