"""The tool as the action's private environment has it, with a forge in memory; it notes what it was given."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from skillopt_git import cli, wiring
from tests.forge import Hub
from tests.helpers import Repository


def main() -> None:
    noted = Path(os.environ["RUNNER_TEMP"]) / f"given-{sys.argv[1]}.json"
    noted.write_text(json.dumps({"words": sys.argv[1:], "environment": dict(os.environ)}))
    setattr(wiring, "forge", _forge)  # noqa: B010 - no type says that a module's function may be another
    cli.main()


def _forge(*_: Any) -> Hub:
    return Hub(Repository(Path(os.environ["SERVER"])))
