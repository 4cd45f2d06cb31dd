"""What never leaves the clone: whole files or none, for their owner only, and nothing damaged is lost."""

from __future__ import annotations

import json
import multiprocessing
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from skillopt_git.bank import Bank
from skillopt_git.errors import Busy, ConfigError
from skillopt_git.private import KEY_BYTES, Checkpoint, Private
from skillopt_git.whole import write
from skillopt_git.window import Window

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def private(tmp_path: Path) -> Private:
    return Private(tmp_path)


def test_the_key_is_made_once(private: Private) -> None:
    """The same for ever after, random, and unreadable for others."""
    key = private.key()

    assert len(key) == KEY_BYTES
    assert private.key() == key
    assert (private.folder / "key").stat().st_mode & 0o077 == 0


def test_who_makes_the_key_second_takes_the_first(private: Private) -> None:
    """Two processes at once agree."""
    key = private.key()

    write(private.folder / "key", b"x" * KEY_BYTES, replace=False)

    assert private.key() == key
    assert [path.name for path in private.folder.iterdir()] == ["key"]


def test_a_key_that_was_cut_off_is_not_used(private: Private) -> None:
    """An empty key would make marks that anybody can compute."""
    (private.folder / "key").write_bytes(b"")

    assert len(private.key()) == KEY_BYTES
    assert "key was damaged" in private.notes[0]


def test_a_clone_has_a_name_of_its_own(private: Private, tmp_path: Path) -> None:
    """Eight random digits that stay, and that nothing else knows."""
    other = tmp_path / "other"
    other.mkdir()

    name = private.machine()

    assert re.fullmatch("[0-9a-f]{8}", name)
    assert private.machine() == name
    assert (private.folder / "machine").stat().st_mode & 0o077 == 0
    assert Private(other).machine() != name


@pytest.mark.parametrize("damaged", [b"", b"acme-api", b"0a1b2c3d\n", b"\xff" * 8])
def test_a_damaged_name_is_not_used(private: Private, damaged: bytes) -> None:
    """It goes into a ledger that others read."""
    (private.folder / "machine").write_bytes(damaged)

    assert re.fullmatch("[0-9a-f]{8}", private.machine())
    assert "machine was damaged" in private.notes[0]


def test_a_checkpoint_comes_back_as_it_was_saved(private: Private) -> None:
    """One window for each source and home; work trees are only ever added."""
    alice, bob = ("claude", "/home/alice"), ("claude", "/home/bob")
    assert private.checkpoint().window(alice) == Window()
    first = private.checkpoint().moved({alice: Window(NOON, {"s1": NOON})}, ["/srv/one"])
    private.save("checkpoint.json", first.moved({bob: Window(NOON)}, ["/srv/two"]))

    found = private.checkpoint()

    assert (found.window(alice), found.window(bob)) == (Window(NOON, {"s1": NOON}), Window(NOON))
    assert found.worktrees == ("/srv/one", "/srv/two")


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"v": 1, "extra": 2}', '{"v": true}', "\x00"])
def test_what_is_damaged_is_kept_aside(private: Private, damage: str) -> None:
    """It starts anew, says so, and the damaged file is still there."""
    (private.folder / "bank.json").write_text(damage)

    assert private.bank() == Bank()
    assert "bank.json was damaged" in private.notes[0]
    assert [path.read_text() for path in private.folder.glob("bank.json.damaged-*")] == [damage]


def test_what_a_newer_tool_wrote_is_not_damaged(private: Private) -> None:
    """It is refused with the advice to update, and stays where it is."""
    (private.folder / "checkpoint.json").write_text(json.dumps({"v": 2, "more": {}}))

    with pytest.raises(ConfigError, match="newer tool"):
        private.checkpoint()

    assert [path.name for path in private.folder.iterdir()] == ["checkpoint.json"]


def test_a_write_that_fails_leaves_the_file_as_it_was(private: Private, tmp_path: Path) -> None:
    """And no half of it beside it."""
    target = tmp_path / "folder"
    target.mkdir()
    (target / "inside").write_text("x")

    with pytest.raises(OSError, match="directory"):
        write(target, b"new")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]


def test_reports_are_found_by_their_run(private: Private) -> None:
    """The newest last; a name that leads elsewhere finds nothing."""
    assert private.last_report() is None
    for run in ("20261129T030000Z-00000002", "20261128T030000Z-00000001"):
        folder = private.report(run, {"report.md": f"about {run}"})
        assert folder.stat().st_mode & 0o077 == 0
    (private.folder / "report.md").write_text("outside")

    assert private.last_report() == "20261129T030000Z-00000002"
    assert private.read_report("20261128T030000Z-00000001", "report.md") == "about 20261128T030000Z-00000001"
    assert private.read_report("20261128T030000Z-00000001", "diagnostics.json") is None
    for name in ("..", ".", "", "/etc", "../../x"):
        assert private.read_report(name, "report.md") is None


def _hold(folder: Path, ready: multiprocessing.synchronize.Event, done: multiprocessing.synchronize.Event) -> None:
    with Private(folder).lock():
        ready.set()
        done.wait(30)


def test_the_lock_names_who_holds_it_and_dies_with_them(private: Private) -> None:
    """Another process is told apart by its number; when it is killed, the lock is free."""
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(private.folder, ready, done))
    other.start()
    assert ready.wait(30)

    with pytest.raises(Busy, match=f"process {other.pid} is already at work") as caught, private.lock():
        pass
    assert caught.value.exit_code == 75

    other.kill()
    other.join()
    with private.lock():
        assert (private.folder / "lock.owner").is_file()
    assert not (private.folder / "lock.owner").exists()


def test_a_checkpoint_does_not_forget_other_homes() -> None:
    """Moving one leaves the others, and the value it was made from."""
    before = Checkpoint(read={"claude": {"/a": NOON}})

    after = before.moved({("claude", "/b"): Window(NOON)})

    assert after.read == {"claude": {"/a": NOON, "/b": NOON}}
    assert before.read == {"claude": {"/a": NOON}}


def test_a_checkpoint_that_somebody_edited_is_read_as_meant(private: Private) -> None:
    """A time without a zone is UTC; one that is nested beyond reading is kept aside like any that is damaged."""
    path = private.folder / "checkpoint.json"
    path.write_text('{"v": 1, "read": {"claude": {"/a": "2026-11-29T12:00:00"}}}')
    assert private.checkpoint().window(("claude", "/a")) == Window(datetime(2026, 11, 29, 12, tzinfo=UTC))

    path.write_text('{"v": 1, "read": ' + "[" * 200_000)
    assert private.checkpoint() == Checkpoint()
    assert "checkpoint.json was damaged" in private.notes[0]


def test_a_bank_of_before_is_read(tmp_path: Path) -> None:
    """Its wordings are sightings now; nothing that a person reviewed is lost."""
    task = {"id": "t1-b", "ask": "Add it", "needs": ["n1-a"], "sessions": ["s1"], "golden": True}
    old = {
        "v": 1,
        "tasks": [task],
        "needs": {"n1-a": "Use x"},
        "wordings": {"n1-a": {"t1-b": "Use x"}},
        "turns": {"u": "t1-b"},
    }
    (tmp_path / "bank.json").write_text(json.dumps(old))

    bank = Private(tmp_path).bank()

    assert (bank.tasks[0].golden, bank.needs) == (True, {"n1-a": "Use x"})
    assert [(item.need, item.turn, item.session, item.task) for item in bank.sightings] == [("n1-a", "u", "s1", "t1-b")]
