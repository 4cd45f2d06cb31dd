"""What redaction costs: MB/s over many short texts and over a long one, against one pass of a plain pattern.

The texts are code and prose of the standard library, as the turns of a session are.
"""

from __future__ import annotations

import re
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from skillopt_git.redact import Redactor, Scanner

LENGTH = 1_000_000  # characters
TURN = 500  # characters of a usual turn
PLAIN = re.compile(r"[0-9]{9}")


def library() -> str:
    folder = Path(sysconfig.get_paths()["stdlib"])
    return "".join(path.read_text("utf-8") for path in sorted(folder.glob("*.py")))[:LENGTH]


def plain(text: str) -> str:
    return PLAIN.sub("", text)


def speed(work: Callable[[str], str], texts: Sequence[str]) -> float:
    """MB/s, the best of three."""
    return max(sum(map(len, texts)) / 1e6 / seconds(work, texts) for _ in range(3))


def seconds(work: Callable[[str], str], texts: Sequence[str]) -> float:
    began = time.perf_counter()
    for text in texts:
        work(text)
    return time.perf_counter() - began


def main() -> None:
    text = library()
    turns = [text[at : at + TURN] for at in range(0, len(text), TURN)]
    redact = Redactor(b"a key")
    denying = Redactor(b"a key", Scanner(("Globex", "Acme Corp", "Initech")))
    ways: dict[str, Callable[[str], str]] = {
        "names": redact,
        "texts": redact.text,
        "texts, 3 denied words": denying.text,
    }
    print(f"                        {len(turns)} turns            one text")
    base = [speed(plain, turns), speed(plain, [text])]
    print(f"one re.sub pass         {base[0]:6.1f} MB/s            {base[1]:6.1f} MB/s")
    for name, work in ways.items():
        found = [speed(work, turns), speed(work, [text])]
        slower = [one / other for one, other in zip(base, found, strict=True)]
        print(f"{name:22}  {found[0]:6.1f} MB/s {slower[0]:6.1f}x    {found[1]:6.1f} MB/s {slower[1]:6.1f}x")


if __name__ == "__main__":
    main()
