"""Whether edits for one need help, and what it takes to tell: the trial."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skillopt_git import edits, gate, guard
from skillopt_git.config import Gate
from skillopt_git.documents import Documents, under
from skillopt_git.ids import Json, digest
from skillopt_git.imperatives import RULE_LIMIT
from skillopt_git.judges import CheckJudge, judged_by, ruled
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
from skillopt_git.ports import Backend, Judge, Listener, Reply
from skillopt_git.prompts import SHIPPED, Prompts
from skillopt_git.redact import find_secrets
from skillopt_git.replay import NONE_USED, Rollout, Round
from skillopt_git.used import Used

GUIDANCE_LIMIT = 600  # characters

# Settings of the gate `evidence`: another value is another trial.
EVIDENCE = (
    *("rollouts", "guard", "strong_e", "strong_tasks", "least_gain"),
    *("suggestive_p", "suggestive_e", "harmful_e", "closing_e"),
)


def gate_settings(gate: Gate) -> OpenMap:
    """Those that decide, as evidence records them."""
    names = ("mode", "metric", "mixed_weight", "no_regression", *(EVIDENCE if gate.mode == "evidence" else ()))
    return {name: getattr(gate, name) for name in names}


Part = Literal["primary", "guard"]
Replay = Callable[[Sequence[Round]], Sequence[Sequence[Rollout]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What measuring needs: the models, a way to replay tasks, the rules of the gate, and who listens. Records name the
    `night` by its run; samples that last until it is recorded begin with `tonight`."""

    target: Backend
    optimizer: Backend
    judge: Judge
    replay: Replay
    gate: Gate
    night: str
    tonight: str
    preferences: str
    notify: Listener
    prompts: Prompts = SHIPPED
    refused: tuple[str, ...] = ()  # rules that people turned down, with their reasons
    used: Used = NONE_USED

    def deterministic(self, tasks: Sequence[Task]) -> bool:
        """Whether measuring these tasks again gives the same; who judges rubrics matters only where there is one."""
        return self.target.deterministic and (self.judge.deterministic or not ruled(tasks))

    def by_pairs(self, tasks: Sequence[Task]) -> bool:
        """Whether tasks have to be measured several times: what is always the same says it all at once."""
        return self.gate.mode == "evidence" and not self.deterministic(tasks)

    @property
    def settings(self) -> OpenMap:
        return {**self.target.settings, **gate_settings(self.gate), "backend": self.target.name}


# --- questions ---------------------------------------------------------------------------------------------------


def judge_question(task: Task, reply: Reply, prompts: Prompts = SHIPPED) -> str:
    """What the optimizer is asked when it judges an answer by a rubric."""
    parts = {"ask": task.ask, "rubric": task.rubric or "", "answer": reply.text}
    known = {"context": task.context, "reference": task.reference or ""}  # shown where there is one
    nonce = digest(*parts.values(), *known.values())
    fenced = {name: guard.fence(text, nonce) for name, text in (parts | known).items() if text or name in parts}
    return prompts("judge", **(known | fenced))


# --- the trial ---------------------------------------------------------------------------------------------------


def lint(edit: Edit) -> str | None:
    """Why the rule linter refuses this edit; None when it does not."""
    texts = [text for text in (edit.anchor, edit.text) if text is not None]
    if any("[redacted:" in text.casefold() or find_secrets(text) for text in texts):
        return "the rule quotes a secret"
    limit = GUIDANCE_LIMIT if edit.guides else RULE_LIMIT
    if len(edit.text or "") > limit:
        return f"the {'guidance' if edit.guides else 'rule'} is longer than {limit} characters"
    gained = guard.gained(edit.anchor or "", edit.text or "")
    return f"the rule would gain a capability: {', '.join(sorted(gained))}" if gained else None


def trial(
    group: Sequence[Edit],
    document: Document,
    documents: Documents,
    held_out: Sequence[Task],
    *,
    golden: Sequence[Task] = (),
    bench: Bench,
    ended: int,
    adds: Mapping[str, float] | None = None,
) -> Candidate:
    """The edits' paired rollouts on the held-out tasks, and the gate's verdict. `ended` counts their earlier trials.

    They are for one need, or for all, and tried together; `adds` tells what each is worth to the training tasks.
    `golden` tasks are measured beside them, whatever their split: they veto, and only those held out count for more.
    """
    applied = edits.apply(document.text, group)
    need = group[0].need
    primary = tuple(task for task in held_out if need is None or need in task.needs)
    candidate = Candidate(document=document, edits=tuple(group), verdict="unverified", why="")
    if bench.gate.mode == "off":
        off = gate.ungated()
        return replace(candidate, verdict=off.verdict, why=off.why)
    if not primary:
        return replace(candidate, why="no held-out task needs this rule yet")
    about = subject(group, document, bench, by_rubric=ruled(primary))
    name = trial_id(about, ended)
    guards = tuple(task for task in golden if task not in held_out)
    tasks = (*held_out, *guards)
    every = _pairs(name, need, tasks, documents, under(documents, document, applied.text), bench)
    pairs, guarded = every[: len(held_out)], every[len(held_out) :]
    decision = gate.strict(
        pairs,
        gate=bench.gate,
        deterministic=bench.deterministic(tasks),
        golden=tuple(pair for pair, task in zip(every, tasks, strict=True) if task.golden),
    )
    measured = replace(
        candidate,
        verdict=decision.verdict,
        why=decision.why,
        trial=name,
        subject=about,
        pairs=pairs,
        baseline=decision.baseline,
        candidate=decision.candidate,
    )
    vetoing = frozenset(task.id for task in tasks if task.golden)
    return replace(measured, evidence=_evidence(measured, guarded, bench, tasks, vetoing, adds))


def subject(group: Sequence[Edit], document: Document, bench: Bench, *, by_rubric: bool) -> str:
    """What stays the same over a trial; a change of any part starts a new one. `by_rubric`: whether one judges the
    tasks that need the rule. Only then do the judge and what it is asked count."""
    named: list[Json] = [*sorted(edit.id for edit in group)]
    judge = bench.judge.name if by_rubric else CheckJudge().name
    said = bench.prompts.digest_of("attempt", *(("judge",) if by_rubric else ()))
    return digest(named, document.path, document.blob, bench.target.model, judge, said, bench.settings)


def trial_id(about: str, ended: int) -> str:
    """By its subject, and how many trials of it have ended."""
    return f"x1-{digest(about, ended)}"


def _pairs(
    name: str, need: str | None, tasks: Sequence[Task], base: Documents, cand: Documents, bench: Bench
) -> tuple[Pair, ...]:
    # One pair a task, for a strict trial ends with its night.
    arms = bench.replay([Round(tasks, documents, f"{name}/1") for documents in (base, cand)])
    return tuple(
        Pair(
            task=before.task.id,
            family=before.task.family,
            need=need if need in before.task.needs else next(iter(before.task.needs), None),
            base=before.score,
            cand=after.score,
        )
        for before, after in zip(*arms, strict=True)
    )


def _evidence(
    candidate: Candidate,
    guarded: Sequence[Pair],
    bench: Bench,
    measured: Sequence[Task],
    vetoing: Collection[str],
    adds: Mapping[str, float] | None,
) -> Evidence:
    """`guarded` stands in it and in no mean: its numbers name those tasks."""
    need = candidate.edits[0].need
    tasks = [
        _evidence_task(pair, "primary" if need in (None, pair.need) else "guard", bench.night, vetoing)
        for pair in candidate.pairs
    ]
    tasks += [_evidence_task(pair, "guard", bench.night, vetoing) for pair in guarded]
    numbers: OpenMap = {
        "baseline": candidate.baseline,
        "candidate": candidate.candidate,
        "tasks": len(candidate.pairs),
        "deterministic": bench.deterministic(measured),
        **({"adds": dict(adds)} if adds else {}),
    }
    return Evidence(
        v=RECORD_VERSION,
        document=candidate.document.path,
        base_blob=candidate.document.blob,
        edits=tuple(edit.id for edit in candidate.edits),
        rule="strict",
        settings=bench.settings,
        target=bench.target.model,
        optimizer=bench.optimizer.model,
        judge=judged_by(bench.judge, measured),
        tasks=tuple(tasks),
        verdict=candidate.verdict,
        numbers=numbers | ({"golden": [pair.task for pair in guarded]} if guarded else {}),
    )


def _evidence_task(pair: Pair, part: Part, night: str, vetoing: Collection[str]) -> EvidenceTask:
    return EvidenceTask(
        task=pair.task,
        family=pair.family,
        need=pair.need,
        part=part,
        night=night,
        base=(_hard(pair.base),),
        cand=(_hard(pair.cand),),
        soft={"base": (_soft(pair.base),), "cand": (_soft(pair.cand),)},
        veto=pair.task in vetoing,
    )


def _hard(score: Score | None) -> int | None:
    return None if score is None else int(score.hard)


def _soft(score: Score | None) -> float | None:
    return None if score is None else score.soft
