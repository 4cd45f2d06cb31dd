"""Who is to do it: "we use pnpm", "you should never ..." and the imperative within."""

from __future__ import annotations

from skillopt_git.grammar import Grammar
from skillopt_git.ids import fold
from skillopt_git.imperatives import contrast_in


def without_subject(text: str, grammar: Grammar) -> tuple[str | None, bool]:
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
