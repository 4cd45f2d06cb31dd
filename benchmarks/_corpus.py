"""Homes of made-up sessions, shaped like genuine ones: their records, at the length that work really has.

Each record is one of a genuine transcript with new ids and times. What tools printed, and what was cut from the
genuine files, is filled with the source code of the standard library, at lengths from a few hundred characters to some
ten thousand, which makes most of a transcript's bytes, as in life.
"""

from __future__ import annotations

import json
import os
import random
import re
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

GENUINE = Path(__file__).parent.parent / "tests" / "data" / "transcripts"
START = datetime(2026, 8, 1, tzinfo=UTC)
FOLDERS = tuple(f"/home/dev/acme-{name}" for name in ("api", "web", "billing", "docs", "infra"))
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CUT = re.compile(r"…?\[vendor text cut here, (\d+) characters in the original\]")
_SHORT = 1_500  # bytes
_OUTPUTS = frozenset({"stdout", "output", "aggregated_output", "formatted_output", "detailedContent"})
_MEDIAN, _SPREAD, _LONGEST = 8_000, 1.3, 120_000  # characters of a tool's output, log-normal


@dataclass
class Maker:
    """Makes one record after another; equal seeds make equal corpora."""

    chance: random.Random
    code: str
    names: dict[str, str] = field(default_factory=dict)
    time: datetime = START

    def text(self, length: int) -> str:
        at = self.chance.randrange(max(len(self.code) - length, 1))
        return self.code[at : at + length]

    def output(self) -> str:
        return self.text(min(int(self.chance.lognormvariate(0, _SPREAD) * _MEDIAN), _LONGEST))

    def id(self, found: re.Match[str]) -> str:
        if found[0] not in self.names:
            self.names[found[0]] = _uuid(self.chance)
        return self.names[found[0]]

    def record(self, line: str, folder: str) -> dict[str, Any]:
        self.time += timedelta(seconds=self.chance.uniform(0.1, 20))
        fresh = _UUID.sub(self.id, line).replace("/home/dev/acme-api", folder)
        record: dict[str, Any] = json.loads(fresh)
        if "timestamp" in record:
            record["timestamp"] = self.time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if "timestamp" in record.get("payload", {}):
            record["payload"]["timestamp"] = record["timestamp"]
        output = self.output()
        filled: dict[str, Any] = self._filled(record, output)
        return filled

    def _filled(self, value: Any, output: str, key: str = "") -> Any:
        """One output a record: an agent that tells a tool's output twice tells the same."""
        if isinstance(value, dict):
            printed = value.get("type") in ("tool_result", "text_file") or "numLines" in value or "success" in value
            return {
                name: output
                if isinstance(inner, str) and (name in _OUTPUTS or (printed and name == "content")) and inner
                else self._filled(inner, output, name)
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self._filled(item, output, key) for item in value]
        return _CUT.sub(lambda found: self.text(int(found[1])), value) if isinstance(value, str) else value


def _uuid(chance: random.Random) -> str:
    digits = f"{chance.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


# --- one agent's session -----------------------------------------------------------------------------------------


def _worked(maker: Maker, lines: list[str], call: str, result: str) -> Iterator[str]:
    """The lines of one prompt and its answer, each use of a tool several times over, as long work has it."""
    at = 0
    while at < len(lines):
        end = next((n for n in range(at, len(lines)) if result in lines[n]), at) if call in lines[at] else at
        for _ in range(maker.chance.randint(2, 12) if end > at else 1):
            yield from lines[at : end + 1]
            for line in lines[at : end + 1]:  # the next time is another use
                for known in _UUID.findall(line):
                    maker.names.pop(known, None)
        at = end + 1


def _records(maker: Maker, folder: str, lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    maker.names.clear()
    return (maker.record(line, folder) for line in lines)


def _claude(maker: Maker, folder: str, lines: list[str], session: str) -> Iterator[dict[str, Any]]:
    before = None
    while True:
        for record in _records(maker, folder, _worked(maker, lines, '"type":"tool_use"', '"type":"tool_result"')):
            if "sessionId" in record:
                record["sessionId"] = session
            if "uuid" in record:
                record["parentUuid"], before = before, record["uuid"]
            yield record


def _codex(maker: Maker, folder: str, lines: list[str], session: str) -> Iterator[dict[str, Any]]:
    for turn in count():
        worked = _worked(maker, lines[min(turn, 1) :], '_call","', '_call_output"')
        for ordinal, record in enumerate(_records(maker, folder, worked), turn * 10_000):
            record["ordinal"] = ordinal
            if record["type"] == "session_meta":
                record["payload"] |= {"id": session, "session_id": session}
            yield record


def _copilot(maker: Maker, folder: str, lines: list[str], session: str) -> Iterator[dict[str, Any]]:
    before = None
    for turn in count():
        worked = _worked(maker, lines[min(turn, 1) :], "tool.execution_start", "tool.execution_complete")
        for record in _records(maker, folder, worked):
            if record["type"] == "session.start":
                record["data"]["sessionId"] = session
            record["parentId"], before = before, record["id"]
            yield record


@dataclass(frozen=True)
class Agent:
    """How much of a corpus is an agent's, where its sessions lie, and which genuine ones the made ones are like."""

    share: float
    path: str
    records: Callable[[Maker, str, list[str], str], Iterator[dict[str, Any]]]
    like: tuple[str, ...]


AGENTS = (
    Agent(
        0.6,
        ".claude/projects/{slug}/{session}.jsonl",
        _claude,
        ("claude/v2.1.197/*/projects/*/a90152b9*.jsonl", "claude/v2.1.197/*/projects/*/e5fde075*.jsonl"),
    ),
    Agent(
        0.3,
        ".codex/sessions/{day:%Y/%m/%d}/rollout-{day:%Y-%m-%dT%H-%M-%S}-{session}.jsonl",
        _codex,
        ("codex/v0.171.0/*/sessions/*/*/*/*e2c9-7d53*.jsonl", "codex/v0.171.0/*/sessions/*/*/*/*ecf6*.jsonl"),
    ),
    Agent(
        0.1,
        ".copilot/session-state/{session}/events.jsonl",
        _copilot,
        ("copilot/v1.0.102/*/session-state/660b5465*/*.jsonl",),
    ),
)


def make(home: Path, *, size: int, files: int, seed: int = 7) -> None:
    """About `size` bytes in `files` files below `home`, in the folders of three agents."""
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    code = "".join(path.read_text(encoding="utf-8", errors="replace") for path in sorted(stdlib.glob("[a-e]*.py")))
    maker = Maker(random.Random(seed), code)
    for agent in AGENTS:
        templates = [list(filter(None, path.read_text(encoding="utf-8").split("\n"))) for path in _matching(agent.like)]
        mean = size / files
        for _ in range(round(files * agent.share)):
            maker.time = START + timedelta(hours=maker.chance.uniform(0, 24 * 110))
            folder, session = maker.chance.choice(FOLDERS), _uuid(maker.chance)
            path = home / agent.path.format(slug=folder.replace("/", "-"), session=session, day=maker.time)
            path.parent.mkdir(parents=True, exist_ok=True)
            records = agent.records(maker, folder, maker.chance.choice(templates), session)
            _write(path, records, int(mean * maker.chance.uniform(0.2, 1.8)))
            os.utime(path, times=(maker.time.timestamp(), maker.time.timestamp()))


def _write(path: Path, records: Iterator[dict[str, Any]], size: int) -> None:
    """Ends where somebody would have stopped: after something short."""
    written = last = 0
    with path.open("wb") as file:
        while written < size or last > _SHORT:
            last = file.write(json.dumps(next(records), ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            written += last


def _matching(patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from sorted(GENUINE.glob(pattern))
