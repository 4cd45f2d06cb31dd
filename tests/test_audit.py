"""Whether a ledger that was tampered with is told from one that was not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from skillopt_git import exchange
from skillopt_git.audit import audit
from skillopt_git.stamp import event
from tests.helpers import Repository
from tests.proposals import LEDGER, PNPM, TICKET, Nights, add, stamp


@pytest.fixture
def nights(repo: Repository) -> Nights:
    made = Nights(repo)
    made.propose(add(PNPM))
    made.append([event("run", stamp(5).run, stamp(5), data={"verdict": None, "reason": "no_tasks"} | _COUNTS)])
    made.append([event("family", "f1-0000000000000001", stamp(5), data=_FAMILY)])
    return made


_COUNTS = {"sessions": 0, "tasks": 0}
_FAMILY = {"family": "f1-0000000000000001", "needs": [], "split": "val", "tasks": [], "simhash": "0"}
FILE = "events/2026/11.jsonl"


def findings(nights: Nights) -> tuple[str, ...]:
    return audit(nights.repo, nights.ledger).findings


def rewrite(repo: Repository, change: Callable[[str], str], *, path: str = FILE) -> str:
    """A commit on the ledger that changes one file of it."""
    text = change(repo.git("show", f"{LEDGER}:{path}"))
    blob = repo.git("hash-object", "-w", "--stdin", input_=text.encode()).strip()
    repo.git("read-tree", "--index-output=.git/other", LEDGER)
    env = f"GIT_INDEX_FILE={repo.path}/.git/other"
    script = f'{env} git update-index --add --cacheinfo 100644,{blob},"{path}" && {env} git write-tree'
    tree = repo.git("-c", f"alias.made=!{script}", "made").strip()
    commit = repo.git("commit-tree", "-p", LEDGER, "-m", "tampered", tree).strip()
    repo.git("update-ref", LEDGER, commit)
    return commit


def test_an_untouched_ledger_has_nothing_to_tell(nights: Nights) -> None:
    """Each night only added to it."""
    found = audit(nights.repo, nights.ledger)
    assert found.findings == ()
    assert found.commits == 4


def test_before_the_first_night_there_is_nothing_to_look_through(repo: Repository) -> None:
    assert audit(Nights(repo).repo, Nights(repo).ledger).commits == 0


def test_the_union_of_two_ledgers_takes_nothing_away(repo: Repository, nights: Nights) -> None:
    """Lines may move when two histories meet."""
    ours = repo.git("rev-parse", LEDGER).strip()
    repo.git("update-ref", "-d", LEDGER)
    nights.propose(add(TICKET), branch="sleep/2026-11-28", number=2)
    nights.ledger.merge(ours, when=stamp().now, message="Join")
    exchange.unite(nights.repo, nights.ledger, stamp())

    assert len(nights.ledger.events()) == 6
    assert findings(nights) == ()


def test_lines_that_were_taken_out_are_counted_with_the_commit(repo: Repository, nights: Nights) -> None:
    """What happened is no longer there, but that it was is."""
    commit = rewrite(repo, lambda text: "".join(text.splitlines(keepends=True)[2:]))

    (finding,) = findings(nights)

    assert finding == f"{commit[:12]} took 2 lines out of {FILE}"


def test_a_changed_line_is_found_where_it_was_and_where_it_is(repo: Repository, nights: Nights) -> None:
    """A proposal that names another branch is not the one that was recorded."""
    rewrite(repo, lambda text: text.replace("sleep/2026-11-29", "sleep/2026-11-30"))

    told = findings(nights)

    assert any("took 2 lines out" in line for line in told)
    assert sum("does not have the id of what it says" in line for line in told) == 2


def test_a_damaged_line_is_told(repo: Repository, nights: Nights) -> None:
    rewrite(repo, lambda text: text + "{cut\n")
    assert findings(nights) == ("1 line cannot be what it says",)
    rewrite(repo, lambda text: text + "more\n")
    assert findings(nights) == ("2 lines cannot be what they say",)


def test_evidence_has_to_be_there_and_be_what_its_name_says(repo: Repository, nights: Nights) -> None:
    missing, false = "a" * 64, "b" * 64
    nights.record(add(TICKET), number=3, start=1, evidence=missing)
    _evidence(repo, false)

    told = findings(nights)

    assert f"evidence {false} is not what its name says" in told
    assert any(f"evidence {missing}, which proposed event" in line and line.endswith("is missing") for line in told)


def _evidence(repo: Repository, name: str) -> None:
    """A file of that name with something else in it."""
    events = repo.git("rev-parse", f"{LEDGER}:events").strip()
    blob = repo.git("hash-object", "-w", "--stdin", input_=b"{}\n").strip()
    folder = repo.git("mktree", input_=f"100644 blob {blob}\t{name}.json\n".encode()).strip()
    listing = f"040000 tree {events}\tevents\n040000 tree {folder}\tevidence\n"
    tree = repo.git("mktree", input_=listing.encode()).strip()
    repo.git("update-ref", LEDGER, repo.git("commit-tree", "-p", LEDGER, "-m", "forged", tree).strip())
