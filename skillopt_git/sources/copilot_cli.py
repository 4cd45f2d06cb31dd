"""Copilot CLI's transcripts: `<home>/session-state/<id>/events.jsonl`, one session a file, read and never written.

Older versions kept the same events in `session-state/<id>.jsonl` and `history-session-state/<id>.jsonl`. What else lies
beside them (checkpoints, copies of the user's files, databases, logs) is never opened.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt_git import dialogue
from skillopt_git.config import Config
from skillopt_git.folders import agent_home, walk
from skillopt_git.lines import clean, last_times, read, why
from skillopt_git.model import Session, Skipped, Turn
from skillopt_git.sources.copilot_cli_records import Said, Story, read_story
from skillopt_git.transcripts import NO_FOLDER, Span, Transcript

NAME = "copilot-cli"

_EVENTS = "events.jsonl"
_COMMAND = re.compile(r"/([A-Za-z][\w.:-]*)(\s.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CopilotCliSource:
    root: Path

    @property
    def name(self) -> str:
        return NAME

    @property
    def home(self) -> str:
        return str(self.root)

    def transcripts(self) -> Iterator[Transcript | Skipped]:
        for folder in (self.root / "session-state", self.root / "history-session-state"):
            for found in walk(self.root, folder, lambda name: name.endswith(".jsonl")):
                if not _is_missed(found, folder) and _belongs(found.path, str(folder)):
                    yield found if isinstance(found, Skipped) else Transcript((found,))

    def glance(self, transcript: Transcript) -> Span | None:
        return last_times(transcript)

    def read(self, transcript: Transcript) -> Iterator[Session | Skipped]:
        bad: Counter[str] = Counter()
        path = transcript.path
        try:
            story = read_story(read(transcript.files[0], bad), bad, _named(Path(path)))
        except OSError as error:
            yield Skipped(path, why(error))
            return
        yield from (Skipped(path, reason, count) for reason, count in bad.items())
        if story.events or not bad:
            yield _session(path, story)


def make(config: Config, environ: Mapping[str, str]) -> CopilotCliSource:
    home = agent_home(
        config.harvest.copilot_home,
        environ,
        setting="harvest.copilot_home",
        variable="COPILOT_HOME",
        default="~/.copilot",
    )
    return CopilotCliSource(home)


# --- finding files -----------------------------------------------------------------------------------------------


def _belongs(path: str, folder: str) -> bool:
    """Whether it is a transcript, or a folder with one: below a session's folder lie copies of the user's own files."""
    below = path.removeprefix(folder).strip(os.sep).split(os.sep)  # noqa: PTH206 - a tenth of the time of `Path`
    return len(below) < 2 or below[1:] == [_EVENTS]


def _is_missed(found: object, folder: Path) -> bool:
    """Today's versions have no folder of the older ones."""
    return folder.name.startswith("history") and found == Skipped(str(folder), NO_FOLDER)


# --- making a session --------------------------------------------------------------------------------------------


def _session(path: str, story: Story) -> Session | Skipped:
    if not story.events:
        return Skipped(path, "empty")
    turns = tuple(dialogue.turns(_typed(said, story.skills) for said in story.said))
    if all(turn.kind == "answer" for turn in turns):
        return Skipped(path, "no prompt")
    return Session(
        id=story.session or story.named,
        source=NAME,
        path=path,
        cwd=story.cwd or None,
        branch=story.branch or None,
        started=min(story.times, default=None),
        ended=max(story.times, default=None),
        turns=turns,
        final=next((said.text for said in reversed(story.said) if said.kind == "answer"), ""),
        tools=tuple(story.tools),
        skills=tuple(story.skills),
        files=tuple(story.files),
        headless=story.modes == {True},
    )


def _named(path: Path) -> str:
    return clean(path.parent.name if path.name == _EVENTS else path.stem)


def _typed(said: Said, skills: Iterable[str]) -> Turn:
    """A skill that the user calls is written as a prompt like any other: `/name`, maybe with more behind it."""
    command = said.kind == "prompt" and _COMMAND.fullmatch(said.text.strip())
    called = command and (not command[2] or command[1] in skills)
    return Turn(id=said.id, kind="command" if called else said.kind, text=said.text, time=said.time)
