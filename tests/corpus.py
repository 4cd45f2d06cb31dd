"""The genuine sessions against what their manifest says of them: `python -m tests.corpus` prints the table.

Each file is read through the whole harvest, redaction too, and every field that its manifest gives is compared.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from skillopt_git.model import Session
from skillopt_git.ports import SessionSource
from skillopt_git.redact import Redactor
from skillopt_git.sources.claude import ClaudeSource
from skillopt_git.sources.codex import CodexSource
from skillopt_git.sources.copilot_cli import CopilotCliSource
from tests.found import gather

DATA = Path(__file__).parent / "data" / "transcripts"
FILES: list[dict[str, Any]] = json.loads((DATA / "manifest.json").read_text(encoding="utf-8"))["files"]
SOURCES: tuple[SessionSource, ...] = (
    ClaudeSource(DATA / "claude/v2.0.60/.claude"),
    ClaudeSource(DATA / "claude/v2.1.197/.claude"),
    CodexSource(DATA / "codex/v0.139.0/.codex"),
    CodexSource(DATA / "codex/v0.171.0/.codex"),
    CopilotCliSource(DATA / "copilot/v1.0.102/.copilot"),
)


@dataclass(frozen=True)
class Row:
    """One file; `wrong` names each field that differs, with what was expected and what was found."""

    file: str
    told: str
    wrong: tuple[str, ...]


def rows() -> Iterator[Row]:
    for item in FILES:
        file, expected = item["file"], item.get("expected") or {}
        told, right = _as_told(file, expected)
        found = _sessions().get(file)
        if right is None:
            wrong = [] if found is None else ["read, though nobody typed anything in it"]
            if told in ("sub-agent", "empty") and (file, told) not in _skipped():
                wrong.append(f"not skipped as {told}")
        else:
            wrong = ["not read"] if found is None else list(_differences(found, right))
        yield Row(file, told, tuple(wrong))


def _as_told(file: str, expected: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """What a file is, and what its session has to be; None where it has to be none."""
    if "prompts" not in expected:
        return ("empty" if file.endswith(".jsonl") and not (DATA / file).stat().st_size else "no transcript"), None
    if expected.get("sidechain_file") or expected.get("thread_source") == "subagent":
        return "sub-agent", None
    base = expected.get("history_base") or {}
    if base.get("thread_id") == expected.get("thread_id", ""):
        return "part of a session", None
    later = next((item["expected"] for item in FILES if _takes_back(item.get("expected") or {}, expected)), None)
    return ("session of two files", _together(expected, later)) if later else ("session", expected)


def _takes_back(other: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether `other` is of the same thread, and goes on from a point within it."""
    base = other.get("history_base") or {}
    return base.get("thread_id") == other.get("thread_id", "") == expected.get("thread_id") and other is not expected


def _together(first: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """The one thread of the corpus that was rewound: its second prompt and what came of it were taken back."""
    kept = {"prompts": [*first["prompts"][:1], *later["prompts"]], "tools": [*first["tools"][:1], *later["tools"]]}
    return {**later, **kept, "started": first["started"]}


def _differences(found: Session, expected: dict[str, Any]) -> Iterator[str]:
    skills = expected.get("skills_invoked")
    pairs: dict[str, tuple[Any, Any]] = {
        "session id": (found.id, expected["session_id"]),
        "cwd": (found.cwd, expected["cwd"]),
        "branch": (found.branch, expected["git_branch"]),
        "prompts": (_said(found, "prompt"), [p["text"] for p in expected["prompts"] if p.get("active", True)]),
        "commands": (_said(found, "command"), expected.get("slash_commands", [])),
        "shell": (_said(found, "shell"), expected["bash_inputs"]),
        "final": (found.final, expected["final_assistant_text"] or ""),
        "tools": (list(found.tools), expected["tools"]),
        "files": (list(found.files), expected["files_edited"]),
        "skills": (list(found.skills), list(found.skills) if skills is None else [name for name, _ in skills]),
        "started": (found.started, datetime.fromisoformat(expected["started"])),
        "ended": (found.ended, datetime.fromisoformat(expected["ended"])),
    }
    for name, (is_, should_be) in pairs.items():
        if is_ != should_be:
            yield f"{name}: {is_!r}, should be {should_be!r}"


def _said(session: Session, kind: str) -> list[str]:
    return [turn.text for turn in session.turns if turn.kind == kind]


@cache
def _harvested() -> tuple[dict[str, Session], frozenset[tuple[str, str]]]:
    found = gather(sources=SOURCES, redact=Redactor(b"0" * 32))
    sessions = {str(Path(session.path).relative_to(DATA)): session for session in found.sessions}
    skipped = frozenset((str(Path(item.path).relative_to(DATA)), item.reason) for item in found.skipped)
    return sessions, skipped


def _sessions() -> dict[str, Session]:
    return _harvested()[0]


def _skipped() -> frozenset[tuple[str, str]]:
    return _harvested()[1]


def main() -> int:
    table = list(rows())
    for row in table:
        print(f"{'wrong' if row.wrong else 'right'}  {row.told:20} {row.file}")
        for line in row.wrong:
            print(f"       {line}")
    wrong = sum(bool(row.wrong) for row in table)
    print(f"\n{len(table)} files, {len(_sessions())} sessions: {len(table) - wrong} right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
