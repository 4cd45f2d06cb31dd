"""Which commit of which repository this copy of the tool came from: what a workflow may pin its action to.

A wheel cannot name the commit it was built from. What installed it may have noted it (`direct_url.json`, PEP 610).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from skillopt_git.errors import SkilloptError, UsageError
from skillopt_git.gitrepo import GitRepo

SOMEBODY = "acme/skillopt-git"  # where nobody knows whose copy it is
UNKNOWN = "0" * 40  # no commit has this name, so a workflow that keeps it runs nothing

_GIVEN = re.compile(r"([\w.-]+/[\w.-]+)@([0-9a-f]{40})", re.ASCII)
_HOSTED = re.compile(r"(?:(?:https?|ssh|git)://[^/]+/|[^/:]+:)([\w.-]+/[\w.-]+?)(?:\.git)?/?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Pin:
    """OWNER/NAME of a repository, and a whole commit id."""

    repository: str = SOMEBODY
    commit: str = UNKNOWN

    @property
    def known(self) -> bool:
        return self.commit != UNKNOWN and self.repository != SOMEBODY


def given(text: str) -> Pin:
    """What a person wrote as OWNER/NAME@COMMIT."""
    found = _GIVEN.fullmatch(text)
    if found is None:
        raise UsageError(
            f"'{text}' names no commit of an action",
            "write OWNER/NAME@COMMIT with all 40 digits; `git ls-remote` tells the commit of a tag",
        )
    return Pin(found[1], found[2])


def note() -> str | None:
    """What the installer noted about where this copy came from."""
    try:
        return distribution("skillopt-git").read_text("direct_url.json")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return None


def pin(noted: str | None) -> Pin:
    """As far as it can be known: of a copy installed from git its commit, of one from a clone the one it is on."""
    told = json.loads(noted) if noted else {}
    if "vcs_info" in told:
        return Pin(_hosted(told["url"]), told["vcs_info"]["commit_id"])
    if "dir_info" not in told:
        return Pin()
    try:
        clone = GitRepo.open(Path(unquote(urlsplit(told["url"]).path)))
        return Pin(_hosted(clone.setting("remote.origin.url") or ""), clone.resolve("HEAD") or UNKNOWN)
    except SkilloptError:  # an unpacked archive
        return Pin()


def _hosted(url: str) -> str:
    found = _HOSTED.fullmatch(url)
    return found[1] if found else SOMEBODY
