"""The command line: the verbs, and the one door through which errors leave."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

from skillopt_git import __version__
from skillopt_git.console import Console
from skillopt_git.errors import SkilloptError, UsageError

if TYPE_CHECKING:
    from typer._click import Command, Context

NAME = "skillopt-git"
Verbs: TypeAlias = Mapping[str, tuple[str, str]]

# Each module has `command`, a function with Typer's annotations, or `app`, a `Typer` with commands of its own. A verb
# without a summary is for programs, and no help lists it.
VERBS: Verbs = {
    "init": ("skillopt_git.commands.init", "Write a settings file and a skill to teach; overwrite nothing."),
    "run": ("skillopt_git.commands.run", "Learn from recent sessions and leave a branch to review."),
    "propose": ("skillopt_git.commands.propose", "Push a proposal and open or update its pull request."),
    "sync": ("skillopt_git.commands.sync", "Record what became of proposals: at the remote, on the forge."),
    "learn": ("skillopt_git.commands.learn", "Learn, and put what is found into a file that `propose` takes."),
    "dry-run": ("skillopt_git.commands.dry_run", "Learn and report, but record and propose nothing."),
    "harvest": ("skillopt_git.commands.harvest", "Show the sessions a run would see, and the wishes in them."),
    "doctor": ("skillopt_git.commands.doctor", "Show what there is to read, and what wants attention."),
    "tasks": ("skillopt_git.commands.tasks", "List, show, write, review and share the known tasks."),
    "status": ("skillopt_git.commands.status", "Say what is open, and what came of earlier proposals."),
    "show": ("skillopt_git.commands.show", "Show a proposal or a run."),
    "log": ("skillopt_git.commands.log", "List what happened, newest first."),
    "adopt": ("skillopt_git.commands.adopt", "Merge a proposal."),
    "reject": ("skillopt_git.commands.reject", "Refuse a proposal or one of its edits, and remember it."),
    "rejections": ("skillopt_git.commands.rejections", "Look at what was refused, or allow it again."),
    "revert": ("skillopt_git.commands.revert", "Unlearn one adopted rule."),
    "prompts": ("skillopt_git.commands.prompts", "Show what models are asked, in words."),
    "verify": ("skillopt_git.commands.verify", "Recompute a proposal's verdicts from their recorded evidence."),
    "simulate": ("skillopt_git.commands.simulate", "Show how often the gate errs, from this repository's own figures."),
    "ledger": ("skillopt_git.commands.ledger", "Look at the repository's memory, check it, bring it to other clones."),
    "schedule": ("skillopt_git.commands.schedule", "Let the system start a run every night."),
    "unschedule": ("skillopt_git.commands.unschedule", "Take the nightly run away."),
    "demo": ("skillopt_git.commands.demo", "Watch a simulated night in a throwaway repository."),
    "scheduled": ("skillopt_git.commands.scheduled", ""),
}


class _Interrupted(SkilloptError):
    kind = "process"
    exit_code = 130

    def __init__(self) -> None:
        super().__init__("interrupted", "run it again to go on")


class _Refused(SkilloptError):
    kind = "process"

    def __init__(self, error: OSError) -> None:
        where = f"{error.filename}: " if error.filename else ""
        super().__init__(f"{where}{error.strerror or error}", "nothing is half-written; mend it and run it again")


class _Verb(TyperCommand):
    """Stands for a verb in the help; the verb's module is imported only to run it, so that the rest starts quickly."""

    def __init__(self, name: str, module: str, summary: str) -> None:
        super().__init__(name=name, help=summary, hidden=not summary, rich_markup_mode=None)
        self.module = module

    def load(self) -> Command:
        module = importlib.import_module(self.module)
        mount = typer.Typer(rich_markup_mode=None)
        if hasattr(module, "app"):
            mount.add_typer(module.app, name=self.name, help=self.help)
        else:
            mount.command(self.name)(module.command)
        return typer.main.get_group(mount).commands[str(self.name)]


class _Group(TyperGroup):
    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        verb = self.commands.get(args[0])
        if not isinstance(verb, _Verb):
            known = [name for name, command in self.commands.items() if not command.hidden]
            near = get_close_matches(args[0], known, n=3, cutoff=0.5)
            meant = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
            raise UsageError(f"unknown command '{args[0]}'", meant)
        return verb.name, verb.load(), args[1:]


def _root(
    ctx: typer.Context, version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False
) -> None:
    """Lets a repository learn from its coding-agent sessions: proven rules, proposed as a branch."""
    if version:
        Console().out(f"{NAME} {__version__}")
    elif ctx.invoked_subcommand is None:
        Console().note(ctx.get_help())
        raise typer.Exit(UsageError.exit_code)


def group(verbs: Verbs) -> TyperGroup:
    app = typer.Typer(
        cls=_Group,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        add_completion=False,
    )
    app.callback(invoke_without_command=True)(_root)
    made = typer.main.get_group(app)
    for name, (module, summary) in verbs.items():
        made.add_command(_Verb(name, module, summary))
    return made


def run(arguments: Sequence[str], verbs: Verbs = VERBS) -> int:
    """Runs one command line and gives its exit code; every error is told here, and only here."""
    try:
        result = group(verbs).main(list(arguments), prog_name=NAME, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        return _unread()
    except typer.TyperException as error:
        return _tell(UsageError(error.format_message(), f"see {_help_page(arguments, verbs)}"), arguments)
    except typer.Abort:
        return _tell(_Interrupted(), arguments)
    except SkilloptError as error:
        return _tell(error, arguments)
    except OSError as error:  # a full disk, a folder that may not be written: not ours to explain better
        return _tell(_Refused(error), arguments)
    except Exception as error:  # noqa: BLE001 - the last door: whatever it is, its owner gets one line and a file
        return _tell(_kept(error, arguments), arguments)
    if result == _Interrupted.exit_code:  # what Typer makes of a KeyboardInterrupt
        return _tell(_Interrupted(), arguments)
    return result if isinstance(result, int) else 0


def _tell(error: SkilloptError, arguments: Sequence[str]) -> int:
    console = Console()
    if error.exit_code == 0:
        told = f"{error.kind}: {error.message}"
        console.outputs({"skipped": error.message})
        console.summary(f"{told}\n")
        console.json({"v": 1, "skipped": error.message}) if "--json" in _options(arguments) else console.out(told)
    elif "--json" in _options(arguments):
        console.json({"v": 1, "error": {"kind": error.kind, "message": error.message, "hint": error.hint}})
    else:
        console.error(error.message, error.hint, error.called)
    return error.exit_code


def _kept(error: Exception, arguments: Sequence[str]) -> SkilloptError:
    from skillopt_git import crash  # its libraries would slow down every start

    path = crash.keep(error, near=_repository(arguments))
    return SkilloptError(f"unexpected {type(error).__name__}", f"the details are in {path}")


def _unread() -> int:
    """Whoever read our output stopped; Python would complain once more while closing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def _options(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _help_page(arguments: Sequence[str], verbs: Verbs) -> str:
    return " ".join([NAME, *(word for word in arguments[:1] if word in verbs), "--help"])


def _repository(arguments: Sequence[str]) -> Path:
    """Where `--repo` points, as far as can be told without knowing the verb."""
    for option, value in zip(arguments, [*arguments[1:], "."], strict=True):
        if option in {"--repo", "--project"}:
            return Path(value)
        if option.startswith(("--repo=", "--project=")):
            return Path(option.partition("=")[2])
    return Path()


def main(verbs: Verbs = VERBS) -> None:
    """The console script."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a narrow locale is no reason to fail
    _mind_signals()
    try:
        sys.exit(run(sys.argv[1:], verbs))
    except KeyboardInterrupt:  # before or after `run` could tell of it
        sys.exit(_Interrupted.exit_code)


def _mind_signals() -> None:
    """Whoever asks us to end, and does not force us, interrupts: so programs of ours are ended, and files cleared away.
    What was set to be ignored, as by `nohup`, still is."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
