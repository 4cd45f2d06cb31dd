"""`harvest` as a person meets it: what was found, what was left out and why, and the way out where nothing is left."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from skillopt_git import cli, wiring
from skillopt_git.ids import need_id
from skillopt_git.private import Private
from tests.helpers import Repository
from tests.nights import PNPM, TICKET, Run, sessions

TITLES = ("Wishes", "Taken back", "Heard once", "Asked in more")
HINTED = ["Bump the version", "Bumped it.", "the changelog line is missing", "Added it."]
LATER = ["From now on, write release notes in English", "I will."]

Say = Callable[..., str]
Neutral = Callable[..., None]


@pytest.fixture
def neutral(tmp_path: Path, repo: Repository) -> Neutral:
    """Writes one session in the neutral format, some hours old, that ran in the repository or in `cwd`."""

    def write(name: str, *, hours: float = 1, cwd: str = "", text: str = "Add a retry to the client") -> None:
        folder = tmp_path / "neutral"
        folder.mkdir(exist_ok=True)
        time = (datetime.now(UTC) - timedelta(hours=hours)).isoformat()
        line = {"v": 1, "session": name, "role": "user", "text": text, "time": time, "cwd": cwd or str(repo.path)}
        (folder / f"{name}.jsonl").write_text(json.dumps(line) + "\n")

    return write


@pytest.fixture
def told(say: Say, tmp_path: Path) -> Say:
    """What `harvest` says of the sessions in the neutral format."""

    def call(*args: str) -> str:
        return say("harvest", "--source", "jsonl", "--jsonl-home", str(tmp_path / "neutral"), *args)

    return call


def rows(table: str, text: str) -> list[list[str]]:
    """The cells of a table: of those in a pipe, each row is one line."""
    lines = text.split(f"{table}", 1)[1].splitlines()[4:]
    end = next(at for at, line in enumerate(lines) if not line.strip())
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[:end]]


# --- what there is -----------------------------------------------------------------------------------------------


def test_harvest_shows_sessions_tasks_and_what_was_skipped(repo: Repository, home: Path, say: Say) -> None:
    """The words of the user, the rule they amount to, and the reason for everything left out."""
    sessions(home, repo, PNPM)
    stray = home / "projects" / "elsewhere"
    stray.mkdir()
    (stray / "empty.jsonl").write_text("")

    told = say("harvest")

    for word in ("Sessions", "Remove left-pad, nothing uses it", "Use pnpm, not npm", "Skipped", "empty"):
        assert word in told


def notes(told: str) -> str:
    """What is said below the tables, without the days, which move on."""
    below = min((told.find(title) for title in TITLES if title in told), default=len(told))
    return re.sub(r"\d{4}-\d\d-\d\d( to \d{4}-\d\d-\d\d)?", "DAY", told[below:])


def test_harvest_reads_like_a_readers_notes(repo: Repository, home: Path, say: Say) -> None:
    """Each wish with how often, what was typed and about what, and how an answer is checked; then what waits."""
    again = ["Install the dependencies", "Ran npm install.", "No, use pnpm, not npm", "Ran pnpm install."]
    sessions(home, repo, [*PNPM, again, *TICKET[:1], HINTED, LATER])

    told = say("harvest")

    assert (
        notes(told).rstrip()
        == """Wishes

  Use pnpm, not npm
    5 sessions, DAY
    “We use pnpm, not npm.”
      DAY, about “Remove left-pad, nothing uses it”
    “No, use pnpm, not npm”
      DAY, about “Install the dependencies”
    checked: says `pnpm` in a command, does not say `npm` in a command

  Put the ticket number in branch names
    1 session, DAY, waits for a second session
    “No, put the ticket number in branch names”
      DAY, about “Start on the login page”
    judged by a reader

  Always write release notes in English
    1 session, DAY, waits for a second session
    “From now on, write release notes in English”
      DAY
    not checked yet: it was about no answer

Heard once, and counted as soon as the like is said again

  “the changelog line is missing”
    DAY, about “Bump the version”

Asked in more than one session

  2 sessions: Install the dependencies"""
    )
    assert all(len(line) <= 80 for line in notes(told).splitlines())


def test_a_wish_that_was_taken_back_is_told_and_is_no_rule(repo: Repository, home: Path, say: Say, invoke: Run) -> None:
    """The later one stands; the tasks of the earlier one have no rule any more."""
    turned = ["Upgrade lodash", "Ran pnpm up lodash.", "No, use npm, not pnpm", "Ran npm update lodash."]
    sessions(home, repo, [*PNPM, turned])

    told = notes(say("harvest"))

    assert "Taken back\n\n  `Use npm, not pnpm` (DAY) replaces `Use pnpm, not npm` (DAY)\n" in told
    assert "4 sessions, DAY, replaced by `Use npm, not pnpm`" in told
    rules = {task["ask"]: task["rule"] for task in invoke("harvest")["tasks"]}
    assert rules == {**{turns[0]: None for turns in PNPM}, "Upgrade lodash": "Use npm, not pnpm"}


def test_harvest_notes_what_the_sessions_it_read_say(repo: Repository, home: Path, say: Say, invoke: Run) -> None:
    """Counts are those of all nights; what only older sessions said is not told again."""
    turned = ["Upgrade lodash", "Ran pnpm up lodash.", "No, use npm, not pnpm", "Ran npm update lodash."]
    sessions(home, repo, [*TICKET[:2], HINTED, *PNPM, turned, TICKET[2]])
    invoke("run")

    told = notes(say("harvest", "--lookback-hours", "1.5"))

    assert (
        told.rstrip()
        == """Wishes

  Put the ticket number in branch names
    3 sessions, DAY
    “No, put the ticket number in branch names”
      DAY, about “Try the new cache”
    judged by a reader"""
    )


def test_a_wish_without_a_day_is_quoted_without_one(tmp_path: Path, repo: Repository, told: Say) -> None:
    """Not every agent says when."""
    folder = tmp_path / "neutral"
    folder.mkdir()
    turn = {
        "v": 1,
        "session": "s1",
        "role": "user",
        "text": "From now on, write notes in English",
        "cwd": str(repo.path),
    }
    (folder / "s1.jsonl").write_text(json.dumps(turn) + "\n")

    assert notes(told("--lookback-hours", "0")).splitlines()[2:6] == [
        "  Always write notes in English",
        "    1 session, waits for a second session",
        "    “From now on, write notes in English”",
        "    not checked yet: it was about no answer",
    ]


def test_of_the_checks_of_several_wishes_each_is_told_with_its_own(repo: Repository, home: Path, say: Say) -> None:
    """Two wishes about one answer are checked together, and told apart where their words tell them apart."""
    sessions(
        home,
        repo,
        [
            [
                "Add lodash",
                "Ran npm install lodash.",
                "No, use pnpm, not npm. And never commit lock files.",
                "Ran pnpm add.",
            ]
        ],
    )

    told = notes(say("harvest"))

    assert told.count("checked: says `pnpm` in a command, does not say `npm` in a command\n") == 1
    assert told.count("checked only together with another wish\n") == 1


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_is_personal_is_counted_and_not_shown(repo: Repository, home: Path, say: Say, invoke: Run) -> None:
    """Neither to a person nor in the record."""
    sessions(home, repo, [*PNPM, *TICKET])
    invoke("run")
    private = Private(repo.path / ".git" / "skillopt")
    bank = private.bank()
    ticket = need_id("Put the ticket number in branch names")
    private.save(
        "bank.json", replace(bank, tasks=tuple(replace(task, personal=ticket in task.needs) for task in bank.tasks))
    )

    told = say("harvest")

    assert "ticket number" not in told
    assert "3 personal tasks in the bank, of which nothing is shown" in told
    assert {task["rule"] for task in invoke("harvest")["tasks"]} == {"Use pnpm, not npm"}


def test_harvest_counts_by_source_and_reason(neutral: Neutral, told: Say, tmp_path: Path) -> None:
    """Found, kept and skipped per home; each reason with its count and one path as seen from the home."""
    neutral("one")
    neutral("two", hours=2)
    neutral("old", hours=100)
    neutral("far", cwd="/somewhere/else")
    neutral("farther", cwd="/somewhere/else")

    said = told()

    assert rows("Sources", said) == [["jsonl", str(tmp_path / "neutral"), "5", "2", "3"]]
    assert rows("Skipped", said) == [
        ["jsonl", "outside the scope", "2", "far.jsonl"],
        ["jsonl", "before the window", "1", "old.jsonl"],
    ]
    assert [row[1] for row in rows("Sessions, the newest last", said)] == ["jsonl two", "jsonl one"]


def test_a_reason_without_a_place_in_the_home_has_none_to_show(neutral: Neutral, told: Say, tmp_path: Path) -> None:
    """A path that was redacted lies nowhere; its count stands all the same."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    neutral(f"{secret}", cwd="/somewhere/else")
    (tmp_path / "neutral").rename(tmp_path / secret)

    said = told("--jsonl-home", str(tmp_path / secret))

    assert rows("Skipped", said) == [["jsonl", "outside the scope", "1", "-"]]


def test_only_the_newest_sessions_are_shown(neutral: Neutral, told: Say) -> None:
    """Thirty of them, the newest last, and a line on how many more there are."""
    for number in range(33):
        neutral(f"s{number:02}", hours=1 + number / 10)

    said = told()

    assert [row[1] for row in rows("Sessions, the newest last", said)] == [
        f"jsonl s{number:02}" for number in reversed(range(30))
    ]
    assert "3 older sessions are not shown; --json has all." in said
    assert "Nothing to note: nobody corrected an answer in these sessions." in said


def test_a_long_id_is_cut_for_a_person(neutral: Neutral, told: Say) -> None:
    """Its end tells sessions apart; all of it is in the record."""
    neutral("01a22848-e2c9-7d53-9911-c8f330ba1746")

    assert rows("Sessions, the newest last", told())[0][1] == "jsonl …30ba1746"


# --- nothing there -----------------------------------------------------------------------------------------------


def test_harvest_of_an_empty_home_says_what_to_do_next(home: Path, isolated: Path, say: Say) -> None:
    """No transcripts is an answer, not an error: where it looked, and how to look elsewhere."""
    said = say("harvest")

    assert "no such folder" in said
    assert (
        f"No transcripts in {home} or {isolated / '.codex'}: name another folder with --claude-home or --codex-home, "
        "or another agent with --source; `skillopt-git doctor` lists what is there."
    ) in said


def test_sessions_that_are_all_kept_out_are_told_in_one_sentence(neutral: Neutral, told: Say) -> None:
    """With the way out of each reason, which works."""
    neutral("far", cwd="/somewhere/else")
    neutral("old", hours=100)

    assert (
        "No session counts: 1 outside the scope (`--scope all` reads those), "
        "1 before the window (`--lookback-hours 0` reads those)."
    ) in told()
    assert [row[1] for row in rows("Sessions, the newest last", told("--scope", "all"))] == ["jsonl far"]
    assert [row[1] for row in rows("Sessions, the newest last", told("--lookback-hours", "0"))] == ["jsonl old"]


def test_sessions_kept_out_for_another_reason_have_it_listed(neutral: Neutral, told: Say) -> None:
    """There is no flag that makes our own replays count."""
    neutral("ours", text="<!-- skillopt-git replay 7 -->\nAdd a retry")

    said = told()

    assert rows("Skipped", said) == [["jsonl", "our own replay", "1", "ours.jsonl"]]
    assert "No session counts; the reasons are listed above." in said


# --- flags -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["harvest", "run", "dry-run"])
def test_every_home_has_a_flag(verb: str, repo: Repository, tmp_path: Path, invoke: Run) -> None:
    """Each is looked for where the flag says; several sources are named with commas."""
    homes = {name: tmp_path / name for name in ("claude", "codex", "copilot", "jsonl")}
    flags = [word for name, place in homes.items() for word in (f"--{name}-home", str(place))]

    record = invoke(verb, "--source", "auto,copilot-cli,jsonl", *flags)

    paths = [item["path"] for item in record["skipped"]] if verb == "harvest" else record["notes"]
    for place in homes.values():
        assert any(str(place) in path for path in paths), paths


def test_the_help_of_source_names_every_source(capsys: pytest.CaptureFixture[str]) -> None:
    """And `auto` with what it stands for."""
    assert cli.run(["harvest", "--help"]) == 0

    help_ = " ".join(capsys.readouterr().out.split())
    assert f"`auto` ({' and '.join(wiring.AUTO_SOURCES)})" in help_
    assert f"{', '.join(wiring.SOURCES)}." in help_


def test_an_unknown_source_is_refused_with_the_known_ones(say: Say) -> None:
    """Nothing falls back."""
    assert "known: claude, codex, copilot-cli, jsonl" in say("harvest", "--source", "claude,cursor", code=2)


# --- records -----------------------------------------------------------------------------------------------------


def test_harvest_output_is_a_tasks_file_for_review(
    repo: Repository, home: Path, say: Say, invoke: Run, tmp_path: Path
) -> None:
    """Unreviewed, never overwritten, and taken by `run --tasks-file` of the simulation."""
    sessions(home, repo, PNPM)
    file = tmp_path / "tasks.json"

    say("harvest", "--output", str(file))

    record = json.loads(file.read_text())
    assert record["reviewed"] is False
    assert len(record["tasks"]) == 4
    assert "exists already" in say("harvest", "--output", str(file), code=2)
    assert invoke("run", "--tasks-file", str(file))["reason"] == "improved"
    assert "cannot be written" in say("harvest", "--output", str(tmp_path / "no" / "tasks.json"), code=2)


def test_harvest_json_has_the_fields_of_its_record(repo: Repository, home: Path, invoke: Run) -> None:
    """Sessions with typed prompts and their turns, tasks with the one rule of their need."""
    sessions(home, repo, PNPM)

    found = invoke("harvest")

    assert set(found) == {"v", "sessions", "tasks", "skipped"}
    first = found["sessions"][0]
    assert set(first) == {
        *("id", "source", "cwd", "branch", "started", "ended"),
        *("prompts", "final", "tools", "skills", "files"),
    }
    assert [prompt["text"] for prompt in first["prompts"]] == [PNPM[0][0], PNPM[0][2]]
    assert first["final"] == PNPM[0][3]
    assert {task["rule"] for task in found["tasks"]} == {"Use pnpm, not npm"}


@pytest.mark.parametrize(("source", "noted"), [("auto", True), ("jsonl", False), ("claude,jsonl", False)])
def test_a_home_that_is_named_and_not_read_is_noted(
    capsys: pytest.CaptureFixture[str], repo: Repository, tmp_path: Path, source: str, noted: bool
) -> None:
    """Who names the folder of an agent that is read by name only has to name the agent, too."""
    code = cli.run(["harvest", "--repo", str(repo.path), "--source", source, "--jsonl-home", str(tmp_path)])

    assert code == 0
    assert (f"{tmp_path} is not read: harvest.jsonl_home names it" in capsys.readouterr().err) is noted
