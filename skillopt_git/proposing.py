"""A proposal brought to its reviewers: one that is here already, or one that a bundle brings."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt_git.bundle import Bundle, refuse
from skillopt_git.config import Config
from skillopt_git.decide import the_proposal, tidy
from skillopt_git.errors import SafetyError
from skillopt_git.exchange import unite
from skillopt_git.finishing import Finishing
from skillopt_git.placing import FROZEN, IN_WORDS, standing
from skillopt_git.pulls import Told
from skillopt_git.recall import Proposal
from skillopt_git.reviewing import Review
from skillopt_git.workshop import Workshop


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposing:
    """`shop` stands at the base as it is over there now."""

    shop: Workshop
    config: Config
    review: Review

    def branch(self, name: str | None) -> Told:
        """The open proposal of that name, or the only one; pushed, and told to the forge."""
        notes = self._met()
        history = self.shop.everything()
        open_ = [item for item in history.proposals if item.open]
        proposal = the_proposal(history, name) if name is not None or len(open_) > 1 else next(iter(open_), None)
        if proposal is not None and proposal.simulated and not self.review.simulated:
            raise SafetyError(
                f"{proposal.branch} is a simulation, and goes nowhere", "--allow-simulated lets it be seen all the same"
            )
        return self._told(proposal, notes)

    def bundle(self, bundle: Bundle) -> Told:
        """Recorded and published as the run that found it would have done, after a look at all that is in it.

        Brought twice it is recorded once.
        """
        notes = self._met()
        shop = self.shop
        known = {event.id for event in shop.ledger.told().events}
        if not all(event.id in known for event in bundle.events):
            refuse(bundle, shop, edit_budget=self.config.propose.edit_budget)
            message = f"Record run {bundle.run}"
            shop.ledger.append(bundle.events, bundle.evidence, when=shop.stamp.now, message=message)
        notes += Finishing(shop, self.config).started()
        return self._told(next(iter(shop.history().open), None), notes)

    def _met(self) -> list[str]:
        """What others know comes first, and what an earlier run left half-done."""
        shop = self.shop
        notes = list(unite(shop.repo, shop.ledger, shop.stamp))
        self.review.meet(shop)
        tidy(shop.desk())
        return [*notes, *shop.catch_up(), *Finishing(shop, self.config).started()]

    def _told(self, proposal: Proposal | None, notes: list[str]) -> Told:
        why = standing(self.shop, proposal, self.review.approved) if proposal is not None else "free"
        notes += self.review.push(self.shop)
        told = self.review.tell(self.shop, proposal, frozen=IN_WORDS[why] if why in FROZEN else None)
        return Told(operation=told.operation, pull=told.pull, url=told.url, notes=(*notes, *told.notes))
