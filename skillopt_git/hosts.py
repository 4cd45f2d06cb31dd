"""Names of servers: out of addresses, on this machine or not, among known ones. Nothing is resolved or connected to."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def host(address: str) -> str:
    """The host that an address of the web names; "" where it is no such address."""
    try:
        found = urlsplit(address)
    except ValueError:
        return ""
    return (found.hostname or "") if found.scheme in ("http", "https") else ""


def place(address: str) -> str:
    """Host and port: of the models of one name behind two ports, each is its own. Without the port on this machine,
    where a server gets another one each time it is started. What may open it is no part of it."""
    name = host(address)
    return name if not name or is_here(name) else urlsplit(address).netloc.rpartition("@")[2].lower()


def is_here(name: str) -> bool:
    """Whether a host is this machine."""
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def among(name: str, known: Iterable[str]) -> bool:
    """A known name that begins with a dot stands for every host below it."""
    return any(name == one or (one.startswith(".") and name.endswith(one)) for one in known)
