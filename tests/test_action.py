"""The action and the workflows around it: what linters say, who is given which key, and whole nights."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sysconfig
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import render, roles
from skillopt_git.commands.demo import write_sessions
from tests import constraints
from tests.helpers import Repository
from tests.nights import PNPM, RULE, SKILL
from tests.runner import ACTION, KEY, READS, ROOT, WRITES, Job, Runner, Step, read

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

ELSEWHERE = "/home/alice/acme-api"  # where the sessions come from
OWN = ROOT / ".github" / "workflows"
SLEEP = ACTION / "sleep.sh"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workflow as `init` writes it, where a repository has its workflows."""
    path = tmp_path_factory.mktemp("acme-api") / ".github" / "workflows" / "skillopt.yml"
    path.parent.mkdir(parents=True)
    path.write_text(render.workflow(repository="acme/skillopt-git", commit="0123456789" * 4, version="1.2.3"))
    return path


@pytest.fixture(params=["skillopt.yml", "nightly.yml"])
def nightly(request: pytest.FixtureRequest, written: Path) -> Path:
    """The workflow that is given to others, and the one that this repository uses itself."""
    return written if request.param == "skillopt.yml" else OWN / "nightly.yml"


def checked(tool: str, *args: str | Path) -> None:
    command = [str(Path(sysconfig.get_path("scripts")) / tool), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# --- what they look like -----------------------------------------------------------------------------------------


def test_a_workflow_is_what_the_service_reads(nightly: Path) -> None:
    """Its shape, and every expression in it."""
    checked("check-jsonschema", "--builtin-schema", "vendor.github-workflows", nightly)
    checked("actionlint", "-shellcheck", "", "-pyflakes", "", nightly)


def test_the_action_is_what_the_service_reads() -> None:
    """Its shape, and the shell in it, also that in the file beside."""
    checked("check-jsonschema", "--builtin-schema", "vendor.github-actions", ACTION / "action.yml")
    checked("shellcheck", SLEEP)


def test_an_audit_finds_nothing(nightly: Path) -> None:
    """What its strictest persona says beyond is heard of our own workflows in another test."""
    checked("zizmor", "--offline", "--no-progress", "--strict-collection", nightly, ACTION / "action.yml")


def test_no_expression_stands_in_a_script(nightly: Path) -> None:
    """What is typed by others comes by environment, where it is no code."""
    steps = read(ACTION / "action.yml")["runs"]["steps"]
    steps += [step for job in read(nightly)["jobs"].values() for step in job["steps"]]
    scripts = [step["run"] for step in steps if "run" in step]
    assert scripts
    assert [script for script in scripts if "${{" in script] == []


def test_what_is_used_is_pinned_as_in_our_own_checks(nightly: Path) -> None:
    """By commit, with the version beside; or it is the action as it is here."""
    known = set(re.findall(r"uses: (.*)", (OWN / "ci.yml").read_text()))
    used = set(re.findall(r"uses: (.*)", nightly.read_text()))
    ours = {line for line in used if re.match(r"(\.|acme/skillopt-git)/actions/sleep(@[0-9a-f]{40})? # ", line)}
    assert len(ours) == 1
    assert used - ours <= known


def test_the_token_and_the_key_never_meet(written: Path) -> None:
    """The job that talks to models has no token and may write nothing; the one that writes has no key."""
    workflow = read(written)
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {}
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "prepare": {"contents": "read", "pull-requests": "read"},
        "learn": {"contents": "read"},
        "propose": {"contents": "write", "pull-requests": "write"},
    }
    assert {name for name, job in jobs.items() if "secrets." in json.dumps(job)} == {"learn"}
    assert {name for name, job in jobs.items() if "github.token" in json.dumps(job)} == {"prepare", "propose"}
    checkouts = [step["with"] for job in jobs.values() for step in job["steps"] if "checkout@" in step["uses"]]
    assert [item["persist-credentials"] for item in checkouts] == [False, False, False]
    assert all("timeout-minutes" in job for job in jobs.values())
    assert "secrets." not in json.dumps({name: value for name, value in workflow.items() if name != "jobs"})


def test_nights_are_one_at_a_time_at_an_odd_minute(written: Path) -> None:
    workflow = read(written)
    assert workflow["concurrency"]["cancel-in-progress"] is False
    ((minute, *_),) = [entry["cron"].split() for entry in workflow["on"]["schedule"]]
    assert int(minute) % 15
    assert "workflow_dispatch" in workflow["on"]


def test_our_own_workflow_is_started_by_hand_only() -> None:
    assert list(read(OWN / "nightly.yml")["on"]) == ["workflow_dispatch"]


def test_the_page_about_github_tells_what_the_action_takes_and_gives(written: Path) -> None:
    """Every input and output, and the permissions of every job."""
    page, action = (ROOT / "docs" / "github.md").read_text(), read(ACTION / "action.yml")
    rows = "\n".join(line for line in page.splitlines() if line.startswith("| `"))
    told = set(re.findall(r"`([\w-]+)`", rows))
    assert action["inputs"].keys() <= told
    shortened = {name.replace("pull-request-", "-", 1) for name in action["outputs"]}
    assert shortened - {"-number"} <= told
    for name, job in read(written)["jobs"].items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |") and "contents: " in line]
        granted = {f"{what}: {how}" for what, how in job["permissions"].items()}
        assert granted == set(re.findall(r"`(\S+: \w+)`", row))


def test_the_action_installs_what_was_tested() -> None:
    """Every library that the tool pulls in has one version there, which the tool itself allows."""
    pinned = dict(line.split("==") for line in (ACTION / "constraints.txt").read_text().splitlines())
    assert pinned.keys() == constraints.wanted().keys()
    assert constraints.refused(pinned) == []


# --- nights ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """What nights only read. It is made once for all of them, before a test has git's settings fixed."""
    return served(tmp_path_factory.mktemp("server"))


def served(folder: Path) -> Repository:
    made = Repository.create(folder / "acme-api", {})
    made.write({"README.md": "# acme-api\n"})
    made.git("add", "--all")
    made.git("-c", "user.name=Alice", "-c", "user.email=alice@example.invalid", "commit", "--quiet", "-m", "Start")
    made.git("clone", "--quiet", "--bare", ".", str(folder / "server.git"))
    return Repository(folder / "server.git")


def at(folder: Path, server: Repository, **about: Any) -> Runner:
    """Its machines have a folder of sessions that came from elsewhere."""
    write_sessions(folder / "claude", ELSEWHERE, [list(turns) for turns in PNPM], datetime.now(UTC))
    environment = {"SKILLOPT_HARVEST_CLAUDE_HOME": str(folder / "claude"), "SKILLOPT_HARVEST_ROOTS": ELSEWHERE}
    variables = {"SKILLOPT_BACKEND": "mock", "SKILLOPT_MODEL": "m"}
    known = {"environment": environment, "variables": variables, "secrets": {"ANTHROPIC_API_KEY": KEY}}
    return Runner(folder / "jobs", server, **known | about)


@pytest.fixture
def runner(server: Repository, tmp_path: Path) -> Runner:
    return at(tmp_path, server)


@dataclass(frozen=True, slots=True)
class Night:
    runner: Runner
    jobs: dict[str, Job]

    @property
    def server(self) -> Repository:
        return self.runner.server

    @property
    def proposed(self) -> Step:
        (step,) = self.jobs["propose"].steps.values()
        return step


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, written: Path) -> Night:
    """A whole night, which tests look at from several sides."""
    folder = tmp_path_factory.mktemp("first")
    runner = at(folder, served(folder))
    return Night(runner, runner.workflow(simulated(written)))


def simulated(written: Path) -> dict[str, Any]:
    """The workflow with the one change that lets a simulation be seen."""
    workflow = read(written)
    workflow["jobs"]["propose"]["steps"][-1]["with"]["allow-simulated"] = "true"
    return workflow


def green(jobs: dict[str, Job]) -> None:
    """All three ran, and well."""
    told = {name: (job.code, job.log if job.code else "") for name, job in jobs.items()}
    assert told == dict.fromkeys(("prepare", "learn", "propose"), (0, ""))


def given(job: Job, verb: str) -> dict[str, str]:
    """The environment in which the tool ran."""
    return dict(json.loads((job.temp / f"given-{verb}.json").read_text())["environment"])


def test_three_jobs_open_a_pull_request(first: Night) -> None:
    """From sessions of another machine to a branch at the server, and to the outputs that other steps read."""
    green(first.jobs)
    proposed, server = first.proposed, first.server
    branch = proposed.outputs["pull-request-branch"]
    assert f"- {RULE}\n" in server.git("show", f"{branch}:{SKILL}")
    assert server.git("for-each-ref", "--format=%(refname)", "refs/skillopt/ledger").strip() == "refs/skillopt/ledger"
    assert {name: value for name, value in proposed.outputs.items() if name != "run-id"} == {
        "ready": "",
        "skipped": "",
        "pull-request-number": "1",
        "pull-request-url": "https://github.example/acme/acme-api/pull/1",
        "pull-request-operation": "created",
        "pull-request-head-sha": server.git("rev-parse", branch).strip(),
        "pull-request-branch": branch,
        "verdict": "strong",
        "edits-proposed": "1",
        "edits-rejected": "0",
        "tokens": "",
        "cost-usd": "",
        "report-path": "",
    }
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", proposed.outputs["run-id"])
    assert "https://github.example/acme/acme-api/pull/1" in proposed.summary


def test_no_job_is_given_what_it_does_not_need(first: Night) -> None:
    """Whatever the workflow says: this is what the tool found in its environment."""
    prepared, learned = given(first.jobs["prepare"], "sync"), given(first.jobs["learn"], "learn")
    proposed = given(first.jobs["propose"], "propose")
    assert prepared["SKILLOPT_GITHUB_TOKEN"] == READS
    assert KEY not in json.dumps(prepared)
    assert (learned["ANTHROPIC_API_KEY"], learned["SKILLOPT_REPLAY_BACKEND"]) == (KEY, "mock")
    assert learned["SKILLOPT_REPLAY_MODEL"] == "m"
    assert not {"SKILLOPT_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "GIT_CONFIG_COUNT"} & learned.keys()
    assert READS not in json.dumps(learned)
    assert proposed["SKILLOPT_GITHUB_TOKEN"] == proposed["GITHUB_TOKEN"] == WRITES
    assert KEY not in json.dumps(proposed)
    for environment in (prepared, learned, proposed):
        assert not {"GITHUB_ENV", "GITHUB_PATH"} & environment.keys()


def test_nothing_that_was_typed_is_in_a_log_or_an_artifact(first: Night) -> None:
    """The report that quotes it stays where it was written."""
    learned = first.jobs["learn"].steps["night"]
    assert "lodash" in Path(learned.outputs["report-path"]).read_text()
    files = [path for path in (first.runner.folder / "artifacts").rglob("*") if path.is_file()]
    assert {path.name for path in files} == {"memory.txt", "night.json"}
    assert [path for path in files if b"lodash" in path.read_bytes()] == []
    assert [name for name, job in first.jobs.items() if "lodash" in job.log] == []


def test_a_second_night_knows_the_first(first: Night, written: Path, tmp_path: Path) -> None:
    """What the first one proposed came along to the job without a token, and is not proposed once more."""
    heads = first.server.git("for-each-ref", "refs/heads")
    runner = replace(first.runner, folder=tmp_path / "second")

    second = Night(runner, runner.workflow(simulated(written)))

    green(second.jobs)
    handed = (tmp_path / "second" / "artifacts" / "skillopt-memory" / "memory.txt").read_text().split()
    assert {"refs/skillopt/ledger", f"refs/heads/{first.proposed.outputs['pull-request-branch']}"} <= {*handed}
    known = [
        [second.jobs[name].clone.git("rev-parse", ref) for ref in handed if not ref.startswith("refs/skillopt/seen/")]
        for name in ("prepare", "learn")
    ]
    assert known[0] == known[1]
    assert first.server.git("for-each-ref", "refs/heads") == heads
    assert second.proposed.outputs["edits-proposed"] == "0"


def test_a_simulation_goes_nowhere_unasked(runner: Runner, server: Repository, written: Path) -> None:
    jobs = runner.workflow(read(written))

    assert Night(runner, jobs).proposed.outputs["pull-request-operation"] == "none"
    assert jobs["propose"].code == 0
    assert server.git("for-each-ref", "refs/heads/sleep") == ""


def test_one_job_may_do_it_all(tmp_path: Path) -> None:
    """`run` learns and proposes; its report is a file too."""
    server = served(tmp_path)
    inputs = {"command": "run", "token": WRITES, "backend": "mock", "allow-simulated": "true"}
    runner = at(tmp_path, server)
    job = runner.job("night")

    ran = runner.act(job, inputs)

    assert (ran.code, ran.outputs["pull-request-operation"]) == (0, "created")
    assert server.git("rev-parse", ran.outputs["pull-request-branch"]).strip() == ran.outputs["pull-request-head-sha"]
    assert "lodash" not in ran.log
    assert Path(ran.outputs["report-path"]).suffix == ".html"
    assert "GITHUB_TOKEN" not in given(job, "run")  # it is an app's


def test_a_night_that_measures_nothing_is_red_and_goes_on(runner: Runner, written: Path) -> None:
    """Its findings are handed on, to be recorded, though the job that learned failed."""
    tool = 'while [ "$1" != --bundle ] && [ $# -gt 0 ]; do shift; done; [ $# = 0 ] || { echo "{}" >"$2"; exit 4; }'

    jobs = replace(runner, tool=tool).workflow(read(written))

    assert {name: job.code for name, job in jobs.items()} == {"prepare": 0, "learn": 4, "propose": 0}
    assert "::error title=skillopt-git learn::too many calls failed" in jobs["learn"].log


def test_settings_that_turn_it_off_end_a_night_early(tmp_path: Path, written: Path) -> None:
    """Green, and said, before anything is asked of a model."""
    runner = at(tmp_path, served(tmp_path))
    environment = {**runner.environment, "SKILLOPT_PROPOSE_ENABLED": "false"}

    jobs = replace(runner, environment=environment).workflow(read(written))

    assert list(jobs) == ["prepare"]
    assert (jobs["prepare"].code, jobs["prepare"].steps["night"].outputs["ready"]) == (0, "")
    assert "propose.enabled" in jobs["prepare"].steps["night"].outputs["skipped"]
    assert "skipped: turned off" in jobs["prepare"].steps["night"].summary


# --- what is skipped, and what is refused ------------------------------------------------------------------------

Act = Callable[..., Step]


@pytest.fixture
def act(runner: Runner) -> Act:
    """One use of the action, by its command and what differs; the tool itself only says that it was called."""

    def call(command: str, *, extra: dict[str, str] | None = None, tool: str = "echo called", **about: Any) -> Step:
        inputs = {"command": command} | about.pop("inputs", {})
        here = replace(runner, tool=tool, **about)
        return here.act(here.job(f"{command}-{len(list(here.folder.parent.iterdir()))}"), inputs, extra)

    return call


FORK = {"repository": {"fork": True}}
FROM_A_FORK = {"pull_request": {"head": {"repo": {"full_name": "mallory/acme-api"}}}}
DEPENDABOT = {"event_name": "push", "actor": "dependabot[bot]"}


@pytest.mark.parametrize(
    ("command", "about", "why"),
    [
        ("prepare", {"github": DEPENDABOT}, "Dependabot"),
        ("propose", {"github": DEPENDABOT}, "Dependabot"),
        ("run", {"event": FROM_A_FORK, "github": {"event_name": "pull_request"}}, "from a fork"),
        ("learn", {"event": FROM_A_FORK, "github": {"event_name": "pull_request_target"}}, "from a fork"),
        ("learn", {"event": FORK}, "no key of a model"),
        ("learn", {"event": FORK, "inputs": {"backend": "claude"}}, "no key of a model"),
        ("learn", {"event": FORK, "extra": {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}}, "no key of a model"),
        ("run", {"event": FORK, "inputs": {"token": READS}}, "no key of a model"),
        ("prepare", {"extra": {"SKILLOPT_DISABLED": "1"}}, "SKILLOPT_DISABLED is set"),
    ],
)
def test_what_cannot_be_done_is_skipped(act: Act, command: str, about: dict[str, Any], why: str) -> None:
    """Green, with the reason where people and later steps look for it, and without calling the tool."""
    done = act(command, **about)

    assert done.code == 0
    assert f"skipped: {done.outputs['skipped']}" in done.log
    assert why in done.outputs["skipped"]
    assert why in done.summary
    assert done.outputs["ready"] == ""
    assert "called" not in done.log


@pytest.mark.parametrize(
    "about",
    [
        {"github": {"event_name": "schedule", "actor": "dependabot[bot]"}},  # it merged a change of the workflow
        {"event": FORK, "inputs": {"backend": "mock"}},
        {"event": FORK, "extra": {"ANTHROPIC_API_KEY": KEY}},
        {"event": FORK, "extra": {"CLAUDE_CODE_OAUTH_TOKEN": KEY}},
        {"event": {"pull_request": {"head": {"repo": {"full_name": "acme/acme-api"}}}}},
    ],
)
def test_what_only_looks_like_it_is_not(act: Act, about: dict[str, Any]) -> None:
    done = act("learn", tool='while [ "$1" != --bundle ]; do shift; done; echo "{}" >"$2"', **about)

    assert (done.code, done.outputs["ready"], done.outputs["skipped"]) == (0, "true", "")


def test_a_workflow_skips_as_a_whole(runner: Runner, written: Path) -> None:
    """Where the first job is skipped no other one starts."""
    jobs = replace(runner, variables={"SKILLOPT_DISABLED": "1"}).workflow(read(written))

    assert list(jobs) == ["prepare"]
    assert jobs["prepare"].code == 0
    assert not (runner.folder / "artifacts").exists()


def test_a_tool_that_leaves_nothing_ends_the_night(act: Act) -> None:
    """As where a pause was asked for meanwhile: nothing went wrong, and there is nothing to go on with."""
    done = act("learn", tool='echo "skipped=paused" >>"$GITHUB_OUTPUT"', inputs={"backend": "mock"})

    assert (done.code, done.outputs["ready"], done.outputs["skipped"]) == (0, "", "paused")
    assert done.log.endswith("\nskipped: paused\n")


@pytest.mark.parametrize(
    ("command", "inputs", "why"),
    [
        ("dream", {}, "must be prepare, learn, propose or run"),
        ("learn", {"token": READS}, "must not be given a token"),
        ("propose", {}, "needs the input 'token'"),
        ("run", {}, "needs the input 'token'"),
        ("propose", {"token": WRITES}, "no night.json"),
    ],
)
def test_what_is_asked_wrongly_is_refused(act: Act, command: str, inputs: dict[str, str], why: str) -> None:
    done = act(command, inputs=inputs)

    assert done.code == 2
    assert re.search(rf"^::error title=skillopt-git::.*{re.escape(why)}", done.log, re.MULTILINE)
    assert done.log.count("::error") == 1
    assert "called" not in done.log


def test_learning_refuses_a_clone_that_holds_credentials(runner: Runner) -> None:
    """As a checkout leaves them unless it is told not to."""
    job = runner.job("learn")
    job.clone.git("config", "http.https://github.example/.extraheader", "AUTHORIZATION: basic eA==")

    done = runner.act(job, {"command": "learn", "backend": "mock"})

    assert done.code == 2
    assert "persist-credentials: false" in done.log


def test_without_a_python_it_says_so(runner: Runner, tmp_path: Path) -> None:
    """One that was named is not replaced by another."""
    job = runner.job("prepare")
    (job.temp / "skillopt-venv" / ".ready").unlink()
    (tmp_path / "old python").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "old python").chmod(0o755)

    done = runner.act(job, {"command": "prepare", "python": str(tmp_path / "old python")})

    assert done.code == 2
    assert "no Python 3.11 or newer" in done.log


def test_what_the_tool_prints_is_no_command(act: Act) -> None:
    """Between two words that nobody can know the runner obeys nothing; one stream, so that nothing slips out behind."""
    tool = "echo ::error::one; echo '::add-mask::two' >&2; printf '::set-env name=a::b'; exit 5"

    done = act("prepare", tool=tool, inputs={"token": READS})

    found = re.search(r"^::stop-commands::([0-9a-f]{32})\n(.*)\n::\1::\n", done.log, re.MULTILINE | re.DOTALL)
    assert found is not None
    assert found[2] == "::error::one\n::add-mask::two\n::set-env name=a::b"
    rest = done.log.replace(found[0], "")
    masked = base64.b64encode(f"x-access-token:{READS}".encode()).decode()
    why = "a safety door is closed: nothing was proposed (exit 5); the log of this step says more"
    assert rest.splitlines() == [f"::add-mask::{masked}", f"::error title=skillopt-git prepare::{why}"]
    assert done.code == 5


@pytest.mark.parametrize(("code", "why"), [(1, "it failed"), (2, "settings"), (75, "next night tries again")])
def test_a_failure_is_one_annotation(act: Act, code: int, why: str) -> None:
    done = act("prepare", tool=f"exit {code}", inputs={"token": READS})

    assert done.code == code
    assert len(re.findall(rf"^::error .*{why}.*\(exit {code}\)", done.log, re.MULTILINE)) == 1


# --- models ------------------------------------------------------------------------------------------------------

CHOSEN = {
    "backend": ("SKILLOPT_REPLAY_BACKEND", "openai"),
    "model": ("SKILLOPT_REPLAY_MODEL", "model-1"),
    "optimizer-backend": ("SKILLOPT_REPLAY_OPTIMIZER_BACKEND", "anthropic"),
    "optimizer-model": ("SKILLOPT_REPLAY_OPTIMIZER_MODEL", "model-2"),
    "base-url": ("SKILLOPT_REPLAY_BASE_URL", "https://models.acme.example/v1"),
    "send": ("SKILLOPT_REPLAY_SEND", "reviewed"),
    "budget-tokens": ("SKILLOPT_BUDGET_TOKENS", "1000"),
    "budget-usd": ("SKILLOPT_BUDGET_USD", "1.5"),
    "budget-minutes": ("SKILLOPT_BUDGET_MINUTES", "30"),
}


def chosen(log: str) -> dict[str, str]:
    """What of the settings was in the environment of the tool."""
    pairs = (
        line.partition("=") for line in log.splitlines() if line.startswith(("SKILLOPT_REPLAY", "SKILLOPT_BUDGET"))
    )
    return {name: value for name, _, value in pairs}


def test_what_is_asked_for_goes_before_the_settings_and_what_is_not_is_left_to_them(act: Act) -> None:
    """Also to those that the job has in its environment."""
    inputs = {name: value for name, (_, value) in CHOSEN.items()}
    own = {"SKILLOPT_REPLAY_SEND": "mined", "SKILLOPT_REPLAY_JOBS": "4"}

    asked, silent = (act("learn", tool="env >&2", inputs=given, extra=own) for given in (inputs, {}))

    assert chosen(asked.log) == dict(CHOSEN.values()) | {"SKILLOPT_REPLAY_JOBS": "4"}
    assert chosen(silent.log) == own


def test_nothing_is_sent_that_nobody_allowed(runner: Runner) -> None:
    """By itself the action sends nothing, and says what to set."""
    done = runner.act(runner.job("learn"), {"command": "learn", "backend": "anthropic"}, {"ANTHROPIC_API_KEY": KEY})

    assert (done.code, done.outputs["ready"]) == (2, "")
    assert "nobody said what may be sent to anthropic" in done.log
    assert "replay.send" in done.log
    assert KEY not in done.log


def test_the_workflow_says_what_may_be_sent(written: Path) -> None:
    """Reviewed tasks: it is what a runner has. It ends by itself before the runner would end it."""
    learn = read(written)["jobs"]["learn"]
    (step,) = [step for step in learn["steps"] if step.get("id") == "night"]
    assert step["with"]["send"] == "reviewed"
    assert float(step["with"]["budget-minutes"]) < learn["timeout-minutes"]
    keys = {key for name in ("anthropic", "openai", "azure_openai") for key in roles.about(name).keys}
    assert keys - {"ANTHROPIC_AUTH_TOKEN"} == step["env"].keys()


@pytest.mark.parametrize(
    ("about", "extra"),
    [
        ({"inputs": {"backend": "anthropic"}}, ""),
        ({"inputs": {"backend": "openai"}}, "[openai]"),
        ({"inputs": {"backend": "anthropic", "optimizer-backend": "openai"}}, "[openai]"),
        ({"inputs": {"backend": "azure_openai", "optimizer-backend": "openai"}}, "[azure]"),
        ({"extra": {"SKILLOPT_REPLAY_BACKEND": "azure_openai"}}, "[azure]"),
    ],
)
def test_the_action_installs_what_the_backends_need(
    runner: Runner, tmp_path: Path, about: dict[str, Any], extra: str
) -> None:
    """At the versions it names, as all else."""
    python = tmp_path / "python"
    words = '*" venv "*) mkdir -p "$5/bin"; cp "$0" "$5/bin/python" ;; *" pip "*) echo "$@" ;;'
    python.write_text(f'#!/bin/sh\ncase "$*" in {words} esac\n')
    python.chmod(0o755)
    job = runner.job("learn")
    (job.temp / "skillopt-venv" / ".ready").unlink()

    done = runner.act(job, {"command": "learn", "python": str(python), **about.get("inputs", {})}, about.get("extra"))

    (installed,) = [line for line in done.log.splitlines() if " pip install " in line]
    assert installed.endswith(f"--constraint {ACTION}/constraints.txt {ACTION}/../..{extra}")


# --- credentials -------------------------------------------------------------------------------------------------


@pytest.fixture
def listening() -> Iterator[tuple[str, list[list[str]]]]:
    """A server that notes what each request was authorized with; its address, and the notes."""
    noted: list[list[str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            noted.append(self.headers.get_all("Authorization") or [])
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Nothing: standard error is the test's."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", noted
    server.shutdown()
    thread.join()
    server.server_close()


def test_git_is_authorized_once_whatever_the_checkout_left(
    runner: Runner, listening: tuple[str, list[list[str]]]
) -> None:
    """By environment alone: no argument, no file; two headers would be an error."""
    address, noted = listening
    tool = f'git ls-remote "{address}/acme/acme-api"; echo "$@"; exit 0'
    here = replace(runner, tool=tool, github={"server_url": address})
    job = here.job("prepare")
    job.clone.git("config", f"http.{address}/.extraheader", "AUTHORIZATION: basic b2xk")
    config = (job.clone.path / ".git" / "config").read_text()

    done = here.act(job, {"command": "prepare", "token": WRITES}, {"GIT_CONFIG_COUNT": "0"})

    wanted = "basic " + base64.b64encode(f"x-access-token:{WRITES}".encode()).decode()
    assert done.code == 0
    assert noted
    assert [seen for seen in noted if seen != [wanted]] == []
    assert (job.clone.path / ".git" / "config").read_text() == config
    assert WRITES not in done.log


# --- what needs more than this checkout --------------------------------------------------------------------------


@pytest.mark.e2e
@pytest.mark.parametrize("recorded", ["", "azure_openai"])
def test_the_action_installs_itself(runner: Runner, recorded: str) -> None:
    """Into an environment of its own, at the versions it names, with what a backend needs."""
    job = runner.job("night")
    (job.temp / "skillopt-venv" / ".ready").unlink()

    done = runner.act(job, {"command": "learn", "backend": "mock"}, {"SKILLOPT_REPLAY_RECORD": recorded})

    assert done.code == 0, done.log
    assert done.outputs["ready"] == "true"
    python = job.temp / "skillopt-venv" / "bin" / "python"
    frozen = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    pinned = (ACTION / "constraints.txt").read_text().splitlines()
    found = [line.lower().replace("_", "-") for line in frozen.splitlines() if "==" in line]
    assert found
    assert [line for line in found if line not in pinned] == []
    assert any(line.startswith("azure-identity==") for line in found) is bool(recorded)
