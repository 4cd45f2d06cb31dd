"""What is kept of an error nobody expected: its traceback, without secrets, for its owner's eyes only."""

from __future__ import annotations

import os
import subprocess
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path

from skillopt_git.backends.claude_environment import secrets
from skillopt_git.errors import ConfigError
from skillopt_git.loading import load
from skillopt_git.redact import Redactor, Scanner, without_hex

LOG = "last-error.log"


def keep(error: BaseException, *, near: Path) -> Path:
    """Writes the traceback to the private folder of the repository at `near`, else to a temporary file."""
    text = _clean("".join(traceback.format_exception(error)), os.environ)
    folder = _private(near)
    if folder is None:
        return _written(Path(tempfile.mkdtemp(prefix="skillopt-")) / LOG, text)
    return _written(folder / LOG, text)


def _clean(text: str, environ: Mapping[str, str]) -> str:
    """Without what looks like a secret, what the environment names as one, and the words that the user denies."""
    keys = {*secrets(environ)}
    denied: tuple[str, ...] = ()
    try:
        own = load(None, environ=environ)
    except ConfigError:  # what is wrong with the settings is told by every other run
        pass
    else:
        keys.add(environ.get(own.replay.key_env, ""))
        keys.add(environ.get(own.replay.optimizer_key_env, ""))
        denied = own.harvest.deny_words
    for key in sorted(keys - {""}, key=len, reverse=True):  # one may be a part of another
        text = text.replace(key, "[key]")
    return without_hex(Redactor(os.urandom(32), Scanner(denied))(text))


def _private(near: Path) -> Path | None:
    # Asked of git itself, and not through `gitrepo`: that may be what failed.
    asked = ["git", "-C", str(near), "rev-parse", "--path-format=absolute", "--git-common-dir"]
    try:
        folder = Path(os.fsdecode(subprocess.run(asked, capture_output=True, check=True).stdout).strip()) / "skillopt"
        folder.mkdir(mode=0o700, exist_ok=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return folder if os.access(folder, os.W_OK) else None


def _written(path: Path, text: str) -> Path:
    """Made anew, so that neither a link nor wider permissions of an older file survive."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as log:
        log.write(text.encode("utf-8", "backslashreplace").decode())
    return path
