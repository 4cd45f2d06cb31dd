"""The cues by which people word a wish, as data: one table a language, checked when it is read.

A table is a TOML file of lists of phrases (`skillopt_git/cues/*.toml`). A phrase is words with single blanks between;
it matches in any case, on word borders, with or without its apostrophes. A user's own file adds its phrases to the
table of its language, or brings a language that has none.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from skillopt_git import schema
from skillopt_git.errors import ConfigError
from skillopt_git.model import RECORD

FOLDER = Path(__file__).parent / "cues"
Phrases = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cues:
    """What one language has. `stemmer` is a Snowball algorithm; `rule_prefix` goes before a rule said for good."""

    __pydantic_config__ = RECORD
    language: str  # ISO 639-1
    name: str = ""
    stemmer: str = ""
    rule_prefix: str = ""
    verbs_last: bool = False  # whether a wish may end with its verb
    gerund: str = ""  # how a verb ends after "stop", where that tells a habit from one deed
    past: str = ""  # how a verb ends that tells what came of something
    plural: str = ""  # how most kinds of things end, where that tells them from one thing
    common: Phrases = ()  # small words, by which the language is told
    openers: Phrases = ()  # before a statement, with a mark after
    leading: Phrases = ()  # before a statement, without one
    courtesies: Phrases = ()  # after a statement
    places: Phrases = ()  # "in this repo": every rule is
    general: Phrases = ()  # "in every ...": more than this one
    pleas: Phrases = ()  # "please", wherever it stands
    polite: Phrases = ()  # "could you" before an ask
    ands: Phrases = ()  # between two statements
    refusals: Phrases = ()  # begin a sentence that turns an answer down
    praises: Phrases = ()
    buts: Phrases = ()  # after praise: and now what is wrong
    consents: Phrases = ()  # look like a refusal and are none
    onward: Phrases = ()  # go on to something else
    standing: Phrases = ()  # "from now on"
    announcing: Phrases = ()  # "ground rules", before a colon
    noting: Phrases = ()  # "before you start", before a colon: may be about one work only
    customs: Phrases = ()  # "as usual", "in this codebase": how all of it is done
    norms: Phrases = ()  # "are", "go to": between a kind of thing and how it is done
    states: Phrases = ()  # "broken": said of how things are, and not of how they should be
    answers: Phrases = ()  # "answer", "summary": what the agent says, and not what it works on
    drafting: Phrases = ()  # "draft", "translate", before what is to be a text: what follows its colon is of the text
    texts: Phrases = ()  # "message", "mail": what such a text is
    closing: Phrases = ()  # "ever", after a comma at the end
    occasions: Phrases = ()  # "after every change": whenever the agent works
    remember: Phrases = ()  # "don't forget to"
    told: Phrases = ()  # "I said"
    always: Phrases = ()
    still: Phrases = ()  # hold a word of `always` and mean none of it: "immer noch"
    never: Phrases = ()
    not_: Phrases = ()  # "do not" before a verb
    stop: Phrases = ()  # "stop", "avoid" before what is done
    halts: Phrases = ()  # of these, those that may be about one deed or thing
    contracted: Phrases = ()  # of `not`, those that a rule spells out as the first of them
    none: Phrases = ()  # "no" before a thing
    reported: Phrases = ()  # "found", after "no" and a thing: tells what came of it
    obliged: Phrases = ()  # "you should"
    negated: Phrases = ()  # "you should not"
    required: Phrases = ()  # "it should" before what one thing has to be
    unwanted: Phrases = ()  # "I don't want any" before a thing
    missed: Phrases = ()  # "you should have used" before a thing
    naming: Phrases = ()  # "it's" before what a thing is
    banned: Phrases = ()  # "is banned" after a thing
    degree: Phrases = ()  # "shorter", "to a minimum": how much of a thing
    habits: Phrases = ()  # "we" before what we do
    selves: Phrases = ()  # of these, who speaks only of themselves
    verbs: Phrases = ()  # that ask for something
    use: Phrases = ()  # verbs before a tool
    qualified: Phrases = ()  # of these, those that take ideas as often as tools
    once: Phrases = ()  # verbs of what is done once
    adding: Phrases = ()  # verbs that ask for something to be there
    actions: Phrases = ()  # verbs of what is done with finished work
    generic: Phrases = ()  # words that tell little about what is wished for
    ordinary: Phrases = ()  # words that are in many asks about code: sharing one of them is no likeness
    idle: Phrases = ()  # "don't worry" forbids nothing
    synonyms: Phrases = ()  # words of one phrase that mean the same: "db database"
    missing: Phrases = ()  # "is missing" after a thing
    add: str = ""  # the verb of a rule about such a thing
    left: Phrases = ()  # "away from": what is said to be no more
    asides: Phrases = ()  # "by the way"
    adverbs: Phrases = ()  # may stand before a verb
    instead: Phrases = ()  # "instead of" between one thing and another
    firm: Phrases = ()  # of these, those that correct by themselves
    but_rather: Phrases = ()  # "not this, but that"
    stops: Phrases = ()  # end the name of a thing
    limits: Phrases = ()  # change what a wish is about
    timings: Phrases = ()  # of these, those that say when a thing is to be done, and so change a ban only
    conditions: Phrases = ()  # "if", "unless": a statement that is not taken apart
    reasons: Phrases = ()  # begin a reason
    pointers: Phrases = ()  # mean something only where they were said
    guesses: Phrases = ()  # "maybe"
    auxiliaries: Phrases = ()  # before a "not" that contrasts nothing
    being: Phrases = ()  # "is", "has": tells how things are
    retracts: Phrases = ()  # "forget it": takes back what was said before
    momentary: Phrases = ()  # "for now"
    definite: Phrases = ()  # "the": one thing at hand
    subjects: Phrases = ()  # "it", "they": begin a remark on what was said
    others: Phrases = ()  # who is spoken of, and is not the agent
    steps: Phrases = ()  # of these, those that somebody decides each time
    checking: Phrases = ()  # "did you": asks whether something was done that should have been
    asking: Phrases = ()  # begin a question, with or without its mark
    more: Phrases = ()  # "also", "again": asks for more of the same
    wanting: Phrases = ()  # "is missing", "should": says that something is to be otherwise


@lru_cache
def built_in() -> tuple[Cues, ...]:
    """The tables that come with the tool, by language."""
    return tuple(read_table(path) for path in sorted(FOLDER.glob("*.toml")))


def tables(extra: Sequence[Path] = ()) -> tuple[Cues, ...]:
    """The tables in force, by language: those of the tool with the user's own files. Raises `ConfigError`."""
    known = {cues.language: cues for cues in built_in()}
    for path in extra:
        own = read_table(path)
        known[own.language] = _joined(known[own.language], own) if own.language in known else own
    return tuple(known[language] for language in sorted(known))


def read_table(path: Path) -> Cues:
    """One table. Raises `ConfigError` that names the file and everything wrong with it."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        data = json.dumps(told).encode()
    except OSError as error:
        raise ConfigError(f"the cue table {path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError) as error:
        raise ConfigError(f"the cue table {path} is not TOML of texts: {error}") from error
    found = [*_unknown(told)] or schema.problems(Cues, data)
    cues = None if found else schema.read(Cues, data, where=str(path))
    found += [] if cues is None else list(_faults(cues))
    if cues is None or found:
        lines = "\n".join(f"  {line}" for line in found)
        raise ConfigError(f"{path} is no cue table:\n{lines}", "docs/mining.md lists what a cue table may hold")
    return cues


def _unknown(keys: Iterable[str]) -> Iterator[str]:
    known = [_key(item.name) for item in fields(Cues)]
    for key in keys:
        if key not in known:
            yield f"{key}: unknown (known: {', '.join(known)})"


def _key(field_name: str) -> str:
    """As a table spells it: `not`, which is no name in Python."""
    return field_name.rstrip("_")


def _faults(cues: Cues) -> Iterator[str]:
    if not (len(cues.language) == 2 and cues.language.isascii() and cues.language.islower()):
        yield f"language: '{cues.language}' is no ISO 639-1 code of two letters"
    for name, phrases in _lists(cues):
        for phrase in phrases:
            if not phrase.strip() or phrase != " ".join(phrase.split()):
                yield f"{name}: '{phrase}' is not words with single blanks between"


def _lists(cues: Cues) -> Iterator[tuple[str, Phrases]]:
    for item in fields(cues):
        value = getattr(cues, item.name)
        if isinstance(value, tuple):
            yield _key(item.name), value


def _joined(one: Cues, own: Cues) -> Cues:
    """The tool's table with what a user added."""
    added: dict[str, Any] = {}
    for item in fields(own):
        theirs, ours = getattr(one, item.name), getattr(own, item.name)
        added[item.name] = (*theirs, *ours) if isinstance(theirs, tuple) else ours or theirs
    return replace(one, **added)
