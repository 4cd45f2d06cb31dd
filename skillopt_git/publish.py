"""From a proposal's events to its branch: one reproducible commit an edit, and a compare-and-swap of the ref.

A commit is a function of its edit, the base blob and the proposal's events; the same proposal always has the same tip.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import count

from skillopt_git import edits, present, render
from skillopt_git.branches import EDIT_TRAILER, FOLDER, HEADS, behind, merged, remote_branches
from skillopt_git.consolidate import lint
from skillopt_git.errors import ConfigError, GitError, RefMoved, SafetyError
from skillopt_git.gitrepo import GitRepo, Identity
from skillopt_git.history import Commit, log, show
from skillopt_git.ledger import Ledger
from skillopt_git.model import Event
from skillopt_git.recall import History, Proposal, Proposed
from skillopt_git.redact import Scanner
from skillopt_git.stamp import Stamp, event
from skillopt_git.targets import document_entry


@dataclass(frozen=True, slots=True)
class Built:
    """A proposal's commits, oldest first."""

    commits: tuple[str, ...]

    @property
    def tip(self) -> str:
        return self.commits[-1]


def branch_name(repo: GitRepo, history: History, today: date) -> str:
    """`sleep/<date>`, numbered where that name was used before: a settled branch is never written again."""
    if repo.ref(f"{HEADS}{FOLDER}"):
        raise ConfigError(f"a branch named {FOLDER} leaves no room for {FOLDER}/<date>", "rename or delete it")
    local = {ref.removeprefix(HEADS) for ref in repo.refs(f"{HEADS}{FOLDER}")}
    used = {proposal.branch for proposal in history.proposals} | local | remote_branches(repo)
    names = (f"{FOLDER}/{today:%Y-%m-%d}" + (f"-{number}" if number > 1 else "") for number in count(1))
    return next(name for name in names if name not in used)


def rebuilt(repo: GitRepo, ledger: Ledger, proposal: Proposal, author: Identity) -> bool:
    """Whether the branch holds just what is pending, though no event says so: who rebuilt it broke off before."""
    now = repo.ref(f"{HEADS}{proposal.branch}")
    if now is None or now in proposal.tips or not behind(proposal):
        return False
    built = build(repo, ledger.evidence, proposal, author, scanner=ledger.scanner)
    return now == finished(repo, built, replace(author, signs=False), now).tip


def publish(
    repo: GitRepo, ledger: Ledger, proposal: Proposal, *, author: Identity, stamp: Stamp
) -> tuple[Built, tuple[Event, ...]]:
    """Build the commits, move the branch, and say so in the ledger. Again is the same: nothing moves.

    Raises `RefMoved` when somebody moved the branch meanwhile, `SafetyError` when a secret or a denied word would be
    published.
    """
    ref = f"{HEADS}{proposal.branch}"
    now = repo.ref(ref)
    built = finished(repo, build(repo, ledger.evidence, proposal, author, scanner=ledger.scanner), author, now)
    if now != built.tip:
        _refusemerged(repo, proposal, now)
        old = now if now in proposal.tips else proposal.tip
        repo.update_ref(ref, built.tip, old, f"skillopt-git: {len(built.commits)} edits")
    if proposal.tips == {built.tip}:
        return built, ()
    said = _published(proposal, built, stamp)
    return built, ledger.append([said], when=stamp.now, message=f"Publish {proposal.branch}")


def _refusemerged(repo: GitRepo, proposal: Proposal, tip: str | None) -> None:
    """What was merged is decided: its branch is never written again, also when that was only just now."""
    if tip in proposal.tips and merged(repo, proposal, str(tip)):
        raise RefMoved(f"{proposal.branch} was merged meanwhile", "push the merge, then run it again")


def _published(proposal: Proposal, built: Built, stamp: Stamp) -> Event:
    ends = [event.id for event in proposal.publications]
    holds = [item.event.id for item in proposal.pending]
    base = present.base_of(proposal)
    data = {"branch": proposal.branch, "base": base, "tip": built.tip, "edits": holds, "ends": ends}
    return event("published", [proposal.branch, built.tip], stamp, data=data)


def build(
    repo: GitRepo, evidence_of: present.EvidenceOf, proposal: Proposal, author: Identity, *, scanner: Scanner
) -> Built:
    """The commits of a proposal's pending edits on their base, unsigned; no ref is moved."""
    author = replace(author, signs=False)
    when = datetime.fromisoformat(proposal.first.ts)
    base = present.base_of(proposal)
    scanner.refuse({"the branch name": proposal.branch})
    texts: dict[str, str] = {}
    commits: list[str] = []
    for item in proposal.pending:
        path = item.edit.target
        refused = lint(item.edit)
        if refused is not None:
            raise SafetyError(f"{item.edit.id} may not be published: {refused}")
        text = _taught(texts[path] if path in texts else _at_base(repo, base, item), item)
        texts[path] = text
        message = _message(item, evidence_of)
        scanner.refuse({path: text, f"the message of {item.edit.id}": message})
        parent = commits[-1] if commits else base
        change = {path: (str(item.event.data["mode"]), repo.write_blob(edits.encode(text)))}
        commits.append(repo.commit(parent=parent, changes=change, message=message, author=author, when=when))
    return Built(tuple(commits))


def finished(repo: GitRepo, built: Built, author: Identity, tip: str | None) -> Built:
    """The commits as they are to be published: signed if the author signs.

    A signature may differ from one time to the next, so commits at `tip` that say the same already are those.
    """
    if tip == built.tip:
        return built
    there = _same(repo, built, tip) if tip else None
    if there is not None or not author.signs:
        return there or built
    parent = show(repo, built.commits[0]).parents[0]
    signed: list[str] = []
    for sha in built.commits:
        item = show(repo, sha)
        parents = [signed[-1] if signed else parent]
        signed.append(repo.commit_tree(item.tree, parents, item.message, author, item.time))
    return Built(tuple(signed))


def _same(repo: GitRepo, built: Built, tip: str) -> Built | None:
    """The commits at `tip` if they are those of `built`, signatures aside."""
    base = show(repo, built.commits[0]).parents[0]
    there = log(repo, tip, most=len(built.commits))
    if len(there) < len(built.commits) or there[0].parents != (base,):
        return None
    alike = all(_content(one) == _content(show(repo, sha)) for one, sha in zip(there, built.commits, strict=True))
    return Built(tuple(item.sha for item in there)) if alike else None


def _content(commit: Commit) -> tuple[object, ...]:
    return commit.tree, commit.author, commit.committer, commit.time, commit.message


def _at_base(repo: GitRepo, base: str, item: Proposed) -> str:
    path = item.edit.target
    entry = document_entry(repo, base, path)
    return edits.scaffold(item.event.data["kind"], path) if entry is None else edits.decode(repo.blob(entry.sha))


def _taught(text: str, item: Proposed) -> str:
    applied = edits.apply(text, [item.edit])
    if applied.unmatched:
        raise GitError(f"{item.edit.id} does not fit {item.edit.target} any more: {applied.unmatched[0][1]}")
    return applied.text


def _message(item: Proposed, evidence_of: present.EvidenceOf) -> str:
    data = item.event.data
    trailers = {
        EDIT_TRAILER: item.edit.id,
        "SkillOpt-Run": item.event.run or "",
        "SkillOpt-Target": item.edit.target,
        "SkillOpt-Base-Blob": data["base_blob"] or "none",
        "SkillOpt-Gate": data["verdict"],
        "SkillOpt-Evidence": data["evidence"] or "none",
        "SkillOpt-Version": data["version"],
    }
    return render.commit_message(present.edit_view(item, evidence_of, as_proposed=True), trailers=trailers)
