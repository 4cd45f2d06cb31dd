"""What the `claude` program gets of the environment: what it needs to start, to log in and to reach its service."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from skillopt_git.doors import Asked
from skillopt_git.errors import SafetyError

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
ADDRESS = "ANTHROPIC_BASE_URL"

_KEPT = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY "
    "http_proxy https_proxy all_proxy no_proxy NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR CLAUDE_CONFIG_DIR "
    "CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_CERT_STORE CLAUDE_CODE_CLIENT_CERT CLAUDE_CODE_CLIENT_KEY "
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE SYSTEMROOT SYSTEMDRIVE COMSPEC PATHEXT USERPROFILE APPDATA LOCALAPPDATA".split()
)
_KEPT_FORMS = ("LC_", "ANTHROPIC_")
_ROUTE = re.compile(r"ANTHROPIC_\w*(?:BASE_URL|HOST|SOCKET)")  # other ways out than the one that was looked at
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|HEADERS|_proxy$", re.IGNORECASE)
_SHORTEST_SECRET = 8  # characters; a shorter one would stand in other words

_SWITCHES = dict.fromkeys(
    (
        "CLAUDE_CODE_DISABLE_ATTACHMENTS",  # files named by @ in a prompt
        "CLAUDE_CODE_DISABLE_CLAUDE_MDS",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
        "CLAUDE_CODE_DISABLE_ORG_MEMORY",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS",
        "CLAUDE_CODE_DISABLE_POLICY_SKILLS",
        "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK",  # another model would answer
        "CLAUDE_CODE_DISABLE_MODEL_ACCESS_FALLBACK",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
    ),
    "1",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cloud:
    """A cloud that serves the models, too: the variable that chooses it, where it is, and what it needs."""

    use: str
    host: str
    address: str
    needs: tuple[str, ...]


_CLOUDS = (
    _Cloud(
        use="CLAUDE_CODE_USE_BEDROCK",
        host=".amazonaws.com",
        address="ANTHROPIC_BEDROCK_BASE_URL",
        needs=("AWS_", "CLAUDE_CODE_SKIP_BEDROCK_AUTH"),
    ),
    _Cloud(
        use="CLAUDE_CODE_USE_VERTEX",
        host=".googleapis.com",
        address="ANTHROPIC_VERTEX_BASE_URL",
        needs=("GOOGLE_", "GCLOUD_", "CLOUDSDK_", "CLOUD_ML_", "VERTEX_", "CLAUDE_CODE_SKIP_VERTEX_AUTH"),
    ),
    _Cloud(
        use="CLAUDE_CODE_USE_FOUNDRY",
        host=".azure.com",
        address="ANTHROPIC_FOUNDRY_BASE_URL",
        needs=("AZURE_", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH"),
    ),
)


CLOUDS = tuple(cloud.use for cloud in _CLOUDS)


def child_environment(asked: Asked) -> dict[str, str]:
    """A key of `key_env` takes the place of any other, and of a login; an address of ours that of any cloud.

    Raises `SafetyError` for a cloud whose host nobody allowed: the variable may be there for another program.
    """
    environ, cloud = asked.environ, _cloud(asked)
    chosen = (cloud.use, cloud.address) if cloud else (ADDRESS,)
    forms = _KEPT_FORMS + (cloud.needs if cloud else ())
    kept = {name: value for name, value in environ.items() if name in _KEPT or name.startswith(forms)}
    kept = {name: value for name, value in kept.items() if not _ROUTE.fullmatch(name)}
    kept |= {name: environ[name] for name in chosen if name in environ}
    if asked.key_env:
        kept = {name: value for name, value in kept.items() if name not in KEYS}
        kept["ANTHROPIC_API_KEY"] = asked.key(KEYS)
    if asked.base_url:
        kept[ADDRESS] = asked.base_url
    limits = {
        "CLAUDE_CODE_MAX_RETRIES": str(asked.replay.retries),
        "API_TIMEOUT_MS": str(round(asked.replay.timeout * 1000)),
    }
    return kept | _SWITCHES | limits


def secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """What must stand in no text."""
    return tuple(value for name, value in environ.items() if len(value) >= _SHORTEST_SECRET and _SECRET.search(name))


def _cloud(asked: Asked) -> _Cloud | None:
    if asked.base_url:
        return None
    found = next((cloud for cloud in _CLOUDS if asked.environ.get(cloud.use, "0") not in ("", "0", "false")), None)
    if found is not None:
        address = asked.environ.get(found.address, "")
        host = (urlsplit(address).hostname or address) if address else found.host
        if not _allowed(host, asked.replay.hosts):
            raise SafetyError(
                f"{found.use} sends what is asked to {host.removeprefix('.')}, which is no host of claude",
                f'if that is meant, name it in your own settings: replay.hosts = ["{host}"]',
            )
    return found


def _allowed(host: str, known: tuple[str, ...]) -> bool:
    return any(host == name or (name.startswith(".") and host.endswith(name)) for name in known)
