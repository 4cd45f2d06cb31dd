"""A launch agent for each repository. launchd makes up for a time of day at which a Mac slept, not for one at which it
was off; so the agent is also started at every login, and runs only if the last night was missed."""

from __future__ import annotations

import os
import plistlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.parsers.expat import ExpatError

from skillopt_git import ownfiles
from skillopt_git.programs import Answer, ask, is_there
from skillopt_git.timetable import NAME, VERB, Entry, Placed

MARK = f"<string>{VERB}</string>".encode()


@dataclass(frozen=True, slots=True)
class Launchd:
    environ: Mapping[str, str]
    name: str = "launchd"

    @property
    def folder(self) -> Path:
        return Path(self.environ.get("HOME") or "~").expanduser() / "Library" / "LaunchAgents"

    def hindrance(self) -> str | None:
        return None if is_there("launchctl") else "there is no `launchctl` command"

    def plan(self, entry: Entry) -> Sequence[tuple[str, str]]:
        return [(str(self._file(entry.id)), agent(entry).decode())]

    def install(self, entry: Entry) -> Sequence[str]:
        file = self._file(entry.id)
        before = ownfiles.kept({file: MARK})[file]
        if before is not None:
            _launchctl("bootout", _target(entry.id))
        ownfiles.put(file, agent(entry))
        answer = _launchctl("bootstrap", _domain(), str(file))
        if answer.code:
            ownfiles.put(file, before)
            if before is not None:
                _launchctl("bootstrap", _domain(), str(file))
            raise answer.error(f"{file} is as it was; `--with cron` schedules without launchd")
        return ()

    def remove(self, id_: str) -> None:
        file = self._file(id_)
        ownfiles.kept({file: MARK})
        _launchctl("bootout", _target(id_))
        ownfiles.put(file, None)

    def placed(self) -> Sequence[Placed]:
        found = ownfiles.named(self.folder, f"{NAME}.", ".plist", MARK)
        return [_placed(id_, self._file(id_)) for id_ in found]

    def _file(self, id_: str) -> Path:
        return self.folder / f"{_label(id_)}.plist"


def agent(entry: Entry) -> bytes:
    return plistlib.dumps(
        {
            "Label": _label(entry.id),
            "ProgramArguments": list(entry.words(missed=True)),
            "StartCalendarInterval": {"Hour": entry.time.hour, "Minute": entry.time.minute},
            "RunAtLoad": True,
            "ProcessType": "Background",
        },
        sort_keys=False,
    )


def _placed(id_: str, file: Path) -> Placed:
    data = file.read_bytes()
    try:
        entry = Entry.read(plistlib.loads(data).get("ProgramArguments", ()))
    except (plistlib.InvalidFileException, ExpatError, AttributeError, ValueError):
        entry = None
    if entry is None or entry.id != id_:
        return Placed(id_, None, (f"{file} was changed and cannot be read",))
    if data != agent(entry):
        return Placed(id_, entry, (f"{file} was changed by hand",))
    known = _launchctl("print", _target(id_)).code == 0
    return Placed(id_, entry, () if known else ("launchd does not know it",))


def _label(id_: str) -> str:
    return f"{NAME}.{id_}"


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _target(id_: str) -> str:
    return f"{_domain()}/{_label(id_)}"


def _launchctl(*words: str) -> Answer:
    return ask("launchctl", *words)
