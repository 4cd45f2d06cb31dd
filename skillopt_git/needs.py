"""The register of needs: which wish is which need, what is only hinted at, and what a later wish has replaced.

A firm voice founds a need where it is none of those known. A faint one ("the changelog line is missing") joins a need
that it echoes; two faint ones of different sessions that ask for the same found a need together; one alone waits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from skillopt_git.grammar import Grammar
from skillopt_git.ids import fold, need_id
from skillopt_git.imperatives import Wish, name, read, use_instead, wish_of
from skillopt_git.languages import Reader
from skillopt_git.sameness import (
    alike_by_effect,
    asks_again,
    covers,
    echoes,
    opposed,
    points_at,
    rivals,
    same,
    same_choice,
    same_means,
    same_thing,
)
from skillopt_git.similarity import plain

# How a clear wish is known to be one of a need's, the surest first.
CLEARLY = (same, points_at, alike_by_effect, same_thing, same_choice, covers, same_means)


@dataclass(frozen=True, slots=True)
class Said:
    """A voice in its place: `turn` and `session` say where, `wish` what.

    `meant`: it is clearly a wish; `beside`: it is about no answer, but said beside an ask.
    """

    turn: str
    session: str
    wish: Wish
    meant: bool = False
    beside: bool = False


@dataclass(slots=True)
class Register:
    """The needs known so far, by id: their rule texts, and every wording heard of them."""

    reader: Reader
    needs: dict[str, str]
    replaced: dict[str, str] = field(default_factory=dict)
    _worded: dict[str, list[Wish]] = field(default_factory=dict)
    _by_word: dict[str, set[str]] = field(default_factory=dict)
    _order: dict[str, int] = field(default_factory=dict)
    _last: dict[str, datetime] = field(default_factory=dict)
    _waiting: dict[int, Said] = field(default_factory=dict)  # by the order in which they came
    _came: int = 0
    _waiting_by_word: dict[str, set[int]] = field(default_factory=dict)
    _tried: dict[str, tuple[int, int]] = field(default_factory=dict)  # wordings and waiting voices that met in vain

    def __post_init__(self) -> None:
        for need, text in self.needs.items():
            self._hear(need, wish_of(text, self.reader.grammars))

    def heard(self, need: str, rule: str, moved: Sequence[str] = ()) -> None:
        """An older wording of a known need, and which of its words changed the answer."""
        if need in self.needs:
            self._hear(need, replace(wish_of(rule, self.reader.grammars), moved=frozenset(moved)))

    def hinted(self, said: Said) -> None:
        """A faint voice of an earlier night that still waits."""
        self._wait(said)

    def rule(self, need: str) -> Wish:
        """The wish a need is, in the words that say most of it."""
        return max(self._worded[need], key=lambda wish: len(wish.checks))

    def firm(self, wish: Wish) -> str:
        """The need this wish is one of, founding it where there is none."""
        known = self.known(wish)
        if known is not None:
            return known
        own = need_id(wish.text)
        self.needs[own] = wish.text
        self._hear(own, wish)
        return own

    def known(self, wish: Wish) -> str | None:
        """The need that a clear wish is one of."""
        own = need_id(wish.text)
        if own in self.needs:
            return own
        near = self._near(wish)
        for alike in CLEARLY:
            for need in near:
                if any(alike(wish, known) or alike(known, wish) for known in self._worded[need]):
                    self._hear(need, wish)
                    if _whole(wish) and not _whole(wish_of(self.needs[need], self.reader.grammars)):
                        self.needs[need] = wish.text  # says both what to do and what not to
                    return need
        return None

    def replaces(self, need: str, wish: Wish, when: datetime | None = None) -> None:
        """Of wishes that contradict each other the last one stands: by their times, else by the order of reading."""
        self.voiced(need, when)
        for other in self._near(wish):
            if other != need and any(opposed(known, wish) or rivals(known, wish) for known in self._worded[other]):
                earlier, later = (need, other) if self._later(other, when) else (other, need)
                self.replaced[earlier] = later
                if self.replaced.get(later) == earlier:
                    del self.replaced[later]

    def voiced(self, need: str, when: datetime | None) -> None:
        """That a need was voiced then."""
        last = self._last.get(need)
        if when is not None and (last is None or when > last):
            self._last[need] = when

    def _later(self, need: str, when: datetime | None) -> bool:
        last = self._last.get(need)
        return when is not None and last is not None and last > when

    def faint(self, said: Said) -> str | None:
        """The need a faint voice echoes, or founds together with one that waited; None while it waits itself."""
        for need in self._near(said.wish):
            if any(echoes(said.wish, known) for known in self._worded[need]):
                return need
        found = self._founded(said)
        if found is None:
            self._wait(said)
        return found

    def alone(self, said: Said) -> str | None:
        """The need of a clear wish that may be about one work only; None while it waits for another like it."""
        found = self.known(said.wish) or self._founded(said)
        if found is None:
            self._wait(said)
        return found

    def _founded(self, said: Said) -> str | None:
        for _, other in self._kin(said.wish):
            again = not (said.beside or other.beside) and asks_again(
                said.wish, other.wish
            )  # what is built has words, too
            alike = again or same(said.wish, other.wish)
            rule = self._rule_of(other.wish, said.wish) if alike else None
            if rule is not None and other.session != said.session:
                need = self.firm(rule)
                self._hear(need, said.wish)
                self._hear(need, other.wish)
                return need
        return None

    def _rule_of(self, one: Wish, other: Wish) -> Wish | None:
        """The better of two wordings; where both only tell how things are, what they changed in the answers."""
        best = min((one, other), key=lambda wish: awkward(wish, self.reader.grammars))
        grammar = self.reader.language(best.text) or self.reader.grammars[0]
        if best.asks or best.forbids:
            return None if grammar.habit.match(best.text) else best
        coded = one.coded & other.coded
        came, went = (self._telling(coded, sign) for sign in "+-")
        if came:
            named = _spelled(came[0], one.names | other.names)
            return read(use_instead(named, went[0], grammar) if went else f"{grammar.cues.use[0]} {named}", grammar)
        thing = min((one.text, other.text), key=len)
        plain = len(thing.split()) == 1 and name(thing.lower(), grammar) and one.moved & other.moved
        return read(f"{grammar.cues.use[0]} {thing.lower()}", grammar) if plain else None

    def _telling(self, coded: Iterable[str], sign: str) -> list[str]:
        """The words that came or went, without those that stand in any talk about code."""
        words = sorted(word[1:] for word in coded if word[0] == sign)
        plain = [item.words | item.actions for item in self.reader.grammars]
        known = [item.ordinary for item in self.reader.grammars]
        return [word for word in words if not any(word in talk for talk in (*plain, *known))]

    def claimed(self, need: str) -> Iterator[Said]:
        """The faint voices that waited for this need."""
        wordings = self._worded[need]
        kin = dict(item for wish in wordings for item in self._kin(wish))
        wordings_tried, last_tried = self._tried.get(need, (0, 0))
        self._tried[need] = (len(wordings), self._came)
        for came, other in kin.items():
            untried = wordings[wordings_tried:] if came <= last_tried else wordings
            if any(_claims(wish, other) for wish in untried):
                del self._waiting[came]
                yield other

    @property
    def waiting(self) -> tuple[Said, ...]:
        return tuple(self._waiting.values())

    # --- the index: a wish meets only what shares a word with it ---

    def _hear(self, need: str, wish: Wish) -> None:
        wordings = self._worded.setdefault(need, [])
        if wish in wordings:
            return
        wordings.append(wish)
        self._order.setdefault(need, len(self._order))
        for word in _words(wish):
            self._by_word.setdefault(word, set()).add(need)

    def _wait(self, said: Said) -> None:
        self._came += 1
        self._waiting[self._came] = said
        for word in _words(said.wish):
            self._waiting_by_word.setdefault(word, set()).add(self._came)

    def _near(self, wish: Wish) -> list[str]:
        found = {need for word in _words(wish) for need in self._by_word.get(word, ())}
        return sorted(found, key=self._order.__getitem__)

    def _kin(self, wish: Wish) -> list[tuple[int, Said]]:
        found = {came for word in _words(wish) for came in self._waiting_by_word.get(word, ())}
        return [(came, self._waiting[came]) for came in sorted(found) if came in self._waiting]


def _spelled(word: str, names: frozenset[str]) -> str:
    """A word as part of the command it was typed in: `make generate` for `generate`."""
    whole = [name for name in names if word in name.split() and " " in name]
    return f"`{min(whole, key=len)}`" if whole else word


def _claims(known: Wish, said: Said) -> bool:
    if said.meant:
        return any(alike(said.wish, known) for alike in CLEARLY)
    return echoes(said.wish, known) or same(said.wish, known)


def _whole(wish: Wish) -> bool:
    return bool(wish.prefer and wish.avoid)


def _words(wish: Wish) -> Iterable[str]:
    named = (fold(name) for name in (wish.prefer, wish.avoid) if name)
    return {*(wish.telling or wish.stems), *wish.names, *named}


def awkward(wish: Wish, grammars: Sequence[Grammar]) -> tuple[bool, bool, bool, bool, int]:
    """How badly wordings read as rules, to sort by: best is no mere word, begins with its verb and is short."""
    words = fold(wish.text).split()
    points = any(words[0].strip(",.;:") in item.pointers for item in grammars)
    begins = any(item.verb_of(wish.text) in item.verbs for item in grammars)
    return len(words) < 2, points, not (begins or wish.forbids), not wish.asks, len(wish.text)


def best_rule(rules: Iterable[str], grammars: Sequence[Grammar]) -> str | None:
    """Of several wordings the one that reads best; None where none of them asks for anything by itself."""
    wishes = [wish_of(rule, grammars) for rule in rules]
    asking = [wish for wish in wishes if wish.asks or wish.forbids or (wish.prefer and wish.avoid)]
    best = min(asking, key=lambda wish: awkward(wish, grammars), default=None)
    return None if best is None else best.text


def people(names: Iterable[str]) -> frozenset[str]:
    """The single names, folded, that no rule may hold: those of three letters and more."""
    human = (name for name in names if not fold(name).endswith("[bot]"))
    return frozenset(plain(word) for name in human for word in re.findall(r"[^\W\d_]{3,}", fold(name)))


def kept(replaced: Mapping[str, str], needs: Collection[str]) -> dict[str, str]:
    return {need: by for need, by in replaced.items() if need in needs and by in needs}
