"""A backend that remembers: a broken-off run goes on where it stopped, and a repeated question is not paid twice.

The key holds everything an answer depends on, the sample included, so a cached answer is never new evidence. Failures
are not remembered. Answers are given and kept in redacted form, so that asking again is no different from the first
time, and are readable by their owner only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from skillopt_git.around import Around
from skillopt_git.errors import ConfigError
from skillopt_git.ids import canonical_json
from skillopt_git.ports import Backend, CallFailed, Reply, Request, Usage
from skillopt_git.schema import dump, read
from skillopt_git.whole import write


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached(Around):
    inner: Backend
    folder: Path
    templates: str  # digest of the prompt templates
    redact: Callable[[str], str]
    aside: Callable[[Path], None]  # keeps what is damaged out of the way

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        paths = [self._path(request) for request in requests]
        results: dict[int, Reply | CallFailed] = {
            place: replace(reply, text=self.redact(reply.text))  # a word may have been denied since
            for place, path in enumerate(paths)
            if (reply := self._load(path)) is not None
        }
        places: dict[Path, list[int]] = {}  # of what is asked, which is asked once however often it is wanted
        for place, path in enumerate(paths):
            if place not in results:
                places.setdefault(path, []).append(place)
        answers = self.inner.complete([requests[same[0]] for same in places.values()]) if places else ()
        for (path, same), answer in zip(places.items(), answers, strict=True):
            results |= dict.fromkeys(same, self._kept(path, answer))
        return [results[place] for place in range(len(paths))]

    def _path(self, request: Request) -> Path:
        inner = self.inner
        key = [inner.name, inner.model, dict(inner.settings), inner.knows, self.templates, asdict(request)]
        name = hashlib.sha256(canonical_json(key).encode("utf-8", "surrogatepass")).hexdigest()
        return self.folder / name[:2] / f"{name}.json"

    def _kept(self, path: Path, result: Reply | CallFailed) -> Reply | CallFailed:
        if isinstance(result, CallFailed):
            return result
        text = result.text.encode(errors="replace").decode()  # half a character could be neither kept nor shown
        reply = replace(result, text=self.redact(text))
        for folder in (self.folder, path.parent):  # `parents=True` would make the upper one with other permissions
            folder.mkdir(mode=0o700, exist_ok=True)
        write(path, json.dumps(dump(reply)).encode(), lasting=False)
        return reply

    def _load(self, path: Path) -> Reply | None:
        """A remembered answer, which costs nothing again. In the place of a damaged one it is asked for anew."""
        try:
            return replace(read(Reply, path.read_bytes(), where=str(path)), usage=Usage())
        except FileNotFoundError:
            return None
        except (OSError, ConfigError):
            self.aside(path)
            return None
