"""Nights of learning from tasks that are simply given: scripted models, no git, no sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from skillopt_git.backends.scripted import Scripted
from skillopt_git.bank import Bank
from skillopt_git.config import Config
from skillopt_git.consolidate import judge_question
from skillopt_git.cycle import Inputs, Reading, learn
from skillopt_git.edits import scaffold
from skillopt_git.judges import RubricJudge, TaskJudge
from skillopt_git.learned import Learned, Models, Teachable
from skillopt_git.model import Check, Document, Evidence, Split, Task, TasksFile
from skillopt_git.ports import CallFailed, LearningEvent, Reply, Request
from skillopt_git.recall import History
from skillopt_git.used import HomeOf, nowhere

NOW = datetime(2026, 11, 29, 3, tzinfo=UTC)
RUN = "20261129T030000Z-0000000a"
SKILL = ".claude/skills/learned/SKILL.md"
MEMORY = "CLAUDE.md"
PNPM, TICKET = "n1-0000000000000001", "n1-0000000000000002"
RULE, OTHER = "Use pnpm, not npm", "Put the ticket number in branch names"
NEEDS = {PNPM: RULE, TICKET: OTHER}
WORDS = {PNPM: "pnpm", TICKET: "ACME-7"}  # what an answer says that keeps to the rule
ASKS = (
    "Add lodash to the web package",
    "Install everything afresh",
    "Upgrade react to version 19",
    "Remove left-pad, nobody wants it",
    "Start on the login page",
    "Fix the crash in the tax report",
    "Try the new cache",
    "Write down how releases work",
    "Why is the build so slow?",
    "Rename the billing module",
    "Sketch a plan for search",
    "Check the colours of the chart",
)

Answer = Callable[[Request], Reply | CallFailed]


def task(number: int, split: Split = "val", *needs: str, **fields: Any) -> Task:
    """Task `number` with an ask, a family and a session of its own; it needs `PNPM` unless told otherwise."""
    needed = needs or (PNPM,)
    checks = fields.get("checks") or tuple(Check(op="contains", arg=WORDS[need]) for need in needed)
    given: dict[str, Any] = {
        "id": f"t1-{number:016x}",
        "ask": ASKS[number],
        "needs": needed,
        "family": f"f1-{number:016x}",
        "split": split,
        "checks": checks,
        "sessions": (f"s{number}",),
    }
    return Task(**given | fields)


def usual() -> tuple[Task, ...]:
    """One need, two tasks to learn from, and three held out."""
    return (task(0, "train"), task(1, "train"), task(2), task(3), task(4))


def document(path: str, *rules: str, blob: str | None = "b" * 40) -> Document:
    """A document with learned rules; without any, and no blob, the scaffold of one that does not exist yet."""
    kind = "skill" if path.endswith("SKILL.md") else "memory"
    start, end = "<!-- SKILLOPT-SLEEP:LEARNED START -->", "<!-- SKILLOPT-SLEEP:LEARNED END -->"
    block = "".join(f"{line}\n" for line in (start, *(f"- {rule}" for rule in rules), end)) if rules else ""
    return Document(path=path, kind=kind, text=scaffold(kind, path) + block, blob=blob)  # type: ignore[arg-type]


ABSENT_SKILL, ABSENT_MEMORY = document(SKILL, blob=None), document(MEMORY, blob=None)


def told(request: Request) -> str:
    return "\n".join(text for _, text in request.documents)


def follows(request: Request) -> Reply:
    """A target that does what the rules in its documents say, and nothing of it without them."""
    said = [WORDS[need] for need, rule in NEEDS.items() if rule in told(request)]
    return Reply(text=f"Done with {', '.join(said) or 'what there was'}.")


def edits(*proposed: str | Mapping[str, Any]) -> Reply:
    """An optimizer's answer; a text is a rule to add."""
    listed = [
        {"op": "add", "text": item, "reason": "They asked."} if isinstance(item, str) else item for item in proposed
    ]
    return Reply(text=json.dumps({"edits": listed}))


def words_the_wish(request: Request) -> Reply:
    """An optimizer that proposes each rule whose wish is in the question."""
    return edits(*(rule for rule in NEEDS.values() if rule in request.ask.split("The file as it is now")[0]))


def strict_judge(request: Request) -> Reply:
    return Reply(text=json.dumps({"score": 1.0 if "pnpm" in request.ask.split("The answer:")[1] else 0.0}))


def as_proposed(_: Request) -> Reply:
    """A merger that leaves the edits as they were proposed."""
    return Reply(text=json.dumps({"edits": []}))


def dreams(*asks: str) -> Answer:
    return lambda _: Reply(text=json.dumps({"asks": asks}))


def acts(
    target: Answer = follows,
    optimizer: Answer = words_the_wish,
    judge: Answer = strict_judge,
    merger: Answer = as_proposed,
    dreamer: Answer = dreams(),  # noqa: B008 - the same for all
) -> Answer:
    """One script for every purpose."""
    parts = {"rollout": target, "reflect": optimizer, "judge": judge, "merge": merger, "dream": dreamer}

    def script(request: Request) -> Reply | CallFailed:
        return parts[request.purpose](request)

    return script


def once(*answers: Reply | CallFailed) -> Answer:
    """Gives these answers in turn; a question more is an error."""
    left = list(answers)

    def answer(_: Request) -> Reply | CallFailed:
        return left.pop(0)

    return answer


def models(backend: Any, tasks: Sequence[Task], skipped: Mapping[str, str] | None = None) -> Models:
    judge = TaskJudge(rubric=RubricJudge(optimizer=backend, prompt=judge_question)).used_for(tasks)
    return Models(target=backend, optimizer=backend, judge=judge, skipped=skipped or {})


def night(
    *tasks: Task,
    script: Answer | None = None,
    backend: Any = None,
    needs: Mapping[str, str] = NEEDS,
    skill: Document | None = ABSENT_SKILL,
    memory: Document | None = ABSENT_MEMORY,
    general_to_memory: bool = True,
    history: History = History(),  # noqa: B008 - frozen
    bank: Bank = Bank(),  # noqa: B008 - frozen
    reading: Reading | None = None,
    skipped: Mapping[str, str] | None = None,
    run: str = RUN,
    heard: list[LearningEvent] | None = None,
    evidence_of: Callable[[str], Evidence | None] = lambda _: None,
    home_of: HomeOf = nowhere,
    only_reviewed: bool = False,
    **config: Any,
) -> Learned:
    """One night over `tasks`; the settings are given as sections (`gate=Gate(...)`)."""
    used = backend or Scripted(script=script or acts())
    inputs = Inputs(
        reading=reading,
        bank=bank,
        files=(TasksFile(v=1, reviewed=True, needs=dict(needs), tasks=tasks),) if tasks else (),
        teachable=Teachable(skill=skill, memory=memory, general_to_memory=general_to_memory, home_of=home_of),
        history=history,
        night=run,
        evidence_of=evidence_of,
        only_reviewed=only_reviewed,
    )
    listener = (lambda _: None) if heard is None else heard.append
    return learn(
        inputs,
        config=Config(**config),
        door=lambda known, _: models(used, known, skipped),
        now=NOW,
        notify=listener,
    )


def asked(backend: Scripted, purpose: str) -> list[Request]:
    return [request for request in backend.asked if request.purpose == purpose]


def found(learned: Learned) -> list[tuple[str, str, str]]:
    """Each candidate's document, rule and verdict, in the order they were tried."""
    return [(item.document.path, item.edits[0].sentence, item.verdict) for item in learned.candidates]
