"""A proposal brought to its reviewers: one that is here already, or one that a bundle brings."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt_git.bundle import Bundle, refuse
from skillopt_git.config import Config
from skillopt_git.decide import Done, the_proposal, tidy
from skillopt_git.errors import SafetyError
from skillopt_git.exchange import unite
from skillopt_git.finishing import Finishing
from skillopt_git.placing import FROZEN, IN_WORDS, standing
from skillopt_git.ports import PullRequest
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

    # --- what a person decides here, done there ---

    def adopt(self, proposal: Proposal) -> Done | None:
        """Merged by its pull request; None where there is no open one, and it is merged in git."""
        pull = self._pull(proposal)
        if pull is None or self.review.forge is None:
            return None
        commit = self.review.forge.merge(pull.number, sha=proposal.tip or "")
        shop = self.review.at_base(self.shop)
        self.review.hear(shop)
        edits = tuple(item.edit for item in proposal.pending)
        said = (f"{pull.url} is merged: `git pull` brings it here.",)
        return Done(edits=edits, branch=proposal.base_branch, commit=commit, said=said)

    def rejected(self, proposal: Proposal) -> tuple[str, ...]:
        """After a refusal was recorded: the pull request is closed with it, or brought up to date."""
        pull = self._pull(proposal)
        if pull is None:
            return ()
        left = self.shop.everything().proposal(proposal.branch)
        notes = self.review.push(self.shop)
        told = self.review.tell(self.shop, left if left is not None and left.open else None)
        done = (f"{told.url} is up to date.",) if told.operation == "updated" else ()
        return (*notes, *told.notes, *done)

    def _pull(self, proposal: Proposal) -> PullRequest | None:
        if self.review.forge is None:
            return None
        self.review.pulls[:] = self.review.forge.find(proposal.branch)
        return next((item for item in self.review.pulls if item.state == "open" and item.head == proposal.branch), None)

    def _met(self) -> list[str]:
        """What others know comes first, and what an earlier run left half-done."""
        shop = self.shop
        notes = list(unite(shop.repo, shop.ledger, shop.stamp))
        self.review.meet(shop)
        self.review.refuse_paused()
        tidy(shop.desk())
        return [*notes, *shop.catch_up(), *Finishing(shop, self.config).started()]

    def _told(self, proposal: Proposal | None, notes: list[str]) -> Told:
        why = standing(self.shop, proposal, self.review.approved) if proposal is not None else "free"
        notes += self.review.push(self.shop)
        told = self.review.tell(self.shop, proposal, frozen=IN_WORDS[why] if why in FROZEN else None)
        return Told(operation=told.operation, pull=told.pull, url=told.url, notes=(*notes, *told.notes))
