"""A night in which no model is asked: the simulation stands in, and what a model would have heard is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillopt_git import roles
from skillopt_git.around import Around
from skillopt_git.config import Config
from skillopt_git.cycle import ModelDoor
from skillopt_git.doors import Opened, Spoken, schema_of, spoken
from skillopt_git.egress import Destination
from skillopt_git.learned import Models
from skillopt_git.model import Task
from skillopt_git.ports import Backend, CallFailed, Listener, Reply, Request, Role
from skillopt_git.private import Private
from skillopt_git.prompts import SHIPPED, Prompts
from skillopt_git.redact import Redactor
from skillopt_git.wiring import look_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One request, as it would go out, and how often. `tools` and `schema` go along where the backend takes them."""

    to: Destination
    purpose: str
    said: Spoken
    times: int
    tools: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None


@dataclass(slots=True)
class Rehearsal:
    """What would be sent by a run of these settings: `choice` opens the run, `sent` tells of it when it is over.

    Only how often a model would be asked depends on the simulation's answers, and what it would be told about its own.
    """

    config: Config
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    asked: dict[Request, set[str]] = field(default_factory=dict)  # with every sample that it was asked for
    prompts: Prompts = SHIPPED

    @property
    def to(self) -> Mapping[Role, Destination]:
        return {item.role: item for item in roles.destinations(self.config, self.environ)}

    @property
    def choice(self) -> roles.ModelChoice:
        """Like a real run's, so that it reads and leaves out what that would."""
        away = any(not item.here for item in self.to.values())
        reviewed = away and self.config.replay.send == "reviewed"
        simulated = roles.parts(self.config)[0].backend == "mock"
        by_model = roles.mines(self.config, self.to["optimizer"], simulated=simulated)
        return roles.ModelChoice(simulated=False, open=self._opened, only_reviewed=reviewed, by_model=by_model)

    def _opened(self, private: Private, redact: Redactor, prompts: Prompts, _: Listener) -> ModelDoor:
        self.prompts = prompts

        def door(tasks: Sequence[Task], needs: Mapping[str, str]) -> Models:
            part = replace(roles.parts(self.config)[0], backend="mock", model="")
            asked = roles.asked_of(part, self.config, self.environ, private, redact, prompts, tasks, needs)
            acted: Opened = look_up("backend", "mock", roles.BACKENDS)(asked)
            simulated = roles.parts(self.config)[0].backend in roles.SIMULATIONS
            listening = _Listening(acted.backend, self.asked, simulated and acted.backend.deterministic)
            return roles.judged(listening, listening, tasks, skipped=acted.skipped, prompts=prompts)

        return door

    @property
    def sent(self) -> tuple[Sent, ...]:
        return tuple(
            Sent(
                to=self.to[request.role],
                purpose=request.purpose,
                said=spoken(request, self.prompts),
                times=len(samples),
                tools=request.tools,
                schema=schema_of(request),
            )
            for request, samples in self.asked.items()
        )


@dataclass(frozen=True, slots=True)
class _Listening(Around):
    """A backend that keeps what it is asked: each sample once, for a run remembers its answer. To whoever asks it is
    no simulation, for a real run asks whether its models are there, and as little `deterministic` as a model: then each
    task is asked many times."""

    inner: Backend
    asked: dict[Request, set[str]]
    deterministic: bool
    simulated: bool = False

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        for request in requests:
            self.asked.setdefault(replace(request, sample=""), set()).add(request.sample)
        return self.inner.complete(requests)
