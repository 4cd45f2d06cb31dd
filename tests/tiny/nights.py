"""One night of a case, with the small model or from its recording."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from skillopt_git import nightly, roles
from skillopt_git.backends.scripted import Scripted
from skillopt_git.doors import About, Asked, Opened
from skillopt_git.loading import load
from skillopt_git.model import Candidate
from skillopt_git.nightly import Options, Ran
from skillopt_git.ports import Reply, Request
from skillopt_git.tasksfile import composed, file_text
from tests.helpers import Repository
from tests.tiny.families import CASES, Case

RECORDINGS = Path(__file__).parent.parent / "data" / "tiny"
NIGHT = datetime(2026, 11, 30, 3, tzinfo=UTC)
TEMPERATURE = 0.7

ABOUT = About(name="proposer", title="", documents="", setup="", leaves="", cost="", limits="", sends=False)


def door(asked: Asked) -> Opened:
    """An optimizer that proposes one rule, for the wish of its case, whatever it is shown: the small model is unfit
    to."""
    (wish,) = {case.family.rule for case in CASES.values() if case.proposed == asked.model}
    edit = {"op": "add", "text": asked.model, "anchor": None, "reason": "It was asked for."}

    def propose(request: Request) -> Reply:
        return Reply(text=json.dumps({"edits": [edit] * (wish in request.ask)}), model="proposer")

    return Opened(backend=Scripted(script=propose, name="proposer", model="proposer"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a night came to. `passed` and `of` are by arm: without the rule and with it."""

    verdict: str
    why: str
    passed: tuple[int, int]
    of: tuple[int, int]
    guard_passed: tuple[int, int]
    guard_of: tuple[int, int]


def night(case: Case, folder: Path, recording: Path, *, url: str = "") -> Ran:
    """With a `url` what the model answers is recorded, or gone on with; without one it is taken from the recording."""
    repo = Repository.create(
        folder / "acme-api",
        {
            "CLAUDE.md": case.memory,
            ".skillopt/tasks/tiny.json": file_text(composed(case.tasks, case.needs, reviewed=True)),
        },
    )
    flags: dict[str, Any] = {
        "harvest.claude_home": str(folder / "none"),
        "harvest.codex_home": str(folder / "none"),
        "documents.evolve_skill": False,
        "replay.backend": "cassette",
        "replay.cassette": str(recording),
        "replay.record": "openai" if url else "",
        "replay.model": "tiny" if url else "",
        "replay.base_url": url,
        "replay.temperature": TEMPERATURE,
        "replay.jobs": 1,
        "replay.timeout": 600.0,
        "replay.optimizer_backend": "proposer",
        "replay.optimizer_model": case.proposed,
        "gate.aa_control": 0,
        "mine.min_sessions": 1,
    }
    with patch.dict(roles.BACKENDS, {"proposer": f"{__name__}:door"}):
        config = load(repo.path, environ={"HOME": str(folder)}, flags=flags)
        choice = roles.chosen_model(config, {})
        return nightly.run(repo.path, config, Options(), model=choice, clock=lambda: NIGHT, notify=lambda _: None)


def figures(case: Case, ran: Ran) -> Figures:
    """Of the rule for the case's own wish."""
    (candidate,) = [item for item in ran.learned.candidates if item.edits[0].need == case.family.need]
    primary, guard = _counts(candidate, "primary"), _counts(candidate, "guard")
    return Figures(
        verdict=candidate.verdict,
        why=candidate.why,
        passed=(primary[0], primary[1]),
        of=(primary[2], primary[3]),
        guard_passed=(guard[0], guard[1]),
        guard_of=(guard[2], guard[3]),
    )


def _counts(candidate: Candidate, part: str) -> tuple[int, int, int, int]:
    """Passed without and with the rule, and how many answers there were of each."""
    rows = [row for row in candidate.evidence.tasks if row.part == part] if candidate.evidence else []
    arms = [[known for row in rows for known in arm(row) if known is not None] for arm in (_base, _cand)]
    return sum(arms[0]), sum(arms[1]), len(arms[0]), len(arms[1])


def _base(row: Any) -> tuple[int | None, ...]:
    return tuple(row.base)


def _cand(row: Any) -> tuple[int | None, ...]:
    return tuple(row.cand)
