"""What the gate's rulings amount to: refusals, trials that go on, who was looked at. A pure fold of `gate` events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from skillopt_git.model import Edit, Event
from skillopt_git.soundness import told_edit

REFUSED = frozenset({"harmful", "inconclusive"})
UNDECIDED = frozenset({"suggestive", "inconclusive"})  # of a trial that may go on

# By edit, target, and whether it was simulated: the rulings in time.
Rulings: TypeAlias = Mapping[tuple[str | None, str | None, bool], Sequence[Event]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnTrial:
    """Edits whose trial goes on, with the newest ruling on them; `branch` is None where no branch holds them."""

    edits: tuple[Edit, ...]
    ruling: Event
    branch: str | None

    @property
    def trial(self) -> str:
        return str(self.ruling.data["trial"])

    @property
    def simulated(self) -> bool:
        return self.ruling.simulated

    @property
    def need(self) -> str:
        return self.edits[0].need or ""

    @property
    def evidence(self) -> str:
        return str(self.ruling.data["evidence"])


def goes_on(ruling: Event) -> bool:
    """Whether a trial may have another night after this ruling."""
    data = ruling.data
    return data["verdict"] in UNDECIDED and not data.get("closed") and bool(data.get("trial") and data.get("evidence"))


def apart(told: Rulings, taken: Collection[tuple[str | None, str | None]]) -> Iterator[OnTrial]:
    """Trials that go on for what no branch holds. Only a ruling that left the rule on trial tells it in words."""
    trials_: dict[tuple[str, bool], list[tuple[Event, Edit]]] = {}
    held = set()
    for (edit, target, simulated), rulings_ in told.items():
        newest = rulings_[-1]
        words = next((event for event in reversed(rulings_) if event.text is not None), None)
        if words is None or not goes_on(newest) or newest.data.get("parked"):
            continue
        name = (str(newest.data["trial"]), simulated)
        trials_.setdefault(name, []).append((newest, told_edit(words)))
        if (edit, target) in taken:
            held.add(name)
    for name, group in sorted(trials_.items()):
        if name not in held:
            yield OnTrial(edits=tuple(edit for _, edit in group), ruling=group[0][0], branch=None)


def unended(told: Rulings, *, simulated: bool) -> Mapping[str, Event]:
    """By subject, the newest ruling of the trial that would go on if the same were tried again."""
    newest = (rulings_[-1] for about, rulings_ in told.items() if about[2] == simulated)
    return {str(ruling.data["subject"]): ruling for ruling in newest if goes_on(ruling)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A gate result that holds a rule back. One that is `final`, harmful or at the end of a trial, until base text or
    target model change: else what was measured would be forgotten by beginning anew. Another one until its need gains
    a family."""

    verdict: str
    final: bool
    rule: str
    target: str
    base_blob: str | None
    model: str
    families: frozenset[str]


def refusals(events: tuple[Event, ...]) -> Iterator[Refusal]:
    for event in events:
        if event.type == "gate" and (event.data["verdict"] in REFUSED or event.data.get("closed")):
            yield Refusal(
                verdict=str(event.data["verdict"]),
                final=event.data["verdict"] == "harmful" or bool(event.data.get("closed")),
                rule=event.rule or "",
                target=event.target or "",
                base_blob=event.data["base_blob"],
                model=str(event.data["model"]),
                families=frozenset(str(item) for item in event.data["families"]),
            )


def trials(events: Iterable[Event]) -> set[tuple[str, str]]:
    """Each trial by its subject; one of several nights is one, and one that has no name is its event."""
    return {
        (str(event.data["subject"]), str(event.data.get("trial", event.id))) for event in events if event.type == "gate"
    }


def rulings(events: Iterable[Event]) -> Rulings:
    """What the gate found of an edit in a document, the newest last; a night that could not measure says nothing."""
    found: dict[tuple[str | None, str | None, bool], list[Event]] = {}
    for event in events:
        if event.type == "gate" and event.data["verdict"] != "invalid" and event.data.get("evidence"):
            found.setdefault((event.edit, event.target, event.simulated), []).append(event)
    return {about: sorted(told, key=lambda event: (event.run or "", event.id)) for about, told in found.items()}


def guarded(events: Iterable[Event]) -> dict[str, str]:
    last: dict[str, str] = {}
    for event in events:
        for task in event.data.get("guard", ()) if event.type == "gate" else ():
            last[str(task)] = max(last.get(str(task), ""), event.run or "")
    return last


def newest(rulings: Sequence[Event], *, since: str) -> Event | None:
    return next((event for event in reversed(rulings) if (event.run or "") >= since), None)
