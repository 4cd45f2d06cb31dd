"""`simulate`: what the gate does to rules whose effect is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from skillopt_git.commands.options import AsJson, Repo, now, settings
from skillopt_git.console import Console
from skillopt_git.errors import UsageError

if TYPE_CHECKING:
    from skillopt_git.campaign import Guarding, Prospect
    from skillopt_git.config import Config, Gate
    from skillopt_git.premises import Given, Premises
    from skillopt_git.simulation import Figures, World

OURS = "evidence"
NAMES = {
    "evidence": "evidence",
    "strict": "strict",
    "skillopt_sleep": "SkillOpt-Sleep",
    "gbrain_median": "gbrain",
    "one_standard_error": "1 std. error",
}
MOST_TASKS = 40
MOST_FRESH = 12  # a night; trials of hundreds of tasks take minutes
LEAST_TRIALS = 100


def command(
    tasks: Annotated[int | None, typer.Option(min=1, max=MOST_TASKS, help="Held-out tasks that judge a rule.")] = None,
    noise: Annotated[
        Literal["none", "low", "medium", "high"] | None,
        typer.Option(
            help="How much answers vary: none (each task always passes or always fails), low (most nearly do), "
            "medium, high (coin tosses)."
        ),
    ] = None,
    rates: Annotated[
        str | None, typer.Option(help="How often tasks pass, from 0 to 1, with commas between, instead of --noise.")
    ] = None,
    judge_noise: Annotated[
        float, typer.Option(min=0, max=1, help="Standard deviation of the judge's score; 0 never errs.")
    ] = 0.0,
    fresh: Annotated[
        int, typer.Option(min=0, max=MOST_FRESH, help="New held-out tasks that a draft gets each later night.")
    ] = 1,
    repetitions: Annotated[
        int, typer.Option(min=100, max=20_000, help="Nights that are drawn for each figure, and half as many trials.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other nights.")] = 0,
    compare: Annotated[bool, typer.Option("--compare", help="Put the gates of other tools beside it.")] = False,
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Show how often the gate `evidence` adopts a rule that does nothing, and how often it sees one that helps.

    It starts from this repository's tasks and measured history where there are any. No model is called.
    """
    from skillopt_git.campaign import guarding, prospect  # here and below: what it needs would slow down every start
    from skillopt_git.premises import Given
    from skillopt_git.simulation import GATES, World, figures

    if noise and rates:
        raise UsageError("--noise and --rates both say how often tasks pass", "give one of them")
    given = Given(tasks=tasks, noise=noise, rates=_rates(rates))
    config = settings(repo)
    console = Console()
    usual = World(judge_noise=judge_noise, repetitions=repetitions, seed=seed)
    found = _premises(repo, config, given, usual, console)
    names = list(GATES) if compare else [OURS]
    told = {name: figures(found.world, name, config.gate) for name in names}
    trials = replace(found.world, repetitions=max(LEAST_TRIALS, repetitions // 2))
    over_nights = tuple(prospect(trials, config.gate, fresh=new) for new in dict.fromkeys((0, fresh)))
    guard = guarding(trials, config.gate) if config.gate.guard else None
    if json:
        console.json(_record(found, config, told) | _longer(trials, over_nights, guard))
        return
    console.page(_premised(found, config))
    console.table("", ["in one night, this gate", *(NAMES[name] for name in told)], list(_rows(told)))
    columns = ["over the nights of a trial", *(_new_tasks(item.fresh) for item in over_nights)]
    console.table("", columns, list(_rows_over_nights(over_nights, config.gate)))
    if guard is not None:
        columns = ["a rule that is good for its own tasks", f"a guard of {config.gate.guard}"]
        console.table("", columns, list(_rows_of_guard(guard)))
    console.chart("Adopted, of 100 such rules:", list(_bars(told)))
    longest = over_nights[-1]
    console.chart(f"Adopted by then ({_new_tasks(longest.fresh)}):", list(_bars_over_nights(longest, config.gate)))
    console.page(["", " ".join(_meaning(found, told[OURS])), "", " ".join(_outlook(over_nights, trials, config.gate))])


def _rates(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        rates = tuple(float(part) for part in text.split(","))
    except ValueError:
        rates = ()
    if not rates or not all(0 <= rate <= 1 for rate in rates):
        raise UsageError(f"--rates '{text}' is no list of shares", "give numbers from 0 to 1, such as .2,.9,.5")
    return rates


def _premises(repo: Path, config: Config, given: Given, usual: World, console: Console) -> Premises:
    from skillopt_git.notebook import Notebook
    from skillopt_git.premises import measured_evidence, premises
    from skillopt_git.tasksfile import shared_tasks
    from skillopt_git.workshop import open_workshop

    shop = open_workshop(repo, config, now=now())
    # The bank as it lies there: no text of it is shown.
    book = Notebook(bank=shop.private.bank(), files=shared_tasks(shop.repo, shop.base.commit))
    for note in shop.private.notes:
        console.note(note)
    kept = (shop.ledger.evidence(name) for name in measured_evidence(shop.ledger.events()))
    return premises(given, book.tasks, [item for item in kept if item is not None], usual)


# --- as a record -------------------------------------------------------------------------------------------------


def _record(found: Premises, config: Config, told: Mapping[str, Figures]) -> dict[str, Any]:
    world = found.world
    return {
        "v": 1,
        "gate": OURS,
        "settings": {
            "tasks": world.tasks,
            "tasks_from": found.tasks_from,
            "noise": None if world.rates or world.seen else world.noise,
            "rates": list(world.rates) or [passes / of for passes, of in world.seen] or None,
            "rates_from": found.chances_from,
            "judge_noise": world.judge_noise,
            "repetitions": world.repetitions,
            "seed": world.seed,
            "gate": asdict(config.gate),
        },
        **asdict(told[OURS]),
        "compare": {name: asdict(figures) for name, figures in told.items() if name != OURS} or None,
    }


def _longer(trials: World, over_nights: Sequence[Prospect], guard: Guarding | None) -> dict[str, Any]:
    return {
        "trial": {"repetitions": trials.repetitions, "prospects": [asdict(item) for item in over_nights]},
        "guard": None if guard is None else asdict(guard),
    }


# --- in words ----------------------------------------------------------------------------------------------------


def _premised(found: Premises, config: Config) -> Iterator[str]:
    world = found.world
    tasks = {
        "given": f"{_tasks(world.tasks)}, as given",
        "bank": f"{_tasks(world.tasks)}, as the typical need in the bank has",
        "assumed": f"{_tasks(world.tasks)}, which is assumed: the bank has none",
    }[found.tasks_from]
    chances = {
        "given": f"rates of passing as given ({', '.join(f'{rate:g}' for rate in world.rates)})"
        if world.rates
        else f"{'no' if world.noise == 'none' else world.noise} noise, as given",
        "history": f"rates of passing as measured on {_tasks(len(world.seen))} in this repository",
        "assumed": f"{world.noise} noise, which is assumed: too few tasks were measured here",
    }[found.chances_from]
    yield f"Simulated: {tasks}; {chances}."
    if config.gate.mode != OURS:
        yield f'gate.mode is {config.gate.mode} here; the figures are those of `gate.mode = "{OURS}"`.'


def _rows(told: Mapping[str, Figures]) -> Iterator[list[str]]:
    every = list(told.values())
    yield ["adopts a rule that does nothing", *(_percent(item.null_adoption) for item in every)]
    yield ["leaves such a rule as a draft", *(_percent(item.null_draft) for item in every)]
    yield ["adopts one that harms by 10 points", *(_percent(item.harmful_adoption) for item in every)]
    for effect in every[0].power:
        yield [f"adopts one that helps: {effect} points", *(_percent(item.power[effect]) for item in every)]
    for effect in every[0].power_concentrated:
        shares = (_percent(item.power_concentrated[effect]) for item in every)
        yield [f"adopts one that mends some tasks: {effect}", *shares]
    yield ["adopts 4 in 5 that help by", *(_points(item.smallest_effect) for item in every)]
    yield ["truly helpful, of those adopted", *(_percent(item.helpful_if_adopted) for item in every)]
    yield ["rollouts, both arms", *(f"{item.rollouts_per_night:.0f}" for item in every)]


def _new_tasks(fresh: int) -> str:
    return f"{fresh} new task{'' if fresh == 1 else 's'} a night" if fresh else "no new tasks"


def _rows_over_nights(over_nights: Sequence[Prospect], gate: Gate) -> Iterator[list[str]]:
    yield ["a rule without effect is adopted", *(_percent(item.null_adopted) for item in over_nights)]
    yield ["such a draft lasts, in the median", *(_nights(item.null_draft_nights_median) for item in over_nights)]
    yield ["such a draft lasts, in the mean", *(_nights(item.null_draft_nights_mean) for item in over_nights)]
    yield [f"such a draft is open after {gate.nights}", *(_percent(item.null_draft_open) for item in over_nights)]
    yield ["a rule that harms by 10 points is adopted", *(_percent(item.harmful_adopted) for item in over_nights)]
    for effect in over_nights[0].adopted_week:
        shares = (_percent(item.adopted_week[effect]) for item in over_nights)
        yield [f"a helpful one is adopted in a week: {effect}", *shares]
    for effect in over_nights[0].adopted:
        shares = (_percent(item.adopted[effect]) for item in over_nights)
        yield [f"a helpful one is adopted in {gate.nights} nights: {effect}", *shares]


def _rows_of_guard(guard: Guarding) -> Iterator[list[str]]:
    yield ["is refused though it changes no other", _percent(guard.false_alarm)]
    for effect, share in guard.finds.items():
        yield [f"is refused where it changes others by {effect}", _percent(share)]


def _bars_over_nights(item: Prospect, gate: Gate) -> Iterator[tuple[str, float]]:
    for effect in item.adopted:
        yield f"{effect} points: first night", item.adopted_first[effect] or 0.0
        yield f"{effect} points: a week", item.adopted_week[effect] or 0.0
        yield f"{effect} points: {gate.nights} nights", item.adopted[effect] or 0.0


def _bars(told: Mapping[str, Figures]) -> Iterator[tuple[str, float]]:
    for name, item in told.items():
        yield f"{NAMES[name]}: does nothing", item.null_adoption
        for effect, share in item.power.items():
            yield f"{NAMES[name]}: {effect} points", share or 0.0


def _meaning(found: Premises, ours: Figures) -> Iterator[str]:
    """What a reviewer may take from it, sentence by sentence."""
    from skillopt_git.simulation import HELPFUL

    helpful = ours.power[f"+{HELPFUL}"]
    yield (
        f"What this means: of 100 rules that do nothing, `{OURS}` adopts {_of_100(ours.null_adoption)} and leaves "
        f"{_of_100(ours.null_draft)} as drafts to be tried again."
    )
    if helpful is None:
        yield f"These tasks pass too often for a rule to help by {HELPFUL} points."
    else:
        yield (
            f"Of 100 that help by {HELPFUL} points it adopts {_of_100(helpful)} in their first night; the others are "
            "tried again or wait, so that a rule that was not adopted may help all the same."
        )
    if ours.helpful_if_adopted is not None:
        yield (
            "Where 15 of 100 rules that are tried help so much and 15 harm by 10 points, "
            f"{_percent(ours.helpful_if_adopted)} of those adopted truly help."
        )
    if ours.smallest_effect is None:
        yield "No gain is so great that four nights of five would show it: it takes more held-out tasks."
    else:
        yield f"Four nights of five show a gain of {_points(ours.smallest_effect)}; of smaller ones, fewer do."
    within = 100 * 1.96 * sqrt(0.25 / found.world.repetitions)
    yield (
        f"How often something is adopted is drawn from {found.world.repetitions:,} nights and right within "
        f"{within:.1f} points; which share of it truly helps is known less exactly."
    )


def _outlook(over_nights: Sequence[Prospect], trials: World, gate: Gate) -> Iterator[str]:
    """What the nights after the first change."""
    alone, longest = over_nights[0], over_nights[-1]
    yield f"Over up to {gate.nights} nights {_of_100(longest.null_adopted)} of 100 rules without effect are adopted."
    if alone.null_draft_open is not None:
        yield (
            f"A task is measured {gate.pairs} times at most; so where no new task comes, "
            f"{_percent(alone.null_draft_open)} of the drafts of such rules are never settled."
        )
    if longest.fresh and longest.null_draft_open is not None:
        yield f"With {_new_tasks(longest.fresh)} it is {_percent(longest.null_draft_open)}."
    within = 100 * 1.96 * sqrt(0.25 / trials.repetitions)
    yield (
        f"How often something is adopted is drawn from {trials.repetitions:,} trials and right within {within:.1f} "
        "points; drafts of such rules are few, and what becomes of them is known less exactly."
    )


def _nights(count: float | None) -> str:
    return "-" if count is None else f"{count:.1f} nights"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{_of_100(share)} %"


def _of_100(share: float | None) -> str:
    """To a tenth where a whole number would hide most of it."""
    share = share or 0.0
    return f"{100 * share:.1f}" if share < 0.1 else f"{100 * share:.0f}"


def _points(share: float | None) -> str:
    return "-" if share is None else f"+{100 * share:.0f} points"


def _tasks(count: int) -> str:
    return f"{count} held-out task{'' if count == 1 else 's'}"
