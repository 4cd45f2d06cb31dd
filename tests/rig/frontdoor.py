"""One origin that is both: OWNER/REPO.git is git, everything else the emulator of GitHub's API, kept to GitHub's rules.

Git has the last word about branches: after every push the emulator gets the same objects, and pull requests follow
(`pulls`). What the emulator answers is handed on, with the few fields put right in which it is known to differ. Calls
that would move branches behind git's back, or be answered with what is not so, are refused with 501.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Collection, Mapping
from http.client import HTTPConnection
from urllib.parse import unquote, urlsplit

from tests.helpers import Repository
from tests.rig import issues, refusals
from tests.rig.accounts import EVERYONE, Account, UnknownToken, who
from tests.rig.api import Api
from tests.rig.github import GitHub, Repo
from tests.rig.gitserver import GitServer
from tests.rig.loopback import Answer, Request
from tests.rig.mirror import Mirror
from tests.rig.origin import Origin
from tests.rig.pulls import Ask, Json, Pull, Pulls

_REPOSITORY = re.compile(r"/repos/(?P<name>[^/]+/[^/]+)(?P<rest>/.*)?")
_PULL = re.compile(r"/(?P<kind>pulls|issues)/(?P<number>\d+)(?P<part>/\w+)?(/.+)?")
_PERMISSION = re.compile(r"/collaborators/(?P<login>[^/]+)/permission")
_BRANCH = re.compile(r"/git/refs/heads/(?P<branch>.+)")
_FOR_READERS = re.compile(r"/issues|/issues/\d+/comments|/issues/comments/\d+|/pulls/\d+/reviews")
_BEHIND = re.compile(r"/pulls/\d+/(commits|files)")
_GITS_OWN = re.compile(r"/git/.*|/contents/.*|/merges|/pulls/\d+/update-branch")
_MUTATION = re.compile(r"markPullRequestReadyForReview|convertPullRequestToDraft")
_ONLY_ON_ITS_PAGE = frozenset(
    "merged mergeable mergeable_state rebaseable merged_by comments review_comments maintainer_can_modify commits"
    " additions deletions changed_files".split()
)
_BOTS = frozenset(account.login for account in EVERYONE if account.bot)
_MILLISECONDS = re.compile(rb"(T\d\d:\d\d:\d\d)\.\d{3}Z")
_HANDED_ON = frozenset(
    ("content-type", "link", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "x-ratelimit-used")
)
_MERGE = ("PUT", "pulls/merge")
_ON_PULLS: Mapping[tuple[str, str], Callable[[Pulls, Account, Pull, Request], Answer]] = {
    ("PATCH", "pulls"): Pulls.edit,
    _MERGE: Pulls.merge,
    ("GET", "pulls/merge"): Pulls.was_merged,
    ("POST", "pulls/requested_reviewers"): issues.ask_review,
    ("POST", "pulls/reviews"): issues.review,
    ("GET", "issues"): issues.page,
    ("GET", "issues/events"): issues.events,
    ("GET", "issues/timeline"): issues.timeline,
    ("POST", "issues/comments"): issues.comment,
    ("POST", "issues/labels"): issues.label,
    ("PUT", "issues/labels"): issues.label,
    ("DELETE", "issues/labels"): issues.label,
}


class FrontDoor(Origin):
    """GitHub with these repositories. They begin with the branches of `start`."""

    def __init__(self, git: GitServer, github: GitHub, repos: tuple[Repo, ...], start: Repository) -> None:
        super().__init__(git, self._serve)
        self._github = github
        self._repos = {repo.name: repo for repo in repos}
        self._start = start
        self._lock = threading.RLock()
        self._pulls: dict[str, Pulls] = {}
        self._mirrors: dict[str, Mirror] = {}
        self._heads: dict[str, Mapping[str, str]] = {}
        self._people: dict[str, Json] = {}

    def open(self) -> None:
        super().open()
        self._upstream = self._github.anew(self._repos.values(), self.url)
        for account in EVERYONE:
            self._people[account.login] = self._handed_on("GET", f"/users/{account.login}", b"", None).json()
        for name, repo in self._repos.items():
            bare = self.git.create(name, public=repo.public, start=self._start)
            self._mirrors[name] = Mirror(Api(self._upstream, repo.owner), name, bare)
            self._pulls[name] = Pulls(name, bare, self._asker(name), self._people)
            self._heads[name] = self._mirrors[name].follow()
        self.git.pushed = self._moved

    def api(self, account: Account | None) -> Api:
        return Api(self.url, account)

    def pull_from_fork(self, name: str, account: Account, branch: str) -> int:
        """The number of a pull request that asks to merge this branch of the account's own fork. It can be read and
        closed. The branch is where the one of that name is here when it is asked for, else at `main`."""
        api = Api(self._upstream, account)
        head = f"{account.login}:{branch}"
        with self._lock:
            api("POST", f"/repos/{name}/forks", {})
            made = api("POST", f"/repos/{name}/pulls", {"title": "From a fork", "head": head, "base": "main"})
            heads = self._heads[name]
            self._pulls[name].opened(made.json, head, heads.get(branch, heads["main"]))
        return int(made.json["number"])

    # --- one request ---------------------------------------------------------------------------------------------

    def _serve(self, request: Request) -> Answer:
        if self.git.owns(request):
            return self.git.serve(request)
        try:
            account = who(request.headers)
        except UnknownToken:
            return refusals.BAD_CREDENTIALS
        with self._lock:
            return self._answered(request, account)

    def _answered(self, request: Request, account: Account | None) -> Answer:
        if request.path == "/graphql":
            return self._graphql(request.json(), account) if account else refusals.SIGN_IN_FIRST
        if request.path == "/user" and account is not None and account.bot:
            return refusals.NOT_FOR_BOTS
        found = _REPOSITORY.fullmatch(request.path)
        if found is None:
            return self._handed_on(request.method, request.line.partition(" ")[2], request.body, account)
        name, rest = found["name"], found["rest"] or ""
        if no := self._refusal(request.method, name, rest, account):
            return no
        return self._in_repository(request, name, rest, account)

    def _refusal(self, method: str, name: str, rest: str, account: Account | None) -> Answer | None:
        repo = self._repos.get(name)
        if repo is None or (not repo.public and (account is None or account.permission == "none")):
            return refusals.NOT_FOUND
        if method in {"GET", "HEAD"}:
            return None
        if account is None:
            return refusals.SIGN_IN_FIRST
        if account.writes or _FOR_READERS.fullmatch(rest):
            return None
        return refusals.NOT_FOR_BOTS if account.bot else refusals.FORBIDDEN

    def _in_repository(self, request: Request, name: str, rest: str, account: Account | None) -> Answer:
        pulls = self._pulls[name]
        if found := _PERMISSION.fullmatch(rest):
            writes = account is not None and account.writes
            return self._permission(name, unquote(found["login"])) if writes else refusals.PUSHERS_ONLY
        if request.method == "DELETE" and account and (found := _BRANCH.fullmatch(rest)):
            return self._delete_branch(name, unquote(found["branch"]), account)
        if request.method != "GET" and _GITS_OWN.fullmatch(rest):
            return Answer.of(501, {"message": "The rig moves branches by `git push` only."})
        if _BEHIND.fullmatch(rest):
            return Answer.of(501, {"message": "The emulator makes these up: ask git."})
        if (request.method, rest) == ("POST", "/pulls") and account:
            return pulls.create(request, account)
        if account and (found := _PULL.fullmatch(rest)) and (pull := pulls.all.get(int(found["number"]))):
            asked = (request.method, found["kind"] + (found["part"] or ""))
            if asked in _ON_PULLS:
                answer = _ON_PULLS[asked](pulls, account, pull, request)
                if asked == _MERGE:
                    self._moved(name, account)
                return answer
        return self._page(request, rest, pulls, account)

    def _page(self, request: Request, rest: str, pulls: Pulls, account: Account | None) -> Answer:
        target = request.line.partition(" ")[2]
        if rest == "/pulls":  # a head without its owner is no filter on GitHub
            target = re.sub(r"(?<=[?&])head=(?!.*(:|%3A))[^&]*", "", target)
        answer = self._handed_on(request.method, target, request.body, account)
        if (request.method, answer.status) != ("GET", 200):
            return answer
        if rest == "/pulls":
            return _with(answer, [_without(one, _ONLY_ON_ITS_PAGE) for one in answer.json()])
        if rest == "/issues" and account:
            return _with(answer, [*issues.listed(pulls, account, request), *answer.json()])
        return answer

    # --- what the emulator lacks ---------------------------------------------------------------------------------

    def _permission(self, name: str, login: str) -> Answer:
        account = next((one for one in EVERYONE if one.login == login and not one.bot), None)
        if account is None:
            return refusals.refusal(404, f"{login} is not a user")
        may = "read" if account.permission == "none" and self._repos[name].public else account.permission
        return Answer.of(200, {"permission": may, "role_name": may, "user": self._people[login]})

    def _delete_branch(self, name: str, branch: str, account: Account) -> Answer:
        if branch not in self._heads[name]:
            return refusals.refusal(422, "Reference does not exist")
        Repository(self.git.path(name)).git("update-ref", "-d", f"refs/heads/{branch}")
        self._moved(name, account)
        return Answer(204)

    def _graphql(self, sent: Json, account: Account) -> Answer:
        """The two that REST has no way for, and who asks. The id may stand in the text or among the variables."""
        text = json.dumps(sent)
        if "viewer" in text:
            return Answer.of(200, {"data": {"viewer": {"login": account.login}}})
        asked = _MUTATION.search(text)
        if asked is None:
            return Answer.of(
                501, {"message": "The rig knows who asks, and two mutations: ready for review, and back to draft."}
            )
        both = ((pulls, pull) for pulls in self._pulls.values() for pull in pulls.all.values())
        found = next((pair for pair in both if json.dumps(pair[1].node) in text.replace('\\"', '"')), None)
        if found is None:
            return _errors(asked[0], "NOT_FOUND", "Could not resolve to a node with the global id.")
        if not account.writes:
            return _errors(asked[0], "FORBIDDEN", "Resource not accessible by personal access token")
        pulls, pull = found
        draft = asked[0] == "convertPullRequestToDraft"
        pulls.set_draft(account, pull, draft=draft)
        done = {"id": pull.node, "number": pull.number, "isDraft": draft}
        return Answer.of(200, {"data": {asked[0]: {"clientMutationId": None, "pullRequest": done}}})

    # --- git and the emulator ------------------------------------------------------------------------------------

    def _moved(self, name: str, account: Account) -> None:
        with self._lock:
            before = self._heads[name]
            heads = self._heads[name] = self._mirrors[name].follow()
            self._pulls[name].moved(account, before, heads)

    def _asker(self, name: str) -> Ask:
        def ask(account: Account, method: str, path: str, body: object) -> Answer:
            sent = b"" if body is None else json.dumps(body).encode()
            return self._handed_on(method, f"/repos/{name}{path}", sent, account)

        return ask

    def _handed_on(self, method: str, target: str, body: bytes, account: Account | None) -> Answer:
        headers = {"Authorization": f"Bearer {account.token}"} if account else {}
        line = HTTPConnection(urlsplit(self._upstream).netloc, timeout=30)
        try:
            line.request(method, target, body or None, {"Content-Type": "application/json", **headers})
            answer = line.getresponse()
            told = answer.read()
        finally:
            line.close()
        kept = tuple((key, value) for key, value in answer.getheaders() if key.lower() in _HANDED_ON)
        return Answer(answer.status, kept, self._put_right(told, account))

    def _put_right(self, told: bytes, account: Account | None) -> bytes:
        if not told.startswith((b"{", b"[")):
            return told
        value = json.loads(_MILLISECONDS.sub(rb"\1Z", told))
        self._correct(value, account)
        return json.dumps(value).encode()

    def _correct(self, value: object, account: Account | None) -> None:
        if isinstance(value, list):
            for one in value:
                self._correct(one, account)
        elif isinstance(value, dict):
            for one in value.values():
                self._correct(one, account)
            if value.get("login") in _BOTS:
                value["type"] = "Bot"
            if {"full_name", "permissions"} <= value.keys():
                value["permissions"] = _permissions(account)
            if {"ref", "object", "url"} <= value.keys():
                value["url"] = value["url"].replace("/git/ref/", "/git/refs/")
            if {"number", "head", "base"} <= value.keys():
                self._pulls[value["base"]["repo"]["full_name"]].corrected(value)


def _with(answer: Answer, value: object) -> Answer:
    return Answer(answer.status, answer.headers, json.dumps(value).encode())


def _without(value: Json, keys: Collection[str]) -> Json:
    return {key: value[key] for key in value if key not in keys}


def _permissions(account: Account | None) -> dict[str, bool]:
    may = account.permission if account else "none"
    admin, push = may == "admin", may in {"admin", "write"}
    return {"admin": admin, "maintain": admin, "push": push, "triage": push, "pull": True}


def _errors(mutation: str, kind: str, message: str) -> Answer:
    error = {"type": kind, "path": [mutation], "locations": [{"line": 1, "column": 1}], "message": message}
    return Answer.of(200, {"data": {mutation: None}, "errors": [error]})
