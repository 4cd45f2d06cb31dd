"""How values are spelt, folded and named: an id is a function of what it names, the same on every machine."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def canonical_json(value: Json | Mapping[str, Any] | Sequence[Any]) -> str:
    """Sorted keys, no blanks, UTF-8, no NaN: the one spelling of a value that is hashed or stored as evidence."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(*parts: Json) -> str:
    """16 hex digits of the SHA-256 of the parts' canonical JSON."""
    return hashlib.sha256(canonical_json(list(parts)).encode()).hexdigest()[:16]


def fold(text: str) -> str:
    """How two texts are compared for sameness: NFC, casefold, runs of blanks as one."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


_MARK = re.compile(r"\[redacted:([a-z0-9_-]+):[0-9a-f]{8}\]", re.IGNORECASE)


def fold_unmarked(text: str) -> str:
    """`fold`, with each `[REDACTED:kind:hex]` cut to its kind: the hex differs from machine to machine."""
    return fold(_MARK.sub(r"[redacted:\1]", text))


def edit_id(op: str, target: str, anchor: str | None, text: str | None) -> str:
    return f"e1-{digest(op, target, anchor, text)}"


def rule_id(text: str) -> str:
    return f"r1-{digest(fold(text))}"


def task_id(source: str, session: str, turn: str) -> str:
    return f"t1-{digest(source, session, turn)}"


def need_id(first_rule_text: str) -> str:
    return f"n1-{digest(fold_unmarked(first_rule_text))}"


def family_id(founding_ask: str) -> str:
    return f"f1-{digest(fold_unmarked(founding_ask))}"


def event_id(type_: str, subject: Json, cause: str) -> str:
    return digest(type_, subject, cause)


def run_id(now: datetime, salt: str) -> str:
    """`YYYYMMDDTHHMMSSZ-xxxxxxxx`: the UTC second `now` and eight hex digits of `salt`."""
    return f"{now:%Y%m%dT%H%M%SZ}-{salt[:8]}"
