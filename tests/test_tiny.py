"""Nights with a real model: a rule that helps is proven, one that does nothing is not, one that harms is refused.

Recomputed from their recordings everywhere; with the model itself by `make e2e`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from skillopt_git.errors import SkilloptError
from tests.tiny.families import CASES
from tests.tiny.model import served
from tests.tiny.nights import RECORDINGS, Figures, figures, night
from tests.tiny.table import table

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

PAGE = Path(__file__).parent.parent / "docs" / "evidence.md"
each_case = pytest.mark.parametrize("name", CASES)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Figures]:
    """What each recorded night comes to; it is played once."""

    @cache
    def found(name: str) -> Figures:
        return figures(CASES[name], night(CASES[name], tmp_path_factory.mktemp(name), RECORDINGS / f"{name}.jsonl"))

    return found


@each_case
def test_a_recorded_night_ends_as_it_should(name: str, recorded: Callable[[str], Figures]) -> None:
    """The real answers, judged and weighed anew."""
    found = recorded(name)

    assert found.verdict in CASES[name].right, found


def test_the_page_tells_what_the_recordings_come_to(recorded: Callable[[str], Figures]) -> None:
    """Row for row."""
    found = {name: recorded(name) for name in CASES}

    assert table(found) in PAGE.read_text(encoding="utf-8")


def test_a_recording_answers_nothing_that_was_not_asked(tmp_path: Path) -> None:
    """Another proposal is another night: its questions were never put to the model."""
    with pytest.raises(SkilloptError, match=re.escape("no answer")):
        night(CASES["ticket"], tmp_path, RECORDINGS / "pnpm.jsonl")


@pytest.mark.e2e
@each_case
def test_the_model_itself_ends_a_night_as_it_should(name: str, tmp_path: Path) -> None:
    """Margins, not texts: a model of this size answers the same question differently each time."""
    with served() as url:
        found = figures(CASES[name], night(CASES[name], tmp_path, tmp_path / "recording.jsonl", url=url))

    assert found.verdict in CASES[name].right, found
    if "strong" in CASES[name].right:
        assert found.passed[1] / found.of[1] - found.passed[0] / found.of[0] >= 0.5
