"""`tasks`: look at the known tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.commands.options import AsJson, Repo, workshop
from skillopt_git.console import Console
from skillopt_git.errors import UsageError

if TYPE_CHECKING:
    from skillopt_git.model import Task

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def _known(repo: Path) -> tuple[list[Task], dict[str, str]]:
    """The tasks of the private and the shared bank, and the needs' rule texts."""
    from skillopt_git.wiring import shared_tasks  # what it needs would slow down every start

    shop = workshop(repo)
    bank = shop.private.bank()
    files = shared_tasks(shop.repo, shop.base)
    own = {task.id for task in bank.tasks}
    shared = [task for file in files for task in file.tasks if task.id not in own]
    needs = {**bank.needs, **{need: text for file in files for need, text in file.needs.items()}}
    return [*bank.tasks, *shared], needs


@app.command("list")
def list_(repo: Repo = Path(), json: AsJson = False) -> None:
    """List the known tasks with family, split and rule."""
    tasks, needs = _known(repo)
    console = Console()
    if json:
        console.json({"v": 1, "tasks": [_record(task, needs) for task in tasks]})
    elif not tasks:
        console.out("No tasks are known yet; `skillopt-git run` and `skillopt-git harvest` find them.")
    else:
        rows = [
            [
                task.id,
                task.split or "-",
                task.origin,
                _ask(task),
                "; ".join(needs.get(need, need) for need in task.needs),
            ]
            for task in tasks
        ]
        console.table("", ["task", "split", "origin", "ask", "rule"], rows)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A task's id, or the beginning of one.")],
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Show one task with its checks and examples."""
    tasks, needs = _known(repo)
    found = [task for task in tasks if task.id.startswith(name)]
    if len(found) != 1:
        known = ", ".join(task.id for task in tasks[:10]) or "none"
        raise UsageError(f"'{name}' names {'several tasks' if found else 'no known task'}", f"known: {known}")
    record = _record(found[0], needs)
    console = Console()
    if json:
        console.json({"v": 1, **record})
        return
    for key, value in record.items():
        if value not in (None, "", [], {}):
            console.out(f"{key}: {value}")


def _record(task: Task, needs: dict[str, str]) -> dict[str, Any]:
    from skillopt_git.schema import dump  # what it needs would slow down every start

    return {**dump(task), "rule": next((needs[need] for need in task.needs if need in needs), None)}


def _ask(task: Task) -> str:
    from skillopt_git.render import one_line  # what it needs would slow down every start

    return one_line(task.ask, 60)
