"""Writing to GitHub once: what became of it is looked for before anybody says that it failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from skillopt_git.errors import ForgeError
from skillopt_git.forges.github_errors import Lost
from skillopt_git.forges.github_remedies import Behind
from skillopt_git.forges.github_session import Session

PAUSES = (1.0, 2.0, 4.0)  # seconds, for one part of GitHub to learn what another was told

T = TypeVar("T")


def surely(session: Session, write: Callable[[], T], look: Callable[[], T | None]) -> T:
    """What `write` answers. Where its answer got lost, what `look` finds; where GitHub is behind, a later try."""
    for pause in PAUSES:
        try:
            return _or_found(write, look)
        except Behind:
            session.sleep(pause)
    return _or_found(write, look)


def _or_found(write: Callable[[], T], look: Callable[[], T | None]) -> T:
    try:
        return write()
    except Lost:
        found = look()
        if found is None:
            raise
        return found


def patiently(session: Session, look: Callable[[], T | None]) -> Callable[[], T | None]:
    """`look`, a few times: what was just made may not be listed yet."""

    def looked() -> T | None:
        for pause in PAUSES:
            found = look()
            if found is not None:
                return found
            session.sleep(pause)
        return look()

    return looked


def allowed(action: Callable[[], object]) -> bool:
    """Whether GitHub let us. A refusal of what nothing depends on is no failure; a token or a line that does not work
    is."""
    try:
        action()
    except ForgeError as error:
        if error.kind not in {"refused", "forbidden", "missing"}:
            raise
        return False
    return True


def differ(one: str, other: str) -> bool:
    """GitHub's own editor writes other line ends, and neither end of a text counts."""
    return _plain(one) != _plain(other)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()
