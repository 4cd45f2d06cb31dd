"""What `log` and `status` cost over a ledger of many nights, against git commands that read the same.

Twice: `git log --patch` over the ledger's events, which prints each of them as `log` knows them ("printed"), and the
fewest commands that merely read it all: `git log` over all commits of the ledger and `git cat-file --batch` over all
files of its newest tree ("read"); for `status` with what git knows of the open proposal. Measured in a process that
runs, and as a whole process.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from skillopt_git import cli
from skillopt_git.gitrepo import GitRepo, Identity
from skillopt_git.ledger import event_line
from skillopt_git.model import Edit, Event
from skillopt_git.similarity import simhash
from skillopt_git.stamp import Stamp, event

NIGHTS, A_NIGHT, ROUNDS = 1_000, 10, 7
PROPOSING = 10  # every tenth night proposes a rule
FIRST = datetime(2024, 1, 1, 3, tzinfo=UTC)
LEDGER, MEMORY = "refs/skillopt/ledger", "CLAUDE.md"
AUTHOR = Identity("skillopt-git", "skillopt-git@users.noreply.invalid")
COMMITTER = b"committer skillopt-git <skillopt-git@users.noreply.invalid> %d +0000\n"


def rule(number: int) -> str:
    return f"Use tool {number} for step {number}"


def outcome(number: int, proposals: int) -> str | None:
    """Of ten proposals six are adopted, three rejected, one expires; the last is open."""
    if number == proposals - 1:
        return None
    return ("adopted", "rejected", "adopted", "expired", "adopted", "adopted", "rejected")[number % 7]


def built(path: Path, nights: int) -> GitRepo:
    """A repository with the adopted rules in its memory, an open proposal, and its ledger with a commit a night."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(path)], check=True)
    repo = GitRepo.open(path)
    proposals = nights // PROPOSING
    start = main = _commit(repo, None, [])
    adopted = [number for number in range(proposals) if outcome(number, proposals) == "adopted"]
    merges: dict[int, str] = {}
    for number in adopted:
        merges[number] = main = _commit(repo, main, [rule(known) for known in (*merges, number)])
    repo.update_ref("refs/heads/main", main, None, "start")
    tip = _commit(repo, main, [rule(number) for number in (*adopted, proposals - 1)])
    repo.update_ref(f"refs/heads/{_branch(proposals - 1)}", tip, None, "propose")
    stream = b"".join(_stream(nights, start, tip, merges))
    subprocess.run(["git", "-C", str(path), "fast-import", "--quiet"], input=stream, check=True)
    return repo


def _commit(repo: GitRepo, parent: str | None, rules: list[str]) -> str:
    lines = "".join(f"- {text}\n" for text in rules)
    text = f"# Notes\n\n<!-- SKILLOPT-SLEEP:LEARNED START -->\n{lines}<!-- SKILLOPT-SLEEP:LEARNED END -->\n"
    change = {MEMORY: ("100644", repo.write_blob(text.encode()))}
    return repo.commit(parent=parent, changes=change, message="Learn\n", author=AUTHOR, when=FIRST)


def _branch(proposal: int) -> str:
    return f"sleep/{FIRST + timedelta(days=proposal * PROPOSING):%Y-%m-%d}"


def _stream(nights: int, start: str, tip: str, merges: dict[int, str]) -> Iterator[bytes]:
    months: dict[str, bytes] = {}
    for number in range(nights):
        when = FIRST + timedelta(days=number)
        month = f"events/{when:%Y/%m}.jsonl"
        months[month] = months.get(month, b"") + b"".join(map(event_line, _night(number, nights, start, tip, merges)))
        files = {month: months[month]}
        if number % PROPOSING == 0:
            files[f"evidence/{number:064x}.json"] = json.dumps({"tasks": ["t1-0123456789abcdef"] * 60}).encode()
        yield f"commit {LEDGER}\n".encode() + COMMITTER % when.timestamp() + b"data 6\nRecord\n"
        for path, data in files.items():
            yield f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


def _night(number: int, nights: int, start: str, tip: str, merges: dict[int, str]) -> list[Event]:
    when = FIRST + timedelta(days=number)
    stamp = Stamp(run=f"{when:%Y%m%dT%H%M%SZ}-{number:08x}", now=when, simulated=False)
    ran: dict[str, Any] = {"night": number + 1, "sessions": 5, "tasks": 40, "reason": "gate", "verdict": "inconclusive"}
    edit = Edit(op="add", target=MEMORY, text=rule(number // PROPOSING), reason="It was asked for.", need=None)
    about = {"edit": edit.id, "rule": edit.rule, "target": edit.target}
    gate: dict[str, Any] = {
        "verdict": "strong",
        "subject": f"s{number}",
        "base_blob": None,
        "model": "m",
        "families": [],
    }
    events = [
        event("run", stamp.run, stamp, data={**ran, "accepted": 0, "branch": None, "backend": "b", "model": "m"}),
        event("trial", f"x{number}", stamp, data={"trial": f"x{number}", "subject": f"s{number}"}, **about),
        event(
            "gate", f"x{number}", stamp, data={**gate, "trial": f"x{number}", "need": None, "evidence": None}, **about
        ),
    ]
    if number % PROPOSING == 0:
        events += _proposal(number // PROPOSING, nights // PROPOSING, stamp, edit, start, tip, merges)
    return [*events, *(_family(number, at, stamp) for at in range(A_NIGHT - len(events)))]


def _proposal(
    number: int, proposals: int, stamp: Stamp, edit: Edit, start: str, tip: str, merges: dict[int, str]
) -> Iterator[Event]:
    branch, came = _branch(number), outcome(number, proposals)
    base = next((merges[before] for before in reversed(merges) if before < number), start)
    data: dict[str, Any] = {"branch": branch, "base_branch": "main", "base": base, "base_blob": None, "mode": "100644"}
    data |= {"kind": "memory", "position": 0, "op": "add", "anchor": None, "need": None, "need_sessions": 3}
    data |= {"verdict": "strong", "why": "the mean rose", "evidence": None, "baseline": 0.0, "candidate": 1.0}
    data |= {"night": 1, "model": "m", "optimizer": "m", "judge": "checks", "metric": "mixed", "rule": "strict"}
    about = {"edit": edit.id, "rule": edit.rule, "target": edit.target, "text": edit.sentence}
    proposed = event("proposed", [branch, edit.id], stamp, **about, reason=edit.reason, data={**data, "version": "1"})
    yield proposed
    holds = {"branch": branch, "base": base, "tip": tip, "edits": [proposed.id], "ends": []}
    yield event("published", [branch, tip], stamp, data=holds)
    if came is not None:
        settled: dict[str, Any] = {"branch": branch, "need": None, "commit": merges.get(number), "ends": []}
        yield event(came, [branch, edit.id], stamp, data=settled, **about)  # type: ignore[arg-type]


def _family(number: int, at: int, stamp: Stamp) -> Event:
    name = f"f1-{number:08x}{at:08x}"
    tasks = [f"t1-{number:08x}{at:08x}"]
    data = {"family": name, "needs": [], "split": "train", "tasks": tasks, "simhash": f"{simhash(name):016x}"}
    return event("family", name, stamp, data={**data, "machine": "0a1b2c3d"})


# --- measuring ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bare:
    """What there is to know, by git alone."""

    repo: GitRepo
    status: bool

    def printed(self) -> None:
        self._git("log", "--patch", "--unified=0", "--format=%H %ct %s", LEDGER, "--", "events")
        self._proposal()

    def read(self) -> None:
        self._git("log", "--format=%H %ct %s", LEDGER)
        listed = self._git("ls-tree", "-r", LEDGER).splitlines()
        self._git("cat-file", "--batch", data=b"".join(line.split()[2] + b"\n" for line in listed))
        self._proposal()

    def _proposal(self) -> None:
        if self.status:
            (branch,) = self._git("for-each-ref", "--format=%(refname)", "refs/heads/sleep").split()
            subprocess.run(["git", "merge-base", "--is-ancestor", branch, "main"], cwd=self.repo.root, check=False)
            self._git("cat-file", "blob", f"main:{MEMORY}")

    def _git(self, *words: str, data: bytes = b"") -> bytes:
        run = subprocess.run(["git", *words], cwd=self.repo.root, input=data, capture_output=True, check=True)
        return run.stdout


def inside(words: list[str]) -> None:
    with redirect_stdout(io.StringIO()):
        assert cli.run(words) == 0


def outside(words: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "skillopt_git", *words], stdout=subprocess.DEVNULL, check=True)


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        repo = built(Path(folder, "acme-api"), given.nights)
        print(f"{given.nights} nights, {given.nights * A_NIGHT} events; medians of {given.rounds}")
        print("verb      printed      read   in process   of printed   of read   whole process   of printed")
        for verb in ("log", "status"):
            _measure(repo, verb, given.rounds)


def _measure(repo: GitRepo, verb: str, rounds: int) -> None:
    words = [verb, "--repo", str(repo.root)]
    inside(words)  # loads what it needs
    bare = Bare(repo, status=verb == "status")
    works = (bare.printed, bare.read, lambda: inside(words), lambda: outside(words))
    every = [tuple(map(seconds, works)) for _ in range(rounds)]
    printed, read, warm, cold = (median(times) * 1000 for times in zip(*every, strict=True))
    of_printed, of_read, whole = (
        median(times[at] / times[to] for times in every) for at, to in ((2, 0), (2, 1), (3, 0))
    )
    print(
        f"{verb:6} {printed:7.0f} ms {read:6.0f} ms {warm:9.0f} ms {of_printed:11.1f}x {of_read:8.1f}x"
        f" {cold:12.0f} ms {whole:11.1f}x"
    )


if __name__ == "__main__":
    main()
