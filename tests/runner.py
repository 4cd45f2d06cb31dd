"""A runner of workflows, as far as those of this project ask for one: jobs in turn, each in a clone of its own.

The action's steps are run as they stand. `actions/checkout` is a clone, artifacts are folders, and the action's private
environment is there already, with this checkout in it.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.helpers import Repository

ROOT = Path(__file__).parent.parent
ACTION = ROOT / "actions" / "sleep"
READS, WRITES, KEY = "a-token-that-reads", "a-token-that-writes", "a-key-of-a-model"

_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
_TOOL = """\
#!/bin/sh
[ "$1 $2 $3" = "-I -m skillopt_git" ] || exit 99
shift 3
{body}
"""
_CODE = f'import sys; sys.path.insert(0, "{ROOT}"); from tests.onrunner import main; main()'
OURS = f"""exec '{sys.executable}' -c '{_CODE}' "$@" """


def read(path: Path) -> dict[str, Any]:
    """A workflow or an action; `on` is a word here, and true for YAML 1.1."""
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {"on" if name is True else name: value for name, value in loaded.items()}


@dataclass(frozen=True, slots=True)
class Step:
    """What became of one."""

    code: int
    log: str
    outputs: Mapping[str, str]
    summary: str


@dataclass(frozen=True, slots=True)
class Job:
    clone: Repository
    temp: Path
    token: str
    steps: dict[str, Step] = field(default_factory=dict)

    @property
    def code(self) -> int:
        return max((step.code for step in self.steps.values()), default=0)

    @property
    def log(self) -> str:
        return "\n".join(step.log for step in self.steps.values())


@dataclass(frozen=True, slots=True)
class Runner:
    """`environment` is the machine's, `github` and `event` are what the expressions of these names look in."""

    folder: Path
    server: Repository
    tool: str = OURS
    environment: Mapping[str, str] = field(default_factory=dict)
    event: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    github: Mapping[str, str] = field(default_factory=dict)

    # --- a workflow ---

    def workflow(self, workflow: Mapping[str, Any]) -> dict[str, Job]:
        """The jobs that ran, in the order in which they stand."""
        ran: dict[str, Job] = {}
        needs: dict[str, Any] = {}
        for name, job in workflow["jobs"].items():
            before = [ran[other] for other in [job["needs"]] if other in ran] if "needs" in job else []
            known = {"needs": needs, "vars": self.variables, "failed": any(item.code for item in before)}
            missing = "needs" in job and not before
            if missing or not holds(job.get("if", "success()"), known):
                needs[name] = {"outputs": {}}
                continue
            done = ran[name] = self._job(name, job, known | {"env": self._filled(workflow.get("env", {}), known)})
            steps = {key: {"outputs": step.outputs} for key, step in done.steps.items()}
            needs[name] = {"outputs": self._filled(job.get("outputs", {}), {"steps": steps})}
        return ran

    def _job(self, name: str, job: Mapping[str, Any], known: Mapping[str, Any]) -> Job:
        token = WRITES if job["permissions"]["contents"] == "write" else READS
        made = self.job(name, token=token)
        for number, step in enumerate(job["steps"]):
            steps = {key: {"outputs": item.outputs} for key, item in made.steps.items()}
            here = {**known, "steps": steps, "secrets": self.secrets, **self._context(made), "failed": made.code > 0}
            if not holds(step.get("if", "success()"), here):
                continue
            inputs = self._filled(step.get("with", {}), here)
            match re.match(r"actions/([\w-]+)@|", step["uses"]):
                case found if found is not None and found[1] == "upload-artifact":
                    self._upload(Path(inputs["path"]), inputs["name"])
                case found if found is not None and found[1] == "download-artifact":
                    shutil.copytree(self.folder / "artifacts" / inputs["name"], inputs["path"], dirs_exist_ok=True)
                case found if found is not None and found[1] == "checkout":
                    assert inputs["persist-credentials"] == "false"  # else the clone would hold some
                case _:
                    extra = {**known["env"], **self._filled(step.get("env", {}), here)}
                    made.steps[step.get("id", str(number))] = self.act(made, inputs, extra)
        return made

    def _upload(self, path: Path, name: str) -> None:
        target = self.folder / "artifacts" / name
        shutil.rmtree(target, ignore_errors=True)
        if path.is_dir():
            shutil.copytree(path, target)
        else:
            target.mkdir(parents=True)
            shutil.copy(path, target)

    # --- one job, one step ---

    def job(self, name: str, *, token: str = "") -> Job:
        """A machine with a clone as `actions/checkout` leaves it, and an empty folder for what is temporary."""
        clone, temp = self.folder / name / "clone", self.folder / name / "temp"
        self.server.git("clone", "--quiet", f"file://{self.server.path}", str(clone))
        made = Repository(clone)
        made.git("remote", "set-head", "origin", "--delete")
        tool = temp / "skillopt-venv" / "bin" / "python"
        tool.parent.mkdir(parents=True)
        tool.write_text(_TOOL.format(body=self.tool))
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        (temp / "skillopt-venv" / ".ready").touch()
        return Job(made, temp, token)

    def act(self, job: Job, inputs: Mapping[str, str], extra: Mapping[str, str] | None = None) -> Step:
        """One use of the action in the job."""
        action = read(ACTION / "action.yml")
        context = self._context(job)
        known = {name: about.get("default", "") for name, about in action["inputs"].items()}
        assert inputs.keys() <= known.keys()
        (step,) = action["runs"]["steps"]
        filled = self._filled(known, context) | dict(inputs)
        values = self._filled(step["env"], context | {"inputs": filled})
        output, summary = job.temp / "output", job.temp / "summary"
        output.write_text("")
        summary.write_text("")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(job.temp),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GITHUB_ACTION_PATH": str(ACTION),
            "GITHUB_ACTOR": context["github"]["actor"],
            "GITHUB_EVENT_NAME": context["github"]["event_name"],
            "GITHUB_REPOSITORY": "acme/acme-api",
            "GITHUB_SERVER_URL": context["github"]["server_url"],
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_ENV": str(job.temp / "env"),
            "GITHUB_PATH": str(job.temp / "path"),
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": str(job.temp),
            "SERVER": str(self.server.path),
            **self.environment,
            **(extra or {}),
            **values,
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=job.clone.path / self._filled({"at": step["working-directory"]}, {"inputs": filled})["at"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        pairs = (line.partition("=") for line in output.read_text().splitlines())
        told = {name: value for name, _, value in pairs}
        outputs = self._filled(
            {name: about["value"] for name, about in action["outputs"].items()},
            {"steps": {step["id"]: {"outputs": told}}},
        )
        return Step(done.returncode, done.stdout + done.stderr, outputs, summary.read_text())

    def _context(self, job: Job) -> dict[str, Any]:
        about = {"event_name": "schedule", "actor": "alice", "server_url": "https://github.example", **self.github}
        return {"github": {"token": job.token, "event": self.event, **about}, "runner": {"temp": str(job.temp)}}

    def _filled(self, values: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, str]:
        def value(found: re.Match[str]) -> str:
            left, equal, right = found[1].partition(" == ")
            return spelt(looked_up(left, known) == looked_up(right, known)) if equal else looked_up(left, known)

        return {name: _EXPRESSION.sub(value, spelt(text)) for name, text in values.items()}


def looked_up(path: str, known: Mapping[str, Any]) -> str:
    """What is missing on the way is empty, as it is to a runner; the first word of a path has to be there."""
    first, *rest = path.split(".")
    value: Any = known[first]
    for name in rest:
        value = value.get(name) if isinstance(value, Mapping) else None
    return "" if value is None else spelt(value)


def spelt(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def holds(condition: str, known: Mapping[str, Any]) -> bool:
    """`a.b == 'c'`, joined by `&&`; what does not ask about it holds only where nothing has failed."""
    bare = condition.removeprefix("${{ ").removesuffix(" }}")
    terms = bare.split(" && ")
    if "!cancelled()" not in terms and known["failed"]:
        return False
    compared = (term.split(" == ") for term in terms if not term.endswith("()"))
    return all(looked_up(left, known) == right.strip("'") for left, right in compared)
