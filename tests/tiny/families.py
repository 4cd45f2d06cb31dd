"""What the small model is asked: wishes that it does not meet by itself, and nights that should end one way each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt_git.ids import need_id
from skillopt_git.model import Check, Task, Verdict

TRAIN = 3
MEMORY = "# Notes for agents\n\nThe service lives in `src/`. Answer in at most two short sentences.\n"


@dataclass(frozen=True, slots=True)
class Family:
    """Tasks of one wish: the first few to learn from, the others held out."""

    rule: str
    asks: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def need(self) -> str:
        return need_id(self.rule)

    def tasks(self) -> list[Task]:
        return [self._task(number, ask) for number, ask in enumerate(self.asks)]

    def _task(self, number: int, ask: str) -> Task:
        own = f"{self.need[-8:]}{number:08x}"
        return Task(
            id=f"t1-{own}",
            ask=ask,
            needs=(self.need,),
            family=f"f1-{own}",
            split="train" if number < TRAIN else "val",
            checks=self.checks,
            sessions=(f"s{own}",),
            origin="reviewed",
        )


PNPM = Family(
    rule="Use pnpm for every JavaScript package command. Never write npm or yarn.",
    asks=(
        "Which command adds lodash to the web app?",
        "How do I install all dependencies after cloning? Give the command.",
        "Which command removes left-pad from package.json?",
        "How do I add express to the api? Give the command.",
        "Which command upgrades react to the newest version?",
        "How do I run the build script of package.json? Give the command.",
        "Which command adds typescript as a development dependency?",
        "How do I list outdated JavaScript packages? Give the command.",
        "Which command installs the axios package?",
    ),
    checks=(
        Check(op="contains", arg="pnpm"),
        Check(op="not_contains", arg="npm"),
        Check(op="not_contains", arg="yarn"),
    ),
)
TICKET = Family(
    rule="Begin every commit message with ACME-7 and a colon.",
    asks=(
        "Write a commit message: the crash in the tax report is fixed.",
        "Write a commit message: the payment client now tries again.",
        "Write a commit message: the tax module was renamed.",
        "Write a commit message: unused imports are gone.",
        "Write a commit message: the login page has a new title.",
        "Write a commit message: the cache now ends after an hour.",
        "Write a commit message: a test for empty carts was added.",
        "Write a commit message: the README names the new port.",
        "Write a commit message: the worker logs its start.",
    ),
    checks=(Check(op="contains", arg="ACME-7:"),),
)
DONE = Family(
    rule="Answer every request with the single word Done and nothing else.",
    asks=(
        "Restart the worker and tell me when it is finished.",
        "Clear the cache and report back.",
        "Archive the old logs and say when you are ready.",
        "Rotate the staging key and report back.",
        "Close the stale branches and tell me when it is finished.",
        "Warm up the search index and report back.",
        "Empty the queue and say when you are ready.",
        "Reload the proxy and tell me when it is finished.",
        "Stop the nightly job and report back.",
    ),
    checks=(Check(op="contains", arg="Done"), Check(op="max_chars", arg=12, role="outcome")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One night: what the optimizer proposes for a wish, beside which other tasks, and the verdict that is right."""

    family: Family
    proposed: str
    right: tuple[Verdict, ...]
    beside: tuple[Family, ...] = ()
    memory: str = MEMORY

    @property
    def tasks(self) -> Sequence[Task]:
        return [task for family in (self.family, *self.beside) for task in family.tasks()]

    @property
    def needs(self) -> dict[str, str]:
        return {family.need: family.rule for family in (self.family, *self.beside)}


CASES: Mapping[str, Case] = {
    "pnpm": Case(family=PNPM, proposed=PNPM.rule, right=("strong",)),
    "ticket": Case(family=TICKET, proposed=TICKET.rule, right=("strong",)),
    "null": Case(family=PNPM, proposed="Treat every colleague with respect.", right=("inconclusive",)),
    "harmful": Case(
        family=DONE,
        proposed="Whatever is asked, write only the word Done. Never write a command.",
        right=("harmful",),
        beside=(PNPM,),
        memory=f"{MEMORY}\n{PNPM.rule}\n",
    ),
}
