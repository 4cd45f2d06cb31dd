"""`log`: what happened, newest first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt_git.commands.options import AsJson, Repo, workshop
from skillopt_git.console import Console
from skillopt_git.model import REASONS

if TYPE_CHECKING:
    from skillopt_git.model import Event


def command(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Most events to list.")] = 30,
    every: Annotated[bool, typer.Option("--all", help="Families and trials too.")] = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """List what happened, newest first."""
    from skillopt_git.schema import dump  # what it needs would slow down every start

    shop = workshop(repo)
    events = shop.events() if every else shop.told()
    shown = sorted(enumerate(events), key=lambda item: (item[1].ts, item[0]), reverse=True)[:limit]
    console = Console()
    if json:
        console.json({"v": 1, "events": [dump(event) for _, event in shown]})
    elif not shown:
        console.out("Nothing happened yet.")
    else:
        console.table("", ["when", "what", "about"], [[event.ts, _what(event), _about(event)] for _, event in shown])


def _what(event: Event) -> str:
    return f"{event.type} (simulated)" if event.simulated else event.type


def _about(event: Event) -> str:
    data = event.data
    if event.type == "run":
        told = data["verdict"] or REASONS.get(data["reason"], data["reason"])
        return f"{event.run}: {told}; {data['sessions']} sessions, {data['tasks']} tasks"
    if event.type == "gate":
        return f"{event.edit} {data['verdict']} ({event.target})"
    if event.type == "aa":
        return (
            f"{'a rule taken out' if event.edit else 'an edit that says nothing'}: {data['verdict']} ({event.target})"
        )
    if event.type == "published":
        return f"{data['branch']} at {data['tip'][:12]}"
    if event.type == "frozen":
        return f"{data['branch']} is {data['why']}, and is left alone"
    reason = f" ({event.reason})" if event.reason else ""
    return f"{event.edit} {event.text or ''}{reason}"
