"""A run that is broken off: it leaves at once, and nothing of it stays behind but what was answered and counted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.helpers import Repository, program
from tests.modelserver import Asked, Broken, Given, Said, serving
from tests.nights import PNPM, sessions

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

ROOT = Path(__file__).parent.parent
JOBS = 3
SOON = 8.0  # seconds; about one when the machine has nothing else to do
FOUND = {
    "type": "result",
    "is_error": False,
    "result": "OK",
    "modelUsage": {"claude-sonnet-5-5": {"inputTokens": 10, "outputTokens": 5}},
    "total_cost_usd": 0.25,
    "stop_reason": "end_turn",
}
# It says that it is there; asked anything else it hangs, and so does a program of its own.
HANGING = """
import os, subprocess, sys, time
if sys.argv[1:] == ["--version"]:
    print("9.8.7 (Claude Code)")
    sys.exit()
if "single word OK" in sys.stdin.read():
    print({found!r})
    sys.exit()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"])
open({pids!r} + "/" + str(os.getpid()), "w").write(str(child.pid))
time.sleep(120)
"""


def until(there: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, "it never came so far"
        time.sleep(0.02)


def runs(pid: int) -> bool:
    """One that ended and that nobody has heard of yet runs no more."""
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def _heeding() -> None:
    """A test that runs in the background may have been told to ignore these."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextmanager
def night(repo: Repository, home: Path, temporary: Path, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """A run in a process of its own, with a folder of its own for what is temporary."""
    sessions(home, repo, PNPM)
    temporary.mkdir()
    settings = {"BACKEND": environ.pop("backend"), "SEND": "mined", "JOBS": str(JOBS), "TIMEOUT": "100"}
    given = {f"SKILLOPT_REPLAY_{name}": value for name, value in settings.items()} | {"SKILLOPT_MINE_WITH": "rules"}
    words = ["run", "--repo", str(repo.path), "--claude-home", str(home), "--quiet"]
    with subprocess.Popen(
        [sys.executable, "-m", "skillopt_git", *words],
        cwd=ROOT,
        env={**os.environ, **given, "TMPDIR": str(temporary), **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_heeding,
    ) as run:
        try:
            yield run
        finally:
            run.kill()


def left(run: subprocess.Popen[str], by: signal.Signals) -> str:
    """What it said on leaving, which it did soon."""
    began = time.monotonic()
    run.send_signal(by)
    _, said = run.communicate(timeout=60)
    assert time.monotonic() - began < SOON
    assert run.returncode == 130, said
    return said


def spent(repo: Repository) -> int:
    folder = repo.path / ".git" / "skillopt" / "spent"
    return sum(json.loads(path.read_text())["tokens"] for path in folder.glob("*.json"))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks the system which programs run")
@pytest.mark.parametrize(
    "by",
    [signal.SIGINT, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.e2e)],
    ids=lambda sent: sent.name,
)
def test_programs_end_with_the_run(by: signal.Signals, repo: Repository, home: Path, tmp_path: Path) -> None:
    """With all that they started; no prompt stays in a temporary folder, and what they may have cost is counted."""
    pids, folder, temporary = tmp_path / "pids", tmp_path / "bin", tmp_path / "temporary"
    for made in (pids, folder):
        made.mkdir()
    program(folder / "claude", HANGING.format(found=json.dumps(FOUND), pids=str(pids)))
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    with night(repo, home, temporary, backend="claude", PATH=path) as run:
        until(lambda: len([item for item in pids.iterdir() if item.read_text()]) >= 2)
        assert list(temporary.glob("skillopt-*")) != []

        said = left(run, by)

    begun = [int(number) for item in pids.iterdir() for number in (item.name, item.read_text())]
    until(lambda: not any(map(runs, begun)), 5)
    assert len(begun) <= 2 * JOBS
    assert said == "error: interrupted\nhint: run it again to go on\n"
    assert list(temporary.glob("skillopt-*")) == []
    assert spent(repo) > 1_000


@pytest.mark.parametrize(
    "by", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.e2e)], ids=lambda sent: sent.name
)
def test_a_server_that_hangs_holds_nobody_up(by: signal.Signals, repo: Repository, home: Path, tmp_path: Path) -> None:
    """What it answered before is remembered; for what is under way nobody waits, but it counts."""

    def script(call: Asked) -> Given:
        return Said(text="OK") if "single word OK" in call.user or "lodash" in call.user else Broken("hang", 100)

    with serving(script) as server:
        environ = {"SKILLOPT_REPLAY_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef"}
        with night(repo, home, tmp_path / "temporary", backend="anthropic", **environ) as run:
            until(lambda: len(server.asked) >= 3)
            time.sleep(0.3)
            before = len(server.asked)

            said = left(run, by)

        assert said == "error: interrupted\nhint: run it again to go on\n"
        assert len(server.asked) == before
    assert spent(repo) > 8_192  # the room that a call under way has for thoughts
    answers = list((repo.path / ".git" / "skillopt" / "cache").rglob("*.json"))
    assert len(answers) >= 1
