"""Other programs of the system: whether they are there, and what they answer."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass

from skillopt_git.errors import SkilloptError


class ProgramFailed(SkilloptError):
    kind = "process"


@dataclass(frozen=True, slots=True)
class Answer:
    command: str
    code: int
    out: bytes
    err: str

    @property
    def words(self) -> str:
        """What the program said about its failure."""
        return self.err.strip() or self.out.decode(errors="replace").strip() or f"exit {self.code}, without saying why"

    def error(self, hint: str) -> ProgramFailed:
        return ProgramFailed(f"{self.command}: {self.words}", hint)


def is_there(name: str) -> bool:
    return shutil.which(name) is not None


def ask(*words: str, data: bytes = b"") -> Answer:
    """Runs a program, with messages in English. Never raises for its failures, nor where there is no such program."""
    environ = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(words, input=data, capture_output=True, env=environ, check=False)
    except FileNotFoundError:
        return Answer(shlex.join(words), 127, b"", f"there is no `{words[0]}` command")
    return Answer(shlex.join(words), done.returncode, done.stdout, done.stderr.decode(errors="replace"))
