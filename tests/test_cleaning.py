"""Sessions leave redacted, and cut to size after that."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.cleaning import TURN_LIMIT
from skillopt_git.model import Skipped, Turn
from skillopt_git.scope import Scope
from tests.found import Hiding, gather, ids, session

SECRET, MARK, PERSON = Hiding().secret, Hiding().mark, Hiding().person


class Everything:
    """Redaction that leaves nothing."""

    def __call__(self, text: str) -> str:
        return MARK

    def text(self, text: str) -> str:
        return MARK


def test_nothing_leaves_unredacted() -> None:
    """A secret in any text of a session, in a path or in a skipped path is gone; the scope still saw the real cwd."""
    place = f"/srv/{SECRET}"
    turns = tuple(
        Turn(id=f"{kind}-{SECRET}", kind=kind, text=SECRET) for kind in ("prompt", "command", "shell", "answer")
    )
    dirty = session(
        f"s1-{SECRET}",
        path=place,
        cwd=place,
        original_cwd=place,
        branch=SECRET,
        turns=turns,
        final=SECRET,
        tools=(SECRET,),
        skills=(SECRET,),
        files=(place,),
    )
    found = gather(dirty, Skipped(place, "not JSON"), scope=Scope(roots=(Path(place),)))

    assert ids(found) == [f"s1-{MARK}"]
    assert SECRET not in repr(found)
    assert {turn.text for turn in found.sessions[0].turns} == {MARK}
    assert found.skipped[0].path == f"/srv/{MARK}"


def test_a_uuid_is_no_secret() -> None:
    """The usual ids of sessions and turns stay as they are, whatever the rules for secrets make of them."""
    usual = "226CC8FA-0c1d-4b6e-9f00-5a1b2c3d4e5f"
    turns = (Turn(id=usual, kind="prompt", text="Run the tests"), Turn(id=f"{usual}0", kind="prompt", text="Go on"))

    (found,) = gather(session(usual, turns=turns), redact=Everything()).sessions

    assert (found.id, [turn.id for turn in found.turns]) == (usual, [usual, MARK])


@given(st.integers(min_value=-len(SECRET) - len(MARK), max_value=5))
def test_a_secret_across_the_limit_leaves_no_part(shift: int) -> None:
    """Text is redacted before it is cut, so no part of a secret, nor of its mark, is left at the cut."""
    text = "x" * (TURN_LIMIT + shift) + SECRET + "y" * 100
    found = gather(session("s1", text, final=text)).sessions[0]

    for clipped in (found.turns[0].text, found.final):
        assert len(clipped) <= TURN_LIMIT
        assert clipped.endswith("…")
        assert "sk-" not in clipped
        assert clipped.count("[") == clipped.count(MARK)


def test_text_that_fits_is_whole() -> None:
    """A turn of exactly the limit is not cut."""
    text = "x" * TURN_LIMIT

    assert gather(session("s1", text)).sessions[0].turns[0].text == text


def test_what_is_personal_goes_from_texts_and_stays_in_places() -> None:
    """A person's folder has to be found again; what was said may be shown to a model."""
    place = f"/home/{PERSON}/acme-api"
    (found,) = gather(session("s1", f"write to {PERSON}", cwd=place, files=(place,), final=f"to {PERSON}")).sessions

    assert (found.cwd, found.files) == (place, (place,))
    assert PERSON not in found.turns[0].text + found.final


def test_the_time_in_a_file_s_name_is_no_secret() -> None:
    """Thousands of files differ in it alone, and are looked at once."""
    seen: list[str] = []

    class Watching(Hiding):
        def __call__(self, text: str) -> str:
            seen.append(text)
            return text

    pieces = [
        session(f"s{at}", path=f"/x/rollout-2026-11-{at:02}T17-09-55-{UUID[:-2]}{at:02}.jsonl") for at in range(20)
    ]
    gather(*pieces, *(Skipped(item.path, "not JSON") for item in pieces), redact=Watching())

    assert sum("rollout" in text for text in seen) == 1


UUID = "226cc8fa-0c1d-4b6e-9f00-5a1b2c3d4e5f"


def test_a_branch_an_id_or_a_tool_names_nobody() -> None:
    """They are told to others; what is only a path stays."""
    turns = (Turn(id=f"turn-{PERSON}", kind="prompt", text="Run the tests"),)
    fields = {"branch": f"feature/{PERSON}", "tools": (f"ask-{PERSON}",), "skills": (PERSON,), "turns": turns}
    (found,) = gather(session(f"s-{PERSON}", cwd=f"/home/{PERSON}", **fields)).sessions

    assert PERSON not in repr((found.id, found.branch, found.tools, found.skills, found.turns))
    assert found.cwd == f"/home/{PERSON}"
