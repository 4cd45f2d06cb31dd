"""`tasks` as a person meets it: written, found, reviewed, made golden, put out, handed on."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skillopt_git.gitrepo import GitRepo
from skillopt_git.private import Private
from tests.helpers import Repository
from tests.helpers_git import snapshot
from tests.nights import PNPM, TICKET, Run, sessions
from tests.proposals import LEDGER

Say = Callable[..., str]
ASK, RULE = "Add lodash to the web package", "Use pnpm, not npm"
HAND = ("--ask", "Install everything afresh", "--rule", RULE)
SHARED = {
    "v": 1,
    "reviewed": True,
    "needs": {"n1-a": "Answer in one sentence"},
    "tasks": [{"id": "t1-a", "ask": "Why is the sky blue?", "needs": ["n1-a"], "rubric": "one sentence"}],
}


class Keyboard(io.StringIO):
    """A terminal at which somebody types these lines."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def typed(lines: str) -> None:
        monkeypatch.setattr("sys.stdin", Keyboard(lines))

    return typed


@pytest.fixture
def known(invoke: Run, first_run: Run) -> list[dict[str, Any]]:
    """The tasks of a night in which a wish recurred."""
    first_run(PNPM)
    return list(invoke("tasks list")["tasks"])


def share(repo: Repository, record: dict[str, Any] = SHARED) -> None:
    repo.commit("Share a task", {".skillopt/tasks/answers.json": json.dumps(record)})


def private(repo: Repository) -> Private:
    return Private(GitRepo.open(repo.path).private_dir())


# --- looking -----------------------------------------------------------------------------------------------------


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_tasks_are_listed_with_their_marks_and_by_need(repo: Repository, home: Path, say: Say, invoke: Run) -> None:
    """Nothing at first; then split, origin, marks, ask and rule, of all or of one need."""
    assert "No tasks are known yet" in say("tasks list")
    sessions(home, repo, [*PNPM, *TICKET])
    invoke("run")
    name = invoke("tasks list", "--need", "PNPM")["tasks"][0]["id"]
    say("tasks golden", name)

    every = invoke("tasks list")["tasks"]
    some = invoke("tasks list", "--need", "pnpm")["tasks"]

    assert (len(every), len(some)) == (len(PNPM) + len(TICKET), len(PNPM))
    assert {task["rule"] for task in some} == {RULE}
    assert [task["id"] for task in invoke("tasks list", "--need", some[0]["needs"][0])["tasks"]] == [
        task["id"] for task in some
    ]
    assert {(task["reviewed"], task["shared"]) for task in every} == {(False, False)}
    listed = say("tasks list", "--need", "pnpm")
    for word in ("train", "mined", "golden", ASK, RULE):
        assert word in listed
    assert "ticket" not in listed


def test_an_unknown_need_or_task_names_the_known_ones(known: list[dict[str, Any]], say: Say, invoke: Run) -> None:
    """On stderr for a person, and as a document for a machine."""
    assert RULE in say("tasks list", "--need", "cargo", code=2)
    assert invoke("tasks list", "--need", "cargo", code=2)["error"]["kind"] == "usage"
    for verb in ("show", "golden", "drop"):
        assert known[0]["id"] in say(f"tasks {verb}", "t1-nothing", code=2)
        assert "known: t1-" in invoke(f"tasks {verb}", "t1-nothing", code=2)["error"]["hint"]


def test_what_came_up_too_rarely_waits(repo: Repository, home: Path, say: Say, invoke: Run) -> None:
    """With how often and when; what recurs waits no longer, and a need that was asked about is the only one told."""
    assert say("tasks list", "--waiting") == "Nothing waits to come up again.\n"
    sessions(home, repo, [*PNPM, TICKET[0]])
    invoke("run")

    (item,) = invoke("tasks list", "--waiting")["waiting"]

    assert (item["rule"], item["sessions"], item["tasks"]) == ("Put the ticket number in branch names", 1, 1)
    assert item["first"] == item["last"] is not None
    told = say("tasks list", "--waiting")
    assert "ticket number" in told
    assert item["first"][:10] in told
    assert invoke("tasks list", "--waiting", "--need", "ticket")["waiting"] == [item]
    assert invoke("tasks list", "--waiting", "--need", "pnpm")["waiting"] == []
    say("tasks drop", invoke("tasks list", "--need", "ticket")["tasks"][0]["id"])
    assert invoke("tasks list", "--waiting")["waiting"] == []


def test_a_personal_wish_does_not_wait(say: Say, invoke: Run) -> None:
    """It is never to be learned."""
    say("tasks add", *HAND)
    assert len(invoke("tasks list", "--waiting")["waiting"]) == 1
    say("tasks add", *HAND, "--personal")
    assert invoke("tasks list", "--waiting")["waiting"] == []


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_task_is_shown_with_what_was_said(known: list[dict[str, Any]], say: Say, invoke: Run) -> None:
    """All there is to it, and the quoted turns it came from."""
    task = next(item for item in known if item["ask"] == ASK)

    shown = invoke("tasks show", task["id"])
    told = say("tasks show", task["id"])

    (heard,) = shown["sightings"]
    assert "use pnpm, not npm" in heard["quote"]
    assert heard["session"] == task["sessions"][0]
    assert {**shown, "sightings": []} == {"v": 1, **task, "sightings": []}
    for part in (ASK, RULE, "pnpm", heard["quote"], f"in {heard['session']}", f"said {heard['time'][:10]}"):
        assert part in told


# --- writing -----------------------------------------------------------------------------------------------------


def test_a_task_is_written_once(repo: Repository, say: Say, invoke: Run) -> None:
    """With the checks of its rule; the same again is the same task."""
    made = invoke("tasks add", *HAND)
    assert made["checks"][0]["arg"] == "pnpm"
    assert (made["reviewed"], made["origin"], made["rule"]) == (True, "reviewed", RULE)

    told = say("tasks add", *HAND, "--golden", "--rubric", "Does it use pnpm?", "--check", "contains:pnpm add")

    assert made["id"] in told
    (task,) = invoke("tasks list")["tasks"]
    assert (task["id"], task["golden"], task["rubric"]) == (made["id"], True, "Does it use pnpm?")
    assert [check["arg"] for check in task["checks"]] == ["pnpm add"]
    assert stat.S_IMODE((private(repo).folder / "bank.json").stat().st_mode) == 0o600


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_written_task_counts_in_the_next_night(repo: Repository, invoke: Run) -> None:
    """Two of them are a wish that recurs: one is learned from, the other judges."""
    for ask in ("Install everything afresh", "Upgrade react to version 19", ASK):
        invoke("tasks add", "--ask", ask, "--rule", RULE)

    found = invoke("run")

    assert [edit["text"] for edit in found["edits"]] == [RULE]
    assert {task["split"] for task in invoke("tasks list")["tasks"]} == {"train", "val"}
    assert {task["origin"] for task in invoke("tasks list")["tasks"]} == {"reviewed"}


def test_what_cannot_be_written_says_why(repo: Repository, say: Say, invoke: Run) -> None:
    """A bad check, an empty ask, a secret: nothing is kept."""
    assert "contains" in say("tasks add", *HAND, "--check", "containz:x", code=2)
    assert "the ask is empty" in say("tasks add", "--ask", " ", "--rule", RULE, code=2)
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    failed = invoke("tasks add", "--ask", f"Use {secret}", "--rule", RULE, code=5)
    assert failed["error"]["kind"] == "safety"
    assert secret not in json.dumps(failed)
    assert private(repo).bank().tasks == ()


def test_a_golden_task_that_is_personal_is_told_to_be_of_no_use(
    invoke: Run, say: Say, capsys: pytest.CaptureFixture[str], repo: Repository
) -> None:
    """It is never replayed."""
    from skillopt_git import cli

    assert cli.run(["tasks", "add", *HAND, "--golden", "--personal", "--repo", str(repo.path)]) == 0
    assert "a personal task is never replayed" in capsys.readouterr().err


# --- marks -------------------------------------------------------------------------------------------------------


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_golden_is_put_on_and_taken_off_and_outlives_a_night(
    known: list[dict[str, Any]], say: Say, invoke: Run
) -> None:
    """A session that is read again tells its tasks anew, and not what a person decided about them."""
    name = known[0]["id"]
    assert invoke("tasks golden", name)["golden"] is True
    invoke("run", "--lookback-hours", "0")
    assert invoke("tasks show", name)["golden"] is True

    assert "No longer golden" in say("tasks golden", name, "--off")
    assert invoke("tasks show", name)["golden"] is False


def test_a_shared_task_that_is_marked_gets_a_private_copy(repo: Repository, say: Say, invoke: Run) -> None:
    """Which counts here; the file is as it was."""
    share(repo)
    private(repo).made()
    before = snapshot(repo)
    assert "Golden: t1-a" in say("tasks golden", "t1-a")
    (task,) = invoke("tasks list")["tasks"]
    assert (task["golden"], task["shared"], task["rule"]) == (True, True, "Answer in one sentence")
    assert snapshot(repo) == before
    assert [item.id for item in private(repo).bank().tasks] == ["t1-a"]


def test_a_golden_task_stands_guard_in_the_evidence(repo: Repository, home: Path, say: Say, invoke: Run) -> None:
    """Also one of another wish, that nothing is learned for."""
    sessions(home, repo, PNPM)
    made = invoke("tasks add", "--ask", "Answer the ticket", "--rule", "Say hello first", "--golden")

    (candidate,) = invoke("run")["candidates"]

    evidence = json.loads(repo.git("show", f"{LEDGER}:evidence/{candidate['evidence']}.json"))
    assert [task["part"] for task in evidence["tasks"] if task["task"] == made["id"]] == ["guard"]
    assert evidence["numbers"]["golden"] == [made["id"]]
    page, report = say("show", invoke("status")["open"][0]["branch"]), say("show", "--last")
    for told in (page, report):
        assert "Its 2 held-out tasks" in told or "**All 2**" in told
        assert f"| Golden, not in the mean: `{made['id']}`" in told
        assert "Gate figures" not in told
    assert "Answer the ticket" not in page


# --- putting out -------------------------------------------------------------------------------------------------


def test_a_dropped_task_does_not_come_back(known: list[dict[str, Any]], say: Say, invoke: Run) -> None:
    """Not by reading its session again; dropping it twice is dropping it once."""
    name = known[0]["id"]
    assert "Dropped: " in say("tasks drop", name)

    invoke("run", "--lookback-hours", "0")

    assert name not in [task["id"] for task in invoke("tasks list")["tasks"]]
    assert len(invoke("tasks list")["tasks"]) == len(known) - 1
    assert "dropped before" in say("tasks drop", name)
    assert invoke("tasks drop", known[1]["id"], known[2]["id"])["dropped"] == [known[1]["id"], known[2]["id"]]


def test_a_dropped_shared_task_is_ignored_here(repo: Repository, say: Say, invoke: Run) -> None:
    """By the list and by a night; its file stays until a proposal takes it out."""
    share(repo)
    assert "`skillopt-git tasks propose` takes it out" in say("tasks drop", "t1-a")
    assert invoke("tasks list")["tasks"] == []
    assert invoke("run")["tasks"] == 0
    assert invoke("tasks propose")["dropped"] == ["t1-a"]


# --- reviewing ---------------------------------------------------------------------------------------------------


def test_each_task_is_shown_and_asked_about(
    known: list[dict[str, Any]], types: Callable[[str], None], say: Say, invoke: Run
) -> None:
    """Yes marks, no leaves, what is neither is asked again, and q stops; each yes is kept at once."""
    types("y\nhm\nN\ny\nq\n")

    told = say("tasks review")

    assert "2 reviewed, 2 left as they were." in told
    assert told.count("sessions: ") == 4
    marked = [task["id"] for task in invoke("tasks list")["tasks"] if task["reviewed"]]
    assert len(marked) == 2
    types("y\ny\n")
    assert "2 reviewed, 0 left" in say("tasks review")
    types("")
    assert say("tasks review") == "There is nothing to review.\n"


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_the_end_of_the_input_is_no_yes(known: list[dict[str, Any]], types: Callable[[str], None], say: Say) -> None:
    """Whoever leaves has not agreed."""
    types("")
    assert "0 reviewed, 4 left" in say("tasks review")


def test_without_a_terminal_names_and_a_yes_are_needed(
    known: list[dict[str, Any]], say: Say, invoke: Run, types: Callable[[str], None]
) -> None:
    """Nothing is ever marked by itself."""
    name = known[0]["id"]
    for given in ((), (name,), ("--yes",)):
        assert "nobody is there to be asked" in say("tasks review", *given, code=2)
    types("y\n")
    assert invoke("tasks review", name, code=2)["error"]["kind"] == "usage"
    assert "nobody" in say("tasks review", "--yes", code=2)
    assert [task["reviewed"] for task in invoke("tasks list")["tasks"]] == [False] * 4

    assert invoke("tasks review", name, "--yes") == {"v": 1, "reviewed": [name]}

    assert invoke("tasks show", name)["origin"] == "reviewed"
    assert "known: t1-" in say("tasks review", "t1-nothing", "--yes", code=2)


@dataclass
class Meanwhile:
    """A terminal at which somebody takes their time, so that something else happens before they agree."""

    happens: Callable[[], object]

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        self.happens()
        return "y\n"


def test_what_changed_while_it_was_looked_at_is_not_marked(
    repo: Repository, known: list[dict[str, Any]], say: Say, invoke: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what somebody saw is what they agreed to; nobody waits for them meanwhile."""
    name = known[0]["id"]
    monkeypatch.setattr("sys.stdin", Meanwhile(lambda: invoke("tasks golden", name)))
    say("tasks review", name)
    assert invoke("tasks show", name)["reviewed"] is False


# --- handing on --------------------------------------------------------------------------------------------------


def test_an_export_is_a_tasks_file(
    known: list[dict[str, Any]], tmp_path: Path, say: Say, invoke: Run, repo: Repository
) -> None:
    """Reviewed only if a person reviewed every task in it; personal ones stay out; nothing is written over."""
    say("tasks add", "--ask", "Write to the landlord", "--rule", "Be polite to the landlord", "--personal")
    say("tasks review", known[0]["id"], "--yes")
    out, reviewed = tmp_path / "all.json", tmp_path / "reviewed.json"

    printed = json.loads(say("tasks export"))
    assert invoke("tasks export", "--output", str(out)) == {
        "v": 1,
        "output": str(out),
        "tasks": 4,
        "reviewed": False,
    }
    assert "wrote 1 tasks" in say("tasks export", "--reviewed", "--output", str(reviewed))

    assert json.loads(out.read_text()) == printed
    assert printed["reviewed"] is False
    assert "landlord" not in out.read_text()
    some = json.loads(reviewed.read_text())
    assert (some["reviewed"], [task["id"] for task in some["tasks"]]) == (True, [known[0]["id"]])
    assert "exists already" in say("tasks export", "--output", str(out), code=2)
    assert "cannot be written" in say("tasks export", "--output", str(tmp_path / "no/where.json"), code=2)
    assert invoke("run", "--tasks-file", str(out))["tasks"] == 4


def test_what_harvest_writes_is_reviewed_only_if_all_of_it_is(
    known: list[dict[str, Any]], tmp_path: Path, say: Say
) -> None:
    """By a person, task by task."""
    names = [task["id"] for task in known]
    for count, reviewed in ((3, False), (4, True)):
        say("tasks review", *names[:count], "--yes")
        say("harvest", "--output", str(tmp_path / f"{count}.json"), "--lookback-hours", "0")
        assert json.loads((tmp_path / f"{count}.json").read_text())["reviewed"] is reviewed


def test_an_empty_export_vouches_for_nothing(say: Say) -> None:
    """Nobody reviewed anything."""
    assert json.loads(say("tasks export")) == {"v": 1, "reviewed": False, "needs": {}, "tasks": []}


def test_what_was_reviewed_is_proposed_merged_and_shared(
    repo: Repository, known: list[dict[str, Any]], say: Say, invoke: Run
) -> None:
    """From review to the shared bank and back; a run goes on with the same tasks and the same splits."""
    names = sorted(task["id"] for task in known[:2])
    nothing = say("tasks propose")
    assert "Nothing to share" in nothing
    assert "4 tasks are not reviewed: `skillopt-git tasks review`" in nothing
    say("tasks review", *names, "--yes")

    made = invoke("tasks propose")

    branch = made["branch"]
    assert invoke("status")["tasks"] == [branch]
    assert f"merge it: `skillopt-git adopt {branch}`" in say("status")
    assert (made["new"], made["changed"], made["dropped"], made["moved"]) == (names, [], [], True)
    assert "holds it all already" in say("tasks propose")
    assert f"skillopt-git adopt {branch}" in say("tasks propose")
    told = say("adopt", branch)
    assert "its tasks are shared" in told
    assert invoke("status")["tasks"] == []
    assert "Tasks to be shared" not in say("status")
    assert {task["id"] for task in invoke("tasks list")["tasks"] if task["shared"]} == set(names)
    again = invoke("tasks propose")
    assert (again["branch"], again["new"], again["moved"]) == (None, [], False)
    assert "2 tasks are not reviewed" in again["said"][-1]
    (private(repo).folder / "bank.json").unlink()
    assert {task["id"]: task["split"] for task in invoke("tasks list")["tasks"]} == {
        task["id"]: task["split"] for task in known[:2]
    }


def test_a_branch_of_tasks_is_refused_without_a_trace(
    repo: Repository, known: list[dict[str, Any]], say: Say, invoke: Run
) -> None:
    """It proposed no rule: there is nothing to remember, and no reason to give."""
    say("tasks review", known[0]["id"], "--yes")
    branch = invoke("tasks propose")["branch"]
    for given in (("--reason", "no"), ("--edit", "e1-0")):
        assert "proposes no rule" in say("reject", branch, *given, code=2)

    assert "Nothing is rejected by that" in say("reject", branch)

    assert branch not in repo.git("branch", "--list", "sleep/*")
    assert invoke("rejections list")["rejections"] == []
    assert invoke("tasks propose")["branch"] == branch


def test_a_branch_that_holds_what_was_dropped_since_is_named(
    known: list[dict[str, Any]], say: Say, invoke: Run
) -> None:
    """It would share it all the same if it were merged."""
    say("tasks review", known[0]["id"], "--yes")
    branch = invoke("tasks propose")["branch"]
    say("tasks drop", known[0]["id"])
    told = say("tasks propose")
    assert f"{branch} waits to be merged, or to be deleted." in told
    assert "3 tasks are not reviewed" in told
    say("tasks drop", known[1]["id"], known[2]["id"])
    assert "1 task is not reviewed" in say("tasks propose")


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_verbs_that_write_wait_for_nobody(repo: Repository, known: list[dict[str, Any]], say: Say, invoke: Run) -> None:
    """While a run is at work they say so and change nothing; looking is always possible."""
    name = known[0]["id"]
    with private(repo).lock():
        for verb, *given in (
            ("tasks add", *HAND),
            ("tasks golden", name),
            ("tasks drop", name),
            ("tasks review", name, "--yes"),
            ("tasks propose",),
        ):
            assert "already at work" in say(verb, *given, code=75)
        assert [task["id"] for task in invoke("tasks list")["tasks"]] == [task["id"] for task in known]
        assert invoke("tasks show", name)["golden"] is False
