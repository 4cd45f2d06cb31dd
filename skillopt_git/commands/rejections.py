"""`rejections`: look at what was refused, or allow it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.commands.options import AsJson, Repo, deciding, workshop
from skillopt_git.console import Console

if TYPE_CHECKING:
    from skillopt_git.recall import Negative

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Name = Annotated[str, typer.Argument(help="An edit or rule id.")]


def _record(item: Negative, **more: Any) -> dict[str, Any]:
    event = item.event
    return more | {
        "edit": event.edit,
        "rule": event.rule,
        "target": event.target,
        "text": item.text,
        "need": item.need,
        "type": event.type,
        "reason": event.reason,
        "ts": event.ts,
    }


@app.command("list")
def list_(repo: Repo = Path(), json: AsJson = False) -> None:
    """List what was rejected or unlearned and still counts."""
    console = Console()
    found = workshop(repo).everything().negatives
    if json:
        console.json({"v": 1, "rejections": [_record(item) for item in found]})
    elif found:
        rows = [
            [item.event.edit or "", item.event.type, item.text, item.event.reason or "", item.event.ts[:10]]
            for item in found
        ]
        console.table("", ["edit", "what", "rule", "reason", "when"], rows)
    else:
        console.out("Nothing is rejected.")


@app.command()
def show(name: Name, repo: Repo = Path(), json: AsJson = False) -> None:
    """Show one rejection: the change, what it holds back, since when and why."""
    from skillopt_git.anchors import change  # here and below: what they need would slow down every start
    from skillopt_git.decide import rejected

    console = Console()
    shop = workshop(repo)
    found = rejected(shop.everything(), name)
    changes = [change(shop.repo, str(item.event.data.get("branch")), item.event.edit or "") for item in found]
    if json:
        records = [_record(item, diff=diff) for item, diff in zip(found, changes, strict=True)]
        console.json({"v": 1, "rejections": records})
        return
    for item, diff in zip(found, changes, strict=True):
        where = f"in {item.event.target}" if item.event.reason == "wrong-place" else "in every document"
        console.out(f"{item.text}\n  {item.event.type} on {item.event.ts[:10]} ({item.event.edit}, {item.event.rule})")
        console.out(f"  reason: {item.event.reason or 'none given'}")
        console.out(f"  holds back the sentence, near-duplicates and other wordings of its need {where}")
        console.out(f"  `skillopt-git rejections undo {item.event.edit}` allows it again")
        console.out(f"\n{diff}" if diff else "  the change itself is not in this clone")


@app.command()
def undo(name: Name, repo: Repo = Path(), json: AsJson = False) -> None:
    """Allow a rejected or unlearned rule to be proposed again."""
    from skillopt_git import decide  # what it needs would slow down every start

    with deciding(repo) as shop:
        found = decide.allow_again(shop.desk(), name)
    console = Console()
    if json:
        console.json({"v": 1, "undone": [_record(item) for item in found]})
    else:
        for item in found:
            console.out(f"Allowed again: {item.text}")
