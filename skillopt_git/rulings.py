"""What the gate's rulings amount to: refusals, trials that go on, who was looked at. A pure fold of `gate` events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from skillopt_git.model import Edit, Event
from skillopt_git.soundness import told_edit

REFUSED = frozenset({"harmful", "inconclusive"})
UNDECIDED = frozenset({"suggestive", "inconclusive"})  # of a trial that may go on

About: TypeAlias = tuple[str | None, str | None]  # edit and target


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
    def need(self) -> str:
        return self.edits[0].need or ""

    @property
    def evidence(self) -> str:
        return str(self.ruling.data["evidence"])


def goes_on(ruling: Event) -> bool:
    """Whether a trial may have another night after this ruling."""
    data = ruling.data
    return data["verdict"] in UNDECIDED and not data.get("closed") and bool(data.get("trial") and data.get("evidence"))


def apart(events: Iterable[Event], taken: Collection[About]) -> Iterator[OnTrial]:
    """Trials that go on for what no branch holds. Only a ruling that left the rule on trial tells it in words."""
    events = tuple(event for event in events if event.type == "gate")
    words = {(event.edit, event.target): told_edit(event) for event in _in_time(events) if event.text is not None}
    last: dict[str, list[Event]] = {}
    for (edit, target, _), told in rulings(events).items():
        if goes_on(told[-1]) and (edit, target) in words:
            last.setdefault(str(told[-1].data["trial"]), []).append(told[-1])
    for _, of_trial in sorted(last.items()):
        about = [(event.edit, event.target) for event in of_trial]
        if not any(item in taken for item in about):
            yield OnTrial(edits=tuple(words[item] for item in about), ruling=of_trial[0], branch=None)


def unended(events: Iterable[Event]) -> Mapping[str, Event]:
    """By subject, the newest ruling of the trial that would go on if the same were tried again."""
    measured = (told[-1] for told in rulings(events).values())
    return {str(ruling.data["subject"]): ruling for ruling in measured if goes_on(ruling)}


def _in_time(events: Iterable[Event]) -> list[Event]:
    return sorted(events, key=lambda event: (event.run or "", event.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A gate result that holds a rule back: harmful until base text or target model change, else until its need gains
    a family."""

    verdict: str
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


def rulings(events: Iterable[Event]) -> dict[tuple[str | None, str | None, bool], list[Event]]:
    """What the gate found of an edit in a document, the newest last; a night that could not measure says nothing."""
    found: dict[tuple[str | None, str | None, bool], list[Event]] = {}
    for event in events:
        if event.type == "gate" and event.data["verdict"] != "invalid" and event.data.get("evidence"):
            found.setdefault((event.edit, event.target, event.simulated), []).append(event)
    return {about: _in_time(told) for about, told in found.items()}


def guarded(events: Iterable[Event]) -> dict[str, str]:
    last: dict[str, str] = {}
    for event in events:
        for task in event.data.get("guard", ()) if event.type == "gate" else ():
            last[str(task)] = max(last.get(str(task), ""), event.run or "")
    return last


def newest(rulings: Sequence[Event], *, since: str) -> Event | None:
    return next((event for event in reversed(rulings) if (event.run or "") >= since), None)
