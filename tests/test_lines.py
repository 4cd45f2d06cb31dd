"""Lines and the objects on them: whatever a file holds, what can be read is read and the rest is counted."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git import lines
from skillopt_git.lines import LINE_LIMIT, UNPACKED_LIMIT, Replaced, objects, read
from skillopt_git.transcripts import FileState, Span, Transcript


def state(path: Path) -> FileState:
    info = path.stat()
    return FileState(str(path), info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino)


def written(path: Path, data: bytes) -> FileState:
    path.write_bytes(data)
    return state(path)


def values(data: bytes) -> tuple[list[Any], dict[str, int]]:
    bad: Counter[str] = Counter()
    return [dict(value) for line in data.splitlines(keepends=True) for value in objects(line, bad)], dict(bad)


# --- lines -------------------------------------------------------------------------------------------------------


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    """Not U+2028, a lone return, or a form feed; the last line needs no end, and empty ones are none."""
    data = "one \u2028 two\r\x0c three\nfour\n\n\r\n \nfive".encode()

    assert list(read(written(tmp_path / "x.jsonl", data), Counter())) == [
        "one \u2028 two\r\x0c three\n".encode(),
        b"four\n",
        b" \n",
        b"five",
    ]


def test_a_line_too_long_is_passed_by(tmp_path: Path) -> None:
    """It costs itself and is counted; one as long as may be is read."""
    bad: Counter[str] = Counter()
    file = written(tmp_path / "x.jsonl", b"a" * (3 * LINE_LIMIT) + b"\nshort\n" + b"b" * (LINE_LIMIT - 1) + b"\nc")

    assert [len(line) for line in read(file, bad)] == [6, LINE_LIMIT, 1]
    assert bad == {"a line too long": 1}


def test_a_file_is_read_as_far_as_it_went_when_opened(tmp_path: Path) -> None:
    """An agent that writes while we read does not keep us for ever."""
    file = written(tmp_path / "x.jsonl", b"x" * 99 + b"\n")
    found = []
    with Path(file.path).open("ab") as agent:
        for line in read(file, Counter()):
            found.append(line)
            agent.write(b"more\n" * (1 << 19))
            agent.flush()

    assert len(found) == 1


def test_a_file_that_was_replaced_is_not_read(tmp_path: Path) -> None:
    """Nor one that vanished, nor a pipe or a link out that was put in its place."""
    path = tmp_path / "x.jsonl"
    file = written(path, b"{}\n")
    path.rename(tmp_path / "old")
    with pytest.raises(FileNotFoundError):
        list(read(file, Counter()))
    written(path, b"{}\n")
    with pytest.raises(Replaced):
        list(read(file, Counter()))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(Replaced):
        list(read(file, Counter()))


def test_a_packed_file_reads_like_a_plain_one(tmp_path: Path) -> None:
    """Frames after one another, too; one that was cut off gives what it held until then."""
    data = b'{"a":1}\n' * 5000
    packed = zstandard.compress(data) + zstandard.compress(b'{"b":2}\n')
    bad: Counter[str] = Counter()

    assert b"".join(read(written(tmp_path / "x.jsonl.zst", packed), bad)) == data + b'{"b":2}\n'
    assert bad == {}
    assert list(read(written(tmp_path / "y.jsonl.zst", b"no frame at all\n"), bad)) == []
    assert bad == {"cannot be unpacked": 1}
    assert b"".join(read(written(tmp_path / "z.jsonl.zst", zstandard.compress(data) + b"garbage" * 9), bad)) == data
    assert bad == {"cannot be unpacked": 2}


def test_a_packed_file_is_not_unpacked_without_end(tmp_path: Path) -> None:
    """A small file may hold more than any disk does: what is beyond the limit is told, and not read."""
    packer, piece = zstandard.ZstdCompressor().compressobj(), b"x" * (1 << 26)
    packed = b"".join(packer.compress(piece) for _ in range((UNPACKED_LIMIT >> 26) + 1)) + packer.flush()
    file = written(tmp_path / "x.jsonl.zst", zstandard.compress(b'{"a":1}\n') + packed)
    bad: Counter[str] = Counter()

    assert list(read(file, bad)) == [b'{"a":1}\n']
    assert bad == {"a line too long": 1, "too large unpacked": 1}


def test_reading_leaves_no_file_open(tmp_path: Path) -> None:
    """Also when nobody reads to the end."""
    file = written(tmp_path / "x.jsonl", b"{}\n" * 9)
    descriptor = os.dup(0)
    reading = read(file, Counter())
    next(reading)
    reading.close()  # type: ignore[attr-defined]  # a generator
    os.close(descriptor)

    assert os.dup(0) == descriptor  # the lowest that is free
    os.close(descriptor)


# --- objects -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "found", "bad"),
    [
        (b'{"a":1}\n', [{"a": 1}], {}),
        (b'{"a":1}{"b":2}\n', [{"a": 1}, {"b": 2}], {}),
        (b'{"a":1} \x00\x00 {"b":2}\n', [{"a": 1}, {"b": 2}], {}),
        (b'\x00\x00{"a":1}\x00\n', [{"a": 1}], {}),
        (b'\xef\xbb\xbf{"a":1}\r\n', [{"a": 1}], {}),
        (b"\n", [], {}),
        (b"  \t\r\n", [], {}),
        (b"\x00\x00\n", [], {"no text": 1}),
        (b'[1,2]\n"s"\nnull\n7\n', [], {"not an object": 4}),
        (b'[1] {"a":1}\n', [{"a": 1}], {"not an object": 1}),
        (b'\xff\xfe\n{"a":1}\n', [{"a": 1}], {"not UTF-8": 1}),
        (b'{"a":"\xff"}\n', [], {"not UTF-8": 1}),
        (b'{"a":\n{"b":2}\n', [{"b": 2}], {"not JSON": 1}),
        (b'{"a":"cut', [], {"cut off": 1}),
        (b'{"a":"abc{"b":2}\n', [{"b": 2}], {"not JSON": 1}),
        (b'{"a":{"x":[1,{"b":2}\n', [], {"not JSON": 1}),
        (b'{"a":1,{"b":2}{"c":3}\n', [{"b": 2}, {"c": 3}], {"not JSON": 1}),
        (b'{"a":"x\\ud800y"}\n', [{"a": "x\ud800y"}], {}),
        (b'{"a":{"\x00"}\n', [], {"not JSON": 2}),
        (b'{"' * 500_000 + b"\n", [], {"not JSON": 10}),
        (b'{"a":NaN}\n', None, {}),
        (b'{"a":1' + b"0" * 400 + b"}\n", None, {}),
        (b'{"a":' * 100_000 + b"\n", [], {"not JSON": 1}),
        (b"[" * 100_000 + b"\n", [], {"not JSON": 1}),
        ('{"a":"\u2028"}\n'.encode(), [{"a": "\u2028"}], {}),
    ],
)
def test_pieces_are_read_or_counted(data: bytes, found: list[Any] | None, bad: dict[str, int]) -> None:
    """Two objects on a line, filler, text cut off or written over: what is whole is read, the rest has its reason."""
    got, counted = values(data)

    assert counted == bad
    if found is not None:
        assert got == found
    else:
        assert len(got) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=4), st.booleans())
def test_what_was_written_is_read(written: list[dict[str, Any]], plain: bool) -> None:
    """Any objects, one a line or glued to each other, come back as they were."""
    glue = "\n" if plain else ""
    data = glue.join(json.dumps(item) for item in written).encode()

    assert values(data) == (written, {})


@given(st.binary(max_size=80))
def test_no_bytes_raise(data: bytes) -> None:
    """Every line is objects, reasons, or blank."""
    got, bad = values(data)

    assert all(isinstance(item, dict) for item in got)
    assert sum(bad.values()) <= len(data)


@given(st.text(st.characters(exclude_characters='"\\'), min_size=1), st.data())
def test_what_is_written_over_a_broken_text_is_read(text: str, data: st.DataObject) -> None:
    """A writer that was killed left half a record, and the next one began on the same line."""
    other = {"b": [1, {"c": "{}"}]}
    half = '{"a":"' + text[: data.draw(st.integers(0, len(text)))].replace("\n", "")
    got, bad = values((half + json.dumps(other) + "\n").encode())

    assert got == [other] or not half.isprintable()
    assert bad == {"not JSON": 1} or not half.isprintable()


@given(JSON, st.data())
def test_a_part_of_a_broken_record_is_never_taken_for_a_record(inner: Any, data: st.DataObject) -> None:
    """What a tool was called with is no record, wherever the record around it ends."""
    whole = json.dumps({"input": [{"type": "user", "x": inner}], "more": {"type": "user"}})
    half = whole[: data.draw(st.integers(0, len(whole) - 1))]

    assert values((half + "\n").encode())[0] == []


# --- what an object holds ----------------------------------------------------------------------------------------


def test_values_of_the_wrong_type_are_as_good_as_missing() -> None:
    """Formats change; what is not what it should be is nothing."""
    line: Any = {"text": 7, "table": [], "rows": [1, {"a": 1}, None], "flag": 1, "strings": ["x", 2, "y"]}

    assert lines.string(line, "text") == ""
    assert lines.table(line, "table") == {}
    assert lines.rows(line, "rows") == [{"a": 1}]
    assert (lines.rows(line, "text"), lines.strings(line, "text")) == ([], [])
    assert lines.strings(line, "strings") == ["x", "y"]
    assert lines.flag(line, "flag") is False
    assert lines.flag({"flag": True}, "flag") is True


def test_text_can_be_written_and_names_are_names() -> None:
    """Lone surrogates and NULs become the replacement character; a name keeps only what a name is made of."""
    assert lines.string({"a": "x\ud800\0y"}, "a") == "x\ufffd\ufffdy"
    assert lines.clean("Grüße ✅") == "Grüße ✅"
    assert lines.name("mcp__git:log;rm -rf /" + "x" * 99) == "mcp__git:log_rm_-rf__" + "x" * 59


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-29T17:09:55.065Z", datetime(2026, 11, 29, 17, 9, 55, 65_000, UTC)),
        ("2026-11-29T17:09:55Z", datetime(2026, 11, 29, 17, 9, 55, 0, UTC)),
        ("2026-11-29T18:09:55.5+01:00", datetime(2026, 11, 29, 17, 9, 55, 500_000, UTC)),
        ("2026-11-29 17:09:55", datetime(2026, 11, 29, 17, 9, 55, 0, UTC)),
        ("2026-11-29", datetime(2026, 11, 29, tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_times_are_instants(text: str, time: datetime | None) -> None:
    """Zones and fractions of all lengths; a time without a zone is UTC."""
    assert lines.instant(text) == time


# --- a glance ----------------------------------------------------------------------------------------------------


def at(second: int) -> datetime:
    return datetime(2026, 11, 29, 17, 9, second, tzinfo=UTC)


@pytest.mark.parametrize("record", ['{{"timestamp":"{}","x":1}}', '{{"x":"{{","timestamp": "{}"}}'])
@pytest.mark.parametrize("filler", ["", '{"x":"' + "y" * 20_000 + '"}\n'], ids=["short", "long"])
def test_a_glance_tells_the_times_of_the_last_records(tmp_path: Path, record: str, filler: str) -> None:
    """The last four; a time within a text is none, and records without one are passed by."""
    text = json.dumps({"x": '"timestamp":"2099-01-01T00:00:00Z"'}) + "\n"
    times = [record.format(at(second).isoformat()) + "\n" for second in (9, 3, 1, 4, 2)]
    file = written(tmp_path / "x.jsonl", "".join([*times, text, filler]).encode())

    assert lines.last_times(Transcript((file,))) == Span(at(1), at(4))


@pytest.mark.parametrize("data", [b"", b"{}\n", b'{"timestamp":"soon"}\n', b'{"timestamp":7}\n', b"\xff\x00\n"])
def test_a_glance_that_tells_nothing_says_so(tmp_path: Path, data: bytes) -> None:
    """Then the file has to be read; so it has if it is packed, or not there any more."""
    file = written(tmp_path / "x.jsonl", data)
    assert lines.last_times(Transcript((file,))) is None
    Path(file.path).unlink()
    assert lines.last_times(Transcript((file,))) is None
    packed = written(tmp_path / "x.jsonl.zst", b'{"timestamp":"2026-11-29T17:09:55Z"}\n')
    assert lines.last_times(Transcript((packed,))) is None
