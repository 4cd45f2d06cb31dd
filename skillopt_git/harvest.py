"""The first stage: what the sources hold, less what does not count. Every piece that is left out has its reason."""

from __future__ import annotations

import gc
from bisect import insort
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import Literal, NamedTuple, TypeAlias

from skillopt_git.cleaning import Cleaner
from skillopt_git.intake import Found, Intake, Old
from skillopt_git.model import Session, Skipped
from skillopt_git.ports import HarvestIndex, Listener, Redaction, Scanned, SessionSource
from skillopt_git.scope import Scope
from skillopt_git.transcripts import Heading, Home
from skillopt_git.window import Window

BEFORE, OVER = "before the window", "over the limit"
CLOCK_DRIFT = timedelta(days=1)  # how far ahead of ours another clock is believed

Headless: TypeAlias = Literal["keep", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What became of a home: transcripts found, sessions kept, pieces skipped by reason."""

    source: str
    home: str
    found: int
    kept: int
    skipped: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a home was read from `now` on: in which window, what of it, and since when something was left."""

    window: Window
    now: datetime
    read: Mapping[str, datetime]  # when each session was last active, by digest
    left: datetime | None = None
    failed: bool = False

    @property
    def next(self) -> Window:
        """What the next night has to read."""
        return self.window.after(self.now, self.read, left=self.left, failed=self.failed)

    def leaving(self, digests: Collection[str]) -> Reach:
        """As if these sessions had been left unread."""
        times = [last for name, last in self.read.items() if name in digests]
        kept = {name: last for name, last in self.read.items() if name not in digests}
        return replace(self, read=kept, left=min([*times, *([self.left] if self.left else [])], default=None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvest:
    """What a night reads, in the order of last activity.

    `reaches` says how far each home that was there was read, `places` for each session its home and digest.
    """

    sessions: tuple[Session, ...]
    skipped: tuple[Skipped, ...] = ()
    reaches: Mapping[Home, Reach] = field(default_factory=dict)
    tallies: tuple[Tally, ...] = ()
    places: tuple[tuple[Home, str], ...] = ()

    @property
    def windows(self) -> Mapping[Home, Window]:
        """What the next night has to read of each home."""
        return {home: reach.next for home, reach in self.reaches.items()}

    def leaving(self, unread: Collection[int]) -> Harvest:
        """With the sessions at these places left to another night, which reads them again."""
        left: dict[Home, set[str]] = {}
        for place in unread:
            home, digest = self.places[place]
            left.setdefault(home, set()).add(digest)
        return replace(self, reaches={home: item.leaving(left.get(home, ())) for home, item in self.reaches.items()})


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Reading makes millions of small values and no cycles; the search for these would take a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_no_search_for_cycles()
def harvest(
    sources: Sequence[SessionSource],
    *,
    scope: Scope,
    window: Callable[[SessionSource], Window],
    now: datetime,
    redact: Redaction,
    headless: Headless,
    limit: int,
    index: HarvestIndex,
    notify: Listener,
) -> Harvest:
    """The newest `limit` sessions that count and were not read before."""
    clean = Cleaner(redact)
    intakes = tuple(Intake(source, index, clean) for source in sources)
    windows = {intake.home: window(intake.source) for intake in intakes}
    newest, copies = _Newest(limit), set[tuple[str, str]]()
    every = [(item.mtime_ns, intake, item) for intake in intakes for item in intake.transcripts()]
    every.sort(key=itemgetter(0), reverse=True)  # once there are enough sessions, what is older need not be read
    for done, (_, intake, transcript) in enumerate(every, 1):
        here = windows[intake.home]
        for item in intake.sessions(transcript, partial(_too_old, newest, here)):
            if isinstance(item, Old):
                newest.leave(intake, transcript.path, item.since, item.reason)
                continue
            last = _last_activity(item, intake, now)
            reason = _refusal(item.heading, last, here, scope, headless) or _copied(item, copies)
            if reason:
                intake.skip(item.heading.path, reason)
            else:
                newest.add(_Aged(last, item.heading.id, item.heading.path, item, intake))
        notify(Scanned(done, len(every)))
    return _read(newest, intakes, windows, now)


# --- what counts -------------------------------------------------------------------------------------------------


def _last_activity(found: Found, intake: Intake, now: datetime) -> datetime:
    """A session without times is as old as its files, and one from the future is of now: whose clock can be wrong."""
    last = found.heading.ended or found.heading.started
    if last is not None and last <= now + CLOCK_DRIFT:
        return last
    if last is not None:
        intake.skip(found.heading.path, "a time in the future")
    return min(found.transcript.written, now)


def _too_old(newest: _Newest, window: Window, last: datetime) -> str | None:
    if window.since is not None and last < window.since:
        return BEFORE
    return OVER if newest.floor is not None and last < newest.floor else None


def _refusal(head: Heading, last: datetime, window: Window, scope: Scope, headless: Headless) -> str | None:
    if head.replay:
        return "our own replay"
    if not scope.holds(head):
        return "outside the scope"
    if window.since is not None and last < window.since:
        return BEFORE
    if head.digest in window.read:
        return "read before"
    if headless == "skip" and head.headless:
        return "headless"
    return None if head.typed else "no prompt"


def _copied(found: Found, known: set[tuple[str, str]]) -> str | None:
    """A session found in two files stays twice only if other things are said in them."""
    key = (found.home[0], found.heading.digest)
    if key in known:
        return "a copy"
    known.add(key)
    return None


# --- the newest --------------------------------------------------------------------------------------------------


class _Aged(NamedTuple):
    last: datetime
    id: str
    path: str
    found: Found
    intake: Intake


_AGE = itemgetter(0, 1, 2)


@dataclass(slots=True)
class _Newest:
    """The newest sessions in order, and of the others the oldest time: their words need not stay in memory."""

    limit: int
    kept: list[_Aged] = field(default_factory=list)
    left: dict[Home, datetime] = field(default_factory=dict)  # since when there is something that was left out

    @property
    def floor(self) -> datetime | None:
        """What was last active before is not among them."""
        return self.kept[0].last if len(self.kept) == self.limit else None

    def add(self, item: _Aged) -> None:
        insort(self.kept, item, key=_AGE)
        if len(self.kept) > self.limit:
            oldest = self.kept.pop(0)
            self.leave(oldest.intake, oldest.path, oldest.last, OVER)

    def leave(self, intake: Intake, path: str, since: datetime, reason: str) -> None:
        intake.skip(path, reason)
        if reason == OVER:
            self.left[intake.home] = min(since, self.left.get(intake.home, since))


def _read(newest: _Newest, intakes: Sequence[Intake], windows: Mapping[Home, Window], now: datetime) -> Harvest:
    whole = [(item, session) for item in newest.kept if (session := item.intake.whole(item.found)) is not None]
    for intake in intakes:
        intake.keep()
    read: dict[Home, dict[str, datetime]] = {intake.home: {} for intake in intakes}
    for item, _ in whole:
        read[item.found.home][item.found.heading.digest] = item.last
    return Harvest(
        sessions=tuple(session for _, session in whole),
        skipped=tuple(item for intake in intakes for item in intake.told()),
        reaches={
            home: Reach(
                window=windows[home], now=now, read=read[home], left=newest.left.get(home), failed=intake.failed
            )
            for intake in intakes
            if (home := intake.home) and not intake.absent
        },
        places=tuple((item.found.home, item.found.heading.digest) for item, _ in whole),
        tallies=tuple(_tally(intake, sum(item.intake is intake for item, _ in whole)) for intake in intakes),
    )


def _tally(intake: Intake, kept: int) -> Tally:
    reasons: Counter[str] = Counter()
    for (_, reason), count in intake.skipped.items():
        reasons[reason] += count
    return Tally(source=intake.home[0], home=intake.home[1], found=intake.found, kept=kept, skipped=reasons)
