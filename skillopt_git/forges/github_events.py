"""GitHub's records of a pull request, and of what was done to it, as the nouns that the forge speaks in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from skillopt_git.ports import Actor, ForgeEvent, ForgeEventKind, PullRequest

Table: TypeAlias = Mapping[str, Any]
Writes: TypeAlias = Callable[[str, str], bool | None]  # of a login, and what GitHub calls its author

GHOST = "ghost"  # GitHub's name for an account that is gone
TRUSTED = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_KINDS: Mapping[str, ForgeEventKind] = {
    "closed": "closed",
    "reopened": "reopened",
    "merged": "merged",
    "labeled": "labeled",
    "unlabeled": "unlabeled",
    "head_ref_deleted": "head_deleted",
    "base_ref_deleted": "base_deleted",
}
_VERDICTS = frozenset({"APPROVED", "CHANGES_REQUESTED", "DISMISSED"})


def pull_request(data: Table, *, place: str, login: str, approved: bool) -> PullRequest:
    """`place` is our repository, `login` the account that asks."""
    author = actor(data["user"], None)
    merged = data["merged_at"]
    return PullRequest(
        number=int(data["number"]),
        url=str(data["html_url"]),
        state="merged" if merged else "open" if data["state"] == "open" else "closed",
        draft=bool(data.get("draft")),
        title=str(data["title"]),
        body=str(data["body"] or ""),
        head=str(data["head"]["ref"]),
        head_sha=str(data["head"]["sha"]),
        base=str(data["base"]["ref"]),
        author=author,
        ours=same(author.login, login) and is_own(data, place),
        labels=frozenset(str(label["name"]) for label in data["labels"]),
        approved=approved,
        created=str(data["created_at"]),
        closed=data["closed_at"],
        merged=merged,
        # Of an open one it is a commit that GitHub made to see whether it could.
        merge_commit=data["merge_commit_sha"] if merged else None,
    )


def is_own(data: Table, place: str) -> bool:
    """Whether its branch is of this repository; one of a fork that was deleted has no repository at all."""
    return bool(data["head"]["repo"]) and same(data["head"]["repo"]["full_name"], place)


def same(one: str, other: str) -> bool:
    """GitHub's names have no case."""
    return one.casefold() == other.casefold()


def actor(user: Table | None, writes: bool | None) -> Actor:
    if user is None:
        return Actor(login=GHOST)
    login = str(user["login"])
    return Actor(login=login, bot=user.get("type") == "Bot" or login.endswith("[bot]"), writes=writes)


def _judged(user: Table | None, association: str, writes: Writes) -> Actor:
    known = actor(user, None)
    if known.bot or known.login == GHOST:
        return known
    return actor(user, writes(known.login, association))


def is_approved(reviews: Iterable[Table], writes: Writes) -> bool:
    """By somebody's newest review who may write: else anybody could stop the tool. Those who only comment leave their
    verdict as it was."""
    newest: dict[str, Table] = {}
    for review in reviews:
        if review["state"] in _VERDICTS and review["user"] is not None:
            newest[str(review["user"]["login"])] = review
    return any(
        review["state"] == "APPROVED" and writes(name, str(review.get("author_association", ""))) is True
        for name, review in newest.items()
    )


def event(data: Table, writes: Writes) -> ForgeEvent | None:
    """None for what nobody asks about, as somebody's mention of it."""
    kind = _KINDS.get(str(data["event"]))
    if kind is None:
        return None
    return ForgeEvent(
        id=f"event-{data['id']}",
        kind=kind,
        actor=_judged(data["actor"], "", writes),
        ts=str(data["created_at"]),
        text=str(data["label"]["name"]) if kind in {"labeled", "unlabeled"} else "",
    )


def comment(data: Table, writes: Writes) -> ForgeEvent:
    return _said(f"comment-{data['id']}", data, str(data["created_at"]), writes)


def review(data: Table, writes: Writes) -> ForgeEvent | None:
    """What is said with a verdict is a comment, and a verdict alone or words on single lines are a review; None for
    one that is not handed in yet."""
    if data["state"] == "PENDING":
        return None
    kind: ForgeEventKind = "commented" if data["body"] else "reviewed"
    return _said(f"review-{data['id']}", data, str(data["submitted_at"]), writes, kind)


def _said(id_: str, data: Table, ts: str, writes: Writes, kind: ForgeEventKind = "commented") -> ForgeEvent:
    author = _judged(data["user"], str(data.get("author_association", "")), writes)
    return ForgeEvent(id=id_, kind=kind, actor=author, ts=ts, text=str(data["body"] or ""))
