"""`prompts`: what models are asked, in words."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from skillopt_git.commands.options import AsJson, Repo, settings
from skillopt_git.console import Console
from skillopt_git.errors import UsageError


def command(
    name: Annotated[
        str | None, typer.Argument(help="Show this one, as a template; without it, which there are.")
    ] = None,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Show what models are asked.

    A file `.skillopt/prompts/NAME.md.j2` on the base branch stands in for the shipped one of that name.
    """
    from skillopt_git import wiring  # what it needs would slow down every start
    from skillopt_git.gitrepo import GitRepo
    from skillopt_git.targets import default_base

    opened = GitRepo.open(repo)
    prompts = wiring.prompts(opened, default_base(opened, settings(repo, {}).propose.base))
    console = Console()
    if name is not None and name not in prompts.texts:
        near = get_close_matches(name, prompts.texts, n=1)
        meant = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(f"there is no prompt '{name}'", f"{meant}known: {', '.join(prompts.texts)}")
    shown = {name: prompts.texts[name]} if name is not None else prompts.texts
    if json:
        texts = [{"name": key, "own": key in prompts.own, "text": text} for key, text in shown.items()]
        console.json({"v": 1, "digest": prompts.digest, "prompts": texts})
    elif name is not None:
        console.out(prompts.texts[name].rstrip("\n"))
    else:
        for key in shown:
            console.out(f"{key}: {'of this repository' if key in prompts.own else 'as shipped'}")
