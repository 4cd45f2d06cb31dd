"""A forge in memory beside a real server of git: what people do on it is done by the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from skillopt_git.errors import ForgeError
from skillopt_git.ports import Actor, ForgeEvent, ForgeEventKind, PullDraft, PullRequest
from tests.helpers import Repository

ALICE = Actor(login="alice", writes=True)
STALE = Actor(login="stale", bot=True, writes=True)
GUEST = Actor(login="guest", writes=False)
US = Actor(login="skillopt", writes=True)


@dataclass
class Hub:
    """Implements `Forge`. `writes` names each write, so that a test can say that there were none."""

    server: Repository
    pulls: dict[int, PullRequest] = field(default_factory=dict)
    told: dict[int, list[ForgeEvent]] = field(default_factory=dict)
    comments: dict[tuple[int, str], str] = field(default_factory=dict)
    asked: dict[int, tuple[str, ...]] = field(default_factory=dict)
    issues: list[tuple[str, str, str]] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    refused: dict[str, ForgeError] = field(default_factory=dict)  # by write
    is_public: bool = False
    name: str = "github.example/acme/acme-api"
    ids: Any = field(default_factory=lambda: count(1))

    # --- as the tool sees it ---

    def default_branch(self) -> str:
        return "main"

    def public(self) -> bool:
        return self.is_public

    def find(self, prefix: str) -> Sequence[PullRequest]:
        found = [self.get(number) for number, pull in self.pulls.items() if pull.head.startswith(prefix)]
        return sorted(found, key=lambda pull: -pull.number)

    def get(self, number: int) -> PullRequest:
        pull = self.pulls[number]
        tip = self.tip(pull.head)
        if tip and pull.state == "open":  # a closed one stays where it was closed
            self.server.git("update-ref", f"refs/pull/{number}/head", tip)
            self.pulls[number] = pull = replace(pull, head_sha=tip)
        return pull

    def create(self, asked: PullDraft) -> PullRequest:
        self._write("create")
        assert self.tip(asked.head), "the head is pushed first"
        number = len(self.pulls) + 1
        pull = PullRequest(
            number=number,
            url=f"https://{self.name}/pull/{number}",
            state="open",
            draft=asked.draft,
            title=asked.title,
            body=asked.body,
            head=asked.head,
            head_sha=self.tip(asked.head),
            base=asked.base,
            author=US,
            ours=True,
        )
        self.pulls[number], self.told[number] = pull, []
        self.server.git("update-ref", f"refs/pull/{number}/head", pull.head_sha)
        return pull

    def update(self, number: int, *, title: str | None = None, body: str | None = None) -> PullRequest:
        self._write("update")
        pull = self.pulls[number]
        self.pulls[number] = replace(pull, title=title or pull.title, body=body or pull.body)
        return self.get(number)

    def set_ready(self, number: int, *, ready: bool) -> bool:
        self._write("ready" if ready else "draft")
        self.pulls[number] = replace(self.pulls[number], draft=not ready)
        return True

    def label(self, number: int, names: Sequence[str]) -> None:
        self._write("label")
        self.pulls[number] = replace(self.pulls[number], labels=self.pulls[number].labels | {*names})

    def unlabel(self, number: int, name: str) -> None:
        self._write("unlabel")
        self.pulls[number] = replace(self.pulls[number], labels=self.pulls[number].labels - {name})

    def ask_review(self, number: int, reviewers: Sequence[str]) -> None:
        self._write("review")
        self.asked[number] = tuple(reviewers)

    def comment(self, number: int, topic: str, text: str) -> None:
        if self.comments.get((number, topic)) != text:
            self._write("comment")
            self.comments[number, topic] = text

    def close(self, number: int) -> None:
        self._write("close")
        self.closed(number, US)

    def events(self, number: int) -> Sequence[ForgeEvent]:
        return tuple(self.told[number])

    def merge(self, number: int, *, sha: str) -> str:
        self._write("merge")
        if self.tip(self.pulls[number].head) != sha:
            raise ForgeError("moved", "the head is another one")
        return self.merged(number)

    def open_issue(self, title: str, body: str, label: str) -> str:
        self._write("issue")
        self.issues.append((title, body, label))
        return f"https://{self.name}/issues/{len(self.issues)}"

    def _write(self, what: str) -> None:
        if what in self.refused:
            raise self.refused[what]
        self.writes.append(what)

    def tip(self, branch: str) -> str:
        return self.server.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}").strip()

    # --- as people use it ---

    def closed(self, number: int, actor: Actor = ALICE) -> None:
        self.get(number)
        self.pulls[number] = replace(self.pulls[number], state="closed")
        self._said(number, "closed", actor)

    def reopened(self, number: int, actor: Actor = ALICE) -> None:
        self.pulls[number] = replace(self.pulls[number], state="open")
        self._said(number, "reopened", actor)

    def head_deleted(self, number: int) -> None:
        """Which closes it, as if whoever did it had closed it."""
        self.get(number)
        self.server.git("update-ref", "-d", f"refs/heads/{self.pulls[number].head}")
        self._said(number, "head_deleted", ALICE)
        self.told[number].append(replace(self.told[number][-1], id=f"e{next(self.ids)}", kind="closed"))
        self.pulls[number] = replace(self.pulls[number], state="closed")

    def said(self, number: int, text: str, actor: Actor = ALICE) -> None:
        self._said(number, "commented", actor, text)

    def labeled(self, number: int, name: str) -> None:
        self.pulls[number] = replace(self.pulls[number], labels=self.pulls[number].labels | {name})
        self._said(number, "labeled", ALICE, name)

    def base_deleted(self, number: int) -> None:
        self.pulls[number] = replace(self.pulls[number], state="closed")
        self._said(number, "base_deleted", ALICE)
        self._said(number, "closed", ALICE)

    def approved(self, number: int) -> None:
        self.pulls[number] = replace(self.pulls[number], approved=True)
        self._said(number, "reviewed", ALICE)

    def edited(self, number: int, before: str, after: str) -> None:
        body = self.pulls[number].body
        assert before in body
        self.pulls[number] = replace(self.pulls[number], body=body.replace(before, after, 1))

    def merged(self, number: int, *, how: str = "merge") -> str:
        """By a button: as a merge commit, or squashed."""
        pull = self.pulls[number]
        tree = self.server.git("merge-tree", "--write-tree", "main", pull.head).strip()
        parents = ["-p", "main", "-p", pull.head] if how == "merge" else ["-p", "main"]
        commit = self.server.git("commit-tree", tree, *parents, "-m", f"{pull.title} (#{number})").strip()
        self.arrived(number, commit)
        return commit

    def arrived(self, number: int, commit: str) -> None:
        self.server.git("update-ref", "refs/heads/main", commit)
        self.pulls[number] = replace(self.pulls[number], state="merged", merge_commit=commit)
        self._said(number, "merged", ALICE)

    def _said(self, number: int, kind: ForgeEventKind, actor: Actor, text: str = "") -> None:
        ts = f"2026-11-29T04:00:{len(self.told[number]):02d}Z"
        self.told[number].append(ForgeEvent(id=f"e{next(self.ids)}", kind=kind, actor=actor, ts=ts, text=text))
