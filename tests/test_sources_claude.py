"""Claude Code's transcripts, genuine ones first."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillopt_git.config import Config, Harvest
from skillopt_git.errors import ConfigError
from skillopt_git.model import Session, Skipped
from skillopt_git.sources.claude import ClaudeSource, make
from skillopt_git.sources.claude_lines import Line, Outcome, facts, outcome, parsed
from skillopt_git.sources.claude_records import done
from skillopt_git.sources.claude_records import said as words_of
from skillopt_git.transcripts import FileState
from skillopt_git.transcripts import Transcript as Found

DATA = Path(__file__).parent / "data" / "transcripts"
MANIFEST = json.loads((DATA / "manifest.json").read_text(encoding="utf-8"))["files"]
TRANSCRIPTS = {
    item["file"]: item["expected"]
    for item in MANIFEST
    if (item.get("expected") or {}).get("format") == "claude-code" and not item["expected"]["sidechain_file"]
}
DAMAGED = Path(__file__).parent / "data" / "damaged" / "claude"
DAMAGE = json.loads((DAMAGED / "manifest.json").read_text(encoding="utf-8"))
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def home_of(file: str) -> Path:
    return DATA / file.split("/projects/")[0]


def found_in(home: Path) -> Iterator[Session | Skipped]:
    """What a home holds: each transcript read as soon as it is found."""
    source = ClaudeSource(home)
    for found in source.transcripts():
        yield from [found] if isinstance(found, Skipped) else source.read(found)


@cache
def corpus() -> tuple[Session | Skipped, ...]:
    homes = sorted({home_of(file) for file in TRANSCRIPTS})
    return tuple(item for home in homes for item in found_in(home))


def genuine(session: str) -> Session:
    """The one session of the corpus whose id begins so."""
    (found,) = (item for item in corpus() if isinstance(item, Session) and item.id.startswith(session))
    return found


def said(session: Session, kind: str) -> list[str]:
    return [turn.text for turn in session.turns if turn.kind == kind]


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize("file", TRANSCRIPTS, ids=lambda file: "/".join(Path(file).parts[1::4]))
def test_a_genuine_session_is_what_its_manifest_says(file: str) -> None:
    """What was typed, answered, called and edited, where, on which branch and when: all of it is found."""
    expected = TRANSCRIPTS[file]
    (session,) = (item for item in corpus() if item.path == str(DATA / file))

    assert isinstance(session, Session)

    assert [turn.text for turn in session.prompts] == [item["text"] for item in expected["prompts"] if item["active"]]
    assert said(session, "command") == expected["slash_commands"]
    assert said(session, "shell") == expected["bash_inputs"]
    assert session.final == expected["final_assistant_text"]
    assert (session.id, session.source) == (expected["session_id"], "claude")
    assert (session.cwd, session.branch) == (expected["cwd"], expected["git_branch"])
    assert list(session.tools) == expected["tools"]
    assert list(session.files) == expected["files_edited"]
    assert (session.started, session.ended) == (instant(expected["started"]), instant(expected["ended"]))


def test_every_other_genuine_file_is_skipped_with_its_reason() -> None:
    """Sub-agents' files and the empty file that resuming leaves are no sessions, and nothing else is lost."""
    assert sum(isinstance(item, Session) for item in corpus()) == len(TRANSCRIPTS)
    assert sorted((Path(item.path).name[:14], item.reason) for item in corpus() if isinstance(item, Skipped)) == [
        ("99e3ba26-2c00-", "empty"),
        ("agent-1a48a41f", "sub-agent"),
        ("agent-318eb288", "sub-agent"),
        ("agent-96e8c0d8", "sub-agent"),
        ("agent-ad3df5b2", "sub-agent"),
        ("agent-ae78c0ac", "sub-agent"),
    ]


def test_reading_changes_nothing() -> None:
    """Every file, folder and time under the home is the same after reading as before."""

    def state() -> dict[str, tuple[str, int]]:
        return {
            str(path): (
                hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
                path.stat().st_mtime_ns,
            )
            for path in sorted(DATA.rglob("*"))
        }

    before = state()
    for home in {home_of(file) for file in TRANSCRIPTS}:
        list(found_in(home))

    assert state() == before


def test_answers_lie_between_the_turns_they_answer() -> None:
    """All that the assistant showed between two user turns is one answer; its tool calls and thoughts are not in it."""
    session = genuine("a90152b9")

    assert [(turn.kind, turn.text[:41]) for turn in session.turns] == [
        ("prompt", "The discount() helper in src/acme/pricing"),
        ("answer", "I'll look at the helper first.\n\n`discount"),
        ("prompt", "No, don't use if statements here. Use min"),
        ("answer", "Understood, switching to min/max.\n\nReplac"),
        ("prompt", "ok commit it with a short message"),
        ("answer", 'Committed as "Clamp discount pct" on feat'),
    ]


def test_a_queued_prompt_stands_before_its_answer() -> None:
    """A prompt queued while a tool ran is written beside the chain, yet is read in its place."""
    texts = [turn.text for turn in genuine("2fcf9385").turns]

    at = texts.index("Which file tests the pricing helpers?")
    assert texts[at - 1 : at + 2] == [
        "Starting the migration.",
        texts[at],
        "tests/test_pricing.py tests the pricing helpers.",
    ]


def test_synthetic_replies_and_failures_are_no_answers() -> None:
    """What the program itself wrote in the assistant's place is not shown as its answer."""
    assert said(genuine("9cf48f80"), "answer") == ["You are on feature/pricing-fix."]
    assert "No response requested." not in "".join(turn.text for turn in genuine("e5fde075").turns)


@pytest.mark.parametrize(
    ("session", "skills"),
    [("098b9804", ("run-tests",)), ("a8ccce3a", ("run-tests",)), ("a90152b9", ()), ("2fcf9385", ("run-tests",))],
)
def test_skills_are_known_by_the_model_s_call_and_by_the_user_s(session: str, skills: tuple[str, ...]) -> None:
    """A skill counts whether the model called it or the user typed its name; a plain session has none."""
    assert genuine(session).skills == skills


def test_worktree_and_headless_sessions_say_so() -> None:
    """A worktree session knows where it came from, and `claude -p` is told from a person at the keyboard."""
    worktree, typed, old = genuine("226cc8fa"), genuine("2fcf9385"), genuine("3b9d81f4")

    assert (worktree.original_cwd, typed.original_cwd) == ("/home/dev/acme-api", None)
    assert (worktree.headless, typed.headless, old.headless) == (True, False, False)


# --- made-up transcripts -----------------------------------------------------------------------------------------


class Transcript:
    """Writes records as the agent does, each the child of the one before unless told otherwise."""

    def __init__(self, home: Path, name: str = "s1") -> None:
        self.path = home / "projects" / "-home-alice-acme-api" / f"{name}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.lines: list[bytes] = []
        self.last: str | None = None
        self.name = name

    def add(self, type_: str, content: Any = None, **fields: Any) -> str:
        uuid = fields.setdefault("uuid", f"u{len(self.lines)}")
        line = {
            "parentUuid": self.last,
            "sessionId": self.name,
            "cwd": "/home/alice/acme-api",
            "timestamp": (NOON + timedelta(seconds=len(self.lines))).isoformat().replace("+00:00", "Z"),
            "type": type_,
            **(self.words(type_, content) if content is not None else {}),
            **fields,
        }
        self.raw(json.dumps(line).encode() + b"\n")
        self.last = uuid
        return str(uuid)

    @staticmethod
    def words(type_: str, content: Any) -> dict[str, Any]:
        return {"content": content} if type_ == "system" else {"message": {"role": type_, "content": content}}

    def prompt(self, text: Any, **fields: Any) -> str:
        return self.add("user", text, **{"promptSource": "typed", "origin": {"kind": "human"}, **fields})

    def answer(self, text: str, **fields: Any) -> str:
        return self.add("assistant", [{"type": "text", "text": text}], **fields)

    def call(self, name: str, given: Mapping[str, Any], **fields: Any) -> str:
        block = {"type": "tool_use", "id": f"call{len(self.lines)}", "name": name, "input": given}
        return self.add("assistant", [block], **fields)

    def raw(self, line: bytes) -> None:
        self.lines.append(line)

    def write(self) -> Path:
        self.path.write_bytes(b"".join(self.lines))
        return self.path


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return Transcript(tmp_path / "claude")


def read(home: Path) -> tuple[list[Session], list[tuple[str, str, int]]]:
    found = list(found_in(home))
    skipped = [(Path(item.path).name, item.reason, item.count) for item in found if isinstance(item, Skipped)]
    return [item for item in found if isinstance(item, Session)], skipped


def session_of(transcript: Transcript) -> Session:
    transcript.write()
    (session,), _ = read(transcript.path.parents[2])
    return session


def file_of(transcript: Transcript) -> Found:
    path = transcript.write()
    info = path.stat()
    return Found((FileState(str(path), info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino),))


def test_a_glance_tells_the_last_times(transcript: Transcript) -> None:
    """Without reading the session."""
    transcript.prompt("one")
    transcript.answer("un")
    glance = ClaudeSource(transcript.path.parents[2]).glance(file_of(transcript))

    assert glance
    assert glance.latest == NOON + timedelta(seconds=1)


def test_a_bad_piece_costs_only_itself(transcript: Transcript) -> None:
    """Bad lines are counted by reason, and the conversation around them is whole."""
    transcript.prompt("first")
    for line in (
        b'[1, 2]\n"s"\nnull\n',
        b"\xff\xfe\n",
        b'{"type": "user", "messa\n',
        b"\0\0\0\n",
        b"[" * 100_000 + b"\n",
    ):
        transcript.raw(line)
    transcript.raw(b'{"type": "user", "message": {"content": "nameless"}}\n\n')
    transcript.prompt("second", parentUuid="lost-with-a-bad-line")
    transcript.raw(transcript.lines.pop()[:-1] + b'{"type": "from-the-future"}\0\0\n')
    transcript.answer("done")
    transcript.raw(b'{"type":"assistant","uuid":"cut')
    transcript.write()

    (session,), skipped = read(transcript.path.parents[2])

    assert [turn.text for turn in session.turns] == ["first", "second", "done"]
    assert sorted(skipped) == [
        ("s1.jsonl", "a message without an id", 1),
        ("s1.jsonl", "cut off", 1),
        ("s1.jsonl", "no text", 1),
        ("s1.jsonl", "not JSON", 2),
        ("s1.jsonl", "not UTF-8", 1),
        ("s1.jsonl", "not an object", 3),
    ]


def test_copies_of_what_was_sent_are_passed_over(transcript: Transcript) -> None:
    """Newer versions keep each request, too; its messages were told before."""
    transcript.prompt("first")
    transcript.raw(b'{"type": "api-request-blob", "hash": "0", "message": {"role": "user", "content": "context"}}\n')
    transcript.answer("done")
    transcript.write()

    (session,), skipped = read(transcript.path.parents[2])

    assert ([turn.text for turn in session.turns], skipped) == (["first", "done"], [])


def test_a_prompt_of_an_unknown_source_is_told(transcript: Transcript) -> None:
    """Whether somebody typed it cannot be known, so it is no prompt; and it is not passed over in silence."""
    transcript.add("user", "Run the tests", promptSource="typed")
    transcript.add("user", "Add a test", promptSource="telepathy")
    transcript.add("user", "A notice", promptSource="system")
    transcript.write()
    (session,), skipped = read(transcript.path.parents[2])

    assert [turn.text for turn in session.prompts] == ["Run the tests"]
    assert skipped == [("s1.jsonl", "an unknown kind of record", 1)]


@pytest.mark.parametrize("file", DAMAGE)
def test_a_damaged_file_gives_what_is_whole_in_it(file: str, tmp_path: Path) -> None:
    """Of each damaged file, all that was said around the damage is read, and the damage is told with its reason."""
    folder = tmp_path / "projects" / "-home-alice-acme-api"
    folder.mkdir(parents=True)
    shutil.copy(DAMAGED / file, folder)
    sessions, skipped = read(tmp_path)
    told = {reason: count for _, reason, count in skipped}

    if DAMAGE[file]["prompts"] is None:
        assert (sessions, told) == ([], DAMAGE[file]["skipped"])
        return
    (session,) = sessions
    assert {
        "prompts": [turn.text for turn in session.prompts],
        "final": session.final,
        "files": list(session.files),
        "skipped": told,
    } == DAMAGE[file]


def test_every_damaged_file_is_listed() -> None:
    """A file that the manifest leaves out would be tested by nobody."""
    assert {path.name for path in DAMAGED.glob("*.jsonl")} == set(DAMAGE)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_damage_to_a_genuine_file_stops_nothing(tmp_path: Path, data: st.DataObject) -> None:
    """Bytes cut out of, or written into, a genuine file cost what they hit; nothing is raised, and all is told."""
    (source,) = DATA.glob("claude/*/.claude/projects/*/a90152b9*.jsonl")
    genuine_bytes = source.read_bytes()
    start = data.draw(st.integers(0, len(genuine_bytes)))
    end = data.draw(st.integers(start, min(start + 3000, len(genuine_bytes))))
    path = tmp_path / "projects" / "x" / "s.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(genuine_bytes[:start] + data.draw(st.binary(max_size=20)) + genuine_bytes[end:])

    found = list(found_in(tmp_path))

    assert found
    assert all(turn.text.encode() for item in found if isinstance(item, Session) for turn in item.turns)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False))
def test_no_order_of_lines_changes_a_genuine_session(tmp_path: Path, random: Random) -> None:
    """A session's lines in any order are the same conversation, with the same tools used on the same files."""
    (source,) = DATA.glob("claude/*/.claude/projects/*/a90152b9*.jsonl")
    lines = source.read_bytes().splitlines(keepends=True)
    random.shuffle(lines)
    path = tmp_path / "projects" / "x" / source.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))

    (session,) = (item for item in found_in(tmp_path) if isinstance(item, Session))

    assert replace(session, path="") == replace(genuine("a90152b9"), path="")


def test_a_line_of_ten_megabytes_is_read_and_a_longer_one_is_passed_by(transcript: Transcript) -> None:
    """A prompt with a whole log pasted into it counts; what is too long to be a line is told."""
    transcript.prompt("x" * 10_000_000)
    transcript.prompt("y" * 20_000_000)
    transcript.answer("long", parentUuid="u0")
    transcript.write()

    (session,), skipped = read(transcript.path.parents[2])

    assert [len(turn.text) for turn in session.turns] == [10_000_000, 4]
    assert skipped == [("s1.jsonl", "a line too long", 1)]


# --- tools' results at a glance ----------------------------------------------------------------------------------


def compact(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def result_line(
    content: Any, *, error: bool | None = False, first: str = "tool_use_id", **fields: Any
) -> dict[str, Any]:
    """A tool's result as versions of today write it."""
    kind = {"type": "tool_result"}
    head = {"tool_use_id": "toolu_1", **kind} if first == "tool_use_id" else kind
    end = {} if error is None else {"is_error": error}
    block = {**head, "content": content, **end, "tool_use_id": "toolu_1"}
    return {
        "parentUuid": f"{7:036}",
        "isSidechain": False,
        "promptId": "p",
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "uuid": "u8",
        "timestamp": "2026-11-29T12:00:00.000Z",
        "toolUseResult": {"stdout": content},
        "sourceToolAssistantUUID": f"{7:036}",
        "userType": "external",
        "cwd": "/home/alice/acme-api",
        **fields,
    }


def in_full(line: bytes) -> Outcome:
    """The same from the decoded line."""
    (record,) = parsed(line, Counter())
    assert record.parent_uuid
    return Outcome(record.parent_uuid, record.uuid, record.timestamp, "".join(done(record)))


def test_a_glance_tells_of_genuine_results_what_reading_tells() -> None:
    """Most results in genuine files of today are known at a glance, and rightly."""
    files = DATA.glob("claude/v2.1*/.claude/projects/*/*.jsonl")
    lines = [line + b"\n" for path in files for line in path.read_bytes().split(b"\n") if line]
    glances = [(line, found) for line in lines if (found := outcome(line, facts(line)))]

    assert len(glances) > len(lines) / 10
    assert [found for _, found in glances] == [in_full(line) for line, _ in glances]
    assert len([line for line in lines if b'"sourceToolAssistantUUID"' in line]) - len(glances) < len(glances) / 10


TRICKY = st.sampled_from(
    ['"', "\\", '}]},"uuid":"', ',"is_error":true', '"type":"tool_result"', '{"parentUuid":', "\u2028"]
)
OUTPUT = st.lists(TRICKY | st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=6).map("".join)


@given(
    OUTPUT | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": OUTPUT}), max_size=2),
    st.sampled_from([None, True, False]),
    st.sampled_from(["tool_use_id", "type"]),
)
def test_no_output_of_a_tool_deceives_a_glance(content: Any, error: bool | None, first: str) -> None:
    """Whatever a tool put out, a glance tells what reading the line tells."""
    line = compact(result_line(content, error=error, first=first))

    assert outcome(line, facts(line)) == in_full(line)


@pytest.mark.parametrize(
    "changed",
    [
        {"sourceToolAssistantUUID": f"{9:036}"},
        {"isSidechain": True},
        {"isMeta": True, "uuid": None},
        {"parentUuid": None},
        {"toolUseResult": None, "uuid": "with \\ in it"},
        {"message": {"role": "user", "content": [{"type": "text", "text": "typed"}]}},
        {
            "message": {
                "role": "user",
                "content": [
                    {"tool_use_id": "toolu_1", "type": "tool_result", "content": "a", "is_error": True},
                    {"tool_use_id": "toolu_2", "type": "tool_result", "content": "b"},
                ],
            }
        },
        {
            "message": {
                "role": "user",
                "content": [{"tool_use_id": "t", "type": "tool_result", "content": "a", "is_error": True, "new": {}}],
            }
        },
    ],
)
def test_a_result_in_another_form_is_read_in_full(changed: dict[str, Any]) -> None:
    """A line that is not just one result of the parent's call is not judged at a glance."""
    line = compact({**result_line("a"), **changed})

    assert outcome(line, facts(line)) is None


def test_a_glance_is_not_deceived_by_a_line_that_was_written_over() -> None:
    """Wherever a result broke off, with the next written over it, the beginning of one is not taken for the other's."""
    one = compact(result_line("one" * 20))
    two = compact(result_line("two" * 20, parentUuid=f"{8:036}", sourceToolAssistantUUID=f"{8:036}", uuid="u9"))

    for cut in range(1, len(one)):
        assert outcome(one[:cut] + two, facts(two)) is None


def test_a_result_that_is_not_in_utf_8_is_not_judged_at_a_glance() -> None:
    """Ids are text."""
    line = compact(result_line("a", uuid="u\u00e9")).replace("\u00e9".encode(), b"\xe9")

    assert outcome(line, facts(line)) is None


def test_a_result_that_does_not_name_its_caller_is_not_judged_at_a_glance() -> None:
    """What a tool put out may end with the parent's id, where the caller would stand."""
    result = {**result_line("a"), "toolUseResult": f"{7:036}"}
    del result["sourceToolAssistantUUID"]
    line = compact(result)

    assert outcome(line, facts(line)) is None


def test_blanks_between_words_of_the_format_change_nothing(tmp_path: Path) -> None:
    """Genuine sessions written out in another JSON style, which no glance knows, are the same sessions."""
    rewritten = in_another_home(tmp_path, lambda line: json.dumps(line).encode() + b"\n")

    assert rewritten == by_path(corpus())


def test_the_size_of_outputs_changes_nothing(tmp_path: Path) -> None:
    """Genuine sessions whose tools put out much more, so that a glance has to do, are the same sessions."""

    def swollen(line: dict[str, Any]) -> bytes:
        content = line["message"]["content"] if line["type"] == "user" else None
        for block in content if isinstance(content, list) else []:
            if isinstance(block.get("content"), str):
                block["content"] += '\n "}]},' * 1000
        return compact(line)

    assert in_another_home(tmp_path, swollen) == by_path(corpus())


def in_another_home(home: Path, form: Callable[[dict[str, Any]], bytes]) -> dict[str, Session]:
    """The genuine sessions when each of their lines is written in that form."""
    for file in TRANSCRIPTS:
        path = home / "projects" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (DATA / file).read_bytes().split(b"\n")
        path.write_bytes(b"".join(form(json.loads(line)) for line in lines if line))
    return by_path(found_in(home))


def by_path(found: Iterable[Session | Skipped]) -> dict[str, Session]:
    """Sessions by what is the same of their path in any home."""
    sessions = [item for item in found if isinstance(item, Session)]
    return {"/".join(Path(item.path).parts[-2:]): replace(item, path="") for item in sessions}


# --- any piece ---------------------------------------------------------------------------------------------------


@given(st.binary(max_size=200))
def test_any_line_is_read_or_told(line: bytes) -> None:
    """Whatever bytes a line holds, there is an object on it, or a reason why not, or nothing but blanks."""
    bad: Counter[str] = Counter()

    assert list(parsed(line, bad)) or bad or not line.strip()


LOOSE = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(st.characters(exclude_categories=()), max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "content"]), inner),
    max_leaves=6,
)
KEYS = ["type", "uuid", "parentUuid", "message", "attachment", "timestamp", "origin", "isMeta", "promptSource", "cwd"]


@given(st.dictionaries(st.sampled_from(KEYS), LOOSE), st.sampled_from(["user", "assistant", "attachment", "system"]))
def test_any_object_is_a_record_whose_text_can_be_written(line: dict[str, Any], type_: str) -> None:
    """Fields of any shape are read as nothing, and what is read is valid UTF-8."""
    (found,) = parsed(json.dumps({**line, "type": type_}).encode(), Counter())
    said_there = words_of("u1", found)

    assert isinstance(found, Line)
    assert said_there is None or said_there.text.encode()


def test_unwritable_characters_are_replaced(transcript: Transcript) -> None:
    """A lone surrogate or a NUL in a prompt, a name or a path does not survive; U+2028 does, and ends no line."""
    transcript.prompt("a\ud83db\0c\u2028d")
    transcript.raw(transcript.lines.pop().replace(b"\\u2028", "\u2028".encode()))

    assert session_of(transcript).prompts[0].text == "a\ufffdb\ufffdc\u2028d"


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"isMeta": True}, "Continue from where you left off."),
        ({"isCompactSummary": True}, "This session is being continued"),
        ({"isSidechain": True}, "Find the tax rate"),
        ({"origin": {"kind": "task-notification"}}, "<task-notification>done</task-notification>"),
        ({"promptSource": "system"}, "a wake-up nobody typed"),
        ({}, [{"type": "tool_result", "tool_use_id": "x", "content": "output"}, {"type": "text", "text": "y"}]),
        ({}, [{"type": "image"}]),
    ],
)
def test_what_nobody_typed_is_no_prompt(transcript: Transcript, fields: dict[str, Any], content: Any) -> None:
    """Notices, summaries, sub-agents' tasks and tool results stand in user records, and are not the user's words."""
    transcript.prompt("real")
    transcript.prompt(content, **fields)

    assert [turn.text for turn in session_of(transcript).turns] == ["real"]


@pytest.mark.parametrize(
    "text",
    [
        "<bash-stdout>a</bash-stdout>",
        "<local-command-stdout>b</local-command-stdout>",
        "Caveat: The messages below were generated by the user while",
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        "This session is being continued from a previous conversation that ran out of context.",
        "\nStop hook feedback:\n- tests are red",
        "PreToolUse:Bash hook additional context: use pnpm, not npm",
        "UserPromptSubmit operation blocked by hook:\nno",
        "Base directory for this skill: /home/alice/.claude/skills/deploy\n\nNever push",
        "<system-reminder>x</system-reminder>\nStop hook feedback: tests are red",
        "<command-message>x without a name</command-message>",
    ],
)
def test_an_old_version_s_own_texts_are_no_prompts(transcript: Transcript, text: str) -> None:
    """Where no line names its source, the harness's own texts are told by how they begin."""
    transcript.add("user", "What does [Request interrupted by user] mean?")
    transcript.add("user", text)

    assert [turn.text for turn in session_of(transcript).turns] == ["What does [Request interrupted by user] mean?"]


@pytest.mark.parametrize("text", ["Stop hook feedback: what is that?", "Base directory for this skill: why?"])
def test_a_typed_prompt_may_begin_like_the_harness(transcript: Transcript, text: str) -> None:
    """Where the line says that it was typed, how it sounds does not matter."""
    transcript.prompt(text)

    assert [turn.text for turn in session_of(transcript).turns] == [text]


def test_a_version_that_names_sources_names_all(transcript: Transcript) -> None:
    """In a session resumed by a newer version, an unnamed line is a prompt in the old part and a notice in the new."""
    transcript.add("user", "typed long ago", version="2.0.60")
    transcript.prompt("typed", version="2.1.197")
    transcript.add("user", "Review finished.", version="2.1.197")

    assert [turn.text for turn in session_of(transcript).turns] == ["typed long ago", "typed"]


def test_quoted_tags_are_the_user_s_words(transcript: Transcript) -> None:
    """A labelled prompt that quotes a command's tags, or one of the harness's texts, is kept as it is."""
    quoting = "<command-name>/x</command-name> shows up in my log, why?"
    transcript.prompt(quoting)
    transcript.prompt("<bash-stdout> is what?")

    assert said(session_of(transcript), "prompt") == [quoting, "<bash-stdout> is what?"]


def test_what_an_editor_put_in_front_is_cut(transcript: Transcript) -> None:
    """The editor's note of the open file is not part of the prompt, wherever its block stands."""
    note = "<ide_opened_file>The user opened a.py</ide_opened_file>"
    transcript.prompt([{"type": "text", "text": note}, {"type": "text", "text": "Fix it"}])
    transcript.prompt(f"{note}\nand this <ide_selection>typed</ide_selection>")

    assert said(session_of(transcript), "prompt") == ["Fix it", "and this <ide_selection>typed</ide_selection>"]


@pytest.mark.parametrize("prompt", ["use pnpm", [{"type": "text", "text": "use pnpm"}]])
def test_a_prompt_delivered_in_the_middle_of_a_turn_counts(transcript: Transcript, prompt: Any) -> None:
    """A queued prompt that only an attachment holds is a turn, and the attachment's id is its own."""
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": prompt}
    transcript.prompt("install")
    transcript.call("Bash", {"command": "npm i"})
    transcript.add("attachment", attachment=queued, uuid="q1", timestamp="2026-11-29T11:00:00Z")
    transcript.answer("switched")
    transcript.add("attachment", attachment={**queued, "commandMode": "task-notification"})
    transcript.add("attachment", attachment={**queued, "origin": {"kind": "peer"}})

    session = session_of(transcript)

    assert [turn.text for turn in session.turns] == ["install", "use pnpm", "switched"]
    assert session.turns[1].id == "q1"


def test_prompts_typed_while_the_agent_worked_are_kept_and_taken_back_ones_are_not(transcript: Transcript) -> None:
    """A childless prompt beside a running turn was queued; one that another prompt replaced was taken back."""
    transcript.prompt("start")
    call = transcript.call("Bash", {"command": "make"})
    transcript.prompt("and lint", promptSource="sdk")
    end = transcript.answer("made and linted", parentUuid=call)
    transcript.prompt("taken back")
    aside = transcript.prompt("another way", parentUuid=call, promptSource="queued")
    transcript.answer("abandoned", parentUuid=aside)
    transcript.prompt("queued, never answered", promptSource="queued", parentUuid=end)
    transcript.prompt("next", parentUuid=end)
    transcript.answer("yes")

    assert [turn.text for turn in session_of(transcript).turns] == [
        "start",
        "and lint",
        "made and linted",
        "queued, never answered",
        "next",
        "yes",
    ]


def test_a_rewound_branch_is_not_read_but_its_tools_count(transcript: Transcript) -> None:
    """Turns of an abandoned branch are gone, answered ones too; what was called and edited there did happen."""
    root = transcript.prompt("start")
    transcript.prompt("wrong way")
    transcript.call("Edit", {"file_path": "/home/alice/acme-api/a.py"})
    transcript.add("user", [{"type": "tool_result", "tool_use_id": "call2"}])
    transcript.prompt("right way", parentUuid=root)
    transcript.answer("good")
    session = session_of(transcript)

    assert [turn.text for turn in session.turns] == ["start", "right way", "good"]
    assert (session.tools, session.files) == (("Edit",), ("/home/alice/acme-api/a.py",))


def test_the_order_of_lines_does_not_matter(transcript: Transcript) -> None:
    """The same records in any order make the same conversation, and the newest branch is still the active one."""
    root = transcript.prompt("one")
    transcript.prompt("wrong way")
    transcript.call("Read", {}, parentUuid=root)
    transcript.add("user", [{"type": "tool_result", "tool_use_id": "call1"}])
    transcript.answer("uno")
    transcript.prompt("two")
    transcript.answer("due")
    straight = session_of(transcript)
    transcript.lines.reverse()

    assert session_of(transcript) == straight
    assert [turn.text for turn in straight.turns if turn.kind == "answer"] == ["uno", "due"]


@pytest.mark.parametrize("logical", [{"logicalParentUuid": "u1"}, {"logicalParentUuid": "gone"}, {}])
def test_compaction_does_not_cut_the_conversation(transcript: Transcript, logical: dict[str, str]) -> None:
    """What was said before a compaction is still part of the session, even if the link to it is lost."""
    transcript.prompt("before")
    transcript.answer("old")
    transcript.add("system", subtype="compact_boundary", parentUuid=None, **logical)
    transcript.prompt("after")

    assert [turn.text for turn in session_of(transcript).turns] == ["before", "old", "after"]


def test_rings_and_repeats_end(transcript: Transcript) -> None:
    """Records that name each other as parents, or stand in the file twice, are read once."""
    transcript.prompt("one", uuid="a", parentUuid="b")
    transcript.prompt("two", uuid="b", parentUuid="a")
    transcript.add("attachment", uuid="b", parentUuid="a")
    transcript.lines.append(transcript.lines[0])

    assert {turn.text for turn in session_of(transcript).turns} == {"one", "two"}


def test_an_id_used_twice_goes_to_the_one_who_spoke(transcript: Transcript) -> None:
    """Where a hook's attachment took a prompt's id, the prompt is what is kept."""
    transcript.add("attachment", uuid="a", parentUuid=None)
    transcript.prompt("hello", uuid="a", parentUuid=None)
    transcript.add("attachment", uuid="b")
    transcript.prompt("again", uuid="b", parentUuid="a")

    assert said(session_of(transcript), "prompt") == ["hello", "again"]


def test_a_command_written_twice_is_one_turn(transcript: Transcript) -> None:
    """The system's note of a command the user's record already holds is not a second command."""
    envelope = (
        "<command-name>/cost</command-name>\n<command-message>cost</command-message>\n<command-args></command-args>"
    )
    for _ in range(2):
        transcript.add("user", envelope)
        transcript.add("system", envelope, subtype="local_command")
    transcript.add("user", envelope)
    transcript.add("system", envelope.replace("cost", "usage"), subtype="local_command")

    assert said(session_of(transcript), "command") == ["/cost", "/cost", "/cost", "/usage"]


def test_only_a_command_echoes_a_command(transcript: Transcript) -> None:
    """Whatever else says the same again is a turn of its own, and so is a command that the answer names."""
    envelope = "<command-name>/cost</command-name>"
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "again"}
    transcript.prompt("again")
    transcript.add("attachment", attachment=queued)
    transcript.answer("/cost")
    transcript.add("system", envelope, subtype="local_command")

    assert [turn.text for turn in session_of(transcript).turns] == ["again", "again", "/cost", "/cost"]


@pytest.mark.parametrize("name", ["", " ", "/", "/ "])
def test_a_command_without_a_name_is_nothing(transcript: Transcript, name: str) -> None:
    """Neither a turn nor a skill."""
    envelope = f"<command-name>{name}</command-name>\n<command-args>all</command-args>"
    transcript.prompt("hello")
    transcript.add("user", envelope)
    transcript.add("user", [{"type": "text", "text": "Base directory for this skill: /x/deploy"}], isMeta=True)
    transcript.add("system", envelope, subtype="local_command")

    session = session_of(transcript)

    assert [turn.text for turn in session.turns] == ["hello"]
    assert session.skills == ()


def test_skills_and_tools_are_named_safely(transcript: Transcript) -> None:
    """Names that a model made up hold only what names are made of; an older `command` input names a skill too."""
    transcript.add("user", "<command-name> / deploy </command-name>")
    transcript.add("user", [{"type": "text", "text": "Base directory for this skill: /x/deploy"}], isMeta=True)
    transcript.call("Skill", {"command": "plug:lint"})
    transcript.call("rm -rf `x`", {"file_path": "/x"})

    session = session_of(transcript)

    assert said(session, "command") == ["/deploy"]
    assert session.skills == ("deploy", "plug:lint")
    assert session.tools == ("Skill", "rm_-rf__x_")
    assert session.files == ()


def test_only_successful_edits_touch_files(transcript: Transcript) -> None:
    """An edit counts once its result came and was no error; notebooks count as well."""
    transcript.prompt("edit")
    for name, key, result in (
        ("Edit", "file_path", {"is_error": True}),
        ("NotebookEdit", "notebook_path", {"is_error": False}),
        ("Write", "file_path", None),
    ):
        call = f"call{len(transcript.lines)}"
        transcript.call(name, {key: f"/{name}"})
        if result is not None:
            transcript.add("user", [{"type": "tool_result", "tool_use_id": call, **result}])

    assert session_of(transcript).files == ("/NotebookEdit",)


def test_a_session_that_a_person_went_on_with_is_not_headless(transcript: Transcript) -> None:
    """`claude -p` can be resumed at the keyboard."""
    transcript.prompt("one", entrypoint="sdk-cli", promptSource="sdk")
    alone = session_of(transcript)
    transcript.prompt("two", entrypoint="cli")

    assert (alone.headless, session_of(transcript).headless) == (True, False)


@pytest.mark.skipif(sys.platform == "darwin", reason="names of files are UTF-8 there")
def test_a_file_whose_name_is_no_text_has_an_id_that_is(tmp_path: Path) -> None:
    """Where no line names the session, its file does."""
    transcript = Transcript(tmp_path, "\udcff")
    transcript.prompt("hello", sessionId="")

    (session,) = ClaudeSource(tmp_path).read(file_of(transcript))

    assert isinstance(session, Session)
    assert session.id == "\ufffd"


def test_missing_facts_are_none(transcript: Transcript) -> None:
    """No cwd, no branch and no times are said as such; `HEAD` is no branch; the file's name stands in for the id."""
    transcript.prompt("hi", cwd=None, gitBranch="HEAD", timestamp="0001-01-01T00:00:00+14:00", sessionId=None)
    session = session_of(transcript)

    assert (session.id, session.cwd, session.branch, session.started, session.ended) == ("s1", None, None, None, None)


def test_times_are_instants_in_utc(transcript: Transcript) -> None:
    """An offset is taken into account, and a time without one is UTC."""
    transcript.prompt("hi", timestamp="2026-11-29T13:30:00+02:00")
    transcript.answer("ho", timestamp="2026-11-29T12:00:00")
    session = session_of(transcript)

    assert (session.started, session.ended) == (NOON - timedelta(minutes=30), NOON)
    assert session.started is not None
    assert session.started.tzinfo == UTC


def test_a_time_that_is_none_does_not_hide_the_others(transcript: Transcript) -> None:
    """What only looks like a time is passed over; the first and the last of the others count."""
    transcript.prompt("hi", timestamp="2026-11-29T12:00:00.000Z")
    transcript.answer("ho", timestamp="2026-99-29T12:00:00.000Z")
    session = session_of(transcript)

    assert (session.started, session.ended) == (NOON, NOON)


def test_a_sub_agent_inside_a_main_file_is_not_read(transcript: Transcript) -> None:
    """Side records of older versions drop out; a file of nothing else is a sub-agent's."""
    transcript.prompt("main")
    transcript.prompt("side", isSidechain=True, parentUuid=None)
    transcript.answer("reply", parentUuid="u0")
    other = Transcript(transcript.path.parents[2], "s2")
    other.prompt("side", isSidechain=True)
    other.write()
    transcript.write()

    (session,), skipped = read(transcript.path.parents[2])

    assert [turn.text for turn in session.turns] == ["main", "reply"]
    assert skipped == [("s2.jsonl", "sub-agent", 1)]


def test_a_session_nobody_spoke_in_is_skipped(transcript: Transcript) -> None:
    """A file with an answer only, or with loose notes only, holds no prompt."""
    transcript.answer("ECHO: Warmup")
    transcript.write()
    notes = Transcript(transcript.path.parents[2], "s2")
    notes.raw(b'{"type": "mode", "mode": "normal"}\n')
    notes.write()

    assert read(transcript.path.parents[2]) == ([], [("s1.jsonl", "no prompt", 1), ("s2.jsonl", "no prompt", 1)])


# --- the walk ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [(), ("claude",)])
def test_a_missing_home_is_no_error(tmp_path: Path, made: tuple[str, ...]) -> None:
    """Without a home, or with an empty one, there are no sessions and one word about it."""
    for name in made:
        (tmp_path / name).mkdir()

    assert read(tmp_path / "claude") == ([], [("projects", "no such folder", 1)])


def test_what_is_no_transcript_is_skipped_and_the_walk_goes_on(transcript: Transcript, tmp_path: Path) -> None:
    """A dangling link, a pipe, a folder named like a file and a link in a ring cost only themselves."""
    transcript.prompt("here")
    folder = transcript.write().parent
    (folder / "a-folder.jsonl").mkdir()
    os.mkfifo(folder / "b-pipe.jsonl")
    (folder / "c-dangling.jsonl").symlink_to(folder / "nothing.jsonl")
    (folder / "d-ring.jsonl").symlink_to(folder / "d-ring.jsonl")
    (folder / "e-link.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    (folder / "f-ring").symlink_to(folder / "f-ring")
    (folder / "notes.md").write_text("not a transcript")
    (tmp_path / "elsewhere.jsonl").write_bytes(transcript.path.read_bytes())

    sessions, skipped = read(tmp_path / "claude")

    assert [session.id for session in sessions] == ["s1"]
    assert skipped == [
        ("a-folder.jsonl", "not a file", 1),
        ("b-pipe.jsonl", "not a file", 1),
        ("c-dangling.jsonl", "a dangling link", 1),
        ("d-ring.jsonl", "unreadable", 1),
        ("e-link.jsonl", "a link out of the folder", 1),
    ]


def test_links_inside_the_home_are_followed_once(transcript: Transcript, tmp_path: Path) -> None:
    """A folder moved within the home and linked back is read once, also where a link leads up again."""
    transcript.prompt("here")
    folder = transcript.write().parent
    archive = tmp_path / "claude" / "archive"
    folder.rename(archive)
    folder.symlink_to(archive)
    (archive / "up").symlink_to(tmp_path / "claude" / "projects")
    linked_home = tmp_path / "linked"
    linked_home.symlink_to(tmp_path / "claude")

    for home in (tmp_path / "claude", linked_home):
        sessions, skipped = read(home)
        assert ([session.id for session in sessions], skipped) == (["s1"], [])


def test_a_file_where_the_folder_should_be_is_unreadable(tmp_path: Path) -> None:
    """When `projects` cannot be listed, that is said."""
    (tmp_path / "projects").write_text("")

    assert read(tmp_path) == ([], [("projects", "unreadable", 1)])


def test_a_file_that_vanishes_meanwhile_is_skipped(transcript: Transcript) -> None:
    """A transcript deleted after it was found costs only itself."""
    transcript.prompt("gone")
    path = transcript.write()
    source = ClaudeSource(path.parents[2])
    (found,) = source.transcripts()
    path.unlink()

    assert isinstance(found, Found)
    assert list(source.read(found)) == [Skipped(str(path), "no such file")]


def test_a_file_that_is_replaced_meanwhile_is_skipped(transcript: Transcript) -> None:
    """What stands in a transcript's place when it is read is not what was found."""
    transcript.prompt("here")
    path = transcript.write()
    source = ClaudeSource(path.parents[2])
    (found,) = source.transcripts()
    (path.parent / "new").write_bytes(path.read_bytes())
    (path.parent / "new").replace(path)

    assert isinstance(found, Found)
    assert list(source.read(found)) == [Skipped(str(path), "replaced while it was read")]


def test_a_file_that_grows_meanwhile_is_read(transcript: Transcript) -> None:
    """What was appended between finding and reading, to its last whole line, is part of the session."""
    transcript.prompt("here")
    path = transcript.write()
    source = ClaudeSource(path.parents[2])
    (found,) = source.transcripts()
    transcript.answer("there")
    transcript.prompt("cut off")
    path.write_bytes(b"".join(transcript.lines)[:-40])

    assert isinstance(found, Found)
    skipped, session = source.read(found)
    assert skipped == Skipped(str(path), "cut off")
    assert isinstance(session, Session)
    assert [turn.text for turn in session.turns] == ["here", "there"]


def test_a_file_that_cannot_be_opened_is_unreadable(tmp_path: Path) -> None:
    """Any other failure of the system costs that transcript."""
    (tmp_path / "file").write_text("")
    path = str(tmp_path / "file" / "below.jsonl")

    found = list(ClaudeSource(tmp_path).read(Found((FileState(path, 0, 0, 0, 0),))))

    assert found == [Skipped(path, "unreadable")]


def test_finding_opens_nothing(transcript: Transcript) -> None:
    """Transcripts are found, in the order of their names, without reading them; a sub-agent's is none."""
    folder = transcript.path.parent
    for name in ("b.jsonl", "a.jsonl", "agent-1.jsonl", "notes.md"):
        (folder / name).write_text("not read")
    (folder / "a" / "subagents").mkdir(parents=True)
    (folder / "a" / "subagents" / "c.jsonl").write_text("not read")

    found = list(ClaudeSource(folder.parents[1]).transcripts())

    assert [(Path(item.path).name, getattr(item, "reason", "")) for item in found] == [
        ("a.jsonl", ""),
        ("agent-1.jsonl", "sub-agent"),
        ("b.jsonl", ""),
        ("c.jsonl", "sub-agent"),
    ]


def home_from(flag: str, environ: Mapping[str, str]) -> Path:
    return make(Config(harvest=Harvest(claude_home=flag)), environ).root


def test_the_home_is_found_by_flag_then_variable_then_default(tmp_path: Path) -> None:
    """A flag wins over `CLAUDE_CONFIG_DIR`, which wins over `~/.claude`; `~` is the given HOME."""
    (tmp_path / "alice" / "other").mkdir(parents=True)
    (tmp_path / "claude").mkdir()
    environ = {"HOME": str(tmp_path / "alice"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}

    assert home_from("~/other", environ) == tmp_path / "alice" / "other"
    assert home_from("", environ) == tmp_path / "claude"
    assert home_from("", {"HOME": "/home/alice"}) == Path("/home/alice/.claude")
    assert home_from("", {}) == Path("~/.claude").expanduser()


@pytest.mark.parametrize("flag", ["nul\0", "~nobody-of-this-name/x"])
def test_a_home_that_cannot_be_is_refused(flag: str) -> None:
    """The home of a user there is not, or a name that no folder can have."""
    with pytest.raises(ConfigError):
        home_from(flag, {})


def test_a_home_that_is_not_there_is_said_with_its_path(tmp_path: Path) -> None:
    """It is no error, a first run comes before the first session; but a slip in the name can be seen."""
    home = home_from(str(tmp_path / "gone"), {"CLAUDE_CONFIG_DIR": "elsewhere"})
    (found,) = found_in(home)
    assert isinstance(found, Skipped)
    assert (found.path, found.reason) == (str(tmp_path / "gone" / "projects"), "no such folder")


def test_the_source_is_made_from_the_settings(tmp_path: Path) -> None:
    """The setting names the home, and the source says which it reads."""
    source = make(Config(harvest=Harvest(claude_home=str(tmp_path))), {})

    assert (source.name, source.home) == ("claude", str(tmp_path))
