"""A whole run: sync, learn, record, publish. Each step may be repeated; the next run finishes a half-finished one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from skillopt_git import __version__, present, prices, render, roles, wiring
from skillopt_git.accounts import cleaned, diagnostics, run_record
from skillopt_git.bank import Bank
from skillopt_git.bundle import bundle_of, bundle_text
from skillopt_git.charts import Chart, scores_by_night
from skillopt_git.config import Config, zone
from skillopt_git.cycle import Inputs, ModelDoor, gather, learn
from skillopt_git.decide import tidy
from skillopt_git.errors import ForgeError, GitError, MeasurementInvalid, UsageError
from skillopt_git.exchange import unite
from skillopt_git.finishing import Finishing, promoted
from skillopt_git.history import log
from skillopt_git.learned import Known, Learned, Teachable
from skillopt_git.model import Document, Event
from skillopt_git.outside import Outside, bring
from skillopt_git.pages import report_page
from skillopt_git.pausing import noted
from skillopt_git.placing import contradicted, frozen, outdated, place, settle
from skillopt_git.ports import Forge, Listener
from skillopt_git.prompts import Prompts
from skillopt_git.pulls import Told
from skillopt_git.recall import History, Proposal
from skillopt_git.record import Placement, events_of, evidence_of
from skillopt_git.remote import the_remote
from skillopt_git.reviewing import Review
from skillopt_git.targets import default_base
from skillopt_git.tasksfile import given_tasks, shared_tasks
from skillopt_git.views import RunView
from skillopt_git.whole import write
from skillopt_git.workshop import Workshop, open_workshop
from skillopt_git.worktrees import differs, worktree_folders


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is told beyond the settings. `anew`: an explicit look-back beats the checkpoint; `push_simulated`: a
    simulated proposal may be pushed too; `pr`: what is proposed becomes a pull request; `bundle`: what is
    found goes into this file, and is recorded nowhere else."""

    dry_run: bool = False
    tasks_file: Path | None = None
    anew: bool = False
    push_simulated: bool = False
    pr: bool = False
    bundle: Path | None = None

    @property
    def records(self) -> bool:
        """Whether anything is written that another run could meet."""
        return not self.dry_run and self.bundle is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A finished run: what it found, and its records for people and machines. `page` is None where none was written."""

    learned: Learned
    view: RunView
    report: str
    record: dict[str, Any]
    page: Path | None = None
    code: int = 0  # of what the other side refused
    told: Told | None = None

    @property
    def summary(self) -> str:
        """A few lines with nothing in them that was typed."""
        return render.summary(self.view, self.told.url if self.told else None)

    @property
    def exit_code(self) -> int:
        """A night that could not measure, or push as it was told to, is recorded and told, and is no success."""
        if self.view.verdict == "invalid":
            return MeasurementInvalid.exit_code
        return self.code


def run(
    path: Path,
    config: Config,
    options: Options,
    *,
    model: roles.ModelChoice,
    clock: Callable[[], datetime],
    notify: Listener,
) -> Ran:
    """One night in the repository at `path`, from now on; `clock` tells the time."""
    shop = open_workshop(path, config, now=clock(), simulated=model.simulated)
    door = model.open(shop.private, shop.redact, wiring.prompts(shop.repo, shop.base), notify)
    with shop.private.lock() if options.records else _unlocked():
        review = _review(shop, config, options)
        shop = review.at_base(shop) if review is not None and options.pr else shop
        return _Run(shop, config, options, door, clock, notify, model, review).whole()


def _review(shop: Workshop, config: Config, options: Options) -> Review | None:
    """The other side, where the run is to speak with it."""
    if not options.records or not (options.pr or config.propose.push):
        return None
    remote = the_remote(shop.repo, config.propose.remote or None)
    forge = wiring.forge(config, shop.repo) if options.pr else _quietly(config, shop)
    review = Review(config=config, remote=remote, forge=forge, simulated=options.push_simulated, tells=options.pr)
    if options.pr:
        review.refuse_public(shop)
    return review


def _quietly(config: Config, shop: Workshop) -> Forge | None:
    """Who pushes without a pull request should still hear that one was closed, where that can be asked."""
    try:
        return wiring.forge(config, shop.repo)
    except (UsageError, ForgeError):
        return None


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


def start(
    shop: Workshop, config: Config, options: Options, *, model: roles.ModelChoice, prompts: Prompts, notify: Listener
) -> Inputs:
    """What a run would start from. Nothing is asked of a model, and nothing is recorded."""
    door = model.open(shop.private, shop.redact, prompts, notify)
    run = _Run(shop, config, options, door, lambda: shop.stamp.now, notify, model)
    return run.inputs(wiring.teachable(config, shop.repo, shop.base).teachable, shop.history())


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
    model: roles.ModelChoice
    review: Review | None = None

    @property
    def finish(self) -> Finishing:
        return Finishing(self.shop, self.config)

    def whole(self) -> Ran:
        shop = self.shop
        taught = wiring.teachable(self.config, shop.repo, shop.base)
        everywhere = [item for item in (taught.teachable.skill, taught.teachable.memory) if item is not None]
        notes = [*taught.notes, *wiring.unread(self.config), *self._local(everywhere)]
        if self.options.records:
            notes += self._met()
            shop.sync()
            tidy(shop.desk())
            notes += [*shop.catch_up(), *self.finish.started(self._approved), *self._passed_over()]
        history = shop.history()
        inputs = self.inputs(taught.teachable, history)
        stale = outdated(shop, inputs, self._approved)
        learned = self._learn(replace(inputs, history=history.without(stale)) if stale else inputs)
        tried = {item.document.path: item.document for item in learned.candidates}
        notes += self._local([item for item in tried.values() if item not in everywhere])
        if self.options.dry_run:
            return self._told(learned, None, next(iter(history.open), None), (), notes)
        if self.options.bundle is not None:
            return self._bundled(learned, history, stale, notes, self.options.bundle)
        now = self._meanwhile()
        still = stale if stale and any(item.branch == stale.branch for item in now.open) else None
        return self._written(learned, now, still, notes)

    def _meanwhile(self) -> History:
        """Memory as it is after learning, which takes its time: a proposal may have been merged or deleted since."""
        if self.review is not None and self.options.pr:
            try:
                shop = self.review.at_base(self.shop)
                self.review.hear(shop)
            except (GitError, ForgeError):  # what was learned is recorded all the same; the push will tell
                return self.shop.history()
            return shop.history()
        shop = replace(self.shop, base=default_base(self.shop.repo, self.config.propose.base))
        shop.sync()
        return shop.history()

    def _said(
        self, learned: Learned, history: History, stale: Proposal | None, notes: list[str]
    ) -> tuple[Placement | None, tuple[Event, ...]]:
        """Where the night's edits go, and all it has to record. Foreseen: whatever would stop it stops it here."""
        shop = self.shop
        today = shop.stamp.now.astimezone(zone(self.config)).date()
        placement = place(shop, learned, history, stale, today, notes, self._approved)
        notes += contradicted(learned, history)
        said = events_of(learned, shop.stamp, placement, history.nights + 1)
        said = noted(said, self.review.found(shop) if self.review is not None else None)
        ended = settle(shop.stamp, learned, placement, history, stale)
        events = (*said, *ended, *frozen(shop, history, self._approved))
        self.finish.foresee(placement, events, evidence_of(learned))
        return placement, events

    def _bundled(self, learned: Learned, history: History, stale: Proposal | None, notes: list[str], path: Path) -> Ran:
        """The night as a file, for whoever may record and propose it."""
        shop = self.shop
        placement, events = self._said(learned, history, stale, notes)
        ran = self._told(learned, None if shop.stamp.simulated else history.nights + 1, None, events, notes)
        bundle = bundle_of(learned, events, shop.base, shop.stamp, render.summary(ran.view, None))
        text = bundle_text(bundle)
        shop.ledger.scanner.refuse({str(path): text})
        write(path, text.encode())
        learned.models.settle()
        return replace(ran, record=ran.record | {"branch": placement.branch if placement else None})

    def _written(self, learned: Learned, history: History, stale: Proposal | None, notes: list[str]) -> Ran:
        shop, night = self.shop, history.nights + 1
        placement, events = self._said(learned, history, stale, notes)
        self._record(learned, events)
        proposal = self.finish.publish(placement)
        if any(candidate.drafted for candidate in learned.candidates):
            notes += [*promoted(learned), *self.finish.started(self._approved)]
            proposal = next(iter(self.finish.recalled().open), None)
        proven = placement is not None or any(item.drafted and item.accepted for item in learned.candidates)
        adopted = self.finish.auto_adopt(proposal, notes, proven=proven)
        outside = bring(shop, self.review, learned, night, proposal) if self.review else Outside()
        notes += outside.notes
        ran = self._told(learned, None if shop.stamp.simulated else night, proposal, events, notes, adopted)
        ran = replace(ran, record=ran.record | {"pull_request": outside.pull_request})
        return replace(ran, page=self._keep(ran), code=outside.code, told=outside.told)

    # --- other clones ---

    def _met(self) -> list[str]:
        """What other clones recorded comes first. A remote that cannot be reached costs the night nothing, unless it
        is to end in a pull request."""
        shop = self.shop
        notes = list(unite(shop.repo, shop.ledger, shop.stamp))
        if self.review is None:
            return notes
        try:
            self.review.meet(shop)
            self.review.refuse_paused()
            if not shop.stamp.simulated:  # a simulation costs nobody anything
                self.review.refuse_unread(shop)
        except (GitError, ForgeError) as error:
            if self.options.pr:
                raise
            notes.append(f"{self.review.remote.name} was not asked what other clones know: {error.message}")
        return notes

    @property
    def _approved(self) -> frozenset[str]:
        return self.review.approved(self.shop) if self.review is not None else frozenset()

    # --- learn ---

    def inputs(self, teachable: Teachable, history: History) -> Inputs:
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
            only_reviewed=self.model.only_reviewed,
            by_model=self.model.by_model,
            evidence_of=shop.ledger.evidence,
        )

    def _learn(self, inputs: Inputs) -> Learned:
        return learn(inputs, config=self.config, door=self.door, now=self.shop.stamp.now, notify=self.notify)

    def _local(self, documents: Sequence[Document]) -> list[str]:
        """A document that differs on this machine is noted: the base's text is what is measured."""
        shop = self.shop
        return [
            f"your {item.path} is not on {shop.base.branch}, and what it says was not measured: commit it first"
            if item.blob is None
            else f"your {item.path} differs from the one on {shop.base.branch}, which is what was measured"
            for item in documents
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
            trees = map(str, worktree_folders(shop.repo))
            shop.private.save("checkpoint.json", shop.private.checkpoint().moved(known.harvest.windows, trees))
        learned.models.settle()

    def _passed_over(self) -> Iterator[str]:
        damaged = self.shop.ledger.contents().damaged
        if damaged:
            lines = "1 damaged line" if damaged == 1 else f"{damaged} damaged lines"
            yield f"{lines} in {self.shop.ledger.ref} passed over: what stood there does not count"

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
            controls=self.finish.recalled(events).controls,
            prices=prices.source(shop.stamp.now.date()) if learned.models.used.usd else "",
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
        return None if self.shop.stamp.simulated else scores_by_night(self.finish.recalled().runs)
