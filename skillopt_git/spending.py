"""What runs of this clone spent on models within seven days: a private file for each, so that no two of them write the
same one."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

from skillopt_git import schema
from skillopt_git.config import Budget
from skillopt_git.errors import ConfigError
from skillopt_git.ids import run_id
from skillopt_git.private import Damaged, Private, record
from skillopt_git.purse import Purse, Spent
from skillopt_git.whole import write

WEEK = timedelta(days=7)


def opened(budget: Budget, private: Private, *, now: datetime, clock: Callable[[], float] = monotonic) -> Purse:
    """The purse of a run that begins. Records of more than a week ago are removed, damaged ones kept aside."""
    for path in _files(private):
        try:
            found = record(Spent, path)
        except Damaged:
            private.aside(path)
            continue
        if found is not None and not _counts(found, now):
            path.unlink(missing_ok=True)
    own = f"{run_id(now, secrets.token_hex(4))}.json"
    return Purse(budget, week(private, now), clock, lambda spent: _keep(private, own, replace(spent, began=now)))


def week(private: Private, now: datetime) -> Spent:
    """What was spent in the seven days before. Only looks; what is damaged does not count."""
    found: list[Spent] = []
    for path in _files(private):
        with suppress(ConfigError, OSError):
            found += [item for item in (record(Spent, path),) if item is not None and _counts(item, now)]
    return Spent(
        began=min((_aware(item) for item in found), default=None),
        tokens=sum(item.tokens for item in found),
        usd=sum(item.usd for item in found),
        minutes=sum(item.minutes for item in found),
    )


def ailing(folder: Path) -> Iterator[tuple[Path, ConfigError | OSError]]:
    """The records that a run could not read, and why."""
    for path in _files(Private(folder)):
        try:
            record(Spent, path)
        except (ConfigError, OSError) as error:
            yield path, error


def _files(private: Private) -> list[Path]:
    return sorted(private.spending.glob("*.json"))


def _keep(private: Private, name: str, spent: Spent) -> None:
    private.made()
    private.spending.mkdir(mode=0o700, exist_ok=True)
    write(private.spending / name, json.dumps(schema.dump(spent)).encode(), lasting=False)


def _counts(spent: Spent, now: datetime) -> bool:
    return spent.began is not None and now - _aware(spent) < WEEK


def _aware(spent: Spent) -> datetime:
    began = spent.began or datetime.min.replace(tzinfo=UTC)
    return began if began.tzinfo else began.replace(tzinfo=UTC)
