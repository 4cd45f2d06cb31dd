"""Names of servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.hosts import among, host, is_here, opens, place


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
        # Programs differ about these: the host could be either.
        ("http://models.example\\@127.0.0.1/", "", ""),
        ("http://models.example\t@127.0.0.1/", "", ""),
        ("http://127.0.0.1 @models.example/", "", ""),
        (" http://127.0.0.1", "", ""),
        ("http://127.0.0.1\n", "", ""),
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


@pytest.mark.parametrize(
    ("address", "secrets"),
    [
        ("https://alice:correct%20horse@models.example/v1?key=0123456789&v=1", ("correct%20horse", "correct horse",
            "0123456789")),
        ("https://alice@models.example", ()),
        ("https://alice:short@models.example", ()),
        ("https://models.example/v1", ()),
        ("alice:correct-horse", ()),
    ],
)  # fmt: skip
def test_what_opens_an_address_is_told_apart(address: str, secrets: tuple[str, ...]) -> None:
    """A server may repeat it. What is short would stand in other words."""
    assert opens(address) == secrets
