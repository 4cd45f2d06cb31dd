"""Pull requests of one repository, as GitHub has them.

The emulator keeps what people write: title, body, draft, labels, comments, reviews. It knows no rules and does not
follow git, so three things are kept here: where the head is, how it was merged, and what happened in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from tests.helpers import Repository
from tests.rig import refusals
from tests.rig.accounts import Account
from tests.rig.loopback import Answer, Request
from tests.rig.merging import contains, merged
from tests.rig.mirror import branches

Json: TypeAlias = dict[str, Any]
Ask: TypeAlias = Callable[[Account, str, str, object], Answer]


@dataclass(frozen=True, slots=True)
class Pull:
    """`shows` are the fields that stand in for the emulator's once it is merged. `head` is OWNER:BRANCH for a branch of
    somebody's fork, of which git here knows nothing."""

    number: int
    node: str
    head: str
    base: str
    sha: str
    is_open: bool = True
    shows: Mapping[str, object] = field(default_factory=dict)
    events: tuple[Json, ...] = ()

    @property
    def from_fork(self) -> bool:
        return ":" in self.head


@dataclass(slots=True)
class Pulls:
    """`ask` asks the emulator, below the repository's own address; `people` is how it shows each account."""

    name: str
    git: Repository
    ask: Ask
    people: Mapping[str, Json]
    all: dict[int, Pull] = field(default_factory=dict)
    _events: int = 0

    # --- what people do ------------------------------------------------------------------------------------------

    def create(self, request: Request, account: Account) -> Answer:
        sent = request.json()
        head = str(sent.get("head")).removeprefix(f"{self.name.partition('/')[0]}:")
        if no := self._cannot_create(sent, head, str(sent.get("base"))):
            return no
        answer = self.ask(account, "POST", "/pulls", sent)
        if answer.status == 201:
            self.opened(answer.json(), head, branches(self.git)[head])
        return answer

    def opened(self, made: Json, head: str, sha: str) -> None:
        pull = Pull(made["number"], made["node_id"], head, made["base"]["ref"], sha)
        self.all[pull.number] = pull

    def edit(self, account: Account, pull: Pull, request: Request) -> Answer:
        """A draft stays one: only GraphQL changes that."""
        sent = {key: value for key, value in request.json().items() if key != "draft"}
        no = refusals.too_long(sent)
        if sent.get("base", pull.base) not in branches(self.git):
            no = refusals.invalid(field="base", code="invalid")
        if sent.get("state") == "open" and not pull.is_open:
            no = no or self._cannot_reopen(pull)
        if no:
            return no
        before = self.shown(account, pull)
        answer = self.ask(account, "PATCH", f"/pulls/{pull.number}", sent)
        if answer.status == 200:
            self._note_edit(account, pull, before, answer.json())
        return self.ask(account, "GET", f"/pulls/{pull.number}", None) if answer.status == 200 else answer

    def set_draft(self, account: Account, pull: Pull, *, draft: bool) -> None:
        was = self.shown(account, pull)["draft"]
        self.ask(account, "PATCH", f"/pulls/{pull.number}", {"draft": draft})
        if was != draft:
            self.note(pull, "convert_to_draft" if draft else "ready_for_review", account)

    def merge(self, account: Account, pull: Pull, request: Request) -> Answer:
        """By git; the caller tells everybody that the base moved."""
        sent, shown = request.json(), self.shown(account, pull)
        if no := self._cannot_merge(pull, shown, sent):
            return no
        way = sent.get("merge_method", "merge")
        if way not in {"merge", "squash"}:
            return refusals.NO_REBASE
        base = branches(self.git)[pull.base]
        owner = self.name.partition("/")[0]
        title = f"Merge pull request #{pull.number} from {owner}/{pull.head}"
        title, text = (title, shown["title"]) if way == "merge" else (f"{shown['title']} (#{pull.number})", "")
        message = f"{sent.get('commit_title') or title}\n\n{sent.get('commit_message') or text}".strip()
        commit = merged(self.git, base, pull.sha, message, way=way, author=account)
        if commit is None:
            return refusals.NOT_MERGEABLE
        self.git.git("update-ref", f"refs/heads/{pull.base}", commit, base)
        self._merged(pull, account, commit)
        return Answer.of(200, {"sha": commit, "merged": True, "message": "Pull Request successfully merged"})

    def was_merged(self, account: Account, pull: Pull, request: Request) -> Answer:
        del account, request
        return Answer(204) if pull.shows else refusals.NOT_FOUND

    # --- what git does -------------------------------------------------------------------------------------------

    def moved(self, account: Account, before: Mapping[str, str], heads: Mapping[str, str]) -> None:
        """`account` moved branches from where they were `before`: open pull requests follow, close, or count as
        merged."""
        for pull in [one for one in self.all.values() if not one.from_fork]:
            gone = pull.head in before and pull.head not in heads
            if gone:
                self.note(pull, "head_ref_deleted", account)
            if not pull.is_open:
                continue
            if gone:
                self._close(self.all[pull.number], account)
            elif pull.base not in heads:
                self.note(pull, "base_ref_deleted", account)
                self._close(self.all[pull.number], account)
            else:
                self._follow(pull, account, heads[pull.head], heads[pull.base])

    def _follow(self, pull: Pull, account: Account, head: str, base: str) -> None:
        if head != pull.sha:
            self.all[pull.number] = replace(pull, sha=head)
            if not contains(self.git, head, pull.sha):
                self.note(pull, "head_ref_force_pushed", account, commit_id=head)
        if contains(self.git, base, head):
            self._merged(self.all[pull.number], account, base)

    # --- what it refuses -----------------------------------------------------------------------------------------

    def _cannot_create(self, sent: Json, head: str, base: str) -> Answer | None:
        heads = branches(self.git)
        if not str(sent.get("title") or "").strip():
            return refusals.invalid(code="missing_field", field="title")
        for branch, place in ((base, "base"), (head, "head")):
            if branch not in heads:
                return refusals.invalid(field=place, code="invalid")
        if no := refusals.too_long(sent):
            return no
        if contains(self.git, heads[base], heads[head]):
            return refusals.rule(f"No commits between {base} and {head}")
        if self._open(head, base):
            return refusals.rule(f"A pull request already exists for {self.name.partition('/')[0]}:{head}.")
        return None

    def _cannot_reopen(self, pull: Pull) -> Answer | None:
        head = branches(self.git).get(pull.head)
        why = None
        if pull.shows:
            why = "The pull request is already merged."
        elif head is None:
            why = f"The {pull.head} branch has been deleted."
        elif not contains(self.git, head, pull.sha):
            why = f"The {pull.head} branch was force-pushed or recreated."
        elif self._open(pull.head, pull.base):
            why = f"There is already an open pull request from {pull.head} to {pull.base}."
        return refusals.rule(f"state cannot be changed. {why}", field="state") if why else None

    def _cannot_merge(self, pull: Pull, shown: Json, sent: Json) -> Answer | None:
        if not pull.is_open or pull.from_fork:
            return refusals.NOT_MERGEABLE
        if shown["draft"]:
            return refusals.STILL_A_DRAFT
        return None if sent.get("sha", pull.sha) == pull.sha else refusals.HEAD_MOVED

    def _open(self, head: str, base: str) -> bool:
        return any((pull.head, pull.base) == (head, base) for pull in self.all.values() if pull.is_open)

    # --- what is kept --------------------------------------------------------------------------------------------

    def note(self, pull: Pull, event: str, account: Account, **more: object) -> None:
        """One more event of this pull request."""
        self._events += 1
        made = {
            "id": self._events,
            "node_id": f"event-{self._events}",
            "actor": self.people[account.login],
            "event": event,
            "commit_id": None,
            "created_at": _now(),
            **more,
        }
        known = self.all[pull.number]
        self.all[pull.number] = replace(known, events=(*known.events, made))

    def shown(self, account: Account, pull: Pull) -> Json:
        return dict(self.ask(account, "GET", f"/pulls/{pull.number}", None).json())

    def corrected(self, shown: Json) -> None:
        """The emulator's own words about a pull request, where it is behind."""
        pull = self.all.get(shown["number"])
        if pull is not None:
            shown["head"]["sha"] = pull.sha
            shown |= {key: value for key, value in pull.shows.items() if key in shown}

    def _note_edit(self, account: Account, pull: Pull, before: Json, after: Json) -> None:
        if after["title"] != before["title"]:
            self.note(pull, "renamed", account, rename={"from": before["title"], "to": after["title"]})
        if after["base"]["ref"] != before["base"]["ref"]:
            self.all[pull.number] = replace(self.all[pull.number], base=after["base"]["ref"])
            self.note(pull, "base_ref_changed", account)
        if after["state"] != before["state"]:
            is_open = after["state"] == "open"
            sha = branches(self.git)[pull.head] if is_open else pull.sha
            self.all[pull.number] = replace(self.all[pull.number], is_open=is_open, sha=sha)
            self.note(pull, "reopened" if is_open else "closed", account)

    def _close(self, pull: Pull, account: Account) -> None:
        self.ask(account, "PATCH", f"/pulls/{pull.number}", {"state": "closed"})
        self.all[pull.number] = replace(pull, is_open=False)
        self.note(pull, "closed", account)

    def _merged(self, pull: Pull, account: Account, commit: str) -> None:
        by = self.people[account.login]
        shows = {"merged": True, "merged_at": _now(), "merged_by": by, "merge_commit_sha": commit, "mergeable": None}
        self.all[pull.number] = replace(pull, shows=shows)
        self.note(pull, "merged", account, commit_id=commit)
        self._close(self.all[pull.number], account)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
