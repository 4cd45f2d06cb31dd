"""Which models play the two roles of a run, and what stands between them and the stages.

stages -> Pooled -> Cached -> (a tape that records) -> Budgeted -> the backend

What is remembered, or on the tape, costs nothing. Each answer is kept as it comes, whatever becomes of the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from skillopt_git import prices, programs, spending
from skillopt_git.backends import cassette
from skillopt_git.backends.budgeted import Beyond, Budgeted
from skillopt_git.backends.cached import Cached
from skillopt_git.backends.pooled import Pooled
from skillopt_git.config import Budget, Config
from skillopt_git.consolidate import judge_question
from skillopt_git.cycle import ModelDoor
from skillopt_git.doors import About, Asked, Opened
from skillopt_git.egress import Destination, destination, refuse_unasked
from skillopt_git.errors import UsageError
from skillopt_git.judges import RubricJudge, TaskJudge
from skillopt_git.learned import Models
from skillopt_git.model import Task
from skillopt_git.ports import Backend, Listener, Role, Usage
from skillopt_git.private import Private
from skillopt_git.prompts import SHIPPED, Prompts
from skillopt_git.purse import Purse
from skillopt_git.redact import Redactor
from skillopt_git.wiring import look_up

BACKENDS = {
    "anthropic": "skillopt_git.backends.anthropic:door",
    "azure_openai": "skillopt_git.backends.openai_azure:door",
    "cassette": "skillopt_git.backends.cassette:door",
    "claude": "skillopt_git.backends.claude:door",
    "handoff": "skillopt_git.backends.handoff:door",
    "mock": "skillopt_git.backends.mock:door",
    "openai": "skillopt_git.backends.openai:door",
}
SIMULATIONS = frozenset({"mock"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Who plays one role, as the settings have it. `taped`: what it answers is recorded on a cassette."""

    role: Role
    backend: str
    model: str
    base_url: str
    key_env: str
    taped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Which models a run uses: whether they are a simulation, and how they are opened once the tasks are known.

    `only_reviewed`: nothing that was mined may reach them; `by_model`: the optimizer reads sessions, too.
    """

    simulated: bool
    open: Callable[[Private, Redactor, Prompts, Listener], ModelDoor]
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
    return _taped(target, chosen.record), _taped(optimizer, chosen.record)


def _taped(part: Part, record: str) -> Part:
    """With a cassette that records, whoever is recorded plays the role: it is what is asked, paid and sent to."""
    if part.backend != "cassette" or not record:
        return part
    if record in ("mock", "cassette"):
        raise UsageError(f"replay.record = '{record}' records no model", "name the backend that asks one")
    return replace(part, backend=record, taped=True)


def about(name: str) -> About:
    """What there is to know of a backend. An unknown name is an error that lists the known ones."""
    known = {backend: f"{door.partition(':')[0]}:ABOUT" for backend, door in BACKENDS.items()}
    found: About = look_up("backend", name, known)
    return found


def chosen_model(config: Config, environ: Mapping[str, str] = os.environ) -> ModelChoice:
    """By `replay.backend`. There is no default: what answers decides what the figures mean."""
    both = parts(config)
    doors = [look_up("backend", part.backend, BACKENDS) for part in both]
    simulated = {part.backend in SIMULATIONS for part in both}
    if len(simulated) > 1:
        raise UsageError("the simulation plays both roles or none", "name one backend, or two real ones")

    going = destinations(config, environ)
    refuse_unasked(going, config.replay.send)
    by_model = mines(config, going[1], simulated=simulated == {True})

    def opened(private: Private, redact: Redactor, prompts: Prompts, notify: Listener) -> ModelDoor:
        purse = None if simulated == {True} else spending.opened(config.budget, private, now=datetime.now(UTC))

        def door(tasks: Sequence[Task], needs: Mapping[str, str]) -> Models:
            told = [asked_of(part, config, environ, private, redact, prompts, tasks, needs) for part in both]
            asked = [replace(item, notify=notify) for item in told]
            tape = cassette.blank(config.replay) if any(part.taped for part in both) else None

            def through(at: int) -> Opened:
                paid = limited(doors[at](asked[at]), both[at], config, purse, environ)
                return cassette.recorded(paid, tape, asked[at]) if tape and both[at].taped else paid

            target = through(0)
            # A tape may hold another model for each role.
            same = replace(both[1], role="target") == both[0] and both[0].backend != "cassette"
            optimizer = target if same else through(1)
            jobs = config.replay.jobs
            return models(
                target, optimizer, tasks, private, redact, jobs=jobs, prompts=prompts, purse=purse, notify=notify
            )

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
    """To whom the requests of target and optimizer go."""

    def of(part: Part) -> Destination:
        return destination(
            part.role,
            about(part.backend),
            model=part.model,
            base_url=part.base_url,
            environ=environ,
            hosts=config.replay.hosts,
        )

    target, optimizer = parts(config)
    return of(target), of(optimizer)


def limited(
    opened: Opened, part: Part, config: Config, purse: Purse | None, environ: Mapping[str, str] = os.environ
) -> Opened:
    """With each call paid from the purse. Raises `UsageError` where a limit in dollars could not be kept."""
    if purse is None or opened.free:
        return opened
    asked, rates = opened.backend, rates_of(part, environ)
    refuse_unpriced(config.budget, asked.name, asked.model, rates)
    paid = Budgeted(
        inner=asked,
        purse=purse,
        rates=rates,
        together=opened.together,
        attempts=1 + config.replay.retries,
        again=config.replay.retries if opened.once else 0,
        beyond=Beyond(received=opened.beyond),
    )
    return replace(opened, backend=paid)


def rates_of(part: Part, environ: Mapping[str, str] = os.environ) -> prices.Rates:
    known = about(part.backend)
    return prices.rates(part.backend, part.base_url or (environ.get(known.address, "") if known.address else ""))


def refuse_unpriced(budget: Budget, backend: str, model: str, rates: prices.Rates) -> None:
    """A limit in dollars that nobody can keep is no limit: said before anything is spent."""
    names = [name for name, most in (("usd", budget.usd), ("week_usd", budget.week_usd)) if most]
    if names and rates.at_most(Usage(1, 1), model) is None:
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
    purse: Purse | None = None,
    notify: Listener = lambda _: None,
) -> Models:
    """Both roles, remembered and with so many calls at once, with the judge that these tasks need."""
    remembered = partial(Cached, folder=private.cache, templates=prompts.digest, redact=redact, aside=private.aside)

    def leave() -> None:
        if purse is not None:
            purse.close()
        programs.end()

    def asked(opened: Opened) -> Backend:
        kept = remembered(inner=opened.backend)
        if opened.together or opened.backend.simulated:
            return kept
        return Pooled(inner=kept, jobs=jobs, leave=leave, notify=notify)

    answering = asked(target)
    reflecting = answering if optimizer is target else asked(optimizer)

    def settle() -> None:
        for opened in (target,) if optimizer is target else (target, optimizer):
            opened.settle()

    made = judged(answering, reflecting, tasks, skipped=target.skipped, prompts=prompts)
    free = target.free and optimizer.free
    notes = tuple(dict.fromkeys(opened.note for opened in (target, optimizer) if opened.note))
    return replace(made, settle=settle, purse=None if free else purse, notes=notes)  # what nobody counts is not 0


def judged(
    target: Backend, optimizer: Backend, tasks: Sequence[Task], *, skipped: Mapping[str, str], prompts: Prompts
) -> Models:
    """Both roles, with the judge that these tasks need."""
    question = partial(judge_question, prompts=prompts)
    judge = TaskJudge(rubric=RubricJudge(optimizer=optimizer, prompt=question)).used_for(tasks)
    return Models(target=target, optimizer=optimizer, judge=judge, skipped=skipped, prompts=prompts)
