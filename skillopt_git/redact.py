"""Secrets and denied words: found in any text, replaced by a mark on the way in, refused on the way out.

The library knows the formats of several hundred providers. The rules here add what it leaves out: tokens inside
prose, assignments, headers, URLs with a password, and key blocks that were cut off. Best effort: a secret without
any form of its own ("it is correct horse") cannot be told from prose.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import betterleaks

from skillopt_git.errors import SafetyError
from skillopt_git.personal import HOME, denied, personal
from skillopt_git.secretforms import FORMS, unescaped
from skillopt_git.secretnames import Span


@dataclass(frozen=True, slots=True)
class Finding:
    """One secret at `text[start:end]`."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Scanner:
    """Finds what may not be written: every secret, and the words that the user denies."""

    deny_words: tuple[str, ...] = field(default=(), repr=False)

    def find(self, text: str) -> tuple[Finding, ...]:
        """Sorted, disjoint, never inside an existing mark."""
        bare = _without_marks(text)
        return _findings(text, self._spans(bare, _view(bare)))

    def refuse(self, texts: Mapping[str, str]) -> None:
        """Raise a `SafetyError` naming place and kind of all that is found in `texts` (place -> text), no value."""
        found = [(place, finding.kind) for place, text in texts.items() for finding in self.find(text)]
        if found:
            named = "; ".join(dict.fromkeys(f"{self._shown(place)}: {kind}" for place, kind in found))
            raise SafetyError(
                f"A secret stands in what would be written ({named}).",
                "Nothing was written. Remove it where it came from, and revoke it if it is real.",
            )

    def _spans(self, bare: str, view: str) -> Iterator[Span]:
        for rule in (_library, *FORMS):
            yield from rule(view)
        # Once with the escapes and once without: the n of `\n` may be an escape's letter, or a word's first.
        for seen in {bare, view}:
            yield from denied(seen, self.deny_words)

    def _shown(self, place: str) -> str:
        return _replaced(place, self.find(place), lambda kind, _: f"[REDACTED:{kind}]")


SECRETS = Scanner()


@dataclass(frozen=True, slots=True)
class Redactor:
    """Puts `[REDACTED:<kind>:<8 hex>]` in place of all that is found; the hex tells equal ones from different ones.

    It is an HMAC with a private key, so that nobody else can test a guess against it.
    """

    key: bytes = field(repr=False)
    scanner: Scanner = SECRETS

    def __call__(self, text: str) -> str:
        # A mark may uncover a neighbour, hence the loop; it ends because text outside the marks only gets shorter.
        while found := self.scanner.find(text):
            text = _replaced(text, found, self._mark)
        return text

    def text(self, text: str) -> str:
        """What somebody said: also without addresses of people and machines, and with `~` for a person's home.

        Secrets come first, for the password of a URL looks like the beginning of an address.
        """
        while found := self.scanner.find(text) or _findings(text, personal(_without_marks(text))):
            text = _replaced(text, found, self._neutral)
        return text

    def _neutral(self, kind: str, value: str) -> str:
        return "~" if kind == HOME else self._mark(kind, value)

    def _mark(self, kind: str, secret: str) -> str:
        seen = hmac.new(self.key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        return f"[REDACTED:{kind}:{seen[:8]}]"


def find_secrets(text: str) -> tuple[Finding, ...]:
    """Every secret in `text`, whatever words are denied."""
    return SECRETS.find(text)


def without_hex(text: str) -> str:
    """`text` as it may be published: its marks keep the kind and lose the hex."""
    return _MARK_WITH_HEX.sub(r"[REDACTED:\1]", text)


def _replaced(text: str, found: Iterable[Finding], mark: Callable[[str, str], str]) -> str:
    parts, done = [], 0
    for finding in found:
        parts += [text[done : finding.start], mark(finding.kind, text[finding.start : finding.end])]
        done = finding.end
    return "".join([*parts, text[done:]])


# --- the text the rules look at ----------------------------------------------------------------------------------

_KIND_LENGTH = 48
_MARK_WITH_HEX = re.compile(r"\[REDACTED:([a-z0-9-]{1,48}):[0-9a-f]{8}\]")
_MARK = re.compile(r"\[REDACTED:[a-z0-9-]{0,48}(?::[0-9a-f]{0,8})?(?:\]|\Z)")
# What would hide a secret: NUL ends a C string, a lone surrogate has no UTF-8, an escape such as \n glues its letter
# to the next word, as filler and the colours of a terminal do, and the library skips a line with its own "allow".
_COLOUR = r"\[[0-9;]{0,16}[A-Za-z]"
_HIDING = re.compile(
    rf"""[\0\ud800-\udfff\x1b\\xX](?:                  # a pattern that begins with a character is searched fast
        (?<=[\0\ud800-\udfff])
      | (?<=\x1b){_COLOUR}
      | (?<=\\)(?:(?:(?:u00|x)1[bB]|033|e){_COLOUR}|u[0-9A-Fa-f]{{4}}|[nrt])
      | (?<=[xX])(?:[xX]{{7,}}?(?=x(?:ox[a-z]|app|ai)-)|[xX]{{7,}})
    )""",
    re.VERBOSE,
)
_ALLOW = "leaks:allow"


def _without_marks(text: str) -> str:
    """`text` in the same length, marks as line ends."""
    return _MARK.sub(lambda m: "\n" * len(m[0]), text)


def _view(bare: str) -> str:
    """`bare` in the same length, what would hide a secret as blanks."""
    return _HIDING.sub(lambda m: " " * len(m[0]), bare).replace(_ALLOW, " " * len(_ALLOW))


def _findings(text: str, spans: Iterable[Span]) -> tuple[Finding, ...]:
    merged = _merged(Finding(*span) for span in spans)
    return tuple(piece for finding in merged for piece in _outside_marks(text, finding))


def _outside_marks(text: str, finding: Finding) -> Iterator[Finding]:
    start = finding.start
    for mark in _MARK.finditer(text, finding.start, finding.end):
        yield from _piece(text, finding.kind, start, mark.start())
        start = mark.end()
    yield from _piece(text, finding.kind, start, finding.end)


def _piece(text: str, kind: str, start: int, end: int) -> Iterator[Finding]:
    if text[start:end].strip():
        yield Finding(kind, start, end)


def _merged(findings: Iterable[Finding]) -> list[Finding]:
    """Overlapping findings as one, named after the widest; of equally wide ones the earlier rule's name stays."""
    merged: list[Finding] = []
    widest = 0
    for finding in sorted(findings, key=lambda f: (f.start, -f.end)):
        width = finding.end - finding.start
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            kind = finding.kind if width > widest else last.kind
            merged[-1] = Finding(kind, last.start, max(last.end, finding.end))
            widest = max(widest, width)
        else:
            merged.append(finding)
            widest = width
    return merged


# The library expects a blank or a quote after a token. In prose and code there stands other punctuation.
_TOKEN_ENDS = re.compile(r"""[^\w\s"'`;/+=:@%$~(-](?<=[\w=-]{20}.)(?:(?<!\.)|(?!\w))""", re.ASCII)


def _library(view: str) -> Iterator[Span]:
    """What the library knows. Its columns count bytes and drift from line to line, so its values are looked up."""
    plain = unescaped(view)
    found = (f for seen in (plain, _with_token_ends(plain)) if seen for f in betterleaks.scan_string(seen))
    named = {f.secret.rstrip("\\"): f.rule_id for f in found if not f.rule_id.startswith("generic-")}
    for secret, rule in named.items():
        kind = re.sub(r"[^a-z0-9]+", "-", rule.lower())[:_KIND_LENGTH]
        at = plain.find(secret)  # not by `re`, which takes ten times as long, for there may be many
        while secret and at >= 0:
            yield (kind, at, at + len(secret))
            at = plain.find(secret, at + len(secret))


def _with_token_ends(plain: str) -> str:
    """The lines in which something else than a blank follows what may be a token, with blanks there."""
    spaced = _TOKEN_ENDS.sub(r" \g<0>", plain)
    return "\n".join(new for old, new in zip(plain.split("\n"), spaced.split("\n"), strict=True) if new != old)
