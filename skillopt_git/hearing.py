"""What people did to pull requests, as outcomes: merged, closed and why, opened again, an edit unticked.

What is at the base decides before anything that is said here. Seen again it is the same event, for its cause is the
forge's own id. Whoever can write to the repository is heard; their words are data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from skillopt_git.ids import event_id
from skillopt_git.model import Event
from skillopt_git.outcomes import settled
from skillopt_git.ports import Actor, ForgeEvent, PullRequest
from skillopt_git.recall import ADOPTIONS, History, Proposal
from skillopt_git.render import REASONS
from skillopt_git.stamp import Stamp, event

REASON_LABEL = "skillopt:reason/"
OURS = {  # labels that say we closed it ourselves, and as what
    "skillopt:adopted": "expired",  # its rules arrived some other way
    "skillopt:expired": "expired",
    "skillopt:gate-refused": "expired",
    "skillopt:superseded": "superseded",
}
LONGEST_WORDS = 500  # characters of a comment

_TICKED = re.compile(r"^\s*[-*] \[[xX]\] <!-- skillopt:reason=([a-z-]+) -->", re.MULTILINE)
_UNTICKED = re.compile(r"^\s*[-*] \[ \] <!-- skillopt:edit=(e1-[0-9a-f]{16}) -->", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One pull request, and what happened to it."""

    pull: PullRequest
    events: Sequence[ForgeEvent]


def outcomes(
    heard: Iterable[Heard], history: History, stamp: Stamp, *, known: Collection[str], clean: Callable[[str], str]
) -> tuple[Event, ...]:
    """The outcomes that the ledger does not know yet. `known` are the ids of its events, `clean` redacts a comment."""
    found: list[Event] = []
    for item in heard:
        proposal = history.proposal(item.pull.head)
        if proposal is not None:
            found += _Listening(item, proposal, stamp, known, clean).told()
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Listening:
    heard: Heard
    proposal: Proposal
    stamp: Stamp
    known: Collection[str]
    clean: Callable[[str], str]

    def told(self) -> Iterator[Event]:
        match self.heard.pull.state:
            case "open":
                yield from self._allowed_again()
                yield from self._unticked()
            case "merged":
                yield from self._left_out()
            case "closed":
                yield from self._refused()

    # --- open ---

    def _allowed_again(self) -> Iterator[Event]:
        """Opened again: what the closing refused is proposed again."""
        opened = [item for item in self.heard.events if item.kind == "reopened"]
        closings = [item for item in self.heard.events if item.kind == "closed"]
        for item in self.proposal.edits if opened else ():
            subject = [item.branch, item.edit.id]
            said = [event_id("rejected", [*subject], closing.id) for closing in closings]
            ends = [name for name in said if item.outcome is not None and item.outcome.id == name]
            if ends:
                yield event(
                    "unrejected",
                    [*subject],
                    self.stamp,
                    cause=opened[-1].id,
                    edit=item.edit.id,
                    rule=item.edit.rule,
                    target=item.edit.target,
                    text=item.edit.sentence,
                    actor=opened[-1].actor.login,
                    data={"ends": ends},
                )

    def _unticked(self) -> Iterator[Event]:
        """An edit whose box somebody cleared: only who may edit the page can do that."""
        cleared = set(_UNTICKED.findall(self.heard.pull.body))
        for item in self.proposal.pending:
            if item.edit.id in cleared:
                cause = f"{self.heard.pull.number}/{self.proposal.tip}/unticked"
                yield settled("rejected", item, self.stamp, cause=cause, reason=self._reason() or "unticked")

    # --- merged ---

    def _left_out(self) -> Iterator[Event]:
        """What the base has counts as adopted already. The rest was edited out, unless nothing of it arrived."""
        arrived = any(item.outcome is not None and item.outcome.type in ADOPTIONS for item in self.proposal.edits)
        cause = self.heard.pull.merge_commit or f"{self.heard.pull.number}/merged"
        for item in self.proposal.pending:
            if arrived:
                yield settled("rejected", item, self.stamp, cause=cause, reason="left out of the merge")
            else:
                yield settled("expired", item, self.stamp, cause=cause, reason="merged, and the base has nothing of it")

    # --- closed ---

    def _refused(self) -> Iterator[Event]:
        closing = next((item for item in reversed(self.heard.events) if item.kind == "closed"), None)
        cause = closing.id if closing else f"{self.heard.pull.number}/closed"
        mark = next((OURS[label] for label in sorted(self.heard.pull.labels) if label in OURS), None)
        gone = any(item.kind == "base_deleted" for item in self.heard.events)
        for item in self.proposal.pending:
            if mark is not None:
                yield settled(mark, item, self.stamp, cause=cause, reason="closed by skillopt-git")  # type: ignore[arg-type]
            elif (closing is not None and closing.actor.bot) or gone:
                why = "its base branch was deleted" if gone else f"closed by {closing.actor.login}, a bot"  # type: ignore[union-attr]
                yield settled("expired", item, self.stamp, cause=cause, reason=why)
            else:
                yield settled("rejected", item, self.stamp, cause=cause, reason=self._reason() or None)

    def _reason(self) -> str:
        """The first of boxes and labels, and the last thing that somebody said who may write here."""
        pull = self.heard.pull
        named = [*_TICKED.findall(pull.body), *(label.removeprefix(REASON_LABEL) for label in sorted(pull.labels))]
        words = [name for name in named if name in REASONS]
        said = [item.text for item in self.heard.events if item.kind == "commented" and _trusted(item.actor)]
        comment = self.clean(said[-1])[:LONGEST_WORDS].strip() if said else ""
        return ": ".join(filter(None, [*words[:1], comment]))


def _trusted(actor: Actor) -> bool:
    return actor.writes is True and not actor.bot
