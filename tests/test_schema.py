from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.errors import ConfigError
from skillopt_git.ids import canonical_json
from skillopt_git.model import LATER, Check, Event, Evidence, EvidenceTask, Examples, Task, TasksFile
from skillopt_git.schema import dump, form, problems, read

TASK = Task(
    id="t1-0001",
    ask="Add date-fns",
    needs=("n1-0001",),
    split="val",
    checks=(Check(op="contains", arg="pnpm"), Check(op="max_chars", arg=400, role="shape")),
    examples=Examples(pass_="pnpm add date-fns", fail="npm i date-fns"),
)
FILE = TasksFile(v=1, reviewed=True, needs={"n1-0001": "Use pnpm, not npm."}, tasks=(TASK,))
EVENT = Event(v=1, id="0123456789abcdef", ts="2026-03-09T04:05:06Z", type="run", data={"night": 1, "any": [None, 0.5]})
EVIDENCE = Evidence(
    v=1,
    document="CLAUDE.md",
    base_blob=None,
    edits=("e1-0001",),
    rule="strict",
    settings={"metric": "mixed"},
    target="mock",
    optimizer="mock",
    judge="checks",
    tasks=(
        EvidenceTask(
            task="t1-0001",
            family="f1-0001",
            need="n1-0001",
            part="primary",
            night="20260309T040506Z-01234567",
            base=(0, None),
            cand=(1, 1),
            soft={"base": (0.5, None), "cand": (1.0, 1.0)},
        ),
    ),
    verdict="strong",
    numbers={"baseline": 0.0},
)


def tasks_file(**changes: Any) -> dict[str, Any]:
    """The record of a small valid tasks file, with the first task's fields changed."""
    record: dict[str, Any] = dump(FILE)
    record["tasks"][0].update(changes)
    return record


@pytest.mark.parametrize("value", [FILE, EVENT, EVIDENCE, TASK], ids=["tasks", "event", "evidence", "task"])
def test_a_record_survives_being_written_and_read(value: object) -> None:
    """Written canonically and read back, nothing is lost or changed."""
    assert read(type(value), canonical_json(dump(value)), where="a record") == value


def test_records_have_the_names_of_their_description() -> None:
    """A Python keyword loses its underscore, tuples are lists."""
    record = dump(TASK)
    assert record["examples"] == {"pass": "pnpm add date-fns", "fail": "npm i date-fns"}
    assert record["checks"][1] == {"op": "max_chars", "arg": 400, "role": "shape"}
    assert set(record) == set(Task.__dataclass_fields__) - LATER.keys()


def test_later_fields_are_written_where_they_say_something() -> None:
    """Without them a record is as it was before there were such fields, and older tools read it."""
    check = Check(op="contains", arg="pnpm", where="command")
    record = dump(replace(TASK, personal=True, checks=(check,)))
    assert record["personal"] is True
    assert record["checks"] == [{"op": "contains", "arg": "pnpm", "role": None, "where": "command"}]
    assert read(Task, canonical_json(record), where="a record") == replace(TASK, personal=True, checks=(check,))


def test_fields_with_defaults_may_be_left_out() -> None:
    """A hand-written task needs an id and an ask."""
    data = {"v": 1, "reviewed": False, "tasks": [{"id": "t1-0001", "ask": "Add date-fns"}]}
    expected = TasksFile(v=1, reviewed=False, tasks=(Task(id="t1-0001", ask="Add date-fns"),))
    assert read(TasksFile, json.dumps(data), where="tasks.json") == expected


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (tasks_file(splt="val"), "tasks[0].splt: Unexpected keyword argument"),
        (tasks_file(split="vall"), "tasks[0].split: Input should be 'train', 'val' or 'test'"),
        (tasks_file(golden="yes"), "tasks[0].golden: Input should be a valid boolean"),
        (tasks_file(golden=1), "tasks[0].golden: Input should be a valid boolean"),
        (tasks_file(ask=None), "tasks[0].ask: Input should be a valid string"),
        (tasks_file(checks=[{"op": "containz"}]), "tasks[0].checks[0].op: Input should be 'contains',"),
        (tasks_file(checks=[{"op": "contains", "where": "prose"}]), "tasks[0].checks[0].where: Input should be 'code'"),
        (tasks_file(examples={"pass_": "x"}), "tasks[0].examples.pass_: Unexpected keyword argument"),
        ({**tasks_file(), "v": "1"}, "v: Input should be a valid integer"),
        ({"v": 1}, "reviewed: Field required"),
        ([], "Input should be"),
    ],
)
def test_a_wrong_value_is_named_by_its_place(record: object, line: str) -> None:
    """Unknown fields and values of another type are refused; nothing is converted."""
    found = problems(TasksFile, json.dumps(record).encode())
    assert len(found) == 1
    assert found[0].startswith(line)


@pytest.mark.parametrize("data", [b"", b"{", b'{"v": 1,}', b"\xff\xfe"])
def test_what_is_no_json_is_one_problem(data: bytes) -> None:
    """The reader says so, and does not crash."""
    (line,) = problems(TasksFile, data)
    assert line.startswith("Invalid JSON")


def test_reading_lists_every_problem_at_once() -> None:
    """The error names the file, each place, and what to do."""
    record = tasks_file(split="vall", golden="yes")
    record["reviewd"] = True
    with pytest.raises(ConfigError) as caught:
        read(TasksFile, json.dumps(record), where="tasks.json", hint="see docs")
    lines = caught.value.message.splitlines()
    assert lines[0] == "tasks.json is not valid:"
    assert sorted(line.split(":")[0].strip() for line in lines[1:]) == ["reviewd", "tasks[0].golden", "tasks[0].split"]
    assert caught.value.hint == "see docs"


def test_a_problem_does_not_repeat_the_value() -> None:
    """A secret in a wrong place is not carried into messages and logs."""
    assert "hunter2" not in "".join(problems(TasksFile, json.dumps(tasks_file(split="hunter2")).encode()))


@given(st.text(), st.lists(st.text(), max_size=3), st.none() | st.text())
def test_every_text_survives(ask: str, needs: list[str], rubric: str | None) -> None:
    """No character is lost between writing and reading."""
    task = replace(TASK, ask=ask, needs=tuple(needs), rubric=rubric)
    assert read(Task, canonical_json(dump(task)), where="a task") == task


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())))
def test_open_maps_hold_anything(data: dict[str, Any]) -> None:
    """What a later version puts into an open map is kept."""
    event = replace(EVENT, data=data)
    assert read(Event, canonical_json(dump(event)), where="an event") == event


# --- the form of an answer ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    kind: Literal["a", "b"] = "a"
    title: str | None = None


@dataclass(frozen=True)
class Whole:
    """Words that no provider needs."""

    parts: tuple[Part, ...]
    first: Part
    share: float = 0.5


def test_a_form_is_strict_and_has_no_references() -> None:
    """Every field is required and no other is allowed, at every depth; a field may be called like a keyword."""
    part = {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["a", "b"]},
            "title": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["kind", "title"],
        "additionalProperties": False,
    }
    assert json.loads(form(Whole)) == {
        "type": "object",
        "properties": {"parts": {"type": "array", "items": part}, "first": part, "share": {"type": "number"}},
        "required": ["parts", "first", "share"],
        "additionalProperties": False,
    }
    assert form(Whole) == canonical_json(json.loads(form(Whole)))
