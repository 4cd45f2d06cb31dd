"""Which document each need is taught in."""

from __future__ import annotations

import pytest

from skillopt_git.languages import reader
from skillopt_git.learned import Teachable
from skillopt_git.model import Document, Need
from skillopt_git.routing import Plan, Routing
from skillopt_git.used import NoHome, used_skills
from tests.learning import MEMORY, PNPM, RULE, SKILL, TICKET, document, task

HOME = document(".claude/skills/packages/SKILL.md", "Be brief")
ABOUT_ALL = Need(TICKET, "Always run ruff first")
OF_A_SKILL = Need(PNPM, RULE)
TASKS = (task(0, "train", skills=("packages",)), task(1, skills=("packages",)), task(2, "val", TICKET))


def plan(*needs: Need, skill: bool = True, memory: bool = True, general: bool = True, home: bool = True) -> Plan:
    def home_of(_: str) -> Document | NoHome:
        return HOME if home else NoHome("")

    teachable = Teachable(
        skill=document(SKILL) if skill else None,
        memory=document(MEMORY) if memory else None,
        general_to_memory=general,
    )
    used = used_skills(TASKS, home_of, ())
    return Routing(teachable, used, TASKS, reader().grammars).plan(needs, [])


def named(found: Plan) -> tuple[list[str], list[str], list[str]]:
    return [need.id for _, own in found.own for need in own], [x.id for x in found.first], [x.id for x in found.later]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ([PNPM], [], [TICKET])),
        ({"home": False}, ([], [PNPM], [TICKET])),
        ({"general": False}, ([PNPM], [TICKET], [])),
        ({"memory": False}, ([PNPM], [TICKET], [])),
        ({"skill": False}, ([PNPM], [], [TICKET])),
        ({"skill": False, "home": False}, ([], [], [PNPM, TICKET])),
    ],
)
def test_a_need_is_taught_in_one_place(given: dict[str, bool], expected: tuple[list[str], ...]) -> None:
    """What some skill tried, and could not carry, the memory may still answer."""
    found = plan(OF_A_SKILL, ABOUT_ALL, **given)

    assert named(found) == expected
    assert [need.id for need in found.tried] == [*expected[0], *expected[1]]
