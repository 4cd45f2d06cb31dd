"""What the training tasks tell of proposed edits before any held-out task is asked: which of them belong together, and
which come first.

Nothing here is evidence. Training tasks worded the rules, so they only spare the gate what is not worth its price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skillopt_git import edits, gate
from skillopt_git.consolidate import Bench
from skillopt_git.documents import Documents, under
from skillopt_git.model import Document, Edit, Need, Task
from skillopt_git.replay import Round


@dataclass(frozen=True, slots=True)
class Group:
    """Edits that are tried together; `adds` tells, by edit, what the training tasks lose without it, in shares of 1."""

    edits: tuple[Edit, ...]
    adds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Training:
    """The training tasks of one need, and the document that its edits would change."""

    tasks: Sequence[Task]
    document: Document
    documents: Documents
    bench: Bench

    def groups(self, proposed: Sequence[Edit]) -> tuple[Group, ...]:
        """The edits that help together as one group, and every other one alone, in their order.

        Each is left out in turn. What the tasks do better without goes first, the worst before others, so that it
        spoils no figure of the rest.
        """
        together = self._helping(list(proposed))
        adds = self._adds(together) if len(together) > 1 else {}
        joined = tuple(edit for edit in together if adds.get(edit.id, 0) > 0)
        if len(joined) < 2:
            return tuple(Group((edit,)) for edit in proposed)
        group = Group(joined, {edit.id: adds[edit.id] for edit in joined})
        rest = (Group((edit,)) for edit in proposed if edit not in joined)
        return (group, *rest)

    def gain(self, group: Group) -> float:
        """How many more of the tasks pass with it than without, as a mean; nothing where that cannot be told."""
        with_it, without = self._means([group.edits, ()])
        return 0.0 if with_it is None or without is None else with_it - without

    def _helping(self, together: list[Edit]) -> list[Edit]:
        """Without those that the tasks do better without, and without what cannot stand beside the others."""
        together = [edit for edit in together if edit not in self._clashing(together)]
        while len(together) > 1:
            adds = self._adds(together)
            worst = min(together, key=lambda edit: adds[edit.id])
            if adds[worst.id] >= 0:
                break
            together.remove(worst)
        return together

    def _clashing(self, together: Sequence[Edit]) -> list[Edit]:
        return [edit for edit, _ in edits.apply(self.document.text, together).unmatched]

    def _adds(self, together: Sequence[Edit]) -> dict[str, float]:
        """By edit, what the mean loses when it is left out."""
        left_out = [[other for other in together if other is not edit] for edit in together]
        whole, *others = self._means([together, *left_out])
        return {
            edit.id: 0.0 if whole is None or without is None else whole - without
            for edit, without in zip(together, others, strict=True)
        }

    def _means(self, tried: Sequence[Sequence[Edit]]) -> list[float | None]:
        """Of the tasks under each of these edits."""
        found = self.bench.replay([Round(self.tasks, self._taught(group)) for group in tried])
        return [gate.mean([item.score for item in rollouts], self.bench.gate) for rollouts in found]

    def _taught(self, tried: Sequence[Edit]) -> Documents:
        if not tried:
            return self.documents
        return under(self.documents, self.document, edits.apply(self.document.text, tried).text)


@dataclass(frozen=True, slots=True)
class Tryout:
    """A group of edits that is ready for the gate, and the held-out tasks that nobody saw while it was worded: `told`
    are the marks of the sessions that were seen."""

    need: Need
    group: Group
    held_out: Sequence[Task]
    training: Training
    told: frozenset[str] = frozenset()


def chosen(queue: Sequence[Tryout], most: int) -> tuple[list[Tryout], list[Tryout]]:
    """One group a need and at most so many in all, by what the training tasks gain; and those that have to wait."""
    if len(queue) <= min(most, len({item.need.id for item in queue})):
        return list(queue), []
    ranked = sorted(queue, key=lambda item: -item.training.gain(item.group))  # stable: the more frequent wish first
    first: dict[str, Tryout] = {}
    for item in ranked:
        if len(first) < most:
            first.setdefault(item.need.id, item)
    return list(first.values()), [item for item in ranked if item not in first.values()]
