"""What calls cost, by the price table of the library genai-prices: it comes with the package, and nothing is asked of
a server. A price that is not in it is unknown, never 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache

from skillopt_git.ports import Usage

# By backend: whom it pays where no address says otherwise.
PROVIDERS = {
    "anthropic": "anthropic",
    "azure_openai": "azure",
    "claude": "anthropic",
    "openai": "openai",
}
TELLING = frozenset({"claude"})  # backends that say themselves what a call cost, whatever their model is called
BATCH_SHARE = 0.5  # of the price, of what is sent as a Message Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """By whose prices calls are counted: the server's at `address`, else the provider's; with neither nothing is
    known, and so it is of a server on this machine. `told`: the backend says itself what a call cost, afterwards."""

    provider: str = ""
    address: str = ""
    told: bool = False

    def at_most(self, usage: Usage, model: str) -> float | None:
        """Before a call. Where the backend tells later what a model cost that is in no table, by an alias, say, it is
        taken for the dearest of that name."""
        found = self.cost(usage, model)
        if found is not None or not self.told:
            return found
        own = Rates(provider=_OWNER)
        return max((own.cost(usage, alike) or 0.0 for alike in _alike(model)), default=None)

    def cost(self, usage: Usage, model: str) -> float | None:
        """In dollars; None where the table does not know. What a backend says itself counts before it."""
        if usage.cost_usd is not None:
            return usage.cost_usd
        if not (self.provider or self.address) or not model:
            return None
        from genai_prices import Usage as Priced  # its table takes half a second, and most verbs need no price
        from genai_prices import calc_price

        try:
            used = Priced(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cached_tokens,
                cache_write_tokens=usage.written_tokens,
            )
            if self.address:
                found = calc_price(used, model, provider_api_url=self.address)
            else:
                found = calc_price(used, model, provider_id=self.provider)
        except (LookupError, ValueError):  # not in the table; or no usage, as where more was cached than was sent
            return None
        return float(found.total_price) * (BATCH_SHARE if usage.batched else 1)


def rates(backend: str, address: str = "") -> Rates:
    """Those of a backend; an address counts for more than the backend's name."""
    told = backend in TELLING
    return Rates(address=address, told=told) if address else Rates(provider=PROVIDERS.get(backend, ""), told=told)


_OWNER = "anthropic"  # whose models those backends ask


@cache
def _alike(name: str) -> tuple[str, ...]:
    """The models in the table whose id holds the first word of `name`, else all."""
    from genai_prices.data_snapshot import get_snapshot

    ids = [model.id for provider in get_snapshot().providers if provider.id == _OWNER for model in provider.models]
    word = re.match(r"[a-z]*", name.casefold())
    return tuple(known for known in ids if word and word[0] in known) or tuple(ids)


def table() -> str:
    """Which table it is. What it holds is the same on any day."""
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"


def source(today: date | None = None) -> str:
    """Which table it is, and how new: the day from which its newest price in force holds."""
    from genai_prices.data_snapshot import get_snapshot
    from genai_prices.types import StartDateConstraint

    until = today or datetime.now(UTC).date()
    models = (model for provider in get_snapshot().providers for model in provider.models)
    begun = (
        item.constraint.start_date
        for model in models
        for item in (model.prices if isinstance(model.prices, list) else ())
        if isinstance(item.constraint, StartDateConstraint)
    )
    newest = max((day for day in begun if day <= until), default=None)
    return table() + (f", newest price of {newest}" if newest else "")
