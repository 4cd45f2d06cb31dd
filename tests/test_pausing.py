"""Which things that happen to a pull request say that somebody looked, and how nights that find none are counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from skillopt_git.hearing import Heard
from skillopt_git.model import Event
from skillopt_git.pausing import Found, as_found, noted, unread, waiting
from skillopt_git.ports import Actor, ForgeEvent, ForgeEventKind, PullRequest
from skillopt_git.recall import Proposal
from skillopt_git.stamp import event
from tests.forge import ALICE, GUEST, STALE, US
from tests.helpers import Repository
from tests.proposals import BRANCH, PNPM, TICKET, Nights, add, stamp

URL = "https://github.example/acme/acme-api/pull/1"
BODY = """<!-- skillopt: {"edits": [], "draft": true} -->
- [ ] <!-- skillopt:reason=style --> its style
<!-- skillopt:human -->
Notes of your own.
<!-- /skillopt:human -->
"""


@pytest.fixture
def proposal(repo: Repository) -> Proposal:
    nights = Nights(repo)
    nights.propose(add(PNPM), add(TICKET))
    return nights.proposal()


@pytest.fixture
def heard(proposal: Proposal) -> Heard:
    pull = PullRequest(
        number=1,
        url=URL,
        state="open",
        draft=True,
        title="Learn: two rules",
        body=BODY,
        head=BRANCH,
        head_sha=str(proposal.tip),
        base="main",
        author=US,
        ours=True,
    )
    return Heard(pull=pull, events=())


def mark(heard: Heard, proposal: Proposal) -> str:
    return as_found(heard, proposal, tips=proposal.tips, labels=("skillopt", "learned")).mark


def did(kind: ForgeEventKind, actor: Actor = ALICE, text: str = "") -> Callable[[Heard], Heard]:
    done = ForgeEvent(id="e1", kind=kind, actor=actor, ts="2026-11-29T04:00:00Z", text=text)
    return lambda heard: replace(heard, events=(*heard.events, done))


def page(**changes: Any) -> Callable[[Heard], Heard]:
    return lambda heard: replace(heard, pull=replace(heard.pull, **changes))


@pytest.mark.parametrize(
    "touch",
    [
        did("commented"),
        did("commented", Actor(login="bob"), "skillopt"),
        did("reviewed"),
        did("reopened"),
        did("labeled", text="skillopt:reason/style"),
        did("unlabeled", text="urgent"),
        page(head_sha="f" * 40),
        page(draft=False),
        page(body=BODY.replace("Notes of your own", "Ask bob")),
        page(body=BODY.replace("- [ ]", "- [x]")),
    ],
)
def test_what_a_person_does_is_a_touch(touch: Callable[[Heard], Heard], heard: Heard, proposal: Proposal) -> None:
    assert mark(touch(heard), proposal) != mark(heard, proposal)


@pytest.mark.parametrize(
    "other",
    [
        did("commented", STALE, "This is stale."),
        did("labeled", STALE, "stale"),
        did("reviewed", GUEST),
        did("labeled", US, "learned"),
        did("unlabeled", US, "skillopt:expired"),
        did("closed", US),
        page(title="Learn: three rules"),
        page(body=BODY.replace("\n", "\r\n")),
        page(body=BODY.replace('"edits": []', '"edits": ["e1-0123456789abcdef"]')),
        page(body=BODY.replace("true", "false"), draft=False),
    ],
)
def test_what_bots_guests_and_we_ourselves_do_is_none(
    other: Callable[[Heard], Heard], heard: Heard, proposal: Proposal
) -> None:
    """Nor is a body that a night wrote anew."""
    assert mark(other(heard), proposal) == mark(heard, proposal)


def test_a_rule_that_was_decided_is_a_touch_and_one_that_we_gave_up_is_none(heard: Heard, proposal: Proposal) -> None:
    marks = {kind: mark(heard, decided(proposal, kind)) for kind in ("rejected", "adopted", "expired", "superseded")}
    untouched = mark(heard, proposal)
    assert (marks["expired"], marks["superseded"]) == (untouched, untouched)
    assert len({marks["rejected"], marks["adopted"], untouched}) == 3


def decided(proposal: Proposal, kind: Any) -> Proposal:
    first, *rest = proposal.edits
    outcome = event(kind, first.edit.id, stamp(), data={"branch": BRANCH})
    return replace(proposal, edits=(replace(first, outcome=outcome), *rest))


def night(number: int, found: Found | None, *, simulated: bool = False) -> Event:
    at = stamp(number, simulated=simulated)
    return noted([event("run", at.run, at, data={"found": "forged"})], found)[0]


def test_nights_that_found_the_same_are_counted() -> None:
    """Each once, whoever brings it; simulated ones, those that asked no forge, and those of other branches do not."""
    one, other = (Found(branch=BRANCH, url=URL, mark=text) for text in ("a", "b"))
    there = replace(one, branch="sleep/2026-11-30")
    nights = [night(1, other), night(2, one), night(3, one), night(3, one), night(4, None), night(5, there)]
    nights.append(night(6, one, simulated=True))

    assert [unread(nights, name) for name in (BRANCH, there.branch, "sleep/2026-12-01")] == [2, 1, 0]
    assert waiting(nights, one, after=3) is None
    assert waiting(nights, one, after=0) is None
    assert waiting(nights, replace(one, mark="c"), after=1) is None
    assert waiting(nights, one, after=2) == (
        f"paused: {URL} was left alone for 2 nights, since 2026-11-29; nights go on when it is merged, closed or "
        "commented on, or with propose.pause_after = 0"
    )
    assert "for 1 night, since" in (waiting(nights, other, after=1) or "")
