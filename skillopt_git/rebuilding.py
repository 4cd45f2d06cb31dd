"""A ledger that was lost, from what the forge still has: the commits of its pull requests say what was proposed.

What people did with it is heard as ever. Splits, trials and gate results are gone for good.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from skillopt_git import edits
from skillopt_git.branches import EDIT_TRAILER, FOLDER
from skillopt_git.errors import ConfigError, GitError
from skillopt_git.gitrepo import GitRepo
from skillopt_git.history import Commit, log
from skillopt_git.model import GUIDANCE, Edit, Event
from skillopt_git.ports import PullRequest
from skillopt_git.remote import Remote
from skillopt_git.soundness import BRANCH
from skillopt_git.stamp import Stamp, event

MOST_COMMITS = 200  # of a pull request


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """`remote` has the heads of pull requests under `refs/pull/`, also of those whose branch is gone."""

    repo: GitRepo
    remote: Remote

    def events(self, pulls: Sequence[PullRequest], notes: list[str]) -> tuple[Event, ...]:
        """What was proposed and published, as the runs said it then: the same events, with less in them."""
        there = self.remote.refs("refs/pull/*/head", f"refs/heads/{FOLDER}/*")
        found: list[Event] = []
        for pull in sorted(pulls, key=lambda item: item.number):
            places = (f"refs/pull/{pull.number}/head", f"refs/heads/{pull.head}")
            ref = next((name for name in places if name in there), "")
            if not BRANCH.fullmatch(pull.head) or not ref:
                continue
            self.remote.fetch(ref)
            told = tuple(self._told(pull, there[ref]))
            found += told
            if not told:
                notes.append(f"{pull.url} holds no commit of this tool")
        return tuple(found)

    def _told(self, pull: PullRequest, tip: str) -> Iterator[Event]:
        ours = [item for item in log(self.repo, tip, most=MOST_COMMITS) if item.trailer(EDIT_TRAILER)]
        line = list(_chain(ours, tip))
        if not line:
            return
        base = line[0].parents[0]
        told = (self._proposed(pull, base, commit, at) for at, commit in enumerate(line))
        proposed = [item for item in told if item is not None]
        yield from proposed
        if proposed:
            stamp = _stamp(line[-1])
            holds = {"branch": pull.head, "base": base, "tip": tip, "edits": [item.id for item in proposed], "ends": []}
            yield event("published", [pull.head, tip], stamp, data=holds)

    def _proposed(self, pull: PullRequest, base: str, commit: Commit, position: int) -> Event | None:
        """The `proposed` event that this commit was made of; None where it does not say what its name claims."""
        target = commit.trailer("SkillOpt-Target") or ""
        edit = self._edit(commit, target)
        if edit is None or edit.id != commit.trailer(EDIT_TRAILER):
            return None
        entry = self.repo.entry(commit.sha, target)
        blob = commit.trailer("SkillOpt-Base-Blob")
        evidence = commit.trailer("SkillOpt-Evidence")
        data: dict[str, Any] = {
            "branch": pull.head,
            "base_branch": pull.base,
            "base": base,
            "base_blob": None if blob in (None, "none") else blob,
            "mode": entry.mode if entry else "100644",
            "kind": "skill" if target.endswith("SKILL.md") else "memory",
            "position": position,
            "op": edit.op,
            "anchor": edit.anchor,
            "need": None,
            "need_sessions": 0,
            "verdict": commit.trailer("SkillOpt-Gate") or "unverified",
            "why": "",
            "evidence": None if evidence in (None, "none") else evidence,
            "baseline": None,
            "candidate": None,
            "night": None,
            "model": "",
            "optimizer": "",
            "judge": "",
            "metric": "mixed",
            "rule": "strict",
            "version": commit.trailer("SkillOpt-Version") or "",
            "ends": [],
        }
        about = {"edit": edit.id, "rule": edit.rule, "target": target, "text": edit.sentence}
        return event("proposed", [pull.head, edit.id], _stamp(commit), **about, reason="", data=data)

    def _edit(self, commit: Commit, target: str) -> Edit | None:
        """What the commit did to the learned rules of its document, or to its guidance."""
        try:
            (before, old), (after, new) = (self._said(sha, target) for sha in (commit.parents[0], commit.sha))
        except (ConfigError, GitError):
            return None
        if before == after and new and new != old:
            return Edit(op="add", target=target, anchor=GUIDANCE, text=new[0])
        gone = [rule for rule in before if rule not in after]
        came = [rule for rule in after if rule not in before]
        if len(gone) > 1 or len(came) > 1 or not (gone or came):
            return None
        op = "add" if not gone else "delete" if not came else "replace"
        return Edit(
            op=op,  # type: ignore[arg-type]
            target=target,
            anchor=gone[0] if gone else None,
            text=came[0] if came else None,
        )

    def _said(self, commit: str, target: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The rules and the guidance."""
        data = self.repo.read(commit, target)
        text = "" if data is None else edits.decode(data)
        return edits.rules(text), edits.guidance(text)


def _chain(ours: Sequence[Commit], tip: str) -> Iterator[Commit]:
    """Our commits below the tip, each the parent of the next, the oldest first; what people added stands aside."""
    known = {item.sha: item for item in ours}
    line: list[Commit] = []
    at: str | None = tip if tip in known else (ours[-1].sha if ours else None)
    while at in known:
        line.append(known[at])
        at = known[at].parents[0] if known[at].parents else None
    yield from reversed(line)


def _stamp(commit: Commit) -> Stamp:
    when = commit.time.astimezone(UTC)
    simulated = re.match(r"\w+ \(simulated\): ", commit.message) is not None
    return Stamp(run=commit.trailer("SkillOpt-Run") or "", now=when, simulated=simulated)
