"""The nightly workflow as users get it, run by act against the rig: three nights, one with a model, one that fails."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import render
from skillopt_git.doors import PROBE
from skillopt_git.tasksfile import composed, file_text
from tests.helpers import Repository
from tests.modelserver import Asked as Call
from tests.modelserver import Given, Said, serving
from tests.reviewed import NEED, RULE, bank_task
from tests.rig.accounts import ALICE, ROBOT
from tests.rig.frontdoor import FrontDoor
from tests.rig.runner import Asked, Ran, Runner

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

NAME = "acme/api"
PULLS = f"/repos/{NAME}/pulls"
ROOT = Path(__file__).parent.parent
KEY = "sk-of-a-model-27b1"
SECOND, OTHER = "n1-0000000000000002", "Put the ticket number in branch names"
INTERPRETER = """#!/bin/sh
case "$*" in
  "-I -m venv --clear "*)
    mkdir -p "$5/bin"
    cp "$0" "$5/bin/python" ;;
  "-I -m pip "*) ;;
  *)
    shift
    PYTHONPATH="{root}" exec "{python}" -P "$@" ;;
esac
"""
PINNED = re.compile(r"acme/skillopt-git/actions/sleep@[0-9a-f]{40}")


@dataclass
class Nightly:
    """A repository with the workflow and a reviewed bank; its nights run on this machine."""

    hub: FrontDoor
    act: Runner
    clone: Repository

    def night(self, token: str = ROBOT.token) -> Ran:
        workflow = self.clone.path / ".github" / "workflows" / "skillopt.yml"
        secrets = {"GITHUB_TOKEN": token, "ANTHROPIC_API_KEY": KEY}
        asked = Asked(event="schedule", secrets=secrets)
        return self.act.run(workflow, self.hub.url, asked, longest=240)

    def share(self, need: str, rule: str, word: str, start: int) -> None:
        """A wish with tasks to learn from and held-out ones, reviewed, on the base."""
        tasks = [bank_task(number, need=need, word=word) for number in (*range(2), *range(start, start + 4))]
        text = file_text(composed(tasks, {need: rule}, reviewed=True))
        self.clone.commit(f"Share {need}", {f".skillopt/tasks/{need}.json": text})
        self.clone.git("push", "--quiet", "origin", "main")

    def pull(self, number: int = 1) -> Any:
        return self.hub.api(ALICE)("GET", f"{PULLS}/{number}").json


@pytest.fixture
def nightly(hub: FrontDoor, act: Runner, tmp_path: Path) -> Nightly:
    return set_up(hub, act, tmp_path, SKILLOPT_BACKEND="mock")


def set_up(hub: FrontDoor, act: Runner, tmp_path: Path, **variables: str) -> Nightly:
    """With these variables of the repository; act takes none by file."""
    clone = hub.clone(NAME, tmp_path / "clone", ALICE)
    text = PINNED.sub("./actions/sleep", render.workflow(repository="acme/skillopt-git", commit="0" * 40, version="1"))
    text = text.replace("command: propose\n", 'command: propose\n          allow-simulated: "true"\n')
    python = _interpreter(tmp_path / "python")
    text = re.sub(r"( +)command: \w+\n", rf"\g<0>\1python: {python}\n", text)
    text = re.sub(r"\$\{\{ vars\.(\w+) \}\}", lambda found: f"'{variables.get(found[1], '')}'", text)
    files: dict[str, str | bytes] = {".github/workflows/skillopt.yml": text}
    for path in (ROOT / "actions" / "sleep").iterdir():
        files[f"actions/sleep/{path.name}"] = path.read_text()
    clone.commit("Nightly", files)
    clone.git("push", "--quiet", "origin", "main")
    return Nightly(hub, act, clone)


def _interpreter(path: Path) -> Path:
    """A Python whose environments have the tool as this one has it: installing it takes another machine."""
    path.write_text(INTERPRETER.format(root=ROOT, python=sys.executable))
    path.chmod(0o755)
    return path


def test_three_nights_by_the_workflow(nightly: Nightly) -> None:
    """The first opens a pull request, the second adds to it, and what is closed then is remembered on the third."""
    nightly.share(NEED, RULE, "pnpm", 4)

    first = nightly.night()

    assert first.code == 0, first.lines[-60:]
    assert first.jobs == dict.fromkeys(("prepare", "learn", "propose"), "success")
    page = nightly.pull()
    assert (page["title"], page["state"]) == (f"[simulated] Learn: {RULE}", "open")
    assert page["user"]["login"] == ROBOT.login
    outputs = {name.rpartition(".")[2]: value for name, value in first.outputs.items()}
    assert (outputs["pull-request-number"], outputs["pull-request-operation"]) == ("1", "created")
    assert "A simulated night: 1 rule proposed" in first.summary

    nightly.share(SECOND, OTHER, "ACME-7", 10)
    second = nightly.night()

    assert second.code == 0, second.lines[-60:]
    page = nightly.pull()
    assert page["title"].endswith("(and 1 more)")
    assert RULE in page["body"]
    assert OTHER in page["body"]

    nightly.hub.api(ALICE)("POST", f"/repos/{NAME}/issues/1/comments", {"body": "We move to bun."})
    nightly.hub.api(ALICE)("PATCH", f"{PULLS}/1", {"state": "closed"})
    third = nightly.night()

    assert third.code == 0, third.lines[-60:]
    assert len(nightly.hub.api(ALICE)("GET", f"{PULLS}?state=all").json) == 1
    nightly.clone.git("fetch", "--quiet", "origin", "refs/skillopt/ledger:refs/skillopt/ledger")
    (path,) = nightly.clone.git("ls-tree", "-r", "--name-only", "refs/skillopt/ledger", "events/").split()
    events = [json.loads(line) for line in nightly.clone.git("show", f"refs/skillopt/ledger:{path}").splitlines()]
    refused = {item["text"]: item["reason"] for item in events if item["type"] == "rejected"}
    assert refused == dict.fromkeys((RULE, OTHER), "We move to bun.")
    for ran in (first, second, third):
        assert ran.leaks == []
        assert KEY not in "\n".join(ran.lines)


def obedient(call: Call) -> Given:
    """A target that keeps to what it is told, and an optimizer that words the wish."""
    if call.system:
        return Said(text=f"Ran {'pnpm' if RULE in call.system else 'npm'} install.")
    if call.user == PROBE:
        return Said(text="OK")
    return Said(text=json.dumps({"edits": [{"op": "add", "text": RULE, "reason": "It was asked for."}]}))


def test_a_night_with_a_model(hub: FrontDoor, act: Runner, tmp_path: Path) -> None:
    """Its key reaches the model's server and nothing else: no log, no file that a job hands on, no page."""
    with serving(obedient) as server:
        address = {"SKILLOPT_BASE_URL": server.url, "SKILLOPT_BUDGET_TOKENS": "1000000"}
        nightly = set_up(hub, act, tmp_path, SKILLOPT_BACKEND="anthropic", **address)
        nightly.share(NEED, RULE, "pnpm", 4)

        ran = nightly.night()

    assert ran.code == 0, ran.lines[-60:]
    assert {call.headers["authorization"] for call in server.asked} == {f"Bearer {KEY}"}
    assert {RULE in call.system for call in server.asked if call.system} == {True, False}
    page = nightly.pull()
    assert page["title"] == f"Learn: {RULE}"
    taken = {name.rpartition(".")[2]: value for name, value in ran.outputs.items() if name.startswith("learn.")}
    assert int(taken["tokens"]) > 0
    assert taken["cost-usd"] == ""  # a server on this machine has no price
    assert ran.leaks == []
    told = "\n".join((*ran.lines, ran.summary, json.dumps(page)))
    handed = [path for path in ran.artifacts.rglob("*") if path.is_file()]
    assert handed
    assert [path for path in handed if KEY.encode() in path.read_bytes()] == []
    assert KEY not in told


def test_a_wrong_token_fails_cleanly(nightly: Nightly) -> None:
    """Before a model is asked; the log says what is wrong, and not the token."""
    nightly.share(NEED, RULE, "pnpm", 4)

    ran = nightly.night("token-of-nobody-0000")

    assert ran.code != 0
    assert "learn" not in ran.jobs
    assert "propose" not in ran.jobs
    assert ran.leaks == []
    assert os.environ.get("GITHUB_TOKEN") is None
