"""The agents whose transcripts can be read: how their homes are named, and what is in them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agent:
    """Where an agent's home is named, and which folders in it hold its transcripts."""

    setting: str
    variable: str
    folders: tuple[str, ...]


AGENTS = {
    "claude": Agent("claude_home", "CLAUDE_CONFIG_DIR", ("projects",)),
    "codex": Agent("codex_home", "CODEX_HOME", ("sessions", "archived_sessions")),
    "copilot-cli": Agent("copilot_home", "COPILOT_HOME", ("session-state", "history-session-state")),
    "jsonl": Agent("jsonl_home", "XDG_DATA_HOME", ("",)),
}
