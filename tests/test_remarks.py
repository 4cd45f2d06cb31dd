"""Which answer a person's remark is about; `test_mine` has what follows from it."""

from __future__ import annotations

from skillopt_git.languages import reader
from skillopt_git.remarks import Remark, lines_of, remarks, turn_key
from tests.test_mine import session

BEGUN = ("Add lodash", "< Ran npm install lodash.")
WISH = ("No, use pnpm, not npm", "< Ran pnpm add lodash.")


def made(*said: str, people: frozenset[str] = frozenset()) -> list[Remark]:
    return list(remarks(session("s", *said), reader(), people))


def firm(*said: str) -> list[tuple[str, str | None, str, str]]:
    """Of each remark with a wish that counts: its turn, the ask it is about, and the answers around it."""
    return [
        (item.said.text, item.ask.text if item.ask else None, item.before, item.after)
        for item in made(*said)
        if any(voice.meant for voice in item.voices)
    ]


def rules(*said: str, people: frozenset[str] = frozenset()) -> list[str]:
    return [voice.wish.text for item in made(*said, people=people) for voice in item.voices]


def test_a_question_about_the_work_is_aside() -> None:
    """Its answer is no work, so a wish after it is about the answer before."""
    found = firm(*BEGUN, "Why did you use npm?", "< There is a package-lock.json.", *WISH)

    assert found == [(WISH[0], "Add lodash", "Ran npm install lodash.", "Ran pnpm add lodash.")]


def test_the_reply_to_thanks_is_no_work() -> None:
    """A wish after it is about what the thanks were for."""
    found = firm(*BEGUN, "thanks!", "< You are welcome.", *WISH)

    assert found == [(WISH[0], "Add lodash", "Ran npm install lodash.", "Ran pnpm add lodash.")]


def test_new_work_is_what_the_next_wish_is_about() -> None:
    """And the ask before it is told as what was said earlier."""
    (remark,) = [
        item for item in made(*BEGUN, "Write a parser", "< Uses toml.", "no, use tomllib, not toml") if item.after == ""
    ]

    assert remark.ask is not None
    assert (remark.ask.text, remark.earlier, remark.before) == ("Write a parser", "Add lodash", "Uses toml.")


def test_asking_again_in_the_same_words_is_the_same_task() -> None:
    """The answer to the first was none; the wish is about the second answer to the one ask."""
    found = firm(*BEGUN, "Add lodash!", "< Ran npm install again.", *WISH)

    assert found == [(WISH[0], "Add lodash", "Ran npm install again.", "Ran pnpm add lodash.")]


def test_a_command_between_does_not_change_what_a_wish_is_about() -> None:
    """What it prints is no answer to anything that was typed."""
    assert firm(*BEGUN, "/clear", *WISH)[0][1] == "Add lodash"
    assert firm("!ls", "< package.json", "No, use pnpm, not npm") == []


def test_a_standing_wish_on_top_is_about_no_answer() -> None:
    """Unless the answer before it breaks it."""
    (free,) = made(*BEGUN, "Also, from now on always sign your commits")
    (broken,) = made(*BEGUN, "Also, from now on never use npm", "< Ran pnpm add lodash.")

    assert (free.ask, free.task) == (None, None)
    assert broken.ask is not None
    assert broken.task is not None


def test_a_wish_with_the_first_ask_is_about_no_answer() -> None:
    """There is none yet."""
    assert firm("use pnpm, not npm") == [("use pnpm, not npm", None, "", "")]


def test_what_a_wish_changed_is_seen_in_the_answers() -> None:
    """Words that came in or went out by it, unless they were asked for anyway."""
    (remark,) = made(*BEGUN, *WISH)

    (voice,) = remark.voices
    assert voice.wish.moved == {"npm", "pnpm"}
    assert voice.wish.gone


def test_a_question_and_a_ban_of_the_same_are_one_ban() -> None:
    """ "Did you use npm?" alone would be a faint wish for it."""
    assert rules(*BEGUN, "Did you use npm? Never use npm") == ["Never use npm"]


def test_nothing_private_becomes_a_rule() -> None:
    """Names of people, addresses, tickets and paths of one machine hold for nobody else."""
    for wish in (
        "no, ask Alice first",
        "never push to https://example.org/x",
        "never push, see PROJ-123",
        "no, put it below /home/alice/notes",
        "never push 3f9d2c1a7b",
    ):
        found = rules(*BEGUN, wish, people=frozenset({"alice"}))
        assert not any(word in rule for rule in found for word in ("Alice", "example.org", "PROJ", "/home", "3f9d"))


def test_turns_without_a_language_are_heard_as_they_stand() -> None:
    """They voice nothing, and each turn is one line in its place."""
    own = session("s", "请使用 pnpm 而不是 npm，谢谢你的帮助", "< ok", "/clear", "No, use pnpm, not npm")
    lines = lines_of(own, reader(), frozenset())

    assert [line.turn for line in lines] == list(own.turns)
    assert [bool(line.voices) for line in lines] == [False, False, False, True]
    assert lines[0].grammar is None


def test_a_turn_is_the_same_in_every_copy() -> None:
    """Copies name the turn alike, whatever the session is called."""
    first, fork = session("s", *BEGUN), session("f", *BEGUN, copied="s")

    assert turn_key(first, first.turns[0]) == turn_key(fork, fork.turns[0])
    assert turn_key(first, first.turns[0]) != turn_key(first, first.turns[1])
