"""From a typed prompt to wishes: the cues by which a sentence asks for something to be kept to.

The cues are a language's table. A sentence that shows none of them is no wish: better to miss one than to invent one.
What asks for something once more ("also a line in the changelog") is a faint voice: it counts when it comes again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from skillopt_git.bans import bans_kinds
from skillopt_git.beside import beside_the_work, each_time
from skillopt_git.clauses import CITATION, Clause, clauses, questions
from skillopt_git.contrasts import MOST_WORDS, turns_down
from skillopt_git.grammar import Grammar
from skillopt_git.ids import fold
from skillopt_git.imperatives import RULE_LIMIT, Wish, read, use_instead
from skillopt_git.sameness import completes, opposed, same
from skillopt_git.similarity import plain
from skillopt_git.statements import meant

QUOTE_LIMIT = 300
MOST_VOICES = 20  # in one prompt
_CODE_SPAN = re.compile(r"`[^`]*`")
MOST_THINGS = 4  # words of a thing that is asked for without a verb
FAINT_LIMIT = 100  # characters of a wish that only counts when it comes again
# What holds for this moment or this machine only, or names somebody.
_ONE_OFF = re.compile(
    r"\[REDACTED:|https?://|@\w|(?<!\w)#\d+"
    r"|(?<!\w)(?:~/|/(?:home|Users|tmp|var|root|mnt|opt|data|srv|etc|usr)/|(?i:[a-z]):[\\/]|\$HOME\b|/(?:Volumes|private)/)"
    r"|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b"
    r"|\b(?!(?:UTF|ISO|RFC|PEP|SHA|MD|AES|RSA|ES|HTTP|TLS|CVE)-)[A-Z]{2,}-\d+\b"
    r"|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b(?:\d{1,3}\.){3}\d{1,3}\b"
    r"|\b(?i:build|port|ticket|issue) #?\d+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """One wish as it was typed.

    `faint`: it counts only when it comes again; `meant`: it clearly is a wish; `standing`: it is said to be kept to;
    `lasting`: it says so of itself ("always", "every"); `added`: it comes on top of what the prompt is about.
    """

    wish: Wish
    quote: str
    faint: bool = False
    standing: bool = False
    added: bool = False
    lasting: bool = False
    meant: bool = True


def voices(prompt: str, grammar: Grammar, *, answer: str | None, people: frozenset[str] = frozenset()) -> list[Voice]:
    """The wishes in one typed prompt, in order, each once.

    `answer` is what the prompt answers to, None if that is nothing; `people` are names, folded, that no rule may hold.
    """
    found: list[Voice] = []
    for clause in clauses(prompt, grammar):
        if len(found) > MOST_VOICES:
            return []  # so many at once are somebody's list, pasted
        if clause.retracts:
            found.clear()
            continue
        clause = replace(clause, text=grammar.reason.sub("", clause.text))
        for voice in _voices(clause, grammar, answer, found[-1].wish if found else None, people):
            if not private(voice.wish.text, people):
                _add(found, voice, grammar)
    if answer is not None:
        for clause in questions(prompt, grammar):
            asked = _voice(clause, grammar, answer, None, people)
            if asked is not None and not private(asked.wish.text, people):
                _add(found, asked, grammar)
    return [voice for voice in found if len(voice.wish.text) <= RULE_LIMIT]


def _add(found: list[Voice], voice: Voice, grammar: Grammar) -> None:
    if voice.faint and any(opposed(voice.wish, other.wish) for other in found):
        return  # "did you use npm? never use npm"
    last = found[-1] if found else None
    if last is not None and _thing_and_ban(last, voice, grammar):
        whole = read(f"{grammar.cues.use[0]} {_lower(last.wish.text)}, {_lower(voice.wish.text)}", grammar)
        found[-1] = replace(voice, wish=whole or voice.wish)
    elif last is not None and completes(last.wish, voice.wish):
        found[-1] = replace(last, wish=_whole(voice.wish, last.wish, grammar), faint=last.faint and voice.faint)
    elif last is not None and completes(voice.wish, last.wish):
        found[-1] = replace(last, wish=_whole(last.wish, voice.wish, grammar), faint=last.faint and voice.faint)
    else:
        like = next((at for at, other in enumerate(found) if same(voice.wish, other.wish)), None)
        if like is None:
            found.append(voice)
        elif found[like].faint and not voice.faint:
            found[like] = voice


def _thing_and_ban(last: Voice, voice: Voice, grammar: Grammar) -> bool:
    """ "pnpm please, we never use npm": what is wished for, and in one breath what is not."""
    bans = voice.wish.forbids and voice.wish.avoid and not voice.faint
    short = last.faint and not last.wish.forbids and len(last.wish.text.split()) <= MOST_THINGS
    return bool(bans and short and last.wish.asks and grammar.verb_of(last.wish.text) not in grammar.verbs)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _whole(asks: Wish, forbids: Wish, grammar: Grammar) -> Wish:
    return read(use_instead(asks.prefer or "", forbids.avoid or "", grammar), grammar) or asks


def private(rule: str, people: frozenset[str]) -> bool:
    """Whether a rule names a person, a machine's path or what held once."""
    return bool(_ONE_OFF.search(rule)) or any(
        {plain(word), plain(word).removesuffix("s")} & people for word in re.findall(r"\w+", fold(rule))
    )


def _voices(
    clause: Clause, grammar: Grammar, answer: str | None, before: Wish | None, people: frozenset[str]
) -> list[Voice]:
    """What a clause voices as a whole; where that is nothing firm, what each part of it does."""
    whole = _voice(clause, grammar, answer, before, people)
    if (whole is not None and whole.meant) or ", " not in clause.text or _momentary(clause.text, grammar):
        return [whole] if whole is not None else []
    parts = [part for part in clause.text.split(", ") if len(part.split()) > 1 and not grammar.consent.match(part)]
    parts = [part for part in parts if not grammar.contrasts.match(part)]
    conditions = {fold(part.split()[0]) for part in clause.text.split(", ") if part.split()} & grammar.limits
    parts = [] if conditions else parts  # a part would lose "if", "except" or "unless"
    parts = [grammar.opener.sub("", part) for part in parts]
    found = (_voice(replace(clause, text=part), grammar, answer, before, people) for part in parts)
    return [voice for voice in found if voice is not None] or ([whole] if whole is not None else [])


def _voice(
    clause: Clause, grammar: Grammar, answer: str | None, before: Wish | None, people: frozenset[str]
) -> Voice | None:
    if len(clause.text) > RULE_LIMIT or CITATION in clause.text or _momentary(clause.text, grammar):
        return None
    calm = clause.text.lower() if clause.text.isupper() else clause.text
    clause = replace(clause, text=calm)
    refused = clause.refused or (answer is not None and turns_down(calm, answer, grammar))
    wish, standing = meant(replace(clause, refused=refused), grammar, before, answer)
    wish = wish and _public(wish, grammar, people)
    wish = None if wish is None or _says_nothing(wish) else wish
    plain_ask = clause.asked and wish is not None and not wish.forbids and not grammar.general.search(wish.text)
    if wish is not None and plain_ask:
        return Voice(wish=replace(wish, asks=True), quote=clause.quote[:QUOTE_LIMIT], faint=True, meant=answer is None)
    if wish is not None:
        aside = bool(grammar.aside.match(clause.quote)) and bool(grammar.anywhere.search(wish.text))
        added = clause.adds or bool(grammar.remember.search(clause.text))
        alone = not (standing or _lasting(clause, wish, grammar))
        said = replace(wish, asks=True) if alone else wish
        quote = clause.quote[:QUOTE_LIMIT]
        lasting = bool(grammar.anywhere.search(wish.text) or grammar.general.search(wish.text))
        return Voice(
            wish=said,
            quote=quote,
            faint=alone,
            standing=standing or aside,
            added=added,
            lasting=lasting,
        )
    wish = each_time(clause, grammar)
    if wish is not None and not _says_nothing(wish):
        return Voice(wish=wish, quote=clause.quote[:QUOTE_LIMIT], lasting=True)
    if answer is None:
        wish = beside_the_work(clause, grammar)
        waits = wish is not None and len(wish.text) <= FAINT_LIMIT and not _says_nothing(wish)
        return Voice(wish=wish, quote=clause.quote[:QUOTE_LIMIT], faint=True) if wish and waits else None
    rest = grammar.standing.sub(" ", clause.text).strip(" ,;:") if standing else clause.text
    return _faint(replace(clause, text=rest), grammar) if rest else None


def _momentary(text: str, grammar: Grammar) -> bool:
    """ "no tests for today"; not so "in English from today on"."""
    return bool(grammar.momentary.search(grammar.standing.sub(" ", text)))


def _lasting(clause: Clause, wish: Wish, grammar: Grammar) -> bool:
    """Whether a wish counts by itself: by "always", by what "we" do, by a ban, by one thing rather than another, or in
    place of an answer that was turned down. Other words ("sentence case in headings") may be about this one work.
    """
    if grammar.anywhere.search(wish.text) or grammar.general.search(wish.text) or grammar.pair.match(wish.text):
        return True
    bans = grammar.do_not.match(wish.text) or grammar.stop.match(wish.text)
    told = (
        grammar.naming,
        grammar.obliged,
        grammar.negated,
        grammar.habit,
        grammar.unwanted,
        grammar.banned,
        grammar.told,
    )
    corrects = clause.refused and grammar.verb_of(wish.text) in grammar.verbs
    kinds = bans_kinds(wish.text, grammar)
    return bool(bans) or kinds or corrects or any(pattern.match(clause.text) for pattern in told)


def _says_nothing(wish: Wish) -> bool:
    """Whether nothing is left of a wish outside its talk; what is put in quotation marks is put into one place."""
    named = wish.telling or wish.names or wish.prefer or wish.avoid
    return not named or ('"' in _CODE_SPAN.sub("", wish.text) and not wish.forbids)


def _public(wish: Wish, grammar: Grammar, people: frozenset[str]) -> Wish | None:
    """The wish without a last part that names a person, a machine's path or what held once."""
    text = wish.text
    while private(text, people) and "," in text:
        text = text.rpartition(",")[0]
    return wish if text == wish.text else read(text, grammar)


# --- faint voices ------------------------------------------------------------------------------------------------


def _faint(clause: Clause, grammar: Grammar) -> Voice | None:
    """What is asked for after an answer without any cue that it holds for more than this one."""
    text = _asked_for(clause.text, grammar)
    if len(text) > FAINT_LIMIT or CITATION in text or grammar.question.match(text) or _momentary(text, grammar):
        return None
    if _acts(text, grammar) or not grammar.praise.sub("", text).strip() or grammar.consent.match(text):
        return None
    lone = len(text.split()) == 1
    if lone and fold(text) in grammar.words:
        return None
    wish = read(f"{grammar.cues.use[0]} {text}" if lone and clause.pleads else text, grammar, least=1)
    if wish is None or not wish.stems - grammar.generic - grammar.once:
        return None
    if len(wish.telling) < 2 and not (
        wish.asks or clause.pleads or clause.refused or wish.names or len(text.split()) < 4
    ):
        return None
    if grammar.pointed(text.split()[0]) and not (wish.asks or wish.names):
        return None
    firm = not lone and (_for_all(text, clause, wish, grammar) or _measured(text, clause, grammar))
    wish = replace(wish, asks=(wish.asks or clause.pleads) and (not lone or clause.pleads))
    return Voice(wish=wish, quote=clause.quote[:QUOTE_LIMIT], faint=not firm, meant=firm)


def _acts(text: str, grammar: Grammar) -> bool:
    """ "deploy the preview", "push it": a step that somebody decides each time."""
    words = [word.strip(",.:;!") for word in fold(text).split()]
    step = words[0] in grammar.steps
    return step and (len(words) < 3 or grammar.pointed(text) or not grammar.definite.isdisjoint(words))


def _asked_for(text: str, grammar: Grammar) -> str:
    """ "the changelog line is missing" asks to add it."""
    found, add = grammar.missing.match(text), grammar.cues.add
    if found is None or not add:
        return text
    thing = f"{found['thing']}{found['rest'] or ''}"
    return f"{thing} {add}" if grammar.cues.verbs_last else f"{add} {_lower(thing)}"


def _for_all(text: str, clause: Clause, wish: Wish, grammar: Grammar) -> bool:
    """ "a docstring on every function, please", "whenever you touch the API, bump the version"."""
    first = text.split()[0]
    if not grammar.general.search(grammar.standing.sub(" ", text)) or grammar.pointed(text):
        return False
    if clause.adds and grammar.verb_of(text) in grammar.verbs and not (clause.pleads or clause.refused):
        return False  # "and export the names of all users" is the next work
    if grammar.being.fullmatch(first):
        return False  # "I would be glad if ..."
    if len(text.split()) <= MOST_THINGS and wish.telling and not grammar.being.search(text):
        first = fold(text.split()[0])
        vague = first in grammar.common or first in grammar.stops
        return not vague and grammar.definite.isdisjoint(fold(text).split())  # "type hints everywhere"
    if fold(first) in grammar.definite and not grammar.cues.plural:
        return False
    verbs = [grammar.verb_of(part) for part in text.split(", ")]
    return any(verb in grammar.verbs and verb not in grammar.once for verb in verbs) or (
        wish.asks and not any(verb in grammar.once for verb in verbs)
    )


def _measured(text: str, clause: Clause, grammar: Grammar) -> bool:
    """ "shorter answers please", "keep comments to a minimum"."""
    if not grammar.degree.search(text) or grammar.pointed(text) or not grammar.definite.isdisjoint(fold(text).split()):
        return False
    verb = grammar.verb_of(text)
    return len(text.split()) <= MOST_WORDS and (verb in grammar.verbs - grammar.once or clause.pleads or clause.refused)


def every_task(rule: str, grammars: tuple[Grammar, ...]) -> bool:
    """Whether a rule is about every task ("always", "never") rather than about one kind of work."""
    return any(item.always_never.match(rule) for item in grammars)
