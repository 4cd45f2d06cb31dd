"""A night's learning, from sessions to verdicts: the file to read first.

    harvest -> mine -> replay -> consolidate (reflect, edit) -> gate

Computes and decides; writes nothing. What is read comes in as `Inputs`, what is to be recorded goes out as `Learned`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from skillopt_git.bank import Bank, admit, merge
from skillopt_git.config import Config
from skillopt_git.harvest import Harvest, Headless, harvest
from skillopt_git.judges import judgeable, shape_only
from skillopt_git.learned import Known, Learned, Models, Teachable
from skillopt_git.mine import mine, recurring, sessions_of
from skillopt_git.model import Document, Need, Reason, Task, TasksFile
from skillopt_git.night import Night
from skillopt_git.ports import Harvested, HarvestIndex, Listener, Mined, Redaction, SessionSource
from skillopt_git.recall import History
from skillopt_git.scope import Scope
from skillopt_git.transcripts import NO_FOLDER
from skillopt_git.window import Window

ModelDoor = Callable[[Sequence[Task], Mapping[str, str]], Models]  # the tasks and needs known tonight
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
    """What a night starts from. `reading` is None when no sessions are to be looked for."""

    reading: Reading | None
    bank: Bank
    files: tuple[TasksFile, ...]
    teachable: Teachable
    history: History
    night: str


def learn(inputs: Inputs, *, config: Config, door: ModelDoor, now: datetime, notify: Listener) -> Learned:
    """One night: read, mine, replay, reflect, try and decide, the skill first and then the memory."""
    known = gather(inputs, config=config, now=now, notify=notify)
    models = door(known.tasks, known.needs)
    needs = recurring(known.needs, known.tasks, min_sessions=config.mine.min_sessions)
    tasks, notes = usable(known, models, config, inputs.teachable.skill)
    notes = (*notes, *_absent(known.harvest, inputs.reading))
    learned = Learned(
        reason="nothing_recurred",
        known=known,
        models=models,
        waiting=_waiting(known, needs),
        notes=notes,
        metric=config.gate.metric,
    )
    early = _nothing_to_learn(known, needs)
    if early is not None:
        return replace(learned, reason=early)
    night = Night(inputs.teachable, inputs.history, inputs.night, known, config, models, tasks, notify)
    return night.learned(learned, needs)


def gather(inputs: Inputs, *, config: Config, now: datetime, notify: Listener) -> Known:
    """The sessions read, and every task known tonight with its family and split."""
    read = _read(inputs.reading, now, notify)
    mined = mine(read.sessions if read else (), needs=_needs(inputs), turns=inputs.bank.turns)
    private = merge(inputs.bank, mined)
    mine_ids = {task.id for task in private.tasks}
    shared = tuple(task for file in inputs.files for task in file.tasks if task.id not in mine_ids)
    every = replace(private, tasks=(*private.tasks, *shared), needs={**private.needs, **_needs(inputs)})
    admitted = admit(every, families=inputs.history.families, mine=config.mine)
    own = tuple(task for task in admitted.bank.tasks if task.id in mine_ids)
    used = {need for task in own for need in task.needs}
    needs = dict(admitted.bank.needs)
    notify(Mined(len(admitted.bank.tasks), len(needs)))
    return Known(
        harvest=read,
        bank=replace(private, tasks=own, needs={need: text for need, text in needs.items() if need in used}),
        families=admitted.families,
        tasks=admitted.bank.tasks,
        needs=needs,
    )


def _needs(inputs: Inputs) -> dict[str, str]:
    """Every known need. What people reviewed words it before what was mined."""
    return {**inputs.bank.needs, **{need: text for file in inputs.files for need, text in file.needs.items()}}


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


def _nothing_to_learn(known: Known, needs: Sequence[Need]) -> Reason | None:
    if not known.tasks:
        return "no_sessions" if known.harvest is not None and not known.harvest.sessions else "no_tasks"
    return None if needs else "nothing_recurred"


def usable(
    known: Known, models: Models, config: Config, skill: Document | None
) -> tuple[tuple[Task, ...], tuple[str, ...]]:
    """The tasks to replay, those of the most frequent needs first, and notes on those left out or weakly judged."""
    often = {need: len(sessions_of(need, known.tasks)) for need in known.needs}
    hindered = {task.id: _hindrance(task, models) for task in known.tasks}
    fit = [task for task in known.tasks if hindered[task.id] is None]
    fit.sort(key=lambda task: -max((often.get(need, 0) for need in task.needs), default=0))
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


def _hindrance(task: Task, models: Models) -> str | None:
    """Why a task cannot be replayed."""
    if not judgeable(task):
        return "left out: nothing to check an answer by"
    if task.id in models.skipped:
        return f"left out: {models.skipped[task.id]}"
    return None if task.split else "left out: near asks that are trained on and others that are held out"


def _counted(count: int, what: str) -> str:
    return f"{count} task{'s' if count != 1 else ''} {what}"


def _of_skill(task: Task, skill: Document) -> bool:
    """Whether the task used the skill or shares its words."""
    name = PurePosixPath(skill.path).parent.name
    if any(used == name or used.endswith(f":{name}") for used in task.skills):
        return True
    return len(_words(task.ask) & _words(skill.text)) >= FILTER_WORDS


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{4,}", text.casefold())) - SMALL_WORDS


def _waiting(known: Known, recurrent: Sequence[Need]) -> tuple[tuple[Need, int], ...]:
    often = {need.id for need in recurrent}
    counted = ((Need(need, text), len(sessions_of(need, known.tasks))) for need, text in sorted(known.needs.items()))
    return tuple((need, count) for need, count in counted if need.id not in often and count)
