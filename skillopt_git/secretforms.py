"""Secrets that are known by their own form: prefixes in prose, key blocks, URLs, headers.

Every rule reads one text and yields spans. Every quantifier is bounded, so that no text takes more than linear time.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator

from skillopt_git.secretnames import (
    QUOTE,
    Span,
    Value,
    assignments,
    entropy,
    is_mixed,
    is_placeholder,
    lowered,
    matches,
)

_PERCENT = re.compile(r"%(?:0[ADad]|2[0-9A-Fa-f]|3[A-Fa-f]|[57][BDbd])")


def unescaped(view: str) -> str:
    """`view`, equally long, without the escapes that glue their last character to a token in a URL."""
    return _PERCENT.sub("   ", view)


# Kind, beginnings and rest of a token that shows who gave it out. No letter or digit stands before it.
_PROVIDERS = (
    (
        "api-key",
        "sk-",
        r"""(?:[A-Za-z0-9]{1,15}[-_.]){0,4}(?=[A-Za-z]{0,64}\d)(?=\d{0,64}[A-Za-z])
        [A-Za-z0-9]{16,256}(?:[\w-]|\.(?=\w)){0,512}""",
    ),
    ("aws-access-key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{20,255}"),
    ("github-token", "github_pat_", r"\w{20,255}"),
    ("gitlab-token", "glpat-", r"[\w-]{16,255}"),
    ("slack-token", "xox", r"[a-z](?:\.xox[a-z])?-(?=[\w-]{0,64}\d)[\w-]{10,512}"),
    ("slack-token", "xapp-", r"\d-[\w-]{10,512}"),
    (
        "slack-webhook",
        "hooks.slack.com/",
        r"(?:services|workflows|triggers)/T\w{6,16}/[AB]?\w{6,24}/\w{16,64}",
    ),
    ("discord-webhook", "discord.com/ discordapp.com/", r"api/webhooks/\d{15,22}/[\w-]{50,100}"),
    ("google-key", "AIza", r"[\w-]{30,64}"),
    ("google-key", "GOCSPX-", r"[\w-]{20,64}"),
    ("google-key", "ya29.", r"[\w-]{20,1024}"),
    ("jwt", "eyJ", r"[\w-]{8,2048}+\.[\w-]{8,4096}+(?:\.[\w-]{1,2048})?"),
    ("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[A-Za-z0-9]{10,255}"),
    ("stripe-key", "whsec_", r"[A-Za-z0-9+/]{20,255}"),
    ("npm-token", "npm_", r"[A-Za-z0-9]{20,64}"),
    ("pypi-token", "pypi-AgE", r"[\w-]{16,512}"),
    ("huggingface-token", "hf_", r"[A-Za-z0-9]{20,64}"),
    ("sendgrid-key", "SG.", r"[\w-]{16,64}\.[\w-]{16,64}"),
    ("twilio-key", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("docker-token", "dckr_pat_ dckr_oat_", r"[\w-]{20,64}"),
    ("atlassian-token", "ATATT3", r"[\w-]{20,512}(?:=[0-9A-F]{8})?"),
    ("digitalocean-token", "doo_v1_ dop_v1_ dor_v1_", r"[0-9a-f]{32,64}"),
    ("age-secret-key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{40,64}"),
    ("netlify-token", "nfp_", r"[A-Za-z0-9]{36,64}"),
    ("sentry-token", "sntrys_ sntryu_", r"[\w+/=-]{40,512}"),
    ("newrelic-key", "NRAK-", r"[A-Z0-9]{27}"),
    ("notion-token", "ntn_", r"[A-Za-z0-9]{40,64}"),
    ("tailscale-key", "tskey-", r"[a-z]{3,12}-[A-Za-z0-9]{6,32}-[A-Za-z0-9]{16,64}"),
    ("contentful-token", "CFPAT-", r"[\w-]{40,64}"),
    ("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"(?:[\w=-]|\.(?=\w)){32,64}"),
    ("fly-token", "fo1_", r"[\w-]{40,64}"),
    ("typeform-token", "tfp_", r"(?:[\w=-]|\.(?=\w)){40,64}"),
    ("artifactory-key", "AKCp", r"[A-Za-z0-9]{60,80}"),
    ("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("resend-key", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,40}"),
    ("teams-webhook", "webhook.office.com/", r"webhookb2/[\w@/-]{40,512}"),
)


def _beginning(start: str, rest: str) -> re.Pattern[str]:
    """The text comes first and the look back after it: a pattern that begins with plain text is searched fast."""
    plain = re.escape(start)
    return re.compile(f"{plain}(?<![A-Za-z0-9]{plain}){rest}", re.VERBOSE | re.ASCII)


_TOKENS = tuple((kind, start, _beginning(start, rest)) for kind, starts, rest in _PROVIDERS for start in starts.split())
_TELEGRAM = re.compile(r"[0-9](?<![A-Za-z0-9][0-9])[0-9]{7,9}:AA[\w-]{33}(?![\w-])", re.ASCII)


def _tokens(view: str) -> Iterator[Span]:
    """Tokens that carry their provider's prefix, also where the library wants a telling name beside them."""
    plain = unescaped(view)
    for kind, start, token in _TOKENS:
        if start in plain:
            yield from ((kind, *m.span()) for m in token.finditer(plain))
    if ":AA" in plain:
        yield from (("telegram-token", *m.span()) for m in _TELEGRAM.finditer(plain))


_FORTY = re.compile(r"[A-Za-z0-9+/](?<![A-Za-z0-9+/_.-].)[A-Za-z0-9+/]{39}(?![A-Za-z0-9+/=_-])")
_FORTY_IN_DIFF = re.compile(r"\n[+-](?P<key>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=_-])")


def _aws_secret_keys(view: str) -> Iterator[Span]:
    """Forty random base64 characters. A hash has no capitals; a path or a long name has fewer kinds of letters."""
    plain = unescaped(view)
    yield from (("aws-secret-key", *m.span()) for m in _FORTY.finditer(plain) if _is_random(m[0]))
    for m in _FORTY_IN_DIFF.finditer("\n" + plain):
        if _is_random(m["key"]):
            yield ("aws-secret-key", m.start("key") - 1, m.end() - 1)


def _is_random(key: str) -> bool:
    return entropy(key) > 4.4 and any(map(str.isupper, key)) and sum(map(str.isdigit, key)) >= 2


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
    if "sig=" in view or "Signature=" in view:
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
    low = lowered(view)
    for m in matches(_AUTHORIZATION, view, low, "authorization"):
        scheme, value = (m[1] or "").lower(), Value(m[2])
        if _is_basic(m[2]) if scheme == "basic" else value.is_secret("token"):
            yield ("authorization", *m.span(2))
    for m in matches(_BEARER, view, low, "bearer"):
        if Value(m[1]).is_secret("token"):
            yield ("authorization", *m.span(1))
    for m in matches(_COOKIE, view, low, "cookie"):
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
