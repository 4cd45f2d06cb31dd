"""A task of the Windows Task Scheduler for each repository, made from an XML file that is kept beside the settings."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from skillopt_git import ownfiles
from skillopt_git.errors import UsageError
from skillopt_git.loading import user_file
from skillopt_git.programs import Answer, ask, is_there
from skillopt_git.timetable import NAME, Entry, Placed

NAMESPACE = "http://schemas.microsoft.com/windows/2004/02/mit/task"
MARK = f"<Source>{NAME}</Source>".encode("utf-16-le")
LONGEST = "PT12H"  # else a task is ended after three days
_EXPANDED = re.compile(r"%|\$\(")


@dataclass(frozen=True, slots=True)
class Windows:
    environ: Mapping[str, str]
    name: str = "windows"

    @property
    def folder(self) -> Path:
        return user_file(self.environ).parent / "tasks"

    def hindrance(self) -> str | None:
        return None if is_there("schtasks") else "there is no `schtasks` command"

    def plan(self, entry: Entry) -> Sequence[tuple[str, str]]:
        return [(str(self._file(entry.id)), task(entry))]

    def install(self, entry: Entry) -> Sequence[str]:
        file = self._file(entry.id)
        data = encoded(task(entry))
        before = ownfiles.kept({file: MARK})[file]
        ownfiles.put(file, data)
        answer = _schtasks("/Create", "/F", "/TN", _task_name(entry.id), "/XML", str(file))
        if answer.code:
            ownfiles.put(file, before)
            raise answer.error(f"{file} and the task are as they were")
        return ()

    def remove(self, id_: str) -> None:
        file = self._file(id_)
        ownfiles.kept({file: MARK})
        if _schtasks("/Query", "/TN", _task_name(id_)).code == 0:
            answer = _schtasks("/Delete", "/F", "/TN", _task_name(id_))
            if answer.code:
                raise answer.error("the task is still there")
        ownfiles.put(file, None)

    def placed(self) -> Sequence[Placed]:
        found = ownfiles.named(self.folder, f"{NAME}-", ".xml", MARK)
        return [_placed(id_, self._file(id_)) for id_ in found]

    def _file(self, id_: str) -> Path:
        return self.folder / f"{_task_name(id_)}.xml"


def task(entry: Entry) -> str:
    """The task's XML. Raises `UsageError` for words in which the Task Scheduler would replace something."""
    for word in entry.words():
        if _EXPANDED.search(word):
            raise UsageError(f"{word!r} holds a '%' or '$(', which the Task Scheduler replaces", "rename the folder")
    program, *arguments = entry.words()
    root = ET.Element("Task", {"version": "1.2", "xmlns": NAMESPACE})
    _add(root, "RegistrationInfo", Source=NAME, Documentation=json.dumps(entry.words()))
    trigger = _add(_add(root, "Triggers"), "CalendarTrigger", StartBoundary=f"2020-01-01T{entry.time:%H:%M:%S}")
    _add(trigger, "ScheduleByDay", DaysInterval="1")
    principal = _add(_add(root, "Principals"), "Principal", LogonType="InteractiveToken", RunLevel="LeastPrivilege")
    principal.set("id", "Author")
    _add(
        root,
        "Settings",
        MultipleInstancesPolicy="IgnoreNew",
        DisallowStartIfOnBatteries="false",
        StopIfGoingOnBatteries="false",
        StartWhenAvailable="true",  # makes up for a time that was missed
        ExecutionTimeLimit=LONGEST,
    )
    actions = _add(root, "Actions")
    actions.set("Context", "Author")
    _add(actions, "Exec", Command=program, Arguments=subprocess.list2cmdline(arguments))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-16"?>\n{ET.tostring(root, encoding="unicode")}\n'


def encoded(text: str) -> bytes:
    """As `schtasks` wants it: UTF-16 with a byte order mark."""
    return b"\xff\xfe" + text.replace("\n", "\r\n").encode("utf-16-le")


def _add(parent: ET.Element, tag: str, **texts: str) -> ET.Element:
    made = ET.SubElement(parent, tag)
    for name, text in texts.items():
        ET.SubElement(made, name).text = text
    return made


def _placed(id_: str, file: Path) -> Placed:
    data = file.read_bytes()
    try:
        found = ET.fromstring(data).findtext(f"{{{NAMESPACE}}}RegistrationInfo/{{{NAMESPACE}}}Documentation")  # noqa: S314
        entry = Entry.read(json.loads(found or "[]"))
        made = task(entry) if entry is not None else ""
    except (ET.ParseError, ValueError, UsageError):
        entry = None
    if entry is None or entry.id != id_:
        return Placed(id_, None, (f"{file} was changed and cannot be read",))
    if data != encoded(made):
        return Placed(id_, entry, (f"{file} was changed by hand",))
    known = _schtasks("/Query", "/TN", _task_name(id_)).code == 0
    return Placed(id_, entry, () if known else ("the Task Scheduler does not know it",))


def _task_name(id_: str) -> str:
    return f"{NAME}-{id_}"


def _schtasks(*words: str) -> Answer:
    return ask("schtasks", *words)
