"""Which sessions a night reads."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.cleaning import REPLAY_MARKER
from skillopt_git.harvest import Window
from skillopt_git.model import Session, Skipped, Turn
from skillopt_git.ports import LearningEvent, Scanned
from skillopt_git.scope import Scope
from skillopt_git.sources.jsonl import JsonlSource
from skillopt_git.transcripts import FileState, Span, Transcript
from tests.found import HOUR, NOW, Fixed, Hiding, Memory, gather, ids, reasons, session

# --- what counts -------------------------------------------------------------------------------------------------


def test_every_filter_names_its_reason() -> None:
    """What does not count is left out, and each piece says why."""
    found = gather(
        session("kept"),
        session("elsewhere", cwd="/home/alice/other"),
        session("old", ended=NOW - 5 * HOUR),
        session("robot", headless=True),
        session("mute", turns=(Turn(id="a", kind="answer", text="ECHO: Warmup"),)),
        Skipped("/broken.jsonl", "not JSON", 2),
        scope=Scope(roots=(Path("/home/alice/acme-api"),)),
        window=lambda source: Window(NOW - 4 * HOUR),
        headless="skip",
    )

    assert ids(found) == ["kept"]
    assert reasons(found) == [
        ("/broken.jsonl", "not JSON", 2),
        ("/elsewhere.jsonl", "outside the scope", 1),
        ("/old.jsonl", "before the window", 1),
        ("/robot.jsonl", "headless", 1),
        ("/mute.jsonl", "no prompt", 1),
    ]
    (tally,) = found.tallies
    assert (tally.source, tally.home, tally.found, tally.kept) == ("claude", "/home/alice/.claude", 5, 1)
    assert tally.skipped == {"not JSON": 2} | {item.reason: 1 for item in found.skipped[1:]}


def test_headless_sessions_count_unless_told_otherwise() -> None:
    """`claude -p` sessions are kept by default, and a person's are never taken for them."""
    assert ids(gather(session("p", headless=True))) == ["p"]
    assert ids(gather(session("typed"), headless="skip")) == ["typed"]


@pytest.mark.parametrize("kind", ["prompt", "command", "shell"])
def test_any_word_of_the_user_makes_a_session(kind: Any) -> None:
    """A session of commands only was still somebody's."""
    assert ids(gather(session(turns=(Turn(id="t", kind=kind, text="/run-tests"),)))) == ["s1"]


def test_our_own_replays_are_never_read() -> None:
    """A replay is known by the marker its first prompt begins with, or by its scratch folder."""
    answered = (Turn(id="q", kind="prompt", text="hi"), Turn(id="a", kind="answer", text=REPLAY_MARKER))
    found = gather(
        session("marked", f"<!-- {REPLAY_MARKER} -->\nRun the tests"),
        session("plain", f"\n{REPLAY_MARKER} 7\nRun the tests", "go on"),
        session("scratch", cwd="/tmp/skillopt-replay/7f"),
        session("other", cwd="/home/alice/skillopt-replays"),
        session("answered", turns=answered),
        session("spoken", f"Why does {REPLAY_MARKER} hang?"),
        session("later", "fine", f"{REPLAY_MARKER} is what I meant"),
        session("longer", f"{REPLAY_MARKER}s are slow"),
    )

    assert ids(found) == ["answered", "later", "longer", "other", "spoken"]
    assert [item.reason for item in found.skipped] == ["our own replay"] * 3


def test_pieces_of_one_file_are_counted_together() -> None:
    """The same path and reason is one row with the sum."""
    found = gather(Skipped("/a", "not JSON"), Skipped("/b", "not JSON"), Skipped("/a", "not JSON", 3))

    assert reasons(found) == [("/a", "not JSON", 4), ("/b", "not JSON", 1)]


def test_a_copy_is_read_once_and_a_continuation_twice() -> None:
    """Two files of one session both count only if they hold different turns."""
    found = gather(
        session("s1", "one"),
        session("s1", "one", path="/copy.jsonl"),
        session("s1", "one", "two", path="/more.jsonl"),
    )

    assert sorted(item.path for item in found.sessions) == ["/more.jsonl", "/s1.jsonl"]
    assert reasons(found) == [("/copy.jsonl", "a copy", 1)]


# --- window and limit --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ended", "kept"),
    [
        (NOW - 3 * HOUR, True),
        (NOW - 3 * HOUR - timedelta(microseconds=1), False),
        ((NOW - 2 * HOUR).astimezone(timezone(-8 * HOUR)), True),
        ((NOW - 4 * HOUR).astimezone(timezone(8 * HOUR)), False),
        (NOW + 24 * HOUR, True),
    ],
)
def test_the_window_compares_instants(ended: datetime, kept: bool) -> None:
    """The edge is inside, offsets do not matter, and a clock that is a little ahead is believed."""
    found = gather(session(ended=ended), window=lambda source: Window(NOW - 3 * HOUR))

    assert ids(found) == (["s1"] if kept else [])


def test_a_session_counts_by_its_last_activity() -> None:
    """A long session that ended in the window is read, however early it started; without an end the start counts."""
    start = NOW - 3 * HOUR
    found = gather(
        session("long", started=NOW - 90 * HOUR, ended=NOW - HOUR),
        session("short", started=NOW - 4 * HOUR, ended=None),
        window=lambda source: Window(start),
    )

    assert ids(found) == ["long"]


@pytest.mark.parametrize(("written", "kept"), [(NOW - HOUR, True), (NOW - 9 * HOUR, False), (NOW + 99 * HOUR, True)])
def test_a_session_without_times_is_as_old_as_its_file(written: datetime, kept: bool) -> None:
    """So it is read once, and not every night again."""
    source = Fixed([session(ended=None)], written=written)
    found = gather(sources=[source], window=lambda source: Window(NOW - 3 * HOUR))

    assert ids(found) == (["s1"] if kept else [])


def test_a_time_from_the_future_is_told_and_counts_as_the_file_s() -> None:
    """A clock that was wrong neither hides a session nor puts it before all others for ever."""
    wrong = session("wrong", ended=datetime(2099, 1, 1, tzinfo=UTC))
    found = gather(sources=[Fixed([wrong, session("right", ended=NOW)], written=NOW - 2 * HOUR)])

    assert ids(found) == ["wrong", "right"]
    assert reasons(found) == [("/wrong.jsonl", "a time in the future", 1)]


def test_each_source_has_its_own_window() -> None:
    """The window is asked for by source."""
    sources = [Fixed([session("a")], home="/a"), Fixed([session("b")], home="/b")]
    found = gather(sources=sources, window=lambda source: Window(NOW if source.home == "/a" else None))

    assert ids(found) == ["b"]
    assert found.windows == {("claude", "/a"): Window(NOW), ("claude", "/b"): Window(NOW)}


def test_sessions_come_in_the_order_of_their_last_activity() -> None:
    """Oldest first, by id where that is equal."""
    pieces = [session("c"), session("b"), session("a", ended=NOW)]

    assert ids(gather(*pieces)) == ids(gather(*reversed(pieces))) == ["b", "c", "a"]


def test_the_limit_keeps_the_newest_and_remembers_the_rest() -> None:
    """What the limit leaves unread is counted, and the next window of its home reaches back to the oldest of it."""
    left = Fixed([session(f"l{at}", ended=NOW - at * HOUR) for at in range(9)], home="/l")
    right = Fixed([session("r", ended=NOW - HOUR / 2)], home="/r")
    found = gather(sources=[left, right], limit=3)

    assert ids(found) == ["l1", "r", "l0"]
    over = {item.path for item in found.skipped if item.reason == "over the limit"}
    assert over == {f"/l{at}.jsonl" for at in range(2, 9)}
    assert found.windows == {
        ("claude", "/l"): Window(NOW - 8 * HOUR, {"l0": NOW, "l1": NOW - HOUR}),
        ("claude", "/r"): Window(NOW),
    }


def test_the_next_window_never_starts_after_now() -> None:
    """An unread session of a clock that is ahead does not move the window beyond the start of this harvest."""
    found = gather(session("ahead", ended=NOW + 9 * HOUR), session("next", ended=NOW + 10 * HOUR), limit=1)

    assert ids(found) == ["next"]
    assert found.windows == {("claude", "/home/alice/.claude"): Window(NOW, {"next": NOW + 10 * HOUR})}


@given(st.lists(st.integers(1, 200), max_size=30), st.integers(1, 7), st.integers(1, 4))
def test_a_cap_loses_no_session_and_reads_none_twice(ages: list[int], limit: int, arriving: int) -> None:
    """Night after night, with new sessions every night, each is read once: the newest first, then what was left."""
    pieces = [session(f"old{at}", ended=NOW - age * HOUR) for at, age in enumerate(ages)]
    window, read, now, index = Window(), Counter[str](), NOW, Memory()
    for night in range(len(ages) + 12):
        fresh = min(arriving, limit) if night < 5 else 0
        pieces += [session(f"n{night}-{at}", ended=now - HOUR) for at in range(fresh)]
        found = gather(*pieces, window=lambda source, window=window: window, now=now, limit=limit, index=index)
        read.update(ids(found))
        (window,) = found.windows.values()
        now += 24 * HOUR

    assert set(read) == {item.id for item in pieces}
    assert set(read.values()) <= {1}


def test_a_session_that_went_on_is_read_again() -> None:
    """What was read before is known by its last activity, too."""
    home = Window(NOW - 9 * HOUR, {"s1": NOW - 3 * HOUR, "s2": NOW - HOUR})
    found = gather(session("s1"), session("s2"), window=lambda source: home)

    assert ids(found) == ["s1"]
    assert reasons(found) == [("/s2.jsonl", "read before", 1)]


# --- what is opened ----------------------------------------------------------------------------------------------


def test_what_did_not_change_is_not_opened_again() -> None:
    """The second harvest finds the same, and opens only the file that changed."""
    index = Memory()
    pieces: list[Session | Skipped] = [
        session("a"),
        session("b", cwd="/elsewhere"),
        Skipped("/x", "unreadable"),
        session("c", ended=NOW),
    ]
    options = {"index": index, "scope": Scope(roots=(Path("/home/alice"),))}
    first, again = Fixed(pieces), Fixed(pieces)
    changed = Fixed([*pieces, session("d")][1:])  # each file's place is its size here, so all but one moved
    found = [gather(sources=[source], **options) for source in (first, again, changed)]

    assert first.opened == ["/a.jsonl", "/b.jsonl", "/c.jsonl"]
    assert again.opened == []
    assert found[0] == found[1]
    assert changed.opened == ["/b.jsonl", "/c.jsonl", "/d.jsonl"]
    assert ids(found[2]) == ["d", "c"]


def test_a_session_the_limit_left_is_opened_when_its_turn_comes() -> None:
    """Only what was read is kept whole; of the rest the index knows no more than when and where."""
    index = Memory()
    pieces = [session("old", ended=NOW - 9 * HOUR), session("new")]
    gather(*pieces, limit=1, index=index)
    later = Fixed(pieces)
    found = gather(sources=[later], index=index)

    assert (ids(found), later.opened) == (["old", "new"], ["/old.jsonl"])


def test_a_session_that_vanished_from_an_unchanged_file_is_told() -> None:
    """Nothing is made up of what only the index remembers."""
    index = Memory()
    pieces: list[Session | Skipped] = [session("old", ended=NOW - 9 * HOUR), session("new")]
    gather(*pieces, limit=1, index=index)
    gone = Fixed(pieces)
    listed = list(gone.transcripts())
    gone.pieces = [Skipped("/old.jsonl", "unreadable"), pieces[1]]
    found = gather(sources=[Listed(listed, gone)], index=index)

    assert ids(found) == ["new"]
    assert reasons(found) == [("/old.jsonl", "replaced while it was read", 1)]


def test_what_could_not_be_read_is_tried_again() -> None:
    """A permission may have been given since, and the file would be no other for it."""
    index = Memory()
    sources = [Listed([Transcript((FileState("/a.jsonl", 1, 0, 1, 0),))], Fixed([Skipped("/a.jsonl", "unreadable")]))]
    for _ in range(2):
        found = gather(sources=sources, index=index)
        assert reasons(found) == [("/a.jsonl", "unreadable", 1)]

    assert sources[0].inner.opened == ["/a.jsonl"] * 2


def test_a_secret_in_a_name_is_not_remembered() -> None:
    """The index holds nothing that is redacted elsewhere: such a file is opened every night."""
    index, secret = Memory(), Hiding().secret
    pieces = [session("a", cwd=f"/srv/{secret}"), session(f"b-{secret}"), session("c", f"my key is {secret}")]
    for opened in (["/a.jsonl", f"/b-{secret}.jsonl", "/c.jsonl"], ["/a.jsonl", f"/b-{secret}.jsonl"]):
        source = Fixed(pieces)
        gather(sources=[source], index=index)
        assert source.opened == opened

    assert secret not in repr(index)


def test_every_transcript_is_announced() -> None:
    """A listener hears how far the work is."""
    heard: list[LearningEvent] = []
    gather(session("a"), Skipped("/x", "unreadable"), session("b"), notify=heard.append)

    assert heard == [Scanned(1, 2), Scanned(2, 2)]


@dataclass
class Listed:
    """A source whose files are others by the time they are read."""

    listed: Sequence[Transcript | Skipped]
    inner: Fixed
    name: str = "claude"
    home: str = "/home/alice/.claude"

    def transcripts(self) -> Iterator[Transcript | Skipped]:
        yield from self.listed

    def glance(self, transcript: Transcript) -> None:
        """There are no files to look at."""

    def read(self, transcript: Transcript) -> Iterator[Session | Skipped]:
        yield from self.inner.read(transcript)


# --- what is only glanced at -------------------------------------------------------------------------------------


def kept(home: Path, name: str, hours: float, written: float | None = None) -> Path:
    """A session in the neutral format that was last active so many hours ago, in a file last `written` then."""
    path = home / f"{name}.jsonl"
    time = NOW - hours * HOUR
    line = {"v": 1, "session": name, "role": "user", "text": "Run the tests", "time": time.isoformat(), "cwd": "/x"}
    path.write_text(json.dumps(line) + "\n")
    seconds = (NOW - (hours if written is None else written) * HOUR).timestamp()
    os.utime(path, (seconds, seconds))
    return path


@dataclass
class Watched:
    """The neutral source; it notes what is read."""

    inner: JsonlSource
    read_: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def home(self) -> str:
        return self.inner.home

    def transcripts(self) -> Iterator[Transcript | Skipped]:
        yield from self.inner.transcripts()

    def glance(self, transcript: Transcript) -> Span | None:
        return self.inner.glance(transcript)

    def read(self, transcript: Transcript) -> Iterator[Session | Skipped]:
        self.read_.append(Path(transcript.path).stem)
        yield from self.inner.read(transcript)


def test_what_is_too_old_by_both_clocks_is_not_read(tmp_path: Path) -> None:
    """Copying makes a file younger than what it holds, restoring one can make it older: either clock has it read."""
    kept(tmp_path, "old", 9)
    kept(tmp_path, "copied", 9, written=1)
    kept(tmp_path, "restored", 1, written=9)
    kept(tmp_path, "young", 1)
    source, index = Watched(JsonlSource(tmp_path)), Memory()
    window = Window(NOW - 4 * HOUR)
    found = gather(sources=[source], window=lambda source: window, index=index)

    assert ids(found) == ["restored", "young"]
    assert sorted(source.read_) == ["copied", "restored", "young"]
    assert found.tallies[0].skipped == {"before the window": 2}

    source.read_.clear()
    assert gather(sources=[source], window=lambda source: window, index=index) == found
    assert source.read_ == []

    assert ids(gather(sources=[source], index=index)) == ["copied", "old", "restored", "young"]
    assert sorted(source.read_) == ["copied", "old"]


def test_once_there_are_enough_sessions_older_ones_are_not_read(tmp_path: Path) -> None:
    """Whichever home they are in; the next window reaches back to the oldest."""
    homes = [tmp_path / "a", tmp_path / "b"]
    for at in range(20):
        homes[at % 2].mkdir(exist_ok=True)
        kept(homes[at % 2], f"s{at:02}", at)
    sources = [Watched(JsonlSource(home)) for home in homes]
    found = gather(sources=sources, limit=4)

    assert ids(found) == ["s03", "s02", "s01", "s00"]
    assert sorted(name for source in sources for name in source.read_) == ["s00", "s01", "s02", "s03"]
    assert [tally.skipped for tally in found.tallies] == [{"over the limit": 8}] * 2
    oldest = [window.since for window in found.windows.values()]
    assert oldest == [NOW - 18 * HOUR, NOW - 19 * HOUR]


@pytest.mark.parametrize("end", ["", "x" * 400_000], ids=["no times", "a long last line"])
def test_a_file_whose_end_tells_no_time_is_read(tmp_path: Path, end: str) -> None:
    """It may be younger than its file says."""
    path = kept(tmp_path, "old", 1, written=9)
    if end:
        path.write_text(path.read_text() + json.dumps({"session": "old", "role": "assistant", "text": end}) + "\n")
    else:
        path.write_text('{"session": "old", "role": "user", "text": "Run the tests"}\n')
    os.utime(path, ((NOW - 9 * HOUR).timestamp(),) * 2)
    source = Watched(JsonlSource(tmp_path))
    found = gather(sources=[source], window=lambda source: Window(NOW - 4 * HOUR))

    assert source.read_ == ["old"]
    assert ids(found) == (["old"] if end else [])


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60)), max_size=12), st.integers(1, 5))
def test_glancing_loses_no_session(
    tmp_path_factory: pytest.TempPathFactory, ages: list[tuple[int, int]], limit: int
) -> None:
    """Night after night all are read once, whatever the files' times say of them."""
    home = tmp_path_factory.mktemp("home")
    for at, (hours, written) in enumerate(ages):
        kept(home, f"s{at}", hours, written)
    window, read, now, index = Window(), Counter[str](), NOW, Memory()
    for _ in range(len(ages) + 2):
        source = JsonlSource(home)
        found = gather(sources=[source], window=lambda source, window=window: window, now=now, limit=limit, index=index)
        read.update(ids(found))
        (window,) = found.windows.values()
        now += 24 * HOUR

    assert read == Counter(f"s{at}" for at in range(len(ages)))


@pytest.mark.parametrize("seconds", [-(10**12), -1, 0, 10**12])
def test_any_time_of_a_file_is_one(seconds: int) -> None:
    """A disk may say anything; what is beyond the calendar is at its end."""
    state = FileState("/a.jsonl", 1, seconds * 10**9, 1, 0)
    found = gather(sources=[Listed([Transcript((state,))], Fixed([session(ended=None)]))])

    assert ids(found) == ["s1"]
