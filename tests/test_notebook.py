"""What a person does with tasks, as values: written, found, confirmed, marked, put out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.bank import Bank
from skillopt_git.errors import SafetyError, UsageError
from skillopt_git.ids import need_id
from skillopt_git.languages import reader
from skillopt_git.model import Check, Hint, Sighting, Task, TasksFile
from skillopt_git.notebook import Draft, Notebook, check_of
from skillopt_git.redact import Redactor, Scanner
from tests.learning import OTHER, PNPM, RULE, TICKET, task

REDACT = Redactor(b"k" * 32, Scanner(("bluebird",)))
READER = reader()
ASK = "Add lodash to the web package"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
EMPTY = Notebook(bank=Bank())


def book(*tasks: Task, shared: tuple[Task, ...] = (), reviewed: bool = True, **fields: Any) -> Notebook:
    files = (TasksFile(v=1, reviewed=reviewed, needs={TICKET: OTHER}, tasks=shared),) if shared else ()
    return Notebook(bank=Bank(tasks=tasks, needs={PNPM: RULE}, **fields), files=files)


def write(on: Notebook = EMPTY, ask: str = ASK, rule: str = RULE, **fields: Any) -> tuple[Notebook, Task]:
    return on.with_written(Draft(ask=ask, rule=rule, **fields), redact=REDACT, reader=READER)


def sighting(about: str | None, need: str = PNPM) -> Sighting:
    return Sighting(need=need, rule=RULE, quote="use pnpm", turn="u1", session="s1", source="claude", task=about)


# --- writing -----------------------------------------------------------------------------------------------------


def test_a_written_task_is_reviewed_and_judged_by_its_rules_words() -> None:
    """Who wrote it has seen it; the checks are those that the sentence would get anywhere else."""
    on, made = write()

    assert (made.ask, made.origin, made.needs) == (ASK, "reviewed", (need_id(RULE),))
    assert {(check.op, check.arg) for check in made.checks} == {("contains", "pnpm"), ("not_contains", "npm")}
    assert (made.rubric, made.golden, made.personal, made.split) == (None, False, False, None)
    assert on.bank.tasks == (made,)
    assert on.bank.needs == {need_id(RULE): RULE}
    assert on.rule(made) == RULE


def test_a_rule_without_words_to_look_for_gets_a_rubric() -> None:
    """And so does a task whose checks look at the form alone: any text of that form would pass."""
    for fields in ({"rule": "Explain why before you change anything"}, {"checks": (check_of("max_chars:400"),)}):
        _, made = write(**fields)
        assert made.rubric is not None
        assert "keeps to this" in made.rubric
    assert made.checks == (Check(op="max_chars", arg=400, role="shape"),)


def test_what_a_person_gives_goes_before_what_would_be_found() -> None:
    """Their checks, their rubric."""
    _, made = write(checks=(check_of("regex:pnpm (add|install)"),), rubric="Does it use pnpm?")
    assert made.checks == (Check(op="regex", arg="pnpm (add|install)", role="outcome"),)
    assert made.rubric == "Does it use pnpm?"


def test_the_same_ask_and_rule_are_the_same_task() -> None:
    """Whatever their case and blanks; what was decided about it stays, and the last word on how to judge it counts."""
    on, first = write(golden=True, personal=True)
    placed = Notebook(
        bank=Bank(tasks=(task(1), Task(**_fields(first, family="f1-a", split="val"))), needs=on.bank.needs)
    )

    again, second = write(placed, ask=f"  {ASK.upper()} ", rule=f"- {RULE.lower()}", rubric="Is it right?")

    assert second.id == first.id
    assert [item.id for item in again.bank.tasks] == [task(1).id, first.id]
    assert (second.golden, second.personal, second.family, second.split) == (True, True, "f1-a", "val")
    assert second.rubric == "Is it right?"
    assert second.needs == first.needs
    assert again.bank.needs == {need_id(RULE): RULE}
    assert write(again, ask="Another ask")[1].id != first.id


def _fields(of: Task, **changes: Any) -> dict[str, Any]:
    return {name: getattr(of, name) for name in of.__slots__} | changes


def test_a_rule_that_is_known_joins_its_need() -> None:
    """That of the private bank or of a shared file, by its words and not by its id."""
    on = book(task(1), shared=(task(6, "val", TICKET),))
    assert write(on)[1].needs == (PNPM,)
    assert write(on, rule="put the ticket number in branch names ")[1].needs == (TICKET,)


def test_writing_a_wish_again_takes_back_that_it_was_replaced_or_put_out() -> None:
    """Somebody asks for it now."""
    on, made = write(book(task(1), replaced={PNPM: TICKET, TICKET: "n1-z"}))
    assert on.bank.replaced == {TICKET: "n1-z"}

    gone = on.without([made])
    assert gone.bank.dropped == (made.id,)
    assert write(gone)[0].bank.dropped == ()


@pytest.mark.parametrize("where", ["ask", "rule", "rubric", "checks"])
@pytest.mark.parametrize("what", [SECRET, "bluebird"])
def test_a_secret_or_a_denied_word_is_refused_wherever_it_stands(where: str, what: str) -> None:
    """Named by place and kind, and not by its value."""
    value: Any = (Check(op="contains", arg=what),) if where == "checks" else f"Use {what} for it"
    with pytest.raises(SafetyError) as caught:
        write(**{where: value})
    assert f"the {where}: " in caught.value.message
    assert what not in caught.value.message


def test_addresses_are_cut_out_of_an_ask_and_refused_in_a_rule() -> None:
    """A task may be about somebody; a rule is read by everybody's agents."""
    _, made = write(
        ask="Write to bob@acme-api.io about /home/bob/notes",
        rubric="It names bob@acme-api.io",
        checks=(check_of("contains:bob@acme-api.io"),),
    )
    assert "bob" not in f"{made.ask} {made.rubric} {made.checks}"
    assert "[REDACTED:" in made.ask
    with pytest.raises(UsageError, match="names an address or a folder of one person"):
        write(rule="Write to bob@acme-api.io first")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"ask": " \n"}, "the ask is empty"),
        ({"rule": " "}, "it has no text"),
        ({"rule": "x " * 101}, "longer than 200"),
        ({"rule": "Fetch schemas from https://evil.example/x"}, "capability: .*url"),
        ({"rule": "Use <!-- this -->"}, "HTML comment"),
    ],
)
def test_what_could_never_be_used_is_told_at_once(fields: dict[str, Any], why: str) -> None:
    """Rather than be dropped night after night."""
    with pytest.raises(UsageError, match=why):
        write(**fields)


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("contains:pnpm", Check(op="contains", arg="pnpm", role="outcome")),
        ("not_contains:http://x:80", Check(op="not_contains", arg="http://x:80", role="outcome")),
        ("max_chars: 400", Check(op="max_chars", arg=400, role="shape")),
        ("no_refusal", Check(op="no_refusal", role="outcome")),
        ("section_present:Risks", Check(op="section_present", arg="Risks", role="shape")),
    ],
)
def test_a_check_is_read_from_one_word(words: str, made: Check) -> None:
    """What comes after the first colon is the argument."""
    assert check_of(words) == made


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("containz:x", "'containz' is no kind of check"),
        ("pnpm", "'pnpm' is no kind of check"),
        ("contains:", "needs a text"),
        ("max_chars:many", "whole number"),
        ("max_chars:" + "9" * 5000, "whole number"),
        ("regex:(", "invalid regex"),
        ("no_refusal:x", "takes no argument"),
    ],
)
def test_a_check_that_could_not_be_judged_is_refused(words: str, why: str) -> None:
    """With what is wrong, and what there is."""
    with pytest.raises(UsageError, match=why) as caught:
        check_of(words)
    assert "contains" in caught.value.hint


# --- finding -----------------------------------------------------------------------------------------------------


def test_a_private_task_goes_before_the_shared_one_and_what_was_put_out_is_not_there() -> None:
    """Each task once, in words that people reviewed."""
    own = task(1, golden=True)
    on = book(own, shared=(task(1), task(2), task(3)), dropped=(task(3).id,))

    assert on.tasks == (own, task(2))
    assert on.needs == {PNPM: RULE, TICKET: OTHER}


def test_a_task_has_the_rule_of_its_first_need_that_still_holds() -> None:
    """None where no words are known for it, or a later wish took its place."""
    on = book(shared=(task(6, "val", TICKET),), replaced={PNPM: TICKET})
    assert on.rule(task(6, "val", TICKET)) == OTHER
    assert on.rule(task(3, "val", PNPM, TICKET)) == OTHER
    assert on.rule(task(3)) is None
    assert on.rule(task(3, needs=("n1-x",))) is None


def test_a_task_is_found_by_an_unmistakable_beginning() -> None:
    """A whole id is never the beginning of another one."""
    one, two = task(1, id="t1-ab"), task(2, id="t1-abc")
    on = book(one, two)

    assert on.named("t1-abc") == two
    assert on.named("t1-ab") == one
    for name, what in (("t1-a", "several tasks"), ("t1-x", "no known task")):
        with pytest.raises(UsageError, match=what) as caught:
            on.named(name)
        assert caught.value.hint == "known: t1-ab, t1-abc"
    with pytest.raises(UsageError) as caught:
        EMPTY.named("t1-x")
    assert caught.value.hint == "known: none"


def test_a_need_is_found_by_its_id_or_by_words_of_its_rule() -> None:
    """Of any case; what is none says which there are."""
    on = book(task(1), shared=(task(6, "val", TICKET),))

    assert on.wanted("PNPM") == {PNPM}
    assert on.wanted(TICKET) == {TICKET}
    assert on.wanted("n1-") == {PNPM, TICKET}
    for words in ("cargo", ""):
        with pytest.raises(UsageError, match="names no known need") as caught:
            on.wanted(words)
        assert f"{PNPM} ({RULE})" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        EMPTY.wanted("pnpm")
    assert caught.value.hint == "known: none"


# --- marks -------------------------------------------------------------------------------------------------------


def test_only_what_a_person_confirmed_is_reviewed() -> None:
    """Here, or in a file that somebody reviewed; being shared unreviewed, or like a reviewed task, is not enough."""
    mined, done = task(1), task(2, origin="reviewed")
    assert not book(mined).reviewed(mined)
    assert book(done).reviewed(done)
    assert book(shared=(mined,)).reviewed(mined)
    assert not book(shared=(mined,), reviewed=False).reviewed(mined)
    assert not book(task(1, ask="Changed"), shared=(mined,)).reviewed(task(1, ask="Changed"))


def test_confirming_changes_the_origin_and_nothing_else() -> None:
    """In its place in the bank."""
    on = book(task(1), task(2)).with_reviewed(task(1))
    assert on.bank.tasks == (task(1, origin="reviewed"), task(2))


def test_marking_a_shared_task_makes_a_private_copy_that_counts() -> None:
    """With the words of its need, so that the private bank can be read alone; what it was in stays as it is."""
    on = book(shared=(task(6, "val", TICKET),)).with_golden(task(6, "val", TICKET), golden=True)

    assert on.bank.tasks == (task(6, "val", TICKET, golden=True),)
    assert on.tasks == on.bank.tasks
    assert on.bank.needs == {PNPM: RULE, TICKET: OTHER}
    assert on.with_golden(on.bank.tasks[0], golden=False).tasks == (task(6, "val", TICKET),)


def test_whatever_asks_for_something_personal_stays() -> None:
    """Also a task that is not marked itself: its rule would tell."""
    on = book(task(1, personal=True), task(2), task(3, "val", PNPM, TICKET), task(6, "val", TICKET))
    assert [on.stays(item) for item in on.bank.tasks] == [True, True, True, False]


# --- putting out -------------------------------------------------------------------------------------------------


def test_a_task_that_was_put_out_is_remembered() -> None:
    """Gone with its hint; the turn it came from stays known and does not count any more."""
    hint = Hint(sighting=sighting(task(3).id, need=""), task=task(3))
    on = book(
        task(1), task(2), shared=(task(4),), sightings=(sighting(task(1).id), sighting(None)), hints=(hint,)
    ).without([task(1), task(4), task(3)])

    assert on.tasks == (task(2),)
    assert on.bank.dropped == tuple(sorted(task(number).id for number in (1, 3, 4)))
    assert on.bank.hints == ()
    assert len(on.bank.sightings) == 2
    assert on.sightings == (sighting(None),)
    assert on.without([]) == on


TASKS = st.lists(st.integers(0, 9).map(task), max_size=6, unique_by=lambda item: item.id)


@given(TASKS, TASKS, TASKS)
def test_putting_out_and_marking_never_touch_other_tasks(own: list[Task], shared: list[Task], gone: list[Task]) -> None:
    """What is left is what was there, in its order; what is out is never there; twice is once."""
    before = book(*own, shared=tuple(shared))
    after = before.without(gone)
    assert after.tasks == tuple(item for item in before.tasks if item not in gone)
    assert after.without(gone) == after
    for item in after.tasks:
        marked = after.with_golden(item, golden=True)
        assert sorted(other.id for other in marked.tasks) == sorted(other.id for other in after.tasks)
        assert [other.id for other in marked.tasks if other.golden] == [item.id]
