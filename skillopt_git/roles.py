"""Which models play the two roles of a run, and what stands between them and the stages.

stages -> Cached -> Pooled -> the backend
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from skillopt_git.backends.cached import Cached
from skillopt_git.backends.pooled import Pooled
from skillopt_git.config import Config
from skillopt_git.consolidate import judge_question
from skillopt_git.cycle import ModelDoor
from skillopt_git.doors import About, Asked, Opened
from skillopt_git.egress import Destination, destination, refuse_unasked
from skillopt_git.errors import UsageError
from skillopt_git.judges import RubricJudge, TaskJudge
from skillopt_git.learned import Models
from skillopt_git.model import Task
from skillopt_git.ports import Backend, Role
from skillopt_git.private import Private
from skillopt_git.prompts import SHIPPED, Prompts
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
    """Which models a run uses: whether they are a simulation, and how they are opened once the tasks are known.

    `only_reviewed`: nothing that was mined may reach them; `by_model`: the optimizer reads sessions, too.
    """

    simulated: bool
    open: Callable[[Private, Redactor, Prompts], ModelDoor]
    only_reviewed: bool = False
    by_model: bool = False


def parts(config: Config) -> tuple[Part, Part]:
    """Target and optimizer. What is not said of the optimizer is as for the target, where both have one backend."""
    chosen = config.replay
    if not chosen.backend:
        raise UsageError(
            "no backend is chosen",
            "`--backend mock` simulates a night without a model; `skillopt-git init` writes a settings file, and "
            "replay.backend in your own file or SKILLOPT_REPLAY_BACKEND chooses one for good",
        )
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
    both = parts(config)
    doors = [look_up("backend", part.backend, BACKENDS) for part in both]
    simulated = {part.backend == "mock" for part in both}
    if len(simulated) > 1:
        raise UsageError("the simulation plays both roles or none", "name one backend, or two real ones")

    going = destinations(config, environ)
    refuse_unasked(going, config.replay.send)
    by_model = mines(config, going[1], simulated=simulated == {True})

    def opened(private: Private, redact: Redactor, prompts: Prompts) -> ModelDoor:
        def door(tasks: Sequence[Task], needs: Mapping[str, str]) -> Models:
            asked = [asked_of(part, config, environ, private, redact, prompts, tasks, needs) for part in both]
            target: Opened = doors[0](asked[0])
            same = replace(both[1], role="target") == both[0]
            optimizer: Opened = target if same else doors[1](asked[1])
            return models(target, optimizer, tasks, private, redact, jobs=config.replay.jobs, prompts=prompts)

        return door

    away = any(not item.here for item in going)
    return ModelChoice(
        simulated=simulated == {True},
        open=opened,
        only_reviewed=away and config.replay.send == "reviewed",
        by_model=by_model,
    )


def mines(config: Config, optimizer: Destination, *, simulated: bool) -> bool:
    """Whether the optimizer reads sessions, too. Raises `UsageError` where it is told to and may not."""
    wanted, may = config.mine.with_, optimizer.here or config.replay.send == "mined"
    if wanted == "model" and simulated:
        raise UsageError("the simulation reads no sessions", 'mine.with = "auto" or "rules" leaves them to the rules')
    if wanted == "model" and not may:
        raise UsageError(
            f'mine.with = "model" would send sessions to {optimizer.told}, and replay.send does not allow it',
            'replay.send = "mined" in your own settings says so; mine.with = "auto" leaves them to the rules',
        )
    return wanted != "rules" and may and not simulated


def asked_of(
    part: Part,
    config: Config,
    environ: Mapping[str, str],
    private: Private,
    redact: Redactor,
    prompts: Prompts,
    tasks: Sequence[Task],
    needs: Mapping[str, str],
) -> Asked:
    return Asked(
        role=part.role,
        model=part.model,
        base_url=part.base_url,
        key_env=part.key_env,
        replay=config.replay,
        environ=environ,
        state=private.folder / part.backend,
        redact=redact,
        prompts=prompts,
        tasks=tasks,
        needs=needs,
    )


def destinations(config: Config, environ: Mapping[str, str] = os.environ) -> tuple[Destination, Destination]:
    """To whom the requests of target and optimizer go. A cassette that records sends what the recorded one does."""

    def of(part: Part) -> Destination:
        name = config.replay.record if part.backend == "cassette" and config.replay.record else part.backend
        return destination(
            part.role,
            about(name),
            model=part.model,
            base_url=part.base_url,
            environ=environ,
            hosts=config.replay.hosts,
        )

    target, optimizer = parts(config)
    return of(target), of(optimizer)


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
    return judged(answering, reflecting, tasks, skipped=target.skipped, prompts=prompts)


def judged(
    target: Backend, optimizer: Backend, tasks: Sequence[Task], *, skipped: Mapping[str, str], prompts: Prompts
) -> Models:
    """Both roles, with the judge that these tasks need."""
    question = partial(judge_question, prompts=prompts)
    judge = TaskJudge(rubric=RubricJudge(optimizer=optimizer, prompt=question)).used_for(tasks)
    return Models(target=target, optimizer=optimizer, judge=judge, skipped=skipped, prompts=prompts)
