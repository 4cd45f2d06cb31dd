"""Faults of GitHub's API that a nightly run meets, in its own words."""

from __future__ import annotations

from tests.rig.loopback import Fault
from tests.rig.refusals import refusal


def _said(status: int, message: str) -> object:
    return refusal(status, message).json()


def actions_may_not_create() -> Fault:
    """The repository's setting, whatever the workflow's `permissions` say."""
    message = "GitHub Actions is not permitted to create or approve pull requests."
    return Fault(r"^POST /repos/[^/]+/[^/]+/pulls$", status=403, body=_said(403, message))


def rate_limited(match: str = ".", *, reset: int) -> Fault:
    """No more calls until `reset`, in seconds since 1970."""
    headers = (("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", str(reset)))
    return Fault(match, status=403, headers=headers, body=_said(403, "API rate limit exceeded for user ID 1."))


def slow_down(match: str = ".", *, seconds: int, status: int = 403) -> Fault:
    """Too much at once."""
    message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    return Fault(match, status=status, headers=(("Retry-After", str(seconds)),), body=_said(status, message))


def lost(match: str, *, times: int = 1) -> Fault:
    """Carried out, and then the line breaks."""
    return Fault(match, times=times, after=True, reset=True)


def unavailable(match: str, *, status: int = 502, times: int = 1, after: bool = False) -> Fault:
    return Fault(match, times=times, after=after, status=status, body={"message": "Server Error"})
