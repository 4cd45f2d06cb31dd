"""Claude Code's transcripts: `<home>/projects/**/*.jsonl`, one session a file, read and never written.

Formats change from month to month and files are cut off or appended to at any time. So whatever cannot be read is
counted, with the reason, and the rest is read.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, pairwise
from pathlib import Path

from skillopt_git.config import Config
from skillopt_git.errors import ConfigError
from skillopt_git.model import Session, Skipped, Turn
from skillopt_git.sources.claude_records import Record, objects, record
from skillopt_git.sources.claude_tree import Tree, conversation, grow, written

NAME = "claude"


@dataclass(frozen=True, slots=True)
class ClaudeSource:
    root: Path

    @property
    def name(self) -> str:
        return NAME

    @property
    def home(self) -> str:
        return str(self.root)

    def sessions(self, since: datetime | None) -> Iterator[Session | Skipped]:
        """Each session, in the order of the files' names.

        One is left out as too old only if both its own times and its file's say so: copying a file makes it younger,
        and restoring one can make it older, than what it holds.
        """
        for found in sorted(_files(self.root), key=str):
            if isinstance(found, Skipped):
                yield found
            else:
                yield from _read(found, since)


def claude_home(flag: str, environ: Mapping[str, str]) -> Path:
    """The folder named by the flag, else by `CLAUDE_CONFIG_DIR`, else `~/.claude`. It need not be there (yet)."""
    return _expanded(Path(flag or environ.get("CLAUDE_CONFIG_DIR") or "~/.claude"), environ.get("HOME"))


def _expanded(path: Path, home: str | None) -> Path:
    if home and path.parts[:1] == ("~",):
        return Path(home, *path.parts[1:])
    try:
        found = path.expanduser()
    except RuntimeError as error:
        raise ConfigError(f"{path} names the home of nobody on this machine", "write the folder out") from error
    if "\0" in str(found):
        raise ConfigError("harvest.claude_home holds a NUL, which no folder's name can")
    return found


def make(config: Config, environ: Mapping[str, str]) -> ClaudeSource:
    return ClaudeSource(claude_home(config.harvest.claude_home, environ))


# --- finding files -----------------------------------------------------------------------------------------------


def _files(root: Path) -> Iterator[Path | Skipped]:
    """What is named like a transcript, each once, by whatever way inside `root` leads to it."""
    home, start = Path(os.path.realpath(root)), root / "projects"
    pending, seen = [start], set[Path]()
    while pending:
        path = pending.pop()
        real = Path(os.path.realpath(path))
        if real in seen:
            continue
        seen.add(real)
        if not real.is_relative_to(home):
            yield Skipped(str(path), "a link out of the folder")
        elif path.suffix == ".jsonl":
            yield path
        elif path == start or stat.S_ISDIR(_mode(path)):
            try:
                pending.extend(sorted(path.iterdir(), reverse=True))
            except OSError as error:
                yield Skipped(str(path), _why(path, error, "folder"))


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # a NUL is in no path
        return 0


def _why(path: Path, error: OSError, noun: str) -> str:
    if not isinstance(error, FileNotFoundError):
        return "unreadable"
    return "a dangling link" if path.is_symlink() else f"no such {noun}"


# --- reading a file ----------------------------------------------------------------------------------------------


def _read(path: Path, since: datetime | None) -> Iterator[Session | Skipped]:
    if path.name.startswith("agent-") or path.parent.name == "subagents":
        yield Skipped(str(path), "sub-agent")
        return
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):  # opening a pipe would wait for ever
            yield Skipped(str(path), "not a file")
            return
        records, bad = _records(path)
    except OSError as error:
        yield Skipped(str(path), _why(path, error, "file"))
        return
    yield from (Skipped(str(path), reason, count) for reason, count in bad.items())
    session = _session(path, records)
    if isinstance(session, Skipped) or not _is_old(session, info.st_mtime, since):
        yield session
    else:
        yield Skipped(str(path), "before the window")


def _records(path: Path) -> tuple[list[Record], Counter[str]]:
    """The records of a file, and how many pieces of it were none, by reason."""
    records: list[Record] = []
    bad: Counter[str] = Counter()
    with path.open("rb") as lines:  # bytes, because text would also break at U+2028
        for line in lines:
            for piece in objects(line):
                if isinstance(piece, str):
                    bad[piece if line.endswith(b"\n") else "cut off"] += 1
                else:
                    records.append(record(piece))
    nameless = sum(1 for item in records if item.type in ("user", "assistant") and not item.uuid)
    return records, bad + Counter({"a message without an id": nameless})


def _is_old(session: Session, changed: float, since: datetime | None) -> bool:
    if since is None or session.ended is None:
        return False
    return session.ended < since and changed < since.timestamp()


# --- making a session --------------------------------------------------------------------------------------------


def _session(path: Path, records: Sequence[Record]) -> Session | Skipped:
    if not records:
        return Skipped(str(path), "empty")
    if all(item.sidechain for item in records if item.uuid) and any(item.sidechain for item in records):
        return Skipped(str(path), "sub-agent")
    tree = grow(_without_notices(records))
    active, everything = conversation(tree), written(tree)
    turns = tuple(_turns(active))
    if all(turn.kind == "answer" for turn in turns):
        return Skipped(str(path), "no prompt")
    times = [item.time for item in records if item.time]
    return Session(
        id=_first(item.session for item in records) or path.stem,
        source=NAME,
        path=str(path),
        cwd=_first(item.cwd for item in everything),
        original_cwd=_first(item.original_cwd for item in records),
        branch=_first(item.branch for item in everything if item.branch != "HEAD"),
        started=min(times, default=None),
        ended=max(times, default=None),
        turns=turns,
        final=_first(item.text for item in reversed(active) if item.kind == "answer") or "",
        tools=tuple(call.name for item in everything for call in item.calls),
        skills=tuple(dict.fromkeys(_skills(tree, everything))),
        files=tuple(dict.fromkeys(_edited(everything))),
        headless={item.entrypoint for item in records if item.entrypoint} == {"sdk-cli"},
    )


def _first(values: Iterable[str]) -> str | None:
    return next((value for value in values if value), None)


def _without_notices(records: Sequence[Record]) -> list[Record]:
    """A version that names the source of prompts names it for all: what it left unnamed, nobody typed."""
    naming = {item.version for item in records if item.type == "user" and item.prompt_source} - {""}
    return [
        replace(item, kind=None)
        if item.kind == "prompt" and not item.prompt_source and item.version in naming
        else item
        for item in records
    ]


def _turns(active: Iterable[Record]) -> Iterator[Turn]:
    """What the user said, and between two such turns all that the assistant showed, as one."""
    said = [item for item in active if item.kind]
    for is_answer, run in groupby(said, key=lambda item: item.kind == "answer"):
        items = list(run)
        if is_answer:
            yield _turn(items[0], "\n\n".join(item.text for item in items))
        else:
            kept = [items[0], *(item for before, item in pairwise(items) if not _echoes(before, item))]
            yield from (_turn(item, item.text) for item in kept)


def _turn(item: Record, text: str) -> Turn:
    return Turn(id=item.uuid, kind=item.kind or "answer", text=text, time=item.time)


def _echoes(before: Record, item: Record) -> bool:
    """Some commands are written twice in a row: as the user's words, and as the system's note of them."""
    return item.kind == "command" and before.text == item.text and before.type != item.type


def _skills(tree: Tree, records: Iterable[Record]) -> Iterator[str]:
    """The model's own uses of skills, those it says it follows, and those called as a command."""
    for item in records:
        yield from (call.skill for call in item.calls if call.skill)
        if item.skill:
            yield item.skill
        parent = tree.records.get(tree.parents[item.uuid] or "")
        if item.skill_body and parent and parent.kind == "command":
            yield parent.text.split()[0].removeprefix("/")


def _edited(records: Sequence[Record]) -> Iterator[str]:
    done = {call for item in records for call in item.done}
    return (call.file for item in records for call in item.calls if call.file and call.id in done)
