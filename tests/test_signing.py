"""Commits signed with the user's own key, by a real `ssh-keygen`."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_git.branches import state
from skillopt_git.config import Config
from skillopt_git.decide import adopt
from skillopt_git.errors import GitError
from skillopt_git.gitrepo import Identity
from skillopt_git.placing import hindrance
from skillopt_git.publish import publish
from skillopt_git.workshop import open_workshop
from tests.helpers import Repository
from tests.helpers_git import TOOL
from tests.proposals import BRANCH, LEDGER, PNPM, TICKET, Nights, add, stamp

SIGNS = replace(TOOL, signs=True)


@pytest.fixture
def key(repo: Repository, tmp_path: Path) -> Path:
    """A key of the kind whose signatures differ each time, and git told to use it."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh-keygen here")
    made = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", str(made)], check=True)
    allowed = tmp_path / "allowed"
    allowed.write_text(f"* {made.with_suffix('.pub').read_text()}")
    repo.git("config", "gpg.format", "ssh")
    repo.git("config", "user.signingKey", str(made))
    repo.git("config", "gpg.ssh.allowedSignersFile", str(allowed))
    return made


@pytest.fixture
def nights(repo: Repository) -> Nights:
    return Nights(repo)


def published(nights: Nights, author: Identity = SIGNS, number: int = 1) -> str:
    return publish(nights.repo, nights.ledger, nights.proposal(), author=author, stamp=stamp(number))[0].tip


def signatures(repo: Repository, *revs: str) -> list[str]:
    return repo.git("log", "--format=%G?", *revs).split()


def test_each_commit_of_a_proposal_is_signed_and_the_ledger_is_not(repo: Repository, nights: Nights, key: Path) -> None:
    nights.record(add(PNPM), add(TICKET))

    tip = published(nights)

    assert signatures(repo, f"main..{BRANCH}") == ["G", "G"]
    assert set(signatures(repo, LEDGER)) == {"N"}
    assert nights.proposal().tip == tip
    assert state(nights.repo, nights.proposal()) == "free"


def test_publishing_again_keeps_the_signatures_that_are_there(repo: Repository, nights: Nights, key: Path) -> None:
    """The same content is the same commits, also when the setting was changed between."""
    nights.record(add(PNPM), add(TICKET))
    tip = published(nights)

    assert published(nights, number=2) == tip
    assert published(nights, TOOL, number=3) == tip
    nights.record(add("Run ruff first"), number=4, start=2)
    more = published(nights, number=4)
    assert signatures(repo, f"main..{BRANCH}") == ["G", "G", "G"]
    assert more != tip


def test_a_publication_that_broke_off_after_signing_is_finished(repo: Repository, nights: Nights, key: Path) -> None:
    """The branch is there and the ledger does not know it yet: it is ours all the same."""
    nights.record(add(PNPM))
    ledger = repo.git("rev-parse", LEDGER).strip()
    tip = published(nights)
    repo.git("update-ref", LEDGER, ledger)
    assert nights.proposal().unfinished

    shop = open_workshop(repo.path, Config(), now=stamp().now)
    assert hindrance(shop, nights.history(), nights.proposal()) is None
    assert published(nights, number=2) == tip


def test_a_person_who_signs_signs_the_merge(repo: Repository, nights: Nights, key: Path) -> None:
    nights.record(add(PNPM))
    published(nights)

    adopt(replace(nights.desk(), author=SIGNS), nights.proposal())

    assert signatures(repo, "-1", "main") == ["G"]
    assert repo.git("log", "-1", "--format=%an", "main").strip() == "Alice Example"


def test_git_alone_never_makes_a_commit_signed(repo: Repository, nights: Nights, key: Path) -> None:
    """`commit.gpgSign` asks for a passphrase at three in the night."""
    repo.git("config", "commit.gpgSign", "true")
    nights.propose(add(PNPM))

    assert signatures(repo, f"main..{BRANCH}") == ["N"]


@pytest.mark.parametrize("format_", ["ssh", "openpgp"])
def test_without_a_key_nothing_moves_and_the_setting_is_named(repo: Repository, nights: Nights, format_: str) -> None:
    repo.git("config", "gpg.format", format_)
    repo.git("config", "gpg.program", "false")
    repo.git("config", "gpg.ssh.defaultKeyCommand", "false")
    nights.record(add(PNPM))

    with pytest.raises(GitError, match="cannot sign a commit") as caught:
        published(nights)

    assert "user.signingKey" in caught.value.hint
    assert nights.proposal().unfinished
    assert repo.git("for-each-ref", "refs/heads/sleep") == ""
