"""A pull request as the issue that it also is on GitHub: its page, labels, comments, and what happened to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

from tests.rig import refusals
from tests.rig.accounts import Account
from tests.rig.loopback import Answer, Request
from tests.rig.pulls import Json, Pull, Pulls

_SHARED = ("user", "number", "state", "title", "body", "labels", "assignees", "created_at", "updated_at", "closed_at")


def page(pulls: Pulls, account: Account, pull: Pull, request: Request) -> Answer:
    del request
    return Answer.of(200, shown(pulls, account, pull))


def listed(pulls: Pulls, account: Account, request: Request) -> list[Json]:
    """The pull requests among the issues that are asked for."""
    asked = parse_qs(request.query)
    state = asked.get("state", ["open"])[0]
    labels = set(filter(None, asked.get("labels", [""])[0].split(",")))
    pages = [shown(pulls, account, pull) for pull in pulls.all.values() if asked.get("page", ["1"]) == ["1"]]
    fitting = [page for page in pages if state in {page["state"], "all"}]
    return [page for page in fitting if labels <= {label["name"] for label in page["labels"]}]


def shown(pulls: Pulls, account: Account, pull: Pull) -> Json:
    page = pulls.shown(account, pull)
    url = page["issue_url"]
    return {
        **{key: page[key] for key in _SHARED},
        "id": page["id"],
        "node_id": page["node_id"],
        "url": url,
        "html_url": page["html_url"],
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "labels_url": f"{url}/labels{{/name}}",
        "pull_request": {key: page[key] for key in ("url", "html_url", "merged_at")},
    }


def events(pulls: Pulls, account: Account, pull: Pull, request: Request) -> Answer:
    del pulls, account
    return _paged([event for event in pull.events if event["event"] != "commented"], request)


def timeline(pulls: Pulls, account: Account, pull: Pull, request: Request) -> Answer:
    """Events and comments as they came; a comment says what it says now, and none that was deleted is there."""
    told = pulls.ask(account, "GET", f"/issues/{pull.number}/comments?per_page=100", None).json()
    comments = {comment["id"]: {**comment, "event": "commented", "actor": comment["user"]} for comment in told}
    entries = [comments.get(event["id"]) if event["event"] == "commented" else event for event in pull.events]
    return _paged([entry for entry in entries if entry is not None], request)


def comment(pulls: Pulls, account: Account, pull: Pull, request: Request) -> Answer:
    answer = pulls.ask(account, "POST", f"/issues/{pull.number}/comments", request.json())
    if answer.status == 201:
        pulls.note(pull, "commented", account, id=answer.json()["id"])
    return answer


def label(pulls: Pulls, account: Account, pull: Pull, request: Request) -> Answer:
    """Whatever is done to the labels, each that came or went is an event."""
    before = _labels(pulls, account, pull)
    # GitHub takes a bare list as well as an object.
    sent = request.json() or ({"labels": Answer(0, (), request.body).json()} if request.body else None)
    answer = pulls.ask(account, request.method, request.path.removeprefix(f"/repos/{pulls.name}"), sent)
    after = _labels(pulls, account, pull)
    for kind, names, others in (("unlabeled", before, after), ("labeled", after, before)):
        for name in names:
            if name not in others:
                pulls.note(pull, kind, account, label={"name": name, "color": "ededed"})
    return answer


def ask_review(pulls: Pulls, account: Account, pull: Pull, request: Request) -> Answer:
    sent = request.json()
    author = pulls.shown(account, pull)["user"]["login"]
    if author in sent.get("reviewers", []):
        return refusals.refusal(422, "Review cannot be requested from pull request author.")
    answer = pulls.ask(account, "POST", f"/pulls/{pull.number}/requested_reviewers", sent)
    if answer.status != 200:
        return answer
    pulls.note(pull, "review_requested", account)
    return Answer(201, answer.headers, answer.body)


def review(pulls: Pulls, account: Account, pull: Pull, request: Request) -> Answer:
    sent = request.json()
    own = pulls.shown(account, pull)["user"]["login"] == account.login
    if own and sent.get("event") in {"APPROVE", "REQUEST_CHANGES"}:
        return refusals.refusal(422, "Unprocessable Entity", "Can not approve your own pull request")
    answer = pulls.ask(account, "POST", f"/pulls/{pull.number}/reviews", sent)
    return Answer(200, answer.headers, answer.body) if answer.status == 201 else answer


def _labels(pulls: Pulls, account: Account, pull: Pull) -> list[str]:
    return [one["name"] for one in pulls.shown(account, pull)["labels"]]


def _paged(entries: Sequence[Any], request: Request) -> Answer:
    asked = parse_qs(request.query)
    size = int(asked.get("per_page", ["30"])[0])
    number = int(asked.get("page", ["1"])[0])
    link = f'<{request.origin}{request.path}?per_page={size}&page={number + 1}>; rel="next"'
    more = number * size < len(entries)
    return Answer.of(200, entries[(number - 1) * size : number * size], *([("Link", link)] if more else []))
