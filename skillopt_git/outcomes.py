"""What people did to a proposal, noticed by content: merged or cherry-picked, left out of a merge, undone, deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skillopt_git import edits
from skillopt_git.errors import ConfigError
from skillopt_git.gitrepo import GitRepo
from skillopt_git.history import is_ancestor, log
from skillopt_git.model import Edit, Event, EventType, fold
from skillopt_git.publish import HEADS
from skillopt_git.recall import NEAR_DUPLICATE, History, Proposal, Proposed
from skillopt_git.record import Stamp, event
from skillopt_git.similarity import similarity
from skillopt_git.targets import Base


@dataclass(frozen=True, slots=True)
class Trace:
    """The commits of the base where an edit came in and went out again; None where it did not."""

    came: str | None
    went: str | None


def sync(repo: GitRepo, history: History, base: Base, stamp: Stamp) -> tuple[Event, ...]:
    """The events that tell what became of open proposals and adopted rules since. Reads what is local."""
    found: list[Event] = []
    for proposal in history.proposals:
        if proposal.open:
            found += _settled(repo, history, proposal, base, stamp)
    for item in history.ever_adopted:
        taken_back = history.unlearned.get((item.branch, item.edit.id))
        if taken_back is None:
            found += _unlearned(repo, item, base, stamp)
        else:
            found += _back(repo, history, item, taken_back, base, stamp)
    return tuple(found)


def awaited(repo: GitRepo, history: History, base: Base) -> tuple[Proposed, ...]:
    """Adopted edits that the base does not have: merged on this machine, say, and not pushed yet."""
    return tuple(item for item in history.adopted if not _arrived(repo, item, base))


def _arrived(repo: GitRepo, item: Proposed, base: Base) -> bool:
    there = present_in(text_at(repo, base.commit, item.edit.target), item.edit)
    return there or _reworded(repo, item.edit, base.commit)


def _settled(repo: GitRepo, history: History, proposal: Proposal, base: Base, stamp: Stamp) -> Iterator[Event]:
    merged = proposal.tip is not None and is_ancestor(repo, proposal.tip, base.commit)
    gone = repo.ref(f"{HEADS}{proposal.branch}") is None
    for item in proposal.pending:
        trace = _trace(repo, item, proposal.base, base.commit)
        if trace.came is not None:
            yield adopted(history, item, trace.came, stamp)
            if trace.went is not None:
                yield unlearned(item, trace.went, stamp)
        elif merged and _reworded(repo, item.edit, base.commit):
            yield _event("adopted-modified", item, stamp, commit=base.commit)
        elif merged:
            yield _event("rejected", item, stamp, commit=base.commit, reason="left out of the merge")
        elif gone:
            yield _event("expired", item, stamp, reason="the branch was deleted")


def _unlearned(repo: GitRepo, item: Proposed, base: Base, stamp: Stamp) -> Iterator[Event]:
    arrived = item.outcome.data.get("commit") if item.outcome else None
    if arrived is None or not is_ancestor(repo, str(arrived), base.commit):
        return
    if _arrived(repo, item, base):
        return
    trace = _trace(repo, item, f"{arrived}^1", base.commit)
    yield unlearned(item, trace.went or base.commit, stamp)


def _back(
    repo: GitRepo, history: History, item: Proposed, taken_back: Event, base: Base, stamp: Stamp
) -> Iterator[Event]:
    """A rule that was unlearned and is there again, as when the revert was reverted."""
    commit = str(taken_back.data["commit"])
    if repo.resolve(commit) and present_in(text_at(repo, base.commit, item.edit.target), item.edit):
        trace = _trace(repo, item, commit, base.commit)
        if trace.came is not None:
            yield adopted(history, item, trace.came, stamp)


def adopted(history: History, item: Proposed, commit: str, stamp: Stamp) -> Event:
    """Ends the rejections that spoke of the same rule: a person changed their mind."""
    ends = [negative.event.id for negative in history.negatives if negative.holds_back(item.edit)]
    return _event("adopted", item, stamp, commit=commit, ends=ends)


def unlearned(item: Proposed, commit: str, stamp: Stamp, reason: str | None = None) -> Event:
    return _event("reverted", item, stamp, commit=commit, reason=reason)


def settled(
    type_: EventType, item: Proposed, stamp: Stamp, *, cause: str | None = None, reason: str | None = None
) -> Event:
    """The outcome `type_` of one proposed edit. `cause`: what a person did, if not the run that speaks."""
    return _event(type_, item, stamp, cause=cause, reason=reason)


def _event(
    type_: EventType,
    item: Proposed,
    stamp: Stamp,
    *,
    cause: str | None = None,
    commit: str | None = None,
    reason: str | None = None,
    ends: Sequence[str] = (),
) -> Event:
    """Said of one edit of one proposal; the commit, where there is one, is its cause."""
    data = {"branch": item.branch, "need": item.edit.need, "commit": commit, "ends": list(ends)}
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


# --- content -----------------------------------------------------------------------------------------------------


def text_at(repo: GitRepo, commit: str, path: str) -> str:
    """The document's text in a commit; empty where there is none that can be read."""
    data = repo.read(commit, path)
    try:
        return "" if data is None else edits.decode(data)
    except ConfigError:
        return ""


def learned(text: str) -> tuple[str, ...]:
    """The learned rules of any version of a document; none where its block was damaged by hand."""
    try:
        return edits.rules(text)
    except edits.DamagedBlock:
        return ()


def present_in(text: str, edit: Edit) -> bool:
    """Whether a document is as the edit leaves it. A rule that was moved out of the block is still there."""
    if edit.op == "delete":
        return fold(edit.anchor or "") not in map(fold, learned(text))
    return edits.holds(text, edit.text or "")


def nearest(text: str, sentence: str) -> str | None:
    """The learned rule that says `sentence` in other words, if one does."""
    near = max(learned(text), key=lambda rule: similarity(rule, sentence), default=None)
    return near if near is not None and similarity(near, sentence) >= NEAR_DUPLICATE else None


def _reworded(repo: GitRepo, edit: Edit, commit: str) -> bool:
    """Whether the rule is there in other words."""
    return edit.op != "delete" and nearest(text_at(repo, commit, edit.target), edit.sentence) is not None


def _trace(repo: GitRepo, item: Proposed, since: str, until: str) -> Trace:
    """Where the edit came in and went out along the base's own line of commits."""
    came = went = None
    excluded = since if repo.resolve(since) else None
    for commit in log(repo, until, excluded, first_parent=True, paths=[item.edit.target]):
        there = present_in(text_at(repo, commit.sha, item.edit.target), item.edit)
        if there and came is None:
            came = commit.sha
        if there:
            went = None
        elif came is not None and went is None:
            went = commit.sha
    return Trace(came, went)
