"""`reject`: refuse a proposal or one of its edits, and remember it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from skillopt_git.commands.decided import tell
from skillopt_git.commands.options import AsJson, Local, Repo, deciding, there
from skillopt_git.errors import UsageError


def command(
    branch: Annotated[
        str | None,
        typer.Argument(
            help="The proposal, or a branch that shares tasks or unlearns; without it, the only open proposal."
        ),
    ] = None,
    edit: Annotated[str | None, typer.Option(help="Only this edit or rule id.")] = None,
    reason: Annotated[
        str | None, typer.Option(help="Why, in your words; `wrong-place` refuses it only for this file.")
    ] = None,
    local: Local = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Refuse a proposal or one of its edits, and remember it."""
    from skillopt_git import decide, taskbranch, unlearning, waiting  # what they need would slow down every start

    with deciding(repo) as shop:
        desk = shop.desk()
        if branch is not None and waiting.is_named(branch):
            _refuse_more(branch, edit, reason, "`skillopt-git tasks drop` puts a task out")
            done = taskbranch.refuse(desk, branch)
        elif branch is not None and unlearning.is_named(branch):
            _refuse_more(branch, edit, reason, "the rule then stays learned")
            done = unlearning.refuse(desk, branch)
        else:
            proposal = decide.the_proposal(desk.history, branch)
            other = there(shop, local=local)
            done = decide.reject(desk, proposal, edit=edit, reason=reason)
            done = replace(done, said=(*done.said, *(other.rejected(proposal) if other else ())))
    tell(done, "Rejected", json=json)


def _refuse_more(branch: str, edit: str | None, reason: str | None, else_: str) -> None:
    if edit is not None or reason is not None:
        raise UsageError(
            f"{branch} proposes no rule: there is no edit to refuse, and nothing to remember",
            f"without --edit and --reason the branch is deleted; {else_}",
        )
