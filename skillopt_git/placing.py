"""Where a night's edits go, and what they take the place of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date

from skillopt_git.branches import HEADS, state
from skillopt_git.cycle import Inputs
from skillopt_git.errors import ConfigError, GitError, SafetyError
from skillopt_git.learned import Learned
from skillopt_git.model import Candidate, Event
from skillopt_git.outcomes import settled
from skillopt_git.present import base_of
from skillopt_git.publish import branch_name, build, finished
from skillopt_git.recall import PROVEN, History, Proposal
from skillopt_git.record import Placement
from skillopt_git.stamp import Stamp, event
from skillopt_git.targets import Base, document_entry
from skillopt_git.workshop import Workshop

TRIED = frozenset({"gate", "no_edits", "no_heldout", "all_suppressed"})  # reasons that say something about a rule
MEANWHILE = "on trial while a strong edit is open"
FROZEN = frozenset({"touched", "checked out", "approved"})
IN_WORDS = {
    "approved": "approved already",
    "touched": "not as it was left: somebody committed to it",
    "checked out": "checked out",
    "gone": "not in this clone",
    "merged": "merged already, and its base was not pushed yet",
    "simulated": "open, and this run is a simulation",
    "elsewhere": "open for another base branch",
    "outdated": "measured on a text that changed since",
}


def outdated(shop: Workshop, inputs: Inputs, approved: Collection[str] = ()) -> Proposal | None:
    """The open proposal when a text it was measured on changed: what it proved is to be tried anew.

    Only where its branch may be rebuilt and every need it answers is known tonight; otherwise it stays as it is.
    """
    open_ = next((item for item in inputs.history.open if item.simulated == shop.stamp.simulated), None)
    if open_ is None or not _changed(shop, open_) or standing(shop, open_, approved) != "free":
        return None
    known = {*inputs.bank.needs, *(need for file in inputs.files for need in file.needs)}
    return open_ if all(item.edit.need in known for item in open_.pending) else None


def standing(shop: Workshop, proposal: Proposal, approved: Collection[str] = ()) -> str:
    """Whether its branch may be rewritten: what git tells, and then whether somebody `approved` it."""
    found = state(shop.repo, proposal)
    return "approved" if found == "free" and proposal.branch in approved else found


def hindrance(shop: Workshop, history: History, proposal: Proposal) -> str | None:
    """Why a proposal that was recorded cannot be published any more: its text, memory or the branch's name changed."""
    there = shop.repo.ref(f"{HEADS}{proposal.branch}")
    try:
        built = build(shop.repo, shop.ledger.evidence, proposal, shop.author, scanner=shop.ledger.scanner)
    except (ConfigError, GitError, SafetyError) as error:
        return error.message
    if there is not None and finished(shop.repo, built, replace(shop.author, signs=False), there).tip != there:
        return f"another branch has the name {proposal.branch}"
    if _changed(shop, proposal):
        return "the text it was measured on changed"
    if any(negative.holds_back(item.edit) for negative in history.negatives for item in proposal.pending):
        return "what it says was rejected since"
    return None


def _changed(shop: Workshop, proposal: Proposal) -> bool:
    return any(
        _blob(shop, shop.base.commit, item.edit.target) != item.event.data["base_blob"] for item in proposal.pending
    )


def _blob(shop: Workshop, commit: str, path: str) -> str | None:
    """None where there is no file yet; a file that cannot be taught any more is like no blob that was measured."""
    try:
        entry = document_entry(shop.repo, commit, path)
    except (ConfigError, SafetyError):
        return "not to be taught"
    return entry.sha if entry else None


def place(
    shop: Workshop,
    learned: Learned,
    history: History,
    stale: Proposal | None,
    today: date,
    notes: list[str],
    approved: Collection[str] = (),
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
    base = _base_for(shop, open_, candidates, approved)
    if isinstance(base, str):
        notes.append(_waiting(candidates, open_.branch, base))
        return None
    return Placement(branch=open_.branch, base=base, before=len(open_.edits), candidates=candidates)


def _base_for(
    shop: Workshop, open_: Proposal, candidates: Sequence[Candidate], approved: Collection[str]
) -> Base | str:
    """The base on which the open proposal can take these edits in, or the word why it cannot.

    Its own, unless a document they were tried in is another one there: then the newest.
    """
    if open_.simulated != shop.stamp.simulated:
        return "simulated"
    if open_.base_branch != shop.base.branch:
        return "elsewhere"
    found = standing(shop, open_, approved)
    if found != "free":
        return found
    base = Base(open_.base_branch, base_of(open_))
    if all(_blob(shop, base.commit, item.document.path) == item.document.blob for item in candidates):
        return base
    return "outdated" if _changed(shop, open_) else shop.base


def _waiting(candidates: Sequence[Candidate], branch: str, why: str) -> str:
    rules = [f"'{edit.sentence}'" for item in candidates for edit in item.edits]
    one = len(rules) == 1
    return f"{', '.join(rules)} {'has' if one else 'have'} to wait: {branch} is {IN_WORDS[why]}"


def frozen(shop: Workshop, history: History, approved: Collection[str] = ()) -> Iterator[Event]:
    """Said once for each tip that is found on somebody's desk: until it is decided, the branch is left alone."""
    for proposal in history.open:
        why = standing(shop, proposal, approved)
        tip = shop.repo.ref(f"{HEADS}{proposal.branch}")
        if why in FROZEN and tip is not None:
            data = {"branch": proposal.branch, "why": why, "tip": tip}
            yield event("frozen", [proposal.branch, why], shop.stamp, cause=tip, data=data)


def contradicted(learned: Learned, history: History) -> Iterator[str]:
    """What a later wish contradicts and a person should know of: it is proposed, or stands in a document already."""
    why = "a later wish contradicts it"
    taken_back = learned.known.bank.replaced
    for item in (item for proposal in history.open for item in proposal.pending):
        if item.edit.need in taken_back and item.edit.op != "delete":
            yield f"'{item.edit.sentence}' is proposed on {item.branch}, and {why}: reject it"
    for item in history.adopted:
        if item.edit.need in taken_back and item.edit.op != "delete":
            undo = f"`skillopt-git revert {item.edit.id}`"
            yield f"'{item.edit.sentence}' stands in {item.edit.target}, and {why}: {undo} unlearns it"


def _proposable(learned: Learned, open_: Proposal | None) -> tuple[Candidate, ...]:
    """What was accepted; else what is suggestive, as a draft, while no strong edit is open."""
    new = tuple(item for item in learned.accepted if not item.drafted)
    promoted = any(item.accepted and item.drafted for item in learned.candidates)
    if new or promoted or (open_ is not None and any(item.verdict in PROVEN for item in open_.pending)):
        return new
    drafts = (item for item in learned.candidates if item.verdict == "suggestive")
    return tuple(item for item in drafts if not item.drafted and not item.closed)


def settle(
    stamp: Stamp, learned: Learned, placement: Placement | None, history: History, stale: Proposal | None
) -> Iterator[Event]:
    """What tonight's result means for proposals that are open already."""
    yield from _ended(stamp, learned, history)
    if placement is not None:
        yield from _superseded(stamp, placement, history)
    elif stale is not None and learned.reason in TRIED and learned.verdict != "invalid":
        for item in stale.pending:
            yield settled("expired", item, stamp, reason="its document changed, and on the new text it is not proven")


def _ended(stamp: Stamp, learned: Learned, history: History) -> Iterator[Event]:
    """Drafts whose trial ended without a proof leave their branch, and so do those beside one that is ready now."""
    drafted = [item for item in learned.candidates if item.drafted]
    over = {
        (edit.id, edit.target): candidate
        for candidate in drafted
        if candidate.verdict == "harmful" or ((candidate.closed or candidate.parked) and not candidate.accepted)
        for edit in candidate.edits
    }
    ready = {edit.id for candidate in drafted if candidate.accepted for edit in candidate.edits}
    for item in (item for proposal in history.open for item in proposal.pending):
        candidate = over.get((item.edit.id, item.edit.target))
        if candidate is not None:
            yield settled("expired", item, stamp, reason=f"{_over(candidate)}: {candidate.why}")
        elif ready and item.edit.id not in ready and item.verdict not in PROVEN:
            yield settled("superseded", item, stamp, reason=MEANWHILE)


def _over(candidate: Candidate) -> str:
    if candidate.parked and not candidate.closed:
        return "its tasks were measured enough, and show no benefit"
    return "its trial ended without a proof"


def _superseded(stamp: Stamp, placement: Placement, history: History) -> Iterator[Event]:
    """A measured proposal takes the place of an open simulated one, strong edits that of suggestive ones."""
    for proposal in history.proposals if not stamp.simulated else ():
        for item in proposal.pending if proposal.open and proposal.simulated else ():
            yield settled("superseded", item, stamp, reason="a measured proposal took its place")
    strong = any(item.accepted for item in placement.candidates)
    there = history.proposal(placement.branch) if strong and not placement.ends else None
    for item in there.pending if there else ():
        if item.verdict not in PROVEN:
            yield settled("superseded", item, stamp, reason=MEANWHILE)
