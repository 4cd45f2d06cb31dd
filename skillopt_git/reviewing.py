"""Where proposals meet their reviewers: the remote, its forge, and what both tell a run before and after it learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from skillopt_git import present, render
from skillopt_git.branches import FOLDER, HEADS, SEEN
from skillopt_git.config import Config
from skillopt_git.errors import SafetyError, Skipped, UsageError
from skillopt_git.exchange import Outgoing, fetch, push
from skillopt_git.guard import one_line
from skillopt_git.hearing import OURS, Ears, Heard
from skillopt_git.history import is_ancestor, merge_tree
from skillopt_git.model import Event
from skillopt_git.outcomes import GIVEN_UP
from skillopt_git.pausing import Found, as_found, waiting
from skillopt_git.ports import Forge, PullRequest
from skillopt_git.pulls import PAUSE, Asked, Page, Teller, Told, unmarked
from skillopt_git.recall import Proposal
from skillopt_git.redact import without_hex
from skillopt_git.remote import Remote
from skillopt_git.targets import Base
from skillopt_git.workshop import Workshop


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The other side of a repository. `forge` is None where only git is spoken; `held` gathers approved branches."""

    config: Config
    remote: Remote
    forge: Forge | None = None
    simulated: bool = False  # whether simulated proposals may go out
    unasked: str = ""  # why there is no forge
    tells: bool = True  # whether pull requests are written to, and not only heard
    pulls: list[PullRequest] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)  # those of them that somebody may yet decide

    @property
    def name(self) -> str | None:
        """The forge's, where there is one."""
        return self.forge.name if self.forge is not None else None

    def approved(self, shop: Workshop) -> frozenset[str]:
        """Branches whose pull request somebody approved: a push would take the approval away. One that cannot be merged
        any more holds nothing up."""
        approved = [pull for pull in self.pulls if pull.state == "open" and pull.approved]
        return frozenset(pull.head for pull in approved if not _conflicts(shop, pull.head_sha))

    def at_base(self, shop: Workshop) -> Workshop:
        """The same with the base as it is over there now; its commits are fetched, and no branch here moves."""
        name = self.config.propose.base or self._default_branch()
        refs = self.remote.refs(f"{HEADS}{name}") if name else {}
        sha = refs.get(f"{HEADS}{name}")
        if name is None or sha is None:
            what = (
                f"there is no branch '{name}' at {self.remote.name}"
                if name
                else f"{self.remote.name} has no branch yet"
            )
            raise UsageError(what, "push the base first, or set propose.base to one that is there")
        seen = f"{SEEN}{self.remote.name}/{name}"
        was = shop.repo.ref(seen)
        if was != sha:  # kept by a ref of our own: what the base was seen to have is not lost, or fetched, again
            self.remote.fetch(f"{HEADS}{name}")
            shop.repo.update_ref(seen, sha, was, "skillopt-git: seen there")
        return replace(shop, base=Base(name, sha))

    def _default_branch(self) -> str | None:
        return self.forge.default_branch() if self.forge is not None else self.remote.default_branch()

    # --- before learning ---

    def paused(self) -> str | None:
        """That somebody asked for a pause, by a label on an open pull request."""
        paused = next((pull for pull in self.pulls if pull.state == "open" and PAUSE in pull.labels), None)
        return None if paused is None else f"paused by the label {PAUSE} on {paused.url}"

    def refuse_paused(self) -> None:
        """Raises `Skipped` where somebody did."""
        paused = self.paused()
        if paused is not None:
            raise Skipped(paused, "take the label away to go on")

    def refuse_unread(self, shop: Workshop) -> None:
        """Raises `Skipped` where as many nights as the settings say found what is proposed as people left it."""
        found, after = self.found(shop), self.config.propose.pause_after
        why = waiting(shop.ledger.told().events, found, after=after) if found is not None else None
        if why is not None:
            raise Skipped(why)

    def found(self, shop: Workshop) -> Found | None:
        """What people did so far to the pull request of the open proposal; None where there is none."""
        published = (event for event in shop.ledger.told().events if event.type == "published")
        tips = {str(event.data["tip"]) for event in published}
        history, labels = shop.everything(), self.config.propose.labels
        for item in (item for item in self.heard if item.pull.state == "open"):
            proposal = history.proposal(item.pull.head)
            if proposal is None or not proposal.open or proposal.simulated:
                continue
            if item.pull.base == proposal.base_branch:
                return as_found(item, proposal, tips=tips, labels=labels)
        return None

    def meet(self, shop: Workshop) -> tuple[Event, ...]:
        """What other clones recorded and what people did on the forge comes into the ledger; what came."""
        came: list[Event] = []
        came += fetch(
            shop.repo, shop.ledger, self.remote, shop.stamp, bring=True, hear=lambda: came.extend(self.hear(shop))
        )
        return tuple(came)

    def hear(self, shop: Workshop) -> tuple[Event, ...]:
        """What is at the base first, then what people did to pull requests."""
        shop.sync()
        if self.forge is None:
            return ()
        self.pulls[:] = self.forge.find(f"{FOLDER}/")
        history, told = shop.everything(), shop.ledger.told().events
        heard = [
            Heard(pull=pull, events=self.forge.events(pull.number))
            for pull in self.pulls
            if (proposal := history.proposal(pull.head)) is not None and _worth_asking(pull, proposal)
        ]
        self.heard[:] = heard
        ears = Ears(
            history=history,
            published=[event for event in told if event.type == "published"],
            has=lambda commit: (
                shop.repo.resolve(commit) is not None and is_ancestor(shop.repo, commit, shop.base.commit)
            ),
            stamp=replace(shop.stamp, simulated=False),
            clean=lambda text: one_line(without_hex(shop.redact.text(text))),
        )
        new = shop.ledger.append(ears.outcomes(heard), when=shop.stamp.now, message="Note what became of pull requests")
        self._unmark(heard)
        return new

    def _unmark(self, heard: Sequence[Heard]) -> None:
        """What was opened again loses our word that we closed it: the next closing is somebody's own."""
        for item in heard if self.forge is not None and self.tells else ():
            if item.opened_again is not None and self.forge is not None:
                for label in sorted(item.pull.labels & OURS.keys()):
                    self.forge.unlabel(item.pull.number, label)
                    self.forge.update(item.pull.number, title=unmarked(item.pull.title))

    # --- after learning ---

    def held(self, shop: Workshop) -> frozenset[str]:
        """Branches that are not to be moved: approved ones, and those whose pull request is decided."""
        open_ = {pull.head for pull in self.pulls if pull.state == "open"}
        return self.approved(shop) | {pull.head for pull in self.pulls if pull.head not in open_}

    def push(self, shop: Workshop) -> list[str]:
        """After one more look at what people did: a branch whose pull request they closed meanwhile is not moved."""
        if self.forge is not None:
            self.pulls[:] = self.forge.find(f"{FOLDER}/")
        held = self.held(shop)
        outgoing = Outgoing(author=shop.author, stamp=shop.stamp, new=True, simulated=self.simulated, held=held)
        return list(push(shop.repo, shop.ledger, self.remote, outgoing).notes)

    def tell(self, shop: Workshop, proposal: Proposal | None, *, frozen: str | None = None) -> Told:
        """The proposal's pull request, made or brought up to date; those of settled proposals are closed."""
        forge = self._open_forge()
        asked = Asked(labels=self.config.propose.labels, reviewers=self.config.propose.reviewers)
        teller = Teller(forge, self.pulls, asked)
        if proposal is None or (proposal.simulated and not self.simulated):
            closed = teller.put_away(shop.everything().proposals, None, None)
            return Told(operation="closed" if closed else "none", notes=tuple(closed))
        if frozen is not None:
            told = self._held(forge, proposal, frozen)
        else:
            told = teller.tell(proposal, page(shop, proposal, quotes=self.config.propose.quotes))
        closed = teller.put_away(shop.everything().proposals, proposal, told.pull)
        return replace(told, notes=(*closed, *told.notes))

    def _held(self, forge: Forge, proposal: Proposal, why: str) -> Told:
        pull = next((item for item in self.pulls if item.head == proposal.branch and item.state == "open"), None)
        if pull is not None:
            forge.comment(pull.number, "frozen", _FROZEN.format(why=why))
        return Told(operation="held", pull=pull, url=pull.url if pull else None)

    def refuse_public(self, shop: Workshop) -> None:
        """Raises `SafetyError` where everybody could read what is proposed and nobody said that this is right."""
        if not self._open_forge().public():
            return
        if self.config.propose.quotes or any(event.data.get("quotes") for event in shop.ledger.told().events):
            raise SafetyError(
                f"{self._open_forge().name} is public, and propose.quotes would show everybody what was typed",
                "keep the repository private, or start a new ledger with propose.quotes off",
            )
        if self.config.propose.public == "refuse":
            raise SafetyError(
                f"{self._open_forge().name} is public: everybody would see the rules and their figures there",
                'set propose.public = "summary" if that is right; without --pr the branch stays on this machine',
            )

    def _open_forge(self) -> Forge:
        if self.forge is None:
            raise UsageError("there is no forge to ask", "add a remote on GitHub, or leave out --pr")
        return self.forge


_FROZEN = (
    "skillopt-git leaves this branch alone, because it is {why}. What is learned meanwhile waits until this pull "
    "request is merged or closed."
)


def page(shop: Workshop, proposal: Proposal, *, quotes: bool = False) -> Page:
    """The page of a proposal as a forge shows it, with nothing in it that must not leave: what was typed only where
    its owner wants it there now."""
    view = present.proposal_view(
        proposal,
        shop.ledger.evidence,
        ledger_ref=shop.ledger.ref,
        controls=shop.controls(),
        runs=shop.runs(),
    )
    view = view if quotes else replace(view, edits=tuple(replace(edit, typed=()) for edit in view.edits))
    title, body = render.pull_request_title(view), render.pull_request(view, boxes=True)
    shop.ledger.scanner.refuse({"the title": title, "the body": body})
    return Page(title=title, body=body, draft=view.draft or view.simulated)


def _worth_asking(pull: PullRequest, proposal: Proposal) -> bool:
    """Whether there may be something to hear: an edit without an outcome, one given up on what is open again, or one
    of which only is known that its branch is gone."""
    ended = [item.outcome for item in proposal.edits if item.outcome is not None]
    given_up = any(event.type in GIVEN_UP for event in ended)
    unknown = any(event.data.get("deleted") for event in ended)
    return bool(proposal.pending) or (pull.state == "open" and given_up) or unknown


def _conflicts(shop: Workshop, commit: str) -> bool:
    """Whether git cannot merge it into the base; False for one that is not in this clone."""
    return shop.repo.resolve(commit) is not None and bool(merge_tree(shop.repo, shop.base.commit, commit)[1])
