"""The rig's git over HTTP does what a real server does, and goes wrong only where it is told to."""

from __future__ import annotations

import gzip
import os
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from skillopt_git.errors import GitError, RefMoved
from skillopt_git.gitrepo import GitRepo
from skillopt_git.remote import Remote, Update
from tests.helpers import Repository
from tests.rig.accounts import ALICE, BOB, READER, ROBOT, STRANGER, Account, UnknownToken, basic, who
from tests.rig.api import Api
from tests.rig.fixtures import need
from tests.rig.gitserver import GitServer
from tests.rig.loopback import Answer, Fault, Request
from tests.rig.origin import Origin

NAME = "acme/api"
BRANCH = "refs/heads/sleep/2026-11-29"
LEDGER = "refs/skillopt/ledger"
NOBODY = Account("eve", "token-of-eve-0000", "none")


@pytest.fixture
def clone(git_origin: Origin, tmp_path: Path) -> Repository:
    return git_origin.clone(NAME, tmp_path / "clone", BOB)


@pytest.fixture
def remote(clone: Repository) -> Remote:
    return Remote(GitRepo.open(clone.path), "origin", longest=60)


def head(repo: Repository, rev: str = "HEAD") -> str:
    return repo.git("rev-parse", rev).strip()


def there(origin: Origin) -> dict[str, str]:
    lines = Repository(origin.git.path(NAME)).git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split() for line in lines)


# --- what works --------------------------------------------------------------------------------------------------


def test_what_is_pushed_is_there_for_others(
    git_origin: Origin, clone: Repository, remote: Remote, tmp_path: Path
) -> None:
    """Branches and refs of the tool's own, for everybody with a token, with or without `.git` in the address."""
    made = clone.commit("Learn", {"CLAUDE.md": "- Use pnpm.\n"})
    remote.push([Update(BRANCH, made, None), Update(LEDGER, made, None)])

    assert there(git_origin) == {"refs/heads/main": head(clone, "HEAD~"), BRANCH: made, LEDGER: made}
    other = git_origin.clone(NAME, tmp_path / "other", READER)
    other.git("remote", "set-url", "origin", git_origin.address(NAME).removesuffix(".git"))
    assert Remote(GitRepo.open(other.path), "origin").refs(BRANCH, LEDGER) == {BRANCH: made, LEDGER: made}
    remote.push([Update(BRANCH, None, made)])
    assert BRANCH not in there(git_origin)


def test_a_public_repository_can_be_read_without_a_token(git_origin: Origin, repo: Repository) -> None:
    """But not written, and a private one not even read."""
    read = ("-c", "credential.helper=", "ls-remote")
    assert BRANCH not in repo.git(*read, git_origin.address("acme/site"))
    assert head(repo) in repo.git(*read, git_origin.address("acme/site"))
    with pytest.raises(AssertionError, match="could not read Username"):
        repo.git(*read, git_origin.address(NAME))
    with pytest.raises(AssertionError, match="could not read Username"):
        repo.git("push", git_origin.address("acme/site"), "HEAD:refs/heads/mine")


def test_what_git_sends_in_pieces_arrives(git_origin: Origin, clone: Repository, remote: Remote) -> None:
    """As it does with everything larger than a megabyte."""
    made = clone.commit("Big", {"big": os.urandom(2_000_000)})

    remote.push([Update(BRANCH, made, None)])

    assert there(git_origin)[BRANCH] == made
    seen = {value for request in git_origin.requests() for value in request.headers.values()}
    assert seen >= {"chunked", "version=2"}


def test_what_git_sends_compressed_is_unpacked(git_origin: Origin, clone: Repository) -> None:
    """As it does with long questions; this one asks for the refs."""
    line = HTTPConnection(urlsplit(git_origin.url).netloc)
    headers = {
        "Authorization": basic(BOB),
        "Content-Type": "application/x-git-upload-pack-request",
        "Content-Encoding": "gzip",
        "Git-Protocol": "version=2",
    }
    line.request("POST", f"/{NAME}.git/git-upload-pack", gzip.compress(b"0014command=ls-refs\n00010000"), headers)

    assert f"{head(clone)} refs/heads/main".encode() in line.getresponse().read()
    line.close()


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("account", "hint"),
    [
        (NOBODY, "no valid credentials"),
        (STRANGER, "not found"),
        (READER, "right to push"),
    ],
)
def test_who_may_not_push_is_told_so(git_origin: Origin, clone: Repository, account: Account, hint: str) -> None:
    """An unknown token, one without access, one that may only read; and nothing is there."""
    clone.git("config", f"http.{git_origin.url}/.extraHeader", f"Authorization: {basic(account)}")

    with pytest.raises(GitError) as caught:
        Remote(GitRepo.open(clone.path), "origin", longest=60).push([Update(BRANCH, head(clone), None)])

    told = f"{caught.value.message}\n{caught.value.hint}"
    assert hint in told
    assert account.token not in told
    assert BRANCH not in there(git_origin)


def test_a_protected_branch_takes_no_push(git_origin: Origin, clone: Repository) -> None:
    """In GitHub's words, and others of the same push move; the tool passes the words on."""
    git_origin.git.protect(NAME, "refs/heads/main", "refs/skillopt/*")
    made = clone.commit("Learn", {"CLAUDE.md": "- Use pnpm.\n"})

    told = clone.git("push", "--porcelain", "origin", "HEAD:main", f"HEAD:{BRANCH}", check=False)

    assert "[remote rejected] (hook declined)" in told
    assert there(git_origin) == {"refs/heads/main": head(clone, "HEAD~"), BRANCH: made}
    with pytest.raises(GitError, match="hook declined") as caught:
        Remote(GitRepo.open(clone.path), "origin").push([Update(LEDGER, made, None)])
    assert "propose.ledger_ref" in caught.value.hint


def test_a_server_can_take_branches_only(git_origin: Origin, clone: Repository, remote: Remote) -> None:
    """Some forges know no other refs."""
    git_origin.git.hide(NAME)

    with pytest.raises(GitError, match="hidden ref"):
        remote.push([Update(LEDGER, head(clone), None)])
    remote.push([Update(BRANCH, head(clone), None)])


def test_a_lease_is_kept(git_origin: Origin, clone: Repository, remote: Remote, tmp_path: Path) -> None:
    """Whoever pushes second from what is no longer there moves nothing."""
    first = head(clone)
    remote.push([Update(BRANCH, first, None)])
    other = git_origin.clone(NAME, tmp_path / "other", ALICE)
    moved = other.commit("Theirs", {"theirs": "1"})
    Remote(GitRepo.open(other.path), "origin").push([Update(BRANCH, moved, first)])

    with pytest.raises(RefMoved):
        remote.push([Update(BRANCH, clone.commit("Mine", {"mine": "1"}), first)])

    assert there(git_origin)[BRANCH] == moved


# --- what goes wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        Fault(r"^POST .*/git-receive-pack", after=True, reset=True),
        Fault(r"^POST .*/git-receive-pack", drop_after=10),
        Fault(r"^POST .*/git-receive-pack", after=True, status=502),
    ],
    ids=["reset", "cut", "502"],
)
def test_an_answer_can_get_lost(git_origin: Origin, clone: Repository, remote: Remote, fault: Fault) -> None:
    """The server has the pack; the tool asks what is there, and is content."""
    git_origin.goes_wrong(fault)

    remote.push([Update(BRANCH, head(clone), None)])

    assert there(git_origin)[BRANCH] == head(clone)
    assert git_origin.asked(r"service=git-upload-pack")


@pytest.mark.parametrize(
    "fault", [Fault("receive-pack", reset=True), Fault("receive-pack", status=503)], ids=["reset", "503"]
)
def test_a_request_can_fail_before_anything_happens(
    git_origin: Origin, clone: Repository, remote: Remote, fault: Fault
) -> None:
    """Nothing is there; the same push again succeeds, for the fault was for one request."""
    git_origin.goes_wrong(fault)

    with pytest.raises(GitError):
        remote.push([Update(BRANCH, head(clone), None)])
    assert BRANCH not in there(git_origin)
    remote.push([Update(BRANCH, head(clone), None)])
    assert there(git_origin)[BRANCH] == head(clone)


def test_a_server_can_hang(git_origin: Origin, clone: Repository) -> None:
    """The tool leaves it when its time is up, and so does the rig."""
    git_origin.goes_wrong(Fault("info/refs", hang=True))
    began = time.monotonic()

    with pytest.raises(GitError, match="no answer within"):
        Remote(GitRepo.open(clone.path), "origin", longest=0.5).refs(BRANCH)

    git_origin.close()
    assert time.monotonic() - began < 10


def test_a_server_can_be_slow_for_a_while(git_origin: Origin, remote: Remote) -> None:
    """Faults come in their order, each for as many requests as it says."""
    git_origin.goes_wrong(Fault("info/refs", delay=0.3), Fault("info/refs", times=2, status=429))
    began = time.monotonic()

    remote.refs(BRANCH)
    assert time.monotonic() - began >= 0.3
    for _ in range(2):
        with pytest.raises(GitError, match="429"):
            remote.refs(BRANCH)
    remote.refs(BRANCH)


def test_what_breaks_inside_the_rig_fails_the_test(tmp_path: Path) -> None:
    """A fault of the rig itself is never taken for one that was asked for."""

    def serve(request: Request) -> Answer:
        raise KeyError(request.path)

    origin = Origin(GitServer(tmp_path), serve)
    origin.open()
    assert Api(origin.url, None)("GET", "/somewhere").status == 500
    with pytest.raises(ExceptionGroup, match="the rig is broken"):
        origin.close()


# --- who, and whether at all -------------------------------------------------------------------------------------


def test_a_token_is_known_in_each_of_its_forms() -> None:
    """None at all is nobody, another one is an error."""
    for value in (basic(ROBOT), f"Bearer {ROBOT.token}", f"token {ROBOT.token}"):
        assert who({"Authorization": value}) == ROBOT
    assert who({}) is None
    for value in (basic(NOBODY), "Bearer nonsense", "Basic ***"):
        with pytest.raises(UnknownToken):
            who({"Authorization": value})


def test_what_is_missing_skips_a_test_but_never_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of a user may lack Node; the one that decides may not."""
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"the rig needs Node\.js"):
        need(None, "Node.js")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match=r"the rig needs Node\.js"):
        need(None, "Node.js")
    need("/usr/bin/node", "Node.js")
