"""Whether two wishes are one need, and whether one takes the other back.

Words are compared by their stems, and stems by RapidFuzz's ratio, so that a typing error makes no other need.
"""

from __future__ import annotations

from skillopt_git.ids import fold
from skillopt_git.imperatives import Wish
from skillopt_git.similarity import similarity

SAME_WORDS = 0.75  # share of the longer wish's words that the shorter one has to have, with none of its own
SAME_BAN = 0.33  # the same for two wishes that forbid: "no comments", "stop adding comments everywhere"
SAME_THINGS = 0.7  # of what two bans are about, if it is more than one word
TAKEN_BACK = 0.33  # share of a wish's words that a ban of the same has to have
SAME_WORD = 0.85  # of two stems: at or above it they are one word, typed differently
MEANS = 0.33  # share of the shorter's telling words that two wishes with the same tool have in common
MEANT = 0.66  # the same of two that name no tool, and have more than one uncommon word in common
TYPED = 5  # characters; shorter words differ by a letter and mean something else


def same(one: Wish, other: Wish) -> bool:
    """Whether two wishes are one need. Wishes that name different tools, or forbid what the other asks, never are."""
    if fold(one.text) == fold(other.text):
        return True
    if opposed(one, other) or contrary(one, other):
        return False
    by_names = _same_names(one, other)
    if by_names is not None:
        return by_names
    return one.forbids == other.forbids and one.limits == other.limits and _alike(one, other)


def _same_names(one: Wish, other: Wish) -> bool | None:
    """What the named things tell; None where they tell nothing."""
    if one.prefer and other.prefer and fold(one.prefer) != fold(other.prefer):
        return False
    if one.avoid and other.avoid and not (one.prefer and other.prefer):
        return fold(one.avoid) == fold(other.avoid)
    if one.avoid and other.avoid:
        return fold(one.avoid) == fold(other.avoid) or _an_idea(one.avoid) or _an_idea(other.avoid)
    if one.prefer and other.prefer and (one.avoid or other.avoid):
        return one.limits == other.limits and not _beside(one, other)
    return None


def points_at(wish: Wish, known: Wish) -> bool:
    """Whether a wish that words it otherwise turns down, or asks for, the very thing that a need names."""
    if wish.forbids:
        return (
            bool(known.avoid) and _mentions(wish, known.avoid) and not (known.prefer and _mentions(wish, known.prefer))
        )
    named = known.prefer and _mentions(wish, known.prefer) and not wish.prefer and known.avoid
    return bool(named) and wish.limits == known.limits


def alike_by_effect(wish: Wish, known: Wish) -> bool:
    """Whether two wishes of one polarity changed the same in their answers, and that is most of what they say."""
    if (
        wish.forbids != known.forbids
        or contrary(wish, known)
        or (wish.prefer and known.prefer and fold(wish.prefer) != fold(known.prefer))
    ):
        return False
    common = wish.moved & known.moved
    shorter = min(len(wish.telling), len(known.telling))
    return _moved_alike(wish, known) and len(common) >= SAME_BAN * shorter and wish.limits == known.limits


def contrary(one: Wish, other: Wish) -> bool:
    """Whether two wishes cannot be one, whatever words they share: other things are to be done, or elsewhere."""
    deeds = bool(one.verb and other.verb) and one.verb != other.verb
    times = bool(one.timing and other.timing) and one.timing != other.timing
    return deeds or times or (one.limits != other.limits and not (one.moved & other.moved))


def _mentions(wish: Wish, thing: str | None) -> bool:
    return f" {fold(thing or '')} " in f" {fold(wish.text)} "


def _an_idea(thing: str) -> bool:
    """ "by hand": several words name no tool."""
    return len(thing.split()) > 1 and thing.islower()


def covers(wish: Wish, known: Wish) -> bool:
    """Whether a wish says all that a need says, and where it holds is the same."""
    more = wish.telling - known.telling
    whole = len(known.telling) > 1 and known.telling <= wish.telling and len(more) <= len(known.telling) + 1
    counted = any(any(map(str.isdigit, word)) for word in more)
    alike = wish.forbids == known.forbids and wish.limits == known.limits and not contrary(wish, known)
    return whole and not counted and alike and not known.avoid


def same_choice(wish: Wish, known: Wish) -> bool:
    """Whether two wishes choose the same thing, whatever else is said of it, with no flag or file of their own."""
    chosen = wish.prefer and known.prefer and fold(wish.prefer) == fold(known.prefer)
    own = {fold(name) for each in (wish, known) for name in (each.prefer, each.avoid) if name}
    return (
        bool(chosen)
        and wish.forbids == known.forbids
        and wish.limits == known.limits
        and wish.names ^ known.names <= own
    )


def same_thing(wish: Wish, known: Wish) -> bool:
    """Whether two wishes of one polarity name the same file, function or flag."""
    alike = wish.forbids == known.forbids and not rivals(wish, known) and not contrary(wish, known)
    rest, others = wish.telling - wish.names, known.telling - known.names
    shorter = min(len(rest), len(others))
    return alike and bool(wish.names & known.names) and 2 * len(rest & others) >= shorter


def same_means(wish: Wish, known: Wish) -> bool:
    """Whether two wishes of one polarity name the same uncommon thing, not as what they are about: "tests in testify
    style", "tests should use testify".
    """
    if wish.forbids != known.forbids or opposed(wish, known) or rivals(wish, known):
        return False
    if contrary(wish, known):
        return False
    if wish.prefer and known.prefer and fold(wish.prefer) != fold(known.prefer):
        return False
    common, means = wish.telling & known.telling, wish.means & known.means
    shorter = min(len(wish.telling), len(known.telling))
    named = {fold(each.prefer) for each in (wish, known) if each.prefer} | wish.names | known.names
    if not means.isdisjoint(named):
        return len(common) >= MEANS * shorter
    return len(means) > 1 and len(common) >= MEANT * shorter  # "put logs into a folder" and "tests into a folder"


def _beside(one: Wish, other: Wish) -> bool:
    """Whether the shorter of two wishes for one thing says something that the other does not."""
    shorter, longer = sorted((one.telling, other.telling), key=len)
    own = {fold(name) for wish in (one, other) for name in (wish.prefer, wish.avoid) if name}
    few, many = (one.names, other.names) if shorter is one.telling else (other.names, one.names)
    return not _within(shorter, longer) or bool(few - many - own)


def completes(first: Wish, second: Wish) -> bool:
    """ "do not use Y" followed by no more than "use X" is the one wish "use X, not Y"."""
    whole = first.avoid and not first.prefer and second.prefer and not second.avoid and not opposed(first, second)
    return bool(whole) and len(second.text.split()) <= len((second.prefer or "").split()) + 1


def opposed(one: Wish, other: Wish) -> bool:
    """Whether the later of the two takes the other back: one asks for what the other turns down."""
    return _turned_down(one, other) or _turned_down(other, one) or _same_but_forbidden(one, other)


def _turned_down(one: Wish, other: Wish) -> bool:
    if not other.avoid:
        return False
    turned_down = fold(other.avoid)
    if one.prefer:
        return fold(one.prefer) == turned_down
    return other.asks and not one.forbids and turned_down in one.means


def _same_but_forbidden(one: Wish, other: Wish) -> bool:
    if one.forbids == other.forbids or one.limits != other.limits:
        return False
    forbids, asks = (one, other) if one.forbids else (other, one)
    banned = forbids.telling or forbids.stems
    asked = asks.telling & asks.stems or asks.stems
    return bool(banned) and _within(banned, asked) and len(banned) >= TAKEN_BACK * len(asked)


def _alike(one: Wish, other: Wish) -> bool:
    """The same words, or the words of the other and few more, none of which counts."""
    both = (one.telling, other.telling) if one.forbids and one.telling and other.telling else (one.stems, other.stems)
    shorter, longer = sorted(both, key=lambda words: (len(words), sorted(words)))
    share = SAME_BAN if one.forbids else SAME_WORDS
    if one.forbids and len(shorter & longer) > 1 and len(shorter & longer) >= SAME_THINGS * len(shorter):
        return True
    if not shorter or not _within(shorter, longer) or len(shorter) < share * len(longer):
        return False
    return not any(any(map(str.isdigit, word)) for word in longer - shorter)


def _within(shorter: frozenset[str], longer: frozenset[str]) -> bool:
    return all(word in longer or any(_one_word(word, other) for other in longer) for word in shorter)


def _one_word(one: str, other: str) -> bool:
    if min(len(one), len(other)) < TYPED or one.isdigit() or other.isdigit() or one[:2] != other[:2]:
        return False  # "encrypt" and "decrypt" are no typing error
    return similarity(one, other) >= SAME_WORD


# --- faint voices ------------------------------------------------------------------------------------------------

ECHO = 0.5  # share of the telling words of the shorter that two wordings of one need have in common
PART = 0.3  # and of the need's own words
AGAIN = 0.66  # the same of two faint voices that found a need together
MOVED_LETTERS = 2
LETTERS = 4  # of a word that tells enough by itself


def echoes(faint: Wish, known: Wish) -> bool:
    """Whether a faint voice asks for what a need asks for: it names the same, or says most of the same words."""
    if faint.prefer and known.avoid and fold(faint.prefer) == fold(known.avoid):
        return False
    if faint.prefer and known.prefer and fold(faint.prefer) != fold(known.prefer):
        return False
    if _speaks_against(faint, known):
        return False
    if _moved_alike(faint, known) or known.names & faint.names:
        return True
    if known.avoid and fold(known.avoid) in faint.telling:
        return faint.forbids
    if known.prefer and fold(known.prefer) in faint.telling:
        return not faint.forbids
    enough = len(faint.telling & known.telling) >= PART * len(known.telling)
    return enough and _shares(faint, known, ECHO)


def _speaks_against(faint: Wish, known: Wish) -> bool:
    """Whether a faint voice asks for what a need bans, or does without what it asks for; a mere complaint ("emojis
    again") may come back to a ban.
    """
    if known.avoid and faint.forbids and fold(known.avoid) in faint.telling:
        return False
    if known.forbids and not faint.forbids:
        return bool(faint.verb and faint.verb not in known.stems) or (faint.asks and not faint.moved)
    return (faint.forbids and not known.forbids) or bool(faint.verb and known.verb and faint.verb != known.verb)


def asks_again(one: Wish, other: Wish) -> bool:
    """Whether two faint voices of different sessions ask for the same."""
    if opposed(one, other) or bool(one.verb and other.verb and one.verb != other.verb):
        return False
    if _moved_alike(one, other) or _moved_by_one(one, other):
        return True
    if one.forbids != other.forbids or not (one.asks or other.asks):
        return False
    shorter, longer = sorted((one, other), key=_length)
    several = len(one.telling & other.telling) > 1
    return bool(one.names & other.names) or _shares(shorter, longer, ECHO if several else AGAIN)


def _moved_alike(one: Wish, other: Wish) -> bool:
    """Whether both changed the same in the answers they were about: that is what they asked for, however they did."""
    return any(len(word) >= MOVED_LETTERS for word in one.moved & other.moved)


def _moved_by_one(one: Wish, other: Wish) -> bool:
    """Whether what one changed in its answer is a good part of what the other speaks of."""
    for moving, telling in ((one, other), (other, one)):
        common = moving.moved & telling.telling
        if any(len(word) >= LETTERS for word in common) and len(common) >= PART * len(telling.telling):
            return True
    return False


def _shares(one: Wish, other: Wish, share: float) -> bool:
    common = one.telling & other.telling
    return len(common) >= share * len(one.telling) and any(len(word) >= LETTERS for word in common)


def _length(wish: Wish) -> tuple[int, str]:
    return len(wish.telling), wish.text


def rivals(one: Wish, other: Wish) -> bool:
    """Whether two wishes ask for different things in one place: "tabs for indentation", "spaces for indentation"."""
    if not one.prefer or not other.prefer or one.forbids or other.forbids or fold(one.prefer) == fold(other.prefer):
        return False
    rest, others = _rest(one), _rest(other)
    return bool(rest) and rest == others


def _rest(wish: Wish) -> frozenset[str]:
    named = set(fold(f"{wish.prefer} {wish.avoid or ''}").split())
    return frozenset(word for word in wish.telling if not any(word in name or name in word for name in named))
