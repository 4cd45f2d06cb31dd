"""The index: a memory of harvests that may be lost or damaged at any time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.index import Index
from skillopt_git.model import Skipped
from skillopt_git.transcripts import Entry, FileState, Span
from skillopt_git.window import Window
from tests.found import HOUR, NOW, Memory, gather, session

HOME = ("claude", "/home/alice/.claude")


def entries() -> dict[str, Entry]:
    memory = Memory()
    gather(session("a", "Grüße ✅", started=NOW - HOUR, final="done", tools=("Bash",)), session("b"), index=memory)
    return {
        **memory.entries[HOME],
        "/b": Entry(files=(FileState("/b", 1, 2, 3, 4),), glance=Span(NOW - HOUR, NOW)),
        "/c": Entry(files=(FileState("/c", 1, 2, 3, 4),), skipped=(Skipped("/c", "not JSON", 3),)),
    }


def test_what_was_kept_is_recalled(tmp_path: Path) -> None:
    """Whole and equal; other homes and other makers know nothing of it; only the owner may read it."""
    index, kept = Index(tmp_path / "index", "v1", Path.unlink), entries()
    index.keep(HOME, kept)

    assert index.recall(HOME) == kept
    assert index.recall(("codex", HOME[1])) == {}
    assert Index(tmp_path / "index", "v2", Path.unlink).recall(HOME) == {}
    assert [path.stat().st_mode & 0o077 for path in (tmp_path / "index").rglob("*")] == [0]
    assert (tmp_path / "index").stat().st_mode & 0o077 == 0


def test_no_index_is_an_empty_one(tmp_path: Path) -> None:
    """The first harvest has none."""
    assert Index(tmp_path / "index", "v1", Path.unlink).recall(HOME) == {}


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{}",
        b"[1]",
        b'{"made_by":"v1","entries":[{}]}',
        b"\xff",
        b"null",
        b'{"zz":' + b"[" * 200_000,
    ],
)
def test_a_damaged_index_is_none(tmp_path: Path, damage: bytes) -> None:
    """It is put aside and made anew; another version's, which may look otherwise, is no damage."""
    aside: list[Path] = []
    index = Index(tmp_path, "v1", aside.append)
    index.keep(HOME, entries())
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)

    assert index.recall(HOME) == {}
    assert aside == [file]
    file.write_bytes(b'{"made_by":"v0","entries":[{}]}')
    assert index.recall(HOME) == {}
    assert aside == [file]
    index.keep(HOME, entries())
    assert index.recall(HOME) == entries()


def test_an_entry_of_no_file_is_none(tmp_path: Path) -> None:
    """It could be about anything."""
    index = Index(tmp_path, "v1", Path.unlink)
    index.keep(HOME, {})
    (file,) = tmp_path.iterdir()
    file.write_bytes(b'{"made_by":"v1","entries":[{"files":[]}]}')

    assert index.recall(HOME) == {}


@given(st.data())
def test_half_an_index_is_none(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Wherever it is cut off."""
    index = Index(tmp_path_factory.mktemp("index"), "v1", Path.unlink)
    index.keep(HOME, entries())
    (file,) = index.folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])

    assert index.recall(HOME) == {}


def test_an_index_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """The next harvest takes longer; this one has its answer."""
    (tmp_path / "index").write_text("in the way")
    index = Index(tmp_path / "index", "v1", Path.unlink)
    index.keep(HOME, entries())

    assert index.recall(HOME) == {}


def test_an_index_grows_with_what_there_is_only(tmp_path: Path) -> None:
    """What was read in earlier nights is not kept whole for ever."""
    index = Index(tmp_path, "v1", Path.unlink)
    pieces = [session(f"s{at}", "x" * 5000, ended=NOW - at * HOUR) for at in range(20)]
    window, sizes = Window(), []
    for _ in range(5):
        found = gather(*pieces, index=index, limit=4, window=lambda source, window=window: window)
        (window,) = found.windows.values()
        sizes.append(next(tmp_path.iterdir()).stat().st_size)

    assert max(sizes) < 4 * 6000 + 20 * 600
