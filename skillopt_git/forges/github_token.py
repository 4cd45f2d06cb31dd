"""The token that opens GitHub: from the environment or from `gh`, never from a file of the repository."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from skillopt_git.errors import ForgeError
from skillopt_git.forges.github_address import may_have
from skillopt_git.programs import ask

TokenKind: TypeAlias = Literal["classic", "fine-grained", "actions", "app", "oauth", "unknown"]

OWN = "SKILLOPT_GITHUB_TOKEN"
VARIABLES = (OWN, "GITHUB_TOKEN", "GH_TOKEN")
LONGEST = 10.0  # seconds that `gh` may take

_PREFIXES: Mapping[str, TokenKind] = {
    "ghp_": "classic",
    "github_pat_": "fine-grained",
    "ghs_": "app",
    "gho_": "oauth",
    "ghu_": "oauth",
}


@dataclass(frozen=True, slots=True)
class Token:
    """`source` is the variable or program it came from; `kind` is for remedies only."""

    value: str = field(repr=False)
    source: str = ""
    kind: TokenKind = "unknown"


def token_for(host: str, environ: Mapping[str, str], by_gh: Callable[[str], str | None] | None = None) -> Token | None:
    """None where there is none. A token in the environment is one host's, and is not sent to another that a remote
    happens to name; `gh` knows one for each. Raises `ForgeError` where a variable holds what cannot be a token."""
    for name in VARIABLES if may_have(host, environ) else ():
        value = environ.get(name, "").strip()
        if value:
            return _checked(Token(value, name, _kind(value, environ)))
    said = (by_gh or from_gh)(host)
    return Token(said, "gh auth token", _kind(said, environ)) if said else None


def _checked(token: Token) -> Token:
    # What no header can carry would be told in full by the library that is asked to send it.
    if re.fullmatch(r"[!-~]+", token.value):
        return token
    raise ForgeError("auth", f"what {token.source} holds is no token", "it is one word of plain letters and digits")


def from_gh(host: str) -> str | None:
    """What the `gh` command knows for `host`; None where there is no such command, or nobody logged in."""
    answer = ask("gh", "auth", "token", "--hostname", host, within=LONGEST)
    said = answer.out.decode(errors="replace").strip()
    return said if answer.code == 0 and re.fullmatch(r"[!-~]+", said) else None


def _kind(value: str, environ: Mapping[str, str]) -> TokenKind:
    kinds: list[TokenKind] = [kind for prefix, kind in _PREFIXES.items() if value.startswith(prefix)]
    kind = kinds[0] if kinds else "unknown"
    of_job = environ.get("GITHUB_ACTIONS") == "true" and value == environ.get("GITHUB_TOKEN", "").strip()
    return "actions" if kind == "app" and of_job else kind
