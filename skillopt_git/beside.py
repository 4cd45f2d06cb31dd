"""Wishes that are said beside the work that is asked for: "run lint before every commit", "short answers, please"."""

from __future__ import annotations

from dataclasses import replace

from skillopt_git.clauses import Clause
from skillopt_git.grammar import Grammar
from skillopt_git.ids import fold
from skillopt_git.imperatives import Wish, read
from skillopt_git.norms import tells_norm

MOST_WORDS = 10  # of a wish without a verb


def each_time(clause: Clause, grammar: Grammar) -> Wish | None:
    """ "after every change tell me its size" is more than this one work; "add a hook before every commit" is it."""
    text = clause.text
    said = grammar.occasion.search(text)
    if said is None or grammar.question.match(text) or (said.start() and grammar.verb_of(text) in grammar.adding):
        return None
    asks = any(grammar.verb_of(part) in grammar.verbs for part in (text, text[said.end() :], *text.split(", ")))
    return _asking(read(text, grammar)) if asks else None


def beside_the_work(clause: Clause, grammar: Grammar) -> Wish | None:
    """What an ask turns down, calls usual or notes first, how it is to be answered, what it pleads for without a verb.

    It may be about this work only; but the like may come again.
    """
    text = clause.text
    if grammar.question.match(text) or grammar.pointed(text) or any(map(str.isdigit, text)):
        return None
    if clause.noted or clause.customary:
        told = tells_norm(text, grammar) or not grammar.being.search(text)
        at_hand = fold(text.split()[0]) in grammar.definite or grammar.verb_of(text) in grammar.once
        return _asking(read(grammar.as_usual.sub("", text), grammar)) if told and not at_hand else None
    about_answers = bool(grammar.answers.search(text))
    if not about_answers and not grammar.definite.isdisjoint(fold(text).split()):
        return None
    habit = grammar.habit.match(text)
    ours = (
        habit is not None and fold(habit[0]).strip() not in grammar.selves and grammar.tool.match(text[habit.end() :])
    )
    if habit and ours:
        return _asking(read(text[habit.end() :], grammar))
    does_without = bool(grammar.forbids.match(text))
    verbless = grammar.verb_of(text) not in grammar.verbs and len(text.split()) <= MOST_WORDS
    pleads = clause.pleads and verbless and not grammar.being.search(text)
    if not (does_without or pleads or (about_answers and grammar.degree.search(text))):
        return None
    return _asking(read(text, grammar))


def _asking(wish: Wish | None) -> Wish | None:
    return None if wish is None else replace(wish, asks=True)
