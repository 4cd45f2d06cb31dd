"""What a scheduler starts: one run in the environment that was kept for it, told to a log, and noted as tried."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import IO

from skillopt_git.agents import AGENTS
from skillopt_git.envfile import env_file, variables
from skillopt_git.errors import ConfigError, SkilloptError, UsageError
from skillopt_git.private import Nightly, Private
from skillopt_git.whole import write

LOG = "schedule.log"
LATE = timedelta(hours=1)  # schedulers spread what they start
LONGEST_LOG = 500_000  # bytes
# Where programs, the user's settings and the agents' sessions are found.
KEPT = ("PATH", "XDG_CONFIG_HOME", *(agent.variable for agent in AGENTS.values()))


def run(folder: Path, words: Sequence[str], *, at: time, if_missed: bool, now: datetime) -> int | None:
    """Runs the tool with `words`; its exit code, or None if `if_missed` and no night was: it may also be due just now.

    `folder` is the repository's private one: where git lies is known only from there. What keeps a run from starting is
    told to the log and gives its exit code, as a run's own failures do.
    """
    if not folder.parent.is_dir():
        raise UsageError(
            f"{folder.parent} is gone, and with it the repository of this schedule",
            "`skillopt-git schedule --list` shows it, and how to take it away",
        )
    folder.mkdir(mode=0o700, exist_ok=True)
    private = Private(folder)
    try:
        known = private.nightly()
    except ConfigError as error:  # a newer tool's: it is not ours to note anything in it
        with _log(folder, words, now) as log:
            return _refused(log, error)
    if if_missed and not missed(known, at, now):
        return None
    with _log(folder, words, now) as log:
        private.save(private.nightly_file.name, replace(known, tried=now, code=None))
        code = _ran(folder, words, known, log)
    # Read anew: it may have been scheduled again meanwhile.
    private.save(private.nightly_file.name, replace(private.nightly(), tried=now, code=code))
    return code


def kept(environ: Mapping[str, str]) -> dict[str, str]:
    """What of the environment of `schedule` is in force for its runs."""
    return {name: environ[name] for name in KEPT if environ.get(name)}


def environment(known: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """What a scheduled run has beyond what its scheduler gives: what was kept, and what the user's file sets."""
    return {**known, **variables(env_file({**environ, **known}))}


def missed(known: Nightly, at: time, now: datetime) -> bool:
    """Whether the last time of day `at` passed without a run; so it did where nothing is known."""
    last = _last_sign(known, now)
    return last is None or last < last_due(at, now)


def nights_without(known: Nightly, at: time, now: datetime) -> int:
    """How many times `at` passed since anything was tried or scheduled; 0 where nothing is known."""
    last = _last_sign(known, now)
    nights, due = 0, last_due(at, now - LATE)
    while last is not None and last < due:
        nights, due = nights + 1, last_due(at, due - timedelta(minutes=1))
    return nights


def _last_sign(known: Nightly, now: datetime) -> datetime | None:
    """When a run was tried or scheduled last. A moment that is still to come says nothing: then a clock went back."""
    moments = (moment.astimezone() for moment in (known.since, known.tried) if moment is not None)
    return max((moment for moment in moments if moment <= now), default=None)


def last_due(at: time, now: datetime) -> datetime:
    """When it was `at` last on this machine's clock."""
    today = now.astimezone().date()
    due = (datetime.combine(today - timedelta(days=days), at).astimezone() for days in range(3))
    return next(moment for moment in due if moment <= now)


@contextmanager
def _log(folder: Path, words: Sequence[str], now: datetime) -> Iterator[IO[str]]:
    path = folder / LOG
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(opened, "w", encoding="utf-8", errors="backslashreplace") as log:
        log.write(f"--- {now.astimezone():%Y-%m-%d %H:%M:%S %z}: {shlex.join(words)}\n")
        log.flush()
        yield log
    _shorten(path)


def _ran(folder: Path, words: Sequence[str], known: Nightly, log: IO[str]) -> int:
    """The exit code of the run, or of what kept it from starting; told in the log."""
    try:
        environ = {**os.environ, **environment(known.environ, os.environ)}
    except SkilloptError as error:
        return _refused(log, error)
    # `-P`: what lies in the current folder must not be taken for a module.
    command = [sys.executable, "-P", "-m", "skillopt_git", *words]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder, env=environ, check=False
    )
    log.write(f"--- exit {done.returncode}\n")
    return done.returncode


def _refused(log: IO[str], error: SkilloptError) -> int:
    log.write(f"error: {error.message}\n  {error.hint}\n--- exit {error.exit_code}\n")
    return error.exit_code


def _shorten(log: Path) -> None:
    """Cuts whole lines off the beginning of a log that has grown too long."""
    data = log.read_bytes()
    if len(data) > LONGEST_LOG:
        write(log, data[-LONGEST_LOG // 2 :].partition(b"\n")[2])
