"""Where each of tonight's needs is taught: in a skill that its tasks used, in the default skill, or in the memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt_git import edits
from skillopt_git.errors import ConfigError
from skillopt_git.grammar import Grammar
from skillopt_git.learned import Teachable
from skillopt_git.model import Document, Need, Task
from skillopt_git.used import Used
from skillopt_git.wishes import every_task


@dataclass(frozen=True, slots=True)
class Plan:
    """Skills that are taught wishes of their own, each with these; then the default skill, then the memory."""

    own: tuple[tuple[Document, tuple[Need, ...]], ...]
    skill: Document | None
    first: tuple[Need, ...]
    memory: Document | None
    later: tuple[Need, ...]

    @property
    def tried(self) -> tuple[Need, ...]:
        """What the memory may still answer where no skill could."""
        return (*(need for _, needs in self.own for need in needs), *self.first)


@dataclass(frozen=True, slots=True)
class Routing:
    """`tasks` are all that are known, for they tell which skills a need's tasks used."""

    teachable: Teachable
    used: Used
    tasks: Sequence[Task]
    grammars: tuple[Grammar, ...]

    def plan(self, needs: Sequence[Need], notes: list[str]) -> Plan:
        """A wish about every task goes to the memory first, where nobody named a skill."""
        skill, memory = (_opened(item, notes) for item in (self.teachable.skill, self.teachable.memory))
        general = memory is not None and self.teachable.general_to_memory
        later = [need for need in needs if general and every_task(need.text, self.grammars)]
        own = self._own([need for need in needs if need not in later], notes)
        homed = {need.id for _, mine in own for need in mine}
        rest = [need for need in needs if need not in later and need.id not in homed]
        if skill is None:
            later, rest = [need for need in needs if need.id not in homed], []
        return Plan(own, skill, tuple(rest), memory, tuple(later))

    def _own(self, needs: Sequence[Need], notes: list[str]) -> tuple[tuple[Document, tuple[Need, ...]], ...]:
        """By document, the needs of the skills that their tasks used. What a skill's name stands for is never guessed:
        a need that finds no home goes the usual way."""
        found: dict[str, list[Need]] = {}
        for need in needs:
            home = self.used.home(need, self.tasks)
            if isinstance(home, Document):
                found.setdefault(home.path, []).append(need)
            elif home is not None and home.why:
                notes.append(f"'{need.text}' is taught in no skill of its own: {home.why}")
        named = (item for item in self.used.documents if item.path in found)
        return tuple((item, tuple(found[item.path])) for item in named if _opened(item, notes) is not None)


def _opened(document: Document | None, notes: list[str]) -> Document | None:
    """A document whose learned block is damaged is left alone, and the night goes on without it."""
    if document is None:
        return None
    try:
        edits.rules(document.text)
    except ConfigError as error:
        notes.append(f"{document.path} is left alone: {error.message}")
        return None
    return document
