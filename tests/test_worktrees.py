"""What is checked out where, and moving it as git would."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from skillopt_git.errors import GitError
from skillopt_git.gitrepo import GitRepo
from skillopt_git.worktrees import Worktree, checked_out, differs, fast_forward, main_worktree, worktrees
from tests.helpers import Repository
from tests.helpers_git import TOOL, fail_every_hook, snapshot
from tests.test_gitrepo import WHEN


def _next(repo: Repository, **files: str) -> str:
    """A commit on top of `main` that is not checked out."""
    opened = GitRepo.open(repo.path)
    changes = {f"{name}.md": ("100644", opened.write_blob(text.encode())) for name, text in files.items()}
    return opened.commit(parent=opened.resolve("main"), changes=changes, message="Learn\n", author=TOOL, when=WHEN)


def test_every_work_tree_is_listed_with_what_it_holds(repo: Repository, tmp_path: Path) -> None:
    """Linked, detached and awkwardly named ones; one whose folder is gone holds nothing any more."""
    head = repo.git("rev-parse", "HEAD").strip()
    awkward = tmp_path / "new\nline"
    repo.git("worktree", "add", "--quiet", "-b", "sleep/2026-01-02", str(awkward))
    repo.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "detached"))
    repo.git("worktree", "add", "--quiet", "-b", "gone", str(tmp_path / "gone"))
    shutil.rmtree(tmp_path / "gone")
    opened = GitRepo.open(repo.path)
    assert set(worktrees(opened)) == {
        Worktree(repo.path, head, "refs/heads/main"),
        Worktree(awkward, head, "refs/heads/sleep/2026-01-02"),
        Worktree(tmp_path / "detached", head, None),
    }
    assert checked_out(opened, "refs/heads/sleep/2026-01-02") == Worktree(awkward, head, "refs/heads/sleep/2026-01-02")
    assert checked_out(opened, "refs/heads/gone") is None


def test_the_main_work_tree_is_found_from_every_other_one(repo: Repository, tmp_path: Path) -> None:
    """Of a bare repository it is its folder; of one whose folder lies apart, git knows only the one at hand."""
    linked, bare, apart = tmp_path / "linked", tmp_path / "bare.git", tmp_path / "apart"
    repo.git("worktree", "add", "--quiet", str(linked))
    repo.git("clone", "--quiet", "--bare", ".", str(bare))
    repo.git("clone", "--quiet", "--separate-git-dir", str(tmp_path / "elsewhere"), ".", str(apart))
    found = [main_worktree(GitRepo.open(folder)) for folder in (repo.path, linked, bare, apart)]
    assert found == [repo.path, repo.path, bare, apart]


@pytest.mark.parametrize("backend", ["merge", "apply"])
def test_a_branch_that_is_being_rebased_is_somebodys(repo: Repository, tmp_path: Path, backend: str) -> None:
    """It is held by the work tree where the rebase stopped, and is not moved under it."""
    repo.git("branch", "theirs")
    ours = repo.commit("Ours", {"README.md": "ours\n"})
    other = Repository(tmp_path / "other")
    repo.git("worktree", "add", "--quiet", str(other.path), "theirs")
    other.commit("Theirs", {"README.md": "theirs\n"})
    other.git("rebase", "--quiet", f"--{backend}", "main", check=False)
    before = snapshot(repo)

    tree = checked_out(GitRepo.open(repo.path), "refs/heads/theirs")

    assert tree == Worktree(other.path, ours, "refs/heads/theirs", rebasing=True)
    with pytest.raises(GitError, match="is being rebased"):
        fast_forward(tree, _next(repo, CLAUDE="x\n"))
    assert snapshot(repo) == before


def test_before_the_first_commit_a_branch_is_checked_out_too(tmp_path: Path) -> None:
    """An unborn branch has no commit, but is somebody's; a bare repository has nothing checked out."""
    user = Repository.create(tmp_path / "acme-api", {})
    assert worktrees(GitRepo.open(user.path)) == (Worktree(user.path, None, "refs/heads/main"),)
    user.git("init", "--quiet", "--bare", str(tmp_path / "bare.git"))
    assert checked_out(GitRepo.open(tmp_path / "bare.git"), "refs/heads/main") is None


def test_a_checked_out_branch_moves_with_its_files(repo: Repository) -> None:
    """Index and files follow, other local changes stay, no hook runs, nothing is stashed."""
    tip = _next(repo, CLAUDE="Use pnpm.\n")
    fail_every_hook(repo)
    repo.git("config", "merge.autoStash", "true")
    repo.write({"README.md": "changed\n", "notes.txt": "mine\n"})
    tree = checked_out(GitRepo.open(repo.path), "refs/heads/main")
    assert tree is not None
    fast_forward(tree, tip)
    assert repo.git("rev-parse", "HEAD", "main").split() == [tip, tip]
    assert repo.git("symbolic-ref", "HEAD").strip() == "refs/heads/main"
    assert repo.git("status", "--porcelain") == " M README.md\n?? notes.txt\n"
    assert (repo.path / "CLAUDE.md").read_text() == "Use pnpm.\n"


STATES = {
    "changed": "README.md",
    "staged": "README.md",
    "untracked": "CLAUDE.md",
    "ignored": "AGENTS.md",
    "index locked": "index.lock",
    "HEAD locked": "HEAD.lock",
    "branch locked": "main.lock",
    "filter missing": "smudge filter crypt failed",
    "merging": "not concluded your merge",
    "diverged": "fast-forward",
}


@pytest.mark.parametrize("state", STATES)
def test_nothing_moves_where_something_would_be_lost(repo: Repository, state: str) -> None:
    """Local changes or files in the way, a lock, a file that cannot be written, other commits: nothing is touched."""
    repo.commit("Ignore", {".gitignore": "AGENTS.md\n", ".gitattributes": "AGENTS.md filter=crypt\n"})
    tip = _next(repo, README="theirs\n", CLAUDE="theirs\n", AGENTS="theirs\n")
    repo.git("config", "merge.autoStash", "true")
    git_dir = repo.path / ".git"
    match state:
        case "changed" | "staged":
            repo.write({"README.md": "mine\n"})
            if state == "staged":
                repo.git("add", "README.md")
        case "untracked":
            repo.write({"CLAUDE.md": "mine\n"})
        case "ignored":
            repo.write({"AGENTS.md": "mine\n"})
        case "filter missing":
            repo.git("config", "filter.crypt.smudge", "a-command-that-is-not-installed")
            repo.git("config", "filter.crypt.required", "true")
        case "merging":
            (git_dir / "MERGE_HEAD").write_text(f"{tip}\n")
        case "diverged":
            repo.commit("Mine", {"mine": "1"})
    if "locked" in state:
        (git_dir / ("refs/heads" if state.startswith("branch") else "") / STATES[state]).touch()
    tree = worktrees(GitRepo.open(repo.path))[0]
    before = snapshot(repo)

    with pytest.raises(GitError, match=r"^git merge: ") as caught:
        fast_forward(tree, tip)

    assert snapshot(repo) == before
    assert STATES[state] in f"{caught.value.message}\n{caught.value.hint}"


def test_a_file_that_was_merely_touched_is_not_in_the_way(repo: Repository) -> None:
    """Its content decides, as it does for git."""
    tip = _next(repo, README="theirs\n")
    os.utime(repo.path / "README.md", (0, 0))

    fast_forward(worktrees(GitRepo.open(repo.path))[0], tip)

    assert (repo.path / "README.md").read_text() == "theirs\n"


def test_a_local_file_that_differs_is_noticed(repo: Repository, tmp_path: Path) -> None:
    """Content decides, not the index, not line ends that git would convert, not time stamps, not a lost filter."""
    repo.git("config", "core.autocrlf", "true")
    opened = GitRepo.open(repo.path)
    assert not differs(opened, "HEAD", "README.md")
    repo.write({"README.md": "# acme-api\r\n"})
    assert not differs(opened, "HEAD", "README.md")
    repo.write({"README.md": "# acme\n", "CLAUDE.md": "new"})
    repo.git("add", "--all")
    assert differs(opened, "HEAD", "README.md")
    assert differs(opened, "HEAD", "CLAUDE.md")
    assert not differs(opened, "HEAD", "AGENTS.md")
    (repo.path / "README.md").unlink()
    assert differs(opened, "HEAD", "README.md")
    (repo.path / "AGENTS.md").symlink_to("CLAUDE.md")
    assert differs(opened, "HEAD", "AGENTS.md")
    repo.git("config", "filter.crypt.clean", "a-command-that-is-not-installed")
    repo.git("config", "filter.crypt.required", "true")
    repo.write({".gitattributes": "*.md filter=crypt\n", "README.md": "# acme-api\n"})
    assert not differs(opened, "HEAD", "README.md")
    repo.write({"README.md": "# acme\n"})
    assert differs(opened, "HEAD", "README.md")
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    assert not differs(GitRepo.open(tmp_path / "bare.git"), "HEAD", "README.md")
