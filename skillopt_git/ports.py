"""The seams: what the stages ask of the outside, and the events they tell a listener."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from skillopt_git.model import Score, Session, Skipped, Task, Verdict
from skillopt_git.transcripts import Entry, Home, Span, Transcript

Role: TypeAlias = Literal["target", "optimizer"]
Purpose: TypeAlias = Literal["rollout", "reflect", "judge", "mine", "merge", "dream", "guide", "probe"]
FailureKind: TypeAlias = Literal[
    "auth", "quota", "rate", "network", "timeout", "refused", "truncated", "empty", "schema", "budget", "process"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model.

    `documents` are (path, text) pairs the model works under. `sample` is "" or "<trial>/<pair>": a gate rollout
    always carries one, so that a cached answer never counts as new evidence. `schema` is a JSON schema, as canonical
    JSON, that the answer has to follow, "" for free text: a door tells its model where it can, and whoever asked
    checks the answer all the same.
    """

    role: Role
    purpose: Purpose
    ask: str
    documents: tuple[tuple[str, str], ...] = ()
    context: str = ""
    tools: tuple[str, ...] = ()
    max_tokens: int = 1024
    sample: str = ""
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call used. `input_tokens` are all that were sent; of these `cached_tokens` were read from the provider's
    prompt cache and `written_tokens` put into it. `cost_usd` is None where no price is known. `batched`: it was sent in
    a batch, at the price of one."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    cached_tokens: int = 0
    written_tokens: int = 0
    batched: bool = False


NOTHING = Usage(cost_usd=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """`tools` are the names of the tools that were called, in order."""

    text: str
    tools: tuple[str, ...] = ()
    usage: Usage = Usage()
    model: str = ""


@dataclass(frozen=True, slots=True)
class CallFailed:
    """A call that gave no answer: a value, never an empty string and never a zero. `usage` is what its attempts are
    known to have used all the same, `NOTHING` where no model worked for them, `Usage()` where one did
    and nobody knows how much; None where nobody said."""

    kind: FailureKind
    message: str
    retryable: bool = False
    usage: Usage | None = None


class Redaction(Protocol):
    """Takes the secrets out of a name; `text` takes out of a text what is personal, too."""

    def __call__(self, text: str) -> str: ...
    def text(self, text: str) -> str: ...


class SessionSource(Protocol):
    """Reads one agent's transcripts; writes nothing and follows no link out of its root.

    In steps, so that what did not change since the last night, or is too old, need not be read: `transcripts` finds
    them and opens none; `glance` looks at the end of one, for the times there, and gives None where it has to be read
    to tell; `read` reads it, and raises nothing whatever it holds.
    """

    @property
    def name(self) -> str: ...
    @property
    def home(self) -> str: ...
    def transcripts(self) -> Iterable[Transcript | Skipped]: ...
    def glance(self, transcript: Transcript) -> Span | None: ...
    def read(self, transcript: Transcript) -> Iterable[Session | Skipped]: ...


class HarvestIndex(Protocol):
    """What earlier harvests found in each home, by transcript's path. A memory only: it may be lost at any time."""

    def recall(self, home: Home) -> Mapping[str, Entry]: ...
    def keep(self, home: Home, entries: Mapping[str, Entry]) -> None: ...


class Backend(Protocol):
    """A model door. Results come in input order; a failed call is a value.

    A trial is one under the same `settings`; `knows` is what else its answers depend on, and no trial does: a
    simulation's world, which grows with every night. Empty for a model.
    """

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def deterministic(self) -> bool: ...
    @property
    def simulated(self) -> bool: ...
    @property
    def settings(self) -> Mapping[str, str | int | float | bool]: ...
    @property
    def knows(self) -> str: ...
    def complete(self, requests: Sequence[Request]) -> Sequence[Reply | CallFailed]: ...


class Judge(Protocol):
    """Says how good answers are."""

    @property
    def name(self) -> str: ...
    @property
    def deterministic(self) -> bool: ...
    def score(
        self, answers: Sequence[tuple[Task, Reply]], samples: Sequence[str] = (), tonight: str = ""
    ) -> Sequence[Score | CallFailed]:
        """`samples` are those that the answers were given in, none where they had none: a ruling counts for no other,
        whatever they say. `tonight` begins the samples of what is asked anew each night."""
        ...


# --- the forge ---------------------------------------------------------------------------------------------------

PullState: TypeAlias = Literal["open", "closed", "merged"]
ForgeEventKind: TypeAlias = Literal[
    "closed", "reopened", "merged", "commented", "reviewed", "labeled", "unlabeled", "head_deleted", "base_deleted"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who did something on the forge. `writes`: whether they may write to the repository; None where nobody can say."""

    login: str
    bot: bool = False
    writes: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request as the forge has it. `head` is a branch's name without an owner; times are ISO 8601 in UTC.

    `approved`: somebody's newest review approves it. `ours`: the account that asks opened it, from a branch of this
    repository.
    """

    number: int
    url: str
    state: PullState
    draft: bool
    title: str
    body: str
    head: str
    head_sha: str
    base: str
    author: Actor
    ours: bool
    labels: frozenset[str] = frozenset()
    approved: bool = False
    created: str = ""
    closed: str | None = None
    merged: str | None = None
    merge_commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeEvent:
    """What somebody did to a pull request. `id` is the forge's own and never changes; `text` is a comment, or a label's
    name, as it was typed: data."""

    id: str
    kind: ForgeEventKind
    actor: Actor
    ts: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullDraft:
    """A pull request that is to be made."""

    title: str
    body: str
    head: str
    base: str
    draft: bool


class Forge(Protocol):
    """Where proposals are reviewed. Whatever it refuses is raised as `ForgeError`; trying again is always safe: what
    is there already is found, and never made twice."""

    @property
    def name(self) -> str: ...
    def default_branch(self) -> str: ...
    def public(self) -> bool: ...
    def find(self, prefix: str) -> Sequence[PullRequest]:
        """Those of branches of this repository whose name begins with `prefix`, in any state, the newest first."""
        ...

    def get(self, number: int) -> PullRequest: ...
    def create(self, asked: PullDraft) -> PullRequest: ...
    def update(self, number: int, *, title: str | None = None, body: str | None = None) -> PullRequest: ...
    def set_ready(self, number: int, *, ready: bool) -> bool:
        """Whether it is now as wanted; a plan without drafts, or a token that may not, leaves it as it was."""
        ...

    def label(self, number: int, names: Sequence[str]) -> None: ...
    def unlabel(self, number: int, name: str) -> None: ...
    def ask_review(self, number: int, reviewers: Sequence[str]) -> None: ...
    def comment(self, number: int, topic: str, text: str) -> None:
        """One comment a topic, ever: written once, changed where it says something else, else left alone."""
        ...

    def close(self, number: int) -> None: ...
    def events(self, number: int) -> Sequence[ForgeEvent]:
        """In the order in which they happened."""
        ...

    def merge(self, number: int, *, sha: str) -> str:
        """The merge commit. Raises `ForgeError` where the head is another one than `sha`."""
        ...

    def open_issue(self, title: str, body: str, label: str) -> str:
        """The address of the one open issue with that title and label: found, changed, or made."""
        ...


# --- events ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scanned:
    """`done` of `total` transcripts were looked at."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Harvested:
    sessions: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Mined:
    tasks: int
    needs: int


@dataclass(frozen=True, slots=True)
class Asking:
    """`done` of `total` calls that were asked for at once have ended."""

    purpose: Purpose
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """For `what`, which may take hours."""

    what: str


@dataclass(frozen=True, slots=True)
class Called:
    """`done` counts those that `failed`, too."""

    purpose: Purpose
    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class Reflected:
    document: str
    need: str  # in words
    edits: int


@dataclass(frozen=True, slots=True)
class Gated:
    document: str
    rule: str
    verdict: Verdict


LearningEvent: TypeAlias = Scanned | Harvested | Mined | Asking | Waiting | Called | Reflected | Gated
Listener: TypeAlias = Callable[[LearningEvent], None]
