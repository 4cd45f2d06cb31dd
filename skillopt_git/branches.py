"""What became of a proposal's branch: whose it is now, and what it holds."""

from __future__ import annotations

from typing import Literal, TypeAlias

from skillopt_git.gitrepo import GitRepo
from skillopt_git.history import is_ancestor
from skillopt_git.recall import Proposal, Proposed
from skillopt_git.worktrees import checked_out

HEADS = "refs/heads/"
FOLDER = "sleep"
SEEN = "refs/skillopt/seen/"  # by remote and branch, where it was when last asked; this clone's own
EDIT_TRAILER = "SkillOpt-Edit-Id"

State: TypeAlias = Literal["free", "touched", "checked out", "gone", "merged"]


def remote_branches(repo: GitRepo) -> frozenset[str]:
    """What the remotes had when last asked, without the remote's name."""
    return frozenset(ref.split("/", 3)[-1] for ref in repo.refs("refs/remotes"))


def on_branch(proposal: Proposal, item: Proposed) -> bool:
    """Whether the branch as it was last published holds the edit: a run may break off between the two."""
    return any(item.event.id in event.data.get("edits", ()) for event in proposal.publications)


def behind(proposal: Proposal) -> bool:
    """Whether the branch holds other edits than those pending: a run or a verb broke off before rebuilding it.

    So it is too when two clones published it without having met.
    """
    pending = {item.event.id for item in proposal.pending}
    return any(set(event.data.get("edits", ())) != pending for event in proposal.publications)


def state(repo: GitRepo, proposal: Proposal) -> State:
    """Whether the branch may be rewritten: ours as we left it, not merged here, and not on somebody's desk."""
    ref = f"{HEADS}{proposal.branch}"
    now = repo.ref(ref)
    if now is None:
        return "free" if proposal.published is None else "gone"
    if proposal.tips and now not in proposal.tips:
        return "touched"
    if checked_out(repo, ref):
        return "checked out"
    return "merged" if merged(repo, proposal, now) else "free"


def merged(repo: GitRepo, proposal: Proposal, tip: str) -> bool:
    """Whether the base has it, here or as git last saw it at a remote."""
    names = [f"{HEADS}{proposal.base_branch}"]
    names += [f"refs/remotes/{remote}/{proposal.base_branch}" for remote in repo.remotes()]
    bases = [sha for name in names if (sha := repo.ref(name)) is not None]
    return repo.resolve(tip) is not None and any(is_ancestor(repo, tip, base) for base in dict.fromkeys(bases))
