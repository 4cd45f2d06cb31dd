from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_git.errors import ConfigError, UsageError
from skillopt_git.programs import ProgramFailed
from skillopt_git.schedules.systemd import Systemd, exec_line, service_unit, timer_unit
from skillopt_git.timetable import Entry
from tests.standins import StandIns
from tests.test_schedules_crontab import ODD
from tests.test_timetable import ENTRY

ANALYZE = shutil.which("systemd-analyze")
UNIT = f"skillopt-git-{ENTRY.id}"


@pytest.fixture
def systemd(standins: StandIns, tmp_path: Path) -> Systemd:
    standins.add("systemctl")
    return Systemd({"XDG_CONFIG_HOME": str(tmp_path / "config")})


def units(systemd: Systemd) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(systemd.folder.glob("*"))}


def test_a_service_and_a_timer_are_written_and_started(systemd: Systemd, standins: StandIns) -> None:
    """Where systemd looks for a user's own; a night that was missed is caught up."""
    assert systemd.install(ENTRY) == ()
    assert systemd.folder.parts[-3:] == ("config", "systemd", "user")
    assert sorted(units(systemd)) == [f"{UNIT}.service", f"{UNIT}.timer"]
    assert units(systemd)[f"{UNIT}.timer"].split("\n\n", 2)[2] == (
        "[Timer]\nOnCalendar=*-*-* 03:17:00\nRandomizedDelaySec=3min\nPersistent=true\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    words = " ".join(f'"{word}"' for word in ENTRY.words())
    assert f"\n[Service]\nType=oneshot\nExecStart={words}\n" in units(systemd)[f"{UNIT}.service"]
    assert standins.calls("systemctl") == [["--user", "daemon-reload"], ["--user", "enable", "--now", f"{UNIT}.timer"]]
    assert [(found.entry, found.problems) for found in systemd.placed()] == [(ENTRY, ())]


@pytest.mark.skipif(ANALYZE is None, reason="this machine has no systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_units(systemd: Systemd, tmp_path: Path) -> None:
    """Also for folders with quotes, percent and dollar signs, blanks, backslashes and umlauts; and it does look."""
    python = tmp_path / "100% $HOME äöü `x` #1; && *" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    odd = replace(ENTRY, repository=f"/home/alice/{ODD}", private=f"/home/alice/{ODD}/.git", python=str(python))
    assert verified(systemd, odd) == (0, "")
    assert verified(systemd, replace(odd, python=f"{python}.gone"))[0] != 0
    assert "Failed to parse" in verified(systemd, odd, ("03:17:00", "25:17:00"))[1]


@pytest.mark.parametrize("char", ["'", '"', "\\"])
def test_a_program_that_systemd_would_not_start_is_refused(systemd: Systemd, char: str) -> None:
    """It takes some characters for no part of a program's path, however they are written."""
    for act in (systemd.plan, systemd.install):
        with pytest.raises(UsageError, match="starts no program"):
            act(replace(ENTRY, python=f"/opt/a{char}b/python"))
    assert not systemd.folder.exists()


def verified(systemd: Systemd, entry: Entry, change: tuple[str, str] = ("", "")) -> tuple[int, str]:
    """The exit code and the complaints of `systemd-analyze verify` about the units of an entry."""
    paths = []
    for path, text in systemd.plan(entry):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text.replace(*change))
        paths.append(path)
    with tempfile.TemporaryDirectory() as runtime:  # a short path, for the machine's own sockets lie below it
        env = {**os.environ, "XDG_RUNTIME_DIR": runtime}
        done = subprocess.run([str(ANALYZE), "--user", "verify", *paths], env=env, capture_output=True, check=False)
    # The machine's own units are looked at too, and may be at fault.
    return done.returncode, "\n".join(line for line in done.stderr.decode().splitlines() if "skillopt-git" in line)


def test_what_systemd_would_replace_is_doubled() -> None:
    """Percent signs everywhere, dollar signs behind the program; quotes and backslashes stand behind a backslash."""
    assert exec_line(["/opt/100% $x/py", "100% $x", 'a"b\\c', "it's"]) == (
        r'"/opt/100%% $x/py" "100%% $$x" "a\"b\\c" "it' "'" 's"'
    )
    odd = replace(ENTRY, repository="/home/alice/100%")
    assert 'in "/home/alice/100%%"' in service_unit(odd)
    assert 'in "/home/alice/100%%"' in timer_unit(odd)


def test_odd_words_are_read_back(systemd: Systemd) -> None:
    """What escaping does, reading undoes."""
    odd = replace(ENTRY, repository=f"/home/alice/{ODD}", private=f"/home/alice/{ODD}/.git", python="/opt/100% $x/py")
    systemd.install(odd)
    assert [(found.entry, found.problems) for found in systemd.placed()] == [(odd, ())]


def test_two_repositories_coexist_and_each_goes_alone(systemd: Systemd, standins: StandIns) -> None:
    """With a timer that was started, its memory of past nights goes too; files of others stay."""
    other = replace(ENTRY, repository="/home/alice/acme-shop")
    systemd.folder.mkdir(parents=True)
    (systemd.folder / "skillopt-git-mine.service").write_text("[Service]\nExecStart=true\n")
    systemd.install(ENTRY)
    systemd.install(other)
    assert {found.entry for found in systemd.placed()} == {ENTRY, other}
    systemd.remove(ENTRY.id)
    assert standins.calls("systemctl")[-3:] == [
        ["--user", "disable", "--now", f"{UNIT}.timer"],
        ["--user", "clean", "--what=state", f"{UNIT}.timer"],
        ["--user", "daemon-reload"],
    ]
    assert [found.entry for found in systemd.placed()] == [other]
    systemd.remove(other.id)
    assert list(units(systemd)) == ["skillopt-git-mine.service"]


def test_scheduling_again_stops_the_timer_before_it_has_a_new_time(systemd: Systemd, standins: StandIns) -> None:
    """One that runs on would keep the old one."""
    systemd.install(ENTRY)
    systemd.install(replace(ENTRY, at="22:05"))
    assert [call[1] for call in standins.calls("systemctl")] == [
        *("daemon-reload", "enable"),
        *("stop", "daemon-reload", "enable"),
    ]
    assert [found.entry.at for found in systemd.placed() if found.entry] == ["22:05"]


@pytest.mark.parametrize("suffix", ["service", "timer"])
def test_a_file_of_somebody_else_is_never_overwritten(systemd: Systemd, standins: StandIns, suffix: str) -> None:
    """Nor removed; also an empty one, as a masked unit is."""
    systemd.folder.mkdir(parents=True)
    for text in ("[Unit]\n", ""):
        (systemd.folder / f"{UNIT}.{suffix}").write_text(text)
        for act in (lambda: systemd.install(ENTRY), lambda: systemd.remove(ENTRY.id)):
            with pytest.raises(ConfigError, match="was not written by this tool"):
                act()
        assert units(systemd) == {f"{UNIT}.{suffix}": text}
    assert standins.calls("systemctl") == []


def test_what_systemd_refuses_leaves_the_units_as_they_were(systemd: Systemd, standins: StandIns) -> None:
    """None the first time, the older ones later, and those go on."""
    standins.fail("systemctl", "enable", "Failed to connect to bus")
    with pytest.raises(ProgramFailed, match="Failed to connect to bus"):
        systemd.install(ENTRY)
    assert units(systemd) == {}
    assert [call[1] for call in standins.calls("systemctl")][-2:] == ["disable", "daemon-reload"]
    standins.mend("systemctl", "enable")
    systemd.install(ENTRY)
    before = units(systemd)
    standins.fail("systemctl", "enable", "Failed to connect to bus")
    with pytest.raises(ProgramFailed):
        systemd.install(replace(ENTRY, at="22:05"))
    assert units(systemd) == before
    assert standins.calls("systemctl")[-1] == ["--user", "start", f"{UNIT}.timer"]


def test_what_is_wrong_with_a_unit_is_seen(systemd: Systemd, standins: StandIns) -> None:
    """Switched off, changed by hand, half gone, or no longer to be read."""
    systemd.install(ENTRY)
    (service, text), (timer, _) = systemd.plan(ENTRY)

    def told() -> tuple[Entry | None, str]:
        (found,) = systemd.placed()
        return found.entry, " ".join(found.problems)

    (standins.folder / f"on-{UNIT}.timer").unlink()
    assert told() == (ENTRY, "the timer is switched off, or systemd does not answer")
    Path(service).write_text(text + "Nice=10\n")
    assert told() == (ENTRY, f"{service} is missing, or was changed by hand")
    Path(service).write_text(text)
    Path(timer).unlink()
    assert told() == (ENTRY, f"{timer} is missing, or was changed by hand")
    Path(service).write_text(text.replace("--quiet", ""))
    assert told() == (None, f"{service} is missing, or was changed and cannot be read")
    systemd.install(ENTRY)
    Path(service).unlink()
    assert told() == (None, f"{service} is missing, or was changed and cannot be read")


def test_it_can_be_used_where_systemctl_answers(systemd: Systemd, standins: StandIns) -> None:
    """A machine can have the program and no systemd of the user's own."""
    assert systemd.hindrance() is None
    standins.fail("systemctl", "show", "Failed to connect to bus")
    assert systemd.hindrance() == "`systemctl --user` does not answer"
    (standins.folder / "bin" / "systemctl").unlink()
    assert systemd.hindrance() == "there is no `systemctl` command"


def test_a_user_who_does_not_linger_is_told(systemd: Systemd, standins: StandIns) -> None:
    """Their timers end when they log out."""
    standins.add("loginctl")
    (note,) = systemd.install(ENTRY)
    assert "loginctl enable-linger" in note
