"""`adopt`: merge a proposal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt_git.commands.decided import tell
from skillopt_git.commands.options import AsJson, Repo, deciding


def command(
    branch: Annotated[str | None, typer.Argument(help="The proposal; without it, the only open one.")] = None,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Merge a proposal."""
    from skillopt_git import decide  # what it needs would slow down every start

    with deciding(repo) as shop:
        desk = shop.desk()
        done = decide.adopt(desk, decide.the_proposal(desk.history, branch))
    tell(done, "Adopted", json=json)
