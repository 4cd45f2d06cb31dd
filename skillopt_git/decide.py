"""What a person decides on this machine: adopt, reject, allow again, unlearn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillopt_git import edits
from skillopt_git.errors import GitError, UsageError
from skillopt_git.gitrepo import GitRepo, Identity
from skillopt_git.history import is_ancestor, merge_tree, show
from skillopt_git.ledger import Ledger
from skillopt_git.model import Edit, Event
from skillopt_git.outcomes import nearest, present_in, settled, sync, text_at, unlearned
from skillopt_git.publish import HEADS, publish, state
from skillopt_git.recall import History, Negative, Proposal, Proposed
from skillopt_git.record import Stamp, event
from skillopt_git.redact import refuse_secrets
from skillopt_git.targets import Base, document_entry
from skillopt_git.worktrees import checked_out, fast_forward

REJECTED = "refs/skillopt/rejected/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What every decision needs: the repository, its memory, who commits, and when."""

    repo: GitRepo
    ledger: Ledger
    history: History
    author: Identity
    stamp: Stamp

    def append(self, events: Sequence[Event], message: str) -> tuple[Event, ...]:
        return self.ledger.append(events, when=self.stamp.now, message=message)

    @property
    def person(self) -> Identity:
        return self.repo.identity() or self.author


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a decision did, in sentences for the person who made it."""

    edits: tuple[Edit, ...]
    branch: str
    commit: str | None = None
    said: tuple[str, ...] = ()


# --- finding -----------------------------------------------------------------------------------------------------


def the_proposal(history: History, branch: str | None) -> Proposal:
    """The open proposal `branch`; without a name, the only one."""
    open_ = [item for item in history.proposals if item.open]
    names = ", ".join(item.branch for item in open_)
    if branch is not None:
        for item in open_:
            if item.branch == branch.removeprefix(HEADS):
                return item
        settled_ = history.proposal(branch)
        what = "has been decided already" if settled_ else "is no proposal"
        raise UsageError(f"{branch} {what}", f"open: {names}" if names else "there is no open proposal")
    if len(open_) != 1:
        raise UsageError(
            "there are several open proposals" if open_ else "there is no open proposal",
            f"name one of: {names}" if names else "`skillopt-git run` makes one when it finds something to learn",
        )
    return open_[0]


def one_of(items: Sequence[Proposed], name: str) -> Proposed:
    """The edit with this edit or rule id, or with an unmistakable beginning of one."""
    found = [item for item in items if item.edit.id.startswith(name) or item.edit.rule.startswith(name)]
    if len(found) == 1 and len(name) > len("e1-"):
        return found[0]
    known = ", ".join(f"{item.edit.id} ({item.edit.sentence})" for item in items) or "none"
    raise UsageError(f"'{name}' names {'several edits' if found else 'no edit'} here", f"known: {known}")


# --- adopt -------------------------------------------------------------------------------------------------------


def adopt(desk: Desk, proposal: Proposal) -> Done:
    """Merge the branch into its base with a merge commit, and remember who came of it.

    Touches the work tree only where the base is checked out, as `git merge --no-ff` would; nothing is touched when
    that would overwrite local changes.
    """
    repo = desk.repo
    tip = repo.ref(f"{HEADS}{proposal.branch}")
    if tip is None:
        raise UsageError(f"the branch {proposal.branch} is gone", "`skillopt-git run` would note it as expired")
    merge = _merge(desk, proposal.base_branch, tip, _merge_message(proposal), proposal)
    desk.append(sync(repo, desk.history, Base(proposal.base_branch, merge), desk.stamp), f"Adopt {proposal.branch}")
    return Done(
        edits=tuple(item.edit for item in proposal.pending),
        branch=proposal.base_branch,
        commit=merge,
        said=(f"`git revert -m 1 {merge[:12]}` unlearns the whole night.",),
    )


def _merge_message(proposal: Proposal) -> str:
    rules = "".join(f"- {item.edit.id}\n" for item in proposal.pending)
    return f"Merge branch '{proposal.branch}'\n\nAdopts what was learned:\n{rules}"


def _merge(desk: Desk, base_branch: str, tip: str, message: str, proposal: Proposal | None) -> str:
    """A merge commit of `tip` on the local branch; the commit already there when it has `tip`."""
    repo = desk.repo
    ref = f"{HEADS}{base_branch}"
    ours = repo.ref(ref)
    if ours is None:
        raise UsageError(f"there is no local branch {base_branch}", f"make it first: `git branch {base_branch}`")
    if is_ancestor(repo, tip, ours):
        return ours
    tree, conflicts = merge_tree(repo, ours, tip)
    if conflicts:
        tree = _reapplied(desk, ours, tip, conflicts, proposal)
    merge = repo.commit_tree(tree, [ours, tip], message, desk.person, desk.stamp.now)
    worktree = checked_out(repo, ref)
    if worktree is not None and repo.root is not None:
        fast_forward(worktree, merge)
    else:
        repo.update_ref(ref, merge, ours, f"skillopt-git: merge into {base_branch}")
    return merge


def _reapplied(desk: Desk, ours: str, tip: str, conflicts: Sequence[str], proposal: Proposal | None) -> str:
    """The merged tree when the only conflict is inside learned blocks: our text with the edits applied by content."""
    items = proposal.pending if proposal else ()
    targets = {item.edit.target for item in items}
    if proposal is None or proposal.tip != tip or not set(conflicts) <= targets:
        raise GitError(
            f"the merge has conflicts in {', '.join(conflicts)}", "merge by hand with `git merge`; it will be noticed"
        )
    repo = desk.repo
    changes: dict[str, tuple[str, str] | None] = {}
    for path in sorted(targets):
        mine = [item for item in items if item.edit.target == path]
        entry = document_entry(repo, ours, path)
        text = text_at(repo, ours, path) if entry else edits.scaffold(mine[0].event.data["kind"], path)
        applied = edits.apply(text, [item.edit for item in mine if not present_in(text, item.edit)])
        if applied.unmatched:
            raise GitError(f"{applied.unmatched[0][0].id} does not fit {path} any more: {applied.unmatched[0][1]}")
        mode = entry.mode if entry else str(mine[0].event.data["mode"])
        changes[path] = (mode, repo.write_blob(edits.encode(applied.text)))
    whole = repo.commit(parent=ours, changes=changes, message="merge", author=desk.author, when=desk.stamp.now)
    return show(repo, whole).tree


# --- reject ------------------------------------------------------------------------------------------------------


def reject(desk: Desk, proposal: Proposal, *, edit: str | None, reason: str | None) -> Done:
    """Remember the refusal first, then take the branch away or rebuild it without the edit."""
    refuse_secrets({"the reason": reason or ""})
    items = proposal.pending if edit is None else (one_of(proposal.pending, edit),)
    said = [settled("rejected", item, desk.stamp, cause=desk.stamp.run, reason=reason) for item in items]
    desk.append(said, f"Reject {proposal.branch}")
    left = tuple(item for item in proposal.edits if item not in items)
    rest = replace(proposal, edits=left)
    note = _rebuilt(desk, rest) if rest.pending else _put_away(desk, proposal)
    return Done(edits=tuple(item.edit for item in items), branch=proposal.branch, said=(note,))


def _rebuilt(desk: Desk, rest: Proposal) -> str:
    found = state(desk.repo, rest)
    if found != "free":
        why = {"touched": "somebody committed to it", "checked out": "it is checked out", "gone": "it is gone"}[found]
        return f"{rest.branch} is left as it is, because {why}; the rejection is remembered."
    publish(desk.repo, desk.ledger, rest, author=desk.author, stamp=desk.stamp)
    return f"{rest.branch} was rebuilt without it."


def _put_away(desk: Desk, proposal: Proposal) -> str:
    """Keep the tip under an anchor, and delete the branch unless it is checked out."""
    repo = desk.repo
    ref = f"{HEADS}{proposal.branch}"
    tip = repo.ref(ref)
    if tip is None:
        return f"{proposal.branch} was gone already."
    anchor = f"{REJECTED}{proposal.branch}"
    repo.update_ref(anchor, tip, repo.ref(anchor), f"skillopt-git: rejected {proposal.branch}")
    if checked_out(repo, ref) is not None:
        return f"{proposal.branch} is checked out and therefore kept; delete it when you have left it."
    repo.update_ref(ref, None, tip, f"skillopt-git: rejected {proposal.branch}")
    return f"{proposal.branch} was deleted; its tip stays at {anchor}."


def allow_again(desk: Desk, name: str) -> tuple[Negative, ...]:
    """End the standing rejections of an edit or rule id."""
    found = tuple(
        item for item in desk.history.negatives if name in (item.event.edit, item.event.rule) and len(name) > len("e1-")
    )
    if not found:
        known = ", ".join(f"{item.event.edit} ({item.text})" for item in desk.history.negatives) or "none"
        raise UsageError(f"'{name}' is not rejected", f"rejected: {known}")
    first = found[0].event
    ends = [item.event.id for item in found]
    said = event(
        "unrejected",
        name,
        desk.stamp,
        edit=first.edit,
        rule=first.rule,
        target=first.target,
        text=first.text,
        data={"ends": ends},
    )
    desk.append([said], f"Allow {name} again")
    return found


# --- unlearn -----------------------------------------------------------------------------------------------------


def unlearn(desk: Desk, item: Proposed, *, base_branch: str, now: bool) -> Done:
    """A branch that takes one rule back by content; with `now` it is merged too."""
    repo = desk.repo
    base = repo.ref(f"{HEADS}{base_branch}")
    if base is None:
        raise UsageError(f"there is no local branch {base_branch}", f"make it first: `git branch {base_branch}`")
    path = item.edit.target
    text = text_at(repo, base, path)
    applied = edits.apply(text, [_inverse(item.edit, text)])
    entry = document_entry(repo, base, path)
    if applied.unmatched or entry is None:
        why = applied.unmatched[0][1] if applied.unmatched else "the file is gone"
        raise UsageError(f"{item.edit.id} cannot be taken back from {path} on {base_branch}: {why}")
    message = f"Unlearn a rule in {path}\n\nSkillOpt-Unlearns: {item.edit.id}\nSkillOpt-Target: {path}\n"
    change = {path: (entry.mode, repo.write_blob(edits.encode(applied.text)))}
    commit = repo.commit(parent=base, changes=change, message=message, author=desk.author, when=desk.stamp.now)
    branch = f"sleep/revert-{item.edit.id}"
    repo.update_ref(f"{HEADS}{branch}", commit, repo.ref(f"{HEADS}{branch}"), f"skillopt-git: unlearn {item.edit.id}")
    if not now:
        return Done(
            edits=(item.edit,), branch=branch, commit=commit, said=(f"`git merge --no-ff {branch}` unlearns it.",)
        )
    merge = _merge(desk, base_branch, commit, f"Merge branch '{branch}'\n\nUnlearns {item.edit.id}\n", None)
    desk.append([unlearned(item, merge, desk.stamp)], f"Unlearn {item.edit.id}")
    return Done(edits=(item.edit,), branch=branch, commit=merge, said=(f"merged into {base_branch}.",))


def _inverse(edit: Edit, text: str) -> Edit:
    """The edit that takes `edit` back; a rule that was reworded since is found by likeness."""
    if edit.op == "delete":
        return Edit(op="add", target=edit.target, text=edit.anchor)
    there = edit.text if present_in(text, edit) else nearest(text, edit.sentence) or edit.text
    if edit.op == "replace":
        return Edit(op="replace", target=edit.target, anchor=there, text=edit.anchor)
    return Edit(op="delete", target=edit.target, anchor=there)
