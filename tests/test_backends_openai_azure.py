"""OpenAI's models at Azure: what opens a resource, and where that goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from skillopt_git import roles
from skillopt_git.backends import openai_azure
from skillopt_git.backends.openai_calls import Calls
from skillopt_git.backends.openai_words import THINKING_ROOM
from skillopt_git.errors import BackendError, ConfigError, SafetyError, UsageError
from skillopt_git.ports import CallFailed, Reply
from tests.asking import DOCUMENTS, KEY, REQUEST, asked, one
from tests.openaiserver import MODEL, Answer, Broken, Raw, Said, Server, both_apis, refusal, serving

ROOT = Path(__file__).parent.parent
TOKEN = "entra-token-of-alice"
ENDPOINT = "https://acme.openai.azure.com"
ACCOUNT = """#!/bin/sh
echo "$@" >> "$0.asked"
echo '%s'
"""


class Opener:
    """Opens a deployment on a server that answers as listed."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack

    def __call__(self, *answers: Answer, environ: Mapping[str, str], path: str = "", **settings: Any) -> Any:
        server: Server = self.stack.enter_context(serving(*answers))
        backend = openai_azure.door(asked(server.address + path, environ, **settings)).backend
        self.stack.callback(cast("Calls", backend).client.close)
        return backend, server


@pytest.fixture
def opened() -> Iterator[Opener]:
    with ExitStack() as stack:
        yield Opener(stack)


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for `az`, by which Entra ID is asked; somebody is logged in."""
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "AzureCliCredential")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program = tmp_path / "az"
    says(program, {"accessToken": TOKEN, "expiresOn": "2099-01-01 00:00:00.000000", "expires_on": 4070908800})
    return program


def says(program: Path, answer: Mapping[str, Any]) -> None:
    program.write_text(ACCOUNT % json.dumps(answer))
    program.chmod(0o755)


@both_apis
@pytest.mark.parametrize("path", ["", "/", "/openai/v1", "/openai/v1/", "/openai"])
def test_a_key_opens_the_newest_api(opened: Opener, api: str, path: str) -> None:
    """Both APIs are below /openai/v1, however much of that the endpoint says; no date is asked for."""
    backend, server = opened(environ={"AZURE_OPENAI_API_KEY": KEY}, path=path, api=api)
    assert isinstance(one(backend), Reply)
    (heard,) = server.heard
    assert heard.path == f"/openai/v1/{'chat/completions' if api == 'chat' else 'responses'}"
    assert heard.headers["authorization"] == f"Bearer {KEY}"
    assert heard.body["model"] == MODEL
    assert all(text in heard.system for _, text in DOCUMENTS)
    assert heard.body["max_completion_tokens" if api == "chat" else "max_output_tokens"] == 1024


@both_apis
def test_a_date_chooses_the_api_of_that_time(opened: Opener, api: str) -> None:
    """As the library's own variable says; the deployment is then part of the address."""
    environ = {"AZURE_OPENAI_API_KEY": KEY, "OPENAI_API_VERSION": "2025-04-01-preview"}
    backend, server = opened(environ=environ, path="/openai/v1", api=api)
    assert isinstance(one(backend), Reply)
    (heard,) = server.heard
    path = f"deployments/{MODEL}/chat/completions" if api == "chat" else "responses"
    assert heard.path == f"/openai/{path}?api-version=2025-04-01-preview"
    assert heard.headers["api-key"] == KEY
    assert "authorization" not in heard.headers


def test_responses_are_its_usual_api(opened: Opener) -> None:
    """And its thoughts are not looked for in the text."""
    backend, server = opened(Said("<think>so</think>Done."), environ={"AZURE_OPENAI_API_KEY": KEY})
    reply = one(backend)
    assert isinstance(reply, Reply)
    assert reply.text == "<think>so</think>Done."
    assert server.heard[0].path.endswith("/responses")
    assert (backend.name, backend.settings) == (
        "azure_openai",
        {"api": "responses", "host": "127.0.0.1"},
    )


@pytest.mark.parametrize("version", ["", "2025-04-01-preview"])
def test_entra_id_opens_it_where_there_is_no_key(opened: Opener, account: Path, version: str) -> None:
    """Each call with the token of whoever is logged in, which is asked for once."""
    backend, server = opened(environ={"OPENAI_API_VERSION": version})
    assert [type(result) for result in backend.complete([REQUEST, REQUEST])] == [Reply, Reply]
    assert [heard.headers["authorization"] for heard in server.heard] == [f"Bearer {TOKEN}"] * 2
    assert all("api-key" not in heard.headers for heard in server.heard)
    (question,) = account.with_name("az.asked").read_text().splitlines()
    assert "https://cognitiveservices.azure.com" in question


def test_a_project_is_opened_by_a_token_for_it(opened: Opener, account: Path) -> None:
    """Its audience is another one."""
    backend, server = opened(environ={}, path="/api/projects/acme-api")
    assert isinstance(one(backend), Reply)
    assert server.heard[0].path == "/api/projects/acme-api/openai/v1/responses"
    assert "https://ai.azure.com" in account.with_name("az.asked").read_text()


def test_a_token_is_in_no_text(opened: Opener, account: Path) -> None:
    """A server that repeats it is not repeated."""
    backend, _ = opened(refusal(401, f"Access denied for {TOKEN}"), environ={})
    found = one(backend)
    assert found == CallFailed("auth", "127.0.0.1: Access denied for [key]")
    assert TOKEN not in repr(backend)


def test_nobody_logged_in_is_told(opened: Opener, account: Path) -> None:
    """In the words of Entra ID's library, and nothing is sent."""
    account.write_text('#!/bin/sh\necho "ERROR: Please run az login to set up an account." >&2\nexit 1\n')
    backend, server = opened(environ={})
    found = one(backend)
    assert isinstance(found, CallFailed)
    assert (found.kind, found.retryable) == ("auth", False)
    assert found.message.startswith("Entra ID gives no token (`az login`, or AZURE_OPENAI_API_KEY): ")
    assert "Please run" in found.message
    assert server.heard == []


@pytest.mark.parametrize(
    "environ", [{"AZURE_TENANT_ID": "not a tenant!"}, {"AZURE_AUTHORITY_HOST": "http://login.example"}]
)
def test_an_environment_that_cannot_be_is_told(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The library refuses it before anybody is asked."""
    for name, value in ({"AZURE_CLIENT_ID": "alice", "AZURE_CLIENT_SECRET": "correct-horse"} | environ).items():
        monkeypatch.setenv(name, value)
    if "AZURE_TENANT_ID" not in environ:
        monkeypatch.setenv("AZURE_TENANT_ID", "acme")
    with pytest.raises(ConfigError, match="Entra ID cannot be asked") as caught:
        openai_azure.door(asked(ENDPOINT, environ))
    assert "correct-horse" not in str(caught.value)


@pytest.mark.parametrize("version", ["", "2025-04-01-preview"])
def test_headers_for_another_server_do_not_go_there(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """What the environment has for OpenAI, or a gateway, is no matter of Azure's."""
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-key: header-secret")
    backend, server = opened(environ={"AZURE_OPENAI_API_KEY": KEY, "OPENAI_API_VERSION": version}, api="chat")
    assert isinstance(one(backend), Reply)
    assert "x-key" not in server.heard[0].headers


FAILURES: dict[str, tuple[Answer, str, bool]] = {
    "401": (refusal(401, f"Access denied due to invalid subscription key {KEY}", "401"), "auth", False),
    "403": (refusal(403, "Public access is disabled. Please configure private endpoint.", "403"), "auth", False),
    "no deployment": (refusal(404, "The API deployment does not exist.", "DeploymentNotFound"), "process", False),
    "429": (refusal(429, "Requests have exceeded the call rate limit", "429"), "rate", True),
    "429 for long": (refusal(429, "Requests have exceeded the limit", "429", retry_after="86400"), "rate", True),
    "filter": (refusal(400, "The response was filtered due to the prompt", "content_filter"), "refused", False),
    "500": (refusal(500, "The server had an error", kind="server_error"), "network", True),
    "half": (Broken("half"), "network", True),
    "reset": (Broken("reset"), "network", True),
    "a page": (Raw(200, b"<html>Sign in</html>", {"content-type": "text/html"}), "network", True),
    "truncated": (Said("Do", stop="length"), "truncated", False),
    "empty": (Said(""), "empty", False),
}


@pytest.mark.parametrize("version", ["", "2025-04-01-preview"])
@pytest.mark.parametrize("name", FAILURES)
def test_what_goes_wrong_is_told_as_what_it_is(opened: Opener, name: str, version: str) -> None:
    """By either client, in Azure's words and without the key."""
    answer, kind, retryable = FAILURES[name]
    backend, server = opened(answer, environ={"AZURE_OPENAI_API_KEY": KEY, "OPENAI_API_VERSION": version})
    found = one(backend)
    assert isinstance(found, CallFailed)
    assert (found.kind, found.retryable) == (kind, retryable), found
    assert KEY not in repr(found)
    assert len(server.heard) == 1


ALONE = """
from skillopt_git.backends import openai_azure
from tests.asking import asked, one

print(one(openai_azure.door(asked("http://127.0.0.1:1", {})).backend).kind)
"""


def test_nothing_is_said_beside_the_failure(account: Path) -> None:
    """The library would warn on the terminal, once a call."""
    account.write_text("#!/bin/sh\nexit 1\n")
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.stdout, done.stderr) == ("auth\n", "")


def test_a_token_follows_no_redirect(opened: Opener, account: Path) -> None:
    """It is for one host only."""
    with serving() as other:
        backend, _ = opened(Raw(307, b"", {"location": f"{other.address}/openai/v1/responses"}), environ={})
        found = one(backend)
    assert isinstance(found, CallFailed)
    assert found.kind == "process"
    assert other.heard == []


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://acme.openai.azure.com.example",
        "https://acmeopenai.azure.com",
        "https://openai.azure.com",
        "https://models.example/acme.openai.azure.com",
        "https://acme.openai.azure.com@models.example",
        "http://acme.openai.azure.com",
        "http://127.0.0.1.example",
        "ftp://acme.openai.azure.com",
        "acme.openai.azure.com",
        "https://",
    ],
)
@pytest.mark.parametrize("environ", [{"AZURE_OPENAI_API_KEY": KEY}, {}], ids=["key", "token"])
def test_what_opens_a_resource_goes_to_azure_only(endpoint: str, environ: Mapping[str, str]) -> None:
    """From the settings or the environment: nobody else gets it, and nobody may read along."""
    for given in (asked(endpoint, environ), asked("", {**environ, "AZURE_OPENAI_ENDPOINT": endpoint})):
        with pytest.raises(SafetyError, match="no address of Azure"):
            openai_azure.door(given)


def test_a_refused_address_is_told_without_what_opens_it() -> None:
    """A password in an address is one."""
    with pytest.raises(SafetyError, match=r"https://models\.example:444 is no address") as caught:
        openai_azure.door(asked("https://alice:secret@models.example:444"))
    assert "secret" not in str(caught.value)


def test_a_resource_is_not_told_whose_openai_account_there_is(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """By either client; and it has room for thoughts."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-acme")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-acme")
    for version in ("", "2025-04-01-preview"):
        backend, server = opened(environ={"AZURE_OPENAI_API_KEY": KEY, "OPENAI_API_VERSION": version})
        one(backend)
        assert "acme" not in str(server.heard[0].headers)
    assert openai_azure.door(asked(ENDPOINT)).beyond == THINKING_ROOM


@pytest.mark.parametrize("host", ["openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"])
def test_each_of_its_domains_is_azure(host: str) -> None:
    """A resource is below one of three."""
    given = asked("", {"AZURE_OPENAI_ENDPOINT": f"https://acme.{host}/", "AZURE_OPENAI_API_KEY": KEY})
    backend = cast("Calls", openai_azure.door(given).backend)
    assert str(backend.client.base_url) == f"https://acme.{host}/openai/v1/"


def test_resource_and_deployment_have_to_be_named() -> None:
    """There is nothing usual about either."""
    with pytest.raises(UsageError, match="no Azure resource is named"):
        openai_azure.door(asked())
    with pytest.raises(UsageError, match="no model is named for azure_openai"):
        openai_azure.door(asked(ENDPOINT, model=""))


def test_a_named_key_that_is_missing_is_not_replaced_by_a_token() -> None:
    """Who names a variable does not mean whoever is logged in."""
    with pytest.raises(BackendError, match="no key for azure_openai") as caught:
        openai_azure.door(asked(ENDPOINT, {"AZURE_OPENAI_API_KEY": KEY}, key_env="ACME_KEY"))
    assert "ACME_KEY" in caught.value.hint


def test_a_missing_library_is_told_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key needs the one library, Entra ID both."""
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    assert roles.about("azure_openai").keys == ("AZURE_OPENAI_API_KEY",)
    openai_azure.door(asked(ENDPOINT))
    with pytest.raises(ConfigError, match=r"azure_openai needs the package azure\.identity") as caught:
        openai_azure.door(asked(ENDPOINT, {}))
    assert caught.value.hint == "pip install 'skillopt-git[azure]'"
