from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from skillopt_git import __version__
from skillopt_git.cli import VERBS, Verbs, main, run
from tests.helpers import Repository

ROOT = Path(__file__).parent.parent
SECRET = "-".join(("sk", "ant", "api03", "w7" * 46 + "AA"))  # joined here, so that no file holds one

VERB = """
    from typing import Annotated

    import typer

    from skillopt_git.errors import BackendError, ConfigError, HandoffWaits


    def command(
        how: str = "well",
        repo: Annotated[str, typer.Option("--repo", "--project")] = ".",
        json: bool = False,
        night: int = 0,
    ) -> None:
        '''Ends in the way that is asked for.'''
        match how:
            case "config":
                raise ConfigError("two problems:\\n  one\\n  two\\x1b[31m", "mend them")
            case "backend":
                raise BackendError("rate", "too many calls", retryable=True)
            case "handoff":
                raise HandoffWaits("2 prompts wait for their answers", "run it again")
            case "bug":
                raise RuntimeError("the secret is %s")
            case "full":
                raise OSError(28, "No space left on device", "/home/alice/report.md")
            case "waits":
                raise typer.Exit(3)
            case "interrupted":
                raise KeyboardInterrupt
            case "aborted":
                raise typer.Abort
            case _:
                print(f"night {night} went {how}")
"""
GROUP = """
    import typer

    app = typer.Typer()


    @app.command("list")
    def list_() -> None:
        '''Lists.'''
        print("listed")


    @app.command()
    def show() -> None:
        print("shown")
"""


@pytest.fixture
def verbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Verbs]:
    """A verb that ends in any way, one with verbs of its own, and one that cannot even be imported."""
    modules = {"fake_verb": VERB.replace("%s", SECRET), "fake_group": GROUP, "fake_broken": "raise AssertionError"}
    for name, source in modules.items():
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield {
        "act": ("fake_verb", "Ends somehow."),
        "things": ("fake_group", "Has verbs."),
        "broken": ("fake_broken", "Is never imported."),
    }
    for name in modules:
        sys.modules.pop(name, None)


def test_help_lists_every_verb_and_imports_none(verbs: Verbs, capsys: pytest.CaptureFixture[str]) -> None:
    """A verb that cannot be imported does not stand in the way of the others."""
    assert run(["--help"], verbs) == 0
    out = capsys.readouterr().out
    assert all(name in out and summary in out for name, (_, summary) in verbs.items())
    assert not {"fake_verb", "fake_group"} & set(sys.modules)


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_a_verb_explains_itself(option: str, verbs: Verbs, capsys: pytest.CaptureFixture[str]) -> None:
    """The help of a verb is its docstring and its options."""
    assert run(["act", option], verbs) == 0
    out = capsys.readouterr().out
    assert "Usage: skillopt-git act [OPTIONS]" in out
    assert "Ends in the way that is asked for." in out
    assert "--night" in out


def test_a_verb_runs_with_its_options(verbs: Verbs, capsys: pytest.CaptureFixture[str]) -> None:
    """Options are parsed by the verb's own annotations."""
    assert run(["act", "--night", "3"], verbs) == 0
    assert capsys.readouterr().out == "night 3 went well\n"


def test_a_verb_may_have_verbs(verbs: Verbs, capsys: pytest.CaptureFixture[str]) -> None:
    """`tasks list` and its like are found, and listed in the help of `tasks`."""
    assert run(["things", "list"], verbs) == 0
    assert capsys.readouterr().out == "listed\n"
    assert run(["things", "--help"], verbs) == 0
    out = capsys.readouterr().out
    assert "Has verbs." in out
    assert "list" in out


def test_a_verb_may_choose_its_exit_code(verbs: Verbs) -> None:
    """A hand-off that waits is no error, and says nothing."""
    assert run(["act", "--how", "waits"], verbs) == 3


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` names the program and its version."""
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"skillopt-git {__version__}\n"


def test_no_verb_at_all_shows_the_help(verbs: Verbs, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing was asked for, so that is wrong use, and the help is no result."""
    assert run([], verbs) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Ends somehow." in captured.err


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["atc"], "unknown command 'atc'", "did you mean act?"),
        (["xyzzy"], "unknown command 'xyzzy'", "known: act, things, broken"),
        (["--nihgt"], "No such option: --nihgt", "see skillopt-git --help"),
        (["act", "--nigth", "1"], "No such option: --nigth (Possible options: --night)", "see skillopt-git act --help"),
        (["act", "--night", "x"], "Invalid value for '--night'", "see skillopt-git act --help"),
        (["things", "lsit"], "No such command 'lsit'. Did you mean 'list'?", "see skillopt-git things --help"),
    ],
)
def test_wrong_words_exit_2_and_name_the_nearest(
    arguments: list[str], message: str, hint: str, verbs: Verbs, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was typed wrongly is named, with what may have been meant; JSON says the same."""
    assert run(arguments, verbs) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: {message}")
    assert captured.err.endswith(f"hint: {hint}\n")
    assert run([*arguments, "--json"], verbs) == 2
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    assert captured.err == ""
    assert (error["kind"], error["hint"]) == ("usage", hint)
    assert error["message"].startswith(message)


def test_an_error_is_told_in_words_without_steering_the_terminal(
    verbs: Verbs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Message and hint go to stderr, line breaks stay, escape sequences do not."""
    assert run(["act", "--how", "config"], verbs) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "error: two problems:\n  one\n  two\nhint: mend them\n")


def test_an_error_is_told_as_one_json_document(verbs: Verbs, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--json` a failure has its kind, and its exit code says that trying again may help."""
    assert run(["act", "--json", "--how", "backend"], verbs) == 75
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"v": 1, "error": {"kind": "rate", "message": "too many calls", "hint": ""}}
    assert captured.err == ""


def test_what_waits_is_called_no_error(verbs: Verbs, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing went wrong: somebody is to answer, and that is what the exit code says, too."""
    assert run(["act", "--how", "handoff"], verbs) == 3
    assert capsys.readouterr().err == "waiting: 2 prompts wait for their answers\nhint: run it again\n"


def test_json_after_a_double_dash_is_no_option(verbs: Verbs, capsys: pytest.CaptureFixture[str]) -> None:
    """What follows `--` are words, whatever they look like."""
    assert run(["act", "--", "--json"], verbs) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: Got unexpected extra argument")


@pytest.mark.parametrize("how", ["interrupted", "aborted"])
def test_an_interruption_exits_130(how: str, verbs: Verbs, capsys: pytest.CaptureFixture[str]) -> None:
    """Control-C, and leaving a question unanswered, are told in one line."""
    assert run(["act", "--how", how], verbs) == 130
    assert capsys.readouterr().err == "error: interrupted\nhint: run it again to go on\n"


def kept(err: str) -> Path:
    """The file an unexpected error's line names."""
    first, hint = err.splitlines()
    assert first == "error: unexpected RuntimeError"
    return Path(hint.removeprefix("hint: the details are in "))


@pytest.mark.parametrize("option", ["--repo {}", "--repo={}", "--project={}"])
def test_a_bug_is_kept_privately_in_the_repository(
    option: str, verbs: Verbs, repo: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its owner gets one line and a file that nobody else can read, without the secret of the message."""
    assert run(["act", "--how", "bug", *option.format(repo.path).split()], verbs) == 1
    log = kept(capsys.readouterr().err)
    assert log == repo.path / ".git" / "skillopt" / "last-error.log"
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.parent.stat().st_mode & 0o777 == 0o700
    text = log.read_text()
    assert "Traceback" in text
    assert "the secret is [REDACTED:" in text
    assert SECRET not in text


def test_a_bug_in_a_linked_worktree_is_kept_in_the_common_folder(
    verbs: Verbs, repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All worktrees share one private folder, and the last error replaces the one before."""
    repo.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    monkeypatch.chdir(tmp_path / "linked")
    log = repo.path / ".git" / "skillopt" / "last-error.log"
    log.parent.mkdir()
    log.symlink_to(tmp_path / "elsewhere")
    assert run(["act", "--how", "bug"], verbs) == 1
    assert kept(capsys.readouterr().err) == log
    assert not log.is_symlink()
    assert not (tmp_path / "elsewhere").exists()


def test_a_bug_outside_of_a_repository_is_kept_in_a_temporary_file(
    verbs: Verbs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON output names the file as well, and stdout holds nothing else."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert run(["act", "--how", "bug", "--repo", str(tmp_path / "absent"), "--json"], verbs) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["kind"], error["message"]) == ("internal", "unexpected RuntimeError")
    log = Path(error["hint"].removeprefix("the details are in "))
    assert tmp_path in log.parents
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_bug_is_kept_elsewhere_when_the_repository_cannot_be_written(
    verbs: Verbs,
    repo: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A file where the private folder should be does not hide the error."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (repo.path / ".git" / "skillopt").write_text("in the way")
    assert run(["act", "--how", "bug", "--repo", str(repo.path)], verbs) == 1
    assert repo.path not in kept(capsys.readouterr().err).parents


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_reader_that_leaves_early_hears_no_complaint(option: str) -> None:
    """`skillopt-git --help | true` says nothing more, whether it is noticed while writing or at the end."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "skillopt_git", option]
    env = {**os.environ, "PYTHONUNBUFFERED": ""}
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=env, cwd=ROOT, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_narrow_locale_does_not_stop_the_output(verbs: Verbs, tmp_path: Path) -> None:
    """A character that cannot be written is spelt out."""
    command = [sys.executable, "-c", f"from skillopt_git.cli import main; main({verbs})", "act", "--how", "olé"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, env=env, cwd=ROOT, check=True)
    assert done.stdout == b"night 0 went ol\\xe9\n"


def test_both_scripts_lead_to_the_one_door() -> None:
    """`skillopt-git` and `git skillopt` are the same program."""
    scripts = entry_points(group="console_scripts")
    assert scripts["skillopt-git"].load() is main
    assert scripts["git-skillopt"].load() is main


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each verb of the table can be imported and has a help of its own."""
    assert run([verb, "--help"]) == 0
    assert f"Usage: skillopt-git {verb}" in capsys.readouterr().out


def test_what_the_system_refuses_is_said_in_its_words(verbs: Verbs, capsys: pytest.CaptureFixture[str]) -> None:
    """A full disk is no bug of ours: what and where, exit 1, no log of a crash."""
    assert run(["act", "--how", "full"], verbs) == 1
    told = capsys.readouterr().err
    assert "/home/alice/report.md: No space left on device" in told
    assert "last-error.log" not in told
