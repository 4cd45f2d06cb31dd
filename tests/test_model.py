from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.ids import (
    canonical_json,
    digest,
    edit_id,
    event_id,
    family_id,
    fold,
    fold_unmarked,
    need_id,
    rule_id,
    run_id,
    task_id,
)
from skillopt_git.model import Candidate, Check, CheckOp, CheckRole, Document, Edit, Session, Turn, Verdict

RULE = "Use pnpm, not npm."

# --- ids: literal values, for they are written into commits and ledgers and may never change -----------------------


def test_ids_are_what_earlier_versions_wrote() -> None:
    """Every kind of id has its prefix and the digits it always had."""
    assert digest() == "4f53cda18c2baa0c"
    assert edit_id("add", "CLAUDE.md", None, RULE) == "e1-828dace276984cb4"
    assert edit_id("replace", "CLAUDE.md", RULE, "Use bun.") == "e1-5008d4b23c1b1928"
    assert edit_id("delete", "CLAUDE.md", RULE, None) == "e1-f8000b29ea522414"
    assert rule_id(RULE) == "r1-aa201b3e57af9369"
    assert task_id("claude", "5f0c", "91ab") == "t1-ba4d940e77d455dd"
    assert need_id(RULE) == "n1-aa201b3e57af9369"
    assert family_id("Add date-fns") == "f1-b44e35b9923da9b6"
    assert event_id("gate", {"edit": "e1-0"}, "20260101T000000Z-00000000") == "5ff2695884c1e3f6"


def test_rules_are_one_whatever_their_case_blanks_and_composition() -> None:
    """A rule typed in another way is the same rule, another sentence is not."""
    assert rule_id("Füge  PNPM\thinzu") == rule_id(unicodedata.normalize("NFD", "füge pnpm hinzu\n"))
    assert rule_id("Use pnpm") != rule_id("Use npm")


def test_edits_are_told_apart_by_operation_target_anchor_and_text() -> None:
    """The rule does not depend on where it is written, the edit does."""
    edit = Edit(op="add", target="CLAUDE.md", text=RULE, reason="asked twice", need="n1-0")
    elsewhere = Edit(op="add", target="AGENTS.md", text=RULE)
    assert edit.id == edit_id("add", "CLAUDE.md", None, RULE) == Edit(op="add", target="CLAUDE.md", text=RULE).id
    assert elsewhere.id != edit.id
    assert elsewhere.rule == edit.rule == rule_id(RULE)


def test_an_edit_is_about_what_it_writes_or_removes() -> None:
    """A replace is known by its new rule, a delete by the one that goes."""
    assert Edit(op="replace", target="CLAUDE.md", anchor="Use npm.", text=RULE).sentence == RULE
    assert Edit(op="delete", target="CLAUDE.md", anchor="Use npm.").sentence == "Use npm."


def test_parts_of_an_id_cannot_flow_into_one_another() -> None:
    """Where one part ends counts, and nothing is not the empty text."""
    assert task_id("a", "bc", "d") != task_id("ab", "c", "d")
    assert edit_id("add", "a", None, "b") != edit_id("add", "a", "", "b")


def test_needs_and_families_do_not_depend_on_a_machine_s_key() -> None:
    """The digits of a redaction mark are cut, its kind stays."""
    ours, theirs = "log in with [REDACTED:token:0123abcd]", "Log in with [REDACTED:token:ffffffff]"
    assert fold_unmarked(ours) == "log in with [redacted:token]"
    assert need_id(ours) == need_id(theirs)
    assert family_id(ours) == family_id(theirs)
    assert family_id(ours) != family_id("log in with [REDACTED:password:0123abcd]")


def test_a_run_is_named_by_its_second_and_some_salt() -> None:
    """`YYYYMMDDTHHMMSSZ-xxxxxxxx`."""
    assert run_id(datetime(2026, 3, 9, 4, 5, 6, tzinfo=UTC), "0123456789abcdef") == "20260309T040506Z-01234567"


# --- text and JSON -----------------------------------------------------------------------------------------------


@given(st.text())
def test_folding_is_stable(text: str) -> None:
    """Folded text stays as it is, and composition does not matter."""
    assert fold(fold(text)) == fold(text)
    assert fold(unicodedata.normalize("NFD", text)) == fold(text)
    assert fold_unmarked(fold_unmarked(text)) == fold_unmarked(text)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), values))
def test_canonical_json_is_one_spelling_of_a_value(value: dict[str, object]) -> None:
    """It reads back as the value, and the order of the keys does not matter."""
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(dict(reversed(value.items()))) == text
    assert "\n" not in text


def test_canonical_json_is_dense_sorted_utf8() -> None:
    """No blanks, keys in order, characters as they are."""
    assert canonical_json({"b": [1, None, True], "a": "é"}) == '{"a":"é","b":[1,null,true]}'


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_canonical_json_refuses_what_json_has_not(number: float) -> None:
    """A measurement that is no number may not become evidence."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json([number])


# --- nouns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "role", "shape"),
    [
        ("contains", None, False),
        ("max_chars", None, True),
        ("section_present", None, True),
        ("regex", "shape", True),
        ("max_chars", "outcome", False),
    ],
)
def test_a_check_is_about_shape_by_its_op_unless_it_says_otherwise(op: CheckOp, role: CheckRole, shape: bool) -> None:
    """A role that is given beats the one of the op."""
    assert Check(op=op, arg=1, role=role).is_shape is shape


def test_only_prompts_are_what_a_person_typed() -> None:
    """Commands, shell escapes and answers are turns, but no prompts."""
    typed = Turn(id="1", kind="prompt", text="add a test")
    others = (
        Turn(id="2", kind="command", text="/clear"),
        Turn(id="3", kind="shell", text="!ls"),
        Turn(id="4", kind="answer", text="done"),
    )
    assert Session(id="s", source="claude", path="p", cwd=None, turns=(*others, typed)).prompts == (typed,)


@pytest.mark.parametrize(
    ("verdict", "accepted"),
    [
        ("strong", True),
        ("ungated", True),
        ("suggestive", False),
        ("inconclusive", False),
        ("harmful", False),
        ("invalid", False),
        ("unverified", False),
    ],
)
def test_only_strong_and_ungated_candidates_are_accepted(verdict: Verdict, accepted: bool) -> None:
    """Everything else waits, or is refused."""
    document = Document(path="CLAUDE.md", kind="memory", text="", blob=None)
    assert Candidate(document=document, edits=(), verdict=verdict, why="").accepted is accepted
