"""How tasks and needs are told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from skillopt_git.commands.options import instant

if TYPE_CHECKING:
    from skillopt_git.model import Hint, Sighting, Task
    from skillopt_git.notebook import Notebook
    from skillopt_git.recurrence import Seen


INDENT = "\n    "


def record(task: Task, book: Notebook) -> dict[str, Any]:
    """The task with its rule, and whether a person confirmed it or shared it."""
    from skillopt_git.schema import dump  # here and below: what it needs would slow down every start

    return {
        **dump(task),
        "rule": book.rule(task),
        "reviewed": book.reviewed(task),
        "shared": any(task.id == other.id for file in book.files for other in file.tasks),
    }


def heard(task: Task, book: Notebook) -> list[dict[str, Any]]:
    """The turns that found its answers wrong; they are known on this machine alone."""
    return [
        {"need": item.need, "quote": item.quote, "rule": item.rule, "session": item.session, "time": instant(item.time)}
        for item in book.bank.sightings
        if item.task == task.id
    ]


def row(task: Task, book: Notebook) -> list[str]:
    from skillopt_git.render import one_line

    rules = _rules(task, book) or "-"
    return [task.id, task.split or "-", task.origin, marks(task, book) or "-", one_line(task.ask, 60), rules]


def _rules(task: Task, book: Notebook) -> str:
    needs = book.needs
    replaced = book.bank.replaced
    return "; ".join(f"{needs.get(need, need)}{' (replaced)' if need in replaced else ''}" for need in task.needs)


def marks(task: Task, book: Notebook) -> str:
    given = {"golden": task.golden, "personal": task.personal, "reviewed": book.reviewed(task)}
    return ", ".join(mark for mark, holds in given.items() if holds)


def page(task: Task, book: Notebook) -> Iterator[str]:
    """All there is to a task, line by line."""
    from skillopt_git.checks import explain

    told: dict[str, str | None] = {
        "task": task.id,
        "marks": marks(task, book),
        "ask": task.ask,
        "after": task.context,
        "rule": _rules(task, book),
        "an answer passes when it": ", and it ".join(explain(check) for check in task.checks),
        "rubric": task.rubric,
        "reference": task.reference,
        "an answer that passes": task.examples.pass_,
        "an answer that fails": task.examples.fail,
        "family": task.family,
        "split": task.split,
        "origin": task.origin,
        "branch": task.branch,
        "skills": ", ".join(task.skills),
        "sessions": ", ".join(task.sessions),
    }
    # What goes on in a next line is set in, lest a text look like more of the list.
    yield from (f"{name}: {INDENT.join(value.splitlines())}" for name, value in told.items() if value)
    for item in heard(task, book):
        when = (item["time"] or "at an unknown time")[:10]
        yield f'said {when} in {item["session"]}: "{item["quote"]}"'


# --- what waits --------------------------------------------------------------------------------------------------


def waiting_record(item: Seen, rule: str | None) -> dict[str, Any]:
    return {
        "need": item.need or None,
        "rule": rule,
        "sessions": item.sessions,
        "tasks": item.tasks,
        "machines": item.machines,
        "first": instant(item.first),
        "last": instant(item.last),
    }


def waiting_row(item: Seen, rule: str | None) -> list[str]:
    days = item.days or ("-",)
    return [item.need or "-", rule or "-", str(item.sessions), str(item.tasks), days[0], days[-1]]


def worded(found: Sequence[Seen], book: Notebook, hints: Sequence[Hint]) -> list[tuple[Seen, str | None]]:
    """With the rule of each. Hints have no need yet; they come last, in their own order."""
    said: Iterator[Sighting] = (hint.sighting for hint in hints)
    return [(item, book.needs.get(item.need) if item.need else next(said).rule) for item in found]
