"""From events to a branch: reproducible, never over somebody else's work, and never with a secret."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from skillopt_git.branches import behind, state
from skillopt_git.errors import ConfigError, GitError, RefMoved, SafetyError
from skillopt_git.ledger import Ledger
from skillopt_git.model import Edit
from skillopt_git.publish import branch_name, build, publish
from skillopt_git.redact import SECRETS, Scanner
from tests.helpers import Repository
from tests.helpers_git import TOOL, snapshot
from tests.proposals import BRANCH, LEDGER, MEMORY, PNPM, RUFF, TICKET, Nights, add, memory, stamp

TODAY = date(2026, 11, 29)
SKILL = ".claude/skills/learned/SKILL.md"


@pytest.fixture
def nights(repo: Repository) -> Nights:
    return Nights(repo)


def test_the_same_proposal_is_the_same_commits_in_every_clone(
    repo: Repository, nights: Nights, tmp_path: Path, isolated: Path
) -> None:
    """Whoever builds it, under whatever name and time zone: a function of base and events."""
    repo.commit("Notes", {MEMORY: memory(RUFF)})
    built = nights.propose(add(PNPM), add(TICKET, SKILL))
    repo.git("clone", "--quiet", f"file://{repo.path}", str(tmp_path / "clone"))
    clone = Nights(Repository(tmp_path / "clone"))
    clone.repository.git("fetch", "--quiet", "origin", f"{LEDGER}:{LEDGER}")
    (isolated / ".gitconfig").write_text(
        "[user]\n\tname = Bob\n\temail = bob@example.invalid\n[core]\n\tautocrlf = true\n"
    )

    again = build(clone.repo, clone.ledger.evidence, clone.proposal(), TOOL, scanner=SECRETS)

    assert again == built
    assert (
        repo.git("log", "--format=%an %cn %at %ct", "-1", BRANCH).split() == ["skillopt-git"] * 2 + ["1795921200"] * 2
    )


def test_one_commit_an_edit_on_top_of_each_other(repo: Repository, nights: Nights) -> None:
    """The file's mode, line ends and byte order mark stay; a new file begins with its scaffold."""
    repo.write({MEMORY: "\ufeff# Notes\r\n"})
    (repo.path / MEMORY).chmod(0o755)
    repo.commit("Notes", {})

    built = nights.propose(add(PNPM), add(TICKET), add(RUFF, SKILL))

    assert repo.git("rev-list", "--reverse", f"main..{BRANCH}").split() == list(built.commits)
    assert repo.git("ls-tree", BRANCH, MEMORY).startswith("100755")
    text = repo.git("show", f"{BRANCH}:{MEMORY}")
    assert text.startswith("\ufeff# Notes\r\n")
    assert f"- {PNPM}\r\n- {TICKET}\r\n" in text
    assert repo.git("show", f"{BRANCH}:{SKILL}").startswith("---\nname: learned\n")
    assert repo.git("diff", "--name-only", f"{built.commits[1]}..{BRANCH}").split() == [SKILL]


def test_publishing_again_moves_and_says_nothing(repo: Repository, nights: Nights) -> None:
    """Same tip, same ledger."""
    nights.propose(add(PNPM))
    before = snapshot(repo, ours="refs/none/")

    nights.publish(number=2)

    assert snapshot(repo, ours="refs/none/") == before


def test_a_broken_off_publication_is_completed(repo: Repository, nights: Nights) -> None:
    """The branch was moved and nobody said so: the event follows, the branch stays."""
    nights.record(add(PNPM))
    built = build(nights.repo, nights.ledger.evidence, nights.proposal(), TOOL, scanner=SECRETS)
    repo.git("update-ref", f"refs/heads/{BRANCH}", built.tip)
    assert nights.proposal().unfinished

    nights.publish()

    assert nights.proposal().open
    assert nights.proposal().tip == built.tip == repo.git("rev-parse", BRANCH).strip()


def test_a_branch_that_moved_meanwhile_is_not_overwritten(repo: Repository, nights: Nights) -> None:
    """Try again (75): neither ref nor ledger says anything new."""
    nights.propose(add(PNPM))
    nights.record(add(TICKET), number=2, start=1)
    moved = repo.git("commit-tree", "-p", BRANCH, "-m", "Review", f"{BRANCH}^{{tree}}").strip()
    repo.git("update-ref", f"refs/heads/{BRANCH}", moved)
    ledger = repo.git("rev-parse", LEDGER)

    with pytest.raises(RefMoved) as caught:
        nights.publish(number=2)

    assert caught.value.exit_code == 75
    assert repo.git("rev-parse", BRANCH).strip() == moved
    assert repo.git("rev-parse", LEDGER) == ledger
    assert behind(nights.proposal())


def test_who_has_a_branch_on_the_desk_keeps_it(repo: Repository, nights: Nights, tmp_path: Path) -> None:
    """Free, checked out in whichever work tree, committed to, or gone."""
    nights.record(add(PNPM))
    assert state(nights.repo, nights.proposal()) == "free"
    nights.publish()
    assert state(nights.repo, nights.proposal()) == "free"
    repo.git("worktree", "add", "--quiet", str(tmp_path / "other"), BRANCH)
    assert state(nights.repo, nights.proposal()) == "checked out"
    Repository(tmp_path / "other").commit("Review", {"notes.md": "x\n"})
    assert state(nights.repo, nights.proposal()) == "touched"
    repo.git("worktree", "remove", "--force", str(tmp_path / "other"))
    repo.git("branch", "--quiet", "-D", BRANCH)
    assert state(nights.repo, nights.proposal()) == "gone"


def test_a_branch_with_other_edits_than_are_pending_is_behind(nights: Nights) -> None:
    """Not before it is published, and not when it holds just those."""
    nights.record(add(PNPM))
    assert not behind(nights.proposal())
    nights.publish()
    assert not behind(nights.proposal())
    nights.record(add(TICKET), number=2, start=1)
    assert behind(nights.proposal())
    nights.publish(number=2)
    assert not behind(nights.proposal())


def test_a_name_is_used_once(repo: Repository, nights: Nights) -> None:
    """Not one of a proposal that is long gone, of a local branch, or of one the remote has."""
    assert branch_name(nights.repo, nights.history(), TODAY) == BRANCH
    nights.propose(add(PNPM))
    repo.git("branch", "--quiet", "-D", BRANCH)
    assert branch_name(nights.repo, nights.history(), TODAY) == f"{BRANCH}-2"
    repo.git("branch", f"{BRANCH}-2")
    repo.git("update-ref", f"refs/remotes/origin/{BRANCH}-3", "HEAD")
    assert branch_name(nights.repo, nights.history(), TODAY) == f"{BRANCH}-4"


def test_a_branch_named_like_our_folder_is_in_the_way(repo: Repository, nights: Nights) -> None:
    """Git cannot have both; the error says so before anything is recorded."""
    repo.git("branch", "sleep")

    with pytest.raises(ConfigError, match="leaves no room"):
        branch_name(nights.repo, nights.history(), TODAY)


def test_a_secret_in_the_document_stops_the_publication(repo: Repository, nights: Nights) -> None:
    """Named by place and kind, not by value; no branch."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    repo.commit("Oh no", {MEMORY: f"# Notes\n\ntoken: {secret}\n"})
    nights.record(add(PNPM))

    with pytest.raises(SafetyError, match=MEMORY) as caught:
        nights.publish()

    assert secret not in caught.value.message
    assert repo.git("branch", "--list", BRANCH) == ""


@pytest.mark.parametrize(
    ("text", "word", "place"), [("# Notes for Globex\n", "globex", MEMORY), ("# Notes\n", "Sleep", "the branch name")]
)
def test_a_denied_word_stops_the_publication(
    repo: Repository, nights: Nights, text: str, word: str, place: str
) -> None:
    """In the document or in the branch's name, as a secret would; the word is not told."""
    repo.commit("Notes", {MEMORY: text})
    nights.record(add(PNPM))
    strict = Ledger(nights.repo, LEDGER, TOOL, scanner=Scanner((word,)))

    with pytest.raises(SafetyError, match=f"{place}: deny-word") as caught:
        publish(nights.repo, strict, nights.proposal(), author=TOOL, stamp=stamp())

    assert word.casefold() not in caught.value.message.casefold()
    assert repo.git("branch", "--list", BRANCH) == ""


def test_an_edit_that_does_not_fit_or_may_not_be_written_is_refused(nights: Nights) -> None:
    """The events of a ledger are data from elsewhere: they name no other file, and no rule that is not there."""
    nights.record(Edit(op="delete", target=MEMORY, anchor=PNPM))
    with pytest.raises(GitError, match="does not fit"):
        nights.publish()
    nights.record(add(PNPM, ".github/CLAUDE.md"), branch=f"{BRANCH}-2")
    with pytest.raises(SafetyError, match="may not be written"):
        nights.publish(f"{BRANCH}-2")


def test_a_branch_is_rebuilt_on_the_base_its_newest_edit_was_tried_at(repo: Repository, nights: Nights) -> None:
    """The document of the new edit is another one now; the older edit's is the same, and so is its rule."""
    nights.propose(add(PNPM))
    moved = repo.commit("A skill", {SKILL: "---\nname: learned\ndescription: d\n---\n"})
    nights.record(add(TICKET, SKILL), number=2, start=1)

    built = nights.publish(number=2)

    assert repo.git("rev-parse", f"{BRANCH}~2").strip() == moved
    assert repo.git("show", f"{BRANCH}:{SKILL}").startswith("---\nname: learned\ndescription: d\n---\n")
    assert nights.proposal().tip == built.tip
