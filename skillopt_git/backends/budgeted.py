"""A backend that spends from a purse: a call for which there is no room is not made, and says which limit it met."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from skillopt_git.around import Around
from skillopt_git.ports import NOTHING, Backend, CallFailed, FailureKind, Reply, Request, Usage
from skillopt_git.prices import Rates
from skillopt_git.purse import Amount, Purse, most_input

# Failures behind which a model may have worked. Where nobody says what such a call took, all that was reserved counts.
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
class Budgeted(Around):
    """`together`: the inner backend wants what is asked at once in one call; else each request is reserved, asked and
    settled before the next. A door makes so many `attempts` at most before a failure is told of; one that does not ask
    again by itself after a time-out is asked `again` from here, so that each attempt is reserved."""

    inner: Backend
    purse: Purse
    rates: Rates
    together: bool = False
    attempts: int = 1
    again: int = 0
    beyond: Beyond = field(default_factory=Beyond)

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        results: list[Reply | CallFailed] = []
        while len(results) < len(requests):
            left = requests[len(results) :]
            wanted = [_amount(self._expected(request)) for request in (left if self.together else left[:1])]
            taken = self.purse.take(wanted)
            if isinstance(taken, str):
                return [*results, *(CallFailed("budget", taken) for _ in left)]
            results += self._persistently(left[:taken], wanted[:taken])
        return results

    def _persistently(self, requests: Sequence[Request], reserved: Sequence[Amount]) -> list[Reply | CallFailed]:
        answers = self._asked(requests, reserved)
        for _ in range(self.again):
            if len(requests) > 1 or not _timed_out(answers[0]) or isinstance(self.purse.take(reserved), str):
                break
            answers = self._asked(requests, reserved)
        return answers

    def _expected(self, request: Request) -> Usage:
        """The most that a call can take. What is sent is priced as if all of it were put into a prompt cache."""
        sent = most_input(request) + self.beyond.sent
        most = Usage(sent, request.max_tokens + self.beyond.received, written_tokens=sent)
        return replace(most, cost_usd=self.rates.at_most(most, self.model))

    def _asked(self, requests: Sequence[Request], reserved: Sequence[Amount]) -> list[Reply | CallFailed]:
        """Whatever ends a call, what was reserved for it is settled, for others wait for the room. What nobody can tell
        counts in full; but what was sent together is found again by the run that goes on with it, and counts there."""
        spent: Sequence[Amount] = () if self.together else reserved
        told: list[Usage] = []
        try:
            answers = self.inner.complete(requests)
            spent = reserved
            priced = [self._priced(answer) for answer in answers]
            told = self._learned(requests, priced)
            spent = [self._spent(answer, amount) for answer, amount in zip(priced, reserved, strict=True)]
        finally:
            self.purse.settle(reserved, spent, told)
        return priced

    def _learned(self, requests: Sequence[Request], answers: Sequence[Reply | CallFailed]) -> list[Usage]:
        """What the calls say they used. How much a call may take is learned from those that were answered."""
        for request, answer in zip(requests, answers, strict=True):
            if isinstance(answer, Reply):
                self.beyond.learn(request, answer.usage)
        return [answer.usage for answer in answers if answer.usage is not None and not _unpaid(answer)]

    def _priced(self, answer: Reply | CallFailed) -> Reply | CallFailed:
        """With what it cost, by the model that really answered where the table knows that one."""
        if answer.usage is None or _unpaid(answer):
            return answer
        usage = answer.usage if _possible(answer.usage) else Usage()
        models = (answer.model, self.model) if isinstance(answer, Reply) else (self.model,)
        known = (self.rates.cost(usage, model) for model in models)
        cost = next((cost for cost in known if cost is not None), None) if _told(usage) else usage.cost_usd
        return replace(answer, usage=replace(usage, cost_usd=cost))

    def _spent(self, answer: Reply | CallFailed, reserved: Amount) -> Amount:
        """Of attempts that were not waited for, or lost half-way, nobody says what they took, nor of a call that was
        ended with its run. A price that is unknown afterwards is the one that was known before."""
        usage = answer.usage
        if _unpaid(answer):
            return Amount()
        if isinstance(answer, CallFailed) and self.purse.closed:
            return reserved
        if isinstance(answer, CallFailed) and (_timed_out(answer) or (answer.kind, usage) == _TORN):
            times = 1 if self.again and _timed_out(answer) else self.attempts
            return sum([reserved] * times, Amount())
        if usage is None:
            return reserved if isinstance(answer, CallFailed) and answer.kind in WORKED else Amount()
        tokens = usage.input_tokens + usage.output_tokens if _told(usage) else reserved.tokens
        return Amount(tokens, reserved.usd if usage.cost_usd is None else usage.cost_usd)


def _told(usage: Usage) -> bool:
    return usage.input_tokens + usage.output_tokens > 0


def _unpaid(answer: Reply | CallFailed) -> bool:
    """Whether it is known that no model worked. For an answer one did, whatever is told of it."""
    return isinstance(answer, CallFailed) and answer.usage == NOTHING


def _timed_out(answer: Reply | CallFailed) -> bool:
    return isinstance(answer, CallFailed) and answer.kind == "timeout" and not _unpaid(answer)


_TORN = ("network", Usage())  # half an answer came
_MOST = 10**9  # tokens or dollars, of one call


def _possible(usage: Usage) -> bool:
    """Whether it can be true. A figure below nothing, or none at all, would give back what others spent; one beyond all
    that is sold would leave nothing for a week."""
    tokens = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.written_tokens)
    cost = 0.0 if usage.cost_usd is None else usage.cost_usd
    return min(tokens) >= 0 and max(tokens) <= _MOST and math.isfinite(cost) and 0 <= cost <= _MOST


def _amount(usage: Usage) -> Amount:
    return Amount(usage.input_tokens + usage.output_tokens, usage.cost_usd or 0.0)
