"""From sessions and files to the tasks of a night, and which of them are replayed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from skillopt_git.backends.scripted import Scripted
from skillopt_git.bank import Bank
from skillopt_git.config import Config, Mine
from skillopt_git.cycle import Inputs, Reading, gather
from skillopt_git.ids import need_id
from skillopt_git.learned import Known, Learned, Teachable
from skillopt_git.model import Check, Event, Reason, Session, Sighting, Skipped, TasksFile, Turn
from skillopt_git.modelmine import Told
from skillopt_git.ports import Harvested, LearningEvent, Mined, Scanned
from skillopt_git.recall import History, recall
from skillopt_git.record import events_of
from skillopt_git.stamp import Stamp
from skillopt_git.window import Window
from tests.found import EVERYWHERE, Fixed, Hiding, Memory
from tests.learning import (
    ASKS,
    NEEDS,
    NOW,
    RULE,
    RUN,
    SKILL,
    TICKET,
    acts,
    document,
    found,
    models,
    night,
    task,
    usual,
)

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def session(number: int, correction: str, answer: str = "Ran npm.") -> Session:
    """A conversation in which the answer to ask `number` was corrected."""
    said = (("prompt", ASKS[number]), ("answer", answer), ("prompt", correction), ("answer", "Ran pnpm."))
    ended = NOW - timedelta(hours=1, minutes=number)
    return Session(
        id=f"s{number}",
        source="claude",
        path=f"/s{number}.jsonl",
        cwd="/home/alice/acme-api",
        ended=ended,
        started=ended,
        turns=tuple(
            Turn(id=f"s{number}-{at}", kind=kind, text=text)  # type: ignore[arg-type]
            for at, (kind, text) in enumerate(said)
        ),
    )


def reading(*pieces: Session | Skipped, **fields: Any) -> Reading:
    given: dict[str, Any] = {
        "sources": (Fixed(pieces),),
        "scope": EVERYWHERE,
        "window": lambda _: Window(),
        "index": Memory(),
        "redact": Hiding(SECRET, "[REDACTED:github-pat:0a1b2c3d]"),
        "headless": "keep",
        "limit": 100,
    }
    return Reading(**given | fields)


def known(
    *pieces: Session,
    bank: Bank = Bank(),  # noqa: B008 - frozen
    files: tuple[TasksFile, ...] = (),
    heard: list[LearningEvent] | None = None,
    history: History = History(),  # noqa: B008 - frozen
    machine: str = "",
) -> Known:
    inputs = Inputs(
        reading=reading(*pieces) if pieces else None,
        bank=bank,
        files=files,
        teachable=Teachable(skill=None, memory=None, general_to_memory=True),
        history=history,
        night=RUN,
        machine=machine,
    )
    return gather(inputs, config=Config(), now=NOW, notify=([] if heard is None else heard).append)


MODELS = models(Scripted(script=acts()), ())
CORRECTED = tuple(session(number, "No, use pnpm, not npm") for number in range(4))


# --- from sessions -----------------------------------------------------------------------------------------------


def test_a_night_on_sessions_learns_what_was_asked_for_again() -> None:
    """Read, mined, replayed, worded from training tasks, proven on the others."""
    learned = night(reading=reading(*CORRECTED), script=acts())

    assert found(learned) == [(SKILL, RULE, "strong")]
    assert learned.known.harvest is not None
    assert len(learned.known.harvest.sessions) == 4
    assert sorted(str(item.split) for item in learned.known.tasks) == ["train", "train", "val", "val"]
    assert len(learned.known.families) == 4


def test_secrets_do_not_get_past_the_reading() -> None:
    """Neither into a task nor into any question."""
    backend = Scripted(script=acts())
    leaky = session(4, "No, use pnpm, not npm", f"Ran npm with {SECRET}.")
    leaky = replace(leaky, turns=(replace(leaky.turns[0], text=f"Log in with {SECRET} and install"), *leaky.turns[1:]))

    learned = night(reading=reading(*CORRECTED, leaky), backend=backend)

    assert len(learned.known.tasks) == 5
    assert SECRET not in repr(learned)
    assert SECRET not in repr(backend.asked)


def test_what_is_known_is_told() -> None:
    """How many sessions were read and skipped, how many tasks and needs there are."""
    heard: list[LearningEvent] = []
    known(*CORRECTED, heard=heard)
    assert heard == [*(Scanned(done, 4) for done in range(1, 5)), Harvested(4, 0), Mined(4, 1)]


def test_reading_the_same_sessions_again_adds_nothing() -> None:
    """Tasks, needs and families of the second night are those of the first."""
    first = known(*CORRECTED)
    second = known(*CORRECTED, bank=first.bank)
    assert second.tasks == first.tasks
    assert second.bank == first.bank


def test_tasks_of_files_do_not_become_private() -> None:
    """Both are used together; the private bank keeps its own tasks and needs, and of a task in both its own."""
    private = known(*CORRECTED)
    twin = replace(private.tasks[0], ask="Something else")
    file = TasksFile(v=1, reviewed=True, needs=NEEDS, tasks=(task(5, needs=(TICKET,)), twin))

    both = known(bank=private.bank, files=(file,))

    assert {item.id for item in both.tasks} == {item.id for item in private.tasks} | {task(5).id}
    assert both.bank.tasks == private.bank.tasks
    assert set(both.bank.needs) == set(private.bank.needs)
    assert set(both.needs) == set(private.needs) | set(NEEDS)


def test_what_people_reviewed_words_the_need() -> None:
    """A reviewed file's rule text stands over the words that were mined."""
    private = known(*CORRECTED)
    (need,) = private.needs
    file = TasksFile(v=1, reviewed=True, needs={need: "Use pnpm for every package command"}, tasks=())

    both = known(*CORRECTED, bank=private.bank, files=(file,))

    assert both.needs == {need: "Use pnpm for every package command"}


# --- what stays here ---------------------------------------------------------------------------------------------


def test_what_is_personal_stays_in_the_bank() -> None:
    """Neither the task nor its need is known to the night; another task that shows the need stays here with it."""
    first = known(*CORRECTED[:2], session(5, "No, use tabs, not spaces"))
    tabs = need_id("Use tabs, not spaces")
    own = tuple(replace(item, personal=tabs in item.needs) for item in first.bank.tasks)
    backend = Scripted(script=acts())

    learned = night(
        bank=replace(first.bank, tasks=own),
        reading=reading(session(6, "No, use tabs, not spaces")),
        backend=backend,
    )

    assert set(learned.known.needs.values()) == {RULE}
    assert {need for item in learned.known.tasks for need in item.needs} == {need_id(RULE)}
    assert all(tabs not in item.needs for item in learned.known.families)
    assert [need for item in learned.known.bank.tasks for need in item.needs].count(tabs) == 2
    assert learned.known.bank.needs[tabs] == "Use tabs, not spaces"
    assert "2 tasks are personal and stay here" in learned.notes
    assert not any("tabs" in repr(request) for request in backend.asked)
    one = night(bank=replace(first.bank, tasks=own))
    assert "1 task is personal and stays here" in one.notes


def test_a_task_that_a_person_put_out_is_not_known() -> None:
    """Nor does what was said about it count; one that others share is passed over on this machine."""
    first = known(*CORRECTED)
    gone = first.bank.tasks[0]
    bank = replace(first.bank, tasks=first.bank.tasks[1:], dropped=(gone.id, task(5).id))
    file = TasksFile(v=1, reviewed=True, needs=NEEDS, tasks=(task(5), task(6, needs=(TICKET,))))

    again = known(*CORRECTED, bank=bank, files=(file,))

    assert {item.id for item in again.tasks} == {item.id for item in first.tasks[1:]} | {task(6).id}
    assert again.counts[need_id(RULE)].sessions == 3
    told = ledger(("r1", "0000000a", first))
    assert known(*CORRECTED, bank=bank, history=told, machine="0000000a").counts[need_id(RULE)].sessions == 3


# --- over nights and machines ------------------------------------------------------------------------------------


def ledger(*nights: tuple[str, str, Known]) -> History:
    """What the ledger says after these: of each its run, its machine, and what it knew."""
    events: list[Event] = []
    for run, machine, before in nights:
        learned = Learned(reason="gate", known=replace(before, machine=machine), models=MODELS)
        events += events_of(learned, Stamp(run=run, now=NOW, simulated=False), None, 1)
    return recall(events, simulated=False)


def test_another_machines_session_makes_a_need_recur() -> None:
    """Once here, once there: twice. The session that both have read is one."""
    there = known(CORRECTED[0], CORRECTED[1])
    history = ledger(("r1", "0000000b", there))

    learned = night(reading=reading(CORRECTED[0], CORRECTED[2]), history=history)
    same = night(reading=reading(CORRECTED[0]), history=ledger(("r1", "0000000b", known(CORRECTED[0]))))

    (count,) = learned.known.counts.values()
    assert (count.sessions, count.tasks, count.machines) == (3, 2, 2)
    assert learned.reason != "nothing_recurred"
    assert same.reason == "nothing_recurred"


def test_a_need_seen_only_elsewhere_is_nothing_to_learn_from() -> None:
    """There is no task for it here."""
    history = ledger(("r1", "0000000b", known(*CORRECTED)))

    learned = night(reading=reading(session(5, "No, use tabs, not spaces")), history=history)

    assert learned.reason == "nothing_recurred"
    assert set(learned.known.needs.values()) == {"Use tabs, not spaces"}


def test_a_need_of_the_ledger_is_joined() -> None:
    """Where nothing here words it; what the bank says stands before it."""
    own = need_id(RULE)
    history = History(worded={"n1-elsewhere": RULE})
    assert own != "n1-elsewhere"

    joined = known(*CORRECTED, history=history)
    older = known(*CORRECTED, history=replace(history, worded={own: "Take pnpm"}), bank=known(*CORRECTED).bank)

    assert joined.needs == {"n1-elsewhere": RULE}
    assert joined.bank.needs == joined.needs
    assert {need for item in joined.tasks for need in item.needs} == {"n1-elsewhere"}
    assert older.needs == {own: RULE}


def test_a_model_is_told_of_wishes_that_were_heard_elsewhere() -> None:
    """In the ledger, where one may have been turned down, in a file and here: it words them as they were."""
    finnish, file, here = ("Kirjoita kommentit suomeksi", "Nimeä haarat tiketin mukaan", "Aja testit ensin")
    told: list[str] = []

    def asks(_: Sequence[Session], known: Iterable[str]) -> Told:
        told.extend(known)
        return Told()

    inputs = Inputs(
        reading=reading(*CORRECTED),
        bank=Bank(needs={"n1-1": here}),
        files=(TasksFile(v=1, reviewed=True, needs={"n1-2": file}, tasks=()),),
        teachable=Teachable(skill=None, memory=None, general_to_memory=True),
        history=History(worded={"n1-3": finnish}),
        night=RUN,
    )
    gather(inputs, config=Config(), now=NOW, notify=lambda _: None, asks=asks)

    assert sorted(told) == sorted([finnish, file, here])


def test_a_month_of_nights_is_rebuilt_from_sessions_and_ledger() -> None:
    """The bank is deleted and everything read again: the same needs, families and splits, and the same counts."""
    told: list[tuple[str, str, Known]] = []
    bank = Bank()
    for number in range(len(ASKS)):
        pieces = (session(number, "No, use pnpm, not npm" if number % 3 else "No, use tabs, not spaces"),)
        history = ledger(*told)
        last = known(*pieces, bank=bank, history=history, machine="0000000a")
        told.append((f"r{number:02}", "0000000a", last))
        bank = last.bank
    before = {item.id: (item.family, item.split, item.needs) for item in bank.tasks}
    assert {split for _, split, _ in before.values()} == {"train", "val"}

    every = (
        session(number, "No, use pnpm, not npm" if number % 3 else "No, use tabs, not spaces")
        for number in range(len(ASKS))
    )
    rebuilt = known(*every, history=ledger(*told), machine="0000000a")

    assert {item.id: (item.family, item.split, item.needs) for item in rebuilt.tasks} == before
    assert rebuilt.families == ()
    assert rebuilt.counts == last.counts
    assert rebuilt.bank.needs == bank.needs


def test_a_wish_that_contradicts_an_earlier_one_replaces_it() -> None:
    """The earlier one never recurs, its tasks are not replayed, and the night says so once, with both days."""
    first = known(*CORRECTED)
    turned = [session(number, "No, use npm, not pnpm", "Ran pnpm.") for number in (5, 6)]
    later = [replace(item, ended=NOW, started=NOW) for item in turned]

    learned = night(bank=first.bank, reading=reading(*later))
    again = night(bank=learned.known.bank)

    old, new = need_id(RULE), need_id("Use npm, not pnpm")
    assert learned.known.bank.replaced == {old: new}
    assert "`Use npm, not pnpm` (2026-11-29) replaces `Use pnpm, not npm` (2026-11-29)" in learned.notes
    assert not any("replaces" in note for note in again.notes)
    assert {need for item in learned.replayed for need in item.needs} == {new}
    assert "4 tasks left out: a later wish replaced what was asked for then" in learned.notes
    assert all(edit.text != RULE for item in learned.candidates for edit in item.edits)


def test_an_earlier_wish_that_is_read_late_replaces_nothing() -> None:
    """A session that arrives from elsewhere is older than what was said since."""
    first = known(*CORRECTED)
    late = [session(number, "No, use npm, not pnpm", "Ran pnpm.") for number in (5, 6)]

    learned = night(bank=first.bank, reading=reading(*late))

    assert learned.known.bank.replaced == {need_id("Use npm, not pnpm"): need_id(RULE)}


# --- nothing to learn --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ((), "no_sessions"),
        ((session(0, "Thanks, that is all"),), "no_tasks"),
        ((session(0, "No, use pnpm, not npm"),), "nothing_recurred"),
        ((session(0, "No, use pnpm, not npm"), session(1, "No, use tabs, not spaces")), "nothing_recurred"),
    ],
)
def test_a_night_with_nothing_to_learn_says_why(pieces: tuple[Session, ...], reason: Reason) -> None:
    """No model is asked anything, and nothing is a number."""
    backend = Scripted(script=acts())

    learned = night(reading=reading(*pieces), backend=backend)

    assert learned.reason == reason
    assert backend.asked == []
    assert (learned.baseline, learned.verdict, learned.replayed) == (None, None, ())


def test_without_sessions_to_read_and_without_tasks_there_are_no_tasks() -> None:
    """No sessions were looked for, so their absence is not the reason."""
    assert night().reason == "no_tasks"


def test_wishes_that_wait_to_recur_are_told_with_their_sessions() -> None:
    """Seen once: not yet a rule."""
    learned = night(reading=reading(*CORRECTED, session(5, "No, use tabs, not spaces")))
    told = [(learned.known.needs[item.need], item.sessions, item.days) for item in learned.waiting]
    assert told == [("Use tabs, not spaces", 1, ("2026-11-29",))]


def test_known_tasks_are_learned_from_on_a_night_without_sessions() -> None:
    """The bank remembers them."""
    learned = night(reading=reading(), bank=known(*CORRECTED).bank)
    assert learned.reason == "improved"


# --- which tasks -------------------------------------------------------------------------------------------------


def test_tasks_that_cannot_be_replayed_are_left_out_with_a_reason_each() -> None:
    """Each is counted once, for the first reason: nothing to judge by, or not to be acted out."""
    mute = task(5, checks=())
    broken = task(6, checks=(Check(op="regex", arg="("),))
    strange = task(7)
    backend = Scripted(script=acts())

    learned = night(*usual(), mute, broken, strange, backend=backend, skipped={strange.id: "too odd", mute.id: "mute"})

    assert "2 tasks left out: nothing to check an answer by" in learned.notes
    assert "1 task left out: too odd" in learned.notes
    assert {ASKS[5], ASKS[6], ASKS[7]} & {request.ask for request in backend.asked} == set()
    assert learned.verdict == "strong"


def test_a_task_that_sits_out_is_not_replayed() -> None:
    """Its ask is near one that is trained on and one that is held out."""
    bank = Bank(
        tasks=(
            replace(task(0, "train"), ask="Add lodash to the web package now"),
            replace(task(1), ask="Add lodash to the web package, ok"),
            replace(task(2), ask="Add lodash to the web package no", family=None, split=None),
            *usual()[3:],
        ),
        needs=NEEDS,
    )
    backend = Scripted(script=acts())

    learned = night(bank=bank, backend=backend)

    assert "1 task left out: near asks that are trained on and others that are held out" in learned.notes
    assert [item.ask for item in backend.asked if item.ask.endswith(" no")] == []


def test_tasks_of_the_most_wanted_needs_come_first_under_the_cap() -> None:
    """What is over the cap is counted, and not replayed."""
    rare = (task(5, "train", TICKET), task(6, "val", TICKET))

    learned = night(*rare, *usual(), mine=Mine(max_tasks=5))

    assert {item.id for item in learned.replayed} == {item.id for item in usual()}
    assert "2 tasks over mine.max_tasks, not replayed" in learned.notes
    assert not any("max_tasks" in note for note in night(*rare, *usual()).notes)


def test_the_filter_keeps_tasks_of_the_target_skill() -> None:
    """Those that used it, under its own or its plugin's name, and those that share its words."""
    mine = Mine(target_task_filter=True, max_tasks=4)
    used = (task(0, "train", skills=("learned",)), task(1, skills=("acme:learned",)))
    like = (task(2, ask="Publish the package to the registry"), task(3, ask="What does this package have?"))
    skill = document(SKILL, "Publish every package to the registry")

    learned = night(*used, *like, task(4), task(5), skill=skill, mine=mine)

    assert {item.id for item in learned.replayed} == {item.id for item in (*used, like[0])}
    assert "3 tasks left out: not about the target skill" in learned.notes
    everything = night(*used, *like, task(4), task(5), skill=skill, mine=Mine(max_tasks=10))
    assert len(everything.replayed) == 6
    without = night(*used, *like, skill=None, mine=mine)
    assert len(without.replayed) == 4


def test_the_filter_looks_at_three_times_the_cap() -> None:
    """What lies beyond is over the cap, whatever it is about."""
    tasks = [task(number, "train" if number % 3 == 0 else "val", skills=("learned",)) for number in range(8)]

    learned = night(*tasks, mine=Mine(target_task_filter=True, max_tasks=2))

    assert len(learned.replayed) == 2
    assert "6 tasks over mine.max_tasks, not replayed" in learned.notes


def test_recurrence_counts_every_task() -> None:
    """Also held-out ones, and sessions rather than tasks."""
    pair = (task(0, "train", sessions=("s1",)), task(1, sessions=("s1",)))
    assert night(*pair).reason == "nothing_recurred"
    assert night(task(0, "train"), task(1)).reason == "improved"
    assert night(task(0, "train"), task(1), mine=Mine(min_sessions=3)).reason == "nothing_recurred"


def test_the_questions_of_a_night_are_in_the_order_of_its_tasks() -> None:
    """So that two runs on the same things are the same run."""
    one, other = Scripted(script=acts()), Scripted(script=acts())
    night(*usual(), backend=one)
    night(*usual(), backend=other)
    assert one.asked == other.asked
    assert [item.ask for item in one.asked[:2]] == [ASKS[0], ASKS[1]]


def test_tasks_judged_by_shape_alone_are_noted() -> None:
    """A heading or a length is easy to satisfy: whoever reads the figures should know."""
    shape = (Check(op="max_chars", arg=100), Check(op="regex", arg="^#", role="shape"))
    learned = night(task(0, "train", checks=shape), task(1, checks=shape), task(2))

    assert "2 tasks judged by shape alone (lengths, headings): a gain on them says little" in learned.notes
    assert not any("shape" in note for note in night(*usual()).notes)


# --- only what people reviewed -----------------------------------------------------------------------------------


def heard(backend: Scripted) -> str:
    return "\n".join(f"{item.ask}\n{item.context}\n{item.documents}" for item in backend.asked)


def test_no_ask_that_nobody_reviewed_is_recalled() -> None:
    """However near it is to a reviewed one; where mined tasks may go out, it is."""
    near = task(8, "train", TICKET, ask=f"{ASKS[0]}, please")
    mined = Bank(tasks=(near,), needs={TICKET: NEEDS[TICKET]})
    open_, closed = Scripted(script=acts()), Scripted(script=acts())

    night(*usual(), bank=mined, backend=open_, memory=None)
    night(*usual(), bank=mined, backend=closed, memory=None, only_reviewed=True)

    assert near.ask in heard(open_)
    assert near.ask not in heard(closed)
    assert "reflect" in {item.purpose for item in closed.asked}


def test_a_wish_that_nobody_reviewed_is_not_told_though_a_reviewed_task_voices_it() -> None:
    """The task's own words are reviewed; what else it was mined for is not, nor other words for a reviewed wish."""
    secret, private = "Never tell Globex about their invoice", "n1-00000000000000ff"
    mine = tuple(replace(item, needs=(*item.needs, private)) for item in usual())
    bank = Bank(
        tasks=mine,
        needs={private: secret, mine[0].needs[0]: "Use pnpm as Globex does"},
        sightings=tuple(
            Sighting(
                need=need,
                rule=rule,
                quote=rule,
                turn=f"{item.id}-{need}",
                session=item.sessions[0],
                source="claude",
                task=item.id,
            )
            for item in mine
            for need, rule in ((private, secret), (item.needs[0], "Use pnpm as Globex does"))
        ),
    )
    open_, closed = Scripted(script=acts()), Scripted(script=acts())

    night(*usual(), bank=bank, backend=open_, memory=None)
    learned = night(*usual(), bank=bank, backend=closed, memory=None, only_reviewed=True)

    assert secret in heard(open_)
    assert "Globex" not in heard(closed)
    assert [item.need.id for item in learned.reflections] == [mine[0].needs[0]]
    assert any("1 wish left out: in no reviewed tasks file" in note for note in learned.notes)
