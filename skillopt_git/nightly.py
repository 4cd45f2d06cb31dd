"""A whole run: sync, learn, record, publish. Each step may be repeated; the next run finishes a half-finished one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from skillopt_git import __version__, present, render, wiring
from skillopt_git.bank import Bank
from skillopt_git.config import Config, zone
from skillopt_git.cycle import Inputs, ModelDoor, gather, learn
from skillopt_git.decide import adopt
from skillopt_git.errors import SkilloptError
from skillopt_git.history import log
from skillopt_git.model import Event
from skillopt_git.night import Known, Learned, Teachable
from skillopt_git.outcomes import settled
from skillopt_git.placing import outdated, place, settle
from skillopt_git.ports import Listener
from skillopt_git.publish import publish
from skillopt_git.recall import History, Proposal
from skillopt_git.record import Placement, events_of, evidence_of
from skillopt_git.redact import Redactor
from skillopt_git.views import RunView
from skillopt_git.workshop import Workshop, open_workshop
from skillopt_git.worktrees import differs


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is told beyond the settings. `anew`: an explicit look-back beats the checkpoint."""

    dry_run: bool = False
    tasks_file: Path | None = None
    anew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A finished run: what it found, and its records for people and machines."""

    learned: Learned
    view: RunView
    report: str
    record: dict[str, Any]


def run(
    path: Path,
    config: Config,
    options: Options,
    *,
    model: wiring.ModelChoice,
    clock: Callable[[], datetime],
    notify: Listener,
) -> Ran:
    """One night in the repository at `path`, from now on; `clock` tells the time."""
    shop = open_workshop(path, config, now=clock(), simulated=model.simulated)
    door = model.open(shop.private, shop.redact)
    with shop.private.lock() if not options.dry_run else _unlocked():
        return _Run(shop, config, options, door, clock, notify).whole()


def look(path: Path, config: Config, *, anew: bool, now: datetime, notify: Listener) -> Known:
    """What a real run would know before it replays anything. Writes nothing."""
    shop = open_workshop(path, config, now=now)
    inputs = Inputs(
        reading=wiring.reading(config, shop.repo, shop.private, shop.redact, now=now, anew=anew),
        bank=shop.private.bank(),
        files=wiring.shared_tasks(shop.repo, shop.base),
        teachable=Teachable(skill=None, memory=None, general_to_memory=False),
        history=shop.history(),
        night=shop.stamp.run,
    )
    return gather(inputs, config=config, now=now, notify=notify)


@contextmanager
def _unlocked() -> Iterator[None]:
    """A dry run writes nothing that another could meet."""
    yield


@dataclass(frozen=True, slots=True)
class _Run:
    shop: Workshop
    config: Config
    options: Options
    door: ModelDoor
    clock: Callable[[], datetime]
    notify: Listener

    def whole(self) -> Ran:
        taught = wiring.teachable(self.config, self.shop.repo, self.shop.base)
        notes = [*taught.notes, *self._local(taught.teachable)]
        if self.options.dry_run:
            learned = self._learn(self._inputs(taught.teachable, self.shop.history()))
            return self._told(learned, None, (), tuple(notes))
        self.shop.sync()
        notes += self._finish_started()
        history = self.shop.history()
        inputs = self._inputs(taught.teachable, history)
        stale = outdated(self.shop, inputs)
        learned = self._learn(replace(inputs, history=history.without(stale)) if stale else inputs)
        today = self.shop.stamp.now.astimezone(zone(self.config)).date()
        placement = place(self.shop, learned, history, stale, today, notes)
        events = events_of(learned, self.shop.stamp, placement, history.nights + 1)
        self._record(learned, (*events, *settle(self.shop.stamp, learned, placement, history, stale)))
        proposal = self._publish(placement)
        adopted = self._auto_adopt(learned, proposal, notes)
        ran = self._told(learned, proposal, events, tuple(notes), adopted)
        self._keep(ran)
        return ran

    # --- learn ---

    def _inputs(self, teachable: Teachable, history: History) -> Inputs:
        shop, config, options = self.shop, self.config, self.options
        simulated = shop.stamp.simulated
        given = wiring.given_tasks(options.tasks_file, simulated=simulated) if options.tasks_file else None
        reading = None
        if given is None:
            anew = options.anew or simulated
            reading = wiring.reading(config, shop.repo, shop.private, shop.redact, now=shop.stamp.now, anew=anew)
        return Inputs(
            reading=reading,
            bank=shop.private.bank() if given is None else Bank(),
            files=(given,) if given else wiring.shared_tasks(shop.repo, shop.base),
            teachable=teachable,
            history=history,
            night=shop.stamp.run,
        )

    def _learn(self, inputs: Inputs) -> Learned:
        return learn(inputs, config=self.config, door=self.door, now=self.shop.stamp.now, notify=self.notify)

    def _local(self, teachable: Teachable) -> list[str]:
        """A document that differs on this machine is noted: the base's text is what was measured."""
        shop = self.shop
        there = [item for item in (teachable.skill, teachable.memory) if item is not None and item.blob is not None]
        return [
            f"your {item.path} differs from {shop.base.branch}; what was measured is the text on {shop.base.branch}"
            for item in there
            if differs(shop.repo, shop.base.commit, item.path)
        ]

    # --- record ---

    def _record(self, learned: Learned, events: Sequence[Event]) -> None:
        shop = self.shop
        known = learned.known
        message = f"Record run {shop.stamp.run}"
        shop.ledger.append(events, evidence_of(learned), when=shop.stamp.now, message=message)
        if self.options.tasks_file is None:
            shop.private.save("bank.json", known.bank)
        if known.harvest is not None and not shop.stamp.simulated:
            moved = shop.private.checkpoint().moved(known.harvest.read_from)
            shop.private.save("checkpoint.json", moved)

    # --- publish ---

    def _finish_started(self) -> list[str]:
        """A proposal that was recorded and not published (the run broke off) comes first, without learning anew."""
        shop, notes = self.shop, []
        for proposal in shop.history().proposals:
            if not proposal.unfinished or proposal.simulated != shop.stamp.simulated:
                continue
            try:
                publish(shop.repo, shop.ledger, proposal, author=shop.author, stamp=shop.stamp)
                notes.append(f"{proposal.branch} was left unfinished by an earlier run and is finished now")
            except SkilloptError as error:
                gone = [settled("expired", item, shop.stamp, reason=error.message) for item in proposal.pending]
                shop.ledger.append(gone, when=shop.stamp.now, message=f"Give {proposal.branch} up")
                notes.append(
                    f"{proposal.branch} was left unfinished by an earlier run and was given up: {error.message}"
                )
        return notes

    def _publish(self, placement: Placement | None) -> Proposal | None:
        """The open proposal after this run."""
        shop = self.shop
        if placement is not None:
            proposal = shop.history().proposal(placement.branch)
            if proposal is not None:
                publish(shop.repo, shop.ledger, proposal, author=shop.author, stamp=shop.stamp)
        return next(iter(shop.history().open), None)

    def _auto_adopt(self, learned: Learned, proposal: Proposal | None, notes: list[str]) -> str | None:
        """Only when asked for, and only what is measured and strong throughout."""
        if not self.config.propose.auto_adopt or proposal is None or not learned.accepted:
            return None
        verdicts = {item.event.data["verdict"] for item in proposal.pending}
        if proposal.simulated or verdicts != {"strong"}:
            notes.append("not adopted by itself: only a measured proposal whose edits are all strong is")
            return None
        return adopt(self.shop.desk(), proposal).commit

    # --- tell ---

    def _told(
        self,
        learned: Learned,
        proposal: Proposal | None,
        events: Sequence[Event],
        notes: tuple[str, ...],
        adopted: str | None = None,
    ) -> Ran:
        shop = self.shop
        stamp = shop.stamp
        branch, commits = (proposal.branch, self._commits(proposal)) if proposal else (None, ())
        view = present.run_view(
            learned,
            run=stamp.run,
            night=None if stamp.simulated or self.options.dry_run else shop.history().nights,
            started=stamp.ts,
            ended=self.clock().isoformat(timespec="seconds").replace("+00:00", "Z"),
            base=(shop.base.branch, shop.base.commit),
            dry_run=self.options.dry_run,
            proposed=tuple(item for item in events if item.type == "proposed"),
            branch=branch,
            commits=commits,
            notes=(*shop.private.notes, *notes),
            version=__version__,
        )
        project = (shop.repo.root or shop.repo.common_dir).name
        record = present.run_record(view, learned, project=project, adopted_commit=adopted)
        return Ran(learned=learned, view=view, report=render.report(view), record=record)

    def _commits(self, proposal: Proposal) -> tuple[str, ...]:
        return tuple(commit.sha for commit in log(self.shop.repo, proposal.tip or proposal.base, proposal.base))

    def _keep(self, ran: Ran) -> None:
        shop = self.shop
        cleaned = _cleaned(present.diagnostics(ran.learned), shop.redact)
        files = {
            "report.md": shop.redact(ran.report),
            "diagnostics.json": json.dumps(cleaned, ensure_ascii=False, indent=1, allow_nan=False),
        }
        shop.private.report(shop.stamp.run, files)


def _cleaned(value: Any, redact: Redactor) -> Any:
    """Every text of a record, redacted: answers of models may quote what they should not."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _cleaned(item, redact) for key, item in value.items()}
    return [_cleaned(item, redact) for item in value] if isinstance(value, list) else value
