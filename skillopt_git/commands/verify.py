"""`verify`: recompute every verdict of a proposal from its recorded evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt_git.commands.options import AsJson, Repo, workshop
from skillopt_git.console import Console
from skillopt_git.errors import SkilloptError

if TYPE_CHECKING:
    from skillopt_git.workshop import Workshop

FOUND_SOMETHING = 6


def command(
    branch: Annotated[str | None, typer.Argument(help="The proposal; without it, the only open one.")] = None,
    local: Annotated[bool, typer.Option("--local", help="Use the ledger that is here; ask no remote.")] = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Recompute every verdict of a proposal from its recorded evidence; exit 6 where one differs. Needs no key."""
    from skillopt_git.decide import the_proposal  # here and below: what they need would slow down every start
    from skillopt_git.verifying import verify

    console = Console()
    shop = workshop(repo)
    if not local:
        _fetch(shop, console)
    history = shop.everything()
    named = history.proposal(branch.removeprefix("refs/heads/")) if branch else None
    proposal = named or the_proposal(history, branch)
    checked = verify(proposal, shop.ledger.evidence)
    wrong = [item for item in checked if item.problems]
    if json:
        edits = [
            {
                "id": item.edit,
                "rule": item.rule,
                "target": item.target,
                "text": item.text,
                "recorded": item.recorded,
                "recomputed": item.found,
                "problems": list(item.problems),
            }
            for item in checked
        ]
        console.json({"v": 1, "branch": proposal.branch, "sound": not wrong, "edits": edits})
    else:
        for item in checked:
            console.out(f"{item.edit}  {item.recorded}: {'differs' if item.problems else 'confirmed'}  {item.text}")
            for problem in item.problems:
                console.out(f"  - {problem}")
        whole = "every verdict follows from its recorded evidence"
        console.out(f"{proposal.branch}: {f'{len(wrong)} of {len(checked)} differ' if wrong else whole}.")
    if wrong:
        raise typer.Exit(FOUND_SOMETHING)


def _fetch(shop: Workshop, console: Console) -> None:
    """What other clones recorded comes first: a fresh clone has no ledger. Without a way there, what is here counts."""
    from skillopt_git import exchange
    from skillopt_git.remote import Remote, remote_name

    name = remote_name(shop.repo)
    if name is None:
        return
    try:
        with shop.private.lock():
            exchange.fetch(shop.repo, shop.ledger, Remote(shop.repo, name), shop.stamp, bring=False)
    except SkilloptError as error:
        console.note(f"note: the ledger at {name} was not asked: {error.message}")
