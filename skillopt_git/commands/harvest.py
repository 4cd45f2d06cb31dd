"""`harvest`: the sessions and tasks a run would see, and what was skipped and why."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.commands.options import (
    AsJson,
    ClaudeHome,
    Lookback,
    MaxSessions,
    MaxTasks,
    Quiet,
    Repo,
    ScopeOption,
    Source,
    now,
    reading_flags,
    settings,
)
from skillopt_git.console import Console
from skillopt_git.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from skillopt_git.learned import Known
    from skillopt_git.model import Session, Skipped


def command(
    repo: Repo = Path(),
    source: Source = None,
    claude_home: ClaudeHome = None,
    scope: ScopeOption = None,
    lookback_hours: Lookback = None,
    max_sessions: MaxSessions = None,
    max_tasks: MaxTasks = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the tasks to this new file, for review.")
    ] = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show the sessions and tasks a run would see. Writes nothing but the file asked for."""
    from skillopt_git import nightly  # what it needs would slow down every start

    console = Console(quiet=quiet)
    flags = reading_flags(source, claude_home, scope, lookback_hours, max_sessions, max_tasks)
    known = nightly.look(
        repo, settings(repo, flags), anew=lookback_hours is not None, now=now(), notify=console.progress
    )
    if output is not None:
        _write(output, known)
        console.note(f'wrote {len(_tonight(known))} tasks to {output}; review them, then set "reviewed": true')
    if json:
        console.json(_record(known))
    else:
        _tell(console, known)


def _tonight(known: Known) -> list[dict[str, Any]]:
    """The tasks of the sessions read, as records with the need's one rule text."""
    from skillopt_git.schema import dump  # what it needs would slow down every start

    read = {session.id for session in known.harvest.sessions} if known.harvest else set()
    return [
        {**dump(task), "rule": next((known.needs[need] for need in task.needs if need in known.needs), None)}
        for task in known.tasks
        if read & set(task.sessions)
    ]


def _record(known: Known) -> dict[str, Any]:
    harvest = known.harvest
    return {
        "v": 1,
        "sessions": [_session(item) for item in (harvest.sessions if harvest else ())],
        "tasks": _tonight(known),
        "skipped": [
            {"path": item.path, "reason": item.reason, "count": item.count}
            for item in (harvest.skipped if harvest else ())
        ],
    }


def _session(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "source": session.source,
        "cwd": session.cwd,
        "branch": session.branch,
        "started": _instant(session.started),
        "ended": _instant(session.ended),
        "prompts": [{"turn": turn.id, "text": turn.text, "time": _instant(turn.time)} for turn in session.prompts],
        "final": session.final,
        "tools": list(session.tools),
        "skills": list(session.skills),
        "files": list(session.files),
    }


def _instant(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _write(path: Path, known: Known) -> None:
    """A tasks file as `--tasks-file` takes it. Never overwrites: a reviewed file is somebody's work."""
    tasks = [{key: value for key, value in task.items() if key != "rule"} for task in _tonight(known)]
    used = {need for task in tasks for need in task["needs"]}
    needs = {need: text for need, text in known.needs.items() if need in used}
    record = {"v": 1, "reviewed": False, "needs": needs, "tasks": tasks}
    try:
        with path.open("x", encoding="utf-8") as file:
            json_.dump(record, file, ensure_ascii=False, indent=1)
    except FileExistsError as error:
        raise UsageError(f"{path} exists already", "name another file, or move it away") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _tell(console: Console, known: Known) -> None:
    from skillopt_git.render import one_line  # what it needs would slow down every start

    harvest = known.harvest
    sessions = harvest.sessions if harvest else ()
    if sessions:
        rows = [
            [item.id, item.source, (_instant(item.ended) or "-")[:16], str(len(item.prompts)), item.cwd or "-"]
            for item in sessions
        ]
        console.table("Sessions", ["session", "source", "last activity", "prompts", "folder"], rows)
    else:
        console.out("No sessions were read.")
    tasks = _tonight(known)
    if tasks:
        rows = [[task["id"], one_line(task["ask"], 60), task["rule"] or "-"] for task in tasks]
        console.table("Tasks", ["task", "ask", "rule"], rows)
    elif sessions:
        console.out("No tasks: nobody corrected an answer in these sessions.")
    _tell_skipped(console, harvest.skipped if harvest else ())


def _tell_skipped(console: Console, skipped: Sequence[Skipped]) -> None:
    """Each reason once, with one place to look at."""
    groups: dict[str, list[Skipped]] = {}
    for item in skipped:
        groups.setdefault(item.reason, []).append(item)
    rows = [[reason, str(sum(item.count for item in found)), found[0].path] for reason, found in sorted(groups.items())]
    if rows:
        console.table("Skipped", ["reason", "count", "such as"], rows)
