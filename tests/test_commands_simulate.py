"""`simulate` as a person meets it: what it starts from, what it tells, and that it leaves nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from skillopt_git import cli
from skillopt_git.bank import Bank
from skillopt_git.gitrepo import GitRepo
from skillopt_git.ledger import Ledger, evidence_name
from skillopt_git.model import Event
from skillopt_git.private import Private
from tests.helpers import Repository
from tests.helpers_git import TOOL, snapshot
from tests.learning import task
from tests.nights import Run
from tests.proposals import LEDGER
from tests.test_premises import SEEN

Say = Callable[..., str]
QUICK = ("--repetitions", "100", "--tasks", "3")
KEYS = {
    "null_adoption",
    "null_draft",
    "power",
    "power_concentrated",
    "smallest_effect",
    "harmful_adoption",
    "helpful_if_adopted",
    "rollouts_per_night",
}


def remember(repo: Repository, *, simulated: bool = False) -> None:
    """The evidence of a night."""
    event = Event(
        v=1,
        id="0" * 16,
        ts="2026-11-29T03:00:00.000Z",
        type="gate",
        run="20261129T030000Z-00000001",
        simulated=simulated,
        edit="e1-0000000000000001",
        rule="r1-0000000000000001",
        target="CLAUDE.md",
        data={
            "verdict": "strong",
            "subject": "a",
            "base_blob": None,
            "model": "scripted",
            "families": [],
            "evidence": evidence_name(SEEN),
        },
    )
    ledger = Ledger(GitRepo.open(repo.path), LEDGER, TOOL)
    ledger.append([event], [SEEN], when=datetime(2026, 11, 29, tzinfo=UTC), message="Record")


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_new_repository_assumes_a_usual_case_and_stays_as_it_is(repo: Repository, invoke: Run) -> None:
    before = snapshot(repo)
    record = invoke("simulate", "--repetitions", "100")

    assert snapshot(repo) == before
    assert not (repo.path / ".git" / "skillopt").exists()
    assert record.keys() == {"v", "gate", "settings", "compare", "trial", "guard", *KEYS}
    assert (record["v"], record["gate"], record["compare"]) == (1, "evidence", None)
    assert list(record["power"]) == ["+10", "+20", "+30"]
    settings = record["settings"]
    assert (settings["tasks"], settings["noise"], settings["rates"]) == (8, "medium", None)
    assert (settings["tasks_from"], settings["rates_from"]) == ("assumed", "assumed")
    assert (settings["repetitions"], settings["seed"], settings["judge_noise"]) == (100, 0, 0.0)
    assert settings["gate"]["strong_e"] == 20.0


def test_it_tells_a_table_a_chart_and_what_they_mean(say: Say) -> None:
    told = say("simulate", *QUICK, "--noise", "low").splitlines()

    assert told[0] == "Simulated: 3 held-out tasks, as given; low noise, as given."
    rows = {line[2:42].strip(): line[42:].strip() for line in told if line.startswith("  ")}
    assert rows["adopts a rule that does nothing"] == "0.0 %"
    assert rows["rollouts, both arms"].isdecimal()
    bars = [line for line in told if line.startswith("  evidence: +")]
    assert [bar.split()[1] for bar in bars] == ["+10", "+20", "+30"]
    shares = [int(bar.split()[3].rstrip("%")) for bar in bars]
    assert [bar.count("#") for bar in bars] == [pytest.approx(40 * share / 100, abs=0.8) for share in shares]
    meaning, outlook = told[-3], told[-1]
    assert meaning.startswith("What this means: of 100 rules that do nothing, `evidence` adopts 0.0 and leaves ")
    assert "No gain is so great that four nights of five would show it" in meaning
    assert "is drawn from 100 nights and right within 9.8 points;" in meaning
    assert outlook.startswith("Over up to 14 nights 0.0 of 100 rules without effect are adopted.")
    assert "is drawn from 100 trials and right within 9.8 points;" in outlook


def cells(told: str, head: str) -> dict[str, list[str]]:
    """The cells of the table with this head, by what its rows say."""
    lines = told.partition(head)[2].splitlines()[2:]
    split = [re.split(r"\s{2,}", line.strip()) for line in lines[: [line.strip() for line in lines].index("")]]
    return {label: values for label, *values in split}


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_it_tells_what_becomes_of_rules_over_the_nights_of_a_trial(say: Say, invoke: Run) -> None:
    """Where no new task comes and where some do, in words, as a chart and as a record."""
    call = ("simulate", "--repetitions", "100", "--tasks", "5", "--fresh", "2")
    told, record = say(*call), invoke(*call)
    none, two = record["trial"]["prospects"]
    assert (record["trial"]["repetitions"], none["fresh"], two["fresh"]) == (100, 0, 2)

    shown = cells(told, "over the nights of a trial")
    assert "over the nights of a trial                   no new tasks   2 new tasks a night" in told
    assert [float(cell.split()[0]) for cell in shown["such a draft lasts, in the mean"]] == pytest.approx(
        [none["null_draft_nights_mean"], two["null_draft_nights_mean"]], abs=0.05
    )
    for effect in ("+10", "+20", "+30"):
        week, all_nights = (
            shown[f"a helpful one is adopted in {within}: {effect}"] for within in ("a week", "14 nights")
        )
        for at, item in enumerate((none, two)):
            assert float(week[at].split()[0]) == pytest.approx(100 * item["adopted_week"][effect], abs=0.5)
            assert float(all_nights[at].split()[0]) == pytest.approx(100 * item["adopted"][effect], abs=0.5)
        (bar,) = (line for line in told.splitlines() if line.startswith(f"  {effect} points: a week"))
        assert bar.count("#") == pytest.approx(40 * two["adopted_week"][effect], abs=1)
    assert "Adopted by then (2 new tasks a night):" in told
    assert f"With 2 new tasks a night it is {shown['such a draft is open after 14'][1]}." in told


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_it_tells_what_the_guard_finds(say: Say, invoke: Run) -> None:
    record = invoke("simulate", *QUICK)
    assert list(record["guard"]["finds"]) == ["-10", "-20", "-30"]
    assert record["guard"]["false_alarm"] < record["guard"]["finds"]["-30"]
    shown = cells(say("simulate", *QUICK), "a rule that is good for its own tasks")
    assert next(iter(shown)) == "is refused though it changes no other"
    assert float(shown["is refused where it changes others by -30"][0].split()[0]) == pytest.approx(
        100 * record["guard"]["finds"]["-30"], abs=0.5
    )


def test_there_may_be_no_new_tasks_and_no_guard(repo: Repository, say: Say, invoke: Run) -> None:
    repo.write({".skillopt.toml": "[gate]\nguard = 0\nnights = 3\n"})
    record = invoke("simulate", *QUICK, "--fresh", "0")
    assert record["guard"] is None
    assert [item["fresh"] for item in record["trial"]["prospects"]] == [0]
    told = say("simulate", *QUICK, "--fresh", "0")
    assert "a guard of" not in told
    assert "With " not in told.splitlines()[-1]
    assert "a helpful one is adopted in 3 nights: +20" in told


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_tasks_may_always_pass_or_always_fail(say: Say, invoke: Run) -> None:
    """Then nothing differs by chance."""
    record = invoke("simulate", *QUICK, "--noise", "none")
    assert record["settings"]["noise"] == "none"
    assert (record["null_adoption"], record["null_draft"]) == (0, 0)
    assert record["trial"]["prospects"][0]["null_draft_nights_mean"] is None
    told = say("simulate", *QUICK, "--noise", "none")
    assert told.startswith("Simulated: 3 held-out tasks, as given; no noise, as given.\n")
    assert cells(told, "over the nights of a trial")["such a draft lasts, in the median"] == ["-", "-"]
    assert invoke("simulate", *QUICK, "--noise", "none", "--judge-noise", "0.3")["null_draft"] > 0


def test_it_says_what_is_assumed_and_which_gate_is_in_force(repo: Repository, say: Say) -> None:
    repo.write({".skillopt.toml": '[gate]\nmode = "strict"\nstrong_e = 3.0\n'})
    told = say("simulate", "--repetitions", "100", "--rates", "1,.98").splitlines()
    assert told[0] == (
        "Simulated: 8 held-out tasks, which is assumed: the bank has none; rates of passing as given (1, 0.98)."
    )
    assert told[1] == 'gate.mode is strict here; the figures are those of `gate.mode = "evidence"`.'
    assert "These tasks pass too often for a rule to help by 20 points." in told[-3]
    assert "15 of 100" not in told[-3]


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_it_says_from_which_gain_on_a_rule_is_seen(say: Say) -> None:
    told = say("simulate", "--repetitions", "100", "--tasks", "12", "--rates", "0.05")
    (gain,) = re.findall(r"adopts 4 in 5 that help by +\+(\d+) points", told)
    assert 5 <= int(gain) <= 30
    assert f"Four nights of five show a gain of +{gain} points; of smaller ones, fewer do." in told
    assert "of those adopted truly help." in told


def test_it_starts_from_the_bank_and_what_was_measured(repo: Repository, invoke: Run, say: Say) -> None:
    Private(GitRepo.open(repo.path).private_dir()).save("bank.json", Bank(tasks=(task(0), task(1), task(2, "train"))))
    remember(repo)

    settings = invoke("simulate", "--repetitions", "100")["settings"]
    assert (settings["tasks"], settings["tasks_from"]) == (2, "bank")
    assert (settings["rates"], settings["rates_from"], settings["noise"]) == ([0.5, 0.0, 1.0], "history", None)
    assert say("simulate", "--repetitions", "100").startswith(
        "Simulated: 2 held-out tasks, as the typical need in the bank has; "
        "rates of passing as measured on 3 held-out tasks in this repository.\n"
    )
    assert invoke("simulate", *QUICK, "--rates", "0.5")["settings"]["rates_from"] == "given"


def test_what_was_simulated_is_no_history(repo: Repository, invoke: Run) -> None:
    remember(repo, simulated=True)
    assert invoke("simulate", *QUICK)["settings"]["rates_from"] == "assumed"


def test_a_damaged_bank_is_told_of(repo: Repository, say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    private = Private(GitRepo.open(repo.path).private_dir())
    private.save("bank.json", Bank())
    (private.folder / "bank.json").write_text("{")

    assert cli.run(["simulate", *QUICK, "--repo", str(repo.path)]) == 0
    assert "was damaged and is kept as" in capsys.readouterr().err


def test_other_gates_stand_beside_it_with_the_same_figures(invoke: Run, say: Say) -> None:
    record = invoke("simulate", *QUICK, "--compare")
    assert list(record["compare"]) == ["strict", "skillopt_sleep", "gbrain_median", "one_standard_error"]
    for figures in record["compare"].values():
        assert figures.keys() == KEYS
        assert figures["null_draft"] is None
        assert figures["null_adoption"] > record["null_adoption"]
    told = say("simulate", *QUICK, "--compare").splitlines()
    (head,) = (line.split() for line in told if "in one night" in line)
    assert head[5:] == ["evidence", "strict", "SkillOpt-Sleep", "gbrain", "1", "std.", "error"]
    assert sum("does nothing" in line and "%" in line for line in told) == 1 + 5  # in the table and in the chart


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rates", "half"), "--rates 'half' is no list of shares"),
        (("--rates", ".5,1.5"), "--rates '.5,1.5' is no list of shares"),
        (("--rates=-.5,.5",), "--rates '-.5,.5' is no list of shares"),
        (("--rates", "nan"), "--rates 'nan' is no list of shares"),
        (("--rates", ""), "--rates '' is no list of shares"),
        (("--rates", ".5", "--noise", "low"), "--noise and --rates both say how often tasks pass"),
        (("--tasks", "0"), "Invalid value for '--tasks'"),
        (("--tasks", "41"), "Invalid value for '--tasks'"),
        (("--fresh", "13"), "Invalid value for '--fresh'"),
        (("--noise", "loud"), "Invalid value for '--noise'"),
        (("--judge-noise", "-1"), "Invalid value for '--judge-noise'"),
        (("--judge-noise", "nan"), "Invalid value for '--judge-noise'"),
        (("--repetitions", "1"), "Invalid value for '--repetitions'"),
        (("--seed", "-1"), "Invalid value for '--seed'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], message: str, say: Say) -> None:
    assert say("simulate", *arguments, code=2).startswith(f"error: {message}")


def test_no_other_verb_pays_for_the_simulation(repo: Repository) -> None:
    program = (
        "import sys; from skillopt_git import cli; "
        f"code = cli.run(['status', '--repo', {str(repo.path)!r}]); "
        "print(code, 'numpy' in sys.modules, 'skillopt_git.campaign' in sys.modules)"
    )
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False False"
