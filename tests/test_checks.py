"""Machine checks: what each one looks for, what is wrong with a broken one, and how it is told."""

from __future__ import annotations

import re

import pytest

from skillopt_git.checks import SEARCHED, check, described, explain, failure, lasts, problem
from skillopt_git.model import Check, CheckOp, CheckPlace
from skillopt_git.ports import Reply
from skillopt_git.schema import problems


def passes(op: CheckOp, arg: str | int | None, text: str, *tools: str, where: CheckPlace | None = None) -> bool:
    return check(Check(op=op, arg=arg, where=where), Reply(text=text, tools=tools))


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


@pytest.mark.parametrize(
    ("text", "anywhere", "in_code", "in_command"),
    [
        ("Use npm", True, False, False),
        ("Use `npm`", True, False, False),
        ("See `config.npm = 1`", True, True, False),
        ("Run `npm ci`", True, True, True),
        ("Ran npm ci", True, False, True),
    ],
)
def test_a_word_is_looked_for_at_its_place(text: str, anywhere: bool, in_code: bool, in_command: bool) -> None:
    """Anywhere, in code or as a command; `not_contains` is the opposite at each place."""
    places: list[CheckPlace | None] = [None, "code", "command"]
    assert [passes("contains", "npm", text, where=place) for place in places] == [anywhere, in_code, in_command]
    assert [not passes("not_contains", "npm", text, where=place) for place in places] == [anywhere, in_code, in_command]


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

    reply = Reply(text="a" * 70 + " !")

    assert not check(endless, reply)
    assert "`(a|aa)+$` took longer than" in failure(endless, reply)
    assert problem(endless) is None
    assert lasts(endless, reply)
    assert not lasts(endless, Reply(text="aa"))
    assert not lasts(Check(op="contains", arg="(a|aa)+$"), reply)


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
    assert failure(broken, Reply(text="a")) == f"cannot be judged: {op} {problem(broken)}"


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (Check(op="regex", arg="npm", where="code"), "takes no place"),
        (Check(op="no_refusal", where="command"), "takes no place"),
        (Check(op="max_chars", arg=80, where="code"), "takes no place"),
        (Check(op="contains", arg="npm i\nnpm ci", where="command"), "needs a text of one line"),
        (Check(op="not_contains", arg="a\nb", where="code"), "needs a text of one line"),
        (Check(op="contains", arg=" ", where="code"), "needs a text"),
    ],
)
def test_a_place_where_none_belongs_is_told(broken: Check, expected: str) -> None:
    """Only words have a place, and code is read line by line."""
    assert problem(broken) == expected
    assert not check(broken, Reply(text="npm"))


def test_an_unknown_place_is_refused_with_the_known_ones() -> None:
    """A typo in a tasks file does not become a check that looks everywhere."""
    (found,) = problems(Check, b'{"op": "contains", "arg": "npm", "where": "shell"}')

    assert found == "where: Input should be 'code' or 'command'"
    assert problems(Check, b'{"op": "contains", "arg": "npm", "where": "command"}') == []


SOUND = [
    (Check(op="contains", arg="pnpm"), "says `pnpm`"),
    (Check(op="not_contains", arg="npm"), "does not say `npm`"),
    (Check(op="contains", arg="pnpm", where="command"), "says `pnpm` in a command"),
    (Check(op="not_contains", arg="npm", where="code"), "does not say `npm` in code"),
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


@pytest.mark.parametrize("sound", [sound for sound, _ in SOUND])
def test_what_a_check_asks_is_described_without_what_it_looks_for(sound: Check) -> None:
    """For whoever words rules: only the kind of criterion, and where it looks."""
    told = described(sound)
    assert sound.arg in (None, "") or str(sound.arg) not in told
    assert (f" in {sound.where}" in told or f" in a {sound.where}" in told) is bool(sound.where)


def test_descriptions_tell_kinds_apart() -> None:
    """But not a heading by how it is looked for, nor what it is."""
    assert len({described(sound) for sound, _ in SOUND}) == len({(sound.op, sound.where) for sound, _ in SOUND}) - 1
