"""OpenAI, and every server that speaks as it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from skillopt_git.backends.openai_words import THINKING_ROOM, Api, Server
from skillopt_git.doors import About, Asked, Opened, header_values
from skillopt_git.errors import BackendError, ConfigError, UsageError
from skillopt_git.hosts import among, host, is_here, opens, place

HEADERS = "OPENAI_CUSTOM_HEADERS"
USUAL = "https://api.openai.com/v1"
OPENAI = ("api.openai.com", ".api.openai.com")
AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")

ABOUT = About(
    name="openai",
    title="OpenAI, and servers that speak as it does",
    documents="As the system message of each call.",
    setup=(
        "`pip install 'skillopt-git[openai]'`, a key in `OPENAI_API_KEY` (`replay.key_env` names another variable), "
        "and `replay.model`. Another server (Qwen, DeepSeek, MiniMax, vLLM, Ollama, llama.cpp): its address in "
        "`replay.base_url`; one on this machine needs no key."
    ),
    leaves="Documents, the replayed tasks and the answers, to the server. OpenAI is asked to store nothing.",
    cost="What the server's owner charges for tokens; a model on this machine costs time only.",
    limits=(
        "OpenAI and Azure are spoken to by the Responses API, other servers by Chat Completions; `replay.api` says "
        "otherwise. A server that takes no schema, or no tools, is asked without the one and not about tasks with the "
        "other. A model that thinks before it answers gets room for that on top of what an answer may take."
    ),
    keys=("OPENAI_API_KEY",),
    hosts=OPENAI,
    address="OPENAI_BASE_URL",
    extra="openai",
    library="openai",
    beyond=THINKING_ROOM,
)


def door(asked: Asked) -> Opened:
    """The model at `base_url`. Raises `UsageError` without a model, `BackendError` without a key where one is needed,
    `ConfigError` where the library is missing."""
    address = asked.base_url or asked.environ.get(ABOUT.address, "") or USUAL
    model_of(asked, ABOUT)
    key = key_of(asked, ABOUT)
    if not key and not is_here(host(address)):
        raise no_key(asked, ABOUT)
    with installed(ABOUT):
        from skillopt_git.backends import openai_calls
    calls = openai_calls.Calls(
        name=ABOUT.name,
        asked=asked,
        server=server(address, asked, at_home=among(host(address), (*OPENAI, *AZURE))),
        client=openai_calls.client(asked, address, key or "none", headers=not asked.base_url),
        secrets=secrets_of(asked, key, address),
        told={} if address == USUAL else {"host": place(address)},
    )
    return Opened(backend=calls, beyond=room(asked.model), once=True)


# --- what is needed ----------------------------------------------------------------------------------------------


def model_of(asked: Asked, about: About) -> str:
    if not asked.model:
        named = "replay.model" if asked.role == "target" else "replay.optimizer_model"
        raise UsageError(f"no model is named for {about.name}", f"{named} names one")
    return asked.model


def room(model: str) -> int:
    """Tokens that an answer may take beyond its own, for thoughts: of any model that is not known not to think."""
    return 0 if re.match(r"(?:chat)?gpt-?[34]", model) else THINKING_ROOM


def key_of(asked: Asked, about: About) -> str:
    """The key, "" where there is none. Raises `BackendError` for what no key can be: it would be told in the error."""
    key = asked.key(about.keys).strip()
    if not (key.isascii() and key.isprintable()):
        raise BackendError(
            "auth",
            f"what {_variable(asked, about)} holds is no key: it has characters that none has",
            retryable=False,
            hint="set it anew, without quotes and line breaks",
        )
    return key


def secrets_of(asked: Asked, key: str, address: str) -> set[str]:
    """What no text may hold."""
    return {key, *opens(address), *header_values(asked.environ.get(HEADERS, ""))} - {""}


def no_key(asked: Asked, about: About) -> BackendError:
    hint = f"set {_variable(asked, about)}, or name the variable that holds it in replay.key_env"
    return BackendError("auth", f"there is no key for {about.name}", retryable=False, hint=hint)


def _variable(asked: Asked, about: About) -> str:
    return asked.key_env or about.keys[0]


@contextmanager
def installed(about: About) -> Iterator[None]:
    """Says how to install what is imported within, where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the backend {about.name} needs the package {error.name}", f"pip install 'skillopt-git[{about.extra}]'"
        ) from None


# --- where -------------------------------------------------------------------------------------------------------


def server(address: str, asked: Asked, *, at_home: bool) -> Server:
    usual: Api = "responses" if at_home else "chat"
    chosen = asked.replay.api
    return Server(host=host(address), api=usual if chosen == "auto" else chosen, at_home=at_home)
