"""A session as a model reads it: what was typed, numbered, with the answer that stood in the end; within bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt_git.model import Session, Turn

TYPED_LIMIT = 2_000  # characters of a prompt
ANSWER_LIMIT = 1_500  # of an answer
SESSION_LIMIT = 24_000  # of a session: what was said last
CUT = "\n[...]\n"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A typed prompt and the last answer to it; what a command or the shell was answered with belongs to none."""

    typed: Turn
    answer: str = ""


def exchanges(session: Session) -> tuple[Exchange, ...]:
    """In their order: the first is number 1."""
    found: list[Exchange] = []
    typed = False
    for turn in session.turns:
        if turn.kind == "answer" and typed:
            found[-1] = replace(found[-1], answer=turn.text)
        elif turn.kind != "answer":
            typed = turn.kind == "prompt"
            found += [Exchange(turn)] if typed else []
    return tuple(found)


def shown(session: Session) -> tuple[tuple[int, str], ...]:
    """(number, text) of what was typed, and (0, text) of each answer; of a long session the end."""
    turns: list[tuple[int, str]] = []
    room = SESSION_LIMIT
    for number, item in reversed(list(enumerate(exchanges(session), start=1))):
        own = [(number, clipped(item.typed.text, TYPED_LIMIT))]
        own += [(0, clipped(item.answer, ANSWER_LIMIT))] if item.answer else []
        room -= sum(len(text) for _, text in own)
        if room < 0:
            break
        turns[:0] = own
    return tuple(turns)


def clipped(text: str, most: int) -> str:
    """Its beginning and its end."""
    half = (most - len(CUT)) // 2
    return text if len(text) <= most else f"{text[:half]}{CUT}{text[-half:]}"
