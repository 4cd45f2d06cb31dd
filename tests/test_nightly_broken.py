"""Runs that meet a locked door, or find the world changed: the next one works, and nothing is lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import cli
from skillopt_git import publish as publishing
from skillopt_git.model import Event
from tests.helpers import Repository
from tests.nights import OTHER, PNPM, RULE, SKILL, TICKET, Run, arguments, sessions, taught

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach


def private(repo: Repository, name: str = "") -> Path:
    return repo.path / ".git" / "skillopt" / name


def counted(invoke: Run, type_: str) -> Counter[str]:
    """The events of a type by the rule they are about."""
    events = invoke("log", "--all", "--limit", "1000")["events"]
    return Counter(str(item["text"]) for item in events if item["type"] == type_)


def file_at(path: Path) -> Callable[[], None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path.unlink


def today() -> str:
    """The name of tonight's branch."""
    return f"sleep/{datetime.now(UTC):%Y-%m-%d}"


@pytest.mark.parametrize("step", ["branch", "report"])
def test_a_run_that_failed_between_two_steps_is_finished_by_the_next(
    repo: Repository, home: Path, invoke: Run, step: str
) -> None:
    """Whichever step was the last, the rule is proposed once, its tasks are known, and it can be adopted."""
    sessions(home, repo, PNPM)
    branch = today()
    if step == "branch":
        clear, code = file_at(repo.path / ".git" / "refs" / "heads" / f"{branch}.lock"), 75
    else:
        clear, code = file_at(private(repo, "reports")), 1

    error = invoke("run", code=code)["error"]
    assert error["kind"] in ("internal", "process")
    clear()
    found = invoke("run")

    assert found["branch"] == branch
    assert counted(invoke, "proposed") == {RULE: 1}
    assert counted(invoke, "published") == {"None": 1}
    assert len(invoke("tasks list")["tasks"]) == 4
    invoke("adopt")
    assert f"- {RULE}\n" in (repo.path / SKILL).read_text()


def test_an_edit_that_did_not_reach_the_open_branch_gets_there(repo: Repository, home: Path, invoke: Run) -> None:
    """It was recorded while somebody held the ref: the next run rebuilds the branch first."""
    sessions(home, repo, PNPM)
    branch = invoke("run")["branch"]
    sessions(home, repo, [*PNPM, *TICKET])
    clear = file_at(repo.path / ".git" / "refs" / "heads" / f"{branch}.lock")
    assert invoke("run", code=75)["error"]["kind"] == "process"
    clear()

    found = invoke("run")

    assert len(found["commits"]) == 2
    assert f"- {OTHER}\n" in taught(repo, branch)
    assert any("rebuilt with just" in note for note in found["notes"])
    assert counted(invoke, "proposed") == {RULE: 1, OTHER: 1}
    assert invoke("run")["commits"] == found["commits"]


def test_an_unfinished_proposal_that_was_overtaken_is_given_up(repo: Repository, home: Path, invoke: Run) -> None:
    """The base says the rule already: it is not published, and nothing of it counts as rejected."""
    sessions(home, repo, PNPM)
    clear = file_at(repo.path / ".git" / "refs" / "heads" / f"{today()}.lock")
    invoke("run", code=75)
    clear()
    repo.commit("By hand", {SKILL: f"---\nname: skillopt-sleep-learned\ndescription: d\n---\n\n- {RULE}\n"})

    found = invoke("run")

    assert found["branch"] is None
    assert any("was given up" in note for note in found["notes"])
    assert invoke("rejections list")["rejections"] == []


def test_a_secret_at_the_base_stops_the_run_before_it_records(repo: Repository, home: Path, invoke: Run) -> None:
    """Exit 5, naming the document; neither event nor branch."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    text = f"---\nname: skillopt-sleep-learned\ndescription: d\n---\n\ntoken: {secret}\n"
    repo.commit("Oh no", {SKILL: text})
    sessions(home, repo, PNPM)

    error = invoke("run", code=5)["error"]

    assert error["kind"] == "safety"
    assert SKILL in error["message"]
    assert secret not in json.dumps(error)
    assert repo.git("for-each-ref", "refs/skillopt", "refs/heads/sleep") == ""


def test_a_branch_named_sleep_is_told_before_anything_is_recorded(repo: Repository, home: Path, invoke: Run) -> None:
    """Git cannot have `sleep` and `sleep/...`."""
    repo.git("branch", "sleep")
    sessions(home, repo, PNPM)

    assert "leaves no room" in invoke("run", code=2)["error"]["message"]
    assert repo.git("for-each-ref", "refs/skillopt") == ""


def test_a_frozen_proposal_is_noted_once(repo: Repository, home: Path, invoke: Run, say: Callable[..., str]) -> None:
    """Checked out in another work tree: no write, one event, however many nights pass."""
    sessions(home, repo, PNPM)
    branch = invoke("run")["branch"]
    tip = repo.git("rev-parse", branch)
    repo.git("worktree", "add", "--quiet", str(repo.path.parent / "desk"), branch)
    sessions(home, repo, [*PNPM, *TICKET])

    notes = [invoke("run")["notes"] for _ in range(2)]

    assert all(f"'{OTHER}' has to wait: {branch} is checked out" in found for found in notes)
    assert repo.git("rev-parse", branch) == tip
    frozen = [item for item in invoke("log")["events"] if item["type"] == "frozen"]
    assert [item["data"]["tip"] for item in frozen] == [tip.strip()]
    assert f"{branch} is checked out, and is left alone" in say("log")


def test_from_a_linked_work_tree_it_is_the_same_repository(
    repo: Repository, home: Path, invoke: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """One ledger, one lock, one proposal; what is checked out there is no concern of the base."""
    desk = Repository(repo.path.parent / "desk")
    repo.git("worktree", "add", "--quiet", "-b", "feature", str(desk.path))
    sessions(home, desk, PNPM)

    assert cli.run([*arguments("run", [], desk, home), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert found["reason"] == "improved"
    assert invoke("status")["open"][0]["branch"] == found["branch"]
    assert private(repo, "bank.json").is_file()
    assert invoke("run")["commits"] == found["commits"]


def test_a_dry_run_tells_of_the_open_proposal(repo: Repository, home: Path, invoke: Run) -> None:
    """Its branch and commits, as a run would; nothing moves."""
    sessions(home, repo, PNPM)
    first = invoke("run")
    refs = repo.git("for-each-ref")

    found = invoke("dry-run")

    assert (found["branch"], found["commits"], found["edits"]) == (first["branch"], first["commits"], [])
    assert found["night"] is None
    assert repo.git("for-each-ref") == refs


def test_a_file_of_the_users_that_is_not_at_the_base_is_noted(repo: Repository, home: Path, invoke: Run) -> None:
    """What it says was not measured, and adopting would be refused."""
    repo.write({"CLAUDE.md": "# mine\n"})
    repo.commit("A skill", {SKILL: "---\nname: skillopt-sleep-learned\ndescription: d\n---\n"})
    repo.git("rm", "--cached", "--quiet", "CLAUDE.md")
    repo.git("commit", "--quiet", "--amend", "--no-edit")
    repo.write({SKILL: "---\nname: skillopt-sleep-learned\ndescription: mine\n---\n"})
    sessions(home, repo, PNPM)

    notes: list[Any] = invoke("run")["notes"]

    assert any("your CLAUDE.md is not on main" in note for note in notes)
    assert any(f"your {SKILL} differs from the one on main" in note for note in notes)


@pytest.mark.parametrize("verb", ["run", "reject"])
def test_a_branch_that_was_rebuilt_and_not_noted_is_still_ours(
    repo: Repository, home: Path, invoke: Run, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Who rebuilt it died before the ledger could say so: nobody else touched it, and the next verb takes it on."""
    sessions(home, repo, [*PNPM, *TICKET])
    first = invoke("run")
    edit = next(edit for edit in first["edits"] if edit["text"] == OTHER)
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_published", _dies)
        assert invoke("reject", "--edit", edit["id"], code=1)["error"]["message"] == "killed"
    assert invoke("status")["open"][0]["state"] == "touched"

    if verb == "run":
        found = invoke("run")
        assert f"{first['branch']} was rebuilt by a run or verb that broke off; that is noted now" in found["notes"]
        assert len(found["commits"]) == 1
        assert invoke("status")["open"][0]["state"] == "free"
    else:
        assert "was deleted" in invoke("reject")["said"][0]
        assert invoke("status")["open"] == []


def _dies(*_: object) -> Event:
    raise OSError(0, "killed")
