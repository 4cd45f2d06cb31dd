"""Where a night's edits go, and when they have to wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from skillopt_git.bank import Bank
from skillopt_git.config import Config
from skillopt_git.cycle import Inputs
from skillopt_git.learned import Learned, Teachable
from skillopt_git.model import Candidate, Edit
from skillopt_git.placing import contradicted, frozen, hindrance, outdated, place, settle
from skillopt_git.record import Placement
from skillopt_git.wiring import document
from skillopt_git.workshop import Workshop, open_workshop
from tests import learning
from tests.helpers import Repository
from tests.proposals import BRANCH, MEMORY, NOW, PNPM, RUFF, TICKET, Nights, add, memory

TODAY = date(2026, 11, 29)
NEED = "n1-0000000000000001"


@pytest.fixture
def nights(repo: Repository) -> Nights:
    return Nights(repo)


def shop(nights: Nights, *, simulated: bool = False) -> Workshop:
    return open_workshop(nights.repository.path, Config(), now=NOW, simulated=simulated)


def found(nights: Nights, edits: Sequence[Edit] = (), **fields: Any) -> Learned:
    """A night that tried these edits; all are strong unless told otherwise."""
    verdict = fields.pop("verdict", "strong")
    base = nights.base
    candidates = tuple(
        Candidate(document=document(nights.repo, base, edit.target, "memory"), edits=(edit,), verdict=verdict, why="")
        for edit in edits
    )
    return replace(learning.night(), candidates=candidates, **({"reason": "improved"} | fields))


def put(nights: Nights, *edits: Edit, simulated: bool = False, **fields: Any) -> tuple[Placement | None, list[str]]:
    workshop = shop(nights, simulated=simulated)
    notes: list[str] = []
    learned = found(nights, edits, **fields)
    return place(workshop, learned, workshop.history(), None, TODAY, notes), notes


def inputs(nights: Nights, workshop: Workshop, *needs: str) -> Inputs:
    return Inputs(
        reading=None,
        bank=Bank(needs=dict.fromkeys(needs, "a rule")),
        files=(),
        teachable=Teachable(skill=None, memory=None, general_to_memory=False),
        history=workshop.history(),
        night=workshop.stamp.run,
    )


def test_the_first_edits_open_a_branch_and_later_ones_join_it(nights: Nights) -> None:
    """At the base of the night, then at the base of the proposal, behind what it has."""
    placed, _ = put(nights, add(PNPM))
    assert placed is not None
    assert (placed.branch, placed.base, placed.before) == (BRANCH, nights.base, 0)
    nights.propose(add(PNPM))
    opened = nights.base
    nights.repository.commit("Meanwhile", {"README.md": "# new\n"})

    placed, notes = put(nights, add(TICKET))

    assert placed is not None
    assert (placed.branch, placed.base, placed.before, notes) == (BRANCH, opened, 1, [])


def test_edits_tried_on_a_newer_text_take_the_branch_along(nights: Nights) -> None:
    """The document of the new edit changed since; that of the open one did not."""
    nights.propose(add(PNPM))
    nights.repository.commit("Others", {"AGENTS.md": "# Agents\n"})

    placed, _ = put(nights, add(TICKET, "AGENTS.md"))

    assert placed is not None
    assert placed.base == nights.base


def test_a_proposal_on_a_changed_text_takes_nothing_in(nights: Nights) -> None:
    """Neither base would do for all its edits: the new one has to wait, and the note names it."""
    nights.propose(add(PNPM))
    nights.repository.commit("Others", {"AGENTS.md": "# Agents\n", MEMORY: "# Notes\n"})

    placed, notes = put(nights, add(TICKET, "AGENTS.md"))

    assert placed is None
    assert notes == [f"'{TICKET}' has to wait: {BRANCH} is measured on a text that changed since"]


def on_desk(nights: Nights) -> None:
    nights.repository.git("switch", "--quiet", BRANCH)


def committed(nights: Nights) -> None:
    on_desk(nights)
    nights.repository.commit("Review", {"notes.md": "x\n"})
    nights.repository.git("switch", "--quiet", "main")


@pytest.mark.parametrize(("freeze", "why"), [(on_desk, "checked out"), (committed, "touched")])
def test_a_frozen_branch_waits_and_says_so_once(nights: Nights, freeze: Callable[[Nights], None], why: str) -> None:
    """New edits wait; the event is the same every night, and another one for another tip."""
    nights.propose(add(PNPM))
    freeze(nights)

    placed, notes = put(nights, add(TICKET), add(RUFF))

    assert placed is None
    assert notes[0].startswith(f"'{TICKET}', '{RUFF}' have to wait: {BRANCH} is")
    said = [list(frozen(shop(nights), shop(nights).history())) for _ in range(2)]
    assert [(item.type, item.data["why"]) for item in said[0]] == [("frozen", why)]
    assert said[0][0].id == said[1][0].id
    assert said[0][0].run != said[1][0].run
    tip = nights.repository.git("rev-parse", BRANCH).strip()
    assert said[0][0].data["tip"] == tip


def test_a_free_branch_is_not_frozen(nights: Nights) -> None:
    """Nor is one that is not in this clone."""
    nights.propose(add(PNPM))

    assert list(frozen(shop(nights), shop(nights).history())) == []


def test_a_branch_that_is_only_at_the_remote_waits(nights: Nights, tmp_path: Path) -> None:
    """It may be rebuilt where it is, not from here."""
    nights.propose(add(PNPM))
    nights.repository.git("clone", "--quiet", f"file://{nights.repository.path}", str(tmp_path / "clone"))
    clone = Nights(Repository(tmp_path / "clone"))
    clone.repository.git("fetch", "--quiet", "origin", "refs/skillopt/ledger:refs/skillopt/ledger")

    placed, notes = put(clone, add(TICKET))

    assert placed is None
    assert "is not in this clone" in notes[0]
    assert list(frozen(shop(clone), shop(clone).history())) == []


def test_a_simulation_adds_nothing_to_a_measured_proposal(nights: Nights) -> None:
    """The other way round a new branch takes its place."""
    nights.propose(add(PNPM))

    placed, notes = put(nights, add(TICKET), simulated=True)

    assert placed is None
    assert "this run is a simulation" in notes[0]


def test_a_proposal_for_another_base_takes_nothing_in(nights: Nights) -> None:
    """The setting was changed while it is open."""
    nights.propose(add(PNPM))
    nights.repository.git("switch", "--quiet", "--create", "develop")

    placed, notes = put(nights, add(TICKET))

    assert placed is None
    assert "open for another base branch" in notes[0]


def test_what_is_suggestive_is_proposed_only_beside_its_like(nights: Nights) -> None:
    """As a draft while no strong edit is open."""
    placed, _ = put(nights, add(PNPM), verdict="suggestive")
    assert placed is not None
    nights.propose(add(PNPM), verdict="suggestive")
    assert put(nights, add(TICKET), verdict="suggestive")[0] is not None
    nights.record(add(TICKET), number=2, start=1)
    nights.publish(number=2)

    assert put(nights, add(RUFF), verdict="suggestive") == (None, [])
    assert put(nights, add(RUFF), verdict="harmful") == (None, [])


# --- texts that changed ------------------------------------------------------------------------------------------


def test_a_proposal_is_outdated_when_its_text_changed_and_its_needs_are_known(nights: Nights) -> None:
    """Its needs unknown, or somebody at work on it: it stays as it is."""
    nights.propose(add(PNPM, need=NEED))
    workshop = shop(nights)
    assert outdated(workshop, inputs(nights, workshop, NEED)) is None
    nights.repository.commit("By hand", {MEMORY: "# Notes\n"})
    workshop = shop(nights)

    stale = outdated(workshop, inputs(nights, workshop, NEED))

    assert stale is not None
    assert stale.branch == BRANCH
    assert outdated(workshop, inputs(nights, workshop, "n1-other")) is None
    on_desk(nights)
    workshop = shop(nights)
    assert outdated(workshop, inputs(nights, workshop, NEED)) is None


def test_a_document_that_cannot_be_taught_any_more_counts_as_changed(nights: Nights) -> None:
    """It went to Git LFS: no run fails for that."""
    nights.propose(add(PNPM, need=NEED))
    nights.repository.commit("LFS", {MEMORY: "version https://git-lfs.github.com/spec/v1\n"})
    workshop = shop(nights)

    assert outdated(workshop, inputs(nights, workshop, NEED)) is not None


def test_a_rebuilt_proposal_ends_what_it_proposed_before(nights: Nights) -> None:
    """Without a new proof its edits expire, if the night says something about them."""
    nights.propose(add(PNPM, need=NEED))
    nights.repository.commit("By hand", {MEMORY: "# Notes\n"})
    workshop = shop(nights)
    history = workshop.history()
    stale = nights.proposal()

    placed = place(workshop, found(nights, [add(PNPM)]), history, stale, TODAY, [])
    assert placed is not None
    assert (placed.branch, placed.base, placed.before) == (BRANCH, nights.base, 0)
    assert placed.ends == (stale.first.id,)
    assert list(settle(workshop.stamp, found(nights), placed, history, stale)) == []

    ended = [
        [item.type for item in settle(workshop.stamp, found(nights, reason=reason), None, history, stale)]
        for reason in ("gate", "nothing_recurred")
    ]
    assert ended == [["expired"], []]
    unmeasured = found(nights, [add(PNPM)], verdict="invalid", reason="gate")
    assert list(settle(workshop.stamp, unmeasured, None, history, stale)) == []


def test_a_measured_proposal_ends_simulated_ones(nights: Nights) -> None:
    """A simulated one ends nothing."""
    nights.propose(add(PNPM), simulated=True)
    placed = Placement(
        branch=f"{BRANCH}-2", base=nights.base, before=0, candidates=found(nights, [add(TICKET)]).candidates
    )

    for simulated, ended in ((False, [("superseded", PNPM)]), (True, [])):
        workshop = shop(nights, simulated=simulated)
        events = settle(workshop.stamp, found(nights), placed, workshop.history(), None)
        assert [(item.type, item.text) for item in events] == ended


# --- what a run left unfinished ----------------------------------------------------------------------------------


def test_an_unfinished_proposal_is_published_unless_the_world_changed(nights: Nights) -> None:
    """Its base text, a rejection meanwhile, a branch of that name, or an edit that does not fit stand in the way."""
    nights.record(add(PNPM, need=NEED))

    def why(branch: str = BRANCH) -> str | None:
        workshop = shop(nights)
        return hindrance(workshop, workshop.history(), nights.proposal(branch))

    assert why() is None
    nights.repository.git("branch", BRANCH)
    assert why() == f"another branch has the name {BRANCH}"
    nights.repository.git("branch", "--quiet", "-D", BRANCH)
    nights.propose(add("Use pnpm for everything", need=NEED), branch=f"{BRANCH}-2", number=2)
    nights.repository.git("merge", "--quiet", "--no-ff", "--strategy=ours", "--no-edit", f"{BRANCH}-2")
    assert why() == "what it says was rejected since"
    nights.repository.commit("By hand", {MEMORY: memory()})
    assert why() == "the text it was measured on changed"
    nights.record(Edit(op="delete", target=MEMORY, anchor=PNPM), branch=f"{BRANCH}-3", number=3)
    assert "does not fit" in (why(f"{BRANCH}-3") or "")


def test_what_a_later_wish_contradicts_is_told_until_a_person_decides(nights: Nights) -> None:
    """Both where it is proposed and where it stands; nothing is said of what still holds."""
    edit = replace(add(PNPM), need="n1-earlier")
    nights.propose(edit, add(RUFF))
    learned = found(nights)
    bank = replace(learned.known.bank, replaced={"n1-earlier": "n1-later"})
    later = replace(learned, known=replace(learned.known, bank=bank))

    assert list(contradicted(learned, nights.history())) == []
    assert list(contradicted(later, nights.history())) == [
        f"'{edit.sentence}' is proposed on {BRANCH}, and a later wish contradicts it: reject it"
    ]

    nights.repository.git("merge", "-q", "--no-ff", "-m", "Adopt", BRANCH)
    nights.sync()
    undo = f"`skillopt-git revert {edit.id}`"

    assert list(contradicted(learned, nights.history())) == []
    assert list(contradicted(later, nights.history())) == [
        f"'{edit.sentence}' stands in {edit.target}, and a later wish contradicts it: {undo} unlearns it"
    ]
