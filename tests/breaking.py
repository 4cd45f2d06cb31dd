"""Verbs that run in processes of their own, with their own clock, and die at a named point.

Each process is a fork of one that has loaded everything: a night takes a third of a second instead of four.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from tempfile import TemporaryFile
from typing import IO, Any, Literal, NoReturn

from skillopt_git import cli, roles
from skillopt_git.backends.scripted import Scripted
from skillopt_git.commands import options
from skillopt_git.doors import About, Asked, Opened
from tests.nights import obedient

KILLED = -signal.SIGKILL
When = Literal["before", "after"]


@dataclass(frozen=True)
class Point:
    """Where a process dies: before or after the `nth` call of `at` ("module:attribute") that holds all of `words`."""

    at: str
    when: When = "after"
    nth: int = 1
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ended:
    """`code` is the exit code, or minus the signal that ended it."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        return dict(json.loads(self.out))

    @property
    def said(self) -> str:
        """In one line: the error, or the notes, or why nothing was learned."""
        if self.code < 0:
            return f"ended by signal {-self.code}"
        record = self.record
        if "error" in record:
            return str(record["error"]["message"])
        return "; ".join(record.get("notes") or record.get("said") or [record.get("reason", "done")])


ABOUT = About(name="scripted", title="", documents="", setup="", leaves="", cost="", limits="", sends=False)


def door(_: Asked) -> Opened:
    """A backend that is no simulation, so that checkpoint and measured proposals are written."""
    return Opened(backend=Scripted(script=obedient), together=True)  # no threads: tests fork this process


def played(
    words: Sequence[str], *, now: datetime, point: Point | None = None, count: Counter[str] | None = None
) -> Ended:
    """Runs one command line in a fork of this process, to its end or until it dies.

    With `count` the calls of its keys are counted instead, on the way to the end.
    """
    with TemporaryFile() as out, TemporaryFile() as err, TemporaryFile() as counted:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            _live(words, now, point, (count or {}).keys(), counted)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if count is not None:
            count.update(json.loads(_read(counted)))
        return Ended(status, _read(out), _read(err))


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _live(
    words: Sequence[str], now: datetime, point: Point | None, counting: Iterable[str], counted: IO[bytes]
) -> NoReturn:
    """The rest of a forked process; whatever happens, it does not go on as its parent."""
    code = 70
    try:
        roles.BACKENDS["scripted"] = "tests.breaking:door"
        _stop_the_clock(now)
        calls: Counter[str] = Counter()
        for at in counting:
            _wrap(at, before=lambda _, at=at: calls.update([at]))  # type: ignore[misc]
        if point is not None:
            _arm(point)
        code = cli.run(words)
        sys.stdout.flush()
        counted.write(json.dumps(calls).encode())
        counted.flush()
    except BaseException:  # noqa: BLE001 - told by the exit code, and on its stderr
        traceback.print_exc()
    finally:
        os._exit(code)


def _stop_the_clock(now: datetime) -> None:
    class Stopped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Stopped:
            return cls.fromtimestamp(now.timestamp(), tz)

    options.datetime = Stopped  # type: ignore[attr-defined]


def _arm(point: Point) -> None:
    left = point.nth

    def due(call: str) -> None:
        nonlocal left
        left -= all(word in call for word in point.words)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    _wrap(point.at, **{point.when: due})


def _wrap(
    at: str, *, before: Callable[[str], None] = lambda _: None, after: Callable[[str], None] = lambda _: None
) -> None:
    module, _, path = at.partition(":")
    *way, name = path.split(".")
    owner = importlib.import_module(module)
    for step in way:
        owner = getattr(owner, step)
    real = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        call = repr((args, kwargs))
        before(call)
        try:
            return real(*args, **kwargs)
        finally:
            after(call)

    setattr(owner, name, wrapped)
