"""A trial under the gate `evidence`: each task answered several times in both arms, in turn, until it is clear.

First two pairs of each task of the candidate's own need; where they show no gain nothing more is spent. Then up to
`gate.rollouts`; the guard only where a benefit is in sight; and what seems to have got worse is measured as often again
before anybody says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from skillopt_git import edits, gate
from skillopt_git.consolidate import Bench, subject, trial_id, under
from skillopt_git.ids import digest
from skillopt_git.judges import agreement, shape_only
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
from skillopt_git.replay import Documents
from skillopt_git.weighing import FIRST_PAIRS, SUSPECT_OF, Measured, Weighed, futile, suspects, weigh

_BENEFIT = frozenset({"strong", "suggestive"})


def trial(
    edit: Edit,
    document: Document,
    documents: Documents,
    held_out: Sequence[Task],
    *,
    golden: Sequence[Task] = (),
    rested: Mapping[str, str] | None = None,
    bench: Bench,
    ended: int,
) -> Candidate:
    """The edit's paired rollouts, and what they prove. `rested` gives the run in which a task last was a guard."""
    candidate = Candidate(document=document, edits=(edit,), verdict="unverified", why="")
    primary = [task for task in held_out if edit.need in task.needs]
    if not primary:
        return replace(candidate, why="no held-out task needs this rule yet")
    guard = _guard([task for task in held_out if task not in primary], golden, primary, rested or {}, bench)
    name = trial_id(edit, document, bench, ended)
    taught = under(documents, document, edits.apply(document.text, [edit]).text)
    measuring = _Measuring(name, documents, taught, bench)
    weighed = measuring.weighed(primary, guard)
    pairs = measuring.as_pairs(edit)
    return replace(
        candidate,
        verdict=weighed.verdict,
        why=weighed.why,
        trial=name,
        subject=subject(edit, document, bench),
        pairs=pairs,
        baseline=gate.mean([pair.base for pair in pairs], bench.gate),
        candidate=gate.mean([pair.cand for pair in pairs], bench.gate),
        evidence=measuring.evidence(document, edit, weighed),
    )


def _guard(
    others: Sequence[Task], golden: Sequence[Task], primary: Sequence[Task], rested: Mapping[str, str], bench: Bench
) -> list[Task]:
    """Every golden task, and of the other held-out ones those that were not looked at for longest."""
    always = [task for task in golden if task not in primary]
    waiting = sorted(
        (task for task in others if task not in always), key=lambda task: (rested.get(task.id, ""), task.id)
    )
    return [*always, *waiting[: bench.gate.guard]]


@dataclass(slots=True)
class _Measuring:
    """The pairs of one trial so far, by task."""

    name: str
    base: Documents
    cand: Documents
    bench: Bench
    tasks: dict[str, Task] = field(default_factory=dict)
    scores: dict[str, list[tuple[Score | None, Score | None]]] = field(default_factory=dict)

    def weighed(self, primary: Sequence[Task], guard: Sequence[Task]) -> Weighed:
        rules = self.bench.gate
        self._measure(primary, FIRST_PAIRS)
        if not futile(self._told(primary)):
            self._measure(primary, rules.rollouts - FIRST_PAIRS)
        if weigh(self._told(primary), gate=rules).verdict in _BENEFIT:
            self._measure(guard, rules.rollouts)
            worse = {item.task for item in suspects(self._told([*primary, *guard]))}
            self._measure([task for task in (*primary, *guard) if task.id in worse], SUSPECT_OF)
        return weigh(self._told(primary), self._told(guard), gate=rules)

    def _measure(self, tasks: Sequence[Task], pairs: int) -> None:
        """Both arms in turn, so that what changes with time changes both. All of `tasks` have as many pairs before."""
        self.tasks.update({task.id: task for task in tasks})
        for _ in range(pairs if tasks else 0):
            sample = f"{self.name}/{len(self.scores.get(tasks[0].id, ())) + 1}"
            arms = [self.bench.replay(tasks, documents, sample) for documents in (self.base, self.cand)]
            for before, after in zip(*arms, strict=True):
                self.scores.setdefault(before.task.id, []).append((before.score, after.score))

    def _told(self, tasks: Sequence[Task]) -> list[Measured]:
        return [
            Measured(
                task=task.id,
                base=tuple(_hard(base) for base, _ in self.scores[task.id]),
                cand=tuple(_hard(cand) for _, cand in self.scores[task.id]),
                group=_group(task),
                veto=task.golden,
                shape=shape_only(task),
            )
            for task in tasks
            if task.id in self.scores
        ]

    def as_pairs(self, edit: Edit) -> tuple[Pair, ...]:
        """One mean score an arm, for whoever wants to see how a task did."""
        return tuple(
            Pair(
                task=name,
                family=task.family,
                need=edit.need if edit.need in task.needs else next(iter(task.needs), None),
                base=_average([base for base, _ in self.scores[name]]),
                cand=_average([cand for _, cand in self.scores[name]]),
            )
            for name, task in self.tasks.items()
        )

    def evidence(self, document: Document, edit: Edit, weighed: Weighed) -> Evidence:
        bench = self.bench
        return Evidence(
            v=RECORD_VERSION,
            document=document.path,
            base_blob=document.blob,
            edits=(edit.id,),
            rule="evidence",
            settings=bench.settings,
            target=bench.target.model,
            optimizer=bench.optimizer.model,
            judge=bench.judge.name,
            tasks=tuple(self._row(task, edit) for task in self.tasks.values()),
            verdict=weighed.verdict,
            numbers=weighed.numbers | self._judged(),
        )

    def _judged(self) -> OpenMap:
        """How far the judge agrees with itself, where it was asked several times."""
        share, answers = agreement(score for pairs in self.scores.values() for pair in pairs for score in pair)
        return {} if share is None else {"judge_agreement": share, "judge_answers": answers}

    def _row(self, task: Task, edit: Edit) -> EvidenceTask:
        (told,) = self._told([task])
        pairs = self.scores[task.id]
        return EvidenceTask(
            task=task.id,
            family=task.family,
            need=edit.need if edit.need in task.needs else next(iter(task.needs), None),
            part="primary" if edit.need in task.needs else "guard",
            night=self.bench.night,
            base=told.base,
            cand=told.cand,
            soft={"base": tuple(_soft(base) for base, _ in pairs), "cand": tuple(_soft(cand) for _, cand in pairs)},
            group=told.group,
            veto=told.veto,
            shape=told.shape,
        )


def measured(evidence: Evidence) -> tuple[list[Measured], list[Measured]]:
    """The primary tasks and the guard of a recorded trial, all its nights together."""
    known: dict[str, list[EvidenceTask]] = {}
    for row in evidence.tasks:
        known.setdefault(row.task, []).append(row)
    parts: dict[str, list[Measured]] = {"primary": [], "guard": []}
    for rows in known.values():
        parts[rows[0].part].append(
            Measured(
                task=rows[0].task,
                base=tuple(passed for row in rows for passed in row.base),
                cand=tuple(passed for row in rows for passed in row.cand),
                group=rows[0].group,
                veto=rows[0].veto,
                shape=rows[0].shape,
            )
        )
    return parts["primary"], parts["guard"]


def _group(task: Task) -> str:
    """Tells tasks of different sessions apart, and nothing about them."""
    return digest("session", *(task.sessions[:1] or (task.id,)))


def _hard(score: Score | None) -> int | None:
    return None if score is None else int(score.hard)


def _soft(score: Score | None) -> float | None:
    return None if score is None else score.soft


def _average(scores: Sequence[Score | None]) -> Score | None:
    known = [score for score in scores if score is not None]
    return Score(hard=fmean(item.hard for item in known), soft=fmean(item.soft for item in known)) if known else None
