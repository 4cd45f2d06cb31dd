"""The four verbs that write, each in forty-three states of a repository: right, or refused with nothing touched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import Repository
from tests.scenarios import STATES, cell, lines, page
from tests.verbs import VERBS, Scenario, Verb, Wrong, told

DOCUMENT = Path(__file__).parent.parent / "docs" / "scenarios.md"
CLEAN = STATES[0]


# Two verbs a state, in turn, so that every one is tried in half of them; the rest by `make e2e`.
CELLS = [
    pytest.param(scenario, verb, id=f"{scenario.name}-{verb}", marks=[] if (at + of) % 2 else pytest.mark.e2e)
    for at, scenario in enumerate(STATES)
    for of, verb in enumerate(VERBS)
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize(("scenario", "verb"), CELLS)
def test_a_verb_is_right_or_refused_with_nothing_touched(
    scenario: Scenario, verb: Verb, tmp_path: Path, kept: Path
) -> None:
    """As the page tells."""
    assert told(scenario, verb, tmp_path, kept) == expected(scenario, verb)


def expected(scenario: Scenario, verb: Verb) -> str:
    return f"refused: {scenario.refused[verb]}" if verb in scenario.refused else "right"


def test_the_page_tells_what_the_tests_show() -> None:
    """Forty-three scenarios with names of their own; the page is written by `python -m tests.scenarios --markdown`."""
    table = {scenario.name: [expected(scenario, verb) for verb in VERBS] for scenario in STATES}
    assert len(table) == len(STATES) == 43
    assert DOCUMENT.read_text(encoding="utf-8") == page(table)


def test_a_line_of_the_table_is_short_and_what_is_not_right_is_told_below_it() -> None:
    """Once for all the verbs that say the same."""
    table = list(lines("clean", ["refused: no commits yet", "right", "refused: no commits yet", "WRONG: touched: x"]))

    assert table[0].split() == ["clean", "refused", "right", "refused", "WRONG"]
    assert table[1:] == ["    run, reject refused: no commits yet", "    revert WRONG: touched: x"]


# --- whether what is wrong would be noticed ----------------------------------------------------------------------


def filtered(repo: Repository) -> None:
    """A filter of the user's that writes into the work tree whenever git asks it."""
    repo.git("config", "filter.loud.clean", f"tee -a '{repo.path}/loud.txt'")
    repo.write({".git/info/attributes": "*.md filter=loud\n"})


UNBORN = next(scenario for scenario in STATES if scenario.name == "no commits yet")
NOTICED: dict[str, tuple[Verb, Scenario]] = {
    "tree: ": ("run", replace(CLEAN, after=b"")),
    "the branch in the record: ": ("run", replace(CLEAN, number="-2")),
    r"touched: \['/.*/loud.txt'\]": ("run", replace(CLEAN, change=filtered)),
    "author: ": ("adopt", replace(CLEAN, signer="Bob")),
    "branch: ''": ("reject", replace(CLEAN, kept=True)),
    "should be refused and was not": ("reject", replace(CLEAN, refused={"reject": "for some reason"})),
    "refused: there are no commits": ("adopt", replace(UNBORN, refused={})),
    "refused with other words: there are": ("revert", replace(UNBORN, refused={"revert": "for some reason"})),
}


@pytest.mark.parametrize("words", NOTICED)
def test_what_is_wrong_is_noticed(words: str, tmp_path: Path) -> None:
    """Another commit, another branch, somebody's file, another signature, a refusal that is none or says otherwise."""
    verb, scenario = NOTICED[words]
    with pytest.raises(Wrong, match=words):
        told(scenario, verb, tmp_path)


def test_what_is_wrong_is_told_on_one_line() -> None:
    """However many lines the error has."""
    found = cell(replace(UNBORN, refused={}), "run")

    assert found.startswith("WRONG: refused: there are no commits yet")
    assert "\n" not in found
