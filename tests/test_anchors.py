"""A refused change can be read for as long as anybody wants to, whatever git has cleaned up since."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from skillopt_git.anchors import change
from skillopt_git.decide import adopt, reject
from skillopt_git.unlearning import unlearn
from tests.helpers import Repository
from tests.proposals import BRANCH, PNPM, TICKET, Nights, add

Say = Callable[..., str]


@pytest.fixture
def nights(repo: Repository) -> Nights:
    return Nights(repo)


def clean_up(repo: Repository) -> None:
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")


@pytest.mark.parametrize("rejected", [(PNPM,), (TICKET,), (PNPM, TICKET)])
def test_a_refused_change_is_there_after_garbage_collection(
    repo: Repository, nights: Nights, say: Say, rejected: tuple[str, ...]
) -> None:
    """Of a whole proposal, and of one edit, first or last, whose branch went on without it."""
    nights.propose(add(PNPM), add(TICKET))
    for rule in rejected:
        reject(nights.desk(), nights.proposal(), edit=add(rule).id, reason="no")
    clean_up(repo)

    for rule in rejected:
        told = say("rejections", "show", add(rule).id)
        assert f"+- {rule}" in told
        assert "diff --git a/CLAUDE.md b/CLAUDE.md" in told


def test_a_whole_proposal_is_anchored_with_all_its_changes(repo: Repository, nights: Nights) -> None:
    nights.propose(add(PNPM), add(TICKET))
    reject(nights.desk(), nights.proposal(), edit=None, reason=None)
    clean_up(repo)

    patches = [change(nights.repo, BRANCH, add(rule).id) or "" for rule in (PNPM, TICKET)]

    assert [f"+- {PNPM}" in patch for patch in patches] == [True, False]
    assert [f"+- {TICKET}" in patch for patch in patches] == [False, True]


def test_what_was_unlearned_shows_what_it_was(repo: Repository, nights: Nights, say: Say) -> None:
    """Its branch is still there; without it only the words are."""
    nights.propose(add(PNPM))
    adopt(nights.desk(98), nights.proposal())
    desk = nights.desk()
    unlearn(desk, desk.history.adopted[0], base_branch="main", now=True)

    assert f"+- {PNPM}" in say("rejections", "show", add(PNPM).id)
    repo.git("branch", "--quiet", "-D", BRANCH)
    assert "the change itself is not in this clone" in say("rejections", "show", add(PNPM).id)
