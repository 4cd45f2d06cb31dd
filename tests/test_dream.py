"""Variants of training tasks: where they come from, and that they judge nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.backends.scripted import Scripted
from skillopt_git.config import Gate, Replay
from skillopt_git.dream import dream, is_variant, variant
from skillopt_git.errors import BackendError
from skillopt_git.model import Check, Examples, Split
from skillopt_git.ports import CallFailed, Reply, Request
from tests.learning import ASKS, PNPM, RULE, acts, asked, dreams, edits, follows, night, once, task, told, usual
from tests.questions import HOSTILE, NEED, bench, fenced

ORIGIN = task(
    0,
    "train",
    golden=True,
    reference="pnpm add lodash",
    examples=Examples(pass_="pnpm add lodash"),
    checks=(Check(op="contains", arg="zebra"),),
)


def test_a_variant_is_judged_as_its_origin_and_is_no_task_of_the_bank() -> None:
    """An id of its own kind, which is the same each time; it vetoes nothing and has no answer of its own."""
    one = variant(ORIGIN, "Add ramda")

    assert (one.ask, one.split, one.checks, one.needs, one.sessions) == (
        "Add ramda",
        "train",
        ORIGIN.checks,
        ORIGIN.needs,
        ORIGIN.sessions,
    )
    assert (one.golden, one.reference, one.examples) == (False, None, Examples())
    assert is_variant(one)
    assert not is_variant(ORIGIN)
    assert one.id == variant(ORIGIN, "Add ramda").id
    assert len({one.id, variant(ORIGIN, "Add d3").id, variant(task(1, "train"), "Add ramda").id}) == 3


def test_each_task_has_so_many_variants_of_other_words() -> None:
    """What repeats a task, or says nothing, is none; what is too much is left."""
    answers = once(
        Reply(text=json.dumps({"asks": [ASKS[1].upper(), "Add ramda", " ", "Add d3"]})),
        Reply(text=json.dumps({"asks": ["Add vue"]})),
    )
    backend = Scripted(script=acts(dreamer=answers))

    found = dream([ORIGIN, task(1, "train")], NEED, 3, bench(backend))

    assert [item.ask for item in found.variants] == ["Add ramda", "Add vue"]
    assert found.failures == ()


def test_the_dreamer_is_told_the_wish_and_the_kind_of_criterion_alone() -> None:
    backend = Scripted(script=acts(dreamer=dreams("Add ramda")))

    dream([ORIGIN], NEED, 2, bench(backend))

    (request,) = backend.asked
    assert fenced(request.ask) == [ORIGIN.ask, RULE]
    assert "zebra" not in request.ask
    assert "Write 2 other requests" in request.ask
    assert json.loads(request.schema)["properties"] == {"asks": {"type": "array", "items": {"type": "string"}}}


@given(ask=HOSTILE, wish=HOSTILE)
def test_no_text_gets_out_of_the_dreamers_fence(ask: str, wish: str) -> None:
    backend = Scripted(script=acts())
    dream([replace(ORIGIN, ask=ask)], replace(NEED, text=wish), 1, bench(backend))
    assert fenced(backend.asked[0].ask) == [ask, wish]


def test_a_call_that_failed_costs_the_variants_of_one_task() -> None:
    failure = CallFailed("timeout", "slow")
    backend = Scripted(
        script=acts(dreamer=once(failure, dreams("Add ramda")(Request(role="target", purpose="dream", ask=""))))
    )

    found = dream([ORIGIN, task(1, "train")], NEED, 1, bench(backend))

    assert [item.ask for item in found.variants] == ["Add ramda"]
    assert found.failures == (failure,)


def test_without_a_factor_nothing_is_asked() -> None:
    backend = Scripted(script=acts())
    assert dream([ORIGIN], NEED, 0, bench(backend)).variants == ()
    assert backend.asked == []


@pytest.mark.parametrize("split", ["val", "test", None])
def test_what_is_held_out_has_no_variants(split: Split | None) -> None:
    """Nor has a variant."""
    backend = Scripted(script=acts())
    for origin in (replace(ORIGIN, split=split), variant(ORIGIN, "Add ramda")):
        with pytest.raises(ValueError, match="only training tasks"):
            dream([origin], NEED, 1, bench(backend))


# --- whole nights ------------------------------------------------------------------------------------------------

DREAMT = Replay(dream_factor=2)


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize("deterministic", [True, False])
@given(asks=st.lists(st.sampled_from([*ASKS, "Add ramda", "Add d3"]), min_size=1, max_size=3))
def test_no_variant_judges_a_rule_or_is_kept(deterministic: bool, asks: list[str]) -> None:
    """Whatever the optimizer writes, also the very words of a held-out task: no pair, no evidence, no family, no task
    of the bank and no number of tasks comes from a variant."""
    backend = Scripted(script=acts(dreamer=dreams(*asks)), deterministic=deterministic)

    learned = night(*usual(), backend=backend, replay=DREAMT)

    (candidate,) = learned.candidates
    assert candidate.evidence is not None
    real = {item.id for item in usual()}
    assert {pair.task for pair in candidate.pairs} <= real
    assert {row.task for row in candidate.evidence.tasks} <= real
    assert {item.id for item in learned.known.tasks} == real
    assert {item.id for item in learned.replayed} == real
    assert not any(is_variant(item) for item in learned.known.bank.tasks)
    assert {name for family in learned.known.families for name in family.tasks} <= real
    assert all(
        item.sample.startswith("x1-") for item in asked(backend, "rollout") if item.ask in ASKS[2:5] and item.sample
    )


def test_failing_variants_are_shown_and_trained_on() -> None:
    """Beside their origin; and which edits help together is told by them, too."""
    first, second = "Say which package manager", "Name it pnpm"

    def target(request: Request) -> Reply:
        wanted = (first, second) if "ramda" in request.ask else (first,)
        return Reply(text="pnpm" if all(rule in told(request) for rule in wanted) else "npm")

    def learned(factor: int) -> tuple[list[tuple[str, ...]], str]:
        backend = Scripted(
            script=acts(target, optimizer=lambda _: edits(first, second), dreamer=dreams("Add ramda")),
        )
        found = night(*usual(), backend=backend, replay=Replay(dream_factor=factor), memory=None)
        groups = [tuple(edit.sentence for edit in item.edits) for item in found.candidates]
        return groups, asked(backend, "reflect")[0].ask

    groups, question = learned(1)
    assert groups == [(first, second)]
    assert "Add ramda" in question
    groups, question = learned(0)
    assert groups == [(first,), (second,)]
    assert "Add ramda" not in question


def test_variants_that_pass_are_not_shown() -> None:
    def target(request: Request) -> Reply:
        return Reply(text="pnpm") if request.ask == "Add ramda" else follows(request)

    backend = Scripted(script=acts(target, dreamer=dreams("Add ramda")))

    night(*usual(), backend=backend, replay=DREAMT, memory=None)

    assert "Add ramda" not in asked(backend, "reflect")[0].ask


def test_a_dreamer_that_cannot_answer_is_told_and_one_that_is_dead_ends_the_night() -> None:
    odd = night(*usual(), script=acts(dreamer=lambda _: Reply(text="no JSON")), replay=DREAMT, memory=None)
    assert odd.verdict == "strong"
    assert any("calls that failed" in note and "schema (2)" in note for note in odd.notes)

    with pytest.raises(BackendError, match="no key"):
        night(*usual(), script=acts(dreamer=lambda _: CallFailed("auth", "no key")), replay=DREAMT)


def test_the_need_of_a_variant_counts_in_no_tally() -> None:
    """It was in no session."""
    plain, dreamt = (
        night(*usual(), script=acts(dreamer=dreams("Add ramda")), replay=Replay(dream_factor=at)) for at in (0, 1)
    )
    assert plain.known.counts == dreamt.known.counts
    assert plain.known.sessions(PNPM) == dreamt.known.sessions(PNPM)


def test_the_strict_gate_never_sees_one_either() -> None:
    backend = Scripted(script=acts(dreamer=dreams(ASKS[2])), deterministic=False)
    learned = night(*usual(), backend=backend, replay=DREAMT, gate=Gate(mode="strict"), memory=None)
    assert [pair.task for pair in learned.candidates[0].pairs] == [item.id for item in usual()[2:]]
