"""What an answer says: a word anywhere, in the code it shows, or as a command.

Quoting is not doing: a word that stands alone in a code span or on a line of code, and a rule that was copied there,
are not looked at. So an answer neither passes by repeating what is asked for nor fails by naming what it avoided.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache


def same_case(text: str) -> str:
    return unicodedata.normalize("NFC", text.casefold())


def says(text: str, word: str) -> bool:
    """Literally, whatever the case, and never as a part of a longer word: `npm` is not in `pnpm`."""
    return _bordered(word).search(same_case(text)) is not None


@lru_cache(maxsize=512)
def _bordered(word: str) -> re.Pattern[str]:
    wanted = same_case(word)
    before = r"(?<!\w)" if re.match(r"\w", wanted) else ""
    after = r"(?!\w)" if re.match(r"\w", wanted[-1]) else ""
    return re.compile(before + re.escape(wanted) + after)


def says_in_code(text: str, word: str) -> bool:
    """In a code span or a line of code that says more than the word."""
    return any(
        says(piece.text, word) and _more(piece.text, word) and piece.shown_for(word) for piece in _read(text).code
    )


def says_in_command(text: str, word: str) -> bool:
    """As the beginning of a command, with an argument unless the word is a command of several words.

    As it is written or in lower case, since shells tell these apart. Prose counts where no command could be read from
    code: "Ran npm install lodash." An answer that is nothing but the command only quotes it.
    """
    answer = _read(text)
    quoted = not any(_more(part, word) for part in (*answer.sentences, *(piece.text for piece in answer.code)))
    if any(_run(piece, word, quoted=quoted) for piece in answer.code if piece.shown_for(word)):
        return True
    shown = any(len(piece.text.split()) > 1 for piece in answer.code)
    return not shown and any(_told(sentence, word) for sentence in answer.sentences)


def _more(text: str, word: str) -> bool:
    """Whether something is said beside the word."""
    return re.search(r"\w", _bordered(word).sub(" ", same_case(text))) is not None


# --- an answer's parts -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Code:
    """A line of code, or a code span and what was said before it in its sentence."""

    text: str
    before: str = ""

    def shown_for(self, word: str) -> bool:
        """Not as what was avoided, and not as a sentence about the word."""
        return not _turned_down(self.before) and not _is_sentence(self.text, word)


@dataclass(frozen=True, slots=True)
class _Answer:
    code: tuple[_Code, ...]
    sentences: tuple[str, ...]  # code spans cut to a mark


_OPENS = re.compile(r"(?:[ \t>]|[-*+] |\d{1,9}[.)] )*(?P<fence>`{3,}(?!.*`)|~{3,})")
_INDENTED = re.compile(r" {4}|\t| {1,3}\t")
_LEAD = 200  # characters before a code span or a command that tell how it is meant
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@lru_cache(maxsize=64)  # several checks look at one answer
def _read(text: str) -> _Answer:
    code: list[_Code] = []
    sentences: list[str] = []
    for line, is_code in _lines(text):
        if is_code:
            code.append(_Code(line.strip()))
        else:
            spans, prose = _parted(line)
            code += spans
            sentences += _SENTENCE_END.split(prose)
    return _Answer(tuple(piece for piece in code if piece.text), tuple(sentences))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line and whether it is code: in a fence, which may stay open to the end, or indented after a blank one."""
    fence, quiet = "", True
    for line in text.splitlines():
        if fence:
            if _closes(line, fence):
                fence = ""
            else:
                yield line, True
        elif opening := _OPENS.match(line):
            fence, quiet = opening["fence"], True
        else:
            indented = quiet and _INDENTED.match(line) is not None
            quiet = indented or not line.strip()
            yield line, indented


def _closes(line: str, fence: str) -> bool:
    bare = line.strip(" \t>")
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def _spans(line: str) -> Iterator[tuple[int, int, str]]:
    """Begin, end and text of each code span: between two runs of equally many backticks, the nearest ones."""
    runs = [run.span() for run in re.finditer("`+", line)]
    closing, nearest = [0] * len(runs), dict[int, int]()
    for at, (begin, end) in reversed(list(enumerate(runs))):
        closing[at] = nearest.get(end - begin, 0)
        nearest[end - begin] = at
    at = 0
    while at < len(runs):
        close = closing[at]
        if close:
            yield runs[at][0], runs[close][1], line[runs[at][1] : runs[close][0]].strip()
        at = (close or at) + 1


def _parted(line: str) -> tuple[list[_Code], str]:
    """The code spans of a line of prose, and the line with a mark in place of each."""
    spans, prose, at = [], "", 0
    for begin, end, code in _spans(line):
        prose += line[at:begin]
        spans.append(_Code(code, _SENTENCE_END.split(prose[-_LEAD:])[-1]))
        prose, at = prose + "`", end
    return spans, prose + line[at:]


# --- commands ----------------------------------------------------------------------------------------------------

_START = r"""
    (?: ^ (?: [\w.@:~/()-]{0,80} [$>%\#] \s+ )?  (?: (?:-\s+)? run:\s+ | RUN\s+ )?  | (?: && | [|;(] ) \s* )
    (?: (?:sudo | env | time | exec) \s+ | \w+= (?: "[^"]*" | '[^']*' | [^\s"']\S* | ) \s+ )*
    (?: ~?/ (?:[\w.@+-]+/)* )?
"""
_ARGUMENT = r"(?:\s+(?P<next>(?:--?\w|[\w./~@$\"'*{\[+:%\\])\S*))"
_ENDS = r"(?=\s*(?:$|[&|;<>\#)]))"


def _run(piece: _Code, word: str, *, quoted: bool) -> bool:
    """Whether a piece of code has the command; one of several words may also stand there without an argument."""
    whole = len(word.split()) > 1 and not (quoted or _TELLING_START.search(piece.before))
    found = _command(word).finditer(piece.text)
    return any(whole if one["next"] is None else one["next"].rstrip(_AFTER) not in _NO_ARGUMENTS for one in found)


@lru_cache(maxsize=512)
def _command(word: str) -> re.Pattern[str]:
    return re.compile(f"{_START}(?:{_spelled(word)})(?:{_ARGUMENT}|{_ENDS})", re.VERBOSE)


def _spelled(word: str) -> str:
    """A command as it is written or in lower case, however its words are spaced."""
    spellings = dict.fromkeys((word, word.lower()))
    return "|".join(r"\s+".join(map(re.escape, spelling.split())) for spelling in spellings)


# --- prose -------------------------------------------------------------------------------------------------------

_AFTER = ".,:;!?)\"'”“»"
_NO_ARGUMENTS = frozenset(
    "a ahead already also always an and any are as at back be because been before but by can does did either ever for "
    "from had has have here if in instead into is it like must never nor not now of on once only or over should since "
    "so still sure than that the them then there this through to too until vs was we were when where which while will "
    "with without would you "
    "aber als am an auch auf aus bei das dem den der die ein eine für hier hat im immer in ist kann mit nach nicht "
    "noch nur oder schon sind statt und vom von war weil wenn wird zu zum zur "
    "avec dans des du est et le les mais ne ou pas pour sur una con de el en es la los para pero por que se y".split()
)
_BEFORE_NAMES = frozenset(
    "a an any each every from his into its my no of our over than that the their this to your "
    "das dem den der des die diese dieses ein eine einem einen keine vom von zum zur ce cette du el la las le les los "
    "del un una une".split()
)
_NEGATIONS = frozenset(
    "anstatt avoid avoided avoiding cannot instead jamais kein keine keinen neither never nicht nie niemals no nor not "
    "nunca ohne pas rather sans sin statt than unlike without".split()
)
_NEAR = 4  # words before it that can turn a command down: "instead of having to run"
_CLAUSE = re.compile(r"[.;:!?,(–—]\s*")
_TELLING = r"""(?: use | always | never | prefer | avoid | please | don['’]t | do\ not | no
    | nutze | benutze | verwende | nimm | immer | nie | niemals | bitte | keine?n?
    | usa | siempre | nunca | utilise | toujours | jamais ) (?! [\w-] | \s* [=:@({\[] )"""
_TELLING_CODE = re.compile(_TELLING, re.VERBOSE | re.IGNORECASE)
_TELLING_START = re.compile(rf"(?: ^ | [:\"'“„«(] ) [\s>\#*_~`/.\d)+-]* {_TELLING}", re.VERBOSE | re.IGNORECASE)
_CONTRASTS = re.compile(
    r", (?:not|never|nicht) |\b(?:instead of|rather than|(?:an)?statt|en lugar de|au lieu de)\b", re.IGNORECASE
)
_MARKS = " \t>#*_~\"'`“„«(/.)+-0123456789"
_CODE_SIGNS = re.compile(r"[={}\[\];<>$|\\]|\w\(|&&|::")


def _is_sentence(code: str, word: str) -> bool:
    """Whether a line that stands as code is prose, a copied rule say: words without a sign that only code has."""
    bare = code.lstrip(_MARKS)
    tells = _TELLING_CODE.match(bare) is not None
    contrasts = _CONTRASTS.search(code) is not None
    if _CODE_SIGNS.search(_bordered(word).sub("", same_case(code))):
        return tells and (contrasts or not bare.startswith("use "))  # `use std::fs;` is code
    begins = re.match(r"[A-Z][a-z]+,? +[^\s=]", bare) and not says(code.split()[0], word.split()[0])
    return tells or contrasts or bool(begins)


def _turned_down(before: str) -> bool:
    """Whether the words before say that the next is not what was done."""
    words = _CLAUSE.split(before)[-1].lower().replace("’", "'").split()[-_NEAR:]
    return any(word in _NEGATIONS or word.endswith("n't") for word in words)


def _told(sentence: str, word: str) -> bool:
    """Whether prose tells of the command: a lower-case word or a flag follows, and no article or negation precedes."""
    if _TELLING_START.search(sentence):
        return False
    mentions = ((found.start(), found["next"]) for found in _mention(word).finditer(sentence))
    return any(_is_told(sentence[max(0, at - _LEAD) : at], following) for at, following in mentions)


@lru_cache(maxsize=512)
def _mention(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w./@-])(?:{_spelled(word)})[ \t]+(?P<next>--?\w\S*|[^\W\d_]\S*)")


def _is_told(before: str, following: str) -> bool:
    argument = following[0] == "-" or (following[0].islower() and following.rstrip(_AFTER) not in _NO_ARGUMENTS)
    named = before.lower().split()[-1:]
    return argument and not (named and named[0] in _BEFORE_NAMES) and not _turned_down(before)
