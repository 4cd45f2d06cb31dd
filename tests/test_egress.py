"""What may leave this machine, and where it may go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from skillopt_git.doors import About
from skillopt_git.egress import Destination, destination, refuse_unasked
from skillopt_git.errors import SafetyError, UsageError
from skillopt_git.ports import Role

ACME = About(
    name="acme",
    title="",
    documents="",
    setup="",
    leaves="",
    cost="",
    limits="",
    model="acme-1",
    hosts=("api.acme.example", ".models.acme.example"),
    address="ACME_BASE_URL",
)


def going(about: About = ACME, environ: dict[str, str] | None = None, **fields: Any) -> Destination:
    given: dict[str, Any] = {"model": "", "base_url": "", "hosts": ()} | fields
    return destination("target", about, environ=environ or {}, **given)


def test_a_backend_speaks_to_its_usual_host() -> None:
    """Unless somebody said otherwise; of one that is below a name, the name."""
    assert going(replace(ACME, hosts=ACME.hosts[1:])).host == "models.acme.example"
    assert (going().host, going().model, going().here) == ("api.acme.example", "acme-1", False)
    assert going(model="acme-2").told == "acme (acme-2) at api.acme.example"


@pytest.mark.parametrize("address", ["http://127.0.0.1:8080/v1", "http://localhost:1", "http://[::1]:8080"])
def test_this_machine_needs_no_encryption(address: str) -> None:
    assert going(base_url=address).here
    assert "on this machine" in going(base_url=address).told


@pytest.mark.parametrize(
    "address", ["http://api.acme.example/v1", "http://gateway.example", "http://127.0.0.1.example"]
)
def test_another_machine_is_not_spoken_to_in_the_clear(address: str) -> None:
    with pytest.raises(SafetyError, match="without encryption"):
        going(base_url=address)


def test_an_address_of_ones_own_settings_is_an_allowed_host() -> None:
    """Whoever wrote it there meant it."""
    assert going(base_url="https://gateway.example/v1").host == "gateway.example"


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("api.acme.example", True),
        ("eu.models.acme.example", True),
        ("gateway.example", True),
        ("models.acme.example.evil.example", False),
        ("evil-api.acme.example", False),
        ("elsewhere.example", False),
    ],
)
def test_an_address_from_the_environment_counts_only_if_its_host_is_known(host: str, allowed: bool) -> None:
    """Another program may have put it there."""
    environ = {"ACME_BASE_URL": f"https://{host}/v1"}
    if allowed:
        assert going(environ=environ, hosts=("gateway.example",)).host == host
        return
    with pytest.raises(SafetyError, match=host) as raised:
        going(environ=environ, hosts=("gateway.example",))
    assert f'replay.hosts = ["{host}"]' in raised.value.hint


@pytest.mark.parametrize(
    "address",
    ["gateway.example?key=hunter2", "https://", "file:///etc/hunter2", "https://[::1", "ftp://alice:hunter2@a.example"],
)
def test_what_is_no_address_is_said(address: str) -> None:
    """By where it stands: what may open it is in it."""
    with pytest.raises(UsageError, match=r"^what replay\.base_url holds is no address of a server") as caught:
        going(base_url=address)
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"
    with pytest.raises(UsageError, match=r"^what ACME_BASE_URL holds is no address of a server") as caught:
        going(environ={"ACME_BASE_URL": address})
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


def test_what_opens_an_address_is_not_told() -> None:
    """Host and nothing else."""
    assert (
        going(base_url="https://alice:hunter2@gateway.example/v1?key=hunter2").told
        == "acme (acme-1) at gateway.example"
    )
    with pytest.raises(SafetyError) as caught:
        going(environ={"ACME_BASE_URL": "https://alice:hunter2@gateway.example/v1?key=hunter2"})
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


def test_nothing_is_sent_before_somebody_said_what_may_be() -> None:
    """This machine, and a backend that sends nothing, need no word."""
    silent = About(name="paper", title="", documents="", setup="", leaves="", cost="", limits="", sends=False)
    here = (going(silent), going(base_url="http://127.0.0.1:1"))
    refuse_unasked(here, "")
    refuse_unasked((*here, going()), "reviewed")
    with pytest.raises(UsageError, match="nobody said what may be sent to acme"):
        refuse_unasked((*here, going()), "")
    assert going(silent).told == "paper, which sends nothing"


@pytest.mark.parametrize(
    "address", ["ftp://alice:hunter2pass@host/v1", "models.example/v1?key=hunter2pass", "https:///v1?hunter2pass"]
)
@pytest.mark.parametrize(
    ("role", "name"), [("target", "replay.base_url"), ("optimizer", "replay.optimizer_base_url"), ("target", "")]
)
def test_an_address_is_never_quoted(address: str, role: Role, name: str) -> None:
    """A password or a key may stand in it: what holds it is named instead."""
    environ = {"ACME_BASE_URL": address}
    with pytest.raises(UsageError) as caught:
        destination(role, ACME, model="", base_url=address if name else "", environ=environ, hosts=())
    assert str(caught.value) == f"what {name or 'ACME_BASE_URL'} holds is no address of a server"
    assert "hunter2pass" not in caught.value.hint


@pytest.mark.parametrize("address", ["https://alice:hunter2pass@elsewhere.example/v1?key=hunter2pass"])
def test_what_is_told_of_an_address_is_its_host(address: str) -> None:
    assert going(base_url=address).told == "acme (acme-1) at elsewhere.example"
    for given in ({"environ": {"ACME_BASE_URL": address}}, {"base_url": address.replace("https", "http")}):
        with pytest.raises(SafetyError) as caught:
            going(**given)
        assert "elsewhere.example" in caught.value.message
        assert "hunter2pass" not in caught.value.message + caught.value.hint
