"""A night's learning, from sessions to verdicts: the file to read first.

    harvest -> mine -> replay -> consolidate (reflect, edit) -> gate

Computes and decides; writes nothing. What is read comes in as `Inputs`, what is to be recorded goes out as `Learned`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from skillopt_git.bank import Admitted, Bank, admit, merge, shareable, withheld
from skillopt_git.config import Config
from skillopt_git.doors import lasting
from skillopt_git.errors import BackendError, BudgetSpent
from skillopt_git.harvest import Harvest, Headless, harvest
from skillopt_git.judges import judgeable, shape_only
from skillopt_git.languages import Reader
from skillopt_git.languages import reader as usual_reader
from skillopt_git.learned import Known, Learned, Models, Teachable
from skillopt_git.mine import mine
from skillopt_git.model import Document, Evidence, Need, Reason, Session, Sighting, Task, TasksFile
from skillopt_git.modelmine import ModelReader, Told
from skillopt_git.night import Night
from skillopt_git.ports import Harvested, HarvestIndex, Listener, Mined, Redaction, SessionSource
from skillopt_git.recall import History
from skillopt_git.recurrence import elsewhere, recurring, replacement, tally, waiting
from skillopt_git.replay import dead
from skillopt_git.scope import Scope
from skillopt_git.transcripts import NO_FOLDER
from skillopt_git.used import bare, used_skills
from skillopt_git.window import Window

ModelDoor = Callable[[Sequence[Task], Mapping[str, str]], Models]  # the tasks and needs known tonight
Asks = Callable[[Sequence[Session], Iterable[str]], Told]  # sessions, and wishes heard before
FILTER_WORDS = 2  # words of a skill that a task must share to count as that skill's
FILTER_REACH = 3  # times mine.max_tasks that are looked at when filtering
SMALL_WORDS = frozenset(
    "about after also always before does each every from have here into make more must need never only other please "
    "should some than that their them then there these they this those what when where which with your".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Which sessions are read, and through what. `asked`: the sources that somebody named, or whose home they did."""

    sources: tuple[SessionSource, ...]
    scope: Scope
    window: Callable[[SessionSource], Window]
    index: HarvestIndex
    redact: Redaction
    headless: Headless
    limit: int
    asked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a night starts from. `reading` is None when no sessions are to be looked for.

    `reader` knows in which words people wish for something, `people` whose names are no part of a rule; `machine` is
    what the ledger calls this one. `only_reviewed`: no model may see a task or a wish that nobody reviewed.
    """

    reading: Reading | None
    bank: Bank
    files: tuple[TasksFile, ...]
    teachable: Teachable
    history: History
    night: str
    reader: Reader = field(default_factory=usual_reader)
    people: frozenset[str] = frozenset()
    machine: str = ""
    only_reviewed: bool = False
    by_model: bool = False
    evidence_of: Callable[[str], Evidence | None] = lambda _: None


def learn(inputs: Inputs, *, config: Config, door: ModelDoor, now: datetime, notify: Listener) -> Learned:
    """One night: read, mine, replay, reflect, try and decide, the skill first and then the memory."""
    asks = _asking(inputs, door, notify) if inputs.by_model else None
    known = gather(inputs, config=config, now=now, notify=notify, asks=asks)
    models = door(known.tasks, known.needs)
    least, replaced = config.mine.min_sessions, known.bank.replaced
    every = recurring(known.needs, known.counts, min_sessions=least, replaced=replaced)
    needs = [need for need in every if need.id not in known.unsaid]
    tasks, notes = usable(known, models.skipped, config, inputs.teachable.skill)
    notes = (*notes, *_kept_here(known), *_replaced(known, inputs.bank), *_unsaid(len(every) - len(needs)))
    notes = (*notes, *_absent(known.harvest, inputs.reading), *known.told.notes, *models.notes)
    learned = Learned(
        reason="nothing_recurred",
        known=known,
        models=models,
        waiting=waiting(known.needs, known.counts, known.bank.hints, min_sessions=least, replaced=replaced),
        notes=notes,
        failures=known.told.failures,
        metric=config.gate.metric,
        mode=config.gate.mode,
        quoted=config.propose.quotes,
    )
    early = _nothing_to_learn(known, needs)
    if early is not None:
        return replace(learned, reason=early)
    try:
        if not known.told.asked:
            _refuse_dead(models, inputs.night)
    except BudgetSpent as spent:
        return replace(learned, reason="budget", notes=(*notes, f"nothing was asked of a model: {spent.message}"))
    night = Night(
        inputs.teachable,
        inputs.history,
        inputs.night,
        known,
        config,
        models,
        tasks,
        notify,
        inputs.reader,
        inputs.evidence_of,
        now,
        used_skills(known.tasks, inputs.teachable.home_of, _paths(inputs.teachable)),
    )
    return night.learned(learned, needs)


def _paths(teachable: Teachable) -> frozenset[str]:
    """Of the documents that every task is answered under."""
    return frozenset(item.path for item in (teachable.skill, teachable.memory) if item is not None)


def _asking(inputs: Inputs, door: ModelDoor, notify: Listener) -> Asks:
    """The optimizer as a reader of sessions. It is opened, and asked whether it is there, only for some to read."""

    def asks(sessions: Sequence[Session], known: Iterable[str]) -> Told:
        models = door((), {})
        try:
            _refuse_dead(models, inputs.night)
        except BackendError as error:
            if error.kind != "budget":
                raise
            return Told(unread=frozenset(range(len(sessions))))
        return ModelReader(
            optimizer=models.optimizer,
            prompts=models.prompts,
            night=inputs.night,
            tonight=lasting(inputs.history.nights),
            reader=inputs.reader,
            people=inputs.people,
            notify=notify,
        ).read(sessions, known)

    return asks


def _refuse_dead(models: Models, night: str) -> None:
    """Raises `BackendError` where a model cannot answer at all, before anything is spent. Each run asks anew: that it
    answered another one says nothing."""
    failure = models.health(f"{night}/probe")
    if failure is not None:
        raise dead(failure)


def gather(inputs: Inputs, *, config: Config, now: datetime, notify: Listener, asks: Asks | None = None) -> Known:
    """The sessions read, and every task known tonight with its family and split. What is personal stays in the bank.

    `asks` is a model that reads the sessions, too.
    """
    read = _read(inputs.reading, now, notify)
    bank = inputs.bank
    told = Told()
    if asks is not None and read is not None:
        told, read = _by_model(asks, read, bank, {**inputs.history.worded, **_needs_of(inputs.files)})
    mined = mine(
        read.sessions if read else (),
        needs={**inputs.history.worded, **_needs(inputs)},
        sightings=bank.sightings,
        hints=bank.hints,
        replaced=bank.replaced,
        tasks=bank.tasks,
        reader=inputs.reader,
        people=inputs.people,
        further=told.remarks,
        guards=told.guards,
    )
    private = merge(bank, mined)
    open_ = shareable(private)
    every = _with_files(open_, private, inputs.files)
    admitted = admit(
        every, families=inputs.history.families, mine=config.mine, machine=inputs.machine, words=inputs.reader
    )
    known = _known(read, private, admitted, inputs)
    notify(Mined(len(known.tasks), len(known.needs)))
    return replace(known, personal=len(private.tasks) - len(open_.tasks), told=told)


def _by_model(asks: Asks, read: Harvest, bank: Bank, others: Mapping[str, str]) -> tuple[Told, Harvest]:
    """What a model finds in the sessions, but for those in which something personal was said. Those that the budget
    left are read again another night. Wishes heard elsewhere are told it as well: in other words they would be new."""
    open_ = shareable(bank)
    personal = withheld(bank)
    tasks = {task.id for task in open_.tasks}
    hidden = {name for task in bank.tasks if task.id not in tasks for name in task.sessions}
    hidden |= {item.session for item in bank.sightings if item.need in personal}
    places = [place for place, session in enumerate(read.sessions) if session.id not in hidden]
    heard = [text for need, text in {**others, **open_.needs}.items() if need not in personal]
    told = asks([read.sessions[place] for place in places], heard) if places else Told()
    return told, read.leaving({places[at] for at in told.unread})


def _needs(inputs: Inputs) -> dict[str, str]:
    """Every known need. What people reviewed words it before what was mined."""
    return {**inputs.bank.needs, **_needs_of(inputs.files)}


def _needs_of(files: Iterable[TasksFile]) -> dict[str, str]:
    return {need: text for file in files for need, text in file.needs.items()}


def _with_files(bank: Bank, private: Bank, files: Sequence[TasksFile]) -> Bank:
    """With the tasks that people share. Of one that is here too, ours counts; one that was put out here does not."""
    ours = {task.id for task in private.tasks} | set(private.dropped)
    shared = tuple(task for file in files for task in file.tasks if task.id not in ours)
    return replace(bank, tasks=(*bank.tasks, *shared), needs={**bank.needs, **_needs_of(files)})


def _known(read: Harvest | None, private: Bank, admitted: Admitted, inputs: Inputs) -> Known:
    tasks, needs = admitted.bank.tasks, admitted.bank.needs
    placed = {task.id: task for task in tasks}
    sightings = _counting(admitted.bank)
    told = elsewhere(
        inputs.history.families.values(), {*placed, *private.dropped, *(task.id for task in private.tasks)}
    )
    counts = tally(tasks, sightings, told, machine=inputs.machine)
    heard = {*counts, *_needs_of(inputs.files)}
    ours = {need for task in private.tasks for need in task.needs} | {item.need for item in private.sightings}
    worded = {**private.needs, **needs}
    reviewed = _needs_of(file for file in inputs.files if file.reviewed) if inputs.only_reviewed else {}
    return Known(
        harvest=read,
        bank=replace(
            private,
            tasks=tuple(placed.get(task.id, task) for task in private.tasks),
            needs={need: text for need, text in worded.items() if need in ours},
        ),
        families=admitted.families,
        tasks=tasks,
        needs={need: reviewed.get(need, text) for need, text in needs.items() if need in heard},
        counts=counts,
        machine=inputs.machine,
        withheld=_withheld(tasks, inputs),
        unsaid=frozenset(heard - reviewed.keys()) if inputs.only_reviewed else frozenset(),
    )


def _withheld(tasks: Sequence[Task], inputs: Inputs) -> frozenset[str]:
    if not inputs.only_reviewed:
        return frozenset()
    reviewed = {task.id: task for file in inputs.files if file.reviewed for task in file.tasks}
    return frozenset(task.id for task in tasks if not _as_reviewed(task, reviewed.get(task.id)))


def _as_reviewed(task: Task, reviewed: Task | None) -> bool:
    """Whether this task's words are those that were reviewed: of one that is known here too, ours count."""
    words = ("ask", "context", "rubric", "reference", "checks")
    return reviewed is not None and all(getattr(task, name) == getattr(reviewed, name) for name in words)


def _counting(bank: Bank) -> tuple[Sighting, ...]:
    """The sightings without those about a task that a person put out."""
    return tuple(item for item in bank.sightings if item.task is None or item.task not in bank.dropped)


def _read(reading: Reading | None, now: datetime, notify: Listener) -> Harvest | None:
    if reading is None:
        return None
    read = harvest(
        reading.sources,
        scope=reading.scope,
        window=reading.window,
        now=now,
        redact=reading.redact,
        headless=reading.headless,
        limit=reading.limit,
        index=reading.index,
        notify=notify,
    )
    notify(Harvested(len(read.sessions), sum(item.count for item in read.skipped)))
    return read


def _absent(read: Harvest | None, reading: Reading | None) -> tuple[str, ...]:
    """An agent's folder that is not there is no error, but whoever mistyped it has to see it.

    Most people use one agent of several: the others' folders are missed only where there is nothing else.
    """
    if read is None or reading is None:
        return ()
    nothing = not any(tally.found for tally in read.tallies)
    missed = [tally.home for tally in read.tallies if nothing or tally.source in reading.asked]
    gone = (item.path for item in read.skipped if item.reason == NO_FOLDER)
    return tuple(f"there is no folder {path}" for path in gone if {path, *map(str, Path(path).parents)} & {*missed})


def _kept_here(known: Known) -> tuple[str, ...]:
    if not known.personal:
        return ()
    what = "is personal and stays here" if known.personal == 1 else "are personal and stay here"
    return (_counted(known.personal, what),)


def _unsaid(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    many = "1 wish" if count == 1 else f"{count} wishes"
    return (f"{many} left out: in no reviewed tasks file, and replay.send lets nothing else go to a model",)


def _replaced(known: Known, before: Bank) -> tuple[str, ...]:
    """The wishes that tonight's sessions took back."""
    replaced = known.bank.replaced
    return tuple(
        replacement(need, replaced, known.needs, known.counts)
        for need, later in sorted(replaced.items())
        if before.replaced.get(need) != later and {need, later} <= known.needs.keys()
    )


def _nothing_to_learn(known: Known, needs: Sequence[Need]) -> Reason | None:
    if not known.tasks:
        return "no_sessions" if known.harvest is not None and not known.harvest.sessions else "no_tasks"
    return None if needs else "nothing_recurred"


def usable(
    known: Known, skipped: Mapping[str, str], config: Config, skill: Document | None
) -> tuple[tuple[Task, ...], tuple[str, ...]]:
    """The tasks to replay, those of the most frequent needs first, and notes on those left out or weakly judged."""
    hindered = {task.id: _hindrance(task, skipped, known) for task in known.tasks}
    fit = [task for task in known.tasks if hindered[task.id] is None]
    fit.sort(key=lambda task: -max(map(known.sessions, task.needs), default=0))
    cap = config.mine.max_tasks
    looked_at = chosen = fit
    if config.mine.target_task_filter and skill is not None:
        looked_at = fit[: FILTER_REACH * cap]
        chosen = [task for task in looked_at if _of_skill(task, skill)]
    left = Counter(why for why in hindered.values() if why is not None)
    left["left out: not about the target skill"] = len(looked_at) - len(chosen)
    left["over mine.max_tasks, not replayed"] = len(fit) - len(looked_at) + len(chosen[cap:])
    left["judged by shape alone (lengths, headings): a gain on them says little"] = sum(map(shape_only, chosen[:cap]))
    return tuple(chosen[:cap]), tuple(sorted(_counted(count, why) for why, count in left.items() if count))


def _hindrance(task: Task, skipped: Mapping[str, str], known: Known) -> str | None:
    """Why a task cannot be replayed."""
    if task.id in known.withheld:
        return "left out: not reviewed, and replay.send lets nothing else go to a model"
    if any(need in known.bank.replaced for need in task.needs):
        return "left out: a later wish replaced what was asked for then"
    if not judgeable(task):
        return "left out: nothing to check an answer by"
    if task.id in skipped:
        return f"left out: {skipped[task.id]}"
    return None if task.split else "left out: near asks that are trained on and others that are held out"


def _counted(count: int, what: str) -> str:
    return f"{count} task{'s' if count != 1 else ''} {what}"


def _of_skill(task: Task, skill: Document) -> bool:
    """Whether the task used the skill or shares its words."""
    name = PurePosixPath(skill.path).parent.name
    if any(bare(used) == name for used in task.skills):
        return True
    return len(_words(task.ask) & _words(skill.text)) >= FILTER_WORDS


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{4,}", text.casefold())) - SMALL_WORDS
