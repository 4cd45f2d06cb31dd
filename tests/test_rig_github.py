"""The rig's GitHub: the emulator behind git, kept to the rules that a nightly run meets."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any

import pytest

from skillopt_git.gitrepo import GitRepo
from skillopt_git.remote import Remote, Update
from tests.helpers import Repository
from tests.rig import trouble
from tests.rig.accounts import ALICE, BOB, READER, ROBOT, STRANGER, Account
from tests.rig.api import Api
from tests.rig.frontdoor import FrontDoor
from tests.rig.github import GitHub, Repo
from tests.rig.loopback import Fault

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

NAME = "acme/api"
R = f"/repos/{NAME}"
BRANCH = "sleep/2026-11-29"
DRAFT = {"title": "Learned", "body": "Two rules.", "head": BRANCH, "base": "main", "draft": True}
READY = {**DRAFT, "draft": False}
WRITES = r"^(POST|PUT|PATCH|DELETE) /(repos|graphql)"


@pytest.fixture
def clone(hub: FrontDoor, tmp_path: Path) -> Repository:
    """Of the robot, with one commit on the branch, pushed."""
    made = hub.clone(NAME, tmp_path / "clone", ROBOT)
    made.git("switch", "--quiet", "--create", BRANCH)
    made.commit("Learn", {"docs/CLAUDE.md": "- Use pnpm.\n"})
    made.git("push", "--quiet", "origin", BRANCH)
    return made


@pytest.fixture
def robot(hub: FrontDoor) -> Api:
    return hub.api(ROBOT)


@pytest.fixture
def alice(hub: FrontDoor) -> Api:
    return hub.api(ALICE)


def head(repo: Repository, rev: str = "HEAD") -> str:
    return repo.git("rev-parse", rev).strip()


def pull(api: Api, number: int = 1) -> Any:
    return api("GET", f"{R}/pulls/{number}").json


def events(api: Api, number: int = 1) -> list[tuple[str, str]]:
    told = api("GET", f"{R}/issues/{number}/events").json
    return [(event["event"], event["actor"]["login"]) for event in told]


def refusal(api: Api, method: str, path: str, body: object) -> tuple[int, str]:
    """The status, and the words that matter."""
    reply = api(method, path, body)
    errors = [error.get("message") or f"{error['field']} {error['code']}" for error in reply.json.get("errors", [])]
    return reply.status, " ".join(errors) or reply.json["message"]


# --- git and the API are one -------------------------------------------------------------------------------------


def test_what_is_pushed_is_in_the_api(hub: FrontDoor, clone: Repository, robot: Api) -> None:
    """Same commits, trees and blobs, whatever they hold, and branches come, move and go."""
    clone.write({"bin/tool": "#!/bin/sh\n", "a b/ü.md": "x\n", "raw": b"\x00\xff"})
    (clone.path / "bin/tool").chmod(0o755)
    (clone.path / "link").symlink_to("raw")
    clone.git("add", "--all")
    clone.git("config", "user.name", "Änne Müller")
    clone.git("commit", "--quiet", "--date=2026-11-29T23:30:00+05:30", "-m", "Subject\n\nBody: ünï\n\nTrailer: x")
    clone.git("push", "--quiet", "origin", BRANCH, f"{BRANCH}:other")

    assert robot("GET", f"{R}/branches/{BRANCH}").json["commit"]["sha"] == head(clone)
    assert robot("GET", f"{R}/git/commits/{head(clone)}").json["tree"]["sha"] == head(clone, "HEAD^{tree}")
    assert robot("GET", f"{R}/contents/docs/CLAUDE.md?ref={BRANCH}").json["sha"] == head(clone, "HEAD:docs/CLAUDE.md")
    clone.git("push", "--quiet", "origin", ":other")
    assert robot("GET", f"{R}/branches/other").status == 404


def test_who_may_do_what(hub: FrontDoor, clone: Repository) -> None:
    """In GitHub's words, for the same accounts and tokens that git knows."""
    stranger, nobody = Account("eve", "token-of-eve-0000", "none"), None
    assert hub.api(stranger)("GET", R).json["message"] == "Bad credentials"
    assert [hub.api(one)("GET", R).status for one in (ROBOT, READER, STRANGER, nobody)] == [200, 200, 404, 404]
    assert hub.api(nobody)("GET", "/repos/acme/site").json["private"] is False
    assert refusal(hub.api(READER), "POST", f"{R}/pulls", READY)[0] == 403
    assert refusal(hub.api(nobody), "POST", "/repos/acme/site/pulls", READY)[0] == 401
    assert hub.api(READER)("GET", R).json["permissions"]["push"] is False
    assert hub.api(BOB)("GET", "/user").json["login"] == "bob"
    assert refusal(hub.api(ROBOT), "GET", "/user", None) == (403, "Resource not accessible by integration")


@pytest.mark.parametrize(
    ("login", "name", "expected"),
    [
        ("alice", NAME, "admin"),
        ("bob", NAME, "write"),
        ("rita", NAME, "read"),
        ("sam", NAME, "none"),
        ("sam", "acme/site", "read"),
        ("github-actions%5Bbot%5D", NAME, "github-actions[bot] is not a user"),
    ],
)
def test_what_somebody_may_is_told(hub: FrontDoor, login: str, name: str, expected: str) -> None:
    """To who may push themselves."""
    path = f"/repos/{name}/collaborators/{login}/permission"
    told = hub.api(ROBOT)("GET", path).json
    assert told.get("permission", told.get("message")) == expected
    assert refusal(hub.api(READER), "GET", path, None)[0] == 403


# --- pull requests -----------------------------------------------------------------------------------------------


def test_a_pull_request_is_made_once_and_found(hub: FrontDoor, clone: Repository, robot: Api) -> None:
    """A second one for the same branch is refused; what was asked can be counted."""
    made = robot("POST", f"{R}/pulls", DRAFT)
    assert (made.status, made.json["number"], made.json["draft"]) == (201, 1, True)
    assert made.json["user"] == {**made.json["user"], "login": ROBOT.login, "type": "Bot"}
    assert made.json["html_url"] == f"{hub.url}/{NAME}/pull/1"
    again = refusal(robot, "POST", f"{R}/pulls", DRAFT)
    assert again == (422, f"A pull request already exists for acme:{BRANCH}.")

    found = robot("GET", f"{R}/pulls?state=all&head=acme:{BRANCH}").json
    assert [one["number"] for one in found] == [1]
    assert robot("GET", f"{R}/pulls?head=acme:another").json == []
    assert "merged" not in found[0]
    assert len(hub.asked(WRITES)) == 2


def test_a_fork_may_have_a_branch_of_the_same_name(hub: FrontDoor, clone: Repository, robot: Api) -> None:
    """It is told apart by its owner, and what is pushed here does not touch it."""
    robot("POST", f"{R}/pulls", DRAFT)
    number = hub.pull_from_fork(NAME, READER, BRANCH)
    clone.commit("More", {"more": "1"})
    clone.git("push", "--quiet", "origin", BRANCH)

    theirs = pull(robot, number)
    assert (theirs["head"]["ref"], theirs["head"]["repo"]["full_name"]) == (BRANCH, "rita/api")
    assert theirs["head"]["sha"] == head(clone, "HEAD~")  # where it was when it was asked for
    assert [one["number"] for one in robot("GET", f"{R}/pulls?head=acme:{BRANCH}").json] == [1]
    clone.git("push", "--quiet", "origin", f":{BRANCH}")
    assert (pull(robot)["state"], pull(robot, number)["state"]) == ("closed", "open")
    robot("PATCH", f"{R}/pulls/{number}", {"state": "closed"})
    assert events(robot, number) == [("closed", ROBOT.login)]


def test_of_many_who_ask_at_once_one_is_first(clone: Repository, robot: Api) -> None:
    """The others are told that it exists."""
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda _: robot("POST", f"{R}/pulls", DRAFT).status, range(8)))
    assert sorted(said) == [201, *[422] * 7]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"head": "sleep/none"}, "head invalid"),
        ({"base": "trunk"}, "base invalid"),
        ({"head": "main"}, "No commits between main and main"),
        ({"title": " "}, "title missing_field"),
        ({"title": "x" * 257}, "title is too long (maximum is 256 characters)"),
        ({"body": "x" * 65_537}, "body is too long (maximum is 65536 characters)"),
    ],
)
def test_a_pull_request_that_makes_no_sense_is_refused(
    clone: Repository, robot: Api, changed: dict[str, str], words: str
) -> None:
    assert refusal(robot, "POST", f"{R}/pulls", {**DRAFT, **changed}) == (422, words)
    assert robot("GET", f"{R}/pulls?state=all").json == []


def test_a_pull_request_follows_its_branch(clone: Repository, robot: Api) -> None:
    """While it is open; a branch that is pushed anew is an event."""
    robot("POST", f"{R}/pulls", DRAFT)
    clone.git("commit", "--quiet", "--amend", "-m", "Learn more")
    clone.git("push", "--quiet", "--force", "origin", BRANCH)
    assert pull(robot)["head"]["sha"] == head(clone)
    robot("PATCH", f"{R}/pulls/1", {"state": "closed"})
    clone.commit("Late", {"late": "1"})
    clone.git("push", "--quiet", "origin", BRANCH)

    assert pull(robot)["head"]["sha"] == head(clone, "HEAD~")
    assert events(robot) == [("head_ref_force_pushed", ROBOT.login), ("closed", ROBOT.login)]
    robot("PATCH", f"{R}/pulls/1", {"state": "open"})
    assert pull(robot)["head"]["sha"] == head(clone)


def test_without_its_branch_a_pull_request_closes(hub: FrontDoor, clone: Repository, robot: Api) -> None:
    """By a push or by the API, and it cannot be opened again."""
    robot("POST", f"{R}/pulls", DRAFT)
    assert hub.api(BOB)("DELETE", f"{R}/git/refs/heads/{BRANCH}").status == 204

    assert pull(robot)["state"] == "closed"
    assert events(robot) == [("head_ref_deleted", "bob"), ("closed", "bob")]
    assert clone.git("ls-remote", "origin", BRANCH) == ""
    assert refusal(robot, "PATCH", f"{R}/pulls/1", {"state": "open"})[1].endswith("branch has been deleted.")
    assert refusal(robot, "DELETE", f"{R}/git/refs/heads/{BRANCH}", None) == (422, "Reference does not exist")


def test_without_its_base_a_pull_request_closes(clone: Repository, robot: Api) -> None:
    clone.git("push", "--quiet", "origin", "main:refs/heads/next")
    robot("POST", f"{R}/pulls", {**READY, "base": "next"})
    clone.git("push", "--quiet", "origin", ":next")

    assert [event for event, _ in events(robot)] == ["base_ref_deleted", "closed"]


def test_what_people_do_is_told_in_order(clone: Repository, robot: Api, alice: Api) -> None:
    """As events, and with comments as they are now on the timeline; page by page."""
    robot("POST", f"{R}/pulls", DRAFT)
    robot("POST", f"{R}/issues/1/labels", {"labels": ["skillopt", "on trial"]})
    comment = alice("POST", f"{R}/issues/1/comments", {"body": "Why?"}).json
    robot("PATCH", f"{R}/pulls/1", {"title": "Learned two"})
    robot("DELETE", f"{R}/issues/1/labels/on%20trial")
    alice("PATCH", f"{R}/issues/comments/{comment['id']}", {"body": "Why so?"})
    alice("PATCH", f"{R}/pulls/1", {"state": "closed"})
    alice("PATCH", f"{R}/pulls/1", {"state": "open"})

    told = alice("GET", f"{R}/issues/1/timeline?per_page=100").json
    assert [(event["event"], event["actor"]["login"]) for event in told] == [
        ("labeled", ROBOT.login),
        ("labeled", ROBOT.login),
        ("commented", "alice"),
        ("renamed", ROBOT.login),
        ("unlabeled", ROBOT.login),
        ("closed", "alice"),
        ("reopened", "alice"),
    ]
    assert told[2]["body"] == "Why so?"
    assert told[4]["label"]["name"] == "on trial"
    first = alice("GET", f"{R}/issues/1/events?per_page=4")
    assert len(first.json) == 4
    assert f'{R}/issues/1/events?per_page=4&page=2>; rel="next"' in first.headers["link"]
    assert len(alice("GET", f"{R}/issues/1/events?per_page=4&page=2").json) == 2
    assert {label["name"] for label in pull(robot)["labels"]} == {"skillopt"}
    assert refusal(robot, "PATCH", f"{R}/pulls/1", {"base": "trunk"}) == (422, "base invalid")


def test_a_pull_request_is_an_issue_too(clone: Repository, robot: Api) -> None:
    """With a page of its own, and among the issues that bear a label."""
    robot("POST", f"{R}/pulls", DRAFT)
    robot("POST", f"{R}/issues/1/labels", ["skillopt"])
    issue = robot("POST", f"{R}/issues", {"title": "It failed", "labels": ["skillopt"]}).json

    assert robot("GET", f"{R}/issues/1").json["pull_request"]["url"] == pull(robot)["url"]
    listed = robot("GET", f"{R}/issues?labels=skillopt").json
    assert {one["number"]: "pull_request" in one for one in listed} == {1: True, issue["number"]: False}
    assert robot("GET", f"{R}/issues?labels=another").json == []


def test_only_graphql_makes_a_draft_ready(clone: Repository, robot: Api) -> None:
    """And back again; REST changes nothing about it."""
    node = robot("POST", f"{R}/pulls", DRAFT).json["node_id"]

    def mutate(name: str, id_: str) -> Any:
        query = f"mutation($input: Input!) {{ {name}(input: $input) {{ pullRequest {{ isDraft }} }} }}"
        return robot("POST", "/graphql", {"query": query, "variables": {"input": {"pullRequestId": id_}}}).json

    robot("PATCH", f"{R}/pulls/1", {"draft": False})
    assert pull(robot)["draft"] is True
    done = mutate("markPullRequestReadyForReview", node)
    assert done["data"]["markPullRequestReadyForReview"]["pullRequest"]["isDraft"] is False
    assert pull(robot)["draft"] is False
    mutate("convertPullRequestToDraft", node)
    assert pull(robot)["draft"] is True
    assert [event for event, _ in events(robot)] == ["ready_for_review", "convert_to_draft"]
    assert mutate("convertPullRequestToDraft", "another")["errors"][0]["type"] == "NOT_FOUND"


def test_a_review_comes_from_somebody_else(hub: FrontDoor, clone: Repository, robot: Api) -> None:
    """Neither asked of the author nor given by them."""
    robot("POST", f"{R}/pulls", READY)
    own = refusal(robot, "POST", f"{R}/pulls/1/requested_reviewers", {"reviewers": [ROBOT.login]})
    assert own == (422, "Review cannot be requested from pull request author.")
    assert robot("POST", f"{R}/pulls/1/requested_reviewers", {"reviewers": ["bob"]}).status == 201
    assert robot("POST", f"{R}/pulls/1/reviews", {"event": "APPROVE"}).status == 422
    assert hub.api(BOB)("POST", f"{R}/pulls/1/reviews", {"event": "APPROVE"}).status == 200
    told = robot("GET", f"{R}/pulls/1/reviews").json
    assert [(one["user"]["login"], one["state"]) for one in told] == [("bob", "APPROVED")]


# --- merging -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("way", "parents"), [("merge", 2), ("squash", 1)])
def test_merging_makes_a_commit_that_git_has(clone: Repository, robot: Api, alice: Api, way: str, parents: int) -> None:
    """Also where the base went on meanwhile; and once."""
    robot("POST", f"{R}/pulls", READY)
    clone.git("switch", "--quiet", "main")
    clone.commit("Meanwhile", {"README.md": "# acme\n"})
    clone.git("push", "--quiet", "origin", "main")

    done = alice("PUT", f"{R}/pulls/1/merge", {"sha": head(clone, BRANCH), "merge_method": way})

    assert done.status == 200
    clone.git("pull", "--quiet", "--ff-only")
    assert head(clone) == done.json["sha"] == pull(robot)["merge_commit_sha"]
    assert len(clone.git("rev-list", "--parents", "-1", "HEAD").split()) == parents + 1
    assert clone.git("show", "HEAD:docs/CLAUDE.md") == "- Use pnpm.\n"
    assert clone.git("show", "HEAD:README.md") == "# acme\n"
    assert events(robot) == [("merged", "alice"), ("closed", "alice")]
    assert pull(robot)["merged_by"]["login"] == "alice"
    assert robot("GET", f"{R}/pulls/1/merge").status == 204
    assert refusal(alice, "PUT", f"{R}/pulls/1/merge", {}) == (405, "Pull Request is not mergeable")


def test_what_cannot_be_merged_is_refused(clone: Repository, robot: Api, alice: Api) -> None:
    """A draft, another head than the one that was seen, a way that is off, a conflict."""
    node = robot("POST", f"{R}/pulls", DRAFT).json["node_id"]
    assert robot("GET", f"{R}/pulls/1/merge").status == 404
    assert refusal(alice, "PUT", f"{R}/pulls/1/merge", {}) == (405, "Pull Request is still a draft")
    robot("POST", "/graphql", {"query": f'mutation {{ markPullRequestReadyForReview(input: "{node}") }}'})
    assert refusal(alice, "PUT", f"{R}/pulls/1/merge", {"sha": "0" * 40})[0] == 409
    assert refusal(alice, "PUT", f"{R}/pulls/1/merge", {"merge_method": "rebase"})[0] == 405
    clone.git("switch", "--quiet", "main")
    clone.commit("Theirs", {"docs/CLAUDE.md": "- Use npm.\n"})
    clone.git("push", "--quiet", "origin", "main")
    assert refusal(alice, "PUT", f"{R}/pulls/1/merge", {}) == (405, "Pull Request is not mergeable")
    assert pull(robot)["merged"] is False


def test_a_merge_that_is_pushed_counts(hub: FrontDoor, clone: Repository, robot: Api, tmp_path: Path) -> None:
    """As GitHub sees by itself that a base now holds the head."""
    robot("POST", f"{R}/pulls", READY)
    other = hub.clone(NAME, tmp_path / "other", ALICE)
    other.git("merge", "--quiet", "--no-ff", "-m", "Adopt", f"origin/{BRANCH}")
    other.git("push", "--quiet", "origin", "main")

    assert (pull(robot)["state"], pull(robot)["merge_commit_sha"]) == ("closed", head(other))
    assert events(robot) == [("merged", "alice"), ("closed", "alice")]


def test_the_api_moves_no_branch_behind_gits_back(clone: Repository, alice: Api) -> None:
    """What the emulator alone would know of is refused, so that no test builds on it."""
    body = {"message": "x", "content": "", "branch": "main"}
    assert alice("PUT", f"{R}/contents/x", body).status == 501
    assert alice("POST", f"{R}/git/refs", {"ref": "refs/heads/x", "sha": head(clone)}).status == 501
    assert alice("GET", f"{R}/pulls/1/files").status == 501


# --- what goes wrong ---------------------------------------------------------------------------------------------


def test_a_call_can_be_carried_out_and_its_answer_lost(hub: FrontDoor, clone: Repository, robot: Api) -> None:
    """Whoever asks again finds what was made."""
    hub.goes_wrong(trouble.lost(r"^POST .*/pulls$"), trouble.unavailable(r"^POST .*/comments$", after=True))

    with pytest.raises((ConnectionResetError, RemoteDisconnected)):
        robot("POST", f"{R}/pulls", DRAFT)
    assert refusal(robot, "POST", f"{R}/pulls", DRAFT)[0] == 422
    assert robot("POST", f"{R}/issues/1/comments", {"body": "x"}).status == 502
    assert len(robot("GET", f"{R}/issues/1/comments").json) == 1


def test_github_can_have_a_bad_night(hub: FrontDoor, clone: Repository, robot: Api) -> None:
    """Each refusal with its headers, each once, and nothing was done."""
    hub.goes_wrong(
        trouble.actions_may_not_create(),
        trouble.rate_limited("^POST", reset=1_796_000_000),
        trouble.slow_down("^POST", seconds=60, status=429),
        trouble.unavailable("^POST"),
    )
    said = [robot("POST", f"{R}/pulls", DRAFT) for _ in range(4)]

    assert [reply.status for reply in said] == [403, 403, 429, 502]
    assert "not permitted to create" in said[0].json["message"]
    assert said[1].headers["x-ratelimit-reset"] == "1796000000"
    assert said[2].headers["retry-after"] == "60"
    assert robot("POST", f"{R}/pulls", DRAFT).json["number"] == 1


def test_headers_can_be_added_and_answers_delayed(hub: FrontDoor, robot: Api) -> None:
    """To an answer that is otherwise right."""
    hub.goes_wrong(Fault("^GET", delay=0.3, headers=(("X-RateLimit-Remaining", "3"),)))
    began = time.monotonic()

    reply = robot("GET", R)

    assert time.monotonic() - began >= 0.3
    assert (reply.status, reply.json["full_name"]) == (200, NAME)
    assert reply.headers["x-ratelimit-remaining"] == "3"


def test_a_push_that_got_lost_is_in_the_api(hub: FrontDoor, clone: Repository, robot: Api) -> None:
    """The tool's own push, to the same origin."""
    hub.goes_wrong(trouble.lost("^POST .*/git-receive-pack"))

    Remote(GitRepo.open(clone.path), "origin", longest=60).push([Update("refs/heads/sleep/late", head(clone), None)])

    assert robot("GET", f"{R}/branches/sleep/late").json["commit"]["sha"] == head(clone)


# --- the process -------------------------------------------------------------------------------------------------


def test_the_emulator_ends_with_its_input(github: GitHub) -> None:
    """It is begun anew without what was there before, and nothing of it is left behind."""
    del github  # for its reasons to skip
    mine = GitHub.start()
    first = Api(mine.anew([Repo("acme/one")], "http://127.0.0.1:1"), ALICE)
    assert first("GET", "/repos/acme/one").status == 200
    second = Api(mine.anew([Repo("acme/two")], "http://127.0.0.1:1"), ALICE)
    assert second("GET", "/repos/acme/one").status == 404
    mine.stop()
    assert mine.process.returncode == 0
