"""How the door to a model is opened in tests, and what is asked there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillopt_git.config import Replay
from skillopt_git.doors import Asked
from skillopt_git.ports import Backend, CallFailed, Reply, Request, Role
from tests.openaiserver import MODEL

KEY = "sk-test-0123456789abcdefghijklmnop"
KEYS = {"OPENAI_API_KEY": KEY, "AZURE_OPENAI_API_KEY": KEY}
DOCUMENTS = (("CLAUDE.md", "- Use pnpm, not npm\n"), (".claude/skills/learned/SKILL.md", "- Write tests first\n"))
REQUEST = Request(
    role="target", purpose="rollout", ask="Add lodash", context="In the web package.", documents=DOCUMENTS
)


def asked(base_url: str = "", environ: Mapping[str, str] = KEYS, *, role: Role = "target", **fields: Any) -> Asked:
    """What a door is opened by. What is said of `replay` beside that is said by name; it is in a hurry."""
    own = {name: fields.pop(name) for name in ("model", "key_env", "redact") if name in fields}
    return Asked(
        role=role,
        model=own.get("model", MODEL),
        base_url=base_url,
        key_env=own.get("key_env", ""),
        replay=Replay(**{"retries": 0, "timeout": 5.0, **fields}),
        environ=environ,
        state=Path("unused"),
        redact=own.get("redact", lambda text: text),
    )


def one(backend: Backend, request: Request = REQUEST) -> Reply | CallFailed:
    (result,) = backend.complete([request])
    return result
