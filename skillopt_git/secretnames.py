"""Secrets that are known by the name before them: `password=`, `"api_key": "..."`, `--token ...`, and what a value is.

Every quantifier is bounded, so that no text takes more than linear time.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

Span: TypeAlias = tuple[str, int, int]  # kind, start, end
Strength: TypeAlias = Literal["password", "token", "key"]
Style: TypeAlias = Literal["code", "env", "connection"]

# --- values -------------------------------------------------------------------------------------------------------

_FILLER_WORDS = (
    "access|actual|admin|api|auth|bearer|change|client|credentials?|default|dummy|empty|enter|example|fake|false|field|"
    "foo|bar|here|hidden|id|insert|invalid|key|me|missing|my|name|none|null|optional|paste|passphrase|passwd|password|"
    "pass|placeholder|private|public|put|pwd|redacted|refresh|replace|required|sample|secret|some|string|str|test|the|"
    "this|todo|token|true|type|undefined|unset|user|valid|value|with|wrong|your"
)
_PLACEHOLDER = re.compile(
    rf"""[^A-Za-z0-9]*                                   # *** or ...
    | (.)\1*                                             # 00000000
    | \$\w+ | \$?\{{+.*\}}* | \$\(.* | %\w+% | <.*>       # ${{TOKEN}}, <token>
    | .*(?:\.\.\.|…) | \[.*\]
    | (?:(?:{_FILLER_WORDS})[-_ ]?)++\d{{0,3}}              # your-token-here, password1
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_TYPE_NAME = re.compile(r"(?:u?int|float|bytes|str|utf|sha|md|base|tok|arg|param|var)[-_]?\d+", re.IGNORECASE)
_NO_TOKEN = re.compile(
    rf"[\d\s:.,+_/TZ-]*|\#[0-9a-f]{{3,8}}|{_TYPE_NAME.pattern}", re.IGNORECASE
)  # number, date, colour
_PATH = re.compile(r"(?:~|\.{1,2})?/|[A-Za-z]:[\\/]|[a-z][a-z0-9+.-]*://")
_CODE_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{38,}={0,2}")


def is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.fullmatch(value) is not None


@dataclass(frozen=True, slots=True)
class Value:
    """What stands behind a telling name.

    In `code` a bare word may be a variable; in an `env` file or a `connection` string it is the value itself.
    """

    text: str
    quoted: bool = True
    style: Style = "code"

    def is_secret(self, strength: Strength) -> bool:
        if strength == "password" and self.style == "connection":
            return any(map(str.isalnum, self.text)) and not self.text.startswith("$")
        if is_placeholder(self.text) or self._is_code or self._is_path:
            return False
        match strength:
            case "password":
                return self._is_password
            case "token":
                return self._is_token
            case "key":
                return self.style != "code" and any(is_mixed(part, 8) for part in _parts(self.text))
            case _:
                assert_never(strength)

    @property
    def _is_code(self) -> bool:
        return not self.quoted and _CODE_NAME.fullmatch(self.text) is not None

    @property
    def _is_path(self) -> bool:
        return _PATH.match(self.text) is not None and not (_BASE64.fullmatch(self.text) and entropy(self.text) > 4)

    @property
    def _is_password(self) -> bool:
        if self.style != "code":
            return len(self.text) >= 4
        words, digits = self.text.split(), any(map(str.isdigit, self.text))
        if len(words) > 1 or _TYPE_NAME.fullmatch(self.text):
            return self.quoted and digits and 1 < len(words) <= 4
        # Letters only: a password in quotes, unless capitalised as a label is.
        return len(self.text) >= 6 and (digits or (self.quoted and len(self.text) >= 8 and not self.text.istitle()))

    @property
    def _is_token(self) -> bool:
        if _NO_TOKEN.fullmatch(self.text) or " " in self.text:
            return False
        if self.style != "code" and len(self.text) >= 8 and self.text.isalpha():
            return True
        long_with_digits = len(self.text) >= 20 and sum(map(str.isdigit, self.text)) >= 3
        return long_with_digits or any(is_mixed(part, 6) for part in _parts(self.text))


def _parts(value: str) -> list[str]:
    return re.split(r"[-_./: ]", value)


def is_mixed(word: str, length: int) -> bool:
    return len(word) >= length and any(map(str.isdigit, word)) and any(map(str.isalpha, word))


def entropy(word: str) -> float:
    """Bits a character."""
    return -sum(n / len(word) * math.log2(n / len(word)) for n in Counter(word).values())


# --- assignments -------------------------------------------------------------------------------------------------

QUOTE = r"""\\{0,7}["'`]?"""  # escaped up to three times, as in JSON within JSON within JSON
# The last word of a name, as in `dbPassword`, `API_KEY` or `--client-secret`, up to where its value begins.
_NAME = r"(?P<word>pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|key|(?<=_)auth)"
_WORDS = ("pass", "pwd", "secret", "token", "credential", "key", "auth")  # how each of them begins
_ASSIGNED = re.compile(
    rf"""{_NAME}(?:_(?:base|prod|production|staging|dev|test|value))?_?\d{{0,2}}
    {QUOTE}\]?
    (?P<op>[ \t]{{0,8}}
      (?:=>|:=|={{1,3}}|:[ \t]{{0,2}}[A-Za-z][\w.\[\]|]{{0,40}}[ \t]?=(?=[ \t]{{0,8}}\\{{0,7}}["'])|:)
      [ \t]{{0,8}} | >)""",
    re.IGNORECASE | re.VERBOSE,
)
_GIVEN = re.compile(rf"{_NAME}(?P<op>[ \t]{{1,4}})", re.IGNORECASE)
_BEFORE_GIVEN = re.compile(r"(?:--?(?:[A-Za-z][A-Za-z-]{0,40})?|\blogin[ \t]{1,4}\S{1,64}[ \t]{1,4})\Z", re.IGNORECASE)
_BEFORE_LONGEST = 80
_AFTER_SEMICOLON = re.compile(r";[ ]?\Z")
_LEAD = re.compile(r"[A-Za-z0-9_$.-]{0,64}\Z")
_KEY_OF_A_LOCK = re.compile(
    r"(?:api|access|secret|private|account|auth|authentication|encrypt|encryption|signing|sign|shared|master|storage|"
    r"service|client|consumer|deploy|license|subscription|admin|webhook|app|application)[-_]?\Z",
    re.IGNORECASE,
)
_KINDS = {"secret": "secret", "token": "token", "key": "key", "auth": "token"}


def lowered(view: str) -> str:
    """`view` in small letters, equally long: there is one letter whose small form is two."""
    return view.replace("\u0130", "I").lower()


def matches(pattern: re.Pattern[str], view: str, low: str, word: str) -> Iterator[re.Match[str]]:
    """Where `pattern` matches `view` at a `word`. Plain text is found many times faster than a pattern."""
    if word in low:
        yield from filter(None, (pattern.match(view, at.start()) for at in re.finditer(word, low)))


def assignments(view: str) -> Iterator[Span]:
    for m in _named(view):
        named = _Named.read(view, m)
        strength = named.strength
        if strength and (found := _value_at(view, m.end(), named)) and found[0].is_secret(strength):
            yield (_KINDS.get(named.word.lower(), "password"), *_whole(view, *found))


def _named(view: str) -> Iterator[re.Match[str]]:
    low = lowered(view)
    for word in _WORDS:
        yield from matches(_ASSIGNED, view, low, word)
        for m in matches(_GIVEN, view, low, word):
            if _BEFORE_GIVEN.search(view, max(0, m.start() - _BEFORE_LONGEST), m.start()):
                yield m


@dataclass(frozen=True, slots=True)
class _Named:
    """The left side of an assignment: what stands before the name, its words before the last, the last, the sign."""

    before: str
    lead: str
    word: str
    op: str

    @classmethod
    def read(cls, view: str, m: re.Match[str]) -> _Named:
        start = m.start("word")
        tail = _LEAD.search(view, max(0, start - 64), start)
        lead = tail[0] if tail else ""
        return cls(view[max(0, start - len(lead) - 2) : start - len(lead)], lead, m["word"], m["op"])

    @property
    def strength(self) -> Strength | None:
        """How telling the name is; None for one that names no secret (`compass`, `monkey`)."""
        if self.op == ">" and not self.before.endswith("<"):
            return None
        match self.word.lower():
            case "pass":
                stands_alone = not self.lead[-1:].isalnum() or self.word[0].isupper()
                return "password" if stands_alone else None
            case "key":
                return "token" if _KEY_OF_A_LOCK.search(self.lead) else "key" if self.lead.endswith("_") else None
            case "secret" | "token" | "auth":
                return "token"
            case _:
                return "password"

    @property
    def style(self) -> Style:
        if self.op.strip() == "=" and _AFTER_SEMICOLON.search(self.before):
            return "connection"
        return "env" if self.op == "=" and (self.lead + self.word).isupper() else "code"


_OPEN = re.compile(r"""[furbFURB]{0,2}(\\{0,7}["'`])""")
_INSIDE = {quote: re.compile(rf"(?:\\.|[^\\{quote}])*") for quote in "\"'`"}
_BRACED = re.compile(r"\{([^}\n]{1,512})\}")
# The first characters of a value tell what it is: a name repeated without end must not cost its length each time.
_TELLING, _LONGEST = 256, 4096
_BARE_CHAR = r"""[^\s"'`,;&<>(){}\[\]|\\]"""
_BARE = re.compile(rf"{_BARE_CHAR}{{1,{_TELLING}}}")
_BARE_REST = re.compile(rf"{_BARE_CHAR}{{0,{_LONGEST}}}")


def _value_at(view: str, start: int, named: _Named) -> tuple[Value, tuple[int, int]] | None:
    if opening := _OPEN.match(view, start):
        return _quoted(view, opening.end(), opening[1], named)
    if named.style == "connection" and (braced := _BRACED.match(view, start)):
        return Value(braced[1], style=named.style), braced.span(1)
    bare = _BARE.match(view, start)
    if bare is None or (view[bare.end() : bare.end() + 1] in {"(", "[", "{"} and named.style == "code"):
        return None  # a call or an index: code, not a value
    text = bare[0].rstrip(".:")
    return Value(text, quoted=False, style=named.style), (start, start + len(text))


def _whole(view: str, value: Value, span: tuple[int, int]) -> tuple[int, int]:
    start, end = span
    if not value.quoted and end - start == _TELLING and (rest := _BARE_REST.match(view, end)):
        end = rest.end()
    return start, end


def _quoted(view: str, start: int, quote: str, named: _Named) -> tuple[Value, tuple[int, int]]:
    """The text up to the closing quote, or to the end of the line where it was cut off."""
    line = view.find("\n", start, start + _LONGEST)
    stop = line if line >= 0 else min(len(view), start + _LONGEST)
    inside = _INSIDE.get(quote)
    end = stop if inside is None else _end_of(inside, view, start, stop)
    if inside is None and (closing := view.find(quote, start, stop)) >= 0:
        end = closing
    text = view[start:end].rstrip()
    judged = text[:_TELLING] if end < stop else text[:_TELLING].partition(" ")[0]
    return Value(judged, style=named.style), (start, start + len(text))


def _end_of(inside: re.Pattern[str], view: str, start: int, stop: int) -> int:
    m = inside.match(view, start, stop)
    return m.end() if m else start
