"""What is broken off by `kill -9`, and what the next run makes of it: `python -m tests.broken` prints the table.

A verb dies at a point; then the same verb and a run follow. They have to end as if nothing had been broken off.
`--seeded N` draws N points from all calls that touch the disk or git instead; the same seed draws the same.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

from skillopt_git import cli
from skillopt_git.commands.demo import write_sessions
from skillopt_git.gitrepo import GitRepo
from skillopt_git.ledger import Ledger
from skillopt_git.model import Event
from skillopt_git.private import KEY_BYTES, Private
from skillopt_git.recall import History, recall
from skillopt_git.wiring import DEFAULT_SKILL
from tests.breaking import KILLED, Ended, Point, When, played
from tests.helpers import Repository
from tests.helpers_git import TOOL, snapshot, tree
from tests.nights import PNPM, TICKET, arguments

Scene = Literal["first night", "second night", "adopt", "reject", "reject one", "unlearn"]
NIGHT = datetime(2026, 3, 2, 3, tzinfo=UTC)
EVENING, LATER = NIGHT + timedelta(hours=18), NIGHT + timedelta(days=1)
BRANCHES, LEDGER = "refs/heads/sleep/", "refs/skillopt/ledger"
SEED = 20260302
# All that touches the disk, git, or the names of files.
CALLS = ("git.cmd:Git.execute", "os:replace", "os:link", "os:unlink", "os:mkdir", "os:fsync", "tempfile:mkstemp")
RUN, FINISH = "skillopt_git.nightly:_Run.", "skillopt_git.finishing:Finishing."
GIT = "git.cmd:Git.execute"

POINTS: tuple[tuple[str, Scene, Point], ...] = (
    ("the key is half made", "first night", Point("os:link", "before", words=("key",))),
    ("people's decisions are noted", "second night", Point("skillopt_git.workshop:Workshop.sync")),
    ("the sessions are read", "first night", Point("skillopt_git.cycle:harvest")),
    ("inside the index", "first night", Point("os:replace", "before", words=("/index/",))),
    ("the tasks are known", "first night", Point("skillopt_git.cycle:gather")),
    ("inside the call cache", "first night", Point("os:replace", "before", nth=3, words=("/cache/",))),
    ("the tasks are replayed", "first night", Point("skillopt_git.night:replay")),
    ("the gate has decided", "first night", Point("skillopt_git.consolidate:trial")),
    ("the proposal is foreseen", "first night", Point(f"{FINISH}foresee")),
    ("the ledger's blobs are written", "first night", Point(GIT, "before", words=("update-ref", LEDGER))),
    ("the ledger is moved", "first night", Point(GIT, words=("update-ref", LEDGER))),
    ("inside the bank", "first night", Point("os:replace", "before", words=("/bank.json",))),
    ("the bank is saved", "first night", Point("os:replace", words=("/bank.json",))),
    ("inside the checkpoint", "first night", Point("os:replace", "before", words=("/checkpoint.json",))),
    ("the night is recorded", "first night", Point(f"{RUN}_record")),
    ("the commits are made", "first night", Point(GIT, "before", words=("update-ref", BRANCHES))),
    ("the branch is made", "first night", Point(GIT, words=("update-ref", BRANCHES))),
    ("the branch is rebuilt", "second night", Point(GIT, words=("update-ref", BRANCHES))),
    ("it is published", "first night", Point(f"{FINISH}publish")),
    ("inside the report", "first night", Point("os:replace", "before", words=("diagnostics.json",))),
    ("the merge is made", "adopt", Point("skillopt_git.decide:merge_tree")),
    ("it is merged", "adopt", Point("skillopt_git.decide:merge")),
    ("the refusal is remembered", "reject", Point("skillopt_git.ledger:Ledger.append", nth=2)),
    ("the branch is kept at its anchor", "reject", Point(GIT, words=("update-ref", "refs/skillopt/rejected/"))),
    ("the refused branch is deleted", "reject", Point(GIT, words=("update-ref", "'-d'", BRANCHES))),
    ("the branch is rebuilt without it", "reject one", Point(GIT, words=("update-ref", BRANCHES))),
    ("a branch without the rule is made", "unlearn", Point("skillopt_git.unlearning:_place")),
    ("it is unlearned", "unlearn", Point("skillopt_git.unlearning:merge")),
)
# What a verb that merges moves of the user's, as `git merge` would.
_MERGE = ("refs/heads/main", DEFAULT_SKILL, ".git/index", ".git/ORIG_HEAD", ".git/logs/HEAD")
MOVED: dict[Scene, tuple[str, ...]] = {"adopt": _MERGE, "unlearn": _MERGE}


@dataclass(frozen=True)
class Row:
    """One death. `said` is what the run after it told; `wrong` what is not as it has to be."""

    scene: str
    point: str
    said: str
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Stage:
    """Scenes are played at one place, so that their sessions and outcomes are alike; each starts from a copy."""

    root: Path

    @property
    def repo(self) -> Repository:
        return Repository(self.root / "acme-api")

    @property
    def private(self) -> Path:
        return self.repo.path / ".git" / "skillopt"

    def play(self, words: Sequence[str], *, now: datetime, **how: Any) -> Ended:
        words = [*words, "--repo", str(self.repo.path), "--json"]
        if words[0] == "run":
            words += ["--backend", "scripted", "--quiet", "--claude-home", str(self.root / "claude")]
        return played(words, now=now, **how)

    def told(self, dialogues: Sequence[Sequence[str]], until: datetime) -> None:
        write_sessions(self.root / "claude", str(self.repo.path), [list(turns) for turns in dialogues], until)

    def keep(self, name: str) -> None:
        for folder in ("acme-api", "claude"):
            shutil.copytree(self.root / folder, self.root / name / folder, symlinks=True)

    def set(self, name: str) -> None:
        for folder in ("acme-api", "claude"):
            shutil.rmtree(self.root / folder, ignore_errors=True)
            shutil.copytree(self.root / name / folder, self.root / folder, symlinks=True)

    def ledger(self) -> Ledger:
        return Ledger(GitRepo.open(self.repo.path), LEDGER, TOOL)

    def history(self) -> History:
        return recall(self.ledger().events(), simulated=True)


def prepare(root: Path) -> Stage:
    """The starts of all scenes: nothing yet; one rule proposed and sessions for another; both; one adopted."""
    stage = Stage(root)
    Repository.create(stage.repo.path, {"README.md": "# acme-api\n"})
    stage.told(PNPM, NIGHT)
    stage.keep("fresh")
    _warm_up(stage)
    _well(stage.play(["run"], now=NIGHT))
    stage.told([*PNPM, *TICKET], EVENING)
    stage.keep("open")
    _well(stage.play(["run"], now=EVENING))
    stage.keep("both")
    stage.set("open")
    _well(stage.play(["adopt"], now=EVENING))
    stage.keep("adopted")
    return stage


def _warm_up(stage: Stage) -> None:
    """A night in this very process: what it loads, every later process has."""
    with contextlib.redirect_stdout(io.StringIO()):
        cli.run(arguments("run", ["--json", "--lookback-hours", "0"], stage.repo, stage.root / "claude"))
    stage.set("fresh")


def _well(ended: Ended) -> None:
    assert ended.code == 0, ended


def scene(stage: Stage, name: Scene) -> tuple[str, list[str]]:
    """The start of a scene, and the words of the verb that is broken off."""
    match name:
        case "first night":
            return "fresh", ["run"]
        case "second night":
            return "open", ["run"]
        case "adopt":
            return "open", ["adopt"]
        case "reject":
            return "open", ["reject", "--reason", "not here"]
        case "reject one":
            stage.set("both")
            return "both", ["reject", "--edit", stage.history().open[0].pending[1].edit.id]
        case "unlearn":
            stage.set("adopted")
            return "adopted", ["revert", stage.history().adopted[0].edit.id, "--now"]


def whole(stage: Stage, name: Scene) -> dict[str, Any]:
    """The state a scene ends in that nobody breaks off."""
    start, words = scene(stage, name)
    stage.set(start)
    _well(stage.play(words, now=LATER))
    _well(stage.play(["run"], now=LATER + timedelta(hours=2)))
    return state(stage)


def broken(stage: Stage, name: Scene, point: Point, label: str, right: dict[str, Any]) -> Row:
    """Plays a scene to the point where it dies, and then what comes after."""
    start, words = scene(stage, name)
    stage.set(start)
    before = _users(stage)
    died = stage.play(words, now=LATER, point=point)
    wrong = [] if died.code == KILLED else [f"did not die there, but ended with {died.code}: {died.err or died.said}"]
    wrong += _touched(before, _users(stage), MOVED.get(name, ()))
    wrong += [*_damage(stage)]
    _age(stage.private)
    again = stage.play(words, now=LATER + timedelta(hours=1)) if words != ["run"] else None
    if again is not None and again.code and not _done_already(again):
        wrong.append(f"{' '.join(words)} ended with {again.code}: {again.said}")
    after = stage.play(["run"], now=LATER + timedelta(hours=2))
    if after.code:
        wrong.append(f"the next run ended with {after.code}: {after.err or after.said}")
    wrong += [*_damage(stage), *_differences(state(stage), right)]
    wrong += [f"left behind: {path.name}" for path in _temporary(stage.private)]
    said = f"{again.said}; {after.said}" if again is not None else after.said
    return Row(name, label, said, tuple(wrong))


def _done_already(again: Ended) -> bool:
    """What had been done before it died is noted, and cannot be done twice."""
    return again.code == 2 and again.record["error"]["message"].startswith(
        ("there is no open proposal", "refs/heads", "'e1-")
    )


def _touched(before: dict[str, object], now: dict[str, object], allowed: Sequence[str]) -> Iterator[str]:
    for name in sorted({*before, *now} - {*allowed}):
        if before.get(name) != now.get(name):
            yield f"touched: {name}"


def _users(stage: Stage) -> dict[str, object]:
    """Everything that is not ours, by a name for each: our folder may appear, and our branches may move."""
    taken: dict[str, Any] = dict(snapshot(stage.repo, ours=(BRANCHES, "refs/skillopt/")))
    found: dict[str, object] = {"stash": taken["stash"], **dict(line.split(" ") for line in taken["refs"])}
    for place, files in {**taken["trees"], ".git": taken["git"]}.items():
        found |= {str(Path(place, name)).removeprefix(f"{stage.repo.path}/"): file for name, file in files.items()}
    found["names"] = [name for name in taken["names"] if name not in ("skillopt", "ORIG_HEAD")]
    return found


def _damage(stage: Stage) -> Iterator[str]:
    """What is half-written: in git, in the work tree, in the ledger, in the private folder."""
    repo = stage.repo
    checked = subprocess.run(
        ["git", "fsck", "--strict", "--no-dangling"], cwd=repo.path, capture_output=True, text=True
    )
    if checked.returncode or checked.stderr:
        yield f"git fsck: {checked.stderr}"
    if changed := repo.git("status", "--porcelain"):
        yield f"git status: {changed}"
    yield from (f"a lock of git: {path}" for path in (repo.path / ".git").rglob("*.lock"))
    if damaged := stage.ledger().contents().damaged:
        yield f"{damaged} damaged lines in the ledger"
    yield from _damaged_files(stage.private)


def _damaged_files(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path in _temporary(folder) or path.is_dir() or path.name == "lock":
            continue
        data = path.read_bytes()
        if not data or (path.name == "key" and len(data) != KEY_BYTES) or ".damaged" in path.name:
            yield f"damaged: {path}"
        if path.suffix == ".json":
            json.loads(data)


def _temporary(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(".")]


def _age(folder: Path) -> None:
    """What was left half-written is a day old when the next run comes."""
    yesterday = time.time() - 24 * 3600
    for path in _temporary(folder):
        os.utime(path, (yesterday, yesterday))


def state(stage: Stage) -> dict[str, Any]:
    """What has to be the same however often a scene was broken off."""
    repo, private = stage.repo, Private(stage.private)
    refs = repo.git("for-each-ref", "--format=%(refname)").split()
    bank = private.bank()
    return {
        "trees": {ref: tree(repo, ref) for ref in refs if ref != LEDGER},
        "events": Counter(_about(event) for event in stage.ledger().events() if event.type != "run"),
        "open": [(item.branch, [one.edit.id for one in item.pending]) for item in stage.history().open],
        "bank": (sorted(map(repr, bank.tasks)), bank.needs, sorted(map(repr, bank.sightings)), bank.hints),
        "checkpoint": private.checkpoint().read,
        "notes": private.notes,
    }


def _about(event: Event) -> tuple[str | None, ...]:
    """What an event says, without who said it when: which of two runs tells it depends on where the first one died."""
    data = event.data
    told = (str(data.get(name)) for name in ("branch", "verdict", "position", "family", "split", "tasks"))
    return (event.type, event.edit, event.rule, event.target, event.text, event.reason, *told)


def _differences(found: dict[str, Any], right: dict[str, Any]) -> Iterator[str]:
    for name, value in found.items():
        if value != right[name]:
            both = (value - right[name], right[name] - value) if isinstance(value, Counter) else (value, right[name])
            yield f"{name}: {both[0]!r}, and unbroken {both[1]!r}"


def named(stage: Stage) -> Iterator[Row]:
    """Every named point."""
    right: dict[Scene, dict[str, Any]] = {}
    for label, name, point in POINTS:
        if name not in right:
            right[name] = whole(stage, name)
        yield broken(stage, name, point, label, right[name])


def seeded(stage: Stage, count: int, seed: int) -> Iterator[Row]:
    """Points drawn at random from all calls that an unbroken scene makes."""
    draw = random.Random(seed)
    calls: dict[Scene, Counter[str]] = {}
    for name in get_args(Scene):
        start, words = scene(stage, name)
        stage.set(start)
        calls[name] = Counter(dict.fromkeys(CALLS, 0))
        _well(stage.play(words, now=LATER, count=calls[name]))
    right = {name: whole(stage, name) for name in calls}
    every = [
        (name, Point(at, when, nth))
        for name, counted in calls.items()
        for at in CALLS
        for nth in range(1, counted[at] + 1)
        for when in get_args(When)
    ]
    for name, point in draw.sample(every, count):
        yield broken(stage, name, point, f"{point.when} call {point.nth} of {point.at}", right[name])


def isolate(root: Path) -> None:
    """A home and settings of git of its own, wherever this is started from."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "SKILLOPT_", "CLAUDE", "CODEX", "COPILOT", "ANTHROPIC", "XDG_")):
            del os.environ[name]
    os.environ |= {"HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": str(root / ".gitconfig")}
    (root / ".gitconfig").write_text("[user]\n\tname = Alice Example\n\temail = alice@example.invalid\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeded", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", action="store_true", help="one line a point, for tests")
    given = parser.parse_args()
    wrong = total = 0
    with tempfile.TemporaryDirectory(prefix="broken-") as folder:
        isolate(Path(folder))
        stage = prepare(Path(folder))
        for row in seeded(stage, given.seeded, given.seed) if given.seeded else named(stage):
            total, wrong = total + 1, wrong + bool(row.wrong)
            if given.json:
                print(json.dumps(asdict(row)), flush=True)
                continue
            print(f"{'wrong' if row.wrong else 'right'}  {row.scene:12}  {row.point:34}  {row.said}", flush=True)
            for line in row.wrong:
                print(f"       {line}")
    if not given.json:
        print(f"\nkilled at {total} points: {total - wrong} right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
