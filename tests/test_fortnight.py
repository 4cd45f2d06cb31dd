"""Nights that measure by pairs, end to end: one for each verdict, and many in a row. The model is a noisy mock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import Repository
from tests.nights import Run
from tests.reviewed import RULE, TRAIN, Fortnight

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

FEW = 5  # held-out tasks: too few for one night
FRESH = 2  # that come every night


def fortnight(repo: Repository, home: Path, held_out: int, flags: Mapping[str, Any]) -> Fortnight:
    nights = Fortnight(repo, home, dict(flags))
    nights.share(held_out)
    return nights


def chances(taught: float, untaught: float) -> dict[str, Any]:
    """Of passing with the rule and without it."""
    return {"replay.mock_pass_with": taught, "replay.mock_pass_without": untaught}


@pytest.mark.parametrize(
    ("verdict", "held_out", "passes", "flags"),
    [
        ("strong", 12, (0.9, 0.1), {}),
        ("suggestive", 12, (0.9, 0.1), {"gate.strong_e": 1e30}),
        ("inconclusive", 12, (0.5, 0.5), {}),
        ("harmful", 12, (0.02, 0.6), {}),
        ("invalid", 12, (0.9, 0.1), {"replay.mock_failing": 0.5}),
        ("unverified", 0, (0.9, 0.1), {}),
    ],
)
def test_each_verdict_end_to_end(
    verdict: str,
    held_out: int,
    passes: tuple[float, float],
    flags: dict[str, Any],
    repo: Repository,
    home: Path,
    invoke: Run,
) -> None:
    """What is recorded, what is on a branch, and that the evidence gives the verdict again."""
    ran = fortnight(repo, home, held_out, chances(*passes) | flags).night()

    assert ran["verdict"] == verdict
    assert ran["accepted"] is (verdict == "strong")
    assert (ran["branch"] is not None) is (verdict in ("strong", "suggestive"))
    (told,) = [item for item in invoke("log")["events"] if item["type"] == "gate"]
    assert told["data"]["verdict"] == verdict
    assert (told["text"] == RULE) is (verdict == "suggestive")
    if ran["branch"]:
        assert invoke("show", ran["branch"])["draft"] is (verdict == "suggestive")
        assert [(item["recorded"], item["recomputed"]) for item in invoke("verify")["edits"]] == [(verdict, verdict)]


def test_without_a_gate_nothing_is_measured(repo: Repository, home: Path) -> None:
    ran = fortnight(repo, home, 12, {"gate.mode": "off"}).night()

    assert (ran["verdict"], ran["accepted"], ran["baseline"]) == ("ungated", True, None)


def test_a_rule_that_helps_by_twenty_points_is_promoted_within_a_fortnight(
    repo: Repository, home: Path, invoke: Run
) -> None:
    """A draft at first, ready on the night that proves it, and left alone from then on."""
    nights = fortnight(repo, home, FEW, chances(0.6, 0.4))
    verdicts: list[str | None] = []
    while "strong" not in verdicts[:-2] and len(verdicts) < 14:
        nights.share(FEW + FRESH * len(verdicts))
        verdicts.append(nights.night()["verdict"])

    proven = verdicts.index("strong")
    assert 0 < proven < 12
    assert set(verdicts[:proven]) <= {"suggestive", "inconclusive"}
    assert set(verdicts[proven + 1 :]) == {None}
    (open_,) = invoke("status")["open"]
    assert [item["verdict"] for item in open_["edits"]] == ["strong"]
    body = invoke("show", open_["branch"])["body"]
    assert all(ran.record["run"] in body for ran in nights.ran[: proven + 1])
    assert invoke("verify")["edits"][0]["problems"] == []


def test_a_rule_that_does_nothing_is_gone_by_the_fifth_night(repo: Repository, home: Path, invoke: Run) -> None:
    """Here every rule begins as a draft. It is never ready, and does not come back while text and model stay."""
    nights = fortnight(repo, home, 12, chances(0.5, 0.5) | {"gate.suggestive_p": 1.0})
    records = []
    for night in range(8):
        nights.share(12 + FRESH * night)
        records.append(nights.night())

    assert [item["branch"] is not None for item in records] == [True] * 3 + [False] * 5
    assert [item["verdict"] for item in records] == [*["suggestive"] * 3, "inconclusive", *[None] * 4]
    assert invoke("status")["open"] == []
    why = {item["why"] for item in records[-1]["suppressed"]}
    assert why == {"measured on several nights, unproven, on this text and model"}
    assert records[-1]["tasks"] == TRAIN + 12 + FRESH * 7
