"""Files of ours in folders where others keep theirs: known by a mark in them, and written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from skillopt_git.errors import ConfigError


def named(folder: Path, before: str, after: str, mark: bytes) -> Iterator[str]:
    """What stands between `before` and `after` in the names of our files in `folder`."""
    for path in sorted(folder.glob(f"{before}*{after}")):
        if path.is_file() and mark in path.read_bytes():
            yield path.name.removeprefix(before).removesuffix(after)


def kept(paths: Mapping[Path, bytes]) -> dict[Path, bytes | None]:
    """What stands in these files now, None where there is none. Raises `ConfigError` for one without the mark."""
    found: dict[Path, bytes | None] = {}
    for path, mark in paths.items():
        data = found[path] = path.read_bytes() if path.exists() or path.is_symlink() else None
        if data is not None and mark not in data:
            raise ConfigError(
                f"{path} was not written by this tool", "it was left as it is; move it away, then try again"
            )
    return found


def put(path: Path, data: bytes | None) -> None:
    """The whole file or the one that was there; with None there is no file afterwards."""
    if data is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)
