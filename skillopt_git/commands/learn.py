"""`learn`: learn from recent sessions, and put what is found into a file that `propose` takes."""

from __future__ import annotations

from skillopt_git.commands.night import verb

command = verb("learn")
command.__doc__ = "Learn from recent sessions, and put what is found into a file that `propose` takes."
