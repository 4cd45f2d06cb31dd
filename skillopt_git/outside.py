"""What becomes of a night on the other side: pushed, told to the forge, and never worth failing for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skillopt_git.errors import ForgeError, GitError, RefMoved, UsageError
from skillopt_git.learned import Learned
from skillopt_git.placing import FROZEN, IN_WORDS, standing
from skillopt_git.pulls import Told
from skillopt_git.recall import Proposal
from skillopt_git.refusing import Refusing
from skillopt_git.reviewing import Review
from skillopt_git.workshop import Workshop


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What the other side made of a run."""

    notes: tuple[str, ...] = ()
    code: int = 0
    told: Told | None = None

    @property
    def pull_request(self) -> dict[str, Any] | None:
        pull = self.told.pull if self.told else None
        return {"number": pull.number, "url": pull.url, "state": pull.state, "draft": pull.draft} if pull else None


def bring(shop: Workshop, review: Review, learned: Learned, night: int, proposal: Proposal | None) -> Outside:
    """What was not pushed, or got no pull request, gets there with a later night: the night itself is recorded."""
    pr = review.forge is not None and review.tells
    try:
        shop = review.at_base(shop) if pr else shop
        left = review.push(shop)
        if not pr:
            return Outside(notes=tuple(left), code=RefMoved.exit_code if left else 0)
        told = review.tell(shop, proposal, frozen=_frozen(shop, review, proposal))
        left += _shown(shop, review, learned, night)
    except (GitError, ForgeError, UsageError) as error:
        words = f"{error.message}; {error.hint}" if error.hint else error.message
        code = error.exit_code if isinstance(error, ForgeError) else RefMoved.exit_code
        what = "no pull request" if isinstance(error, ForgeError) else "nothing was pushed"
        again = "`skillopt-git propose`" if pr else "`skillopt-git ledger push`"
        return Outside(notes=(f"{what}: {words}; {again} and the next run try again",), code=code)
    return Outside(notes=(*left, *told.notes), told=told)


def _shown(shop: Workshop, review: Review, learned: Learned, night: int) -> list[str]:
    """What the gate refused, where it is to be seen; what a simulation refused only where it may be seen itself."""
    hidden = shop.stamp.simulated and not review.simulated
    if review.config.propose.record_rejected == "ledger" or review.forge is None or hidden:
        return []
    return list(Refusing(shop, review.forge, review.remote).show(learned, night))


def _frozen(shop: Workshop, review: Review, proposal: Proposal | None) -> str | None:
    why = standing(shop, proposal, review.approved(shop)) if proposal is not None else "free"
    return IN_WORDS[why] if why in FROZEN else None
