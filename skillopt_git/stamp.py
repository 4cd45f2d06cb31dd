"""Which run speaks, and the events it says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from skillopt_git.ids import Json, event_id
from skillopt_git.model import RECORD_VERSION, Event, EventType


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Which run speaks, and when. `simulated` marks all it says."""

    run: str
    now: datetime
    simulated: bool

    @property
    def ts(self) -> str:
        return self.now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def event(type_: EventType, subject_: Json, stamp: Stamp, *, cause: str | None = None, **fields: Any) -> Event:
    """An event of the run `stamp`; `cause` is the run unless something else is (a commit, a person's verb)."""
    return Event(
        v=RECORD_VERSION,
        id=event_id(type_, subject_, cause or stamp.run),
        ts=stamp.ts,
        type=type_,
        run=stamp.run,
        simulated=stamp.simulated,
        **fields,
    )
