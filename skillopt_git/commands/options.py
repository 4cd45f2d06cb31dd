"""The options that verbs share, and the settings they add up to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.errors import ForgeError, UsageError

if TYPE_CHECKING:
    from skillopt_git.config import Config
    from skillopt_git.proposing import Proposing
    from skillopt_git.reviewing import Review
    from skillopt_git.workshop import Workshop

Repo = Annotated[Path, typer.Option("--repo", "--project", help="The repository; any folder in it will do.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]
Source = Annotated[
    str | None,
    typer.Option(
        help="Which agents' sessions to read: `auto` (claude and codex), or names with commas between: "
        "claude, codex, copilot-cli, jsonl."
    ),
]
ClaudeHome = Annotated[str | None, typer.Option(help="Claude Code's folder, if not the usual one.")]
CodexHome = Annotated[str | None, typer.Option(help="Codex's folder, if not the usual one.")]
CopilotHome = Annotated[str | None, typer.Option(help="Copilot CLI's folder, if not the usual one.")]
JsonlHome = Annotated[str | None, typer.Option(help="The folder of sessions in the neutral format.")]
ScopeOption = Annotated[
    list[str] | None,
    typer.Option("--scope", help="`repository`, `all`, or the whole path of a folder; may be repeated."),
]
Lookback = Annotated[float | None, typer.Option(help="Hours to look back; 0 reads everything.")]
MaxSessions = Annotated[int | None, typer.Option(help="Most sessions to read; 0 is three times --max-tasks.")]
MaxTasks = Annotated[int | None, typer.Option(help="Most tasks to replay.")]
TargetSkill = Annotated[str | None, typer.Option("--target-skill-path", help="The skill to teach.")]


Local = Annotated[bool, typer.Option("--local", help="In git alone, though there may be a pull request.")]


def now() -> datetime:
    return datetime.now(UTC)


def instant(time: datetime | None) -> str | None:
    """As records tell a time."""
    return None if time is None else time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def minute(time: datetime) -> str:
    """As people are told a time."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"


def source_flags(
    source: str | None,
    claude_home: str | None,
    codex_home: str | None,
    copilot_home: str | None,
    jsonl_home: str | None,
) -> dict[str, str | None]:
    """Flags about whose sessions are read, and where they lie, by setting."""
    return {
        "harvest.source": source,
        "harvest.claude_home": claude_home,
        "harvest.codex_home": codex_home,
        "harvest.copilot_home": copilot_home,
        "harvest.jsonl_home": jsonl_home,
    }


def reading_flags(
    scope: list[str] | None, lookback_hours: float | None, max_sessions: int | None, max_tasks: int | None
) -> dict[str, Any]:
    """Flags about how much is read, by setting."""
    return {
        "harvest.scope": scope or None,
        "harvest.lookback_hours": lookback_hours,
        "harvest.max_sessions": max_sessions,
        "mine.max_tasks": max_tasks,
    }


def settings(repo: Path, flags: Mapping[str, Any] | None = None) -> Config:
    """The settings in force in the repository that holds `repo`."""
    from skillopt_git.gitrepo import GitRepo
    from skillopt_git.loading import load  # here and below: what a verb needs would slow down every start

    return load(GitRepo.open(repo).root, flags=flags)


def workshop(repo: Path) -> Workshop:
    """The repository and its memory, to look at."""
    from skillopt_git.gitrepo import GitRepo
    from skillopt_git.loading import load
    from skillopt_git.workshop import open_workshop

    opened = GitRepo.open(repo)
    return open_workshop(opened, load(opened.root), now=now())


@contextmanager
def deciding(repo: Path) -> Iterator[Workshop]:
    """The same, to decide something: nobody else writes meanwhile, and what people did before is recorded first."""
    from skillopt_git.decide import tidy
    from skillopt_git.exchange import unite

    shop = workshop(repo)
    with shop.private.lock():
        unite(shop.repo, shop.ledger, shop.stamp)
        shop.sync()
        tidy(shop.desk())
        shop.catch_up()
        yield shop


def there(shop: Workshop, *, local: bool) -> Proposing | None:
    """The other side, for a verb that decides: None where there is no forge to ask, or none is to be asked."""
    from skillopt_git import wiring
    from skillopt_git.loading import load
    from skillopt_git.proposing import Proposing
    from skillopt_git.remote import remote_name, the_remote
    from skillopt_git.reviewing import Review

    config = load(shop.repo.root)
    if local or (config.propose.remote or remote_name(shop.repo)) is None:
        return None
    try:
        forge = wiring.forge(config, shop.repo)
    except (UsageError, ForgeError):
        return None
    other = Review(config=config, remote=the_remote(shop.repo, config.propose.remote or None), forge=forge)
    return Proposing(shop=shop, config=config, review=other)


@contextmanager
def review(
    repo: Path, *, pr: bool, simulated: bool = False, allow_simulated: bool = False
) -> Iterator[tuple[Workshop, Review]]:
    """The repository and its memory at the remote's base, and its other side; with `pr` there has to be a forge."""
    from skillopt_git import wiring
    from skillopt_git.gitrepo import GitRepo
    from skillopt_git.loading import load
    from skillopt_git.remote import the_remote
    from skillopt_git.reviewing import Review
    from skillopt_git.workshop import open_workshop

    opened = GitRepo.open(repo)
    config = load(opened.root)
    wiring.refuse_disabled(config)
    shop = open_workshop(opened, config, now=now(), simulated=simulated)
    remote = the_remote(opened, config.propose.remote or None)
    forge, unasked = None, ""
    try:
        forge = wiring.forge(config, opened)
    except (UsageError, ForgeError) as error:
        if pr:
            raise
        unasked = error.message
    other = Review(config=config, remote=remote, forge=forge, simulated=allow_simulated, unasked=unasked)
    with shop.private.lock():
        if pr:
            other.refuse_public(shop)
        yield other.at_base(shop), other
