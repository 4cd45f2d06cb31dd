"""The learned block of a document: reading its rules, and adding, replacing and deleting them.

A rule is a `- ` line between two marker lines, with the indented lines that follow it. Whatever stands outside of the
block belongs to somebody else and stays as it is, byte for byte.

A second block may hold the document's guidance: one such line, which is written anew as a whole.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from pathlib import PurePosixPath

from skillopt_git.errors import ConfigError
from skillopt_git.ids import fold
from skillopt_git.model import DocumentKind, Edit

START = "<!-- SKILLOPT-SLEEP:LEARNED START -->"
END = "<!-- SKILLOPT-SLEEP:LEARNED END -->"
SLOW_START = "<!-- SLOW_UPDATE_START -->"
SLOW_END = "<!-- SLOW_UPDATE_END -->"
BOM = "\ufeff"

_END_OF = {START: END, SLOW_START: SLOW_END}
_MARKERS = frozenset({START, END, SLOW_START, SLOW_END})


class DamagedBlock(ConfigError):
    """There is no telling where rules belong. Nothing is guessed; a person has to mend the document."""

    def __init__(self, message: str, hint: str = "mend or remove the marker lines by hand") -> None:
        super().__init__(message, hint)


# --- bytes and lines ---------------------------------------------------------------------------------------------


def decode(data: bytes) -> str:
    """The text of a document, its byte order mark and line ends included, so that `encode` gives `data` back."""
    if b"\0" in data:
        raise ConfigError("the document is binary: it holds NUL bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"the document is not UTF-8: {error.reason} at byte {error.start}") from error


def encode(text: str) -> bytes:
    return text.encode()


def _lines(body: str) -> list[str]:
    """Lines with their ends. `str.splitlines` would also cut at form feeds and other characters that end no line."""
    return list(io.StringIO(body, newline=""))


def _ending(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _key(text: str) -> str:
    """What makes two rules the same: the folded words, without list marks."""
    return fold(re.sub(r"^\s*(?:(?:[-*+]|\d+[.)])\s+)*", "", text))


# --- the block ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    """The lines with the two markers."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Item:
    """A list item: the lines from `first` to before `stop`, and their words on one line."""

    first: int
    stop: int
    text: str


def _block(lines: Sequence[str], begins: str = START) -> _Block | None:
    """Where the learned block is, or another one that begins so.

    A marker counts when it is alone on its line. One inside a code block is refused rather than skipped: other tools
    that share the markers would take it for the block.
    """
    markers = [number for number, line in enumerate(lines) if line.strip() in _MARKERS]
    found: list[_Block] = []
    for start, end in zip_longest(markers[::2], markers[1::2]):
        marker = lines[start].strip()
        if end is None or _END_OF.get(marker) != lines[end].strip():
            raise DamagedBlock(f"line {start + 1} should begin a block, and its own end come next: {marker}")
        if marker == begins:
            found.append(_Block(start, end))
    if len(found) > 1:
        raise DamagedBlock(f"there are two blocks of one kind, on lines {found[0].start + 1} and {found[1].start + 1}")
    for block in found:
        _refuse_fenced(lines, block)
    _refuse_open(lines[: found[0].start] if found else lines)
    return found[0] if found else None


def _refuse_fenced(lines: Sequence[str], block: _Block) -> None:
    for first, last in _fences(lines, block):
        if last > block.start:
            raise DamagedBlock(f"the learned block lies inside the code block begun on line {first + 1}")


_FENCE = re.compile(r"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)*(`{3,}(?!.*`)|~{3,})")


def _fences(lines: Sequence[str], block: _Block) -> Iterator[tuple[int, int]]:
    """First and last lines of the fenced code blocks begun before `block`; a fence that is never closed is none."""
    at = 0
    while at < block.start:
        opening = _FENCE.match(lines[at])
        last = _closing(lines, at, opening[1]) if opening else None
        if last is not None:
            yield at, last
            at = last
        at += 1


_OPENS = re.compile(r" {0,3}(?:(?P<fence>`{3,}(?!.*`)|~{3,})|<!--)")


def _refuse_open(lines: Sequence[str]) -> None:
    """Refuses a code block or a comment that is begun here and not closed: the learned block would be part of it.

    One in a list or a quotation ends with that.
    """
    at = 0
    while at < len(lines):
        opening = _OPENS.match(lines[at])
        if opening is None:
            at += 1
            continue
        noun, end = ("code block", opening["fence"]) if opening["fence"] else ("HTML comment", "-->")
        last = _end_of_code(lines, at, end) if opening["fence"] else _end_of_comment(lines, at, opening.end())
        if last is None:
            raise DamagedBlock(
                f"the {noun} begun on line {at + 1} is never closed, and the learned block would stand inside it",
                f"close it: a line `{end}` after it",
            )
        at = last + 1


def _end_of_code(lines: Sequence[str], opened: int, fence: str) -> int | None:
    closing = re.compile(rf" {{0,3}}{re.escape(fence)}{re.escape(fence[0])}*[ \t]*")
    return next((at for at in range(opened + 1, len(lines)) if closing.fullmatch(lines[at].rstrip("\r\n"))), None)


def _end_of_comment(lines: Sequence[str], opened: int, begun: int) -> int | None:
    if "-->" in lines[opened][begun - 2 :]:  # `<!-->` is a comment
        return opened
    return next((at for at in range(opened + 1, len(lines)) if "-->" in lines[at]), None)


def _closing(lines: Sequence[str], opened: int, fence: str) -> int | None:
    closing = re.compile(rf"[\s>]*{re.escape(fence)}{re.escape(fence[0])}*\s*")
    return next((at for at in range(opened + 1, len(lines)) if closing.fullmatch(lines[at])), None)


def _items(lines: Sequence[str], start: int, stop: int) -> Iterator[_Item]:
    at = start
    while at < stop:
        end = at + 1
        if lines[at].startswith("- ") and lines[at][2:].strip():
            while end < stop and lines[end][0].isspace():
                end += 1
            while not lines[end - 1].strip():
                end -= 1
            yield _Item(at, end, " ".join("".join(lines[at:end])[2:].split()))
        at = end


def _learned(lines: Sequence[str], begins: str = START) -> list[_Item]:
    block = _block(lines, begins)
    return list(_items(lines, block.start + 1, block.end)) if block else []


def _guiding(lines: Sequence[str]) -> list[_Item]:
    """The guidance; none where its block is damaged, for the rules can be told all the same."""
    try:
        return _learned(lines, SLOW_START)
    except DamagedBlock:
        return []


# --- questions ---------------------------------------------------------------------------------------------------


def rules(text: str) -> tuple[str, ...]:
    """The learned rules, in order, each on one line."""
    return tuple(item.text for item in _learned(_lines(text.removeprefix(BOM))))


def guidance(text: str) -> tuple[str, ...]:
    """What the block of guidance says. Raises `DamagedBlock` where it cannot be told."""
    return tuple(item.text for item in _learned(_lines(text.removeprefix(BOM)), SLOW_START))


def only_guides(text: str, sentence: str) -> bool:
    """Whether the guidance says `sentence`, and no rule does."""
    lines, wanted = _lines(text.removeprefix(BOM)), _key(sentence)
    said = [any(_key(item.text) == wanted for item in items) for items in (_learned(lines), _guiding(lines))]
    return said == [False, True]


def holds(text: str, sentence: str) -> bool:
    """Whether some line, or some list item, in the block or outside of it, says `sentence`."""
    wanted = _key(sentence)
    return bool(wanted) and wanted in _sentences(text)


@lru_cache(maxsize=64)  # one document is asked about every rule it was ever taught
def _sentences(text: str) -> frozenset[str]:
    lines = _lines(text.removeprefix(BOM))
    return frozenset(map(_key, (*lines, *(item.text for item in _items(lines, 0, len(lines))))))


_NOT_FOLDED = re.compile(r"$|[-*+]\s|\d+[.)]\s|[>#|]|`{3}|~{3}|[-=]+$")


def refusal(text: str | None) -> str | None:
    """Why `text` cannot be a rule; None if it can."""
    if text is None or not text.strip():
        return "it has no text"
    if "<!--" in text:
        return "its text holds an HTML comment"
    if any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} and char not in "\t\r\n" for char in text):
        return "its text holds control characters"
    parts = [part.strip() for part in _lines(_unmarked(text))]
    if len(parts) > 1 and any(_NOT_FOLDED.match(part) for part in parts):
        return "its text has several parts and cannot become one line"
    if not any(char.isalnum() for char in text):
        return "its text has no words"
    return None


def one_line(text: str) -> str:
    """`text` as it is written: one line, single blanks, no list mark."""
    return " ".join(_unmarked(text).split())


def _unmarked(text: str) -> str:
    return re.sub(r"^(?:[-*+]\s+)+", "", text.strip())


# --- changes -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Applied:
    """The new text, the edits that changed it, and those that did not, each with the reason."""

    text: str
    applied: tuple[Edit, ...]
    unmatched: tuple[tuple[Edit, str], ...]


@dataclass(frozen=True, slots=True)
class _Unmatched:
    why: str


def apply(text: str, edits: Sequence[Edit]) -> Applied:
    """`text` with the edits made one after the other. Raises `DamagedBlock` where the block cannot be told."""
    bom = text[: len(text) - len(text.removeprefix(BOM))]
    body = text.removeprefix(BOM)
    _block(_lines(body))
    applied: list[Edit] = []
    unmatched: list[tuple[Edit, str]] = []
    for edit in edits:
        outcome = _changed(body, edit)
        if isinstance(outcome, _Unmatched):
            unmatched.append((edit, outcome.why))
        else:
            body = outcome
            applied.append(edit)
    return Applied(bom + body, tuple(applied), tuple(unmatched))


def _changed(body: str, edit: Edit) -> str | _Unmatched:
    if edit.op == "delete":
        return _delete(body, edit.anchor or "")
    why = refusal(edit.text)
    if why:
        return _Unmatched(why)
    sentence = one_line(edit.text or "")
    if holds(body, sentence):
        return _Unmatched("the document says this already")
    if edit.guides:
        return _guide(body, sentence)
    return _add(body, sentence) if edit.op == "add" else _replace(body, edit.anchor or "", sentence)


def _add(body: str, sentence: str) -> str:
    lines = _lines(body)
    block = _block(lines)
    if block is None:
        return body + _new_block(lines, sentence)
    last = next(at for at in range(block.end - 1, -1, -1) if lines[at].strip())
    lines.insert(last + 1, f"- {sentence}{_ending(lines[last])}")
    return "".join(lines)


def _guide(body: str, sentence: str) -> str:
    lines = _lines(body)
    block = _block(lines, SLOW_START)
    if block is None:
        return body + _new_block(lines, sentence, SLOW_START)
    lines[block.start + 1 : block.end] = [f"- {sentence}{_ending(lines[block.start])}"]
    return "".join(lines)


def _new_block(lines: Sequence[str], sentence: str, begins: str = START) -> str:
    """The block with one rule, and one blank line before it; it ends in a line end if the document did."""
    style = next((ending for line in reversed(lines) if (ending := _ending(line))), "\n")
    block = style.join((begins, f"- {sentence}", _END_OF[begins]))
    if not lines:
        return block + style
    return style + block + style if _ending(lines[-1]) else style + style + block


def _replace(body: str, anchor: str, sentence: str) -> str | _Unmatched:
    lines = _lines(body)
    found = _said(lines, anchor)
    if isinstance(found, _Unmatched):
        return found
    first = found[0]
    ending = _ending(lines[first.stop - 1])
    _cut(lines, found[1:])
    lines[first.first : first.stop] = [f"- {sentence}{ending}"]
    return "".join(lines)


def _delete(body: str, anchor: str) -> str | _Unmatched:
    lines = _lines(body)
    found = _said(lines, anchor)
    if isinstance(found, _Unmatched):
        return found
    begins = START if found[0] in _learned(lines) else SLOW_START
    _cut(lines, found)
    block = _block(lines, begins)
    if block and not "".join(lines[block.start + 1 : block.end]).strip():
        _remove(lines, block)
    return "".join(lines)


def _said(lines: Sequence[str], anchor: str) -> list[_Item] | _Unmatched:
    """The rules that say `anchor`: one, or its repetitions; else the guidance that says it."""
    wanted = _key(anchor)
    found = [item for item in _learned(lines) if _key(item.text) == wanted]
    found = found or [item for item in _guiding(lines) if _key(item.text) == wanted]
    return found or _Unmatched("no learned rule says what it is about" if wanted else "it names no rule")


def _cut(lines: list[str], items: Sequence[_Item]) -> None:
    for item in reversed(items):
        del lines[item.first : item.stop]


def _remove(lines: list[str], block: _Block) -> None:
    """Takes the block away, and what `_new_block` put before it."""
    unended = not _ending(lines[block.end])
    del lines[block.start : block.end + 1]
    at = block.start
    alone = at == len(lines) or not lines[at].strip()
    if not alone or at == 0 or lines[at - 1].strip("\r\n"):
        return
    del lines[at - 1]
    if unended and lines:
        lines[-1] = lines[-1].rstrip("\r\n")


# --- new documents -----------------------------------------------------------------------------------------------

_SKILL = """\
---
name: {name}
description: Rules learned from earlier sessions in this repository. Use them for every task here.
---

# Learned rules
"""
_MEMORY = "# Notes for coding agents\n"
_NOT_TEXT_IN_YAML = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def scaffold(kind: DocumentKind, path: str) -> str:
    """The text of a document that does not exist yet, before its first rule."""
    return _SKILL.format(name=_skill_name(path)) if kind == "skill" else _MEMORY


def _skill_name(path: str) -> str:
    """The folder's name, as far as the Agent Skills specification allows it; quoted where YAML would not see text."""
    folder = PurePosixPath(path).parent.name
    name = re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")[:64].rstrip("-") or "learned-rules"
    return f'"{name}"' if name in _NOT_TEXT_IN_YAML or not name[0].isalpha() else name
