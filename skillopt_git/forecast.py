"""What the next run would ask of models, and what it would cost by the price table. No model is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from skillopt_git import nightly, prices, roles, spending, wiring
from skillopt_git.config import Config
from skillopt_git.controls import ControlKind, due
from skillopt_git.cycle import Inputs, usable
from skillopt_git.documents import existing
from skillopt_git.estimate import Cut, Load, Plan, Price, Step, cuts
from skillopt_git.judges import judgeable
from skillopt_git.learned import Known
from skillopt_git.modelmine import foreign, question, readable
from skillopt_git.nightly import Options
from skillopt_git.ports import Listener, Purpose, Request, Role, Usage
from skillopt_git.prompts import Prompts
from skillopt_git.recurrence import recurring

_CONTROLS: tuple[ControlKind, ...] = ("null", "known")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """`price` gives dollars, None where none is known; `table` says by what prices."""

    steps: tuple[Step, ...]
    cuts: tuple[Cut, ...]
    price: Price
    table: str
    models: Mapping[Role, str]
    tasks: int
    needs: int
    simulated: bool


def forecast(
    path: Path,
    config: Config,
    options: Options,
    *,
    model: roles.ModelChoice,
    now: datetime,
    notify: Listener,
    environ: Mapping[str, str] = os.environ,
) -> Forecast:
    shop, inputs, known = nightly.expected(path, config, options, model=model, now=now, notify=notify)
    target, optimizer = roles.parts(config)
    price = _price(config, environ)
    plan = _plan(config, inputs, known, now, two_models=replace(optimizer, role="target") != target)
    plan = replace(
        plan,
        beyond={part.role: roles.about(part.backend).beyond for part in (target, optimizer)},
        reading=_reading(inputs, known, wiring.prompts(shop.repo, shop.base)),
    )
    steps = plan.steps()
    return Forecast(
        steps=steps,
        cuts=cuts(steps, config.budget, spending.week(shop.private, now), price),
        price=price,
        table=prices.source(now.date()),
        models={part.role: f"{part.backend} {_model(part)}".strip() for part in (target, optimizer)},
        tasks=len(plan.tasks),
        needs=len(plan.needs),
        simulated=model.simulated,
    )


def _reading(inputs: Inputs, known: Known, prompts: Prompts) -> list[Request]:
    """What a model would be asked about the sessions."""
    sessions = known.harvest.sessions if inputs.by_model and known.harvest is not None else ()
    heard = foreign(known.needs.values(), inputs.reader)
    return [question(session, heard, prompts) for session in sessions if readable(session)]


def _plan(config: Config, inputs: Inputs, known: Known, now: datetime, *, two_models: bool) -> Plan:
    history, documents = inputs.history, [item for item in (inputs.teachable.skill, inputs.teachable.memory) if item]
    tasks, _ = usable(known, {}, config, inputs.teachable.skill)
    replaced = known.bank.replaced
    needs = recurring(known.needs, known.counts, min_sessions=config.mine.min_sessions, replaced=replaced)
    return Plan(
        config=config,
        tasks=tasks,
        golden=[task for task in known.tasks if task.golden and not task.personal and judgeable(task)],
        needs=sorted(needs, key=lambda need: (-known.sessions(need.id), need.id)),
        documents=existing(documents),
        teachable=len(documents),
        on_trial=tuple({item.need for item in history.on_trial}),
        controls=sum(due(kind, history, now, config.gate.aa_control) for kind in _CONTROLS),
        two_models=two_models,
    )


def _price(config: Config, environ: Mapping[str, str]) -> Price:
    parts = {part.role: part for part in roles.parts(config)}
    known = {role: roles.rates_of(part, config, environ) for role, part in parts.items()}

    def price(role: Role, purpose: Purpose, load: Load, *, most: bool = False) -> float | None:
        """Replays are likely to go in batches; for sure nothing is."""
        batched = config.replay.batch and parts[role].backend == "anthropic" and purpose == "rollout" and not most
        return known[role].at_most(Usage(load.sent, load.received, batched=batched), _model(parts[role]))

    return price


def _model(part: roles.Part) -> str:
    return part.model or roles.about(part.backend).model
