"""The genuine sessions of every agent, each against its manifest."""

from __future__ import annotations

import pytest

from tests.corpus import Row, rows

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row.file[-60:])
def test_a_genuine_file_is_what_its_manifest_says(row: Row) -> None:
    """Every field: what was typed, answered, called, edited, where and when; and what is no session is none."""
    assert row.wrong == ()
