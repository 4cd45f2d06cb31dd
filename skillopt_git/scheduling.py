"""Nightly runs by the system's schedulers: choosing one, putting entries into it, and looking after them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path

from skillopt_git import config, loading, modelcheck, roles
from skillopt_git.envfile import env_file
from skillopt_git.errors import ConfigError, SkilloptError, UsageError
from skillopt_git.findings import Finding, Findings, fault
from skillopt_git.gitrepo import GitRepo
from skillopt_git.private import Damaged, Nightly, Private, record
from skillopt_git.programs import ProgramFailed
from skillopt_git.scheduled import LOG, environment, kept, nights_without
from skillopt_git.schedules.crontab import Crontab
from skillopt_git.schedules.launchd import Launchd
from skillopt_git.schedules.systemd import Systemd
from skillopt_git.schedules.windows import Windows
from skillopt_git.timetable import Entry, Placed, Scheduler, clock, entry_id, refuse_unwritable
from skillopt_git.whole import write
from skillopt_git.worktrees import main_worktree

AUTO = "auto"
LONGEST_RUN = timedelta(days=1)
AGAIN = "schedule again"
# What a platform has of its own makes up for nights that the machine slept through; cron does so only after a restart.
# The way to a server, which may hold a password as well.
NETWORK = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")
OWN = {"darwin": ("launchd",), "win32": ("windows",)}


@dataclass(frozen=True, slots=True)
class Standing:
    """An entry where it stands, what is known of its runs, and what is wrong with it."""

    scheduler: str
    placed: Placed
    nightly: Nightly
    log: Path | None
    problems: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What `schedule` did, or with `--print` would do. `moved_from`: schedulers that had the repository before."""

    entry: Entry
    scheduler: str
    files: tuple[tuple[str, str], ...]
    moved_from: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def schedulers(environ: Mapping[str, str]) -> dict[str, Scheduler]:
    known: list[Scheduler] = [Systemd(environ), Crontab(environ), Launchd(environ), Windows(environ)]
    return {item.name: item for item in known}


# --- choosing ----------------------------------------------------------------------------------------------------


def chosen(name: str, environ: Mapping[str, str], platform: str = sys.platform) -> Scheduler:
    """The scheduler of that name, or the one that fits this machine. Raises `UsageError` where there is none."""
    known = schedulers(environ)
    if name == AUTO:
        return _fitting([known[each] for each in ("systemd", *OWN.get(platform, ()), "cron")])
    if name not in known:
        near = get_close_matches(name, [*known, AUTO], n=1)
        meant = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(f"there is no scheduler '{name}'", f"{meant}known: {', '.join([AUTO, *known])}")
    return known[name]


def _fitting(known: Sequence[Scheduler]) -> Scheduler:
    """The first that can be used."""
    hindrances = []
    for item in known:
        hindrance = item.hindrance()
        if hindrance is None:
            return item
        hindrances.append(f"{item.name}: {hindrance}")
    raise UsageError(
        f"this machine has nothing to schedule with ({'; '.join(hindrances)})",
        "install cron (on Debian and Ubuntu `apt install cron`), or start `skillopt-git run --quiet` another way",
    )


# --- schedule ----------------------------------------------------------------------------------------------------


def planned(
    path: Path, *, at: str | None, auto_adopt: bool, with_: str, environ: Mapping[str, str] = os.environ
) -> tuple[Entry, Scheduler]:
    """The entry for the repository that holds `path`, and where it belongs. Writes nothing."""
    repo = GitRepo.open(path)
    folder = main_worktree(repo)
    settings = loading.load(repo.root, environ=environ)
    entry = Entry(
        repository=str(folder),
        private=str(repo.common_dir / "skillopt"),
        at=f"{clock(at or settings.schedule.at):%H:%M}",
        auto_adopt=auto_adopt,
        python=sys.executable,
    )
    refuse_unwritable(entry)
    return entry, chosen(with_, environ)


def shown(entry: Entry, scheduler: Scheduler) -> Scheduled:
    """What would be written. Writes nothing."""
    return Scheduled(entry, scheduler.name, tuple(scheduler.plan(entry)))


def schedule(
    entry: Entry, scheduler: Scheduler, *, now: datetime, environ: Mapping[str, str] = os.environ
) -> Scheduled:
    """Puts the entry into its scheduler, and takes the repository out of every other one."""
    hindrance = scheduler.hindrance()
    if hindrance is not None:
        raise UsageError(f"{scheduler.name} cannot be used here: {hindrance}", "`--with auto` looks for another one")
    repo = GitRepo.open(Path(entry.repository))
    notes = _foreseen(repo.root, environ)
    files = tuple(scheduler.plan(entry))
    with _noted(Private(repo.private_dir()), now, environ):
        notes += scheduler.install(entry)
    moved = []
    others = [item for item in schedulers(environ).values() if item.name != scheduler.name]
    standing, unread = _all(others)
    for other, placed in standing:
        if placed.id == entry.id:
            other.remove(placed.id)
            moved.append(other.name)
    notes += [f"an older entry could not be looked for: {error.message}" for error in unread]
    return Scheduled(entry, scheduler.name, files, tuple(moved), tuple(notes))


@contextmanager
def _noted(private: Private, now: datetime, environ: Mapping[str, str]) -> Iterator[None]:
    """Notes what the runs need, and takes it back if there will be none.

    It comes first, for a scheduler may start a run at once, and that has to know of no missed night.
    """
    before = private.nightly()
    old = private.nightly_file.read_bytes() if private.nightly_file.is_file() else None
    new = Nightly(environ=kept(environ), since=now, tried=before.tried, code=before.code)
    private.save(private.nightly_file.name, new)
    try:
        yield
    except BaseException:
        if old is None:
            private.nightly_file.unlink(missing_ok=True)
        else:
            write(private.nightly_file, old)
        raise


def _foreseen(root: Path | None, environ: Mapping[str, str]) -> list[str]:
    """What will be in the way at night. Raises for settings or a file of keys that would end every run."""
    there = _there(kept(environ), environ)
    settings = loading.load(root, environ=there)
    notes = [finding.text for finding in _wanting(settings, there)]
    names = [*(item.env for item in config.settings()), *_read(settings)]
    lost = [name for name in dict.fromkeys(names) if environ.get(name) and name not in there]
    if lost:
        notes.append(f"scheduled runs do not see {', '.join(lost)}: what they need of it belongs in {env_file(there)}")
    return notes


def foreseen(standing: Standing, root: Path | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """The settings that would end the scheduled runs of the repository at `root`, though perhaps no run of a person."""
    try:
        there = _there(standing.nightly.environ, environ)
        settings = loading.load(root, environ=there)
    except SkilloptError as error:
        yield fault(error)
        return
    yield from _wanting(settings, there)


def _wanting(settings: config.Config, there: Mapping[str, str]) -> Iterator[Finding]:
    """What will keep models from being asked at night: no backend, no key, nobody said what may be sent."""
    if not settings.replay.backend:
        yield _backendless(there)
        return
    found = Findings()
    modelcheck.look(settings, there, found)
    for item in found.told:
        yield replace(item, remedy=f"{item.remedy}; variables of scheduled runs stand in {env_file(there)}")


def _read(settings: config.Config) -> Iterator[str]:
    """The variables, beside those of settings, that the chosen backends read."""
    if not settings.replay.backend:
        return
    for part in roles.parts(settings):
        known = roles.about(part.backend)
        yield from (name for name in (part.key_env, *known.keys, known.address, *known.variables) if name)
        yield from NETWORK if known.sends else ()


def _there(known: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a scheduled run, as far as it decides about settings."""
    return {"HOME": environ.get("HOME", ""), **environment(known, environ)}


def _backendless(there: Mapping[str, str]) -> Finding:
    remedy = f"set replay.backend in {loading.user_file(there)}, or SKILLOPT_REPLAY_BACKEND in {env_file(there)}"
    return Finding("no backend is chosen for scheduled runs, and each will end with that", remedy, fault=True)


# --- unschedule and list -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unscheduled:
    """What was taken away, by scheduler; what is still there, with why; and why some could not be looked at."""

    removed: tuple[tuple[str, Placed], ...]
    left: tuple[tuple[str, Placed, SkilloptError], ...]
    unread: tuple[SkilloptError, ...]


def unschedule(path: Path | None, *, with_: str | None, environ: Mapping[str, str] = os.environ) -> Unscheduled:
    """Takes the repository at `path`, which may be gone, out of its schedulers; with None every repository.

    Raises where there is only one thing to do, and it cannot be done.
    """
    asked = [chosen(with_, environ)] if with_ else list(schedulers(environ).values())
    mine, not_opened = _named(path) if path else (None, None)
    standing, unread = _all(asked)
    found = [(item, placed) for item, placed in standing if mine is None or placed.id in mine]
    if not found:
        for error in (*unread, *([not_opened] if not_opened else ())):
            raise error
    removed: list[tuple[str, Placed]] = []
    left: list[tuple[str, Placed, SkilloptError]] = []
    for item, placed in found:
        try:
            item.remove(placed.id)
        except SkilloptError as error:
            left.append((item.name, placed, error))
        except OSError as error:
            left.append((item.name, placed, ProgramFailed(f"{error.filename}: {error.strerror}")))
        else:
            removed.append((item.name, placed))
            _forget(placed)
    if len(found) == len(left) == 1:
        raise left[0][2]
    return Unscheduled(tuple(removed), tuple(left), unread)


def _forget(placed: Placed) -> None:
    """What its runs needed. Where it cannot be deleted, it does no harm."""
    if placed.entry is not None:
        with suppress(OSError):
            Private(Path(placed.entry.private)).nightly_file.unlink()


def _named(path: Path) -> tuple[frozenset[str], SkilloptError | None]:
    """The ids a repository at `path` can have, and why it cannot be opened if it is gone."""
    try:
        return frozenset({entry_id(str(main_worktree(GitRepo.open(path))))}), None
    except SkilloptError as error:
        names = os.path.abspath(path), os.path.realpath(path)  # noqa: PTH100 - as it was named, and without links
        return frozenset(map(entry_id, names)), error


def listed(
    environ: Mapping[str, str] = os.environ, *, now: datetime
) -> tuple[tuple[Standing, ...], tuple[SkilloptError, ...]]:
    """Every entry of this user, and why schedulers could not be looked at. Writes nothing, in no repository."""
    standing, unread = _all(list(schedulers(environ).values()))
    return tuple(_standing(item.name, placed, environ, now) for item, placed in standing), unread


def _all(
    asked: Sequence[Scheduler],
) -> tuple[list[tuple[Scheduler, Placed]], tuple[SkilloptError, ...]]:
    found: list[tuple[Scheduler, Placed]] = []
    unread: list[SkilloptError] = []
    for item in asked:
        try:
            found += [(item, placed) for placed in item.placed()]
        except SkilloptError as error:
            unread.append(error)
    return found, tuple(unread)


def _standing(scheduler: str, placed: Placed, environ: Mapping[str, str], now: datetime) -> Standing:
    entry, problems = placed.entry, [Finding(what, AGAIN) for what in placed.problems]
    if entry is None:
        return Standing(scheduler, placed, Nightly(), None, tuple(problems))
    log, file = Path(entry.private, LOG), Private(Path(entry.private)).nightly_file
    nightly = Nightly()
    try:
        nightly = record(Nightly, file) or nightly
    except Damaged:
        problems.append(Finding("its schedule.json is damaged", AGAIN))
    except ConfigError as error:  # a newer tool's
        problems.append(fault(error))
    except OSError as error:
        problems.append(Finding(f"{file} cannot be read ({error.strerror})", "look at its owner and mode", fault=True))
    problems += [*_about_entry(entry, nightly, environ), *_about_runs(entry, nightly, log, now)]
    return Standing(scheduler, placed, nightly, log, tuple(problems))


def _about_entry(entry: Entry, nightly: Nightly, environ: Mapping[str, str]) -> Iterator[Finding]:
    """What would keep the next run from starting."""
    if _gone(Path(entry.repository).is_dir) or _gone(Path(entry.private).parent.is_dir):
        removal = shlex.join(["skillopt-git", "unschedule", "--repo", entry.repository])
        yield Finding("the repository is gone", f"`{removal}` takes the schedule away", fault=True)
    if _gone(Path(entry.python).exists):
        yield Finding(f"the interpreter {entry.python} is gone", AGAIN, fault=True)
    try:
        environment(nightly.environ, environ)
    except SkilloptError as error:
        yield fault(error)


def _gone(is_there: Callable[[], bool]) -> bool:
    """Where nobody may look, nothing is said."""
    try:
        return not is_there()
    except OSError:
        return False


def _about_runs(entry: Entry, nightly: Nightly, log: Path, now: datetime) -> Iterator[Finding]:
    """What the nights so far tell."""
    if nightly.code:
        yield Finding(f"the last run ended with {nightly.code}", f"see {log}")
    started = nightly.tried.astimezone() if nightly.tried and nightly.code is None else None
    if started and now - started > LONGEST_RUN:
        what = f"the last run has not ended since {started.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        yield Finding(what, f"see {log}, and end it if it hangs; if it was killed, the next one begins anew")
    nights = nights_without(nightly, entry.time, now)
    if nights:
        what = "the last night" if nights == 1 else f"the last {nights} nights"
        remedy = "if the machine was on, look whether the scheduler works; `skillopt-git run` makes up for it"
        yield Finding(f"{what} passed without a run", remedy)
