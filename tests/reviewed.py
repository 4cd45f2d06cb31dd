"""A repository with a bank that people reviewed: one wish, and as many tasks as a test needs; and its nights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from skillopt_git import nightly, roles
from skillopt_git.loading import load
from skillopt_git.model import Check, Task
from skillopt_git.nightly import Options, Ran
from skillopt_git.tasksfile import composed, file_text
from tests.helpers import Repository

NEED, RULE = "n1-0000000000000001", "Use pnpm, not npm"
TRAIN = 4
VERBS = ("Add", "Upgrade", "Remove", "Pin", "Replace")
PACKAGES = "lodash react vue axios chalk express jest vite eslint rollup mocha dayjs zod redux pino sharp knex".split()
PLACES = ("in the web app", "for the api", "in every package")


def bank_task(number: int, *, need: str = NEED, word: str = "pnpm") -> Task:
    """Task `number` of a wish: the first few to learn from, the others held out, each of a family and session of its
    own. An answer passes that holds the word."""
    words = (VERBS[number % len(VERBS)], PACKAGES[number % len(PACKAGES)], PLACES[number % len(PLACES)])
    own = f"{need[-4:]}{number:012x}"
    return Task(
        id=f"t1-{own}",
        ask=" ".join(words) if need == NEED else f"Start on {' '.join(words[1:]).lower()}, step {number}",
        needs=(need,),
        family=f"f1-{own}",
        split="train" if number < TRAIN else "val",
        checks=(Check(op="contains", arg=word),),
        sessions=(f"s{own}",),
        origin="reviewed",
    )


@dataclass(slots=True)
class Fortnight:
    """Nights one after another in one repository, simulated with noise."""

    repo: Repository
    home: Path
    flags: dict[str, Any]
    at: datetime = datetime(2026, 11, 1, 3, tzinfo=UTC)
    ran: list[Ran] = field(default_factory=list)

    def share(self, held_out: int) -> None:
        """So many held-out tasks on the base."""
        tasks = [bank_task(number) for number in range(TRAIN + held_out)]
        text = file_text(composed(tasks, {NEED: RULE}, reviewed=True))
        path = f".skillopt/tasks/{NEED}.json"
        if not (self.repo.path / path).exists() or (self.repo.path / path).read_text() != text:
            self.repo.commit(f"Share {held_out} tasks", {path: text})

    def night(self, **flags: Any) -> dict[str, Any]:
        given = {"harvest.claude_home": str(self.home), "replay.backend": "mock", **self.flags, **flags}
        config = load(self.repo.path, flags=given)
        at = self.at + timedelta(days=len(self.ran))
        clock: Callable[[], datetime] = lambda: at  # noqa: E731
        ran = nightly.run(
            self.repo.path,
            config,
            Options(),
            model=roles.chosen_model(config),
            clock=clock,
            notify=lambda _: None,
        )
        self.ran.append(ran)
        return ran.record
