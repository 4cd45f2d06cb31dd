"""Secrets that are known by their own form: prefixes in prose, key blocks, URLs, headers.

Every rule reads one text and yields spans. Every quantifier is bounded, so that no text takes more than linear time.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator

from skillopt_git.secretnames import QUOTE, Span, Value, assignments, entropy, is_mixed, is_placeholder

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
        if entropy(m[0]) > 4.4 and sum(map(str.isdigit, m[0])) >= 2:
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
        if is_mixed(m[1], 16):
            yield ("url-token", *m.span(1))
    yield from (("url-signature", *m.span(1)) for m in _URL_SIGNATURE.finditer(view))


_AUTHORIZATION = re.compile(
    rf"""authorization{QUOTE}[ \t]{{0,4}}[:=][ \t]{{0,4}}{QUOTE}
    (?:([a-z0-9-]{{3,20}})[ \t]{{1,4}})?([^\s"'`\\,;<>(){{}}\[\]]{{6,4096}}+)(?![(\[])""",
    re.IGNORECASE | re.VERBOSE,
)
_BEARER = re.compile(r"\bBearer[ \t]{1,4}([A-Za-z0-9._~+/=-]{16,4096})", re.IGNORECASE)
_COOKIE = re.compile(r"\bcookie[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?([^\n\"']{1,4096})", re.IGNORECASE)
_COOKIE_VALUE = re.compile(r"=([^\s;=]{8,4096}=*)")


def _headers(view: str) -> Iterator[Span]:
    for m in _AUTHORIZATION.finditer(view):
        scheme, value = (m[1] or "").lower(), Value(m[2])
        if _is_basic(m[2]) if scheme == "basic" else value.is_secret("token"):
            yield ("authorization", *m.span(2))
    for m in _BEARER.finditer(view):
        if Value(m[1]).is_secret("token"):
            yield ("authorization", *m.span(1))
    for m in _COOKIE.finditer(view):
        for pair in _COOKIE_VALUE.finditer(view, *m.span(1)):
            if is_mixed(pair[1], 8):
                yield ("cookie", *pair.span(1))


def _is_basic(value: str) -> bool:
    try:
        return b":" in base64.b64decode(value, validate=True)
    except binascii.Error:
        return False


FORMS: tuple[Callable[[str], Iterator[Span]], ...] = (
    _tokens,
    _aws_secret_keys,
    _private_keys,
    _urls,
    _headers,
    assignments,
)
