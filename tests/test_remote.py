"""A remote: real repositories on this disk that refuse, lose answers, hang and move."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_git.errors import GitError, RefMoved, UsageError
from skillopt_git.gitrepo import GitRepo
from skillopt_git.remote import Remote, Update, remote_name, the_remote
from tests.helpers import Repository
from tests.helpers_git import fail_every_hook, snapshot

BRANCH = "refs/heads/sleep/2026-11-29"
LEDGER = "refs/skillopt/ledger"


@pytest.fixture
def server(repo: Repository, tmp_path: Path) -> Repository:
    """A bare repository that `repo` knows as `origin`."""
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "server.git"))
    repo.git("remote", "add", "origin", f"file://{tmp_path}/server.git")
    return Repository(tmp_path / "server.git")


@pytest.fixture
def remote(repo: Repository, server: Repository) -> Remote:
    return Remote(GitRepo.open(repo.path), "origin")


def head(repo: Repository, rev: str = "HEAD") -> str:
    return repo.git("rev-parse", rev).strip()


def next_commit(repo: Repository) -> str:
    """A commit on nothing's tip."""
    return repo.git("commit-tree", "-p", "HEAD", "-m", "next", "HEAD^{tree}").strip()


def on_push(server: Repository, script: str) -> None:
    hook = server.path / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)


def test_refs_move_together_and_nothing_of_the_users_does(repo: Repository, server: Repository, remote: Remote) -> None:
    """Created, moved and deleted, each from where it was expected; hooks and remote-tracking refs stay out of it."""
    fail_every_hook(repo)
    before = snapshot(repo)
    first, second = head(repo), next_commit(repo)

    remote.push([Update(BRANCH, first, None), Update(LEDGER, first, None)])
    assert remote.refs(BRANCH, LEDGER) == {BRANCH: first, LEDGER: first}
    remote.push([Update(BRANCH, second, first), Update(LEDGER, None, first)])

    assert remote.refs(f"{BRANCH}*", LEDGER) == {BRANCH: second}
    after = snapshot(repo)
    tracked = [f"refs/remotes/origin/sleep/2026-11-29 {second}"]  # where git notes what it pushed
    assert after.pop("refs") == [*before.pop("refs"), *tracked]  # type: ignore[misc]
    assert after == before
    remote.push([])


@pytest.mark.parametrize("expected", [None, "another"])
def test_a_ref_that_is_elsewhere_moves_none(repo: Repository, remote: Remote, expected: str | None) -> None:
    """Also not the one whose lease is right."""
    first, second = head(repo), next_commit(repo)
    remote.push([Update(BRANCH, first, None)])

    with pytest.raises(RefMoved, match="moved at origin meanwhile"):
        remote.push([Update(LEDGER, first, None), Update(BRANCH, second, expected and second)])

    assert remote.refs(BRANCH, LEDGER) == {BRANCH: first}


def test_what_is_fetched_moves_no_ref_and_writes_no_file(repo: Repository, server: Repository, remote: Remote) -> None:
    """The objects are there, and that is all; settings that would prune or map refs are not followed."""
    made = server.git("commit-tree", "-m", "there", "HEAD^{tree}").strip()
    server.git("update-ref", LEDGER, made)
    repo.git("config", "fetch.prune", "true")
    repo.git("config", "remote.origin.fetch", "+refs/skillopt/*:refs/remotes/origin/skillopt/*")
    before = snapshot(repo)

    remote.fetch(LEDGER)
    remote.fetch()

    assert repo.git("cat-file", "-t", made).strip() == "commit"
    assert snapshot(repo) == before


def test_an_answer_that_got_lost_is_asked_for_again(repo: Repository, server: Repository, remote: Remote) -> None:
    """The server took the push, and the connection broke before it could say so."""
    hook = server.path / "hooks" / "post-receive"
    hook.write_text("#!/bin/sh\ntouch took-it\nkill -9 $PPID\n")
    hook.chmod(0o755)

    remote.push([Update(BRANCH, head(repo), None)])

    assert (server.path / "took-it").exists()

    assert remote.refs(BRANCH) == {BRANCH: head(repo)}


def test_a_server_without_atomic_pushes_takes_them_one_by_one(
    repo: Repository, server: Repository, remote: Remote
) -> None:
    """In the order given, so that a branch is never there without the ledger that explains it."""
    server.git("config", "receive.advertiseAtomic", "false")

    remote.push([Update(LEDGER, head(repo), None), Update(BRANCH, head(repo), None)])

    assert remote.refs(BRANCH, LEDGER) == {BRANCH: head(repo), LEDGER: head(repo)}


@pytest.mark.parametrize(
    ("script", "words", "hint"),
    [
        (
            "echo 'error: GH006: Protected branch update failed' >&2; exit 1",
            "hook declined",
            "its rules refuse that ref",
        ),
        ("echo 'you do not have permission' >&2; exit 1", "hook declined", "right to push"),
        ("echo 'not today' >&2; exit 1", "pre-receive hook declined", "takes branches only"),
    ],
)
def test_a_refusal_says_what_to_do(
    repo: Repository, server: Repository, remote: Remote, script: str, words: str, hint: str
) -> None:
    """In the server's own words, and with the setting that would change it."""
    on_push(server, script)

    with pytest.raises(GitError, match=words) as caught:
        remote.push([Update(LEDGER, head(repo), None)])

    assert hint in caught.value.hint
    assert remote.refs(LEDGER) == {}


def test_a_server_that_hides_our_refs_is_told_apart(repo: Repository, server: Repository, remote: Remote) -> None:
    """Some take branches and tags only."""
    server.git("config", "transfer.hideRefs", "refs/skillopt")

    with pytest.raises(GitError, match="hidden ref") as caught:
        remote.push([Update(LEDGER, head(repo), None)])

    assert "propose.ledger_ref" in caught.value.hint


def test_a_server_that_does_not_answer_is_left(repo: Repository, server: Repository) -> None:
    """No verb waits for ever, even where git itself would."""
    wrapper = server.path / "hang"
    wrapper.write_text("#!/bin/sh\nsleep 30\n")
    wrapper.chmod(0o755)
    repo.git("config", "remote.origin.uploadpack", str(wrapper))

    with pytest.raises(GitError, match="no answer within"):
        Remote(GitRepo.open(repo.path), "origin", longest=0.5).refs(LEDGER)


def test_a_password_in_an_address_is_not_told(repo: Repository) -> None:
    """Where git repeats the address it could not reach."""
    repo.git("remote", "add", "origin", "https://alice:s3cret@127.0.0.1:1/acme.git")

    with pytest.raises(GitError) as caught:
        Remote(GitRepo.open(repo.path), "origin").refs(LEDGER)

    assert "s3cret" not in f"{caught.value.message} {caught.value.hint}"
    assert "try again later" in caught.value.hint


def test_the_remote_is_origin_or_the_only_one(repo: Repository) -> None:
    """Of several without that name none is guessed."""
    opened = GitRepo.open(repo.path)
    assert remote_name(opened) is None
    with pytest.raises(UsageError, match="no one remote") as caught:
        the_remote(opened)
    assert "git remote add" in caught.value.hint
    repo.git("remote", "add", "upstream", "file:///nowhere")
    assert the_remote(opened).name == "upstream"
    repo.git("remote", "add", "fork", "file:///nowhere")
    assert remote_name(opened) is None
    repo.git("remote", "add", "origin", "file:///nowhere")
    assert the_remote(opened).name == "origin"
    assert the_remote(opened, "fork").name == "fork"
    with pytest.raises(UsageError, match="no remote 'frok'") as caught:
        the_remote(opened, "frok")
    assert "fork, origin, upstream" in caught.value.hint
