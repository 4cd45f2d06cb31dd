"""What the `claude` program gets of the environment: what it needs to start, to log in and to reach its service."""

from __future__ import annotations

import re
from collections.abc import Mapping

from skillopt_git.doors import Asked, Service, header_values
from skillopt_git.egress import service_of
from skillopt_git.hosts import LOOPBACK, host, is_here, opens

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
ADDRESS = "ANTHROPIC_BASE_URL"
HEADERS = "ANTHROPIC_CUSTOM_HEADERS"

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


CLOUDS = (
    Service(
        use="CLAUDE_CODE_USE_BEDROCK",
        host=".amazonaws.com",
        address="ANTHROPIC_BEDROCK_BASE_URL",
        needs=("AWS_", "CLAUDE_CODE_SKIP_BEDROCK_AUTH"),
    ),
    Service(
        use="CLAUDE_CODE_USE_VERTEX",
        host=".googleapis.com",
        address="ANTHROPIC_VERTEX_BASE_URL",
        needs=("GOOGLE_", "GCLOUD_", "CLOUDSDK_", "CLOUD_ML_", "VERTEX_", "CLAUDE_CODE_SKIP_VERTEX_AUTH"),
    ),
    Service(
        use="CLAUDE_CODE_USE_FOUNDRY",
        host=".azure.com",
        address="ANTHROPIC_FOUNDRY_BASE_URL",
        needs=("AZURE_", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH"),
    ),
)


def child_environment(asked: Asked) -> dict[str, str]:
    """A key of `key_env` takes the place of any other, and of a login; an address of ours that of any cloud.

    Raises `SafetyError` for a cloud whose host nobody allowed: the variable may be there for another program.
    """
    environ = asked.environ
    cloud = None if asked.base_url else service_of("claude", CLOUDS, environ, asked.replay.hosts)
    chosen = (cloud.use, cloud.address) if cloud else (ADDRESS,)
    forms = _KEPT_FORMS + (cloud.needs if cloud else ())
    kept = {name: value for name, value in environ.items() if name in _KEPT or name.startswith(forms)}
    kept = {name: value for name, value in kept.items() if not _ROUTE.fullmatch(name)}
    kept |= {name: environ[name] for name in chosen if name in environ}
    if asked.key_env:
        kept = {name: value for name, value in kept.items() if name not in KEYS}
        kept["ANTHROPIC_API_KEY"] = asked.key(KEYS)
    if asked.base_url:  # what else the environment says was meant for another
        kept[ADDRESS] = asked.base_url
        kept.pop(HEADERS, None)
    limits = {
        "CLAUDE_CODE_MAX_RETRIES": str(asked.replay.retries),
        "API_TIMEOUT_MS": str(round(asked.replay.timeout * 1000)),
    }
    address = kept.get(cloud.address if cloud else ADDRESS, "")
    return kept | _direct(kept, address) | _SWITCHES | limits


def secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """What must stand in no text."""
    named = [value for name, value in environ.items() if _SECRET.search(name)]
    told = [
        *named,
        *header_values(environ.get(HEADERS, "")),
        *(part for value in environ.values() for part in opens(value)),
    ]
    return tuple(value for value in dict.fromkeys(told) if len(value) >= _SHORTEST_SECRET)


def _direct(environ: Mapping[str, str], address: str) -> dict[str, str]:
    """No proxy for a server on this machine: it would be told everything in the clear."""
    own = {*LOOPBACK, host(address)} if is_here(host(address)) else {*LOOPBACK}
    told = [environ[name] for name in ("NO_PROXY", "no_proxy") if environ.get(name)]
    without = "*" if "*" in told else ",".join((*dict.fromkeys(told), *sorted(own)))
    return {"NO_PROXY": without, "no_proxy": without}
