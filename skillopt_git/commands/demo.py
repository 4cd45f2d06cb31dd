"""`demo`: a simulated night on sample sessions, in a throwaway repository."""

from __future__ import annotations

import json as json_
import uuid
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from skillopt_git.commands.options import AsJson, now
from skillopt_git.console import Console
from skillopt_git.errors import UsageError


def command(
    keep: Annotated[
        Path | None, typer.Option(help="Make the repository in this new folder, and leave it there.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Watch a simulated night in a throwaway repository."""
    from skillopt_git import nightly, present, render, roles  # what it needs would slow down every start
    from skillopt_git.commands.options import settings
    from skillopt_git.history import show
    from skillopt_git.workshop import open_workshop

    console = Console()
    with ExitStack() as stack:
        folder = _folder(keep, stack)
        sample = json_.loads(render.sample("demo/sessions.json"))
        repo = folder / "acme-shop"
        _repository(repo, sample["files"])
        write_sessions(folder / "claude", str(repo), sample["dialogues"], now())
        flags = {
            "replay.backend": "mock",
            "replay.mock_harmful": True,
            "harvest.claude_home": str(folder / "claude"),
            "harvest.source": "claude",
        }
        config = settings(repo, flags)
        model = roles.chosen_model(config)
        if not json:
            count = len(sample["dialogues"])
            console.out(f"A throwaway repository with {count} sample sessions. Its first night, simulated:\n")
        ran = nightly.run(repo, config, nightly.Options(), model=model, clock=now, notify=console.progress)
        if json:
            console.json(ran.record)
            return
        shop = open_workshop(repo, config, now=now())
        (proposal,) = shop.everything().open
        console.out(_verdicts(ran.record))
        console.out(f"\nThe branch {proposal.branch}:\n")
        for sha in reversed(ran.view.commits):
            console.out(f"  {sha[:9]} {show(shop.repo, sha).message.splitlines()[0]}")
        console.out("\nIts pull request:\n")
        view = present.proposal_view(proposal, shop.ledger.evidence, ledger_ref=shop.ledger.ref)
        console.out(f"# {render.pull_request_title(view)}\n")
        console.markdown(render.pull_request(view))
        console.out(_further(proposal.branch, repo if keep else None, ran.page))


def _folder(keep: Path | None, stack: ExitStack) -> Path:
    if keep is None:
        return Path(stack.enter_context(TemporaryDirectory(prefix="skillopt-demo-"))).resolve()
    try:
        keep.mkdir(parents=True)
    except FileExistsError as error:
        raise UsageError(f"{keep} exists already", "name a new folder") from error
    return keep.resolve()


def _repository(path: Path, files: dict[str, str]) -> None:
    from skillopt_git.gitrepo import GitRepo, Identity, execute  # what it needs would slow down every start

    path.mkdir()
    execute(path, "init", "--quiet", "--initial-branch=main")
    repo = GitRepo.open(path)
    changes = {name: ("100644", repo.write_blob(text.encode())) for name, text in files.items()}
    author = Identity("Alice Example", "alice@example.invalid")
    commit = repo.commit(parent=None, changes=changes, message="Start\n", author=author, when=now())
    repo.update_ref("refs/heads/main", commit, None, "start")
    execute(path, "reset", "--hard", "--quiet")  # fills the new work tree


def write_sessions(home: Path, cwd: str, dialogues: list[list[str]], until: datetime) -> None:
    """Sessions as Claude Code writes them, an hour apart, the last an hour before `until`."""
    folder = home / "projects" / "".join(char if char.isalnum() else "-" for char in cwd)
    folder.mkdir(parents=True, exist_ok=True)
    for number, turns in enumerate(dialogues):
        start = until - timedelta(hours=len(dialogues) - number)
        session = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{cwd}#{number}"))
        lines = [json_.dumps(record) for record in _records(session, cwd, turns, start)]
        (folder / f"{session}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _records(session: str, cwd: str, turns: list[str], start: datetime) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for number, text in enumerate(turns):
        time = start + timedelta(seconds=20 * number)
        record: dict[str, Any] = {
            "parentUuid": records[-1]["uuid"] if records else None,
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session}#{number}")),
            "isSidechain": False,
            "userType": "external",
            "entrypoint": "cli",
            "cwd": cwd,
            "sessionId": session,
            "version": "2.1.197",
            "gitBranch": "main",
            "timestamp": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        if number % 2 == 0:
            record |= {"type": "user", "promptSource": "typed", "message": {"role": "user", "content": text}}
        else:
            block = {"type": "text", "text": text}
            message = {"id": f"msg_{number}", "role": "assistant", "model": "sample", "content": [block]}
            record |= {"type": "assistant", "message": message}
        records.append(record)
    return records


def _verdicts(record: dict[str, Any]) -> str:
    told = [
        f"  {edit['verdict']:<12} {edit['text']} ({edit['target']})" for edit in record["edits"] + record["rejected"]
    ]
    return "What it tried, and what the gate found:\n\n" + "\n".join(told)


def _further(branch: str, repo: Path | None, page: Path | None) -> str:
    if repo is None:
        return (
            f"\nIn a repository of your own, `skillopt-git adopt {branch}` would now merge it, and\n"
            f'`skillopt-git reject {branch} --reason "..."` refuse it for good. The throwaway repository is gone;\n'
            "`skillopt-git demo --keep FOLDER` leaves one to play with."
        )
    return (
        f"\nAdopt it:   skillopt-git adopt {branch} --repo {repo}\n"
        f'Reject it:  skillopt-git reject {branch} --reason "..." --repo {repo}\n'
        f"Its report: {page}"
    )
