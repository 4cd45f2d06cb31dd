"""Whether a ledger still is what was recorded: each commit holds all its parents did, and each record is what its name
says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skillopt_git.errors import SkilloptError
from skillopt_git.gitrepo import GitRepo
from skillopt_git.ids import event_id
from skillopt_git.ledger import Ledger, file_lines
from skillopt_git.model import Event

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """How many commits were looked through, and what was found wrong, in sentences."""

    commits: int
    findings: tuple[str, ...]


def audit(repo: GitRepo, ledger: Ledger) -> Audit:
    head = repo.ref(ledger.ref)
    if head is None:
        return Audit(commits=0, findings=())
    history = [line.split() for line in repo.run("rev-list", "--topo-order", "--parents", head).text.splitlines()]
    pairs = [(commit, parent) for commit, *parents in history for parent in parents]
    return Audit(commits=len(history), findings=(*_lost(repo, pairs), *_damaged(ledger), *_false(ledger)))


# --- nothing was taken away --------------------------------------------------------------------------------------


def _lost(repo: GitRepo, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    for (commit, parent), paths in zip(pairs, _rewritten(repo, pairs), strict=True):
        for path in paths:
            before = file_lines(repo.read(parent, path) or b"")
            after = set(file_lines(repo.read(commit, path) or b""))
            gone = sum(line not in after for line in before)
            if gone:
                yield f"{commit[:12]} took {gone} line{'s' * (gone != 1)} out of {path}"


def _rewritten(repo: GitRepo, pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Per pair the files of the parent from which the commit took lines away. A union only moves them."""
    asked = "".join(f"{commit} {parent}\n" for commit, parent in pairs).encode()
    options = ("--stdin", "--always", "-r", "--numstat", "--no-renames", "--text", "--no-ext-diff", "--no-textconv")
    found: list[list[str]] = []
    for line in repo.run("diff-tree", *options, data=asked).text.splitlines() if pairs else ():
        if _COMMIT.fullmatch(line):
            found.append([])
        elif line.split("\t")[1] != "0":
            found[-1].append(line.split("\t", 2)[2])
    return found


# --- each record is what its name says ---------------------------------------------------------------------------


def _damaged(ledger: Ledger) -> Iterator[str]:
    damaged = ledger.contents().damaged
    if damaged:
        yield f"{damaged} line{'s' * (damaged != 1)} cannot be what {'they say' if damaged > 1 else 'it says'}"


def _false(ledger: Ledger) -> Iterator[str]:
    kept = ledger.evidence_names()
    for name in sorted(kept):
        try:
            ledger.evidence(name)
        except SkilloptError as error:
            yield error.message
    for event in ledger.events():
        named = event.data.get("evidence")
        if named is not None and named not in kept:
            yield f"evidence {named}, which {event.type} event {event.id} names, is missing"
        if event.id not in _ids(event):
            yield f"{event.type} event {event.id} does not have the id of what it says"


def _ids(event: Event) -> tuple[str, ...]:
    """The ids an event may have, where its fields tell: those of decisions follow from what caused them."""
    subjects = {
        "run": event.run,
        "family": event.data.get("family"),
        "proposed": [event.data.get("branch"), event.edit],
        "published": [event.data.get("branch"), event.data.get("tip")],
    }
    if event.type not in subjects:
        return (event.id,)
    return (event_id(event.type, subjects[event.type], event.run or ""),)
