"""Names of servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.hosts import among, host, is_here, place


@pytest.mark.parametrize(
    ("address", "name", "where"),
    [
        ("https://alice:secret@Models.example:8000/v1?key=secret", "models.example", "models.example:8000"),
        ("https://models.example", "models.example", "models.example"),
        ("http://127.0.0.1:11434/v1", "127.0.0.1", "127.0.0.1"),
        ("http://localhost:1", "localhost", "localhost"),
        ("http://[::1]:8000", "::1", "::1"),
        ("ftp://models.example", "", ""),
        ("models.example:8000", "", ""),
        ("https://[::1", "", ""),
        ("https://", "", ""),
    ],
)
def test_an_address_names_a_host_and_a_place(address: str, name: str, where: str) -> None:
    """Without what may open it; on this machine without the port."""
    assert (host(address), place(address)) == (name, where)


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(st.text(), st.sampled_from(["", "https://", "http://[", "https://a@"]))
def test_any_text_is_an_address_or_none(text: str, start: str) -> None:
    """Nothing is raised."""
    assert isinstance(place(start + text), str)


@pytest.mark.parametrize(
    ("name", "here"),
    [("localhost", True), ("127.0.0.2", True), ("::1", True), ("10.0.0.1", False), ("127.0.0.1.example", False)],
)
def test_this_machine(name: str, here: bool) -> None:
    """By its loopback alone."""
    assert is_here(name) is here


@pytest.mark.parametrize(
    ("name", "known"),
    [("api.example", True), ("eu.models.example", True), ("models.example", False), ("xapi.example", False)],
)
def test_known_hosts(name: str, known: bool) -> None:
    """Exactly, or below one that begins with a dot."""
    assert among(name, ("api.example", ".models.example")) is known
