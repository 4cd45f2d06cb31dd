"""How well and how fast mining reads the labelled dialogues.

Precision and recall are those of `tests.mining`, of each set and of all by language; the time is that of the known set,
against one pass of `str.lower` over the same texts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from skillopt_git.languages import reader
from skillopt_git.mine import mine
from tests.mining import ABOUT, HEAD, SETS, Scores, measure, names, repositories, row, sessions, totals


def seconds(work: Callable[[], object]) -> float:
    """The best of three."""
    return min(_once(work) for _ in range(3))


def _once(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def by_language(scores: Scores) -> None:
    for about in ABOUT:
        print(f"\n{about}\n{HEAD}")
        for language in sorted({item.language for item in scores.findings}):
            print(row(language, scores.counts(about, language)))


def speed() -> None:
    months = [(sessions(item), names(item)) for item in repositories("known")]
    texts = [turn.text for month, _ in months for session in month for turn in session.turns]
    known = reader()
    plain = seconds(lambda: [text.lower() for text in texts])
    mined = seconds(lambda: [mine(month, needs={}, reader=known, people=people) for month, people in months])
    thousand = 1_000 / len(texts)
    print(f"\n1,000 turns: lower case {plain * thousand * 1e3:.2f} ms, mined {mined * thousand * 1e3:.0f} ms", end=" ")
    print(f"({mined / plain:.0f}x)")


def main() -> None:
    together = Scores()
    for name in SETS:
        scores = measure(name)
        together += scores
        print(f"{name}\n" + "\n".join(totals(scores)) + "\n")
    print("all sets, by language")
    by_language(together)
    speed()


if __name__ == "__main__":
    main()
