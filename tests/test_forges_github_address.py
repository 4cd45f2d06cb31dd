"""Which GitHub a remote is at, and which token goes there: never another's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import skillopt_git
from skillopt_git import wiring
from skillopt_git.config import Config, Propose
from skillopt_git.errors import ForgeError, UsageError
from skillopt_git.forges.github_address import Address, repository_of
from skillopt_git.forges.github_token import Token, from_gh, token_for
from skillopt_git.gitrepo import GitRepo
from skillopt_git.ports import Forge
from tests.helpers import Repository
from tests.standins import StandIns

OWNERS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}", fullmatch=True)
NAMES = st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,30}[A-Za-z0-9_-]", fullmatch=True)
FORMS = st.sampled_from(
    [
        "https://{host}/{path}",
        "https://{host}:443/{path}",
        "https://alice:s3cret@{host}/{path}",
        "https://x-access-token:s3cret@{host}/{path}/",
        "http://{host}/{path}",
        "ssh://git@{host}/{path}",
        "ssh://git@{host}:2222/{path}",
        "git+ssh://git@{host}/{path}",
        "git://{host}/{path}",
        "git@{host}:{path}",
        "git@{host}:/{path}",
        "{host}:{path}",
    ]
)
APIS = st.sampled_from(
    [
        ("github.com", "https://api.github.com"),
        ("acme.ghe.com", "https://api.acme.ghe.com"),
        ("github.example", "https://github.example/api/v3"),
        ("acme-github.example", "https://acme-github.example/api/v3"),
    ]
)


@given(owner=OWNERS, name=NAMES, form=FORMS, api=APIS, end=st.sampled_from(["", ".git"]))
def test_every_form_of_an_address_is_one_repository(
    owner: str, name: str, form: str, api: tuple[str, str], end: str
) -> None:
    """By https, with the port of a web address only, and without what it says about a user."""
    host, expected = api
    if name.endswith(".git"):
        name = f"{name}x"
    url = form.format(host=host, path=f"{owner}/{name}{end}")
    assert repository_of(url, {}) == Address(expected, owner, name, host)


@given(url=st.text() | st.from_regex(r"[a-z+]{0,5}:?/{0,3}[\w@.:\[\]-]{0,20}[:/][\w./-]{0,20}"), named=st.text())
def test_whatever_a_remote_is_called_nothing_breaks(url: str, named: str) -> None:
    """And what is found is a part of a path, at the host that was named."""
    environ = {"GITHUB_API_URL": named, "GITHUB_SERVER_URL": named, "GH_HOST": named}
    found = repository_of(url, environ)
    if found is not None:
        assert found.host in found.api
        assert found.host in url.lower()
        assert not {found.owner, found.name} & {".", "..", ""}
        assert "/" not in f"{found.owner}{found.name}"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "../acme-api",
        "/srv/git/acme/acme-api.git",
        "file:///srv/acme/acme-api.git",
        "C:\\work\\acme-api",
        "https://github.com/acme",
        "https://github.com/acme/acme-api/tree/main",
        "https://github.com/acme/..",
        "https://github.com/../acme-api",
        "https://github.com/acme/%2e%2e",
        "https://github.com:port/acme/acme-api",
        "https://[::1/acme/acme-api",
        "https://gitlab.example/acme/acme-api",
        "https://github.com.mallory.invalid.example:x/acme/acme-api",
        "https://notgithub.example/acme/acme-api",
        "https://127.0.0.1/acme/acme-api",
    ],
)
def test_what_is_no_github_gets_no_token(url: str) -> None:
    """A path of that form is nothing to go by."""
    assert repository_of(url, {}) is None


@pytest.mark.parametrize(
    ("url", "environ", "api"),
    [
        ("https://www.github.com/acme/acme-api", {}, "https://api.github.com"),
        ("ssh://git@ssh.github.com:443/acme/acme-api.git", {}, "https://api.github.com"),
        ("https://GitHub.com/acme/acme-api", {}, "https://api.github.com"),
        ("https://github.example:8443/acme/acme-api", {}, "https://github.example:8443/api/v3"),
        ("https://code.example/acme/acme-api", {"GH_HOST": "code.example"}, "https://code.example/api/v3"),
        (
            "git@code.example:acme/acme-api",
            {"GITHUB_SERVER_URL": "https://code.example"},
            "https://code.example/api/v3",
        ),
        ("git@code.example:acme/acme-api", {"GITHUB_API_URL": "https://api.code.example/"}, "https://api.code.example"),
        ("git@code.example:acme/acme-api", {"GITHUB_API_URL": "https://code.example/v3"}, "https://code.example/v3"),
        ("git@code.example:acme/acme-api", {"GITHUB_API_URL": "http://code.example/v3"}, None),
        ("git@code.example:acme/acme-api", {"GITHUB_API_URL": "https://[half"}, None),
        ("https://github.com/acme/acme-api", {"GITHUB_API_URL": "https://other.example"}, "https://api.github.com"),
        ("http://127.0.0.1:8000/acme/acme-api.git", {}, "http://127.0.0.1:8000"),
        ("http://127.0.0.1:80/acme/acme-api", {"GITHUB_API_URL": "http://127.0.0.1:81"}, "http://127.0.0.1:81"),
    ],
)
def test_where_the_api_answers(url: str, environ: Mapping[str, str], api: str | None) -> None:
    """The environment may say it, for a host that it belongs to."""
    found = repository_of(url, environ)
    assert (found and found.api) == api


# --- tokens ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SKILLOPT_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"])
def test_the_tools_own_variable_is_first(name: str) -> None:
    """Then GitHub's, then that of `gh`; an empty one is none."""
    names = ["SKILLOPT_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"]
    environ = {other: f"of-{other}" if names.index(other) >= names.index(name) else " " for other in names}
    found = token_for("github.com", environ, lambda _: "of-gh")
    assert found is not None
    assert (found.value, found.source) == (f"of-{name}", name)


def test_then_the_gh_command_is_asked() -> None:
    """For that host; nobody having one is an answer."""
    assert token_for("github.com", {}, lambda host: f"for-{host}") == Token("for-github.com", "gh auth token")
    assert token_for("github.com", {}, lambda _: None) is None


@pytest.mark.parametrize(
    ("host", "environ", "sent"),
    [
        ("github.com", {}, True),
        ("acme.ghe.com", {}, True),
        ("github.example", {}, False),
        ("github.example", {"GITHUB_SERVER_URL": "https://github.example"}, True),
        ("github.com", {"GITHUB_SERVER_URL": "https://github.example"}, False),
        ("acme.ghe.com", {"GITHUB_SERVER_URL": "https://github.example"}, False),
        ("github.example", {"GH_HOST": "github.example"}, True),
        ("127.0.0.1", {}, True),
    ],
)
@pytest.mark.parametrize("name", ["SKILLOPT_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"])
def test_what_the_environment_holds_is_for_one_host(
    host: str, environ: Mapping[str, str], sent: bool, name: str
) -> None:
    """A remote's name is no reason to send it to another; what `gh` knows is for that very host."""
    found = token_for(host, {**environ, name: "held"}, lambda _: "known")
    assert found is not None
    assert found.value == ("held" if sent else "known")


@pytest.mark.parametrize(
    ("value", "environ", "kind"),
    [
        ("ghp_x", {}, "classic"),
        ("github_pat_x", {}, "fine-grained"),
        ("gho_x", {}, "oauth"),
        ("ghs_x", {}, "app"),
        ("ghs_x", {"GITHUB_ACTIONS": "true", "GITHUB_TOKEN": "ghs_x"}, "actions"),
        ("ghs_x", {"GITHUB_ACTIONS": "true", "GITHUB_TOKEN": "ghs_y"}, "app"),
        ("0123abcd", {}, "unknown"),
    ],
)
def test_a_token_tells_its_kind(value: str, environ: Mapping[str, str], kind: str) -> None:
    """By how it begins, and shows itself to nobody."""
    found = token_for("github.com", {**environ, "SKILLOPT_GITHUB_TOKEN": value})
    assert found is not None
    assert found.kind == kind
    assert value not in repr(found)


@pytest.mark.parametrize("value", ["two words", "line\nline", "schlüssel", "x\x00y"])
def test_what_cannot_be_a_token_is_not_sent_and_not_told(value: str) -> None:
    """The library that is asked to send it would tell it in full."""
    with pytest.raises(ForgeError, match="what GITHUB_TOKEN holds is no token") as caught:
        token_for("github.com", {"GITHUB_TOKEN": value})
    assert caught.value.kind == "auth"
    assert value not in f"{caught.value.message}{caught.value.hint}"


def gh(standins: StandIns, script: str) -> None:
    program = Path(standins.path.split(":")[0]) / "gh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_gh_is_asked_for_the_host(standins: StandIns) -> None:
    """It prints the token; none is given to it."""
    gh(standins, '[ "$*" = "auth token --hostname github.example" ] && echo gho_x')
    assert from_gh("github.example") == "gho_x"
    assert from_gh("github.com") is None


@pytest.mark.parametrize("script", ["exit 1", "echo", "echo two words", "echo gho_x; exit 4"])
def test_a_gh_that_knows_none_is_left(standins: StandIns, script: str) -> None:
    """As one that is not there."""
    assert from_gh("github.com") is None
    gh(standins, script)
    assert from_gh("github.com") is None


# --- which forge -------------------------------------------------------------------------------------------------


def forge(repo: Repository, environ: Mapping[str, str], *, remote: str = "") -> Forge:
    return wiring.forge(Config(propose=Propose(remote=remote)), GitRepo.open(repo.path), environ)


def test_the_remote_decides(repo: Repository, standins: StandIns) -> None:
    """The one that is pushed to, the user's own short forms spelt out."""
    repo.git("remote", "add", "origin", "https://gitlab.example/acme/acme-api")
    repo.git("remote", "add", "github", "gh:acme/acme-api")
    repo.git("config", "--global", "url.https://github.com/.insteadOf", "gh:")
    assert forge(repo, {"GITHUB_TOKEN": "ghp_x"}, remote="github").name == "github"
    with pytest.raises(UsageError, match="is no repository at GitHub"):
        forge(repo, {"GITHUB_TOKEN": "ghp_x"})


@pytest.mark.parametrize(
    ("url", "error", "words", "hint"),
    [
        (None, UsageError, "there is no one remote", "git remote add"),
        ("https://alice:s3cret@gitlab.example/a/b", UsageError, "//gitlab.example/a/b, is no repository", "GH_HOST"),
        ("git@github.com:acme/acme-api.git", ForgeError, "no token for github.com", "SKILLOPT_GITHUB_TOKEN"),
        (
            "git@github.example:acme/acme-api.git",
            ForgeError,
            "no token for github.example",
            "GH_HOST to github.example",
        ),
    ],
)
def test_where_there_is_none_it_says_why(
    repo: Repository, standins: StandIns, url: str | None, error: type[Exception], words: str, hint: str
) -> None:
    """And what to do; whoever does not need one goes on without."""
    if url:
        repo.git("remote", "add", "origin", url)

    with pytest.raises(error, match=words) as caught:
        forge(repo, {})
    assert hint in caught.value.hint  # type: ignore[attr-defined]
    assert "s3cret" not in str(caught.value)


def test_no_other_verb_pays_for_the_library(repo: Repository) -> None:
    """It is loaded with the first question."""
    repo.git("remote", "add", "origin", "https://github.com/acme/acme-api")
    code = """
import pathlib, sys
from skillopt_git import cli, config, gitrepo, wiring
opened = gitrepo.GitRepo.open(pathlib.Path("."))
forge = wiring.forge(config.Config(), opened, {"GITHUB_TOKEN": "ghp_x"})
print(forge.name, sorted({"github", "requests"} & set(sys.modules)))
"""
    environ = {**os.environ, "PYTHONPATH": str(Path(skillopt_git.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], cwd=repo.path, env=environ, capture_output=True, check=True)
    assert done.stdout.decode() == "github []\n"
