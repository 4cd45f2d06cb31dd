"""Message Batches: many requests sent at once, answered within a day, at half the price.

What was sent is paid for, so its id is kept until what its results taught is recorded: a run that was broken off,
wherever it was, or a later one that asks the same, goes on with the batch that is there. Kept are ids and digests,
never what was asked.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_git.doors import MESSAGE_LIMIT, failed
from skillopt_git.errors import ConfigError
from skillopt_git.ports import NOTHING, CallFailed, Listener, Waiting
from skillopt_git.schema import dump, read
from skillopt_git.whole import write

if TYPE_CHECKING:
    from skillopt_git.backends.anthropic_client import Line

MOST_REQUESTS = 1_000  # of one batch; the provider takes more, but an answer to that many is one body still
MOST_BYTES = 64 * 2**20
FIRST_WAIT, LONGEST_WAIT = 5.0, 300.0  # seconds between two looks
MEANWHILE = "which may take a day; a run that is broken off goes on with it"
LONGEST = 25 * 3600.0  # the provider gives a batch up after 24 hours
PATIENCE = 10  # looks in a row that may fail, as when a laptop sleeps
FORGOTTEN = 29 * 24 * 3600.0  # the provider keeps results for so long
SKEW = 300.0  # seconds by which the provider's clock may differ
MOST_PAGES = 20  # of the provider's list, of 1,000 batches each
_DOUBTFUL = ("network", "timeout", "schema")  # failures behind which a batch may have arrived
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")  # it names a file and an address
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}

Told = bytes | CallFailed  # a message as it came, or why there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A batch that was sent, and when: the names of its requests that may be answered, and which of these were `read`
    already. Without an `id` nobody has heard whether it arrived."""

    id: str
    time: float
    names: tuple[str, ...]
    read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A batch among those that the provider has."""

    id: str
    processing_status: str
    created_at: str
    request_counts: dict[str, int]

    @property
    def time(self) -> float:
        return datetime.fromisoformat(self.created_at).timestamp()

    @property
    def size(self) -> int:
        return sum(self.request_counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    data: tuple[Listed, ...]
    has_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    id: str
    processing_status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    custom_id: str
    result: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """`folder` is private and outlives the run. Clock and sleep are arguments, for a batch takes hours; `notify` hears
    which one is waited for."""

    line: Line
    folder: Path
    notify: Listener = lambda _: None
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def ask(self, questions: Mapping[str, Mapping[str, Any]]) -> dict[str, Told]:
        """What became of each question, by its name. Everything is on its way before anything is waited for.

        What is answered is answered again, by the same batch, until `settle`: also where the answer is no good.
        """
        batches = [batch for batch in self._kept() if not questions.keys().isdisjoint(batch.names)]
        going: list[Sent] = []
        told: dict[str, Told] = {}
        for batch in batches:
            known = self._known(batch)
            if isinstance(known, Sent):
                going.append(known)
            elif known is not None:
                told |= {name: known for name in batch.names if name in questions}
        held = {*told, *(name for batch in going for name in batch.names)}
        for part in _parts({name: asked for name, asked in questions.items() if name not in held}):
            sent = self._send(part)
            if isinstance(sent, CallFailed):
                told |= dict.fromkeys(part, sent)
            else:
                going.append(sent)
        for batch in going:
            told |= self._results(batch, questions.keys())
        return {name: _unpaid(one) for name, one in told.items()}

    def hold(self, names: Sequence[str]) -> bool:
        """Whether one of these was sent, so that the answer is there, or will be."""
        return any(not set(names).isdisjoint(batch.names) for batch in self._kept())

    def settle(self) -> None:
        """What was read so far is recorded, and may be forgotten."""
        for batch in self._kept():
            if batch.read:
                self._left(batch, [name for name in batch.names if name not in batch.read])

    # --- what is kept ---

    def _kept(self) -> list[Sent]:
        """What was sent. What is damaged, or too old for the provider to know, is dropped."""
        found: list[Sent] = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                sent = read(Sent, path.read_bytes(), where=str(path))
            except (OSError, ConfigError):
                path.unlink(missing_ok=True)
                continue
            if self.clock() - sent.time > FORGOTTEN:
                self._forget(sent)
            else:
                found.append(sent)
        return found

    def _keep(self, sent: Sent) -> None:
        for folder in (self.folder.parent, self.folder):  # `parents=True` would make the upper one for everybody
            folder.mkdir(mode=0o700, exist_ok=True)
        write(self._path(sent), json.dumps(dump(sent)).encode())

    def _left(self, sent: Sent, names: Sequence[str], read: Sequence[str] = ()) -> None:
        """Keeps no more of it than these."""
        if names:
            self._keep(replace(sent, names=tuple(names), read=tuple(read)))
        else:
            self._forget(sent)

    def _forget(self, sent: Sent) -> None:
        self._path(sent).unlink(missing_ok=True)

    def _path(self, sent: Sent) -> Path:
        return self.folder / f"{sent.id or sent.names[0]}.json"

    # --- what the provider does ---

    def _known(self, batch: Sent) -> Sent | CallFailed | None:
        """The batch if the provider has it, as far as it can be asked; None where it has not. Of one that may have
        arrived, why nobody can say."""
        found = self._arrived(batch) if not batch.id else batch if self.line.look(batch.id) is not None else None
        if found is None:
            self._forget(batch)
        return found

    def _send(self, questions: Mapping[str, Mapping[str, Any]]) -> Sent | CallFailed:
        """Tries as often as is set, and never again what may have arrived: it would be paid for twice."""
        doubtful = Sent(id="", time=self.clock(), names=tuple(questions))
        self._keep(doubtful)  # also for a run that is ended before it hears
        left = self.line.retries
        while True:
            told = self.line.submit([{"custom_id": name, "params": asked} for name, asked in questions.items()])
            progress = _progress(told)
            if isinstance(progress, Progress):
                return self._certain(doubtful, progress.id)
            again = left > 0 and progress.retryable
            if again or progress.kind in _DOUBTFUL:
                self.sleep(FIRST_WAIT)  # what is under way may still arrive
            found = self._arrived(doubtful) if progress.kind in _DOUBTFUL else None
            if found is not None:
                return found if isinstance(found, Sent) else progress
            if not again:
                self._forget(doubtful)
                return progress
            left -= 1

    def _certain(self, doubtful: Sent, id_: str) -> Sent:
        sent = replace(doubtful, id=id_)
        self._keep(sent)
        self._forget(doubtful)
        return sent

    def _arrived(self, doubtful: Sent) -> Sent | CallFailed | None:
        """The batch that may have arrived; None where it has not. The provider's list tells when each batch came and
        how many requests it has; which ones, only the results tell. So another's of that size may be taken for ours as
        long as it runs: then our requests are sent anew, by a later run."""
        listed = self._listed(since=doubtful.time - SKEW)
        if isinstance(listed, CallFailed):
            return listed
        others = {batch.id for batch in self._kept()}
        alike = (one for one in listed if one.id not in others and one.size == len(doubtful.names))
        found = next((one for one in alike if self._may_be(one, doubtful)), None)
        return None if found is None else self._certain(doubtful, found.id)

    def _may_be(self, listed: Listed, doubtful: Sent) -> bool:
        told = self.line.results(listed.id) if listed.processing_status == "ended" else b""
        if isinstance(told, CallFailed) or not told:
            return True
        return not {name for name, _ in self._lines(told)}.isdisjoint(doubtful.names)

    def _listed(self, since: float) -> list[Listed] | CallFailed:
        """What the provider has of that time or later, the newest first; nothing where it has no such list."""
        found: list[Listed] = []
        after = ""
        for _ in range(MOST_PAGES):
            page = _page(self.line.sent(after))
            if isinstance(page, CallFailed):
                return [] if page.kind == "process" else page
            found += [one for one in page.data if one.time >= since]
            if not page.has_more or not page.data or page.data[-1].time < since:
                break
            after = page.data[-1].id
        return found

    def _results(self, batch: Sent, wanted: Iterable[str]) -> dict[str, Told]:
        """Those that are wanted. They stay to be read, as do the others of the batch: they are paid for."""
        names = [name for name in batch.names if name in set(wanted)]
        shut = self._wait(batch)
        told = shut or self.line.results(batch.id)
        if isinstance(told, CallFailed):
            return dict.fromkeys(names, told)
        lost = CallFailed("schema", f"batch {batch.id} has no result for this")
        results = dict(self._lines(told))
        if results:  # else what came is no list of results
            self._read(batch, names, results)
        return {name: results.get(name, lost) for name in names}

    def _read(self, batch: Sent, names: Sequence[str], results: Mapping[str, Told]) -> None:
        """What was not answered is asked anew, and so is all where the batch is another's. What is missing may have
        been cut off on its way."""
        ours = not results.keys().isdisjoint(batch.names)
        anew = {name for name in names if not ours or _free(results.get(name))}
        read = {*batch.read, *names} - anew
        left = [name for name in batch.names if name not in anew]
        self._left(batch, left, [name for name in left if name in read])

    def _wait(self, batch: Sent) -> CallFailed | None:
        """Until the batch has ended; why that could not be waited for, where it could not."""
        failures, wait = 0, FIRST_WAIT
        while True:
            progress = _progress(self.line.look(batch.id))
            if isinstance(progress, CallFailed):
                failures += 1
                if not progress.retryable or failures > PATIENCE:
                    return progress
            elif progress.processing_status == "ended":
                return None
            else:
                failures = 0
                if wait == FIRST_WAIT:
                    self.notify(Waiting(f"batch {batch.id} of {_many(batch.names)}, {MEANWHILE}"))
            if self.clock() - batch.time > LONGEST:
                words = f"batch {batch.id} has not ended; a later run goes on with it"
                return CallFailed("timeout", words, retryable=True)
            self.sleep(wait)
            wait = min(wait * 1.5, LONGEST_WAIT)

    def _lines(self, told: bytes) -> Iterator[tuple[str, Told]]:
        """The results by name, in the order in which they come, which is nobody's."""
        for line in told.splitlines():
            try:
                item = read(Item, line, where="a result")
            except ConfigError:
                continue  # nobody can say whose it is: whoever it was for hears that there is none
            yield item.custom_id, self._result(item.result)

    def _result(self, result: Mapping[str, Any]) -> Told:
        match result:
            case {"type": "succeeded", "message": message}:
                return json.dumps(message).encode()
            case {"type": "errored", "error": {"error": {"type": str(kind), "message": str(words)}}}:
                return failed(_STATUS.get(kind, 500), f"{kind}: {words}", code=kind, redact=self.line.clean)
            case {"type": "expired"}:
                return CallFailed("rate", "the provider found no time for this within the batch's day", retryable=True)
            case {"type": "canceled"}:
                return CallFailed("network", "the batch was canceled before this was answered", retryable=True)
            case _:
                return CallFailed("schema", "the result is none that is known")


def _many(names: Sequence[str]) -> str:
    return f"{len(names)} question{'s' if len(names) != 1 else ''}"


def _free(told: Told | None) -> bool:
    """Whether it is known that no model answered: what a provider refuses, or leaves undone, it does not charge."""
    return isinstance(told, CallFailed) and told.kind != "schema"


def _unpaid(told: Told) -> Told:
    """With that it took nothing, where that is known; what is under way yet counts when it is read."""
    return replace(told, usage=NOTHING) if isinstance(told, CallFailed) and _free(told) else told


def _progress(told: bytes | CallFailed | None) -> Progress | CallFailed:
    if told is None:
        return CallFailed("network", "the provider knows the batch no more; a later run sends it anew", retryable=False)
    if isinstance(told, CallFailed):
        return told
    try:
        progress = read(Progress, told, where="the batch")
    except ConfigError as error:
        return _unreadable(error)
    return (
        progress if _ID.fullmatch(progress.id) else CallFailed("schema", "the provider gave a batch an id of no form")
    )


def _page(told: bytes | CallFailed) -> Page | CallFailed:
    if isinstance(told, CallFailed):
        return told
    try:
        page = read(Page, told, where="the list of batches")
        times = [one.time for one in page.data if _ID.fullmatch(one.id)]
    except (ConfigError, ValueError, OverflowError) as error:
        return _unreadable(error)
    return (
        page
        if len(times) == len(page.data)
        else CallFailed("schema", "the provider lists a batch with an id of no form")
    )


def _unreadable(error: Exception) -> CallFailed:
    return CallFailed("schema", " ".join(str(error).split())[:MESSAGE_LIMIT])


def _parts(
    questions: Mapping[str, Mapping[str, Any]], *, requests: int = MOST_REQUESTS, size: int = MOST_BYTES
) -> Iterator[dict[str, Mapping[str, Any]]]:
    """The questions in batches of so many at most, and as large at most."""
    part: dict[str, Mapping[str, Any]] = {}
    whole = 0
    for name, asked in questions.items():
        more = len(json.dumps(asked))
        if part and (len(part) == requests or whole + more > size):
            yield part
            part, whole = {}, 0
        part[name] = asked
        whole += more
    if part:
        yield part
