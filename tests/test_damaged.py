"""What is kept between nights, damaged in every way: kept aside and told of, or an error that says what to mend."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from skillopt_git import cli
from skillopt_git.gitrepo import GitRepo
from skillopt_git.private import Private
from tests.helpers import Repository
from tests.helpers_git import TOOL
from tests.nights import PNPM, Place, Run, sessions

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

LEDGER = "refs/skillopt/ledger"
Say = Callable[..., str]


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def filled(path: Path) -> None:
    path.write_bytes(bytes(range(256)))


def replaced(path: Path) -> None:
    """By a folder with something in it."""
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("somebody's")


def closed(path: Path) -> None:
    """Nobody can read a link to itself, not even an administrator."""
    path.unlink()
    path.symlink_to(path.name)


def private(repo: Repository) -> Path:
    return repo.path / ".git" / "skillopt"


def left(repo: Repository) -> list[Path]:
    """What a night leaves in the private folder and a later one reads."""
    folder = private(repo)
    names = [folder / name for name in ("key", "machine", "bank.json", "checkpoint.json")]
    return [*names, *folder.glob("index/*"), *folder.glob("cache/*/*")]


@pytest.fixture
def after_a_night(beginning: Place, repo: Repository, home: Path, invoke: Run) -> dict[str, object]:
    """One rule is proposed, and everything that is kept is there."""

    def night() -> dict[str, object]:
        sessions(home, repo, PNPM)
        found = invoke("run")
        (private(repo) / "checkpoint.json").write_text('{"v": 1}')
        return found

    return beginning.start("a night", night)


@pytest.mark.parametrize("damage", [emptied, cut_off, filled, replaced])
def test_what_is_damaged_is_kept_aside_and_told(
    repo: Repository, invoke: Run, after_a_night: dict[str, object], damage: Callable[[Path], None]
) -> None:
    """All of it at once; the next run works, makes it anew, and proposes the same as before and nothing twice."""
    damaged = left(repo)
    assert len(damaged) > 6
    for path in damaged:
        damage(path)

    found = invoke("run")

    told = {note.partition(" was damaged")[0] for note in found["notes"] if "was damaged and is kept as" in note}
    there = {path.relative_to(private(repo)).as_posix() for path in damaged}
    answers = {name for name in there if name.startswith("cache/")}  # this night asks for some of them only
    assert there - answers <= told < there
    assert told & answers
    assert all(len([*private(repo).glob(f"{name}.damaged-*")]) == 1 for name in told)
    assert (found["branch"], found["commits"]) == (after_a_night["branch"], after_a_night["commits"])
    assert len(invoke("tasks list")["tasks"]) == 4
    assert not [note for note in invoke("run")["notes"] if "damaged" in note]


@pytest.mark.parametrize("name", ["key", "machine", "bank.json", "checkpoint.json"])
def test_what_may_not_be_read_is_no_damage(
    repo: Repository, invoke: Run, after_a_night: dict[str, object], name: str
) -> None:
    """Whoever closed it can open it: it stays, and the error names it."""
    closed(private(repo) / name)

    error = invoke("run", code=1)["error"]

    assert error["message"].startswith(str(private(repo) / name))
    assert "nothing is half-written" in error["hint"]
    assert (private(repo) / name).is_symlink()


@pytest.mark.parametrize("verb", [["tasks", "list"], ["harvest"]])
def test_who_only_looks_is_told_too(repo: Repository, capsys: pytest.CaptureFixture[str], verb: list[str]) -> None:
    """An empty list with nothing said would look as if nothing had been there."""
    (Private(private(repo)).made() / "bank.json").write_text("{")

    assert cli.run([*verb, "--repo", str(repo.path)]) == 0

    assert "bank.json was damaged and is kept as bank.json.damaged-" in capsys.readouterr().err


@pytest.mark.parametrize("said", [b"process 7", b"\xff\xfe", b""])
def test_a_held_lock_is_told_whatever_its_owner_left(repo: Repository, invoke: Run, said: bytes) -> None:
    """Its text is for people only: the lock itself is the system's."""
    with Private(private(repo)).lock():
        (private(repo) / "lock.owner").write_bytes(said)
        error = invoke("run", code=75)["error"]

    assert "is already at work in this repository" in error["message"]


@pytest.mark.parametrize("name", ["lock", "lock.owner"])
def test_a_folder_in_the_place_of_the_lock_is_an_error_that_names_it(repo: Repository, invoke: Run, name: str) -> None:
    """And nothing is held afterwards."""
    (private(repo) / name).mkdir(parents=True)

    error = invoke("run", code=1)["error"]

    assert error["message"] == f"{private(repo) / name}: Is a directory"
    (private(repo) / name).rmdir()
    invoke("run")


def rewritten(repo: Repository, pattern: str, change: Callable[[bytes], bytes]) -> None:
    """Somebody changes the files of the ledger whose path begins so."""
    git, head = GitRepo.open(repo.path), repo.git("rev-parse", LEDGER).strip()
    files = {entry.path: git.blob(entry.sha) for entry in git.paths(head, pattern)}
    changes = {path: ("100644", git.write_blob(change(data))) for path, data in files.items()}
    commit = git.commit(parent=head, changes=changes, message="Tamper\n", author=TOOL, when=datetime.now(UTC))
    git.update_ref(LEDGER, commit, head, "tamper")


def test_damaged_lines_of_the_ledger_are_passed_over_and_told(
    repo: Repository, invoke: Run, say: Say, after_a_night: dict[str, object]
) -> None:
    """By each run and by `status`; what was written after them is as good as ever, and they stay where they are."""
    rewritten(repo, "events/", lambda data: b'{"v":1,"id":"cut o\n' + data + b"\x00\xff\n[]\n\n" + data[:40])

    found = invoke("run")

    assert found["notes"][0].startswith(f"5 damaged lines in {LEDGER} passed over")
    assert (found["branch"], found["commits"]) == (after_a_night["branch"], after_a_night["commits"])
    assert "Passed over in the ledger: 5 damaged lines." in say("status")
    invoke("adopt")
    assert invoke("status")["damaged"] == 5


def test_evidence_that_was_changed_is_refused(repo: Repository, invoke: Run, after_a_night: dict[str, object]) -> None:
    """What is not what was measured is not shown and not adopted; refusing it is possible, and the next night works."""
    rewritten(repo, "evidence/", lambda data: data.replace(b'"night"', b'"knight"'))

    for verb in ("show", "adopt"):
        error = invoke(verb, code=1)["error"]
        assert "is not what its name says" in error["message"]
        assert LEDGER in error["hint"]
    invoke("run")
    invoke("reject")


@pytest.mark.parametrize("place", ["repository", "user"])
@pytest.mark.parametrize("damage", [cut_off, filled, replaced, closed])
def test_damaged_settings_stop_every_verb_before_it_does_anything(
    repo: Repository, isolated: Path, invoke: Run, place: str, damage: Callable[[Path], None]
) -> None:
    """Settings are what a person wrote: nothing stands in for them, and `doctor` tells the same."""
    own = isolated / ".config" / "skillopt" / "config.toml"
    path = repo.path / ".skillopt.toml" if place == "repository" else own
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[mine]\nmax_tasks = 3\n[gate]\nmetric = 'hard'")
    damage(path)

    error = invoke("run", code=2)["error"]

    assert error["kind"] == "config"
    assert str(path) in error["message"]
    assert not private(repo).exists()
    assert any(str(path) in finding["what"] for finding in invoke("doctor", code=1)["findings"])


def test_an_empty_settings_file_says_nothing(repo: Repository, invoke: Run) -> None:
    """No setting is no damage."""
    (repo.path / ".skillopt.toml").touch()

    assert invoke("run")["reason"] == "no_sessions"


@pytest.mark.parametrize("damage", [emptied, cut_off, filled, replaced, closed])
def test_a_damaged_report_is_no_traceback(
    repo: Repository, invoke: Run, say: Say, after_a_night: dict[str, object], damage: Callable[[Path], None]
) -> None:
    """It is shown as it is, or said not to be there; its diagnostics say that they are damaged."""
    folder = private(repo) / "reports" / str(after_a_night["run"])
    for path in (folder / "report.md", folder / "diagnostics.json"):
        damage(path)

    gone = damage in (replaced, closed)
    for args in (["--last"], ["--diagnostics"]):
        code = 2 if gone or args == ["--diagnostics"] else 0
        said = say("show", *args, code=code)
        assert not gone or "is not on this machine" in said
    invoke("run")
