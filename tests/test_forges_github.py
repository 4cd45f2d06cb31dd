"""GitHub: what is there is found, what is missing is made once, and what was done is told in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from skillopt_git.errors import ForgeError
from skillopt_git.ports import Actor, Forge, PullDraft
from tests.hub import (
    HERE,
    NIGHT,
    PULL,
    US,
    Answer,
    Asked,
    Broken,
    Hub,
    comment,
    happened,
    opened,
    pages,
    pull,
    refused,
    repository,
    user,
)

DRAFT = PullDraft(title="Use pnpm", body="One rule.", head=NIGHT, base="main", draft=True)
TALK = f"{HERE}/issues/7/comments"
LABELS = f"{HERE}/issues/7/labels"
EVENTS = f"{HERE}/issues/7/events"
REVIEWERS = f"{PULL}/requested_reviewers"
DONE = Answer(502, "<html><title>Unicorn!</title></html>")  # what comes after a write that was done, now and then


@pytest.fixture
def hub(httpserver: HTTPServer) -> Iterator[Hub]:
    yield from opened(httpserver)


@pytest.fixture
def forge(hub: Hub) -> Forge:
    return hub.forge()


def may(hub: Hub, login: str, permission: str) -> None:
    hub.give("GET", f"{HERE}/collaborators/{login}/permission", {"permission": permission})


# --- the repository ----------------------------------------------------------------------------------------------


def test_a_repository_is_asked_about_once(hub: Hub, forge: Forge) -> None:
    """Its default branch, and who sees it."""
    assert (forge.name, forge.default_branch(), forge.public()) == ("github", "main", False)
    assert len(hub.asked) == 1


def test_a_renamed_repository_is_asked_by_its_new_name(hub: Hub, forge: Forge) -> None:
    """GitHub leads there, but a question's parameters get lost on the way."""
    moved = {"location": hub.server.url_for("/repositories/1")}
    hub.give("GET", HERE, Answer(301, {"message": "Moved Permanently"}, moved))
    hub.give("GET", "/repositories/1", repository(full_name="globex/api"))
    hub.give("GET", "/repos/globex/api/pulls", [])

    assert forge.find("sleep/") == []

    assert hub.asked[-1].params["state"] == "all"


def test_a_server_of_ones_own_answers_below_a_path(hub: Hub) -> None:
    """And its GraphQL beside it."""
    hub.give("GET", f"/api/v3{HERE}", repository())
    hub.give("GET", f"/api/v3{PULL}", pull())
    hub.give("POST", "/api/graphql", {"data": {"done": {}}})
    assert hub.forge(below="/api/v3").set_ready(7, ready=True)
    assert hub.writes == [("POST", "/api/graphql")]


# --- finding -----------------------------------------------------------------------------------------------------


def test_a_pull_request_is_told_as_it_is(hub: Hub, forge: Forge) -> None:
    """Whose it is, its state, and no merge commit before it is merged."""
    hub.give("GET", PULL, pull(title="Benutze pnpm – bitte 🙂", body=None))
    told = forge.get(7)
    assert (told.number, told.state, told.draft, told.head, told.base) == (7, "open", True, NIGHT, "main")
    assert (told.title, told.body) == ("Benutze pnpm – bitte 🙂", "")
    assert (told.ours, told.merge_commit, told.approved) == (True, None, False)
    assert told.author == Actor(login=US)
    assert told.labels == {"skillopt"}

    hub.give("GET", PULL, pull(state="closed", merged_at="2001-09-10T00:00:00Z", user=user("alice")))
    told = forge.get(7)
    assert (told.state, told.merged, told.merge_commit, told.ours) == (
        "merged",
        "2001-09-10T00:00:00Z",
        "c" * 40,
        False,
    )


def test_an_account_that_is_gone_wrote_it(hub: Hub, forge: Forge) -> None:
    """GitHub has nobody then."""
    hub.give("GET", PULL, pull(user=None))
    assert forge.get(7).author == Actor(login="ghost")


def test_those_of_our_own_branches_are_found_over_all_pages(hub: Hub, forge: Forge) -> None:
    """Not a fork's branch of the same name, nor one whose fork is gone; and each once, should a page have moved."""
    fork = {"ref": NIGHT, "sha": "d" * 40, "repo": {"full_name": "mallory/acme-api"}}
    others = [pull(number=number, head={**fork, "ref": "topic"}) for number in range(200, 299)]
    rows = [
        *others,
        pull(state="closed"),
        pull(number=9, head=fork),
        pull(number=8, head={**fork, "repo": None}),
        pull(state="closed"),
    ]
    hub.give("GET", f"{HERE}/pulls", pages(rows))

    assert [found.number for found in forge.find("sleep/")] == [7]

    asked = [item.params for item in hub.asked if item.path == f"{HERE}/pulls"]
    assert [item["page"] for item in asked] == ["1", "2"]
    assert (asked[0]["state"], asked[0]["sort"], asked[0]["direction"]) == ("all", "created", "desc")


def test_in_a_busy_repository_older_ones_are_searched_for(hub: Hub, forge: Forge) -> None:
    """Only so many are looked through, and what the search finds is looked at."""
    hub.give("GET", f"{HERE}/pulls", pages([pull(number=number, head=_topic()) for number in range(1000, 600, -1)]))
    hub.give("GET", "/search/issues", {"items": [{"number": 1000}, {"number": 7}, {"number": 6}]})
    hub.give("GET", PULL, pull())
    hub.give("GET", f"{HERE}/pulls/6", pull(number=6, head=_topic()))

    assert [found.number for found in forge.find("sleep/")] == [7]

    assert len([item for item in hub.asked if item.path == f"{HERE}/pulls"]) == 3
    (searched,) = (item.params["q"] for item in hub.asked if item.path == "/search/issues")
    assert searched == "repo:acme/acme-api is:pr head:sleep/"


def test_where_nothing_can_be_searched_the_newest_are_told(hub: Hub, forge: Forge) -> None:
    """Some servers have no index."""
    older = [pull(number=number, head=_topic()) for number in range(1000, 600, -1)]
    hub.give("GET", f"{HERE}/pulls", pages([pull(), *older]))
    hub.give("GET", "/search/issues", refused(422, "Validation Failed"))
    assert [found.number for found in forge.find("sleep/")] == [7]


def _topic() -> dict[str, Any]:
    return {**pull()["head"], "ref": "topic"}


@pytest.mark.parametrize(
    ("reviews", "approved"),
    [
        ([("alice", "APPROVED")], True),
        ([("alice", "APPROVED"), ("alice", "COMMENTED")], True),
        ([("alice", "APPROVED"), ("alice", "CHANGES_REQUESTED")], False),
        ([("alice", "APPROVED"), ("alice", "DISMISSED")], False),
        ([("alice", "CHANGES_REQUESTED"), ("alice", "APPROVED")], True),
        ([("mallory", "APPROVED")], False),
        ([(None, "APPROVED")], False),
    ],
)
def test_it_is_approved_by_the_newest_review_of_one_who_writes(
    hub: Hub, forge: Forge, reviews: list[tuple[str | None, str]], approved: bool
) -> None:
    """Anybody may review a public pull request; that must not stop the tool."""
    hub.give("GET", PULL, pull())
    hub.give("GET", f"{PULL}/reviews", [{"state": state, "user": who and user(who)} for who, state in reviews])
    may(hub, "alice", "write")
    may(hub, "mallory", "read")
    assert forge.get(7).approved is approved


# --- making ------------------------------------------------------------------------------------------------------


def test_a_pull_request_is_made_once(hub: Hub, forge: Forge) -> None:
    """What is asked for is sent, and nothing about who else may write to the branch."""
    hub.give("GET", f"{HERE}/pulls", [])
    hub.give("POST", f"{HERE}/pulls", Answer(201, pull()))

    assert forge.create(DRAFT).number == 7

    body = {"title": "Use pnpm", "body": "One rule.", "head": NIGHT, "base": "main", "draft": True}
    assert hub.sent("POST", f"{HERE}/pulls") == [body]
    looked = next(item.params for item in hub.asked if item.path == f"{HERE}/pulls")
    assert (looked["head"], looked["base"], looked["state"]) == (f"acme:{NIGHT}", "main", "open")


def test_one_that_is_there_is_not_made(hub: Hub, forge: Forge) -> None:
    """Only where both its branches are those."""
    elsewhere = {**pull()["base"], "ref": "next"}
    hub.give("GET", f"{HERE}/pulls", [pull(number=6, base=elsewhere), pull()])
    assert forge.create(DRAFT).number == 7
    assert hub.writes == []


def test_one_that_github_knows_better_is_found(hub: Hub, forge: Forge) -> None:
    """Its list was behind; GitHub's own answer tells."""
    error = {"resource": "PullRequest", "code": "custom", "message": f"A pull request already exists for acme:{NIGHT}."}
    hub.give("GET", f"{HERE}/pulls", [], [], [pull()])
    hub.give("POST", f"{HERE}/pulls", refused(422, "Validation Failed", error))
    assert forge.create(DRAFT).number == 7
    assert len(hub.writes) == 1


def test_one_that_exists_and_is_never_listed_is_a_refusal(hub: Hub, forge: Forge) -> None:
    """One of another repository's branch, perhaps: it is not ours to change."""
    hub.give("GET", f"{HERE}/pulls", [])
    hub.give("POST", f"{HERE}/pulls", refused(422, "Validation Failed", {"message": "A pull request already exists"}))
    with pytest.raises(ForgeError, match="already exists") as caught:
        forge.create(DRAFT)
    assert caught.value.kind == "refused"
    assert len(hub.writes) == 1


def test_a_plan_without_drafts_gets_one_that_is_ready(hub: Hub, forge: Forge) -> None:
    """No error: drafts are a wish."""
    hub.give("GET", f"{HERE}/pulls", [])
    no = refused(422, "Draft pull requests are not supported in this repository.")
    hub.give("POST", f"{HERE}/pulls", no, Answer(201, pull(draft=False)))
    assert not forge.create(DRAFT).draft
    assert [body["draft"] for body in hub.sent("POST", f"{HERE}/pulls")] == [True, False]


@pytest.mark.parametrize(
    "lag",
    [
        refused(422, "Validation Failed", {"resource": "PullRequest", "field": "head", "code": "invalid"}),
        refused(422, "Validation Failed", {"message": "Head sha can't be blank"}, {"message": "No commits between"}),
        refused(422, "Validation Failed", {"code": "missing_field", "field": "head_sha"}),
        refused(422, "Could not resolve to a node with the global id of 'PR_7'."),
    ],
)
def test_a_branch_that_was_just_pushed_is_waited_for(hub: Hub, forge: Forge, lag: Answer) -> None:
    """One part of GitHub has it, and another not yet."""
    hub.give("GET", f"{HERE}/pulls", [])
    hub.give("POST", f"{HERE}/pulls", lag, lag, Answer(201, pull()))
    assert forge.create(DRAFT).number == 7
    assert hub.clock.slept == [1.0, 2.0]


@pytest.mark.parametrize("lost", [DONE, Broken()])
def test_an_answer_that_got_lost_is_looked_for(hub: Hub, forge: Forge, lost: Answer | Broken) -> None:
    """It was made, and is not made again."""
    hub.give("GET", f"{HERE}/pulls", [], [pull()])
    hub.give("POST", f"{HERE}/pulls", lost)
    assert forge.create(DRAFT).number == 7
    assert len(hub.writes) == 1


def test_what_was_not_done_is_for_the_next_night(hub: Hub, forge: Forge) -> None:
    """Nobody can say that it will not be done yet, so it is not tried again at once."""
    hub.give("GET", f"{HERE}/pulls", [])
    hub.give("POST", f"{HERE}/pulls", DONE)
    with pytest.raises(ForgeError, match=r"did not open a pull request for sleep/2026-11-29") as caught:
        forge.create(DRAFT)
    assert (caught.value.kind, caught.value.exit_code) == ("network", 75)
    assert len(hub.writes) == 1


# --- changing ----------------------------------------------------------------------------------------------------


def test_only_what_differs_is_sent(hub: Hub, forge: Forge) -> None:
    """Line ends of GitHub's editor are no difference; nothing to change is nothing sent."""
    hub.give("GET", PULL, pull(body="One rule.\r\n\r\nAnother.\r\n"))
    assert forge.update(7, title="Use pnpm", body="One rule.\n\nAnother.").number == 7
    assert forge.update(7).number == 7
    assert hub.writes == []

    hub.give("PATCH", PULL, pull(title="Use pnpm, always"))
    assert forge.update(7, title="Use pnpm, always", body="One rule.\n\nAnother.\n").title == "Use pnpm, always"
    assert hub.sent("PATCH", PULL) == [{"title": "Use pnpm, always"}]


@pytest.mark.parametrize(("now", "fails"), [("Use pnpm, always", False), ("Use pnpm", True)])
def test_a_lost_change_is_looked_for(hub: Hub, forge: Forge, now: str, fails: bool) -> None:
    """It counts as done only where it is."""
    hub.give("GET", PULL, pull(), pull(title=now))
    hub.give("PATCH", PULL, DONE)
    if fails:
        with pytest.raises(ForgeError, match="did not change pull request 7"):
            forge.update(7, title="Use pnpm, always")
    else:
        assert forge.update(7, title="Use pnpm, always").title == now
    assert len(hub.writes) == 1


@pytest.mark.parametrize(
    ("ready", "mutation"), [(True, "markPullRequestReadyForReview"), (False, "convertPullRequestToDraft")]
)
def test_a_draft_becomes_ready_and_back(hub: Hub, forge: Forge, ready: bool, mutation: str) -> None:
    """Only GitHub's GraphQL can; what is as wanted is left."""
    hub.give("GET", PULL, pull(draft=ready))
    hub.give("POST", "/graphql", {"data": {"done": {"pullRequest": {"isDraft": not ready}}}})
    assert forge.set_ready(7, ready=ready)
    (sent,) = hub.sent("POST", "/graphql")
    assert mutation in sent["query"]
    assert sent["variables"] == {"input": {"pullRequestId": "PR_7"}}

    assert forge.set_ready(7, ready=not ready)
    assert len(hub.writes) == 1


@pytest.mark.parametrize(
    "error",
    [
        {"type": "FORBIDDEN", "message": "Resource not accessible by integration"},
        {"type": "UNPROCESSABLE", "message": "Draft pull requests are not supported"},
        {"type": "NOT_FOUND", "message": "Could not resolve to a node with the global id of 'PR_7'"},
    ],
)
def test_where_it_may_not_be_made_ready_it_stays(hub: Hub, forge: Forge, error: dict[str, str]) -> None:
    """That is an answer, not a failure."""
    hub.give("GET", PULL, pull())
    hub.give("POST", "/graphql", {"data": None, "errors": [error]})
    assert not forge.set_ready(7, ready=True)


def test_a_closed_one_is_not_made_ready(hub: Hub, forge: Forge) -> None:
    """GitHub would refuse."""
    hub.give("GET", PULL, pull(state="closed", draft=False))
    assert not forge.set_ready(7, ready=True)
    assert hub.writes == []


def test_closing_is_done_once(hub: Hub, forge: Forge) -> None:
    """A closed one stays; an answer that got lost is looked for."""
    hub.give("GET", PULL, pull(), pull(state="closed"))
    hub.give("PATCH", PULL, DONE)
    forge.close(7)
    forge.close(7)
    assert hub.sent("PATCH", PULL) == [{"state": "closed"}]


# --- merging -----------------------------------------------------------------------------------------------------

SHA = "a" * 40


def test_it_is_merged_by_a_merge_commit(hub: Hub, forge: Forge) -> None:
    """So that one revert unlearns the night; a merged one is not merged again."""
    hub.give("GET", PULL, pull(), pull(state="closed", merged_at="2001-09-10T00:00:00Z"))
    hub.give("PUT", f"{PULL}/merge", {"merged": True, "sha": "e" * 40})
    assert forge.merge(7, sha=SHA) == "e" * 40
    assert forge.merge(7, sha=SHA) == "c" * 40
    assert hub.sent("PUT", f"{PULL}/merge") == [{"sha": SHA, "merge_method": "merge"}]


def test_a_merge_whose_answer_got_lost_is_found(hub: Hub, forge: Forge) -> None:
    """It is not tried again."""
    hub.give("GET", PULL, pull(), pull(state="closed", merged_at="2001-09-10T00:00:00Z"))
    hub.give("PUT", f"{PULL}/merge", DONE)
    assert forge.merge(7, sha=SHA) == "c" * 40


def test_another_head_is_not_merged(hub: Hub, forge: Forge) -> None:
    """Somebody pushed; what they wrote was not looked at."""
    hub.give("GET", PULL, pull())
    with pytest.raises(ForgeError, match="its branch is at aaaaaaaaaaaa, and ffffffffffff was to be merged") as caught:
        forge.merge(7, sha="f" * 40)
    assert (caught.value.kind, caught.value.exit_code) == ("moved", 75)
    assert hub.writes == []


@pytest.mark.parametrize(
    ("answer", "kind", "hint", "code"),
    [
        (refused(409, "Head branch was modified. Review and try the merge again."), "moved", "look at what came", 75),
        (refused(405, "Base branch was modified. Review and try the merge again."), "refused", "try again", 75),
        (refused(405, "Pull Request is not mergeable"), "refused", "its page", 1),
        (refused(405, "Pull Request is still a draft"), "refused", "its page", 1),
        (refused(405, "Merge commits are not allowed on this repository."), "forbidden", "Allow merge commits", 1),
        (refused(405, "At least 1 approving review is required by reviewers"), "forbidden", "Settings > Rules", 1),
        (refused(405, "Repository rule violations found\n\nnothing may"), "forbidden", "Settings > Rules", 1),
    ],
)
def test_a_merge_that_is_refused_says_what_to_do(
    hub: Hub, forge: Forge, answer: Answer, kind: str, hint: str, code: int
) -> None:
    """Rules, conflicts and races each need something else."""
    hub.give("GET", PULL, pull())
    hub.give("PUT", f"{PULL}/merge", answer)
    with pytest.raises(ForgeError, match="did not merge pull request 7") as caught:
        forge.merge(7, sha=SHA)
    assert (caught.value.kind, caught.value.exit_code) == (kind, code)
    assert hint in caught.value.hint


# --- around it ---------------------------------------------------------------------------------------------------


def test_labels_are_put_on_once(hub: Hub, forge: Forge) -> None:
    """Those that are there, in whatever case, are not sent."""
    hub.give("GET", LABELS, [{"name": "SkillOpt"}])
    hub.give("POST", LABELS, [])
    forge.label(7, ["skillopt"])
    assert hub.writes == []
    forge.label(7, ["skillopt", "skillopt:superseded", "skillopt:superseded"])
    assert hub.sent("POST", LABELS) == [{"labels": ["skillopt:superseded"]}]


@pytest.mark.parametrize("status", [403, 404, 422])
def test_labels_that_are_refused_stop_nothing(hub: Hub, forge: Forge, status: int) -> None:
    """They are for people's eyes."""
    hub.give("GET", LABELS, [{"name": "old"}])
    hub.give("POST", LABELS, refused(status, "No"))
    hub.give("DELETE", f"{LABELS}/old", refused(status, "No"))
    forge.label(7, ["skillopt"])
    forge.unlabel(7, "old")
    assert len(hub.writes) == 2


def test_a_token_that_does_not_work_is_no_matter_of_labels(hub: Hub, forge: Forge) -> None:
    """Nothing else would work either."""
    hub.give("GET", LABELS, refused(401, "Bad credentials"))
    with pytest.raises(ForgeError, match="does not accept the token"):
        forge.label(7, ["skillopt"])


def test_a_label_goes_where_it_is(hub: Hub, forge: Forge) -> None:
    """With blanks, slashes and whatever a name may hold."""
    hub.give("GET", LABELS, [{"name": "to do/später"}])
    hub.give("DELETE", f"{LABELS}/to do/später", Answer(200, []))
    forge.unlabel(7, "absent")
    assert hub.writes == []
    forge.unlabel(7, "to do/später")
    assert len(hub.writes) == 1


def test_reviewers_are_asked_once(hub: Hub, forge: Forge) -> None:
    """Neither the author, nor those who were asked or have answered; one unknown name does not spoil the others."""
    team = {"slug": "platform"}
    hub.give("GET", PULL, pull(requested_reviewers=[user("bob")], requested_teams=[team]))
    hub.give("GET", f"{PULL}/reviews", [{"state": "COMMENTED", "user": user("carol")}, {"state": "X", "user": None}])
    no = refused(422, "Reviews may only be requested from collaborators.")
    hub.give("POST", REVIEWERS, no, Answer(201, pull()))

    forge.ask_review(7, ["Bob", "carol", US, "acme/platform", "nobody", "alice", "acme/other"])
    forge.ask_review(7, [])

    sent = [{"reviewers": ["nobody"]}, {"reviewers": ["alice"]}, {"team_reviewers": ["other"]}]
    assert hub.sent("POST", REVIEWERS) == sent


# --- comments ----------------------------------------------------------------------------------------------------

MARK = "<!-- skillopt:topic:frozen -->"


def test_a_topic_has_one_comment(hub: Hub, forge: Forge) -> None:
    """Written once, changed where it says something else, else left alone."""
    rows: list[Any] = [comment("Nice!")]

    def write(asked: Asked) -> Answer:
        rows.append(comment(asked.body["body"], US, id=12))
        return Answer(201, rows[-1])

    hub.give("GET", TALK, pages(rows))
    hub.give("POST", TALK, write)
    hub.give("PATCH", f"{HERE}/issues/comments/12", {})

    forge.comment(7, "frozen", "Somebody wrote to it – 🙂.")
    forge.comment(7, "frozen", "Somebody wrote to it – 🙂.")
    assert hub.writes == [("POST", TALK)]
    assert rows[-1]["body"] == f"{MARK}\nSomebody wrote to it – 🙂."

    forge.comment(7, "frozen", "Two of them did.")
    assert hub.sent("PATCH", f"{HERE}/issues/comments/12") == [{"body": f"{MARK}\nTwo of them did."}]


@pytest.mark.parametrize(
    "strange",
    [comment(f"{MARK}\nText", "mallory"), comment(f"> {MARK}\n> Text", US), comment(f"{MARK}\nText", user=None)],
)
def test_a_marker_of_somebody_else_is_none(hub: Hub, forge: Forge, strange: dict[str, Any]) -> None:
    """Nor one that was quoted."""
    hub.give("GET", TALK, [strange])
    hub.give("POST", TALK, Answer(201, {}))
    forge.comment(7, "frozen", "Text")
    assert hub.writes == [("POST", TALK)]


@pytest.mark.parametrize(("before", "write"), [([], "POST"), ([comment(f"{MARK}\nOld", US)], "PATCH")])
def test_a_lost_comment_is_looked_for(hub: Hub, forge: Forge, before: list[Any], write: str) -> None:
    """Two of a kind would be there for ever."""
    path = TALK if write == "POST" else f"{HERE}/issues/comments/11"
    hub.give("GET", TALK, before, [comment(f"{MARK}\nNew", US)])
    hub.give(write, path, DONE)
    forge.comment(7, "frozen", "New")
    assert hub.writes == [(write, path)]


@pytest.mark.parametrize("kind", ["app", "actions"])
def test_an_app_knows_itself_by_graphql(hub: Hub, kind: Any) -> None:
    """It has no user to ask for; and a person of its name is not it."""
    hub.give("POST", "/graphql", DONE, {"data": {"viewer": {"login": "github-actions"}}})
    hub.give("GET", TALK, [comment(f"{MARK}\nText", "github-actions"), comment(f"{MARK}\nOld", "github-actions[bot]")])
    hub.give("PATCH", f"{HERE}/issues/comments/11", {})
    hub.forge(kind=kind).comment(7, "frozen", "Text")
    assert ("PATCH", f"{HERE}/issues/comments/11") in hub.writes


def test_a_token_of_no_known_kind_may_be_an_apps(hub: Hub, forge: Forge) -> None:
    """It is asked both ways, once."""
    hub.give("GET", "/user", refused(403, "Resource not accessible by integration"))
    hub.give("POST", "/graphql", {"data": {"viewer": {"login": US}}})
    hub.give("GET", PULL, pull())
    assert forge.get(7).ours
    assert forge.get(7).ours
    assert len(hub.writes) == 1


# --- what was done -----------------------------------------------------------------------------------------------


def test_what_was_done_is_told_in_order(hub: Hub, forge: Forge) -> None:
    """With who did it, and whether they may write; our own notes are left out."""
    hub.give(
        "GET",
        EVENTS,
        [
            happened("labeled", second=2, label={"name": "skillopt:reason/wrong"}),
            happened("mentioned", second=3),
            happened("base_ref_changed", "bob", second=4),
            happened("base_ref_deleted", "bob", second=4),
            happened("closed", "bob", second=5),
            happened("head_ref_deleted", "bob", second=6),
            happened("reopened", second=7),
            happened("unlabeled", second=8, label={"name": "x"}),
            happened("merged", actor=None, second=9),
            happened("closed", second=10, actor=user("stale", "Bot")),
            happened("closed", second=11, actor=user("renovate[bot]")),
        ],
    )
    hub.give(
        "GET",
        TALK,
        [comment(f"{MARK}\nText", US), comment("No, thanks 🙂", "bob", created_at=_at(5), author_association="MEMBER")],
    )
    reviews = [
        {"id": 21, "state": "CHANGES_REQUESTED", "body": "Not pnpm", "user": user("alice"), "submitted_at": _at(3)},
        {"id": 22, "state": "APPROVED", "body": "", "user": user("alice"), "submitted_at": _at(4)},
        {"id": 23, "state": "PENDING", "body": "Not yet said", "user": user("alice")},
    ]
    hub.give("GET", f"{PULL}/reviews", reviews)
    may(hub, "alice", "admin")
    may(hub, "bob", "read")

    told = forge.events(7)

    alice, bob = Actor(login="alice", writes=True), Actor(login="bob", writes=False)
    assert [(item.kind, item.actor, item.text) for item in told] == [
        ("labeled", alice, "skillopt:reason/wrong"),
        ("commented", alice, "Not pnpm"),
        ("reviewed", alice, ""),
        ("base_deleted", bob, ""),
        ("commented", bob, "No, thanks 🙂"),
        ("closed", bob, ""),
        ("head_deleted", bob, ""),
        ("reopened", alice, ""),
        ("unlabeled", alice, "x"),
        ("merged", Actor(login="ghost"), ""),
        ("closed", Actor(login="stale", bot=True), ""),
        ("closed", Actor(login="renovate[bot]", bot=True), ""),
    ]
    assert [told[place].id for place in (0, 1, 2, 4)] == ["event-102", "review-21", "review-22", "comment-11"]
    assert told[0].ts == _at(2)
    asked = [item.path for item in hub.asked if item.path.endswith("/permission")]
    assert len(asked) == len(set(asked)) == 2


def _at(second: int) -> str:
    return f"2001-09-09T01:47:{second:02}Z"


@pytest.mark.parametrize(
    ("permission", "writes"), [("admin", True), ("maintain", True), ("write", True), ("read", False), ("none", False)]
)
def test_who_may_write(hub: Hub, forge: Forge, permission: str, writes: bool) -> None:
    """By the repository's own answer."""
    hub.give("GET", EVENTS, [happened("closed")])
    hub.give("GET", TALK, [])
    may(hub, "alice", permission)
    (closed,) = forge.events(7)
    assert closed.actor.writes is writes


@pytest.mark.parametrize("status", [403, 404])
@pytest.mark.parametrize(("association", "writes"), [("MEMBER", True), ("CONTRIBUTOR", False)])
def test_where_nobody_may_ask_the_author_counts(
    hub: Hub, forge: Forge, status: int, association: str, writes: bool
) -> None:
    """A comment says what its author is to the repository; for the rest nobody can say."""
    hub.give("GET", EVENTS, [happened("closed")])
    hub.give("GET", TALK, [comment("No", author_association=association)])
    hub.give("GET", f"{HERE}/collaborators/alice/permission", refused(status, "Not Found"))
    said, closed = forge.events(7)
    assert (said.actor.writes, closed.actor.writes) == (writes, None)


# --- issues ------------------------------------------------------------------------------------------------------


def issue(**changes: Any) -> dict[str, Any]:
    made = {"number": 3, "title": "Paused", "body": "Why", "html_url": "https://github.example/i/3", "user": user(US)}
    return {**made, **changes}


def test_an_issue_is_opened_once(hub: Hub, forge: Forge) -> None:
    """Found by title and label, changed where it says something else; a pull request of that title is none."""
    other = [issue(title="Other"), issue(number=4, pull_request={})]
    hub.give("GET", f"{HERE}/issues", other, [*other, issue()])
    hub.give("POST", f"{HERE}/issues", Answer(201, issue()))
    hub.give("PATCH", f"{HERE}/issues/3", issue())

    assert forge.open_issue("Paused", "Why", "skillopt") == "https://github.example/i/3"
    assert forge.open_issue("Paused", "Why", "skillopt") == "https://github.example/i/3"
    assert hub.sent("POST", f"{HERE}/issues") == [{"title": "Paused", "body": "Why", "labels": ["skillopt"]}]
    assert len(hub.writes) == 1

    assert forge.open_issue("Paused", "Because", "skillopt") == "https://github.example/i/3"
    assert hub.sent("PATCH", f"{HERE}/issues/3") == [{"body": "Because"}]


def test_somebody_elses_issue_is_left_as_it_is(hub: Hub, forge: Forge) -> None:
    """It says what they wanted to say."""
    hub.give("GET", f"{HERE}/issues", [issue(user=user("alice"))])
    assert forge.open_issue("Paused", "Because", "skillopt") == "https://github.example/i/3"
    assert hub.writes == []


@pytest.mark.parametrize(("before", "write"), [([], "POST"), ([issue(body="Old")], "PATCH")])
def test_a_lost_issue_is_looked_for(hub: Hub, forge: Forge, before: list[Any], write: str) -> None:
    """As everything that is written."""
    path = f"{HERE}/issues" if write == "POST" else f"{HERE}/issues/3"
    hub.give("GET", f"{HERE}/issues", before, [issue()])
    hub.give(write, path, DONE)
    assert forge.open_issue("Paused", "Why", "skillopt") == "https://github.example/i/3"
    assert len(hub.writes) == 1


def test_a_draft_is_a_value(hub: Hub, forge: Forge) -> None:
    """One that shall be ready is asked for as such."""
    hub.give("GET", f"{HERE}/pulls", [])
    hub.give("POST", f"{HERE}/pulls", Answer(201, pull(draft=False)))
    assert not forge.create(replace(DRAFT, draft=False)).draft
    assert hub.sent("POST", f"{HERE}/pulls")[0]["draft"] is False
