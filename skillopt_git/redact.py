"""Secrets: found in any text, replaced by a mark on the way in, refused on the way out.

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
from skillopt_git.secretforms import FORMS, unescaped
from skillopt_git.secretnames import Span


@dataclass(frozen=True, slots=True)
class Finding:
    """One secret at `text[start:end]`."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redactor:
    """Puts `[REDACTED:<kind>:<8 hex>]` in place of every secret; the hex tells equal secrets from different ones.

    It is an HMAC with a private key, so that nobody else can test a guess against it.
    """

    key: bytes = field(repr=False)

    def __call__(self, text: str) -> str:
        # A mark may uncover a neighbour, hence the loop; it ends because text outside the marks only gets shorter.
        while found := find_secrets(text):
            text = _replaced(text, found, self._mark)
        return text

    def _mark(self, kind: str, secret: str) -> str:
        seen = hmac.new(self.key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        return f"[REDACTED:{kind}:{seen[:8]}]"


def find_secrets(text: str) -> tuple[Finding, ...]:
    """Every secret in `text`: sorted, disjoint, never inside an existing mark."""
    view = _view(text)
    found = _merged(Finding(*span) for rule in (_library, *FORMS) for span in rule(view))
    return tuple(piece for finding in found for piece in _outside_marks(text, finding))


def without_hex(text: str) -> str:
    """`text` as it may be published: its marks keep the kind and lose the hex."""
    return _MARK_WITH_HEX.sub(r"[REDACTED:\1]", text)


def refuse_secrets(texts: Mapping[str, str]) -> None:
    """Raise a `SafetyError` naming place and kind of every secret in `texts` (place -> text), never its value."""
    found = [(place, finding.kind) for place, text in texts.items() for finding in find_secrets(text)]
    if found:
        named = "; ".join(dict.fromkeys(f"{_shown(place)}: {kind}" for place, kind in found))
        raise SafetyError(
            f"A secret stands in what would be written ({named}).",
            "Nothing was written. Remove it where it came from, and revoke it if it is real.",
        )


def _shown(place: str) -> str:
    return _replaced(place, find_secrets(place), lambda kind, _: f"[REDACTED:{kind}]")


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
# to the next word, filler does the same, and the library skips a line with its own "allow" comment.
_HIDING = re.compile(r"[\0\ud800-\udfff]|\\[nrt]|[xX]{8,}?(?=x(?:ox[a-z]|app|ai)-)|[xX]{8,}|(?:git|better)leaks:allow")


def _view(text: str) -> str:
    """`text` in the same length, marks as line ends and what would hide a secret as blanks."""
    bare = _MARK.sub(lambda m: "\n" * len(m[0]), text)
    return _HIDING.sub(lambda m: " " * len(m[0]), bare)


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


def _library(view: str) -> Iterator[Span]:
    """What the library knows. Its columns count bytes and drift from line to line, so its values are looked up."""
    plain = unescaped(view)
    named = {f.secret: f.rule_id for f in betterleaks.scan_string(plain) if not f.rule_id.startswith("generic-")}
    for secret, rule in named.items():
        kind = re.sub(r"[^a-z0-9]+", "-", rule.lower())[:_KIND_LENGTH]
        yield from ((kind, m.start(), m.end()) for m in re.finditer(re.escape(secret), plain))
