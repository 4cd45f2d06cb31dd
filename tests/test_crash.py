"""What is kept of an error nobody expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_git import crash
from skillopt_git.loading import user_file

KEY = "Zx9Kq2Lm7Rt4Zx9Kq2Lm7Rt4"


def kept(words: str, near: Path) -> str:
    try:
        raise RuntimeError(words)
    except RuntimeError as error:
        return crash.keep(error, near=near).read_text()


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
