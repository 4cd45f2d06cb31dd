"""Whether an answer meets a machine check, and what the check asks, in words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import assert_never

import regex

from skillopt_git.model import Check, CheckPlace
from skillopt_git.ports import Reply
from skillopt_git.saying import same_case, says, says_in_code, says_in_command

SEARCHED = 100_000  # characters a regex may look at
SEARCH_SECONDS = 1.0  # how long it may take; there are patterns that would take years
MOST_CHARS = 1_000_000  # the most that a check of the length may ask for
REFUSAL_HEAD, REFUSAL_LENGTH = 160, 600

_SAYS: dict[CheckPlace | None, Callable[[str, str], bool]] = {
    None: says,
    "code": says_in_code,
    "command": says_in_command,
}
_PLACES: dict[CheckPlace | None, str] = {None: "", "code": " in code", "command": " in a command"}


def check(check: Check, reply: Reply) -> bool:
    """Whether `reply` passes. A check with a `problem`, or one that took too long, never passes."""
    return problem(check) is None and _passes(check, reply)


def _passes(check: Check, reply: Reply) -> bool:
    text, arg = reply.text, str(check.arg)
    match check.op:
        case "contains":
            return _SAYS[check.where](text, arg)
        case "not_contains":
            return not _SAYS[check.where](text, arg)
        case "regex":
            return _found(arg, text[:SEARCHED]) is True
        case "no_refusal":
            return not _refuses(text)
        case "tool_called":
            return arg in reply.tools
        case "max_chars":
            return len(text) <= int(arg)
        case "min_chars":
            return len(text) >= int(arg)
        case "section_present":
            return any(_folded(arg) == heading for heading in _headings(text))
        case "section_contains":
            return any(_folded(arg) in heading for heading in _atx_headings(text))
        case _:
            assert_never(check.op)


def explain(check: Check) -> str:
    """What the check asks of an answer, in a few words."""
    arg = f"`{check.arg}`"
    match check.op:
        case "contains":
            return f"says {arg}{_PLACES[check.where]}"
        case "not_contains":
            return f"does not say {arg}{_PLACES[check.where]}"
        case "regex":
            return f"matches {arg}"
        case "no_refusal":
            return "does not refuse"
        case "tool_called":
            return f"calls the tool {arg}"
        case "max_chars":
            return f"has at most {check.arg} characters"
        case "min_chars":
            return f"has at least {check.arg} characters"
        case "section_present":
            return f"has the heading {arg}"
        case "section_contains":
            return f"has a heading with {arg}"
        case _:
            assert_never(check.op)


def described(check: Check) -> str:
    """What kind of thing the check asks, for whoever words rules: told what it looks for, they would word a rule that
    satisfies the check and not the user."""
    match check.op:
        case "contains":
            return f"says what was asked for{_PLACES[check.where]}"
        case "not_contains":
            return f"leaves out what was not wanted{_PLACES[check.where]}"
        case "regex":
            return "has something of a certain form"
        case "no_refusal":
            return "does not refuse"
        case "tool_called":
            return "calls the right tool"
        case "max_chars":
            return "is short enough"
        case "min_chars":
            return "is long enough"
        case "section_present" | "section_contains":
            return "has the heading that was asked for"
        case _:
            assert_never(check.op)


def failure(failed: Check, reply: Reply) -> str:
    """What the answer failed by, in words; a broken check is named as such."""
    flaw = problem(failed)
    if flaw:
        return f"cannot be judged: {failed.op} {flaw}"
    if lasts(failed, reply):
        return f"failed: the search for `{failed.arg}` took longer than {SEARCH_SECONDS:g} s"
    return f"failed: {explain(failed)}"


def lasts(check: Check, reply: Reply) -> bool:
    """Whether it takes too long to tell if `reply` passes."""
    return check.op == "regex" and problem(check) is None and _found(str(check.arg), reply.text[:SEARCHED]) is None


def problem(check: Check) -> str | None:
    """Why no answer can ever be judged by this check; None if it is sound."""
    arg = check.arg
    if check.where and check.op not in {"contains", "not_contains"}:
        return "takes no place"
    match check.op:
        case "no_refusal":
            return None if arg in {None, ""} else "takes no argument"
        case "max_chars" | "min_chars":
            sound = isinstance(arg, int) and not isinstance(arg, bool) and 0 <= arg <= MOST_CHARS
            return None if sound else f"needs a whole number of characters from 0 to {MOST_CHARS:,}"
        case "contains" | "not_contains" | "regex" | "tool_called" | "section_present" | "section_contains":
            if not isinstance(arg, str) or not arg.strip():
                return "needs a text"
            return _text_problem(check, arg)
        case _:
            assert_never(check.op)


def _text_problem(check: Check, arg: str) -> str | None:
    if check.op == "regex":
        return _regex_problem(arg)
    if check.op == "tool_called" and not re.fullmatch(r"[A-Za-z0-9_.:-]{1,80}", arg):
        return "needs one tool name: up to 80 letters, digits, '_', '.', ':', '-'"
    if check.op in {"section_present", "section_contains"} and len(arg.splitlines()) > 1:
        return "needs a heading of one line"
    if check.where and len(arg.splitlines()) > 1:
        return "needs a text of one line"
    return None


_COUNTED = re.compile(r"(\))?\s*\{(\d+)")
_BRACE = re.compile(r"\\N\{[^}]*\}|\\.|\{(?!\d*,?\d*\})", re.DOTALL)


@lru_cache(maxsize=512)
def _regex_problem(arg: str) -> str | None:
    """What `re` refuses is no pattern, and what asks for more characters than are searched finds nothing."""
    try:
        with warnings.catch_warnings():  # a pattern that may mean something else one day is still sound today
            warnings.simplefilter("ignore")
            re.compile(arg)
    except RecursionError:
        return "invalid regex (nested too deeply)"
    except (re.error, OverflowError) as error:
        return f"invalid regex ({error})"
    return f"invalid regex (asks for more than {SEARCHED:,} repetitions)" if _repetitions(arg) > SEARCHED else None


def _repetitions(arg: str) -> int:
    """How often a pattern has parts repeated at the most, as if all its groups lay inside each other."""
    counts = [(bool(m[1]), int(m[2])) for m in _COUNTED.finditer(arg)]
    return prod(max(count, 1) for group, count in counts if group) * (1 + sum(n for group, n in counts if not group))


@lru_cache(maxsize=512)
def _pattern(arg: str) -> regex.Pattern[str]:
    """The pattern for the library that can be told to stop. There a brace that counts nothing is more than text."""
    plain = _BRACE.sub(lambda m: r"\{" if m[0] == "{" else m[0], arg)
    return regex.compile(plain, regex.VERSION0)  # the version that otherwise reads patterns as `re` does


@lru_cache(maxsize=64)  # what took too long is not waited for again when it is explained
def _found(arg: str, text: str) -> bool | None:
    """Whether the pattern is found; None if that took too long to tell."""
    try:
        return _pattern(arg).search(text, timeout=SEARCH_SECONDS) is not None
    except TimeoutError:
        return None


_REFUSAL = re.compile(
    r"""(?: (?: unfortunately | (?:my\ )?apologies | i\ apologi[sz]e | as\ an\ ai\b.{0,60}?
          | (?:(?:i'm|i\ am)\ )? (?:(?:very|so|really)\ )? sorry
        ) [^\w']{1,5} (?:but\ )?
    )*
    (?: i\ (?:can't | cannot | can\ not | won't | will\ not) | (?:i'm|i\ am)\ (?:unable | not\ able) ) \b
    """,
    re.VERBOSE,
)


def _refuses(text: str) -> bool:
    """Short, and its very beginning says no. A long answer that begins so goes on to help."""
    plain = re.sub(r"^[\s>#*_~`+-]+", "", text)
    head = " ".join(plain[:REFUSAL_HEAD].casefold().replace("’", "'").split())
    return len(plain) < REFUSAL_LENGTH and _REFUSAL.match(head) is not None


_ATX = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*)$", re.MULTILINE)
_BOLD = re.compile(r"^ {0,3}(\*\*|__)(?=\S)(.+?)(?<=\S)\1[ \t]*\r?$", re.MULTILINE)


def _folded(text: str) -> str:
    return " ".join(same_case(text).split())


def _atx_headings(text: str) -> list[str]:
    return [_folded(_unclosed(heading.strip())) for heading in _ATX.findall(text)]


def _unclosed(heading: str) -> str:
    """Without the `##` that may end a heading."""
    bare = heading.rstrip("#")
    return bare if not bare or bare[-1].isspace() else heading


def _headings(text: str) -> list[str]:
    """ATX headings, and lines that are bold from end to end."""
    return _atx_headings(text) + [_folded(heading) for _, heading in _BOLD.findall(text)]
