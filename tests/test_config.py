from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skillopt_git.config import FILE_NAME, PERSONAL, Config, settings, zone
from skillopt_git.errors import ConfigError
from skillopt_git.loading import load, user_file

SETTINGS = {item.key: item for item in settings()}


@pytest.fixture
def home(isolated: Path) -> Path:
    return isolated


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository without settings."""
    return tmp_path


def user(home: Path, text: str) -> None:
    path = home / ".config" / "skillopt" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def problems(
    root: Path | None, *, environ: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> list[str]:
    """The lines of the error that loading these settings ends with."""
    with pytest.raises(ConfigError) as caught:
        load(root, environ=environ or {"HOME": "/nonexistent"}, flags=flags)
    first, *lines = caught.value.message.splitlines()
    assert first == "the settings are not valid:"
    assert caught.value.hint
    return [line.strip() for line in lines]


# --- layers ------------------------------------------------------------------------------------------------------


def test_without_any_file_the_defaults_hold(root: Path) -> None:
    """Nothing has to be written; there is no default backend, and nothing is adopted by itself."""
    config = load(root)
    assert config == Config() == load(None)
    assert config.replay.backend == ""
    assert config.propose.auto_adopt is False


def test_later_places_win(root: Path, home: Path) -> None:
    """Defaults, pyproject, repository file, user file, environment, flags: each beats those before it."""
    keys = ["mine.max_tasks", "mine.min_sessions", "propose.edit_budget", "replay.mock_seed", "harvest.max_sessions"]

    def all_from(start: int) -> str:
        return "".join(f"{key} = {start + 1}\n" for key in keys[start:])

    (root / "pyproject.toml").write_text("[tool.skillopt]\n" + all_from(0))
    (root / FILE_NAME).write_text(all_from(1))
    user(home, all_from(2))
    environ = {"HOME": str(home), "SKILLOPT_REPLAY_MOCK_SEED": "4", "SKILLOPT_HARVEST_MAX_SESSIONS": "4"}
    config = load(root, environ=environ, flags={"harvest.max_sessions": 5, "mine.max_tasks": None})
    assert (config.mine.max_tasks, config.mine.min_sessions, config.propose.edit_budget) == (1, 2, 3)
    assert (config.replay.mock_seed, config.harvest.max_sessions) == (4, 5)


def test_the_user_s_file_is_found_by_the_desktop_s_rules(tmp_path: Path) -> None:
    """XDG_CONFIG_HOME first, else ~/.config."""
    assert user_file({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}) == Path("/x/skillopt/config.toml")
    assert user_file({"XDG_CONFIG_HOME": "", "HOME": "/h"}) == Path("/h/.config/skillopt/config.toml")


def test_a_pyproject_of_somebody_else_is_no_settings_file(root: Path) -> None:
    """Only `[tool.skillopt]` counts."""
    (root / "pyproject.toml").write_text("[tool.other]\nmine = 1\n[project]\nname = 'acme-api'\n")
    assert load(root) == Config()


# --- values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("SKILLOPT_MINE_MAX_TASKS", "7", "mine.max_tasks", 7),
        ("SKILLOPT_MINE_VAL_FRACTION", "0.5", "mine.val_fraction", 0.5),
        ("SKILLOPT_MINE_VAL_FRACTION", ".5", "mine.val_fraction", 0.5),
        ("SKILLOPT_HARVEST_LOOKBACK_HOURS", "24", "harvest.lookback_hours", 24.0),
        ("SKILLOPT_GATE_NO_REGRESSION", "true", "gate.no_regression", True),
        ("SKILLOPT_DOCUMENTS_SKILL", "12", "documents.skill", "12"),
        ("SKILLOPT_HARVEST_SCOPE", "/srv/a, /srv/b c ,", "harvest.scope", ("/srv/a", "/srv/b c")),
        ("SKILLOPT_MINE_MAX_TASKS", "", "mine.max_tasks", 40),
        ("SKILLOPT_SLEEP_HOME", "of another tool", "mine.max_tasks", 40),
    ],
)
def test_the_environment_gives_typed_values(name: str, text: str, key: str, value: object) -> None:
    """Text becomes what the setting is; an empty variable is as good as none, and strange names are not ours."""
    config = load(None, environ={"HOME": "/nonexistent", name: text})
    section, item = key.split(".")
    assert getattr(getattr(config, section), item) == value


def test_values_of_a_file_are_taken_as_they_are(root: Path) -> None:
    """Lists become tuples, whole numbers do for fractions."""
    (root / FILE_NAME).write_text("[harvest]\nlookback_hours = 0\n[gate]\nmetric = 'hard'\nmixed_weight = 1\n")
    config = load(root, flags={"harvest.roots": ["/srv/sessions"]})
    assert (config.harvest.lookback_hours, config.gate.metric, config.gate.mixed_weight) == (0.0, "hard", 1.0)
    assert config.harvest.roots == ("/srv/sessions",)


def test_the_time_zone_names_the_branch(root: Path) -> None:
    """A zone of the database is accepted."""
    (root / FILE_NAME).write_text("[propose]\ntime_zone = 'Europe/Berlin'\n")
    assert zone(load(root)).key == "Europe/Berlin"


# --- problems ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [key for key, item in SETTINGS.items() if item.door == PERSONAL])
@pytest.mark.parametrize("file", [FILE_NAME, "pyproject.toml"])
def test_a_repository_may_not_set_what_is_personal(key: str, file: str, root: Path) -> None:
    """The error names the places where it may be set."""
    item = SETTINGS[key]
    table = f"tool.skillopt.{item.section}" if file == "pyproject.toml" else item.section
    (root / file).write_text(f"[{table}]\n{item.name} = 'x'\n")
    (line,) = problems(root)
    assert line.startswith(f"{root / file}: '{key}' may not be set by a repository")
    assert item.env in line


def test_a_person_may_set_what_is_personal(home: Path) -> None:
    """The user's own file, the environment and flags are one's own."""
    user(home, "[propose]\nauto_adopt = true\n")
    config = load(
        None,
        environ={"HOME": str(home), "SKILLOPT_REPLAY_BACKEND": "mock"},
        flags={"harvest.claude_home": "/srv/claude"},
    )
    assert (config.propose.auto_adopt, config.replay.backend) == (True, "mock")
    assert config.harvest.claude_home == "/srv/claude"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[gate]\nmetrik = 'hard'", "unknown setting 'gate.metrik' (did you mean 'gate.metric'?)"),
        ("[gaet]\nmode = 'off'", "unknown setting 'gaet.mode' (did you mean 'gate.mode'?)"),
        ("gate = 'off'", "unknown setting 'gate' (did you mean 'gate.mode'?)"),
        ("qqqqqqqqqqqqqqqqqqqqqqqqqqqqqq = 1", "unknown setting 'qqqqqqqqqqqqqqqqqqqqqqqqqqqqqq'"),
        ("[gate]\nmode = 'stict'", "'gate.mode': Input should be 'evidence', 'strict' or 'off'"),
        ("[gate]\nno_regression = 'yes'", "'gate.no_regression': Input should be a valid boolean"),
        ("[mine]\nmax_tasks = 0", "'mine.max_tasks': Input should be greater than or equal to 1"),
        ("[mine]\nval_fraction = nan", "'mine.val_fraction': Input should be less than or equal to 1"),
        ("[harvest]\nlookback_hours = inf", "'harvest.lookback_hours': Input should be less than or equal to 876000"),
        ("[mine]\nmax_tasks = 1979-05-27", "'mine.max_tasks' has a value of the wrong type (1979-05-27)"),
        ("[mine.max_tasks]\nmost = 3", "'mine.max_tasks': Input should be a valid integer"),
    ],
)
def test_a_wrong_line_is_named_with_its_file(text: str, line: str, root: Path) -> None:
    """Unknown names come with the nearest known one, wrong values with what would be right."""
    (root / FILE_NAME).write_text(text)
    assert problems(root) == [f"{root / FILE_NAME}: {line}"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"[gate\n", "Expected ']'"),
        (b"name = '\xff'\n", "can't decode byte 0xff"),
        (b"tool = 3\n", "'tool' must be a table"),
        (b"[tool]\nskillopt = 3\n", "'skillopt' must be a table"),
    ],
)
def test_a_broken_file_is_named(content: bytes, why: str, root: Path) -> None:
    """What cannot be read as settings is said with its path, not skipped."""
    (root / "pyproject.toml").write_bytes(content)
    (line,) = problems(root)
    assert line.startswith(f"{root / 'pyproject.toml'}: ")
    assert why in line


def test_a_folder_in_place_of_the_file_is_said(root: Path) -> None:
    """Only a file that does not exist counts as no settings; a pipe would wait for ever."""
    (root / FILE_NAME).mkdir()
    os.mkfifo(root / "pyproject.toml")
    assert [line.rpartition(": ")[2] for line in problems(root)] == ["not a file", "not a file"]


@pytest.mark.parametrize(
    ("ref", "fits"),
    [
        ("refs/skillopt/ledger", True),
        ("refs/skillopt/log-2", True),
        ("refs/heads/skillopt/ledger", True),
        ("refs/heads/main", False),
        ("refs/heads/sleep/2026-01-02", False),
        ("refs/stash", False),
        ("refs/tags/v1", False),
        ("refs/remotes/origin/main", False),
        ("refs/skillopt/rejected", False),
        ("refs/skillopt/rejected/sleep/2026-01-02", False),
        ("refs/skillopt/../heads/main", False),
        ("HEAD", False),
    ],
)
def test_the_ledger_lies_where_nothing_of_the_users_is(ref: str, fits: bool, root: Path) -> None:
    """A repository's settings must not make the tool write to a branch, a tag or the stash."""
    (root / FILE_NAME).write_text(f'[propose]\nledger_ref = "{ref}"\n')
    if fits:
        assert load(root, environ={}).propose.ledger_ref == ref
    else:
        assert "propose.ledger_ref must be below refs/skillopt/" in problems(root)[0]


@pytest.mark.parametrize(
    "outside", ["../skills", "/srv/skills", "a//b", "", ".", "a\\\\b", "a/../b", ":skills", "a\\nb"]
)
def test_folders_of_skills_lie_in_the_repository(outside: str, root: Path) -> None:
    """A relative path, spelled plainly; one may end with a slash."""
    (root / FILE_NAME).write_text('[documents]\nskill_roots = ["tools/skills", "skills/"]\n')
    assert load(root, environ={}).documents.skill_roots == ("tools/skills", "skills/")

    (root / FILE_NAME).write_text(f'[documents]\nskill_roots = ["tools/skills", "{outside}"]\n')
    assert problems(root)[0].startswith("documents.skill_roots must be folders within the repository; see ")


def test_a_mistyped_variable_is_an_error() -> None:
    """A name in one of our sections that is no setting is a typing error."""
    environ = {"HOME": "/nonexistent", "SKILLOPT_GATE_MIXED_WEIGTH": "0.5"}
    assert problems(None, environ=environ) == [
        "environment: unknown setting 'gate.mixed_weigth' (did you mean 'gate.mixed_weight'?)"
    ]


def test_all_problems_of_all_places_are_told_at_once(root: Path) -> None:
    """Nobody has to mend one to see the next."""
    (root / "pyproject.toml").write_text("[tool.skillopt.gate]\nmode = 'stict'\n")
    (root / FILE_NAME).write_text("[replay]\nbackend = 'claude'\n[mine]\nmax_taks = 3\nmin_sessions = -1\n")
    environ = {"HOME": "/nonexistent", "SKILLOPT_PROPOSE_EDIT_BUDGET": "many"}
    found = problems(root, environ=environ, flags={"gate.metric": "sharp"})
    assert [line.split(": ")[0].rpartition("/")[2] for line in found] == [
        "pyproject.toml",
        FILE_NAME,
        FILE_NAME,
        FILE_NAME,
        "environment",
        "flags",
    ]


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (
            {"mine.val_fraction": 0.7, "mine.test_fraction": 0.3},
            "mine.val_fraction (0.7) and mine.test_fraction (0.3) must leave room for training",
        ),
        (
            {"mine.val_fraction": 1.0},
            "mine.val_fraction (1.0) and mine.test_fraction (0.0) must leave room for training",
        ),
        (
            {"propose.time_zone": "Europe/Berlni"},
            "propose.time_zone 'Europe/Berlni' is unknown (did you mean 'Europe/Berlin'?)",
        ),
        ({"propose.time_zone": "../../etc/passwd"}, "propose.time_zone '../../etc/passwd' is unknown"),
    ],
)
def test_values_that_are_wrong_only_together_are_found(flags: dict[str, object], line: str) -> None:
    """Shares that leave nothing to learn from, and zones this machine does not know."""
    assert problems(None, flags=flags) == [line]


def test_denied_words_are_personal_and_long_enough(root: Path, home: Path) -> None:
    """A repository's file would publish them; short ones are told by their places, for the words are private."""
    user(home, "[harvest]\ndeny_words = ['Globex', 'Acme Corp']\n")
    assert load(root).harvest.deny_words == ("Globex", "Acme Corp")
    environ = {"HOME": "/nonexistent", "SKILLOPT_HARVEST_DENY_WORDS": "Globex, Acme Corp,"}
    assert load(root, environ=environ).harvest.deny_words == ("Globex", "Acme Corp")
    assert problems(None, flags={"harvest.deny_words": ["Globex", " ab ", "a   b", ""]}) == [
        "harvest.deny_words needs at least 3 characters in each; see number 2, 4"
    ]
    (root / FILE_NAME).write_text("[harvest]\ndeny_words = ['Globex']\n")
    (line,) = problems(root)
    assert "'harvest.deny_words' may not be set by a repository" in line
    assert "Globex" not in line


# --- the list ----------------------------------------------------------------------------------------------------


def test_every_setting_explains_itself() -> None:
    """Each has a sentence, a variable of its own, and a default of its own type."""
    assert len({item.env for item in SETTINGS.values()}) == len(SETTINGS)
    assert all(item.help.endswith(".") for item in SETTINGS.values())
    assert load(None, flags={key: item.default for key, item in SETTINGS.items()}) == Config()


def test_what_reaches_beyond_the_repository_is_personal() -> None:
    """Homes, scope, commands and merging by itself are never a repository's to decide."""
    assert {key for key, item in SETTINGS.items() if item.door == PERSONAL} >= {
        "harvest.claude_home",
        "harvest.deny_words",
        "harvest.scope",
        "harvest.roots",
        "replay.backend",
        "propose.auto_adopt",
    }
