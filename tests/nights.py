"""What tests of whole nights share: dialogues in which a wish recurs, and how a verb is run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from skillopt_git.commands.demo import write_sessions
from skillopt_git.ports import Reply, Request
from tests.helpers import Repository

SKILL = ".claude/skills/skillopt-sleep-learned/SKILL.md"
PNPM = [
    ["Add lodash to the web package", "Ran npm install lodash.", "No, use pnpm, not npm", "Ran pnpm add lodash."],
    ["Install the dependencies", "Ran npm install.", "no, please use pnpm instead of npm here", "Ran pnpm install."],
    ["Upgrade react to version 19", "Ran npm install react@19.", "Use pnpm, not npm.", "Ran pnpm add react@19."],
    ["Remove left-pad, nothing uses it", "Ran npm uninstall left-pad.", "No. We use pnpm, not npm.", "pnpm remove."],
]
TICKET = [
    [ask, "Wrote it.", "No, put the ticket number in branch names", "Renamed the branch."]
    for ask in ("Start on the login page", "Fix the crash in the tax report", "Try the new cache")
]
ALWAYS = [
    [ask, "Done.", "Always run ruff first", "Ran ruff, then done."]
    for ask in ("Fix the flaky login test", "Add a retry to the payment client", "Rename the tax module")
]

RULE, OTHER = "Use pnpm, not npm", "Put the ticket number in branch names"

Run = Callable[..., dict[str, Any]]
T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """A folder that tests of a module use one after the other. What several of them start from is made once and put
    back for the next, at the same path: sessions and remotes are known by theirs."""

    path: Path
    kept: Path
    told: dict[str, Any] = field(default_factory=dict)

    def cleared(self) -> Path:
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir()
        return self.path

    def start(self, name: str, make: Callable[[], T]) -> T:
        """The folder as `make` left it, and what that returned."""
        if name in self.told:
            shutil.rmtree(self.path)
            shutil.copytree(self.kept / name, self.path, symlinks=True)
        else:
            self.told[name] = deepcopy(make())
            shutil.copytree(self.path, self.kept / name, symlinks=True)
        return deepcopy(self.told[name])  # type: ignore[no-any-return]


def obedient(request: Request) -> Reply:
    """A target that keeps to what it is told, and an optimizer that words the wish as the user did, and finds no more
    in sessions than the rules do."""
    if request.purpose == "mine":
        return Reply(text=json.dumps({"tasks": []}))
    if request.purpose == "reflect":
        wish = request.ask.split("Rules that people here turned down")[0]
        rule = RULE if RULE in wish else OTHER
        return Reply(text=json.dumps({"edits": [{"op": "add", "text": rule, "reason": "It was asked for."}]}))
    if request.purpose == "judge":
        return Reply(text=json.dumps({"score": 1.0 if "ACME-7" in request.ask else 0.0}))
    told = " ".join(text for _, text in request.documents)
    tool = "pnpm" if RULE in told else "npm"
    branch = "ACME-7" if "ticket" in told else "work"
    return Reply(text=f"Ran {tool} install on branch {branch}.", model="scripted")


def sessions(home: Path, repo: Repository, dialogues: Sequence[Sequence[str]]) -> None:
    """The repository's sessions; dialogues that were written before keep their ids."""
    write_sessions(home, str(repo.path), [list(turns) for turns in dialogues], datetime.now(UTC))


def taught(repo: Repository, rev: str, path: str = SKILL) -> str:
    return repo.git("show", f"{rev}:{path}")


def arguments(verb: str, args: Sequence[str], repo: Repository, home: Path) -> list[str]:
    """The words of a verb in `repo`; nights are simulated."""
    words = [*verb.split(), *args, "--repo", str(repo.path)]
    if verb in ("run", "dry-run"):
        words += ["--backend", "mock", "--quiet"]
    if verb in ("run", "dry-run", "harvest"):
        words += ["--claude-home", str(home)]
    return words
