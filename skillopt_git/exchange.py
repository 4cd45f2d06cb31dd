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
from skillopt_git.recall import Proposal, recall
from skillopt_git.record import Stamp
from skillopt_git.remote import Remote, Update
from skillopt_git.reunion import rebuild

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


def fetch(ledger: Ledger, remote: Remote, stamp: Stamp) -> tuple[Event, ...]:
    """Joins the remote's ledger into ours, wherever it is kept there; the events that were new here."""
    there = remote.refs(*_places(ledger))
    remote.fetch(*there)
    return _joined(ledger, there.values(), stamp)


def bring(repo: GitRepo, ledger: Ledger, remote: Remote) -> None:
    """Open proposals of other clones, as branches of this one: what is to be added to them has to be here."""
    open_ = [item for item in recall(ledger.events(), simulated=True).proposals if item.open]
    there = remote.refs(f"{HEADS}{FOLDER}/*") if open_ else {}
    for proposal in open_:
        ref = f"{HEADS}{proposal.branch}"
        tip = there.get(ref)
        if repo.ref(ref) is None and tip in proposal.tips:
            remote.fetch(ref)
            repo.update_ref(ref, tip, None, f"skillopt-git: as it is at {remote.name}")


def push(repo: GitRepo, ledger: Ledger, remote: Remote, stamp: Stamp, *, outgoing: Outgoing | None = None) -> Exchanged:
    """Joins the remote's ledger into ours and brings ours there, anchors too, and proposals as `outgoing` says.

    All refs move or none. Who loses a race joins what won it and tries again, for a while.
    """
    came: list[Event] = []

    def attempt() -> Exchanged:
        there = remote.refs(*_places(ledger), f"{REJECTED}*", *(outgoing.patterns if outgoing else ()))
        ledgers = [ref for ref in _places(ledger) if ref in there]
        remote.fetch(*ledgers)
        came.extend(_joined(ledger, [there[ref] for ref in ledgers], stamp))
        updates, notes = outgoing.updates(repo, ledger, there) if outgoing else ((), ())
        moved = [*_memory(repo, ledger, there), *updates]
        remote.push(moved)
        return Exchanged(came=tuple(came), went=tuple(update.ref for update in moved), notes=tuple(notes))

    return ledger.retried(attempt)


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

    A branch at the remote is moved only from where this tool left it. `simulated`: whether simulated ones go too.
    """

    author: Identity
    stamp: Stamp
    simulated: bool

    @property
    def patterns(self) -> tuple[str, ...]:
        return (f"{HEADS}{FOLDER}/*",)

    def updates(self, repo: GitRepo, ledger: Ledger, there: Mapping[str, str]) -> tuple[list[Update], list[str]]:
        events = ledger.events()
        left = _left(events)
        updates, notes = [], []
        for proposal in recall(events, simulated=True).proposals:
            ref = f"{HEADS}{proposal.branch}"
            new = self._wanted(repo, ledger, proposal) if self.simulated or not proposal.simulated else None
            gone = not proposal.open and refused_whole(proposal)
            seen = there.get(ref)
            if (new is None and not gone) or new == seen:
                continue
            if seen is None or seen in left[proposal.branch]:
                updates.append(Update(ref, new, seen))
            else:
                notes.append(f"{proposal.branch} is left as it is at the remote: somebody else has committed to it")
        return updates, notes

    def _wanted(self, repo: GitRepo, ledger: Ledger, proposal: Proposal) -> str | None:
        """Where an open proposal should be; None where there is nothing of ours to push."""
        if not proposal.open or state(repo, proposal) == "gone":
            return None
        if behind(proposal) and state(repo, proposal) == "free":
            proposal = rebuild(repo, ledger, proposal, author=self.author, stamp=self.stamp)
        own = repo.ref(f"{HEADS}{proposal.branch}")
        return own if own in proposal.tips else None


def _left(events: Iterable[Event]) -> dict[str, set[str]]:
    """Every place where a branch was left by this tool, in any clone."""
    tips: dict[str, set[str]] = defaultdict(set)
    for event in events:
        if event.type == "published":
            tips[str(event.data["branch"])].add(str(event.data["tip"]))
    return tips
