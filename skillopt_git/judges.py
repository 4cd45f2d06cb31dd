"""Whether an answer is good: machine checks, rubrics judged by the optimizer, and both together."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite, prod
from typing import assert_never

import regex

from skillopt_git.model import Check, Score, Task
from skillopt_git.ports import Backend, CallFailed, Reply, Request
from skillopt_git.schema import problems, read

PASS_MARK = 0.8  # a rubric score from here on passes
SEARCHED = 100_000  # characters a regex may look at
SEARCH_SECONDS = 1.0  # how long it may take; there are patterns that would take years
MOST_CHARS = 1_000_000  # the most that a check of the length may ask for
REFUSAL_HEAD, REFUSAL_LENGTH = 160, 600
FIRMER = (
    "\n\nYour last reply could not be read. Reply with one JSON object and nothing else: "
    '{"score": <a number from 0 to 1>, "why": "<one short sentence>"}'
)

# --- checks ------------------------------------------------------------------------------------------------------


def check(check: Check, reply: Reply) -> bool:
    """Whether `reply` passes. A check with a `problem`, or one that took too long, never passes."""
    return problem(check) is None and _passes(check, reply)


def _passes(check: Check, reply: Reply) -> bool:
    text, arg = reply.text, str(check.arg)
    match check.op:
        case "contains":
            return _says(text, arg)
        case "not_contains":
            return not _says(text, arg)
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
            return f"says {arg}"
        case "not_contains":
            return f"does not say {arg}"
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


def problem(check: Check) -> str | None:
    """Why no answer can ever be judged by this check; None if it is sound."""
    arg = check.arg
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


def _same_case(text: str) -> str:
    return unicodedata.normalize("NFC", text.casefold())


def _says(text: str, arg: str) -> bool:
    """Literally, whatever the case, and never as a part of a longer word: `npm` is not in `pnpm`."""
    wanted = _same_case(arg)
    before = r"(?<!\w)" if re.match(r"\w", wanted) else ""
    after = r"(?!\w)" if re.match(r"\w", wanted[-1]) else ""
    return re.search(before + re.escape(wanted) + after, _same_case(text)) is not None


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
    return " ".join(_same_case(text).split())


def _atx_headings(text: str) -> list[str]:
    return [_folded(_unclosed(heading.strip())) for heading in _ATX.findall(text)]


def _unclosed(heading: str) -> str:
    """Without the `##` that may end a heading."""
    bare = heading.rstrip("#")
    return bare if not bare or bare[-1].isspace() else heading


def _headings(text: str) -> list[str]:
    """ATX headings, and lines that are bold from end to end."""
    return _atx_headings(text) + [_folded(heading) for _, heading in _BOLD.findall(text)]


# --- tasks -------------------------------------------------------------------------------------------------------


def judgeable(task: Task) -> bool:
    """Whether an answer can be judged at all: by a check or a rubric, none of them broken."""
    return bool(task.checks or _rubric(task)) and not any(problem(item) for item in task.checks)


def shape_only(task: Task) -> bool:
    """Whether only the form of an answer is looked at: any text of that form would pass."""
    return bool(task.checks) and not _rubric(task) and all(item.is_shape for item in task.checks)


def _rubric(task: Task) -> str:
    return (task.rubric or "").strip()


def score_checks(task: Task, reply: Reply) -> Score:
    """`hard`: all checks pass; `soft`: the share that does. Raises ValueError without checks."""
    if not task.checks:
        raise ValueError(f"task {task.id} has no checks")
    failed = [item for item in task.checks if not check(item, reply)]
    return Score(
        hard=float(not failed),
        soft=1 - len(failed) / len(task.checks),
        notes=tuple(_note(item, reply) for item in failed),
    )


def _note(failed: Check, reply: Reply) -> str:
    flaw = problem(failed)
    if flaw:
        return f"cannot be judged: {failed.op} {flaw}"
    if failed.op == "regex" and _found(str(failed.arg), reply.text[:SEARCHED]) is None:
        return f"failed: the search for `{failed.arg}` took longer than {SEARCH_SECONDS:g} s"
    return f"failed: {explain(failed)}"


# --- judges ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckJudge:
    """Judges by checks alone."""

    @property
    def name(self) -> str:
        return "checks"

    @property
    def deterministic(self) -> bool:
        return True

    def score(self, answers: Sequence[tuple[Task, Reply]]) -> Sequence[Score | CallFailed]:
        return [score_checks(task, reply) for task, reply in answers]


@dataclass(frozen=True, slots=True)
class _Ruling:
    score: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class RubricJudge:
    """Asks the optimizer how well an answer meets the task's rubric.

    `prompt` words the question. A reply that cannot be read is asked for once more, firmly; then it is a failed call.
    """

    optimizer: Backend
    prompt: Callable[[Task, Reply], str]
    max_tokens: int = 512

    @property
    def name(self) -> str:
        return f"rubric:{self.optimizer.name}:{self.optimizer.model}"

    @property
    def deterministic(self) -> bool:
        return self.optimizer.deterministic

    def score(self, answers: Sequence[tuple[Task, Reply]]) -> Sequence[Score | CallFailed]:
        """Raises ValueError for a task without a rubric."""
        requests = [self._request(task, reply) for task, reply in answers]
        scores = self._ask(requests)
        unread = [at for at, score in enumerate(scores) if isinstance(score, CallFailed) and score.kind == "schema"]
        again = self._ask([replace(requests[at], ask=requests[at].ask + FIRMER) for at in unread])
        for at, score in zip(unread, again, strict=True):
            scores[at] = score
        return scores

    def _request(self, task: Task, reply: Reply) -> Request:
        if not _rubric(task):
            raise ValueError(f"task {task.id} has no rubric")
        return Request(role="optimizer", purpose="judge", ask=self.prompt(task, reply), max_tokens=self.max_tokens)

    def _ask(self, requests: Sequence[Request]) -> list[Score | CallFailed]:
        replies = self.optimizer.complete(requests) if requests else ()
        return [reply if isinstance(reply, CallFailed) else _ruled(reply.text) for reply in replies]


def _ruled(text: str) -> Score | CallFailed:
    """The score a reply gives, cut to 0..1; JSON only, in a code fence or bare."""
    fenced = re.fullmatch(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", text, re.DOTALL | re.IGNORECASE)
    data = (fenced[1] if fenced else text).encode(errors="replace")
    wrong = problems(_Ruling, data)
    if wrong:
        return CallFailed("schema", f"the judge's reply is not a score: {'; '.join(wrong)}")
    ruling = read(_Ruling, data, where="the judge's reply")
    if not isfinite(ruling.score):
        return CallFailed("schema", "the judge's score is not a finite number")
    value = min(max(ruling.score, 0.0), 1.0)
    why = " ".join(ruling.why.split())[:200]
    return Score(hard=float(value >= PASS_MARK), soft=value, notes=(f"rubric {value:.2f}: {why}",))


@dataclass(frozen=True, slots=True)
class TaskJudge:
    """Judges each task by its checks, its rubric, or both: then `hard` needs both, and `soft` is the rubric's."""

    rubric: RubricJudge

    @property
    def name(self) -> str:
        return f"{CheckJudge().name}+{self.rubric.name}"

    @property
    def deterministic(self) -> bool:
        return self.rubric.deterministic

    def used_for(self, tasks: Iterable[Task]) -> CheckJudge | TaskJudge:
        """The judge these tasks really need: checks alone do not depend on a model."""
        return self if any(_rubric(task) for task in tasks) else CheckJudge()

    def score(self, answers: Sequence[tuple[Task, Reply]]) -> Sequence[Score | CallFailed]:
        """Raises ValueError for a task with neither checks nor a rubric."""
        ruled = [(at, answer) for at, answer in enumerate(answers) if _rubric(answer[0])]
        rulings = dict(
            zip((at for at, _ in ruled), self.rubric.score([answer for _, answer in ruled]), strict=True),
        )
        return [
            score_checks(task, reply) if at not in rulings else _together(task, reply, rulings[at])
            for at, (task, reply) in enumerate(answers)
        ]


def _together(task: Task, reply: Reply, ruling: Score | CallFailed) -> Score | CallFailed:
    if isinstance(ruling, CallFailed) or not task.checks:
        return ruling
    checks = score_checks(task, reply)
    return Score(hard=min(checks.hard, ruling.hard), soft=ruling.soft, notes=(*checks.notes, *ruling.notes))
