"""What GitHub says when it refuses, what that means, and which setting would change it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from skillopt_git.errors import ForgeError

AGAIN = "try again later; what was done already is found, and not done twice"


class Behind(ForgeError):
    """A part of GitHub does not know yet what another was told a moment ago."""


class Exists(ForgeError):
    """What was to be made is there."""


class NoDrafts(ForgeError):
    """The plan of the repository has no drafts."""


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
        AGAIN,
        retryable=True,
        make=Behind,
    ),
)
