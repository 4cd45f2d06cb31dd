"""The rig as fixtures. Where a part of it is not installed, a test that needs it is skipped, but never in CI."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers import Repository
from tests.rig.gitserver import GitServer
from tests.rig.origin import Origin


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
    origin.git.create("acme/api", start=repo)
    origin.git.create("acme/site", public=True, start=repo)
    origin.open()
    yield origin
    origin.close()
