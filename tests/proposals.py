"""Proposals without a night: their events are written down, and their branch is built as a run would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from skillopt_git.decide import Desk
from skillopt_git.gitrepo import GitRepo
from skillopt_git.ledger import Ledger
from skillopt_git.model import Edit, Event
from skillopt_git.outcomes import sync
from skillopt_git.publish import Built, publish
from skillopt_git.recall import History, Proposal, recall
from skillopt_git.stamp import Stamp, event
from skillopt_git.targets import Base, default_base
from tests.helpers import Repository
from tests.helpers_git import TOOL

NOW = datetime(2026, 11, 29, 3, tzinfo=UTC)
BRANCH = "sleep/2026-11-29"
LEDGER = "refs/skillopt/ledger"
MEMORY = "CLAUDE.md"
PNPM, TICKET, RUFF = "Use pnpm, not npm", "Put the ticket number in branch names", "Always run ruff first"


def memory(*rules: str, head: str = "# Notes for coding agents\n", tail: str = "") -> str:
    lines = "".join(f"- {rule}\n" for rule in rules)
    start, end = "<!-- SKILLOPT-SLEEP:LEARNED START -->", "<!-- SKILLOPT-SLEEP:LEARNED END -->"
    return f"{head}\n{start}\n{lines}{end}\n{tail}"


def add(text: str, target: str = MEMORY, need: str | None = None) -> Edit:
    return Edit(op="add", target=target, text=text, reason="It was asked for.", need=need)


def stamp(number: int = 1, *, simulated: bool = False) -> Stamp:
    return Stamp(run=f"20261129T030000Z-{number:08x}", now=NOW, simulated=simulated)


@dataclass(frozen=True)
class Nights:
    """A repository with its ledger, as nights with the given edits would leave it."""

    repository: Repository

    @cached_property
    def repo(self) -> GitRepo:
        return GitRepo.open(self.repository.path)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.repo, LEDGER, TOOL)

    @property
    def base(self) -> Base:
        return default_base(self.repo, "")

    def history(self) -> History:
        return recall(self.ledger.events(), simulated=True)

    def proposal(self, branch: str = BRANCH) -> Proposal:
        found = self.history().proposal(branch)
        assert found is not None
        return found

    def desk(self, number: int = 99) -> Desk:
        """After what people did before was recorded, as the verbs do it."""
        self.sync(number)
        return Desk(repo=self.repo, ledger=self.ledger, history=self.history(), author=TOOL, stamp=stamp(number))

    def append(self, events: Sequence[Event]) -> tuple[Event, ...]:
        return self.ledger.append(events, when=NOW, message="Record")

    def record(self, *edits: Edit, branch: str = BRANCH, number: int = 1, start: int = 0, **data: Any) -> None:
        """The `proposed` events of a night that broke off before it published."""
        self.append([self._proposed(edit, branch, number, start + at, data) for at, edit in enumerate(edits)])

    def _proposed(self, edit: Edit, branch: str, number: int, position: int, data: dict[str, Any]) -> Event:
        base = self.base
        entry = self.repo.entry(base.commit, edit.target)
        known: dict[str, Any] = {
            "branch": branch,
            "base_branch": base.branch,
            "base": base.commit,
            "base_blob": entry.sha if entry else None,
            "mode": entry.mode if entry else "100644",
            "kind": "skill" if edit.target.endswith("SKILL.md") else "memory",
            "position": position,
            "op": edit.op,
            "anchor": edit.anchor,
            "need": edit.need,
            "need_sessions": 2,
            "verdict": "strong",
            "why": "the held-out mean rose",
            "evidence": None,
            "baseline": 0.0,
            "candidate": 1.0,
            "night": 1,
            "model": "scripted",
            "optimizer": "scripted",
            "judge": "checks",
            "metric": "mixed",
            "rule": "strict",
            "version": "0.0.1",
            "ends": [],
        }
        simulated = bool(data.pop("simulated", False))
        about = {"edit": edit.id, "rule": edit.rule, "target": edit.target, "text": edit.sentence}
        said = stamp(number, simulated=simulated)
        return event("proposed", [branch, edit.id], said, **about, reason=edit.reason, data=known | data)

    def publish(self, branch: str = BRANCH, number: int = 1) -> Built:
        proposal = self.proposal(branch)
        said = stamp(number, simulated=proposal.simulated)
        return publish(self.repo, self.ledger, proposal, author=TOOL, stamp=said)[0]

    def propose(self, *edits: Edit, branch: str = BRANCH, number: int = 1, **data: Any) -> Built:
        self.record(*edits, branch=branch, number=number, **data)
        return self.publish(branch, number)

    def sync(self, number: int = 50) -> tuple[Event, ...]:
        """Notices and records; what was new."""
        return self.append(sync(self.repo, self.history(), self.base, stamp(number)))

    def noticed(self, number: int = 50) -> list[tuple[str, str | None]]:
        """What a sync finds, as (type, rule)."""
        return [(item.type, item.text) for item in self.sync(number)]
