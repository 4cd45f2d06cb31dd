"""Which skills tonight's tasks used: what each task is replayed under, and which needs are taught in which skill.

An agent reads a skill only when it uses it. So a task that used one is answered under it, and no other task is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from skillopt_git.documents import Documents
from skillopt_git.model import Document, Need, Task


@dataclass(frozen=True, slots=True)
class NoHome:
    """Why what a skill's name stands for is no file that may be taught."""

    why: str


HomeOf = Callable[[str], Document | NoHome]  # by a skill's bare name


def nowhere(_: str) -> NoHome:
    """Where only the default skill is taught."""
    return NoHome("")


def bare(name: str) -> str:
    """A skill's name without the plugin that brought it."""
    return name.rpartition(":")[2].strip("/ ")


@dataclass(frozen=True, slots=True)
class Used:
    """What the skills' names stand for. `homes` and `homeless` are by bare name."""

    homes: Mapping[str, Document] = field(default_factory=dict)
    homeless: Mapping[str, str] = field(default_factory=dict)

    @property
    def documents(self) -> tuple[Document, ...]:
        """Each once, by path."""
        return tuple(sorted({item.path: item for item in self.homes.values()}.values(), key=lambda item: item.path))

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(item.path for item in self.homes.values())

    def reads(self, task: Task, path: str) -> bool:
        """Whether the document at `path` is there when the task is answered."""
        return path not in self.paths or path in {self.homes[name].path for name in _names(task) if name in self.homes}

    def under(self, documents: Documents, task: Task) -> Documents:
        """Of `documents` those that the task is answered under."""
        return tuple(item for item in documents if self.reads(task, item[0]))

    def home(self, need: Need, tasks: Iterable[Task]) -> Document | NoHome | None:
        """The document of the one skill that most of the need's tasks used; None where there is no such skill."""
        own = [task for task in tasks if need.id in task.needs]
        counts = Counter(name for task in own for name in _names(task))
        most = [name for name, count in counts.items() if 2 * count > len(own) and count == max(counts.values())]
        if len(most) > 1:
            return NoHome(f"its tasks used {' and '.join(map(repr, sorted(most)))} alike")
        if not most:
            return None
        (name,) = most
        return self.homes.get(name) or NoHome(self.homeless.get(name, ""))


def used_skills(tasks: Sequence[Task], home_of: HomeOf, apart: Collection[str]) -> Used:
    """What the skills of `tasks` stand for, but for those at the paths of `apart`, which every task reads."""
    found = {name: home_of(name) for name in sorted({name for task in tasks for name in _names(task)})}
    homes = {name: item for name, item in found.items() if isinstance(item, Document) and item.path not in apart}
    return Used(homes, {name: item.why for name, item in found.items() if isinstance(item, NoHome)})


def _names(task: Task) -> frozenset[str]:
    return frozenset(filter(None, map(bare, task.skills)))
