"""Settings: `section.name`, from defaults, the repository's file, the user's file, the environment and flags.

Later wins. Every problem is reported at once. A setting marked `PERSONAL` decides what may be read, run or reached on
somebody's machine, so a repository's file may not carry it.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints
from zoneinfo import ZoneInfo, available_timezones

from annotated_types import Ge, Le

from skillopt_git.errors import ConfigError
from skillopt_git.model import Metric
from skillopt_git.schema import problems, read

FILE_NAME = ".skillopt.toml"
LEDGER_DEFAULT = "refs/skillopt/ledger"
LEDGER_BRANCH = "refs/heads/skillopt/ledger"
# Nowhere else: a repository's settings must not make the tool write to a branch, a tag or the stash.
LEDGER_REF = re.compile(rf"refs/skillopt/(?!(?:rejected|seen)(?:/|$))[a-z0-9][a-z0-9-]*|{LEDGER_BRANCH}")
LONGEST_LOOKBACK = 876_000.0  # hours; a hundred years, for dates have a beginning
SHORTEST_DENIED = 3  # characters; shorter ones stand in every other line
PERSONAL = "personal"
SHARED = "shared"
NonNegative = Annotated[int, Ge(0)]
Share = Annotated[float, Ge(0.0), Le(1.0)]


def _setting(default: Any, help_: str, door: str = SHARED) -> Any:
    return field(default=default, metadata={"help": help_, "door": door})


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvest:
    """Which sessions are read."""

    source: str = _setting(
        "auto", "Which agents' transcripts to read: `auto` (Claude Code and Codex), or names with commas between."
    )
    claude_home: str = _setting("", "Claude Code's folder; else `CLAUDE_CONFIG_DIR`, else `~/.claude`.", PERSONAL)
    codex_home: str = _setting("", "Codex's folder; else `CODEX_HOME`, else `~/.codex`.", PERSONAL)
    copilot_home: str = _setting("", "Copilot CLI's folder; else `COPILOT_HOME`, else `~/.copilot`.", PERSONAL)
    jsonl_home: str = _setting(
        "", "The folder of sessions in the neutral format; else `~/.local/share/skillopt/sessions`.", PERSONAL
    )
    scope: tuple[str, ...] = _setting(
        ("repository",),
        "`repository` (this one and its worktrees), `all`, or a list of folders.",
        PERSONAL,
    )
    roots: tuple[str, ...] = _setting(
        (), "Other folders whose sessions count as this repository's, for sessions that came from elsewhere.", PERSONAL
    )
    lookback_hours: Annotated[float, Ge(0.0), Le(LONGEST_LOOKBACK)] = _setting(
        72.0, "How far back a first run reads; later runs go on from their checkpoint. 0 reads everything."
    )
    max_sessions: NonNegative = _setting(0, "Most sessions read in one run. 0 means three times `mine.max_tasks`.")
    deny_words: tuple[str, ...] = _setting(
        (),
        "Names and words that may stand in nothing the tool keeps or writes, such as a customer's. A repository's file "
        "may not hold them, for it would publish them.",
        PERSONAL,
    )
    headless: Literal["keep", "skip"] = _setting("keep", "Whether sessions without a person (`claude -p`) count.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mine:
    """How tasks are found and split."""

    min_sessions: Annotated[int, Ge(1)] = _setting(2, "A wish must come up in this many sessions to become a rule.")
    max_tasks: Annotated[int, Ge(1)] = _setting(40, "Most tasks replayed in one run.")
    val_fraction: Share = _setting(0.34, "Share of task families held out to judge a rule.")
    test_fraction: Share = _setting(0.0, "Share of task families kept for one final, reported score.")
    cues: tuple[str, ...] = _setting(
        (),
        "Files with more words by which wishes are known, or with a language of your own; see docs/mining.md.",
        PERSONAL,
    )
    target_task_filter: bool = _setting(
        False, "Mine up to three times `max_tasks` and keep tasks that used the target skill or share its words."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Which files may be taught."""

    skill: str = _setting("", "The skill to teach; empty: `.claude/skills/skillopt-sleep-learned/SKILL.md`.")
    memory: str = _setting("auto", "The memory to teach; `auto`: CLAUDE.md, else AGENTS.md, else by source.")
    evolve_skill: bool = _setting(True, "Whether rules may go to the skill.")
    evolve_memory: bool = _setting(True, "Whether rules may go to the memory.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Which model answers. The `mock_*` settings belong to the simulation only."""

    backend: str = _setting("", "Which backend answers and reflects. There is no default.", PERSONAL)
    model: str = _setting("", "The model's name; empty: the backend's own default.")
    mock_seed: int = _setting(0, "Seed of the simulation.")
    mock_pass_with: Share = _setting(1.0, "Simulated chance that a task passes with all the rules it needs.")
    mock_pass_without: Share = _setting(0.0, "Simulated chance that a task passes without a rule it needs.")
    mock_failing: Share = _setting(0.0, "Simulated chance that a call fails, as those to a model do.")
    mock_harmful: bool = _setting(False, "Whether the simulation also proposes a harmful rule, for the gate to refuse.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """When an edit counts as proven."""

    mode: Literal["evidence", "strict", "off"] = _setting(
        "evidence",
        "`evidence`: what a model answers varies, so tasks are measured several times in both arms, and the difference "
        "must be more than chance. `strict`: the held-out mean must rise; so it is too where target and judges always "
        "say the same. `off`: nothing is proven, and everything says so.",
    )
    rollouts: Annotated[int, Ge(2), Le(20)] = _setting(
        5, "`evidence`: most pairs of a task in a night; after the first two it stops where there is no gain."
    )
    pairs: Annotated[int, Ge(2), Le(100)] = _setting(
        10, "`evidence`: most pairs of a task in a trial; then it waits for another task of its need."
    )
    nights: Annotated[int, Ge(1)] = _setting(14, "`evidence`: most nights of a trial.")
    candidates: Annotated[int, Ge(1)] = _setting(
        2, "`evidence`: most new candidates in a night, by what training tasks gain; the others wait for another night."
    )
    guard: Annotated[int, Ge(0), Le(40)] = _setting(8, "`evidence`: most other held-out tasks looked at for harm.")
    strong_e: Annotated[float, Ge(1.0)] = _setting(20.0, "`evidence`: least e-value of a strong verdict.")
    strong_tasks: Annotated[int, Ge(1)] = _setting(2, "`evidence`: least tasks that got better for a strong verdict.")
    least_gain: Share = _setting(0.05, "`evidence`: least gain of a strong verdict, as a share of rollouts passed.")
    suggestive_p: Share = _setting(0.10, "`evidence`: greatest p of the exact test of a suggestive verdict.")
    suggestive_e: Annotated[float, Ge(1.0)] = _setting(3.0, "`evidence`: or the e-value of one.")
    harmful_e: Annotated[float, Ge(1.0)] = _setting(10.0, "`evidence`: least e-value for harm of a harmful verdict.")
    closing_e: Share = _setting(0.05, "`evidence`: or an e-value for benefit as small as this.")
    aa_control: Annotated[int, Ge(0)] = _setting(
        7,
        "`evidence`: days from one control of the gate to the next: an edit that says nothing is tried like any other, "
        "and a rule that was proven is taken out. 0: never.",
    )
    metric: Metric = _setting("mixed", "`hard` (all checks pass), `soft` (share of checks, or rubric), or `mixed`.")
    mixed_weight: Share = _setting(0.5, "Weight of `soft` in `mixed`.")
    no_regression: bool = _setting(False, "Whether a single held-out task that falls refuses the edit.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Propose:
    """What is proposed, and how."""

    base: str = _setting("", "The branch to propose to; empty: the remote's default branch, else the current one.")
    edit_budget: NonNegative = _setting(4, "Most edits accepted in one night, over all documents.")
    preferences: str = _setting("", "House rules told to the optimizer, in plain words.")
    time_zone: str = _setting("UTC", "The time zone whose date names the branch.")
    author_name: str = _setting("skillopt-git", "Author and committer name of the tool's commits.")
    author_email: str = _setting("skillopt-git@users.noreply.invalid", "Author and committer address.")
    ledger_ref: str = _setting(
        LEDGER_DEFAULT,
        f"The ref that holds the ledger; `{LEDGER_BRANCH}` where a server refuses refs that are no branches.",
    )
    remote: str = _setting("", "The remote that is pushed to; empty: `origin`, else the only one.", PERSONAL)
    push: bool = _setting(False, "Push what is proposed, and the ledger, at the end of a run.", PERSONAL)
    labels: tuple[str, ...] = _setting(("skillopt",), "Labels of a pull request.")
    reviewers: tuple[str, ...] = _setting((), "Who is asked to review a pull request that is ready.")
    public: Literal["refuse", "summary"] = _setting(
        "refuse",
        "What goes to a repository that everybody can read: `refuse` opens no pull request there, `summary` opens one, "
        "which holds the rules and their figures and nothing that was typed.",
    )
    quotes: bool = _setting(
        False,
        "Whether a proposal also says, in the words that were typed, what was asked for. They are redacted, and stand "
        "in the ledger and on the page for everybody who reads the repository.",
        PERSONAL,
    )
    record_rejected: Literal["ledger", "closed-pr"] = _setting(
        "ledger",
        "Where what the gate refused is kept: `closed-pr` also opens a pull request for it and closes it at once, with "
        "its evidence and the label `skillopt:gate-refused`.",
    )
    pause_after: NonNegative = _setting(
        7,
        "Nights after which learning pauses while people leave the open pull request alone; it goes on when somebody "
        "touches it. 0: never.",
    )
    enabled: bool = _setting(True, "Whether anything is proposed at all; off, a run learns nothing and says so.")
    auto_adopt: bool = _setting(False, "Merge a strong, measured proposal at the end of the run.", PERSONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """How commits are made."""

    sign: Literal["never", "local"] = _setting(
        "never",
        "`local`: sign what is committed with your own key, as `git commit -S` would, by `gpg.format` and "
        "`user.signingKey`. `never`: whatever git is told to do by itself, nothing is signed.",
        PERSONAL,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When `schedule` has runs started."""

    at: str = _setting("03:17", "The time of day of a nightly run, as HH:MM.", PERSONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    harvest: Harvest = Harvest()
    mine: Mine = Mine()
    documents: Documents = Documents()
    replay: Replay = Replay()
    gate: Gate = Gate()
    propose: Propose = Propose()
    git: Git = Git()
    schedule: Schedule = Schedule()


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, for the reference page and the `init` file."""

    section: str
    name: str
    type_: Any
    default: Any
    help: str
    door: str

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def env(self) -> str:
        return f"SKILLOPT_{self.section}_{self.name}".upper()


def settings() -> Iterator[Setting]:
    """Every setting, in the order of the sections."""
    sections = get_type_hints(Config, include_extras=True)
    for part in fields(Config):
        hints = get_type_hints(sections[part.name], include_extras=True)
        for item in fields(sections[part.name]):
            meta = item.metadata
            yield Setting(part.name, item.name, hints[item.name], item.default, meta["help"], meta["door"])


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


def zone(config: Config) -> ZoneInfo:
    return ZoneInfo(config.propose.time_zone)
