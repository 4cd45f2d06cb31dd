"""`reject`: refuse a proposal or one of its edits, and remember it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt_git.commands.decided import tell
from skillopt_git.commands.options import AsJson, Repo, deciding


def command(
    branch: Annotated[str | None, typer.Argument(help="The proposal; without it, the only open one.")] = None,
    edit: Annotated[str | None, typer.Option(help="Only this edit or rule id.")] = None,
    reason: Annotated[
        str | None, typer.Option(help="Why, in your words; `wrong-place` refuses it only for this file.")
    ] = None,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Refuse a proposal or one of its edits, and remember it."""
    from skillopt_git import decide  # what it needs would slow down every start

    with deciding(repo) as shop:
        desk = shop.desk()
        done = decide.reject(desk, decide.the_proposal(desk.history, branch), edit=edit, reason=reason)
    tell(done, "Rejected", json=json)
