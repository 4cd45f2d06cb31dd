"""Where a copy of the tool came from, by what its installer noted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt_git.errors import UsageError
from skillopt_git.pinning import SOMEBODY, UNKNOWN, Pin, given, note, pin
from tests.helpers import Repository

COMMIT = "0123456789" * 4


def noted(url: str, **about: object) -> str:
    return json.dumps({"url": url} | about)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.example/alice/skillopt-git",
        "https://github.example/alice/skillopt-git.git",
        "ssh://git@github.example/alice/skillopt-git.git",
        "git@github.example:alice/skillopt-git.git",
    ],
)
def test_what_was_installed_from_git_knows_its_commit(url: str) -> None:
    found = pin(noted(url, vcs_info={"vcs": "git", "commit_id": COMMIT, "requested_revision": "v1.2.3"}))
    assert found == Pin("alice/skillopt-git", COMMIT)
    assert found.known


def test_what_was_installed_from_a_clone_is_where_the_clone_is(tmp_path: Path) -> None:
    """A folder name may hold what an address has to spell otherwise."""
    clone = Repository.create(tmp_path / "my tools", {"README.md": "# skillopt-git\n"})
    clone.git("remote", "add", "origin", "git@github.example:alice/skillopt-git.git")

    found = pin(noted(clone.path.as_uri(), dir_info={"editable": True}))

    assert found == Pin("alice/skillopt-git", clone.git("rev-parse", "HEAD").strip())


def test_a_clone_of_a_folder_has_a_commit_and_no_owner(repo: Repository) -> None:
    repo.git("remote", "add", "origin", "file:///srv/git/skillopt-git.git")

    found = pin(noted(repo.path.as_uri(), dir_info={}))

    assert found == Pin(SOMEBODY, repo.git("rev-parse", "HEAD").strip())
    assert not found.known


def test_what_cannot_be_known_names_nothing_that_could_run(tmp_path: Path) -> None:
    """A wheel, an unpacked archive, and a checkout that was never installed."""
    (tmp_path / "unpacked").mkdir()
    wheel = noted("file:///tmp/skillopt_git-1.2.3-py3-none-any.whl", archive_info={})
    for told in (wheel, None, noted((tmp_path / "unpacked").as_uri(), dir_info={})):
        assert pin(told) == Pin(SOMEBODY, UNKNOWN)
    assert not Pin("alice/skillopt-git", UNKNOWN).known


def test_what_the_installer_noted_is_found_or_not_there() -> None:
    """Here it is installed from a folder, or not at all."""
    told = note()
    assert told is None or "url" in json.loads(told)


def test_a_commit_is_given_whole() -> None:
    assert given(f"alice/skillopt-git@{COMMIT}") == Pin("alice/skillopt-git", COMMIT)
    for text in ("alice/skillopt-git@v1.2.3", f"skillopt-git@{COMMIT}", f"alice/x@{COMMIT}\nrun: true", COMMIT):
        with pytest.raises(UsageError, match="names no commit"):
            given(text)
