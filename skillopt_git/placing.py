"""Where a night's edits go, and what they take the place of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from skillopt_git.cycle import Inputs
from skillopt_git.model import Candidate, Event
from skillopt_git.night import Learned
from skillopt_git.outcomes import settled
from skillopt_git.publish import branch_name, state
from skillopt_git.recall import History, Proposal, Proposed
from skillopt_git.record import Placement, Stamp
from skillopt_git.targets import Base, document_entry
from skillopt_git.workshop import Workshop

TRIED = frozenset({"gate", "no_edits", "no_heldout", "all_suppressed"})  # reasons that say something about a rule
IN_WORDS = {
    "touched": "not as it was left: somebody committed to it",
    "checked out": "checked out",
    "gone": "gone",
    "simulated": "open, and this run is a simulation",
}


def outdated(shop: Workshop, inputs: Inputs) -> Proposal | None:
    """The open proposal when a text it was measured on changed: what it proved is to be tried anew.

    Only where its branch may be rebuilt and every need it answers is known tonight; otherwise it stays as it is.
    """
    open_ = next((item for item in inputs.history.open if item.simulated == shop.stamp.simulated), None)
    if open_ is None or state(shop.repo, open_) != "free":
        return None
    known = {*inputs.bank.needs, *(need for file in inputs.files for need in file.needs)}
    changed = any(_blob(shop, item) != item.event.data["base_blob"] for item in open_.pending)
    return open_ if changed and all(item.edit.need in known for item in open_.pending) else None


def _blob(shop: Workshop, item: Proposed) -> str | None:
    entry = document_entry(shop.repo, shop.base.commit, item.edit.target)
    return entry.sha if entry else None


def place(
    shop: Workshop, learned: Learned, history: History, stale: Proposal | None, today: date, notes: list[str]
) -> Placement | None:
    """Where tonight's edits go; None when there are none, or they have to wait. A stale proposal is rebuilt."""
    open_ = next(iter(history.open), None) if stale is None else None
    candidates = _proposable(learned, open_)
    if not candidates:
        return None
    if stale is not None:
        ends = tuple(item.event.id for item in stale.pending)
        return Placement(branch=stale.branch, base=shop.base, before=0, candidates=candidates, ends=ends)
    if open_ is None:
        branch = branch_name(shop.repo, history, today)
        return Placement(branch=branch, base=shop.base, before=0, candidates=candidates)
    found = "simulated" if open_.simulated != shop.stamp.simulated else state(shop.repo, open_)
    if found != "free":
        count = len(candidates)
        notes.append(f"{count} proven edit{'s' * (count != 1)} wait: {open_.branch} is {IN_WORDS[found]}")
        return None
    base = Base(open_.base_branch, open_.base)
    return Placement(branch=open_.branch, base=base, before=len(open_.edits), candidates=candidates)


def _proposable(learned: Learned, open_: Proposal | None) -> tuple[Candidate, ...]:
    """What was accepted; else what is suggestive, as a draft, while no strong edit is open."""
    if learned.accepted:
        return learned.accepted
    if open_ is not None and any(item.event.data["verdict"] != "suggestive" for item in open_.pending):
        return ()
    return tuple(item for item in learned.candidates if item.verdict == "suggestive")


def settle(
    stamp: Stamp, learned: Learned, placement: Placement | None, history: History, stale: Proposal | None
) -> Iterator[Event]:
    """What tonight's result means for proposals that are open already."""
    if placement is not None:
        yield from _superseded(stamp, placement, history)
    elif stale is not None and learned.reason in TRIED and learned.verdict != "invalid":
        for item in stale.pending:
            yield settled("expired", item, stamp, reason="its document changed, and on the new text it is not proven")


def _superseded(stamp: Stamp, placement: Placement, history: History) -> Iterator[Event]:
    """A measured proposal takes the place of an open simulated one, strong edits that of suggestive ones."""
    for proposal in history.proposals if not stamp.simulated else ():
        for item in proposal.pending if proposal.open and proposal.simulated else ():
            yield settled("superseded", item, stamp, reason="a measured proposal took its place")
    strong = any(item.accepted for item in placement.candidates)
    there = history.proposal(placement.branch) if strong and not placement.ends else None
    for item in there.pending if there else ():
        if item.event.data["verdict"] == "suggestive":
            yield settled("superseded", item, stamp, reason="on trial while a strong edit is open")
