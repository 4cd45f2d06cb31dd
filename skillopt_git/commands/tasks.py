"""`tasks`: look at the known tasks, write and review them, and share them on a branch."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt_git.commands.options import AsJson, Repo, settings, workshop
from skillopt_git.commands.tasks_shown import heard, page, record, row, waiting_record, waiting_row, worded
from skillopt_git.console import Console
from skillopt_git.errors import UsageError

if TYPE_CHECKING:
    from skillopt_git.model import Task
    from skillopt_git.notebook import Notebook
    from skillopt_git.recurrence import Seen
    from skillopt_git.taskbranch import Shared
    from skillopt_git.workshop import Workshop

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Name = Annotated[str, typer.Argument(help="A task's id, or the beginning of one.")]
Names = Annotated[list[str], typer.Argument(help="Ids of tasks, or the beginnings of some.")]


def _book(shop: Workshop) -> Notebook:
    """The tasks of the private and the shared bank."""
    from skillopt_git.notebook import Notebook  # here and below: what it needs would slow down every start
    from skillopt_git.tasksfile import shared_tasks

    book = Notebook(bank=shop.bank(), files=shared_tasks(shop.repo, shop.base.commit))
    for note in shop.private.notes:
        Console().note(note)
    return book


@contextmanager
def _writing(repo: Path) -> Iterator[tuple[Workshop, Notebook]]:
    """To change the bank: nobody else writes meanwhile."""
    shop = workshop(repo)
    with shop.private.lock():
        yield shop, _book(shop)


def _save(shop: Workshop, book: Notebook) -> None:
    shop.private.save("bank.json", book.bank)


# --- looking -----------------------------------------------------------------------------------------------------


@app.command("list")
def list_(
    need: Annotated[str | None, typer.Option(help="Only of this need: its id, or words of its rule.")] = None,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="What has not come up often enough to be learned.")
    ] = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """List the known tasks with split, origin, marks and rule."""
    shop = workshop(repo)
    book = _book(shop)
    wanted = frozenset(book.needs) if need is None else book.wanted(need)
    if waiting:
        _tell_waiting(
            _waiting(shop, book, settings(repo).mine.min_sessions), book, wanted, named=need is not None, json=json
        )
        return
    tasks = [task for task in book.tasks if need is None or wanted & set(task.needs)]
    console = Console()
    if json:
        console.json({"v": 1, "tasks": [record(task, book) for task in tasks]})
    elif not tasks:
        console.out("No tasks are known yet; `skillopt-git run` and `skillopt-git harvest` find them.")
    else:
        columns = ["task", "split", "origin", "marks", "ask", "rule"]
        console.table("", columns, [row(task, book) for task in tasks])


def _waiting(shop: Workshop, book: Notebook, least: int) -> tuple[Seen, ...]:
    from skillopt_git.recurrence import elsewhere, tally, waiting

    known = {*book.bank.dropped, *(task.id for task in book.tasks)}
    told = elsewhere(shop.everything().families.values(), known)
    counts = tally(book.tasks, book.sightings, told, machine=shop.private.machine())
    kept = {need for task in book.tasks if task.personal for need in task.needs}
    return waiting(book.needs, counts, book.bank.hints, min_sessions=least, replaced={*book.bank.replaced, *kept})


def _tell_waiting(found: Sequence[Seen], book: Notebook, wanted: frozenset[str], *, named: bool, json: bool) -> None:
    told = [pair for pair in worded(found, book, book.bank.hints) if pair[0].need in wanted or not named]
    console = Console()
    if json:
        console.json({"v": 1, "waiting": [waiting_record(item, rule) for item, rule in told]})
    elif told:
        columns = ["need", "rule", "sessions", "tasks", "first seen", "last seen"]
        console.table("", columns, [waiting_row(item, rule) for item, rule in told])
    else:
        console.out("Nothing waits to come up again.")


@app.command()
def show(name: Name, repo: Repo = Path(), json: AsJson = False) -> None:
    """Show one task with its checks, examples, and the turns it came from. For your eyes: it quotes your sessions."""
    book = _book(workshop(repo))
    task = book.named(name)
    console = Console()
    if json:
        console.json({"v": 1, **record(task, book), "sightings": heard(task, book)})
        return
    for line in page(task, book):
        console.out(line)


# --- writing -----------------------------------------------------------------------------------------------------


@app.command()
def add(
    ask: Annotated[str, typer.Option(help="What somebody would ask the agent for.")],
    rule: Annotated[str, typer.Option(help="What the answer has to keep to, as one imperative sentence.")],
    check: Annotated[
        list[str] | None,
        typer.Option(help="OP:ARG, such as `contains:pnpm`; may be repeated. Without one, from the rule's words."),
    ] = None,
    rubric: Annotated[str | None, typer.Option(help="How a reader would judge an answer.")] = None,
    golden: Annotated[bool, typer.Option("--golden", help="Whatever makes it worse is refused.")] = False,
    personal: Annotated[bool, typer.Option("--personal", help="It, and what it asks for, stays here.")] = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Write a task yourself."""
    from skillopt_git import wiring
    from skillopt_git.notebook import Draft, check_of

    checks = tuple(map(check_of, check or ()))
    draft = Draft(ask=ask, rule=rule, checks=checks, rubric=rubric, golden=golden, personal=personal)
    with _writing(repo) as (shop, book):
        book, task = book.with_written(draft, redact=shop.redact, reader=wiring.reader(settings(repo)))
        _save(shop, book)
    _tell_one(task, book, "Written", json=json)


def _tell_one(task: Task, book: Notebook, what: str, *, json: bool) -> None:
    console = Console()
    if json:
        console.json({"v": 1, **record(task, book)})
        return
    console.out(f"{what}: {task.id}")
    for line in page(task, book):
        console.out(f"  {line}")
    if task.golden and book.stays(task):
        console.note("a personal task is never replayed, so it cannot stand in anything's way")


@app.command()
def golden(
    name: Name,
    off: Annotated[bool, typer.Option("--off", help="It vetoes nothing any more.")] = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Let a task veto: a rule that makes it worse is refused, whatever else it helps."""
    with _writing(repo) as (shop, book):
        task = book.named(name)
        book = book.with_golden(task, not off)
        _save(shop, book)
    _tell_one(book.named(task.id), book, "No longer golden" if off else "Golden", json=json)


@app.command()
def drop(names: Names, repo: Repo = Path(), json: AsJson = False) -> None:
    """Put tasks out for good: they do not come back when their session is read again."""
    with _writing(repo) as (shop, book):
        gone = [book.named(name) for name in names if name not in book.bank.dropped]
        shared = {task.id for file in book.files for task in file.tasks} & {task.id for task in gone}
        _save(shop, book.without(gone))
    console = Console()
    if json:
        console.json({"v": 1, "dropped": [task.id for task in gone], "shared": sorted(shared)})
        return
    for task in gone:
        console.out(f"Dropped: {row(task, book)[4]} ({task.id})")
    if shared:
        console.out("What others share is ignored here; `skillopt-git tasks propose` takes it out of its file.")
    if not gone:
        console.out("They were dropped before.")


# --- reviewing ---------------------------------------------------------------------------------------------------


@app.command()
def review(
    names: Annotated[list[str] | None, typer.Argument(help="Only these; without any, all that wait for it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="You have read the named ones: do not ask.")] = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Confirm tasks that were found in sessions: each is shown in full, and you are asked about it."""
    book = _book(workshop(repo))
    chosen = [book.named(name) for name in names or ()] or [
        task for task in book.bank.tasks if not book.reviewed(task) and not book.stays(task)
    ]
    asking = not (names and yes)
    if asking and (yes or json or not sys.stdin.isatty()):
        raise UsageError(
            "nobody is there to be asked",
            "on a terminal `skillopt-git tasks review` shows each task; elsewhere name those you have read, with --yes",
        )
    console = Console()
    marked = list(_confirmed(console, repo, book, chosen, asking=asking))
    if json:
        console.json({"v": 1, "reviewed": [task.id for task in marked]})
    else:
        left = len(chosen) - len(marked)
        console.out(f"{len(marked)} reviewed, {left} left as they were." if chosen else "There is nothing to review.")


def _confirmed(console: Console, repo: Path, book: Notebook, chosen: Sequence[Task], *, asking: bool) -> Iterator[Task]:
    """Each is written down at once: who stops in the middle loses nothing."""
    for task in chosen:
        answer = _asked(console, task, book) if asking else "y"
        if answer == "q":
            return
        if answer == "y" and _mark(repo, task):
            console.note(f"{task.id} is reviewed")
            yield task
        elif answer == "y":
            console.note(f"{task.id} was changed meanwhile, and is not marked: look at it again")


def _asked(console: Console, task: Task, book: Notebook) -> str:
    console.out("")
    for line in page(task, book):
        console.out(line)
    while True:
        console.note("Is it right as it stands, and may others read it? y: yes; n: leave it; q: stop here")
        answer = sys.stdin.readline()
        if not answer or answer.strip().casefold() in ("y", "n", "q"):
            return answer.strip().casefold() or "q"


def _mark(repo: Path, shown: Task) -> bool:
    """Marks what was shown, and not what a run has made of it since."""
    with _writing(repo) as (shop, book):
        if shown not in book.tasks:
            return False
        _save(shop, book.with_reviewed(shown))
    return True


# --- handing on --------------------------------------------------------------------------------------------------


@app.command()
def export(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this new file.")] = None,
    reviewed: Annotated[bool, typer.Option("--reviewed", help="Only what a person reviewed.")] = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Print the tasks as a tasks file, as `run --tasks-file` takes it; personal ones stay out."""
    from skillopt_git.tasksfile import composed, file_text, texts

    shop = workshop(repo)
    book = _book(shop)
    tasks = [task for task in book.tasks if not book.stays(task) and (book.reviewed(task) or not reviewed)]
    file = composed(tasks, book.needs, reviewed=bool(tasks) and all(map(book.reviewed, tasks)))
    shop.ledger.scanner.refuse(texts(file, "the tasks file"))
    text = file_text(file)
    console = Console()
    if output is None:
        console.json(json_.loads(text))
        return
    _write_new(output, text)
    if json:
        console.json({"v": 1, "output": str(output), "tasks": len(tasks), "reviewed": file.reviewed})
    else:
        console.out(f"wrote {len(tasks)} tasks to {output}")


def _write_new(path: Path, text: str) -> None:
    """Never over a file: a reviewed one is somebody's work."""
    from skillopt_git.whole import write

    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} exists already", "name another file, or move it away")
    try:
        write(path, text.encode(), replace=False)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


@app.command()
def propose(repo: Repo = Path(), json: AsJson = False) -> None:
    """Put what you reviewed on a branch, to be merged into the shared bank like any other change."""
    from skillopt_git.config import zone
    from skillopt_git.taskbranch import Press
    from skillopt_git.waiting import held

    today = zone(settings(repo))
    with _writing(repo) as (shop, book):
        press = Press(
            repo=shop.repo,
            base=shop.base,
            author=shop.author,
            scanner=shop.ledger.scanner,
            now=shop.stamp.now,
            today=shop.stamp.now.astimezone(today).date(),
        )
        shared = press.propose(book)
        waits = held(shop.repo, shop.base) if shared.branch is None else ()
    said = [*_said(shared), *(f"{name} waits to be merged, or to be deleted." for name in waits), *_unreviewed(book)]
    console = Console()
    if json:
        console.json({"v": 1, **_shared_record(shared), "said": said})
    else:
        console.page(said)


def _said(shared: Shared) -> Iterator[str]:
    if shared.branch is None:
        yield "Nothing to share: the shared bank has all that is reviewed here."
        return
    parts = {"new": shared.sharing.new, "changed": shared.sharing.changed, "dropped": shared.sharing.dropped}
    told = ", ".join(f"{len(tasks)} {what}" for what, tasks in parts.items() if tasks)
    state = "is at" if shared.moved else "holds it all already, at"
    yield f"{shared.branch} {state} {(shared.commit or '')[:12]}: {told}."
    yield f"Merge it like any branch, or with `skillopt-git adopt {shared.branch}`."


def _unreviewed(book: Notebook) -> Iterator[str]:
    waiting = sum(not book.reviewed(task) and not book.stays(task) for task in book.bank.tasks)
    if waiting:
        tasks = "1 task is" if waiting == 1 else f"{waiting} tasks are"
        yield f"{tasks} not reviewed: `skillopt-git tasks review` shows each and asks."


def _shared_record(shared: Shared) -> dict[str, Any]:
    found = shared.sharing
    parts = {"new": found.new, "changed": found.changed, "dropped": found.dropped}
    ids = {what: [task.id for task in tasks] for what, tasks in parts.items()}
    return {"branch": shared.branch, "commit": shared.commit, "moved": shared.moved, **ids}
