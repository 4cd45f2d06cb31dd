"""What a person decides: where it touches the work tree, where it refuses, and that nothing of anybody's is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_git.decide import Desk, adopt, allow_again, one_of, reject, the_proposal
from skillopt_git.errors import GitError, RefMoved, SafetyError, UsageError
from skillopt_git.ledger import Ledger
from skillopt_git.model import Edit
from skillopt_git.redact import Scanner
from skillopt_git.unlearning import unlearn
from tests.helpers import Repository
from tests.helpers_git import TOOL, fail_every_hook, snapshot
from tests.proposals import BRANCH, LEDGER, MEMORY, PNPM, RUFF, TICKET, Nights, add, memory


@pytest.fixture
def nights(repo: Repository) -> Nights:
    return Nights(repo)


def text(repo: Repository, rev: str = "main", path: str = MEMORY) -> str:
    return repo.git("show", f"{rev}:{path}")


def parents(repo: Repository, rev: str = "main") -> list[str]:
    return repo.git("log", "-1", "--format=%P", rev).split()


# --- adopt -------------------------------------------------------------------------------------------------------


def test_adopting_is_a_merge_commit_of_the_person_who_did_it(repo: Repository, nights: Nights) -> None:
    """Never a fast forward, so that one revert undoes it; hooks do not run; the work tree follows."""
    built = nights.propose(add(PNPM), add(TICKET))
    fail_every_hook(repo)

    done = adopt(nights.desk(), nights.proposal())

    assert done.commit == nights.base.commit
    assert parents(repo)[1] == built.tip
    assert repo.git("log", "-1", "--format=%an <%ae>").strip() == "Alice Example <alice@example.invalid>"
    assert (repo.path / MEMORY).read_text() == memory(PNPM, TICKET)
    assert repo.git("status", "--porcelain") == ""
    assert not (repo.path / "hook-ran").exists()
    assert f"git revert -m 1 {nights.base.commit[:12]}" in done.said[0]
    assert [item.edit.text for item in nights.history().adopted] == [PNPM, TICKET]


def test_a_user_without_an_identity_adopts_as_the_tool(repo: Repository, nights: Nights, isolated: Path) -> None:
    """Nobody told git who they are: no guess from the host's name."""
    nights.propose(add(PNPM))
    (isolated / ".gitconfig").write_text("")

    adopt(nights.desk(), nights.proposal())

    assert repo.git("log", "-1", "--format=%an").strip() == "skillopt-git"


def test_a_base_that_is_checked_out_nowhere_is_moved_alone(repo: Repository, nights: Nights) -> None:
    """Work tree, index and HEAD on another branch stay as they are."""
    nights.propose(add(PNPM))
    main = nights.base
    repo.git("config", "init.defaultBranch", "main")
    repo.git("switch", "--quiet", "--detach")
    repo.write({"README.md": "# mine\n"})
    before = snapshot(repo)

    adopt(nights.desk(), nights.proposal())

    after = snapshot(repo)
    assert before.pop("refs") != after.pop("refs")
    assert after == before
    assert parents(repo)[0] == main.commit


@pytest.mark.parametrize("bare", [False, True])
def test_a_base_checked_out_in_another_work_tree_is_updated_there(
    repo: Repository, nights: Nights, tmp_path: Path, bare: bool
) -> None:
    """Wherever the branch lives, its files follow; also when called from the bare repository beside it."""
    nights.propose(add(PNPM))
    repo.git("switch", "--quiet", "--create", "feature")
    here = repo
    if bare:
        repo.git("clone", "--quiet", "--mirror", f"file://{repo.path}", str(tmp_path / "acme.git"))
        here = Repository(tmp_path / "acme.git")
        here.git("remote", "remove", "origin")
    other = Repository(tmp_path / "other")
    here.git("worktree", "add", "--quiet", str(other.path), "main")
    here.git("symbolic-ref", "HEAD", "refs/heads/main" if bare else "refs/heads/feature")

    desk = Nights(here).desk()
    adopt(desk, Nights(here).proposal())

    assert (other.path / MEMORY).read_text() == memory(PNPM)
    assert other.git("status", "--porcelain") == ""


def test_what_is_merged_already_is_noted_and_not_merged_again(repo: Repository, nights: Nights) -> None:
    """The verb came after a plain `git merge` that nobody noticed yet."""
    nights.propose(add(PNPM))
    desk = nights.desk()
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", BRANCH)
    merged = nights.base.commit

    done = adopt(desk, desk.history.proposals[0])

    assert nights.base.commit == merged
    assert "merged already" in done.said[0]
    assert [item.edit.text for item in nights.history().adopted] == [PNPM]


def test_a_reviewers_commit_is_merged_too(repo: Repository, nights: Nights) -> None:
    """Adopting takes the branch as it is now, and tells by content what came of each edit."""
    nights.propose(add(PNPM), add(TICKET))
    repo.git("switch", "--quiet", BRANCH)
    repo.commit("Review", {MEMORY: memory(TICKET), "notes.md": "seen\n"})
    repo.git("switch", "--quiet", "main")

    adopt(nights.desk(), nights.proposal())

    assert text(repo) == memory(TICKET)
    assert (repo.path / "notes.md").exists()
    outcomes = {item.edit.text: item.outcome and item.outcome.type for item in nights.proposal().edits}
    assert outcomes == {PNPM: "rejected", TICKET: "adopted"}


def test_when_the_base_moved_on_elsewhere_it_is_an_ordinary_merge(repo: Repository, nights: Nights) -> None:
    """What others did is kept."""
    nights.propose(add(PNPM))
    repo.commit("Meanwhile", {"src/app.py": "print()\n"})

    adopt(nights.desk(), nights.proposal())

    assert (repo.path / "src/app.py").exists()
    assert text(repo) == memory(PNPM)


def test_a_conflict_inside_the_block_is_settled_by_content(repo: Repository, nights: Nights) -> None:
    """Rules that came meanwhile stay, also what stands outside; a rule that came by hand is not doubled."""
    repo.commit("Learned", {MEMORY: memory(RUFF)})
    nights.propose(add(PNPM), add(TICKET))
    repo.commit("By hand", {MEMORY: memory(RUFF, "Ask before deleting", tail="\nOurs.\n")})

    adopt(nights.desk(), nights.proposal())

    assert text(repo) == memory(RUFF, "Ask before deleting", PNPM, TICKET, tail="\nOurs.\n")


def test_a_file_that_both_sides_made_gets_the_rules(repo: Repository, nights: Nights) -> None:
    """The scaffold of the proposal gives way to what a person wrote; no conflict is left to them."""
    nights.propose(add(PNPM))
    repo.commit("Notes", {MEMORY: "# My notes\n"})

    adopt(nights.desk(), nights.proposal())

    assert text(repo) == memory(PNPM, head="# My notes\n")


def test_nothing_of_the_proposals_base_is_lost_in_a_conflict(repo: Repository, nights: Nights, tmp_path: Path) -> None:
    """The local branch is behind the remote one the proposal stands on, and has rules of its own."""
    repo.commit("Learned", {MEMORY: memory(RUFF)})
    repo.git("clone", "--quiet", f"file://{repo.path}", str(tmp_path / "clone"))
    repo.commit("Upstream", {"src/app.py": "print()\n"})
    clone = Nights(Repository(tmp_path / "clone"))
    clone.repository.git("fetch", "--quiet")
    clone.propose(add(PNPM))
    clone.repository.commit("Here", {MEMORY: memory(RUFF, "Ask before deleting")})

    adopt(clone.desk(), clone.proposal())

    assert text(clone.repository) == memory(RUFF, "Ask before deleting", PNPM)
    assert (clone.repository.path / "src/app.py").exists()


def refused(repo: Repository, nights: Nights, words: str, kind: type[Exception] = GitError) -> None:
    """Adopting fails with these words and touches nothing."""
    desk = nights.desk()
    before = snapshot(repo)
    ledger = repo.git("rev-parse", "refs/skillopt/ledger")
    with pytest.raises(kind, match=words):
        adopt(desk, desk.history.proposals[0])
    assert snapshot(repo) == before
    assert repo.git("rev-parse", "refs/skillopt/ledger") == ledger


def test_a_conflict_that_is_not_ours_to_settle_is_refused(repo: Repository, nights: Nights) -> None:
    """The reviewer and the base changed one line: that is a person's merge."""
    nights.propose(add(PNPM))
    repo.git("switch", "--quiet", BRANCH)
    repo.commit("Review", {"README.md": "# theirs\n"})
    repo.git("switch", "--quiet", "main")
    repo.commit("Meanwhile", {"README.md": "# ours\n"})

    refused(repo, nights, "conflicts in README.md")


def test_a_conflict_with_what_the_proposal_stands_on_is_refused(
    repo: Repository, nights: Nights, tmp_path: Path
) -> None:
    """Local and remote branch contradict each other: the edits cannot mend that."""
    repo.commit("Learned", {MEMORY: memory(RUFF)})
    repo.git("clone", "--quiet", f"file://{repo.path}", str(tmp_path / "clone"))
    repo.commit("Upstream", {MEMORY: memory(RUFF, head="# Theirs\n")})
    clone = Nights(Repository(tmp_path / "clone"))
    clone.repository.git("fetch", "--quiet")
    clone.propose(add(PNPM))
    clone.repository.commit("Here", {MEMORY: memory(RUFF, head="# Ours\n")})

    refused(clone.repository, clone, "conflicts in CLAUDE.md")


def test_a_rule_that_no_longer_fits_is_refused(repo: Repository, nights: Nights) -> None:
    """The rule it replaces is gone."""
    repo.commit("Learned", {MEMORY: memory(RUFF)})
    nights.propose(Edit(op="replace", target=MEMORY, anchor=RUFF, text="Always run ruff and mypy first"))
    repo.commit("By hand", {MEMORY: memory(TICKET)})

    refused(repo, nights, "does not fit CLAUDE.md any more")


def test_local_changes_in_the_way_are_not_overwritten(repo: Repository, nights: Nights) -> None:
    """An untracked file of the same name: git's words, and nothing is touched."""
    nights.propose(add(PNPM))
    repo.write({MEMORY: "mine\n"})

    refused(repo, nights, "overwritten|would be")


def test_a_branch_or_base_that_is_not_here_says_what_to_do(repo: Repository, nights: Nights, tmp_path: Path) -> None:
    """Not fetched, deleted, or the base without a local branch."""
    nights.propose(add(PNPM))
    repo.git("clone", "--quiet", f"file://{repo.path}", str(tmp_path / "clone"))
    clone = Nights(Repository(tmp_path / "clone"))
    clone.repository.git("fetch", "--quiet", "origin", "refs/skillopt/ledger:refs/skillopt/ledger")
    desk = clone.desk()
    with pytest.raises(UsageError, match="not in this clone") as caught:
        adopt(desk, desk.history.proposals[0])
    assert f"git branch {BRANCH}" in caught.value.hint

    clone.repository.git("branch", "--quiet", "--track", BRANCH, f"origin/{BRANCH}")
    clone.repository.git("switch", "--quiet", "--detach")
    clone.repository.git("branch", "--quiet", "-D", "main")
    with pytest.raises(UsageError, match="no local branch main"):
        adopt(desk, desk.history.proposals[0])

    desk = nights.desk()
    repo.git("branch", "--quiet", "-D", BRANCH)
    with pytest.raises(UsageError, match="is gone"):
        adopt(desk, desk.history.proposals[0])


@pytest.mark.parametrize("where", ["branch", "elsewhere"])
def test_what_was_refused_is_not_merged_with_the_rest(repo: Repository, nights: Nights, where: str) -> None:
    """The branch was on a desk when one edit was refused: it is rebuilt first, or adopting is refused."""
    nights.propose(add(PNPM), add(TICKET))
    repo.git("switch", "--quiet", BRANCH)
    reject(nights.desk(), nights.proposal(), edit=add(PNPM).id, reason="we use npm")
    repo.git("switch", "--quiet", "main")
    if where == "branch":
        repo.git("switch", "--quiet", BRANCH)
        with pytest.raises(UsageError, match=f"still holds what was decided since: {PNPM}"):
            adopt(nights.desk(), nights.proposal())
        assert [item.text for item in nights.history().negatives] == [PNPM]
        return

    done = adopt(nights.desk(), nights.proposal())

    assert [edit.text for edit in done.edits] == [TICKET]
    assert text(repo) == memory(TICKET)
    assert [item.text for item in nights.history().negatives] == [PNPM]


def test_adopting_what_was_merged_tells_what_came(repo: Repository, nights: Nights) -> None:
    """An edit that did not reach the branch before somebody merged it is not learned."""
    nights.propose(add(PNPM))
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", BRANCH)
    desk = nights.desk()
    nights.record(add(TICKET), number=2, start=1)
    proposal = nights.proposal()

    done = adopt(replace(desk, history=nights.history()), proposal)

    assert [edit.text for edit in done.edits] == []
    assert "merged already" in done.said[0]


# --- reject ------------------------------------------------------------------------------------------------------


def test_a_rejected_branch_is_anchored_and_deleted(repo: Repository, nights: Nights) -> None:
    """Also with what a reviewer added to it: nothing is lost."""
    nights.propose(add(PNPM))
    repo.git("switch", "--quiet", BRANCH)
    tip = repo.commit("Review", {"notes.md": "x\n"})
    repo.git("switch", "--quiet", "main")

    done = reject(nights.desk(), nights.proposal(), edit=None, reason="no")

    assert repo.git("branch", "--list", BRANCH) == ""
    assert repo.git("rev-parse", f"refs/skillopt/rejected/{BRANCH}").strip() == tip
    assert "deleted" in done.said[0]
    assert [(item.text, item.event.reason) for item in nights.history().negatives] == [(PNPM, "no")]


def test_a_branch_somebody_sits_on_is_kept(repo: Repository, nights: Nights) -> None:
    """Checked out: the rejection counts, the branch stays."""
    nights.propose(add(PNPM))
    repo.git("switch", "--quiet", BRANCH)
    tip = repo.git("rev-parse", "HEAD")

    done = reject(nights.desk(), nights.proposal(), edit=None, reason=None)

    assert repo.git("rev-parse", BRANCH) == tip
    assert "checked out and therefore kept" in done.said[0]
    assert not nights.proposal().open


def test_rejecting_the_last_edit_is_rejecting_the_whole(repo: Repository, nights: Nights) -> None:
    """One after the other: the first rebuilds the branch, the second puts it away."""
    first, second = add(PNPM), add(TICKET)
    built = nights.propose(first, second)

    done = reject(nights.desk(), nights.proposal(), edit=first.id, reason=None)
    assert "rebuilt" in done.said[0]
    assert text(repo, BRANCH) == memory(TICKET)
    assert repo.git("rev-parse", BRANCH).strip() not in built.commits
    again = nights.publish(number=2)
    assert again.tip == repo.git("rev-parse", BRANCH).strip()

    done = reject(nights.desk(), nights.proposal(), edit=second.id, reason=None)
    assert "deleted" in done.said[0]
    assert repo.git("branch", "--list", BRANCH) == ""


def test_a_frozen_branch_is_left_as_it_is_without_the_edit(repo: Repository, nights: Nights) -> None:
    """A reviewer's commit and a checkout are respected, and the rejection is remembered."""
    edits = [add(PNPM), add(TICKET), add(RUFF)]
    nights.propose(*edits)
    repo.git("switch", "--quiet", BRANCH)

    done = reject(nights.desk(), nights.proposal(), edit=edits[0].id, reason=None)
    assert "because it is checked out" in done.said[0]

    tip = repo.commit("Review", {"notes.md": "x\n"})
    repo.git("switch", "--quiet", "main")
    done = reject(nights.desk(), nights.proposal(), edit=edits[1].id, reason=None)
    assert "because somebody committed to it" in done.said[0]
    assert repo.git("rev-parse", BRANCH).strip() == tip
    assert [item.text for item in nights.history().negatives] == sorted(
        [PNPM, TICKET], key=lambda rule: next(item.event.id for item in nights.history().negatives if item.text == rule)
    )


def test_a_branch_that_is_not_here_can_be_rejected(repo: Repository, nights: Nights) -> None:
    """In a clone without it, as a whole and in part."""
    edits = [add(PNPM), add(TICKET)]
    nights.propose(*edits)
    desk = nights.desk()
    repo.git("branch", "--quiet", "-D", BRANCH)

    part = reject(desk, desk.history.proposals[0], edit=edits[0].id, reason=None)
    whole = reject(desk, desk.history.proposals[0], edit=None, reason=None)

    assert "because it is not here" in part.said[0]
    assert "not in this clone" in whole.said[0]


def test_a_rejection_stands_also_when_the_rebuild_is_beaten(
    repo: Repository, nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds the ref: try again (75); the refusal was recorded first."""
    edits = [add(PNPM), add(TICKET)]
    nights.propose(*edits)
    desk = nights.desk()
    lock = Path(repo.path, ".git", "refs", "heads", f"{BRANCH}.lock")
    lock.touch()

    with pytest.raises(RefMoved):
        reject(desk, nights.proposal(), edit=edits[0].id, reason=None)

    lock.unlink()
    assert [item.text for item in nights.history().negatives] == [PNPM]


def test_a_secret_as_the_reason_is_refused_before_anything(nights: Nights) -> None:
    """Or a denied word. The proposal stays open."""
    nights.propose(add(PNPM))
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    strict = replace(nights.desk(), ledger=Ledger(nights.repo, LEDGER, TOOL, scanner=Scanner(("Globex",))))

    for desk, reason in ((nights.desk(), secret), (strict, "Not for globex")):
        with pytest.raises(SafetyError, match="the reason"):
            reject(desk, nights.proposal(), edit=None, reason=reason)

    assert nights.proposal().open


def test_allowing_again_ends_what_stands(nights: Nights) -> None:
    """By edit or rule id; a second time there is nothing to end."""
    edit = add(PNPM)
    nights.propose(edit)
    reject(nights.desk(), nights.proposal(), edit=None, reason=None)

    found = allow_again(nights.desk(), edit.rule)

    assert [item.text for item in found] == [PNPM]
    assert nights.history().negatives == ()
    with pytest.raises(UsageError, match="is not rejected"):
        allow_again(nights.desk(), edit.id)


# --- unlearn -----------------------------------------------------------------------------------------------------


def adopted(nights: Nights, *edits: Edit) -> Desk:
    nights.propose(*edits)
    adopt(nights.desk(98), nights.proposal())
    return nights.desk()


@pytest.mark.parametrize(
    ("edit", "start", "end"),
    [
        (add(PNPM), memory(RUFF), memory(RUFF)),
        (Edit(op="replace", target=MEMORY, anchor=RUFF, text=PNPM), memory(RUFF), memory(RUFF)),
        (Edit(op="delete", target=MEMORY, anchor=RUFF), memory(TICKET, RUFF), memory(TICKET, RUFF)),
    ],
)
def test_each_kind_of_edit_is_taken_back_by_content(
    repo: Repository, nights: Nights, edit: Edit, start: str, end: str
) -> None:
    """On a branch first, merged with `now`; the document is as it was before."""
    repo.commit("Start", {MEMORY: start})
    desk = adopted(nights, edit)
    (item,) = desk.history.adopted

    prepared = unlearn(desk, item, base_branch="main", now=False)
    assert text(repo, prepared.branch) == end
    assert text(repo) != end
    done = unlearn(desk, item, base_branch="main", now=True)

    assert text(repo) == end
    assert done.branch == "main"
    assert len(parents(repo)) == 2
    assert nights.history().adopted == ()
    assert nights.noticed() == []


def test_a_rule_that_was_reworded_is_found_by_likeness(repo: Repository, nights: Nights) -> None:
    """A person has polished it since."""
    desk = adopted(nights, add(PNPM), add(TICKET))
    repo.commit("Polish", {MEMORY: memory("Use pnpm, not npm ever", TICKET)})

    unlearn(desk, one_of(desk.history.adopted, add(PNPM).id), base_branch="main", now=True)

    assert text(repo) == memory(TICKET)


def test_a_document_behind_a_link_is_changed_where_it_is(repo: Repository, nights: Nights) -> None:
    """CLAUDE.md became a link to AGENTS.md."""
    desk = adopted(nights, add(PNPM), add(TICKET))
    repo.git("mv", MEMORY, "AGENTS.md")
    (repo.path / MEMORY).symlink_to("AGENTS.md")
    repo.commit("Link", {})

    unlearn(desk, one_of(desk.history.adopted, add(PNPM).id), base_branch="main", now=True)

    assert text(repo, path="AGENTS.md") == memory(TICKET)


def test_what_cannot_be_taken_back_says_why(repo: Repository, nights: Nights) -> None:
    """The rule is gone, the file is gone, the branch is gone."""
    desk = adopted(nights, add(PNPM), add(TICKET))
    item = one_of(desk.history.adopted, add(PNPM).id)
    repo.commit("By hand", {MEMORY: memory(TICKET)})
    with pytest.raises(UsageError, match="no learned rule says"):
        unlearn(desk, item, base_branch="main", now=False)
    repo.git("rm", "--quiet", MEMORY)
    repo.git("commit", "--quiet", "-m", "Gone")
    with pytest.raises(UsageError, match="the file is gone"):
        unlearn(desk, item, base_branch="main", now=False)
    with pytest.raises(UsageError, match="no local branch"):
        unlearn(desk, item, base_branch="release", now=False)


def test_a_prepared_branch_is_made_anew_unless_it_is_somebodys(repo: Repository, nights: Nights) -> None:
    """Ours may move with the base; with other commits, or checked out, it is left alone."""
    desk = adopted(nights, add(PNPM), add(TICKET))
    item = one_of(desk.history.adopted, add(PNPM).id)
    branch = unlearn(desk, item, base_branch="main", now=False).branch
    repo.commit("Meanwhile", {"README.md": "# new\n"})
    again = unlearn(desk, item, base_branch="main", now=False)
    assert parents(repo, branch) == [nights.base.commit]

    repo.git("switch", "--quiet", branch)
    repo.write({MEMORY: memory(TICKET, tail="in my own words\n")})
    repo.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    amended = repo.git("rev-parse", "HEAD").strip()
    repo.git("switch", "--quiet", "main")
    with pytest.raises(UsageError, match="holds other commits"):
        unlearn(desk, item, base_branch="main", now=False)
    assert repo.git("rev-parse", branch).strip() == amended
    repo.git("branch", "--quiet", "--force", branch, str(again.commit))

    repo.git("switch", "--quiet", branch)
    with pytest.raises(UsageError, match="is checked out"):
        unlearn(desk, item, base_branch="main", now=False)
    mine = repo.commit("Mine", {"notes.md": "x\n"})
    repo.git("switch", "--quiet", "main")
    with pytest.raises(UsageError, match="holds other commits"):
        unlearn(desk, item, base_branch="main", now=True)

    assert repo.git("rev-parse", branch).strip() == mine != again.commit


# --- finding -----------------------------------------------------------------------------------------------------


def test_a_proposal_is_found_by_its_name_or_by_being_the_only_one(nights: Nights) -> None:
    """Several need a name; the errors list what there is."""
    with pytest.raises(UsageError, match="no open proposal"):
        the_proposal(nights.history(), None)
    with pytest.raises(UsageError, match="is no proposal"):
        the_proposal(nights.history(), BRANCH)
    nights.propose(add(PNPM))
    assert the_proposal(nights.history(), None).branch == BRANCH
    nights.propose(add(TICKET), branch=f"{BRANCH}-2", number=2)

    assert the_proposal(nights.history(), f"refs/heads/{BRANCH}-2").branch == f"{BRANCH}-2"
    with pytest.raises(UsageError, match="several open proposals") as caught:
        the_proposal(nights.history(), None)
    assert caught.value.hint == f"name one of: {BRANCH}, {BRANCH}-2"
    reject(nights.desk(), nights.proposal(), edit=None, reason=None)
    with pytest.raises(UsageError, match="decided already"):
        the_proposal(nights.history(), f"refs/heads/{BRANCH}")


def test_an_edit_is_found_by_an_unmistakable_beginning(nights: Nights) -> None:
    """Of an edit or a rule id; a beginning that fits all names none."""
    first, second = add(PNPM), add(TICKET)
    nights.propose(first, second)
    items = nights.proposal().pending

    assert one_of(items, first.id).edit == first
    assert one_of(items, second.rule[:9]).edit.text == TICKET
    with pytest.raises(UsageError, match="several edits"):
        one_of(items, "e1-")
    with pytest.raises(UsageError, match="no edit"):
        one_of(items, "x")
    with pytest.raises(UsageError, match="no edit"):
        one_of((), first.id)
