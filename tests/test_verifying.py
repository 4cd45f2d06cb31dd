"""Verdicts that follow from their evidence, and those that somebody only claims."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import cli
from skillopt_git.errors import GitError
from skillopt_git.verifying import settings_of
from tests.helpers import Repository
from tests.nights import PNPM, TICKET, Run, arguments, sessions

LEDGER = "refs/skillopt/ledger"
Say = Callable[..., str]
VARYING = {"SKILLOPT_REPLAY_MOCK_PASS_WITH": "0.97", "SKILLOPT_REPLAY_MOCK_PASS_WITHOUT": "0.02"}


def forged(repo: Repository, change: Callable[[dict[str, Any]], None]) -> None:
    """The ledger with one evidence changed, under the name of its new content, which the events name too."""
    (path,) = repo.git("ls-tree", "-r", "--name-only", LEDGER, "evidence/").split()
    old = Path(path).stem
    record = json.loads(repo.git("show", f"{LEDGER}:{path}"))
    change(record)
    data = (json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
    new = hashlib.sha256(data).hexdigest()
    (month,) = repo.git("ls-tree", "-r", "--name-only", LEDGER, "events/").split()
    events = repo.git("show", f"{LEDGER}:{month}").replace(old, new).encode()
    blobs = {f"evidence/{new}.json": data, month: events}
    listing = []
    for name, content in blobs.items():
        sha = repo.git("hash-object", "-w", "--stdin", input_=content).strip()
        for part in reversed(Path(name).parts[1:]):
            kind = "100644 blob" if part.endswith(("json", "jsonl")) else "040000 tree"
            sha = repo.git("mktree", input_=f"{kind} {sha}\t{part}\n".encode()).strip()
        listing.append(f"040000 tree {sha}\t{Path(name).parts[0]}\n")
    tree = repo.git("mktree", input_="".join(listing).encode()).strip()
    repo.git("update-ref", LEDGER, repo.git("commit-tree", "-p", LEDGER, "-m", "forged", tree).strip())


@pytest.fixture(params=["strict", "evidence"])
def proposed(
    request: pytest.FixtureRequest, repo: Repository, home: Path, invoke: Run, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """A night under either rule: a simulation that always says the same, and one that varies."""
    if request.param == "evidence":
        for name, value in VARYING.items():
            monkeypatch.setenv(name, value)
    sessions(home, repo, PNPM)
    run = invoke("run")
    for name in VARYING:
        monkeypatch.delenv(name, raising=False)
    assert run["verdict"] == "strong"
    return run


def test_a_proposal_is_confirmed_by_its_evidence(proposed: dict[str, Any], invoke: Run, say: Say) -> None:
    """Also when it was decided already."""
    record = invoke("verify")

    assert record["sound"]
    assert [(item["recorded"], item["recomputed"], item["problems"]) for item in record["edits"]] == [
        ("strong", "strong", [])
    ]
    invoke("adopt")
    assert "every verdict follows from its recorded evidence" in say("verify", proposed["branch"])


def test_a_fresh_clone_confirms_it_too(
    proposed: dict[str, Any], repo: Repository, home: Path, tmp_path: Path, invoke: Run
) -> None:
    """It fetches the ledger; without one there is nothing to confirm."""
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "server.git"))
    repo.git("remote", "add", "origin", f"file://{tmp_path}/server.git")
    invoke("ledger push")
    repo.git("clone", "--quiet", f"file://{tmp_path}/server.git", str(tmp_path / "fresh"))
    fresh = Repository(tmp_path / "fresh")

    assert cli.run(arguments("verify", [proposed["branch"], "--local"], fresh, home)) == 2
    assert cli.run(arguments("verify", [proposed["branch"]], fresh, home)) == 0


def test_a_remote_that_cannot_be_reached_is_noted(
    proposed: dict[str, Any], repo: Repository, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is here counts."""
    repo.git("remote", "add", "origin", "file:///nowhere/acme.git")

    assert cli.run(arguments("verify", [], repo, home)) == 0
    assert "the ledger at origin was not asked" in capsys.readouterr().err


def _one_fails(record: dict[str, Any]) -> None:
    for task in record["tasks"]:
        task["cand"] = [0] * len(task["cand"])
        task["soft"]["cand"] = [0.0] * len(task["soft"]["cand"])


def _flattered(record: dict[str, Any]) -> None:
    record["numbers"]["candidate" if record["rule"] == "strict" else "gain_shrunk"] = 0.99


def _elsewhere(record: dict[str, Any]) -> None:
    record["document"] = "CLAUDE.md"


def _of_another(record: dict[str, Any]) -> None:
    record["edits"] = ["e1-0000000000000000"]


def _false_settings(record: dict[str, Any]) -> None:
    record["settings"]["mixed_weight"] = "all"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_one_fails, "and strong is recorded"),
        (_flattered, "is recorded as 0.99"),
        (_elsewhere, "another document"),
        (_of_another, "the evidence is about e1-0000000000000000"),
        (_false_settings, "no settings of a gate"),
    ],
)
def test_what_does_not_follow_is_told(
    proposed: dict[str, Any], repo: Repository, invoke: Run, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    """Whoever changes the record in the ledger, names and all, is found by the arithmetic."""
    forged(repo, change)

    record = invoke("verify", proposed["branch"], code=6)

    assert not record["sound"]
    assert any(words in problem for item in record["edits"] for problem in item["problems"])


def test_evidence_that_is_missing_is_told(repo: Repository, home: Path, invoke: Run, say: Say) -> None:
    sessions(home, repo, PNPM)
    invoke("run")
    events = repo.git("rev-parse", f"{LEDGER}:events").strip()
    tree = repo.git("mktree", input_=f"040000 tree {events}\tevents\n".encode()).strip()
    repo.git("update-ref", LEDGER, repo.git("commit-tree", "-p", LEDGER, "-m", "bare", tree).strip())

    assert any("is not in this ledger" in text for text in invoke("verify", code=6)["edits"][0]["problems"])


def test_what_was_never_gated_claims_nothing(
    repo: Repository, home: Path, invoke: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its verdict says so, and there is nothing to confirm."""
    monkeypatch.setenv("SKILLOPT_GATE_MODE", "off")
    sessions(home, repo, [*PNPM, *TICKET])
    invoke("run")

    record = invoke("verify")

    assert {(item["recorded"], item["recomputed"]) for item in record["edits"]} == {("ungated", None)}
    assert record["sound"]


def test_settings_that_are_none_are_refused() -> None:
    assert settings_of({"mode": "strict", "metric": "hard", "seed": 3}).metric == "hard"
    with pytest.raises(GitError, match="no settings of a gate"):
        settings_of({"metric": "best"})
