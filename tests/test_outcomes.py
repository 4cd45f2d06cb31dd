"""What became of proposals, told by content from what people did with plain git."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_git.model import Edit
from skillopt_git.outcomes import awaited, learned, nearest, present_in
from tests.helpers import Repository
from tests.proposals import BRANCH, MEMORY, PNPM, RUFF, TICKET, Nights, add, memory


@pytest.fixture
def nights(repo: Repository) -> Nights:
    return Nights(repo)


def merge(repo: Repository, *options: str, branch: str = BRANCH) -> None:
    repo.git("merge", "--quiet", "--no-edit", *(options or ("--no-ff",)), branch)


def rewrite(repo: Repository, text: str, path: str = MEMORY) -> str:
    return repo.commit("By hand", {path: text})


# --- coming in ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["--no-ff", "--ff-only", "--squash"])
def test_whatever_way_it_is_merged_it_is_adopted_once(repo: Repository, nights: Nights, how: str) -> None:
    """A merge commit, a fast forward and a squash all bring the rules to the base; a second look finds nothing new."""
    nights.propose(add(PNPM), add(TICKET))

    merge(repo, how)
    repo.git("commit", "--quiet", "--allow-empty", "-m", "Squashed or not")

    assert nights.noticed() == [("adopted", PNPM), ("adopted", TICKET)]
    assert nights.noticed(51) == []


def test_of_two_edits_one_may_be_picked(repo: Repository, nights: Nights) -> None:
    """The picked one is adopted, the other stays open."""
    built = nights.propose(add(PNPM), add(TICKET))

    repo.git("cherry-pick", built.commits[0])

    assert nights.noticed() == [("adopted", PNPM)]
    assert [item.edit.text for item in nights.proposal().pending] == [TICKET]
    assert nights.proposal().open


def test_what_the_merge_left_out_is_rejected(repo: Repository, nights: Nights) -> None:
    """The reviewer took one rule out in the merge commit: that one is rejected, and why is said."""
    nights.propose(add(PNPM), add(TICKET))
    repo.git("merge", "--quiet", "--no-ff", "--no-commit", BRANCH)

    rewrite(repo, memory(TICKET))

    events = nights.sync()
    assert [(item.type, item.text, item.reason) for item in events] == [
        ("rejected", PNPM, "left out of the merge"),
        ("adopted", TICKET, None),
    ]


def test_what_never_got_onto_the_branch_is_not_rejected_by_its_merge(repo: Repository, nights: Nights) -> None:
    """A run broke off before it added the second edit; merging the branch says nothing about that one."""
    nights.propose(add(PNPM))
    nights.record(add(TICKET), number=2, start=1)

    merge(repo)

    assert nights.noticed() == [("adopted", PNPM), ("expired", TICKET)]


def test_what_was_reworded_in_the_merge_is_adopted_modified(repo: Repository, nights: Nights) -> None:
    """In other words, yet the same rule; the words of its neighbour do not count as such."""
    nights.propose(add(PNPM), add("Use pnpm, not npx"))
    repo.git("merge", "--quiet", "--no-ff", "--no-commit", BRANCH)

    rewrite(repo, memory("Use pnpm, not npm ever"))

    assert nights.noticed() == [("adopted-modified", PNPM), ("rejected", "Use pnpm, not npx")]


def test_a_squash_may_be_reworded_too(repo: Repository, nights: Nights) -> None:
    """No merge to tell by: a new rule like it has come to the base, and undoing that unlearns it."""
    nights.propose(add(PNPM))

    rewrite(repo, memory("Use pnpm, not npm ever"))

    assert nights.noticed() == [("adopted-modified", PNPM)]
    rewrite(repo, memory())
    assert nights.noticed(51) == [("reverted", PNPM)]


def test_a_rule_left_out_beside_one_like_it_is_rejected(repo: Repository, nights: Nights) -> None:
    """What stands there is its neighbour, not the rule in other words."""
    nights.propose(add(PNPM), add("Use pnpm, not npx"))
    repo.git("merge", "--quiet", "--no-ff", "--no-commit", BRANCH)

    rewrite(repo, memory(PNPM))

    assert nights.noticed() == [("adopted", PNPM), ("rejected", "Use pnpm, not npx")]


def test_a_replacement_left_out_of_the_merge_is_no_rewording(repo: Repository, nights: Nights) -> None:
    """The old rule is like the new one, and was there before."""
    rewrite(repo, memory("Use pnpm, not npx"))
    nights.propose(Edit(op="replace", target=MEMORY, anchor="Use pnpm, not npx", text=PNPM))

    merge(repo, "--no-ff", "--strategy=ours")

    assert nights.noticed() == [("rejected", PNPM)]


def test_merged_and_reverted_before_anybody_looked(repo: Repository, nights: Nights) -> None:
    """Both are told, each with its commit."""
    nights.propose(add(PNPM))
    merge(repo)
    merged = repo.git("rev-parse", "HEAD").strip()
    repo.git("revert", "--no-edit", "-m", "1", "HEAD")

    events = nights.sync()

    assert [(item.type, item.data["commit"]) for item in events] == [
        ("adopted", merged),
        ("reverted", repo.git("rev-parse", "HEAD").strip()),
    ]


def test_merged_and_reworded_before_anybody_looked(repo: Repository, nights: Nights) -> None:
    """Other words for a rule are not its end."""
    nights.propose(add(PNPM))
    merge(repo)

    rewrite(repo, memory("Use pnpm, not npm ever"))

    assert nights.noticed() == [("adopted", PNPM)]
    assert nights.noticed(51) == []


def test_a_delete_is_adopted_when_the_rule_is_gone(repo: Repository, nights: Nights) -> None:
    """And the standing rejection of that rule stays: a person took it out twice."""
    rewrite(repo, memory(PNPM, TICKET))
    nights.propose(Edit(op="delete", target=MEMORY, anchor=PNPM))
    assert nights.noticed() == []

    merge(repo)

    (said,) = nights.sync(51)
    assert (said.type, said.text, said.data["ends"]) == ("adopted", PNPM, [])


def test_a_damaged_block_does_not_adopt_a_delete(repo: Repository, nights: Nights) -> None:
    """Where the block cannot be told, the line that is still there counts."""
    rewrite(repo, memory(PNPM, TICKET))
    nights.propose(Edit(op="delete", target=MEMORY, anchor=PNPM))

    rewrite(repo, memory(PNPM, TICKET).replace("<!-- SKILLOPT-SLEEP:LEARNED END -->\n", ""))

    assert nights.noticed() == []
    assert present_in("no rules here\n", Edit(op="delete", target=MEMORY, anchor=PNPM))


# --- going -------------------------------------------------------------------------------------------------------


def test_a_deleted_branch_is_expired(repo: Repository, nights: Nights) -> None:
    """Not rejected: nobody said no."""
    nights.propose(add(PNPM))

    repo.git("branch", "--quiet", "-D", BRANCH)

    assert nights.noticed() == [("expired", PNPM)]
    assert nights.history().negatives == ()


def test_what_was_given_up_may_be_merged_all_the_same(repo: Repository, nights: Nights) -> None:
    """The branch was deleted where its merge was not known yet; when the merge arrives, the rule is adopted."""
    built = nights.propose(add(PNPM))
    repo.git("branch", "--quiet", "-D", BRANCH)
    assert nights.noticed() == [("expired", PNPM)]

    merge(repo, "--no-ff", branch=built.tip)

    assert nights.noticed(51) == [("adopted", PNPM)]
    assert [item.edit.text for item in nights.history().adopted] == [PNPM]
    assert nights.noticed(52) == []


def test_a_rejected_rule_that_a_person_takes_over_is_adopted(repo: Repository, nights: Nights) -> None:
    """Its rejection ends with that: somebody changed their mind."""
    built = nights.propose(add(PNPM), add(TICKET))
    repo.git("merge", "--quiet", "--no-ff", "--no-commit", BRANCH)
    rewrite(repo, memory(TICKET))
    nights.sync()
    assert [item.text for item in nights.history().negatives] == [PNPM]

    rewrite(repo, memory(TICKET, PNPM))

    assert nights.noticed(51) == [("adopted", PNPM)]
    assert nights.history().negatives == ()
    assert built.tip != nights.base.commit


def test_the_same_edit_on_two_branches_is_adopted_on_one(repo: Repository, nights: Nights) -> None:
    """It was given up on the first branch, and merged from the second."""
    nights.propose(add(PNPM))
    repo.git("branch", "--quiet", "-D", BRANCH)
    nights.sync()
    nights.propose(add(PNPM), branch=f"{BRANCH}-2", number=2)

    merge(repo, branch=f"{BRANCH}-2")

    assert nights.noticed(51) == [("adopted", PNPM)]
    assert nights.noticed(52) == []
    assert [item.branch for item in nights.history().adopted] == [f"{BRANCH}-2"]


# --- after the adoption ------------------------------------------------------------------------------------------


def test_taken_out_by_hand_is_unlearned_and_back_again_adopted(repo: Repository, nights: Nights) -> None:
    """The commits that did it are named; while it is away the rule is held back."""
    nights.propose(add(PNPM), add(TICKET))
    merge(repo)
    nights.sync()

    out = rewrite(repo, memory(TICKET))
    (gone,) = nights.sync(51)
    assert (gone.type, gone.text, gone.data["commit"]) == ("reverted", PNPM, out)
    assert [item.text for item in nights.history().negatives] == [PNPM]

    back = rewrite(repo, memory(TICKET, PNPM))
    (again,) = nights.sync(52)
    assert (again.type, again.text, again.data["commit"]) == ("adopted", PNPM, back)
    assert nights.history().negatives == ()
    assert nights.noticed(53) == []


def test_a_rule_that_moved_is_not_unlearned(repo: Repository, nights: Nights) -> None:
    """Out of the block, or into another document."""
    nights.propose(add(PNPM), add(TICKET))
    merge(repo)
    nights.sync()

    repo.commit("Move", {MEMORY: f"# Notes\n\n- {PNPM}\n", "AGENTS.md": f"- {TICKET}\n"})

    assert nights.noticed(51) == []


def test_a_document_that_became_a_link_still_says_it(repo: Repository, nights: Nights) -> None:
    """CLAUDE.md was renamed to AGENTS.md and is a link to it now."""
    nights.propose(add(PNPM))
    merge(repo)
    nights.sync()

    repo.git("mv", MEMORY, "AGENTS.md")
    (repo.path / MEMORY).symlink_to("AGENTS.md")
    repo.commit("Link", {})

    assert nights.noticed(51) == []
    assert awaited(nights.repo, nights.history(), nights.base) == ()


@pytest.mark.parametrize("to", ["/etc/hostname", "../outside.md", "CLAUDE.md", "nowhere.md", "docs"])
def test_a_link_that_leads_nowhere_says_nothing(repo: Repository, nights: Nights, to: str) -> None:
    """Outside, in a circle, to nothing or to a folder: the rule is gone, and nothing fails."""
    nights.propose(add(PNPM))
    merge(repo)
    nights.sync()
    repo.git("rm", "--quiet", MEMORY)
    (repo.path / MEMORY).symlink_to(to)
    repo.commit("Link", {"docs/x.md": "x"})

    assert nights.noticed(51) == [("reverted", PNPM)]


def test_a_document_that_is_not_utf8_may_still_hold_the_rule(repo: Repository, nights: Nights) -> None:
    """One stray byte elsewhere unlearns nothing."""
    nights.propose(add(PNPM))
    merge(repo)
    nights.sync()

    repo.commit("Latin-1", {MEMORY: b"# caf\xe9\n" + memory(PNPM).encode()})

    assert nights.noticed(51) == []


def test_a_rule_that_an_adopted_edit_replaced_is_not_unlearned(repo: Repository, nights: Nights) -> None:
    """Its place was taken by what we proposed ourselves; nor does it wait to arrive any more."""
    nights.propose(add(PNPM))
    merge(repo)
    nights.sync()
    better = "Run every package command with pnpm"
    nights.propose(Edit(op="replace", target=MEMORY, anchor=PNPM, text=better), branch=f"{BRANCH}-2", number=2)

    merge(repo, branch=f"{BRANCH}-2")

    assert nights.noticed(51) == [("adopted", better)]
    assert nights.noticed(52) == []
    assert awaited(nights.repo, nights.history(), nights.base) == ()


def test_a_deleted_document_unlearns_what_it_held(repo: Repository, nights: Nights) -> None:
    """Removing the file removes its rules."""
    nights.propose(add(PNPM))
    merge(repo)
    nights.sync()

    repo.git("rm", "--quiet", MEMORY)
    repo.git("commit", "--quiet", "-m", "No more notes")

    assert nights.noticed(51) == [("reverted", PNPM)]


def test_a_delete_that_is_undone_is_unlearned(repo: Repository, nights: Nights) -> None:
    """The rule that was dropped stands in the block again."""
    rewrite(repo, memory(PNPM, TICKET))
    nights.propose(Edit(op="delete", target=MEMORY, anchor=PNPM))
    merge(repo)
    nights.sync()

    rewrite(repo, memory(PNPM, TICKET))

    assert nights.noticed(51) == [("reverted", PNPM)]


# --- what this clone does not have -------------------------------------------------------------------------------


def shared(nights: Nights, path: Path, *options: str) -> Nights:
    """A clone that has the ledger, and of the branches what `options` say."""
    source = nights.repository
    source.git("clone", "--quiet", *options, f"file://{source.path}", str(path))
    clone = Repository(path)
    clone.git(
        "fetch", "--quiet", *(["--depth=1"] if options else []), "origin", "refs/skillopt/ledger:refs/skillopt/ledger"
    )
    return Nights(clone)


def test_in_a_clone_without_the_branch_it_is_not_expired(repo: Repository, nights: Nights, tmp_path: Path) -> None:
    """Neither as a remote branch nor where it was never fetched."""
    nights.propose(add(PNPM))

    assert shared(nights, tmp_path / "one").noticed() == []
    assert shared(nights, tmp_path / "two", "--single-branch", "--branch=main").noticed() == []


def test_in_a_shallow_clone_only_what_is_there_counts(repo: Repository, nights: Nights, tmp_path: Path) -> None:
    """The proposal's base is missing: the rule that arrived is adopted, the other one is not rejected."""
    rewrite(repo, memory(RUFF))
    nights.propose(add(PNPM), add(TICKET), Edit(op="delete", target=MEMORY, anchor=RUFF))
    merge(repo, "--no-ff", "--strategy=ours")
    rewrite(repo, memory(RUFF, PNPM))

    clone = shared(nights, tmp_path / "shallow", "--depth=1")

    assert clone.noticed() == [("adopted", PNPM)]


def test_a_shallow_clone_notices_what_was_unlearned(repo: Repository, nights: Nights, tmp_path: Path) -> None:
    """Only if it knows the adoption: what it cannot see it does not judge."""
    nights.propose(add(PNPM))
    merge(repo)
    nights.sync()
    rewrite(repo, memory())

    assert shared(nights, tmp_path / "shallow", "--depth=1").noticed() == []
    assert nights.noticed(51) == [("reverted", PNPM)]


def test_after_a_rewritten_history_nothing_is_judged_wrongly(repo: Repository, nights: Nights) -> None:
    """The base was amended: the old commits are strangers. What its own commits did since counts, and nothing else."""
    rewrite(repo, memory(RUFF))
    nights.propose(add(PNPM), Edit(op="delete", target=MEMORY, anchor=RUFF))

    repo.git("checkout", "--quiet", "--orphan", "fresh")
    repo.commit("Squashed history", {})
    repo.git("branch", "--quiet", "--force", "main", "fresh")
    repo.git("switch", "--quiet", "main")

    assert nights.noticed() == []
    rewrite(repo, memory(RUFF, PNPM))
    assert nights.noticed(51) == [("adopted", PNPM)]
    repo.git("commit", "--quiet", "--amend", "-m", "Amended")
    rewrite(repo, memory(RUFF))
    assert nights.noticed(52) == [("reverted", PNPM)]


def test_a_merge_that_was_taken_back_before_anybody_had_it_is_given_up(
    repo: Repository, nights: Nights, tmp_path: Path
) -> None:
    """Adopted here, then reset: the rule is neither learned nor refused, and may be proposed again."""
    nights.propose(add(PNPM))
    before = nights.base.commit
    merge(repo)
    assert nights.noticed() == [("adopted", PNPM)]

    repo.git("reset", "--quiet", "--hard", before)

    assert nights.noticed(51) == [("expired", PNPM)]
    assert nights.history().adopted == ()
    assert nights.history().negatives == ()
    assert nights.noticed(52) == []


def test_what_arrived_by_another_merge_is_unlearned_when_that_is_reverted(repo: Repository, nights: Nights) -> None:
    """Adopted here and put aside; a squash of the pull request brought it, and was taken back."""
    nights.propose(add(PNPM))
    before = nights.base.commit
    merge(repo)
    nights.noticed()
    repo.git("reset", "--quiet", "--hard", before)
    rewrite(repo, memory(PNPM))
    assert nights.noticed(51) == []

    repo.git("rm", "--quiet", MEMORY)
    repo.git("commit", "--quiet", "-m", "Revert")

    assert nights.noticed(52) == [("reverted", PNPM)]


@pytest.mark.parametrize(
    ("theirs", "told"),
    [("Install packages with pnpm only", "adopted-modified"), (None, "rejected")],
)
def test_what_a_commit_of_ours_became_is_told_by_its_name(
    repo: Repository, nights: Nights, theirs: str | None, told: str
) -> None:
    """Amended or squashed into other words it is adopted in these; without any it was left out."""
    nights.propose(add(PNPM))
    message = repo.git("log", "-1", "--format=%B", BRANCH)
    repo.git("branch", "--quiet", "-D", BRANCH)
    repo.commit(f"Squashed\n\n{message}", {MEMORY: memory(*([theirs] if theirs else []))})

    assert nights.noticed() == [(told, PNPM)]


def test_what_was_merged_here_and_not_pushed_is_awaited(repo: Repository, nights: Nights, tmp_path: Path) -> None:
    """The remote's branch is the base; the rule on the local one is on its way."""
    nights.propose(add(PNPM))
    clone = shared(nights, tmp_path / "clone")
    clone.repository.git("merge", "--quiet", "--no-ff", "--no-edit", f"origin/{BRANCH}")

    desk = clone.desk()
    assert clone.base.commit == clone.repository.git("rev-parse", "origin/main").strip()
    assert awaited(clone.repo, desk.history, clone.base) == ()
    merge(repo)
    nights.sync()
    clone.repository.git("fetch", "--quiet", "--force", "origin", "refs/skillopt/ledger:refs/skillopt/ledger")
    assert [item.edit.text for item in awaited(clone.repo, clone.history(), clone.base)] == [PNPM]


# --- texts -------------------------------------------------------------------------------------------------------


def test_a_damaged_block_has_no_rules() -> None:
    """Nothing is guessed from it."""
    assert learned(memory(PNPM)) == (PNPM,)
    assert learned(memory(PNPM).replace("END", "MISSING")) == ()


def test_the_nearest_rule_is_near_or_none() -> None:
    """By likeness of the words."""
    assert nearest(memory(TICKET, "Use pnpm, not npm ever"), PNPM) == "Use pnpm, not npm ever"
    assert nearest(memory(TICKET), PNPM) is None
    assert nearest("", PNPM) is None
