"""Statements that forbid, or are kept to always: "never commit", "no emojis", "stop adding docstrings"."""

from __future__ import annotations

import re

from skillopt_git.grammar import Grammar
from skillopt_git.ids import fold
from skillopt_git.imperatives import Wish, read

AGAIN = re.compile(r"\s+again$", re.IGNORECASE)


def forbidden_or_always(text: str, grammar: Grammar, *, obliged: bool = False) -> Wish | None:
    marked = grammar.always_never.match(text)
    if marked:
        rest = text[marked.end() :]
        verb = grammar.verb_of(rest)
        known = verb in grammar.verbs or verb == "be" or (obliged and verb is not None and verb not in grammar.common)
        fit = known and fold(rest.split()[0]) not in grammar.limits
        return read(AGAIN.sub("", text), grammar) if fit else None
    negated = grammar.do_not.match(text)
    verb = grammar.verb_of(text[negated.end() :]) if negated else None
    if negated and (verb in grammar.verbs or not grammar.cues.verbs_last):
        fit = verb is not None and verb not in grammar.idle
        return read(AGAIN.sub("", text), grammar) if fit else None
    text = without_remark(text, grammar) if grammar.none.match(text) else text
    given_up = grammar.stop.match(text) or grammar.none.match(text)
    if given_up and grammar.pointers.isdisjoint(fold(text[given_up.end() :]).split()[:2]):
        head, rest = text[: given_up.end()], _ban(AGAIN.sub("", text[given_up.end() :]), grammar)
        return read(f"{head}{rest}", grammar) if _gives_up(text, given_up, grammar) else None
    return _in_the_middle(text, grammar)


def _in_the_middle(text: str, grammar: Grammar) -> Wish | None:
    """ "Antworte immer auf Deutsch", "schreib keine Kommentare", "die Migrationen nicht anfassen"."""
    marked = grammar.verb_always.match(text)
    verb = grammar.verb_of(text)
    bans = bool(grammar.forbids.match(text))
    fit = verb in grammar.verbs and (bans or verb not in grammar.once)
    if marked and fit and not grammar.pointed(text[: marked.end()]):
        return read(text, grammar) if fold((text[marked.end() :].split() or ["x"])[0]) not in grammar.idle else None
    inverted = grammar.inverted.match(text)
    if inverted:
        return read(f"{inverted['thing']} {inverted['word']} {inverted['verb']}", grammar)
    last = grammar.cues.verbs_last and grammar.not_last.search(text)
    told = grammar.auxiliaries.isdisjoint(fold(text).split()) and not grammar.pointed(text.split()[0])
    return read(text, grammar) if last and told else None


def _gives_up(text: str, found: re.Match[str], grammar: Grammar) -> bool:
    """ "stop" before what is done again and again, "no" before a kind of thing; "Stop the server" is done once."""
    body = text[found.end() :]
    rest = fold(body).split()
    if not rest or all(word in grammar.common for word in rest[:2]):
        return False
    if grammar.none.match(text):
        if rest[0] in grammar.idle or _reported(rest, grammar) or grammar.being.search(body):
            return False
        if len(rest) > 4 and grammar.others.search(text):
            return False
        return len(rest) <= 10 and (
            _plural(rest[:3], grammar) or (1 < len(rest) < 5 and not _told_or_counted(text, grammar))
        )
    gerund = grammar.cues.gerund
    if not gerund or rest[0].endswith(gerund) or fold(found[0]).strip() not in grammar.halts:
        return True
    return len(fold(found[0]).split()) > 1 and _plural(rest[:2], grammar)


def _reported(words: list[str], grammar: Grammar) -> bool:
    """ "no tests failed" tells what came of it."""
    past = grammar.cues.past
    told = (word.strip(",.;:") for word in words[1:4])
    return any(word in grammar.reported or (past and word.endswith(past)) for word in told)


def bans_kinds(text: str, grammar: Grammar) -> bool:
    """ "no emojis": a kind of thing, and none at hand."""
    found = grammar.none.match(text)
    rest = fold(text[found.end() :]).split() if found else []
    return (
        bool(rest)
        and rest[0] not in grammar.idle
        and not _reported(rest, grammar)
        and _plural(rest[:3], grammar)
        and grammar.definite.isdisjoint(fold(text).split())
    )


def _told_or_counted(text: str, grammar: Grammar) -> bool:
    return bool(grammar.being.search(text)) or any(map(str.isdigit, text))


def _plural(words: list[str], grammar: Grammar) -> bool:
    ending = grammar.cues.plural
    return not ending or any(re.search(rf"{ending}[,.;:)]*$|[(_./`]\w|\(", word) for word in words)


def _ban(text: str, grammar: Grammar) -> str:
    """A ban without the remark after it: "no summaries, the first two lines were all I needed"."""
    head, comma, rest = text.partition(",")
    first = rest.split()[:1]
    goes_on = not first or fold(first[0]).strip(".,;:") in {
        *grammar.verbs,
        *grammar.firm,
        *map(fold, grammar.cues.ands),
    }
    return text if not comma or goes_on or not head.strip() or grammar.firm & set(fold(rest).split()) else head


def without_remark(text: str, grammar: Grammar) -> str:
    """ "comments in English, our new colleague has no German": the wish without what tells why.

    A part that says when it holds stays ("unless it is a draft"), and so does all before it.
    """
    head, *parts = text.split(", ")
    kept = [at for at, part in enumerate(parts) if not grammar.limits.isdisjoint(fold(part).split())]
    told = (at for at, part in enumerate(parts) if grammar.being.search(part))
    end = max(max(kept, default=-1) + 1, next(told, len(parts)))
    return ", ".join([head, *parts[:end]])
