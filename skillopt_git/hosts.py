"""Names of servers: out of addresses, on this machine or not, among known ones. Nothing is resolved or connected to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import parse_qsl, unquote, urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SHORTEST_SECRET = 8  # characters; a shorter one would stand in other words


def host(address: str) -> str:
    """The host that an address of the web names; "" where it is no such address, or one in which programs differ about
    what the host is: some take a backslash for a slash, or pass over a blank."""
    if re.search(r"[\s\\\x00-\x20\x7f]", address):
        return ""
    try:
        found = urlsplit(address)
    except ValueError:
        return ""
    return (found.hostname or "") if found.scheme in ("http", "https") else ""


def opens(address: str) -> tuple[str, ...]:
    """What in an address may be a secret: its password, and what its query says."""
    if not host(address):
        return ()
    found = urlsplit(address)
    said = (found.password or "", unquote(found.password or ""), *(value for _, value in parse_qsl(found.query)))
    return tuple(value for value in dict.fromkeys(said) if len(value) >= _SHORTEST_SECRET)


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
