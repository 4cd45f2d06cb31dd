"""Sessions to tasks: what people had to say again, as needs with the tasks that were answered wrongly.

Only user-typed prompts are evidence. A correction is a typed prompt after an answer that holds a wish; the task it
corrects is the last typed prompt before it that held none. What answers a slash command or a shell escape has no such
task, so a correction of it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from skillopt_git.imperatives import Wish, consistent, opposed, same, wish_of
from skillopt_git.judges import check, score_checks
from skillopt_git.model import Check, Examples, Need, Session, Task, Turn, digest, need_id, task_id
from skillopt_git.ports import Reply
from skillopt_git.wishes import wishes

CONTEXT_LIMIT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A typed wish, the ask it corrects, and the answers before and after it."""

    session: Session
    ask: Turn
    earlier: str
    said: Turn
    wishes: tuple[Wish, ...]
    before: str
    after: str

    @property
    def task(self) -> str:
        return task_id(self.session.source, self.session.id, self.ask.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mined:
    """Tasks with the needs they show.

    `wordings` gives each need's wording in each task that asked for it; `turns` the task each correcting turn led to,
    so that a copy of the turn in another file never counts again.
    """

    tasks: tuple[Task, ...] = ()
    needs: Mapping[str, str]
    wordings: Mapping[str, Mapping[str, str]]
    turns: Mapping[str, str]


def mine(sessions: Sequence[Session], *, needs: Mapping[str, str], turns: Mapping[str, str]) -> Mined:
    """The tasks of `sessions`. `needs` (id to rule text) and `turns` are those already known."""
    found = tuple(_unseen(sessions, turns))
    register = _Register(dict(needs), {need: wish_of(text) for need, text in needs.items()})
    wordings: dict[str, dict[str, str]] = {}
    corrected: dict[str, list[Correction]] = {}
    for correction in found:
        corrected.setdefault(correction.task, []).append(correction)
    tasks: list[Task] = []
    for task, parts in corrected.items():
        standing = _standing(wish for part in parts for wish in part.wishes)
        worded: dict[str, str] = {}
        for wish in standing:
            worded.setdefault(register.need_of(wish), wish.text)
        for need, text in worded.items():
            wordings.setdefault(need, {})[task] = text
        tasks.append(_task(parts, standing, tuple(worded)))
    return Mined(
        tasks=tuple(tasks),
        needs=register.needs,
        wordings=wordings,
        turns={turn_key(item.session, item.said): item.task for item in found},
    )


def _standing(said: Iterable[Wish]) -> tuple[Wish, ...]:
    """The wishes that hold at the end of a conversation: a later one takes back what it speaks against."""
    standing: list[Wish] = []
    for wish in said:
        standing = [earlier for earlier in standing if not opposed(earlier, wish)]
        standing.append(wish)
    return tuple(standing)


@dataclass(slots=True)
class _Register:
    """The needs known so far, by id: their rule texts, and these read as wishes."""

    needs: dict[str, str]
    read: dict[str, Wish]

    def need_of(self, wish: Wish) -> str:
        """The id of the need this wish is one of, founding it where there is none."""
        own = need_id(wish.text)
        if own in self.needs:
            return own
        for need, known in self.read.items():
            if same(known, wish):
                return need
        self.needs[own], self.read[own] = wish.text, wish
        return own


def turn_key(session: Session, turn: Turn) -> str:
    """A turn's identity across the files that copied it."""
    return digest(session.source, turn.id)


def _unseen(sessions: Sequence[Session], turns: Mapping[str, str]) -> Iterator[Correction]:
    """Each correction once: of copies (forks, resumed files) the first in time stands."""
    seen = dict(turns)
    for session in sorted(sessions, key=_order):
        for correction in corrections(session):
            key = turn_key(session, correction.said)
            if seen.setdefault(key, correction.task) == correction.task:
                yield correction


def _order(session: Session) -> tuple[str, str, str]:
    started = session.started.isoformat() if session.started else ""
    ended = session.ended.isoformat() if session.ended else ""
    return started, ended, session.id


def corrections(session: Session) -> Iterator[Correction]:
    """The corrections of one session, in order."""
    asks: list[str] = []
    asked: Turn | None = None  # what the next answer will be about
    about: Turn | None = None  # what the last answer was about; None once something else was asked
    answered = ""
    for position, turn in enumerate(session.turns):
        if turn.kind == "answer":
            about, answered = asked, turn.text
            continue
        found = wishes(turn.text, answered) if turn.kind == "prompt" and (about or asks) else ()
        if not found:
            asked, about = (turn, None if turn.kind == "prompt" else about)
            asks += [turn.text] if turn.kind == "prompt" else []
            continue
        asked = about or asked
        if about is not None and about.kind == "prompt" and answered:
            yield Correction(
                session=session,
                ask=about,
                earlier="\n".join(asks[:-1])[-CONTEXT_LIMIT:],
                said=turn,
                wishes=found,
                before=answered,
                after=_next_answer(session.turns[position + 1 :]),
            )


def _next_answer(turns: Sequence[Turn]) -> str:
    """The answer to this prompt: the last that stands before the user says more."""
    own = takewhile(lambda turn: turn.kind == "answer", turns)
    return next(reversed([turn.text for turn in own]), "")


def _task(parts: Sequence[Correction], standing: Sequence[Wish], needs: tuple[str, ...]) -> Task:
    first, last = parts[0], parts[-1]
    checks = _checks(parts, standing)
    task = Task(
        id=first.task,
        ask=first.ask.text,
        context=first.earlier,
        needs=needs,
        checks=checks,
        rubric=None if checks else rubric(tuple(dict.fromkeys(wish.text for wish in standing))),
        branch=first.session.branch,
        skills=first.session.skills,
        sessions=(first.session.id,),
        origin="mined",
        outcome="mixed" if last.after else "fail",
    )
    return replace(task, examples=_examples(task, before=first.before, after=last.after))


def _checks(parts: Sequence[Correction], standing: Sequence[Wish]) -> tuple[Check, ...]:
    """The checks of the wishes, as far as they agree with each other and with the answers around the correction."""
    last_word = consistent([item for wish in reversed(standing) for item in wish.checks])
    accepted = Reply(text=parts[-1].after)
    found: dict[Check, None] = {}
    for wish in standing:
        own = [item for item in wish.checks if item in last_word and not _contradicted(item, accepted)]
        if any(_turned_down(part.before, own) for part in parts if wish in part.wishes):
            found.update(dict.fromkeys(own))
    return tuple(found)


def _contradicted(forbids: Check, accepted: Reply) -> bool:
    """Whether the accepted answer says what nobody was to say. An answer that leaves out a word is only short."""
    return forbids.op == "not_contains" and not check(forbids, accepted)


def _turned_down(answer: str, checks: Sequence[Check]) -> bool:
    """Whether the checks see what was wrong with an answer; those that it passes are about something else."""
    return not all(check(item, Reply(text=answer)) for item in checks)


def rubric(rules: Sequence[str]) -> str:
    return "The answer does what the user asked and keeps to this: " + "; ".join(rules) + "."


def _examples(task: Task, *, before: str, after: str) -> Examples:
    """The real answers around the correction, kept only where the checks agree that one passes and one fails."""
    if not task.checks:
        return Examples(pass_=after or None, fail=before or None)
    return Examples(
        pass_=after if after and score_checks(task, Reply(text=after)).hard == 1 else None,
        fail=before if before and score_checks(task, Reply(text=before)).hard == 0 else None,
    )


def sessions_of(need: str, tasks: Iterable[Task]) -> frozenset[str]:
    """Where a need was seen. A task that names no session (from a file) stands for one of its own."""
    return frozenset(
        session for task in tasks if need in task.needs for session in (task.sessions or (f"task {task.id}",))
    )


def recurring(needs: Mapping[str, str], tasks: Sequence[Task], *, min_sessions: int) -> tuple[Need, ...]:
    """The needs seen in at least `min_sessions` sessions, in the order of their ids."""
    return tuple(
        Need(need, text) for need, text in sorted(needs.items()) if len(sessions_of(need, tasks)) >= min_sessions
    )
