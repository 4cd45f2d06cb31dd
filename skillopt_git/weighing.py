"""The gate `evidence`: what the pairs of a trial prove, and what they do not. Pure; it decides for runs, for `simulate`
and for `verify` alike.

Benefit is tested on the *primary* tasks, those of the candidate's own need, harm on them and on a *guard* of others. A
guard of this size finds large harm only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from skillopt_git.config import Gate
from skillopt_git.model import OpenMap, Verdict
from skillopt_git.stats import Arms, discordant, e_value, estimate, fisher_p, stratified_p, unseen_regressions

FIRST_PAIRS = 2  # of each task; where they show no gain nothing more is spent
SUSPECT_OF = 5  # pairs on which a task is suspected to have got worse: it passed 4 and passes 2 at most
_PASSED, _PASSES = 0.8, 0.4
CONFIRMED_P = 0.05  # of Fisher's test on twice as many
BENEFIT = frozenset[Verdict]({"strong", "suggestive"})  # a benefit is in sight: only then is harm looked for
CLOSED_FROM = 4  # the night from which a trial that speaks against its candidate is closed


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One task's pairs over all nights of a trial: 1 passed, 0 failed, None missing. Both arms have as many.

    `group` tells tasks of different sessions apart. `veto`: a golden task. `shape`: judged by the form of answers only.
    """

    task: str
    base: tuple[int | None, ...]
    cand: tuple[int | None, ...]
    group: str | None = None
    veto: bool = False
    shape: bool = False

    @property
    def arms(self) -> Arms | None:
        """The passes in each arm; None where one has no measurement."""
        return _arms(self.base, self.cand)

    @property
    def differing(self) -> tuple[int, int]:
        """(up, all) of the pairs that differ and were measured in both arms."""
        return _differing(self.base, self.cand)


@cache  # here and below: asked for by each figure of a trial, and by a simulation of thousands
def _arms(base: tuple[int | None, ...], cand: tuple[int | None, ...]) -> Arms | None:
    base_told = [passed for passed in base if passed is not None]
    cand_told = [passed for passed in cand if passed is not None]
    return Arms(sum(base_told), len(base_told), sum(cand_told), len(cand_told)) if base_told and cand_told else None


@cache
def _differing(base: tuple[int | None, ...], cand: tuple[int | None, ...]) -> tuple[int, int]:
    both = zip(base, cand, strict=True)
    return discordant((bool(one), bool(other)) for one, other in both if one is not None and other is not None)


@cache
def _told(arm: tuple[int | None, ...]) -> int:
    return sum(passed is not None for passed in arm)


@dataclass(frozen=True, slots=True)
class Weighed:
    """The verdict, why, and the figures behind it. `closed`: a trial that ends here though nothing was proven."""

    verdict: Verdict
    why: str
    numbers: OpenMap
    closed: bool = False


def weigh(primary: Sequence[Measured], guard: Sequence[Measured] = (), *, gate: Gate, nights: int = 1) -> Weighed:
    """What a trial of `nights` nights proves. `guard` are the other held-out tasks, golden ones among them."""
    if not primary:
        return Weighed("unverified", "no held-out task needs this rule yet", {})
    flaw = uncovered([*primary, *guard])
    if flaw:
        return Weighed("invalid", flaw, {})
    found = _Found.of(primary, guard)
    numbers = found.numbers()
    harm = found.harm(gate)
    if harm:
        return Weighed("harmful", harm, numbers)
    lacking = found.lacking(gate)
    if not lacking:
        return Weighed("strong", f"e = {found.e:.3g} on {_tasks(len(primary))}", numbers)
    closed = nights >= CLOSED_FROM and found.e < 1
    if not closed and (found.p <= gate.suggestive_p or found.e >= gate.suggestive_e):
        return Weighed("suggestive", f"not strong: {'; '.join(lacking)}", numbers)
    why = f"no benefit shown: e = {found.e:.3g}, p = {found.p:.2g}" + (
        ", and closed after four nights" if closed else ""
    )
    return Weighed("inconclusive", why, numbers, closed)


def futile(primary: Sequence[Measured]) -> bool:
    """Whether the first pairs show no gain at all, so that more are not worth their price."""
    return sum(arms.change for item in primary if (arms := item.arms) is not None) <= 0


def suspects(tasks: Iterable[Measured]) -> tuple[Measured, ...]:
    """Tasks that seem to have got worse, to be measured again before anybody says so."""
    return tuple(item for item in tasks if (arms := item.arms) is not None and _suspect(arms))


def _suspect(arms: Arms) -> bool:
    enough = min(arms.base_of, arms.cand_of) >= SUSPECT_OF
    return enough and arms.base >= _PASSED * arms.base_of and arms.cand <= _PASSES * arms.cand_of


def confirmed(tasks: Iterable[Measured]) -> tuple[Measured, ...]:
    """Tasks that got worse beyond doubt: suspected, measured as often again, and still so."""
    return tuple(
        item
        for item in tasks
        if (arms := item.arms) is not None
        and min(arms.base_of, arms.cand_of) >= 2 * SUSPECT_OF
        and fisher_p(arms) <= CONFIRMED_P
    )


def uncovered(tasks: Sequence[Measured]) -> str | None:
    """Too much is missing: under 80 % measured in an arm, or more than 10 points between the arms."""
    count = sum(len(item.base) for item in tasks)
    base = sum(_told(item.base) for item in tasks)
    cand = sum(_told(item.cand) for item in tasks)
    if count == 0 or 10 * min(base, cand) < 8 * count or 10 * abs(base - cand) > count:
        return (
            f"of {count} rollouts an arm, {base} were measured under the base and {cand} under the candidate: too few"
        )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The figures of a trial, before anything is decided."""

    primary: tuple[Measured, ...]
    guard: tuple[Measured, ...]
    arms: tuple[Arms, ...]  # of the primary tasks
    risen: tuple[Measured, ...]
    fallen: tuple[Measured, ...]
    up: int
    discordant: int
    e: float
    p: float
    guard_up: int
    guard_discordant: int
    worse: tuple[Measured, ...]

    @classmethod
    def of(cls, primary: Sequence[Measured], guard: Sequence[Measured]) -> _Found:
        up, differing = _differ(primary)
        guard_up, guard_differing = _differ(guard)
        known = [(item, its) for item in primary if (its := item.arms) is not None]
        arms = tuple(its for _, its in known)
        return cls(
            primary=tuple(primary),
            guard=tuple(guard),
            arms=arms,
            risen=tuple(item for item, its in known if its.change > 0),
            fallen=tuple(item for item, its in known if its.change < 0),
            up=up,
            discordant=differing,
            e=e_value(up, differing),
            p=stratified_p(arms),
            guard_up=guard_up,
            guard_discordant=guard_differing,
            worse=confirmed((*primary, *guard)),
        )

    @property
    def gain(self) -> float:
        return sum(item.change for item in self.arms) / len(self.arms)

    def harm(self, gate: Gate) -> str | None:
        vetoes = [item.task for item in self.worse if item.veto]
        if vetoes:
            return f"the golden task{'s' if len(vetoes) > 1 else ''} {', '.join(vetoes)} got worse"
        for what, up, differing in (
            ("the tasks that need it", self.up, self.discordant),
            ("other tasks", self.guard_up, self.guard_discordant),
        ):
            down = e_value(differing - up, differing)
            if down >= gate.harmful_e:
                return f"{what} got worse: {differing - up} of {differing} pairs that differ, e = {down:.3g}"
        if self.e <= gate.closing_e:
            return f"e = {self.e:.2g}: the pairs speak against it"
        return None

    def lacking(self, gate: Gate) -> list[str]:
        """What a strong verdict still needs."""
        risen = self.risen
        groups = {item.group for item in risen}
        lacks = {
            f"e = {self.e:.3g}, below {gate.strong_e:g}": self.e < gate.strong_e,
            f"{_tasks(len(risen))} got better, of {gate.strong_tasks} needed": len(risen) < gate.strong_tasks,
            f"they come from one session, of {gate.strong_tasks} needed": len(groups) < min(2, gate.strong_tasks),
            "as many tasks got worse as better": len(risen) <= len(self.fallen),
            f"a gain of {self.gain * 100:.0f} points, below {gate.least_gain * 100:.0f}": self.gain < gate.least_gain,
            f"got worse: {', '.join(item.task for item in self.worse)}": bool(self.worse),
            "its tasks are judged by the form of answers only": all(item.shape for item in self.primary),
        }
        return [what for what, lack in lacks.items() if lack]

    def numbers(self) -> OpenMap:
        """For the record: in shares of 1."""
        told = estimate(self.arms)
        return {
            "e": self.e,
            "e_down": e_value(self.discordant - self.up, self.discordant),
            "e_guard_down": e_value(self.guard_discordant - self.guard_up, self.guard_discordant),
            "p": self.p,
            "pairs_up": self.up,
            "pairs_discordant": self.discordant,
            "tasks": len(self.primary),
            "tasks_up": len(self.risen),
            "tasks_down": len(self.fallen),
            "guard_tasks": len(self.guard),
            "guard_reach": unseen_regressions(len(self.guard)),
            "base_passes": sum(item.base for item in self.arms),
            "base_rollouts": sum(item.base_of for item in self.arms),
            "cand_passes": sum(item.cand for item in self.arms),
            "cand_rollouts": sum(item.cand_of for item in self.arms),
            "gain": told.seen,
            "gain_shrunk": told.shrunk,
            "gain_low": told.low,
            "gain_high": told.high,
        }


def _differ(tasks: Sequence[Measured]) -> tuple[int, int]:
    """(up, all) over the tasks."""
    each = [item.differing for item in tasks]
    return sum([up for up, _ in each]), sum([differing for _, differing in each])


def _tasks(count: int) -> str:
    return f"{count} held-out task{'' if count == 1 else 's'}"
