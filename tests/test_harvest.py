"""Which sessions a night reads, and that nothing secret is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.harvest import REPLAY_MARKER, TURN_LIMIT, Harvest, Scope, harvest
from skillopt_git.model import Session, Skipped, Turn
from skillopt_git.sources.claude import ClaudeSource

NOW = datetime(2026, 11, 29, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)
EVERYWHERE = Scope(roots=None)
GENUINE = Path(__file__).parent / "data" / "transcripts" / "claude" / "v2.1.197" / ".claude"


@dataclass(frozen=True)
class Fixed:
    """A source that holds what it was given, and leaves the window to the stage."""

    pieces: Sequence[Session | Skipped]
    name: str = "claude"
    home: str = "/home/alice/.claude"

    def sessions(self, since: datetime | None) -> Iterator[Session | Skipped]:
        yield from self.pieces


def session(id_: str = "s1", *texts: str, **fields: Any) -> Session:
    turns = tuple(
        Turn(id=f"{id_}-{at}", kind="prompt", text=text) for at, text in enumerate(texts or ("Run the tests",))
    )
    given = {"path": f"/{id_}.jsonl", "cwd": "/home/alice/acme-api", "ended": NOW - HOUR, "turns": turns, **fields}
    return Session(id=id_, source="claude", **given)


def gather(*pieces: Session | Skipped, **options: Any) -> Harvest:
    given: dict[str, Any] = {
        "scope": EVERYWHERE,
        "since": lambda source: None,
        "now": NOW,
        "redact": lambda text: text,
        "headless": "keep",
        "limit": 100,
        **options,
    }
    sources = given.pop("sources", [Fixed(pieces)])
    return harvest(sources, **given)


def ids(found: Harvest) -> list[str]:
    return [item.id for item in found.sessions]


def reasons(found: Harvest) -> list[tuple[str, str, int]]:
    return [(item.path, item.reason, item.count) for item in found.skipped]


# --- scope -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cwd", "held"),
    [
        ("/a/b", True),
        ("/a/b/", True),
        ("/a/b/c", True),
        ("/a/x/../b", True),
        ("/a/bc", False),
        ("/a", False),
        ("/a/b/../c", False),
        ("", False),
        (None, False),
        (".", False),
        ("a/b", False),
        ("/a/b/\0", False),
    ],
)
def test_a_scope_holds_its_roots_and_what_lies_below(cwd: str | None, held: bool) -> None:
    """Folders are compared part by part, gone ones too; a session that is nowhere belongs to no root."""
    scope = Scope(roots=(Path("/x"), Path("/a/b")))

    assert scope.holds(session(cwd=cwd)) is held
    assert EVERYWHERE.holds(session(cwd=cwd))


def test_a_session_without_cwd_is_not_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running the tool inside the repository claims no session that does not say where it ran."""
    monkeypatch.chdir(tmp_path)

    assert not Scope(roots=(tmp_path,)).holds(session(cwd=None))
    assert not Scope(roots=(tmp_path,)).holds(session(cwd="."))


def test_a_scope_sees_through_links(tmp_path: Path) -> None:
    """A repository is the same by whatever link the session or the root names it."""
    (tmp_path / "real" / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")

    assert Scope(roots=(tmp_path / "real",)).holds(session(cwd=str(tmp_path / "link" / "src")))
    assert Scope(roots=(tmp_path / "link",)).holds(session(cwd=str(tmp_path / "real" / "src" / "gone")))


def test_a_worktree_session_belongs_to_its_repository() -> None:
    """A genuine session that ran in a worktree elsewhere counts by where it was started from."""
    (found,) = (
        item
        for item in ClaudeSource(GENUINE).sessions(None)
        if isinstance(item, Session) and item.id.startswith("226cc8fa")
    )
    repository = Scope(roots=(Path("/home/dev/acme-api"),))

    assert repository.holds(found)
    assert repository.holds(replace(found, cwd="/tmp/elsewhere"))
    assert not Scope(roots=(Path("/home/dev/acme-web"),)).holds(found)


def test_the_genuine_corpus_is_scoped_to_one_repository() -> None:
    """Of all the genuine sessions only the repository's are read, and each other one is counted."""
    source = ClaudeSource(GENUINE)
    found = gather(sources=[source], scope=Scope(roots=(Path("/home/dev/acme-web"),)))

    assert [item.id[:8] for item in found.sessions] == ["b99eedf5", "0a76effa"]
    assert sum(item.count for item in found.skipped) + 2 == len(list(source.sessions(None)))


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
        since=lambda source: NOW - 4 * HOUR,
        headless="skip",
    )

    assert ids(found) == ["kept"]
    assert reasons(found) == [
        ("/elsewhere.jsonl", "outside the scope", 1),
        ("/old.jsonl", "before the window", 1),
        ("/robot.jsonl", "headless", 1),
        ("/mute.jsonl", "no prompt", 1),
        ("/broken.jsonl", "not JSON", 2),
    ]


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

    assert sorted(item.path for item in found.sessions) == ["/copy.jsonl", "/more.jsonl"]
    assert reasons(found) == [("/s1.jsonl", "a copy", 1)]


# --- window and limit --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ended", "kept"),
    [
        (NOW - 3 * HOUR, True),
        (NOW - 3 * HOUR - timedelta(microseconds=1), False),
        ((NOW - 2 * HOUR).astimezone(timezone(-8 * HOUR)), True),
        ((NOW - 4 * HOUR).astimezone(timezone(8 * HOUR)), False),
        (NOW + 24 * HOUR, True),
        (None, True),
    ],
)
def test_the_window_compares_instants(ended: datetime | None, kept: bool) -> None:
    """The edge is inside, offsets do not matter, the future is kept, and so is a session without times."""
    found = gather(session(ended=ended), since=lambda source: NOW - 3 * HOUR)

    assert ids(found) == (["s1"] if kept else [])


def test_a_session_counts_by_its_last_activity() -> None:
    """A long session that ended in the window is read, however early it started; without an end the start counts."""
    start = NOW - 3 * HOUR
    found = gather(
        session("long", started=NOW - 90 * HOUR, ended=NOW - HOUR),
        session("short", started=NOW - 4 * HOUR, ended=None),
        since=lambda source: start,
    )

    assert ids(found) == ["long"]


def test_each_source_has_its_own_window() -> None:
    """The window is asked for by source."""
    sources = [Fixed([session("a")], home="/a"), Fixed([session("b")], home="/b")]
    found = gather(sources=sources, since=lambda source: NOW if source.home == "/a" else None)

    assert ids(found) == ["b"]
    assert found.read_from == {("claude", "/a"): NOW, ("claude", "/b"): NOW}


def test_sessions_come_in_the_order_of_their_last_activity() -> None:
    """Oldest first, by id where that is equal, those without times before all."""
    pieces = [session("c"), session("b"), session("a", ended=NOW), session("d", ended=None)]

    assert ids(gather(*pieces)) == ids(gather(*reversed(pieces))) == ["d", "b", "c", "a"]


def test_the_limit_keeps_the_newest_and_remembers_the_rest() -> None:
    """What the limit leaves unread is counted, and the next window of its home begins at the oldest of it."""
    left = Fixed([session(f"l{at}", ended=NOW - at * HOUR) for at in range(4)] + [session("l9", ended=None)], home="/l")
    right = Fixed([session("r", ended=NOW - HOUR / 2)], home="/r")
    found = gather(sources=[left, right], limit=3)

    assert ids(found) == ["l1", "r", "l0"]
    assert [item.path for item in found.skipped if item.reason == "over the limit"] == [
        "/l9.jsonl",
        "/l3.jsonl",
        "/l2.jsonl",
    ]
    assert found.read_from == {("claude", "/l"): NOW - 3 * HOUR, ("claude", "/r"): NOW}


def test_the_next_window_never_starts_after_now() -> None:
    """An unread session from the future does not move the window beyond the start of this harvest."""
    found = gather(session("future", ended=NOW + 9 * HOUR), limit=0)

    assert (ids(found), found.read_from) == ([], {("claude", "/home/alice/.claude"): NOW})


# --- redaction ---------------------------------------------------------------------------------------------------

SECRET = "sk-secret-0123456789"
MARK = "[REDACTED:key:0a1b2c3d]"


def hide(text: str) -> str:
    return text.replace(SECRET, MARK)


def test_nothing_leaves_unredacted() -> None:
    """A secret in any text of a session, in a path or in a skipped path is gone; the scope still saw the real cwd."""
    place = f"/srv/{SECRET}"
    turns = tuple(
        Turn(id=f"{kind}-{SECRET}", kind=kind, text=SECRET) for kind in ("prompt", "command", "shell", "answer")
    )
    dirty = session(
        f"s1-{SECRET}",
        path=place,
        cwd=place,
        original_cwd=place,
        branch=SECRET,
        turns=turns,
        final=SECRET,
        tools=(SECRET,),
        skills=(SECRET,),
        files=(place,),
    )
    found = gather(dirty, Skipped(place, "not JSON"), redact=hide, scope=Scope(roots=(Path(place),)))

    assert ids(found) == [f"s1-{MARK}"]
    assert SECRET not in repr(found)
    assert {turn.text for turn in found.sessions[0].turns} == {MARK}
    assert found.skipped[0].path == f"/srv/{MARK}"


def test_a_uuid_is_no_secret() -> None:
    """The usual ids of sessions and turns stay as they are, whatever the rules for secrets make of them."""
    usual = "226CC8FA-0c1d-4b6e-9f00-5a1b2c3d4e5f"
    turns = (Turn(id=usual, kind="prompt", text="Run the tests"), Turn(id=f"{usual}0", kind="prompt", text="Go on"))

    (found,) = gather(session(usual, turns=turns), redact=lambda text: MARK).sessions

    assert (found.id, [turn.id for turn in found.turns]) == (usual, [usual, MARK])


@given(st.integers(min_value=-len(SECRET) - len(MARK), max_value=5))
def test_a_secret_across_the_limit_leaves_no_part(shift: int) -> None:
    """Text is redacted before it is cut, so no part of a secret, nor of its mark, is left at the cut."""
    text = "x" * (TURN_LIMIT + shift) + SECRET + "y" * 100
    found = gather(session("s1", text, final=text), redact=hide).sessions[0]

    for clipped in (found.turns[0].text, found.final):
        assert len(clipped) <= TURN_LIMIT
        assert clipped.endswith("…")
        assert "sk-" not in clipped
        assert clipped.count("[") == clipped.count(MARK)


def test_text_that_fits_is_whole() -> None:
    """A turn of exactly the limit is not cut."""
    text = "x" * TURN_LIMIT

    assert gather(session("s1", text)).sessions[0].turns[0].text == text
