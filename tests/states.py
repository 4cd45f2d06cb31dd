"""Repositories of every kind, and the states that people, machines and other tools leave them in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.helpers import Repository
from tests.helpers_git import fail_every_hook, work_trees
from tests.nights import SKILL
from tests.proposals import BRANCH
from tests.verbs import NOTES, Scenario

OTHERS = {"README.md": "# acme-api\n", "src/app.py": "print()\n", "docs/guide.md": "# Guide\n", ".gitignore": "*.log\n"}
EDIT = "e1-4fc5339d7242a33e"  # the rule, added to the skill
LEARNED = "agents/learned/SKILL.md"
AWKWARD = ("-dash", "tab\tnew\nline", ":(glob)*?[x]", "\"quoted\" 'too'", "back\\slash", "ü", "u\u0308", "\udcff")


# --- kinds of repositories ---------------------------------------------------------------------------------------


def ordinary(scenario: Scenario, path: Path, *options: str) -> Repository:
    """On `main`, with the scenario's files in one commit."""
    path.mkdir(parents=True)
    repo = Repository(path)
    repo.git("init", "--quiet", "--initial-branch=main", *options)
    document = {} if scenario.before is None else {scenario.path: scenario.before}
    repo.write({**OTHERS, **scenario.others, **document})
    for name, to in scenario.links.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).symlink_to(to)
    if document:
        (path / scenario.path).chmod(int(scenario.mode[-3:], 8))
    repo.commit("Start", {})
    return repo


def unborn(_: Scenario, path: Path) -> Repository:
    repo = Repository.create(path, {})
    repo.write({**OTHERS, SKILL: NOTES})
    return repo


def _cloned(scenario: Scenario, path: Path, *options: str) -> Repository:
    origin = ordinary(scenario, path.with_name("origin"))
    origin.commit("More", {"src/more.py": "print()\n"})
    origin.git("config", "uploadpack.allowFilter", "true")
    origin.git("clone", "--quiet", *options, f"file://{origin.path}", str(path))
    return Repository(path)


def bare(scenario: Scenario, path: Path) -> Repository:
    return _cloned(scenario, path, "--bare")


def shallow(scenario: Scenario, path: Path) -> Repository:
    return _cloned(scenario, path, "--depth=1")


def partial_without_remote(scenario: Scenario, path: Path) -> Repository:
    """The document's bytes are there; those of files outside of its folder are not, and nobody has them."""
    repo = _cloned(scenario, path, "--filter=blob:none", "--sparse")
    repo.git("sparse-checkout", "set", ".claude")
    path.with_name("origin").rename(path.with_name("gone"))
    return repo


def with_submodule(scenario: Scenario, path: Path) -> Repository:
    library = Repository.create(path.with_name("library"), OTHERS)
    repo = ordinary(scenario, path)
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "lib")
    repo.commit("Use the library", {})
    return repo


def linked(scenario: Scenario, path: Path) -> Repository:
    """The verb is called in a linked work tree, which has the base; the main one is dirty, and on another branch."""
    main = ordinary(scenario, path)
    main.git("switch", "--quiet", "--create", "feature")
    main.git("worktree", "add", "--quiet", str(path.with_name("linked")), "main")
    dirty(main)
    return Repository(path.with_name("linked"))


def awkward(scenario: Scenario, path: Path) -> Repository:
    return ordinary(scenario, path / f"-acme {' '.join(AWKWARD[:-1])}")


# --- states ------------------------------------------------------------------------------------------------------


def dirty(repo: Repository) -> None:
    """Something stashed, staged, changed, deleted, untracked and ignored."""
    repo.write({"README.md": "# for later\n"})
    repo.git("stash", "push", "--quiet")
    repo.write({"README.md": "# staged\n", "new.py": "staged\n"})
    repo.git("add", "README.md", "new.py")
    repo.write({"README.md": "# staged and changed\n", "untracked.txt": "x\n", "ignored.log": "x\n"})
    (repo.path / "src/app.py").unlink()


def stashing(repo: Repository) -> None:
    """A merge by hand would put away what is changed, and bring it back."""
    dirty(repo)
    configured(repo, merge_autoStash="true")


def in_the_way(repo: Repository) -> None:
    """Somebody's own, which git does not look at."""
    repo.write({SKILL: "mine\n"})


def merging(repo: Repository) -> None:
    repo.git("switch", "--quiet", "--create", "theirs")
    repo.commit("Theirs", {"README.md": "# theirs\n"})
    repo.git("switch", "--quiet", "main")
    repo.commit("Ours", {"README.md": "# ours\n"})
    repo.git("merge", "--quiet", "theirs", check=False)


def detached(repo: Repository) -> None:
    repo.git("switch", "--quiet", "--detach")


def in_the_submodule(repo: Repository) -> None:
    dirty(Repository(repo.path / "lib"))


def sparse(repo: Repository, *options: str) -> None:
    repo.git("sparse-checkout", "set", "--cone", *options, "docs")


def configured(repo: Repository, *, anew: bool = False, **settings: str) -> None:
    """`core_autocrlf` stands for `core.autocrlf`. `anew`: what is checked out is as git writes it now."""
    for name, value in settings.items():
        repo.git("config", name.replace("_", "."), value)
    if anew:
        for path in filter(None, repo.git("ls-files", "-z").split("\0")):
            (repo.path / path).unlink()
        repo.git("checkout", "--quiet", "--", ".")


def failing_hooks(repo: Repository, names: tuple[str, ...], *, elsewhere: bool) -> None:
    folder = repo.path.with_name("outside") / "hooks" if elsewhere else None
    fail_every_hook(repo, folder, names)
    if folder:
        repo.git("config", "core.hooksPath", str(folder))


def replaced_by_a_link_outside(repo: Repository) -> None:
    outside = repo.path.with_name("outside") / "SKILL.md"
    outside.write_bytes(NOTES)
    (repo.path / SKILL).unlink()
    (repo.path / SKILL).symlink_to(outside)
    repo.commit("Link", {})


def folder_replaced_by_a_link(repo: Repository) -> None:
    folder = (repo.path / SKILL).parent
    shutil.rmtree(folder)
    folder.symlink_to("../../agents/learned")
    repo.commit("Link", {LEARNED: "# Quite another text\n"})


def replaced_by_a_folder(repo: Repository) -> None:
    (repo.path / SKILL).unlink()
    repo.commit("Folder", {f"{SKILL}/notes.txt": "x\n"})


def locked(repo: Repository, *names: str) -> None:
    for name in names:
        (repo.path / ".git" / name).touch()


def missing_filter(repo: Repository) -> None:
    """Nothing looks changed, so that git meets the filter only when it writes a file."""
    os.utime(repo.path / SKILL, (0, 0))
    repo.git("update-index", "--refresh")
    command = "a-command-that-is-not-installed"
    configured(repo, filter_crypt_clean=command, filter_crypt_smudge=command, filter_crypt_required="true")


def nobody(repo: Repository) -> None:
    Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text("")
    repo.git("config", "user.useConfigOnly", "true")


def _names() -> Iterator[str]:
    """What a run would call its branch today, and tomorrow where midnight is near; and a revert."""
    for days in (0, 1):
        yield f"sleep/{datetime.now(UTC) + timedelta(days=days):%Y-%m-%d}"
    yield f"sleep/revert-{EDIT}"


def _branch(repo: Repository, name: str, at: str) -> None:
    if not repo.git("branch", "--list", name):
        repo.git("branch", name, at)


def names_taken(repo: Repository) -> None:
    """By branches of somebody else."""
    repo.git("switch", "--quiet", "--create", "mine")
    repo.commit("Mine", {"mine.txt": "x\n"})
    repo.git("switch", "--quiet", "main")
    for name in _names():
        _branch(repo, name, "mine")


def branches_checked_out(repo: Repository) -> None:
    """Every branch that a verb would write is checked out in a work tree of its own."""
    for number, name in enumerate(sorted({BRANCH, *_names()})):
        _branch(repo, name, "main")
        repo.git("worktree", "add", "--quiet", str(repo.path.with_name(f"desk-{number}")), name)


def no_room(repo: Repository) -> None:
    """A branch `sleep` and branches in a folder of that name exclude each other."""
    if repo.git("branch", "--list", BRANCH):
        repo.git("branch", "--quiet", "-D", BRANCH)
    repo.git("branch", "sleep")


def read_only(repo: Repository) -> None:
    for tree in work_trees(repo):
        for path in filter(None, repo.git("ls-files", "-z").split("\0")):
            (tree / path).chmod(0o444)


def somebody_elses(folder: Path) -> Mapping[str, str]:
    """As a hook of another repository would call the tool."""
    other = Repository.create(folder / "outside" / "other", {"OTHER.md": "other\n"})
    git_dir = other.path / ".git"
    return {"GIT_DIR": str(git_dir), "GIT_INDEX_FILE": str(git_dir / "index"), "GIT_WORK_TREE": str(other.path)}
