"""Commits as they are read back, how they lie to each other, and trial merges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from skillopt_git.errors import GitError
from skillopt_git.gitrepo import Entry, GitRepo, Identity

_TRAILERS = "%(trailers:only=true,unfold=true,separator=%x1f,key_value_separator=%x1e)"
_GONE = "000000"  # the mode of a file that a commit deletes
_FIELDS = ("%H", "%T", "%P", "%an", "%ae", "%cn", "%ce", "%ct", _TRAILERS, "%B")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """`time` is the committer's, in UTC; `message` ends as it was written."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Identity
    committer: Identity
    time: datetime
    message: str
    trailers: tuple[tuple[str, str], ...]

    def trailer(self, name: str) -> str | None:
        """The last value of the trailer `name`."""
        return dict(self.trailers).get(name)


def log(repo: GitRepo, include: str, exclude: str | None = None, *, most: int | None = None) -> tuple[Commit, ...]:
    """The commits of `include` that `exclude` does not have, oldest first; of more than `most` the newest."""
    options = ["--topo-order", "--reverse", *([f"--max-count={most}"] if most else [])]
    revs = [_commit_id(repo, include), *([f"^{_commit_id(repo, exclude)}"] if exclude else [])]
    return _commits(repo, *options, *revs, "--")


def versions(repo: GitRepo, include: str, exclude: str | None, path: str) -> tuple[tuple[str, Entry | None], ...]:
    """What `path` is in each commit of the first-parent line of `include` that touches it, oldest first.

    Of the commits that `exclude` does not have; None where the commit deletes it.
    """
    options = (
        "--topo-order",
        "--reverse",
        "--first-parent",
        "--format=%H",
        "--raw",
        "-z",
        "--no-abbrev",
        "--no-renames",
    )
    revs = (_commit_id(repo, include), *((f"^{_commit_id(repo, exclude)}",) if exclude else ()))
    told = iter(repo.run("log", *options, "--diff-merges=first-parent", "--root", *revs, "--", path).fields)
    found: list[tuple[str, Entry | None]] = []
    commit = ""
    for text in (field.lstrip("\n") for field in told):
        if text.startswith(":"):
            _, mode, _, sha, _ = text.split(" ")
            if next(told) == path:
                found.append((commit, None if mode == _GONE else Entry(mode, sha, path)))
        else:
            commit = text
    return tuple(found)


def show(repo: GitRepo, rev: str) -> Commit:
    return _commits(repo, "--max-count=1", _commit_id(repo, rev), "--")[0]


def patch(repo: GitRepo, rev: str) -> str:
    """What the commit changes, against its first parent."""
    plain = ("--patch", "--no-color", "--no-ext-diff", "--no-textconv", "--no-commit-id", "--root", "-r")
    return repo.run("diff-tree", *plain, _commit_id(repo, rev), "--").out.decode("utf-8", "replace")


def authors(repo: GitRepo, rev: str, *, most: int) -> tuple[str, ...]:
    """The names of who wrote the last `most` commits, each once."""
    options = ["--no-commit-header", "--format=%an%x00", f"--max-count={most}"]
    named = repo.run("rev-list", *options, _commit_id(repo, rev), "--").fields
    return tuple(dict.fromkeys(name.strip() for name in named if name.strip()))


def is_ancestor(repo: GitRepo, ancestor: str, descendant: str) -> bool:
    if ancestor == descendant:
        return True
    lasting = (0,) if (repo.common_dir / "shallow").exists() else (0, 1)  # what was cut off may come
    sides = (ancestor, descendant)
    done = repo.once(sides, "merge-base", "--is-ancestor", "--end-of-options", *sides, lasting=lasting)
    if done.code > 1:
        raise done.error
    return done.code == 0


def merge_tree(repo: GitRepo, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """The tree of a trial merge, and the paths in conflict. Touches nothing."""
    # Resolved here: git reports an unknown revision like a conflict.
    sides = _commit_id(repo, ours), _commit_id(repo, theirs)
    done = repo.attempt("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", *sides)
    if done.code > 1:
        raise done.error
    tree, *conflicts = done.fields
    return tree, tuple(conflicts)


def _commit_id(repo: GitRepo, rev: str) -> str:
    sha = repo.resolve(rev)
    if sha is None:
        raise GitError(f"'{rev}' is not a commit of this repository")
    return sha


def _commits(repo: GitRepo, *args: str) -> tuple[Commit, ...]:
    template = "".join(f"{field}%x00" for field in _FIELDS)
    fields = repo.run("rev-list", "--no-commit-header", f"--format={template}", *args).fields
    return tuple(_commit(fields[at : at + len(_FIELDS)]) for at in range(0, len(fields), len(_FIELDS)))


def _commit(fields: Sequence[str]) -> Commit:
    sha, tree, parents, author, author_mail, committer, committer_mail, seconds, trailers, message = fields
    pairs = (line.partition("\x1e") for line in trailers.split("\x1f") if line)
    return Commit(
        sha=sha.lstrip("\n"),  # the line feed that ended the commit before
        tree=tree,
        parents=tuple(parents.split()),
        author=Identity(author, author_mail),
        committer=Identity(committer, committer_mail),
        time=datetime.fromtimestamp(int(seconds), UTC),
        message=message,
        trailers=tuple((name, value) for name, _, value in pairs),
    )
