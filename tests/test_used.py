"""Which skills tasks used, and what follows for their replay and their wishes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.model import Document, Need, Task
from skillopt_git.used import NoHome, Used, bare, nowhere, used_skills
from tests.learning import PNPM, RULE, document, task

NEED = Need(PNPM, RULE)
PACKAGES, BRANCHES = (
    document(".claude/skills/packages/SKILL.md", "x"),
    document(".claude/skills/branches/SKILL.md", "x"),
)
SHARED = ("CLAUDE.md", "Be kind")


def home_of(name: str) -> Document | NoHome:
    known = {"packages": PACKAGES, "branches": BRANCHES}
    return known.get(name) or NoHome("nobody knows it")


def tasks(*used: tuple[str, ...]) -> list[Task]:
    return [task(number, skills=names) for number, names in enumerate(used)]


def home(*used: tuple[str, ...]) -> Document | NoHome | None:
    given_ = tasks(*used)
    return used_skills(given_, home_of, ()).home(NEED, given_)


@pytest.mark.parametrize(
    ("name", "plain"),
    [("packages", "packages"), ("acme:packages", "packages"), ("a:b:c", "c"), ("/packages", "packages"), ("a:", "")],
)
def test_a_plugins_skill_has_the_name_of_the_skill(name: str, plain: str) -> None:
    """What brought it is no part of the name."""
    assert bare(name) == plain


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ([("packages",), ("packages",), ()], PACKAGES),
        ([("packages", "branches"), ("packages",), ()], PACKAGES),
        ([("packages", "acme:packages"), ()], None),  # once a task
        ([("packages",), ()], None),
        ([("packages",), ("branches",)], None),
        ([(), ()], None),
        ([("",), (":",)], None),
        ([("else",), ("else",)], NoHome("nobody knows it")),
        ([("packages", "branches")], NoHome("its tasks used 'branches' and 'packages' alike")),
    ],
)
def test_a_needs_home_is_the_one_skill_that_most_of_its_tasks_used(
    used: list[tuple[str, ...]], expected: Document | NoHome | None
) -> None:
    """More than half, and more than any other."""
    assert home(*used) == expected


def test_other_needs_tasks_do_not_count() -> None:
    """Each need has its own."""
    given_ = [
        task(0, skills=("packages",)),
        task(1, "val", "n1-0000000000000002"),
        task(2, "val", "n1-0000000000000002"),
    ]

    assert used_skills(given_, home_of, ()).home(NEED, given_) == PACKAGES


def test_what_every_task_reads_is_no_skill_of_some() -> None:
    """The default skill is there for all, also for those that used it by name."""
    given_ = tasks(("packages",), ("packages",), ())
    used = used_skills(given_, home_of, {PACKAGES.path})

    assert (used.documents, used.home(NEED, given_)) == ((), NoHome(""))
    assert all(used.reads(item, PACKAGES.path) for item in given_)


@given(st.lists(st.lists(st.sampled_from(["packages", "acme:branches", "else"])).map(tuple), min_size=1, max_size=6))
def test_a_task_reads_the_shared_documents_and_the_skills_it_used(used: list[tuple[str, ...]]) -> None:
    """And these always, whatever other tasks used."""
    given_ = tasks(*used)
    found = used_skills(given_, home_of, ())
    every = (SHARED, *((item.path, item.text) for item in found.documents))

    for item in given_:
        names = {bare(name) for name in item.skills}
        expected = {"CLAUDE.md", *(f".claude/skills/{name}/SKILL.md" for name in names - {"else"})}
        assert {path for path, _ in found.under(every, item)} == expected


def test_nothing_is_looked_up_where_skills_are_not_taught() -> None:
    """And nothing is told of it."""
    assert nowhere("packages") == NoHome("")
    assert Used().under((SHARED,), task(0, skills=("packages",))) == (SHARED,)
