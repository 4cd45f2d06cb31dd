"""Two clones and one remote: what either recorded is in both, whoever pushes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from skillopt_git import exchange
from skillopt_git.branches import state
from skillopt_git.decide import reject
from skillopt_git.errors import ConfigError, GitError, RefMoved
from skillopt_git.exchange import Exchanged, Outgoing
from skillopt_git.ledger import Ledger
from skillopt_git.model import Edit
from skillopt_git.outcomes import settled
from skillopt_git.remote import Remote
from tests.helpers import Repository
from tests.helpers_git import TOOL
from tests.proposals import BRANCH, LEDGER, MEMORY, PNPM, RUFF, TICKET, Nights, add, memory, stamp

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach


@dataclass(frozen=True)
class Clone(Nights):
    """A clone with its ledger, and the way to the server."""

    @property
    def remote(self) -> Remote:
        return Remote(self.repo, "origin")

    def push(self, number: int = 70, *, simulated: bool = False) -> Exchanged:
        outgoing = Outgoing(author=TOOL, stamp=stamp(number), new=True, simulated=simulated)
        return exchange.push(self.repo, self.ledger, self.remote, outgoing)

    def push_ledger(self) -> Exchanged:
        return exchange.push(self.repo, self.ledger, self.remote, Outgoing(author=TOOL, stamp=stamp(70), new=False))

    def fetch(self, *, bring: bool = False) -> int:
        return len(exchange.fetch(self.repo, self.ledger, self.remote, stamp(71), bring=bring))

    def there(self) -> dict[str, str]:
        return self.remote.refs("refs/skillopt/*", "refs/heads/sleep/*")

    def text(self, rev: str) -> str:
        return self.repository.git("show", f"{rev}:{MEMORY}")


@pytest.fixture
def server(repo: Repository, tmp_path: Path) -> Repository:
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "server.git"))
    return Repository(tmp_path / "server.git")


@pytest.fixture
def clones(server: Repository, tmp_path: Path) -> tuple[Clone, Clone]:
    made = []
    for name in ("one", "two"):
        server.git("clone", "--quiet", f"file://{server.path}", str(tmp_path / name))
        made.append(Clone(Repository(tmp_path / name)))
    return made[0], made[1]


def tip(clone: Clone, rev: str = BRANCH) -> str:
    return clone.repository.git("rev-parse", rev).strip()


def test_a_remote_without_a_ledger_gets_one(clones: tuple[Clone, Clone]) -> None:
    """Branch and ledger go together, and again is nothing."""
    one, two = clones
    assert one.fetch() == 0
    assert one.push() == Exchanged()
    built = one.propose(add(PNPM))

    done = one.push()

    assert set(done.went) == {LEDGER, f"refs/heads/{BRANCH}"}
    assert one.there() == {LEDGER: tip(one, LEDGER), f"refs/heads/{BRANCH}": built.tip}
    assert one.push() == Exchanged()
    assert two.fetch() == 2
    assert two.ledger.events() == one.ledger.events()
    assert two.proposal().open


def test_what_two_recorded_is_in_both(clones: tuple[Clone, Clone]) -> None:
    """The ledger of each began on its own; who comes second joins both, and the first gets it with a fetch."""
    one, two = clones
    one.propose(add(PNPM))
    one.push()
    two.propose(add(TICKET), branch="sleep/2026-11-28", number=2)

    done = two.push()

    assert len(done.came) == 2
    assert one.fetch() == 2
    assert one.ledger.events() == two.ledger.events()
    assert {item.branch for item in one.history().proposals} == {BRANCH, "sleep/2026-11-28"}


def test_who_loses_the_race_joins_what_won_it(clones: tuple[Clone, Clone], monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the push another clone was there."""
    one, two = clones
    one.propose(add(PNPM))
    two.propose(add(TICKET), branch="sleep/2026-11-28", number=2)
    pushed = Remote.push
    waiting = [lambda: one.push()]

    def late(self: Remote, updates: object) -> None:
        if self.repo.root == two.repository.path and waiting:
            waiting.pop()()
        pushed(self, updates)  # type: ignore[arg-type]

    monkeypatch.setattr(Remote, "push", late)
    two.push()

    assert len(two.ledger.events()) == 4
    assert len(two.there()) == 3
    assert one.fetch() == 2


def test_a_race_is_not_run_for_ever(clones: tuple[Clone, Clone], monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who is always quicker is told, and what was recorded here stays here."""
    one, _ = clones
    one.propose(add(PNPM))

    def lost(self: Remote, updates: object) -> None:
        raise RefMoved("moved")

    monkeypatch.setattr(Remote, "push", lost)
    monkeypatch.setattr("skillopt_git.ledger.MOST_TRIES", 3)
    with pytest.raises(RefMoved):
        one.push()
    assert len(one.ledger.events()) == 2


# --- the same branch ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), (add(RUFF),)])
def test_a_name_that_two_clones_chose_becomes_one_branch(clones: tuple[Clone, Clone], more: tuple[Edit, ...]) -> None:
    """The edits of both are on it, and each clone goes on from there."""
    one, two = clones
    one.propose(add(PNPM))
    one.push()
    two.propose(add(TICKET), *more, number=2)
    alone = tip(two)

    two.push()

    assert tip(two) not in (alone, tip(one))
    assert two.there()[f"refs/heads/{BRANCH}"] == tip(two)
    assert {item.edit.sentence for item in two.proposal().pending} == {PNPM, TICKET, *(edit.sentence for edit in more)}
    assert all(rule in two.text(BRANCH) for rule in (PNPM, TICKET))
    assert one.fetch() > 0
    assert tip(one) == tip(two)
    assert one.push() == Exchanged()
    assert one.proposal().tips == {tip(two)}


def test_one_wish_that_two_clones_answered_is_answered_once(clones: tuple[Clone, Clone]) -> None:
    """Both heard the same; which wording stays is the same for whoever looks."""
    one, two = clones
    one.propose(add(PNPM, need="n1-0000000000000001"))
    one.push()
    two.propose(add("Use pnpm here and never npm", need="n1-0000000000000001"), add(TICKET), number=2)

    two.push()

    proposal = two.proposal()
    (left,) = [item for item in proposal.edits if item.outcome is not None]
    assert left.outcome is not None
    assert (left.outcome.type, left.outcome.reason) == ("superseded", "another clone proposed it at the same time")
    assert len(proposal.pending) == 2
    assert left.edit.sentence not in two.text(BRANCH)


def test_the_next_run_makes_one_branch_of_it_too(clones: tuple[Clone, Clone]) -> None:
    """Only the ledgers met, by a fetch: the branch is behind, and free to be rebuilt."""
    one, two = clones
    one.propose(add(PNPM))
    one.push_ledger()
    two.propose(add(TICKET), number=2)

    two.fetch()

    proposal = two.proposal()
    assert len(proposal.tips) == 2
    assert state(two.repo, proposal) == "free"
    two.publish(number=3)
    assert two.proposal().tips == {tip(two)}


def test_what_somebody_committed_at_the_remote_stays(clones: tuple[Clone, Clone]) -> None:
    """A reviewer pushed to the branch: it is not moved, and that is said; the ledger goes all the same."""
    one, two = clones
    one.propose(add(PNPM))
    one.push()
    two.repository.git("fetch", "--quiet")
    two.repository.git("switch", "--quiet", BRANCH)
    two.repository.commit("Reworded", {MEMORY: memory("Use pnpm, and not npm")})
    two.repository.git("push", "--quiet", "origin", BRANCH)

    done = one.push()

    assert one.there()[f"refs/heads/{BRANCH}"] == tip(two)
    assert done.went == ()
    assert tip(one) == tip(two)
    assert state(one.repo, one.proposal()) == "touched"


def test_what_was_here_before_it_was_written_to_there_stays_here(clones: tuple[Clone, Clone]) -> None:
    """An edit that did not reach the remote before the reviewer did: the branch there is theirs, and that is said."""
    one, two = clones
    one.propose(add(PNPM))
    one.push()
    two.repository.git("fetch", "--quiet")
    two.repository.git("switch", "--quiet", BRANCH)
    two.repository.commit("Reworded", {MEMORY: memory("Use pnpm, and not npm")})
    two.repository.git("push", "--quiet", "origin", BRANCH)
    one.repository.git("switch", "--quiet", BRANCH)
    one.record(add(TICKET), number=2, start=1)

    done = one.push()

    assert one.there()[f"refs/heads/{BRANCH}"] == tip(two) != tip(one)
    assert done.went == (LEDGER,)


def test_a_refused_branch_is_taken_away_at_the_remote_too(clones: tuple[Clone, Clone]) -> None:
    """Its anchor goes along, so that others can still read the change."""
    one, two = clones
    built = one.propose(add(PNPM))
    one.push()
    reject(one.desk(), one.proposal(), edit=None, reason="no")

    done = one.push()

    anchor = f"refs/skillopt/rejected/{BRANCH}"
    assert set(done.went) == {LEDGER, anchor}
    assert done.gone == (f"refs/heads/{BRANCH}",)
    assert one.there() == {LEDGER: tip(one, LEDGER), anchor: built.tip}
    two.fetch()
    assert [item.text for item in two.history().negatives] == [PNPM]


def test_a_simulated_proposal_stays_here_unless_it_may_go(clones: tuple[Clone, Clone]) -> None:
    """What was acted out is nobody else's business."""
    one, _ = clones
    one.propose(add(PNPM), simulated=True)

    assert one.push().went == (LEDGER,)
    assert one.push(simulated=True).went == (f"refs/heads/{BRANCH}",)


def test_a_branch_of_another_clone_is_brought_to_be_added_to(clones: tuple[Clone, Clone]) -> None:
    """As it is at the remote, and only as the tool left it."""
    one, two = clones
    built = one.propose(add(PNPM))
    one.push()
    two.fetch()
    assert state(two.repo, two.proposal()) == "gone"

    two.fetch(bring=True)

    assert tip(two) == built.tip
    assert state(two.repo, two.proposal()) == "free"
    two.record(add(TICKET), number=2, start=1)
    two.publish(number=2)
    assert two.push().went == (LEDGER, f"refs/heads/{BRANCH}")


def test_a_branch_that_is_not_here_is_not_pushed(clones: tuple[Clone, Clone]) -> None:
    """Only its ledger is known."""
    one, two = clones
    one.propose(add(PNPM))
    one.push()
    two.fetch()
    two.append([settled("frozen", two.proposal().pending[0], stamp(9))])

    assert two.push().went == (LEDGER,)


def test_a_branch_with_a_strange_tip_is_not_pushed(clones: tuple[Clone, Clone]) -> None:
    """Somebody committed to it here."""
    one, _ = clones
    one.propose(add(PNPM))
    one.repository.git("switch", "--quiet", BRANCH)
    one.repository.commit("Mine", {"notes.md": "x\n"})

    assert one.push().went == (LEDGER,)


def test_who_takes_a_commit_back_at_the_remote_is_not_overruled(
    clones: tuple[Clone, Clone], server: Repository
) -> None:
    """Where they put the branch, the tool had left it once: only the last time counts."""
    one, _ = clones
    first = one.propose(add(PNPM)).tip
    one.push()
    one.record(add(TICKET), number=2, start=1)
    one.publish(number=2)
    one.push()
    server.git("update-ref", f"refs/heads/{BRANCH}", first)
    one.record(add(RUFF), number=3, start=2)
    one.publish(number=3)

    done = one.push()

    assert one.there()[f"refs/heads/{BRANCH}"] == first
    assert "somebody else has written to it" in done.notes[0]


def test_who_takes_a_commit_back_here_keeps_it_so(clones: tuple[Clone, Clone]) -> None:
    """A fetch moves a branch only from where this clone left it."""
    one, two = clones
    first = one.propose(add(PNPM)).tip
    one.push()
    two.fetch(bring=True)
    two.record(add(TICKET), number=2, start=1)
    two.publish(number=2)
    two.push()
    two.repository.git("update-ref", f"refs/heads/{BRANCH}", first)
    one.fetch()
    assert tip(one) != first

    two.fetch(bring=True)

    assert tip(two) == first


def test_a_branch_that_was_deleted_at_the_remote_is_not_put_there_again(
    clones: tuple[Clone, Clone], server: Repository
) -> None:
    one, _ = clones
    one.propose(add(PNPM))
    one.push()
    server.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    one.repository.git("fetch", "--quiet", "--prune")

    assert one.push().went == (LEDGER,)
    (item,) = one.proposal().edits
    assert item.outcome is not None
    assert (item.outcome.type, item.outcome.reason) == ("expired", "its branch was deleted at origin")
    assert one.push() == Exchanged()


def test_the_ledger_alone_takes_along_only_what_is_there_already(clones: tuple[Clone, Clone]) -> None:
    """So that what the remote's ledger says of a branch stays true."""
    one, _ = clones
    one.propose(add(PNPM))
    assert one.push_ledger().went == (LEDGER,)
    assert set(one.push().went) == {f"refs/heads/{BRANCH}"}
    one.record(add(TICKET), number=2, start=1)
    one.publish(number=2)

    assert set(one.push_ledger().went) == {LEDGER, f"refs/heads/{BRANCH}"}


# --- other ledgers -----------------------------------------------------------------------------------------------


def test_a_ledger_that_was_rewritten_at_the_remote_loses_nothing(
    clones: tuple[Clone, Clone], server: Repository
) -> None:
    """Somebody forced an older one over it: what this clone knows comes back with the next push."""
    one, two = clones
    one.propose(add(PNPM))
    one.push()
    older = tip(one, LEDGER)
    one.record(add(TICKET), number=2, start=1)
    one.push()
    two.fetch()
    server.git("update-ref", LEDGER, older)

    assert two.fetch() == 0
    assert two.push().went == (LEDGER,)

    assert one.fetch() == 0
    assert one.there()[LEDGER] == tip(one, LEDGER) == tip(two, LEDGER)


@pytest.mark.parametrize("where", ["remote", "local", "tracked"])
def test_a_ledger_under_its_other_name_is_joined(clones: tuple[Clone, Clone], where: str) -> None:
    """Where a server takes branches only, the ledger is one; clones with either setting understand each other."""
    one, two = clones
    branch = "refs/heads/skillopt/ledger"
    one.propose(add(PNPM))
    other = Ledger(two.repo, branch, TOOL)
    if where == "remote":
        one.push_ledger()
        assert exchange.fetch(two.repo, other, two.remote, stamp(71), bring=False) == one.ledger.events()
    elif where == "local":
        other = Ledger(one.repo, branch, TOOL)
        assert exchange.unite(one.repo, other, stamp(71)) == ()
    else:
        one.repository.git("push", "--quiet", "origin", f"{LEDGER}:{branch}")
        two.repository.git("fetch", "--quiet")
        other = two.ledger
        assert exchange.unite(two.repo, other, stamp(71)) == ()

    assert one.ledger.events() == other.events()


def test_only_the_remote_that_is_pushed_to_is_listened_to(clones: tuple[Clone, Clone], server: Repository) -> None:
    """A fork that somebody fetched decides nothing, and what is no ledger is named and left."""
    one, two = clones
    one.propose(add(PNPM))
    branch = "refs/heads/skillopt/ledger"
    for remote in ("fork", "origin/alice"):
        two.repository.git("update-ref", f"refs/remotes/{remote}/skillopt/ledger", "HEAD")
    assert exchange.unite(two.repo, two.ledger, stamp(71)) == ()
    two.repository.git("update-ref", "refs/remotes/origin/skillopt/ledger", "HEAD")

    (note,) = exchange.unite(two.repo, two.ledger, stamp(71))

    assert note.startswith("refs/remotes/origin/skillopt/ledger is not joined into refs/skillopt/ledger")
    assert two.ledger.events() == ()
    assert branch not in two.there()


@pytest.mark.parametrize("rule", ["denyNonFastForwards", "denyDeletes"])
def test_a_server_that_refuses_a_branch_gets_the_memory_all_the_same(
    clones: tuple[Clone, Clone], server: Repository, rule: str
) -> None:
    """As a shared repository does: that is no race, and it is told."""
    one, _ = clones
    one.propose(add(PNPM), add(TICKET))
    one.push()
    server.git("config", f"receive.{rule}", "true")
    edit = add(PNPM).id if rule == "denyNonFastForwards" else None
    reject(one.desk(), one.proposal(), edit=edit, reason="no")

    done = one.push()

    assert LEDGER in done.went
    assert f"{BRANCH} did not go to origin" in done.notes[-1]


def test_a_server_that_takes_branches_only_keeps_the_ledger_as_one(
    clones: tuple[Clone, Clone], server: Repository
) -> None:
    """Anchors have no place there, which is told and costs nothing else."""
    one, _ = clones
    hook = server.path / "hooks" / "pre-receive"
    hook.write_text('#!/bin/sh\nwhile read o n r; do case "$r" in refs/heads/*) ;; *) exit 1 ;; esac; done\n')
    hook.chmod(0o755)
    one.propose(add(PNPM))
    branch = "refs/heads/skillopt/ledger"
    ledger = Ledger(one.repo, branch, TOOL)
    exchange.unite(one.repo, ledger, stamp(71))
    reject(replace(one.desk(), ledger=ledger), one.proposal(), edit=None, reason="no")

    done = exchange.push(one.repo, ledger, one.remote, Outgoing(author=TOOL, stamp=stamp(70), new=True))

    assert done.went == (branch,)
    assert "cannot be read there" in done.notes[0]


def test_clones_with_either_setting_go_on_from_each_other(clones: tuple[Clone, Clone]) -> None:
    """The branch is where the tool left it, whichever ledger says so."""
    one, two = clones
    one.propose(add(PNPM))
    one.push()
    ledger = Ledger(two.repo, "refs/heads/skillopt/ledger", TOOL)
    exchange.fetch(two.repo, ledger, two.remote, stamp(71), bring=True)
    two.fetch(bring=True)
    two.record(add(TICKET), number=2, start=1)
    two.publish(number=2)
    exchange.unite(two.repo, ledger, stamp(72))

    done = exchange.push(two.repo, ledger, two.remote, Outgoing(author=TOOL, stamp=stamp(73), new=True))

    assert f"refs/heads/{BRANCH}" in done.went
    assert done.notes == ()


def test_a_branch_that_this_clone_never_had_is_anchored_before_it_goes(clones: tuple[Clone, Clone]) -> None:
    """Rejected by its ledger alone; others can read the change, and here too."""
    one, two = clones
    built = one.propose(add(PNPM))
    one.push()
    two.fetch()
    reject(two.desk(), two.proposal(), edit=None, reason="no")

    done = two.push()

    anchor = f"refs/skillopt/rejected/{BRANCH}"
    assert done.gone == (f"refs/heads/{BRANCH}",)
    assert two.there()[anchor] == tip(two, anchor) == built.tip
    one.fetch()
    assert tip(one, anchor) == built.tip


def test_what_a_simulation_proposed_is_not_told_by_its_anchor(clones: tuple[Clone, Clone]) -> None:
    one, _ = clones
    one.propose(add(PNPM), simulated=True)
    reject(one.desk(), one.proposal(), edit=None, reason="no")

    assert one.push().went == (LEDGER,)
    assert one.push(simulated=True).went == (f"refs/skillopt/rejected/{BRANCH}",)


def _foreign(server: Repository) -> None:
    server.git("update-ref", LEDGER, "HEAD")


def _newer(server: Repository) -> None:
    blob = server.git("hash-object", "-w", "--stdin", input_=b'{"v": 2, "id": "0"}\n').strip()
    listing = f"100644 blob {blob}\t01.jsonl\n".encode()
    month = server.git("mktree", input_=listing).strip()
    year = server.git("mktree", input_=f"040000 tree {month}\t2027\n".encode()).strip()
    tree = server.git("mktree", input_=f"040000 tree {year}\tevents\n".encode()).strip()
    server.git("update-ref", LEDGER, server.git("commit-tree", "-m", "newer", tree).strip())


@pytest.mark.parametrize(
    ("prepare", "error", "words"),
    [(_foreign, GitError, "is no ledger"), (_newer, ConfigError, "written by a newer tool")],
)
def test_what_cannot_be_joined_is_refused_with_nothing_changed(
    clones: tuple[Clone, Clone],
    server: Repository,
    prepare: Callable[[Repository], None],
    error: type[Exception],
    words: str,
) -> None:
    """A ref of that name that is something else, and a ledger of a later version."""
    one, _ = clones
    one.propose(add(PNPM))
    prepare(server)
    before = tip(one, LEDGER), one.there()

    with pytest.raises(error, match=words):
        one.fetch()
    with pytest.raises(error, match=words):
        one.push()

    assert (tip(one, LEDGER), one.there()) == before


def test_an_anchor_at_the_remote_is_never_moved(clones: tuple[Clone, Clone]) -> None:
    """Two refused branches of one name: the first stays what it was there."""
    one, two = clones
    for clone, rule in ((one, PNPM), (two, TICKET)):
        clone.propose(add(rule))
        reject(clone.desk(), clone.proposal(), edit=None, reason=None)
    one.push()
    there = one.there()[f"refs/skillopt/rejected/{BRANCH}"]

    two.push()

    assert one.there()[f"refs/skillopt/rejected/{BRANCH}"] == there
