"""What is kept of an error nobody expected."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from skillopt_git import crash
from skillopt_git.loading import user_file
from tests.helpers import Repository

KEY = "Zx9Kq2Lm7Rt4Zx9Kq2Lm7Rt4"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine's folder for temporary files, in which what is kept outside of a repository would stay."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def where(words: str, near: Path) -> Path:
    try:
        raise RuntimeError(words)
    except RuntimeError as error:
        return crash.keep(error, near=near)


def kept(words: str, near: Path) -> str:
    return where(words, near).read_text()


def test_it_is_kept_in_the_repository(repo: Repository, isolated: Path) -> None:
    """For its owner alone; the last error takes the place of the one before."""
    private = repo.path / ".git" / "skillopt"
    assert where("the first", repo.path) == where("the second", repo.path) == private / crash.LOG
    assert "the second" in (private / crash.LOG).read_text()
    assert (private / crash.LOG).stat().st_mode & 0o777 == 0o600
    assert private.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("why", ["no repository", "a file in the way", "not to be written", "no git"])
def test_where_there_is_no_private_folder_it_is_kept_among_temporary_files(
    why: str, repo: Repository, isolated: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder of its own, for its owner alone."""
    near = temporary if why == "no repository" else repo.path
    if why == "a file in the way":
        (repo.path / ".git" / "skillopt").write_text("")
    if why == "not to be written":
        monkeypatch.setattr(os, "access", lambda *_: False)
    if why == "no git":
        monkeypatch.setenv("PATH", str(temporary))

    log = where("again", near)

    assert log.parent.parent == temporary
    assert log.parent.name.startswith("skillopt-")
    assert log.parent.stat().st_mode & 0o777 == 0o700
    assert "RuntimeError: again" in log.read_text()


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "AZURE_CLIENT_SECRET", "ACME_CREDENTIAL"])
def test_what_the_environment_holds_as_a_key_is_not_kept(
    name: str, tmp_path: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it looks like none; also where only the settings name the variable."""
    monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("SKILLOPT_REPLAY_OPTIMIZER_KEY_ENV", "ACME_CREDENTIAL")

    text = kept(f"header x-mine {KEY} was refused", tmp_path)

    assert "RuntimeError: header x-mine [key] was refused" in text
    assert KEY not in text


def test_what_the_user_denies_is_not_kept(tmp_path: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = user_file({"HOME": str(isolated)})
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('[harvest]\ndeny_words = ["Globex"]\n')

    assert "no answer for [REDACTED:deny-word]" in kept("no answer for globex", tmp_path)


def test_settings_that_cannot_be_read_are_no_second_error(
    tmp_path: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLOPT_GATE_METRIC", "none")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    assert "RuntimeError: [key] again" in kept(f"{KEY} again", tmp_path)
