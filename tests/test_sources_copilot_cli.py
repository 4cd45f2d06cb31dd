"""Copilot CLI's transcripts, genuine ones first."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.config import Config, Harvest
from skillopt_git.model import Session, Skipped
from skillopt_git.sources.copilot_cli import CopilotCliSource, make
from skillopt_git.transcripts import FileState, Transcript

DATA = Path(__file__).parent / "data"
HOME = DATA / "transcripts" / "copilot" / "v1.0.102" / ".copilot"
GENUINE = {
    item["file"]: item["expected"]
    for item in json.loads((DATA / "transcripts" / "manifest.json").read_text(encoding="utf-8"))["files"]
    if (item.get("expected") or {}).get("format") == "copilot-cli"
}
DAMAGED = DATA / "damaged" / "copilot"
DAMAGE = json.loads((DAMAGED / "manifest.json").read_text(encoding="utf-8"))


def found(home: Path) -> list[Session | Skipped]:
    source = CopilotCliSource(home)
    items: list[Session | Skipped] = []
    for item in source.transcripts():
        items += source.read(item) if isinstance(item, Transcript) else [item]
    return items


def said(session: Session, kind: str) -> list[str]:
    return [turn.text for turn in session.turns if turn.kind == kind]


# --- made files --------------------------------------------------------------------------------------------------


def user(text: str, **data: Any) -> dict[str, Any]:
    return {"type": "user.message", "data": {"content": text, "delivery": "idle", "interactionId": "i1", **data}}


def assistant(text: str, **data: Any) -> dict[str, Any]:
    content = {"messageId": "m", "model": "gpt-4.1", "content": text, "toolRequests": [], **data}
    return {"type": "assistant.message", "data": content}


def start(**context: str) -> dict[str, Any]:
    return {"type": "session.start", "data": {"sessionId": "s1", "version": 1, "context": context}}


def call(tool: str, id_: str = "call_1") -> dict[str, Any]:
    return {"type": "tool.execution_start", "data": {"toolCallId": id_, "toolName": tool, "arguments": {"n": "1"}}}


def result(text: str, *, success: bool = True, edits: Sequence[str] = ()) -> dict[str, Any]:
    files = {"fileEdits": [{"path": path, "kind": "edit"} for path in edits]} if edits else {}
    data = {"toolCallId": "call_1", **files, "success": success, "result": {"content": text}, "toolTelemetry": {}}
    return {"type": "tool.execution_complete", "data": data}


def skill(name: str, trigger: str = "user-invoked") -> dict[str, Any]:
    return {"type": "skill.invoked", "data": {"name": name, "content": "# Steps", "trigger": trigger}}


def system(text: str) -> dict[str, Any]:
    return {"type": "system.message", "data": {"role": "system", "content": text}}


def by_agent(event: Mapping[str, Any]) -> dict[str, Any]:
    return {**event, "agentId": "16d5305a-b286-4c3b-a724-d5913d180af8"}


def chained(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The events with ids, times and parents, as the program writes them."""
    return [
        {
            **event,
            "id": str(UUID(int=at + 1)),
            "timestamp": f"2026-11-29T17:{at // 60:02}:{at % 60:02}.500Z",
            "parentId": str(UUID(int=at)) if at else None,
        }
        for at, event in enumerate(events)
    ]


def dense(events: Sequence[Mapping[str, Any]]) -> bytes:
    lines = (json.dumps(event, separators=(",", ":"), ensure_ascii=False) for event in chained(events))
    return b"".join(line.encode("utf-8", "surrogatepass") + b"\n" for line in lines)


def write(home: Path, content: bytes | Sequence[Mapping[str, Any]], name: str = "s1/events.jsonl") -> Path:
    path = home / "session-state" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else dense(content))
    return path


def only(home: Path, content: bytes | Sequence[Mapping[str, Any]]) -> Session:
    """The one session that the content gives, with nothing skipped."""
    write(home, content)
    (session,) = found(home)
    assert isinstance(session, Session)
    return session


# --- genuine files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", GENUINE, ids=lambda file: Path(file).parent.name[:8])
def test_a_genuine_session_is_what_its_manifest_says(file: str) -> None:
    """What was typed, answered, called and edited, where, on which branch and when: all of it is found."""
    expected = GENUINE[file]
    (session,) = (item for item in found(HOME) if item.path == str(DATA / "transcripts" / file))

    assert isinstance(session, Session)
    assert [turn.text for turn in session.prompts] == [item["text"] for item in expected["prompts"]]
    assert said(session, "command") == expected["slash_commands"]
    assert said(session, "shell") == expected["bash_inputs"]
    assert session.final == expected["final_assistant_text"]
    assert (session.id, session.source) == (expected["session_id"], "copilot-cli")
    assert (session.cwd, session.branch) == (expected["cwd"], expected["git_branch"])
    assert list(session.tools) == expected["tools"]
    assert list(session.files) == expected["files_edited"]
    assert list(session.skills) == [name for name, _ in expected["skills_invoked"]]
    assert session.started == datetime.fromisoformat(expected["started"])
    assert session.ended == datetime.fromisoformat(expected["ended"])


def test_nothing_else_of_a_genuine_home_is_read() -> None:
    """Checkpoints, descriptions and the history of inputs are no sessions; nothing is lost and nothing reported."""
    assert sorted(item.path for item in found(HOME)) == sorted(str(DATA / "transcripts" / file) for file in GENUINE)


def test_reading_changes_nothing() -> None:
    """Every file and time under the home is the same after reading as before."""

    def state() -> dict[str, tuple[str, int]]:
        files = [path for path in sorted(HOME.rglob("*")) if path.is_file()]
        return {str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in files}

    before = state()
    found(HOME)

    assert state() == before


@pytest.mark.parametrize("file", GENUINE, ids=lambda file: Path(file).parent.name[:8])
def test_events_that_are_passed_by_would_have_told_no_more(file: str, tmp_path: Path) -> None:
    """A file whose lines look like none that is known is parsed whole, and gives the same session."""
    lines = (DATA / "transcripts" / file).read_text(encoding="utf-8").split("\n")[:-1]
    spaced = "".join(json.dumps(json.loads(line)) + "\n" for line in lines)
    (usual,) = (item for item in found(HOME) if item.path == str(DATA / "transcripts" / file))

    parsed = only(tmp_path, spaced.encode())

    assert isinstance(usual, Session)
    assert replace(parsed, path=usual.path) == usual


@pytest.mark.parametrize("file", GENUINE, ids=lambda file: Path(file).parent.name[:8])
def test_ids_stay_when_a_session_grows(file: str, tmp_path: Path) -> None:
    """A turn that was read before the session went on has the same id afterwards."""
    content = (DATA / "transcripts" / file).read_bytes()
    lines = content.splitlines(keepends=True)
    ids = [turn.id for turn in only(tmp_path / "whole", content).turns]

    for end in range(1, len(lines)):
        write(tmp_path, b"".join(lines[:end]))
        early = [turn.id for item in found(tmp_path) if isinstance(item, Session) for turn in item.turns]
        assert early == ids[: len(early)]
    assert len(set(ids)) == len(ids)


# --- who said what -----------------------------------------------------------------------------------------------


def test_answers_lie_between_the_turns_they_answer(tmp_path: Path) -> None:
    """All that the assistant showed between two user turns is one answer; one typed while it worked parts two."""
    session = only(
        tmp_path,
        [
            start(cwd="/home/dev/acme-api"),
            user("Fix the rate"),
            assistant("Looking."),
            call("view"),
            result("code"),
            assistant("", toolRequests=[{"name": "edit"}]),
            assistant("Fixed."),
            user("And the tests", delivery="steering"),
            assistant("Done."),
        ],
    )

    assert [(turn.kind, turn.text) for turn in session.turns] == [
        ("prompt", "Fix the rate"),
        ("answer", "Looking.\n\nFixed."),
        ("prompt", "And the tests"),
        ("answer", "Done."),
    ]
    assert session.final == "Done."
    assert [turn.id for turn in session.turns] == [str(UUID(int=at + 1)) for at in (1, 2, 7, 8)]
    assert session.turns[0].time == datetime.fromisoformat("2026-11-29T17:00:01.500Z")


@pytest.mark.parametrize(
    "event",
    [
        user("Not typed", source="agent-s1"),
        user("Not typed", source="skill-pdf"),
        user("Not typed", source="autopilot"),
        user("Not typed", source="system"),
        user("Not typed", source={"kind": "odd"}),
        user("Not typed", isAutopilotContinuation=True),
        user("Not typed", isSystemInitiated=True),
        by_agent(user("Not typed")),
        user("Not typed", toolRequests=[]),
        user("  \n"),
        {"type": "user.message", "data": {"content": ["Not typed"]}},
        {"type": "user.message", "data": "Not typed"},
        {"type": "system.notification", "data": {"content": "Not typed"}},
        {"type": "model.messages_snapshot", "data": {"messages": [{"role": "user", "content": "Not typed"}]}},
        {"type": "session.compaction_complete", "data": {"summaryContent": "Not typed"}},
        {"type": "user_input.completed", "data": {"answer": "Not typed"}},
    ],
)
def test_what_nobody_typed_is_no_prompt(event: dict[str, Any], tmp_path: Path) -> None:
    """Notices, continuations, sub-agents' tasks, summaries and copies of the conversation are not the user's words."""
    write(tmp_path, [start(), user("Typed", transformedContent="<now>\n\nNot typed", source="user"), event])

    (session,) = (item for item in found(tmp_path) if isinstance(item, Session))

    assert [turn.text for turn in session.turns] == ["Typed"]


@pytest.mark.parametrize("event", [by_agent(assistant("Hidden")), assistant("Hidden", parentToolCallId="call_1")])
def test_a_sub_agent_s_words_are_no_answer_though_its_tools_count(event: dict[str, Any], tmp_path: Path) -> None:
    """What a sub-agent reports goes to the agent, not to the user."""
    session = only(tmp_path, [start(), user("Search"), call("task"), by_agent(call("grep")), event, assistant("Here.")])

    assert said(session, "answer") == ["Here."]
    assert session.tools == ("task", "grep")


def test_shell_escapes_are_known_as_such(tmp_path: Path) -> None:
    """`!command` is a turn of its own kind, with the command as its text; it is no tool of the agent's."""
    asked = {"toolCallId": "u1", "toolName": "local_shell", "arguments": {"command": " ls -1 ", "description": "List"}}
    escape = {"type": "tool.user_requested", "data": asked}
    nameless = {"type": "tool.user_requested", "data": {"toolName": "local_shell", "arguments": {"command": "pwd"}}}
    mode = user("git status", agentMode="shell")
    session = only(
        tmp_path, [start(), escape, call("local_shell", "u1"), result("a"), nameless, mode, user("Go"), call("view")]
    )

    assert said(session, "shell") == ["ls -1", "pwd", "git status"]
    assert said(session, "prompt") == ["Go"]
    assert session.tools == ("view",)


def test_skills_called_by_name_are_commands(tmp_path: Path) -> None:
    """A skill counts whether the user or the agent called it; a path at the start of a prompt is no command."""
    session = only(
        tmp_path,
        [
            start(),
            user("/run-tests"),
            skill("run-tests"),
            user("/deploy to staging"),
            skill("deploy"),
            skill("lint", "agent-invoked"),
            skill(""),
            user("/tmp is full, clean it"),
            user("/home/dev/acme-api/x.py fails"),
        ],
    )

    assert said(session, "command") == ["/run-tests", "/deploy to staging"]
    assert said(session, "prompt") == ["/tmp is full, clean it", "/home/dev/acme-api/x.py fails"]
    assert session.skills == ("run-tests", "deploy", "lint")


def test_files_are_those_that_were_edited(tmp_path: Path) -> None:
    """A file counts once and only if the edit succeeded, wherever the event tells it."""
    late = {"toolCallId": "c", "success": True, "result": {"content": "x" * 9000}, "fileEdits": [{"path": "/c.py"}]}
    odd = {"fileEdits": [{"path": "/d.py"}], "toolCallId": "c", "result": {}, "success": True}
    session = only(
        tmp_path,
        [
            start(),
            user("Edit"),
            result("ok", edits=["/a.py", '/b "],.py']),
            result("ok", edits=["/a.py"]),
            result("no", success=False, edits=["/no.py"]),
            {"type": "tool.execution_complete", "data": late},
            {"type": "tool.execution_complete", "data": odd},
        ],
    )

    assert session.files == ("/a.py", '/b "],.py', "/c.py", "/d.py")


@pytest.mark.parametrize("tool", ["view", "github-mcp-server/get_file", "naïve", 'quo"ted', "x" * 100, ""])
def test_names_of_tools_are_the_same_parsed_or_not(tool: str, tmp_path: Path) -> None:
    """A name that a look at the line cannot take is taken by parsing it."""
    events = [start(), user("Go"), call(tool), call("bash")]
    spaced = "".join(json.dumps(event) + "\n" for event in chained(events)).encode()

    assert only(tmp_path / "a", events).tools == only(tmp_path / "b", spaced).tools
    assert only(tmp_path / "a", events).tools[-1] == "bash"


def test_what_an_answer_holds_is_not_what_it_says(tmp_path: Path) -> None:
    """An empty text that stands deeper in the event does not hide the words of the event itself."""
    event = {"type": "assistant.message", "data": {"toolRequests": [{"content": ""}], "content": "Said."}}

    assert said(only(tmp_path, [start(), user("Go"), event]), "answer") == ["Said."]


@pytest.mark.parametrize(
    ("openings", "headless"),
    [
        (["You run in non-interactive mode.\nMore."], True),
        (["You run in a terminal.\nNot in non-interactive mode."], False),
        (["You run in non-interactive mode.", "You run in a terminal."], False),
        ([], False),
    ],
)
@pytest.mark.parametrize("dumps", [dense, None])
def test_a_session_is_headless_if_nobody_ever_sat_at_it(
    openings: list[str], headless: bool, dumps: object, tmp_path: Path
) -> None:
    """The program tells the model so in the first line of its instructions; a sub-agent's do not count."""
    events = [start(), user("Go"), *map(system, openings), by_agent(system("You explore."))]
    content = dense(events) if dumps else "".join(json.dumps(event) + "\n" for event in chained(events)).encode()

    assert only(tmp_path, content).headless is headless


def test_what_was_rewound_is_not_read(tmp_path: Path) -> None:
    """A rewind takes back the conversation from the event it names; one that names none changes nothing."""
    rewind = {"type": "session.snapshot_rewind", "data": {"upToEventId": str(UUID(int=4)), "eventsRemoved": 2}}
    nowhere = {"type": "session.snapshot_rewind", "data": {"upToEventId": "gone"}}
    events = [start(), user("Keep"), assistant("Kept."), user("Drop"), assistant("Dropped."), rewind, nowhere]

    session = only(tmp_path, [*events, user("Go on")])

    assert [turn.text for turn in session.turns] == ["Keep", "Kept.", "Go on"]


def test_a_message_written_twice_counts_once(tmp_path: Path) -> None:
    """An event with an id that was there already is a copy; the same words under another id are not."""
    events = chained([start(), user("Again"), user("Again")])
    lines = [json.dumps(event) + "\n" for event in (*events, events[1])]

    assert len(only(tmp_path, "".join(lines).encode()).turns) == 2


def test_events_without_ids_are_told_apart_by_their_place(tmp_path: Path) -> None:
    """The session, the interaction and the number of the message stand in for a missing id; no other turn has it."""
    events = [{**event, "id": None} for event in chained([user("One"), user("Two")])]
    content = "".join(json.dumps(event) + "\n" for event in events).encode()
    resumed = json.dumps(start()).encode() + b"\n"

    write(tmp_path / "a", content)
    write(tmp_path / "a", content, "s2/events.jsonl")
    one, two = (item for item in found(tmp_path / "a") if isinstance(item, Session))
    grown = only(tmp_path / "b", content + resumed.replace(b'"s1"', b'"other"').replace(b"}}\n", b'},"id":"e"}\n'))

    assert [turn.text for turn in one.turns] == ["One", "Two"]
    assert len({turn.id for session in (one, two) for turn in session.turns}) == 4
    assert (grown.id, [turn.id for turn in grown.turns]) == ("other", [turn.id for turn in one.turns])


def test_a_folder_s_name_that_is_no_text_gives_an_id_that_is(tmp_path: Path) -> None:
    """Bytes of a name that are not UTF-8 reach no id."""
    event = b'{"type":"user.message","data":{"content":"Go"},"timestamp":"x"}\n'
    path = write(tmp_path, event, os.fsdecode(b"s\xff/events.jsonl"))
    info = path.stat()
    state = FileState(str(path), info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino)

    (session,) = CopilotCliSource(tmp_path).read(Transcript((state,)))

    assert isinstance(session, Session)
    assert session.id == "s\ufffd"
    assert session.turns[0].id.isascii()


# --- where and when ----------------------------------------------------------------------------------------------


def test_the_place_is_the_first_that_is_named(tmp_path: Path) -> None:
    """Where the start names no folder, a resume does; a later folder does not move the session."""
    resume = {"type": "session.resume", "data": {"context": {"cwd": "/home/dev/acme-api", "branch": "main"}}}
    moved = {"type": "session.context_changed", "data": {"cwd": "/tmp", "branch": "other"}}

    session = only(tmp_path, [start(), user("Go"), resume, moved])

    assert (session.cwd, session.branch) == ("/home/dev/acme-api", "main")


def test_a_session_without_place_or_start_has_none(tmp_path: Path) -> None:
    """Nothing is invented: no folder, no branch; the id is the folder's name."""
    session = only(tmp_path, [user("Go")])

    assert (session.id, session.cwd, session.branch) == ("s1", None, None)


def test_times_are_the_earliest_and_the_latest_of_all_events(tmp_path: Path) -> None:
    """Events that are passed by count too; one whose time is none does not."""
    turn = {"type": "assistant.turn_end", "data": {"turnId": "0"}}
    lines = dense([start(), user("Go"), turn, turn, turn]).splitlines(keepends=True)
    lines[3] = lines[3].replace(b"2026-11-29T17:00:03.500Z", b"2026-11-29T16:00:00.000Z")
    lines.append(lines[4].replace(b"2026-11-29T17:00:04.500Z", b"tomorrow, or a day later"))

    session = only(tmp_path, b"".join(lines))

    assert session.started == datetime.fromisoformat("2026-11-29T16:00:00Z")
    assert session.ended == datetime.fromisoformat("2026-11-29T17:00:04.500Z")


def test_a_glance_finds_the_times_of_the_last_events(tmp_path: Path) -> None:
    """A file is one session, so its end tells when it was last active."""
    write(tmp_path, [start(), user("Go"), assistant("Done.")])
    source = CopilotCliSource(tmp_path)

    (span,) = (source.glance(item) for item in source.transcripts() if isinstance(item, Transcript))

    assert span is not None
    assert span.latest == datetime.fromisoformat("2026-11-29T17:00:02.500Z")


def test_a_session_without_times_has_none(tmp_path: Path) -> None:
    """No time in the events, none in the session."""
    session = only(tmp_path, b'{"type":"user.message","data":{"content":"Go"},"id":"e1"}\n')

    assert (session.started, session.ended, session.turns[0].time) == (None, None, None)


# --- finding files -----------------------------------------------------------------------------------------------


def test_older_layouts_are_read(tmp_path: Path) -> None:
    """The same events in one file a session, in today's folder or the one before it."""
    write(tmp_path, [user("One")], "11.jsonl")
    write(tmp_path, [user("Two")], "../history-session-state/22.jsonl")
    write(tmp_path, b'{"role":"user","content":"Other grammar"}\n', "../history-session-state/33.jsonl")
    write(tmp_path, b'{"chatMessages":[]}', "../history-session-state/44.json")

    items = found(tmp_path)

    assert [(item.id, item.prompts[0].text) for item in items if isinstance(item, Session)] == [
        ("11", "One"),
        ("22", "Two"),
    ]
    assert [(Path(item.path).name, item.reason) for item in items if isinstance(item, Skipped)] == [
        ("33.jsonl", "an unknown kind of record")
    ]


def test_copies_of_the_user_s_files_are_no_sessions(tmp_path: Path) -> None:
    """What lies in a session's folder beside its events is neither read nor told, whatever its name."""
    write(tmp_path, [user("Go")])
    for name in ("s1/files/events.jsonl", "s1/other.jsonl", "s1/rewind-file-snapshots/backups/x.jsonl", "a/b/c.jsonl"):
        write(tmp_path, [user("Not a session")], name)
    (tmp_path / "session-state" / "s1" / "link.jsonl").symlink_to(tmp_path / "nowhere")

    (session,) = found(tmp_path)

    assert isinstance(session, Session)
    assert session.id == "s1"


def test_what_is_in_the_way_is_told_and_passed_by(tmp_path: Path) -> None:
    """Dangling links, links out, folders named like files: each is told, and the rest is read."""
    write(tmp_path / "home", [user("Go")])
    write(tmp_path / "elsewhere", [user("Not in this home")])
    state = tmp_path / "home" / "session-state"
    (state / "dangling.jsonl").symlink_to(state / "gone")
    (state / "out").symlink_to(tmp_path / "elsewhere" / "session-state" / "s1")
    (state / "loop").symlink_to(state)
    (state / "x.jsonl").mkdir()
    (state / "s2").mkdir()
    os.mkfifo(state / "s2" / "events.jsonl")

    items = found(tmp_path / "home")

    assert [item.prompts[0].text for item in items if isinstance(item, Session)] == ["Go"]
    assert sorted(
        (str(Path(item.path).relative_to(state)), item.reason) for item in items if isinstance(item, Skipped)
    ) == [
        ("dangling.jsonl", "a dangling link"),
        ("out", "a link out of the folder"),
        ("s2/events.jsonl", "not a file"),
        ("x.jsonl", "not a file"),
    ]


def test_a_home_that_is_not_there_is_told_once(tmp_path: Path) -> None:
    """The folder of older versions is missed by nobody."""
    assert found(tmp_path) == [Skipped(str(tmp_path / "session-state"), "no such folder")]


def test_a_file_that_vanishes_or_is_replaced_is_told(tmp_path: Path) -> None:
    """Between finding and reading anything may happen to a file."""
    path = write(tmp_path, [user("Go")])
    source = CopilotCliSource(tmp_path)
    (transcript,) = (item for item in source.transcripts() if isinstance(item, Transcript))
    path.rename(path.with_name("old"))

    assert list(source.read(transcript)) == [Skipped(str(path), "no such file")]
    path.write_bytes(dense([user("Another")]))
    assert list(source.read(transcript)) == [Skipped(str(path), "replaced while it was read")]
    path.unlink()
    path.symlink_to(path)
    assert list(source.read(transcript)) == [Skipped(str(path), "unreadable")]


@pytest.mark.parametrize(
    ("flag", "environ", "expected"),
    [
        ("", {"HOME": "/home/dev"}, "/home/dev/.copilot"),
        ("", {"HOME": "/home/dev", "COPILOT_HOME": "/srv/copilot"}, "/srv/copilot"),
        ("~/other", {"HOME": "/home/dev", "COPILOT_HOME": "/srv/copilot"}, "/home/dev/other"),
    ],
)
def test_the_home_is_the_setting_s_then_the_environment_s(flag: str, environ: dict[str, str], expected: str) -> None:
    """Copilot's own variable counts unless the user names a folder."""
    source = make(Config(harvest=Harvest(copilot_home=flag)), environ)

    assert (source.name, source.home) == ("copilot-cli", expected)


# --- damage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_gives_what_is_whole_in_it(name: str) -> None:
    """Whatever happened to a file, what stands whole in it is read, and what does not is counted with its reason."""
    expected = DAMAGE[name]
    items = [item for item in found(DAMAGED) if Path(item.path).name == f"{name}.jsonl"]
    sessions = [item for item in items if isinstance(item, Session)]

    assert [turn.text for session in sessions for turn in session.prompts] == expected["prompts"]
    assert [session.final for session in sessions] == expected["final"]
    assert {item.reason: item.count for item in items if isinstance(item, Skipped)} == expected["skipped"]


def test_every_damaged_file_is_in_the_manifest() -> None:
    """No file lies there untested."""
    assert {path.stem for path in (DAMAGED / "session-state").iterdir()} == set(DAMAGE)


CONVERSATION = dense(
    [
        start(cwd="/home/dev/acme-api"),
        system("You run in a terminal."),
        user("Typed one", transformedContent="INJECTED Typed one"),
        {"type": "assistant.turn_start", "data": {"turnId": "0"}},
        assistant("", toolRequests=[{"name": "edit", "arguments": {"type": "user.message", "content": "INJECTED"}}]),
        call("edit"),
        result('INJECTED {"type":"user.message","data":{"content":"INJECTED"}}', edits=["/a.py"]),
        {"type": "model.messages_snapshot", "data": {"messages": [{"role": "user", "content": "INJECTED"}]}},
        by_agent(user("INJECTED")),
        by_agent(assistant("INJECTED")),
        assistant("Shown one"),
        user("Typed two", delivery="steering"),
        assistant("Shown two"),
    ]
)
LINES = CONVERSATION.splitlines(keepends=True)
WORDS = {"Typed one", "Typed two", "Shown one", "Shown two"}


def read_bytes(home: Path, content: bytes) -> list[Session]:
    write(home, content)
    return [item for item in found(home) if isinstance(item, Session)]


@given(content=st.binary() | st.lists(st.sampled_from(LINES) | st.binary(max_size=40), max_size=12).map(b"".join))
def test_no_bytes_stop_the_reading(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Anything may be in a file; nothing comes out of it that nobody typed or showed."""
    for session in read_bytes(tmp_path_factory.getbasetemp() / "any-bytes", content):
        for turn in session.turns:
            assert set(turn.text.split("\n\n")) <= WORDS


@given(
    lines=st.lists(st.sampled_from(LINES), max_size=15),
    cuts=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 900)), max_size=3),
)
def test_no_damage_makes_words(
    lines: list[bytes], cuts: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Lines dropped, repeated and swapped, and pieces cut out of them, never give words that nobody typed or showed."""
    content = b"".join(lines)
    for at, length in cuts:
        content = content[:at] + content[at + length :]

    for session in read_bytes(tmp_path_factory.getbasetemp() / "damage", content):
        for turn in session.turns:
            assert "INJECTED" not in turn.text


@given(end=st.integers(0, len(CONVERSATION)))
def test_a_file_cut_off_anywhere_gives_its_beginning(end: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What stood before the cut is read as it would be from the whole file."""
    (whole,) = read_bytes(tmp_path_factory.getbasetemp() / "whole", CONVERSATION)

    for session in read_bytes(tmp_path_factory.getbasetemp() / "cut", CONVERSATION[:end]):
        assert session.turns == whole.turns[: len(session.turns)]
        assert session.tools == whole.tools[: len(session.tools)]


@given(at=st.integers(1, len(LINES) - 2), share=st.floats(0, 1))
def test_a_line_that_was_broken_off_costs_no_other_line(
    at: int, share: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Where a record was broken off and the next written behind it on the same line, all lines after that are read."""
    home = tmp_path_factory.getbasetemp() / "over"
    broken = LINES[at][: int(share * (len(LINES[at]) - 2))]
    rest = b"".join(LINES[at + 2 :])

    sessions = read_bytes(home, b"".join(LINES[:at]) + broken + b"".join(LINES[at + 1 :]))

    told = "".join(turn.text for session in sessions for turn in session.turns)
    assert [text for text in WORDS if text.encode() in rest and text not in told] == []
    assert "INJECTED" not in told
