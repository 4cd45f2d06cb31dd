"""`schedule`: let the system start a run every night, and see what is scheduled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.commands.options import AsJson, Repo, instant, minute, now
from skillopt_git.console import Console
from skillopt_git.errors import UsageError

if TYPE_CHECKING:
    from skillopt_git.scheduling import Scheduled, Standing


def command(
    repo: Repo = Path(),
    at: Annotated[str | None, typer.Option(help="The time of day, as HH:MM; else schedule.at, else 03:17.")] = None,
    auto_adopt: Annotated[bool, typer.Option("--auto-adopt", help="Merge a strong, measured proposal.")] = False,
    with_: Annotated[
        str | None, typer.Option("--with", help="auto, systemd, cron, launchd or windows; auto looks what there is.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Show what is scheduled, of every repository.")] = False,
    print_: Annotated[bool, typer.Option("--print", help="Show what would be written, and write nothing.")] = False,
    json: AsJson = False,
) -> None:
    """Let the system start a run every night. Scheduling again replaces what was scheduled for the repository."""
    from skillopt_git import scheduling  # what it needs would slow down every start

    console = Console()
    if list_:
        if at or auto_adopt or with_ or print_:
            raise UsageError("--list shows everything and goes with none of the other options", "leave them out")
        _list(console, json=json)
        return
    entry, scheduler = scheduling.planned(repo, at=at, auto_adopt=auto_adopt, with_=with_ or scheduling.AUTO)
    done = scheduling.shown(entry, scheduler) if print_ else scheduling.schedule(entry, scheduler, now=now())
    if json:
        console.json(_record(done, printed=print_))
        return
    for line in _files(done) if print_ else _sentences(done):
        console.out(line)
    for note in done.notes:
        console.note(f"note: {note}")


# --- schedule ----------------------------------------------------------------------------------------------------


def _record(done: Scheduled, *, printed: bool) -> dict[str, Any]:
    return {
        "v": 1,
        "id": done.entry.id,
        "repository": done.entry.repository,
        "at": done.entry.at,
        "scheduler": done.scheduler,
        "auto_adopt": done.entry.auto_adopt,
        "written": not printed,
        "files": [{"path": path, "text": text} for path, text in done.files],
        "moved_from": list(done.moved_from),
        "notes": list(done.notes),
    }


def _files(done: Scheduled) -> Iterator[str]:
    for path, text in done.files:
        yield f"{path}:\n\n{text}"


def _sentences(done: Scheduled) -> Iterator[str]:
    adopt = ", and adopts what is strong" if done.entry.auto_adopt else ""
    yield f"{done.entry.repository} runs every day at {done.entry.at} with {done.scheduler}{adopt}."
    for scheduler in done.moved_from:
        yield f"It is no longer scheduled with {scheduler}."
    yield "`skillopt-git schedule --list` shows it, `skillopt-git unschedule` takes it away."


# --- list --------------------------------------------------------------------------------------------------------


def _list(console: Console, *, json: bool) -> None:
    from skillopt_git import scheduling  # what it needs would slow down every start

    found, unread = scheduling.listed(now=now())
    if json:
        problems = [error.message for error in unread]
        console.json({"v": 1, "schedules": [_standing(item) for item in found], "problems": problems})
        return
    for item in found:
        console.page(_lines(item))
    if not found:
        console.out("Nothing is scheduled." if not unread else "Nothing is scheduled where it could be looked at.")
    for error in unread:
        console.note(f"not looked at: {error.message}")


def _standing(item: Standing) -> dict[str, Any]:
    entry = item.placed.entry
    return {
        "id": item.placed.id,
        "scheduler": item.scheduler,
        "repository": entry.repository if entry else None,
        "at": entry.at if entry else None,
        "auto_adopt": entry.auto_adopt if entry else None,
        "python": entry.python if entry else None,
        "last_run": instant(item.nightly.tried),
        "last_exit": item.nightly.code,
        "log": str(item.log) if item.log else None,
        "problems": [problem.text for problem in item.problems],
    }


def _lines(item: Standing) -> Iterator[str]:
    entry = item.placed.entry
    if entry is None:
        yield f"{item.placed.id} with {item.scheduler}"
    else:
        adopt = ", adopts what is strong" if entry.auto_adopt else ""
        yield f"{entry.repository} at {entry.at} with {item.scheduler}{adopt}"
    yield f"  last run: {_last(item)}"
    yield from (f"  - {problem.text}" for problem in item.problems)


def _last(item: Standing) -> str:
    nightly = item.nightly
    if nightly.tried is None:
        return "none yet"
    ended = "not ended" if nightly.code is None else f"exit {nightly.code}"
    return f"{minute(nightly.tried)} UTC, {ended}"
