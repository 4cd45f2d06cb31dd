"""What `skillopt-git --version` costs above a Typer app that does nothing: at most 30 ms is the aim.

Both are started in turns, so that a busy machine slows down both alike.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROUNDS = 20
AIM_MS = 30
EMPTY = """\
import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def main(version: bool = False) -> None:
    print("empty 0")


app()
"""


def milliseconds(*command: str, cwd: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], cwd=cwd, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.py"
        empty.write_text(EMPTY)
        rounds = [
            (
                milliseconds(str(empty), "--version", cwd=folder),
                milliseconds("-m", "skillopt_git", "--version", cwd=folder),
            )
            for _ in range(ROUNDS + 1)
        ][1:]  # the first round compiles and fills the caches
    base, ours = (median(times) for times in zip(*rounds, strict=True))
    extra = median(our - their for their, our in rounds)
    print(f"an empty Typer app {base:.0f} ms, skillopt-git --version {ours:.0f} ms (medians of {ROUNDS})")
    print(f"difference {extra:+.0f} ms, {ours / base:.2f} times; the aim is at most +{AIM_MS} ms")


if __name__ == "__main__":
    main()
