"""The shared bank's own proposals: what a person reviewed, on a branch `sleep/tasks-<date>` of one commit.

The commit is a function of the files, of its parent and of the moment it was first made. The branch itself remembers
the latter two, so that nothing has to be recorded: it is ours, and as we left it, when its one commit is signed by the
tool and the fingerprint in its trailer is that of what it changes. Closing or deleting one decides nothing: its tasks
stay in the private bank and are offered again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import count

from skillopt_git import decide
from skillopt_git.anchors import put_away
from skillopt_git.branches import FOLDER, HEADS, remote_branches
from skillopt_git.decide import Desk, Done
from skillopt_git.errors import UsageError
from skillopt_git.gitrepo import GitRepo, Identity
from skillopt_git.history import Commit, is_ancestor
from skillopt_git.ids import Json, digest
from skillopt_git.model import Task, TasksFile
from skillopt_git.notebook import Notebook
from skillopt_git.redact import Scanner, without_hex
from skillopt_git.render import TaskLine, tasks_message
from skillopt_git.targets import SHARED_TASKS, Base, document_entry
from skillopt_git.tasksfile import composed, file_text, shared_files, texts
from skillopt_git.waiting import TRAILER, Waiting, waiting
from skillopt_git.worktrees import checked_out

Changes = Mapping[str, tuple[str, str] | None]  # path to mode and blob; None: the file goes


# --- what there is to share --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """What a proposal would do: its tasks, and the files as they would be (None: the file goes)."""

    new: tuple[Task, ...]
    changed: tuple[Task, ...]
    dropped: tuple[Task, ...]
    files: Mapping[str, TasksFile | None]

    def listed(self, needs: Mapping[str, str]) -> list[TaskLine]:
        kinds = {"new": self.new, "changed": self.changed, "dropped": self.dropped}
        return [
            TaskLine(
                what=what,
                task=task.id,
                ask=without_hex(task.ask),
                rule=without_hex("; ".join(needs[need] for need in task.needs if need in needs)),
            )
            for what, tasks in kinds.items()
            for task in tasks
        ]


def sharing(book: Notebook, there: Mapping[str, TasksFile]) -> Sharing:
    """What a person reviewed that the files `there` do not hold, or hold otherwise; and what was put out of them."""
    needs = {**book.bank.needs, **{need: text for file in there.values() for need, text in file.needs.items()}}
    known = {task.id: task for file in there.values() for task in file.tasks}
    ready = [task for task in book.bank.tasks if task.origin == "reviewed" and not book.stays(task)]
    new = [task for task in ready if task.id not in known]
    changed = {
        task.id: _in_its_place(task, known[task.id])
        for task in ready
        if task.id in known and _spelt(task, needs) != _spelt(known[task.id], needs)
    }
    gone = {name for name in book.bank.dropped if name in known}
    wanted: dict[str, list[Task]] = {
        path: [changed.get(task.id, task) for task in file.tasks if task.id not in gone] for path, file in there.items()
    }
    for task in new:
        wanted.setdefault(_path(task), []).append(task)
    files = {path: _file(there.get(path), tasks, needs) for path, tasks in wanted.items()}
    touched = {_path(task) for task in new} | {
        path for path, file in there.items() if any(task.id in gone or task.id in changed for task in file.tasks)
    }
    return Sharing(
        new=tuple(sorted(new, key=lambda task: task.id)),
        changed=tuple(changed[name] for name in sorted(changed)),
        dropped=tuple(known[name] for name in sorted(gone)),
        files={path: files[path] for path in sorted(touched)},
    )


def _in_its_place(task: Task, known: Task) -> Task:
    """The task as it is here, in the family and split it was shared with: those are decided once."""
    return replace(task, family=known.family or task.family, split=known.split or task.split)


def _spelt(task: Task, needs: Mapping[str, str]) -> str:
    """What of a task people decide; what each machine finds out for itself is no change."""
    bare = replace(task, family=None, split=None, sessions=(), outcome="unknown")
    return file_text(composed([bare], needs, reviewed=True))


def _path(task: Task) -> str:
    """One file a wish, so that who reviews it has together what belongs together."""
    need = min(task.needs, default="")
    name = need if re.fullmatch(r"n1-[0-9a-f]{1,64}", need) else f"n1-{digest(need)}"
    return f"{SHARED_TASKS}/{name}.json"


def _file(before: TasksFile | None, tasks: list[Task], needs: Mapping[str, str]) -> TasksFile | None:
    """What nobody has reviewed in a file stays unreviewed with what joins it."""
    return composed(tasks, needs, reviewed=before is None or before.reviewed) if tasks else None


NOTHING = Sharing(new=(), changed=(), dropped=(), files={})


# --- the branch --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What `propose` did. No branch: there was nothing to share; `moved`: whether the branch was written."""

    sharing: Sharing
    branch: str | None = None
    commit: str | None = None
    moved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """What a proposal of tasks is made with."""

    repo: GitRepo
    base: Base
    author: Identity
    scanner: Scanner
    now: datetime
    today: date

    def propose(self, book: Notebook) -> Shared:
        """Writes what there is to share to its branch: the open one, while it is as we left it, else a new one.

        The same again moves nothing. Raises `UsageError` where somebody else has a hand on the open branch, and
        `SafetyError` when a secret or a denied word would be shared.
        """
        found = sharing(book, shared_files(self.repo, self.base.commit))
        if not found.files or not self._unmerged(book):
            return Shared(sharing=NOTHING)
        open_ = next(waiting(self.repo, self.base), None)
        if open_ and self._holds(open_, found, book):
            return Shared(sharing=found, branch=open_.branch, commit=open_.tip.sha)
        self._refuse_taken(open_)
        parent, when = self._place(open_, found)
        changes = self._changes(found, parent)
        branch = open_.branch if open_ else self._name()
        commit = self._commit(found, book.needs, changes, branch, parent, when)
        self.repo.update_ref(f"{HEADS}{branch}", commit, open_.tip.sha if open_ else None, "skillopt-git: share tasks")
        return Shared(sharing=found, branch=branch, commit=commit, moved=True)

    def _unmerged(self, book: Notebook) -> bool:
        """Whether the local branch lacks something too: what was merged here need not have reached the base yet."""
        local = self.repo.ref(f"{HEADS}{self.base.branch}")
        return local in (None, self.base.commit) or bool(sharing(book, shared_files(self.repo, str(local))).files)

    def _place(self, open_: Waiting | None, found: Sharing) -> tuple[str, datetime]:
        """Parent and time of the commit: those it has, while the files below it are still those at the base."""
        if open_ is None:
            return self.base.commit, self.now
        (parent,) = open_.tip.parents
        paths = sorted(found.files)
        fresh = self.repo.entries(parent, paths) == self.repo.entries(self.base.commit, paths)
        kept = fresh and is_ancestor(self.repo, parent, self.base.commit)
        return parent if kept else self.base.commit, open_.tip.time

    def _holds(self, open_: Waiting, found: Sharing, book: Notebook) -> bool:
        """Whether the branch has it all, and if it is ours nothing else: what somebody else added is theirs to keep."""
        there = shared_files(self.repo, open_.tip.sha)
        if sharing(book, there).files:
            return False
        if not self._ours(open_.tip):
            return True
        (parent,) = open_.tip.parents
        touched = _changed(self.repo, parent, open_.tip.sha).keys() | found.files.keys()
        return all(path in found.files and _ids(there.get(path)) == _ids(found.files[path]) for path in touched)

    def _ours(self, tip: Commit) -> bool:
        """Whether the commit is as the tool made it, and all there is on its branch."""
        if len(tip.parents) != 1 or {tip.author, tip.committer} != {self.author}:
            return False
        return tip.trailer(TRAILER) == _fingerprint(_changed(self.repo, tip.parents[0], tip.sha))

    def _refuse_taken(self, open_: Waiting | None) -> None:
        if open_ is None:
            return
        sat_on = checked_out(self.repo, f"{HEADS}{open_.branch}")
        taken = "somebody committed to it" if not self._ours(open_.tip) else None
        why = f"it is checked out in {sat_on.path}" if sat_on is not None else taken
        if why:
            raise UsageError(f"{open_.branch} is left as it is, because {why}", "merge it, or delete it, and try again")

    def _changes(self, found: Sharing, parent: str) -> Changes:
        """The files as blobs. What may not be written there, or would tell a secret, is an error."""
        changes: dict[str, tuple[str, str] | None] = {}
        for path, file in found.files.items():
            entry = document_entry(self.repo, parent, path)
            mode, place = (entry.mode, entry.path) if entry else ("100644", path)
            changes[place] = None if file is None else (mode, self._blob(path, file))
        return changes

    def _blob(self, path: str, file: TasksFile) -> str:
        self.scanner.refuse(texts(file, path))
        return self.repo.write_blob(file_text(file).encode())

    def _commit(
        self, found: Sharing, needs: Mapping[str, str], changes: Changes, branch: str, parent: str, when: datetime
    ) -> str:
        message = tasks_message(found.listed(needs), trailers={TRAILER: _fingerprint(changes)})
        self.scanner.refuse({"the branch name": branch, "the commit's message": message})
        return self.repo.commit(parent=parent, changes=changes, message=message, author=self.author, when=when)

    def _name(self) -> str:
        used = {ref.removeprefix(HEADS) for ref in self.repo.refs(f"{HEADS}{FOLDER}")} | remote_branches(self.repo)
        first = f"{FOLDER}/tasks-{self.today:%Y-%m-%d}"
        return next(name for number in count(1) if (name := first if number == 1 else f"{first}-{number}") not in used)


def _ids(file: TasksFile | None) -> set[str]:
    return {task.id for task in file.tasks} if file else set()


def _changed(repo: GitRepo, before: str, after: str) -> Changes:
    old, new = ({entry.path: (entry.mode, entry.sha) for entry in repo.paths(commit)} for commit in (before, after))
    return {path: new.get(path) for path in {*old, *new} if old.get(path) != new.get(path)}


def _fingerprint(changes: Changes) -> str:
    told: dict[str, Json] = {path: None if change is None else list(change) for path, change in changes.items()}
    return digest(told)


# --- deciding ----------------------------------------------------------------------------------------------------


def adopt(desk: Desk, base: Base, branch: str) -> Done:
    """Merge a branch of tasks, as a proposal of rules is merged; whoever else committed to it."""
    branch = branch.removeprefix(HEADS)
    tip, ours = decide.branch_tip(desk.repo, branch), decide.base_tip(desk.repo, base.branch)
    if is_ancestor(desk.repo, tip, ours):
        return Done(edits=(), branch=base.branch, commit=ours, said=(f"{branch} had been merged already.",))
    message = f"Merge branch '{branch}'\n\nShares tasks that were reviewed.\n"
    commit = decide.merge(desk, base.branch, tip, message)
    said = (f"{branch} is merged: its tasks are shared.", f"`git revert -m 1 {commit[:12]}` takes them back.")
    return Done(edits=(), branch=base.branch, commit=commit, said=said)


def refuse(desk: Desk, branch: str) -> Done:
    """Take a branch of tasks away; nothing is remembered, for it proposed no rule."""
    branch = branch.removeprefix(HEADS)
    said = put_away(desk.repo, branch, decide.branch_tip(desk.repo, branch))
    left = "Nothing is rejected by that: its tasks stay in your bank, and `tasks propose` offers them again."
    return Done(edits=(), branch=branch, said=(said, left))
