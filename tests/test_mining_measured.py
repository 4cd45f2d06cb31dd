"""Mining finds what a careful reader would: measured on the labelled dialogues, and the measure itself on tiny ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_git import ids, model
from skillopt_git.bank import Bank, merge
from skillopt_git.errors import ConfigError
from skillopt_git.ids import digest
from skillopt_git.languages import reader
from skillopt_git.mine import Mined, mine
from skillopt_git.model import Check, Hint, Sighting, Task
from skillopt_git.sources.claude import ClaudeSource
from tests.mining import (
    ABOUT,
    SETS,
    About,
    Counts,
    Repository,
    Scores,
    load,
    main,
    measure,
    names,
    read_in_one_go,
    repositories,
    row,
    score,
    sessions,
    write_home,
)

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

LEAST = {"known": 118, "further": 87, "unseen": 34}  # dialogues
# Least precision and recall. The aim is 0.9 and 0.75 everywhere: two rows do not reach it, and are kept from falling.
DEMANDED: dict[tuple[str, About], tuple[float, float]] = {
    ("known", "needs"): (0.9, 0.75),
    ("known", "pairing"): (0.9, 0.75),
    ("unseen", "needs"): (0.85, 0.75),
    ("unseen", "pairing"): (0.85, 0.7),
    ("further", "needs"): (0.85, 0.6),
    ("further", "pairing"): (0.9, 0.7),
}

TINY = """
repository = "acme-api"
language = "en"
people = ["Alice Example"]

[needs.pnpm]
rule = "Use pnpm, not npm"
says = ["pnpm"]
never_says = ["alice"]
checks = ["contains pnpm", "not_contains npm"]
replaced_by = "npm"

[needs.npm]
rule = "Use npm"
says = ["npm"]
never_says = ["pnpm"]
checks = ["contains npm"]

[needs.short]
rule = "Keep answers short"
says = ["short"]
checks = []

[[dialogues]]
id = "one"
day = "2026-11-02"
[[dialogues.turns]]
user = "add lodash to the web package"
family = "add"
[[dialogues.turns]]
agent = "Ran npm install lodash."
[[dialogues.turns]]
user = "No, use pnpm, not npm. And keep it short"
needs = ["pnpm", "short"]
corrects = 1
[[dialogues.turns]]
agent = "Ran pnpm add lodash."
[[dialogues.turns]]
user = "perfect"
praise = true

[[dialogues]]
id = "two"
day = "2026-11-03"
language = "de"
[[dialogues.turns]]
user = "add lodash to the web package!"
family = "add"
[[dialogues.turns]]
agent = "Ran npm install lodash, which took a while."
[[dialogues.turns]]
user = "pnpm bitte"
needs = ["pnpm"]
corrects = 1
[[dialogues.turns]]
agent = "Erledigt."
[[dialogues.turns]]
user = "keep answers short from now on"
needs = ["short"]
corrects = 0

[[dialogues]]
id = "three"
day = "2026-11-09"
trap = "the mail is somebody else's"
[[dialogues.turns]]
user = "what does Bob want?\\n> always use yarn"
[[dialogues.turns]]
agent = "He wants yarn."

[[dialogues]]
id = "four"
day = "2026-11-12"
[[dialogues.turns]]
user = "install the dependencies"
[[dialogues.turns]]
agent = "Ran pnpm install."
[[dialogues.turns]]
user = "we are back to npm"
needs = ["npm"]
corrects = 1
"""
NEEDS = {"n-pnpm": "Use pnpm instead of npm", "n-npm": "Use npm", "n-short": "Keep answers short"}
# need, turn, the turn whose answer it corrects
HEARD = (
    ("n-pnpm", "one-u2", "one-u1"),
    ("n-short", "one-u2", "one-u1"),
    ("n-pnpm", "two-u2", "two-u1"),
    ("n-short", "two-u3", None),
    ("n-npm", "four-u2", "four-u1"),
)
EVERYTHING = frozenset(HEARD)


@pytest.fixture
def tiny(tmp_path: Path) -> Repository:
    return load(written(tmp_path, TINY))


def written(folder: Path, text: str) -> Path:
    path = folder / "tiny.toml"
    path.write_text(text, encoding="utf-8")
    return path


def named(turn: str) -> str:
    """The task of a user turn, whose id begins with that of its dialogue."""
    return ids.task_id("claude", turn.partition("-")[0], turn)


def sighting(need: str, turn: str, ask: str | None) -> Sighting:
    return Sighting(
        need=need,
        rule="a rule",
        quote="a sentence",
        turn=digest("claude", turn),
        session=turn.partition("-")[0],
        source="claude",
        task=None if ask is None else named(ask),
    )


def mined(
    heard: Sequence[tuple[str, str, str | None]] = HEARD,
    *,
    needs: dict[str, str] | None = None,
    tasks: Sequence[Task] = (),
    hints: Sequence[Hint] = (),
    replaced: dict[str, str] | None = None,
) -> Mined:
    return Mined(
        tasks=tuple(tasks),
        needs=NEEDS if needs is None else needs,
        sightings=tuple(sighting(*one) for one in heard),
        hints=tuple(hints),
        replaced=replaced or {},
    )


def counted(scores: Scores, language: str | None = None) -> tuple[Counts, Counts, Counts]:
    """Of the needs, of the pairing, and of both."""
    return scores.counts("needs", language), scores.counts("pairing", language), scores.counts("both", language)


# --- what is demanded --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured() -> dict[tuple[str, About], Counts]:
    """Counts alone: a failure must not show what was missed in the unseen set."""
    told: dict[tuple[str, About], Counts] = {}
    for name in SETS:
        scores = measure(name)
        told |= {(name, about): scores.counts(about) for about in ABOUT}
    return told


@pytest.mark.parametrize(("name", "about"), DEMANDED)
def test_a_careful_reader_would_find_the_same(
    name: str, about: About, measured: dict[tuple[str, About], Counts]
) -> None:
    """Little is invented, and most is found, also in dialogues that nothing was tuned to."""
    counts = measured[name, about]
    precision, recall = DEMANDED[name, about]
    assert (counts.precision or 0) >= precision, row(about, counts)
    assert (counts.recall or 0) >= recall, row(about, counts)


@pytest.mark.parametrize("name", SETS)
def test_the_sets_are_large_and_full_of_traps(name: str) -> None:
    """A third of the dialogues has no need at all."""
    dialogues = [dialogue for repository in repositories(name) for dialogue in repository.dialogues]
    assert len(dialogues) >= LEAST[name]
    assert 3 * sum(bool(dialogue.trap) for dialogue in dialogues) >= len(dialogues)


@pytest.mark.parametrize("repository", repositories("known"), ids=lambda repository: repository.repository)
def test_night_by_night_the_same_is_found(repository: Repository) -> None:
    """A month that is read a session a night, with what is known passed on, ends as when read in one go.

    Checks and examples may differ: they are made of what the night that saw the need recur still knows of the session.
    So may the ask that a remark is about: that a turn between voiced a wish, and asked for nothing new, is known later.
    """
    bank = Bank()
    for session in sessions(repository):
        told = mine(
            [session],
            needs=bank.needs,
            sightings=bank.sightings,
            hints=bank.hints,
            replaced=bank.replaced,
            tasks=bank.tasks,
            reader=reader(),
            people=names(repository),
        )
        bank = merge(bank, told)
    at_once = merge(Bank(), read_in_one_go(repository))

    assert bank.needs == at_once.needs
    assert said_of(bank) == said_of(at_once)
    assert bank.replaced == at_once.replaced
    assert {hint.sighting.quote for hint in bank.hints} == {hint.sighting.quote for hint in at_once.hints}
    assert needed(bank) == needed(at_once)


def said_of(bank: Bank) -> set[Sighting]:
    return {replace(item, task=None) for item in bank.sightings}


def needed(bank: Bank) -> set[tuple[str, str]]:
    """Which needs the tasks of which session show."""
    return {(session, need) for task in bank.tasks for session in task.sessions for need in task.needs}


# --- the files ---------------------------------------------------------------------------------------------------


def test_a_file_is_read_with_its_labels(tiny: Repository) -> None:
    """Needs, dialogues and turns are values; user turns have ids by their number in the dialogue."""
    assert tiny.needs["pnpm"].check_set == {("contains", "pnpm"), ("not_contains", "npm")}
    assert [dialogue.id for dialogue in tiny.dialogues] == ["one", "two", "three", "four"]
    assert list(tiny.asks)[:4] == ["one-u1", "one-u2", "one-u3", "two-u1"]
    _, turn = tiny.asks["one-u2"]
    assert (turn.needs, turn.corrects, turn.praise) == (("pnpm", "short"), 1, False)
    assert (tiny.language_of("one-u1"), tiny.language_of("two-u1")) == ("en", "de")


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ('day = "2026-11-03"', 'day = "2026-11-02"', "two: 2026-11-02 is not later than the dialogue before"),
        ('day = "2026-11-03"', "day = 3", "dialogues[1].day: "),
        ('id = "two"', 'id = "one"', "one: there are two dialogues of this id"),
        ('family = "add"', 'famly = "add"', "dialogues[0].turns[0].famly: "),
        ('agent = "Erledigt."', 'user = "Erledigt."', "two: turn 4: user and agent take turns"),
        ('agent = "Erledigt."', 'agent = " "', "two: turn 4 is not said by a user or else by an agent"),
        ('agent = "Erledigt."', 'agent = "Erledigt."\npraise = true', "two: turn 4: only what a user says has labels"),
        ("corrects = 0", "corrects = 3", "two: turn 5: it corrects turn 3, which does not stand before it"),
        ("corrects = 0", "praise = true", "two: turn 5: a turn that voices a need says what it corrects"),
        ('needs = ["npm"]', 'needs = ["npn"]', "four: turn 3: npn is no need"),
        ('needs = ["npm"]', "", "need npm: nobody voices it"),
        ('trap = ""', 'trap = "no"', "one: a trap is without any need"),
        ('replaced_by = "npm"', 'replaced_by = "yarn"', "need pnpm: replaced by yarn, which is no need"),
        ('checks = ["contains npm"]', 'checks = ["has npm"]', "need npm: 'has npm' is no check"),
        ('checks = ["contains npm"]', 'checks = ["contains"]', "need npm: 'contains' is no check"),
        ('rule = "Use npm"', 'rule = "Use pnpm"', "need npm: its own rule is not what"),
        ('rule = "Use npm"', f'rule = "Use npm {"now " * 50}"', "need npm: its rule is longer than 200 characters"),
        ('rule = "Use npm"', 'rule = "Use npm', "is no TOML"),
    ],
)
def test_a_file_that_is_wrong_says_where(tmp_path: Path, right: str, wrong: str, problem: str) -> None:
    """Every message names the file, and the dialogue or the need."""
    text = TINY.replace('day = "2026-11-02"', 'day = "2026-11-02"\ntrap = ""')
    assert right in text
    path = written(tmp_path, text.replace(right, wrong, 1))
    with pytest.raises(ConfigError) as raised:
        load(path)
    assert str(path) in str(raised.value)
    assert problem in str(raised.value)


def test_dialogues_become_sessions_on_their_days(tiny: Repository) -> None:
    """A user's turn is a prompt, an agent's an answer; time goes on within a session."""
    one, *_ = sessions(tiny)
    assert (one.source, one.id, one.cwd, one.final) == ("claude", "one", "/home/alice/acme-api", "Ran pnpm add lodash.")
    assert [turn.id for turn in one.turns] == ["one-u1", "one-a1", "one-u2", "one-a2", "one-u3"]
    assert [turn.kind for turn in one.turns] == ["prompt", "answer", "prompt", "answer", "prompt"]
    times = [turn.time for turn in one.turns if turn.time]
    assert times == sorted(set(times))
    assert (one.started, one.ended) == (times[0], times[-1])
    assert {when.date().isoformat() for when in times} == {"2026-11-02"}


def test_dialogues_are_written_as_an_agent_writes_them(tiny: Repository, tmp_path: Path) -> None:
    """What is read from the files is what the sessions hold, but for the ids, which are genuine-shaped."""
    write_home(tmp_path / ".claude", "/home/alice/acme-api", tiny)
    source = ClaudeSource(tmp_path / ".claude")
    read = [
        session
        for found in source.transcripts()
        if not isinstance(found, model.Skipped)
        for session in source.read(found)
        if isinstance(session, model.Session)
    ]
    assert sorted(map(comparable, read)) == sorted(map(comparable, sessions(tiny)))


def comparable(session: model.Session) -> tuple[object, ...]:
    turns = tuple((turn.kind, turn.text, turn.time) for turn in session.turns)
    return session.started, session.ended, session.cwd, session.branch, session.final, turns


# --- the measure -------------------------------------------------------------------------------------------------


def test_what_is_found_as_labelled_is_right(tiny: Repository) -> None:
    """Three needs in four turns, one of which voices two, are a perfect score where nothing else is found."""
    assert counted(score(tiny, mined())) == (Counts(3, 0, 0), Counts(4, 0, 0), Counts(5, 0, 0))


def test_nothing_found_is_all_missed(tiny: Repository) -> None:
    """There is no precision of nothing."""
    needs, pairing, both = counted(score(tiny, mined((), needs={})))
    assert (needs, pairing, both) == (Counts(0, 0, 3), Counts(0, 0, 4), Counts(0, 0, 5))
    assert (needs.precision, needs.recall, needs.f1) == (None, 0, 0)


@pytest.mark.parametrize("rule", ["Use the right package manager", "Use pnpm as Alice said"])
def test_a_rule_that_says_too_little_or_too_much_is_no_match(tiny: Repository, rule: str) -> None:
    """The need counts as invented and as missed, and so do its voicings; that its turns voice something is right."""
    needs, pairing, both = counted(score(tiny, mined(needs={**NEEDS, "n-pnpm": rule})))
    assert needs == Counts(2, 1, 1)
    assert pairing == Counts(4, 0, 0)
    assert both == Counts(3, 2, 2)


def test_a_need_without_a_shared_turn_is_invented(tiny: Repository) -> None:
    """The right words heard in the wrong turn are an invention, however well they read."""
    heard = [one for one in HEARD if one[0] != "n-npm"]
    needs, pairing, both = counted(score(tiny, mined([*heard, ("n-npm", "three-u1", None)])))
    assert needs == Counts(2, 1, 1)
    assert pairing == Counts(3, 1, 1)
    assert both == Counts(4, 1, 1)


def test_a_need_that_was_mined_twice_matches_once(tiny: Repository) -> None:
    """Of two halves of one need the larger is right and the other invented."""
    split = {**NEEDS, "n-again": "Please use pnpm"}
    heard = [
        ("n-pnpm", "one-u2", "one-u1"),
        ("n-again", "one-u2", "one-u1"),
        ("n-again", "two-u2", "two-u1"),
        *HEARD[3:],
    ]
    needs, pairing, both = counted(score(tiny, mined(heard, needs=split)))
    assert needs == Counts(3, 1, 0)
    assert pairing == Counts(4, 0, 0)
    assert both == Counts(4, 1, 1)  # missed: the first voicing of `short`, which is left out


def test_two_needs_that_were_mined_as_one_match_one(tiny: Repository) -> None:
    """A rule that says two wishes stands for one of them; the other was not found."""
    heard = [("n-both" if need in ("n-pnpm", "n-short") else need, turn, ask) for need, turn, ask in HEARD]
    found = mined(heard, needs={"n-both": "Use pnpm, keep it short", "n-npm": "Use npm"})
    needs, pairing, both = counted(score(tiny, found))
    assert needs == Counts(2, 0, 1)
    assert pairing == Counts(4, 0, 0)
    assert both == Counts(3, 1, 2)  # it is right in two of its three turns, and `short` is missed in both of its own


def test_of_equal_matches_the_one_without_another_choice_comes_first(tiny: Repository) -> None:
    """A rule that could be either of two needs leaves to another rule the only one it can be."""
    needs = {"n-1": "Use pnpm, keep it short", "n-2": "Use pnpm"}
    heard = [("n-1", "one-u2", "one-u1"), ("n-2", "one-u2", "one-u1")]
    assert score(tiny, mined(heard, needs=needs)).counts("needs") == Counts(2, 0, 1)


@pytest.mark.parametrize(
    ("right", "wrong", "paired"),
    [
        (("n-npm", "four-u2", "four-u1"), ("n-npm", "four-u2", "four-u2"), Counts(3, 1, 1)),
        (("n-npm", "four-u2", "four-u1"), ("n-npm", "four-u2", None), Counts(3, 1, 1)),
        (("n-short", "two-u3", None), ("n-short", "two-u3", "two-u1"), Counts(3, 1, 1)),
        (("n-pnpm", "one-u2", "one-u1"), ("n-pnpm", "one-u2", None), Counts(4, 1, 0)),  # `short` has it right
    ],
)
def test_a_voicing_about_the_wrong_ask_is_wrong(
    tiny: Repository, right: tuple[str, str, str | None], wrong: tuple[str, str, str | None], paired: Counts
) -> None:
    """Neither another ask, nor none instead of one, nor one instead of none is right; the need itself is."""
    needs, pairing, both = counted(score(tiny, mined(sorted((EVERYTHING - {right}) | {wrong}, key=str))))
    assert needs == Counts(3, 0, 0)
    assert pairing == paired
    assert both == Counts(4, 1, 1)


def test_a_hint_does_not_count(tiny: Repository) -> None:
    """What waits to be asked for again is no need yet, and no false alarm either."""
    hint = Hint(sighting=sighting("", "three-u1", None), task=Task(id="t1-x", ask="x"))
    scores = score(tiny, mined(hints=[hint]))
    assert counted(scores) == (Counts(3, 0, 0), Counts(4, 0, 0), Counts(5, 0, 0))
    assert scores.trapped == ()


def test_findings_have_the_language_of_their_dialogue(tiny: Repository) -> None:
    """A voicing is counted where it was said, a need where it was said first."""
    scores = score(tiny, mined())
    assert counted(scores, "en") == (Counts(3, 0, 0), Counts(2, 0, 0), Counts(3, 0, 0))
    assert counted(scores, "de") == (Counts(0, 0, 0), Counts(2, 0, 0), Counts(2, 0, 0))


PNPM = (Check(op="contains", arg="PNPM"), Check(op="not_contains", arg="npm"))
RUBRIC = "It keeps to this."


def task(turn: str, needs: Sequence[str], checks: Sequence[Check] = (), rubric: str | None = None) -> Task:
    return Task(id=named(turn), ask="an ask", needs=tuple(needs), checks=tuple(checks), rubric=rubric)


def test_checks_of_a_task_are_those_of_all_its_needs(tiny: Repository) -> None:
    """Case does not count, and a shape check does not either; a missing check does."""
    shape = Check(op="max_chars", arg=900)
    tasks = [
        task("one-u1", ["n-pnpm", "n-short"], [*PNPM, shape]),
        task("two-u1", ["n-pnpm"], PNPM),
        task("four-u1", ["n-npm"], rubric=RUBRIC),
    ]
    scores = score(tiny, mined(tasks=tasks))
    assert (scores.checks.part, scores.checks.whole) == (1, 2)
    assert scores.rubrics.whole == 0  # its one task is checked for something else


@pytest.mark.parametrize(
    ("checks", "rubric", "right"),
    [((), RUBRIC, 1), ((), None, 0), (PNPM, RUBRIC, 0)],
    ids=["rubric", "nothing", "checks"],
)
def test_what_only_a_reader_can_judge_has_a_rubric_alone(
    tiny: Repository, checks: Sequence[Check], rubric: str | None, right: int
) -> None:
    """A need without checks is right where its tasks have none, and a rubric."""
    scores = score(tiny, mined(tasks=[task("one-u1", ["n-short"], checks, rubric)]))
    assert (scores.rubrics.part, scores.rubrics.whole) == (right, 1)


def test_near_copies_belong_in_one_family(tiny: Repository, tmp_path: Path) -> None:
    """The two asks that differ by a mark are one pair; with one of them unlabelled they are a wrong one."""
    scores = score(tiny, mined())
    assert (scores.families.part, scores.families.whole, scores.joined) == (1, 1, 0)
    other = load(written(tmp_path, TINY.replace('family = "add"', "", 1)))
    scores = score(other, mined())
    assert (scores.families.whole, scores.joined) == (0, 1)


@pytest.mark.parametrize(("replaced", "found"), [({"n-pnpm": "n-npm"}, 1), ({"n-npm": "n-pnpm"}, 0), ({}, 0)])
def test_a_contradicted_need_is_replaced_by_the_later_one(
    tiny: Repository, replaced: dict[str, str], found: int
) -> None:
    """The direction counts."""
    scores = score(tiny, mined(replaced=replaced))
    assert (scores.replaced.part, scores.replaced.whole) == (found, 1)


def test_a_need_heard_in_a_trap_is_told(tiny: Repository) -> None:
    """The dialogue is named, once."""
    heard = [*HEARD, ("n-yarn", "three-u1", None)]
    scores = score(tiny, mined(heard, needs={**NEEDS, "n-yarn": "Always use yarn"}))
    assert scores.trapped == ("three",)
    assert counted(scores) == (Counts(3, 1, 0), Counts(4, 1, 0), Counts(5, 1, 0))


def test_scores_add_up(tiny: Repository) -> None:
    """Counts and shares of several repositories are those of all their findings."""
    perfect, empty = score(tiny, mined(replaced={"n-pnpm": "n-npm"})), score(tiny, mined((), needs={}))
    scores = sum((perfect, empty), Scores())
    needs, pairing, both = counted(scores)
    assert (needs, pairing, both) == (Counts(3, 0, 3), Counts(4, 0, 4), Counts(5, 0, 5))
    assert (needs.precision, needs.recall, needs.f1) == (1, 0.5, 2 / 3)
    assert dataclasses.astuple(scores.replaced) == (1, 2)


# --- the command -------------------------------------------------------------------------------------------------


def test_a_file_is_checked_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each file, and exit 1 if one is wrong."""
    path = written(tmp_path, TINY)
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: 4 dialogues, 1 of them traps, 3 needs\n"
    written(tmp_path, TINY.replace('id = "two"', 'id = "one"'))
    assert main([str(path)]) == 1
    assert "one: there are two dialogues of this id" in capsys.readouterr().out


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_every_difference_in_the_known_set_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """One paragraph for each of them below the table; without being asked, the table alone."""
    assert main(["--score", "known"]) == 0
    table = capsys.readouterr().out
    assert main(["--score", "known", "--verbose"]) == 0
    told = capsys.readouterr().out.removeprefix(table)
    wrong = [item for item in measure("known").findings if item.outcome != "right"]
    assert sum(told.count(f"\n{about}, ") for about in ABOUT) == len(wrong)


def test_nobody_sees_what_is_missed_in_the_unseen_set(capsys: pytest.CaptureFixture[str]) -> None:
    """Only totals are told, so that nothing is tuned to it."""
    assert main(["--score", "unseen"]) == 0
    told = capsys.readouterr().out
    assert not any(item.repository in told for item in repositories("unseen"))
    with pytest.raises(SystemExit) as left:
        main(["--score", "unseen", "--verbose"])
    assert left.value.code == 2
    assert "not for 'unseen': nobody may tune" in capsys.readouterr().err
