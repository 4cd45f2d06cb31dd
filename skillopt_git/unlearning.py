"""Unlearning one adopted rule by its content, on a branch of its own: `sleep/revert-<edit id>`.

A single `git revert` would conflict with the rule's neighbours in the block. The branch proposes nothing to learn: it
is merged or taken away like any other, and what came of the rule is noticed by content.
"""

from __future__ import annotations

import re

from skillopt_git import edits
from skillopt_git.anchors import put_away
from skillopt_git.branches import HEADS
from skillopt_git.decide import Desk, Done, base_tip, branch_tip, merge, taught
from skillopt_git.errors import UsageError
from skillopt_git.history import is_ancestor, show
from skillopt_git.model import Edit
from skillopt_git.outcomes import nearest, present_in, sync, unlearned
from skillopt_git.recall import Proposed
from skillopt_git.targets import Base
from skillopt_git.worktrees import checked_out

BRANCH = re.compile(r"sleep/revert-(e1-[0-9a-f]{16})")
TRAILER = "SkillOpt-Unlearns"


def unlearn(desk: Desk, item: Proposed, *, base_branch: str, now: bool) -> Done:
    """A branch that takes one rule back by content; with `now` it is merged too."""
    repo = desk.repo
    base = base_tip(repo, base_branch)
    commit = _without(desk, item, base_branch, base)
    branch = f"sleep/revert-{item.edit.id}"
    _place(desk, item, base_branch, base, commit)
    if not now:
        said = f"Merge {branch} to unlearn it, or let `skillopt-git revert {item.edit.id} --now` do that."
        return Done(edits=(item.edit,), branch=branch, commit=commit, said=(said,))
    merged = merge(desk, base_branch, commit, f"Merge branch '{branch}'\n\nUnlearns {item.edit.id}\n")
    desk.append([unlearned(item, merged, desk.stamp)], f"Unlearn {item.edit.id}")
    said = f"It is not proposed again until `skillopt-git rejections undo {item.edit.id}`."
    return Done(edits=(item.edit,), branch=base_branch, commit=merged, said=(said,))


def _without(desk: Desk, item: Proposed, base_branch: str, base: str) -> str:
    """A commit on the base that takes the rule back."""
    repo = desk.repo
    entry, text = taught(repo, base, item.edit.target)
    applied = edits.apply(text, [_inverse(item.edit, text)])
    if applied.unmatched or entry is None:
        why = applied.unmatched[0][1] if entry else "the file is gone"
        raise UsageError(f"{item.edit.id} cannot be taken back from {item.edit.target} on {base_branch}: {why}")
    message = f"Unlearn a rule in {entry.path}\n\n{TRAILER}: {item.edit.id}\nSkillOpt-Target: {entry.path}\n"
    change = {entry.path: (entry.mode, repo.write_blob(edits.encode(applied.text)))}
    return repo.commit(parent=base, changes=change, message=message, author=desk.author, when=desk.stamp.now)


def _place(desk: Desk, item: Proposed, base_branch: str, base: str, commit: str) -> None:
    """The branch at the commit. One that is there already is ours to move only as we made it."""
    repo, branch = desk.repo, f"sleep/revert-{item.edit.id}"
    ref = f"{HEADS}{branch}"
    there = repo.ref(ref)
    ours = there is None or is_ancestor(repo, there, base) or _as_made(desk, item, base_branch, there)
    if not ours or checked_out(repo, ref) is not None:
        why = "is checked out" if ours else "holds other commits"
        raise UsageError(f"{branch} is there already and {why}", "merge it, or delete it and try again")
    repo.update_ref(ref, commit, there, f"skillopt-git: unlearn {item.edit.id}")


def _as_made(desk: Desk, item: Proposed, base_branch: str, tip: str) -> bool:
    """Whether the commit is what this tool makes on its parent: an amended one keeps the trailer."""
    found = show(desk.repo, tip)
    if found.trailer(TRAILER) != item.edit.id or len(found.parents) != 1:
        return False
    try:
        made = show(desk.repo, _without(desk, item, base_branch, found.parents[0]))
    except UsageError:
        return False
    return (made.tree, made.author, made.message) == (found.tree, found.author, found.message)


def _inverse(edit: Edit, text: str) -> Edit:
    """The edit that takes `edit` back; a rule that was reworded since is found by likeness."""
    if edit.op == "delete":
        return Edit(op="add", target=edit.target, text=edit.anchor)
    there = edit.text if present_in(text, edit) else nearest(text, edit.sentence) or edit.text
    if edit.op == "replace":
        return Edit(op="replace", target=edit.target, anchor=there, text=edit.anchor)
    return Edit(op="delete", target=edit.target, anchor=there)


def is_named(branch: str) -> bool:
    return BRANCH.fullmatch(branch.removeprefix(HEADS)) is not None


def adopt(desk: Desk, base: Base, branch: str) -> Done:
    """Merge a branch that unlearns; whoever else committed to it."""
    branch = branch.removeprefix(HEADS)
    tip, ours = branch_tip(desk.repo, branch), base_tip(desk.repo, base.branch)
    if is_ancestor(desk.repo, tip, ours):
        return Done(edits=(), branch=base.branch, commit=ours, said=(f"{branch} had been merged already.",))
    commit = merge(desk, base.branch, tip, f"Merge branch '{branch}'\n\nUnlearns a rule.\n")
    said = desk.append(sync(desk.repo, desk.history, Base(base.branch, commit), desk.stamp), f"Adopt {branch}")
    gone = {event.edit for event in said if event.type == "reverted"}
    taken_back = {item.edit.id: item.edit for item in desk.history.adopted if item.edit.id in gone}
    return Done(
        edits=tuple(taken_back.values()),
        branch=base.branch,
        commit=commit,
        said=(f"{branch} is merged. `git revert -m 1 {commit[:12]}` brings the rule back.",),
    )


def refuse(desk: Desk, branch: str) -> Done:
    """Take the branch away; the rule stays learned."""
    branch = branch.removeprefix(HEADS)
    said = put_away(desk.repo, branch, branch_tip(desk.repo, branch))
    return Done(edits=(), branch=branch, said=(said, "The rule stays learned."))
