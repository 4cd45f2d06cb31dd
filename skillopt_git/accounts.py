"""A run as JSON: its record for machines, and the diagnostics by which a night of zeros explains itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skillopt_git.learned import Learned
from skillopt_git.ledger import evidence_name
from skillopt_git.model import Candidate, Edit
from skillopt_git.ports import Reply
from skillopt_git.redact import without_hex
from skillopt_git.views import RunView


def edit_record(edit: Edit, verdict: str | None, why: str) -> dict[str, Any]:
    return {
        "id": edit.id,
        "rule": edit.rule,
        "target": edit.target,
        "op": edit.op,
        "text": without_hex(edit.sentence),
        "why": why,
        "verdict": verdict,
    }


def run_record(view: RunView, learned: Learned, *, project: str, adopted_commit: str | None) -> dict[str, Any]:
    """The `run --json` record."""
    put = {edit.id for edit in view.edits}
    return {
        "v": 1,
        "run": view.run,
        "night": view.night,
        "project": project,
        "started": view.started,
        "ended": view.ended,
        "backend": view.backend,
        "model": view.model,
        "optimizer": view.optimizer,
        "simulated": view.simulated,
        "sessions": view.sessions,
        "tasks": view.tasks,
        "replayed": len(learned.replayed),
        "split": dict(view.split),
        "rule": view.rule,
        "metric": view.metric,
        "baseline": view.baseline,
        "candidate": view.candidate,
        "verdict": view.verdict,
        "accepted": bool(learned.accepted),
        "proposed": view.branch is not None,
        "reason": view.reason,
        "edits": [
            edit_record(edit, item.verdict, item.why)
            for item in learned.candidates
            for edit in item.edits
            if edit.id in put
        ],
        "rejected": [
            edit_record(edit, item.verdict, item.why)
            for item in learned.candidates
            for edit in item.edits
            if not item.accepted and item.verdict != "suggestive"
        ],
        "unmatched": [edit_record(edit, None, why) for edit, why in (*learned.unmatched, *learned.linted)],
        "suppressed": [edit_record(edit, None, why) for edit, why in learned.suppressed],
        "candidates": [_candidate_record(item) for item in learned.candidates],
        "documents": [
            {"path": item.path, "verdict": item.verdict, "baseline": item.baseline, "candidate": item.candidate}
            for item in view.documents
        ],
        "branch": view.branch,
        "commits": list(view.commits),
        "pull_request": None,
        "adopted": adopted_commit is not None,
        "adopted_commit": adopted_commit,
        "tokens": view.tokens,
        "cost_usd": view.cost_usd,
        "notes": list(view.notes),
    }


def _candidate_record(candidate: Candidate) -> dict[str, Any]:
    return {
        "document": candidate.document.path,
        "base_blob": candidate.document.blob,
        "edits": [edit.id for edit in candidate.edits],
        "verdict": candidate.verdict,
        "evidence": evidence_name(candidate.evidence) if candidate.evidence else None,
    }


def diagnostics(learned: Learned) -> dict[str, Any]:
    """So that a night of zeros explains itself. Everything in it has passed the redaction on its way in."""
    return {
        "v": 1,
        "reason": learned.reason,
        "failures": [
            {"kind": item.kind, "message": item.message, "retryable": item.retryable} for item in learned.failures
        ],
        "left_out": dict(learned.models.skipped),
        "waiting": [
            {"need": item.need, "sessions": item.sessions, "tasks": item.tasks, "machines": item.machines}
            for item in learned.waiting
        ],
        "reflections": [
            {
                "need": item.need.id,
                "edits": len(item.edits),
                "failure": item.failure.kind if item.failure else None,
                "reply": item.reply[:2_000],
            }
            for item in learned.reflections
        ],
        "rollouts": [
            {
                "task": item.task.id,
                "split": item.task.split,
                "hard": item.score.hard if item.score else None,
                "soft": item.score.soft if item.score else None,
                "notes": list(item.score.notes) if item.score else [],
                "answer": item.reply.text[:500] if isinstance(item.reply, Reply) else "",
            }
            for item in learned.rollouts
        ],
        "held_out": [
            {
                "candidate": [edit.id for edit in item.edits],
                "verdict": item.verdict,
                "tasks": [
                    {
                        "task": pair.task,
                        "base": pair.base.hard if pair.base else None,
                        "candidate": pair.cand.hard if pair.cand else None,
                        "notes": list(pair.cand.notes) if pair.cand else [],
                    }
                    for pair in item.pairs
                ],
            }
            for item in learned.candidates
        ],
    }


def cleaned(value: Any, redact: Callable[[str], str]) -> Any:
    """Every text of a record, redacted: answers of models may quote what they should not."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: cleaned(item, redact) for key, item in value.items()}
    return [cleaned(item, redact) for item in value] if isinstance(value, list) else value
