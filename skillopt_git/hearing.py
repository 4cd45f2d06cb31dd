"""What people did to pull requests, as outcomes: merged, closed and why, opened again, an edit unticked.

What is at the base decides before anything that is said here, and nothing is decided that the pull request did not
hold. Seen again it is the same event, for its cause is the forge's own id. Whoever can write to the repository is
heard; their words are data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skillopt_git.branches import on_branch
from skillopt_git.model import Event
from skillopt_git.outcomes import settled
from skillopt_git.ports import Actor, ForgeEvent, PullRequest
from skillopt_git.recall import ADOPTIONS, History, Proposal, Proposed
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

_METADATA = re.compile(r"\A<!-- skillopt: (\{.*?\}) -->")
_TICKED = re.compile(r"^\s*[-*] \[[xX]\] <!-- skillopt:reason=([a-z-]+) -->", re.MULTILINE)
_UNTICKED = re.compile(r"^\s*[-*] \[ \] <!-- skillopt:edit=(e1-[0-9a-f]{16}) -->", re.MULTILINE)
_GIVEN_UP = frozenset({"rejected", "expired", "superseded"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One pull request, and what happened to it."""

    pull: PullRequest
    events: Sequence[ForgeEvent]

    @property
    def opened_again(self) -> ForgeEvent | None:
        """That a person opened it again, if that is the last word."""
        last = next((item for item in reversed(self.events) if item.kind in ("closed", "reopened", "merged")), None)
        return last if last is not None and last.kind == "reopened" and not last.actor.bot else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ears:
    """What telling outcomes needs: memory, the ledger's events, whether the base has a commit, and how to redact."""

    history: History
    published: Sequence[Event]
    has: Callable[[str], bool]
    stamp: Stamp
    clean: Callable[[str], str]

    def outcomes(self, heard: Iterable[Heard]) -> tuple[Event, ...]:
        """Those of the pull requests of our proposals. Where one of a branch is open, closed ones are history."""
        heard = list(heard)
        open_ = {item.pull.head for item in heard if item.pull.state == "open"}
        found: list[Event] = []
        for item in heard:
            proposal = self.history.proposal(item.pull.head)
            if proposal is None or item.pull.base != proposal.base_branch:
                continue
            if item.pull.state == "open" or item.pull.head not in open_:
                found += _Listening(item, proposal, self).told()
        return tuple(found)


@dataclass(frozen=True, slots=True)
class _Listening:
    heard: Heard
    proposal: Proposal
    ears: Ears

    def told(self) -> Iterator[Event]:
        match self.heard.pull.state:
            case "open":
                yield from self._allowed_again()
                yield from self._unticked()
            case "merged":
                yield from self._left_out()
            case "closed":
                yield from self._refused()

    def _held(self) -> list[Proposed]:
        """The edits that stood on its page: by the commit it ends in, by what its page says, else by the branch."""
        pull, proposal = self.heard.pull, self.proposal
        tips = [item for item in self.ears.published if item.data["tip"] == pull.head_sha]
        events = {str(name) for item in tips for name in item.data.get("edits", ())}
        told = metadata(pull.body)
        names = {str(name) for name in told.get("edits", ())} if told else set()
        if events:
            return [item for item in proposal.edits if item.event.id in events]
        if names:
            return [item for item in proposal.edits if item.edit.id in names]
        return [item for item in proposal.edits if on_branch(proposal, item)]

    def _open(self, *, deleted: bool = False) -> list[Proposed]:
        """Those of them that nobody decided; also those of which only was known that their branch is gone."""
        return [
            item
            for item in self._held()
            if item.outcome is None or (deleted and item.outcome.data.get("deleted") is True)
        ]

    # --- open ---

    def _allowed_again(self) -> Iterator[Event]:
        """Opened again by a person: what was refused or given up is proposed again."""
        opened = self.heard.opened_again
        for item in self._held() if opened is not None else ():
            if opened is not None and item.outcome is not None and item.outcome.type in _GIVEN_UP:
                yield event(
                    "unrejected",
                    [item.branch, item.edit.id],
                    self.ears.stamp,
                    cause=opened.id,
                    edit=item.edit.id,
                    rule=item.edit.rule,
                    target=item.edit.target,
                    text=item.edit.sentence,
                    actor=opened.actor.login,
                    data={"ends": [item.outcome.id]},
                )

    def _unticked(self) -> Iterator[Event]:
        """An edit whose box somebody cleared: only who may edit the page can do that."""
        cleared = set(_UNTICKED.findall(self.heard.pull.body.replace("\r\n", "\n")))
        for item in self._open():
            if item.edit.id in cleared:
                cause = f"{self.heard.pull.number}/{self.proposal.tip}/unticked"
                reason = self._reason() or "unticked"
                yield settled("rejected", item, self.ears.stamp, cause=cause, reason=reason)

    # --- merged ---

    def _left_out(self) -> Iterator[Event]:
        """What the base has counts as adopted already. The rest was edited out, unless nothing of it arrived."""
        commit = self.heard.pull.merge_commit
        if commit is not None and not self.ears.has(commit):
            return  # merged a moment ago: the next look has the base as it is then
        arrived = any(item.outcome is not None and item.outcome.type in ADOPTIONS for item in self._held())
        cause = commit or f"{self.heard.pull.number}/merged"
        for item in self._open(deleted=True):
            if arrived:
                yield settled("rejected", item, self.ears.stamp, cause=cause, reason="left out of the merge")
            elif item.outcome is None:
                why = "merged, and the base has nothing of it"
                yield settled("expired", item, self.ears.stamp, cause=cause, reason=why)
        yield from self._too_late(cause)

    # --- closed ---

    def _refused(self) -> Iterator[Event]:
        at = next((at for at, item in reversed(list(enumerate(self.heard.events))) if item.kind == "closed"), None)
        closing = self.heard.events[at] if at is not None else None
        cause = closing.id if closing else f"{self.heard.pull.number}/closed"
        mark, why = self._by_nobody(closing)
        reason = self._reason() or None
        for item in self._open(deleted=True):
            if mark is None:
                yield settled("rejected", item, self.ears.stamp, cause=cause, reason=reason)
            elif item.outcome is None:
                yield settled(mark, item, self.ears.stamp, cause=cause, reason=why)
        yield from self._too_late(cause)

    def _by_nobody(self, closing: ForgeEvent | None) -> tuple[Any, str]:
        """What a closing is that refuses nothing, and why; None where a person refused."""
        ours = next((OURS[label] for label in sorted(self.heard.pull.labels) if label in OURS), None)
        if ours is not None:
            return ours, "closed by skillopt-git"
        if any(item.kind == "base_deleted" for item in self.heard.events):
            return "expired", "its base branch was deleted"
        if closing is not None and closing.actor.bot:
            return "expired", f"closed by {closing.actor.login}, a bot"
        if self._branch_went_first(closing) and not self._reason():
            return "expired", "its branch was deleted or renamed, which closed it"
        return None, ""

    def _branch_went_first(self, closing: ForgeEvent | None) -> bool:
        """Whether the closing only followed: who deletes a branch that is open refuses nothing by that."""
        gone = next((item for item in self.heard.events if item.kind == "head_deleted"), None)
        return gone is not None and closing is not None and gone.ts <= closing.ts

    def _too_late(self, cause: str) -> Iterator[Event]:
        """Edits that were recorded for its branch and never stood on its page: nobody decided about them."""
        held = {item.event.id for item in self._held()}
        for item in self.proposal.pending:
            if item.event.id not in held:
                why = "its pull request was decided before it stood there"
                yield settled("expired", item, self.ears.stamp, cause=cause, reason=why)

    def _reason(self) -> str:
        """The first of boxes and labels, and the last thing that somebody said who may write here."""
        pull = self.heard.pull
        named = [*ticked(pull.body), *(label.removeprefix(REASON_LABEL) for label in sorted(pull.labels))]
        words = [name for name in named if name in REASONS]
        said = [item.text for item in self.heard.events if item.kind == "commented" and _trusted(item.actor)]
        comment = self.ears.clean(said[-1])[:LONGEST_WORDS].strip() if said else ""
        return ": ".join(filter(None, [*words[:1], comment]))


def ticked(body: str) -> list[str]:
    """The reasons whose boxes on a page somebody ticked."""
    return _TICKED.findall(body.replace("\r\n", "\n"))


def _trusted(actor: Actor) -> bool:
    return actor.writes is True and not actor.bot


def metadata(body: str) -> dict[str, Any] | None:
    """What a page says of itself to machines: a hint, for whoever may write there can change it. None: not ours."""
    found = _METADATA.match(body.replace("\r\n", "\n"))
    if found is None:
        return None
    try:
        told = json.loads(found[1])
    except ValueError:
        return None
    return told if isinstance(told, dict) and isinstance(told.get("edits", []), list) else None
