"""`dry-run --outgoing`: what would be sent to models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from skillopt_git import nightly
from skillopt_git.commands.options import now
from skillopt_git.config import Config
from skillopt_git.console import Console
from skillopt_git.egress import Destination
from skillopt_git.errors import UsageError
from skillopt_git.ids import canonical_json
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
        console.json(
            {
                "v": 1,
                "to": [_to(item) for item in told.to.values()],
                "times": _times(told.sent),
                "requests": [*map(_request, told.sent)],
            }
        )
        return
    for item in told.sent:
        often = f", {item.times} times" if item.times > 1 else ""
        console.out(f"=== {item.purpose}, to {item.to.told}{often}\n")
        console.out("\n\n".join(text.strip("\n") for text in _texts(item) if text) + "\n")
    times = _times(told.sent)
    each = " and ".join(f"{count} to the {role}" for role, count in times.items()) or "none"
    console.out(
        f"{sum(times.values())} requests ({each}) where answers are as the simulation's, {len(told.sent)} of them "
        "different. Nothing was sent."
    )


def _times(sent: Sequence[Sent]) -> dict[str, int]:
    """How many requests each role would get."""
    counts: Counter[str] = Counter()
    for item in sent:
        counts[item.to.role] += item.times
    return dict(counts)


def _texts(item: Sent) -> Iterator[str]:
    """All that goes out with a request."""
    yield item.said.system
    yield item.said.user
    yield f"tools: {', '.join(item.tools)}" if item.tools else ""
    yield f"schema of the answer: {canonical_json(item.schema)}" if item.schema else ""


def _to(item: Destination) -> dict[str, str | bool]:
    return {"role": item.role, "backend": item.backend, "model": item.model, "host": item.host, "here": item.here}


def _request(item: Sent) -> dict[str, Any]:
    said = item.said
    return {
        "role": item.to.role,
        "purpose": item.purpose,
        "times": item.times,
        "system": said.system,
        "user": said.user,
        "tools": list(item.tools),
        "schema": item.schema,
    }
