"""The page of what is kept names everything that is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.helpers import Repository
from tests.nights import PNPM, TICKET, Run, sessions

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

PAGE = (Path(__file__).parent.parent / "docs" / "state.md").read_text(encoding="utf-8")


def test_every_private_file_and_ref_is_on_the_page(repo: Repository, home: Path, invoke: Run) -> None:
    """Whatever a night and a decision leave."""
    sessions(home, repo, PNPM)
    invoke("run")
    invoke("reject", "--reason", "no")
    (repo.path / ".git" / "skillopt" / "bank.json").write_text("{")
    invoke("run")

    kept = {path.name for path in (repo.path / ".git" / "skillopt").iterdir()}
    named = {name for name in kept if f"`{name}" in PAGE or (".damaged-" in name and "`*.damaged-*`" in PAGE)}
    assert kept - named == set()
    assert len(kept) >= 8
    refs = repo.git("for-each-ref", "--format=%(refname)", "refs/skillopt").split()
    kinds = {"/".join(ref.split("/")[:3]) for ref in refs}
    assert {kind for kind in kinds if f"`{kind}" not in PAGE} == set()


def commands(after: str) -> list[str]:
    """The commands of the page's section of that name, comments cut."""
    section = PAGE.partition(f"## {after}\n")[2].partition("\n## ")[0]
    return [line.partition("  #")[0].strip() for line in section.splitlines() if line.startswith("    ")]


def test_who_starts_again_as_the_page_says_has_forgotten_everything(
    repo: Repository, home: Path, invoke: Run, tmp_path: Path
) -> None:
    """In every clone and at the remote; nothing brings it back, and what was learned stays in its files."""
    origin = Repository(tmp_path / "origin.git")
    repo.git("clone", "--quiet", "--bare", ".", str(origin.path))
    repo.git("remote", "add", "origin", str(origin.path))
    sessions(home, repo, PNPM)
    invoke("run")
    invoke("adopt")
    for words in (("run", "--push", "--allow-simulated"), ("reject", "--reason", "no"), ("ledger", "push")):
        sessions(home, repo, TICKET)
        invoke(*words)
    learned = repo.git("rev-parse", "main")
    repo.git("update-ref", "refs/skillopt/seen/origin/sleep/2026-01-01", "main")
    repo.git("push", "--quiet", "origin", "main:refs/heads/sleep/2026-01-01")
    repo.git("fetch", "--quiet", "origin")
    other = Repository(tmp_path / "other")
    repo.git("clone", "--quiet", str(origin.path), str(other.path))
    assert {ref.split("/")[2] for ref in listed(repo) if ref.startswith("refs/skillopt/")} == {
        *("ledger", "rejected", "seen")
    }
    other.git("fetch", "--quiet", "origin", "refs/skillopt/*:refs/skillopt/*")

    _, *here, remote, prune = commands("Starting again")
    (other.path / ".git" / "skillopt").mkdir()
    for clone in (repo, other):
        for command in here:
            run(command, clone)
    run(remote, repo)
    for clone in (repo, other):
        run(prune, clone)

    for clone in (repo, other, origin):
        assert [ref for ref in listed(clone) if "skillopt" in ref or "sleep" in ref] == []
    assert not (repo.path / ".git" / "skillopt").exists()
    assert repo.git("rev-parse", "main") == learned


def run(command: str, repo: Repository) -> None:
    subprocess.run(["/bin/sh", "-ec", command], cwd=repo.path, capture_output=True, check=True)


def listed(repo: Repository) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname)").split()
