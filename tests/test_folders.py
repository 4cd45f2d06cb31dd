"""Finding files: every one once, none outside, and nothing in the way stops the walk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt_git.errors import ConfigError
from skillopt_git.folders import agent_home, walk
from skillopt_git.model import Skipped
from skillopt_git.transcripts import FileState


def found(root: Path, start: str = "") -> list[str]:
    """The files found, relative to the root."""
    return [str(Path(item.path).relative_to(root)) for item in everything(root, start) if isinstance(item, FileState)]


def told(root: Path, start: str = "") -> list[tuple[str, str]]:
    return [
        (str(Path(item.path).relative_to(root)), item.reason)
        for item in everything(root, start)
        if isinstance(item, Skipped)
    ]


def everything(root: Path, start: str) -> list[FileState | Skipped]:
    return list(walk(root, root / start, lambda name: name.endswith(".jsonl")))


def fill(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def test_files_come_in_order_and_say_how_they_stand(tmp_path: Path) -> None:
    """Folder by folder, each file with its size, time and identity; other names are not looked at."""
    fill(tmp_path, "b/2.jsonl", "b/1.jsonl", "a/x/3.jsonl", "a/notes.md", "top.jsonl")

    assert found(tmp_path) == ["top.jsonl", "a/x/3.jsonl", "b/1.jsonl", "b/2.jsonl"]
    (state,) = (item for item in everything(tmp_path, "a") if isinstance(item, FileState))
    info = (tmp_path / "a/x/3.jsonl").stat()
    assert (state.size, state.mtime_ns, state.inode) == (11, info.st_mtime_ns, info.st_ino)


def test_a_start_that_is_not_there_is_told(tmp_path: Path) -> None:
    """No folder is no error, and is named."""
    assert told(tmp_path, "gone") == [("gone", "no such folder")]
    fill(tmp_path, "file")
    assert told(tmp_path, "file") == [("file", "unreadable")]


def test_links_are_followed_within_the_root_only(tmp_path: Path) -> None:
    """Each file once by whatever way; what leads out is told and not read."""
    home, outside = tmp_path / "home", tmp_path / "outside"
    fill(home, "real/1.jsonl")
    fill(outside, "2.jsonl")
    (home / "again.jsonl").symlink_to("real/1.jsonl")
    (home / "folder").symlink_to("real")
    (home / "out.jsonl").symlink_to(outside / "2.jsonl")
    (home / "out").symlink_to(outside)
    (home / "gone.jsonl").symlink_to("nowhere.jsonl")
    (home / "other").symlink_to("nowhere")
    os.link(home / "real/1.jsonl", home / "real/hard.jsonl")

    assert found(home) == ["again.jsonl"]
    assert told(home) == [
        ("gone.jsonl", "a dangling link"),
        ("out", "a link out of the folder"),
        ("out.jsonl", "a link out of the folder"),
    ]


def test_a_start_that_leads_out_is_not_entered(tmp_path: Path) -> None:
    """Also when the folder itself is the link."""
    fill(tmp_path, "outside/1.jsonl")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/projects").symlink_to(tmp_path / "outside")

    assert told(tmp_path / "home", "projects") == [("projects", "a link out of the folder")]
    assert found(tmp_path / "home", "projects") == []


def test_a_home_that_is_a_link_is_a_home(tmp_path: Path) -> None:
    """Many keep it elsewhere and link to it."""
    fill(tmp_path, "disk/home/projects/1.jsonl")
    (tmp_path / "home").symlink_to("disk/home")

    assert found(tmp_path / "home", "projects") == ["projects/1.jsonl"]


def test_loops_end(tmp_path: Path) -> None:
    """A folder inside itself, and a link to itself."""
    fill(tmp_path, "a/1.jsonl")
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "a/self.jsonl").symlink_to("self.jsonl")

    assert found(tmp_path) == ["a/1.jsonl"]
    assert [name for name, _ in told(tmp_path)] == ["a/self.jsonl"]


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    """A folder, a pipe: named like a transcript, and never opened."""
    fill(tmp_path, "x.jsonl/inner.jsonl", "ok.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")

    assert found(tmp_path) == ["ok.jsonl"]
    assert told(tmp_path) == [("pipe.jsonl", "not a file"), ("x.jsonl", "not a file")]


def test_a_folder_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    """The rest is found. In a process of its own, for the administrator may read everything."""
    fill(tmp_path, "closed/1.jsonl", "open/2.jsonl")
    tmp_path.chmod(0o755)
    (tmp_path / "open").chmod(0o755)
    (tmp_path / "closed").chmod(0)
    code = (
        "import os\n"
        "from pathlib import Path\n"
        "from skillopt_git.folders import walk\n"
        "entries = walk(Path(), Path(), lambda name: name.endswith('.jsonl'))\n"
        "os.getuid() or os.setuid(65534)\n"
        "print([(type(item).__name__, Path(item.path).name) for item in entries])\n"
    )
    try:
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    finally:
        (tmp_path / "closed").chmod(0o755)

    assert done.stdout.strip() == "[('Skipped', 'closed'), ('FileState', '2.jsonl')]"


def test_a_deep_tree_is_walked(tmp_path: Path) -> None:
    """Deeper than calls may nest would be deeper than paths may be; this is as deep as they may."""
    deep = tmp_path.joinpath(*["d"] * 900)
    deep.mkdir(parents=True)
    (deep / "1.jsonl").write_text("{}")

    assert found(tmp_path) == [str((deep / "1.jsonl").relative_to(tmp_path))]


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    """It could be neither written down nor shown; the rest is found."""
    fill(tmp_path, "ok.jsonl", "sub/2.jsonl")
    for name in (b"\xff.jsonl", b"\xfe"):
        try:
            (tmp_path / os.fsdecode(name)).mkdir()
        except OSError:
            pytest.skip("this disk takes no such names")

    assert found(tmp_path) == ["ok.jsonl", "sub/2.jsonl"]
    assert told(tmp_path) == [("?", "a name that is no text"), ("?.jsonl", "a name that is no text")]


def home(given: str, environ: dict[str, str]) -> Path:
    return agent_home(given, environ, setting="harvest.codex_home", variable="CODEX_HOME", default="~/.codex")


def test_a_home_is_found_by_setting_then_variable_then_default(tmp_path: Path) -> None:
    """And `~` is the home of the environment."""
    environ = {"HOME": str(tmp_path), "CODEX_HOME": "~/elsewhere"}

    assert home("~/given", environ) == tmp_path / "given"
    assert home("", environ) == tmp_path / "elsewhere"
    assert home("", {"HOME": "/home/alice"}) == Path("/home/alice/.codex")
    assert home("", {}) == Path("~/.codex").expanduser()
    assert home("here/../there", {}) == Path.cwd() / "there"


@pytest.mark.parametrize("given", ["~nobody-of-that-name/x", "/srv/\0", "/srv/\udcff"])
def test_a_home_that_cannot_be_is_refused(given: str) -> None:
    """Rather than read as an odd folder name."""
    with pytest.raises(ConfigError):
        home(given, {})
