"""Labelled dialogues, and how well mining reads them; `tests/data/mining/README.md` describes the files.

`python -m tests.mining FILE...` checks files; `python -m tests.mining --score known --verbose` prints what is found in
a set, and every difference from what its labels say.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
import uuid
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from skillopt_git import ids, model
from skillopt_git.bank import Bank, admit
from skillopt_git.config import Mine
from skillopt_git.errors import ConfigError
from skillopt_git.languages import reader
from skillopt_git.mine import Mined, mine
from skillopt_git.needs import people
from skillopt_git.remarks import turn_key
from skillopt_git.schema import read

DATA = Path(__file__).parent / "data" / "mining"
SETS = ("known", "further", "unseen")
SOURCE = "claude"
CHECK_OPS = ("contains", "not_contains")
MOST_RULE = 200  # characters of a rule
MORNING = time(9, tzinfo=UTC)
BETWEEN_TURNS = timedelta(minutes=3)


# --- what is labelled --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldNeed:
    """A wish that a careful reader would note; any right wording holds all of `says` and none of `never_says`."""

    __pydantic_config__ = model.RECORD
    rule: str
    says: tuple[str, ...]
    never_says: tuple[str, ...] = ()
    checks: tuple[str, ...]
    replaced_by: str | None = None

    def worded(self, rule: str) -> bool:
        told = rule.casefold()
        missing = any(word.casefold() not in told for word in self.says)
        return not missing and not any(word.casefold() in told for word in self.never_says)

    @property
    def check_set(self) -> frozenset[tuple[str, str]]:
        split = (check.partition(" ") for check in self.checks)
        return frozenset((op, ids.fold(arg)) for op, _, arg in split)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a user or an agent said. `corrects` is the number of the user turn whose answer was wrong, 0 for none."""

    __pydantic_config__ = model.RECORD
    user: str | None = None
    agent: str | None = None
    family: str | None = None
    needs: tuple[str, ...] = ()
    corrects: int | None = None
    praise: bool = False

    @property
    def text(self) -> str:
        return (self.user or self.agent or "").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    __pydantic_config__ = model.RECORD
    id: str
    day: date
    language: str | None = None
    trap: str = ""
    turns: tuple[Turn, ...]

    @property
    def numbered(self) -> Iterator[tuple[str, Turn]]:
        """Each turn with its id: users' and agents' turns are counted apart, from 1."""
        users = agents = 0
        for turn in self.turns:
            users, agents = (users + 1, agents) if turn.user is not None else (users, agents + 1)
            yield (self.asked(users) if turn.user is not None else f"{self.id}-a{agents}"), turn

    def asked(self, number: int) -> str:
        """The id of a user turn."""
        return f"{self.id}-u{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A month of one repository's dialogues."""

    __pydantic_config__ = model.RECORD
    repository: str
    language: str
    people: tuple[str, ...] = ()
    needs: dict[str, GoldNeed] = field(default_factory=dict)
    dialogues: tuple[Dialogue, ...]

    @property
    def asks(self) -> dict[str, tuple[Dialogue, Turn]]:
        """All that users said, by turn id."""
        return {
            name: (dialogue, turn)
            for dialogue in self.dialogues
            for name, turn in dialogue.numbered
            if turn.user is not None
        }

    def language_of(self, turn: str) -> str:
        """Of a user turn, by its id: its dialogue's, or else the repository's."""
        return self.asks[turn][0].language or self.language


def load(path: Path) -> Repository:
    """The repository of one file. Raises `ConfigError` with all that is wrong with it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is no TOML: {error}") from error
    repository = read(Repository, json.dumps(data, default=str), where=str(path))
    wrong = [*_wrong_needs(repository), *_wrong_dialogues(repository)]
    if wrong:
        raise ConfigError(f"{path} is not valid:\n" + "\n".join(f"  {line}" for line in wrong))
    return repository


def repositories(name: str) -> tuple[Repository, ...]:
    return tuple(map(load, sorted((DATA / name).glob("*.toml"))))


def _wrong_needs(repository: Repository) -> Iterator[str]:
    voiced = {need for _, turn in repository.asks.values() for need in turn.needs}
    for name, need in repository.needs.items():
        if len(need.rule) > MOST_RULE:
            yield f"need {name}: its rule is longer than {MOST_RULE} characters"
        if not need.worded(need.rule):
            yield f"need {name}: its own rule is not what `says` and `never_says` ask for"
        if need.replaced_by not in (None, *repository.needs):
            yield f"need {name}: replaced by {need.replaced_by}, which is no need"
        if name not in voiced:
            yield f"need {name}: nobody voices it"
        for check in need.checks:
            op, _, arg = check.partition(" ")
            if op not in CHECK_OPS or not arg:
                yield f"need {name}: {check!r} is no check (known: {', '.join(CHECK_OPS)}, with a word)"


def _wrong_dialogues(repository: Repository) -> Iterator[str]:
    ids: set[str] = set()
    last = date.min
    for dialogue in repository.dialogues:
        if dialogue.id in ids:
            yield f"{dialogue.id}: there are two dialogues of this id"
        if dialogue.day <= last:
            yield f"{dialogue.id}: {dialogue.day} is not later than the dialogue before"
        ids.add(dialogue.id)
        last = dialogue.day
        for problem in _wrong_turns(dialogue, repository.needs):
            yield f"{dialogue.id}: {problem}"


def _wrong_turns(dialogue: Dialogue, needs: Mapping[str, GoldNeed]) -> Iterator[str]:
    asked = 0
    for place, turn in enumerate(dialogue.turns):
        if (turn.user is None) == (turn.agent is None) or not turn.text:
            yield f"turn {place + 1} is not said by a user or else by an agent"
        if (turn.user is None) != bool(place % 2):
            yield f"turn {place + 1}: user and agent take turns, the user first"
        yield from (f"turn {place + 1}: {problem}" for problem in _wrong_labels(turn, asked, needs))
        asked += turn.user is not None
    if dialogue.trap and any(turn.needs for turn in dialogue.turns):
        yield "a trap is without any need"


def _wrong_labels(turn: Turn, asked: int, needs: Mapping[str, GoldNeed]) -> Iterator[str]:
    labelled = turn.needs or turn.family or turn.praise or turn.corrects is not None
    if turn.user is None and labelled:
        yield "only what a user says has labels"
    if turn.needs and (turn.corrects is None or turn.praise):
        yield "a turn that voices a need says what it corrects, and is not only praise"
    if not 0 <= (turn.corrects or 0) <= asked:
        yield f"it corrects turn {turn.corrects}, which does not stand before it"
    yield from (f"{need} is no need" for need in turn.needs if need not in needs)


# --- as sessions -------------------------------------------------------------------------------------------------


def sessions(repository: Repository) -> tuple[model.Session, ...]:
    return tuple(_session(repository.repository, dialogue) for dialogue in repository.dialogues)


def _session(repository: str, dialogue: Dialogue) -> model.Session:
    turns = tuple(
        model.Turn(id=name, kind="answer" if turn.user is None else "prompt", text=turn.text, time=when)
        for when, name, turn in _timed(dialogue)
    )
    answers = [turn.text for turn in turns if turn.kind == "answer"]
    return model.Session(
        id=dialogue.id,
        source=SOURCE,
        path=f"/home/alice/.claude/projects/{repository}/{dialogue.id}.jsonl",
        cwd=f"/home/alice/{repository}",
        branch="main",
        started=turns[0].time,
        ended=turns[-1].time,
        turns=turns,
        final=answers[-1] if answers else "",
    )


def _timed(dialogue: Dialogue) -> Iterator[tuple[datetime, str, Turn]]:
    began = datetime.combine(dialogue.day, MORNING)
    for place, (name, turn) in enumerate(dialogue.numbered):
        yield began + place * BETWEEN_TURNS, name, turn


def write_home(home: Path, cwd: str, repository: Repository) -> None:
    """The dialogues as sessions of Claude Code in `cwd`, below its home."""
    folder = home / "projects" / "".join(char if char.isalnum() else "-" for char in cwd)
    folder.mkdir(parents=True, exist_ok=True)
    for dialogue in repository.dialogues:
        name = _uuid(cwd, dialogue.id)
        lines = (json.dumps(record, ensure_ascii=False) for record in _records(cwd, name, dialogue))
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _uuid(cwd: str, name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{cwd}#{name}"))


def _records(cwd: str, session: str, dialogue: Dialogue) -> Iterator[dict[str, Any]]:
    parent = None
    for when, name, turn in _timed(dialogue):
        own = _uuid(cwd, name)
        yield {
            "parentUuid": parent,
            "uuid": own,
            "isSidechain": False,
            "userType": "external",
            "entrypoint": "cli",
            "cwd": cwd,
            "sessionId": session,
            "version": "2.1.197",
            "gitBranch": "main",
            "timestamp": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            **_message(name, turn),
        }
        parent = own


def _message(name: str, turn: Turn) -> dict[str, Any]:
    if turn.user is not None:
        return {"type": "user", "promptSource": "typed", "message": {"role": "user", "content": turn.text}}
    block = {"type": "text", "text": turn.text}
    return {
        "type": "assistant",
        "message": {"id": f"msg_{name}", "role": "assistant", "model": "sample", "content": [block]},
    }


# --- how well they were read -------------------------------------------------------------------------------------

About = Literal["needs", "pairing", "both"]
ABOUT: tuple[About, ...] = ("needs", "pairing", "both")
Outcome = Literal["right", "invented", "missed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One need, or one turn that voices one: found as labelled, found though nobody labelled it, or not found."""

    about: About
    outcome: Outcome
    repository: str
    language: str
    turn: str
    said: str
    note: str


@dataclass(frozen=True, slots=True)
class Counts:
    """Shares of nothing are None."""

    right: int
    invented: int
    missed: int

    @property
    def precision(self) -> float | None:
        return _share(self.right, self.right + self.invented)

    @property
    def recall(self) -> float | None:
        return _share(self.right, self.right + self.missed)

    @property
    def f1(self) -> float | None:
        return _share(2 * self.right, 2 * self.right + self.invented + self.missed)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True, slots=True)
class Share:
    part: int = 0
    whole: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.part + other.part, self.whole + other.whole)

    def __str__(self) -> str:
        return f"{self.part} of {self.whole}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What was found; `checks` and the fields below it are only reported.

    `checks` are needs with checks whose tasks are checked as labelled, `rubrics` those without whose tasks have only a
    rubric; `families` pairs of near-copies in one family, `joined` pairs in one family that are none; `trapped` the
    traps in which a need was heard.
    """

    findings: tuple[Finding, ...] = ()
    checks: Share = Share()
    rubrics: Share = Share()
    families: Share = Share()
    joined: int = 0
    replaced: Share = Share()
    trapped: tuple[str, ...] = ()

    def __add__(self, other: Scores) -> Scores:
        return Scores(
            findings=self.findings + other.findings,
            checks=self.checks + other.checks,
            rubrics=self.rubrics + other.rubrics,
            families=self.families + other.families,
            joined=self.joined + other.joined,
            replaced=self.replaced + other.replaced,
            trapped=self.trapped + other.trapped,
        )

    def counts(self, about: About, language: str | None = None) -> Counts:
        found = [item.outcome for item in self.findings if item.about == about and language in (None, item.language)]
        return Counts(found.count("right"), found.count("invented"), found.count("missed"))


@cache
def measure(name: str) -> Scores:
    """The scores of a whole set."""
    return sum((score(item, read_in_one_go(item)) for item in repositories(name)), Scores())


def read_in_one_go(repository: Repository) -> Mined:
    return mine(sessions(repository), needs={}, reader=reader(), people=names(repository))


def names(repository: Repository) -> frozenset[str]:
    """The people of a repository, as mining takes them."""
    return people(repository.people)


def score(repository: Repository, mined: Mined) -> Scores:
    """How `mined` compares with the labels. Only sightings count: a hint is not yet a need."""
    heard = _Heard.of(repository, mined)
    matched = match(repository, mined.needs, heard.turns)
    checks, rubrics = _checks(repository, mined, matched)
    families, joined = _families(repository)
    return Scores(
        findings=(
            *_needs(repository, mined, heard, matched),
            *_pairing(repository, heard),
            *_both(repository, mined, heard, matched),
        ),
        checks=checks,
        rubrics=rubrics,
        families=families,
        joined=joined,
        replaced=_replaced(repository, mined, matched),
        trapped=_trapped(repository, heard),
    )


@dataclass(frozen=True, slots=True)
class _Heard:
    """The sightings as (need, turn, ask), both by turn id; the ask is empty where the wish was about no answer."""

    pairs: frozenset[tuple[str, str, str]]

    @classmethod
    def of(cls, repository: Repository, mined: Mined) -> _Heard:
        turns: dict[str, str] = {}
        asks: dict[str | None, str] = {None: ""}
        for session in sessions(repository):
            for turn in session.prompts:
                turns[turn_key(session, turn)] = turn.id
                asks[ids.task_id(session.source, session.id, turn.id)] = turn.id
        return cls(frozenset((item.need, turns[item.turn], asks[item.task]) for item in mined.sightings))

    @property
    def turns(self) -> dict[str, frozenset[str]]:
        """By need, the turns that voiced it."""
        return _by_need(self.pairs)


def _labelled(repository: Repository) -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (need, name, dialogue.asked(turn.corrects) if turn.corrects else "")
        for name, (dialogue, turn) in repository.asks.items()
        for need in turn.needs
    )


def _by_need(pairs: Iterable[tuple[str, str, str]]) -> dict[str, frozenset[str]]:
    turns: dict[str, frozenset[str]] = {}
    for need, turn, _ in pairs:
        turns[need] = turns.get(need, frozenset()) | {turn}
    return turns


def match(repository: Repository, needs: Mapping[str, str], heard: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Mined needs to labelled ones, one to one.

    Only those match that share a turn and whose rule is worded as it has to be. The pair that shares most turns is
    taken first; of equals the one whose mined need has the fewest others to match.
    """
    labelled = _by_need(_labelled(repository))
    overlap = {
        (found, gold): len(heard.get(found, frozenset()) & labelled[gold])
        for found, rule in needs.items()
        for gold, need in repository.needs.items()
        if need.worded(rule)
    }
    fitting = {pair: count for pair, count in overlap.items() if count}
    choices = [found for found, _ in fitting]
    matched: dict[str, str] = {}
    for found, gold in sorted(fitting, key=lambda pair: (-fitting[pair], choices.count(pair[0]), pair)):
        if found not in matched and gold not in matched.values():
            matched[found] = gold
    return matched


def _needs(repository: Repository, mined: Mined, heard: _Heard, matched: Mapping[str, str]) -> Iterator[Finding]:
    labelled = _by_need(_labelled(repository))
    for found, rule in mined.needs.items():
        gold = matched.get(found)
        note = f"{rule!r}" if gold is None else f"{rule!r} is {gold}"
        yield _finding(repository, "needs", "invented" if gold is None else "right", heard.turns.get(found, ()), note)
    for gold, need in repository.needs.items():
        if gold not in matched.values():
            near = [rule for found, rule in mined.needs.items() if heard.turns.get(found, frozenset()) & labelled[gold]]
            yield _finding(repository, "needs", "missed", labelled[gold], f"{gold}: {need.rule!r}, heard as {near}")


def _pairing(repository: Repository, heard: _Heard) -> Iterator[Finding]:
    """Which turns voice a need, and the ask whose answer each is about."""
    labelled = {(turn, ask) for _, turn, ask in _labelled(repository)}
    found = {(turn, ask) for _, turn, ask in heard.pairs}
    order = list(repository.asks)
    for turn, ask in sorted(labelled | found, key=lambda pair: (order.index(pair[0]), pair)):
        outcome = _outcome((turn, ask), labelled, found)
        yield _finding(repository, "pairing", outcome, (turn,), f"about {ask or 'no answer'}")


def _both(repository: Repository, mined: Mined, heard: _Heard, matched: Mapping[str, str]) -> Iterator[Finding]:
    """The same with the need, each of several in one turn: a need with wrong words is wrong in all its turns."""
    labelled = _labelled(repository)
    found = {(matched.get(need, need), turn, ask) for need, turn, ask in heard.pairs}
    order = list(repository.asks)
    for need, turn, ask in sorted(labelled | found, key=lambda pair: (order.index(pair[1]), pair)):
        outcome = _outcome((need, turn, ask), labelled, found)
        note = f"{mined.needs.get(need, need)!r} about {ask or 'no answer'}"
        yield _finding(repository, "both", outcome, (turn,), note)


def _outcome(pair: tuple[str, ...], labelled: Container[object], found: Container[object]) -> Outcome:
    return "missed" if pair not in found else "right" if pair in labelled else "invented"


def _finding(
    repository: Repository,
    about: About,
    outcome: Outcome,
    turns: Iterable[str],
    note: str,
) -> Finding:
    """A need stands where it was voiced first; one that no turn voices, nowhere."""
    voiced = frozenset(turns)
    turn = next((name for name in repository.asks if name in voiced), "")
    return Finding(
        about=about,
        outcome=outcome,
        repository=repository.repository,
        language=repository.language_of(turn) if turn else repository.language,
        turn=turn,
        said=repository.asks[turn][1].text if turn else "",
        note=note,
    )


def _checks(repository: Repository, mined: Mined, matched: Mapping[str, str]) -> tuple[Share, Share]:
    """A task that shows several needs has the checks of all; shape checks do not count."""
    checked, judged = Share(), Share()
    for found, gold in matched.items():
        tasks = [task for task in mined.tasks if found in task.needs]
        named = [_named_checks(repository, task, matched) for task in tasks]
        right = all(_checks_of(task) == names for task, names in zip(tasks, named, strict=True))
        if tasks and repository.needs[gold].checks:
            checked += Share(right, 1)
        elif tasks and not any(named):
            judged += Share(right and all(task.rubric for task in tasks), 1)
    return checked, judged


def _named_checks(repository: Repository, task: model.Task, matched: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    golds = (repository.needs[matched[need]] for need in task.needs if need in matched)
    return frozenset[tuple[str, str]]().union(*(gold.check_set for gold in golds))


def _checks_of(task: model.Task) -> frozenset[tuple[str, str]]:
    return frozenset((check.op, ids.fold(str(check.arg))) for check in task.checks if not check.is_shape)


def _families(repository: Repository) -> tuple[Share, int]:
    """Of the asks that are labelled as near-copies or were corrected, those that come into one family."""
    labels = {name: turn.family for name, (_, turn) in repository.asks.items()}
    asked = {ask for _, _, ask in _labelled(repository) if ask} | {name for name, family in labels.items() if family}
    tasks = tuple(model.Task(id=name, ask=repository.asks[name][1].text) for name in sorted(asked))
    placed = admit(Bank(tasks=tasks), families={}, mine=Mine()).bank.tasks
    together, joined = Share(), 0
    for one, other in combinations(placed, 2):
        meet = one.family is not None and one.family == other.family
        if labels[one.id] and labels[one.id] == labels[other.id]:
            together += Share(meet, 1)
        else:
            joined += meet
    return together, joined


def _replaced(repository: Repository, mined: Mined, matched: Mapping[str, str]) -> Share:
    named = {(name, need.replaced_by) for name, need in repository.needs.items() if need.replaced_by}
    found = {(matched.get(old), matched.get(new)) for old, new in mined.replaced.items()}
    return Share(len(named & found), len(named))


def _trapped(repository: Repository, heard: _Heard) -> tuple[str, ...]:
    traps = {repository.asks[turn][0].id for _, turn, _ in heard.pairs if repository.asks[turn][0].trap}
    return tuple(sorted(traps))


# --- the command -------------------------------------------------------------------------------------------------

HEAD = f"{'':12} {'right':>6} {'invented':>9} {'missed':>7} {'precision':>10} {'recall':>7} {'F1':>5}"


def row(label: str, counts: Counts) -> str:
    numbers = f"{counts.right:6} {counts.invented:9} {counts.missed:7}"
    return f"{label:12} {numbers} {_two(counts.precision):>10} {_two(counts.recall):>7} {_two(counts.f1):>5}"


def _two(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"


def totals(scores: Scores) -> list[str]:
    return [
        HEAD,
        row("needs", scores.counts("needs")),
        row("pairing", scores.counts("pairing")),
        row("both", scores.counts("both")),
        f"checks as labelled: {scores.checks}; a rubric alone where only a reader can judge: {scores.rubrics}",
        f"near-copies in one family: {scores.families}; others in one family: {scores.joined}",
        f"contradicted needs replaced: {scores.replaced}; traps in which a need was heard: {len(scores.trapped)}",
    ]


def mistakes(scores: Scores) -> Iterator[str]:
    for item in scores.findings:
        if item.outcome != "right":
            yield f"\n{item.about}, {item.outcome}: {item.repository}, {item.turn or 'no turn'}: {item.note}"
            yield from (f"    | {line}" for line in item.said.splitlines())
    yield from (f"\ntrap: {name}" for name in scores.trapped)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mining", description="Labelled dialogues.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a file to check")
    parser.add_argument("--score", choices=SETS, help="the set to read and to compare with its labels")
    parser.add_argument("--verbose", action="store_true", help="every difference from the labels; not for 'unseen'")
    given = parser.parse_args(arguments)
    if given.verbose and given.score == "unseen":
        parser.error(
            "--verbose is not for 'unseen': nobody may tune mining to that set, so nobody sees what it misses."
        )
    if given.score:
        scores = measure(given.score)
        _tell([*totals(scores), *(mistakes(scores) if given.verbose else ())])
        return 0
    return _check(given.files)


def _check(files: Iterable[Path]) -> int:
    code = 0
    for path in files:
        try:
            told = load(path)
        except ConfigError as error:
            code = 1
            _tell([str(error)])
        else:
            traps = sum(bool(dialogue.trap) for dialogue in told.dialogues)
            _tell([f"{path}: {len(told.dialogues)} dialogues, {traps} of them traps, {len(told.needs)} needs"])
    return code


def _tell(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
