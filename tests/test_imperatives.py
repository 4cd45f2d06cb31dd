from __future__ import annotations

import pytest

from skillopt_git import imperatives
from skillopt_git.imperatives import Wish, consistent
from skillopt_git.languages import reader
from skillopt_git.model import Check
from skillopt_git.sameness import opposed, same

GRAMMARS = reader().grammars


def wish_of(rule: str) -> Wish:
    return imperatives.wish_of(rule, GRAMMARS)


ONE_NEED = [
    ("Brevity", "brevity"),
    ("use pnpm, not npm", "Use pnpm instead of npm"),
    ("use pnpm, not npm", "use pnpm"),
    ("use uv pip, not pip", "use uv pip instead of pip"),
    ("do not use npm", "never use npm"),
    ("use pnpm, not npm", "do not use npm"),
    ("never commit to main", "do not commit directly to main"),
    ("never commit to main", "stop committing to main"),
    ("run ruff first", "always run ruff first"),
    ("run the tests before you commit", "always run the tests before committing"),
    ("add type hints to every public function", "add type hints to all public functions"),
    ("put the ticket number in branch names", "put the ticket number in the branch name"),
    ("add type hints to all functions", "add type hints to all new functions"),
]
TWO_NEEDS = [
    ("use pnpm", "use npm"),
    ("use pnpm, not npm", "use npm, not pnpm"),
    ("use pnpm, not npm", "use pnpm, not yarn"),
    ("use npm", "do not use npm"),
    ("never commit to main", "commit to main"),
    ("always run ruff first", "always run mypy first"),
    ("run the tests before you commit", "run the tests after you commit"),
    ("limit lines to 80 characters", "limit lines to 100 characters"),
    ("wrap code lines in docs", "wrap code lines in docs at 80"),
    ("never push", "never push without asking"),
    ("answer in German", "answer in English"),
    ("add type hints to public functions", "add type hints to private functions"),
    ("run pytest with -x", "use pytest, not unittest"),
    ("use snake_case", "use camelCase"),
]


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize(("one", "other"), ONE_NEED)
def test_like_wishes_are_one_need(one: str, other: str) -> None:
    """Filler, endings and the order of words make no other need."""
    assert same(wish_of(one), wish_of(other))
    assert same(wish_of(other), wish_of(one))


@pytest.mark.parametrize(("one", "other"), TWO_NEEDS)
def test_wishes_that_differ_in_what_matters_are_two_needs(one: str, other: str) -> None:
    """Polarity, tools, numbers, limits and any other word that only each has for itself."""
    assert not same(wish_of(one), wish_of(other))
    assert not same(wish_of(other), wish_of(one))


def test_a_wish_may_take_another_back() -> None:
    """Asking for what the other turns down, in either order, or forbidding the same."""
    pnpm, npm = wish_of("use pnpm, not npm"), wish_of("use npm, not pnpm")
    assert opposed(pnpm, npm)
    assert opposed(wish_of("do not use npm"), wish_of("use npm"))
    assert opposed(wish_of("commit to main"), wish_of("never commit to main"))
    assert not opposed(pnpm, wish_of("always run npm test before you finish"))
    assert not opposed(pnpm, wish_of("do not use npm"))


def test_any_text_can_be_a_rule() -> None:
    """What people wrote as a rule is kept word for word, also where it is no imperative."""
    assert wish_of("Brevity").text == "Brevity"


def test_checks_never_contradict_each_other() -> None:
    """What an answer is asked to say is never forbidden it; the earlier check stands, and each stands once."""
    asked = Check(op="contains", arg="npm test", role="outcome")
    forbidden = Check(op="not_contains", arg="npm", role="outcome")
    other = Check(op="not_contains", arg="yarn", role="outcome")

    assert consistent([asked, forbidden, asked, other]) == (asked, other)
    assert consistent([forbidden, asked]) == (forbidden,)
