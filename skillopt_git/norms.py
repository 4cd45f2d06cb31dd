"""How things are done, told as such: "figures are always svg", "errors get wrapped here"."""

from __future__ import annotations

from skillopt_git.grammar import Grammar
from skillopt_git.ids import fold

MOST_WORDS = 16


def tells_norm(text: str, grammar: Grammar) -> bool:
    """Whether a statement may say how a kind of thing is done, and does not report on one ("the tests are red").

    It may as well be a fact ("orders go to the warehouse"), so it is no rule unless something else says so.
    """
    found = grammar.norm.match(text)
    if found is None or len(text.split()) > MOST_WORDS or grammar.forbids.match(text):
        return False
    subject, rest = (_words(found[part]) for part in ("subject", "rest"))
    vague = subject[0] in grammar.stops or not grammar.auxiliaries.isdisjoint(subject)
    at_hand = (
        vague
        or not grammar.definite.isdisjoint(subject[:2])
        or any(map(str.isdigit, found["subject"]))
        or not grammar.pointers.isdisjoint(subject)
    )
    spoken_of = grammar.habit.match(text.replace("'", " ")) or grammar.others.match(text)
    gerund = grammar.cues.gerund
    reports = (
        rest[0] in grammar.negations or (gerund and rest[0].endswith(gerund)) or grammar.state.search(found["rest"])
    )
    return not (at_hand or spoken_of or reports)


def _words(text: str) -> list[str]:
    return [word.strip(",.:;!") or word for word in fold(text).split()]
