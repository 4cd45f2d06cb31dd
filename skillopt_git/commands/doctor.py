"""`doctor`: what there is to read, where everything lies, and what wants attention."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from skillopt_git.commands.options import (
    AsJson,
    ClaudeHome,
    CodexHome,
    CopilotHome,
    JsonlHome,
    Repo,
    Source,
    instant,
    minute,
    now,
    source_flags,
)
from skillopt_git.console import Console
from skillopt_git.model import REASONS

if TYPE_CHECKING:
    from skillopt_git.checkup import Checkup, RepositoryState, SourceState
    from skillopt_git.modelcheck import ModelState
    from skillopt_git.vitals import Vitals


def command(
    repo: Repo = Path(),
    source: Source = None,
    claude_home: ClaudeHome = None,
    codex_home: CodexHome = None,
    copilot_home: CopilotHome = None,
    jsonl_home: JsonlHome = None,
    json: AsJson = False,
) -> None:
    """Show what there is to read, where everything lies, and what wants attention. Opens no transcript.

    Exit 1 if something is in the way of the next run.
    """
    from skillopt_git.checkup import check  # what it needs would slow down every start

    found = check(repo, source_flags(source, claude_home, codex_home, copilot_home, jsonl_home), now=now())
    console = Console()
    if json:
        console.json(_record(found))
    else:
        console.page(_page(found))
    if not found.healthy:
        raise typer.Exit(1)


# --- as a record -------------------------------------------------------------------------------------------------


def _record(found: Checkup) -> dict[str, Any]:
    return {
        "v": 1,
        "version": found.version,
        "python": found.python,
        "git": found.git,
        "repository": _repository(found.repository) if found.repository else None,
        "sources": [_source(item) for item in found.sources],
        "settings": [{"path": item.path, "there": item.there} for item in found.settings],
        "backend": found.models.backend,
        "simulated": found.models.simulated,
        "models": [{"role": item.role, "to": item.to, "documents": item.documents} for item in found.models.roles],
        "time_zone": found.time_zone,
        "memory": _memory(found.vitals) if found.vitals else None,
        "healthy": found.healthy,
        "findings": [{"what": item.what, "remedy": item.remedy, "fault": item.fault} for item in found.findings],
    }


def _memory(vitals: Vitals) -> dict[str, Any]:
    last = vitals.last_night
    return {
        "identity": vitals.identity,
        "ledger_ref": vitals.ledger_ref,
        "ledger_commit": vitals.ledger_commit,
        "events": vitals.events,
        "damaged": vitals.damaged,
        "at_work": vitals.at_work,
        "last_night": last and {"run": last.run, "ts": last.ts, "simulated": last.simulated, "outcome": last.outcome},
        "open": list(vitals.pending),
        "schedules": [
            {"scheduler": item.scheduler, "at": item.placed.entry.at if item.placed.entry else None}
            for item in vitals.schedules
        ],
    }


def _source(state: SourceState) -> dict[str, Any]:
    return {
        "name": state.name,
        "home": state.home,
        "decided_by": state.decided_by,
        "exists": state.exists,
        "readable": state.readable,
        "transcripts": state.transcripts,
        "bytes": state.bytes,
        "newest": instant(state.newest),
        "mode": _mode(state.mode),
        "auto": state.auto,
        "chosen": state.chosen,
        "unread": state.unread,
        "skipped": dict(state.skipped),
    }


def _repository(state: RepositoryState) -> dict[str, Any]:
    return {
        "root": state.root,
        "base": state.base,
        "base_commit": state.base_commit,
        "private": state.private,
        "mode": _mode(state.mode),
        "checkpoint": {
            source: {home: instant(time) for home, time in homes.items()} for source, homes in state.checkpoint.items()
        },
        "index_bytes": state.index_bytes,
    }


def _mode(mode: int | None) -> str | None:
    return None if mode is None else f"{mode:04o}"


# --- for people --------------------------------------------------------------------------------------------------


def _page(found: Checkup) -> Iterator[str]:
    yield f"skillopt-git {found.version}, Python {found.python}, git {found.git or 'is missing'}"
    yield from ("", "Sources")
    for source in found.sources:
        yield from _about_source(source)
    yield from ("", "Repository")
    yield from _about_repository(found.repository)
    yield from _about_memory(found.vitals) if found.vitals else ()
    yield from ("", "Settings")
    for file in found.settings:
        yield f"  {file.path}: {'read' if file.there else 'no settings'}"
    yield f"  source: {found.source}"
    yield f"  backend: {_backend(found.models)}"
    for item in found.models.roles:
        yield f"    {item.role}: {item.to}. {item.documents}"
    yield f"  time zone: {found.time_zone}"
    yield from ("", "Findings" if found.findings else "Nothing wants attention.")
    for finding in found.findings:
        yield f"  - {'in the way: ' if finding.fault else ''}{finding.sentence}"


def _about_source(state: SourceState) -> Iterator[str]:
    by = "the usual folder" if state.decided_by == "default" else f"by {state.decided_by}"
    yield f"  {state.name}: {_use(state)}"
    yield f"    {state.home} ({by})" + ("" if state.exists else ", not there")
    if state.exists:
        yield f"    {_holdings(state)}"
        told = ", ".join(f"{count:,} {reason}" for reason, count in state.skipped.items())
        yield from [f"    passed by: {told}"] if told else ()


def _use(state: SourceState) -> str:
    if state.chosen:
        return "is read" if state.auto else "is read, for it is named"
    return "would be read by `auto`" if state.auto else f"is read only when named: `--source {state.name}`"


def _holdings(state: SourceState) -> str:
    newest = f", the newest of {minute(state.newest)} UTC" if state.newest else ""
    mode = f", mode {_mode(state.mode)}" if state.mode is not None else ""
    readable = "" if state.readable else ", not readable"
    plural = "" if state.transcripts == 1 else "s"
    upcoming = f"; the next run would open {state.unread:,}" if state.chosen else ""
    return f"{state.transcripts:,} transcript{plural}, {_size(state.bytes)}{newest}{mode}{readable}{upcoming}"


def _about_repository(state: RepositoryState | None) -> Iterator[str]:
    if state is None:
        yield "  none"
        return
    yield f"  root: {state.root}"
    yield f"  base: {state.base} at {str(state.base_commit)[:12]}" if state.base else "  base: none"
    made = "not made yet" if state.mode is None else f"mode {_mode(state.mode)}, index {_size(state.index_bytes)}"
    yield f"  private folder: {state.private}, {made}"
    for source, homes in state.checkpoint.items():
        for home, time in homes.items():
            yield f"  {source}: {home} was read up to {minute(time)} UTC"


def _backend(models: ModelState) -> str:
    if models.backend is None:
        return "none; `run` needs one, as `--backend mock` or in your own settings"
    return f"{models.backend}, a simulation, which needs nothing" if models.simulated else models.backend


def _about_memory(vitals: Vitals) -> Iterator[str]:
    yield f"  you: {vitals.identity or 'unknown to git'}"
    there = f"at {vitals.ledger_commit[:12]}, {vitals.events:,} events" if vitals.ledger_commit else "not made yet"
    yield f"  ledger: {vitals.ledger_ref}, {there}"
    yield f"  at work now: {vitals.at_work or 'nobody'}"
    last = vitals.last_night
    simulated = " (simulated)" if last and last.simulated else ""
    yield f"  last night: {f'{last.ts}{simulated}, {REASONS.get(last.outcome, last.outcome)}' if last else 'none yet'}"
    yield f"  open: {', '.join(vitals.pending) or 'no proposal'}"
    for item in vitals.schedules:
        at = f" at {item.placed.entry.at}" if item.placed.entry else ""
        yield f"  scheduled: every day{at} with {item.scheduler}"
    if not vitals.schedules:
        yield "  scheduled: not"


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
