"""How GitHub says no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.rig.loopback import Answer

LONGEST = {"title": 256, "body": 65_536}


def refusal(status: int, message: str, *errors: Mapping[str, str] | str) -> Answer:
    said: dict[str, object] = {"message": message}
    if errors:
        said["errors"] = errors
    return Answer.of(status, {**said, "documentation_url": "https://docs.github.com/rest", "status": str(status)})


def invalid(**error: str) -> Answer:
    return refusal(422, "Validation Failed", {"resource": "PullRequest", **error})


def rule(message: str, **error: str) -> Answer:
    return invalid(code="custom", message=message, **error)


def too_long(sent: Mapping[str, Any]) -> Answer | None:
    """For the first field with more characters than GitHub stores."""
    for field, most in LONGEST.items():
        if len(str(sent.get(field))) > most:
            return rule(f"{field} is too long (maximum is {most} characters)", field=field)
    return None


NOT_FOUND = refusal(404, "Not Found")
BAD_CREDENTIALS = refusal(401, "Bad credentials")
SIGN_IN_FIRST = refusal(401, "Requires authentication")
FORBIDDEN = refusal(403, "Resource not accessible by personal access token")
NOT_FOR_BOTS = refusal(403, "Resource not accessible by integration")
PUSHERS_ONLY = refusal(403, "Must have push access to view collaborator permission.")
STILL_A_DRAFT = refusal(405, "Pull Request is still a draft")
NOT_MERGEABLE = refusal(405, "Pull Request is not mergeable")
NO_REBASE = refusal(405, "Rebase merges are not allowed on this repository.")
HEAD_MOVED = refusal(409, "Head branch was modified. Review and try the merge again.")
