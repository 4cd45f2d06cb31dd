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
from skillopt_git.checks import check, problem
from skillopt_git.consolidate import lint
from skillopt_git.doors import probe
from skillopt_git.errors import ConfigError
from skillopt_git.grammar import Grammar
from skillopt_git.ids import digest
from skillopt_git.imperatives import Wish, moved, wish_of
from skillopt_git.languages import Reader
from skillopt_git.model import RECORD, Check, Edit, Examples, Outcome, Session, Task
from skillopt_git.ports import Backend, Called, CallFailed, Listener, Reply, Request
from skillopt_git.prompts import Prompts
from skillopt_git.redact import find_secrets
from skillopt_git.remarks import CONTEXT_LIMIT, Remark, turn_key
from skillopt_git.replay import raise_dead
from skillopt_git.schema import form, read
from skillopt_git.sessiontext import Exchange, exchanges, shown
from skillopt_git.typed import from_typed, sentence_of
from skillopt_git.wishes import QUOTE_LIMIT, Voice, private

MOST_TASKS = 3  # of a session
MOST_CHECKS = 5  # of a task
CHECK_LIMIT = 200  # characters
CRITERION_LIMIT = 300
MOST_KNOWN = 50  # wishes heard before that the model is told
LONGEST_ANSWER = 4_096  # tokens


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
        places = [place for place, session in enumerate(sessions) if readable(session)]
        told = foreign(known, self.reader)
        heard = dict(zip(places, self._heard([sessions[place] for place in places], told), strict=True))
        failed = {place: item for place, item in heard.items() if isinstance(item, CallFailed)}
        unread = frozenset(place for place, item in failed.items() if item.kind == "budget")
        failures = tuple(item for place, item in failed.items() if place not in unread)
        if failures and len(failures) == len(heard):
            raise_dead(failures, lambda: probe(self.optimizer, "optimizer", f"{self.night}/probe/mine"))
        self.notify(Called("mine", len(heard), len(failed)))
        answers = [(sessions[place], item) for place, item in heard.items() if isinstance(item, _Answer)]
        answers.sort(key=lambda pair: (pair[0].started.isoformat() if pair[0].started else "", pair[0].id))
        found = [_SessionTold(session, self.reader, self.people) for session, _ in answers]
        for item, (_, answer) in zip(found, answers, strict=True):
            item.take(answer.tasks[:MOST_TASKS])
        return Told(
            remarks=tuple(remark for item in found for remark in item.remarks),
            guards={turn: task for item in found for turn, task in item.guards.items()},
            failures=failures,
            unread=unread,
            asked=True,
        )

    # --- asking ---

    def _heard(self, sessions: Sequence[Session], known: str) -> list[_Answer | CallFailed]:
        """Each answer; one that cannot be read is asked for once more, firmly."""
        heard = self._asked(sessions, known, firmer=False)
        broken = [at for at, item in enumerate(heard) if isinstance(item, CallFailed) and item.kind == "schema"]
        for at, item in zip(broken, self._asked([sessions[at] for at in broken], known, firmer=True), strict=True):
            heard[at] = item
        return heard

    def _asked(self, sessions: Sequence[Session], known: str, *, firmer: bool) -> list[_Answer | CallFailed]:
        # A bad answer stays in the cache; with a sample of its own the second question is asked anew every night.
        sample = f"{self.tonight}/firmer" if firmer else ""
        requests = [question(item, known, self.prompts, sample=sample) for item in sessions]
        replies = self.optimizer.complete(requests) if requests else ()
        return [_read(reply) if isinstance(reply, Reply) else reply for reply in replies]


def readable(session: Session) -> bool:
    """Whether there is something in it to read: a turn that was answered."""
    return any(item.answer for item in exchanges(session))


def foreign(known: Iterable[str], reader: Reader) -> str:
    """The wishes heard before that the rules would not know again."""
    return "\n".join(sorted(text for text in known if reader.language(text) is None)[:MOST_KNOWN])


def question(session: Session, known: str, prompts: Prompts, *, sample: str = "") -> Request:
    """What is asked about a session; with a `sample`, once more and firmly."""
    turns = shown(session)
    nonce = digest(known, *(text for _, text in turns))  # the same session is the same question; no text can hold it
    fenced = [{"number": number, "text": guard.fence(text, nonce)} for number, text in turns]
    heard = guard.fence(known, nonce) if known else ""
    return Request(
        role="optimizer",
        purpose="mine",
        ask=prompts("mine", turns=fenced, known=heard, most=MOST_TASKS, firmer=bool(sample)),
        max_tokens=LONGEST_ANSWER,
        sample=sample,
        schema=form(_Answer),
    )


def _read(reply: Reply) -> _Answer | CallFailed:
    """The JSON in an answer, whatever stands around it. Never raises."""
    start, end = reply.text.find("{"), reply.text.rfind("}")
    try:
        return read(_Answer, reply.text[start : end + 1].encode(errors="replace"), where="the answer")
    except ConfigError:
        return CallFailed("schema", "the optimizer's answer is not the JSON it was asked for")


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
        sound = [item for item in found if 1 <= item.asked <= len(said)]
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
        if item.wished is None or not item.asked <= item.wished <= len(said):
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


def _checks(told: Iterable[_Check], before: str, after: str) -> tuple[Check, ...]:
    """The sound ones; where the answers are known, those that the first fails and the second passes."""
    checks = (Check(op=item.op, arg=item.text, role="outcome") for item in told if _may_stand(item.text, CHECK_LIMIT))
    fit = (item for item in checks if problem(item) is None and _tells(item, before, after))
    return tuple(dict.fromkeys(fit))[:MOST_CHECKS]


def _tells(item: Check, before: str, after: str) -> bool:
    fails = not before or not check(item, Reply(text=before))
    return fails and (not after or check(item, Reply(text=after)))


def _criterion(text: str) -> str:
    """What a good answer is like, as one line; nothing where that may not be kept."""
    line = guard.one_line(text)
    return line if _may_stand(line, CRITERION_LIMIT) and not guard.capabilities(line) else ""


def _may_stand(text: str, most: int) -> bool:
    return bool(text.strip()) and len(text) <= most and "[redacted:" not in text.casefold() and not find_secrets(text)
