"""A trial under the gate `evidence`: each task answered several times in both arms, in turn, until it is clear.

First two pairs of each task of the candidate's own need; where they show no gain nothing more is spent. Then up to
`gate.rollouts`; the guard only where a benefit is in sight; and what seems to have got worse is measured as often again
before anybody says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from skillopt_git import edits, gate
from skillopt_git.config import Gate
from skillopt_git.consolidate import Bench, subject, trial_id
from skillopt_git.documents import Documents, under
from skillopt_git.ids import digest
from skillopt_git.judges import agreement, judged_by, ruled, shape_only
from skillopt_git.model import (
    RECORD_VERSION,
    Candidate,
    Document,
    Edit,
    Evidence,
    EvidenceTask,
    OpenMap,
    Pair,
    Score,
    Task,
)
from skillopt_git.replay import Round
from skillopt_git.soundness import told_sessions
from skillopt_git.weighing import BENEFIT, FIRST_PAIRS, SUSPECT_OF, Measured, Weighed, futile, suspects, weigh


def trial(
    group: Sequence[Edit],
    document: Document,
    documents: Documents,
    held_out: Sequence[Task],
    *,
    golden: Sequence[Task] = (),
    rested: Mapping[str, str] | None = None,
    bench: Bench,
    ended: int,
    adds: Mapping[str, float] | None = None,
    told: Collection[str] = (),
    going_on: GoingOn | None = None,
) -> Candidate:
    """The paired rollouts of edits for one need, and what they prove. `rested` gives the run in which a task last was
    a guard, `adds` what each edit is worth to the training tasks, `told` the marks of the sessions that its words may
    be from: no task of these ever judges it.

    A trial of an earlier night goes on with its pairs; one that can have no more of them is as it was, and measures
    nothing.
    """
    need = group[0].need
    candidate = Candidate(document=document, edits=tuple(group), verdict="unverified", why="")
    before = going_on.evidence if going_on else None
    known = {*told, *(going_on.told if going_on else ())}
    held_out = [task for task in held_out if unseen(task, known)]
    primary = own(need, held_out)
    if not primary:
        return replace(candidate, why="no held-out task needs this rule yet")
    guard = _guard(
        [task for task in held_out if task not in primary], golden, primary, rested or {}, bench, document.path
    )
    subject_ = subject(group, document, bench, by_rubric=ruled(primary))
    name = going_on.trial if going_on else trial_id(subject_, ended)
    taught = under(documents, document, edits.apply(document.text, group).text)
    worth = before.numbers.get("adds") if before else adds
    numbers: OpenMap = {**({"adds": worth} if worth else {}), **({"told": sorted(known)} if known else {})}
    about = Subject(need=need, edits=tuple(edit.id for edit in group), numbers=numbers)
    measuring = _Measuring(name, about, documents, taught, bench, before)
    weighed = measuring.weighed(primary, guard)
    pairs = measuring.as_pairs()
    return replace(
        candidate,
        verdict=weighed.verdict,
        why=weighed.why,
        trial=name,
        subject=subject_,
        pairs=pairs,
        baseline=gate.mean([pair.base for pair in pairs], bench.gate),
        candidate=gate.mean([pair.cand for pair in pairs], bench.gate),
        evidence=measuring.evidence(document, weighed),
        continued=before is not None,
        closed=weighed.closed or measuring.nights >= bench.gate.nights,
        parked=weighed.verdict == "inconclusive" and not measuring.has_room(primary),
    )


def control(
    name: str,
    about: Subject,
    document: Document,
    arms: tuple[Documents, Documents],
    held_out: Sequence[Task],
    golden: Sequence[Task],
    rested: Mapping[str, str],
    *,
    bench: Bench,
) -> tuple[Evidence, str]:
    """What one night of a trial finds between two arms that nobody wants to adopt, and why."""
    primary = [task for task in held_out if about.need in task.needs]
    guard = _guard([task for task in held_out if task not in primary], golden, primary, rested, bench, document.path)
    measuring = _Measuring(name, about, *arms, bench)
    weighed = measuring.weighed(primary, guard)
    return measuring.evidence(document, weighed), weighed.why


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a trial is about: the need whose tasks are primary, or None where all are, and the second arm's edits."""

    need: str | None
    edits: tuple[str, ...]
    numbers: OpenMap = field(default_factory=dict)  # that no measurement changes


@dataclass(frozen=True, slots=True)
class GoingOn:
    """A trial of earlier nights, and all its evidence so far."""

    trial: str
    evidence: Evidence

    @property
    def told(self) -> frozenset[str]:
        """The marks of the sessions that the optimizer was told of, or that the need is worded in."""
        return frozenset(told_sessions(self.evidence))

    def has_room(self, primary: Iterable[Task], gate: Gate) -> bool:
        """Whether a task of the need may still be measured, or a new one has come."""
        measured_ = Counter({row.task: 0 for row in self.evidence.tasks})
        for row in self.evidence.tasks:
            measured_[row.task] += len(row.base)
        return any(measured_[task.id] < gate.pairs for task in primary)


def _guard(
    others: Sequence[Task],
    golden: Sequence[Task],
    primary: Sequence[Task],
    rested: Mapping[str, str],
    bench: Bench,
    path: str,
) -> list[Task]:
    """Every golden task, and of the other held-out ones that read the document those not looked at for longest."""
    always = [task for task in golden if task not in primary]
    others = [task for task in others if task not in always and bench.used.reads(task, path)]
    waiting = sorted(others, key=lambda task: (rested.get(task.id, ""), task.id))
    return [*always, *waiting[: bench.gate.guard]]


@dataclass(slots=True)
class _Measuring:
    """The pairs of one trial: those of earlier nights as they are recorded, and tonight's by task."""

    name: str
    subject: Subject
    base: Documents
    cand: Documents
    bench: Bench
    earlier: Evidence | None = None
    own: frozenset[str] = frozenset()  # tasks that prove something; a golden one may need the rule and prove nothing
    tasks: dict[str, Task] = field(default_factory=dict)
    scores: dict[str, list[tuple[Score | None, Score | None]]] = field(default_factory=dict)

    @property
    def before(self) -> tuple[EvidenceTask, ...]:
        return self.earlier.tasks if self.earlier else ()

    def weighed(self, primary: Sequence[Task], guard: Sequence[Task]) -> Weighed:
        rules = self.bench.gate
        self.own = frozenset(task.id for task in primary)
        open_ = self._open(primary)
        self._measure(open_, FIRST_PAIRS)
        if not futile(parts(self._tonight())[0]):
            self._measure(open_, rules.rollouts - FIRST_PAIRS)
        if open_ and weigh(self._pooled()[0], gate=rules, nights=self.nights).verdict in BENEFIT:
            self._measure(guard, rules.rollouts)
            worse = {item.task for part in self._pooled() for item in suspects(part)}
            self._measure([task for task in (*open_, *guard) if task.id in worse], SUSPECT_OF)
        return weigh(*self._pooled(), gate=rules, nights=self.nights)

    def has_room(self, primary: Sequence[Task]) -> bool:
        """Whether a task may be measured on another night."""
        return bool(self._open(primary))

    def _open(self, tasks: Sequence[Task]) -> list[Task]:
        return [task for task in tasks if self._number(task) <= self.bench.gate.pairs]

    @property
    def nights(self) -> int:
        """Those in which something was measured."""
        return len({row.night for row in self.before} | ({self.bench.night} if self.scores else set()))

    def _number(self, task: Task) -> int:
        """Of the task's next pair: none is ever used again."""
        known = sum(len(row.base) for row in self.before if row.task == task.id)
        return known + len(self.scores.get(task.id, ())) + 1

    def _measure(self, tasks: Sequence[Task], pairs: int) -> None:
        """Both arms of a pair one after the other, so that what changes with time changes both; and all that need not
        be known before the next is asked at once."""
        self.tasks.update({task.id: task for task in tasks})
        first = {task.id: self._number(task) for task in tasks}
        numbers = sorted({number + more for number in first.values() for more in range(pairs)})
        rounds = [
            Round([task for task in tasks if first[task.id] <= number < first[task.id] + pairs], documents, sample)
            for number in numbers
            for sample in (f"{self.name}/{number}",)
            for documents in (self.base, self.cand)
        ]
        answers = self.bench.replay(rounds)
        for bases, cands in zip(answers[::2], answers[1::2], strict=True):
            for base, cand in zip(bases, cands, strict=True):
                self.scores.setdefault(base.task.id, []).append((base.score, cand.score))

    def _tonight(self) -> list[EvidenceTask]:
        return [self._row(self.tasks[name], pairs) for name, pairs in self.scores.items()]

    def _pooled(self) -> tuple[list[Measured], list[Measured]]:
        return parts([*self.before, *self._tonight()])

    def as_pairs(self) -> tuple[Pair, ...]:
        """One mean score an arm and task, of tonight, for whoever wants to see how a task did."""
        return tuple(
            Pair(
                task=name,
                family=self.tasks[name].family,
                need=self._need(self.tasks[name]),
                base=_average([base for base, _ in pairs]),
                cand=_average([cand for _, cand in pairs]),
            )
            for name, pairs in self.scores.items()
        )

    def evidence(self, document: Document, weighed: Weighed) -> Evidence:
        """All pairs of the trial so far, those of other nights as they were."""
        bench = self.bench
        return Evidence(
            v=RECORD_VERSION,
            document=document.path,
            base_blob=document.blob,
            edits=self.subject.edits,
            rule="evidence",
            settings=bench.settings,
            target=bench.target.model,
            optimizer=bench.optimizer.model,
            judge=self._judge(),
            tasks=(*self.before, *self._tonight()),
            verdict=weighed.verdict,
            numbers={**weighed.numbers, **self._judged(), **self.subject.numbers},
        )

    def _judge(self) -> str:
        """What judged its tasks: where none of tonight's has a rubric, one of an earlier night may have had."""
        tonight = self.tasks.values()
        return self.earlier.judge if self.earlier and not ruled(tonight) else judged_by(self.bench.judge, tonight)

    def _judged(self) -> OpenMap:
        """How far the judge agrees with itself, where it was asked several times."""
        share, answers = agreement(score for pairs in self.scores.values() for pair in pairs for score in pair)
        return {} if share is None else {"judge_agreement": share, "judge_answers": answers}

    def _need(self, task: Task) -> str | None:
        return self.subject.need if self.subject.need in task.needs else next(iter(task.needs), None)

    def _row(self, task: Task, pairs: Sequence[tuple[Score | None, Score | None]]) -> EvidenceTask:
        return EvidenceTask(
            task=task.id,
            family=task.family,
            need=self._need(task),
            part="primary" if task.id in self.own else "guard",
            night=self.bench.night,
            base=tuple(_hard(base) for base, _ in pairs),
            cand=tuple(_hard(cand) for _, cand in pairs),
            soft={"base": tuple(_soft(base) for base, _ in pairs), "cand": tuple(_soft(cand) for _, cand in pairs)},
            group=_group(task),
            veto=task.golden,
            shape=shape_only(task),
        )


def parts(rows: Iterable[EvidenceTask]) -> tuple[list[Measured], list[Measured]]:
    """The primary tasks and the guard of a recorded trial, all its nights together."""
    known: dict[str, list[EvidenceTask]] = {}
    for row in rows:
        known.setdefault(row.task, []).append(row)
    found: dict[str, list[Measured]] = {"primary": [], "guard": []}
    for same in known.values():
        found[same[0].part].append(
            Measured(
                task=same[0].task,
                base=tuple(passed for row in same for passed in row.base),
                cand=tuple(passed for row in same for passed in row.cand),
                group=same[0].group,
                veto=any(row.veto for row in same),
                shape=same[0].shape,
            )
        )
    return found["primary"], found["guard"]


def own(need: str | None, held_out: Iterable[Task]) -> list[Task]:
    """The tasks that need the rule: those that prove its use."""
    return [task for task in held_out if need is None or need in task.needs]


def mark(session: str) -> str:
    """Tells a session from others, and nothing about it."""
    return digest("session", session)


def unseen(task: Task, told: Collection[str]) -> bool:
    """Whether nothing of a task's sessions was told, by their marks."""
    return not any(mark(session) in told for session in task.sessions)


def _group(task: Task) -> str:
    """Tells tasks of different sessions apart, and nothing about them."""
    return mark(*(task.sessions[:1] or (task.id,)))


def _hard(score: Score | None) -> int | None:
    return None if score is None else int(score.hard)


def _soft(score: Score | None) -> float | None:
    return None if score is None else score.soft


def _average(scores: Sequence[Score | None]) -> Score | None:
    known = [score for score in scores if score is not None]
    return Score(hard=fmean(item.hard for item in known), soft=fmean(item.soft for item in known)) if known else None
