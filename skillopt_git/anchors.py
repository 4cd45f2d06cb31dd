"""What keeps a refused change readable: refs below `refs/skillopt/rejected/`, which no garbage collection takes.

A whole proposal is anchored at its tip by the name of its branch, a single edit at its commit by its id.
"""

from __future__ import annotations

from skillopt_git.branches import EDIT_TRAILER, HEADS
from skillopt_git.gitrepo import GitRepo
from skillopt_git.history import log, patch
from skillopt_git.worktrees import checked_out

REJECTED = "refs/skillopt/rejected/"
DEEPEST = 100  # commits looked through below an anchor; a proposal has a handful, and what people added


def put_away(repo: GitRepo, branch: str, tip: str) -> str:
    """Keep the tip under an anchor, and delete the branch unless it is checked out."""
    ref = f"{HEADS}{branch}"
    anchor(repo, branch, tip)
    if checked_out(repo, ref) is not None:
        return f"{branch} is checked out and therefore kept; delete it when you have left it."
    repo.update_ref(ref, None, tip, f"skillopt-git: rejected {branch}")
    return f"{branch} was deleted; its tip stays at {REJECTED}{branch}."


def keep(repo: GitRepo, branch: str, edit: str) -> None:
    """Anchor the commit of one edit before its branch is rebuilt without it; nothing where it is not here."""
    commit = _commit(repo, f"{HEADS}{branch}", edit)
    if commit is not None:
        anchor(repo, edit, commit)


def change(repo: GitRepo, branch: str, edit: str) -> str | None:
    """The refused change as a patch; None where this clone does not have it."""
    found = (_commit(repo, ref, edit) for ref in (f"{REJECTED}{edit}", f"{REJECTED}{branch}", f"{HEADS}{branch}"))
    commit = next((sha for sha in found if sha is not None), None)
    return None if commit is None else patch(repo, commit)


def anchor(repo: GitRepo, name: str, tip: str) -> None:
    ref = f"{REJECTED}{name}"
    repo.update_ref(ref, tip, repo.ref(ref), f"skillopt-git: rejected {name}")


def _commit(repo: GitRepo, ref: str, edit: str) -> str | None:
    """The newest commit at or below the ref that makes the edit."""
    tip = repo.ref(ref)
    commits = log(repo, tip, most=DEEPEST) if tip else ()
    return next((item.sha for item in reversed(commits) if item.trailer(EDIT_TRAILER) == edit), None)
