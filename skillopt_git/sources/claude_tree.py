"""Which records of a transcript make up the conversation as it stands, and in which order.

Records name their parent. The order of lines and of times is only nearly that of the conversation: a reply can be
written before the prompt it answers, and a prompt that waited carries the time it was typed. Rewinding leaves the
abandoned branch in the file, and nothing marks it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import NamedTuple

from skillopt_git.lines import instant
from skillopt_git.packed import Shape
from skillopt_git.sources.claude_records import Said

_PARENT = attrgetter("parent")
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class Place(NamedTuple):
    cwd: str
    branch: str


NOWHERE = Place("", "")


class Node(Shape, frozen=True):
    """A record, whatever it holds. `parent` is None for the start of a conversation; `reply`: the agent wrote it."""

    parent: str | None
    timestamp: str
    place: Place
    reply: bool


@dataclass(frozen=True, slots=True)
class Tree:
    """The records of the main thread by id, in the order of the file; of those that say something, what they say.

    Every parent is a node. `straight`: each stands behind its parent in the file.
    """

    nodes: Mapping[str, Node]
    said: Mapping[str, Said]
    straight: bool

    def upward(self, uuid: str | None, until: Container[str] = ()) -> list[str]:
        """`uuid` and its ancestors below those in `until`; a ring of parents ends where it closes."""
        steps: dict[str, None] = {}
        while uuid is not None and uuid not in steps and uuid not in until:
            steps[uuid] = None
            uuid = self.nodes[uuid].parent
        return list(steps)


def grow(nodes: Mapping[str, Node], said: Mapping[str, Said], unmet: Iterable[str]) -> Tree:
    """`unmet` are the parents that were named before they were there, if they are there at all."""
    lost = {uuid for uuid in unmet if uuid not in nodes}
    straight = len(lost) == len(set(unmet))
    return Tree(dict(_linked(nodes, lost)) if lost else nodes, said, straight)


def _linked(nodes: Mapping[str, Node], lost: Container[str]) -> Iterator[tuple[str, Node]]:
    """Where a parent is lost (a bad line), the record before it in the file stands in."""
    before: str | None = None
    for uuid, node in nodes.items():
        yield uuid, Node(before, node.timestamp, node.place, node.reply) if node.parent in lost else node
        before = uuid


def written(tree: Tree) -> Iterable[str]:
    """All records, abandoned ones too, in the order of the file but each after its ancestors."""
    if tree.straight:
        return tree.nodes
    order: dict[str, None] = {}
    for uuid in tree.nodes:
        order.update(dict.fromkeys(reversed(tree.upward(uuid, until=order))))
    return order


def conversation(tree: Tree) -> list[Said]:
    """What was said on the active branch from its start, with the prompts that were queued beside it."""
    path = tree.upward(_newest(tree))[::-1]
    steps = frozenset(path)
    aside = [said for uuid, said in tree.said.items() if said.kind == "prompt" and uuid not in steps]
    if not aside:
        return [tree.said[uuid] for uuid in path if uuid in tree.said]
    return _together(tree, path, aside)


def _newest(tree: Tree) -> str | None:
    """The record the conversation ends with: the newest that nothing follows."""
    followed = {*map(_PARENT, tree.nodes.values())}
    ends = [uuid for uuid in tree.nodes if uuid not in followed] or list(tree.nodes)
    return max(reversed(ends), key=lambda uuid: instant(tree.nodes[uuid].timestamp) or _EARLIEST, default=None)


def _together(tree: Tree, path: Sequence[str], aside: Iterable[Said]) -> list[Said]:
    depth = {uuid: at for at, uuid in enumerate(path)}
    beside = {said.uuid: depth[tree.nodes[said.uuid].parent or ""] + 1 for said in _beside(tree, path, depth, aside)}
    depth |= beside
    place = {uuid: at for at, uuid in enumerate(tree.nodes)}
    return [tree.said[uuid] for uuid in sorted(depth, key=lambda at: (depth[at], place[at])) if uuid in tree.said]


def _beside(tree: Tree, path: Sequence[str], depth: Mapping[str, int], aside: Iterable[Said]) -> Iterator[Said]:
    """Prompts off the path that no reply hangs on, though they were part of it: typed while the agent worked.

    One that another prompt took the place of was taken back by its author.
    """
    answered = _answered(tree)
    for said in aside:
        parent = depth.get(tree.nodes[said.uuid].parent or "")
        if said.uuid not in answered and parent is not None:
            following = (tree.said[path[at]].kind for at in range(parent + 1, len(path)) if path[at] in tree.said)
            if said.source == "queued" or next(following, None) == "answer":
                yield said


def _answered(tree: Tree) -> set[str]:
    """Everything that a reply of the agent comes after."""
    found: set[str] = set()
    for uuid, node in tree.nodes.items():
        if node.reply:
            found.update(tree.upward(uuid, until=found))
    return found
