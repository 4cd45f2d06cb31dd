"""The user's own file of environment variables for scheduled runs, in which keys may lie. For their eyes only."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from skillopt_git.errors import ConfigError, SafetyError
from skillopt_git.loading import user_file

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def env_file(environ: Mapping[str, str]) -> Path:
    """`env`, beside the user's settings."""
    return user_file(environ).with_name("env")


def variables(path: Path) -> dict[str, str]:
    """What the file sets, none where there is no file: lines `NAME=value`, quoted as for a shell, never expanded.

    Raises `SafetyError` if others may read it, `ConfigError` for a line that is none, or where nothing can be read;
    values are never told.
    """
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077 and path.is_file():
            closing = shlex.join(["chmod", "600", str(path)])
            raise SafetyError(f"others than you may use {path}, which is for keys", closing)
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no text in UTF-8", "write it anew") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror})", "look at its owner and mode") from error
    found = (_pair(line, f"line {number} of {path}") for number, line in enumerate(lines, start=1))
    return dict(pair for pair in found if pair is not None)


def _pair(line: str, where: str) -> tuple[str, str] | None:
    if not line.strip() or line.lstrip().startswith("#"):
        return None
    try:
        words = shlex.split(line.strip().removeprefix("export "))
    except ValueError:  # a quotation that does not close
        words = []
    name, equals, value = words[0].partition("=") if len(words) == 1 else ("", "", "")
    if not equals or not _NAME.fullmatch(name):
        raise ConfigError(f"{where} is not NAME=value", "put a value with blanks in quotes: NAME='a value'")
    return name, value
