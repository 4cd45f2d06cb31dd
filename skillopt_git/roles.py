"""Which models play the two roles of a run, and what stands between them and the stages.

stages -> Cached -> Pooled -> Budgeted -> the backend: what is remembered costs nothing
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from skillopt_git import prices, spending
from skillopt_git.backends.budgeted import Budgeted
from skillopt_git.backends.cached import Cached
from skillopt_git.backends.pooled import Pooled
from skillopt_git.config import Budget, Config
from skillopt_git.consolidate import judge_question
from skillopt_git.cycle import ModelDoor
from skillopt_git.doors import About, Asked, Opened
from skillopt_git.errors import UsageError
from skillopt_git.judges import RubricJudge, TaskJudge
from skillopt_git.learned import Models
from skillopt_git.model import Task
from skillopt_git.ports import Backend, Role, Usage
from skillopt_git.private import Private
from skillopt_git.prompts import SHIPPED, Prompts
from skillopt_git.purse import Purse
from skillopt_git.redact import Redactor
from skillopt_git.wiring import look_up

BACKENDS = {
    "mock": "skillopt_git.backends.mock:door",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Who plays one role, as the settings have it."""

    role: Role
    backend: str
    model: str
    base_url: str
    key_env: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Which models a run uses: whether they are a simulation, and how they are opened once the tasks are known."""

    simulated: bool
    open: Callable[[Private, Redactor], ModelDoor]


def parts(config: Config) -> tuple[Part, Part]:
    """Target and optimizer. What is not said of the optimizer is as for the target, where both have one backend."""
    chosen = config.replay
    target = Part(
        role="target",
        backend=chosen.backend,
        model=chosen.model,
        base_url=chosen.base_url,
        key_env=chosen.key_env,
    )
    name = chosen.optimizer_backend or chosen.backend
    same = name == chosen.backend
    optimizer = Part(
        role="optimizer",
        backend=name,
        model=chosen.optimizer_model or (chosen.model if same else ""),
        base_url=chosen.optimizer_base_url or (chosen.base_url if same else ""),
        key_env=chosen.optimizer_key_env or (chosen.key_env if same else ""),
    )
    return target, optimizer


def about(name: str) -> About:
    """What there is to know of a backend. An unknown name is an error that lists the known ones."""
    known = {backend: f"{door.partition(':')[0]}:ABOUT" for backend, door in BACKENDS.items()}
    found: About = look_up("backend", name, known)
    return found


def chosen_model(config: Config, environ: Mapping[str, str] = os.environ) -> ModelChoice:
    """By `replay.backend`. There is no default: what answers decides what the figures mean."""
    if not config.replay.backend:
        raise UsageError(
            "no backend is chosen",
            "`--backend mock` simulates a night without a model; `skillopt-git init` writes a settings file, and "
            "replay.backend in your own file or SKILLOPT_REPLAY_BACKEND chooses one for good",
        )
    both = parts(config)
    doors = [look_up("backend", part.backend, BACKENDS) for part in both]
    simulated = {part.backend == "mock" for part in both}
    if len(simulated) > 1:
        raise UsageError("the simulation plays both roles or none", "name one backend, or two real ones")

    def opened(private: Private, redact: Redactor) -> ModelDoor:
        purse = None if simulated == {True} else spending.opened(config.budget, private, now=datetime.now(UTC))

        def door(tasks: Sequence[Task], needs: Mapping[str, str]) -> Models:
            asked = [
                Asked(
                    role=part.role,
                    model=part.model,
                    base_url=part.base_url,
                    key_env=part.key_env,
                    replay=config.replay,
                    environ=environ,
                    state=private.folder / part.backend,
                    redact=redact,
                    tasks=tasks,
                    needs=needs,
                )
                for part in both
            ]
            target = limited(doors[0](asked[0]), both[0], config, purse, environ)
            same = replace(both[1], role="target") == both[0]
            optimizer = target if same else limited(doors[1](asked[1]), both[1], config, purse, environ)
            made = models(target, optimizer, tasks, private, redact, jobs=config.replay.jobs)
            return replace(made, purse=purse)

        return door

    return ModelChoice(simulated=simulated == {True}, open=opened)


def limited(
    opened: Opened, part: Part, config: Config, purse: Purse | None, environ: Mapping[str, str] = os.environ
) -> Opened:
    """With each call paid from the purse. Raises `UsageError` where a limit in dollars could not be kept."""
    if purse is None:
        return opened
    asked, rates = opened.backend, rates_of(part, config, environ)
    refuse_unpriced(config.budget, asked.name, asked.model, rates)
    batch = part.backend == "anthropic" and config.replay.batch and opened.together
    paid = Budgeted(inner=asked, purse=purse, rates=rates, together=opened.together, batch=batch)
    return replace(opened, backend=paid)


def rates_of(part: Part, config: Config, environ: Mapping[str, str] = os.environ) -> prices.Rates:
    """A cassette that records costs what the recorded backend does."""
    name = config.replay.record if part.backend == "cassette" and config.replay.record else part.backend
    known = about(name)
    return prices.rates(name, part.base_url or (environ.get(known.address, "") if known.address else ""))


def refuse_unpriced(budget: Budget, backend: str, model: str, rates: prices.Rates) -> None:
    """A limit in dollars that nobody can keep is no limit: said before anything is spent."""
    names = [name for name, most in (("usd", budget.usd), ("week_usd", budget.week_usd)) if most]
    if names and rates.cost(Usage(1, 1), model) is None:
        raise UsageError(
            f"budget.{names[0]} cannot be kept: what {model or 'the model'} costs at {backend} is in no price table",
            "set budget.tokens instead, or name a model whose price is known in full in replay.model; see "
            "docs/backends.md",
        )


def models(
    target: Opened,
    optimizer: Opened,
    tasks: Sequence[Task],
    private: Private,
    redact: Redactor,
    *,
    jobs: int = 1,
    prompts: Prompts = SHIPPED,
) -> Models:
    """Both roles, remembered and with so many calls at once, with the judge that these tasks need."""

    def kept(opened: Opened) -> Backend:
        pooled = Pooled(inner=opened.backend, jobs=1 if opened.together else jobs)
        return Cached(inner=pooled, folder=private.cache, templates=prompts.digest, redact=redact, aside=private.aside)

    answering = kept(target)
    reflecting = answering if optimizer is target else kept(optimizer)
    question = partial(judge_question, prompts=prompts)
    judge = TaskJudge(rubric=RubricJudge(optimizer=reflecting, prompt=question)).used_for(tasks)
    return Models(target=answering, optimizer=reflecting, judge=judge, skipped=target.skipped, prompts=prompts)
