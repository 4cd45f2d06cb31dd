"""Records every night anew, and prints what they came to: `python -m tests.tiny`."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.tiny.families import CASES
from tests.tiny.model import served
from tests.tiny.nights import RECORDINGS, figures, night
from tests.tiny.table import table


def main(names: list[str]) -> None:
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    found = {}
    with served() as url:
        for name in names or CASES:
            with TemporaryDirectory() as folder:
                ran = night(CASES[name], Path(folder), RECORDINGS / f"{name}.jsonl", url=url)
            found[name] = figures(CASES[name], ran)
            print(name, found[name], *ran.view.notes, sep="\n  ", flush=True)
    print(table(found))


if __name__ == "__main__":
    main(sys.argv[1:])
