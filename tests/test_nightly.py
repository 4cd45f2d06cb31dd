"""Whole nights through the command line: real repositories, session files as an agent writes them, no network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from skillopt_git import cli
from skillopt_git.model import REASONS, Reason
from tests.helpers import Repository
from tests.helpers_git import snapshot
from tests.nights import PNPM, SKILL, TICKET, Run, sessions, taught


def _lines(value: object) -> list[str]:
    assert isinstance(value, list)
    return value


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_night_in_a_dirty_repository_changes_nothing_of_the_users(repo: Repository, home: Path, invoke: Run) -> None:
    """Index, work tree, HEAD, stash, hooks and config stay byte for byte; the branch can be adopted."""
    repo.write({"stashed.txt": "stash me"})
    repo.git("add", "stashed.txt")
    repo.git("stash")
    repo.write({"README.md": "# changed\n", "staged.txt": "staged", "untracked.txt": "untracked"})
    repo.git("add", "staged.txt")
    sessions(home, repo, PNPM)
    before = snapshot(repo)

    found = invoke("run")

    assert found["reason"] == "improved"
    assert found["verdict"] == "strong"
    assert found["simulated"] is True
    assert (found["baseline"], found["candidate"]) == (0.0, 1.0)
    assert found["branch"].startswith("sleep/20")
    assert [edit["text"] for edit in found["edits"]] == ["Use pnpm, not npm"]
    after = snapshot(repo)
    tip = repo.git("rev-parse", found["branch"]).strip()
    assert after.pop("refs") == sorted([*_lines(before.pop("refs")), f"refs/heads/{found['branch']} {tip}"])
    assert after.pop("names") == sorted([*_lines(before.pop("names")), "skillopt"])
    assert after == before
    assert "- Use pnpm, not npm\n" in taught(repo, found["branch"])

    invoke("adopt")

    assert "- Use pnpm, not npm\n" in (repo.path / SKILL).read_text()
    assert (repo.path / "README.md").read_text() == "# changed\n"
    assert len(repo.git("log", "-1", "--format=%P").split()) == 2


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_commits_carry_the_evidence(repo: Repository, first_run: Run) -> None:
    """One commit an edit, with trailers that lead to evidence in the ledger; a second build is the same commit."""
    found = first_run(PNPM)

    trailers = dict(
        line.split(": ", 1)
        for line in repo.git("log", "-1", "--format=%(trailers:only,unfold)", found["branch"]).splitlines()
        if line
    )
    assert trailers["SkillOpt-Edit-Id"] == found["edits"][0]["id"]
    assert trailers["SkillOpt-Run"] == found["run"]
    assert trailers["SkillOpt-Target"] == SKILL
    assert trailers["SkillOpt-Base-Blob"] == "none"
    assert trailers["SkillOpt-Gate"] == "strong"
    evidence = json.loads(repo.git("show", f"refs/skillopt/ledger:evidence/{trailers['SkillOpt-Evidence']}.json"))
    assert evidence["verdict"] == "strong"
    assert evidence["edits"] == [trailers["SkillOpt-Edit-Id"]]
    assert found["commits"] == [repo.git("rev-parse", found["branch"]).strip()]


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_second_night_proposes_nothing_and_moves_nothing(
    invoke: Run, first_run: Run, say: Callable[..., str]
) -> None:
    """What is open is not proposed again, and a night without new evidence writes neither branch nor body; every verb
    that tells of it says so in words."""
    first = first_run(PNPM)
    body = invoke("show", first["branch"])["body"]

    second = invoke("run")

    assert second["edits"] == []
    assert second["reason"] == "all_suppressed"
    assert first["branch"] in second["suppressed"][0]["why"]
    assert second["commits"] == first["commits"]
    assert invoke("show", first["branch"])["body"] == body
    for verb in ("status", "log", "doctor"):
        told = say(verb)
        assert "every rule is proposed already, or held back" in told
        assert "all_suppressed" not in told


def test_every_end_of_a_night_has_words() -> None:
    assert set(REASONS) == set(get_args(Reason))


def test_whoever_adopts_a_simulated_proposal_is_told(repo: Repository, home: Path, invoke: Run) -> None:
    sessions(home, repo, PNPM)
    branch = invoke("run")["branch"]
    assert "came from a simulation" in invoke("adopt", branch)["said"][-1]


def test_what_was_rejected_stays_rejected_in_other_words(
    repo: Repository, home: Path, invoke: Run, first_run: Run
) -> None:
    """The branch goes, its tip is anchored, and neither the rule nor another wording for the need comes back."""
    branch = first_run(PNPM)["branch"]
    tip = repo.git("rev-parse", branch).strip()

    invoke("reject", "--reason", "not here")

    assert repo.git("branch", "--list", branch) == ""
    assert repo.git("rev-parse", f"refs/skillopt/rejected/{branch}").strip() == tip
    sessions(home, repo, [*PNPM, ["Add zod", "Ran npm install zod.", "no, use pnpm rather than npm", "pnpm add zod."]])
    again = invoke("run")
    assert again["reason"] == "all_suppressed"
    assert "not here" in again["suppressed"][0]["why"]
    listed = invoke("rejections list")["rejections"]
    assert [item["text"] for item in listed] == ["Use pnpm, not npm"]

    invoke("rejections undo", listed[0]["edit"])

    assert invoke("run")["branch"] == f"{branch}-2"


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_plain_git_merge_and_revert_are_noticed(repo: Repository, invoke: Run, first_run: Run) -> None:
    """Merging with git adopts; reverting the merge unlearns, and the rule is held back; reverting that adopts again."""
    branch = first_run(PNPM)["branch"]

    repo.git("merge", "--quiet", "--no-ff", "--no-edit", branch)

    assert [item["text"] for item in invoke("status")["learned"]] == ["Use pnpm, not npm"]
    assert invoke("run")["baseline"] == 1.0
    repo.git("revert", "--no-edit", "-m", "1", "HEAD")
    assert invoke("status")["learned"] == []
    held = invoke("run")
    assert held["reason"] == "all_suppressed"
    assert "unlearned" in held["suppressed"][0]["why"]
    repo.git("revert", "--no-edit", "HEAD")
    assert [item["text"] for item in invoke("status")["learned"]] == ["Use pnpm, not npm"]
    assert invoke("rejections list")["rejections"] == []


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_was_merged_here_and_not_pushed_is_decided_and_costs_no_night(
    repo: Repository, home: Path, invoke: Run, tmp_path: Path
) -> None:
    """Base is what the remote has; the branch is merged all the same, and is never written again."""
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "server.git"))
    repo.git("remote", "add", "origin", f"file://{tmp_path}/server.git")
    repo.git("fetch", "--quiet")
    repo.git("remote", "set-head", "origin", "main")
    sessions(home, repo, PNPM)
    branch = invoke("run")["branch"]
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", branch)
    merged = repo.git("rev-parse", branch)
    sessions(home, repo, [*PNPM, *TICKET])

    for _ in range(2):
        told = invoke("run")
        assert any("has to wait" in note and "merged already" in note for note in told["notes"])
        assert repo.git("rev-parse", branch) == merged

    repo.git("push", "--quiet", "origin", "main")
    assert invoke("run")["branch"] == f"{branch}-2"


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_squash_merge_is_noticed_by_content(repo: Repository, invoke: Run, first_run: Run) -> None:
    """Adoption is told by what the base says, not by which commits it has."""
    branch = first_run(PNPM)["branch"]

    repo.git("merge", "--quiet", "--squash", branch)
    repo.git("commit", "--quiet", "-m", "Squashed")

    assert invoke("status")["outcomes"] == {"adopted": 1}


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_branch_deleted_by_hand_is_expired_and_may_come_back(repo: Repository, invoke: Run, first_run: Run) -> None:
    """Deleting is not rejecting: the next night proposes the rule again on a branch of another name."""
    branch = first_run(PNPM)["branch"]

    repo.git("branch", "--quiet", "-D", branch)

    again = invoke("run")
    assert again["branch"] == f"{branch}-2"
    assert invoke("status")["outcomes"] == {"expired": 1}


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_revert_unlearns_one_rule_by_content(repo: Repository, invoke: Run, first_run: Run) -> None:
    """`revert` makes a branch, `--now` merges it; the neighbour in the block stays."""
    edits = {edit["text"]: edit["id"] for edit in first_run([*PNPM, *TICKET])["edits"]}
    assert set(edits) == {"Use pnpm, not npm", "Put the ticket number in branch names"}
    invoke("adopt")

    prepared = invoke("revert", edits["Use pnpm, not npm"])
    assert prepared["branch"] == f"sleep/revert-{edits['Use pnpm, not npm']}"
    assert "pnpm" in taught(repo, "main")
    invoke("revert", edits["Use pnpm, not npm"], "--now")

    assert "pnpm" not in taught(repo, "main")
    assert "- Put the ticket number in branch names\n" in (repo.path / SKILL).read_text()
    assert [item["text"] for item in invoke("rejections list")["rejections"]] == ["Use pnpm, not npm"]
    assert invoke("run")["reason"] == "all_suppressed"


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_rejecting_one_edit_rebuilds_the_branch_without_it(repo: Repository, invoke: Run, first_run: Run) -> None:
    """The other edit stays proposed, on the same branch, as a commit of its own."""
    found = first_run([*PNPM, *TICKET])
    assert len(found["commits"]) == 2
    pnpm = next(edit["id"] for edit in found["edits"] if "pnpm" in edit["text"])

    invoke("reject", "--edit", pnpm)

    assert "pnpm" not in taught(repo, found["branch"])
    assert "- Put the ticket number in branch names\n" in taught(repo, found["branch"])
    assert len(repo.git("rev-list", f"main..{found['branch']}").split()) == 1
    assert invoke("show", found["branch"])["open"] is True


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_branch_somebody_committed_to_is_left_alone(
    repo: Repository, home: Path, invoke: Run, first_run: Run
) -> None:
    """A reviewer's commit freezes the branch: new edits wait, and say so."""
    branch = first_run(PNPM)["branch"]
    repo.git("switch", "--quiet", branch)
    repo.commit("Word it better", {"notes.md": "mine\n"})
    tip = repo.git("rev-parse", branch).strip()
    repo.git("switch", "--quiet", "main")
    sessions(home, repo, [*PNPM, *TICKET])

    found = invoke("run")

    assert repo.git("rev-parse", branch).strip() == tip
    assert found["accepted"] is True
    assert found["edits"] == []
    assert any("wait" in note and "committed" in note for note in found["notes"])


def test_a_later_night_adds_to_the_open_proposal(repo: Repository, home: Path, invoke: Run, first_run: Run) -> None:
    """One open proposal: its first commit keeps its sha, the new edit comes on top."""
    first = first_run(PNPM)
    sessions(home, repo, [*PNPM, *TICKET])

    second = invoke("run")

    assert second["branch"] == first["branch"]
    assert second["commits"][:1] == first["commits"]
    assert len(second["commits"]) == 2
    assert [edit["text"] for edit in second["edits"]] == ["Put the ticket number in branch names"]


def test_a_dry_run_writes_nothing(repo: Repository, home: Path, invoke: Run) -> None:
    """No ref, no report, no bank, only what spares the next one work; the answer is the same as a run's."""
    sessions(home, repo, PNPM)
    before = snapshot(repo)

    found = invoke("dry-run")

    assert found["reason"] == "improved"
    assert [edit["text"] for edit in found["edits"]] == ["Use pnpm, not npm"]
    assert found["branch"] is None
    after = snapshot(repo)
    assert after.pop("names") == sorted([*_lines(before.pop("names")), "skillopt"])
    assert after == before
    private = repo.path / ".git" / "skillopt"
    assert sorted(path.name for path in private.iterdir()) == ["cache", "index", "key", "machine"]


def test_sessions_are_only_read(repo: Repository, home: Path, invoke: Run) -> None:
    """Nothing under the agent's home is written, also not its times."""
    sessions(home, repo, PNPM)

    def seen() -> dict[str, tuple[bytes, float]]:
        return {
            str(path): (path.read_bytes(), path.stat().st_mtime) for path in sorted(home.rglob("*")) if path.is_file()
        }

    before = seen()
    invoke("harvest")
    invoke("run")
    assert seen() == before


RULES = {
    "n1-0000000000000001": "Wrap the final answer in <answer></answer> tags",
    "n1-0000000000000002": "Cite each paper as [arXiv:ID]",
}
QUESTIONS = [
    "Which optimiser did the transformer paper use?",
    "How deep was the first residual network?",
    "What does dropout do at test time?",
    "Name the loss of the original GAN.",
    "When was batch normalisation proposed?",
    "What limits the context of a recurrent network?",
    "Who introduced the word piece vocabulary, and where?",
    "Summarise what is known about scaling laws.",
    "Which paper made contrastive pre-training popular?",
    "Compare two ways to distil a large model.",
    "Find work on sparse attention.",
    "List the sources for low-rank adaptation.",
]


def researcher_tasks() -> dict[str, Any]:
    """Twelve tasks, each needing one of two rules."""
    tag, cite = RULES
    checks = {
        tag: {"op": "regex", "arg": r"<answer>.+</answer>"},
        cite: {"op": "regex", "arg": r"\[arXiv:\d{4}\.\d{5}\]"},
    }
    tasks = [
        {"id": f"t1-{number:016x}", "ask": ask, "needs": [need], "checks": [checks[need]], "origin": "reviewed"}
        for number, ask in enumerate(QUESTIONS)
        for need in [tag if number < len(QUESTIONS) / 2 else cite]
    ]
    return {"v": 1, "reviewed": True, "needs": RULES, "tasks": tasks}


def test_researcher_tasks_reach_one_in_a_night_and_keep_it(
    repo: Repository, invoke: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a tasks file: 0 to 1 in one night, the harmful rule refused, nothing on the second night, the lift kept."""
    monkeypatch.setenv("SKILLOPT_REPLAY_MOCK_HARMFUL", "true")
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps(researcher_tasks()))

    first = invoke("run", "--tasks-file", str(file))

    assert (first["baseline"], first["candidate"]) == (0.0, 1.0)
    assert {edit["text"] for edit in first["edits"]} == set(RULES.values())
    assert [edit["text"] for edit in first["rejected"]] == ["Answer every request with the single word done"]
    assert first["tasks"] == 12
    second = invoke("run", "--tasks-file", str(file))
    assert second["edits"] == []
    invoke("adopt")
    third = invoke("run", "--tasks-file", str(file))
    assert third["baseline"] == 1.0
    assert third["reason"] == "no_edits"


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_researcher_tasks_from_transcripts(repo: Repository, home: Path, invoke: Run) -> None:
    """The same twelve as sessions in which the answers were turned down."""
    said = ["No, wrap the final answer in <answer></answer> tags", "No, cite each paper as [arXiv:ID]"]
    dialogues = [
        [ask, "Adam.", said[number >= len(QUESTIONS) / 2], "Now as you asked: Adam."]
        for number, ask in enumerate(QUESTIONS)
    ]
    sessions(home, repo, dialogues)

    found = invoke("run")

    assert (found["baseline"], found["candidate"]) == (0.0, 1.0)
    assert {edit["text"] for edit in found["edits"]} == set(RULES.values())
    invoke("adopt")
    assert invoke("run")["baseline"] == 1.0


def test_a_broken_tasks_file_names_every_problem(repo: Repository, invoke: Run, tmp_path: Path) -> None:
    """All at once, as one JSON error, exit 2; nothing is written."""
    record = researcher_tasks()
    record["tasks"][0]["checks"] = [{"op": "regex", "arg": "(?i)a|(?i)b"}]
    record["tasks"][1]["needs"] = ["n1-unknown"]
    record["tasks"][2]["id"] = record["tasks"][3]["id"]
    record["tasks"][4]["ask"] = " "
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps(record))

    error = invoke("run", "--tasks-file", str(file), code=2)["error"]

    assert error["kind"] == "config"
    for word in ("checks[0]", "n1-unknown", "used twice", "its ask is empty"):
        assert word in error["message"]
    assert repo.git("for-each-ref", "refs/skillopt") == ""


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda record: record | {"extra": 1}, "extra"),
        (lambda record: record | {"v": 2}, "newer tool"),
        (lambda record: record["tasks"], "valid"),
        (lambda record: record | {"tasks": [{"id": "t1-x"}]}, "tasks[0].ask"),
        (lambda record: record | {"tasks": [{"id": "a", "ask": "b", "checks": [{"op": "says"}]}]}, "checks[0].op"),
    ],
)
def test_a_tasks_file_of_another_shape_is_refused(
    repo: Repository, invoke: Run, tmp_path: Path, damage: Callable[[dict[str, Any]], Any], word: str
) -> None:
    """Unknown fields, a newer version, wrong types and unknown ops are named."""
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps(damage(researcher_tasks())))

    assert word in invoke("run", "--tasks-file", str(file), code=2)["error"]["message"]


def test_the_whole_corpus_is_told_truthfully(repo: Repository, invoke: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """On genuine sessions in which nobody repeated a wish the report says that nothing recurred."""
    corpus = Path(__file__).parent / "data" / "transcripts" / "claude" / "v2.1.197" / ".claude"
    words = ["run", "--repo", str(repo.path), "--backend", "mock", "--claude-home", str(corpus), "--scope", "all"]

    assert cli.run([*words, "--lookback-hours", "0", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert found["reason"] == "nothing_recurred"
    assert found["sessions"] > 15
    assert found["tasks"] > 0
    assert found["proposed"] is False
    assert (found["baseline"], found["candidate"], found["verdict"]) == (None, None, None)
    assert repo.git("branch", "--list", "sleep/*") == ""
    shown = invoke("show", "--last")["report"]
    assert "undici" in shown


def test_without_a_backend_a_run_says_what_to_do(repo: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    """No default backend: exit 2, naming the mock, the setting and `init`."""
    assert cli.run(["run", "--repo", str(repo.path)]) == 2

    told = capsys.readouterr().err
    for word in ("mock", "replay.backend", "init"):
        assert word in told


@pytest.mark.parametrize(
    ("option", "value", "known"),
    [("--backend", "mok", "mock"), ("--source", "claud", "claude"), ("--gate-metric", "x", "hard")],
)
def test_unknown_names_list_the_known_ones(
    repo: Repository, capsys: pytest.CaptureFixture[str], option: str, value: str, known: str
) -> None:
    """A typo never becomes the mock or a default."""
    given = {"--backend": "mock", option: value}
    words = ["run", "--repo", str(repo.path), *(word for pair in given.items() for word in pair)]

    assert cli.run(words) == 2

    assert known in capsys.readouterr().err


def test_a_run_that_broke_off_before_publishing_is_finished_by_the_next(
    repo: Repository, invoke: Run, first_run: Run
) -> None:
    """The ledger knows the proposal; the branch and its `published` event are made without learning anew."""
    first = first_run(PNPM)
    tip = repo.git("rev-parse", first["branch"]).strip()
    recorded = repo.git("rev-parse", "refs/skillopt/ledger~1").strip()
    repo.git("update-ref", "refs/skillopt/ledger", recorded)
    repo.git("branch", "--quiet", "-D", first["branch"])

    second = invoke("run")

    assert second["branch"] == first["branch"]
    assert repo.git("rev-parse", first["branch"]).strip() == tip
    assert any("finished now" in note for note in second["notes"])


def test_the_gate_can_be_turned_off_and_says_so(
    repo: Repository, home: Path, invoke: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ungated`: accepted, never measured (null, not 0), marked in the title."""
    monkeypatch.setenv("SKILLOPT_GATE_MODE", "off")
    sessions(home, repo, PNPM)

    found = invoke("run")

    assert found["verdict"] == "ungated"
    assert (found["baseline"], found["candidate"]) == (None, None)
    assert "ungated" in invoke("show", found["branch"])["title"]


def test_a_rule_that_helps_nothing_is_inconclusive_and_waits(
    repo: Repository, home: Path, invoke: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tie never wins, and is not tried again until its need gains a family."""
    monkeypatch.setenv("SKILLOPT_REPLAY_MOCK_PASS_WITH", "0")
    sessions(home, repo, PNPM)

    first = invoke("run")
    assert {edit["verdict"] for edit in first["rejected"]} == {"inconclusive"}
    assert first["branch"] is None
    second = invoke("run")
    assert second["candidates"] == []
    assert "made no difference" in second["suppressed"][0]["why"]
    more = ["Pin the version of vite", "Ran npm install vite@7.", "no, use pnpm, not npm", "pnpm add vite@7."]
    asks = ["Check for outdated packages", "Publish the package", "Link the local package", "Clean the cache"]
    sessions(home, repo, [*PNPM, more, *([ask, "npm.", "no, use pnpm, not npm", "pnpm."] for ask in asks)])
    third = invoke("run")
    assert {edit["verdict"] for edit in third["rejected"]} == {"inconclusive"}


def test_a_learned_block_damaged_by_hand_is_left_alone(repo: Repository, home: Path, invoke: Run) -> None:
    """The document is not taught, the night goes on with the other one and says so."""
    text = "---\nname: skillopt-sleep-learned\ndescription: d\n---\n<!-- SKILLOPT-SLEEP:LEARNED START -->\n- x\n"
    repo.commit("Damage", {SKILL: text})
    sessions(home, repo, PNPM)

    found = invoke("run")

    assert any("left alone" in note for note in found["notes"])
    assert {edit["target"] for edit in found["edits"]} == {"CLAUDE.md"}


def test_a_general_wish_goes_to_the_memory_and_a_skill_only_night_makes_no_memory(
    repo: Repository, home: Path, invoke: Run
) -> None:
    """ "Always ..." is taught in CLAUDE.md; a document appears only if it changed."""
    always = [
        [ask, "Done.", "Always run ruff first", "Ran ruff, then done."]
        for ask in ("Fix the flaky login test", "Add a retry to the payment client", "Rename the tax module")
    ]
    sessions(home, repo, always)

    found = invoke("run")

    assert [(edit["text"], edit["target"]) for edit in found["edits"]] == [("Always run ruff first", "CLAUDE.md")]
    assert repo.git("ls-tree", "-r", "--name-only", found["branch"]).split() == ["CLAUDE.md", "README.md"]


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_an_open_proposal_is_adopted_over_a_neighbouring_change(repo: Repository, home: Path, invoke: Run) -> None:
    """When the only conflict is inside the learned block, the edits are applied again by content."""
    repo.commit("Learn by hand", {SKILL: _skill("Answer briefly")})
    sessions(home, repo, PNPM)
    invoke("run")
    repo.commit("Learn more by hand", {SKILL: _skill("Answer briefly", "Ask before deleting files")})

    invoke("adopt")

    text = (repo.path / SKILL).read_text()
    for rule in ("Answer briefly", "Ask before deleting files", "Use pnpm, not npm"):
        assert f"- {rule}\n" in text
    assert "<<<<" not in text


def _skill(*rules: str) -> str:
    lines = "".join(f"- {rule}\n" for rule in rules)
    start, end = "<!-- SKILLOPT-SLEEP:LEARNED START -->", "<!-- SKILLOPT-SLEEP:LEARNED END -->"
    return f"---\nname: skillopt-sleep-learned\ndescription: Learned.\n---\n\n{start}\n{lines}{end}\n"


def test_adopt_refuses_to_overwrite_local_changes(repo: Repository, invoke: Run, first_run: Run) -> None:
    """The merge would overwrite an untracked file: git's words, and nothing is touched."""
    first_run(PNPM)
    repo.write({SKILL: "mine\n"})
    before = snapshot(repo)

    error = invoke("adopt", code=1)["error"]

    assert "overwritten" in error["message"] + error["hint"]
    assert snapshot(repo) == before
    assert (repo.path / SKILL).read_text() == "mine\n"


def test_a_simulated_proposal_is_never_adopted_by_itself(repo: Repository, home: Path, invoke: Run) -> None:
    """`--auto-adopt` merges only what was measured."""
    sessions(home, repo, PNPM)

    found = invoke("run", "--auto-adopt")

    assert found["adopted"] is False
    assert any("not adopted" in note for note in found["notes"])
    assert repo.git("rev-list", "--count", "main").strip() == "1"


def test_two_runs_at_once_are_one_at_a_time(repo: Repository, home: Path, invoke: Run) -> None:
    """The second finds the lock, names who holds it, and asks to try again (75)."""
    from filelock import FileLock

    sessions(home, repo, PNPM)
    private = repo.path / ".git" / "skillopt"
    private.mkdir()
    with FileLock(private / "lock"):
        error = invoke("run", code=75)["error"]

    assert "at work" in error["message"]


def test_private_files_are_for_their_owner_only(repo: Repository, first_run: Run) -> None:
    """No group or world permission on anything under the private folder."""
    first_run(PNPM)

    private = repo.path / ".git" / "skillopt"
    loose = [path for path in [private, *private.rglob("*")] if path.stat().st_mode & 0o077]

    assert [path.name for path in loose if path.name != "lock"] == []


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_damaged_private_file_is_kept_aside(repo: Repository, invoke: Run, first_run: Run) -> None:
    """A corrupt bank is neither trusted nor lost, the splits come back from the ledger, and the run says so."""
    first_run(PNPM)
    bank = repo.path / ".git" / "skillopt" / "bank.json"
    before = {task["id"]: task["split"] for task in json.loads(bank.read_text())["tasks"]}
    bank.write_text('{"v": 1, "tas')

    found = invoke("run")

    assert any("bank.json was damaged" in note for note in found["notes"])
    assert [path.read_text() for path in bank.parent.glob("bank.json.damaged-*")] == ['{"v": 1, "tas']
    assert {task["id"]: task["split"] for task in json.loads(bank.read_text())["tasks"]} == before


def test_a_word_that_is_denied_later_goes_from_what_is_known(
    repo: Repository, home: Path, invoke: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bank, the remembered answers and the index knew it; no later night shows it, or fails for it."""
    sessions(home, repo, [[ask.replace("the", "Globex's"), *more] for ask, *more in PNPM])
    invoke("dry-run")
    assert "Globex" in repr(invoke("harvest"))
    monkeypatch.setenv("SKILLOPT_HARVEST_DENY_WORDS", "globex")

    ran = invoke("run")

    assert ran["reason"] == "improved"
    assert "Globex" not in repr(invoke("harvest"))
    assert "Globex" not in (repo.path / ".git/skillopt/bank.json").read_text(encoding="utf-8")
    assert "Globex" not in repo.git("log", "-p", str(ran["branch"]))


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_an_agent_that_is_not_there_is_missed_only_if_somebody_asked_for_it(
    repo: Repository, home: Path, invoke: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto` reads what there is; a name or a home that was given is told when it is missing."""
    sessions(home, repo, PNPM)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "no-codex"))

    assert not any("no folder" in note for note in invoke("dry-run")["notes"])
    for asked in (["--codex-home", str(tmp_path / "no-codex")], ["--source", "claude,codex"]):
        assert f"there is no folder {tmp_path}/no-codex/sessions" in invoke("dry-run", *asked)["notes"]
    shutil.rmtree(home)
    nothing = {f"there is no folder {folder}" for folder in (home / "projects", tmp_path / "no-codex/sessions")}
    assert nothing <= set(invoke("dry-run")["notes"])
