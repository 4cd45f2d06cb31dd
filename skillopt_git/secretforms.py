"""The forms a secret takes that need no list of providers: prefixes in prose, assignments, headers, URLs, key blocks.

Every rule reads one text and yields spans. Each quantifier is bounded, so that no text takes more than linear time.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
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
class _Value:
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
                return self.style != "code" and any(_is_mixed(part, 8) for part in _parts(self.text))
            case _:
                assert_never(strength)

    @property
    def _is_code(self) -> bool:
        return not self.quoted and _CODE_NAME.fullmatch(self.text) is not None

    @property
    def _is_path(self) -> bool:
        return _PATH.match(self.text) is not None and not (_BASE64.fullmatch(self.text) and _entropy(self.text) > 4)

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
        return long_with_digits or any(_is_mixed(part, 6) for part in _parts(self.text))


def _parts(value: str) -> list[str]:
    return re.split(r"[-_./: ]", value)


def _is_mixed(word: str, length: int) -> bool:
    return len(word) >= length and any(map(str.isdigit, word)) and any(map(str.isalpha, word))


def _entropy(word: str) -> float:
    """Bits a character."""
    return -sum(n / len(word) * math.log2(n / len(word)) for n in Counter(word).values())


# --- tokens, keys, URLs, headers -----------------------------------------------------------------------------------

_PERCENT = re.compile(r"%(?:0[AD]|20|3[AD])", re.IGNORECASE)


def unescaped(view: str) -> str:
    """`view`, equally long, without the escapes that glue their last character to a token in a URL."""
    return _PERCENT.sub("   ", view)


_TOKENS = re.compile(
    r"""(?=[AGNSdeghnprswxy\d])                            # four times faster than without
    (?<![A-Za-z0-9])(?:
      (?P<api_key>        sk-(?:[A-Za-z0-9]{1,15}[-_.]){0,4}
                          (?=[A-Za-z]{0,64}\d)(?=\d{0,64}[A-Za-z])[A-Za-z0-9]{16,256}(?:[\w-]|\.(?=\w)){0,512})
    | (?P<aws_access_key> (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9]))
    | (?P<github_token>   gh[pousr]_[A-Za-z0-9]{20,255} | github_pat_\w{20,255})
    | (?P<gitlab_token>   glpat-[\w-]{16,255})
    | (?P<slack_token>    xox[a-z](?:\.xox[a-z])?-(?=[\w-]{0,64}\d)[\w-]{10,512} | xapp-\d-[\w-]{10,512})
    | (?P<slack_webhook>  hooks\.slack\.com/(?:services|workflows|triggers)/T\w{6,16}/[AB]?\w{6,24}/\w{16,64})
    | (?P<discord_webhook> discord(?:app)?\.com/api/webhooks/\d{15,22}/[\w-]{50,100})
    | (?P<google_key>     AIza[\w-]{30,64} | GOCSPX-[\w-]{20,64} | ya29\.[\w-]{20,1024})
    | (?P<jwt>            eyJ[\w-]{8,2048}\.[\w-]{8,4096}(?:\.[\w-]{1,2048})?)
    | (?P<stripe_key>     [sr]k_(?:live|test)_[A-Za-z0-9]{10,255} | whsec_[A-Za-z0-9+/]{20,255})
    | (?P<npm_token>      npm_[A-Za-z0-9]{20,64})
    | (?P<pypi_token>     pypi-AgE[\w-]{16,512})
    | (?P<huggingface_token> hf_[A-Za-z0-9]{20,64})
    | (?P<sendgrid_key>   SG\.[\w-]{16,64}\.[\w-]{16,64})
    | (?P<twilio_key>     SK[0-9a-f]{32}(?![A-Za-z0-9]))
    | (?P<docker_token>   dckr_[op]at_[\w-]{20,64})
    | (?P<atlassian_token> ATATT3[\w-]{20,512}(?:=[0-9A-F]{8})?)
    | (?P<digitalocean_token> do[opr]_v1_[0-9a-f]{32,64})
    | (?P<age_secret_key> AGE-SECRET-KEY-1[A-Z0-9]{40,64})
    | (?P<telegram_token> \d{8,10}:AA[\w-]{33}(?![\w-]))
    | (?P<netlify_token>  nfp_[A-Za-z0-9]{36,64})
    | (?P<sentry_token>   sntry[su]_[\w+/=-]{40,512})
    | (?P<newrelic_key>   NRAK-[A-Z0-9]{27})
    | (?P<notion_token>   ntn_[A-Za-z0-9]{40,64})
    )""",
    re.VERBOSE | re.ASCII,
)


def _tokens(view: str) -> Iterator[Span]:
    """Tokens that carry their provider's prefix, also where the library wants a telling name beside them."""
    for m in _TOKENS.finditer(unescaped(view)):
        yield (str(m.lastgroup).replace("_", "-"), m.start(), m.end())


_FORTY = re.compile(r"(?<![A-Za-z0-9+/_.-])(?=[A-Za-z0-9+/]{0,39}[A-Z])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])")


def _aws_secret_keys(view: str) -> Iterator[Span]:
    """Forty random base64 characters. A hash has no capitals; a path or a long name has fewer kinds of letters."""
    for m in _FORTY.finditer(unescaped(view)):
        if _entropy(m[0]) > 4.4 and sum(map(str.isdigit, m[0])) >= 2:
            yield ("aws-secret-key", m.start(), m.end())


_PEM_BEGIN = re.compile(
    r"-----BEGIN ((?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?=(?:[ \t]{0,8}\r?\n\s{0,8}|\s{2,8})[A-Za-z0-9+/]|[ ]?[A-Za-z0-9+/]{16})"
)


def _private_keys(view: str) -> Iterator[Span]:
    """Key blocks; without an END line up to the end of the text."""
    done = 0
    while begin := _PEM_BEGIN.search(view, done):
        footer = f"-----END {begin[1]}-----"
        end = view.find(footer, begin.end())
        done = end + len(footer) if end >= 0 else len(view)
        yield ("private-key", begin.start(), done)


_URL_PASSWORD = re.compile(r"""://[^\s/:@"'<>]{0,128}:([^\s/"'<>`]{1,256})@(?=[\w\[$-])""")
_URL_TOKEN = re.compile(r"""://([A-Za-z0-9_-]{16,256})@(?=[\w\[-])""")
_URL_SIGNATURE = re.compile(r"[?&](?:sig|X-Amz-Signature)=([A-Za-z0-9%+/_=-]{20,512})")


def _urls(view: str) -> Iterator[Span]:
    for m in _URL_PASSWORD.finditer(view):
        if not is_placeholder(m[1]):
            yield ("url-password", *m.span(1))
    for m in _URL_TOKEN.finditer(view):
        if _is_mixed(m[1], 16):
            yield ("url-token", *m.span(1))
    yield from (("url-signature", *m.span(1)) for m in _URL_SIGNATURE.finditer(view))


_QUOTE = r"""\\{0,3}["'`]?"""
_AUTHORIZATION = re.compile(
    rf"""authorization{_QUOTE}[ \t]{{0,4}}[:=][ \t]{{0,4}}{_QUOTE}
    (?:([a-z0-9-]{{3,20}})[ \t]{{1,4}})?([^\s"'`\\,;<>(){{}}\[\]]{{6,4096}}+)(?![(\[])""",
    re.IGNORECASE | re.VERBOSE,
)
_BEARER = re.compile(r"\bBearer[ \t]{1,4}([A-Za-z0-9._~+/=-]{16,4096})", re.IGNORECASE)
_COOKIE = re.compile(r"\bcookie[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?([^\n\"']{1,4096})", re.IGNORECASE)
_COOKIE_VALUE = re.compile(r"=([^\s;=]{8,4096}=*)")


def _headers(view: str) -> Iterator[Span]:
    for m in _AUTHORIZATION.finditer(view):
        scheme, value = (m[1] or "").lower(), _Value(m[2])
        if _is_basic(m[2]) if scheme == "basic" else value.is_secret("token"):
            yield ("authorization", *m.span(2))
    for m in _BEARER.finditer(view):
        if _Value(m[1]).is_secret("token"):
            yield ("authorization", *m.span(1))
    for m in _COOKIE.finditer(view):
        for pair in _COOKIE_VALUE.finditer(view, *m.span(1)):
            if _is_mixed(pair[1], 8):
                yield ("cookie", *pair.span(1))


def _is_basic(value: str) -> bool:
    try:
        return b":" in base64.b64decode(value, validate=True)
    except binascii.Error:
        return False


# --- assignments -------------------------------------------------------------------------------------------------

# The last word of a name, as in `dbPassword`, `API_KEY` or `--client-secret`, up to where its value begins.
_NAME = r"(?P<word>pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|key|(?<=_)auth)"
_ASSIGNED = re.compile(
    rf"""{_NAME}(?:_(?:base|prod|production|staging|dev|test|value))?_?\d{{0,2}}
    {_QUOTE}\]?
    (?P<op>[ \t]{{0,8}}
      (?:=>|:=|={{1,3}}|:[ \t]{{0,2}}[A-Za-z][\w.\[\]|]{{0,40}}[ \t]?=(?=[ \t]{{0,8}}["'])|:)[ \t]{{0,8}} | >)""",
    re.IGNORECASE | re.VERBOSE,
)
_GIVEN = re.compile(
    rf"(?:--?[A-Za-z-]{{0,40}}|\blogin[ \t]{{1,4}}\S{{1,64}}[ \t]{{1,4}}){_NAME}(?P<op>[ \t]{{1,4}})", re.IGNORECASE
)
_AFTER_SEMICOLON = re.compile(r";[ ]?\Z")
_LEAD = re.compile(r"[A-Za-z0-9_$.-]{0,64}\Z")
_KEY_OF_A_LOCK = re.compile(
    r"(?:api|access|secret|private|account|auth|authentication|encrypt|encryption|signing|sign|shared|master|storage|"
    r"service|client|consumer|deploy|license|subscription|admin|webhook|app|application)[-_]?\Z",
    re.IGNORECASE,
)
_KINDS = {"secret": "secret", "token": "token", "key": "key", "auth": "token"}


def _assignments(view: str) -> Iterator[Span]:
    for form in (_ASSIGNED, _GIVEN):
        for m in form.finditer(view):
            named = _Named.read(view, m)
            strength = named.strength
            if strength and (found := _value_at(view, m.end(), named)) and found[0].is_secret(strength):
                yield (_KINDS.get(named.word.lower(), "password"), *found[1])


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


_OPEN = re.compile(r"""[furbFURB]{0,2}(\\{0,3}["'`])""")
_INSIDE = {quote: re.compile(rf"(?:\\.|[^\\{quote}])*") for quote in "\"'`"}
_BRACED = re.compile(r"\{([^}\n]{1,512})\}")
_BARE = re.compile(r"""[^\s"'`,;&<>(){}\[\]|\\]{1,4096}""")
_LONGEST = 4096
_TELLING = 256  # as much of a value is judged: names repeated without end must not cost its length each time


def _value_at(view: str, start: int, named: _Named) -> tuple[_Value, tuple[int, int]] | None:
    if opening := _OPEN.match(view, start):
        return _quoted(view, opening.end(), opening[1], named)
    if named.style == "connection" and (braced := _BRACED.match(view, start)):
        return _Value(braced[1], style=named.style), braced.span(1)
    bare = _BARE.match(view, start)
    if bare is None or (view[bare.end() : bare.end() + 1] in {"(", "[", "{"} and named.style == "code"):
        return None  # a call or an index: code, not a value
    text = bare[0].rstrip(".:")
    return _Value(text[:_TELLING], quoted=False, style=named.style), (start, start + len(text))


def _quoted(view: str, start: int, quote: str, named: _Named) -> tuple[_Value, tuple[int, int]]:
    """The text up to the closing quote, or to the end of the line where it was cut off."""
    line = view.find("\n", start, start + _LONGEST)
    stop = line if line >= 0 else min(len(view), start + _LONGEST)
    inside = _INSIDE.get(quote)
    end = stop if inside is None else _end_of(inside, view, start, stop)
    if inside is None and (closing := view.find(quote, start, stop)) >= 0:
        end = closing
    text = view[start:end].rstrip()
    judged = text[:_TELLING] if end < stop else text[:_TELLING].partition(" ")[0]
    return _Value(judged, style=named.style), (start, start + len(text))


def _end_of(inside: re.Pattern[str], view: str, start: int, stop: int) -> int:
    m = inside.match(view, start, stop)
    return m.end() if m else start


FORMS: tuple[Callable[[str], Iterator[Span]], ...] = (
    _tokens,
    _aws_secret_keys,
    _private_keys,
    _urls,
    _headers,
    _assignments,
)
