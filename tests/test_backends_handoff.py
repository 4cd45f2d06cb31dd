"""The hand-off: prompts lie in a folder, a run waits for their answers, and goes on with the same command."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_git import cli
from skillopt_git.backends import handoff
from skillopt_git.commands import night as night_
from skillopt_git.config import Replay
from skillopt_git.doors import Asked, Opened
from skillopt_git.errors import HandoffWaits
from skillopt_git.ports import CallFailed, Purpose, Reply, Request
from tests.helpers import Repository
from tests.learning import NOW
from tests.nights import PNPM, RULE, TICKET, obedient, sessions, taught

RUN, LATER = "20261129T030000Z-0000000a", "20261130T030000Z-000000ff"


def asks(ask: str = "Add lodash", **fields: Any) -> Request:
    return Request(**{"role": "target", "purpose": "rollout", "ask": ask} | fields)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "private" / "handoff"


def opened(folder: Path, model: str = "", **fields: Any) -> Opened:
    given: dict[str, Any] = {"replay": Replay(backend="handoff"), "state": folder, "redact": str}
    return handoff.door(Asked(role="target", model=model, base_url="", key_env="", environ={}, **given | fields))


def asked(folder: Path, *requests: Request, **fields: Any) -> list[Reply | CallFailed]:
    """Every question on a day of its own: a backend that was just opened."""
    return list(opened(folder, **fields).backend.complete(requests))


def waits(folder: Path, *requests: Request, **fields: Any) -> HandoffWaits:
    with pytest.raises(HandoffWaits) as caught:
        asked(folder, *requests, **fields)
    return caught.value


def prompts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.prompt.md"))


def place(prompt: Path) -> Path:
    return prompt.with_name(prompt.name.replace(".prompt.", ".answer."))


def written(folder: Path, request: Request) -> Path:
    """The prompt of a request, as it waits."""
    before = {*prompts(folder)}
    waits(folder, request)
    (new,) = {*prompts(folder)} - before
    return new


# --- waiting -----------------------------------------------------------------------------------------------------


def test_all_prompts_are_written_before_it_waits(folder: Path) -> None:
    """The error counts them, names the folder and says how to go on; an index lists them for whoever answers."""
    error = waits(folder, asks("a"), asks("b", role="optimizer", purpose="judge"), asks("c"))

    assert (error.exit_code, error.kind) == (3, "process")
    assert error.message == f"3 prompts wait for their answers in {folder}"
    assert "INDEX.md" in error.hint
    assert "the same command" in error.hint
    assert len(prompts(folder)) == 3
    assert {path.read_text() for path in map(place, prompts(folder))} == {handoff.EMPTY}
    index = (folder / "INDEX.md").read_text()
    listed = re.findall(r"^- `(\w+)\.prompt\.md` -> `(\w+)\.answer\.md` \((\w+, \w+)\)$", index, re.MULTILINE)
    assert {f"{name}.prompt.md" for name, same, _ in listed if name == same} == {path.name for path in prompts(folder)}
    assert [what for *_, what in listed] == ["target, rollout", "optimizer, judge", "target, rollout"]


def test_a_prompt_says_all_that_whoever_answers_needs(folder: Path) -> None:
    """Role, purpose, documents, context, ask, form, tools, and where the answer goes."""
    request = asks(
        documents=(("CLAUDE.md", "- Use pnpm\n"),),
        context="In web/",
        tools=("search", "open"),
        max_tokens=77,
        schema='{"type":"object"}',
    )
    path = written(folder, request)

    text = path.read_text()
    name = path.name.partition(".")[0]
    assert text.startswith(f"# Prompt {name}\n")
    assert "asks the target (rollout)" in text
    assert f"into `{name}.answer.md` beside this file" in text
    assert "77 tokens" in text
    assert '`{"type":"object"}`' in text
    assert "of search, open," in text
    system, user = text.split(f"===== SYSTEM {name}\n")[1].split(f"===== USER {name}\n")
    assert "===== CLAUDE.md\n- Use pnpm\n" in system
    assert user == f"In web/\n\nAdd lodash\n===== END {name}\n"


def test_what_is_not_wanted_is_not_in_a_prompt(folder: Path) -> None:
    """The optimizer has no instructions but the question; half a character is mended."""
    text = written(folder, asks("Why \ud800?", role="optimizer", purpose="reflect")).read_text()

    assert "===== SYSTEM" not in text
    assert "JSON" not in text
    assert "TOOL:" not in text
    assert "Why ??" in text


def test_files_are_for_their_owner_only(folder: Path) -> None:
    """In a folder of their own."""
    waits(folder, asks())

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_another_folder_may_be_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with `~`; what this repository asked for is known in its private state."""
    monkeypatch.setenv("HOME", str(tmp_path))
    waits(folder, asks(), replay=Replay(handoff="~/mail/prompts"))

    assert len(prompts(tmp_path / "mail" / "prompts")) == 1
    assert [path.name for path in folder.iterdir()] == ["asked"]


def test_a_probe_is_answered_at_once(folder: Path) -> None:
    """Nobody has to say that they are there."""
    (reply,) = asked(folder, asks(purpose="probe", sample=f"{RUN}/probe"))

    assert isinstance(reply, Reply)
    assert not folder.exists()


def test_it_is_a_model_that_varies(folder: Path) -> None:
    """Called what the settings call it; one that wants all that is asked at once."""
    found = opened(folder)

    assert (found.together, found.backend.name, found.backend.model) == (True, "handoff", "handoff")
    assert (found.backend.deterministic, found.backend.simulated) == (False, False)
    assert opened(folder, model="alice").backend.model == "alice"


# --- answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "left",
    [
        None,
        "",
        " \n\t\n",
        "\ufeff\n",
        handoff.EMPTY,
        f"Use pnpm.\n{handoff.EMPTY}",
        f"> {handoff.EMPTY.strip()} ok",
        handoff.EMPTY.lower(),
        handoff.EMPTY.replace("ANSWER", "REPLY"),
        f"Use pnpm.\n[{handoff.PLACEHOLDER.title()}]",
    ],
)
def test_what_is_not_answered_waits_on(folder: Path, left: str | None) -> None:
    """Missing, empty, or with the place-holder still in it: it never becomes an answer. It is not written over."""
    path = place(written(folder, asks()))
    path.unlink() if left is None else path.write_text(left, encoding="utf-8")

    assert waits(folder, asks()).message == f"1 prompt waits for its answer in {folder}"

    assert path.read_text(encoding="utf-8") == (handoff.EMPTY if left is None else left)


@settings(max_examples=40)
@given(st.text(max_size=60), st.text(max_size=60))
def test_the_place_holder_is_part_of_no_answer(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str
) -> None:
    """Whatever stands around it."""
    folder = tmp_path_factory.mktemp("handoff")
    path = place(written(folder, asks()))
    path.write_bytes(f"{before}{handoff.PLACEHOLDER}{after}".encode(errors="replace"))

    waits(folder, asks())


def test_answers_go_on_in_the_order_of_the_questions(folder: Path) -> None:
    """Trimmed and redacted, without a byte order mark; the index is gone when nothing waits."""
    for ask in "ab":
        place(written(folder, asks(ask))).write_text(f"\ufeff\n  hunter2 says {ask}\n\n", encoding="utf-8")

    replies = asked(folder, asks("b"), asks("a"), asks("b"), redact=lambda text: text.replace("hunter2", "[gone]"))

    assert replies == [Reply(text=f"[gone] says {ask}", model="handoff") for ask in "bab"]
    assert not (folder / "INDEX.md").exists()


def test_one_that_is_missing_keeps_all_waiting(folder: Path) -> None:
    """Answered ones stay answered and are not listed again."""
    waits(folder, asks("a"), asks("b"))
    first, second = prompts(folder)
    place(first).write_text("Done.")

    assert waits(folder, asks("a"), asks("b")).message.startswith("1 prompt waits")

    assert first.name not in (folder / "INDEX.md").read_text()
    place(second).write_text("Done, too.")
    assert len(asked(folder, asks("a"), asks("b"))) == 2


def test_another_run_finds_what_was_answered(folder: Path) -> None:
    """Samples may begin with the id of a run; another pair of a trial is another question."""
    place(written(folder, asks(sample=f"{RUN}/firmer"))).write_text("Done.")

    assert asked(folder, asks(sample=f"{LATER}/firmer")) == [Reply(text="Done.", model="handoff")]
    place(written(folder, asks(sample="x1-0/1"))).write_text("Done.")
    waits(folder, asks(sample="x1-0/2"))


def test_tools_are_named_on_lines_of_their_own(folder: Path) -> None:
    """Only those that there are."""
    request = asks(tools=("search", "open"))
    place(written(folder, request)).write_text("First:\nTOOL: search\nTOOL:open \nTOOL: rm\nsee TOOL: search\nDone.\n")

    (reply,) = asked(folder, request)

    assert isinstance(reply, Reply)
    assert reply.tools == ("search", "open")


@pytest.mark.parametrize(
    ("data", "why"), [(b"caf\xe9", "is not UTF-8"), (b"x" * (handoff.LONGEST + 1), "is longer than 1,000,000 bytes")]
)
def test_what_is_no_answer_is_a_failed_call(folder: Path, data: bytes, why: str) -> None:
    """Never an answer that scores; it may be mended."""
    path = place(written(folder, asks()))
    path.write_bytes(data)

    assert asked(folder, asks()) == [CallFailed("schema", f"{path.name} {why}")]
    path.write_text("Done.")
    assert asked(folder, asks()) == [Reply(text="Done.", model="handoff")]


# --- tidying -----------------------------------------------------------------------------------------------------


def test_a_prompt_that_is_asked_no_more_is_taken_back(folder: Path) -> None:
    """Unless it was answered, or somebody else's: another repository may use the folder."""
    answered = written(folder, asks("a"))
    place(answered).write_text("Done.")
    stale = written(folder, asks("b"))
    foreign = folder / "0123456789abcdef.prompt.md"
    foreign.write_text("Not ours.")

    waits(folder, asks("c"))

    assert answered.exists()
    assert foreign.exists()
    assert not stale.exists()
    assert not place(stale).exists()
    assert len(prompts(folder)) == 3


def test_a_recorded_night_is_put_away(folder: Path) -> None:
    """Another night asks anew: an answer would be no new evidence there. What was not answered is taken back."""
    for ask in "ab":
        waits(folder, asks(ask))
        for path in prompts(folder):
            place(path).write_text("Done.")
    prompts(folder)[0].unlink()
    foreign = folder / "0123456789abcdef.answer.md"
    foreign.write_text("Not ours.")
    waits(folder, asks("c"))

    opened(folder).settle()

    assert sorted(path.name for path in folder.iterdir()) == [foreign.name, "done"]
    assert [len([*(folder / "done").glob(f"*.{kind}.md")]) for kind in ("prompt", "answer")] == [1, 2]
    assert waits(folder, asks("a"), asks("b")).message.startswith("2 prompts wait")
    opened(folder).settle()
    assert prompts(folder) == []


def test_nothing_to_put_away_is_no_error(folder: Path) -> None:
    """A night that asked nothing."""
    opened(folder).settle()

    assert not folder.exists()


# --- whole nights ------------------------------------------------------------------------------------------------

Play = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def play(repo: Repository, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Play:
    """One call of a verb: its exit code and its record."""
    monkeypatch.setattr(night_, "now", lambda: NOW)
    monkeypatch.setenv("SKILLOPT_GATE_MODE", "strict")

    def call(verb: str = "run", *flags: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        words = [verb, "--repo", str(repo.path), "--claude-home", str(home), "--backend", "handoff", "--json", *flags]
        code = cli.run(words)
        return code, json.loads(capsys.readouterr().out)

    return call


def private(repo: Repository) -> Path:
    return repo.path / ".git" / "skillopt"


def answer(repo: Repository) -> int:
    """Answers all that waits, as the obedient model would from what the prompt says."""
    count = 0
    for prompt in prompts(private(repo) / "handoff"):
        if handoff.PLACEHOLDER not in place(prompt).read_text():
            continue
        text = prompt.read_text()
        parts = re.split(r"^===== (SYSTEM|USER|END) [0-9a-f]{16}\n", text, flags=re.MULTILINE)
        said = dict(zip(parts[1::2], parts[2::2], strict=True))
        purpose: Purpose = re.search(r"asks the \w+ \((\w+)\)", text)[1]  # type: ignore[index,assignment]
        request = asks(said["USER"], purpose=purpose, documents=(("all", said.get("SYSTEM", "")),))
        place(prompt).write_text(obedient(request).text)
        count += 1
    return count


def rounds(repo: Repository, play: Play, verb: str = "run") -> tuple[int, dict[str, Any]]:
    """Calls the verb and answers, until it is done: how often it waited, and the last record."""
    for waited in range(20):
        code, record = play(verb)
        if code != 3:
            assert code == 0, record
            return waited, record
        assert record["error"]["kind"] == "process"
        assert answer(repo) > 0
    raise AssertionError("it never ends")


def test_a_night_waits_for_its_answers_and_goes_on(repo: Repository, home: Path, play: Play) -> None:
    """Nothing is recorded meanwhile: no ledger, checkpoint or branch. In the end it is a night like any other."""
    sessions(home, repo, PNPM)

    code, record = play()

    folder = private(repo) / "handoff"
    assert code == 3
    assert f"in {folder}" in record["error"]["message"]
    assert repo.git("for-each-ref", "refs/skillopt", "refs/heads/sleep") == ""
    assert not (private(repo) / "checkpoint.json").exists()
    assert not (private(repo) / "bank.json").exists()
    assert play()[0] == 3
    answer(repo)
    waited, done = rounds(repo, play)
    assert waited > 0
    assert (done["verdict"], done["night"], done["simulated"], done["backend"]) == ("suggestive", 1, False, "handoff")
    assert RULE in taught(repo, done["branch"])
    assert (private(repo) / "checkpoint.json").exists()
    assert prompts(folder) == []
    assert len([*(folder / "done").glob("*.answer.md")]) > 3


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_place_holder_never_reaches_a_score(repo: Repository, home: Path, play: Play) -> None:
    """However often the command is called."""
    sessions(home, repo, PNPM)
    for _ in range(3):
        assert play()[0] == 3

    held = [path.read_text() for path in (private(repo) / "cache").rglob("*.json")]
    assert [text for text in held if handoff.PLACEHOLDER in text] == []
    _, done = rounds(repo, play)
    assert handoff.PLACEHOLDER not in (private(repo) / "reports" / done["run"] / "diagnostics.json").read_text()


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_harvest_that_grew_keeps_what_was_answered(repo: Repository, home: Path, play: Play) -> None:
    """Only what is new is asked."""
    sessions(home, repo, PNPM)
    assert play()[0] == 3
    first = answer(repo)
    sessions(home, repo, [*PNPM, *TICKET])

    assert play()[0] == 3

    kept = [path for path in prompts(private(repo) / "handoff") if handoff.PLACEHOLDER not in place(path).read_text()]
    assert len(kept) == first
    waited, done = rounds(repo, play)
    assert waited > 0
    assert len(done["edits"]) == 2


def test_a_dry_run_waits_too_and_its_answers_serve_the_run(repo: Repository, home: Path, play: Play) -> None:
    """It records nothing, so it puts nothing away."""
    sessions(home, repo, PNPM)
    waited, foreseen = rounds(repo, play, "dry-run")
    assert waited > 0
    assert repo.git("for-each-ref", "refs/skillopt", "refs/heads/sleep") == ""

    code, done = play()

    assert (code, done["verdict"]) == (0, foreseen["verdict"])
    assert done["branch"]
