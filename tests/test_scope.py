"""Which folders' sessions count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_git.cleaning import heading
from skillopt_git.model import Session
from skillopt_git.scope import Scope
from skillopt_git.sources.claude import ClaudeSource
from tests.found import EVERYWHERE, gather, session

GENUINE = Path(__file__).parent / "data" / "transcripts" / "claude" / "v2.1.197" / ".claude"


def holds(scope: Scope, found: Session) -> bool:
    return scope.holds(heading(found))


@pytest.mark.parametrize(
    ("cwd", "held"),
    [
        ("/a/b", True),
        ("/a/b/", True),
        ("/a/b/c", True),
        ("/a/x/../b", True),
        ("/a/bc", False),
        ("/a", False),
        ("/a/b/../c", False),
        ("", False),
        (None, False),
        (".", False),
        ("a/b", False),
        ("/a/b/\0", False),
    ],
)
def test_a_scope_holds_its_roots_and_what_lies_below(cwd: str | None, held: bool) -> None:
    """Folders are compared part by part, gone ones too; a session that is nowhere belongs to no root."""
    scope = Scope(roots=(Path("/x"), Path("/a/b")))

    assert holds(scope, session(cwd=cwd)) is held
    assert holds(EVERYWHERE, session(cwd=cwd))


def test_a_session_without_cwd_is_not_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running the tool inside the repository claims no session that does not say where it ran."""
    monkeypatch.chdir(tmp_path)

    assert not holds(Scope(roots=(tmp_path,)), session(cwd=None))
    assert not holds(Scope(roots=(tmp_path,)), session(cwd="."))


def test_a_scope_sees_through_links(tmp_path: Path) -> None:
    """A repository is the same by whatever link the session or the root names it."""
    (tmp_path / "real" / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")

    assert holds(Scope(roots=(tmp_path / "real",)), session(cwd=str(tmp_path / "link" / "src")))
    assert holds(Scope(roots=(tmp_path / "link",)), session(cwd=str(tmp_path / "real" / "src" / "gone")))


def test_a_worktree_session_belongs_to_its_repository() -> None:
    """A genuine session that ran in a worktree elsewhere counts by where it was started from."""
    every = gather(sources=[ClaudeSource(GENUINE)]).sessions
    (found,) = (item for item in every if item.id.startswith("226cc8fa"))
    repository = Scope(roots=(Path("/home/dev/acme-api"),))

    assert holds(repository, found)
    assert holds(repository, replace(found, cwd="/tmp/elsewhere"))
    assert not holds(Scope(roots=(Path("/home/dev/acme-web"),)), found)


def test_the_genuine_corpus_is_scoped_to_one_repository() -> None:
    """Of all the genuine sessions only the repository's are read, and each other one is counted."""
    everything = gather(sources=[ClaudeSource(GENUINE)])
    found = gather(sources=[ClaudeSource(GENUINE)], scope=Scope(roots=(Path("/home/dev/acme-web"),)))

    assert [item.id[:8] for item in found.sessions] == ["b99eedf5", "0a76effa"]
    outside = sum(item.count for item in found.skipped if item.reason == "outside the scope")
    assert outside + 2 == len(everything.sessions)
