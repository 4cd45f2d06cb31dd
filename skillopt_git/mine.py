"""Sessions to tasks: what people had to say again, as needs with the tasks that were answered wrongly.

A task is what was asked before an answer that somebody remarked on; its needs are the wishes of the remarks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from skillopt_git.checks import check
from skillopt_git.imperatives import Wish, consistent, placed, wish_of
from skillopt_git.judges import score_checks
from skillopt_git.languages import Reader
from skillopt_git.model import Check, Examples, Hint, Outcome, Session, Sighting, Task
from skillopt_git.needs import Register, Said, kept
from skillopt_git.ports import Reply
from skillopt_git.remarks import Remark, lines_of, told
from skillopt_git.sameness import opposed
from skillopt_git.wishes import Voice

MOST_HINTS = 5_000  # that wait; of more, the latest


@dataclass(frozen=True, slots=True, kw_only=True)
class Mined:
    """Tasks with the needs they show. All but `tasks` tell what was known before, too.

    `replaced` gives for a need the later one that contradicts it.
    """

    tasks: tuple[Task, ...] = ()
    needs: Mapping[str, str]
    sightings: tuple[Sighting, ...] = ()
    hints: tuple[Hint, ...] = ()
    replaced: Mapping[str, str]


def mine(
    sessions: Sequence[Session],
    *,
    needs: Mapping[str, str],
    sightings: Sequence[Sighting] = (),
    hints: Sequence[Hint] = (),
    replaced: Mapping[str, str] | None = None,
    tasks: Iterable[Task] = (),
    reader: Reader,
    people: frozenset[str] = frozenset(),
    further: Sequence[Remark] = (),
    guards: Mapping[str, Task] | None = None,
) -> Mined:
    """The tasks of `sessions`, beside what earlier nights left: `needs` (id to rule text), sightings, hints, tasks.

    `people` are names, folded, that no rule may hold. `further` are remarks that somebody else found in the sessions,
    which count where no clear wish is heard in the same turn; `guards` are tasks without a wish, by the turn
    that asked.
    """
    book = _Book(Register(reader, dict(needs), dict(replaced or {})), sightings, hints)
    read = [(session, lines_of(session, reader, people)) for session in sorted(sessions, key=_order)]
    clear: set[str] = set()
    for session, lines in read:
        for remark in book.unseen(told(session, lines, frozenset())):
            book.hear(remark)
            clear.update(remark.turn for voice in remark.voices if not voice.faint)
    more = [remark for remark in book.unseen(further) if remark.turn not in clear]
    for remark in more:
        book.hear(remark)
    sighted = book.sighted
    for session, lines in read:
        for remark in book.unseen(told(session, lines, sighted)):
            book.place(remark)
    for remark in more:
        book.place(remark)
    known = {task.id: task for task in tasks}
    free = (task for turn, task in (guards or {}).items() if turn not in sighted)
    return book.mined(known, [task for task in free if task.id not in known or not known[task.id].needs])


def wordings(sightings: Iterable[Sighting]) -> dict[str, dict[str, str]]:
    """Each need's wording in each task that asked for it."""
    found: dict[str, dict[str, str]] = {}
    for item in sightings:
        if item.task is not None:
            found.setdefault(item.need, {}).setdefault(item.task, item.rule)
    return found


def _order(session: Session) -> tuple[str, str, str]:
    started = session.started.isoformat() if session.started else ""
    ended = session.ended.isoformat() if session.ended else ""
    return started, ended, session.id


# --- from remarks to needs and tasks -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """One remark about a task, with the need of each of its wishes."""

    remark: Remark
    wishes: tuple[tuple[str, Wish], ...]


class _Book:
    """What is found while remarks are read in the order in which they were made, twice.

    First each wish finds its need; then it is known which turns ask for something new, and so what each is about.
    """

    def __init__(self, register: Register, sightings: Sequence[Sighting], hints: Sequence[Hint]) -> None:
        self._register = register
        self._needs = {(item.turn, item.rule): item.need for item in sightings}
        self._sightings = {(item.turn, item.need): item for item in sightings}
        self._hints = {
            Said(item.sighting.turn, item.sighting.session, _wish(register, item), item.meant, item.task is None): item
            for item in hints
        }
        self._faint: dict[tuple[str, str], Said] = {}
        self._claimed: list[tuple[Hint, str]] = []
        self._parts: dict[str, list[_Part]] = {}
        self._waiting: dict[Said, tuple[Remark, Voice]] = {}
        self._placed: set[tuple[str, str]] = set()  # turns and needs
        self._seen = {item.turn: item.session for item in (*sightings, *(hint.sighting for hint in hints))}
        for item in sightings:
            register.heard(item.need, item.rule, item.moved)
            register.voiced(item.need, item.time)
        for said in self._hints:
            register.hinted(said)
            self._faint[said.turn, said.wish.text] = said

    @property
    def sighted(self) -> frozenset[str]:
        return frozenset(turn for turn, _ in self._needs)

    def unseen(self, remarks_: Iterable[Remark]) -> Iterator[Remark]:
        """Each remark once: of copies (forks, resumed files) the first in time stands."""
        for remark in remarks_:
            if self._seen.setdefault(remark.turn, remark.session.id) == remark.session.id:
                yield remark

    # --- first: which need each wish is ---

    def hear(self, remark: Remark) -> None:
        for voice in remark.voices:
            key = (remark.turn, voice.wish.text)
            if key not in self._needs and key not in self._faint:
                self._hear(remark, voice)

    def _hear(self, remark: Remark, voice: Voice) -> None:
        said = Said(remark.turn, remark.session.id, voice.wish, voice.meant, remark.ask is None)
        need = self._need(said, voice)
        if need is None:
            self._faint[said.turn, said.wish.text] = said
            return
        if not voice.faint:
            self._register.replaces(need, voice.wish, _time(remark))
        self._needs[remark.turn, voice.wish.text] = need
        for other in tuple(self._register.claimed(need)):
            self._needs[other.turn, other.wish.text] = need
            self._faint.pop((other.turn, other.wish.text), None)
            if other in self._hints:
                self._claimed.append((self._hints.pop(other), need))

    def _need(self, said: Said, voice: Voice) -> str | None:
        if not voice.faint:
            return self._register.firm(voice.wish)
        return self._register.alone(said) if voice.meant else self._register.faint(said)

    # --- then: what each is about ---

    def place(self, remark: Remark) -> None:
        needed = []
        for voice in remark.voices:
            key = (remark.turn, voice.wish.text)
            if key in self._needs:
                needed.append((self._needs[key], voice.wish))
                self._sight(remark, voice, self._needs[key])
            elif key in self._faint and (remark.task is not None or voice.meant):
                self._waiting.setdefault(self._faint[key], (remark, voice))
        if needed and remark.task is not None:
            self._parts.setdefault(remark.task, []).append(_Part(remark, tuple(needed)))

    def _sight(self, remark: Remark, voice: Voice, need: str) -> None:
        self._placed.add((remark.turn, need))
        self._sightings.setdefault((remark.turn, need), _sighting(remark, voice, need))

    def mined(self, known: Mapping[str, Task], guards: Iterable[Task] = ()) -> Mined:
        register = self._register
        tasks = {name: _task(parts, register) for name, parts in self._parts.items()}
        unread = {(item.task, item.need) for key, item in self._sightings.items() if key not in self._placed}
        tasks = {task.id: task for task in guards} | {
            name: self._by_all(task, known.get(name), unread) for name, task in tasks.items()
        }
        for hint, need in self._claimed:
            self._sightings.setdefault((hint.sighting.turn, need), replace(hint.sighting, need=need))
            if hint.task is None:
                continue
            task = tasks.get(hint.task.id) or known.get(hint.task.id, hint.task)
            tasks[task.id] = _with_need(task, need, register, hint.task.examples)
        waiting = [self._hint(said, tasks) for said in register.waiting if said in self._hints or said in self._waiting]
        return Mined(
            tasks=tuple(tasks.values()),
            needs=register.needs,
            sightings=tuple(self._sightings.values()),
            hints=tuple(waiting[-MOST_HINTS:]),
            replaced=kept(register.replaced, register.needs),
        )

    def _by_all(self, task: Task, before: Task | None, unread: Collection[tuple[str | None, str]]) -> Task:
        """What a model told of a task on an earlier night stands where tonight only rules read its session.

        `unread` are tasks and needs by sightings that nobody told of tonight.
        """
        if before is None or not any((task.id, need) in unread for need in set(before.needs) - set(task.needs)):
            return task
        for need in task.needs:
            before = _with_need(before, need, self._register, task.examples)
        return before

    def _hint(self, said: Said, tasks: Mapping[str, Task]) -> Hint:
        if said in self._hints:
            return self._hints[said]
        remark, voice = self._waiting[said]
        own = None if remark.task is None else _bare_task(remark)
        return Hint(
            sighting=_sighting(remark, voice, ""),
            task=own and tasks.get(own.id, own),
            asks=voice.wish.asks,
            meant=voice.meant,
            coded=tuple(sorted(voice.wish.coded)),
        )


def _wish(register: Register, hint: Hint) -> Wish:
    wish = wish_of(hint.sighting.rule, register.reader.grammars)
    return replace(wish, asks=hint.asks, moved=frozenset(hint.sighting.moved), coded=frozenset(hint.coded))


def _time(remark: Remark) -> datetime | None:
    return remark.said.time or remark.session.started


def _sighting(remark: Remark, voice: Voice, need: str) -> Sighting:
    return Sighting(
        need=need,
        rule=voice.wish.text,
        quote=voice.quote,
        turn=remark.turn,
        session=remark.session.id,
        source=remark.session.source,
        time=_time(remark),
        task=remark.task,
        moved=tuple(sorted(voice.wish.moved)),
    )


# --- tasks -------------------------------------------------------------------------------------------------------


def _bare_task(remark: Remark) -> Task:
    """The task a remark is about, before anything is known of what it needs."""
    if remark.ask is None or remark.task is None:
        raise ValueError("the remark is about no answer")
    return Task(
        id=remark.task,
        ask=remark.ask.text,
        context=remark.earlier,
        branch=remark.session.branch,
        skills=remark.session.skills,
        sessions=(remark.session.id,),
        origin="mined",
        outcome=_outcome(remark.after),
        examples=Examples(pass_=remark.after or None, fail=remark.before or None),
    )


def _outcome(after: str) -> Outcome:
    return "mixed" if after else "fail"


def _task(parts: Sequence[_Part], register: Register) -> Task:
    ordered = sorted(parts, key=lambda part: _place(part.remark))
    first, last = ordered[0].remark, ordered[-1].remark
    standing = _standing(ordered)
    checks = consistent((*_checks(ordered, standing, register), *_told_checks(ordered)))
    needs = tuple(dict.fromkeys(need for need, _ in standing))
    bare = replace(_bare_task(first), needs=needs, checks=checks, outcome=_outcome(last.after))
    task = judged(bare, [register.needs[need] for need in needs])
    if task.rubric is not None:
        criteria = dict.fromkeys(part.remark.criterion for part in ordered if part.remark.criterion)
        task = replace(task, rubric=" ".join((task.rubric, *criteria)))
    return replace(task, examples=_examples(task, before=first.before, after=last.after))


def _place(remark: Remark) -> int:
    return remark.session.turns.index(remark.said)


def _standing(parts: Sequence[_Part]) -> tuple[tuple[str, Wish], ...]:
    """The wishes that hold at the end of a conversation: a later one takes back what it speaks against."""
    standing: list[tuple[str, Wish]] = []
    for need, wish in (pair for part in parts for pair in part.wishes):
        standing = [earlier for earlier in standing if not opposed(earlier[1], wish)]
        standing.append((need, wish))
    return tuple(standing)


def _checks(parts: Sequence[_Part], standing: Sequence[tuple[str, Wish]], register: Register) -> tuple[Check, ...]:
    """The checks of the wishes, as far as they agree with each other and with the answers around the correction."""
    after = parts[-1].remark.after
    by_need = {need: wish.checks or register.rule(need).checks for need, wish in standing}
    last_word = consistent([item for checks in reversed(by_need.values()) for item in checks])
    found: dict[Check, None] = {}
    for need, checks in by_need.items():
        own = [item for item in checks if item in last_word and not _contradicted(item, after)]
        about = [part.remark for part in parts if need in dict(part.wishes)]
        befores = [remark.before for remark in about]
        own = list(placed(own, befores, [remark.after for remark in about]))
        if any(_turned_down(before, own) for before in befores):
            found.update(dict.fromkeys(own))
    return tuple(found)


def _told_checks(parts: Sequence[_Part]) -> Iterator[Check]:
    """Those that a model gave, as far as the answer that was let stand in the end passes them."""
    after = parts[-1].remark.after
    for item in (item for part in parts for item in part.remark.checks):
        if not after or check(item, Reply(text=after)):
            yield item


def judged(task: Task, rules: Sequence[str]) -> Task:
    """The task with a rubric beside its checks where it needs one.

    It does where there is no check, and where an answer that only repeats the wish would pass all there are.
    """
    repeated = Reply(text="; ".join(rules))
    enough = task.checks and not all(check(item, repeated) for item in task.checks)
    return replace(task, rubric=None if enough else rubric(rules))


def _with_need(task: Task, need: str, register: Register, answers: Examples) -> Task:
    """A task that turns out to show one need more, as the answers around the remark tell."""
    if need in task.needs:
        return task
    before, after = answers.fail or "", answers.pass_ or ""
    own = placed([item for item in register.rule(need).checks if not _contradicted(item, after)], [before], [after])
    fit = own if _turned_down(before, own) else ()
    needs = (*task.needs, need)
    more = replace(task, needs=needs, checks=consistent((*task.checks, *fit)))
    named = judged(more, [register.needs[item] for item in needs if item in register.needs])
    return replace(named, examples=_examples(named, before=before, after=after))


def _contradicted(forbids: Check, accepted: str) -> bool:
    """Whether the accepted answer says what nobody was to say. An answer that leaves out a word is only short."""
    return forbids.op == "not_contains" and not check(forbids, Reply(text=accepted))


def _turned_down(answer: str, checks: Sequence[Check]) -> bool:
    """Whether the checks see what was wrong with an answer; those that it passes are about something else."""
    return not all(check(item, Reply(text=answer)) for item in checks)


def rubric(rules: Sequence[str]) -> str:
    return "The answer does what the user asked and keeps to this: " + "; ".join(dict.fromkeys(rules)) + "."


def _examples(task: Task, *, before: str, after: str) -> Examples:
    """The real answers around the correction, kept only where the checks agree that one passes and one fails."""
    if not task.checks:
        return Examples(pass_=after or None, fail=before or None)
    return Examples(
        pass_=after if after and score_checks(task, Reply(text=after)).hard == 1 else None,
        fail=before if before and score_checks(task, Reply(text=before)).hard == 0 else None,
    )


def sessions_of(need: str, tasks: Iterable[Task], sightings: Iterable[Sighting] = ()) -> frozenset[str]:
    """Where a need was voiced. A task that names no session (from a file) stands for one of its own."""
    asked = (session for task in tasks if need in task.needs for session in (task.sessions or (f"task {task.id}",)))
    return frozenset((*asked, *(item.session for item in sightings if item.need == need)))
