"""Runs a workflow on this machine: act without containers, with stand-ins for the actions that fetch from elsewhere."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

ACT = Path(sysconfig.get_path("scripts")) / "act"
STAND_INS = Path(__file__).parent / "actions"
LINGER = STAND_INS / "linger.sh"
_USES = re.compile(r"uses:\s*['\"]?(\w[\w.-]*/[\w./-]+@[\w./-]+)")
_LOCAL = re.compile(r"uses:\s*['\"]?\./([\w./-]*)")
_LABELS = ("ubuntu-latest", "ubuntu-24.04", "ubuntu-22.04")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run said: `entries` of act's log, and as `noise` what was not in that form; what jobs handed to each other
    is below `artifacts`."""

    code: int
    entries: tuple[Mapping[str, Any], ...]
    noise: str
    secrets: tuple[str, ...]
    artifacts: Path

    @property
    def lines(self) -> list[str]:
        """Everything that was logged."""
        told = "\n".join(str(entry.get("msg", "")).rstrip("\n") for entry in self.entries)
        return f"{told}\n{self.noise}".splitlines()

    @property
    def printed(self) -> list[str]:
        """What the steps themselves printed."""
        told = "".join(str(entry["msg"]) for entry in self.entries if entry.get("raw_output"))
        return told.splitlines()

    @property
    def jobs(self) -> dict[str, str]:
        """`success` or `failure` by the id of the job; one that was skipped is not there."""
        return {entry["jobID"]: entry["jobResult"] for entry in self.entries if "jobResult" in entry}

    @property
    def outputs(self) -> dict[str, str]:
        """Each output as "job.step.name"."""
        found = [entry for entry in self.entries if entry.get("command") == "set-output"]
        return {f"{entry['jobID']}.{entry['stepID'][-1]}.{entry['name']}": entry["arg"] for entry in found}

    @property
    def summary(self) -> str:
        return "".join(entry["content"] for entry in self.entries if entry.get("command") == "summary")

    @property
    def leaks(self) -> list[str]:
        """Lines with a secret in them, as it is or in the form that git sends."""
        forms = [form for secret in self.secrets for form in (secret, _as_sent(secret))]
        told = (dict(entry) for entry in self.entries if entry.get("command") != "add-mask")  # which GitHub hides
        whole = [*self.lines, *(json.dumps(entry) for entry in told)]
        return [line for line in whole if any(form in line for form in forms)]


@dataclass(frozen=True, slots=True)
class Asked:
    """What starts a workflow. `payload` is what the event tells besides the repository; `replaced` are further actions,
    as "owner/name@ref", and the folders that stand in for them."""

    event: str = "workflow_dispatch"
    repository: str = "acme/api"
    inputs: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    payload: Mapping[str, object] = field(default_factory=dict)
    replaced: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Runner:
    """`folder` holds a home, the runner's cache, and a folder for each run."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> Runner:
        for name in ("home", "cache"):
            (folder / name).mkdir(parents=True)
        return cls(folder)

    def run(self, workflow: Path, url: str, asked: Asked, *, longest: float = 60) -> Ran:
        """Runs the file, best one in a clone, for `asked.repository` of the rig at `url`."""
        folder = Path(mkdtemp(prefix="run-", dir=self.folder))
        artifacts, payload, secrets = folder / "artifacts", folder / "event.json", folder / "secrets"
        artifacts.mkdir()
        payload.write_text(json.dumps(_event(asked)))
        secrets.write_text("".join(f"{name}={json.dumps(value)}\n" for name, value in asked.secrets.items()))
        act = subprocess.Popen(
            [
                *_command(workflow, asked),
                *("--eventpath", str(payload), "--secret-file", str(secrets)),
                *_each("--env", (f"{name}={value}" for name, value in _given(url, asked, artifacts).items())),
            ],
            cwd=workflow.parent,  # whose repository tells act the commit
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            told, noise = act.communicate(timeout=longest)
        except subprocess.TimeoutExpired:
            _end(act)
            raise
        return _read(act.returncode, told, noise, tuple(asked.secrets.values()), artifacts)

    def _environment(self) -> dict[str, str]:
        """As bare as a runner's: no identity for git, no variable of this machine."""
        return {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
            "HOME": str(self.folder / "home"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LANG": "C.UTF-8",
        }


def _command(workflow: Path, asked: Asked) -> list[str]:
    return [
        *(str(ACT), asked.event, "--json", "--workflows", str(workflow), "--no-skip-checkout"),
        *("--action-offline-mode", "--no-cache-server", "--defaultbranch", "main", "--actor", "alice"),
        *(word for name in ("env", "input", "var") for word in (f"--{name}-file", os.devnull)),
        *_each("--platform", (f"{label}=-self-hosted" for label in _LABELS)),
        *_each("--local-repository", _replacements(workflow, asked.replaced)),
    ]


def _given(url: str, asked: Asked, artifacts: Path) -> dict[str, str]:
    """What every step finds in its environment."""
    return {
        "GITHUB_API_URL": url,
        "GITHUB_GRAPHQL_URL": f"{url}/graphql",
        "GITHUB_SERVER_URL": url,
        "GITHUB_REPOSITORY": asked.repository,
        "RIG_ARTIFACTS": str(artifacts),
        "GIT_TERMINAL_PROMPT": "0",  # act gives steps a terminal, GitHub does not
        "BASH_ENV": str(LINGER),
        **asked.env,
    }


def _event(asked: Asked) -> dict[str, object]:
    owner, _, name = asked.repository.partition("/")
    repository = {"full_name": asked.repository, "name": name, "default_branch": "main", "owner": {"login": owner}}
    return {"inputs": dict(asked.inputs), "ref": "refs/heads/main", "repository": repository, **asked.payload}


def _replacements(workflow: Path, replaced: Mapping[str, Path]) -> Iterator[str]:
    """Every action that would be fetched, and the folder that is used instead."""
    text = workflow.read_text()
    folders = [*(workflow.parents[2] / path for path in _LOCAL.findall(text)), *replaced.values()]
    texts = [text, *((folder / "action.yml").read_text() for folder in folders)]
    for action in sorted({found for one in texts for found in _USES.findall(one)}):
        name = action.partition("@")[0].removeprefix("actions/")
        folder = replaced.get(action, STAND_INS / name)
        assert folder.is_dir(), f"the rig has no stand-in for {action}"
        yield f"{action}={folder}"


def _each(option: str, values: Iterator[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _end(act: subprocess.Popen[str]) -> None:
    """With everything that it started: steps have sessions of their own, and no signal to act reaches them."""
    for pid in [act.pid, *_below(act.pid)]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    act.communicate()


def _below(parent: int) -> Iterator[int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    found = {parent}
    while more := {pid for pid, of in pairs if of in found} - found:
        yield from more
        found |= more


def _read(code: int, told: str, noise: str, secrets: tuple[str, ...], artifacts: Path) -> Ran:
    lines = told.splitlines()
    entries = tuple(json.loads(line) for line in lines if line.startswith("{"))
    rest = [line for line in lines if not line.startswith("{")]
    return Ran(code, entries, "\n".join([*rest, noise]), secrets, artifacts)


def _as_sent(secret: str) -> str:
    return base64.b64encode(f"x-access-token:{secret}".encode()).decode()
