"""What of a home is new, and what will be new the next time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.window import Window

NOW = datetime(2026, 11, 29, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)
TIMES = st.integers(0, 100).map(lambda hours: NOW - hours * HOUR)


def test_a_window_that_was_read_through_moves_to_now() -> None:
    """And forgets what was read before it, which nobody asks for any more."""
    window = Window(NOW - 9 * HOUR, {"a": NOW - 8 * HOUR})

    assert window.after(NOW, {"b": NOW - HOUR}, left=None, failed=False) == Window(NOW)


def test_what_was_left_holds_it_back() -> None:
    """What was read after that is remembered, so that it is not read again."""
    window = Window(NOW - 9 * HOUR, {"a": NOW - 8 * HOUR, "old": NOW - 9 * HOUR})
    after = window.after(NOW, {"b": NOW - HOUR}, left=NOW - 8 * HOUR, failed=False)

    assert after == Window(NOW - 8 * HOUR, {"a": NOW - 8 * HOUR, "b": NOW - HOUR})


def test_what_failed_keeps_it_where_it_was() -> None:
    """All of it may be younger than anything we saw; of a window over everything nothing is forgotten."""
    read = {"b": NOW - HOUR}

    assert Window(NOW - 9 * HOUR).after(NOW, read, left=NOW - HOUR, failed=True) == Window(NOW - 9 * HOUR, read)
    assert Window(None, {"a": NOW}).after(NOW, read, left=None, failed=True) == Window(None, {"a": NOW, **read})


def test_a_clock_that_is_ahead_is_remembered() -> None:
    """Such a session is in the next window, too, and is not read twice for it."""
    assert Window().after(NOW, {"a": NOW + HOUR}, left=NOW + HOUR, failed=False) == Window(NOW, {"a": NOW + HOUR})


@given(
    st.none() | TIMES,
    st.none() | TIMES,
    st.none() | TIMES,
    st.booleans(),
    st.dictionaries(st.text(), TIMES, max_size=5),
)
def test_a_window_moves_over_nothing_unread(
    start: datetime | None, known: datetime | None, left: datetime | None, failed: bool, read: dict[str, datetime]
) -> None:
    """Whatever was left, failed, or lay before tonight's window is in the next; what was read in it is remembered."""
    tonight = Window(start, known=Window(known) if known else None)
    if left is not None and start is not None:
        left = max(left, start)
    after = tonight.after(NOW, read, left=left, failed=failed)
    unread = [
        NOW,
        *filter(None, [left, known if start and known and known < start else None, start if failed else None]),
    ]

    assert after.since is None or after.since <= min(unread)
    assert after.since is not None or (failed and start is None)
    assert after.read == {name: last for name, last in read.items() if after.since is None or last >= after.since}
