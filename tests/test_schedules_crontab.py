from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.errors import Busy, ConfigError
from skillopt_git.locks import locked
from skillopt_git.programs import ProgramFailed
from skillopt_git.schedules import crontab
from skillopt_git.schedules.crontab import END, START, Crontab, block, blocks, replaced, shell_line
from skillopt_git.timetable import Entry
from tests.standins import StandIns
from tests.test_timetable import ENTRY

OTHER = replace(ENTRY, repository="/home/alice/acme-shop", private="/home/alice/acme-shop/.git/skillopt")
ODD = 'it\'s 100% "$HOME" \\% \\\\ äöü `x` #1; && *'
THEIRS = b"MAILTO=alice@example.invalid\n# backup\n0 4 * * * backup --all 2>&1 | logger\n"
foreign = st.one_of(
    st.binary(),
    st.lists(st.sampled_from([b"0 4 * * * backup", b"# >>> other >>>", b"", b"\r", b"\xff", b"A=1 \\"])).map(
        b"\n".join
    ),
)


@pytest.fixture
def cron(standins: StandIns) -> Crontab:
    standins.add("crontab")
    return Crontab(os.environ)


def install(text: bytes, entry: Entry) -> bytes:
    return replaced(text, entry.id, block(entry).encode())


# --- a block -----------------------------------------------------------------------------------------------------


def test_a_block_is_two_lines_between_markers_that_name_the_repository() -> None:
    """At its time every day; and after a restart, if the last night was missed."""
    command = "/usr/bin/python3 -P -m skillopt_git scheduled --private /home/alice/acme-api/.git/skillopt --at 03:17"
    assert block(ENTRY) == (
        f"# >>> skillopt-git {ENTRY.id}\n"
        f"17 3 * * * {command} -- run --repo /home/alice/acme-api --quiet\n"
        f"@reboot {command} --if-missed -- run --repo /home/alice/acme-api --quiet\n"
        f"# <<< skillopt-git {ENTRY.id}\n"
    )


def as_cron_does(line: str) -> str:
    """A backslash before a percent sign is taken away."""
    return line.replace("\\%", "%")


@pytest.mark.parametrize("cron_does", [as_cron_does, str], ids=["Vixie", "one that knows no percent signs"])
def test_a_shell_reads_the_words_as_they_were(cron_does: type[str]) -> None:
    """Whatever they hold, and whether or not cron gives `%` a meaning."""
    words = ["plain", ODD, "a%b", "%", "\\", "\\\\", "\\%", "a b", "", "'", "ü"]
    line = cron_does(shell_line(words))
    told = subprocess.run(["/bin/sh", "-c", f"printf '%s\\n' {line}"], capture_output=True, check=True).stdout.decode()
    assert told.split("\n")[:-1] == words


def test_no_percent_sign_ends_the_line_and_no_backslash_stands_beside_another() -> None:
    """The first is a line feed to cron; two of the second are one to some."""
    line = shell_line([ODD, "100%", "\\\\"])
    assert all(line[place - 1] == "\\" for place, char in enumerate(line) if char == "%")
    assert "\\\\" not in line


# --- a crontab ---------------------------------------------------------------------------------------------------


@given(foreign.filter(lambda text: b"skillopt-git" not in text))
def test_taking_a_block_away_gives_back_the_same_bytes(text: bytes) -> None:
    """Whatever others wrote: no final newline, CRLF, bytes of any encoding; and whichever goes first."""
    one = install(text, ENTRY)
    both = install(one, OTHER)
    assert {found.id for found in blocks(both)} == {ENTRY.id, OTHER.id}
    assert install(both, ENTRY) == both
    assert replaced(both, OTHER.id, b"") == one
    assert replaced(replaced(both, ENTRY.id, b""), OTHER.id, b"") == text


def test_scheduling_again_replaces_only_this_repositorys_block() -> None:
    """Where it stands, between lines of others."""
    text = b"# first\n" + block(ENTRY).encode() + THEIRS + block(OTHER).encode() + b"# last"
    later = replace(ENTRY, at="22:05", auto_adopt=True)
    assert install(text, later) == text.replace(block(ENTRY).encode(), block(later).encode())


@pytest.mark.parametrize(
    ("lines", "line", "what"),
    [
        ([f"{START} {ENTRY.id}", "0 4 * * * backup"], 1, "does not end"),
        (["0 4 * * * backup", f"{END} {ENTRY.id}"], 2, "did not begin"),
        ([f"{START} {ENTRY.id}", f"{START} {OTHER.id}", f"{END} {OTHER.id}", f"{END} {ENTRY.id}"], 2, "inside"),
        ([f"{START} {ENTRY.id}", f"{END} {OTHER.id}"], 2, "did not begin"),
        ([*block(ENTRY).split("\n"), *block(ENTRY).split("\n")], 6, "a second time"),
        ([f"{START} {ENTRY.id}\r", f"{END} {ENTRY.id}\r"], 1, "was changed"),
        ([f"{START}", f"{END} {ENTRY.id}"], 1, "was changed"),
    ],
)
def test_damaged_markers_refuse_and_name_the_line(
    cron: Crontab, standins: StandIns, lines: list[str], line: int, what: str
) -> None:
    """Lines of others might stand between them: nothing is written, whatever was asked for."""
    text = "\n".join([*lines, ""]).encode()
    standins.crontab.write_bytes(text)
    for act in (lambda: cron.install(ENTRY), lambda: cron.remove(ENTRY.id), cron.placed):
        with pytest.raises(ConfigError, match=rf"line {line} of the crontab: .*{what}"):
            act()
    assert standins.crontab.read_bytes() == text
    assert all(call == ["-l"] for call in standins.calls("crontab"))


# --- through the command -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [None, THEIRS])
def test_it_comes_and_goes_through_the_crontab_command(cron: Crontab, standins: StandIns, text: bytes | None) -> None:
    """The last one to go leaves no trace: a crontab that was not there is not there afterwards."""
    if text is not None:
        standins.crontab.write_bytes(text)
    cron.install(ENTRY)
    cron.install(OTHER)
    assert {placed.entry for placed in cron.placed()} == {ENTRY, OTHER}
    assert [problem for placed in cron.placed() for problem in placed.problems] == []
    assert standins.crontab.read_bytes().endswith(text or b"")
    cron.remove(ENTRY.id)
    assert [placed.id for placed in cron.placed()] == [OTHER.id]
    cron.remove(OTHER.id)
    assert (standins.crontab.read_bytes() if standins.crontab.exists() else None) == text


def test_two_who_write_at_once_come_one_after_the_other(
    cron: Crontab, standins: StandIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits until the other has read, changed and written; else one entry would be lost."""
    program = standins.folder / "bin" / "crontab"
    slow = program.read_text().replace("    -)\n", "    -)\n        sleep 0.2\n")
    (standins.folder / "bin" / "sleep").symlink_to(str(shutil.which("sleep", path=os.defpath)))
    program.write_text(slow)
    with ThreadPoolExecutor() as pool:
        list(pool.map(cron.install, (ENTRY, OTHER)))
    assert {placed.entry for placed in cron.placed()} == {ENTRY, OTHER}

    monkeypatch.setattr(crontab, "LONGEST_WAIT", 0)
    with locked(Path(os.environ["HOME"], ".config", "skillopt", "crontab.lock"), wait=0):
        for act in (lambda: cron.install(ENTRY), lambda: cron.remove(ENTRY.id)):
            with pytest.raises(Busy, match="just changing the crontab"):
                act()


def test_a_crontab_that_cannot_be_read_is_not_taken_for_an_empty_one(cron: Crontab, standins: StandIns) -> None:
    """Else the entries of others would be replaced by ours."""
    standins.crontab.write_bytes(THEIRS)
    standins.fail("crontab", "-l", "crontabs/alice: Input/output error")
    for act in (lambda: cron.install(ENTRY), lambda: cron.remove(ENTRY.id)):
        with pytest.raises(ProgramFailed, match="crontab -l: crontabs/alice: Input/output error") as caught:
            act()
        assert "the crontab is as it was" in caught.value.hint
    assert standins.crontab.read_bytes() == THEIRS


def test_a_crontab_that_is_refused_is_told_in_its_words(cron: Crontab, standins: StandIns) -> None:
    """The real command takes no text without a final newline."""
    standins.crontab.write_bytes(b"0 4 * * * backup")
    with pytest.raises(ProgramFailed, match="missing newline before EOF"):
        cron.install(ENTRY)
    assert standins.crontab.read_bytes() == b"0 4 * * * backup"


def test_a_crontab_that_is_not_what_was_written_is_told(cron: Crontab, standins: StandIns) -> None:
    """Somebody else wrote between the two."""
    (standins.folder / "meddle").write_text("0 5 * * * theirs\n")
    with pytest.raises(ProgramFailed, match="not what was written"):
        cron.install(ENTRY)
    assert standins.crontab.read_text().endswith("0 5 * * * theirs\n")


def test_the_lines_that_some_versions_show_before_a_crontab_do_not_disturb(cron: Crontab, standins: StandIns) -> None:
    """They put them there when it is installed, and show them ever after."""
    header = (
        "# DO NOT EDIT THIS FILE - edit the master and reinstall.\n"
        "# (- installed on Mon Nov 30 03:17:00 2026)\n"
        "# (Cron version -- 1.0)\n"
    )
    program = standins.folder / "bin" / "crontab"
    program.write_text(
        program.read_text().replace('cat > "$here/new"', f"{{ printf '{header}'; cat; }} > \"$here/new\"")
    )
    cron.install(ENTRY)
    assert standins.crontab.read_text() == header + block(ENTRY)


def test_what_was_changed_by_hand_is_seen(cron: Crontab, standins: StandIns) -> None:
    """Another hour is still an entry, words that make no sense are none; and so are those of another repository."""
    standins.crontab.write_text(block(ENTRY).replace("17 3 *", "17 5 *"))
    assert [(found.entry, found.problems) for found in cron.placed()] == [
        (ENTRY, ("its lines in the crontab were changed by hand",))
    ]
    for text in (block(ENTRY).replace("--quiet", "'"), block(ENTRY).replace("acme-api", "acme-shop")):
        standins.crontab.write_text(text)
        assert [(found.id, found.entry) for found in cron.placed()] == [(ENTRY.id, None)]


def test_without_the_command_there_is_nothing(standins: StandIns) -> None:
    """Neither a place for an entry nor an entry."""
    assert (Crontab({}).hindrance(), Crontab({}).placed()) == ("there is no `crontab` command", ())
    standins.add("crontab")
    assert Crontab({}).hindrance() is None


# --- the real one ------------------------------------------------------------------------------------------------


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("crontab") is None, reason="this machine has no crontab")
def test_the_real_crontab_keeps_what_was_there() -> None:
    """Entries with odd characters, beside whatever the user has; afterwards it is as before."""
    asked = {"capture_output": True, "env": {**os.environ, "LC_ALL": "C"}, "check": False}
    before = subprocess.run(["crontab", "-l"], **asked)  # type: ignore[call-overload]
    odd = replace(ENTRY, repository=f"/home/alice/{ODD}")
    cron = Crontab(os.environ)
    try:
        cron.install(ENTRY)
        cron.install(odd)
        assert {ENTRY, odd} <= {placed.entry for placed in cron.placed() if not placed.problems}
    finally:
        for entry in (ENTRY, odd):
            cron.remove(entry.id)
    after = subprocess.run(["crontab", "-l"], **asked)  # type: ignore[call-overload]
    assert (after.returncode, after.stdout, after.stderr) == (before.returncode, before.stdout, before.stderr)
