"""At most means at most: whatever models answer, a night asks no more than was said before it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_git.backends.scripted import Scripted
from skillopt_git.bank import Bank
from skillopt_git.config import Config, Gate, Propose, Replay
from skillopt_git.cycle import Inputs, gather, learn
from skillopt_git.errors import MeasurementInvalid
from skillopt_git.estimate import Load
from skillopt_git.forecast import planned
from skillopt_git.learned import Teachable
from skillopt_git.model import Document, Task, TasksFile
from skillopt_git.ports import Purpose, Reply, Request
from skillopt_git.prompts import SHIPPED
from skillopt_git.purse import most_input
from skillopt_git.recall import History
from skillopt_git.used import NoHome
from tests.learning import ABSENT_MEMORY, ASKS, NEEDS, NOW, PNPM, RUN, SKILL, TICKET, document, models, task
from tests.questions import TEXT
from tests.test_guidance import ADDED, event, history, proposed

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

PACKAGES = document(".claude/skills/packages/SKILL.md", "Ask before packages are added", blob="c" * 40)
WORDS = "apple river stone cloud green table quick brown mouse lemon piano tiger ocean paper chair honey".split()


def homes(name: str) -> Document | NoHome:
    return PACKAGES if name == "packages" else NoHome("")


def whims(seed: int) -> Callable[[Request], Reply]:
    """Models that answer anything: half of it helps, some of it cannot be read, and there is much of it."""

    def answer(request: Request) -> Reply:
        random = Random(sha256(repr((seed, request)).encode()).digest())
        if request.purpose == "rollout":
            return Reply(text=random.choice(["pnpm", "ACME-7", "pnpm ACME-7", "nothing"]) + " x" * 500)
        if random.random() < 0.3:
            return Reply(text="Well.")
        return Reply(text=json.dumps(_said(request.purpose, random)))

    return answer


def _rule(random: Random) -> str:
    return " ".join(["Use", *(random.choice(WORDS) + random.choice(WORDS) for _ in range(8))])


def _said(purpose: Purpose, random: Random) -> Any:
    if purpose == "reflect":
        present = {"op": "replace", "anchor": "Be brief", "text": _rule(random)}
        dropped = {"op": "delete", "anchor": "Be brief", "text": None}
        new = [{"op": "add", "text": _rule(random)} for _ in range(5)]
        return {"edits": random.sample([present, dropped, *new], random.choice([0, 1, 1, 2, 3, 7]))}
    if purpose == "merge":
        return {"edits": [{"of": [random.randint(1, 3)], "text": None}]}
    if purpose == "dream":
        return {"asks": [f"{random.choice(ASKS)} {_rule(random) * random.randint(1, 9)}" for _ in range(4)]}
    if purpose == "guide":
        return {"text": _rule(random), "reason": "So it is."}
    return {"score": random.random(), "why": "x" * 300}


def asked(requests: list[Request]) -> dict[Purpose, Load]:
    """Each once: what was asked in a run is remembered. Tokens as a budget reserves them."""
    loads: dict[Purpose, Load] = {}
    for request in set(requests):
        one = Load(1, most_input(request), request.max_tokens)
        loads[request.purpose] = loads.get(request.purpose, Load()) + one
    return loads


KINDS = st.tuples(
    st.sampled_from(["train", "train", "val", "val", "test"]),
    st.sampled_from([(PNPM,), (PNPM,), (TICKET,), (PNPM, TICKET), ()]),
    st.booleans(),  # judged by a rubric
    st.booleans(),  # used a skill
    st.sampled_from([False, False, True]),  # vetoes
)

TAUGHT = [("train", (need,), False, False, False) for need in (PNPM, PNPM, TICKET, TICKET)]


def _tasks(kinds: list[Any]) -> tuple[Task, ...]:
    fields: list[dict[str, Any]] = [
        {
            "needs": needs,
            "split": split,
            "checks": task(number, split, *needs).checks,
            "rubric": "It keeps to what was asked for" if rubric else None,
            "reference": "pnpm add lodash" if rubric else None,
            "skills": ("packages",) if skilled else (),
            "golden": golden,
        }
        for number, (split, needs, rubric, skilled, golden) in enumerate(kinds)
    ]
    return tuple(replace(task(number), **given) for number, given in enumerate(fields))


@settings(max_examples=100)
@given(
    kinds=st.lists(KINDS, min_size=2, max_size=len(ASKS) - len(TAUGHT)).map(lambda kinds: [*TAUGHT, *kinds]),
    seed=st.integers(0, 2**32),
    gate=st.builds(
        Gate,
        mode=st.sampled_from(["evidence", "evidence", "strict", "off"]),
        candidates=st.integers(1, 3),
        guard=st.integers(0, 3),
        aa_control=st.sampled_from([0, 1]),
    ),
    replay=st.builds(
        Replay,
        backend=st.just("anthropic"),
        dream_rollouts=st.integers(1, 2),
        dream_factor=st.integers(0, 2),
        recall_k=st.integers(0, 2),
        slow_update=st.sampled_from([0, 2]),
    ),
    edit_budget=st.integers(0, 4),
    memory=st.booleans(),
)
def test_no_night_asks_more_than_was_said_before_it(
    kinds: list[Any], seed: int, gate: Gate, replay: Replay, edit_budget: int, memory: bool
) -> None:
    """Neither calls of any purpose nor tokens, whatever models answer, where no call fails."""
    tasks = _tasks(kinds)
    config = Config(gate=gate, replay=replay, propose=Propose(edit_budget=edit_budget, preferences="Be brief. " * 40))
    backend = Scripted(script=whims(seed), deterministic=False)
    night = Inputs(
        reading=None,
        bank=Bank(),
        files=(TasksFile(v=1, reviewed=True, needs=dict(NEEDS), tasks=tasks),),
        teachable=Teachable(
            skill=TEXT, memory=ABSENT_MEMORY if memory else None, general_to_memory=True, home_of=homes
        ),
        history=_past(),
        night=RUN,
    )
    known = gather(night, config=config, now=NOW, notify=lambda _: None)
    most: Counter[Purpose] = Counter()
    sent: Counter[Purpose] = Counter()
    received: Counter[Purpose] = Counter()
    for step in planned(config, night, known, NOW, SHIPPED).steps():
        most[step.purpose] += step.most.calls
        sent[step.purpose] += step.most.sent
        received[step.purpose] += step.most.received

    with suppress(MeasurementInvalid):  # where no ruling could be read
        learn(night, config=config, door=lambda known, _: models(backend, known), now=NOW, notify=lambda _: None)

    for purpose, load in asked(backend.asked).items():
        assert load.calls <= most[purpose], purpose
        assert load.sent <= sent[purpose], purpose
        assert load.received <= received[purpose], purpose


def _past() -> History:
    """Two nights, of which one proposed something that was adopted."""
    run = event("run", data={"verdict": None, "reason": "gate", "sessions": 1, "tasks": 1})
    old = replace(run, id="1" * 16, ts="2026-10-01T03:00:00Z")
    return replace(history(proposed(replace(ADDED, text="Be clear", target=SKILL))), runs=(old, run))
