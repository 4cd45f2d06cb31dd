"""What is kept of an error nobody expected: its traceback, without secrets, for its owner's eyes only."""

from __future__ import annotations

import os
import subprocess
import tempfile
import traceback
from pathlib import Path

from skillopt_git.redact import Redactor, without_hex

LOG = "last-error.log"


def keep(error: BaseException, *, near: Path) -> Path:
    """Writes the traceback to the private folder of the repository at `near`, else to a temporary file."""
    text = without_hex(Redactor(os.urandom(32))("".join(traceback.format_exception(error))))
    folder = _private(near)
    if folder is None:
        return _written(Path(tempfile.mkdtemp(prefix="skillopt-")) / LOG, text)
    return _written(folder / LOG, text)


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
