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
from skillopt_git.accounts import cleaned, diagnostics, run_record
from skillopt_git.bank import Bank
from skillopt_git.branches import behind, state
from skillopt_git.charts import Chart, scores_by_night
from skillopt_git.config import Config, zone
from skillopt_git.cycle import Inputs, ModelDoor, gather, learn
from skillopt_git.decide import adopt, tidy
from skillopt_git.errors import GitError, MeasurementInvalid, RefMoved, SkilloptError
from skillopt_git.exchange import Outgoing, fetch, push, unite
from skillopt_git.history import log
from skillopt_git.learned import Known, Learned, Teachable
from skillopt_git.ledger import evidence_name
from skillopt_git.model import Event
from skillopt_git.outcomes import settled
from skillopt_git.pages import report_page
from skillopt_git.placing import contradicted, frozen, hindrance, outdated, place, settle
from skillopt_git.ports import Listener
from skillopt_git.publish import build, finished, publish
from skillopt_git.recall import History, Proposal, recall
from skillopt_git.record import Placement, events_of, evidence_of
from skillopt_git.remote import the_remote
from skillopt_git.reunion import rebuild
from skillopt_git.targets import default_base
from skillopt_git.tasksfile import given_tasks, shared_tasks
from skillopt_git.views import RunView
from skillopt_git.workshop import Workshop, open_workshop
from skillopt_git.worktrees import differs, worktree_folders


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is told beyond the settings. `anew`: an explicit look-back beats the checkpoint; `push_simulated`: a
    simulated proposal may be pushed too."""

    dry_run: bool = False
    tasks_file: Path | None = None
    anew: bool = False
    push_simulated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A finished run: what it found, and its records for people and machines. `page` is None where none was written."""

    learned: Learned
    view: RunView
    report: str
    record: dict[str, Any]
    page: Path | None = None
    unpushed: bool = False

    @property
    def exit_code(self) -> int:
        """A night that could not measure, or push as it was told to, is recorded and told, and is no success."""
        if self.view.verdict == "invalid":
            return MeasurementInvalid.exit_code
        return RefMoved.exit_code if self.unpushed else 0


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


def look(path: Path, config: Config, *, anew: bool, now: datetime, notify: Listener) -> tuple[Known, Sequence[str]]:
    """What a real run would know before it replays anything, and notes. Writes only what spares the next one work."""
    shop = open_workshop(path, config, now=now)
    known = wiring.reader(config)
    inputs = Inputs(
        reading=wiring.reading(config, shop.repo, shop.private, shop.redact, now=now, anew=anew),
        bank=shop.bank(),
        files=shared_tasks(shop.repo, shop.base.commit),
        teachable=Teachable(skill=None, memory=None, general_to_memory=False),
        history=shop.history(),
        night=shop.stamp.run,
        reader=known,
        people=wiring.committers(shop.repo, shop.base, known),
        machine=shop.private.machine(),
    )
    return gather(inputs, config=config, now=now, notify=notify), shop.private.notes


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
        shop = self.shop
        taught = wiring.teachable(self.config, shop.repo, shop.base)
        notes = [*taught.notes, *wiring.unread(self.config), *self._local(taught.teachable)]
        if not self.options.dry_run:
            notes += self._met()
            shop.sync()
            tidy(shop.desk())
            notes += [*shop.catch_up(), *self._finish_started(), *self._passed_over()]
        history = shop.history()
        inputs = self._inputs(taught.teachable, history)
        stale = outdated(shop, inputs)
        learned = self._learn(replace(inputs, history=history.without(stale)) if stale else inputs)
        if self.options.dry_run:
            return self._told(learned, None, next(iter(history.open), None), (), notes)
        now = self._meanwhile()
        still = stale if stale and any(item.branch == stale.branch for item in now.open) else None
        return self._written(learned, now, still, notes)

    def _meanwhile(self) -> History:
        """Memory as it is after learning, which takes its time: a proposal may have been merged or deleted since."""
        shop = replace(self.shop, base=default_base(self.shop.repo, self.config.propose.base))
        shop.sync()
        return shop.history()

    def _written(self, learned: Learned, history: History, stale: Proposal | None, notes: list[str]) -> Ran:
        shop = self.shop
        today = shop.stamp.now.astimezone(zone(self.config)).date()
        placement = place(shop, learned, history, stale, today, notes)
        notes += contradicted(learned, history)
        night = history.nights + 1
        said = events_of(learned, shop.stamp, placement, night)
        events = (*said, *settle(shop.stamp, learned, placement, history, stale), *frozen(shop, history))
        self._foresee(learned, placement, events)
        self._record(learned, events)
        proposal = self._publish(placement)
        if any(candidate.drafted for candidate in learned.candidates):
            notes += [*_promoted(learned), *self._finish_started()]
            proposal = next(iter(self._recalled().open), None)
        proven = placement is not None or any(item.drafted and item.accepted for item in learned.candidates)
        adopted = self._auto_adopt(proposal, notes, proven=proven)
        left = self._pushed()
        notes += left
        ran = self._told(learned, None if shop.stamp.simulated else night, proposal, events, notes, adopted)
        return replace(ran, page=self._keep(ran), unpushed=bool(left))

    # --- other clones ---

    def _met(self) -> list[str]:
        """What other clones recorded comes first. A remote that cannot be reached costs the night nothing."""
        shop = self.shop
        notes = list(unite(shop.repo, shop.ledger, shop.stamp))
        if not self.config.propose.push:
            return notes
        remote = the_remote(shop.repo, self.config.propose.remote or None)
        try:
            fetch(shop.repo, shop.ledger, remote, shop.stamp, bring=True)
        except GitError as error:
            notes.append(f"{remote.name} was not asked what other clones know: {error.message}")
        return notes

    def _pushed(self) -> list[str]:
        """What was not pushed goes with a later night: a remote that refuses costs this one nothing."""
        shop = self.shop
        if not self.config.propose.push:
            return []
        outgoing = Outgoing(author=shop.author, stamp=shop.stamp, new=True, simulated=self.options.push_simulated)
        remote = the_remote(shop.repo, self.config.propose.remote or None)
        try:
            return list(push(shop.repo, shop.ledger, remote, outgoing).notes)
        except GitError as error:
            told = f"{error.message}; {error.hint}" if error.hint else error.message
            return [f"nothing was pushed: {told}; `skillopt-git ledger push` and the next run try again"]

    # --- learn ---

    def _inputs(self, teachable: Teachable, history: History) -> Inputs:
        shop, config, options = self.shop, self.config, self.options
        simulated = shop.stamp.simulated
        given = given_tasks(options.tasks_file, simulated=simulated) if options.tasks_file else None
        reading = None
        if given is None:
            anew = options.anew or simulated
            reading = wiring.reading(config, shop.repo, shop.private, shop.redact, now=shop.stamp.now, anew=anew)
        known = wiring.reader(config)
        return Inputs(
            reading=reading,
            bank=shop.bank() if given is None else Bank(),
            files=(given,) if given else shared_tasks(shop.repo, shop.base.commit, simulated=simulated),
            teachable=teachable,
            history=history,
            night=shop.stamp.run,
            reader=known,
            people=wiring.committers(shop.repo, shop.base, known),
            machine=shop.private.machine(),
            evidence_of=shop.ledger.evidence,
        )

    def _learn(self, inputs: Inputs) -> Learned:
        return learn(inputs, config=self.config, door=self.door, now=self.shop.stamp.now, notify=self.notify)

    def _local(self, teachable: Teachable) -> list[str]:
        """A document that differs on this machine is noted: the base's text is what is measured."""
        shop = self.shop
        there = [item for item in (teachable.skill, teachable.memory) if item is not None]
        return [
            f"your {item.path} is not on {shop.base.branch}, and what it says was not measured: commit it first"
            if item.blob is None
            else f"your {item.path} differs from the one on {shop.base.branch}, which is what was measured"
            for item in there
            if differs(shop.repo, shop.base.commit, item.path)
        ]

    # --- record ---

    def _foresee(self, learned: Learned, placement: Placement | None, events: Sequence[Event]) -> None:
        """Builds what is to be published before anything is recorded: a secret or a missing key stops the run here."""
        if placement is not None:
            new = {evidence_name(item): item for item in evidence_of(learned)}
            history = self._recalled(events)
            built = build(
                self.shop.repo,
                lambda name: new.get(name) or self.shop.ledger.evidence(name),
                _named(history, placement.branch),
                self.shop.author,
                scanner=self.shop.ledger.scanner,
            )
            finished(self.shop.repo, built, self.shop.author, None)

    def _record(self, learned: Learned, events: Sequence[Event]) -> None:
        shop = self.shop
        known = learned.known
        message = f"Record run {shop.stamp.run}"
        shop.ledger.append(events, evidence_of(learned), when=shop.stamp.now, message=message)
        if self.options.tasks_file is None:
            shop.private.save("bank.json", known.bank)
        if known.harvest is not None and not shop.stamp.simulated:
            trees = map(str, worktree_folders(shop.repo))
            shop.private.save("checkpoint.json", shop.private.checkpoint().moved(known.harvest.windows, trees))

    # --- publish ---

    def _finish_started(self) -> list[str]:
        """What an earlier run recorded and did not publish (it broke off) comes first, without learning anew."""
        shop = self.shop
        history = shop.history()
        notes = []
        for proposal in history.proposals:
            if proposal.simulated != shop.stamp.simulated:
                continue
            if proposal.unfinished:
                notes.append(self._finished(history, proposal))
            elif proposal.open and behind(proposal) and state(shop.repo, proposal) == "free":
                rebuild(shop.repo, shop.ledger, proposal, author=shop.author, stamp=shop.stamp)
                notes.append(f"{proposal.branch} was rebuilt with just the edits that are still open")
        return notes

    def _finished(self, history: History, proposal: Proposal) -> str:
        shop = self.shop
        why = hindrance(shop, history, proposal)
        if why is None:
            publish(shop.repo, shop.ledger, proposal, author=shop.author, stamp=shop.stamp)
            return f"{proposal.branch} was left unfinished by an earlier run and is finished now"
        gone = [settled("expired", item, shop.stamp, reason=why) for item in proposal.pending]
        shop.ledger.append(gone, when=shop.stamp.now, message=f"Give {proposal.branch} up")
        return f"{proposal.branch} was left unfinished by an earlier run and was given up: {why}"

    def _publish(self, placement: Placement | None) -> Proposal | None:
        """The open proposal after this run."""
        shop = self.shop
        if placement is not None:
            proposal = _named(self._recalled(), placement.branch)
            publish(shop.repo, shop.ledger, proposal, author=shop.author, stamp=shop.stamp)
        return next(iter(self._recalled().open), None)

    def _passed_over(self) -> Iterator[str]:
        damaged = self.shop.ledger.contents().damaged
        if damaged:
            lines = "1 damaged line" if damaged == 1 else f"{damaged} damaged lines"
            yield f"{lines} in {self.shop.ledger.ref} passed over: what stood there does not count"

    def _recalled(self, events: Sequence[Event] = ()) -> History:
        """As it is recorded, with these events too."""
        return recall((*self.shop.ledger.events(), *events), simulated=self.shop.stamp.simulated)

    def _auto_adopt(self, proposal: Proposal | None, notes: list[str], *, proven: bool) -> str | None:
        """Only when asked for, on a night that proved something, and what is measured and strong throughout."""
        if self.config.propose.auto_adopt and self.shop.stamp.simulated:
            notes.append("not adopted by itself: a simulation never is")
            return None
        if not self.config.propose.auto_adopt or proposal is None or not proven:
            return None
        verdicts = {item.verdict for item in proposal.pending}
        if proposal.simulated or verdicts != {"strong"}:
            notes.append("not adopted by itself: only a measured proposal whose edits are all strong is")
            return None
        try:
            return adopt(self.shop.desk(), proposal).commit
        except SkilloptError as error:  # the night is recorded; what stands in the way is its owner's
            notes.append(f"not adopted by itself: {error.message}")
            return None

    # --- tell ---

    def _told(
        self,
        learned: Learned,
        night: int | None,
        proposal: Proposal | None,
        events: Sequence[Event],
        notes: Sequence[str],
        adopted: str | None = None,
    ) -> Ran:
        shop = self.shop
        branch, commits = (proposal.branch, self._commits(proposal)) if proposal else (None, ())
        view = present.run_view(
            learned,
            run=shop.stamp.run,
            night=night,
            started=shop.stamp.ts,
            ended=replace(shop.stamp, now=self.clock()).ts,
            base=(shop.base.branch, shop.base.commit),
            dry_run=self.options.dry_run,
            proposed=tuple(item for item in events if item.type == "proposed"),
            branch=branch,
            commits=commits,
            notes=(*shop.private.notes, *notes),
            version=__version__,
            controls=self._recalled(events).controls,
        )
        project = (shop.repo.root or shop.repo.common_dir).name
        record = run_record(view, learned, project=project, adopted_commit=adopted)
        report = shop.redact(render.report(view))
        return Ran(learned=learned, view=view, report=report, record=cleaned(record, shop.redact))

    def _commits(self, proposal: Proposal) -> tuple[str, ...]:
        """Oldest first; none where this clone does not have them."""
        base, tip = present.base_of(proposal), proposal.tip or ""
        known = self.shop.repo.resolve(base) and self.shop.repo.resolve(tip)
        return tuple(commit.sha for commit in log(self.shop.repo, tip, base)) if known else ()

    def _keep(self, ran: Ran) -> Path:
        """Writes the run's reports; returns where the page with charts is."""
        shop = self.shop
        detail = cleaned(diagnostics(ran.learned), shop.redact)
        files = {
            "report.md": ran.report,
            "report.html": report_page(ran.view, self._scores(), shop.redact),
            "diagnostics.json": json.dumps(detail, ensure_ascii=False, indent=1, allow_nan=False),
        }
        return shop.private.report(shop.stamp.run, files) / "report.html"

    def _scores(self) -> Chart | None:
        """Those of real nights; what a simulation came to stands beside no measurement, nor the other way round."""
        return None if self.shop.stamp.simulated else scores_by_night(self._recalled().runs)


def _promoted(learned: Learned) -> Iterator[str]:
    for candidate in learned.candidates:
        if candidate.drafted:
            rules = " and ".join(f"'{edit.sentence}'" for edit in candidate.edits)
            yield f"{rules} was measured further, and is {candidate.verdict}: {candidate.why}"


def _named(history: History, branch: str) -> Proposal:
    return next(item for item in history.proposals if item.branch == branch)
