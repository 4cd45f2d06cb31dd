"""A backend that remembers: a broken-off run goes on where it stopped, and a repeated question is not paid twice.

The key holds everything an answer depends on, the sample included, so a cached answer is never new evidence. Failures
are not remembered. Answers are kept in redacted form, readable by their owner only.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from skillopt_git.model import canonical_json
from skillopt_git.ports import Backend, CallFailed, Reply, Request, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    inner: Backend
    folder: Path
    templates: str  # digest of the prompt templates
    redact: Callable[[str], str]

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def deterministic(self) -> bool:
        return self.inner.deterministic

    @property
    def simulated(self) -> bool:
        return self.inner.simulated

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        return self.inner.settings

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        paths = [self._path(request) for request in requests]
        results: list[Reply | CallFailed | None] = [_load(path) for path in paths]
        missing = [place for place, result in enumerate(results) if result is None]
        if missing:
            for place, reply in zip(missing, self.inner.complete([requests[i] for i in missing]), strict=True):
                results[place] = reply
                if isinstance(reply, Reply):
                    self._store(paths[place], reply)
        return [result for result in results if result is not None]

    def _path(self, request: Request) -> Path:
        inner = self.inner
        key = [inner.name, inner.model, dict(inner.settings), self.templates, asdict(request)]
        name = hashlib.sha256(canonical_json(key).encode()).hexdigest()
        return self.folder / name[:2] / f"{name}.json"

    def _store(self, path: Path, reply: Reply) -> None:
        for folder in (self.folder, path.parent):  # `parents=True` would make the upper one with other permissions
            folder.mkdir(mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({**asdict(reply), "text": self.redact(reply.text)}, file, ensure_ascii=False)
        Path(temporary).replace(path)


def _load(path: Path) -> Reply | None:
    """A remembered answer; a damaged file is as good as none, and is written anew. It cost its tokens once only."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Reply(text=data["text"], tools=tuple(data["tools"]), model=data["model"], usage=Usage())
    except (OSError, ValueError, KeyError, TypeError):
        return None
