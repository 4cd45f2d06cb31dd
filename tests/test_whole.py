"""Files that are there whole or not at all, and what is swept up after a process that died while writing one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillopt_git.whole import STALE, sweep, write
from tests.disks import files_of_at_most


def test_a_file_is_replaced_whole_and_for_its_owner_only(tmp_path: Path) -> None:
    """Nothing stays beside it, and a file that is to stay stays."""
    path = tmp_path / "bank.json"
    write(path, b"one")
    write(path, b"two", lasting=False)
    write(path, b"three", replace=False)

    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o077 == 0
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("replace", [True, False])
def test_an_error_names_the_file_and_leaves_nothing(tmp_path: Path, replace: bool) -> None:
    """Also where the system names none, as for a full disk."""
    path = tmp_path / "bank.json"
    with files_of_at_most(2), pytest.raises(OSError, match="File too large") as caught:
        write(path, b"one", replace=replace)

    assert caught.value.filename == str(path)
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(FileNotFoundError) as missing:
        write(tmp_path / "no" / "bank.json", b"one", replace=replace)
    assert missing.value.filename == str(tmp_path / "no" / "bank.json")


def test_what_a_dead_process_left_is_swept_up_and_nothing_else(tmp_path: Path) -> None:
    """At any depth, once it is so old that nobody can be writing it; a name of another form is somebody's."""
    (tmp_path / "cache" / "5a").mkdir(parents=True)
    old = [tmp_path / ".bank.json.k8pbs73j", tmp_path / "cache" / "5a" / ".5ac9.json.sfxybv0s"]
    others = [tmp_path / ".new.json.k8pbs73j", tmp_path / "bank.json", tmp_path / ".gitignore", tmp_path / ".a.swp"]
    folder = tmp_path / ".folder.k8pbs73j"
    folder.mkdir()
    for path in (*old, *others):
        path.touch()
    now = others[0].stat().st_mtime
    for path in (*old, *others[1:], folder):
        os.utime(path, (now - STALE - 1, now - STALE - 1))

    sweep(tmp_path, now)

    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in (*others, folder))
