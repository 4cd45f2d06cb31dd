"""Where the skills that sessions used are written: names, looked up at the base commit and never guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from skillopt_git import edits
from skillopt_git.errors import ConfigError, SafetyError
from skillopt_git.gitrepo import LINK, Entry, GitRepo
from skillopt_git.model import Document
from skillopt_git.targets import MOST_LINKS, document_entry, followed
from skillopt_git.used import NoHome

ROOTS = (".claude/skills", ".agents/skills", ".codex/skills", ".cursor/skills", ".devin/skills")
_NAME = re.compile(r"[^\W_](?:[\w.-]{0,62}\w)?")


@dataclass(frozen=True, slots=True)
class SkillHomes:
    """The skills below the usual folders and `more` ones of `commit`; each is looked up once."""

    repo: GitRepo
    commit: str
    more: tuple[str, ...] = ()
    _known: dict[str, Document | NoHome] = field(default_factory=dict)

    def __call__(self, name: str) -> Document | NoHome:
        """The one file that a skill's name stands for, or why there is none.

        The same file by links is one, and so is a file with copies that say the same: of these the first stands.
        """
        if name not in self._known:
            self._known[name] = self._found(name)
        return self._known[name]

    def _found(self, name: str) -> Document | NoHome:
        if not _NAME.fullmatch(name):
            return NoHome("a skill that sessions used has a name that no skill may have")
        entries: dict[str, Entry] = {}
        refused: list[str] = []
        for path in self._paths(name):
            try:
                entry = document_entry(self.repo, self.commit, self._straight(path))
            except (ConfigError, SafetyError) as error:
                refused.append(error.message)
                continue
            if entry is not None:
                entries[entry.path] = entry
        if refused:
            return NoHome(f"the skill '{name}' may not be taught: {refused[0]}")
        if len({entry.sha for entry in entries.values()}) > 1:
            return NoHome(f"the skill '{name}' is ambiguous: {' and '.join(entries)} say different things")
        if not entries:
            return NoHome(f"the skill '{name}' is not in this repository")
        entry = next(iter(entries.values()))
        try:
            return self._document(entry)
        except ConfigError as error:
            return NoHome(f"the skill '{name}' may not be taught: {entry.path}: {error.message}")

    def _paths(self, name: str) -> Iterator[str]:
        for root in dict.fromkeys((*ROOTS, *(root.rstrip("/") for root in self.more))):
            yield f"{root}/{name}/SKILL.md"

    def _straight(self, path: str) -> str:
        """The path with the links to folders above it followed. Raises `SafetyError` for one that leads outside."""
        for _ in range(MOST_LINKS):
            above = [path[:at] for at, char in enumerate(path) if char == "/"]
            links = [item for item in self.repo.entries(self.commit, above).values() if item.mode == LINK]
            if not links:
                break
            first = min(links, key=lambda item: len(item.path))
            path = followed(self.repo, first) + path[len(first.path) :]
        return path

    def _document(self, entry: Entry) -> Document:
        text = edits.decode(self.repo.blob(entry.sha))
        return Document(path=entry.path, kind="skill", text=text, blob=entry.sha, mode=entry.mode)
