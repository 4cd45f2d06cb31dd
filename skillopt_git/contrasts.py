"""One thing rather than another: "use pnpm, not npm", "tabs instead of spaces"."""

from __future__ import annotations

import re

from skillopt_git.checks import check
from skillopt_git.grammar import Grammar
from skillopt_git.ids import fold
from skillopt_git.imperatives import Wish, contrast_in, name, read, use_instead
from skillopt_git.model import Check
from skillopt_git.ports import Reply

MOST_WORDS = 12  # of a contrast without a verb
MOST_NAMED = 5  # words of a command, one less
_AGAIN_INSIDE = re.compile(r"\s+again(?=,)", re.IGNORECASE)


def contrast(text: str, refused: bool, grammar: Grammar, *, follows: bool) -> Wish | None:
    """ "use X, not Y" corrects by itself; "use X instead of Y" may be a plain ask."""
    text = _AGAIN_INSIDE.sub("", text)
    pair = grammar.pair.match(text)
    this_one = pair is not None and _at_hand(pair, grammar)
    if pair and not this_one and not grammar.pointed(text) and (refused or fold(pair["word"]) in grammar.firm):
        return read(text, grammar)
    bare = grammar.bare_pair.match(text) or grammar.bare_swap.match(text)
    if bare and (refused or follows) and name(bare["prefer"], grammar) and name(bare["avoid"], grammar):
        if _counted(bare) or fold(bare["prefer"]) in grammar.pointers | grammar.verbs or _quotes(bare):
            return None
        return read(use_instead(bare["prefer"], bare["avoid"], grammar), grammar)
    if (refused or follows) and (swap := _same_words(text, grammar)):
        return read(use_instead(*swap, grammar), grammar)
    loose = contrast_in(text, grammar)
    verb = grammar.verb_of(text)
    last = grammar.cues.verbs_last and fold(text.split()[0]) not in grammar.verbs and verb not in grammar.once
    plainly = verb not in grammar.verbs or last
    if loose and (refused or follows) and plainly and not grammar.pointed(text):
        named = name(loose["prefer"].split()[-1], grammar) and name(loose["avoid"], grammar)
        sure = named and grammar.definite.isdisjoint(fold(text).split())
        plain = fold(loose["word"]) not in grammar.firm or refused or _both_code(loose) or bool(sure)
        at_hand = not grammar.definite.isdisjoint(fold(text).split()) and not _both_code(loose)
        short = len(text.split()) <= MOST_WORDS and not any(map(str.isdigit, text))
        fit = plain and short and not _quotes(loose) and not _definite(loose, grammar) and not at_hand
        return read(text, grammar) if fit else None
    return None


def _same_words(text: str, grammar: Grammar) -> tuple[str, str] | None:
    """ "fvm flutter test, not flutter test": two commands with words in common."""
    prefer, comma, avoid = text.partition(", ")
    word, _, avoid = avoid.partition(" ")
    both = [fold(part).split() for part in (prefer, avoid)]
    few = all(0 < len(words) < MOST_NAMED for words in both) and max(map(len, both)) > 1
    if not comma or fold(word) not in grammar.firm or not few or not set(both[0]) & set(both[1]):
        return None
    named = both[0][0] not in grammar.words and both[1][0] not in grammar.words
    return (f"`{prefer.strip('`')}`", f"`{avoid.strip('`')}`") if named else None


def _counted(pair: re.Match[str]) -> bool:
    """ "0.10, not 0.9": a value of one work."""
    return pair["prefer"][0].isdigit() and pair["avoid"][0].isdigit()


def _quotes(pair: re.Match[str]) -> bool:
    """Texts that are put in quotation marks are put into one place."""
    return pair["prefer"].startswith(("'", '"')) or pair["avoid"].startswith(("'", '"'))


def _at_hand(pair: re.Match[str], grammar: Grammar) -> bool:
    """ "the second one, not the first"."""
    return all(fold(pair[part].split()[0]) in grammar.definite for part in ("prefer", "avoid"))


def _both_code(pair: re.Match[str]) -> bool:
    return all(re.search(r"\w[/._]|[/._]\w|`", pair[part]) for part in ("prefer", "avoid"))


def _definite(pair: re.Match[str], grammar: Grammar) -> bool:
    """ "the header, not the footer": things of this one work."""
    return any(fold(pair[part].split()[0]) in grammar.common for part in ("prefer", "avoid"))


def turns_down(text: str, answer: str, grammar: Grammar) -> bool:
    """ "use X instead of Y" is a plain ask, unless Y is what the answer just did."""
    words = re.finditer(r"(?<!\w)[\w`]", text)
    contrast = next((found for word in words if (found := grammar.pair.match(text[word.start() :]))), None)
    avoid = name(contrast["avoid"], grammar) if contrast else None
    return avoid is not None and check(Check(op="contains", arg=avoid), Reply(text=answer))


def firm_pair(text: str, grammar: Grammar) -> bool:
    """ "use pnpm, not npm": said before anything was answered, it is still more than this one work."""
    pair = grammar.pair.match(text)
    return pair is not None and fold(pair["word"]) in grammar.firm
