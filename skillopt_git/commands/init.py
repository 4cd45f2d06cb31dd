"""`init`: write a settings file and a skill to teach; overwrite nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.commands.options import AsJson, Repo, TargetSkill
from skillopt_git.console import Console
from skillopt_git.errors import UsageError

if TYPE_CHECKING:
    from skillopt_git.consent import Own
    from skillopt_git.pinning import Pin


WORKFLOW = ".github/workflows/skillopt.yml"


def command(
    repo: Repo = Path(),
    target_skill_path: TargetSkill = None,
    github_action: Annotated[
        bool, typer.Option("--github-action", help=f"Write the nightly workflow {WORKFLOW} too.")
    ] = False,
    action: Annotated[
        str | None,
        typer.Option(
            metavar="OWNER/NAME@COMMIT",
            help="What the workflow pins its action to; without it, what this copy was installed from.",
        ),
    ] = None,
    send: Annotated[
        str | None,
        typer.Option(
            help="What models may be sent: `reviewed` (tasks that people reviewed) or `mined` (also your "
            "sessions and what was mined from them, redacted). Without it, `init` asks once, on a terminal.",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Write a settings file and a skill to teach; overwrite nothing."""
    from skillopt_git import consent, edits, wiring  # what it needs would slow down every start
    from skillopt_git.config import FILE_NAME
    from skillopt_git.gitrepo import GitRepo

    if action is not None and not github_action:
        raise UsageError("--action is about the workflow", "add --github-action")
    pin = _pin(action) if github_action else None
    root = GitRepo.open(repo).root
    if root is None:
        raise UsageError("a bare repository has no files to write", "run it in a clone")
    skill = wiring.skill_path(target_skill_path or wiring.DEFAULT_SKILL)
    files = {FILE_NAME: _settings_file(), skill: edits.scaffold("skill", skill)}
    if pin is not None:
        files[WORKFLOW] = _workflow(pin)
    console = Console()
    own = consent.settle(root, send, console, asks=not json)
    made = [name for name, text in files.items() if _create(root, name, text)]
    kept = [name for name in files if name not in made]
    if own is not None:
        (made if own.made else kept).append(own.path)
    if json:
        console.json({"v": 1, "made": made, "kept": kept, "send": own and _decided(own)})
        return
    _tell(console, made, kept, own)
    console.out("Commit what was written. `skillopt-git run --backend mock` then simulates a first night.")
    if pin is not None:
        console.out(_NEXT)
        if WORKFLOW in made and not pin.known:
            console.out(_UNPINNED.format(file=WORKFLOW, pin=pin))


def _tell(console: Console, made: Sequence[str], kept: Sequence[str], own: Own | None) -> None:
    for name in made:
        console.out(f"wrote {name}")
    for name in kept:
        console.out(f"kept  {name} (it was there)")
    if own is None or own.made:
        return
    if own.stored:
        console.out(f"The last one says already what you decided: {own.send}.")
    elif own.said:
        console.out(f"The last one still says {own.said}. What you decided is, in its section [replay]:\n\n{own.text}")
    else:
        console.out(f"Add to the last one, in its section [replay], what you decided:\n\n{own.text}")


def _decided(own: Own) -> dict[str, str | None]:
    """Nothing is to be added where the file says it."""
    if own.stored:
        return {"decided": own.send, "add_to": None, "text": None}
    return {"decided": own.send, "add_to": own.path, "text": own.text}


_NEXT = """\
Then, on GitHub:
  1. Settings > Actions > General: "Allow GitHub Actions to create and approve pull requests".
  2. Settings > Secrets and variables > Actions: what answers, as the variables SKILLOPT_BACKEND and SKILLOPT_MODEL, its
     key as the secret that the job `learn` names, and what a night may cost: SKILLOPT_BUDGET_TOKENS or _USD.
  3. A runner has no sessions of yours. Share tasks (`skillopt-git tasks propose`), or add a step to the job `learn`
     that brings sessions.
  4. In a public repository nothing is proposed unless .skillopt.toml says propose.public = "summary".
docs/github.md of skillopt-git tells more of each."""

_UNPINNED = (
    "First of all: this copy of skillopt-git does not know where it came from. In {file} put\n"
    "the repository and the commit of your release in place of\n{pin.repository} and {pin.commit}."
)


def _pin(action: str | None) -> Pin:
    from skillopt_git import pinning  # what it needs would slow down every start

    return pinning.given(action) if action is not None else pinning.pin(pinning.note())


def _workflow(pin: Pin) -> str:
    from skillopt_git import __version__, render  # what it needs would slow down every start

    return render.workflow(repository=pin.repository, commit=pin.commit, version=__version__)


def _settings_file() -> str:
    from skillopt_git import render  # what it needs would slow down every start
    from skillopt_git.config import SHARED, settings

    shared = [item for item in settings() if item.door == SHARED]
    sections = [
        (name, [{"name": item.name, "help": item.help, "default": _toml(item.default)} for item in items])
        for name, items in groupby(shared, key=lambda item: item.section)
    ]
    return render.settings_file(sections)


def _toml(value: Any) -> str:
    """A default in TOML; JSON spells these values the same way."""
    import json as json_

    return json_.dumps(list(value) if isinstance(value, tuple) else value)


def _create(root: Path, name: str, text: str) -> bool:
    """Makes the file unless something is there, also a dangling link; never follows a link out of the repository."""
    path = root / name
    if any(folder.is_symlink() for folder in path.parents if folder != root and root in folder.parents):
        raise UsageError(f"{name} lies behind a link", "make the file by hand, or name another skill")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return False
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return True
