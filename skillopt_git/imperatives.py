"""A wish: one rule in imperative words, the tools it prefers and avoids, its checks, and whether two are one need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from skillopt_git.checks import check
from skillopt_git.clauses import trimmed
from skillopt_git.grammar import QUOTED, Grammar
from skillopt_git.ids import fold
from skillopt_git.model import Check, CheckPlace
from skillopt_git.ports import Reply
from skillopt_git.saying import says_in_code

RULE_LIMIT = 200
MOST_RULES = 20_000  # that are kept as they were read: one night reads each several times
SAID_LIMIT = 20_000  # characters of an answer whose words are looked at
ADDING = "+"  # stands for every verb that asks for something to be there
USUAL = "en"  # the language of most words about code, where others have the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One wish: the rule `text`, what it prefers and avoids where it names them, whether it forbids.

    `checks` are outcome checks from the words; none where the words name nothing to look for in an answer. `stems` are
    the words that carry it, without endings, `telling` those of them that not every other wish has, `names` what looks
    like code (files, functions, flags), `means` those of the telling words that few wishes about code have, without the
    one it begins with (what it is about), `limits` the words that say where it holds, `timing` those that say when a
    thing is to be done;
    `asks`: it begins with a verb that asks, or says that something is to be otherwise. `moved` are those of its telling
    words and names that came into the next answer, or went out of it; `coded` those of them that stood in its code, as
    typed, with a plus or a minus before; `gone`: something went out.
    """

    text: str
    prefer: str | None = None
    avoid: str | None = None
    forbids: bool = False
    checks: tuple[Check, ...] = ()
    stems: frozenset[str] = frozenset()
    telling: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    means: frozenset[str] = frozenset()
    limits: frozenset[str] = frozenset()
    timing: frozenset[str] = frozenset()
    asks: bool = False
    verb: str = ""
    moved: frozenset[str] = frozenset()
    coded: frozenset[str] = frozenset()
    gone: bool = False


# --- tools -------------------------------------------------------------------------------------------------------

_LAUNCHERS = frozenset(
    "bun bundle cargo composer conda deno docker dotnet git go gradle helm just kubectl make mix mvn npm npx pip pnpm "
    "podman poetry pytest python rake ruff swift terraform tofu tox uv yarn".split()
)
_COMMON = frozenset(
    "a an the it this that these those them our your my me us some any all only both one two new more less plain "
    "english german french spanish italian dutch portuguese chinese japanese metric imperial "
    "snake_case camelcase kebab-case pascalcase tabs spaces".split()
)
_IDEA = re.compile(r"[a-z-]{2,}(?:[^\W\d_suio]s|ions?|ing|ance|ence|ity|ment|ness)")
_GERMAN_IDEA = re.compile(r"[a-zäöüß]{3,}(?:ung|ungen|heit|keit|schaft|en)", re.IGNORECASE)
_QUOTED = re.compile(QUOTED)


def name(term: str, grammar: Grammar, *, qualified: bool = False) -> str | None:
    """What an answer that uses the term would literally say: a tool, a command, a quoted word; None for an idea.

    `qualified`: only what looks like code will do.
    """
    if _QUOTED.fullmatch(term):
        return term[1:-1].strip() or None
    words = term.split()
    first, last = words[0].lower(), words[-1]
    if first in _COMMON or (len(words) > 1 and first not in _LAUNCHERS) or len(words) > 2:
        return None
    plain = last.isalpha() and last[1:].islower()
    idea = _IDEA.fullmatch(last) or _GERMAN_IDEA.fullmatch(last) or last.casefold() in grammar.common
    return None if idea or (plain and qualified) or not re.search(r"\w", term) else term


def read(clause: str, grammar: Grammar, *, least: int = 2) -> Wish | None:
    """A clause in imperative words as a wish; None when too little (fewer words than `least`) or too much is left."""
    text = grammar.do_not.sub(lambda found: _spelled_out(found[0], grammar), " ".join(trimmed(clause, grammar).split()))
    if len(text.split()) < least or len(text) > RULE_LIMIT:
        return None
    swap = grammar.swap.match(text)
    if swap:
        return read(use_instead(swap["prefer"], swap["avoid"], grammar), grammar)
    text = _uncapitalised(text)
    ban = grammar.forbids.match(text)
    left = ban is None and not grammar.occasion.search(text) and bool(grammar.left.search(text))
    prefer, avoid, qualified = _terms(text, ban is not None, grammar)
    body = text[ban.end() :] if ban else text
    if ban and fold(body).split()[:1] and fold(body).split()[0] in grammar.halts:
        return None  # "don't stop adding comments"
    bounds = grammar.limits.intersection(_words(grammar.contrast.sub("", grammar.left.sub("", body) if left else body)))
    return Wish(
        text=text[:1].upper() + text[1:],
        prefer=_bare_term(prefer),
        avoid=_bare_term(avoid),
        forbids=ban is not None or left,
        checks=_checks(*(name(term, grammar, qualified=qualified) if term else None for term in (prefer, avoid))),
        stems=stems(body, grammar),
        telling=_telling(body, grammar),
        names=_names(text),
        means=_means(body, grammar),
        verb=_verb(body, grammar),
        asks=grammar.verb_of(text) in grammar.verbs or bool(grammar.wanting.search(text)),
        limits=bounds if ban else bounds - grammar.timings,
        timing=frozenset() if ban else bounds & grammar.timings,
    )


def use_instead(prefer: str, avoid: str, grammar: Grammar) -> str:
    """The plainest rule about two things."""
    cues = grammar.cues
    return f"{cues.use[0]} {prefer}, {(cues.firm or cues.instead)[0]} {avoid}"


def _verb(body: str, grammar: Grammar) -> str:
    """What is to be done or not: the verb's stem, one for all that ask for something to be there, none for using."""
    verb = grammar.verb_of(body)
    if (
        verb is None
        or verb in grammar.use
        or grammar.stem(verb) in grammar.generic - {grammar.stem(word) for word in grammar.adding}
    ):
        return ""
    gerund = grammar.cues.gerund
    known = verb in grammar.verbs or bool(gerund and verb.endswith(gerund))
    return ADDING if verb in grammar.adding else grammar.stem(verb) if known else ""


def _uncapitalised(text: str) -> str:
    """As it would stand inside a sentence, so that a rule reads like the words it came from."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _spelled_out(words: str, grammar: Grammar) -> str:
    return f"{grammar.cues.not_[0]} " if fold(words) in grammar.contracted else words


def _terms(text: str, forbids: bool, grammar: Grammar) -> tuple[str | None, str | None, bool]:
    """What a wish prefers and avoids, and whether only what looks like code counts as a name there."""
    if " both " in f" {fold(text)} ":
        return None, None, False  # neither of two is meant by itself
    if forbids:
        unused = grammar.unused.match(text)
        avoid = unused["avoid"] if unused else _no_thing(text, grammar)
        avoid = _plain(avoid) if avoid else None
        return None, avoid if avoid and name(avoid, grammar) else None, False
    found = grammar.pair.match(text) or grammar.tool.match(text) or contrast_in(text, grammar)
    if found is None:
        return None, None, False
    terms = found.groupdict()
    prefer, avoid = (_without_verbs(terms.get(part), grammar) for part in ("prefer", "avoid"))
    verb = terms.get("verb")
    if prefer and not avoid and name(prefer, grammar) is None:
        prefer = None
    return prefer, avoid, verb is not None and fold(verb) in grammar.qualified


def contrast_in(text: str, grammar: Grammar) -> re.Match[str] | None:
    """ "named exports instead of default exports". A bare "not" contrasts two things only after a comma."""
    found = grammar.loose_pair.search(text)
    if found is None or fold(found["word"]) not in grammar.firm:
        return found
    between = text[found.end("prefer") : found.start("word")]
    return found if "," in between or ";" in between else None


def _plain(term: str) -> str:
    words = term.split()
    return " ".join(words[1:] if len(words) > 1 and words[0].lower() in _COMMON else words)


def _no_thing(text: str, grammar: Grammar) -> str | None:
    """ "no pip": the thing, where it is one that an answer would name."""
    found = grammar.kind.match(text)
    thing, _, rest = text[found.end() :].partition(", ") if found else ("", "", "")
    if rest and fold(rest.split()[0]) not in grammar.limits:
        return None  # a remark; "no testify, only the plain testing package" is none
    return thing if thing and len(thing.split()) == 1 and name(thing, grammar) else None


def _without_verbs(term: str | None, grammar: Grammar) -> str | None:
    """Verbs that a language puts beside the thing are not of its name."""
    if term is None or not grammar.cues.verbs_last:
        return term
    words = term.split()
    kept = [word for word in words if fold(word) not in grammar.verbs and fold(word) not in grammar.common]
    return " ".join(kept or words)


@lru_cache(MOST_RULES)
def wish_of(rule: str, grammars: tuple[Grammar, ...]) -> Wish:
    """A rule's text read as the wish it states, by the grammars that know most of its words."""
    words = _words(rule)
    known = {item.language: item.talks(words) for item in grammars}
    fit = [item for item in grammars if known[item.language] == max(known.values(), default=0)]
    fit.sort(key=lambda item: item.language != USUAL)
    found = [wish for wish in (read(rule, item) for item in fit) if wish is not None]
    whole = Wish(text=rule, stems=frozenset(_words(rule)), telling=frozenset(_words(rule)), names=_names(rule))
    return max(found, key=lambda wish: (bool(wish.prefer) + bool(wish.avoid), wish.forbids), default=whole)


def _bare_term(term: str | None) -> str | None:
    return None if term is None else re.sub(r"^(?:the|an?)\s+", "", term, flags=re.IGNORECASE).strip("`'\"").strip()


_NUMBER = re.compile(r"[+-]?\d[\d.,_]*%?|zero|three|four|five|six|seven|eight|nine|ten|twelve", re.IGNORECASE)


def _checks(prefer: str | None, avoid: str | None) -> tuple[Check, ...]:
    """A number alone is no name: it stands in any answer, whatever it counts there."""
    asked = (Check(op="contains", arg=prefer, role="outcome"),) if prefer and not _NUMBER.fullmatch(prefer) else ()
    unasked = (Check(op="not_contains", arg=avoid, role="outcome"),) if avoid and not _NUMBER.fullmatch(avoid) else ()
    return consistent((*asked, *unasked))


def consistent(checks: Sequence[Check]) -> tuple[Check, ...]:
    """The checks that one answer can pass together, each once: where two contradict each other the earlier stands."""
    kept: list[Check] = []
    for item in checks:
        if item not in kept and not any(_contradict(item, other) for other in kept):
            kept.append(item)
    return tuple(kept)


PLACES: tuple[CheckPlace, ...] = ("command", "code")


def placed(checks: Sequence[Check], wrong: Sequence[str], right: Sequence[str]) -> tuple[Check, ...]:
    """The checks of one wish, looking only at commands or code where the answers around it have its words there.

    What was wrong has to be seen there, too: a word that was turned down in prose is looked for in prose.
    """
    words = [item for item in checks if item.op in ("contains", "not_contains")]
    for place in PLACES:
        if any(_stands(item, place, right if item.op == "contains" else wrong) for item in words) and all(
            _stands(item, place, wrong) for item in words if item.op == "not_contains"
        ):
            return tuple(replace(item, where=place) if item in words else item for item in checks)
    return tuple(checks)


def _stands(item: Check, place: CheckPlace, answers: Sequence[str]) -> bool:
    there = Check(op="contains", arg=item.arg, where=place)
    return any(check(there, Reply(text=answer)) for answer in answers)


def _contradict(one: Check, other: Check) -> bool:
    """Whether what one check asks an answer to say is what the other forbids."""
    pairs = ((one, other), (other, one))
    return any(
        asks.op == "contains" and forbids.op == "not_contains" and not check(forbids, Reply(text=str(asks.arg)))
        for asks, forbids in pairs
    )


# --- words -------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"[\w@./:+'#%\\-]+")


def _words(text: str) -> list[str]:
    return [word.strip(".:'-/") or word for word in _TOKEN.findall(fold(text))]


def stems(text: str, grammar: Grammar) -> frozenset[str]:
    """The words that carry a wish, without their endings. What it turns down beside what it asks for is left out."""
    words = _words(grammar.contrast.sub("", text))
    return frozenset(grammar.stem(word) for word in words if word and word not in grammar.common)


def _telling(text: str, grammar: Grammar) -> frozenset[str]:
    """All words that may tell one wish from another, also those of what it turns down."""
    parts = [
        part
        for word in _words(text)
        for part in (word.split("-") if re.fullmatch(r"[^\W\d_]+(?:-[^\W\d_]+)+", word) else [word])
    ]
    words = {grammar.stem(word) for word in parts if word not in grammar.common and word not in grammar.once}
    return frozenset(word for word in words if word not in grammar.generic and (len(word) > 1 or word.isdigit()))


def _means(text: str, grammar: Grammar) -> frozenset[str]:
    words = _words(text)
    topic = grammar.stem(words[0]) if words and not text.startswith("`") else ""
    verbs = frozenset(map(grammar.stem, grammar.verbs))
    return _telling(text, grammar) - grammar.ordinary - verbs - {topic}


def moved(wish: Wish, grammar: Grammar, *, ask: str, before: str, after: str) -> Wish:
    """The wish with what it changed in the answer. What was asked for anyway is changed by no wish."""
    if not before or not after:
        return wish
    asked, had, has = (said(text, grammar) for text in (ask, before, after))
    telling = (wish.telling | wish.names) - grammar.ordinary
    changed = {word for word in telling if (word in had) != (word in has) and word not in asked}
    typed = [word for word in _words(wish.text) if grammar.stem(word) in changed or word in changed]
    came = (f"+{word}" for word in typed if says_in_code(after, word))
    went = (f"-{word}" for word in typed if says_in_code(before, word))
    return replace(wish, moved=frozenset(changed), coded=frozenset((*came, *went)), gone=not changed <= has)


def content(text: str, grammar: Grammar) -> frozenset[str]:
    """The words of a text that tell what it is about, by their stems."""
    known = {*grammar.words, *grammar.pointers, *grammar.once}
    words = (grammar.stem(word) for word in _words(text[:SAID_LIMIT]) if word not in known)
    return frozenset(words) - grammar.generic - grammar.ordinary


def said(text: str, grammar: Grammar) -> frozenset[str]:
    """The words of a text by their stems, and what is written like code in it."""
    words = _words(text[:SAID_LIMIT])
    parts = (part for word in words for part in {word, *re.split(r"[^\w]+|_", word)} if part)
    return frozenset(map(grammar.stem, parts)) | _names(text[:SAID_LIMIT])


_CODE = re.compile(
    r"`([^`]+)`|(?<![\w.])([\w.-]*/[\w./-]+|[\w-]+\.[a-z]{2,5}\b|\w+\(\)|--?[a-z][\w-]*|\\[a-z]+|\w+_\w+)"
)


def _names(text: str) -> frozenset[str]:
    """What is written like code, whole and by its last part: `locales/de.json` is also `de.json`."""
    found = {fold(quoted or plain) for quoted, plain in _CODE.findall(text)}
    return frozenset(found | {name.rsplit("/", 1)[-1] for name in found if "/" in name} - {""})
