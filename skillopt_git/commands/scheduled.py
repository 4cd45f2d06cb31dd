"""`scheduled`: what schedulers start, and nobody else has to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt_git.commands.options import now


def command(
    words: Annotated[list[str], typer.Argument(help="The verb to run, with its options, behind `--`.")],
    private: Annotated[Path, typer.Option(help="The repository's private folder.")],
    at: Annotated[str, typer.Option(help="When it is due, as HH:MM.")],
    if_missed: Annotated[bool, typer.Option("--if-missed", help="Only if the last time passed without a run.")] = False,
) -> None:
    """Run a verb for a scheduler: with the environment that was kept for it, told to a log."""
    from skillopt_git import scheduled, timetable  # what it needs would slow down every start

    code = scheduled.run(private, words, at=timetable.clock(at), if_missed=if_missed, now=now())
    raise typer.Exit(code or 0)
