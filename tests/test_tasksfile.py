"""Tasks files: what is refused and how it is told, and that what is written is read back as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.errors import ConfigError
from skillopt_git.gitrepo import GitRepo
from skillopt_git.model import Check, Examples, Task, TasksFile
from skillopt_git.redact import without_hex
from skillopt_git.targets import default_base
from skillopt_git.tasksfile import composed, file_text, given_tasks, shared_files, shared_tasks, tasks_file
from tests.helpers import Repository

FOLDER = ".skillopt/tasks"
MARK = "[REDACTED:github-pat:0a1b2c3d]"


def bank(*ids: str, **fields: Any) -> str:
    tasks = [{"id": name, "ask": f"Do {name}"} for name in ids]
    return json.dumps({"v": 1, "reviewed": True, "tasks": tasks} | fields)


def base(repo: Repository) -> tuple[GitRepo, str]:
    opened = GitRepo.open(repo.path)
    return opened, default_base(opened, "").commit


# --- reading -----------------------------------------------------------------------------------------------------


def test_a_task_of_two_shared_files_counts_once(repo: Repository) -> None:
    """In the order of the files; other files beside them are none of ours."""
    files = {f"{FOLDER}/a.json": bank("t1-a", "t1-b"), f"{FOLDER}/b.json": bank("t1-b", "t1-c")}
    repo.commit("Share", {**files, f"{FOLDER}/notes.md": "x", f"{FOLDER}/old/c.json": "not json"})

    assert [[task.id for task in file.tasks] for file in shared_tasks(*base(repo))] == [["t1-a", "t1-b"], ["t1-c"]]
    assert list(shared_files(*base(repo))) == list(files)


def test_a_newer_tasks_file_is_told_as_such(tmp_path: Path) -> None:
    """Also when it has fields that look wrong from here; whatever else it is, it is listed."""
    record = {"v": 2, "reviewed": True, "colour": "blue", "tasks": [{"id": "t1-a", "mood": "good"}]}
    with pytest.raises(ConfigError, match="newer tool"):
        tasks_file(json.dumps(record).encode(), "x.json")
    for broken in (b"", b"[1]", b"\xff", b"{"):
        with pytest.raises(ConfigError, match="is not a valid tasks file"):
            tasks_file(broken, "x.json")
    with pytest.raises(ConfigError, match="cannot be read"):
        given_tasks(tmp_path / "none.json", simulated=True)


def test_everything_wrong_with_a_file_is_told_at_once() -> None:
    """Which task, which check, and why."""
    tasks = [
        {"id": "t1-a", "ask": " ", "needs": ["n1-x"]},
        {"id": "t1-a", "ask": "Go", "checks": [{"op": "regex", "arg": "("}]},
        {"id": "t1-b", "ask": "Go", "personal": True},
    ]
    with pytest.raises(ConfigError) as caught:
        tasks_file(bank(tasks=tasks).encode(), "x.json")
    for why in (
        "the id 't1-a' is used twice",
        "needs 'n1-x', which the file's needs do not list",
        "its ask is empty",
        "checks[0]: invalid regex",
        "task 't1-b': it is personal, and a personal task never leaves its machine",
    ):
        assert why in caught.value.message


def test_a_personal_task_is_refused_wherever_it_comes_from(repo: Repository, tmp_path: Path) -> None:
    """In a file that is given and in the shared bank: somebody would not want it to be there."""
    text = bank(tasks=[{"id": "t1-a", "ask": "Go", "personal": True}])
    (tmp_path / "given.json").write_text(text)
    repo.commit("Share", {f"{FOLDER}/a.json": text})

    with pytest.raises(ConfigError, match="it is personal"):
        given_tasks(tmp_path / "given.json", simulated=True)
    with pytest.raises(ConfigError, match=r"tasks/a\.json is not a valid tasks file"):
        shared_tasks(*base(repo))


def test_only_a_simulation_takes_what_nobody_reviewed(repo: Repository, tmp_path: Path) -> None:
    """Its texts would leave the machine."""
    (tmp_path / "given.json").write_text(bank("t1-a", reviewed=False))
    repo.commit("Share", {f"{FOLDER}/a.json": bank("t1-a", reviewed=False)})

    assert given_tasks(tmp_path / "given.json", simulated=True).tasks[0].id == "t1-a"
    for read in (
        lambda: given_tasks(tmp_path / "given.json", simulated=False),
        lambda: shared_tasks(*base(repo), simulated=False),
    ):
        with pytest.raises(ConfigError, match="is not reviewed") as caught:
            read()
        assert '"reviewed": true' in caught.value.hint


# --- writing -----------------------------------------------------------------------------------------------------


def test_a_file_is_ordered_and_names_only_needs_that_are_worded() -> None:
    """The order in which tasks are known does not matter, nor do needs that none of them has."""
    one, two = Task(id="t1-a", ask="One", needs=("n1-b", "n1-x")), Task(id="t1-b", ask="Two", needs=("n1-a",))
    needs = {"n1-b": "Be brief", "n1-a": "Use tabs", "n1-c": "Say hello"}

    file = composed([two, one], needs, reviewed=True)

    assert [task.id for task in file.tasks] == ["t1-a", "t1-b"]
    assert file.tasks[0].needs == ("n1-b",)
    assert file.needs == {"n1-a": "Use tabs", "n1-b": "Be brief"}
    assert file_text(file) == file_text(composed([one, two], needs, reviewed=True))


def test_what_is_written_has_no_hex_and_no_empty_fields() -> None:
    """The hex of a mark differs from machine to machine; what a reader fills in by itself is not written."""
    text = file_text(composed([Task(id="t1-a", ask=f"Use {MARK}", rubric=f"Not {MARK}")], {}, reviewed=False))

    assert "[REDACTED:github-pat]" in text
    assert "0a1b2c3d" not in text
    record = json.loads(text)
    assert record["tasks"] == [
        {
            "id": "t1-a",
            "ask": "Use [REDACTED:github-pat]",
            "rubric": "Not [REDACTED:github-pat]",
            "replay": "text",
            "origin": "mined",
            "outcome": "unknown",
        }
    ]
    assert (record["v"], record["reviewed"], record["needs"]) == (1, False, {})


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip)
CHECKS = st.one_of(
    st.builds(Check, op=st.just("contains"), arg=TEXTS, role=st.sampled_from([None, "outcome"])),
    st.builds(Check, op=st.just("not_contains"), arg=st.just("npm"), where=st.sampled_from(["code", "command"])),
    st.builds(Check, op=st.just("max_chars"), arg=st.integers(0, 1_000), role=st.just("shape")),
)
TASKS = st.builds(
    Task,
    id=st.from_regex(r"t1-[0-9a-f]{4}", fullmatch=True),
    ask=TEXTS,
    context=st.just("") | TEXTS,
    needs=st.lists(st.sampled_from(["n1-a", "n1-b"]), unique=True).map(tuple),
    split=st.sampled_from([None, "train", "val"]),
    checks=st.lists(CHECKS, max_size=3).map(tuple),
    rubric=st.none() | TEXTS,
    examples=st.builds(Examples, pass_=st.none() | TEXTS, fail=st.none() | TEXTS),
    golden=st.booleans(),
    sessions=st.lists(TEXTS, max_size=2).map(tuple),
    outcome=st.sampled_from(["success", "fail", "unknown"]),
)


@given(st.lists(TASKS, max_size=4, unique_by=lambda task: task.id), st.booleans())
def test_what_is_written_is_read_back_as_it_was(tasks: list[Task], reviewed: bool) -> None:
    """Every field, whatever it holds: leaving out what is empty loses nothing."""
    file = composed(tasks, {"n1-a": "Be brief", "n1-b": "Use tabs"}, reviewed=reviewed)
    text = file_text(file)
    read: TasksFile = tasks_file(text.encode(), "x.json")
    assert read == file
    assert without_hex(text) == text == file_text(read)
