"""What the next run would ask of models, and what it would cost by the price table. No model is asked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil
from pathlib import Path

from skillopt_git import guidance, nightly, prices, roles, spending, wiring
from skillopt_git.config import Config
from skillopt_git.controls import ControlKind, due
from skillopt_git.cycle import Inputs, gather, usable
from skillopt_git.documents import existing
from skillopt_git.doors import lasting
from skillopt_git.estimate import Cut, Load, Plan, Price, Step, cuts
from skillopt_git.judges import judgeable
from skillopt_git.learned import Known
from skillopt_git.model import Document, Edit, Need, Session
from skillopt_git.modelmine import Told, foreseen
from skillopt_git.nightly import Options
from skillopt_git.ports import Listener, Purpose, Request, Role, Usage
from skillopt_git.prompts import Prompts
from skillopt_git.recall import held_back, told_refusals
from skillopt_git.recurrence import recurring
from skillopt_git.routing import Routing
from skillopt_git.trials import on_trial_already
from skillopt_git.used import used_skills
from skillopt_git.workshop import open_workshop

_CONTROLS: tuple[ControlKind, ...] = ("null", "known")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """`price` gives dollars, None where none is known; `table` says by what prices. `sessions` are those that a model
    would read: what it finds there nobody knows before."""

    steps: tuple[Step, ...]
    cuts: tuple[Cut, ...]
    price: Price
    table: str
    models: Mapping[Role, str]
    tasks: int
    needs: int
    sessions: int
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
    shop = open_workshop(path, config, now=now, simulated=model.simulated)
    prompts = wiring.prompts(shop.repo, shop.base)
    inputs = nightly.start(shop, config, options, model=model, prompts=prompts, notify=notify)
    read: list[Request] = []

    def asks(sessions: Sequence[Session], heard: Iterable[str]) -> Told:
        read.extend(foreseen(sessions, heard, inputs.reader, prompts, lasting(inputs.history.nights)))
        return Told()

    known = gather(inputs, config=config, now=now, notify=notify, asks=asks if inputs.by_model else None)
    target, optimizer = roles.parts(config)
    price = pricing(config, environ)
    plan = replace(
        planned(config, inputs, known, now, prompts),
        mined=read,
        two_models=replace(optimizer, role="target") != target,
        beyond={part.role: roles.about(part.backend).beyond for part in (target, optimizer)},
    )
    steps = plan.steps()
    free = not model.simulated and not any(roles.about(part.backend).sends for part in (target, optimizer))
    return Forecast(
        steps=steps,
        cuts=() if free else cuts(steps, config.budget, spending.week(shop.private, now), price),
        price=price,
        table=prices.source(now.date()),
        models={part.role: f"{part.backend} {_model(part)}".strip() for part in (target, optimizer)},
        tasks=len(plan.tasks),
        needs=len(plan.needs),
        sessions=len(plan.mined),
        simulated=model.simulated,
        free=free,
    )


def planned(config: Config, inputs: Inputs, known: Known, now: datetime, prompts: Prompts) -> Plan:
    """A night from these inputs, in which this is known."""
    history = inputs.history
    shared = [item for item in (inputs.teachable.skill, inputs.teachable.memory) if item]
    used = used_skills(known.tasks, inputs.teachable.home_of, {item.path for item in shared})
    documents = [*shared, *used.documents]
    tasks, _ = usable(known, {}, config, inputs.teachable.skill)
    replaced = known.bank.replaced
    every = recurring(known.needs, known.counts, min_sessions=config.mine.min_sessions, replaced=replaced)
    needs = [need for need in every if need.id not in known.unsaid]
    golden = [task for task in known.tasks if task.golden and not task.personal and judgeable(task)]
    own = Routing(inputs.teachable, used, known.tasks, inputs.reader.grammars).plan(needs, []).own
    homes = {need.id: document for document, taught in own for need in taught}
    places = {need.id: [homes[need.id]] if need.id in homes else shared for need in needs}
    return Plan(
        config=config,
        tasks=tasks,
        golden=[task for task in golden if task.id not in known.withheld],
        needs=sorted(needs, key=lambda need: (-known.sessions(need.id), need.id)),
        documents=existing(documents),
        teachable=min(len(documents), 2),  # a skill, and then the memory
        taught=len(documents),
        used=used,
        on_trial=[item.need for item in history.on_trial],
        controls=sum(due(kind, history, now, config.gate.aa_control) for kind in _CONTROLS),
        guides=guidance.foreseen(shared, history, inputs.evidence_of, config, prompts),
        refused=told_refusals(history),
        prompts=prompts,
        held=frozenset(need.id for need in needs if _held(need, places[need.id], known, inputs, config)),
        homes={need: document.path for need, document in homes.items()},
    )


def _held(need: Need, places: Sequence[Document], known: Known, inputs: Inputs, config: Config) -> bool:
    """Whether memory, or a trial that goes on, holds back the rule that a wish is, wherever it is likely to go."""
    families = frozenset(task.family for task in known.tasks if need.id in task.needs and task.family)
    model = _model(roles.parts(config)[0])

    def held(document: Document) -> bool:
        edit = Edit(op="add", target=document.path, text=need.text, need=need.id)
        why = held_back(inputs.history, edit, base_blob=document.blob, model=model, families=families)
        return (why or on_trial_already(edit, inputs.history.on_trial)) is not None

    return all(map(held, places))


def pricing(config: Config, environ: Mapping[str, str]) -> Price:
    """The prices of the models that these settings name."""
    parts = {part.role: part for part in roles.parts(config)}
    known = {role: roles.rates_of(part, environ) for role, part in parts.items()}

    def price(role: Role, purpose: Purpose, load: Load, *, most: bool = False) -> float | None:
        """By the mean call, for long ones may have a price of their own. Replays are likely to go in batches; for sure
        nothing is, and at most all that is sent is put into a prompt cache."""
        batched = config.replay.batch and parts[role].backend == "anthropic" and purpose == "rollout" and not most
        calls = max(load.calls, 1)
        sent, received = ceil(load.sent / calls), ceil(load.received / calls)
        mean = Usage(sent, received, written_tokens=sent if most else 0, batched=batched)
        each = known[role].at_most(mean, _model(parts[role]))
        return None if each is None else each * load.calls

    return price


def _model(part: roles.Part) -> str:
    return part.model or roles.about(part.backend).model
