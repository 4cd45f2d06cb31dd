"""From a typed prompt to its clauses: what in it is the user's own words, and whether they turn an answer down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from skillopt_git.grammar import Grammar
from skillopt_git.ids import fold
from skillopt_git.norms import tells_norm

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_DIFF = re.compile(r"^(?:diff --git |@@ )", re.MULTILINE)
_DIFF_LINE = re.compile(r"^(?:[-+ @]|diff |index )")
_MAIL = re.compile(
    r"^(?:(?:On|Am|Le|El|Il|Em|Op|Den) .+ (?:wrote|schrieb.*|schreef.*|a écrit|escribió|ha scritto|escreveu|skrev) ?:"
    r"|-+ ?Original Message ?-+|(?:From|Von|De|Da|Van): .+)\s*$",
    re.IGNORECASE,
)
_PASTED = re.compile(
    r"""^(?: (?:\ {4}|\t)                                     # code is indented
      | \s*(?: > | \| | \$\  | \# | // | /\*
        | at\ \S+\( | File\ " | Traceback
        | \[?\d{4}-\d\d-\d\d | \[?\d\d:\d\d:\d\d | \[\d{1,2}:\d\d\]
        | \[? (?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|FIRING) \b
        | [A-Z] \s+ (?:\(\d+\) | \d+:\d\d:\d\d) | <[A-Z][\w+\ ]*>\s{2} | \[[\w.-]+\]\s+\S
        | (?i: \w*(?:error|exception|warning) (?:\[\w+\])? : | (?:fatal|hint|remote): | npm\ err! )
      ))""",
    re.VERBOSE,
)
_LABEL = re.compile(r"^\s*[\w.-]+:\s")  # below a pasted line, more of it
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_ITEM = re.compile(r"(?:^|\s+)\d[.)]\s+")
_END = re.compile(r"(?<=[.!?;…])\s+|\n+|\s+[—–]\s+|\s+-{1,2}\s+|\s+[>→]\s+")
_CITED = re.compile(r"[\"“„«](?:[^\"“”„«»\n]*\s){2}[^\"“”„«»\n]*[\"”“»]")
_QUOTED_LINES = re.compile(r"^[ \t]*[\"“„«][^\"“”„«»]{1,2000}[\"”“»][.]?[ \t]*$", re.MULTILINE)
_IN_QUOTES = re.compile(r"[“„«]([^“”„«»\n]+)[”“»]")
_ASIDE = re.compile(r"(?<=\S)\s+\([^()]*\)(?=$|[\s,.;!])")
CODE_LIKE = re.compile(r"\w\.[a-z]{2,5}\b|`[^`]+`|\w/\w")
CITATION = "“…”"
_END_MARKS = ".!;:, "
_EMOJI = re.compile(r"^[\u2600-\u27bf\U0001f300-\U0001faff\ufe0f\u200d\s]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
PROMPT_LIMIT = 20_000  # characters; what is longer is a document, and its beginning says what it is for
SENTENCE_LIMIT = 1_000  # characters; what is longer is no sentence that anybody typed as a wish


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause without openers and courtesies. `refused`: it, or a clause shortly before, turned an answer down.

    `quote` is the sentence as it was typed; `pleads`: it says "please"; `asked`: it is put as a question; `adds`: it
    comes on top ("and ...", "also ..."); `announced`: it stands after "ground rules:" or before "that goes for
    everything"; `noted`: it stands after "before you start:"; `customary`: it says "as usual" or the like; `retracts`:
    it takes back what was said before.
    """

    text: str
    refused: bool
    quote: str = ""
    pleads: bool = False
    asked: bool = False
    adds: bool = False
    announced: bool = False
    noted: bool = False
    customary: bool = False
    retracts: bool = False


def clauses(prompt: str, grammar: Grammar) -> list[Clause]:
    """The user's own statements, in order. Questions, quotations, pasted logs and code are left out."""
    found: list[Clause] = []
    refused = False
    for part in _parts(_own_words(prompt, grammar), grammar):
        sentence = part.text.strip()
        if grammar.retracts.match(sentence):
            found.append(Clause(sentence, False, sentence, retracts=True))
            continue
        if grammar.consent.match(sentence) or grammar.consent.match(grammar.opener.sub("", sentence)):
            refused = False
            continue
        if part.guessed:
            continue
        if grammar.for_good.match(sentence):
            if found and _asked_of(found[-1], grammar):
                found[-1] = replace(found[-1], announced=True)
            continue
        onward = bool(grammar.onward.match(sentence))
        adds = bool(grammar.adds.match(sentence))
        refused = bool(grammar.refusal.match(sentence)) or (refused and not onward and not adds)
        if len(sentence) > SENTENCE_LIMIT or sentence.rstrip("\"')").endswith("?"):
            continue
        text = _core(sentence, grammar)
        if text:
            found.append(
                Clause(
                    text,
                    refused,
                    sentence,
                    pleads=bool(grammar.plea.search(sentence)),
                    adds=adds,
                    announced=part.announced,
                    noted=part.noted,
                    customary=bool(grammar.custom.search(sentence)),
                )
            )
    return found


def _asked_of(clause: Clause, grammar: Grammar) -> bool:
    """Whether a clause asks for something that can be kept to: "links break. every time" reports."""
    return clause.pleads or bool(grammar.forbids.match(clause.text)) or grammar.verb_of(clause.text) in grammar.verbs


def questions(prompt: str, grammar: Grammar) -> Iterator[Clause]:
    """What is asked for politely: "can you also add a line to the changelog?" """
    for part in _parts(_own_words(prompt, grammar), grammar):
        sentence = part.text.strip()
        core = grammar.opener.sub("", sentence[:SENTENCE_LIMIT])
        checking = grammar.checking.match(core) if sentence.endswith("?") else None
        if checking:
            yield Clause(_core(core[checking.end() :].rstrip("?"), grammar), False, sentence, pleads=True, asked=True)
        elif grammar.polite.match(core):
            text = _core(grammar.polite.sub("", core).rstrip("?"), grammar)
            if text:
                yield Clause(text, False, sentence, pleads=True, asked=True)
        elif sentence.endswith("?") and _fragment(core, grammar):
            yield Clause(_core(sentence.rstrip("?"), grammar), False, sentence, asked=True)


def _fragment(core: str, grammar: Grammar) -> bool:
    """ "line in the changelog?": a thing that is missed, put as a question."""
    words = fold(core).rstrip("?").split()
    told = (
        bool(words)
        and not CODE_LIKE.search(core)
        and (words[0] in grammar.common or words[0] in grammar.verbs or grammar.being.search(core))
    )
    return 1 < len(words) < 9 and not told and not grammar.question.match(core) and not grammar.anywhere.search(core)


def satisfied(prompt: str, grammar: Grammar) -> bool:
    """Whether a prompt says nothing but that the answer is good."""
    text = _own_words(prompt, grammar)
    return bool(text) and len(text) < 200 and bool(grammar.praise.match(text)) and not grammar.praise.sub("", text)


def comes_back(prompt: str, grammar: Grammar) -> bool:
    """Whether a prompt comes back to the answer before it: turns it down, or asks for more of the same."""
    text = _own_words(prompt, grammar)
    said = [part.text.strip() for part in _parts(text, grammar)]
    again = any(grammar.told.match(part) or _refuses(part, grammar) for part in said)
    return again or bool(grammar.more.search(text)) or not any(_asks(part, grammar) for part in said)


def _asks(sentence: str, grammar: Grammar) -> bool:
    """Whether a sentence asks for work: by a verb at its beginning, or politely."""
    core = grammar.opener.sub("", sentence)
    plain = grammar.polite.sub("", core)
    if grammar.habit.match(plain) or tells_norm(plain, grammar):
        return False
    first = {word.strip(",.:;!") for word in fold(plain).split()[:2]}
    verb = not (grammar.verbs | grammar.steps).isdisjoint(first) or grammar.verb_of(plain) in grammar.verbs
    return plain != core or (verb and not sentence.endswith("?"))


def goes_on(prompt: str, grammar: Grammar) -> bool:
    """Whether a prompt says that something else comes now."""
    text = _own_words(prompt, grammar)
    return bool(grammar.onward.match(grammar.opener.sub("", text)) or grammar.onward.match(text))


def moves_on(prompt: str, grammar: Grammar) -> bool:
    """Whether a prompt asks for the next work: "good. now plot the daily means"."""
    text = _own_words(prompt, grammar)
    onward = grammar.moving.match(text)
    if onward is None or grammar.more.fullmatch(onward["word"]):
        return False
    first = _END.split(text[onward.end() :].strip(" ,:"))[0]
    adds = fold(first.split()[0]) in grammar.adding and grammar.pointed(" ".join(first.split()[:2])) if first else True
    return not adds and not grammar.more.search(trimmed(first, grammar))


def wonders(prompt: str, grammar: Grammar) -> bool:
    """Whether a prompt only asks about what was done."""
    said = [part.text.strip() for part in _parts(_own_words(prompt, grammar), grammar)]
    return any(part.endswith("?") for part in said) and not any(_asks(part, grammar) for part in said)


def _refuses(sentence: str, grammar: Grammar) -> bool:
    return bool(grammar.refusal.match(sentence)) and not grammar.consent.match(sentence)


@dataclass(frozen=True, slots=True)
class _Part:
    """A statement as it was typed. `guessed`: its sentence only supposes something; the others as in `Clause`."""

    text: str
    guessed: bool
    announced: bool
    noted: bool


def _parts(text: str, grammar: Grammar) -> Iterator[_Part]:
    announced = noted = False
    for typed in _END.split(text):
        found = grammar.announced.match(typed)
        along = _goes_along(typed, grammar)
        announced = bool(found and not (found["word"] or found["note"])) or (announced and along)
        noted = bool(found and found["note"]) or (noted and along)
        sentence = typed[found.end() :].strip() if found else typed
        sentence = f"{found['word']}, {sentence}" if found and found["word"] else sentence
        guessed = bool(grammar.guess.search(typed[:SENTENCE_LIMIT]))
        for item in _ITEM.split(sentence):
            whole = len(item) > SENTENCE_LIMIT or bool(grammar.conditional.search(item))
            parts = [item] if whole else grammar.breaks.split(item)
            yield from (_Part(part, guessed, announced, noted) for part in parts)


def _goes_along(sentence: str, grammar: Grammar) -> bool:
    """Whether a sentence is more of what was announced: "and answer in German"."""
    return bool(grammar.adds.match(sentence)) and not grammar.onward.match(sentence)


def _core(sentence: str, grammar: Grammar) -> str:
    sentence = _EMOJI.sub("", sentence)
    sentence = (
        sentence[1:].rstrip(").") if sentence.startswith("(") and sentence.rstrip(".").endswith(")") else sentence
    )
    text = _ASIDE.sub("", grammar.praise_and_but.sub("", sentence))
    text = grammar.still.sub("", text if grammar.kind.match(text) else grammar.opener.sub("", text)).strip()
    return _without_place(trimmed(grammar.polite.sub("", text), grammar), grammar)


def _own_words(prompt: str, grammar: Grammar) -> str:
    """What is left of a prompt without quotations and code: lines that are not empty, with single blanks."""
    prompt = _CONTROL.sub("", prompt[:PROMPT_LIMIT])
    text = _FENCE.sub("\n", prompt.replace("\u2019", "'").replace("\u2018", "'").replace("\r", "\n"))
    is_diff = bool(_DIFF.search(text))
    kept: list[str] = []
    text = _QUOTED_LINES.sub(f"\n{CITATION}\n", _without_cited_list(text, grammar))
    pasted = False
    head = ""  # of a list, where it announces rules
    drafted = False  # below a line that asks for a text and begins it
    for line in text.split("\n"):
        if _MAIL.match(line):
            break  # the mail that is answered follows to the end
        drafted = drafted and bool(line.strip())
        text_for = None if drafted else grammar.drafted.match(line.strip())
        if text_for:
            drafted = not line.strip()[text_for.end() :]
            kept.append(text_for[0].rstrip(":"))
        if drafted or text_for:
            continue
        pasted = bool(_PASTED.match(line)) or (pasted and bool(_LABEL.match(line)))
        if not pasted and not (is_diff and _DIFF_LINE.match(line)):
            listed = bool(_BULLET.match(line))
            own = " ".join(_BULLET.sub("", line).split())
            head = head if listed else own if own.endswith(":") and grammar.announced.match(own) else ""
            kept.append(f"{head} {own}" if listed and own else own)
    own = _CITED.sub(CITATION, "\n".join(filter(None, kept)))
    return _IN_QUOTES.sub(r'"\1"', own) if CITATION not in own else own


def _without_cited_list(text: str, grammar: Grammar) -> str:
    """A list that somebody asks about, or has something done with, is what they read and not what they wish."""
    lines = text.split("\n")
    listed = [at for at, line in enumerate(lines) if _BULLET.match(line)]
    if len(listed) < 2 or any(grammar.announced.match(line.strip()) for line in lines[: listed[0]]):
        return text
    asked = len(listed) > 2 and any(line.rstrip().endswith("?") for line in lines if not _BULLET.match(line))
    after = fold(" ".join(lines[listed[-1] + 1 :])).replace(",", " ").split()
    used = not grammar.pointers.isdisjoint(after) and any(line.rstrip().endswith(":") for line in lines[: listed[0]])
    return "\n".join(line for at, line in enumerate(lines) if at not in listed) if asked or used else text


def _without_place(text: str, grammar: Grammar) -> str:
    """The rules are this repository's, so "here" and "in this project" say nothing."""
    return grammar.inner_place.sub("", grammar.leading_place.sub("", text))


def trimmed(text: str, grammar: Grammar) -> str:
    """`text` without what is said for courtesy at its end."""
    while True:
        shorter = grammar.courtesy.sub("", text.strip()).rstrip(_END_MARKS)
        if shorter == text:
            return text
        text = shorter
