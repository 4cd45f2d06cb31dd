from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.bank import Admitted, Bank, admit, merge, next_split, shareable
from skillopt_git.config import Mine
from skillopt_git.families import Family
from skillopt_git.ids import event_id, family_id
from skillopt_git.mine import Mined
from skillopt_git.model import Check, Event, Examples, Hint, Sighting, Split, Task
from skillopt_git.recall import recall
from skillopt_git.similarity import hamming, simhash, similarity

MINE = Mine()
ASKS = (
    "Add lodash to the web package",
    "What does the checkout service do?",
    "Fix the flaky login test before the release",
    "Write a parser for ISO dates",
    "Rename the tax module and update its callers",
    "Explain the difference between both queues",
    "Draw the class diagram of the billing domain",
    "Upgrade react to version 19",
)
LONG = "Please add the date-fns dependency to the web package and use it in the header of the page."


def task(id_: str, ask: str, *needs: str, **fields: Any) -> Task:
    return Task(id=id_, ask=ask, needs=needs, **fields)


def tasks_of(need: str, count: int = len(ASKS)) -> list[Task]:
    return [task(f"t1-{number}", ask, need) for number, ask in enumerate(ASKS[:count])]


def sighting(need: str, **fields: Any) -> Sighting:
    given = {"rule": "Be brief", "quote": "be brief", "turn": "x", "session": "s1", "source": "claude"}
    return Sighting(need=need, **given | fields)


def admitted(*tasks: Task, families: Mapping[str, Family] | None = None, mine: Mine = MINE) -> Admitted:
    return admit(Bank(tasks=tasks), families=families or {}, mine=mine)


def told(found: Admitted, run: str, machine: str = "") -> list[Event]:
    """What a night says of its families to the ledger."""
    return [
        Event(
            v=1,
            id=event_id("family", item.id, run),
            ts="2026-11-29T03:00:00Z",
            type="family",
            run=run,
            data={
                "family": item.id,
                "needs": list(item.needs),
                "split": item.split,
                "tasks": list(item.tasks),
                "simhash": f"{item.simhash:016x}",
                "machine": machine,
            },
        )
        for item in found.families
    ]


def known(*found: Admitted) -> dict[str, Family]:
    """The families of the ledger after these nights."""
    return dict(
        recall([e for at, night in enumerate(found) for e in told(night, f"run-{at}")], simulated=False).families
    )


def splits(found: Admitted) -> dict[str, Split | None]:
    return {item.id: item.split for item in found.bank.tasks}


def family(name: str, ask: str, split: Split | None, *tasks: str, needs: Sequence[str] = ()) -> Family:
    return Family(id=name, needs=tuple(needs), split=split, tasks=tasks, simhash=simhash(ask))


# --- splits ------------------------------------------------------------------------------------------------------


def test_the_splits_of_a_need_in_their_order() -> None:
    """First train, two val, then val whenever its share is below the fraction."""
    taken: list[Split] = []
    for _ in range(9):
        taken.append(next_split(taken, MINE))

    assert taken == ["train", "val", "val", "train", "train", "train", "val", "train", "train"]


def test_a_test_share_is_kept_the_same_way() -> None:
    """It comes after the first three, whenever it is behind."""
    taken: list[Split] = []
    for _ in range(10):
        taken.append(next_split(taken, Mine(test_fraction=0.2)))

    assert taken[:4] == ["train", "val", "val", "test"]
    assert taken.count("test") == 2
    assert taken.count("val") >= 3


def test_without_a_val_share_nothing_is_held_out() -> None:
    """Fractions of 0 mean none."""
    assert {next_split(["train"] * count, Mine(val_fraction=0.0)) for count in range(5)} == {"train"}


def test_a_need_that_has_only_held_out_families_trains_on_the_next() -> None:
    """As when a file brought tasks for judging alone."""
    assert next_split(["val", "test"], MINE) == next_split(["test"], MINE) == "train"


def test_each_need_has_its_own_splits() -> None:
    """A new need begins with train, however many families there are; so do the families without a need."""
    found = admitted(*tasks_of("n1-a", 4), task("t1-b", ASKS[4], "n1-b"), task("t1-c", ASKS[5]))

    by_task = splits(found)
    assert sorted(str(by_task[f"t1-{number}"]) for number in range(4)) == ["train", "train", "val", "val"]
    assert (by_task["t1-b"], by_task["t1-c"]) == ("train", "train")


def test_a_family_of_several_needs_is_split_inside_the_first() -> None:
    """By id; and it counts as a family of the others too."""
    first = admitted(task("t1-0", ASKS[0], "n1-b", "n1-a"))
    second = admitted(task("t1-1", ASKS[1], "n1-b"), families=known(first))

    assert first.families[0].needs == ("n1-a", "n1-b")
    assert splits(second) == {"t1-1": "val"}


BATCHES = st.lists(
    st.tuples(st.sampled_from(ASKS), st.sampled_from(["", "!", " please", "?"]), st.sampled_from(["n1-a", "n1-b", ""])),
    max_size=12,
)


def batch(drawn: list[tuple[str, str, str]], name: str) -> list[Task]:
    return [task(f"t1-{name}{at}", ask + end, *filter(None, [need])) for at, (ask, end, need) in enumerate(drawn)]


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(BATCHES, BATCHES, st.randoms(use_true_random=False), st.sampled_from([MINE, Mine(test_fraction=0.2)]))
def test_more_tasks_never_change_an_earlier_split(
    one: list[tuple[str, str, str]], other: list[tuple[str, str, str]], chance: random.Random, mine: Mine
) -> None:
    """Whatever comes in later, in whatever order: families and splits of a night stay as they were."""
    before = admitted(*batch(one, "a"), mine=mine)
    later = [*before.bank.tasks, *batch(other, "b")]
    chance.shuffle(later)

    after = admitted(*later, families=known(before), mine=mine)

    placed = {item.id: (item.family, item.split) for item in after.bank.tasks}
    assert {item.id: (item.family, item.split) for item in before.bank.tasks}.items() <= placed.items()
    again = {item.id: item for item in after.families if item.id in known(before)}
    assert all(item.split == known(before)[name].split for name, item in again.items())


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(BATCHES, st.randoms(use_true_random=False))
def test_the_order_of_tasks_does_not_matter(drawn: list[tuple[str, str, str]], chance: random.Random) -> None:
    """The same tasks in any order give the same families and splits."""
    tasks = batch(drawn, "a")
    shuffled = list(tasks)
    chance.shuffle(shuffled)

    one, other = admitted(*tasks), admitted(*shuffled)

    assert known(one) == known(other)
    assert splits(one) == splits(other)


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(BATCHES)
def test_a_deleted_bank_comes_back_with_every_split(drawn: list[tuple[str, str, str]]) -> None:
    """The same sessions read again find their families in the ledger, and found none."""
    tasks = batch(drawn, "a")
    before = admitted(*tasks)

    again = admitted(*tasks, families=known(before))

    assert again == replace(before, families=())


# --- families ----------------------------------------------------------------------------------------------------


def test_near_copies_are_one_family() -> None:
    """From 0.90 on; the one whose hash comes first founds it, and has its split for all."""
    near, far = LONG.replace("header", "footer"), LONG.replace("in the header of the page", "somewhere")
    assert similarity(LONG, near) >= 0.90 > similarity(LONG, far)

    found = admitted(task("t1-0", LONG), task("t1-1", near), task("t1-2", far), task("t1-3", LONG.upper()))

    families = {item.id: item.family for item in found.bank.tasks}
    assert families["t1-0"] == families["t1-1"] == families["t1-3"] != families["t1-2"]
    assert families["t1-0"] == min(family_id(LONG), family_id(near))
    assert len(found.families) == 2


def test_a_near_copy_joins_on_a_later_night() -> None:
    """It takes over family and split, and founds nothing; the ledger is told once that it came, and what it needs."""
    first = admitted(task("t1-0", LONG))

    later = admitted(*first.bank.tasks, task("t1-1", LONG + "!", "n1-b"), families=known(first))

    (joined,) = later.families
    assert joined == replace(first.families[0], tasks=("t1-1",), needs=("n1-b",))
    assert later.bank.tasks[1].family == first.bank.tasks[0].family
    assert admitted(*later.bank.tasks, families=known(first, later)).families == ()


def test_a_family_that_a_task_with_another_need_joined_counts_for_both() -> None:
    """The next family of the other need is not its first: what is held out would be short of what is trained on."""
    first = admitted(task("t1-0", LONG, "n1-a"))
    both = [*first.bank.tasks, task("t1-1", LONG + "!", "n1-b"), task("t1-2", ASKS[0], "n1-b")]

    later = admitted(*both, families=known(first))

    assert splits(later) == {"t1-0": "train", "t1-1": "train", "t1-2": "val"}


def test_where_only_the_ledger_knows_the_family_its_fingerprint_is_joined() -> None:
    """Three bits apart at most; the ledger holds no texts."""
    copy = LONG + "!"
    assert 0 < hamming(simhash(LONG), simhash(copy)) <= 3

    near = admitted(task("t1-1", copy), families={"f1-x": family("f1-x", LONG, "val")})
    (joined,) = near.families
    far = admitted(task("t1-1", copy), families={"f1-x": family("f1-x", ASKS[0], "val")})

    assert (near.bank.tasks[0].family, near.bank.tasks[0].split) == ("f1-x", "val")
    assert (joined.id, joined.tasks) == ("f1-x", ("t1-1",))
    assert (far.bank.tasks[0].family, far.bank.tasks[0].split) == (family_id(copy), "train")


def test_a_task_the_ledger_names_is_in_its_family() -> None:
    """Also when its text is not the founding one."""
    found = admitted(task("t1-7", ASKS[0]), families={"f1-x": family("f1-x", LONG, "val", "t1-7")})

    assert splits(found) == {"t1-7": "val"}


MIDDLE = LONG
LEFT = LONG.replace("of the page.", "of a site!!!")
RIGHT = LONG.replace("Please add", "Now put in")


def between(*splits: Split | None) -> Task:
    """What becomes of an ask near two families of these splits that are not near each other."""
    assert similarity(MIDDLE, LEFT) >= 0.90 <= similarity(MIDDLE, RIGHT)
    assert similarity(LEFT, RIGHT) < 0.90
    tasks = [
        task("t1-l", LEFT, family="f1-l", split=splits[0]),
        task("t1-r", RIGHT, family="f1-r", split=splits[1]),
        task("t1-m", MIDDLE),
    ]
    families = {"f1-l": family("f1-l", LEFT, splits[0]), "f1-r": family("f1-r", RIGHT, splits[1])}
    return admitted(*tasks, families=families).bank.tasks[2]


def test_an_ask_near_families_of_different_splits_sits_out() -> None:
    """It would tell what is held out, or judge by what was trained on."""
    apart = between("train", "val")
    assert (apart.family, apart.split) == (None, None)


def test_an_ask_near_families_of_one_split_joins_the_nearest() -> None:
    """There is nothing to leak."""
    nearest = "f1-l" if similarity(MIDDLE, LEFT) >= similarity(MIDDLE, RIGHT) else "f1-r"
    joined = between("val", "val")
    assert (joined.family, joined.split) == (nearest, "val")


def test_an_ask_near_two_new_families_waits_for_their_splits() -> None:
    """Families founded in the same night are told apart by the splits they get."""
    founders = sorted([LEFT, RIGHT], key=family_id)
    middle = next(text for text in (MIDDLE + "." * n for n in range(9)) if family_id(text) > family_id(founders[1]))

    found = admitted(task("t1-l", founders[0]), task("t1-r", founders[1]), task("t1-m", middle))

    assert sorted(str(item) for item in splits(found).values()) == ["None", "train", "val"]
    assert splits(found)["t1-m"] is None
    assert all("t1-m" not in item.tasks for item in found.families)


def test_fingerprints_of_families_of_different_splits_leave_an_ask_out() -> None:
    """As for near texts."""
    families = {name: family(name, LONG, split) for name, split in (("f1-a", "train"), ("f1-b", "val"))}  # type: ignore[arg-type]

    assert splits(admitted(task("t1-0", LONG + "!"), families=families)) == {"t1-0": None}


def test_a_family_that_two_clones_split_differently_sits_out() -> None:
    """For good, with all its tasks."""
    found = admitted(task("t1-0", LONG), families={family_id(LONG): family(family_id(LONG), LONG, None)})

    assert (found.bank.tasks[0].family, found.bank.tasks[0].split) == (family_id(LONG), None)
    assert found.families == ()


def test_a_fingerprint_of_a_family_of_another_split_leaves_an_ask_out() -> None:
    """Also where the text of another family is near: what the ledger's family was asked may be held out."""
    families = {"f1-t": family("f1-t", ASKS[0], "train", "t1-0"), "f1-v": family("f1-v", LONG, "val")}
    near = LONG.replace("header", "footer")
    newcomer = next(
        text for text in (LONG + "." * n for n in range(1, 9)) if hamming(simhash(text), simhash(LONG)) <= 3
    )

    found = admitted(task("t1-0", near, family="f1-t", split="train"), task("t1-1", newcomer), families=families)

    assert similarity(near, newcomer) >= 0.90
    assert splits(found) == {"t1-0": "train", "t1-1": None}


def test_a_task_is_where_this_machine_told_it_to_be() -> None:
    """Whatever family another machine put it in, and whatever family was founded elsewhere over its ask."""
    here, there = admitted(task("t1-0", LONG), task("t1-1", LONG + "!")), admitted(task("t1-1", LONG + "!"))
    (mine,), (theirs,) = here.families, there.families
    assert mine.id != theirs.id
    events = [*told(here, "run-1", "0000000a"), *told(there, "run-2", "0000000b")]
    families = recall(events, simulated=False).families

    def rebuilt(machine: str) -> str | None:
        tasks = (task("t1-0", LONG), task("t1-1", LONG + "!"))
        return admit(Bank(tasks=tasks), families=families, mine=MINE, machine=machine).bank.tasks[1].family

    assert rebuilt("0000000a") == mine.id
    assert rebuilt("0000000b") == theirs.id


def test_a_split_that_came_with_a_task_is_kept() -> None:
    """Reviewed files may say what is held out; a task that says other than its family sits out."""
    given = admitted(task("t1-0", LONG, split="test"), task("t1-1", ASKS[0], split="val"))
    torn = admitted(task("t1-0", LONG, split="test"), families=known(admitted(task("t1-1", LONG))))

    assert splits(given) == {"t1-0": "test", "t1-1": "val"}
    assert splits(torn) == {"t1-0": None}


# --- nights and machines -----------------------------------------------------------------------------------------

WORDS = "please add the small date library to the web package and use it in the header of every single page now".split()
# Each is near the one before and the one after it, and not those further away.
CHAIN = tuple(" ".join(word.upper()[::-1] if at < step else word for at, word in enumerate(WORDS)) for step in range(9))
ASKED = st.lists(
    st.tuples(st.sampled_from((*CHAIN, *ASKS)), st.sampled_from(["", "!", " ok"]), st.sampled_from(["n1-a", "n1-b"])),
    min_size=1,
    max_size=14,
)


def pool(drawn: list[tuple[str, str, str]]) -> list[Task]:
    return [task(f"t1-{at}", ask + end, need) for at, (ask, end, need) in enumerate(drawn)]


def placed(bank: Bank) -> dict[str, tuple[str | None, Split | None]]:
    return {item.id: (item.family, item.split) for item in bank.tasks}


class Machine:
    """One clone: its bank, its ledger, and nights in which it meets tasks."""

    def __init__(self, name: str) -> None:
        self.name, self.bank, self.nights = name, Bank(), 0
        self.ledger: list[Event] = []

    def night(self, *tasks: Task) -> None:
        met = {item.id: item for item in (*tasks, *self.bank.tasks)}
        families = recall(self.ledger, simulated=False).families
        found = admit(replace(self.bank, tasks=tuple(met.values())), families=families, mine=MINE, machine=self.name)
        self.nights += 1
        self.ledger += told(found, f"{self.name}-{self.nights}", self.name)
        self.bank = found.bank


def test_the_chain_is_one() -> None:
    """Neighbours are near, and the ends are not."""
    assert all(similarity(one, other) >= 0.90 for one, other in pairwise(CHAIN))
    assert similarity(CHAIN[0], CHAIN[-1]) < 0.90


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(st.lists(ASKED, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_a_bank_deleted_after_many_nights_comes_back_as_it_was(
    nights: list[list[tuple[str, str, str]]], chance: random.Random
) -> None:
    """Every task that had a family has it again, with its split, also where near-copies came one by one."""
    machine = Machine("0000000a")
    tasks = pool([item for drawn in nights for item in drawn])
    for drawn in nights:
        start = len(machine.bank.tasks)
        machine.night(*tasks[start : start + len(drawn)])
    before = placed(machine.bank)
    machine.night()
    assert placed(machine.bank) == before

    machine.bank = Bank()
    chance.shuffle(tasks)
    machine.night(*tasks)

    assert placed(machine.bank) == before


@given(ASKED, st.lists(st.tuples(st.sampled_from("ABx"), st.sets(st.integers(0, 13), max_size=5)), max_size=8))
def test_two_machines_agree_on_every_family_they_share(
    drawn: list[tuple[str, str, str]], steps: list[tuple[str, set[int]]]
) -> None:
    """Whatever sessions each has, in whatever order, and whenever they hear of each other: one split, or none on both.

    And what both ledgers together say does not depend on who takes in whose.
    """
    tasks = pool(drawn)
    one, other = Machine("0000000a"), Machine("0000000b")
    for who, chosen in steps:
        if who == "x":
            one.ledger, other.ledger = [*one.ledger, *other.ledger], [*other.ledger, *one.ledger]
        else:
            (one if who == "A" else other).night(*(tasks[at] for at in chosen if at < len(tasks)))
    together = [*one.ledger, *other.ledger], [*other.ledger, *one.ledger]
    assert recall(together[0], simulated=False).families == recall(together[1], simulated=False).families
    one.ledger, other.ledger = together
    one.night()
    other.night()

    def by_family(machine: Machine) -> dict[str | None, set[Split | None]]:
        found: dict[str | None, set[Split | None]] = {}
        for item in machine.bank.tasks:
            found.setdefault(item.family, set()).add(item.split)
        return found

    ours, theirs = by_family(one), by_family(other)
    assert all(ours[name] == theirs[name] for name in ours.keys() & theirs.keys())
    assert all(len(found) == 1 for found in (*ours.values(), *theirs.values()))
    for machine in (one, other):
        before = placed(machine.bank)
        machine.bank = Bank()
        machine.night(*(task for task in tasks if task.id in before))
        assert {name: place for name, place in placed(machine.bank).items() if before[name][0]} == {
            name: place for name, place in before.items() if place[0]
        }


# --- wording -----------------------------------------------------------------------------------------------------


def worded(text: str, wordings: dict[str, str]) -> str:
    tasks = (
        task("t1-train", ASKS[0], "n1-a", family="f1-0", split="train"),
        task("t1-val", ASKS[1], "n1-a", family="f1-1", split="val"),
    )
    families = {"f1-0": family("f1-0", ASKS[0], "train"), "f1-1": family("f1-1", ASKS[1], "val")}
    sightings = tuple(sighting("n1-a", rule=rule, task=name) for name, rule in wordings.items())
    bank = Bank(tasks=tasks, needs={"n1-a": text}, sightings=sightings)
    return admit(bank, families=families, mine=MINE).bank.needs["n1-a"]


@pytest.mark.parametrize(
    ("text", "wordings", "expected"),
    [
        (
            "Use the words of val",
            {"t1-train": "Use the words of train", "t1-val": "Use the words of val"},
            "Use the words of train",
        ),
        (
            "Use the words of train",
            {"t1-train": "Use the words of train", "t1-val": "Use the words of val"},
            "Use the words of train",
        ),
        ("Use the words of val", {"t1-val": "Use the words of val"}, "Use the words of val"),
        ("By a reviewer", {"t1-train": "Use the words of train", "t1-val": "Use the words of val"}, "By a reviewer"),
        # a mere remark is no rule
        (
            "Export it by name",
            {"t1-train": "Default exports again", "t1-val": "Export it by name"},
            "Export it by name",
        ),
    ],
)
def test_a_need_is_worded_by_its_training_tasks(text: str, wordings: dict[str, str], expected: str) -> None:
    """What is held out must not word the rule it is to judge; what a person wrote, and what alone is a rule, stays."""
    assert worded(text, wordings) == expected


# --- merging -----------------------------------------------------------------------------------------------------

PNPM = Check(op="contains", arg="pnpm", role="outcome")
RUFF = Check(op="contains", arg="ruff", role="outcome")


def mined(*tasks: Task, **fields: Any) -> Mined:
    return Mined(tasks=tasks, **{"needs": {}, "replaced": {}, **fields})


def test_new_tasks_come_to_the_known_ones() -> None:
    """What was known of tasks and turns stands, what is new is added, and a need takes better words."""
    bank = Bank(tasks=(task("t1-0", ASKS[0], "n1-a"),), needs={"n1-a": "A"}, dropped=("t1-9",))
    heard = (sighting("n1-a", task="t1-0"), sighting("n1-b", task="t1-1"))
    hint = Hint(sighting=sighting(""), task=task("t1-2", ASKS[2]))

    merged = merge(
        bank,
        mined(
            task("t1-1", ASKS[1], "n1-a", "n1-b"),
            needs={"n1-a": "other", "n1-b": "B"},
            sightings=heard,
            hints=(hint,),
            replaced={"n1-a": "n1-b"},
        ),
    )

    assert [item.id for item in merged.tasks] == ["t1-0", "t1-1"]
    assert merged.needs == {"n1-a": "other", "n1-b": "B"}
    assert (merged.sightings, merged.hints, merged.replaced) == (heard, (hint,), {"n1-a": "n1-b"})
    assert merged.dropped == ("t1-9",)


def test_the_words_of_a_rule_that_a_person_reviewed_stand() -> None:
    """Whatever better ones are heard later; a need of the task that has no words yet may find some."""
    bank = Bank(tasks=(task("t1-0", ASKS[0], "n1-a", "n1-b", origin="reviewed"),), needs={"n1-a": "A"})
    assert merge(bank, mined(needs={"n1-a": "other", "n1-b": "B"})).needs == {"n1-a": "A", "n1-b": "B"}


def test_what_a_person_put_out_does_not_come_back() -> None:
    """However often its session is read again."""
    bank = Bank(dropped=("t1-0",))

    assert merge(bank, mined(task("t1-0", ASKS[0]), task("t1-1", ASKS[1]))).tasks == (task("t1-1", ASKS[1]),)


def test_what_a_person_decided_about_a_task_stays_when_it_is_told_anew() -> None:
    """Golden stays golden, and personal personal."""
    bank = Bank(tasks=(task("t1-0", ASKS[0], golden=True, personal=True),))

    (told_anew,) = merge(bank, mined(task("t1-0", ASKS[0], "n1-a"))).tasks

    assert (told_anew.golden, told_anew.personal, told_anew.needs) == (True, True, ("n1-a",))


# --- personal ----------------------------------------------------------------------------------------------------


def test_what_is_personal_is_not_shared() -> None:
    """Neither such a task nor its wish, nor another task that shows the wish: its checks and rubric would tell it."""
    own = task("t1-0", ASKS[0], "n1-p", personal=True)
    like, mixed, free, none = (
        task("t1-1", ASKS[1], "n1-p"),
        task("t1-2", ASKS[2], "n1-a", "n1-p"),
        task("t1-3", ASKS[3], "n1-a"),
        task("t1-4", ASKS[4]),
    )
    bank = Bank(
        tasks=(own, like, mixed, free, none),
        needs={"n1-p": "Call me Al", "n1-a": "Use pnpm"},
        sightings=(sighting("n1-p"), sighting("n1-a")),
    )

    shared = shareable(bank)

    assert shared.tasks == (free, none)
    assert shared.needs == {"n1-a": "Use pnpm"}
    assert shared.sightings == (sighting("n1-a"),)
    assert shareable(shared) == shared


# --- reading again -----------------------------------------------------------------------------------------------


def test_a_session_read_again_tells_its_tasks_anew() -> None:
    """Needs and checks are those of the whole session; family and split were decided and stay."""
    before = task("t1-0", ASKS[0], "n1-a", checks=(PNPM,), family="f1-x", split="val", outcome="fail")
    now = task("t1-0", ASKS[0], "n1-b", checks=(RUFF,), examples=Examples(pass_="ruff"), outcome="mixed")

    merged = merge(Bank(tasks=(before,)), mined(now))

    assert merged.tasks == (replace(now, family="f1-x", split="val"),)


def test_examples_stay_while_the_checks_do() -> None:
    """An answer that was seen once is still an answer, unless something else is asked of it now."""
    before = task("t1-0", ASKS[0], checks=(PNPM,), examples=Examples(pass_="pnpm add", fail="npm"))
    bank = Bank(tasks=(before,))

    assert merge(bank, mined(replace(before, examples=Examples()))).tasks == (before,)
    assert merge(bank, mined(replace(before, checks=(RUFF,), examples=Examples()))).tasks[0].examples == Examples()


def test_what_a_person_reviewed_is_not_told_anew() -> None:
    """Only where it was seen is added."""
    before = task("t1-0", ASKS[0], "n1-a", checks=(PNPM,), origin="reviewed", sessions=("s1",))

    merged = merge(Bank(tasks=(before,)), mined(task("t1-0", ASKS[0], "n1-b", checks=(RUFF,), sessions=("s1", "s2"))))

    assert merged.tasks == (replace(before, sessions=("s1", "s2")),)


def test_a_big_bank_is_admitted() -> None:
    """Asks of all lengths, most of them told word for word before."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(500)]
    asks = [" ".join(chance.choices(words, k=chance.randint(4, 40))) for _ in range(400)]
    many = [task(f"t1-{n}", asks[n % 400], f"n1-{n % 50}") for n in range(2_000)]

    found = admitted(*many)

    assert len(found.families) == 400


def test_a_bank_can_be_redacted_anew() -> None:
    """Every text of its tasks and needs, and nothing that names or decides."""
    told = task(
        "t1-1",
        "Ask Globex",
        "n1-1",
        context="for Globex",
        checks=(Check(op="contains", arg="Globex"), Check(op="max_chars", arg=9)),
        rubric="names Globex",
        reference="Globex it is",
        examples=Examples(pass_="Globex", fail="no Globex"),
        branch="globex/Globex",
        family="f1-1",
        sessions=("s1",),
    )
    bank = Bank(
        tasks=(told, task("t1-2", "Run the tests")),
        needs={"n1-1": "Write to Globex"},
        sightings=(sighting("n1-1", rule="Write to Globex", quote="No, to Globex"),),
        hints=(Hint(sighting=sighting("", quote="Globex?"), task=task("t1-3", "Write to Globex")),),
    )
    clean = bank.cleaned(lambda text: text.replace("Globex", "X"))

    assert "Globex" not in repr(clean)
    assert clean.tasks[1] == bank.tasks[1]
    assert [(item.rule, item.quote) for item in clean.sightings] == [("Write to X", "No, to X")]
    assert (clean.tasks[0].id, clean.tasks[0].family, clean.tasks[0].needs) == ("t1-1", "f1-1", ("n1-1",))
    assert clean.tasks[0].checks == (Check(op="contains", arg="X"), Check(op="max_chars", arg=9))
