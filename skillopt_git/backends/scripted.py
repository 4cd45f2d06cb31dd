"""A backend whose answers are given beforehand, for tests. An unexpected question fails the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from skillopt_git.ports import CallFailed, Reply, Request

Script = Callable[[Request], Reply | CallFailed | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """`script` answers a request, or returns None for one it does not expect. `asked` keeps every request, in order."""

    script: Script
    name: str = "scripted"
    model: str = "scripted"
    deterministic: bool = True
    simulated: bool = False
    settings: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    knows: str = ""
    asked: list[Request] = field(default_factory=list)
    health: Reply | CallFailed = Reply(text="OK")  # what a probe hears, which is no part of the script

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Reply | CallFailed:
        if request.purpose == "probe":
            return self.health
        self.asked.append(request)
        answer = self.script(request)
        if answer is None:
            raise AssertionError(f"the script does not expect: {request}")
        return answer
