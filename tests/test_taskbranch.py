"""The branch on which reviewed tasks are shared: what is on it, when it moves, and what it never touches."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.bank import Bank
from skillopt_git.decide import Desk
from skillopt_git.errors import ConfigError, GitError, SafetyError, UsageError
from skillopt_git.gitrepo import GitRepo
from skillopt_git.ledger import Ledger
from skillopt_git.model import Check, Examples, Task, TasksFile
from skillopt_git.notebook import Notebook
from skillopt_git.recall import History
from skillopt_git.redact import Scanner
from skillopt_git.targets import default_base
from skillopt_git.taskbranch import NOTHING, Press, Shared, adopt, refuse, sharing
from skillopt_git.tasksfile import composed, file_text, shared_files
from skillopt_git.waiting import held, is_named
from tests.helpers import Repository
from tests.helpers_git import TOOL, fail_every_hook, snapshot, tree
from tests.learning import OTHER, PNPM, RULE, TICKET, task
from tests.proposals import LEDGER, NOW, stamp

BRANCH = "sleep/tasks-2026-11-29"
PNPM_FILE, TICKET_FILE = f".skillopt/tasks/{PNPM}.json", f".skillopt/tasks/{TICKET}.json"
MARK = "[REDACTED:github-pat:0a1b2c3d]"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def reviewed(number: int, *needs: str, **fields: Any) -> Task:
    return replace(task(number, "val", *needs), **{"origin": "reviewed"} | fields)


def book(*tasks: Task, **fields: Any) -> Notebook:
    return Notebook(bank=Bank(**{"tasks": tasks, "needs": {PNPM: RULE, TICKET: OTHER}} | fields))


def press(repo: Repository, *, later: int = 0, **fields: Any) -> Press:
    opened = GitRepo.open(repo.path)
    now: datetime = NOW + timedelta(hours=later)
    given: dict[str, Any] = {
        "repo": opened,
        "base": default_base(opened, ""),
        "author": TOOL,
        "scanner": Scanner(),
        "now": now,
        "today": date(2026, 11, 29),
    }
    return Press(**given | fields)


def propose(repo: Repository, *tasks: Task, later: int = 0, **bank: Any) -> Shared:
    made = press(repo, later=later)
    files = tuple(shared_files(made.repo, made.base.commit).values())
    return made.propose(replace(book(*tasks, **bank), files=files))


def waiting(repo: Repository) -> tuple[str, ...]:
    made = press(repo)
    return held(made.repo, made.base)


def desk(repo: Repository) -> Desk:
    opened = GitRepo.open(repo.path)
    return Desk(repo=opened, ledger=Ledger(opened, LEDGER, TOOL), history=History(), author=TOOL, stamp=stamp())


def at(repo: Repository, path: str, rev: str = BRANCH) -> TasksFile:
    made = press(repo)
    return shared_files(made.repo, str(made.repo.resolve(rev)))[path]


def merged(repo: Repository, branch: str = BRANCH) -> None:
    repo.git("merge", "--quiet", "--no-ff", "-m", "Merge", branch)


# --- what is shared ----------------------------------------------------------------------------------------------


def ids(tasks: tuple[Task, ...]) -> list[str]:
    return [item.id for item in tasks]


def test_only_what_a_person_reviewed_and_may_be_told_is_shared() -> None:
    """Mined, personal, and what asks for something personal stays; the rest lies together by wish."""
    on = book(task(0), reviewed(1), reviewed(2), reviewed(5, TICKET), reviewed(6, needs=("n1-x",), personal=True))
    on = replace(on, bank=replace(on.bank, tasks=(*on.bank.tasks, reviewed(7, needs=("n1-x",)))))

    found = sharing(on, {})

    assert ids(found.new) == [task(number).id for number in (1, 2, 5)]
    assert {path: ids(file.tasks) for path, file in found.files.items() if file} == {
        PNPM_FILE: [task(1).id, task(2).id],
        TICKET_FILE: [task(5).id],
    }
    assert found.files[PNPM_FILE] == composed([reviewed(1), reviewed(2)], {PNPM: RULE}, reviewed=True)


def test_what_is_there_already_is_no_news() -> None:
    """Nor is what each machine finds out for itself: sessions, family, split, outcome, the hex of a mark."""
    there = {PNPM_FILE: composed([reviewed(1, ask="Use [REDACTED:github-pat]")], {PNPM: RULE}, reviewed=True)}
    own = reviewed(1, ask=f"Use {MARK}", sessions=("x",), family="f1-x", split="train", outcome="fail")
    assert sharing(book(own), there) == NOTHING


@pytest.mark.parametrize("fields", [{"golden": True}, {"rubric": "Is it right?"}, {"checks": ()}, {"ask": "Another"}])
def test_a_changed_task_takes_its_place_and_keeps_its_split(fields: dict[str, Any]) -> None:
    """In the file where it is, beside the others as they are; a mined copy changes nothing."""
    path = ".skillopt/tasks/ours.json"
    there = {path: composed([reviewed(1, family="f1-a"), reviewed(2)], {PNPM: RULE}, reviewed=True)}

    found = sharing(book(reviewed(1, split="train", **fields)), there)

    assert (found.new, found.dropped, ids(found.changed)) == ((), (), [task(1).id])
    file = found.files[path]
    assert file is not None
    assert file.tasks == (reviewed(1, family="f1-a", **fields), reviewed(2))
    assert sharing(book(task(1, **fields)), there) == NOTHING


def test_a_task_that_was_put_out_leaves_its_file_and_an_empty_file_goes() -> None:
    """Wherever it stands; the ids of tasks that nobody shares mean nothing here."""
    there = {
        PNPM_FILE: composed([reviewed(1), reviewed(2)], {PNPM: RULE}, reviewed=True),
        TICKET_FILE: composed([reviewed(5, TICKET)], {TICKET: OTHER}, reviewed=True),
    }
    found = sharing(book(dropped=(task(1).id, task(5).id, "t1-x")), there)
    assert ids(found.dropped) == [task(1).id, task(5).id]
    assert found.files == {
        PNPM_FILE: composed([reviewed(2)], {PNPM: RULE}, reviewed=True),
        TICKET_FILE: None,
    }


def test_a_file_that_nobody_reviewed_stays_so_and_a_shared_rule_keeps_its_words() -> None:
    """What joins it does not vouch for the rest."""
    there = {PNPM_FILE: composed([task(2)], {PNPM: "Install with pnpm"}, reviewed=False)}
    file = sharing(book(reviewed(1)), there).files[PNPM_FILE]
    assert file is not None
    assert (file.reviewed, file.needs) == (False, {PNPM: "Install with pnpm"})


@pytest.mark.parametrize("need", ["../../evil", "a/b", "", "n1-XYZ"])
def test_no_need_leads_to_another_place(need: str) -> None:
    """Whatever somebody called it, the file lies in the folder of shared tasks."""
    own = reviewed(1, needs=(need,) if need else ())
    (path,) = sharing(book(own, needs={need: RULE}), {}).files
    assert path.startswith(".skillopt/tasks/n1-")
    assert path.count("/") == 2


NUMBERED = st.lists(st.integers(0, 9), max_size=6, unique=True)


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(NUMBERED, NUMBERED, NUMBERED, st.booleans())
def test_after_it_is_merged_there_is_nothing_left_to_share(
    own: list[int], there: list[int], gone: list[int], golden: bool
) -> None:
    """Whatever was new, changed or put out; and no other task of the shared bank is touched."""
    before = {".skillopt/tasks/a.json": composed([reviewed(n) for n in there], {PNPM: RULE}, reviewed=True)}
    dropped = tuple(task(n).id for n in gone)
    tasks = tuple(reviewed(n, golden=golden) for n in own if n not in gone)
    on = book(*tasks, dropped=dropped)

    files = {**before, **sharing(on, before).files}
    after = {path: file for path, file in files.items() if file is not None}

    assert sharing(on, after).files == ({".skillopt/tasks/a.json": None} if after == before == {} else {})
    held = {item.id: item for file in after.values() for item in file.tasks}
    assert held.keys() == {task(n).id for n in {*own, *there} - set(gone)}
    assert all(held[task(n).id] == reviewed(n) for n in set(there) - set(own) - set(gone))


# --- the branch --------------------------------------------------------------------------------------------------


def test_the_branch_has_one_commit_that_lists_what_is_in_it(repo: Repository) -> None:
    """Signed by the tool, on the base, with only the files of the shared bank; the hex of a mark stays here."""
    done = propose(repo, reviewed(1, ask=f"Use {MARK} #12 @bob"), reviewed(5, TICKET), task(0))

    assert (done.branch, done.moved) == (BRANCH, True)
    assert repo.git("rev-parse", BRANCH).strip() == done.commit
    assert repo.git("log", "-1", "--format=%an %ae %cn %ct", BRANCH).split() == [
        *(TOOL.name, TOOL.email, TOOL.name, str(int(NOW.timestamp())))
    ]
    assert repo.git("rev-parse", f"{BRANCH}^").strip() == repo.git("rev-parse", "main").strip()
    assert repo.git("diff", "--name-only", "main", BRANCH).split() == [PNPM_FILE, TICKET_FILE]
    message = repo.git("log", "-1", "--format=%B", BRANCH)
    assert message.startswith("Share tasks: 2 new\n\nNew: Use [REDACTED:github-pat] # 12 @ bob\n")
    for part in (f"  {task(1).id}: {RULE}\n", f"  {task(5).id}: {OTHER}\n"):
        assert part in message
    assert "0a1b2c3d" not in message + "".join(str(item) for item in tree(repo, BRANCH).values())
    assert repo.git("log", "-1", "--format=%(trailers:key=SkillOpt-Tasks,valueonly)", BRANCH).strip()
    assert json.loads(repo.git("show", f"{BRANCH}:{PNPM_FILE}"))["reviewed"] is True


def test_nothing_of_the_users_is_touched(repo: Repository) -> None:
    """Work tree, index, HEAD, stash and hooks, in the middle of other work."""
    fail_every_hook(repo)
    repo.write({"README.md": "# mine\n", PNPM_FILE: "not json"})
    repo.git("add", "README.md")
    before = snapshot(repo, ours=f"refs/heads/{BRANCH}")

    propose(repo, reviewed(1))

    assert snapshot(repo, ours=f"refs/heads/{BRANCH}") == before
    assert not (repo.path / "hook-ran").exists()


def test_the_same_again_moves_nothing(repo: Repository) -> None:
    """Hours later, from another order of tasks, also when the base got other commits meanwhile."""
    first = propose(repo, reviewed(1), reviewed(2))
    repo.commit("Other work", {"README.md": "# more\n"})
    again = propose(repo, reviewed(2, sessions=("s9",)), reviewed(1), later=30)

    assert (again.branch, again.commit, again.moved) == (first.branch, first.commit, False)
    assert waiting(repo) == (BRANCH,)


def test_the_commit_is_a_function_of_what_it_shares(repo: Repository) -> None:
    """Another clone that shares the same at the same moment makes the same commit."""
    first = propose(repo, reviewed(1), reviewed(2))
    repo.git("branch", "-D", BRANCH)
    assert propose(repo, reviewed(2), reviewed(1)).commit == first.commit


def test_more_tasks_rebuild_the_open_branch(repo: Repository) -> None:
    """One commit on the same base, of the same time; fewer tasks rebuild it too."""
    first = propose(repo, reviewed(1))
    base = repo.git("rev-parse", "main").strip()
    repo.commit("Other work", {"README.md": "# more\n"})

    more = propose(repo, reviewed(1), reviewed(5, TICKET), later=30)

    assert (more.branch, more.moved) == (BRANCH, True)
    assert repo.git("rev-parse", f"{BRANCH}^").strip() == base
    assert repo.git("log", "-1", "--format=%ct", BRANCH).strip() == str(int(NOW.timestamp()))
    assert ids(at(repo, TICKET_FILE).tasks) == [task(5).id]
    assert propose(repo, reviewed(1), later=60).commit == first.commit


def test_what_turned_out_to_be_personal_leaves_the_open_branch(repo: Repository) -> None:
    """Also where that takes a whole file with it."""
    first = propose(repo, reviewed(1))
    propose(repo, reviewed(1), reviewed(5, TICKET), later=30)
    assert propose(repo, reviewed(1), reviewed(5, TICKET, personal=True), later=60).commit == first.commit


def test_a_change_of_the_same_file_at_the_base_moves_the_branch_there(repo: Repository) -> None:
    """So that it still merges, and loses nothing that was shared meanwhile."""
    propose(repo, reviewed(1))
    theirs = file_text(composed([reviewed(2)], {PNPM: RULE}, reviewed=True))
    head = repo.commit("Share another", {PNPM_FILE: theirs})

    done = propose(repo, reviewed(1), later=30)

    assert done.moved
    assert repo.git("rev-parse", f"{BRANCH}^").strip() == head
    assert ids(at(repo, PNPM_FILE).tasks) == [task(1).id, task(2).id]


def squash(repo: Repository) -> None:
    repo.git("merge", "--quiet", "--squash", BRANCH)
    repo.git("commit", "--quiet", "-m", "Squashed")


@pytest.mark.parametrize("merge", [merged, squash])
def test_what_was_merged_is_not_shared_again(repo: Repository, merge: Callable[[Repository], None]) -> None:
    """And what is new then gets a branch of its own, beside the old one."""
    first = propose(repo, reviewed(1))
    merge(repo)

    assert propose(repo, reviewed(1), later=30) == Shared(sharing=NOTHING)
    assert waiting(repo) == ()
    second = propose(repo, reviewed(1), reviewed(2), later=30)
    assert (second.branch, second.moved) == (f"{BRANCH}-2", True)
    assert repo.git("rev-parse", BRANCH).strip() == first.commit
    assert ids(second.sharing.new) == [task(2).id]


def test_what_was_merged_here_and_not_pushed_yet_is_not_shared_again(repo: Repository) -> None:
    """The base is what the remote has; the local branch knows better."""
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(repo.path.parent / "origin.git"))
    repo.git("remote", "add", "origin", str(repo.path.parent / "origin.git"))
    repo.git("fetch", "--quiet", "origin")
    repo.git("remote", "set-head", "origin", "main")
    propose(repo, reviewed(1))
    merged(repo)

    assert press(repo).base.commit != repo.git("rev-parse", "main").strip()
    assert propose(repo, reviewed(1), later=30) == Shared(sharing=NOTHING)
    assert propose(repo, reviewed(1), reviewed(2), later=30).branch == f"{BRANCH}-2"


def test_a_deleted_branch_rejects_nothing(repo: Repository) -> None:
    """The tasks are offered again as if it had never been there."""
    first = propose(repo, reviewed(1))
    repo.git("branch", "-D", BRANCH)
    again = propose(repo, reviewed(1))
    assert (again.commit, again.branch, again.moved) == (first.commit, BRANCH, True)


def commit_on_top(repo: Repository) -> None:
    repo.git("switch", "--quiet", BRANCH)
    repo.commit("A word of mine", {"NOTES.md": "mine\n"})
    repo.git("switch", "--quiet", "main")


def amend(repo: Repository) -> None:
    repo.git("switch", "--quiet", BRANCH)
    repo.git("commit", "--quiet", "--amend", "-m", "Mine now")
    repo.git("switch", "--quiet", "main")


def amend_as_the_tool(repo: Repository) -> None:
    """The worst case: the tool's own name, and its trailer, on other files."""
    repo.git("switch", "--quiet", BRANCH)
    repo.write({"NOTES.md": "mine\n"})
    repo.git("add", "--all")
    who = ["-c", f"user.name={TOOL.name}", "-c", f"user.email={TOOL.email}"]
    repo.git(*who, "commit", "--quiet", "--amend", "--no-edit")
    repo.git("switch", "--quiet", "main")


@pytest.mark.parametrize("touch", [commit_on_top, amend_as_the_tool])
def test_a_branch_that_somebody_touched_is_left_alone(repo: Repository, touch: Callable[[Repository], None]) -> None:
    """Said plainly when there is more to share; without more there is nothing to say."""
    propose(repo, reviewed(1))
    touch(repo)
    tip = repo.git("rev-parse", BRANCH).strip()

    held = propose(repo, reviewed(1), later=30)
    assert (held.branch, held.commit, held.moved) == (BRANCH, tip, False)
    with pytest.raises(UsageError, match="left as it is, because somebody committed to it") as caught:
        propose(repo, reviewed(1), reviewed(2), later=30)

    assert caught.value.hint == "merge it, or delete it, and try again"
    assert repo.git("rev-parse", BRANCH).strip() == tip


def test_a_branch_that_somebody_sits_on_is_left_alone(repo: Repository) -> None:
    """Its files would change under them; the same tasks again move nothing anyway."""
    first = propose(repo, reviewed(1))
    repo.git("worktree", "add", "--quiet", str(repo.path.parent / "look"), BRANCH)

    assert propose(repo, reviewed(1), later=30).commit == first.commit
    with pytest.raises(UsageError, match=r"because it is checked out in .*look"):
        propose(repo, reviewed(1), reviewed(2), later=30)


def test_a_branch_of_somebody_elses_is_none_of_ours(repo: Repository) -> None:
    """Whatever its name; a new one is numbered. What was made ours no longer is left where it is."""
    repo.git("switch", "--quiet", "-c", BRANCH)
    repo.commit("Mine", {"NOTES.md": "mine\n"})
    repo.git("switch", "--quiet", "main")
    repo.git("branch", "sleep/tasks-about-tea")
    tip = repo.git("rev-parse", BRANCH).strip()

    assert propose(repo, reviewed(1)).branch == f"{BRANCH}-2"
    assert repo.git("rev-parse", BRANCH).strip() == tip


def test_an_amended_branch_is_somebody_elses(repo: Repository) -> None:
    """Without its trailer nothing tells that it was ours."""
    propose(repo, reviewed(1))
    amend(repo)
    assert propose(repo, reviewed(1), later=30).branch == f"{BRANCH}-2"


def test_a_name_that_a_remote_has_is_not_taken(repo: Repository) -> None:
    """A colleague's machine may share on the same day."""
    repo.git("update-ref", f"refs/remotes/origin/{BRANCH}", "main")
    assert propose(repo, reviewed(1)).branch == f"{BRANCH}-2"


def test_a_task_put_out_again_before_it_was_merged_is_said_to_wait(repo: Repository) -> None:
    """Nothing is left to share; the branch that still holds it is named."""
    propose(repo, reviewed(1))
    assert propose(repo, later=30) == Shared(sharing=NOTHING)
    assert waiting(repo) == (BRANCH,)


@pytest.mark.parametrize(
    "fields",
    [
        {"ask": f"Use {SECRET}"},
        {"context": f"Use\t{SECRET}\n"},
        {"rubric": f"\\{SECRET}"},
        {"sessions": (SECRET,)},
        {"examples": Examples(pass_=f"export TOKEN={SECRET}")},
        {"checks": (Check(op="contains", arg=SECRET),)},
    ],
)
def test_a_secret_is_refused_before_anything_is_written(repo: Repository, fields: dict[str, Any]) -> None:
    """In any field, as it is or escaped; place and kind are named."""
    before = repo.git("for-each-ref")
    with pytest.raises(SafetyError) as caught:
        propose(repo, reviewed(1, **fields))
    assert SECRET not in caught.value.message
    assert PNPM_FILE in caught.value.message
    assert repo.git("for-each-ref") == before


def test_a_secret_of_one_task_is_found_among_many(repo: Repository) -> None:
    """Each text is looked at, not only the last of its kind; nor is an answer that passes taken for a password."""
    fine = Examples(pass_="hunter2hunter2", fail="No.")
    tasks = [reviewed(number, examples=fine) for number in range(2, 9)]
    assert propose(repo, *tasks).moved
    with pytest.raises(SafetyError, match=r"tasks\[0\]: ask: github-pat"):
        propose(repo, reviewed(1, ask=f"Use {SECRET}"), *tasks)


def test_a_denied_word_is_refused_in_the_message_too(repo: Repository) -> None:
    """Also where only what is taken out of a file says it."""
    repo.commit(
        "Share", {PNPM_FILE: file_text(composed([reviewed(1, ask="Ask bluebird")], {PNPM: RULE}, reviewed=True))}
    )
    with pytest.raises(SafetyError, match="the commit's message"):
        press(repo, scanner=Scanner(("bluebird",))).propose(book(dropped=(task(1).id,)))


def test_what_may_not_be_written_is_refused(repo: Repository) -> None:
    """A folder of shared tasks that leads out of the repository."""
    (repo.path / ".skillopt").mkdir()
    (repo.path / ".skillopt/tasks").symlink_to("/tmp")
    repo.commit("Link", {})
    with pytest.raises(SafetyError, match="a link to a folder"):
        propose(repo, reviewed(1))


def test_a_broken_shared_file_is_told(repo: Repository) -> None:
    """It is not written over."""
    repo.commit("Break", {PNPM_FILE: "{"})
    with pytest.raises(ConfigError, match="not a valid tasks file"):
        propose(repo, reviewed(1))


# --- deciding ----------------------------------------------------------------------------------------------------


def test_adopting_is_a_merge_commit_of_the_person(repo: Repository) -> None:
    """The work tree follows, the tasks are shared, and doing it twice is doing it once."""
    done = propose(repo, reviewed(1))

    adopted = adopt(desk(repo), press(repo).base, f"refs/heads/{BRANCH}")

    assert repo.git("log", "-1", "--format=%P", "main").split()[1] == done.commit
    assert repo.git("log", "-1", "--format=%an", "main").strip() == "Alice Example"
    assert (repo.path / PNPM_FILE).is_file()
    assert (adopted.branch, adopted.commit) == ("main", repo.git("rev-parse", "main").strip())
    again = adopt(desk(repo), press(repo).base, BRANCH)
    assert again.commit == adopted.commit
    assert "merged already" in again.said[0]


def test_a_conflict_is_for_a_person_to_settle(repo: Repository) -> None:
    """Nothing is touched."""
    propose(repo, reviewed(1))
    repo.commit("Share another", {PNPM_FILE: file_text(composed([reviewed(2)], {PNPM: RULE}, reviewed=True))})
    before = snapshot(repo)
    with pytest.raises(GitError, match="the merge has conflicts"):
        adopt(desk(repo), press(repo).base, BRANCH)
    assert snapshot(repo) == before


def test_refusing_deletes_the_branch_and_remembers_nothing(repo: Repository) -> None:
    """The tip stays at an anchor, and the tasks are offered again."""
    tip = propose(repo, reviewed(1)).commit

    done = refuse(desk(repo), BRANCH)

    assert repo.git("rev-parse", f"refs/skillopt/rejected/{BRANCH}").strip() == tip
    assert f"refs/heads/{BRANCH}" not in repo.git("for-each-ref")
    assert "Nothing is rejected by that" in done.said[1]
    assert desk(repo).ledger.events() == ()
    assert propose(repo, reviewed(1)).branch == BRANCH


def test_a_branch_that_is_not_here_says_so(repo: Repository) -> None:
    """For both decisions."""
    with pytest.raises(UsageError, match="is gone"):
        adopt(desk(repo), press(repo).base, BRANCH)
    with pytest.raises(UsageError, match="is gone"):
        refuse(desk(repo), BRANCH)


def test_the_names_of_such_branches_are_told_from_others() -> None:
    """A proposal of rules is no branch of tasks."""
    assert [is_named(name) for name in (BRANCH, f"refs/heads/{BRANCH}-12")] == [True, True]
    assert not any(map(is_named, ("sleep/2026-11-29", "sleep/tasks-about-tea", f"x/{BRANCH}", f"{BRANCH}-0")))
