from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "skillopt_git"
MOST_LINES = 350

# A module imports from its own layer or from one above. A module not named here is a stage.
LAYERS = ("nouns", "stages", "files", "adapters", "keepers", "wiring", "commands", "door")
GIT = ("gitrepo", "history", "remote", "targets", "worktrees")  # one adapter: only the first knows the library
PLACES = {
    "skillopt_git": "nouns",
    **dict.fromkeys(("agents", "config", "errors", "findings", "ids", "loading", "model", "packed", "ports"), "nouns"),
    **dict.fromkeys(("schema", "stamp", "timetable", "transcripts", "window"), "nouns"),
    **dict.fromkeys(
        ("dialogue", "envfile", "folders", "lines", "locks", "ownfiles", "programs", "whole", "wire"), "files"
    ),
    **dict.fromkeys(("sources", "backends", "forges", "schedules", *GIT), "adapters"),
    **dict.fromkeys(("accounts", "anchors", "audit", "decide", "exchange", "index", "ledger", "outcomes"), "keepers"),
    **dict.fromkeys(
        ("branches", "present", "private", "publish", "record", "reunion", "taskbranch", "tasksfile"),
        "keepers",
    ),
    **dict.fromkeys(
        ("wiring", "consent", "modelcheck", "workshop", "placing", "nightly", "checkup", "console", "crash"),
        "wiring",
    ),
    **dict.fromkeys(
        ("bundle", "finishing", "keeping", "proposing", "outside", "rebuilding", "refusing", "reviewing"), "wiring"
    ),
    **dict.fromkeys(("pinning", "scheduled", "scheduling", "skillhomes", "vitals"), "wiring"),
    **dict.fromkeys(("consent", "forecast", "modelcheck", "rehearsal", "roles"), "wiring"),
    **dict.fromkeys(("hearing", "pausing", "pulls", "spending", "unlearning", "waiting"), "keepers"),
    "commands": "commands",
    **dict.fromkeys(("cli", "__main__"), "door"),
}
OWNERS = {
    "annotated_types": {"config"},
    "azure": {"backends.openai_azure"},
    "betterleaks": {"redact"},
    "filelock": {"locks"},
    "git": {"gitrepo"},
    "github": {"forges"},
    "anthropic": {"backends.anthropic_client"},
    "httpx2": {"wire"},
    "genai_prices": {"prices"},
    "jinja2": {"render"},
    "markdown_it": {"pages"},
    "msgspec": {"packed"},
    "openai": {"backends.openai_calls"},
    "numpy": {"campaign", "simulation"},
    "py3langid": {"languages"},
    "pydantic": {"schema"},
    "rapidfuzz": {"similarity"},
    "regex": {"checks"},
    "rich": {"console"},
    "rstr": {"backends.mock"},
    "snowballstemmer": {"grammar"},
    "typer": {"cli", "commands"},
    "zstandard": {"lines"},
}


def modules() -> Iterator[tuple[str, Path]]:
    """Dotted names below the package, and their files."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        yield ("skillopt_git" if name == "__init__" else name), path


MODULES = tuple(modules())
NAMES = frozenset(name for name, _ in MODULES)
each_module = pytest.mark.parametrize(("name", "path"), MODULES, ids=[name for name, _ in MODULES])


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(imported(path.read_text(encoding="utf-8")))


def imported(source: str) -> Iterator[str]:
    """Every module that is imported, at whatever depth; our own ones without the package's name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (own(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = own(str(node.module))
            for alias in node.names:
                below = alias.name if module == "skillopt_git" else f"{module}.{alias.name}"
                yield below if below in NAMES else module


def own(name: str) -> str:
    return name.removeprefix("skillopt_git.")


def layer(module: str) -> int:
    return LAYERS.index(PLACES.get(module, PLACES.get(module.partition(".")[0], "stages")))


def wrong_direction(module: str, other: str) -> bool:
    if other not in NAMES or other == module:
        return False
    both_adapt = LAYERS[layer(module)] == LAYERS[layer(other)] == "adapters"
    return layer(other) > layer(module) or (both_adapt and adapter(module) != adapter(other))


def adapter(module: str) -> str:
    """`sources.claude` and its parts, `sources.claude_...`, are one; so are those of git."""
    return GIT[0] if module in GIT else module.partition("_")[0]


def wrong_owner(module: str, other: str) -> bool:
    library = other.partition(".")[0]
    if other in NAMES or library in sys.stdlib_module_names or library == "skillopt_git":
        return False
    return not {module, module.partition(".")[0]} & OWNERS.get(library, set())


@each_module
def test_a_module_imports_only_from_above_and_only_libraries_it_owns(name: str, path: Path) -> None:
    """Imports go one way, adapters do not know each other, and each library has one owner."""
    assert [other for other in imports(path) if wrong_direction(name, other)] == []
    assert [other for other in imports(path) if wrong_owner(name, other)] == []


@each_module
def test_a_module_can_be_read_in_one_sitting(name: str, path: Path) -> None:
    """A stage that grows gets a sibling."""
    lines = sum(bool(line.strip()) for line in path.read_text(encoding="utf-8").splitlines())
    assert lines <= MOST_LINES, name


def test_the_rules_notice_what_breaks_them() -> None:
    """A noun importing a stage, a stage importing the console, a library in a strange place: each is seen."""
    source = "import git\nfrom skillopt_git import console\nfrom skillopt_git.similarity import simhash\nimport json\n"
    assert list(imported(source)) == ["git", "console", "similarity", "json"]
    assert wrong_direction("model", "similarity")
    assert wrong_direction("similarity", "console")
    assert not wrong_direction("console", "similarity")
    assert wrong_direction("sources.claude", "gitrepo")
    assert not wrong_direction("sources.claude", "sources.claude_tree")
    assert wrong_owner("model", "git")
    assert wrong_owner("model", "a_library_nobody_declared.part")
    assert not wrong_owner("commands.run", "typer")


def test_every_owner_uses_its_library() -> None:
    """A library that nobody imports any more leaves the table, and `pyproject.toml`."""
    used = {
        (other.partition(".")[0], owner)
        for name, path in MODULES
        for other in imports(path)
        for owner in (name, name.partition(".")[0])
    }
    owned = {(library, owner) for library, owners in OWNERS.items() for owner in owners}
    assert owned - used == set()
