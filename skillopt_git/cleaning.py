"""From a session as it was found to one that may be kept: redacted first, and cut to size only after that.

In this order, no half of a secret slips through at the cut.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from skillopt_git.model import Session
from skillopt_git.ports import Redaction
from skillopt_git.transcripts import Heading

TURN_LIMIT = 8000  # characters
REPLAY_MARKER = "skillopt-git replay"
REPLAY_FOLDER = "skillopt-replay"

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RANDOM_OR_TIME = re.compile(rf"{_UUID.pattern}|\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d", re.IGNORECASE)
_REPLAY = re.compile(rf"\s*(?:<!--\s*{REPLAY_MARKER}\b|{REPLAY_MARKER}(?: [\w-]+)?[ \t]*(?:\n|\Z))")
_CUT_MARK = re.compile(r"\[[^\[\]\s]{0,80}\Z")


def heading(session: Session) -> Heading:
    said = [turn for turn in session.turns if turn.kind != "answer"]
    told = "\0".join([session.id, *(part for turn in session.turns for part in (turn.id, turn.text))])
    return Heading(
        id=session.id,
        path=session.path,
        cwd=session.cwd,
        original_cwd=session.original_cwd,
        started=session.started,
        ended=session.ended,
        headless=session.headless,
        replay=_is_replay(session.cwd, said[0].text if said else ""),
        typed=bool(said),
        digest=hashlib.sha256(told.encode()).hexdigest()[:16],
    )


def _is_replay(cwd: str | None, opening: str) -> bool:
    """Replays leave transcripts like any other session; learning from them would be learning from ourselves.

    They begin with the marker. People who speak of it later, or quote it, are people.
    """
    return REPLAY_FOLDER in (cwd or "").replace("\\", "/").split("/") or _REPLAY.match(opening) is not None


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Redaction of names and texts, each once, for they come up again and again, and of whole sessions."""

    redact: Redaction
    _plain: dict[str, bool] = field(default_factory=dict, repr=False)
    _texts: dict[str, str] = field(default_factory=dict, repr=False)

    def label(self, text: str) -> str:
        """A branch, an id, the name of a tool: what may be told to others, unlike a path."""
        bare = _RANDOM_OR_TIME.sub(" ", text).strip()
        return text if not bare or self._text(bare) == bare else self._text(text)

    def name(self, text: str) -> str:
        """A path. A UUID in it is random by nature, and the time in a file's name is a time."""
        return text if self._is_plain(_RANDOM_OR_TIME.sub(" ", text).strip()) else self.redact(text)

    def holds_no_secret(self, found: Heading) -> bool:
        names = (found.cwd or "", found.original_cwd or "")
        return self.label(found.id) == found.id and all(self.name(text) == text for text in names)

    def session(self, session: Session) -> Session:
        return replace(
            session,
            id=self.label(session.id),
            path=self.name(session.path),
            cwd=_maybe(session.cwd, self.name),
            original_cwd=_maybe(session.original_cwd, self.name),
            branch=_maybe(session.branch, self.label),
            turns=tuple(
                replace(turn, id=self.label(turn.id), text=_clipped(self._text(turn.text))) for turn in session.turns
            ),
            final=_clipped(self._text(session.final)),
            tools=tuple(map(self.label, session.tools)),
            skills=tuple(map(self.label, session.skills)),
            files=tuple(map(self.name, session.files)),
        )

    def _text(self, text: str) -> str:
        """A final text stands in the last turn, too, and a fork repeats what it was forked from."""
        if text not in self._texts:
            self._texts[text] = self.redact.text(text)
        return self._texts[text]

    def _is_plain(self, text: str) -> bool:
        if text not in self._plain:
            self._plain[text] = not text or self.redact(text) == text
        return self._plain[text]


def _maybe(text: str | None, clean: Callable[[str], str]) -> str | None:
    return None if text is None else clean(text)


def _clipped(text: str) -> str:
    """At most `TURN_LIMIT` characters, and no half of a redaction's mark at the end."""
    if len(text) <= TURN_LIMIT:
        return text
    return _CUT_MARK.sub("", text[: TURN_LIMIT - 1]) + "…"
