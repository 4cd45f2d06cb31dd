"""`status`: what is open, and what came of earlier proposals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_git.commands.options import AsJson, Repo, now, settings, workshop
from skillopt_git.console import Console
from skillopt_git.ledger import last_run
from skillopt_git.model import REASONS

if TYPE_CHECKING:
    from skillopt_git.recall import Proposal
    from skillopt_git.rulings import OnTrial
    from skillopt_git.workshop import Workshop


def command(repo: Repo = Path(), json: AsJson = False) -> None:
    """Say what is open, and what came of earlier proposals."""
    shop = workshop(repo)
    record = _record(shop, settings(repo).propose.pause_after)
    console = Console()
    if json:
        console.json(record)
    else:
        console.out(_sentences(record))


def _record(shop: Workshop, pause_after: int) -> dict[str, Any]:
    from skillopt_git.spending import week
    from skillopt_git.views import controls_view
    from skillopt_git.waiting import held  # here and below: what it needs would slow down every start

    spent = week(shop.private, now())
    history = shop.everything()
    outcomes = Counter(
        item.outcome.type for proposal in history.proposals for item in proposal.edits if item.outcome is not None
    )
    outcomes["reverted"] = len(history.unlearned)
    told = shop.ledger.told()
    runs = [event for event in told.events if event.type == "run"]
    learned = {item.edit.id: item.edit for item in history.adopted}  # learned on two branches, it is still one rule
    last = last_run(told.events)
    return {
        "v": 1,
        "base": shop.base.branch,
        "base_commit": shop.base.commit,
        "open": [_open(shop, item, pause_after) for item in history.proposals if item.open],
        "on_trial": [_on_trial(item) for item in history.apart],
        "tasks": list(held(shop.repo, shop.base)),
        "outcomes": {what: count for what, count in sorted(outcomes.items()) if count},
        "rejections": len(history.negatives),
        "learned": [
            {"edit": edit.id, "op": edit.op, "text": edit.sentence, "target": edit.target} for edit in learned.values()
        ],
        "runs": len(runs),
        "last_run": None
        if last is None
        else {"run": last.run, "ts": last.ts, "verdict": last.data["verdict"], "reason": last.data["reason"]},
        "controls": asdict(controls_view(event for event in shop.controls() if not event.simulated)),
        "spent_week": {"tokens": spent.tokens, "usd": round(spent.usd, 6), "minutes": round(spent.minutes, 1)},
        "damaged": told.damaged,
    }


def _open(shop: Workshop, proposal: Proposal, pause_after: int) -> dict[str, Any]:
    from skillopt_git.branches import state
    from skillopt_git.pausing import unread

    nights = unread(shop.ledger.told().events, proposal.branch)
    return {
        "branch": proposal.branch,
        "simulated": proposal.simulated,
        "state": state(shop.repo, proposal),
        "unread": nights,
        "paused": 0 < pause_after <= nights,
        "edits": [
            {
                "id": item.edit.id,
                "target": item.edit.target,
                "text": item.edit.sentence,
                "verdict": item.verdict,
            }
            for item in proposal.pending
        ],
    }


def _on_trial(item: OnTrial) -> dict[str, Any]:
    ruling = item.ruling
    return {
        "simulated": item.simulated,
        "verdict": ruling.data["verdict"],
        "why": ruling.data.get("why", ""),
        "edits": [{"id": edit.id, "target": edit.target, "text": edit.sentence} for edit in item.edits],
    }


def _about_open(proposal: dict[str, Any]) -> Iterator[str]:
    from skillopt_git.pausing import nights

    marks = ["simulated"] if proposal["simulated"] else []
    marks += [proposal["state"]] if proposal["state"] != "free" else []
    yield f"\nOpen: {proposal['branch']}" + (f" ({', '.join(marks)})" if marks else "")
    yield from (f"  {edit['id']}  {edit['verdict']}  {edit['target']}: {edit['text']}" for edit in proposal["edits"])
    if proposal["unread"]:
        then = "; nights pause until somebody touches it" if proposal["paused"] else ""
        yield f"  its pull request was left alone for {nights(proposal['unread'])}{then}"
    yield f"  show, adopt or reject it: `skillopt-git show {proposal['branch']}`"


def _sentences(record: dict[str, Any]) -> str:
    lines = [f"Base: {record['base']} at {record['base_commit'][:12]}"]
    for proposal in record["open"]:
        lines += _about_open(proposal)
    if not record["open"]:
        lines.append("\nNo open proposal.")
    if record["on_trial"]:
        lines.append("\nOn trial, and on no branch yet:")
    for trial in record["on_trial"]:
        mark = " (simulated)" if trial["simulated"] else ""
        lines += [f"  {edit['id']}  {edit['target']}: {edit['text']}{mark}" for edit in trial["edits"]]
        lines.append(f"    {trial['verdict']}: {trial['why']}")
    for branch in record["tasks"]:
        lines.append(f"\nTasks to be shared: {branch}")
        lines.append(f"  merge it: `skillopt-git adopt {branch}`; take it away: `skillopt-git reject {branch}`")
    if record["learned"]:
        lines.append("\nLearned:")
        lines += [f"  {item['edit']}  {item['target']}: {item['text']}" for item in record["learned"]]
    counts = ", ".join(f"{count} {what}" for what, count in record["outcomes"].items()) or "none yet"
    lines.append(f"\nOutcomes of edits: {counts}. Standing rejections: {record['rejections']}.")
    last = record["last_run"]
    why = REASONS.get(last["reason"], last["reason"]) if last else ""
    told = f"{last['run']}: {last['verdict'] or why}" if last else "none yet"
    lines.append(f"Runs: {record['runs']}, the last {told}.")
    gate = record["controls"]
    if gate["null"]:
        trials = "1 trial" if gate["null"] == 1 else f"{gate['null']} trials"
        lines.append(
            f"Controls of the gate: an edit that says nothing was strong in {gate['null_strong']} and a draft in "
            f"{gate['null_drafts']} of {trials}, a proven rule strong in {gate['known_strong']} of {gate['known']}."
        )
    spent = record["spent_week"]
    if spent["tokens"]:
        lines.append(
            f"Spent on models in seven days: {spent['tokens']:,} tokens, {spent['usd']:,.2f} USD where a price is "
            f"known, {spent['minutes']:g} minutes."
        )
    if record["damaged"]:
        told = "1 damaged line" if record["damaged"] == 1 else f"{record['damaged']} damaged lines"
        lines.append(f"Passed over in the ledger: {told}.")
    return "\n".join(lines)
