"""Wishes that are told as how things are: "I don't want any ...", "we moved to ...", "it's `west build`"."""

from __future__ import annotations

import re

from skillopt_git.checks import check
from skillopt_git.contrasts import MOST_WORDS
from skillopt_git.grammar import Grammar
from skillopt_git.ids import fold
from skillopt_git.imperatives import Wish, contrast_in, name, read
from skillopt_git.model import Check
from skillopt_git.ports import Reply

COMMAND = re.compile(r"`(?P<name>[^`\s]+ [^`]+)`")  # of several words; one may be a value of this work


def told_of(text: str, grammar: Grammar, answer: str | None) -> Wish | None:
    """A wish that is told as how things are: "I don't want any ...", "we moved to ...", "... is banned"."""
    unwanted, missed, banned = grammar.unwanted.match(text), grammar.missed.match(text), grammar.banned.match(text)
    cues = grammar.cues
    named = _named(text, grammar) if answer is not None else None
    if named and check(Check(op="not_contains", arg=named), Reply(text=answer or "")):
        return read(f"{cues.use[0]} `{named}`", grammar)
    if unwanted and cues.none:
        thing = text[unwanted.end() :]
        first, _, rest = thing.partition(" ")
        general = fold(first) in grammar.definite and grammar.general.search(rest)
        return _thing(f"{cues.none[0]} {rest if general else thing}", rest if general else thing, grammar)
    if missed and answer is not None and cues.use:
        rest = text[missed.end() :]
        first = rest if contrast_in(rest, grammar) else rest.split()[0].strip(",.;")
        return _thing(f"{cues.use[0]} {first}", first, grammar, named=True)
    if banned and answer is not None and cues.verbs_last and cues.none:
        return _thing(f"{cues.none[0]} {banned['thing']}", banned["thing"], grammar)
    if banned and answer is not None and cues.not_ and cues.use:
        thing = banned["thing"]
        return _thing(f"{cues.not_[0]} {cues.use[0]} {thing}", thing, grammar)
    return None


def _named(text: str, grammar: Grammar) -> str | None:
    """ "it's `west build`, has been for half a year": what is to be typed."""
    found = grammar.naming.match(text)
    command = COMMAND.match(text[found.end() :]) if found else None
    return command["name"] if command else None


def _thing(rule: str, thing: str, grammar: Grammar, *, named: bool = False) -> Wish | None:
    """The rule, if it is about a kind of thing and not about the one at hand."""
    words = fold(thing).split()
    if not words or len(words) > MOST_WORDS or words[0].strip(",.") in grammar.common:
        return None
    if named and name(words[0].strip(",.;"), grammar) is None:
        return None
    return read(rule, grammar)


def lacks(core: str | None, answer: str | None, grammar: Grammar) -> bool:
    """ "we use pnpm", said of an answer that does not."""
    tool = grammar.tool.match(core) if core and answer else None
    thing = name(tool["prefer"], grammar) if tool else None
    return bool(answer and thing) and not check(Check(op="contains", arg=thing), Reply(text=answer or ""))


def unwanted(text: str, answer: str, grammar: Grammar) -> Wish | None:
    """ "no pip": a thing that the answer just had."""
    found = grammar.kind.match(text)
    words = text[found.end() :].split() if found else []
    if not words or fold(words[0]) in grammar.common or fold(words[0]) in grammar.idle:
        return None
    return read(text, grammar) if check(Check(op="contains", arg=words[0].strip(",.;:`")), Reply(text=answer)) else None


def habitual(text: str, grammar: Grammar) -> Wish | None:
    """ "plots always go to figures/": how a kind of thing is done, whoever does it."""
    found = grammar.subject_always.match(text)
    subject = found["subject"] if found else ":"
    at_hand = fold(subject.split()[0]) in grammar.definite and not grammar.norm.match(text)
    if found is None or at_hand or ":" in subject or grammar.being.search(subject) or grammar.pointed(subject):
        return None
    rest = found["rest"]
    return (
        read(text, grammar)
        if grammar.verb_of(rest) in grammar.verbs or fold(rest.split()[0]) in grammar.stops
        else None
    )
