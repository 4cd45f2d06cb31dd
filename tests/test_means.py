from __future__ import annotations

from collections.abc import Sequence

from skillopt_git.config import Gate
from skillopt_git.errors import BudgetSpent
from skillopt_git.means import Means
from skillopt_git.model import Candidate, Edit, Pair, Score, Task
from skillopt_git.ports import Reply
from skillopt_git.replay import Rollout, Round
from tests.learning import ABSENT_SKILL, RULE, task

VAL = (task(2), task(3))
NONE = Score(hard=0.0, soft=0.0)
FULL = Score(hard=1.0, soft=1.0)


def rollouts(rounds: Sequence[Round]) -> list[list[Rollout]]:
    """Passed where anything is taught."""
    return [
        [
            Rollout(task=item, reply=Reply(text=one.sample), score=FULL if one.documents else NONE, failure=None)
            for item in one.tasks
        ]
        for one in rounds
    ]


def spent(rounds: Sequence[Round]) -> list[list[Rollout]]:
    raise BudgetSpent("budget.tokens is 1: 1 are spent")


def accepted(rule: str = RULE, *tasks: Task) -> Candidate:
    """One whose trial measured these tasks."""
    return Candidate(
        document=ABSENT_SKILL,
        edits=(Edit(op="add", target=ABSENT_SKILL.path, text=rule),),
        verdict="strong",
        why="",
        baseline=0.25 if tasks else None,
        candidate=0.75 if tasks else None,
        pairs=tuple(Pair(task=item.id, family=None, need=None, base=NONE, cand=FULL) for item in tasks),
    )


def means(*candidates: Candidate, replay: object = rollouts, mode: str = "strict") -> tuple[Means, list[str]]:
    notes: list[str] = []
    return Means(Gate(mode=mode), replay, candidates, (), "run", notes), notes  # type: ignore[arg-type]


def test_what_a_trial_measured_is_not_measured_again() -> None:
    """Where it was on the base, and of all held-out tasks."""
    found, notes = means(accepted(RULE, *VAL), replay=spent)
    assert found.held_out(VAL) == (0.25, 0.75)
    assert notes == []


def test_what_no_trial_tells_is_measured_on_the_final_text() -> None:
    """Several edits together, and trials that left tasks out."""
    assert means(accepted(), accepted("Be brief"))[0].held_out(VAL) == (0.0, 1.0)
    assert means(accepted(RULE, VAL[0]))[0].held_out(VAL) == (0.0, 1.0)
    assert means()[0].held_out(VAL) == (0.0, None)


def test_without_gate_or_tasks_there_is_no_mean() -> None:
    """And nothing is asked."""
    assert means(accepted(), replay=spent, mode="off")[0].held_out(VAL) == (None, None)
    assert means(accepted(), replay=spent)[0].held_out(()) == (None, None)


def test_what_the_budget_has_no_room_for_is_left_out_and_said() -> None:
    """Each by itself; nothing else comes of it."""
    found, notes = means(accepted(), accepted("Be brief"), replay=spent)
    assert found.held_out(VAL) == (None, None)
    found.test(VAL)
    assert [note.partition(" was not measured: ")[0] for note in notes[:3]] == [
        "the mean of the base",
        "the mean of all accepted edits together",
        "the mean of the test tasks",
    ]
    assert all("budget.tokens is 1" in note for note in notes[:3])
    assert notes[3:] == ["test tasks under the accepted edits, used for no decision: not measured"]


def test_test_tasks_are_scored_once_and_only_under_accepted_edits() -> None:
    """Reported in a note."""
    found, notes = means(accepted())
    found.test(VAL)
    assert notes == ["test tasks under the accepted edits, used for no decision: 1.00 on 2"]
    nothing, silent = means()
    nothing.test(VAL)
    assert silent == []
