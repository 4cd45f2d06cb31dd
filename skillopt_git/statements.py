"""The wish that a single statement makes: by its own cue, as the other half of a refusal, or told as how things are."""

from __future__ import annotations

import re

from skillopt_git.bans import AGAIN, forbidden_or_always
from skillopt_git.clauses import Clause
from skillopt_git.contrasts import contrast, firm_pair
from skillopt_git.grammar import Grammar
from skillopt_git.imperatives import Wish, read
from skillopt_git.sameness import completes
from skillopt_git.standing import stands
from skillopt_git.subjects import without_subject
from skillopt_git.tellings import habitual, lacks, told_of, unwanted


def meant(clause: Clause, grammar: Grammar, before: Wish | None, answer: str | None) -> tuple[Wish | None, bool]:
    """The wish a clause states by its own cue, or as the other half of a refusal; and whether it is a standing one."""
    text = clause.text
    insisted = grammar.told.match(text)
    text = text[insisted.end() :] if insisted else text
    if not text.strip():
        return None, False
    reminded = grammar.remember.search(text)
    standing = grammar.standing.search(text)
    head = text[: standing.start()] if standing else ""
    if ": " in head:  # "change of plan: commit messages in English from today"
        text = text[head.rindex(": ") + 2 :]
    asked_always = bool(grammar.plea_always.search(text)) and grammar.verb_of(text) not in grammar.verbs
    if reminded or standing or clause.announced or asked_always:
        rest = grammar.remember.sub("", text) if reminded else text
        rest = _closed(grammar.standing.sub(" ", rest)) if standing else rest
        wish = stands(rest, grammar, answer)
        return wish, True
    told = told_of(text, grammar, answer)
    if told is not None:
        return told, False
    core, obliged = without_subject(text, grammar)
    refused = clause.refused or insisted is not None or (core != text and lacks(core, answer, grammar))
    if core is None or grammar.question.match(core):
        return None, False
    if answer is None and core == text and not grammar.anywhere.search(core) and not grammar.general.search(core):
        return (read(core, grammar) if firm_pair(core, grammar) else None), False
    if answer is None and obliged and not grammar.anywhere.search(core) and not grammar.forbids.match(core):
        return (read(core, grammar) if firm_pair(core, grammar) else None), False
    wish = (
        forbidden_or_always(core, grammar, obliged=core != text and not grammar.habit.match(text))
        or (unwanted(core, answer, grammar) if answer is not None else None)
        or (habitual(core, grammar) if answer is not None else None)
        or contrast(core, refused or obliged, grammar, follows=answer is not None)
        or _bare(core, refused, obliged, before, grammar)
    )
    return wish, False


def _closed(text: str) -> str:
    """What is left when words were taken out of the middle."""
    return re.sub(r"\s+([,;:])", r"\1", " ".join(text.split())).strip(" ,;:")


def _bare(text: str, refused: bool, obliged: bool, before: Wish | None, grammar: Grammar) -> Wish | None:
    """An imperative without a cue of its own: a wish if an answer was turned down, or to go with "do not use Y"."""
    verb = grammar.verb_of(text)
    if verb not in grammar.verbs or AGAIN.search(text) or (grammar.pair.match(text) and grammar.pointed(text)):
        return None
    once = verb in grammar.once or any(map(str.isdigit, text))  # a value is one work's
    if (obliged and verb not in grammar.once and not grammar.pointed(text)) or (refused and not once):
        return read(text, grammar)
    wish = read(text, grammar) if before is not None else None
    return wish if wish and before and completes(before, wish) else None
