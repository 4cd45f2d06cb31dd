"""What the gate refused, where its owner wants to see it: a pull request that is opened, marked and closed at once.

It is a record for people. Nobody hears it as a refusal of theirs, and no rule comes back through it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skillopt_git.branches import HEADS
from skillopt_git.learned import Learned
from skillopt_git.ports import Forge, PullDraft
from skillopt_git.publish import build
from skillopt_git.pulls import MARK
from skillopt_git.recall import Proposal, recall
from skillopt_git.record import Placement, proposed_events
from skillopt_git.remote import Remote, Update
from skillopt_git.reviewing import page
from skillopt_git.workshop import Workshop

PREFIX = "skillopt/refused-"
LABEL = "skillopt:gate-refused"
REFUSED = frozenset({"harmful", "inconclusive"})


@dataclass(frozen=True, slots=True)
class Refusing:
    shop: Workshop
    forge: Forge
    remote: Remote

    def show(self, learned: Learned, night: int) -> Iterator[str]:
        """One pull request for all that tonight's gate refused; where one was left open, it is closed first."""
        for pull in self.forge.find(PREFIX):
            if pull.state == "open":
                self._close(pull.number)
        proposal = self._proposal(learned, night)
        if proposal is None:
            return
        shop = self.shop
        tip = build(shop.repo, shop.ledger.evidence, proposal, shop.author, scanner=shop.ledger.scanner).tip
        ref = f"{HEADS}{proposal.branch}"
        self.remote.push([Update(ref, tip, None)])
        try:
            told = page(shop, proposal)
            draft = PullDraft(
                title=f"[refused] {told.title}", body=told.body, head=proposal.branch, base=shop.base.branch, draft=True
            )
            pull = self.forge.create(draft)
            self._close(pull.number)
        finally:
            self.remote.push([Update(ref, None, tip)])
        yield f"what the gate refused is shown by {pull.url}, which is closed"

    def _close(self, number: int) -> None:
        """Marked first, so that nobody takes the closing for a refusal."""
        self.forge.label(number, [MARK, LABEL])
        self.forge.comment(
            number, "settled", "Refused by the gate, and closed by skillopt-git. It is kept as a record."
        )
        self.forge.close(number)

    def _proposal(self, learned: Learned, night: int) -> Proposal | None:
        """As if it were proposed; none of it is recorded."""
        refused = tuple(item for item in learned.candidates if item.verdict in REFUSED and not item.continued)
        if not refused:
            return None
        branch = f"{PREFIX}{self.shop.stamp.run}"
        placement = Placement(branch=branch, base=self.shop.base, before=0, candidates=refused)
        events = proposed_events(learned, self.shop.stamp, placement, night)
        return recall(events, simulated=self.shop.stamp.simulated).proposal(branch)
