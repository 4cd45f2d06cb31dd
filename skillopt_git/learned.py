"""What a night starts from and what it finds, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skillopt_git.bank import Bank
from skillopt_git.controls import Control
from skillopt_git.doors import probe
from skillopt_git.families import Family
from skillopt_git.harvest import Harvest
from skillopt_git.model import RUN_VERDICTS, Candidate, Document, Edit, GateMode, Metric, Reason, Task, Verdict
from skillopt_git.modelmine import Told
from skillopt_git.ports import Backend, CallFailed, Judge, Role
from skillopt_git.prompts import SHIPPED, Prompts
from skillopt_git.purse import Purse, Used
from skillopt_git.recurrence import Seen
from skillopt_git.reflection import Reflection
from skillopt_git.replay import Rollout
from skillopt_git.used import HomeOf, nowhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The two model roles, the judge, and the tasks they cannot take on (task id to reason). `settle` tells them that
    what was learned is recorded; `purse` is what both are paid from; a simulation has none. `notes` are for who reads
    of the night."""

    target: Backend
    optimizer: Backend
    judge: Judge
    prompts: Prompts = SHIPPED
    skipped: Mapping[str, str] = field(default_factory=dict)
    settle: Callable[[], None] = lambda: None
    purse: Purse | None = None
    notes: tuple[str, ...] = ()

    @property
    def used(self) -> Used:
        """What their calls took so far; unknown where nobody counts."""
        return self.purse.used if self.purse is not None else Used(tokens=None, usd=None)

    def health(self, sample: str) -> CallFailed | None:
        """Why one of them cannot answer at all; None where both can. Each is asked once a sample."""
        roles: dict[int, tuple[Backend, Role]] = {id(self.optimizer): (self.optimizer, "optimizer")}
        roles[id(self.target)] = (self.target, "target")
        asked = (probe(backend, role, sample) for backend, role in roles.values() if not backend.simulated)
        return next((failure for failure in asked if failure is not None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Teachable:
    """The documents that may be taught tonight. `general_to_memory`: wishes about every task go to the memory first;
    `home_of` tells where a skill that sessions used is written."""

    skill: Document | None
    memory: Document | None
    general_to_memory: bool
    home_of: HomeOf = nowhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known tonight before anything is replayed. `harvest` is None when no sessions were looked for.

    `bank` is what of it is private to this machine. It alone holds what is `personal`, of which this is the number.
    `told` is what a model found in the sessions.
    """

    harvest: Harvest | None
    bank: Bank
    families: tuple[Family, ...]  # what of them no ledger holds yet
    tasks: tuple[Task, ...]
    needs: Mapping[str, str]
    counts: Mapping[str, Seen] = field(default_factory=dict)  # by need
    machine: str = ""  # what the ledger calls this one
    personal: int = 0
    withheld: frozenset[str] = frozenset()  # tasks that no model may see, by id
    unsaid: frozenset[str] = frozenset()  # needs that no model may hear of
    told: Told = Told()

    def sessions(self, need: str | None) -> int:
        """In how many sessions a need came up."""
        seen = self.counts.get(need or "")
        return seen.sessions if seen is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What a night found. A mean that was not measured is None."""

    reason: Reason
    known: Known
    models: Models
    replayed: tuple[Task, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    unmatched: tuple[tuple[Edit, str], ...] = ()
    suppressed: tuple[tuple[Edit, str], ...] = ()
    linted: tuple[tuple[Edit, str], ...] = ()
    waiting: tuple[Seen, ...] = ()  # what was not seen often enough yet
    reflections: tuple[Reflection, ...] = ()
    rollouts: tuple[Rollout, ...] = ()
    failures: tuple[CallFailed, ...] = ()
    controls: tuple[Control, ...] = ()
    unfinished: frozenset[str] = frozenset()  # needs that the budget left for another night
    postponed: frozenset[str] = frozenset()  # needs with a rule whose turn comes on another night
    baseline: float | None = None
    candidate: float | None = None
    notes: tuple[str, ...] = ()
    metric: Metric = "mixed"
    mode: GateMode = "evidence"  # of the gate, by the settings
    quoted: bool = False  # whether what was typed may be published with a rule

    @property
    def verdict(self) -> Verdict | None:
        """The run's verdict: the first of the ranking that a candidate has."""
        held = {candidate.verdict for candidate in self.candidates}
        return next((verdict for verdict in RUN_VERDICTS if verdict in held), None)

    @property
    def accepted(self) -> tuple[Candidate, ...]:
        return tuple(item for item in self.candidates if item.accepted)
