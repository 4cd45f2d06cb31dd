"""How a decision is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_git.console import Console

if TYPE_CHECKING:
    from skillopt_git.decide import Done


def tell(done: Done, what: str, *, json: bool) -> None:
    console = Console()
    if json:
        edits = [
            {"id": edit.id, "rule": edit.rule, "target": edit.target, "text": edit.sentence} for edit in done.edits
        ]
        console.json({"v": 1, "branch": done.branch, "commit": done.commit, "edits": edits, "said": list(done.said)})
        return
    for edit in done.edits:
        console.out(f"{what}: {edit.sentence} ({edit.id}, {edit.target})")
    if done.commit:
        console.out(f"{done.branch} is at {done.commit[:12]}.")
    for sentence in done.said:
        console.out(sentence)
