"""Stand-ins for the system's schedulers: programs on a PATH of their own that keep the contract of the real ones."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

# What git, the tool and the stand-ins themselves call; nothing of the machine's own schedulers.
NEEDED = ("cat", "cp", "env", "git", "mv", "od", "rm", "sh", "tail", "tr")

# Each notes how it was called, and fails with the words that `fail` gave it.
HEAD = """#!/bin/sh
here='{here}'
{{ printf '%s' '{name}'; for word in "$@"; do printf '\\t%s' "$word"; done; printf '\\n'; }} >> "$here/calls"
[ "$1" = --user ] && shift
verb=${{1#/}}
if [ -e "$here/fail-{name}-$verb" ]; then cat "$here/fail-{name}-$verb" >&2; exit 1; fi
"""
PROGRAMS = {
    # As Debian's: no crontab is an error, and so is a file that does not end with a line feed.
    "crontab": """
none() { echo "no crontab for alice" >&2; exit 1; }
case "$verb" in
    -l) [ -e "$here/crontab" ] || none; cat "$here/crontab" ;;
    -r) [ -e "$here/crontab" ] || none; rm "$here/crontab" ;;
    -)
        cat > "$here/new"
        if [ -s "$here/new" ] && [ "$(tail -c 1 "$here/new" | od -An -c | tr -d ' ')" != '\\n' ]; then
            echo "new crontab file is missing newline before EOF, can't install." >&2; exit 1
        fi
        mv "$here/new" "$here/crontab"
        if [ -e "$here/meddle" ]; then cat "$here/meddle" >> "$here/crontab"; fi ;;
esac
""",
    "systemctl": """
case "$verb" in
    enable) : > "$here/on-$3" ;;
    disable) rm -f "$here/on-$3" ;;
    is-enabled) [ -e "$here/on-$2" ] ;;
esac
""",
    "loginctl": """
echo Linger=no
""",
    "launchctl": """
label=${2##*/}
case "$verb" in
    bootstrap)
        label=${3##*/}; label=${label%.plist}
        [ -e "$here/on-$label" ] && { echo "Bootstrap failed: 5: Input/output error" >&2; exit 5; }
        : > "$here/on-$label" ;;
    bootout) [ -e "$here/on-$label" ] || { echo "Boot-out failed: 3: No such process" >&2; exit 3; }
        rm "$here/on-$label" ;;
    print) [ -e "$here/on-$label" ] || exit 113 ;;
esac
""",
    "schtasks": """
case "$verb" in
    Create) cp "$6" "$here/on-$4" ;;
    Query) [ -e "$here/on-$3" ] || { echo "ERROR: The system cannot find the file specified." >&2; exit 1; } ;;
    Delete) rm "$here/on-$4" ;;
esac
""",
}


@dataclass(frozen=True)
class StandIns:
    """A folder for the PATH. A scheduler is there once it was added."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> StandIns:
        (folder / "bin").mkdir(parents=True)
        for name in NEEDED:
            (folder / "bin" / name).symlink_to(str(shutil.which(name)))
        return cls(folder)

    @property
    def path(self) -> str:
        return str(self.folder / "bin")

    @property
    def crontab(self) -> Path:
        return self.folder / "crontab"

    def add(self, *names: str) -> None:
        for name in names:
            program = self.folder / "bin" / name
            program.write_text(HEAD.format(here=self.folder, name=name) + PROGRAMS[name])
            program.chmod(0o755)

    def fail(self, name: str, verb: str, words: str) -> None:
        """From now on, `name` ends with these words when it is called for `verb`."""
        (self.folder / f"fail-{name}-{verb}").write_text(words + "\n")

    def mend(self, name: str, verb: str) -> None:
        (self.folder / f"fail-{name}-{verb}").unlink()

    def is_on(self, name: str) -> bool:
        return (self.folder / f"on-{name}").exists()

    def calls(self, name: str) -> list[list[str]]:
        """The words of every call of `name` so far."""
        log = self.folder / "calls"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line.split("\t")[1:] for line in lines if line.split("\t")[0] == name]


def cron_environment(home: Path) -> dict[str, str]:
    """What cron gives a command, and where this checkout lies."""
    root = str(Path(__file__).parent.parent)
    return {"HOME": str(home), "LOGNAME": "alice", "SHELL": "/bin/sh", "PATH": os.defpath, "PYTHONPATH": root}
