"""The page of what is kept names everything that is."""

from __future__ import annotations

from pathlib import Path

from tests.helpers import Repository
from tests.nights import PNPM, Run, sessions

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
    assert all(ref.startswith(("refs/skillopt/ledger", "refs/skillopt/rejected/")) for ref in refs)
