"""The base branch, the allowed paths, and what lies behind links."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from skillopt_git.errors import ConfigError, SafetyError, UsageError
from skillopt_git.gitrepo import GitRepo
from skillopt_git.targets import Base, allowed, default_base, document_entry
from tests.helpers import Repository


@pytest.mark.parametrize(
    "path",
    [
        *("CLAUDE.md", "AGENTS.md", "SKILL.md", ".claude/skills/db/SKILL.md", "packages/a b/日本/CLAUDE.md"),
        *(".skillopt/tasks/night.json", ".gitlab/AGENTS.md", "git/CLAUDE.md", "a..b/SKILL.md"),
    ],
)
def test_skills_memories_and_tasks_may_be_written(path: str) -> None:
    """By their names, in any folder of the repository."""
    assert allowed(path)


@pytest.mark.parametrize(
    "path",
    [
        *("README.md", "claude.md", "SKILL.md/x", "skills/SKILL.md ", ".skillopt.toml", "", "a/", ".", "xCLAUDE.md"),
        *(".skillopt/tasks/a/b.json", ".skillopt/tasks/.json", "x/.skillopt/tasks/a.json", ".skillopt/tasks/a.yml"),
        *(".github/CLAUDE.md", ".GitHub/skills/x/SKILL.md", "a/.github/AGENTS.md", ".github./SKILL.md"),
        *(".git/SKILL.md", ".GIT/SKILL.md", "a/.git/SKILL.md", ".git /SKILL.md", "GIT~1/SKILL.md", "github~2/SKILL.md"),
        *(".git::$INDEX_ALLOCATION/SKILL.md", ".g\u200cit/SKILL.md", "a\\..\\SKILL.md", "C:\\SKILL.md"),
        *("/SKILL.md", "//x/SKILL.md", "../SKILL.md", "a/../SKILL.md", "./SKILL.md", "a//SKILL.md"),
        *(
            "a\n/SKILL.md",
            "a\x00/SKILL.md",
            "a\x7f/SKILL.md",
            "\u202ea/SKILL.md",
            "\udcff/SKILL.md",
            "a\u2028/SKILL.md",
        ),
    ],
)
def test_nothing_else_may_be_written(path: str) -> None:
    """Not other files, not outside, not what some file system takes for `.git` or `.github`, not hidden characters."""
    assert not allowed(path)


def _link(repo: Repository, path: str, to: str) -> None:
    (repo.path / path).parent.mkdir(parents=True, exist_ok=True)
    (repo.path / path).symlink_to(to)


def test_a_document_is_found_also_behind_links(repo: Repository) -> None:
    """A link inside the repository leads to its target, over several hops; what is absent is None."""
    repo.write({"docs/AGENTS.md": "Be kind.\n"})
    _link(repo, "AGENTS.md", "docs/AGENTS.md")
    _link(repo, "CLAUDE.md", "./docs/../AGENTS.md")
    _link(repo, "pkg/CLAUDE.md", "../CLAUDE.md")
    repo.commit("Links", {})
    opened = GitRepo.open(repo.path)
    for path in ("docs/AGENTS.md", "AGENTS.md", "CLAUDE.md", "pkg/CLAUDE.md"):
        entry = document_entry(opened, "HEAD", path)
        assert entry is not None
        assert (entry.path, entry.mode, opened.blob(entry.sha)) == ("docs/AGENTS.md", "100644", b"Be kind.\n")
    assert document_entry(opened, "HEAD", ".claude/skills/new/SKILL.md") is None


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("README.md", SafetyError, "'README.md' may not be written"),
        ("out/CLAUDE.md", SafetyError, "out/CLAUDE.md is a link to '../../x/CLAUDE.md', outside of the repository"),
        ("root/CLAUDE.md", SafetyError, "root/CLAUDE.md is a link to '/etc/CLAUDE.md', outside"),
        ("other/CLAUDE.md", SafetyError, "'README.md' may not be written"),
        ("actions/SKILL.md", SafetyError, "'.github/SKILL.md' may not be written"),
        ("away/SKILL.md", SafetyError, "away/SKILL.md lies behind away, a link to a folder"),
        ("hop/CLAUDE.md", SafetyError, "away/SKILL.md lies behind away"),
        ("file/SKILL.md", ConfigError, "cannot be taught: file is a file"),
        ("vendor/SKILL.md", ConfigError, "cannot be taught: vendor is a submodule"),
        ("sub/SKILL.md", ConfigError, "sub/SKILL.md cannot be taught: it is a submodule"),
        ("folder/SKILL.md", ConfigError, "folder/SKILL.md cannot be taught: it is a folder"),
        ("dangling/CLAUDE.md", ConfigError, "is a link to absent/CLAUDE.md, which does not exist"),
        ("loop/CLAUDE.md", ConfigError, "behind more than 5 links"),
        ("pointer/CLAUDE.md", ConfigError, "Git LFS"),
        ("big/CLAUDE.md", ConfigError, "Git LFS"),
        ("big/SKILL.md", ConfigError, "Git LFS"),
    ],
)
def test_what_cannot_be_taught_is_refused_in_clear_words(
    repo: Repository, path: str, error: type[Exception], words: str
) -> None:
    """Links out of the repository or to forbidden files, folders, submodules and LFS: never followed, never guessed."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    repo.write({"pointer/CLAUDE.md": pointer, "big/CLAUDE.md": "x", ".gitattributes": "big/* filter=lfs\n"})
    repo.write({"file": "x", "folder/SKILL.md/x": "x", "real/SKILL.md": "x", ".github/SKILL.md": "x"})
    for link, to in {
        "out/CLAUDE.md": "../../x/CLAUDE.md",
        "root/CLAUDE.md": "/etc/CLAUDE.md",
        "other/CLAUDE.md": "../README.md",
        "actions/SKILL.md": "../.github/SKILL.md",
        "away": "real",
        "hop/CLAUDE.md": "../away/SKILL.md",
        "dangling/CLAUDE.md": "../absent/CLAUDE.md",
        "loop/CLAUDE.md": "AGENTS.md",
        "loop/AGENTS.md": "CLAUDE.md",
    }.items():
        _link(repo, link, to)
    repo.git("add", "--all")
    head = repo.git("rev-parse", "HEAD").strip()
    for module in ("vendor", "sub/SKILL.md"):
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{head},{module}")
    repo.git("commit", "--quiet", "-m", "Odd things")
    with pytest.raises(error, match=words):
        document_entry(GitRepo.open(repo.path), "HEAD", path)


# --- the base ----------------------------------------------------------------------------------------------------


def _cloned(repo: Repository, path: Path, remote: str = "origin") -> Repository:
    subprocess.run(["git", "clone", "--quiet", "--origin", remote, str(repo.path), str(path)], check=True)
    return Repository(path)


def test_without_a_remote_the_current_branch_is_the_base(repo: Repository) -> None:
    """The branch HEAD is on; on one of our own branches or detached, the usual one; else the user is asked."""
    head = repo.git("rev-parse", "HEAD").strip()
    opened = GitRepo.open(repo.path)
    assert default_base(opened, "") == Base("main", head)
    repo.git("checkout", "--quiet", "-b", "feature/x")
    assert default_base(opened, "") == Base("feature/x", head)
    repo.git("checkout", "--quiet", "-b", "sleep/2026-01-02")
    assert default_base(opened, "").branch == "main"
    repo.git("branch", "-m", "main", "trunk")
    repo.git("config", "init.defaultBranch", "trunk")
    assert default_base(opened, "").branch == "trunk"
    repo.git("checkout", "--quiet", "--detach")
    assert default_base(opened, "").branch == "trunk"
    repo.git("config", "init.defaultBranch", "absent")
    with pytest.raises(UsageError, match="no branch to propose to") as caught:
        default_base(opened, "")
    assert "propose.base" in caught.value.hint


@pytest.mark.parametrize("remote", ["origin", "up/stream"])
def test_the_remotes_default_branch_goes_first(repo: Repository, tmp_path: Path, remote: str) -> None:
    """What the remote has of its default branch is the base, wherever HEAD is and whatever is committed locally."""
    head = repo.git("rev-parse", "HEAD").strip()
    clone = _cloned(repo, tmp_path / "clone", remote)
    clone.git("checkout", "--quiet", "-b", "feature")
    clone.commit("Mine", {"a": "1"})
    opened = GitRepo.open(clone.path)
    assert default_base(opened, "") == Base("main", head)
    clone.git("remote", "set-head", remote, "--delete")
    assert default_base(opened, "").branch == "feature"


def test_with_several_remotes_origin_is_the_one(repo: Repository, tmp_path: Path) -> None:
    """`origin` wins; several others are no answer, so that the local branch counts."""
    clone = _cloned(repo, tmp_path / "clone")
    clone.git("remote", "add", "another", str(repo.path))
    clone.git("checkout", "--quiet", "-b", "feature")
    opened = GitRepo.open(clone.path)
    assert default_base(opened, "").branch == "main"
    clone.git("remote", "rename", "origin", "fork")
    assert default_base(opened, "").branch == "feature"


def test_the_configured_base_is_the_remotes_else_the_local_one(repo: Repository, tmp_path: Path) -> None:
    """`propose.base` names a branch; one that exists nowhere is an error with a hint."""
    head = repo.git("rev-parse", "HEAD").strip()
    clone = _cloned(repo, tmp_path / "clone")
    local = clone.commit("Mine", {"a": "1"})
    clone.git("branch", "dev")
    opened = GitRepo.open(clone.path)
    assert default_base(opened, "main") == Base("main", head)
    assert default_base(opened, "dev") == Base("dev", local)
    assert default_base(GitRepo.open(repo.path), "main") == Base("main", head)
    with pytest.raises(UsageError, match="no branch 'nope'") as caught:
        default_base(opened, "nope")
    assert "propose.base" in caught.value.hint


def test_nothing_can_be_proposed_before_the_first_commit(tmp_path: Path) -> None:
    """An empty repository is told so, not that its branch is missing."""
    user = Repository.create(tmp_path / "acme-api", {})
    with pytest.raises(UsageError, match="no commits yet"):
        default_base(GitRepo.open(user.path), "")
