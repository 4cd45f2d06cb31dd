"""Tasks files: read with everything wrong in them listed, and written in one spelling."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillopt_git import schema
from skillopt_git.checks import problem
from skillopt_git.errors import ConfigError
from skillopt_git.gitrepo import GitRepo
from skillopt_git.ids import Json
from skillopt_git.model import RECORD_VERSION, Task, TasksFile
from skillopt_git.private import refuse_newer
from skillopt_git.redact import without_hex
from skillopt_git.targets import SHARED_TASKS, allowed

# --- reading -----------------------------------------------------------------------------------------------------


def tasks_file(data: bytes, where: str) -> TasksFile:
    """A tasks file, or an error that lists everything wrong with it."""
    refuse_newer(data, where)  # first: what a newer tool wrote may have fields that look wrong from here
    found = schema.problems(TasksFile, data)
    if found:
        raise _not_valid(where, found)
    file = schema.read(TasksFile, data, where=where)
    found = [*_twice(file.tasks), *(line for task in file.tasks for line in _task_problems(task, file))]
    if found:
        raise _not_valid(where, found)
    return file


def _not_valid(where: str, found: Sequence[str]) -> ConfigError:
    lines = "\n".join(f"  {line}" for line in found)
    return ConfigError(f"{where} is not a valid tasks file:\n{lines}", "the format is described in docs/records.md")


def _twice(tasks: Sequence[Task]) -> list[str]:
    ids = [task.id for task in tasks]
    return [f"tasks: the id '{name}' is used twice" for name in sorted({name for name in ids if ids.count(name) > 1})]


def _task_problems(task: Task, file: TasksFile) -> list[str]:
    found = [f"needs '{need}', which the file's needs do not list" for need in task.needs if need not in file.needs]
    found += [] if task.ask.strip() else ["its ask is empty"]
    found += ["it is personal, and a personal task never leaves its machine"] if task.personal else []
    wrong = [(number, problem(check)) for number, check in enumerate(task.checks)]
    found += [f"checks[{number}]: {why}" for number, why in wrong if why]
    return [f"task '{task.id}': {line}" for line in found]


def given_tasks(path: Path, *, simulated: bool) -> TasksFile:
    """`--tasks-file`. A real backend takes only what a person has reviewed."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    file = tasks_file(data, str(path))
    _refuse_unreviewed(file, str(path), simulated=simulated)
    return file


def _refuse_unreviewed(file: TasksFile, where: str, *, simulated: bool) -> None:
    if not file.reviewed and not simulated:
        raise ConfigError(
            f"{where} is not reviewed, and its texts would leave this machine",
            'read it, then set "reviewed": true in it',
        )


def shared_files(repo: GitRepo, commit: str) -> dict[str, TasksFile]:
    """The shared bank in a commit, by path."""
    entries = [entry for entry in repo.paths(commit, SHARED_TASKS) if allowed(entry.path)]
    return {entry.path: tasks_file(repo.blob(entry.sha), entry.path) for entry in entries}


def shared_tasks(repo: GitRepo, commit: str, *, simulated: bool = True) -> tuple[TasksFile, ...]:
    """The shared bank in a commit. A task that two files hold counts once."""
    known: set[str] = set()
    files: list[TasksFile] = []
    for path, file in shared_files(repo, commit).items():
        _refuse_unreviewed(file, path, simulated=simulated)
        files.append(replace(file, tasks=tuple(task for task in file.tasks if task.id not in known)))
        known |= {task.id for task in file.tasks}
    return tuple(files)


# --- writing -----------------------------------------------------------------------------------------------------


def composed(tasks: Iterable[Task], needs: Mapping[str, str], *, reviewed: bool) -> TasksFile:
    """These tasks in the order of their ids, with the needs they name; one that has no text anywhere is not named."""
    listed = [
        replace(task, needs=tuple(need for need in task.needs if need in needs))
        for task in sorted(tasks, key=lambda task: task.id)
    ]
    used = sorted({need for task in listed for need in task.needs})
    return TasksFile(
        v=RECORD_VERSION, reviewed=reviewed, needs={need: needs[need] for need in used}, tasks=tuple(listed)
    )


def file_text(file: TasksFile) -> str:
    """The file as it is written: one field a line for whoever reviews it, and no hex in a redaction's mark."""
    record = schema.dump(file)
    record["tasks"] = [_lean(task) for task in record["tasks"]]
    return without_hex(json.dumps(record, ensure_ascii=False, indent=1)) + "\n"


def _lean(task: Mapping[str, Any]) -> dict[str, Any]:
    """Without what a reader fills in by itself."""
    told = {key: value for key, value in task.items() if value not in (None, "", [], False)}
    checks = [{key: value for key, value in check.items() if value is not None} for check in task["checks"]]
    examples = {key: value for key, value in task["examples"].items() if value is not None}
    parts = {"checks": checks, "examples": examples}
    return {key: parts.get(key, value) for key, value in told.items() if parts.get(key, value)}


def texts(file: TasksFile, where: str) -> dict[str, str]:
    """Every text of the file by its place, as a reader sees it and as it is written, to be looked through for secrets.

    The file as a whole would not do: what follows its key `pass` looks like a password.
    """
    found: dict[str, str] = {}
    for place, text in _strings(schema.dump(file), where):
        found |= {place: text, f"{place}, as written": json.dumps(text, ensure_ascii=False)}
    return found


def _strings(value: Json, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for at, (key, inner) in enumerate(value.items()):
            yield f"{place}: name {at + 1}", key
            yield from _strings(inner, f"{place}: {key}")
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _strings(inner, f"{place}[{at}]")
