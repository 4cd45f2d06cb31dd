"""`run`: learn from recent sessions and leave a branch to review."""

from __future__ import annotations

from skillopt_git.commands.night import verb

command = verb("run")
command.__doc__ = "Learn from recent sessions and leave a branch to review."
