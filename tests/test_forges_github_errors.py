"""GitHub when it refuses, is slow, breaks or limits: what is tried again, what is waited for, and what is said."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from skillopt_git.errors import ForgeError
from skillopt_git.forges.github_errors import Response, unreachable
from skillopt_git.forges.github_remedies import REMEDIES
from skillopt_git.forges.github_token import TokenKind
from skillopt_git.ports import PullDraft
from tests.hub import HERE, NIGHT, NOON, PULL, SECRET, Answer, Broken, Hub, comment, opened, pull, refused

DRAFT = PullDraft(title="Use pnpm", body="One rule.", head=NIGHT, base="main", draft=True)
PULLS = f"{HERE}/pulls"
LABELS = f"{HERE}/issues/7/labels"
HOUR = 3600
MARK = "<!-- skillopt:topic:frozen -->"


@pytest.fixture
def hub(httpserver: HTTPServer) -> Iterator[Hub]:
    yield from opened(httpserver)


def create(hub: Hub, *answers: Any, kind: TokenKind = "classic") -> ForgeError:
    """The error of opening a pull request where GitHub answers so."""
    hub.give("GET", PULLS, [])
    hub.give("POST", PULLS, *answers)
    with pytest.raises(ForgeError) as caught:
        hub.forge(kind=kind).create(DRAFT)
    return caught.value


# --- refusals ----------------------------------------------------------------------------------------------------

INVALID = "Validation Failed"
NO_ACTIONS = "GitHub Actions is not permitted to create or approve pull requests."
NO_WORKFLOWS = "refusing to allow a GitHub App to create or update workflow `x.yml` without `workflows` permission"
NO_SSO = "Resource protected by organization SAML enforcement. You must grant your token access."
NO_ADDRESS = "The organization has an IP allow list enabled, and your IP address is not permitted."
NO_CLASSIC = "`acme` forbids access via a personal access token (classic)."
NO_INTEGRATION, NO_FINE = "Resource not accessible by integration", "Resource not accessible by personal access token"
NO_RULE = "GH013: Repository rule violations found for refs/heads/main"
NO_COLLAB = "Fork collab can't be granted by someone without permission"
TOO_LONG = "body is too long (maximum is 65536 characters)"
NO_COMMITS = f"No commits between main and {NIGHT}"
NEW = "Something new"

CASES: list[tuple[int, str, list[Any], str, str]] = [
    (403, NO_ACTIONS, [], "not_permitted", "Allow GitHub Actions to create and approve pull requests"),
    (403, NO_INTEGRATION, [], "forbidden", "pull-requests: write"),
    (403, NO_FINE, [], "forbidden", "Fine-grained tokens"),
    (403, NO_WORKFLOWS, [], "forbidden", "nothing below .github/"),
    (400, 'Duplicate header: "Authorization"', [], "auth", "persist-credentials: false"),
    (403, NO_SSO, [], "forbidden", "Configure SSO"),
    (403, NO_ADDRESS, [], "forbidden", "IP allow list"),
    (403, NO_CLASSIC, [], "forbidden", "Settings > Personal access tokens"),
    (401, "Bad credentials", [], "auth", "SKILLOPT_GITHUB_TOKEN"),
    (401, NEW, [], "auth", "SKILLOPT_GITHUB_TOKEN"),
    (403, "Must have push access to repository", [], "forbidden", "role Write"),
    (403, "Repository was archived so is read-only.", [], "forbidden", "Unarchive"),
    (410, "Issues has been disabled in this repository.", [], "missing", "Features"),
    (403, "User is blocked", [], "forbidden", "Interaction limits"),
    (403, NEW, [], "forbidden", "scope `repo`"),
    (404, "Not Found", [], "missing", "scope `repo`"),
    (422, INVALID, [{"message": NO_COMMITS}], "refused", ""),
    (422, INVALID, [{"field": "base", "code": "invalid"}], "refused", "propose.base"),
    (422, INVALID, [{"message": TOO_LONG}], "refused", "65,536"),
    (422, INVALID, [{"message": NO_COLLAB}], "refused", "may not write"),
    (422, NO_RULE, [], "forbidden", "Settings > Rules"),
    (422, INVALID, [NEW], "refused", ""),
    (409, NEW, [], "refused", ""),
    (307, "Moved Temporarily", [], "missing", "scope `repo`"),
]


@pytest.mark.parametrize(("status", "message", "errors", "kind", "hint"), CASES, ids=[case[1][:40] for case in CASES])
def test_a_refusal_names_the_setting(
    hub: Hub, status: int, message: str, errors: list[Any], kind: str, hint: str
) -> None:
    """On one line, with GitHub's own words, after one try."""
    error = create(hub, refused(status, message, *errors))
    assert (error.kind, error.exit_code) == (kind, 1)
    assert hint in error.hint
    assert bool(hint) or error.hint == ""
    assert error.message.startswith(f"GitHub did not open a pull request for {NIGHT}: ")
    assert message in error.message
    assert "\n" not in f"{error.message}{error.hint}"
    assert len(hub.writes) == 1
    assert hub.clock.slept == []


def test_nothing_to_propose_is_said_in_words(hub: Hub) -> None:
    """It is not the text that is invalid."""
    error = create(hub, refused(422, INVALID, {"message": f"No commits between main and {NIGHT}"}))
    assert "there is nothing to propose: the base has every commit of the branch" in error.message


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("classic", "the scope `repo`"),
        ("fine-grained", "must name this repository"),
        ("actions", "its own repository only"),
        ("app", "install the App"),
        ("oauth", "its account may lack the right"),
    ],
)
def test_what_cannot_be_seen_depends_on_the_token(hub: Hub, kind: TokenKind, hint: str) -> None:
    """GitHub says the same of what is not there and of what is not shown."""
    hub.give("GET", HERE, refused(404, "Not Found"))
    with pytest.raises(ForgeError, match="did not show acme/acme-api: Not Found") as caught:
        hub.forge(kind=kind).default_branch()
    assert (caught.value.kind, hint in caught.value.hint) == ("missing", True)


def test_every_remedy_is_reached() -> None:
    """A row that no earlier row leaves anything to would never be told."""
    examples = [Response(status, {}, refused(status, said, *more).body).words for status, said, more, _, _ in CASES]
    others = [
        "A pull request already exists for acme:x.",
        "Draft pull requests are not supported in this repository.",
        "PullRequest head invalid",
        "Could not resolve to a node with the global id of 'x'",
        "Merge commits are not allowed on this repository.",
        "Head branch was modified. Review and try the merge again.",
        "Base branch was modified. Review and try the merge again.",
        "Pull Request is not mergeable",
    ]
    reached = {next((item for item in REMEDIES if item.words.search(said)), None) for said in [*examples, *others]}
    assert [item.words.pattern for item in REMEDIES if item not in reached] == []


def test_a_missing_branch_is_waited_for_and_then_told(hub: Hub) -> None:
    """Four times in seven seconds; a refused one is no write that was done."""
    error = create(hub, refused(422, INVALID, {"resource": "PullRequest", "field": "head", "code": "invalid"}))
    assert error.kind == "refused"
    assert "push it first" in error.hint
    assert hub.clock.slept == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("status", [401, 500])
def test_who_may_write_is_not_guessed_where_nothing_works(hub: Hub, status: int) -> None:
    """Nor whose the token is."""
    hub.give("GET", f"{HERE}/issues/7/comments", [comment("No")])
    hub.give("GET", f"{HERE}/issues/7/events", [])
    hub.give("GET", f"{HERE}/collaborators/alice/permission", refused(status, "No"))
    with pytest.raises(ForgeError, match="did not tell what alice may do"):
        hub.forge().events(7)
    hub.give("GET", PULL, pull())
    hub.give("GET", "/user", refused(status, "No"))
    with pytest.raises(ForgeError, match="did not say whose token this is"):
        hub.forge().get(7)


def test_a_label_is_put_on_what_was_just_made(hub: Hub) -> None:
    """The part of GitHub that labels hears of it later."""
    hub.give("GET", LABELS, [])
    lag = refused(422, INVALID, "Could not resolve to a node with the global id of 'PR_7'.")
    hub.give("POST", LABELS, lag, lag, Answer(200, []))
    hub.forge().label(7, ["skillopt"])
    assert hub.clock.slept == [1.0, 2.0]
    assert len(hub.writes) == 3


def test_a_token_is_never_told(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    """Not where GitHub repeats it, not of another's, not in a log, and not by a look at the forge."""
    caplog.set_level(logging.DEBUG)
    error = create(hub, refused(422, f"what is {SECRET}", "or github_pat_11AAAA_bbbb, or ghs_c0ffee?"))
    assert "[token]" in error.message
    logged = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("werkzeug"))
    told = f"{error!r} {error.message} {error.hint} {hub.sessions[0]!r} {hub.forge()!r} {logged}"
    assert SECRET not in told
    assert "github_pat_" not in told
    assert "ghs_c" not in told
    assert SECRET in next(item.headers["Authorization"] for item in hub.asked)


def test_words_of_github_move_no_cursor(hub: Hub) -> None:
    """Nor do they fill the screen."""
    error = create(hub, refused(422, f"a\x1b[2Jb\nc\u202e{'x' * 5000}"))
    assert re.search(r"[\x00-\x1f\u202e]", error.message) is None
    assert len(error.message) < 500


# --- trouble on the way ------------------------------------------------------------------------------------------

PAGE = "<!DOCTYPE html><title>Unicorn!</title>"


@pytest.mark.parametrize(
    "trouble",
    [
        Answer(500, {"message": "the rate limit of it is archived", "errors": 5}),
        Answer(502, PAGE),
        Answer(503, ""),
        Answer(504, "upstream timed out"),
        Broken(),
    ],
    ids=["500", "502", "503", "504", "dropped"],
)
def test_a_question_is_asked_again(hub: Hub, trouble: Any) -> None:
    """Three times, a little later each time."""
    hub.give("GET", PULL, trouble, trouble, pull())
    assert hub.forge().get(7).number == 7
    assert hub.clock.slept == [1.0, 2.0]

    hub.give("GET", PULL, trouble)
    with pytest.raises(ForgeError, match="did not show pull request 7: ") as caught:
        hub.forge().get(7)
    assert (caught.value.kind, caught.value.exit_code) == ("network", 75)
    assert hub.clock.slept == [1.0, 2.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "trouble",
    [Answer(500, {"message": "Server Error"}), Answer(502, PAGE), Answer(503, ""), Answer(201, PAGE), Broken()],
)
@pytest.mark.parametrize(
    "verb", ["create", "comment", "label", "update", "close", "merge", "ready", "issue", "unlabel"]
)
def test_nothing_is_written_twice(hub: Hub, trouble: Any, verb: str) -> None:
    """Whatever becomes of the answer: what was not done tonight is done by the next run."""
    forge = hub.forge()
    for path in (PULLS, LABELS, f"{HERE}/issues/7/comments", f"{HERE}/issues"):
        hub.give("GET", path, [])
        hub.give("POST", path, trouble)
    hub.give("GET", LABELS, [{"name": "old"}])
    hub.give("DELETE", f"{LABELS}/old", trouble)
    hub.give("GET", PULL, pull())
    hub.give("PATCH", PULL, trouble)
    hub.give("PUT", f"{PULL}/merge", trouble)
    hub.give("POST", "/graphql", trouble)
    hub.give("POST", f"{PULL}/requested_reviewers", trouble)
    calls: dict[str, Callable[[], object]] = {
        "create": lambda: forge.create(DRAFT),
        "comment": lambda: forge.comment(7, "frozen", "Text"),
        "label": lambda: forge.label(7, ["new"]),
        "unlabel": lambda: forge.unlabel(7, "old"),
        "update": lambda: forge.update(7, title="Another"),
        "close": lambda: forge.close(7),
        "merge": lambda: forge.merge(7, sha="a" * 40),
        "ready": lambda: forge.set_ready(7, ready=True),
        "review": lambda: forge.ask_review(7, ["alice"]),
        "issue": lambda: forge.open_issue("Paused", "Why", "skillopt"),
    }
    with pytest.raises(ForgeError) as caught:
        calls[verb]()
    assert caught.value.exit_code == 75
    assert len(hub.writes) == 1


def test_a_server_that_hangs_is_left(hub: Hub) -> None:
    """Each question has its time."""
    hub.give("GET", PULLS, [])
    hub.give("POST", PULLS, Broken(seconds=2.0))
    with pytest.raises(ForgeError, match=r"gave no answer .*timed out") as caught:
        hub.forge(timeout=1).create(DRAFT)
    assert (caught.value.kind, caught.value.exit_code) == ("network", 75)


def test_a_server_that_is_not_there_is_told(hub: Hub) -> None:
    """In the system's words, not in the library's."""
    forge = hub.forge()
    hub.server.stop()
    with pytest.raises(ForgeError, match=r"127\.0\.0\.1 gave no answer \(Connection refused\)") as caught:
        forge.default_branch()
    assert "try again later" in caught.value.hint
    hub.server.start()


def test_a_certificate_that_nobody_signed_is_told() -> None:
    """Later it would be the same."""
    said = "SSLError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c)')"
    error = unreachable(OSError(said), "show it", "github.example", lost=True)
    assert "github.example gave no answer (certificate verify failed: self-signed certificate)" in error.message
    assert "REQUESTS_CA_BUNDLE" in error.hint
    assert error.exit_code == 1
    strange = unreachable(OSError(), "show it", "github.example", lost=False)
    assert "gave no answer (OSError)" in strange.message


@pytest.mark.parametrize("body", [PAGE, "[]", "null", '"x"', "{}", '{"full_name": null', '{"private": 1}'])
def test_a_page_that_is_not_githubs_is_told(hub: Hub, body: str) -> None:
    """A proxy's, which says 200 to everything: nothing of it is believed."""
    hub.give("GET", HERE, Answer(200, body))
    with pytest.raises(ForgeError, match=r"127\.0\.0\.1 answered with .* is not what GitHub's API says") as caught:
        hub.forge().default_branch()
    assert caught.value.kind == "network"
    assert "HTTPS_PROXY" in caught.value.hint


@pytest.mark.parametrize("row", [{}, pull(head=None), pull(number="x"), pull(labels=[{}]), "text", None])
def test_a_record_that_lacks_something_is_told(hub: Hub, row: Any) -> None:
    """Not as a bug of ours."""
    hub.give("GET", PULLS, [row])
    with pytest.raises(ForgeError, match="is not what GitHub's API says"):
        hub.forge().find("sleep/")
    hub.give("GET", PULLS, {"rows": [row]})
    with pytest.raises(ForgeError, match="is not what GitHub's API says"):
        hub.forge().find("sleep/")


@pytest.mark.parametrize("row", [{"body": f"{MARK}x"}, comment(f"{MARK}x", user={}), comment("x", user="alice")])
def test_a_comment_that_lacks_something_is_told(hub: Hub, row: Any) -> None:
    """Whose it is cannot be guessed."""
    hub.give("GET", f"{HERE}/issues/7/comments", [row])
    hub.give("GET", f"{HERE}/issues/7/events", [])
    with pytest.raises(ForgeError, match="is not what GitHub's API says"):
        hub.forge().events(7)


def test_a_redirect_to_another_host_is_not_followed(hub: Hub) -> None:
    """The token would go there."""
    hub.give("GET", HERE, Answer(301, {}, {"location": "http://mallory.example/repositories/1"}))
    with pytest.raises(ForgeError, match=r"redirected from host localhost to mallory\.example$") as caught:
        hub.forge().default_branch()
    assert caught.value.kind == "missing"
    assert "present address" in caught.value.hint
    assert len(hub.asked) == 1


# --- limits ------------------------------------------------------------------------------------------------------

SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
PRIMARY = "API rate limit exceeded for user ID 1."
SPENT = {"x-ratelimit-remaining": "0", "x-ratelimit-limit": "5000"}


@pytest.mark.parametrize(
    ("limit", "waits"),
    [
        (refused(403, SECONDARY, retry_after="20"), 20.0),
        (refused(429, SECONDARY, retry_after="20"), 20.0),
        (refused(403, "No", retry_after="20"), 20.0),
        (refused(429, "Too many requests"), 60.0),
        (refused(403, SECONDARY), 60.0),
        (refused(403, "You have triggered an abuse detection mechanism."), 60.0),
        (refused(422, INVALID, {"message": "was submitted too quickly"}), 60.0),
        (Answer(403, {"message": PRIMARY}, {**SPENT, "x-ratelimit-reset": f"{NOON + 45:.0f}"}), 45.0),
        (Answer(429, {"message": PRIMARY}, {**SPENT, "x-ratelimit-reset": f"{NOON - 45:.0f}"}), 0.0),
        (Answer(429, "", {"retry-after": "soon"}), 60.0),
        (Answer(429, PAGE, {"retry-after": "20"}), 20.0),
    ],
)
def test_a_short_limit_is_waited_for(hub: Hub, limit: Answer, waits: float) -> None:
    """By what GitHub says, else a minute. A write that was limited was not looked at, so it is sent again."""
    hub.give("GET", PULLS, [])
    hub.give("POST", PULLS, limit, Answer(201, pull()))
    assert hub.forge().create(DRAFT).number == 7
    assert hub.clock.slept == [waits]
    assert len(hub.writes) == 2


@pytest.mark.parametrize(
    ("limit", "until"),
    [
        (Answer(403, {"message": PRIMARY}, {**SPENT, "x-ratelimit-reset": f"{NOON + HOUR:.0f}"}), "02:46:40 UTC"),
        (refused(403, SECONDARY, retry_after="61"), "01:47:41 UTC"),
        (refused(429, SECONDARY, retry_after="99999999999"), "2001-09-10 01:46:40 UTC"),
    ],
)
def test_a_long_limit_is_told(hub: Hub, limit: Answer, until: str) -> None:
    """Nobody sleeps for an hour: the error says when it ends."""
    error = create(hub, limit)
    assert (error.kind, error.exit_code) == ("rate", 75)
    assert until in error.message
    assert hub.clock.slept == []
    assert len(hub.writes) == 1


def test_limits_are_waited_for_a_minute_in_all(hub: Hub) -> None:
    """Not a minute each time."""
    hub.give("GET", PULL, refused(403, SECONDARY, retry_after="40"))
    with pytest.raises(ForgeError, match="it may ask again at") as caught:
        hub.forge().get(7)
    assert caught.value.kind == "rate"
    assert hub.clock.slept == [40.0]


def test_graphql_has_a_limit_too(hub: Hub) -> None:
    """It says so with 200."""
    hub.give("GET", PULL, pull())
    hub.give("POST", "/graphql", {"errors": [{"type": "RATE_LIMITED", "message": "Slow down"}, "and more"]})
    with pytest.raises(ForgeError, match="it may ask again at") as caught:
        hub.forge().set_ready(7, ready=True)
    assert caught.value.kind == "rate"


@pytest.mark.parametrize(("after", "slept"), [("5", [5.0]), ("61", [])])
def test_a_server_that_says_when_is_asked_then(hub: Hub, after: str, slept: list[float]) -> None:
    """For a minute at most."""
    hub.give("GET", PULL, Answer(503, {"message": "Maintenance"}, {"retry-after": after}), pull())
    if slept:
        assert hub.forge().get(7).number == 7
    else:
        with pytest.raises(ForgeError, match="Maintenance"):
            hub.forge().get(7)
    assert hub.clock.slept == slept
