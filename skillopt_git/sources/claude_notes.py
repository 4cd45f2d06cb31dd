"""What is kept of a transcript while its lines go by: little of each, since most say nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter, itemgetter

from skillopt_git.lines import instant
from skillopt_git.sources.claude_lines import Line, Outcome
from skillopt_git.sources.claude_records import TYPED, UNTYPED, Deed, Said, done, follows_a_skill, reply, said
from skillopt_git.sources.claude_tree import NOWHERE, Node, Place, Tree, grow

_USUAL = len("2026-11-29T17:09:55.065Z")
_TIMESTAMP = attrgetter("timestamp")
_LAST = itemgetter(-1)
_COPY = "api-request-blob"  # what was sent to the model, once more


@dataclass(slots=True)
class Notes:
    """Filled line by line. `session` and `original_cwd` are the first that were named, and empty if none was."""

    nodes: dict[str, Node] = field(default_factory=dict)
    said: dict[str, Said] = field(default_factory=dict)
    deeds: dict[str, tuple[Deed, ...]] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    unmet: set[str] = field(default_factory=set)  # parents that were named before they were there
    repeats: list[tuple[Node, Said]] = field(default_factory=list)  # what was said under an id that is taken
    place: Place = NOWHERE
    session: str = ""
    original_cwd: str = ""
    entrypoints: set[str] = field(default_factory=set)
    naming: set[str] = field(default_factory=set)  # versions that name the source of prompts
    times: set[str] = field(default_factory=set)  # of what is no node
    empty: bool = True
    sidechain: bool = False
    nameless: int = 0  # messages without an id
    unknown: int = 0  # messages in an unknown kind of record

    def add_outcome(self, found: Outcome) -> None:
        """A tool's result in the same place as the line before."""
        node = Node(found.parent, found.timestamp, self.place, reply=False)
        if found.uuid in self.nodes:
            self._repeat(node, None)
            return
        self._grow(found.uuid, node)
        if found.done:
            self.done.add(found.done)

    def add(self, line: Line, *, moved: bool) -> None:
        """`moved`: where it was written, and in which session, may not be what it was for the line before."""
        if moved:
            self._move(line)
        uuid = line.uuid or line.attachment.source_uuid
        if not uuid or line.is_sidechain:
            self._aside(uuid, line)
        elif line.type == "assistant":
            self._reply(uuid, line)
        else:
            self._add(uuid, line)

    def _move(self, line: Line) -> None:
        self.empty = False
        self.session = self.session or line.session_id
        self.entrypoints |= {line.entrypoint} - {""}
        if line.uuid:
            self.place = Place(line.cwd, line.git_branch)

    def _aside(self, uuid: str, line: Line) -> None:
        """No part of the conversation: a loose note, or what a sub-agent did."""
        self.times.add(line.timestamp)
        self.original_cwd = self.original_cwd or line.worktree_session.original_cwd
        self.sidechain = self.sidechain or line.is_sidechain
        if not uuid and line.message.content and line.type != _COPY:
            self.nameless += 1

    def _reply(self, uuid: str, line: Line) -> None:
        node = Node(line.parent_uuid, line.timestamp, self.place, reply=True)
        words, acts = reply(uuid, line)
        if uuid in self.nodes:
            self._repeat(node, words)
            return
        self._grow(uuid, node)
        if words:
            self.said[uuid] = words
        if acts:
            self.deeds[uuid] = acts

    def _add(self, uuid: str, line: Line) -> None:
        parent = line.parent_uuid
        if parent is None and line.subtype.endswith("compact_boundary"):
            parent = line.logical_parent_uuid
        node, words = Node(parent, line.timestamp, self.place, reply=False), said(uuid, line)
        if line.message.content:
            self._note(line)
        if uuid in self.nodes:
            self._repeat(node, words)
            return
        self._grow(uuid, node)
        if words:
            self.said[uuid] = words
        elif line.message.content:
            self._heard(uuid, line)

    def _heard(self, uuid: str, line: Line) -> None:
        """What the agent is told without anybody having said it."""
        self.done.update(done(line))
        if follows_a_skill(line):
            self.deeds[uuid] = (Deed(commanded=True),)

    def _note(self, line: Line) -> None:
        if line.type != "user" or line.prompt_source not in TYPED | UNTYPED | {""}:
            self.unknown += 1
        elif line.prompt_source:
            self.naming.add(line.version)

    def _grow(self, uuid: str, node: Node) -> None:
        if node.parent is not None and node.parent not in self.nodes:
            self.unmet.add(node.parent)
        self.nodes[uuid] = node

    def _repeat(self, node: Node, words: Said | None) -> None:
        self.times.add(node.timestamp)
        if words:
            self.repeats.append((node, words))

    # --- when all lines have gone by

    def tree(self) -> Tree:
        """An id that is there twice counts once, where it first stood; but who spoke goes before who did not."""
        said = {uuid: words for uuid, words in self.said.items() if not self._notice(words)}
        nodes, unmet = self.nodes.copy(), self.unmet.copy()
        for node, words in self.repeats:
            if words.uuid not in said and not self._notice(words):
                said[words.uuid], nodes[words.uuid] = words, node
                if node.parent is not None:
                    unmet.add(node.parent)  # wherever that stands
        return grow(nodes, said, unmet)

    def _notice(self, words: Said) -> bool:
        """A version that names the source of prompts names it for all: what it left unnamed, nobody typed."""
        return words.kind == "prompt" and not words.source and words.version != "" and words.version in self.naming

    def span(self) -> tuple[datetime | None, datetime | None]:
        """The first time and the last."""
        texts = {*map(_TIMESTAMP, self.nodes.values()), *self.times} - {""}
        if {*map(len, texts)} == {_USUAL} and {*map(_LAST, texts)} == {"Z"}:
            first, last = instant(min(texts)), instant(max(texts))  # in this form they sort as what they mean
            if first and last:
                return first, last
        times = [time for time in map(instant, texts) if time]
        return min(times, default=None), max(times, default=None)
