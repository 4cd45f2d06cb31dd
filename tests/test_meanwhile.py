"""What others do at the same time: runs in one repository, its work trees and clones, and people at the branch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt_git import cli, finishing, nightly
from skillopt_git.private import Private
from tests.helpers import Repository
from tests.helpers_git import snapshot
from tests.nights import OTHER, PNPM, RULE, TICKET, Place, Run, arguments, sessions, taught

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

BUSY = 75


@pytest.fixture
def branch(beginning: Place, repo: Repository, home: Path, invoke: Run) -> str:
    """Of the rule that a night has proposed."""

    def night() -> dict[str, object]:
        sessions(home, repo, PNPM)
        return invoke("run")

    return str(beginning.start("a night", night)["branch"])


def started(verb: str, repo: Repository, home: Path, *args: str) -> subprocess.Popen[bytes]:
    words = [*arguments(verb, args, repo, home), "--json"]
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-m", "skillopt_git", *words], stdout=pipe, stderr=pipe)


def ended(*processes: subprocess.Popen[bytes]) -> list[int]:
    for process in processes:
        process.communicate()
    return [process.returncode for process in processes]


def proposed(invoke: Run) -> list[str]:
    """The rules that are proposed, each as often as it is."""
    return sorted(item["text"] for found in invoke("status")["open"] for item in found["edits"])


def test_of_runs_in_one_repository_and_its_work_trees_one_works(
    repo: Repository, home: Path, invoke: Run, tmp_path: Path
) -> None:
    """The others are told who does and may try again; nothing is proposed twice, and nobody's files move."""
    sessions(home, repo, PNPM)
    linked = Repository(tmp_path / "linked")
    repo.git("worktree", "add", "--quiet", str(linked.path))
    before = snapshot(linked)

    codes = ended(*(started("run", where, home) for where in (repo, linked, repo)))

    assert 0 in codes
    assert set(codes) <= {0, BUSY}
    invoke("run")
    assert proposed(invoke) == [RULE]
    assert invoke("ledger verify")["findings"] == []
    after = snapshot(linked)
    for picture in (before, after):
        picture.pop("refs")
    assert after == before


def test_runs_in_two_clones_that_push_at_once_come_to_one_proposal(
    repo: Repository, home: Path, invoke: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever loses the race joins what won it; in the end both know the same, and the branch has the rules of both."""
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "server.git"))
    server = Repository(tmp_path / "server.git")
    clones, homes = [], []
    for name, dialogues in (("one", PNPM), ("two", TICKET)):
        repo.git("clone", "--quiet", f"file://{server.path}", str(tmp_path / name))
        clones.append(Repository(tmp_path / name))
        homes.append(tmp_path / f"{name}-home")
        sessions(homes[-1], clones[-1], dialogues)

    push = ("--push", "--allow-simulated")
    assert ended(*(started("run", clone, own, *push) for clone, own in zip(clones, homes, strict=True))) == [0, 0]
    for clone, own in zip(clones, homes, strict=True):
        assert cli.run([*arguments("run", push, clone, own), "--json"]) == 0, capsys.readouterr()
        capsys.readouterr()
    assert cli.run(arguments("ledger fetch", (), clones[0], homes[0])) == 0

    (branch,) = server.git("for-each-ref", "--format=%(refname:short)", "refs/heads/sleep").split()
    assert [rule in taught(server, branch) for rule in (RULE, OTHER)] == [True, True]
    ledgers = {clone.git("rev-parse", "refs/skillopt/ledger") for clone in clones}
    assert ledgers == {server.git("rev-parse", "refs/skillopt/ledger")}
    for clone in clones:
        assert clone.git("rev-parse", branch) == server.git("rev-parse", branch)


# --- people ------------------------------------------------------------------------------------------------------


def _commit(repo: Repository, branch: str) -> None:
    """In a work tree of their own, which is gone again when they are done."""
    with_branch = Repository(repo.path.parent / "desk")
    repo.git("worktree", "add", "--quiet", str(with_branch.path), branch)
    with_branch.commit("Mine", {"notes.md": "mine\n"})
    repo.git("worktree", "remove", str(with_branch.path))


def _merge(repo: Repository, branch: str) -> None:
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", branch)


def _rebase(repo: Repository, branch: str) -> None:
    repo.commit("Meanwhile", {"README.md": "# acme-api, better\n"})
    desk = Repository(repo.path.parent / "desk")
    repo.git("worktree", "add", "--quiet", str(desk.path), branch)
    desk.git("rebase", "--quiet", "main")
    repo.git("worktree", "remove", str(desk.path))


def _delete(repo: Repository, branch: str) -> None:
    repo.git("branch", "--quiet", "-D", branch)


@pytest.mark.parametrize("moment", ["learn", "publish"])
@pytest.mark.parametrize("person", [_commit, _merge, _rebase, _delete])
def test_what_a_person_does_to_the_branch_while_a_run_is_at_work_stays(
    repo: Repository,
    home: Path,
    invoke: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    branch: str,
    person: Callable[[Repository, str], None],
    moment: str,
) -> None:
    """Before it decides where its edits go, and in the last moment: their commit, merge or deletion is never undone."""
    sessions(home, repo, [*PNPM, *TICKET])
    place = nightly if moment == "learn" else finishing
    unbroken = getattr(place, moment)
    left: dict[str, str] = {}

    def meanwhile(*args: object, **named: object) -> object:
        result = unbroken(*args, **named) if moment == "learn" else None
        if not left:
            person(repo, branch)
            left.update(_refs(repo))
        return result if moment == "learn" else unbroken(*args, **named)

    monkeypatch.setattr(place, moment, meanwhile)
    capsys.readouterr()
    code = cli.run([*arguments("run", (), repo, home), "--json"])
    told = json.loads(capsys.readouterr().out)
    monkeypatch.undo()

    assert code in (0, BUSY), told
    theirs = {ref: sha for ref, sha in _refs(repo).items() if ref in left}
    assert theirs == left
    assert cli.run([*arguments("run", (), repo, home), "--json"]) == 0, capsys.readouterr()
    assert invoke("ledger verify")["findings"] == []
    rules = [*proposed(invoke), *(item["text"] for item in invoke("status")["learned"])]
    assert sorted(rules) == sorted([RULE, OTHER]) or (person in (_commit, _rebase) and RULE in rules)


def _refs(repo: Repository) -> dict[str, str]:
    listed = repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads").splitlines()
    return dict(line.split(" ") for line in listed)


@pytest.mark.usefixtures("branch")
def test_a_verb_that_finds_somebody_at_work_says_who(repo: Repository, say: Run) -> None:
    """It waits a moment and no longer."""
    with Private(repo.path / ".git" / "skillopt").lock():
        told = str(say("reject", code=BUSY))

    assert "process" in told
    assert "already at work" in told
