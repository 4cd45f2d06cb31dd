"""A proposal brought to its reviewers: one that is here already, or one that a bundle brings."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt_git.branches import HEADS
from skillopt_git.bundle import Bundle, refuse
from skillopt_git.config import Config
from skillopt_git.decide import Done, the_proposal, tidy
from skillopt_git.errors import SafetyError, UsageError
from skillopt_git.exchange import unite
from skillopt_git.finishing import Finishing
from skillopt_git.pausing import noted
from skillopt_git.placing import FROZEN, IN_WORDS, standing
from skillopt_git.ports import PullRequest
from skillopt_git.pulls import Told
from skillopt_git.recall import Proposal, same_wish
from skillopt_git.reviewing import Review
from skillopt_git.soundness import told_edit
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

        Brought twice it is recorded once. What cannot be proposed any more, for people decided meanwhile, is recorded
        without; it comes again by a later night.
        """
        notes = self._heard()
        shop = self.shop
        known = {event.id for event in shop.ledger.events()}
        brought = tuple(event for event in bundle.events if event.id not in known)
        if brought:
            refuse(bundle, shop, self.config)
            why = self._late(bundle)
            if why is not None and any(event.type == "proposed" for event in brought):
                notes.append(f"what this night found has to wait: {why}")
                brought = tuple(event for event in brought if event.type not in ("proposed", "superseded"))
            message = f"Record run {bundle.run}"
            brought = noted(brought, self.review.found(shop))
            shop.ledger.append(brought, bundle.evidence, when=shop.stamp.now, message=message)
        paused = self.review.paused()
        if paused is not None:
            notes += self.review.push(shop)
            return Told(operation="held", notes=(*notes, f"{paused}; nothing is proposed until then"))
        ours = {str(event.data["branch"]) for event in brought if event.type == "proposed"}
        notes += Finishing(shop, self.config).started(self.review.approved(self.shop), ours=ours)
        return self._told(next(iter(shop.history().open), None), notes)

    def _late(self, bundle: Bundle) -> str | None:
        """Why its edits cannot go where they were to go: people, or another night, were quicker."""
        history = self.shop.history()
        open_ = next(iter(history.open), None)
        for event in bundle.proposed:
            edit, branch = told_edit(event), str(event.data["branch"])
            if open_ is not None and branch != open_.branch:
                return f"{open_.branch} is open already"
            if open_ is None and (history.proposal(branch) is not None or self.shop.repo.ref(f"{HEADS}{branch}")):
                return f"{branch} was decided meanwhile"
            if open_ is not None:
                why = standing(self.shop, open_, self.review.approved(self.shop))
                if why != "free":
                    return f"{branch} is {IN_WORDS.get(why, why)}"
                if any(same_wish(item.edit, edit) for item in open_.pending if item.edit.id != edit.id):
                    return f"{branch} answers the same wish already"
            if any(negative.holds_back(edit) for negative in history.negatives):
                return f"'{edit.sentence}' was refused meanwhile"
        return None

    # --- what a person decides here, done there ---

    def adopt(self, proposal: Proposal) -> Done | None:
        """Merged by its pull request; None where there is no open one, and it is merged in git."""
        pull = self._pull(proposal)
        newest = next((item for item in self.review.pulls if item.head == proposal.branch), None)
        if pull is None and newest is not None and newest.state == "closed":
            raise UsageError(
                f"the pull request of {proposal.branch}, {newest.url}, was closed",
                "reopen it, or merge it in git alone with --local",
            )
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
        notes = self._heard()
        self.review.refuse_paused()
        return [*notes, *Finishing(self.shop, self.config).started(self.review.approved(self.shop))]

    def _heard(self) -> list[str]:
        shop = self.shop
        notes = list(unite(shop.repo, shop.ledger, shop.stamp))
        self.review.meet(shop)
        tidy(shop.desk())
        return [*notes, *shop.catch_up()]

    def _told(self, proposal: Proposal | None, notes: list[str]) -> Told:
        why = standing(self.shop, proposal, self.review.approved(self.shop)) if proposal is not None else "free"
        notes += self.review.push(self.shop)
        told = self.review.tell(self.shop, proposal, frozen=IN_WORDS[why] if why in FROZEN else None)
        return Told(operation=told.operation, pull=told.pull, url=told.url, notes=(*notes, *told.notes))
