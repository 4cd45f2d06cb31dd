"""Plumbing on real repositories: commits are right, and nothing of the user's is touched."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from skillopt_git.errors import GitError, RefMoved, UsageError
from skillopt_git.gitrepo import Entry, GitRepo, Identity
from skillopt_git.private import Private
from tests.helpers import Repository
from tests.helpers_git import TOOL, fail_every_hook, snapshot, tree

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BRANCH = "refs/skillopt/sleep"
START = {"README.md": "# acme-api\n", "CLAUDE.md": "Be kind.\n", "src/app.py": "print()\n", ".gitignore": "*.log\n"}


def _write(repo: GitRepo, path: str, data: bytes, parent: str | None, mode: str = "100644") -> str:
    changes = {path: (mode, repo.write_blob(data))}
    return repo.commit(parent=parent, changes=changes, message="Learn\n", author=TOOL, when=WHEN)


def _dirty(repo: Repository) -> None:
    repo.write({"README.md": "staged\n"})
    repo.git("add", "README.md")
    repo.write({"README.md": "staged and changed\n", "CLAUDE.md": "my own\n", "notes.log": "x", "new.txt": "y"})
    (repo.path / "src" / "app.py").unlink()


def _stashed(repo: Repository) -> None:
    repo.write({"README.md": "for later\n"})
    repo.git("stash", "push", "--quiet")
    _dirty(repo)


def _merging(repo: Repository) -> None:
    repo.git("branch", "other")
    repo.commit("Ours", {"README.md": "ours\n"})
    repo.git("checkout", "--quiet", "other")
    repo.commit("Theirs", {"README.md": "theirs\n"})
    repo.git("merge", "main", check=False)


def _detached(repo: Repository) -> None:
    repo.git("checkout", "--quiet", "--detach")


def _signing(repo: Repository) -> None:
    repo.git("config", "commit.gpgSign", "true")
    repo.git("config", "gpg.program", "/bin/false")


def _locked(repo: Repository) -> None:
    (repo.path / ".git" / "index.lock").touch()


def _converting(repo: Repository) -> None:
    for name, value in (("core.autocrlf", "true"), ("core.safecrlf", "true"), ("core.ignoreCase", "true")):
        repo.git("config", name, value)


def _sparse(repo: Repository) -> None:
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "docs")


def _split(repo: Repository) -> None:
    repo.git("config", "core.splitIndex", "true")
    repo.git("update-index", "--split-index")


def _latin(repo: Repository) -> None:
    repo.git("config", "i18n.commitEncoding", "ISO-8859-1")
    repo.git("config", "user.useConfigOnly", "true")


STATES: list[Callable[[Repository], None]] = [
    *(_dirty, _stashed, _merging, _detached, _signing, _locked, _converting, _sparse, _split, _latin),
    fail_every_hook,
]


@pytest.mark.parametrize("prepare", STATES, ids=lambda prepare: prepare.__name__.strip("_"))
def test_a_commit_leaves_everything_of_the_user_alone(tmp_path: Path, prepare: Callable[[Repository], None]) -> None:
    """Whatever state the user left the repository in, the commit is right and only the named ref is new."""
    user = Repository.create(tmp_path / "acme-api", START)
    prepare(user)
    base = user.git("rev-parse", "HEAD").strip()
    before = snapshot(user)

    repo = GitRepo.open(user.path)
    learned = b"\xef\xbb\xbfBe kind.\r\nUse pnpm. \xe4\r\n"
    commit = _write(repo, "CLAUDE.md", learned, base)
    repo.update_ref(BRANCH, commit, None, "skillopt")

    assert snapshot(user) == before
    assert tree(user, commit) == {**tree(user, base), "CLAUDE.md": ("100644", learned)}
    assert user.git("rev-list", "--parents", "-1", commit).split() == [commit, base]
    assert user.git("rev-parse", BRANCH).strip() == commit
    assert user.git("fsck", "--strict", "--no-dangling") == ""


def test_a_commit_in_a_linked_worktree_leaves_both_alone(repo: Repository, tmp_path: Path) -> None:
    """Seen from a linked work tree, the repository is the same one, and neither work tree changes."""
    repo.commit("More", START)
    repo.git("worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "linked"))
    linked = Repository(tmp_path / "linked")
    _dirty(repo)
    before = snapshot(repo), snapshot(linked)

    opened = GitRepo.open(linked.path)
    commit = _write(opened, "CLAUDE.md", b"x\n", opened.resolve("main"))
    opened.update_ref(BRANCH, commit, None, "skillopt")

    assert (snapshot(repo), snapshot(linked)) == before
    assert opened.root == linked.path
    assert opened.common_dir == repo.path / ".git"
    assert opened.head_branch() == "refs/heads/feature"


def test_inherited_git_variables_lead_nowhere_else(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Called from a hook of another repository, the one asked for is the one read and written."""
    other = Repository.create(tmp_path / "other", {"OTHER.md": "other\n"})
    git_dir = other.path / ".git"
    before = snapshot(repo), snapshot(other, ours="none")
    for name, value in {
        "GIT_DIR": git_dir,
        "GIT_WORK_TREE": other.path,
        "GIT_INDEX_FILE": git_dir / "index",
        "GIT_OBJECT_DIRECTORY": git_dir / "objects",
        "GIT_COMMON_DIR": git_dir,
        "GIT_NAMESPACE": "elsewhere",
        "GIT_GLOB_PATHSPECS": "1",
        "GIT_SHALLOW_FILE": "",
        "GIT_AUTHOR_DATE": "1999-01-01T00:00:00Z",
        "GIT_COMMITTER_NAME": "Mallory",
    }.items():
        monkeypatch.setenv(name, str(value))

    opened = GitRepo.open(repo.path)
    commit = _write(opened, "CLAUDE.md", b"x\n", opened.resolve("main"))
    opened.update_ref(BRANCH, commit, None, "skillopt")
    paths = [entry.path for entry in opened.paths(BRANCH)]
    monkeypatch.undo()

    assert opened.root == repo.path
    assert paths == ["CLAUDE.md", "README.md"]
    assert (snapshot(repo), snapshot(other, ours="none")) == before
    assert repo.git("log", "-1", "--format=%an %cn %at %ct", BRANCH).split() == [
        TOOL.name,
        TOOL.name,
        *["1767323045"] * 2,
    ]


def test_the_same_commit_twice_is_one_commit(repo: Repository) -> None:
    """Ids depend on the arguments alone: not on the clock, the user, or the time zone the moment is told in."""
    opened = GitRepo.open(repo.path)
    base = opened.resolve("HEAD")
    first = _write(opened, "CLAUDE.md", b"x\n", base)
    repo.git("config", "user.name", "Somebody Else")
    repo.git("config", "i18n.commitEncoding", "ISO-8859-1")
    moment = WHEN.astimezone(timezone(timedelta(hours=5, minutes=30)))
    changes = {"CLAUDE.md": ("100644", opened.write_blob(b"x\n"))}
    assert opened.commit(parent=base, changes=changes, message="Learn\n", author=TOOL, when=moment) == first


def test_objects_and_refs_are_on_the_disk_before_anything_builds_on_them(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By git's own count, one flush each, whatever the user's settings leave to chance."""
    repo.git("config", "core.fsync", "none")
    ours, log = GitRepo.open(repo.path), tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(log))

    def flushes(work: Callable[[], object]) -> int:
        log.write_text("")
        work()
        told = map(json.loads, log.read_text().splitlines())
        return sum(int(event["value"]) for event in told if event.get("key") == "fsync/hardware-flush")

    assert flushes(lambda: ours.write_blob(b"Be brief.\n")) == 1
    # a blob, four trees (the root and three folders), the commit
    assert flushes(lambda: _write(ours, ".claude/skills/x/SKILL.md", b"Be kind.\n", ours.resolve("HEAD"))) == 1 + 4 + 1
    assert flushes(lambda: ours.update_ref(BRANCH, ours.resolve("HEAD"), None, "test")) >= 1


def test_awkward_names_and_modes_are_kept(repo: Repository) -> None:
    """Names with blanks, quotes, line feeds, globs, dashes, colons, non-UTF-8 bytes; and executable files."""
    opened = GitRepo.open(repo.path)
    names = [
        "a b/SKILL.md",
        "q\"uo'te",
        "-dash",
        ":(glob)*",
        "tab\tnew\nline",
        "日本/ü",
        "u\u0308",
        "\udcff",
        "[x]*?",
        "#h",
    ]
    commit = opened.resolve("HEAD")
    for at, name in enumerate(names):
        commit = _write(opened, name, f"{at}".encode(), commit, "100755" if at % 2 else "100644")
    assert commit is not None
    assert {entry.path for entry in opened.paths(commit)} == {*names, "README.md"}
    for at, name in enumerate(names):
        entry = opened.entry(commit, name)
        assert entry is not None
        assert (entry.path, entry.mode) == (name, "100755" if at % 2 else "100644")
        assert opened.read(commit, name) == f"{at}".encode()


def test_names_that_differ_in_case_are_two_files(repo: Repository) -> None:
    """Also where the user's settings say that the file system cannot tell them apart."""
    base = repo.commit("Lower", {"agents.md": "lower\n"})
    repo.git("config", "core.ignoreCase", "true")
    commit = _write(GitRepo.open(repo.path), "AGENTS.md", b"upper\n", base)
    assert {path: data for path, (_, data) in tree(repo, commit).items() if path != "README.md"} == {
        "agents.md": b"lower\n",
        "AGENTS.md": b"upper\n",
    }


def test_a_sha256_repository_works(tmp_path: Path) -> None:
    """The object format is the repository's own; "must not exist" is spelled in it."""
    path = tmp_path / "acme-api"
    subprocess.run(["git", "init", "--quiet", "--object-format=sha256", "-b", "main", str(path)], check=True)
    user = Repository(path)
    base = user.commit("Start", {"README.md": "x\n"})
    opened = GitRepo.open(path)
    commit = _write(opened, "CLAUDE.md", b"y\n", base)
    opened.update_ref(BRANCH, commit, None, "skillopt")
    assert (opened.object_format, len(commit), len(opened.zero)) == ("sha256", 64, 64)
    with pytest.raises(RefMoved):
        opened.update_ref(BRANCH, base, None, "skillopt")


def test_a_shallow_clone_and_a_bare_one_work(repo: Repository, tmp_path: Path) -> None:
    """Neither missing history nor a missing work tree is in the way."""
    repo.commit("More", {"a": "1"})
    for name, option in (("shallow", "--depth=1"), ("bare.git", "--bare")):
        path = tmp_path / name
        subprocess.run(["git", "clone", "--quiet", option, f"file://{repo.path}", str(path)], check=True)
        opened = GitRepo.open(path)
        commit = _write(opened, "CLAUDE.md", b"y\n", opened.resolve("HEAD"))
        opened.update_ref(BRANCH, commit, None, "skillopt")
        assert opened.read(BRANCH, "a") == b"1"
        assert (opened.root is None) == (option == "--bare")


def test_a_partial_clone_without_its_blobs_works(repo: Repository, tmp_path: Path) -> None:
    """Files that are not touched need not be here: the remote is never asked."""
    repo.commit("Config", {"CLAUDE.md": "here\n"})
    repo.git("config", "uploadpack.allowFilter", "true")
    path = tmp_path / "partial"
    options = ("--quiet", "--filter=blob:none", "--no-checkout", f"file://{repo.path}")
    subprocess.run(["git", "clone", *options, str(path)], check=True)
    repo.path.rename(tmp_path / "gone")
    opened = GitRepo.open(path)
    commit = _write(opened, "CLAUDE.md", b"y\n", opened.resolve("origin/main"))
    assert opened.read(commit, "CLAUDE.md") == b"y\n"


def test_the_first_commit_of_all_has_no_parent(tmp_path: Path) -> None:
    """With no parent a commit holds only what it is given, also where nothing was committed yet."""
    user = Repository.create(tmp_path / "acme-api", {})
    opened = GitRepo.open(user.path)
    commit = _write(opened, "events/2026/01.jsonl", b"{}\n", None)
    assert tree(user, commit) == {"events/2026/01.jsonl": ("100644", b"{}\n")}
    assert user.git("rev-list", "--parents", commit).split() == [commit]
    assert opened.resolve("HEAD") is None


def test_a_file_is_removed_and_a_merge_has_all_its_parents(repo: Repository) -> None:
    """None deletes; further parents come after the first."""
    opened = GitRepo.open(repo.path)
    base = opened.resolve("HEAD")
    assert base is not None
    side = _write(opened, "side", b"s", base)
    merge = opened.commit(parent=base, parents=[side], changes={"README.md": None}, message="m", author=TOOL, when=WHEN)
    assert tree(repo, merge) == {}
    assert repo.git("rev-list", "--parents", "-1", merge).split()[1:] == [base, side]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("linked/SKILL.md", "linked is a symbolic link, and a file is to be written below it"),
        ("file/SKILL.md", "file is a file, and a file is to be written below it"),
        ("vendor/SKILL.md", "vendor is a submodule, and"),
        ("real", "real is a folder, not a file"),
        ("vendor", "vendor is a submodule, not a file"),
        ("link.md", "link.md is a symbolic link, not a file"),
        ("../out", "outside"),
        (".git/config", "Ignoring path .git/config"),
        (".GIT/config", "Ignoring path .GIT/config"),
        ("/etc/passwd", "outside"),
    ],
)
def test_no_file_takes_the_place_of_something_else(repo: Repository, path: str, words: str) -> None:
    """Links, submodules, folders and paths that lead out are refused, and nothing is recorded."""
    repo.write({"real/a": "1", "file": "2"})
    (repo.path / "linked").symlink_to("real")
    (repo.path / "link.md").symlink_to("README.md")
    repo.git("add", "--all")
    head = repo.git("rev-parse", "HEAD").strip()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{head},vendor")
    repo.git("commit", "--quiet", "-m", "Things")
    opened = GitRepo.open(repo.path)
    with pytest.raises(GitError, match=words):
        _write(opened, path, b"x", opened.resolve("HEAD"))


def test_file_bytes_are_read_exactly(repo: Repository) -> None:
    """No final newline is cut, no line end converted, no byte decoded; a folder or nothing is no file."""
    content = {"a/lf": b"x\n\n", "crlf": b"x\r\n", "none": b"x", "empty": b"", "binary": bytes(range(256))}
    repo.commit("Bytes", content)
    repo.git("config", "core.autocrlf", "true")
    opened = GitRepo.open(repo.path)
    for path, data in content.items():
        assert opened.read("HEAD", path) == data
    assert opened.read("HEAD", "a") is None
    assert opened.read("HEAD", "absent") is None
    assert [entry.path for entry in opened.paths("HEAD", "a/")] == ["a/lf"]
    assert opened.entry("HEAD", "a") == Entry("040000", repo.git("rev-parse", "HEAD:a").strip(), "a")


def test_attributes_are_those_of_the_commit(repo: Repository) -> None:
    """`.gitattributes` of the work tree does not count."""
    repo.commit("Attributes", {".gitattributes": "*.md filter=lfs\n"})
    repo.write({".gitattributes": ""})
    opened = GitRepo.open(repo.path)
    assert opened.attribute("HEAD", "docs/CLAUDE.md", "filter") == "lfs"
    assert opened.attribute("HEAD^", "docs/CLAUDE.md", "filter") == "unspecified"


def test_only_commits_resolve(repo: Repository) -> None:
    """Whatever is no commit is None; words that git would take for options or ranges are nothing else."""
    opened = GitRepo.open(repo.path)
    head = repo.git("rev-parse", "HEAD").strip()
    repo.git("tag", "-a", "-m", "first", "v1")
    assert [opened.resolve(rev) for rev in ("HEAD", "main", head[:10], "v1")] == [head] * 4
    for rev in ("nope", "", "main:README.md", "--all", "-h", "main..main", "^main", "0" * 40, "f" * 40, "a b"):
        assert opened.resolve(rev) is None


@pytest.mark.parametrize("rev", ["nope", "--upload-pack=touch x", "-h"])
def test_an_unknown_revision_is_an_error_in_gits_words(repo: Repository, rev: str) -> None:
    """Reading from what is not there raises, also where it looks like an option."""
    opened = GitRepo.open(repo.path)
    with pytest.raises(GitError, match=r"^git ls-tree: Not a valid object name"):
        opened.paths(rev)
    with pytest.raises(GitError, match=r"^git cat-file: Not a valid object name"):
        opened.blob(rev)


def test_a_ref_moves_only_from_where_it_was_thought_to_be(repo: Repository) -> None:
    """Create, move and delete are compare-and-swap; a lost race tells where the ref is now, and leaves it there."""
    opened = GitRepo.open(repo.path)
    one = repo.git("rev-parse", "HEAD").strip()
    two = _write(opened, "x", b"x", one)
    ref = "refs/heads/sleep/2026-01-02"

    opened.update_ref(ref, None, None, "there is none")
    with pytest.raises(RefMoved, match="is at nothing"):
        opened.update_ref(ref, two, one, "m")
    opened.update_ref(ref, one, None, "m")
    for new in (two, None):
        with pytest.raises(RefMoved, match=one):
            opened.update_ref(ref, new, None, "m")
        with pytest.raises(RefMoved, match=one):
            opened.update_ref(ref, new, two, "m")
    assert opened.refs("refs/heads/sleep/") == {ref: one}
    opened.update_ref(ref, two, one, "m")
    assert opened.ref(ref) == two
    opened.update_ref(ref, None, two, "m")
    assert opened.refs("refs/heads/sleep") == {}
    assert RefMoved.exit_code == 75


@pytest.mark.parametrize(
    "prepare",
    [
        [],
        ["pack-refs", "--all"],
        ["symbolic-ref", "refs/heads/other", "refs/heads/main"],
        ["update-ref", "refs/bisect/bad", "HEAD"],
        ["update-ref", "refs/heads/ä/b", "HEAD"],
        ["update-ref", "-d", "refs/heads/topic"],
    ],
)
def test_a_ref_is_what_git_says(repo: Repository, tmp_path: Path, prepare: list[str]) -> None:
    """Wherever it is kept, from every work tree; what only looks like one in the folder of refs is none."""
    repo.git("branch", "topic")
    repo.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    if prepare:
        repo.git(*prepare)
    repo.commit("Next", {"README.md": "next\n"})
    heads = repo.path / ".git" / "refs" / "heads"
    (heads / "busy.lock").write_text(f"{'1' * 40}\n")
    (heads / "zero").write_text(f"{'0' * 40}\n")
    (heads / "bad").write_bytes(b"\xff\n")

    for path in (repo.path, tmp_path / "linked"):
        opened, listed = GitRepo.open(path), Repository(path).git("for-each-ref", "--format=%(refname) %(objectname)")
        known = dict(line.split(" ") for line in listed.splitlines())
        assert {name: opened.ref(name) for name in known} == known
        near = ("main", "/main", "main/", "../heads/main", "MAIN", "", "busy.lock", "zero", "bad", "topic/x", "gone")
        named = {f"refs/heads/{name}" for name in near} | {"refs/bisect/bad", "refs/heads/topic", "HEAD", "config"}
        assert {name: opened.ref(name) for name in named} == {name: known.get(name) for name in named}


def test_a_branch_in_the_way_of_a_folder_is_named(repo: Repository) -> None:
    """A branch called `sleep` makes `sleep/...` impossible: the hint says which one to rename."""
    repo.git("branch", "sleep")
    opened = GitRepo.open(repo.path)
    with pytest.raises(GitError, match="cannot lock ref") as caught:
        opened.update_ref("refs/heads/sleep/2026-01-02", opened.resolve("main"), None, "m")
    assert not isinstance(caught.value, RefMoved)
    assert "refs/heads/sleep" in caught.value.hint


def test_a_bad_ref_name_is_refused_and_a_locked_ref_is_for_later(repo: Repository) -> None:
    """Git's own rules for names hold; somebody else's lock is a reason to try again."""
    opened = GitRepo.open(repo.path)
    head = opened.resolve("HEAD")
    for name in ("refs/heads/a..b", "--stdin", "HEAD", "refs/heads/a b"):
        with pytest.raises(GitError) as caught:
            opened.update_ref(name, head, None, "m")
        assert not isinstance(caught.value, RefMoved)
    (repo.path / ".git" / "refs" / "heads" / "busy.lock").touch()
    with pytest.raises(RefMoved, match="Unable to create"):
        opened.update_ref("refs/heads/busy", head, None, "m")


def test_a_repository_opens_from_any_folder_in_it(repo: Repository) -> None:
    """A sub-folder, and names that a shell or a listing would stumble over."""
    awkward = repo.path.parent / "$HOME new\nline ~"
    repo.path.rename(awkward)
    (awkward / "src").mkdir()
    for path in (awkward, awkward / "src"):
        opened = GitRepo.open(path)
        assert (opened.root, opened.common_dir) == (awkward, awkward / ".git")
        assert opened.read("HEAD", "README.md") == b"# acme-api\n"
    with pytest.raises(UsageError, match="own folder"):
        GitRepo.open(awkward / ".git")


def test_what_is_no_repository_is_said_with_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, no repository, a repository of somebody else, a broken one: each is told apart."""
    with pytest.raises(UsageError, match="is not a folder"):
        GitRepo.open(tmp_path / "absent")
    with pytest.raises(UsageError, match="is not in a git repository") as caught:
        GitRepo.open(tmp_path)
    assert "git init" in caught.value.hint
    user = Repository.create(tmp_path / "acme-api", {})
    with monkeypatch.context() as patch:
        patch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        with pytest.raises(UsageError, match="dubious ownership") as caught:
            GitRepo.open(user.path)
        assert "safe.directory" in caught.value.hint
    user.git("config", "core.repositoryFormatVersion", "99")
    with pytest.raises(GitError, match="99"):
        GitRepo.open(user.path)


@pytest.mark.parametrize(
    ("script", "words"),
    [("echo git version 2.37.9", "needs git 2.38 or newer, and finds 'git version 2.37.9'"), ("exit 3", "needs git")],
)
def test_an_old_git_is_refused(repo: Repository, monkeypatch: pytest.MonkeyPatch, script: str, words: str) -> None:
    """An old version is named, and so is a git that does not tell."""
    program = repo.path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(UsageError, match=words):
        GitRepo.open(repo.path)


def test_a_missing_git_is_said_plainly(tmp_path: Path) -> None:
    """Without git the module still loads, and opening says what is missing."""
    code = (
        "from pathlib import Path\n"
        "from skillopt_git.errors import UsageError\n"
        "from skillopt_git.gitrepo import GitRepo\n"
        "try:\n    GitRepo.open(Path('.'))\n"
        "except UsageError as error:\n    print(error.message)\n"
    )
    environ = {**os.environ, "PATH": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    assert done.stdout == "git is not installed, or not on the PATH\n", done.stderr


def test_private_state_is_for_its_owner_only(repo: Repository) -> None:
    """The private folder lies in the common git folder, is there once it is needed, and nobody else may look in."""
    private = Private(GitRepo.open(repo.path).private_dir())
    assert private.folder == repo.path / ".git" / "skillopt"
    assert not private.folder.exists()
    assert private.made() == private.made() == private.folder
    assert stat.S_IMODE(private.folder.stat().st_mode) == 0o700


def test_the_user_is_who_git_says(repo: Repository, isolated: Path) -> None:
    """Git's own settings name the user; where they do not, nobody is made up."""
    opened = GitRepo.open(repo.path)
    assert opened.identity() == Identity("Alice Example", "alice@example.invalid")
    (isolated / ".gitconfig").write_text("")
    assert opened.identity() is None


def test_settings_remotes_and_symbolic_refs_are_read(repo: Repository) -> None:
    """What is not set is None, and a detached HEAD is on no branch."""
    opened = GitRepo.open(repo.path)
    repo.git("remote", "add", "origin", "file:///nowhere")
    assert opened.remotes() == ("origin",)
    assert (opened.setting("remote.origin.url"), opened.setting("remote.other.url")) == ("file:///nowhere", None)
    assert opened.head_branch() == "refs/heads/main"
    repo.git("checkout", "--quiet", "--detach")
    assert opened.head_branch() is None
