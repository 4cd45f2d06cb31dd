from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from skillopt_git.errors import ConfigError, UsageError
from skillopt_git.programs import ProgramFailed
from skillopt_git.schedules.windows import NAMESPACE, Windows, encoded, task
from skillopt_git.timetable import Entry
from tests.standins import StandIns
from tests.test_timetable import ENTRY

NAME = f"skillopt-git-{ENTRY.id}"
ODD = replace(
    ENTRY,
    repository="C:\\Users\\Alice Größe\\it's <acme> & co\\",
    private="C:\\Users\\Alice Größe\\it's <acme> & co\\.git\\skillopt",
    python="C:\\Program Files\\Python\\python.exe",
)
IN_ORDER = ["RegistrationInfo", "Triggers", "Principals", "Settings", "Actions"]


@pytest.fixture
def windows(standins: StandIns, tmp_path: Path) -> Windows:
    standins.add("schtasks")
    return Windows({"XDG_CONFIG_HOME": str(tmp_path / "config")})


def file(windows: Windows) -> Path:
    return windows.folder / f"{NAME}.xml"


def parts(element: ET.Element) -> dict[str, str]:
    return {child.tag.removeprefix(f"{{{NAMESPACE}}}"): child.text or "" for child in element}


@pytest.mark.parametrize("entry", [ENTRY, ODD, replace(ENTRY, auto_adopt=True, at="00:00")])
def test_a_task_is_what_the_task_scheduler_demands(entry: Entry) -> None:
    """UTF-16 with a mark, the schema's namespace and order, and one action that is the entry's command."""
    data = encoded(task(entry))
    assert data.startswith(b"\xff\xfe<\x00?\x00")
    root = ET.fromstring(data)
    assert (root.tag, root.attrib) == (f"{{{NAMESPACE}}}Task", {"version": "1.2"})
    assert [child.tag for child in root] == [f"{{{NAMESPACE}}}{name}" for name in IN_ORDER]
    _, triggers, principals, settings, actions = root
    (trigger,) = triggers
    assert list(parts(trigger)) == ["StartBoundary", "ScheduleByDay"]
    assert f"{datetime.fromisoformat(parts(trigger)['StartBoundary']):%H:%M}" == entry.at
    assert parts(trigger[1]) == {"DaysInterval": "1"}
    (principal,) = principals
    assert principal.attrib["id"] == actions.attrib["Context"]
    assert parts(principal) == {"LogonType": "InteractiveToken", "RunLevel": "LeastPrivilege"}
    assert parts(settings)["StartWhenAvailable"] == "true"
    (action,) = actions
    assert list(parts(action)) == ["Command", "Arguments"]
    assert parts(action)["Command"] == entry.python


def test_words_of_a_task_are_quoted_for_windows() -> None:
    """Blanks need quotes, and a backslash before a quote is doubled."""
    root = ET.fromstring(encoded(task(ODD)))
    (arguments,) = (element.text or "" for element in root.iter(f"{{{NAMESPACE}}}Arguments"))
    assert '--repo "C:\\Users\\Alice Größe\\it\'s <acme> & co\\\\" --quiet' in arguments


@pytest.mark.parametrize("path", ["C:\\%TEMP%\\acme", "C:\\$(Arg0)"])
def test_what_the_task_scheduler_would_replace_is_refused(path: str) -> None:
    """It knows no way to write such a word."""
    with pytest.raises(UsageError, match="Task Scheduler replaces"):
        task(replace(ENTRY, repository=path))


def test_it_is_registered_and_goes_away_again(windows: Windows, standins: StandIns) -> None:
    """From a file that stays, and by a name of its own."""
    windows.install(ENTRY)
    windows.install(ODD)
    assert standins.calls("schtasks")[0] == ["/Create", "/F", "/TN", NAME, "/XML", str(file(windows))]
    assert {(found.entry, found.problems) for found in windows.placed()} == {(ENTRY, ()), (ODD, ())}
    windows.remove(ENTRY.id)
    assert standins.calls("schtasks")[-1] == ["/Delete", "/F", "/TN", NAME]
    assert [found.entry for found in windows.placed()] == [ODD]


def test_what_is_refused_leaves_everything_as_it_was(windows: Windows, standins: StandIns) -> None:
    """A file that nothing was made from would be listed as a schedule; a task that stays is not called removed."""
    standins.fail("schtasks", "Create", "ERROR: Access is denied.")
    with pytest.raises(ProgramFailed, match=r"Access is denied\."):
        windows.install(ENTRY)
    assert not file(windows).exists()
    standins.mend("schtasks", "Create")
    windows.install(ENTRY)
    standins.fail("schtasks", "Delete", "ERROR: Access is denied.")
    with pytest.raises(ProgramFailed, match=r"Access is denied\."):
        windows.remove(ENTRY.id)
    assert [found.entry for found in windows.placed()] == [ENTRY]


def test_a_file_of_somebody_else_is_never_overwritten(windows: Windows, standins: StandIns) -> None:
    """Nor removed, nor listed."""
    windows.folder.mkdir(parents=True)
    file(windows).write_text("<Task/>")
    for act in (lambda: windows.install(ENTRY), lambda: windows.remove(ENTRY.id)):
        with pytest.raises(ConfigError, match="was not written by this tool"):
            act()
    assert (file(windows).read_text(), windows.placed(), standins.calls("schtasks")) == ("<Task/>", [], [])


def test_what_is_wrong_with_a_task_is_seen(windows: Windows, standins: StandIns) -> None:
    """Not registered any more, changed by hand, or no longer to be read."""
    windows.install(ENTRY)

    def told() -> tuple[Entry | None, str]:
        (found,) = windows.placed()
        return found.entry, " ".join(found.problems)

    (standins.folder / f"on-{NAME}").unlink()
    assert told() == (ENTRY, "the Task Scheduler does not know it")
    file(windows).write_bytes(encoded(task(ENTRY).replace("T03:17", "T05:17")))
    assert told() == (ENTRY, f"{file(windows)} was changed by hand")
    for change in (("</Task>", ""), ('"--quiet"', '"--loud"'), ("--quiet", "%TEMP%"), ("alice", "%TEMP%")):
        file(windows).write_bytes(encoded(task(ENTRY).replace(*change)))
        assert told() == (None, f"{file(windows)} was changed and cannot be read")


def test_without_the_command_files_are_still_seen_and_removed(windows: Windows, standins: StandIns) -> None:
    """But nothing can be scheduled."""
    assert windows.hindrance() is None
    windows.install(ENTRY)
    (standins.folder / "bin" / "schtasks").unlink()
    assert windows.hindrance() == "there is no `schtasks` command"
    windows.remove(ENTRY.id)
    assert not file(windows).exists()
