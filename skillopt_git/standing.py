"""What is said to stand from now on: "pnpm from now on", "ground rules: ..."."""

from __future__ import annotations

from skillopt_git.bans import forbidden_or_always, without_remark
from skillopt_git.clauses import trimmed
from skillopt_git.contrasts import contrast
from skillopt_git.grammar import Grammar
from skillopt_git.ids import fold
from skillopt_git.imperatives import Wish, name, read
from skillopt_git.norms import tells_norm
from skillopt_git.subjects import without_subject
from skillopt_git.tellings import unwanted

MOST_KEPT = 16  # words of a thing that is said to be kept to


def stands(text: str, grammar: Grammar, answer: str | None) -> Wish | None:
    """What is said to stand from now on."""
    rest, _ = without_subject(trimmed(text, grammar), grammar)
    habit = grammar.habit.match(text)
    if not rest and habit and grammar.verb_of(text[habit.end() :]) in grammar.verbs - grammar.once:
        rest = text[habit.end() :]  # "we build with task"
    if not rest or grammar.question.match(rest):
        return None
    rest = without_remark(grammar.naming.sub("", rest), grammar)
    own = forbidden_or_always(rest, grammar)
    if own is not None:
        return own
    if tells_norm(rest, grammar):
        return read(rest, grammar)
    if grammar.verb_of(rest) in grammar.verbs:
        prefix = grammar.cues.rule_prefix
        return read(f"{prefix} {rest[0].lower()}{rest[1:]}" if prefix else rest, grammar)
    chosen = contrast(rest, True, grammar, follows=True) or (unwanted(rest, answer, grammar) if answer else None)
    return chosen or _kept_to(rest, grammar)


def _kept_to(text: str, grammar: Grammar) -> Wish | None:
    """ "pnpm from now on", "type hints on all functions from now on": the thing alone."""
    words = text.split()
    if words and fold(words[0]) in grammar.idle:
        return None
    first_then = bool(words) and fold(words[0]) in grammar.timings and not grammar.verbs.isdisjoint(fold(text).split())
    if first_then and len(words) <= MOST_KEPT:
        return read(text, grammar)  # "before editing anything show me the list of files"
    if not words or grammar.being.search(text) or len(words) > MOST_KEPT or grammar.pointed(text):
        return None
    if len(words) == 1:
        return read(f"{grammar.cues.use[0]} {text}", grammar) if name(text, grammar) else None
    if fold(words[0]) in grammar.definite and grammar.cues.plural:
        return None  # "note: the API is down"
    if len(words) > 2:
        return read(text, grammar)
    if fold(words[0]) in grammar.definite:
        return None
    tells = not grammar.announcing.match(text) and not grammar.generic.intersection(map(grammar.stem, map(fold, words)))
    return read(f"{grammar.cues.use[0]} {text}", grammar) if tells else None
