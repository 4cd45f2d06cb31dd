"""The first stage: what the sources hold, less what does not count, redacted.

Every session that is left out is counted with its reason. A session leaves here redacted, and cut to size only after
that, so that no half of a secret slips through at the cut.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from skillopt_git.model import Session, Skipped, Turn
from skillopt_git.ports import SessionSource

TURN_LIMIT = 8000  # characters
REPLAY_MARKER = "skillopt-git replay"
REPLAY_FOLDER = "skillopt-replay"

Home: TypeAlias = tuple[str, str]  # a source's name and home

_EARLIEST = datetime.min.replace(tzinfo=UTC)
_REPLAY = re.compile(rf"\s*(?:<!--\s*)?{re.escape(REPLAY_MARKER)}\b")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CUT_MARK = re.compile(r"\[[^\[\]\s]{0,80}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The folders whose sessions count; None is everywhere."""

    roots: tuple[Path, ...] | None

    def holds(self, session: Session) -> bool:
        """Whether it ran in a root or below one, or in a worktree that was made from there."""
        if self.roots is None:
            return True
        places = (session.cwd, session.original_cwd)
        return any(_lies_in(place, root) for place in places if place for root in self.roots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvest:
    """What a night reads.

    `sessions` are ordered by last activity. `read_from` says for each home from when on the next night has to read:
    from the start of this harvest, or from the oldest session that the limit left unread.
    """

    sessions: tuple[Session, ...]
    skipped: tuple[Skipped, ...]
    read_from: Mapping[Home, datetime]


def harvest(
    sources: Sequence[SessionSource],
    *,
    scope: Scope,
    since: Callable[[SessionSource], datetime | None],
    now: datetime,
    redact: Callable[[str], str],
    headless: Literal["keep", "skip"],
    limit: int,
) -> Harvest:
    """The newest `limit` sessions that count; `since` gives the start of a source's window (None: everything)."""
    fit: list[tuple[Home, Session]] = []
    skipped: list[Skipped] = []
    for source in sources:
        for found in _sift(source, since(source), scope, headless):
            if isinstance(found, Skipped):
                skipped.append(found)
            else:
                fit.append(((source.name, source.home), found))
    fit.sort(key=lambda pair: _age(pair[1]))
    single = list(_without_copies(fit, skipped))
    cut = max(len(single) - limit, 0)
    unread, read = single[:cut], single[cut:]
    skipped.extend(Skipped(session.path, "over the limit") for _, session in unread)
    clean = cache(redact)
    return Harvest(
        sessions=tuple(_redacted(session, clean) for _, session in read),
        skipped=tuple(_merged(skipped, clean)),
        read_from={(source.name, source.home): _read_from(source, unread, now) for source in sources},
    )


# --- what counts -------------------------------------------------------------------------------------------------


def _sift(
    source: SessionSource, start: datetime | None, scope: Scope, headless: Literal["keep", "skip"]
) -> Iterator[Session | Skipped]:
    for found in source.sessions(start):
        reason = None if isinstance(found, Skipped) else _refusal(found, start, scope, headless)
        yield Skipped(found.path, reason) if reason else found


def _refusal(session: Session, start: datetime | None, scope: Scope, headless: Literal["keep", "skip"]) -> str | None:
    last = _last_activity(session)
    if _is_replay(session):
        return "our own replay"
    if not scope.holds(session):
        return "outside the scope"
    if start is not None and last is not None and last < start:
        return "before the window"
    if headless == "skip" and session.headless:
        return "headless"
    return None if any(_by_the_user(session)) else "no prompt"


def _by_the_user(session: Session) -> Iterator[Turn]:
    return (turn for turn in session.turns if turn.kind != "answer")


def _is_replay(session: Session) -> bool:
    """Replays leave transcripts like any other session; learning from them would be learning from ourselves.

    They begin with the marker. People who speak of it later, or quote it, are people.
    """
    if REPLAY_FOLDER in Path(session.cwd or "").parts:
        return True
    first = next(_by_the_user(session), None)
    return first is not None and _REPLAY.match(first.text) is not None


def _lies_in(place: str, root: Path) -> bool:
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


def _without_copies(fit: Iterable[tuple[Home, Session]], skipped: list[Skipped]) -> Iterator[tuple[Home, Session]]:
    """A session found in two files stays twice only if the files hold different turns."""
    known: set[tuple[str, str, frozenset[str]]] = set()
    for home, session in fit:
        key = (session.source, session.id, frozenset(turn.id for turn in session.turns))
        if key in known:
            skipped.append(Skipped(session.path, "a copy"))
        else:
            known.add(key)
            yield home, session


# --- order and window --------------------------------------------------------------------------------------------


def _last_activity(session: Session) -> datetime | None:
    return session.ended or session.started


def _age(session: Session) -> tuple[datetime, str, str]:
    return _last_activity(session) or _EARLIEST, session.id, session.path


def _read_from(source: SessionSource, unread: Iterable[tuple[Home, Session]], now: datetime) -> datetime:
    """A session without times needs no place in the window: it is read whatever the window."""
    left = (_last_activity(session) for home, session in unread if home == (source.name, source.home))
    return min([now, *filter(None, left)])


def _merged(skipped: Iterable[Skipped], clean: Callable[[str], str]) -> Iterator[Skipped]:
    counts: Counter[tuple[str, str]] = Counter()
    for item in skipped:
        counts[item.path, item.reason] += item.count
    return (Skipped(clean(path), reason, count) for (path, reason), count in counts.items())


# --- redaction ---------------------------------------------------------------------------------------------------


def _redacted(session: Session, clean: Callable[[str], str]) -> Session:
    return replace(
        session,
        id=_clean_id(session.id, clean),
        path=clean(session.path),
        cwd=_maybe(session.cwd, clean),
        original_cwd=_maybe(session.original_cwd, clean),
        branch=_maybe(session.branch, clean),
        turns=tuple(
            replace(turn, id=_clean_id(turn.id, clean), text=_clipped(clean(turn.text))) for turn in session.turns
        ),
        final=_clipped(clean(session.final)),
        tools=tuple(map(clean, session.tools)),
        skills=tuple(map(clean, session.skills)),
        files=tuple(map(clean, session.files)),
    )


def _clean_id(text: str, clean: Callable[[str], str]) -> str:
    """A UUID is random by nature and stays as it is; anything else that a file calls an id may be whatever it likes."""
    return text if _UUID.fullmatch(text) else clean(text)


def _maybe(text: str | None, clean: Callable[[str], str]) -> str | None:
    return None if text is None else clean(text)


def _clipped(text: str) -> str:
    """At most `TURN_LIMIT` characters, and no half of a redaction's mark at the end."""
    if len(text) <= TURN_LIMIT:
        return text
    return _CUT_MARK.sub("", text[: TURN_LIMIT - 1]) + "…"
