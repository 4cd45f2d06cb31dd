from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest

from skillopt_git.ids import digest, need_id, task_id
from skillopt_git.judges import score_checks
from skillopt_git.languages import reader
from skillopt_git.mine import Mined, mine, sessions_of, wordings
from skillopt_git.model import Check, Examples, Need, Session, Task, Turn
from skillopt_git.ports import Reply
from skillopt_git.recurrence import recurring, tally
from skillopt_git.remarks import remarks
from skillopt_git.sources.claude import ClaudeSource
from tests.found import gather

DATA = Path(__file__).parent / "data" / "transcripts" / "claude"
START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
PNPM = need_id("Use pnpm, not npm")


def session(id_: str, *said: str, minute: int = 0, copied: str | None = None) -> Session:
    """A conversation; "/x" is a command, "!x" a shell escape, "< x" an answer, all else is typed.

    `copied`: the session whose turns these are, as in a fork.
    """
    kinds = {"/": "command", "!": "shell", "<": "answer"}
    turns = tuple(
        Turn(id=f"{copied or id_}-{number}", kind=kinds.get(text[0], "prompt"), text=text.removeprefix("< "))  # type: ignore[arg-type]
        for number, text in enumerate(said)
    )
    return Session(
        id=id_, source="claude", path=id_, cwd="/acme", turns=turns, started=START + timedelta(minutes=minute)
    )


def mined(*sessions: Session) -> Mined:
    return mine(sessions, needs={}, reader=reader())


def often(found: Mined, sessions_: int) -> tuple[Need, ...]:
    counts = tally(found.tasks, found.sightings, {})
    return recurring(found.needs, counts, min_sessions=sessions_, replaced=tuple(found.replaced))


def later(*sessions: Session, known: Mined) -> Mined:
    """Another night, after the one that found `known`."""
    return mine(
        sessions,
        needs=known.needs,
        sightings=known.sightings,
        hints=known.hints,
        replaced=known.replaced,
        reader=reader(),
    )


def asks(*said: str) -> list[tuple[str, str, str, str]]:
    """Of each correction in a conversation: the ask, what came before it, and the answers around the correction."""
    found = [item for item in remarks(session("s", *said), reader()) if not all(voice.faint for voice in item.voices)]
    return [(item.ask.text, item.earlier, item.before, item.after) for item in found if item.ask is not None]


def test_a_correction_gives_the_task_that_was_answered_wrongly() -> None:
    """The ask, the need in the user's words, checks, and the real answers around the correction as examples."""
    found = mined(session("s1", "Add lodash", "< Ran npm install.", "No, use pnpm, not npm", "< Ran pnpm add."))

    (task,) = found.tasks
    assert task == Task(
        id=task_id("claude", "s1", "s1-0"),
        ask="Add lodash",
        needs=(PNPM,),
        checks=(
            Check(op="contains", arg="pnpm", role="outcome", where="command"),
            Check(op="not_contains", arg="npm", role="outcome", where="command"),
        ),
        examples=Examples(pass_="Ran pnpm add.", fail="Ran npm install."),
        sessions=("s1",),
        outcome="mixed",
    )
    assert found.needs == {PNPM: "Use pnpm, not npm"}
    assert wordings(found.sightings) == {PNPM: {task.id: "Use pnpm, not npm"}}


def test_without_names_to_look_for_a_rubric_states_the_rule() -> None:
    """An idea cannot be searched for; unanswered corrections are failures without a passing example."""
    (task,) = mined(session("s1", "Fix it", "< Done.", "We never commit to main")).tasks

    assert task.checks == ()
    assert task.rubric is not None
    assert "Never commit to main" in task.rubric
    assert (task.examples, task.outcome) == (Examples(fail="Done."), "fail")


def test_examples_are_kept_only_where_the_checks_agree() -> None:
    """An answer that fails the checks is no passing example, one that passes no failing one."""
    (task,) = mined(
        session(
            "s1", "Add it", "< pnpm.", "No, always run ruff first", "< ruff.", "No, never use yarn", "< Yarn, then."
        )
    ).tasks

    assert [item.arg for item in task.checks] == ["ruff"]
    assert task.examples == Examples(fail="pnpm.")


@pytest.mark.parametrize(
    ("said", "checks"),
    [
        # what the accepted answer says is not forbidden
        (["< Ran npm.", "No, use pnpm, not npm", "< Took out npm, put in pnpm."], [("contains", "pnpm")]),
        (["< Ran npm.", "No, never use npm", "< Took out npm."], []),
        # a word that it leaves out may still be asked for: answers are short
        (["< Ran npm.", "No, use pnpm, not npm", "< Done."], [("contains", "pnpm"), ("not_contains", "npm")]),
        (["< Ran npm.", "No, use pnpm, not npm"], [("contains", "pnpm"), ("not_contains", "npm")]),
        # checks that pass what was turned down look at something else
        (["< Done 🎉", "No, do not use emojis", "< Done"], []),
        (["< pnpm it is.", "No, use pnpm, not npm", "< npm again."], []),
        # each wish by the answer it turned down, and by any of them if it was said twice
        (
            ["< Ran npm 🎉", "No, use pnpm, not npm. Do not use emojis", "< Ran pnpm."],
            [("contains", "pnpm"), ("not_contains", "npm")],
        ),
        (
            ["< Ran npm.", "No, use pnpm, not npm", "< Ran pnpm.", "No, use pnpm, not npm", "< Ran pnpm."],
            [("contains", "pnpm"), ("not_contains", "npm")],
        ),
        # a number says nothing by itself
        (["< With 4 spaces.", "No, use 2 spaces, not 4", "< With 2 spaces, not 4."], []),
        (["< With 4 spaces.", "No, use 2 spaces, not 4"], []),
        (["< Four spaces.", "No, use two spaces, not four", "< Done."], []),
        (["< At 80%.", "No, use `0.9`, not 80%", "< Done."], []),
    ],
)
def test_checks_agree_with_the_answers_they_come_from(said: list[str], checks: list[tuple[str, str]]) -> None:
    """The turned-down answer fails them, the accepted one says nothing they forbid.

    A rubric judges where there are none, and where an answer that repeats the wish would pass them.
    """
    (task,) = mined(session("s1", "Add it", *said)).tasks

    assert [(item.op, item.arg) for item in task.checks] == checks
    assert (task.rubric is None) is any(op == "not_contains" for op, _ in checks)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        # a chain of corrections is about one ask
        (
            ["Add it", "< a", "No, use pnpm, not npm", "< b", "And never commit to main", "< c"],
            [("Add it", "", "a", "b"), ("Add it", "", "b", "c")],
        ),
        # a follow-up is an ask of its own; what was asked before is its context
        (
            ["Add it", "< a", "ok commit it", "< b", "No, never commit to main", "< c"],
            [("ok commit it", "Add it", "b", "c")],
        ),
        # the first prompt corrects nothing
        (["Always run ruff first", "< a"], []),
        (
            ["Always run ruff first", "< a", "No, always run ruff first", "< b"],
            [("Always run ruff first", "", "a", "b")],
        ),
        # nothing was answered yet
        (["Add it", "Use pnpm, not npm", "< a"], []),
        (["Add it", "Use pnpm, not npm", "< a", "No, use pnpm, not npm", "< b"], [("Add it", "", "a", "b")]),
        # an interrupted ask is not corrected in place of the one before
        (["Add it", "< a", "Drop zod", "No, use pnpm, not npm", "< b"], []),
        # what answered a command or a shell escape is no answer to a typed ask
        (["Add it", "< a", "/review", "< b", "No, use pnpm, not npm", "< c", "Use pnpm, not npm"], []),
        (["Add it", "< a", "! ls", "< b", "No, use pnpm, not npm"], []),
        (["/clear", "Always run ruff first", "< a"], []),
        # a command that nobody answered changes nothing
        (
            ["Add it", "< a", "/compact", "No, use pnpm, not npm", "< b", "Never commit to main"],
            [("Add it", "", "a", "b"), ("Add it", "", "b", "")],
        ),
        (["Add it", "< a", "No, use pnpm, not npm", "/run", "< b"], [("Add it", "", "a", "")]),
        # several answers in a row: the last is what the user saw
        (["Add it", "< a", "< b", "No, use pnpm, not npm", "< c", "< d"], [("Add it", "", "b", "d")]),
        # thanks and questions are no corrections
        (["Add it", "< a", "thanks", "< b", "why npm?", "< c"], []),
    ],
)
def test_which_task_was_answered_wrongly(said: list[str], found: list[tuple[str, str, str, str]]) -> None:
    """The last typed ask that the turned-down answer was about."""
    assert asks(*said) == found


def test_the_later_wish_of_a_conversation_stands() -> None:
    """Who changes their mind takes the first wish back: need and checks of the last word only."""
    (task,) = mined(
        session("s1", "Add it", "< npm.", "No, use pnpm, not npm", "< pnpm.", "No, use npm, not pnpm", "< npm.")
    ).tasks

    assert task.needs == (need_id("Use npm, not pnpm"),)
    assert [(item.op, item.arg) for item in task.checks] == [("contains", "npm"), ("not_contains", "pnpm")]
    assert task.examples == Examples(pass_="npm.")


def test_checks_of_one_task_can_all_pass() -> None:
    """Two wishes that go together may name one word: what is asked for is not forbidden as well."""
    (task,) = mined(
        session(
            "s1", "Add it", "< x", "No, use pnpm, not npm", "< y", "No, always run npm test before you finish", "< z"
        )
    ).tasks

    assert len(task.needs) == 2
    assert score_checks(task, Reply(text="pnpm add it, then npm test")).hard == 1


def test_like_corrections_of_several_sessions_are_one_need() -> None:
    """Each session counts once, however often it repeats the wish; opposite wishes stay apart."""
    found = mined(
        session("s1", "Add lodash", "< a", "No, use pnpm, not npm", "< b", "No! Use pnpm, not npm", "< c"),
        session("s2", "Drop zod", "< a", "no, please use pnpm instead of npm here", "< b", minute=1),
    )
    opposite = later(session("s3", "Pin vite", "< a", "No, use npm, not pnpm", "< b", minute=2), known=found)

    assert sessions_of(PNPM, found.tasks) == {"s1", "s2"}
    assert sessions_of(PNPM, opposite.tasks) == set()
    assert often(found, 2) == (Need(PNPM, "Use pnpm, not npm"),)
    assert often(found, 3) == ()


def test_a_task_from_a_file_counts_as_a_session() -> None:
    """It names none, and stands for one of its own."""
    tasks = [Task(id=f"t1-{number}", ask="x", needs=("n1-a",)) for number in range(2)]

    assert recurring({"n1-a": "Be brief"}, tally(tasks, (), {}), min_sessions=2) == (Need("n1-a", "Be brief"),)


def test_a_known_need_keeps_its_id_and_words() -> None:
    """Also when its text is now other than the wording that founded it."""
    said = session("s1", "Add it", "< a", "No, use pnpm, not npm", "< b")

    reworded = mine([said], needs={PNPM: "Install packages with our package manager"}, reader=reader())
    alike = mine([said], needs={"n1-other": "Use pnpm instead of npm"}, reader=reader())

    assert (reworded.tasks[0].needs, reworded.needs) == ((PNPM,), {PNPM: "Install packages with our package manager"})
    assert alike.tasks[0].needs == ("n1-other",)


FORKED = ["Add lodash", "< a", "No, use pnpm, not npm", "< b"]


def test_copies_of_a_session_count_once() -> None:
    """A fork repeats turns under their ids: of the copies the first in time stands, whatever the order of reading."""
    first = session("s1", *FORKED)
    fork = session("s2", *FORKED, copied="s1", minute=5)

    for order in ([first, fork], [fork, first]):
        found = mined(*order)
        assert [task.sessions for task in found.tasks] == [("s1",)]


def test_copies_of_a_session_count_once_over_nights() -> None:
    """What one night found in one file is not found again in another; read again, the file gives the same task."""
    fork = session("s2", *FORKED, copied="s1", minute=5)
    known = mined(fork)

    assert later(session("s1", *FORKED), fork, known=known).tasks == known.tasks


def test_a_fork_that_goes_on_tells_only_what_is_new() -> None:
    """Its own corrections count; those it copied do not."""
    fork = session("s2", *FORKED, "No, never commit to main", "< c", copied="s1", minute=5)

    found = mined(session("s1", *FORKED), fork)

    assert sessions_of(PNPM, found.tasks) == {"s1"}
    assert sessions_of(need_id("Never commit to main"), found.tasks) == {"s2"}


def test_a_session_that_grew_keeps_its_task_ids() -> None:
    """Identity is source, session and turn, never the position in a file or the text."""
    night = mined(session("s1", *FORKED))
    grown = session("s1", *FORKED, "No, never commit to main", "< c", "Drop zod", "< d", "No, use pnpm, not npm", "< e")

    more = later(grown, known=night)

    assert [task.ask for task in more.tasks] == ["Add lodash", "Drop zod"]
    assert more.tasks[0].id == night.tasks[0].id
    assert more.tasks[0].needs == (PNPM, need_id("Never commit to main"))


def genuine(version: str) -> Sequence[Session]:
    return gather(sources=[ClaudeSource(DATA / version / ".claude")]).sessions


def test_genuine_sessions_give_what_a_reader_finds() -> None:
    """Three tasks, five wishes, nothing else; the two files of one forked conversation are one session."""
    found = mined(*genuine("v2.1.197"))

    told = {
        task.ask.split(".")[0]: ([found.needs[need] for need in task.needs], [item.arg for item in task.checks])
        for task in found.tasks
    }
    assert told == {
        "The discount() helper in src/acme/pricing": (
            ["Do not use if statements", "Use min/max like the rest of our code"],
            ["min/max"],
        ),
        "Replace axios with fetch in src/client": (
            ["Use undici instead of the built-in fetch", "Always run npm test before you finish"],
            ["undici", "npm test"],
        ),
        "Push the branch to origin": (["Always answer with the full ref name"], []),
    }
    assert often(found, 2) == ()


def test_two_versions_of_an_agent_show_one_recurring_need() -> None:
    """The same wish in sessions of both versions is one need seen twice."""
    found = mined(*genuine("v2.0.60"), *genuine("v2.1.197"))

    assert [need.text for need in often(found, 2)] == [
        "Use min/max like the rest of our code",
        "Do not use if statements",
    ]


def test_a_hint_of_an_earlier_night_gives_its_task_when_it_is_asked_again() -> None:
    """It waits with its task, and is of the need as soon as that is known; then nothing waits any more."""
    first = mined(session("s1", "Add lodash", "< Ran npm install.", "changelog line please", "< Added."))
    assert (first.needs, first.tasks, len(first.hints)) == ({}, (), 1)

    again = later(
        session("s2", "Add axios", "< Done.", "Always add a changelog line", "< Added.", minute=9), known=first
    )

    (need,) = again.needs
    assert again.needs[need] == "Always add a changelog line"
    assert {task.ask: task.needs for task in again.tasks} == {"Add axios": (need,), "Add lodash": (need,)}
    assert all(task.rubric for task in again.tasks)
    assert sessions_of(need, again.tasks, again.sightings) == {"s1", "s2"}
    assert again.hints == ()


def test_a_hint_that_is_claimed_gets_checks_that_see_what_was_wrong() -> None:
    """From the need's words, where the answer before the hint had what the need turns down."""
    first = mined(session("s1", "Add lodash", "< Ran npm install lodash.", "pnpm please", "< Ran pnpm add lodash."))

    again = later(session("s2", "Add axios", "< Ran npm install axios.", *CORRECTION, minute=9), known=first)

    assert {task.ask: {item.op for item in task.checks} for task in again.tasks} == {
        "Add lodash": {"contains", "not_contains"},
        "Add axios": {"contains", "not_contains"},
    }


CORRECTION = ("No, use pnpm, not npm", "< Ran pnpm add axios.")


def test_sessions_in_any_order_give_the_same_needs() -> None:
    """They are read in the order in which they were had."""
    asked = ["No, use pnpm, not npm", "Never commit to main", "No, use npm, not pnpm", "changelog line please"]
    told = [
        session(f"s{number}", "Add lodash", "< Ran npm install.", wish, "< Done.", minute=number)
        for number, wish in enumerate(asked)
    ]

    found = mined(*told)

    assert all(mined(*order) == found for order in permutations(told))
    assert len(found.replaced) == 1


def test_nobodys_name_is_in_a_rule() -> None:
    """Nor what held once: a path of one machine, a ticket, an address."""
    for wish in ("No, ask Alice first", "Never push to https://example.org/x", "Always log to /home/alice/log"):
        told = session("s", "Add lodash", "< Ran npm install.", wish, "< Done.")
        found = mine([told], needs={}, reader=reader(), people=frozenset({"alice"}))
        assert (found.needs, found.tasks) == ({}, ())


def thing(number: int) -> str:
    """A made-up word for each number, like no other."""
    return "".join(chr(ord("a") + int(digit, 16)) for digit in digest(number)[:8])


def test_what_is_said_beside_an_ask_waits_over_nights() -> None:
    """For a need, or for the very same; it founds none with words that the work of another session shares."""
    first = mined(session("s1", "Load the file. please no pandas", "< Done with polars."))
    assert (first.tasks, first.needs) == ((), {})
    (hint,) = first.hints
    assert (hint.task, hint.sighting.rule) == (None, "No pandas")

    plan = ("Plot it", "< Used pandas.", "No, use polars, not pandas", "< Used polars.")
    second = later(session("s2", *plan, minute=1), known=first)

    assert second.hints == ()
    assert {(item.session, item.task is None) for item in second.sightings} == {("s1", True), ("s2", False)}
    assert list(second.needs.values()) == ["Use polars, not pandas"]

    ask = session("s3", "Add a parser, with tests pls", "< Done.")
    work = session("s4", "Fix pct", "< Fixed.", "Add a test for pct above one", "< Added.", minute=1)
    assert mined(ask, work).needs == {}


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize("count", [1_000, pytest.param(2_000, marks=pytest.mark.e2e)])
def test_thousands_of_corrections_are_mined(count: int) -> None:
    """Hundreds of needs, each seen again and again."""
    needs = count // 5
    many = [
        session(f"s{n}", f"Add part {n}", "< x", f"No, put {thing(n % needs)} into folder {thing(n % needs)}", "< y")
        for n in range(count)
    ]

    found = mined(*many)

    assert (len(found.tasks), len(found.needs)) == (count, needs)
