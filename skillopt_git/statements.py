"""The wish that a single statement makes: by its own cue, as the other half of a refusal, or told as how things are."""

from __future__ import annotations

import re

from skillopt_git.checks import check
from skillopt_git.clauses import Clause, trimmed
from skillopt_git.grammar import Grammar
from skillopt_git.imperatives import Wish, contrast_in, name, read, use_instead
from skillopt_git.model import Check, fold
from skillopt_git.norms import tells_norm
from skillopt_git.ports import Reply
from skillopt_git.sameness import completes

MOST_NAMED = 5  # words of a command, one less
MOST_WORDS = 12  # of a contrast without a verb
CODE = re.compile(r"(?P<name>`[^`]+`|--?[a-z][\w-]*(?:[ =]\w+)?|\w+(?:\.\w+)*\(\))(?=$|[,.;!]|\s+(?:and|not|und|nicht)\b)")
_AGAIN_INSIDE = re.compile(r"\s+again(?=,)", re.IGNORECASE)
_AGAIN = re.compile(r"\s+again$", re.IGNORECASE)


def meant(clause: Clause, grammar: Grammar, before: Wish | None, answer: str | None) -> tuple[Wish | None, bool]:
    """The wish a clause states by its own cue, or as the other half of a refusal; and whether it is a standing one."""
    text = clause.text
    insisted = grammar.told.match(text)
    text = text[insisted.end() :] if insisted else text
    if not text.strip():
        return None, False
    reminded = grammar.remember.search(text)
    standing = grammar.standing.search(text)
    head = text[: standing.start()] if standing else ""
    if ": " in head:  # "change of plan: commit messages in English from today"
        text = text[head.rindex(": ") + 2 :]
    usual = answer is None and grammar.verb_of(text) not in grammar.verbs and _usual(clause, grammar)
    if reminded or standing or clause.announced or usual:
        rest = grammar.remember.sub("", text) if reminded else text
        rest = grammar.as_usual.sub("", rest)
        rest = _closed(grammar.standing.sub(" ", rest)) if standing else rest
        wish = _always(rest, grammar, answer)
        return wish, True
    told = _told_of(text, grammar, answer)
    if told is not None:
        return told, False
    core, obliged = _without_subject(text, grammar)
    refused = clause.refused or insisted is not None or (core != text and _lacks(core, answer, grammar))
    refused = refused or (answer is not None and core is not None and _our_way(text, core, grammar))
    if core is None or grammar.question.match(core):
        return None, False
    if _done_so(clause, core, answer, grammar):
        return read(core, grammar), False
    if answer is None and core == text and not grammar.anywhere.search(core) and not grammar.general.search(core):
        return (read(core, grammar) if _firm_pair(core, grammar) else None), False
    if answer is None and obliged and not grammar.anywhere.search(core) and not grammar.forbids.match(core):
        return (read(core, grammar) if _firm_pair(core, grammar) else None), False
    wish = (
        _forbidden_or_always(core, grammar, obliged=core != text and not grammar.habit.match(text))
        or (_unwanted(core, answer, grammar) if answer is not None else None)
        or (_habitual(core, grammar) if answer is not None else None)
        or _contrast(core, refused or obliged, grammar, follows=answer is not None)
        or _bare(core, refused, obliged, before, grammar)
    )
    return wish, False


def _usual(clause: Clause, grammar: Grammar) -> bool:
    """ "all labels from the arb files as usual", "comments in English please, always": beside the work that is asked for."""
    return clause.customary or (clause.pleads and bool(grammar.anywhere.search(clause.text)))


def _done_so(clause: Clause, core: str, answer: str | None, grammar: Grammar) -> bool:
    """ "figures are always svg", "errors get wrapped here"; of an answer, also "timestamps stay in UTC"."""
    if clause.customary or grammar.anywhere.search(core):
        return tells_norm(core, grammar, sure=True)
    if answer is None:
        return False
    return tells_norm(core, grammar, sure=bool(grammar.here.search(clause.quote)))


def _closed(text: str) -> str:
    """What is left when words were taken out of the middle."""
    return re.sub(r"\s+([,;:])", r"\1", " ".join(text.split())).strip(" ,;:")


def _firm_pair(text: str, grammar: Grammar) -> bool:
    """ "use pnpm, not npm": said before anything was answered, it is still more than this one work."""
    pair = grammar.pair.match(text)
    return pair is not None and fold(pair["word"]) in grammar.firm


def _told_of(text: str, grammar: Grammar, answer: str | None) -> Wish | None:
    """A wish that is told as how things are: "I don't want any ...", "we moved to ...", "... is banned"."""
    unwanted, missed, banned = grammar.unwanted.match(text), grammar.missed.match(text), grammar.banned.match(text)
    cues = grammar.cues
    named = _named(text, grammar) if answer is not None else None
    naming = grammar.naming.match(text) if answer is not None else None
    rest = _without_remark(text[naming.end() :], grammar) if naming else ""
    if grammar.bare_pair.match(rest):
        return _contrast(rest, True, grammar, follows=True)
    if named and check(Check(op="not_contains", arg=named), Reply(text=answer or "")):
        return read(f"{cues.use[0]} `{named}`", grammar)
    if unwanted and cues.none:
        thing = text[unwanted.end() :]
        first, _, rest = thing.partition(" ")
        general = fold(first) in grammar.definite and grammar.general.search(rest)
        return _thing(f"{cues.none[0]} {rest if general else thing}", rest if general else thing, grammar)
    if missed and answer is not None and cues.use:
        rest = text[missed.end() :]
        first = rest if contrast_in(rest, grammar) else rest.split()[0].strip(",.;")
        return _thing(f"{cues.use[0]} {first}", first, grammar, named=True)
    if banned and answer is not None and cues.verbs_last and cues.none:
        return _thing(f"{cues.none[0]} {banned['thing']}", banned["thing"], grammar)
    if banned and answer is not None and cues.not_ and cues.use:
        thing = banned["thing"]
        return _thing(f"{cues.not_[0]} {cues.use[0]} {thing}", thing, grammar)
    return None


def _named(text: str, grammar: Grammar) -> str | None:
    """ "it's `west build`", "its --device cpu, that box isn't ours": what is to be typed."""
    found = grammar.naming.match(text)
    code = CODE.match(text[found.end() :]) if found else None
    return code["name"].strip("`") if code else None


def _thing(rule: str, thing: str, grammar: Grammar, *, named: bool = False) -> Wish | None:
    """The rule, if it is about a kind of thing and not about the one at hand."""
    words = fold(thing).split()
    if not words or len(words) > MOST_WORDS or words[0].strip(",.") in grammar.common:
        return None
    if named and name(words[0].strip(",.;"), grammar) is None:
        return None
    return read(rule, grammar)


def _lacks(core: str | None, answer: str | None, grammar: Grammar) -> bool:
    """ "we use pnpm", said of an answer that does not."""
    tool = grammar.tool.match(core) if core and answer else None
    thing = name(tool["prefer"], grammar) if tool else None
    return bool(answer and thing) and not check(Check(op="contains", arg=thing), Reply(text=answer or ""))


def _our_way(text: str, core: str, grammar: Grammar) -> bool:
    """ "we log with slog", said of an answer."""
    habit = grammar.habit.match(text)
    ours = habit is not None and fold(habit[0]).strip() not in grammar.selves
    return ours and not pointed(core, grammar) and grammar.definite.isdisjoint(fold(core).split())


def _without_subject(text: str, grammar: Grammar) -> tuple[str | None, bool]:
    """The imperative core, and whether a subject obliges to it. "You always ..." blames and obliges to nothing."""
    negated = grammar.negated.match(text)
    if negated and grammar.cues.not_:
        return f"{grammar.cues.not_[0]} {text[negated.end() :]}", True
    required = grammar.required.match(text)
    if required:
        rest = text[required.end() :]
        return (rest, True) if grammar.pair.match(rest) else (None, False)
    modal = grammar.obliged.match(text)
    if modal:
        return text[modal.end() :], True
    habit = grammar.habit.match(text)
    if habit is None:
        return text, False
    rest = text[habit.end() :]
    forbids, always = grammar.do_not.match(rest), grammar.always_never.match(rest)
    if always and fold(habit[0]).strip() in grammar.selves:
        return None, False  # "I always forget ..." tells of oneself
    if forbids and grammar.verb_of(rest[forbids.end() :]) not in grammar.verbs:
        return None, False  # "we don't have ..." tells how things are
    verb = grammar.verb_of(rest)
    firm = grammar.pair.match(rest) or (verb in grammar.verbs and contrast_in(rest, grammar))
    if not forbids and not always and not firm and (verb not in grammar.verbs or verb in grammar.once):
        return None, False
    return rest, bool(forbids or always or firm)


def _always(text: str, grammar: Grammar, answer: str | None) -> Wish | None:
    """What is said to stand from now on."""
    rest, _ = _without_subject(trimmed(text, grammar), grammar)
    habit = grammar.habit.match(text)
    if not rest and habit and grammar.verb_of(text[habit.end() :]) in grammar.verbs - grammar.once:
        rest = text[habit.end() :]  # "we build with task"
    if not rest or grammar.question.match(rest):
        return None
    rest = _without_remark(grammar.naming.sub("", rest), grammar)
    own = _forbidden_or_always(rest, grammar)
    if own is not None:
        return own
    if tells_norm(rest, grammar):
        return read(rest, grammar)
    if grammar.verb_of(rest) in grammar.verbs:
        prefix = grammar.cues.rule_prefix
        return read(f"{prefix} {rest[0].lower()}{rest[1:]}" if prefix else rest, grammar)
    contrast = _contrast(rest, True, grammar, follows=True) or (_unwanted(rest, answer, grammar) if answer else None)
    return contrast or _kept_to(rest, grammar)


def _kept_to(text: str, grammar: Grammar) -> Wish | None:
    """ "pnpm from now on", "type hints on all functions from now on": the thing alone."""
    words = text.split()
    if words and fold(words[0]) in grammar.idle:
        return None
    if not words or grammar.being.search(text) or len(words) > MOST_WORDS or pointed(text, grammar):
        return None
    if len(words) == 1:
        return read(f"{grammar.cues.use[0]} {text}", grammar) if name(text, grammar) else None
    if fold(words[0]) in grammar.definite and grammar.cues.plural:
        return None  # "note: the API is down"
    if len(words) > 2:
        return read(text, grammar)
    tells = not grammar.announcing.match(text) and not grammar.generic.intersection(map(grammar.stem, map(fold, words)))
    return read(f"{grammar.cues.use[0]} {text}", grammar) if tells else None


def _without_remark(text: str, grammar: Grammar) -> str:
    """ "comments in English, our new colleague has no German": the wish without what tells why."""
    parts = text.split(", ")
    told = next((at for at, part in enumerate(parts) if at and grammar.being.search(part)), len(parts))
    return ", ".join(parts[:told])


def _forbidden_or_always(text: str, grammar: Grammar, *, obliged: bool = False) -> Wish | None:
    marked = grammar.always_never.match(text)
    if marked:
        rest = text[marked.end() :]
        verb = grammar.verb_of(rest)
        known = verb in grammar.verbs or verb == "be" or (obliged and verb is not None and verb not in grammar.common)
        fit = known and fold(rest.split()[0]) not in grammar.limits
        return read(_AGAIN.sub("", text), grammar) if fit else None
    negated = grammar.do_not.match(text)
    verb = grammar.verb_of(text[negated.end() :]) if negated else None
    if negated and (verb in grammar.verbs or not grammar.cues.verbs_last):
        fit = verb is not None and verb not in grammar.idle
        return read(_AGAIN.sub("", text), grammar) if fit else None
    text = _without_remark(text, grammar) if grammar.none.match(text) else text
    given_up = grammar.stop.match(text) or grammar.none.match(text)
    if given_up and grammar.pointers.isdisjoint(fold(text[given_up.end() :]).split()[:2]):
        head, rest = text[: given_up.end()], _ban(_AGAIN.sub("", text[given_up.end() :]), grammar)
        return read(f"{head}{rest}", grammar) if _gives_up(text, given_up, grammar) else None
    return _in_the_middle(text, grammar)


def _in_the_middle(text: str, grammar: Grammar) -> Wish | None:
    """ "Antworte immer auf Deutsch", "schreib keine Kommentare", "die Migrationen nicht anfassen"."""
    marked = grammar.verb_always.match(text)
    verb = grammar.verb_of(text)
    bans = bool(grammar.forbids.match(text))
    fit = verb in grammar.verbs and (bans or verb not in grammar.once)
    if marked and fit and not pointed(text[: marked.end()], grammar):
        return read(text, grammar) if fold((text[marked.end() :].split() or ["x"])[0]) not in grammar.idle else None
    inverted = grammar.inverted.match(text)
    if inverted:
        return read(f"{inverted['thing']} {inverted['word']} {inverted['verb']}", grammar)
    last = grammar.cues.verbs_last and grammar.not_last.search(text)
    told = grammar.auxiliaries.isdisjoint(fold(text).split()) and not pointed(text.split()[0], grammar)
    return read(text, grammar) if last and told else None


def _unwanted(text: str, answer: str, grammar: Grammar) -> Wish | None:
    """ "no pip": a thing that the answer just had."""
    found = grammar.kind.match(text)
    words = text[found.end() :].split() if found else []
    if not words or fold(words[0]) in grammar.common or fold(words[0]) in grammar.idle:
        return None
    return read(text, grammar) if check(Check(op="contains", arg=words[0].strip(",.;:`")), Reply(text=answer)) else None


def _habitual(text: str, grammar: Grammar) -> Wish | None:
    """ "plots always go to figures/": how a kind of thing is done, whoever does it."""
    found = grammar.subject_always.match(text)
    subject = found["subject"] if found else ":"
    at_hand = fold(subject.split()[0]) in grammar.definite and not grammar.norm.match(text)
    if found is None or at_hand or ":" in subject or grammar.being.search(subject) or pointed(subject, grammar):
        return None
    rest = found["rest"]
    return (
        read(text, grammar)
        if grammar.verb_of(rest) in grammar.verbs or fold(rest.split()[0]) in grammar.stops
        else None
    )


def pointed(text: str, grammar: Grammar) -> bool:
    return not grammar.pointers.isdisjoint(word.strip(",.:;!") for word in fold(text).split())


def _gives_up(text: str, found: re.Match[str], grammar: Grammar) -> bool:
    """ "stop" before what is done again and again, "no" before a kind of thing; "Stop the server" is done once."""
    body = text[found.end() :]
    rest = fold(body).split()
    if not rest or all(word in grammar.common for word in rest[:2]):
        return False
    if grammar.none.match(text):
        if rest[0] in grammar.idle or _reported(rest, grammar) or grammar.being.search(body):
            return False
        if len(rest) > 4 and grammar.others.search(text):
            return False
        return len(rest) <= 10 and (
            _plural(rest[:3], grammar) or (1 < len(rest) < 5 and not _told_or_counted(text, grammar))
        )
    gerund = grammar.cues.gerund
    if not gerund or rest[0].endswith(gerund) or fold(found[0]).strip() not in grammar.halts:
        return True
    return len(fold(found[0]).split()) > 1 and _plural(rest[:2], grammar)


def _reported(words: list[str], grammar: Grammar) -> bool:
    """ "no tests failed" tells what came of it."""
    past = grammar.cues.past
    told = (word.strip(",.;:") for word in words[1:4])
    return any(word in grammar.reported or (past and word.endswith(past)) for word in told)


def bans_kinds(text: str, grammar: Grammar) -> bool:
    """ "no emojis": a kind of thing, and none at hand."""
    found = grammar.none.match(text)
    rest = fold(text[found.end() :]).split() if found else []
    return (
        bool(rest)
        and rest[0] not in grammar.idle
        and not _reported(rest, grammar)
        and _plural(rest[:3], grammar)
        and grammar.definite.isdisjoint(fold(text).split())
    )


def _told_or_counted(text: str, grammar: Grammar) -> bool:
    return bool(grammar.being.search(text)) or any(map(str.isdigit, text))


def _plural(words: list[str], grammar: Grammar) -> bool:
    ending = grammar.cues.plural
    return not ending or any(re.search(rf"{ending}[,.;:)]*$|[(_./`]\w|\(", word) for word in words)


def _contrast(text: str, refused: bool, grammar: Grammar, *, follows: bool) -> Wish | None:
    """ "use X, not Y" corrects by itself; "use X instead of Y" may be a plain ask."""
    text = _AGAIN_INSIDE.sub("", text)
    pair = grammar.pair.match(text)
    this_one = pair is not None and _at_hand(pair, grammar)
    if pair and not this_one and not pointed(text, grammar) and (refused or fold(pair["word"]) in grammar.firm):
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
    if loose and (refused or follows) and plainly and not pointed(text, grammar):
        named = name(loose["prefer"].split()[-1], grammar) and name(loose["avoid"], grammar)
        sure = named and grammar.definite.isdisjoint(fold(text).split())
        plain = fold(loose["word"]) not in grammar.firm or refused or _both_code(loose) or bool(sure)
        at_hand = not grammar.definite.isdisjoint(fold(text).split()) and not _both_code(loose)
        short = len(text.split()) <= MOST_WORDS and not any(map(str.isdigit, text))
        fit = plain and short and not _quotes(loose) and not _definite(loose, grammar) and not at_hand
        return read(text, grammar) if fit else None
    return None


def _quotes(pair: re.Match[str]) -> bool:
    """Texts that are put in quotation marks are put into one place."""
    return pair["prefer"].startswith(("'", '"')) or pair["avoid"].startswith(("'", '"'))


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


def _at_hand(pair: re.Match[str], grammar: Grammar) -> bool:
    """ "the second one, not the first"."""
    return all(fold(pair[part].split()[0]) in grammar.definite for part in ("prefer", "avoid"))


def _both_code(pair: re.Match[str]) -> bool:
    return all(re.search(r"\w[/._]|[/._]\w|`", pair[part]) for part in ("prefer", "avoid"))


def _definite(pair: re.Match[str], grammar: Grammar) -> bool:
    """ "the header, not the footer": things of this one work."""
    return any(fold(pair[part].split()[0]) in grammar.common for part in ("prefer", "avoid"))


def _bare(text: str, refused: bool, obliged: bool, before: Wish | None, grammar: Grammar) -> Wish | None:
    """An imperative without a cue of its own: a wish if an answer was turned down, or to go with "do not use Y"."""
    verb = grammar.verb_of(text)
    if verb not in grammar.verbs or _AGAIN.search(text) or (grammar.pair.match(text) and pointed(text, grammar)):
        return None
    once = verb in grammar.once or any(map(str.isdigit, text))  # a value is one work's
    if (obliged and verb not in grammar.once and not pointed(text, grammar)) or (refused and not once):
        return read(text, grammar)
    wish = read(text, grammar) if before is not None else None
    return wish if wish and before and completes(before, wish) else None


def turns_down(text: str, answer: str, grammar: Grammar) -> bool:
    """ "use X instead of Y" is a plain ask, unless Y is what the answer just did."""
    words = re.finditer(r"(?<!\w)[\w`]", text)
    contrast = next((found for word in words if (found := grammar.pair.match(text[word.start() :]))), None)
    avoid = name(contrast["avoid"], grammar) if contrast else None
    return avoid is not None and check(Check(op="contains", arg=avoid), Reply(text=answer))


def _ban(text: str, grammar: Grammar) -> str:
    """A ban without the remark after it: "no summaries, the first two lines were all I needed"."""
    head, comma, rest = text.partition(",")
    first = rest.split()[:1]
    goes_on = not first or fold(first[0]).strip(".,;:") in {
        *grammar.verbs,
        *grammar.firm,
        *map(fold, grammar.cues.ands),
    }
    return text if not comma or goes_on or not head.strip() or grammar.firm & set(fold(rest).split()) else head
