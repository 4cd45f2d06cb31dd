"""From a typed prompt to its clauses: what in it is the user's own words, and whether they turn an answer down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_DIFF = re.compile(r"^(?:diff --git |@@ )", re.MULTILINE)
_DIFF_LINE = re.compile(r"^(?:[-+ @]|diff |index )")
_MAIL = re.compile(r"^(?:On .+ wrote:|-+ ?Original Message ?-+|From: .+)\s*$", re.IGNORECASE)
_PASTED = re.compile(
    r"""^(?: (?:\ {4}|\t)                                     # code is indented
      | \s*(?: > | \| | \$\  | \# | // | /\*
        | at\ \S+\( | File\ " | Traceback
        | \[?\d{4}-\d\d-\d\d | \[?\d\d:\d\d:\d\d
        | \[? (?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL) \b
        | (?i: \w*(?:error|exception|warning) (?:\[\w+\])? : | (?:fatal|hint|remote): | npm\ err! )
      ))""",
    re.VERBOSE,
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_END = re.compile(
    r"(?<=[.!?;])\s+|\n+|\s+[—–]\s+|\s+-{1,2}\s+"
    r"|,?\s+(?:and|but|so)\s+(?=(?:we|you|i|please|always|never|don'?t|do not)\s)"
    r"|,\s+(?=we\s+(?:always|never|use|don'?t|do not)\s)"
    r"|,\s+(?=(?:always|never|don'?t|do not)\s+(?:add|call|commit|install|push|put|run|use|write)\s)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"^(?:no+|nope|nah|wrong|stop|not (?:quite|that|like that)|(?:that|this)(?:'s| is) (?:wrong|not))\b"
    r"\s*(?:[,.:;!—–-]|please\b|don'?t\b|do not\b|(?:always|never|use|not)\b|right\b|it\b|what\b|$)"
    r"|^(?:looks? |sounds? )?(?:great|good|nice|ok(?:ay)?|fine|almost|close)\b[^.]{0,30}\bbut\b",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"^(?:(?:no+|nope|nah)\b[\s,.:;!—–-]*)?"
    r"(?:(?:that|this|it|all)?(?:'s| is)?\s*(?:looks? |sounds? )?"
    r"(?:all )?(?:fine|ok(?:ay)?|good|great|right|correct|perfect)\b(?![^.]*\bbut\b)"
    r"|go ahead\b|not a problem\b|thank)"
    r"|^no (?:problem|worries|need|idea|thanks|rush|doubt|matter|way|one|such|module|more questions?|objections?)\b"
    r"|^never ?mind\b|^not (?:yet|now)\b",
    re.IGNORECASE,
)
_ONWARD = re.compile(
    r"^(?:and\s+)?(?:then|now|next(?! time)|also|afterwards|after that|finally|meanwhile)\b", re.IGNORECASE
)
_OPENER = re.compile(
    r"^(?:(?:no+|nope|nah|wrong|stop|wait|hold on|sorry|ok(?:ay)?|hm+|hey|well|great(?: idea)?|good|nice|almost|"
    r"thanks|thank you|not (?:quite|that|like that)|(?:looks|sounds) (?:good|great|fine)|"
    r"(?:that|this)(?:'s| is) (?:wrong|not (?:it|right|what i (?:asked|meant|wanted)(?: for)?)))\b\s*[,.:;!—–-]+\s*"
    r"|(?:no|actually|but|and|so|also|please|then|just|now|next(?! time))\b,?\s+)+",
    re.IGNORECASE,
)
_PLACE = r"(?:in|for|on) (?:this|our) (?:repo(?:sitory)?|project|code ?base|team)"
_LEADING_PLACE = re.compile(rf"^(?:{_PLACE}|here),?\s+", re.IGNORECASE)
_INNER_PLACE = re.compile(rf"\s+(?:here|{_PLACE})(?=,)", re.IGNORECASE)
_COURTESY = re.compile(
    rf"(?<![,\s])[,\s]+(?:please|here|instead|too|as well|thanks|thank you|ok(?:ay)?|{_PLACE})$", re.IGNORECASE
)
_END_MARKS = ".!;:, "
SENTENCE_LIMIT = 1_000  # characters; what is longer is no sentence that anybody typed as a wish


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause without openers and courtesies. `refused`: it, or a clause shortly before, turned an answer down."""

    text: str
    refused: bool


def clauses(prompt: str) -> Iterator[Clause]:
    """The user's own statements, in order. Questions, quotations, pasted logs and code are left out."""
    refused = False
    for part in _END.split(_own_words(prompt)):
        sentence = part.strip()
        if _CONSENT.match(sentence):
            refused = False
            continue
        refused = bool(_REFUSAL.match(sentence)) or (refused and not _ONWARD.match(sentence))
        if len(sentence) > SENTENCE_LIMIT:
            continue
        text = trimmed(_OPENER.sub("", sentence))
        if text and not sentence.rstrip("\"')").endswith("?"):
            yield Clause(_without_place(text), refused)


def _own_words(prompt: str) -> str:
    """What is left of a prompt without quotations and code: lines that are not empty, with single blanks."""
    text = _FENCE.sub("\n", prompt.replace("\u2019", "'").replace("\u2018", "'").replace("\r", "\n"))
    is_diff = bool(_DIFF.search(text))
    kept: list[str] = []
    for line in text.split("\n"):
        if _MAIL.match(line):
            break  # the mail that is answered follows to the end
        if not _PASTED.match(line) and not (is_diff and _DIFF_LINE.match(line)):
            kept.append(" ".join(_BULLET.sub("", line).split()))
    return "\n".join(filter(None, kept))


def _without_place(text: str) -> str:
    """The rules are this repository's, so "here" and "in this project" say nothing."""
    return _INNER_PLACE.sub("", _LEADING_PLACE.sub("", text))


def trimmed(text: str) -> str:
    """`text` without what is said for courtesy at its end."""
    while True:
        shorter = _COURTESY.sub("", text.strip()).rstrip(_END_MARKS)
        if shorter == text:
            return text
        text = shorter
