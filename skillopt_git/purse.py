"""What a run may still spend on models, and what it did spend.

Before a call the most that it can take is reserved, after it what it took is counted: so however many are under way at
once, together they stay within every limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Condition
from time import monotonic

from skillopt_git.config import Budget
from skillopt_git.model import RECORD, RECORD_VERSION
from skillopt_git.ports import Request, Usage

BYTES_A_TOKEN = 2  # at least, in what is sent: usual texts have about four
WORDING = 400  # tokens around what a request holds: the words of the prompt


@dataclass(frozen=True, slots=True)
class Amount:
    """Dollars are 0 where no price is known: then there is no limit in dollars."""

    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.usd + other.usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a run spent, or several; `began` is the beginning of the first."""

    __pydantic_config__ = RECORD
    v: int = RECORD_VERSION
    began: datetime | None = None
    tokens: int = 0
    usd: float = 0.0
    minutes: float = 0.0


@dataclass(frozen=True, slots=True)
class Used:
    """The calls of a run that were answered, or told what they used all the same. A sum is None as soon as one of them
    did not tell its part."""

    calls: int = 0
    tokens: int | None = 0
    usd: float | None = 0.0

    def plus(self, usage: Usage) -> Used:
        tokens, usd = usage.input_tokens + usage.output_tokens, usage.cost_usd
        return Used(
            self.calls + 1,
            None if self.tokens is None or tokens == 0 else self.tokens + tokens,
            None if self.usd is None or usd is None else round(self.usd + usd, 9),
        )


def most_input(request: Request) -> int:
    """No fewer tokens than are sent with a request, as far as its texts tell."""
    return WORDING + size(request) // BYTES_A_TOKEN


def size(request: Request) -> int:
    """The bytes of all its texts."""
    texts = (request.ask, request.context, request.schema, *request.tools, *(text for _, text in request.documents))
    return sum(len(text.encode(errors="replace")) for text in texts)


@dataclass(slots=True)
class Purse:
    """One for a run: both roles and all threads take from it. `before` is what other runs of the last seven days spent;
    `keep` hears what this one has so far, after each call. The minutes are those since the purse was made."""

    budget: Budget
    before: Spent = Spent()
    clock: Callable[[], float] = monotonic
    keep: Callable[[Spent], None] = lambda _: None
    spent: Amount = Amount()
    used: Used = Used()
    closed: bool = False
    _under_way: list[Amount] = field(default_factory=list)
    _settled: Condition = field(default_factory=Condition)
    _start: float = 0.0

    def __post_init__(self) -> None:
        self._start = self.clock()

    def take(self, wanted: Sequence[Amount]) -> int | str:
        """Reserves the first of these, as many as there is room for, and says how many; or which limit has no room for
        even one. Room that calls under way may leave is waited for."""
        with self._settled:
            while True:
                why = "the run was broken off" if self.closed else self._lacking(self.spent, wanted[0])
                if why is not None:
                    return why
                taken = self._fitting(wanted)
                if taken:
                    self._under_way += wanted[:taken]
                    return taken
                self._settled.wait()

    def settle(self, reserved: Sequence[Amount], spent: Sequence[Amount], told: Sequence[Usage] = ()) -> None:
        """What was reserved is given back, what was spent is not; `told`: the usage of the calls that tell it."""
        with self._settled:
            for amount in reserved:
                self._under_way.remove(amount)
            self.spent = sum(spent, self.spent)
            for usage in told:
                self.used = self.used.plus(usage)
            self._settled.notify_all()
            if self.closed or any(amount != Amount() for amount in spent):
                self._keep()

    def close(self) -> None:
        """Nothing more is taken. What is under way counts as spent, until somebody tells: nobody waits for it."""
        with self._settled:
            if not self.closed:
                self.closed = True
                self._settled.notify_all()
                if self._under_way:
                    self._keep()

    def _keep(self) -> None:
        gone = sum(self._under_way if self.closed else (), self.spent)
        self.keep(Spent(tokens=gone.tokens, usd=gone.usd, minutes=self.minutes))

    @property
    def minutes(self) -> float:
        return (self.clock() - self._start) / 60

    def _fitting(self, wanted: Sequence[Amount]) -> int:
        gone, taken = sum(self._under_way, self.spent), 0
        for amount in wanted:
            if self._lacking(gone, amount) is not None:
                break
            gone, taken = gone + amount, taken + 1
        return taken

    def _lacking(self, gone: Amount, wanted: Amount) -> str | None:
        """The first limit without room for so much more."""
        return next((why for limit, why in self._limits(gone, wanted) if limit), None)

    def _limits(self, gone: Amount, wanted: Amount) -> Iterator[tuple[bool, str]]:
        budget, before, minutes = self.budget, self.before, self.minutes
        for name, most, tokens in (
            ("tokens", budget.tokens, gone.tokens),
            ("week_tokens", budget.week_tokens, gone.tokens + before.tokens),
        ):
            told = f"budget.{name} is {most:,}: {tokens:,} are spent, and a call more may take {wanted.tokens:,}"
            yield bool(most) and tokens + wanted.tokens > most, told
        for name, dollars, usd in (
            ("usd", budget.usd, gone.usd),
            ("week_usd", budget.week_usd, gone.usd + before.usd),
        ):
            told = f"budget.{name} is {dollars:g}: {usd:.4f} are spent, and a call more may cost {wanted.usd:.4f}"
            yield bool(dollars) and usd + wanted.usd > dollars, told
        for name, time, passed in (
            ("minutes", budget.minutes, minutes),
            ("week_minutes", budget.week_minutes, minutes + before.minutes),
        ):
            yield bool(time) and passed >= time, f"budget.{name} is {time:g}: they are over"
