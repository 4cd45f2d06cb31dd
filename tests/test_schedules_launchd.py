from __future__ import annotations

import os
import plistlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillopt_git.errors import ConfigError
from skillopt_git.programs import ProgramFailed
from skillopt_git.schedules.launchd import Launchd, agent
from skillopt_git.timetable import Entry
from tests.standins import StandIns
from tests.test_schedules_crontab import ODD
from tests.test_timetable import ENTRY

LABEL = f"skillopt-git.{ENTRY.id}"
DOMAIN = f"gui/{os.getuid()}"
ODD_ENTRY = replace(ENTRY, repository=f"/Users/alice/{ODD}<&>", private=f"/Users/alice/{ODD}<&>/.git", at="00:00")


@pytest.fixture
def launchd(standins: StandIns, tmp_path: Path) -> Launchd:
    standins.add("launchctl")
    return Launchd({"HOME": str(tmp_path / "home")})


def file(launchd: Launchd) -> Path:
    return launchd.folder / f"{LABEL}.plist"


@pytest.mark.parametrize("entry", [ENTRY, ODD_ENTRY, replace(ENTRY, auto_adopt=True)])
def test_an_agent_is_what_launchd_demands(entry: Entry) -> None:
    """A label, a program with its words one by one, whole numbers for hour and minute, and no key it does not know."""
    found: dict[str, Any] = plistlib.loads(agent(entry))
    assert set(found) == {"Label", "ProgramArguments", "StartCalendarInterval", "RunAtLoad", "ProcessType"}
    assert found["Label"] == f"skillopt-git.{entry.id}"
    assert found["ProgramArguments"] == list(entry.words(missed=True))
    assert found["ProgramArguments"][0].startswith("/")
    assert found["StartCalendarInterval"] == {"Hour": entry.time.hour, "Minute": entry.time.minute}
    assert (found["RunAtLoad"], found["ProcessType"]) == (True, "Background")


def test_it_is_loaded_and_goes_away_again(launchd: Launchd, standins: StandIns) -> None:
    """The file lies where launchd looks at the next login, and is named for its label."""
    launchd.install(ENTRY)
    launchd.install(ODD_ENTRY)
    assert file(launchd).parts[-3:] == ("Library", "LaunchAgents", f"{LABEL}.plist")
    assert standins.calls("launchctl")[0] == ["bootstrap", DOMAIN, str(file(launchd))]
    assert {(found.entry, found.problems) for found in launchd.placed()} == {(ENTRY, ()), (ODD_ENTRY, ())}
    launchd.remove(ENTRY.id)
    assert ["bootout", f"{DOMAIN}/{LABEL}"] in standins.calls("launchctl")
    assert not standins.is_on(LABEL)
    assert [found.entry for found in launchd.placed()] == [ODD_ENTRY]


def test_scheduling_again_unloads_the_older_one_first(launchd: Launchd, standins: StandIns) -> None:
    """launchd refuses a label that it has."""
    launchd.install(ENTRY)
    launchd.install(replace(ENTRY, at="22:05"))
    assert [call[0] for call in standins.calls("launchctl")] == ["bootstrap", "bootout", "bootstrap"]
    assert [found.entry.at for found in launchd.placed() if found.entry] == ["22:05"]


def test_what_launchd_refuses_leaves_the_file_as_it_was(launchd: Launchd, standins: StandIns) -> None:
    """None the first time, the older one later."""
    standins.fail("launchctl", "bootstrap", "Bootstrap failed: 125: Domain does not support specified action")
    with pytest.raises(ProgramFailed, match="Domain does not support"):
        launchd.install(ENTRY)
    assert not file(launchd).exists()
    standins.mend("launchctl", "bootstrap")
    launchd.install(ENTRY)
    standins.fail("launchctl", "bootstrap", "Bootstrap failed")
    with pytest.raises(ProgramFailed):
        launchd.install(replace(ENTRY, at="22:05"))
    assert file(launchd).read_bytes() == agent(ENTRY)
    assert [call[0] for call in standins.calls("launchctl")][-3:] == ["bootout", "bootstrap", "bootstrap"]


def test_a_file_of_somebody_else_is_never_overwritten(launchd: Launchd) -> None:
    """Nor removed, nor listed."""
    launchd.folder.mkdir(parents=True)
    file(launchd).write_text("<plist/>")
    for act in (lambda: launchd.install(ENTRY), lambda: launchd.remove(ENTRY.id)):
        with pytest.raises(ConfigError, match="was not written by this tool"):
            act()
    assert (file(launchd).read_text(), launchd.placed()) == ("<plist/>", [])


def test_what_is_wrong_with_an_agent_is_seen(launchd: Launchd, standins: StandIns) -> None:
    """Unloaded, changed by hand, or no longer to be read."""
    launchd.install(ENTRY)

    def told() -> tuple[Entry | None, str]:
        (found,) = launchd.placed()
        return found.entry, " ".join(found.problems)

    (standins.folder / f"on-{LABEL}").unlink()
    assert told() == (ENTRY, "launchd does not know it")
    file(launchd).write_bytes(agent(ENTRY).replace(b"<integer>3<", b"<integer>5<"))
    assert told() == (ENTRY, f"{file(launchd)} was changed by hand")
    for text in (
        agent(ENTRY)[:-20],
        agent(ENTRY).replace(b"--quiet", b""),
        b"<plist><string>scheduled</string></plist>",
    ):
        file(launchd).write_bytes(text)
        assert told() == (None, f"{file(launchd)} was changed and cannot be read")


def test_without_the_command_files_are_still_seen_and_removed(launchd: Launchd, standins: StandIns) -> None:
    """But nothing can be scheduled."""
    assert launchd.hindrance() is None
    launchd.install(ENTRY)
    (standins.folder / "bin" / "launchctl").unlink()
    assert launchd.hindrance() == "there is no `launchctl` command"
    assert [found.problems for found in launchd.placed()] == [("launchd does not know it",)]
    launchd.remove(ENTRY.id)
    assert not file(launchd).exists()
