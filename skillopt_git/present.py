"""From what a night or a proposal is to what people and machines are told of it. Pure.

A proposal is told from its events and evidence alone, so that its commits and its page never depend on the last run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from skillopt_git.errors import SafetyError
from skillopt_git.learned import Known, Learned
from skillopt_git.ledger import evidence_name
from skillopt_git.model import (
    RUN_VERDICTS,
    Candidate,
    Edit,
    Event,
    Evidence,
    Sighting,
    Verdict,
)
from skillopt_git.recall import Proposal, Proposed
from skillopt_git.recurrence import asking
from skillopt_git.rows import task_rows
from skillopt_git.views import (
    DocumentView,
    EditView,
    LeftOut,
    NeedView,
    ProposalView,
    QuoteView,
    RunView,
    controls_view,
    night_rows,
    split_counts,
)

EvidenceOf = Callable[[str], Evidence | None]  # by its SHA-256

MOST_QUOTES = 10  # of one wish, the newest
SHORT_ID = 9  # characters
_RULED = ("verdict", "why", "night", "baseline", "candidate")
_STATES: dict[Verdict, str] = {
    "strong": "waits for the open proposal",
    "ungated": "waits for the open proposal",
    "suggestive": "on trial",
    "unverified": "waits for held-out tasks",
    "invalid": "could not be measured",
    "harmful": "refused: tasks got worse",
    "inconclusive": "refused: it made no difference",
}


# --- proposals ---------------------------------------------------------------------------------------------------


def base_of(proposal: Proposal) -> str:
    """The commit its branch stands on: the one the newest of its open edits was tried at."""
    return str((proposal.pending or proposal.edits)[-1].event.data["base"])


def edit_view(item: Proposed, evidence_of: EvidenceOf, *, as_proposed: bool = False) -> EditView:
    """An edit with the newest ruling on it, or `as_proposed` with the one that put it on its branch."""
    data = item.event.data
    item = replace(item, gate=None) if as_proposed else item
    newest = item.gate.data if item.gate else {}
    ruling: dict[str, Any] = {name: newest.get(name, data[name]) for name in _RULED}
    name = item.evidence
    evidence = evidence_of(name) if name else None
    if evidence is not None and not _about(evidence, item):
        raise SafetyError(f"evidence {name} is not about {item.edit.id}", "somebody changed the ledger")
    return EditView(
        id=item.edit.id,
        rule=item.edit.rule,
        target=item.edit.target,
        op=item.edit.op,
        text=item.edit.text,
        anchor=item.edit.anchor,
        reason=item.edit.reason,
        verdict=ruling["verdict"],
        why=ruling["why"],
        night=_night(ruling["night"]),
        run=(item.gate or item.event).run or "",
        evidence=name,
        need=item.edit.need,
        need_sessions=data["need_sessions"],
        typed=tuple(data.get("quotes", ())),
        rows=task_rows(evidence),
        golden=task_rows(evidence, golden=True),
        nights=night_rows(evidence.tasks if evidence else ()),
        tried=evidence.edits if evidence else (),
        baseline=ruling["baseline"],
        candidate=ruling["candidate"],
        gate_numbers=evidence.numbers if evidence else {},
        simulated=item.event.simulated,
    )


def _about(evidence: Evidence, item: Proposed) -> bool:
    """Whether the evidence is of this edit, in this document, on this text, and with this verdict."""
    told = (evidence.document, evidence.base_blob, evidence.verdict)
    data = item.event.data
    return item.edit.id in evidence.edits and told == (item.edit.target, data["base_blob"], item.verdict)


def _night(number: object) -> str:
    return "of a simulation" if number is None else str(number)


def proposal_view(
    proposal: Proposal,
    evidence_of: EvidenceOf,
    *,
    ledger_ref: str,
    controls: Iterable[Event] = (),
    runs: Iterable[Event] = (),
) -> ProposalView:
    """The open edits of a proposal; those with an outcome where none is open any more. `runs`: the `run` events known,
    for what the nights that judged the edits cost."""
    items = proposal.pending or proposal.edits
    edits = tuple(edit_view(item, evidence_of) for item in items)
    data = proposal.first.data
    verdicts = {edit.verdict for edit in edits}
    nights = {night.run for edit in edits for night in edit.nights} | {edit.run for edit in edits}
    tokens, cost = _cost(nights, {event.run: event for event in runs})
    return ProposalView(
        branch=proposal.branch,
        base_branch=proposal.base_branch,
        base_commit=base_of(proposal),
        opened=proposal.first.ts[:10],
        simulated=proposal.simulated,
        ungated="ungated" in verdicts,
        draft=verdicts != {"strong"},
        edits=edits,
        gate_rule=data["rule"],
        metric=data["metric"],
        target_model=data["model"],
        optimizer_model=data["optimizer"],
        judge=data["judge"],
        version=data["version"],
        ledger_ref=ledger_ref,
        controls=controls_view(item for item in controls if item.simulated == proposal.simulated),
        tokens=tokens,
        cost_usd=cost,
    )


def _cost(nights: Collection[str], runs: Mapping[str | None, Event]) -> tuple[int | None, float | None]:
    """Tokens and dollars of these nights together; None where one of them did not tell."""
    told = [runs[night].data if night in runs else {} for night in sorted(nights)]

    def together(name: str) -> Any:
        each = [data.get(name) for data in told]
        return None if None in each else sum(item for item in each if item is not None)

    return together("tokens"), together("cost_usd")


# --- a run -------------------------------------------------------------------------------------------------------


def run_view(
    learned: Learned,
    *,
    run: str,
    night: int | None,
    started: str,
    ended: str | None,
    base: tuple[str, str],
    dry_run: bool,
    proposed: tuple[Event, ...],
    branch: str | None,
    commits: tuple[str, ...],
    notes: tuple[str, ...],
    version: str,
    controls: Iterable[Event] = (),
    prices: str = "",
) -> RunView:
    """The whole night for its owner; the report stays on this machine, so it may quote what was asked."""
    harvest = learned.known.harvest
    skipped: Counter[str] = Counter()
    for item in harvest.skipped if harvest else ():
        skipped[item.reason] += item.count
    tasks = learned.known.tasks
    asks = {task.id: task.ask for task in tasks}
    put = {event.edit for event in proposed}
    views = [
        (candidate, _candidate_view(candidate, edit, learned, asks, run, night))
        for candidate in learned.candidates
        for edit in candidate.edits
    ]
    quoted = {view.need for _, view in views}
    proposed_needs = {view.need for candidate, view in views if view.id in put or (dry_run and candidate.accepted)}
    return RunView(
        run=run,
        night=night,
        started=started,
        ended=ended,
        base_branch=base[0],
        base_commit=base[1],
        backend=learned.models.target.name,
        model=learned.models.target.model,
        optimizer=learned.models.optimizer.model,
        judge=learned.models.judge.name,
        simulated=learned.models.target.simulated,
        dry_run=dry_run,
        sessions=len(harvest.sessions) if harvest else 0,
        skipped=dict(skipped),
        tasks=len(tasks),
        split=split_counts(task.split for task in tasks),
        needs=tuple(
            need_view(need, learned.known, state=_state(need, learned, proposed_needs), quoted=need not in quoted)
            for need in by_weight(learned.known)
        ),
        hints=hint_views(learned.known),
        metric=learned.metric,
        rule=_rule(learned),
        baseline=learned.baseline,
        candidate=learned.candidate,
        verdict=learned.verdict,
        reason=learned.reason,
        unreviewed=_unreviewed(learned),
        edits=tuple(view for candidate, view in views if view.id in put or (dry_run and candidate.accepted)),
        proven=tuple(view for candidate, view in views if candidate.drafted and candidate.accepted and not dry_run),
        rejected=tuple(
            view for candidate, view in views if not candidate.accepted and candidate.verdict != "suggestive"
        ),
        on_trial=tuple(view for candidate, view in views if candidate.verdict == "suggestive" and view.id not in put),
        unmatched=tuple(LeftOut(text=edit.sentence, why=why) for edit, why in (*learned.unmatched, *learned.linted)),
        suppressed=tuple(LeftOut(text=edit.sentence, why=why) for edit, why in learned.suppressed),
        documents=documents(learned),
        branch=branch,
        commits=commits,
        tokens=learned.models.used.tokens,
        cost_usd=learned.models.used.usd,
        prices=prices,
        notes=(*learned.notes, *notes),
        version=version,
        controls=controls_view(controls),
    )


def _rule(learned: Learned) -> str:
    """The gate that decided; where nothing was tried, the one that would have."""
    if any(item.verdict == "ungated" for item in learned.candidates):
        return "off"
    tried = next((item.evidence.rule for item in learned.candidates if item.evidence is not None), None)
    steady = learned.models.target.deterministic and learned.models.judge.deterministic
    return tried or ("strict" if steady and learned.mode == "evidence" else learned.mode)


def _unreviewed(learned: Learned) -> bool:
    rare = {item.need for item in learned.waiting}
    kept = learned.known.unsaid & learned.known.counts.keys()
    return learned.reason == "nothing_recurred" and not kept <= rare | learned.known.bank.replaced.keys()


def _candidate_view(
    candidate: Candidate, edit: Edit, learned: Learned, asks: Mapping[str, str], run: str, night: int | None
) -> EditView:
    return EditView(
        id=edit.id,
        rule=edit.rule,
        target=edit.target,
        op=edit.op,
        text=edit.text,
        anchor=edit.anchor,
        reason=edit.reason,
        verdict=candidate.verdict,
        why=candidate.why,
        night=_night(night),
        run=run,
        evidence=evidence_name(candidate.evidence) if candidate.evidence else None,
        need=edit.need,
        need_sessions=learned.known.sessions(edit.need),
        rows=task_rows(candidate.evidence, asks),
        golden=task_rows(candidate.evidence, asks, golden=True),
        nights=night_rows(candidate.evidence.tasks if candidate.evidence else ()),
        tried=candidate.evidence.edits if candidate.evidence else (),
        baseline=candidate.baseline,
        candidate=candidate.candidate,
        gate_numbers=candidate.evidence.numbers if candidate.evidence else {},
        simulated=learned.models.target.simulated,
        quotes=quotes(edit.need or "", learned.known),
    )


# --- wishes ------------------------------------------------------------------------------------------------------


def by_weight(known: Known) -> list[str]:
    """The needs that came up in some session, the most frequent first."""
    return sorted(known.needs.keys() & known.counts.keys(), key=lambda need: (-known.sessions(need), need))


def need_view(need: str, known: Known, *, state: str, quoted: bool = True) -> NeedView:
    seen = known.counts[need]
    return NeedView(
        text=known.needs[need],
        sessions=seen.sessions,
        tasks=seen.tasks,
        machines=seen.machines,
        days=seen.days,
        state=state,
        quotes=quotes(need, known) if quoted else (),
    )


def standing(need: str, known: Known, *, rare: bool) -> str:
    """What a need waits for, as far as sessions tell; empty when it waits for nothing."""
    if need in known.bank.replaced:
        later = known.needs.get(known.bank.replaced[need])  # None for a personal one
        return f"replaced by `{later}`" if later else "replaced by a later wish"
    if rare:
        return "waits for a second session" if known.sessions(need) == 1 else "waits for more sessions"
    return "" if known.counts[need].tasks else "waits for an answer that was corrected"


def _state(need: str, learned: Learned, proposed: Collection[str | None]) -> str:
    """What became of a need tonight."""
    rare = any(item.need == need for item in learned.waiting)
    held = next((why for edit, why in learned.suppressed if edit.need == need), None)
    if need in proposed:
        return "proposed"
    if need in learned.unfinished:
        return "waits for another night: the budget was spent"
    return (
        standing(need, learned.known, rare=rare)
        or _judged(need, learned.candidates)
        or (f"held back: {held}" if held else "")
        or _untried(need, learned)
    )


def _judged(need: str, candidates: Iterable[Candidate]) -> str:
    verdicts = {item.verdict for item in candidates if any(edit.need == need for edit in item.edits)}
    return next((_STATES[verdict] for verdict in RUN_VERDICTS if verdict in verdicts), "")


def _untried(need: str, learned: Learned) -> str:
    if need in learned.known.unsaid:
        return "waits until people reviewed it"
    if need in learned.postponed:
        return "waits for another night"
    if any(item.need.id == need for item in learned.reflections):
        return "no fitting rule was written"
    scores = [item.score for item in learned.rollouts if need in item.task.needs and item.score is not None]
    return "kept to already" if scores and all(score.hard == 1 for score in scores) else "not tried tonight"


def quotes(need: str, known: Known) -> tuple[QuoteView, ...]:
    """The turns a need was found in, the newest last."""
    asks = {task.id: task.ask for task in known.tasks}
    heard = sorted((item for item in known.bank.sightings if item.need == need), key=_when)
    return tuple(_quote(item, asks.get(item.task or "")) for item in heard[-MOST_QUOTES:])


def hint_views(known: Known, *, sessions: Collection[str] | None = None) -> tuple[QuoteView, ...]:
    """The turns that count as soon as the like is said again, the newest last; only those of `sessions`, if given."""
    own = (hint for hint in asking(known.bank.hints) if sessions is None or hint.sighting.session in sessions)
    hints = sorted(own, key=lambda hint: _when(hint.sighting))
    told = dict.fromkeys(_quote(hint.sighting, hint.task.ask if hint.task else None) for hint in hints)
    return tuple(told)[-MOST_QUOTES:]


def _when(sighting: Sighting) -> tuple[str, str]:
    return "" if sighting.time is None else sighting.time.isoformat(), sighting.turn


def _quote(sighting: Sighting, ask: str | None) -> QuoteView:
    day = None if sighting.time is None else f"{sighting.time:%Y-%m-%d}"
    return QuoteView(text=sighting.quote, session=short_id(sighting.session), day=day, ask=ask)


def short_id(name: str) -> str:
    """Its end: what tells ids apart that begin with a time."""
    return name if len(name) <= SHORT_ID else f"…{name[-SHORT_ID + 1 :]}"


def documents(learned: Learned) -> tuple[DocumentView, ...]:
    """Each document that a rule was tried in."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in learned.candidates:
        groups.setdefault(candidate.document.path, []).append(candidate)
    return tuple(_document_view(path, group, learned) for path, group in groups.items())


def _document_view(path: str, group: list[Candidate], learned: Learned) -> DocumentView:
    """With several accepted edits their common mean is known only when they are all that was accepted."""
    verdicts = {candidate.verdict for candidate in group}
    accepted = [candidate for candidate in group if candidate.accepted]
    alone = len(accepted) == len(learned.accepted)
    together = learned.candidate if alone else None
    return DocumentView(
        path=path,
        verdict=next(verdict for verdict in RUN_VERDICTS if verdict in verdicts),
        baseline=next((item.baseline for item in group if item.baseline is not None), None),
        candidate=accepted[0].candidate if len(accepted) == 1 else together,
    )
