"""Words for people: text made safe to show, the views of a proposal and of a run, and the templates that show them.

A template cannot show a plain `str`: only a filter makes it `Safe`, and a value that went through none is an error.
Figures that were not measured are None and are shown as such, never as 0.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Literal, TypeAlias

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from jinja2.sandbox import ImmutableSandboxedEnvironment

from skillopt_git.charts import NOT_MEASURED, Chart, edit_charts
from skillopt_git.errors import ConfigError
from skillopt_git.model import EditOp
from skillopt_git.views import ControlsView, EditView, ProposalView, RunView

# Why a proposal is closed, as boxes to tick.
REASONS = {
    "wrong": "it is wrong",
    "style": "it is a matter of taste",
    "too-specific": "it is too specific",
    "duplicate": "something says it already",
    "unsafe": "it is unsafe",
    "wrong-place": "it belongs into another file",
}
BODY_LIMIT = 60_000  # characters and bytes: forges cut near 65,536, and what goes is better chosen than cut
SUBJECT_LIMIT = 72
TITLE_LIMIT = 120
LONGEST_NAME = 20  # characters, in a chart
FEW = 10  # as many of a kind as a page always has room for

_VERBS: dict[EditOp, str] = {"add": "Learn", "replace": "Reword", "delete": "Drop"}
_SECTIONS = ("charts", "on trial", "method", "tasks", "rules")  # of a body, the least important first


class Safe(str):
    """Text that a filter made safe for the kind of template it is shown in."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """One task in the message of a commit that shares it. `what` is one of our own words: new, changed, dropped."""

    what: str
    task: str
    ask: str
    rule: str


# --- text --------------------------------------------------------------------------------------------------------

_Cuts: TypeAlias = tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC and its like: titles, links
    r"|\x1b[ -/]*[0-~]?"
)
_NOT_ASCII = re.compile(r"[^ -~]")
_LINE_END = re.compile(r"\r\n|[\v\f\r\x1c-\x1e\x85\u2028\u2029]")
# Drawn as nothing, though their class does not say so: joiners, fillers, variation selectors but for emoji's own.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef]"
)
_ZWSP = "\u200b"
_MARKDOWN_CUTS: _Cuts = (  # what a forge turns into a link, a notice, an emoji or a closed issue
    (re.compile(r"@"), f"@{_ZWSP}"),
    (re.compile(r"#(?=\d)"), f"#{_ZWSP}"),
    (re.compile(r"\b(gh-)(?=\d)", re.IGNORECASE), rf"\1{_ZWSP}"),
    (re.compile(r"(www)(?=\.)", re.IGNORECASE), rf"\1{_ZWSP}"),
    (re.compile(r":(?=//|[\w+-]+:)"), f":{_ZWSP}"),
    (
        re.compile(r"(?<![0-9a-z])[0-9a-f]{7,}", re.IGNORECASE),
        lambda found: re.sub(r"(.{6})\B", rf"\1{_ZWSP}", found[0]),
    ),
)
_PLAIN_CUTS: _Cuts = (  # the same with blanks, for `git log` shows a zero-width character as one
    (re.compile(r"@(?=\w)"), "@ "),
    (re.compile(r"#(?=\d)"), "# "),
    (re.compile(r"\b(gh)-(?=\d)", re.IGNORECASE), r"\1 "),
    (re.compile(r":(?=//)"), ": "),
    (re.compile(r"\[(skip ci|ci skip|no ci|skip actions|actions skip)\]", re.IGNORECASE), r"(\1)"),
)
_MARKUP = re.compile(r"[\\`*\[\]<#|~&$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_ID = re.compile(r"(?<![\w-])([efnrtx]1-[0-9a-f]{16})(?![\w-])")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~/#=&?%-]*)?")  # none that could end its brackets
_LINE_START = re.compile(r"^(?:(?=[-+=>:/])|(\d{1,9})(?=[.)](?: |$)))")


def _visible(text: str) -> str:
    """No escape sequences and no control characters but tab and line feed; what cannot be seen as `<U+XXXX>`."""
    if text.replace("\n", "").replace("\t", "").isprintable() and not _UNSEEN.search(text):
        return text  # nearly always, and each character of another script would be looked at by itself
    return _NOT_ASCII.sub(_shown, _LINE_END.sub("\n", _ANSI.sub("", text)))


def _shown(found: re.Match[str]) -> str:
    char, kind = found[0], unicodedata.category(found[0])
    if kind == "Cc":
        return char if char in "\t\n" else ""
    return f"<U+{ord(char):04X}>" if kind[0] == "C" or _UNSEEN.match(char) else char


def _fold(text: str) -> str:
    return " ".join(_visible(text).split())


def _cut(text: str, cuts: _Cuts) -> str:
    for pattern, replacement in cuts:
        text = pattern.sub(replacement, text)
    return text


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def terminal(text: str) -> str:
    """One line for a terminal: nothing in it moves the cursor, colours, hides or turns the reading direction."""
    return re.sub(r"[\t\n]", " ", _visible(text))


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, runs of blanks as one. Not yet safe for Markdown."""
    line = _fold(text)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def md_text(text: str) -> Safe:
    """Inline Markdown that reads as the text and does nothing: no markup, link, mention, reference or closed issue.

    Safe in paragraphs, headings, list items and table cells. A zero-width space cuts what a forge links only after
    rendering, where an escape does not help. An id of ours is to be copied: it is whole, as code.
    """
    parts = _ID.split(_fold(text))
    parts[::2] = (_MARKUP.sub(r"\\\g<0>", _cut(part, _MARKDOWN_CUTS)) for part in parts[::2])
    parts[1::2] = (f"`{part}`" for part in parts[1::2])
    return Safe(_LINE_START.sub(r"\1\\", "".join(parts)))


def md_cell(text: str | None) -> Safe:
    """`md_text`, or a dash where there is nothing to show."""
    return md_text(text or "") or Safe("–")


def md_code(text: str) -> Safe:
    """One code span; in a table cell use `md_code_cell`."""
    line = _fold(text) or "(empty)"
    fence, pad = _fence(line, 1), " " if "`" in (line[0], line[-1]) else ""
    return Safe(f"{fence}{pad}{line}{pad}{fence}")


def md_code_cell(text: str) -> Safe:
    """A code span, but plain text where it holds a `|`: a span in a cell cannot show every text with one."""
    return md_text(text) if "|" in _fold(text) else md_code(text)


def md_link(url: str) -> Safe:
    """An address to click where it is one of the web and nothing else, otherwise `md_text`."""
    return Safe(f"<{url}>") if _ADDRESS.fullmatch(url) else md_text(one_line(url, 250))


def plain(text: str) -> Safe:
    """One line for a title or a commit message, where mentions, references and orders to CI are read, but no markup."""
    return Safe(_cut(_fold(text), _PLAIN_CUTS))


def _line(text: str) -> Safe:
    """For a value that is read by a machine: whole, on one line."""
    return Safe(_fold(text))


def _paragraph(text: str, label: str) -> Safe:
    return _wrap(f"{label}: {plain(one_line(text, 2000))}")


def _wrap(text: str) -> Safe:
    """Later lines are indented, so that none is read as a comment, a `---` divider or the start of a patch."""
    return Safe(
        textwrap.fill(text, SUBJECT_LIMIT, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    )


# --- figures -----------------------------------------------------------------------------------------------------


def _figure(value: float | None, form: str = ".2f") -> Safe:
    if value is None or not isfinite(value):
        return Safe(NOT_MEASURED)
    shown = format(value, form) if value else "0.00"
    return Safe(shown if not value or float(shown) else format(value, form.replace("2f", "1g")))


def score(value: float | None) -> Safe:
    """Two decimals; a figure too small for them is not rounded to 0."""
    return _figure(value)


def change(value: float | None) -> Safe:
    return _figure(value, "+.2f")


def points(value: float | None) -> Safe:
    """A change of a share, in points of 100."""
    if value is None or not isfinite(value):
        return Safe(NOT_MEASURED)
    return Safe(f"{value * 100:+.0f} points" if round(value * 100) else "0 points")


def percent(value: float | None) -> Safe:
    return Safe(NOT_MEASURED if value is None or not isfinite(value) else f"{value:.0%}".replace("%", " %"))


def dollars(value: float | None) -> Safe:
    if value is None or not isfinite(value):
        return Safe(NOT_MEASURED)
    return Safe("under 0.01 USD" if 0 < value < 0.01 else f"{value:,.2f} USD")


def counted(value: int | None, noun: str = "") -> Safe:
    """`1,204 tokens`, `1 rule`."""
    if value is None:
        return Safe(NOT_MEASURED)
    return Safe(f"{value:,} {noun}{'' if value == 1 else 's'}" if noun else f"{value:,}")


def _number(value: object) -> Safe:
    """A figure of the gate, which may be of any kind."""
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return Safe(NOT_MEASURED)
    return md_text(f"{value:,.4g}" if isinstance(value, float) else one_line(str(value), 60))


def _label(text: str) -> Safe:
    """For a name between quotes in a chart: nothing in it ends the quotes or is read as an order."""
    return Safe(re.sub(r"[^A-Za-z0-9-]", "", text)[:LONGEST_NAME])


def _id(text: str) -> Safe:
    """For a name inside a comment: letters, digits and single hyphens, so that nothing ends the comment."""
    return Safe(re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9-]", "", text)))


def _hundredths(value: float) -> Safe:
    return Safe(f"{value * 100:.0f}")


def _command(words: Sequence[str], tail: str = "") -> Safe:
    return md_code_cell(shlex.join(words) + tail)


# --- templates ---------------------------------------------------------------------------------------------------

_TEXT_FILTERS = {"plain": plain, "line": _line, "paragraph": _paragraph, "wrap": _wrap}
_MARKDOWN_FILTERS = {
    "md_text": md_text,
    "md_cell": md_cell,
    "md_code": md_code,
    "md_code_cell": md_code_cell,
    "md_link": md_link,
    "number": _number,
    "command": _command,
    "charts": edit_charts,
    "label": _label,
    "md_id": _id,
    "hundredths": _hundredths,
}
_FILTERS = {"one_line": one_line, "score": score, "change": change, "dollars": dollars, "counted": counted}
_FILTERS |= {"points": points, "percent": percent}


def _only_safe(value: object) -> str:
    if isinstance(value, Safe) or type(value) is int:
        return str(value)
    raise TypeError(f"a template shows a {type(value).__name__} without a filter: {value!s:.80}")


def _folder() -> Path:
    """Within the package when installed, beside it in a checkout."""
    package = Path(__file__).parent
    return next(path for path in (package / "templates", package.parent / "templates") if path.is_dir())


@cache
def _templates(kind: Literal["text", "markdown", "prompt", "html"]) -> Environment:
    """Commit messages know no Markdown filter and pages only those; prompts hold their foreign text in fences."""
    made = ImmutableSandboxedEnvironment if kind == "prompt" else Environment
    environment = made(
        loader=FileSystemLoader(_folder()),
        undefined=StrictUndefined,
        autoescape=kind == "html",
        finalize=_only_safe if kind in {"text", "markdown"} else None,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    if kind in {"text", "markdown"}:
        environment.filters |= _FILTERS | (_TEXT_FILTERS if kind == "text" else _MARKDOWN_FILTERS)
    return environment


@cache
def shipped_prompts() -> Mapping[str, str]:
    """The prompt templates by name."""
    folder = _folder() / "prompts"
    return {path.name.removesuffix(".md.j2"): path.read_text(encoding="utf-8") for path in folder.glob("*.md.j2")}


@lru_cache(maxsize=64)
def _prompt(template: str) -> Template:
    """Compiled once, and not for each of a night's many calls."""
    return _templates("prompt").from_string(template)


def worded(name: str, template: str, values: Mapping[str, object]) -> str:
    """A prompt. The template may come from a repository: it sees its values and reaches nothing else, and whatever goes
    wrong in it is said to be its fault."""
    try:
        return _prompt(template).render(values)
    except Exception as error:  # noqa: BLE001 - a template can make Python raise nearly anything
        why = str(error) or type(error).__name__
        raise ConfigError(f"the prompt '{name}' cannot be filled in: {why}", "see `skillopt-git prompts`") from None


def sample(name: str) -> str:
    """A file of the templates folder as it is."""
    return (_folder() / name).read_text(encoding="utf-8")


def settings_file(sections: Sequence[tuple[str, Sequence[Mapping[str, str]]]]) -> str:
    """The file that `init` writes: every setting with its help and default, all commented out."""
    return _templates("text").get_template("skillopt.toml.j2").render(sections=sections)


def workflow(*, repository: str, commit: str, version: str) -> str:
    """The nightly workflow that `init` writes, with the commit its action is pinned to."""
    pinned = {"repository": _line(repository), "commit": _line(commit), "version": _line(version)}
    return _templates("text").get_template("skillopt.yml.j2").render(pinned)


def commit_message(edit: EditView, *, trailers: Mapping[str, str]) -> str:
    """Subject, reason and figures for people, trailers for machines (which `git interpret-trailers` reads back)."""
    wrong = [key for key in trailers if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", key)]
    if wrong:
        raise ValueError(f"not the name of a trailer: {wrong[0]!r}")
    lines = [(Safe(key), _line(value)) for key, value in trailers.items()]
    return _templates("text").get_template("commit.txt.j2").render(subject=_subject(edit), edit=edit, trailers=lines)


def tasks_message(listed: Sequence[TaskLine], *, trailers: Mapping[str, str]) -> str:
    """What of a shared bank is new, changed or dropped, task by task."""
    counts = Counter(line.what for line in listed)
    lines = [(Safe(key), _line(value)) for key, value in trailers.items()]
    return _templates("text").get_template("tasks_commit.txt.j2").render(counts=counts, listed=listed, trailers=lines)


def _subject(edit: EditView) -> Safe:
    mark = "simulated" if edit.simulated else "ungated" if edit.verdict == "ungated" else ""
    return Safe(one_line(f"{_VERBS[edit.op]}{mark and f' ({mark})'}: {_title(edit)}", SUBJECT_LIMIT))


def _title(edit: EditView) -> str:
    return plain(edit.sentence).removesuffix(".")


def pull_request_title(view: ProposalView) -> str:
    marks = [mark for mark, given in (("[simulated]", view.simulated), ("[ungated]", view.ungated)) if given]
    first, *others = view.edits
    more = f" (and {len(others)} more)" if others else ""
    room = TITLE_LIMIT - len(" ".join([*marks, more]))
    return " ".join([*marks, one_line(f"{_VERBS[first.op]}: {_title(first)}", room)]) + more


@dataclass(frozen=True, slots=True)
class _Detail:
    """How much a page holds: the most rows of a table, and which of its sections are left out."""

    rows: int = sys.maxsize
    left_out: tuple[str, ...] = ()


_LADDER = (  # from everything to what is never left out
    _Detail(),
    _Detail(rows=FEW),
    *(_Detail(rows=FEW, left_out=_SECTIONS[:number]) for number in range(1, len(_SECTIONS) + 1)),
)


def pull_request(view: ProposalView, *, boxes: bool = False) -> str:
    """The body, cut to `BODY_LIMIT` by leaving out whole sections, the least important first. `boxes`: to be ticked,
    on a forge."""
    template = _templates("markdown").get_template("pull_request.md.j2")
    told = {"view": view, "few": FEW, "private": False, "drawn": "mermaid", "boxes": boxes, "reasons": REASONS}
    bodies = (template.render(told, detail=detail) for detail in _LADDER)
    body = next(body for body in bodies if len(body.encode()) <= BODY_LIMIT)  # the last fits: its fields are clipped
    says = template.render(told | {"view": replace(view, controls=ControlsView())}, detail=_Detail())
    return f"{_metadata(view, says)}\n{body}"


def _metadata(view: ProposalView, says: str) -> str:
    """A hint for machines in a comment that no value can end: JSON with its markup spelled as escapes.

    `says` is all that the proposal itself says, by which a page that is already there is known to be the same.
    """
    value = {
        "v": 1,
        "branch": one_line(view.branch, 250),
        "base": one_line(view.base_commit, 64),
        "simulated": view.simulated,
        "edits": [one_line(edit.id, 60) for edit in view.edits[:FEW]],
        "ledger": one_line(view.ledger_ref, 250),
        "draft": view.draft,
        "says": sha256(f"{pull_request_title(view)}\n{says}".encode()).hexdigest()[:16],
    }
    text = re.sub(r"[<>&@#]|(?<=-)-", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, sort_keys=True))
    return f"<!-- skillopt: {text} -->"


def report(view: RunView) -> str:
    """The night for the person it belongs to: everything it read, tried, kept and refused."""
    return _report(view, few=FEW, drawn="", figures=())


def report_with_figures(view: RunView, figures: Sequence[Chart]) -> str:
    """The same, and each chart named by its number in `figures` where it belongs, in a fence of its own."""
    return _report(view, few=sys.maxsize, drawn="figures", figures=figures)


def _report(view: RunView, **told: object) -> str:
    template = _templates("markdown").get_template("report.md.j2")
    return template.render(view=view, detail=_Detail(), private=True, **told)


def summary(view: RunView, url: str | None) -> str:
    """The night in a few lines that hold nothing that was typed: for a job's page, and for whoever proposes it."""
    template = _templates("markdown").get_template("summary.md.j2")
    return template.render(view=view, url=url, few=FEW)


def brought(
    rules: Sequence[Mapping[str, str]], *, refused: int, simulated: bool, url: str, notes: Sequence[str]
) -> str:
    """What a bundle brought, for a job's page: every word of it made harmless here."""
    template = _templates("markdown").get_template("brought.md.j2")
    return template.render(rules=rules, refused=refused, simulated=simulated, url=url, notes=notes, few=FEW)


def said(text: str) -> str:
    """Somebody's words within a sentence of a comment: one line, and no markup, mention or link."""
    return str(md_text(one_line(text, 300)))


def html_page(title: str, body: str) -> str:
    """A page that needs nothing but itself. The title is any text, the body HTML."""
    return _templates("html").get_template("page.html.j2").render(title=_visible(title), body=body)
