"""From what is recorded to branches: what a run proposes, and what an earlier one left half-done."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from skillopt_git.branches import behind, state
from skillopt_git.config import Config
from skillopt_git.decide import adopt
from skillopt_git.errors import SkilloptError
from skillopt_git.learned import Learned
from skillopt_git.ledger import evidence_name
from skillopt_git.model import Event, Evidence
from skillopt_git.outcomes import settled
from skillopt_git.placing import hindrance
from skillopt_git.publish import build, finished, publish
from skillopt_git.recall import History, Proposal, recall
from skillopt_git.record import Placement
from skillopt_git.reunion import rebuild
from skillopt_git.workshop import Workshop


@dataclass(frozen=True, slots=True)
class Finishing:
    shop: Workshop
    config: Config

    def recalled(self, events: Sequence[Event] = ()) -> History:
        """As it is recorded, with these events too."""
        return recall((*self.shop.ledger.events(), *events), simulated=self.shop.stamp.simulated)

    def foresee(self, placement: Placement | None, events: Sequence[Event], evidence: Sequence[Evidence]) -> None:
        """Builds what is to be published before anything is recorded: a secret or a missing key stops the run here."""
        if placement is not None:
            new = {evidence_name(item): item for item in evidence}
            history = self.recalled(events)
            built = build(
                self.shop.repo,
                lambda name: new.get(name) or self.shop.ledger.evidence(name),
                _named(history, placement.branch),
                self.shop.author,
                scanner=self.shop.ledger.scanner,
            )
            finished(self.shop.repo, built, self.shop.author, None)

    def started(self, held: Collection[str] = (), *, ours: Collection[str] = ()) -> list[str]:
        """What an earlier run recorded and did not publish (it broke off) comes first, without learning anew. A branch
        that is `held` is not rebuilt: somebody approved it. Those of `ours` were recorded just now: no word of them."""
        shop = self.shop
        history = shop.history()
        notes = []
        for proposal in history.proposals:
            if proposal.simulated != shop.stamp.simulated:
                continue
            if proposal.unfinished:
                notes += self._finished(history, proposal, known=proposal.branch in ours)
            elif proposal.branch in held:
                continue
            elif proposal.open and behind(proposal) and state(shop.repo, proposal) == "free":
                rebuild(shop.repo, shop.ledger, proposal, author=shop.author, stamp=shop.stamp)
                notes.append(f"{proposal.branch} was rebuilt with just the edits that are still open")
        return notes

    def _finished(self, history: History, proposal: Proposal, *, known: bool) -> list[str]:
        shop = self.shop
        why = hindrance(shop, history, proposal)
        if why is None:
            publish(shop.repo, shop.ledger, proposal, author=shop.author, stamp=shop.stamp)
            return [] if known else [f"{proposal.branch} was left unfinished by an earlier run and is finished now"]
        gone = [settled("expired", item, shop.stamp, reason=why) for item in proposal.pending]
        shop.ledger.append(gone, when=shop.stamp.now, message=f"Give {proposal.branch} up")
        return [f"{proposal.branch} was left unfinished by an earlier run and was given up: {why}"]

    def publish(self, placement: Placement | None) -> Proposal | None:
        """The open proposal after this run."""
        shop = self.shop
        if placement is not None:
            proposal = _named(self.recalled(), placement.branch)
            publish(shop.repo, shop.ledger, proposal, author=shop.author, stamp=shop.stamp)
        return next(iter(self.recalled().open), None)

    def auto_adopt(self, proposal: Proposal | None, notes: list[str], *, proven: bool) -> str | None:
        """Only when asked for, on a night that proved something, and what is measured and strong throughout."""
        if self.config.propose.auto_adopt and self.shop.stamp.simulated:
            notes.append("not adopted by itself: a simulation never is")
            return None
        if not self.config.propose.auto_adopt or proposal is None or not proven:
            return None
        verdicts = {item.verdict for item in proposal.pending}
        if proposal.simulated or verdicts != {"strong"}:
            notes.append("not adopted by itself: only a measured proposal whose edits are all strong is")
            return None
        try:
            return adopt(self.shop.desk(), proposal).commit
        except SkilloptError as error:  # the night is recorded; what stands in the way is its owner's
            notes.append(f"not adopted by itself: {error.message}")
            return None


def promoted(learned: Learned) -> Iterator[str]:
    for candidate in learned.candidates:
        if candidate.drafted:
            rules = " and ".join(f"'{edit.sentence}'" for edit in candidate.edits)
            yield f"{rules} was measured further, and is {candidate.verdict}: {candidate.why}"


def _named(history: History, branch: str) -> Proposal:
    return next(item for item in history.proposals if item.branch == branch)
