"""The settings there are: `section.name`, with its default and its help; `loading` reads them.

One marked `PERSONAL` decides what may be read, run or reached on somebody's machine, so a repository's file may not
carry it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, get_type_hints
from zoneinfo import ZoneInfo

from annotated_types import Ge, Le

from skillopt_git.model import RECORD, Metric

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

    __pydantic_config__ = RECORD

    min_sessions: Annotated[int, Ge(1)] = _setting(2, "A wish must come up in this many sessions to become a rule.")
    max_tasks: Annotated[int, Ge(1)] = _setting(40, "Most tasks replayed in one run.")
    val_fraction: Share = _setting(0.34, "Share of task families held out to judge a rule.")
    test_fraction: Share = _setting(0.0, "Share of task families kept for one final, reported score.")
    cues: tuple[str, ...] = _setting(
        (),
        "Files with more words by which wishes are known, or with a language of your own; see docs/mining.md.",
        PERSONAL,
    )
    with_: Literal["auto", "rules", "model"] = _setting(
        "auto",
        "What finds tasks in sessions: `rules` (phrases by which people correct an agent), `model` (the optimizer "
        "reads them too: on this machine, or where `replay.send` is `mined`), or `auto`: the model where it may.",
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
    used_skills: bool = _setting(
        True, "Whether a wish whose tasks mostly used one skill is taught in that skill; not where `skill` names one."
    )
    skill_roots: tuple[str, ...] = _setting(
        (),
        "Folders of the repository that hold skills, beside `.claude/skills`, `.agents/skills`, `.codex/skills`, "
        "`.cursor/skills` and `.devin/skills`.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Which models answer (`target`) and reflect, mine and judge (`optimizer`). The `mock_*` settings belong to the
    simulation only."""

    backend: str = _setting("", "Which backend answers. There is no default; see docs/backends.md.", PERSONAL)
    model: str = _setting("", "The model's name; empty: the backend's own default.")
    optimizer_backend: str = _setting(
        "", "Which backend reflects, mines and judges; empty: the same as `backend`.", PERSONAL
    )
    optimizer_model: str = _setting("", "The optimizer's model; empty: the same as `model`, where the backend is too.")
    base_url: str = _setting("", "Where the backend's server is, if not at its usual address.", PERSONAL)
    optimizer_base_url: str = _setting(
        "", "Likewise for the optimizer; empty: the same as `base_url`, where the backend is too.", PERSONAL
    )
    key_env: str = _setting(
        "", "The environment variable that holds the key, if not the backend's usual one.", PERSONAL
    )
    optimizer_key_env: str = _setting("", "Likewise for the optimizer.", PERSONAL)
    hosts: tuple[str, ...] = _setting(
        (), "Other hosts that may be spoken to, beside the backend's own, `base_url` and this machine.", PERSONAL
    )
    send: Literal["", "reviewed", "mined"] = _setting(
        "",
        "What may leave this machine for a model: `reviewed`: only tasks that people reviewed; `mined`: also "
        "sessions, and what was mined from them, redacted. Empty: nothing, and a run with such a backend says so.",
        PERSONAL,
    )
    api: Literal["auto", "chat", "responses"] = _setting(
        "auto", "`openai`: which API is spoken; `auto`: Responses at OpenAI and Azure, Chat Completions elsewhere."
    )
    temperature: Annotated[float, Ge(-1.0), Le(2.0)] = _setting(
        -1.0, "The target's sampling temperature; below 0: the model's own."
    )
    jobs: Annotated[int, Ge(1), Le(64)] = _setting(8, "How many calls are under way at once.")
    timeout: Annotated[float, Ge(1.0), Le(3600.0)] = _setting(120.0, "Seconds that one call may take.")
    retries: Annotated[int, Ge(0), Le(10)] = _setting(3, "How often a call that may succeed later is tried again.")
    batch: bool = _setting(
        False,
        "`anthropic`: send replays as Message Batches, at half the price and within a day; a later run goes on.",
    )
    handoff: str = _setting(
        "", "`handoff`: the folder of prompts and answers; empty: one in the private state.", PERSONAL
    )
    cassette: str = _setting("", "`cassette`: the file that is recorded to or replayed from.", PERSONAL)
    record: str = _setting(
        "", "`cassette`: the backend that is recorded; empty: only what is recorded is replayed.", PERSONAL
    )
    recall_k: Annotated[int, Ge(0), Le(20)] = _setting(
        3, "How many similar training tasks of earlier nights the optimizer is shown beside tonight's."
    )
    dream_rollouts: Annotated[int, Ge(1), Le(10)] = _setting(
        1, "How often a training task is answered, so that the optimizer can compare what passed with what failed."
    )
    dream_factor: Annotated[int, Ge(0), Le(5)] = _setting(
        0, "How many variants of each failing training task the optimizer writes, to train on and never to judge by."
    )
    slow_update: Annotated[int, Ge(0)] = _setting(
        0,
        "After each so many recorded nights a document's guidance, in a block of its own, is proposed anew. 0: never.",
    )
    mock_seed: int = _setting(0, "Seed of the simulation.")
    mock_pass_with: Share = _setting(1.0, "Simulated chance that a task passes with all the rules it needs.")
    mock_pass_without: Share = _setting(0.0, "Simulated chance that a task passes without a rule it needs.")
    mock_failing: Share = _setting(0.0, "Simulated chance that a call fails, as those to a model do.")
    mock_harmful: bool = _setting(False, "Whether the simulation also proposes a harmful rule, for the gate to refuse.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What models may cost. 0: no limit. At the limit what is judged is finished, and the rest is said."""

    tokens: NonNegative = _setting(0, "Most tokens, sent and received, of one night.")
    usd: Annotated[float, Ge(0.0)] = _setting(
        0.0, "Most dollars of one night, by the price table; see docs/backends.md."
    )
    minutes: Annotated[float, Ge(0.0)] = _setting(0.0, "Most minutes one night may take.")
    week_tokens: NonNegative = _setting(0, "Most tokens of seven days.")
    week_usd: Annotated[float, Ge(0.0)] = _setting(0.0, "Most dollars of seven days.")
    week_minutes: Annotated[float, Ge(0.0)] = _setting(0.0, "Most minutes of seven days.")


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
    budget: Budget = Budget()
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
            yield Setting(part.name, item.name.rstrip("_"), hints[item.name], item.default, meta["help"], meta["door"])


def zone(config: Config) -> ZoneInfo:
    return ZoneInfo(config.propose.time_zone)
