"""What state the repository and its memory are in: who is at work, what the last night came to, what is scheduled.

Looked at, never touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from skillopt_git import scheduling, workshop
from skillopt_git.config import Config
from skillopt_git.errors import GitError, SkilloptError
from skillopt_git.findings import Finding, Findings
from skillopt_git.gitrepo import GitRepo
from skillopt_git.keeping import about_files, about_folders, usable
from skillopt_git.ledger import Contents, Ledger, last_run
from skillopt_git.private import Private
from skillopt_git.recall import History, recall
from skillopt_git.targets import Base
from skillopt_git.timetable import entry_id
from skillopt_git.worktrees import main_worktree

# After a power cut, say. The objects of the ledger are in other clones too, if it was ever pushed.
_MEND = (
    "`git fsck` names what is empty or missing: delete the empty files, then `git update-ref -d {ref}` and "
    "`skillopt-git ledger fetch`"
)


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


def look(
    repo: GitRepo, config: Config, environ: Mapping[str, str], found: Findings, *, base: Base | None, now: datetime
) -> Vitals:
    private = Private(repo.private_dir())
    identity = repo.identity()
    if identity is None:
        remedy = (
            "`git config --global user.name` and `user.email` set it; until then merges are made in the tool's name"
        )
        found.add(Finding("git does not know who you are", remedy))
    found.add(*about_folders(repo, private), *(about_files(private) if usable(private) else ()))
    ledger = workshop.ledger(config, repo)
    known = _ledger(ledger, found)
    history = _history(repo, config, known, found, base=base, now=now)
    last = last_run(known.events)
    return Vitals(
        identity=f"{identity.name} <{identity.email}>" if identity else None,
        ledger_ref=ledger.ref,
        ledger_commit=repo.ref(ledger.ref),
        events=len(known.events),
        damaged=known.damaged,
        at_work=private.holder() if usable(private) else None,
        last_night=None
        if last is None
        else LastNight(
            run=last.run or "",
            ts=last.ts,
            simulated=last.simulated,
            outcome=str(last.data["verdict"] or last.data["reason"]),
        ),
        pending=tuple(item.branch for item in history.proposals if item.open),
        schedules=tuple(_schedules(repo, environ, found, now)),
    )


# --- the memory --------------------------------------------------------------------------------------------------


def _ledger(ledger: Ledger, found: Findings) -> Contents:
    try:
        known = ledger.contents()
    except GitError as error:  # objects that are missing or empty
        found.add(Finding(f"the ledger cannot be read: {error.message}", _MEND.format(ref=ledger.ref), fault=True))
        return Contents()
    except SkilloptError as error:  # a newer tool's
        found.fault(error)
        return Contents()
    if known.damaged:
        remedy = "nothing else is lost; `skillopt-git ledger verify` says where, `ledger fetch` brings sound ones"
        lines = "one line" if known.damaged == 1 else f"{known.damaged} lines"
        found.add(Finding(f"{lines} of the ledger cannot be read, and is passed over", remedy))
    return known


def _history(
    repo: GitRepo, config: Config, known: Contents, found: Findings, *, base: Base | None, now: datetime
) -> History:
    """With what people did since, as `status` tells it, where that can be known."""
    if base is not None and known.events:
        try:
            return workshop.open_workshop(repo, config, now=now).everything()
        except SkilloptError as error:  # objects of a proposal or the base that are missing
            found.fault(error)
    return recall(known.events, simulated=True)


def _schedules(
    repo: GitRepo, environ: Mapping[str, str], found: Findings, now: datetime
) -> Iterator[scheduling.Standing]:
    """This repository's; what is wrong with one is a finding."""
    own = entry_id(str(main_worktree(repo)))
    standing, unread = scheduling.listed(environ, now=now)
    found.add(*(Finding(error.message, error.hint) for error in unread))
    for item in standing:
        if item.placed.id == own:
            problems = (*item.problems, *scheduling.foreseen(item, repo.root, environ))
            found.add(*(replace(each, what=f"scheduled with {item.scheduler}: {each.what}") for each in problems))
            yield item
