"""What was proposed for several needs of one document, made into one list: what says the same once, the best first.

The optimizer is asked only where there is something to choose. It may choose among what was proposed, and word anew
what it merges; without an answer everything stays as it was proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from skillopt_git.asking import Question, ask, fencing
from skillopt_git.consolidate import Bench
from skillopt_git.model import RECORD, Document, Edit, Need, Task
from skillopt_git.ports import CallFailed
from skillopt_git.reflection import sentence
from skillopt_git.similarity import similarity
from skillopt_git.training import Training, Tryout

OVERLAP = 0.7  # of two rules for different needs: at or above it they may be one


@dataclass(frozen=True, slots=True)
class Offer:
    """The edits for one need, in order, and the held-out tasks that nobody saw while they were worded: `told` are the
    marks of the sessions that were seen."""

    need: Need
    edits: tuple[Edit, ...]
    held_out: tuple[Task, ...]
    training: Training
    told: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What is left to try, the best first; what has to wait; and what another edit (the second) now says, too."""

    offers: tuple[Offer, ...]
    late: tuple[Edit, ...] = ()
    joined: tuple[tuple[Edit, Edit], ...] = ()
    failure: CallFailed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    __pydantic_config__ = RECORD
    of: tuple[int, ...]
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    __pydantic_config__ = RECORD
    edits: tuple[_Choice, ...]


def tryouts(offer: Offer) -> list[Tryout]:
    """An offer's edits as the groups that go to the gate."""
    groups = offer.training.groups(offer.edits)
    return [Tryout(offer.need, group, offer.held_out, offer.training, offer.told) for group in groups]


def in_words(edit: Edit, kept: Edit) -> str:
    """That an edit has been joined to another one."""
    if edit.rule == kept.rule:
        return f"'{edit.sentence}' was proposed for several wishes, and is tried once"
    return f"'{edit.sentence}' is said by '{kept.sentence}', too"


def merged(
    offers: Sequence[Offer], document: Document, room: int, fits: Callable[[Edit], bool], bench: Bench
) -> Merged:
    """At most `room` edits, where there is something to choose. `fits` says whether a new wording may be tried."""
    once, same = _once(offers)
    found = _chosen(once, document, room, fits, bench)
    return replace(found, joined=(*same, *found.joined))


def _once(offers: Sequence[Offer]) -> tuple[tuple[Offer, ...], tuple[tuple[Edit, Edit], ...]]:
    """What is proposed for several needs in the same words is one edit, whoever else is asked or answers: two trials of
    it would give it two verdicts. It stays with the first of these needs."""
    alike: dict[tuple[str, str | None, str], list[tuple[Offer, Edit]]] = {}
    for offer in offers:
        for edit in offer.edits:
            alike.setdefault((edit.op, edit.anchor, edit.rule), []).append((offer, edit))
    ranking = _Ranking()
    for (offer, edit), *others in alike.values():
        ranking.add(offer, edit, [other for other, _ in others])
    joined = tuple((edit, kept) for (_, kept), *others in alike.values() for _, edit in others)
    return tuple(ranking.offers.values()), joined


def _chosen(
    offers: Sequence[Offer], document: Document, room: int, fits: Callable[[Edit], bool], bench: Bench
) -> Merged:
    if not _to_choose(offers, room):
        return Merged(offers=tuple(offers))
    proposed = [(offer, edit) for offer in offers for edit in offer.edits]
    (heard,) = ask([_question(proposed, document, room, bench)], _Answer, bench)
    answer = heard.answer
    if isinstance(answer, CallFailed):
        return Merged(offers=tuple(offers), failure=answer)
    if not _sound(answer, len(proposed)):
        why = "the optimizer's ranking names edits that were not proposed, or one twice"
        return Merged(offers=tuple(offers), failure=CallFailed("schema", why))
    return _made(answer, proposed, room, fits)


def _to_choose(offers: Sequence[Offer], room: int) -> bool:
    """Whether several needs' edits are more than there is room for, or may say the same."""
    if len(offers) < 2:
        return False
    pairs = ((one, other) for a, b in combinations(offers, 2) for one in a.edits for other in b.edits)
    return sum(len(item.edits) for item in offers) > room or any(_overlap(one, other) for one, other in pairs)


def _overlap(one: Edit, other: Edit) -> bool:
    about = one.anchor is not None and one.anchor == other.anchor
    return about or similarity(one.sentence, other.sentence) >= OVERLAP


def _question(proposed: Sequence[tuple[Offer, Edit]], document: Document, room: int, bench: Bench) -> Question:
    texts = [text for offer, edit in proposed for text in (offer.need.text, edit.text or "", edit.anchor or "")]
    fence = fencing([document.text, *texts])
    listed = [
        {
            "op": edit.op,
            "text": fence(edit.text) if edit.text else "",
            "anchor": fence(edit.anchor) if edit.anchor else "",
            "wish": fence(offer.need.text),
        }
        for offer, edit in proposed
    ]
    words = {"path": document.path, "edits": listed, "document": fence(document.text), "room": room}
    return Question(purpose="merge", words=words | {"preferences": bench.preferences})


def _sound(answer: _Answer, count: int) -> bool:
    named = [number for item in answer.edits for number in item.of]
    return all(item.of for item in answer.edits) and len({*named}) == len(named) and {*named} <= {*range(1, count + 1)}


@dataclass(slots=True)
class _Ranking:
    """By need, what stays of its edits, in the order in which the needs were named."""

    offers: dict[str, Offer] = field(default_factory=dict)
    count: int = 0

    def add(self, offer: Offer, edit: Edit, beside: Sequence[Offer]) -> None:
        """Who words a rule for several needs has seen what was told of each: no task of those sessions judges it."""
        known = self.offers.get(offer.need.id, replace(offer, edits=()))
        unseen = tuple(task for task in known.held_out if all(task in other.held_out for other in beside))
        told = known.told.union(*(other.told for other in beside))
        self.offers[offer.need.id] = replace(known, edits=(*known.edits, edit), held_out=unseen, told=told)
        self.count += 1


def _made(answer: _Answer, proposed: Sequence[tuple[Offer, Edit]], room: int, fits: Callable[[Edit], bool]) -> Merged:
    ranking = _Ranking()
    late: list[Edit] = []
    joined: list[tuple[Edit, Edit]] = []
    for own, text in _in_order(answer, len(proposed)):
        (offer, edit), *others = (proposed[number - 1] for number in own)
        if ranking.count >= room:
            late.extend(edit for _, edit in [(offer, edit), *others])
            continue
        kept = _reworded(edit, text, fits) if others else edit
        ranking.add(offer, kept, [other for other, _ in others])
        joined.extend((other, kept) for _, other in others)
    return Merged(offers=tuple(ranking.offers.values()), late=tuple(late), joined=tuple(joined))


def _in_order(answer: _Answer, count: int) -> Iterator[tuple[tuple[int, ...], str | None]]:
    """What was chosen, and after it what was not named, as it was proposed."""
    yield from ((item.of, item.text) for item in answer.edits)
    named = {number for item in answer.edits for number in item.of}
    yield from (((number,), None) for number in range(1, count + 1) if number not in named)


def _reworded(edit: Edit, text: str | None, fits: Callable[[Edit], bool]) -> Edit:
    """The edit in the words of the merger, where these may be tried."""
    if edit.op == "delete" or text is None:
        return edit
    other = replace(edit, text=sentence(text))
    return other if other.id != edit.id and fits(other) else edit
