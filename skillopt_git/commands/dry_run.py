"""`dry-run`: learn and report, but record and propose nothing."""

from __future__ import annotations

from skillopt_git.commands.night import verb

command = verb("dry-run")
command.__doc__ = "Learn and report, but record and propose nothing."
