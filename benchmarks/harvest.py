"""How fast sessions come in, and in how much memory: against `json.loads` on each line, and against `cat`.

    python -m benchmarks.harvest [--full] [--megabytes N] [--files N]

Over made-up homes of three agents (`_corpus.py`): 300 MB in 400 files, or with `--full` 2 GB in 20,000. Each line of
the table is a process of its own, so that its peak memory is its own. A harvest reads the newest sessions that a run
would, and of older ones looks at the end; what reading all of them would take is told, too. The second harvest finds
nothing changed and opens no transcript; it is told against a bare walk that asks for each file's size and time.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._corpus import make
from skillopt_git.harvest import Harvest, harvest
from skillopt_git.index import Index
from skillopt_git.model import Session, Skipped
from skillopt_git.ports import SessionSource
from skillopt_git.redact import Redactor
from skillopt_git.scope import Scope
from skillopt_git.sources.claude import ClaudeSource
from skillopt_git.sources.codex import CodexSource
from skillopt_git.sources.copilot_cli import CopilotCliSource
from skillopt_git.transcripts import Transcript
from skillopt_git.window import Window

SESSIONS = 120  # read in one run, unless told otherwise
ROUNDS = 3  # the best counts


def files(home: Path) -> list[str]:
    return [os.path.join(folder, name) for folder, _, names in os.walk(home / "homes") for name in names]


def walk(home: Path) -> int:
    """What any tool has to do that wants to know what changed."""
    return sum(os.stat(path).st_size for path in files(home))


def cat(home: Path) -> int:
    done, buffer = 0, bytearray(1 << 20)
    for path in files(home):
        with open(path, "rb", buffering=0) as file:
            while read := file.readinto(buffer):
                done += read
    return done


def json_loads(home: Path) -> int:
    done = 0
    for path in files(home):
        with open(path, "rb") as file:
            for line in file:
                json.loads(line)
                done += 1
    return done


def every(home: Path) -> int:
    """What a harvest spends on reading: every line of every session, and no redaction."""
    gc.disable()  # as a harvest does
    return sum(isinstance(item, Session) for source in _sources(home) for item in _everything(source))


def _everything(source: SessionSource) -> Iterator[Session | Skipped]:
    for item in source.transcripts():
        if isinstance(item, Transcript):
            yield from source.read(item)


def first(home: Path) -> int:
    """A harvest that knows nothing yet."""
    for kept in (home / "index").glob("*"):
        kept.unlink()
    return len(_harvest(home).sessions)


def second(home: Path) -> int:
    """The harvest after it."""
    return len(_harvest(home).sessions)


def _sources(home: Path) -> tuple[SessionSource, ...]:
    homes = home / "homes"
    return ClaudeSource(homes / ".claude"), CodexSource(homes / ".codex"), CopilotCliSource(homes / ".copilot")


def _harvest(home: Path) -> Harvest:
    return harvest(
        _sources(home),
        scope=Scope(roots=None),
        window=lambda source: Window(),
        now=datetime.now(UTC),
        redact=Redactor(b"0" * 32),
        headless="keep",
        limit=SESSIONS,
        index=Index(home / "index", "benchmark", Path.unlink),
        notify=lambda event: None,
    )


MEASURES: dict[str, Callable[[Path], int]] = {
    item.__name__: item for item in (walk, cat, json_loads, every, first, second)
}


def measure(name: str, home: Path) -> None:
    """In the child: the best time of some rounds, and the peak memory."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        MEASURES[name](home)
        best = min(best, time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (20 if sys.platform == "darwin" else 10))
    print(json.dumps({"seconds": best, "peak": peak}))


def measured(name: str, home: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.harvest", "--measure", name, str(home)]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def table(home: Path) -> None:
    size = walk(home) / 1e6
    print(f"{size:,.0f} MB in {len(files(home)):,} files; the newest {SESSIONS} sessions are read\n")
    found = {name: measured(name, home) for name in MEASURES}
    base, walked = found["json_loads"]["seconds"], found["walk"]["seconds"]
    print("                      seconds     MB/s   of json.loads   of the walk   peak MB")
    for name, label in (
        ("walk", "walk with stat"),
        ("cat", "cat"),
        ("json_loads", "json.loads a line"),
        ("every", "all sessions read"),
        ("first", "harvest"),
        ("second", "harvest again"),
    ):
        took = found[name]["seconds"]
        read = (
            f"{size / took:8,.0f} {base / took:12.1f}x" if name in ("cat", "json_loads", "every", "first") else " " * 22
        )
        print(f"{label:18} {took:10.3f} {read} {took / walked:12.1f}x {found[name]['peak']:9.0f}")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--full", action="store_true", help="2 GB in 20,000 files")
    options.add_argument("--megabytes", type=int)
    options.add_argument("--files", type=int)
    options.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.measure:
        measure(given.measure[0], Path(given.measure[1]))
        return
    megabytes = given.megabytes or (2000 if given.full else 300)
    with TemporaryDirectory(prefix="skillopt-benchmark-") as folder:
        make(Path(folder, "homes"), size=megabytes * 1_000_000, files=given.files or (20_000 if given.full else 400))
        table(Path(folder))


if __name__ == "__main__":
    main()
