"""The ledger: nothing recorded is lost, whoever writes, whoever meets whom."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git import schema
from skillopt_git.errors import ConfigError, GitError, RefMoved, SafetyError
from skillopt_git.gitrepo import GitRepo, Identity
from skillopt_git.history import show
from skillopt_git.ids import event_id
from skillopt_git.ledger import (
    MOST_TRIES,
    Contents,
    Ledger,
    event_line,
    evidence_bytes,
    evidence_name,
    last_run,
    union,
    unique,
)
from skillopt_git.model import Event, Evidence, EvidenceTask
from skillopt_git.redact import Scanner
from skillopt_git.stamp import Stamp, event
from tests.helpers import Repository
from tests.helpers_git import TOOL, fail_every_hook, snapshot, tree

REF = "refs/skillopt/ledger"
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RUN = "20260102T030405Z-7f3a0000"


def _event(name: str, *, ts: str = "2026-01-02T03:04:05Z", **fields: object) -> Event:
    data = {"branch": "sleep/2026-01-02", "need": None}
    made = Event(
        v=1, id=event_id("rejected", name, RUN), ts=ts, type="rejected", run=RUN, text=f"Rule {name}.", data=data
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def _evidence(**fields: object) -> Evidence:
    task = EvidenceTask(task="t1-a", family=None, need="n1-b", part="primary", night=RUN, base=(0, None), cand=(1, 1))
    made = Evidence(
        v=1,
        document="CLAUDE.md",
        base_blob=None,
        edits=("e1-0123",),
        rule="strict",
        settings={"metric": "mixed"},
        target="mock",
        optimizer="mock",
        judge="checks",
        tasks=(task,),
        verdict="strong",
        numbers={"baseline": 0.25, "größe": 1},
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def _ledger(repo: Repository) -> Ledger:
    return Ledger(GitRepo.open(repo.path), REF, TOOL)


def _append(ledger: Ledger, *events: Event, evidence: Sequence[Evidence] = ()) -> tuple[Event, ...]:
    return ledger.append(events, evidence, when=WHEN, message="Record a run\n")


def _commit_files(repo: Repository, content: Mapping[str, bytes], parent: str | None = None) -> str:
    opened = GitRepo.open(repo.path)
    changes = {path: ("100644", opened.write_blob(data)) for path, data in content.items()}
    commit = opened.commit(parent=parent, changes=changes, message="by hand", author=TOOL, when=WHEN)
    opened.update_ref(REF, commit, parent, "by hand")
    return commit


def test_what_was_appended_is_read_back(repo: Repository) -> None:
    """Events by month, evidence by hash, in canonical JSON; hooks do not run, nothing of the user's is touched."""
    fail_every_hook(repo)
    before = snapshot(repo)
    one, two = (
        _event("one", data={"branch": "sleep/2026-01-02", "need": "n1-ü", "list": [1, None]}),
        _event("two", ts="2026-02-01T00:30:00+01:00"),
    )
    evidence = _evidence()
    ledger = _ledger(repo)

    assert ledger.events() == ()
    assert ledger.evidence(evidence_name(evidence)) is None
    assert _append(ledger, one, two, evidence=[evidence]) == (one, two)
    assert ledger.events() == _ledger(repo).events() == (one, two)
    assert ledger.evidence(evidence_name(evidence)) == evidence

    name = f"evidence/{evidence_name(evidence)}.json"
    stored = tree(repo, REF)
    assert stored == {
        "events/2026/01.jsonl": ("100644", event_line(one) + event_line(two)),
        name: ("100644", evidence_bytes(evidence)),
    }
    assert json.loads(stored["events/2026/01.jsonl"][1].splitlines()[0])["data"] == one.data
    assert sha256(stored[name][1]).hexdigest() == evidence_name(evidence)
    assert stored[name][1].endswith(b'"v":1,"verdict":"strong"}\n')
    commit = show(GitRepo.open(repo.path), REF)
    assert (commit.parents, commit.author, commit.time, commit.message) == ((), TOOL, WHEN, "Record a run\n")
    assert snapshot(repo) == before


def test_what_is_known_is_not_recorded_again(repo: Repository) -> None:
    """The same id counts once, also within one call or with another time; nothing new means no commit."""
    ledger = _ledger(repo)
    one, two, evidence = _event("one"), _event("two"), _evidence()
    assert _append(ledger) == ()
    assert GitRepo.open(repo.path).ref(REF) is None
    _append(ledger, one, evidence=[evidence])
    head = repo.git("rev-parse", REF)
    assert _append(ledger, one, replace(one, ts="2026-05-01T00:00:00Z"), evidence=[evidence]) == ()
    assert repo.git("rev-parse", REF) == head
    assert _append(ledger, one, two, two) == (two,)
    assert ledger.events() == (one, two)
    assert repo.git("rev-parse", f"{REF}^") == head
    other = _evidence(verdict="harmful")
    assert _append(ledger, evidence=[other]) == ()
    assert ledger.evidence(evidence_name(other)) == other


def test_a_damaged_line_costs_only_itself(repo: Repository) -> None:
    """What cannot be read is counted, kept byte for byte, and swallows no event that comes after it."""
    one, two = _event("one"), _event("two")
    damaged = b'{"v": 1, "id\n\xff\xfe\r\x0b\n[1]\n\n' + b"[" * 100_000 + b"\n"
    cut = b'{"v":1,"id":"0123'
    _commit_files(repo, {"events/2026/01.jsonl": event_line(one) + damaged + cut})
    ledger = _ledger(repo)
    assert (ledger.events(), ledger.contents().damaged) == ((one,), 6)
    _append(ledger, two)
    assert (ledger.events(), ledger.contents().damaged) == ((one, two), 6)
    assert tree(repo, REF)["events/2026/01.jsonl"][1] == event_line(one) + damaged + cut + b"\n" + event_line(two)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"v": 2, "novelty": 1}, r"events/2026/01.jsonl, line 2, was written by a newer tool \(v 2\)"),
        ({"novelty": 1}, r"(?s)events/2026/01.jsonl, line 2, is not valid.*novelty"),
        ({"type": "invented"}, r"(?s)line 2, is not valid.*type"),
    ],
)
def test_a_record_of_another_tool_is_refused_with_its_place(
    repo: Repository, change: dict[str, object], words: str
) -> None:
    """A newer version or an unknown field stops reading and writing alike: guessing could lose what it means."""
    foreign = json.dumps({**schema.dump(_event("two")), **change}).encode()
    head = _commit_files(repo, {"events/2026/01.jsonl": event_line(_event("one")) + foreign + b"\n"})
    ledger = _ledger(repo)
    with pytest.raises(ConfigError, match=words):
        ledger.events()
    with pytest.raises(ConfigError, match=words):
        _append(ledger, _event("three"))
    assert repo.git("rev-parse", REF).strip() == head
    repo.git("update-ref", "-d", REF)
    with pytest.raises(ConfigError, match=words):
        ledger.merge(head, when=WHEN, message="m")
    assert GitRepo.open(repo.path).ref(REF) is None


@pytest.mark.parametrize("line", [b"{}", b'{"v":1}', b"[]", b"1", b"null", b'{"v":1,"id":"0","ts":"x"}'])
def test_what_lacks_all_that_makes_a_record_is_damaged(repo: Repository, line: bytes) -> None:
    """No tool writes such a line; it costs nobody a night."""
    _commit_files(repo, {"events/2026/01.jsonl": event_line(_event("one")) + line + b"\n"})

    assert _ledger(repo).contents() == Contents((_event("one"),), damaged=1)


def test_evidence_that_was_changed_is_noticed(repo: Repository) -> None:
    """The name is the hash: other bytes under it, or a newer record, are refused."""
    name = evidence_name(_evidence())
    forged = evidence_bytes(_evidence(verdict="harmful"))
    newer = json.dumps({**schema.dump(_evidence()), "v": 2}).encode()
    newer_name = sha256(newer).hexdigest()
    _commit_files(repo, {f"evidence/{name}.json": forged, f"evidence/{newer_name}.json": newer})
    ledger = _ledger(repo)
    with pytest.raises(GitError, match="is not what its name says"):
        ledger.evidence(name)
    with pytest.raises(ConfigError, match="newer tool"):
        ledger.evidence(newer_name)
    assert ledger.evidence("../events") is None


@pytest.mark.parametrize(
    "forged", [{"cand": (1,)}, {"cand": (1, 7)}, {"soft": {"base": (0.5,), "cand": (1.0, 1.0)}}], ids=str
)
def test_evidence_whose_rollouts_are_no_pairs_is_refused(repo: Repository, forged: dict[str, Any]) -> None:
    """An arm that is shorter, a rollout that passed seven times: no figure could be trusted."""
    (task,) = _evidence().tasks
    wrong = _evidence(tasks=(replace(task, **forged),))
    _commit_files(repo, {f"evidence/{evidence_name(wrong)}.json": evidence_bytes(wrong)})

    with pytest.raises(GitError, match="rollouts that are no pairs"):
        _ledger(repo).evidence(evidence_name(wrong))


@pytest.mark.parametrize("place", ["text", "data", "nested", "key", "evidence", "multiline"])
def test_a_secret_is_never_recorded(repo: Repository, place: str) -> None:
    """Wherever it hides, the whole call is refused, the message names the place and not the secret."""
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" * 2
    events = {
        "text": _event("one", text=f"Use {secret}."),
        "data": _event("one", data={"note": secret}),
        "nested": _event("one", data={"a": [{"b": secret}]}),
        "key": _event("one", data={secret: 1}),
        "multiline": _event("one", reason=f'say "x"\nAuthorization: Bearer {secret}'),
    }
    evidence = [_evidence(settings={"note": secret})] if place == "evidence" else []
    ledger = _ledger(repo)
    with pytest.raises(SafetyError) as caught:
        _append(ledger, _event("fine"), events.get(place, _event("two")), evidence=evidence)
    assert secret not in caught.value.message
    assert ("evidence " if evidence else f"event {_event('one').id}") in caught.value.message
    assert GitRepo.open(repo.path).ref(REF) is None


def test_a_denied_word_is_never_recorded(repo: Repository) -> None:
    """In an event or in the message of the commit; it is not told. Without the word the same is recorded."""
    ledger = Ledger(GitRepo.open(repo.path), REF, TOOL, scanner=Scanner(("Globex",)))
    for told, message in ((_event("for globex"), "m"), (_event("one"), "Publish globex/x")):
        with pytest.raises(SafetyError, match="deny-word") as caught:
            ledger.append([told], when=WHEN, message=message)
        assert "globex" not in caught.value.message.casefold()
    assert GitRepo.open(repo.path).ref(REF) is None
    assert ledger.append([_event("one")], when=WHEN, message="m")


def test_an_event_needs_a_time_and_the_ref_a_full_name(repo: Repository) -> None:
    """Both are refused before anything is written."""
    with pytest.raises(ConfigError, match="has no time: 'yesterday'"):
        _append(_ledger(repo), _event("one", ts="yesterday"))
    with pytest.raises(ConfigError, match="full ref name, not 'ledger'"):
        Ledger(GitRepo.open(repo.path), "ledger", TOOL)


# --- several writers ---------------------------------------------------------------------------------------------


def test_many_writers_lose_nothing(repo: Repository) -> None:
    """Runs at the same time, each with its own view: every event of every one is there in the end, once."""
    names = [[f"{writer}-{at}" for at in range(3)] for writer in range(3)]

    def write(mine: list[str]) -> None:
        ledger = _ledger(repo)
        for name in mine:
            _append(ledger, _event(name), _event("shared"))

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(write, names))
    found = _ledger(repo).events()
    assert sorted(event.id for event in found) == sorted(
        _event(name).id for name in [*(name for mine in names for name in mine), "shared"]
    )


@dataclass(frozen=True)
class Raced(GitRepo):
    """A repository in which somebody else moves the ledger right before each of the first `times` of our moves."""

    times: int = 0

    def update_ref(self, ref: str, new: str | None, old: str | None, message: str) -> None:
        rival = GitRepo(self.root, self.common_dir, self.object_format)
        done = len(Ledger(rival, REF, TOOL).events())
        if done < self.times:
            Ledger(rival, REF, Identity("rival", "r@x")).append([_event(f"rival {done}")], when=WHEN, message="m")
        GitRepo.update_ref(self, ref, new, old, message)


@pytest.mark.parametrize("times", [1, MOST_TRIES - 1, MOST_TRIES])
def test_a_lost_race_is_run_again_but_not_for_ever(repo: Repository, times: int) -> None:
    """What won is kept and appended to; after ten lost races the caller is told to try later, and nothing is broken."""
    plain = GitRepo.open(repo.path)
    waits: list[float] = []
    raced = Raced(plain.root, plain.common_dir, plain.object_format, times)
    ledger = Ledger(raced, REF, TOOL, pause=waits.append)
    rivals = tuple(_event(f"rival {at}") for at in range(times))
    if times < MOST_TRIES:
        assert _append(ledger, _event("mine")) == (_event("mine"),)
        assert ledger.events() == (*rivals, _event("mine"))
    else:
        with pytest.raises(RefMoved):
            _append(ledger, _event("mine"))
        assert ledger.events() == rivals
    assert len(waits) == min(times, MOST_TRIES - 1)
    assert waits == sorted(set(waits))


def test_two_clones_meet_in_one_ledger(repo: Repository, tmp_path: Path) -> None:
    """Each began its own; whoever merges, the events and evidence of both are there, and a second time is no change."""
    repo.git("clone", "--quiet", ".", str(tmp_path / "clone"))
    clone = Repository(tmp_path / "clone")
    here, there = _ledger(repo), _ledger(clone)
    one, two, both = _event("one"), _event("two", ts="2026-02-01T00:00:00Z"), _event("both")
    shared, mine, yours = _evidence(), _evidence(target="a"), _evidence(target="b")
    _append(here, both, one, evidence=[shared, mine])
    _append(there, two, both, evidence=[shared, yours])
    repo.git("fetch", "--quiet", str(clone.path), f"{REF}:refs/skillopt/theirs")
    ours, theirs = repo.git("rev-parse", REF, "refs/skillopt/theirs").split()

    merged = here.merge(theirs, when=WHEN, message="Join\n")
    assert here.events() == (both, one, two)
    assert all(here.evidence(evidence_name(item)) == item for item in (shared, mine, yours))
    assert show(GitRepo.open(repo.path), REF).parents == (ours, theirs)
    assert here.merge(theirs, when=WHEN, message="Join\n") == merged == repo.git("rev-parse", REF).strip()

    clone.git("fetch", "--quiet", str(repo.path), f"{REF}:refs/skillopt/theirs")
    assert there.merge(merged, when=WHEN, message="Join\n") == merged
    assert there.events() == here.events()
    clone.git("update-ref", "-d", REF)
    assert there.merge(merged, when=WHEN, message="Join\n") == merged


def test_of_two_files_for_one_evidence_the_sound_one_stays(repo: Repository) -> None:
    """A forged file never replaces a sound one, whichever side it comes from; other files are kept."""
    name = f"evidence/{evidence_name(_evidence())}.json"
    sound, forged = evidence_bytes(_evidence()), evidence_bytes(_evidence(verdict="harmful"))
    for ours, theirs in ((sound, forged), (forged, sound)):
        other = _commit_files(repo, {name: theirs, "README": b"theirs"})
        repo.git("update-ref", "-d", REF)
        _commit_files(repo, {name: ours, "README": b"ours"})
        _ledger(repo).merge(other, when=WHEN, message="m")
        assert tree(repo, REF) == {name: ("100644", sound), "README": ("100644", b"ours")}
        repo.git("update-ref", "-d", REF)


# --- union -------------------------------------------------------------------------------------------------------

TOLD = [_event(name, ts=ts) for name in "abcdef" for ts in ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")]
EVENTS = st.lists(st.sampled_from(TOLD), max_size=12)
LINES = st.sampled_from([*map(event_line, TOLD), b"dam\raged\n", b"\n", b'{"cut'])
FILES = st.lists(LINES, max_size=12).map(b"".join)


def _by_id(events: Sequence[Event]) -> dict[str, Event]:
    return {event.id: event for event in events}


@given(EVENTS, EVENTS, EVENTS)
def test_the_union_of_events_does_not_depend_on_order(one: list[Event], two: list[Event], three: list[Event]) -> None:
    """By id it is commutative, associative and idempotent, also where two tell one id differently."""
    assert _by_id(unique(one + two)) == _by_id(unique(two + one))
    assert _by_id(unique([*unique(one + two), *three])) == _by_id(unique([*one, *unique(two + three)]))
    assert unique(unique(one)) == unique([*unique(one), *one]) == unique(one)
    assert _by_id(unique(one)).keys() == {event.id for event in one}


@given(FILES, FILES, FILES)
def test_the_union_of_files_does_not_depend_on_order(one: bytes, two: bytes, three: bytes) -> None:
    """As sets of lines it is commutative and associative; ours stay in front, byte for byte, and no line is lost."""
    assert set(union(one, two).split(b"\n")) == set(union(two, one).split(b"\n"))
    assert set(union(union(one, two), three).split(b"\n")) == set(union(one, union(two, three)).split(b"\n"))
    assert {b"", *union(one, two).split(b"\n")} == {b"", *one.split(b"\n"), *two.split(b"\n")}
    assert union(one, two).startswith(one)
    joined = union(one, two)
    assert union(joined, joined) == union(joined, one) == union(joined, two) == joined


# --- what people look at -----------------------------------------------------------------------------------------


def test_what_only_learning_needs_is_passed_over_whole_or_not_at_all(repo: Repository) -> None:
    """A line of that kind that was cut off is damaged, and one of a newer tool is refused, as everywhere."""
    stamp = Stamp(run=RUN, now=WHEN, simulated=False)
    data = {"family": "f1-0", "needs": [], "split": "val", "tasks": [], "simhash": "0"}
    family = event("family", "f1-0", stamp, data=data)
    trial = event("trial", "x1-0", stamp, edit="e1-0", data={"trial": "x1-0"})
    quoting = _event("quoting", text='{"type":"family","v":1}')
    lines = [event_line(item) for item in (family, _event("one"), trial, quoting)]
    head = _commit_files(repo, {"events/2026/01.jsonl": b"".join(lines) + lines[0][:-9] + b"\n"})
    ledger = _ledger(repo)

    assert ledger.told() == Contents((_event("one"), quoting), damaged=1)
    assert ledger.contents() == Contents((family, _event("one"), trial, quoting), damaged=1)
    _commit_files(repo, {"events/2026/02.jsonl": lines[0].replace(b'"v":1', b'"v":2')}, head)
    with pytest.raises(ConfigError, match="newer tool"):
        ledger.told()
    repo.git("update-ref", "-d", REF)
    assert ledger.told() == Contents()


def test_of_two_runs_within_a_second_the_one_recorded_later_is_the_last() -> None:
    """Whatever their ids end in; one of a later second is later wherever it stands."""
    names = ("20260102T030406Z-00000000", "20260102T030405Z-ffffffff", "20260102T030405Z-00000000")
    later, first, second = (replace(_event(name, run=name), type="run", run=name) for name in names)
    assert last_run([first, second]) == second
    assert last_run([second, first]) == first
    assert last_run([later, first, second]) == later
    assert last_run([replace(first, type="gate")]) is None
