from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_git.envfile import env_file, variables
from skillopt_git.errors import ConfigError, SafetyError


def keys(folder: Path, text: str | bytes, mode: int = 0o600) -> Path:
    path = folder / "env"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def test_it_lies_beside_the_users_settings() -> None:
    """Wherever these lie."""
    assert env_file({"HOME": "/home/alice"}) == Path("/home/alice/.config/skillopt/env")
    assert env_file({"HOME": "/home/alice", "XDG_CONFIG_HOME": "/cfg"}) == Path("/cfg/skillopt/env")


def test_without_a_file_nothing_is_set(tmp_path: Path) -> None:
    """It is for those who need one."""
    assert variables(tmp_path / "env") == {}


def test_it_is_read_as_a_shell_would_without_expanding(tmp_path: Path) -> None:
    """Quotes go, `export` may stand there, `#` inside a value belongs to it, `$` is a dollar sign."""
    path = keys(
        tmp_path,
        "# keys\n\nACME_KEY=abc#def\nexport B='two words'\n  C=\"a'b\"  \r\nD=$HOME/x=y\nE=\nF=a\\ b\n_g1=ü",
    )
    assert variables(path) == {
        "ACME_KEY": "abc#def",
        "B": "two words",
        "C": "a'b",
        "D": "$HOME/x=y",
        "E": "",
        "F": "a b",
        "_g1": "ü",
    }


@pytest.mark.parametrize(
    "line", ["S3CRET", "A=S3CRET two", "A='S3CRET", "1A=S3CRET", "A = S3CRET", "=S3CRET", "source S3CRET"]
)
def test_a_line_that_is_none_is_named_without_its_value(tmp_path: Path, line: str) -> None:
    """A key may stand in it."""
    with pytest.raises(ConfigError, match=r"line 2 of .*env is not NAME=value") as caught:
        variables(keys(tmp_path, f"A=1\n{line}\n"))
    assert "S3CRET" not in caught.value.message + caught.value.hint


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    """No traceback, and no key in the message."""
    with pytest.raises(ConfigError, match="no text in UTF-8"):
        variables(keys(tmp_path, b"A=\xff\n"))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    """With the command that closes it."""
    path = keys(tmp_path, "A=1\n", mode)
    with pytest.raises(SafetyError, match="others than you") as caught:
        variables(path)
    assert caught.value.hint == f"chmod 600 {path}"
