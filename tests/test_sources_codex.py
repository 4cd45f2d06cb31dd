"""Codex's transcripts, genuine ones first."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.config import Config, Harvest
from skillopt_git.model import Session, Skipped
from skillopt_git.sources.codex import CodexSource, make
from skillopt_git.transcripts import PARENT_MISSING, FileState, Transcript

DATA = Path(__file__).parent / "data" / "transcripts"
DAMAGED = Path(__file__).parent / "data" / "damaged" / "codex"
MANIFEST = json.loads((DATA / "manifest.json").read_text(encoding="utf-8"))["files"]
ROLLOUTS = {
    item["file"]: item["expected"] for item in MANIFEST if (item.get("expected") or {}).get("format") == "codex"
}
REWOUND = "01a2284a-6115-7f03-b85f-917eb70a9c98"
THREADS = {
    file: expected
    for file, expected in ROLLOUTS.items()
    if expected["thread_source"] == "user" and expected["thread_id"] != REWOUND
}

THREAD = "01a22849-6b4b-7551-8a32-000000000001"
OTHER = "01a22849-6b4b-7551-8a32-000000000002"
PARTS = ("01a22850-0000-7000-8000-000000000001", "01a22851-0000-7000-8000-000000000001")

Record = dict[str, Any]


# --- building ------------------------------------------------------------------------------------------------------


def record(type_: str, second: int = 0, ordinal: int | None = None, **payload: Any) -> Record:
    number = {} if ordinal is None else {"ordinal": ordinal}
    return {"timestamp": f"2026-11-29T10:00:{second:02}.000Z", **number, "type": type_, "payload": payload}


def meta(thread: str = THREAD, **more: Any) -> Record:
    known: dict[str, Any] = {"id": thread, "cwd": "/home/dev/acme-api", "source": "cli", "originator": "codex-tui"}
    return record("session_meta", **known, **more)


def user(text: str, *, id_: str, turn: str = "t1", kind: str = "user.text") -> Record:
    about = {"turn_id": turn, "content_item_kinds": [kind]}
    content = [{"type": "input_text", "text": text}]
    return record(
        "response_item",
        type="message",
        id=id_,
        role="user",
        content=content,
        internal_chat_message_metadata_passthrough=about,
    )


def assistant(text: str, *, id_: str, turn: str = "t1", phase: str = "final_answer") -> Record:
    about = {"turn_id": turn}
    content = [{"type": "output_text", "text": text}]
    return record(
        "response_item",
        type="message",
        id=id_,
        role="assistant",
        content=content,
        phase=phase,
        internal_chat_message_metadata_passthrough=about,
    )


def item(kind: str, turn: str = "t1", **fields: Any) -> Record:
    return record(
        "event_msg", type="item_completed", thread_id=THREAD, turn_id=turn, item={"type": kind, "id": "i1", **fields}
    )


def user_item(*texts: str, id_: str, turn: str = "t1") -> Record:
    return item("UserMessage", turn, id=id_, content=[{"type": "text", "text": text} for text in texts])


def agent_item(text: str, *, id_: str, turn: str = "t1", phase: str = "final_answer") -> Record:
    return item("AgentMessage", turn, id=id_, content=[{"type": "Text", "text": text}], phase=phase)


def started(turn: str, **more: Any) -> Record:
    return record("event_msg", type="task_started", turn_id=turn, **more)


def asked(turn: str) -> Record:
    return started(turn, turn_attribution={"turn_id": turn, "turn_trigger": "user"})


def exchange(number: int, prompt: str, answer: str) -> list[Record]:
    """A turn of the newer kind: everything is told twice."""
    turn = f"t{number}"
    return [
        asked(turn),
        user(prompt, id_=f"msg_u{number}", turn=turn),
        user_item(prompt, id_=f"u{number}", turn=turn),
        record("response_item", type="function_call", name=f"tool{number}", arguments="{}", call_id="c"),
        agent_item(answer, id_=f"msg_a{number}", turn=turn),
        assistant(answer, id_=f"msg_a{number}", turn=turn),
    ]


def legacy(number: int, prompt: str, answer: str) -> list[Record]:
    """A turn of the older kind."""
    return [
        started(f"t{number}"),
        record("response_item", type="message", role="user", content=[{"type": "input_text", "text": prompt}]),
        record("event_msg", type="user_message", message=prompt),
        record("response_item", type="function_call", name=f"tool{number}", arguments="{}", call_id="c"),
        record("event_msg", type="agent_message", message=answer),
        record("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": answer}]),
    ]


def numbered(records: Sequence[Record], first: int = 0) -> list[Record]:
    """As the newer kind is written: with a number on each line, and later times for later lines."""
    return [
        {
            "timestamp": f"2026-11-29T10:{number // 60:02}:{number % 60:02}.000Z",
            "ordinal": number,
            "type": line["type"],
            "payload": line["payload"],
        }
        for number, line in enumerate(records, first)
    ]


def lines(records: Sequence[Record]) -> bytes:
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in records).encode()


def name_of(thread: str = THREAD, part: str = "", time: str = "10-00-00") -> str:
    return f"rollout-2026-11-29T{time}-{thread}{'_' * bool(part)}{part}.jsonl"


def put(home: Path, content: Sequence[Record] | bytes, name: str = "", folder: str = "sessions/2026/11/29") -> Path:
    path = home / folder / (name or name_of())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else lines(content))
    return path


def everything(home: Path) -> list[Session | Skipped]:
    source = CodexSource(home)
    found = list(source.transcripts())
    skipped = [item for item in found if isinstance(item, Skipped)]
    return [*skipped, *(one for item in found if isinstance(item, Transcript) for one in source.read(item))]


def only(home: Path) -> Session:
    (session,) = everything(home)
    assert isinstance(session, Session), session
    return session


def session_of(home: Path, content: Sequence[Record]) -> Session:
    put(home, content)
    return only(home)


def said(session: Session, kind: str = "prompt") -> list[str]:
    return [turn.text for turn in session.turns if turn.kind == kind]


def state_of(path: Path) -> FileState:
    info = path.stat()
    return FileState(str(path), info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino)


def reasons(found: Sequence[Session | Skipped]) -> list[tuple[str, int]]:
    return [(item.reason, item.count) for item in found if isinstance(item, Skipped)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "codex"


# --- genuine files -------------------------------------------------------------------------------------------------


@cache
def corpus() -> dict[str, list[Session | Skipped]]:
    """What is found in each genuine file, or in each thread, by the path of its first file."""
    found: dict[str, list[Session | Skipped]] = {}
    for home in sorted({DATA / file.split("/sessions/")[0] for file in ROLLOUTS}):
        for item in everything(home):
            found.setdefault(str(Path(item.path).relative_to(DATA)), []).append(item)
    return found


@pytest.mark.parametrize("file", THREADS, ids=lambda file: file[-42:-6])
def test_a_genuine_session_is_what_its_manifest_says(file: str) -> None:
    """What was typed, answered, called and edited, where, on which branch and when: all of it is found."""
    expected = THREADS[file]
    (session,) = corpus()[file]

    assert isinstance(session, Session)

    assert said(session) == [item["text"] for item in expected["prompts"]]
    assert said(session, "shell") == expected["bash_inputs"]
    assert session.final == (expected["final_assistant_text"] or "")
    assert (session.id, session.source) == (expected["thread_id"], "codex")
    assert (session.cwd, session.branch) == (expected["cwd"], expected["git_branch"])
    assert list(session.tools) == expected["tools"]
    assert list(session.files) == expected["files_edited"]
    assert session.started == datetime.fromisoformat(expected["started"])
    assert session.ended == datetime.fromisoformat(expected["ended"])
    assert session.headless is (expected["source"] == "exec")


def test_a_genuine_thread_that_was_rewound_is_one_session_without_what_was_taken_back() -> None:
    """Its two files are read as one; the turn that the second takes back is gone, and so is what was done in it."""
    first, second = (expected for expected in ROLLOUTS.values() if expected["thread_id"] == REWOUND)
    ((session,),) = (items for file, items in corpus().items() if REWOUND in file)

    assert isinstance(session, Session)

    assert said(session) == ["Explain the Makefile", "What branch am I on?"]
    assert session.final == second["final_assistant_text"]
    assert list(session.tools) == [*first["tools"], *second["tools"]]  # the turn that is gone had called none
    assert (session.cwd, session.branch) == (first["cwd"], first["git_branch"])
    assert session.started == datetime.fromisoformat(first["started"])
    assert session.ended == datetime.fromisoformat(second["ended"])


def test_every_other_genuine_file_is_a_sub_agents() -> None:
    """Nothing else is found, nothing is lost, and no line of them is strange."""
    other = [item for file, items in corpus().items() if file not in THREADS and REWOUND not in file for item in items]

    assert [item.reason for item in other if isinstance(item, Skipped)] == ["sub-agent"]
    assert sum(len(items) for items in corpus().values()) == len(THREADS) + 2


def test_answers_lie_between_the_turns_they_answer() -> None:
    """All that the assistant showed between two user turns is one answer; a summary made to save space is none."""
    ((session,),) = (items for file, items in corpus().items() if "01a22849-6b4b" in file)

    assert isinstance(session, Session)

    assert [(turn.kind, turn.text[:24]) for turn in session.turns] == [
        ("prompt", "What branch am I on?"),
        ("answer", "You are on feature/prici"),
        ("shell", "ls -1"),
        ("prompt", "Run the slow migration"),
        ("answer", "Starting the migration."),
        ("prompt", "Which file tests the pri"),
        ("answer", "tests/test_pricing.py te"),
        ("prompt", "No, always answer with t"),
        ("answer", "ECHO: No, always answer "),
        ("prompt", "$run-tests please"),
        ("answer", "Followed the run-tests s"),
    ]
    assert len({turn.id for turn in session.turns}) == len(session.turns)
    assert session.turns[0].id == "msg_01a22849-7a62-74f3-b816-91f2e90ccf83"


@pytest.mark.parametrize("thread", ["01a22848-f91d", "01a22848-fba6", "01a22849-6b4b"])
def test_a_skill_that_was_read_or_called_by_name_is_used(thread: str) -> None:
    """The model's reading of its file counts, and so does a mention by the user."""
    ((session,),) = (items for file, items in corpus().items() if thread in file)

    assert isinstance(session, Session)

    assert session.skills == ("run-tests",)


def test_reading_writes_nothing(tmp_path: Path) -> None:
    """Every file and time under the home is the same after reading as before, and nothing was added."""
    home = tmp_path / "codex"
    path = put(home, [meta(), *exchange(1, "Run the tests", "They pass.")])
    os.utime(path, ns=(1, 1))
    before = sorted(home.rglob("*"))

    assert everything(home)

    assert sorted(home.rglob("*")) == before
    assert path.stat().st_mtime_ns == 1


# --- finding files -------------------------------------------------------------------------------------------------


def test_the_home_is_the_setting_else_the_environment_else_the_usual_one(tmp_path: Path) -> None:
    """A setting beats `CODEX_HOME`, which beats `~/.codex`."""
    environ = {"HOME": str(tmp_path), "CODEX_HOME": "/elsewhere"}

    assert make(Config(harvest=Harvest(codex_home="/given")), environ).home == "/given"
    assert make(Config(), environ).home == "/elsewhere"
    assert make(Config(), {"HOME": str(tmp_path)}).home == str(tmp_path / ".codex")
    assert make(Config(), environ).name == "codex"


def test_archived_threads_are_read_whatever_their_folders(home: Path) -> None:
    """Archives are flat or have folders of dates; both are read, and lists and databases are not."""
    put(home, [meta(), *exchange(1, "One", "1")], folder="archived_sessions")
    put(home, [meta(OTHER), *exchange(1, "Two", "2")], name_of(OTHER), folder="archived_sessions/2026/11/29")
    put(home, [meta(), *exchange(1, "Three", "3")], "history.jsonl", folder="")
    put(home, [meta(), *exchange(1, "Four", "4")], "session_index.jsonl", folder="sessions")

    found = everything(home)

    assert reasons(found) == []
    assert sorted(said(item)[0] for item in found if isinstance(item, Session)) == ["One", "Two"]


def test_a_home_that_is_not_there_is_told_once(home: Path) -> None:
    """An archive that is not there is no news."""
    assert everything(home) == [Skipped(str(home / "sessions"), "no such folder")]


def test_a_rollout_that_is_there_twice_is_read_once(home: Path) -> None:
    """What is not packed is what the agent appends to; of two packed ones, the larger holds more."""
    old, new = [meta(), *exchange(1, "One", "1")], [meta(), *exchange(1, "One", "1"), *exchange(2, "Two", "2")]
    put(home, zstandard.compress(lines(new)), name_of() + ".zst")
    put(home, zstandard.compress(lines(old)), name_of() + ".zst", folder="archived_sessions")
    packed = only(home)
    put(home, new, folder="archived_sessions")
    plain = only(home)

    assert said(packed) == said(plain) == ["One", "Two"]
    assert packed.path.endswith(".zst")
    assert plain.path.endswith(".jsonl")
    assert packed.turns == plain.turns
    put(home, b"")  # not yet written
    put(home, b"", folder="archived_sessions")
    assert only(home) == packed


def test_an_unpacked_rollout_that_is_smaller_than_the_packed_one_counts(home: Path) -> None:
    """A packed copy is never appended to: what it has over the other was taken back."""
    put(home, zstandard.compress(lines([meta(), *exchange(1, "Old", os.urandom(2000).hex())])), name_of() + ".zst")
    plain = put(home, [meta(), *exchange(1, "New", "1")])

    assert (home / "sessions/2026/11/29" / (name_of() + ".zst")).stat().st_size > plain.stat().st_size
    assert said(only(home)) == ["New"]


def test_a_file_of_another_name_is_a_transcript_by_itself(home: Path) -> None:
    """Its id is the one that it tells, else its name."""
    put(home, [meta(), *exchange(1, "One", "1")], "rollout-copy.jsonl")
    put(home, exchange(1, "Two", "2"), "rollout-headless.jsonl")

    assert {item.id: said(item) for item in everything(home) if isinstance(item, Session)} == {
        THREAD: ["One"],
        "rollout-headless": ["Two"],
    }


@pytest.mark.skipif(sys.platform == "darwin", reason="names of files are UTF-8 there")
def test_a_name_that_is_no_text_makes_ids_that_are(home: Path) -> None:
    """Ids of sessions and turns are written down; a name may hold any bytes."""
    content = [record("event_msg", type="task_started"), *legacy(1, "One", "1")[1:]]
    found = Transcript((state_of(put(home, content, "rollout-\udcff.jsonl")),))

    (session,) = CodexSource(home).read(found)

    assert isinstance(session, Session)
    assert session.id == "rollout-\ufffd"
    assert [turn.id for turn in session.turns] == ["rollout-\ufffd:1:1", "rollout-\ufffd:1:2"]


def test_a_glance_tells_the_last_times(home: Path) -> None:
    """Without reading the thread."""
    found = Transcript((state_of(put(home, [meta(), record("event_msg", 9, type="token_count")])),))
    glance = CodexSource(home).glance(found)

    assert glance
    assert glance.latest == datetime.fromisoformat("2026-11-29T10:00:09Z")


def test_what_is_no_file_or_leads_out_is_told(home: Path, tmp_path: Path) -> None:
    """A folder named like a rollout and a link out of the home are passed by, and the rest is read."""
    put(home, [meta(), *exchange(1, "One", "1")])
    (home / "sessions" / "rollout-folder.jsonl").mkdir()
    (home / "sessions" / "rollout-link.jsonl").symlink_to(put(tmp_path, [meta(OTHER)], folder="out"))

    found = everything(home)

    assert sorted(reasons(found)) == [("a link out of the folder", 1), ("not a file", 1)]
    assert [said(item) for item in found if isinstance(item, Session)] == [["One"]]


def test_a_file_that_vanishes_or_is_replaced_is_told(home: Path) -> None:
    """Between finding and reading, anything can happen to a file."""
    path = put(home, [meta(), *exchange(1, "One", "1")])
    source = CodexSource(home)
    (found,) = (item for item in source.transcripts() if isinstance(item, Transcript))

    path.rename(path.with_suffix(".old"))
    assert list(source.read(found)) == [Skipped(str(path), "no such file")]
    put(home, [meta(), *exchange(1, "Two", "2")])
    assert list(source.read(found)) == [Skipped(str(path), "replaced while it was read")]


def test_a_file_that_cannot_be_opened_is_told(home: Path) -> None:
    """Whatever the reason: here, its path leads through a file."""
    path = put(home, [meta()])
    lost = FileState(str(path / "rollout-below.jsonl"), 1, 1, 1, 1)

    assert list(CodexSource(home).read(Transcript((lost,)))) == [Skipped(lost.path, "unreadable")]


# --- what was typed ------------------------------------------------------------------------------------------------


def test_in_the_older_format_only_events_are_typed(home: Path) -> None:
    """Messages of the user's role are copies, or were put in; some events are marked as put in too."""
    injected = record("event_msg", type="user_message", message="<cwd>/</cwd>", kind="environment_context")
    session = session_of(home, [meta(), injected, *legacy(1, "One", "1"), *legacy(2, "Two", "2")])

    assert said(session) == ["One", "Two"]
    assert said(session, "answer") == ["1", "2"]
    assert [turn.id for turn in session.turns] == ["t1:1", "t1:2", "t2:1", "t2:2"]
    assert session.tools == ("tool1", "tool2")


def test_without_any_turns_of_their_own_ids_tell_the_place(home: Path) -> None:
    """Very old files do not name their turns; ids stay as they are when the file grows or is packed."""
    bare = [meta(), *(line for number in "12" for line in legacy(int(number), number, "ok")[1:])]
    anonymous = [meta(), record("event_msg", type="task_started"), *bare[1:]]
    ids = [[turn.id for turn in session_of(home, content).turns] for content in (bare, anonymous)]

    assert ids == [[f"000000000001:{turn}:{number}" for number in range(1, 4 + 1)] for turn in (0, 1)]
    path = put(home, [*bare, *exchange(3, "3", "ok")])
    assert [turn.id for turn in only(home).turns][:4] == ids[0]
    path.unlink()
    put(home, zstandard.compress(lines(bare)), name_of() + ".zst")
    assert [turn.id for turn in only(home).turns] == ids[0]


def test_mirrors_count_once_and_repetitions_as_often_as_they_were_typed(home: Path) -> None:
    """The same words with an answer between, in a new turn, or twice in one turn are two prompts."""
    twice = [user("again", id_="msg_x", turn="t3"), user_item("again", id_="x", turn="t3")]
    session = session_of(
        home,
        numbered(
            [meta(), *exchange(1, "again", "ok"), *exchange(2, "again", "ok"), *exchange(3, "again", "ok"), *twice]
        ),
    )

    assert said(session) == ["again"] * 4
    assert said(session, "answer") == ["ok"] * 3
    assert session.tools == ("tool1", "tool2", "tool3")


@pytest.mark.parametrize("lost", range(1, 6))
def test_one_lost_record_of_a_turn_loses_nothing_that_was_said(home: Path, lost: int) -> None:
    """All that is said is told twice; either telling is enough."""
    turn = exchange(1, "One", "1")
    del turn[lost]
    session = session_of(home, [meta(), *turn, *exchange(2, "Two", "2")])

    assert (said(session), said(session, "answer")) == (["One", "Two"], ["1", "2"])


def test_versions_between_the_two_formats_are_read(home: Path) -> None:
    """Events of the new kind with messages that are not labelled yet; and all three kinds at once."""
    between = [record("response_item", type="message", role="user", content=[{"type": "input_text", "text": "<env>"}])]
    between += [user_item("One", id_="u1"), agent_item("1", id_="a1")]
    mixed = [*legacy(2, "Two", "2"), user_item("Two", id_="u2", turn="t2"), agent_item("2", id_="a2", turn="t2")]
    session = session_of(home, [meta(), *between, *mixed])

    assert (said(session), said(session, "answer")) == (["One", "Two"], ["1", "2"])


def test_a_mirror_that_words_a_prompt_otherwise_is_no_second_prompt(home: Path) -> None:
    """Only as many prompts as one kind of record tells were typed in a turn."""
    session = session_of(home, [meta(), user("See [file](a.py)", id_="msg_1"), user_item("See a.py", id_="1")])

    assert said(session) == ["See [file](a.py)"]


@pytest.mark.parametrize(
    "kind",
    ["agents_md.instructions", "environments.environment_context", "generic.turn_aborted", "hooks.context", "", None],
)
def test_what_was_put_in_is_not_typed(home: Path, kind: Any) -> None:
    """Only parts of the kind `user.text` are the user's words, however the others sound."""
    put(home, [meta(), user("Always use tabs", id_="msg_1", kind=kind), assistant("ok", id_="msg_2")])

    assert reasons(everything(home)) == [("no prompt", 1)]


def test_only_the_typed_parts_of_a_message_are_taken(home: Path) -> None:
    """A message can hold context and typed text side by side."""
    message = user("Line one", id_="msg_1")
    message["payload"]["content"] += [
        {"type": "input_text", "text": "<context>"},
        {"type": "input_text", "text": "Line two"},
        "no part",
    ]
    message["payload"]["internal_chat_message_metadata_passthrough"]["content_item_kinds"] += ["x.y", "user.text", 1]

    assert said(session_of(home, [meta(), message])) == ["Line one\nLine two"]


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nFix a.py\n", "Fix a.py"),
        ("# Context from my IDE setup:\n## My request for Codex: Fix it", "Fix it"),
        ("# Files mentioned by the user:\n\n## a.py: /a.py\n\n## My request:\nFix it", "Fix it"),
        ("# Selected text:\n## My request for Codex:\nquoted\n## My request for Codex:\nFix it", "Fix it"),
        ("# Context from my IDE setup:\nis what I want to write about", None),
        ("See:\n# Context from my IDE setup:\n## My request for Codex:\nno", None),
    ],
)
def test_of_what_an_editor_wraps_only_the_request_was_typed(home: Path, text: str, prompt: str | None) -> None:
    """A wrapper that is not whole is the user's own text."""
    new = session_of(home, [meta(), user(text, id_="msg_1"), user_item(text, id_="1")])
    old = session_of(home, [meta(), *legacy(1, text, "ok")])

    assert said(new) == said(old) == [prompt or text]


def test_a_prompt_without_words_is_no_turn(home: Path) -> None:
    """Images alone, or an editor's context without a request, say nothing."""
    images = item("UserMessage", id="1", content=[{"type": "image", "image_url": "data:"}])
    wrapped = user("# Context from my IDE setup:\n\n## My request for Codex:\n", id_="msg_1")
    put(home, [meta(), images, wrapped, record("event_msg", type="user_message", message="", images=["x"])])

    assert reasons(everything(home)) == [("no prompt", 1)]


def test_a_shell_escape_is_known_as_such_and_counts_once(home: Path) -> None:
    """It is told by an event, by a message with its output, or by both; the output is not read."""
    note = "<user_shell_command>\n<command>\nls -1\n</command>\n<result>\nsecret\n</result>\n</user_shell_command>"
    message = user(note, id_="msg_1", kind="shell.user_command")
    event = item("CommandExecution", command=["/bin/bash", "-lc", "ls -1"], source="user_shell", aggregated_output="x")
    old = record("event_msg", type="exec_command_end", turn_id="t1", command=["ls -1"], source="user_shell", stdout="x")
    both, one, other, older = (
        session_of(home, [meta(), *told, *exchange(2, "Go on", "ok")])
        for told in ([event, message], [event], [message], [old])
    )

    for session in (both, one, other, older):
        assert [(turn.kind, turn.text) for turn in session.turns] == [
            ("shell", "ls -1"),
            ("prompt", "Go on"),
            ("answer", "ok"),
        ]
    assert both.turns[0].id == one.turns[0].id == "i1"


def test_summaries_that_make_room_are_not_read(home: Path) -> None:
    """Neither what a summary repeats nor the summary itself is read, in a turn of its own or amid another."""
    compacted = record("compacted", message="Summary.", replacement_history=[user("One", id_="msg_old")["payload"]])
    alone = [started("t9"), assistant("Summary.", id_="msg_s", turn="t9", phase=""), compacted]
    amid = [assistant("Summary.", id_="msg_z", turn="t2", phase=""), compacted]
    broken_off = [started("t9"), assistant("Half a summary", id_="msg_s", turn="t9")]
    first, second = exchange(1, "One", "1"), exchange(2, "Two", "2")

    for content in ([*alone, *second], [*second, *amid], [*broken_off, *second], [*second, compacted]):
        session = session_of(home, numbered([meta(), *first, *content]))
        assert (said(session), said(session, "answer"), session.final) == (["One", "Two"], ["1", "2"], "2")
    old = [started("t3"), *legacy(3, "", "Summary.")[-1:], compacted]
    assert said(session_of(home, [meta(), *legacy(1, "One", "1"), compacted, *old]), "answer") == ["1"]
    put(home, [meta(), compacted])
    assert reasons(everything(home)) == [("no prompt", 1)]


def test_a_turn_that_tells_no_cause_but_has_a_prompt_is_read(home: Path) -> None:
    """Only where nobody asked for anything is an answer a summary."""
    turn = [started("t2"), user("Two", id_="msg_2", turn="t2"), assistant("2", id_="msg_3", turn="t2")]

    assert said(session_of(home, [meta(), *exchange(1, "One", "1"), *turn]), "answer") == ["1", "2"]


def test_the_final_answer_is_the_last_that_is_no_commentary(home: Path) -> None:
    """What the assistant says while it works is part of its answer, and not the final one."""
    turn = exchange(1, "One", "Done.")
    later = [assistant("Let me also look.", id_="msg_9", phase="commentary")]
    session = session_of(home, [meta(), *turn, *later])
    only_commentary = session_of(home, [meta(), *turn[:3], *later])

    assert said(session, "answer") == ["Done.\n\nLet me also look."]
    assert (session.final, only_commentary.final) == ("Done.", "")


def test_tools_skills_and_files_are_named_and_nothing_else_of_them_is_read(home: Path) -> None:
    """Calls in order, whatever their kind; files that were changed, unless that failed; skills that were read."""
    patch: dict[str, Any] = {"type": "patch_apply_end", "changes": {"/home/dev/acme-api/b.py": {}}}
    read = {"type": "read", "path": ".agents/skills/release/SKILL.md"}
    extra = [
        record("response_item", type="custom_tool_call", name="apply patch", input="secret"),
        record("response_item", type="web_search_call", action={"query": "secret"}),
        record("response_item", type="local_shell_call", action={"command": ["secret"]}),
        record("response_item", type="function_call", arguments="secret"),
        item("FileChange", changes={"/home/dev/acme-api/a.py": {}}, status="completed"),
        item("FileChange", changes={"/home/dev/acme-api/no.py": {}}, status="failed"),
        record("event_msg", **patch, success=True),
        record("event_msg", **patch | {"changes": {"/no.py": {}}}, success=False),
        item(
            "CommandExecution", command=["bash", "-lc", "cat x"], parsed_cmd=[read], aggregated_output="y", exit_code=0
        ),
        item("CommandExecution", command=["sed -n 1,20p skills/b/c/SKILL.md"], exit_code=0),
        item("CommandExecution", command=["cat skills/missing/SKILL.md"], exit_code=1),
        item("CommandExecution", command=["git add skills/new/SKILL.md && cat x | tee y"], exit_code=0),
        item("CommandExecution", command=[], exit_code=0, aggregated_output="cat skills/no/SKILL.md"),
        item("UserMessage", id="u1", content=[{"type": "text", "text": "One"}, {"type": "skill", "name": "lint"}]),
        user("<skill>\n<name>tidy</name>\nDo this</skill>", id_="msg_7", kind="skills.selected_skill_instructions"),
    ]
    session = session_of(home, numbered([meta(), *exchange(1, "One", "1"), *extra]))

    assert session.tools == ("tool1", "apply_patch", "web_search", "local_shell")
    assert session.files == ("/home/dev/acme-api/a.py", "/home/dev/acme-api/b.py")
    assert session.skills == ("release", "c", "lint", "tidy")
    assert said(session) == ["One"]
    assert "secret" not in repr(session)


def test_in_the_older_format_a_call_tells_that_a_skill_was_read(home: Path) -> None:
    """No event tells it there."""
    call: dict[str, Any] = {
        "type": "function_call",
        "name": "shell",
        "arguments": '{"command":["cat","skills/run-tests/SKILL.md"]}',
    }
    session = session_of(home, [meta(), *legacy(1, "One", "1"), record("response_item", **call)])

    assert (session.skills, session.tools) == (("run-tests",), ("tool1", "shell"))


# --- rewinds, forks, resumes ---------------------------------------------------------------------------------------


def base(end: int, thread: str = THREAD) -> dict[str, Any]:
    return {"history_base": {"thread_id": thread, "end_ordinal_exclusive": end}}


def test_a_thread_rewound_twice_is_what_is_left_of_it(home: Path) -> None:
    """Each file takes back what the files before it say from a number on; a rewind can reach behind an earlier one."""
    put(home, numbered([meta(), *exchange(1, "One", "1"), *exchange(2, "Two", "2"), *exchange(3, "Three", "3")]))
    put(
        home,
        numbered([meta(**base(13)), *exchange(4, "Four", "4"), *exchange(5, "Five", "5")], 13),
        name_of(part=PARTS[0]),
    )
    once = only(home)
    last = put(home, numbered([meta(**base(20)), *exchange(6, "Six", "6")], 20), name_of(part=PARTS[1]))
    twice = only(home)
    last.write_bytes(lines(numbered([meta(**base(7)), *exchange(6, "Six", "6")], 7)))
    behind = only(home)

    assert (said(once), once.tools) == (["One", "Two", "Four", "Five"], ("tool1", "tool2", "tool4", "tool5"))
    assert (said(twice), twice.tools) == (["One", "Two", "Four", "Six"], ("tool1", "tool2", "tool4", "tool6"))
    assert (said(behind), behind.tools) == (["One", "Six"], ("tool1", "tool6"))
    assert {once.id, twice.id, behind.id} == {THREAD}
    assert behind.final == "6"
    assert behind.ended == datetime.fromisoformat("2026-11-29T10:00:13Z")


def test_a_rewind_to_before_an_earlier_one_takes_back_what_that_had_left(home: Path) -> None:
    """The earlier one's own account may carry no number, and so be read: it brings nothing back."""
    put(home, numbered([meta(), *exchange(1, "One", "1"), *exchange(2, "Two", "2"), *exchange(3, "Three", "3")]))
    put(home, [meta(**base(13)), *numbered(exchange(4, "Four", "4"), 13)], name_of(part=PARTS[0]))
    once = only(home)
    put(home, numbered([meta(**base(7)), *exchange(5, "Five", "5")], 7), name_of(part=PARTS[1]))

    assert said(once) == ["One", "Two", "Four"]
    assert said(only(home)) == ["One", "Five"]


def test_a_rewind_may_name_the_part_that_it_continues(home: Path) -> None:
    """What lies between that part and the last is taken back as a whole, whatever its numbers."""
    part = "01a22852-0000-7000-8000-000000000001"
    put(home, numbered([meta(), *exchange(1, "One", "1"), *exchange(2, "Two", "2")]))
    put(
        home,
        numbered([meta(**base(7)), *exchange(3, "Three", "3"), *exchange(4, "Four", "4")], 7),
        name_of(part=PARTS[0]),
    )
    put(home, numbered([meta(**base(20, PARTS[0])), *exchange(5, "Five", "5")], 20), name_of(part=PARTS[1]))
    once = only(home)
    put(home, numbered([meta(**base(14, PARTS[0])), *exchange(6, "Six", "6")], 14), name_of(part=part))
    twice = only(home)
    put(home, numbered([meta(**base(14)), *exchange(5, "Five", "5")], 14), name_of(part=PARTS[1]))
    put(home, numbered([meta(**base(20, PARTS[0])), *exchange(6, "Six", "6")], 20), name_of(part=part))
    back = only(home)

    assert said(once) == ["One", "Three", "Four", "Five"]
    assert (said(twice), twice.tools) == (["One", "Three", "Six"], ("tool1", "tool3", "tool6"))
    assert said(back) == ["One", "Three", "Four", "Six"]


def test_a_copy_of_a_threads_file_says_nothing_twice(home: Path) -> None:
    """What has the same id is the same thing."""
    put(home, [meta(), *exchange(1, "One", "1")])
    put(home, [meta(), *exchange(1, "One", "1"), *exchange(2, "Two", "2")], name_of(time="11-00-00"))

    assert [turn.text for turn in only(home).turns] == ["One", "1", "Two", "2"]


def test_parts_are_read_in_the_order_of_their_birth_wherever_they_lie(home: Path) -> None:
    """Names carry local times, which jump; the ids of parts do not."""
    put(home, numbered([meta(), *exchange(1, "One", "1")]), name_of(time="23-00-00"))
    put(home, numbered([meta(**base(7)), *exchange(2, "Two", "2")], 7), name_of(part=PARTS[0], time="01-00-00"))
    name = name_of(part=PARTS[1], time="00-30-00")
    put(home, numbered([meta(**base(14)), *exchange(3, "Three", "3")], 14), name, folder="archived_sessions")

    session = only(home)

    assert said(session) == ["One", "Two", "Three"]
    assert session.path.endswith(name_of(time="23-00-00"))


@pytest.mark.parametrize("lost", [0, 1])
def test_a_thread_is_read_as_a_whole_or_not_at_all(home: Path, lost: int) -> None:
    """A part that cannot be read now may be read the next night; half a thread would be taken for all of it."""
    parts = [
        put(home, numbered([meta(), *exchange(1, "One", "1"), *exchange(2, "Two", "2")])),
        put(home, b"{\n" + lines(numbered([meta(**base(7)), *exchange(3, "3", "3")], 7)), name_of(part=PARTS[0])),
    ]
    source = CodexSource(home)
    (found,) = (item for item in source.transcripts() if isinstance(item, Transcript))
    parts[lost].unlink()

    assert list(source.read(found)) == [Skipped(str(parts[lost]), "no such file")]


def test_numbers_that_are_there_twice_lose_and_double_nothing(home: Path) -> None:
    """Some versions write a number twice, or copy the first record with its number to the end."""
    content = numbered([meta(), *exchange(1, "One", "1"), *exchange(2, "Two", "2")])
    for line in content[7:]:
        line["ordinal"] -= 1
    put(home, [*content, content[0], *numbered(exchange(3, "Three", "3"), 12)])
    put(home, numbered([meta(**base(12)), *exchange(4, "Four", "4")], 12), name_of(part=PARTS[0]))

    assert said(only(home)) == ["One", "Two", "Four"]


def test_a_fork_is_only_what_was_said_in_it(home: Path) -> None:
    """A fork of the newer kind names its base and repeats nothing; rewound behind its start, it holds only the rest."""
    put(home, numbered([meta(), *exchange(1, "One", "1")]))
    fork = numbered([meta(OTHER, forked_from_id=THREAD, **base(7)), *exchange(2, "Two", "2")], 7)
    put(home, fork, name_of(OTHER))
    before = {item.id: said(item) for item in everything(home) if isinstance(item, Session)}
    put(home, numbered([meta(OTHER, **base(3)), *exchange(3, "Three", "3")], 3), name_of(OTHER, PARTS[0]))
    after = {item.id: said(item) for item in everything(home) if isinstance(item, Session)}

    assert before == {THREAD: ["One"], OTHER: ["Two"]}
    assert after == {THREAD: ["One"], OTHER: ["Three"]}


REPLAY = [*legacy(1, "One", "1"), *legacy(2, "Two", "2")]


@pytest.mark.parametrize("own", [[meta(OTHER, forked_from_id=THREAD)], [meta(OTHER), meta()]], ids=["fork", "resume"])
def test_what_an_older_fork_repeats_of_its_parent_is_not_read(home: Path, own: list[Record]) -> None:
    """It is there twice, with new times; the thread it comes from is named, or is that of a second first record."""
    parent = put(home, [meta(), *REPLAY, *legacy(3, "Three", "3")])
    put(home, [*own, *REPLAY, *legacy(4, "Four", "4")], name_of(OTHER))
    both = {item.id: item for item in everything(home) if isinstance(item, Session)}

    assert {id_: said(item) for id_, item in both.items()} == {THREAD: ["One", "Two", "Three"], OTHER: ["Four"]}
    assert (both[OTHER].tools, both[OTHER].final) == (("tool4",), "4")
    parent.unlink()
    told, alone = everything(home)
    assert told == Skipped(both[OTHER].path, PARENT_MISSING)
    assert isinstance(alone, Session)
    assert said(alone) == ["One", "Two", "Four"]
    assert alone.turns[-2:] == both[OTHER].turns


def test_a_parent_that_vanishes_before_its_fork_is_read_is_missing(home: Path) -> None:
    """So is one that was never there; a fork in which nobody said anything misses neither."""
    parent = put(home, [meta(), *REPLAY])
    fork = put(home, [meta(OTHER, forked_from_id=THREAD), *REPLAY, *legacy(4, "Four", "4")], name_of(OTHER))
    source = CodexSource(home)
    _, found = (item for item in source.transcripts() if isinstance(item, Transcript))
    parent.unlink()

    told, session = source.read(found)

    assert told == Skipped(str(fork), PARENT_MISSING)
    assert isinstance(session, Session)
    put(home, [meta(OTHER, forked_from_id=THREAD)], name_of(OTHER))
    assert reasons(everything(home)) == [("no prompt", 1)]
    put(home, [meta(OTHER, forked_from_id=THREAD), *legacy(1, "", "1")], name_of(OTHER))
    assert reasons(everything(home)) == [("no prompt", 1)]


def test_a_parent_is_read_once_for_all_its_forks_and_again_when_it_changed(home: Path) -> None:
    """Only the last parent is remembered, as it was when it was found."""
    parent = put(home, [meta(), *REPLAY])
    forks = [f"01a22849-6b4b-7551-8a32-{number:012}" for number in (3, 4)]
    for fork in forks:
        put(home, [meta(fork, forked_from_id=THREAD), *REPLAY, *legacy(4, "Four", "4")], name_of(fork))
    source = CodexSource(home)
    _, first, second = (item for item in source.transcripts() if isinstance(item, Transcript))

    (before,) = source.read(first)
    parent.rename(parent.with_suffix(".old"))
    (after,) = source.read(second)
    put(home, [meta(), *legacy(1, "Else", "1")])
    _, again, _ = (item for item in source.transcripts() if isinstance(item, Transcript))
    (changed,) = source.read(again)

    for session, prompts in ((before, ["Four"]), (after, ["Four"]), (changed, ["One", "Two", "Four"])):
        assert isinstance(session, Session)
        assert said(session) == prompts
    assert len(source.parent) == 1


def test_a_fork_may_say_what_its_parent_said_next(home: Path) -> None:
    """The names of turns tell the words that were repeated from those that were typed once more."""
    put(home, [meta(), *REPLAY])
    put(home, [meta(OTHER, forked_from_id=THREAD), *REPLAY[:6], *legacy(9, "Two", "2")], name_of(OTHER))

    assert [said(item) for item in everything(home) if isinstance(item, Session)] == [["One", "Two"], ["Two"]]


def test_a_fork_that_repeats_nothing_or_all(home: Path) -> None:
    """One is read whole; in the other nobody has said anything yet. The parent is found without being asked for."""
    put(home, [meta(), *REPLAY])
    call = record("response_item", type="function_call", name="early", arguments="", call_id="c")
    path = put(home, [meta(OTHER, forked_from_id=THREAD), call, *legacy(9, "Nine", "9")], name_of(OTHER))
    found = Transcript((state_of(path),))

    (session,) = CodexSource(home).read(found)
    path.write_bytes(lines([meta(OTHER, forked_from_id=THREAD), *REPLAY]))
    (skipped,) = CodexSource(home).read(found)

    assert isinstance(session, Session)
    assert (said(session), session.tools) == (["Nine"], ("early", "tool9"))
    assert skipped == Skipped(str(path), "no prompt")


def test_a_thread_that_names_itself_as_its_parent_is_read(home: Path) -> None:
    """It repeats nobody."""
    assert said(session_of(home, [meta(forked_from_id=THREAD), *REPLAY])) == ["One", "Two"]


def test_prompts_that_were_rolled_back_are_not_read(home: Path) -> None:
    """The older kind of rewind stands in the file: the last prompts, with all that followed, are gone."""

    def rolled(count: Any) -> Record:
        return record("event_msg", type="thread_rolled_back", num_turns=count)

    content = [meta(), *REPLAY, rolled(1), *legacy(3, "Three", "3")]
    session = session_of(home, content)

    assert (said(session), session.tools) == (["One", "Three"], ("tool1", "tool3"))
    assert said(session_of(home, [*content, rolled(9), *legacy(4, "Four", "4")])) == ["Four"]
    assert said(session_of(home, [*content, rolled(0), rolled("x")])) == ["One", "Three"]


def test_a_resumed_thread_grows_and_keeps_its_turns(home: Path) -> None:
    """What was read of it before has the same ids afterwards, in either format."""
    for turn in (exchange, legacy):
        short = session_of(home, [meta(), *turn(1, "One", "1")])
        long = session_of(home, [meta(), *turn(1, "One", "1"), *turn(2, "Two", "2")])
        assert long.turns[: len(short.turns)] == short.turns


@pytest.mark.parametrize(
    "more",
    [
        {"thread_source": "subagent"},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": OTHER}}}},
        {"source": {"subagent": "review"}},
        {"source": {"internal": "memory_consolidation"}},
    ],
)
def test_a_sub_agents_thread_is_no_session(home: Path, more: Mapping[str, Any]) -> None:
    """Nobody typed what it was asked; neither the rest of its file nor its parent is even looked at."""
    first = meta()
    first["payload"] |= more
    first["payload"]["forked_from_id"] = OTHER
    put(home, lines([first, *exchange(1, "One", "1")]) + b"not JSON\n")
    put(home, [meta(OTHER), *exchange(1, "One", "1")], name_of(OTHER))
    source = CodexSource(home)
    found, _ = (item for item in source.transcripts() if isinstance(item, Transcript))

    assert list(source.read(found)) == [Skipped(found.path, "sub-agent")]
    assert source.parent == {}


@pytest.mark.parametrize(
    ("more", "headless"), [({"source": "exec"}, True), ({"originator": "codex_exec"}, True), ({}, False)]
)
def test_a_run_without_a_person_at_the_keyboard_is_marked(home: Path, more: Mapping[str, Any], headless: bool) -> None:
    """`codex exec` says so itself."""
    first = meta()
    first["payload"] |= more

    assert session_of(home, [first, *exchange(1, "One", "1")]).headless is headless


@pytest.mark.parametrize(("first", "second"), [("exec", "cli"), ("cli", "exec")])
def test_a_thread_that_a_person_took_part_in_is_not_headless(home: Path, first: str, second: str) -> None:
    """`codex exec` can be resumed at the keyboard, in the same file or by a rewind, and the other way round."""
    begun, resumed = meta(), meta(**base(7))
    begun["payload"]["source"], resumed["payload"]["source"] = first, second
    put(home, numbered([begun, *exchange(1, "One", "1")]))
    put(home, numbered([resumed, *exchange(2, "Two", "2")], 7), name_of(part=PARTS[0]))
    rewound = only(home)
    both = [begun, *exchange(1, "One", "1"), resumed, *exchange(2, "Two", "2")]
    put(home, both, folder="else/sessions")
    appended = only(home / "else")

    assert said(rewound) == said(appended) == ["One", "Two"]
    assert (rewound.headless, appended.headless) == (False, False)


def test_where_a_session_was_is_what_its_records_say(home: Path) -> None:
    """The first folder that is named counts; where none is, none is known."""
    bare = meta()
    del bare["payload"]["cwd"]
    contexts = [record("turn_context", cwd="/home/dev/first"), record("turn_context", cwd="/home/dev/second")]
    turn = exchange(1, "One", "1")

    assert session_of(home, [bare, *contexts, *turn]).cwd == "/home/dev/first"
    assert session_of(home, [meta(git={"branch": "main"}), *contexts, *turn]).cwd == "/home/dev/acme-api"
    assert session_of(home, [bare, *turn]).cwd is None
    assert session_of(home, turn).id == THREAD
    assert session_of(home, turn).headless is False


def test_times_of_records_without_words_count(home: Path) -> None:
    """A session lasts from its first record to its last, in whatever order they stand."""
    late = record("event_msg", 50, type="token_count", info=None)
    early = {**record("event_msg", type="token_count", info=None), "timestamp": "2026-11-29T09:00:00.000Z"}
    strange = {**late, "timestamp": "T:.-T:.-T:.-T:.-T:.-T:.Z"}
    session = session_of(home, [meta(), late, *exchange(1, "One", "1"), early])

    assert session.started == datetime.fromisoformat("2026-11-29T09:00:00Z")
    assert session.ended == datetime.fromisoformat("2026-11-29T10:00:50Z")
    assert session_of(home, [meta(), *exchange(1, "One", "1"), strange]).started is not None
    local = {**late, "timestamp": "2026-11-29T12:30:00+01:00"}
    assert session_of(home, [meta(), *exchange(1, "One", "1"), local]).ended == datetime.fromisoformat(
        "2026-11-29T11:30:00Z"
    )


# --- damage --------------------------------------------------------------------------------------------------------

DAMAGE = {
    1: [("cut off", 1)],
    2: [("not JSON", 1)],  # cut off within a tool's output, and written over
    3: [("no text", 1)],  # NULs alone, and NULs around a record
    4: [("not UTF-8", 1)],
    5: [],  # three objects on a line
    6: [],  # likewise, a tool's output first
    7: [("not an object", 4), ("an unknown kind of record", 2)],
    8: [],  # half a surrogate pair
    9: [],  # U+2028 and U+2029
    10: [("empty", 1)],  # 0 bytes
    11: [("cut off", 1)],  # packed, and cut off
    12: [("not UTF-8", 1), ("not JSON", 1), ("empty", 1)],
    13: [("cannot be unpacked", 1), ("empty", 1)],
}


def damaged(number: int) -> list[Session | Skipped]:
    source = CodexSource(DAMAGED)
    (found,) = (
        item for item in source.transcripts() if isinstance(item, Transcript) and f"{number:012}.jsonl" in item.path
    )
    return list(source.read(found))


@pytest.mark.parametrize("number", DAMAGE)
def test_a_damaged_file_is_read_as_far_as_it_is_whole(number: int) -> None:
    """What cannot be read is told with its reason, and the rest is read."""
    found = damaged(number)

    assert reasons(found) == DAMAGE[number]
    if number not in (10, 12, 13):
        session = found[-1]
        assert isinstance(session, Session)
        spaced = " ".join(said(session)[0].replace("\N{REPLACEMENT CHARACTER}", " ").split())
        assert (spaced, len(said(session)), len(said(session, "answer"))) == ("Run the tests", 1, 1)
        assert session.ended is not None


def test_text_keeps_its_line_separators_and_loses_what_cannot_be_written() -> None:
    """U+2028 is text and ends no line; half a surrogate pair cannot be written as UTF-8."""
    separated, half = damaged(9)[0], damaged(8)[0]

    assert isinstance(separated, Session)
    assert isinstance(half, Session)

    assert said(separated) == ["Run\N{LINE SEPARATOR}the tests"]
    assert said(half) == ["Run \N{REPLACEMENT CHARACTER} the tests"]


def test_kinds_of_records_that_are_not_known_are_told_if_they_might_say_something(home: Path) -> None:
    """Formats change; what is bulk in all likelihood is no news."""
    content = [
        meta(),
        *exchange(1, "One", "1"),
        record("conversation", text="Hidden"),
        record("event_msg", type="user_prompt_v2", text="Hidden"),
        item("SystemMessage", text="Hidden"),
        record("event_msg", type="background_event"),
        record("response_item", type="something_new"),
        record("world_state"),
    ]
    put(home, content)

    assert reasons(everything(home)) == [("an unknown kind of record", 3)]


SPLICED = b'{"timestamp":"2026-11-29T10:00:01.000Z","type":"world_state","payload":{"text":"cut of'


@given(content=st.lists(st.binary(max_size=60) | st.sampled_from([SPLICED, *lines([meta(), *REPLAY]).split(b"\n")])))
def test_no_bytes_stop_the_reading(tmp_path_factory: pytest.TempPathFactory, content: list[bytes]) -> None:
    """Whatever a file holds, something is said about it and nothing is raised."""
    home = tmp_path_factory.mktemp("home")
    put(home, b"\n".join(content))
    put(home, b"".join(content), name_of(OTHER) + ".zst")

    assert len(everything(home)) >= 2


GENUINE = [
    line
    for file in sorted(DATA.glob("codex/*/.codex/sessions/2026/11/29/*.jsonl"))
    if any(part in file.name for part in ("01a22849-6b4b", "01a2284d-ac74", "01a22848-f2f0"))
    for line in file.read_bytes().split(b"\n")[:-1]
    if b'"type":"session_meta"' not in line
]
TYPED = {text for expected in ROLLOUTS.values() for text in [item["text"] for item in expected["prompts"]]}


@given(content=st.lists(st.sampled_from(GENUINE), max_size=60))
def test_lost_and_disordered_lines_put_no_words_into_a_mouth(
    tmp_path_factory: pytest.TempPathFactory, content: list[bytes]
) -> None:
    """Every prompt that is read was typed, and every shell escape too, whatever is missing around it."""
    home = tmp_path_factory.mktemp("home")
    put(home, lines([meta()]) + b"".join(line + b"\n" for line in content))

    for session in everything(home):
        if isinstance(session, Session):
            assert set(said(session)) <= TYPED
            assert set(said(session, "shell")) <= {"ls -1"}
            assert len({turn.id for turn in session.turns}) == len(session.turns)


@pytest.mark.parametrize("file", ROLLOUTS, ids=lambda file: file[-42:-6])
def test_passing_lines_by_changes_nothing_that_is_found(tmp_path: Path, file: str) -> None:
    """A file whose lines begin otherwise, so that all must be parsed, reads the same."""
    name = Path(file).name
    records = [json.loads(line) for line in (DATA / file).read_text(encoding="utf-8").split("\n") if line]
    quick, slow = tmp_path / "quick", tmp_path / "slow"
    put(quick, (DATA / file).read_bytes(), name)
    put(slow, lines([{"type": line["type"], **line} for line in records]), name)

    def told(home: Path) -> list[Any]:
        return [
            (item.turns, item.tools, item.files, item.skills, item.final, item.started, item.ended)
            if isinstance(item, Session)
            else (item.reason, item.count)
            for item in everything(home)
        ]

    assert told(quick) == told(slow)
