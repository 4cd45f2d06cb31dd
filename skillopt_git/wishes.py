"""From a typed sentence to a wish: an imperative rule close to the user's own words, and how to check an answer.

The cues are English. A sentence that shows none of them is no wish: better to miss one than to invent one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skillopt_git.model import Check, fold
from skillopt_git.similarity import token_similarity

RULE_LIMIT = 200
SAME_WISH = 0.85  # token similarity of two wishes' words, polarity and named tools being equal

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_CLAUSE_END = re.compile(
    r"(?<=[.!?;])\s+|\n+|\s+[—–]\s+|\s+-{1,2}\s+"
    r"|,?\s+(?:and|but|so)\s+(?=(?:we|you|i|please|always|never|don't|do not)\s)",
    re.IGNORECASE,
)
_QUOTED_LINE = re.compile(r"^\s*(?:>|\||\$ |at \S+\(|\[?\d{4}-\d\d-\d\d[T ]\d\d:)")
_OPENER = re.compile(
    r"^(?:(?:no+|nope|nah|wrong|stop|wait|actually|sorry|ok(?:ay)?|hm+|hey|well|great(?: idea)?|good|nice|thanks|"
    r"thank you|not (?:quite|that|like that)|"
    r"that(?:'s| is) (?:wrong|not (?:it|right)))\b\s*[,.:;!—–-]+\s*|(?:but|and|so|also|please|then|just)\b,?\s+)+",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"^(?:no+|nope|nah|wrong|stop|wait|actually|not (?:quite|that|like that)|that(?:'s| is) (?:wrong|not))\b"
    r"\s*(?:[,.:;!—–-]|please\b|don'?t\b|do not\b|use\b|$)|^(?:great|good|nice|ok(?:ay)?|fine)\b[^.]{0,30}\bbut\b",
    re.IGNORECASE,
)
_STANDING = re.compile(
    r"^(?:from now on|in (?:the )?future|going forward|next time|remember(?: to)?)\b,?\s*(?:please\s+)?", re.IGNORECASE
)
_STANDING_TAIL = re.compile(r",?\s+(?:from now on|in (?:the )?future|going forward)$", re.IGNORECASE)
_SUBJECT = re.compile(
    r"^(?:(?:in|for) (?:this|our) (?:repo(?:sitory)?|project|code ?base),?\s+)?(?:we|you|i)\s+"
    r"(?:(?:should|must|have to|need to|want you to|would like you to|said)\s+)?",
    re.IGNORECASE,
)
_ALWAYS_NEVER = re.compile(r"^(always|never)\s+(?=\w)", re.IGNORECASE)
_NEGATIVE = re.compile(r"^(?:please\s+)?(?:don'?t|do not|never|avoid|stop)\s+", re.IGNORECASE)
_MAKE_SURE = re.compile(r"^(?:make sure|be sure)\s+(?:to|you|that you)\s+(?=\w)", re.IGNORECASE)
_TAIL = re.compile(
    r"[,\s]+(?:please|here|instead|again|thanks|thank you|ok(?:ay)?|(?:in|for) (?:this|our) "
    r"(?:repo(?:sitory)?|project|code ?base))$",
    re.IGNORECASE,
)
_IMPERATIVES = frozenset(
    "add answer append apply ask begin call capitalise capitalize check cite close commit convert create delete "
    "document drop end explain export follow format give import include indent install keep leave limit link list "
    "make mark mention move name omit open order pass pin place prefer prefix print push put quote read rebase "
    "remove rename reply report return round run say set show sign sort spell split start state stick switch tag "
    "test translate try type update use validate wrap write".split()
)
_TERM = r"[^\s,;.!?]+(?:[./:][^\s,;!?]+)*(?:\s+[^\s,;.!?]+){0,3}?"
_PAIR = re.compile(
    rf"^(?P<verb>use|run|call|write|prefer|switch to|install with|stick to)\s+(?P<prefer>{_TERM})"
    rf"(?:,?\s+(?:and\s+)?(?:not|never)|,?\s+instead of|,?\s+rather than|\s+over)\s+(?:the\s+)?(?P<avoid>{_TERM})$",
    re.IGNORECASE,
)
_BARE_PAIR = re.compile(rf"^(?P<prefer>{_TERM}),\s*not\s+(?P<avoid>{_TERM})$", re.IGNORECASE)
_TOOL = re.compile(r"^(?:always\s+)?(?:use|run|call)\s+(?P<tool>`[^`]+`|[A-Za-z0-9_@][\w./:@+-]*)", re.IGNORECASE)
_UNUSED = re.compile(
    r"^(?:do not|never|avoid|stop)\s+(?:use|using)\s+(?:the\s+)?(?P<tool>`[^`]+`|[\w./:@+-]+)$", re.IGNORECASE
)
_SWAP = re.compile(
    rf"^(?:(?:do not|never|avoid)\s+(?:use|using)|stop using)\s+(?:the\s+)?(?P<avoid>{_TERM})[,:]?\s+(?:but\s+)?"
    rf"use\s+(?:the\s+)?(?P<prefer>{_TERM})$",
    re.IGNORECASE,
)
_COMMON = frozenset("a an the it this that these those them our your my some any all only both one two new".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One wish: the rule `text`, what it prefers and avoids where it names both, and whether it forbids."""

    text: str
    prefer: str | None = None
    avoid: str | None = None
    forbids: bool = False

    @property
    def checks(self) -> tuple[Check, ...]:
        """Outcome checks from the words; none where the words name nothing to look for."""
        if self.prefer and self.avoid:
            asked = Check(op="contains", arg=self.prefer, role="outcome")
            return (asked,) if self._nested else (asked, _without(self.avoid))
        if self.avoid:
            return (_without(self.avoid),)
        return (Check(op="contains", arg=self.prefer, role="outcome"),) if self.prefer else ()

    @property
    def _nested(self) -> bool:
        """Whether the preferred term holds the avoided one ("uv pip", "pip"): its absence cannot be asked for."""
        return bool(self.prefer and self.avoid) and fold(self.avoid or "") in fold(self.prefer or "").split()


def _without(term: str) -> Check:
    return Check(op="not_contains", arg=term, role="outcome")


def everywhere(rule: str) -> bool:
    """Whether a rule is about every task ("always", "never") rather than about one kind of work."""
    return bool(_ALWAYS_NEVER.match(rule))


def wishes(prompt: str) -> tuple[Wish, ...]:
    """The wishes in one typed prompt, in order, each once.

    Quoted lines, logs and code blocks are not the user's words.
    """
    text = _FENCE.sub("\n", prompt.replace("\u2019", "'").replace("\u2018", "'"))
    lines = [line for line in text.split("\n") if not _QUOTED_LINE.match(line)]
    refused = False
    found: list[Wish] = []
    for sentence in _CLAUSE_END.split("\n".join(lines)):
        refused = refused or bool(_REFUSAL.match(sentence.strip()))
        wish = _sentence_wish(sentence.strip(), refused=refused)
        if wish is not None:
            found.append(wish)
    return _joined(found)


def wish_of(rule: str) -> Wish:
    """A rule's text read as the wish it states."""
    return _read(rule) or Wish(text=rule)


def _sentence_wish(sentence: str, *, refused: bool) -> Wish | None:
    """`refused`: a sentence before, or this one, turned the answer down, so that a bare imperative is a wish."""
    if not sentence or len(sentence) > 2 * RULE_LIMIT or sentence.endswith("?"):
        return None
    clause = _OPENER.sub("", sentence).strip().rstrip(".!;:, ")
    clause = _trimmed(clause)
    standing = _STANDING.match(clause) or _STANDING_TAIL.search(clause)
    if standing:
        return _standing_wish(clause[: standing.start()] + clause[standing.end() :])
    clause = _MAKE_SURE.sub("", clause) if refused else clause
    subject = _SUBJECT.match(clause)
    bare = clause[subject.end() :] if subject else clause
    if _ALWAYS_NEVER.match(bare) or _NEGATIVE.match(bare):
        return _read(bare)
    if subject and bare.lower().startswith("use "):
        return _read(bare)
    if refused and (_is_imperative(bare) or _BARE_PAIR.match(bare)) and not (subject and not _PAIR.match(bare)):
        return _read(bare)
    return _read(bare) if not subject and _PAIR.match(bare) and _says_not(bare) else None


def _says_not(clause: str) -> bool:
    """ "use X, not Y" corrects by itself; "use X instead of Y" may be a plain ask."""
    return bool(re.search(r",?\s+not\s", clause, re.IGNORECASE))


def _trimmed(clause: str) -> str:
    while True:
        shorter = _TAIL.sub("", clause).rstrip(".!;:, ")
        if shorter == clause:
            return clause
        clause = shorter


def _standing_wish(rest: str) -> Wish | None:
    subject = _SUBJECT.match(rest)
    rest = rest[subject.end() :] if subject else rest
    if not _ALWAYS_NEVER.match(rest) and not _NEGATIVE.match(rest):
        if not _is_imperative(rest):
            return None
        rest = f"always {rest}"
    return _read(rest)


def _is_imperative(clause: str) -> bool:
    first = re.match(r"[A-Za-z]+", clause)
    return bool(first) and first.group().lower() in _IMPERATIVES and len(clause.split()) > 1 if first else False


def _read(clause: str) -> Wish | None:
    """A clause in imperative words as a wish; None when too little or too much is left of it."""
    clause = " ".join(_trimmed(clause).split())
    if len(clause.split()) < 2 or len(clause) > RULE_LIMIT:
        return None
    inner = _ALWAYS_NEVER.sub("", clause) if clause.lower().startswith("always ") else clause
    pair = _PAIR.match(inner) or _BARE_PAIR.match(inner)
    if pair:
        prefer, avoid = _term(pair["prefer"]), _term(pair["avoid"])
        text = clause if "verb" in pair.groupdict() else f"use {clause}"
        return Wish(text=_capital(text), prefer=prefer, avoid=avoid)
    forbids = bool(_NEGATIVE.match(clause))
    text = re.sub(r"^(?:don'?t|do not)\s+", "do not ", clause, flags=re.IGNORECASE)
    swap = _SWAP.match(text)
    if swap:
        return _instead(_term(swap["prefer"]), _term(swap["avoid"]))
    unused = _UNUSED.match(text)
    if unused:
        return Wish(text=_capital(text), avoid=_term(unused["tool"]), forbids=True)
    tool = None if forbids else _TOOL.match(clause)
    return Wish(text=_capital(text), prefer=_tool_term(tool), forbids=forbids)


def _tool_term(match: re.Match[str] | None) -> str | None:
    term = _term(match["tool"]) if match else None
    return None if term is None or term.lower() in _COMMON else term


def _term(text: str) -> str:
    return text.strip().strip("`'\"").strip()


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _joined(found: list[Wish]) -> tuple[Wish, ...]:
    """Each wish once; "do not use Y" followed by "use X" is the one wish "use X, not Y"."""
    joined: list[Wish] = []
    for wish in found:
        last = joined[-1] if joined else None
        if last and _completes(last, wish):
            joined[-1] = _instead(wish.prefer or "", last.avoid or "")
        elif not any(same(wish, other) for other in joined):
            joined.append(wish)
    return tuple(joined)


def _instead(prefer: str, avoid: str) -> Wish:
    return Wish(text=f"Use {prefer}, not {avoid}", prefer=prefer, avoid=avoid)


def _completes(first: Wish, second: Wish) -> bool:
    return bool(first.avoid and not first.prefer and second.prefer and not second.avoid)


def same(one: Wish, other: Wish) -> bool:
    """Whether two wishes are one need. Wishes that name different tools, or forbid what the other asks, never are."""
    if fold(one.text) == fold(other.text):
        return True
    if one.forbids != other.forbids:
        return False
    if one.prefer and other.prefer:
        return fold(one.prefer) == fold(other.prefer) and _agree(one.avoid, other.avoid) and _alike(one, other)
    if one.avoid and other.avoid:
        return fold(one.avoid) == fold(other.avoid)
    return token_similarity(_core(one.text), _core(other.text)) >= SAME_WISH


def _agree(one: str | None, other: str | None) -> bool:
    return one is None or other is None or fold(one) == fold(other)


def _alike(one: Wish, other: Wish) -> bool:
    """Two pairs of tools settle it; otherwise the words around the tool must be alike too."""
    if one.avoid and other.avoid:
        return True
    return token_similarity(_core(one.text), _core(other.text)) >= SAME_WISH or bool(one.avoid or other.avoid)


_FILLER = re.compile(
    r"\b(?:always|never|do not|don't|please|directly|ever|just|simply|the|a|an|our|your)\b", re.IGNORECASE
)


def _core(text: str) -> str:
    return " ".join(_FILLER.sub(" ", text).split())
