"""Who may knock at the rig: the same accounts and tokens for git and for the API."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Permission: TypeAlias = Literal["admin", "write", "read", "none"]


@dataclass(frozen=True, slots=True)
class Account:
    """`permission` is what the account may do in every repository of the rig; a bot has no page of its own."""

    login: str
    token: str
    permission: Permission
    bot: bool = False

    @property
    def writes(self) -> bool:
        return self.permission in {"admin", "write"}


ALICE = Account("alice", "token-of-alice-3f9c", "admin")
BOB = Account("bob", "token-of-bob-71d2", "write")
READER = Account("rita", "token-of-rita-a80e", "read")
STRANGER = Account("sam", "token-of-sam-5b14", "none")
ROBOT = Account("github-actions[bot]", "token-of-the-workflow-c6e7", "write", bot=True)
EVERYONE = (ALICE, BOB, READER, STRANGER, ROBOT)


class UnknownToken(Exception):
    """There was a token, and it is nobody's."""


def who(headers: Mapping[str, str]) -> Account | None:
    """Whose token a request carries; None without one. Raises `UnknownToken`."""
    scheme, _, secret = headers.get("Authorization", "").partition(" ")
    if not secret:
        return None
    token = _password(secret) if scheme.lower() == "basic" else secret.strip()
    for account in EVERYONE:
        if account.token == token:
            return account
    raise UnknownToken


def basic(account: Account) -> str:
    """The header's value that `actions/checkout` leaves for git."""
    return "Basic " + base64.b64encode(f"x-access-token:{account.token}".encode()).decode()


def _password(secret: str) -> str:
    try:
        return base64.b64decode(secret).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError) as error:
        raise UnknownToken from error
