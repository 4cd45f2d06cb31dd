"""Locks between processes. The system lets go of them when a process dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


class Held(Exception):
    """Somebody else has the lock."""


@contextmanager
def locked(path: Path, *, wait: float) -> Iterator[None]:
    """Holds the lock file at `path`, which stays. Raises `Held` after `wait` seconds."""
    lock = FileLock(path, timeout=wait)
    try:
        lock.acquire()
    except Timeout as error:
        raise Held from error
    try:
        yield
    finally:
        lock.release()
