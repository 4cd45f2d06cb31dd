"""Small builders: real repositories, and nouns that show only what matters to a test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


def program(path: Path, python: str) -> None:
    """A program written in Python, at `path`. The first line of a script could not name an interpreter whose path has a
    blank in it."""
    script = path.with_suffix(".py")
    script.write_text(python)
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    path.chmod(0o755)


@dataclass(frozen=True)
class Repository:
    """A real git repository driven by the git command, as a person would."""

    path: Path

    @classmethod
    def create(cls, path: Path, files: Mapping[str, str | bytes]) -> Repository:
        path.mkdir(parents=True, exist_ok=True)
        made = cls(path)
        made.git("init", "--quiet", "--initial-branch=main")
        if files:
            made.commit("Start", files)
        return made

    def git(self, *args: str, check: bool = True, input_: bytes | None = None) -> str:
        done = subprocess.run(["git", *args], cwd=self.path, input=input_, capture_output=True, check=False)
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(args)} failed:\n{done.stderr.decode()}")
        return done.stdout.decode("utf-8", "surrogateescape")

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str, files: Mapping[str, str | bytes]) -> str:
        self.write(files)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD").strip()
