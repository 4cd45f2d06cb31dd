"""Sessions read by the optimizer: what the rules' cues do not tell, in any language, joined with what they found.

The model only points: at the turn that asked, and at the turn that wished something else. What it says is checked
here, for a session may hold anything. Only what the person typed makes a rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from skillopt_git import edits, guard
from skillopt_git.asking import Question, ask, fencing, request
from skillopt_git.checks import check, lasts, problem
from skillopt_git.consolidate import lint
from skillopt_git.doors import probe
from skillopt_git.grammar import Grammar
from skillopt_git.imperatives import Wish, moved, wish_of
from skillopt_git.languages import Reader
from skillopt_git.model import RECORD, Check, Edit, Examples, Outcome, Session, Task
from skillopt_git.ports import Backend, Called, CallFailed, Listener, Reply, Request
from skillopt_git.prompts import Prompts
from skillopt_git.redact import find_secrets
from skillopt_git.remarks import CONTEXT_LIMIT, Remark, turn_key
from skillopt_git.replay import raise_dead
from skillopt_git.sessiontext import Exchange, exchanges, shown
from skillopt_git.typed import from_typed, sentence_of
from skillopt_git.wishes import QUOTE_LIMIT, Voice, private

MOST_TASKS = 3  # of a session
MOST_CHECKS = 5  # of a task; of what is told twice as many are looked at, for a pattern may take its time
CHECK_LIMIT = 200  # characters
CRITERION_LIMIT = 300
MOST_KNOWN = 50  # wishes heard before that the model is told


@dataclass(frozen=True, slots=True, kw_only=True)
class _Check:
    __pydantic_config__ = RECORD
    op: Literal["contains", "not_contains", "regex"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """One task as the model tells it. `asked` and `wished` are numbers of typed turns."""

    __pydantic_config__ = RECORD
    asked: int
    wished: int | None = None
    rule: str | None = None
    criterion: str = ""
    checks: tuple[_Check, ...] = ()
    outcome: Outcome = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    __pydantic_config__ = RECORD
    tasks: tuple[_Found, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the model found, where it was `asked`. `guards` are tasks that were done well, by the turn that asked;
    `unread` are the places of the sessions that the budget left."""

    remarks: tuple[Remark, ...] = ()
    guards: Mapping[str, Task] = field(default_factory=dict)
    failures: tuple[CallFailed, ...] = ()
    unread: frozenset[int] = frozenset()
    asked: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        failed = Counter(item.kind for item in self.failures)
        kinds = ", ".join(f"{kind} ({count})" for kind, count in failed.most_common())
        count = len(self.failures)
        by_rules = f"{_sessions(count)} that the model could not read, rules alone did: {kinds}"
        later = f"{_sessions(len(self.unread))} for which the budget had no room: another night's model reads them"
        return (*([by_rules] if count else ()), *([later] if self.unread else ()))


def _sessions(count: int) -> str:
    return f"{count} session{'s' if count != 1 else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReader:
    """The optimizer as a reader of sessions. `people` are names, folded, that no rule may hold;
    `tonight` begins the samples of what is asked anew each night, `night` those of what each run asks anew."""

    optimizer: Backend
    prompts: Prompts
    night: str
    tonight: str
    reader: Reader
    people: frozenset[str]
    notify: Listener

    def read(self, sessions: Sequence[Session], known: Iterable[str]) -> Told:
        """What `sessions` hold, all asked at once. `known` are wishes heard before: those in a language without a table
        only the model can tell again, so it is shown them.

        Raises `BackendError` where the model cannot answer at all.
        """
        places = _readable(sessions)
        questions = _questions([sessions[place] for place in places], known, self.reader)
        heard = {place: item.answer for place, item in zip(places, ask(questions, _Answer, self), strict=True)}
        failed = {place: item for place, item in heard.items() if isinstance(item, CallFailed)}
        unread = frozenset(place for place, item in failed.items() if item.kind == "budget")
        failures = tuple(item for place, item in failed.items() if place not in unread)
        if failures and len(failures) == len(heard):
            raise_dead(failures, lambda: probe(self.optimizer, "optimizer", f"{self.night}/probe/mine"))
        self.notify(Called("mine", len(heard), len(failed)))
        answers = [(sessions[place], item) for place, item in heard.items() if isinstance(item, _Answer)]
        answers.sort(key=lambda pair: (pair[0].started.isoformat() if pair[0].started else "", pair[0].id))
        told = [_SessionTold(session, self.reader, self.people) for session, _ in answers]
        for item, (_, answer) in zip(told, answers, strict=True):
            item.take(answer.tasks[:MOST_TASKS])
        return Told(
            remarks=tuple(remark for item in told for remark in item.remarks),
            guards={turn: task for item in told for turn, task in item.guards.items()},
            failures=failures,
            unread=unread,
            asked=True,
        )


# --- asking ------------------------------------------------------------------------------------------------------


def foreseen(
    sessions: Sequence[Session], known: Iterable[str], reader: Reader, prompts: Prompts, tonight: str
) -> tuple[Request, ...]:
    """What would be asked about `sessions`, each once, in its longest form."""
    questions = _questions([sessions[place] for place in _readable(sessions)], known, reader)
    return tuple(request(item, _Answer, prompts, firmer=tonight) for item in questions)


def _readable(sessions: Sequence[Session]) -> list[int]:
    """The places of those in which something was answered."""
    return [place for place, session in enumerate(sessions) if any(item.answer for item in exchanges(session))]


def _questions(sessions: Sequence[Session], known: Iterable[str], reader: Reader) -> list[Question]:
    foreign = sorted(text for text in known if reader.language(text) is None)[:MOST_KNOWN]
    return [_question(session, "\n".join(foreign)) for session in sessions]


def _question(session: Session, known: str) -> Question:
    turns = shown(session)
    fence = fencing([known, *(text for _, text in turns)])
    fenced = [{"number": number, "text": fence(text)} for number, text in turns]
    return Question(purpose="mine", words={"turns": fenced, "known": fence(known) if known else "", "most": MOST_TASKS})


# --- checking ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _SessionTold:
    """What holds of what the model said about one session."""

    session: Session
    reader: Reader
    people: frozenset[str]
    remarks: list[Remark] = field(default_factory=list)
    guards: dict[str, Task] = field(default_factory=dict)

    def take(self, found: Sequence[_Found]) -> None:
        said = exchanges(self.session)
        read = {number for number, _ in shown(self.session)}
        sound = [item for item in found if item.asked > 0 and {item.asked, item.wished or item.asked} <= read]
        wished = {item.wished for item in sound}
        for item in sound:
            earlier = {other.asked for other in sound if other.asked < item.asked} - wished
            context = "\n".join(said[number - 1].typed.text for number in sorted(earlier))[-CONTEXT_LIMIT:]
            if item.wished is not None or item.rule is not None:
                self.remarks.extend(self._remarks(item, said, context))
            elif item.outcome == "success":
                self.guards.update(self._guards(item, said[item.asked - 1], context))

    def _remarks(self, item: _Found, said: Sequence[Exchange], context: str) -> Iterator[Remark]:
        """The wish as a remark, where a turn that was typed voices it; about no answer where the ask itself does."""
        if item.wished is None or item.wished < item.asked:
            return
        asked, wished = said[item.asked - 1], said[item.wished - 1]
        between = [other.answer for other in said[item.asked - 1 : item.wished - 1] if other.answer]
        voice = self._voice(item.rule or "", asked, wished, between[-1] if between else "")
        if voice is None or (asked is not wished and not between):
            return
        if asked is wished:
            yield Remark(session=self.session, said=wished.typed, voices=(voice,))
            return
        yield Remark(
            session=self.session,
            said=wished.typed,
            voices=(voice,),
            ask=asked.typed,
            earlier=context,
            before=between[-1],
            after=wished.answer,
            checks=_checks(item.checks, between[-1], wished.answer),
            criterion=_criterion(item.criterion),
        )

    def _guards(self, item: _Found, asked: Exchange, context: str) -> Mapping[str, Task]:
        """A task that was done well, by which harm is seen; nothing where no answer could be judged."""
        checks, criterion = _checks(item.checks, "", asked.answer), _criterion(item.criterion)
        if not asked.answer or not (checks or criterion):
            return {}
        task = Remark(session=self.session, said=asked.typed, voices=(), ask=asked.typed).task
        return {
            turn_key(self.session, asked.typed): Task(
                id=task or "",
                ask=asked.typed.text,
                context=context,
                checks=checks,
                rubric=criterion or None,
                examples=Examples(pass_=asked.answer),
                branch=self.session.branch,
                skills=self.session.skills,
                sessions=(self.session.id,),
                outcome="success",
            )
        }

    def _voice(self, text: str, asked: Exchange, wished: Exchange, before: str) -> Voice | None:
        """The wish, where it is one rule, in words that were typed, and nothing that no rule may hold."""
        if edits.refusal(text) is not None:
            return None
        rule = edits.one_line(guard.one_line(text))
        if lint(Edit(op="add", target="", text=rule)) is not None or private(rule, self.people):
            return None
        grammar = self.reader.language(rule)
        typed = wished.typed.text
        if not from_typed(rule, f"{asked.typed.text}\n{typed}", grammar) or not _any_from(rule, typed, grammar):
            return None
        wish = self._wish(rule.rstrip(".。 "), asked.typed.text, before, wished.answer)
        return Voice(wish=wish, quote=sentence_of(rule, typed)[:QUOTE_LIMIT], standing=True, lasting=True)

    def _wish(self, rule: str, ask: str, before: str, after: str) -> Wish:
        grammar = self.reader.language(rule)
        wish = replace(wish_of(rule, self.reader.grammars), asks=True)
        return wish if grammar is None else moved(wish, grammar, ask=ask, before=before, after=after)


def _any_from(rule: str, typed: str, grammar: Grammar | None) -> bool:
    """Whether the turn itself says something of the rule, and not only the ask that it is about."""
    return any(from_typed(word, typed, grammar) for word in rule.split())


def _checks(told: Sequence[_Check], before: str, after: str) -> tuple[Check, ...]:
    """The sound ones; where the answers are known, those that the first fails and the second passes."""
    texts = (item for item in told[: 2 * MOST_CHECKS] if _may_stand(item.text, CHECK_LIMIT))
    checks = (Check(op=item.op, arg=item.text, role="outcome") for item in texts)
    fit = (item for item in checks if problem(item) is None and _tells(item, before, after))
    return tuple(dict.fromkeys(fit))[:MOST_CHECKS]


def _tells(item: Check, before: str, after: str) -> bool:
    """One that takes too long fails the answer, and tells nothing of it."""
    first = Reply(text=before)
    fails = not before or not (check(item, first) or lasts(item, first))
    return fails and (not after or check(item, Reply(text=after)))


def _criterion(text: str) -> str:
    """What a good answer is like, as one line; nothing where that may not be kept."""
    line = guard.one_line(text)
    return line if _may_stand(line, CRITERION_LIMIT) and not guard.capabilities(line) else ""


def _may_stand(text: str, most: int) -> bool:
    return bool(text.strip()) and len(text) <= most and "[redacted:" not in text.casefold() and not find_secrets(text)
