"""The four verbs that write, run for real in a repository, and judged by the git command: right, refused, or wrong."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args
from unittest.mock import patch

from skillopt_git import cli
from skillopt_git.model import Edit
from tests.helpers import Repository
from tests.helpers_git import files, snapshot, work_trees
from tests.nights import PNPM, SKILL, arguments, sessions
from tests.proposals import BRANCH, Nights, add

Verb: TypeAlias = Literal["run", "adopt", "reject", "revert"]
Picture: TypeAlias = dict[str, object]

VERBS: tuple[Verb, ...] = get_args(Verb)
RULE = "Use pnpm, not npm"
NOTES = b"# Notes\n\nBe kind.\n"
BLOCK = b"\n<!-- SKILLOPT-SLEEP:LEARNED START -->\n- Use pnpm, not npm\n<!-- SKILLOPT-SLEEP:LEARNED END -->\n"
RECORDED = {"run": "published", "adopt": "adopted", "reject": "rejected", "revert": "reverted"}


class Wrong(AssertionError):
    """A verb did what it should not, or left undone what it should have done."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A state a repository may be in when a verb is run.

    `make` builds it in a folder (`movable`: a copy elsewhere is as good), `change` brings it into its state after all
    that the verb builds on was made there. `path` is the file that is taught, `asked` how it is named; `before` and
    `after` are its bytes without and with the rule, as they are stored. `refused` gives the words with which a verb has
    to refuse; any other must be right.
    """

    name: str
    make: Callable[[Scenario, Path], Repository]
    movable: bool = False
    change: Callable[[Repository], None] = lambda _: None
    others: Mapping[str, str | bytes] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    path: str = SKILL
    asked: str = SKILL
    before: bytes | None = NOTES
    after: bytes = NOTES + BLOCK
    mode: str = "100644"
    number: str = ""  # of the branch a run makes
    kept: bool = False  # the branch, by a rejection
    signer: str = "Alice Example"
    environment: Callable[[Path], Mapping[str, str]] = lambda _: {}
    refused: Mapping[Verb, str] = field(default_factory=dict)


# --- the world around a repository -------------------------------------------------------------------------------


@contextmanager
def surroundings(folder: Path) -> Iterator[None]:
    """A home, a place for temporary files and an environment of their own, all below `folder`."""
    for name in ("home", "temporary", "outside"):
        (folder / name).mkdir()
    settings = folder / "home" / ".gitconfig"
    settings.write_text("[user]\n\tname = Alice Example\n\temail = alice@example.invalid\n")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "temporary"),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": str(settings),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    with patch.dict(os.environ, environment, clear=True), patch.object(tempfile, "tempdir", environment["TMPDIR"]):
        yield


def picture(folder: Path, repo: Repository) -> Picture:
    """All that a verb might touch, by a name for each: the repository, and what lies around it."""
    taken: dict[str, object] = {**snapshot(repo)}
    refs, trees = taken.pop("refs"), taken.pop("trees")
    assert isinstance(refs, list)
    assert isinstance(trees, dict)
    around = {f"{name}/": files(folder / name) for name in ("home", "temporary", "outside", "claude")}
    told: Picture = {f"ref {name}": sha for name, sha in (line.split(" ") for line in refs)}
    for where, found in {**trees, "git/": taken.pop("git"), **around}.items():
        told |= {f"{where.rstrip('/')}/{path}": entry for path, entry in found.items()}
    told["names"] = [name for name in _names(taken.pop("names")) if name not in {"skillopt", "ORIG_HEAD"}]
    return told | taken


def _names(value: object) -> list[str]:
    assert isinstance(value, list)
    return value


def call(verb: Verb, *args: str, repo: Repository, home: Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the record."""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(StringIO()):
        code = cli.run([*arguments(verb, args, repo, home), "--json"])
    return code, json.loads(out.getvalue())


# --- one verb in one scenario ------------------------------------------------------------------------------------


def told(scenario: Scenario, verb: Verb, folder: Path, kept: Path | None = None) -> str:
    """`right`, or `refused: ` with the words that are expected. Raises `Wrong` for anything else.

    In `kept` stay repositories that several scenarios begin with, for the next ones.
    """
    with surroundings(folder):
        repo = _begun(scenario, verb, folder, kept)
        sessions(folder / "claude", repo, PNPM)
        words = {"run": ["--target-skill-path", scenario.asked], "revert": [_edit(scenario).id]}.get(verb, [])
        scenario.change(repo)
        environment = scenario.environment(folder)
        case = _Case(scenario, verb, folder, repo)
        with patch.dict(os.environ, environment):
            code, record = call(verb, *words, repo=repo, home=folder / "claude")
        if verb in scenario.refused:
            case.refused(code, record)
            return f"refused: {scenario.refused[verb]}"
        if code:
            raise Wrong(f"refused: {record['error']['message']}")
        case.right(record)
        return "right"


def _begun(scenario: Scenario, verb: Verb, folder: Path, kept: Path | None) -> Repository:
    """The repository with what the verb builds on: made, or copied where no other place is named in it."""
    if kept is None or not scenario.movable:
        return _made(scenario, verb, folder)
    repo, copy = Repository(folder / "acme-api"), kept / _alike(scenario, verb)
    if copy.exists():
        shutil.copytree(copy, repo.path, symlinks=True)
        repo.git("update-index", "-q", "--refresh")  # it knows files by more than what is copied
    else:
        _made(scenario, verb, folder)
        shutil.copytree(repo.path, copy, symlinks=True)
    return repo


def _alike(scenario: Scenario, verb: Verb) -> str:
    """A name for everything that how it begins depends on."""
    files = sorted(scenario.others.items()), sorted(scenario.links.items())
    begins = ("adopt" if verb == "reject" else verb, scenario.path, scenario.before, scenario.mode, files)
    return hashlib.sha256(repr(begins).encode()).hexdigest()


def _made(scenario: Scenario, verb: Verb, folder: Path) -> Repository:
    """With a proposal for a decision, and an adopted rule for its unlearning."""
    repo = scenario.make(scenario, folder / "acme-api")
    if verb != "run" and repo.git("for-each-ref"):
        Nights(repo).propose(_edit(scenario))
        if verb == "revert" and call("adopt", repo=repo, home=folder / "claude")[0]:
            raise Wrong("the rule that is to be unlearned could not be adopted")
    return repo


def _edit(scenario: Scenario) -> Edit:
    return add(RULE, scenario.path)


class _Case:
    """How everything was before the verb, to be compared with how it is now."""

    def __init__(self, scenario: Scenario, verb: Verb, folder: Path, repo: Repository) -> None:
        self.scenario, self.verb, self.folder, self.repo = scenario, verb, folder, repo
        self.main = self.sha("refs/heads/main")
        self.proposal = self.sha(f"refs/heads/{BRANCH}")
        self.files = self.tree(self.main) if self.main else {}
        self.tree_of_main = self._tree_of_main()
        self.index = self._index()
        self.recorded = self._recorded()
        self.picture = picture(folder, repo)

    # --- as git tells it ---

    def sha(self, ref: str) -> str:
        return self.repo.git("rev-parse", "--verify", "--quiet", ref, check=False).strip()

    def tree(self, commit: str) -> dict[str, str]:
        """Mode, kind and blob by path."""
        lines = self.repo.git("ls-tree", "-r", "-z", "--full-tree", commit).split("\0")[:-1]
        return {path: meta for meta, path in (line.split("\t", 1) for line in lines)}

    def _tree_of_main(self) -> Repository | None:
        """The work tree that has the base checked out."""
        for path in work_trees(self.repo):
            tree = Repository(path)
            bare = tree.git("rev-parse", "--is-bare-repository").strip() == "true"
            if not bare and tree.git("symbolic-ref", "--quiet", "HEAD", check=False).strip() == "refs/heads/main":
                return tree
        return None

    def _index(self) -> dict[str, str]:
        """Of that work tree: state, mode, blob and stage by path, a conflict's stages each."""
        listed = self.tree_of_main.git("ls-files", "-v", "--stage", "-z") if self.tree_of_main else ""
        lines = (line.split("\t", 1) for line in listed.split("\0")[:-1])
        return {f"{path}\t{meta[-1]}": meta for meta, path in lines}

    def _recorded(self) -> int:
        """How often the ledger tells what this verb does."""
        if not self.sha("refs/skillopt/ledger"):
            return 0
        wanted = f'"type":"{RECORDED[self.verb]}"'
        return len(self.repo.git("grep", "-h", "-F", wanted, "refs/skillopt/ledger", check=False).splitlines())

    # --- what has to be ---

    def refused(self, code: int, record: dict[str, Any]) -> None:
        """Nothing is touched, and the words say why; what is no more than remembered may be."""
        error = record.get("error")
        if not code or error is None:
            raise Wrong("it should be refused and was not")
        said = f"{error['message']}\n{error['hint']}"
        self._same("exit code", code in (1, 2, 5, 75), True)
        self._same("an error that was foreseen", error["kind"] == "internal", False)
        if not re.search(self.scenario.refused[self.verb], said):
            raise Wrong(f"refused with other words: {said}")
        self.nothing_but()
        if self.verb in ("run", "adopt"):  # the others may have noticed what became of the rule
            self._same("what was recorded", self._recorded(), self.recorded)

    def right(self, record: dict[str, Any]) -> None:
        {"run": self._ran, "adopt": self._adopted, "reject": self._rejected, "revert": self._reverted}[self.verb](
            record
        )
        # A revert is recorded once it is merged.
        self._same("what was recorded", self._recorded(), self.recorded + (self.verb != "revert"))
        self._same("fsck", self.repo.git("fsck", "--no-dangling", "--no-progress"), "")

    def _ran(self, record: dict[str, Any]) -> None:
        branch = f"sleep/{record['started'][:10]}{self.scenario.number}"
        self._same("the branch in the record", record["branch"], branch)
        tip = self.sha(f"refs/heads/{branch}")
        self._commit(tip, [self.main], "skillopt-git", self.scenario.after)
        self.nothing_but(f"ref refs/heads/{branch}")

    def _adopted(self, _: dict[str, Any]) -> None:
        merged = self.sha("refs/heads/main")
        self._commit(merged, [self.main, self.proposal], self.scenario.signer, self.scenario.after)
        allowed = ["ref refs/heads/main"]
        if self.tree_of_main is not None:
            git_dir = self.tree_of_main.git("rev-parse", "--absolute-git-dir").strip("\n")
            within = git_dir.removeprefix(self._common()).lstrip("/")
            allowed += [f"git/{Path(within, name)}" for name in ("index", "ORIG_HEAD", "logs/HEAD")]
            allowed += self._followed(self.tree_of_main, merged)
        self.nothing_but(*allowed)

    def _followed(self, tree: Repository, merged: str) -> list[str]:
        """The index and the file are as git leaves them after a merge: one line is another, and one file."""
        path = self.scenario.path
        known = self.index.get(f"{path}\t0", "H")
        mode, _, blob = self.tree(merged)[path].split(" ")
        self._same("index", self._index(), {**self.index, f"{path}\t0": f"{known[0]} {mode} {blob} 0"})
        file = tree.path / path
        if known[0] == "S":
            self._same("a file outside of the sparse checkout", file.exists(), False)
            return []
        wanted = tree.git("cat-file", "--filters", f"{merged}:{path}")
        self._same("file", file.read_bytes().decode(), wanted)
        self._same("executable", os.access(file, os.X_OK) and bool(file.stat().st_mode & 0o100), mode == "100755")
        self._same("status", tree.git("diff-files", "--name-only", "--", path), "")
        return [f"{tree.path}/{path}"]

    def _rejected(self, _: dict[str, Any]) -> None:
        self._same("anchor", self.sha(f"refs/skillopt/rejected/{BRANCH}"), self.proposal)
        self._same("branch", self.sha(f"refs/heads/{BRANCH}"), self.proposal if self.scenario.kept else "")
        self.nothing_but(*([] if self.scenario.kept else [f"ref refs/heads/{BRANCH}"]))

    def _reverted(self, record: dict[str, Any]) -> None:
        branch = f"sleep/revert-{record['edits'][0]['id']}"
        # What was not there before is left as the scaffold it came with.
        before = self.scenario.after.removesuffix(BLOCK) if self.scenario.before is None else self.scenario.before
        self._commit(self.sha(f"refs/heads/{branch}"), [self.main], "skillopt-git", before)
        self.nothing_but(f"ref refs/heads/{branch}")

    def _commit(self, commit: str, parents: list[str], author: str, content: bytes) -> None:
        """Exactly these parents, and the files of the first with one of another content."""
        self._same("commit", bool(commit), True)
        self._same("parents", self.repo.git("log", "-1", "--format=%P", commit).split(), parents)
        self._same("author", self.repo.git("log", "-1", "--format=%an", commit).strip(), author)
        path = self.scenario.path
        blob = self.repo.git("hash-object", "--stdin", "--no-filters", input_=content).strip()
        self._same("tree", self.tree(commit), {**self.files, path: f"{self.scenario.mode} blob {blob}"})
        self._same("content", self.repo.git("cat-file", "blob", blob), content.decode())

    def nothing_but(self, *allowed: str) -> None:
        now = picture(self.folder, self.repo)
        names = sorted({*now, *self.picture} - {*allowed})
        touched = [name for name in names if now.get(name) != self.picture.get(name)]
        self._same("touched", touched, [])
        self._same("left in the temporary folder", os.listdir(self.folder / "temporary"), [])  # noqa: PTH208

    def _common(self) -> str:
        return self.repo.git("rev-parse", "--path-format=absolute", "--git-common-dir").strip("\n")

    def _same(self, what: str, found: object, wanted: object) -> None:
        if found != wanted:
            raise Wrong(f"{what}: {found!r}, should be {wanted!r}")
