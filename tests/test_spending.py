from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from skillopt_git import spending
from skillopt_git.config import Budget
from skillopt_git.errors import ConfigError
from skillopt_git.private import Damaged, Private
from skillopt_git.purse import Amount, Purse, Spent

NOW = datetime(2026, 11, 29, 3, tzinfo=UTC)


@pytest.fixture
def private(tmp_path: Path) -> Private:
    return Private(tmp_path / "skillopt")


def spend(purse: Purse, tokens: int, usd: float = 0.0) -> None:
    amount = Amount(tokens, usd)
    assert purse.take([amount]) == 1
    purse.settle([amount], [amount])


def run(private: Private, tokens: int, usd: float = 0.0, *, at: datetime = NOW) -> None:
    spend(spending.opened(Budget(), private, now=at), tokens, usd)


def test_runs_of_seven_days_count_together(private: Private) -> None:
    """Each from the time it began; those of before are removed by the next run."""
    run(private, 100, 0.5, at=NOW - timedelta(days=7))
    run(private, 20, 0.25, at=NOW - timedelta(days=6, hours=23))
    run(private, 3, at=NOW - timedelta(hours=1))

    found = spending.week(private, NOW)
    assert (found.began, found.tokens, found.usd) == (NOW - timedelta(days=6, hours=23), 23, 0.25)
    assert len(list(private.spending.iterdir())) == 3
    assert spending.opened(Budget(), private, now=NOW).before.tokens == 23
    assert len(list(private.spending.iterdir())) == 2


def test_a_run_writes_its_own_file_and_nothing_before_it_spends(private: Private) -> None:
    """So that two at a time lose nothing of each other; for its owner's eyes only."""
    minutes = [0.0]
    one = spending.opened(Budget(), private, now=NOW, clock=lambda: minutes[0])
    other = spending.opened(Budget(), private, now=NOW)
    assert not private.folder.exists()

    spend(one, 5)
    minutes[0] = 120.0
    spend(one, 7)
    spend(other, 11)

    told = sorted(json.loads(path.read_text())["tokens"] for path in private.spending.iterdir())
    assert told == [11, 12]
    assert spending.week(private, NOW).minutes == pytest.approx(2, abs=0.1)
    assert stat.S_IMODE(private.spending.stat().st_mode) == 0o700


def test_what_is_damaged_counts_for_nothing_and_is_kept_aside_by_a_run(private: Private) -> None:
    """Who only looks leaves it where it is."""
    run(private, 10)
    run(private, 20)
    damaged, _ = sorted(private.spending.iterdir())
    left = 30 - json.loads(damaged.read_text())["tokens"]
    damaged.write_text('{"v": 1, "tokens": "many"}')

    assert spending.week(private, NOW).tokens == left
    ((path, error),) = spending.ailing(private.folder)
    assert (path, type(error)) == (damaged, Damaged)
    assert damaged.exists()
    assert spending.opened(Budget(), private, now=NOW).before.tokens == left
    assert not damaged.exists()
    assert "spent/" in private.notes[0]
    assert list(spending.ailing(private.folder)) == []


def test_a_record_of_a_newer_tool_stops_a_run(private: Private) -> None:
    """It is not damaged, and what it says of the week must not be lost."""
    run(private, 10)
    (path,) = private.spending.iterdir()
    path.write_text('{"v": 2}')
    with pytest.raises(ConfigError, match="newer tool"):
        spending.opened(Budget(), private, now=NOW)
    assert spending.week(private, NOW) == Spent()


def test_a_record_without_a_beginning_or_a_zone(private: Private) -> None:
    """Only a person can have written them: the first is of no week, the second of UTC."""
    run(private, 10)
    (path,) = private.spending.iterdir()
    path.write_text('{"v": 1, "tokens": 5, "began": "2026-11-28T03:00:00"}')
    assert spending.week(private, NOW).tokens == 5
    path.write_text('{"v": 1, "tokens": 5}')
    assert spending.week(private, NOW).tokens == 0


def test_an_empty_clone_has_spent_nothing(private: Private) -> None:
    assert spending.week(private, NOW) == Spent()
    assert not private.folder.exists()
