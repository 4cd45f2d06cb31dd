"""Whether an answer is good: machine checks, rubrics judged by the optimizer, and both together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import comb, isfinite
from statistics import fmean, median

from skillopt_git.checks import check, failure, problem
from skillopt_git.model import Score, Task
from skillopt_git.ports import Backend, CallFailed, Judge, Reply, Request
from skillopt_git.schema import form, problems, read

PASS_MARK = 0.8  # a rubric score from here on passes
LONGEST_RULING = 512  # tokens
VOTES = 3  # of a judge that may say something else the next time; most of them decide
FIRMER = (
    "\n\nYour last reply could not be read. Reply with one JSON object and nothing else: "
    '{"score": <a number from 0 to 1>, "why": "<one short sentence>"}'
)

# --- tasks -------------------------------------------------------------------------------------------------------


def judgeable(task: Task) -> bool:
    """Whether an answer can be judged at all: by a check or a rubric, none of them broken."""
    return bool(task.checks or _rubric(task)) and not any(problem(item) for item in task.checks)


def shape_only(task: Task) -> bool:
    """Whether only the form of an answer is looked at: any text of that form would pass."""
    return bool(task.checks) and not _rubric(task) and all(item.is_shape for item in task.checks)


def _rubric(task: Task) -> str:
    return (task.rubric or "").strip()


def ruled(tasks: Iterable[Task]) -> bool:
    """Whether a rubric judges one of these tasks."""
    return any(map(_rubric, tasks))


def judged_by(judge: Judge, tasks: Iterable[Task]) -> str:
    """The name of what judges these tasks: checks alone do not depend on a model."""
    return judge.name if ruled(tasks) else CheckJudge().name


def score_checks(task: Task, reply: Reply) -> Score:
    """`hard`: all checks pass; `soft`: the share that does. Raises ValueError without checks."""
    if not task.checks:
        raise ValueError(f"task {task.id} has no checks")
    failed = [item for item in task.checks if not check(item, reply)]
    return Score(
        hard=float(not failed),
        soft=1 - len(failed) / len(task.checks),
        notes=tuple(failure(item, reply) for item in failed),
    )


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

    def score(
        self, answers: Sequence[tuple[Task, Reply]], samples: Sequence[str] = (), tonight: str = ""
    ) -> Sequence[Score | CallFailed]:
        return [score_checks(task, reply) for task, reply in answers]


@dataclass(frozen=True, slots=True)
class _Ruling:
    score: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class RubricJudge:
    """Asks the optimizer how well an answer meets the task's rubric. Which arm an answer comes from is not told.

    `prompt` words the question. One that varies is asked `VOTES` times, and most votes decide: in the sample of the
    answers, for a remembered ruling would count as many. A reply that cannot be read is asked for once more, firmly;
    then it is a failed call.
    """

    optimizer: Backend
    prompt: Callable[[Task, Reply], str]
    max_tokens: int = LONGEST_RULING

    @property
    def name(self) -> str:
        return f"rubric:{self.optimizer.name}:{self.optimizer.model}"

    @property
    def deterministic(self) -> bool:
        return self.optimizer.deterministic

    def score(
        self, answers: Sequence[tuple[Task, Reply]], samples: Sequence[str] = (), tonight: str = ""
    ) -> Sequence[Score | CallFailed]:
        """Raises ValueError for a task without a rubric."""
        each = 1 if self.deterministic else VOTES
        given = self._votes(
            [
                self._request(task, reply, "" if self.deterministic else _under(sample, f"vote/{vote}"))
                for (task, reply), sample in zip(answers, samples or [""] * len(answers), strict=True)
                for vote in range(1, each + 1)
            ],
            tonight,
        )
        return [_decided(given[at : at + each]) for at in range(0, len(given), each)]

    def _votes(self, requests: Sequence[Request], tonight: str) -> list[Score | CallFailed]:
        scores = self._ask(requests)
        unread = [at for at, score in enumerate(scores) if isinstance(score, CallFailed) and score.kind == "schema"]
        again = self._ask([_firmer(requests[at], tonight) for at in unread])
        for at, score in zip(unread, again, strict=True):
            scores[at] = score
        return scores

    def _request(self, task: Task, reply: Reply, vote: str) -> Request:
        if not _rubric(task):
            raise ValueError(f"task {task.id} has no rubric")
        ask = self.prompt(task, reply)
        return Request(
            role="optimizer",
            purpose="judge",
            ask=ask,
            max_tokens=self.max_tokens,
            sample=vote,
            schema=form(_Ruling),
        )

    def _ask(self, requests: Sequence[Request]) -> list[Score | CallFailed]:
        replies = self.optimizer.complete(requests) if requests else ()
        return [reply if isinstance(reply, CallFailed) else _ruled(reply.text) for reply in replies]


def _firmer(request: Request, tonight: str) -> Request:
    """A bad answer stays in the cache; with a sample of its own the second question is asked anew every night."""
    return replace(request, ask=request.ask + FIRMER, sample=_under(request.sample, _under(tonight, "firmer")))


def _under(sample: str, part: str) -> str:
    return f"{sample}/{part}" if sample else part


def _decided(votes: Sequence[Score | CallFailed]) -> Score | CallFailed:
    """What most votes say. Where failed calls leave no majority, nothing was measured."""
    if len(votes) == 1:
        return votes[0]
    known = [vote for vote in votes if isinstance(vote, Score)]
    passing = [vote for vote in known if vote.hard]
    most = passing if 2 * len(passing) > len(votes) else [vote for vote in known if not vote.hard]
    if 2 * len(most) <= len(votes):
        failed = [vote for vote in votes if isinstance(vote, CallFailed)]
        # Where the budget ended it, nothing is missing: another night asks for the other votes.
        return next((vote for vote in failed if vote.kind == "budget"), failed[0])
    told = f"{len(most)} of {len(votes)} votes"
    return Score(
        hard=most[0].hard,
        soft=median(vote.soft for vote in known),
        notes=(*most[0].notes, told),
        votes=tuple(bool(vote.hard) for vote in known),
    )


def agreement(scores: Iterable[Score | None]) -> tuple[float | None, int]:
    """How often two votes on one answer agree, and on how many answers that was seen; None on none."""
    shares = []
    for score in scores:
        count = len(score.votes) if score is not None else 0
        if score is not None and count > 1:
            passed = sum(score.votes)
            shares.append((comb(passed, 2) + comb(count - passed, 2)) / comb(count, 2))
    return (fmean(shares) if shares else None), len(shares)


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
    return Score(hard=float(value >= PASS_MARK), soft=value, notes=(f"{_RUBRIC}{value:.2f}: {why}",))


_RUBRIC = "rubric "


def remarks(score: Score) -> tuple[str, ...]:
    """What judges had to say of an answer, without what the checks did."""
    said = (note.partition(": ")[2] for note in score.notes if note.startswith(_RUBRIC))
    return tuple(filter(None, said))


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
        return self if ruled(tasks) else CheckJudge()

    def score(
        self, answers: Sequence[tuple[Task, Reply]], samples: Sequence[str] = (), tonight: str = ""
    ) -> Sequence[Score | CallFailed]:
        """Raises ValueError for a task with neither checks nor a rubric."""
        by_rubric = [at for at, (task, _) in enumerate(answers) if _rubric(task)]
        given = self.rubric.score(
            [answers[at] for at in by_rubric], [samples[at] for at in by_rubric] if samples else (), tonight
        )
        rulings = dict(zip(by_rubric, given, strict=True))
        return [
            score_checks(task, reply) if at not in rulings else _together(task, reply, rulings[at])
            for at, (task, reply) in enumerate(answers)
        ]


def _together(task: Task, reply: Reply, ruling: Score | CallFailed) -> Score | CallFailed:
    if isinstance(ruling, CallFailed) or not task.checks:
        return ruling
    checks = score_checks(task, reply)
    notes = (*checks.notes, *ruling.notes)
    return Score(hard=min(checks.hard, ruling.hard), soft=ruling.soft, notes=notes, votes=ruling.votes)
