"""What is heard of pull requests: each thing that people can do to one, and what it means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from skillopt_git.config import Config
from skillopt_git.decide import allow_again
from skillopt_git.ports import PullDraft
from skillopt_git.private import Private
from skillopt_git.remote import Remote
from skillopt_git.reviewing import Review
from skillopt_git.workshop import Workshop
from tests.forge import ALICE, GUEST, STALE, US, Hub
from tests.helpers import Repository
from tests.helpers_git import TOOL
from tests.proposals import BRANCH, MEMORY, PNPM, RUFF, TICKET, Nights, add, memory, stamp

BODY = """
- [x] <!-- skillopt:edit={first} --> {rule}
- [ ] <!-- skillopt:reason=unsafe --> it is unsafe
"""


@dataclass
class Hearing:
    """A proposal of `rules` with its pull request, and what the tool hears of it."""

    nights: Nights
    hub: Hub
    server: Repository

    @property
    def shop(self) -> Workshop:
        repo = self.nights.repo
        return Workshop(
            repo=repo,
            private=Private(repo.private_dir()),
            ledger=self.nights.ledger,
            author=TOOL,
            base=self.nights.base,
            stamp=stamp(60),
        )

    def propose(self, *rules: str) -> None:
        self.nights.propose(*map(add, rules))
        self.nights.repository.git("push", "--quiet", "origin", BRANCH)
        body = BODY.format(first=add(rules[0]).id, rule=rules[0])
        self.hub.create(PullDraft(title="t", body=body, head=BRANCH, base="main", draft=False))

    def hear(self) -> list[tuple[str, str | None, str | None]]:
        """(type, rule, reason) of what is new."""
        review = Review(config=Config(), remote=Remote(self.nights.repo, "origin"), forge=self.hub)
        shop = review.at_base(self.shop)
        before = {event.id for event in shop.ledger.events()}
        review.hear(shop)
        new = [event for event in shop.ledger.events() if event.id not in before]
        assert review.hear(shop) == (), "heard again it is nothing new"
        return [(event.type, event.text, event.reason) for event in new]

    def arrive(self, text: str) -> None:
        """The pull request is merged, and the memory says this then."""
        repo = self.server
        blob = repo.git("hash-object", "-w", "--stdin", input_=text.encode()).strip()
        repo.git("read-tree", "main")
        repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{MEMORY}")
        commit = repo.git("commit-tree", repo.git("write-tree").strip(), "-p", "main", "-m", "Merge").strip()
        self.hub.arrived(1, commit)


@pytest.fixture
def hearing(repo: Repository, tmp_path: Path) -> Hearing:
    repo.commit("Remember", {MEMORY: memory()})
    server = tmp_path / "server.git"
    repo.git("clone", "--quiet", "--bare", ".", str(server))
    repo.git("remote", "add", "origin", f"file://{server}")
    there = Repository(server)
    return Hearing(Nights(repo), Hub(there), there)


Act = Callable[[Hearing], None]


def merged_whole(it: Hearing) -> None:
    it.hub.merged(1)


def squashed(it: Hearing) -> None:
    it.hub.merged(1, how="squash")


def edited_out(it: Hearing) -> None:
    it.arrive(memory(PNPM))


def reworded(it: Hearing) -> None:
    it.arrive(memory("Use pnpm, not npm, ok", TICKET))


def merged_without_anything(it: Hearing) -> None:
    it.arrive(memory() + "\nSomething else.\n")


def by_hand(it: Hearing) -> None:
    """Cherry-picked onto the base, and then closed."""
    it.arrive(memory(PNPM, TICKET))
    it.hub.pulls[1] = replace(it.hub.pulls[1], state="closed", merge_commit=None)
    it.hub.closed(1)


def closed_by_a_person(it: Hearing) -> None:
    it.hub.closed(1)


def closed_by_nobody_known(it: Hearing) -> None:
    it.hub.pulls[1] = replace(it.hub.pulls[1], state="closed")


def closed_by_a_bot(it: Hearing) -> None:
    it.hub.closed(1, STALE)


def closed_by_us(it: Hearing) -> None:
    it.hub.labeled(1, "skillopt:superseded")
    it.hub.closed(1, US)


def base_deleted(it: Hearing) -> None:
    it.hub.base_deleted(1)


def head_deleted(it: Hearing) -> None:
    it.hub.head_deleted(1)


def closed_and_then_deleted(it: Hearing) -> None:
    it.hub.closed(1)
    it.server.git("update-ref", "-d", f"refs/heads/{BRANCH}")


def ticked(it: Hearing) -> None:
    it.hub.edited(1, "- [ ] <!-- skillopt:reason=unsafe -->", "- [X] <!-- skillopt:reason=unsafe -->")
    it.hub.closed(1)


def labeled(it: Hearing) -> None:
    it.hub.labeled(1, "skillopt:reason/too-specific")
    it.hub.labeled(1, "skillopt:reason/no-such-reason")
    it.hub.closed(1)


def commented(it: Hearing) -> None:
    it.hub.said(1, "first thought", ALICE)
    it.hub.said(1, "We move\nto bun " + "x" * 600, ALICE)
    it.hub.said(1, "I like it", GUEST)
    it.hub.said(1, "stale!", STALE)
    it.hub.closed(1)


def unticked(it: Hearing) -> None:
    it.hub.edited(1, "- [x] <!-- skillopt:edit=", "- [ ] <!-- skillopt:edit=")


def nothing(_: Hearing) -> None:
    pass


BOTH = (PNPM, TICKET)


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize(
    ("act", "heard"),
    [
        (merged_whole, [("adopted", PNPM, None), ("adopted", TICKET, None)]),
        (squashed, [("adopted", PNPM, None), ("adopted", TICKET, None)]),
        (edited_out, [("adopted", PNPM, None), ("rejected", TICKET, "left out of the merge")]),
        (reworded, [("adopted-modified", PNPM, None), ("adopted", TICKET, None)]),
        (
            merged_without_anything,
            [("expired", rule, "merged, and the base has nothing of it") for rule in BOTH],
        ),
        (by_hand, [("adopted", PNPM, None), ("adopted", TICKET, None)]),
        (closed_by_a_person, [("rejected", PNPM, None), ("rejected", TICKET, None)]),
        (closed_by_nobody_known, [("rejected", PNPM, None), ("rejected", TICKET, None)]),
        (closed_by_a_bot, [("expired", rule, "closed by stale, a bot") for rule in BOTH]),
        (closed_by_us, [("superseded", rule, "closed by skillopt-git") for rule in BOTH]),
        (base_deleted, [("expired", rule, "its base branch was deleted") for rule in BOTH]),
        (head_deleted, [("expired", rule, "its branch was deleted or renamed, which closed it") for rule in BOTH]),
        (closed_and_then_deleted, [("rejected", PNPM, None), ("rejected", TICKET, None)]),
        (ticked, [("rejected", PNPM, "unsafe"), ("rejected", TICKET, "unsafe")]),
        (labeled, [("rejected", PNPM, "too-specific"), ("rejected", TICKET, "too-specific")]),
        (unticked, [("rejected", PNPM, "unticked")]),
        (nothing, []),
    ],
)
def test_what_people_do_to_a_pull_request_and_what_it_means(
    act: Act, heard: list[tuple[str, str | None, str | None]], hearing: Hearing
) -> None:
    """Once, however often it is heard."""
    hearing.propose(*BOTH)

    act(hearing)

    assert sorted(hearing.hear()) == sorted(heard)


def test_the_last_comment_of_somebody_who_may_write_is_the_reason(hearing: Hearing) -> None:
    """One line of it, and no more than a few; guests and bots are not heard."""
    hearing.propose(PNPM)

    commented(hearing)

    ((kind, _, reason),) = hearing.hear()
    assert kind == "rejected"
    assert reason is not None
    assert reason.startswith("We move to bun x")
    assert len(reason) == 500


def test_a_secret_in_a_comment_stays_out_of_the_ledger(hearing: Hearing) -> None:
    hearing.propose(PNPM)
    hearing.hub.said(1, "no, the token is ghp_" + "a1B2" * 9, ALICE)
    hearing.hub.closed(1)

    ((_, _, reason),) = hearing.hear()

    assert reason is not None
    assert "ghp_" not in reason
    assert "[REDACTED" in reason


def test_opened_again_and_closed_again_each_counts(hearing: Hearing) -> None:
    hearing.propose(PNPM)
    hearing.hub.closed(1)
    first = hearing.hear()
    hearing.hub.reopened(1)
    second = hearing.hear()
    hearing.hub.closed(1)

    third = hearing.hear()

    assert [kind for kind, _, _ in (*first, *second, *third)] == ["rejected", "unrejected", "rejected"]


def test_a_refusal_that_a_person_took_back_by_a_verb_stays_taken_back(hearing: Hearing) -> None:
    """The closing is known; hearing of it once more changes nothing."""
    hearing.propose(PNPM)
    hearing.hub.closed(1)
    hearing.hear()
    allow_again(hearing.nights.desk(), add(PNPM).id)

    assert hearing.hear() == []


def test_pull_requests_of_others_are_nothing_to_us(hearing: Hearing) -> None:
    """A branch that no ledger knows, whatever it is called."""
    hearing.propose(PNPM)
    hearing.hub.pulls[1] = replace(hearing.hub.pulls[1], head="sleep/2020-01-01")
    hearing.hub.closed(1)

    assert hearing.hear() == []
    assert RUFF not in hearing.hub.pulls[1].body
