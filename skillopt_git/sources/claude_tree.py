"""Which records of a transcript make up the conversation as it stands, and in which order.

Records name their parent. The order of lines and of times is only nearly that of the conversation: a reply can be
written before the prompt it answers, and a prompt that waited carries the time it was typed. Rewinding leaves the
abandoned branch in the file, and nothing marks it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile

from skillopt_git.sources.claude_records import Record

_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Tree:
    """`records` by id, in the order of the file; `parents` by id, without gaps."""

    records: Mapping[str, Record]
    parents: Mapping[str, str | None]

    def upward(self, uuid: str | None) -> Iterator[str]:
        """`uuid` and its ancestors; a ring of parents ends where it closes."""
        seen: set[str] = set()
        while uuid is not None and uuid not in seen:
            seen.add(uuid)
            yield uuid
            uuid = self.parents[uuid]


def grow(records: Sequence[Record]) -> Tree:
    """The tree of the main thread. A record that is there twice counts once, where it first stood."""
    known: dict[str, Record] = {}
    for record in records:
        if record.uuid and not record.sidechain:
            here = known.setdefault(record.uuid, record)
            if here.kind is None and record.kind is not None:
                known[record.uuid] = record
    return Tree(known, dict(_linked(known)))


def _linked(known: Mapping[str, Record]) -> Iterator[tuple[str, str | None]]:
    """Each record's parent. Where that is lost (a bad line), the record before it in the file stands in."""
    before: str | None = None
    for uuid, record in known.items():
        yield uuid, record.parent if record.parent is None or record.parent in known else before
        before = uuid


def written(tree: Tree) -> list[Record]:
    """All records, abandoned ones too, in the order of the file but each after its ancestors."""
    order: dict[str, Record] = {}
    for uuid in tree.records:
        fresh = _until(order, tree.upward(uuid))
        order.update((step, tree.records[step]) for step in reversed(fresh))
    return list(order.values())


def conversation(tree: Tree) -> list[Record]:
    """The active branch from its start, with the prompts that were queued beside it."""
    path = list(tree.upward(_newest(tree)))[::-1]
    depth = {uuid: at for at, uuid in enumerate(path)}
    for record in _beside(tree, path):
        depth[record.uuid] = depth[tree.parents[record.uuid] or ""] + 1
    place = {uuid: at for at, uuid in enumerate(tree.records)}
    return [tree.records[uuid] for uuid in sorted(depth, key=lambda uuid: (depth[uuid], place[uuid]))]


def _newest(tree: Tree) -> str | None:
    """The record the conversation ends with: the newest that nothing follows."""
    followed = set(tree.parents.values())
    ends = [uuid for uuid in tree.records if uuid not in followed] or list(tree.records)
    return max(reversed(ends), key=lambda uuid: tree.records[uuid].time or _EARLIEST, default=None)


def _beside(tree: Tree, path: Sequence[str]) -> Iterator[Record]:
    """Prompts off the path that no reply hangs on, though they were part of it: typed while the agent worked.

    One that another prompt took the place of was taken back by its author.
    """
    depth = {uuid: at for at, uuid in enumerate(path)}
    answered = _answered(tree)
    for uuid, record in tree.records.items():
        parent = depth.get(tree.parents[uuid] or "")
        if record.kind == "prompt" and uuid not in depth and uuid not in answered and parent is not None:
            following = (tree.records[path[at]].kind for at in range(parent + 1, len(path)))
            if record.prompt_source == "queued" or next(filter(None, following), None) == "answer":
                yield record


def _answered(tree: Tree) -> set[str]:
    """Everything that a reply of the agent comes after."""
    found: set[str] = set()
    for uuid, record in tree.records.items():
        if record.type == "assistant":
            found.update(_until(found, tree.upward(uuid)))
    return found


def _until(known: Container[str], steps: Iterator[str]) -> list[str]:
    return list(takewhile(lambda step: step not in known, steps))
