"""The neutral format that sessions of any agent can be written in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_git.config import Config, Harvest
from skillopt_git.model import Session, Skipped
from skillopt_git.sources.jsonl import JsonlSource, make
from skillopt_git.transcripts import Transcript

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "sessions.md").read_text(encoding="utf-8")
DAMAGED = ROOT / "tests" / "data" / "damaged" / "jsonl"
DAMAGE = json.loads((DAMAGED / "manifest.json").read_text(encoding="utf-8"))


def found(home: Path) -> list[Session | Skipped]:
    source = JsonlSource(home)
    items: list[Session | Skipped] = []
    for item in source.transcripts():
        items += source.read(item) if isinstance(item, Transcript) else [item]
    return items


def write(path: Path, lines: Iterable[Mapping[str, Any]] | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = lines if isinstance(lines, bytes) else "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(content)
    return path


def only(home: Path, lines: Iterable[Mapping[str, Any]] | bytes) -> Session:
    """The one session that the lines give, with nothing skipped."""
    (session,) = found(write(home / "s.jsonl", lines).parent)
    assert isinstance(session, Session)
    return session


def skipped(items: Iterable[Session | Skipped]) -> dict[str, int]:
    return {item.reason: item.count for item in items if isinstance(item, Skipped)}


def block(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


# --- the page ----------------------------------------------------------------------------------------------------


def test_the_page_s_example_reads_as_it_says(tmp_path: Path) -> None:
    """What the page shows is a session, with all that it tells."""
    session = only(tmp_path, block("json").encode())

    assert [(turn.kind, turn.text) for turn in session.turns] == [
        ("prompt", "Run the tests"),
        ("answer", "All 12 pass."),
        ("prompt", "No, use make test"),
        ("shell", "git status"),
    ]
    assert [turn.id.partition(":")[2] for turn in session.turns][:3] == ["1", "2", "3"]
    assert (session.id, session.source, session.cwd, session.branch, session.tools, session.final) == (
        "2026-11-29-a",
        "jsonl",
        "/home/alice/acme-api",
        "main",
        ("bash",),
        "All 12 pass.",
    )


def test_the_page_s_converter_writes_sessions(tmp_path: Path) -> None:
    """The converter on the page runs as it stands there, and what it writes is read."""
    history = tmp_path / "acme-api" / ".aider.chat.history.md"
    text = (
        "\n# aider chat started at 2026-11-29 17:12:34\n\n> Main model: m\n\n"
        "#### Fix the rate  \n#### in pricing.py\n\n"
        "I changed the rate.\n\nIt is 0.2 now.\n\n> Applied edit to pricing.py\n\n#### Thanks\n\n"
        "\n# aider chat started at 2026-11-30 09:00:00\n\n> Main model: m\n\n#### Add a test\n\n"
    )
    write(history, text.encode())
    write(tmp_path / "convert.py", block("python").encode())
    made = subprocess.run([sys.executable, "convert.py", history], cwd=tmp_path, capture_output=True, check=True)

    sessions = found(write(tmp_path / "sessions" / "aider.jsonl", made.stdout).parent)

    assert [
        (item.id, item.cwd, [(turn.kind, turn.text) for turn in item.turns])
        for item in sessions
        if isinstance(item, Session)
    ] == [
        (
            "acme-api-0",
            str(history.parent),
            [
                ("prompt", "Fix the rate\nin pricing.py"),
                ("answer", "I changed the rate.\n\nIt is 0.2 now."),
                ("prompt", "Thanks"),
            ],
        ),
        ("acme-api-1", str(history.parent), [("prompt", "Add a test")]),
    ]
    assert isinstance(sessions[0], Session)
    assert sessions[0].started == datetime(2026, 11, 29, 17, 12, 34, tzinfo=UTC)


def test_every_field_stands_on_the_page() -> None:
    """The table names what is read."""
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)

    assert rows == [
        *("v", "session", "role", "text", "time", "turn", "kind", "cwd", "original_cwd", "branch"),
        *("tools", "skills", "files", "headless"),
    ]


# --- what is written is read -------------------------------------------------------------------------------------

TEXTS = st.builds(
    str.__add__, st.sampled_from(["Go", "\u2028", "é\n"]), st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
).filter(lambda text: text.strip() and "\0" not in text)
NAMES = st.lists(st.sampled_from(["bash", "view", "acme:run-tests"]), max_size=3)
PATHS = st.sampled_from(["/home/alice/acme-api", "/srv/with blank", "/"])
TIMES = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))
FACTS = {"cwd": PATHS, "original_cwd": PATHS, "branch": TEXTS, "headless": st.booleans(), "time": TIMES}
LISTS = {"tools": NAMES, "skills": NAMES, "files": st.lists(PATHS, max_size=2)}
SAID = {
    "role": st.sampled_from(["user", "assistant"]),
    "text": TEXTS,
    "kind": st.sampled_from(["prompt", "command", "shell"]),
}
LINE = st.fixed_dictionaries(
    {"session": st.sampled_from("abc")}, optional={"v": st.just(1), "agent": st.integers(), **FACTS, **LISTS}
)
SPOKEN = st.builds(lambda line, said: {**line, **said}, LINE, st.fixed_dictionaries(SAID))
WRITTEN = st.lists(LINE | SPOKEN, max_size=8)


def plain(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**line, **({"time": line["time"].isoformat()} if "time" in line else {})} for line in lines]


def first(lines: list[dict[str, Any]], key: str) -> str | None:
    return next((str(line[key]) for line in lines if key in line), None)


def added(lines: list[dict[str, Any]], key: str) -> list[str]:
    return [item for line in lines for item in line.get(key, [])]


def turns_of(lines: list[dict[str, Any]]) -> list[tuple[str, str, datetime | None]]:
    """Kind, text and time of what was said, answers in a row joined."""
    said = [
        ("answer" if line["role"] == "assistant" else line["kind"], line["text"], line.get("time"))
        for line in lines
        if "text" in line
    ]
    turns: list[tuple[str, str, datetime | None]] = []
    for kind, run in groupby(said, key=lambda turn: turn[0]):
        items = list(run)
        joined = ("answer", "\n\n".join(text for _, text, _ in items), items[0][2])
        turns += [joined] if kind == "answer" else items
    return turns


@settings(max_examples=40)
@given(written=WRITTEN)
def test_what_is_written_is_read(written: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Texts, order, times and facts of sessions that are mixed in one file come back as they went in."""
    home = tmp_path_factory.getbasetemp() / "written"
    write(home / "s.jsonl", plain(written))

    read = {item.id: item for item in found(home) if isinstance(item, Session)}

    mixed = {id_: [line for line in written if line["session"] == id_] for id_ in "abc"}
    typed = {id_: lines for id_, lines in mixed.items() if any(line.get("role") == "user" for line in lines)}
    assert set(read) == set(typed)
    for id_, lines in typed.items():
        session, times = read[id_], [line["time"] for line in lines if "time" in line]
        assert [(turn.kind, turn.text, turn.time) for turn in session.turns] == turns_of(lines)
        assert (session.cwd, session.branch) == (first(lines, "cwd"), first(lines, "branch"))
        assert session.original_cwd == first(lines, "original_cwd")
        assert session.headless is any(line.get("headless") for line in lines)
        assert (session.started, session.ended) == (min(times, default=None), max(times, default=None))
        assert list(session.tools) == added(lines, "tools")
        assert list(session.skills) == list(dict.fromkeys(added(lines, "skills")))
        assert list(session.files) == list(dict.fromkeys(added(lines, "files")))


@settings(max_examples=40)
@given(written=WRITTEN, end=st.integers(0, 8))
def test_ids_stay_when_a_file_grows(
    written: list[dict[str, Any]], end: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What was read before lines were added has the same id afterwards, and no id stands for two turns."""
    home = tmp_path_factory.getbasetemp() / "growing"

    def ids(lines: list[dict[str, Any]]) -> dict[str, list[str]]:
        write(home / "s.jsonl", plain(lines))
        return {item.id: [turn.id for turn in item.turns] for item in found(home) if isinstance(item, Session)}

    early, late = ids(written[:end]), ids(written)

    for session, known in early.items():
        assert late[session][: len(known)] == known
        assert len(set(late[session])) == len(late[session])


def test_a_made_id_is_pinned(tmp_path: Path) -> None:
    """Ids name turns in the bank for ever."""
    prompt = {"session": "a", "role": "user", "text": "Run the tests"}

    session = only(tmp_path, [prompt, {**prompt, "turn": "1"}])

    assert [turn.id for turn in session.turns] == ["0eb5b8d6f81bc677.0.865454162", "0eb5b8d6f81bc677:1"]


def test_an_id_is_of_one_session(tmp_path: Path) -> None:
    """Turns of two sessions are two turns, whatever ids are given, and however sessions are named."""
    prompt = {"role": "user", "text": "Go"}
    named = [("a", "1"), ("b", "1"), ("a", "b:1"), ("a:b", "1"), ("a", None), ("b", None)]
    lines = [{**prompt, "session": session, "turn": turn} for session, turn in named]
    write(tmp_path / "s.jsonl", lines)

    ids = [turn.id for item in found(tmp_path) if isinstance(item, Session) for turn in item.turns]

    assert len(set(ids)) == len(ids) == len(named)


def test_a_file_s_name_that_is_no_text_gives_an_id_that_is(tmp_path: Path) -> None:
    """Bytes of a name that are not UTF-8 reach no id."""
    (session,) = found(write(tmp_path / os.fsdecode(b"s\xff.jsonl"), [{"role": "user", "text": "Go"}]))

    assert isinstance(session, Session)
    assert session.id == "s\ufffd"
    assert session.turns[0].id.isascii()


def test_an_id_names_one_text(tmp_path: Path) -> None:
    """The same text under the same id was written twice; another one under it keeps its words and gets its own id."""
    prompt = {"role": "user", "text": "Go", "turn": "1"}
    answer = {"role": "assistant", "text": "Done", "turn": "1"}

    session = only(tmp_path, [prompt, prompt, answer, {**prompt, "text": "Go on"}])

    assert [turn.text for turn in session.turns] == ["Go", "Done", "Go on"]
    assert session.turns[0].id.endswith(":1")
    assert len({turn.id for turn in session.turns}) == 3


def test_null_is_nothing(tmp_path: Path) -> None:
    """A field that is null is left out."""
    fields = ("v", "session", "time", "turn", "kind", "cwd", "original_cwd", "branch", "tools", "skills", "headless")

    session = only(tmp_path, [{"role": "user", "text": "Go", **dict.fromkeys(fields)}, {"role": None, "text": None}])

    assert (session.id, session.cwd, session.started, session.headless) == ("s", None, None, False)
    assert session.prompts[0].text == "Go"


def test_times_are_instants(tmp_path: Path) -> None:
    """A time without a zone is UTC; one with a zone is brought there."""
    session = only(
        tmp_path,
        [
            {"role": "user", "text": "Go", "time": "2026-11-29 17:00:00"},
            {"role": "user", "text": "On", "time": "2026-11-29T17:00:00.5+02:00"},
        ],
    )

    assert session.turns[0].time == datetime(2026, 11, 29, 17, tzinfo=UTC)
    assert session.started == datetime(2026, 11, 29, 15, 0, 0, 500_000, tzinfo=UTC)


def test_the_end_of_a_file_is_no_glance(tmp_path: Path) -> None:
    """Old times at its end say nothing of the other sessions in it."""
    write(tmp_path / "s.jsonl", [{"role": "user", "text": "Go", "time": "2026-11-29T17:00:00Z"}])
    source = JsonlSource(tmp_path)

    assert [source.glance(item) for item in source.transcripts() if isinstance(item, Transcript)] == [None]


ODD = st.sampled_from(
    ["", "a", "user", "assistant", "tool", "shell", "answer", "/x", "x", "\0", "é", "2026-11-29T17:00Z"]
)
ODDER: st.SearchStrategy[Any] = ODD | st.sampled_from(
    [None, 1, 1.0, True, ["bash"], ["\0"], [None], {}, "2026-11-29", "2026-11-29T17:00:00-09:30"]
)
KEYS = st.sampled_from(
    "v session role text time turn kind cwd original_cwd branch tools skills files headless other".split()
)


@given(
    told=st.dictionaries(KEYS, ODDER, max_size=5),
    said=st.just({}) | st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "text": ODD}),
    place=st.integers(0, 400),
    byte=st.sampled_from([b"", b"\xff", b"\\", b"{", b"\0"]),
)
def test_a_line_that_looks_as_usual_tells_what_any_other_would(
    told: dict[str, Any], said: dict[str, Any], place: int, byte: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A byte-order mark makes a line unusual, and changes nothing of what is read or counted."""
    line = json.dumps({**told, **said}, ensure_ascii=False).encode()
    line = line[:place] + byte + line[place:]
    home = tmp_path_factory.getbasetemp() / "unusual"

    usual = found(write(home / "s.jsonl", line + b"\n").parent)

    assert found(write(home / "s.jsonl", "\ufeff".encode() + line + b"\n").parent) == usual


def test_what_nobody_typed_is_not_read(tmp_path: Path) -> None:
    """Lines of the system and of tools are ignored, whatever else they hold."""
    odd: list[dict[str, Any]] = [
        {"role": "system", "text": "Be brief", "cwd": "/x"},
        {"role": "tool", "text": "out", "tools": ["bash"]},
    ]

    session = only(tmp_path, [*odd, {"role": "user", "text": "Go"}])

    assert [turn.text for turn in session.turns] == ["Go"]
    assert (session.cwd, session.tools) == (None, ())


def test_names_are_only_names(tmp_path: Path) -> None:
    """What is no part of a name becomes `_`, and an empty name is none."""
    session = only(tmp_path, [{"role": "user", "text": "Go", "tools": ["a b", ""], "skills": ["x\ny"], "files": [""]}])

    assert (session.tools, session.skills, session.files) == (("a_b",), ("x_y",), ())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"v": 2}, "written for a newer tool"),
        ({"v": 2, "text": 7}, "written for a newer tool"),
        ({"v": True}, "a field of the wrong type"),
        ({"v": 1.0}, "a field of the wrong type"),
        ({"v": 0}, "a field of the wrong type"),
        ({"v": "1"}, "a field of the wrong type"),
        ({"session": 7}, "a field of the wrong type"),
        ({"text": ["Wrong"]}, "a field of the wrong type"),
        ({"turn": 3}, "a field of the wrong type"),
        ({"time": 1764435154}, "a field of the wrong type"),
        ({"tools": "bash"}, "a field of the wrong type"),
        ({"files": ["/a", None]}, "a field of the wrong type"),
        ({"headless": "no"}, "a field of the wrong type"),
        ({"role": "human"}, "an unknown role"),
        ({"role": None}, "a text without a role"),
        ({"kind": "answer"}, "an unknown kind"),
        ({"time": "yesterday"}, "an unreadable time"),
        ({"time": "0001-01-01T00:00:00+02:00"}, "an unreadable time"),
        ({"cwd": "acme-api"}, "a folder that is no absolute path"),
        ({"original_cwd": "~/acme-api"}, "a folder that is no absolute path"),
    ],
)
def test_a_line_that_is_wrong_is_skipped_with_its_reason(line: dict[str, Any], reason: str, tmp_path: Path) -> None:
    """Only that line is lost."""
    write(tmp_path / "s.jsonl", [{"role": "user", "text": "Wrong", **line}, {"role": "user", "text": "Right"}])

    items = found(tmp_path)

    assert [turn.text for item in items if isinstance(item, Session) for turn in item.turns] == ["Right"]
    assert skipped(items) == {reason: 1}


def test_sessions_without_a_prompt_are_told(tmp_path: Path) -> None:
    """A session in which nobody typed is counted, and so is a file with nothing in it."""
    write(tmp_path / "a.jsonl", [{"session": "x", "cwd": "/x"}, {"session": "y", "role": "assistant", "text": "Hi"}])
    write(tmp_path / "b.jsonl", b"")

    assert found(tmp_path) == [
        Skipped(str(tmp_path / "a.jsonl"), "no prompt", 2),
        Skipped(str(tmp_path / "b.jsonl"), "empty"),
    ]


# --- files -------------------------------------------------------------------------------------------------------


def test_packed_files_and_folders_below_are_read(tmp_path: Path) -> None:
    """A file may be packed; its name without both endings is the session's."""
    packed = zstandard.ZstdCompressor().compress(b'{"role":"user","text":"Packed"}\n')
    write(tmp_path / "deep" / "er" / "p.jsonl.zst", packed)
    write(tmp_path / "q.jsonl", [{"role": "user", "text": "Plain"}])
    write(tmp_path / "notes.json", b"{}")

    assert sorted((item.id, item.prompts[0].text) for item in found(tmp_path) if isinstance(item, Session)) == [
        ("p", "Packed"),
        ("q", "Plain"),
    ]


def test_the_home_may_be_one_file(tmp_path: Path) -> None:
    """Whatever its name; its neighbours are not read."""
    write(tmp_path / "other.jsonl", [{"role": "user", "text": "Other"}])
    path = write(tmp_path / "session.txt", [{"role": "user", "text": "Go"}])

    (session,) = found(path)

    assert isinstance(session, Session)
    assert (session.prompts[0].text, session.path) == ("Go", str(path))


def test_a_home_that_is_none_is_told(tmp_path: Path) -> None:
    """A folder that is not there, and what is neither folder nor file."""
    os.mkfifo(tmp_path / "pipe")

    assert found(tmp_path / "gone") == [Skipped(str(tmp_path / "gone"), "no such folder")]
    assert found(tmp_path / "pipe") == [Skipped(str(tmp_path / "pipe"), "not a file")]


def test_a_file_that_vanishes_or_is_replaced_is_told(tmp_path: Path) -> None:
    """Between finding and reading anything may happen to a file."""
    path = write(tmp_path / "s.jsonl", [{"role": "user", "text": "Go"}])
    source = JsonlSource(tmp_path)
    (transcript,) = (item for item in source.transcripts() if isinstance(item, Transcript))
    path.rename(tmp_path / "old")

    assert list(source.read(transcript)) == [Skipped(str(path), "no such file")]
    write(path, [{"role": "user", "text": "Another"}])
    assert list(source.read(transcript)) == [Skipped(str(path), "replaced while it was read")]
    path.unlink()
    path.symlink_to(path)
    assert list(source.read(transcript)) == [Skipped(str(path), "unreadable")]


@pytest.mark.parametrize(
    ("flag", "environ", "expected"),
    [
        ("", {"HOME": "/home/dev"}, "/home/dev/.local/share/skillopt/sessions"),
        ("", {"HOME": "/home/dev", "XDG_DATA_HOME": "/srv/data"}, "/srv/data/skillopt/sessions"),
        ("~/s.jsonl", {"HOME": "/home/dev", "XDG_DATA_HOME": "/srv/data"}, "/home/dev/s.jsonl"),
    ],
)
def test_the_home_is_the_setting_s_then_the_data_folder_s(flag: str, environ: dict[str, str], expected: str) -> None:
    """As the desktop's rules say where data lies, unless the user names a place."""
    source = make(Config(harvest=Harvest(jsonl_home=flag)), environ)

    assert (source.name, source.home) == ("jsonl", expected)


# --- damage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_gives_what_is_whole_in_it(name: str) -> None:
    """Whatever happened to a file, what stands whole in it is read, and what does not is counted with its reason."""
    expected = DAMAGE[name]
    items = found(DAMAGED / f"{name}.jsonl")
    sessions = [item for item in items if isinstance(item, Session)]

    assert [turn.text for session in sessions for turn in session.prompts] == expected["prompts"]
    assert [session.final for session in sessions] == expected["final"]
    assert skipped(items) == expected["skipped"]


def test_every_damaged_file_is_in_the_manifest() -> None:
    """No file lies there untested."""
    assert {path.stem for path in DAMAGED.glob("*.jsonl")} == set(DAMAGE)


@given(
    content=st.binary()
    | st.lists(st.sampled_from([b'{"role":"user"', b',"text":"Go"', b"}", b"\n", b"\0"])).map(b"".join)
)
def test_no_bytes_stop_the_reading(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Anything may be in a file, packed or not."""
    home = tmp_path_factory.getbasetemp() / "any-bytes"
    write(home / "s.jsonl", content)
    write(home / "s.jsonl.zst", content)

    assert {turn.text for item in found(home) if isinstance(item, Session) for turn in item.turns} <= {"Go"}


@given(end=st.integers(0, 200), rest=st.integers(0, 200))
def test_what_stands_in_a_broken_line_is_not_taken_for_a_line(
    end: int, rest: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A converter may keep the agent's own messages in a field of its own; cut off, they are still not the user's."""
    raw = {"role": "user", "text": "INJECTED", "raw": [{"role": "user", "text": "INJECTED"}]}
    line = json.dumps({"role": "assistant", "raw": raw, "more": [raw], "text": "Shown"}).encode()
    home = tmp_path_factory.getbasetemp() / "inner"
    write(home / "s.jsonl", line[:end] + line[rest:] + b'\n{"role":"user","text":"Go"}\n')

    words = [turn.text for item in found(home) if isinstance(item, Session) for turn in item.prompts]

    assert words in (["Go"], [])
