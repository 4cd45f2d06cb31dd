"""Which folders' sessions count."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from skillopt_git.transcripts import Heading


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The folders whose sessions count; None is everywhere."""

    roots: tuple[Path, ...] | None
    _answers: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)

    def holds(self, session: Heading) -> bool:
        """Whether it ran in a root or below one, or in a worktree that was made from there."""
        return self.roots is None or any(self._lies_in(place) for place in (session.cwd, session.original_cwd) if place)

    def _lies_in(self, place: str) -> bool:
        """Most sessions share a folder, and asking the disk takes its time."""
        if place not in self._answers:
            self._answers[place] = any(lies_in(place, root) for root in self.roots or ())
        return self._answers[place]


def lies_in(place: str, root: Path) -> bool:
    """Whether `place` is `root` or below it, by whatever spelling: links, and letter case where it does not matter.

    A relative place, or one that cannot be a path, lies nowhere; a folder that is gone is compared by name.
    """
    if "\0" in place or not Path(place).is_absolute():
        return False
    real = Path(os.path.realpath(place))
    upward = (real, *real.parents)
    return Path(os.path.realpath(root)) in upward or any(_same(folder, root) for folder in upward)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
