"""One git repository, through plumbing: the only importer of GitPython.

Of GitPython only the running of commands is used. Its index API moves the user's index aside, its commits run hooks,
and its reading cuts the last newline off a file. Nothing here writes the user's index, work tree, HEAD, stash or
config.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Literal

from skillopt_git.errors import GitError, RefMoved, UsageError
from skillopt_git.gitfiles import Answers, ref_id, whole_id

os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")  # else the next line fails where git is missing
from git.cmd import Git
from git.exc import GitCommandNotFound

LINK, SUBMODULE, FOLDER = "120000", "160000", "040000"

_OLDEST = (2, 38)  # the first with `merge-tree --write-tree`
# A hook or an alias that calls us exports these; each would lead git to another repository, index or meaning of paths.
_INHERITED = (
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_ATTR_SOURCE", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_DIR"),
    *("GIT_GLOB_PATHSPECS", "GIT_GRAFT_FILE", "GIT_ICASE_PATHSPECS", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE"),
    *("GIT_INTERNAL_SUPER_PREFIX", "GIT_LITERAL_PATHSPECS", "GIT_NAMESPACE", "GIT_NOGLOB_PATHSPECS"),
    *("GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE"),
    *("GIT_SHALLOW_FILE", "GIT_WORK_TREE"),
)
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _settings(*pairs: str) -> tuple[str, ...]:
    return tuple(word for pair in pairs for word in ("-c", pair))


_ALWAYS = (
    "--literal-pathspecs",
    "--no-replace-objects",
    *_settings(f"core.hooksPath={os.devnull}", "core.fsmonitor=false", "commit.gpgSign=false", "gc.auto=0"),
    *_settings("maintenance.auto=false", "core.quotePath=false", "submodule.recurse=false"),
    # Else a power cut can leave empty objects behind a ref that was moved: the default waits for packs only.
    *_settings("core.fsync=loose-object,reference"),
    *_settings("i18n.commitEncoding=UTF-8", "i18n.logOutputEncoding=UTF-8", "log.showSignature=false"),
)
# For the private index only: what the user's own index needs is for the user's settings to say.
_PRIVATE = _settings("core.ignoreCase=false", "core.splitIndex=false")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who commits; `signs`: whether with the user's own key, which is no part of who it is."""

    name: str
    email: str
    signs: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a tree. `path` is the whole path from the top."""

    mode: str
    sha: str
    path: str


@dataclass(frozen=True, slots=True)
class Done:
    command: str
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape").removesuffix("\n")

    @property
    def fields(self) -> list[str]:
        """The parts of an answer to `-z`."""
        return self.out.decode("utf-8", "surrogateescape").split("\0")[:-1]

    @property
    def words(self) -> list[str]:
        """What git said on stderr, its own prefix cut, the line that says most first."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        first = next((at for at, line in enumerate(lines) if line.startswith(("fatal:", "error:"))), 0)
        return [re.sub(r"^(fatal|error): ", "", line) for line in lines[first:]] or ["failed without saying why"]

    @property
    def error(self) -> GitError:
        return GitError(f"git {self.command}: {self.words[0]}", "\n".join(self.words[1:]))

    def checked(self) -> Done:
        """The same; raises `GitError` if git failed."""
        if self.code:
            raise self.error
        return self


_NOTHING: Mapping[str, str] = {}


def execute(
    folder: Path,
    command: str,
    *args: str,
    settings: Sequence[str] = (),
    data: bytes = b"",
    env: Mapping[str, str] = _NOTHING,
    timeout: float | None = None,
) -> Done:
    """Runs git in `folder`, without hooks, prompts, signatures or housekeeping. Never raises for git's own failures.

    With a `timeout`, in seconds, it runs in a session of its own: nothing it starts can ask on the terminal, and all of
    it is ended when time is up, which is a failure like others.
    """
    unset = [word for name in _INHERITED if name in os.environ and name not in env for word in ("-u", name)]
    words = [*(["env", *unset] if unset else ()), "git", *_ALWAYS, *settings, command, *args]
    with TemporaryFile() as stdin:
        stdin.write(data)
        stdin.seek(0)
        if timeout is not None:
            return _within(timeout, folder, words, stdin, {**_ENVIRONMENT, **env}, command)
        try:
            code, out, err = Git(folder).execute(
                words,
                istream=stdin,
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
                env={**_ENVIRONMENT, **env},
            )
        except GitCommandNotFound as error:
            raise UsageError("git is not installed, or not on the PATH", "install git 2.38 or newer") from error
    return Done(command, code, out, err)


def _within(
    seconds: float, folder: Path, words: Sequence[str], stdin: IO[bytes], env: Mapping[str, str], command: str
) -> Done:
    # Not by the library: it ends git and its children, and a grandchild that holds the pipe keeps it waiting.
    started = subprocess.Popen(
        words,
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **env},
        start_new_session=True,
    )
    try:
        out, err = started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        started.communicate()
        return Done(command, -signal.SIGKILL, b"", f"no answer within {seconds:g} seconds")
    except BaseException:
        os.killpg(started.pid, signal.SIGKILL)
        raise
    return Done(command, started.returncode, out, err.decode("utf-8", "replace"))


def _require_version(folder: Path) -> None:
    said = execute(folder, "version").text
    found = re.search(r"(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < _OLDEST:
        raise UsageError(f"this needs git {_OLDEST[0]}.{_OLDEST[1]} or newer, and finds '{said}'")


def _cannot_open(path: Path, done: Done) -> UsageError | GitError:
    if "not a git repository" in done.words[0]:
        return UsageError(f"{path} is not in a git repository", "name one with --repo, or make one with `git init`")
    if "dubious ownership" in done.words[0] or "safe.bareRepository" in done.words[0]:
        return UsageError(f"git refuses to work in {path}: {done.words[0]}", "\n".join(done.words[1:]))
    return done.error


@dataclass(frozen=True, slots=True)
class GitRepo:
    """A repository as seen from one of its work trees, or from its bare folder (then `root` is None)."""

    root: Path | None
    common_dir: Path
    object_format: Literal["sha1", "sha256"]
    _answers: Answers[Done] = field(default_factory=Answers, init=False, repr=False, compare=False)

    @classmethod
    def open(cls, path: Path) -> GitRepo:
        """The repository `path` lies in. Raises `UsageError` where git finds none, or refuses it."""
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder")
        _require_version(path)
        # The path comes last: it alone may hold a line feed.
        asked = ("--show-object-format", "--is-inside-work-tree", "--path-format=absolute", "--git-common-dir")
        done = execute(path, "rev-parse", *asked)
        if done.code:
            raise _cannot_open(path, done)
        object_format, inside, common = done.text.split("\n", 2)
        root = execute(path, "rev-parse", "--show-toplevel").text if inside == "true" else None
        if root is None and execute(path, "rev-parse", "--is-bare-repository").text != "true":
            raise UsageError(f"{path} is inside a repository's own folder", "name the work tree")
        return cls(Path(root) if root else None, Path(common), "sha256" if object_format == "sha256" else "sha1")

    @property
    def zero(self) -> str:
        """The id that stands for "no object"."""
        return "0" * (64 if self.object_format == "sha256" else 40)

    def private_dir(self) -> Path:
        """The folder for what never leaves this clone; `Private` makes it when it is needed."""
        return self.common_dir / "skillopt"

    def identity(self) -> Identity | None:
        """Who the user is to git; None where nobody has told it."""
        asked = _settings("user.useConfigOnly=true")
        said = execute(self.root or self.common_dir, "var", "GIT_AUTHOR_IDENT", settings=asked).text
        found = re.fullmatch(r"(.*) <(.*)> \d+ [+-]\d+", said)
        return Identity(found[1], found[2]) if found else None

    def attempt(self, command: str, *args: str, data: bytes = b"", env: Mapping[str, str] = _NOTHING) -> Done:
        """What git answers, also when it fails."""
        return execute(self.root or self.common_dir, command, *args, settings=_PRIVATE, data=data, env=env)

    def run(self, command: str, *args: str, data: bytes = b"", env: Mapping[str, str] = _NOTHING) -> Done:
        return self.attempt(command, *args, data=data, env=env).checked()

    def once(self, ids: Sequence[str], command: str, *args: str, lasting: Sequence[int] = (0,)) -> Done:
        """What git answers, asked once where `ids`, which all depends on, are whole; see `Answers`."""
        whole = all(whole_id(each, len(self.zero)) for each in ids)
        return self._answers.to(self.attempt, (command, *args), lasting if whole else ())

    # --- refs ----------------------------------------------------------------------------------------------------

    def resolve(self, rev: str) -> str | None:
        """The full id of the commit `rev` names; None when there is none."""
        done = self.once([rev], "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
        return done.text if re.fullmatch(r"[0-9a-f]+", done.text) else None  # `^main` is no failure to git

    def refs(self, prefix: str) -> dict[str, str]:
        """Ids by full name of the ref `prefix`, or of those in the folder of that name."""
        listed = self.run("for-each-ref", "--format=%(objectname) %(refname)", "--", prefix).text
        pairs = (line.split(" ", 1) for line in listed.splitlines())
        return {name: sha for sha, name in pairs}

    def ref(self, name: str) -> str | None:
        told = ref_id(self.common_dir, name)
        return self.refs(name).get(name) if told is None else told or None

    def symbolic_ref(self, name: str) -> str | None:
        """The ref that `name` stands for; None when it is none, or holds an id itself."""
        done = self.attempt("symbolic-ref", "--quiet", name)
        return None if done.code else done.text

    def head_branch(self) -> str | None:
        """The full name of the branch HEAD is on, also before its first commit; None when detached."""
        return self.symbolic_ref("HEAD")

    def remotes(self) -> tuple[str, ...]:
        return tuple(self.run("remote").text.splitlines())

    def setting(self, name: str) -> str | None:
        done = self.attempt("config", "--get", name)
        return None if done.code else done.text

    def update_ref(self, ref: str, new: str | None, old: str | None, message: str) -> None:
        """Moves `ref` from `old` (None: it must not exist) to `new` (None: deletes it). Raises `RefMoved`."""
        if not ref.startswith("refs/"):  # git would write HEAD, or a file of that name
            raise GitError(f"'{ref}' is not the full name of a ref")
        if new is None and old is None:  # git would delete whatever is there
            new = self.zero
        words = ["-d", "--", ref] if new is None else ["--", ref, new]
        done = self.attempt("update-ref", "-m", message, *words, old or self.zero)
        if done.code:
            raise self._not_moved(ref, old, done)

    def _not_moved(self, ref: str, old: str | None, done: Done) -> GitError:
        now = self.ref(ref)
        if now != old:
            return RefMoved(f"{ref} is at {now or 'nothing'}, and was at {old or 'nothing'}", "try again")
        if ".lock': File exists" in done.words[0]:
            return RefMoved(done.error.message, done.error.hint)
        clash = re.search(r"'(\S+)' exists; cannot create", done.words[0])
        hint = f"a ref cannot also be a folder of refs: rename or delete {clash[1]}" if clash else done.error.hint
        return GitError(done.error.message, hint)

    # --- objects -------------------------------------------------------------------------------------------------

    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, Entry]:
        """What `commit` has at each of `paths`, folders included; a path it does not have is left out."""
        done = self.once([commit], "ls-tree", "-z", "-t", "--full-tree", "--end-of-options", commit, *paths)
        listed = (_entry(line) for line in done.checked().fields)
        return {entry.path: entry for entry in listed if entry.path in paths}

    def entry(self, commit: str, path: str) -> Entry | None:
        return self.entries(commit, [path]).get(path)

    def paths(self, commit: str, prefix: str = "") -> tuple[Entry, ...]:
        """Every file of `commit`, or those at or below `prefix`."""
        where = [prefix.rstrip("/")] if prefix else []
        done = self.run("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit, *where)
        return tuple(_entry(line) for line in done.fields)

    def blob(self, sha: str) -> bytes:
        """The bytes as they are stored: no filter, no line end changed."""
        return self.run("cat-file", "blob", "--end-of-options", sha).out

    def blobs(self, shas: Sequence[str]) -> dict[str, bytes]:
        """Several blobs by id, in one go. Raises `GitError` if one is missing."""
        told = self.run("cat-file", "--batch", data="".join(f"{sha}\n" for sha in shas).encode()).out if shas else b""
        found: dict[str, bytes] = {}
        at = 0
        for sha in shas:
            head, _, _ = told[at : at + 200].partition(b"\n")
            words = head.split()
            if len(words) != 3:
                raise GitError(f"git cat-file: {sha} is missing", "fetch it again, or look with `git fsck`")
            start, size = at + len(head) + 1, int(words[2])
            found[sha] = told[start : start + size]
            at = start + size + 1
        return found

    def read(self, commit: str, path: str) -> bytes | None:
        """The file at `path`; None where `commit` has no file there."""
        entry = self.entry(commit, path)
        return None if entry is None or entry.mode in {FOLDER, SUBMODULE} else self.blob(entry.sha)

    def attribute(self, commit: str, path: str, name: str) -> str:
        """The attribute `name` of `path` by the `.gitattributes` files of `commit`; `unspecified` if there is none."""
        with self._index(commit) as env:
            return self.run("check-attr", "-z", "--cached", name, "--", path, env=env).fields[2]

    def write_blob(self, data: bytes) -> str:
        return self.run("hash-object", "-w", "--stdin", "--no-filters", data=data).text

    # --- commits -------------------------------------------------------------------------------------------------

    def commit(
        self,
        *,
        parent: str | None,
        changes: Mapping[str, tuple[str, str] | None],
        message: str,
        author: Identity,
        when: datetime,
        parents: Sequence[str] = (),
    ) -> str:
        """Records the files of `parent` with `changes`: (mode, blob) by path, None to delete.

        `parents` are further parents. A function of its arguments alone: the same again is the same commit.
        """
        if parent is not None:
            self._refuse_obstacles(parent, changes)
        lines = (_index_line(path, change or ("0", self.zero)) for path, change in changes.items())
        with self._index(parent) as env:
            told = self.run("update-index", "-z", "--index-info", data=b"".join(lines), env=env)
            if told.err:  # a path such as `.git/x` is left out with a mere warning
                raise told.error
            # A partial clone need not hold the blobs of the untouched files.
            tree = self.run("write-tree", "--missing-ok", env=env).text
        return self.commit_tree(tree, [*([parent] if parent else []), *parents], message, author, when)

    def commit_tree(self, tree: str, parents: Sequence[str], message: str, author: Identity, when: datetime) -> str:
        env = {"GIT_AUTHOR_NAME": author.name, "GIT_AUTHOR_EMAIL": author.email}
        env |= {"GIT_COMMITTER_NAME": author.name, "GIT_COMMITTER_EMAIL": author.email}
        env |= dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{int(when.timestamp())} +0000")
        words = [word for parent in parents for word in ("-p", parent)]
        signed = [f"-S{self._key()}"] if author.signs else []
        done = self.attempt("commit-tree", *signed, *words, "-F", "-", tree, data=message.encode(), env=env)
        if done.code and signed:
            raise GitError(
                f"git cannot sign a commit: {done.words[0]}",
                'set user.signingKey and gpg.format so that `git commit -S` works, or git.sign to "never"',
            )
        return done.checked().text

    def _key(self) -> str:
        """The user's key: git would take the committer's, and that is the tool."""
        named = self.setting("user.signingKey")
        person = None if named or self.setting("gpg.format") == "ssh" else self.identity()
        return named or (person.email if person else "")

    @contextmanager
    def _index(self, commit: str | None) -> Iterator[dict[str, str]]:
        """An index of our own, outside of the repository, that holds the files of `commit`."""
        with TemporaryDirectory(prefix="skillopt-") as folder:
            env = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
            self.run("read-tree", commit or "--empty", env=env)
            yield env

    def _refuse_obstacles(self, parent: str, paths: Mapping[str, object]) -> None:
        """The index would silently put a file in the place of a link, a submodule or a whole folder."""
        above = {str(folder) for path in paths for folder in PurePosixPath(path).parents} - {".", "/"}
        for entry in self.entries(parent, sorted(above | set(paths))).values():
            if entry.path in above and entry.mode != FOLDER:
                raise GitError(f"{entry.path} is {kind(entry)}, and a file is to be written below it")
            if entry.path in paths and kind(entry) != "a file":
                raise GitError(f"{entry.path} is {kind(entry)}, not a file")


def kind(entry: Entry) -> str:
    """What an entry is, in words."""
    names = {LINK: "a symbolic link", SUBMODULE: "a submodule", FOLDER: "a folder"}
    return names.get(entry.mode, "a file")


def _entry(line: str) -> Entry:
    meta, path = line.split("\t", 1)
    mode, _, sha = meta.split(" ")
    return Entry(mode, sha, path)


def _index_line(path: str, change: tuple[str, str]) -> bytes:
    return f"{change[0]} {change[1]}\t{path}\0".encode("utf-8", "surrogateescape")
