"""Branches of tasks that wait to be merged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from skillopt_git.branches import FOLDER, HEADS
from skillopt_git.gitrepo import GitRepo
from skillopt_git.history import Commit, is_ancestor, log, show
from skillopt_git.targets import SHARED_TASKS, Base

BRANCH = re.compile(rf"{FOLDER}/tasks-\d{{4}}-\d\d-\d\d(-[1-9]\d{{0,3}})?")
TRAILER = "SkillOpt-Tasks"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A branch of tasks that is not merged, and its last commit."""

    branch: str
    tip: Commit


def held(repo: GitRepo, base: Base) -> tuple[str, ...]:
    """The branches that wait to be merged, the newest first."""
    return tuple(item.branch for item in waiting(repo, base))


def waiting(repo: GitRepo, base: Base) -> Iterator[Waiting]:
    """Branches of tasks that are not merged, the newest first. One that never held our commit is not ours."""
    heads = repo.refs(f"{HEADS}{FOLDER}")
    names = sorted((ref.removeprefix(HEADS) for ref in heads), key=lambda name: (len(name), name), reverse=True)
    for name in names:
        tip = heads[f"{HEADS}{name}"]
        if BRANCH.fullmatch(name) and not _merged(repo, base, tip):
            commits = log(repo, tip, base.commit)
            if any(commit.trailer(TRAILER) for commit in commits):
                yield Waiting(name, show(repo, tip))


def _merged(repo: GitRepo, base: Base, tip: str) -> bool:
    """By its commit, or squashed: then the shared bank is as the branch has it."""
    local = repo.ref(f"{HEADS}{base.branch}")
    heads = [base.commit, *([local] if local else [])]
    bank = repo.paths(tip, SHARED_TASKS)
    return any(is_ancestor(repo, tip, head) or repo.paths(head, SHARED_TASKS) == bank for head in heads)


def is_named(branch: str) -> bool:
    return BRANCH.fullmatch(branch.removeprefix(HEADS)) is not None
