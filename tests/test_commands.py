"""The verbs as a person meets them: what they print, and what they do when there is nothing, too much, or nonsense."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import skills_ref

from skillopt_git import __version__, cli, pinning
from skillopt_git.gitrepo import GitRepo
from skillopt_git.ids import rule_id
from tests.helpers import Repository
from tests.helpers_git import TOOL, snapshot
from tests.nights import ALWAYS, PNPM, SKILL, TICKET, Run, sessions
from tests.proposals import LEDGER, NOW

Say = Callable[..., str]


# --- init --------------------------------------------------------------------------------------------------------


def test_init_writes_settings_and_a_skill_and_overwrites_nothing(repo: Repository, say: Say) -> None:
    """The first time both files are made, the second time both are kept as they are."""
    assert "wrote .skillopt.toml" in say("init")
    (repo.path / ".skillopt.toml").write_text("[gate]\nmetric = 'hard'\n")

    again = say("init")

    assert "kept  .skillopt.toml" in again
    assert f"kept  {SKILL}" in again
    assert (repo.path / ".skillopt.toml").read_text() == "[gate]\nmetric = 'hard'\n"


def test_init_tells_what_it_made_as_a_record(repo: Repository, invoke: Run) -> None:
    """Made the first time, kept the second."""
    assert invoke("init") == {"v": 1, "made": [".skillopt.toml", SKILL], "kept": [], "send": None}
    assert invoke("init") == {"v": 1, "made": [], "kept": [".skillopt.toml", SKILL], "send": None}


def test_the_scaffold_of_init_is_a_valid_skill(repo: Repository, say: Say) -> None:
    """The reference implementation of the Agent Skills format has nothing to say against it."""
    say("init")

    assert skills_ref.validate((repo.path / SKILL).parent) == []


def test_every_line_of_the_settings_file_can_be_uncommented(repo: Repository, say: Say) -> None:
    """The file as written changes nothing, and neither does it with each setting made explicit."""
    say("init")
    path = repo.path / ".skillopt.toml"
    lines = [
        line.removeprefix("# ") if line.startswith("# ") and " = " in line else line
        for line in path.read_text().splitlines()
    ]
    path.write_text("\n".join(lines))

    assert "No open proposal" in say("status")


def test_init_refuses_a_skill_path_that_is_none(say: Say) -> None:
    """A path outside, a bad folder name or another file is refused with what a skill is."""
    for path in ("../x/SKILL.md", "skills/Bad Name/SKILL.md", "notes.md", "/etc/x/SKILL.md"):
        assert "a skill is <folder>/SKILL.md" in say("init", "--target-skill-path", path, code=2)


def test_init_does_not_write_through_a_link(repo: Repository, say: Say, tmp_path: Path) -> None:
    """A linked folder may lead out of the repository."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo.path / ".claude").symlink_to(outside)

    assert "behind a link" in say("init", code=2)
    assert list(outside.iterdir()) == []


def test_init_in_a_bare_repository_says_why_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no work tree to write to."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "bare.git")], check=True)

    assert cli.run(["init", "--repo", str(tmp_path / "bare.git")]) == 2
    assert "bare" in capsys.readouterr().err


WORKFLOW = ".github/workflows/skillopt.yml"
PINNED = f"alice/skillopt-git@{'0123456789' * 4}"


def test_init_writes_the_nightly_workflow_when_asked(repo: Repository, say: Say) -> None:
    """With its action pinned to the commit that was named, and what is to do next."""
    assert WORKFLOW not in say("init")

    told = say("init", "--github-action", "--action", PINNED)

    assert f"wrote {WORKFLOW}" in told
    assert "Allow GitHub Actions to create and approve pull requests" in told
    assert "First of all" not in told
    used = [line.split("uses: ")[1] for line in (repo.path / WORKFLOW).read_text().splitlines() if "/sleep@" in line]
    assert used == [f"{PINNED.replace('@', '/actions/sleep@')} # v{__version__}"] * 3


def test_init_overwrites_no_workflow(repo: Repository, say: Say, invoke: Run) -> None:
    (repo.path / WORKFLOW).parent.mkdir(parents=True)
    (repo.path / WORKFLOW).write_text("name: mine\n")

    assert invoke("init", "--github-action")["kept"] == [WORKFLOW]
    assert f"kept  {WORKFLOW}" in say("init", "--github-action")
    assert (repo.path / WORKFLOW).read_text() == "name: mine\n"


def test_init_says_where_a_commit_has_to_be_filled_in(
    repo: Repository, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that does not know its own commit writes a workflow that runs nothing until somebody names one."""
    monkeypatch.setattr(pinning, "note", lambda: None)

    told = say("init", "--github-action")

    assert f"{pinning.SOMEBODY} and {pinning.UNKNOWN}" in told
    assert f"{pinning.SOMEBODY}/actions/sleep@{pinning.UNKNOWN}" in (repo.path / WORKFLOW).read_text()


def test_init_refuses_an_action_that_is_no_commit(repo: Repository, say: Say) -> None:
    """Also one without a workflow to stand in. Nothing is written then."""
    assert "names no commit" in say("init", "--github-action", "--action", "alice/skillopt-git@v1", code=2)
    assert "add --github-action" in say("init", "--action", PINNED, code=2)
    assert not (repo.path / ".skillopt.toml").exists()


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_init_wrote_does_not_stand_in_the_way_of_adopting(
    repo: Repository, home: Path, say: Say, invoke: Run
) -> None:
    """init, commit, run, adopt: the rule lands in the committed skill."""
    say("init")
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "-m", "Set up")
    sessions(home, repo, PNPM)
    invoke("run")

    say("adopt")

    assert "- Use pnpm, not npm" in (repo.path / SKILL).read_text()


# --- run ---------------------------------------------------------------------------------------------------------


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_run_and_dry_run_print_their_report(repo: Repository, home: Path, say: Say) -> None:
    """What it found, where the branch is and how to go on; a dry run says that it wrote nothing."""
    sessions(home, repo, PNPM)

    assert "Dry run: nothing was written." in say("dry-run")
    told = say("run")
    for word in ("Use pnpm, not npm", "skillopt-git adopt", "skillopt-git reject", "What was read"):
        assert word in told


# --- tasks -------------------------------------------------------------------------------------------------------


def test_tasks_lists_and_shows_what_is_known(repo: Repository, home: Path, say: Say, invoke: Run) -> None:
    """Nothing at first; after a night each task with its split and rule, and one in full."""
    assert "No tasks are known yet" in say("tasks list")
    sessions(home, repo, PNPM)
    invoke("run")

    listed = say("tasks list")
    tasks = invoke("tasks list")["tasks"]

    assert "train" in listed
    assert "Use pnpm, not npm" in listed
    assert {task["split"] for task in tasks} == {"train", "val"}
    shown = say("tasks show", tasks[0]["id"])
    assert tasks[0]["ask"] in shown
    assert invoke("tasks show", tasks[0]["id"][:8])["id"] == tasks[0]["id"]
    assert "known: t1-" in say("tasks show", "t1-nothing", code=2)


def test_the_shared_bank_is_read_at_the_base(repo: Repository, invoke: Run) -> None:
    """Tasks reviewed like code count, with their needs, beside the private ones."""
    record = {
        "v": 1,
        "reviewed": True,
        "needs": {"n1-a": "Answer in one sentence"},
        "tasks": [{"id": "t1-a", "ask": "Why is the sky blue?", "needs": ["n1-a"], "rubric": "one sentence"}],
    }
    repo.commit("Share a task", {".skillopt/tasks/answers.json": json.dumps(record)})

    assert [task["rule"] for task in invoke("tasks list")["tasks"]] == ["Answer in one sentence"]


# --- show, status, log -------------------------------------------------------------------------------------------


def test_the_page_with_charts_is_named_by_the_run_and_by_show(
    repo: Repository, home: Path, say: Say, invoke: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """One file, for its owner only; a run that left none says what there is instead."""
    sessions(home, repo, PNPM)
    capsys.readouterr()
    assert cli.run(["run", "--repo", str(repo.path), "--claude-home", str(home), "--backend", "mock"]) == 0

    page = Path(capsys.readouterr().err.rpartition("the report with charts: ")[2].strip())

    assert page.stat().st_mode & 0o077 == 0
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    run = page.parent.name
    assert say("show", "--html") == say("show", run, "--html") == f"{page}\n"
    assert invoke("show", "--last", "--html") == {"v": 1, "run": run, "page": str(page)}
    page.unlink()
    assert f"{run} left no page with charts" in say("show", "--html", code=2)
    assert "is no proposal and no run" in say("show", "20200101T000000Z-00000000", "--html", code=2)
    assert "is no proposal and no run" in say("show", "../../../etc", "--html", code=2)


def test_a_dry_run_names_no_page(repo: Repository, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It writes none."""
    sessions(home, repo, PNPM)

    assert cli.run(["dry-run", "--repo", str(repo.path), "--claude-home", str(home), "--backend", "mock"]) == 0

    assert "the report with charts" not in capsys.readouterr().err
    assert not (repo.path / ".git" / "skillopt" / "reports").exists()


def test_show_knows_branches_runs_and_diagnostics(repo: Repository, home: Path, say: Say, invoke: Run) -> None:
    """The page of the proposal, the report of the run, and the calls behind it."""
    assert "nothing to show yet" in say("show", code=2)
    sessions(home, repo, PNPM)
    found = invoke("run")

    assert "Use pnpm, not npm" in say("show")
    assert "Merging" in say("show", found["branch"])
    assert "What was read" in say("show", found["run"])
    assert "What was read" in say("show", "--last")
    detail = json.loads(say("show", "--last", "--diagnostics"))
    assert detail["held_out"][0]["verdict"] == "strong"
    assert [task["candidate"] for task in detail["held_out"][0]["tasks"]] == [1.0, 1.0]
    assert found["run"] in say("show", "20200101T000000Z-00000000", code=2)
    assert "known" in say("show", "../../../etc/passwd", code=2)


def test_show_tells_what_became_of_a_settled_proposal(say: Say, first_run: Run) -> None:
    """The page stays readable after the decision, with the outcome of each edit."""
    branch = first_run(PNPM)["branch"]
    say("adopt")

    assert "adopted on" in say("show", branch)


def test_status_and_log_before_and_after_a_night(repo: Repository, home: Path, say: Say, invoke: Run) -> None:
    """From nothing at all to an open proposal to a learned rule."""
    assert "No open proposal" in say("status")
    assert "Nothing happened yet" in say("log")
    sessions(home, repo, PNPM)
    branch = invoke("run")["branch"]

    assert f"Open: {branch} (simulated)" in say("status")
    say("adopt")
    assert "Learned:" in say("status")
    told = say("log")
    for word in ("run (simulated)", "gate (simulated)", "strong", "published", "adopted"):
        assert word in told
    assert "family" not in told
    assert "family" in say("log", "--all")
    assert len(invoke("log", "--limit", "2")["events"]) == 2


# --- decisions ---------------------------------------------------------------------------------------------------


def test_decisions_without_a_proposal_say_what_there_is(repo: Repository, home: Path, say: Say, invoke: Run) -> None:
    """No proposal, an unknown one, a decided one, an unknown edit: each names what is known."""
    assert "no open proposal" in say("adopt", code=2)
    sessions(home, repo, PNPM)
    branch = invoke("run")["branch"]

    assert f"open: {branch}" in say("adopt", "sleep/2020-01-01", code=2)
    assert "Use pnpm, not npm" in say("reject", "--edit", "e1-0000", code=2)
    say("reject")
    assert "decided already" in say("adopt", branch, code=2)
    assert "known: none" in say("revert", "e1-0000000000000000", code=2)
    assert "rejected: e1-" in say("rejections undo", "e1-0000000000000000", code=2)
    assert "rejected: e1-" in say("rejections show", "e1-0000000000000000", code=2)


def test_a_rejection_is_listed_shown_and_undone(repo: Repository, home: Path, say: Say, invoke: Run) -> None:
    """With its reason, what it holds back, and how to allow it again."""
    assert say("rejections list") == "Nothing is rejected.\n"
    sessions(home, repo, PNPM)
    edit = invoke("run")["edits"][0]
    say("reject", "--reason", "we may go back to npm")

    assert "we may go back to npm" in say("rejections list")
    shown = say("rejections show", edit["id"])
    assert "in every document" in shown
    assert f"rejections undo {edit['id']}" in shown
    assert shown == say("rejections show", edit["id"][:12])
    assert invoke("rejections show", edit["rule"])["rejections"][0]["text"] == "Use pnpm, not npm"
    assert "Allowed again: Use pnpm, not npm" in say("rejections undo", edit["rule"])
    assert say("rejections list") == "Nothing is rejected.\n"


def test_a_rejection_for_the_wrong_place_leaves_the_other_document(
    repo: Repository, home: Path, say: Say, invoke: Run
) -> None:
    """`--reason wrong-place` holds the rule back in this file only."""
    sessions(home, repo, ALWAYS)
    assert {edit["target"] for edit in invoke("run")["edits"]} == {"CLAUDE.md"}
    say("reject", "--reason", "wrong-place")

    moved = invoke("run", "--target-skill-path", SKILL)

    assert {edit["target"] for edit in moved["edits"]} == {SKILL}


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_secret_in_a_reason_is_refused_before_anything_is_written(say: Say, invoke: Run, first_run: Run) -> None:
    """Exit 5, naming place and kind and not the value; the proposal stays open."""
    first_run(PNPM)
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"

    told = say("reject", "--reason", f"because of {secret}", code=5)

    assert "the reason" in told
    assert secret not in told
    assert len(invoke("status")["open"]) == 1


# --- every verb --------------------------------------------------------------------------------------------------

VERBS = (
    *("run", "dry-run", "harvest", "tasks list", "tasks show t1-x", "status", "show", "log", "adopt", "reject"),
    *("rejections list", "rejections show e1-x", "rejections undo e1-x", "revert e1-x", "init"),
)


@pytest.mark.parametrize("verb", VERBS)
def test_a_failure_is_one_json_document_too(tmp_path: Path, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On stdout, with kind, message and hint, whatever the verb; nothing on stderr."""
    assert cli.run([*verb.split(), "--repo", str(tmp_path), "--json"]) == 2

    told = capsys.readouterr()
    error = json.loads(told.out)["error"]
    assert set(error) == {"kind", "message", "hint"}
    assert error["kind"] == "usage"
    assert told.err == ""


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_no_verb_but_adopt_touches_the_users_files(repo: Repository, home: Path, invoke: Run, first_run: Run) -> None:
    """In a dirty repository all others leave work tree, index, HEAD, stash and config byte for byte."""
    edits = first_run([*PNPM, *TICKET])["edits"]
    invoke("adopt")
    repo.write({"stashed.txt": "x"})
    repo.git("add", "stashed.txt")
    repo.git("stash")
    repo.write({"README.md": "# changed\n", SKILL: "mine\n", "staged.txt": "staged", "untracked.txt": "x"})
    repo.git("add", "staged.txt")
    before = snapshot(repo)
    before.pop("refs")
    sessions(home, repo, [*PNPM, *TICKET, *ALWAYS])

    for verb, *args in (
        *(("run",), ("dry-run",), ("harvest",), ("tasks list",), ("status",), ("show",), ("show", "--last"), ("log",)),
        *(("revert", edits[0]["id"]), ("reject",), ("rejections list",), ("run",)),
        *(("rejections undo", rule_id("Always run ruff first")), ("run",), ("reject",)),
    ):
        invoke(verb, *args)
        after = snapshot(repo)
        after.pop("refs")
        assert after == before, verb
    assert invoke("revert", edits[0]["id"], "--now", code=1)["error"]["kind"] == "process"
    after = snapshot(repo)
    after.pop("refs")
    assert after == before


def ledger_line(repo: Repository, line: str) -> None:
    """Adds a line to the ledger's newest file, as somebody else's tool might."""
    opened = GitRepo.open(repo.path)
    head = opened.resolve(LEDGER)
    assert head is not None
    file = opened.paths(head, "events/")[-1]
    blob = opened.write_blob(opened.blob(file.sha) + line.encode() + b"\n")
    changes = {file.path: (file.mode, blob)}
    commit = opened.commit(parent=head, changes=changes, message="Other", author=TOOL, when=NOW)
    opened.update_ref(LEDGER, commit, head, "other")


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize("verb", ["run", "status", "show", "log", "adopt", "rejections list"])
def test_a_ledger_of_a_newer_tool_is_refused(repo: Repository, invoke: Run, verb: str, first_run: Run) -> None:
    """With the advice to update, by every verb that reads it."""
    first_run(PNPM)
    ledger_line(repo, '{"v": 2, "id": "0000000000000000", "weather": "fine"}')

    assert "newer tool" in invoke(verb, code=2)["error"]["message"]


def test_damaged_lines_of_the_ledger_are_passed_over(repo: Repository, say: Say, invoke: Run, first_run: Run) -> None:
    """What can be read counts, and the count of the rest is told."""
    branch = first_run(PNPM)["branch"]
    ledger_line(repo, '{"v": 1, "id": "00')

    assert "Passed over in the ledger: 1 damaged line." in say("status")
    assert invoke("show")["branch"] == branch


def test_a_report_of_another_clone_is_told_as_such(repo: Repository, say: Say, first_run: Run) -> None:
    """The ledger knows the run; the report stayed where it was made."""
    run = first_run(PNPM)["run"]
    shutil.rmtree(repo.path / ".git" / "skillopt" / "reports")

    assert f"the report of {run} is not on this machine" in say("show", run, code=2)
    assert "nothing to show yet" in say("show", "--last", code=2)
    assert "Use pnpm, not npm" in say("show")


def test_damaged_diagnostics_are_an_error_and_no_crash(repo: Repository, say: Say, first_run: Run) -> None:
    """The file was cut off."""
    run = first_run(PNPM)["run"]
    (repo.path / ".git" / "skillopt" / "reports" / run / "diagnostics.json").write_text('{"v": 1')

    assert "are damaged" in say("show", run, "--diagnostics", code=2)


# --- demo and the process ----------------------------------------------------------------------------------------


def test_the_demo_shows_one_accepted_one_harmful_one_unverified(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    """And the branch, the pull request, and how to adopt; nothing is left behind."""
    assert cli.run(["demo"]) == 0

    told = capsys.readouterr().out
    for word in ("strong       Use pnpm", "harmful      ", "unverified   ", "Learn (simulated)", "Merging", "adopt"):
        assert word in told


def test_the_demo_as_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    """One document: the record of its night."""
    assert cli.run(["demo", "--json"]) == 0

    record = json.loads(capsys.readouterr().out)
    assert (record["verdict"], record["simulated"], len(record["edits"])) == ("strong", True, 1)


def test_the_demo_can_be_kept_to_play_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The kept repository can be adopted in; a folder that exists is refused."""
    assert cli.run(["demo", "--keep", str(tmp_path / "play")]) == 0
    capsys.readouterr()

    assert cli.run(["adopt", "--repo", str(tmp_path / "play" / "acme-shop")]) == 0
    assert "Adopted" in capsys.readouterr().out
    assert cli.run(["demo", "--keep", str(tmp_path / "play")]) == 2
    assert "exists already" in capsys.readouterr().err


def test_both_names_are_commands() -> None:
    """`git skillopt` works as a subcommand of git too."""
    for name in ("skillopt-git", "git-skillopt"):
        done = subprocess.run([Path(sys.executable).with_name(name), "--version"], capture_output=True, check=True)
        assert done.stdout.startswith(b"skillopt-git ")


def test_outside_of_a_repository_a_verb_says_where_it_looked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 and a hint, no traceback."""
    assert cli.run(["status", "--repo", str(tmp_path)]) == 2
    assert "not in a git repository" in capsys.readouterr().err


def test_an_empty_repository_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No commits yet: nothing to propose to."""
    empty = Repository.create(tmp_path / "empty", {})

    assert cli.run(["run", "--repo", str(empty.path), "--backend", "mock"]) == 2
    assert "no commits yet" in capsys.readouterr().err
