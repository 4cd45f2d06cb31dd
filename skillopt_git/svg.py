"""Charts as SVG, to stand within an HTML page, whose style gives them their colours. Numbers in, text out.

What is without the rule is a ring, what is with it a dot, and every figure is there in words too: colour tells nothing
alone, and a reader that sees no picture misses none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from skillopt_git.charts import NOT_MEASURED, Chart, Point

WIDTH = 400
LEGEND = 30  # how high the legend is
ROW = 22
FROM, TO = 84.0, 284.0  # of the tasks, between their labels and their figures
FIRST, LAST = 58.0, 384.0  # of the nights
HIGH, LOW = 38.0, 178.0
FEET = 24  # room for the labels below
FITTING = 8  # labels beside each other


@dataclass(frozen=True, slots=True)
class _Words:
    title: str
    base: str
    cand: str
    ticks: tuple[str, str, str]


_PERCENT = ("0 %", "50 %", "100 %")
_WORDS = {
    "tasks": _Words("Passes of each held-out task", "without the rule", "with it", _PERCENT),
    "nights": _Words("Passes in each night of the trial", "without the rule", "with it", _PERCENT),
    "scores": _Words("Held-out score by night", "as it was", "with what was accepted", ("0", "0.5", "1")),
}


def svg(chart: Chart, name: str) -> str:
    """`name` tells it apart from the others of its page."""
    words = _WORDS[chart.kind]
    high, drawn = _tasks(chart, words) if chart.kind == "tasks" else _nights(chart, words)
    ids = f"{name}-title", f"{name}-desc"
    frame = f'role="img" viewBox="0 0 {WIDTH} {_number(high)}" aria-labelledby="{escape(" ".join(ids))}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {frame}>',
        f'<title id="{escape(ids[0])}">{escape(words.title)}</title>',
        f'<desc id="{escape(ids[1])}">{escape(_told(chart, words))}</desc>',
        *_legend(words),
        *drawn,
        "</svg>",
    ]
    return "\n".join(lines)


def _told(chart: Chart, words: _Words) -> str:
    return "; ".join(
        f"{point.label}: {point.base_told} {words.base}, {point.cand_told} {words.cand}" for point in chart.points
    )


def _legend(words: _Words) -> Iterator[str]:
    yield _ring(8, 10)
    yield _text(20, 14, words.base)
    yield _dot(148, 10)
    yield _text(160, 14, words.cand)


# --- tasks -------------------------------------------------------------------------------------------------------


def _tasks(chart: Chart, words: _Words) -> tuple[float, Iterator[str]]:
    low = LEGEND + ROW * len(chart.points)
    return low + FEET, _task_parts(chart.points, words, low)


def _task_parts(points: Sequence[Point], words: _Words, low: float) -> Iterator[str]:
    for share, tick in zip((0.0, 0.5, 1.0), words.ticks, strict=True):
        yield _line("grid", (_along(share), LEGEND), (_along(share), low))
        yield _text(_along(share), low + 16, tick, "middle")
    for row, point in enumerate(points):
        yield from _task(point, LEGEND + ROW * (row + 0.5))


def _task(point: Point, middle: float) -> Iterator[str]:
    yield _text(0, middle + 4, point.label)
    if point.base is not None and point.cand is not None:
        yield _line("step", (_along(point.base), middle), (_along(point.cand), middle))
    if point.base is not None:
        yield _ring(_along(point.base), middle)
    if point.cand is not None:
        yield _dot(_along(point.cand), middle)
    yield _text(WIDTH, middle + 4, _figures(point), "end")


def _figures(point: Point) -> str:
    """`2/5 → 5/5 ▲`: better and worse are told by more than where the dots are."""
    if point.change is None:
        return NOT_MEASURED
    sign = "▲" if point.change > 0 else "▼" if point.change < 0 else "="
    return f"{point.base_told} → {point.cand_told} {sign}".replace(" of ", "/")


def _along(share: float) -> float:
    return FROM + (TO - FROM) * share


# --- nights ------------------------------------------------------------------------------------------------------


def _nights(chart: Chart, words: _Words) -> tuple[float, Iterator[str]]:
    return LOW + FEET, _night_parts(chart.points, words)


def _night_parts(points: Sequence[Point], words: _Words) -> Iterator[str]:
    for share, tick in zip((0.0, 0.5, 1.0), words.ticks, strict=True):
        yield _line("grid", (FIRST - 10, _up(share)), (LAST + 10, _up(share)))
        yield _text(FIRST - 14, _up(share) + 4, tick, "end")
    places = [FIRST + (LAST - FIRST) * number / max(len(points) - 1, 1) for number in range(len(points))]
    every = max(1, -(-len(points) // FITTING))
    for place, point in list(zip(places, points, strict=True))[::every]:
        yield _text(place, LOW + 20, point.label, "middle")
    yield from _course("base", places, [point.base for point in points])
    yield from _course("cand", places, [point.cand for point in points])


def _course(side: str, places: Sequence[float], shares: Sequence[float | None]) -> Iterator[str]:
    """Its points, and lines between those of nights that follow each other: none over a night without a figure."""
    at = [None if share is None else (place, _up(share)) for place, share in zip(places, shares, strict=True)]
    yield from (_line(side, one, other) for one, other in pairwise(at) if one is not None and other is not None)
    mark = _ring if side == "base" else _dot
    yield from (mark(*place) for place in at if place is not None)


def _up(share: float) -> float:
    return LOW - (LOW - HIGH) * share


# --- what everything is made of ----------------------------------------------------------------------------------


def _ring(x: float, y: float) -> str:
    return f'<circle class="base" cx="{_number(x)}" cy="{_number(y)}" r="5.5"/>'


def _dot(x: float, y: float) -> str:
    return f'<circle class="cand" cx="{_number(x)}" cy="{_number(y)}" r="3.5"/>'


def _line(kind: str, one: tuple[float, float], other: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = ((_number(x), _number(y)) for x, y in (one, other))
    return f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}">{escape(text)}</text>'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
