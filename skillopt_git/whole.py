"""Files that are there whole or not at all, readable by their owner only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

STALE = 3600  # seconds; no write takes as long, so whoever began it is gone


def write(path: Path, data: bytes, *, replace: bool = True, lasting: bool = True) -> None:
    """The whole file or nothing. Without `replace` a file that is there stays.

    What is not `lasting` may be lost with the machine's power, which spares waiting for the disk.
    """
    with _errors_about(path), _temporary(path) as (handle, temporary):
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            with suppress(FileExistsError):
                path.hardlink_to(temporary)


@contextmanager
def _errors_about(path: Path) -> Iterator[None]:
    """They name the file that was to be written: no temporary one, and not none, as for a full disk."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def _temporary(path: Path) -> Iterator[tuple[int, Path]]:
    """An open file beside `path`, which is gone in the end."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        yield handle, Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def sweep(folder: Path, now: float) -> None:
    """Removes what processes that died while writing left anywhere below `folder`; `now` by the clock of its disk."""
    for path in folder.rglob(".*.????????"):
        with suppress(OSError):
            if path.stat().st_mtime < now - STALE:
                path.unlink()
