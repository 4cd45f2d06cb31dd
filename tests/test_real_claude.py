"""The real `claude` against a model server on this machine: what it sends, what it keeps, and a night through it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import cli
from skillopt_git.backends import claude
from skillopt_git.cleaning import REPLAY_FOLDER
from skillopt_git.config import Replay
from skillopt_git.doors import Asked, probe
from skillopt_git.ports import CallFailed, Reply, Request
from tests import modelserver
from tests.helpers import Repository
from tests.modelserver import Broken, ModelServer, Said, error, saying, serving
from tests.nights import PNPM, RULE, Run, sessions, taught

KEY = "sk-ant-test-0123456789abcdef"
NOWHERE = "http://127.0.0.1:9"  # a proxy that is not there: another machine cannot be reached


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving() as running:
        yield running


@dataclass(frozen=True)
class Place:
    """Where the program runs in a test: its server, its home, and a project in which the folder for temporary files
    lies."""

    client: Path
    server: ModelServer
    home: Path
    project: Path

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": f"{self.client.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "HTTPS_PROXY": NOWHERE,
            "NO_PROXY": "127.0.0.1",
            "ANTHROPIC_API_KEY": KEY,
        }

    def door(self, **replay: Any) -> claude.ClaudeCode:
        asked = Asked(
            role="target",
            model="",
            base_url=self.server.url,
            key_env="",
            replay=Replay(**{"timeout": 20.0, "retries": 0} | replay),
            environ=self.environ | {name: os.environ[name] for name in ("CLAUDE_CONFIG_DIR",) if name in os.environ},
            state=self.home,
            redact=str,
        )
        backend = claude.door(asked).backend
        assert isinstance(backend, claude.ClaudeCode)
        return backend

    def ask(self, ask: str, *, rule: str = "- Use pnpm, not npm\n", **replay: Any) -> Reply | CallFailed:
        request = Request(role="target", purpose="rollout", ask=ask, documents=(("CLAUDE.md", rule),))
        (found,) = self.door(**replay).complete([request])
        return found

    def person(self, prompt: str, folder: Path, *words: str, **environ: str) -> None:
        """`claude -p` as people run it, with all that is theirs."""
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ANTHROPIC_BASE_URL": self.server.url}
        out = folder.parent / "said.txt"
        with out.open("wb") as said:
            subprocess.run(
                [str(self.client), "-p", *words],
                cwd=folder,
                env=self.environ | quiet | environ,
                input=prompt.encode(),
                stdout=said,
                stderr=subprocess.STDOUT,
                timeout=60,
                check=False,
            )
        assert "Error" not in out.read_text(), out.read_text()


@pytest.fixture
def place(
    claude_client: Path, server: ModelServer, isolated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Place:
    project = Repository.create(tmp_path / "acme-web", {"README.md": "# acme-web\n"}).path
    (project / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(project / "tmp"))
    return Place(claude_client, server, isolated, project)


# --- what it sends -----------------------------------------------------------------------------------------------


def hook(mark: str, ran: Path) -> dict[str, Any]:
    command = {"type": "command", "command": f"echo {mark}; echo {mark} >> '{ran}'"}
    return {"hooks": {event: [{"hooks": [command]}] for event in ("SessionStart", "UserPromptSubmit")}}


def furnish(place: Place, ran: Path) -> None:
    """A home and a project full of what is the user's own; each piece holds a word of its own, MARK-... ."""
    server = {"mcpServers": {"notes": {"command": "sh", "args": ["-c", f"echo MARK-mcp >> '{ran}'"]}}}
    skill = "---\nname: {0}\ndescription: MARK-{0}\n---\nMARK-{0}\n"
    mine = {
        "CLAUDE.md": "MARK-user-memory",
        "rules/style.md": "MARK-user-rule",
        "skills/user-skill/SKILL.md": skill.format("user-skill"),
        "commands/user-command.md": "---\ndescription: MARK-user-command\n---\nMARK-user-command\n",
        "agents/user-agent.md": "---\nname: user-agent\ndescription: MARK-user-agent\n---\nMARK-user-agent\n",
        "settings.json": json.dumps(hook("MARK-user-hook", ran)),
    }
    theirs = {
        "CLAUDE.md": "MARK-project-memory",
        "CLAUDE.local.md": "MARK-local-memory",
        "AGENTS.md": "MARK-agents-file",
        ".claude/CLAUDE.md": "MARK-inner-memory",
        ".claude/settings.json": json.dumps(hook("MARK-project-hook", ran)),
        ".claude/settings.local.json": json.dumps(hook("MARK-local-hook", ran)),
        ".claude/skills/project-skill/SKILL.md": skill.format("project-skill"),
        ".mcp.json": json.dumps(server),
    }
    Repository(place.home / ".claude").write(mine)
    Repository(place.project).write(theirs)
    Repository(place.project.parent).write({"CLAUDE.md": "MARK-parent-memory"})
    (place.home / ".claude.json").write_text(json.dumps(server))


def test_the_documents_reach_the_model_and_nothing_of_the_users_own_does(place: Place, tmp_path: Path) -> None:
    """Neither from the home, nor from the project around the folder for temporary files; no hook and no server runs."""
    ran = tmp_path / "ran"
    furnish(place, ran)

    found = place.ask("Add lodash")

    assert isinstance(found, Reply), found
    (asked,) = place.server.asked
    assert "- Use pnpm, not npm" in asked.system
    assert modelserver.words(asked.body["messages"][0]["content"]).endswith("Add lodash")
    assert "MARK" not in asked.text
    assert (asked.body["tools"], asked.body["max_tokens"]) == ([], 1024 + claude.THINKING)
    assert len(asked.text) < 6_000
    assert not ran.exists()
    assert not list((place.home / ".claude").glob("projects/**/*.jsonl"))


def test_what_is_shut_out_would_be_sent_otherwise(place: Place, tmp_path: Path) -> None:
    """The same home and project, and the program as people run it: so the test above can fail."""
    ran = tmp_path / "ran"
    furnish(place, ran)
    place.person("hello", place.project)

    sent = "\n".join(asked.text for asked in place.server.asked)
    memory = ("user-memory", "user-rule", "project-memory", "local-memory", "inner-memory", "parent-memory")
    others = ("user-skill", "user-agent", "project-skill", "user-hook", "project-hook", "local-hook")
    assert [name for name in (*memory, *others) if f"MARK-{name}" not in sent] == []
    assert {"MARK-user-hook", "MARK-project-hook", "MARK-mcp"} <= set(ran.read_text().split())


def test_a_file_that_a_prompt_names_is_not_read(place: Place, tmp_path: Path) -> None:
    """With an @ before it, the program would read it and send it along."""
    secret = tmp_path / "notes.txt"
    secret.write_text("MARK-of-the-file")

    place.person(f"Look at @{secret} please", place.project)
    assert "MARK-of-the-file" in place.server.asked[-1].text
    assert isinstance(place.ask(f"Look at @{secret} please"), Reply)
    assert "MARK-of-the-file" not in place.server.asked[-1].text


def test_a_prompt_is_never_a_command(place: Place) -> None:
    """It goes to the model as it is."""
    for number, ask in enumerate(("/cost", "!ls"), 1):
        found = place.ask(ask)
        assert isinstance(found, Reply), found
        assert len(place.server.asked) == number
        assert modelserver.words(place.server.asked[-1].body["messages"][0]["content"]).endswith(ask)


def test_long_documents_and_answers_arrive_whole(place: Place) -> None:
    """Longer than an argument may be, and than a pipe holds."""
    place.server.script = saying("word " * 60_000)
    found = place.ask("Add lodash", rule="- Use pnpm, not npm\n" * 20_000)
    assert isinstance(found, Reply), found
    assert len(found.text) == 300_000
    assert place.server.asked[0].system.count("Use pnpm") == 20_000
    assert found.usage.output_tokens == 75_000


def test_the_key_is_sent_and_the_version_is_known(place: Place) -> None:
    """The probe, as a night begins with it."""
    backend = place.door()
    assert probe(backend, "optimizer", "x") is None
    (asked,) = place.server.asked
    assert (asked.headers["x-api-key"], asked.path) == (KEY, "/v1/messages")
    locked = json.loads((place.client.parent.parent.parent / "package.json").read_text())["dependencies"]
    assert backend.settings == {"client": locked["@anthropic-ai/claude-code"]}


# --- how it fails ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (error(401, "authentication_error", "invalid x-api-key"), "auth"),
        (error(404, "not_found_error", "model: claude-none"), "process"),
        (error(429, "rate_limit_error", "too many", {"retry-after": "0"}), "rate"),
        (error(400, "invalid_request_error", "Your credit balance is too low to access the API"), "quota"),
        (error(400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum"), "refused"),
        (Broken("reset"), "network"),
        (Broken("half"), "network"),
        (Said(text="", stop="refusal"), "refused"),
        (Said(text=""), "empty"),
        (Said(text="half an ans", stop="max_tokens"), "truncated"),
        (Said(tools=(("Bash", {"command": "ls"}),)), "empty"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_failure_is_told_by_its_kind(place: Place, given: modelserver.Given, kind: str) -> None:
    """The real words of the real program, without the key."""
    place.server.script = saying(given)
    found = place.ask("Add lodash")
    assert isinstance(found, CallFailed), found
    assert found.kind == kind, found
    assert KEY not in found.message


def test_the_second_half_of_an_answer_is_no_answer(place: Place) -> None:
    """The program has the model go on by itself, and tells the rest alone."""
    place.server.script = saying(Said(text="Ran npm", stop="max_tokens"), "Ran pnpm")
    found = place.ask("Add lodash")
    assert isinstance(found, CallFailed)
    assert found.kind == "truncated"


def test_a_server_that_is_silent(place: Place) -> None:
    """The program gives up by itself, after the time that a call may take."""
    place.server.script = saying(Broken("hang", 30.0))
    found = place.ask("Add lodash", timeout=1.0)
    assert isinstance(found, CallFailed)
    assert (found.kind, found.retryable) == ("timeout", True)


# --- sessions and nights -----------------------------------------------------------------------------------------


def test_a_session_by_it_is_harvested(place: Place, repo: Repository, home: Path, invoke: Run) -> None:
    """What was typed is found, with the answer."""
    place.server.script = saying("Ran npm install lodash.")
    place.person("Add lodash to the web package", repo.path, CLAUDE_CONFIG_DIR=str(home))

    record = invoke("harvest")
    (found,) = record["sessions"]

    assert [prompt["text"] for prompt in found["prompts"]] == ["Add lodash to the web package"]
    assert [item["reason"] for item in record["skipped"] if str(home) in item["path"]] == []
    assert found["final"] == "Ran npm install lodash."


KEEPING = """#!/bin/sh
for word; do
    shift
    [ "$word" = --no-session-persistence ] || set -- "$@" "$word"
done
exec "{client}" "$@"
"""


def test_a_replay_that_left_a_session_is_known_as_ours(
    place: Place, home: Path, tmp_path: Path, invoke: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that kept one all the same would not make us learn from ourselves."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    keeping = tmp_path / "bin" / "claude"
    keeping.parent.mkdir()
    keeping.write_text(KEEPING.format(client=place.client))
    keeping.chmod(0o755)

    found = replace(place, client=keeping).ask("Add lodash")

    assert isinstance(found, Reply), found
    (folder,) = home.glob("projects/*")
    assert REPLAY_FOLDER in folder.name
    harvested = invoke("harvest", "--scope", "all")
    assert harvested["sessions"] == []
    assert [item["reason"] for item in harvested["skipped"] if str(home) in item["path"]] == ["our own replay"]


def obedient(asked: modelserver.Asked) -> Said:
    """A target that keeps to the rule once it stands in its documents, and an optimizer that words it."""
    if "Propose the fewest edits" in asked.text:
        return Said(text=json.dumps({"edits": [{"op": "add", "text": RULE, "reason": "It was asked for."}]}))
    return Said(text=f"Ran {'pnpm' if RULE in asked.system else 'npm'} install.")


def test_a_small_night_replays_through_it(
    place: Place,
    repo: Repository,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """From sessions to a branch whose rule was measured by the real program: at most four tasks and twenty calls."""
    sessions(home, repo, PNPM)
    place.server.script = obedient
    settings = {
        "SKILLOPT_REPLAY_SEND": "mined",
        "SKILLOPT_REPLAY_BASE_URL": place.server.url,
        "SKILLOPT_REPLAY_RETRIES": "0",
        "SKILLOPT_REPLAY_JOBS": "4",
        "SKILLOPT_MINE_WITH": "rules",
        "SKILLOPT_GATE_MODE": "strict",
    }
    for name, value in (place.environ | settings).items():
        monkeypatch.setenv(name, value)

    words = ["run", "--repo", str(repo.path), "--backend", "claude", "--claude-home", str(home), "--quiet", "--json"]
    code = cli.run(words)

    told = capsys.readouterr()
    assert code == 0, told
    record = json.loads(told.out)
    assert (record["backend"], record["simulated"], record["tasks"]) == ("claude", False, 4)
    assert (record["verdict"], record["proposed"]) == ("suggestive", True)
    assert record["branch"].startswith("sleep/")
    assert RULE in taught(repo, record["branch"])
    assert len(place.server.asked) <= 20
    assert {RULE in asked.system for asked in place.server.asked} == {True, False}
