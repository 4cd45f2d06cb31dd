"""Sessions to tasks: what people had to say again, as needs with the tasks that were answered wrongly.

Only user-typed prompts are evidence. A correction is a typed prompt after an answer that holds a wish; the task it
corrects is the last typed prompt before it that was not itself a correction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt_git.judges import score_checks
from skillopt_git.model import Check, Examples, Need, Session, Task, Turn, digest, need_id, task_id
from skillopt_git.ports import Reply
from skillopt_git.wishes import Wish, same, wish_of, wishes

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
    known = dict(needs)
    wordings: dict[str, dict[str, str]] = {}
    answers: dict[str, list[tuple[Correction, tuple[str, ...]]]] = {}
    for correction in found:
        ids = tuple(dict.fromkeys(_need_of(wish, known) for wish in correction.wishes))
        for need, wish in zip((_need_of(wish, known) for wish in correction.wishes), correction.wishes, strict=True):
            wordings.setdefault(need, {}).setdefault(correction.task, wish.text)
        answers.setdefault(correction.task, []).append((correction, ids))
    return Mined(
        tasks=tuple(_task(parts) for parts in answers.values()),
        needs=known,
        wordings=wordings,
        turns={turn_key(item.session, item.said): item.task for item in found},
    )


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
    ask: Turn | None = None
    earlier: list[str] = []
    answered = ""
    for position, turn in enumerate(session.turns):
        if turn.kind == "answer":
            answered = turn.text
        if turn.kind != "prompt":
            continue
        found = wishes(turn.text) if ask is not None and answered else ()
        if ask is not None and found:
            yield Correction(
                session=session,
                ask=ask,
                earlier="\n".join(earlier)[-CONTEXT_LIMIT:],
                said=turn,
                wishes=found,
                before=answered,
                after=_next_answer(session.turns[position + 1 :]),
            )
        else:
            if ask is not None:
                earlier.append(ask.text)
            ask, answered = turn, ""


def _next_answer(turns: Sequence[Turn]) -> str:
    """The answer to this prompt: what stands before the next prompt."""
    for turn in turns:
        if turn.kind == "answer":
            return turn.text
        if turn.kind == "prompt":
            break
    return ""


def _need_of(wish: Wish, known: dict[str, str]) -> str:
    """The id of the known need this wish is one of, founding it where there is none."""
    for need, text in known.items():
        if same(wish_of(text), wish):
            return need
    founded = need_id(wish.text)
    known[founded] = wish.text
    return founded


def _task(parts: Sequence[tuple[Correction, tuple[str, ...]]]) -> Task:
    first, last = parts[0][0], parts[-1][0]
    every = tuple(wish for correction, _ in parts for wish in correction.wishes)
    checks = tuple(dict.fromkeys(check for wish in every for check in wish.checks))
    task = Task(
        id=first.task,
        ask=first.ask.text,
        context=first.earlier,
        needs=tuple(dict.fromkeys(need for _, needs in parts for need in needs)),
        checks=checks,
        rubric=None if checks else rubric(tuple(dict.fromkeys(wish.text for wish in every))),
        branch=first.session.branch,
        skills=first.session.skills,
        sessions=(first.session.id,),
        origin="mined",
        outcome="mixed" if last.after else "fail",
    )
    return replace(task, examples=_examples(task, before=first.before, after=last.after))


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


def check_words(checks: Sequence[Check]) -> str:
    """The checks in a few words, for listings."""
    return ", ".join(f"{check.op} {check.arg}" if check.arg is not None else check.op for check in checks)
