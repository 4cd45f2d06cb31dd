from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.bank import Admitted, Bank, admit, merge, next_split
from skillopt_git.config import Mine
from skillopt_git.mine import Mined
from skillopt_git.model import Check, Examples, Split, Task, family_id
from skillopt_git.recall import Family
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


def admitted(*tasks: Task, families: Mapping[str, Family] | None = None, mine: Mine = MINE) -> Admitted:
    return admit(Bank(tasks=tasks), families=families or {}, mine=mine)


def known(*found: Admitted) -> dict[str, Family]:
    """The ledger after these nights."""
    return {family.id: family for night in found for family in night.families}


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
    assert not known(before).keys() & known(after).keys()


@given(BATCHES, st.randoms(use_true_random=False))
def test_the_order_of_tasks_does_not_matter(drawn: list[tuple[str, str, str]], chance: random.Random) -> None:
    """The same tasks in any order give the same families and splits."""
    tasks = batch(drawn, "a")
    shuffled = list(tasks)
    chance.shuffle(shuffled)

    one, other = admitted(*tasks), admitted(*shuffled)

    assert known(one) == known(other)
    assert splits(one) == splits(other)


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
    """It takes over family and split, and founds nothing."""
    first = admitted(task("t1-0", LONG))

    later = admitted(*first.bank.tasks, task("t1-1", LONG + "!"), families=known(first))

    assert later.families == ()
    assert later.bank.tasks[1].family == first.bank.tasks[0].family


def test_where_only_the_ledger_knows_the_family_its_fingerprint_is_joined() -> None:
    """Three bits apart at most; the ledger holds no texts."""
    copy = LONG + "!"
    assert 0 < hamming(simhash(LONG), simhash(copy)) <= 3

    near = admitted(task("t1-1", copy), families={"f1-x": family("f1-x", LONG, "val")})
    far = admitted(task("t1-1", copy), families={"f1-x": family("f1-x", ASKS[0], "val")})

    assert (near.bank.tasks[0].family, near.bank.tasks[0].split, near.families) == ("f1-x", "val", ())
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


def test_a_split_that_came_with_a_task_is_kept() -> None:
    """Reviewed files may say what is held out; a task that says other than its family sits out."""
    given = admitted(task("t1-0", LONG, split="test"), task("t1-1", ASKS[0], split="val"))
    torn = admitted(task("t1-0", LONG, split="test"), families=known(admitted(task("t1-1", LONG))))

    assert splits(given) == {"t1-0": "test", "t1-1": "val"}
    assert splits(torn) == {"t1-0": None}


# --- wording -----------------------------------------------------------------------------------------------------


def worded(text: str, wordings: dict[str, str]) -> str:
    tasks = (
        task("t1-train", ASKS[0], "n1-a", family="f1-0", split="train"),
        task("t1-val", ASKS[1], "n1-a", family="f1-1", split="val"),
    )
    families = {"f1-0": family("f1-0", ASKS[0], "train"), "f1-1": family("f1-1", ASKS[1], "val")}
    bank = Bank(tasks=tasks, needs={"n1-a": text}, wordings={"n1-a": wordings})
    return admit(bank, families=families, mine=MINE).bank.needs["n1-a"]


@pytest.mark.parametrize(
    ("text", "wordings", "expected"),
    [
        ("said in val", {"t1-train": "said in train", "t1-val": "said in val"}, "said in train"),
        ("said in train", {"t1-train": "said in train", "t1-val": "said in val"}, "said in train"),
        ("said in val", {"t1-val": "said in val"}, "said in val"),
        ("by a reviewer", {"t1-train": "said in train", "t1-val": "said in val"}, "by a reviewer"),
    ],
)
def test_a_need_is_worded_by_its_training_tasks(text: str, wordings: dict[str, str], expected: str) -> None:
    """What is held out must not word the rule it is to judge; what a person wrote stays."""
    assert worded(text, wordings) == expected


# --- merging -----------------------------------------------------------------------------------------------------

PNPM = Check(op="contains", arg="pnpm", role="outcome")
RUFF = Check(op="contains", arg="ruff", role="outcome")


def mined(*tasks: Task, **fields: Any) -> Mined:
    return Mined(tasks=tasks, **{"needs": {}, "wordings": {}, "turns": {}, **fields})


def test_new_tasks_come_to_the_known_ones() -> None:
    """What was known of needs, words and turns stands; what is new is added."""
    bank = Bank(
        tasks=(task("t1-0", ASKS[0], "n1-a"),),
        needs={"n1-a": "A"},
        wordings={"n1-a": {"t1-0": "A"}},
        turns={"x": "t1-0"},
    )

    merged = merge(
        bank,
        mined(
            task("t1-1", ASKS[1], "n1-a", "n1-b"),
            needs={"n1-a": "other", "n1-b": "B"},
            wordings={"n1-a": {"t1-0": "late", "t1-1": "a"}, "n1-b": {"t1-1": "B"}},
            turns={"x": "t1-9", "y": "t1-1"},
        ),
    )

    assert [item.id for item in merged.tasks] == ["t1-0", "t1-1"]
    assert merged.needs == {"n1-a": "A", "n1-b": "B"}
    assert merged.wordings == {"n1-a": {"t1-0": "A", "t1-1": "a"}, "n1-b": {"t1-1": "B"}}
    assert merged.turns == {"x": "t1-0", "y": "t1-1"}


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
        wordings={"n1-1": {"t1-1": "Write to Globex"}},
        turns={"a": "t1-1"},
    )
    clean = bank.cleaned(lambda text: text.replace("Globex", "X"))

    assert "Globex" not in repr(clean)
    assert (clean.tasks[1], clean.turns) == (bank.tasks[1], bank.turns)
    assert (clean.tasks[0].id, clean.tasks[0].family, clean.tasks[0].needs) == ("t1-1", "f1-1", ("n1-1",))
    assert clean.tasks[0].checks == (Check(op="contains", arg="X"), Check(op="max_chars", arg=9))
