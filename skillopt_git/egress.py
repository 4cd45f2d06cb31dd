"""What may leave this machine for a model, and where it may go. Nothing is resolved or connected to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from skillopt_git.doors import About, Service
from skillopt_git.errors import SafetyError, UsageError
from skillopt_git.hosts import among, host, is_here
from skillopt_git.ports import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """To whom the requests of one role go. `host` is "" where nothing is sent by the backend itself; `here`: to this
    machine only."""

    role: Role
    backend: str
    model: str
    host: str
    here: bool

    @property
    def told(self) -> str:
        """In words, for a person."""
        if not self.host:
            return f"{self.backend}, which sends nothing"
        model = f" ({self.model})" if self.model else ""
        return f"{self.backend}{model} at {self.host}{', on this machine' if self.here else ''}"


def destination(
    role: Role,
    about: About,
    *,
    model: str,
    base_url: str,
    environ: Mapping[str, str],
    hosts: Sequence[str],
) -> Destination:
    """Where a role's requests go. `hosts` are those that a person allowed beside the backend's own.

    An address in the environment may have been put there for another program: its host counts only if it is known or
    allowed. Raises `SafetyError` for another host, and for one that would be spoken to in the clear.
    """
    named = about.name, model or about.model
    if not about.sends:
        return Destination(role=role, backend=named[0], model=named[1], host="", here=True)
    own = "replay.base_url" if role == "target" else "replay.optimizer_base_url"
    service = None if base_url else service_of(about.name, about.services, environ, hosts)
    variable = service.address if service else about.address
    address = base_url or environ.get(variable, "")
    usual = (service.host if service else next(iter(about.hosts), "")).removeprefix(".")
    name = _host(address, own if base_url else variable) if address else usual
    here = is_here(name)
    if address and not here:
        if urlsplit(address).scheme != "https":
            raise SafetyError(f"{name} would be spoken to without encryption", "its address must begin with https://")
        if not base_url and not service and not among(name, (*about.hosts, *hosts)):
            raise _strange(variable, name, about.name)
    return Destination(role=role, backend=named[0], model=named[1], host=name, here=here)


def service_of(
    backend: str, services: Sequence[Service], environ: Mapping[str, str], hosts: Sequence[str]
) -> Service | None:
    """The service that the environment chooses in the place of the backend's own, None for its own. `hosts` are those
    that a person allowed. Raises `SafetyError` where its host is none of them: the variable may be another program's.
    """
    found = next((item for item in services if environ.get(item.use, "0") not in ("", "0", "false")), None)
    if found is not None:
        address = environ.get(found.address, "")
        name = _host(address, found.address) if address else found.host
        if not is_here(name) and not among(name, hosts):
            raise _strange(found.use, name, backend)
    return found


def _strange(variable: str, name: str, backend: str) -> SafetyError:
    return SafetyError(
        f"{variable} sends what is asked to {name.removeprefix('.')}, which is no host of {backend}",
        f'if that is meant, name it in your own settings: replay.hosts = ["{name}"]',
    )


def refuse_unasked(destinations: Sequence[Destination], send: str) -> None:
    """Raises `UsageError` where something would leave this machine and nobody said that it may."""
    away = sorted({item.told for item in destinations if not item.here})
    if away and not send:
        raise UsageError(
            f"nobody said what may be sent to {' and '.join(away)}",
            '`replay.send = "reviewed"` sends only tasks that people reviewed, "mined" also your sessions and what was '
            "mined from them, redacted; `skillopt-git init` asks, your own settings file or SKILLOPT_REPLAY_SEND says "
            "it, and `skillopt-git dry-run --outgoing` shows what it would be",
        )


def _host(address: str, named_by: str) -> str:
    """Raises `UsageError`, which does not quote the address: a password or a key may stand in it."""
    found = host(address)
    if not found:
        raise UsageError(f"what {named_by} holds is no address of a server", "one is such as https://models.example/v1")
    return found
