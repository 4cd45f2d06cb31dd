"""Where settings come from: defaults, the repository's file, the user's file, the environment and flags.

Later wins. Every problem of every place is reported at once.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

from skillopt_git.config import (
    FILE_NAME,
    LEDGER_BRANCH,
    LEDGER_REF,
    PERSONAL,
    SHARED,
    SHORTEST_DENIED,
    Config,
    Mine,
    Propose,
    Setting,
    settings,
)
from skillopt_git.errors import ConfigError
from skillopt_git.schema import problems, read


@dataclass(frozen=True, slots=True)
class Layer:
    """Values from one place: `name` is how an error calls it, `door` what that place may set."""

    name: str
    door: str
    values: Mapping[str, Any]  # by section.name


def user_file(environ: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME/skillopt/config.toml`, else `~/.config/skillopt/config.toml`."""
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".config")
    return Path(base) / "skillopt" / "config.toml"


def load(
    root: Path | None, *, environ: Mapping[str, str] = os.environ, flags: Mapping[str, Any] | None = None
) -> Config:
    """The settings in force in the repository at `root`.

    `flags` maps `section.name` to a value; None means that the flag was not given. Raises `ConfigError` naming every
    problem of every place.
    """
    found: list[str] = []
    layers = [*_files(root, environ, found), _environment(environ), Layer("flags", PERSONAL, _given(flags or {}))]
    known = {item.key: item for item in settings()}
    merged: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for key, value in layer.values.items():
            problem = _problem(key, value, layer, known)
            if problem:
                found.append(f"{layer.name}: {problem}")
            else:
                merged.setdefault(known[key].section, {})[known[key].name] = value
    if not found:
        found.extend(_together(merged))
    if found:
        raise ConfigError(
            "the settings are not valid:\n" + "\n".join(f"  {line}" for line in found),
            "every setting is listed in docs/configuration.md",
        )
    return read(Config, json.dumps(merged), where="the settings")


def _given(flags: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in flags.items() if value is not None}


def _files(root: Path | None, environ: Mapping[str, str], found: list[str]) -> Iterator[Layer]:
    if root is not None:
        yield _table_layer(root / "pyproject.toml", SHARED, found, ("tool", "skillopt"))
        yield _table_layer(root / FILE_NAME, SHARED, found)
    yield _table_layer(user_file(environ), PERSONAL, found)


def _table_layer(path: Path, door: str, found: list[str], inside: tuple[str, ...] = ()) -> Layer:
    try:
        if path.exists() and not path.is_file():
            found.append(f"{path}: not a file")
            return Layer(str(path), door, {})
        table = _inside(tomllib.loads(path.read_text(encoding="utf-8")), inside)
    except (FileNotFoundError, NotADirectoryError):
        return Layer(path.name, door, {})
    except (OSError, ValueError) as error:  # not readable, not UTF-8, not TOML, or no table
        found.append(f"{path}: {error}")
        return Layer(path.name, door, {})
    values: dict[str, Any] = {}
    for section, content in table.items():
        if isinstance(content, dict):
            values.update({f"{section}.{name}": value for name, value in content.items()})
        else:
            values[section] = content
    return Layer(str(path), door, values)


def _inside(table: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    for key in keys:
        table = table.get(key, {})
        if not isinstance(table, dict):
            raise ValueError(f"'{key}' must be a table")  # noqa: TRY004 - told like the other faults of a file
    return table


def _environment(environ: Mapping[str, str]) -> Layer:
    """An empty variable counts as not set. One that names a section and no setting of it is a typing error."""
    known = {item.env: item for item in settings()}
    sections = tuple(f"SKILLOPT_{part.name}_".upper() for part in fields(Config))
    values: dict[str, Any] = {}
    for name, text in environ.items():
        if text and name in known:
            values[known[name].key] = _from_text(known[name], text)
        elif text and name.startswith(sections):
            values[name.removeprefix("SKILLOPT_").lower().replace("_", ".", 1)] = text
    return Layer("environment", PERSONAL, values)


def _from_text(item: Setting, text: str) -> Any:
    if isinstance(item.default, str):
        return text
    if isinstance(item.default, tuple):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:  # which knows no `.9`
        return float(text) if re.fullmatch(r"\d*\.\d*", text) and text != "." else text


def _problem(key: str, value: Any, layer: Layer, known: Mapping[str, Setting]) -> str | None:
    if key not in known:
        near = get_close_matches(key, known, n=1, cutoff=0.5)
        return f"unknown setting '{key}'" + (f" (did you mean '{near[0]}'?)" if near else "")
    item = known[key]
    if item.door == PERSONAL and layer.door == SHARED:
        return f"'{key}' may not be set by a repository; set it in your own file, by {item.env} or by a flag"
    try:
        wrong = problems(item.type_, json.dumps(value).encode())
    except TypeError:
        return f"'{key}' has a value of the wrong type ({value})"
    return f"'{key}': {'; '.join(wrong)}" if wrong else None


def _together(merged: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Problems that only several values together, or the machine, can show."""
    mine = merged.get("mine", {})
    val, test = mine.get("val_fraction", Mine().val_fraction), mine.get("test_fraction", Mine().test_fraction)
    if val + test >= 1:
        yield f"mine.val_fraction ({val}) and mine.test_fraction ({test}) must leave room for training"
    roots = merged.get("documents", {}).get("skill_roots", ())
    outside = [root for root in roots if not _within(root)]
    if outside:
        yield f"documents.skill_roots must be folders within the repository; see {', '.join(map(repr, outside))}"
    ledger = merged.get("propose", {}).get("ledger_ref", Propose().ledger_ref)
    if not LEDGER_REF.fullmatch(ledger):
        yield f"propose.ledger_ref must be below refs/skillopt/, or {LEDGER_BRANCH}; it is '{ledger}'"
    words = merged.get("harvest", {}).get("deny_words", ())
    short = [str(place) for place, word in enumerate(words, start=1) if len(" ".join(word.split())) < SHORTEST_DENIED]
    if short:  # told by their places: the words themselves are private
        yield f"harvest.deny_words needs at least {SHORTEST_DENIED} characters in each; see number {', '.join(short)}"
    zone = merged.get("propose", {}).get("time_zone", "UTC")
    if zone != "UTC" and zone not in available_timezones():
        near = get_close_matches(zone, available_timezones(), n=1)
        yield f"propose.time_zone '{zone}' is unknown" + (f" (did you mean '{near[0]}'?)" if near else "")


def _within(root: str) -> bool:
    """Whether it is a path below the repository, spelled plainly."""
    plain = root.isprintable() and not {"\\", ":"} & set(root)
    return plain and all(part not in ("", ".", "..") for part in root.removesuffix("/").split("/"))
