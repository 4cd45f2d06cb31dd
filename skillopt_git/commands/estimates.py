"""`run --estimate`: what a run would ask of models, in calls, tokens and dollars. None is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillopt_git.commands.options import now
from skillopt_git.config import Config
from skillopt_git.console import Console
from skillopt_git.estimate import Load, Step, dollars, total
from skillopt_git.forecast import Forecast, forecast
from skillopt_git.nightly import Options
from skillopt_git.ports import Role
from skillopt_git.roles import chosen_model

_ROLES: tuple[Role, ...] = ("target", "optimizer")


def tell(repo: Path, config: Config, options: Options, *, json: bool, quiet: bool) -> None:
    # Nothing is sent for a figure: whoever has not yet said what may be is told what all of it would come to.
    replay = replace(config.replay, send=config.replay.send or "mined")
    model = chosen_model(replace(config, replay=replay))
    with Console(quiet=quiet) as console:
        found = forecast(repo, config, options, model=model, now=now(), notify=console.progress)
    if json:
        console.json(_record(found))
        return
    if not found.steps:
        console.out(
            f"No model would be asked: of {found.tasks} tasks and {found.needs} wishes there is nothing to learn."
        )
        return
    rows = [_row(step.what, found.models[step.role], found, [step]) for step in found.steps]
    rows += [_row(f"all of the {role}", found.models[role], found, found.steps, role) for role in _ROLES]
    columns = ("Step", "Model", "Calls", "Tokens sent", "Tokens received", "USD")
    console.table("What a run would ask of models: likely, and at most", columns, rows)
    console.page(_sentences(found))


def _row(what: str, model: str, found: Forecast, steps: Sequence[Step], role: Role | None = None) -> tuple[str, ...]:
    likely, most = total(steps, role)
    costs = dollars(steps, found.price, role)
    figures = ((likely.calls, most.calls), (likely.sent, most.sent), (likely.received, most.received))
    return (what, model, *(f"{usual:,} to {longest:,}" for usual, longest in figures), _usd(*costs))


def _usd(likely: float | None, most: float | None) -> str:
    return "unknown" if likely is None or most is None else f"{likely:,.2f} to {most:,.2f}"


def _sentences(found: Forecast) -> list[str]:
    lines = [
        "What other nights asked is remembered, and costs nothing again. No model was asked for this.",
        f"Prices: {found.table}."
        if None not in dollars(found.steps, found.price)
        else f"The price of a model is in no table ({found.table}): budget.tokens limits it, budget.usd cannot.",
    ]
    if any(step.purpose == "mine" for step in found.steps):
        lines.append("What the optimizer finds in sessions may make tasks and rules beyond these.")
    if found.simulated:
        lines.append("The simulation costs nothing; the figures are those of a model in its place.")
    for cut in found.cuts:
        left = f"{cut.left:,.4f}" if "usd" in cut.limit else f"{cut.left:,.0f}"
        lines.append(f"{cut.limit} leaves {left}: {_cutting(cut.likely, cut.most)}")
    return lines


def _cutting(likely: str | None, most: str | None) -> str:
    if likely is not None:
        return f"it would likely end the night at: {likely}."
    if most is not None:
        return f"likely enough; it would end the longest night at: {most}."
    return "enough for the longest night."


def _record(found: Forecast) -> dict[str, Any]:
    return {
        "v": 1,
        "tasks": found.tasks,
        "needs": found.needs,
        "simulated": found.simulated,
        "prices": found.table,
        "steps": [
            {"step": step.what, **_figures(found, [step], step.role), "purpose": step.purpose} for step in found.steps
        ],
        "roles": [_figures(found, found.steps, role) for role in _ROLES],
        "total": _arms(found, found.steps, None),
        "budget": [
            {"limit": cut.limit, "left": cut.left, "likely_ends_at": cut.likely, "most_ends_at": cut.most}
            for cut in found.cuts
        ],
    }


def _figures(found: Forecast, steps: Sequence[Step], role: Role) -> dict[str, Any]:
    return {"role": role, "model": found.models[role], **_arms(found, steps, role)}


def _arms(found: Forecast, steps: Sequence[Step], role: Role | None) -> dict[str, Any]:
    arms = zip(total(steps, role), dollars(steps, found.price, role), strict=True)
    likely, most = (_load(load, cost) for load, cost in arms)
    return {"likely": likely, "most": most}


def _load(load: Load, cost: float | None) -> dict[str, Any]:
    return {
        "calls": load.calls,
        "input_tokens": load.sent,
        "output_tokens": load.received,
        "cost_usd": None if cost is None else round(cost, 6),
    }
