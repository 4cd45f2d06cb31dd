"""What a page says of evidence: counts and estimates, never a promise, and nothing that is not a figure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from skillopt_git import render
from skillopt_git.config import Gate
from skillopt_git.views import EditView, ProposalView
from skillopt_git.weighing import Measured, weigh

OWN = [Measured(task=f"t1-{at}", base=(0, 0, 1, 0, 0), cand=(1, 1, 1, 0, 1), group=str(at)) for at in range(3)]
GUARD = [Measured(task=f"t1-g{at}", base=(1,) * 5, cand=(1,) * 5) for at in range(8)]


def edit(**numbers: Any) -> EditView:
    weighed = weigh(OWN, GUARD, gate=Gate())
    return EditView(
        id="e1-0000000000000000",
        rule="r1-0000000000000000",
        target="CLAUDE.md",
        op="add",
        text="Use pnpm",
        verdict=weighed.verdict,
        why=weighed.why,
        night="1",
        run="20261129T030000Z-0000000a",
        gate_numbers=weighed.numbers | numbers,
        baseline=0.2,
        candidate=0.8,
    )


def body(view: EditView) -> str:
    return render.pull_request(
        ProposalView(
            branch="sleep/2026-11-29",
            base_branch="main",
            base_commit="a" * 40,
            opened="2026-11-29",
            simulated=False,
            ungated=False,
            draft=False,
            edits=(view,),
            gate_rule="evidence",
            metric="mixed",
            target_model="m",
            optimizer_model="m",
            judge="checks",
            version="0.1.0",
            ledger_ref="refs/skillopt/ledger",
        )
    )


def test_the_page_tells_passes_of_rollouts_and_a_shrunk_estimate() -> None:
    """The difference that chose the rule is given as counts, never as what it will bring."""
    told = body(edit())

    assert "It passed 12 of 15 rollouts with the rule and 3 of 15 without it, on the 3 held-out tasks" in told
    assert "3 tasks better, 0 worse" in told
    assert "drawn towards nothing by how little is known: +16 points (95 %: -1 points to +33 points)" in told
    assert "biased upward" in told
    assert "8 other tasks were looked at" in told
    assert "Judge:" not in told
    judged = body(edit(judge_agreement=0.925, judge_answers=80))
    assert "two votes on one answer agreed in 92 % of 80 answers" in judged
    assert "up to 31 % of such tasks" in told
    assert "+60" not in told
    assert "Gate figures" not in told


@pytest.mark.parametrize("false", ["12", None, True, float("nan"), [], {"a": 1}])
def test_figures_that_are_none_are_not_worded(false: object) -> None:
    """The ledger is shared: whatever stands there is shown as it is, or not at all."""
    view = edit(cand_passes=false)

    assert view.proof is None
    assert "It passed" not in body(replace(view, gate_numbers={"e": 1.0}))
