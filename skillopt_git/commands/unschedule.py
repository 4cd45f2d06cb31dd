"""`unschedule`: take the nightly run away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.commands.options import AsJson, Repo
from skillopt_git.console import Console

if TYPE_CHECKING:
    from skillopt_git.scheduling import Unscheduled
    from skillopt_git.timetable import Placed


def command(
    repo: Repo = Path(),
    with_: Annotated[
        str | None, typer.Option("--with", help="Only from this one: cron, systemd, launchd or windows.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="The runs of every repository.")] = False,
    json: AsJson = False,
) -> None:
    """Take the nightly run away; of a repository that is gone, name the folder where it was."""
    from skillopt_git import scheduling  # what it needs would slow down every start

    done = scheduling.unschedule(None if all_ else repo, with_=with_)
    console = Console()
    for error in done.unread:
        console.note(f"not looked at: {error.message}")
    if json:
        left = [{**_record(name, placed), "problem": error.message} for name, placed, error in done.left]
        console.json({"v": 1, "removed": [_record(*item) for item in done.removed], "left": left})
    else:
        for line in _sentences(done):
            console.out(line)
        for name, placed, error in done.left:
            why = "; ".join(filter(None, (error.message, error.hint)))
            console.note(f"{_name(placed)} is still scheduled with {name}: {why}")
    if done.left:
        raise typer.Exit(done.left[0][2].exit_code)


def _sentences(done: Unscheduled) -> Iterator[str]:
    for scheduler, placed in done.removed:
        yield f"{_name(placed)} is no longer scheduled with {scheduler}."
    if not done.removed and not done.left:
        yield "Nothing was scheduled."


def _record(scheduler: str, placed: Placed) -> dict[str, Any]:
    return {
        "id": placed.id,
        "repository": placed.entry.repository if placed.entry else None,
        "scheduler": scheduler,
    }


def _name(placed: Placed) -> str:
    return placed.entry.repository if placed.entry else f"the repository of {placed.id}"
