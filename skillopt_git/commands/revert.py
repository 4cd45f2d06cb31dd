"""`revert`: unlearn one adopted rule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt_git.commands.decided import tell
from skillopt_git.commands.options import AsJson, Repo, deciding


def command(
    edit: Annotated[str, typer.Argument(help="The edit or rule id.")],
    now: Annotated[bool, typer.Option("--now", help="Merge it too.")] = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Unlearn one adopted rule."""
    from skillopt_git import decide, unlearning  # what they need would slow down every start

    with deciding(repo) as shop:
        desk = shop.desk()
        item = decide.one_of(desk.history.adopted, edit)
        done = unlearning.unlearn(desk, item, base_branch=shop.base.branch, now=now)
    tell(done, "Unlearned" if now else "Prepared to unlearn", json=json)
