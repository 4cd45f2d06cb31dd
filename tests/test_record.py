"""What a night says to the ledger: which events, with which ids, and that no text of a session is among it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

from skillopt_git.bank import Bank
from skillopt_git.ids import event_id
from skillopt_git.learned import Learned
from skillopt_git.ledger import evidence_name
from skillopt_git.model import Sighting
from skillopt_git.record import Placement, events_of, evidence_of
from skillopt_git.schema import dump
from skillopt_git.stamp import Stamp, event
from skillopt_git.targets import Base
from tests import learning
from tests.learning import ASKS, OTHER, PNPM, RULE, TICKET, acts, edits, night, task, usual

BASE = Base("main", "b" * 40)
BRANCH = "sleep/2026-11-29"


def stamp(number: int = 1, *, simulated: bool = False) -> Stamp:
    return Stamp(run=f"20261129T030000Z-{number:08x}", now=learning.NOW, simulated=simulated)


def placed(learned: Learned) -> Placement:
    return Placement(branch=BRANCH, base=BASE, before=3, candidates=learned.accepted, ends=("x" * 16,))


def test_an_event_is_named_by_type_subject_and_cause() -> None:
    """The run is the cause unless something else is; when it was seen, and by whom, makes no difference."""
    first = event("adopted", [BRANCH, "e1-a"], stamp(1), cause="c" * 40)
    later = Stamp(run="r", now=learning.NOW + timedelta(days=1), simulated=True)

    assert first.id == event("adopted", [BRANCH, "e1-a"], later, cause="c" * 40).id
    assert first.id == event_id("adopted", [BRANCH, "e1-a"], "c" * 40)
    assert event("run", "r", stamp(1)).id != event("run", "r", stamp(2)).id


def test_times_are_told_in_utc() -> None:
    """Whatever zone the clock speaks."""
    there = datetime(2026, 11, 29, 5, tzinfo=timezone(timedelta(hours=2)))

    assert Stamp(run="r", now=there, simulated=False).ts == "2026-11-29T03:00:00Z"
    assert Stamp(run="r", now=there.astimezone(UTC), simulated=False).ts == "2026-11-29T03:00:00Z"


def test_a_night_tells_run_families_trials_and_what_it_proposes() -> None:
    """In that order; the proposed edits in the order of their commits, after those that are there."""
    learned = night(*usual(), task(5, "train", TICKET), task(6, "val", TICKET))

    events = events_of(learned, stamp(), placed(learned), night=4)

    types = [item.type for item in events]
    families = len(learned.known.families)
    assert types == ["run", *["family"] * families, *["trial", "gate"] * 2, *["proposed"] * 2]
    assert len({item.id for item in events}) == len(events)
    assert events[0].data["night"] == 4
    assert events[0].data["sessions"] == 0
    proposed = events[-2:]
    assert {item.text for item in proposed} == {RULE, OTHER}
    assert [item.data["position"] for item in proposed] == [3, 4]
    assert all(item.data["ends"] == ["x" * 16] for item in proposed)
    names = {evidence_name(item) for item in evidence_of(learned)}
    assert {item.data["evidence"] for item in proposed} == names


def test_a_refused_rule_is_told_by_id_and_fingerprint_only() -> None:
    """And no text of a session goes into the ledger at all."""
    learned = night(*usual())

    events = events_of(learned, stamp(), None, night=1)

    told = " ".join(str(dump(item)) for item in events)
    assert not any(item.type == "proposed" for item in events)
    assert RULE not in told
    assert not any(ask in told for ask in ASKS)
    (gate,) = [item for item in events if item.type == "gate"]
    assert len(gate.data["simhash"]) == 16


def test_a_reason_that_repeats_what_somebody_typed_is_not_published() -> None:
    """Nor is any other part of it; a reason that says no more than the rule stays."""
    typed = "nope, we are a pnpm house"
    heard = tuple(
        Sighting(need=PNPM, rule=RULE, quote=quote, turn=quote, session="s0", source="claude")
        for quote in (f"{typed.capitalize()}!", f"{RULE}.")
    )

    def reasons(reason: str) -> set[str | None]:
        script = acts(optimizer=lambda _: edits({"op": "add", "text": RULE, "reason": reason}))
        learned = night(*usual(), script=script, bank=Bank(sightings=heard))
        events = events_of(learned, stamp(), placed(learned), night=1)
        assert not any(typed in str(dump(item)).casefold() for item in events)
        return {item.reason for item in events if item.type == "proposed"}

    assert reasons(f'They said "{typed}" twice.') == {""}
    assert reasons(f"Twice: {RULE}") == {f"Twice: {RULE}"}


def test_a_family_is_told_with_the_machine_that_met_it() -> None:
    """Under its random name, and under none where it has none."""
    learned = night(*usual())
    named = replace(learned, known=replace(learned.known, machine="0a1b2c3d"))

    def machines(found: Learned) -> set[object]:
        return {item.data.get("machine") for item in events_of(found, stamp(), None, 1) if item.type == "family"}

    assert machines(named) == {"0a1b2c3d"}
    assert machines(learned) == {None}


def test_what_was_never_measured_has_no_trial() -> None:
    """An unverified rule is told by its gate event alone."""
    learned = night(task(0, "train"), task(1, "train"))

    events = events_of(learned, stamp(), None, night=1)

    assert [item.data["verdict"] for item in events if item.type == "gate"] == ["unverified"]
    assert not any(item.type == "trial" for item in events)
    assert evidence_of(learned) == ()


def test_a_simulated_night_has_no_number() -> None:
    """And each of its events is marked."""
    learned = night(*usual())

    events = events_of(learned, stamp(simulated=True), placed(learned), night=1)

    assert all(item.simulated for item in events)
    assert {item.data["night"] for item in events if item.type in ("run", "proposed")} == {None}
