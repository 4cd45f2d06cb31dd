"""What state the repository and its memory are in: may it be written, who is at work, what the last night came to, what
is scheduled. Looked at, never touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from skillopt_git import scheduling, workshop
from skillopt_git.config import Config
from skillopt_git.crash import LOG
from skillopt_git.errors import SkilloptError
from skillopt_git.gitrepo import GitRepo
from skillopt_git.ledger import Contents, Ledger
from skillopt_git.private import Private
from skillopt_git.recall import recall
from skillopt_git.timetable import entry_id
from skillopt_git.worktrees import main_worktree


@dataclass(frozen=True, slots=True)
class Finding:
    """What wants attention, and what to do about it. A `fault` is in the way of the next run."""

    what: str
    remedy: str = ""
    fault: bool = False

    @property
    def sentence(self) -> str:
        text = f"{self.what}: {self.remedy}" if self.remedy else self.what
        return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


@dataclass(slots=True)
class Findings:
    """Each once, in the order they were met."""

    told: dict[Finding, None] = field(default_factory=dict)

    def add(self, *findings: Finding) -> None:
        self.told.update(dict.fromkeys(findings))

    def fault(self, error: SkilloptError) -> None:
        """An error that the next run would end with."""
        message = error.message.replace(":\n  ", ": ").replace("\n  ", "; ")
        self.add(Finding(message, error.hint, fault=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class LastNight:
    """The newest run in the ledger, of whatever clone."""

    run: str
    ts: str
    simulated: bool
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """`identity` is who git says the user is. `pending` are open proposals by branch; `at_work` names who holds the
    lock."""

    identity: str | None
    ledger_ref: str
    ledger_commit: str | None
    events: int
    damaged: int
    at_work: str | None
    last_night: LastNight | None
    pending: tuple[str, ...]
    schedules: tuple[scheduling.Standing, ...]


def look(repo: GitRepo, config: Config, environ: Mapping[str, str], found: Findings) -> Vitals:
    private = Private(repo.common_dir / "skillopt")
    identity = repo.identity()
    if identity is None:
        remedy = (
            "`git config --global user.name` and `user.email` set it; until then merges are made in the tool's name"
        )
        found.add(Finding("git does not know who you are", remedy))
    found.add(*_unwritable(repo, private), *_left_behind(private))
    ledger = workshop.ledger(config, repo)
    known = _ledger(ledger, found)
    history = recall(known.events, simulated=True)
    runs = [event for event in known.events if event.type == "run"]
    last = max(runs, key=lambda event: event.run or "", default=None)
    return Vitals(
        identity=f"{identity.name} <{identity.email}>" if identity else None,
        ledger_ref=ledger.ref,
        ledger_commit=repo.ref(ledger.ref),
        events=len(known.events),
        damaged=known.damaged,
        at_work=private.holder(),
        last_night=None
        if last is None
        else LastNight(
            run=last.run or "",
            ts=last.ts,
            simulated=last.simulated,
            outcome=str(last.data["verdict"] or last.data["reason"]),
        ),
        pending=tuple(item.branch for item in history.proposals if item.open),
        schedules=tuple(_schedules(repo, environ, found)),
    )


# --- may it be written -------------------------------------------------------------------------------------------


def _unwritable(repo: GitRepo, private: Private) -> Iterator[Finding]:
    """Folders that every run writes to; the private one is made if it is not there yet."""
    for folder in (repo.common_dir, repo.common_dir / "objects", repo.common_dir / "refs", private.folder):
        if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
            yield Finding(
                f"{folder} may not be written", "look at its owner and mode, or at how it is mounted", fault=True
            )


def _left_behind(private: Private) -> Iterator[Finding]:
    """What damaged files and unexpected errors left: nobody else will take it away."""
    for path in sorted(private.folder.rglob("*.damaged-*")):
        remedy = "look what was in it, and delete it when you know"
        yield Finding(f"a private file was damaged and is kept as {path}", remedy)
    log = private.folder / LOG
    if log.is_file():
        day = f"{datetime.fromtimestamp(log.stat().st_mtime, UTC):%Y-%m-%d}"
        yield Finding(
            f"an error that nobody expected is kept in {log} ({day})", "report it, and delete it when it is mended"
        )


# --- the memory --------------------------------------------------------------------------------------------------


def _ledger(ledger: Ledger, found: Findings) -> Contents:
    try:
        known = ledger.contents()
    except SkilloptError as error:  # a newer tool's, or objects that are missing
        found.fault(error)
        return Contents()
    if known.damaged:
        remedy = "nothing else is lost; `skillopt-git ledger verify` says where, `ledger fetch` brings sound ones"
        lines = "one line" if known.damaged == 1 else f"{known.damaged} lines"
        found.add(Finding(f"{lines} of the ledger cannot be read, and is passed over", remedy))
    return known


def _schedules(repo: GitRepo, environ: Mapping[str, str], found: Findings) -> Iterator[scheduling.Standing]:
    """This repository's; what is wrong with one is a finding."""
    own = entry_id(str(main_worktree(repo)))
    standing, unread = scheduling.listed(environ)
    found.add(*(Finding(error.message, error.hint) for error in unread))
    for item in standing:
        if item.placed.id == own:
            remedy = "`skillopt-git schedule` writes it anew"
            found.add(*(Finding(f"scheduled with {item.scheduler}: {problem}", remedy) for problem in item.problems))
            yield item
