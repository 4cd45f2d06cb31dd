"""What the held-out tasks score as a whole, under the base and under all that was accepted. Reported, and used for no
decision: where the budget has no room for it, it is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt_git import gate
from skillopt_git.config import Gate
from skillopt_git.consolidate import Replay
from skillopt_git.documents import Documents, with_accepted
from skillopt_git.errors import BudgetSpent
from skillopt_git.model import Candidate, Task
from skillopt_git.replay import Round


@dataclass(frozen=True, slots=True)
class Means:
    """A mean that was not measured is None; `notes` says why, where it is no matter of course."""

    gate: Gate
    replay: Replay
    candidates: Sequence[Candidate]
    base: Documents
    tonight: str  # begins the samples of this night
    notes: list[str]

    def held_out(self, val: Sequence[Task]) -> tuple[float | None, float | None]:
        """The means over all val tasks of the base and of all accepted edits together, measured anew where no trial
        tells them. With the gate off nothing is measured."""
        if self.gate.mode == "off" or not val:
            return None, None
        baseline, accepted = self._baseline(val), self._accepted
        if not accepted:
            return baseline, None
        if len(accepted) == 1 and _all(accepted[0], val):
            return baseline, accepted[0].candidate
        together = self._mean("all accepted edits together", val, self._taught, f"{self.tonight}/together")
        if baseline is not None and together is not None and together <= baseline:
            self.notes.append(
                "each accepted edit helps alone, but all of them together do not: look at them one by one"
            )
        return baseline, together

    def test(self, tasks: Sequence[Task]) -> None:
        """The test split, scored once, on the final text."""
        if tasks and self._accepted:
            mean = self._mean("the test tasks", tasks, self._taught, f"{self.tonight}/test")
            told = "not measured" if mean is None else f"{mean:.2f} on {len(tasks)}"
            self.notes.append(f"test tasks under the accepted edits, used for no decision: {told}")

    @property
    def _accepted(self) -> list[Candidate]:
        return [item for item in self.candidates if item.accepted]

    @property
    def _taught(self) -> Documents:
        return with_accepted(self.base, self.candidates)

    def _baseline(self, val: Sequence[Task]) -> float | None:
        """From a trial on the base itself: the memory's trials have the skill's accepted edits under them."""
        taught = any(item.accepted and item.document.kind == "skill" for item in self.candidates)
        for item in self.candidates:
            on_base = item.document.kind == "skill" or not taught
            if on_base and item.baseline is not None and _all(item, val):
                return item.baseline
        return self._mean("the base", val, self.base, "")

    def _mean(self, what: str, tasks: Sequence[Task], documents: Documents, sample: str) -> float | None:
        try:
            (rollouts,) = self.replay([Round(tasks, documents, sample)])
        except BudgetSpent as spent:
            self.notes.append(f"the mean of {what} was not measured: {spent.message}")
            return None
        return gate.mean([item.score for item in rollouts], self.gate)


def _all(candidate: Candidate, val: Sequence[Task]) -> bool:
    """Whether its trial measured every one of them."""
    return {pair.task for pair in candidate.pairs} == {task.id for task in val}
