"""What the next run would ask of models, and what it would cost by the price table. No model is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from skillopt_git import guidance, nightly, prices, roles, spending
from skillopt_git.config import Config
from skillopt_git.controls import ControlKind, due
from skillopt_git.cycle import Inputs, usable
from skillopt_git.documents import existing
from skillopt_git.estimate import Cut, Load, Plan, Price, Step, cuts
from skillopt_git.judges import judgeable
from skillopt_git.learned import Known
from skillopt_git.model import Document, Edit, Need
from skillopt_git.nightly import Options
from skillopt_git.ports import Listener, Purpose, Role, Usage
from skillopt_git.recall import held_back
from skillopt_git.recurrence import recurring
from skillopt_git.routing import Routing
from skillopt_git.sessiontext import exchanges, shown
from skillopt_git.trials import on_trial_already
from skillopt_git.used import used_skills

TURN_WORDS = 100  # bytes around a turn: whose it is, and its fence
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
    free: bool  # whoever answers is paid nothing


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
    free = not model.simulated and not any(roles.about(part.backend).sends for part in (target, optimizer))
    plan = _plan(config, inputs, known, now, two_models=replace(optimizer, role="target") != target)
    plan = replace(plan, beyond={part.role: roles.about(part.backend).beyond for part in (target, optimizer)})
    steps = plan.steps()
    return Forecast(
        steps=steps,
        cuts=() if free else cuts(steps, config.budget, spending.week(shop.private, now), price),
        price=price,
        table=prices.source(now.date()),
        models={part.role: f"{part.backend} {_model(part)}".strip() for part in (target, optimizer)},
        tasks=len(plan.tasks),
        needs=len(plan.needs),
        simulated=model.simulated,
        free=free,
    )


def _plan(config: Config, inputs: Inputs, known: Known, now: datetime, *, two_models: bool) -> Plan:
    history, taught = inputs.history, inputs.teachable
    documents = [item for item in (taught.skill, taught.memory) if item]
    tasks, _ = usable(known, {}, config, taught.skill)
    replaced = known.bank.replaced
    every = recurring(known.needs, known.counts, min_sessions=config.mine.min_sessions, replaced=replaced)
    needs = [need for need in every if need.id not in known.unsaid]
    used = used_skills(known.tasks, taught.home_of, {item.path for item in documents})
    routed = Routing(taught, used, known.tasks, inputs.reader.grammars).plan(needs, [])
    homes = {need.id: document for document, own in routed.own for need in own}
    held = (
        need.id
        for need in needs
        if _held(need, known, inputs, config, [*filter(None, [homes.get(need.id)])] or documents)
    )
    return Plan(
        config=config,
        tasks=tasks,
        golden=[task for task in known.tasks if task.golden and not task.personal and judgeable(task)],
        needs=sorted(needs, key=lambda need: (-known.sessions(need.id), need.id)),
        documents=existing([*documents, *used.documents]),
        teachable=len(documents),
        on_trial=tuple({item.need for item in history.on_trial}),
        controls=sum(due(kind, history, now, config.gate.aa_control) for kind in _CONTROLS),
        guides=len(documents) if guidance.due(history, config.replay.slow_update) else 0,
        two_models=two_models,
        held=frozenset(held),
        used=used,
        homes={need: document.path for need, document in homes.items()},
        reads=_reads(known) if inputs.by_model else (),
        heard=sum(len(text.encode(errors="replace")) for text in known.bank.needs.values()),
    )


def _held(need: Need, known: Known, inputs: Inputs, config: Config, documents: Sequence[Document]) -> bool:
    """Whether memory, or a trial that goes on, holds back the rule that a wish is in every document it may go to."""
    families = frozenset(task.family for task in known.tasks if need.id in task.needs and task.family)
    model = _model(roles.parts(config)[0])

    def held(document: Document) -> bool:
        edit = Edit(op="add", target=document.path, text=need.text, need=need.id)
        why = held_back(inputs.history, edit, base_blob=document.blob, model=model, families=families)
        return (why or on_trial_already(edit, inputs.history.on_trial)) is not None

    return all(map(held, documents))


def _reads(known: Known) -> tuple[int, ...]:
    """The bytes of each session that a model reads: those in which something was answered."""
    read = known.harvest.sessions if known.harvest is not None else ()
    told = (shown(session) for session in read if any(item.answer for item in exchanges(session)))
    return tuple(sum(len(text.encode(errors="replace")) + TURN_WORDS for _, text in turns) for turns in told)


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
