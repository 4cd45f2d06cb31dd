"""What `run` and `dry-run` share: all but whether anything is recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from skillopt_git.commands.options import (
    AsJson,
    ClaudeHome,
    CodexHome,
    CopilotHome,
    JsonlHome,
    Lookback,
    MaxSessions,
    MaxTasks,
    Quiet,
    Repo,
    ScopeOption,
    Source,
    TargetSkill,
    now,
    reading_flags,
    settings,
    source_flags,
)
from skillopt_git.console import Console


def verb(*, dry_run: bool) -> Callable[..., None]:
    def command(
        repo: Repo = Path(),
        source: Source = None,
        claude_home: ClaudeHome = None,
        codex_home: CodexHome = None,
        copilot_home: CopilotHome = None,
        jsonl_home: JsonlHome = None,
        scope: ScopeOption = None,
        backend: Annotated[str | None, typer.Option(help="What answers and reflects; `mock` simulates.")] = None,
        model: Annotated[str | None, typer.Option(help="The model's name.")] = None,
        lookback_hours: Lookback = None,
        edit_budget: Annotated[int | None, typer.Option(help="Most edits accepted in one night.")] = None,
        max_sessions: MaxSessions = None,
        max_tasks: MaxTasks = None,
        target_skill_path: TargetSkill = None,
        target_task_filter: Annotated[
            bool | None, typer.Option("--target-task-filter", help="Only tasks about the target skill.")
        ] = None,
        tasks_file: Annotated[
            Path | None, typer.Option(help="Take the tasks from this file instead of from sessions.")
        ] = None,
        gate_metric: Annotated[str | None, typer.Option(help="`hard`, `soft` or `mixed`.")] = None,
        preferences: Annotated[str | None, typer.Option(help="House rules for the rules.")] = None,
        auto_adopt: Annotated[
            bool | None, typer.Option("--auto-adopt", help="Merge a strong, measured proposal at the end.")
        ] = None,
        push: Annotated[
            bool | None, typer.Option("--push", help="Push the proposal and the ledger at the end.")
        ] = None,
        pr: Annotated[
            bool, typer.Option("--pr", help="Push it, and open or update its pull request on GitHub.")
        ] = False,
        allow_simulated: Annotated[
            bool, typer.Option("--allow-simulated", help="Push a simulated proposal too.")
        ] = False,
        json: AsJson = False,
        quiet: Quiet = False,
    ) -> None:
        from skillopt_git import nightly, wiring  # what a night needs would slow down every start

        flags = (
            source_flags(source, claude_home, codex_home, copilot_home, jsonl_home)
            | reading_flags(scope, lookback_hours, max_sessions, max_tasks)
            | {
                "replay.backend": backend,
                "replay.model": model,
                "propose.edit_budget": edit_budget,
                "documents.skill": target_skill_path,
                "mine.target_task_filter": target_task_filter,
                "gate.metric": gate_metric,
                "propose.preferences": preferences,
                "propose.auto_adopt": auto_adopt,
                "propose.push": push,
            }
        )
        options = nightly.Options(
            dry_run=dry_run,
            tasks_file=tasks_file,
            anew=lookback_hours is not None,
            push_simulated=allow_simulated,
            pr=pr,
        )
        config = settings(repo, flags)
        choice = wiring.chosen_model(config)
        with Console(quiet=quiet) as console:
            ran = nightly.run(repo, config, options, model=choice, clock=now, notify=console.progress)
        if json:
            console.json(ran.record)
        else:
            console.markdown(ran.report)
        if ran.page is not None:
            console.note(f"the report with charts: {ran.page}")
        raise typer.Exit(ran.exit_code)

    return command
