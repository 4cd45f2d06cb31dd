"""A language's cues, compiled: the patterns that read a sentence. Built once a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from re import Pattern

from skillopt_git.cues import Cues
from skillopt_git.errors import ConfigError
from skillopt_git.ids import fold

MARKED = r"(?:[,.:;!]+\s*|\s+[,.:;!]+\s+|\s*[—–]+\s*|\s*-+\s+)"  # after a word that opens a statement; not "./run"
NEVER_MATCHES = r"(?!)"
MOST_STEMS = 50_000  # words of a language whose stems are kept: finding one costs as much as reading a sentence
QUOTED = r"`[^`]+`|\"[^\"]+\"|'[^']+'"
_WORD = rf"(?:{QUOTED}|(?:\.{{1,2}}/)?[^\s,;.!?`\"()]+(?:[./:][^\s,;!?`\"()]+)*)"
_AFTER = r"(?=$|[,:;()]?\s|[)])"


def any_of(phrases: Iterable[str]) -> str:
    """A pattern for any of the phrases, the longest first, on word borders."""
    spelled = [r"\s+".join(map(_spelled, phrase.split())) for phrase in phrases]
    ordered = sorted(dict.fromkeys(spelled), key=lambda item: (-len(item), item))
    return rf"(?<![\w'])(?:{'|'.join(ordered)})(?:(?<=')|(?![\w']))" if ordered else NEVER_MATCHES


def _spelled(word: str) -> str:
    """With or without its apostrophe; one at the end binds the word to the next."""
    return re.escape(word[:-1]) + "'" if word.endswith("'") else re.escape(word).replace("'", "'?")


class Grammar:
    """What one table can tell of a text. Only `grammar` makes one, so that a table is compiled once.

    A pattern is compiled when it is asked for: of most languages few are, and all of them take a second.
    """

    def __init__(self, cues: Cues) -> None:
        self.cues = cues
        self._patterns: dict[str, str] = {}  # as they are spelled
        self.language = cues.language
        self.common = _folded(cues.common)
        self.verbs = _folded(cues.verbs)
        phrases = (*cues.stop, *cues.not_, *cues.never, *cues.always, *cues.use, *cues.refusals, *cues.obliged)
        self.words = self.common | self.verbs | {word for phrase in phrases for word in fold(phrase).split()}
        self.once = _folded(cues.once)
        self.actions = _folded(cues.actions)
        self.steps = _folded(cues.steps)
        self.idle = _folded(cues.idle)
        self.pointers = _folded(cues.pointers)
        self.auxiliaries = _folded(cues.auxiliaries)
        self.stops = _folded(cues.stops)
        self.halts = _folded(cues.halts)
        self.adding = _folded(cues.adding)
        self.use = _folded(cues.use)
        self.selves = _folded(cues.selves)
        self.reported = _folded(cues.reported)
        self.contracted = _folded(cues.contracted)
        self.definite = _folded(cues.definite)
        self.firm = _folded(cues.firm)
        self.qualified = _folded(cues.qualified)
        self._ending_off = lru_cache(MOST_STEMS)(_stemmer(cues.stemmer)) if cues.stemmer else str
        self._stems: dict[str, str] = {}  # as many as a month has words
        self._synonyms = {fold(word): fold(words.split()[-1]) for words in cues.synonyms for word in words.split()}
        self.negations = _folded((*cues.not_, *cues.firm))
        self.limits = _folded(cues.limits)
        self.timings = _folded(cues.timings)

    def __getattr__(self, name: str) -> Pattern[str]:
        """A pattern; reached only while it is not compiled."""
        if not name.startswith("_") and not self._patterns:
            self._spell_sentences(self.cues)
            self._spell_statements(self.cues)
            self._spell_terms(self.cues)
        if name.startswith("_") or name not in self._patterns:
            raise AttributeError(f"a grammar has no '{name}'")
        found = re.compile(self._patterns[name], re.IGNORECASE)
        setattr(self, name, found)
        return found

    def _spell_sentences(self, cues: Cues) -> None:
        praise, negation = any_of(cues.praises), any_of([*cues.always, *cues.never, *cues.not_])
        starts = any_of(
            [
                *cues.habits,
                *cues.told,
                *cues.negated,
                *cues.obliged,
                *cues.always,
                *cues.never,
                *cues.not_,
                *cues.stop,
                *cues.polite,
            ]
        )
        verbs = any_of([*cues.verbs, *cues.none])
        asked = any_of(
            [*cues.use, *cues.firm, *cues.always, *cues.never, *cues.not_, *cues.habits, *cues.leading, *cues.obliged]
        )
        kind = rf"{any_of(cues.none)}\s+(?!{asked}|{any_of(cues.limits)})(?=[\w`$%!])"  # not "no use tabs"
        self._patterns["kind"] = rf"^{kind}"
        self._patterns["breaks"] = (
            rf"\s*,?\s+{any_of(cues.ands)}\s+(?={kind})"
            rf"|(?<=[\w)]),?\s+{any_of(cues.ands)}\s+(?={any_of(cues.required)}\s)"
            rf"|(?<=please)(?:\s*\([^)]*\))?,?\s+{any_of(cues.ands)}\s+"
            rf"|,\s+(?={any_of(cues.standing)}(?:$|[.,;!]))|,\s+(?={any_of([*cues.others, *cues.subjects])}\s)"
            rf"|,\s+(?={any_of(cues.always)}\s)|\s+{any_of(cues.ands)}\s+(?={any_of(cues.onward)}\s)|"
            rf",?\s+(?!{any_of(cues.instead)}){any_of(cues.ands)}\s+(?=(?:{any_of(cues.leading)}\s+)*{starts}\s)"
            rf"|(?<=\w):\s+(?={any_of(cues.pleas)})"
            rf"|\s*,\s+(?={any_of(cues.habits)}\s)"
            rf"|\s*,\s+(?!{any_of(cues.buts)}){any_of(cues.ands)}\s+(?!{any_of(cues.instead)})(?=\S+\s+\S)"
            rf"|\s*,\s+(?={negation}\s+{any_of(cues.verbs)}\s)"
            rf"|\s*,\s+(?!{any_of(cues.buts)}){any_of(cues.ands)}\s+(?={verbs}\s)"
        )
        self._patterns["refusal"] = (
            rf"^{any_of(cues.refusals)}\s*(?:[,.:;!—–-]|{negation}|{any_of([*cues.use, *cues.leading])}\b|$)"
            rf"|^{praise}[^.]{{0,30}}?(?<![\w']){any_of(cues.buts)}"
        )
        self._patterns["consent"] = (
            rf"^(?:{any_of(cues.refusals)}[\s,.:;!—–-]*)?{any_of(cues.consents)}(?![^.]*{any_of(cues.buts)})"
        )
        self._patterns["onward"] = rf"^(?:{any_of(cues.ands)}\s+)?{any_of(cues.onward)}(?!\s+time\b)"
        self._patterns["conditional"] = rf"(?:^|,\s+){any_of(cues.conditions)}\s"  # what it says holds only then
        added = [word for word in cues.ands if word not in cues.buts]
        self._patterns["adds"] = rf"^{any_of([*added, *cues.onward, *cues.more, *cues.asides])}[\s,:]"
        self._patterns["aside"] = rf"^(?:{any_of([*cues.ands, *cues.leading])}\s+)*{any_of(cues.asides)}[\s,:]"
        self._patterns["checking"] = rf"^{any_of(cues.checking)}\s+(?=\S)"
        self._patterns["missing"] = rf"^(?P<thing>[^,;]+?)\s+{any_of(cues.missing)}(?P<rest>\s[^,;]*)?$"
        self._patterns["left"] = any_of(cues.left)
        self._patterns["opener"] = (
            rf"^(?:{any_of(cues.openers)}{MARKED}|(?!{kind}|{any_of(cues.standing)}){any_of(cues.leading)},?\s+)+(?={any_of(cues.none)}\s)?"
        )
        self._patterns["praise_and_but"] = rf"^{praise}[^.]{{0,30}}?[,\s]+{any_of(cues.buts)},?\s+"
        self._patterns["praise"] = rf"{praise}|{any_of(cues.courtesies)}|[\W_]+"
        self._patterns["question"] = rf"^(?:{any_of(cues.asking)})\s"
        self._patterns["guess"] = any_of(cues.guesses)
        self._patterns["momentary"] = any_of(cues.momentary)
        self._patterns["retracts"] = rf"^(?:\w+,\s+)?{any_of(cues.retracts)}"
        self._patterns["others"] = any_of(cues.others)
        self._patterns["general"] = any_of(cues.general)
        self._patterns["plea_always"] = rf"{any_of(cues.pleas)}\s+{any_of(cues.always)}"
        self._patterns["plea"] = any_of(cues.pleas)
        self._patterns["polite"] = rf"^{any_of(cues.polite)},?\s+(?:{any_of(cues.leading)}\s+)*"
        self._patterns["courtesy"] = rf"(?<![,\s])[,\s]+{any_of(cues.courtesies)}$"
        self._patterns["leading_place"] = rf"^{any_of(cues.places)},?\s+"
        self._patterns["inner_place"] = rf"\s+{any_of(cues.places)}(?=,)"

    def _spell_statements(self, cues: Cues) -> None:
        standing = any_of(cues.standing)
        closing = any_of(cues.closing)
        self._patterns["standing"] = rf"^{standing}\b\s*[,:]?\s*|,?\s*{standing}(?=$|[,:;]|\s)|,\s+{closing}(?=$|[,;])"
        self._patterns["announced"] = (
            rf"^(?:{any_of(cues.openers)}{MARKED}|{any_of(cues.leading)},?\s+)*?"
            rf"(?:(?P<word>{any_of([*cues.remember, *cues.told])})"
            rf"|(?P<note>{any_of(cues.noting)}(?:\s+[^\s:,]+){{0,8}})"
            rf"|{any_of(cues.standing)}|{any_of(cues.announcing)}(?:\s+[^\s:,]+){{0,8}})\s*:(?=\s|$)"
        )
        self._patterns["custom"] = any_of(cues.customs)
        self._patterns["still"] = any_of(cues.still)
        self._patterns["as_usual"] = rf"^{any_of(cues.customs)},?\s+"
        self._patterns["norm"] = (
            rf"^(?P<subject>(?:{_WORD}\s+){{1,6}}?)(?P<verb>{any_of(cues.norms)})\s+(?P<rest>\S.*)$"
        )
        self._patterns["state"] = any_of([*cues.states, *cues.left])
        for_good = any_of([*cues.standing, *cues.closing])
        self._patterns["for_good"] = rf"^(?:{any_of(cues.leading)},?\s+)*(?:{for_good}[\s,]*)+[.!\s]*$"
        self._patterns["drafted"] = (
            rf"^(?:{any_of(cues.openers)}{MARKED}|{any_of(cues.leading)},?\s+|{any_of(cues.polite)}\s+)*{any_of(cues.drafting)}\s"
            rf"[^:\n]*{any_of(cues.texts)}[^:\n]*:(?=\s|$)"
        )
        self._patterns["announcing"] = rf"^{any_of([*cues.announcing, *cues.noting])}$"
        self._patterns["moving"] = (
            rf"^(?:{any_of(cues.openers)}[\s,.:;!—–-]*)*(?:{any_of(cues.ands)}\s+)?(?P<word>{any_of(cues.onward)})(?!\s+time\b)"
        )
        self._patterns["answers"] = any_of(cues.answers)
        self._patterns["occasion"] = any_of(cues.occasions)
        reminder = any_of(cues.remember)
        self._patterns["remember"] = rf"^(?:{any_of(cues.leading)}\s+)*{reminder}\s*[,:]?\s*|[\s,]+{reminder}$"
        self._patterns["told"] = rf"^{any_of(cues.told)}[,:]?\s*"
        self._patterns["obliged"] = rf"^{any_of(cues.obliged)}\s+(?=\S)"
        self._patterns["negated"] = rf"^{any_of(cues.negated)}\s+(?=\S)"
        self._patterns["required"] = rf"^{any_of(cues.required)}\s+(?=\S)"
        self._patterns["unwanted"] = rf"^{any_of(cues.unwanted)}\s+(?=\S)"
        self._patterns["missed"] = rf"^{any_of(cues.missed)}\s+(?=\S)"
        self._patterns["naming"] = rf"^{any_of(cues.naming)}\s+(?=\S)"
        self._patterns["banned"] = rf"^(?P<thing>[^,;]+?)\s+{any_of(cues.banned)}(?:$|[\s,;])"
        self._patterns["degree"] = any_of(cues.degree)
        self._patterns["wanting"] = any_of(cues.wanting)
        self._patterns["habit"] = rf"^{any_of(cues.habits)}\s+(?=\S)"
        self._patterns["always_never"] = rf"^(?P<word>{any_of([*cues.always, *cues.never])})\s+(?=\S)"
        self._patterns["anywhere"] = any_of([*cues.always, *cues.never])
        self._patterns["subject_always"] = (
            rf"^(?P<subject>(?:{_WORD}\s+){{1,4}}){any_of([*cues.always, *cues.never])}\s+(?P<rest>.+)$"
        )
        self._patterns["do_not"] = rf"^{any_of(cues.not_)}\s+(?=\S)"
        self._patterns["stop"] = rf"^{any_of(cues.stop)}\s+(?=[\w`])"
        self._patterns["none"] = rf"^{any_of(cues.none)}\s+(?=[\w`$%!])"
        ban, verb = any_of([*cues.not_, *cues.never, *cues.stop, *cues.none]), any_of(cues.verbs)
        inner = any_of([*cues.never, *cues.none])
        self._patterns["forbids"] = rf"^(?:{ban}\s|{verb}\s+(?:[^\s,]+\s+){{0,2}}{inner}\s)"
        self._patterns["verb_always"] = (
            rf"^{verb}\s+(?:[^\s,]+\s+){{0,3}}?{any_of([*cues.always, *cues.never])}(?=$|\s)"
            rf"|^{verb}\s+(?:[^\s,]+\s+){{0,2}}?{any_of(cues.none)}\s+(?=[\w`])"
        )
        self._patterns["inverted"] = (
            rf"^(?P<thing>[^\s,]+(?:\s+[^\s,]+)?)\s+(?P<verb>{verb})\s+{any_of(cues.habits)}\s+"
            rf"(?P<word>{any_of([*cues.always, *cues.never])})$"
        )
        self._patterns["not_last"] = rf"\s{any_of([*cues.not_, *cues.never])}\s+(?:[^\s,]+\s+){{0,2}}{verb}$"
        self._patterns["adverbs"] = rf"^(?:{any_of(cues.adverbs)}\s+)+"
        self._patterns["reason"] = rf"[\s,]+{any_of(cues.reasons)}\s.*$"
        self._patterns["more"] = any_of(cues.more)
        self._patterns["being"] = any_of([*cues.being, *cues.habits, *cues.others])

    def _spell_terms(self, cues: Cues) -> None:
        stop, instead, use = any_of(cues.stops), any_of(cues.instead), any_of(cues.use)
        term = rf"(?!{stop}){_WORD}(?:\s+(?!{stop}){_WORD}){{0,3}}"
        rest = rf"{_AFTER}(?=$|[)]|[,:;(]?\s*\(?(?:{stop}))"
        joined = rf"[,;]?\s+(?:{any_of(cues.ands)}\s+)?"
        always = any_of(cues.always)
        before = rf"(?:{stop}\s+)?"
        self._patterns["pair"] = (
            rf"^(?:{always}\s+)?(?P<verb>{use})\s+{before}(?P<prefer>{term})"
            rf"{joined}(?P<word>{instead})\s+{before}(?P<avoid>{term}){rest}"
        )
        helped = "".join(rf"(?<!\b{re.escape(word)})" for word in ["do", *cues.auxiliaries])
        self._patterns["loose_pair"] = (
            rf"(?<![\w`])(?P<prefer>{term}){helped}{joined}(?P<word>{instead})\s+{before}(?P<avoid>{term})"
        )
        nothing_of = any_of(cues.none)
        self._patterns["bare_pair"] = (
            rf"^(?P<prefer>{_WORD})(?:,?\s+(?P<word>{instead})|,\s+{nothing_of})\s+(?P<avoid>{_WORD})$"
        )
        negation = any_of([*cues.not_, *cues.firm, *cues.none])
        self._patterns["bare_swap"] = (
            rf"^{negation}\s+(?P<avoid>{_WORD})(?:,\s+|\s+(?={any_of(cues.but_rather)}))"
            rf"(?:{any_of(cues.but_rather)}\s+)?(?P<prefer>{_WORD})$"
        )
        self._patterns["tool"] = rf"^(?:{always}\s+)?(?P<verb>{use})\s+(?P<prefer>{term}){rest}"
        using = rf"(?:{any_of([*cues.not_, *cues.never, *cues.stop])})\s+(?:{use}|using)"
        self._patterns["unused"] = rf"^{using}\s+(?P<avoid>{term}){rest}"
        self._patterns["swap"] = (
            rf"^{using}\s+(?P<avoid>{term})[,:]?\s+(?:{any_of(cues.but_rather)}\s+)+(?P<prefer>{term})$"
        )
        self._patterns["contrasts"] = rf"^{instead}\s"
        self._patterns["contrast"] = rf"{helped}{joined}{instead}\s+{before}{term}"

    # --- words ---

    @cached_property
    def generic(self) -> frozenset[str]:
        return frozenset(map(self.stem, _folded(self.cues.generic)))

    @cached_property
    def ordinary(self) -> frozenset[str]:
        return frozenset(map(self.stem, _folded(self.cues.ordinary)))

    def stem(self, word: str) -> str:
        return self._ending_off(self._synonyms.get(word, word))

    def verb_of(self, statement: str) -> str | None:
        """The verb a statement begins with, or ends with in a language that may; None when it speaks of something only
        its place in a talk tells."""
        if self.cues.verbs_last:
            without = self.contrast.sub("", statement).split(",")[0]
            statement = without if len(without.split()) > 1 else statement
        words = self.adverbs.sub("", statement).split()
        if len(words) < 2 or _bare(words[1]) in self.pointers:
            return None
        first, last = _bare(words[0]), _bare(words[-1])
        return last if self.cues.verbs_last and first not in self.verbs and last in self.verbs else first

    def pointed(self, text: str) -> bool:
        """Whether a text points at something that only its place in a talk tells."""
        return not self.pointers.isdisjoint(word.strip(",.:;!") for word in fold(text).split())

    def talks(self, words: Iterable[str]) -> int:
        """How many of the words are this language's own."""
        return sum(word in self.words for word in words)


def _bare(word: str) -> str:
    return fold(word).strip(",.:;'\"!")


def _folded(phrases: Iterable[str]) -> frozenset[str]:
    both = (spelling for phrase in phrases for spelling in (phrase, phrase.replace("'", "")))
    return frozenset(map(fold, both))


@lru_cache(maxsize=64)
def grammar(cues: Cues) -> Grammar:
    """The compiled table. Raises `ConfigError` for a stemmer that there is none of."""
    import snowballstemmer  # here and below: verbs that read no sessions start without it

    known = snowballstemmer.algorithms()
    if cues.stemmer and cues.stemmer not in known:
        raise ConfigError(
            f"the cue table for '{cues.language}': no stemmer '{cues.stemmer}'", f"known: {', '.join(known)}"
        )
    return Grammar(cues)


def _stemmer(name: str) -> Callable[[str], str]:
    import snowballstemmer

    stem: Callable[[str], str] = snowballstemmer.stemmer(name).stemWord
    return stem
