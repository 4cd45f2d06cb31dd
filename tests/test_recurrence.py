"""How often a need came up, here and elsewhere, and what waits until it comes up again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.families import Family, Telling
from skillopt_git.model import Hint, Need, Sighting, Task
from skillopt_git.recurrence import Seen, elsewhere, recurring, replacement, seen, tally, waiting

PNPM, TABS = "n1-0000000000000001", "n1-0000000000000002"
NEEDS = {PNPM: "Use pnpm, not npm", TABS: "Use tabs, not spaces"}
DAY = datetime(2026, 11, 2, 23, 30, tzinfo=UTC)
HERE, THERE = "0000000a", "0000000b"


def task(number: int, *needs: str, session: str = "") -> Task:
    return Task(id=f"t1-{number}", ask="Add lodash", needs=needs, sessions=(session or f"s{number}",))


def sighting(need: str, session: str, *, day: int | None = 0, **fields: Any) -> Sighting:
    given: dict[str, Any] = {
        "rule": NEEDS.get(need, "Be brief"),
        "quote": "No, pnpm",
        "turn": f"turn of {session}",
        "source": "claude",
        "time": None if day is None else DAY + timedelta(days=day),
    }
    return Sighting(need=need, session=session, **given | fields)


def family(*told: Telling, name: str = "f1-a") -> Family:
    return Family(id=name, needs=(PNPM,), split="train", tasks=(), simhash=0, told=told)


def telling(run: str, *tasks: str, machine: str = THERE, needs: Sequence[str] = (PNPM,)) -> Telling:
    return Telling(machine=machine, run=run, needs=tuple(needs), tasks=tasks)


# --- counting ----------------------------------------------------------------------------------------------------


def test_a_need_counts_the_sessions_of_its_tasks_and_of_the_turns_that_voiced_it() -> None:
    """Each session once, also one that corrected several answers; a standing wish is about no task and counts."""
    tasks = (task(0, PNPM), task(1, PNPM, session="s0"), task(2, TABS))
    heard = (sighting(PNPM, "s0", day=3), sighting(PNPM, "s9", day=1), sighting(TABS, "s8"))

    found = seen(PNPM, tasks, heard, {})

    assert found == Seen(
        need=PNPM, sessions=2, tasks=2, first=DAY + timedelta(days=1), last=DAY + timedelta(days=3), machines=1
    )
    assert found.days == ("2026-11-03", "2026-11-05")


def test_the_days_are_told_once_where_they_are_one_and_not_where_no_time_is_known() -> None:
    """A task written by hand was voiced at no time."""
    assert seen(PNPM, (), (sighting(PNPM, "s1"),), {}).days == ("2026-11-02",)
    assert seen(PNPM, (task(0, PNPM),), (sighting(PNPM, "s0", day=None),), {}).days == ()


def test_each_run_of_another_machine_counts_as_one_session() -> None:
    """However many tasks it told of; the same session, known on both, only once."""
    families = (
        family(telling("r1", "t1-x"), telling("r2", "t1-y"), telling("r3", "t1-0", "t1-z")),
        family(telling("r1", "t1-w"), name="f1-b"),
    )

    told = elsewhere(families, {"t1-0"})

    assert told == {PNPM: {(THERE, "r1"), (THERE, "r2")}}
    found = seen(PNPM, (task(0, PNPM),), (), told, machine=HERE)
    assert (found.sessions, found.tasks, found.machines) == (3, 1, 2)


def test_a_session_that_two_other_machines_read_is_one() -> None:
    """The first run that told of it counts."""
    families = (family(telling("r2", "t1-x")), family(telling("r1", "t1-x", machine="0000000c"), name="f1-b"))

    assert elsewhere(families, ()) == {PNPM: {("0000000c", "r1")}}


def test_what_this_machine_told_and_has_lost_counts_on() -> None:
    """A deleted bank does not make a second machine of it; nor does what was told before machines had names."""
    lost = elsewhere([family(telling("r1", "t1-x", machine=HERE), telling("r2", "t1-y", machine=""))], ())

    found = seen(PNPM, (task(0, PNPM),), (), lost, machine=HERE)

    assert (found.sessions, found.machines) == (3, 1)
    assert seen(PNPM, (), (), lost, machine=HERE).machines == 1


@given(st.lists(st.tuples(st.sampled_from([PNPM, TABS]), st.integers(0, 5), st.booleans()), max_size=12))
def test_all_needs_are_counted_at_once_as_each_is_alone(drawn: list[tuple[str, int, bool]]) -> None:
    """Looking at every task and turn once gives what looking at them for each need gives."""
    tasks = [task(at, need, session=f"s{number}") for at, (need, number, own) in enumerate(drawn) if own]
    heard = [sighting(need, f"s{number}", day=number) for need, number, own in drawn if not own]
    told = elsewhere([family(telling("r1", "t1-x"))], ())

    counts = tally(tasks, heard, told, machine=HERE)

    assert set(counts) == {need for need, _, _ in drawn}
    assert all(counts[need] == seen(need, tasks, heard, told, machine=HERE) for need in counts)


# --- recurring and waiting ---------------------------------------------------------------------------------------


def counts(**sessions: int) -> dict[str, Seen]:
    ids = {"pnpm": PNPM, "tabs": TABS}
    return {ids[name]: Seen(need=ids[name], sessions=count, tasks=1) for name, count in sessions.items()}


def test_a_need_recurs_from_the_least_number_of_sessions_on() -> None:
    """In the order of ids; one nobody voiced here does not."""
    assert recurring(NEEDS, counts(tabs=2, pnpm=3), min_sessions=2) == (
        Need(PNPM, NEEDS[PNPM]),
        Need(TABS, NEEDS[TABS]),
    )
    assert recurring(NEEDS, counts(pnpm=3), min_sessions=2) == (Need(PNPM, NEEDS[PNPM]),)
    assert recurring(NEEDS, counts(pnpm=3, tabs=2), min_sessions=4) == ()


def test_a_need_that_a_later_wish_replaced_never_recurs_and_does_not_wait() -> None:
    """However often it was voiced before."""
    found = counts(pnpm=9, tabs=1)
    assert recurring(NEEDS, found, min_sessions=1, replaced={PNPM: TABS}) == (Need(TABS, NEEDS[TABS]),)
    assert waiting(NEEDS, found, (), min_sessions=10, replaced={PNPM: TABS}) == (found[TABS],)


def test_what_was_seen_too_rarely_waits() -> None:
    """Needs with their counts, and each turn that asks for something and is alone in it; a mere remark is not told."""
    hint = Hint(sighting=sighting("", "s7"), task=task(7), asks=True)
    remark = Hint(sighting=sighting("", "s8"), task=task(8))

    found = waiting(NEEDS, counts(pnpm=1, tabs=2), (hint, remark), min_sessions=2)

    assert [(item.need, item.sessions, item.days) for item in found] == [(PNPM, 1, ()), ("", 1, ("2026-11-02",))]


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5), st.sets(st.sampled_from([PNPM, TABS])))
def test_a_need_recurs_or_waits_or_is_replaced(pnpm: int, tabs: int, least: int, gone: set[str]) -> None:
    """Always one of the three."""
    found = counts(pnpm=pnpm, tabs=tabs)
    often = {need.id for need in recurring(NEEDS, found, min_sessions=least, replaced=gone)}
    rare = {item.need for item in waiting(NEEDS, found, (), min_sessions=least, replaced=gone)}

    assert not often & rare
    assert often | rare | gone == set(NEEDS)
    assert not (often | rare) & gone


def test_a_replacement_is_told_with_the_days_both_were_last_voiced() -> None:
    """The later wish first; without a day where none is known."""
    needs = {PNPM: "Use pnpm, not npm", TABS: "Use npm, not pnpm"}
    found = tally((), (sighting(PNPM, "s1"), sighting(TABS, "s2", day=18), sighting(TABS, "s3", day=9)), {})

    assert (
        replacement(PNPM, {PNPM: TABS}, needs, found)
        == "`Use npm, not pnpm` (2026-11-20) replaces `Use pnpm, not npm` (2026-11-02)"
    )
    assert replacement(PNPM, {PNPM: TABS}, needs, {}) == "`Use npm, not pnpm` replaces `Use pnpm, not npm`"
