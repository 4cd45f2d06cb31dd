"""What the ledger's events amount to: families, proposals, decisions, trials. A pure fold: neither the order in which
events arrive nor their clocks matter.

A real run does not see the gate results and trials of simulated runs, nor the other way round; what a person decided
and how families were split counts for both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

from skillopt_git.families import Family
from skillopt_git.families import families as told_families
from skillopt_git.ids import canonical_json, need_id
from skillopt_git.model import Edit, Event
from skillopt_git.rulings import (
    OnTrial,
    Refusal,
    Rulings,
    apart,
    goes_on,
    guarded,
    newest,
    refusals,
    rulings,
    trials,
    unended,
)
from skillopt_git.similarity import similarity
from skillopt_git.soundness import told_edit

MOST_TOLD = 20  # refusals that an optimizer is told of
NEAR_DUPLICATE = 0.85  # of two rule texts: at or above it a rejection of one holds back the other
# Of two outcomes of one edit, as two clones may see them, the first here stands: what is merged is merged.
ENDINGS = ("adopted", "adopted-modified", "rejected", "superseded", "expired")
MEASURED = frozenset({"family", "trial"})
ADOPTIONS = frozenset({"adopted", "adopted-modified"})
PROVEN = frozenset({"strong", "ungated"})
_REFUSALS = frozenset({"rejected", "reverted"})
ENDS: Mapping[str, frozenset[str]] = {
    "proposed": frozenset({"proposed"}),
    "published": frozenset({"published"}),
    "unrejected": _REFUSALS | {"expired", "superseded"},
    "adopted": _REFUSALS,
    "adopted-modified": _REFUSALS,
    "expired": ADOPTIONS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """One edit of a proposal, its `proposed` event (what its commit is made of), and its outcome once it has one.

    `gate` is the newest ruling on it, which later nights may have made.
    """

    event: Event
    edit: Edit
    branch: str
    position: int
    outcome: Event | None = None
    gate: Event | None = None

    @property
    def verdict(self) -> str:
        return str((self.gate or self.event).data["verdict"])

    @property
    def evidence(self) -> str | None:
        name = (self.gate or self.event).data["evidence"]
        return None if name is None else str(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A branch and its edits, in the order of their commits. Open from `published` until every edit has an outcome.

    `publications` are the standing ones by id: one, or several when clones that had not met chose the same name.
    """

    branch: str
    edits: tuple[Proposed, ...]
    publications: tuple[Event, ...] = ()

    @property
    def first(self) -> Event:
        return self.edits[0].event

    @property
    def base(self) -> str:
        return str(self.first.data["base"])

    @property
    def base_branch(self) -> str:
        return str(self.first.data["base_branch"])

    @property
    def simulated(self) -> bool:
        return self.first.simulated

    @property
    def pending(self) -> tuple[Proposed, ...]:
        return tuple(item for item in self.edits if item.outcome is None)

    @property
    def published(self) -> Event | None:
        return self.publications[-1] if self.publications else None

    @property
    def tip(self) -> str | None:
        return str(self.published.data["tip"]) if self.published is not None else None

    @property
    def tips(self) -> frozenset[str]:
        """Where the branch stands if nobody else has touched it, in this clone or another."""
        return frozenset(str(event.data["tip"]) for event in self.publications)

    @property
    def open(self) -> bool:
        return self.published is not None and bool(self.pending)

    @property
    def unfinished(self) -> bool:
        return self.published is None and bool(self.pending)


@dataclass(frozen=True, slots=True, kw_only=True)
class Negative:
    """A standing rejection or unlearning of a rule."""

    event: Event
    text: str
    need: str | None

    def holds_back(self, edit: Edit) -> bool:
        """The sentence, near-duplicates, the need, in every document; for `wrong-place` in its own only."""
        if (self.event.reason or "").partition(":")[0] == "wrong-place" and edit.target != self.event.target:
            return False
        if self.need is not None and self.need == edit.need:
            return True
        return similarity(self.text, edit.sentence) >= NEAR_DUPLICATE


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    simulated: bool = False  # who looks
    families: Mapping[str, Family] = field(default_factory=dict)
    proposals: tuple[Proposal, ...] = ()
    negatives: tuple[Negative, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    apart: tuple[OnTrial, ...] = ()  # on trial, and on no branch, simulated or not
    unended: Mapping[str, Event] = field(default_factory=dict)  # rulings by the subject of a trial that may go on
    ended_trials: Mapping[str, int] = field(default_factory=dict)  # by the trial's subject
    guarded: Mapping[str, str] = field(default_factory=dict)  # by task: the last run in which it was looked at for harm
    runs: tuple[Event, ...] = ()
    controls: tuple[Event, ...] = ()  # of the gate itself, the newest last
    worded: Mapping[str, str] = field(default_factory=dict)  # needs that were ever answered, in a rule's words
    awaited: tuple[Proposed, ...] = ()  # adopted, and not yet at the base
    unlearned: Mapping[tuple[str, str], Event] = field(default_factory=dict)  # by (branch, edit)

    @property
    def nights(self) -> int:
        return len(self.runs)

    def without(self, proposal: Proposal) -> History:
        """As if that proposal were not there."""
        return replace(self, proposals=tuple(item for item in self.proposals if item.branch != proposal.branch))

    def proposal(self, branch: str) -> Proposal | None:
        return next((item for item in self.proposals if item.branch == branch), None)

    @property
    def open(self) -> tuple[Proposal, ...]:
        """The open proposals that count for who looks: a simulated one means nothing to a real run."""
        return tuple(item for item in self.proposals if item.open and (self.simulated or not item.simulated))

    @property
    def on_trial(self) -> tuple[OnTrial, ...]:
        """Every trial that may go on: first those of open proposals, then what is on no branch."""
        drafts: dict[str, list[Proposed]] = {}
        for item in (item for proposal in self.open for item in proposal.pending):
            if item.gate is not None and goes_on(item.gate):
                drafts.setdefault(str(item.gate.data["trial"]), []).append(item)
        there = (
            OnTrial(edits=tuple(item.edit for item in items), ruling=items[0].gate, branch=items[0].branch)
            for items in drafts.values()
            if items[0].gate is not None
        )
        return (*there, *(item for item in self.apart if item.simulated == self.simulated))

    @property
    def ever_adopted(self) -> tuple[Proposed, ...]:
        return tuple(
            item
            for proposal in self.proposals
            for item in proposal.edits
            if item.outcome is not None and item.outcome.type in ADOPTIONS
        )

    @property
    def adopted(self) -> tuple[Proposed, ...]:
        """Adopted edits that were not unlearned since."""
        return tuple(item for item in self.ever_adopted if (item.branch, item.edit.id) not in self.unlearned)


def recall(events: Iterable[Event], *, simulated: bool) -> History:
    """The state after `events`, as a run that is `simulated` (or not) sees it."""
    every = _each_once(events)
    standing = _standing(every)
    own = tuple(event for event in every if event.simulated == simulated)
    told = rulings(every)
    proposals = tuple(_proposals(standing, told))
    negatives = tuple(_negatives(standing))
    return History(
        simulated=simulated,
        families=told_families(every),
        proposals=proposals,
        negatives=negatives,
        refusals=tuple(refusals(own)),
        apart=tuple(item for item in apart(told, _taken(proposals)) if not _refused_by(negatives, item)),
        unended=unended(told, simulated=simulated),
        ended_trials=Counter(subject for subject, _ in trials(own)),
        guarded=guarded(own),
        runs=tuple(sorted((event for event in own if event.type == "run"), key=lambda event: event.run or "")),
        controls=tuple(sorted((event for event in own if event.type == "aa"), key=lambda event: event.run or "")),
        worded=_worded(every),
        unlearned=_unlearned(every),
    )


def _taken(proposals: Iterable[Proposal]) -> frozenset[tuple[str | None, str | None]]:
    """What is on a branch, is to be, or was adopted."""
    return frozenset(
        (item.edit.id, item.edit.target)
        for proposal in proposals
        for item in proposal.edits
        if item.outcome is None or item.outcome.type in ADOPTIONS
    )


def _refused_by(negatives: Iterable[Negative], item: OnTrial) -> bool:
    return any(negative.holds_back(edit) for negative in negatives for edit in item.edits)


def decisions(events: Iterable[Event]) -> tuple[Event, ...]:
    """Without what only learning needs to know, which is most of a long ledger."""
    return tuple(event for event in events if event.type not in MEASURED)


def repeats(edit: Edit, other: Edit) -> bool:
    """The same rule, or for one need nearly the same."""
    if edit.rule == other.rule:
        return True
    both = edit.need == other.need and edit.text is not None and other.text is not None
    return both and similarity(edit.sentence, other.sentence) >= NEAR_DUPLICATE


def _each_once(events: Iterable[Event]) -> tuple[Event, ...]:
    """By id. What two clones noticed of one thing differs in who said it and when; either will do, always the same."""
    kept: dict[str, Event] = {}
    for event in events:
        if event.id in kept:
            event = min(event, kept[event.id], key=lambda item: canonical_json(asdict(item)))
        kept[event.id] = event
    return tuple(kept[name] for name in sorted(kept))


def _standing(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """Events that no other event ends: what ends what is said in the events, never told by their times. Each type
    ends its own kinds and no other: an event that says it ends a refusal does not, unless it is one that may."""
    types = {event.id: event.type for event in events}
    ended = {
        str(item)
        for event in events
        for item in event.data.get("ends", ())
        if types.get(str(item)) in ENDS.get(event.type, ())
    }
    return tuple(event for event in events if event.id not in ended)


def _unlearned(events: tuple[Event, ...]) -> dict[tuple[str, str], Event]:
    """What was taken back and not adopted again. Allowing a rule to be proposed again does not bring it back."""
    again = {str(item) for event in events if event.type in ADOPTIONS for item in event.data.get("ends", ())}
    return {
        (str(event.data["branch"]), event.edit or ""): event
        for event in events
        if event.type == "reverted" and event.id not in again
    }


def _worded(events: Iterable[Event]) -> dict[str, str]:
    """What a need was called when a rule for it was proposed: the words that founded it before any others."""
    texts: dict[str, str] = {}
    for event in events:
        if event.type == "proposed" and event.data["op"] != "delete" and event.data["need"] and event.text:
            need = str(event.data["need"])
            if need not in texts or (need_id(event.text) == need != need_id(texts[need])):
                texts[need] = event.text
    return texts


def _proposals(events: tuple[Event, ...], told: Rulings) -> Iterator[Proposal]:
    outcomes = _outcomes(events)
    published: dict[str, list[Event]] = {}
    for event in events:
        if event.type == "published":
            published.setdefault(str(event.data["branch"]), []).append(event)
    by_branch: dict[str, list[Proposed]] = {}
    for event in events:
        if event.type == "proposed":
            branch, edit = str(event.data["branch"]), told_edit(event)
            item = Proposed(
                event=event,
                edit=edit,
                branch=branch,
                position=int(event.data["position"]),
                outcome=outcomes.get((branch, edit.id)),
                gate=newest(told.get((event.edit, event.target, event.simulated), ()), since=event.run or ""),
            )
            by_branch.setdefault(branch, []).append(item)
    for branch, items in sorted(by_branch.items()):
        yield Proposal(branch=branch, edits=_each_edit_once(items), publications=tuple(published.get(branch, ())))


def _outcomes(events: tuple[Event, ...]) -> dict[tuple[str, str | None], Event]:
    outcomes: dict[tuple[str, str | None], Event] = {}
    for type_ in ENDINGS:
        for event in events:
            if event.type == type_:
                outcomes.setdefault((str(event.data["branch"]), event.edit), event)
    return outcomes


def _each_edit_once(items: Iterable[Proposed]) -> tuple[Proposed, ...]:
    """In the order of their commits; an edit that was proposed again for the same branch keeps its first place."""
    edits: dict[str, Proposed] = {}
    for item in sorted(items, key=lambda item: (item.position, item.event.id)):
        edits.setdefault(item.edit.id, item)
    return tuple(edits.values())


def _negatives(events: tuple[Event, ...]) -> Iterator[Negative]:
    for event in events:
        if event.type in ("rejected", "reverted") and event.text is not None:
            need = event.data.get("need")
            yield Negative(event=event, text=event.text, need=None if need is None else str(need))


def told_refusals(history: History) -> tuple[str, ...]:
    """What people turned down, the newest last, each once, for whoever words rules."""
    newest = sorted(history.negatives, key=lambda item: (item.event.ts, item.event.id))[-MOST_TOLD:]
    return tuple(
        dict.fromkeys(f"- {item.text}{f' ({item.event.reason})' if item.event.reason else ''}" for item in newest)
    )


def held_back(
    history: History, edit: Edit, *, base_blob: str | None, model: str, families: frozenset[str]
) -> str | None:
    """Why memory does not let this edit be proposed, in words for the report; None when it may be."""
    for negative in history.negatives:
        if negative.holds_back(edit):
            what = "unlearned" if negative.event.type == "reverted" else "rejected"
            said = f": {negative.event.reason}" if negative.event.reason else ""
            return f"{what} before ({negative.event.edit}){said}"
    for item in _pending(history):
        if same_wish(item.edit, edit):
            what = "proposed on" if item.outcome is None else "adopted from"
            return f"already {what} {item.branch} ({item.edit.id})"
    return _refused(history, edit, base_blob=base_blob, model=model, families=families)


def _pending(history: History) -> Iterator[Proposed]:
    """What waits to arrive at the base: the edits of open proposals, and adopted ones the base does not have yet."""
    for proposal in history.open:
        yield from proposal.pending
    yield from history.awaited


def same_wish(one: Edit, other: Edit) -> bool:
    """Whether two edits answer one need, or say nearly the same."""
    if one.need is not None and one.need == other.need:
        return True
    return similarity(one.sentence, other.sentence) >= NEAR_DUPLICATE


def _refused(
    history: History, edit: Edit, *, base_blob: str | None, model: str, families: frozenset[str]
) -> str | None:
    for refusal in history.refusals:
        if (refusal.rule, refusal.target) != (edit.rule, edit.target):
            continue
        if refusal.final:
            if (refusal.base_blob, refusal.model) == (base_blob, model):
                found = (
                    "found harmful before" if refusal.verdict == "harmful" else "measured on several nights, unproven"
                )
                return f"{found}, on this text and model"
        elif families <= refusal.families:
            return "made no difference before; waits for another kind of task that needs it"
    return None
