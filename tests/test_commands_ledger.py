"""The verbs around the memory: looking at it, checking it, bringing it to other clones; and a night that pushes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt_git import cli
from tests.helpers import Repository
from tests.helpers_git import snapshot
from tests.nights import PNPM, TICKET, Run, arguments, sessions, taught

Say = Callable[..., str]
LEDGER = "refs/skillopt/ledger"


@pytest.fixture
def server(repo: Repository, tmp_path: Path) -> Repository:
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "server.git"))
    repo.git("remote", "add", "origin", f"file://{tmp_path}/server.git")
    repo.git("fetch", "--quiet", "origin")
    repo.git("remote", "set-head", "origin", "main")
    return Repository(tmp_path / "server.git")


def test_show_tells_what_there_is_and_what_is_about_a_name(repo: Repository, home: Path, invoke: Run, say: Say) -> None:
    assert "the first `skillopt-git run` makes it" in say("ledger show")
    sessions(home, repo, PNPM)
    run = invoke("run")
    (edit,) = run["edits"]

    record = invoke("ledger show")
    assert record["ref"] == LEDGER
    assert record["commit"] == repo.git("rev-parse", LEDGER).strip()
    assert record["events"]["proposed"] == record["events"]["published"] == record["simulated_nights"] == 1
    assert record["evidence"] == 1
    assert "nights: 0, simulated: 1" in say("ledger show")

    about = invoke("ledger show", edit["id"])["records"]
    assert [item["type"] for item in about] == ["trial", "gate", "proposed"]
    evidence = about[1]["data"]["evidence"]
    assert evidence in say("ledger show", run["run"])
    assert {item["type"] for item in invoke("ledger show", run["branch"])["records"]} >= {"proposed", "published"}
    repo.git("update-ref", LEDGER, f"{LEDGER}~0")
    assert json.loads(say("ledger show", about[0]["id"]).splitlines()[0])["id"] == about[0]["id"]
    assert "nothing about 'e1-none'" in say("ledger show", "e1-none", code=2)


def test_evidence_that_no_event_names_is_shown_by_its_own_name(repo: Repository, home: Path, invoke: Run) -> None:
    sessions(home, repo, PNPM)
    invoke("run")
    (path,) = repo.git("ls-tree", "-r", "--name-only", LEDGER, "evidence/").split()
    events = repo.git("rev-parse", f"{LEDGER}:evidence").strip()
    bare = repo.git("mktree", input_=f"040000 tree {events}\tevidence\n".encode()).strip()
    repo.git("update-ref", LEDGER, repo.git("commit-tree", "-m", "bare", bare).strip())

    (record,) = invoke("ledger show", Path(path).stem)["records"]

    assert record["rule"] == "strict"


def test_verify_is_quiet_until_something_was_changed(repo: Repository, home: Path, invoke: Run, say: Say) -> None:
    sessions(home, repo, PNPM)
    invoke("run")
    assert "Nothing was lost or changed." in say("ledger verify")
    assert invoke("ledger verify")["findings"] == []
    events = repo.git("rev-parse", f"{LEDGER}:events").strip()
    bare = repo.git("mktree", input_=f"040000 tree {events}\tevents\n".encode()).strip()
    repo.git("update-ref", LEDGER, repo.git("commit-tree", "-p", LEDGER, "-m", "no evidence", bare).strip())

    assert any("is missing" in line for line in invoke("ledger verify", code=6)["findings"])
    assert cli.run(arguments("ledger verify", [], repo, home)) == 6


def test_a_memory_goes_to_another_clone_and_back(
    repo: Repository, server: Repository, home: Path, invoke: Run, say: Say, tmp_path: Path
) -> None:
    """Pushing moves the ledger and nothing of the user's; the other clone has the decision after a fetch."""
    sessions(home, repo, PNPM)
    (edit,) = invoke("run")["edits"]
    invoke("reject", "--reason", "not here")
    before = snapshot(repo)

    assert set(invoke("ledger push")["went"]) >= {LEDGER}
    assert invoke("ledger push") == {"v": 1, "remote": "origin", "came": [], "went": [], "gone": [], "notes": []}
    assert snapshot(repo) == before
    repo.git("clone", "--quiet", f"file://{server.path}", str(tmp_path / "other"))
    other = Repository(tmp_path / "other")

    told = arguments("ledger fetch", [], other, home)
    assert cli.run(told) == 0
    assert "Nothing new from origin." in say("ledger fetch")
    assert cli.run([*arguments("rejections show", [edit["id"]], other, home)]) == 0


def test_without_a_remote_the_verbs_say_what_to_do(say: Say) -> None:
    assert "git remote add" in say("ledger push", code=2)
    assert "git remote add" in say("ledger fetch", code=2)


# --- a night that pushes -----------------------------------------------------------------------------------------


def pushed(server: Repository) -> set[str]:
    return set(server.git("for-each-ref", "--format=%(refname)", "refs/heads/sleep", "refs/skillopt").split())


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_night_pushes_only_when_told_to_and_simulations_only_when_allowed(
    repo: Repository, server: Repository, home: Path, invoke: Run
) -> None:
    sessions(home, repo, PNPM)
    branch = invoke("run")["branch"]
    assert pushed(server) == set()
    assert invoke("run", "--push")["notes"] == []
    assert pushed(server) == {LEDGER}

    invoke("run", "--push", "--allow-simulated")

    assert pushed(server) == {LEDGER, f"refs/heads/{branch}"}
    assert taught(server, branch) == taught(repo, branch)


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_two_clones_learn_into_one_proposal(
    repo: Repository, server: Repository, home: Path, invoke: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second night, elsewhere, finds the open proposal at the remote and adds to it."""
    sessions(home, repo, PNPM)
    first = invoke("run", "--push", "--allow-simulated")
    repo.git("clone", "--quiet", f"file://{server.path}", str(tmp_path / "other"))
    other, theirs = Repository(tmp_path / "other"), tmp_path / "their-home"
    sessions(theirs, other, TICKET)

    words = arguments("run", ["--push", "--allow-simulated", "--json"], other, theirs)
    capsys.readouterr()
    assert cli.run(words) == 0, capsys.readouterr()
    second = json.loads(capsys.readouterr().out)

    assert second["branch"] == first["branch"]
    assert "pnpm" in taught(server, first["branch"])
    assert "ticket number" in taught(server, first["branch"])
    third = invoke("run", "--push", "--allow-simulated")
    assert third["branch"] == first["branch"]
    assert third["proposed"]
    assert repo.git("rev-parse", LEDGER) == server.git("rev-parse", LEDGER)


def test_a_remote_that_refuses_costs_nothing_but_the_push(
    repo: Repository, server: Repository, home: Path, invoke: Run
) -> None:
    """The night is recorded and published here, says what is in the way, and is no success; the next one pushes."""
    hook = server.path / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'not today' >&2\nexit 1\n")
    hook.chmod(0o755)
    sessions(home, repo, PNPM)

    record = invoke("run", "--push", "--allow-simulated", code=75)

    assert record["branch"] is not None
    assert "nothing was pushed" in record["notes"][-1]
    hook.unlink()
    invoke("run", "--push", "--allow-simulated")
    assert pushed(server) == {LEDGER, f"refs/heads/{record['branch']}"}


def test_a_remote_that_is_not_there_costs_the_night_nothing(repo: Repository, home: Path, invoke: Run) -> None:
    repo.git("remote", "add", "origin", "file:///nowhere/acme.git")
    sessions(home, repo, PNPM)

    record = invoke("run", "--push", code=75)

    assert "origin was not asked what other clones know" in " ".join(record["notes"])
    assert record["branch"] is not None
