"""Whole nights with models behind OpenAI's client: from sessions to a branch, over a real connection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt_git import cli
from skillopt_git.doors import PROBE
from tests.asking import KEY
from tests.helpers import Repository
from tests.nights import PNPM, RULE, sessions, taught
from tests.openaiserver import MODEL, Heard, Said, serving
from tests.test_backends_openai_azure import TOKEN, account

__all__ = ["account"]  # a fixture

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach


def obedient(heard: Heard) -> Said:
    """A target that keeps to what it is told, and an optimizer that words the wish."""
    if heard.system:
        return Said(f"Ran {'pnpm' if RULE in heard.system else 'npm'} install.")
    if heard.user == PROBE:
        return Said("OK")
    return Said(json.dumps({"edits": [{"op": "add", "text": RULE, "reason": "It was asked for."}]}))


@pytest.mark.parametrize(
    ("backend", "path", "login"),
    [
        ("openai", "/v1/chat/completions", False),
        ("azure_openai", "/openai/v1/responses", False),
        ("azure_openai", "/openai/v1/responses", True),
    ],
)
def test_a_night(
    backend: str,
    path: str,
    login: bool,
    repo: Repository,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    """A branch with the rule; what opens the model is in nothing that is said or left."""
    secret = TOKEN if login else KEY
    if login:
        request.getfixturevalue("account")
    else:
        monkeypatch.setenv("OPENAI_API_KEY" if backend == "openai" else "AZURE_OPENAI_API_KEY", KEY)
    sessions(home, repo, PNPM)
    words = ["run", "--backend", backend, "--repo", str(repo.path), "--claude-home", str(home), "--quiet", "--json"]
    with serving(script=obedient) as server:
        address = f"{server.address}/v1" if backend == "openai" else server.address
        for name, value in {"BASE_URL": address, "MODEL": MODEL, "SEND": "mined"}.items():
            monkeypatch.setenv(f"SKILLOPT_REPLAY_{name}", value)
        assert cli.run(words) == 0, capsys.readouterr()

    said = capsys.readouterr()
    record = json.loads(said.out)
    assert RULE in taught(repo, record["branch"])
    assert (record["backend"], record["model"], record["simulated"]) == (backend, MODEL, False)
    assert {heard.path for heard in server.heard} == {path}
    assert all(secret in str(heard.headers) for heard in server.heard)
    assert any(RULE in heard.system for heard in server.heard)
    assert [file for file in repo.path.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()] == []
    assert secret not in said.out + said.err
