"""`harvest`: the sessions and tasks a run would see, what was skipped and why, and what people wished for."""

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
    from collections.abc import Collection, Iterator, Sequence

    from skillopt_git.harvest import Harvest, Tally
    from skillopt_git.learned import Known
    from skillopt_git.model import Check, Session, Skipped, Task
    from skillopt_git.views import QuoteView

MOST_SESSIONS = 30  # shown to a person
SHOWN_QUOTES = 2  # of one wish, the newest
SHOWN_TEXT = 70  # characters of a quote or an ask
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
    """Show the sessions a run would see and the wishes in them. Writes nothing but the file asked for and the private
    index."""
    from skillopt_git import nightly, wiring  # what they need would slow down every start

    config = settings(
        repo,
        source_flags(source, claude_home, codex_home, copilot_home, jsonl_home)
        | reading_flags(scope, lookback_hours, max_sessions, max_tasks),
    )
    with Console(quiet=quiet) as console:
        for note in wiring.unread(config):
            console.note(note)
        known, notes = nightly.look(repo, config, anew=lookback_hours is not None, now=now(), notify=console.progress)
        for note in notes:
            console.note(note)
    if output is not None:
        _write(output, known)
        console.note(f'wrote {len(_tonight(known))} tasks to {output}; review them, then set "reviewed": true')
    if json:
        console.json(_record(known))
    else:
        _tell(console, known, config.mine.min_sessions)


def _read(known: Known) -> Harvest:
    from skillopt_git.harvest import Harvest  # what it needs would slow down every start

    return known.harvest or Harvest(sessions=())


def _tonight(known: Known) -> list[dict[str, Any]]:
    """The tasks of the sessions read, as records with the need's one rule text."""
    from skillopt_git.schema import dump  # what it needs would slow down every start

    return [{**dump(task), "rule": _rule(task, known)} for task in _of_tonight(known)]


def _of_tonight(known: Known) -> tuple[Task, ...]:
    read = {session.id for session in _read(known).sessions}
    return tuple(task for task in known.tasks if read & set(task.sessions))


def _rule(task: Task, known: Known) -> str | None:
    """None where nothing is needed, or a later wish took its place."""
    standing = (need for need in task.needs if need in known.needs and need not in known.bank.replaced)
    return next((known.needs[need] for need in standing), None)


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
    from skillopt_git.whole import write  # what it needs would slow down every start

    tasks = [{key: value for key, value in task.items() if key != "rule"} for task in _tonight(known)]
    used = {need for task in tasks for need in task["needs"]}
    needs = {need: text for need, text in known.needs.items() if need in used}
    reviewed = bool(tasks) and all(task["origin"] == "reviewed" for task in tasks)
    record = {"v": 1, "reviewed": reviewed, "needs": needs, "tasks": tasks}
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} exists already", "name another file, or move it away")
    try:
        write(path, json_.dumps(record, ensure_ascii=False, indent=1).encode(), replace=False)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


# --- for people --------------------------------------------------------------------------------------------------


def _tell(console: Console, known: Known, least: int) -> None:
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
        console.page(_notes(known, least) or ["Nothing to note: nobody corrected an answer in these sessions."])
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
    from skillopt_git.present import short_id  # what it needs would slow down every start

    rows = [
        [
            "-" if item.ended is None else minute(item.ended),
            f"{item.source} {short_id(item.id)}",
            str(len(item.prompts)),
            item.cwd or "-",
        ]
        for item in sessions[-MOST_SESSIONS:]
    ]
    console.table("Sessions, the newest last (times in UTC)", ["last activity", "session", "prompts", "folder"], rows)
    older = len(sessions) - len(rows)
    if older:
        console.page([f"{older:,} older sessions are not shown; --json has all."])


# --- what was wished for -----------------------------------------------------------------------------------------


def _notes(known: Known, least: int) -> list[str]:
    """What a careful reader of these sessions would note down: nothing in it is about other sessions alone."""
    from skillopt_git.present import by_weight  # what it needs would slow down every start

    read = {session.id for session in _read(known).sessions}
    voiced = {item.need for item in known.bank.sightings if item.session in read}
    voiced |= {need for task in _of_tonight(known) for need in task.needs}
    wishes = [line for need in by_weight(known) if need in voiced for line in _wish(need, known, least)]
    parts = (
        ("Wishes", wishes),
        ("Taken back", list(_taken_back(known, voiced))),
        ("Heard once, and counted as soon as the like is said again", list(_hints(known, read))),
        ("Asked in more than one session", list(_asked_again(known))),
    )
    told = [line for title, lines in parts if lines for line in (title, "", *lines, *([""] if lines[-1] else []))]
    stay = f"{known.personal} personal task{'' if known.personal == 1 else 's'} in the bank, of which nothing is shown"
    return [*told, *([stay] if known.personal else [])]


def _wish(need: str, known: Known, least: int) -> Iterator[str]:
    from skillopt_git.ids import fold  # what they need would slow down every start
    from skillopt_git.present import need_view, standing

    state = standing(need, known, rare=known.sessions(need) < least)
    view = need_view(need, known, state=state)
    machines = f"on {view.machines} machines" if view.machines > 1 else ""
    yield f"  {view.text}"
    yield f"    {', '.join(filter(None, (_many(view.sessions, 'session'), view.times, machines, state)))}"
    newest: dict[str, QuoteView] = {}  # of what was said in the same words
    for quote in reversed(view.quotes):
        newest.setdefault(fold(quote.text), quote)
    for quote in reversed([*newest.values()][:SHOWN_QUOTES]):
        yield from _quoted(quote, "    ")
    yield f"    {_checked(need, known)}"
    yield ""


def _quoted(quote: QuoteView, margin: str) -> Iterator[str]:
    from skillopt_git.render import one_line  # what it needs would slow down every start

    yield f"{margin}“{one_line(quote.text, SHOWN_TEXT)}”"
    about = "" if quote.ask is None else f"about “{one_line(quote.ask, SHOWN_TEXT - 20)}”"
    told = ", ".join(filter(None, (quote.day, about)))
    if told:
        yield f"{margin}  {told}"


def _checked(need: str, known: Known) -> str:
    """How an answer is told to keep to a need."""
    from skillopt_git.checks import explain  # what it needs would slow down every start

    tasks = [task for task in known.tasks if need in task.needs]
    if not tasks:
        return "not checked yet: it was about no answer"
    alone = [task for task in tasks if task.needs == (need,)]
    checks = dict.fromkeys(check for task in alone or tasks for check in task.checks)
    ways = [explain(check) for check in checks if alone or _is_about(check, need, known)]
    read = any(task.rubric and not task.checks for task in alone or tasks)
    told = [*(["checked: " + ", ".join(ways)] if ways else []), *(["judged by a reader"] if read else [])]
    return "; ".join(told) or "checked only together with another wish"


def _is_about(check: Check, need: str, known: Known) -> bool:
    """Of the checks of several wishes: whether what it looks for was said of this one."""
    from skillopt_git.ids import fold  # what it needs would slow down every start

    said = [known.needs[need], *(item.quote for item in known.bank.sightings if item.need == need)]
    return fold(str(check.arg)) in fold(" ".join(said))


def _taken_back(known: Known, voiced: Collection[str]) -> Iterator[str]:
    from skillopt_git.recurrence import replacement  # what it needs would slow down every start

    for need, later in sorted(known.bank.replaced.items()):
        if {need, later} <= known.needs.keys() and {need, later} & set(voiced):
            yield f"  {replacement(need, known.bank.replaced, known.needs, known.counts)}"


def _hints(known: Known, read: Collection[str]) -> Iterator[str]:
    from skillopt_git.present import hint_views  # what it needs would slow down every start

    for quote in hint_views(known, sessions=read):
        yield from _quoted(quote, "  ")


def _asked_again(known: Known) -> Iterator[str]:
    """Families of tonight's tasks, those of most sessions first."""
    from skillopt_git.render import one_line  # what it needs would slow down every start

    tonight = {task.family: task.ask for task in reversed(_of_tonight(known)) if task.family is not None}
    sessions: dict[str, set[str]] = {}
    for task in known.tasks:
        if task.family in tonight:
            sessions.setdefault(task.family, set()).update(task.sessions)
    for family, found in sorted(sessions.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(found) > 1:
            yield f"  {len(found)} sessions: {one_line(tonight[family], SHOWN_TEXT - 10)}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
