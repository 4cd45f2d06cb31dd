"""Between this clone and a remote: ledgers meet by union, and what goes out is leased to where it was last seen.

Only the tool's own refs are pushed: the ledger, anchors of rejected branches, and the open proposals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from skillopt_git.anchors import REJECTED, anchor
from skillopt_git.branches import FOLDER, HEADS, SEEN, behind, state
from skillopt_git.config import LEDGER_BRANCH, LEDGER_DEFAULT
from skillopt_git.decide import refused_whole
from skillopt_git.errors import ConfigError, GitError, RefMoved
from skillopt_git.gitrepo import GitRepo, Identity
from skillopt_git.ledger import Ledger
from skillopt_git.model import Event
from skillopt_git.outcomes import settled
from skillopt_git.recall import Proposal, decisions, recall
from skillopt_git.remote import Remote, Update, remote_name
from skillopt_git.reunion import rebuild
from skillopt_git.stamp import Stamp
from skillopt_git.worktrees import checked_out

SLEEPS = f"{HEADS}{FOLDER}/*"
PLACES = (LEDGER_DEFAULT, LEDGER_BRANCH)  # where clones with other settings, or of before, may keep theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """What an exchange did: events that came, refs that went or are gone there, and what was left there and why."""

    came: tuple[Event, ...] = ()
    went: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def unite(repo: GitRepo, ledger: Ledger, stamp: Stamp) -> tuple[str, ...]:
    """Joins the ledgers that this clone knows under other names: one kept at another ref before, and the one that git
    fetched as a branch. What cannot be joined is left, and told."""
    name = remote_name(repo)
    tracked = f"refs/remotes/{name}/{LEDGER_BRANCH.removeprefix(HEADS)}"
    notes = []
    for place in (*PLACES, *([tracked] if name else ())):
        sha = repo.ref(place) if place != ledger.ref else None
        try:
            _joined(ledger, [sha] if sha else [], stamp)
        except (ConfigError, GitError) as error:
            notes.append(f"{place} is not joined into {ledger.ref}: {error.message}")
    return tuple(notes)


def fetch(
    repo: GitRepo,
    ledger: Ledger,
    remote: Remote,
    stamp: Stamp,
    *,
    bring: bool,
    hear: Callable[[], object] = lambda: None,
) -> tuple[Event, ...]:
    """Joins the remote's ledger into ours, wherever it is kept there; the events that were new here.

    Anchors come along, and branches that were rebuilt or written to elsewhere follow; with `bring` open proposals that
    are not here come too, to be added to. `hear` is called once the ledgers are one: what it records goes before what
    missing branches tell.
    """
    there = remote.refs(*_places(ledger), f"{REJECTED}*", SLEEPS)
    return _met(repo, ledger, remote, stamp, there, bring=bring, hear=hear)


def push(repo: GitRepo, ledger: Ledger, remote: Remote, outgoing: Outgoing) -> Exchanged:
    """Joins the remote's ledger into ours and brings ours there, anchors too, and proposals as `outgoing` says.

    All of it moves together or not at all; where the remote's rules refuse anchors or branches, the rest goes without.
    Who loses a race joins what won it and tries again, for a while.
    """
    came: list[Event] = []

    def attempt() -> Exchanged:
        there = remote.refs(*_places(ledger), f"{REJECTED}*", SLEEPS)
        came.extend(_met(repo, ledger, remote, outgoing.stamp, there, bring=False))
        branches, notes = outgoing.updates(repo, ledger, remote, there)
        anchors = _anchors(repo, ledger, there, simulated=outgoing.simulated)
        own = repo.ref(ledger.ref)
        memory = [Update(ledger.ref, own, there.get(ledger.ref))] if own not in (None, there.get(ledger.ref)) else []
        went, told = _sent(remote, anchors, memory, branches)
        _note_seen(repo, remote, [update for update in branches if update in went])
        return Exchanged(
            came=tuple(came),
            went=tuple(update.ref for update in went if update.new),
            gone=tuple(update.ref for update in went if not update.new),
            notes=(*notes, *told),
        )

    return ledger.retried(attempt)


def _sent(
    remote: Remote, anchors: list[Update], memory: list[Update], branches: list[Update]
) -> tuple[list[Update], list[str]]:
    """Everything as one. What a remote's rules refuse stays behind: anchors first, then branches, the ledger never."""
    try:
        remote.push([*anchors, *memory, *branches])
    except RefMoved:
        raise
    except GitError as error:
        if not anchors and not branches:
            raise
        if anchors:
            told = _best_effort(remote, anchors, "the changes that were refused cannot be read there")
            sent, more = _sent(remote, [], memory, branches)
            return [*([] if told else anchors), *sent], [*told, *more]
        remote.push(memory)
        names = ", ".join(update.ref.removeprefix(HEADS) for update in branches)
        return memory, [f"{names} did not go to {remote.name}: {error.message}"]
    return [*anchors, *memory, *branches], []


def _met(
    repo: GitRepo,
    ledger: Ledger,
    remote: Remote,
    stamp: Stamp,
    there: Mapping[str, str],
    *,
    bring: bool,
    hear: Callable[[], object] = lambda: None,
) -> tuple[Event, ...]:
    """Joins what is there into what is here. A branch that is as this clone left it goes where it is now; one that
    somebody deleted there is given up."""
    left = _tips(ledger.told().events)
    known = [ref for ref in _places(ledger) if ref in there]
    remote.fetch(*(ref for ref in known if not ledger.holds(there[ref])))
    came = _joined(ledger, [there[ref] for ref in known], stamp)
    hear()
    _take_anchors(repo, remote, there)
    ever = _ever(ledger.told().events)
    given_up: list[Event] = []
    for proposal in recall(decisions(ledger.told().events), simulated=True).open:
        ref, seen = f"{HEADS}{proposal.branch}", f"{SEEN}{remote.name}/{proposal.branch}"
        own, new = repo.ref(ref), there.get(ref)
        if new is None and repo.ref(seen) is not None:
            reason = f"its branch was deleted at {remote.name}"
            given_up += [settled("expired", item, stamp, reason=reason, deleted=True) for item in proposal.pending]
            repo.update_ref(seen, None, repo.ref(seen), "skillopt-git: deleted there")
        elif new is not None and new != own:
            rebuilt = new in proposal.tips and own not in proposal.tips
            written = new not in ever[proposal.branch]
            as_left = own in left[proposal.branch] and checked_out(repo, ref) is None
            if (as_left and (rebuilt or written)) or (own is None and bring and new in proposal.tips):
                remote.fetch(ref)
                repo.update_ref(ref, new, own, f"skillopt-git: as it is at {remote.name}")
                repo.update_ref(seen, new, repo.ref(seen), "skillopt-git: seen there")
    ledger.append(given_up, when=stamp.now, message=f"Note what was deleted at {remote.name}")
    return came


def _take_anchors(repo: GitRepo, remote: Remote, there: Mapping[str, str]) -> None:
    """What others refused can be read here too."""
    missing = [ref for ref in there if ref.startswith(REJECTED) and repo.ref(ref) is None]
    remote.fetch(*missing)
    for ref in missing:
        repo.update_ref(ref, there[ref], None, f"skillopt-git: as it is at {remote.name}")


def _places(ledger: Ledger) -> tuple[str, ...]:
    return tuple(dict.fromkeys((ledger.ref, *PLACES)))


def _joined(ledger: Ledger, commits: Iterable[str], stamp: Stamp) -> tuple[Event, ...]:
    known = {event.id for event in ledger.events()}
    for commit in dict.fromkeys(commits):
        ledger.merge(commit, when=stamp.now, message="Join another clone's ledger")
    return tuple(event for event in ledger.events() if event.id not in known)


def _anchors(repo: GitRepo, ledger: Ledger, there: Mapping[str, str], *, simulated: bool) -> list[Update]:
    """Those that the remote does not have; one there is never moved. What a simulation proposed stays here."""
    acted = [item for item in recall(decisions(ledger.told().events), simulated=True).proposals if item.simulated]
    kept = {f"{REJECTED}{name}" for item in acted for name in (item.branch, *(each.edit.id for each in item.edits))}
    return [
        Update(anchor, sha, None)
        for anchor, sha in repo.refs(REJECTED.rstrip("/")).items()
        if anchor not in there and (simulated or anchor not in kept)
    ]


def _best_effort(remote: Remote, updates: list[Update], otherwise: str) -> list[str]:
    """Pushes what nothing depends on; a note if it was refused."""
    try:
        remote.push(updates)
    except GitError as error:
        return [f"{otherwise}: {error.message}"]
    return []


def _note_seen(repo: GitRepo, remote: Remote, branches: Iterable[Update]) -> None:
    """Where this clone last left each branch at the remote: one that is missing there later was deleted."""
    for update in branches:
        seen = f"{SEEN}{remote.name}/{update.ref.removeprefix(HEADS)}"
        was = repo.ref(seen)
        if update.new is not None or was is not None:
            repo.update_ref(seen, update.new, was, "skillopt-git: pushed")


# --- proposals ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """Branches that go along: open proposals go out, and those a person refused are taken away.

    One at the remote is moved only from where the remote's own ledger says that the tool left it. `new`: whether those
    go out that are not there yet; `simulated`: whether simulated ones do. What is `held` is moved by nobody: its pull
    request was approved, or is closed.
    """

    author: Identity
    stamp: Stamp
    new: bool
    simulated: bool = False
    held: frozenset[str] = frozenset()

    def updates(
        self, repo: GitRepo, ledger: Ledger, remote: Remote, there: Mapping[str, str]
    ) -> tuple[list[Update], list[str]]:
        known = [there[place] for place in _places(ledger) if place in there]
        left = _tips(event for commit in known for event in ledger.at(commit, whole=False).events)
        updates, notes = [], []
        for proposal in recall(ledger.events(), simulated=True).proposals:
            ref = f"{HEADS}{proposal.branch}"
            seen = there.get(ref)
            goes = seen is not None or (self.new and (self.simulated or not proposal.simulated))
            new = self._wanted(repo, ledger, proposal) if goes and proposal.branch not in self.held else None
            gone = seen is not None and refused_whole(proposal)
            if proposal.branch in self.held and not gone:
                continue
            if (new is None and not gone) or new == seen:
                continue
            if seen is None or seen in left[proposal.branch]:
                if gone:
                    self._keep(repo, remote, proposal.branch, str(seen))
                updates.append(Update(ref, new, seen))
            else:
                notes.append(f"{proposal.branch} is left as it is at {remote.name}: somebody else has written to it")
        return updates, notes

    def _keep(self, repo: GitRepo, remote: Remote, branch: str, tip: str) -> None:
        """What is to be deleted there is anchored first, here too if this clone never had it."""
        if repo.ref(f"{REJECTED}{branch}") is None:
            remote.fetch(f"{HEADS}{branch}")
            anchor(repo, branch, tip)

    def _wanted(self, repo: GitRepo, ledger: Ledger, proposal: Proposal) -> str | None:
        """Where an open proposal should be; None where there is nothing of ours to push."""
        if not proposal.open or state(repo, proposal) == "gone":
            return None
        if behind(proposal) and state(repo, proposal) == "free":
            proposal = rebuild(repo, ledger, proposal, author=self.author, stamp=self.stamp)
        own = repo.ref(f"{HEADS}{proposal.branch}")
        return own if own in proposal.tips else None


def _ever(events: Iterable[Event]) -> dict[str, set[str]]:
    """Every place where a branch was left by this tool, in any clone."""
    tips: dict[str, set[str]] = defaultdict(set)
    for event in events:
        if event.type == "published":
            tips[str(event.data["branch"])].add(str(event.data["tip"]))
    return tips


def _tips(events: Iterable[Event]) -> dict[str, frozenset[str]]:
    """Where each branch was left last, as a ledger tells it."""
    known = recall(decisions(events), simulated=True).proposals
    return defaultdict(frozenset, {proposal.branch: proposal.tips for proposal in known})
