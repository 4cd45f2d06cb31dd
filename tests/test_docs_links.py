"""The pages for people: every link in them leads somewhere, and every command in them is one."""

from __future__ import annotations

import re
import shlex
from itertools import groupby
from pathlib import Path

import pytest

from skillopt_git import cli

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
    lines = page.read_text(encoding="utf-8").splitlines()
    titles = sorted(
        re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in lines if line[:1] == "#"
    )
    return {f"{title}-{at}" if at else title for title, same in groupby(titles) for at, _ in enumerate(same)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """To a file that is there, and to a heading of it."""
    lost = []
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(f"{path}#{anchor}")
    assert lost == []


def commands(page: Path) -> list[list[str]]:
    """What the page tells to type: verb and options."""
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"^    (?:[A-Z_]+=\S+ )*skillopt-git ([^#\n]*)", text, re.MULTILINE)
    return [shlex.split(line) for line in lines]


@pytest.mark.parametrize("name", ["README.md", "docs/backends.md", "docs/github.md", "docs/schedules.md"])
def test_commands_are_known_with_their_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As their own help has them; what stands in brackets is left out."""
    for verb, *rest in commands(ROOT / name):
        sub = (
            [word for word in rest[:1] if not word.startswith("-")] if verb in ("ledger", "rejections", "tasks") else []
        )
        assert cli.run([verb, *sub, "--help"]) == 0
        help_ = capsys.readouterr().out
        assert {word for word in rest if word.startswith("--")} <= set(re.findall(r"--[\w-]+", help_)), (verb, rest)
