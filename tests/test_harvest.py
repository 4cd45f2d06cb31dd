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

from skillopt_git.cleaning import REPLAY_MARKER, heading
from skillopt_git.model import Session, Skipped, Turn
from skillopt_git.ports import LearningEvent, Scanned, SessionSource
from skillopt_git.scope import Scope
from skillopt_git.sources.claude import ClaudeSource
from skillopt_git.sources.jsonl import JsonlSource
from skillopt_git.transcripts import FileState, Span, Transcript
from skillopt_git.window import Window
from tests.found import HOUR, NOW, Fixed, Hiding, Memory, gather, ids, reasons, session


def mark(source: Fixed, at: int) -> str:
    """The digest of a session of the source."""
    piece = source.pieces[at]
    assert isinstance(piece, Session)
    return heading(piece).digest


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
        session("broken", f"{REPLAY_MARKER} is broken, fix it"),
    )

    assert ids(found) == ["answered", "broken", "later", "longer", "other", "spoken"]
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
        ("claude", "/l"): Window(NOW - 8 * HOUR, {mark(left, 0): NOW, mark(left, 1): NOW - HOUR}),
        ("claude", "/r"): Window(NOW),
    }


def test_the_next_window_never_starts_after_now() -> None:
    """An unread session of a clock that is ahead does not move the window beyond the start of this harvest."""
    source = Fixed([session("ahead", ended=NOW + 9 * HOUR), session("next", ended=NOW + 10 * HOUR)])
    found = gather(sources=[source], limit=1)

    assert ids(found) == ["next"]
    assert found.windows == {("claude", "/home/alice/.claude"): Window(NOW, {mark(source, 1): NOW + 10 * HOUR})}


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
    """What was read before is known by what was said in it."""
    before = Fixed([session("s1", "one"), session("s2", "one")])
    home = Window(NOW - 9 * HOUR, {mark(before, at): NOW - HOUR for at in (0, 1)})
    found = gather(session("s1", "one", "two"), session("s2", "one"), window=lambda source: home)

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
    """Claude Code's session of one prompt that was typed so many hours ago, in a file last `written` then."""
    path = home / "projects" / "x" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(prompt(name, NOW - hours * HOUR))
    return aged(path, hours if written is None else written)


def prompt(session: str, time: datetime | None, text: str = "Run the tests", cwd: str = "/x") -> str:
    record = {"uuid": f"{session}-{text[:9]}", "parentUuid": None, "sessionId": session, "cwd": cwd, "type": "user"}
    told = {"promptSource": "typed", "message": {"role": "user", "content": text}}
    return json.dumps(record | told | ({"timestamp": time.isoformat()} if time else {})) + "\n"


def aged(path: Path, hours: float) -> Path:
    seconds = (NOW - hours * HOUR).timestamp()
    os.utime(path, (seconds, seconds))
    return path


@dataclass
class Watched:
    """A source; it notes what is read."""

    inner: SessionSource
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
    source, index = Watched(ClaudeSource(tmp_path)), Memory()
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
    sources = [Watched(ClaudeSource(home)) for home in homes]
    found = gather(sources=sources, limit=4)

    assert ids(found) == ["s03", "s02", "s01", "s00"]
    assert sorted(name for source in sources for name in source.read_) == ["s00", "s01", "s02", "s03"]
    assert [tally.skipped for tally in found.tallies] == [{"over the limit": 8}] * 2
    oldest = [window.since for window in found.windows.values()]
    assert oldest == [NOW - 18 * HOUR, NOW - 19 * HOUR]


@pytest.mark.parametrize("long", [True, False], ids=["a long last line", "no times"])
def test_a_file_whose_end_tells_no_time_is_read(tmp_path: Path, long: bool) -> None:
    """It may be younger than its file says."""
    path = kept(tmp_path, "old", 1, written=9)
    path.write_text(path.read_text() + prompt("old", None, "x" * 400_000) if long else prompt("old", None))
    aged(path, 9)
    source = Watched(ClaudeSource(tmp_path))
    found = gather(sources=[source], window=lambda source: Window(NOW - 4 * HOUR))

    assert source.read_ == ["old"]
    assert ids(found) == (["old"] if long else [])


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60)), max_size=12), st.integers(1, 5))
def test_glancing_loses_no_session(
    tmp_path_factory: pytest.TempPathFactory, ages: list[tuple[int, int]], limit: int
) -> None:
    """Night after night all are read once, whatever the files' times say of them."""
    home = tmp_path_factory.mktemp("home")
    (home / "projects").mkdir()
    for at, (hours, written) in enumerate(ages):
        kept(home, f"s{at}", hours, written)
    window, read, now, index = Window(), Counter[str](), NOW, Memory()
    for _ in range(len(ages) + 2):
        source = ClaudeSource(home)
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


# --- what is left for another time -------------------------------------------------------------------------------


def test_what_could_not_be_read_tonight_is_in_the_next_window() -> None:
    """A file that was replaced or closed to us while we looked keeps the window where it was."""
    start = Window(NOW - 40 * HOUR)
    broken = Fixed([session("s1"), Skipped("/x", "unreadable")])
    (after,) = gather(sources=[broken], window=lambda source: start).windows.values()
    mended = gather(session("s1"), session("x", ended=NOW - 30 * HOUR), window=lambda source: after)

    assert after == Window(NOW - 40 * HOUR, {mark(broken, 0): NOW - HOUR})
    assert ids(mended) == ["x"]


@pytest.mark.parametrize("reason", ["no such folder", "unreadable"])
def test_a_home_that_is_not_there_tonight_was_not_read(reason: str) -> None:
    """A disk that is not mounted, a name that was mistyped: nothing of the home is taken for seen."""
    assert gather(Skipped("/home/alice/.claude/projects", reason)).windows == {}


def test_looking_back_a_little_forgets_nothing_that_was_left() -> None:
    """An explicit look-back is tonight's window only."""
    known = Window(NOW - 90 * HOUR, {"a": NOW - 80 * HOUR})
    source = Fixed([session("s1")])
    (after,) = gather(sources=[source], window=lambda _: Window(NOW - 2 * HOUR, known=known)).windows.values()

    assert after.since == NOW - 90 * HOUR
    assert {*after.read} == {"a", mark(source, 0)}


def test_what_the_limit_left_moves_no_window_before_its_start(tmp_path: Path) -> None:
    """A session may have begun long before; what matters is when it was last active."""
    for at in range(3):
        path = kept(tmp_path, f"s{at}", at + 1)
        path.write_text(prompt(f"s{at}", NOW - 900 * HOUR, "Long ago") + path.read_text())
        aged(path, at + 1)
    found = gather(sources=[ClaudeSource(tmp_path)], window=lambda source: Window(NOW - 72 * HOUR), limit=1)

    (after,) = found.windows.values()
    assert ids(found) == ["s0"]
    assert after.since == NOW - 72 * HOUR


def test_a_name_with_a_secret_is_read_once_all_the_same() -> None:
    """It is known by its digest, which tells nothing."""
    secret = Hiding().secret
    pieces = [session(f"{secret}-{at}", ended=NOW - at * HOUR) for at in range(4)]
    (after,) = gather(*pieces, limit=2).windows.values()
    again = gather(*pieces, limit=2, window=lambda source: after)

    assert secret not in repr(after)
    assert [item.id[-1] for item in again.sessions] == ["3", "2"]


def test_equal_ids_are_copies_only_if_they_say_the_same() -> None:
    """Two logs may both call their session `log`, and their turns by numbers."""
    turns = [(Turn(id="1", kind="prompt", text=text),) for text in ("Run the tests", "Add a test", "Run the tests")]
    pieces = [session("log", path=f"/{at}/log.jsonl", turns=said) for at, said in enumerate(turns)]
    found = gather(*pieces)

    assert [item.path for item in found.sessions] == ["/0/log.jsonl", "/1/log.jsonl"]
    assert reasons(found) == [("/2/log.jsonl", "a copy", 1)]


def test_what_was_only_glanced_at_and_is_read_later_is_kept_like_anything_else(tmp_path: Path) -> None:
    """No secret of a folder's name gets into the index that way."""
    secret, index = Hiding().secret, Memory()
    path = kept(tmp_path, "old", 9)
    path.write_text(prompt("old", NOW - 9 * HOUR, cwd=f"/srv/{secret}"))
    aged(path, 9)
    gather(sources=[ClaudeSource(tmp_path)], window=lambda source: Window(NOW - HOUR), index=index)
    found = gather(sources=[ClaudeSource(tmp_path)], index=index)

    assert ids(found) == ["old"]
    assert secret not in repr(index)


def test_a_file_of_many_sessions_is_opened_once_for_all_of_them(tmp_path: Path) -> None:
    """Also when the index knew them, and nothing of what they say."""
    told = [{"session": f"s{at}", "role": "user", "text": f"Ask {at}"} for at in range(50)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in told))
    index, source = Memory(), Watched(JsonlSource(tmp_path))
    gather(sources=[source], limit=1, index=index)

    assert len(ids(gather(sources=[source], index=index))) == 50
    assert source.read_ == ["log"] * 2
