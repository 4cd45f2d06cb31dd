"""`adopt`: merge a proposal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt_git.commands.decided import tell
from skillopt_git.commands.options import AsJson, Local, Repo, deciding, there


def command(
    branch: Annotated[
        str | None,
        typer.Argument(
            help="The proposal, or a branch that shares tasks or unlearns; without it, the only open proposal."
        ),
    ] = None,
    local: Local = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Merge a proposal."""
    from skillopt_git import decide, taskbranch, unlearning, waiting  # what they need would slow down every start

    with deciding(repo) as shop:
        desk = shop.desk()
        if branch is not None and waiting.is_named(branch):
            done = taskbranch.adopt(desk, shop.base, branch)
        elif branch is not None and unlearning.is_named(branch):
            done = unlearning.adopt(desk, shop.base, branch)
        else:
            proposal = decide.the_proposal(desk.history, branch)
            other = there(shop, local=local)
            done = (other.adopt(proposal) if other else None) or decide.adopt(desk, proposal)
    unlearns = branch is not None and unlearning.is_named(branch)
    tell(done, "Unlearned" if unlearns else "Adopted", json=json)
