"""The forge of a repository that has none within reach: nothing is proposed there, and nothing can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from skillopt_git.errors import ForgeError
from skillopt_git.ports import ForgeEvent, PullDraft, PullRequest


@dataclass(frozen=True, slots=True)
class Offline:
    """Answers what is true without a forge. `why` there is none, and `hint` what would give one, is told whoever wants
    something done."""

    branch: str
    why: str
    hint: str

    @property
    def name(self) -> str:
        return "offline"

    def default_branch(self) -> str:
        return self.branch

    def public(self) -> bool:
        return False

    def find(self, prefix: str) -> Sequence[PullRequest]:
        return ()

    def events(self, number: int) -> Sequence[ForgeEvent]:
        return ()

    def get(self, number: int) -> PullRequest:
        self._refuse(f"pull request {number} cannot be read")

    def create(self, asked: PullDraft) -> PullRequest:
        self._refuse(f"no pull request can be opened for {asked.head}")

    def update(self, number: int, *, title: str | None = None, body: str | None = None) -> PullRequest:
        self._refuse(f"pull request {number} cannot be changed")

    def set_ready(self, number: int, *, ready: bool) -> bool:
        self._refuse(f"pull request {number} cannot be changed")

    def label(self, number: int, names: Sequence[str]) -> None:
        self._refuse(f"pull request {number} cannot be labelled")

    def unlabel(self, number: int, name: str) -> None:
        self._refuse(f"pull request {number} cannot be labelled")

    def ask_review(self, number: int, reviewers: Sequence[str]) -> None:
        self._refuse(f"nobody can be asked to review pull request {number}")

    def comment(self, number: int, topic: str, text: str) -> None:
        self._refuse(f"pull request {number} cannot be commented on")

    def close(self, number: int) -> None:
        self._refuse(f"pull request {number} cannot be closed")

    def merge(self, number: int, *, sha: str) -> str:
        self._refuse(f"pull request {number} cannot be merged")

    def open_issue(self, title: str, body: str, label: str) -> str:
        self._refuse(f"the issue '{title}' cannot be opened")

    def _refuse(self, what: str) -> NoReturn:
        raise ForgeError("missing", f"{what}: {self.why}", self.hint)
