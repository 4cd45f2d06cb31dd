from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from skillopt_git.judges import (
    SEARCHED,
    CheckJudge,
    RubricJudge,
    TaskJudge,
    check,
    explain,
    judgeable,
    problem,
    score_checks,
    shape_only,
)
from skillopt_git.model import Check, CheckOp, Score, Task
from skillopt_git.ports import Backend, CallFailed, Judge, Reply, Request

QUESTION = "How good is this?"


def passes(op: CheckOp, arg: str | int | None, text: str, *tools: str) -> bool:
    return check(Check(op=op, arg=arg), Reply(text=text, tools=tools))


def task(*checks: Check, rubric: str | None = None) -> Task:
    return Task(id="t1", ask="Install the packages", checks=checks, rubric=rubric)


SAYS_PNPM = Check(op="contains", arg="pnpm")
NOT_NPM = Check(op="not_contains", arg="npm")


@dataclass
class Optimizer:
    """A backend that gives the replies it was built with, in order, and keeps what it was asked."""

    replies: list[str | CallFailed]
    asked: list[Request] = field(default_factory=list)
    name: str = "scripted"
    model: str = "m1"
    deterministic: bool = True
    simulated: bool = False
    settings: dict[str, str | int | float | bool] = field(default_factory=dict)

    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]:
        self.asked += requests
        given = [self.replies.pop(0) for _ in requests]
        return [item if isinstance(item, CallFailed) else Reply(text=item) for item in given]


def rubric_judge(optimizer: Backend) -> RubricJudge:
    return RubricJudge(optimizer, prompt=lambda task, reply: f"{QUESTION} {task.rubric} | {reply.text}")


def ruled(*replies: str | CallFailed) -> Score | CallFailed:
    """What a rubric judge makes of these replies to one question."""
    return rubric_judge(Optimizer(list(replies))).score([(task(rubric="Be brief"), Reply(text="Yes"))])[0]


# --- what is said ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arg", "text", "said"),
    [
        ("pnpm", "Run PNPM install", True),
        ("npm", "Run pnpm install", False),
        ("npm", "Run npm_config", False),
        ("npm", "Run npm2", False),
        ("npm", "`npm`, please", True),
        ("npm", "pnpm or npm", True),
        ("--fix", "ruff check --fix", True),
        ("--fix", "ruff check x--fix", True),
        ("--fix", "ruff check --fixed", False),
        ("a.b", "axb", False),
        ("(x)", "f(x)y", True),
        ("use pnpm", "use  pnpm", False),
        ("straße", "STRASSE 1", True),
        ("cafe\u0301", "Im Café.", True),
        ("é", "café", False),
    ],
)
def test_contains_is_literal_and_bordered(arg: str, text: str, said: bool) -> None:
    """Literally, whatever the case, and never as a part of a longer word; `not_contains` is the opposite."""
    assert passes("contains", arg, text) is said
    assert passes("not_contains", arg, text) is not said


def test_regex_searches_anywhere_in_a_bounded_text() -> None:
    """As Python's `re.search`, in the first characters of an enormous answer."""
    assert passes("regex", r"^pnpm (add|install)$", "pnpm install")
    assert not passes("regex", r"(?-i:NPM)", "npm")
    assert passes("regex", "x", "-" * (SEARCHED - 1) + "x")
    assert not passes("regex", "x", "-" * SEARCHED + "x")


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a{e}", "b", False),
        ("a{e}", "a{e}", True),
        (r"\{{2}\\{x", "{{\\{x", True),
        (r"\N{EM DASH}", "—", True),
        ("[{]a{2}", "{aa", True),
        ("a{,2}b{}", "aab{}", True),
        (r"(?i)\bPNPM\b$", "run pnpm\n", True),
    ],
)
def test_patterns_mean_what_they_mean_in_python(pattern: str, text: str, found: bool) -> None:
    """The library that searches knows more than `re` does; a pattern does not come to mean something else."""
    assert passes("regex", pattern, text) is found
    assert (re.search(pattern, text) is not None) is found


def test_a_search_that_would_take_for_ever_is_a_failed_check() -> None:
    """It is given up after a while, and the note says that it was not the answer's words."""
    endless = Check(op="regex", arg=r"(a|aa)+$")

    score = score_checks(task(endless, Check(op="contains", arg="!")), Reply(text="a" * 70 + " !"))

    assert (score.hard, score.soft) == (0.0, 0.5)
    assert "`(a|aa)+$` took longer than" in score.notes[0]
    assert problem(endless) is None


def test_regex_that_may_change_its_meaning_is_sound() -> None:
    """A pattern of which Python only warns is used, without a warning."""
    assert passes("regex", "[[]a]", "[a]")


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("I cannot help with that.", True),
        ("I can’t do that", True),
        ("I can't do that", True),
        ("> I cannot do that", True),
        (">" * 200 + " I cannot do that", True),
        ("## **I'm unable** to do that", True),
        ("Sorry, I can't do that", True),
        ("I'm very sorry, but I cannot do that", True),
        ("Unfortunately I am not able\nto do that", True),
        ("As an AI language model, I will not do that", True),
        ("Sorry, I can help", False),
        ("Sorry, here it is", False),
        ("I cannot " + "x " * 295, True),
        ("Sorry, " * 20 + "I cannot", True),
        ("Sorry, " * 30 + "I cannot", False),
        ("I canoe", False),
        ("I cannot" + "x" * 600, False),
        ("I cannot " + "x " * 296, False),
        ("Use pnpm. I cannot stress this enough.", False),
        ("", False),
    ],
)
def test_refusal_is_short_and_begins_with_no(text: str, refused: bool) -> None:
    """Marks of quotes, headings and emphasis do not hide a refusal; a long or helpful answer is none."""
    assert passes("no_refusal", None, text) is not refused


def test_length_of_a_refusal_is_measured_after_the_marks() -> None:
    """Only an answer of under 600 characters, its leading marks aside, is a refusal."""
    assert not passes("no_refusal", None, "> " * 400 + "I cannot" + " x" * 295)
    assert passes("no_refusal", None, "I cannot" + " x" * 296)


# --- shape -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "present", "contained"),
    [
        ("### 1. Key Risks (x)", False, True),
        ("**Key Risks**", True, False),
        ("__key  risks__\r\nnone", True, False),
        ("Intro\n\n## KEY RISKS ##\n", True, True),
        ("   # Key Risks\r\nnone", True, True),
        ("# Key Risks#", False, True),
        ("    ## Key Risks", False, False),
        ("> ## Key Risks", False, False),
        ("##Key Risks", False, False),
        ("####### Key Risks", False, False),
        ("** Key Risks **", False, False),
        ("**Key Risks** matter", False, False),
        ("Key Risks", False, False),
        ("# #", False, False),
    ],
)
def test_sections(text: str, present: bool, contained: bool) -> None:
    """`section_present` wants a heading or a bold line of just these words; `section_contains` a heading with them."""
    assert passes("section_present", "Key Risks", text) is present
    assert passes("section_contains", "key risks", text) is contained


def test_heading_of_many_blanks_is_read_at_once() -> None:
    """Time does not explode with the blanks of a line."""
    assert not passes("section_present", "Key Risks", "# " + " " * 200_000 + "x" + " " * 200_000 + "y")
    assert not passes("section_present", "Key Risks", "**" + " " * 200_000 + "**")


def test_bounds_count_characters() -> None:
    """Code points are counted, not bytes, and the bound itself passes."""
    assert passes("max_chars", 4, "café")
    assert not passes("max_chars", 3, "café")
    assert passes("min_chars", 4, "café")
    assert not passes("min_chars", 5, "café")


def test_tool_is_called_by_its_exact_name() -> None:
    """Among the tools called; a like name, or the name in the text, does not count."""
    assert passes("tool_called", "Bash", "", "Read", "Bash")
    assert not passes("tool_called", "Bash", "Bash", "bash", "BashOutput")


# --- broken checks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "arg", "expected"),
    [
        ("contains", None, "needs a text"),
        ("contains", 3, "needs a text"),
        ("not_contains", " ", "needs a text"),
        ("section_present", "", "needs a text"),
        ("section_contains", "a\nb", "needs a heading of one line"),
        ("regex", "(?i)a|(?i)b", "invalid regex"),
        ("regex", "a{99999999999}", "invalid regex"),
        ("regex", "(" * 5000 + ")" * 5000, "invalid regex"),
        ("regex", "(?:(?:a{1000}){1000}){1000}", "repetitions"),
        ("regex", "a{4000000000}", "repetitions"),
        ("tool_called", "../x", "needs one tool name"),
        ("tool_called", "a b", "needs one tool name"),
        ("tool_called", "a\n", "needs one tool name"),
        ("tool_called", "x" * 81, "needs one tool name"),
        ("max_chars", None, "needs a whole number"),
        ("max_chars", "5", "needs a whole number"),
        ("max_chars", -1, "needs a whole number"),
        ("min_chars", True, "needs a whole number"),
        ("min_chars", 1_000_001, "from 0 to 1,000,000"),
        ("max_chars", 10**30, "from 0 to 1,000,000"),
        ("no_refusal", "x", "takes no argument"),
    ],
)
def test_broken_check_is_told_and_never_passes(op: CheckOp, arg: str | int | None, expected: str) -> None:
    """A check that could never be met is found before it makes an answer look bad."""
    broken = Check(op=op, arg=arg)
    assert expected in str(problem(broken))
    assert not check(broken, Reply(text="a 5 ../x", tools=("../x", "a b", "a\n", "x" * 81)))
    assert not judgeable(task(broken))
    assert score_checks(task(broken), Reply(text="a")).notes == (f"cannot be judged: {op} {problem(broken)}",)


SOUND = [
    (Check(op="contains", arg="pnpm"), "says `pnpm`"),
    (Check(op="not_contains", arg="npm"), "does not say `npm`"),
    (Check(op="regex", arg=r"\bpnpm\b"), r"matches `\bpnpm\b`"),
    (Check(op="no_refusal"), "does not refuse"),
    (Check(op="no_refusal", arg=""), "does not refuse"),
    (Check(op="tool_called", arg="mcp__git.log:x-1"), "calls the tool `mcp__git.log:x-1`"),
    (Check(op="max_chars", arg=80), "has at most 80 characters"),
    (Check(op="min_chars", arg=0), "has at least 0 characters"),
    (Check(op="section_present", arg="Risks"), "has the heading `Risks`"),
    (Check(op="section_contains", arg="Risks"), "has a heading with `Risks`"),
]


@pytest.mark.parametrize(("sound", "words"), SOUND)
def test_sound_check_is_explained(sound: Check, words: str) -> None:
    """Reports say in words what was asked; nothing is wrong with the check."""
    assert problem(sound) is None
    assert explain(sound) == words


# --- tasks -------------------------------------------------------------------------------------------------------


def test_task_without_any_criterion_cannot_be_judged() -> None:
    """A blank rubric is none, and a rubric alone is enough."""
    assert not judgeable(task())
    assert not judgeable(task(rubric="  "))
    assert judgeable(task(rubric="Be brief"))
    assert judgeable(task(SAYS_PNPM))
    assert not judgeable(task(Check(op="regex", arg="("), rubric="Be brief"))


def test_shape_only_task_is_recognised() -> None:
    """Only bounds and headings, or regexes marked so: any text of that form would pass."""
    short = Check(op="max_chars", arg=80)
    marked = Check(op="regex", arg="^- ", role="shape")
    assert shape_only(task(short, marked))
    assert not shape_only(task(short, SAYS_PNPM))
    assert not shape_only(task(short, rubric="Be brief"))
    assert not shape_only(task())


def test_score_of_checks() -> None:
    """`hard` needs all of them, `soft` is the share, and the notes name what failed."""
    both = task(SAYS_PNPM, NOT_NPM)
    assert score_checks(both, Reply(text="Use pnpm")) == Score(hard=1, soft=1)
    found = score_checks(both, Reply(text="Use pnpm, not npm"))
    assert found == Score(hard=0, soft=0.5, notes=("failed: does not say `npm`",))
    assert score_checks(both, Reply(text="npm")).soft == 0


def test_scoring_without_checks_is_a_mistake() -> None:
    """The caller filters first: a made-up zero would look like a bad answer."""
    with pytest.raises(ValueError, match="t1 has no checks"):
        CheckJudge().score([(task(), Reply(text="x"))])


# --- rubrics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "hard", "soft"),
    [
        ('{"score": 0.8, "why": "good"}', 1, 0.8),
        ('{"score": 0.79}', 0, 0.79),
        ('{"score": 1}', 1, 1.0),
        ('{"score": 5}', 1, 1.0),
        ('{"score": -2, "extra": []}', 0, 0.0),
        ('```json\n{"score": 0.5, "why": "so\\nso"}\n```\n', 0, 0.5),
    ],
)
def test_rubric_score(reply: str, hard: float, soft: float) -> None:
    """0.8 passes; what lies beyond 0 and 1 is cut to them."""
    found = ruled(reply)
    assert isinstance(found, Score)
    assert (found.hard, found.soft) == (hard, soft)


def test_rubric_note_is_one_short_line() -> None:
    """The judge's reason is kept, whatever it wrote."""
    found = ruled('{"score": 0.5, "why": "' + "so\\n" * 300 + '"}')
    assert isinstance(found, Score)
    assert found.notes[0].startswith("rubric 0.50: so so so")
    assert len(found.notes[0]) < 220
    assert "\n" not in found.notes[0]


UNREADABLE = [
    "0.8",
    "It is good.",
    '{"score": "high"}',
    '{"score": true}',
    '{"score": null}',
    '{"score": NaN}',
    '{"score": Infinity}',
    '{"score": 1e999}',
    '{"why": "x"}',
    '{"score": 1, "why": ["x"]}',
    '[{"score": 1}]',
    'Sure! {"score": 1}',
    "[" * 100_000,
    '{"score": 1, "why": "\ud83d"}\ud83d',
    "",
]


@pytest.mark.parametrize("reply", UNREADABLE)
def test_unreadable_ruling_is_a_failed_call(reply: str) -> None:
    """After a second, firmer question; it is never a zero."""
    found = ruled(reply, reply)
    assert isinstance(found, CallFailed)
    assert found.kind == "schema"


def test_unreadable_ruling_is_asked_for_once_more() -> None:
    """Only what could not be read is asked again, firmly, and every score keeps its place."""
    down = CallFailed("timeout", "no answer", retryable=True)
    optimizer = Optimizer(['{"score": 0.1}', "Good.", down, '{"score": 0.4}', '{"score": 0.9}'])
    answers = [(task(rubric="Be brief"), Reply(text=str(number))) for number in range(4)]
    found = rubric_judge(optimizer).score(answers)
    assert [score if isinstance(score, CallFailed) else score.soft for score in found] == [0.1, 0.9, down, 0.4]
    first, again = optimizer.asked[1], optimizer.asked[4]
    assert len(optimizer.asked) == 5
    assert (first.role, first.purpose, first.ask) == ("optimizer", "judge", f"{QUESTION} Be brief | 1")
    assert again.ask.startswith(first.ask)
    assert '{"score"' in again.ask


def test_rubric_judge_needs_a_rubric() -> None:
    """A task without one was sent to the wrong judge."""
    with pytest.raises(ValueError, match="t1 has no rubric"):
        rubric_judge(Optimizer([])).score([(task(SAYS_PNPM), Reply(text="x"))])


def test_no_answers_cost_no_call() -> None:
    """A judge with nothing to do asks nobody."""
    optimizer = Optimizer([])
    assert TaskJudge(rubric_judge(optimizer)).score([]) == []
    assert optimizer.asked == []


# --- both --------------------------------------------------------------------------------------------------------


def test_each_task_is_judged_by_what_it_has() -> None:
    """Checks cost no call; with both, `hard` needs both and `soft` is the rubric's; a failed call stays one."""
    down = CallFailed("quota", "spent")
    optimizer = Optimizer(['{"score": 0.9}', '{"score": 0.6}', '{"score": 0.9}', '{"score": 0.5}', down])
    judge = TaskJudge(rubric_judge(optimizer))
    good, bad = Reply(text="Use pnpm"), Reply(text="Use npm")
    found = judge.score(
        [
            (task(SAYS_PNPM), bad),
            (task(SAYS_PNPM, rubric="Be brief"), good),
            (task(SAYS_PNPM, rubric="Be brief"), good),
            (task(SAYS_PNPM, NOT_NPM), good),
            (task(SAYS_PNPM, rubric="Be brief"), bad),
            (task(rubric="Be brief"), bad),
            (task(SAYS_PNPM, rubric="Be brief"), good),
        ]
    )
    assert [score if isinstance(score, CallFailed) else (score.hard, score.soft) for score in found] == [
        (0, 0),
        (1, 0.9),
        (0, 0.6),
        (1, 1),
        (0, 0.9),
        (0, 0.5),
        down,
    ]
    assert isinstance(found[4], Score)
    assert found[4].notes == ("failed: says `pnpm`", "rubric 0.90: ")
    assert len(optimizer.asked) == 5


def test_judging_is_as_repeatable_as_the_judges_used() -> None:
    """A judge model makes a difference only where a task has a rubric; it is named with its model."""
    judge = TaskJudge(rubric_judge(Optimizer([], deterministic=False)))
    alone: Judge = judge.used_for([task(SAYS_PNPM)])
    both: Judge = judge.used_for([task(SAYS_PNPM), task(rubric="Be brief")])
    assert (alone.name, alone.deterministic) == ("checks", True)
    assert (both.name, both.deterministic) == ("checks+rubric:scripted:m1", False)
    assert TaskJudge(rubric_judge(Optimizer([]))).deterministic
