"""What `run`, `dry-run` and `learn` share: all but where what they find goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
from skillopt_git.errors import UsageError

if TYPE_CHECKING:
    from skillopt_git.nightly import Ran


NoOutgoing = Annotated[bool, typer.Option("--outgoing", hidden=True)]
Outgoing = Annotated[
    bool, typer.Option("--outgoing", help="Ask no model: show what a run would send, word for word, and to whom.")
]
NoBundle = Annotated[Path | None, typer.Option("--bundle", hidden=True)]
Bundle = Annotated[Path | None, typer.Option("--bundle", help="Where what is found goes, for `propose`; needed.")]
Estimate = Annotated[
    bool, typer.Option("--estimate", help="Ask no model: say how many calls, tokens and dollars a run would take.")
]


def verb(kind: Literal["run", "dry-run", "learn"]) -> Callable[..., None]:
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
        outgoing: NoOutgoing = False,
        bundle: NoBundle = None,
        estimate: Estimate = False,
        json: AsJson = False,
        quiet: Quiet = False,
    ) -> None:
        from skillopt_git import nightly, roles, wiring  # what a night needs would slow down every start
        from skillopt_git.commands import estimates, rehearsals

        if (kind == "learn") is (bundle is None):
            raise UsageError(f"`{kind}` {'needs' if bundle is None else 'takes no'} --bundle", "`learn --bundle FILE`")
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
            dry_run=kind == "dry-run",
            tasks_file=tasks_file,
            anew=lookback_hours is not None,
            push_simulated=allow_simulated,
            pr=pr,
            bundle=bundle,
        )
        config = settings(repo, flags)
        wiring.refuse_disabled(config)
        if outgoing or estimate:
            tell = rehearsals.tell if outgoing else estimates.tell
            tell(repo, config, options, json=json, quiet=quiet)
            return
        choice = roles.chosen_model(config)
        with Console(quiet=quiet) as console:
            ran = nightly.run(repo, config, options, model=choice, clock=now, notify=console.progress)
        if json:
            console.json(ran.record)
        else:
            console.markdown(ran.report)
        if kind != "dry-run":
            console.outputs(_spent(ran))
        if kind == "run":
            console.outputs(_outputs(ran))
            console.summary(ran.summary)
        if ran.page is not None:
            console.note(f"the report with charts: {ran.page}")
        raise typer.Exit(ran.exit_code)

    if kind == "learn":
        command.__annotations__["bundle"] = "Bundle"
    if kind == "dry-run":
        command.__annotations__["outgoing"] = "Outgoing"
    return command


def _outputs(ran: Ran) -> dict[str, str]:
    """For the steps that follow in a workflow; the first ones are named as create-pull-request names them."""
    from skillopt_git.commands.propose import outputs
    from skillopt_git.pulls import Told

    record = ran.record
    return {
        **outputs(ran.told or Told(operation="none"), record["branch"]),
        "run-id": record["run"],
        "edits-proposed": str(len(record["edits"])),
        "edits-rejected": str(len(record["rejected"])),
        "verdict": record["verdict"] or "",
        "report-path": str(ran.page or ""),
    }


def _spent(ran: Ran) -> dict[str, str]:
    """What models took. Empty is what nobody counted, or of which nobody knows the price."""
    tokens, usd = ran.record["tokens"], ran.record["cost_usd"]
    return {"tokens": "" if tokens is None else str(tokens), "cost-usd": "" if usd is None else f"{usd:.4f}"}
