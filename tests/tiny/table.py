"""The figures of recorded nights, as docs/evidence.md has them."""

from __future__ import annotations

from collections.abc import Mapping

from tests.tiny.families import CASES
from tests.tiny.nights import Figures

HEAD = "| night | proposed | without it | with it | guard without, with | verdict |\n|---|---|---|---|---|---|"


def table(found: Mapping[str, Figures]) -> str:
    return "\n".join([HEAD, *(_row(name, item) for name, item in found.items())])


def _row(name: str, item: Figures) -> str:
    without, with_ = (f"{passed} of {of}" for passed, of in zip(item.passed, item.of, strict=True))
    guard = (
        f"{item.guard_passed[0]} of {item.guard_of[0]}, {item.guard_passed[1]} of {item.guard_of[1]}"
        if item.guard_of[0]
        else "not looked at"
    )
    return f"| {name} | {CASES[name].proposed.replace('<', '&lt;')} | {without} | {with_} | {guard} | {item.verdict} |"
