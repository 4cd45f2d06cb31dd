"""GitHub as the forge of one repository: everything that is to be there is looked for before it is made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from skillopt_git.errors import ForgeError, UsageError
from skillopt_git.forges import github_events as told
from skillopt_git.forges.github_address import repository_of, spoken_for
from skillopt_git.forges.github_remedies import Exists, NoDrafts
from skillopt_git.forges.github_session import Session, Table, named
from skillopt_git.forges.github_token import OWN, token_for
from skillopt_git.forges.github_writing import allowed, differ, patiently, surely
from skillopt_git.ports import ForgeEvent, PullDraft, PullRequest

NEWEST = 300  # pull requests that are looked through; older ones are searched for by their branch
FOUND = 30  # of those, as many
LONGEST_TALK = 1_000  # comments, or events, of one pull request

_LISTING = "list its pull requests"
_READY = "mutation($input: MarkPullRequestReadyForReviewInput!) { done: markPullRequestReadyForReview(input: $input) "
_DRAFT = "mutation($input: ConvertPullRequestToDraftInput!) { done: convertPullRequestToDraft(input: $input) "
_ANSWER = "{ pullRequest { isDraft } } }"


def door(url: str, environ: Mapping[str, str]) -> GitHub:
    """The repository behind a remote's URL. Raises `UsageError` where that is not at GitHub, `ForgeError` where there
    is no token for it."""
    address = repository_of(url, environ)
    if address is None:
        shown = re.sub(r"//[^/@]*@", "//", url)
        raise UsageError(
            f"the remote's address, {shown}, is no repository at GitHub",
            "pull requests are opened at GitHub only; GH_HOST names a GitHub of one's own",
        )
    token = token_for(address.host, environ)
    if token is None:
        meant = spoken_for(environ)
        there = "" if meant == address.host else f", and GH_HOST to {address.host}: else it counts as one for {meant}"
        raise ForgeError(
            "auth",
            f"there is no token for {address.host}",
            f"run `gh auth login --hostname {address.host}`, or set {OWN} to a token with the right to write contents "
            f"and pull requests{there}",
        )
    return GitHub(Session(address=address, token=token))


@dataclass(frozen=True, slots=True)
class GitHub:
    session: Session
    known: dict[str, bool | None] = field(default_factory=dict, repr=False)  # who writes, by login

    @property
    def name(self) -> str:
        return "github"

    def default_branch(self) -> str:
        return self.session.parsed(lambda data: str(data["default_branch"]), self.session.repository, "show its branch")

    def public(self) -> bool:
        return self.session.parsed(lambda data: not data["private"], self.session.repository, "show who sees it")

    # --- pull requests: what is there ----------------------------------------------------------------------------

    def find(self, prefix: str) -> Sequence[PullRequest]:
        rows = self.session.rows("/pulls", _LISTING, most=NEWEST, state="all", sort="created", direction="desc")
        listed = [row for row in rows if self._is_own(row, prefix)]
        if len(rows) >= NEWEST:
            listed += self._older(prefix, beside={str(row.get("number")) for row in rows})
        found = [self._pull(row) for row in listed]
        return list({each.number: each for each in found}.values())  # one that came meanwhile moves others a page on

    def _older(self, prefix: str, beside: set[str]) -> Iterator[Table]:
        """In a busy repository a week is more than what is looked through."""
        query = f"repo:{self.session.place} is:pr head:{prefix}"
        hits: list[Table] = []
        allowed(lambda: hits.extend(self.session.search(query, _LISTING)))  # not every server has an index
        numbers = [str(row.get("number")) for row in hits]
        for number in [number for number in numbers if number not in beside][:FOUND]:
            row = self.session.read(f"/pulls/{number}", _LISTING)
            if self._is_own(row, prefix):
                yield row

    def _is_own(self, row: Table, prefix: str) -> bool:
        def own(data: Table) -> bool:
            return str(data["head"]["ref"]).startswith(prefix) and told.is_own(data, self.session.place)

        return self.session.parsed(own, row, _LISTING)

    def get(self, number: int) -> PullRequest:
        return self._pull(self._row(number))

    def _row(self, number: int) -> Table:
        return self.session.read(f"/pulls/{number}", f"show pull request {number}")

    def _pull(self, row: Table) -> PullRequest:
        def read(data: Table) -> PullRequest:
            reviews = self._reviews(int(data["number"])) if data["state"] == "open" else []
            approved = told.is_approved(reviews, self._writes)
            return told.pull_request(data, place=self.session.place, login=self.session.login, approved=approved)

        return self.session.parsed(read, row, "show a pull request")

    def _reviews(self, number: int) -> list[Table]:
        return self.session.rows(f"/pulls/{number}/reviews", "list its reviews", most=LONGEST_TALK)

    def _open(self, asked: PullDraft) -> Table | None:
        """The open one of that branch to that base; there can be one only."""
        head = f"{self.session.owner}:{asked.head}"
        rows = self.session.rows("/pulls", _LISTING, most=1, state="open", head=head, base=asked.base)

        def matches(data: Table) -> bool:
            pair = (data["head"]["ref"], data["base"]["ref"])
            return pair == (asked.head, asked.base) and told.is_own(data, self.session.place)

        return next((row for row in rows if self.session.parsed(matches, row, _LISTING)), None)

    # --- pull requests: what is made of them ---------------------------------------------------------------------

    def create(self, asked: PullDraft) -> PullRequest:
        return self._pull(self._open(asked) or self._opened(asked, draft=asked.draft))

    def _opened(self, asked: PullDraft, *, draft: bool) -> Table:
        body = {"title": asked.title, "body": asked.body, "head": asked.head, "base": asked.base, "draft": draft}
        doing = f"open a pull request for {asked.head}"
        look = patiently(self.session, lambda: self._open(asked))
        try:
            made = surely(self.session, lambda: self.session.write("POST", "/pulls", doing, body), look)
        except NoDrafts:
            return self._opened(asked, draft=False)
        except Exists:
            there = look()
            if there is None:
                raise
            return there
        return self.session.parsed(lambda data: data, made, doing)

    def update(self, number: int, *, title: str | None = None, body: str | None = None) -> PullRequest:
        there = self.get(number)
        wanted = {"title": title, "body": body}
        has = {"title": there.title, "body": there.body}
        changed = {name: text for name, text in wanted.items() if text is not None and differ(text, has[name])}
        if not changed:
            return there

        def done() -> Table | None:
            row = self._row(number)
            return None if any(differ(text, str(row.get(name) or "")) for name, text in changed.items()) else row

        doing = f"change pull request {number}"
        return self._pull(
            surely(self.session, lambda: self.session.write("PATCH", f"/pulls/{number}", doing, changed), done)
        )

    def set_ready(self, number: int, *, ready: bool) -> bool:
        row = self._row(number)
        if row.get("state") != "open" or bool(row.get("draft")) is not ready:
            return row.get("state") == "open"
        doing = f"make pull request {number} {'ready' if ready else 'a draft'}"
        query = f"{_READY if ready else _DRAFT}{_ANSWER}"
        variables = {"input": {"pullRequestId": row.get("node_id")}}
        return allowed(
            lambda: surely(
                self.session,
                lambda: self.session.graphql(query, variables, doing),
                lambda: row if bool(self._row(number).get("draft")) is not ready else None,
            )
        )

    def close(self, number: int) -> None:
        if self._is_closed(number):
            return
        doing, asked = f"close pull request {number}", {"state": "closed"}
        surely(
            self.session,
            lambda: self.session.write("PATCH", f"/pulls/{number}", doing, asked),
            lambda: self._is_closed(number) or None,
        )

    def _is_closed(self, number: int) -> bool:
        return self._row(number).get("state") == "closed"

    def merge(self, number: int, *, sha: str) -> str:
        doing = f"merge pull request {number}"
        there = self.get(number)
        if there.head_sha != sha:
            raise ForgeError(
                "moved",
                f"GitHub did not {doing}: its branch is at {there.head_sha[:12]}, and {sha[:12]} was to be merged",
                "look at what came, and try again",
                retryable=True,
            )
        if there.merge_commit is not None:
            return there.merge_commit

        def done() -> Table | None:
            commit = self.get(number).merge_commit
            return {"sha": commit} if commit else None

        body = {"sha": sha, "merge_method": "merge"}
        made = surely(self.session, lambda: self.session.write("PUT", f"/pulls/{number}/merge", doing, body), done)
        return self.session.parsed(lambda data: str(data["sha"]), made, doing)

    # --- around a pull request -----------------------------------------------------------------------------------

    def label(self, number: int, names: Sequence[str]) -> None:
        """GitHub makes those that it does not know. What it refuses is left: labels are for people's eyes."""
        allowed(lambda: self._label(number, names))

    def _label(self, number: int, names: Sequence[str]) -> None:
        has = self._labels(number)
        missing = [name for name in dict.fromkeys(names) if name.casefold() not in has]
        if missing:
            path, doing = f"/issues/{number}/labels", f"label pull request {number}"
            surely(
                self.session,
                lambda: self.session.write("POST", path, doing, {"labels": missing}),
                lambda: {name.casefold() for name in missing} <= self._labels(number) or None,
            )

    def unlabel(self, number: int, name: str) -> None:
        allowed(lambda: self._unlabel(number, name))

    def _unlabel(self, number: int, name: str) -> None:
        if name.casefold() in self._labels(number):
            path, doing = f"/issues/{number}/labels/{named(name)}", f"take a label off pull request {number}"
            surely(
                self.session,
                lambda: self.session.write("DELETE", path, doing),
                lambda: name.casefold() not in self._labels(number) or None,
            )

    def _labels(self, number: int) -> set[str]:
        rows = self.session.rows(f"/issues/{number}/labels", "list its labels", most=100)
        return {str(row.get("name")).casefold() for row in rows}

    def ask_review(self, number: int, reviewers: Sequence[str]) -> None:
        """Of people, and of teams as `owner/team`. Who was asked, or has answered, is not asked again; one whom GitHub
        does not take is left out."""
        known = self._reached(number) if reviewers else set()
        for name in dict.fromkeys(reviewers):
            if name.casefold() not in known:
                allowed(partial(self._ask_one, number, name))

    def _reached(self, number: int) -> set[str]:
        def names(data: Table) -> set[str]:
            people = [data["user"], *data["requested_reviewers"], *(review["user"] for review in self._reviews(number))]
            teams = [f"{self.session.owner}/{team['slug']}" for team in data["requested_teams"]]
            return {name.casefold() for name in (*teams, *(str(user["login"]) for user in people if user))}

        return self.session.parsed(names, self._row(number), "list its reviewers")

    def _ask_one(self, number: int, name: str) -> None:
        """Alone, for one that GitHub does not take has it refuse all."""
        _, is_team, team = name.partition("/")
        body = {"team_reviewers": [team]} if is_team else {"reviewers": [name]}
        path, doing = f"/pulls/{number}/requested_reviewers", f"ask {name} for a review"
        surely(
            self.session,
            lambda: self.session.write("POST", path, doing, body),
            lambda: name.casefold() in self._reached(number) or None,
        )

    def comment(self, number: int, topic: str, text: str) -> None:
        wanted = f"{_marker(topic)}\n{text}"
        there = self._comment(number, topic)
        if there is None:
            surely(
                self.session,
                lambda: self.session.write("POST", f"/issues/{number}/comments", "comment on it", {"body": wanted}),
                lambda: self._comment(number, topic),
            )
        elif differ(wanted, str(there.get("body") or "")):
            path = f"/issues/comments/{there.get('id')}"
            surely(
                self.session,
                lambda: self.session.write("PATCH", path, "change its comment", {"body": wanted}),
                lambda: not differ(wanted, str((self._comment(number, topic) or {}).get("body"))) or None,
            )

    def _comment(self, number: int, topic: str) -> Table | None:
        """Ours only: who quotes it, or copies it, has the marker too."""
        return next((row for row in self._talk(number) if self._is_ours(row, _marker(topic))), None)

    def _is_ours(self, row: Table, marker: str) -> bool:
        return str(row.get("body") or "").startswith(marker) and self._is_by_us(row)

    def _is_by_us(self, row: Table) -> bool:
        author = self.session.parsed(lambda data: told.actor(data["user"], None), row, "tell who wrote it")
        return told.same(author.login, self.session.login)

    def _talk(self, number: int) -> list[Table]:
        return self.session.rows(f"/issues/{number}/comments", "list its comments", most=LONGEST_TALK)

    def events(self, number: int) -> Sequence[ForgeEvent]:
        doing = f"tell what was done to pull request {number}"
        talk = [row for row in self._talk(number) if not self._is_ours(row, _MARKER)]
        done = self.session.rows(f"/issues/{number}/events", doing, most=LONGEST_TALK)
        # Who closes with a comment does both in one second, and the comment comes first.
        told_by = ((told.comment, talk), (told.review, self._reviews(number)), (told.event, done))
        makers = ((partial(make, writes=self._writes), row) for make, rows in told_by for row in rows)
        read = [self.session.parsed(make, row, doing) for make, row in makers]
        return sorted((event for event in read if event is not None), key=lambda event: event.ts)

    def _writes(self, login: str, association: str) -> bool | None:
        """By the repository's own answer, asked once; where the token may not ask, by what GitHub calls the author."""
        if login not in self.known:
            try:
                row = self.session.read(f"/collaborators/{named(login)}/permission", f"tell what {login} may do")
                self.known[login] = row.get("permission") in {"admin", "maintain", "write"}
            except ForgeError as error:
                if error.kind not in {"forbidden", "missing"}:
                    raise
                self.known[login] = None
        answer = self.known[login]
        return association in told.TRUSTED if answer is None and association else answer

    # --- issues --------------------------------------------------------------------------------------------------

    def open_issue(self, title: str, body: str, label: str) -> str:
        doing = f"open an issue '{title}'"
        there = self._issue(title, label)
        if there is None:
            asked = {"title": title, "body": body, "labels": [label]}
            there = surely(
                self.session,
                lambda: self.session.write("POST", "/issues", doing, asked),
                lambda: self._issue(title, label),
            )
        elif self._is_by_us(there) and differ(body, str(there.get("body") or "")):
            path = f"/issues/{there.get('number')}"
            surely(
                self.session,
                lambda: self.session.write("PATCH", path, f"change the issue '{title}'", {"body": body}),
                lambda: not differ(body, str((self._issue(title, label) or {}).get("body"))) or None,
            )
        return self.session.parsed(lambda data: str(data["html_url"]), there, doing)

    def _issue(self, title: str, label: str) -> Table | None:
        rows = self.session.rows("/issues", "list its issues", most=LONGEST_TALK, state="open", labels=label)
        return next((row for row in rows if row.get("title") == title and "pull_request" not in row), None)


_MARKER = "<!-- skillopt:topic:"


def _marker(topic: str) -> str:
    return f"{_MARKER}{topic} -->"
