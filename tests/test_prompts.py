"""What models are asked, in words."""

from __future__ import annotations

import re

import pytest

from skillopt_git.errors import ConfigError
from skillopt_git.prompts import SHIPPED, Prompts


def test_the_digest_names_the_words() -> None:
    """Sixteen hex digits, the same each time, and others for other words."""
    assert re.fullmatch("[0-9a-f]{16}", SHIPPED.digest)
    assert Prompts().digest == SHIPPED.digest
    assert Prompts({"judge": "Is {{ answer }} right?"}).digest != SHIPPED.digest


def test_a_repositorys_template_stands_in_the_place_of_the_shipped_one() -> None:
    """Only where it has one."""
    own = Prompts({"judge": "Is {{ answer }} right?"})
    assert own("judge", ask="?", rubric="?", answer="42") == "Is 42 right?"
    assert own.texts["reflect"] == SHIPPED.texts["reflect"]


def test_an_unknown_template_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no prompt juge") as raised:
        Prompts({"juge": ""})
    assert "judge" in raised.value.hint


RAISING = (  # whatever Python has to say of it
    "{{ '{}'.format() }}",
    "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "{{ 'x' * 10 ** 14 }}",
)


@pytest.mark.parametrize(
    "template",
    [
        "{{ answer",
        "{{ nothing }}",
        "{{ answer.__class__.__mro__ }}",
        "{% include 'commit.txt.j2' %}{{ 1/0 }}",
        *RAISING,
    ],
    ids=["no template", "an unknown name", "reaches into Python", "fails", *map(str, range(len(RAISING)))],
)
def test_a_template_that_fails_is_a_plain_error(template: str) -> None:
    """A repository's template reaches nothing but its values."""
    with pytest.raises(ConfigError, match="judge"):
        Prompts({"judge": template})("judge", ask="?", rubric="?", answer="42")


@pytest.mark.parametrize("name", sorted(SHIPPED.texts))
def test_a_prompt_with_a_hole_is_an_error(name: str) -> None:
    """A template never shows an empty place where a value is missing."""
    with pytest.raises(ConfigError, match="is undefined"):
        SHIPPED(name)
