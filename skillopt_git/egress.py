"""What may leave this machine for a model, and where it may go. Nothing is resolved or connected to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from skillopt_git.doors import About
from skillopt_git.errors import SafetyError, UsageError
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
    address = base_url or environ.get(about.address, "")
    own = "replay.base_url" if role == "target" else "replay.optimizer_base_url"
    host = _host(address, own if base_url else about.address) if address else next(iter(about.hosts), "")
    here = _is_here(host)
    if address and not here:
        if urlsplit(address).scheme != "https":
            raise SafetyError(f"{host} would be spoken to without encryption", "its address must begin with https://")
        if not base_url and not _among(host, (*about.hosts, *hosts)):
            raise SafetyError(
                f"{about.address} sends what is asked to {host}, which is no host of {about.name}",
                f'if that is meant, name it in your own settings: replay.hosts = ["{host}"]',
            )
    return Destination(role=role, backend=named[0], model=named[1], host=host, here=here)


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
    try:
        found = urlsplit(address)
        host = found.hostname
    except ValueError:
        host = None
    if not host or found.scheme not in ("http", "https"):
        raise UsageError(f"{named_by} is no address of a server", "one is such as https://models.example/v1")
    return host


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _among(host: str, known: Sequence[str]) -> bool:
    """A known name that begins with a dot stands for every host below it."""
    return any(host == name or (name.startswith(".") and host.endswith(name)) for name in known)
