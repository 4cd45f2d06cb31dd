"""What a commit, a pull request and a report are told: plain data, already fit to be published where it will be.

None means not measured (or not known) throughout; it is never 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any

from skillopt_git.model import RUN_VERDICTS, EditOp, Event, EvidenceTask, Metric, Reason, Split, Verdict
from skillopt_git.stats import discordant, e_value, smallest_gain

_TOLD = (
    "baseline",
    "candidate",
    "tasks",
    "golden",
    "deterministic",
    "adds",
)  # of the gate's numbers: those an edit's own figures say


def _change(base: float | None, cand: float | None) -> float | None:
    if base is None or cand is None or not isfinite(cand - base):
        return None
    return cand - base


@dataclass(frozen=True, slots=True)
class Passes:
    """How many rollouts passed, of those that were measured."""

    passed: int
    of: int

    @property
    def share(self) -> float | None:
        return self.passed / self.of if self.of else None


def passes(task: EvidenceTask) -> tuple[Passes, Passes]:
    """Of one task, without and with the edit."""
    base, cand = ([item for item in arm if item is not None] for arm in (task.base, task.cand))
    return Passes(sum(base), len(base)), Passes(sum(cand), len(cand))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task, without and with the edit. `ask` is None where no transcript text may be shown.

    `base` and `cand` are means of the gate's metric, which may weigh more than what passed.
    """

    task: str
    family: str | None = None
    ask: str | None = None
    base: float | None = None
    cand: float | None = None
    passes: tuple[Passes, Passes] | None = None

    @property
    def change(self) -> float | None:
        return _change(self.base, self.cand)


@dataclass(frozen=True, slots=True)
class QuoteView:
    """What somebody typed, where and when, and the ask it was about. Shown to its owner only."""

    text: str
    session: str
    day: str | None = None
    ask: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofView:
    """What the gate `evidence` found: passes of rollouts on the tasks that need the rule, and what may be said of it.

    Gains are shares of 1. `guard_reach` is the share of tasks that may have got worse though no guard did.
    """

    tasks: int
    tasks_up: int
    tasks_down: int
    base_passes: int
    base_rollouts: int
    cand_passes: int
    cand_rollouts: int
    e: float
    p: float
    gain_shrunk: float
    gain_low: float
    gain_high: float
    guard_tasks: int
    guard_reach: float

    @property
    def smallest(self) -> float | None:
        """The gain below which so many tasks would often show nothing; None where they show no gain reliably."""
        return smallest_gain(self.tasks)


def _proof(numbers: Mapping[str, object]) -> ProofView | None:
    """None where the figures are another gate's, or not what they claim: the ledger is shared."""
    found = {item.name: numbers.get(item.name) for item in fields(ProofView)}
    counts = {item.name for item in fields(ProofView) if item.type == "int"}
    sound = all(
        isinstance(value, int if name in counts else int | float) and not isinstance(value, bool) and isfinite(value)
        for name, value in found.items()
    )
    return ProofView(**found) if sound else None  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class NightRow:
    """What one night of a trial measured on the tasks of the rule's need; `e` is that of all its nights so far."""

    run: str
    base_passes: int
    base_rollouts: int
    cand_passes: int
    cand_rollouts: int
    e: float


def night_rows(tasks: Iterable[EvidenceTask]) -> tuple[NightRow, ...]:
    """A trial night by night, the newest last."""
    nights: dict[str, list[EvidenceTask]] = {}
    for task in tasks:
        if task.part == "primary":
            nights.setdefault(task.night, []).append(task)
    rows: list[NightRow] = []
    pairs: list[tuple[bool, bool]] = []
    for run, own in nights.items():
        base = [passed for task in own for passed in task.base if passed is not None]
        cand = [passed for task in own for passed in task.cand if passed is not None]
        both = [pair for task in own for pair in zip(task.base, task.cand, strict=True)]
        pairs += [(bool(before), bool(after)) for before, after in both if before is not None and after is not None]
        rows.append(
            NightRow(
                run=run,
                base_passes=sum(base),
                base_rollouts=len(base),
                cand_passes=sum(cand),
                cand_rollouts=len(cand),
                e=e_value(*discordant(pairs)),
            )
        )
    return tuple(rows)


def split_counts(splits: Iterable[Split | None]) -> dict[Split, int]:
    counts = Counter(splits)
    return {"train": counts["train"], "val": counts["val"], "test": counts["test"]}


def _worst_first(row: TaskRow) -> tuple[bool, float, str]:
    return row.change is None, row.change or 0.0, row.task


@dataclass(frozen=True, slots=True, kw_only=True)
class EditView:
    """One edit and what the gate found in its deciding night (a label).

    `anchor` is the rule that is replaced or deleted, `why` the gate's words, `baseline` and `candidate` the means
    over `rows`, the held-out tasks. `golden` are those measured beside them, which may only veto; `nights` are
    those of its trial, `tried` the edits it was about, this one among them.
    """

    id: str
    rule: str
    target: str
    op: EditOp
    text: str | None
    anchor: str | None = None
    reason: str = ""
    verdict: Verdict
    why: str = ""
    night: str
    run: str
    evidence: str | None = None
    need: str | None = None
    need_sessions: int = 0
    rows: tuple[TaskRow, ...] = ()
    golden: tuple[TaskRow, ...] = ()
    nights: tuple[NightRow, ...] = ()
    tried: tuple[str, ...] = ()
    baseline: float | None = None
    candidate: float | None = None
    gate_numbers: Mapping[str, Any] = field(default_factory=dict)
    simulated: bool = False
    quotes: tuple[QuoteView, ...] = ()  # none where it is published
    typed: tuple[str, ...] = ()  # of these what its owner publishes with it

    @property
    def sentence(self) -> str:
        """What it writes, or for a delete what it removes."""
        return self.text if self.text is not None else self.anchor or ""

    @property
    def change(self) -> float | None:
        return _change(self.baseline, self.candidate)

    @property
    def proof(self) -> ProofView | None:
        return _proof(self.gate_numbers)

    @property
    def agreement(self) -> tuple[float, int] | None:
        """How often two votes of the judge on one answer agreed, and on how many answers; None if it had one vote."""
        share, answers = self.gate_numbers.get("judge_agreement"), self.gate_numbers.get("judge_answers")
        told = isinstance(share, float) and isinstance(answers, int) and isfinite(share)
        return (share, answers) if told else None  # type: ignore[return-value]

    @property
    def together(self) -> tuple[str, ...]:
        """The other edits that were tried with it."""
        return tuple(other for other in self.tried if other != self.id)

    @property
    def adds(self) -> float | None:
        """What the training tasks lost without it, of several edits that were tried together; in shares of 1."""
        told = self.gate_numbers.get("adds")
        share = told.get(self.id) if isinstance(told, dict) else None
        return share if isinstance(share, float) and isfinite(share) else None

    @property
    def figures(self) -> dict[str, Any]:
        """The gate's numbers that stand nowhere else."""
        if self.proof is not None:
            return {}
        return {name: value for name, value in self.gate_numbers.items() if name not in _TOLD}

    @property
    def worst_first(self) -> tuple[TaskRow, ...]:
        return tuple(sorted(self.rows, key=_worst_first))

    @property
    def helped(self) -> tuple[TaskRow, ...]:
        """The best first."""
        return tuple(row for row in reversed(self.worst_first) if row.change is not None and row.change > 0)

    @property
    def regressed(self) -> tuple[TaskRow, ...]:
        """The worst first."""
        return tuple(row for row in self.worst_first if row.change is not None and row.change < 0)

    @property
    def measured(self) -> int:
        return sum(row.change is not None for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlsView:
    """How the gate did where the right verdict is known: edits that say nothing, and proven rules taken out again."""

    null: int = 0
    null_strong: int = 0
    null_drafts: int = 0
    known: int = 0
    known_strong: int = 0


def controls_view(controls: Iterable[Event]) -> ControlsView:
    found = Counter((item.data["control"], item.data["verdict"]) for item in controls)
    every = Counter(kind for kind, _ in found.elements())
    return ControlsView(
        null=every["null"],
        null_strong=found["null", "strong"],
        null_drafts=found["null", "suggestive"],
        known=every["known"],
        known_strong=found["known", "strong"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalView:
    """A proposal by itself: but for `controls`, nothing here may depend on a run that brought it no new evidence."""

    branch: str
    base_branch: str
    base_commit: str
    opened: str  # ISO date
    simulated: bool
    ungated: bool
    draft: bool
    edits: tuple[EditView, ...]
    on_trial: tuple[EditView, ...] = ()
    gate_rule: str
    metric: Metric
    target_model: str
    optimizer_model: str
    judge: str
    version: str
    ledger_ref: str
    controls: ControlsView = ControlsView()
    tokens: int | None = None  # of the nights that judged its edits
    cost_usd: float | None = None

    @property
    def tally(self) -> tuple[tuple[Verdict, int], ...]:
        """The verdicts it holds and how many edits have each, the best first."""
        held = [edit.verdict for edit in self.edits]
        return tuple((verdict, held.count(verdict)) for verdict in RUN_VERDICTS if verdict in held)

    @property
    def measured(self) -> int:
        return sum(edit.measured for edit in self.edits)

    @property
    def regressed(self) -> tuple[tuple[int, TaskRow], ...]:
        """Every held-out task that got worse with the number of the edit that did it, the worst first."""
        found = [(number, row) for number, edit in enumerate(self.edits, 1) for row in edit.regressed]
        return tuple(sorted(found, key=lambda pair: (_worst_first(pair[1]), pair[0])))


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedView:
    """A wish that came up, as a rule: how often, on which days (the first and the last), and what became of it.

    `quotes` are left out where the rule's own section has them.
    """

    text: str
    sessions: int
    tasks: int
    machines: int = 1
    days: tuple[str, ...] = ()
    state: str = ""
    quotes: tuple[QuoteView, ...] = ()

    @property
    def times(self) -> str:
        return " to ".join(self.days)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A rule that was not tried; for a suppressed one `why` names the memory that holds it back."""

    text: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentView:
    path: str
    verdict: Verdict | None
    baseline: float | None
    candidate: float | None

    @property
    def change(self) -> float | None:
        return _change(self.baseline, self.candidate)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One night as a whole. `edits` are those this run put on the branch, `rejected` those its gate refused.

    `proven` were drafts on the branch before, which this night measured further.
    """

    run: str
    night: int | None
    started: str
    ended: str | None = None
    base_branch: str
    base_commit: str
    backend: str
    model: str
    optimizer: str
    judge: str
    simulated: bool
    dry_run: bool = False
    sessions: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    tasks: int
    split: Mapping[Split, int] = field(default_factory=dict)
    needs: tuple[NeedView, ...] = ()
    hints: tuple[QuoteView, ...] = ()  # asked for once more, and in too few words to be a wish by themselves
    metric: Metric
    rule: str
    baseline: float | None = None
    candidate: float | None = None
    verdict: Verdict | None = None
    reason: Reason
    unreviewed: bool = False  # what recurred may go to no model, for nobody reviewed it
    edits: tuple[EditView, ...] = ()
    proven: tuple[EditView, ...] = ()
    rejected: tuple[EditView, ...] = ()
    on_trial: tuple[EditView, ...] = ()
    unmatched: tuple[LeftOut, ...] = ()
    suppressed: tuple[LeftOut, ...] = ()
    documents: tuple[DocumentView, ...] = ()
    branch: str | None = None
    commits: tuple[str, ...] = ()
    tokens: int | None = None
    cost_usd: float | None = None
    prices: str = ""  # the table they are from, where calls were priced
    notes: tuple[str, ...] = ()
    version: str
    controls: ControlsView = ControlsView()

    @property
    def change(self) -> float | None:
        return _change(self.baseline, self.candidate)
