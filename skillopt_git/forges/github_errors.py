"""What GitHub's refusals mean, by its words, and which setting would change them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from skillopt_git.errors import ForgeError
from skillopt_git.forges.github_token import Token, TokenKind
from skillopt_git.render import one_line, terminal

MOST_WORDS = 300  # characters of an answer that are told
_A_TOKEN = re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9_.-]+|github_pat_\w+)", re.ASCII)


class Lost(ForgeError):
    """Nobody knows whether it was done: the answer to a write never came."""


class Behind(ForgeError):
    """A part of GitHub does not know yet what another was told a moment ago."""


class Exists(ForgeError):
    """What was to be made is there."""


class NoDrafts(ForgeError):
    """The plan of the repository has no drafts."""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str] = field(repr=False)
    data: Any = field(repr=False)

    @property
    def words(self) -> str:
        """What it says about itself: the message, then those of the single errors."""
        if not isinstance(self.data, Mapping):
            return ""
        listed = self.data.get("errors")
        errors = listed if isinstance(listed, list) else [listed] if listed else []
        return ": ".join(part for part in (str(self.data.get("message") or ""), "; ".join(map(_error, errors))) if part)


def _error(error: object) -> str:
    if not isinstance(error, Mapping):
        return str(error)
    return str(error.get("message") or " ".join(str(error[key]) for key in ("field", "code") if key in error))


@dataclass(frozen=True, slots=True)
class Remedy:
    """`message` empty: GitHub's own words are the clearest."""

    words: re.Pattern[str]
    kind: str
    message: str
    hint: str
    retryable: bool
    make: type[ForgeError]


def _remedy(
    words: str, kind: str, message: str, hint: str, *, retryable: bool = False, make: type[ForgeError] = ForgeError
) -> Remedy:
    return Remedy(re.compile(words, re.IGNORECASE), kind, message, hint, retryable, make)


_AGAIN = "try again later; what was done already is found, and not done twice"
# The first that matches counts.
REMEDIES = (
    _remedy(
        r"not permitted to create or approve pull requests",
        "not_permitted",
        "GitHub Actions may not open pull requests in this repository",
        "tick 'Allow GitHub Actions to create and approve pull requests' in the repository's Settings > Actions > "
        "General (its organization may have to allow it first), or use the token of an App",
    ),
    _remedy(
        r"Resource not accessible by integration",
        "forbidden",
        "the token of this job or App may not do that",
        "give the job `permissions:` contents: write, pull-requests: write and issues: write, or the App the same; a "
        "run for a fork or for Dependabot can only read",
    ),
    _remedy(
        r"Resource not accessible by personal access token",
        "forbidden",
        "this fine-grained token may not do that",
        "in Settings > Developer settings > Fine-grained tokens give it this repository, with Contents, Pull requests "
        "and Issues: read and write",
    ),
    _remedy(
        r"without `?workflows?`? (permission|scope)",
        "forbidden",
        "this token may not change workflow files",
        "nothing below .github/ is proposed by this tool: look at what the branch holds beside its rules",
    ),
    _remedy(
        r'Duplicate header: "Authorization"',
        "auth",
        "two tokens were sent at once",
        "set `persist-credentials: false` for actions/checkout",
    ),
    _remedy(
        r"SAML|single sign-on|\bSSO\b",
        "forbidden",
        "the organization asks for single sign-on, and this token has not done it",
        "in Settings > Developer settings > Personal access tokens choose 'Configure SSO' beside the token",
    ),
    _remedy(
        r"IP allow list",
        "forbidden",
        "",
        "add this machine's address in the organization's Settings > Authentication security > IP allow list",
    ),
    _remedy(
        r"forbids access via a|(personal access token|token).{0,40}(lifetime|expir)",
        "forbidden",
        "",
        "the organization's Settings > Personal access tokens say which kinds it takes, and for how long",
    ),
    _remedy(
        r"Bad credentials|Requires authentication|Must specify two-factor|account was suspended",
        "auth",
        "GitHub does not accept the token",
        "put a valid one into SKILLOPT_GITHUB_TOKEN or GITHUB_TOKEN, or log in with `gh auth login`",
    ),
    _remedy(
        r"Must have (admin|push|write)|must be a collaborator|Write access to repository not granted",
        "forbidden",
        "",
        "the token's account needs the role Write: the repository's Settings > Collaborators and teams",
    ),
    _remedy(
        r"was archived", "forbidden", "the repository is archived", "Settings > General > Unarchive this repository"
    ),
    _remedy(
        r"Issues (are|has been|have been) disabled",
        "missing",
        "this repository has no issues",
        "tick Issues in the repository's Settings > General > Features",
    ),
    _remedy(
        r"interaction limit|user is blocked|has been blocked",
        "forbidden",
        "",
        "the repository's Settings > Moderation options > Interaction limits",
    ),
    _remedy(
        r"Merge commits are not allowed",
        "forbidden",
        "this repository takes no merge commits",
        "tick 'Allow merge commits' in the repository's Settings > General > Pull Requests, or merge it by hand",
    ),
    _remedy(
        r"Head branch (was|is) (modified|out of date)|expected head sha|Head branch was modified",
        "moved",
        "the branch was written to meanwhile",
        "look at what came, and try again",
        retryable=True,
    ),
    _remedy(
        r"Base branch was modified",
        "refused",
        "the base branch moved at that moment",
        "try again",
        retryable=True,
    ),
    _remedy(
        r"not mergeable|merge conflict|still a draft|draft state",
        "refused",
        "",
        "its page at GitHub says what is in the way",
    ),
    _remedy(
        r"GH006|GH013|protected branch|rule violations|cannot force-push|merge queue|required status check|"
        r"approving review|changes must be made through",
        "forbidden",
        "",
        "the rules of that branch refuse it: the repository's Settings > Rules, and Settings > Branches",
    ),
    _remedy(
        r"A pull request already exists",
        "refused",
        "",
        "close the other pull request of this branch, or give it the same base",
        make=Exists,
    ),
    _remedy(
        r"Draft pull requests are not supported",
        "refused",
        "this repository's plan has no drafts",
        "",
        make=NoDrafts,
    ),
    _remedy(
        r"is too long",
        "refused",
        "",
        "a title may have 256 characters and a body 65,536",
    ),
    _remedy(
        r"Fork collab can.t be granted",
        "refused",
        "",
        "the token's account may not write to the repository that the branch is in",
    ),
    _remedy(
        r"\bhead\b.{0,20}invalid|head.sha (can.t be blank|missing)|Head ref must be a branch",
        "refused",
        "GitHub does not have the branch",
        "push it first: `skillopt-git propose`; a pull request from a fork is not supported",
        make=Behind,
    ),
    _remedy(
        r"No commits between",
        "refused",
        "there is nothing to propose: the base has every commit of the branch",
        "",
    ),
    _remedy(
        r"\bbase\b.{0,20}invalid",
        "refused",
        "GitHub does not have the base branch",
        "set propose.base to a branch that is there",
    ),
    _remedy(
        r"Could not resolve to a node",
        "missing",
        "GitHub does not know it yet",
        _AGAIN,
        retryable=True,
        make=Behind,
    ),
)
_LIMITED = re.compile(r"rate limit|abuse detection|submitted too quickly|RATE_LIMITED", re.IGNORECASE)
_NO_ACCESS: Mapping[TokenKind, str] = {
    "classic": "the token needs the scope `repo`, and its account the right to read the repository",
    "fine-grained": "the token must name this repository: Settings > Developer settings > Fine-grained tokens",
    "actions": "the job's token reaches its own repository only, with what its `permissions:` say",
    "app": "install the App in this repository",
}


def refusal(response: Response, doing: str, token: Token, now: float) -> ForgeError:
    """`doing`: what was asked for, as in "GitHub did not <doing>"."""
    said = told(response.words, token)
    if limited(response):
        return _limit(response, doing, now)
    for remedy in REMEDIES:
        if remedy.words.search(said):
            what = f"{remedy.message} ('{said}')" if remedy.message else said
            return _failed(remedy.kind, doing, what, remedy.hint, retryable=remedy.retryable, make=remedy.make)
    return _by_status(response.status, doing, said or f"it answered {response.status} without saying why", token)


def _by_status(status: int, doing: str, said: str, token: Token) -> ForgeError:
    match status:
        case 401:
            return _failed("auth", doing, said, f"look at what {token.source} holds")
        case 403:
            return _failed("forbidden", doing, said, _NO_ACCESS.get(token.kind, "the token's account may not do that"))
        case 404 | 410 | 301 | 302 | 307 | 308 | 451:
            # It says "not found" of what the token may not see, too.
            other = "the token cannot see it: its account may lack the right"
            return _failed("missing", doing, said, f"if it is there, {_NO_ACCESS.get(token.kind, other)}")
        case _ if status >= 500:
            return _failed("network", doing, said, _AGAIN, retryable=True)
    return _failed("refused", doing, said, "")


def _failed(
    kind: str, doing: str, what: str, hint: str, *, retryable: bool = False, make: type[ForgeError] = ForgeError
) -> ForgeError:
    return make(kind, f"GitHub did not {doing}: {what}", hint, retryable=retryable)


def graphql_refusal(response: Response, doing: str, token: Token, now: float) -> ForgeError:
    """GraphQL refuses with 200, and a type for each error."""
    types = {str(error.get("type")) for error in _graphql_errors(response.data)}
    if types & {"FORBIDDEN", "INSUFFICIENT_SCOPES"}:
        return refusal(Response(403, response.headers, response.data), doing, token, now)
    return refusal(Response(404 if "NOT_FOUND" in types else 422, response.headers, response.data), doing, token, now)


def _graphql_errors(data: Any) -> Iterator[Mapping[str, Any]]:
    yield from (error for error in data.get("errors") or () if isinstance(error, Mapping))


# --- limits ------------------------------------------------------------------------------------------------------


def limited(response: Response) -> bool:
    """Too many requests: by the hour, or in too short a time. GitHub says it with 403 as well."""
    if response.status == 429:
        return True
    types = {error.get("type") for error in _graphql_errors(response.data)} if _is_table(response.data) else set()
    said = bool(_LIMITED.search(response.words)) or "RATE_LIMITED" in types
    return said or (response.status == 403 and "retry-after" in response.headers)


def _is_table(data: object) -> bool:
    return isinstance(data, Mapping)


def wait(response: Response, now: float) -> float:
    """Seconds until it may be asked again, by what it says; a minute where it does not, as GitHub's manual has it."""
    after = _number(response.headers.get("retry-after"))
    reset = _number(response.headers.get("x-ratelimit-reset"))
    if after is not None:
        return max(0.0, after)
    if reset is not None and response.headers.get("x-ratelimit-remaining") == "0":
        return max(0.0, reset - now)
    return 60.0


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,12}(\.\d*)?", text) else None


def _limit(response: Response, doing: str, now: float) -> ForgeError:
    ends = datetime.fromtimestamp(now + min(wait(response, now), 86_400.0), UTC)
    what = f"too many requests were made with this token; it may ask again at {ends:%Y-%m-%d %H:%M:%S} UTC"
    return _failed("rate", doing, what, "try again then", retryable=True)


# --- words -------------------------------------------------------------------------------------------------------


def told(text: str, token: Token) -> str:
    """One line that is safe to print, without a token."""
    bare = _A_TOKEN.sub("[token]", text.replace(token.value, "[token]"))
    return one_line(terminal(bare), MOST_WORDS)


_FRAGMENT = re.compile(r"\[Errno -?\d+\] ([^'\")]+)|(certificate verify failed[^'\"()]*)|(timed out)")


def unreachable(error: Exception, doing: str, host: str, *, lost: bool) -> ForgeError:
    """The library tells addresses and objects of its own; the system's words are in the middle."""
    found = _FRAGMENT.search(str(error))
    why = next((part.strip() for part in found.groups() if part), "") if found else ""
    what = f"{host} gave no answer ({why or type(error).__name__})"
    if "certificate" in why:
        return _failed("network", doing, what, f"if {host} has one of its own, REQUESTS_CA_BUNDLE names who signed it")
    return _failed("network", doing, what, _AGAIN, retryable=True, make=Lost if lost else ForgeError)


def redirected(error: Exception, doing: str, token: Token) -> ForgeError:
    # The rest of it is advice on the library's own arguments.
    said = told(str(error).partition(", ")[0], token)
    return _failed("missing", doing, said, "give the remote the repository's present address")


def not_github(doing: str, host: str, what: str, *, lost: bool) -> ForgeError:
    return _failed(
        "network",
        doing,
        f"{host} answered with {what}, which is not what GitHub's API says",
        "a proxy, or GitHub's own trouble: try again later, and look at HTTPS_PROXY and GITHUB_API_URL",
        retryable=True,
        make=Lost if lost else ForgeError,
    )
