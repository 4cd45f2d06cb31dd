"""What replaying twelve tasks costs, beside SkillOpt-Sleep's own replay of the same tasks, where that is installed.

Both answer the tasks as the gate `evidence` has it done on a usual night: for each candidate, new ones and as many on
trial from earlier nights, pairs of rollouts under the base and under the candidate, which has one more rule in the
skill. The server is the same; it takes its time for each call, and counts. A token is four characters; what a call
shares with the beginning of an earlier one is cached, in blocks, from 1,024 tokens on, as with providers that cache by
themselves. SkillOpt-Sleep is compared as it comes, with one call at a time; with as many workers it is shown, too.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from skillopt_git.config import Config, Gate, Replay
from skillopt_git.learned import Models
from skillopt_git.model import Check, Task
from skillopt_git.private import Private
from skillopt_git.prompts import SHIPPED
from skillopt_git.redact import Redactor
from skillopt_git.replay import Round, replay
from skillopt_git.roles import chosen_model
from skillopt_git.weighing import FIRST_PAIRS

TASKS, LATENCY, JOBS = 12, 0.2, 16
PAIRS, CANDIDATES = Gate().rollouts, 2 * Gate().candidates
PER_TOKEN = 4  # characters
BLOCK, LEAST = 128 * PER_TOKEN, 1024 * PER_TOKEN  # characters of what is cached
ANSWER = "Done: pnpm add, then the tests."
FASTER, THRIFTIER = 10.0, 0.5  # what is to be reached

ASKS = [
    f"{verb} {what}"
    for verb in ("Add a test for", "Rename", "Document", "Speed up")
    for what in ("the tax report", "the login page", "the payment client")
]
LINES = 200  # of a memory that is as long as is advised
MEMORY = "# acme-api\n\n" + "".join(
    f"- Module {number} of the service is described in docs/module-{number}.md; its tests lie beside it.\n"
    for number in range(LINES)
)
SKILL = "---\nname: acme\ndescription: How work is done in acme-api.\n---\n\n# How we work\n\n" + "".join(
    f"{number}. Step {number} of a change is done before step {number + 1} and is named in the commit.\n"
    for number in range(60)
)


# --- the server --------------------------------------------------------------------------------------------------


@dataclass
class Counts:
    calls: int = 0
    fresh: int = 0  # tokens sent that no earlier call began with
    cached: int = 0
    output: int = 0


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, latency: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.latency, self.counts, self.lock = latency, Counts(), threading.Lock()
        self.seen: set[bytes] = set()

    def answered(self, text: str) -> dict[str, int]:
        """Counts a call, and takes its time; only what was answered before is in the cache."""
        begun = [sha256(text[:end].encode()).digest() for end in range(BLOCK, len(text) + 1, BLOCK)]
        with self.lock:
            known = next((at for at in range(len(begun), 0, -1) if begun[at - 1] in self.seen), 0) * BLOCK
        cached = known // PER_TOKEN if known >= LEAST else 0
        sent, said = len(text) // PER_TOKEN, len(ANSWER) // PER_TOKEN
        time.sleep(self.latency)
        with self.lock:
            self.seen.update(begun)
            self.counts.calls += 1
            self.counts.fresh += sent - cached
            self.counts.cached += cached
            self.counts.output += said
        return {"sent": sent, "cached": cached, "said": said}


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        usage = self.server.answered("\n".join(message["content"] for message in asked["messages"]))
        self._say(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 0,
                "model": asked["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWER}}],
                "usage": {
                    "prompt_tokens": usage["sent"],
                    "completion_tokens": usage["said"],
                    "total_tokens": usage["sent"] + usage["said"],
                    "prompt_tokens_details": {"cached_tokens": usage["cached"]},
                },
            }
        )

    def do_GET(self) -> None:
        """The counts so far, and back to none."""
        with self.server.lock:
            told, self.server.counts = asdict(self.server.counts), Counts()
            self.server.seen.clear()
        self._say(told)

    def _say(self, data: dict[str, Any]) -> None:
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing is told of single calls."""


def serve(latency: float) -> None:
    server = Server(latency)
    print(server.server_address[1], flush=True)
    server.serve_forever()


@contextmanager
def running(latency: float) -> Iterator[str]:
    """A server in a process of its own, whose work does not count as a client's; its address."""
    command = [sys.executable, "-m", "benchmarks.calls", "--serve", "--latency", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def counted(address: str) -> Counts:
    with urllib.request.urlopen(f"{address}/counts") as answer:
        return Counts(**json.load(answer))


# --- who is measured ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Night:
    """What is replayed: `passes` gives sample and skill of each pass over the tasks, in the order of a trial, and by
    what the gate has to know before it asks for more."""

    candidates: int
    pairs: int

    def passes(self) -> Iterator[list[tuple[str, str]]]:
        for number in range(self.candidates):
            skills = (SKILL, f"{SKILL}- Rule {number} says that pnpm is used.\n")
            for pairs in (range(self.pairs)[:FIRST_PAIRS], range(self.pairs)[FIRST_PAIRS:]):
                yield [(f"x1-{number}/{pair}", skill) for pair in pairs for skill in skills]


def tasks() -> tuple[Task, ...]:
    check = (Check(op="contains", arg="pnpm"),)
    return tuple(Task(id=f"t1-{number:016x}", ask=ask, checks=check) for number, ask in enumerate(ASKS[:TASKS]))


def ours(address: str, jobs: int, folder: Path) -> Models:
    """The wiring of a night."""
    chosen = Replay(backend="openai", model="acme-1", base_url=f"{address}/v1", jobs=jobs, api="chat", send="mined")
    door = chosen_model(Config(replay=chosen), {}).open(
        Private(folder), Redactor(b"benchmark"), SHIPPED, lambda _: None
    )
    return door(tasks(), {})


def replays_ours(address: str, folder: Path, night: Night, jobs: int) -> None:
    models, known = ours(address, jobs, folder), tasks()
    for passes in night.passes():
        rounds = [
            Round(known, ((".claude/skills/acme/SKILL.md", skill), ("CLAUDE.md", MEMORY)), sample)
            for sample, skill in passes
        ]
        found = replay(rounds, target=models.target, judge=models.judge, notify=lambda _: None)
        assert all(item.score is not None for rollouts in found for item in rollouts), found[0][0].failure


def replays_theirs(address: str, _: Path, night: Night, workers: int) -> None:
    """Its own replay and prompts; of its client for Azure only the address and the key are others.

    It remembers answers within a process; to have as many rollouts it forgets them after each pass.
    """
    backend, records, own = (
        importlib.import_module(f"skillopt_sleep.{name}") for name in ("backend", "types", "replay")
    )
    client = importlib.import_module("openai").OpenAI(base_url=f"{address}/v1", api_key="none")
    asked = backend.AzureOpenAIBackend(deployment="acme-1", endpoint=address)
    asked._get_client = lambda: client  # noqa: SLF001 - its own one asks for a login at Azure
    rule = {"checks": [{"op": "contains", "arg": "pnpm"}]}
    known = [
        records.TaskRecord(id=task.id, project="acme-api", intent=task.ask, reference_kind="rule", judge=rule)
        for task in tasks()
    ]
    for _sample, skill in chain.from_iterable(night.passes()):
        found = own.replay_batch(asked, known, skill, MEMORY, workers=workers)
        assert all(result.response for _, result in found)
        asked._cache.clear()  # noqa: SLF001 - as said


# --- the table ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    what: str
    counts: Counts
    seconds: float

    @property
    def fresh(self) -> float:
        """Uncached tokens of a rollout."""
        return self.counts.fresh / self.counts.calls

    def __str__(self) -> str:
        counts = self.counts
        told = f"{counts.calls:6} {counts.fresh:9,} {counts.cached:9,} {self.fresh:9.1f} {counts.output:8,}"
        return f"{self.what:28} {told} {self.seconds:8.2f} s"


HEADER = f"{'':28} {'calls':>6} {'uncached':>9} {'cached':>9} {'a rollout':>9} {'output':>8} {'wall time':>10}"


def measured(what: str, address: str, rounds: int, replays: Callable[[Path], None]) -> Row:
    took = []
    for _ in range(rounds):
        counted(address)
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            replays(Path(folder))
            took.append(time.perf_counter() - began)
    return Row(what, counted(address), min(took))


def compared(ours_: Row, theirs: Row) -> bool:
    faster, thriftier = theirs.seconds / ours_.seconds, ours_.fresh / theirs.fresh
    print(f"{theirs.what}: {faster:.1f}x our wall time (to be reached: {FASTER:g}x),", end=" ")
    print(f"our uncached tokens a rollout are {thriftier:.2f} of its (to be reached: {THRIFTIER:g})")
    return faster >= FASTER and thriftier <= THRIFTIER


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--candidates", type=int, default=CANDIDATES)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--latency", type=float, default=LATENCY, help="seconds a call takes")
    parser.add_argument("--rounds", type=int, default=1, help="of which the fastest counts")
    parser.add_argument("--serve", action="store_true", help="be the server")
    args = parser.parse_args()
    if args.serve:
        serve(args.latency)
        return
    night, jobs = Night(args.candidates, args.pairs), args.jobs
    print(
        f"{TASKS} tasks, {night.candidates} candidates, {night.pairs} pairs, {1000 * args.latency:g} ms a call, "
        f"{jobs} jobs"
    )
    print(HEADER)
    with running(args.latency) as address:

        def row(what: str, replays: Callable[[str, Path, Night, int], None], jobs: int) -> Row:
            measured(what, address, 1, lambda folder: replays(address, folder, Night(1, 1), jobs))  # imports, once
            made = measured(what, address, args.rounds, lambda folder: replays(address, folder, night, jobs))
            print(made, flush=True)
            return made

        mine = row("skillopt-git", replays_ours, jobs)
        if find_spec("skillopt_sleep") is None:
            print("SkillOpt-Sleep is not installed: pip install 'skillopt-git[bench]'")
            return
        theirs = row("SkillOpt-Sleep", replays_theirs, 1)
        row(f"SkillOpt-Sleep, {jobs} workers", replays_theirs, jobs)
    reached = compared(mine, theirs)
    sys.exit(not reached)


if __name__ == "__main__":
    main()
