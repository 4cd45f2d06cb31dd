"""What a proposed rule would let an agent do: a linter that knows capabilities, not intentions.

It reads words as a hurried agent would. "Never use --no-verify" therefore counts like "use --no-verify": whether a
negation holds is for the person who reviews the rule. Lint the rule's text; a whole document has the markers of
its learned block.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias

Capability: TypeAlias = Literal[
    "url",
    "host",
    "shell-pipe",
    "download-and-run",
    "skips-checks",
    "permission",
    "credentials",
    "encoded",
    "hidden-characters",
    "outside-path",
    "html-comment",
    "marker",
]


def capabilities(text: str) -> frozenset[Capability]:
    return frozenset(capability for capability, _ in _traits(text))


def gained(before: str, after: str) -> frozenset[Capability]:
    """What `after` has that `before` had not; another URL, host or flag of the same sort counts."""
    return frozenset(capability for capability, _ in _traits(after) - _traits(before))


def one_line(text: str) -> str:
    """A rule as it stands in a document: NFC, one line, blanks folded, no list dash.

    Control and invisible characters stay, so that `capabilities` sees them.
    """
    return _DASHES.sub("", _BLANKS.sub(" ", unicodedata.normalize("NFC", text)).strip(" "))


def fence(text: str, nonce: str) -> str:
    """Untrusted text between two lines that it cannot contain; a nonce that occurs in it is a ValueError."""
    if nonce.casefold() in text.casefold():
        raise ValueError("the nonce of a fence must not occur in its text")
    return f"<<<DATA {nonce}\n{text}\nDATA {nonce}>>>"


_BLANKS = re.compile(r"[ \t\r\n\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_DASHES = re.compile(r"\A(?:- )+")


# --- traits: a capability and the words that give it ---------------------------------------------------------------

Trait: TypeAlias = tuple[Capability, str]


def _traits(text: str) -> frozenset[Trait]:
    plain = _plain(text)
    rules = (*(_matches(capability, pattern) for capability, pattern in _PATTERNS.items()), _hosts, _blobs)
    return frozenset((*_hidden(text), *(trait for rule in rules for trait in rule(plain))))


def _plain(text: str) -> str:
    """`text` without disguises: nothing invisible in it, look-alike widths as plain letters, blanks folded."""
    visible = "".join(char for char in text if not _is_invisible(char))
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", visible))


def _matches(capability: Capability, pattern: re.Pattern[str]) -> Callable[[str], Iterator[Trait]]:
    return lambda plain: ((capability, m[0].casefold().strip()) for m in pattern.finditer(plain))


# --- characters --------------------------------------------------------------------------------------------------

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_EMOJI_STYLES = frozenset("\ufe0e\ufe0f")


def _is_invisible(char: str) -> bool:
    if char in "\t\n\r":
        return False
    return unicodedata.category(char) in _INVISIBLE_CATEGORIES or char in _FILLERS or _is_selector(char)


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _takes_a_style(char: str) -> bool:
    return char != "" and (unicodedata.category(char)[0] in "SN" or char in "#*‼⁉〰〽")


def _hidden(text: str) -> Iterable[Trait]:
    """One emoji style after a symbol is how emoji are written; any other selector can carry data."""
    previous = ""
    for char in text:
        styled = char in _EMOJI_STYLES and _takes_a_style(previous)
        if _is_invisible(char) and not styled:
            yield "hidden-characters", char
        previous = char


# --- words -------------------------------------------------------------------------------------------------------

_SHELL = (
    r"(?:sudo |env |exec |/usr/bin/env )*(?:/\S{0,64}/)?(?:(?:ba|z|k|da|fi|tc|c|a)?sh|pwsh|powershell|cmd)(?:\.exe)?\b"
)
_INTERPRETER = (
    r"(?:sudo |env |/usr/bin/env )*(?:/\S{0,64}/)?(?:python[\d.]*|node|deno|bun|perl|ruby|php|lua|osascript)\b"
)
_DOWNLOADER = (
    r"\b(?:curl|wget|aria2c|iwr|irm|invoke-webrequest|invoke-restmethod|start-bitstransfer|downloadstring|certutil)\b"
)
_RUNS = rf"(?:{_SHELL}|{_INTERPRETER}|source |\. |\./|chmod |eval |exec |xargs |start |iex\b|invoke-expression)"
_NOT = r"(?<!never )(?<!not )(?<!n't )(?<!n’t )(?<!without )(?<!cannot )"
_CHECKS = (
    r"(?:unit |security |all |any |every |failing |pre-?commit |type |code |certificate |ssl |tls |signature )*"
    r"(?:tests?|checks?|hooks?|verification|validation|linters?|linting|ci|reviews?|signing|sandbox(?:ing)?|safeguards?"
    r"|certificates?|guardrails?)\b(?! (?:dir|folder|file|path|fixture|data|suite name))"
)
_SWITCHES = (
    r"(?:\w{1,20} )?(?:auth|authentication|authorization|authorisation|csrf|mfa|2fa|tls|ssl|https|firewall|encryption"
    r"|access controls?|rate limit(?:s|ing)?|antivirus)\b"
)
_CLAUSE_ENDS = r"(?=$|[`\"')]?[.,;:!]| (?:again|anymore|any more|at all|before|after|first|unless|until|when|while)\b)"
_HANDS_OUT = (
    r"(?:includ|log|print|show|display|output|export|send|post|upload|shar|copy|past|writ|embed|hard-?cod|load|read|"
    r"expos|echo|dump|commit|stor|put|add|append|attach|reveal|leak|fetch|collect|forward|publish|push|save|us|pass)"
    r"(?:e|t?ing|p?ing)?"
)
_SECRETS = (
    r"(?:(?:api|access|secret|private|ssh|signing|encryption|deploy)[ _-]keys?|passwords?|passphrases?|credentials?|"
    r"secrets?|(?:access|auth|bearer|api|session|refresh|github|deploy)[ _-]tokens?)\b(?![ _-](?:fields?|inputs?|"
    r"forms?|managers?|helpers?|hash\w*|resets?|polic\w+|types?|names?|scann\w+|validat\w+|rules?|tests?|stores?|pages?))"
)
_ASKED = r"(?:prompts?|permissions?|confirmations?|questions?|dialogs?|requests?|approvals?|tools?|commands?)\b"
_HARMLESS = r"(?!/dev/(?:null|stdin|stdout|stderr|tty)\b)(?!/(?:usr/)?bin/(?:env|sh|bash)\b)"
_ORDERS = r"(?:instructions?|rules|prompts?|guidelines|directions|policies|policy|guardrails|system messages?)"
_LEAVE = r"(?:approval|permission|confirmation|consent|confirming|asking|review|prompting)"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_PATTERNS: dict[Capability, re.Pattern[str]] = {
    "url": _any(
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s`\"'<>)]+",
        r"\b(?:mailto|data|javascript|tel):[^\s`\"'<>)]+",
        r"\]\(\s*//[^\s)]+",
    ),
    "shell-pipe": _any(
        rf"\|&? ?(?:{_SHELL}|{_INTERPRETER} ?-?(?=$|[`\"'\s.,;)])|iex\b|invoke-expression|source\b|eval\b)",
        rf"\|&? ?xargs [^|]{{0,64}}{_SHELL}",
        rf"(?:\b{_SHELL}|\bsource|\beval|(?<!\S)\.) ?(?:-\w{{1,8}} )?[\"']?(?:<\(|\$\()",
        r"\beval ?[\"']?`",
    ),
    "download-and-run": _any(
        rf"{_DOWNLOADER}.{{0,200}}?(?:&&|;|\|{{1,2}}|\bthen\b) ?(?:run |execute )?{_RUNS}",
        rf"(?:\b{_SHELL}|\b{_INTERPRETER}|\bsource|\beval|\biex) ?.{{0,8}}?(?:<\(|\$\(|`|\() ?{_DOWNLOADER}",
        rf"(?:{_DOWNLOADER}|\b(?:download|fetch|grab|pull|get)\b).{{0,100}}?\b(?:and|then) (?:then )?"
        r"(?:run|execute|source|eval|install|launch) (?:it|them|that|"
        r"the (?:\w{1,20} )?(?:script|installer|binary|file|result|output|payload))\b",
    ),
    "skips-checks": _any(
        r"--(?:no-verify|no-gpg-sign|insecure|no-check-certificate|no-sandbox|yolo|trusted-host)\b",
        r"--(?:dangerously|allow-unauthenticated|allow-unsafe|unsafe|no-strict-ssl)[\w-]*",
        r"--(?:skip|disable|ignore|bypass)-[\w-]{0,30}(?:test|check|hook|verif|valid|secur|ssl|tls|lint|sandbox)\w*",
        r"-DskipTests\b|-Dmaven\.test\.skip|\[(?:skip ci|ci skip)\]|\bcore\.hooksPath\b",
        r"\bcurl\b[^|;&]{0,120}? -[a-jl-z]{0,6}k[a-z]{0,6}\b",
        r"\bpush\b[^|;&]{0,80}? (?:--force\b(?!-)|-[uqv]{0,3}f[uqv]{0,3}\b|\+\w+)",
        r"\bcommit\b[^|;&]{0,80}? -[aqsvm]{0,4}n[aqsvm]{0,4}\b",
        r"\bverify ?= ?false\b|\brejectUnauthorized\W{1,4}false|\bInsecureSkipVerify\b|\bGIT_SSL_NO_VERIFY\b",
        r"\bsslverify\W{1,4}(?:false|0)|\bstrict-ssl\W{1,4}false|\bSKIP=\S+",
        r"\b(?:NODE_TLS_REJECT_UNAUTHORIZED|HUSKY|PYTHONHTTPSVERIFY) ?= ?['\"]?0",
        rf"\b{_NOT}(?:skip|disabl|bypass|turn(?:ing)? off|circumvent|suppress|ignor|omit)(?:p?ing|e|es|ed|s)? "
        rf"(?:running |the |these |those |your |our )*{_CHECKS}",
        rf"\b{_NOT}(?:skip|disabl|bypass|turn(?:ing)? off|switch(?:ing)? off|circumvent)(?:p?ing|e|es|ed|s)? "
        rf"(?:the |all |any |our |your )*{_SWITCHES}",
        r"\b(?:never|do not|don['’]t|no need to|avoid|stop) (?:run|execut|wait(?:ing)? for)(?:e|n?ing)? "
        rf"(?:the |any |all |our |your )*{_CHECKS}{_CLAUSE_ENDS}",
    ),
    "permission": _any(
        rf"\b{_NOT}(?:ignor|disregard|forget|overrid|bypass)(?:ing|e|es|s)? [^.;]{{0,40}}?\b{_ORDERS}\b",
        rf"\bwithout (?:\w{{1,20}} ){{0,3}}{_LEAVE}\b",
        rf"\b(?:do not|don['’]t|never|no need to) (?:ask|wait|request|seek|prompt)\b[^.;]{{0,30}}?"
        rf"\b(?:{_LEAVE}|user|first|before)\b",
        r"\b(?:do not|don['’]t|never) (?:tell|inform|notify|show) (?:the )?(?:users?|reviewers?|humans?|anyone)\b",
        r"\bauto-?(?:approve|accept|confirm|merge)\w*|\bbypass-?permissions\b|\baccept-?edits\b",
        r"\b(?:dis)?allowed[-_]?tools\b|\bpermission[-_]?mode\b|\bdefaultMode\b|\bmcp-?servers\b",
        r"\bdanger-full-access\b|--full-auto\b|\bapproval[-_]policy\b|\bsandbox[-_]mode\b|\.claude/settings\b",
        r"\bBash\([^)]{0,80}\*[^)]{0,80}\)",
        r"\bchmod\b[^|;&]{0,40}?(?:[0-7]?(?:777|666)|[ao]\+\w{0,3}w|[ug]?\+s)\b|\bchown\b|\bsetcap\b|\bsetuid\b",
        r"\b(?:sudo|doas|runas|pkexec)\b|\bsu -(?!\S)",
        r"\bcore\.(?:sshcommand|fsmonitor|editor|pager|gitproxy|askpass)\b|\balias\.[\w-]{1,40} ?=? ?[\"']?!",
        r"\b(?:credential\.helper|gpg\.program|sequence\.editor|diff\.external)\b|\bpackobjectshook\b",
        r"\b(?:filter|diff|merge|difftool|mergetool|gpg)\.[\w-]{1,40}\.(?:clean|smudge|process|textconv|command|driver|cmd"
        r"|program)\b",
        r"\bGIT_(?:SSH(?:_COMMAND)?|EXTERNAL_DIFF|PAGER|EDITOR|PROXY_COMMAND|ASKPASS)\b|\b(?:LD_PRELOAD|BASH_ENV)\b",
        rf"\b{_NOT}(?:answer|say|reply|respond|type|enter|press|select|choose)(?:ing)? (?:with )?[\"'`]?y(?:es)?"
        rf"[\"'`]? (?:to|for|on|at|whenever|when) (?:\w{{1,20}} ){{0,3}}?"
        rf"(?:{_ASKED}|(?:everything|anything|asked|all)\b)",
        rf"\b{_NOT}(?:accept|approv|confirm|grant|allow)(?:e|ing)? (?:all|any|every|each)"
        rf"(?:thing\b| (?:\w{{1,20}} )?{_ASKED})",
    ),
    "credentials": _any(
        r"(?-i:\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIALS|PASSPHRASE|(?:ACCESS|API|PRIVATE|"
        r"SECRET|SIGNING)_KEY(?:_ID)?)\b)",
        rf"\b{_NOT}{_HANDS_OUT} [^.;]{{0,40}}?\b{_SECRETS}",
        r"\b(?:secrets?|credentials?)\.(?:ya?ml|json|toml|env|txt|ini|csv|xml)\b|\b[\w-]{1,40}\.(?:pem|p12|pfx|jks|kdbx)\b",
        rf"\b{_NOT}(?:read|load|print|show|log|commit|send|cat|source|open|upload|include|export|dump|echo|push|share)"
        r"(?:ing)? [^.;]{0,40}?(?<![\w)\]])\.env\b(?!\.(?:example|sample|template|dist))",
    ),
    "encoded": _any(
        r"\bbase64 (?:-d|--decode)\b|\bopenssl (?:enc|base64) [^|;]{0,40}-d\b|\bxxd -[a-z]{0,3}r",
        r"(?:\\x[0-9a-f]{2}){4,}|(?:\\u[0-9a-f]{4}){4,}|(?:%[0-9a-f]{2}){6,}|(?:&#x?[0-9a-f]{1,6};){3,}",
    ),
    "outside-path": _any(
        r"(?<![\w~/])~\w{0,32}[/\\]\S*|(?<![\w~/])~(?=[`\"']|$)",
        r"\$\{?HOME\b\S*|\$env:(?:userprofile|home|appdata)\b\S*",
        r"%(?:userprofile|homepath|appdata|localappdata|programdata|systemroot)%\S*",
        r"\.\.[/\\]\.\.(?![\w.])\S*",
        r"(?<![\w.~/\\<-])/(?:etc|root|tmp)(?![\w-])[^\s`\"']*",
        rf"(?<![\w.~/\\<-]){_HARMLESS}/(?:usr|var|home|users|opt|dev|proc|sys|s?bin|boot|lib|mnt|media|srv|private|"
        r"library|system|volumes|run)/\w[^\s`\"']*",
        r"(?<!\w)[a-z]:\\\w\S*|(?<!\\)\\\\[\w.$-]{1,64}\\\S+",
        r"(?<![\w.])\.(?:ssh|aws|gnupg|kube|netrc|pgpass|npmrc|pypirc|git-credentials)\b",
        r"\bid_(?:rsa|dsa|ecdsa|ed25519)\b",
    ),
    "html-comment": _any(r"<!--", r"--!?>"),
    "marker": _any(r"SKILLOPT[-_ ]SLEEP ?: ?\w+", r"\bSLOW[-_]UPDATE[-_](?:START|END)\b"),
}


# --- hosts and blobs ---------------------------------------------------------------------------------------------

# A sure ending makes a host of two labels; a likely one is a file ending or an attribute too (`java.io`, `app.dev`)
# and needs a third label, a port or a path.
_SURE = "com|net|org|edu|gov|mil|xyz|biz|onion|ru|cn|de|uk|fr|eu|jp|kr|br|nl|ch|su"
_LIKELY = (
    "io|ai|co|dev|app|sh|me|gg|ly|tv|to|us|ca|au|in|info|link|page|live|pro|tech|store|shop|zip|mov|tk|cloud|site|"
    "online|top|club|example|internal|local|lan"
)
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_HOST = re.compile(
    rf"(?<![\w.$-])(?<![^/]/)(?:{_LABEL}\.){{1,8}}(?P<end>{_SURE}|{_LIKELY})(?![\w(-]|\.\w)(?P<more>:\d{{2,5}}|/\w)?",
    re.IGNORECASE,
)
_NOT_HOST = re.compile(r"(?:asp|vb|ado|ml|system)\.net|(?:com|org|io|net|dev)\..*\.(?!com|org|net)\w+", re.IGNORECASE)
_SURE_ENDINGS = frozenset(_SURE.split("|"))
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_ADDRESS = _any(
    rf"(?<![\w.])(?:{_OCTET}\.){{3}}{_OCTET}(?!\.?\w)",
    r"(?<![\w:])(?:[0-9a-f]{1,4}:){5,7}[0-9a-f]{1,4}(?![\w:])",
    r"(?<![\w:])(?=[a-f:]{0,38}\d)(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}(?![\w:])",
)


def _hosts(plain: str) -> Iterator[Trait]:
    for m in _HOST.finditer(plain):
        sure = m["end"].casefold() in _SURE_ENDINGS or m["more"] or m[0].count(".") > 1
        if sure and not _NOT_HOST.fullmatch(m[0]):
            yield "host", m[0].casefold()
    yield from (("host", m[0].casefold()) for m in _ADDRESS.finditer(plain))


_BLOB = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{40,}={0,2}")


def _blobs(plain: str) -> Iterator[Trait]:
    """Long runs of base64 or hex. The parts of a path or of a long name are shorter, or all of one kind of letter."""
    for m in _BLOB.finditer(plain):
        longest = max(re.split(r"[/_=-]", m[0]), key=len)
        kinds = sum(any(map(kind, longest)) for kind in (str.isupper, str.islower, str.isdigit))
        if len(longest) >= 20 and kinds >= 2:
            yield "encoded", m[0]
