"""Claude Code's transcripts: `<home>/projects/**/*.jsonl`, one session a file, read and never written.

Formats change from month to month and files are cut off or appended to at any time. So whatever cannot be read is
counted, with the reason, and the rest is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from skillopt_git import dialogue, folders, lines
from skillopt_git.config import Config
from skillopt_git.lines import clean, instant
from skillopt_git.model import Session, Skipped, Turn
from skillopt_git.sources.claude_lines import NO_FACTS, facts, outcome, parsed
from skillopt_git.sources.claude_notes import Notes
from skillopt_git.sources.claude_records import Deed, Said
from skillopt_git.sources.claude_tree import Tree, conversation, written
from skillopt_git.transcripts import FileState, Span, Transcript

NAME = "claude"
_BULK = 4096  # bytes; reading a shorter line in full takes less time than a glance at it
_SUB_AGENT = re.compile(r"[/\\](?:agent-|subagents[/\\])[^/\\]*\Z")


@dataclass(frozen=True, slots=True)
class ClaudeSource:
    root: Path

    @property
    def name(self) -> str:
        return NAME

    @property
    def home(self) -> str:
        return str(self.root)

    def transcripts(self) -> Iterator[Transcript | Skipped]:
        for found in folders.walk(self.root, self.root / "projects", lambda name: name.endswith(".jsonl")):
            if isinstance(found, Skipped):
                yield found
            else:
                yield Skipped(found.path, "sub-agent") if _SUB_AGENT.search(found.path) else Transcript((found,))

    def glance(self, transcript: Transcript) -> Span | None:
        return lines.last_times(transcript)

    def read(self, transcript: Transcript) -> Iterator[Session | Skipped]:
        for file in transcript.files:
            yield from _read(file)


def make(config: Config, environ: Mapping[str, str]) -> ClaudeSource:
    home = folders.agent_home(
        config.harvest.claude_home,
        environ,
        setting="harvest.claude_home",
        variable="CLAUDE_CONFIG_DIR",
        default="~/.claude",
    )
    return ClaudeSource(home)


# --- reading a file ----------------------------------------------------------------------------------------------


def _read(file: FileState) -> Iterator[Session | Skipped]:
    bad: Counter[str] = Counter()
    try:
        notes = _notes(lines.read(file, bad), bad)
    except OSError as error:
        yield Skipped(file.path, lines.why(error))
        return
    bad += Counter({"a message without an id": notes.nameless, "an unknown kind of record": notes.unknown})
    yield from (Skipped(file.path, reason, count) for reason, count in bad.items())
    yield _session(PurePath(file.path), notes)


def _notes(found: Iterable[bytes], bad: Counter[str]) -> Notes:
    notes, known = Notes(), NO_FACTS
    for line in found:
        seen = outcome(line, known) if len(line) > _BULK else None
        if seen:
            notes.add_outcome(seen)
            continue
        moved = not line.endswith(known)
        for record in parsed(line, bad):
            notes.add(record, moved=moved)
            if moved and record.uuid:
                known = facts(line)
    return notes


# --- making a session --------------------------------------------------------------------------------------------


def _session(path: PurePath, notes: Notes) -> Session | Skipped:
    if notes.empty:
        return Skipped(str(path), "empty")
    if notes.sidechain and not notes.nodes:
        return Skipped(str(path), "sub-agent")
    tree = notes.tree()
    active, order = conversation(tree), written(tree)
    turns = tuple(dialogue.turns(map(_turn, _without_echoes(active))))
    if all(turn.kind == "answer" for turn in turns):
        return Skipped(str(path), "no prompt")
    started, ended = notes.span()
    acts = notes.deeds if tree.straight else {uuid: notes.deeds[uuid] for uuid in order if uuid in notes.deeds}
    return Session(
        id=clean(notes.session or path.stem),
        source=NAME,
        path=str(path),
        cwd=_first(tree.nodes[uuid].place.cwd for uuid in order),
        original_cwd=_first([notes.original_cwd]),
        branch=_first(place.branch for place in (tree.nodes[uuid].place for uuid in order) if place.branch != "HEAD"),
        started=started,
        ended=ended,
        turns=turns,
        final=_first(said.text for said in reversed(active) if said.kind == "answer") or "",
        tools=tuple(deed.tool for uuid in acts for deed in acts[uuid] if deed.tool),
        skills=tuple(dict.fromkeys(_skills(tree, acts))),
        files=tuple(dict.fromkeys(_edited(notes.done, acts))),
        headless=notes.entrypoints == {"sdk-cli"},
    )


def _first(values: Iterable[str]) -> str | None:
    return next((clean(value) for value in values if value), None)


def _without_echoes(active: Iterable[Said]) -> list[Said]:
    """Some commands are written twice in a row: as the user's words, and as the system's note of them."""
    kept: list[Said] = []
    for item in active:
        if not kept or not _echoes(kept[-1], item):
            kept.append(item)
    return kept


def _echoes(before: Said, item: Said) -> bool:
    return item.kind == "command" and before.kind != "answer" and before.text == item.text and before.type != item.type


def _turn(said: Said) -> Turn:
    return Turn(id=clean(said.uuid), kind=said.kind, text=said.text, time=instant(said.timestamp))


def _skills(tree: Tree, acts: Mapping[str, tuple[Deed, ...]]) -> Iterator[str]:
    """The model's own uses of skills, those it says it follows, and those called as a command."""
    for uuid, some in acts.items():
        above = tree.said.get(tree.nodes[uuid].parent or "")
        for deed in some:
            if deed.skill:
                yield deed.skill
            elif deed.commanded and above and above.kind == "command":
                yield above.text.split()[0].removeprefix("/")


def _edited(done: set[str], acts: Mapping[str, tuple[Deed, ...]]) -> Iterator[str]:
    return (deed.file for some in acts.values() for deed in some if deed.file and deed.call in done)
