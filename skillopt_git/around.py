"""What a backend around a backend has of the one inside: all but how it completes."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt_git.ports import Backend


class Around:
    """A wrapper names its `inner` backend, and says itself only what is otherwise with it."""

    __slots__ = ()
    inner: Backend

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def deterministic(self) -> bool:
        return self.inner.deterministic

    @property
    def simulated(self) -> bool:
        return self.inner.simulated

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        return self.inner.settings

    @property
    def knows(self) -> str:
        return self.inner.knows
