"""A timer and a service of the user's own systemd for each repository."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt_git import ownfiles
from skillopt_git.errors import UsageError
from skillopt_git.loading import user_file
from skillopt_git.programs import Answer, ask, is_there
from skillopt_git.timetable import NAME, Entry, Placed

MARK = f"# Made by `{NAME} schedule`; `{NAME} unschedule` takes it away.\n"
SPREAD = "3min"  # so that many timers of one time do not start at once
_NO_PROGRAM = re.compile(r"""['"\\]""")
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Systemd:
    environ: Mapping[str, str]
    name: str = "systemd"

    @property
    def folder(self) -> Path:
        return user_file(self.environ).parents[1] / "systemd" / "user"

    def hindrance(self) -> str | None:
        if not is_there("systemctl"):
            return "there is no `systemctl` command"
        return None if _systemctl("show", "--property=Version").code == 0 else "`systemctl --user` does not answer"

    def plan(self, entry: Entry) -> Sequence[tuple[str, str]]:
        service, timer = self._files(entry.id)
        return [(str(service), service_unit(entry)), (str(timer), timer_unit(entry))]

    def install(self, entry: Entry) -> Sequence[str]:
        service, timer = self._files(entry.id)
        made = {service: service_unit(entry), timer: timer_unit(entry)}
        before = ownfiles.kept(dict.fromkeys(made, MARK.encode()))
        if any(before.values()):
            _systemctl("stop", timer.name)  # one that runs on would keep its old time
        for path, text in made.items():
            ownfiles.put(path, text.encode())
        for words in (["daemon-reload"], ["enable", "--now", timer.name]):
            answer = _systemctl(*words)
            if answer.code:
                _put_back(before, timer)
                raise answer.error("the units are as they were; `--with cron` schedules without systemd")
        return _lingering()

    def remove(self, id_: str) -> None:
        files = self._files(id_)
        ownfiles.kept(dict.fromkeys(files, MARK.encode()))
        _systemctl("disable", "--now", files[1].name)
        _systemctl("clean", "--what=state", files[1].name)  # else a new timer would make up for nights long gone
        for path in files:
            ownfiles.put(path, None)
        _systemctl("daemon-reload")

    def placed(self) -> Sequence[Placed]:
        found = {
            id_
            for suffix in (".service", ".timer")
            for id_ in ownfiles.named(self.folder, f"{NAME}-", suffix, MARK.encode())
        }
        return [self._placed(id_) for id_ in sorted(found)]

    def _placed(self, id_: str) -> Placed:
        service, _ = self._files(id_)
        entry = next(filter(None, map(_entry, _text(service).splitlines())), None)
        if entry is None or entry.id != id_:
            return Placed(id_, None, (f"{service} is missing, or was changed and cannot be read",))
        return Placed(id_, entry, tuple(self._problems(entry)))

    def _problems(self, entry: Entry) -> Sequence[str]:
        for path, text in self.plan(entry):
            if _text(Path(path)) != text:
                return [f"{path} is missing, or was changed by hand"]
        if _systemctl("is-enabled", self._files(entry.id)[1].name).code:
            return ["the timer is switched off, or systemd does not answer"]
        return ()

    def _files(self, id_: str) -> tuple[Path, Path]:
        return self.folder / f"{NAME}-{id_}.service", self.folder / f"{NAME}-{id_}.timer"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def service_unit(entry: Entry) -> str:
    return f"""{MARK}
[Unit]
Description=Nightly run of {NAME} in "{entry.repository.replace("%", "%%")}"

[Service]
Type=oneshot
ExecStart={exec_line(entry.words())}
"""


def timer_unit(entry: Entry) -> str:
    return f"""{MARK}
[Unit]
Description=Nightly run of {NAME} in "{entry.repository.replace("%", "%%")}"

[Timer]
OnCalendar=*-*-* {entry.at}:00
RandomizedDelaySec={SPREAD}
Persistent=true

[Install]
WantedBy=timers.target
"""


def exec_line(words: Sequence[str]) -> str:
    """The words as systemd reads them. In the first, a path, it replaces no variables: a `$` there stays as it is.

    Raises `UsageError` for a path that it takes for no program's.
    """
    if _NO_PROGRAM.search(words[0]):
        raise UsageError(
            f"systemd starts no program whose path has quotes or backslashes: {words[0]}",
            "`--with cron` schedules without systemd; or install the tool in another folder",
        )
    program, *arguments = map(_quoted, words)
    return " ".join([program, *(word.replace("$", "$$") for word in arguments)])


def _quoted(word: str) -> str:
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{plain}"'


def _entry(line: str) -> Entry | None:
    """The entry of a line as `exec_line` writes it."""
    program, *arguments = (re.sub(r"\\(.)", r"\1", word).replace("%%", "%") for word in _WORD.findall(line) or [""])
    known = line.startswith("ExecStart=")
    return Entry.read([program, *(word.replace("$$", "$") for word in arguments)]) if known else None


def _systemctl(*words: str) -> Answer:
    return ask("systemctl", "--user", *words)


def _put_back(before: Mapping[Path, bytes | None], timer: Path) -> None:
    if before[timer] is None:
        _systemctl("disable", timer.name)
    for path, data in before.items():
        ownfiles.put(path, data)
    _systemctl("daemon-reload")
    if before[timer] is not None:
        _systemctl("start", timer.name)


def _lingering() -> Sequence[str]:
    user = str(os.getuid())
    if ask("loginctl", "show-user", user, "--property=Linger").out.strip() != b"Linger=no":
        return ()
    return ["the timer works only while you are logged in; `loginctl enable-linger` lets it work always"]
