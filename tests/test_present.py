"""What people and machines are told: every key of the records, null where nothing was measured, and truthful pages."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import accounts, present, render
from skillopt_git.backends.scripted import Scripted
from skillopt_git.bank import Bank
from skillopt_git.config import Gate, Mine
from skillopt_git.learned import Learned
from skillopt_git.model import Edit, GateMode, Hint, Sighting
from skillopt_git.ports import CallFailed, Reply, Request
from skillopt_git.private import Private
from skillopt_git.recall import recall
from skillopt_git.views import QuoteView, RunView
from tests import learning
from tests.helpers import Repository
from tests.learning import ASKS, OTHER, PNPM, RULE, TICKET, acts, edits, night, task, usual
from tests.nights import PNPM as DIALOGUES
from tests.nights import Run, sessions
from tests.proposals import BRANCH, MEMORY, Nights, add

EDIT: dict[str, Any] = {
    "id": str,
    "rule": str,
    "target": str,
    "op": str,
    "text": str,
    "why": str,
    "verdict": (str, type(None)),
}
MAYBE_TEXT, MAYBE_NUMBER = (str, type(None)), (float, type(None))
RECORD: dict[str, Any] = {
    "v": int,
    **dict.fromkeys(("run", "project", "started", "ended", "backend", "model", "optimizer", "rule", "metric"), str),
    "night": (int, type(None)),
    **dict.fromkeys(("simulated", "accepted", "proposed", "adopted"), bool),
    **dict.fromkeys(("sessions", "tasks", "replayed"), int),
    "split": dict,
    **dict.fromkeys(("baseline", "candidate", "cost_usd"), MAYBE_NUMBER),
    **dict.fromkeys(("verdict", "reason", "branch", "adopted_commit"), MAYBE_TEXT),
    **dict.fromkeys(
        ("edits", "rejected", "unmatched", "suppressed", "candidates", "documents", "commits", "notes"), list
    ),
    "pull_request": type(None),
    "tokens": (int, type(None)),
}


def viewed(learned: Learned, **fields: Any) -> RunView:
    given: dict[str, Any] = {
        "run": learning.RUN,
        "night": 1,
        "started": "2026-11-29T03:00:00Z",
        "ended": "2026-11-29T03:01:00Z",
        "base": ("main", "b" * 40),
        "dry_run": False,
        "proposed": (),
        "branch": None,
        "commits": (),
        "notes": (),
        "version": "0.1.0",
    }
    return present.run_view(learned, **given | fields)


def recorded(learned: Learned, **fields: Any) -> dict[str, Any]:
    return accounts.run_record(viewed(learned, **fields), learned, project="acme-api", adopted_commit=None)


def check(record: dict[str, Any]) -> None:
    """Exactly the keys of the record, each of its type, in JSON that every parser takes."""
    assert set(record) == set(RECORD)
    for key, kind in RECORD.items():
        assert isinstance(record[key], kind), key
    for key in ("edits", "rejected", "unmatched", "suppressed"):
        for edit in record[key]:
            assert set(edit) == set(EDIT)
            assert all(isinstance(edit[name], kind) for name, kind in EDIT.items())
    assert all(set(item) == {"path", "verdict", "baseline", "candidate"} for item in record["documents"])
    assert set(record["split"]) == {"train", "val", "test"}
    json.dumps(record, allow_nan=False)


@pytest.mark.parametrize("dialogues", [[], DIALOGUES[:1], DIALOGUES])
def test_a_runs_record_has_all_its_keys_whatever_the_night_brought(
    repo: Repository, home: Path, invoke: Run, dialogues: list[list[str]]
) -> None:
    """Nothing read, nothing recurred, something learned: the same record, from `run` and `dry-run`."""
    sessions(home, repo, dialogues)

    for verb in ("dry-run", "run", "run"):
        record = invoke(verb)
        check(record)
        assert (record["project"], record["sessions"], record["tasks"]) == ("acme-api", len(dialogues), len(dialogues))
        assert datetime.fromisoformat(record["started"]) <= datetime.fromisoformat(record["ended"])


def test_what_was_not_measured_is_null(repo: Repository, home: Path, invoke: Run) -> None:
    """Never 0: no verdict, no means, no cost, no commit."""
    record = invoke("run")

    nothing = (
        "night",
        "baseline",
        "candidate",
        "verdict",
        "branch",
        "pull_request",
        "adopted_commit",
        "tokens",
        "cost_usd",
    )
    assert {record[key] for key in nothing} == {None}
    assert record["reason"] == "no_sessions"


def test_each_edit_is_told_in_one_place() -> None:
    """On the branch, refused, fitting nowhere, held back; on trial in none of the record's lists but candidates."""
    tasks = (*usual(), task(4, "train", TICKET), task(5, "val", TICKET))
    learned = night(*tasks)
    strong = next(item for item in learned.candidates if item.edits[0].sentence == RULE)
    trial, refused = replace(strong, verdict="suggestive"), replace(strong, verdict="harmful")
    more = Edit(op="add", target=MEMORY, text=OTHER)

    def places(candidates: Any, **fields: Any) -> dict[str, list[str]]:
        told = replace(learned, candidates=candidates, suppressed=((more, "no"),), unmatched=(), linted=((more, "x"),))
        record = recorded(told, **fields)
        check(record)
        return {key: [edit["text"] for edit in record[key]] for key in ("edits", "rejected", "unmatched", "suppressed")}

    aside = {"unmatched": [OTHER], "suppressed": [OTHER]}
    assert places((strong,), dry_run=True) == {"edits": [RULE], "rejected": [], **aside}
    assert places((strong,)) == {"edits": [], "rejected": [], **aside}
    assert places((trial,)) == {"edits": [], "rejected": [], **aside}
    assert places((refused,)) == {"edits": [], "rejected": [RULE], **aside}
    assert [edit.text for edit in viewed(replace(learned, candidates=(trial,))).on_trial] == [RULE]


@pytest.mark.parametrize("named", [None, "t1-0000000000000001", {"t1": 1}, [["t1"]], ["t1-unknown"]])
def test_golden_tasks_are_told_apart_by_whatever_numbers_a_ledger_holds(named: Any) -> None:
    """A list that names tasks of the evidence sets those apart; anything else leaves all of them held out."""
    learned = night(*usual())
    (item,) = learned.candidates
    measured = item.evidence
    assert measured is not None
    tasks = [row.task for row in measured.tasks]

    def told(golden: Any) -> tuple[list[str], list[str]]:
        evidence = replace(measured, numbers={**measured.numbers, "golden": golden})
        view = viewed(replace(learned, candidates=(replace(item, evidence=evidence),)), dry_run=True)
        (edit,) = view.edits
        assert edit.figures == {}
        return [row.task for row in edit.rows], [row.task for row in edit.golden]

    assert told(tasks[:1]) == (tasks[1:], tasks[:1])
    assert told(named) == (tasks, [])


def test_documents_have_means_of_their_own_only_where_they_are_known() -> None:
    """One accepted edit has its own; several in one document those of all; several in several none."""
    tasks = (*usual(), task(6, "train", TICKET), task(7, "val", TICKET), task(8, "val", TICKET))
    learned = night(*tasks)
    assert len(learned.accepted) == 2

    (document,) = present.documents(learned)
    assert (document.path, document.verdict) == (learning.SKILL, "strong")
    assert (document.baseline, document.candidate) == (learned.baseline, learned.candidate) == (0.0, 1.0)

    first, second = learned.candidates
    elsewhere = replace(second, document=learning.ABSENT_MEMORY)
    apart = present.documents(replace(learned, candidates=(first, elsewhere)))
    assert [(item.path, item.candidate) for item in apart] == [
        (learning.SKILL, first.candidate),
        (learning.MEMORY, second.candidate),
    ]
    three = present.documents(replace(learned, candidates=(first, second, elsewhere)))
    assert [item.candidate for item in three] == [None, second.candidate]


def test_a_gate_that_was_off_is_told_as_such() -> None:
    """No means, and the rule `off`."""
    record = recorded(night(*usual(), gate=Gate(mode="off")))

    check(record)
    assert (record["rule"], record["verdict"], record["baseline"]) == ("off", "ungated", None)


def test_diagnostics_explain_a_night_of_failures() -> None:
    """Each failed call by kind, each answer's head, what the judge said; a missing score is null."""

    def flaky(request: Request) -> Any:
        if "left-pad" in request.ask:
            return CallFailed("truncated", "cut off")
        return learning.follows(request)

    learned = night(*usual(), script=acts(target=flaky), skipped={"t1-x": "nothing to act out"})
    told = accounts.diagnostics(learned)

    json.dumps(told, allow_nan=False)
    assert {item["kind"] for item in told["failures"]} == {"truncated"}
    assert told["left_out"] == {"t1-x": "nothing to act out"}
    lost = [item for item in told["rollouts"] if item["task"] == task(3).id]
    assert lost
    assert all((item["hard"], item["soft"], item["answer"]) == (None, None, "") for item in lost)
    assert any(item["answer"].startswith("Done with") for item in told["rollouts"])
    assert told["reflections"][0]["failure"] is None
    assert RULE in told["reflections"][0]["reply"]
    (held,) = told["held_out"]
    assert {row["task"]: (row["base"], row["candidate"]) for row in held["tasks"]}[task(3).id] == (None, None)


def test_diagnostics_of_a_failed_reflection_name_the_failure() -> None:
    """Nothing was proposed, and this is why."""
    told = accounts.diagnostics(night(*usual(), script=acts(optimizer=lambda _: CallFailed("refused", "no"))))

    assert {item["failure"] for item in told["reflections"]} == {"refused"}


def test_a_proposal_is_told_by_its_open_edits(repo: Repository) -> None:
    """A draft unless all are strong; once all is decided, by what it was; evidence that is missing leaves no rows."""
    nights = Nights(repo)
    nights.propose(add(RULE), verdict="ungated")
    nights.record(add(OTHER), number=2, start=1, evidence="0" * 64, simulated=True)
    view = present.proposal_view(nights.proposal(), nights.ledger.evidence, ledger_ref="refs/x")

    assert (view.branch, view.draft, view.ungated, view.base_commit) == (BRANCH, True, True, nights.base.commit)
    assert [(edit.sentence, edit.verdict, edit.rows) for edit in view.edits] == [
        (RULE, "ungated", ()),
        (OTHER, "strong", ()),
    ]
    repo.git("branch", "--quiet", "-D", BRANCH)
    nights.sync()
    assert len(present.proposal_view(nights.proposal(), nights.ledger.evidence, ledger_ref="refs/x").edits) == 2


def test_published_texts_carry_no_private_marks() -> None:
    """The hex of a redaction mark differs from machine to machine, and is nobody's business."""
    edit = Edit(op="add", target=MEMORY, text="Log in as [REDACTED:email:0a1b2c3d]")

    assert accounts.edit_record(edit, None, "x")["text"] == "Log in as [REDACTED:email]"


def test_the_needs_of_a_night_are_counted_once() -> None:
    """Only those that some session asked for."""
    view = viewed(night(*usual()))

    assert [(need.text, need.sessions, need.tasks) for need in view.needs] == [(RULE, 5, 5)]


def test_only_the_report_quotes_what_was_typed(repo: Repository, home: Path, invoke: Run) -> None:
    """Neither the ledger, nor a commit, nor the page of the pull request holds a sentence of a session."""
    typed = ("we use pnpm, not npm here", "please use pnpm instead of npm here", "pnpm, not npm please")
    sessions(
        home, repo, [[*turns[:2], f"nope, {said}", turns[3]] for turns, said in zip(DIALOGUES, typed, strict=False)]
    )
    record = invoke("run")
    (edit,) = record["edits"]
    nights = Nights(repo)
    proposal = recall(nights.ledger.events(), simulated=True).proposal(record["branch"])
    assert proposal is not None

    report = (repo.path / ".git" / "skillopt" / "reports" / record["run"] / "report.md").read_text()
    view = present.proposal_view(proposal, nights.ledger.evidence, ledger_ref="refs/skillopt/ledger")
    published = (
        render.pull_request(view),
        repo.git("log", "--format=%B", record["branch"]),
        repo.git("log", "--format=%B", "--patch", "refs/skillopt/ledger"),
    )

    machine = Private(repo.path / ".git" / "skillopt").machine()
    assert {item.data["machine"] for item in nights.ledger.events() if item.type == "family"} == {machine}
    assert all(said in report for said in typed)
    assert edit["text"] in published[0]
    for page in published:
        assert not any(said in page for said in typed)
        assert not any(turns[0] in page or turns[1] in page for turns in DIALOGUES)


# --- wishes ------------------------------------------------------------------------------------------------------

DAY = datetime(2026, 11, 2, 9, tzinfo=UTC)


def heard(need: str, number: int, **fields: Any) -> Sighting:
    given: dict[str, Any] = {
        "rule": RULE,
        "quote": f"No, pnpm ({number})",
        "turn": f"turn {number:02}",
        "session": f"01a22848-e2c9-7d53-{number:04}",
        "source": "claude",
        "time": DAY + timedelta(days=number),
        "task": task(number % 4).id,
    }
    return Sighting(need=need, **given | fields)


def states(learned: Learned, **fields: Any) -> dict[str, str]:
    return {need.text: need.state for need in viewed(learned, **fields).needs}


def test_the_report_quotes_the_turns_of_each_rule() -> None:
    """With day, session and ask, in the order of time: at the rule where it was tried, else at the need."""
    said = (heard(PNPM, 3), heard(PNPM, 1), heard(PNPM, 0, time=None, task=None), heard(TICKET, 5, task=None))
    bank = Bank(sightings=said, hints=(Hint(sighting=heard("", 2), task=task(2), asks=True),))

    view = viewed(night(*usual(), bank=bank), dry_run=True)

    (edit,) = view.edits
    assert edit.quotes == (
        QuoteView("No, pnpm (0)", "…d53-0000", None, None),
        QuoteView("No, pnpm (1)", "…d53-0001", "2026-11-03", ASKS[1]),
        QuoteView("No, pnpm (3)", "…d53-0003", "2026-11-05", ASKS[3]),
    )
    assert {need.text: need.quotes for need in view.needs} == {
        RULE: (),
        OTHER: (QuoteView("No, pnpm (5)", "…d53-0005", "2026-11-07", None),),
    }
    assert view.hints == (QuoteView("No, pnpm (2)", "…d53-0002", "2026-11-04", ASKS[2]),)


def test_of_many_turns_the_newest_are_quoted() -> None:
    """Ten of one wish, and ten that wait to be heard again."""
    many = tuple(heard(PNPM, number) for number in range(14))
    hints = tuple(Hint(sighting=heard("", number), task=task(0), meant=True) for number in range(14))

    view = viewed(night(*usual(), bank=Bank(sightings=many, hints=hints)), dry_run=True)

    newest = [f"No, pnpm ({number})" for number in range(4, 14)]
    assert [quote.text for quote in view.edits[0].quotes] == newest
    assert [quote.text for quote in view.hints] == newest


def test_each_need_says_what_became_of_it() -> None:
    """Proposed, refused, on trial, unmeasured, held back, waiting for this or that."""
    learned = night(*usual())
    (candidate,) = learned.candidates

    def judged(verdict: Any) -> str:
        return states(replace(learned, candidates=(replace(candidate, verdict=verdict),)))[RULE]

    assert states(learned, dry_run=True) == {RULE: "proposed"}
    assert {verdict: judged(verdict) for verdict in ("strong", "suggestive", "unverified", "harmful")} == {
        "strong": "waits for the open proposal",
        "suggestive": "on trial",
        "unverified": "waits for held-out tasks",
        "harmful": "refused: tasks got worse",
    }
    held = replace(learned, candidates=(), suppressed=((candidate.edits[0], "rejected before (e1-a)"),))
    assert states(held) == {RULE: "held back: rejected before (e1-a)"}


def test_a_need_that_was_not_tried_says_why() -> None:
    """Too rare, without an answer that was corrected, kept to already, or without a rule that fits."""
    assert (
        states(night(task(0), task(5, "train", TICKET), task(6, "val", TICKET)))[RULE] == "waits for a second session"
    )
    rare = night(task(0), task(1), mine=Mine(min_sessions=3))
    assert states(rare) == {RULE: "waits for more sessions"}
    voiced = Bank(sightings=(heard(TICKET, 1, task=None), heard(TICKET, 2, task=None)))
    assert states(night(*usual(), bank=voiced))[OTHER] == "waits for an answer that was corrected"
    good = night(*usual(), script=acts(target=lambda _: Reply(text="Ran pnpm.")))
    assert states(good) == {RULE: "kept to already"}
    mute = night(*usual(), script=acts(optimizer=lambda _: edits()))
    assert states(mute) == {RULE: "no fitting rule was written"}
    assert states(night(task(0), task(1))) == {RULE: "not tried tonight"}
    later = replace(mute, postponed=frozenset({PNPM}))
    assert states(later) == {RULE: "waits for another night"}
    unsaid = replace(mute, known=replace(mute.known, unsaid=frozenset({PNPM})), reflections=())
    assert states(unsaid) == {RULE: "waits until people reviewed it"}


@pytest.mark.parametrize("rare", [False, True])
def test_what_nobody_reviewed_is_not_said_to_be_rare(rare: bool) -> None:
    """A night that may send only what was reviewed says so, and what to do; a rare wish is rare all the same."""
    mined = Bank(tasks=usual(), needs={PNPM: RULE})

    learned = night(bank=mined, only_reviewed=True, mine=Mine(min_sessions=9 if rare else 2))

    page = render.report(viewed(learned))
    assert learned.reason == "nothing_recurred"
    assert ("Nothing came up often enough" in page) is rare
    assert ("`skillopt-git tasks review`" in page) is not rare


@pytest.mark.parametrize(
    ("mode", "steady", "told"),
    [
        ("evidence", False, "evidence"),
        ("evidence", True, "strict"),
        ("strict", False, "strict"),
        ("off", False, "off"),
    ],
)
def test_a_night_that_tried_nothing_names_the_gate_it_has(mode: GateMode, steady: bool, told: str) -> None:
    """Where target and judges always say the same, that is the strict one."""
    idle = Scripted(script=acts(optimizer=lambda _: edits()), deterministic=steady)
    learned = night(*usual(), backend=idle, gate=Gate(mode=mode))
    assert learned.candidates == ()
    assert viewed(learned).rule == told


def test_a_replaced_need_names_the_later_one() -> None:
    """Whatever else became of it."""
    tasks = (*usual(), task(5, "train", TICKET), task(6, "val", TICKET))

    found = states(night(*tasks, bank=Bank(replaced={PNPM: TICKET})))

    assert found[RULE] == f"replaced by `{OTHER}`"
    learned = night(*usual())
    personal = replace(learned.known, bank=Bank(replaced={PNPM: "n1-personal"}))
    assert states(replace(learned, known=personal))[RULE] == "replaced by a later wish"


def test_diagnostics_count_what_waits() -> None:
    """By id: no word of it."""
    hint = Hint(sighting=heard("", 2), task=task(2), asks=True)
    told = accounts.diagnostics(night(task(0), bank=Bank(hints=(hint,))))

    assert told["waiting"] == [
        {"need": PNPM, "sessions": 1, "tasks": 1, "machines": 1},
        {"need": "", "sessions": 1, "tasks": 1, "machines": 1},
    ]
