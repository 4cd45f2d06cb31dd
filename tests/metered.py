"""A scripted model behind a backend's door, whose calls have a size and, by its model's name, a price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from skillopt_git.backends.scripted import Scripted
from skillopt_git.doors import About, Asked, Opened
from skillopt_git.ports import CallFailed, Reply, Request, Usage
from tests.nights import obedient

MODEL = "claude-haiku-4-5"  # of which the price table knows a price
EACH = Usage(input_tokens=600, output_tokens=100)
ABOUT = About(
    name="metered",
    title="A scripted model",
    documents="in the request",
    setup="none",
    leaves="nothing",
    cost="what the test says",
    limits="none",
    model=MODEL,
)
DOOR = "tests.metered:door"
asked: list[Request] = []
varies = [True]
script: list[Callable[[Request], Reply | CallFailed]] = []


def door(_: Asked) -> Opened:
    backend = Scripted(script=_answer, model=MODEL, deterministic=not varies[0], asked=asked)
    return Opened(backend=replace(backend, health=Reply(text="OK", usage=EACH)))


def _answer(request: Request) -> Reply | CallFailed:
    answer = (script[-1] if script else obedient)(request)
    return replace(answer, usage=EACH) if isinstance(answer, Reply) and answer.usage == Usage() else answer


def forget() -> None:
    asked.clear()
    script.clear()
    varies[0] = True
