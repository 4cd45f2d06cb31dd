"""A backend that spends from a purse: a call for which there is no room is not made, and says which limit it met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from skillopt_git.ports import Backend, CallFailed, FailureKind, Reply, Request, Usage
from skillopt_git.prices import Rates
from skillopt_git.purse import Amount, Purse, most_input

# Failures behind which a model may have worked. Nobody says what such a call took: all that was reserved counts.
WORKED: frozenset[FailureKind] = frozenset({"truncated", "empty", "refused", "schema", "timeout"})


@dataclass(slots=True)
class Beyond:
    """The most tokens by which a call went beyond what its request tells, such as the own prompt of a program: every
    later one is expected to."""

    sent: int = 0
    received: int = 0

    def learn(self, request: Request, found: Usage) -> None:
        """Threads may lose an update to each other; the next call tells the same again."""
        self.sent = max(self.sent, found.input_tokens - most_input(request))
        self.received = max(self.received, found.output_tokens - request.max_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgeted:
    """`together`: the inner backend wants what is asked at once in one call; else each request is reserved, asked and
    settled before the next. `batch`: replays are sent at the price of a batch."""

    inner: Backend
    purse: Purse
    rates: Rates
    together: bool = False
    batch: bool = False
    beyond: Beyond = field(default_factory=Beyond)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def deterministic(self) -> bool:
        return self.inner.deterministic

    @property
    def simulated(self) -> bool:
        return self.inner.simulated

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        return self.inner.settings

    @property
    def knows(self) -> str:
        return self.inner.knows

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        results: list[Reply | CallFailed] = []
        while len(results) < len(requests):
            left = requests[len(results) :]
            wanted = [_amount(self._expected(request)) for request in (left if self.together else left[:1])]
            taken = self.purse.take(wanted)
            if isinstance(taken, str):
                return [*results, *(CallFailed("budget", taken) for _ in left)]
            results += self._asked(left[:taken], wanted[:taken])
        return results

    def _expected(self, request: Request) -> Usage:
        """The most that a call can take. What is sent is priced as if all of it were put into a prompt cache."""
        sent = most_input(request) + self.beyond.sent
        most = Usage(sent, request.max_tokens + self.beyond.received, written_tokens=sent)
        return replace(most, cost_usd=self._cost(request, most, self.model))

    def _asked(self, requests: Sequence[Request], reserved: Sequence[Amount]) -> list[Reply | CallFailed]:
        try:
            answers = self.inner.complete(requests)
        except BaseException:  # whatever ended the run: what is not known to be spent is given back
            self.purse.settle(reserved, ())
            raise
        priced = [self._priced(request, answer) for request, answer in zip(requests, answers, strict=True)]
        answered = [
            (request, answer.usage)
            for request, answer in zip(requests, priced, strict=True)
            if isinstance(answer, Reply)
        ]
        for request, usage in answered:
            self.beyond.learn(request, usage)
        spent = [_spent(answer, amount) for answer, amount in zip(priced, reserved, strict=True)]
        self.purse.settle(reserved, spent, [usage for _, usage in answered])
        return priced

    def _priced(self, request: Request, answer: Reply | CallFailed) -> Reply | CallFailed:
        """With what it cost, by the model that really answered where the table knows that one."""
        if isinstance(answer, CallFailed):
            return answer
        usage = answer.usage
        known = (self._cost(request, usage, model) for model in (answer.model, self.model))
        cost = next((cost for cost in known if cost is not None), None) if _told(usage) else usage.cost_usd
        return replace(answer, usage=replace(usage, cost_usd=cost))

    def _cost(self, request: Request, usage: Usage, model: str) -> float | None:
        return self.rates.cost(usage, model, batch=self.batch and request.purpose == "rollout")


def _told(usage: Usage) -> bool:
    return usage.input_tokens + usage.output_tokens > 0


def _amount(usage: Usage) -> Amount:
    return Amount(usage.input_tokens + usage.output_tokens, usage.cost_usd or 0.0)


def _spent(answer: Reply | CallFailed, reserved: Amount) -> Amount:
    if isinstance(answer, CallFailed):
        return reserved if answer.kind in WORKED else Amount()
    if _told(answer.usage):
        return _amount(answer.usage)
    return Amount(reserved.tokens, reserved.usd if answer.usage.cost_usd is None else answer.usage.cost_usd)
