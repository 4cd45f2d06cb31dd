"""`dry-run --outgoing`: what would be sent to models."""

from __future__ import annotations

from pathlib import Path

from skillopt_git import nightly
from skillopt_git.commands.options import now
from skillopt_git.config import Config
from skillopt_git.console import Console
from skillopt_git.egress import Destination
from skillopt_git.errors import UsageError
from skillopt_git.nightly import Options
from skillopt_git.rehearsal import Rehearsal, Sent


def tell(repo: Path, config: Config, options: Options, *, json: bool, quiet: bool) -> None:
    """What a run would send, word for word, and to whom. Nobody is asked."""
    if not options.dry_run:
        raise UsageError("--outgoing belongs to `dry-run`", "`skillopt-git dry-run --outgoing`")
    told = Rehearsal(config)
    with Console(quiet=quiet) as console:
        nightly.run(repo, config, options, model=told.choice, clock=now, notify=console.progress)
    if json:
        console.json({"v": 1, "to": [_to(item) for item in told.to.values()], "requests": [*map(_request, told.sent)]})
        return
    for item in told.sent:
        often = f", {item.times} times" if item.times > 1 else ""
        console.out(f"=== {item.purpose}, to {item.to.told}{often}\n")
        console.out("\n\n".join(text.strip("\n") for text in (item.said.system, item.said.user) if text) + "\n")
    total = sum(item.times for item in told.sent)
    console.out(f"{total} requests, {len(told.sent)} of them different. Nothing was sent.")


def _to(item: Destination) -> dict[str, str | bool]:
    return {"role": item.role, "backend": item.backend, "model": item.model, "host": item.host, "here": item.here}


def _request(item: Sent) -> dict[str, str | int]:
    said = item.said
    return {
        "role": item.to.role,
        "purpose": item.purpose,
        "times": item.times,
        "system": said.system,
        "user": said.user,
    }
