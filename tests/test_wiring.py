"""From settings to documents, scopes and sources."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import roles, wiring, workshop
from skillopt_git.config import Config, Documents, Harvest, Replay
from skillopt_git.errors import ConfigError, SafetyError, UsageError
from skillopt_git.gitrepo import GitRepo
from skillopt_git.private import Private
from skillopt_git.redact import without_hex
from skillopt_git.targets import default_base
from skillopt_git.transcripts import Entry, FileState
from skillopt_git.workshop import open_workshop
from tests.helpers import Repository

SKILL = wiring.DEFAULT_SKILL


def teachable(repo: Repository, **documents: Any) -> wiring.Taught:
    opened = GitRepo.open(repo.path)
    source = documents.pop("source", "auto")
    config = Config(documents=Documents(**documents), harvest=Harvest(source=source))
    return wiring.teachable(config, opened, default_base(opened, ""))


def paths(taught: wiring.Taught) -> tuple[str | None, str | None]:
    both = taught.teachable.skill, taught.teachable.memory
    return tuple(item.path if item else None for item in both)  # type: ignore[return-value]


# --- secrets -----------------------------------------------------------------------------------------------------


def test_one_scanner_stands_at_every_door(repo: Repository) -> None:
    """What the settings deny is redacted on the way in and refused on the way out."""
    opened = GitRepo.open(repo.path)
    config = Config(harvest=Harvest(deny_words=("Globex",)))
    redact = open_workshop(repo.path, config, now=datetime.now(UTC)).redact

    assert redact.scanner == workshop.ledger(config, opened).scanner == workshop.scanner(config)
    assert without_hex(redact("for GLOBEX")) == without_hex(redact.text("for GLOBEX")) == "for [REDACTED:deny-word]"


# --- documents ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "source", "memory"),
    [
        ({}, "auto", "CLAUDE.md"),
        ({}, "claude", "CLAUDE.md"),
        ({}, "codex", "AGENTS.md"),
        ({"AGENTS.md": "x\n"}, "auto", "AGENTS.md"),
        ({"AGENTS.md": "x\n", "CLAUDE.md": "y\n"}, "codex", "CLAUDE.md"),
    ],
)
def test_the_memory_is_the_one_there_is_else_the_sources_own(
    repo: Repository, files: dict[str, str | bytes], source: str, memory: str
) -> None:
    """CLAUDE.md goes before AGENTS.md; without either the agent's habit decides."""
    repo.commit("Files", files)

    assert paths(teachable(repo, source=source)) == (SKILL, memory)


def test_a_link_is_taught_where_it_leads(repo: Repository) -> None:
    """CLAUDE.md is a link to AGENTS.md: the text is there, and so is the rule."""
    repo.write({"AGENTS.md": "# Agents\n"})
    (repo.path / "CLAUDE.md").symlink_to("AGENTS.md")
    repo.commit("Link", {})

    memory = teachable(repo).teachable.memory

    assert memory is not None
    assert (memory.path, memory.text) == ("AGENTS.md", "# Agents\n")


def lfs(repo: Repository) -> None:
    repo.commit("LFS", {"CLAUDE.md": "version https://git-lfs.github.com/spec/v1\n", SKILL: b"\xff\xfe"})


def away(repo: Repository) -> None:
    (repo.path / "CLAUDE.md").symlink_to("/etc/hostname")
    repo.commit("Away", {})


def folder(repo: Repository) -> None:
    repo.commit("Folder", {"elsewhere/x": "x"})
    (repo.path / ".claude").symlink_to("elsewhere")
    repo.commit("Folder link", {"CLAUDE.md/x": "x"})


@pytest.mark.parametrize("damage", [lfs, away, folder])
def test_what_cannot_be_taught_is_left_alone_unless_it_was_named(repo: Repository, damage: Any) -> None:
    """A usual document that is unfit is a note; one that was asked for is an error."""
    damage(repo)

    taught = teachable(repo)

    assert taught.teachable.memory is None
    assert any(note.startswith("CLAUDE.md is left alone: ") for note in taught.notes)
    with pytest.raises((ConfigError, SafetyError)):
        teachable(repo, memory="CLAUDE.md")
    if damage is not away:
        assert taught.teachable.skill is None
        with pytest.raises((ConfigError, SafetyError)):
            teachable(repo, skill=SKILL)


def test_documents_can_be_named_and_turned_off(repo: Repository) -> None:
    """With neither there is nothing to teach; a named skill also takes the general wishes."""
    assert paths(teachable(repo, memory="docs/AGENTS.md")) == (SKILL, "docs/AGENTS.md")
    assert paths(teachable(repo, evolve_skill=False)) == (None, "CLAUDE.md")
    assert paths(teachable(repo, evolve_memory=False)) == (SKILL, None)
    assert teachable(repo).teachable.general_to_memory
    assert not teachable(repo, skill="skills/acme/SKILL.md").teachable.general_to_memory
    with pytest.raises(ConfigError, match="nothing to teach"):
        teachable(repo, evolve_skill=False, evolve_memory=False)


@pytest.mark.parametrize("path", ["README.md", ".github/CLAUDE.md", "../CLAUDE.md", "/CLAUDE.md", "CLAUDE.md/"])
def test_a_memory_elsewhere_is_refused(repo: Repository, path: str) -> None:
    """Only files that agents read as such may be written."""
    with pytest.raises(SafetyError, match="may not be written"):
        teachable(repo, memory=path)


# --- scope and sources -------------------------------------------------------------------------------------------


def roots(repo: Repository, *scope: str, **harvest: Any) -> tuple[Path, ...] | None:
    config = Config(harvest=Harvest(scope=scope or ("repository",), **harvest))
    return wiring.scope(config, GitRepo.open(repo.path), ["/srv/earlier"]).roots


def test_a_scope_is_the_repository_everything_or_folders(repo: Repository, isolated: Path) -> None:
    """The repository with its work trees of now and before; `~` is the home, of a stranger it stays a word."""
    other = repo.path.parent / "other"
    repo.git("worktree", "add", "--quiet", "-b", "feature", str(other))

    assert roots(repo) == (repo.path, other, Path("/srv/earlier"))
    assert roots(repo, "invoked", roots=("~/sessions",))[-1] == isolated / "sessions"  # type: ignore[index]
    assert roots(repo, "all") is None
    assert roots(repo, "/srv/acme", "~") == (Path("/srv/acme"), isolated)
    for wrong in (("here",), ("all", "repository"), ("~nobody-of-that-name/x",)):
        with pytest.raises(ConfigError, match="has no meaning"):
            roots(repo, *wrong)


def test_names_are_looked_up_and_nothing_falls_back(repo: Repository) -> None:
    """An unknown one lists the known ones; a near one is suggested; none at all says what to do."""
    assert [source.name for source in wiring.sources(Config(), {"HOME": "/nowhere"})] == ["claude", "codex"]
    several = Config(harvest=Harvest(source="jsonl, auto,claude"))
    assert [source.name for source in wiring.sources(several, {"HOME": "/nowhere"})] == ["jsonl", "claude", "codex"]
    with pytest.raises(ConfigError, match="source 'kodex' is unknown") as caught:
        wiring.sources(Config(harvest=Harvest(source="kodex")), {})
    assert caught.value.hint == "did you mean 'codex'? known: claude, codex, copilot-cli, jsonl"
    with pytest.raises(ConfigError) as caught:
        roles.chosen_model(Config(replay=Replay(backend="mok")))
    assert caught.value.hint == f"did you mean 'mock'? known: {', '.join(sorted(roles.BACKENDS))}"
    with pytest.raises(UsageError, match="no backend is chosen"):
        roles.chosen_model(Config())


# --- the index ---------------------------------------------------------------------------------------------------


def test_an_index_ends_with_what_it_depends_on(repo: Repository) -> None:
    """Other denied words, another key: what was kept is not recalled."""
    private = Private(GitRepo.open(repo.path).private_dir())
    home, entry = ("claude", "/home/alice"), Entry(files=(FileState("/a", 1, 2, 3, 4),))
    plain, denying = Config(), Config(harvest=Harvest(deny_words=("acme",)))
    wiring.index(plain, private).keep(home, {"/a": entry})

    assert wiring.index(plain, private).recall(home) == {"/a": entry}
    assert wiring.index(denying, private).recall(home) == {}
    (private.folder / "key").unlink()
    assert wiring.index(plain, private).recall(home) == {}
