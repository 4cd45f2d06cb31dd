"""Nights with models that are no simulation: scripted ones, so that checkpoint, adoption and precedence can be seen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import nightly, roles
from skillopt_git.backends.scripted import Scripted
from skillopt_git.commands.demo import write_sessions
from skillopt_git.cycle import ModelDoor
from skillopt_git.doors import Opened
from skillopt_git.errors import BackendError, ConfigError
from skillopt_git.learned import Models
from skillopt_git.loading import load
from skillopt_git.model import Task
from skillopt_git.nightly import Options, Ran
from skillopt_git.ports import CallFailed, Listener, Reply, Request
from skillopt_git.private import Private
from skillopt_git.prompts import Prompts
from skillopt_git.redact import Redactor
from tests.helpers import Repository
from tests.nights import PNPM, RULE, SKILL, TICKET, Run, obedient, sessions, taught

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach


def choice(
    script: Callable[[Request], Reply | CallFailed] = obedient, **fields: Any
) -> tuple[roles.ModelChoice, Scripted]:
    backend = replace(Scripted(script=script, asked=[]), **fields)
    opened_ = Opened(backend=backend)

    def opened(private: Private, redact: Redactor, _: Prompts, notify: Listener) -> ModelDoor:
        def door(tasks: Sequence[Task], needs: Mapping[str, str]) -> Models:
            return roles.models(opened_, opened_, tasks, private, redact, notify=notify)

        return door

    return roles.ModelChoice(simulated=backend.simulated, open=opened), backend


@pytest.fixture
def night(repo: Repository, home: Path) -> Callable[..., Ran]:
    """One night with a scripted model."""

    def call(
        script: Callable[[Request], Reply | CallFailed] = obedient,
        *,
        options: Options = Options(),  # noqa: B008 - frozen
        at: datetime | None = None,
        deterministic: bool = True,
        where: Path | None = None,
        **flags: Any,
    ) -> Ran:
        given = {"harvest.claude_home": str(home)} | {key.replace("__", "."): value for key, value in flags.items()}
        path = where or repo.path
        config = load(path, flags=given)
        model, _ = choice(script, deterministic=deterministic)
        clock = (lambda: at) if at else (lambda: datetime.now(UTC))
        return nightly.run(path, config, options, model=model, clock=clock, notify=lambda _: None)

    return call


def test_a_measured_night_is_strong_and_not_marked(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """Night 1, no mark of a simulation anywhere."""
    sessions(home, repo, PNPM)

    ran = night()

    assert (ran.record["verdict"], ran.record["simulated"], ran.record["night"]) == ("strong", False, 1)
    assert repo.git("log", "-1", "--format=%s", ran.record["branch"]).strip() == f"Learn: {RULE}"
    assert "Simulated" not in invoke("show", ran.record["branch"])["body"]


def test_a_page_draws_the_scores_of_measured_nights_only(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """From the second of them on, and never on the page of a simulation."""
    sessions(home, repo, PNPM[:3])
    invoke("run")
    first = night(gate__mode="strict")
    sessions(home, repo, TICKET)
    second = night(options=Options(anew=True), gate__mode="strict")
    simulated = invoke("run")["run"]

    def page(ran: Ran) -> str:
        assert ran.page is not None
        return ran.page.read_text(encoding="utf-8")

    assert [item.record["baseline"] is not None for item in (first, second)] == [True, True]
    assert "Held-out score by night" not in page(first)
    assert page(second).count("Held-out score by night") == 1
    assert "Passes of each held-out task" in page(first)
    folder = repo.path / ".git" / "skillopt" / "reports" / simulated
    assert "Held-out score by night" not in (folder / "report.html").read_text(encoding="utf-8")


def test_the_checkpoint_moves_only_with_a_recorded_measured_run(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """Not on a dry run, not on a simulation; after it the same sessions are not read again, their tasks stay known."""
    sessions(home, repo, PNPM)
    checkpoint = repo.path / ".git" / "skillopt" / "checkpoint.json"
    invoke("run")
    night(options=Options(dry_run=True))
    assert not checkpoint.exists()
    now = datetime.now(UTC)

    first = night(at=now)

    assert first.record["sessions"] == 4
    assert datetime.fromisoformat(json.loads(checkpoint.read_text())["read"]["claude"][str(home)]) == now
    second = night()
    assert (second.record["sessions"], second.record["tasks"], second.record["night"]) == (0, 4, 2)
    again = night(options=Options(anew=True))
    assert again.record["sessions"] == 4


def test_a_cap_leaves_no_session_unread_for_good(repo: Repository, home: Path, night: Callable[..., Ran]) -> None:
    """The checkpoint moves only to the oldest session that the cap left unread, so later nights get to it."""
    sessions(home, repo, PNPM)

    first = night(harvest__max_sessions=3)
    second = night(harvest__max_sessions=4)

    assert (first.record["sessions"], first.record["tasks"]) == (3, 3)
    assert second.record["tasks"] == 4


def test_auto_adopt_merges_what_is_strong_and_measured(repo: Repository, home: Path, night: Callable[..., Ran]) -> None:
    """Only when asked for; the record names the commit."""
    sessions(home, repo, PNPM)

    ran = night(propose__auto_adopt=True)

    assert ran.record["adopted"] is True
    assert repo.git("rev-parse", "main").strip() == ran.record["adopted_commit"]
    assert f"- {RULE}\n" in (repo.path / SKILL).read_text()


def test_auto_adopt_that_meets_local_changes_leaves_the_proposal_open(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """The night is recorded and told; what stands in the way is noted, and nothing of it is touched."""
    sessions(home, repo, PNPM)
    repo.write({SKILL: "mine\n"})

    ran = night(propose__auto_adopt=True)

    assert (ran.record["adopted"], ran.record["proposed"]) == (False, True)
    assert any(note.startswith("not adopted by itself: ") for note in ran.record["notes"])
    assert (repo.path / SKILL).read_text() == "mine\n"
    assert invoke("show", "--last")["run"] == ran.record["run"]


def test_auto_adopt_never_merges_what_somebody_else_has_touched(
    repo: Repository, home: Path, night: Callable[..., Ran]
) -> None:
    """New edits wait for the reviewer, and so does the merge."""
    sessions(home, repo, PNPM)
    branch = night().record["branch"]
    repo.git("switch", "--quiet", branch)
    repo.commit("Review", {"notes.md": "not yet\n"})
    repo.git("switch", "--quiet", "main")
    sessions(home, repo, [*PNPM, *TICKET])

    ran = night(options=Options(anew=True), propose__auto_adopt=True)

    assert (ran.record["accepted"], ran.record["adopted"]) == (True, False)
    assert repo.git("rev-list", "--count", "main").strip() == "1"


def test_auto_adopt_does_nothing_on_a_night_without_a_new_proof(
    repo: Repository, home: Path, night: Callable[..., Ran]
) -> None:
    """What was left open before is its owner's to decide."""
    sessions(home, repo, PNPM)
    night()

    assert night(options=Options(anew=True), propose__auto_adopt=True).record["adopted"] is False


def test_what_a_person_decided_about_a_simulation_counts(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """Rejected there is rejected here."""
    sessions(home, repo, PNPM)
    invoke("run")
    invoke("reject", "--reason", "we like npm")

    ran = night()

    assert (ran.record["reason"], ran.record["branch"]) == ("all_suppressed", None)
    assert "we like npm" in ran.record["suppressed"][0]["why"]


def test_sessions_of_a_work_tree_that_is_gone_still_count(
    repo: Repository, home: Path, night: Callable[..., Ran]
) -> None:
    """It was there when an earlier run was recorded."""
    desk = Repository(repo.path.parent / "desk")
    repo.git("worktree", "add", "--quiet", "-b", "feature", str(desk.path))
    night()
    sessions(home, desk, PNPM)
    repo.git("worktree", "remove", str(desk.path))

    assert night(options=Options(anew=True)).record["sessions"] == 4


def test_a_dry_run_tries_a_changed_text_anew_too(repo: Repository, home: Path, night: Callable[..., Ran]) -> None:
    """The answer is the one a run would give."""
    repo.commit("A skill", {SKILL: "---\nname: skillopt-sleep-learned\ndescription: d\n---\n"})
    sessions(home, repo, PNPM)
    night()
    repo.commit("By hand", {SKILL: "---\nname: skillopt-sleep-learned\ndescription: d\n---\n\nBe brief.\n"})

    ran = night(options=Options(dry_run=True))

    assert [edit["text"] for edit in ran.record["edits"]] == [RULE]


def test_a_partly_adopted_proposal_is_rebuilt_on_the_new_text(
    repo: Repository, home: Path, night: Callable[..., Ran]
) -> None:
    """One edit was picked; the other is tried on the text with it, and stands on that commit."""
    sessions(home, repo, [*PNPM, *TICKET])
    first = night()
    picked = first.record["commits"][0]
    repo.git("cherry-pick", picked)
    base = repo.git("rev-parse", "main").strip()

    second = night()

    branch = second.record["branch"]
    assert branch == first.record["branch"]
    assert repo.git("rev-parse", f"{branch}~1").strip() == base
    assert len(second.record["edits"]) == 1
    assert "ticket" in repo.git("diff", f"main..{branch}")
    assert "pnpm" in taught(repo, branch)
    assert night().record["commits"] == second.record["commits"]


def test_an_unreviewed_shared_bank_is_refused_by_a_real_backend(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """The simulation takes it; nothing leaves the machine there."""
    record = {"v": 1, "reviewed": False, "needs": {}, "tasks": []}
    repo.commit("Share", {".skillopt/tasks/all.json": json.dumps(record)})

    with pytest.raises(ConfigError, match="is not reviewed"):
        night()

    assert invoke("run")["reason"] == "no_sessions"


def test_a_measured_proposal_takes_the_place_of_a_simulated_one(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """The simulated edits do not count as proposed; their proposal is superseded, its branch never written again."""
    sessions(home, repo, PNPM)
    simulated = invoke("run")["branch"]
    tip = repo.git("rev-parse", simulated)

    ran = night()

    assert ran.record["branch"] == f"{simulated}-2"
    assert repo.git("rev-parse", simulated) == tip
    assert invoke("status")["outcomes"] == {"superseded": 1}
    waits = invoke("run")
    assert waits["suppressed"][0]["why"].startswith("already proposed on")
    assert waits["branch"] == ran.record["branch"]


def test_what_a_simulation_refused_means_nothing_to_a_measured_run(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gate results and night numbers of simulations are invisible."""
    monkeypatch.setenv("SKILLOPT_REPLAY_MOCK_PASS_WITH", "0")
    sessions(home, repo, PNPM)
    assert {edit["verdict"] for edit in invoke("run")["rejected"]} == {"inconclusive"}

    ran = night()

    assert (ran.record["verdict"], ran.record["night"]) == ("strong", 1)


def test_a_model_that_varies_is_suggestive_and_makes_a_draft(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """Not accepted, yet on the branch as a draft, until a strong edit is open."""
    sessions(home, repo, PNPM)

    ran = night(deterministic=False, gate__mode="strict")

    assert (ran.record["verdict"], ran.record["accepted"], ran.record["proposed"]) == ("suggestive", False, True)
    branch = ran.record["branch"]
    assert invoke("show", branch)["draft"] is True
    sessions(home, repo, [*PNPM, *TICKET])
    strong = night(options=Options(anew=True))
    assert strong.record["branch"] == branch
    assert "pnpm" not in taught(repo, branch)
    assert "ticket" in taught(repo, branch)
    assert invoke("show", branch)["draft"] is False


def test_a_golden_task_refuses_what_makes_it_worse(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """A rule that helps everywhere else is refused, and the report names the task."""
    sessions(home, repo, PNPM)
    rule = ("--rule", "Publish the old package with npm", "--check", "contains:npm")
    made = invoke("tasks add", "--ask", "Publish the old package", *rule, "--golden")

    ran = night()

    assert (ran.record["verdict"], ran.record["branch"], ran.record["edits"]) == ("harmful", None, [])
    assert f"the golden task {made['id']} got worse" in ran.record["rejected"][0]["why"]
    assert made["id"] in ran.report

    invoke("tasks golden", made["id"], "--off")
    (refused,) = night().record["suppressed"]
    assert "found harmful before" in refused["why"]


def test_too_many_failed_calls_are_invalid_and_recorded_as_nothing_else(
    repo: Repository, home: Path, night: Callable[..., Ran]
) -> None:
    """A call that failed is missing, not zero; no branch comes of it, and the next night tries again."""
    sessions(home, repo, PNPM)

    def flaky(request: Request) -> Reply | CallFailed:
        if request.purpose == "rollout" and "/" in request.sample and "left-pad" in request.ask:
            return CallFailed("truncated", "cut off")
        return obedient(request)

    ran = night(flaky)

    assert (ran.record["verdict"], ran.exit_code) == ("invalid", 4)
    assert ran.record["branch"] is None
    assert night().record["verdict"] == "strong"


def test_a_dead_backend_is_an_error_and_leaves_nothing(repo: Repository, home: Path, night: Callable[..., Ran]) -> None:
    """Not a night of zeros: the error has the call's kind, and neither ledger nor checkpoint moves."""
    sessions(home, repo, PNPM)

    with pytest.raises(BackendError) as caught:
        night(lambda _: CallFailed("auth", "not logged in"))

    assert (caught.value.kind, caught.value.exit_code) == ("auth", 1)
    assert repo.git("for-each-ref", "refs/skillopt") == ""
    assert not (repo.path / ".git" / "skillopt" / "checkpoint.json").exists()


def test_a_real_backend_refuses_an_unreviewed_tasks_file(
    repo: Repository, night: Callable[..., Ran], tmp_path: Path
) -> None:
    """Its texts would leave the machine before anybody read them; not even a string "true" will do."""
    file = tmp_path / "tasks.json"
    for reviewed in (False, "true"):
        file.write_text(json.dumps({"v": 1, "reviewed": reviewed, "tasks": []}))
        with pytest.raises(ConfigError, match="reviewed"):
            night(options=Options(tasks_file=file))


def test_a_secret_in_the_optimizers_words_goes_nowhere(repo: Repository, home: Path, night: Callable[..., Ran]) -> None:
    """In a rule it drops the rule, in a reason the reason; neither cache, report nor ledger holds it."""
    sessions(home, repo, PNPM)
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"

    def leaky(request: Request) -> Reply:
        if request.purpose != "reflect":
            return obedient(request)
        proposed = [
            {"op": "add", "text": f"Log in with {secret}", "reason": "Because."},
            {"op": "add", "text": RULE, "reason": f"It needs {secret}."},
        ]
        return Reply(text=json.dumps({"edits": proposed}))

    ran = night(leaky)

    assert [edit["text"] for edit in ran.record["edits"]] == [RULE]
    private = repo.path / ".git" / "skillopt"
    assert [path for path in private.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()] == []
    assert secret not in repo.git("log", "--all", "--patch", "--format=%B")
    assert secret not in json.dumps(ran.record)


def test_a_changed_base_text_starts_the_trial_anew(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """What was measured on another text proves nothing on this one: tried again, the same branch is rebuilt on it."""
    repo.commit("A skill", {SKILL: "---\nname: skillopt-sleep-learned\ndescription: d\n---\n"})
    sessions(home, repo, PNPM)
    first = night()
    base = repo.commit("By hand", {SKILL: "---\nname: skillopt-sleep-learned\ndescription: d\n---\n\nBe brief.\n"})

    second = night()

    assert second.record["branch"] == first.record["branch"]
    assert [edit["text"] for edit in second.record["edits"]] == [RULE]
    assert second.record["commits"] != first.record["commits"]
    assert repo.git("rev-parse", f"{second.record['branch']}~1").strip() == base
    assert "Be brief." in taught(repo, second.record["branch"])
    assert night().record["commits"] == second.record["commits"]


def test_what_is_no_longer_proven_on_the_changed_text_leaves(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """When the changed text makes the rule useless, its proposal expires and the branch is left as it was."""
    repo.commit("A skill", {SKILL: "---\nname: skillopt-sleep-learned\ndescription: d\n---\n"})
    sessions(home, repo, PNPM)
    first = night()
    tip = repo.git("rev-parse", first.record["branch"])
    text = f"---\nname: skillopt-sleep-learned\ndescription: d\n---\n\nHouse rule: {RULE}!\n"
    repo.commit("By hand", {SKILL: text})

    second = night()

    assert second.record["branch"] is None
    assert invoke("status")["outcomes"] == {"expired": 1}
    assert repo.git("rev-parse", first.record["branch"]) == tip


def test_an_adopted_rule_that_still_fails_may_be_worded_better(
    repo: Repository, home: Path, night: Callable[..., Ran], invoke: Run
) -> None:
    """What is learned and at the base does not stand in the way of a replacement."""
    sessions(home, repo, PNPM)
    night()
    invoke("adopt")

    def deaf(request: Request) -> Reply:
        better = "Run every package command with pnpm, not npm"
        if request.purpose == "reflect":
            edit = {"op": "replace", "anchor": RULE, "text": better, "reason": "The first was not heard."}
            return Reply(text=json.dumps({"edits": [edit]}))
        told = " ".join(text for _, text in request.documents)
        return Reply(text=f"Ran {'pnpm' if better in told else 'npm'} install.")

    ran = night(deaf)

    assert [(edit["op"], edit["verdict"]) for edit in ran.record["edits"]] == [("replace", "strong")]


def test_the_window_counts_from_the_checkpoint(repo: Repository, home: Path, night: Callable[..., Ran]) -> None:
    """Sessions that ended after the last recorded run are read, whatever the look-back is."""
    now = datetime.now(UTC)
    write_sessions(home, str(repo.path), PNPM[:2], now - timedelta(hours=2))
    assert night(at=now - timedelta(hours=2, minutes=30)).record["sessions"] == 2
    write_sessions(home, str(repo.path), PNPM, now)

    later = night(harvest__lookback_hours=1)

    assert later.record["sessions"] == 2


def test_two_machines_and_two_homes_with_one_ledger_lose_no_session(
    repo: Repository, home: Path, night: Callable[..., Ran], tmp_path: Path
) -> None:
    """How far somebody else has read, or another of one's own homes, says nothing about this one."""
    other_home, third_home = tmp_path / "other", tmp_path / "third"
    sessions(home, repo, PNPM[:1])
    assert night().record["sessions"] == 1
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "clone"))
    other = Repository(tmp_path / "clone")
    other.git("fetch", "--quiet", "origin", "refs/skillopt/ledger:refs/skillopt/ledger")
    sessions(other_home, other, PNPM[1:3])
    sessions(third_home, Repository(repo.path / "src"), PNPM[3:])

    theirs = night(where=other.path, harvest__claude_home=str(other_home))
    third = night(harvest__claude_home=str(third_home))

    assert (theirs.record["sessions"], theirs.record["tasks"]) == (2, 2)
    assert (third.record["sessions"], third.record["tasks"]) == (1, 2)
    assert night(where=other.path, harvest__claude_home=str(other_home)).record["sessions"] == 0
