"""From a typed prompt to wishes: the cues by which a sentence asks for something to be kept to.

The cues are English. A sentence that shows none of them is no wish: better to miss one than to invent one.
"""

from __future__ import annotations

import re
from dataclasses import replace

from skillopt_git.clauses import Clause, clauses, trimmed
from skillopt_git.imperatives import BARE_PAIR, BARE_SWAP, PAIR, Wish, completes, name, read, same, wish_of
from skillopt_git.imperatives import RULE_LIMIT as RULE_LIMIT
from skillopt_git.judges import check
from skillopt_git.model import Check, fold
from skillopt_git.ports import Reply

# --- words -------------------------------------------------------------------------------------------------------

_VERBS = frozenset(
    "abbreviate add align annotate answer append apply ask assert assign avoid back base batch begin bump build bundle "
    "cache call capitalise capitalize catch change check cite clean close collapse combine comment commit compare "
    "compile configure convert copy cover create declare default define delete deploy describe disable document drop "
    "duplicate edit embed enable end enforce escape exit explain export expose extend extract fetch fix flatten focus "
    "follow force format generate give go group guess handle hardcode hard-code hide ignore import include increase "
    "indent inject inline insert install introduce invent isolate keep label leak leave limit link lint list load lock "
    "log look make mark mention merge mix mock modify move name nest normalise normalize omit open order overwrite "
    "paraphrase parse pass paste pin place post prefer prefix preserve print propose publish pull push put quote raise "
    "read rebase redact refactor reference reformat release rely remove rename render reorder repeat replace reply "
    "report reset respect respond restart return reuse review revert rewrite roll round run save say set separate ship "
    "shorten show sign simplify skip sort specify spell split squash stage start state stick store structure stub "
    "summarise summarize suppress swallow switch tag target tell test throw touch track translate trim trust try type "
    "update upgrade use validate verify wait warn wrap write".split()
)
# After "no," these ask for something else, once; "always" makes a rule of them.
_REDIRECTS = frozenset(
    "back change check continue explain fetch fix give go guess look open read reset restart revert show start tell "
    "try undo wait".split()
)
_NOT_FORBIDDEN = frozenset(
    "worry mind bother know think care understand see want need have believe get remember panic you we i they agree "
    "like recall hesitate feel find seem work exist yet even really a an the".split()
)
_POINTERS = frozenset("it that this them those these him her so".split())  # mean something only where they were said
_ADVERB = re.compile(r"^(?:(?:ever|just|simply|first|[a-z]+ly)\s+)+", re.IGNORECASE)


def _verb(clause: str) -> str | None:
    """The verb of a clause in imperative words; None when it speaks of something only its place in a talk tells."""
    words = _ADVERB.sub("", clause).split()
    if len(words) < 2 or fold(words[1]).strip(",.:;'\"") in _POINTERS:
        return None
    return words[0].lower().rstrip(",.:;")


# --- reading -----------------------------------------------------------------------------------------------------

_STANDING = re.compile(
    r"^(?:(?:from now on|in (?:the )?future|going forward|next time|as a rule)\b\s*[,:]?\s*(?:please\s+)?"
    r"|(?:please\s+)?(?:remember|don'?t forget|do not forget|you (?:again )?forgot)\s*(?:to\s+|[,:]\s*))",
    re.IGNORECASE,
)
_STANDING_TAIL = re.compile(r",?\s+(?:from now on|in (?:the )?future|going forward)$", re.IGNORECASE)
_INSISTING = re.compile(
    r"^(?:as\s+)?i(?:'ve| have)?\s+(?:(?:already|just)\s+)?(?:said|told you|asked(?: you)?)\b"
    r"[,:]?\s*(?:to\s+|that\s+)?",
    re.IGNORECASE,
)
_MAKE_SURE = re.compile(
    r"^(?:(?:make|be) sure|ensure)\s+(?:to|(?:that\s+)?you)\s+(?=\w)"
    r"|^(?:make|be) sure\s+(?:that\s+)?(?=(?:we|always|never)\s)",
    re.IGNORECASE,
)
_MODAL = re.compile(
    r"^(?:(?:we|you)\s+(?:should|must|have to|need to|ought to|are (?:supposed|expected) to)"
    r"|(?:we|i)(?:\s+want|\s+expect|'d like|\s+would like|\s+need) you to)(?P<negated>n't|\s+not)?\s+(?=\w)",
    re.IGNORECASE,
)
_OWN_HABIT = re.compile(r"^(?:we|i)\s+(?=\w)", re.IGNORECASE)
_ALWAYS_NEVER = re.compile(r"^(?P<word>always|never)\s+(?=\w)", re.IGNORECASE)
_DO_NOT = re.compile(r"^(?:don'?t|do not)\s+(?=\w)", re.IGNORECASE)
_GIVING_UP = re.compile(r"^(?:avoid\s+(?=[\w`])|stop\s+(?=\w+ing\s))", re.IGNORECASE)
_AGAIN = re.compile(r"\s+again$", re.IGNORECASE)


def everywhere(rule: str) -> bool:
    """Whether a rule is about every task ("always", "never") rather than about one kind of work."""
    return bool(_ALWAYS_NEVER.match(rule))


def wishes(prompt: str, answer: str = "") -> tuple[Wish, ...]:
    """The wishes in one typed prompt, in order, each once. `answer` is what the prompt answers to."""
    found: list[Wish] = []
    for clause in clauses(prompt):
        if len(clause.text) > RULE_LIMIT:
            continue
        refused = clause.refused or _turns_down(clause.text, answer)
        wish = _meant(replace(clause, refused=refused), found[-1] if found else None)
        if wish is None:
            continue
        if found and completes(found[-1], wish):
            found[-1] = wish_of(f"Use {wish.prefer}, not {found[-1].avoid}")
        elif found and completes(wish, found[-1]):
            found[-1] = wish_of(f"Use {found[-1].prefer}, not {wish.avoid}")
        elif not any(same(wish, other) for other in found):
            found.append(wish)
    return tuple(wish for wish in found if len(wish.text) <= RULE_LIMIT)


def _turns_down(text: str, answer: str) -> bool:
    """ "use X instead of Y" is a plain ask, unless Y is what the answer just did."""
    contrast = next((found for word in re.finditer(r"\b\w", text) if (found := PAIR.match(text[word.start() :]))), None)
    avoid = name(contrast["avoid"]) if contrast else None
    return avoid is not None and check(Check(op="contains", arg=avoid), Reply(text=answer))


def _meant(clause: Clause, before: Wish | None) -> Wish | None:
    """The wish a clause states by its own cue, or as the other half of a refusal."""
    text = clause.text
    if "[REDACTED:" in text:
        return None
    insisted = _INSISTING.match(text)
    text = text[insisted.end() :] if insisted else text
    standing = _STANDING.match(text) or _STANDING_TAIL.search(text)
    if standing:
        return _always(text[: standing.start()] + text[standing.end() :])
    core, obliged = _without_subject(text)
    refused = clause.refused or insisted is not None
    if core is None:
        return None
    return _forbidden_or_always(core) or _contrast(core, refused or obliged) or _bare(core, refused, obliged, before)


def _without_subject(text: str) -> tuple[str | None, bool]:
    """The imperative core, and whether a subject obliges to it. "You always ..." blames and obliges to nothing."""
    sure = _MAKE_SURE.match(text)
    text = text[sure.end() :] if sure else text
    modal = _MODAL.match(text)
    if modal:
        rest = text[modal.end() :]
        return (f"do not {rest}" if modal["negated"] else rest), True
    habit = _OWN_HABIT.match(text)
    if habit is None:
        return text, False
    rest = text[habit.end() :]
    negated = _DO_NOT.match(rest)
    if negated and _verb(rest[negated.end() :]) not in _VERBS:
        return None, False  # "we don't have ..." tells how things are
    if not negated and not _ALWAYS_NEVER.match(rest) and _verb(rest) not in {"use", "prefer"}:
        return None, False
    return rest, bool(negated or _ALWAYS_NEVER.match(rest) or PAIR.match(rest))


def _always(text: str) -> Wish | None:
    """What is said to stand from now on."""
    rest, _ = _without_subject(trimmed(text))
    if rest is None:
        return None
    if _ALWAYS_NEVER.match(rest) or _DO_NOT.match(rest) or _GIVING_UP.match(rest):
        return _forbidden_or_always(rest)
    return read(f"always {rest[0].lower()}{rest[1:]}") if _verb(rest) in _VERBS else None


def _forbidden_or_always(text: str) -> Wish | None:
    marked = _ALWAYS_NEVER.match(text)
    if marked:
        return read(_AGAIN.sub("", text)) if _verb(text[marked.end() :]) in {*_VERBS, "be"} else None
    negated = _DO_NOT.match(text)
    if negated:
        verb = _verb(text[negated.end() :])
        return read(_AGAIN.sub("", text)) if verb is not None and verb not in _NOT_FORBIDDEN else None
    given_up = _GIVING_UP.match(text)
    if given_up and _POINTERS.isdisjoint(fold(text[given_up.end() :]).split()[:2]):
        return read(_AGAIN.sub("", text))
    return None


def _contrast(text: str, refused: bool) -> Wish | None:
    """ "use X, not Y" corrects by itself; "use X instead of Y" may be a plain ask."""
    pair = PAIR.match(text)
    if pair and (refused or pair["word"].lower() in {"not", "never"}):
        return read(text)
    bare = BARE_PAIR.match(text) or BARE_SWAP.match(text)
    if bare and refused and name(bare["prefer"]) and name(bare["avoid"]) and _verb(f"use {bare['prefer']}"):
        return read(f"use {bare['prefer']}, not {bare['avoid']}")
    return None


def _bare(text: str, refused: bool, obliged: bool, before: Wish | None) -> Wish | None:
    """An imperative without a cue of its own: a wish if an answer was turned down, or to go with "do not use Y"."""
    verb = _verb(text)
    if verb not in _VERBS or _AGAIN.search(text):
        return None
    if obliged or (refused and verb not in _REDIRECTS):
        return read(text)
    wish = read(text) if before is not None else None
    return wish if wish and before and completes(before, wish) else None
