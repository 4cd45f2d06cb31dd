"""The nouns of the project: frozen values.

The fields of `Task`, `TasksFile`, `Event` and `Evidence` are those of the written records (`"v": 1`); a Python
keyword carries a trailing underscore here (`pass_`) and none in the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from skillopt_git.ids import edit_id, rule_id

RECORD_VERSION = 1

OpenMap: TypeAlias = dict[str, Any]  # the records' open maps: data, settings, numbers

Split: TypeAlias = Literal["train", "val", "test"]
CheckOp: TypeAlias = Literal[
    "contains",
    "not_contains",
    "regex",
    "no_refusal",
    "tool_called",
    "max_chars",
    "min_chars",
    "section_present",
    "section_contains",
]
CheckRole: TypeAlias = Literal["outcome", "shape"]
CheckPlace: TypeAlias = Literal["code", "command"]
Origin: TypeAlias = Literal["mined", "reviewed", "git", "import"]
Outcome: TypeAlias = Literal["success", "fail", "mixed", "unknown"]
ReplayMode: TypeAlias = Literal["text", "tools", "worktree"]
DocumentKind: TypeAlias = Literal["skill", "memory"]
EditOp: TypeAlias = Literal["add", "replace", "delete"]
Metric: TypeAlias = Literal["hard", "soft", "mixed"]
GateMode: TypeAlias = Literal["evidence", "strict", "off"]
Verdict: TypeAlias = Literal["strong", "suggestive", "inconclusive", "harmful", "invalid", "unverified", "ungated"]
Reason: TypeAlias = Literal[
    "no_sessions",
    "no_tasks",
    "nothing_recurred",
    "no_train",
    "no_heldout",
    "optimizer_failed",
    "no_edits",
    "all_suppressed",
    "gate",
    "budget",
    "improved",
]
REASONS: Mapping[str, str] = {  # in a few words, of a night without a verdict
    "no_sessions": "there was no session to read",
    "no_tasks": "there was no task to learn from",
    "nothing_recurred": "no wish came up often enough",
    "no_train": "every task is held out",
    "no_heldout": "no task is held out",
    "optimizer_failed": "the optimizer gave no usable answer",
    "no_edits": "no rule was needed, or none fitted",
    "all_suppressed": "every rule is proposed already, or held back",
    "gate": "no rule was shown to help",
    "budget": "the budget was spent",
    "improved": "a rule was accepted",
}
EventType: TypeAlias = Literal[
    "run",
    "family",
    "proposed",
    "trial",
    "gate",
    "published",
    "adopted",
    "adopted-modified",
    "rejected",
    "unrejected",
    "superseded",
    "expired",
    "reverted",
    "frozen",
    "aa",
]

GUIDANCE = "SLOW_UPDATE"  # the anchor of an edit that says what a document's guidance is
ACCEPTED: frozenset[Verdict] = frozenset({"strong", "ungated"})
RUN_VERDICTS: tuple[Verdict, ...] = (
    "strong",
    "suggestive",
    "ungated",
    "invalid",
    "harmful",
    "unverified",
    "inconclusive",
)
SHAPE_OPS: frozenset[CheckOp] = frozenset({"max_chars", "min_chars", "section_present", "section_contains"})


def _record_name(name: str) -> str:
    return name.rstrip("_")


# Read by `schema`: unknown fields are refused, keywords lose their underscore.
RECORD = {"extra": "forbid", "alias_generator": _record_name}
# Fields that came later: left out while they say nothing, for older tools refuse unknown ones.
LATER: OpenMap = {"where": None, "personal": False, "group": None, "veto": False, "shape": False}


# --- sessions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing said, redacted. A user's turn is a `prompt`, a slash `command` or a `shell` escape."""

    id: str
    kind: Literal["prompt", "command", "shell", "answer"]
    text: str
    time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation with an agent, normalised. Times are aware, in UTC.

    `original_cwd` is where a worktree session was started from; `headless` marks a run without a person at the
    keyboard (`claude -p`).
    """

    id: str
    source: str
    path: str
    cwd: str | None
    original_cwd: str | None = None
    branch: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    turns: tuple[Turn, ...] = ()
    final: str = ""
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    headless: bool = False

    @property
    def prompts(self) -> tuple[Turn, ...]:
        return tuple(turn for turn in self.turns if turn.kind == "prompt")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A piece that was not read, and why; `count` pieces of one path for one reason."""

    path: str
    reason: str
    count: int = 1


# --- tasks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One machine-checkable criterion. `arg` is text, or a number of characters for `max_chars` and `min_chars`.

    `where` narrows `contains` and `not_contains` to a part of the answer: `code` (fenced blocks and code spans that
    say more than the word itself) or `command` (its first word, in a line of code or a code span with arguments).
    """

    __pydantic_config__ = RECORD
    op: CheckOp
    arg: str | int | None = None
    role: CheckRole | None = None
    where: CheckPlace | None = None

    @property
    def is_shape(self) -> bool:
        return self.role == "shape" or (self.role is None and self.op in SHAPE_OPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """One answer that passes and one that fails, where known."""

    __pydantic_config__ = RECORD
    pass_: str | None = None
    fail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One thing a user asked for, with a way to check an answer.

    A `golden` task vetoes whatever makes it worse; a `personal` one, and what it asks for, never leaves the machine.
    """

    __pydantic_config__ = RECORD
    id: str
    ask: str
    context: str = ""
    needs: tuple[str, ...] = ()
    family: str | None = None
    split: Split | None = None
    checks: tuple[Check, ...] = ()
    rubric: str | None = None
    reference: str | None = None
    examples: Examples = Examples()
    replay: ReplayMode = "text"
    commit: str | None = None
    branch: str | None = None
    skills: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    origin: Origin = "mined"
    external: bool = False
    golden: bool = False
    personal: bool = False
    outcome: Outcome = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One typed turn in which a need was voiced, redacted; private to this machine.

    `turn` names the turn across the files that copied it; `task` is the task whose answer the turn found wrong, None
    for a standing wish that is about no answer. `quote` is the sentence as typed, `rule` its wording as a rule. `need`
    is empty while the turn alone is too little to make a need of. `moved` are the words of the rule that came into the
    next answer, or went out of it.
    """

    __pydantic_config__ = RECORD
    need: str
    rule: str
    quote: str
    turn: str
    session: str
    source: str
    time: datetime | None = None
    task: str | None = None
    moved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """A turn that asks for something once more, and its task, if any: it counts as soon as it is asked again.

    `asks`: it says that something is to be otherwise, `meant` that it clearly is a wish; `coded` are words that came
    into the code of the next answer (with a plus) or went out of it. Two that neither ask nor moved anything are none.
    """

    __pydantic_config__ = RECORD
    sighting: Sighting
    task: Task | None = None
    asks: bool = False
    meant: bool = False
    coded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksFile:
    __pydantic_config__ = RECORD
    v: int
    reviewed: bool
    needs: dict[str, str] = field(default_factory=dict)
    tasks: tuple[Task, ...] = ()


@dataclass(frozen=True, slots=True)
class Need:
    """One wish behind several tasks, as one imperative rule text."""

    id: str
    text: str


# --- documents and edits -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file that may be taught, as it is at the base commit.

    `path` is the repository path that is written (a link's target); `blob` is null and `text` a scaffold (possibly
    empty) where the file does not exist yet.
    """

    path: str
    kind: DocumentKind
    text: str
    blob: str | None
    mode: str = "100644"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The add, replace or delete of one learned line in the document `target`.

    `anchor` is the rule that is replaced or deleted; `text` the rule that is added or put in its place. What is added
    with the anchor `GUIDANCE` is the document's guidance, in the place of any other.
    """

    op: EditOp
    target: str
    anchor: str | None = None
    text: str | None = None
    reason: str = ""
    need: str | None = None

    @property
    def id(self) -> str:
        return edit_id(self.op, self.target, self.anchor, self.text)

    @property
    def guides(self) -> bool:
        return self.op == "add" and self.anchor == GUIDANCE

    @property
    def sentence(self) -> str:
        """The rule this edit is about: what it writes, or for a delete what it removes."""
        return self.text if self.text is not None else self.anchor or ""

    @property
    def rule(self) -> str:
        return rule_id(self.sentence)


# --- measurement -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """`hard` is 0 or 1, `soft` lies in [0, 1]; `notes` says why, without quoting secrets.

    `votes` are those of a judge that was asked several times: whether the answer passed.
    """

    hard: float
    soft: float
    notes: tuple[str, ...] = ()
    votes: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One held-out task under the base and under the candidate; a missing measurement is None."""

    task: str
    family: str | None
    need: str | None
    base: Score | None
    cand: Score | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceTask:
    """One task's rollouts in one night of a trial: 1 passed, 0 failed, None missing.

    `group` tells tasks of different sessions apart, `veto` marks golden ones, `shape` those judged by form only.
    """

    __pydantic_config__ = RECORD
    task: str
    family: str | None
    need: str | None
    part: Literal["primary", "guard"]
    night: str
    base: tuple[int | None, ...]
    cand: tuple[int | None, ...]
    soft: dict[Literal["base", "cand"], tuple[float | None, ...]] | None = None
    group: str | None = None
    veto: bool = False
    shape: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A trial's counts. Stored as canonical JSON and named by its SHA-256."""

    __pydantic_config__ = RECORD
    v: int
    document: str
    base_blob: str | None
    edits: tuple[str, ...]
    rule: Literal["strict", "evidence"]
    settings: OpenMap
    target: str
    optimizer: str
    judge: str
    tasks: tuple[EvidenceTask, ...]
    verdict: Verdict
    numbers: OpenMap


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """The edits for one need in one document, and what the gate found."""

    document: Document
    edits: tuple[Edit, ...]
    verdict: Verdict
    why: str
    trial: str | None = None
    subject: str = ""  # what stays the same over a trial
    pairs: tuple[Pair, ...] = ()
    baseline: float | None = None
    candidate: float | None = None
    evidence: Evidence | None = None
    families: tuple[str, ...] = ()
    continued: bool = False  # its trial began on an earlier night
    drafted: bool = False  # it is on a branch already
    closed: bool = False  # its trial ended without a proof
    parked: bool = False  # it shows no benefit, and its tasks have no pairs left: another task has to come

    @property
    def accepted(self) -> bool:
        return self.verdict in ACCEPTED


# --- the ledger --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of the ledger. `id` is a function of (type, subject, cause): the same thing seen twice is one event."""

    __pydantic_config__ = RECORD
    v: int
    id: str
    ts: str
    type: EventType
    run: str | None = None
    simulated: bool = False
    edit: str | None = None
    rule: str | None = None
    target: str | None = None
    text: str | None = None
    pr: str | None = None
    actor: str | None = None
    reason: str | None = None
    data: OpenMap = field(default_factory=dict)
