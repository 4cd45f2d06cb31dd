"""Which repository of which GitHub a remote's URL stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

PUBLIC = "github.com"
RESIDENT = ".ghe.com"  # companies whose data stays in one region
_ALIASES = {"www.github.com": PUBLIC, "ssh.github.com": PUBLIC}
_LOOPBACK = frozenset({"127.0.0.1", "localhost"})
_SCHEMES = frozenset({"https", "http", "ssh", "git+ssh", "git"})
_SCP_LIKE = re.compile(r"(?:[^@/\s]+@)?([A-Za-z0-9][A-Za-z0-9.-]+):(?!//)(\S+)")
_PATH = re.compile(r"/*([A-Za-z0-9][\w-]{0,99})/([\w.-]{1,100}?)(?:\.git)?/*", re.ASCII)
_NAMED_SO = re.compile(r"(?:^|[.-])(?:github|ghe)(?:[.-]|$)")


@dataclass(frozen=True, slots=True)
class Address:
    """`api` is where the repository's API answers, `host` where people see it."""

    api: str
    owner: str
    name: str
    host: str


def repository_of(url: str, environ: Mapping[str, str]) -> Address | None:
    """None where the URL is none of a GitHub: a token must not go to a host that merely has a path of that form.

    Another host than github.com is one by its name, or where `GITHUB_API_URL`, `GITHUB_SERVER_URL` or `GH_HOST` say so.
    What the URL says about a user, or a password, is left out.
    """
    try:
        parts = _parts(url)
        port = parts.port if parts else None
    except ValueError:  # no number as the port, or half an IPv6 address
        return None
    path = _PATH.fullmatch(parts.path) if parts else None
    if parts is None or path is None or path[2] in {".", "..", ".git"}:
        return None
    host = _ALIASES.get(parts.hostname or "", parts.hostname or "")
    api = _api(host, port if parts.scheme in {"http", "https"} else None, environ)
    return Address(api, path[1], path[2], host) if api else None


def spoken_for(environ: Mapping[str, str]) -> str:
    """The host that the tokens in the environment are for."""
    return _host(environ.get("GITHUB_SERVER_URL", "")) or environ.get("GH_HOST", "").lower() or PUBLIC


def may_have(host: str, environ: Mapping[str, str]) -> bool:
    """Whether `host` may be sent what the environment holds: it is the one, or this machine, or GitHub's own too."""
    meant = spoken_for(environ)
    return host == meant or host in _LOOPBACK or (meant == PUBLIC and host.endswith(RESIDENT))


def _parts(url: str) -> SplitResult | None:
    scp = _SCP_LIKE.fullmatch(url)
    parts = urlsplit(f"ssh://{scp[1]}/{scp[2].lstrip('/')}" if scp else url)
    return parts if parts.scheme in _SCHEMES and parts.hostname else None


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _api(host: str, port: int | None, environ: Mapping[str, str]) -> str | None:
    """By https, whatever the remote is reached by; only a server on this machine may speak plain http."""
    named = environ.get("GITHUB_API_URL", "").rstrip("/")
    at = f":{port}" if port and (port != 443 or host in _LOOPBACK) else ""
    if _host(named) in {host, f"api.{host}"} and (named.startswith("https://") or host in _LOOPBACK):
        return named
    if host in _LOOPBACK:
        return f"http://{host}{at}" if at else None
    if host == PUBLIC or host.endswith(RESIDENT):
        return f"https://api.{host}"
    said = {_host(environ.get("GITHUB_SERVER_URL", "")), environ.get("GH_HOST", "").lower()}
    return f"https://{host}{at}/api/v3" if host in said or _NAMED_SO.search(host) else None
