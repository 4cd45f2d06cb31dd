"""What is nobody's business and yet no secret: addresses of people and machines, whose home it is, denied words.

Every rule reads one text, in which marks are blank, and yields spans. All it looks at besides a few literal characters
is bounded, so that no text takes more than linear time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv6Network, ip_address

from skillopt_git.secretnames import Span

HOME = "home"

# Accounts that name nobody: those of machines and images, and the placeholders of manuals.
NOBODY = frozenset(
    "admin administrator app build builder ci circleci codespace debian default dev developer docker ec2-user fedora "
    "foo git guest jenkins jovyan linuxbrew me name node nobody postgres public root runner runneradmin shared "
    "someone ubuntu user username users vagrant vscode work www yourname your-name youruser your-user".split()
)

# In a text that is itself quoted, an escape such as \n ends with a letter that is none of the next word.
_AFTER_ESCAPE = r"(?<=\\[nrt])"


def personal(text: str) -> Iterator[Span]:
    """E-mail addresses, IP addresses and homes. A home's span goes up to the name it is called by."""
    yield from _emails(text)
    yield from _ipv4(text)
    yield from _ipv6(text)
    yield from _homes(text)


# --- e-mail ------------------------------------------------------------------------------------------------------

_SIGNS = ("@", "%40")
_LOCAL_LONGEST = 64
_LOCAL = re.compile(r"\w[\w.%+-]{0,63}+\Z")
_LABELS = r"(?:[\w-]{1,63}\.){1,8}"
# Where addresses end: in two letters of a country, or in one of these. There are some thousand other endings, which
# count only inside <...>: `x @ w.mean` without its blanks, `unit@name.service` and `logo@2x.png` look like addresses.
_ENDINGS = (
    "academy|agency|app|arpa|berlin|bio|biz|blog|care|center|chat|city|cloud|codes|com|community|company|consulting|"
    "coop|corp|design|dev|digital|edu|education|email|engineering|enterprises|example|expert|finance|foundation|gmbh|"
    "gov|group|guru|health|help|home|house|industries|info|ink|institute|int|international|internal|intranet|invalid|"
    "jobs|lan|law|legal|life|live|local|localdomain|london|ltd|media|mil|mobi|museum|name|net|network|news|nyc|one|"
    "online|org|page|partners|paris|post|press|pro|scot|services|shop|site|software|solutions|space|store|studio|"
    "swiss|systems|team|tech|technology|tel|test|today|tools|travel|university|ventures|wiki|works|world|xyz|zone"
)
_HOST = re.compile(rf"({_LABELS})(?:[a-z]{{2}}|[A-Z]{{2}}|(?i:{_ENDINGS}))(?![\w(\[-])")
_HOST_IN_BRACKETS = re.compile(rf"({_LABELS})[^\W\d_]{{2,24}}(?=>)")
_VERSION = re.compile(r"v?\d+\.\d")
_URL_BEFORE = re.compile(r"://[^\s/@]{0,64}:[^\s/@]{0,128}\Z")
_NO_PERSON = frozenset({"git", "hg", "svn", "noreply", "no-reply"})


def _emails(text: str) -> Iterator[Span]:
    for at in (at for sign in _SIGNS if sign in text for at in re.finditer(sign, text)):
        local = _LOCAL.search(text, max(0, at.start() - _LOCAL_LONGEST), at.start())
        if local is None:
            continue
        start = local.start() + _escape_letter(text, local.start())
        opened = text[max(0, start - 1) : start] == "<"
        enclosed = _HOST_IN_BRACKETS.match(text, at.end()) if opened else None
        host = enclosed or _HOST.match(text, at.end())
        if host and _is_email(text[start : at.start()], host[1]) and not _is_url_password(text, start):
            yield ("email", start, host.end())


def _escape_letter(text: str, start: int) -> int:
    return int(text[max(0, start - 1) : start + 1] in {"\\n", "\\r", "\\t"})


def _is_email(local: str, labels: str) -> bool:
    """`x@w.at` is a product of matrices, `pkg@1.2.3-rc.io` a version, `git@...` an account that everybody shares."""
    single = len(local) == 1 and labels.index(".") == 1
    return not single and local.casefold() not in _NO_PERSON and _VERSION.match(labels) is None


def _is_url_password(text: str, start: int) -> bool:
    """A real one is a secret and gone by now; what is left is a placeholder such as `user:password@host`."""
    return _URL_BEFORE.search(text, max(0, start - 200), start) is not None


# --- IP addresses ------------------------------------------------------------------------------------------------

# Each begins with a character, for such a pattern is searched fast; what must not stand before is looked at second.
_IPV4 = re.compile(
    r"[0-9](?:(?<![\w.][0-9])|(?<=\\[nrt][0-9]))[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?!\w|\.[0-9])",
)
_IPV6 = re.compile(r"[23fF](?:(?<![\w:.].)|(?<=\\[nrt].))[0-9A-Fa-f]{3}:[0-9A-Fa-f:]{1,34}(?!\w)")
_VERSION_BEFORE = re.compile(
    r"""(?:(?:version|release|section|chapter|appendix|clause)s?["'>]?[ \t]{0,4}[:=(]?[ \t]{0,4}["']?  # version: "
    | [=<>~!^]=(?<![=!]=[ ]) | [<>~]=[ ] | \^[ ]? | ~>?[ ]? | §[ ]?                                    # ==, >=, ~>
    | [a-z]- )\Z                                                                                       # name-1.2.3.4
    | (?-i:(?<![\w/])[A-Z][A-Za-z]{1,24}/)\Z                                                           # Agent/1.2.3.4
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What is handed out to networks, ours or everybody's. Anything else, as `a::b`, is a path in a program.
_ASSIGNED = tuple(map(IPv6Network, ("2000::/3", "fc00::/7", "fe80::/10")))


def _ipv4(text: str) -> Iterator[Span]:
    for m in _IPV4.finditer(text):
        if _names_a_machine(m[0]) and not _VERSION_BEFORE.search(text, max(0, m.start() - 32), m.start()):
            yield ("ip", *m.span())


def _ipv6(text: str) -> Iterator[Span]:
    for m in _IPV6.finditer(text):
        address = m[0] if m[0].endswith("::") else m[0].removesuffix(":")
        if _names_a_machine(address):
            yield ("ip", m.start(), m.start() + len(address))


def _names_a_machine(text: str) -> bool:
    """Whether it is an address, and of one machine: not loopback, a mask, a broadcast or a group of machines."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return address.packed[0] not in {0, 127, 255} and not address.is_multicast
    return any(address in network for network in _ASSIGNED)


# --- homes -------------------------------------------------------------------------------------------------------

_NAME = r"\w(?:[\w.@+-]{0,62}\w)?"
_SPACED = r"\w[\w.@+-]{0,31}(?:[ ][A-Z][\w.@+-]{0,31}){1,2}(?=\\)"  # Windows allows blanks, in a path that goes on
_SLASH, _BACKSLASH = r"\\{0,2}/", r"\\{1,8}"  # escaped by JSON, and by JSON in JSON
_BELOW = rf"(?:{_SLASH}(?P<unix>{_NAME})|{_BACKSLASH}(?P<windows>{_SPACED}|{_NAME}))"
_FOLDERS = {word: re.compile(f"{word}{_BELOW}") for word in ("home", "Users")}
# Not in the midst of another path; `file://` is followed by a whole one.
_BEGINS = rf"(?:(?<![\w.~/\\}})\]$-])|{_AFTER_ESCAPE}|(?<=://)|(?<=:///)|(?<=://file))"
_ABOVE = re.compile(rf"{_BEGINS}(?:[A-Za-z]:|{_SLASH}(?:var|usr|(?:mnt{_SLASH})?[a-z]))?(?:{_SLASH}|{_BACKSLASH})\Z")
_ABOVE_LONGEST = 16
# How an agent names the folder of a project: its path, with hyphens for all that is no letter or digit.
_SLUG_NAME = "|".join([*sorted(name for name in NOBODY if "-" in name), "[A-Za-z0-9]{1,64}"])
_SLUG = re.compile(
    rf"projects(?:/|{_BACKSLASH})(?:-(?:var-|usr-|mnt-[a-z]-)?(?:home|Users)|[A-Za-z]--Users)-({_SLUG_NAME})"
)


def _homes(text: str) -> Iterator[Span]:
    for word, folder in _FOLDERS.items():
        for m in folder.finditer(text) if word in text else ():
            above = _ABOVE.search(text, max(0, m.start() - _ABOVE_LONGEST), m.start())
            if above and not _is_nobody(m["unix"] or m["windows"]):
                yield (HOME, above.start(), m.end())
    yield from ((HOME, *m.span(1)) for m in _SLUG.finditer(text) if not _is_nobody(m[1]))


def _is_nobody(account: str) -> bool:
    return account.casefold() in NOBODY


# --- denied words ------------------------------------------------------------------------------------------------


def denied(text: str, words: tuple[str, ...]) -> Iterator[Span]:
    """The `words`, whatever their case and spelling in Unicode, and whatever blanks stand inside.

    They stand by themselves: "acme" is found in `acme_api` and not in `acmeology`.
    """
    if words:
        folded, places = _folded(text)
        for m in (m for word in _patterns(words) for m in word.finditer(folded)):
            yield ("deny-word", places[m.start()], places[m.end() - 1] + 1)


def _folded(text: str) -> tuple[str, range | list[int]]:
    """`text` as it is compared, and for each of its characters where in `text` it comes from."""
    if text.isascii():
        return text.lower(), range(len(text))
    each = [_plain(char) for char in text]
    return "".join(each), [at for at, plain in enumerate(each) for _ in plain]


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """Decomposed and not composed, for so each character can be folded alone, and two spellings are one."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


@cache
def _patterns(words: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(_alone(_plain(word).split()) for word in words)


def _alone(parts: list[str]) -> re.Pattern[str]:
    """Where these parts of a word stand by themselves, with blanks between, or what stands for blanks in names."""
    first, *_ = plain = [re.escape(part) for part in parts]
    before = f"(?<![^\\W_]{first})" if parts[0][0].isalnum() else ""
    after = r"(?![^\W_]|[\u0300-\u036f])" if _is_letter(parts[-1][-1]) else ""
    return re.compile(first + before + r"[\s_-]+".join(["", *plain[1:]]) + after)


def _is_letter(char: str) -> bool:
    return char.isalnum() or unicodedata.combining(char) > 0
