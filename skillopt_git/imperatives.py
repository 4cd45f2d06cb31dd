"""A wish: one rule in imperative words, the tools it prefers and avoids, its checks, and whether two are one need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from skillopt_git.clauses import trimmed
from skillopt_git.judges import check
from skillopt_git.model import Check, fold
from skillopt_git.ports import Reply

RULE_LIMIT = 200
SAME_WORDS = 0.75  # share of the longer wish's words that the shorter one has to have, with none of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One wish: the rule `text`, what it prefers and avoids where it names them, whether it forbids.

    `checks` are outcome checks from the words; none where the words name nothing to look for in an answer.
    """

    text: str
    prefer: str | None = None
    avoid: str | None = None
    forbids: bool = False
    checks: tuple[Check, ...] = ()


# --- tools -------------------------------------------------------------------------------------------------------

_STOP = (
    r"(?:for|in|to|when|on|with|from|as|because|if|unless|before|after|while|since|at|by|everywhere|first|then|and|"
    r"or|so|but|like|over|not|never|instead|rather|use)\b"
)
_WORD = r"(?:`[^`]+`|[^\s,;.!?`]+(?:[./:][^\s,;!?`]+)*)"
_TERM = rf"(?!{_STOP}){_WORD}(?:\s+(?!{_STOP}){_WORD}){{0,3}}"
_AFTER = r"(?=$|[,:]?\s)"
_REST = rf"{_AFTER}(?=$|[,:]?\s+{_STOP})"
_VERB = r"(?P<verb>use|run|call|write|prefer|switch to|install with|stick to|stick with)\s+"
PAIR = re.compile(
    rf"^(?:always\s+)?{_VERB}(?P<prefer>{_TERM})"
    rf",?\s+(?:and\s+)?(?P<word>not|never|instead of|rather than|over)\s+(?P<avoid>{_TERM}){_REST}",
    re.IGNORECASE,
)
BARE_PAIR = re.compile(rf"^(?P<prefer>{_WORD}),?\s+not\s+(?P<avoid>{_WORD})$", re.IGNORECASE)
BARE_SWAP = re.compile(rf"^not\s+(?P<avoid>{_WORD}),?\s+(?:but\s+)?(?P<prefer>{_WORD})$", re.IGNORECASE)
_TOOL = re.compile(
    rf"^(?:always\s+)?(?P<verb>use|run|call|switch to|install with)\s+(?P<prefer>{_TERM}){_REST}",
    re.IGNORECASE,
)
_UNUSED = re.compile(
    rf"^(?:(?:do not|never)\s+use|(?:avoid|stop|do not|never)\s+using)\s+(?P<avoid>{_TERM})$", re.IGNORECASE
)
_SWAP = re.compile(
    rf"^(?:(?:do not|never)\s+use|(?:avoid|stop)\s+using)\s+(?P<avoid>{_TERM})[,:]?\s+(?:but\s+)?"
    rf"use\s+(?P<prefer>{_TERM})$",
    re.IGNORECASE,
)
_QUALIFIED = frozenset({"prefer", "write", "stick to", "stick with"})  # take ideas as often as tools
_LAUNCHERS = frozenset(
    "bun bundle cargo composer conda deno docker dotnet git go gradle helm just kubectl make mix mvn npm npx pip pnpm "
    "podman poetry pytest python rake ruff swift terraform tox uv yarn".split()
)
_COMMON = frozenset(
    "a an the it this that these those them our your my me us some any all only both one two new more less plain "
    "english german french spanish italian dutch portuguese chinese japanese metric imperial "
    "snake_case camelcase kebab-case pascalcase".split()
)
_IDEA = re.compile(r"[a-z-]{2,}(?:[^suio\W]s|ions?|ing|ance|ence|ity|ment|ness)")


def name(term: str, *, qualified: bool = False) -> str | None:
    """What an answer that uses the term would literally say: a tool, a command, a quoted word; None for an idea.

    `qualified`: only what looks like code will do.
    """
    quoted = re.fullmatch(r"`([^`]+)`|\"([^\"]+)\"|'([^']+)'", term)
    if quoted:
        return (quoted[1] or quoted[2] or quoted[3]).strip() or None
    words = term.split()
    first, last = words[0].lower(), words[-1]
    if first in _COMMON or (len(words) > 1 and first not in _LAUNCHERS) or len(words) > 2:
        return None
    plain = last.isalpha() and last[1:].islower()
    return None if _IDEA.fullmatch(last) or (plain and qualified) or not re.search(r"\w", term) else term


def read(clause: str) -> Wish | None:
    """A clause in imperative words as a wish; None when too little or too much is left of it."""
    text = re.sub(r"^(?:don'?t|do not)\s+", "do not ", " ".join(trimmed(clause).split()), flags=re.IGNORECASE)
    if len(text.split()) < 2 or len(text) > RULE_LIMIT:
        return None
    swap = _SWAP.match(text)
    if swap:
        return read(f"use {swap['prefer']}, not {swap['avoid']}")
    forbids = bool(re.match(r"(?:do not|never|avoid|stop)\s", text, re.IGNORECASE))
    named = _UNUSED.match(text) if forbids else PAIR.match(text) or _TOOL.match(text)
    terms = named.groupdict() if named else {}
    verb = fold(terms.get("verb") or "")
    prefer, avoid = (terms.get("prefer"), terms.get("avoid"))
    if prefer and not avoid and name(prefer) is None:
        prefer = None
    return Wish(
        text=text[:1].upper() + text[1:],
        prefer=_bare_term(prefer),
        avoid=_bare_term(avoid),
        forbids=forbids,
        checks=_checks(*(name(term, qualified=verb in _QUALIFIED) if term else None for term in (prefer, avoid))),
    )


def wish_of(rule: str) -> Wish:
    """A rule's text read as the wish it states."""
    return read(rule) or Wish(text=rule)


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


def _contradict(one: Check, other: Check) -> bool:
    """Whether what one check asks an answer to say is what the other forbids."""
    pairs = ((one, other), (other, one))
    return any(
        asks.op == "contains" and forbids.op == "not_contains" and not check(forbids, Reply(text=str(asks.arg)))
        for asks, forbids in pairs
    )


# --- sameness ----------------------------------------------------------------------------------------------------

_CONTRAST = re.compile(
    rf"(?<!\bdo),?\s+(?:and\s+)?(?:not|never|instead of|rather than|over)\s+(?:the\s+)?{_TERM}", re.IGNORECASE
)
_FILLER = frozenset(
    "a an the our your my its we you i it any all every each always never do not don't avoid stop ever just simply "
    "please directly straight to in on at of for is are be".split()
)
_LIMITING = frozenset("no non not without except unless only if when until outside".split())
_ENDING = re.compile(r"(?:ing|ed|es|s|ly)$")


def same(one: Wish, other: Wish) -> bool:
    """Whether two wishes are one need. Wishes that name different tools, or forbid what the other asks, never are."""
    if _folded(one.text) == _folded(other.text):
        return True
    if one.forbids != other.forbids:
        return False
    if one.prefer and other.prefer and _folded(one.prefer) != _folded(other.prefer):
        return False
    if one.avoid and other.avoid:
        return _folded(one.avoid) == _folded(other.avoid) and bool(one.prefer) == bool(other.prefer)
    return _alike(_stems(one.text), _stems(other.text))


def completes(first: Wish, second: Wish) -> bool:
    """ "do not use Y" followed by no more than "use X" is the one wish "use X, not Y"."""
    whole = first.avoid and not first.prefer and second.prefer and not second.avoid
    return bool(whole) and _stems(second.text) == _stems(f"use {second.prefer}")


def opposed(one: Wish, other: Wish) -> bool:
    """Whether the later of the two takes the other back: one asks for what the other turns down."""
    return _turned_down(one, other) or _turned_down(other, one) or _same_but_forbidden(one, other)


def _turned_down(one: Wish, other: Wish) -> bool:
    return bool(one.prefer and other.avoid) and fold(one.prefer or "") == fold(other.avoid or "")


def _same_but_forbidden(one: Wish, other: Wish) -> bool:
    return one.forbids != other.forbids and _stems(one.text) == _stems(other.text)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """The same words, or the words of the other and few more, none of which limits or counts."""
    shorter, longer = (one, other) if len(one) <= len(other) else (other, one)
    if not shorter <= longer or len(shorter) < SAME_WORDS * len(longer):
        return False
    return not any(word in _LIMITING or any(map(str.isdigit, word)) for word in longer - shorter)


@lru_cache(maxsize=8192)  # a wish is held against every known need
def _folded(text: str) -> str:
    return fold(text)


@lru_cache(maxsize=8192)
def _stems(text: str) -> frozenset[str]:
    """The words that carry a wish, without their endings. What it turns down beside what it asks for is left out."""
    words = re.findall(r"[\w@./:+'#-]+", fold(_CONTRAST.sub("", text)))
    return frozenset(_stem(word.strip(".:'")) for word in words if word not in _FILLER)


def _stem(word: str) -> str:
    bare = _ENDING.sub("", word)
    if bare == word or len(bare) < 3:
        return word.removesuffix("e")
    return bare[:-1] if bare[-1] == bare[-2] else bare.removesuffix("e")
