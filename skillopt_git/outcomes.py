"""What people did to a proposal, noticed by content: merged or cherry-picked, left out of a merge, undone, deleted."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillopt_git import edits
from skillopt_git.branches import EDIT_TRAILER, HEADS, SEEN, on_branch, remote_branches
from skillopt_git.gitrepo import FOLDER, LINK, SUBMODULE, GitRepo
from skillopt_git.history import is_ancestor, versions
from skillopt_git.ids import fold
from skillopt_git.model import Edit, Event, EventType
from skillopt_git.recall import ADOPTIONS, NEAR_DUPLICATE, History, Proposal, Proposed
from skillopt_git.similarity import similarity
from skillopt_git.stamp import Stamp, event
from skillopt_git.targets import MOST_LINKS, Base, allowed

GIVEN_UP = frozenset({"rejected", "superseded", "expired"})


@dataclass(frozen=True, slots=True)
class Trace:
    """The commits of the base where an edit came in and went out again; None where it did not."""

    came: str | None
    went: str | None


def sync(repo: GitRepo, history: History, base: Base, stamp: Stamp) -> tuple[Event, ...]:
    """The events that tell what became of proposals and adopted rules since. Reads what is local."""
    told = _Told(_Look(repo, history, base), stamp)
    found: list[Event] = []
    for proposal in history.proposals:
        if proposal.open:
            found += told.settled(proposal)
    for item in history.ever_adopted:
        taken_back = history.unlearned.get((item.branch, item.edit.id))
        found += told.unlearned(item) if taken_back is None else told.back(item, taken_back)
    found += told.late()
    return tuple(found)


def awaited(repo: GitRepo, history: History, base: Base) -> tuple[Proposed, ...]:
    """Adopted edits that the base does not have: merged on this machine, say, and not pushed yet."""
    look = _Look(repo, history, base)
    return tuple(item for item in history.adopted if not look.arrived(item))


@dataclass(frozen=True, slots=True)
class _Look:
    """What is at the base commit, of what is known of proposals. Each document is read once a commit."""

    repo: GitRepo
    history: History
    base: Base
    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    ancestry: dict[str, bool] = field(default_factory=dict)

    def arrived(self, item: Proposed) -> bool:
        """Whether the base has it, in its own words or others, or what an edit has put in its place since."""
        return self.there(item) or self.reworded(item) or self._replaced(item)

    def there(self, item: Proposed) -> bool:
        return present_in(self._text(self.base.commit, item.edit.target), item.edit)

    def reworded(self, item: Proposed) -> bool:
        """Whether a learned rule like it has come that no other edit wrote."""
        return any(similarity(rule, item.edit.sentence) >= NEAR_DUPLICATE for rule in self.newcomers(item))

    def newcomers(self, item: Proposed) -> list[str]:
        """The learned rules of its document that came since it was proposed, and that no other edit wrote."""
        edit = item.edit
        if edit.op == "delete":
            return []
        proposal = self.history.proposal(item.branch)
        others = [other.edit.sentence for other in (proposal.edits if proposal else ()) if other.edit.id != edit.id]
        before = str(item.event.data["base"])
        stood = learned(self._text(before, edit.target)) if self.repo.resolve(before) else ()
        known = {fold(rule) for rule in (*stood, *others, edit.anchor or "")}
        return [rule for rule in learned(self._text(self.base.commit, edit.target)) if fold(rule) not in known]

    def _replaced(self, item: Proposed) -> bool:
        if item.edit.guides:
            return self._guided_anew(item)
        about = (item.edit.target, fold(item.edit.sentence))
        later = (other for proposal in self.history.proposals for other in proposal.edits if other.edit.op != "add")
        return any((other.edit.target, fold(other.edit.anchor or "")) == about and self.there(other) for other in later)

    def _guided_anew(self, item: Proposed) -> bool:
        """Guidance stands in the place of any other; also where what took its place is gone by now."""
        every = (other for proposal in self.history.proposals for other in proposal.edits if other.edit.guides)
        others = [other for other in every if other.edit.target == item.edit.target and other.edit.id != item.edit.id]
        later = (other for other in others if self._proposed_later(other, item))
        return any(map(self.there, others)) or any(other.outcome and other.outcome.type in ADOPTIONS for other in later)

    def _proposed_later(self, other: Proposed, item: Proposed) -> bool:
        """On a base that has gone on. Where this clone cannot tell, too: nobody is said to have unlearned what may have
        been replaced. No clocks are compared, nor the ids of runs, which tell the time."""
        before, since = str(item.event.data["base"]), str(other.event.data["base"])
        unknown = self.repo.resolve(before) is None or self.repo.resolve(since) is None
        return unknown or (before != since and is_ancestor(self.repo, before, since))

    def moved(self, item: Proposed) -> bool:
        """Whether another document of the base says it now: a rule that moved is not unlearned."""
        if item.edit.op == "delete":
            return False
        paths = [entry.path for entry in self.repo.paths(self.base.commit) if allowed(entry.path)]
        return any(edits.holds(self._text(self.base.commit, path), item.edit.sentence) for path in paths)

    def _text(self, commit: str, path: str) -> str:
        if (commit, path) not in self.texts:
            self.texts[commit, path] = _said_at(self.repo, commit, path)
        return self.texts[commit, path]

    def _read_ahead(self, since: str | None, path: str) -> list[str]:
        """The commits after `since` that touch the document; their texts are read in one go, as far as they are new."""
        if since == self.base.commit:
            return []
        found = versions(self.repo, self.base.commit, since, path)
        plain = {
            commit: entry.sha
            for commit, entry in found
            if entry is not None and entry.mode not in {FOLDER, LINK, SUBMODULE} and (commit, path) not in self.texts
        }
        texts = self.repo.blobs(list(dict.fromkeys(plain.values())))
        self.texts.update({(commit, path): texts[sha].decode("utf-8", "replace") for commit, sha in plain.items()})
        return [commit for commit, _ in found]

    # --- commits ---

    def below(self, commit: str) -> bool:
        """Whether the base has the commit; one that this clone does not know, it has not."""
        if commit not in self.ancestry:
            known = commit == self.base.commit or self.repo.resolve(commit) is not None
            self.ancestry[commit] = known and is_ancestor(self.repo, commit, self.base.commit)
        return self.ancestry[commit]

    def dropped(self, commit: str) -> bool:
        """Whether this clone has the commit and no branch of it, or of a remote as it was last seen, does."""
        if self.repo.resolve(commit) is None:
            return False
        words = ("--count=1", "--format=%(refname)", f"--contains={commit}", "refs/heads", "refs/remotes", SEEN)
        return not self.repo.run("for-each-ref", *words).text

    def carried(self, item: Proposed) -> bool:
        """Whether a commit of the base says it is this edit's: amended or squashed, it may say something else now."""
        since = str(item.event.data["base"])
        if since == self.base.commit or not self.below(since):
            return False
        words = ("--fixed-strings", f"--grep={EDIT_TRAILER}: {item.edit.id}", "--max-count=1")
        return bool(self.repo.run("rev-list", *words, self.base.commit, f"^{since}").text)

    def trace(self, item: Proposed, since: str, *, whole: bool = False) -> Trace:
        """Where the edit came in and went out along the base's own line of commits after `since`.

        In a shallow clone or a rewritten history nothing is known of that line, and only what is there now counts;
        unless the `whole` line of the base is to be looked at then.
        """
        known = self.below(since)
        if not known and not whole:
            return Trace(self.base.commit if self.there(item) else None, None)
        came = went = None
        for commit in self._read_ahead(since if known else None, item.edit.target):
            if present_in(self._text(commit, item.edit.target), item.edit):
                came, went = came or commit, None
            elif came is not None:
                went = went or commit
        return Trace(came or (self.base.commit if self.there(item) else None), went)


@dataclass(frozen=True, slots=True)
class _Told:
    """What a look at the base tells of proposals and their edits."""

    look: _Look
    stamp: Stamp

    def settled(self, proposal: Proposal) -> Iterator[Event]:
        look = self.look
        merged = any(look.below(tip) for tip in proposal.tips)
        gone = _gone(look.repo, proposal)
        for item in proposal.pending:
            trace = look.trace(item, str(item.event.data["base"]))
            if trace.came is not None:
                yield from self._adopted_and_undone(item, trace)
            elif look.reworded(item) or (not merged and look.carried(item) and look.newcomers(item)):
                yield self._adopted(item, look.base.commit, "adopted-modified")
            elif (merged and on_branch(proposal, item)) or (not merged and look.carried(item)):
                yield self._said("rejected", item, commit=look.base.commit, reason="left out of the merge")
            elif merged or gone:
                why = "its branch was merged without it" if merged else "the branch was deleted"
                yield self._said("expired", item, reason=why, deleted=not merged)

    def _adopted_and_undone(self, item: Proposed, trace: Trace) -> Iterator[Event]:
        yield self._adopted(item, trace.came)
        if trace.went is not None and not self.look.arrived(item) and not self.look.moved(item):
            yield self._said("reverted", item, commit=trace.went)

    def unlearned(self, item: Proposed) -> Iterator[Event]:
        """Taken out of the base; or, where the base never had it and nobody has the merge any more, given up."""
        look = self.look
        if look.arrived(item) or look.moved(item):
            return
        arrived = str(item.outcome.data["commit"]) if item.outcome else ""
        if look.below(arrived):
            went = look.trace(item, f"{arrived}^1").went
            yield self._said("reverted", item, commit=went or look.base.commit)
            return
        trace = look.trace(item, str(item.event.data["base"]), whole=True)
        if trace.went is not None:
            yield self._said("reverted", item, commit=trace.went)
        elif item.outcome is not None and look.dropped(arrived):
            why = "the merge was taken back before the base had it"
            yield self._said("expired", item, reason=why, ends=[item.outcome.id])

    def back(self, item: Proposed, taken_back: Event) -> Iterator[Event]:
        """A rule that was unlearned and is there again, as when the revert was reverted."""
        commit = str(taken_back.data["commit"])
        if self.look.there(item) and self.look.below(commit) and not self._lives_on(item):
            yield self._adopted(item, self.look.trace(item, commit).came)

    def late(self) -> Iterator[Event]:
        """Edits of settled proposals that were taken over all the same: people may merge what we gave up."""
        edits_ = (item for proposal in self.look.history.proposals for item in proposal.edits)
        for item in edits_:
            given_up = item.outcome is not None and item.outcome.type in GIVEN_UP
            if given_up and self.look.there(item) and not self._lives_on(item):
                yield self._adopted(item, self.look.trace(item, str(item.event.data["base"])).came)

    def _lives_on(self, item: Proposed) -> bool:
        """Whether the same edit is open or adopted as part of another proposal."""
        history = self.look.history
        pending = (other for proposal in history.proposals if proposal.open for other in proposal.pending)
        standing = (*history.adopted, *pending)
        return any(other.edit.id == item.edit.id and other.branch != item.branch for other in standing)

    def _adopted(self, item: Proposed, commit: str | None, type_: EventType = "adopted") -> Event:
        """Ends the rejections that spoke of the same rule: a person changed their mind."""
        ends = [
            negative.event.id
            for negative in self.look.history.negatives
            if negative.holds_back(item.edit) and (item.edit.op != "delete" or negative.event.edit == item.edit.id)
        ]
        return self._said(type_, item, commit=commit, ends=ends)

    def _said(
        self,
        type_: EventType,
        item: Proposed,
        *,
        commit: str | None = None,
        reason: str | None = None,
        ends: Sequence[str] = (),
        deleted: bool = False,
    ) -> Event:
        return _event(type_, item, self.stamp, commit=commit, reason=reason, ends=ends, deleted=deleted)


def _gone(repo: GitRepo, proposal: Proposal) -> bool:
    """Whether the branch was deleted. In a clone that never had its commits nothing is known of that."""
    if repo.ref(f"{HEADS}{proposal.branch}") or proposal.branch in remote_branches(repo):
        return False
    return not repo.remotes() or any(repo.resolve(tip) is not None for tip in proposal.tips)


def unlearned(item: Proposed, commit: str, stamp: Stamp) -> Event:
    return _event("reverted", item, stamp, commit=commit)


def settled(
    type_: EventType,
    item: Proposed,
    stamp: Stamp,
    *,
    cause: str | None = None,
    reason: str | None = None,
    deleted: bool = False,
) -> Event:
    """The outcome `type_` of one proposed edit. `cause`: what a person did, if not the run that speaks; `deleted`: all
    that is known is that its branch is gone, and a forge may tell why."""
    return _event(type_, item, stamp, cause=cause, reason=reason, deleted=deleted)


def _event(
    type_: EventType,
    item: Proposed,
    stamp: Stamp,
    *,
    cause: str | None = None,
    commit: str | None = None,
    reason: str | None = None,
    ends: Sequence[str] = (),
    deleted: bool = False,
) -> Event:
    """Said of one edit of one proposal; the commit, where there is one, is its cause."""
    told: dict[str, Any] = {"branch": item.branch, "need": item.edit.need, "commit": commit, "ends": list(ends)}
    data = told | ({"deleted": True} if deleted else {})
    return event(
        type_,
        [item.branch, item.edit.id],
        stamp,
        cause=commit or cause,
        edit=item.edit.id,
        rule=item.edit.rule,
        target=item.edit.target,
        text=item.edit.sentence,
        reason=reason,
        data=data,
    )


# --- texts -------------------------------------------------------------------------------------------------------


def _said_at(repo: GitRepo, commit: str, path: str, links: int = MOST_LINKS) -> str:
    """What the document says in a commit, as well as can be told; empty where there is none.

    A document that became a link to another one is read there. What is not UTF-8 may still hold the rule.
    """
    entry = repo.entry(commit, path)
    if entry is None or entry.mode in {FOLDER, SUBMODULE}:
        return ""
    data = repo.blob(entry.sha)
    if entry.mode != LINK:
        return data.decode("utf-8", "replace")
    to = posixpath.normpath(posixpath.join(posixpath.dirname(path), data.decode("utf-8", "surrogateescape")))
    return _said_at(repo, commit, to, links - 1) if links and not to.startswith(("/", "..")) else ""


def learned(text: str) -> tuple[str, ...]:
    """The learned rules of any version of a document; none where its block was damaged by hand."""
    try:
        return edits.rules(text)
    except edits.DamagedBlock:
        return ()


def present_in(text: str, edit: Edit) -> bool:
    """Whether a document is as the edit leaves it. A rule that was moved out of the block is still there."""
    if edit.op != "delete":
        return edits.holds(text, edit.text or "")
    try:
        return fold(edit.anchor or "") not in map(fold, edits.rules(text))
    except edits.DamagedBlock:
        return not edits.holds(text, edit.anchor or "")


def nearest(text: str, sentence: str) -> str | None:
    """The learned rule that says `sentence` in other words, if one does."""
    near = max(learned(text), key=lambda rule: similarity(rule, sentence), default=None)
    return near if near is not None and similarity(near, sentence) >= NEAR_DUPLICATE else None
