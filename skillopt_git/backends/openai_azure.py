"""OpenAI's models at Azure, opened by a key or by Entra ID."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from skillopt_git.backends.openai import AZURE, installed, key_of, model_of, no_key, room, secrets_of, server
from skillopt_git.backends.openai_words import THINKING_ROOM
from skillopt_git.doors import About, Asked, Opened
from skillopt_git.errors import ConfigError, SafetyError, UsageError
from skillopt_git.hosts import among, host, is_here, place

VERSION = "OPENAI_API_VERSION"
OWN = "AZURE_CLIENT_SECRET"

ABOUT = About(
    name="azure_openai",
    title="OpenAI's models at Azure",
    documents="As the system message of each call.",
    setup=(
        "`pip install 'skillopt-git[azure]'`, the resource's address in `AZURE_OPENAI_ENDPOINT` or `replay.base_url`, "
        "such as `https://acme.openai.azure.com`, and the deployment's name in `replay.model`. A key in "
        "`AZURE_OPENAI_API_KEY`; without one Entra ID is asked, as whom `az login`, a managed identity or the "
        "`AZURE_*` variables say. `OPENAI_API_VERSION`, a date, chooses an API older than v1."
    ),
    leaves="Documents, the replayed tasks and the answers, to your resource. It is asked to store nothing.",
    cost="What Azure charges the subscription for tokens.",
    limits=(
        "A key or token goes to hosts below openai.azure.com, cognitiveservices.azure.com and services.ai.azure.com "
        "only, and only encrypted. Azure's own content filter may refuse a task."
    ),
    keys=("AZURE_OPENAI_API_KEY",),
    hosts=AZURE,
    address="AZURE_OPENAI_ENDPOINT",
    variables=(VERSION, "AZURE_CLIENT_ID", "AZURE_TENANT_ID", OWN),
    login=True,
    extra="azure",
    library="openai",
    beyond=THINKING_ROOM,
)


def door(asked: Asked) -> Opened:
    """The deployment at the endpoint. Raises `SafetyError` for an endpoint that is not Azure's."""
    endpoint = endpoint_of(asked)
    model_of(asked, ABOUT)
    key = key_of(asked, ABOUT)
    secrets = secrets_of(asked, key, endpoint) | {asked.environ.get(OWN, "")} - {""}
    with installed(ABOUT):
        from skillopt_git.backends import openai_calls
    opener = key or _token(asked, endpoint, secrets)
    version = asked.environ.get(VERSION, "")
    if version[:1].isdigit():
        client = openai_calls.dated_client(asked, endpoint, version, opener)
    else:
        client = openai_calls.client(asked, f"{endpoint}/openai/v1", opener, headers=False)
    calls = openai_calls.Calls(
        name=ABOUT.name,
        asked=asked,
        server=server(endpoint, asked, at_home=True),
        client=client,
        secrets=secrets,
        told={"host": place(endpoint)},
    )
    return Opened(backend=calls, beyond=room(asked.model), once=True)


def endpoint_of(asked: Asked) -> str:
    """The resource's address, without the API's path. Nobody but Azure may get what opens it."""
    given = asked.base_url or asked.environ.get(ABOUT.address, "")
    if not given:
        raise UsageError(
            "no Azure resource is named",
            f"set {ABOUT.address} or replay.base_url, such as https://acme.openai.azure.com",
        )
    encrypted = urlsplit(given).scheme == "https"
    if not (is_here(host(given)) or (encrypted and among(host(given), AZURE))):
        shown = f"{urlsplit(given).scheme}://{place(given)}"
        below = ", ".join(name.removeprefix(".") for name in AZURE)
        raise SafetyError(
            f"{shown} is no address of Azure: what opens your resource is not sent there",
            f"an address of Azure begins with https://, and its host is below {below}; other servers: backend openai",
        )
    return given.rstrip("/").removesuffix("/v1").removesuffix("/openai")


# --- Entra ID ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Token:
    """Asks for a token before each call, and notes it as a secret. `provider` remembers it while it lasts."""

    provider: Callable[[], str] = field(repr=False)
    secrets: set[str] = field(repr=False)

    def __call__(self) -> str:
        from azure.core.exceptions import AzureError

        from skillopt_git.backends.openai_calls import NoToken

        try:
            token = self.provider()
        except (AzureError, ValueError) as error:
            why = error.message if isinstance(error, AzureError) else error
            raise NoToken(f"Entra ID gives no token (`az login`, or {ABOUT.keys[0]}): {why}") from error
        self.secrets.add(token)
        return token


def _token(asked: Asked, endpoint: str, secrets: set[str]) -> Token:
    if asked.key_env:  # who names a variable means a key
        raise no_key(asked, ABOUT)
    with installed(ABOUT):
        from azure.identity import DefaultAzureCredential, get_bearer_token_provider
    logging.getLogger("azure.identity").addHandler(logging.NullHandler())  # its warnings are told with the failure
    about = "ai" if "/api/projects/" in endpoint else "cognitiveservices"
    try:
        who = DefaultAzureCredential()
    except ValueError as error:  # what the environment says of us cannot be
        raise ConfigError(
            f"Entra ID cannot be asked: {error}", "mend the AZURE_* variables of the environment"
        ) from None
    return Token(get_bearer_token_provider(who, f"https://{about}.azure.com/.default"), secrets)
