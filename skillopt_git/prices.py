"""What calls cost, by the price table of the library genai-prices: it comes with the package, and nothing is asked of
a server. A price that is not in it is unknown, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

from skillopt_git.ports import Usage

# By backend: whom it pays where no address says otherwise.
PROVIDERS = {
    "anthropic": "anthropic",
    "azure_openai": "azure",
    "claude": "anthropic",
    "openai": "openai",
}
BATCH_SHARE = 0.5  # of the price, of what is sent as a Message Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """By whose prices calls are counted: the server's at `address`, else the provider's; with neither nothing is
    known, and so it is of a server on this machine."""

    provider: str = ""
    address: str = ""

    def cost(self, usage: Usage, model: str, *, batch: bool = False) -> float | None:
        """In dollars; None where the table does not know. What a backend says itself counts before it."""
        if usage.cost_usd is not None:
            return usage.cost_usd
        if not (self.provider or self.address) or not model:
            return None
        from genai_prices import Usage as Priced  # its table takes half a second, and most verbs need no price
        from genai_prices import calc_price

        used = Priced(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cached_tokens,
            cache_write_tokens=usage.written_tokens,
        )
        try:
            if self.address:
                found = calc_price(used, model, provider_api_url=self.address)
            else:
                found = calc_price(used, model, provider_id=self.provider)
        except (LookupError, ValueError):  # not in the table; or more was cached than was sent, which is no usage
            return None
        return float(found.total_price) * (BATCH_SHARE if batch else 1)


def rates(backend: str, address: str = "") -> Rates:
    """Those of a backend; an address counts for more than the backend's name."""
    return Rates(address=address) if address else Rates(provider=PROVIDERS.get(backend, ""))


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
