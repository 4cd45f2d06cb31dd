"""Between this clone and a remote: ledgers meet by union, and what goes out is leased to where it was last seen.

Only the tool's own refs are pushed: the ledger, anchors of rejected branches, and the open proposals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from skillopt_git.anchors import REJECTED
from skillopt_git.config import LEDGER_BRANCH, LEDGER_DEFAULT
from skillopt_git.decide import refused_whole
from skillopt_git.gitrepo import GitRepo, Identity
from skillopt_git.ledger import Ledger
from skillopt_git.model import Event
from skillopt_git.publish import FOLDER, HEADS, behind, state
from skillopt_git.recall import Proposal, decisions, recall
from skillopt_git.record import Stamp
from skillopt_git.remote import Remote, Update
from skillopt_git.reunion import rebuild
from skillopt_git.worktrees import checked_out

SLEEPS = f"{HEADS}{FOLDER}/*"
PLACES = (LEDGER_DEFAULT, LEDGER_BRANCH)  # where clones with other settings, or of before, may keep theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """What an exchange did: events that came, refs that went, and what was left at the remote and why."""

    came: tuple[Event, ...] = ()
    went: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def unite(repo: GitRepo, ledger: Ledger, stamp: Stamp) -> tuple[Event, ...]:
    """Joins the ledgers that this clone knows under other names: one kept at another ref before, or fetched by git."""
    refs = repo.refs("refs/remotes")
    known = [sha for ref, sha in refs.items() if ref.endswith(f"/{LEDGER_BRANCH.removeprefix(HEADS)}")]
    known += [sha for place in PLACES if place != ledger.ref and (sha := repo.ref(place))]
    return _joined(ledger, known, stamp)


def fetch(repo: GitRepo, ledger: Ledger, remote: Remote, stamp: Stamp, *, bring: bool) -> tuple[Event, ...]:
    """Joins the remote's ledger into ours, wherever it is kept there; the events that were new here.

    Branches that other clones rebuilt follow; with `bring` open proposals that are not here come too, to be added to.
    """
    return _met(repo, ledger, remote, stamp, remote.refs(*_places(ledger), SLEEPS), bring=bring)


def push(repo: GitRepo, ledger: Ledger, remote: Remote, outgoing: Outgoing) -> Exchanged:
    """Joins the remote's ledger into ours and brings ours there, anchors too, and proposals as `outgoing` says.

    All refs move or none. Who loses a race joins what won it and tries again, for a while.
    """
    came: list[Event] = []

    def attempt() -> Exchanged:
        there = remote.refs(*_places(ledger), f"{REJECTED}*", SLEEPS)
        came.extend(_met(repo, ledger, remote, outgoing.stamp, there, bring=False))
        updates, notes = outgoing.updates(repo, ledger, remote, there)
        moved = [*_memory(repo, ledger, there), *updates]
        remote.push(moved)
        return Exchanged(came=tuple(came), went=tuple(update.ref for update in moved), notes=tuple(notes))

    return ledger.retried(attempt)


def _met(
    repo: GitRepo, ledger: Ledger, remote: Remote, stamp: Stamp, there: Mapping[str, str], *, bring: bool
) -> tuple[Event, ...]:
    """Joins what is there into what is here. A branch that is as this clone left it goes where it was left last."""
    left = _tips(ledger.events())
    known = [ref for ref in _places(ledger) if ref in there]
    remote.fetch(*known)
    came = _joined(ledger, [there[ref] for ref in known], stamp)
    for proposal in recall(ledger.events(), simulated=True).open:
        ref = f"{HEADS}{proposal.branch}"
        own, new = repo.ref(ref), there.get(ref)
        stale = own in left[proposal.branch] and own not in proposal.tips and checked_out(repo, ref) is None
        if new in proposal.tips and (stale or (bring and own is None)):
            remote.fetch(ref)
            repo.update_ref(ref, new, own, f"skillopt-git: as it is at {remote.name}")
    return came


def _places(ledger: Ledger) -> tuple[str, ...]:
    return tuple(dict.fromkeys((ledger.ref, *PLACES)))


def _joined(ledger: Ledger, commits: Iterable[str], stamp: Stamp) -> tuple[Event, ...]:
    known = {event.id for event in ledger.events()}
    for commit in dict.fromkeys(commits):
        ledger.merge(commit, when=stamp.now, message="Join another clone's ledger")
    return tuple(event for event in ledger.events() if event.id not in known)


def _memory(repo: GitRepo, ledger: Ledger, there: Mapping[str, str]) -> Iterator[Update]:
    """The ledger and the anchors, where the remote's are not the same. An anchor there is never moved."""
    own = repo.ref(ledger.ref)
    if own is not None and there.get(ledger.ref) != own:
        yield Update(ledger.ref, own, there.get(ledger.ref))
    for anchor, sha in repo.refs(REJECTED.rstrip("/")).items():
        if anchor not in there:
            yield Update(anchor, sha, None)


# --- proposals ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """Branches that go along: open proposals go out, and those a person refused are taken away.

    One at the remote is moved only from where the remote's own ledger says that the tool left it. `new`: whether those
    go out that are not there yet; `simulated`: whether simulated ones do.
    """

    author: Identity
    stamp: Stamp
    new: bool
    simulated: bool = False

    def updates(
        self, repo: GitRepo, ledger: Ledger, remote: Remote, there: Mapping[str, str]
    ) -> tuple[list[Update], list[str]]:
        left = _tips(ledger.at(there[ledger.ref]).events if ledger.ref in there else ())
        tracked = repo.refs(f"refs/remotes/{remote.name}/{FOLDER}")
        updates, notes = [], []
        for proposal in recall(ledger.events(), simulated=True).proposals:
            ref = f"{HEADS}{proposal.branch}"
            seen = there.get(ref)
            if seen is None and f"refs/remotes/{remote.name}/{proposal.branch}" in tracked:
                continue  # it was there, and somebody deleted it
            goes = seen is not None or (self.new and (self.simulated or not proposal.simulated))
            new = self._wanted(repo, ledger, proposal) if goes else None
            gone = seen is not None and refused_whole(proposal)
            if (new is None and not gone) or new == seen:
                continue
            if seen is None or seen in left[proposal.branch]:
                updates.append(Update(ref, new, seen))
            else:
                notes.append(f"{proposal.branch} is left as it is at {remote.name}: somebody else has written to it")
        return updates, notes

    def _wanted(self, repo: GitRepo, ledger: Ledger, proposal: Proposal) -> str | None:
        """Where an open proposal should be; None where there is nothing of ours to push."""
        if not proposal.open or state(repo, proposal) == "gone":
            return None
        if behind(proposal) and state(repo, proposal) == "free":
            proposal = rebuild(repo, ledger, proposal, author=self.author, stamp=self.stamp)
        own = repo.ref(f"{HEADS}{proposal.branch}")
        return own if own in proposal.tips else None


def _tips(events: Iterable[Event]) -> dict[str, frozenset[str]]:
    """Where each branch was left last, as a ledger tells it."""
    known = recall(decisions(events), simulated=True).proposals
    return defaultdict(frozenset, {proposal.branch: proposal.tips for proposal in known})
