"""Writes the pages that follow from the code: `make docs`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le

from skillopt_git import roles
from skillopt_git.config import PERSONAL, Config, Setting, settings
from skillopt_git.doors import About

PAGE = Path(__file__).parent / "configuration.md"
BACKENDS_PAGE = Path(__file__).parent / "backends.md"
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


BACKENDS_INTRODUCTION = """\
<!-- Written by docs/generate.py from the backends' modules; run `make docs`. -->

# Backends

A run has two model roles. The **target** answers tasks under the documents that are taught; the **optimizer** mines,
judges rubrics and proposes edits. Each has a backend and a model: `replay.backend` and `replay.model` for the target,
`replay.optimizer_backend` and `replay.optimizer_model` for the optimizer, which is the target's own where they are
empty. There is no default, for what answers decides what the figures mean.

    export SKILLOPT_REPLAY_BACKEND=anthropic SKILLOPT_REPLAY_SEND=reviewed
    skillopt-git doctor                # is the key there, and where would requests go?
    skillopt-git dry-run --outgoing    # every word that would leave this machine; nothing is sent
    skillopt-git run --estimate        # how many calls, tokens and dollars at most
    skillopt-git run

## What leaves your machine

Nothing, until you say what may: `replay.send` in your own settings file, in the environment, or as the answer to the
one question of `skillopt-git init`. `"reviewed"` sends only tasks that people reviewed (`.skillopt/tasks/`), `"mined"`
also your sessions, after secrets, addresses and names of homes were taken out: the tasks that were mined from them and,
unless `mine.with = "rules"`, what you typed and what the agent answered, in which the optimizer looks for more, each
session once. Beside these a model hears the documents that are taught (as they are on the base branch), the wishes
behind the tasks, the model's own earlier answers, `propose.preferences`, and what people refused, with their reasons.
Never: tool output, other files, what is marked personal.

- Requests go to the backend's own hosts, to `replay.base_url` and to `replay.hosts`; an address that an environment
  variable brings along counts only if its host is among these (exit 5 otherwise). No redirect is followed.
- Only this machine is spoken to without encryption.
- Keys come from the environment alone, and stand in no argument, file, log, cache or cassette.
- A repository's settings can choose no backend, address, key or host, and cannot widen `replay.send`.
- What was typed or answered goes to a model between random fences that it is told not to obey.
- A server on this machine needs no consent.

## What it costs

`budget.tokens`, `budget.usd` and `budget.minutes` bound a night, `budget.week_*` seven days. Each call reserves what it
may cost before it is made. At the limit what is judged is finished, the rest is said, and the run ends with exit 0; the
next night goes on from the answers that are there. Without a known price only tokens count, and a limit in dollars is
refused. Nothing is asked twice within a run, and an answer that is in the call cache costs nothing.

## What models are asked

`skillopt-git prompts` lists the prompts, `skillopt-git prompts reflect` shows one. A repository may word its own: a
file `.skillopt/prompts/reflect.md.j2` on the base branch stands in for the shipped one. Such a template sees its values
and reaches nothing else.

## A backend that is not there

One small call asks both models whether they are there, before anything is spent. A wrong key, a spent quota, an unknown
model or a missing program ends the run with exit 1, a network that is down with exit 75, in the provider's own words.
Nothing is recorded then, and the error is never taken for an answer.
"""


def backends_page() -> str:
    every = [roles.about(name) for name in sorted(roles.BACKENDS)]
    rows = [f"| `{item.name}` | {item.title} | {_sent(item)} |" for item in every]
    table = "| backend | | what is sent goes to |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    return "\n".join([BACKENDS_INTRODUCTION, "## The backends\n", table, *map(_backend, every)])


def _sent(item: About) -> str:
    return ", ".join(f"`{host}`" for host in item.hosts) or ("where you say" if item.sends else "nobody")


def _backend(item: About) -> str:
    facts = {
        "How the documents reach the model": item.documents,
        "Set-up": item.setup,
        "Key": ", ".join(f"`{name}`" for name in item.keys),
        "Address": f"`{item.address}`" if item.address else "",
        "Model, where none is named": f"`{item.model}`" if item.model else "",
        "What leaves the machine": item.leaves,
        "Cost": item.cost,
        "Limits": item.limits,
    }
    told = "\n".join(f"- **{name}.** {text}" for name, text in facts.items() if text)
    return f"### `{item.name}`: {item.title}\n\n{told}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    BACKENDS_PAGE.write_text(backends_page(), encoding="utf-8")
