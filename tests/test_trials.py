"""A trial over several nights: what a draft becomes when it is measured further."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from skillopt_git import nightly
from skillopt_git.loading import load
from skillopt_git.nightly import Options, Ran
from skillopt_git.ports import CallFailed, Reply, Request
from skillopt_git.trials import CHANGED
from tests.helpers import Repository
from tests.nights import OTHER, PNPM, RULE, TICKET, Run, obedient, sessions
from tests.test_nightly_measured import choice

Night = Callable[..., Ran]
PNPM_MORE = [
    ["Pin the eslint version", "Ran npm install eslint@9.", "No, use pnpm, not npm", "Ran pnpm add eslint@9."],
    ["Swap axios for ky in the shop", "Ran npm install ky.", "Use pnpm, not npm.", "Ran pnpm add ky."],
]
FEW = {"gate.rollouts": 2}  # four pairs of two tasks: e = 6.2, which is not enough in one night


@pytest.fixture
def night(repo: Repository, home: Any) -> Night:
    """The next night, with a model that varies. Its sessions are read again every time."""
    began = datetime.now(UTC)
    count = iter(range(100))

    def call(script: Callable[[Request], Reply | CallFailed] = obedient, **flags: Any) -> Ran:
        config = load(repo.path, flags={"harvest.claude_home": str(home), **FEW, **flags})
        model, _ = choice(script, deterministic=False)
        at = began + timedelta(days=next(count))
        options = Options(anew=True)
        return nightly.run(repo.path, config, options, model=model, clock=lambda: at, notify=lambda _: None)

    return call


def contrary(request: Request) -> Reply | CallFailed:
    """A model that does well unless it is told the rule."""
    if request.purpose != "rollout":
        return obedient(request)
    taught = any(RULE in text for _, text in request.documents)
    return Reply(text="npm install" if taught else "pnpm install")


def rulings(invoke: Run) -> list[dict[str, Any]]:
    events = invoke("log", "--limit", "1000")["events"]
    return [item["data"] for item in reversed(events) if item["type"] == "gate"]


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_draft_becomes_ready_on_the_night_that_proves_it(
    repo: Repository, home: Any, night: Night, invoke: Run
) -> None:
    """Its commits stay as they are; page, status and `verify` follow the newest ruling."""
    sessions(home, repo, PNPM)
    first = night()
    branch = first.record["branch"]
    tip = repo.git("rev-parse", branch)
    assert (first.record["verdict"], first.record["accepted"]) == ("suggestive", False)
    assert invoke("show", branch)["draft"] is True

    second = night()

    assert (second.record["verdict"], second.record["accepted"]) == ("strong", True)
    assert second.record["edits"] == []
    assert any("measured further, and is strong" in note for note in second.record["notes"])
    assert "## Proven further" in second.report.partition("## What was read")[0]
    assert "## Proven further" not in first.report
    assert second.page is not None
    drawn = second.page.read_text(encoding="utf-8")
    assert drawn.count("<title id=") == 3
    assert "0 of 4 without the rule, 4 of 4 with it; " in drawn.partition("Passes in each night of the trial")[2]
    assert repo.git("rev-parse", branch) == tip
    page = invoke("show", branch)
    assert page["draft"] is False
    assert "xychart-beta\n" in page["body"]
    assert "passed 8 of 8 rollouts with the rule and 0 of 8 without it" in page["body"]
    nights = [line for line in page["body"].splitlines() if "| 0 of 4 | 4 of 4 |" in line]
    assert [line.rsplit("|", 2)[1].strip() for line in nights] == ["6.2", "56.78"]
    assert [ran.record["run"] in row for ran, row in zip([first, second], nights, strict=True)] == [True, True]
    assert [item["verdict"] for item in invoke("status")["open"][0]["edits"]] == ["strong"]
    assert [(item["recorded"], item["problems"]) for item in invoke("verify")["edits"]] == [("strong", [])]
    told = rulings(invoke)
    assert [item["verdict"] for item in told] == ["suggestive", "strong"]
    assert len({item["trial"] for item in told}) == 1
    assert len([item for item in invoke("log", "--all", "--limit", "999")["events"] if item["type"] == "trial"]) == 1
    third = night()
    assert third.record["candidates"] == []


def test_a_draft_that_is_proven_is_adopted_by_itself_if_so_told(repo: Repository, home: Any, night: Night) -> None:
    """On that night, and not before."""
    sessions(home, repo, PNPM)
    told = {"propose.auto_adopt": True}

    assert night(**told).record["adopted_commit"] is None
    assert night(**told).record["adopted_commit"] == repo.git("rev-parse", "main").strip()


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_draft_that_others_refute_leaves_its_branch(repo: Repository, home: Any, night: Night, invoke: Run) -> None:
    """Later nights speak against it: it is given up, and remembered as what the gate refused."""
    sessions(home, repo, PNPM)
    branch = night().record["branch"]

    verdicts = [night(contrary).record["verdict"] for _ in range(3)]

    assert verdicts[0] == "inconclusive"
    assert invoke("status")["open"] == []
    (given_up,) = [item for item in invoke("log", "--limit", "999")["events"] if item["type"] == "expired"]
    assert given_up["data"]["branch"] == branch
    assert "its trial ended without a proof" in given_up["reason"]


def test_no_pair_is_used_twice_and_a_task_has_an_end(repo: Repository, home: Any, night: Night, invoke: Run) -> None:
    """Every night asks with numbers of its own; then the rule waits for another task."""
    sessions(home, repo, PNPM)
    asked: list[str] = []

    def noted(request: Request) -> Reply | CallFailed:
        if request.sample:
            asked.append(f"{request.sample} {request.ask} {any(RULE in text for _, text in request.documents)}")
        return obedient(request)

    strict = {"gate.strong_e": 1e9, "gate.pairs": 4}
    for _ in range(2):
        night(noted, **strict)
    many = len(asked)
    assert many == len(set(asked)) == 2 * 2 * 2 * 2

    last = night(noted, **strict)

    assert len(asked) == many
    assert any("waits for another task that needs it" in note for note in last.record["notes"])
    assert len(rulings(invoke)) == 2


def test_a_trial_has_a_last_night(repo: Repository, home: Any, night: Night, invoke: Run) -> None:
    """What is not proven by then is given up, though nothing speaks against it."""
    sessions(home, repo, PNPM)
    for _ in range(3):
        night(**{"gate.strong_e": 1e9, "gate.pairs": 100, "gate.nights": 3})

    assert invoke("status")["open"] == []
    assert [item["verdict"] for item in rulings(invoke)] == ["suggestive"] * 3


def test_another_gate_is_another_trial(repo: Repository, home: Any, night: Night) -> None:
    """Its figures would not be of one thing."""
    sessions(home, repo, PNPM)
    night()

    (told,) = [note for note in night(**{"gate.strong_e": 25}).record["notes"] if "measured further" in note]

    assert told == f"'{RULE}' is not measured further: {CHANGED}"


def test_a_night_that_cannot_measure_counts_for_nothing(repo: Repository, home: Any, night: Night, invoke: Run) -> None:
    """The draft stands as it stood, with the evidence it had."""
    sessions(home, repo, PNPM)
    branch = night().record["branch"]
    body = invoke("show", branch)["body"]

    def failing(request: Request) -> Reply | CallFailed:
        return CallFailed("refused", "no") if request.sample else obedient(request)

    assert night(failing).record["verdict"] == "invalid"
    assert invoke("show", branch)["body"] == body
    assert night().record["verdict"] == "strong"


# --- on no branch ------------------------------------------------------------------------------------------------


def both(request: Request) -> Reply | CallFailed:
    """An optimizer that words either wish; a model that keeps to the first always and to the second at times."""
    if request.purpose == "judge":
        return Reply(text=json.dumps({"score": 1.0 if "ACME-7" in request.ask.split("The answer:")[-1] else 0.0}))
    if request.purpose != "rollout":
        return obedient(request)
    told = " ".join(text for _, text in request.documents)
    often = request.sample.endswith(("1", "5", "9"))
    branch = "ACME-7" if OTHER in told and often else "work"
    return Reply(text=f"Ran {'pnpm' if RULE in told else 'npm'} install on branch {branch}.")


FAR = {"gate.strong_e": 100}  # of these tasks only the first rule's get there
PLENTY = {"gate.rollouts": 5, "gate.pairs": 100, "gate.suggestive_p": 1.0}


def proposed(ran: Ran) -> list[str]:
    return [item["text"] for item in ran.record["edits"]]


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_is_on_trial_beside_a_proven_rule_goes_on_without_a_branch(
    repo: Repository, home: Any, night: Night, invoke: Run
) -> None:
    """It is measured further every night, listed by `status`, and goes on the branch on the night that proves it."""
    sessions(home, repo, [*PNPM, *PNPM_MORE, *TICKET])

    first = night(both, **PLENTY)

    assert proposed(first) == [RULE]
    (waits,) = invoke("status")["on_trial"]
    assert [edit["text"] for edit in waits["edits"]] == [OTHER]
    assert waits["verdict"] == "suggestive"

    nights = [first]
    while OTHER not in proposed(nights[-1]):
        assert len(nights) < 14
        nights.append(night(both, **PLENTY))

    assert len(nights) > 1
    told = [item for item in rulings(invoke) if item["trial"] == waiting_trial(invoke)]
    assert [item["verdict"] for item in told] == [*["suggestive"] * (len(nights) - 1), "strong"]
    assert invoke("status")["on_trial"] == []
    assert [edit["text"] for edit in invoke("status")["open"][0]["edits"]] == [RULE, OTHER]
    assert [item["problems"] for item in invoke("verify")["edits"]] == [[], []]


def waiting_trial(invoke: Run) -> str:
    """The trial of the second rule."""
    events = invoke("log", "--limit", "1000")["events"]
    (trial,) = {item["data"]["trial"] for item in events if item["type"] == "gate" and item["text"] == OTHER}
    return str(trial)


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_is_on_trial_holds_back_other_words_for_its_wish(
    repo: Repository, home: Any, night: Night, invoke: Run
) -> None:
    """Two rules for one wish would be measured against each other by nobody."""
    sessions(home, repo, [*PNPM, *PNPM_MORE, *TICKET])
    night(both, **PLENTY)

    def reworded(request: Request) -> Reply | CallFailed:
        if request.purpose != "reflect":
            return both(request)
        text = "Name branches after tickets, always"
        return Reply(text=json.dumps({"edits": [{"op": "add", "text": text, "reason": "Asked."}]}))

    second = night(reworded, **PLENTY)

    assert any(item["why"].startswith("on trial already (e1-") for item in second.record["suppressed"])


def test_a_draft_that_makes_room_for_a_proven_rule_stays_on_trial(
    repo: Repository, home: Any, night: Night, invoke: Run
) -> None:
    """It leaves the branch, and its trial goes on with what was measured."""
    sessions(home, repo, TICKET)
    first = night(both, **PLENTY, **FAR)
    assert proposed(first) == [OTHER]
    sessions(home, repo, [*PNPM, *PNPM_MORE, *TICKET])

    second = night(both, **PLENTY, **FAR)

    assert RULE in proposed(second)
    (waits,) = invoke("status")["on_trial"]
    assert [edit["text"] for edit in waits["edits"]] == [OTHER]
    assert [edit["text"] for edit in invoke("status")["open"][0]["edits"]] == [RULE]
    assert len([item for item in rulings(invoke) if item["trial"] == waiting_trial(invoke)]) == 2


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_a_person_rejected_is_not_measured_further(repo: Repository, home: Any, night: Night, invoke: Run) -> None:
    sessions(home, repo, PNPM)
    branch = night().record["branch"]
    invoke("reject", branch)

    again = night()

    assert (again.record["candidates"], invoke("status")["on_trial"]) == ([], [])


def test_a_rule_that_was_parked_goes_on_with_what_was_measured(
    repo: Repository, home: Any, night: Night, invoke: Run
) -> None:
    """A new task of its need lets it be tried again, in the same trial: nothing that was measured is forgotten."""
    sessions(home, repo, PNPM)
    idle = lambda request: Reply(text="npm") if request.purpose == "rollout" else obedient(request)  # noqa: E731
    assert night(idle).record["verdict"] == "inconclusive"
    assert night(idle).record["reason"] == "all_suppressed"
    sessions(home, repo, [*PNPM, *PNPM_MORE])

    night()

    told = rulings(invoke)
    assert len({item["trial"] for item in told}) == 1
    assert told[0]["verdict"] == "inconclusive"


# --- several edits -----------------------------------------------------------------------------------------------


def test_edits_that_help_together_are_proposed_together(repo: Repository, home: Any, night: Night, invoke: Run) -> None:
    """A commit each, one verdict, one evidence; and one of them can be refused."""
    sessions(home, repo, [*PNPM, *PNPM_MORE])
    parts = ("Say which package manager", "Name it pnpm")

    def needs_both(request: Request) -> Reply | CallFailed:
        if request.purpose == "reflect":
            listed = [{"op": "add", "text": text, "reason": "Asked."} for text in parts]
            return Reply(text=json.dumps({"edits": listed}))
        told = " ".join(text for _, text in request.documents)
        return Reply(text="pnpm install" if all(part in told for part in parts) else "npm install")

    ran = night(needs_both, **{"gate.rollouts": 5})

    assert ran.record["verdict"] == "strong"
    assert proposed(ran) == list(parts)
    branch = ran.record["branch"]
    assert repo.git("log", "--format=%s", f"main..{branch}").splitlines() == [f"Learn: {part}" for part in parts[::-1]]
    body = invoke("show", branch)["body"]
    assert body.count("Tried together with") == 2
    assert body.count("without this one, -100 points on the training tasks") == 2
    checked = invoke("verify")["edits"]
    assert [item["problems"] for item in checked] == [[], []]
    first, second = (item["id"] for item in ran.record["edits"])
    invoke("reject", branch, "--edit", first)
    assert [edit["id"] for edit in invoke("status")["open"][0]["edits"]] == [second]
    assert night(needs_both, **{"gate.rollouts": 5}).record["candidates"] == []
