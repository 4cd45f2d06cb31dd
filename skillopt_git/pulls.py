"""A proposal as a pull request: found before it is made, written only where it says something else, never reopened."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from skillopt_git.errors import ForgeError
from skillopt_git.hearing import Heard, metadata
from skillopt_git.ports import Forge, PullDraft, PullRequest
from skillopt_git.recall import ADOPTIONS, Proposal
from skillopt_git.render import said

MARK = "skillopt"
PAUSE = "skillopt:pause"
ACTIONS = "github-actions[bot]"
MOST_KEPT = 4_000  # characters of a person's own notes: with the body they fit a forge's limit

_NOTES = re.compile(r"(?<=<!-- skillopt:human -->\n).*(?=\n<!-- /skillopt:human -->)", re.DOTALL)

_MARKED = re.compile(r" - (superseded|adopted|expired)\Z")

_CHECKS = (
    "its checks start when somebody who may write approves them on its page; with the token of an App they would start"
)

Operation = Literal["created", "updated", "closed", "none", "held", "issue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a pull request shall say. `body` begins with its metadata; `draft`: it is not proven."""

    title: str
    body: str
    draft: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Whom and what the settings want on it."""

    labels: Sequence[str] = (MARK,)
    reviewers: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was done. `url` is the pull request's, or that of the issue that stands for it."""

    operation: Operation
    pull: PullRequest | None = None
    url: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Teller:
    """Brings proposals to a forge. `pulls` are all pull requests of our branches, as they were found."""

    forge: Forge
    pulls: Sequence[PullRequest]
    asked: Asked = field(default_factory=Asked)

    def tell(self, proposal: Proposal, page: Page) -> Told:
        """The pull request of an open proposal whose branch is there. A branch that cannot get one keeps."""
        known = [pull for pull in self.pulls if (pull.head, pull.base) == (proposal.branch, proposal.base_branch)]
        open_ = next((pull for pull in known if pull.state == "open"), None)
        if open_ is not None:
            return self._updated(open_, page)
        if known:
            why = f"{proposal.branch} is left alone: its pull request {known[0].url} is {known[0].state}"
            return Told(operation="none", pull=known[0], url=known[0].url, notes=(why,))
        return self._created(proposal, page)

    # --- open ones ---

    def _updated(self, pull: PullRequest, page: Page) -> Told:
        before, now = metadata(pull.body), metadata(page.body)
        if before is None:  # somebody opened it by hand: what it says is theirs
            return Told(operation="none", pull=pull, url=pull.url)
        changed = before.get("says") != now["says"] if now else False
        if changed:
            heard = pull.body
            pull = self.forge.get(pull.number)
            if pull.body != heard or pull.state != "open":  # somebody is at it just now: they are heard first
                why = f"{pull.url} changed a moment ago: the next run hears that first"
                return Told(operation="none", pull=pull, url=pull.url, notes=(why,))
            pull = self.forge.update(pull.number, title=page.title, body=with_notes(page.body, pull.body))
        if before.get("draft") != page.draft and pull.draft != page.draft:
            changed = self.forge.set_ready(pull.number, ready=not page.draft) or changed
        return Told(operation="updated" if changed else "none", pull=pull, url=pull.url)

    def _created(self, proposal: Proposal, page: Page) -> Told:
        draft = PullDraft(
            title=page.title, body=page.body, head=proposal.branch, base=proposal.base_branch, draft=page.draft
        )
        try:
            pull = self.forge.create(draft)
        except ForgeError as error:
            if error.kind not in ("forbidden", "not_permitted"):
                raise
            return self._instead(page, error)
        notes = []
        if pull.author.login == ACTIONS:
            notes.append(f"{pull.url} was opened with the workflow's own token: {_CHECKS}")
        try:
            self.forge.label(pull.number, self.asked.labels)
            if self.asked.reviewers and not page.draft:
                self.forge.ask_review(pull.number, self.asked.reviewers)
        except ForgeError as error:  # the proposal is there; what hangs on it comes with a later night
            notes.append(f"{pull.url}: {error.message}")
        return Told(operation="created", pull=pull, url=pull.url, notes=tuple(notes))

    def _instead(self, page: Page, refused: ForgeError) -> Told:
        """An issue that says what the pull request would have said; where there are none, the run's own report."""
        why = refused.message + (f"; {refused.hint}" if refused.hint else "")
        try:
            url = self.forge.open_issue(page.title, page.body, self.asked.labels[0] if self.asked.labels else MARK)
        except ForgeError as error:
            return Told(operation="none", notes=(f"no pull request: {why}", f"and no issue: {error.message}"))
        return Told(operation="issue", url=url, notes=(f"no pull request, but an issue ({url}): {why}",))

    # --- settled ones ---

    def put_away(self, proposals: Iterable[Proposal], heir: Proposal | None, place: PullRequest | None) -> list[str]:
        """Closes what is open of proposals that are settled. Marked first, so that nobody takes it for a refusal.
        `place` is the pull request of `heir`, to which what it replaced leads whoever looks there."""
        notes = []
        settled = {item.branch: item for item in proposals if not item.pending}
        for pull in self.pulls:
            proposal = settled.get(pull.head)
            mine = pull.ours and metadata(pull.body) is not None
            if pull.state != "open" or proposal is None or not mine or pull.base != proposal.base_branch:
                continue
            if Heard(pull=pull, events=self.forge.events(pull.number)).opened_again is not None:
                continue
            how = {item.outcome.type for item in proposal.edits if item.outcome is not None}
            if "rejected" not in how:
                self.forge.label(pull.number, [_label(how)])
                self.forge.update(pull.number, title=f"{unmarked(pull.title)} - {_mark(how)}")
            lead = f"Superseded by\n- #{place.number}\n\n" if place is not None and _replaces(heir, proposal) else ""
            self.forge.comment(pull.number, "settled", f"{lead}{_why(proposal)}")
            self.forge.close(pull.number)
            notes.append(f"{pull.url} is closed: {', '.join(sorted(how))}")
        return notes


def unmarked(title: str) -> str:
    """Without what closing put behind it."""
    return _MARKED.sub("", title)


def _mark(how: Collection[str]) -> str:
    if "superseded" in how:
        return "superseded"
    return "adopted" if ADOPTIONS & {*how} else "expired"


def _label(how: Collection[str]) -> str:
    return f"skillopt:{_mark(how)}"


def _replaces(heir: Proposal | None, proposal: Proposal) -> bool:
    """Whether the run that proposed something of `heir` gave the other one up for it."""
    runs = {item.event.run for item in heir.edits} if heir is not None else set()
    outcomes = (item.outcome for item in proposal.edits if item.outcome is not None)
    return any(outcome.type == "superseded" and outcome.run in runs for outcome in outcomes)


def _why(proposal: Proposal) -> str:
    reasons = dict.fromkeys(
        f"{item.outcome.type}{f': {said(item.outcome.reason)}' if item.outcome.reason else ''}"
        for item in proposal.edits
        if item.outcome is not None
    )
    return f"Closed by skillopt-git. What became of its rules: {'; '.join(reasons)}."


# --- bodies ------------------------------------------------------------------------------------------------------


def with_notes(body: str, before: str) -> str:
    """The new body with a person's own notes as they were; all of it fits what a forge takes."""
    notes = own_notes(before)
    if notes is None:
        return body
    return _NOTES.sub(lambda _: notes[:MOST_KEPT], body)


def own_notes(body: str) -> str | None:
    """What stands between the two marks on a page, where they are there."""
    notes = _NOTES.search(body.replace("\r\n", "\n"))
    return None if notes is None else notes[0]
