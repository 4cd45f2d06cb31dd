"""`harvest`: the sessions and tasks a run would see, and what was skipped and why."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.commands.options import (
    AsJson,
    ClaudeHome,
    CodexHome,
    CopilotHome,
    JsonlHome,
    Lookback,
    MaxSessions,
    MaxTasks,
    Quiet,
    Repo,
    ScopeOption,
    Source,
    instant,
    minute,
    now,
    reading_flags,
    settings,
    source_flags,
)
from skillopt_git.console import Console
from skillopt_git.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from skillopt_git.harvest import Harvest, Tally
    from skillopt_git.learned import Known
    from skillopt_git.model import Session, Skipped

MOST_SESSIONS = 30  # shown to a person
SHORT_ID = 9  # characters
WAYS_OUT = {
    "outside the scope": "`--scope all` reads those",
    "before the window": "`--lookback-hours 0` reads those",
    "read before": "`--lookback-hours 0` reads those again",
}


def command(
    repo: Repo = Path(),
    source: Source = None,
    claude_home: ClaudeHome = None,
    codex_home: CodexHome = None,
    copilot_home: CopilotHome = None,
    jsonl_home: JsonlHome = None,
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
    """Show the sessions and tasks a run would see. Writes nothing but the file asked for and the private index."""
    from skillopt_git import nightly, wiring  # what they need would slow down every start

    config = settings(
        repo,
        source_flags(source, claude_home, codex_home, copilot_home, jsonl_home)
        | reading_flags(scope, lookback_hours, max_sessions, max_tasks),
    )
    with Console(quiet=quiet) as console:
        for note in wiring.unread(config):
            console.note(note)
        known = nightly.look(repo, config, anew=lookback_hours is not None, now=now(), notify=console.progress)
    if output is not None:
        _write(output, known)
        console.note(f'wrote {len(_tonight(known))} tasks to {output}; review them, then set "reviewed": true')
    if json:
        console.json(_record(known))
    else:
        _tell(console, known)


def _read(known: Known) -> Harvest:
    from skillopt_git.harvest import Harvest  # what it needs would slow down every start

    return known.harvest or Harvest(sessions=())


def _tonight(known: Known) -> list[dict[str, Any]]:
    """The tasks of the sessions read, as records with the need's one rule text."""
    from skillopt_git.schema import dump  # what it needs would slow down every start

    read = {session.id for session in _read(known).sessions}
    return [
        {**dump(task), "rule": next((known.needs[need] for need in task.needs if need in known.needs), None)}
        for task in known.tasks
        if read & set(task.sessions)
    ]


def _record(known: Known) -> dict[str, Any]:
    read = _read(known)
    return {
        "v": 1,
        "sessions": [_session(item) for item in read.sessions],
        "tasks": _tonight(known),
        "skipped": [{"path": item.path, "reason": item.reason, "count": item.count} for item in read.skipped],
    }


def _session(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "source": session.source,
        "cwd": session.cwd,
        "branch": session.branch,
        "started": instant(session.started),
        "ended": instant(session.ended),
        "prompts": [{"turn": turn.id, "text": turn.text, "time": instant(turn.time)} for turn in session.prompts],
        "final": session.final,
        "tools": list(session.tools),
        "skills": list(session.skills),
        "files": list(session.files),
    }


def _write(path: Path, known: Known) -> None:
    """A tasks file as `--tasks-file` takes it. Never overwrites: a reviewed file is somebody's work."""
    from skillopt_git.private import write  # what it needs would slow down every start

    tasks = [{key: value for key, value in task.items() if key != "rule"} for task in _tonight(known)]
    used = {need for task in tasks for need in task["needs"]}
    needs = {need: text for need, text in known.needs.items() if need in used}
    record = {"v": 1, "reviewed": False, "needs": needs, "tasks": tasks}
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} exists already", "name another file, or move it away")
    try:
        write(path, json_.dumps(record, ensure_ascii=False, indent=1).encode(), replace=False)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


# --- for people --------------------------------------------------------------------------------------------------


def _tell(console: Console, known: Known) -> None:
    read = _read(known)
    rows = [
        [item.source, item.home, f"{item.found:,}", f"{item.kept:,}", f"{sum(item.skipped.values()):,}"]
        for item in read.tallies
    ]
    console.table("Sources", ["source", "home", "found", "kept", "skipped"], rows)
    reasons = [row for tally in read.tallies for row in _reasons(tally, read.skipped)]
    if reasons:
        console.table("Skipped", ["source", "reason", "count", "such as"], reasons)
    if read.sessions:
        _tell_sessions(console, read.sessions)
        _tell_tasks(console, _tonight(known))
    elif any(tally.found for tally in read.tallies):
        console.page([_all_left_out(read.tallies)])
    else:
        console.page([_nothing_there(read.tallies)])


def _reasons(tally: Tally, skipped: Sequence[Skipped]) -> Iterator[list[str]]:
    """Each reason once, the most frequent first, with one place to look at: as seen from the home."""
    for reason, count in sorted(tally.skipped.items(), key=lambda item: (-item[1], item[0])):
        home = str(Path(tally.home, "_"))[:-1]
        inside = (item.path for item in skipped if item.reason == reason and item.path.startswith(home))
        yield [tally.source, reason, f"{count:,}", min(inside, default="-").removeprefix(home)]


def _all_left_out(tallies: Sequence[Tally]) -> str:
    counts = {reason: sum(tally.skipped.get(reason, 0) for tally in tallies) for reason in WAYS_OUT}
    told = [f"{count:,} {reason} ({WAYS_OUT[reason]})" for reason, count in counts.items() if count]
    return f"No session counts: {', '.join(told)}." if told else "No session counts; the reasons are listed above."


def _nothing_there(tallies: Sequence[Tally]) -> str:
    homes = " or ".join(tally.home for tally in tallies)
    flags = " or ".join(f"--{tally.source.removesuffix('-cli')}-home" for tally in tallies)
    return (
        f"No transcripts in {homes}: name another folder with {flags}, or another agent with --source; "
        "`skillopt-git doctor` lists what is there."
    )


def _tell_sessions(console: Console, sessions: Sequence[Session]) -> None:
    rows = [
        [
            "-" if item.ended is None else minute(item.ended),
            f"{item.source} {_short(item.id)}",
            str(len(item.prompts)),
            item.cwd or "-",
        ]
        for item in sessions[-MOST_SESSIONS:]
    ]
    console.table("Sessions, the newest last (times in UTC)", ["last activity", "session", "prompts", "folder"], rows)
    older = len(sessions) - len(rows)
    if older:
        console.page([f"{older:,} older sessions are not shown; --json has all."])


def _short(name: str) -> str:
    """Its end: what tells ids apart that begin with a time."""
    return name if len(name) <= SHORT_ID else f"…{name[-SHORT_ID + 1 :]}"


def _tell_tasks(console: Console, tasks: Sequence[Mapping[str, Any]]) -> None:
    from skillopt_git.render import one_line  # what it needs would slow down every start

    if tasks:
        rows = [[task["id"], one_line(task["ask"], 60), task["rule"] or "-"] for task in tasks]
        console.table("Tasks", ["task", "ask", "rule"], rows)
    else:
        console.out("No tasks: nobody corrected an answer in these sessions.")
