"""Every test runs in a private home, with git's own settings fixed and no way to another machine."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import cli
from tests.helpers import Repository
from tests.nights import Place, Run, arguments, sessions
from tests.standins import StandIns

pytest_plugins = ["tests.rig.fixtures"]

HERE = Path(__file__).parent
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def pytest_collection(session: pytest.Session) -> None:
    """Pytest compiles test modules once for all, which takes longer than to read them. Where workers read them all,
    each begins elsewhere, and finds most of them compiled by the others."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    names = sorted(path.stem for path in HERE.glob("test_*.py"))
    first = int(worker["workerid"].removeprefix("gw")) * len(names) // worker["workercount"]
    for name in names[first:] + names[:first]:
        with contextlib.suppress(Exception):  # told when it is collected
            importlib.import_module(f"tests.{name}")


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for each test. Numbered here: pytest looks through thousands of folders for the next number."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / f"home{number}" for number in count())


@pytest.fixture(autouse=True)
def isolated(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh HOME; no `GIT_*`, `SKILLOPT_*` or agent variable of the machine reaches a test."""
    home = next(homes)
    home.mkdir()
    agents = ("CLAUDE", "CODEX", "COPILOT", "ANTHROPIC", "OPENAI_", "AZURE_")
    for name in list(os.environ):
        if name.startswith(("GIT_", "SKILLOPT_", "GITHUB_", "GH_", "XDG_", *agents)):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("TZ", "UTC")
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Alice Example\n\temail = alice@example.invalid\n[init]\n\tdefaultBranch = main\n"
    )
    return home


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connecting anywhere but to loopback fails the test."""
    connect: Callable[..., Any] = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family != socket.AF_UNIX and address[0] not in LOOPBACK:
            pytest.fail(f"a test tried to reach {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="module")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """For what tests of a module start from, and take long to make: the repository and the home of a test that uses it
    are in there."""
    return Place(tmp_path_factory.mktemp("place") / "now", tmp_path_factory.mktemp("kept"))


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return request.getfixturevalue("beginning").cleared() if "beginning" in request.fixturenames else tmp_path


@pytest.fixture
def repo(folder: Path) -> Repository:
    """A real repository on `main` with one commit (`README.md`)."""
    return Repository.create(folder / "acme-api", {"README.md": "# acme-api\n"})


@pytest.fixture
def home(folder: Path) -> Path:
    """Where this test's agent keeps its sessions."""
    return folder / "claude"


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str], repo: Repository, home: Path) -> Run:
    """Runs a verb with `--json` in the repository and returns its record; the exit code must be `code`."""

    def call(verb: str, *args: str, code: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        assert cli.run([*arguments(verb, args, repo, home), "--json"]) == code, capsys.readouterr()
        return dict(json.loads(capsys.readouterr().out))

    return call


@pytest.fixture
def first_run(beginning: Place, repo: Repository, home: Path, invoke: Run) -> Callable[..., dict[str, Any]]:
    """The first run over some dialogues: for all tests of a module that begin with it, it is the same one."""

    def call(dialogues: Sequence[Sequence[str]]) -> dict[str, Any]:
        def made() -> dict[str, Any]:
            sessions(home, repo, dialogues)
            return invoke("run")

        return beginning.start(f"{len(dialogues)} dialogues", made)

    return call


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], repo: Repository, home: Path) -> Callable[..., str]:
    """Runs a verb as a person does and returns what it printed; the exit code must be `code`."""

    def call(verb: str, *args: str, code: int = 0) -> str:
        capsys.readouterr()
        assert cli.run(arguments(verb, args, repo, home)) == code, capsys.readouterr()
        told = capsys.readouterr()
        return told.out if code == 0 else told.err

    return call


@pytest.fixture
def standins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    """A PATH without the machine's own schedulers; the test adds what is there."""
    made = StandIns.create(tmp_path / "stand-ins")
    monkeypatch.setenv("PATH", made.path)
    return made
