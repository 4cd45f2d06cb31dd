"""Whether the models of a run could be asked, as far as can be told without asking anybody."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from skillopt_git import roles
from skillopt_git.backends import cassette
from skillopt_git.config import Config
from skillopt_git.doors import About, Opened
from skillopt_git.errors import BackendError, SkilloptError
from skillopt_git.findings import Finding, Findings, fault
from skillopt_git.private import Private
from skillopt_git.prompts import SHIPPED
from skillopt_git.purse import Purse
from skillopt_git.redact import Redactor, Scanner
from skillopt_git.wiring import look_up


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleState:
    """Who plays a role, where its requests go, and how the documents reach it."""

    role: str
    to: str
    documents: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """`backend` is that of the target, None where none is chosen. A simulation asks nobody and has no `roles`."""

    backend: str | None = None
    simulated: bool = False
    roles: tuple[RoleState, ...] = ()


def look(config: Config, environ: Mapping[str, str], found: Findings) -> ModelState:
    name = config.replay.backend
    if not name:
        return ModelState()
    try:
        simulated = roles.chosen_model(config, environ).simulated
    except SkilloptError as error:
        found.fault(error)
        simulated = False
    if simulated:
        return ModelState(backend=name, simulated=True)
    return ModelState(backend=name, roles=tuple(_roles(config, environ, found)))


def _roles(config: Config, environ: Mapping[str, str], found: Findings) -> Iterator[RoleState]:
    try:
        both = list(zip(roles.parts(config), roles.destinations(config, environ), strict=True))
    except SkilloptError:  # told already
        return
    told: set[str] = set()  # the optimizer lacks what the target lacks, if one model plays both
    for part, to in both:
        known = roles.about(part.backend)
        yield RoleState(role=part.role, to=to.told, documents=known.documents)
        missing = tuple(_missing(part, known, environ, here=to.here)) or tuple(_in_the_way(part, config, environ))
        found.add(*(finding for finding in missing if finding.what not in told))
        told |= {finding.what for finding in missing}


def _missing(part: roles.Part, known: About, environ: Mapping[str, str], *, here: bool) -> Iterator[Finding]:
    keys = (part.key_env,) if part.key_env else known.keys
    needed = part.key_env or not (here or known.login)
    if keys and needed and not any(environ.get(name) for name in keys):
        yield Finding(f"No key for {part.backend} is in the environment", f"set {' or '.join(keys)}", fault=True)
    if known.library and find_spec(known.library) is None:
        remedy = f"`pip install 'skillopt-git[{known.extra}]'`"
        yield Finding(f"{part.backend} needs a package that is not installed", remedy, fault=True)
    if known.program and shutil.which(known.program, path=environ.get("PATH")) is None:
        yield Finding(f"There is no program `{known.program}` on the PATH", known.setup, fault=True)


def _in_the_way(part: roles.Part, config: Config, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Why the part's door does not open, or why whoever stands behind it could not be paid."""
    try:
        _open(part, config, environ)
    except SkilloptError as error:
        yield fault(error)
    except OSError as error:  # a recording that may not be read
        yield Finding(f"{error.filename}: {error.strerror}", fault=True)


def _open(part: roles.Part, config: Config, environ: Mapping[str, str]) -> None:
    """As a run would, but for a state in which nothing can be kept. A door that opens has asked nobody yet."""
    nowhere = Private(Path(os.devnull))
    redact = Redactor(os.urandom(32), Scanner(config.harvest.deny_words))
    asked = roles.asked_of(part, config, environ, nowhere, redact, SHIPPED, (), {})
    if part.taped:
        cassette.begun(config.replay)
    opened: Opened = look_up("backend", part.backend, roles.BACKENDS)(asked)
    roles.limited(opened, part, config, Purse(config.budget), environ)
    if opened.shut is not None:
        raise BackendError(opened.shut.kind, opened.shut.message, retryable=False)
