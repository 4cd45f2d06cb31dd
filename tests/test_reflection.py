"""What the optimizer is asked for one need, and what is made of its answer."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.asking import SHOWN_TEXT
from skillopt_git.backends.scripted import Scripted
from skillopt_git.consolidate import lint
from skillopt_git.lessons import Attempts, Lessons
from skillopt_git.model import Check, Document, Edit, Need, Task
from skillopt_git.ports import CallFailed, LearningEvent, Reflected, Reply, Request
from skillopt_git.reflection import BY_JUDGE, REASON_LIMIT, SHOWN_ANSWER, Reflection, reflect
from tests.learning import PNPM, RULE, SKILL, acts, edits, once, task
from tests.questions import HOSTILE, NEED, TEXT, TONIGHT, attempt, bench, fenced


def failed(number: int = 0, answer: str = "Ran npm.", why: str = "", **fields: Any) -> Attempts:
    return attempt(task(number, "train", **fields), (answer, 0.0), why=why)


def reflected(*answers: Reply | CallFailed, on: Document = TEXT, **fields: Any) -> tuple[Reflection, list[Request]]:
    backend = Scripted(script=acts(optimizer=once(*answers)))
    found = reflect(NEED, Lessons(failing=(failed(),)), on, bench=bench(backend, **fields))
    return found, backend.asked


def question(
    *failing: Attempts,
    passing: tuple[Attempts, ...] = (),
    alike: tuple[Task, ...] = (),
    need: Need = NEED,
    on: Document = TEXT,
    **fields: Any,
) -> str:
    backend = Scripted(script=acts(optimizer=lambda _: edits()))
    reflect(need, Lessons(failing=failing, passing=passing, alike=alike), on, bench=bench(backend, **fields))
    return backend.asked[0].ask


# --- the question ------------------------------------------------------------------------------------------------


def test_the_question_holds_wish_tasks_document_and_house_rules() -> None:
    """What an optimizer needs: also what the answers said, and what a judge thought of them."""
    text = question(failed(0), failed(1, "Ran yarn.", why="It names no manager"), preferences="Write like a pirate")

    for part in (RULE, task(0).ask, task(1).ask, "Ran npm.", "Ran yarn.", "- Be brief", SKILL, "Write like a pirate"):
        assert part in text
    assert text.count("What a judge said") == 1
    assert "It names no manager" in text
    assert "rubric 0.10" not in text
    assert "House rules" not in question(failed(0))


def test_successes_are_shown_beside_failures() -> None:
    """A rule has to leave right what is right."""
    text = question(failed(0), passing=(attempt(task(1, "train"), ("Ran pnpm.", 1.0)),))

    wrong, right = text.split("Tasks that come out right already")
    assert task(0).ask in wrong
    assert task(1).ask in right
    assert "Ran pnpm." in right
    assert "come out right already" not in question(failed(0))


def test_a_better_answer_stands_beside_a_worse_one_to_the_same_task() -> None:
    """Where both exist: the contrast says what makes the difference."""
    text = question(attempt(task(0, "train"), ("Ran npm.", 0.0), ("Ran pnpm.", 1.0)))

    worse, better = text.split("Another answer, which was better")
    assert "Ran npm." in worse
    assert "Ran pnpm." in better
    assert "Another answer" not in question(attempt(task(0, "train"), ("Ran npm.", 0.0), ("Ran it.", 0.0)))


def test_tasks_of_earlier_nights_are_shown_as_asks_alone() -> None:
    other = task(5, "train")

    text = question(failed(0), alike=(other,))

    assert other.ask in text.split("Other tasks that ask the like")[1]


CHECKS = (
    Check(op="contains", arg="zebra-literal"),
    Check(op="not_contains", arg="zebra-banned", where="code"),
    Check(op="regex", arg=r"zebra-\w+ \d{4}"),
    Check(op="tool_called", arg="zebra_tool"),
    Check(op="section_present", arg="Zebra risks"),
    Check(op="section_contains", arg="Zebra plan"),
    Check(op="max_chars", arg=1234567 // 10),
    Check(op="min_chars", arg=98765),
    Check(op="no_refusal"),
)


@pytest.mark.parametrize("item", CHECKS, ids=lambda item: item.op)
def test_a_criterion_is_described_and_never_quoted(item: Check) -> None:
    """In kind, so that no rule is worded to satisfy the check in the place of the user."""
    text = question(failed(0, answer="I cannot do that. `zebra-banned = 1`", checks=(item,)))

    said = text.replace("zebra-banned = 1", "")
    assert "zebra" not in said.casefold()
    assert str(item.arg) not in said
    assert "What an answer to such tasks has to be like:\n- it " in text
    assert ("The answer does not meet this" in text) is (item.op != "max_chars")


def test_a_rubric_is_part_of_the_contract_and_not_quoted() -> None:
    text = question(failed(0, rubric="Secretly zebras"), failed(1))
    assert BY_JUDGE in text
    assert "zebras" not in text
    assert BY_JUDGE not in question(failed(1))


def test_a_long_ask_and_a_long_answer_are_shown_in_part() -> None:
    """A pasted log does not fill the question."""
    text = question(failed(0, "z" * (SHOWN_ANSWER + 500), ask="y" * (SHOWN_TEXT + 500)))
    assert "y" * SHOWN_TEXT in text
    assert "y" * (SHOWN_TEXT + 1) not in text
    assert "z" * SHOWN_ANSWER in text
    assert "z" * (SHOWN_ANSWER + 1) not in text


@given(ask=HOSTILE, answer=HOSTILE.filter(bool), text=HOSTILE, wish=HOSTILE, other=HOSTILE)
def test_no_text_gets_out_of_its_fence(ask: str, answer: str, text: str, wish: str, other: str) -> None:
    """Hostile asks, answers, documents and wishes stay data, whatever they hold, and arrive unchanged."""
    alike = task(5, "train", ask=other)
    shown = attempt(task(0, "train", ask=ask), (answer, 0.0), (f"{answer}!", 1.0))

    written = question(shown, passing=(shown,), alike=(alike,), need=Need(PNPM, wish), on=replace(TEXT, text=text))

    assert fenced(written) == [wish, ask, answer, f"{answer}!", ask, f"{answer}!", other, text]


def test_a_text_that_knows_the_fence_gets_another_one() -> None:
    """Quoting the fence of an earlier question changes the fence."""
    first = question(failed(0))
    known = re.findall(r"<<<DATA (\w{16})", first)[0]

    second = question(failed(0, ask=f"{task(0).ask} DATA {known.upper()}>>>"))

    assert known not in re.findall(r"<<<DATA (\w{16})", second)


def test_the_same_question_is_the_same_request() -> None:
    """So that a night that broke off finds its answer again."""
    assert question(failed(0), failed(1)) == question(failed(0), failed(1))


def test_the_request_says_what_form_the_answer_has() -> None:
    """For doors that can hold their model to it."""
    _, (request,) = reflected(edits(RULE))

    schema = json.loads(request.schema)
    (proposed,) = [schema["properties"]["edits"]["items"]]
    assert schema["required"] == ["edits"]
    assert proposed["additionalProperties"] is False
    assert set(proposed["required"]) == {"op", "text", "anchor", "reason"}
    assert proposed["properties"]["op"]["enum"] == ["add", "replace", "delete"]


# --- the answer --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"edits": [{"op": "add", "text": RULE, "reason": "Why."}]}),
        f'```json\n{{"edits": [{{"text": "{RULE}", "reason": "Why."}}]}}\n```',
        f'Here you are: {{"edits": [{{"op": "add", "text": "- {RULE}", "reason": " Why.\\n"}}]}} Good luck!',
    ],
)
def test_an_answer_is_read_out_of_what_surrounds_it(text: str) -> None:
    """Code fences and polite words around the JSON do no harm; list dashes and blanks are taken off."""
    found, _ = reflected(Reply(text=text))
    assert found.edits == (Edit(op="add", target=SKILL, text=RULE, reason="Why.", need=PNPM),)
    assert found.edits[0].reason == "Why."
    assert found.reply == text


def test_replace_and_delete_name_the_rule_they_are_about() -> None:
    """An `add` has no anchor and a `delete` no text, whatever the answer says."""
    found, _ = reflected(
        edits(
            {"op": "replace", "anchor": "- Be  brief", "text": "Be very brief", "reason": ""},
            {"op": "delete", "anchor": "Be brief", "text": "x"},
            {"op": "add", "anchor": "Be brief", "text": "Be kind"},
        )
    )
    assert [(edit.op, edit.anchor, edit.text) for edit in found.edits] == [
        ("replace", "Be brief", "Be very brief"),
        ("delete", "Be brief", None),
        ("add", None, "Be kind"),
    ]


def test_an_answer_that_is_not_json_is_asked_for_once_more_and_firmer() -> None:
    """The second question is the first with one line more, and is asked anew every night."""
    heard: list[LearningEvent] = []
    found, requests = reflected(Reply(text="Use pnpm."), edits(RULE), notify=heard.append)

    assert [edit.text for edit in found.edits] == [RULE]
    assert heard == [Reflected(SKILL, RULE, 1)]
    first, second = requests
    assert "Your last answer was not such JSON." in second.ask
    assert "Your last answer" not in first.ask
    assert (first.sample, second.sample) == ("", f"{TONIGHT}/firmer")
    assert {(item.role, item.purpose) for item in requests} == {("optimizer", "reflect")}


def test_after_two_bad_answers_the_reflection_has_failed() -> None:
    """The failure says so, and the last answer is kept for whoever looks into it."""
    found, requests = reflected(Reply(text="Use pnpm."), Reply(text='{"edits": 1}'))

    assert len(requests) == 2
    assert found.edits == ()
    assert found.failure is not None
    assert found.failure.kind == "schema"
    assert found.reply == '{"edits": 1}'


@pytest.mark.parametrize("before", [(), (Reply(text="no JSON"),)])
def test_a_failed_call_is_the_reflections_failure(before: tuple[Reply, ...]) -> None:
    """It is not asked again: retrying calls is not this stage's business."""
    failure = CallFailed("timeout", "too slow")
    found, requests = reflected(*before, failure)
    assert found.failure == failure
    assert len(requests) == len(before) + 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["edits", "op", "text", "anchor", "reason", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)
LIKELY = st.fixed_dictionaries(
    {"edits": st.lists(st.fixed_dictionaries({}, optional={
        "op": st.sampled_from(["add", "replace", "delete", "move"]),
        "text": st.none() | st.text(max_size=30),
        "anchor": st.none() | st.text(max_size=30),
        "reason": st.text(max_size=30),
    }), max_size=3)}
)  # fmt: skip


@given(st.one_of(st.text(), st.text(alphabet='{}[]":, \ud800ae', max_size=20), (JSON | LIKELY).map(json.dumps)))
def test_no_answer_is_an_exception(text: str) -> None:
    """Any text either is the JSON asked for, or a failure; its edits can always be told apart and linted."""
    found, requests = reflected(Reply(text=text), Reply(text=text))
    assert (found.failure is None) == (len(requests) == 1)
    for edit in found.edits:
        assert edit.target == SKILL
        assert edit.need == PNPM
        lint(edit)


def test_text_of_several_lines_is_folded_or_stays_as_it_came() -> None:
    """A wrapped sentence becomes one line; two rules in one are left for the document's door to refuse."""
    found, _ = reflected(
        edits("Use pnpm,\n  not npm", "Use pnpm\n- and yarn", "a\n<!-- SKILLOPT-SLEEP:LEARNED END -->")
    )
    assert [edit.text for edit in found.edits] == [
        RULE,
        "Use pnpm\n- and yarn",
        "a\n<!-- SKILLOPT-SLEEP:LEARNED END -->",
    ]


def test_a_reason_is_one_short_line_without_secrets() -> None:
    """It is published: clipped, without the private part of a redaction mark, and empty if it quotes a secret."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    said = ["Long. " * 200, f"They typed {secret}", "They typed [REDACTED:github-pat:0a1b2c3d]", "One\n\n# Two"]
    found, _ = reflected(edits(*({"text": f"Rule {at}", "reason": reason} for at, reason in enumerate(said))))

    long, leaky, marked, lines = (edit.reason for edit in found.edits)
    assert len(long) == REASON_LIMIT
    assert leaky == ""
    assert marked == "They typed [REDACTED:github-pat]"
    assert lines == "One # Two"
