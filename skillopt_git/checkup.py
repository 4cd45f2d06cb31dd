"""What there is to read here, and what a run would work with: looked at, never touched.

No transcript is opened, and nothing is written but what git needs for a moment in a temporary folder.
"""

from __future__ import annotations

import os
import platform
import shlex
import stat
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from skillopt_git import __version__, modelcheck, wiring
from skillopt_git.agents import AGENTS, Agent
from skillopt_git.config import FILE_NAME, Config
from skillopt_git.errors import ConfigError, SkilloptError, UsageError
from skillopt_git.findings import Finding, Findings
from skillopt_git.gitrepo import GitRepo, execute
from skillopt_git.keeping import usable
from skillopt_git.loading import load, user_file
from skillopt_git.model import Skipped
from skillopt_git.modelcheck import ModelState
from skillopt_git.ports import SessionSource
from skillopt_git.private import Checkpoint, Private, record
from skillopt_git.targets import Base, default_base
from skillopt_git.transcripts import UNREADABLE
from skillopt_git.vitals import Vitals, look

# Who besides the owner may list a folder, and what they need on the way to it: everybody, or a group.
_OTHERS = ((0o004, 0o001), (0o040, 0o011))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """What one agent left. `decided_by` is the setting or variable that names the home, or "default".

    `mode` is that of the first folder of transcripts that is there; `auto` and `chosen`: whether `auto` reads it, and
    whether the settings in force do. `unread`: transcripts written since the last night, which the next one would open,
    whatever repository they are about.
    """

    name: str
    home: str
    decided_by: str
    exists: bool
    readable: bool
    transcripts: int
    bytes: int
    newest: datetime | None
    mode: int | None
    auto: bool
    chosen: bool
    unread: int
    skipped: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryState:
    """`checkpoint`: up to when each (source, home) was read."""

    root: str
    base: str | None
    base_commit: str | None
    private: str
    mode: int | None
    checkpoint: Mapping[str, Mapping[str, datetime]]
    index_bytes: int


@dataclass(frozen=True, slots=True)
class SettingsFile:
    path: str
    there: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """`findings` want attention. With broken settings the defaults stand in for them."""

    version: str
    python: str
    git: str | None
    repository: RepositoryState | None
    sources: tuple[SourceState, ...]
    settings: tuple[SettingsFile, ...]
    source: str
    models: ModelState
    time_zone: str
    vitals: Vitals | None
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether the next run can do its work."""
        return not any(finding.fault for finding in self.findings)


def check(
    path: Path, flags: Mapping[str, str | None], environ: Mapping[str, str] = os.environ, *, now: datetime
) -> Checkup:
    """Looks at the repository that holds `path`, if one does, and at every agent's home."""
    found = Findings()
    here = path.absolute()
    git = _git_version(here, found)
    repo = _repository(here, found)
    root = repo.root if repo else None
    config = _config(root, flags, environ, found)
    checkpoint = _checkpoint(repo.private_dir()) if repo else Checkpoint()
    hours = config.harvest.lookback_hours
    first = now - timedelta(hours=hours) if hours else None
    sources = tuple(_sources(config, environ, found, checkpoint, first))
    base = _base(repo, config, found) if repo else None
    state = _repository_state(repo, base, checkpoint) if repo else None
    models = modelcheck.look(config, environ, found)
    found.add(*_about_sources(sources), *(Finding(what=note) for note in wiring.unread(config)))
    found.add(*_about_private(state))
    vitals = look(repo, config, environ, found, base=base, now=now) if repo else None
    return Checkup(
        version=__version__,
        python=platform.python_version(),
        git=git,
        repository=state,
        sources=sources,
        settings=tuple(_settings_files(root, environ)),
        source=config.harvest.source,
        models=models,
        time_zone=config.propose.time_zone,
        vitals=vitals,
        findings=tuple(found.told),
    )


# --- the repository and the settings -----------------------------------------------------------------------------


def _git_version(path: Path, found: Findings) -> str | None:
    try:
        return execute(Path(path.anchor), "version").text.removeprefix("git version ")
    except UsageError as error:
        found.fault(error)
        return None


def _repository(path: Path, found: Findings) -> GitRepo | None:
    try:
        return GitRepo.open(path)
    except SkilloptError as error:
        found.fault(error)
        return None


def _config(root: Path | None, flags: Mapping[str, str | None], environ: Mapping[str, str], found: Findings) -> Config:
    """The settings in force; where they are broken, the defaults with the flags."""
    try:
        return load(root, environ=environ, flags=flags)
    except ConfigError as error:
        found.fault(error)
    return load(None, environ={"XDG_CONFIG_HOME": os.devnull}, flags=flags)


def _settings_files(root: Path | None, environ: Mapping[str, str]) -> Iterator[SettingsFile]:
    if root is not None:
        shared = root / "pyproject.toml"
        yield SettingsFile(str(shared), _speaks_of_us(shared))
        yield SettingsFile(str(root / FILE_NAME), _is_file(root / FILE_NAME))
    own = user_file(environ)
    yield SettingsFile(str(own), _is_file(own))


def _speaks_of_us(pyproject: Path) -> bool:
    try:
        return "skillopt" in tomllib.loads(pyproject.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, ValueError):  # what is wrong with it was found when the settings were loaded
        return False


def _base(repo: GitRepo, config: Config, found: Findings) -> Base | None:
    """The base, if there is one; what a run would teach there has to be fit for it."""
    try:
        base = default_base(repo, config.propose.base)
    except UsageError as error:
        found.fault(error)
        return None
    try:
        wiring.teachable(config, repo, base)
    except SkilloptError as error:
        found.fault(error)
    return base


def _repository_state(repo: GitRepo, base: Base | None, checkpoint: Checkpoint) -> RepositoryState:
    private = Private(repo.private_dir())
    files = private.index.glob("*.json") if usable(private) else ()
    return RepositoryState(
        root=str(repo.root or repo.common_dir),
        base=base.branch if base else None,
        base_commit=base.commit if base else None,
        private=str(private.folder),
        mode=_mode(private.folder),
        checkpoint=checkpoint.read,
        index_bytes=sum(file.stat().st_size for file in files),
    )


def _checkpoint(folder: Path) -> Checkpoint:
    """As far as it can be read; that it cannot be is found with the other private files."""
    try:
        return record(Checkpoint, folder / "checkpoint.json") or Checkpoint()
    except (ConfigError, OSError):
        return Checkpoint()


# --- the sources -------------------------------------------------------------------------------------------------


def _sources(
    config: Config, environ: Mapping[str, str], found: Findings, checkpoint: Checkpoint, first: datetime | None
) -> Iterator[SourceState]:
    """`first` is where a run without a checkpoint begins to read; None: at the beginning."""
    chosen: set[str] = set()
    try:
        chosen = {source.name for source in wiring.sources(config, environ)}
    except ConfigError as error:
        found.fault(error)
    for name in wiring.SOURCES:
        only = replace(config, harvest=replace(config.harvest, source=name))
        try:
            (source,) = wiring.sources(only, environ)
        except ConfigError as error:  # its home cannot be one
            found.fault(error)
        else:
            since = checkpoint.window((source.name, source.home)).since or first
            yield _looked_at(source, _decided_by(AGENTS[name], config, environ), name in chosen, since)


def _decided_by(agent: Agent, config: Config, environ: Mapping[str, str]) -> str:
    if getattr(config.harvest, agent.setting):
        return f"harvest.{agent.setting}"
    return agent.variable if environ.get(agent.variable) else "default"


def _looked_at(source: SessionSource, decided_by: str, chosen: bool, since: datetime | None) -> SourceState:
    transcripts = size = unread = 0
    newest: datetime | None = None
    skipped: Counter[str] = Counter()
    for item in source.transcripts():
        if isinstance(item, Skipped):
            skipped[item.reason] += item.count
        else:
            transcripts += 1
            unread += since is None or item.written >= since
            size += sum(file.size for file in item.files)
            newest = max(newest or item.written, item.written)
    folders = _folders(source.home, source.name)
    return SourceState(
        name=source.name,
        home=source.home,
        decided_by=decided_by,
        exists=_mode(Path(source.home)) is not None,
        readable=all(map(_is_readable, (Path(source.home), *folders))),
        transcripts=transcripts,
        bytes=size,
        newest=newest,
        mode=_mode(folders[0]) if folders else None,
        auto=source.name in wiring.AUTO_SOURCES,
        chosen=chosen,
        unread=unread,
        skipped=dict(sorted(skipped.items())),
    )


def _folders(home: str, name: str) -> list[Path]:
    """The folders with transcripts that are there."""
    usual = [Path(home, folder) for folder in AGENTS[name].folders]
    return [folder for folder in usual if _mode(folder) is not None]


def _mode(path: Path) -> int | None:
    info = _info(path)
    return stat.S_IMODE(info.st_mode) if info else None


def _info(path: Path) -> os.stat_result | None:
    """None where there is nothing, or a closed folder on the way to it."""
    try:
        return path.stat()
    except OSError:
        return None


def _is_file(path: Path) -> bool:
    info = _info(path)
    return info is not None and stat.S_ISREG(info.st_mode)


def _is_readable(path: Path) -> bool:
    return os.access(path, os.R_OK if _is_file(path) else os.R_OK | os.X_OK)


def _is_open(folder: Path) -> bool:
    """Whether others than its owner can list it: its own mode lets them, and no folder on the way shuts them out."""
    real = folder.resolve()
    mode, way = _mode(real) or 0, [_mode(parent) or 0 for parent in real.parents]
    return any(mode & listing and all(step & passing for step in way) for listing, passing in _OTHERS)


# --- what wants attention ----------------------------------------------------------------------------------------


def _about_sources(sources: Sequence[SourceState]) -> Iterator[Finding]:
    chosen = [item for item in sources if item.chosen]
    if chosen and not any(item.transcripts for item in chosen):
        yield _nothing_to_read(chosen, [item.name for item in sources if item.transcripts])
    for item in chosen:
        if not item.exists and item.decided_by != "default":
            yield Finding(f"There is no {item.home}, which {item.decided_by} names", "correct it, or make the folder")
    for item in sources:
        if item.skipped.get(UNREADABLE) or (item.exists and not item.readable):
            remedy = "look at the owner and mode of what is in it, or ask its owner"
            yield Finding(f"Not all of {item.home} may be read", remedy, fault=item.chosen)
        yield from map(_closable, filter(_is_open, _folders(item.home, item.name)))


def _nothing_to_read(chosen: Sequence[SourceState], others: Sequence[str]) -> Finding:
    homes = " or ".join(item.home for item in chosen)
    flags = " or ".join(f"--{AGENTS[item.name].setting.replace('_', '-')}" for item in chosen)
    there = (
        f"`--source {','.join(others)}` reads those that are there" if others else f"name another folder with {flags}"
    )
    return Finding(f"There are no transcripts in {homes}", there)


def _about_private(state: RepositoryState | None) -> Iterator[Finding]:
    if state is not None and _is_open(Path(state.private)):
        yield _closable(Path(state.private))


def _closable(folder: Path) -> Finding:
    closing = shlex.join(["chmod", "go-rwx", str(folder)])
    return Finding(
        f"Others than you can look into {folder} (mode {_mode(folder) or 0:04o})", f"`{closing}` keeps them out"
    )
