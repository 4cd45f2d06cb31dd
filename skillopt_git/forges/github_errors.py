"""From what GitHub answers, or does not, to an error that says what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from skillopt_git.errors import ForgeError
from skillopt_git.forges.github_remedies import AGAIN, REMEDIES
from skillopt_git.forges.github_token import Token, TokenKind
from skillopt_git.render import one_line, terminal

MOST_WORDS = 300  # characters of an answer that are told
_A_TOKEN = re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9_.-]+|github_pat_\w+)", re.ASCII)


class Lost(ForgeError):
    """Nobody knows whether it was done: the answer to a write never came."""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str] = field(repr=False)
    data: Any = field(repr=False)

    @property
    def errors(self) -> list[Any]:
        listed = self.data.get("errors") if isinstance(self.data, Mapping) else None
        return listed if isinstance(listed, list) else [listed] if listed else []

    @property
    def types(self) -> set[str]:
        """What GraphQL, which refuses with 200, calls its errors."""
        return {str(error.get("type")) for error in self.errors if isinstance(error, Mapping)}

    @property
    def words(self) -> str:
        """What it says about itself: the message, then those of the single errors."""
        message = self.data.get("message") if isinstance(self.data, Mapping) else None
        return ": ".join(part for part in (str(message or ""), "; ".join(map(_error, self.errors))) if part)


def _error(error: object) -> str:
    if not isinstance(error, Mapping):
        return str(error)
    return str(error.get("message") or " ".join(str(error[key]) for key in ("field", "code") if key in error))


_LIMITED = re.compile(r"rate limit|abuse detection|submitted too quickly", re.IGNORECASE)
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
    for remedy in REMEDIES if response.status < 500 else ():
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
            return _failed("network", doing, said, AGAIN, retryable=True)
    return _failed("refused", doing, said, "")


def _failed(
    kind: str, doing: str, what: str, hint: str, *, retryable: bool = False, make: type[ForgeError] = ForgeError
) -> ForgeError:
    return make(kind, f"GitHub did not {doing}: {what}", hint, retryable=retryable)


def graphql_refusal(response: Response, doing: str, token: Token, now: float) -> ForgeError:
    types = response.types
    status = 403 if types & {"FORBIDDEN", "INSUFFICIENT_SCOPES"} else 404 if "NOT_FOUND" in types else 422
    return refusal(Response(status, response.headers, response.data), doing, token, now)


# --- limits ------------------------------------------------------------------------------------------------------


def limited(response: Response) -> bool:
    """Too many requests: by the hour, or in too short a time. GitHub says it with 403 as well, and was not at work."""
    if response.status == 429 or (response.status == 403 and "retry-after" in response.headers):
        return True
    said = bool(_LIMITED.search(response.words)) or "RATE_LIMITED" in response.types
    return said and response.status < 500


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
    return _failed("network", doing, what, AGAIN, retryable=True, make=Lost if lost else ForgeError)


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
