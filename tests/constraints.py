"""The versions that the action installs: `python -m tests.constraints > actions/sleep/constraints.txt`.

Those of this environment, for every system that the action runs on, and also for the extras of backends.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("openai", "azure")
ELSEWHERE = {"colorama": "0.4.6"}  # needed on Windows only, so that it may not be installed here
_SYSTEMS = (("linux", "Linux", "posix"), ("darwin", "Darwin", "posix"), ("win32", "Windows", "nt"))


def wanted() -> dict[str, list[Requirement]]:
    """What installing the tool pulls in, by name, with what each who wants it asks for."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, list[Requirement]] = {}
    extras = project["project"]["optional-dependencies"]
    lines = [*project["project"]["dependencies"], *(line for name in EXTRAS for line in extras[name])]
    left = [Requirement(line) for line in lines]
    while left:
        one = left.pop()
        name = canonicalize_name(one.name)
        if name not in found and name not in ELSEWHERE:
            left += _needed(one)
        found.setdefault(name, []).append(one)
    return found


def _needed(by: Requirement) -> Iterator[Requirement]:
    for line in requires(by.name) or ():
        one = Requirement(line)
        if one.marker is None or any(_there(one, extra) for extra in ("", *by.extras)):
            yield one


def _there(one: Requirement, extra: str) -> bool:
    places = (
        {"extra": extra, "sys_platform": platform, "platform_system": system, "os_name": name}
        for platform, system, name in _SYSTEMS
    )
    return one.marker is not None and any(one.marker.evaluate(place) for place in places)


def refused(pinned: Mapping[str, str]) -> list[str]:
    """The pins that somebody's range does not hold."""
    return [
        f"{name}=={pinned[name]} is not {one}"
        for name, asked in wanted().items()
        for one in asked
        if not one.specifier.contains(pinned[name])
    ]


if __name__ == "__main__":
    for name in sorted(wanted()):
        sys.stdout.write(f"{name}=={ELSEWHERE.get(name) or version(name)}\n")
