"""Nights against GitHub as far as it can be had here: git over HTTP, the API by its emulator, and the real door."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import nightly
from skillopt_git.errors import ForgeError
from skillopt_git.loading import load
from skillopt_git.nightly import Options, Ran
from tests.helpers import Repository
from tests.nights import PNPM, RULE, TICKET, obedient, sessions
from tests.rig.accounts import ALICE, READER, ROBOT
from tests.rig.frontdoor import FrontDoor
from tests.test_nightly_measured import choice

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

NAME = "acme/api"
PULLS = f"/repos/{NAME}/pulls"
WRITES = r"^(POST|PUT|PATCH|DELETE) /repos"
Night = Callable[..., Ran]


@pytest.fixture
def clone(hub: FrontDoor, tmp_path: Path) -> Repository:
    return hub.clone(NAME, tmp_path / "clone", ROBOT)


@pytest.fixture
def night(clone: Repository, home: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    began = datetime.now(UTC)
    count = iter(range(100))
    monkeypatch.setenv("SKILLOPT_GITHUB_TOKEN", ROBOT.token)

    def call(**flags: Any) -> Ran:
        config = load(clone.path, flags={"harvest.claude_home": str(home)} | flags)
        model, _ = choice(obedient)
        at = began + timedelta(days=next(count))
        options = Options(anew=True, pr=True)
        return nightly.run(clone.path, config, options, model=model, clock=lambda: at, notify=lambda _: None)

    return call


def test_three_nights(hub: FrontDoor, clone: Repository, home: Path, night: Night) -> None:
    """The first opens, the second adds a rule to it, and what is closed then is remembered on the third."""
    sessions(home, clone, PNPM)
    first = night()
    number = first.record["pull_request"]["number"]
    assert any("was opened with the workflow's own token" in note for note in first.record["notes"])
    page = hub.api(ALICE)("GET", f"{PULLS}/{number}").json
    assert (page["title"], page["draft"], page["head"]["ref"]) == (f"Learn: {RULE}", False, first.record["branch"])
    assert page["head"]["sha"] == clone.git("rev-parse", first.record["branch"]).strip()
    assert [label["name"] for label in page["labels"]] == ["skillopt"]

    sessions(home, clone, [*PNPM, *TICKET])
    second = night()
    assert second.record["pull_request"]["number"] == number
    page = hub.api(ALICE)("GET", f"{PULLS}/{number}").json
    assert page["title"] == f"Learn: {RULE} (and 1 more)"
    assert page["head"]["sha"] == clone.git("rev-parse", first.record["branch"]).strip()

    hub.api(ALICE)("POST", f"/repos/{NAME}/issues/{number}/comments", {"body": "We move to bun."})
    hub.api(ALICE)("PATCH", f"{PULLS}/{number}", {"state": "closed"})
    third = night()
    assert (third.record["pull_request"], third.record["edits"]) == (None, [])
    assert third.record["reason"] == "all_suppressed"
    assert {item["why"] for item in third.record["suppressed"]} >= {
        f"rejected before ({third.record['suppressed'][0]['id']}): We move to bun."
    }


def test_a_night_with_nothing_new_writes_nothing(hub: FrontDoor, clone: Repository, home: Path, night: Night) -> None:
    """Neither to the API nor to a branch; only the ledger gains a night."""
    sessions(home, clone, PNPM)
    night()
    before = len(hub.asked(WRITES))
    heads = clone.git("ls-remote", "--heads", "origin")

    night()

    assert len(hub.asked(WRITES)) == before
    assert clone.git("ls-remote", "--heads", "origin") == heads


def test_a_wrong_token_fails_before_anything_is_learned(
    hub: FrontDoor, clone: Repository, home: Path, night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions(home, clone, PNPM)
    monkeypatch.setenv("SKILLOPT_GITHUB_TOKEN", "token-of-nobody-0000")

    with pytest.raises(ForgeError) as caught:
        night()

    assert caught.value.kind == "auth"
    assert "token-of-nobody" not in f"{caught.value} {caught.value.hint}"
    assert clone.git("for-each-ref", "refs/heads/sleep") == ""


def test_who_may_only_read_gets_no_further_than_the_push(
    hub: FrontDoor, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The night is recorded, and says what was refused."""
    clone = hub.clone(NAME, tmp_path / "readers", READER)
    sessions(home, clone, PNPM)
    monkeypatch.setenv("SKILLOPT_GITHUB_TOKEN", READER.token)
    config = load(clone.path, flags={"harvest.claude_home": str(home)})
    model, _ = choice(obedient)
    now = datetime.now(UTC)

    ran = nightly.run(
        clone.path, config, Options(anew=True, pr=True), model=model, clock=lambda: now, notify=lambda _: None
    )

    assert ran.exit_code in (1, 75)
    assert any("may read but not write" in note or "was pushed" in note for note in ran.record["notes"])
    assert clone.git("for-each-ref", "refs/heads/sleep") != ""


def test_no_secret_is_kept_anywhere(
    hub: FrontDoor, clone: Repository, home: Path, night: Night, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither in what is recorded, nor in a page, nor in a log."""
    caplog.set_level(logging.DEBUG)
    sessions(home, clone, PNPM)

    ran = night()

    private = clone.path / ".git" / "skillopt"
    kept = b"".join(path.read_bytes() for path in private.rglob("*") if path.is_file())
    assert ROBOT.token.encode() not in kept
    assert ROBOT.token not in json.dumps(ran.record) + ran.report + caplog.text
    assert ROBOT.token not in clone.git("log", "--all", "--format=%B", "refs/skillopt/ledger")
