"""What a person decides about a proposal on this machine: adopt, reject, allow again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from skillopt_git import edits, present
from skillopt_git.anchors import anchor, keep, put_away
from skillopt_git.branches import HEADS, behind, on_branch, remote_branches, state
from skillopt_git.errors import GitError, RefMoved, UsageError
from skillopt_git.gitrepo import Entry, GitRepo, Identity
from skillopt_git.history import is_ancestor, merge_tree, show
from skillopt_git.ledger import Ledger
from skillopt_git.model import Edit, Event
from skillopt_git.outcomes import present_in, settled, sync
from skillopt_git.present import base_of
from skillopt_git.publish import publish
from skillopt_git.recall import ADOPTIONS, History, Negative, Proposal, Proposed
from skillopt_git.remote import remote_name
from skillopt_git.reunion import rebuild
from skillopt_git.stamp import Stamp, event
from skillopt_git.targets import Base, document_entry
from skillopt_git.worktrees import checked_out, fast_forward


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
        """Who git says the user is, else the tool; signing is for the settings to say."""
        own = self.repo.identity()
        return replace(own, signs=self.author.signs) if own else self.author


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
        name = branch.removeprefix(HEADS)
        for item in open_:
            if item.branch == name:
                return item
        what = "has been decided already" if history.proposal(name) else "is no proposal"
        raise UsageError(f"{branch} {what}", f"open: {names}" if names else "there is no open proposal")
    if len(open_) != 1:
        raise UsageError(
            "there are several open proposals" if open_ else "there is no open proposal",
            f"name one of: {names}" if names else "`skillopt-git run` makes one when it finds something to learn",
        )
    return open_[0]


def one_of(items: Sequence[Proposed], name: str) -> Proposed:
    """The edit with this edit or rule id, or with an unmistakable beginning of one."""
    name = _typed(name)
    each = {item.edit.id: item for item in items}  # one that was learned twice, on two branches, is one edit
    found = [item for item in each.values() if item.edit.id.startswith(name) or item.edit.rule.startswith(name)]
    if len(found) == 1 and len(name) > len("e1-"):
        return found[0]
    known = ", ".join(f"{item.edit.id} ({item.edit.sentence})" for item in each.values()) or "none"
    raise UsageError(f"'{name}' names {'several edits' if found else 'no edit'} here", f"known: {known}")


def _typed(name: str) -> str:
    """An id as it was before a page of Markdown, which keeps it from becoming a link by invisible marks."""
    return name.replace("\u200b", "").strip()


def branch_tip(repo: GitRepo, branch: str) -> str:
    tip = repo.ref(f"{HEADS}{branch}")
    if tip is not None:
        return tip
    if branch in remote_branches(repo):
        raise UsageError(
            f"{branch} is not in this clone",
            f"fetch it first: `git branch {branch} --track {remote_name(repo) or 'REMOTE'}/{branch}`",
        )
    raise UsageError(f"the branch {branch} is gone", "the next `skillopt-git run` notes it as expired")


def base_tip(repo: GitRepo, branch: str) -> str:
    tip = repo.ref(f"{HEADS}{branch}")
    if tip is None:
        raise UsageError(
            f"there is no local branch {branch}", f"make it first, say with `git branch {branch} origin/{branch}`"
        )
    return tip


def taught(repo: GitRepo, commit: str, path: str) -> tuple[Entry | None, str]:
    """The file behind `path` and its text; what cannot be taught is an error."""
    entry = document_entry(repo, commit, path)
    return entry, "" if entry is None else edits.decode(repo.blob(entry.sha))


# --- adopt -------------------------------------------------------------------------------------------------------


def adopt(desk: Desk, proposal: Proposal) -> Done:
    """Merge the branch into its base with a merge commit, and remember who came of it.

    Touches the work tree only where the base is checked out, as `git merge --no-ff` would; nothing is touched when
    that would overwrite local changes.
    """
    repo = desk.repo
    proposal = _whole(desk, proposal)
    tip, ours = branch_tip(repo, proposal.branch), base_tip(repo, proposal.base_branch)
    for item in proposal.pending:
        present.edit_view(item, desk.ledger.evidence)  # raises where the evidence is not what was measured
    merged = is_ancestor(repo, tip, ours)
    at = ours if merged else merge(desk, proposal.base_branch, tip, _merge_message(proposal), proposal)
    noticed = sync(repo, desk.history, Base(proposal.base_branch, at), desk.stamp)
    desk.append(noticed, f"Adopt {proposal.branch}")
    came = {event.edit for event in noticed if event.type in ADOPTIONS}
    edits_ = tuple(item.edit for item in proposal.pending if item.edit.id in came)
    if merged:
        said: tuple[str, ...] = (f"{proposal.branch} had been merged already; that is noted now.",)
    else:
        undo = f"`git revert -m 1 {at[:12]}` unlearns all of it, `skillopt-git revert EDIT` one rule."
        said = (undo, *_sharing(repo, proposal))
    if proposal.simulated:
        said = (*said, "Its figures came from a simulation, so no model showed that these rules help.")
    return Done(edits=edits_, branch=proposal.base_branch, commit=at, said=said)


def _whole(desk: Desk, proposal: Proposal) -> Proposal:
    """With just the edits that are still open on its branch: what was refused is not merged behind anybody's back."""
    found = state(desk.repo, proposal)
    if not behind(proposal) or found in ("merged", "gone"):
        return proposal
    if found == "free":
        return rebuild(desk.repo, desk.ledger, proposal, author=desk.author, stamp=desk.stamp)
    settled_ = [item.edit.sentence for item in proposal.edits if item.outcome is not None and on_branch(proposal, item)]
    raise UsageError(
        f"{proposal.branch} still holds what was decided since: {'; '.join(settled_) or 'other edits'}",
        "leave the branch and try again, and it is rebuilt without; or take the commit out by hand and merge with git",
    )


def _sharing(repo: GitRepo, proposal: Proposal) -> Iterator[str]:
    """How the others get it, where there are others."""
    remote = remote_name(repo)
    if remote is not None:
        yield (
            f"`git push {remote} {proposal.base_branch}` shares it. Where that branch is protected, push "
            f"{proposal.branch} instead and open a pull request from it."
        )


def _merge_message(proposal: Proposal) -> str:
    rules = "".join(f"- {item.edit.id}\n" for item in proposal.pending)
    return f"Merge branch '{proposal.branch}'\n\nAdopts what was learned:\n{rules}"


def merge(desk: Desk, base_branch: str, tip: str, message: str, proposal: Proposal | None = None) -> str:
    """A merge commit of `tip` on the local branch, wherever that is checked out."""
    repo = desk.repo
    ref = f"{HEADS}{base_branch}"
    ours = base_tip(repo, base_branch)
    tree, conflicts = merge_tree(repo, ours, tip)
    if conflicts:
        by_hand = (
            f"finish it by hand: `git switch {base_branch}`, `git merge --no-ff {tip[:12]}`, mend "
            f"{', '.join(conflicts)}, `git commit`; it will be noticed"
        )
        tree = _reapplied(
            desk, ours, tip, proposal, GitError(f"the merge has conflicts in {', '.join(conflicts)}", by_hand)
        )
    merged = repo.commit_tree(tree, [ours, tip], message, desk.person, desk.stamp.now)
    worktree = checked_out(repo, ref)
    if worktree is not None:
        fast_forward(worktree, merged)
    else:
        repo.update_ref(ref, merged, ours, f"skillopt-git: merge into {base_branch}")
    return merged


def _reapplied(desk: Desk, ours: str, tip: str, proposal: Proposal | None, otherwise: GitError) -> str:
    """The merged tree when the only conflict is inside learned blocks: the edits are applied anew, by content.

    They go onto our side merged with what the proposal stands on, so that nothing of either is lost. Raises `otherwise`
    where that cannot be.
    """
    plain = replace(desk.author, signs=False)  # the steps between are kept by nothing
    repo = desk.repo
    base = base_of(proposal) if proposal is not None and tip in proposal.tips else tip
    whole, still = merge_tree(repo, ours, base)
    if proposal is None or still:
        raise otherwise
    start = repo.commit_tree(whole, [ours], "merge", plain, desk.stamp.now)
    changes: dict[str, tuple[str, str] | None] = {}
    for path in sorted({item.edit.target for item in proposal.pending}):
        items = [item for item in proposal.pending if item.edit.target == path]
        changes |= _taught_again(repo, start, path, items, otherwise)
    done = repo.commit(parent=start, changes=changes, message="merge", author=plain, when=desk.stamp.now)
    return show(repo, done).tree


def _taught_again(
    repo: GitRepo, commit: str, path: str, items: Sequence[Proposed], otherwise: GitError
) -> dict[str, tuple[str, str]]:
    entry, text = taught(repo, commit, path)
    first = items[0].event.data
    start = text if entry else edits.scaffold(first["kind"], path)
    applied = edits.apply(start, [item.edit for item in items if not present_in(start, item.edit)])
    if applied.unmatched:
        edit, why = applied.unmatched[0]
        raise GitError(f"{edit.id} does not fit {path} any more: {why}", f"reject it, or {otherwise.hint}")
    mode, where = (entry.mode, entry.path) if entry else (str(first["mode"]), path)
    return {where: (mode, repo.write_blob(edits.encode(applied.text)))}


# --- reject ------------------------------------------------------------------------------------------------------


def reject(desk: Desk, proposal: Proposal, *, edit: str | None, reason: str | None) -> Done:
    """Remember the refusal first, then take the branch away or rebuild it without the edit."""
    desk.ledger.scanner.refuse({"the reason": reason or ""})
    items = proposal.pending if edit is None else (one_of(proposal.pending, edit),)
    said = {item.edit.id: settled("rejected", item, desk.stamp, cause=desk.stamp.run, reason=reason) for item in items}
    desk.append(tuple(said.values()), f"Reject {proposal.branch}")
    left = tuple(replace(item, outcome=said.get(item.edit.id, item.outcome)) for item in proposal.edits)
    rest = replace(proposal, edits=left)
    note = _rebuilt(desk, rest, [item.edit for item in items]) if rest.pending else _refused(desk, proposal.branch)
    return Done(edits=tuple(item.edit for item in items), branch=proposal.branch, said=(note,))


def _rebuilt(desk: Desk, rest: Proposal, refused: Sequence[Edit]) -> str:
    for edit in refused:
        keep(desk.repo, rest.branch, edit.id)
    found = state(desk.repo, rest)
    if found != "free":
        why = {
            "touched": "somebody committed to it",
            "checked out": "it is checked out",
            "gone": "it is not here",
            "merged": "it was merged",
        }[found]
        return f"{rest.branch} is left as it is, because {why}; the rejection is remembered."
    publish(desk.repo, desk.ledger, rest, author=desk.author, stamp=desk.stamp)
    return f"{rest.branch} was rebuilt without it."


def _refused(desk: Desk, branch: str) -> str:
    tip = desk.repo.ref(f"{HEADS}{branch}")
    if tip is None:
        tracked = desk.repo.ref(f"refs/remotes/{remote_name(desk.repo)}/{branch}")
        if tracked is not None:
            anchor(desk.repo, branch, tracked)
        return f"{branch} is not in this clone; the rejection is remembered."
    try:
        return put_away(desk.repo, branch, tip)
    except RefMoved as error:
        what = f"the rejection is remembered, but {branch} could not be deleted: {error.message}"
        raise RefMoved(what, "the next run or verb that decides something deletes it") from error


def refused_whole(proposal: Proposal) -> bool:
    """Whether a person refused every edit of it, and not by leaving it out of a merge."""
    outcomes = [item.outcome for item in proposal.edits]
    return all(event and event.type == "rejected" and not event.data.get("commit") for event in outcomes)


def tidy(desk: Desk) -> None:
    """Put away the branches of rejected proposals: a rejection that was broken off is finished here."""
    for proposal in desk.history.proposals:
        tip = desk.repo.ref(f"{HEADS}{proposal.branch}")
        if refused_whole(proposal) and tip in proposal.tips:
            put_away(desk.repo, proposal.branch, str(tip))


def rejected(history: History, name: str) -> tuple[Negative, ...]:
    """The standing rejections of an edit or rule id, or of an unmistakable beginning of one."""
    name = _typed(name)
    found = tuple(
        item
        for item in history.negatives
        if len(name) > len("e1-") and any((id_ or "").startswith(name) for id_ in (item.event.edit, item.event.rule))
    )
    if len({item.event.rule for item in found}) == 1:
        return found
    known = ", ".join(f"{item.event.edit} ({item.text})" for item in history.negatives) or "none"
    raise UsageError(f"'{name}' {'names several rejections' if found else 'is not rejected'}", f"rejected: {known}")


def allow_again(desk: Desk, name: str) -> tuple[Negative, ...]:
    """End the standing rejections of an edit or rule id."""
    name = _typed(name)
    found = rejected(desk.history, name)
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
