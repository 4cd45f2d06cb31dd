"""Writes the pages that follow from the code: `make docs`."""

from __future__ import annotations

from inspect import cleandoc
from itertools import groupby
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le

from skillopt_git import prices, roles
from skillopt_git.config import PERSONAL, Config, Setting, settings
from skillopt_git.doors import THERE, About
from skillopt_git.errors import MeasurementInvalid
from skillopt_git.ports import CallFailed, FailureKind
from skillopt_git.replay import DEAD, dead

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
        parts.append(f"## `[{name}]`\n\n{cleandoc(sections[name].__doc__ or '')}\n")
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
        return ", ".join(f"`{value or _toml(value)}`" for value in get_args(type_))
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

A run has two model roles. The **target** answers tasks under the documents that are taught; the **optimizer** mines
tasks, judges answers and proposes rules. Each has a backend, which is the way to a model, and a model: `replay.backend`
and `replay.model` for the target, `replay.optimizer_backend` and `replay.optimizer_model` for the optimizer, which is
as the target where they are empty. There is no default, for what answers decides what the figures mean.

    export ANTHROPIC_API_KEY=...
    export SKILLOPT_REPLAY_BACKEND=anthropic SKILLOPT_REPLAY_SEND=reviewed
    skillopt-git doctor                # is the key there, and where would requests go?
    skillopt-git dry-run --outgoing    # what would leave this machine, word for word; nothing is sent
    skillopt-git run --estimate        # how many calls, tokens and dollars, likely and at most; nobody is asked
    skillopt-git run

Every setting is told in [configuration.md](configuration.md#replay). For good they belong in your own
`~/.config/skillopt/config.toml`; for nights by a schedule or in CI see [schedules.md](schedules.md) and
[github.md](github.md#a-model).

- [What leaves your machine](#what-leaves-your-machine) · [What it costs](#what-it-costs)
- [What models are asked](#what-models-are-asked) · [When a call fails](#when-a-call-fails)
- [The backends](#the-backends) · [Servers on this machine](#servers-on-this-machine)
- [Answers by hand, or by another agent](#answers-by-hand-or-by-another-agent) · [A recording](#a-recording)

## What leaves your machine

Nothing, until you say what may: `replay.send` in your own settings file, in the environment, or as the answer to the
one question of `skillopt-git init`. A run with a real backend ends with exit 2 before that. `"reviewed"` sends only
tasks that people reviewed (`.skillopt/tasks/`, and `--tasks-file` where the file says so), `"mined"` also your
sessions, after secrets, e-mail and IP addresses and home folders were taken out: the tasks that were mined from them
and, unless `mine.with = "rules"`, what you typed and what the agent answered, in which the optimizer looks for more,
each session once. Who judges by a rubric sees the task, the answer and the task's `reference`, and not what the answer
was written under. Beside these a model hears the documents that are taught (as they are on the base branch), the
wishes behind the tasks, the models' own earlier answers, `propose.preferences`, and what people refused, with their
reasons. Never: tool output, other files, tasks that are marked as personal.

- Requests go to the backend's own hosts, or to `replay.base_url`. An address that an environment variable brings along
  may be there for another program: it counts only if its host is one of the backend's or in `replay.hosts` (exit 5).
- Only this machine is spoken to without encryption (exit 5), and needs no `replay.send`. No redirect is followed.
- Headers of the environment (`ANTHROPIC_CUSTOM_HEADERS`, `OPENAI_CUSTOM_HEADERS`) go with the environment's own address
  alone: a key for another server may be among them. To `replay.base_url` they do not go, nor to Azure.
- `claude` is a program of its own: what it does beside is told [below](#claude-claude-code-claude--p).
- Keys come from the environment alone, and stand in no argument, file, log, cache or cassette.
- A repository's settings can choose no backend, address, key or host, and cannot say what may be sent. They can name
  the model and a budget; your own settings go before them.
- What was typed or answered goes to a model between random fences that it is told not to obey.

## What it costs

`budget.tokens`, `budget.usd` and `budget.minutes` bound a night, `budget.week_tokens`, `budget.week_usd` and
`budget.week_minutes` seven days of this clone ([configuration.md](configuration.md#budget)). Each call reserves the
most it may cost before it is made, so however many are under way, together they stay within every limit. What nobody
told the price of, such as half an answer or one that came too late, counts as the most it may have cost. At the limit
what is judged is finished, the rest is told, and the run ends with exit 0; the next night goes on from the answers that
are there. Nothing is asked twice within a run, and an answer that is in the call cache costs nothing.

Prices are those of the installed table, {table}, and no server is asked for them; `run --estimate` says how
new it is. What a model costs that is not in it is unknown, never 0: then tokens are counted, and a limit in dollars is
refused (exit 2). A server on this machine has no price.

## What models are asked

`skillopt-git prompts` lists the prompts, `skillopt-git prompts reflect` shows one. A repository may word its own: a
file `.skillopt/prompts/reflect.md.j2` on the base branch stands in for the shipped one. Such a template sees its values
and reaches nothing else.

## When a call fails

One small call asks each model whether it is there, before anything is spent. Where it cannot answer, the run ends in
the provider's own words, without keys, and records nothing. A call that may succeed another time is made again,
`replay.retries` times; after a time-out only as far as the budget has room for it, for a model may have worked all that
time. One that fails all the same is a missing answer: never an empty one, never a 0, never kept in
the cache. Where too many are missing to say anything, the verdict is `invalid`, and another night tries again.

| kind | what happened | exit at the start | exit where every answer is missing |
|---|---|---|---|
{kinds}

Other ends of a run: 2, settings, consent, a library or a model's name are missing; 3, the hand-off waits for answers;
5, a request would have gone where it may not. Where it is the optimizer alone whose replies cannot be used, nothing is
proposed, and the report says why (`optimizer_failed`, exit 0).
"""

KINDS = {
    "auth": "the key or login is missing, wrong or not allowed (401, 403)",
    "quota": "the credit or the subscription's limit is used up (402, or in the provider's words)",
    "process": "no such model or address, a request the server does not understand, a program that failed",
    "rate": "too many requests, or the provider is overloaded (429, 529)",
    "network": "no connection, a reset, half an answer, an error of the server (5xx)",
    "timeout": "no whole answer within `replay.timeout` (also 408, 504)",
    "refused": "the provider declined this one request: a content filter, a gateway that moderates, or it is too long",
    "truncated": "the answer was cut off at its limit",
    "empty": "an answer without text",
    "schema": "not what was asked for, twice: no JSON, or of another shape",
    "budget": "a limit of the budget has no room for it; it was not made",
}


def _kinds() -> str:
    return "\n".join(f"| `{kind}` | {KINDS[kind]} | {_ends(kind)} |" for kind in get_args(FailureKind))


def _ends(kind: FailureKind) -> str:
    """At the start: a model that says nothing visible is there all the same. And later."""
    code = dead(CallFailed(kind, "")).exit_code
    start = "none" if kind in THERE else str(code)
    return f"{start} | {code if kind in DEAD else MeasurementInvalid.exit_code}"


EXAMPLES = """\
## Servers on this machine

A model on your own machine costs time only, and nothing leaves. Any server that speaks OpenAI's Chat Completions will
do; it needs no key and no `replay.send`.

| server | started by | `replay.base_url` |
|---|---|---|
| llama.cpp | `llama-server -m model.gguf --port 8080` | `http://127.0.0.1:8080/v1` |
| Ollama | `ollama serve`, after `ollama pull MODEL` | `http://127.0.0.1:11434/v1` |
| vLLM | `vllm serve MODEL` | `http://127.0.0.1:8000/v1` |

    pip install 'skillopt-git[openai]'
    export SKILLOPT_REPLAY_BACKEND=openai SKILLOPT_REPLAY_MODEL=qwen3:8b
    export SKILLOPT_REPLAY_BASE_URL=http://127.0.0.1:11434/v1
    export SKILLOPT_REPLAY_JOBS=2 SKILLOPT_REPLAY_TIMEOUT=600    # as many at once, and as slow, as the machine is
    skillopt-git run

A small model may answer tasks well and propose rules badly. A larger one can play the optimizer:
`SKILLOPT_REPLAY_OPTIMIZER_BACKEND=anthropic`. Then that one needs its key and `replay.send`.

## Answers by hand, or by another agent

    skillopt-git run --backend handoff    # exit 3: prompts lie in .git/skillopt/handoff, INDEX.md says how
    skillopt-git run --backend handoff    # once they are answered; again, until it ends with 0

Each `<id>.prompt.md` is a question by itself. Its answer takes the place of the one line in `<id>.answer.md`.

## A recording

    export SKILLOPT_REPLAY_CASSETTE=~/night.jsonl
    SKILLOPT_REPLAY_RECORD=anthropic skillopt-git dry-run --backend cassette    # asks the model, and records
    skillopt-git run --backend cassette                                         # replays, without model and key

What is replayed has to be the same night: the same sessions, tasks, documents, settings and prompts.
"""


def backends_page() -> str:
    every = [roles.about(name) for name in sorted(roles.BACKENDS)]
    rows = [f"| `{item.name}` | {item.title} | {_sent(item)} |" for item in every]
    table = "| backend | | what is sent goes to |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    introduction = BACKENDS_INTRODUCTION.format(table=prices.table(), kinds=_kinds())
    return "\n".join([introduction, "## The backends\n", table, *map(_backend, every), EXAMPLES])


def _sent(item: About) -> str:
    return ", ".join(f"`{host}`" for host in item.hosts) or ("where you say" if item.sends else "nobody")


def _backend(item: About) -> str:
    facts = {
        "How the documents reach the model": item.documents,
        "Set-up": item.setup,
        "Key": ", ".join(f"`{name}`" for name in item.keys),
        "Address": f"`{item.address}`" if item.address else "",
        "Also read": ", ".join(f"`{name}`" for name in item.variables),
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
