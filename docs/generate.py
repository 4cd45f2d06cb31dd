"""Writes the pages that follow from the code: `make docs`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le

from skillopt_git.config import PERSONAL, Config, Setting, settings

PAGE = Path(__file__).parent / "configuration.md"
INTRODUCTION = """\
<!-- Written by docs/generate.py; change skillopt_git/config.py and run `make docs`. -->

# Configuration

Nothing has to be configured but the backend, which has no default. A setting is a `name` in a `[section]` of

1. `pyproject.toml`, there below `[tool.skillopt]`, at the root of the repository,
2. `.skillopt.toml` at the root of the repository,
3. your own file, `$XDG_CONFIG_HOME/skillopt/config.toml` or else `~/.config/skillopt/config.toml`,

or an environment variable `SKILLOPT_<SECTION>_<NAME>` (lists are separated by commas, and an empty variable counts as
not set), or a flag of a command. Later places win over earlier ones, in this order. An unknown name or a wrong value is
an error that names the nearest known one; all problems are told at once.

Settings marked **personal** decide what may be read, run, reached or merged on somebody's machine. They are taken from
your own file, the environment and flags; in a file of the repository they are an error. Keys and tokens are no
settings: they are read from the environment alone.
"""


def page() -> str:
    sections = get_type_hints(Config)
    parts = [INTRODUCTION]
    for name, items in groupby(settings(), lambda item: item.section):
        parts.append(f"## `[{name}]`\n\n{sections[name].__doc__}\n")
        parts.append("| setting | default | values | |\n|---|---|---|---|\n" + "\n".join(map(_row, items)) + "\n")
    return "\n".join(parts)


def _row(item: Setting) -> str:
    personal = "**Personal.** " if item.door == PERSONAL else ""
    return f"| `{item.name}` | `{_toml(item.default)}` | {_values(item.type_)} | {personal}{item.help} |"


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _values(type_: Any) -> str:
    if type_ is bool:
        return "true, false"
    if hasattr(type_, "__metadata__"):
        return " ".join([_values(type_.__origin__), *map(_bound, type_.__metadata__)])
    if get_origin(type_) is tuple:
        return "list of texts"
    if get_args(type_):
        return ", ".join(f"`{value}`" for value in get_args(type_))
    return {str: "text", int: "whole number", float: "number"}[type_]


def _bound(limit: Any) -> str:
    match limit:
        case Ge(least):
            return f"from {least:g}"
        case Le(most):
            return f"to {most:,.10g}".replace(",", " ")
        case _:
            raise ValueError(f"no words for {limit}")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
