"""A session read as a conversation: what its person remarked on which answer, and what they asked for next.

Only user-typed prompts are evidence. A remark is about the last typed prompt before it that asked for something; what
answers a slash command or a shell escape is about none. A wish to be kept from now on may be about no answer at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from skillopt_git.checks import check
from skillopt_git.clauses import comes_back, goes_on, moves_on, satisfied, wonders
from skillopt_git.grammar import Grammar
from skillopt_git.ids import digest, fold, task_id
from skillopt_git.imperatives import content, moved, said
from skillopt_git.languages import Reader
from skillopt_git.model import Check, Session, Turn
from skillopt_git.ports import Reply
from skillopt_git.similarity import similarity
from skillopt_git.wishes import Voice, voices

CONTEXT_LIMIT = 1_000
ASKED_AGAIN = 0.85  # similarity of two prompts of one session: the answer to the first was no answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A typed turn that voices wishes, the ask whose answer it is about, and the answers before and after it.

    `ask` is None where the wishes are about no answer. `checks` and `criterion` are a model's, on the task's answers.
    """

    session: Session
    said: Turn
    voices: tuple[Voice, ...]
    ask: Turn | None = None
    earlier: str = ""
    before: str = ""
    after: str = ""
    checks: tuple[Check, ...] = ()
    criterion: str = ""

    @property
    def turn(self) -> str:
        return turn_key(self.session, self.said)

    @property
    def task(self) -> str | None:
        return None if self.ask is None else task_id(self.session.source, self.session.id, self.ask.id)


def turn_key(session: Session, turn: Turn) -> str:
    """A turn's identity across the files that copied it."""
    return digest(session.source, turn.id)


@dataclass(frozen=True, slots=True)
class Line:
    """One turn as it was read: in which language, what wishes it voices, and how it goes on from the answer before."""

    turn: Turn
    grammar: Grammar | None = None
    voices: tuple[Voice, ...] = ()
    satisfied: bool = False
    wonders: bool = False
    returns: bool = False
    moves_on: bool = False


def lines_of(session: Session, reader: Reader, people: frozenset[str]) -> list[Line]:
    typed = "\n".join(turn.text for turn in session.prompts)
    lines: list[Line] = []
    answered: str | None = None  # by a turn of the agent's, to a typed prompt
    asked: Turn | None = None
    for turn in session.turns:
        if turn.kind == "prompt":
            lines.append(_line(turn, reader.language(turn.text, typed), answered, people))
        else:
            lines.append(Line(turn))
        if turn.kind == "answer":
            answered = turn.text if asked is not None and asked.kind == "prompt" else None
        else:
            asked = turn
    return lines


def _line(turn: Turn, grammar: Grammar | None, answer: str | None, people: frozenset[str]) -> Line:
    if grammar is None:
        return Line(turn)
    if answer is not None and satisfied(turn.text, grammar):
        return Line(turn, grammar, satisfied=True)
    onward = answer is not None and moves_on(turn.text, grammar)
    heard = voices(turn.text, grammar, answer=answer, people=people)
    return Line(
        turn,
        grammar,
        tuple(_beside(voice) if onward else voice for voice in heard if voice.meant or not onward),
        moves_on=onward,
        wonders=answer is not None and wonders(turn.text, grammar),
        returns=answer is not None and comes_back(turn.text, grammar),
    )


def _beside(voice: Voice) -> Voice:
    """A wish in an ask for new work: it counts by itself only where it is said to be kept to."""
    return replace(voice, faint=voice.faint or not (voice.standing or voice.lasting))


@dataclass(slots=True)
class Talk:
    """Where a conversation is."""

    asks: list[str]
    asked: Turn | None = None  # what the next answer will be about
    about: Turn | None = None  # what the last answer was about; None once something else was asked
    answered: str = ""
    aside: bool = False  # the next answer is to thanks, or to a question about the work, and is not the work

    def answer(self, turn: Turn) -> None:
        if not self.aside:
            self.about, self.answered = self.asked, turn.text
        self.aside = False

    def ask(self, turn: Turn) -> None:
        again = self.about is not None and similarity(self.about.text, turn.text) >= ASKED_AGAIN
        if again:
            self.asked = self.about
            return
        self.asked, self.about = turn, None if turn.kind == "prompt" else self.about
        self.asks += [turn.text] if turn.kind == "prompt" else []

    @property
    def corrigible(self) -> bool:
        return self.about is not None and self.about.kind == "prompt" and bool(self.answered)


def remarks(
    session: Session, reader: Reader, people: frozenset[str] = frozenset(), sighted: frozenset[str] = frozenset()
) -> Iterator[Remark]:
    """What one session's person remarked, in order. `sighted` are turns known to voice a need; they ask for no work."""
    return told(session, lines_of(session, reader, people), sighted)


def told(session: Session, lines: Sequence[Line], sighted: frozenset[str]) -> Iterator[Remark]:
    talk = Talk([])
    for position, line in enumerate(lines):
        turn = line.turn
        if turn.kind == "answer":
            talk.answer(turn)
            continue
        if talk.corrigible and line.satisfied:
            talk.aside = True
            continue
        if talk.corrigible and line.wonders:
            yield from _remarked(session, position, line, talk)
            talk.aside = True
            continue
        yield from _remarked(session, position, line, talk, anew=line.moves_on)
        firm = turn_key(session, turn) in sighted or any(voice.meant for voice in line.voices)
        stays = line.returns or (line.grammar is not None and not _new_work(turn.text, line.grammar, talk))
        if line.moves_on:
            talk.ask(turn)
        elif (talk.corrigible and stays) or (firm and (talk.corrigible or talk.asks)):
            talk.asked = talk.about or talk.asked
        else:
            talk.ask(turn)


def _new_work(prompt: str, grammar: Grammar, talk: Talk) -> bool:
    """Whether a prompt asks for work of its own, and not for another touch to the last."""
    words = fold(grammar.opener.sub("", prompt)).replace(",", " ").replace(".", " ").split()
    if not grammar.actions.isdisjoint(words[:3]) or goes_on(prompt, grammar):
        return True
    if not grammar.pointers.isdisjoint(words[:2]):
        return False
    about = content(prompt, grammar)
    known = said(f"{talk.about.text if talk.about else ''}\n{talk.answered}", grammar)
    return bool(about) and len(about - known) * 2 >= len(about)


def _remarked(session: Session, position: int, line: Line, talk: Talk, *, anew: bool = False) -> Iterator[Remark]:
    """The remark of one turn, in two where some of its wishes are about the answer and others about none.

    In a turn that asks `anew` what is said to be kept to is about none.
    """
    grammar, found = line.grammar, line.voices
    if grammar is None or not found:
        return
    later = session.turns[position + 1 :]
    after = _next_answer(later)
    if talk.corrigible and talk.about is not None:
        ask, before = talk.about.text, talk.answered
        found = tuple(
            replace(voice, wish=moved(voice.wish, grammar, ask=ask, before=before, after=after)) for voice in found
        )
    faulty = tuple(voice for voice in found if not _detached(voice, found, talk, anew=anew))
    free = tuple(voice for voice in found if voice not in faulty)
    if faulty and talk.corrigible and talk.about is not None:
        yield Remark(
            session=session,
            said=line.turn,
            voices=faulty,
            ask=talk.about,
            earlier="\n".join(talk.asks[:-1])[-CONTEXT_LIMIT:],
            before=talk.answered,
            after=after,
        )
    elif faulty and talk.about is None and talk.asked is None:
        free = (*free, *(voice for voice in faulty if voice.meant))
    if free:
        yield Remark(session=session, said=line.turn, voices=free)


def _detached(voice: Voice, found: Sequence[Voice], talk: Talk, *, anew: bool) -> bool:
    """Whether a wish is about no answer: said to be kept to, on top of what was said, and alone in its turn.

    What the answer breaks, or what goes out of it by the wish, shows that it is about the answer all the same.
    """
    alone = voice.added and all(other.standing or not other.meant for other in found)
    if not voice.standing or voice.wish.gone or not (alone or anew):
        return False
    answer = Reply(text=talk.answered)
    return all(check(item, answer) or item.op != "not_contains" for item in voice.wish.checks)


def _next_answer(turns: Sequence[Turn]) -> str:
    """The answer to this prompt: the last that stands before the user says more."""
    own = takewhile(lambda turn: turn.kind == "answer", turns)
    return next(reversed([turn.text for turn in own]), "")
